"""Loops with a condition, whose number of steps only a run shows.

Two nodes form such a loop.  ``Steps`` runs the loop and counts: its value is an integer and has no
derivative.  ``Sized`` is the last carry of a scan with this number of steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from symdiff.calculus.derivative import detach
from symdiff.functions.elementwise import where
from symdiff.functions.shaping import arange, squeeze
from symdiff.graph import ops
from symdiff.graph.algebra import as_real, opaque
from symdiff.graph.axis_lengths import names
from symdiff.graph.expr import Expr
from symdiff.graph.leaves import named_dummy
from symdiff.graph.lengths import Length
from symdiff.graph.node import intern_op, topological
from symdiff.transforms import batching
from symdiff.transforms.bodies import (
    WithBodies,
    bind_lengths,
    bound_symbol,
    replaced,
)
from symdiff.transforms.scans import captured, part, trajectory
from symdiff.transforms.sized import Held, add_batch_axes, free_length, sized

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from symdiff.graph.node import Dim, Shape


def repeated(
    condition: Expr, body: Expr, carry: Expr, init: Expr, max_steps: int
) -> tuple[Expr, Expr]:
    """The first of init, ``body(init)``, .. that fails the condition, and its index.

    Condition and body are over carry, a symbol of init's shape that no operand contains.  Other
    parts that they contain become operands.
    """
    (condition, body), captures = captured([condition, as_real(body)], carry)
    params = [*captures.values()]
    op = steps_op(condition, body, carry, params, max_steps)
    count = opaque(op, init, *captures)
    # The number of steps is piecewise constant: derivatives are those of a scan of fixed length.
    start, n = named_dummy("init", carry.shape), free_length(names(topological([body, carry])))
    last = _last_carry(trajectory(body, carry, start, {}, {}, n), n)
    operands = {start: init, **{symbol: x for x, symbol in captures.items()}}
    held = lambda: _last_carry_of_batch(body, carry, start, params, n)  # noqa: E731
    return sized(last, n, operands, count, held), count


def _last_carry(path: Expr, n: Length) -> Expr:
    return squeeze(part(path, n, n + 1), 0)


def _last_carry_of_batch(
    body: Expr, carry: Expr, start: Expr, params: Sequence[Expr], n: Length
) -> Held:
    """The last carry of n steps; only the first ``count`` of them change it.

    The body runs in all n steps, so it needs valid operands everywhere.  After the end of its loop
    it gets the first carry.  In a loop without steps it gets the operands of another loop.
    """
    count, t = named_dummy("count", (), int), named_dummy("t", (), int)
    stand_ins = {x: named_dummy("other", x.shape, x.dtype) for x in (start, *params)}
    first, *safe = (where(count > 0, x, other) for x, other in stand_ins.items())
    runs = t < count
    # Detached: unused steps must not add to the derivative by the first carry.
    at = {carry: where(runs, carry, detach(first)), **dict(zip(params, safe, strict=True))}
    (stepped,) = replaced([body], at)
    held = where(runs, stepped, carry)
    path = trajectory(held, carry, start, {t: arange(0, n)}, {}, n)
    return Held(_last_carry(path, n), count, {other: x for x, other in stand_ins.items()})


# The number of steps ------------------------------------------------------------------------------


class Steps(WithBodies):
    """The number of times to apply ``body`` to a carry until ``condition`` is false.

    Operands: init and params.  If init has leading axes, each element along them is a loop that
    ends on its own.  A param then has all of these axes or none.
    """

    __slots__ = ("body", "carry", "condition", "max_steps", "params")
    fields = ("max_steps",)
    name = "steps"
    kind = int

    def __init__(
        self,
        condition: Expr,
        body: Expr,
        carry: Expr,
        params: tuple[Expr, ...],
        max_steps: int,
    ) -> None:
        self.condition, self.body, self.carry, self.params = condition, body, carry, params
        self.max_steps = max_steps

    @property
    def inside(self) -> tuple[Expr, ...]:
        return (self.condition, self.body)

    @property
    def symbols(self) -> tuple[Expr, ...]:
        """The bound symbols, in the order of the operands."""
        return (self.carry, *self.params)

    def result(self, *shapes: Shape) -> Shape:
        return shapes[0][: len(shapes[0]) - self.carry.ndim]

    def called(self, shape: Shape) -> tuple[str, list[str]]:
        symbols = ", ".join(x.name for x in self.symbols)
        functions = [f"lambda {symbols}: {x}" for x in (self.condition, self.body)]
        return self.name, [*functions, f"max_steps={self.max_steps}"]

    def bound(self, lengths: Callable[[Shape], Shape]) -> ops.Opaque:
        sizes = self.known_lengths(lengths)
        if not sizes:
            return self
        inside, (carry, *params) = bind_lengths("while_loop", self.inside, self.symbols, sizes)
        condition, body = inside
        return steps_op(condition, body, carry, params, self.max_steps)


def steps_op(
    condition: Expr, body: Expr, carry: Expr, params: Sequence[Expr], max_steps: int
) -> Steps:
    """The op of a condition and a body over any symbols, renamed to the common bound symbols."""
    roles = [("c", 0, carry), *(("p", k, p) for k, p in enumerate(params))]
    place = {symbol: bound_symbol(role, k, symbol) for role, k, symbol in roles}
    condition, body = replaced([condition, body], place)
    inner = place[carry], tuple([place[p] for p in params])
    key = (Steps, condition, body, *inner, max_steps)
    return intern_op(key, lambda: Steps(condition, body, *inner, max_steps))


def too_many(op: Steps) -> RuntimeError:
    """The error of a loop that has not ended within ``max_steps``."""
    return RuntimeError(
        f"while_loop: the condition still holds after max_steps={op.max_steps} steps; raise "
        "max_steps, or stop where the carry no longer changes"
    )


def _batch_steps(node: Expr, args: list[tuple[Expr, bool]], length: Dim) -> Expr:
    """Run each loop once for each element of the batch."""
    op = node.op
    assert isinstance(op, Steps)
    return opaque(op, *add_batch_axes(node, op.symbols, args, length, node.ndim, 0))


batching.register(Steps, _batch_steps)
