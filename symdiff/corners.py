"""Kinks: where a derivative is a convention, and how to be told when one is used.

Rules give every kink a derivative (a subgradient, 0 or an even share).  The nodes that choose it,
``sign(x)`` in the derivative of ``|x|`` or ``a < b`` in that of ``maximum``, are noted when a rule
makes them, with the operands that the kink is a question of.  Graphs do not change for that: the
notes lie beside them, and go when the nodes go.  A program that is to refuse kinks looks for noted
nodes and asks about their operands.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
import weakref
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from symdiff import ops
from symdiff.algebra import PRIMITIVES, primitive, select
from symdiff.contexts import Context
from symdiff.contraction import contract
from symdiff.expr import Expr
from symdiff.leaves import number_node
from symdiff.lifting import Step, run, steps
from symdiff.node import topological
from symdiff.scalar import arity, canonical, kernel_symbol
from symdiff.vocabulary import FACTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from symdiff.node import Op

__all__ = ["Kink", "condition", "kinks", "note", "noted", "raising"]

_MODES = ("subgradient", "raise")


class _Choice(NamedTuple):
    mode: str = "subgradient"
    below: _Choice | None = None


_CONVENTIONS = _Choice()
_choice: ContextVar[_Choice] = ContextVar("kinks", default=_CONVENTIONS)


class kinks(Context):  # noqa: N801  # used as a function
    """A context that says what a derivative at a kink is: a convention, or an error.

    ``"subgradient"``, the default everywhere, takes the conventions.  A Function that is lowered
    under ``"raise"``, and ``interpret`` when it starts under it, raise NotDifferentiable, naming
    the function, the element and its value, when a derivative is evaluated at a kink of

    - abs, norm, std (0), hypot, atan2 (the origin), ``x**y`` for an expression y (at 0**0),
    - maximum, minimum (equal operands), clip (at a bound), max, min (several extremes).

    The check is made for derivatives that the Function itself takes (backward, value_and_grad,
    jacobian ...) and for those in the expressions that it was lowered from.  Values alone do not
    raise.  Jumps (sign, floor, the border of ``where``) are no kinks: their derivative leaves no
    trace; neither does an expression's second derivative of abs, which is 0.  Two limits: an
    element counts also where a selection discards it, and a value that contains the very
    comparison that a living derivative uses (``a < b`` beside ``maximum(a, b)``) is taken for
    that derivative.

    It holds for the thread or asynchronous task that enters it, may be nested, and decorates
    functions, coroutines and generators; of a generator it holds for the body, not for the consumer
    between two items.  A ``with`` in the body of a generator would hold for the consumer, too, and
    is refused, unless the generator is itself a context (``contextlib.contextmanager``).

    Raises ValueError for another mode, RuntimeError in the body of a generator.

    >>> import symdiff as sd
    >>> with sd.kinks("raise"):
    ...     raising()
    True
    """

    __slots__ = ("mode",)
    variable = _choice

    def __init__(self, mode: str) -> None:
        if mode not in _MODES:
            raise ValueError(f"kinks: {mode!r} is neither 'subgradient' nor 'raise'")
        self.mode = mode

    def changed(self, outer: _Choice) -> _Choice:
        """This mode, above ``outer``."""
        return _Choice(self.mode, outer)

    def check(self) -> None:
        """Refuse a ``with`` statement in a generator: two frames up."""
        body = sys._getframe(2)
        if body.f_code.co_flags & (inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR):
            driver = body.f_back
            if driver is None or driver.f_code.co_filename != contextlib.__file__:
                raise RuntimeError(
                    f"kinks: `with` in the generator {body.f_code.co_name} would also hold for "
                    "whoever consumes it, until it is resumed; decorate the generator function "
                    f"with @kinks({self.mode!r}), or, where it is to hold for the consumer, use "
                    "contextlib.ExitStack().enter_context"
                )


def raising() -> bool:
    """Whether kinks are to raise, here and now."""
    return _choice.get().mode == "raise"


class Kink(NamedTuple):
    """A function that a derivative was taken of, and its operands; of max and min, also itself."""

    name: str
    operands: tuple[Expr, ...]

    @property
    def called(self) -> str:
        """What users call the function."""
        facts = FACTS.get(self.name)
        return (facts and facts.called) or self.name


# When derivatives are taken -----------------------------------------------------------------------


def _tie(x: Expr, extreme: Expr) -> Expr:
    word = tuple(range(x.ndim))
    sizes = dict(enumerate(x.shape))
    ties = primitive("equal", x, contract([(extreme, word[:-1])], word, sizes))
    ones = select(ties, number_node(1), number_node(0))
    count = contract([(ones, word)], word[:-1])
    several = primitive("less", number_node(1), contract([(count, word[:-1])], word, sizes))
    return primitive("logical_and", ties, several)


# Where the functions of the vocabulary have kinks, as the steps of a formula.
_PLACES: dict[str, tuple[Step, ...]] = {
    name: steps(facts.kinks(*(kernel_symbol(k) for k in range(arity(name)))))
    for name, facts in FACTS.items()
    if facts.kinks
}
_KINKED = frozenset(PRIMITIVES[name] for name in _PLACES)
# Nodes of a partial that stand for a choice; the operands of conditions are not looked at.
_CHOOSING = frozenset(PRIMITIVES[name] for name, facts in FACTS.items() if facts.decides)

# Serial numbers of nodes, which are never used twice, to the nodes and what was noted of them.
_NOTES: dict[int, tuple[weakref.ref[Expr], list[Kink]]] = {}


def note(node: Expr, partial: Expr) -> None:
    """Note the kinks of a function that the partial derivative ``partial`` decides about."""
    op = node.op
    if not kinked(op):
        return
    found = _inside(node) if isinstance(op, ops.Pointwise) and not op.primitive else [node]
    entries = [
        Kink(x.op.name, (*x.args, x) if isinstance(x.op, ops.Opaque) else x.args) for x in found
    ]
    stop = frozenset(node.args)
    stack = [partial]
    seen = set(stack)
    while stack:
        x = stack.pop()
        if x.dtype is bool or x.op in _CHOOSING:
            _add(x, entries if found[0] is node else _before(x, entries))
            continue
        for y in x.args:
            if y not in seen and y not in stop:
                seen.add(y)
                stack.append(y)


@lru_cache(maxsize=1024)
def kinked(op: Op) -> bool:
    """Whether the derivative of ``op`` is a convention somewhere."""
    if isinstance(op, ops.Pointwise) and not op.primitive:
        return any(
            step[0] == "function" and kinked(step[1]) for step in steps(canonical(op.formula))
        )
    # An op that selects, and is not told where, compares.
    compares = isinstance(op, ops.Opaque) and op.selects and op.indices is None
    return op in _KINKED or compares


def _inside(node: Expr) -> list[Expr]:
    """The nodes with kinks of a user's formula, written out in primitives."""
    assert isinstance(node.op, ops.Pointwise)
    env = {kernel_symbol(i): x for i, x in enumerate(node.args)}
    lifted = topological([run(steps(canonical(node.op.formula)), env)])
    below = set(topological(node.args))
    return [x for x in lifted if x not in below and kinked(x.op)]


def _before(witness: Expr, entries: Sequence[Kink]) -> list[Kink]:
    """The entries that do not hold the witness itself: a note must not keep its node alive."""
    return [
        entry for entry in entries if not any(x is witness for x in topological(entry.operands))
    ]


def _add(witness: Expr, entries: Sequence[Kink]) -> None:
    serial = witness.serial
    known = _NOTES.get(serial)
    if known is None:
        # The names are defaults because globals are gone when the last nodes are.
        def forget(_: object, notes: dict[int, object] = _NOTES, serial: int = serial) -> None:  # type: ignore[assignment]
            notes.pop(serial, None)

        known = _NOTES.setdefault(serial, (weakref.ref(witness, forget), []))
    known[1].extend(entry for entry in entries if not any(_same(entry, old) for old in known[1]))


def carry(old: Expr, new: Expr) -> None:
    """Note for ``new`` what was noted of ``old``, which has become it."""
    if old is not new and old.serial in _NOTES:
        _add(new, _before(new, _NOTES[old.serial][1]))


def _same(a: Kink, b: Kink) -> bool:
    return a.name == b.name and all(x is y for x, y in zip(a.operands, b.operands, strict=True))


# When derivatives are evaluated -------------------------------------------------------------------


def noted(outputs: Iterable[Expr]) -> list[Kink]:
    """The kinks of functions whose derivatives ``outputs`` contain, each once."""
    found: dict[tuple[str, tuple[int, ...]], Kink] = {}
    for node in topological(outputs):
        for kink in _NOTES.get(node.serial, (None, ()))[1]:
            found.setdefault((kink.name, tuple(x.serial for x in kink.operands)), kink)
    return list(found.values())


def condition(kink: Kink) -> Expr:
    """Where the kink is hit, for each element of the first operand."""
    place = _PLACES.get(kink.name)
    if place is None:
        return _tie(*kink.operands)
    return run(place, {kernel_symbol(k): x for k, x in enumerate(kink.operands)})
