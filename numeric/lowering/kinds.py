"""The kinds of steps: how a value is computed, each a class with what it has to know besides.

A kind prints its name, and its fields behind it:

>>> print(Number(2.5), Product((1, -1)), Stack(), sep=", ")
number 2.5, product (1, -1), stack
>>> Sum() == Sum() != Stack(), Product((1,)) == Product((1,)) != Number((1,))
(True, True)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple, dataclass_transform

if TYPE_CHECKING:
    from fractions import Fraction

    from numeric.lowering.passes import rows
    from numeric.lowering.passes.extremes import Reading
    from symdiff.graph import number, ops
    from symdiff.graph.node import Shape


@dataclass_transform(frozen_default=True)
class Kind:
    """How a step is computed; subclasses are frozen dataclasses, and state facts as keywords.

    Kinds of one class are equal where their fields are, as numbers are: 0.0 and -0.0, 1 and True.

    ``leaf``: nothing is computed.  ``constant``: it is there before anything is computed, and has
    no line.  ``heavy``: a function is evaluated at every element.  ``bare``: several fields are
    printed without their names.
    """

    name: ClassVar[str]
    leaf = constant = elementwise = heavy = bare = False

    def __init_subclass__(cls, **facts: bool) -> None:
        super().__init_subclass__()
        cls.name = vars(cls).get("name", cls.__name__.lower())
        for name, fact in facts.items():
            setattr(cls, name, fact)
        dataclass(frozen=True)(cls)

    def __str__(self) -> str:
        fields = tuple(vars(self).values())
        several = fields if self.bare else repr(self)
        return " ".join([self.name, *map(str, [several] if len(fields) > 1 else fields)])


class Input(Kind, leaf=True):
    """A parameter of the program, an expression of any op."""


class Number(Kind, leaf=True, constant=True):
    """A Python number."""

    value: float


class Size(Kind, leaf=True, constant=True):
    """The length of an axis."""

    axis: str


class Array(Kind, leaf=True, constant=True):
    """The constant of the op."""


class Sum(Kind, elementwise=True):
    """The op's coefficients times the operands, from left to right, then the op's constant."""


class Product(Kind, elementwise=True):
    """The operands to these exponents, which are 1 and -1."""

    signs: tuple[int, ...]


class Quotient(Kind, elementwise=True):
    """A product over a sum that may overflow: exponents, and the places of the sum among them.

    The last operands are the divisors that take its place there.
    """

    signs: tuple[int, ...]
    places: tuple[int, ...]


class Power(Kind, elementwise=True, heavy=True):
    """The operand to an exponent, which is positive."""

    exponent: int | Fraction


class Graded(NamedTuple):
    """A factor that is a function: its place, its name, the places of its operands, its shift."""

    place: int
    name: str
    operands: tuple[int, ...]
    shift: int


class Monomial(Kind, elementwise=True, heavy=True):
    """``coef`` times the operands to integer powers; the operands of graded ones follow these."""

    coef: number.Number
    exponents: tuple[int, ...]
    graded: tuple[Graded, ...]

    def bound(self, largest_exponent: int = 1024) -> float:
        """What no factor may exceed, nor its reciprocal, for a product of any part to be a float.

        >>> Monomial(2, (1, -3), ()).bound() == 2.0**196
        True
        """
        degree = 1 + sum(map(abs, self.exponents))
        return math.ldexp(1.0, (largest_exponent - 40) // degree - (degree == 1))


class Pointwise(Kind, elementwise=True, heavy=True):
    """The op's formula at each element."""


class Shifted(Kind, elementwise=True):
    """The operands are x, y and z = y + ``shift``; the value is x**z."""

    shift: int


class Strong(Kind, elementwise=True):
    """A product that is 0 where an operand is, though the other one is not finite."""


class PartOfSlice(Kind, bare=True):
    """An element or a line of a slice of the operand, which has this shape."""

    name: ClassVar[str] = "component"
    sliced: ops.Slice
    shape: Shape


class Powers(Kind, bare=True):
    """The operand to these exponents, along a new axis."""

    exponents: range
    axis: int


class Affine(Kind):
    """``scale * a @ b`` plus one number for each row, and one for each column, times ``coefs``.

    ``turned`` says which of a and b are transposed; a coefficient is None where there is no term.
    """

    scale: number.Number
    turned: tuple[bool, bool]
    coefs: tuple[number.Number | None, number.Number | None]
    extreme: str = ""  # "min" or "max": of each row, that


class Extremes(Kind):
    """A matrix, stored by row, that has the last operand at the extremes of the first one's rows.

    These are the second operand (see ``extremes``); ``which`` is "min" or "max".
    """

    which: str


class Placed(Kind):
    """What such a matrix is contracted with."""

    reading: Reading


class Softmax(Kind, heavy=True):
    """The logarithm of the sum of the operand's exponentials over its last axis; these over it."""


class ByKernel(Kind):
    """What the op's kernel computes (see ``node_kernels``)."""

    name: ClassVar[str] = "kernel"


class Rows(Kind):
    """Steps that go along one axis, in blocks (see ``rows``)."""

    kernel: rows.Kernel


class Pads(Kind):
    """The sum of the operands with zeros around them (see ``padding``).

    ``widths`` say how many zeros stand before and behind an operand, for each axis, as ``np.pad``
    has it.
    """

    widths: tuple[tuple[tuple[int, int], ...], ...]


class Gram(Kind):
    """``X' diag(s) X`` of X and s, X being the first and the last of the op's operands."""


class Apart(Kind):
    """The operand, with its last axis outermost in memory (see ``layouts``)."""


class Element(Kind):
    """The element at a place of an array of one axis (see ``rolling``)."""

    place: int


class Elements(Kind):
    """All elements of an array, one after the other (see ``unrolling``)."""


class Stack(Kind):
    """The array of the operands, which are scalars."""
