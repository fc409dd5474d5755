"""The language of formulas: its numbers, operators and functions."""

from __future__ import annotations

import ast
import math
import operator
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, NamedTuple

from symdiff import functions
from symdiff.graph import ops
from symdiff.graph.algebra import int_power, primitive, size
from symdiff.graph.contraction import strong
from symdiff.graph.expr import Expr, e, nodes, pi
from symdiff.graph.leaves import number_node, number_of
from symdiff.graph.lengths import Length, as_length
from symdiff.scalars.formula import VOCABULARY, arity
from symdiff.scalars.vocabulary import FACTS, Polynomial

if TYPE_CHECKING:
    from collections.abc import Callable


class Entry(NamedTuple):
    """A function of the language, with its least and most operands (None: no limit)."""

    build: Callable[..., Expr]
    least: int
    most: int | None


def _log(x: Expr, base: Expr | None = None) -> Expr:
    return functions.log(x) if base is None else functions.log(x) / functions.log(base)


def _nested(build: Callable[[Expr, Expr], Expr]) -> Entry:
    return Entry(lambda *operands: reduce(build, operands), 2, None)


def _reciprocal(build: Callable[[Expr], Expr]) -> Entry:
    return Entry(lambda x: int_power(build(x), -1, True), 1, 1)


def _functions() -> dict[str, Entry]:
    table = {}
    for name in VOCABULARY:
        table[name] = Entry(partial(primitive, name), arity(name), arity(name))
    unary = "sqrt square reciprocal negative positive round deg2rad rad2deg logit"
    unary += " factorial j0 j1 y0 y1 i0 i1 k0 k1 i0e i1e k0e k1e exp1"
    binary = "add subtract multiply divide power greater greater_equal polygamma expn"
    binary += " jv yv iv kv ive kve multigammaln"
    for n, names in ((1, unary), (2, binary)):
        table |= {name: Entry(getattr(functions, name), n, n) for name in names.split()}
    for name in VOCABULARY:
        if issubclass(VOCABULARY[name], Polynomial):  # these functions check their orders
            table[name] = table[name]._replace(build=getattr(functions, name))
    table |= {
        "lambertw": Entry(functions.lambertw, 1, 2),
        "zeta": Entry(functions.zeta, 1, 2),
        "log": Entry(_log, 1, 2),
        "maximum": _nested(functions.maximum),
        "minimum": _nested(functions.minimum),
        "sec": _reciprocal(functions.cos),
        "csc": _reciprocal(functions.sin),
        "cot": _reciprocal(functions.tan),
        "sech": _reciprocal(functions.cosh),
        "csch": _reciprocal(functions.sinh),
        "coth": _reciprocal(functions.tanh),
        # Products in derivatives of selections: 0 if the first factor (or either one) is exactly 0.
        "strong": Entry(partial(strong, kills=(True, False)), 2, 2),
        "strong_both": Entry(partial(strong, kills=(True, True)), 2, 2),
    }
    aliases = {name: facts.aliases for name, facts in FACTS.items()}
    aliases |= {"divide": "true_divide", "deg2rad": "radians", "rad2deg": "degrees"}
    for name, words in aliases.items():
        table |= dict.fromkeys(words.split(), table[name])
    return table


FUNCTIONS: dict[str, Entry] = _functions()
"""The functions that a text may call."""

CONSTANTS: dict[str, Expr] = {
    "pi": pi,
    "e": e,
    "inf": number_node(math.inf),
    "nan": number_node(math.nan),
}
"""The names of numbers; every other name is a symbol."""


def length_of(x: Expr) -> Length | None:
    """The length that an expression denotes, or None if it contains more than lengths."""
    if x.shape or not all(node.args or isinstance(node.op, _OF_LENGTHS) for node in nodes(x)):
        return None
    length = as_length(str(x))
    return length if isinstance(length, Length) else None


# The leaves of a polynomial in lengths: names, and numbers, which are sums without operands.
_OF_LENGTHS = (ops.Size, ops.Sum)


def _floor_divided(x: Expr, y: Expr) -> Expr:
    """Divide a length by a number to a length, as in the shape of an array."""
    length, by = length_of(x), number_of(y)
    if length is None or y.shape or not isinstance(by, int) or by < 1:
        return x // y
    return size(length // by)


BINARY: dict[type[ast.operator], Callable[[Expr, Expr], Expr]] = {
    ast.Mult: operator.mul,
    ast.MatMult: operator.matmul,
    ast.Div: operator.truediv,
    ast.FloorDiv: _floor_divided,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
UNARY: dict[type[ast.unaryop], Callable[[Expr], Expr]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.invert,
}
COMPARE: dict[type[ast.cmpop], Callable[[Expr, Expr], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
LOGIC: dict[type[ast.boolop], Callable[[Expr, Expr], Expr]] = {
    ast.And: operator.and_,
    ast.Or: operator.or_,
}
