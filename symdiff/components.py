"""The meaning of every op, component by component, over any arithmetic of scalars.

A scalar node's value is one element; an array node's value is a NumPy object array of elements.
What an element is, an ``Arithmetic`` says: an mpmath number, an exact fraction, a SymPy formula.
Nothing is rearranged and nothing is fast; every op is written once, as its definition reads.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from symdiff import ops
from symdiff.errors import Unsupported
from symdiff.node import topological

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from symdiff.expr import Expr
    from symdiff.node import Dim, Op, Shape
    from symdiff.number import Number

__all__ = ["EXPANDED", "Arithmetic", "evaluated", "filled"]

# Determinants up to this size are sums of products: exact wherever sums and products are.
EXPANDED = 6


class Arithmetic(ABC):
    """Scalars of one kind: how numbers become elements, and what ops do to elements."""

    @abstractmethod
    def number(self, value: Any) -> Any:
        """The element that a number is."""

    @abstractmethod
    def exact(self, op: ops.Exact) -> Any:
        """The element that pi or e is."""

    @abstractmethod
    def total(self, const: Number, coefs: Sequence[Number], args: Sequence[Any]) -> Any:
        """``const + sum_i coefs[i] * args[i]``."""

    @abstractmethod
    def product(self, factors: Sequence[Any]) -> Any:
        """The product of any number of elements; 1 if there are none."""

    @abstractmethod
    def power(self, a: Any, p: int | Fraction) -> Any:
        """``a ** p`` for an exact number p."""

    @abstractmethod
    def function(self, node: Expr, args: Sequence[Any]) -> Any:
        """The function of a Pointwise node, other than ``where``."""

    @abstractmethod
    def select(self, node: Expr, condition: Any, a: Any, b: Any) -> Any:
        """``a`` if the condition holds, else ``b``; the other one never matters."""

    @abstractmethod
    def named(self, name: str, *args: Any) -> Any:
        """The vocabulary function ``name`` of numeric elements."""

    @abstractmethod
    def eliminated(self, a: list[list[Any]], b: list[list[Any]]) -> tuple[Any, list[list[Any]]]:
        """The determinant of a square matrix, and X with A X = B."""

    @abstractmethod
    def strong(self, factors: Sequence[Any], kills: Sequence[bool]) -> Any:
        """The product, but 0 if a factor that kills is exactly 0."""

    def determinant(self, rows: list[list[Any]]) -> Any:
        """The determinant, by minors of the last rows: no division.  Large ones by elimination."""
        n = len(rows)
        if n > EXPANDED:
            return self.eliminated(rows, [[] for _ in rows])[0]
        minors: dict[tuple[int, ...], Any] = {(): self.number(1)}
        for i in range(n - 1, -1, -1):
            minors = {
                columns: self.total(
                    0,
                    [(-1) ** k for k in range(len(columns))],
                    [
                        self.product([rows[i][j], minors[columns[:k] + columns[k + 1 :]]])
                        for k, j in enumerate(columns)
                    ],
                )
                for columns in itertools.combinations(range(n), n - i)
            }
        return minors[tuple(range(n))]

    def cofactor(self, rows: list[list[Any]]) -> list[list[Any]]:
        """The cofactor matrix, d det A / d A."""
        n = len(rows)
        return [[self._signed_minor(rows, i, j) for j in range(n)] for i in range(n)]

    def _signed_minor(self, rows: list[list[Any]], i: int, j: int) -> Any:
        rest = [row[:j] + row[j + 1 :] for k, row in enumerate(rows) if k != i]
        return self.total(0, [(-1) ** (i + j)], [self.determinant(rest)])

    def sum(self, terms: Sequence[Any]) -> Any:
        """The sum of any number of elements."""
        return terms[0] if len(terms) == 1 else self.total(0, (1,) * len(terms), terms)

    def kept(self, node: Expr, value: Any, uses: int) -> Any:
        """What the users of ``node``, of which there are ``uses``, see of its value."""
        return value

    def check(self, node: Expr, elements: int, terms: int) -> None:
        """Called before an array is made; may raise Unsupported if that is too much."""
        return


def evaluated(
    outputs: Sequence[Expr],
    env: Mapping[Expr, Any],
    arithmetic: Arithmetic,
    sizes: Mapping[str, Dim] | None = None,
) -> list[Any]:
    """The values of ``outputs`` for the elements (or object arrays of them) of ``env``.

    A value is dropped as soon as its last user has been computed.  Raises Unsupported for a
    symbolic length that ``sizes`` does not say.
    """
    nodes = topological(outputs)
    uses = Counter(arg for node in nodes for arg in node.args)
    uses.update(outputs)
    walk = _Walk(arithmetic, sizes or {})
    values: dict[Expr, Any] = {}
    for node in nodes:
        value = env.get(node)
        if value is None:
            value = walk.value(node, [values[arg] for arg in node.args])
        values[node] = arithmetic.kept(node, value, uses[node])
        for arg in node.args:
            uses[arg] -= 1
            if not uses[arg]:
                del values[arg]
    return [values[node] for node in outputs]


def filled(shape: tuple[int, ...], elements: Iterable[Any]) -> NDArray[Any]:
    """An object array of ``elements`` in C order.

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
    """The value of a node from the values of its operands."""

    def __init__(self, arithmetic: Arithmetic, sizes: Mapping[str, Dim]) -> None:
        self.of, self.sizes = arithmetic, sizes
        self.zero, self.one = arithmetic.number(0), arithmetic.number(1)

    def concrete(self, shape: Shape) -> tuple[int, ...]:
        """``shape`` in numbers."""
        return tuple(self.length(dim) for dim in shape)

    def length(self, dim: Dim) -> int:
        """An axis length as a number."""
        length = self.sizes.get(dim, dim) if isinstance(dim, str) else dim
        if isinstance(length, str):
            raise Unsupported(
                f"the symbolic length {dim} has no value; substitute an array of known shape first"
            )
        return length

    def value(self, node: Expr, args: list[Any]) -> Any:
        """The value of any node but a symbol."""
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
        return self.of.number(self.length(node.op.name))

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
        op: ops.Contract = node.op  # type: ignore[assignment]
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
            _spread(arg, word, out + summed, lengths)
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
        """``x`` where repeated letters of ``out`` agree, zero elsewhere."""
        shape = tuple(lengths[k] for k in out)
        result = filled(shape, itertools.repeat(self.zero, math.prod(shape)))
        index = dict(zip(letters, np.indices(x.shape), strict=True))
        result[tuple(index[k] for k in out)] = x
        return result

    # Linear maps ----------------------------------------------------------------------------------

    def reshape(self, node: Expr, args: list[Any]) -> Any:
        op: ops.Reshape = node.op  # type: ignore[assignment]
        (x,) = map(_array, args)
        return _unwrapped(x.reshape(self.lead(x, len(op.before)) + self.concrete(op.after)))

    def lead(self, x: NDArray[Any], trailing: int) -> tuple[int, ...]:
        """The batch axes."""
        return x.shape[: x.ndim - trailing]

    def slice(self, node: Expr, args: list[Any]) -> Any:
        op: ops.Slice = node.op  # type: ignore[assignment]
        return _unwrapped(args[0][_slices(op.steps)])

    def unslice(self, node: Expr, args: list[Any]) -> Any:
        op: ops.Unslice = node.op  # type: ignore[assignment]
        (x,) = map(_array, args)
        result = self.zeros(node, self.lead(x, len(op.before)) + self.concrete(op.before))
        result[_slices(op.steps)] = x
        return result

    def zeros(self, node: Expr, shape: tuple[int, ...]) -> NDArray[Any]:
        size = math.prod(shape)
        self.of.check(node, size, 0)
        return filled(shape, itertools.repeat(self.zero, size))

    def gather(self, node: Expr, args: list[Any]) -> Any:
        op: ops.Gather = node.op  # type: ignore[assignment]
        (x,) = map(_array, args)
        flat = x.reshape((*self.lead(x, len(op.before)), math.prod(op.before)))
        return _unwrapped(_array(flat[..., op.index]))

    def scatter(self, node: Expr, args: list[Any]) -> Any:
        op: ops.Scatter = node.op  # type: ignore[assignment]
        (x,) = map(_array, args)
        lead, places = self.lead(x, op.index.ndim), op.index.ravel().tolist()
        rows = x.reshape((math.prod(lead), len(places))).tolist()
        self.of.check(node, len(rows) * math.prod(op.before), 0)
        elements = []
        for row in rows:
            met: dict[int, list[Any]] = {}
            for place, element in zip(places, row, strict=True):
                met.setdefault(place, []).append(element)
            elements += [self.of.sum(met.get(i, [])) for i in range(math.prod(op.before))]
        return _unwrapped(filled(lead + op.before, elements))

    def concat(self, node: Expr, args: list[Any]) -> Any:
        return np.concatenate(args, axis=node.op.axis)  # type: ignore[attr-defined]

    def flip(self, node: Expr, args: list[Any]) -> Any:
        return np.flip(args[0], axis=node.op.axes)  # type: ignore[attr-defined]

    def cumsum(self, node: Expr, args: list[Any]) -> Any:
        op: ops.Cumsum = node.op  # type: ignore[assignment]
        result = args[0].copy()
        lines = np.moveaxis(np.flip(result, op.axis) if op.reverse else result, op.axis, 0)
        for i in range(1, len(lines)):
            pairs = zip(_list(lines[i - 1 : i]), _list(lines[i : i + 1]), strict=True)
            lines[i] = filled(lines.shape[1:], (self.of.sum([a, b]) for a, b in pairs))
        return result

    def triangle(self, node: Expr, args: list[Any]) -> Any:
        op: ops.Triangle = node.op  # type: ignore[assignment]
        result = args[0].copy()
        rows, columns = np.indices(result.shape[-2:])
        above = columns - rows
        outside = above > op.diagonal if op.lower else above < op.diagonal
        result[..., outside] = self.zero
        return result

    # Opaque ---------------------------------------------------------------------------------------

    def solve(self, node: Expr, args: list[Any]) -> Any:
        a, b = args
        lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        a = np.broadcast_to(a, lead + a.shape[-2:])
        b = np.broadcast_to(b, lead + b.shape[-2:])
        solved = [self.of.eliminated(x, y)[1] for x, y in zip(_rows(a), _rows(b), strict=True)]
        return _stacked(solved, b.shape)

    def matrices(self, node: Expr, args: list[Any]) -> Any:
        (x,) = args
        results = [_MATRICES[node.op.__class__](self, rows) for rows in _rows(x)]
        if isinstance(node.op, ops.Inv | ops.Cofactor):
            return _stacked(results, x.shape)
        return _unwrapped(filled(x.shape[:-2], results))

    def inverse(self, rows: list[list[Any]]) -> list[list[Any]]:
        n = len(rows)
        unit = [[self.one if i == j else self.zero for j in range(n)] for i in range(n)]
        return self.of.eliminated(rows, unit)[1]

    def logabsdet(self, rows: list[list[Any]]) -> Any:
        return self.of.named("log", self.of.named("abs", self.of.determinant(rows)))

    def detsign(self, rows: list[list[Any]]) -> Any:
        return self.of.named("sign", self.of.determinant(rows))

    def lines(self, node: Expr, args: list[Any]) -> Any:
        """Ops on the last axis."""
        (x,) = args
        length = x.shape[-1]
        flat = _list(x)
        starts = range(0, math.prod(x.shape[:-1]) * length, length) if length else ()
        rows = [flat[start : start + length] for start in starts] if length else []
        if not length:
            rows = [[] for _ in range(math.prod(x.shape[:-1]))]
        results = [_LINES[node.op.__class__](self, row) for row in rows]
        if isinstance(node.op, ops.ProdOthers):
            return filled(x.shape, itertools.chain.from_iterable(results))
        return _unwrapped(filled(x.shape[:-1], results))

    def prod(self, row: list[Any]) -> Any:
        return self.of.product(row)

    def prod_others(self, row: list[Any]) -> list[Any]:
        return [self.of.product(row[:i] + row[i + 1 :]) for i in range(len(row))]

    def extreme(self, name: str, row: list[Any]) -> Any:
        if not row:
            raise ValueError(f"{name}: an axis of length 0 has no largest or smallest element")
        result = row[0]
        for element in row[1:]:
            result = self.of.named(name, result, element)
        return result

    def logsumexp(self, row: list[Any]) -> Any:
        if not row:
            return self.of.number(-math.inf)
        exps = [self.of.named("exp", element) for element in row]
        return self.of.named("log", self.of.sum(exps))


def _spread(x: Any, word: ops.Letters, axes: ops.Letters, lengths: Mapping[int, int]) -> list[Any]:
    """The elements of ``x`` in the order of ``axes``: diagonals taken, missing axes repeated."""
    x = _array(x)
    grid = np.indices([lengths[k] for k in axes], sparse=True)
    index = dict(zip(axes, grid, strict=True))
    chosen = _array(x[tuple(index[k] for k in word)])
    return _list(np.broadcast_to(chosen, [lengths[k] for k in axes]))


def _array(x: Any) -> NDArray[Any]:
    return x if isinstance(x, np.ndarray) else filled((), [x])


def _unwrapped(x: Any) -> Any:
    """A 0-d array as its element."""
    return x.item() if isinstance(x, np.ndarray) and not x.ndim else x


def _slices(steps: tuple[ops.Step, ...]) -> tuple[Any, ...]:
    return (..., *(slice(*step) for step in steps))


def _rows(x: NDArray[Any]) -> list[list[list[Any]]]:
    """The matrices of a stack, as lists of rows."""
    return x.reshape((math.prod(x.shape[:-2]), *x.shape[-2:])).tolist()  # type: ignore[no-any-return]


def _stacked(matrices: list[list[list[Any]]], shape: tuple[int, ...]) -> NDArray[Any]:
    return filled(shape, (element for rows in matrices for row in rows for element in row))


def _sum(of: Arithmetic, node: Expr, args: Sequence[Any]) -> Any:
    op: ops.Sum = node.op  # type: ignore[assignment]
    return of.total(op.const, op.coefs, args) if args else of.number(op.const)


def _product(of: Arithmetic, node: Expr, args: Sequence[Any]) -> Any:
    op: ops.Product = node.op  # type: ignore[assignment]
    powers = [of.power(a, p) for a, p in zip(args, op.exponents, strict=True)]
    return powers[0] if len(powers) == 1 else of.product(powers)


def _pointwise(of: Arithmetic, node: Expr, args: Sequence[Any]) -> Any:
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
    (ops.Reshape, _Walk.reshape),
    (ops.Slice, _Walk.slice),
    (ops.Unslice, _Walk.unslice),
    (ops.Gather, _Walk.gather),
    (ops.Scatter, _Walk.scatter),
    (ops.Concat, _Walk.concat),
    (ops.Flip, _Walk.flip),
    (ops.Cumsum, _Walk.cumsum),
    (ops.Triangle, _Walk.triangle),
    (ops.Solve, _Walk.solve),
    ((ops.Inv, ops.Det, ops.Cofactor, ops.LogAbsDet, ops.DetSign), _Walk.matrices),
    ((ops.Prod, ops.ProdOthers, ops.Max, ops.Min, ops.LogSumExp), _Walk.lines),
)

_MATRICES: dict[type[Op], Callable[[_Walk, list[list[Any]]], Any]] = {
    ops.Inv: _Walk.inverse,
    ops.Det: lambda walk, rows: walk.of.determinant(rows),
    ops.Cofactor: lambda walk, rows: walk.of.cofactor(rows),
    ops.LogAbsDet: _Walk.logabsdet,
    ops.DetSign: _Walk.detsign,
}

_LINES: dict[type[Op], Callable[[_Walk, list[Any]], Any]] = {
    ops.Prod: _Walk.prod,
    ops.ProdOthers: _Walk.prod_others,
    ops.Max: lambda walk, row: walk.extreme("maximum", row),
    ops.Min: lambda walk, row: walk.extreme("minimum", row),
    ops.LogSumExp: _Walk.logsumexp,
}
