"""Elementwise ops: sums, products, SymPy formulas, products in which zero wins, barriers."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import sympy as sp

from symdiff.graph import number
from symdiff.graph.node import EVERYDAY, Dtype, Op, intern_op

if TYPE_CHECKING:
    pass


__all__ = [
    "DETACH",
    "NO_GRAPH",
    "REAL",
    "Barrier",
    "Pointwise",
    "Product",
    "Strong",
    "Sum",
    "pointwise_op",
    "product_op",
    "strong_op",
    "sum_op",
]


class Sum(Op):
    """``const + sum_i coefs[i] * args[i]``; without operands it is the number ``const``."""

    __slots__ = ("coefs", "const", "simple_factor")
    fields = ("const", "coefs")
    name = "sum of terms"
    simple_term = False

    def __init__(self, const: number.Number, coefs: tuple[number.Number, ...]) -> None:
        self.const, self.coefs = const, coefs
        # For a product, 2*x and 3 are coefficients; x + y and x + 1 are atoms.
        self.simple_factor = len(coefs) > 1 or (len(coefs) == 1 and const != 0)


# Everyday ops have a short key and stay cached.  Only exact numbers enter, and no float equals one
# of those (number.exact).  So 1, 1.0 and True cannot meet here; the general key below includes the
# types.
_SUMS: dict[tuple[Any, ...], Sum] = {}
_PRODUCTS: dict[tuple[Any, ...], Product] = {}


def sum_op(const: number.Number, coefs: tuple[number.Number, ...]) -> Sum:
    """The op of ``const + sum_i coefs[i] * args[i]``."""
    op = _SUMS.get((const, coefs))
    if op is None:
        key = (Sum, const, coefs, const.__class__, tuple([c.__class__ for c in coefs]))
        op = intern_op(key, lambda: Sum(const, coefs))
        if (
            len(_SUMS) < EVERYDAY
            and len(coefs) <= 16
            and all(map(number.is_short, (const, *coefs)))
        ):
            _SUMS[const, coefs] = op
    return op


class Product(Op):
    """One or two powers: ``args[0]**exponents[0] * args[1]**exponents[1]``, exponents exact.

    Never more than two: flattened products would destroy sharing.  ``size`` counts the leaves once
    and the products in the nesting twice.  It is 0 where no real leaf is among the factors.  It is
    also 0 for a product that could have merged and did not: other products take it as one factor.
    """

    __slots__ = ("exponents", "over", "simple_factor", "size")
    fields = ("exponents", "size")
    name = "product"

    def __init__(self, exponents: tuple[int | Fraction, ...], size: int) -> None:
        self.exponents, self.size = exponents, size
        self.over = min(exponents) < 0
        self.simple_factor = len(exponents) > 1


def product_op(exponents: tuple[int | Fraction, ...], size: int = 0) -> Product:
    """The op of a product of one or two powers."""
    op = _PRODUCTS.get((exponents, size))
    if op is None:
        exponents = tuple(p if p.__class__ is int else number.norm(p) for p in exponents)  # type: ignore[arg-type]
        op = intern_op((Product, exponents, size), lambda: Product(exponents, size))
        if len(_PRODUCTS) < EVERYDAY:
            _PRODUCTS[exponents, size] = op
    return op


class Pointwise(Op):
    """A SymPy ``formula`` over ``_0.._k``, applied to operands of one shape.

    ``result`` is the dtype: a type, or None for the promoted dtype of the operands (where, maximum,
    floor ...).  ``primitive`` ops are the scalar vocabulary.  The others hold a formula of
    primitives: a user's function, or a decision.  ``decides`` names the function whose convention
    at kinks the value states.
    """

    __slots__ = ("arity", "decides", "formula", "name", "primitive", "result", "simple_factor")
    fields = ("name", "formula")
    name: str

    def __init__(
        self,
        name: str,
        formula: sp.Expr,
        arity: int,
        result: Dtype | None,
        primitive: bool,
        decides: str | None,
    ) -> None:
        self.name, self.formula, self.arity = name, formula, arity
        self.result, self.primitive, self.decides = result, primitive, decides
        self.simple_factor = name != "norm_sqrt"  # square(f(x)) is x


def pointwise_op(
    name: str,
    formula: sp.Expr,
    arity: int,
    result: Dtype | None = float,
    *,
    primitive: bool = True,
    decides: str | None = None,
) -> Pointwise:
    """The op that applies ``formula`` to each element."""
    key = (Pointwise, name, formula, arity, result, decides)
    make = lambda: Pointwise(name, formula, arity, result, primitive, decides)  # noqa: E731
    return intern_op(key, make)


class Strong(Op):
    """``args[0] * args[1]``, but 0 wherever a *killing* operand is exactly 0.

    It multiplies a masked cotangent by a partial derivative that may be inf or nan where the mask
    is 0.
    """

    __slots__ = ("kills",)
    fields = ("kills",)
    name = "strong product"

    def __init__(self, kills: tuple[bool, bool]) -> None:
        self.kills = kills


def strong_op(kills: tuple[bool, bool]) -> Strong:
    """The op of a product in which zeros of the marked operands win."""
    return intern_op((Strong, kills), lambda: Strong(kills))


class Barrier(Op):
    """The identity as a value; ``detach`` has derivative 0, ``create_graph=False`` refuses it.

    ``real`` converts an integer to a real number: the same value, in floating point.
    """

    __slots__ = ("name",)
    fields = ("name",)
    name: str

    def __init__(self, name: str) -> None:
        self.name = name


DETACH: Barrier = intern_op((Barrier, "detach"), lambda: Barrier("detach"))
REAL: Barrier = intern_op((Barrier, "real"), lambda: Barrier("real"))
NO_GRAPH: Barrier = intern_op(
    (Barrier, "create_graph=False"), lambda: Barrier("create_graph=False")
)
