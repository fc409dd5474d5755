"""Arithmetic of scalars of one kind, over which ops state the components of their values.

Each ``Arithmetic`` chooses its elements: mpmath numbers, exact fractions or SymPy formulas.
``symdiff.exact.components`` evaluates graphs by it.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Protocol, cast

import sympy as sp

from symdiff.errors import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from fractions import Fraction

    from symdiff.graph.node import Node
    from symdiff.graph.number import Number
    from symdiff.graph.ops.leaf import Exact

__all__ = ["EXPANDED", "Arithmetic", "Iterated"]

# Determinants up to this size are sums of products: exact wherever sums and products are exact.
EXPANDED = 6


class Componentwise(Protocol):
    """The interface of ops that state the components of their value: every opaque op."""

    def components(self, of: Arithmetic, shape: tuple[int, ...], *cores: Any) -> Any:
        """The components of one core of shape ``shape``, from those of the operands."""


class Iterated(Protocol):
    """An op whose value takes at most ``max_steps`` steps: a root, or the position of a minimum."""

    name: str
    max_steps: int

    @property
    def is_minimum(self) -> bool:
        """Whether the value must be the position of a minimum."""


class Arithmetic(ABC):
    """Scalars of one kind: how numbers become elements, and the operations on elements."""

    @abstractmethod
    def number(self, value: Any) -> Any:
        """The element that represents a number."""

    @abstractmethod
    def exact(self, op: Exact) -> Any:
        """The element that represents pi or e."""

    @abstractmethod
    def total(self, const: Number, coefs: Sequence[Number], args: Sequence[Any]) -> Any:
        """``const + sum_i coefs[i] * args[i]``."""

    @abstractmethod
    def product(self, factors: Sequence[Any]) -> Any:
        """The product of any number of elements; 1 if there are none."""

    @abstractmethod
    def power(self, a: Any, p: int | Fraction) -> Any:
        """``a ** p`` for an exact number p."""

    @abstractmethod
    def function(self, node: Node, args: Sequence[Any]) -> Any:
        """The value of a Pointwise node other than ``where``."""

    @abstractmethod
    def select(self, node: Node, condition: Any, a: Any, b: Any) -> Any:
        """``a`` if the condition holds, else ``b``; the unselected element never matters."""

    @abstractmethod
    def named(self, name: str, *args: Any) -> Any:
        """The vocabulary function ``name`` of numeric elements."""

    @abstractmethod
    def eliminated(self, a: list[list[Any]], b: list[list[Any]]) -> tuple[Any, list[list[Any]]]:
        """The determinant of a square matrix, and X with A X = B."""

    @abstractmethod
    def strong(self, factors: Sequence[Any], kills: Sequence[bool]) -> Any:
        """The product, but 0 if a killing factor is exactly 0."""

    def determinant(self, rows: list[list[Any]]) -> Any:
        """The determinant by minors of the last rows, no division; by elimination if large."""
        n = len(rows)
        if n > EXPANDED:
            return self.eliminated(rows, [[] for _ in rows])[0]
        minors: dict[tuple[int, ...], Any] = {(): self.number(1)}
        for i in range(n - 1, -1, -1):
            minors = {
                columns: self.total(
                    0,
                    [(-1) ** k for k in range(len(columns))],
                    [
                        self.product([rows[i][j], minors[columns[:k] + columns[k + 1 :]]])
                        for k, j in enumerate(columns)
                    ],
                )
                for columns in itertools.combinations(range(n), n - i)
            }
        return minors[tuple(range(n))]

    def cofactor(self, rows: list[list[Any]]) -> list[list[Any]]:
        """The cofactor matrix, d det A / d A."""
        n = len(rows)
        return [[self._signed_minor(rows, i, j) for j in range(n)] for i in range(n)]

    def _signed_minor(self, rows: list[list[Any]], i: int, j: int) -> Any:
        rest = [row[:j] + row[j + 1 :] for k, row in enumerate(rows) if k != i]
        return self.total(0, [(-1) ** (i + j)], [self.determinant(rest)])

    def sum(self, terms: Sequence[Any]) -> Any:
        """The sum of any number of elements."""
        return terms[0] if len(terms) == 1 else self.total(0, (1,) * len(terms), terms)

    def less(self, name: str, a: Any, b: Any) -> bool:
        """Whether a < b.  Raise Unsupported, naming the op, where the order is unknown."""
        value = self.named("less", a, b)
        if isinstance(value, sp.Basic):
            value = value.doit()
        if value != True and value != False:  # noqa: E712  # 1, an mpf or SymPy's true
            raise Unsupported(f"{name}: the order of elements without known values")
        return bool(value)

    def places(self, name: str, index: Sequence[Any]) -> list[int]:
        """Indices as Python ints.  Raise Unsupported, naming the op, for one without a value."""
        try:
            return [int(i) for i in index]
        except TypeError:
            raise Unsupported(f"{name}: the value of an index is unknown") from None

    def holds(self, name: str, condition: Any) -> bool:
        """Whether a condition holds.  Raise Unsupported, naming the op, where that is unknown."""
        if isinstance(condition, sp.Basic):
            condition = condition.doit()
        try:
            # the condition may be 1, an mpf or SymPy's true
            return {True: True, False: False}[condition]
        except (KeyError, TypeError):
            raise Unsupported(
                f"{name}: whether its condition holds is not known without numbers"
            ) from None

    def core(self, node: Node, shape: tuple[int, ...], cores: Sequence[Any]) -> Any:
        """The value of one core of an opaque node, of shape ``shape``, by its components."""
        return cast("Componentwise", node.op).components(self, shape, *cores)

    def opaque(self, node: Node, args: Sequence[Any]) -> Any:
        """The value of an opaque node, an element or an object array; None: ``core`` has it."""
        return None

    def root(
        self, op: Iterated, at: Callable[[list[Any]], tuple[list[Any], Any]], start: list[Any]
    ) -> list[Any]:
        """The elements of a root: the x with ``at(x)`` = 0.

        ``at(x)`` returns the residuals at elements x and their derivative, a list of rows for each
        root of a batch.  Raise Unsupported, naming the op, where elements have no sizes to compare.
        """
        raise Unsupported(f"{op.name}: its iteration needs numbers")

    def kept(self, node: Node, value: Any, uses: int) -> Any:
        """The value of ``node`` that its ``uses`` users receive."""
        return value

    def check(self, node: Node, elements: int, terms: int) -> None:
        """Called before an array is made; may raise Unsupported if the array is too large."""
        return
