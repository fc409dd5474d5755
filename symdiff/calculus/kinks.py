"""Kinks in derivatives: an expression that is true where a value is only a convention.

Rules give every kink a derivative (a subgradient, 0 or an even split).  The deciding part, such as
the sign in the derivative of ``|x|``, is a node of its own.  Its op names the differentiated
function, and its operands are those of the function.  So a graph contains everything that a program
needs to refuse kinks, wherever they come from.
"""

from __future__ import annotations

from functools import cache, reduce
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from symdiff.graph import ops
from symdiff.graph.algebra import OP_OF_CLASS, primitive, select
from symdiff.graph.contraction import contract
from symdiff.graph.expr import Expr, free_symbols
from symdiff.graph.formula_nodes import Step, run, steps
from symdiff.graph.leaves import is_zero, number_node
from symdiff.graph.multiples import WHERE
from symdiff.graph.node import topological
from symdiff.scalars.formula import arity, kernel_symbol
from symdiff.scalars.vocabulary import FACTS, VOCABULARY
from symdiff.scalars.vocabulary.choices import Relation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from symdiff.graph.node import Dim, Op
    from symdiff.scalars.vocabulary import Facts

__all__ = ["Kink", "differences", "kinks_in"]

_RELATIONS = frozenset(name for name, cls in VOCABULARY.items() if issubclass(cls, Relation))


# A boolean for each element, or one for all.
Where: TypeAlias = "Expr | bool"


class Kink(NamedTuple):
    """A differentiated function, its first operand, and the condition for a kink.

    ``hit`` has a boolean for each element of the operand.
    """

    name: str
    operand: Expr
    hit: Expr

    @property
    def called(self) -> str:
        """The public name of the function."""
        facts = FACTS.get(self.name)
        return (facts and facts.called) or self.name


_DECIDES: dict[Op, type[Facts]] = {
    op: cls for cls, op in OP_OF_CLASS.items() if op.decides is not None
}


@cache
def _convention_condition(op: ops.Pointwise) -> tuple[Step, ...]:
    """The condition under which a deciding function is a convention, as the steps of a formula."""
    facts, symbols = _DECIDES[op], [kernel_symbol(k) for k in range(op.arity)]
    assert op.decides is not None
    where = facts.decides_at or FACTS[op.decides].kinks
    # the decision states its own condition, or it decides for a function with kinks
    assert where is not None
    return steps(where(*symbols))


@cache
def _first_variable_operand(name: str) -> int:
    """The first operand by which the function has a derivative; an order has none."""
    partials = VOCABULARY[name].partials(*(kernel_symbol(k) for k in range(arity(name))))
    return next(k for k, p in enumerate(partials) if p is not None)


def kinks_in(outputs: Sequence[Expr]) -> list[Kink]:
    """The kinks of functions whose derivatives ``outputs`` contain, each once.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> kinks_in([sd.diff(abs(x), x)]), kinks_in([sd.sign(x)])
    ([Kink(name='abs', operand=x, hit=x == 0)], [])
    """
    order = topological(outputs)
    inside = [
        kink for x in order if x.op.__class__ in _INSIDE for kink in _INSIDE[x.op.__class__](x)
    ]
    decisions = [x for x in order if isinstance(x.op, ops.Pointwise) and x.op.decides is not None]
    if not decisions:
        return inside
    used = _where_used(order, outputs, decisions)
    conditions: dict[Kink, Where] = {}
    for x in decisions:
        kink = _checked_condition(x)
        conditions[kink] = _disjunction(conditions.get(kink, False), used[x])
    return inside + [
        kink if where is True else kink._replace(hit=primitive("logical_and", kink.hit, where))
        for kink, where in conditions.items()
        if where is not False
    ]


_INSIDE: dict[type[Op], Callable[[Expr], list[Kink]]] = {}


def register(op: type[Op], kinks: Callable[[Expr], list[Kink]]) -> None:
    """Register the kinks inside nodes of a class of ops that a later module defines."""
    _INSIDE[op] = kinks


def _checked_condition(x: Expr) -> Kink:
    """The condition that a decision checks, at every use."""
    assert isinstance(x.op, ops.Pointwise)
    name = x.op.decides
    assert name is not None
    if x.op not in _DECIDES:
        return Kink(name, x.args[0], _position_of_tie(*x.args))
    hit = run(_convention_condition(x.op), {kernel_symbol(k): y for k, y in enumerate(x.args)})
    return Kink(name, x.args[-arity(name) :][_first_variable_operand(name)], hit)


def _position_of_tie(x: Expr, extreme: Expr) -> Expr:
    """Where one of several largest or smallest elements lies, along the last axis."""
    word = tuple(range(x.ndim))
    ties = primitive("equal", x, extreme)
    ones = select(ties, number_node(1), number_node(0))
    count = contract([(ones, word)], word[:-1])
    several = primitive(
        "less", number_node(1), contract([(count, word[:-1])], word, dict(enumerate(x.shape)))
    )
    return primitive("logical_and", ties, several)


def differences(outputs: Sequence[Expr]) -> list[Expr]:
    """The operands of comparisons, subtracted: 0 where a formula changes its branch.

    >>> import symdiff as sd
    >>> x, y = sd.symbols("x y")
    >>> differences([sd.where(x < y, x, 1)])
    [x - y]
    """
    unique: dict[Expr, None] = {}
    for x in topological(outputs):
        if isinstance(x.op, ops.Pointwise) and x.op.name in _RELATIONS:
            a, b = x.args
            if a.dtype is not bool and b.dtype is not bool and b - a not in unique:
                unique[a - b] = None
    return [d for d in unique if free_symbols(d)]


# Uses of a value
# -----------------------------------------------------------------------------------


def _where_used(
    order: Sequence[Expr], outputs: Sequence[Expr], values: Sequence[Expr]
) -> dict[Expr, Where]:
    """Where the outputs depend on ``values``: not where a selection or a factor 0 discards them.

    Outside elementwise operations a value counts as used everywhere.
    """
    above = set(values)  # and their users
    nonzero: dict[Expr, Where] = {}
    for x in order:
        nonzero[x] = _nonzero(x, nonzero)
        if not above.isdisjoint(x.args):
            above.add(x)
    used: dict[Expr, Where] = dict.fromkeys(above, False)
    used.update((y, True) for y in outputs)
    for node in reversed(order):
        for k, x in enumerate(node.args if node in above else ()):
            if x in above:
                used[x] = _disjunction(used[x], _where_operand_used(node, k, used[node], nonzero))
    return used


def _where_operand_used(node: Expr, k: int, there: Where, nonzero: Mapping[Expr, Where]) -> Where:
    """Where a node that is used at ``there`` depends on operand k."""
    op, x = node.op, node.args[k]
    rest = [(i, y) for i, y in enumerate(node.args) if i != k]
    if node.op is WHERE:
        if not k:
            return _conjunction(there, _disjunction(*(nonzero[y] for _, y in rest)))
        return _conjunction(there, _branch(node.args[0], k))
    if isinstance(op, ops.Contract):
        word = op.letters[k]
        where = _where_multiplied(op, word, x, there)
        for i, y in rest:
            mask = nonzero[y]
            if (
                isinstance(mask, Expr)
                and len(set(word)) == len(word)
                and set(op.letters[i]) <= set(word)
            ):
                sizes = dict(zip(word, x.shape, strict=True))
                where = _conjunction(where, contract([(mask, op.letters[i])], word, sizes))
        return where
    if not isinstance(op, _ELEMENTWISE):
        return True
    if isinstance(op, ops.Product | ops.Strong):
        for _, y in rest:
            there = _conjunction(there, nonzero[y])
    return there


def _where_multiplied(op: ops.Contract, word: ops.Letters, x: Expr, there: Where) -> Where:
    """Where an element of an operand multiplies an element that is used at ``there``."""
    if not isinstance(there, Expr) or len(set(word)) < len(word):
        return True
    sizes = dict(zip(word, x.shape, strict=True))
    if set(op.out) <= set(word):
        return contract([(there, op.out)], word, sizes)
    # An element multiplies several others: is one of them used?
    return _any_product([(there, op.out)], word, sizes)


def _any_product(
    factors: Sequence[tuple[Expr, ops.Letters]], out: ops.Letters, sizes: Mapping[int, Dim]
) -> Expr:
    """Where a product of masks has a true one among the terms that a contraction adds."""
    one, zero = number_node(1), number_node(0)
    count = contract([(select(mask, one, zero), word) for mask, word in factors], out, sizes)
    return primitive("less", zero, count)


# Each element of the value comes from the same element of the operands.
_ELEMENTWISE = (ops.Sum, ops.Product, ops.Pointwise, ops.Strong, ops.Barrier)


def _nonzero(x: Expr, known: Mapping[Expr, Where]) -> Where:
    """Where x is not visibly 0."""
    op = x.op
    if is_zero(x):
        return False
    if op is WHERE:
        condition, *branches = x.args
        nonzero = [known[y] for y in branches]
        if all(y is True for y in nonzero):
            return True
        return _disjunction(
            *(_conjunction(_branch(condition, k), y) for k, y in enumerate(nonzero, 1))
        )
    if isinstance(op, ops.Sum) and op.const == 0:
        return reduce(_disjunction, [known[y] for y in x.args])
    if isinstance(op, ops.Strong) or (isinstance(op, ops.Product) and not op.over):
        return reduce(_conjunction, [known[y] for y in x.args])
    if isinstance(op, ops.Contract):
        masks = [(known[y], word) for y, word in zip(x.args, op.letters, strict=True)]
        if any(mask is False for mask, _ in masks):
            return False
        factors = [(mask, word) for mask, word in masks if isinstance(mask, Expr)]
        sizes = dict(zip(op.out, x.shape, strict=True))
        return _any_product(factors, op.out, sizes) if factors else True
    return True


def _branch(condition: Expr, k: int) -> Expr:
    return condition if k == 1 else primitive("logical_not", condition)


def _conjunction(a: Where, b: Where) -> Where:
    if isinstance(a, Expr) and isinstance(b, Expr):
        return a if a is b else primitive("logical_and", a, b)
    return b if a is True else a if b is True else False


def _disjunction(a: Where, b: Where) -> Where:
    if isinstance(a, Expr) and isinstance(b, Expr):
        return a if a is b else primitive("logical_or", a, b)
    return b if a is False else a if b is False else True
