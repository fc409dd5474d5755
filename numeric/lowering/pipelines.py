"""The passes between a schedule and its printer: for each target an ordered list.

A pass maps a schedule to one that computes the same (``passes``).  Most keep every bit; those that
add or multiply in another order are left out for ``exact_order=True``.

    EACH        what every target begins with: equal beginnings are computed once
    ARRAYS      NumPy's arrays
    ROWS        the same, in blocks of rows; machine code has kernels of its own in their place
    KEPT        arrays, with large values in memory that the program keeps
    KEPT_ROWS   both
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from numeric.lowering import costs, kinds
from numeric.lowering.memory import may_be_large
from numeric.lowering.passes.affine import join_affine_sums
from numeric.lowering.passes.contractions import merge_contractions, sum_operands_first
from numeric.lowering.passes.exponentials import share_exponentials
from numeric.lowering.passes.extremes import read_extremes_by_place
from numeric.lowering.passes.layouts import move_short_axes_out
from numeric.lowering.passes.operations import split_operations
from numeric.lowering.passes.padding import join_padded_terms
from numeric.lowering.passes.powers import multiply_powers
from numeric.lowering.passes.products import sum_known_products
from numeric.lowering.passes.repeats import share_leading_factors, share_negated_sums
from numeric.lowering.passes.rows import avoids_blas, form_row_kernels
from numeric.lowering.passes.scales import scale_sums_once
from numeric.lowering.passes.squares import dot_squares
from numeric.lowering.passes.sums import share_leading_terms, split_long_sums
from numeric.lowering.steps import once
from symdiff.graph import ops

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numeric.lowering.passes.rows import Able
    from numeric.lowering.steps import Schedule, Step


class Given(NamedTuple):
    """What passes ask about a target, its options and its arguments.

    Attributes:
        scalars: whether arguments of shape () may be Python numbers.
        exact_order: whether the order of additions and multiplications stays.
        thin: the side of a matrix up to which kernels multiply, not BLAS.
        able: which steps a kernel over rows may have.
        crossing: what it costs to pass an element in or out of a kernel, in sums of two numbers.
        worth: how many of these a kernel computes at least for each element that it passes.
    """

    scalars: bool = False
    exact_order: bool = False
    thin: int = 0
    able: Able = avoids_blas
    crossing: float = costs.CROSSING
    worth: float = 0


class Pass(NamedTuple):
    """A step of a pipeline: its name, what it makes of a schedule, and whether order may change."""

    name: str
    change: Callable[[Schedule, Given], Schedule]
    reorders: bool = False


Pipeline: TypeAlias = tuple[Pass, ...]


def applied(pipeline: Pipeline, schedule: Schedule, given: Given) -> Schedule:
    """Return what the passes of a pipeline make of a schedule, one after the other.

    >>> import symdiff as sd
    >>> from numeric.lowering.schedule import schedule
    >>> x, y = sd.symbols("x y")
    >>> print(applied(EACH, schedule([x / y, x / y**2], [x, y]), Given()))
    %0: () float = input x
    %1: () float = input y
    %2: () float = product (1, -1) %0, %1
    %3: () float = product (1, -1) %2, %1
    return %2, %3
    """
    for step in _chosen(pipeline, given):
        schedule = step.change(schedule, given)
    return schedule


def changes(
    pipeline: Pipeline, schedule: Schedule, given: Given
) -> Iterator[tuple[str, list[Step], list[Step]]]:
    """Yield each pass that changes a schedule, with the steps that go and those that come.

    >>> import symdiff as sd
    >>> from numeric.lowering.schedule import schedule
    >>> x = sd.symbol("x", 3)
    >>> made = schedule([sd.sum(x**2 + sd.exp(x) ** 2)], [x])
    >>> for name, gone, come in changes(ARRAYS, made, Given()):
    ...     print(name, [step.kind.name for step in gone], [step.kind.name for step in come])
    dot_squares ['power', 'power', 'sum', 'kernel'] ['kernel', 'kernel', 'sum']
    """
    for step in _chosen(pipeline, given):
        before, schedule = schedule, step.change(schedule, given)
        old, new = frozenset(before.steps), frozenset(schedule.steps)
        gone = [x for x in before.steps if x not in new]
        come = [x for x in schedule.steps if x not in old]
        if gone or come:
            yield step.name, gone, come


def _chosen(pipeline: Pipeline, given: Given) -> Pipeline:
    if not given.exact_order:
        return pipeline
    return tuple([step for step in pipeline if not step.reorders])


@once
def possible_numbers(schedule: Schedule, scalars: bool) -> Sequence[bool]:
    """Which values may be Python numbers: what is computed by element of such alone.

    Among arguments, ``scalars`` may be.  What a function of the user's returns for a scalar, or
    where it ignores its operands, is its own affair.
    """
    found = [False] * schedule.length
    for step in schedule.steps:
        kind, v = step.kind, step.results[0]
        if isinstance(kind, kinds.Input):
            found[v] = scalars and not step.shapes[0]
        elif isinstance(kind, kinds.Pointwise) and not (op := step.as_op(ops.Pointwise)).primitive:
            found[v] = not step.shapes[0] or not op.formula.free_symbols
        spread = isinstance(kind, kinds.ByKernel) and ops.is_spread(step.op)
        if spread or not isinstance(kind, _WHOLE):
            found[v] = found[v] or all(map(found.__getitem__, step.operands))
    return found


_WHOLE = (
    *(kinds.Input, kinds.Array, kinds.PartOfSlice, kinds.ByKernel, kinds.Element, kinds.Elements),
    *(kinds.Stack, kinds.Gram, kinds.Rows, kinds.Pads),
)


def _of_steps(change: Callable[[Schedule], Schedule], reorders: bool = False) -> Pass:
    """Return a pass that needs nothing but the schedule."""
    return Pass(change.__name__, lambda schedule, _: change(schedule), reorders)


def _of_arrays(
    change: Callable[[Schedule, Sequence[bool]], Schedule], reorders: bool = True
) -> Pass:
    """Return a pass that asks which values may be numbers, which have no axes."""
    return Pass(
        change.__name__,
        lambda schedule, given: change(schedule, possible_numbers(schedule, given.scalars)),
        reorders,
    )


def _join_affine_sums(schedule: Schedule, given: Given) -> Schedule:
    return join_affine_sums(schedule, possible_numbers(schedule, given.scalars), given.thin)


def _form_row_kernels(schedule: Schedule, given: Given) -> Schedule:
    numbers = possible_numbers(schedule, given.scalars)
    return form_row_kernels(
        schedule, numbers, given.exact_order, given.able, given.crossing, given.worth
    )


def _split_operations(schedule: Schedule, _: Given) -> Schedule:
    return split_operations(schedule, may_be_large)


EACH: Pipeline = (
    _of_steps(share_leading_factors),
    _of_steps(share_negated_sums),
    _of_steps(share_leading_terms),
    _of_steps(split_long_sums),
)

ARRAYS: Pipeline = (
    _of_arrays(sum_known_products),
    _of_arrays(merge_contractions),
    *EACH,
    _of_arrays(share_exponentials),
    _of_arrays(multiply_powers),
    _of_arrays(dot_squares),
    Pass("join_affine_sums", _join_affine_sums, reorders=True),
    _of_arrays(read_extremes_by_place),
    _of_arrays(scale_sums_once),
    _of_arrays(move_short_axes_out),
    _of_arrays(join_padded_terms, reorders=False),
)

_SPLIT = Pass("split_operations", _split_operations)

ROWS: Pipeline = (
    *ARRAYS,
    _of_steps(sum_operands_first, reorders=True),
    Pass("form_row_kernels", _form_row_kernels),
)
KEPT: Pipeline = (*ARRAYS, _SPLIT)
KEPT_ROWS: Pipeline = (*ROWS, _SPLIT)
