"""Tracing: run a function of Tensors once, on shadows, and build the expression of its results.

A shadow is a tracer: an array without values.  While a trace is in force
(``modes.current().tracing``), operations, writes in place and NumPy's functions of shadows call
this module instead of computing.

*Operands.*  An operation may have three kinds of operands.  A shadow depends on the arguments, and
has an expression.  An array with data is a constant that the run created from numbers, lists or
NumPy's arrays.  A tensor from before the run, found in a closure or a global, is an input like the
arguments, with its values at each call.  A mark on each tensor created in a run separates the last
two (``made``).  Some operations read the values of an operand, to index or to sort.  They call
``tensor.values_of``, which returns a shadow for a tensor from outside: no constant depends on it.

*Errors.*  The run stands for all calls with the same signature, so it must do nothing that another
call would do differently.  Control flow by values (``if``, ``float``), shapes that depend on values
and random numbers are errors.  Writes to arguments and to tensors from outside are errors, too: the
lowered function has results, and no effects.  So are operations without an expression.  Each error
names the user's line; a trace never returns a value of the first call instead.
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
    """Return the symbol of an input of a program, the same one for each name, shape and kind.

    Equal runs therefore have the same expressions, and share a lowered program.
    """
    return _named(name, x._array.shape, KINDS[x._array.dtype.kind])


class Trace:
    """One run of a function on shadows of its arguments.

    ``outer`` are the tensors from outside that it uses, in order of first use.  ``symbols`` stand
    for the arguments, then for ``outer``.  ``below`` is the trace in whose run this one began; its
    constants are constants here, too.
    """

    def __init__(self, name: str = "compile", randomness: str = "error") -> None:
        self.name, self.randomness = name, randomness
        self.below: Trace | None = current().tracing
        self.symbols: list[Expr] = []
        self.outer: list[Tensor] = []
        # Conditions that must be false at every call, and the errors otherwise: an index out of
        # bounds, for example, is the error of a call, and the trace is none.
        self.checks: list[tuple[Expr, Exception]] = []
        # Symbols by the ids of tensors from outside, which the list ``outer`` keeps alive.
        self._found: dict[int, Expr] = {}

    # Inputs -----------------------------------------------------------------------------------

    def argument(self, x: Tensor) -> Tensor:
        """Return the Tensor that stands for an argument in the run."""
        shadow = Shadow(self, self.symbol(x), without_values(x._array), fixed=True)
        return blank(shadow, x._rg)

    def symbol(self, x: Tensor) -> Expr:
        """Add an input with the shape and kind of ``x``, and return its symbol."""
        added = input_symbol(f"x{len(self.symbols)}", x)
        self.symbols.append(added)
        return added

    def expr(self, x: object) -> Expr:
        """Return the expression of an operand; a tensor from outside becomes an input."""
        array = x._array if isinstance(x, Tensor) else x
        if isinstance(array, Shadow):
            # A shadow that outlived its run has no values, so it cannot be an input.
            if array.trace is not self:
                refuse("a tensor of another trace is used")
            return array.expr()
        if not isinstance(x, Tensor):
            return as_expr(x)
        if self.knows(x):
            return as_expr(np.array(x._array))
        known = self._found.get(id(x))
        if known is None:
            known = self._found[id(x)] = self.symbol(x)
            self.outer.append(x)
        return known

    # Operations -------------------------------------------------------------------------------

    def apply(self, op: Op, operands: Sequence[Any], params: tuple[object, ...]) -> Any:
        """Apply an operation to stand-ins and to expressions, in place of ``recording.apply``."""
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
            # A view of a shadow has a function that extracts its part again after a write.  A view
            # of a tensor from outside needs none, since neither may be written to.
            part = None if parent is None else functools.partial(_part, op, done.rest, params, i)
            fixed = op.view and parent is None
            # As in an eager run, a result without recording is a constant for derivatives.
            value = y if grad or not real else detach(y)
            shadow = Shadow(self, value, layout, parent=parent, part=part, fixed=fixed)
            if parent is not None:
                shadow.offset = parent.offset + done.offsets[i]
            rg = real and (wanted or (op.view and requires(first)))  # a view requires as its base
            outs.append(blank(shadow, rg))
        return tuple(outs) if op.outputs > 1 else outs[0]

    def through(self, name: str, call: Callable[..., Any], args: object, kwargs: object) -> Any:
        """Apply a NumPy function of shadows to expressions and to stand-ins."""
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
        """Compare two operands by one of NumPy's functions."""
        x, y = (
            Shadow(self, self.expr(t), stand_in_for(t)) if isinstance(t, Tensor) else t
            for t in (a, b)
        )
        # Check shapes first, to raise the error of an eager comparison.
        try:
            np.broadcast_shapes(np.shape(stand_in_for(a)), np.shape(stand_in_for(b)))
        except ValueError:
            shapes = [np.shape(stand_in_for(t)) for t in (a, b)]
            raise RuntimeError(misfit(kernel.__name__, *shapes)) from None
        return blank(kernel(x, y))

    def write(self, x: Tensor, compute: Callable[[Tensor], Tensor], name: str) -> Tensor:
        """Replace the value of a tensor created in the run; the counterpart of ``inplace.write``.

        No memory changes: the root of the memory gets a new expression.  Each shadow on that memory
        extracts its part when its expression is next needed (``Shadow.expr``).  So writes through
        views, and to the base of views, need no list of the shadows concerned.
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
        # A shadow without a parent preserves the old value through later writes.
        old = blank(Shadow(self, shadow.expr(), shadow.layout), x._rg)
        out = compute(old)
        inplace.check_result(x, out, name)
        # An eager write through a detached tensor changes values without changing the derivative.
        # No expression has such a derivative.
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
        """Make ``y``, a result of an inner transform, a view of another tensor.

        ``place`` is its position in the run of one slice; both tensors have ``lead`` axes before
        it.
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
        view = Shadow(
            self, shadow.expr(), layout, parent=array, part=functools.partial(_at, places)
        )
        view.offset = array.offset + place.offset
        y._array = view

    def _shadowed(self, x: Tensor) -> None:
        """Convert a constant created in the run to a shadow, which may be written to."""
        if x._traced is self and not isinstance(x._array, Shadow) and x._base is None:
            x._array = Shadow(self, self.expr(x), x._array)  # type: ignore[assignment]

    # Tensors created in the run ---------------------------------------------------------------

    def made(self, x: Tensor) -> None:
        """Mark a new tensor with data as a constant of the run; ``tensor.wrap`` calls it."""
        if not isinstance(x._array, Shadow):
            x._traced = self

    def knows(self, x: Tensor) -> bool:
        """Whether a tensor with data was created in this run, or in one around it.

        A surviving tensor of an earlier run is a tensor from outside.
        """
        trace: Trace | None = None if x._traced is None else self
        while trace is not None and trace is not x._traced:
            trace = trace.below
        return trace is not None

    def values(self, x: Tensor) -> Any:
        """Return the array of a tensor for an operation that reads values.

        It is a shadow for a tensor from outside, whose values may differ at each call.
        """
        if isinstance(x._array, Shadow) or self.readable(x):
            return x._array
        return Shadow(self, self.expr(x), without_values(x._array), fixed=True)

    def readable(self, x: Tensor) -> bool:
        """Whether the values of a tensor may decide the control flow of the run."""
        return self.knows(x)

    def drawn(self, shape: tuple[int, ...], fresh: Callable[[tuple[int, ...]], np.ndarray]) -> Any:
        """Draw random numbers in the run, or raise if the mode forbids it.

        The trace below must allow it, too: "same" of a ``vmap`` is for its slices, and not for all
        calls of a compiled function around it.
        """
        if self.randomness != "same":
            refuse(_RANDOM[self.name])
        return fresh(shape) if self.below is None else self.below.drawn(shape, fresh)


def counted(checks: Sequence[tuple[Expr, Exception]]) -> list[Expr]:
    """Return the number of elements at which each condition holds, as expressions."""
    return [total(where(x, 1, 0)) for x, _ in checks]


def checked(values: Sequence[Tensor], checks: Sequence[tuple[Expr, Exception]]) -> None:
    """Raise the error of a check whose count is not 0; inside a trace, add the check to it."""
    for value, (_, error) in zip(values, checks, strict=True):
        array = value._array
        # A trace has no values yet: the calls of the outer traced function check them.
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


def _mapped(structure: object, function: Callable[[Shadow], object]) -> Any:
    if isinstance(structure, Shadow):
        return function(structure)
    if isinstance(structure, list | tuple):
        return type(structure)(_mapped(x, function) for x in structure)
    if isinstance(structure, dict):
        return {key: _mapped(x, function) for key, x in structure.items()}
    return structure
