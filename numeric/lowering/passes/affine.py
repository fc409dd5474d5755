"""Matrix products to which rows and columns are added, as one matrix product.

The squared distances of points to centres, ``|p|**2 - 2*p @ c.T + |c|**2``, are a product of thin
matrices and three passes over a large one.  ``[p, |p|**2, 1] @ [-2*c.T; 1; |c|**2]`` is all of it.
An element is a sum of the same terms in another order.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from numeric.lowering import costs, kinds
from numeric.lowering.contraction import plan
from symdiff import opaque_ops
from symdiff.graph import ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numeric.lowering.steps import Schedule, Step
    from symdiff.graph.node import Dim
    from symdiff.graph.number import Number

_LARGE = 2**14  # elements that are worth joining operands for


def join_affine_sums(schedule: Schedule, numbers: Sequence[bool], thin: int = 0) -> Schedule:
    """Sums of a matrix product, rows and columns, as one step ``affine`` where that costs less.

    Args:
        schedule: the steps.
        numbers: which values may be Python numbers, which have no axes.
        thin: the side up to which what multiplies also finds extremes, of products by it alone.

    >>> import symdiff as sd
    >>> from numeric.lowering.schedule import schedule
    >>> p, c = sd.symbol("p", (1000, 2)), sd.symbol("c", (50, 2))
    >>> f = sd.sum(p**2, axis=1)[:, None] - 2*(p @ c.T) + sd.sum(c**2, axis=1)
    >>> made = schedule([f], [p, c])
    >>> [step.kind.name for step in join_affine_sums(made, [False] * made.length).steps[-2:]]
    ['kernel', 'affine']
    """
    if ops.Contract not in schedule.op_classes():
        return schedule
    steps = schedule.definitions()
    reads = schedule.reads()
    made: dict[int, Step] = {}
    for step in schedule.steps:
        extreme = _extreme(step, made, reads)
        found = extreme or _affine(step, steps, reads, numbers)
        if extreme is not None and _inner(extreme, steps) <= thin:
            del made[step.operands[0]]
        elif found is not None:
            made[step.results[0]] = found
    if not made:
        return schedule
    return schedule.having([made.get(step.results[0], step) for step in schedule.steps])


def _extreme(step: Step, made: dict[int, Step], reads: Sequence[int]) -> Step | None:
    """The extremes of the rows of an affine step that nothing else reads."""
    if step.kernel(opaque_ops.Max, opaque_ops.Min) is None:
        return None
    rows = made.get(step.operands[0])
    if rows is None or reads[step.operands[0]] > 1:
        return None
    kind = replace(rows.as_kind(kinds.Affine), extreme=step.op.name)
    return step._replace(kind=kind, operands=rows.operands)


def _affine(
    step: Step, steps: Sequence[Step], reads: Sequence[int], numbers: Sequence[bool]
) -> Step | None:
    """A sum as an affine step; None for one that is not, or that is better computed as it is."""
    op, shape = step.sum, step.shapes[0]
    if op is None or step.weak or step.dtypes != (float,) or len(shape) != 2:
        return None
    if op.const != 0 or any(isinstance(coef, float) for coef in op.coefs):
        return None
    product: tuple[Number, Step] | None = None
    thin: list[tuple[int, Number] | None] = [None, None]
    for coef, v in zip(op.coefs, step.operands, strict=True):
        term = steps[v]
        found, dtype = term.layout(v)
        if term.weak or numbers[v] or dtype is not float:
            return None
        axis = _thin(found, shape)
        if axis is not None and thin[axis] is None:
            thin[axis] = v, coef
        elif product is None and found == shape and reads[v] == 1:
            product = coef, term
        else:
            return None
    if product is None:
        return None
    scale, term = product
    factors = _factors(term, steps, reads)
    if factors is None or isinstance(scale, float) or -1 < scale < 1:
        return None  # what is scaled down may leave the floats
    (a, b), turned = factors
    inner = _inner_dim(a, turned[0], steps)
    if not _pays(shape, inner, (scale not in (1, -1)) + sum(x is not None for x in thin)):
        return None
    terms = [x for x in thin if x is not None]
    kind = kinds.Affine(scale, turned, (thin[0] and thin[0][1], thin[1] and thin[1][1]))
    return step._replace(kind=kind, operands=(a, b, *[v for v, _ in terms]))


def _thin(shape: Sequence[Dim], whole: Sequence[Dim]) -> int | None:
    """0 for one number for each row, 1 for one for each column; None for others."""
    if tuple(shape) == (whole[0], 1):
        return 0
    return 1 if tuple(shape) in ((whole[1],), (1, whole[1])) else None


def _factors(
    step: Step, steps: Sequence[Step], reads: Sequence[int]
) -> tuple[tuple[int, int], tuple[bool, bool]] | None:
    """The matrices of which a step is the product, or its transpose, and which are transposed."""
    op, back = step.kernel(ops.Contract), False
    if op is None or any(op.kills):
        return None
    if op.letters == ((0, 1),) and op.out == (1, 0) and reads[step.operands[0]] == 1:
        step, back = steps[step.operands[0]], True
        op = step.kernel(ops.Contract)
        if op is None or any(op.kills):
            return None
    layouts = [steps[v].layout(v) for v in step.operands]
    if [(len(shape), dtype) for shape, dtype in layouts] != [(2, float)] * 2:
        return None
    if [x.kind for x in plan(op, [shape for shape, _ in layouts]).stages] != ["matmul"]:
        return None
    (a, b), (left, right), out = step.operands, op.letters, op.out[:: -1 if back else 1]
    if out[0] not in left:
        a, b, left, right = b, a, right, left
    return (a, b), (left[0] != out[0], right[1] != out[1])


def _inner_dim(a: int, turned: bool, steps: Sequence[Step]) -> Dim:
    """The length of the axis of a matrix along which it is multiplied."""
    return steps[a].layout(a)[0][0 if turned else 1]


def _inner(step: Step, steps: Sequence[Step]) -> float:
    """How many products are added for an element of an affine step."""
    dim = _inner_dim(step.operands[0], step.as_kind(kinds.Affine).turned[0], steps)
    return dim if isinstance(dim, int) else math.inf


def _pays(shape: Sequence[Dim], inner: Dim, passes: int) -> bool:
    """Whether joining operands costs less than the passes over the product that it saves."""
    n, k, d = map(costs.length, (*shape, inner))
    return passes > 1 and math.prod((n, k)) >= _LARGE and (n + k) * (d + 2) < n * k * (passes - 1)
