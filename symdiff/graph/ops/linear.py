"""Linear maps on trailing axes, each knowing its transpose; leading axes are batch."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import sympy as sp

from symdiff.errors import ShapeError, Unsupported
from symdiff.graph.axes import shape_text
from symdiff.graph.lengths import Length, may_be_equal, product
from symdiff.graph.node import Dim, Dtype, Op, Shape, intern_op
from symdiff.graph.ops.leaf import exact_op
from symdiff.graph.ranges import WHOLE, Line, Step, between, needs, places_of, step_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from symdiff.graph.arithmetic import Arithmetic

__all__ = [
    "LISTED",
    "Cast",
    "Concat",
    "Cumsum",
    "Flip",
    "Fourier",
    "Gather",
    "Linear",
    "Overlaps",
    "Reshape",
    "Scatter",
    "Shift",
    "Slice",
    "Triangle",
    "Unslice",
    "Windows",
    "axis_text",
    "cast_op",
    "concat_op",
    "cumsum_op",
    "flip_op",
    "fourier_op",
    "gather_op",
    "halvings",
    "reshape_op",
    "shift_op",
    "slice_op",
    "steps_text",
    "triangle_op",
    "unslice_op",
    "windows_op",
]


def halvings(n: int) -> int:
    """How often n elements can be halved: the logarithm to base 2, rounded up."""
    return max(n - 1, 0).bit_length()


LISTED = 6  # Larger arrays are not written out.


def steps_text(steps: Iterable[Step]) -> list[str]:
    """Slices as users type them: ``1:``, ``::2``."""
    written = []
    for start, stop, step in steps:
        text = f"{start or ''}:{'' if stop is None else stop}"
        written.append(text if step == 1 else f"{text}:{step}")
    return written


def axis_text(ndim: int, *axes: int) -> list[str]:
    """The ``axis`` argument of a call in a text, counted from the first; vectors need none.

    >>> axis_text(2, -1), axis_text(3, -2, -1), axis_text(1, -1)
    (['axis=1'], ['axis=(1, 2)'], [])
    """
    if ndim == 1:
        return []
    places = [axis % ndim for axis in axes]
    return [f"axis={places[0] if len(places) == 1 else tuple(places)}"]


class Linear(Op):
    """A linear map on the trailing axes of its operand(s); leading axes are batch.

    ``selects`` says that every element of the value is an operand's element, or 0.  ``kind`` is the
    dtype of the value, or None for the promoted dtype of the operands.
    """

    __slots__ = ()
    selects: ClassVar[bool] = False
    kind: ClassVar[Dtype | None] = None

    @property
    def core(self) -> int:
        """How many trailing axes of the operands the op works on."""
        return 1

    def writes_zeros(self) -> bool:
        """Whether elements of the value are 0 for all operands."""
        return False

    def result(self, *shapes: Shape) -> Shape:
        """The shape of the value for these operand shapes."""
        raise NotImplementedError

    def transposed(self, k: int, shape: Shape) -> Linear:
        """The transpose with respect to operand ``k``, for a result of ``shape``."""
        raise NotImplementedError

    def cost(self, elements: Callable[[Shape], int], shape: Shape) -> int:
        """The operations on a first operand of ``shape``: 0 for ops that only move elements."""
        return 0

    def components(self, of: Arithmetic, shape: tuple[int, ...], *xs: NDArray[Any]) -> Any:
        """The value by its definition: an array of elements of the operands or sums of them.

        Raises Unsupported where the op states no definition in closed form.
        """
        raise Unsupported(f"{self.name} has no component-wise value")

    def terms(self, shape: tuple[int, ...]) -> int:
        """The number of products in all components, for an operand of ``shape``."""
        return 0


def _zeros(of: Arithmetic, shape: tuple[int, ...]) -> NDArray[Any]:
    zero = np.empty((), object)  # NumPy would iterate over an element that is an expression
    zero[()] = of.number(0)
    return np.full(shape, zero, object)


def _linear(cls: type[Linear], *params: object) -> Linear:
    return intern_op((cls, *params), lambda: cls(*params))


class Reshape(Linear):
    """Trailing axes ``before`` read as ``after``, in C order.  Transpose: the reshape back."""

    __slots__ = ("after", "before")
    fields = ("before", "after")
    name = "reshape"
    selects = True

    def __init__(self, before: Shape, after: Shape) -> None:
        self.before, self.after = before, after

    @property
    def core(self) -> int:
        return len(self.before)

    def called(self, shape: Shape) -> tuple[str, list[str]]:
        return self.name, [shape_text(shape)]

    def result(self, *shapes: Shape) -> Shape:
        return shapes[0][: len(shapes[0]) - len(self.before)] + self.after

    def transposed(self, k: int, shape: Shape) -> Linear:
        return reshape_op(self.after, self.before)

    def bound(self, lengths: Callable[[Shape], Shape]) -> Linear:
        before, after = lengths(self.before), lengths(self.after)
        # an empty array may hide a division by 0: an earlier axis has length 0
        if (before, after) == (self.before, self.after):
            return self
        if not may_be_equal(product(before), product(after)):
            raise ShapeError(
                f"reshape: {shape_text(self.before)} and {shape_text(self.after)} are "
                f"{shape_text(before)} and {shape_text(after)}, which have different numbers of "
                "elements"
            )
        return reshape_op(before, after)

    def needs(self, *operands: Any) -> list[tuple[Dim, str]]:
        more = product(self.before) - product(self.after)
        if more == 0:  # lengths that are equal in some calls only still need a reshape
            return []
        why = f"reshape of {shape_text(self.before)} to {shape_text(self.after)}"
        return [(more, why), (-more, why)]

    def components(self, of: Arithmetic, shape: tuple[int, ...], *xs: NDArray[Any]) -> Any:
        return xs[0].reshape(shape)


def reshape_op(before: Shape, after: Shape) -> Linear:
    """The op that reshapes trailing axes ``before`` to ``after``."""
    return _linear(Reshape, before, after)


def _slices(steps: tuple[Step, ...]) -> tuple[Any, ...]:
    return (..., *(slice(*step) for step in steps))


def _bound_step(step: Step, dim: Dim, length: Dim, lengths: Callable[[Shape], Shape]) -> Step:
    """The normal form of a slice of an axis of length ``dim``, whose length is now ``length``."""
    places = places_of(step, dim) if isinstance(dim, Length) else None
    if isinstance(places, int) and isinstance(length, int):
        if not -length <= places < length:
            raise _too_short(step, dim, length)
        return between(places % length, places % length + 1, length)
    if not isinstance(places, Line) or not places.length:
        return step
    first, stop = lengths((places.first, places.stop))
    line = Line(first, stop, places.step)  # type: ignore[arg-type]  # lengths, as before
    if isinstance(length, Length):
        return step_of(line, length)
    if any(need < 0 for need in lengths(tuple(places.needs(dim)))):  # type: ignore
        raise _too_short(step, dim, length)
    return step_of(range(*line), length)


def _too_short(step: Step, dim: Dim, length: Dim) -> ShapeError:
    taken = steps_text([step])[0]
    return ShapeError(f"slice: [{taken}] of an axis of length {dim}, which is {length}")


class _Sliced(Linear):
    """Ops with the slices ``steps`` of trailing axes ``before``, which leave ``after``."""

    __slots__ = ("after", "before", "steps")
    fields = ("before", "steps")
    selects = True

    def __init__(self, before: Shape, steps: tuple[Step, ...], after: Shape) -> None:
        self.before, self.steps, self.after = before, steps, after

    @property
    def core(self) -> int:
        return len(self.before)

    def bound(self, lengths: Callable[[Shape], Shape]) -> Linear:
        before = lengths(self.before)
        steps = [
            _bound_step(step, dim, known, lengths)
            for step, dim, known in zip(self.steps, self.before, before, strict=True)
        ]
        return _linear(type(self), before, tuple(steps), lengths(self.after))

    def needs(self, *operands: Any) -> list[tuple[Dim, str]]:
        return [
            (need, f"[{steps_text([step])[0]}] of an axis of length {dim}")
            for dim, step in zip(self.before, self.steps, strict=True)
            if isinstance(dim, Length)
            for need in needs(places_of(step, dim), dim)
        ]


class Slice(_Sliced):
    """``x[..., start:stop:step, ...]`` over the trailing axes ``before``.  Transpose: Unslice."""

    __slots__ = ()
    name = "slice"

    def result(self, *shapes: Shape) -> Shape:
        return shapes[0][: len(shapes[0]) - len(self.before)] + self.after

    def transposed(self, k: int, shape: Shape) -> Linear:
        return _linear(Unslice, self.before, self.steps, self.after)

    def components(self, of: Arithmetic, shape: tuple[int, ...], *xs: NDArray[Any]) -> Any:
        return xs[0][_slices(self.steps)]


class Unslice(_Sliced):
    """Zeros of shape ``before``, the operand at ``[start:stop:step, ...]``.  Transpose: Slice."""

    __slots__ = ()
    name = "unslice"

    def writes_zeros(self) -> bool:
        return self.after != self.before

    def result(self, *shapes: Shape) -> Shape:
        return shapes[0][: len(shapes[0]) - len(self.before)] + self.before

    def transposed(self, k: int, shape: Shape) -> Linear:
        return _linear(Slice, self.before, self.steps, self.after)

    def components(self, of: Arithmetic, shape: tuple[int, ...], *xs: NDArray[Any]) -> Any:
        value = _zeros(of, shape)
        value[_slices(self.steps)] = xs[0]
        return value


def slice_op(before: Shape, steps: tuple[Step, ...], after: Shape) -> Linear:
    """The op that slices trailing axes ``before``; ``after`` is the resulting trailing shape."""
    return _linear(Slice, before, steps, after)


def unslice_op(before: Shape, steps: tuple[Step, ...], after: Shape) -> Linear:
    """The op that writes its operand into zeros of trailing shape ``before``, at ``steps``."""
    return _linear(Unslice, before, steps, after)


class Gather(Linear):
    """``x.reshape(batch + (-1,))[..., index]``, over trailing axes ``before``."""

    __slots__ = ("before", "index")
    fields = ("before",)
    name = "gather"
    selects = True

    def __init__(self, before: tuple[int, ...], index: NDArray[np.intp]) -> None:
        self.before, self.index = before, index
        self.table = {}

    @property
    def core(self) -> int:
        return len(self.before)

    def result(self, *shapes: Shape) -> Shape:
        return shapes[0][: len(shapes[0]) - len(self.before)] + self.index.shape

    def transposed(self, k: int, shape: Shape) -> Linear:
        return _indexed(Scatter, self.before, self.index)

    def components(self, of: Arithmetic, shape: tuple[int, ...], *xs: NDArray[Any]) -> Any:
        (x,) = xs
        lead = x.shape[: x.ndim - len(self.before)]
        return x.reshape((*lead, math.prod(self.before)))[..., self.index]


class Scatter(Linear):
    """Zeros of shape ``before`` with the operand added at flat ``index``.  Transpose: Gather."""

    __slots__ = ("before", "index")
    fields = ("before",)
    name = "scatter"

    def __init__(self, before: tuple[int, ...], index: NDArray[np.intp]) -> None:
        self.before, self.index = before, index
        self.table = {}

    @property
    def core(self) -> int:
        return self.index.ndim

    def writes_zeros(self) -> bool:
        reached = np.zeros(math.prod(self.before), bool)
        reached[self.index] = True
        return not reached.all()

    def result(self, *shapes: Shape) -> Shape:
        return shapes[0][: len(shapes[0]) - self.index.ndim] + self.before

    def transposed(self, k: int, shape: Shape) -> Linear:
        return _indexed(Gather, self.before, self.index)

    def cost(self, elements: Callable[[Shape], int], shape: Shape) -> int:
        return elements(shape)

    def components(self, of: Arithmetic, shape: tuple[int, ...], *xs: NDArray[Any]) -> Any:
        places, length = self.index.ravel().tolist(), math.prod(self.before)
        value = np.empty((math.prod(shape) // max(length, 1), length), object)
        for line, row in zip(value, xs[0].reshape((len(value), len(places))), strict=True):
            met: dict[int, list[Any]] = {}
            for place, element in zip(places, row.tolist(), strict=True):
                met.setdefault(place, []).append(element)
            for i in range(length):
                line[i] = of.sum(met.get(i, []))
        return value.reshape(shape)


def _indexed(
    cls: type[Gather] | type[Scatter], before: tuple[int, ...], index: NDArray[np.intp]
) -> Linear:
    key = (cls, before, index.shape, index.tobytes())
    return intern_op(key, lambda: cls(before, index))


def gather_op(before: tuple[int, ...], index: NDArray[np.intp]) -> Linear:
    """The op that reads flat positions ``index`` of trailing axes ``before``."""
    index = np.array(index, dtype=np.intp)
    index.setflags(write=False)
    return _indexed(Gather, before, index)


def _total(lengths: Iterable[Dim]) -> Any:
    return sum(lengths)


class Concat(Linear):
    """Operands joined along the negative ``axis``.  Transpose, to operand k: its slice."""

    __slots__ = ("axis", "lengths")
    fields = ("axis", "lengths")
    name = "concat"
    selects = True

    def __init__(self, axis: int, lengths: tuple[Dim, ...]) -> None:
        self.axis, self.lengths = axis, lengths

    @property
    def core(self) -> int:
        return -self.axis

    def result(self, *shapes: Shape) -> Shape:
        shape = list(shapes[0])
        shape[self.axis] = _total(self.lengths)
        return tuple(shape)

    def transposed(self, k: int, shape: Shape) -> Linear:
        start, length = _total(self.lengths[:k]), self.lengths[k]
        before = shape[self.axis :]
        step = between(start, start + length, before[0])
        return slice_op(before, (step, *(WHOLE for _ in before[1:])), (length, *before[1:]))

    def bound(self, lengths: Callable[[Shape], Shape]) -> Linear:
        return concat_op(self.axis, lengths(self.lengths))

    def components(self, of: Arithmetic, shape: tuple[int, ...], *xs: NDArray[Any]) -> Any:
        return np.concatenate(xs, axis=self.axis)


def concat_op(axis: int, lengths: tuple[Dim, ...]) -> Linear:
    """The op that joins operands of these lengths along the negative ``axis``."""
    return _linear(Concat, axis, lengths)


class _Same(Linear):
    """The base of linear maps that keep the shape."""

    __slots__ = ()

    def result(self, *shapes: Shape) -> Shape:
        return shapes[0]


class Flip(_Same):
    """The elements of the negative ``axes`` in reverse order.  Its own transpose."""

    __slots__ = ("axes",)
    fields = ("axes",)
    name = "flip"
    selects = True

    def __init__(self, axes: tuple[int, ...]) -> None:
        self.axes = axes

    @property
    def core(self) -> int:
        return -min(self.axes)

    def called(self, shape: Shape) -> tuple[str, list[str]]:
        return self.name, axis_text(len(shape), *self.axes)

    def transposed(self, k: int, shape: Shape) -> Linear:
        return self

    def components(self, of: Arithmetic, shape: tuple[int, ...], *xs: NDArray[Any]) -> Any:
        return np.flip(xs[0], axis=self.axes)


def flip_op(axes: tuple[int, ...]) -> Linear:
    """The op that reverses the negative ``axes``."""
    return _linear(Flip, axes)


class Cumsum(_Same):
    """Running sums along the negative ``axis``, or from its end; each is the other's transpose."""

    __slots__ = ("axis", "reverse")
    fields = ("axis", "reverse")
    name = "cumsum"

    def __init__(self, axis: int, reverse: bool) -> None:
        self.axis, self.reverse = axis, reverse

    @property
    def core(self) -> int:
        return -self.axis

    def called(self, shape: Shape) -> tuple[str, list[str]]:
        # Running sums from the end are running sums of flipped elements: texts write the flips.
        return self.name, axis_text(len(shape), self.axis)

    def transposed(self, k: int, shape: Shape) -> Linear:
        return cumsum_op(self.axis, not self.reverse)

    def cost(self, elements: Callable[[Shape], int], shape: Shape) -> int:
        return elements(shape)

    def components(self, of: Arithmetic, shape: tuple[int, ...], *xs: NDArray[Any]) -> Any:
        value = xs[0].copy()
        lines = np.moveaxis(np.flip(value, self.axis) if self.reverse else value, self.axis, 0)
        for i in range(1, len(lines)):
            for place in np.ndindex(lines.shape[1:]):
                lines[(i, *place)] = of.sum([lines[(i - 1, *place)], lines[(i, *place)]])
        return value


def cumsum_op(axis: int, reverse: bool = False) -> Linear:
    """The op of running sums along the negative ``axis``."""
    return _linear(Cumsum, axis, reverse)


class Triangle(_Same):
    """A triangle of the last two axes, zeros elsewhere.  Its own transpose."""

    __slots__ = ("diagonal", "lower")
    fields = ("lower", "diagonal")
    name = "triangle"
    selects = True

    @property
    def core(self) -> int:
        return 2

    def __init__(self, lower: bool, diagonal: int) -> None:
        self.lower, self.diagonal = lower, diagonal

    def writes_zeros(self) -> bool:
        return True

    def called(self, shape: Shape) -> tuple[str, list[str]]:
        return "tril" if self.lower else "triu", [f"k={self.diagonal}"] * (self.diagonal != 0)

    def transposed(self, k: int, shape: Shape) -> Linear:
        return self

    def components(self, of: Arithmetic, shape: tuple[int, ...], *xs: NDArray[Any]) -> Any:
        value = xs[0].copy()
        rows, columns = np.indices(shape[-2:])
        above = columns - rows
        value[..., above > self.diagonal if self.lower else above < self.diagonal] = _zeros(of, ())
        return value


def triangle_op(lower: bool, diagonal: int) -> Linear:
    """The op that keeps a triangle of the last two axes."""
    return _linear(Triangle, lower, diagonal)


class Shift(_Same):
    """``value[..., i] = x[..., i - offset]`` on the last axis, zeros from outside.

    Transpose: the shift back.
    """

    __slots__ = ("offset",)
    fields = ("offset",)
    name = "shift"
    selects = True

    def __init__(self, offset: int) -> None:
        self.offset = offset

    def writes_zeros(self) -> bool:
        return True

    def transposed(self, k: int, shape: Shape) -> Linear:
        return shift_op(-self.offset)

    def components(self, of: Arithmetic, shape: tuple[int, ...], *xs: NDArray[Any]) -> Any:
        value, n = _zeros(of, shape), shape[-1]
        for i in range(max(self.offset, 0), min(n, n + self.offset)):
            value[..., i] = xs[0][..., i - self.offset]
        return value


def shift_op(offset: int) -> Linear:
    """The op that moves the last axis's elements up by ``offset`` places (down if negative)."""
    return _linear(Shift, offset)


class Windows(Linear):
    """``value[..., i, j] = x[..., i + j]``: windows of ``length`` elements of the last axis."""

    __slots__ = ("length",)
    fields = ("length",)
    name = "windows"
    selects = True

    def __init__(self, length: Dim) -> None:
        self.length = length

    def result(self, *shapes: Shape) -> Shape:
        *batch, n = shapes[0]
        count: Any = n - self.length + 1  # type: ignore[operator]  # of lengths
        if isinstance(count, int) and count < 1:
            raise ShapeError(f"windows: {self.length} elements do not fit in an axis of length {n}")
        return (*batch, count, self.length)

    def transposed(self, k: int, shape: Shape) -> Linear:
        return _linear(Overlaps, self.length)

    def bound(self, lengths: Callable[[Shape], Shape]) -> Linear:
        return windows_op(*lengths((self.length,)))

    def needs(self, *operands: Any) -> list[tuple[Dim, str]]:
        n, length = operands[0].shape[-1], self.length
        why = f"windows of {length} elements of an axis of length {n}"
        return [(n - length, why), (length - 1, why)]  # type: ignore[operator]  # of lengths

    def components(self, of: Arithmetic, shape: tuple[int, ...], *xs: NDArray[Any]) -> Any:
        return xs[0][..., np.add.outer(np.arange(shape[-2]), np.arange(shape[-1]))]


class Overlaps(Linear):
    """``value[..., k]`` is the sum of ``x[..., i, j]`` over ``i + j = k``.  Transpose: Windows."""

    __slots__ = ("length",)
    fields = ("length",)
    name = "overlaps"

    def __init__(self, length: Dim) -> None:
        self.length = length

    @property
    def core(self) -> int:
        return 2

    def bound(self, lengths: Callable[[Shape], Shape]) -> Linear:
        return _linear(Overlaps, *lengths((self.length,)))

    def result(self, *shapes: Shape) -> Shape:
        *batch, count, _ = shapes[0]
        return (*batch, count + self.length - 1)  # type: ignore[operator]  # of lengths

    def needs(self, *operands: Any) -> list[tuple[Dim, str]]:
        windows, length = operands[0].shape[-2], self.length
        why = f"windows of {length} elements of an axis of length {windows + length - 1}"
        return [(windows - 1, why), (length - 1, why)]  # type: ignore[operator]  # of lengths

    def transposed(self, k: int, shape: Shape) -> Linear:
        return windows_op(self.length)

    def cost(self, elements: Callable[[Shape], int], shape: Shape) -> int:
        return elements(shape)

    def components(self, of: Arithmetic, shape: tuple[int, ...], *xs: NDArray[Any]) -> Any:
        value, (x,) = np.empty(shape, object), xs
        for *lead, k in np.ndindex(shape):
            met = range(max(0, k - x.shape[-1] + 1), min(k + 1, x.shape[-2]))
            value[(*lead, k)] = of.sum([x[(*lead, i, k - i)] for i in met])
        return value


def windows_op(length: Dim) -> Linear:
    """The op of the windows of ``length`` elements, at least one, of the last axis."""
    return _linear(Windows, length)


class Fourier(_Same):
    """``value[..., j] = sum_k x[..., k] cos(2πjk/n)`` on the last axis, or with sines.

    Symmetric, so its own transpose.  The discrete Fourier transform is the cosines minus i times
    the sines.
    """

    __slots__ = ("part",)
    fields = ("part",)
    name = "fourier"
    kind = float

    def __init__(self, part: str) -> None:
        self.part = part

    def transposed(self, k: int, shape: Shape) -> Linear:
        return self

    def cost(self, elements: Callable[[Shape], int], shape: Shape) -> int:
        return 5 * elements(shape) * halvings(elements(shape[-1:]))

    def components(self, of: Arithmetic, shape: tuple[int, ...], *xs: NDArray[Any]) -> Any:
        n, value = shape[-1], np.empty(shape, object)
        turn = [_circle(of, self.part, Fraction(2 * k, n)) for k in range(n)]
        for place in np.ndindex(shape):
            line = xs[0][place[:-1]]
            products = [of.product([line[k], turn[place[-1] * k % n]]) for k in range(n)]
            value[place] = of.sum(products)
        return value

    def terms(self, shape: tuple[int, ...]) -> int:
        return math.prod(shape) * shape[-1]


def _circle(of: Arithmetic, part: str, turns: Fraction) -> Any:
    """The cosine or sine of ``turns`` times π."""
    exact = {0: (1, 0), Fraction(1, 2): (0, 1), 1: (-1, 0), Fraction(3, 2): (0, -1)}.get(turns)
    if exact is not None:
        return of.number(exact[part == "sin"])
    return of.named(part, of.product([of.number(turns), of.exact(exact_op("pi", sp.pi))]))


def fourier_op(part: str) -> Linear:
    """The op of the sums with cosines (``"cos"``) or sines (``"sin"``) of the last axis."""
    return _linear(Fourier, part)


class Cast(_Same):
    """The operand, of real precision ``of``, rounded to the precision ``to``: names of dtypes.

    Rounding counts as the identity: the transpose, and so the derivative, is the cast back.
    """

    __slots__ = ("of", "to")
    fields = ("to",)
    name = "cast"

    @property
    def core(self) -> int:
        return 0

    def __init__(self, of: str, to: str) -> None:
        self.of, self.to = of, to

    def transposed(self, k: int, shape: Shape) -> Linear:
        return cast_op(self.to, self.of)


def cast_op(of: str, to: str) -> Linear:
    """The op that rounds real numbers of one precision to another."""
    return _linear(Cast, of, to)
