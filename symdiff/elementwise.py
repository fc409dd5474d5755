"""Functions of each element, under their array-API and their NumPy names; their operands broadcast.

A function of the scalar vocabulary (``symdiff.vocabulary`` holds its definition, its derivative
and its convention at kinks) is one line here.  ``pointwise`` makes one of any SymPy formula.
"""

from __future__ import annotations

import inspect
import math
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import sympy as sp

from symdiff import algebra, ops
from symdiff.algebra import as_numeric, int_power, primitive, scale, select
from symdiff.expr import pi
from symdiff.leaves import as_expr, number_node, number_of
from symdiff.scalar import VOCABULARY, canonical, kernel_symbol

if TYPE_CHECKING:
    from collections.abc import Callable

    from symdiff.expr import Expr, Operand

# What a predicate of the vocabulary yields is boolean; every other formula is real.
_PREDICATES = tuple(
    VOCABULARY[name] for name in VOCABULARY if algebra.PRIMITIVES[name].result is bool
)

_F = TypeVar("_F")


class Unary(Protocol):
    """A function of one operand."""

    def __call__(self, x: Operand, /) -> Expr:
        """The function at each element of ``x``."""


class Binary(Protocol):
    """A function of two operands."""

    def __call__(self, x: Operand, y: Operand, /) -> Expr:
        """The function at each pair of elements of ``x`` and ``y``, broadcast to one shape."""


# Defining one -----------------------------------------------------------------------------------


def pointwise(name: str, fn: Callable[..., Any]) -> Callable[..., Expr]:
    """A new elementwise function from a SymPy formula; its derivatives of every order are SymPy's.

    Args:
        name: an identifier, under which the function is printed.
        fn: called once with a real SymPy symbol for each parameter; returns the formula in them.

    Returns a function of as many operands (expressions, numbers, arrays), which broadcast.

    Raises ValueError for a name that is no identifier, a parameter that has no fixed place, or a
    formula with other symbols; Unsupported, naming SymPy's class, for a formula that has no
    counterpart here.

    >>> import symdiff as sd
    >>> softsign = sd.pointwise("softsign", lambda x: x / (1 + sp.Abs(x)))
    >>> x = sd.symbol("x", 3)
    >>> softsign(x).shape, sd.grad(sd.sum(softsign(x)), x).shape
    ((3,), (3,))
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"pointwise: the name {name!r} is not an identifier")
    parameters = list(inspect.signature(fn).parameters.values())
    for parameter in parameters:
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            raise ValueError(
                f"pointwise: {name} must take a fixed number of operands, not {parameter}"
            )
    symbols = [kernel_symbol(k) for k in range(len(parameters))]
    given = sp.sympify(fn(*symbols), strict=True)
    foreign = sorted(str(s) for s in given.free_symbols if s not in symbols)
    if foreign:
        raise ValueError(
            f"pointwise: the formula of {name} contains {', '.join(foreign)}; make it an operand"
        )
    formula = canonical(given)
    result = bool if isinstance(formula, _PREDICATES) else float
    op = ops.pointwise_op(name, formula, len(symbols), result, primitive=False)

    def function(*operands: Operand) -> Expr:
        return algebra.pointwise(op, *(as_numeric(as_expr(x)) for x in operands))

    places = [
        p.replace(kind=p.POSITIONAL_ONLY, default=p.empty, annotation=p.empty) for p in parameters
    ]
    function.__signature__ = inspect.Signature(places)  # type: ignore[attr-defined]  # read by inspect
    function.__name__ = function.__qualname__ = name
    words = {s: sp.Symbol(p.name, real=True) for s, p in zip(symbols, parameters, strict=True)}
    function.__doc__ = f"``{given.xreplace(words)}``, for each element of the operands."
    return function


def _documented(function: _F, name: str, says: str, example: str) -> _F:
    function.__name__ = function.__qualname__ = name  # type: ignore[attr-defined]  # a function, seen as a protocol
    function.__doc__ = f"""{says}

    >>> import symdiff as sd
    >>> x, y = sd.symbols("x y")
    >>> {example}
    True
    """
    return function


def _unary(name: str, says: str, example: str) -> Unary:
    def function(x: Operand, /) -> Expr:
        return primitive(name, as_expr(x))

    return _documented(function, name, says, example)


def _binary(name: str, says: str, example: str) -> Binary:
    def function(x: Operand, y: Operand, /) -> Expr:
        return primitive(name, as_expr(x), as_expr(y))

    return _documented(function, name, says, example)


# Arithmetic and powers --------------------------------------------------------------------------


def add(x: Operand, y: Operand, /) -> Expr:
    """``x + y``.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.add(x, 1) is x + 1
    True
    """
    return as_expr(x) + y


def subtract(x: Operand, y: Operand, /) -> Expr:
    """``x - y``.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.subtract(1, x) is 1 - x
    True
    """
    return as_expr(x) - y


def multiply(x: Operand, y: Operand, /) -> Expr:
    """``x * y``.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.multiply(2, x) is x + x
    True
    """
    return as_expr(x) * y


def divide(x: Operand, y: Operand, /) -> Expr:
    """``x / y``; integers divide to a real number.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.divide(1, x) is x**-1
    True
    """
    return as_expr(x) / y


def pow(x: Operand, y: Operand, /) -> Expr:
    """``x ** y``, nan for negative x unless y is an integer; 0 ** 0 is 1.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.pow(x, 0.5) is sd.sqrt(x)
    True
    """
    return as_expr(x) ** y


def negative(x: Operand, /) -> Expr:
    """``-x``.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.negative(x) is -x
    True
    """
    return -as_expr(x)


def positive(x: Operand, /) -> Expr:
    """``x``.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.positive(x) is x
    True
    """
    return +as_expr(x)


def reciprocal(x: Operand, /) -> Expr:
    """``1 / x``.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.reciprocal(x) is 1 / x
    True
    """
    return int_power(as_numeric(as_expr(x)), -1, True)


def square(x: Operand, /) -> Expr:
    """``x²``.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.square(x) is x * x
    True
    """
    return int_power(as_numeric(as_expr(x)), 2, True)


def sqrt(x: Operand, /) -> Expr:
    """``√x``; nan for negative x.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.diff(sd.sqrt(x), x) is 1 / (2 * sd.sqrt(x))
    True
    """
    return int_power(as_numeric(as_expr(x)), Fraction(1, 2), True)


floor_divide = _binary(
    "floor_divide",
    "``floor(x / y)`` of the exact quotient; derivative 0.",
    "sd.diff(sd.floor_divide(x, 3), x) is sd.constant(0)",
)
mod = _binary(
    "mod",
    "``x - y*floor(x/y)``, which has the sign of y.",
    "sd.diff(sd.mod(x, y), y) is -sd.floor_divide(x, y)",
)
cbrt = _unary(
    "cbrt",
    "The real cube root, negative for negative x.",
    "sd.diff(sd.cbrt(x), x) is 1 / (3 * sd.cbrt(x)**2)",
)
hypot = _binary(
    "hypot",
    "``√(x² + y²)`` without overflow; its derivative at the origin is 0.",
    "sd.hypot(x, 2.0) is sd.hypot(x, 2)",
)
abs = _unary("abs", "``|x|``; its derivative at 0 is 0.", "sd.diff(sd.abs(x), x) is sd.sign(x)")
sign = _unary(
    "sign", "The sign of x: 1, 0 or -1; derivative 0.", "sd.diff(sd.sign(x), x) is sd.constant(0)"
)

# Exponentials and logarithms --------------------------------------------------------------------

exp = _unary("exp", "``e**x``.", "sd.diff(sd.exp(x), x) is sd.exp(x)")
expm1 = _unary("expm1", "``e**x - 1``, accurate near 0.", "sd.diff(sd.expm1(x), x) is sd.exp(x)")
exp2 = _unary("exp2", "``2**x``.", "sd.exp2(10) is sd.constant(1024)")
log = _unary(
    "log", "The natural logarithm; -inf at 0, nan below.", "sd.diff(sd.log(x), x) is 1 / x"
)
log1p = _unary(
    "log1p", "``log(1 + x)``, accurate near 0.", "sd.diff(sd.log1p(x), x) is 1 / (1 + x)"
)
log1mexp = _unary(
    "log1mexp",
    "``log(1 - e**-x)`` of positive x, accurate near 0 and far from it.",
    "sd.diff(sd.log1mexp(x), x) is 1 / sd.expm1(x)",
)
log2 = _unary("log2", "The logarithm to base 2.", "sd.log2(8) is sd.constant(3)")
log10 = _unary("log10", "The logarithm to base 10.", "sd.log10(100) is sd.constant(2)")
logaddexp = _binary(
    "logaddexp",
    "``log(e**x + e**y)`` without overflow.",
    "sd.logaddexp(x, 0.0) is sd.logaddexp(x, 0)",
)
xlogy = _binary(
    "xlogy",
    "``x*log(y)``, and 0 where x is 0 (unless y is nan).",
    "sd.xlogy(x, 2.0) is sd.xlogy(x, 2)",
)
sigmoid = _unary(
    "sigmoid",
    "The logistic function ``1 / (1 + e**-x)``.",
    "sd.diff(sd.softplus(x), x) is sd.sigmoid(x)",
)
softplus = _unary(
    "softplus",
    "``log(1 + e**x)``, without overflow.",
    "sd.diff(sd.softplus(x), x) is sd.sigmoid(x)",
)
log_sigmoid = _unary(
    "log_sigmoid",
    "``log(sigmoid(x))``, without underflow.",
    "sd.diff(sd.log_sigmoid(x), x) is sd.sigmoid(-x)",
)

# Trigonometry -----------------------------------------------------------------------------------

sin = _unary("sin", "The sine of x radians.", "sd.diff(sd.sin(x), x) is sd.cos(x)")
cos = _unary("cos", "The cosine of x radians.", "sd.diff(sd.cos(x), x) is -sd.sin(x)")
tan = _unary("tan", "The tangent of x radians.", "sd.diff(sd.tan(x), x) is 1 + sd.tan(x)**2")
asin = _unary(
    "asin",
    "The angle in [-π/2, π/2] whose sine is x.",
    "sd.diff(sd.asin(x), x) is 1 / sd.sqrt(1 - x**2)",
)
acos = _unary(
    "acos",
    "The angle in [0, π] whose cosine is x.",
    "sd.diff(sd.acos(x), x) is -1 / sd.sqrt(1 - x**2)",
)
atan = _unary(
    "atan",
    "The angle in (-π/2, π/2) whose tangent is x.",
    "sd.diff(sd.atan(x), x) is 1 / (1 + x**2)",
)
atan2 = _binary(
    "atan2",
    "The angle in (-π, π] of the point with the first operand as ordinate, the second as abscissa."
    "\n\n"
    "    Its derivative at the origin is 0.",
    "sd.atan2(0.0, x) is sd.atan2(0, x)",
)
sinh = _unary("sinh", "The hyperbolic sine.", "sd.diff(sd.sinh(x), x) is sd.cosh(x)")
cosh = _unary("cosh", "The hyperbolic cosine.", "sd.diff(sd.cosh(x), x) is sd.sinh(x)")
tanh = _unary(
    "tanh",
    "The hyperbolic tangent.",
    "sd.diff(sd.tanh(x), x, 2) is -2 * sd.diff(sd.tanh(x), x) * sd.tanh(x)",
)
asinh = _unary("asinh", "The inverse of sinh.", "sd.asinh(0) is sd.constant(0)")
acosh = _unary("acosh", "The inverse of cosh on [1, ∞).", "sd.acosh(1) is sd.constant(0)")
atanh = _unary(
    "atanh", "The inverse of tanh on [-1, 1].", "sd.diff(sd.atanh(x), x) is 1 / (1 - x**2)"
)
sinc = _unary(
    "sinc", "``sin(πx)/(πx)``, and 1 at 0, as NumPy has it.", "sd.sinc(0) is sd.constant(1)"
)


def deg2rad(x: Operand, /) -> Expr:
    """An angle of x degrees in radians: ``x*π/180``.

    >>> import symdiff as sd
    >>> sd.deg2rad(180) is sd.pi
    True
    """
    return as_expr(x) * pi / 180


def rad2deg(x: Operand, /) -> Expr:
    """An angle of x radians in degrees: ``x*180/π``.

    >>> import symdiff as sd
    >>> sd.rad2deg(sd.pi) is sd.constant(180)
    True
    """
    return as_expr(x) * 180 / pi


# Special functions ------------------------------------------------------------------------------

erf = _unary("erf", "The error function ``2/√π ∫₀ˣ exp(-t²) dt``.", "sd.erf(0) is sd.constant(0)")
erfc = _unary("erfc", "``1 - erf(x)``, accurate in its tail.", "sd.erfc(0) is sd.constant(1)")
erfcx = _unary(
    "erfcx",
    "``e**(x**2) * erfc(x)``, which does not underflow for large x.",
    "sd.erfcx(0) is sd.constant(1)",
)
gamma = _unary(
    "gamma", "The gamma function Γ(x).", "sd.diff(sd.gamma(x), x) is sd.gamma(x) * sd.digamma(x)"
)
gammaln = _unary("gammaln", "``log|Γ(x)|``.", "sd.diff(sd.gammaln(x), x) is sd.digamma(x)")
digamma = _unary(
    "digamma",
    "ψ(x), the derivative of ``log Γ(x)``.",
    "sd.diff(sd.digamma(x), x) is sd.polygamma(1, x)",
)


def polygamma(n: int, x: Operand, /) -> Expr:
    """The n-th derivative of digamma at x, for an integer n >= 0.

    Raises ValueError for any other n.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.polygamma(0, x) is sd.digamma(x)
    True
    """
    order = number_of(as_expr(n))
    if not isinstance(order, int) or order < 0:
        raise ValueError(f"polygamma: the order {n!r} is not an integer >= 0")
    return digamma(x) if order == 0 else primitive("polygamma", number_node(order), as_expr(x))


betaln = _binary(
    "betaln",
    "``log|B(x, y)|``, the logarithm of the beta function.",
    "sd.diff(sd.betaln(x, y), x, y) is -sd.polygamma(1, x + y)",
)
erfinv = _unary("erfinv", "The inverse of erf on [-1, 1].", "sd.erfinv(0) is sd.constant(0)")
erfcinv = _unary(
    "erfcinv", "The inverse of erfc on [0, 2], accurate near 0.", "sd.erfcinv(1) is sd.constant(0)"
)


def gammainc(a: Operand, x: Operand, /) -> Expr:
    """The regularised lower incomplete gamma function ``1/Γ(a) ∫₀ˣ t**(a-1) e**-t dt``.

    For a > 0 and x >= 0, else nan.  It has derivatives of every order by x, and none by a: asking
    for one raises NotDifferentiable.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> print(sd.diff(sd.gammainc(2, x), x))
    gamma_density(2, x)
    """
    return primitive("gammainc", as_expr(a), as_expr(x))


def gammaincc(a: Operand, x: Operand, /) -> Expr:
    """``1 - gammainc(a, x)``, accurate in its tail; no derivative by a.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.diff(sd.gammaincc(2, x), x) is -sd.diff(sd.gammainc(2, x), x)
    True
    """
    return primitive("gammaincc", as_expr(a), as_expr(x))


def betainc(a: Operand, b: Operand, x: Operand, /) -> Expr:
    """The regularised incomplete beta function ``1/B(a, b) ∫₀ˣ t**(a-1) (1-t)**(b-1) dt``.

    For a, b > 0 and 0 <= x <= 1, else nan.  It has derivatives of every order by x, and none by a
    and b: asking for one raises NotDifferentiable.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> print(sd.evalf(sd.diff(sd.betainc(2, 3, x), x, 2), subs={x: 0}))
    12.0
    """
    return primitive("betainc", as_expr(a), as_expr(b), as_expr(x))


def _bessel(name: str, n: Operand, x: Operand) -> Expr:
    order = number_of(as_expr(n))
    if not isinstance(order, int):
        raise ValueError(f"{name}: the order {n!r} is not an integer")
    if order < 0:
        cls = VOCABULARY[name]
        sign = cls.reflection ** (order % 2)
        return scale(sign, primitive(name, number_node(-order), as_expr(x)))
    return primitive(name, number_node(order), as_expr(x))


def jv(n: int, x: Operand, /) -> Expr:
    """J_n(x), the Bessel function of the first kind, for an integer n.

    Raises ValueError for any other n.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.diff(sd.j0(x), x) is -sd.j1(x), sd.jn(-1, x) is -sd.j1(x)
    (True, True)
    """
    return _bessel("jv", n, x)


def yv(n: int, x: Operand, /) -> Expr:
    """Y_n(x), the Bessel function of the second kind, for an integer n; nan for x < 0.

    Raises ValueError for any other n.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.diff(sd.y0(x), x) is -sd.y1(x)
    True
    """
    return _bessel("yv", n, x)


def iv(n: int, x: Operand, /) -> Expr:
    """I_n(x), the modified Bessel function of the first kind, for an integer n.

    Raises ValueError for any other n.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.diff(sd.i0(x), x) is sd.i1(x), sd.i0(0) is sd.constant(1)
    (True, True)
    """
    return _bessel("iv", n, x)


def kv(n: int, x: Operand, /) -> Expr:
    """K_n(x), the modified Bessel function of the second kind, for an integer n; nan for x < 0.

    Raises ValueError for any other n.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.diff(sd.kv(0, x), x) is -sd.kv(1, x)
    True
    """
    return _bessel("kv", n, x)


def _of_order(name: str, n: int, symbol: str) -> Unary:
    function = partial(_bessel, name, n)

    def of_order(x: Operand, /) -> Expr:
        return function(x)

    return _documented(
        of_order, f"{symbol}{n}", f"``{name}({n}, x)``.", f"sd.{symbol}{n}(x) is sd.{name}({n}, x)"
    )


j0, j1 = _of_order("jv", 0, "j"), _of_order("jv", 1, "j")
y0, y1 = _of_order("yv", 0, "y"), _of_order("yv", 1, "y")
i0, i1 = _of_order("iv", 0, "i"), _of_order("iv", 1, "i")
k0, k1 = _of_order("kv", 0, "k"), _of_order("kv", 1, "k")


def logit(x: Operand, /) -> Expr:
    """``log(x / (1 - x))``, the inverse of the sigmoid on [0, 1].

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.logit(x) is sd.log(x) - sd.log1p(-x)
    True
    """
    operand = as_expr(x)
    return log(operand) - log1p(-operand)


# Selections and rounding ------------------------------------------------------------------------

maximum = _binary(
    "maximum",
    "The larger of x and y; nan if one is.  Equal ones have half of the derivative each.",
    "sd.maximum(x, 0.0) is sd.maximum(x, 0)",
)
minimum = _binary(
    "minimum",
    "The smaller of x and y; nan if one is.  Equal ones have half of the derivative each.",
    "sd.minimum(x, 0.0) is sd.minimum(x, 0)",
)


def where(condition: Operand, x: Operand, y: Operand, /) -> Expr:
    """``x`` where the condition is true, else ``y``; what is not selected does not count, even nan.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> f = sd.where(x > 0, x * sd.log(x), 0)
    >>> sd.where(x > 0, f, 1) is sd.where(x > 0, x * sd.log(x), 1)
    True
    """
    return select(as_expr(condition), as_expr(x), as_expr(y))


def clip(x: Operand, /, min: Operand | None = None, max: Operand | None = None) -> Expr:
    """``minimum(maximum(x, min), max)``; a bound that is None does not bind.

    The derivative with respect to x is 1 inside and at the bounds, 0 outside.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.clip(x, 0, 1.0) is sd.clip(x, min=0, max=1), sd.clip(x) is x
    (True, True)
    """
    operand = as_expr(x)
    low = None if min is None else as_expr(min)
    high = None if max is None else as_expr(max)
    if low is None and high is None:
        return operand
    if operand.dtype is int and (low is None or high is None):
        bound = high if low is None else low
        assert bound is not None
        if bound.dtype is int:  # an infinite bound would make it real
            return primitive("minimum" if low is None else "maximum", operand, bound)
    low = number_node(-math.inf) if low is None else low
    high = number_node(math.inf) if high is None else high
    return primitive("clip", operand, low, high)


floor = _unary(
    "floor", "The largest integer <= x; derivative 0.", "sd.floor(2.5) is sd.constant(2)"
)
ceil = _unary("ceil", "The smallest integer >= x; derivative 0.", "sd.ceil(2.5) is sd.constant(3)")
trunc = _unary(
    "trunc", "The next integer towards 0; derivative 0.", "sd.trunc(-2.5) is sd.constant(-2)"
)


_DECIMALS = 400


def round(x: Operand, /, decimals: int = 0) -> Expr:
    """The nearest integer, or multiple of ``10**-decimals``.

    Of two equally near, the even one.  Its derivative is 0.  Raises ValueError for more decimals
    than 400, on either side: floats have none there.

    >>> import symdiff as sd
    >>> sd.round(2.5) is sd.constant(2), sd.round(1250, -2) is sd.constant(1200)
    (True, True)
    """
    if not -_DECIMALS <= decimals <= _DECIMALS:
        raise ValueError(f"round: {decimals} decimals; floats have at most {_DECIMALS}")
    unit = Fraction(10) ** -decimals
    return scale(_number(unit), primitive("round", scale(_number(1 / unit), as_expr(x))))


def _number(value: Fraction) -> int | Fraction:
    return value.numerator if value.denominator == 1 else value


# Comparisons and logic --------------------------------------------------------------------------


def greater(x: Operand, y: Operand, /) -> Expr:
    """Whether ``x > y``.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.greater(x, 0) is sd.less(0, x)
    True
    """
    return primitive("less", as_expr(y), as_expr(x))


def greater_equal(x: Operand, y: Operand, /) -> Expr:
    """Whether ``x >= y``.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.greater_equal(x, 0) is sd.less_equal(0, x)
    True
    """
    return primitive("less_equal", as_expr(y), as_expr(x))


less = _binary("less", "Whether ``x < y``.", "sd.less(x, y) is (x < y)")
less_equal = _binary("less_equal", "Whether ``x <= y``.", "sd.less_equal(x, y) is (x <= y)")
equal = _binary("equal", "Whether ``x == y``.", "sd.equal(x, y) is (x == y)")
not_equal = _binary("not_equal", "Whether ``x != y``.", "sd.not_equal(x, y) is (x != y)")
logical_and = _binary(
    "logical_and",
    "Whether both are true (not 0).",
    "sd.logical_and(x > 0, y > 0) is (x > 0) & (y > 0)",
)
logical_or = _binary(
    "logical_or",
    "Whether one or both are true.",
    "sd.logical_or(x > 0, y > 0) is (x > 0) | (y > 0)",
)
logical_xor = _binary(
    "logical_xor",
    "Whether exactly one is true.",
    "sd.logical_xor(x > 0, y > 0) is (x > 0) ^ (y > 0)",
)
logical_not = _unary("logical_not", "Whether it is not true.", "sd.logical_not(x > 0) is ~(x > 0)")

# NumPy's names ----------------------------------------------------------------------------------

absolute = abs
true_divide = divide
power = pow
remainder = mod
arcsin, arccos, arctan, arctan2 = asin, acos, atan, atan2
arcsinh, arccosh, arctanh = asinh, acosh, atanh
radians, degrees = deg2rad, rad2deg

# SciPy's names ----------------------------------------------------------------------------------

expit = sigmoid
psi = digamma
jn, yn = jv, yv

__all__ = [
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "betainc",
    "betaln",
    "cbrt",
    "ceil",
    "clip",
    "cos",
    "cosh",
    "deg2rad",
    "degrees",
    "digamma",
    "divide",
    "equal",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "exp",
    "exp2",
    "expit",
    "expm1",
    "floor",
    "floor_divide",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "greater",
    "greater_equal",
    "hypot",
    "i0",
    "i1",
    "iv",
    "j0",
    "j1",
    "jn",
    "jv",
    "k0",
    "k1",
    "kv",
    "less",
    "less_equal",
    "log",
    "log1mexp",
    "log1p",
    "log2",
    "log10",
    "log_sigmoid",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logit",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "negative",
    "not_equal",
    "pointwise",
    "polygamma",
    "positive",
    "pow",
    "power",
    "psi",
    "rad2deg",
    "radians",
    "reciprocal",
    "remainder",
    "round",
    "sigmoid",
    "sign",
    "sin",
    "sinc",
    "sinh",
    "softplus",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "true_divide",
    "trunc",
    "where",
    "xlogy",
    "y0",
    "y1",
    "yn",
    "yv",
]
