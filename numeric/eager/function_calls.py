"""Lowered Functions on Tensors: one recorded operation, with the Function's own two programs."""

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

# The dtypes of a Function's outputs; None: that of its real arguments.
Kinds: TypeAlias = "tuple[np.dtype, ...] | None"


def called(
    function: Function, args: Sequence[object], named: dict[str, object], kinds: Kinds = None
) -> Any:
    """A Function of arguments of which some are Tensors: a Tensor, or a tuple of them.

    Arrays and numbers among the arguments are constants.  The results have the dtype in which the
    real arguments meet, by the promotion of Tensors; or ``kinds``, where the formula itself says
    what is converted to what.
    """
    given = function._signature.ordered(args, named)
    operands = _promoted(function, given) if kinds is None else given
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
            values, kept = programs.forward(bound, call, copies=False)
        else:
            values = programs.results(programs.value, bound, call)
    finally:
        set_noise(before)
    outs = [wrap(np.asarray(v)) for v in values]
    for out in outs if volatile else ():
        out._volatile = out._special = True
    if recorded:
        _record(function, operands, kept, outs, kinds)
    return function._structured(outs)


def _promoted(function: Function, given: Sequence[object]) -> list[Any]:
    """The arguments, the real ones in their common dtype."""
    real = [x.dtype is float for x in function.inputs]
    values = [v._array if isinstance(v, Tensor) else v for v in given]
    meeting = [v for v, r in zip(values, real, strict=True) if r and _typed(v)]
    if not meeting:
        return list(given)
    kind = promoted_real(meeting)
    return [_as(v, kind) if r else v for v, r in zip(given, real, strict=True)]


def _typed(value: object) -> bool:
    return hasattr(value, "dtype") or isinstance(value, int | float)


def _as(value: object, kind: np.dtype) -> Any:
    if isinstance(value, Tensor):
        return value if value._array.dtype == kind else cast(value, kind)
    return value.astype(kind) if isinstance(value, np.ndarray) else value


# The record -------------------------------------------------------------------------------------


class FunctionBackward0(Node):
    """A call of a Function.

    ``saved`` are the arguments at ``places``, those that the residuals were computed from.  They
    are what derivatives of derivatives need, and their versions tell whether residuals still hold.
    """

    __slots__ = ("function", "mask", "op", "outputs", "places", "residuals", "types")

    partial = True
    outputs: int  # they differ between Functions
    op: Op
    pullback: Any  # None: there is nothing short for the engine
    bound: Any  # of the same formula as an op; None until it is needed
    function: Function
    residuals: Residuals | None
    mask: tuple[bool, ...]
    places: tuple[int, ...]
    types: tuple[Any, ...]  # shape and dtype of each argument, then of each result

    def variant(self, gs: Sequence[object], marked: bool) -> Pullback:
        """The pullback of the same formula as an op: for records of the backward pass."""
        if self.bound is None:
            types = self.types[: len(self.mask)]
            self.bound = self.op.bound([1.0 if t is None else _stand_in(*t) for t in types])
        pullback: Pullback = self.bound.of.pullback(self.mask)
        return pullback.variant(marked, absent(gs))

    def pull(self, g: Any, marked: bool) -> tuple[Sequence[Any], Sequence[bool] | None]:
        """As of every node; by the Function's own backward program, where that can be.

        It takes zeros for the results that nothing came back to, which is sharing what was computed
        but multiplies partials: where one of those is infinite, what comes out is nan, and the
        derivative of the other results is written by itself.
        """
        values = self.values()
        gs = g if self.outputs > 1 else [g]
        seeds = self.filled(gs)
        if not marked:
            found, marks = self._by_own_program(seeds)
            if not absent(gs) or not any(np.isnan(v).any() for v in found):
                return found, marks
        p = self.variant(gs, marked)
        kept = [values[self.places.index(i)] for i in p.keeps]
        found = p.function(*kept, *seeds, self.bound.sizes)
        return self.bound.fitted(p, found, seeds[0]), p.marks

    def _by_own_program(self, seeds: Sequence[Any]) -> tuple[Sequence[Any], Sequence[bool] | None]:
        function, residuals = self.function, self.residuals
        assert residuals is not None
        seeds = [g if g.ndim else g[()] for g in seeds]
        found = function._programs.backward(residuals, residuals.call.pulled(seeds), seeds)
        zeros = function._programs.cut.marked
        marks = [m for m, wanted in zip(zeros, self.mask, strict=True) if wanted]
        return [
            np.asarray(v, t[1])
            for v, t, wanted in zip(found, self.types, self.mask, strict=False)
            if wanted
        ], marks if any(marks) else None

    def kept(self) -> Sequence[int]:
        """The places of the saved arrays among the arguments."""
        return self.places

    def result_shapes(self) -> Sequence[tuple[tuple[int, ...], np.dtype]]:
        """Shapes and dtypes of the results."""
        return self.types[len(self.mask) :]

    def free(self) -> None:
        """Forget what was kept; a call that kept nothing may run again."""
        kept = self.residuals
        if self.saved or (kept is not None and kept.values):
            self.saved = self.residuals = None

    def state(self) -> dict[str, Any]:
        """For pickles.  Residuals are made anew, from the arguments that they depend on."""
        state = super().state()
        kept = state.pop("residuals")
        return state | {"bound": None, "kink": None if kept is None else kept.kink}

    def restore(self, state: dict[str, Any]) -> None:
        """The opposite of ``state``."""
        kink = state.pop("kink")
        super().restore(state)
        # Unpickled dtypes may be equal without being the same.
        self.types = tuple([t and (t[0], np.dtype(t[1].str)) for t in self.types])
        self.residuals = None
        if self.saved is not None:
            known = dict(zip(self.places, self.saved, strict=True))
            given = [
                known.get(i, 1.0 if t is None else _stand_in(*t))
                for i, t in enumerate(self.types[: len(self.mask)])
            ]
            bound, call = self.function._signature.bind(given, {})
            before = noise()
            try:
                set_noise(SILENCE)
                self.residuals = self.function._programs.forward(bound, call, copies=False)[1]
            finally:
                set_noise(before)
            self.residuals.kink = kink

    def expr(self, operands: Sequence[Expr]) -> Expr | tuple[Expr, ...]:
        """The Function's formulas, of the operands' expressions."""
        ys = self.op.results(operands, ())
        return ys if self.outputs > 1 else ys[0]


def _stand_in(shape: tuple[int, ...], kind: np.dtype) -> np.ndarray:
    return np.broadcast_to(np.zeros((), kind), shape)


def _record(
    function: Function,
    operands: Sequence[Any],
    kept: Residuals,
    outs: Sequence[Tensor],
    kinds: Kinds,
) -> None:
    """Give the results of a call their history."""
    op, places = op_of(function, kinds), function._programs.cut.needs
    node = FunctionBackward0()
    node.function, node.residuals, node.op, node.outputs = function, kept, op, len(outs)
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
    """The operation whose formula is the Function's, with results of these dtypes."""
    known: dict[Kinds, Op] = function.__dict__.setdefault("_ops", {})
    found = known.get(kinds)
    if found is None:
        found = known[kinds] = Op(
            "function",
            _formula(function),
            promotion=None,
            pointwise=function._programs.flat and kinds is None,
            outputs=len(function.outputs),
            concrete=True,
            kinds=kinds,
            origin=weakref.ref(function),
        )
    return found


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
    """Elementwise formulas of scalars, of arrays."""
    done = {x: broadcast_to(v, shape) for x, v in zip(inputs, operands, strict=True)}
    for node in topological(outputs):
        if node not in done:
            args = tuple([done[x] for x in node.args])
            done[node] = built(node.op, args) if args else node
    return tuple([broadcast_to(done[y], shape) for y in outputs])
