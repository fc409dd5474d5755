"""How integrals run: SciPy's quadrature of the integrand, with errors that are checked."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.lowering import structure
from numeric.lowering.programs import NOT_IN_MATH
from numeric.lowering.roots import Programs, elements_of, solvable, whole
from symdiff.contexts import contained
from symdiff.errors import ConvergenceError, Unsupported
from symdiff.transforms.integrals import Integral

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numeric.lowering.texts import Draft, Piece
    from symdiff.graph.expr import Expr

_RTOL = 1e-11  # the relative error that SciPy is asked for
_CERTAIN = 1e-9  # the largest accepted error, relative to the integral of |f|
_PIECES = 500
# Where an interval is cut for the check: no symmetric pole lies there.
_CUT = 0.381966011250105


class IntegralOf(Programs):
    """The integrals of an op, for values of the limits and the params."""

    def __call__(self, a: Any, b: Any, *params: Any, sizes: Mapping[str, int]) -> Any:
        """The value, an array of its own."""
        dtype = solvable([a, b, *params])
        (shape,) = self.shapes(sizes)
        f = self._integrand(params, shape, sizes)
        values = [_checked(_element(f, k), float(a), float(b)) for k in range(math.prod(shape))]
        return np.array(values, dtype).reshape(shape)[()]

    def _integrand(
        self, params: Sequence[Any], shape: tuple[int, ...], sizes: Mapping[str, int]
    ) -> Callable[[float], Sequence[float]]:
        """The elements of the integrand at a number; elements of one point are computed once."""
        run, of = self.program(), self.elements()
        given = None if of is None else elements_of(params)
        fast = None if of is None or given is None else of(given)
        found: dict[float, Sequence[float]] = {}

        def elements(x: float) -> Sequence[float]:
            if fast is not None:
                try:
                    return fast(x)
                except NOT_IN_MATH:
                    pass
            (value,) = run(np.float64(x), *params, sizes)
            return [float(y) for y in whole(value, shape).ravel()]

        def kept(x: float) -> Sequence[float]:
            values = found.get(x)
            if values is None:
                values = found[x] = elements(x)
            return values

        return kept if math.prod(shape) > 1 else elements


def _element(f: Callable[[float], Sequence[float]], k: int) -> Callable[[float], float]:
    return lambda x: f(x)[k]


@contained
def _checked(f: Callable[[float], float], a: float, b: float) -> float:
    """The integral of f from a to b; raises ConvergenceError where its error is not small.

    Quadrature sees the integrand at some points alone.  The sum of two parts sees others, so that
    a pole inside, at which errors cancel by symmetry, does not pass.
    """
    if a == b:
        return 0.0
    with np.errstate(all="ignore"):
        value, error = _quad(f, a, b)
        middle = _between(a, b)
        parts = [_quad(f, a, middle), _quad(f, middle, b)]
        both = math.fsum(part for part, _ in parts)
        error = max(error, abs(value - both), *(e for _, e in parts))
        size = abs(value)
        if error > _CERTAIN * size and math.isfinite(error):
            size = max(size, abs(_quad(lambda x: abs(f(x)), a, b, 1e-3)[0]))
    if not error <= _CERTAIN * size or math.isinf(value):  # also for nan
        why = (
            "the integrand is nan at some point"
            if math.isnan(value)
            else "the integral may diverge, have a pole inside or oscillate"
        )
        failure = ConvergenceError(
            f"integrate: no certain value from {a:g} to {b:g}: quadrature finds {value:.6g} with "
            f"an error of {error:.1g}; {why}; split the integral where f is difficult"
        )
        failure.residual = error
        raise failure
    return value


def _between(a: float, b: float) -> float:
    if math.isinf(a) and math.isinf(b):
        return _CUT
    if math.isinf(a):
        return b + math.copysign(1 + _CUT, a)
    return a + math.copysign(1 + _CUT, b) if math.isinf(b) else a + _CUT * (b - a)


def _quad(
    f: Callable[[float], float], a: float, b: float, rtol: float = _RTOL
) -> tuple[float, float]:
    """SciPy's value, and its estimate of the error."""
    try:
        from scipy.integrate import quad
    except ImportError:
        raise Unsupported('integrate needs SciPy: pip install "symdiff-numeric[scipy]"') from None
    value, error, *_ = quad(f, a, b, epsabs=0, epsrel=rtol, limit=_PIECES, full_output=1)
    return float(value), float(error)


@structure.register(Integral)
def _integral(op: Integral, node: Expr, d: Draft, *xs: Piece) -> Piece:
    run = structure.once_for(op, lambda: IntegralOf(op))
    return structure.call(d, op.name, run, *xs, sizes="sizes")
