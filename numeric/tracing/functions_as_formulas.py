"""Turn functions of Tensors into formulas, for the functional transforms.

A function runs once.  Outside of traces it runs eagerly, on leaves that share the memory of its
arguments: its Python code may read values, and its record is the formula.  Inside a trace
(``compile``, ``vmap``) it is traced itself.

In both cases the results become expressions of symbols: one for each argument, and one for each
tensor that the function finds elsewhere.  A transform derives other expressions, lowers them once
and calls the program on the tensors.  The call is one recorded operation, so that transforms nest
and results can be differentiated again.
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

# The number of most recently used lowered programs in the cache.
_KEPT = 256


class Capture(NamedTuple):
    """The results of one run of a function, and their expressions.

    ``symbols`` stand for the inputs, ``outer_symbols`` for ``outer``, the tensors found elsewhere.
    ``exprs`` are the expressions of the results, or None if there is only the record of an eager
    run.  ``kinds``, ``shapes`` and ``tree`` are the dtypes, shapes and nesting of the results.
    ``given`` are the arguments of the run, ``results`` its results, and ``leaves`` the arguments
    again if the run was eager.  ``checks`` are conditions that must be false everywhere, each with
    the error to raise otherwise.
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
        """Return a key that is equal for the same expressions of the same symbols."""
        checks = tuple([x for x, _ in self.checks])
        return (tuple(self.exprs or ()), tuple(self.symbols), tuple(self.outer_symbols), checks)


@contained
def captured(
    call: Callable[[list[Tensor]], object], inputs: Sequence[Tensor], connected: bool = True
) -> Capture:
    """Run ``call(inputs)``, traced inside a trace and else eagerly, and capture its formula.

    ``connected`` records the run as a function of the inputs.  A function without an expression
    needs that for derivatives of derivatives, which follow the record.
    """
    mode = current()
    if mode.tracing is not None:
        return traced(call, inputs, inputs, Inner(mode.tracing.name, mode.tracing.randomness))
    # Records hold no Tensors: save the operands of operations, so that those from outside can be
    # inputs.  Serial numbers identify them, because they grow from record to record.
    operands: dict[tuple[Record, int], Tensor] = {}
    start = serial()
    leaves = [_stand_in(x, connected and mode.grad) for x in inputs]
    # Record even under no_grad: the expressions come from the record.
    with Switch(grad=True, inference=False, keeping=operands):
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
            operands.setdefault(end, y)
        outer, outer_symbols = _outer([end for end, _ in ends], known, operands, start)
        known_tensors = zip([*symbols, *outer_symbols], [*leaves, *outer], strict=True)
        halves = {s for s, x in known_tensors if x._array.dtype == F16}
        exprs = [expression(end, nr, known, _remembered(halves)) for end, nr in ends]
    except _NO_FORMULA:
        pass
    kinds, shapes = [y._array.dtype for y in tensors], [y._array.shape for y in tensors]
    return Capture(
        symbols, outer, outer_symbols, exprs, kinds, shapes, tree, leaves, tensors, leaves
    )


# Errors that mean "no expression" or "no derivative".  The list is wide because user-defined
# operations may raise any of them; the record then serves instead.
_NO_FORMULA = (RuntimeError, ValueError, LookupError, TypeError, Unsupported, NotDifferentiable)


# Expressions of recorded operations by operation, parameters and operands: the next run of a
# function needs the same ones.
_expressions: dict[tuple[object, ...], Any] = {}
_REMEMBERED = 1024


def _remembered(halves: set[Expr]) -> Callable[[Any, list[Expr]], Formulas]:
    """Return a function that builds the expressions of a record, and caches them without data.

    The expressions include conversions between dtypes, which an exact formula leaves out.
    ``halves`` is the set of expressions of half precision; the function adds results to it.
    """

    def build(record: Any, operands: list[Expr]) -> Any:
        kind = type(record)
        if kind is TO.node:
            of, to = record.bound.kinds[0], record.bound.of.params[0]
            y = converted(operands[0], of, to)
            halves.update([y] if to == F16 else ())
            return y
        if kind is FunctionBackward0:
            ys = _cached((record.op,), operands, lambda: record.expr(operands))
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

        ys = _cached((op, params, *kinds), operands, exprs)
        each = ys if many else (ys,)
        if op.kinds is not None:
            halves.update(y for y, d in zip(each, op.kinds, strict=True) if d == F16)
        elif F16 in kinds:
            halves.update(y for y in each if y.dtype is float)
        return ys

    return build


def _cached(what: tuple[object, ...], operands: Sequence[Expr], make: Callable[[], object]) -> Any:
    """Return ``make()``, cached by operation and operands."""
    # The cache would keep the data of constants alive.
    if any(isinstance(x.op, ops.Constant) for x in operands):
        return make()
    key = (*what, default(), *(x.serial for x in operands))
    exprs = _expressions.get(key)
    if exprs is None:
        if len(_expressions) >= _REMEMBERED:
            _expressions.clear()
        exprs = _expressions[key] = make()
    return exprs


def _stand_in(x: Tensor, connected: bool) -> Tensor:
    """Return the tensor that the function receives for an argument, on the same memory.

    It is a new leaf that requires gradients, so that the record of the run ends at it, and not at
    the operands of the argument.  It has the argument's version counter: code outside detects a
    write to it.
    """
    if not (connected and x._rg):
        leaf = blank(x._array, x._array.dtype.kind == "f")
        leaf._v = counter(x)
        return leaf
    out: Tensor = apply(ALIAS, (x,))
    out._base = blank(x._array, True)  # a view of a leaf, so that changes in place raise
    return out


def _outer(
    ends: Sequence[Record],
    known: dict[Record, object],
    operands: dict[tuple[Record, int], Tensor],
    start: int,
) -> tuple[list[Tensor], list[Expr]]:
    """Return the tensors that existed before the run, and their symbols; add these to ``known``.

    The walk begins at the results.  A record is from outside if it is a leaf, or if its serial
    number is from before the run.  A ``Known`` record is a constant of a recorded pass; it is an
    input if an operation used its tensor.
    """
    outer: list[Tensor] = []
    symbols: list[Expr] = []
    numbered: dict[Record, list[int]] = {}
    for owner, nr in operands:
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
            # Keep the order of operands: equal runs then number their inputs equally, and share a
            # program.
            stack += reversed(list(before(record)))
            continue
        if record not in numbered:  # the tensor was freed
            raise LookupError("an operand of a recorded operation was freed")
        values: dict[int, Expr] = {}
        for nr in sorted(numbered.get(record, ())):
            x = operands[record, nr]
            values[nr] = input_symbol(f"c{len(outer)}", x)
            outer.append(x)
            symbols.append(values[nr])
        known[record] = (
            tuple(values.get(i) for i in range(record.outputs))
            if isinstance(record, Node) and record.outputs > 1
            else values[0]
        )
    return outer, symbols


# Inside traces ----------------------------------------------------------------------------------


class Inner(Trace):
    """The trace of a transform.  It may run inside another trace, whose tensors are from outside.

    If no ``compile`` is around it, the trace serves one call.  Then arrays with data are inputs,
    not constants, so that calls with other numbers share a program.  The function may then also
    read values of tensors that are not mapped over, since no later call uses the trace.

    ``length`` is the number of slices of a batch.  ``draws`` has symbols of random numbers, and
    these numbers for all slices.
    """

    def __init__(self, name: str, randomness: str, length: int | None = None) -> None:
        super().__init__(name, randomness)
        self.length = length
        # Whether the run is a part of a trace that serves later calls.
        self.kept = self.below is not None and getattr(self.below, "kept", True)
        # Keep objects alive that are looked up by their id: another object could get a freed id.
        self._held: list[object] = []
        self.draws: list[tuple[Expr, Tensor]] = []

    def drawn(self, shape: tuple[int, ...], fresh: Callable[[tuple[int, ...]], np.ndarray]) -> Any:
        """Draw random numbers; with the mode "different", other ones for each slice."""
        if self.randomness != "different":
            return super().drawn(shape, fresh)
        below = self.below
        if self.length is None:
            return fresh(shape) if below is None else below.drawn(shape, fresh)
        size = (self.length, *shape)
        numbers = blank(fresh(size) if below is None else below.drawn(size, fresh))
        one = blank(np.empty(shape, numbers._array.dtype))
        number = input_symbol(f"r{len(self.draws)}", one)
        self.draws.append((number, numbers))
        return Shadow(self, number, one._array, fixed=True)

    def expr(self, x: object) -> Expr:
        """Return the expression of an operand; a tensor from outside becomes an input."""
        array = x._array if isinstance(x, Tensor) else x
        if isinstance(array, np.ndarray) and array.ndim and not self.kept:
            return self._input(x, array)  # a number stays a constant: formulas simplify with it
        if not isinstance(array, Shadow) or array.trace is self:
            return super().expr(x)
        known = self._found.get(id(array))
        if known is None:
            outer = x if isinstance(x, Tensor) else blank(array)
            known = self._found[id(array)] = self.symbol(outer)
            self.outer.append(outer)
        return known

    def _input(self, x: object, array: np.ndarray) -> Expr:
        """Return the symbol of a tensor or an array with data, which becomes an input."""
        known = self._found.get(id(x))
        if known is None:
            # A tensor created in the run gets no gradient: pass only its array.
            outer = x if isinstance(x, Tensor) and x._traced is None else blank(array)
            known = self._found[id(x)] = self.symbol(outer)
            self.outer.append(outer)
            self._held.append(x)
        return known

    def readable(self, x: Tensor) -> bool:
        """Whether values may decide the control flow; all may if the trace serves one call."""
        return super().readable(x) if self.kept else not isinstance(x._array, Shadow)


@contained
def traced(
    call: Callable[[list[Tensor]], object],
    inputs: Sequence[Tensor],
    like: Sequence[Tensor],
    trace: Trace,
    differentiated: bool = True,
) -> Capture:
    """Run ``call`` on shadows of arguments like ``like``, without values, and capture its formula.

    With ``differentiated`` it runs with recording on, and arguments require gradients.
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
    """Return an array without values that has a tensor's layout in memory."""
    array = x._array
    return without_values(array.layout if isinstance(array, Shadow) else array)


# Programs ---------------------------------------------------------------------------------------

_lock = fork_safe_lock()
_programs: OrderedDict[object, Function] = OrderedDict()


def program(key: object, build: Callable[[], tuple[Sequence[Expr], Sequence[Expr]]]) -> Function:
    """Return the lowered function of ``build()``, a pair of outputs and inputs, cached by key."""
    with _lock:
        function = _programs.get(key)
        # Build under the lock: another thread that needs the same program waits for this one.
        if function is None:
            outputs, inputs = build()
            function = _programs[key] = lower(list(outputs), list(inputs))
            if len(_programs) > _KEPT:
                _programs.popitem(last=False)
        else:
            _programs.move_to_end(key)
        return function


def executed(
    function: Function,
    tensors: Sequence[Tensor],
    kinds: Sequence[np.dtype],
    checks: Sequence[tuple[Expr, Exception]] = (),
) -> list[Tensor]:
    """Call a program on tensors and return its results in these dtypes; the call is recorded.

    The last outputs of the program are the expressions of ``counted`` for the checks.
    """
    all_kinds = (*kinds, *[INT64] * len(checks))
    outs = list(called(function, list(tensors), {}, all_kinds))
    checked(outs[len(kinds) :], checks)
    del outs[len(kinds) :]
    return [
        y if y._array.dtype == kind else cast(y, kind) for y, kind in zip(outs, kinds, strict=True)
    ]
