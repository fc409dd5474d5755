"""Elementwise functions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from numeric import special
from numeric.eager.dtypes import promoted, promoted_real, word
from numeric.eager.fast_paths import shortcut_of_one
from numeric.eager.inplace import inplace, write
from numeric.eager.operations import INPUTS, RESULT, Op
from numeric.eager.recording import apply, cast
from numeric.eager.tensor import Tensor, attach, method, values_of, wrap
from numeric.ops.arithmetic import argument, as_array, elementwise
from symdiff import functions as sd
from symdiff.graph.algebra import primitive
from symdiff.graph.contraction import broadcast_to

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numeric.eager.types import Operand
    from numeric.types import Values
    from symdiff.graph.expr import Expr

__all__ = [
    "abs",
    "absolute",
    "acos",
    "acosh",
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
    "ceil",
    "clamp",
    "clamp_max",
    "clamp_min",
    "clip",
    "cos",
    "cosh",
    "deg2rad",
    "digamma",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "expm1",
    "fix",
    "floor",
    "fmax",
    "fmin",
    "frac",
    "hypot",
    "lgamma",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logit",
    "maximum",
    "minimum",
    "nan_to_num",
    "rad2deg",
    "relu",
    "round",
    "rsqrt",
    "sgn",
    "sigmoid",
    "sign",
    "sin",
    "sinc",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
    "where",
    "xlogy",
]


# Functions of one operand -----------------------------------------------------------------------


class Row(NamedTuple):
    """A function of one operand: its formula, and the way to record it.

    ``known`` has identities that express its derivative in the result, as ``reuse`` of Op; () if
    the result itself is enough, None if the operand is saved.  ``example`` is a point and the value
    there.
    """

    build: Callable[..., Expr]
    says: str
    example: tuple[float, float]
    known: Callable[[Expr, Expr], dict[Expr, Expr]] | tuple[()] | None = None
    whole: str = (
        ""  # kinds of NumPy dtypes that, like real ones, do not change; "": all become real
    )
    label: str | None = None
    also: tuple[str, ...] = ()  # other names
    kernel: Callable[..., Values] | None = None  # where it is faster than the formula


def _sign_formula(x: Expr) -> Expr:
    """Return the sign, which is 0 at nan."""
    return sd.sign(sd.where(sd.equal(x, x), x, 0))


def _keeping(name: str, kinds: str) -> Callable[[Iterable[np.ndarray]], np.dtype]:
    """Return the dtype of an operand that is real or of ``kinds``; else NotImplementedError."""

    def kept(operands: Iterable[np.ndarray]) -> np.dtype:
        kind: np.dtype = next(iter(operands)).dtype
        if kind.kind != "f" and kind.kind not in kinds:
            if name == "relu":
                raise RuntimeError("Boolean inputs not supported for relu")
            raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{word(kind)}'")
        return kind

    return kept


def _relu(x: Expr) -> Expr:
    return sd.where(sd.less_equal(x, 0), 0, x)


def _sigmoid(a: np.ndarray) -> Values:
    if a.dtype == np.float16:  # the exponential would overflow where the result is not yet 0
        return special.NUMPY["sigmoid"](a)
    share: np.ndarray = 1 / (1 + np.exp(-a))
    return share


_HALF = Fraction(1, 2)
_DEGREE = math.pi / 180

_ROWS: dict[str, Row] = {
    "abs": Row(sd.abs, "The absolute value; derivative 0 at 0.", (-2, 2), whole="iu",
        also=("absolute", "__abs__")),
    "acos": Row(sd.acos, "The arc cosine.", (1, 0), also=("arccos",)),
    "acosh": Row(sd.acosh, "The inverse of cosh.", (1, 0), also=("arccosh",)),
    "asin": Row(sd.asin, "The arc sine.", (0, 0), also=("arcsin",)),
    "asinh": Row(sd.asinh, "The inverse of sinh.", (0, 0), also=("arcsinh",)),
    "atan": Row(sd.atan, "The arc tangent.", (0, 0), also=("arctan",)),
    "atanh": Row(sd.atanh, "The inverse of tanh.", (0, 0), also=("arctanh",)),
    "ceil": Row(sd.ceil, "The smallest integer above; derivative 0.", (1.5, 2), whole="iu"),
    "cos": Row(sd.cos, "The cosine.", (0, 1)),
    "cosh": Row(sd.cosh, "The hyperbolic cosine.", (0, 1)),
    "deg2rad": Row(lambda x: x * _DEGREE, "Degrees in radians.", (0, 0), label="Deg2RadBackward0"),
    "digamma": Row(sd.digamma, "The derivative of ``lgamma``.", (math.inf, math.inf)),
    "erf": Row(sd.erf, "The error function.", (0, 0)),
    "erfc": Row(sd.erfc, "``1 - erf(input)``, accurate in its tail.", (0, 1)),
    "erfinv": Row(sd.erfinv, "The inverse of erf.", (0, 0)),
    "exp": Row(sd.exp, "``e**input``.", (0, 1), known=()),
    "exp2": Row(sd.exp2, "``2**input``.", (3, 8), known=lambda x, y: {sd.exp2(x - 1): y / 2}),
    "expm1": Row(sd.expm1, "``e**input - 1``, accurate near 0.", (0, 0),
        known=lambda x, y: {sd.exp(x): y + 1}),
    "floor": Row(sd.floor, "The largest integer below; derivative 0.", (1.5, 1), whole="iu"),
    "frac": Row(lambda x: x - sd.trunc(x), "The fractional part.", (-1.5, -0.5), whole="-"),
    "lgamma": Row(sd.gammaln, "``log|Γ(input)|``.", (1, 0)),
    "log": Row(sd.log, "The natural logarithm.", (1, 0)),
    "log10": Row(sd.log10, "The logarithm to base 10.", (1, 0)),
    "log1p": Row(sd.log1p, "``log(1 + input)``, accurate near 0.", (0, 0), label="Log1PBackward0"),
    "log2": Row(sd.log2, "The logarithm to base 2.", (8, 3)),
    "rad2deg": Row(lambda x: x / _DEGREE, "Radians in degrees.", (0, 0), label="Rad2DegBackward0"),
    "relu": Row(_relu, "``max(input, 0)``; derivative 0 at 0.", (-1, 0), whole="iu",
        known=lambda x, y: {sd.less_equal(x, 0): sd.less_equal(y, 0)},
        kernel=lambda a: np.maximum(a, 0)),
    "rsqrt": Row(lambda x: x**-_HALF, "``1 / sqrt(input)``.", (4, 0.5),
        known=lambda x, y: {x ** (-3 * _HALF): y**3}),
    "sgn": Row(_sign_formula, "The sign: 1, 0 or -1; derivative 0.", (-2, -1), whole="iub"),
    "sigmoid": Row(sd.sigmoid, "``1 / (1 + e**-input)``.", (0, 0.5),
        known=lambda x, y: {primitive("sech2", x / 2): 4 * (1 - y) * y}, kernel=_sigmoid),
    "sign": Row(_sign_formula, "The sign: 1, 0 or -1; derivative 0.", (-2, -1), whole="iub"),
    "sin": Row(sd.sin, "The sine.", (0, 0)),
    "sinc": Row(sd.sinc, "``sin(πx) / (πx)``, and 1 at 0.", (0, 1)),
    "sinh": Row(sd.sinh, "The hyperbolic sine.", (0, 0)),
    "sqrt": Row(sd.sqrt, "The square root.", (4, 2), known=lambda x, y: {x**-_HALF: 1 / y}),
    "tan": Row(sd.tan, "The tangent.", (0, 0), known=()),
    "tanh": Row(sd.tanh, "The hyperbolic tangent.", (0, 0),
        known=lambda x, y: {primitive("sech2", x): 1 - y**2}),
    "trunc": Row(sd.trunc, "The next integer towards 0; derivative 0.", (-1.5, -1), whole="iu",
        also=("fix",)),
}  # fmt: skip


def _unary(name: str) -> Callable[[Tensor], Tensor]:
    """Create the function of a row, its method and its in-place form."""
    row = _ROWS[name]
    op = Op(
        name,
        row.build,
        row.kernel,
        saves=INPUTS if row.known is None else RESULT,
        pointwise=True,
        promotion=_keeping(name, row.whole) if row.whole else promoted_real,
        label=row.label,
        reuse=row.known or None,
    )

    def otherwise(input: object) -> Tensor:
        if not isinstance(input, Tensor):
            argument(name, "input", 1, input)
        return apply(op, (input,))

    function = shortcut_of_one(op, otherwise)
    at, value = map(float, row.example)
    shown = 'float("inf")' if math.isinf(at) else at
    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__  # as the module that binds it, which pickles name
    function.__doc__ = f"""{row.says}

    >>> import numeric as torch
    >>> torch.{name}(torch.tensor([{shown}])).tolist()
    [{value + 0}]
    """
    for known in (name, *row.also):
        attach(known, function)
        if not known.startswith("__"):
            attach(known + "_", inplace(function, known + "_"))
    return function


abs = absolute = _unary("abs")
acos = arccos = _unary("acos")
acosh = arccosh = _unary("acosh")
asin = arcsin = _unary("asin")
asinh = arcsinh = _unary("asinh")
atan = arctan = _unary("atan")
atanh = arctanh = _unary("atanh")
ceil = _unary("ceil")
cos = _unary("cos")
cosh = _unary("cosh")
deg2rad = _unary("deg2rad")
digamma = _unary("digamma")
erf = _unary("erf")
erfc = _unary("erfc")
erfinv = _unary("erfinv")
exp = _unary("exp")
exp2 = _unary("exp2")
expm1 = _unary("expm1")
floor = _unary("floor")
frac = _unary("frac")
lgamma = _unary("lgamma")
log = _unary("log")
log10 = _unary("log10")
log1p = _unary("log1p")
log2 = _unary("log2")
rad2deg = _unary("rad2deg")
relu = _unary("relu")
rsqrt = _unary("rsqrt")
sgn = _unary("sgn")
sigmoid = _unary("sigmoid")
sign = _unary("sign")
sin = _unary("sin")
sinc = _unary("sinc")
sinh = _unary("sinh")
sqrt = _unary("sqrt")
tan = _unary("tan")
tanh = _unary("tanh")
trunc = fix = _unary("trunc")


# Rounding, and functions with options -----------------------------------------------------------

_ROUND = [
    Op(
        "round",
        sd.round,
        pointwise=True,
        promotion=_keeping("round", "iu"),
        label=label,
    )
    for label in ("RoundBackward0", "RoundBackward1")
]


@method()
def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """Return the nearest integer, or multiple of ``10**-decimals``; a tie goes to the even one.

    Its derivative is 0.

    >>> import numeric as torch
    >>> torch.round(torch.tensor([0.5, 1.5, 2.6])).tolist()
    [0.0, 2.0, 3.0]
    """
    kind = argument("round", "input", 1, input)._array.dtype
    if decimals and kind.kind != "f":
        raise NotImplementedError(f"\"round_cpu\" not implemented for '{word(kind)}'")
    return apply(_ROUND[decimals != 0], (input,), (decimals,))


def _logit(x: Expr, eps: float | None) -> Expr:
    return sd.logit(x if eps is None else sd.clip(x, eps, 1 - eps))


_LOGIT = Op("logit", _logit, pointwise=True, promotion=promoted_real)


@method()
def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """Return ``log(x / (1 - x))`` of ``input``, after a clamp to ``[eps, 1 - eps]`` for ``eps``.

    >>> import numeric as torch
    >>> torch.logit(torch.tensor([0.5])).tolist()
    [0.0]
    """
    argument("logit", "input", 1, input)
    return apply(_LOGIT, (input,), (eps,))


def _replaced(x: Expr, nan: Expr, high: Expr, low: Expr) -> Expr:
    rest = sd.where(sd.greater(x, 0), high, sd.where(sd.less(x, 0), low, nan))
    return sd.where(sd.less(sd.abs(x), math.inf), x, rest)


_NAN_TO_NUM = Op(
    "nan_to_num",
    _replaced,
    pointwise=True,
    promotion=lambda arrays: promoted(list(arrays)[:1]),
)


@method()
def nan_to_num(
    input: Tensor,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Tensor:
    """Replace nan (by 0) and infinities (by the extreme numbers of the dtype), or by the arguments.

    Replaced elements have derivative 0.

    >>> import numeric as torch
    >>> torch.nan_to_num(torch.tensor([float("nan"), 1.0])).tolist()
    [0.0, 1.0]
    """
    argument("nan_to_num", "input", 1, input)
    kind = input._array.dtype
    if kind.kind != "f":
        return wrap(values_of(input).copy())
    limit = float(np.finfo(kind).max)
    return apply(
        _NAN_TO_NUM,
        (
            input,
            0.0 if nan is None else float(nan),
            limit if posinf is None else float(posinf),
            -limit if neginf is None else float(neginf),
        ),
    )


# Functions of two operands ----------------------------------------------------------------------


def _first_greater(a: Expr, b: Expr) -> Expr:
    return sd.where(sd.logical_or(sd.less_equal(b, a), _is_nan(b)), a, b)


def _first_less(a: Expr, b: Expr) -> Expr:
    return sd.where(sd.logical_or(sd.less_equal(a, b), _is_nan(b)), a, b)


def _is_nan(x: Expr) -> Expr:
    return sd.logical_not(sd.less_equal(x, math.inf))


def _two(
    name: str,
    build: Callable[..., Expr],
    kernel: Callable[..., Values] | None = None,
    **options: Any,
) -> Op:
    return Op(name, build, kernel, pointwise=True, **options)


_TWO: dict[str, Op] = {
    "atan2": _two("atan2", sd.atan2, promotion=promoted_real),
    "fmax": _two("fmax", _first_greater, np.fmax),
    "fmin": _two("fmin", _first_less, np.fmin),
    "hypot": _two(
        "hypot",
        sd.hypot,
        promotion=promoted_real,
        saves=RESULT,
        reuse=lambda a, b, y: {primitive("cosine", a, b): a / y, primitive("cosine", b, a): b / y},
    ),
    "logaddexp": _two("logaddexp", sd.logaddexp, promotion=promoted_real),
    "maximum": _two("maximum", sd.maximum),
    "minimum": _two("minimum", sd.minimum),
}


def _of_two(name: str, input: Tensor, other: Tensor) -> Tensor:
    operands = argument(name, "input", 1, input), argument(name, "other", 2, other)
    return apply(_TWO[name], operands)


@method("atan2", "arctan2")
def atan2(input: Tensor, other: Tensor) -> Tensor:
    """Return the angle of the points (other, input); derivative 0 at the origin.

    >>> import numeric as torch
    >>> torch.atan2(torch.tensor([0.0]), torch.tensor([1.0])).tolist()
    [0.0]
    """
    return _of_two("atan2", input, other)


arctan2 = atan2


@method()
def fmax(input: Tensor, other: Tensor) -> Tensor:
    """Return the larger operand, or the one that is not nan; the first gets a tie's derivative.

    >>> import numeric as torch
    >>> torch.fmax(torch.tensor([1.0, float("nan")]), torch.tensor([2.0, 2.0])).tolist()
    [2.0, 2.0]
    """
    return _of_two("fmax", input, other)


@method()
def fmin(input: Tensor, other: Tensor) -> Tensor:
    """Return the smaller operand, or the one that is not nan; the first gets a tie's derivative.

    >>> import numeric as torch
    >>> torch.fmin(torch.tensor([1.0, float("nan")]), torch.tensor([2.0, 2.0])).tolist()
    [1.0, 2.0]
    """
    return _of_two("fmin", input, other)


@method()
def hypot(input: Tensor, other: Tensor) -> Tensor:
    """Return ``sqrt(input**2 + other**2)`` without overflow.

    >>> import numeric as torch
    >>> torch.hypot(torch.tensor([3.0]), torch.tensor([4.0])).tolist()
    [5.0]
    """
    return _of_two("hypot", input, other)


@method()
def logaddexp(input: Tensor, other: Tensor) -> Tensor:
    """Return ``log(exp(input) + exp(other))`` without overflow.

    >>> import numeric as torch
    >>> torch.logaddexp(torch.tensor([1e3]), torch.tensor([0.0])).tolist()
    [1000.0]
    """
    return _of_two("logaddexp", input, other)


@method()
def maximum(input: Tensor, other: Tensor) -> Tensor:
    """Return the larger operand; nan if one is nan.  Each side of a tie gets half the derivative.

    >>> import numeric as torch
    >>> torch.maximum(torch.tensor([1, 2]), torch.tensor([2, 1])).tolist()
    [2, 2]
    """
    return _of_two("maximum", input, other)


@method()
def minimum(input: Tensor, other: Tensor) -> Tensor:
    """Return the smaller operand; nan if one is nan.  Each side of a tie gets half the derivative.

    >>> import numeric as torch
    >>> torch.minimum(torch.tensor([1, 2]), torch.tensor([2, 1])).tolist()
    [1, 1]
    """
    return _of_two("minimum", input, other)


def _xlogy_of(a: Values, b: Values) -> Values:
    kind = np.result_type(a, b)
    return special.NUMPY["xlogy"](np.asarray(a, kind), np.asarray(b, kind))


def masked_xlogy(a: Expr, b: Expr) -> Expr:
    """Return ``xlogy`` with PyTorch's derivative 0 where it is 0 and the logarithm is not finite.

    >>> from symdiff import symbols
    >>> x, y = symbols("x y")
    >>> masked_xlogy(x, y)
    where(x == 0 and y <= 0, 0, xlogy(x, y))
    """
    return sd.where(sd.logical_and(sd.equal(a, 0), sd.less_equal(b, 0)), 0, sd.xlogy(a, b))


_XLOGY = [
    _two("xlogy", masked_xlogy, _xlogy_of, promotion=promoted_real, label=label)
    for label in ("XlogyBackward0", "XlogyBackward1", "XlogyBackward2")
]


@method()
def xlogy(input: Operand, other: Operand) -> Tensor:
    """Return ``input * log(other)``, but 0 where ``input`` is 0 and ``other`` is not nan.

    >>> import numeric as torch
    >>> torch.xlogy(torch.tensor([0.0, 2.0]), torch.tensor([0.0, 1.0])).tolist()
    [0.0, 0.0]
    """
    input = argument("xlogy", "input", 1, input, number=True)
    other = argument("xlogy", "other", 2, other, number=True)
    op = _XLOGY[0 if isinstance(input, Tensor) and isinstance(other, Tensor) else
                1 if isinstance(other, Tensor) else 2]  # fmt: skip
    return elementwise(op, (input, other))


# Clamping ---------------------------------------------------------------------------------------


def _clamped(x: Expr, *rest: Expr | None) -> Expr:
    *bounds, low, high = rest
    return sd.clip(x, bounds[0] if low else None, bounds[-1] if high else None)


_CLAMP = {
    name: [_two("clamp", _clamped, kernel, label=f"{name}Backward{i}") for i in numbers]
    for name, numbers, kernel in (
        ("Clamp", (1, 0), None),
        ("ClampMin", (0, 1), lambda a, low, *_: np.maximum(a, low)),
        ("ClampMax", (0, 1), lambda a, high, *_: np.minimum(a, high)),
    )
}


def _bounded(
    name: str, function: str, input: Tensor, min: Operand | None, max: Operand | None
) -> Tensor:
    argument(function, "input", 1, input)
    given = {"min": min, "max": max}
    bounds = [
        argument(function, key, place, x, number=True)
        for place, (key, x) in enumerate(given.items(), 2)
        if x is not None
    ]
    tensors = [isinstance(x, Tensor) for x in bounds]
    if any(tensors) and not all(tensors):
        raise TypeError(
            f"{function}(): received an invalid combination of arguments: min and max must both "
            "be Tensors or both be numbers"
        )
    op = _CLAMP[name][tensors[0]]
    return elementwise(op, (input, *bounds), (min is not None, max is not None))


@method("clamp", "clip")
def clamp(input: Tensor, min: Operand | None = None, max: Operand | None = None) -> Tensor:
    """Clip ``input`` to ``min`` and ``max``, numbers or Tensors; ``max`` wins if they cross.

    The derivative by ``input`` is 1 inside and at the bounds; outside, the bound gets it.  Raises
    RuntimeError without any bound.

    >>> import numeric as torch
    >>> torch.clamp(torch.tensor([-2.0, 0.5, 2.0]), -1, 1).tolist()
    [-1.0, 0.5, 1.0]
    """
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    return _bounded("Clamp", "clamp", input, min, max)


clip = clamp


@method()
def clamp_min(input: Tensor, min: Operand) -> Tensor:
    """Return ``input``, but ``min`` where that is larger.

    >>> import numeric as torch
    >>> torch.clamp_min(torch.tensor([-2.0, 2.0]), 0).tolist()
    [0.0, 2.0]
    """
    return _bounded("ClampMin", "clamp_min", input, min, None)


@method()
def clamp_max(input: Tensor, max: Operand) -> Tensor:
    """Return ``input``, but ``max`` where that is smaller.

    >>> import numeric as torch
    >>> torch.clamp_max(torch.tensor([-2.0, 2.0]), 0).tolist()
    [-2.0, 0.0]
    """
    return _bounded("ClampMax", "clamp_max", input, None, max)


# Selections -------------------------------------------------------------------------------------

_WHERE = Op("where", sd.where, pointwise=True, promotion=None)


@overload
def where(condition: Tensor) -> tuple[Tensor, ...]: ...
@overload
def where(condition: Tensor, input: Operand, other: Operand) -> Tensor: ...
def where(
    condition: Tensor, input: Operand | None = None, other: Operand | None = None
) -> Tensor | tuple[Tensor, ...]:
    """Return ``input`` where the condition is true, else ``other``; they may be numbers.

    A cotangent goes to the selected operand only.  With a condition alone, return the places where
    it is not 0, as a tuple of one index Tensor per axis.

    >>> import numeric as torch
    >>> torch.where(torch.tensor([True, False]), torch.tensor([1.0, 2.0]), 0).tolist()
    [1.0, 0.0]
    """
    argument("where", "condition", 1, condition)
    if input is None and other is None:
        places = np.nonzero(np.atleast_1d(values_of(condition)))
        return tuple(wrap(np.ascontiguousarray(place)) for place in places)
    operands = [
        argument("where", "input", 2, input, number=True),
        argument("where", "other", 3, other, number=True),
    ]
    kind = condition._array.dtype
    if kind == np.uint8:
        condition = wrap(values_of(condition) != 0)
    elif kind.kind != "b":
        raise RuntimeError(
            "where expected condition to be a boolean tensor, but got a tensor with dtype "
            f"{word(kind)}"
        )
    common = promoted([x._array if isinstance(x, Tensor) else x for x in operands])
    for i, x in enumerate(operands):
        if not isinstance(x, Tensor):
            operands[i] = wrap(as_array("where", x).astype(common))
        elif x._array.dtype is not common:
            operands[i] = cast(x, common)
    return apply(_WHERE, (condition, *operands))


@method("where")
def _where(self: Tensor, condition: Tensor, other: Operand) -> Tensor:
    """Return ``self`` where the condition is true, else ``other``."""
    return where(condition, self, other)


# Filling ----------------------------------------------------------------------------------------


def _filled(x: Expr, value: Expr) -> Expr:
    return broadcast_to(sd.positive(value), x.shape)


def _fill(a: np.ndarray, value: Values) -> np.ndarray:
    return np.full(a.shape, value, a.dtype)


_FILL = [
    Op("fill", _filled, _fill, promotion=None, label=label)
    for label in ("FillBackward2", "FillBackward3", "ZeroBackward0")
]


@method()
def fill_(self: Tensor, value: Operand) -> Tensor:
    """Set every element to ``value``, a number or a Tensor without axes."""
    value = argument("fill_", "value", 1, value, number=True)
    if isinstance(value, Tensor) and value._array.ndim:
        raise RuntimeError(
            "fill_ only supports 0-dimension value tensor but got tensor with "
            f"{value._array.ndim} dimensions."
        )
    op = _FILL[isinstance(value, Tensor)]
    return write(self, lambda x: elementwise(op, (x, value)), "fill_")


@method()
def zero_(self: Tensor) -> Tensor:
    """Set every element to 0."""
    return write(self, lambda x: elementwise(_FILL[2], (x, 0)), "zero_")


def _add_inplace_forms() -> None:
    functions: dict[str, Callable[..., Tensor]] = {
        f.__name__: f
        for f in (round, logit, nan_to_num, atan2, hypot, xlogy, clamp, clamp_min, clamp_max)
    }
    for name, function in (functions | {"clip": clamp, "arctan2": atan2}).items():
        attach(f"{name}_", inplace(function, f"{name}_"))


_add_inplace_forms()
