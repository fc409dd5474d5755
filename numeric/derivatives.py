"""What Functions give beside values and gradients: products with the derivative, and all of it."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.lowering.arguments import Call, Signature, tangent
from numeric.lowering.kernels import lengths
from numeric.lowering.programs import Lowered
from symdiff import ops
from symdiff.batching import pushed_jacobian
from symdiff.contraction import contract
from symdiff.derivative import grad, jacobian, jvp
from symdiff.errors import NotDifferentiable, ShapeError
from symdiff.expr import Expr
from symdiff.leaves import dummy, full
from symdiff.letters import shape_text
from symdiff.reals import is_real

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from threading import RLock

    from numeric.function import Residuals
    from numeric.lowering.emit import Emitter


class Derivatives:
    """The methods of a Function for its derivatives, in programs that are written when needed."""

    outputs: tuple[Expr, ...]
    inputs: tuple[Expr, ...]
    _signature: Signature
    _emitter: Emitter
    _lock: RLock
    _flavour: str
    _strict: bool
    _value: Lowered
    _real_places: tuple[int, ...]
    _derived: dict[tuple[Any, ...], Lowered]
    _traces: dict[Lowered, list[Expr]]

    if TYPE_CHECKING:  # what the Function has

        def backward(  # noqa: D102
            self, residuals: Residuals, /, *cotangents: Any, accumulate: Any = None, wrt: Any = None
        ) -> Any: ...
        def _forwarded(
            self, call: Call, shapes: tuple[tuple[int, ...], ...], copies: bool = True
        ) -> tuple[list[Any], Residuals]: ...
        def _evaluated(self, lowered: Lowered, call: Call) -> list[Any]: ...
        def _structured(self, values: Sequence[Any]) -> Any: ...
        def _refuse_kinks(self, lowered: Lowered, call: Call) -> None: ...
        def _comment(self, outputs: Sequence[Expr]) -> str: ...

    def vjp(self, /, *args: Any, **named: Any) -> tuple[Any, Callable[..., tuple[Any, ...]]]:
        """The outputs, and the pullback: cotangents of the outputs to those of the inputs.

        The pullback is ``backward`` at these arguments: it takes one cotangent for each output,
        gives a tuple with one for each input (None for integer and boolean ones), accepts
        ``accumulate``, and may be called any number of times.  It works under ``no_grad()`` too.

        >>> import symdiff as sd
        >>> from numeric.function import lower
        >>> x = sd.symbol("x", 2)
        >>> y, pullback = lower(x * x, x).vjp(np.array([1.0, 3.0]))
        >>> pullback(np.ones(2))[0].tolist()
        [2.0, 6.0]
        """
        call = self._signature.bind(args, named)
        self._refuse_kinks(self._value, call)
        values, kept = self._forwarded(call, tuple(np.shape(v) for v in call.values))
        return self._structured(values), partial(self.backward, kept)

    def grad(self, /, *args: Any, wrt: Any = None, **named: Any) -> Any:
        """The gradient of a scalar output: an array if there is one input, else a tuple.

        Args:
            args: the arguments, as for a call.
            wrt: an input (a symbol or its name): its array; a list or tuple of inputs: a tuple.
                By default all inputs, and None stands for integer and boolean ones.
            named: arguments by name.

        So ``scipy.optimize.minimize(F, x0, jac=F.grad)`` works.  Raises ShapeError for an output
        that is not one scalar, ValueError for ``wrt`` that is no input, NotDifferentiable for one
        that is not real.

        >>> import symdiff as sd
        >>> from numeric.function import lower
        >>> x = sd.symbol("x", 2)
        >>> lower(x @ x, x).grad(np.array([1.0, 3.0])).tolist()
        [2.0, 6.0]
        """
        self._check_scalar("grad")
        order = self._places(wrt, "grad")
        lowered = self._derivative(
            ("jacobian", order, "reverse"), partial(self._jacobians, order, "reverse")
        )
        call = self._signature.bind(args, named)
        self._refuse_kinks(lowered, call)
        return self._by_input(self._evaluated(lowered, call), wrt, order, "grad")

    def hvp(self, args: Any, tangents: Any) -> Any:
        """The Hessian of a scalar output times ``tangents``; no Hessian is built.

        ``r_j = sum_k d2y/dx_j dx_k . t_k`` has the shape of argument j.

        Args:
            args: a list or tuple with one argument for each input; of a Function of one input, the
                argument itself will do.
            tangents: likewise, of the shapes of the arguments; None stands for zeros, and must
                for integer and boolean inputs.

        The result is a tuple with one entry for each input (None for integer and boolean ones); an
        array if the argument came by itself, so that ``scipy.optimize.minimize(F, x0, jac=F.grad,
        hessp=F.hvp, method="Newton-CG")`` works.  Raises as ``jvp`` does, and ShapeError for an
        output that is not one scalar.

        >>> import symdiff as sd
        >>> from numeric.function import lower
        >>> x = sd.symbol("x", 2)
        >>> F = lower(x[0] ** 2 * x[1], x)
        >>> F.hvp(np.array([1.0, 3.0]), np.array([1.0, 0.0])).tolist()
        [6.0, 2.0]
        """
        self._check_scalar("hvp")
        single = len(self.inputs) == 1 and not isinstance(args, list | tuple)
        if single:
            args, tangents = (args,), (tangents,)
        call, real = self._moved("hvp", args, tangents)
        lowered = self._derivative(("hvp",), self._twice)
        self._refuse_kinks(lowered, call)
        values = self._evaluated(lowered, call._replace(values=(*call.values, *real)))
        found = dict(zip(self._real_places, values, strict=False))
        results = tuple(found.get(i) for i in range(len(self.inputs)))
        return results[0] if single else results

    def jvp(self, args: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        """The outputs, and their tangents for ``tangents`` of the inputs.

        ``ydot_i = sum_j dy_i/dx_j . t_j`` has the shape of output i, also where arguments of scalar
        inputs are arrays of points.

        Args:
            args: a list or tuple with one argument for each input.
            tangents: likewise, of the shapes of the arguments; None stands for zeros, and must
                for integer and boolean inputs.

        Raises TypeError, ShapeError for what does not fit.

        >>> import symdiff as sd
        >>> from numeric.function import lower
        >>> x = sd.symbol("x", 2)
        >>> y, t = lower(x * x, x).jvp([np.array([1.0, 3.0])], [np.array([1.0, 0.5])])
        >>> t.tolist()
        [2.0, 3.0]
        """
        call, real = self._moved("jvp", args, tangents)
        lowered = self._derivative(("jvp",), self._pushed)
        self._refuse_kinks(lowered, call)
        values = self._evaluated(lowered, call._replace(values=(*call.values, *real)))
        count = len(self.outputs)
        return self._structured(values[:count]), self._structured(values[count:])

    def _moved(self, method: str, args: Any, tangents: Any) -> tuple[Call, list[Any]]:
        """The arguments, and the tangents of the real ones."""
        for name, values in (("args", args), ("tangents", tangents)):
            if not isinstance(values, list | tuple) or len(values) != len(self.inputs):
                raise TypeError(
                    f"{method}: {name} must be a list or tuple with one entry for each of the "
                    f"inputs {self._signature}"
                )
        call = self._signature.bind(args, {})
        moved = [
            tangent(method, x, t, np.shape(v), call.precision)
            for x, t, v in zip(self.inputs, tangents, call.values, strict=True)
        ]
        return call, [t for x, t in zip(self.inputs, moved, strict=True) if x.dtype is float]

    def jacobian(self, /, *args: Any, wrt: Any = None, mode: str = "reverse", **named: Any) -> Any:
        """The derivatives of the outputs by inputs: ``J[i.., j..] = dy[i..]/dx[j..]``.

        Args:
            args: the arguments, as for a call.
            wrt: an input (a symbol or its name): one array of shape output + input; a list or
                tuple of inputs: a tuple of these.  By default all inputs: one array if there is
                one input, else a tuple in which None stands for integer and boolean inputs.
            mode: "reverse" computes all rows from the output's side, which suits outputs with few
                elements; "forward" all columns from the inputs' side, which suits inputs with few;
                "auto" goes by the numbers of elements.  Values are the same up to rounding.
            named: arguments by name.

        A Function of a list or tuple of outputs gives a tuple of such results, one per output.
        Where arguments of scalar inputs are arrays of points, the derivatives are those at each
        point, and their shape is the points' shape before that of the output.

        Raises ValueError for ``wrt`` that is no input, NotDifferentiable for one that is not real.

        >>> import symdiff as sd
        >>> from numeric.function import lower
        >>> x = sd.symbol("x", 2)
        >>> lower(x * x, x).jacobian(np.array([1.0, 3.0])).tolist()
        [[2.0, 0.0], [0.0, 6.0]]
        """
        order = self._places(wrt, "jacobian")
        call = self._signature.bind(args, named)
        mode = self._direction(mode, order, call)
        lowered = self._derivative(("jacobian", order, mode), partial(self._jacobians, order, mode))
        self._refuse_kinks(lowered, call)
        values = iter(self._evaluated(lowered, call))
        rows = [[next(values) for _ in order] for _ in self.outputs]
        return self._structured([self._by_input(row, wrt, order, "jacobian") for row in rows])

    def hessian(self, /, *args: Any, wrt: Any = None, **named: Any) -> Any:
        """The second derivatives: ``H[i.., j.., k..] = d2 y[i..] / dx[j..] dz[k..]``.

        Args and structure are those of ``jacobian``, once for each of the two inputs: one array
        for one input; a tuple of tuples, ``H[x][z]``, for several.

        >>> import symdiff as sd
        >>> from numeric.function import lower
        >>> x, y = sd.symbols("x y")
        >>> lower(x**2 * y, (x, y)).hessian(3.0, 5.0)
        ((10.0, 6.0), (6.0, 0.0))
        """
        order = self._places(wrt, "hessian")
        lowered = self._derivative(("hessian", order), partial(self._hessians, order))
        call = self._signature.bind(args, named)
        self._refuse_kinks(lowered, call)
        values = iter(self._evaluated(lowered, call))
        results = []
        for _ in self.outputs:
            rows = [
                self._by_input([next(values) for _ in order], wrt, order, "hessian") for _ in order
            ]
            results.append(self._by_input(rows, wrt, order, "hessian"))
        return self._structured(results)

    def _by_input(self, values: Sequence[Any], wrt: Any, order: Sequence[int], method: str) -> Any:
        """One value for each input of ``order``, as ``wrt`` asks for them."""
        if isinstance(wrt, list | tuple):
            return tuple(values)
        if wrt is not None:
            return values[0]
        found = dict(zip(order, values, strict=True))
        if len(self.inputs) != 1:
            return tuple([found.get(i) for i in range(len(self.inputs))])
        if not order:
            raise NotDifferentiable(f"{method}: input {self._signature} is not real")
        return values[0]

    def _derivative(
        self,
        key: tuple[Any, ...],
        make: Callable[[], tuple[list[Expr], list[Expr], list[Expr], str]],
    ) -> Lowered:
        def made() -> Lowered:
            more, outputs, traces, text = make()
            comment = f"{self._comment(self.outputs)}\n{text}"
            values = self.outputs if key == ("jvp",) else ()
            reals = [*map(is_real, values), *(True for _ in outputs)]
            results = [*values, *outputs]
            params = (*self.inputs, *more)
            found = Lowered(self._emitter, key[0], params, results, reals, comment)
            if self._strict:
                self._traces[found] = traces
            return found

        return self._once(key, made)

    def _once(self, key: tuple[Any, ...], made: Callable[[], Lowered]) -> Lowered:
        """A program that is made when it is first needed."""
        found = self._derived.get(key)
        if found is None:
            with self._lock:
                found = self._derived.get(key)
                if found is None:
                    found = made()
                    found.program(self._flavour)
                    self._derived[key] = found
        return found

    def _twice(self) -> tuple[list[Expr], list[Expr], list[Expr], str]:
        real = [x for x in self.inputs if x.dtype is float]
        moved = [dummy(x) for x in real]
        first = list(grad(self.outputs[0], real)) if real else []
        found = list(jvp(first, real, moved)) if real else []
        names = ", ".join(comment_name(x) for x in real)
        text = f"v{len(self.inputs) + 1}, ...: tangents of {names}; returns the Hessian times these"
        return moved, found, first, text

    def _pushed(self) -> tuple[list[Expr], list[Expr], list[Expr], str]:
        real = [x for x in self.inputs if x.dtype is float]
        moved = [dummy(x) for x in real]
        pushed = list(jvp(self.outputs, real, moved)) if real else []
        names = ", ".join(comment_name(x) for x in real)
        text = f"v{len(self.inputs) + 1}, ...: tangents of {names}; returns values and tangents"
        return moved, pushed or [full(y.shape, 0) for y in self.outputs], [], text

    def _direction(self, mode: str, order: tuple[int, ...], call: Call) -> str:
        """``mode``, decided by the numbers of elements if that is left open."""
        if mode not in ("forward", "reverse", "auto"):
            raise ValueError(f"jacobian: mode {mode!r} is none of 'forward', 'reverse', 'auto'")
        if mode != "auto":
            return mode
        xs = (self.inputs[i].shape for i in order)
        columns = sum(math.prod(lengths(shape, call.sizes)) for shape in xs)
        rows = sum(math.prod(lengths(y.shape, call.sizes)) for y in self.outputs)
        return "forward" if columns < rows else "reverse"

    def _jacobians(
        self, order: tuple[int, ...], mode: str
    ) -> tuple[list[Expr], list[Expr], list[Expr], str]:
        xs = [self.inputs[i] for i in order]
        names = ", ".join(comment_name(x) for x in xs)
        text = f"differentiated with respect to {names}"
        if mode == "reverse":
            return [], [j for y in self.outputs for j in (jacobian(y, xs) if xs else ())], [], text
        pairs = [pushed_jacobian(y, x) for y in self.outputs for x in xs]
        return [], [j for j, _ in pairs], [column for _, column in pairs], text

    def _hessians(self, order: tuple[int, ...]) -> tuple[list[Expr], list[Expr], list[Expr], str]:
        xs = [self.inputs[i] for i in order]
        names = ", ".join(comment_name(x) for x in xs)
        found: list[Expr] = []
        traces: list[Expr] = []
        for y in self.outputs:
            rows: dict[tuple[int, int], Expr] = {}
            for i, first in enumerate(jacobian(y, xs) if xs else ()):
                traces.append(first)
                for j, second in enumerate(jacobian(first, xs[i:]), start=i):
                    rows[i, j] = second
                    rows.setdefault((j, i), _exchanged(second, xs[i].ndim, xs[j].ndim))
            found += [rows[i, j] for i in range(len(xs)) for j in range(len(xs))]
        return [], found, traces, f"differentiated twice with respect to {names}"

    def _places(self, wrt: Any, method: str) -> tuple[int, ...]:
        if wrt is None:
            return self._real_places
        places = []
        for key in wrt if isinstance(wrt, list | tuple) else [wrt]:
            place = self._place(key, method)
            if self.inputs[place].dtype is not float:
                name = self.inputs[place].name
                raise NotDifferentiable(f"{method}: input {name} is not real")
            places.append(place)
        return tuple(places)

    def _place(self, key: Any, method: str) -> int:
        """The place of an input, a symbol or a name."""
        name = key.name if isinstance(key, Expr) and isinstance(key.op, ops.Symbol) else key
        place = self._signature.place.get(name) if isinstance(name, str) else None
        if place is None or (isinstance(key, Expr) and key is not self.inputs[place]):
            raise ValueError(f"{method}: {key!r} is no input; those are {self._signature}")
        return place

    def _check_scalar(self, method: str) -> None:
        if len(self.outputs) != 1 or self.outputs[0].shape:
            shapes = ", ".join(shape_text(y.shape) for y in self.outputs)
            raise ShapeError(
                f"{method}: needs one scalar output, this Function has {shapes}; "
                "sum it, or use forward and backward with a cotangent, or jacobian"
            )


# Helpers ----------------------------------------------------------------------------------------


def _exchanged(h: Expr, j: int, k: int) -> Expr:
    """``h`` with its last j + k axes in the order of k + j."""
    word = tuple(range(h.ndim))
    lead, middle, last = (
        word[: h.ndim - j - k],
        word[h.ndim - j - k : h.ndim - k],
        word[h.ndim - k :],
    )
    return contract([(h, word)], (*lead, *last, *middle))


def comment_name(x: Expr) -> str:
    """The name of an input in comments: its own, where that is a word."""
    return x.name if x.name.isidentifier() else "an input"
