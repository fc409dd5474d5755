"""Functions of Tensors as formulas: what the functional transforms differentiate and batch.

A function is run once.  Outside of traces it runs eagerly, on leaves that share the memory of its
arguments, so that its Python may do what it likes with values, and its record is the formula.
Inside a trace (``compile``, ``vmap``) it is traced itself.  Either way there are expressions of the
results over symbols: of the arguments, and of the tensors that the function found elsewhere.  A
transform makes other expressions of them, lowered once, and calls these on the tensors themselves:
one recorded operation, so that transforms nest and results can be differentiated further.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from numeric.autograd import derivatives as autograd
from numeric.calls import FunctionBackward0, called
from numeric.dtypes import F16, INT64, default
from numeric.formulas import before, expression
from numeric.function import Function, lower
from numeric.graph import AccumulateGrad, Node, Record, serial
from numeric.graph import Formula as Known
from numeric.modes import Switch, current
from numeric.ops.rearranging import stack
from numeric.ops.shaping import ALIAS
from numeric.recording import TO, apply, cast
from numeric.refusals import refuse
from numeric.shadows import Shadow
from numeric.structures import flat
from numeric.tensors import Tensor, blank, counter, edge_of, wrap
from numeric.tracing import Trace, checked, counted
from numeric.trial_runs import rounded, without_values
from symdiff import derivative, ops
from symdiff.arrays import converted
from symdiff.errors import NotDifferentiable, Unsupported
from symdiff.leaves import symbol
from symdiff.locks import fork_safe_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from symdiff.expr import Expr

# Lowered programs that are kept: those used most recently.
_KEPT = 256

_KINDS = {"f": float, "b": bool}


class Formula(NamedTuple):
    """A function's results as expressions.

    ``outer``: the tensors that it found elsewhere, with ``outer_symbols``.  ``outs`` is None where
    there are no expressions: then only the eager run is known.  ``kinds``, ``shapes``: of the
    results; ``tree``: how they are nested.  ``given``: what the function ran on, and ``results``;
    ``leaves``: the former, of an eager run.  ``checks``: conditions that must hold nowhere, and
    what to say if one does.
    """

    symbols: list[Expr]
    outer: list[Tensor]
    outer_symbols: list[Expr]
    outs: list[Expr] | None
    kinds: list[Any]
    shapes: list[tuple[int, ...]]
    tree: Any
    given: list[Tensor]
    results: list[Tensor]
    leaves: list[Tensor] | None = None
    checks: Sequence[tuple[Expr, str]] = ()

    def key(self) -> tuple[Any, ...]:
        """Equal for formulas that are the same expressions of the same symbols."""
        checks = tuple([x for x, _ in self.checks])
        return (tuple(self.outs or ()), tuple(self.symbols), tuple(self.outer_symbols), checks)


def formula(
    call: Callable[[list[Tensor]], Any], inputs: Sequence[Tensor], connected: bool = True
) -> Formula:
    """The results of ``call(inputs)`` as expressions of the inputs.

    ``connected``: what the function does is recorded as a function of the inputs.
    """
    mode = current()
    if mode.tracing is not None:
        return traced(call, inputs, inputs, Inner(mode.tracing.name, mode.tracing.randomness))
    kept: dict[Any, Tensor] = {}
    start = serial()
    leaves = [_stand_in(x, connected and mode.grad) for x in inputs]
    with Switch(grad=True, inference=False, keeping=kept):
        answer = call(leaves)
    tree, tensors = flat(answer)
    symbols = [_symbol(f"p{i}", x) for i, x in enumerate(inputs)]
    known: dict[Any, Any] = {edge_of(x): s for x, s in zip(leaves, symbols, strict=True)}
    outer: list[Tensor] = []
    outer_symbols: list[Expr] = []
    outs: list[Expr] | None = None
    try:
        ends = [(edge_of(y), y._nr) for y in tensors]
        for end, y in zip(ends, tensors, strict=True):
            kept.setdefault(end, y)
        outer, outer_symbols = _outer([end for end, _ in ends], known, kept, start)
        known_tensors = zip([*symbols, *outer_symbols], [*leaves, *outer], strict=True)
        halves = {s for s, x in known_tensors if x._array.dtype == F16}
        outs = [expression(end, nr, known, _remembered(halves)) for end, nr in ends]
    except _NO_FORMULA:
        pass
    kinds, shapes = [y._array.dtype for y in tensors], [y._array.shape for y in tensors]
    return Formula(
        symbols, outer, outer_symbols, outs, kinds, shapes, tree, leaves, tensors, leaves
    )


# What says that there is no expression, or no derivative of one.
_NO_FORMULA = (RuntimeError, ValueError, LookupError, TypeError, Unsupported, NotDifferentiable)


# Expressions of what was recorded, by operation, parameters and operands: the next run of a
# function will ask for the same ones.
_expressions: dict[Any, Any] = {}
_REMEMBERED = 1024


def _remembered(halves: set[Expr]) -> Callable[[Any, list[Expr]], Any]:
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

        def exprs() -> Any:
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


def _kept(what: tuple[Any, ...], operands: Sequence[Expr], make: Callable[[], Any]) -> Any:
    """``make()``, or what it gave for the same operation and operands before."""
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
    """An argument as the function sees it: it requires gradients, and shares its memory."""
    if not (connected and x._rg):
        leaf = blank(x._array, x._array.dtype.kind == "f")
        leaf._v = counter(x)
        return leaf
    out: Tensor = apply(ALIAS, (x,))
    out._base = blank(x._array, True)  # changes in place are refused, as those of a leaf
    return out


def _symbol(name: str, x: Any) -> Expr:
    return _named(name, x._array.shape, _KINDS.get(x._array.dtype.kind, int))


@functools.lru_cache(maxsize=4096)
def _named(name: str, shape: tuple[int, ...], kind: type) -> Expr:
    return symbol(name, shape, kind)


def _outer(
    ends: Sequence[Record], known: dict[Any, Any], kept: dict[Any, Tensor], start: int
) -> tuple[list[Tensor], list[Expr]]:
    """The tensors that were there before the run, and their symbols, added to ``known``."""
    found: list[Tensor] = []
    symbols: list[Expr] = []
    numbered: dict[Any, list[int]] = {}
    for record, nr in kept:
        numbered.setdefault(record, []).append(nr)
    seen: set[Any] = set()
    stack: list[Any] = list(reversed(ends))
    while stack:
        record = stack.pop()
        if not isinstance(record, Record) or record in seen or record in known:
            continue
        seen.add(record)
        inside = isinstance(record, Known) or (not record.is_leaf and record.serial >= start)  # type: ignore[attr-defined]
        if inside and not (isinstance(record, Known) and record in numbered):
            stack += reversed(list(before(record)))
            continue
        if record not in numbered:  # nothing holds the tensor any more
            raise LookupError("an operand of what was recorded is gone")
        values: dict[int, Expr] = {}
        for nr in sorted(numbered.get(record, ())):
            x = kept[record, nr]
            values[nr] = _symbol(f"c{len(found)}", x)
            found.append(x)
            symbols.append(values[nr])
        many = getattr(record, "outputs", 1) > 1
        known[record] = (
            tuple(values.get(i) for i in range(record.outputs)) if many else values[0]  # type: ignore[attr-defined]
        )
    return found, symbols


# Inside traces ----------------------------------------------------------------------------------


class Inner(Trace):
    """A trace within a trace: the other's tensors come from outside.

    ``length``: how many slices it stands for, of a batch.  ``below``: the other trace.  ``draws``:
    symbols of random numbers, and these numbers for all slices.
    """

    def __init__(self, name: str, randomness: str, length: int | None = None) -> None:
        super().__init__(name, randomness)
        self.length = length
        # Whether the run is kept for later calls, so that no values may get into it.
        self.kept = self.below is not None and getattr(self.below, "kept", True)
        self._held: list[Any] = []
        self.draws: list[tuple[Expr, Tensor]] = []

    def drawn(self, shape: tuple[int, ...], fresh: Callable[[tuple[int, ...]], Any]) -> Any:
        """Random numbers: for each slice others, if so asked for."""
        if self.randomness != "different":
            return super().drawn(shape, fresh)
        below = self.below
        if self.length is None:
            return fresh(shape) if below is None else below.drawn(shape, fresh)
        size = (self.length, *shape)
        whole = blank(fresh(size) if below is None else below.drawn(size, fresh))
        kind = _KINDS.get(whole._array.dtype.kind, int)
        found = _named(f"r{len(self.draws)}", shape, kind)
        self.draws.append((found, whole))
        return Shadow(self, found, np.empty(shape, whole._array.dtype), fixed=True)

    def expr(self, x: Any) -> Expr:
        """The expression of an operand; a tensor from outside the function becomes an input."""
        array = x._array if isinstance(x, Tensor) else x
        if isinstance(array, np.ndarray) and array.ndim and not self.kept:
            return self._input(x, array)
        if not isinstance(array, Shadow) or array.trace is self:
            return super().expr(x)
        found = self._found.get(id(array))
        if found is None:
            outer = x if isinstance(x, Tensor) else blank(array)  # type: ignore[arg-type]
            found = self._found[id(array)] = self._symbol(outer)
            self.outer.append(outer)
        return found

    def _input(self, x: Any, array: Any) -> Expr:
        """A tensor or an array with data as an input of the formula, which serves others too."""
        found = self._found.get(id(x))
        if found is None:
            fixed = not isinstance(x, Tensor) or x._traced is not None
            outer = blank(array) if fixed else x
            found = self._found[id(x)] = self._symbol(outer)
            self.outer.append(outer)
            self._held.append(x)
        return found

    def readable(self, x: Tensor) -> bool:
        """Of a run that is for one call, whatever has values."""
        return super().readable(x) if self.kept else not isinstance(x._array, Shadow)


def traced(
    call: Callable[[list[Tensor]], Any],
    inputs: Sequence[Tensor],
    like: Sequence[Any],
    trace: Trace,
    differentiated: bool = True,
) -> Formula:
    """The results of ``call`` on arguments like ``like``, as expressions, without any values.

    ``differentiated``: it runs with recording on, on what requires gradients.
    """
    grad = differentiated or current().grad
    shadows = []
    for x, model in zip(inputs, like, strict=True):
        shadow = Shadow(trace, trace._symbol(model), layout_of(model), fixed=True)
        real = x._array.dtype.kind == "f"
        shadows.append(blank(shadow, real and (differentiated or x._rg)))  # type: ignore[arg-type]
    n = len(trace.symbols)
    with Switch(grad=grad, tracing=trace):
        answer = call(shadows)
        tree, tensors = flat(answer)
        outs = [trace.expr(y) for y in tensors]
    kinds, shapes = [y._array.dtype for y in tensors], [y._array.shape for y in tensors]
    symbols, outer = trace.symbols[:n], trace.symbols[n:]
    return Formula(
        symbols, trace.outer, outer, outs, kinds, shapes, tree, shadows, tensors, None, trace.checks
    )


def layout_of(x: Tensor) -> Any:
    """An array without values that lies in memory as a tensor does."""
    array: Any = x._array
    return without_values(array.layout if isinstance(array, Shadow) else array)


# Programs ---------------------------------------------------------------------------------------

_lock = fork_safe_lock()
_programs: OrderedDict[Any, Function] = OrderedDict()


def program(key: Any, build: Callable[[], tuple[Sequence[Expr], Sequence[Expr]]]) -> Function:
    """The lowered function of ``build()``, which gives outputs and inputs; one for each key."""
    with _lock:
        found = _programs.get(key)
        if found is None:
            outputs, inputs = build()
            found = _programs[key] = lower(list(outputs), list(inputs))
            if len(_programs) > _KEPT:
                _programs.popitem(last=False)
        else:
            _programs.move_to_end(key)
        return found


def _with_checks(
    f: Formula, outputs: Sequence[Expr], inputs: Sequence[Expr]
) -> tuple[Sequence[Expr], Sequence[Expr]]:
    return [*outputs, *counted(f.checks)], inputs


def run(
    function: Function,
    tensors: Sequence[Tensor],
    kinds: Sequence[Any],
    checks: Sequence[tuple[Expr, str]] = (),
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


# What several transforms need -------------------------------------------------------------------


def derivatives(y: Expr, xs: Sequence[Expr], order: int) -> list[Expr]:
    """The Jacobians of ``y`` by ``xs``; for order 2 of those again, the last index fastest."""
    if not order:
        return [y]
    return [d for x in xs for d in derivatives(derivative.jacobian(y, x), xs, order - 1)]


def computed(
    f: Formula,
    key: Any,
    build: Callable[[list[Expr]], tuple[Sequence[Expr], Sequence[Expr]]],
    tensors: Sequence[Tensor],
    kinds: Sequence[Any],
    otherwise: Callable[[], Sequence[Tensor]],
) -> list[Tensor]:
    """The outputs of ``build(results)``, a program of the tensors, in these dtypes.

    ``otherwise``: the same by the eager run, for what has no formula.
    """
    outs = f.outs
    if outs is not None:
        try:
            function = program((key, f.key()), lambda: _with_checks(f, *build(outs)))
        except (Unsupported, NotDifferentiable, NotImplementedError) as error:
            if f.leaves is None:
                refuse(f"a function has no derivative that is a formula ({error})")
        else:
            return run(function, tensors, kinds, f.checks)
    assert f.leaves is not None
    return settled(f, otherwise())


# By the eager run -------------------------------------------------------------------------------


def recording() -> bool:
    """Whether derivatives are recorded."""
    return current().grad


def pulled(
    ys: Sequence[Tensor], xs: Sequence[Tensor], gs: Sequence[Tensor], create: bool
) -> list[Tensor]:
    """The derivatives of ``<gs, ys>`` by ``xs``; zeros where there are none."""
    pairs = [(y, g) for y, g in zip(ys, gs, strict=True) if y._rg]
    if not pairs:
        return [wrap(np.zeros_like(x._array)) for x in xs]
    with Switch(grad=True, inference=False):
        found = autograd.grad(
            [y for y, _ in pairs],
            list(xs),
            [g for _, g in pairs],
            retain_graph=True,
            create_graph=create,
            allow_unused=True,
        )
    return [
        wrap(np.zeros_like(x._array)) if g is None else g for x, g in zip(xs, found, strict=True)
    ]


def jacobians(ys: Sequence[Tensor], xs: Sequence[Tensor], order: int, create: bool) -> list[Tensor]:
    """As ``derivatives``, of tensors, row by row."""
    if not order:
        return list(ys)
    out: list[Tensor] = []
    for y in ys:
        rows = []
        for i in range(y._array.size):
            seed = np.zeros_like(y._array, order="C")
            seed.reshape(-1)[i] = 1
            rows.append(pulled([y], xs, [wrap(seed)], create or order > 1))
        for x, column in zip(xs, zip(*rows, strict=True) if rows else [()] * len(xs), strict=True):
            shape = y._array.shape + x._array.shape
            with Switch(grad=True, inference=False):
                whole = stack(list(column)) if column else wrap(np.zeros(shape, x._array.dtype))
                out += jacobians([whole.reshape(shape)], xs, order - 1, create)
    return out


def pushed(
    ys: Sequence[Tensor], xs: Sequence[Tensor], ts: Sequence[Tensor], create: bool
) -> list[Tensor]:
    """The derivatives of ``ys`` along ``ts``: of the pullback, which is linear, by cotangents."""
    us = [blank(np.zeros_like(y._array), True) for y in ys]
    return pulled(pulled(ys, xs, us, True), us, ts, create)


def settled(f: Formula, tensors: Sequence[Tensor]) -> list[Tensor]:
    """Results of the eager run for the user: recorded only if they depend on something outside."""
    assert f.leaves is not None
    own = {edge_of(x) for x in f.leaves}
    out = []
    for t in tensors:
        if not recording() or not (t._rg and _depends(t, own)):
            t = t.detach()
        if any(np.may_share_memory(t._array, x._array) for x in (*f.leaves, *f.results)):
            t = t.clone()
        out.append(t)
    return out


def _depends(t: Tensor, own: set[Any]) -> bool:
    """Whether the record of ``t`` has leaves that somebody holds, other than the run's own."""
    left, seen = [edge_of(t)], set(own)
    while left:
        record: Any = left.pop()
        if record in seen:
            if record in own and record.differentiable and not record.is_leaf:
                return True
            continue
        seen.add(record)
        if isinstance(record, AccumulateGrad) and record.variable is not None:
            return True
        left += getattr(record, "edges", ())
    return False


def independent(f: Formula, n: int) -> list[tuple[int, int | None]]:
    """The results, and arguments, that do not depend on one another; None for all arguments."""
    found: list[tuple[int, int | None]] = []
    for i in range(n):
        if f.outs is not None:
            free = f.outs[i].free_symbols
            there = [any(s is x for s in free) for x in f.symbols]
        else:
            assert f.leaves is not None
            there = [_reaches(f.results[i], x) for x in f.leaves]
        found += [(i, None)] if not any(there) else [(i, j) for j, t in enumerate(there) if not t]
    return found


def _reaches(y: Tensor, x: Tensor) -> bool:
    """Whether ``y`` was computed from ``x``."""
    goal = edge_of(x)
    left, seen = [edge_of(y)], set()
    while left:
        record: Any = left.pop()
        if record is goal:
            return True
        if record not in seen:
            seen.add(record)
            left += getattr(record, "edges", ())
    return False
