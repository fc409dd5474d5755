"""Comparisons and logic: results are bools, and not recorded."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.eager.dtypes import promoted, word
from numeric.eager.inplace import inplace
from numeric.eager.recording import misfit, overflow
from numeric.eager.tensor import Tensor, attach, method, values_of, wrap
from numeric.eager.traced_arrays import Shadow
from numeric.modes import current
from numeric.ops.arithmetic import argument, augmented, operators, taken
from numeric.warnings_off import SILENCE, noise, set_noise

if TYPE_CHECKING:
    from collections.abc import Callable

    from numeric.eager.types import Operand

__all__ = [
    "allclose",
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "eq",
    "equal",
    "ge",
    "greater",
    "greater_equal",
    "gt",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "le",
    "less",
    "less_equal",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "lt",
    "ne",
    "not_equal",
    "signbit",
]


def _met(
    name: str, kernel: Callable[..., np.ndarray], a: Operand, b: Operand, common: Any = None
) -> Tensor:
    """Apply the kernel to two operands in one dtype."""
    trace = current().tracing
    if trace is not None:
        return trace.compare(kernel, a, b)
    x, y = (t._array if isinstance(t, Tensor) else t for t in (a, b))
    kind = promoted((x, y)) if common is None else common
    x, y = (t.astype(kind, copy=False) if isinstance(t, np.ndarray) else t for t in (x, y))
    before = noise()
    try:
        set_noise(SILENCE)
        if not isinstance(x, np.ndarray | Shadow) and not isinstance(y, np.ndarray | Shadow):
            x = np.asarray(x, kind)  # of two numbers Python would make one of any length
        return wrap(kernel(x, y))
    except OverflowError:
        raise RuntimeError(overflow(name, kind)) from None
    except ValueError:
        raise RuntimeError(misfit(name, np.shape(x), np.shape(y))) from None
    finally:
        set_noise(before)


# Comparisons ------------------------------------------------------------------------------------


def _comparison(name: str, says: str, example: str, alias: str) -> Callable[..., Tensor]:
    kernel: Callable[..., np.ndarray] = getattr(np, alias)

    def function(input: Tensor, other: Operand) -> Tensor:
        argument(name, "input", 1, input)
        return _met(name, kernel, input, argument(name, "other", 2, other, number=True))

    def compared(self: Tensor, other: object) -> Tensor:
        operand = taken(other)
        return operand if operand is NotImplemented else _met(name, kernel, self, operand)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Where ``input {says} other``.

    >>> import numeric as torch
    >>> torch.{name}(torch.tensor([1.0, 2.0, 3.0]), 2).tolist()
    {example}
    """
    attach(name, function)
    if name != "eq":
        attach(alias, function)
    attach(f"__{name}__", compared)
    return function


eq = _comparison("eq", "==", "[False, True, False]", "equal")
ne = not_equal = _comparison("ne", "!=", "[True, False, True]", "not_equal")
lt = less = _comparison("lt", "<", "[True, False, False]", "less")
le = less_equal = _comparison("le", "<=", "[True, True, False]", "less_equal")
gt = greater = _comparison("gt", ">", "[False, False, True]", "greater")
ge = greater_equal = _comparison("ge", ">=", "[False, True, True]", "greater_equal")


@method()
def equal(input: Tensor, other: Tensor) -> bool:
    """Return whether the shapes and all elements are equal.

    >>> import numeric as torch
    >>> torch.equal(torch.tensor([1, 2]), torch.tensor([1, 2]))
    True
    """
    a, b = argument("equal", "input", 1, input), argument("equal", "other", 2, other)
    return a._array.shape == b._array.shape and bool(np.all(eq(a, b)._array))


@method()
def isclose(
    input: Tensor,
    other: Tensor,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> Tensor:
    """Return where ``|input - other| <= atol + rtol * |other|``, or the elements are equal.

    Raises RuntimeError for operands of different dtypes.

    >>> import numeric as torch
    >>> torch.isclose(torch.tensor([1.0, 2.0]), torch.tensor([1.0 + 1e-7, 2.1])).tolist()
    [True, False]
    """
    a, b = argument("isclose", "input", 1, input), argument("isclose", "other", 2, other)
    if a._array.dtype != b._array.dtype:
        raise RuntimeError(f"{word(a._array.dtype)} did not match {word(b._array.dtype)}")
    if rtol < 0 or atol < 0:
        which = "rtol" if rtol < 0 else "atol"
        raise RuntimeError(f"{which} must be greater than or equal to zero")

    def close(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        same: np.ndarray = x == y
        if x.dtype.kind == "b":
            return same
        if equal_nan and x.dtype.kind == "f":
            same = same | (np.isnan(x) & np.isnan(y))
        difference = np.abs(x - y)
        near: np.ndarray = same | (
            np.isfinite(difference) & (difference <= atol + np.abs(rtol * y))
        )
        return near

    return _met("isclose", close, a, b)


@method()
def allclose(
    input: Tensor,
    other: Tensor,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> bool:
    """Return whether ``isclose`` holds for all elements.

    >>> import numeric as torch
    >>> torch.allclose(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.1]))
    False
    """
    return bool(np.all(isclose(input, other, rtol, atol, equal_nan)._array))


# Kinds of numbers -------------------------------------------------------------------------------


def _question(
    name: str, says: str, examples: str, kernel: Callable[[np.ndarray], np.ndarray]
) -> Callable[[Tensor], Tensor]:
    def function(input: Tensor) -> Tensor:
        argument(name, "input", 1, input)
        return wrap(kernel(values_of(input)))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Where elements are {says}.

    >>> import numeric as torch
    >>> torch.{name}(torch.tensor([-1.0, 0.0, float("inf"), float("nan")])).tolist()
    {examples}
    """
    attach(name, function)
    return function


def _signbit(a: np.ndarray) -> np.ndarray:
    negative: np.ndarray = np.signbit(a) if a.dtype.kind == "f" else np.less(a, 0)
    return negative


isfinite = _question("isfinite", "numbers", "[True, True, False, False]", np.isfinite)
isinf = _question("isinf", "infinite", "[False, False, True, False]", np.isinf)
isnan = _question("isnan", "nan", "[False, False, False, True]", np.isnan)
signbit = _question("signbit", "negative, also -0", "[True, False, False, False]", _signbit)


@method()
def logical_not(input: Tensor) -> Tensor:
    """Return where elements are 0 or false.

    >>> import numeric as torch
    >>> torch.logical_not(torch.tensor([0.0, 2.0])).tolist()
    [True, False]
    """
    argument("logical_not", "input", 1, input)
    return wrap(np.logical_not(values_of(input)))


# Logic ------------------------------------------------------------------------------------------


def _logical(word: str, example: str) -> Callable[[Tensor, Tensor], Tensor]:
    name = f"logical_{word}"
    kernel: Callable[..., np.ndarray] = getattr(np, name)

    def function(input: Tensor, other: Tensor) -> Tensor:
        argument(name, "input", 1, input)
        return _met(name, kernel, input, argument(name, "other", 2, other), np.bool_)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""``input {word} other`` of truth values; numbers other than 0 are true.

    >>> import numeric as torch
    >>> torch.{name}(torch.tensor([0, 1, 1]), torch.tensor([False, False, True])).tolist()
    {example}
    """
    attach(name, function)
    attach(f"{name}_", inplace(function, f"{name}_"))
    return function


logical_and = _logical("and", "[False, False, True]")
logical_or = _logical("or", "[False, True, True]")
logical_xor = _logical("xor", "[False, True, False]")


# Bits -------------------------------------------------------------------------------------------


def _bits(name: str, kernel: Callable[..., np.ndarray], input: Operand, other: Operand) -> Tensor:
    for i, x in enumerate((input, other)):
        argument(name, ("input", "other")[i], i + 1, x, number=True)
    kind = promoted([x._array if isinstance(x, Tensor) else x for x in (input, other)])
    if kind.kind == "f":
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{word(kind)}'")
    return _met(name, kernel, input, other)


def bitwise_and(input: Operand, other: Operand) -> Tensor:
    """Return ``input & other`` of integers or bools.

    >>> import numeric as torch
    >>> torch.bitwise_and(torch.tensor([5, 6]), 3).tolist()
    [1, 2]
    """
    return _bits("bitwise_and", operator.and_, input, other)


def bitwise_or(input: Operand, other: Operand) -> Tensor:
    """Return ``input | other`` of integers or bools.

    >>> import numeric as torch
    >>> torch.bitwise_or(torch.tensor([5, 6]), 3).tolist()
    [7, 7]
    """
    return _bits("bitwise_or", operator.or_, input, other)


def bitwise_xor(input: Operand, other: Operand) -> Tensor:
    """Return ``input ^ other`` of integers or bools.

    >>> import numeric as torch
    >>> torch.bitwise_xor(torch.tensor([5, 6]), 3).tolist()
    [6, 5]
    """
    return _bits("bitwise_xor", operator.xor, input, other)


def bitwise_left_shift(input: Operand, other: Operand) -> Tensor:
    """Return ``input << other`` of integers.

    >>> import numeric as torch
    >>> torch.bitwise_left_shift(torch.tensor([5, 6]), 1).tolist()
    [10, 12]
    """
    return _bits("lshift", operator.lshift, input, other)


def bitwise_right_shift(input: Operand, other: Operand) -> Tensor:
    """Return ``input >> other`` of integers.

    >>> import numeric as torch
    >>> torch.bitwise_right_shift(torch.tensor([5, 6]), 1).tolist()
    [2, 3]
    """
    return _bits("rshift", operator.rshift, input, other)


@method("bitwise_not", "__invert__")
def bitwise_not(input: Tensor) -> Tensor:
    """Return ``~input`` of integers or bools.

    >>> import numeric as torch
    >>> torch.bitwise_not(torch.tensor([True, False])).tolist()
    [False, True]
    """
    argument("bitwise_not", "input", 1, input)
    if input._array.dtype.kind == "f":
        raise TypeError(
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors"
        )
    return wrap(np.invert(values_of(input)))


def _add_methods() -> None:
    bits: dict[str, Callable[..., Tensor]] = {
        "and": bitwise_and,
        "or": bitwise_or,
        "xor": bitwise_xor,
        "lshift": bitwise_left_shift,
        "rshift": bitwise_right_shift,
    }
    for symbol, function in bits.items():
        forward, reflected = operators(function)
        attach(f"__{symbol}__", forward)
        attach(f"__r{symbol}__", reflected)
        attach(f"__i{symbol}__", augmented(function, f"{function.__name__}_"))
        attach(function.__name__, function)
        attach(f"{function.__name__}_", inplace(function))
    for name, function in {"bitwise_not": bitwise_not, "logical_not": logical_not}.items():
        attach(f"{name}_", inplace(function))


_add_methods()
