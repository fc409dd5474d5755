"""Group the factors and terms that are known early into one factor or term.

``a*c*b`` with a changing c becomes ``(a*b)*c``, where a*b is known before c is.  The new order may
round the last bits differently; divisors stay where they are.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from symdiff.graph import number, ops
from symdiff.graph.algebra import combine, mul, product
from symdiff.graph.expr import rebuild
from symdiff.graph.leaves import named_dummy, number_node
from symdiff.graph.node import topological

if TYPE_CHECKING:
    from collections.abc import Collection

    from symdiff.graph.expr import Expr
    from symdiff.graph.number import Number


def regrouped(y: Expr, early: Collection[Expr]) -> tuple[Expr, dict[Expr, Expr]]:
    """Return ``y`` with symbols for early sums and products, and the values of these symbols.

    Early are those of the symbols ``early`` and of numbers only.

    >>> import symdiff as sd
    >>> a, b, c = sd.symbols("before1 before2 carried")
    >>> sd.sin(a + b + c), *regrouped(sd.sin(a + b + c), {a, b})
    (sin(before1 + before2 + carried), sin(carried + early), {early: before1 + before2})
    """
    order = topological([y])
    reads = Counter(x for node in order for x in node.args)
    is_early = set(early)
    for node in order:
        if not isinstance(node.op, ops.Symbol) and is_early.issuperset(node.args):
            is_early.add(node)
    parts: dict[Expr, tuple[Number, list[Expr]]] = {}  # complete products and their factors
    inner: set[Expr] = set()
    for node in reversed(order):
        if node not in inner and node not in is_early and (_is_product(node) or _is_scaled(node)):
            # From the outside in: a product inside another one belongs to the outer one's factors.
            parts[node] = _factors(node, reads, is_early, inner)
    products: dict[Expr, Expr] = {}
    done: dict[Expr, Expr] = {}

    def stand_in(value: Expr) -> Expr:
        symbol = named_dummy("early", value.shape)
        products[symbol] = value
        return symbol

    for node in order:
        args = [done[x] for x in node.args]
        done[node] = rebuild(node, tuple(args)) if node.args else node
        op = node.op
        if node in is_early:
            continue
        if node in parts:
            coef, factors = parts[node]
            some = [x for x in factors if x in is_early]
            # One early factor alone is a value that the loop has anyway.
            if len(some) + (coef != 1) > 1 and some:
                one = combine("multiply", [(coef, product(some))])
                rest = [done[x] for x in factors if x not in is_early]
                done[node] = mul(product(rest), stand_in(one))
        elif isinstance(op, ops.Sum) and node.dtype is float and node.args:
            terms = list(zip(op.coefs, node.args, strict=True))
            some_terms = [(c, x) for c, x in terms if x in is_early]
            if len(some_terms) + (op.const != 0) > 1 and some_terms:
                one = combine("add", [*some_terms, (1, number_node(op.const))])
                rest_terms = [(c, done[x]) for c, x in terms if x not in is_early]
                done[node] = combine("add", [*rest_terms, (1, stand_in(one))])
    return done[y], products


def _is_product(x: Expr) -> bool:
    return isinstance(x.op, ops.Product) and x.op.exponents == (1, 1)


def _is_scaled(x: Expr) -> bool:
    return isinstance(x.op, ops.Sum) and x.op.const == 0 and len(x.op.coefs) == 1


def _factors(
    node: Expr, reads: Counter[Expr], is_early: Collection[Expr], inner: set[Expr]
) -> tuple[Number, list[Expr]]:
    """The coefficient and factors of a product, through inner products without other readers."""
    coef: Number = 1
    factors: list[Expr] = []
    stack = [node]
    while stack:
        x = stack.pop()
        if x in is_early or (reads[x] > 1 and x is not node):
            # A product with other readers is computed for them, so its factors stay together.
            factors.append(x)
        elif isinstance(x.op, ops.Sum) and _is_scaled(x):
            coef = number.times(coef, x.op.coefs[0])
            stack.append(x.args[0])
            inner.add(x)
        elif _is_product(x):
            stack.extend(reversed(x.args))
            inner.add(x)
        else:
            factors.append(x)
    return coef, factors
