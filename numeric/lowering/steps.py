"""Programs as data: a list of steps over numbered values.

Schedules are made of expressions (``schedule``), changed by passes (``passes``), and written by
printers (``printers``).  All three know steps, and only the first knows expressions: a pass may
make values that are those of no expression.

>>> import symdiff as sd
>>> from numeric.lowering.schedule import schedule
>>> rows, weights = sd.symbol("rows", ("n", 3)), sd.symbol("weights", 3)
>>> print(schedule([sd.sum(sd.sin(rows @ weights) / 2)], [rows, weights]))
%0: (n, 3) float = input rows
%1: (3,) float = input weights
%2: (n,) float = kernel contract %0, %1
%3: (n,) float = pointwise sin %2
%4: () float = kernel contract %3
%5: () float = sum %4
return %5
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, ParamSpec, TypeVar

from numeric.lowering import kinds
from symdiff.graph.axes import shape_text
from symdiff.locks import cached_property

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numeric.lowering.kinds import Kind
    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Dtype, Op, Shape
    from symdiff.graph.ops import Sum

_Kind = TypeVar("_Kind", bound="Kind")
_Op = TypeVar("_Op", bound="Op")


class Step(NamedTuple):
    """One computation: ``ops`` of the values ``operands``, which gives the values ``results``.

    There are several results where parts of one computation are wanted (see ``parts``); ``ops``,
    ``shapes``, ``dtypes`` and ``dies`` are parallel to them.

    ``kind`` says how the step is computed, and what that has to know besides (see ``kinds``).

    A ``weak`` value is a Python number that stands for an array of its shape: numbers, lengths of
    axes, and what is computed of them alone.
    """

    kind: Kind
    operands: tuple[int, ...]
    results: tuple[int, ...]
    ops: tuple[Op, ...]
    shapes: tuple[Shape, ...]
    dtypes: tuple[Dtype, ...]
    weak: bool = False
    # What passes say:
    inline: bool = False  # written inside of the line of its only reader (``grouping``)
    dies: tuple[int | None, ...] = ()  # the place of the step after which nobody needs a result

    @property
    def op(self) -> Op:
        """The op of the first result."""
        return self.ops[0]

    def layout(self, v: int) -> tuple[Shape, Dtype]:
        """The shape and the dtype of one of the results."""
        k = self.results.index(v)
        return self.shapes[k], self.dtypes[k]

    @property
    def sum(self) -> Sum | None:
        """The op of a sum; None for other kinds."""
        return self.ops[0] if isinstance(self.kind, kinds.Sum) else None  # type: ignore[return-value]

    def kernel(self, *classes: type[_Op]) -> _Op | None:
        """The op, if its kernel computes the step and it is of one of these classes; else None."""
        op = self.ops[0]
        return op if isinstance(self.kind, kinds.ByKernel) and isinstance(op, classes) else None

    def as_kind(self, kind: type[_Kind]) -> _Kind:
        """The kind of a step that is known to be of this class."""
        assert isinstance(self.kind, kind)
        return self.kind

    def as_op(self, op: type[_Op]) -> _Op:
        """The op of a step that is known to be of this class."""
        assert isinstance(self.ops[0], op)
        return self.ops[0]

    @property
    def leaf(self) -> bool:
        """Whether nothing is computed."""
        return self.kind.leaf

    @property
    def free(self) -> bool:
        """Whether the value costs nothing to have: data, numbers and axis lengths."""
        return self.weak or self.kind.constant

    def __str__(self) -> str:
        values = ", ".join(
            f"%{v}: {shape_text(shape)} {dtype.__name__}"
            for v, shape, dtype in zip(self.results, self.shapes, self.dtypes, strict=True)
        )
        of_op = isinstance(self.kind, kinds.Input | kinds.Pointwise | kinds.ByKernel)
        named = f" {self.op.name}" if of_op else ""
        read = "".join(f"{',' if i else ''} %{v}" for i, v in enumerate(self.operands))
        text = f"{values} = {self.kind}{named}{read}"
        notes = ["inline"] * self.inline
        notes += [f"%{v} dies at {at}" for v, at in zip(self.results, self.dies, strict=False)]
        return f"{text}  # {', '.join(notes)}" if notes else text


class _Parts(NamedTuple):
    params: tuple[int, ...]
    steps: tuple[Step, ...]
    results: tuple[int, ...]
    origins: tuple[Expr, ...]
    length: int  # how many values there are


_P = ParamSpec("_P")
_T = TypeVar("_T")


def once(
    find: Callable[Concatenate[Schedule, _P], _T],
) -> Callable[Concatenate[Schedule, _P], _T]:
    """A question about a schedule, which is answered once: schedules do not change."""

    @wraps(find)
    def found(schedule: Schedule, /, *args: _P.args, **named: _P.kwargs) -> _T:
        answers = schedule.answers
        key = (find, args)
        if key not in answers:
            answers[key] = find(schedule, *args, **named)
        answer: _T = answers[key]
        return answer

    return found


class Schedule(_Parts):
    """The steps of a program, operands before users: from ``params`` to ``results``.

    ``origins`` are the expressions whose values 0, 1, 2, ... are; what passes add has none.
    """

    @cached_property
    def answers(self) -> dict[object, Any]:
        """What has been asked ``once``."""
        return {}

    @once
    def definitions(self) -> Sequence[Step]:
        """The step of each value, by the value's number."""
        found: list[Any] = [None] * self.length
        for step in self.steps:
            for v in step.results:
                found[v] = step
        return tuple(found)

    @once
    def reads(self) -> Sequence[int]:
        """How often each value is read, by its number; once more for each time it is a result."""
        found = [0] * self.length
        for v in (*self.results, *(x for step in self.steps for x in step.operands)):
            found[v] += 1
        return tuple(found)

    @once
    def op_classes(self) -> frozenset[type[Op]]:
        """The classes of all ops: what a pass looks for is mostly not there."""
        return frozenset({op.__class__ for step in self.steps for op in step.ops})

    def having(self, steps: Sequence[Step], more: int = 0) -> Schedule:
        """The schedule with these steps, but for those that nobody needs, and ``more`` values.

        >>> import symdiff as sd
        >>> from numeric.lowering.schedule import schedule
        >>> x = sd.symbol("x")
        >>> made = schedule([sd.sin(x), sd.cos(x)], [x])
        >>> print(made._replace(results=made.results[:1]).having(made.steps))
        %0: () float = input x
        %1: () float = pointwise sin %0
        return %1
        """
        read = {*self.results, *self.params}
        kept = []
        for step in reversed(steps):
            if not read.isdisjoint(step.results):
                kept.append(step)
                read.update(step.operands)
        return self._replace(steps=tuple(reversed(kept)), length=self.length + more)

    def computed(self) -> list[int]:
        """The values that steps compute, in order."""
        return [v for step in self.steps if not step.leaf for v in step.results]

    def __str__(self) -> str:
        lines = [str(step) for step in self.steps]
        return "\n".join([*lines, f"return {', '.join(f'%{v}' for v in self.results)}"])


class Writing:
    """The steps of a schedule as a pass writes them anew, and values of steps of its own."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.steps: list[Step] = []
        self.length = schedule.length

    def place(self, step: Step) -> None:
        """Write a step behind the others."""
        self.steps.append(step)

    def new(
        self,
        kind: Kind,
        op: Op | None,
        operands: Sequence[int],
        shape: Shape = (),
        dtype: Dtype = float,
        weak: bool = False,
    ) -> int:
        """The value of a step of its own."""
        v = self.length
        self.length += 1
        made: Any = (op,)
        self.place(Step(kind, tuple(operands), (v,), made, (shape,), (dtype,), weak))
        return v
