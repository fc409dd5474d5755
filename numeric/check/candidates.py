"""Derivatives under test, whatever they are written in, as functions of NumPy arrays."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.check.foreign import from_jax, from_tensors, from_torch
from numeric.check.recorded import Recorded
from numeric.check.sources import Lowered, Source, called, silent
from numeric.lowering.function import Function, lower
from symdiff.graph.axis_lengths import bound_sizes, lengths
from symdiff.graph.number import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from symdiff.graph.expr import Expr


@dataclass(frozen=True)
class Candidate:
    """The derivatives under test as NumPy callables; None is what is not offered.

    With k inputs ``x1 .. xk`` and a result y: ``gradient(x1, .., xk)`` gives, for scalar y, an
    array of each input's shape, ``vjp(x1, .., xk, w)`` the same for ``sum(w * y)``;
    ``jvp(x1, .., xk, t1, .., tk)`` is an array of y's shape; ``hessian(x1, .., xk)`` is of shape
    ``x.shape + x.shape`` for one input, for several a tuple of rows of such blocks.  All but jvp
    return one array where there is one input, and a tuple of arrays otherwise.  Inputs of integers
    and booleans are data: they have no tangents, and there are no derivatives by them.

    ``value(x1, .., xk)`` is y as what is under test computes it, where that is known: if it is not
    the forward, its derivatives are those of another function.  ``points`` is None where any point
    can be asked for; otherwise it holds, by input, the only ones, along a leading axis.  Without
    ``subnormals`` these are 0 to what computes, as to XLA: no rule of the function's is to blame.
    """

    gradient: Callable[..., object] | None = None
    vjp: Callable[..., object] | None = None
    jvp: Callable[..., object] | None = None
    hessian: Callable[..., object] | None = None
    name: str = "the function under test"
    dtypes: tuple[str, ...] = ("float64", "float32")  # of the inputs that it takes
    value: Callable[..., Any] | None = None
    points: Mapping[str, np.ndarray] | None = None
    subnormals: bool = True
    notes: tuple[str, ...] = ()  # what is not offered, and why


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
    """What is under test, as NumPy callables.

    These pass unchanged, with the meaning that ``Candidate`` gives them.  In the place of
    ``gradient`` or ``vjp`` may stand the function whose derivatives are to be tested, with its own
    derivatives: a ``torch.autograd.Function`` or module, a JAX function with a ``custom_vjp`` or
    ``custom_jvp``, a lowered Function, a ``numeric.autograd.Function``, a ``Recorded`` table, and
    what ``from_torch``, ``from_jax`` and ``from_tensors`` made of others.  Any other callable that
    refuses NumPy arrays is such a function if it takes the tensors of one of these libraries and
    gives, at an ordinary point, the value of ``forward``.

    Args:
        forward: the function as an expression.
        inputs: its symbols, in the order of the arguments.
        gradient: of a scalar forward.
        vjp: of any.
        jvp: where it is offered; it goes before that of a function in place of the others.
        hessian: likewise.
        at: an ordinary point, arrays; what is offered is what can be called there.

    Raises TypeError if nothing is under test, for what cannot be called, and where it is not safe
    to say what a callable is; ShapeError for a function of other shapes, ImportError for one of a
    package that is not there.

    >>> import symdiff as sd
    >>> x = sd.symbol("x", 3)
    >>> test = candidate(sd.sum(sd.sin(x)), [x], gradient=np.cos)
    >>> test.name, test.gradient(np.zeros(3)).tolist(), test.vjp
    ('cos', [1.0, 1.0, 1.0], None)
    """
    given = {"gradient": gradient, "vjp": vjp, "jvp": jvp, "hessian": hessian}
    given = {what: fn for what, fn in given.items() if fn is not None}
    if not given:
        raise TypeError("nothing to test: give gradient or vjp, or a function with derivatives")
    point = _ordinary(inputs) if at is None else [np.asarray(a) for a in at]
    found: dict[str, Any] = {}
    for what in ("gradient", "vjp"):
        source = _source(given[what], what, forward, inputs, point) if what in given else None
        if source is None:
            continue
        if len(given.keys() & {"gradient", "vjp"}) > 1:
            raise TypeError(
                f"{what}={shortened(given[what])} brings its derivatives: give it alone"
            )
        del given[what]
        found = source.offered(forward, inputs, point)
    for what, fn in given.items():
        if not callable(fn):
            raise TypeError(f"{what}={shortened(fn)} cannot be called")
        found.setdefault("name", called(fn))
    return Candidate(**found | given)


def _ordinary(inputs: Sequence[Expr]) -> list[np.ndarray]:
    """A point with nothing special about it: matrices are well conditioned, axes differ."""
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
        values = 0.3 + 0.5 * ((places + 1) * 0.6180339887498949 % 1)
        if x.dtype is not float:  # data
            point.append((places % 2).astype(x.dtype).reshape(shape))
            continue
        point.append(np.asarray(values.reshape(shape)))
        if len(shape) == 2:
            point[-1] += np.eye(*shape)
    return point


def _source(
    given: object, what: str, forward: Expr, inputs: Sequence[Expr], at: Sequence[np.ndarray]
) -> Source | Recorded | None:
    """The function that stands in the place of its derivatives; None if these were given."""
    if isinstance(given, Source | Recorded):
        return given
    if isinstance(given, Function):
        return Lowered(given)
    source = with_derivatives(given)
    if source is not None:
        return source
    if isinstance(given, type) or not callable(given):
        return None
    return _taken_by_tensors(given, what, forward, inputs, at)


def with_derivatives(given: object) -> Source | None:
    """A function that is known by its type to bring its own derivatives, as a source of these."""
    whole = _meant(given)
    for package, make, types in (
        ("numeric", from_tensors, ("autograd.Function",)),
        ("torch", from_torch, ("autograd.Function", "nn.Module")),
        ("jax", from_jax, ("custom_vjp", "custom_jvp")),
    ):
        lib = sys.modules.get(package)  # where it is not loaded, nothing of it is here
        for path in types if lib else ():
            kind = attrgetter(path)(lib)
            if isinstance(given, kind) or isinstance(whole, kind):
                return make(given)
            if isinstance(whole, type) and issubclass(whole, kind):
                return make(whole)
    return None


def _meant(given: object) -> Any:
    """What a callable is a way to call: of ``F.apply`` the class F, of ``jax.jit(f)`` f."""
    if getattr(given, "__name__", "") == "apply":
        return getattr(given, "__self__", given)
    compiled = type(given).__module__.startswith("jax")
    return getattr(given, "__wrapped__", given) if compiled else given


@silent()
def _taken_by_tensors(
    given: Any, what: str, forward: Expr, inputs: Sequence[Expr], at: Sequence[np.ndarray]
) -> Source | None:
    """A callable of tensors that computes the forward; None for one that takes NumPy arrays."""
    known = bound_sizes("input", inputs, [a.shape for a in at])
    seeds = [np.ones(lengths(forward.shape, known))] if what == "vjp" else []
    try:
        given(*[a.copy() for a in at], *seeds)
    except Exception:  # it refuses NumPy arrays, or is broken, which the audit will tell
        value = np.asarray(lower(forward, inputs)(*at))
    else:
        return None
    ran, fits = [], []
    for package, make in (("numeric", from_tensors), ("torch", from_torch)):
        if package not in sys.modules:
            continue
        source = make(given)
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
            f"{what}={shortened(given)} refuses NumPy arrays and takes tensors; where it is the "
            "function "
            f"whose derivatives are tested, say so by {makers}, and where it is the {what}, let "
            "it take and return NumPy arrays"
        )
    return None
