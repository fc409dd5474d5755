"""A bound of the error of any order of the same sums and products.

A polynomial of floats is a sum of monomials, each of which is rounded several times:
``fl(p) = sum_m m (1 + t_m)`` with ``|t_m| <= g(k) = k u / (1 - k u)`` if no monomial meets more
than k roundings (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., lemma 3.1).  So
the error is at most ``g(k) sum_m |m|``, for any order of sums and products, in blocks, multiplied
out or fused.  ``Sizes`` hold both for an evaluation: ``sum |m|``, and the number of operations
below a value, which no monomial exceeds.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from symdiff.graph import ops
from symdiff.graph.node import topological
from tests.support.evaluation import boxed, each, evaluate
from tests.support.fields import EXACT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symdiff import Expr


class NoBound(Exception):  # a reason to draw another program
    """The expression is not a polynomial."""


class Size:
    """The sum of the monomials' absolute values, and the number of operations."""

    __slots__ = ("operations", "value")

    def __init__(self, value: Fraction | int, operations: int) -> None:
        self.value, self.operations = abs(Fraction(value)), operations

    def __add__(self, other: Any) -> Size:
        other = _size(other)
        return Size(self.value + other.value, self.operations + other.operations + 1)

    def __mul__(self, other: Any) -> Size:
        other = _size(other)
        return Size(self.value * other.value, self.operations + other.operations + 1)

    __radd__, __rmul__ = __add__, __mul__

    def __pow__(self, p: int) -> Size:
        if p < 0:
            raise NoBound
        return Size(self.value**p, p * (self.operations + 1))

    def __eq__(self, other: object) -> bool:
        raise NoBound

    def _order(self, other: object) -> bool:
        raise NoBound

    __lt__ = __gt__ = __le__ = __ge__ = _order
    __hash__ = None  # type: ignore[assignment]

    def _kink(self) -> bool:
        raise NoBound

    __abs__ = __bool__ = __neg__ = _kink


def _size(value: Any) -> Size:
    if isinstance(value, Size):
        return value
    if not isinstance(value, int | Fraction):
        raise NoBound
    return Size(value, 1)  # a coefficient is rounded when it becomes a float


def sizes(outputs: Sequence[Expr], env: Mapping[Expr, Any]) -> list[np.ndarray]:
    """Return the size of each element of polynomials at a point of fractions.

    Raises NoBound if an expression is not a polynomial.
    """
    sized_inputs = {}
    for x, value in env.items():
        sized_inputs[x] = np.empty(value.shape, object)
        for place in np.ndindex(value.shape):
            sized_inputs[x][place] = Size(value[place], 1)  # it is rounded when it becomes a float
    values = [boxed(value) for value in evaluate(outputs, sized_inputs, EXACT)]
    return [each(_size, value) for value in values]


def check_bounded(
    computed: Sequence[Any],
    outputs: Sequence[Expr],
    env: Mapping[Expr, Any],
    dtype: Any,
    what: object,
) -> None:
    """Assert that floats are as near to polynomials' exact values as any order of the sums.

    ``dtype`` is the dtype of the computation.  Raises NoBound if an expression is not a polynomial
    or overflows.
    """
    allowed, exact = sizes(outputs, env), evaluate(outputs, env, EXACT)
    info = np.finfo(dtype)
    unit, largest = Fraction(float(info.eps)) / 2, Fraction(float(info.max))
    for values, expected, size in zip(computed, exact, allowed, strict=True):
        assert values.shape == expected.shape, what
        for place in np.ndindex(expected.shape):
            s: Size = size[place]
            k = s.operations
            if k * unit >= Fraction(1, 2) or s.value * 2 >= largest:
                raise NoBound
            error = abs(Fraction(float(values[place])) - expected[place])
            assert error <= s.value * k * unit / (1 - k * unit), f"{what} at {place}: {values}"


def is_exact(outputs: Sequence[Expr], env: Mapping[Expr, Any], dtype: Any) -> bool:
    """Whether integer polynomials are computed without rounding, in any order.

    Then all sums of monomials are integers, and at most the sum of all absolute values.
    """
    numbers: list[Any] = [n for value in env.values() for n in value.ravel()]
    for node in topological(outputs):
        op = node.op
        if isinstance(op, ops.Sum):
            numbers += [op.const, *op.coefs]
        elif isinstance(op, ops.Exact):
            numbers.append(op.value)
        elif isinstance(op, ops.Constant):
            numbers += op.value.ravel().tolist()
    try:
        whole = all(Fraction(n).denominator == 1 for n in numbers)
    except TypeError:  # pi and e are not fractions
        return False
    digits = np.finfo(dtype).nmant
    values = sizes(topological(outputs), env) if whole else []
    return whole and all(s.value < 2**digits for value in values for s in value.ravel())
