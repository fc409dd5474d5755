"""What a Function is called with and what it hands out: checked first, touched last.

Everything here runs before or after a program, never inside: arguments are bound to inputs and
axis lengths, results become arrays that the caller owns, cotangents are added to the caller's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from numeric.guesses import ARGUMENT
from numeric.lowering.kernels import WEAK, filled
from symdiff.errors import ShapeError
from symdiff.letters import shape_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from symdiff.expr import Expr

Array: TypeAlias = "NDArray[Any]"

_ACCEPTED = {float: "fiub", int: "iu", bool: "b"}
_FLOAT = np.dtype(np.float64)


class Call(NamedTuple):
    """Arguments that fit: one value per input, the lengths of symbolic axes, and the precision.

    ``points`` is the broadcast shape of the arguments where all inputs are scalars, else ().
    ``weak``: all arguments are Python numbers, and so are the results.  ``kinds``: the dtypes of
    the outputs, where they are known and may differ.
    """

    values: tuple[Any, ...]
    sizes: dict[str, int]
    precision: np.dtype[Any]
    points: tuple[int, ...] = ()
    weak: bool = False
    kinds: tuple[np.dtype[Any], ...] | None = None


class Signature:
    """The inputs of a Function.  ``scalar``: all are scalars, so that arguments may be arrays."""

    def __init__(self, inputs: Sequence[Expr], constants: Iterable[Array]) -> None:
        self.inputs = tuple(inputs)
        self.names = tuple(x.name for x in inputs)
        self.place = {name: i for i, name in enumerate(self.names)}
        self.scalar = not any(x.shape for x in inputs)
        # Data of the graph take part in NumPy's promotion; truth values do not matter to it.
        self.data = [c.dtype for c in constants if c.dtype.kind != "b"]
        self.arrays = all(x.shape and x.dtype is float for x in inputs) and not self.data

    def bind(self, args: Sequence[Any], named: Mapping[str, Any]) -> Call:
        """The arguments of a call.

        Raises TypeError for a wrong number, name or dtype, ShapeError for a wrong shape.
        """
        given = self.ordered(args, named) if named or len(args) != len(self.inputs) else args
        if self.arrays and all(map(_is_plain, given)):
            return Call(tuple(given), self._sizes(given), _FLOAT)
        arrays = [_real_array(x, value) for x, value in zip(self.inputs, given, strict=True)]
        weak = [value.__class__ in WEAK for value in given]
        precision = self._precision(arrays, weak)
        points = self._points(arrays) if self.scalar else ()
        sizes = {} if self.scalar else self._sizes(arrays)
        values = tuple(
            _as_kind(x, array, loose, precision)
            for x, array, loose in zip(self.inputs, arrays, weak, strict=True)
        )
        plain = self.scalar and all(
            loose or value.__class__ is np.float64 for loose, value in zip(weak, given, strict=True)
        )
        return Call(values, sizes, precision, points, plain)

    def _sizes(self, arrays: Sequence[Array]) -> dict[str, int]:
        sizes: dict[str, int] = {}
        source: dict[str, str] = {}
        for x, array in zip(self.inputs, arrays, strict=True):
            if array.shape != x.shape:
                _bind_shape(x, array.shape, sizes, source)
        return sizes

    def ordered(self, args: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """The arguments in the order of the inputs.  Raises TypeError if they do not fit."""
        if len(args) > len(self.inputs):
            raise TypeError(f"{len(self.inputs)} arguments expected ({self}), got {len(args)}")
        given = dict(zip(self.names, args, strict=False))
        for name, value in named.items():
            if name not in self.place:
                instead = f"; {ARGUMENT[name]}" if name in ARGUMENT else ""
                raise TypeError(f"no input is named {name!r}; the inputs are {self}{instead}")
            if name in given:
                raise TypeError(f"input {name} is given twice, by place and by name")
            given[name] = value
        missing = [name for name in self.names if name not in given]
        if missing:
            raise TypeError(f"no argument for {', '.join(missing)}; the inputs are {self}")
        return [given[name] for name in self.names]

    def __str__(self) -> str:
        return ", ".join(self.names[:20]) + (", ..." if len(self.names) > 20 else "") or "none"

    def _precision(self, arrays: Sequence[Array], weak: Sequence[bool]) -> np.dtype[Any]:
        given = [a.dtype for a, loose in zip(arrays, weak, strict=True) if not loose]
        numbers = [*self.data, *(dtype for dtype in given if dtype.kind != "b")]
        if not numbers:
            return _FLOAT
        result: np.dtype[Any] = np.result_type(*numbers)
        return result if result.kind == "f" else _FLOAT

    def _points(self, arrays: Sequence[Array]) -> tuple[int, ...]:
        shapes = [a.shape for a in arrays]
        if not any(shapes):
            return ()
        try:
            return np.broadcast_shapes(*shapes)
        except ValueError:
            text = ", ".join(
                f"{name} {shape_text(shape)}"
                for name, shape in zip(self.names, shapes, strict=True)
            )
            raise ShapeError(f"arguments do not broadcast to one shape of points: {text}") from None


def _is_plain(value: Any) -> bool:
    """Whether the value is what most arguments are: an array of doubles, to be used as it is."""
    return value.__class__ is np.ndarray and value.dtype is _FLOAT


def _real_array(x: Expr, value: Any) -> Array:
    try:
        array = np.asarray(float(value) if x.dtype is float and value.__class__ is int else value)
    except ValueError:
        raise ShapeError(f"input {x.name}: the argument is ragged, not an array") from None
    except OverflowError:
        raise ValueError(
            f"input {x.name}: an integer of {value.bit_length()} bits is beyond the largest float"
        ) from None
    if array.dtype.kind not in _ACCEPTED[x.dtype] or isinstance(value, np.ma.MaskedArray):
        kind = "a masked array" if isinstance(value, np.ma.MaskedArray) else f"dtype {array.dtype}"
        advice = "; pass real and imaginary parts" if array.dtype.kind == "c" else ""
        raise TypeError(f"input {x.name}: expected dtype {x.dtype.__name__}, got {kind}{advice}")
    return array


def bindable(x: Expr, value: Any) -> Any:
    """A value of an input as a constant: what a call would take, numbers without a precision."""
    array = _real_array(x, value)
    if value.__class__ in WEAK:
        return value
    return _as_kind(x, array, False, _FLOAT)


def _bind_shape(
    x: Expr, shape: tuple[int, ...], sizes: dict[str, int], source: dict[str, str]
) -> None:
    """Compare a shape with that of the input; learn or compare symbolic lengths."""
    fits = len(shape) == len(x.shape)
    for dim, length in zip(x.shape, shape, strict=False):
        if dim.__class__ is int:
            fits = fits and dim == length
        elif fits:
            known = sizes.setdefault(dim, length)  # type: ignore[arg-type]
            if known != length:
                raise ShapeError(
                    f"input {x.name}: expected shape {shape_text(x.shape)}, "
                    f"got {shape_text(shape)}; {dim} is {known} in {source[dim]}"  # type: ignore[index]
                )
            source.setdefault(dim, x.name)  # type: ignore[arg-type]
    if not fits:
        many = f"; sd.batch(f, {{{x.name}: ...}}) makes a formula for many {x.name} at once"
        raise ShapeError(
            f"input {x.name}: expected shape {shape_text(x.shape)}, got {shape_text(shape)}"
            f"{many if len(shape) == len(x.shape) + 1 else ''}"
        )


def _as_kind(x: Expr, array: Array, weak: bool, precision: np.dtype[Any]) -> Any:
    """The argument as programs take it: real inputs are floats, 0-d arrays are scalars."""
    if x.dtype is float and (weak or array.dtype.kind != "f"):
        array = array.astype(precision if weak else _FLOAT)
    return array if array.ndim else array[()]


# Results ----------------------------------------------------------------------------------------


def root(array: Array) -> Array:
    """The array that owns the memory of ``array``.

    >>> x = np.arange(3)
    >>> root(np.lib.stride_tricks.as_strided(x[1:], (2, 2), (0, 8))) is x
    True
    """
    while (base := array.base) is not None:
        if not isinstance(base, np.ndarray):
            base = _held(base)
            if base is None:
                break
        array = base
    return array


def _held(base: Any) -> Array | None:
    """The array that a strided view of NumPy's is one of: between them is an object."""
    held = getattr(base, "base", None)
    return held if isinstance(held, np.ndarray) else None


def immutable(array: Array) -> bool:
    """Whether nobody can write to the array: neither it nor an array that it views is writeable."""
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return False
        base = array.base
        held = None if base is None or isinstance(base, np.ndarray) else _held(base)
        array = base if held is None else held  # type: ignore[assignment]
    return array is None or isinstance(array, bytes)


class Owner:
    """Makes results that share memory with nothing else that the caller or a residual holds."""

    def __init__(self, taken: Iterable[Any]) -> None:
        self.taken = {id(root(x)) for x in taken if isinstance(x, np.ndarray)}

    def result(
        self, value: Any, shape: tuple[int, ...], real: bool, precision: np.dtype[Any]
    ) -> Any:
        """``value``, broadcast to ``shape``, as an array of its own; a NumPy scalar for ()."""
        if value.__class__ in WEAK:
            value = filled(value, shape, {}, precision if real else None)
        narrow = precision.itemsize < _FLOAT.itemsize
        if real and value.dtype != precision and (narrow or value.dtype.kind != "f"):
            value = value.astype(precision)
        if not shape and not value.ndim:
            return value[()]
        if value.shape != shape:
            value = np.broadcast_to(value, shape)
        base = root(value)
        if id(base) in self.taken or base.base is not None or not value.flags.writeable:
            value = base = np.array(value)
        self.taken.add(id(base))
        return value


def snapshots(values: Iterable[Any], arguments: Iterable[Any]) -> tuple[Any, ...]:
    """``values`` safe from changes of the arguments: copied where they share their memory.

    Read-only arguments are shared, as nobody can change them.
    """
    taken = {id(root(x)) for x in arguments if isinstance(x, np.ndarray)}
    return tuple(
        np.array(v)
        if isinstance(v, np.ndarray) and id(root(v)) in taken and not immutable(v)
        else v
        for v in values
    )


# Cotangents -------------------------------------------------------------------------------------


def cotangent(place: int, value: Any, shape: tuple[int, ...]) -> Any:
    """A cotangent given for output number ``place``, checked."""
    return _real_numbers(f"cotangent {place}", value, shape, "output")


def tangent(
    method: str, x: Expr, value: Any, shape: tuple[int, ...], precision: np.dtype[Any]
) -> Any:
    """The tangent given for the argument of ``x``, which has ``shape``, checked; zeros for None."""
    if value is None:
        return np.zeros(shape, precision)[()]
    if x.dtype is not float:
        raise TypeError(f"{method}: input {x.name} is not real and has no tangent; pass None")
    return _real_numbers(f"{method}: tangent of {x.name}", value, shape, "argument")


def _real_numbers(what: str, value: Any, shape: tuple[int, ...], whose: str) -> Any:
    """``value`` as real numbers of ``shape``, which is that of the named side of the Function."""
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{what}: expected real numbers, got dtype {array.dtype}")
    if array.shape != shape:
        raise ShapeError(
            f"{what}: expected shape {shape_text(shape)}, that of the {whose}, "
            f"got {shape_text(array.shape)}"
        )
    if array.dtype.kind != "f":
        array = array.astype(np.float64)
    return array if array.ndim else array[()]


def check_targets(
    targets: Any, inputs: Sequence[Expr], shapes: Sequence[tuple[int, ...]]
) -> list[Array | None]:
    """The arrays to accumulate into, one or None for each input, checked before anything is done.

    Raises TypeError or ValueError naming the input: wrong number, no float array, not writeable,
    overlapping; ShapeError for another shape than the argument's.
    """
    if not isinstance(targets, list | tuple):
        raise TypeError("accumulate: expected a list of arrays, one per input or None")
    if len(targets) != len(inputs):
        raise ValueError(f"accumulate: {len(inputs)} arrays expected, got {len(targets)}")
    seen: list[Array] = []
    for x, target, shape in zip(inputs, targets, shapes, strict=True):
        if target is None:
            continue
        if not isinstance(target, np.ndarray) or target.dtype.kind != "f":
            what = getattr(target, "dtype", type(target).__name__)
            raise TypeError(f"accumulate: {x.name}: expected a float array, got {what}")
        if x.dtype is not float:
            raise TypeError(f"accumulate: {x.name} is not real and has no cotangent; pass None")
        if target.shape != shape:
            raise ShapeError(
                f"accumulate: {x.name}: expected shape {shape_text(shape)}, "
                f"got {shape_text(target.shape)}"
            )
        if not target.flags.writeable:
            raise ValueError(f"accumulate: the array for {x.name} is read-only")
        if _overlaps_itself(target) or any(_overlap(target, other) for other in seen):
            raise ValueError(f"accumulate: the array for {x.name} overlaps itself or another one")
        seen.append(target)
    return list(targets)


# Steps that an exact comparison of two strided arrays may take; harder ones count as overlapping.
_EFFORT = 10_000


def _overlap(a: Array, b: Array) -> bool:
    try:
        return np.shares_memory(a, b, max_work=_EFFORT)  # type: ignore[arg-type]  # any int is fine
    except np.exceptions.TooHardError:
        return True


def _overlaps_itself(a: Array) -> bool:
    """Whether two elements may share memory; exact unless axes interleave."""
    if not a.size:
        return False
    reach = a.itemsize
    for stride, length in sorted(
        (abs(s), n) for s, n in zip(a.strides, a.shape, strict=True) if n > 1
    ):
        if stride < reach:
            return True
        reach += stride * (length - 1)
    return False


def accumulated(targets: Sequence[Array | None], values: Sequence[Any]) -> tuple[Any, ...]:
    """The targets after adding; all sums are made before the first target is written."""
    sums = [
        None if target is None else np.add(target, value, dtype=target.dtype, casting="same_kind")
        for target, value in zip(targets, values, strict=True)
    ]
    for target, total in zip(targets, sums, strict=True):
        if target is not None:
            target[...] = total
    return tuple(
        value if target is None else target for target, value in zip(targets, values, strict=True)
    )


def summed_to(value: Array, shape: tuple[int, ...]) -> Array:
    """A value at each point, summed over the axes along which an argument was stretched."""
    lead = value.ndim - len(shape)
    axes = (*range(lead), *(i + lead for i, n in enumerate(shape) if n != value.shape[i + lead]))
    return value.sum(axis=axes).reshape(shape) if axes else value
