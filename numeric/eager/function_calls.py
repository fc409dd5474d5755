"""Calls of lowered Functions with Tensors: one recorded operation, by the Function's programs."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from numeric.eager.dtypes import promoted_real
from numeric.eager.operations import Op
from numeric.eager.record import Node, absent, serial
from numeric.eager.recording import FIXED, apply, apply_several, cast, noted, watched_version
from numeric.eager.tensor import Tensor, edge_of, wrap
from numeric.modes import current
from numeric.warnings_off import SILENCE, noise, set_noise
from symdiff.functions.shaping import broadcast_to
from symdiff.graph.axes import broadcast_shapes
from symdiff.graph.expr import built
from symdiff.graph.node import topological
from symdiff.transforms.substitution import substitute

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numeric.eager.specialised import Pullback
    from numeric.lowering.function import Function
    from numeric.lowering.running import Residuals
    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Shape

# The dtypes of a Function's outputs; None is the common dtype of its real arguments.
Kinds: TypeAlias = "tuple[np.dtype, ...] | None"


def called(
    function: Function, args: Sequence[object], named: dict[str, object], kinds: Kinds = None
) -> Any:
    """Call a Function with arguments of which some are Tensors; return one or more Tensors.

    Arrays and numbers among the arguments are constants.  The results have the common dtype of the
    real arguments, by the promotion of Tensors.  They have the dtypes ``kinds`` instead if the
    formula itself contains conversions.
    """
    ordered = function._signature.ordered(args, named)
    operands = _promoted(function, ordered) if kinds is None else ordered
    mode = current()
    if mode.tracing is not None:
        op = op_of(function, kinds)
        one = op.outputs == 1
        return function._structured((apply(op, operands),) if one else apply_several(op, operands))
    arrays = [x._array if isinstance(x, Tensor) else x for x in operands]
    programs = function._programs
    bound, call = function._signature.bind(arrays, {})
    if kinds is not None:
        call = call.alone(kinds)
    tensors = [x for x in operands if isinstance(x, Tensor)]
    volatile = any(x._volatile for x in tensors)
    recorded = mode.grad and not volatile and any(x._rg for x in tensors)
    before = noise()
    try:
        set_noise(SILENCE)
        if recorded:
            values, residuals = programs.forward(bound, call, copies=False)
        else:
            values = programs.results(programs.value, bound, call)
    finally:
        set_noise(before)
    outs = [wrap(np.asarray(v)) for v in values]
    for out in outs if volatile else ():
        out._volatile = out._special = True
    if recorded:
        _record(function, operands, residuals, outs, kinds)
    return function._structured(outs)


def _promoted(function: Function, arguments: Sequence[object]) -> list[Any]:
    """Return the arguments, with the real ones in their common dtype."""
    real = [x.dtype is float for x in function.inputs]
    values = [v._array if isinstance(v, Tensor) else v for v in arguments]
    real_values = [v for v, r in zip(values, real, strict=True) if r and _typed(v)]
    if not real_values:
        return list(arguments)
    kind = promoted_real(real_values)
    return [_as(v, kind) if r else v for v, r in zip(arguments, real, strict=True)]


def _typed(value: object) -> bool:
    return hasattr(value, "dtype") or isinstance(value, int | float)


def _as(value: object, kind: np.dtype) -> Any:
    if isinstance(value, Tensor):
        return value if value._array.dtype == kind else cast(value, kind)
    return value.astype(kind) if isinstance(value, np.ndarray) else value


# The record -------------------------------------------------------------------------------------


class FunctionBackward0(Node):
    """The node of a call of a Function.

    ``saved`` are the arguments at ``places``, from which the residuals were computed.  Derivatives
    of derivatives need them, and their versions show whether the residuals are still valid.
    """

    __slots__ = ("function", "mask", "op", "outputs", "places", "residuals", "types")

    partial = True
    outputs: int  # differs between Functions
    op: Op
    pullback: Any  # None: the engine must call ``pull``
    bound: Any  # the formula as a bound op; None before its first use
    function: Function
    residuals: Residuals | None
    mask: tuple[bool, ...]
    places: tuple[int, ...]
    types: tuple[Any, ...]  # shape and dtype of each argument, then of each result

    def variant(self, gs: Sequence[object], marked: bool) -> Pullback:
        """Return the pullback of the formula as an op, for recorded backward passes."""
        if self.bound is None:
            types = self.types[: len(self.mask)]
            self.bound = self.op.bound([1.0 if t is None else _stand_in(*t) for t in types])
        pullback: Pullback = self.bound.of.pullback(self.mask)
        return pullback.variant(marked, absent(gs))

    def pull(self, g: Any, marked: bool) -> tuple[Sequence[Any], Sequence[bool] | None]:
        """Pull back by the Function's own backward program if possible.

        The program uses zeros for results without a cotangent, to share computed values.  A zero
        times an infinite partial is nan; then a separate pullback without these results runs.
        """
        values = self.values()
        gs = g if self.outputs > 1 else [g]
        seeds = self.filled(gs)
        if not marked:
            results, marks = self._by_own_program(seeds)
            if not absent(gs) or not any(np.isnan(v).any() for v in results):
                return results, marks
        p = self.variant(gs, marked)
        saved = [values[self.places.index(i)] for i in p.keeps]
        results = p.function(*saved, *seeds, self.bound.sizes)
        return self.bound.fitted(p, results, seeds[0]), p.marks

    def _by_own_program(self, seeds: Sequence[Any]) -> tuple[Sequence[Any], Sequence[bool] | None]:
        function, residuals = self.function, self.residuals
        assert residuals is not None
        seeds = [g if g.ndim else g[()] for g in seeds]
        results = function._programs.backward(residuals, residuals.call.pulled(seeds), seeds)
        zeros = function._programs.cut.marked
        marks = [m for m, wanted in zip(zeros, self.mask, strict=True) if wanted]
        return [
            np.asarray(v, t[1])
            for v, t, wanted in zip(results, self.types, self.mask, strict=False)
            if wanted
        ], marks if any(marks) else None

    def kept(self) -> Sequence[int]:
        """Return the places of the saved arrays among the arguments."""
        return self.places

    def result_shapes(self) -> Sequence[tuple[tuple[int, ...], np.dtype]]:
        """Return shapes and dtypes of the results."""
        return self.types[len(self.mask) :]

    def free(self) -> None:
        """Drop saved arrays and residuals; a call that saved nothing may run again."""
        residuals = self.residuals
        if self.saved or (residuals is not None and residuals.values):
            self.saved = self.residuals = None

    def state(self) -> dict[str, Any]:
        """Return the state for pickles, without residuals, which ``restore`` computes again."""
        state = super().state()
        residuals = state.pop("residuals")
        return state | {"bound": None, "kink": None if residuals is None else residuals.kink}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore the node from ``state``, and compute residuals from the saved arguments."""
        kink = state.pop("kink")
        super().restore(state)
        # Unpickled dtypes may be equal but not identical.
        self.types = tuple([t and (t[0], np.dtype(t[1].str)) for t in self.types])
        self.residuals = None
        if self.saved is not None:
            known = dict(zip(self.places, self.saved, strict=True))
            arguments = [
                known.get(i, 1.0 if t is None else _stand_in(*t))
                for i, t in enumerate(self.types[: len(self.mask)])
            ]
            bound, call = self.function._signature.bind(arguments, {})
            before = noise()
            try:
                set_noise(SILENCE)
                self.residuals = self.function._programs.forward(bound, call, copies=False)[1]
            finally:
                set_noise(before)
            self.residuals.kink = kink

    def expr(self, operands: Sequence[Expr]) -> Expr | tuple[Expr, ...]:
        """Return the Function's formulas of the operands' expressions."""
        ys = self.op.results(operands, ())
        return ys if self.outputs > 1 else ys[0]


def _stand_in(shape: tuple[int, ...], kind: np.dtype) -> np.ndarray:
    return np.broadcast_to(np.zeros((), kind), shape)


def _record(
    function: Function,
    operands: Sequence[Any],
    residuals: Residuals,
    outs: Sequence[Tensor],
    kinds: Kinds,
) -> None:
    """Add the history to the results of a call."""
    op, places = op_of(function, kinds), function._programs.cut.needs
    node = FunctionBackward0()
    node.function, node.residuals, node.op, node.outputs = function, residuals, op, len(outs)
    node.mask = tuple([isinstance(x, Tensor) and x._rg for x in operands])
    node.places, node.bound, node.pullback = places, None, None
    typed = [*operands, *outs]
    arrays = [x._array if isinstance(x, Tensor) else x for x in typed]
    node.types = tuple([(a.shape, a.dtype) if _has_shape(a) else None for a in arrays])
    saved, check = [], []
    for i in places:
        x = operands[i]
        v = watched_version(x) if isinstance(x, Tensor) else FIXED
        saved.append(arrays[i])
        check += [v, v[0]]
    node.saved, node.check = tuple(saved), tuple(check)
    edges: list[Any] = [edge_of(x) for x, m in zip(operands, node.mask, strict=True) if m]
    node.edges = tuple(edges)
    nrs = tuple([x._nr for x, m in zip(operands, node.mask, strict=True) if m])
    node.nrs = nrs if any(edge.outputs > 1 for edge in node.edges) else None
    node.operands = tuple([edge_of(x) if isinstance(x, Tensor) else x for x in operands])
    if all(node.mask):
        node.operands = None
    node.extras, node.serial = None, serial()
    noted(node, operands)
    for nr, out in enumerate(outs):
        if out._array.dtype.kind == "f":
            out._rg, out._edge, out._nr, out._special = True, node, nr, len(outs) > 1


def _has_shape(a: object) -> bool:
    return isinstance(a, np.ndarray | np.generic)


# The formula ------------------------------------------------------------------------------------


def op_of(function: Function, kinds: Kinds = None) -> Op:
    """Return the operation with the Function's formula and results of these dtypes, cached."""
    known: dict[Kinds, Op] = function.__dict__.setdefault("_ops", {})
    op = known.get(kinds)
    if op is None:
        op = known[kinds] = Op(
            "function",
            _formula(function),
            promotion=None,
            pointwise=function._programs.flat and kinds is None,
            outputs=len(function.outputs),
            concrete=True,
            kinds=kinds,
            origin=weakref.ref(function),
        )
    return op


def _formula(function: Function) -> Callable[..., tuple[Expr, ...]]:
    outputs, inputs = function.outputs, function._programs.inputs
    flat, scalar = function._programs.flat, function._signature.scalar

    def build(*operands: Expr) -> tuple[Expr, ...]:
        shapes = [x.shape for x in operands]
        if scalar and any(shapes):
            if not flat:
                raise NotImplementedError(
                    "this Function of scalars was called at an array of points; only functions "
                    "that are elementwise have a formula there"
                )
            return _at_points(outputs, inputs, operands, broadcast_shapes("call", *shapes))
        return substitute(list(outputs), dict(zip(inputs, operands, strict=True)))

    return build


def _at_points(
    outputs: Sequence[Expr], inputs: Sequence[Expr], operands: Sequence[Expr], shape: Shape
) -> tuple[Expr, ...]:
    """Evaluate elementwise formulas of scalars at arrays."""
    done = {x: broadcast_to(v, shape) for x, v in zip(inputs, operands, strict=True)}
    for node in topological(outputs):
        if node not in done:
            args = tuple([done[x] for x in node.args])
            done[node] = built(node.op, args) if args else node
    return tuple([broadcast_to(done[y], shape) for y in outputs])
