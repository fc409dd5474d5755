"""Evaluate every op component by component, over any arithmetic of scalars.

The value of a scalar node is one element; the value of an array node is a NumPy object array of
elements.  An ``Arithmetic`` defines the elements: mpmath numbers, exact fractions, SymPy formulas.
Nothing is rearranged, and nothing is fast.  Each op is written once, as its definition reads.  The
classes of linear maps and opaque ops hold theirs.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from symdiff import opaque_ops
from symdiff.errors import ShapeError, Unsupported
from symdiff.graph import ops
from symdiff.graph.axis_lengths import bound, definitions_first
from symdiff.graph.expr import rebuild
from symdiff.graph.formula_nodes import is_decision, lift, over_formula
from symdiff.graph.leaves import named_dummy
from symdiff.graph.lengths import Length
from symdiff.graph.node import op_as, topological
from symdiff.scalars.formula import canonical, kernel_symbol
from symdiff.transforms.checkpoints import Fold
from symdiff.transforms.integrals import Integral
from symdiff.transforms.odes import Mesh
from symdiff.transforms.roots import LinearSolution, Root
from symdiff.transforms.scans import Scan
from symdiff.transforms.sized import Sized
from symdiff.transforms.while_loops import Steps, too_many

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from symdiff.graph.arithmetic import Arithmetic
    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Dim, Op, Shape

__all__ = ["evaluated", "filled", "primitives"]


def evaluated(
    outputs: Sequence[Expr],
    env: Mapping[Expr, Any],
    arithmetic: Arithmetic,
    sizes: Mapping[str, Dim] | None = None,
) -> list[Any]:
    """Return the values of ``outputs`` for the elements (or object arrays of them) of ``env``.

    A value is dropped once its last user has been computed.  Raises Unsupported for a symbolic
    length that ``sizes`` lacks.
    """
    nodes = definitions_first(topological(outputs))
    uses = Counter(arg for node in nodes for arg in node.args)
    uses.update(outputs)
    walk = _Walk(arithmetic, sizes or {})
    values: dict[Expr, Any] = {}
    for node in nodes:
        args = [] if node in env else [values[arg] for arg in node.args]
        value = env[node] if node in env else walk.value(node, args)
        values[node] = arithmetic.kept(node, value, uses[node])
        for arg in node.args:
            uses[arg] -= 1
            if not uses[arg]:
                del values[arg]
    return [values[node] for node in outputs]


def primitives(outputs: Sequence[Expr]) -> list[Expr]:
    """Rewrite user-defined pointwise functions of ``outputs`` in primitive nodes."""
    nodes = topological(outputs)
    if all(not isinstance(node.op, ops.Pointwise) or node.op.primitive for node in nodes):
        return list(outputs)
    done: dict[Expr, Expr] = {}
    for node in nodes:
        args = tuple([done[arg] for arg in node.args])
        if isinstance(node.op, ops.Pointwise) and not node.op.primitive:
            env = {kernel_symbol(k): arg for k, arg in enumerate(args)}
            done[node] = lift(canonical(node.op.formula), env)
        else:
            done[node] = rebuild(node, args)
    return [done[node] for node in outputs]


def filled(shape: tuple[int, ...], elements: Iterable[Any]) -> NDArray[Any]:
    """Return an object array of ``elements`` in C order.

    >>> filled((1, 2), [3, 4])
    array([[3, 4]], dtype=object)
    """
    out = np.empty(math.prod(shape), dtype=object)
    for place, element in enumerate(elements):
        out[place] = element
    return out.reshape(shape)


def _list(x: Any) -> list[Any]:
    return x.ravel().tolist() if isinstance(x, np.ndarray) else [x]


class _Walk:
    """Computes the value of a node from the values of its operands."""

    def __init__(self, arithmetic: Arithmetic, sizes: Mapping[str, Dim]) -> None:
        self.of, self.sizes = arithmetic, dict(sizes)
        self.zero, self.one = arithmetic.number(0), arithmetic.number(1)

    def concrete(self, shape: Shape) -> tuple[int, ...]:
        """``shape`` in numbers."""
        return tuple(self.length(dim) for dim in shape)

    def length(self, dim: Dim) -> int:
        """An axis length as a number."""
        (length,) = bound((dim,), self.sizes)
        if isinstance(length, str):
            raise Unsupported(
                f"the symbolic length {dim} has no value; substitute an array of known shape first"
            )
        return length

    def value(self, node: Expr, args: list[Any]) -> Any:
        """The value of any node except a symbol."""
        op = node.op
        for family, method in _FAMILIES:
            if isinstance(op, family):
                return method(self, node, args)
        raise Unsupported(f"{op.name or type(op).__name__} has no component-wise value")

    # Leaves ---------------------------------------------------------------------------------------

    def symbol(self, node: Expr, args: list[Any]) -> Any:
        raise ValueError(f"symbol {node.name} has no value")

    def constant(self, node: Expr, args: list[Any]) -> Any:
        value = node.op.value  # type: ignore[attr-defined]
        self.of.check(node, value.size, 0)
        return filled(value.shape, map(self.of.number, value.ravel().tolist()))

    def exact(self, node: Expr, args: list[Any]) -> Any:
        return self.of.exact(node.op)  # type: ignore[arg-type]

    def size(self, node: Expr, args: list[Any]) -> Any:
        length = self.length(Length(node.op.name))
        if isinstance(node.op, ops.Count) and length < 0:
            raise ShapeError(f"an axis of length {node.op.name} would have the length {length}")
        return self.of.number(length)

    # Elementwise ----------------------------------------------------------------------------------

    def elementwise(self, node: Expr, args: list[Any]) -> Any:
        element = _ELEMENTS[node.op.__class__]
        if not node.shape:
            return element(self.of, node, args)
        shape = args[0].shape
        self.of.check(node, math.prod(shape), 0)
        columns = zip(*map(_list, args), strict=True)
        return filled(shape, (element(self.of, node, column) for column in columns))

    def barrier(self, node: Expr, args: list[Any]) -> Any:
        return args[0]

    # Contractions ---------------------------------------------------------------------------------

    def contract(self, node: Expr, args: list[Any]) -> Any:
        op = op_as(node, ops.Contract)
        lengths: dict[int, int] = {}
        for word, arg in zip(op.letters, args, strict=True):
            lengths.update(zip(word, np.shape(arg) if word else (), strict=True))
        fresh = dict.fromkeys(k for k in op.out if k not in lengths)
        lengths.update(zip(fresh, self.concrete(op.created), strict=True))
        out = tuple(dict.fromkeys(op.out))
        summed = tuple(k for k in lengths if k not in out)
        shape = tuple(lengths[k] for k in out)
        terms = math.prod(lengths.values()) if summed or len(args) > 1 else 0
        self.of.check(node, math.prod(lengths[k] for k in op.out), terms)
        spread = [
            _elements_in_order(arg, word, out + summed, lengths)
            for word, arg in zip(op.letters, args, strict=True)
        ]
        inner = math.prod(lengths[k] for k in summed)
        elements = (
            [
                self.sum_of(spread, op.kills, range(first, first + inner))
                for first in range(0, inner * math.prod(shape), inner)
            ]
            if inner
            else [self.zero] * math.prod(shape)
        )
        result = filled(shape, elements)
        if len(out) != len(op.out):
            result = self.diagonal(result, out, op.out, lengths)
        return result if op.out else result.item()

    def sum_of(self, factors: list[list[Any]], kills: tuple[bool, ...], places: range) -> Any:
        terms = [self.term([factor[i] for factor in factors], kills) for i in places]
        return self.of.sum(terms)

    def term(self, factors: list[Any], kills: tuple[bool, ...]) -> Any:
        if len(factors) == 1:
            return factors[0]
        return self.of.strong(factors, kills) if any(kills) else self.of.product(factors)

    def diagonal(
        self, x: NDArray[Any], letters: ops.Letters, out: ops.Letters, lengths: Mapping[int, int]
    ) -> NDArray[Any]:
        """``x`` where repeated labels of ``out`` agree, zero elsewhere."""
        shape = tuple(lengths[k] for k in out)
        result = filled(shape, itertools.repeat(self.zero, math.prod(shape)))
        index = dict(zip(letters, np.indices(x.shape), strict=True))
        result[tuple(index[k] for k in out)] = x
        return result

    # Linear maps ----------------------------------------------------------------------------------

    def linear(self, node: Expr, args: list[Any]) -> Any:
        op = op_as(node, ops.Linear).bound(lambda shape: bound(shape, self.sizes))
        assert isinstance(op, ops.Linear)
        arrays = list(map(_array, args))
        shape = self.concrete(op.result(*(x.shape for x in arrays)))
        self.of.check(node, math.prod(shape), op.terms(arrays[0].shape))
        return _unwrap(_array(op.components(self.of, shape, *arrays)))

    # Opaque ---------------------------------------------------------------------------------------

    def inside(self, outputs: Sequence[Expr], env: Mapping[Expr, Any]) -> list[Any]:
        """The values of expressions inside an op."""
        return evaluated(primitives(outputs), env, self.of, self.sizes)

    def scan(self, node: Expr, args: list[Any]) -> Any:
        """The carries, step by step."""
        op = op_as(node, Scan)
        n, (carry, *rest) = self.length(op.length), args
        xs, params = rest[: len(op.xs)], dict(zip(op.params, rest[len(op.xs) :], strict=True))
        shape = (n + 1, *np.shape(carry))
        self.of.check(node, math.prod(shape), 0)
        carries = [carry]
        for t in range(n)[:: -1 if op.reverse else 1]:
            row = {x: values[t] for x, values in zip(op.xs, xs, strict=True)}
            env = {op.carry: carries[-1], **row, **params}
            carries += self.inside([op.body], env)
        rows = carries[:: -1 if op.reverse else 1]
        return filled(shape, itertools.chain.from_iterable(map(_list, rows)))

    def fold(self, node: Expr, args: list[Any]) -> Any:
        """The values of the equivalent scan."""
        packed, symbols = op_as(node, Fold).plain
        return evaluated([packed], dict(zip(symbols, args, strict=True)), self.of, self.sizes)[0]

    def places_of(self, node: Expr, args: list[Any]) -> Any:
        """The indices of nonzero elements; their number is known by now."""
        (x,) = args
        of = self.of
        indices = [k for k, a in enumerate(x) if of.holds("a condition as index", a)]
        if isinstance(node.op, opaque_ops.Nonzero):
            self.sizes[str(node.op.length)] = len(indices)
        return filled((len(indices),), map(of.number, indices))

    def steps(self, node: Expr, args: list[Any]) -> Any:
        """The number of steps while the condition holds."""
        op = op_as(node, Steps)

        def count(carry: Any, *params: Any) -> Any:
            fixed = dict(zip(op.params, params, strict=True))
            for n in itertools.count():
                env = {op.carry: carry, **fixed}
                (met,) = self.inside([op.condition], env)
                if not self.of.holds("steps of while_loop", met):
                    return self.of.number(n)
                if n == op.max_steps:
                    raise too_many(op)
                (carry,) = self.inside([op.body], env)

        return self.each(count, op.symbols, args, node.ndim)

    def sized(self, node: Expr, args: list[Any]) -> Any:
        """The inner expression for its length, which is known by now."""
        op, (count, *rest) = op_as(node, Sized), args

        def value(count: Any, *xs: Any) -> Any:
            sizes = {**self.sizes, str(op.own): self.of.places(op.name, [count])[0]}
            env = dict(zip(op.symbols, xs, strict=True))
            return evaluated(primitives([op.inner]), env, self.of, sizes)[0]

        first = named_dummy("count", (), int)
        return self.each(value, (first, *op.symbols), [count, *rest], np.ndim(count))

    def each(
        self, f: Callable[..., Any], symbols: Sequence[Expr], args: Sequence[Any], axes: int
    ) -> Any:
        """``f`` for each element along leading axes, for operands that have them."""
        arrays = list(map(_array, args))
        batch = arrays[0].shape[:axes]
        results = []
        for place in np.ndindex(batch):
            pairs = zip(arrays, symbols, strict=True)
            rows = [x[place] if x.ndim > symbol.ndim else x for x, symbol in pairs]
            results.append(_array(f(*[_unwrap(_array(row)) for row in rows])))
        if not axes:
            return _unwrap(results[0])
        return filled(
            batch + (results[0].shape if results else ()),
            itertools.chain.from_iterable(map(_list, results)),
        )

    def root(self, node: Expr, args: list[Any]) -> Any:
        """Newton steps from the start."""
        op = op_as(node, Root)
        shape, params = np.shape(args[0]), dict(zip(op.params, args[1:], strict=True))

        def at(x: list[Any]) -> tuple[list[Any], Any]:
            env = {op.x: filled(shape, x) if shape else x[0], **params}
            f, slope = self.inside(op.outputs[:2], env)
            n = slope.shape[-1]
            return _list(f), slope.reshape(-1, n, n).tolist() if n else []

        self.of.check(node, math.prod(shape), 0)
        solution = self.of.root(op, at, _list(args[0]))
        return filled(shape, solution) if shape else solution[0]

    def mesh(self, node: Expr, args: list[Any]) -> Any:
        """Raise Unsupported: the mesh exists only for floats."""
        raise Unsupported(
            "odeint: SciPy chooses the mesh of its steps, for floats: nm.lower and nm.interpret "
            "have values"
        )

    def linear_solution(self, node: Expr, args: list[Any]) -> Any:
        """Elimination on the matrix, whose columns are images of unit vectors."""
        op, (b, *params) = op_as(node, LinearSolution), args
        shape, right = np.shape(b), _list(b)
        n, columns = len(right), []
        self.of.check(node, n * n, n)
        for k in range(n):
            unit = [self.of.number(int(j == k)) for j in range(n)]
            x = filled(shape, unit) if shape else unit[0]
            env = {op.x: x, **dict(zip(op.params, params, strict=True))}
            columns.append(_list(self.inside([op.body], env)[0]))
        rows = [list(row) for row in zip(*columns, strict=True)]
        solution = [x for (x,) in self.of.eliminated(rows, [[x] for x in right])[1]]
        return filled(shape, solution) if shape else solution[0]

    def opaque(self, node: Expr, args: list[Any]) -> Any:
        """The op's definition for each core; all batch axes broadcast, also a shared operand's."""
        value = self.of.opaque(node, args)
        if value is not None:
            return value
        op = op_as(node, ops.Opaque)
        if isinstance(op, ops.Unknown):
            raise op.refused("")
        if isinstance(op, Integral):
            raise op.refused()
        signature = op.signature
        if signature is None:
            raise Unsupported(f"{op.name} has no component-wise value")
        arrays = list(map(_array, args))
        words = [signature.core(k) for k in range(len(arrays))]
        leads = [x.ndim - len(word) for x, word in zip(arrays, words, strict=True)]
        lengths: dict[str, int] = {}
        for x, word, lead in zip(arrays, words, leads, strict=True):
            lengths.update(zip(word, x.shape[lead:], strict=True))
        rows_shape = node.shape[node.ndim - len(signature.value) :]
        shape = tuple(
            lengths[letter] if letter in lengths else self.length(dim)
            for letter, dim in zip(signature.value, rows_shape, strict=True)
        )
        pairs = list(zip(arrays, leads, strict=True))
        batch = np.broadcast_shapes(*(x.shape[:lead] for x, lead in pairs))
        self.of.check(node, math.prod(batch + shape), arrays[0].size * max(shape, default=1))
        wide = [np.broadcast_to(x, batch + x.shape[lead:]) for x, lead in pairs]
        values = [
            self.of.core(node, shape, [_as_list(x[place]) for x in wide])
            for place in np.ndindex(batch)
        ]
        for _ in shape:
            values = list(itertools.chain.from_iterable(values))
        return _unwrap(filled(batch + shape, values))


def _elements_in_order(
    x: Any, word: ops.Letters, axes: ops.Letters, lengths: Mapping[int, int]
) -> list[Any]:
    """The elements of ``x`` in the order of ``axes``: diagonals taken, missing axes repeated."""
    x = _array(x)
    grid = np.indices([lengths[k] for k in axes], sparse=True)
    index = dict(zip(axes, grid, strict=True))
    chosen = _array(x[tuple(index[k] for k in word)])
    return _list(np.broadcast_to(chosen, [lengths[k] for k in axes]))


def _array(x: Any) -> NDArray[Any]:
    return x if isinstance(x, np.ndarray) else filled((), [x])


def _unwrap(x: Any) -> Any:
    """Convert a 0-d array to its element."""
    return x.item() if isinstance(x, np.ndarray) and not x.ndim else x


def _as_list(x: Any) -> Any:
    """Convert an array of elements to a list, or a list of rows; an element stays."""
    return x.tolist() if isinstance(x, np.ndarray) else x


def _sum(of: Arithmetic, node: Expr, args: Sequence[Any]) -> Any:
    op = op_as(node, ops.Sum)
    return of.total(op.const, op.coefs, args) if args else of.number(op.const)


def _product(of: Arithmetic, node: Expr, args: Sequence[Any]) -> Any:
    op = op_as(node, ops.Product)
    powers = [of.power(a, p) for a, p in zip(args, op.exponents, strict=True)]
    return powers[0] if len(powers) == 1 else of.product(powers)


def _pointwise(of: Arithmetic, node: Expr, args: Sequence[Any]) -> Any:
    if is_decision(node.op):
        return over_formula(node, args, lambda x, values: _ELEMENTS[x.op.__class__](of, x, values))
    return of.select(node, *args) if node.op.name == "where" else of.function(node, args)


def _strong(of: Arithmetic, node: Expr, args: Sequence[Any]) -> Any:
    return of.strong(args, node.op.kills)  # type: ignore[attr-defined]


_ELEMENTS: dict[type[Op], Callable[[Arithmetic, Expr, Sequence[Any]], Any]] = {
    ops.Sum: _sum,
    ops.Product: _product,
    ops.Pointwise: _pointwise,
    ops.Strong: _strong,
}

_FAMILIES: tuple[tuple[Any, Callable[[_Walk, Expr, list[Any]], Any]], ...] = (
    (tuple(_ELEMENTS), _Walk.elementwise),
    (ops.Contract, _Walk.contract),
    (ops.Symbol, _Walk.symbol),
    (ops.Constant, _Walk.constant),
    (ops.Exact, _Walk.exact),
    (ops.Size, _Walk.size),
    (ops.Barrier, _Walk.barrier),
    (ops.Linear, _Walk.linear),
    (Scan, _Walk.scan),
    (Fold, _Walk.fold),
    (Steps, _Walk.steps),
    (opaque_ops.PlacesOf, _Walk.places_of),
    (Sized, _Walk.sized),
    (Root, _Walk.root),
    (LinearSolution, _Walk.linear_solution),
    (Mesh, _Walk.mesh),
    (ops.Opaque, _Walk.opaque),
)
