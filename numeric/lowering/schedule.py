"""From a DAG to a program: what is computed, and in which order."""

from __future__ import annotations

import math
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.lowering.arithmetic import (
    weak,
)
from numeric.lowering.kernels import kernel
from numeric.lowering.monomials import in_turn
from numeric.lowering.pseudoinverse import spelled
from numeric.lowering.spellings import Spelling, behind, is_spread, numbers, short, spelling
from symdiff import ops
from symdiff.leaves import number_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from symdiff.expr import Expr


def computations(nodes: Iterable[Expr]) -> dict[Expr, tuple[Expr, ...]]:
    """Each node that is one of several results, and with which of ``nodes`` it is computed.

    Those are results of one op on the same operands, itself included, in the order of the results.

    >>> import symdiff as sd
    >>> values, vectors = sd.eigh(sd.symbol("A", (2, 2)))
    >>> computations([vectors, sd.sum(values), values])[values] == (values, vectors)
    True
    """
    found: dict[tuple[Any, ...], list[tuple[int, Expr]]] = {}
    for node in nodes:
        if isinstance(node.op, ops.Part):
            key = (node.op.whole, *[behind(x) for x in node.args])
            found.setdefault(key, []).append((node.op.part, node))
    groups = [tuple([x for _, x in sorted(g, key=itemgetter(0))]) for g in found.values()]
    return {node: group for group in groups for node in group}


# The order of computation -----------------------------------------------------------------------


class Schedule:
    """The values that ``outputs`` need, operands before users, from values that are ``known``.

    ``order`` has the nodes to compute; ``spellings`` says how each is written, ``together`` which
    are computed by one kernel (see ``computations``); ``literals`` are the values over numbers
    alone, evaluated here, once; ``static`` are the values over numbers and axis lengths.  Both are
    weak numbers, which stand for an array of their node's shape (see ``kernels``).  ``outputs`` are
    the nodes asked for, as they are spelled.
    """

    def __init__(self, outputs: Iterable[Expr], known: Iterable[Expr]) -> None:
        self.known = frozenset(known)
        self.order: list[Expr] = []
        self.spellings: dict[Expr, Spelling] = {}
        self.literals: dict[Expr, int | float] = {}
        self.static: set[Expr] = set()
        self._short: dict[Expr, Expr] = {}
        outputs = list(outputs)
        self._weak = numbers(outputs, self.known)
        self.outputs = tuple(self._visible(behind(y)) for y in outputs)
        self._walk()
        self.together = computations(self.order)

    def _visible(self, x: Expr) -> Expr:
        if x in self.known:
            return x
        found = self._short.get(x)
        if found is None:
            found = self._short[x] = spelled(short(x))
            if found is not x:
                self._weak |= numbers([found], self.known)
        return found

    def _walk(self) -> None:
        stack = [(y, False) for y in reversed(self.outputs)]
        while stack:
            node, ready = stack.pop()
            if ready:
                self._place(node)
            elif node not in self.spellings:
                how = Spelling("input") if node in self.known else spelling(node, self._weak)
                how = how._replace(operands=tuple(self._visible(x) for x in how.operands))
                self.spellings[node] = how
                stack.append((node, True))
                stack.extend((x, False) for x in reversed(how.operands))

    def _place(self, node: Expr) -> None:
        how = self.spellings[node]
        if how.form == "number":
            self.literals[node] = _number(node)
        elif how.form == "size":
            self.static.add(node)
        elif how.form not in ("input", "array"):
            if how.form != "kernel" or is_spread(node):
                if all(x in self.literals for x in how.operands):
                    self.literals[node] = _folded(node, how, self.literals)
                    return
                if all(x in self.literals or x in self.static for x in how.operands):
                    self.static.add(node)
            self.order.append(node)

    def free(self, node: Expr) -> bool:
        """Whether the value costs nothing to have: data, numbers and axis lengths."""
        return node in self.literals or node in self.static or self.spellings[node].form == "array"

    def reach(self, outputs: Iterable[Expr]) -> set[Expr]:
        """Every node that ``outputs`` need."""
        stack = list(outputs)
        seen = set(stack)
        while stack:
            for x in self.spellings[stack.pop()].operands:
                if x not in seen:
                    seen.add(x)
                    stack.append(x)
        return seen


def _number(node: Expr) -> int | float:
    if isinstance(node.op, ops.Exact):
        return float(node.op.value)
    value = number_of(node)
    assert value is not None
    return weak(value, node.dtype is int)


def _folded(node: Expr, how: Spelling, literals: dict[Expr, int | float]) -> int | float:
    values: list[Any] = [literals[x] for x in how.operands]
    if how.form == "kernel":
        return values[0]  # type: ignore[no-any-return]
    if how.form in ("product", "quotient"):
        return quotient(values[: len(how.signs)], how.signs)
    assert how.form not in ("monomial", "shifted")  # these are never of numbers alone
    with np.errstate(all="ignore"):
        value: Any = kernel(node)(values, {})  # weak operands make a weak value
        return value  # type: ignore[no-any-return]


def quotient(values: Sequence[float], signs: Sequence[int]) -> int | float:
    """The product of weak numbers to the powers ``signs``, +1 or -1; IEEE where they are zero."""
    over = math.prod(v for v, sign in zip(values, signs, strict=True) if sign > 0)
    under = math.prod(v for v, sign in zip(values, signs, strict=True) if sign < 0)
    if min(signs) > 0:
        return over
    if under and signs[0] > 0:
        return in_turn(values, signs)  # type: ignore[no-any-return]
    if under:
        return over / under
    with np.errstate(all="ignore"):
        return (np.float64(over) / np.float64(under)).item()
