"""Functions of Tensors at their arguments: what ``func`` and ``autograd.functional`` share.

A function is run once.  Where the run is a formula, what is asked for, values and derivatives, are
the outputs of one program; else they come from the run's record.  The two rooms differ in how
arguments and results are nested, in what they refuse, and in their words; derivatives are here.
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
    """A derivative of a function's results by its inputs, along vectors where it has some.

    ``by_formula`` makes expressions of those of results, inputs and vectors; ``by_record`` the same
    Tensors of an eager run's results and leaves, recorded or not.  ``kinds``: the dtypes, of those
    of results and inputs.
    """

    name: str
    by_formula: Callable[[list[Expr], list[Expr], list[Expr]], Sequence[Expr]]
    by_record: Callable[
        [Sequence[Tensor], Sequence[Tensor], Sequence[Tensor], bool], Sequence[Tensor]
    ]
    kinds: Callable[[list[np.dtype], list[np.dtype]], list[np.dtype]]


def _jacobians(y: Expr, xs: Sequence[Expr], order: int) -> list[Expr]:
    """The Jacobians of ``y`` by ``xs``; for order 2 of those again, the last index fastest."""
    if not order:
        return [y]
    return [d for x in xs for d in _jacobians(derivative.jacobian(y, x), xs, order - 1)]


def gradients(ys: Sequence[Expr], xs: list[Expr]) -> list[Expr]:
    """The derivatives of the first result, of one element and any shape."""
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
# The same in the dtypes of the results, which is what forward mode gives.
JACOBIAN_FORWARD = JACOBIAN._replace(kinds=lambda outs, ins: [k for k in outs for _ in ins])
# Of results of any shape.
HESSIANS = Derivative(
    "hessians",
    lambda ys, xs, _: [d for y in ys for d in _jacobians(y, xs, 2)],
    lambda ys, xs, _, recorded: by_record.jacobians(ys, xs, 2, recorded),
    lambda outs, ins: [kind for kind in ins for _ in ins] * len(outs),
)
# Of one result of one element, whose axes do not show.
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
    """A function at its arguments.

    Args:
        call: the function, of a list of tensors; it may check what it returns.
        inputs: the tensors that derivatives are by.
        structure: how they are nested.
        connected: as of ``captured``.

    ``differentiated`` of the results have derivatives, the first ones; all, unless changed.
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
        """All results, if ``values``, and the derivative that is wanted.

        They are outputs of one program, unless that is recorded: the gradient of the results alone
        would then meet their second derivatives, with cotangents 0, and be nan where these are
        infinite.
        """
        capture, n = self.capture, self.differentiated
        if values and wanted is not NONE and self._recorded(vectors):
            return self.computed(NONE, values=True)[0], self.computed(wanted, vectors)[1]
        kinds = [
            *(capture.kinds if values else ()),
            *wanted.kinds(capture.kinds[:n], [x._array.dtype for x in self.inputs]),
        ]
        found = self._by_formula(wanted, vectors, values, kinds)
        if found is None:
            # What comes out of a record may be what was put in, and must not share its memory.
            copies = [v.clone() for v in vectors]
            assert capture.leaves is not None
            more = wanted.by_record(capture.results[:n], capture.leaves, copies, current().grad)
            found = by_record.settled(capture, [*(capture.results if values else ()), *more])
        m = len(capture.kinds) if values else 0
        return found[:m], found[m:]

    def _recorded(self, vectors: Sequence[Tensor]) -> bool:
        """Whether what a program computes is recorded."""
        mode = current()
        if not mode.grad or mode.tracing is not None:
            return False
        return any(x._rg for x in (*self.inputs, *self.capture.outer, *vectors))

    def _by_formula(
        self, wanted: Derivative, vectors: Sequence[Tensor], values: bool, kinds: Sequence[np.dtype]
    ) -> list[Tensor] | None:
        """The outputs of a program; None where there is no formula, or none with a derivative."""
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

    def by_inputs(self, found: Iterator[object], order: int = 1) -> Any:
        """What was found, nested like the inputs, ``order`` times."""
        if not order:
            return next(found)
        return filled(self.structure, [self.by_inputs(found, order - 1) for _ in self.inputs])

    def by_results(self, values: Sequence[object]) -> Any:
        """One thing for each result, nested like them."""
        return filled(self.capture.tree, values)

    def independent(self) -> list[tuple[int, int | None]]:
        """Results, and inputs, that do not depend on one another; None for all inputs."""
        found: list[tuple[int, int | None]] = []
        for i in range(self.differentiated):
            if self.capture.exprs is not None:
                free = self.capture.exprs[i].free_symbols
                there = [any(s is x for s in free) for x in self.capture.symbols]
            else:
                leaves = self.capture.leaves or ()
                there = [by_record.reaches(self.capture.results[i], x) for x in leaves]
            missing: list[int | None] = [j for j, t in enumerate(there) if not t]
            found += [(i, j) for j in (missing if any(there) else [None])]
        return found
