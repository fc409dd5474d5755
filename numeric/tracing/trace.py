"""Tracing: a function of Tensors is run once, on shadows, and what it computes is an expression.

While a trace is in force (``modes.current().tracing``), operations, writes in place and NumPy's
functions of shadows come here instead of computing.

*Where numbers come from.*  An operation meets three things in a run.  A shadow depends on the
arguments, and has an expression.  An array with data is a constant, which the run made of numbers,
lists or NumPy's arrays.  A tensor that was there before, found in a closure or a global, is an
input like the arguments, with the numbers that it has at each call.  The last two are told apart by
a mark that each new tensor gets in a run (``made``).  Many operations take numbers of an operand
themselves, as places or to sort: they ask ``tensor.values_of``, which gives a shadow of a tensor
from outside, so that no array is computed from one, and none has to be traced back to it.

*What is refused.*  The run stands for all calls with the same signature, so that nothing may happen
in it that another call would do otherwise: choices by numbers that the program reads (``if``,
``float``), shapes that depend on numbers, random numbers.  Arguments and tensors from outside are
not written to: the lowered function has results, and no effects.  And some operations have no
expression.  Each is an error with the user's line, never a value of the first call.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.eager import inplace
from numeric.eager.operations import Op
from numeric.eager.recording import misfit
from numeric.eager.refusals import refuse
from numeric.eager.tensor import Tensor, blank, counter
from numeric.eager.traced_arrays import Place, Shadow, memory_of
from numeric.modes import current
from numeric.tracing import trial_runs
from numeric.tracing.trial_runs import stand_in_for, without_values
from numeric.warnings_off import SILENCE, noise, set_noise
from symdiff.calculus.derivative import detach
from symdiff.errors import ShapeError, Unsupported
from symdiff.functions.elementwise import not_equal, where
from symdiff.functions.reductions import sum as total
from symdiff.functions.shaping import broadcast_to, converted
from symdiff.graph.leaves import KINDS, as_expr, symbol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from symdiff.graph.expr import Expr


@functools.lru_cache(maxsize=4096)
def _named(name: str, shape: tuple[int, ...], kind: type) -> Expr:
    return symbol(name, shape, kind)


def input_symbol(name: str, x: Tensor) -> Expr:
    """The symbol of an input of a program: the same one for all that have this shape and kind.

    Runs that do the same are therefore the same expressions, and share a lowered program.
    """
    return _named(name, x._array.shape, KINDS[x._array.dtype.kind])


class Trace:
    """One run of a function on shadows: its arguments, and the tensors that it finds outside.

    ``symbols`` are those of the arguments, and then of ``outer``, in the order in which they were
    found.  ``below``: the trace in whose run this one was made; what is a constant of that one is
    known here, too.
    """

    def __init__(self, name: str = "compile", randomness: str = "error") -> None:
        self.name, self.randomness = name, randomness
        self.below: Trace | None = current().tracing
        self.symbols: list[Expr] = []
        self.outer: list[Tensor] = []
        # Conditions that must hold nowhere when it runs, and what to raise if one does: that an
        # index is out of bounds is an error of a call, and no call has been made.
        self.checks: list[tuple[Expr, Exception]] = []
        self._found: dict[int, Expr] = {}  # by the ids of tensors from outside, which outer keeps

    # Inputs -----------------------------------------------------------------------------------

    def argument(self, x: Tensor) -> Tensor:
        """What stands for an argument in the run."""
        shadow = Shadow(self, self.symbol(x), without_values(x._array), fixed=True)
        return blank(shadow, x._rg)

    def symbol(self, x: Tensor) -> Expr:
        """The symbol of one more input, which is like ``x``."""
        found = input_symbol(f"x{len(self.symbols)}", x)
        self.symbols.append(found)
        return found

    def expr(self, x: object) -> Expr:
        """The expression of an operand; a tensor from outside the function becomes an input."""
        array = x._array if isinstance(x, Tensor) else x
        if isinstance(array, Shadow):
            if array.trace is not self:  # kept by an earlier run: it has no numbers to be an input
                refuse("a tensor of another trace is used")
            return array.expr()
        if not isinstance(x, Tensor):
            return as_expr(x)
        if self.knows(x):
            return as_expr(np.array(x._array))
        found = self._found.get(id(x))
        if found is None:
            found = self._found[id(x)] = self.symbol(x)
            self.outer.append(x)
        return found

    # Operations -------------------------------------------------------------------------------

    def apply(self, op: Op, operands: Sequence[Any], params: tuple[object, ...]) -> Any:
        """As ``recording.apply``: the operation is done on stand-ins, and on expressions."""
        done = trial_runs.done(op, operands, [self.expr(x) for x in operands], params)
        grad = current().grad
        wanted = grad and any(map(requires, operands))
        first = operands[0]
        parent = None
        if op.view:
            self._shadowed(first)
            parent = first._array if isinstance(first._array, Shadow) else None
        outs = []
        for i, (y, layout) in enumerate(zip(done.exprs, done.layouts, strict=True)):
            real = layout.dtype.kind == "f"
            # A view of a shadow remembers how to take its part of it again, after a write.  One of
            # a tensor from outside is not written to, as that is not.
            part = None if parent is None else functools.partial(_part, op, done.rest, params, i)
            fixed = op.view and parent is None
            # As in an eager run, what is computed without recording is a constant for derivatives.
            value = y if grad or not real else detach(y)
            shadow = Shadow(self, value, layout, parent=parent, part=part, fixed=fixed)
            if parent is not None:
                shadow.offset = parent.offset + done.offsets[i]
            rg = real and (wanted or (op.view and requires(first)))  # views are as their base
            outs.append(blank(shadow, rg))
        return tuple(outs) if op.outputs > 1 else outs[0]

    def through(self, name: str, call: Callable[..., Any], args: object, kwargs: object) -> Any:
        """A NumPy function of shadows, done on expressions and on stand-ins, as operations are."""
        try:
            values = call(*_mapped(args, self.expr), **_mapped(kwargs, self.expr))
            before = noise()
            try:
                set_noise(SILENCE)
                tried = call(*_mapped(args, Shadow.stand_in), **_mapped(kwargs, Shadow.stand_in))
            finally:
                set_noise(before)
        except (Unsupported, TypeError, ValueError, ShapeError) as error:
            refuse(f"{name} cannot be traced ({error})")
        if isinstance(values, tuple):
            pairs = zip(values, tried, strict=True)
            return tuple(Shadow(self, as_expr(v), np.asarray(t)) for v, t in pairs)
        return Shadow(self, as_expr(values), np.asarray(tried))

    def compare(self, kernel: Callable[..., Any], a: object, b: object) -> Tensor:
        """A comparison of two operands, in NumPy's functions."""
        x, y = (
            Shadow(self, self.expr(t), stand_in_for(t)) if isinstance(t, Tensor) else t
            for t in (a, b)
        )
        # Asked first, as the error is to be that of an eager comparison.
        try:
            np.broadcast_shapes(np.shape(stand_in_for(a)), np.shape(stand_in_for(b)))
        except ValueError:
            shapes = [np.shape(stand_in_for(t)) for t in (a, b)]
            raise RuntimeError(misfit(kernel.__name__, *shapes)) from None
        return blank(kernel(x, y))

    def write(self, x: Tensor, compute: Callable[[Tensor], Tensor], name: str) -> Tensor:
        """As ``inplace.write``, for what the run itself made: whose memory it is has another value.

        Nothing is written.  All that share the memory take their part of the new value when they
        are next asked for theirs (``Shadow.expr``), so that writes through views, and to the base
        of views, need no list of who is concerned.
        """
        self._shadowed(x)
        shadow = x._array
        if not isinstance(shadow, Shadow):
            refuse(f"{name} changes a tensor from outside the function in place")
        root = shadow.root()
        if root.trace is not self:
            refuse(f"{name} changes a tensor from outside the function in place")
        if root.fixed:
            refuse(f"{name} changes an argument in place")
        inplace.check_memory(shadow, name)
        # A shadow without a parent keeps the value before, whatever is written later.
        old = blank(Shadow(self, shadow.expr(), shadow.layout), x._rg)
        out = compute(old)
        inplace.check_result(x, out, name)
        # Through a detached tensor an eager program changes numbers that a derivative then uses
        # without knowing; an expression has no such thing.
        cuts = shadow.cuts()
        if cuts and (any(cuts) or out._rg):
            refuse(f"{name} changes a detached tensor in place", "clone() it before")
        value = converted(self.expr(out), out._array.dtype, shadow.dtype)
        try:
            shadow.write(broadcast_to(value, shadow.shape))
        except (Unsupported, TypeError, ValueError, ShapeError) as error:
            refuse(f"{name} cannot be traced ({error})")
        x._rg = x._rg or out._rg
        root.grown |= out._rg
        counter(x)[0] += 1
        return x

    def view(self, y: Tensor, of: Tensor, place: Place, lead: int) -> None:
        """Let ``y``, a result of an inner transform, be a view of another tensor.

        ``place`` says where it lay in the run of a slice; ``lead`` axes come before, in both.
        """
        self._shadowed(of)
        array = of._array
        shadow: Any = y._array
        if not isinstance(array, Shadow) or array.root().trace is not self:
            shadow.fixed = True  # it belongs to a tensor from outside
            return
        strides = (*array.strides[:lead], *place.strides)
        layout = memory_of(array.layout, shadow.shape, strides, place.offset)
        places = as_expr(inplace.positions(layout, array.layout))
        found = Shadow(
            self, shadow.expr(), layout, parent=array, part=functools.partial(_at, places)
        )
        found.offset = array.offset + place.offset
        y._array = found

    def _shadowed(self, x: Tensor) -> None:
        """Let a constant that the run made be a shadow, that may be written to."""
        if x._traced is self and not isinstance(x._array, Shadow) and x._base is None:
            x._array = Shadow(self, self.expr(x), x._array)  # type: ignore[assignment]

    # Tensors that the run makes ---------------------------------------------------------------

    def made(self, x: Tensor) -> None:
        """Note a new tensor: with data, it is a constant of the run (``tensor.wrap`` tells)."""
        if not isinstance(x._array, Shadow):
            x._traced = self

    def knows(self, x: Tensor) -> bool:
        """Whether a tensor with data was made in this run, or in one around it.

        One that an earlier run made, and that somebody kept, is a tensor from outside.
        """
        trace: Trace | None = None if x._traced is None else self
        while trace is not None and trace is not x._traced:
            trace = trace.below
        return trace is not None

    def values(self, x: Tensor) -> Any:
        """The array of a tensor whose numbers are taken: those of one from outside are no data."""
        if isinstance(x._array, Shadow) or self.readable(x):
            return x._array
        return Shadow(self, self.expr(x), without_values(x._array), fixed=True)

    def readable(self, x: Tensor) -> bool:
        """Whether the values of a tensor may decide what the run does."""
        return self.knows(x)

    def drawn(self, shape: tuple[int, ...], fresh: Callable[[tuple[int, ...]], np.ndarray]) -> Any:
        """Random numbers that are drawn in the run, or the error that none may be.

        The trace below is asked, too: "same" of a ``vmap`` is for its slices, and not for all calls
        of a compiled function around it.
        """
        if self.randomness != "same":
            refuse(_RANDOM[self.name])
        return fresh(shape) if self.below is None else self.below.drawn(shape, fresh)


def counted(checks: Sequence[tuple[Expr, Exception]]) -> list[Expr]:
    """At how many places each of the conditions holds."""
    return [total(where(x, 1, 0)) for x, _ in checks]


def checked(values: Sequence[Tensor], checks: Sequence[tuple[Expr, Exception]]) -> None:
    """Raise the error of a check whose value of ``counted`` is not 0; maybe later, in a trace."""
    for value, (_, error) in zip(values, checks, strict=True):
        array = value._array
        # In a trace nobody knows the numbers yet: the calls of what is traced check them.
        if isinstance(array, Shadow):
            outer = current().tracing
            assert outer is not None
            outer.checks.append((not_equal(outer.expr(value), 0), error))
        elif array.any():
            raise type(error)(*error.args)


_RANDOM = {
    "compile": "random numbers are drawn, which would be the same ones in every call",
    "vmap": "called random operation while in randomness error mode: "
    "random numbers are drawn inside; draw them outside, or use randomness='same'",
}


def requires(x: object) -> bool:
    """Whether an operand requires gradients."""
    if not isinstance(x, Tensor):
        return False
    array = x._array
    return x._rg or (isinstance(array, Shadow) and array.requires())


def _part(op: Op, rest: tuple[Expr, ...], params: tuple[object, ...], i: int, x: Expr) -> Expr:
    return op.results([x, *rest], params)[i]


def _at(places: Expr, x: Expr) -> Expr:
    return inplace.part(x, places)


def _mapped(given: object, function: Callable[[Shadow], object]) -> Any:
    if isinstance(given, Shadow):
        return function(given)
    if isinstance(given, list | tuple):
        return type(given)(_mapped(x, function) for x in given)
    if isinstance(given, dict):
        return {key: _mapped(x, function) for key, x in given.items()}
    return given
