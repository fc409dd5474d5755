"""Sums, differences, products, quotients and powers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy as np

from numeric.eager import dtypes
from numeric.eager.dtypes import of_number, promoted, promoted_real
from numeric.eager.fast_paths import binary, fast, shortcut, shortcut_inplace
from numeric.eager.inplace import inplace
from numeric.eager.operations import RESULT, Op
from numeric.eager.recording import apply, cast, overflow
from numeric.eager.tensor import Tensor, attach, method, values_of, wrap
from numeric.eager.traced_arrays import some
from symdiff import functions
from symdiff.functions import elementwise as sd
from symdiff.graph.expr import Expr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numeric.eager.types import Operand
    from numeric.types import Params, Values

    _Operator: TypeAlias = Callable[[Tensor, object], Tensor]


__all__ = [
    "add",
    "addcdiv",
    "addcmul",
    "div",
    "divide",
    "floor_divide",
    "fmod",
    "lerp",
    "mul",
    "multiply",
    "neg",
    "negative",
    "pow",
    "reciprocal",
    "remainder",
    "rsub",
    "square",
    "sub",
    "subtract",
    "true_divide",
]

# Operands ---------------------------------------------------------------------------------------

_NUMBERS = (bool, int, float)


def taken(x: object) -> Any:
    """Return an operand of an operator: a Tensor, a Python number, or NotImplemented.

    NumPy's scalars count as Python numbers, its arrays as constants of their own dtype.
    """
    if isinstance(x, Tensor) or x.__class__ in _NUMBERS:
        return x
    if isinstance(x, np.ndarray):
        dtypes.of(x)
        return wrap(x)
    if isinstance(x, np.generic):
        return x.item() if x.dtype.kind in "biuf" else NotImplemented
    return float(x) if isinstance(x, float) else int(x) if isinstance(x, int) else NotImplemented


@overload
def argument(function: str, name: str, place: int, x: object) -> Tensor: ...
@overload
def argument(
    function: str, name: str, place: int, x: object, *, number: Literal[True]
) -> Tensor | float: ...
def argument(
    function: str, name: str, place: int, x: object, *, number: bool = False
) -> Tensor | float:
    """Return an operand of a function, which may not be one of NumPy's arrays.

    Raises TypeError unless it is a Tensor, or a number where numbers are allowed.
    """
    if isinstance(x, Tensor):
        return x
    if number and not isinstance(x, np.ndarray):
        operand: Tensor | float = taken(x)
        if operand is not NotImplemented:
            return operand
    known = isinstance(x, Expr) and hasattr(functions, function)
    remedy = f"; of expressions it is sd.{function}" if known else ""
    raise TypeError(
        f"{function}(): argument '{name}' (position {place}) must be "
        f"{'Tensor or Number' if number else 'Tensor'}, not {type(x).__name__}{remedy}"
    )


def as_array(name: str, x: Operand) -> np.ndarray:
    """Return a Python number as an array.  Raises RuntimeError for an integer beyond int64."""
    try:
        return np.asarray(x, of_number(x))
    except OverflowError:
        raise RuntimeError(overflow(name, of_number(x))) from None


def elementwise(op: Op, operands: Sequence[Operand], params: Params = ()) -> Tensor:
    """Call ``apply`` with operands that may all be Python numbers, or integers that wrap around."""
    if not any(isinstance(x, Tensor) for x in operands):
        operands = [wrap(as_array(op.name, x)) for x in operands]
    elif any(x.__class__ is int for x in operands):
        kind = promoted([x._array if isinstance(x, Tensor) else x for x in operands])
        if kind.kind in "iu":
            operands = [
                int(as_array(op.name, x).astype(kind)) if x.__class__ is int else x
                for x in operands
            ]
    return apply(op, operands, params)


# The operations ---------------------------------------------------------------------------------


def _subtractable(operands: Iterable[Values]) -> np.dtype:
    operands = list(operands)
    bools = [isinstance(x, np.ndarray) and x.dtype.kind == "b" for x in operands]
    if any(bools):
        which = "two bool tensors" if all(bools) else "a bool tensor"
        instead = (
            "Use the `^` or `logical_xor()` operator instead."
            if all(bools)
            else "If you are trying to invert a mask, use the `~` or `logical_not()` operator "
            "instead."
        )
        raise RuntimeError(
            f"Subtraction, the `-` operator, with {which} is not supported. {instead}"
        )
    return promoted(operands)


def _negatable(operands: Iterable[np.ndarray]) -> np.dtype:
    (x,) = operands
    if x.dtype.kind == "b":
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
            "invert a mask, use the `~` or `logical_not()` operator instead."
        )
    return x.dtype


def _divisible(name: str) -> Callable[[Iterable[Values]], np.dtype]:
    """Return the common dtype.  Raises NotImplementedError for bools."""

    def common(operands: Iterable[Values]) -> np.dtype:
        kind = promoted(operands)
        if kind.kind == "b":
            raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Bool'")
        return kind

    return common


def _truncated(a: Values, b: Values) -> Values:
    if np.result_type(a, b).kind == "f":
        return np.trunc(np.divide(a, b))
    q = np.floor_divide(a, b)  # of integers, which real quotients would round
    quotient: Values = q + ((q < 0) & (q * b != a))
    return quotient


ADD = fast(Op("add", sd.add, pointwise=True, numbers=True))
SUB = fast(
    Op(
        "sub",
        sd.subtract,
        pointwise=True,
        promotion=_subtractable,
        numbers=True,
    )
)
MUL = fast(Op("mul", sd.multiply, pointwise=True, numbers=True))
DIV = fast(
    Op(
        "div",
        sd.divide,
        pointwise=True,
        promotion=promoted_real,
        numbers=True,
    )
)
_RSUB0, RSUB = (
    fast(
        Op(
            "rsub",
            lambda a, b: b - a,
            lambda a, b: np.subtract(b, a),
            pointwise=True,
            promotion=_subtractable,
            label=label,
        )
    )
    for label in ("RsubBackward0", "RsubBackward1")
)
NEG = Op("neg", sd.negative, pointwise=True, promotion=_negatable)


def _with_alpha(name: str, sign: int, promotion: Callable[[Iterable[Values]], np.dtype]) -> Op:
    return Op(
        name,
        lambda a, b, alpha: a + sign * alpha * b,
        pointwise=True,
        promotion=promotion,
        variant="alpha",
    )


_ALPHA = {
    "add": (ADD, _with_alpha("add", 1, promoted)),
    "sub": (SUB, _with_alpha("sub", -1, _subtractable)),
}


def _truncated_quotient(a: Expr, b: Expr) -> Expr:
    if a.dtype is float or b.dtype is float:
        return sd.trunc(a / b)
    q = sd.floor_divide(a, b)
    return q + sd.where(sd.logical_and(sd.less(q, 0), sd.not_equal(q * b, a)), 1, 0)


_DIV_ROUNDED: dict[str | None, Op] = {
    None: Op(
        "div",
        sd.divide,
        pointwise=True,
        promotion=promoted_real,
        label="DivBackward2",
    ),
    "floor": Op(
        "div",
        sd.floor_divide,
        pointwise=True,
        promotion=_divisible("div_floor"),
        label="DivBackward2",
        variant="floor",
    ),
    "trunc": Op(
        "div",
        _truncated_quotient,
        _truncated,
        pointwise=True,
        promotion=_divisible("div_trunc"),
        label="DivBackward2",
        variant="trunc",
    ),
}


def _truncated_rest(a: Expr, b: Expr) -> Expr:
    """Return ``a - b trunc(a / b)``, with the sign of a; ``mod`` does not round the quotient."""
    size = sd.where(sd.less(b, 0), -b, b)  # with a derivative at 0
    return sd.where(sd.less(a, 0), -sd.mod(-a, size), sd.mod(a, size))


_REMAINDER, _FMOD = (
    [
        Op(
            name,
            build,
            kernel,
            pointwise=True,
            promotion=_divisible(name),
            label=f"{name.title()}Backward{i}",
        )
        for i in (0, 1)
    ]
    for name, build, kernel in (
        ("remainder", sd.mod, None),
        ("fmod", _truncated_rest, np.fmod),
    )
)

_RECIPROCAL = Op(
    "reciprocal",
    sd.reciprocal,
    saves=RESULT,
    pointwise=True,
    promotion=promoted_real,
    reuse=lambda x, y: {x**-2: y**2},
)


# The default of no rounding mode: PyTorch's record distinguishes it from the mode None.
_PLAIN: Any = object()


def _first_three(operands: Iterable[Values]) -> np.dtype:
    return promoted(list(operands)[:3])


_ADDCMUL = Op(
    "addcmul",
    lambda a, b, c, v: a + v * b * c,
    pointwise=True,
    promotion=_first_three,
)
_ADDCDIV = Op(
    "addcdiv",
    lambda a, b, c, v: a + v * (b / c),
    pointwise=True,
    promotion=_first_three,
)


def _between(a: Expr, b: Expr, w: Expr) -> Expr:
    # From the nearer end, so that both ends are hit exactly.
    return sd.where(sd.less(sd.abs(w), 0.5), a + w * (b - a), b - (b - a) * (1 - w))


_LERP0, _LERP1 = (Op("lerp", _between, pointwise=True, label=f"LerpBackward{i}") for i in (0, 1))


# Functions --------------------------------------------------------------------------------------


def _short(op: Op, input: Operand, other: Operand) -> Tensor | None:
    """Return the result for two operands by the operators' short way, or None for others."""
    if input.__class__ is Tensor:
        kind = other.__class__
        if kind is Tensor or kind is float or (kind is int and input._array.dtype.kind == "f"):
            return binary(op, input, other)
    return None


def _summed(name: str, input: Operand, other: Operand, alpha: float) -> Tensor:
    plain, scaled = _ALPHA[name]
    if alpha.__class__ is int and alpha == 1 and (out := _short(plain, input, other)) is not None:
        return out
    input = argument(name, "input", 1, input, number=True)
    other = argument(name, "other", 2, other, number=True)
    if not isinstance(alpha, _NUMBERS):
        raise TypeError(f"{name}(): argument 'alpha' must be Number, not {type(alpha).__name__}")
    kinds = _kinds(input, other)
    check_factor("alpha", alpha, kinds)
    if kinds == ["b", "b"]:
        other, alpha = elementwise(MUL, (other, bool(alpha))), 1
    if alpha == 1:
        return elementwise(plain, (input, other))
    return elementwise(scaled, (input, other), (alpha,))


def _kinds(*operands: Operand) -> list[str]:
    """Return the kind of the operands' elements: "f" for real, "b" for bools, else integers."""
    return [(x._array.dtype if isinstance(x, Tensor) else of_number(x)).kind for x in operands]


def check_factor(name: str, factor: object, kinds: Sequence[str]) -> None:
    """Raise RuntimeError unless a factor suits operands of these kinds."""
    if isinstance(factor, bool) and set(kinds) != {"b"}:
        raise RuntimeError(
            f"Boolean {name} only supported for Boolean results: a truth value is not a factor of "
            "numbers."
        )
    if isinstance(factor, float) and "f" not in kinds:
        raise RuntimeError(
            f"For integral input tensors, argument {name} must not be a floating point number."
        )


def add(input: Operand, other: Operand, *, alpha: float = 1) -> Tensor:
    """Return ``input + alpha * other``.

    >>> import numeric as torch
    >>> torch.add(torch.tensor([1.0, 2.0]), 3, alpha=2).tolist()
    [7.0, 8.0]
    """
    return _summed("add", input, other, alpha)


def sub(input: Operand, other: Operand, *, alpha: float = 1) -> Tensor:
    """Return ``input - alpha * other``.

    >>> import numeric as torch
    >>> torch.sub(torch.tensor([1.0, 2.0]), 3).tolist()
    [-2.0, -1.0]
    """
    if isinstance(other, bool):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying "
            "to invert a mask, use the `~` or `logical_not()` operator instead."
        )
    return _summed("sub", input, other, alpha)


def rsub(input: Tensor, other: Operand, *, alpha: float = 1) -> Tensor:
    """Return ``other - alpha * input``.

    >>> import numeric as torch
    >>> torch.rsub(torch.tensor([1.0, 2.0]), 3).tolist()
    [2.0, 1.0]
    """
    input = argument("rsub", "input", 1, input)
    other = argument("rsub", "other", 2, other, number=True)
    check_factor("alpha", alpha, _kinds(input, other))
    if alpha != 1:
        input = elementwise(MUL, (input, alpha))
    return elementwise(_RSUB0 if isinstance(other, Tensor) else RSUB, (input, other))


def mul(input: Operand, other: Operand) -> Tensor:
    """Return ``input * other``.

    >>> import numeric as torch
    >>> torch.mul(torch.tensor([1.0, 2.0]), 3).tolist()
    [3.0, 6.0]
    """
    if (out := _short(MUL, input, other)) is not None:
        return out
    input = argument("mul", "input", 1, input, number=True)
    return elementwise(MUL, (input, argument("mul", "other", 2, other, number=True)))


def _divided_by(op: Op, input: Operand, other: Operand) -> Tensor:
    """Return a quotient or remainder of integers.  Raises RuntimeError for an integer divisor 0."""
    kind = input._array.dtype.kind if input.__class__ is Tensor else ""
    if kind != "f" and _is_whole(input) and _is_whole(other):
        zero = values_of(other) == 0 if isinstance(other, Tensor) else np.asarray(other == 0)
        # Of two of truth values the op says that there is no such operation.
        truths = kind == "b" and isinstance(other, Tensor) and other._array.dtype.kind == "b"
        if not truths and some(zero, RuntimeError, "ZeroDivisionError"):
            raise RuntimeError("ZeroDivisionError")
    return elementwise(op, (input, other))


def _is_whole(x: Operand) -> bool:
    return x._array.dtype.kind != "f" if isinstance(x, Tensor) else isinstance(x, int)


def div(input: Operand, other: Operand, *, rounding_mode: str | None = _PLAIN) -> Tensor:
    """Return ``input / other``, rounded by ``rounding_mode``: None, ``"floor"`` or ``"trunc"``.

    Integers become real only without rounding; with rounding the derivative is 0.

    >>> import numeric as torch
    >>> torch.div(torch.tensor([-7, 7]), 2, rounding_mode="trunc").tolist()
    [-3, 3]
    """
    if rounding_mode is not _PLAIN and rounding_mode not in _DIV_ROUNDED:
        raise RuntimeError(
            "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
            f"'{rounding_mode}'"
        )
    input = argument("div", "input", 1, input, number=True)
    other = argument("div", "other", 2, other, number=True)
    if rounding_mode is None:
        return elementwise(_DIV_ROUNDED[None], (input, other))
    if rounding_mode is not _PLAIN:
        return _divided_by(_DIV_ROUNDED[rounding_mode], input, other)
    if isinstance(input, Tensor):
        return _by(input, other)
    return elementwise(DIV, (input, other))


def true_divide(input: Operand, other: Operand) -> Tensor:
    """Return ``input / other``; integers become real.

    >>> import numeric as torch
    >>> torch.true_divide(torch.tensor([1, 2]), 2).tolist()
    [0.5, 1.0]
    """
    return div(input, other)


def floor_divide(input: Operand, other: Operand) -> Tensor:
    """Return ``floor(input / other)``; its derivative is 0.

    >>> import numeric as torch
    >>> torch.floor_divide(torch.tensor([-7, 7]), 2).tolist()
    [-4, 3]
    """
    return div(input, other, rounding_mode="floor")


def _modulo(name: str, ops: list[Op], input: Operand, other: Operand) -> Tensor:
    input = argument(name, "input", 1, input, number=True)
    other = argument(name, "other", 2, other, number=True)
    # Numbers as divisors and tensors have records of different names.
    return _divided_by(ops[isinstance(other, Tensor)], input, other)


def remainder(input: Operand, other: Operand) -> Tensor:
    """Return ``input - other * floor(input / other)``, with the sign of ``other``.

    >>> import numeric as torch
    >>> torch.remainder(torch.tensor([-7, 7]), 3).tolist()
    [2, 1]
    """
    return _modulo("remainder", _REMAINDER, input, other)


def fmod(input: Operand, other: Operand) -> Tensor:
    """Return ``input - other * trunc(input / other)``, with the sign of ``input``.

    >>> import numeric as torch
    >>> torch.fmod(torch.tensor([-7, 7]), 3).tolist()
    [-1, 1]
    """
    return _modulo("fmod", _FMOD, input, other)


@method("__neg__")
def neg(input: Tensor) -> Tensor:
    """Return ``-input``.

    >>> import numeric as torch
    >>> torch.neg(torch.tensor([1.0, -2.0])).tolist()
    [-1.0, 2.0]
    """
    return apply(NEG, (argument("neg", "input", 1, input),))


def reciprocal(input: Tensor) -> Tensor:
    """Return ``1 / input``; integers become real.

    >>> import numeric as torch
    >>> torch.reciprocal(torch.tensor([2.0, 4.0])).tolist()
    [0.5, 0.25]
    """
    return apply(_RECIPROCAL, (argument("reciprocal", "input", 1, input),))


def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """Return ``input + value * tensor1 * tensor2``.

    >>> import numeric as torch
    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.addcmul(x, x, x, value=2).tolist()
    [3.0, 10.0]
    """
    operands = _three("addcmul", input, tensor1, tensor2, value)
    if isinstance(value, float) and "f" not in _kinds(*operands[:3]):
        operands = (*operands[:3], int(value))  # as the elements are integers
    return elementwise(_ADDCMUL, operands)


def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """Return ``input + value * tensor1 / tensor2``.

    Raises RuntimeError for the quotient of two integers.

    >>> import numeric as torch
    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.addcdiv(x, x, x, value=2).tolist()
    [3.0, 4.0]
    """
    operands = _three("addcdiv", input, tensor1, tensor2, value)
    if all(x._array.dtype.kind != "f" for x in operands[1:3]):
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported; use true_divide or "
            "div(..., rounding_mode='trunc') instead."
        )
    return elementwise(_ADDCDIV, operands)


def _three(
    name: str, input: Operand, tensor1: Operand, tensor2: Operand, value: Operand
) -> tuple[Any, ...]:
    return (
        argument(name, "input", 1, input),
        argument(name, "tensor1", 2, tensor1),
        argument(name, "tensor2", 3, tensor2),
        argument(name, "value", 4, value, number=True),
    )


def lerp(input: Tensor, end: Tensor, weight: Operand) -> Tensor:
    """Return ``input + weight * (end - input)``.

    Raises RuntimeError for operands of different dtypes.

    >>> import numeric as torch
    >>> torch.lerp(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]), 0.5).tolist()
    [2.0, 3.0]
    """
    input, end = argument("lerp", "input", 1, input), argument("lerp", "end", 2, end)
    weight = argument("lerp", "weight", 3, weight, number=True)
    for name, x in (("end", end), ("weight", weight)):
        if isinstance(x, Tensor) and x._array.dtype != input._array.dtype:
            raise RuntimeError(f"expected dtype {input.dtype} for `{name}` but got dtype {x.dtype}")
    if input._array.dtype.kind != "f":
        raise NotImplementedError("lerp is not implemented for integers and truth values")
    if isinstance(weight, Tensor):
        return elementwise(_LERP1, (input, end, weight))
    return elementwise(_LERP0, (input, end), (weight,))


# Powers -----------------------------------------------------------------------------------------


def _power(a: Values, b: Values) -> Values:
    kind = np.result_type(a, b)
    if kind.kind == "f" or not np.any(np.less(b, 0)):
        return np.power(a, b)
    # Of integers, only 1 and -1 have powers with negative exponents that are not rounded to 0.
    a, b = np.asarray(a), np.asarray(b)
    inverse = np.where(a == 1, 1, np.where(a == -1, 1 - 2 * (b & 1), 0))
    return np.where(b < 0, inverse, np.power(a, np.maximum(b, 0))).astype(kind)


def _power_of(a: Expr, b: Expr) -> Expr:
    power = sd.pow(a, b)
    if a.dtype is float or b.dtype is float:
        return power
    return sd.where(sd.logical_and(sd.equal(a, 0), sd.less(b, 0)), 0, power)


def _raised(a: Expr, exponent: float) -> Expr:
    return a**exponent


# An exponent that formulas of good derivatives exist for goes into the formula: few do.
_POW = Op("pow", _raised, pointwise=True)
_POW_NUMBER = Op("pow", sd.pow, _power, pointwise=True, variant="number")
_POW_TENSOR, _POW_BASE = (
    Op("pow", _power_of, _power, pointwise=True, saves=RESULT, label=f"PowBackward{i}")
    for i in (1, 2)
)


# Exponents that go into formulas.  Products of roots would be nan at -inf, where powers are not.
_SIMPLE = frozenset([*range(-16, 17), 0.5, -0.5])


def pow(input: Operand, exponent: Operand) -> Tensor:
    """Return ``input ** exponent``; one of them may be a number.

    Raises RuntimeError for integers to a negative Python integer.

    >>> import numeric as torch
    >>> torch.pow(torch.tensor([1.0, 2.0]), 3).tolist()
    [1.0, 8.0]
    """
    if exponent.__class__ is int and input.__class__ is Tensor and input._array.dtype.kind == "f":
        op = _POW if exponent in _SIMPLE else _POW_NUMBER
        operands, params = ((input,), (exponent,)) if op is _POW else ((input, exponent), ())
        return apply(op, operands, params)
    input = argument("pow", "input", 1, input, number=True)
    exponent = argument("pow", "exponent", 2, exponent, number=True)
    if isinstance(exponent, Tensor):
        if (
            promoted([x._array if isinstance(x, Tensor) else x for x in (input, exponent)]).kind
            == "b"
        ):
            raise NotImplementedError("\"pow\" not implemented for 'Bool'")
        op = _POW_TENSOR if isinstance(input, Tensor) else _POW_BASE
        return elementwise(op, (input, exponent))
    if not isinstance(input, Tensor):
        raise TypeError("pow(): one of input and exponent must be a Tensor")
    kind = promoted((input._array, exponent))
    if kind.kind != "f" and exponent < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    if kind.kind == "b":  # NumPy's power would make integers of them
        return input.__or__(not exponent) if isinstance(exponent, bool) else input
    if exponent not in _SIMPLE:
        return elementwise(_POW_NUMBER, (input, exponent))
    if input._array.dtype is not kind:
        input = cast(input, kind)
    return apply(_POW, (input,), (exponent,))


def square(input: Tensor) -> Tensor:
    """Return ``input ** 2``.

    >>> import numeric as torch
    >>> torch.square(torch.tensor([1.0, -2.0])).tolist()
    [1.0, 4.0]
    """
    return pow(argument("square", "input", 1, input), 2)


subtract, multiply, divide, negative = sub, mul, div, neg


# Operators --------------------------------------------------------------------------------------


def _operator(op: Op) -> _Operator:
    """Return the operator of an op that has a short way."""

    def otherwise(self: Tensor, other: object) -> Tensor:
        operand = taken(other)
        return operand if operand is NotImplemented else elementwise(op, (self, operand))

    return shortcut(op, otherwise)


def operators(function: Callable[..., Tensor]) -> tuple[_Operator, _Operator]:
    """Return the operator of a function, and the reflected operator."""

    def forward(self: Tensor, other: object) -> Tensor:
        operand = taken(other)
        return operand if operand is NotImplemented else function(self, operand)

    def reflected(self: Tensor, other: object) -> Tensor:
        operand = taken(other)
        return operand if operand is NotImplemented else function(operand, self)

    return forward, reflected


_divided = _operator(DIV)


def _by(self: Tensor, other: object) -> Tensor:
    """Return ``self / other``."""
    # Python refuses to divide by a number that is 0, also in formulas of derivatives.
    if other.__class__ is not Tensor and other.__class__ in _NUMBERS and other == 0:
        other = wrap(np.asarray(other, promoted_real((self._array, other))))
    return _divided(self, other)


def _over(self: Tensor, other: object) -> Tensor:
    """Return ``other / self``, which saves only the quotient."""
    operand = taken(other)
    return operand if operand is NotImplemented else binary(MUL, reciprocal(self), operand)


def _positive(self: Tensor) -> Tensor:
    if self._array.dtype.kind == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return self


def augmented(function: Callable[..., Tensor], name: str) -> _Operator:
    """Return the augmented operator of a function, which works in place."""
    changed = inplace(function, name)

    def operator(self: Tensor, other: object) -> Tensor:
        operand = taken(other)
        return operand if operand is NotImplemented else changed(self, operand)

    return operator


def _add_methods() -> None:
    for name, op in {"add": ADD, "sub": SUB, "mul": MUL, "rsub": RSUB}.items():
        attach(f"__{name}__", _operator(op))
    method("__truediv__")(_by)
    method("__radd__")(_operator(ADD))
    method("__rmul__")(_operator(MUL))
    method("__rtruediv__")(_over)
    method("__pos__", "positive")(_positive)
    changing: dict[str, Callable[..., Tensor]] = {
        "pow": pow,
        "mod": remainder,
        "floordiv": floor_divide,
    }
    for name, function in changing.items():
        forward, reflected = operators(function)
        attach(f"__{name}__", forward)
        attach(f"__r{name}__", reflected)
    changing |= {"add": add, "sub": sub, "mul": mul, "truediv": div}
    short = {"add": ADD, "sub": SUB, "mul": MUL, "truediv": DIV}
    for name, function in changing.items():
        operator = augmented(function, f"{function.__name__}_")
        if name in short:
            operator = shortcut_inplace(short[name], operator)
        attach(f"__i{name}__", operator)
    named: dict[str, Callable[..., Tensor]] = {
        f.__name__: f
        for f in (add, sub, mul, div, true_divide, floor_divide, remainder, fmod, lerp, pow)
    }
    named |= {"addcmul": addcmul, "addcdiv": addcdiv, "neg": neg, "reciprocal": reciprocal}
    named |= {"square": square, "subtract": sub, "multiply": mul, "divide": div, "negative": neg}
    for name, function in named.items():
        attach(name, function)
        attach(f"{name}_", inplace(function, f"{name}_"))


_add_methods()
