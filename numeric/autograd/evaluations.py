"""Evaluations of functions and their derivatives, for ``func`` and ``autograd.functional``.

A function runs once.  If the run is a formula, the requested values and derivatives are outputs of
one program; else they come from the run's record.  The two modules differ in how arguments and
results are nested, in their checks and in their messages; they share the derivatives defined here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from numeric.autograd import by_record
from numeric.eager.refusals import refuse
from numeric.modes import current
from numeric.tracing.functions_as_formulas import captured, executed, program
from numeric.tracing.nested import filled
from numeric.tracing.trace import counted
from symdiff.calculus import derivative
from symdiff.errors import NotDifferentiable, Unsupported
from symdiff.graph.leaves import full, symbol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np

    from numeric.eager.tensor import Tensor
    from symdiff.graph.expr import Expr


class Derivative(NamedTuple):
    """A derivative of a function's results by its inputs, for some kinds along vectors.

    ``by_formula`` maps the expressions of results, inputs and vectors to expressions.
    ``by_record`` maps the results and leaves of an eager run and vectors to Tensors, recorded or
    not.  ``kinds`` maps the dtypes of results and of inputs to the dtypes of the derivatives.
    """

    name: str
    by_formula: Callable[[list[Expr], list[Expr], list[Expr]], Sequence[Expr]]
    by_record: Callable[
        [Sequence[Tensor], Sequence[Tensor], Sequence[Tensor], bool], Sequence[Tensor]
    ]
    kinds: Callable[[list[np.dtype], list[np.dtype]], list[np.dtype]]


def _jacobians(y: Expr, xs: Sequence[Expr], order: int) -> list[Expr]:
    """Return the Jacobians of ``y`` by ``xs``; for order 2 of those again, the last input fastest.

    The order is the one of ``by_inputs``.
    """
    if not order:
        return [y]
    return [d for x in xs for d in _jacobians(derivative.jacobian(y, x), xs, order - 1)]


def gradients(ys: Sequence[Expr], xs: list[Expr]) -> list[Expr]:
    """Return the derivatives of the first result, which has one element and any shape."""
    return list(derivative.vjp([ys[0]], xs, [full(ys[0].shape, 1)]))


NONE = Derivative("value", lambda *_: [], lambda *_: [], lambda *_: [])
GRADIENT = Derivative(
    "grad",
    lambda ys, xs, _: derivative.grad(ys[0], xs),
    lambda ys, xs, _, recorded: by_record.jacobians(ys[:1], xs, 1, recorded),
    lambda _, ins: ins,
)
JACOBIAN = Derivative(
    "jacobian",
    lambda ys, xs, _: [d for y in ys for d in _jacobians(y, xs, 1)],
    lambda ys, xs, _, recorded: by_record.jacobians(ys, xs, 1, recorded),
    lambda outs, ins: ins * len(outs),
)
# In the dtypes of the results, as forward mode has them.
JACOBIAN_FORWARD = JACOBIAN._replace(kinds=lambda outs, ins: [k for k in outs for _ in ins])
# The Hessians of results of any shape.
HESSIANS = Derivative(
    "hessians",
    lambda ys, xs, _: [d for y in ys for d in _jacobians(y, xs, 2)],
    lambda ys, xs, _, recorded: by_record.jacobians(ys, xs, 2, recorded),
    lambda outs, ins: [kind for kind in ins for _ in ins] * len(outs),
)
# The Hessian of one result of one element, without the axes of the result.
HESSIAN = Derivative(
    "hessian",
    lambda ys, xs, _: [d for g in gradients(ys, xs) for d in _jacobians(g, xs, 1)],
    lambda ys, xs, _, recorded: by_record.jacobians(by_record.gradients(ys, xs), xs, 1, recorded),
    lambda _, ins: [kind for kind in ins for _ in ins],
)
VJP = Derivative(
    "vjp",
    lambda ys, xs, gs: derivative.vjp(ys, xs, gs),
    by_record.vjp,
    lambda _, ins: ins,
)
JVP = Derivative(
    "jvp",
    lambda ys, xs, ts: derivative.jvp(ys, xs, ts),
    by_record.jvp,
    lambda outs, _: outs,
)
# The product of the Hessian with vectors, without the Hessian: forward over reverse.
HVP = Derivative(
    "hvp",
    lambda ys, xs, vs: derivative.jvp(gradients(ys, xs), xs, vs),
    lambda ys, xs, vs, recorded: by_record.vjp(by_record.gradients(ys, xs), xs, vs, recorded),
    lambda _, ins: ins,
)


class Evaluation:
    """A function evaluated at its arguments.

    Args:
        call: the function, of a list of tensors; it may check its own results.
        inputs: the tensors to differentiate by.
        structure: the nested structure of the inputs.
        connected: see ``captured``.

    The attribute ``differentiated`` is the number of leading results that have derivatives; a
    subclass may lower it.
    """

    def __init__(
        self,
        call: Callable[[list[Tensor]], object],
        inputs: list[Tensor],
        structure: object,
        connected: bool = True,
    ) -> None:
        self.inputs, self.structure = inputs, structure
        self.capture = captured(call, inputs, connected)
        self.differentiated = len(self.capture.results)

    def computed(
        self, wanted: Derivative, vectors: Sequence[Tensor] = (), values: bool = False
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Return all results, if ``values``, and the wanted derivative.

        Both are outputs of one program, unless the program is recorded.  A recorded program would
        pull cotangents 0 back through second derivatives when only the results are differentiated;
        an infinite second derivative would then make nan.
        """
        capture, n = self.capture, self.differentiated
        if values and wanted is not NONE and self._recorded(vectors):
            return self.computed(NONE, values=True)[0], self.computed(wanted, vectors)[1]
        kinds = [
            *(capture.kinds if values else ()),
            *wanted.kinds(capture.kinds[:n], [x._array.dtype for x in self.inputs]),
        ]
        outputs = self._by_formula(wanted, vectors, values, kinds)
        if outputs is None:
            # A derivative from a record may be the vector itself, whose memory it must not share.
            copies = [v.clone() for v in vectors]
            assert capture.leaves is not None
            more = wanted.by_record(capture.results[:n], capture.leaves, copies, current().grad)
            outputs = by_record.settled(capture, [*(capture.results if values else ()), *more])
        m = len(capture.kinds) if values else 0
        return outputs[:m], outputs[m:]

    def _recorded(self, vectors: Sequence[Tensor]) -> bool:
        """Whether a call of the program is recorded."""
        mode = current()
        if not mode.grad or mode.tracing is not None:
            return False
        return any(x._rg for x in (*self.inputs, *self.capture.outer, *vectors))

    def _by_formula(
        self, wanted: Derivative, vectors: Sequence[Tensor], values: bool, kinds: Sequence[np.dtype]
    ) -> list[Tensor] | None:
        """Return the outputs of a program, or None without a differentiable formula."""
        capture, n = self.capture, self.differentiated
        exprs = capture.exprs
        if exprs is None:
            return None

        def build() -> tuple[list[Expr], list[Expr]]:
            symbols = [symbol(f"v{i}", v._array.shape) for i, v in enumerate(vectors)]
            outputs = [
                *(exprs if values else ()),
                *wanted.by_formula(exprs[:n], capture.symbols, symbols),
            ]
            return [*outputs, *counted(capture.checks)], [
                *capture.symbols,
                *capture.outer_symbols,
                *symbols,
            ]

        try:
            function = program((wanted.name, values, n, capture.key()), build)
        except (Unsupported, NotDifferentiable, NotImplementedError) as error:
            if capture.leaves is None:
                refuse(f"a function has no derivative that is a formula ({error})")
            return None
        return executed(function, [*self.inputs, *capture.outer, *vectors], kinds, capture.checks)

    def by_inputs(self, items: Iterator[object], order: int = 1) -> Any:
        """Return the items of an iterator nested like the inputs, ``order`` times."""
        if not order:
            return next(items)
        return filled(self.structure, [self.by_inputs(items, order - 1) for _ in self.inputs])

    def by_results(self, values: Sequence[object]) -> Any:
        """Return values, one for each result, nested like the results."""
        return filled(self.capture.tree, values)

    def independent(self) -> list[tuple[int, int | None]]:
        """Return pairs (result, input) of which the first does not depend on the second.

        The input is None for a result that depends on no input.
        """
        pairs: list[tuple[int, int | None]] = []
        for i in range(self.differentiated):
            if self.capture.exprs is not None:
                free = self.capture.exprs[i].free_symbols
                depends = [any(s is x for s in free) for x in self.capture.symbols]
            else:
                leaves = self.capture.leaves or ()
                depends = [by_record.reaches(self.capture.results[i], x) for x in leaves]
            missing: list[int | None] = [j for j, d in enumerate(depends) if not d]
            pairs += [(i, j) for j in (missing if any(depends) else [None])]
        return pairs
