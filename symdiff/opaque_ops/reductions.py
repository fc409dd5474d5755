"""Products, extremes and log-sum-exp over the last axis."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, ClassVar

from symdiff.graph.algebra import (
    PRIMITIVES,
    block,
    blocks,
    int_power,
    linear,
    mul,
    opaque,
    part,
    pointwise,
    primitive,
    scale,
    select,
)
from symdiff.graph.contraction import contract
from symdiff.graph.leaves import full, number_node
from symdiff.graph.ops import Opaque, Pointwise, concat_op, opaque_op, pointwise_op
from symdiff.graph.signatures import Signature
from symdiff.graph.visible_zeros import parts, weighted

if TYPE_CHECKING:
    from collections.abc import Callable

    from symdiff.graph.arithmetic import Arithmetic
    from symdiff.graph.expr import Expr
    from symdiff.graph.ranges import Places

__all__ = ["ArgMax", "ArgMin", "LogSumExp", "Max", "Min", "Prod", "ProdOthers"]


def stretched(y: Expr, x: Expr) -> Expr:
    """``y`` (x without its last axis) broadcast along that axis."""
    word = tuple(range(x.ndim))
    return contract([(y, word[:-1])], word, dict(enumerate(x.shape)))


def _differential_at_one(
    node: Expr, t: Expr, weight: Callable[[list[Places], range], Expr]
) -> Expr | None:
    """The differential if visibly one position of the last axis varies: its weighted tangent."""
    pieces = parts(t)
    if len(pieces) != 1:
        return None
    ((c, op, inner),) = pieces
    *rows, place = blocks(op, t.shape)
    if not isinstance(place, range) or len(place) != 1:
        return None
    word = tuple(range(t.ndim))
    moving = contract([(inner, word)], word[:-1])
    return part(scale(c, mul(moving, weight(rows, place))), rows, node.shape)


class Prod(Opaque):
    """The product over the last axis."""

    __slots__ = ()
    name = "prod"
    signature = Signature("(n)->()")
    kind = None
    of_two = "multiply"

    def differential(self, node: Expr, k: int, t: Expr) -> Expr:
        """``dp = sum_i o_i dx_i``, where o_i is the product of the others: no division."""
        x = node.args[0]

        def others(rows: list[Places], place: range) -> Expr:
            length = x.shape[-1]
            assert isinstance(length, int)
            sides = [r for r in (range(place[0]), range(place[0] + 1, length)) if r]
            factors = [block(x, [*rows, r]) for r in sides]
            if len(factors) == 2:
                factors = [linear(concat_op(-1, tuple(map(len, sides))), *factors)]
            return opaque(self, factors[0]) if factors else number_node(1)

        share = _differential_at_one(node, t, others)
        return weighted(opaque(opaque_op(ProdOthers), x), t, 1) if share is None else share

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        return length("n")

    def components(self, of: Arithmetic, shape: tuple[int, ...], *cores: Any) -> Any:
        return of.product(*cores)


class ProdOthers(Opaque):
    """``value[..., i] = prod over j != i of x[..., j]``: exact with zeros, no division."""

    __slots__ = ()
    name = "prod_others"
    signature = Signature("(n)->(n)")
    kind = None

    def differential(self, node: Expr, k: int, t: Expr) -> Expr:
        """``do_i = sum over j != i of (prod over k != i, j of x_k) dx_j``."""
        x = node.args[0]
        *batch, j = range(x.ndim)
        i = x.ndim
        length = {i: x.shape[-1], j: x.shape[-1]} | dict(enumerate(x.shape))
        wide = contract([(x, (*batch, j))], (*batch, i, j), length)
        same = contract([], (*batch, j, j), length)
        derivative = opaque(self, select(same, number_node(1), wide))
        m = select(same, number_node(0), derivative)
        return contract([(m, (*batch, i, j)), (t, (*batch, j))], (*batch, i))

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        return 3 * length("n")

    def components(self, of: Arithmetic, shape: tuple[int, ...], *cores: Any) -> Any:
        (x,) = cores
        return [of.product(x[:i] + x[i + 1 :]) for i in range(len(x))]


def _equality_test(name: str) -> Pointwise:
    """An equality test with the extreme, as a node that marks a choice in a derivative."""
    equal = PRIMITIVES["equal"]
    return pointwise_op(f"equal_in_{name}", equal.formula, 2, bool, primitive=False, decides=name)


class Extreme(Opaque):
    """The largest or the smallest element over the last axis."""

    __slots__ = ()
    signature = Signature("(n)->()")
    selects = True
    kind = None
    of_two: ClassVar[str]

    def differential(self, node: Expr, k: int, t: Expr) -> Expr:
        """``dy = sum over the m ties x_j = y of dx_j / m``."""
        x = node.args[0]
        ties = pointwise(_equality_test(self.name), x, stretched(node, x))
        # If there is a nan it is the extreme, though it equals nothing.
        ties = primitive("logical_or", ties, primitive("not_equal", x, x))
        word = tuple(range(x.ndim))
        ones = select(ties, number_node(1), number_node(0))
        count = contract([(ones, word)], word[:-1])
        chosen = contract([(select(ties, t, full(t.shape, 0)), word)], word[:-1])
        return mul(chosen, int_power(count, -1))

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        return length("n")

    def components(self, of: Arithmetic, shape: tuple[int, ...], *cores: Any) -> Any:
        (row,) = cores
        if not row:
            raise ValueError(
                f"{self.of_two}: an axis of length 0 has no largest or smallest element"
            )
        return functools.reduce(lambda a, b: of.named(self.of_two, a, b), row)


class Max(Extreme):
    """The largest element over the last axis."""

    __slots__ = ()
    name = "max"
    of_two = "maximum"


class Min(Extreme):
    """The smallest element over the last axis."""

    __slots__ = ()
    name = "min"
    of_two = "minimum"


def logarithm_of_sum(of: Arithmetic, row: list[Any]) -> Any:
    """``log(sum(exp(x)))`` by components."""
    if not row:
        return of.number(-math.inf)
    return of.named("log", of.sum([of.named("exp", element) for element in row]))


class LogSumExp(Opaque):
    """``log(sum(exp(x)))`` over the last axis, without overflow."""

    __slots__ = ()
    name = "logsumexp"
    signature = Signature("(n)->()")
    of_two = "logaddexp"

    def differential(self, node: Expr, k: int, t: Expr) -> Expr:
        """``dy = sum exp(x_j - y) dx_j``."""
        x = node.args[0]

        def weight(rows: list[Places], place: range) -> Expr:
            word = tuple(range(x.ndim))
            chosen = contract([(block(x, [*rows, place]), word)], word[:-1])
            return primitive("exp", chosen - block(node, rows))

        share = _differential_at_one(node, t, weight)
        if share is not None:
            return share
        return weighted(primitive("exp", x - stretched(node, x)), t, 1)

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        return 3 * length("n")

    def components(self, of: Arithmetic, shape: tuple[int, ...], *cores: Any) -> Any:
        return logarithm_of_sum(of, *cores)


class ArgExtreme(Opaque):
    """The index of the first largest, or first smallest, element over the last axis."""

    __slots__ = ()
    signature = Signature("(n)->()")
    kind = int
    largest: ClassVar[bool]

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        return length("n")

    def components(self, of: Arithmetic, shape: tuple[int, ...], *cores: Any) -> Any:
        (x,) = cores
        best = 0
        for i in range(1, len(x)):
            pair = (x[best], x[i]) if self.largest else (x[i], x[best])
            best = i if of.less(self.name, *pair) else best
        return of.number(best)


class ArgMax(ArgExtreme):
    """The index of the first largest element over the last axis."""

    __slots__ = ()
    name = "argmax"
    largest = True


class ArgMin(ArgExtreme):
    """The index of the first smallest element over the last axis."""

    __slots__ = ()
    name = "argmin"
    largest = False
