"""Products of arrays and linear algebra, under their array-API and NumPy names.

Every product here is one contraction, which labels the axes of its operands with letters.
"""

from __future__ import annotations

import string
from functools import lru_cache
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple

from symdiff import opaque_ops
from symdiff.errors import ShapeError
from symdiff.functions.reductions import sum as sum_over
from symdiff.functions.shaping import (
    assembled,
    axes_of,
    diagonal,
    expand_dims,
    matrices,
    reshape,
    squeeze,
)
from symdiff.graph import ops
from symdiff.graph.algebra import mul, opaque
from symdiff.graph.axes import PATTERNS, broadcast_shapes, letter_name, shape_text
from symdiff.graph.contraction import broadcast_to, contract
from symdiff.graph.leaves import as_expr
from symdiff.graph.number import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from symdiff.graph.axes import Word
    from symdiff.graph.expr import Expr, Operand
    from symdiff.graph.node import Dim

__all__ = [
    "SlogdetResult",
    "det",
    "dot",
    "einsum",
    "inv",
    "matmul",
    "outer",
    "slogdet",
    "solve",
    "solve_banded",
    "solve_sylvester",
    "tensordot",
    "trace",
    "vdot",
]


# Contractions -----------------------------------------------------------------------------------


class _Lengths:
    """Operands with their letters; axes of length 1 are stretched to the length of their letter."""

    def __init__(self, name: str, names: Callable[[int], str] = letter_name) -> None:
        self.name, self.names = name, names
        self.terms: list[tuple[Expr, Word]] = []
        self.length: dict[int, Dim] = {}

    def put(self, x: Expr, word: Word) -> None:
        """Add an operand with its letters."""
        for letter, dim in zip(word, x.shape, strict=True):
            before = self.length.get(letter, 1)
            if before not in (1, dim) and dim != 1:
                raise ShapeError(
                    f"{self.name}: operand {len(self.terms)} of shape {shape_text(x.shape)} does "
                    f"not fit; letter {self.names(letter)} would be both {before} and {dim}"
                )
            self.length[letter] = dim if before == 1 else before
        self.terms.append((x, word))

    def contract(self, out: Word) -> Expr:
        """Sum over the letters that ``out`` lacks."""
        sizes = dict(self.length)
        terms = []
        for x, word in self.terms:
            axes = []
            for letter, dim in zip(word, x.shape, strict=True):
                fresh = letter if dim == self.length[letter] else max(sizes) + 1
                sizes.setdefault(fresh, 1)
                axes.append(fresh)
            terms.append((x, tuple(axes)))
        return contract(terms, out, sizes, self.name)


def matmul(x: Operand, y: Operand, /) -> Expr:
    """Return ``value[..., i, k] = sum_j x[..., i, j] y[..., j, k]``; a vector has no i, or no k.

    Leading axes broadcast.

    Raises ShapeError for a scalar, and with the letter if lengths differ.

    >>> import symdiff as sd
    >>> A, x = sd.symbol("A", (2, "n")), sd.symbol("x", "n")
    >>> (A @ x).shape, (A @ A.T).shape
    ((2,), (2, 2))
    """
    a, b = as_expr(x), as_expr(y)
    p, q = a.shape, b.shape
    if not p or not q:
        raise ShapeError(f"matmul: {_shapes_text(a, b)}: a scalar has no axis to sum over; use *")
    if p[-1] != (q[-2] if len(q) > 1 else q[0]):
        raise ShapeError(
            f"matmul: A[{'i,j' if len(p) > 1 else 'j'}] is {shape_text(p)} "
            f"but B[{'j,k' if len(q) > 1 else 'j'}] is {shape_text(q)}; "
            f"letter j would be both {p[-1]} and {q[-2 if len(q) > 1 else 0]}"
        )
    left, right, out = _matrix_words(len(p), len(q))
    if len(p) > 2 and len(q) > 2 and p[:-2] != q[:-2]:
        broadcast_shapes("matmul", p[:-2], q[:-2])
        lengths = _Lengths("matmul")
        lengths.put(a, left)
        lengths.put(b, right)
        return lengths.contract(out)
    return contract([(a, left), (b, right)], out, None, "matmul")


@lru_cache(maxsize=PATTERNS)
def _matrix_words(m: int, n: int) -> tuple[Word, Word, Word]:
    """The letters of operands with m and n axes and of their product: leading ones, i, j and k."""
    first: Word = (0,) if m > 1 else ()
    last: Word = (2,) if n > 1 else ()
    batch = tuple(range(3, max(m, n, 2) + 1))
    left = batch[len(batch) - max(m - 2, 0) :]
    right = batch[len(batch) - max(n - 2, 0) :]
    return (*left, *first, 1), (*right, 1, *last), (*batch, *first, *last)


def _shapes_text(a: Expr, b: Expr) -> str:
    return f"shapes {shape_text(a.shape)} and {shape_text(b.shape)}"


def dot(x: Operand, y: Operand, /) -> Expr:
    """Return the sum over the last axis of x and the last but one of y, or the axis of a vector y.

    A scalar multiplies.  Raises ShapeError if the lengths differ.

    >>> import symdiff as sd
    >>> A, x = sd.symbol("A", (2, 3)), sd.symbol("x", 3)
    >>> sd.dot(A, x) is A @ x
    True
    """
    a, b = as_expr(x), as_expr(y)
    if not a.ndim or not b.ndim:
        return mul(a, b)
    return _tensordot("dot", a, b, (a.ndim - 1,), (max(b.ndim - 2, 0),))


def vdot(x: Operand, y: Operand, /) -> Expr:
    """Return ``sum_i x_i y_i`` over the elements in C order.

    Raises ShapeError for different numbers of elements.

    >>> import symdiff as sd
    >>> X = sd.symbol("X", (2, "n"))
    >>> sd.vdot(X, X) is sd.sum(X * X)
    True
    """
    a, b = as_expr(x), as_expr(y)
    if a.shape != b.shape:
        a, b = reshape(a, -1), reshape(b, -1)
    if a.shape != b.shape:
        raise ShapeError(
            f"vdot: {_shapes_text(as_expr(x), as_expr(y))} have different numbers of elements"
        )
    word = tuple(range(a.ndim))
    return contract([(a, word), (b, word)], (), None, "vdot")


def outer(x: Operand, y: Operand, /) -> Expr:
    """Return ``value[i, j] = x_i y_j`` of the elements in C order.

    >>> import symdiff as sd
    >>> x, y = sd.symbol("x", 3), sd.symbol("y", "n")
    >>> sd.outer(x, y).shape
    (3, 'n')
    """
    a, b = (v if v.ndim == 1 else reshape(v, -1) for v in (as_expr(x), as_expr(y)))
    return contract([(a, (0,)), (b, (1,))], (0, 1), None, "outer")


def tensordot(
    x: Operand, y: Operand, /, axes: int | tuple[int | Sequence[int], int | Sequence[int]] = 2
) -> Expr:
    """Return the sum over pairs of axes: the last ``axes`` of x with the first of y, or the listed.

    The result has the other axes of x, then the other axes of y.  Raises ShapeError if paired
    lengths differ, AxisError, ValueError if the lists differ in length.

    >>> import symdiff as sd
    >>> A, B = sd.symbol("A", (2, 3, 4)), sd.symbol("B", (4, 3, 5))
    >>> sd.tensordot(A, B, axes=((1, 2), (1, 0))).shape
    (2, 5)
    """
    a, b = as_expr(x), as_expr(y)
    if isinstance(axes, int):
        if not 0 <= axes <= min(a.ndim, b.ndim):
            raise ShapeError(
                f"tensordot: {_shapes_text(a, b)} have no {axes} axes each to sum over"
            )
        return _tensordot(
            "tensordot", a, b, tuple(range(a.ndim - axes, a.ndim)), tuple(range(axes))
        )
    first, second = (
        axes_of("tensordot", k if isinstance(k, int) else tuple(k), v.ndim)
        for k, v in zip(axes, (a, b), strict=True)
    )
    if len(first) != len(second):
        raise ValueError(
            f"tensordot: {len(first)} axes of the first operand and {len(second)} of the second"
        )
    return _tensordot("tensordot", a, b, first, second)


def _tensordot(
    name: str, a: Expr, b: Expr, first: tuple[int, ...], second: tuple[int, ...]
) -> Expr:
    for i, j in zip(first, second, strict=True):
        if a.shape[i] != b.shape[j]:
            raise ShapeError(
                f"{name}: {_shapes_text(a, b)}: axis {i} of the first and axis {j} of the second "
                f"are summed together but have lengths {a.shape[i]} and {b.shape[j]}"
            )
    left = tuple(range(a.ndim))
    pairs = dict(zip(second, first, strict=True))
    right = tuple(pairs.get(k, a.ndim + k) for k in range(b.ndim))
    out = tuple(k for k in left if k not in first) + tuple(k for k in right if k >= a.ndim)
    return contract([(a, left), (b, right)], out, None, name)


def einsum(subscripts: str | Operand, /, *operands: object) -> Expr:
    """Return Einstein's summation: ``"ij,jk->ik"`` is ``value[i, k] = sum_j A[i, j] B[j, k]``.

    It sums over letters that the part after ``->`` lacks.  Without ``->`` the result has ``...``
    and then the letters that occur once, in alphabetical order.  A letter repeated in an operand
    takes its diagonal; one repeated after ``->`` puts zeros off the diagonal.  ``...`` stands for
    any number of axes, aligned at the right.  Axes of length 1 are stretched.  ``einsum(A, [0, 1],
    B, [1, 2], [0, 2])`` has numbers for letters.

    Raises ValueError for subscripts that do not fit the operands, ShapeError for two lengths of one
    letter.

    >>> import symdiff as sd
    >>> A, x = sd.symbol("A", ("n", "n")), sd.symbol("x", "n")
    >>> sd.einsum("ij,j", A, x) is A @ x, sd.einsum("i->ii", x) is sd.diag(x)
    (True, True)
    """
    if not isinstance(subscripts, str):
        subscripts, operands = _to_letters([subscripts, *operands])
    terms = [as_expr(x) for x in operands]
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    words = inputs.split(",")
    if len(words) != len(terms):
        raise ValueError(
            f"einsum: {shortened(subscripts)} has {len(words)} operands, {len(terms)} were given"
        )
    spans = [_span(subscripts, word, x) for word, x in zip(words, terms, strict=True)]
    widest = max((span for span in spans if span is not None), default=0)
    lengths = _Lengths(
        f"einsum {shortened(subscripts)}",
        lambda k: string.ascii_letters[k - widest] if k >= widest else f"number {k} of ...",
    )
    for word, x, span in zip(words, terms, spans, strict=True):
        lengths.put(x, _word_numbers(word, widest, widest if span is None else span))
    if not arrow:
        single = sorted(c for c in set(inputs) - set(".,") if inputs.count(c) == 1)
        output = ("..." if widest else "") + "".join(single)
    _span(subscripts, output, None)
    out = _word_numbers(output, widest, widest)
    if unknown := [c for c in output.replace("...", "") if c not in inputs]:
        raise ValueError(f"einsum: {shortened(subscripts)}: no operand has {unknown[0]}")
    return lengths.contract(out)


def _to_letters(operands: list[Any]) -> tuple[str, tuple[Any, ...]]:
    """The subscripts in letters, and the operands, for operands with lists of numbers."""
    arrays, lists = operands[0::2], operands[1::2]
    if len(operands) % 2:
        lists.append(arrays.pop())
    words = []
    for axes in lists:
        if not isinstance(axes, list | tuple) or not all(
            k is Ellipsis or (isinstance(k, int) and 0 <= k < len(string.ascii_letters))
            for k in axes
        ):
            raise TypeError(
                f"einsum: {shortened(axes)} is not a list of axes (numbers from 0 to 51, or ...): "
                "write "
                'einsum("ij,jk->ik", A, B) or einsum(A, [0, 1], B, [1, 2], [0, 2])'
            )
        words.append("".join("..." if k is Ellipsis else string.ascii_letters[k] for k in axes))
    output = f"->{words.pop()}" if len(operands) % 2 else ""
    return ",".join(words) + output, tuple(arrays)


def _span(subscripts: str, word: str, x: Expr | None) -> int | None:
    """The number of axes of ``...`` in a word, None without ``...``; raises ValueError."""
    letters = word.replace("...", "", 1)
    if any(c not in string.ascii_letters for c in letters):
        raise ValueError(
            f"einsum: {shortened(subscripts)}: {shortened(word)} is not made of letters and at "
            "most one '...'"
        )
    if x is None:
        return None
    span = x.ndim - len(letters)
    if span < 0 or (span and letters == word):
        raise ValueError(
            f"einsum: {shortened(subscripts)}: {shortened(word)} does not fit shape "
            f"{shape_text(x.shape)}"
        )
    return None if letters == word else span


def _word_numbers(word: str, widest: int, span: int) -> Word:
    """A word as numbers; ``...`` takes the last ``span`` of the first ``widest`` numbers."""
    before, dots, after = word.partition("...")
    code = {c: widest + k for k, c in enumerate(string.ascii_letters)}
    middle = range(widest - span, widest) if dots else range(0)
    return (*(code[c] for c in before), *middle, *(code[c] for c in after))


def trace(x: Operand, /, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Expr:
    """Return ``sum_i x[.., i, .., i + offset, ..]``, the sum of a diagonal.

    Raises AxisError and ValueError as ``diagonal`` does.

    >>> import symdiff as sd
    >>> A, B = sd.symbol("A", ("n", "n")), sd.symbol("B", ("n", "n"))
    >>> sd.trace(A @ B).shape
    ()
    """
    return sum_over(diagonal(assembled(x), offset, axis1, axis2), -1)


# Linear algebra ---------------------------------------------------------------------------------


def solve(a: Operand, b: Operand, /) -> Expr:
    """Return ``x`` with ``a x = b`` for square matrices a; b is one vector, or matrices.

    Leading axes broadcast.  Raises ShapeError if a is not square or b does not fit.

    >>> import symdiff as sd
    >>> A, b = sd.symbol("A", (3, 3)), sd.symbol("b", 3)
    >>> sd.solve(A, b).shape, sd.solve(A, A.T).shape
    ((3,), (3, 3))
    """
    if not assembled(a).ndim:
        raise ShapeError(
            "solve: a number is not a matrix; sd.solve(a, b) solves linear systems a x = b; for "
            "other equations use sd.root(f, x0), or SymPy with sd.to_sympy(f)"
        )
    matrix = matrices("solve", a, square=True)
    return _apply_solver("solve", ops.opaque_op(opaque_ops.Solve), matrix, assembled(b))


def _apply_solver(name: str, op: ops.Opaque, matrix: Expr, right: Expr) -> Expr:
    """Apply an op that solves systems with as many unknowns as the last axis of ``matrix``."""
    vector = right.ndim == 1
    if not right.ndim or right.shape[-1 if vector else -2] != matrix.shape[-1]:
        raise ShapeError(
            f"{name}: {_shapes_text(matrix, right)}: "
            "A[i,j] x[j] = b[i] needs an equally long axis i of b"
        )
    columns = expand_dims(right, 1) if vector else right
    batch = broadcast_shapes(name, matrix.shape[:-2], columns.shape[:-2])
    columns = broadcast_to(columns, batch + columns.shape[-2:])
    lead = matrix.ndim - 2
    if matrix.shape[:-2] != batch[len(batch) - lead :]:
        matrix = broadcast_to(matrix, batch + matrix.shape[-2:])
    result = opaque(op, matrix, columns)
    return squeeze(result, -1) if vector else result


def solve_banded(l_and_u: tuple[int, int], ab: Operand, b: Operand, /) -> Expr:
    """Return ``x`` with ``a x = b`` for a with l diagonals below the main one and u above it.

    ``ab[u + i - j, j]`` is ``a[i, j]``, as in SciPy's function of this name.  Elements of ab
    outside of a have no effect, and derivative 0.  b is one vector, or matrices; leading axes
    broadcast.  Work and memory grow as n (l + u), also for derivatives: there is no dense matrix.
    Functions need SciPy for it, and raise LinAlgError if a is singular.

    Raises ValueError for negative numbers of diagonals, ShapeError unless ab has l + u + 1 rows and
    b fits.

    >>> import symdiff as sd
    >>> ab, b = sd.symbol("ab", (3, "n")), sd.symbol("b", "n")
    >>> x = sd.solve_banded((1, 1), ab, b)
    >>> x.shape, sd.grad(sd.sum(x), ab).shape
    (('n',), (3, 'n'))
    """
    name = "solve_banded"
    lower, upper = map(index, l_and_u)
    if lower < 0 or upper < 0:
        raise ValueError(
            f"{name}: {shortened(l_and_u)} are not numbers of diagonals below and above"
        )
    bands = matrices(name, ab)
    if bands.shape[-2] != lower + upper + 1:
        raise ShapeError(
            f"{name}: ab of shape {shape_text(bands.shape)} needs {lower + upper + 1} rows, for "
            f"{lower} diagonals below the main one and {upper} above it"
        )
    return _apply_solver(name, ops.opaque_op(opaque_ops.SolveBanded, upper), bands, as_expr(b))


def solve_sylvester(a: Operand, b: Operand, c: Operand, /) -> Expr:
    """Return ``x`` with ``a x + x b = c``, Sylvester's equation; a is (m, m), b (n, n), c (m, n).

    Leading axes broadcast.  The solution is unique if a and -b have no common eigenvalue; a
    Function raises LinAlgError if its system is singular, as ``solve`` does.  The work grows as
    m³ + n³ for symmetric matrices, and with SciPy for all others.  Without SciPy, the linear system
    of the m n elements of x takes (m n)² numbers of memory and (m n)³/3 multiply-adds.  Raises
    ShapeError if a or b is not square or c does not fit.

    >>> import symdiff as sd
    >>> A, B, C = sd.symbol("A", (3, 3)), sd.symbol("B", (2, 2)), sd.symbol("C", (3, 2))
    >>> sd.solve_sylvester(A, B, C).shape
    (3, 2)
    >>> sd.grad(sd.sum(sd.solve_sylvester(A, B, C)), C) is sd.solve_sylvester(
    ...     A.T, B.T, sd.ones((3, 2))
    ... )
    True
    """
    name = "solve_sylvester"
    left, right = matrices(name, a, square=True), matrices(name, b, square=True)
    value = matrices(name, c)
    core = (left.shape[-1], right.shape[-1])
    if value.shape[-2:] != core:
        raise ShapeError(
            f"{name}: {_shapes_text(left, right)} for a and b: a x + x b = c needs c and x of "
            f"shape {shape_text(core)}, and that of c is {shape_text(value.shape)}"
        )
    matrix_batch = broadcast_shapes(name, left.shape[:-2], right.shape[:-2])
    batch = broadcast_shapes(name, matrix_batch, value.shape[:-2])
    if matrix_batch != batch[len(batch) - len(matrix_batch) :]:
        matrix_batch = batch
    return opaque(
        ops.opaque_op(opaque_ops.Sylvester),
        broadcast_to(left, matrix_batch + left.shape[-2:]),
        broadcast_to(right, matrix_batch + right.shape[-2:]),
        broadcast_to(value, batch + core),
    )


def inv(x: Operand, /) -> Expr:
    """Return the inverses of the matrices in the last two axes; raises ShapeError unless square.

    >>> import symdiff as sd
    >>> sd.inv(sd.symbol("A", (2, 3, 3))).shape
    (2, 3, 3)
    """
    return opaque(ops.opaque_op(opaque_ops.Inv), matrices("inv", x, square=True))


def det(x: Operand, /) -> Expr:
    """Return the determinants of the matrices in the last two axes.

    The derivative is correct for singular matrices, too.  Raises ShapeError unless they are square.

    >>> import symdiff as sd
    >>> sd.det(sd.symbol("A", ("n", "n"))).shape
    ()
    """
    return opaque(ops.opaque_op(opaque_ops.Det), matrices("det", x, square=True))


class SlogdetResult(NamedTuple):
    """The result of ``slogdet``.

    >>> import symdiff as sd
    >>> sd.slogdet(sd.symbol("A", (2, 2)))._fields
    ('sign', 'logabsdet')
    """

    sign: Expr
    logabsdet: Expr


def slogdet(x: Operand, /) -> SlogdetResult:
    """Return sign and log|det| of the matrices in the last two axes.

    ``det(x) = sign * exp(logabsdet)``; the sign has derivative 0.  Raises ShapeError unless the
    matrices are square.

    >>> import symdiff as sd
    >>> sign, logabsdet = sd.slogdet(sd.symbol("A", (5, 3, 3)))
    >>> sign.shape, logabsdet.shape
    ((5,), (5,))
    """
    operand = matrices("slogdet", x, square=True)
    return SlogdetResult(
        opaque(ops.opaque_op(opaque_ops.DetSign), operand),
        opaque(ops.opaque_op(opaque_ops.LogAbsDet), operand),
    )
