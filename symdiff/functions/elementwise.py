"""Elementwise functions under their array-API and NumPy names; their operands broadcast.

A function of the scalar vocabulary takes one line here.  ``symdiff.scalars.vocabulary`` holds its
definition, its derivative and its convention at kinks.  ``pointwise`` makes a function of any SymPy
formula.
"""

from __future__ import annotations

import inspect
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import sympy as sp

from symdiff.graph import algebra, ops
from symdiff.graph.algebra import as_numeric, int_power, primitive, scale, select
from symdiff.graph.arguments import described, names_arguments
from symdiff.graph.expr import pi
from symdiff.graph.leaves import as_expr, number_node
from symdiff.graph.number import shortened
from symdiff.scalars.formula import VOCABULARY, canonical, kernel_symbol

if TYPE_CHECKING:
    from collections.abc import Callable

    from symdiff.graph.expr import Expr, Operand

# Predicates of the vocabulary have boolean results; every other formula is real.
_PREDICATES = tuple(
    VOCABULARY[name] for name in VOCABULARY if algebra.PRIMITIVES[name].result is bool
)

_F = TypeVar("_F")


class Unary(Protocol):
    """A function of one operand."""

    def __call__(self, x: Operand, /) -> Expr:
        """Return the function at each element of ``x``."""


class Binary(Protocol):
    """A function of two operands."""

    def __call__(self, x: Operand, y: Operand, /) -> Expr:
        """Return the function at each pair of elements of ``x`` and ``y``, after broadcasting."""


# Definition -------------------------------------------------------------------------------------


def pointwise(name: str, fn: Callable[..., Any]) -> Callable[..., Expr]:
    """Define an elementwise function by a SymPy formula; SymPy gives derivatives of every order.

    Args:
        name: an identifier; expressions print it.
        fn: called once with a real SymPy symbol for each parameter; returns the formula in them.

    Returns a function of this many operands (expressions, numbers, arrays), which broadcast.

    Raises ValueError for a name that is not an identifier, a keyword or variadic parameter, or a
    formula with other symbols; Unsupported, with SymPy's class, for a formula without a counterpart
    here.

    >>> import symdiff as sd
    >>> softsign = sd.pointwise("softsign", lambda x: x / (1 + sp.Abs(x)))
    >>> x = sd.symbol("x", 3)
    >>> softsign(x).shape, sd.grad(sd.sum(softsign(x)), x).shape
    ((3,), (3,))
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"pointwise: the name {shortened(name)} is not an identifier")
    parameters = list(inspect.signature(fn).parameters.values())
    for parameter in parameters:
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            raise ValueError(
                f"pointwise: {name} must take a fixed number of operands, not {parameter}"
            )
    symbols = [kernel_symbol(k) for k in range(len(parameters))]
    returned = fn(*symbols)
    try:
        expression = sp.sympify(returned, strict=True)
    except (sp.SympifyError, TypeError, ValueError):
        raise TypeError(
            f"pointwise: argument 'fn' returned {described(returned)}, which is not a SymPy formula"
        ) from None
    foreign = sorted(str(s) for s in expression.free_symbols if s not in symbols)
    if foreign:
        raise ValueError(
            f"pointwise: the formula of {name} contains {', '.join(foreign)}; make it an operand"
        )
    formula = canonical(expression)
    result = bool if isinstance(formula, _PREDICATES) else float
    op = ops.pointwise_op(name, formula, len(symbols), result, primitive=False)

    def function(*operands: Operand) -> Expr:
        return algebra.pointwise(op, *(as_numeric(as_expr(x, name, "operands")) for x in operands))

    places = [
        p.replace(kind=p.POSITIONAL_ONLY, default=p.empty, annotation=p.empty) for p in parameters
    ]
    function.__signature__ = inspect.Signature(places)  # type: ignore[attr-defined]  # read by inspect
    function.__name__ = function.__qualname__ = name
    words = {s: sp.Symbol(p.name, real=True) for s, p in zip(symbols, parameters, strict=True)}
    function.__doc__ = f"``{expression.xreplace(words)}``, for each element of the operands."
    return function


def documented(function: _F, name: str, says: str, example: str, module: str) -> _F:
    """Give ``function`` a name, and a docstring of a description and an example in x and y.

    ``module`` binds the function to its name there: pickles look for it in that module.
    """
    function.__name__ = function.__qualname__ = name  # type: ignore[attr-defined]  # a function, seen as a protocol
    function.__module__ = module
    function.__doc__ = f"""{says}

    >>> import symdiff as sd
    >>> x, y = sd.symbols("x y")
    >>> {example}
    True
    """
    return function


def unary(name: str, says: str, example: str, module: str = __name__) -> Unary:
    """Return the unary function ``name`` of the vocabulary."""

    @names_arguments
    def function(x: Operand, /) -> Expr:
        return primitive(name, as_expr(x, name, "x"))

    return documented(function, name, says, example, module)


def binary(name: str, says: str, example: str, module: str = __name__) -> Binary:
    """Return the binary function ``name`` of the vocabulary."""

    @names_arguments
    def function(x: Operand, y: Operand, /) -> Expr:
        return primitive(name, as_expr(x, name, "x"), as_expr(y, name, "y"))

    return documented(function, name, says, example, module)


# Arithmetic and powers --------------------------------------------------------------------------


def add(x: Operand, y: Operand, /) -> Expr:
    """Return ``x + y``.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.add(x, 1) is x + 1
    True
    """
    return as_expr(x) + y


def subtract(x: Operand, y: Operand, /) -> Expr:
    """Return ``x - y``.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.subtract(1, x) is 1 - x
    True
    """
    return as_expr(x) - y


def multiply(x: Operand, y: Operand, /) -> Expr:
    """Return ``x * y``.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.multiply(2, x) is x + x
    True
    """
    return as_expr(x) * y


def divide(x: Operand, y: Operand, /) -> Expr:
    """Return ``x / y``; the quotient of integers is real.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.divide(1, x) is x**-1
    True
    """
    return as_expr(x) / y


def pow(x: Operand, y: Operand, /) -> Expr:
    """Return ``x ** y``; nan for negative x unless y is an integer; 0 ** 0 is 1.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.pow(x, 0.5) is sd.sqrt(x)
    True
    """
    return as_expr(x) ** y


def negative(x: Operand, /) -> Expr:
    """Return ``-x``.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.negative(x) is -x
    True
    """
    return -as_expr(x)


def positive(x: Operand, /) -> Expr:
    """Return ``x`` itself.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.positive(x) is x
    True
    """
    return +as_expr(x)


def reciprocal(x: Operand, /) -> Expr:
    """Return ``1 / x``.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.reciprocal(x) is 1 / x
    True
    """
    return int_power(as_numeric(as_expr(x)), -1, True)


@names_arguments
def square(x: Operand, /) -> Expr:
    """Return ``x²``.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.square(x) is x * x
    True
    """
    return int_power(as_numeric(as_expr(x, "square", "x")), 2, True)


@names_arguments
def sqrt(x: Operand, /) -> Expr:
    """Return ``√x``; nan for negative x.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.diff(sd.sqrt(x), x) is 1 / (2 * sd.sqrt(x))
    True
    """
    return int_power(as_numeric(as_expr(x, "sqrt", "x")), Fraction(1, 2), True)


floor_divide = binary(
    "floor_divide",
    "Return ``floor(x / y)`` of the exact quotient; derivative 0.",
    "sd.diff(sd.floor_divide(x, 3), x) is sd.constant(0)",
)
mod = binary(
    "mod",
    "Return ``x - y*floor(x/y)``, which has the sign of y.",
    "sd.diff(sd.mod(x, y), y) is -sd.floor_divide(x, y)",
)
cbrt = unary(
    "cbrt",
    "Return the real cube root, negative for negative x.",
    "sd.diff(sd.cbrt(x), x) is 1 / (3 * sd.cbrt(x)**2)",
)
hypot = binary(
    "hypot",
    "Return ``√(x² + y²)`` without overflow; its derivative at the origin is 0.",
    "sd.hypot(x, 2.0) is sd.hypot(x, 2)",
)
abs = unary(
    "abs",
    "Return ``|x|``; its derivative at 0 is 0.",
    "str(sd.diff(sd.abs(x), x)) == str(sd.sign(x))",
)
sign = unary(
    "sign",
    "Return the sign of x: 1, 0 or -1; derivative 0.",
    "sd.diff(sd.sign(x), x) is sd.constant(0)",
)

# Exponentials and logarithms --------------------------------------------------------------------

exp = unary("exp", "Return ``e**x``.", "sd.diff(sd.exp(x), x) is sd.exp(x)")
expm1 = unary(
    "expm1", "Return ``e**x - 1``, accurate near 0.", "sd.diff(sd.expm1(x), x) is sd.exp(x)"
)
exp2 = unary("exp2", "Return ``2**x``.", "sd.exp2(10) is sd.constant(1024)")
log = unary(
    "log", "Return the natural logarithm; -inf at 0, nan below.", "sd.diff(sd.log(x), x) is 1 / x"
)
log1p = unary(
    "log1p", "Return ``log(1 + x)``, accurate near 0.", "sd.diff(sd.log1p(x), x) is 1 / (1 + x)"
)
log1mexp = unary(
    "log1mexp",
    "Return ``log(1 - e**-x)`` of positive x, accurate near 0 and far from it.",
    "sd.diff(sd.log1mexp(x), x) is 1 / sd.expm1(x)",
)
log2 = unary("log2", "Return the logarithm to base 2.", "sd.log2(8) is sd.constant(3)")
log10 = unary("log10", "Return the logarithm to base 10.", "sd.log10(100) is sd.constant(2)")
logaddexp = binary(
    "logaddexp",
    "Return ``log(e**x + e**y)`` without overflow.",
    "sd.logaddexp(x, 0.0) is sd.logaddexp(x, 0)",
)
xlogy = binary(
    "xlogy",
    "Return ``x*log(y)``, and 0 where x is 0 (unless y is nan).",
    "sd.xlogy(x, 2.0) is sd.xlogy(x, 2)",
)
sigmoid = unary(
    "sigmoid",
    "Return the logistic function ``1 / (1 + e**-x)``.",
    "sd.diff(sd.softplus(x), x) is sd.sigmoid(x)",
)
softplus = unary(
    "softplus",
    "Return ``log(1 + e**x)``, without overflow.",
    "sd.diff(sd.softplus(x), x) is sd.sigmoid(x)",
)
log_sigmoid = unary(
    "log_sigmoid",
    "Return ``log(sigmoid(x))``, without underflow.",
    "sd.diff(sd.log_sigmoid(x), x) is sd.sigmoid(-x)",
)

# Trigonometry -----------------------------------------------------------------------------------

sin = unary("sin", "Return the sine of x radians.", "sd.diff(sd.sin(x), x) is sd.cos(x)")
cos = unary("cos", "Return the cosine of x radians.", "sd.diff(sd.cos(x), x) is -sd.sin(x)")
tan = unary("tan", "Return the tangent of x radians.", "sd.diff(sd.tan(x), x) is 1 + sd.tan(x)**2")
asin = unary(
    "asin",
    "Return the angle in [-π/2, π/2] whose sine is x.",
    'str(sd.diff(sd.asin(x), x)) == "1/sqrt(1 - x**2)"',
)
acos = unary(
    "acos",
    "Return the angle in [0, π] whose cosine is x.",
    "sd.diff(sd.acos(x), x) is -sd.diff(sd.asin(x), x)",
)
atan = unary(
    "atan",
    "Return the angle in (-π/2, π/2) whose tangent is x.",
    "sd.diff(sd.atan(x), x) is 1 / (1 + x**2)",
)
atan2 = binary(
    "atan2",
    "Return the angle in (-π, π] of the point with ordinate x and abscissa y."
    "\n\n"
    "    Its derivative at the origin is 0.",
    "sd.atan2(0.0, x) is sd.atan2(0, x)",
)
sinh = unary("sinh", "Return the hyperbolic sine.", "sd.diff(sd.sinh(x), x) is sd.cosh(x)")
cosh = unary("cosh", "Return the hyperbolic cosine.", "sd.diff(sd.cosh(x), x) is sd.sinh(x)")
tanh = unary(
    "tanh",
    "Return the hyperbolic tangent.",
    "sd.diff(sd.tanh(x), x, 2) is -2 * sd.diff(sd.tanh(x), x) * sd.tanh(x)",
)
asinh = unary("asinh", "Return the inverse of sinh.", "sd.asinh(0) is sd.constant(0)")
acosh = unary("acosh", "Return the inverse of cosh on [1, ∞).", "sd.acosh(1) is sd.constant(0)")
atanh = unary(
    "atanh",
    "Return the inverse of tanh on [-1, 1].",
    'str(sd.diff(sd.atanh(x), x)) == "1/(1 - x**2)"',
)
sinc = unary(
    "sinc", "Return ``sin(πx)/(πx)``; 1 at 0, as in NumPy.", "sd.sinc(0) is sd.constant(1)"
)


def deg2rad(x: Operand, /) -> Expr:
    """Return an angle of x degrees in radians: ``x*π/180``.

    >>> import symdiff as sd
    >>> sd.deg2rad(180) is sd.pi
    True
    """
    return as_expr(x) * pi / 180


def rad2deg(x: Operand, /) -> Expr:
    """Return an angle of x radians in degrees: ``x*180/π``.

    >>> import symdiff as sd
    >>> sd.rad2deg(sd.pi) is sd.constant(180)
    True
    """
    return as_expr(x) * 180 / pi


# Selections and rounding ------------------------------------------------------------------------

maximum = binary(
    "maximum",
    "Return the larger of x and y; nan if one is nan.  Equal ones get half the derivative each.",
    "sd.maximum(x, 0.0) is sd.maximum(x, 0)",
)
minimum = binary(
    "minimum",
    "Return the smaller of x and y; nan if one is nan.  Equal ones get half the derivative each.",
    "sd.minimum(x, 0.0) is sd.minimum(x, 0)",
)


@names_arguments
def where(condition: Operand, x: Operand, y: Operand, /) -> Expr:
    """Return ``x`` where the condition is true, else ``y``; the other has no effect, even nan.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> f = sd.where(x > 0, x * sd.log(x), 0)
    >>> sd.where(x > 0, f, 1) is sd.where(x > 0, x * sd.log(x), 1)
    True
    """
    return select(
        as_expr(condition, "where", "condition"), as_expr(x, "where", "x"), as_expr(y, "where", "y")
    )


def clip(x: Operand, /, min: Operand | None = None, max: Operand | None = None) -> Expr:
    """Return ``minimum(maximum(x, min), max)``; a bound of None has no effect.

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


floor = unary(
    "floor", "Return the largest integer <= x; derivative 0.", "sd.floor(2.5) is sd.constant(2)"
)
ceil = unary(
    "ceil", "Return the smallest integer >= x; derivative 0.", "sd.ceil(2.5) is sd.constant(3)"
)
trunc = unary(
    "trunc", "Return the next integer towards 0; derivative 0.", "sd.trunc(-2.5) is sd.constant(-2)"
)


_DECIMALS = 400


def round(x: Operand, /, decimals: int = 0) -> Expr:
    """Return the nearest integer, or multiple of ``10**-decimals``.

    Ties go to the even one.  The derivative is 0.  Raises ValueError for more than 400 decimals of
    either sign: floats have none there.

    >>> import symdiff as sd
    >>> sd.round(2.5) is sd.constant(2), sd.round(1250, -2) is sd.constant(1200)
    (True, True)
    """
    if not -_DECIMALS <= decimals <= _DECIMALS:
        raise ValueError(f"round: {decimals} decimals; floats have at most {_DECIMALS}")
    unit = Fraction(10) ** -decimals
    return scale(
        _exact_number(unit), primitive("round", scale(_exact_number(1 / unit), as_expr(x)))
    )


def _exact_number(value: Fraction) -> int | Fraction:
    return value.numerator if value.denominator == 1 else value


# Comparisons and logic --------------------------------------------------------------------------


def greater(x: Operand, y: Operand, /) -> Expr:
    """Return whether ``x > y``.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.greater(x, 0) is sd.less(0, x)
    True
    """
    return primitive("less", as_expr(y), as_expr(x))


def greater_equal(x: Operand, y: Operand, /) -> Expr:
    """Return whether ``x >= y``.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.greater_equal(x, 0) is sd.less_equal(0, x)
    True
    """
    return primitive("less_equal", as_expr(y), as_expr(x))


less = binary("less", "Return whether ``x < y``.", "sd.less(x, y) is (x < y)")
less_equal = binary("less_equal", "Return whether ``x <= y``.", "sd.less_equal(x, y) is (x <= y)")
equal = binary("equal", "Return whether ``x == y``.", "sd.equal(x, y) is (x == y)")
not_equal = binary("not_equal", "Return whether ``x != y``.", "sd.not_equal(x, y) is (x != y)")
logical_and = binary(
    "logical_and",
    "Return whether both are true (not 0).",
    "sd.logical_and(x > 0, y > 0) is (x > 0) & (y > 0)",
)
logical_or = binary(
    "logical_or",
    "Return whether one or both are true.",
    "sd.logical_or(x > 0, y > 0) is (x > 0) | (y > 0)",
)
logical_xor = binary(
    "logical_xor",
    "Return whether exactly one is true.",
    "sd.logical_xor(x > 0, y > 0) is (x > 0) ^ (y > 0)",
)
logical_not = unary(
    "logical_not", "Return whether x is false (0).", "sd.logical_not(x > 0) is ~(x > 0)"
)

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
    "cbrt",
    "ceil",
    "clip",
    "cos",
    "cosh",
    "deg2rad",
    "degrees",
    "divide",
    "equal",
    "exp",
    "exp2",
    "expit",
    "expm1",
    "floor",
    "floor_divide",
    "greater",
    "greater_equal",
    "hypot",
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
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "negative",
    "not_equal",
    "pointwise",
    "positive",
    "pow",
    "power",
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
]
