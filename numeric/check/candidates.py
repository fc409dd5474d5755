"""Derivatives under test, in any library, as functions of NumPy arrays."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.check.foreign import from_jax, from_tensors, from_torch
from numeric.check.recorded import Recorded
from numeric.check.sources import Lowered, Source, called, silent
from numeric.halves import tensors
from numeric.lowering.function import Function, lower
from symdiff.graph.axis_lengths import bound_sizes, lengths
from symdiff.graph.number import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from symdiff.graph.expr import Expr


@dataclass(frozen=True)
class Candidate:
    """The derivatives under test as NumPy callables; None for those that are missing.

    There are k inputs ``x1 .. xk`` and a result y.  For scalar y, ``gradient(x1, .., xk)`` gives an
    array of each input's shape.  ``vjp(x1, .., xk, w)`` gives the gradient of ``sum(w * y)``.
    ``jvp(x1, .., xk, t1, .., tk)`` is an array of y's shape.  ``hessian(x1, .., xk)`` has shape
    ``x.shape + x.shape`` for one input, and is a tuple of rows of such blocks for several.  All but
    jvp return one array for one input, and a tuple of arrays otherwise.  Integer and boolean inputs
    are data: they have no tangents, and no derivative is by them.

    ``value(x1, .., xk)`` is y as the code under test computes it, if known.  A value that differs
    from the forward means derivatives of another function.  ``points`` is None if any point will
    do; otherwise it holds the only points, by input, along a leading axis.  Without ``subnormals``
    the library under test (XLA, say) flushes subnormal numbers to 0, which is no fault of a rule.
    """

    gradient: Callable[..., object] | None = None
    vjp: Callable[..., object] | None = None
    jvp: Callable[..., object] | None = None
    hessian: Callable[..., object] | None = None
    name: str = "the function under test"
    dtypes: tuple[str, ...] = ("float64", "float32")  # the dtypes of inputs that it accepts
    value: Callable[..., Any] | None = None
    points: Mapping[str, np.ndarray] | None = None
    subnormals: bool = True
    notes: tuple[str, ...] = ()  # the missing parts and the reasons


def candidate(
    forward: Expr,
    inputs: Sequence[Expr],
    *,
    gradient: Any = None,
    vjp: Any = None,
    jvp: Any = None,
    hessian: Any = None,
    at: Sequence[np.ndarray] | None = None,
) -> Candidate:
    """Return the derivatives under test as NumPy callables.

    NumPy callables pass unchanged, with the meaning that ``Candidate`` gives them.  ``gradient``
    and ``vjp`` also take a function that brings its own derivatives: a ``torch.autograd.Function``
    or module, a JAX function with a ``custom_vjp`` or ``custom_jvp``, a lowered Function, a
    ``numeric.autograd.Function``, a ``Recorded`` table, or a result of ``from_torch``, ``from_jax``
    or ``from_tensors``.  Another callable that refuses NumPy arrays counts as such a function if it
    takes the tensors of one of these libraries and gives the value of ``forward`` at an ordinary
    point.

    Args:
        forward: the function as an expression.
        inputs: the symbols of ``forward``, in the order of the arguments.
        gradient: the gradient of a scalar forward.
        vjp: the vjp of any forward.
        jvp: the jvp, if there is one; it replaces that of a function with derivatives.
        hessian: the Hessian, with the same precedence.
        at: an ordinary point, as arrays; the result holds the derivatives that can be called there.

    Raises TypeError if nothing is under test, for a value that cannot be called, and for a callable
    whose role is ambiguous.  Raises ShapeError for a function of other shapes, and ImportError for
    a function of a missing package.

    >>> import symdiff as sd
    >>> x = sd.symbol("x", 3)
    >>> test = candidate(sd.sum(sd.sin(x)), [x], gradient=np.cos)
    >>> test.name, test.gradient(np.zeros(3)).tolist(), test.vjp
    ('cos', [1.0, 1.0, 1.0], None)
    """
    candidates = {"gradient": gradient, "vjp": vjp, "jvp": jvp, "hessian": hessian}
    candidates = {what: fn for what, fn in candidates.items() if fn is not None}
    if not candidates:
        raise TypeError("nothing to test: give gradient or vjp, or a function with derivatives")
    point = _ordinary(inputs) if at is None else [np.asarray(a) for a in at]
    parts: dict[str, Any] = {}
    for what in ("gradient", "vjp"):
        # Both arguments may hold a function with derivatives: it replaces all others, so it stands
        # alone.
        source = (
            _source(candidates[what], what, forward, inputs, point) if what in candidates else None
        )
        if source is None:
            continue
        if len(candidates.keys() & {"gradient", "vjp"}) > 1:
            raise TypeError(
                f"{what}={shortened(candidates[what])} brings its derivatives: give it alone"
            )
        del candidates[what]
        parts = source.offered(forward, inputs, point)
    for what, fn in candidates.items():
        if not callable(fn):
            raise TypeError(f"{what}={shortened(fn)} cannot be called")
        parts.setdefault("name", called(fn))
    return Candidate(**parts | candidates)


def _ordinary(inputs: Sequence[Expr]) -> list[np.ndarray]:
    """Return a generic point: matrices are well conditioned, and lengths of axes differ."""
    known: dict[str, int] = {}
    for x in inputs:
        for dim in x.shape:
            if isinstance(dim, str):
                known.setdefault(dim, 2 + len(known))
    point: list[np.ndarray] = []
    count = 0
    for x in inputs:
        shape = lengths(x.shape, known)
        places = np.arange(count, count + int(np.prod(shape)))
        count += len(places)
        # Multiples of the golden ratio, modulo 1, are spread evenly and never repeat.
        values = 0.3 + 0.5 * ((places + 1) * 0.6180339887498949 % 1)
        if x.dtype is not float:  # data
            point.append((places % 2).astype(x.dtype).reshape(shape))
            continue
        point.append(np.asarray(values.reshape(shape)))
        if len(shape) == 2:
            point[-1] += np.eye(*shape)
    return point


def _source(
    argument: object, what: str, forward: Expr, inputs: Sequence[Expr], at: Sequence[np.ndarray]
) -> Source | Recorded | None:
    """Return a source if ``argument`` is a function with derivatives; None for a derivative."""
    if isinstance(argument, Source | Recorded):
        return argument
    if isinstance(argument, Function):
        return Lowered(argument)
    source = with_derivatives(argument)
    if source is not None:
        return source
    if isinstance(argument, type) or not callable(argument):
        return None
    return _taken_by_tensors(argument, what, forward, inputs, at)


def with_derivatives(argument: object) -> Source | None:
    """Return a source for a function whose type shows that it brings its own derivatives."""
    target = _unwrapped(argument)
    for make, kinds in (
        (from_tensors, tensors.custom),
        (from_torch, _loaded("torch", "autograd.Function", "nn.Module")),
        (from_jax, _loaded("jax", "custom_vjp", "custom_jvp")),
    ):
        if isinstance(argument, kinds) or isinstance(target, kinds):
            return make(argument)
        if isinstance(target, type) and issubclass(target, kinds):
            return make(target)
    return None


def _loaded(package: str, *names: str) -> tuple[type, ...]:
    """Return classes of a package; none if it is not loaded: the object cannot be of it then."""
    library = sys.modules.get(package)
    return tuple([attrgetter(name)(library) for name in names]) if library else ()


def _unwrapped(argument: object) -> Any:
    """Return the object behind a wrapper: the class F for ``F.apply``, f for ``jax.jit(f)``."""
    if getattr(argument, "__name__", "") == "apply":
        return getattr(argument, "__self__", argument)
    compiled = type(argument).__module__.startswith("jax")
    return getattr(argument, "__wrapped__", argument) if compiled else argument


@silent()
def _taken_by_tensors(
    argument: Any, what: str, forward: Expr, inputs: Sequence[Expr], at: Sequence[np.ndarray]
) -> Source | None:
    """Return a source for a callable of tensors that computes the forward; None for a NumPy one."""
    known = bound_sizes("input", inputs, [a.shape for a in at])
    seeds = [np.ones(lengths(forward.shape, known))] if what == "vjp" else []
    try:
        argument(*[a.copy() for a in at], *seeds)
    except Exception:  # it refuses NumPy arrays, or it is broken, which the audit will report
        value = np.asarray(lower(forward, inputs)(*at))
    else:
        return None
    # Try each loaded library: the one under which the callable computes the forward is right.
    ran, fits = [], []
    for package, make in (("numeric", from_tensors), ("torch", from_torch)):
        if package not in sys.modules:
            continue
        source = make(argument)
        try:
            got = source.value(*[a.copy() for a in at])
        except Exception:
            continue
        ran.append(make)
        if got.shape == value.shape and np.allclose(got, value, 1e-3, 0):
            fits.append(source)
    if len(fits) == 1:
        return fits[0]
    if ran:
        makers = " or ".join(f"{make.__name__}(fn)" for make in ran)
        raise TypeError(
            f"{what}={shortened(argument)} refuses NumPy arrays and takes tensors; where it is the "
            "function "
            f"whose derivatives are tested, say so by {makers}, and where it is the {what}, let "
            "it take and return NumPy arrays"
        )
    return None
