"""Sums of products that are computed anyway: they read the product, and multiply nothing.

The gradient of ``tanh(X @ A + a)`` multiplies ``g*h`` for that by A, and its sum along the rows,
that by a, is a contraction of g and h.  Where the product is there, it is summed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from numeric.lowering import kinds
from symdiff.graph import ops
from symdiff.graph.axes import canonical

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numeric.lowering.steps import Schedule, Step


class View(NamedTuple):
    """A value as what it is a view of, and the axis of that which each of its axes is."""

    base: int
    axes: tuple[int, ...]


def sum_known_products(schedule: Schedule, numbers: Sequence[bool]) -> Schedule:
    """The schedule with sums of two factors as sums of their product, where that stands before.

    ``numbers`` says which values may be Python numbers, which have no axes.

    >>> import symdiff as sd
    >>> from numeric.lowering.schedule import schedule
    >>> x, y = sd.symbol("x", (3, 4)), sd.symbol("y", (3, 4))
    >>> xy = x * y
    >>> print(sum_known_products(schedule([xy, sd.einsum("ij,ij->j", x, y)], [x, y]), [False] * 9))
    %0: (3, 4) float = input x
    %1: (3, 4) float = input y
    %2: (3, 4) float = product (1, 1) %0, %1
    %3: (4,) float = kernel contract %2
    return %2, %3
    """
    if ops.Contract not in schedule.op_classes():
        return schedule
    steps = schedule.definitions()
    views: dict[int, View] = {}
    products: dict[tuple[View, ...], tuple[int, View]] = {}
    changed: dict[int, Step] = {}
    for step in schedule.steps:
        v, op = step.results[0], step.op
        if isinstance(step.kind, kinds.ByKernel) and not step.weak and ops.is_permutation(op):
            base, axes = _view(step.operands[0], steps, views)
            views[v] = View(base, tuple([axes[op.letters[0].index(k)] for k in op.out]))
        elif _multiplies(step, steps, numbers):
            first, second = [_view(x, steps, views) for x in step.operands]
            for a, b in ((first, second), (second, first)):
                products.setdefault(_pair(a, b), (v, a))
        elif _adds_products(step):
            assert isinstance(op, ops.Contract)
            a, b = [_view(x, steps, views) for x in step.operands]
            order = [op.letters[1].index(k) for k in op.letters[0]]
            product = products.get(_pair(a, View(b.base, tuple([b.axes[k] for k in order]))))
            if product is not None:
                named = dict(zip(a.axes, op.letters[0], strict=True))
                (word,), out = canonical((tuple([named[k] for k in product[1].axes]),), op.out)
                made = ops.contract_op((word,), out, (), (False,))
                changed[v] = step._replace(operands=product[:1], ops=(made,))
    if not changed:
        return schedule
    return schedule.having([changed.get(step.results[0], step) for step in schedule.steps])


def _view(v: int, steps: Sequence[Step], views: dict[int, View]) -> View:
    return views.get(v) or View(v, tuple(range(len(steps[v].layout(v)[0]))))


def _pair(a: View, b: View) -> tuple[View, ...]:
    """Two factors whose axes meet, in whichever order they do: that of what the first one views."""
    order = sorted(range(len(a.axes)), key=a.axes.__getitem__)
    return tuple([View(x.base, tuple([x.axes[k] for k in order])) for x in (a, b)])


def _multiplies(step: Step, steps: Sequence[Step], numbers: Sequence[bool]) -> bool:
    """Whether a step is the product of two arrays of floats of its shape."""
    if not isinstance(step.kind, kinds.Product) or step.dtypes != (float,):
        return False
    if step.kind.signs != (1, 1):
        return False
    same = [steps[v].layout(v) == (step.shapes[0], float) for v in step.operands]
    return all(same) and not any(numbers[v] for v in step.operands)


def _adds_products(step: Step) -> bool:
    """Whether a step adds products of elements of two arrays along some of the axes."""
    op = step.kernel(ops.Contract)
    if op is None or not op.sums or not op.out:
        return False
    if len(op.letters) != 2 or any(op.kills) or step.dtypes != (float,):
        return False
    a, b = op.letters
    return len(set(a)) == len(a) and sorted(a) == sorted(b) and len(set(op.out)) == len(op.out)
