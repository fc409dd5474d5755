"""Ops along the last axis: taking, ordering, running products, recurrences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symdiff.node import intern_op
from symdiff.ops import Opaque
from symdiff.signatures import Signature

if TYPE_CHECKING:
    from symdiff.expr import Expr
    from symdiff.node import Dim, Shape

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


class Take(Opaque):
    """``value[..., j] = x[..., index[..., j]]``; x is any + batch + (n,), index batch + (k,).

    Negative indices count from the end.  Linear in x; the transpose is Put.
    """

    __slots__ = ()
    name = "take"
    signature = Signature("(n),(k)->(k)", shared=1)
    linear_in = (0,)
    indices = 1
    selects = True
    kind = None


class Put(Opaque):
    """Zeros of ``length`` on the last axis, the operand added at ``index``: Take's transpose."""

    __slots__ = ("length",)
    fields = ("length",)
    name = "put"
    signature = Signature("(k),(k)->(n)", shared=1)
    linear_in = (0,)
    indices = 1
    kind = None

    def __init__(self, length: Dim) -> None:
        self.length = length

    def own_length(self, *shapes: Shape) -> Dim:
        return self.length

    def writes_zeros(self, *operands: Expr) -> bool:
        index = operands[1]  # an order has each place once
        return not isinstance(index.op, ArgSort) or index.shape[-1] != self.length


def put_op(length: Dim) -> Opaque:
    """The op that adds its operand to zeros of this length."""
    return intern_op((Put, length), lambda: Put(length))  # type: ignore[return-value]


class ArgSort(Opaque):
    """The places of the elements in ascending order, equal ones in their order; nan comes last."""

    __slots__ = ()
    name = "argsort"
    signature = Signature("(n)->(n)")
    kind = int


class SearchSorted(Opaque):
    """How many of the ascending elements of the first operand are < the second's, or <= (right)."""

    __slots__ = ("right",)
    fields = ("right",)
    name = "searchsorted"
    signature = Signature("(n),()->()", shared=0)
    kind = int

    def __init__(self, right: bool) -> None:
        self.right = right


def searchsorted_op(right: bool) -> Opaque:
    """The op that finds places in an ascending vector."""
    return intern_op((SearchSorted, right), lambda: SearchSorted(right))  # type: ignore[return-value]


class Cumprod(Opaque):
    """The running products over the last axis."""

    __slots__ = ()
    name = "cumprod"
    signature = Signature("(n)->(n)")
    kind = None


class LogCumSumExp(Opaque):
    """``log(cumsum(exp(x)))`` over the last axis, without overflow."""

    __slots__ = ()
    name = "logcumsumexp"
    signature = Signature("(n)->(n)")


class Recurrence(Opaque):
    """``s_i = a_i s_(i-1) + b_i`` over the last axis, s_(-1) = 0; or from its end, over s_(i+1).

    a is batch + (n,), b any + batch + (n,).  Linear in b; the transpose runs the other way.
    """

    __slots__ = ("reverse",)
    fields = ("reverse",)
    name = "recurrence"
    signature = Signature("(n),(n)->(n)", shared=0)
    linear_in = (1,)
    kind = None

    def __init__(self, reverse: bool) -> None:
        self.reverse = reverse


def recurrence_op(reverse: bool) -> Opaque:
    """The op of a linear recurrence of the first order."""
    return intern_op((Recurrence, reverse), lambda: Recurrence(reverse))  # type: ignore[return-value]
