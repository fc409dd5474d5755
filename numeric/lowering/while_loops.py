"""How loops run that end by a condition: they are counted, then the length has a number."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.lowering import structure
from numeric.lowering.names import Emitter
from numeric.lowering.programs import of_arrays, precision
from symdiff.errors import Unsupported
from symdiff.graph.axis_lengths import Sizes, check_lengths, formulas, lengths
from symdiff.graph.leaves import named_dummy
from symdiff.graph.node import topological
from symdiff.locks import cached_property
from symdiff.transforms.batching import batched
from symdiff.transforms.sized import Sized, free_length
from symdiff.transforms.while_loops import Steps, too_many

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numeric.lowering.texts import Draft, Piece
    from symdiff.graph.expr import Expr


class Counted:
    """The number of steps, for values of init and params."""

    def __init__(self, op: Steps) -> None:
        self.of = (op.condition, op.body, op.symbols)  # not the op, which this lives as long as
        self.carry, self.most, self.error = op.carry, op.max_steps, too_many(op)
        self.outer = op.inner_lengths
        self.emitter = Emitter()
        self._together: dict[tuple[bool, ...], tuple[Any, ...] | None] = {}

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

    def together(self, many: tuple[bool, ...]) -> tuple[Callable[..., Any], ...] | None:
        """Condition and body of many loops, of which operands have one each; None if not known."""
        if many not in self._together:
            condition, body, symbols = self.of
            n = free_length(self.outer)
            wide = {
                x: named_dummy(x.name, (n, *x.shape), x.dtype)
                for x, has in zip(symbols, many, strict=True)
                if has
            }
            try:
                outputs = batched([condition, body], wide, n)
            except Unsupported:  # a function of the user's, which takes one after the other
                self._together[many] = None
            else:
                given = [wide.get(x, x) for x in symbols]
                holds = of_arrays(self.emitter, "all_hold", given, outputs[:1], False)
                step = of_arrays(self.emitter, "all_step", given, outputs[1:])
                self._together[many] = str(n), holds, step
        return self._together[many]

    def __call__(self, *operands: Any, sizes: Mapping[str, int]) -> Any:
        """An integer, or one for each loop of a batch."""
        shape = lengths(self.carry.shape, sizes)
        batch = operands[0].shape[: operands[0].ndim - len(shape)]
        dtype = precision(operands)
        if not batch:
            return np.int64(self._count(np.asarray(operands[0], dtype), operands[1:], sizes))
        many = tuple([x.ndim > s.ndim for x, s in zip(operands, self.of[2], strict=True)])
        together = self.together(many)
        if together is not None:
            counts = np.zeros(math.prod(batch), np.int64)
            rows = [
                x.reshape(-1, *x.shape[len(batch) :]) if has else x
                for x, has in zip(operands, many, strict=True)
            ]
            self._count_all(counts, [rows[0].astype(dtype), *rows[1:]], many, together, sizes)
            return counts.reshape(batch)
        counts = np.empty(batch, np.int64)
        for place, given in _each(batch, self.of[2], operands):
            counts[place] = self._count(np.asarray(given[0], dtype), given[1:], sizes)
        return counts

    def _count_all(
        self,
        counts: np.ndarray,
        operands: Sequence[Any],
        many: Sequence[bool],
        together: tuple[Any, ...],
        sizes: Mapping[str, int],
    ) -> None:
        """Those of many loops, of which each leaves when it has ended."""
        (name, holds, step), places = together, np.arange(len(counts))
        (carry, *params), count = operands, 0
        outer = {outer: sizes[outer] for outer in self.outer}
        known = Sizes({**outer, name: len(places)})
        while len(places):
            going = np.broadcast_to(holds(carry, *params, known)[0], places.shape)
            if not going.all():
                places, carry = places[going], carry[going]
                params = [x[going] if has else x for x, has in zip(params, many[1:], strict=True)]
                known = Sizes({**outer, name: len(places)})
                continue
            if count == self.most:
                raise self._error()
            (found,) = step(carry, *params, known)
            carry, count = np.broadcast_to(found, carry.shape), count + 1
            counts[places] = count

    def _error(self) -> RuntimeError:
        return self.error.__class__(*self.error.args)

    def _count(self, carry: Any, params: Sequence[Any], sizes: Mapping[str, int]) -> int:
        shape, dtype, carry = carry.shape, carry.dtype, carry[()]
        count = 0
        while self.holds(carry, *params, sizes)[0]:
            if count == self.most:
                raise self._error()
            (carry,) = self.step(carry, *params, sizes)
            if np.shape(carry) != shape:  # a number for an array of equal elements
                carry = np.full(shape, carry, dtype)
            count += 1
        return count


class Inside:
    """The expression inside, for the value of its length and of its symbols."""

    def __init__(self, op: Sized) -> None:
        self.symbols, self.inner, self.own = op.symbols, op.inner, str(op.own)
        nodes = topological([op.inner, *op.symbols])
        self.outer = op.inner_lengths
        self.asked = {dim: why for dim, why in formulas(nodes).items() if op.own in dim.names}
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
            if self.asked:
                check_lengths("a length that is known when it runs", self.asked, own)
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
