"""Integers in derivatives: compute every part of a derivative in floating point.

NumPy's integers wrap around, so a derivative computes a formula over integers in floating point.
The operands are cast before the operation.  Selections and moves of elements cannot overflow: they
stay integer, and their value is cast.  Conditions and indices stay as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from symdiff.graph import ops
from symdiff.graph.algebra import PRIMITIVES, as_real
from symdiff.graph.expr import Expr, in_order, rebuild
from symdiff.graph.node import topological
from symdiff.scalars.vocabulary import FACTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LEAVES = (ops.Symbol, ops.Constant, ops.Size)

# Their values are among those of the operands, or at least not larger.
_SAFE = frozenset(
    op for name, op in PRIMITIVES.items() if op.result is None and not FACTS[name].overflows
)


def is_real(node: Expr) -> bool:
    """Whether a result is a float; integers come from integer inputs, masks and lengths.

    Indices from sorting (argsort) are integers too.  Numbers and constant arrays have no dtype: 1
    and 1.0 are one node, so ``where(x > 0, 1.0, 0.0)`` counts as real.

    >>> import symdiff as sd
    >>> k = sd.symbol("k", dtype=int)
    >>> is_real(k + 1), is_real(k / 2), is_real(sd.constant(3))
    (False, True, True)
    """
    if node.dtype is not int:
        return node.dtype is float
    seen, waiting = {node}, [node]
    while waiting:
        x = waiting.pop()
        if _counts(x):
            return False
        fresh = [part for part in _parts(x) if part not in seen]
        seen.update(fresh)
        waiting += fresh
    return True


def _counts(x: Expr) -> bool:
    """Whether the node creates integers: an input or length that is not real, or indices."""
    if isinstance(x.op, ops.Opaque):
        return x.op.kind is int
    return x.dtype is not float and isinstance(x.op, ops.Symbol | ops.Size)


def _parts(x: Expr) -> tuple[Expr, ...]:
    """The operands that supply the values; an index only supplies their positions."""
    indices = x.op.indices if isinstance(x.op, ops.Opaque) else None
    return x.args if indices is None else x.args[:indices]


def has_integers(nodes: Iterable[Expr]) -> bool:
    """Whether one of the nodes holds integers, or booleans as numbers."""
    for node in nodes:
        if node.dtype is not float:
            op = node.op
            if isinstance(op, _LEAVES) or (isinstance(op, ops.Opaque) and _counts(node)):
                return True
    return False


def derived(
    order: Iterable[Expr], seeds: Iterable[Expr], results: list[Expr | None]
) -> list[Expr | None]:
    """Derivatives of the nodes in ``order`` and of ``seeds``, computed in floating point.

    None stays None.
    """
    if not has_integers(order) and not has_integers(topological(seeds)):
        return results
    real = iter(in_reals([x for x in results if x is not None]))
    return [None if x is None else next(real) for x in results]


def in_reals(outputs: Sequence[Expr]) -> list[Expr]:
    """``outputs`` computed in floating point, without sums or products of integers.

    An integer result is cast.

    >>> import symdiff as sd
    >>> x, k, m = sd.symbol("x"), *sd.symbols("k m", dtype=int)
    >>> [e.dtype for e in in_reals([k * m])], in_reals([x * k])[0] is x * k
    ([<class 'float'>], True)
    """
    done: dict[Expr, Expr] = {}  # the replacement of each node
    real: dict[Expr, Expr] = {}  # the floating-point version of each integer node that may overflow
    integral: set[Expr] = set()  # the integer nodes that consist of integer data
    for node in _values(outputs):
        parts = _parts(node)
        rest = node.args[len(parts) :]
        if node.dtype is float:
            args = [real[x] if x in real else done.get(x, x) for x in parts]
            done[node] = rebuild(node, (*args, *rest))
        elif not node.args:
            if node.dtype is int and isinstance(node.op, ops.Symbol | ops.Constant):
                integral.add(node)
        elif not _decides(node) and any(x in integral for x in parts):
            integral.add(node)
            if not _is_safe(node) or any(x in real for x in parts):
                args = [real[x] if x in real else as_real(x) if x in integral else x for x in parts]
                real[node] = as_real(rebuild(node, (*args, *rest)))
    results = [real[y] if y in real else done.get(y, y) for y in outputs]
    return [y if is_real(y) else as_real(y) for y in results]


def _decides(node: Expr) -> bool:
    """Whether the value is a boolean or an index, which is computed as outside derivatives."""
    return node.dtype is bool or (isinstance(node.op, ops.Opaque) and node.op.kind is int)


def _is_safe(node: Expr) -> bool:
    op = node.op
    if isinstance(op, ops.Pointwise):
        return op in _SAFE
    if isinstance(op, ops.Contract):
        return len(op.letters) == 1 and not op.sums
    return isinstance(op, ops.Linear | ops.Opaque) and op.selects


def _values(outputs: Iterable[Expr]) -> list[Expr]:
    """The nodes that contribute values to ``outputs`` (deciding nodes do not), in order."""
    stack = list(outputs)
    seen = set(stack)
    while stack:
        node = stack.pop()
        if not _decides(node):
            for x in _parts(node):
                if x not in seen:
                    seen.add(x)
                    stack.append(x)
    return in_order(seen)
