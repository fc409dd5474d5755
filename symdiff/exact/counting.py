"""The size of an expression: nodes, edges, and operations of an evaluation with shared parts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any

import sympy as sp

from symdiff import opaque_ops
from symdiff.errors import Unsupported
from symdiff.graph import ops
from symdiff.graph.arguments import expressions
from symdiff.graph.axis_lengths import bound, defining
from symdiff.graph.expr import Expr
from symdiff.graph.lengths import Length
from symdiff.graph.node import topological
from symdiff.transforms.odes import Mesh
from symdiff.transforms.roots import Equations, Root
from symdiff.transforms.scans import Looped
from symdiff.transforms.sized import Sized
from symdiff.transforms.tableaus import TABLEAUS
from symdiff.transforms.while_loops import Steps

if TYPE_CHECKING:
    from collections.abc import Iterable

    from symdiff.graph.node import Dim, Shape


def count_nodes(outputs: Expr | Iterable[Expr]) -> int:
    """Return the number of distinct nodes that ``outputs`` need, with symbols and numbers.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> count_nodes(sd.sin(x) * x + sd.sin(x))
    4
    """
    return len(_nodes("count_nodes", outputs))


def count_edges(outputs: Expr | Iterable[Expr]) -> int:
    """Return the total number of operands of all distinct nodes.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> count_edges(sd.sin(x) * x + sd.sin(x))
    5
    """
    return sum(len(node.args) for node in _nodes("count_edges", outputs))


def count_operations(outputs: Expr | Iterable[Expr], sizes: Mapping[str, int] | None = None) -> int:
    """Return the number of operations of an evaluation that computes every node once.

    Elementwise operations count for each element of the value:

    - a sum of n terms: n - 1, where an added number is a term; and 1 for each coefficient except
      1 and -1;
    - a product of n powers: n - 1, and 1 for each exponent but 1 and -1; a product without a
      positive power is one division more;
    - a function of the vocabulary: 1; a composed formula (``pointwise``): SymPy's ``count_ops``.

    A contraction of n operands with a sum takes max(1, n - 1) multiply-adds for each combination of
    its axis labels, summed ones included.  Without a sum it only moves data: 0.  So do linear maps,
    except cumsum (1 per element) and scatter (1 per element of its operand).  Reductions over an
    axis, and running reductions, take 1 per element of their operand (the products of all others 3,
    logsumexp 3).  Sorting n elements counts n log2 n, a binary search log2 n, rounded up, and a
    discrete Fourier transform 5 n log2 n.  Taking by index moves data, adding by index counts 1.  A
    scan counts the operations of its body for each step.

    For an unknown number of steps, one step counts.  For a while loop this is the condition, the
    body, and the body once more for the carries.  For a root, a fixed point and a minimiser it is
    one Newton step: the equations, their Jacobian matrix and a solution of n linear equations.  For
    ``linear_solve`` it is one product, and for ``odeint`` one trial step of SciPy and one final
    step.  A selection by a condition counts as one element.

    For n×n matrices, solving for k columns counts n³/3 + n²k multiply-adds, with l diagonals below
    the main one and u above it n (l (l + u + 1) + k (2l + u + 1)), det and slogdet n³/3,
    the inverse and the cofactors n³ (their tangents 4n³), cholesky n³/6, eigenvalues 2n³/3 and
    eigenvectors 9n³/2, rounded down.  For m×n matrices with m >= n, or n×m, singular values count
    mn² + n³, their vectors 7mn² + 4n³ on one side or both, pinv 8mn² + 4n³, R of qr mn² - n³/3,
    and Q of m×n 2mn² - 2n³/3 (Golub and Van Loan, Matrix Computations, 8.6).  Several results of
    one decomposition count as much as the most expensive one.  expm counts 8n³, with k directions
    (k+1)(k+2)(k+3)/6 times that, and logm 40n³.  The numbers of squarings and roots depend on the
    values; they count as 0 and 5.  sqrtm counts 14n³ (Higham, Functions of Matrices, 6.2).

    Args:
        outputs: an expression, or several.
        sizes: the lengths of symbolic axes by name.

    Raises Unsupported for a symbolic length that ``sizes`` lacks, with its name.

    >>> import symdiff as sd
    >>> x, A = sd.symbol("x", 3), sd.symbol("A", (2, 3))
    >>> count_operations(A @ x), count_operations(2 * sd.sin(x) + 1)
    (6, 9)
    """
    nodes = _nodes("count_operations", outputs)
    lengths = {**dict.fromkeys([str(x.shape[0]) for x in defining(nodes)], 1), **(sizes or {})}
    total, dearest = 0, dict[tuple[Any, ...], int]()
    for node in nodes:
        count = _operations(node, lengths) if node.args else 0
        if isinstance(node.op, ops.Part):
            key = (node.op.whole, node.args)
            dearest[key] = max(dearest.get(key, 0), count)
        else:
            total += count
    return total + sum(dearest.values())


def _nodes(function: str, outputs: Expr | Iterable[Expr]) -> list[Expr]:
    return topological(expressions(function, "outputs", outputs))


def _elements(shape: Shape, lengths: Mapping[str, int]) -> int:
    lengths_of_axes = bound(shape, lengths)
    for dim in lengths_of_axes:
        if isinstance(dim, str):
            first = Length(dim).names[0]
            raise Unsupported(
                f"count_operations: the length {dim} is symbolic; give sizes={{{first!r}: ...}}"
            )
    return math.prod(lengths_of_axes)  # type: ignore[arg-type]  # they are ints


def _operations(node: Expr, lengths: Mapping[str, int]) -> int:
    op = node.op
    if isinstance(op, ops.Contract):
        return _contraction(node, op, lengths)
    if isinstance(op, ops.Linear):
        return op.cost(lambda shape: _elements(shape, lengths), node.args[0].shape)
    if isinstance(op, Looped):
        return _elements((op.length,), lengths) * count_operations(op.body, lengths)
    if isinstance(op, opaque_ops.PlacesOf):
        return 0
    if isinstance(op, Steps | Sized | Equations):
        return _one_step(node, op, lengths)
    if isinstance(op, ops.Opaque):
        return _opaque(node, op, lengths)
    each = _elementwise(node)
    return each * _elements(node.shape, lengths) if each else 0


def _one_step(node: Expr, op: Steps | Sized | Equations, lengths: Mapping[str, int]) -> int:
    """One step of an op with an unknown number of steps, for each member of a batch."""
    if isinstance(op, Steps):
        step = count_operations([op.condition, op.body], lengths)
        return _elements(node.shape, lengths) * step
    if isinstance(op, Sized):
        step = count_operations(op.inner, {**lengths, str(op.own): 1})
        return _elements(node.args[0].shape, lengths) * step
    step = count_operations(op.outputs, lengths)
    if isinstance(op, Root):
        n = _elements(op.outputs[1].shape[-1:], lengths)
        step += _elements(op.lead, lengths) * (n**3 // 3 + n**2)
    if isinstance(op, Mesh):
        stages = len(TABLEAUS[op.method].b)
        step += (stages - 1) * count_operations(op.body, lengths)
        step *= _elements(node.shape[:-1], lengths)
    return step


def _elementwise(node: Expr) -> int:
    op = node.op
    if isinstance(op, ops.Sum):
        scaled = sum(c not in (1, -1) for c in op.coefs)
        return len(op.coefs) - 1 + (op.const != 0) + scaled
    if isinstance(op, ops.Product):
        powers = sum(p not in (1, -1) for p in op.exponents)
        return len(op.exponents) - 1 + powers + all(p < 0 for p in op.exponents)
    if isinstance(op, ops.Pointwise):
        return 1 if op.primitive else _formula_operations(op.formula)
    return int(isinstance(op, ops.Strong))


@lru_cache(maxsize=1024)
def _formula_operations(formula: sp.Expr) -> int:
    return int(sp.count_ops(formula))


def _contraction(node: Expr, op: ops.Contract, lengths: Mapping[str, int]) -> int:
    words = zip(op.letters, node.args, strict=True)
    length = dict(chain.from_iterable(zip(word, x.shape, strict=True) for word, x in words))
    if all(letter in op.out or dim == 1 for letter, dim in length.items()):
        return 0
    return _elements(tuple(length.values()), lengths) * max(1, len(node.args) - 1)


def _opaque(node: Expr, op: ops.Opaque, lengths: Mapping[str, int]) -> int:
    if isinstance(op, ops.Unknown):
        raise op.refused("count_operations")
    signature = op.signature
    if signature is None:
        raise Unsupported(f"count_operations: {op.name} is a black box")
    dims: dict[str, Dim] = {}
    for k, x in enumerate(node.args):
        core = signature.core(k)
        dims.update(zip(core, x.shape[x.ndim - len(core) :], strict=True))
    each = op.cost(lambda letter: _elements((dims[letter],), lengths), len(node.args))
    batch = node.shape[: node.ndim - len(signature.value)]
    return each * _elements(batch, lengths) if each else 0
