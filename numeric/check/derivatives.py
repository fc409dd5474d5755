"""A formula with all first and second derivatives, and the scale of its terms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

import symdiff as sd
from numeric.lowering.node_kernels import kernel
from symdiff.graph import ops
from symdiff.graph.multiples import WHERE
from symdiff.graph.node import topological

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from symdiff.graph.expr import Expr

Order: TypeAlias = tuple[int, ...]
"""The variables of a derivative: () is the value itself, (2,) is d/dx2, (0, 2) is d2/dx0 dx2."""


@dataclass(frozen=True)
class Derivatives:
    """A formula's value, its gradient and the upper triangle of its Hessian, by ``Order``."""

    symbols: tuple[Expr, ...]
    by_order: Mapping[Order, Expr]

    @property
    def value(self) -> Expr:
        """The formula."""
        return self.by_order[()]


def differentiate(value: Expr, symbols: Sequence[Expr]) -> Derivatives:
    """Differentiate a scalar formula by each of its scalar symbols, to second order.

    >>> x, y = sd.symbols("x y")
    >>> [str(e) for e in differentiate(x * y, [x, y]).by_order.values()]
    ['x*y', 'y', 'x', '0', '1', '0']
    """
    by_order: dict[Order, Expr] = {(): value}
    gradient = sd.grad(value, symbols)
    by_order |= {(i,): first for i, first in enumerate(gradient)}
    for i, first in enumerate(gradient):
        row = sd.grad(first, symbols[i:])
        by_order |= {(i, i + j): second for j, second in enumerate(row)}
    return Derivatives(tuple(symbols), by_order)


def scale_of_terms(
    outputs: Sequence[Expr],
    env: Mapping[Expr, NDArray[np.float64]],
    sizes: Mapping[str, int] | None = None,
) -> list[NDArray[np.float64]]:
    """Return S of each output: its DAG evaluated with every addend replaced by its absolute value.

    With v the value of a node at the point, element by element,

    =======================  =================================================================
    ``c0 + sum ci ai``       ``S = |c0| + sum |ci| S(ai)``; so for ops that add or move elements
    ``prod ai^ei``           ``S = prod S(ai)^ei``, with |v(ai)| for S(ai) where ei < 0
    a contraction            the contraction of the S(ai)
    ``where(c, a, b)``       ``where(c, S(a), S(b))``
    sech2, expm1             the S of ``1 - tanh(x)^2`` and ``exp(x) - 1``
    another function, a leaf ``S = |v|``: the function of the true operands
    =======================  =================================================================

    Hence S >= |v|, and a sum whose terms cancel keeps the size of its terms.  Rounding errors are
    relative to that size.

    Args:
        outputs: expressions.
        env: the values of all their symbols.
        sizes: the lengths of symbolic axes.

    >>> x, y = sd.symbols("x y")
    >>> [float(s) for s in scale_of_terms([x * (x - y)], {x: np.array(3.0), y: np.array(2.0)})]
    [15.0]
    """
    sizes = sizes or {}
    value: dict[Expr, Any] = {}
    scale: dict[Expr, Any] = {}
    for node in topological(outputs):
        op, args = node.op, node.args
        # Kernels run on true values first; S needs them for divisors and for other functions.
        compute = None if node in env else kernel(node)
        values = [value[a] for a in args]
        value[node] = env[node] if compute is None else compute(values, sizes)
        if isinstance(op, ops.Sum):
            terms = zip(op.coefs, args, strict=True)
            scale[node] = abs(float(op.const)) + sum(abs(float(c)) * scale[a] for c, a in terms)
        elif isinstance(op, ops.Product):
            scale[node] = 1.0
            for a, e in zip(args, op.exponents, strict=True):
                scale[node] = scale[node] * (scale[a] if e > 0 else np.abs(value[a])) ** float(e)
        elif compute is not None and isinstance(op, _ADDING):
            scale[node] = compute([scale[a] for a in args], sizes)
        elif compute is not None and op is WHERE:
            scale[node] = compute([values[0], *[scale[a] for a in args[1:]]], sizes)
        else:
            textbook = _TEXTBOOK.get(getattr(op, "name", ""))
            scale[node] = textbook(*values) if textbook else np.abs(value[node])
    return [np.asarray(scale[output], dtype=float) for output in outputs]


# Functions that stand for a difference: rounding errors follow the terms of the textbook formula.
_TEXTBOOK = {
    "sech2": lambda x: 1 + np.tanh(x) ** 2,
    "expm1": lambda x: 1 + np.exp(x),
}

# Ops that multiply and add their operands without a sign of their own, or move them.  Fourier
# transforms have signs.
_ADDING = (
    ops.Contract,
    ops.Strong,
    ops.Barrier,
    ops.Reshape,
    ops.Slice,
    ops.Unslice,
    ops.Gather,
    ops.Scatter,
    ops.Concat,
    ops.Flip,
    ops.Cumsum,
    ops.Triangle,
    ops.Shift,
    ops.Windows,
    ops.Overlaps,
)
