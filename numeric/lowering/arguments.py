"""What a Function is called with, checked before anything runs.

Arguments are bound to inputs and axis lengths; cotangents and tangents fit what they are of.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from numeric.guesses import ARGUMENT
from numeric.lowering.values import WEAK
from symdiff.errors import NotDifferentiable, ShapeError
from symdiff.graph import ops
from symdiff.graph.arguments import described
from symdiff.graph.axes import shape_text
from symdiff.graph.axis_lengths import become, bound_sizes, check_lengths, determined
from symdiff.graph.axis_lengths import names as names_of
from symdiff.graph.expr import Expr, Symbols, free_symbols
from symdiff.graph.lengths import Length
from symdiff.graph.number import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numeric.lowering.programs import Lowered
    from numeric.types import Values
    from symdiff.graph.node import Shape


Key: TypeAlias = "tuple[object, ...]"

# What a symbol takes, by NumPy's kinds: integers and truth values are real numbers, but no real
# number is an integer.
_ACCEPTED = {float: "fiub", int: "iu", bool: "b"}
_ARRAY, _FLOAT = np.ndarray, np.dtype(np.float64)
# So many kinds of calls are known at a time.
_CALLS = 64


@dataclass(slots=True, eq=False)
class Call:
    """What a call has to know of its arguments, which depends on their shapes and dtypes alone.

    ``shapes`` are theirs, ``sizes`` the lengths of symbolic axes, ``precision`` is that of results.
    ``points`` is the broadcast shape of the arguments where all inputs are scalars, else ().
    ``weak``: all arguments are Python numbers, and so are the results.  ``kinds``: the dtypes of
    the outputs, where they are known and may differ.

    Where calls have a ``key``, that of the values, those with the same one share one object, which
    learns from the first of them: ``settled`` is how programs run, and what they leave to do with
    their results, ``keeping`` the same of the forward pass, with what may be memory of arguments;
    ``seeds`` the key of cotangents that are used as they are.
    """

    shapes: Sequence[tuple[int, ...]]
    sizes: dict[str, int]
    precision: np.dtype
    points: tuple[int, ...] = ()
    weak: bool = False
    kinds: tuple[np.dtype, ...] | None = None
    key: Key | None = None
    seeds: Key | None = None
    settled: dict[Lowered, Any] = field(default_factory=dict)
    keeping: tuple[Any, ...] | None = None

    def alone(self, kinds: tuple[np.dtype, ...] | None = None) -> Call:
        """The same for one call of its own, which nothing is learnt from; results of ``kinds``."""
        return replace(self, kinds=kinds, key=None, settled={}, keeping=None)

    def pulled(self, seeds: Sequence[Any]) -> Call:
        """The same for a backward pass; this one, if the cotangents are such as mostly come."""
        if self.key is None:
            return self
        key = key_of(seeds)
        if self.seeds is None and None not in key and all(g.dtype == self.precision for g in seeds):
            self.seeds = key
        return self if key == self.seeds else self.alone()


def key_of(values: Sequence[Any]) -> Key:
    """What calls are told apart by: the shapes of arrays of doubles, and kinds of other values.

    >>> key_of([np.ones(3), np.float32([1, 2]), 0.5, [1, 2]])
    ((3,), (dtype('float32'), (2,)), <class 'float'>, None)
    """
    key: list[object] = []
    for v in values:  # a comprehension would be one more function to run
        key.append(v.shape if v.__class__ is _ARRAY and v.dtype is _FLOAT else _kind(v))  # noqa: PERF401
    return tuple(key)


def _kind(value: Any) -> object:
    """The dtype and shape of an array, the class of a scalar; None for what has to be looked at."""
    kind = value.__class__
    if kind is _ARRAY:
        return value.dtype, value.shape
    return kind if kind in _SCALARS else None


_NUMBERS = frozenset({float, int})
_SCALARS = _NUMBERS | {np.float64, np.float32, np.int64, np.bool_}


class Fixed(NamedTuple):
    """What made lengths numbers: data of the name, whose symbol had the shape, or the formula."""

    name: str
    shape: Shape
    numbers: tuple[int, ...]


def check_closed(ys: Sequence[Expr], xs: Sequence[Expr], nodes: Sequence[Expr]) -> None:
    """Raise ValueError where a symbol or an axis length comes from no input.

    Two symbols of one name are a ShapeError.  ``nodes`` are those of the outputs ``ys``, ``xs`` are
    the inputs.
    """
    names = [x.name for x in xs]
    symbols = free_symbols([*ys, *xs])
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise ValueError(f"lower: input {twice} is named twice")
    known = frozenset(xs)
    missing = [x.name for x in symbols if x not in known]
    if missing:
        raise ValueError(f"lower: outputs depend on {', '.join(missing)}; add to the inputs")
    used = names_of(nodes)
    axes = determined([x.shape for x in xs]) if used else ()
    unbound = [name for name in used if name not in axes]
    if unbound:
        told = [
            f"{dim} of {x.name}" for x in xs for dim in x.shape if set(unbound) & {*_names(dim)}
        ]
        raise ValueError(
            f"lower: no input has an axis of length {', '.join(unbound)}"
            + (f", and {', '.join(told)} does not tell it" if told else "")
            + f'; add an input with such an axis, as sd.symbol("x", {unbound[0]!r})'
        )


def _names(dim: int | str) -> tuple[str, ...]:
    return dim.names if isinstance(dim, Length) else ()


class Signature:
    """The inputs of a Function.  ``scalar``: all are scalars, so that arguments may be arrays.

    ``given`` are the inputs as their user has them, with lengths by name that data made numbers in
    the formula, and ``fixed`` says what did.
    """

    def __init__(
        self,
        inputs: Sequence[Expr],
        constants: Iterable[np.ndarray],
        formulas: Mapping[Length, str] | None = None,
    ) -> None:
        self.inputs = tuple(inputs)
        self.formulas = formulas or {}
        self.names = tuple(x.name for x in inputs)
        self.real = tuple([i for i, x in enumerate(self.inputs) if x.dtype is float])
        self.whole = len(self.real) == len(self.inputs)
        self.place = {name: i for i, name in enumerate(self.names)}
        self.shapes = [x.shape for x in self.inputs]
        self.scalar = not any(x.shape for x in inputs)
        # Data of the graph take part in NumPy's promotion.
        self.data = [c.dtype for c in constants if c.dtype.kind != "b"]
        # What is known of arguments like those of earlier calls.
        # With those that have Python's numbers stands what these become.
        self.calls: dict[Key, tuple[Call, Callable[[Any], Any] | None]] = {}
        self.given = Symbols(self.inputs)
        self.fixed: tuple[Fixed, ...] = ()

    def stand_for(self, given: Sequence[Expr], fixed: Sequence[Fixed]) -> None:
        """The inputs are what these symbols are in the formula, for the reasons that are given."""
        self.given, self.fixed = Symbols(given), tuple(fixed)
        if not fixed and self.given != self.inputs:
            own = bound_sizes("input", given, [x.shape for x in self.inputs])
            known = {Length(name): n for name, n in own.items() if isinstance(n, int)}
            self.fixed = (Fixed("the formula", tuple(known), tuple(known.values())),)

    def seen(self, args: Sequence[Any]) -> tuple[Sequence[Any], Call] | None:
        """Arguments that are like those of an earlier call: they fit as those did."""
        found = self.calls.get(key_of(args))
        if found is None:
            return None
        call, number = found
        if number is not None:
            try:
                args = [number(v) if v.__class__ in _NUMBERS else v for v in args]
            except OverflowError:
                return None
        return args, call

    def bind(
        self, args: Sequence[Any], named: Mapping[str, object]
    ) -> tuple[Sequence[Values], Call]:
        """The arguments of a call, one value for each input, and what is known of them.

        Raises TypeError for a wrong number, name or dtype, ShapeError for a wrong shape.
        """
        known = None if named else self.calls.get(key_of(args))
        if known is not None and known[1] is None:  # as most are
            return args, known[0]
        given = self.ordered(args, named) if named or len(args) != len(self.inputs) else args
        return self.seen(given) or self._bound(given)

    def _bound(self, given: Sequence[Any]) -> tuple[Sequence[Values], Call]:
        arrays = [checked("input", x, value) for x, value in zip(self.inputs, given, strict=True)]
        weak = [value.__class__ in WEAK for value in given]
        strong = [a.dtype for a, loose in zip(arrays, weak, strict=True) if not loose]
        meeting = precision([*self.data, *strong])
        values = tuple(
            [
                _as_kind(x, array, loose, meeting)
                for x, array, loose in zip(self.inputs, arrays, weak, strict=True)
            ]
        )
        # NumPy's double is a Python float, which ``math`` serves; a narrower scalar has a precision
        # to keep, and goes the way of arrays.
        plain = self.scalar and all(
            loose or v.__class__ is np.float64 for loose, v in zip(weak, given, strict=True)
        )
        # What was made of lists, integers and numbers is like arguments that came so.
        call, _ = self.calls.get(key_of(values), (None, None))
        if call is None or call.precision != meeting or call.weak != plain:
            points = self._points(arrays) if self.scalar else ()
            sizes = {} if self.scalar else self._sizes(arrays)
            call = Call([a.shape for a in arrays], sizes, meeting, points, plain)
            self._learn(call, values, given)
        elif any(weak):
            self._learn_numbers(call, given)
        return values, call

    def _learn(self, call: Call, values: Sequence[Any], given: Sequence[Any]) -> None:
        """Know arguments like ``values``, unless those would make another call than ``given``."""
        own = precision([*self.data, *[v.dtype for v in values]])
        floats = self.scalar and all(v.__class__ is np.float64 for v in values)
        key = key_of(values)
        if None not in key and own == call.precision and floats == call.weak:
            call.key = key
            self._know(key, call, None)
            self._learn_numbers(call, given)

    def _learn_numbers(self, call: Call, given: Sequence[Any]) -> None:
        """Know Python's numbers beside what is used as it is."""
        number, key = call.precision.type, key_of(given)
        kinds = tuple([number if kind in _NUMBERS else kind for kind in key])
        if kinds == call.key != key:
            self._know(key, call, number)

    def _know(self, key: Key, call: Call, number: Callable[[Any], Any] | None) -> None:
        if len(self.calls) >= _CALLS:
            self.calls.clear()
        self.calls[key] = call, number

    def _sizes(self, arrays: Sequence[np.ndarray]) -> dict[str, int]:
        shapes = [array.shape for array in arrays]
        if shapes == self.shapes:
            return {}
        try:
            sizes = bound_sizes("input", self.inputs, shapes)
        except ShapeError:
            if self.fixed:
                self._refuse(shapes)
            raise
        if self.formulas:
            check_lengths("input", self.formulas, sizes)
        return sizes

    def _refuse(self, shapes: Sequence[tuple[int, ...]]) -> None:
        """Raise ShapeError for lengths that are others than what was bound, and say what was."""
        fixed = [entry.numbers for entry in self.fixed]
        try:
            bound_sizes("input", [*self.fixed, *self.given], [*fixed, *shapes])
        except ShapeError as error:
            raise error from None

    def ordered(self, args: Sequence[object], named: Mapping[str, object]) -> list[Any]:
        """The arguments in the order of the inputs.  Raises TypeError if they do not fit."""
        if len(args) > len(self.inputs):
            raise TypeError(f"{len(self.inputs)} arguments expected ({self}), got {len(args)}")
        given = dict(zip(self.names, args, strict=False))
        for name, value in named.items():
            if name not in self.place:
                instead = f"; {ARGUMENT[name]}" if name in ARGUMENT else ""
                told = [x.name for x in self.inputs for dim in x.shape if name in _names(dim)]
                if told:
                    instead = f"; {name} is a length, which is learnt from the shape of {told[0]}"
                raise TypeError(
                    f"no input is named {shortened(name)}; the inputs are {self}{instead}"
                )
            if name in given:
                raise TypeError(f"input {name} is given twice, by place and by name")
            given[name] = value
        missing = [name for name in self.names if name not in given]
        if missing:
            raise TypeError(f"no argument for {', '.join(missing)}; the inputs are {self}")
        return [given[name] for name in self.names]

    def moved(
        self, method: str, args: Sequence[object], tangents: Sequence[object]
    ) -> tuple[Sequence[Values], Call, Sequence[Values]]:
        """The arguments, what is known of them, and the tangents of the real ones."""
        for name, values in (("args", args), ("tangents", tangents)):
            if not isinstance(values, (list, tuple)) or len(values) != len(self.inputs):
                raise TypeError(
                    f"{method}: {name} must be a list or tuple with one entry for each of the "
                    f"inputs {self}"
                )
        values, call = self.bind(args, {})
        # Tangents like the arguments are used as they are, too.
        if key_of(tangents) == call.key and self.whole:
            return values, call, tangents  # type: ignore[return-value]  # they are arrays
        moved = [
            tangent(method, x, t, np.shape(v), call.precision)
            for x, t, v in zip(self.inputs, tangents, values, strict=True)
        ]
        return values, call.alone(), [moved[i] for i in self.real]

    def places(self, wrt: object, method: str) -> tuple[int, ...]:
        """The places of the inputs that ``wrt`` asks for; None stands for all that are real."""
        if wrt is None:
            return self.real
        places = []
        for key in wrt if isinstance(wrt, list | tuple) else [wrt]:
            place = self.place_of(key, method)
            if self.inputs[place].dtype is not float:
                name = self.inputs[place].name
                raise NotDifferentiable(f"{method}: input {name} is not real")
            places.append(place)
        return tuple(places)

    def place_of(self, key: object, method: str) -> int:
        """The place of an input, a symbol or a name."""
        name = key.name if isinstance(key, Expr) and isinstance(key.op, ops.Symbol) else key
        place = self.place.get(name) if isinstance(name, str) else None
        if place is None or (
            isinstance(key, Expr)
            and key is not self.given[place]
            and become(key, [self.inputs[place]]) is not self.inputs[place]
        ):
            raise ValueError(f"{method}: {shortened(key)} is not an input; those are {self}")
        return place

    def by_input(
        self, row: Sequence[object], wrt: object, order: Sequence[int], bare: str = ""
    ) -> Any:
        """Derivatives by the inputs of ``order``, as ``wrt`` asks for them.

        ``bare`` names the method, where the derivative by a single input comes without a tuple.
        """
        if wrt is not None:
            return tuple(row) if isinstance(wrt, list | tuple) else row[0]
        if bare and len(self.inputs) == 1:
            if not order:
                raise NotDifferentiable(f"{bare}: input {self} is not real")
            return row[0]
        if len(order) == len(self.inputs):
            return tuple(row)
        found = dict(zip(order, row, strict=True))
        return tuple([found.get(i) for i in range(len(self.inputs))])

    def __str__(self) -> str:
        return ", ".join(self.names[:20]) + (", ..." if len(self.names) > 20 else "") or "none"

    def _points(self, arrays: Sequence[np.ndarray]) -> tuple[int, ...]:
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


def precision(dtypes: Iterable[np.dtype]) -> np.dtype:
    """The real dtype in which numbers of these dtypes meet.  Truth values do not matter to it.

    >>> precision([np.dtype("float32"), np.dtype("bool")]), precision([np.dtype("int8")])
    (dtype('float32'), dtype('float64'))
    """
    numbers = [dtype for dtype in dtypes if dtype.kind != "b"]
    if not numbers:
        return _FLOAT
    if numbers[0].kind == "f" and numbers.count(numbers[0]) == len(numbers):
        return np.dtype(numbers[0].type)  # which is in the processor's order of bytes
    result: np.dtype = np.result_type(*numbers)
    return result if result.kind == "f" else _FLOAT


def checked(what: str, x: Expr, value: Any) -> np.ndarray:
    """The value for a symbol as an array of a dtype that the symbol takes; of any shape.

    Args:
        what: what the symbol is, in messages.
        x: the symbol.
        value: what was given.

    Raises TypeError for another dtype, for an expression and for a masked array, whose mask would
    be lost; ShapeError for lists that are not an array, ValueError for an integer beyond the
    floats.
    """
    if value.__class__ is np.ndarray and value.dtype.kind in _ACCEPTED[x.dtype]:
        return _native(value)  # as most are
    if isinstance(value, Expr):
        raise TypeError(
            f"{what} {x.name}: expected numbers, got the expression {shortened(value)}; "
            "sd.substitute puts expressions into formulas"
        )
    try:
        # A Python integer of any size is a real number; NumPy would make an object of a large one.
        array = np.asarray(float(value) if x.dtype is float and value.__class__ is int else value)
    except ValueError:
        raise ShapeError(f"{what} {x.name}: the argument is ragged, not an array") from None
    except OverflowError:
        raise ValueError(
            f"{what} {x.name}: an integer of {value.bit_length()} bits is beyond the largest float"
        ) from None
    if array.dtype.kind not in _ACCEPTED[x.dtype] or isinstance(value, np.ma.MaskedArray):
        kind = "a masked array" if isinstance(value, np.ma.MaskedArray) else f"dtype {array.dtype}"
        advice = "; pass real and imaginary parts" if array.dtype.kind == "c" else ""
        raise TypeError(f"{what} {x.name}: expected dtype {x.dtype.__name__}, got {kind}{advice}")
    return _native(array)


def _native(array: np.ndarray) -> np.ndarray:
    """The array in the processor's order of bytes, which all results have."""
    dtype = array.dtype
    return array if dtype.isnative else array.astype(dtype.type)


def bindable(x: Expr, value: Any) -> Any:
    """A value of an input as a constant: what a call would take, numbers without a precision."""
    array = checked("input", x, value)
    if value.__class__ in WEAK:
        return value
    return _as_kind(x, array, False, _FLOAT)


def _as_kind(x: Expr, array: np.ndarray, weak: bool, precision: np.dtype) -> np.ndarray | np.number:
    """The argument as programs take it: real inputs are floats, 0-d arrays are scalars."""
    if x.dtype is float and (weak or array.dtype.kind != "f"):
        array = array.astype(precision if weak else _FLOAT)
    return array if array.ndim else array[()]


# Cotangents -------------------------------------------------------------------------------------


def cotangent(place: int, value: object, shape: tuple[int, ...]) -> np.ndarray | np.number:
    """A cotangent given for output number ``place``, checked."""
    return _real_numbers(f"cotangent {place}", value, shape, "output")


def tangent(
    method: str, x: Expr, value: object, shape: tuple[int, ...], precision: np.dtype
) -> np.ndarray | np.number:
    """The tangent given for the argument of ``x``, which has ``shape``, checked; zeros for None."""
    if value is None:
        return np.zeros(shape, precision)[()]
    if x.dtype is not float:
        raise TypeError(f"{method}: input {x.name} is not real and has no tangent; pass None")
    return _real_numbers(f"{method}: tangent of {x.name}", value, shape, "argument")


def _real_numbers(
    what: str, value: object, shape: tuple[int, ...], whose: str
) -> np.ndarray | np.number:
    """``value`` as real numbers of ``shape``, which is that of the named side of the Function."""
    if isinstance(value, Expr):
        raise TypeError(f"{what}: expected real numbers, got {described(value)}")
    try:
        array = np.asarray(value)
    except ValueError:
        raise ShapeError(f"{what}: the value is ragged, not an array") from None
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{what}: expected real numbers, got dtype {array.dtype}")
    if array.shape != shape:
        raise ShapeError(
            f"{what}: expected shape {shape_text(shape)}, that of the {whose}, "
            f"got {shape_text(array.shape)}"
        )
    array = _native(array) if array.dtype.kind == "f" else array.astype(np.float64)
    return array if array.ndim else array[()]
