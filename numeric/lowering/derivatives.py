"""What the programs of a Function compute: a description of each, and nothing that runs.

The numeric backward pass is the gradient's graph, executed.  So what a Function can do is a list of
expressions, which ``symdiff`` derives, and ``running`` has them written and runs them.  A new kind
of derivative is one more function here, and a method that says how its results are handed over.

Each takes the Programs, for outputs and inputs, and what the program is for: the places of the
inputs to differentiate by, in that order, which may repeat.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from numeric.lowering.passes.residuals import residuals
from symdiff.calculus import derivative
from symdiff.calculus.flows import NONE, Flow
from symdiff.calculus.rules import pullback
from symdiff.graph import ops
from symdiff.graph.axes import shape_text
from symdiff.graph.contraction import contract
from symdiff.graph.leaves import dummy, full
from symdiff.graph.node import topological

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numeric.lowering.running import Programs
    from symdiff.graph.expr import Expr


class Description(NamedTuple):
    """A program: what it takes, what it returns, and what a reader of its source is told.

    ``values`` are real, integer or true as their expressions are; ``derivatives`` are real, also
    where the expression is made of integers alone.  ``firsts`` are first derivatives on the way to
    second ones: at a kink these may be zeros that tell nothing, so the first ones are asked, too.
    ``kept`` comes last and is not handed out.
    """

    comment: str
    params: Sequence[Expr]
    values: Sequence[Expr] = ()
    derivatives: Sequence[Expr] = ()
    firsts: Sequence[Expr] = ()
    kept: Sequence[Expr] = ()


def value(of: Programs) -> Description:
    """The outputs."""
    return Description(_head(of), of.inputs, of.outputs)


def value_and_grad(of: Programs, order: tuple[int, ...]) -> Description:
    """The scalar output, and its derivatives by the inputs of ``order``."""
    xs = [of.inputs[i] for i in dict.fromkeys(order)]
    found = dict(zip(xs, derivative.grad(of.outputs[0], xs), strict=True)) if xs else {}
    wanted = [of.inputs[i] for i in order]
    comment = f"{_head(of)}\nand the derivatives with respect to {_names(wanted)}"
    return Description(comment, of.inputs, of.outputs, [found[x] for x in wanted])


def jacobian(of: Programs, order: tuple[int, ...], modes: tuple[str, ...]) -> Description:
    """The derivative of each output, in its mode, by each input of ``order``."""
    xs = [of.inputs[i] for i in order]
    comment = f"{_head(of)}\ndifferentiated with respect to {_names(xs)}"
    pairs = zip(of.outputs, modes, strict=True)
    rows = [derivative.jacobian(y, xs, mode=mode) for y, mode in pairs] if xs else []
    return Description(comment, of.inputs, (), [j for row in rows for j in row])


def hessian(of: Programs, order: tuple[int, ...]) -> Description:
    """The second derivatives of each output by each pair of inputs, ``order`` times ``order``."""
    xs = [of.inputs[i] for i in order]
    found: list[Expr] = []
    firsts: list[Expr] = []
    for y in of.outputs:
        rows: dict[tuple[int, int], Expr] = {}
        for i, first in enumerate(derivative.jacobian(y, xs) if xs else ()):
            firsts.append(first)
            for j, second in enumerate(derivative.jacobian(first, xs[i:]), start=i):
                rows[i, j] = second
                # Second derivatives may be exchanged: each pair is differentiated once, the other
                # block is a transpose, which computes nothing.
                rows.setdefault((j, i), _exchanged(second, xs[i].ndim, xs[j].ndim))
        found += [rows[i, j] for i in range(len(xs)) for j in range(len(xs))]
    comment = f"{_head(of)}\ndifferentiated twice with respect to {_names(xs)}"
    return Description(comment, of.inputs, (), found, firsts)


def _exchanged(h: Expr, j: int, k: int) -> Expr:
    """``h`` with its last j + k axes in the order of k + j."""
    word = tuple(range(h.ndim))
    lead, middle, last = (
        word[: h.ndim - j - k],
        word[h.ndim - j - k : h.ndim - k],
        word[h.ndim - k :],
    )
    return contract([(h, word)], (*lead, *last, *middle))


def jvp(of: Programs) -> Description:
    """The outputs and their tangents, of the inputs and the tangents of the real ones."""
    real, moved = _moved(of)
    pushed = derivative.jvp(of.outputs, real, moved) if real else ()
    tangents = list(pushed) or [full(y.shape, 0) for y in of.outputs]
    comment = f"{_tangents(of, real)}; returns values and tangents"
    return Description(comment, (*of.inputs, *moved), of.outputs, tangents)


def hvp(of: Programs) -> Description:
    """The Hessian of the scalar output times tangents of the real inputs, which come last."""
    real, moved = _moved(of)
    first = derivative.grad(of.outputs[0], real) if real else ()
    found = derivative.jvp(list(first), real, moved) if real else ()
    comment = f"{_tangents(of, real)}; returns the Hessian times these"
    return Description(comment, (*of.inputs, *moved), (), list(found), list(first))


def _moved(of: Programs) -> tuple[list[Expr], list[Expr]]:
    real = [of.inputs[i] for i in of.real]
    return real, [dummy(x) for x in real]


def _tangents(of: Programs, real: Sequence[Expr]) -> str:
    return f"{_head(of)}\nv{len(of.inputs) + 1}, ...: tangents of {_names(real)}"


# Forward and backward -----------------------------------------------------------------------------


class Cut(NamedTuple):
    """Where the forward pass hands over to the backward pass.

    ``kept`` are the residuals, ``seeds`` stand for cotangents of the outputs, ``cotangents`` are
    those of the real inputs.  ``needs`` are the places of the inputs that residuals are computed
    from; ``marked`` says for each input whether exact zeros of its cotangent must survive infinite
    partials.
    """

    kept: tuple[Expr, ...]
    seeds: list[Expr]
    cotangents: list[Expr]
    needs: tuple[int, ...]
    marked: list[bool]


def cut(of: Programs) -> Cut:
    """The cut through values and cotangents that keeps least."""
    real = [of.inputs[i] for i in of.real]
    seeds = [dummy(y) for y in of.outputs]
    # The seeds are symbols, so that values and cotangents are one graph, which is cut in two.
    pulled = pullback(of.outputs, real, [Flow(g, NONE) for g in seeds])
    xbars = [full(x.shape, 0) if f is None else f.expr for x, f in zip(real, pulled, strict=True)]
    marked = {x for x, f in zip(real, pulled, strict=True) if f is not None and f.mark != NONE}
    kept = residuals(of.outputs, xbars, of.inputs, seeds)
    used = frozenset(topological(kept)) if kept else frozenset()
    # A record saves these arguments: their versions tell whether residuals still hold.
    needs = tuple([i for i, x in enumerate(of.inputs) if x in used])
    return Cut(kept, seeds, xbars, needs, [x in marked for x in of.inputs])


def forward(of: Programs) -> Description:
    """The outputs, then what is kept."""
    comment = f"{_head(of)}\nand kept for backward: {len(of.cut.kept)} values"
    return Description(comment, of.inputs, of.outputs, kept=of.cut.kept)


def backward(of: Programs, order: tuple[int, ...] | None = None) -> Description:
    """The cotangents of the real inputs, or those of ``order``, of what is kept and the seeds."""
    kept, seeds, xbars, *_ = of.cut
    lines = [f"v{i + 1}: {described(v)}" for i, v in enumerate(kept)]
    lines += [f"v{len(kept) + i + 1}: cotangent {i}" for i in range(len(seeds))]
    lines += [f"returns the cotangents of {_names([of.inputs[i] for i in of.real])}"]
    comment = "\n".join(lines)
    if order is not None:
        comment += f", of which places {order} are wanted"
        xbars = [xbars[of.real.index(i)] for i in order]
    return Description(comment, (*kept, *seeds), (), xbars)


# Comments -----------------------------------------------------------------------------------------


def _head(of: Programs) -> str:
    lines = [f"v{i + 1}: {described(x)}" for i, x in enumerate(of.inputs)]
    return "\n".join([*lines, f"returns: {', '.join(shape_text(y.shape) for y in of.outputs)}"])


def described(x: Expr) -> str:
    """An input or a value in comments: what it is, its shape, and its dtype if it is not real."""
    name = _name(x) if isinstance(x.op, ops.Symbol) else x.op.name or type(x.op).__name__
    shape = f" {shape_text(x.shape)}" if x.shape else ""
    return f"{name}{shape}" + ("" if x.dtype is float else f" {x.dtype.__name__}")


def _name(x: Expr) -> str:
    """The name of an input, where that is a word: comments are part of a source."""
    return x.name if x.name.isidentifier() else "an input"


def _names(xs: Sequence[Expr]) -> str:
    return ", ".join(map(_name, xs))
