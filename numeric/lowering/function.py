"""Lowered Functions: programs for values and derivatives of a formula, behind one checked surface.

A Function is inputs, outputs and a table of programs, each of which is written when it is first
needed: the value, which is written at once; the forward pass, which also returns what is kept, and
the backward pass, whole or for some inputs; and one for each further kind of derivative, by each
choice of inputs that is asked for.  ``derivatives`` says what they compute, ``running`` makes and
runs them.  What is here checks what users give, and hands over what comes in the structure that
they asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np

from numeric.guesses import FUNCTION
from numeric.halves import tensors
from numeric.lowering import derivatives
from numeric.lowering.arguments import (
    Fixed,
    bindable,
    check_closed,
    cotangent,
    key_of,
)
from numeric.lowering.names import MATH, Options
from numeric.lowering.ownership import accumulated, check_targets
from numeric.lowering.running import Programs, Residuals
from numeric.modes import current
from symdiff.calculus.jacobians import direction
from symdiff.contexts import contained, kinks
from symdiff.errors import ShapeError, Unsupported
from symdiff.graph import ops
from symdiff.graph.arguments import boolean, door, unfit
from symdiff.graph.axes import shape_text
from symdiff.graph.axis_lengths import become, bound, bound_sizes, lengths
from symdiff.graph.expr import Expr
from symdiff.graph.leaves import as_expr
from symdiff.graph.node import topological
from symdiff.graph.number import shortened
from symdiff.guesses import without, written
from symdiff.interchange.pickling import apart, together
from symdiff.locks import once
from symdiff.transforms.closing import filled_up
from symdiff.transforms.substitution import substitute
from symdiff.transforms.unknown_functions import unknown_within

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numeric.lowering.programs import Lowered
    from symdiff.transforms.closing import Filled


# The lengths of a call that decided, and a direction for each output.
_Directions: TypeAlias = "tuple[Mapping[str, int] | None, tuple[str, ...]]"


@door
@written("lower(f, [x, y])")
def lower(
    outputs: Any,
    inputs: Expr | Sequence[Expr],
    *,
    threads: int | None = None,
    exact_order: bool = False,
    backend: str = "numpy",
    fastmath: bool = False,
) -> Function:
    """``outputs`` as a fast NumPy function of ``inputs``, with its exact reverse derivative.

    Args:
        outputs: one expression, for one value; a list or tuple of them, for a tuple of values.
        inputs: the symbols that are the arguments, in this order.  Those not used are fine.
        threads: on how many threads large arrays are computed, in blocks; results are the same
            for any number.  None: as many as the environment variable SYMDIFF_NUM_THREADS says,
            else as many as the process may use processors.
        exact_order: whether sums are added in the order of the formula's terms, or, of elements, as
            NumPy adds them, and matrices multiplied in the formula's order.  Else long sums may be
            sums of arrays or of the sums of blocks, and matrix products run in the order of least
            work, which is as accurate, and faster.
        backend: "numpy"; "native" for kernels in machine code, which the system's C compiler makes;
            or "auto" for "native" where there is a compiler, else "numpy", with a warning.  With
            "auto" a kernel that cannot be compiled or loaded is NumPy's, too; with "native" the
            call raises NoCompiler, and says why.
        fastmath: whether machine code may compute as if its numbers were real ones: in another
            order, with products by reciprocals for quotients, and products and sums that are
            rounded once.  Nan, infinities and signs of zeros have no meaning then.

    Raises ValueError for symbols that are not inputs, for axis lengths that no input has, for
    ``threads`` that is not a positive int, for another ``backend``, and for ``fastmath`` of NumPy
    or beside ``exact_order``; ShapeError for two symbols of one name, TypeError for what is no
    expression or symbol, Unsupported for what cannot be executed (a function that needs SciPy,
    where there is none); NoCompiler, a RuntimeError, where machine code is asked for and there is
    no compiler, and PermissionError where others can write to where it is kept.

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
                f"lower: input {shortened(x)} is not a symbol; formulas come first, as in "
                "lower(f, [x, y])"
            )
    nodes = topological(ys)
    for unknown in unknown_within(nodes):  # also in loops, which are lowered when they run
        raise unknown.refused("lower")
    given = frozenset(xs)
    others = [x for x in nodes if isinstance(x.op, ops.Symbol) and x not in given]
    symbols = tuple([become(x, others) for x in xs]) if others else xs
    if threads is not None and (threads.__class__ is not int or threads < 1):
        raise ValueError(f"lower: threads is {shortened(threads)}; give a positive int, or None")
    native = _has_native(backend)
    exact_order = boolean("lower", "exact_order", exact_order)
    fastmath = boolean("lower", "fastmath", fastmath)
    if fastmath and backend == "numpy":
        raise ValueError('lower: fastmath is of machine code: add backend="native", or drop it')
    if fastmath and exact_order:
        raise ValueError("lower: fastmath changes the order that exact_order keeps: drop one")
    options = Options(threads, exact_order, backend, fastmath, native)
    return Function(ys, symbols, many, nodes, options, xs)


class Function:
    """A lowered function: ``F(*arrays, **named)``; made by ``lower``.

    Calls are pure and may run in any number of threads.  Arguments are arrays, or numbers for
    scalar inputs; symbolic axis lengths are learnt from them.  Results are new arrays (NumPy
    scalars where the shape is ()), in the precision of the arguments: float32 gives float32,
    integers are promoted.  Python numbers take the precision of what they meet.

    Where all inputs are scalar symbols, Python floats give Python floats, through ``math`` (and
    through NumPy where ``math`` raises); arguments may also be arrays of points, which broadcast,
    and every result has their shape.

    ``outputs`` are its expressions.  ``inputs`` are the symbols as the user has them: where data
    made a length of one a number in the outputs, it is a symbol of that name and length there.

    Calls raise TypeError for a wrong number, name or dtype of arguments and ShapeError for a
    wrong shape, before anything runs.
    """

    def __init__(
        self,
        outputs: tuple[Expr, ...],
        inputs: tuple[Expr, ...],
        many: bool,
        nodes: Sequence[Expr],
        options: Options,
        given: Sequence[Expr] = (),
        fixed: Sequence[Fixed] = (),
    ) -> None:
        self.outputs = outputs
        filled = filled_up(outputs)
        if filled is not None:
            outputs = tuple(filled.outputs)
            nodes = topological(outputs)
        self._open = filled if filled is not None and filled.counts else None
        check_closed(outputs, inputs, nodes)
        self._many, self._options = many, options
        self._known_directions: dict[tuple[str, tuple[int, ...]], _Directions] = {}
        self._programs = Programs(outputs, inputs, nodes, options)
        self._signature = self._programs.signature
        self._signature.stand_for(given or inputs, fixed)
        self.inputs = self._signature.given
        # Python floats need no layer between the caller and the program; kinks have to be asked.
        self._direct = self._programs.flavour == MATH and not self._programs.strict
        # By method, what derivatives by all inputs are, which is found once.
        self._whole: dict[str, tuple[Lowered, tuple[int, ...]]] = {}
        self._call: Callable[..., object] = self._called
        if self._direct:
            self._call = self._programs.entry("call", self._programs.value, self._called, many)

    def __copy__(self) -> Function:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Function:
        return self  # calls change nothing that another holder could see

    def __reduce__(self) -> tuple[object, ...]:
        inputs, given, fixed = self._programs.inputs, self.inputs, self._signature.fixed
        return _lowered_again, (
            *together([*self.outputs, *inputs, *(given if fixed else ())]),
            len(self.outputs),
            self._many,
            self._programs.strict,
            fixed,
            tuple(self._options)[:4],
        )

    # Calls ----------------------------------------------------------------------------------------

    def __call__(self, /, *args: object, **named: object) -> Any:
        """The values of the outputs: one value, or a tuple if the outputs were a list or tuple."""
        return self._call(*args, **named)

    def _called(self, /, *args: object, **named: object) -> object:
        found = None if named else self._signature.seen(args)
        if found is None:
            if any(isinstance(value, tensors.kinds) for value in (*args, *named.values())):
                return tensors.call(self, args, named)
            found = self._signature.bind(args, named)
        return self._structured(self._programs.results(self._programs.value, *found))

    # Forward and backward -------------------------------------------------------------------------

    def forward(self, /, *args: object, **named: object) -> tuple[Any, Residuals]:
        """The outputs, as a call gives them, and the residuals that ``backward`` needs.

        Residuals never change: what they share with writeable arguments is copied.  A read-only
        argument is kept as it is, so large data that backward needs is best made read-only
        (``X.flags.writeable = False``).  Under ``no_grad()`` nothing is kept.
        """
        if self._open:
            self._refuse("forward")
        given, call = self._signature.bind(args, named)
        if current().grad:
            values, kept = self._programs.forward(given, call)
        else:
            values = self._programs.results(self._programs.value, given, call)
            kept = Residuals(self._programs, call, None)
        return tuple(values) if self._many else values[0], kept

    def backward(
        self,
        residuals: Residuals,
        /,
        *cotangents: object,
        accumulate: object = None,
        wrt: object = None,
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
        if not isinstance(residuals, Residuals) or residuals.owner is not self._programs:
            raise ValueError("backward: these are not residuals of this Function's forward")
        if residuals.values is None:
            raise RuntimeError(
                "backward: forward ran under no_grad() and kept no residuals; run it outside"
            )
        if len(cotangents) != len(self.outputs):
            raise TypeError(
                f"backward: {len(self.outputs)} cotangents expected, one per output, "
                f"got {len(cotangents)}"
            )
        call = residuals.call
        seeds: Sequence[Any] = cotangents
        if key_of(cotangents) != call.seeds:
            seeds = [
                cotangent(i, g, call.points + lengths(y.shape, call.sizes))
                for i, (g, y) in enumerate(zip(cotangents, self.outputs, strict=True))
            ]
            call = call.pulled(seeds)
        order = range(len(self.inputs)) if wrt is None else self._signature.places(wrt, "backward")
        several = wrt is None or isinstance(wrt, list | tuple)
        targets = None
        if accumulate is not None:
            xs, shapes = [self.inputs[i] for i in order], [call.shapes[i] for i in order]
            targets = check_targets(accumulate if several else [accumulate], xs, shapes)
        wanted = None if wrt is None else tuple(order)
        results = self._programs.backward(residuals, call, seeds, wanted)
        found = tuple(results) if targets is None else accumulated(targets, results)
        return found if several else found[0]

    def vjp(self, /, *args: object, **named: object) -> tuple[Any, Callable[..., tuple[Any, ...]]]:
        """The outputs, and the pullback: cotangents of the outputs to those of the inputs.

        The pullback is ``backward`` at these arguments: it takes one cotangent for each output,
        gives a tuple with one for each input (None for integer and boolean ones), accepts
        ``accumulate``, and may be called any number of times.  It works under ``no_grad()`` too.

        >>> import symdiff as sd
        >>> from numeric.lowering.function import lower
        >>> x = sd.symbol("x", 2)
        >>> y, pullback = lower(x * x, x).vjp(np.array([1.0, 3.0]))
        >>> pullback(np.ones(2))[0].tolist()
        [2.0, 6.0]
        """
        if self._open:
            self._refuse("vjp")
        values, kept = self._programs.forward(*self._signature.bind(args, named))
        return self._structured(values), partial(self.backward, kept)

    # Derivatives ----------------------------------------------------------------------------------

    def value_and_grad(
        self, /, *args: object, wrt: object = None, **named: object
    ) -> tuple[Any, Any]:
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
        known = self._whole.get("value_and_grad") if wrt is None else None
        if known is None:
            known = self._of_scalar("value_and_grad", wrt, derivatives.value_and_grad)
        program, order = known
        whole = self._direct and wrt is None and len(order) == len(self.inputs)
        if whole and "value_and_grad" not in self.__dict__:
            # From now on, nothing lies between: the attribute hides the method, which is called
            # for what the entry leaves to the program, as arrays are.
            slow, many = partial(Function.value_and_grad, self), self._many
            enter = partial(self._programs.entry, "value_and_grad", program, slow, many)
            entry = once(self.__dict__, "value_and_grad", self._programs.lock, enter)
            result: tuple[Any, Any] = entry(*args, **named)
            return result
        found = self._programs.results(program, *self._signature.bind(args, named))
        value = (found[0],) if self._many else found[0]
        return value, self._signature.by_input(found[1:], wrt, order)

    def grad(self, /, *args: object, wrt: object = None, **named: object) -> Any:
        """The gradient of a scalar output: an array if there is one input, else a tuple.

        Args:
            args: the arguments, as for a call.
            wrt: an input (a symbol or its name): its array; a list or tuple of inputs: a tuple.
                By default all inputs, and None stands for integer and boolean ones.
            named: arguments by name.

        So ``scipy.optimize.minimize(F, x0, jac=F.grad)`` works.  Raises ShapeError for an output
        that is not one scalar, ValueError for ``wrt`` that is not an input, NotDifferentiable for
        one that is not real.

        >>> import symdiff as sd
        >>> from numeric.lowering.function import lower
        >>> x = sd.symbol("x", 2)
        >>> lower(x @ x, x).grad(np.array([1.0, 3.0])).tolist()
        [2.0, 6.0]
        """
        known = self._whole.get("grad") if wrt is None else None
        if known is None:
            known = self._of_scalar("grad", wrt, derivatives.jacobian)
        program, order = known
        row = self._programs.results(program, *self._signature.bind(args, named))
        return self._signature.by_input(row, wrt, order, "grad")

    def jacobian(
        self, /, *args: object, wrt: object = None, mode: str = "auto", **named: object
    ) -> Any:
        """The derivatives of the outputs by inputs: ``J[i.., j..] = dy[i..]/dx[j..]``.

        Args:
            args: the arguments, as for a call.
            wrt: an input (a symbol or its name): one array of shape output + input; a list or
                tuple of inputs: a tuple of these.  By default all inputs: one array if there is
                one input, else a tuple in which None stands for integer and boolean inputs.
            mode: "reverse" computes all rows from an output's side, which suits outputs with few
                elements; "forward" all columns from the inputs' side, which suits inputs with few;
                "auto" is forward where the inputs that are asked for have fewer elements in this
                call than the output, or one alone, and reverse elsewhere; each output has its own.
                Values are the same up to rounding.
            named: arguments by name.

        A Function of a list or tuple of outputs gives a tuple of such results, one per output: with
        several inputs ``J[i][j]`` is by input j of output i, and of one array it is ``J[j][i]``.
        Where arguments of scalar inputs are arrays of points, the derivatives are those at each
        point, and their shape is the points' shape before that of the output.

        Raises ValueError for ``wrt`` that is not an input, NotDifferentiable for one that is not
        real.

        >>> import symdiff as sd
        >>> from numeric.lowering.function import lower
        >>> x = sd.symbol("x", 2)
        >>> lower(x * x, x).jacobian(np.array([1.0, 3.0])).tolist()
        [[2.0, 0.0], [0.0, 6.0]]
        """
        if self._open:
            self._refuse("jacobian")
        order = self._signature.places(wrt, "jacobian")
        given, call = self._signature.bind(args, named)
        if mode.__class__ is not str:
            raise unfit("jacobian", "mode", "'forward', 'reverse' or 'auto'", mode)
        known = self._known_directions.get((mode, order))
        if known is None or (known[0] is not None and known[0] is not call.sizes):
            known = self._directions(mode, order, call.sizes)
        program = self._programs.of(derivatives.jacobian, order, known[1])
        values = self._programs.results(program, given, call)
        return self._structured(self._by_input(values, wrt, order, "jacobian"))

    def hessian(self, /, *args: object, wrt: object = None, **named: object) -> Any:
        """The second derivatives: ``H[i.., j.., k..] = d2 y[i..] / dx[j..] dz[k..]``.

        Args and structure are those of ``jacobian``, once for each of the two inputs: one array
        for one input; a tuple of tuples, ``H[x][z]``, for several.

        >>> import symdiff as sd
        >>> from numeric.lowering.function import lower
        >>> x, y = sd.symbols("x y")
        >>> lower(x**2 * y, (x, y)).hessian(3.0, 5.0)
        ((10.0, 6.0), (6.0, 0.0))
        """
        if self._open:
            self._refuse("hessian")
        order = self._signature.places(wrt, "hessian")
        program = self._programs.of(derivatives.hessian, order)
        values = self._programs.results(program, *self._signature.bind(args, named))
        rows = self._by_input(values, wrt, order, "hessian") if order else ()
        return self._structured(self._by_input(rows, wrt, order, "hessian"))

    def jvp(self, args: Sequence[object], tangents: Sequence[object]) -> tuple[Any, Any]:
        """The outputs, and their tangents for ``tangents`` of the inputs.

        ``ydot_i = sum_j dy_i/dx_j . t_j`` has the shape of output i, also where arguments of scalar
        inputs are arrays of points.

        Args:
            args: a list or tuple with one argument for each input.
            tangents: likewise, of the shapes of the arguments; None stands for zeros, and must
                for integer and boolean inputs.

        Raises TypeError, ShapeError for what does not fit.

        >>> import symdiff as sd
        >>> from numeric.lowering.function import lower
        >>> x = sd.symbol("x", 2)
        >>> y, t = lower(x * x, x).jvp([np.array([1.0, 3.0])], [np.array([1.0, 0.5])])
        >>> t.tolist()
        [2.0, 3.0]
        """
        if self._open:
            self._refuse("jvp")
        found = self._signature.moved("jvp", args, tangents)
        values = self._programs.results(self._programs.of(derivatives.jvp), *found)
        count = len(self.outputs)
        return self._structured(values[:count]), self._structured(values[count:])

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
        >>> from numeric.lowering.function import lower
        >>> x = sd.symbol("x", 2)
        >>> F = lower(x[0] ** 2 * x[1], x)
        >>> F.hvp(np.array([1.0, 3.0]), np.array([1.0, 0.0])).tolist()
        [6.0, 2.0]
        """
        self._check_scalar("hvp")
        single = len(self.inputs) == 1 and not isinstance(args, list | tuple)
        if single:
            args, tangents = (args,), (tangents,)
        given = self._signature.moved("hvp", args, tangents)
        row = self._programs.results(self._programs.of(derivatives.hvp), *given)
        found = self._signature.by_input(row, None, self._signature.real)
        return found[0] if single else found

    # Data -----------------------------------------------------------------------------------------

    @contained
    def bind(self, /, *values: Mapping[Any, object], **named: object) -> Function:
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
        inputs = self._programs.inputs
        given: dict[Expr, Any] = {}
        for data in values:
            if not isinstance(data, Mapping):
                raise unfit("bind", "values", "a mapping from inputs to values", data)
        for key, value in [*(pair for m in values for pair in m.items()), *named.items()]:
            x = inputs[self._signature.place_of(key, "bind")]
            if x in given:
                raise TypeError(f"bind: input {x.name} is given twice")
            given[x] = bindable(x, value)
        # Lengths are held against the symbols as they were, and what was bound before.
        before = dict(zip(inputs, self.inputs, strict=True))
        fixed = [*self._signature.fixed]
        fixed += [Fixed(x.name, before[x].shape, np.shape(value)) for x, value in given.items()]
        bound_sizes("bind: symbol", fixed, [entry.numbers for entry in fixed])
        count = len(self.outputs)
        with _mode(self._programs.strict):
            found = substitute([*self.outputs, *inputs], given)
            outputs, nodes = found[:count], topological(found[:count])
            left = tuple([y for x, y in zip(inputs, found[count:], strict=True) if x not in given])
            users = [before[x] for x in inputs if x not in given]
            return Function(outputs, left, self._many, nodes, self._options, users, fixed)

    # Memory ---------------------------------------------------------------------------------------

    def free_memory(self) -> None:
        """Give back the memory that programs keep between calls for values on the way.

        They keep up to 64 MB each, of arrays from 128 KB to 16 MB; results are never in it.  The
        next call takes new memory, and keeps it.

        >>> import symdiff as sd
        >>> from numeric.lowering.function import lower
        >>> x = sd.symbol("x", 20_000)
        >>> f = lower(sd.sum(sd.exp(x) @ x + x), x)
        >>> _ = f(np.ones(20_000))
        >>> f.free_memory()
        """
        self._programs.free_memory()

    # Description ----------------------------------------------------------------------------------

    @property
    def source(self) -> str:
        """The Python source of the programs written so far, values first."""
        return self._programs.source()

    def explain(self, sizes: Mapping[str, int] | None = None, *, rules: bool = False) -> str:
        """What is computed, how and at which cost, and what is kept, in words.

        Of each program that was written: its steps; what of them is fused and runs in blocks of
        rows, on how many threads; which contraction is which call of BLAS; what is rolled, and what
        computed in memory that is kept.  Then what is kept for ``backward``, and how many
        operations there are (see ``symdiff.count_operations``).

        Args:
            sizes: lengths of axes with names, for which operations and bytes are counted; where all
                are known, these are counted without it.
            rules: whether to list the passes that changed each program, with the steps that they
                replaced.

        >>> import symdiff as sd
        >>> from numeric.lowering.function import lower
        >>> rows, slopes = sd.symbol("rows", ("n", 3)), sd.symbol("slopes", 3)
        >>> f = lower(sd.sum(sd.tanh(rows @ slopes)), (rows, slopes))
        >>> print(f.explain({"n": 100}))
        inputs: rows (n, 3), slopes (3,)
        outputs: ()
        value: 3 steps, 5,624 bytes of arrays read and written
          matrix-vector ij,j->i: (n, 3) and (3,) to (n,), BLAS: gemv
          sum i->: (n,) to ()
        backward: 6 steps, 9,648 bytes of arrays read and written
          matrix-vector ij,i->j: (n, 3) and (n,) to (3,), BLAS: gemv
        kept for backward: rows (n, 3), slopes (3,), contract (n,); 3,224 bytes
        computed again in backward: 0 steps
        operations: 500; with all cotangents 1,300, 2.6 times as many
        """
        return self._programs.explain(sizes, rules)

    def __repr__(self) -> str:
        shapes = ", ".join(shape_text(y.shape) for y in self.outputs[:5])
        more = ", ..." if len(self.outputs) > 5 else ""
        return f"<Function of {self._signature}: {shapes}{more}>"

    # What is asked, and in which structure it is answered -----------------------------------------

    def _refuse(self, method: str) -> NoReturn:
        """Raise Unsupported: an output has a length that is known when it is computed."""
        shapes = ", ".join(shape_text(y.shape) for y in self.outputs)
        raise Unsupported(
            f"{method}: outputs of shapes {shapes}: how long these axes are is known when they "
            "are computed; differentiate the formula, and lower the derivative"
        )

    def _structured(self, values: Sequence[object]) -> Any:
        if self._open:
            values = cut_off(self._open, values)
        return tuple(values) if self._many else values[0]

    def _by_input(
        self, values: Sequence[object], wrt: object, order: Sequence[int], method: str
    ) -> list[Any]:
        """The values in rows, each of which has one for each input of ``order``, as asked for."""
        n, row = len(order), self._signature.by_input
        if n and n == len(values):  # as of one output
            return [row(values, wrt, order, method)]
        starts = range(0, len(values), n) if n else [0] * len(self.outputs)
        return [row(values[i : i + n], wrt, order, method) for i in starts]

    def _directions(
        self, mode: str, order: tuple[int, ...], sizes: Mapping[str, int] | None = None
    ) -> _Directions:
        """For each output ``mode``, decided by the numbers of elements if that is left open.

        With them the lengths that decided: None where no axis has a length of its own in each call.
        """
        columns = [self._programs.inputs[i].shape for i in order]
        rows = [y.shape for y in self.outputs]
        fixed = all(isinstance(n, int) for shape in (*rows, *columns) for n in shape)
        if sizes is not None and not fixed:
            columns = [lengths(shape, sizes) for shape in columns]
            rows = [lengths(shape, sizes) for shape in rows]
        modes = tuple([direction("jacobian", mode, [shape], columns) for shape in rows])
        found = None if fixed else sizes, modes
        if fixed or sizes is not None:
            self._known_directions[mode, order] = found
        return found

    def _of_scalar(
        self, method: str, wrt: object, describe: object
    ) -> tuple[Lowered, tuple[int, ...]]:
        """The program of derivatives of a scalar output, and the places of what they are by."""
        self._check_scalar(method)
        order = self._signature.places(wrt, method)
        modes = [self._directions("auto", order)[1]] if describe is derivatives.jacobian else []
        found = self._programs.of(describe, order, *modes), order
        if wrt is None:
            self._whole[method] = found
        return found

    def _check_scalar(self, method: str) -> None:
        if len(self.outputs) != 1 or self.outputs[0].shape:
            shapes = ", ".join(shape_text(y.shape) for y in self.outputs)
            raise ShapeError(
                f"{method}: needs one scalar output, this Function has {shapes}; "
                "sum it, or use forward and backward with a cotangent, or jacobian"
            )


# Helpers ----------------------------------------------------------------------------------------


without(Function, "a Function", FUNCTION)


def cut_off(filled: Filled, values: Sequence[Any]) -> list[Any]:
    """What there is of outputs that were filled up, in memory of its own."""
    count = len(filled.shapes)
    counts = {name: int(n) for name, n in zip(filled.counts, values[count:], strict=True)}
    found = []
    for value, shape in zip(values, filled.shapes, strict=False):
        there = bound(shape, counts)
        if there != shape:
            steps = [slice(n if n != dim else None) for n, dim in zip(there, shape, strict=True)]
            value = np.array(value[tuple(steps)])
        found.append(value)
    return found


@contained
def _lowered_again(
    nodes: list[Expr],
    places: Sequence[int],
    count: int,
    many: bool,
    strict: bool = False,
    fixed: Sequence[Fixed] = (),
    options: tuple[Any, ...] = (),
) -> Function:
    """The Function of a pickle, lowered in this process."""
    found = apart(nodes, places)
    outputs, inputs = tuple(found[:count]), tuple(found[count:])
    own = len(inputs) // 2 if fixed else len(inputs)
    with _mode(strict):
        nodes = topological(outputs)
        kept = Options(*options)
        kept = kept._replace(native=_has_native(kept.backend))
        return Function(outputs, inputs[:own], many, nodes, kept, inputs[own:], fixed)


def _has_native(backend: str) -> bool:
    """Return whether a backend makes machine code here; NumPy's loads nothing to say so."""
    if isinstance(backend, str) and backend == "numpy":
        return False
    from numeric.lowering.native.libraries import has_native

    return has_native(backend)


def _mode(strict: bool) -> kinks:
    """What is said of kinks while a Function is lowered again."""
    return kinks("raise" if strict else "subgradient")
