"""Tensors as text in PyTorch's layout.

All elements get one format: integers with a point, fixed digits, or scientific notation if
magnitudes differ by more than 1000 or are extreme.  Large tensors show only their edges, and only
these determine the format.  Notebooks show the same text, with a line of properties below.
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.eager import dtypes
from numeric.eager.dtypes import OF_NUMPY
from numeric.eager.tensor import Tensor, method
from numeric.eager.traced_arrays import Shadow
from numeric.html_tables import page, paragraph, preformatted
from symdiff.contexts import contained
from symdiff.graph.axes import shape_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numeric.show.drawings import Drawing

__all__ = ["set_printoptions"]

_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}

# One object, replaced by each change, so that other threads never see a partial change.
_options: dict[str, Any] = {**_PROFILES["default"], "sci_mode": None}


_MOST_DIGITS = 1000


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set options of printed tensors; None leaves an option unchanged, except ``sci_mode``.

    Args:
        precision: the number of digits after the point.
        threshold: larger tensors show only ``edgeitems`` elements at both ends of each axis.
        edgeitems: see ``threshold``.
        linewidth: the number of characters in a line.
        profile: ``default``, ``short`` or ``full``; the other arguments change it.
        sci_mode: scientific notation always (True), never (False), or as needed (None).

    Raises TypeError or ValueError for other values, before any change.

    >>> set_printoptions(precision=2)
    >>> Tensor([0.125])
    tensor([0.12])
    >>> set_printoptions(profile="default")
    """
    global _options
    options = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    changes = {name: value for name, value in options.items() if value is not None}
    for name, value in changes.items():
        if not 0 <= value <= (_MOST_DIGITS if name == "precision" else math.inf):
            raise ValueError(
                f"set_printoptions(): argument '{name}' is {value}; expected 0 or more"
            )
    if profile is not None and profile not in _PROFILES:
        raise ValueError(
            f"set_printoptions(): argument 'profile' is {profile!r}; there are "
            f"{', '.join(_PROFILES)}"
        )
    _options = {**_options, **_PROFILES.get(profile or "", {}), **changes, "sci_mode": sci_mode}


# Elements ---------------------------------------------------------------------------------------


def _format(a: np.ndarray, o: dict[str, Any]) -> tuple[int, Callable[[Any], str]]:
    """Return the width of the elements, and the function that formats one, right-justified."""
    if a.dtype.kind != "f":
        width = max([1, *(len(str(v)) for v in a.ravel().tolist())])
        return width, lambda v: str(v).rjust(width)
    flat = a.ravel()
    counted = flat[np.isfinite(flat) & (flat != 0)]
    whole, scientific = True, False
    if counted.size:
        whole = bool((counted == np.ceil(counted)).all())
        scientific = o["sci_mode"]
        if scientific is None:
            sizes = np.abs(counted).astype(np.float64)
            low, high = sizes.min(), sizes.max()
            scientific = bool(high / low > 1000.0 or high > 1.0e8 or low < 1.0e-4)
    precision = o["precision"]
    spec = f".{precision}e" if scientific else ".0f" if whole else f".{precision}f"
    point = "." if whole and not scientific else ""

    def text(v: float) -> str:
        return format(v, spec) + (point if math.isfinite(v) else "")

    width = max([1, *(len(text(v)) for v in counted.tolist())])
    return width, lambda v: text(v).rjust(width)


def _shown(a: np.ndarray, edge: int) -> np.ndarray:
    """Return the elements that a summary shows."""
    for axis, n in enumerate(a.shape):
        if n > 2 * edge:
            # Not a.take, which copies an expanded tensor as a whole.
            a = a[(slice(None),) * axis + ([*range(edge), *range(n - edge, n)],)]
    return a


@contained
def _body(a: np.ndarray, indent: int) -> str:
    o = _options
    if not a.size:
        return "[]"
    edge = o["edgeitems"] if a.size > o["threshold"] else None
    shown = a if edge is None else _shown(a, edge)
    with np.errstate(all="ignore"):
        width, write = _format(shown, o)
    if a.ndim == 0:
        return write(a.item())
    per_line = max(1, (o["linewidth"] - indent - a.ndim + 1) // (width + 2))
    return _nested(a, indent, edge, per_line, write)


def _nested(
    a: np.ndarray, indent: int, edge: int | None, per_line: int, write: Callable[[object], str]
) -> str:
    cut = edge is not None and (len(a) > 2 * edge or not edge)
    if a.ndim == 1:
        if not cut:
            items = [write(v) for v in a.tolist()]
        elif not edge:
            items = ["..."]
        else:
            ends = a[:edge].tolist(), a[-edge:].tolist()
            items = [write(v) for v in ends[0]] + [" ..."] + [write(v) for v in ends[1]]
        lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    n = len(a)
    rows = [*range(edge or 0), *range(n - (edge or 0), n)] if cut else range(n)
    parts = [_nested(a[i], indent + 1, edge, per_line, write) for i in rows]
    if cut:
        parts.insert(edge or 0, "...")
    return "[" + ("," + "\n" * (a.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


# Tensors ----------------------------------------------------------------------------------------


def _suffixes(x: Tensor) -> Iterator[str]:
    """Yield the properties that follow the elements."""
    kind, a = x._array.dtype, x._array
    if (not a.size and a.ndim != 1) or (a.size and not _options["edgeitems"]):
        yield f"size={a.shape}"
    usual = (dtypes.default(), dtypes.INT64, dtypes.BOOL) if a.size else (dtypes.default(),)
    if kind not in usual:
        yield f"dtype={OF_NUMPY[kind]!r}"
    yield from _history(x, "grad_fn=<{}>", "grad_fn=<Invalid>", "requires_grad=True")


def _history(x: Tensor, node: str, invalid: str, leaf: str) -> Iterator[str]:
    """Yield ``node`` with the name of grad_fn, or what stands for no valid one or for a leaf."""
    try:
        grad_fn = x.grad_fn
    except RuntimeError:  # a view without a valid history
        yield invalid
        return
    if grad_fn is not None:
        yield node.format(type(grad_fn).__name__)
    elif x.requires_grad:
        yield leaf


@method("__repr__")
def _repr(self: Tensor) -> str:
    name = type(self).__name__
    if isinstance(self._array, Shadow):
        return f"tensor({self._array!r})"
    prefix = "tensor(" if name in ("Tensor", "Parameter") else f"{name}("
    indent = len(prefix)
    text = prefix + _body(self._array, indent)
    used = len(text) - text.rfind("\n") + 1
    for suffix in _suffixes(self):
        if used + len(suffix) + 2 > _options["linewidth"]:
            text += ",\n" + " " * indent + suffix
            used = indent + len(suffix)
        else:
            text += ", " + suffix
            used += len(suffix) + 2
    return text + ")"


@method("_repr_html_")
def _html(self: Tensor) -> str | None:
    """Return the text and a line of properties for notebooks; None for a tensor without values."""
    if isinstance(self._array, Shadow):
        return None
    return page(preformatted(repr(self)), paragraph(", ".join(_properties(self))))


def _properties(x: Tensor) -> Iterator[str]:
    if getattr(x, "_name", None):
        yield f"{x._name}"
    yield f"shape {shape_text(tuple(x._array.shape))}"
    yield str(OF_NUMPY[x._array.dtype]).removeprefix("torch.")
    yield from _history(x, "grad_fn {}", "grad_fn invalid", "requires grad")


@method("__format__")
def _formatted(self: Tensor, spec: str) -> str:
    if self._array.ndim == 0 and type(self) is Tensor:
        return format(self._array.item(), spec)
    return object.__format__(self, spec)


@method()
def draw(self: Tensor, *, limit: int = 60, direction: str = "down") -> Drawing:
    """Return the tensor's record as a diagram, as textbooks draw it: see ``numeric.show.draw``.

    It goes from the result to its ``grad_fn``, and along ``next_functions`` to the leaves.  It
    shows saved values of operations, shapes, small values, and hooks.

    >>> import numeric as torch
    >>> w = torch.tensor(2.0, requires_grad=True)
    >>> print((w * w).draw())
    flowchart TD
      n0(["leaf, requires_grad<br>= 2"]):::leaf
      n1{{"AccumulateGrad"}}:::accumulation
      n2("MulBackward0<br>saved operand ① 2<br>saved operand ② 2"):::operation
      n3(["result<br>= 4"]):::leaf
      n1 --> n0
      n2 -->|"①"| n1
      n2 -->|"②"| n1
      n3 -->|"grad_fn"| n2
    ...
    """
    # A package of a higher layer, loaded on first use.
    drawing: Drawing = import_module("numeric.show").draw(self, limit=limit, direction=direction)
    return drawing
