"""Contract: sums of products over letters; transposes, broadcasts, diagonals, identities, fills."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from symdiff.graph.node import EVERYDAY, Op, Shape, intern_op

if TYPE_CHECKING:
    from typing import TypeGuard

__all__ = [
    "Contract",
    "Fill",
    "Letters",
    "contract_op",
    "fill_op",
    "is_permutation",
    "is_spread",
]

Letters = tuple[int, ...]


class Contract(Op):
    """``value[out] = sum over letters not in out of prod_k args[k][letters[k]]``.

    A repeated letter in ``out`` puts zeros off that diagonal.  A letter that only ``out`` has is
    broadcast, and ``created`` has its size (in order of first use).  No operand and repeated
    letters: an identity.  Operands with ``kills`` are masked cotangents.  A term in which one of
    them is exactly 0 is 0, whatever its other factors.
    """

    __slots__ = ("created", "kills", "letters", "out", "sums")
    fields = ("letters", "out", "created", "kills")
    name = "contract"

    def __init__(
        self, letters: tuple[Letters, ...], out: Letters, created: Shape, kills: tuple[bool, ...]
    ) -> None:
        self.letters, self.out, self.created, self.kills = letters, out, created, kills
        self.sums = bool(set().union(*letters).difference(out))


@lru_cache(maxsize=EVERYDAY)
def contract_op(
    letters: tuple[Letters, ...], out: Letters, created: Shape, kills: tuple[bool, ...]
) -> Contract:
    """The op of a contraction; letters must be numbered by first use (operands, then ``out``)."""
    key = (Contract, letters, out, created, kills)
    return intern_op(key, lambda: Contract(letters, out, created, kills))


class Fill(Contract):
    """A number broadcast to a shape: zeros, ones, full arrays.  The operand is the number."""

    __slots__ = ()
    simple_factor = False
    simple_term = False


def fill_op(shape: Shape) -> Fill:
    """The op that broadcasts a number to ``shape``."""
    make = lambda: Fill(((),), tuple(range(len(shape))), shape, (False,))  # noqa: E731
    return intern_op((Fill, shape), make)


def is_permutation(op: Op) -> TypeGuard[Contract]:
    """Whether the value is the operand with its axes permuted, and nothing else.

    >>> import symdiff as sd
    >>> x = sd.symbol("x", (2, 2))
    >>> is_permutation(x.T.op), is_permutation(sd.diag(x).op)
    (True, False)
    """
    if not isinstance(op, Contract) or len(op.letters) != 1 or any(op.kills):
        return False
    return len(set(op.out)) == len(op.out) and sorted(op.letters[0]) == sorted(op.out)


def is_spread(op: Op) -> bool:
    """Whether the value is one number at every place, and not only on a diagonal.

    >>> import symdiff as sd
    >>> is_spread(sd.ones((2, 3)).op), is_spread(sd.eye(2).op)
    (True, False)
    """
    return isinstance(op, Contract) and op.letters == ((),) and len(set(op.out)) == len(op.out)
