"""How loops run that end by a condition: they are counted, then the length has a number."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.lowering import structure
from numeric.lowering.names import Emitter
from numeric.lowering.programs import of_arrays, precision
from symdiff.graph.axis_lengths import Sizes, lengths, names
from symdiff.graph.node import topological
from symdiff.transforms.while_loops import Sized, Steps, too_many

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numeric.lowering.texts import Draft, Piece
    from symdiff.graph.expr import Expr


class Counted:
    """The number of steps, for values of init and params."""

    def __init__(self, op: Steps) -> None:
        self.of = (op.condition, op.body, op.symbols)  # not the op, which this lives as long as
        self.carry, self.most, self.error = op.carry, op.max_steps, too_many(op)
        self.emitter = Emitter()

    def _program(self, name: str, output: Expr, real: bool) -> Callable[..., Sequence[Any]]:
        return of_arrays(self.emitter, name, self.of[2], [output], real)

    @cached_property
    def holds(self) -> Callable[..., Sequence[Any]]:
        """The condition, of carry, params and the lengths of axes."""
        return self._program("holds", self.of[0], False)

    @cached_property
    def step(self) -> Callable[..., Sequence[Any]]:
        """The body, of the same."""
        return self._program("step", self.of[1], True)

    def __call__(self, *operands: Any, sizes: Mapping[str, int]) -> Any:
        """An integer, or one for each loop of a batch."""
        shape = lengths(self.carry.shape, sizes)
        batch = operands[0].shape[: operands[0].ndim - len(shape)]
        counts = np.empty(batch, np.int64)
        dtype = precision(operands)
        for place, given in _each(batch, self.of[2], operands):
            counts[place] = self._count(np.asarray(given[0], dtype), given[1:], sizes)
        return counts[()]

    def _count(self, carry: Any, params: Sequence[Any], sizes: Mapping[str, int]) -> int:
        shape, dtype, carry = carry.shape, carry.dtype, carry[()]
        count = 0
        while self.holds(carry, *params, sizes)[0]:
            if count == self.most:
                raise self.error.__class__(*self.error.args)
            (carry,) = self.step(carry, *params, sizes)
            if np.shape(carry) != shape:  # a number for an array of equal elements
                carry = np.full(shape, carry, dtype)
            count += 1
        return count


class Inside:
    """The expression inside, for the value of its length and of its symbols."""

    def __init__(self, op: Sized) -> None:
        self.symbols, self.inner, self.own = op.symbols, op.inner, str(op.own)
        self.outer = [n for n in names(topological([op.inner, *op.symbols])) if n != self.own]
        self.emitter = Emitter()

    @cached_property
    def program(self) -> Callable[..., Sequence[Any]]:
        """Of the values of symbols, and of the lengths of axes."""
        return of_arrays(self.emitter, "inside", self.symbols, [self.inner])

    def __call__(self, count: Any, *operands: Any, sizes: Mapping[str, int]) -> np.ndarray:
        """An array of its own."""
        known = Sizes({name: sizes[name] for name in self.outer})
        shape = lengths(self.inner.shape, known)
        found = np.empty(count.shape + shape, precision(operands))
        for place, given in _each(count.shape, self.symbols, operands):
            # A length of its own for each: formulas of it are remembered there.
            own = Sizes({**{name: known[name] for name in self.outer}, self.own: int(count[place])})
            (found[place],) = self.program(*given, own)
        return found


def _each(batch: tuple[int, ...], symbols: Sequence[Expr], operands: Sequence[Any]) -> Any:
    """Each place of a batch, with what the operands have there that have its axes."""
    if not batch:
        yield (), operands
        return
    pairs = list(zip(operands, symbols, strict=True))
    for place in np.ndindex(batch):
        yield place, [x[place] if x.ndim > symbol.ndim else x for x, symbol in pairs]


@structure.register(Steps)
def _steps(op: Steps, node: Expr, d: Draft, *xs: Piece) -> Piece:
    return structure.call(
        d, "steps", structure.once_for(op, lambda: Counted(op)), *xs, sizes="sizes"
    )


@structure.register(Sized)
def _sized(op: Sized, node: Expr, d: Draft, *xs: Piece) -> Piece:
    return structure.call(
        d, "sized", structure.once_for(op, lambda: Inside(op)), *xs, sizes="sizes"
    )
