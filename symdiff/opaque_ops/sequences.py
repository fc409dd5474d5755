"""Ops along the last axis: taking, ordering, running products, recurrences."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from symdiff.graph.algebra import int_power, linear, mul, opaque, primitive, select
from symdiff.graph.leaves import full, number_node, number_of
from symdiff.graph.lengths import Length
from symdiff.graph.ops import (
    Constant,
    Linear,
    Opaque,
    Places,
    gather_op,
    halvings,
    opaque_op,
    shift_op,
)
from symdiff.graph.signatures import Signature
from symdiff.opaque_ops.reductions import logarithm_of_sum

if TYPE_CHECKING:
    from collections.abc import Callable

    from symdiff.graph.arithmetic import Arithmetic
    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Dim, Shape

__all__ = [
    "ArgSort",
    "Cumprod",
    "LogCumSumExp",
    "Put",
    "Recurrence",
    "SearchSorted",
    "Take",
    "put_op",
    "recurrence_op",
    "searchsorted_op",
]


def _shifted(x: Expr, reverse: bool = False) -> Expr:
    """``x_(i-1)`` along the last axis, or ``x_(i+1)``; 0 beyond the ends."""
    return linear(shift_op(-1 if reverse else 1), x)


def _ones(x: Expr) -> Expr:
    """Ones along the last axis of x."""
    return full(x.shape[-1:], 1)


class Take(Opaque):
    """``value[..., j] = x[..., index[..., j]]``; x is any + batch + (n,), index batch + (k,).

    Negative indices count from the end.  Linear in x; the transpose is Put.
    """

    __slots__ = ()
    name = "take"
    signature = Signature("(n),(k)->(k)", shared=(1,))
    linear_in = (0,)
    indices = 1
    selects = True
    kind = None

    def identity(self, *operands: Expr) -> Expr | None:
        x, index = operands
        gather = _gather(x.shape[-1], index)
        return None if gather is None else linear(gather, x)

    def transposed(self, node: Expr, k: int, g: Expr) -> Expr:
        x, index = node.args
        return opaque(put_op(x.shape[-1]), g, index)

    def needs(self, *operands: Expr) -> list[tuple[Dim, str]]:
        return _bounds_of_indices(operands[0].shape[-1], operands[1])

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        return 0

    def components(self, of: Arithmetic, shape: tuple[int, ...], *cores: Any) -> Any:
        x, index = cores
        return [x[i] for i in of.places(self.name, index)]


def _gather(length: Dim, index: Expr) -> Linear | None:
    """The op that reads constant indices of an axis of known length; None for computed indices."""
    if isinstance(length, str) or not isinstance(index.op, Places):
        return None
    places = index.op.value
    if np.any((places < -length) | (places >= length)):
        return None  # the call raises IndexError
    *batch, _ = places.shape
    lines = np.arange(math.prod(batch)).reshape(*batch, 1) * length
    return gather_op((*batch, length), lines + places % max(length, 1))


def _bounds_of_indices(length: Dim, index: Expr) -> list[tuple[Dim, str]]:
    """The lengths that must not be negative if constant indices are in bounds of a named axis."""
    numbers: Any = index.op.value if isinstance(index.op, Constant) else number_of(index)
    if numbers is None or not isinstance(length, Length) or not np.size(numbers):
        return []
    low, high = int(np.min(numbers)), int(np.max(numbers))
    needs: list[tuple[int, Any]] = [(high, length - 1 - high)] if high >= 0 else []
    needs += [(low, length + low)] if low < 0 else []
    return [(n, f"index {place} of an axis of length {length}") for place, n in needs]


class Put(Opaque):
    """Zeros of ``length`` on the last axis plus the operand at ``index``: Take's transpose."""

    __slots__ = ("length",)
    fields = ("length",)
    name = "put"
    signature = Signature("(k),(k)->(n)", shared=(1,))
    linear_in = (0,)
    indices = 1
    kind = None

    def __init__(self, length: Dim) -> None:
        self.length = length

    def own_length(self, *shapes: Shape) -> Dim:
        return self.length

    def bound(self, lengths: Callable[[Shape], Shape]) -> Opaque:
        return put_op(*lengths((self.length,)))

    def needs(self, *operands: Expr) -> list[tuple[Dim, str]]:
        return _bounds_of_indices(self.length, operands[1])

    def writes_zeros(self, *operands: Expr) -> bool:
        index = operands[1]  # an order contains each index once
        return not isinstance(index.op, ArgSort) or index.shape[-1] != self.length

    def identity(self, *operands: Expr) -> Expr | None:
        x, index = operands
        gather = _gather(self.length, index)
        return None if gather is None else linear(gather.transposed(0, ()), x)

    def transposed(self, node: Expr, k: int, g: Expr) -> Expr:
        return opaque(opaque_op(Take), g, node.args[1])

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        return length("k")

    def components(self, of: Arithmetic, shape: tuple[int, ...], *cores: Any) -> Any:
        x, index = cores
        met: list[list[Any]] = [[] for _ in range(shape[0])]
        for element, i in zip(x, of.places(self.name, index), strict=True):
            met[i].append(element)
        return list(map(of.sum, met))


def put_op(length: Dim) -> Opaque:
    """The op that adds its operand to zeros of this length."""
    return opaque_op(Put, length)


class ArgSort(Opaque):
    """The indices that sort the elements in ascending order, stably; nan comes last."""

    __slots__ = ()
    name = "argsort"
    signature = Signature("(n)->(n)")
    kind = int

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        return length("n") * halvings(length("n"))

    def components(self, of: Arithmetic, shape: tuple[int, ...], *cores: Any) -> Any:
        (x,) = cores

        def compared(i: int, j: int) -> int:
            return of.less(self.name, x[j], x[i]) - of.less(self.name, x[i], x[j])

        return list(map(of.number, sorted(range(len(x)), key=functools.cmp_to_key(compared))))


class SearchSorted(Opaque):
    """The number of ascending elements of the first operand < the second, or <= (right)."""

    __slots__ = ("right",)
    fields = ("right",)
    name = "searchsorted"
    signature = Signature("(n),()->()", shared=(0,))
    kind = int

    def __init__(self, right: bool) -> None:
        self.right = right

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        return halvings(length("n") + 1)

    def components(self, of: Arithmetic, shape: tuple[int, ...], *cores: Any) -> Any:
        edges, x = cores
        if self.right:
            return of.number(sum(not of.less(self.name, x, edge) for edge in edges))
        return of.number(sum(of.less(self.name, edge, x) for edge in edges))


def searchsorted_op(right: bool) -> Opaque:
    """The op that searches in an ascending vector."""
    return opaque_op(SearchSorted, right)


class Cumprod(Opaque):
    """The running products over the last axis."""

    __slots__ = ()
    name = "cumprod"
    signature = Signature("(n)->(n)")
    kind = None

    def differential(self, node: Expr, k: int, t: Expr) -> Expr:
        """``y_i = x_i y_(i-1)``, ``dy_i = x_i dy_(i-1) + y_(i-1) dx_i``, with y_(-1) = 1."""
        x = node.args[0]
        # 1 at index 0.  The square keeps it a separate factor: as a number in a sum it would merge
        # with the other term, and p - 1 + 1 loses the digits of a small p.
        first = int_power(1 - _shifted(_ones(x)), 2)
        previous = _shifted(node) + first
        return opaque(recurrence_op(reverse=False), x, mul(previous, t))

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        return length("n")

    def components(self, of: Arithmetic, shape: tuple[int, ...], *cores: Any) -> Any:
        (x,) = cores
        return [of.product(x[: i + 1]) for i in range(len(x))]


class LogCumSumExp(Opaque):
    """``log(cumsum(exp(x)))`` over the last axis, without overflow."""

    __slots__ = ()
    name = "logcumsumexp"
    signature = Signature("(n)->(n)")

    def differential(self, node: Expr, k: int, t: Expr) -> Expr:
        """``dy_i = exp(y_(i-1) - y_i) dy_(i-1) + exp(x_i - y_i) dx_i``."""
        x = node.args[0]
        first = primitive("equal", _shifted(_ones(x)), number_node(0))
        step = select(first, full(x.shape, 0), _shifted(node) - node)
        share = mul(primitive("exp", x - node), t)
        return opaque(recurrence_op(reverse=False), primitive("exp", step), share)

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        return 3 * length("n")

    def components(self, of: Arithmetic, shape: tuple[int, ...], *cores: Any) -> Any:
        (x,) = cores
        return [logarithm_of_sum(of, x[: i + 1]) for i in range(len(x))]


class Recurrence(Opaque):
    """``s_i = a_i s_(i-1) + b_i`` over the last axis, s_(-1) = 0; or from its end, over s_(i+1).

    a is batch + (n,), b any + batch + (n,).  Linear in b; the transpose runs in reverse.
    """

    __slots__ = ("reverse",)
    fields = ("reverse",)
    name = "recurrence"
    signature = Signature("(n),(n)->(n)", shared=(0,))
    linear_in = (1,)
    kind = None

    def __init__(self, reverse: bool) -> None:
        self.reverse = reverse

    def differential(self, node: Expr, k: int, t: Expr) -> Expr:
        """``ds_i = a_i ds_(i-1) + da_i s_(i-1) + db_i``."""
        share = mul(t, _shifted(node, reverse=self.reverse))
        return opaque(self, node.args[0], share)

    def transposed(self, node: Expr, k: int, g: Expr) -> Expr:
        """``r_i = a_(i+1) r_(i+1) + g_i``."""
        a = _shifted(node.args[0], reverse=not self.reverse)
        return opaque(recurrence_op(not self.reverse), a, g)

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        return length("n")

    def components(self, of: Arithmetic, shape: tuple[int, ...], *cores: Any) -> Any:
        a, b = cores
        values: list[Any] = []
        for i in range(len(b))[:: -1 if self.reverse else 1]:
            last = [of.product([a[i], values[-1]])] if values else []
            values.append(of.sum([*last, b[i]]))
        return values[::-1] if self.reverse else values


def recurrence_op(reverse: bool) -> Opaque:
    """The op of a linear recurrence of first order."""
    return opaque_op(Recurrence, reverse)
