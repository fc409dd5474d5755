"""Functions: lowered programs of values, residuals and gradients, behind one checked surface.

The numeric backward pass is the gradient DAG, executed: derivatives come from ``symdiff``, and
this module decides only which program runs on what.  A Function has up to four programs, each
written when it is first needed: ``value``; ``forward``, which is ``value`` that also returns what
is kept; ``backward``, from what is kept and cotangents; and ``value_and_grad``, both in one.  Full
derivatives and Jacobian-vector products have programs of their own.
"""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.derivatives import Derivatives, comment_name
from numeric.guesses import FUNCTION
from numeric.kinked import hit, questions
from numeric.lowering.arguments import (
    Call,
    Owner,
    Signature,
    accumulated,
    bindable,
    check_targets,
    cotangent,
    snapshots,
    summed_to,
)
from numeric.lowering.emit import MATH, NUMPY, Emitter
from numeric.lowering.kernels import lengths
from numeric.lowering.passes.residuals import residuals
from numeric.lowering.programs import Lowered, each, plain, python_number, stacked
from numeric.modes import is_grad_enabled
from symdiff import ops
from symdiff.contexts import kinks, raising
from symdiff.corners import kinks_in
from symdiff.derivative import grad
from symdiff.errors import NotDifferentiable, Unsupported
from symdiff.expr import Expr, free_symbols, in_order
from symdiff.guesses import without, written
from symdiff.leaves import as_expr, dummy, full
from symdiff.letters import shape_text
from symdiff.marks import NONE, Flow
from symdiff.node import topological
from symdiff.pickling import apart, together
from symdiff.reals import is_real
from symdiff.rules import pullback
from symdiff.substitution import bound_sizes, substitute

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from symdiff.corners import Kink

_FLAT = (ops.Symbol, ops.Exact, ops.Sum, ops.Product, ops.Pointwise, ops.Strong, ops.Barrier)


@written("lower(f, [x, y])")
def lower(outputs: Any, inputs: Any) -> Function:
    """``outputs`` as a fast NumPy function of ``inputs``, with its exact reverse derivative.

    Args:
        outputs: one expression, for one value; a list or tuple of them, for a tuple of values.
        inputs: the symbols that are the arguments, in this order.  Those not used are fine.

    Raises ValueError for symbols that are no inputs and for axis lengths that no input has,
    ShapeError for two symbols of one name, TypeError for what is no expression or symbol,
    Unsupported for what cannot be executed (a function that needs SciPy, where there is none).

    >>> import symdiff as sd
    >>> X, w = sd.symbol("X", ("n", 2)), sd.symbol("w", 2)
    >>> f = lower(sd.sum(sd.tanh(X @ w)), (X, w))
    >>> value, (gX, gw) = f.value_and_grad(np.zeros((3, 2)), np.ones(2))
    >>> gX.tolist()
    [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]
    """
    many = isinstance(outputs, list | tuple)
    if many and any(isinstance(y, list | tuple) for y in outputs):
        raise TypeError(
            "lower: outputs are nested, as those of a Hessian: sd.stack([sd.stack(row) for row in "
            "outputs]) makes one array of numbers, and F = lower(f, [x, y]) has F.hessian"
        )
    ys = tuple(as_expr(y) for y in (outputs if many else [outputs]))
    xs = tuple(inputs) if isinstance(inputs, list | tuple) else (inputs,)
    if not ys:
        raise ValueError("lower: outputs is empty")
    for x in xs:
        if not isinstance(x, Expr) or not isinstance(x.op, ops.Symbol):
            raise TypeError(
                f"lower: input {x!r} is not a symbol; formulas come first, as in lower(f, [x, y])"
            )
    nodes = topological(ys)
    _check_closed(ys, xs, nodes)
    return Function(ys, xs, many, nodes)


def _check_closed(ys: Sequence[Expr], xs: Sequence[Expr], nodes: Sequence[Expr]) -> None:
    """Every symbol and every axis length comes from the inputs, and names are unique."""
    names = [x.name for x in xs]
    free_symbols([*ys, *xs])
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise ValueError(f"lower: input {twice} is named twice")
    known = frozenset(xs)
    symbols = in_order(x for x in nodes if isinstance(x.op, ops.Symbol))
    missing = [x.name for x in symbols if x not in known]
    if missing:
        raise ValueError(f"lower: outputs depend on {', '.join(missing)}; add to the inputs")
    axes = {dim for x in xs for dim in x.shape}
    used = [x.op.name for x in nodes if isinstance(x.op, ops.Size)]
    used += [dim for x in nodes for dim in x.shape if isinstance(dim, str)]
    unbound = [name for name in dict.fromkeys(used) if name not in axes]
    if unbound:
        raise ValueError(f"lower: no input has an axis of length {', '.join(unbound)}")


class Residuals:
    """What ``Function.forward`` keeps for ``Function.backward``; opaque and never changed."""

    __slots__ = ("call", "kink", "owner", "parts", "shapes", "values")

    def __init__(
        self,
        owner: Function,
        call: Call,
        shapes: tuple[tuple[int, ...], ...],
        values: tuple[Any, ...] | None,
        parts: tuple[Residuals, ...] | None = None,
        kink: str | None = None,
    ) -> None:
        self.owner, self.shapes, self.values, self.parts = owner, shapes, values, parts
        self.call, self.kink = call._replace(values=()), kink

    def __reduce__(self) -> str:
        raise TypeError("residuals cannot be pickled; pickle the Function and its arguments")

    def __repr__(self) -> str:
        if self.values is None:
            return "<Residuals: none, forward ran under no_grad>"
        size = sum(v.nbytes for v in self.values if isinstance(v, np.ndarray))
        return f"<Residuals: {len(self.values)} values, {size} bytes in arrays>"


class _Eager:
    """What takes over when a Function is called with eager tensors."""

    kind: type | tuple[type, ...] = ()
    call: Callable[[Function, tuple[Any, ...], dict[str, Any]], Any]


_eager = _Eager()


def eager(kind: type, call: Callable[[Function, tuple[Any, ...], dict[str, Any]], Any]) -> None:
    """Let ``call(function, args, named)`` do the calls with arguments of class ``kind``."""
    _eager.kind, _eager.call = kind, call


class Function(Derivatives):
    """A lowered function: ``F(*arrays, **named)``; made by ``lower``.

    Calls are pure and may run in any number of threads.  Arguments are arrays, or numbers for
    scalar inputs; symbolic axis lengths are learnt from them.  Results are new arrays (NumPy
    scalars where the shape is ()), in the precision of the arguments: float32 gives float32,
    integers are promoted.  Python numbers take the precision of what they meet.

    Where all inputs are scalar symbols, Python floats give Python floats, through ``math`` (and
    through NumPy where ``math`` raises); arguments may also be arrays of points, which broadcast,
    and every result has their shape.

    Calls raise TypeError for a wrong number, name or dtype of arguments and ShapeError for a
    wrong shape, before anything runs.
    """

    def __init__(
        self,
        outputs: tuple[Expr, ...],
        inputs: tuple[Expr, ...],
        many: bool,
        nodes: Sequence[Expr],
    ) -> None:
        self.outputs, self.inputs = outputs, inputs
        self._many = many
        constants = [x.op.value for x in nodes if isinstance(x.op, ops.Constant)]
        self._constants = constants
        self._signature = Signature(inputs, constants)
        self._flat = self._signature.scalar and all(
            isinstance(x.op, _FLAT) and not x.shape for x in nodes
        )
        self._emitter = Emitter()
        self._lock = self._emitter.lock
        self._pair: tuple[Lowered, Lowered, tuple[Expr, ...]] | None = None
        self._joint: dict[tuple[int, ...], Lowered] = {}
        self._derived: dict[tuple[Any, ...], Lowered] = {}
        self._strict = raising()
        self._kinks: dict[Lowered, tuple[list[Kink], Lowered]] = {}
        # First derivatives on the way to second ones, which may be zeros that tell nothing.
        self._traces: dict[Lowered, list[Expr]] = {}
        self._real = [is_real(y) for y in outputs]
        self._marks: list[bool] = []
        self._value = Lowered(
            self._emitter, "value", inputs, outputs, self._real, self._comment(outputs)
        )
        self._real_places = tuple(i for i, x in enumerate(inputs) if x.dtype is float)
        self._flavour = NUMPY
        self._call: Callable[..., Any] = self._called
        if self._flat:
            try:
                self._value.program(MATH)
                self._flavour = MATH
                if not self._strict:
                    self._call = self._entry(self._value, "call", self._called)
            except Unsupported:  # a function of the user's has no body for floats; arrays decide
                self._value.found.clear()
        self._value.program(self._flavour)

    def __copy__(self) -> Function:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Function:
        return self  # calls change nothing that another holder could see

    def __reduce__(self) -> tuple[Any, ...]:
        return _lowered_again, (
            *together([*self.outputs, *self.inputs]),
            len(self.outputs),
            self._many,
            self._strict,
        )

    # Calls ----------------------------------------------------------------------------------------

    def __call__(self, /, *args: Any, **named: Any) -> Any:
        """The values of the outputs: one value, or a tuple if the outputs were a list or tuple."""
        return self._call(*args, **named)

    def _called(self, /, *args: Any, **named: Any) -> Any:
        for value in args:
            if isinstance(value, _eager.kind):
                return _eager.call(self, args, named)
        if named and any(isinstance(value, _eager.kind) for value in named.values()):
            return _eager.call(self, args, named)
        call = self._signature.bind(args, named)
        self._refuse_kinks(self._value, call)
        return self._structured(self._evaluated(self._value, call))

    def _hit(self, lowered: Lowered, call: Call) -> str | None:
        """The kink that derivatives in the program would hit, if those are to raise."""
        if not self._strict:
            return None
        found = self._kinks.get(lowered)
        if found is None:
            with self._lock:
                known = kinks_in([*lowered.outputs, *self._traces.get(lowered, ())])
                outputs = questions(known)
                reals = [is_real(y) for y in outputs]
                asked = Lowered(
                    self._emitter, "kinks", self.inputs, outputs, reals, "where kinks are"
                )
                found = self._kinks[lowered] = known, asked
        known, asked = found
        return hit(known, self._evaluated(asked, call)) if known else None

    def _refuse_kinks(self, lowered: Lowered, call: Call) -> None:
        text = self._hit(lowered, call)
        if text is not None:
            raise NotDifferentiable(text)

    def _structured(self, values: Sequence[Any]) -> Any:
        return tuple(values) if self._many else values[0]

    def _evaluated(self, lowered: Lowered, call: Call) -> list[Any]:
        """The results of a program of the inputs, as the caller gets them."""
        if call.points and not self._flat:
            rows = [self._evaluated(lowered, one) for one in each(call)]
            return [stacked(rows, i, lowered, call) for i in range(len(lowered.outputs))]
        if self._flat and call.weak:
            values = lowered.floats([plain(v) for v in call.values])
            return [python_number(v, real) for v, real in zip(values, lowered.real, strict=True)]
        values = lowered.arrays(call.values, call.sizes)
        return self._owned(values, lowered, call, call.values, call.kinds)

    def _owned(
        self,
        values: Sequence[Any],
        lowered: Lowered,
        call: Call,
        taken: Sequence[Any],
        kinds: Iterable[Any] | None,
    ) -> list[Any]:
        """Results of arrays, in memory of their own: not that of ``taken``, nor of constants.

        ``kinds``: their dtypes; None for the precision of the arguments.
        """
        owner = Owner([*taken, *self._constants])
        results = []
        kinds = repeat(call.precision) if kinds is None else kinds
        for value, y, real, kind in zip(values, lowered.outputs, lowered.real, kinds, strict=False):
            shape = call.points + lengths(y.shape, call.sizes)
            results.append(owner.result(value, shape, real, kind))
        return (
            [python_number(v, r) for v, r in zip(results, lowered.real, strict=False)]
            if call.weak
            else results
        )

    # Forward and backward -------------------------------------------------------------------------

    def forward(self, /, *args: Any, **named: Any) -> tuple[Any, Residuals]:
        """The outputs, as a call gives them, and the residuals that ``backward`` needs.

        Residuals never change: what they share with writeable arguments is copied.  A read-only
        argument is kept as it is, so large data that backward needs is best made read-only
        (``X.flags.writeable = False``).  Under ``no_grad()`` nothing is kept.
        """
        call = self._signature.bind(args, named)
        shapes = tuple(np.shape(v) for v in call.values)
        self._refuse_kinks(self._value, call)
        if not is_grad_enabled():
            values = self._evaluated(self._value, call)
            return self._structured(values), Residuals(self, call, shapes, None)
        values, kept = self._forwarded(call, shapes)
        return self._structured(values), kept

    def _forwarded(
        self, call: Call, shapes: tuple[tuple[int, ...], ...], copies: bool = True
    ) -> tuple[list[Any], Residuals]:
        """Values and residuals; without ``copies`` these may share the arguments' memory."""
        if call.points and not self._flat:
            runs = [self._forwarded(one, ((),) * len(shapes), copies) for one in each(call)]
            rows = [row for row, _ in runs]
            values = [stacked(rows, i, self._value, call) for i in range(len(self.outputs))]
            parts = tuple(kept for _, kept in runs)
            kink = next((part.kink for part in parts if part.kink is not None), None)
            return values, Residuals(self, call, shapes, (), parts, kink)
        forward, backward, _ = self._passes()
        kink = self._hit(backward, call)
        count = len(self.outputs)
        if self._flat and call.weak:
            results = forward.floats([plain(v) for v in call.values])
            values = [python_number(v, real) for v, real in zip(results, self._real, strict=False)]
            return values, Residuals(self, call, shapes, tuple(results[count:]), kink=kink)
        results = forward.arrays(call.values, call.sizes)
        kept = snapshots(results[count:], call.values) if copies else tuple(results[count:])
        taken = (*call.values, *kept)
        values = self._owned(results[:count], self._value, call, taken, call.kinds)
        return values, Residuals(self, call, shapes, kept, kink=kink)

    def backward(
        self, residuals: Residuals, /, *cotangents: Any, accumulate: Any = None, wrt: Any = None
    ) -> Any:
        """The cotangents of the inputs for ``cotangents`` of the outputs, one for each output.

        ``xbar_j = sum_i g_i . dy_i/dx_j`` has the shape of argument j; it is None for an integer
        or boolean input.  The residuals may be used again.

        Args:
            residuals: what ``forward`` of this Function returned.
            cotangents: arrays of the shapes of the outputs.
            accumulate: arrays, one per input or None, that the cotangents are added to, in place;
                they take the cotangents' places in the result.
            wrt: an input (a symbol or its name), for its cotangent alone; a list or tuple of
                inputs, for a tuple of these.  What only the others need is not computed.

        Raises RuntimeError after a ``forward`` under ``no_grad()``, TypeError, ValueError and
        ShapeError for arguments that do not fit; then no array has been touched.
        """
        if not isinstance(residuals, Residuals) or residuals.owner is not self:
            raise ValueError("backward: these are not residuals of this Function's forward")
        if residuals.values is None:
            raise RuntimeError(
                "backward: forward ran under no_grad() and kept no residuals; run it outside"
            )
        if residuals.kink is not None:
            raise NotDifferentiable(residuals.kink)
        if len(cotangents) != len(self.outputs):
            raise TypeError(
                f"backward: {len(self.outputs)} cotangents expected, one per output, "
                f"got {len(cotangents)}"
            )
        call = residuals.call
        seeds = [
            cotangent(i, g, call.points + lengths(y.shape, call.sizes))
            for i, (g, y) in enumerate(zip(cotangents, self.outputs, strict=True))
        ]
        order = range(len(self.inputs)) if wrt is None else self._places(wrt, "backward")
        several = wrt is None or isinstance(wrt, list | tuple)
        targets = None
        if accumulate is not None:
            xs, shapes = [self.inputs[i] for i in order], [residuals.shapes[i] for i in order]
            targets = check_targets(accumulate if several else [accumulate], xs, shapes)
        results = self._pulled(residuals, seeds, None if wrt is None else tuple(order))
        found = tuple(results) if targets is None else accumulated(targets, results)
        return found if several else found[0]

    def _pulled(
        self, residuals: Residuals, seeds: Sequence[Any], order: tuple[int, ...] | None = None
    ) -> list[Any]:
        """One cotangent for each input, or those of ``order``, for cotangents that were checked."""
        call = residuals.call
        assert residuals.values is not None
        backward = self._passes()[1] if order is None else self._pulling(order)
        if residuals.parts is not None:
            values = self._pulled_at_points(residuals.parts, seeds, backward, call, order)
        elif self._flat and call.weak:
            given = backward.floats([*residuals.values, *(plain(g) for g in seeds)])
            values = [python_number(v, True) for v in given]
        else:
            params = [*residuals.values, *seeds]
            values = self._owned(backward.arrays(params, call.sizes), backward, call, params, None)
        rest = iter(values)
        places = range(len(self.inputs)) if order is None else order
        results = [next(rest) if self.inputs[i].dtype is float else None for i in places]
        if not call.points:
            return results
        return [
            None if v is None else summed_to(v, residuals.shapes[i])[()]
            for v, i in zip(results, places, strict=True)
        ]

    def _pulling(self, order: tuple[int, ...]) -> Lowered:
        """The part of the backward program that computes the cotangents of some inputs."""
        _, backward, _ = self._passes()

        def made() -> Lowered:
            outputs = [backward.outputs[self._real_places.index(i)] for i in order]
            comment = f"{backward.comment}, of which places {order} are wanted"
            reals = [True for _ in outputs]
            return Lowered(self._emitter, "backward", backward.params, outputs, reals, comment)

        return self._once(("backward", order), made)

    def _pulled_at_points(
        self,
        parts: Sequence[Residuals],
        seeds: Sequence[Any],
        backward: Lowered,
        call: Call,
        order: tuple[int, ...] | None,
    ) -> list[Any]:
        flat = [
            np.reshape(g, (len(parts), *lengths(y.shape, call.sizes)))
            for g, y in zip(seeds, self.outputs, strict=True)
        ]
        rows = []
        for i, part in enumerate(parts):
            found = self._pulled(part, [g[i] for g in flat], order)
            rows.append([v for v in found if v is not None])
        return [stacked(rows, i, backward, call) for i in range(len(backward.outputs))]

    def _passes(self) -> tuple[Lowered, Lowered, tuple[Expr, ...]]:
        """The forward and the backward program, and the values that go from one to the other."""
        if self._pair is None:
            with self._lock:
                if self._pair is None:
                    self._pair = self._partitioned()
        return self._pair

    def needs(self) -> tuple[int, ...]:
        """The places of the inputs that residuals are computed from."""
        kept = self._passes()[2]
        used = frozenset(topological(kept)) if kept else frozenset()
        return tuple([i for i, x in enumerate(self.inputs) if x in used])

    def marks(self) -> list[bool]:
        """For each input, whether exact zeros of its cotangent must survive infinite partials."""
        self._passes()
        return self._marks

    def _partitioned(self) -> tuple[Lowered, Lowered, tuple[Expr, ...]]:
        real = [x for x in self.inputs if x.dtype is float]
        seeds = [dummy(y) for y in self.outputs]
        flows = [Flow(g, NONE) for g in seeds]
        pulled = pullback(self.outputs, real, flows)
        marked = {x for f, x in zip(pulled, real, strict=True) if f is not None and f.mark != NONE}
        self._marks = [x in marked for x in self.inputs]
        xbars = [
            full(x.shape, 0) if f is None else f.expr for x, f in zip(real, pulled, strict=True)
        ]
        kept = residuals(self.outputs, xbars, self.inputs, seeds)
        comment = f"{self._comment(self.outputs)}\nand kept for backward: {len(kept)} values"
        results = (*self.outputs, *kept)
        reals = [*self._real, *(False for _ in kept)]
        forward = Lowered(self._emitter, "forward", self.inputs, results, reals, comment)
        comment = "\n".join(
            [f"v{i + 1}: {_described(v)}" for i, v in enumerate(kept)]
            + [f"v{len(kept) + i + 1}: cotangent {i}" for i in range(len(seeds))]
            + [f"returns the cotangents of {', '.join(comment_name(x) for x in real)}"]
        )
        reals = [True for _ in xbars]
        backward = Lowered(self._emitter, "backward", (*kept, *seeds), xbars, reals, comment)
        forward.program(self._flavour)
        backward.program(self._flavour)
        return forward, backward, kept

    # Value and gradient ---------------------------------------------------------------------------

    def value_and_grad(self, /, *args: Any, wrt: Any = None, **named: Any) -> tuple[Any, Any]:
        """The value of a scalar output, and a tuple of its derivatives with respect to the inputs.

        Args:
            args: the arguments, as for a call.
            wrt: an input (a symbol or its name), whose derivative comes bare, not in a tuple; or a
                list or tuple of inputs.  All inputs by default, and then None stands in the place
                of integer and boolean ones.
            named: arguments by name.

        Raises ShapeError for an output that is not one scalar, ValueError for ``wrt`` that is no
        input, NotDifferentiable for ``wrt`` that is not real.
        """
        if wrt is None and self._flavour == MATH:
            self._joint_of(None)
        if wrt is None and "value_and_grad" in self.__dict__:  # from now on, nothing lies between
            return self.__dict__["value_and_grad"](*args, **named)  # type: ignore[no-any-return]
        return self._differentiating(*args, wrt=wrt, **named)

    def _differentiating(self, /, *args: Any, wrt: Any = None, **named: Any) -> tuple[Any, Any]:
        lowered, order = self._joint_of(wrt)
        call = self._signature.bind(args, named)
        self._refuse_kinks(lowered, call)
        values = self._evaluated(lowered, call)
        value, *grads = values
        if wrt is None and len(order) < len(self.inputs):
            found = dict(zip(order, grads, strict=True))
            grads = [found.get(i) for i in range(len(self.inputs))]
        gradient = tuple(grads) if wrt is None or isinstance(wrt, list | tuple) else grads[0]
        return (value,) if self._many else value, gradient

    def _joint_of(self, wrt: Any) -> tuple[Lowered, tuple[int, ...]]:
        self._check_scalar("value_and_grad")
        order = self._places(wrt, "value_and_grad")
        found = self._joint.get(order)
        if found is None:
            with self._lock:
                found = self._joint.get(order)
                if found is None:
                    found = self._joint[order] = self._differentiated(order)
        return found, order

    def _differentiated(self, order: tuple[int, ...]) -> Lowered:
        (y,) = self.outputs
        xs = [self.inputs[i] for i in dict.fromkeys(order)]
        found = dict(zip(xs, grad(y, xs), strict=True)) if xs else {}
        outputs = (y, *(found[self.inputs[i]] for i in order))
        reals = [*self._real, *(True for _ in order)]
        names = ", ".join(comment_name(self.inputs[i]) for i in order)
        comment = f"{self._comment((y,))}\nand the derivatives with respect to {names}"
        lowered = Lowered(self._emitter, "value_and_grad", self.inputs, outputs, reals, comment)
        lowered.program(self._flavour)
        wanted = order == tuple(range(len(self.inputs))) and not self._strict
        if self._flavour == MATH and wanted:
            entry = self._entry(lowered, "value_and_grad", self._differentiating)
            self.__dict__["value_and_grad"] = entry
        return lowered

    def _entry(self, lowered: Lowered, name: str, slow: Callable[..., Any]) -> Callable[..., Any]:
        """``lowered`` for Python floats as one function, which falls back to ``slow``."""
        # A selection may hand on the number 0 of one of its branches, which is an int in Python.
        cast = [
            real and (y.dtype is not float or (isinstance(y.op, ops.Pointwise) and not y.op.result))
            for real, y in zip(lowered.real, lowered.outputs, strict=True)
        ]
        dtypes = [x.dtype for x in self.inputs]
        program = lowered.program(MATH)
        return self._emitter.entry(name, program, dtypes, cast, slow, many=self._many)

    # Data -----------------------------------------------------------------------------------------

    def bind(self, /, *values: Mapping[Any, Any], **named: Any) -> Function:
        """The Function of the remaining inputs, with values for the others: ``F.bind(X=data)``.

        The values are copied, and lengths of axes that they have are fixed.  Nothing is
        differentiated by them any more.

        Args:
            values: a mapping from inputs, symbols or names, to values.
            named: values by name.

        Raises what a call raises for a wrong name, dtype or shape; TypeError for an input given
        twice.

        >>> import symdiff as sd
        >>> X, w = sd.symbol("X", ("n", 2)), sd.symbol("w", 2)
        >>> f = lower(sd.sum((X @ w) ** 2), (X, w)).bind(X=np.eye(2))
        >>> f(np.array([1.0, 2.0])), f.grad(np.array([1.0, 2.0])).tolist()
        (np.float64(5.0), [2.0, 4.0])
        """
        given: dict[Expr, Any] = {}
        for key, value in [*(pair for m in values for pair in m.items()), *named.items()]:
            x = self.inputs[self._place(key, "bind")]
            if x in given:
                raise TypeError(f"bind: input {x.name} is given twice")
            given[x] = bindable(x, value)
        bound_sizes("bind", ((x, np.shape(value)) for x, value in given.items()))
        count = len(self.outputs)
        with _mode(self._strict):
            found = substitute([*self.outputs, *self.inputs], given)
            rest = [y for x, y in zip(self.inputs, found[count:], strict=True) if x not in given]
            return lower(found[:count] if self._many else found[0], rest)

    # Description ----------------------------------------------------------------------------------

    def _comment(self, outputs: Sequence[Expr]) -> str:
        lines = [f"v{i + 1}: {_described(x)}" for i, x in enumerate(self.inputs)]
        shapes = ", ".join(shape_text(y.shape) for y in outputs)
        return "\n".join([*lines, f"returns: {shapes}"])

    @property
    def source(self) -> str:
        """The Python source of the programs written so far: values first, then gradients."""
        with self._lock:
            lowered = [self._value]
            if self._pair is not None:
                lowered += self._pair[:2]
            lowered += [*self._joint.values(), *self._derived.values()]
            texts = []
            for program in lowered:
                texts += [p.source for p in program.found.values()][:1]
            legend = [f"# {name}: {text}" for name, text in self._emitter.legend.items()]
        return "\n\n".join([*(["\n".join(legend)] if legend else []), *texts])

    def explain(self) -> str:
        """What is computed and what is kept, in words."""
        forward, backward, kept = self._passes()
        inputs = ", ".join(_described(x) for x in self.inputs) or "none"
        lines = [
            f"inputs: {inputs}",
            f"outputs: {', '.join(shape_text(y.shape) for y in self.outputs)}",
        ]
        for title, lowered in (("value", self._value), ("backward", backward)):
            program = next(iter(lowered.found.values()))
            steps = len(program.schedule.order)
            quiet = ", selections: runs without floating-point warnings" if program.masked else ""
            lines.append(f"{title}: {steps} steps{quiet}")
        names = ", ".join(_described(v) for v in kept) or "nothing"
        lines.append(f"kept for backward: {names}")
        first = frozenset(_placed(forward))
        again = sum(1 for x in _placed(backward) if x in first)
        lines.append(f"computed again in backward: {again} steps")
        if self._flat:
            lines.append("Python floats run through math, arrays point by point through NumPy")
        lines += [f"{name}: {text}" for name, text in self._emitter.legend.items()]
        return "\n".join(lines)

    def __repr__(self) -> str:
        shapes = ", ".join(shape_text(y.shape) for y in self.outputs[:5])
        more = ", ..." if len(self.outputs) > 5 else ""
        return f"<Function of {self._signature}: {shapes}{more}>"


# Helpers ----------------------------------------------------------------------------------------


without(Function, "a Function", FUNCTION)


def _lowered_again(
    nodes: list[Expr], places: Sequence[int], count: int, many: bool, strict: bool = False
) -> Function:
    """The Function of a pickle, lowered in this process."""
    found = apart(nodes, places)
    outputs = found[:count]
    with _mode(strict):
        return lower(outputs if many else outputs[0], found[count:])


def _mode(strict: bool) -> kinks:
    """What is said of kinks while a Function is lowered again."""
    return kinks("raise" if strict else "subgradient")


def _described(x: Expr) -> str:
    name = comment_name(x) if isinstance(x.op, ops.Symbol) else x.op.name or type(x.op).__name__
    shape = f" {shape_text(x.shape)}" if x.shape else ""
    return f"{name}{shape}" + ("" if x.dtype is float else f" {x.dtype.__name__}")


def _placed(lowered: Lowered) -> Sequence[Expr]:
    return next(iter(lowered.found.values())).schedule.order
