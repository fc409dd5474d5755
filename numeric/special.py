"""The scalar vocabulary as functions of NumPy arrays, and of Python floats.

``NUMPY`` takes arrays or numbers, keeps float32 and promotes integers where the result is real.
``MATH`` takes Python floats, at a tenth of the cost, and raises ValueError, OverflowError or
ZeroDivisionError where ``math`` does: the caller then redoes the call with ``NUMPY``, which has
the IEEE answer.  Both are accurate to a few ulp wherever the value can be represented.

The error function and the gamma family of arrays are SciPy's, imported when first called.
"""

from __future__ import annotations

import importlib.util
import math
import operator
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from symdiff.errors import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Our name -> SciPy's, where they differ or the function has no NumPy counterpart.
_SCIPY = {
    "erf": "erf",
    "erfc": "erfc",
    "gamma": "gamma",
    "gammaln": "gammaln",
    "digamma": "digamma",
    "polygamma": "polygamma",
}


def needs_scipy(name: str) -> bool:
    """Whether the array function called ``name`` is one of SciPy's.

    >>> needs_scipy("erf"), needs_scipy("sinc")
    (True, False)
    """
    return name in _SCIPY


def require_scipy(name: str) -> None:
    """Raise Unsupported if ``name`` needs SciPy and it is not installed; SciPy is not imported."""
    if needs_scipy(name) and importlib.util.find_spec("scipy") is None:
        raise Unsupported(f'{name} needs SciPy: pip install "symdiff-numeric[scipy]"')


@cache
def _from_scipy(name: str) -> Callable[..., Any]:
    require_scipy(name)
    from scipy import special

    function: Callable[..., Any] = getattr(special, _SCIPY[name])
    return function


# Of arrays --------------------------------------------------------------------------------------


def _sigmoid(x: Any) -> Any:
    # e^-|x| never overflows, and each sign of x has a form without cancellation.
    e = np.exp(-np.abs(x))
    return np.where(np.greater_equal(x, 0), 1, e) / (1 + e)


def _softplus(x: Any) -> Any:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _log_sigmoid(x: Any) -> Any:
    return np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))


def _exp_share(a: Any, b: Any) -> Any:
    with np.errstate(invalid="ignore"):  # inf - inf, which the selection replaces
        difference = np.subtract(a, b)
    return _sigmoid(np.where(np.equal(a, b), 0, difference))


def _xlogy(x: Any, y: Any) -> Any:
    vanishes = np.equal(x, 0) & ~np.isnan(y)
    return x * np.log(np.where(vanishes, 1, y))


def _power(x: Any, y: Any) -> Any:
    if np.result_type(x, y).kind != "f":  # NumPy refuses integers with negative exponents
        x = np.asarray(x, dtype=np.float64)
    return np.power(x, y)


def _cosine(a: Any, b: Any) -> Any:
    r = np.hypot(a, b)
    return a / np.where(np.equal(r, 0), 1, r)


def _hypot1(x: Any) -> Any:
    return np.hypot(x, 1)


def _step(x: Any) -> Any:
    return np.asarray(np.heaviside(x, 0), dtype=np.result_type(x))[()]  # integers stay integers


def _clip(x: Any, lo: Any, hi: Any) -> Any:
    return np.minimum(hi, np.maximum(lo, x))


def _polygamma(n: Any, x: Any) -> Any:
    x = np.asarray(x)  # SciPy has it in double precision only
    return np.asarray(_from_scipy("polygamma")(n, x), np.result_type(x, np.float32))[()]


# The sine and cosine of πx, exactly reduced: x less the nearest integer carries no rounding.


def _sincos_pi(x: Any) -> tuple[Any, Any]:
    nearest = np.rint(x)
    turned = np.pi * (x - nearest)
    parity = 1 - 2 * np.abs(np.remainder(nearest, 2))
    return parity * np.sin(turned), parity * np.cos(turned)


def _sinc(x: Any) -> Any:
    t = np.pi * np.asarray(x)
    at_zero = np.equal(t, 0)
    return np.where(at_zero, 1, _sincos_pi(x)[0]) / np.where(at_zero, 1, t)


def _sinc_derivative(n: Any, x: Any) -> Any:
    orders = np.unique(n)
    if orders.size == 1:
        return _sinc_order(int(orders[0]), np.asarray(x))
    n, x = np.broadcast_arrays(n, x)
    result = np.empty(x.shape, np.result_type(x, np.float32))
    for order in orders:
        chosen = n == order
        result[chosen] = _sinc_order(int(order), x[chosen])
    return result


def _sinc_order(n: int, x: Any) -> Any:
    """The n-th derivative of sinc: πⁿ·fₙ(t), t = πx, by the recurrence t·fₙ + n·fₙ₋₁ = sin⁽ⁿ⁾ t.

    Upwards a rounding error grows by n/|t| at each step, downwards by |t|/n: upwards is right for
    |t| >= n, downwards (Miller) for the others.  The downward start is an arbitrary f far above.
    """
    dtype = np.result_type(x, np.float32)
    x = np.asarray(x, dtype=np.float64)
    t = np.pi * x
    sine, cosine = _sincos_pi(x)
    cycle = (sine, cosine, -sine, -cosine)  # the derivatives of the sine
    far = np.abs(t) >= max(n, 1)
    divisor = np.where(far, t, 1)
    upward = sine / divisor
    for k in range(1, n + 1):
        upward = (cycle[k % 4] - k * upward) / divisor
    if np.all(far):
        return (math.pi**n * upward).astype(dtype)[()]
    small = np.where(far, 0, t)
    downward = np.zeros_like(t)
    for k in range(_start(n), n, -1):
        downward = (cycle[k % 4] - small * downward) / k
    return (math.pi**n * np.where(far, upward, downward)).astype(dtype)[()]


def _start(n: int) -> int:
    """Where the downward recurrence starts, for |t| < max(n, 1).

    It starts at 0 instead of at an f of at most 1/(start + 1).  That error ends multiplied by
    Π |t|/k over n < k <= start, below 2^-53 of the result's size 1/(n + 1) for every n.
    """
    return 3 * n + 20


NUMPY: dict[str, Callable[..., Any]] = {
    "less": np.less,
    "less_equal": np.less_equal,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "logical_not": np.logical_not,
    "where": np.where,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "clip": _clip,
    "abs": np.abs,
    "sign": np.sign,
    "step": _step,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.round,
    "floor_divide": np.floor_divide,
    "mod": np.remainder,
    "sigmoid": _sigmoid,
    "softplus": _softplus,
    "log_sigmoid": _log_sigmoid,
    "exp": np.exp,
    "expm1": np.expm1,
    "exp2": np.exp2,
    "log": np.log,
    "log1p": np.log1p,
    "log2": np.log2,
    "log10": np.log10,
    "logaddexp": np.logaddexp,
    "exp_share": _exp_share,
    "xlogy": _xlogy,
    "power": _power,
    "cbrt": np.cbrt,
    "norm_sqrt": np.sqrt,
    "hypot": np.hypot,
    "cosine": _cosine,
    "hypot1": _hypot1,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "erf": lambda x: _from_scipy("erf")(x),
    "erfc": lambda x: _from_scipy("erfc")(x),
    "gamma": lambda x: _from_scipy("gamma")(x),
    "gammaln": lambda x: _from_scipy("gammaln")(x),
    "digamma": lambda x: _from_scipy("digamma")(x),
    "polygamma": _polygamma,
    "sinc": _sinc,
    "sinc_derivative": _sinc_derivative,
}
"""The functions of ``symdiff.scalar.VOCABULARY`` for arrays."""


# Of Python floats -------------------------------------------------------------------------------


def _math_maximum(a: float, b: float) -> float:
    return a if a >= b or a != a else b


def _math_minimum(a: float, b: float) -> float:
    return a if a <= b or a != a else b


def _math_sigmoid(x: float) -> float:
    e = math.exp(-abs(x))
    return (1.0 if x >= 0 else e) / (1.0 + e)


def _math_softplus(x: float) -> float:
    return _math_maximum(x, 0.0) + math.log1p(math.exp(-abs(x)))


def _math_logaddexp(a: float, b: float) -> float:
    if a == b:
        return a + _LOG_2
    return _math_maximum(a, b) + math.log1p(math.exp(-abs(a - b)))


_LOG_2 = math.log(2)


def _math_sign(x: float) -> float:
    return x if x != x else float((x > 0) - (x < 0))


def _math_sinc(x: float) -> float:
    nearest = round(x)
    sine = math.sin(math.pi * (x - nearest))
    return (-sine if nearest % 2 else sine) / (math.pi * x) if x else 1.0


def _math_sinc_derivative(n: float, x: float) -> float:
    n = int(n)
    t, nearest = math.pi * x, round(x)
    turned, parity = math.pi * (x - nearest), -1.0 if nearest % 2 else 1.0
    sine, cosine = parity * math.sin(turned), parity * math.cos(turned)
    cycle: Sequence[float] = (sine, cosine, -sine, -cosine)
    if abs(t) >= max(n, 1):
        f = sine / t
        for k in range(1, n + 1):
            f = (cycle[k % 4] - k * f) / t
    else:
        f = 0.0
        for k in range(_start(n), n, -1):
            f = (cycle[k % 4] - t * f) / k
    return math.pi**n * f


MATH: dict[str, Callable[..., Any]] = {
    "less": operator.lt,
    "less_equal": operator.le,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "logical_and": lambda a, b: bool(a) and bool(b),
    "logical_or": lambda a, b: bool(a) or bool(b),
    "logical_xor": lambda a, b: bool(a) != bool(b),
    "logical_not": operator.not_,
    "where": lambda c, a, b: a if c else b,
    "maximum": _math_maximum,
    "minimum": _math_minimum,
    "clip": lambda x, lo, hi: _math_minimum(hi, _math_maximum(lo, x)),
    "abs": abs,
    "sign": _math_sign,
    "step": lambda x: x if x != x else float(x > 0),
    "floor": lambda x: float(math.floor(x)),
    "ceil": lambda x: float(math.ceil(x)),
    "trunc": lambda x: float(math.trunc(x)),
    "round": lambda x: float(round(x)),
    "floor_divide": operator.floordiv,
    "mod": operator.mod,
    "sigmoid": _math_sigmoid,
    "softplus": _math_softplus,
    "log_sigmoid": lambda x: _math_minimum(x, 0.0) - math.log1p(math.exp(-abs(x))),
    "exp": math.exp,
    "expm1": math.expm1,
    "exp2": math.exp2,
    "log": math.log,
    "log1p": math.log1p,
    "log2": math.log2,
    "log10": math.log10,
    "logaddexp": _math_logaddexp,
    "exp_share": lambda a, b: 0.5 if a == b else _math_sigmoid(a - b),
    "xlogy": lambda x, y: 0.0 if x == 0 and y == y else x * math.log(y),
    "power": math.pow,
    "cbrt": math.cbrt,
    "norm_sqrt": math.sqrt,
    "hypot": math.hypot,
    "cosine": lambda a, b: a / math.hypot(a, b) if a or b else 0.0,
    "hypot1": lambda x: math.hypot(x, 1.0),
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "atan2": math.atan2,
    "sinh": math.sinh,
    "cosh": math.cosh,
    "tanh": math.tanh,
    "asinh": math.asinh,
    "acosh": math.acosh,
    "atanh": math.atanh,
    "erf": math.erf,
    "erfc": math.erfc,
    "gamma": math.gamma,
    "gammaln": math.lgamma,
    "digamma": lambda x: float(_from_scipy("digamma")(x)),
    "polygamma": lambda n, x: float(_polygamma(n, x)),
    "sinc": _math_sinc,
    "sinc_derivative": _math_sinc_derivative,
}
"""The functions of ``symdiff.scalar.VOCABULARY`` for Python floats."""
