"""Graphs with numbers on them: of expressions and Functions, and of the record of Tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.lowering.function import Function
from numeric.lowering.reference import interpret
from numeric.show.drawings import Drawing
from numeric.show.records import is_recorded, recorded
from numeric.show.values import shortened
from symdiff.calculus.derivative import cotangents
from symdiff.display.graphs import diagram, inputs_of, outputs_of, seeds_of
from symdiff.display.layout import LIMIT
from symdiff.graph import ops
from symdiff.graph.arguments import door

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symdiff.graph.expr import Expr

__all__ = ["draw"]


@door
def draw(
    f: object,
    wrt: object = None,
    *,
    graph: str = "forward",
    values: Mapping[Any, object] | None = None,
    seed: object = None,
    limit: int = LIMIT,
    direction: str = "down",
) -> Drawing:
    """The graph of an expression, or of what was recorded of a Tensor, as a picture.

    A vertex is a node: what it does, its shape unless it is a scalar, its family by form and
    colour.  Operands are • where there is one, and ①, ② ... where their order matters; the edges
    of contractions bear letters, as in ``sum over j``.

    With ``values``, every vertex shows its value, and those of the forward pass their *cotangent*,
    the derivative of the output by the node: of a symbol it is the gradient.  Where an output is an
    array and there is no seed, there are no cotangents.

    The graph of a Tensor is that of the record: its ``grad_fn``, from there along
    ``next_functions`` (①, ② ... where there are several) to the leaves, with what each operation
    saved for the backward pass, whether that was changed in place since, and hooks.

    Args:
        f: an expression or a lowered Function; a Tensor, or a ``grad_fn``; or a sequence of them.
        wrt: by what gradients and cotangents are, as ``sd.grad`` takes it: all real symbols by
            default; none, ``()``, for values alone.
        graph: "forward" is the graph of f, "backward" that of the gradients of reverse mode, with
            what it takes from the forward pass apart, "joint" is both.
        values: numbers or arrays by symbol or name, as ``nm.interpret`` takes them.
        seed: the cotangent of f, or one of each output: 1 by default, for scalars.
        limit: about so many vertices are drawn: the first symbols and the nodes next to the
            results.  What is left out is one vertex, or a few, with the number of its nodes and its
            symbols.  The text never is more than Mermaid draws.
        direction: "down" or "right".

    Raises TypeError for what has no graph, ValueError for another graph, direction or limit, and
    what ``sd.grad`` and ``nm.interpret`` raise.

    >>> import numeric as nm, symdiff as sd
    >>> x, y = sd.symbols("x y")
    >>> picture = nm.draw(sd.sin(x) / y, values={x: 0.5, y: 2})
    >>> print(picture)
    flowchart TD
      n0(["x<br>= 0.5<br>cotangent 0.43879"]):::leaf
      n1("sin<br>= 0.47943<br>cotangent 0.5"):::pointwise
      n2(["y<br>= 2<br>cotangent −0.11986"]):::leaf
      n3("output<br>① / ②<br>= 0.23971<br>cotangent 1"):::pointwise
      n0 --> n1
      n1 -->|"①"| n3
      n2 -->|"②"| n3
    ...
    >>> both = nm.draw(x * y, graph="joint")  # the gradients are nodes that are there already
    >>> t = nm.tensor([3.0], requires_grad=True)
    >>> record = nm.draw((t * t).sum())
    """
    if is_recorded(f):
        if wrt is not None or values is not None or seed is not None or graph != "forward":
            raise TypeError(
                "draw: a record has its values, and its backward pass only; wrt, graph, values and "
                "seed are for expressions (of a Tensor, t.expr)"
            )
        return Drawing(recorded(f, limit, direction))
    outputs = list(f.outputs) if isinstance(f, Function) else f

    def notes(shown: Sequence[Expr]) -> dict[Expr, list[str]]:
        if values is None:
            return {}
        return _notes(shown, outputs, wrt, values, seed, graph)

    return Drawing(diagram("draw", outputs, wrt, graph, seed, limit, direction, notes))


def _notes(
    shown: Sequence[Expr],
    outputs: object,
    wrt: object,
    values: Mapping[Any, object],
    seed: object,
    graph: str,
) -> dict[Expr, list[str]]:
    """The value and the cotangent of each node that is shown."""
    ys = outputs_of("draw", outputs)
    valued = [node for node in shown if not _is_written(node)]
    pulled: dict[Expr, Expr] = {}
    if graph != "backward" and (seed is not None or not any(y.shape for y in ys)):
        xs = inputs_of(ys, wrt)
        seeds = seeds_of("draw", outputs, ys, seed)
        found = cotangents(ys, seeds, xs, "draw") if xs else {}
        pulled = {node: found[node] for node in shown if node in found}
    # What a node makes of values beyond its domain is seen: inf, nan.
    with np.errstate(all="ignore"):
        numbers = interpret([*valued, *pulled.values()], values)
    notes: dict[Expr, list[str]] = {node: [] for node in shown}
    for node, number in zip(valued, numbers, strict=False):
        notes[node].append(f"= {shortened(number)}")
    for node, number in zip(pulled, numbers[len(valued) :], strict=True):
        notes[node].append(f"cotangent {shortened(number)}")
    return notes


def _is_written(node: Expr) -> bool:
    """Whether the caption is the value."""
    op = node.op
    if isinstance(op, ops.Constant):
        return op.value.size <= ops.LISTED
    return isinstance(op, ops.Sum | ops.Exact) and not node.args
