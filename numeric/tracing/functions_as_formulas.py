"""Functions of Tensors as formulas: what the functional transforms differentiate and batch.

A function is run once.  Outside of traces it runs eagerly, on leaves that share the memory of its
arguments, so that its Python may do what it likes with values, and its record is the formula.
Inside a trace (``compile``, ``vmap``) it is traced itself.  Either way there are expressions of the
results over symbols: of the arguments, and of the tensors that the function found elsewhere.  A
transform makes other expressions of them, lowered once, and calls these on the tensors themselves:
one recorded operation, so that transforms nest and results can be differentiated further.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from numeric.eager.dtypes import F16, INT64, default
from numeric.eager.expressions import before, expression
from numeric.eager.function_calls import FunctionBackward0, called
from numeric.eager.record import Known, Node, Record, serial
from numeric.eager.recording import TO, apply, cast
from numeric.eager.tensor import Tensor, blank, counter, edge_of
from numeric.eager.traced_arrays import Shadow
from numeric.lowering.function import Function, lower
from numeric.modes import Switch, current
from numeric.ops.views import ALIAS
from numeric.tracing.nested import flat
from numeric.tracing.trace import Trace, checked, input_symbol
from numeric.tracing.trial_runs import rounded, without_values
from symdiff.contexts import contained
from symdiff.errors import NotDifferentiable, Unsupported
from symdiff.functions.shaping import converted
from symdiff.graph import ops
from symdiff.locks import fork_safe_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numeric.eager.expressions import Formulas
    from symdiff.graph.expr import Expr

# Lowered programs that are kept: those used most recently.
_KEPT = 256


class Capture(NamedTuple):
    """What one run of a function gave: its results, and their expressions.

    ``outer``: the tensors that it found elsewhere, with ``outer_symbols``.  ``exprs`` is None where
    there are no expressions: then only the record of the eager run is known.  ``kinds``,
    ``shapes``: of the results; ``tree``: how they are nested.  ``given``: what the function ran on,
    and ``results``; ``leaves``: the former, of an eager run.  ``checks``: conditions that must hold
    nowhere, and what to say if one does.
    """

    symbols: list[Expr]
    outer: list[Tensor]
    outer_symbols: list[Expr]
    exprs: list[Expr] | None
    kinds: list[np.dtype]
    shapes: list[tuple[int, ...]]
    tree: object
    given: list[Tensor]
    results: list[Tensor]
    leaves: list[Tensor] | None = None
    checks: Sequence[tuple[Expr, Exception]] = ()

    def key(self) -> tuple[object, ...]:
        """Equal where results are the same expressions of the same symbols."""
        checks = tuple([x for x, _ in self.checks])
        return (tuple(self.exprs or ()), tuple(self.symbols), tuple(self.outer_symbols), checks)


@contained
def captured(
    call: Callable[[list[Tensor]], object], inputs: Sequence[Tensor], connected: bool = True
) -> Capture:
    """What a run of ``call(inputs)`` gives: traced inside a trace, else eager.

    ``connected``: what the function does is recorded as a function of the inputs.  That is for
    where there is no expression, and derivatives of derivatives have to follow the record.
    """
    mode = current()
    if mode.tracing is not None:
        return traced(call, inputs, inputs, Inner(mode.tracing.name, mode.tracing.randomness))
    # Records hold no Tensors: the operands of what is recorded are kept, so that those from outside
    # can be inputs.  They are told by serial numbers, which grow as records are made.
    kept: dict[tuple[Record, int], Tensor] = {}
    start = serial()
    leaves = [_stand_in(x, connected and mode.grad) for x in inputs]
    # Recorded whatever is in force around it: expressions are read from the record.
    with Switch(grad=True, inference=False, keeping=kept):
        answer = call(leaves)
    tree, tensors = flat(answer)
    symbols = [input_symbol(f"p{i}", x) for i, x in enumerate(inputs)]
    known: dict[Record, object] = {edge_of(x): s for x, s in zip(leaves, symbols, strict=True)}
    outer: list[Tensor] = []
    outer_symbols: list[Expr] = []
    exprs: list[Expr] | None = None
    try:
        ends = [(edge_of(y), y._nr) for y in tensors]
        for end, y in zip(ends, tensors, strict=True):
            # A result may be a tensor from outside that no operation took.
            kept.setdefault(end, y)
        outer, outer_symbols = _outer([end for end, _ in ends], known, kept, start)
        known_tensors = zip([*symbols, *outer_symbols], [*leaves, *outer], strict=True)
        halves = {s for s, x in known_tensors if x._array.dtype == F16}
        exprs = [expression(end, nr, known, _remembered(halves)) for end, nr in ends]
    except _NO_FORMULA:
        pass
    kinds, shapes = [y._array.dtype for y in tensors], [y._array.shape for y in tensors]
    return Capture(
        symbols, outer, outer_symbols, exprs, kinds, shapes, tree, leaves, tensors, leaves
    )


# What says that there is no expression, or no derivative of one.  As many kinds as users' own
# operations may raise; where the record serves as well, none is an error.
_NO_FORMULA = (RuntimeError, ValueError, LookupError, TypeError, Unsupported, NotDifferentiable)


# Expressions of what was recorded, by operation, parameters and operands: the next run of a
# function will ask for the same ones.
_expressions: dict[tuple[object, ...], Any] = {}
_REMEMBERED = 1024


def _remembered(halves: set[Expr]) -> Callable[[Any, list[Expr]], Formulas]:
    """How the expressions of a record are made; no data is kept alive for them.

    Conversions between dtypes, which are no part of an exact formula, are part of these.
    ``halves`` are the expressions of half precision, to which results are added.
    """

    def made(record: Any, operands: list[Expr]) -> Any:
        kind = type(record)
        if kind is TO.node:
            of, to = record.bound.kinds[0], record.bound.of.params[0]
            y = converted(operands[0], of, to)
            halves.update([y] if to == F16 else ())
            return y
        if kind is FunctionBackward0:
            ys = _kept((record.op,), operands, lambda: record.expr(operands))
            types = record.types[len(record.mask) :]
            each = ys if isinstance(ys, tuple) else (ys,)
            halves.update(y for y, (_, d) in zip(each, types, strict=True) if d == F16)
            return ys
        if kind.expr is not Node.expr:
            return record.expr(operands)
        op, params = record.bound.of.op, record.bound.of.params
        kinds = [F16 if x in halves else None for x in operands]
        many = op.outputs > 1

        def exprs() -> object:
            ys = rounded(op, operands, kinds, params)
            return ys if many else ys[0]

        ys = _kept((op, params, *kinds), operands, exprs)
        each = ys if many else (ys,)
        if op.kinds is not None:
            halves.update(y for y, d in zip(each, op.kinds, strict=True) if d == F16)
        elif F16 in kinds:
            halves.update(y for y in each if y.dtype is float)
        return ys

    return made


def _kept(what: tuple[object, ...], operands: Sequence[Expr], make: Callable[[], object]) -> Any:
    """``make()``, or what it gave for the same operation and operands before."""
    # Its numbers would be kept alive.
    if any(isinstance(x.op, ops.Constant) for x in operands):
        return make()
    key = (*what, default(), *(x.serial for x in operands))
    found = _expressions.get(key)
    if found is None:
        if len(_expressions) >= _REMEMBERED:
            _expressions.clear()
        found = _expressions[key] = make()
    return found


def _stand_in(x: Tensor, connected: bool) -> Tensor:
    """An argument as the function sees it: it requires gradients, and shares its memory.

    A leaf of the run's own, so that its record ends here, and not at what the argument was computed
    from; with the argument's counter of versions, as what writes to it is noticed outside.
    """
    if not (connected and x._rg):
        leaf = blank(x._array, x._array.dtype.kind == "f")
        leaf._v = counter(x)
        return leaf
    out: Tensor = apply(ALIAS, (x,))
    out._base = blank(x._array, True)  # changes in place are refused, as those of a leaf
    return out


def _outer(
    ends: Sequence[Record],
    known: dict[Record, object],
    kept: dict[tuple[Record, int], Tensor],
    start: int,
) -> tuple[list[Tensor], list[Expr]]:
    """The tensors that were there before the run, and their symbols, added to ``known``.

    From the results down: what has a serial number from before the run, or is a leaf, is from
    outside.  A formula is a constant of a recorded pass; it is an input if somebody used it.
    """
    found: list[Tensor] = []
    symbols: list[Expr] = []
    numbered: dict[Record, list[int]] = {}
    for owner, nr in kept:
        numbered.setdefault(owner, []).append(nr)
    seen: set[Record] = set()
    stack: list[object] = list(reversed(ends))
    while stack:
        record = stack.pop()
        if not isinstance(record, Record) or record in seen or record in known:
            continue
        seen.add(record)
        inside = isinstance(record, Known) or (isinstance(record, Node) and record.serial >= start)
        if inside and not (isinstance(record, Known) and record in numbered):
            # Operands in their order: equal runs number their inputs alike, and share a program.
            stack += reversed(list(before(record)))
            continue
        if record not in numbered:  # nothing holds the tensor any more
            raise LookupError("an operand of what was recorded is gone")
        values: dict[int, Expr] = {}
        for nr in sorted(numbered.get(record, ())):
            x = kept[record, nr]
            values[nr] = input_symbol(f"c{len(found)}", x)
            found.append(x)
            symbols.append(values[nr])
        known[record] = (
            tuple(values.get(i) for i in range(record.outputs))
            if isinstance(record, Node) and record.outputs > 1
            else values[0]
        )
    return found, symbols


# Inside traces ----------------------------------------------------------------------------------


class Inner(Trace):
    """The trace of a transform, which may stand in another one: the other's tensors are outside.

    Where none is around it, or only such ones, it is for one call.  Then arrays with data are
    inputs, not constants, so that calls with other numbers share a program; and the function may
    read the numbers of what is not mapped over, which no later call will meet.

    ``length``: how many slices it stands for, of a batch.  ``draws``: symbols of random numbers,
    and these numbers for all slices.
    """

    def __init__(self, name: str, randomness: str, length: int | None = None) -> None:
        super().__init__(name, randomness)
        self.length = length
        # Whether the run is a part of one that is kept for later calls.
        self.kept = self.below is not None and getattr(self.below, "kept", True)
        # What is found by its id lives as long, or another object could get that id.
        self._held: list[object] = []
        self.draws: list[tuple[Expr, Tensor]] = []

    def drawn(self, shape: tuple[int, ...], fresh: Callable[[tuple[int, ...]], np.ndarray]) -> Any:
        """Random numbers: for each slice others, if so asked for."""
        if self.randomness != "different":
            return super().drawn(shape, fresh)
        below = self.below
        if self.length is None:
            return fresh(shape) if below is None else below.drawn(shape, fresh)
        size = (self.length, *shape)
        whole = blank(fresh(size) if below is None else below.drawn(size, fresh))
        one = blank(np.empty(shape, whole._array.dtype))
        found = input_symbol(f"r{len(self.draws)}", one)
        self.draws.append((found, whole))
        return Shadow(self, found, one._array, fixed=True)

    def expr(self, x: object) -> Expr:
        """The expression of an operand; a tensor from outside the function becomes an input."""
        array = x._array if isinstance(x, Tensor) else x
        if isinstance(array, np.ndarray) and array.ndim and not self.kept:
            return self._input(x, array)  # a number stays a constant: formulas simplify with it
        if not isinstance(array, Shadow) or array.trace is self:
            return super().expr(x)
        found = self._found.get(id(array))
        if found is None:
            outer = x if isinstance(x, Tensor) else blank(array)
            found = self._found[id(array)] = self.symbol(outer)
            self.outer.append(outer)
        return found

    def _input(self, x: object, array: np.ndarray) -> Expr:
        """A tensor or an array with data as an input of the formula, which serves others too."""
        found = self._found.get(id(x))
        if found is None:
            # What the run made is no tensor that derivatives are followed to.
            outer = x if isinstance(x, Tensor) and x._traced is None else blank(array)
            found = self._found[id(x)] = self.symbol(outer)
            self.outer.append(outer)
            self._held.append(x)
        return found

    def readable(self, x: Tensor) -> bool:
        """Of a run that is for one call, whatever has values."""
        return super().readable(x) if self.kept else not isinstance(x._array, Shadow)


@contained
def traced(
    call: Callable[[list[Tensor]], object],
    inputs: Sequence[Tensor],
    like: Sequence[Tensor],
    trace: Trace,
    differentiated: bool = True,
) -> Capture:
    """What a run of ``call`` gives on shadows of arguments like ``like``, without any values.

    ``differentiated``: it runs with recording on, on what requires gradients.
    """
    grad = differentiated or current().grad
    shadows = []
    for x, model in zip(inputs, like, strict=True):
        shadow = Shadow(trace, trace.symbol(model), layout_of(model), fixed=True)
        real = x._array.dtype.kind == "f"
        shadows.append(blank(shadow, real and (differentiated or x._rg)))
    n = len(trace.symbols)
    with Switch(grad=grad, tracing=trace):
        answer = call(shadows)
        tree, tensors = flat(answer)
        exprs = [trace.expr(y) for y in tensors]
    kinds, shapes = [y._array.dtype for y in tensors], [y._array.shape for y in tensors]
    symbols, outer = trace.symbols[:n], trace.symbols[n:]
    known = (symbols, trace.outer, outer, exprs, kinds, shapes, tree)
    return Capture(*known, given=shadows, results=tensors, checks=trace.checks)


def layout_of(x: Tensor) -> np.ndarray:
    """An array without values that lies in memory as a tensor does."""
    array = x._array
    return without_values(array.layout if isinstance(array, Shadow) else array)


# Programs ---------------------------------------------------------------------------------------

_lock = fork_safe_lock()
_programs: OrderedDict[object, Function] = OrderedDict()


def program(key: object, build: Callable[[], tuple[Sequence[Expr], Sequence[Expr]]]) -> Function:
    """The lowered function of ``build()``, which gives outputs and inputs; one for each key."""
    with _lock:
        found = _programs.get(key)
        # Under the lock: who asks for the same program meanwhile waits, and makes no second one.
        if found is None:
            outputs, inputs = build()
            found = _programs[key] = lower(list(outputs), list(inputs))
            if len(_programs) > _KEPT:
                _programs.popitem(last=False)
        else:
            _programs.move_to_end(key)
        return found


def executed(
    function: Function,
    tensors: Sequence[Tensor],
    kinds: Sequence[np.dtype],
    checks: Sequence[tuple[Expr, Exception]] = (),
) -> list[Tensor]:
    """The results of a program on tensors, in given dtypes; recorded.

    Its last outputs are those of ``counted`` for the checks.
    """
    all_kinds = (*kinds, *[INT64] * len(checks))
    outs = list(called(function, list(tensors), {}, all_kinds))
    checked(outs[len(kinds) :], checks)
    del outs[len(kinds) :]
    return [
        y if y._array.dtype == kind else cast(y, kind) for y, kind in zip(outs, kinds, strict=True)
    ]
