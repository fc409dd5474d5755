"""Kinks that derivatives meet: where a value is a convention, as an expression that says so.

Rules give every kink a derivative (a subgradient, 0 or an even share).  What decides there, such as
the sign in the derivative of ``|x|``, is a node of its own: its op names the function that the
derivative was taken of, and its operands are those of that function.  So a graph that is to refuse
kinks holds all that has to be asked, wherever it comes from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from symdiff import ops
from symdiff.algebra import primitive, select
from symdiff.contraction import contract
from symdiff.expr import Expr
from symdiff.leaves import number_node
from symdiff.lifting import Step, run, steps
from symdiff.node import topological
from symdiff.scalar import arity, kernel_symbol
from symdiff.vocabulary import FACTS

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Kink", "condition", "kinks_in"]


class Kink(NamedTuple):
    """A function that a derivative was taken of, and its operands; of max and min, also itself."""

    name: str
    operands: tuple[Expr, ...]

    @property
    def called(self) -> str:
        """What users call the function."""
        facts = FACTS.get(self.name)
        return (facts and facts.called) or self.name


# Where the functions of the vocabulary have kinks, as the steps of a formula.
_PLACES: dict[str, tuple[Step, ...]] = {
    name: steps(facts.kinks(*(kernel_symbol(k) for k in range(arity(name)))))
    for name, facts in FACTS.items()
    if facts.kinks
}


def kinks_in(outputs: Iterable[Expr]) -> list[Kink]:
    """The kinks of functions whose derivatives ``outputs`` contain, each once.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> kinks_in([sd.diff(abs(x), x)]), kinks_in([sd.sign(x)])
    ([Kink(name='abs', operands=(x,))], [])
    """
    found: dict[Kink, None] = {}
    for node in topological(outputs):
        op = node.op
        if isinstance(op, ops.Pointwise) and op.decides is not None:
            known = op.decides in _PLACES
            found[Kink(op.decides, node.args[-arity(op.decides) :] if known else node.args)] = None
    return list(found)


def condition(kink: Kink) -> Expr:
    """Where the kink is hit, for each element of the first operand."""
    place = _PLACES.get(kink.name)
    if place is None:
        return _tie(*kink.operands)
    return run(place, {kernel_symbol(k): x for k, x in enumerate(kink.operands)})


def _tie(x: Expr, extreme: Expr) -> Expr:
    """Where one of several largest or smallest elements stands, along the last axis."""
    word = tuple(range(x.ndim))
    ties = primitive("equal", x, extreme)
    ones = select(ties, number_node(1), number_node(0))
    count = contract([(ones, word)], word[:-1])
    several = primitive(
        "less", number_node(1), contract([(count, word[:-1])], word, dict(enumerate(x.shape)))
    )
    return primitive("logical_and", ties, several)
