"""Sparsity patterns of Jacobians: which elements of a value depend on which of a symbol.

Every op states by its components which operand elements an element of its value depends on.  The
pattern is their evaluation over sets in place of numbers.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from symdiff.errors import Unsupported
from symdiff.exact.components import evaluated, filled
from symdiff.graph import ops
from symdiff.graph.arithmetic import Arithmetic
from symdiff.graph.axes import shape_text
from symdiff.graph.bound_lengths import in_terms_of
from symdiff.graph.expr import Expr, free_symbols
from symdiff.graph.leaves import as_expr
from symdiff.graph.node import op_as
from symdiff.transforms.integrals import Integral

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from symdiff.graph.arithmetic import Iterated
    from symdiff.graph.expr import Operand
    from symdiff.graph.node import Node
    from symdiff.graph.number import Number


def sparsity(f: Operand, x: Expr, /) -> NDArray[np.bool_]:
    """Return where the Jacobian of f by the symbol x may be nonzero, as an array of its shape.

    The pattern follows from the ops and from zeros among the constants, for all values of the
    symbols: a False element of the Jacobian is 0 everywhere.  Linear maps, products and elementwise
    functions are followed element by element.  Decompositions, and ops that take an order or
    indices from symbols, count as dense in each batch.

    Raises TypeError if x is not a symbol, Unsupported for symbolic lengths and custom functions.

    >>> import symdiff as sd
    >>> x = sd.symbol("x", 4)
    >>> sd.sparsity(x[1:] ** 2 - x[:-1], x).astype(int).tolist()
    [[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]
    """
    f = as_expr(f)
    if not isinstance(x, Expr) or not isinstance(x.op, ops.Symbol):
        raise TypeError(f"sparsity: {x!r} is not a symbol")
    (x,) = in_terms_of([f], "sparsity", [x])
    env = {y: _sets(y, y is x) for y in {x: None, **dict.fromkeys(free_symbols(f))}}
    (supports,) = evaluated([f], env, _Sets())
    sets = supports.ravel().tolist() if isinstance(supports, np.ndarray) else [supports]
    count = math.prod(env[x].shape) if isinstance(env[x], np.ndarray) else 1
    width = (count + 7) // 8
    packed = b"".join((s or 0).to_bytes(width, "little") for s in sets)
    table = np.frombuffer(packed, np.uint8).reshape(len(sets), width)
    bits = np.unpackbits(table, axis=1, count=count, bitorder="little").astype(bool)
    return bits.reshape((*np.shape(supports), *np.shape(env[x])))


def _sets(y: Expr, chosen: bool) -> Any:
    """A set for each element of a symbol: itself for the chosen symbol, else the empty set."""
    if any(isinstance(dim, str) for dim in y.shape):
        raise Unsupported(f"sparsity: {y.name} has the symbolic shape {shape_text(y.shape)}")
    shape: tuple[int, ...] = y.shape  # type: ignore[assignment]
    if not shape:
        return int(chosen)
    return filled(shape, (1 << k if chosen else 0 for k in range(math.prod(shape))))


class _Sets(Arithmetic):
    """Sets of input elements, as the bits of an integer; None for an element that is always 0."""

    def number(self, value: object) -> Any:
        return None if value == 0 else 0

    def exact(self, op: ops.Exact) -> Any:
        return 0

    def total(self, const: Number, coefs: Sequence[Number], args: Sequence[object]) -> Any:
        return _union([*args, 0] if const else args)

    def product(self, factors: Sequence[object]) -> Any:
        return None if None in factors else _union([*factors, 0])

    def power(self, a: object, p: int | Fraction) -> Any:
        return a if p > 0 else a or 0

    def function(self, node: Node, args: Sequence[object]) -> Any:
        return _union([*args, 0]) if node.dtype is float else 0

    def select(self, node: Node, condition: object, a: object, b: object) -> Any:
        return _union([a, b])

    def holds(self, name: str, condition: object) -> bool:
        raise Unsupported(f"{name}: whether its condition holds is not known without numbers")

    def named(self, name: str, *args: object) -> Any:
        return _union([*args, 0])

    def eliminated(self, a: list[list[Any]], b: list[list[Any]]) -> tuple[Any, list[list[Any]]]:
        every = _union([0, *(s for row in a for s in row)])
        columns = [_union([row[k] for row in b]) for k in range(len(b[0]) if b else 0)]
        row = [None if s is None else s | every for s in columns]
        return every, [list(row) for _ in b]

    def strong(self, factors: Sequence[object], kills: Sequence[bool]) -> Any:
        return self.product(factors)

    def less(self, name: str, a: object, b: object) -> bool:
        raise Unsupported(f"sparsity: {name} depends on the order of elements")

    def places(self, name: str, index: Sequence[object]) -> list[int]:
        raise Unsupported(f"sparsity: {name} depends on the values of indices")

    def root(
        self, op: Iterated, at: Callable[[list[Any]], tuple[list[Any], Any]], start: list[Any]
    ) -> list[Any]:
        f, slopes = at([0 for _ in start])  # the start has no influence
        components: list[Any] = []
        for rows in slopes:
            part = f[len(components) : len(components) + len(rows)]
            components += [_union([0, *part, *(s for row in rows for s in row)])] * len(rows)
        return components

    def opaque(self, node: Node, args: Sequence[Any]) -> Any:
        if isinstance(node.op, ops.Unknown):
            return _union([0, *args])
        if isinstance(node.op, Integral):  # all elements of the integrand may need all operands
            every = _union([0, *(s for x in args for s in np.ravel(x).tolist())])
            shape = tuple(map(int, node.shape))
            return filled(shape, [every] * math.prod(shape)) if shape else every
        return None

    def core(self, node: Node, shape: tuple[int, ...], cores: Sequence[object]) -> Any:
        op = op_as(node, ops.Opaque)
        every = 0
        if node.dtype is float and not op.constant:
            try:
                return op.components(self, shape, *cores)
            except Unsupported:
                every = _union([0, *(s for core in cores for s in _flat(core))])
        return _full(shape, every)


def _union(sets: Iterable[Any]) -> Any:
    """The union of sets; None if all belong to elements that are always 0."""
    union = None
    for s in sets:
        if s is not None:
            union = s if union is None else union | s
    return union


def _flat(core: object) -> list[Any]:
    """The elements of a core: one, a list of them, or a list of rows."""
    rows = core if isinstance(core, list) else [core]
    return [s for row in rows for s in (row if isinstance(row, list) else [row])]


def _full(shape: tuple[int, ...], s: object) -> Any:
    """A core with equal elements."""
    core = s
    for n in reversed(shape):
        core = [core] * n
    return core
