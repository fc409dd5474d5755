"""Graphs with values: of expressions and Functions, and of the record of Tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.halves import tensors
from numeric.lowering.function import Function
from numeric.lowering.reference import interpret
from numeric.show.drawings import Drawing
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
    """Draw the graph of an expression, or of the record of a Tensor.

    A vertex is a node: its operation, its shape unless it is a scalar, and its family by form and
    colour.  Operands are • for a single one, and ①, ② ... where their order matters.  The edges of
    contractions have labels, as in ``sum over j``.

    With ``values``, every vertex shows its value.  Vertices of the forward pass also show their
    *cotangent*: the derivative of the output by the node.  The cotangent of a symbol is the
    gradient.  An array output without a seed has no cotangents.

    The graph of a Tensor shows the record.  It starts at its ``grad_fn`` and follows
    ``next_functions`` (①, ② ... where there are several) to the leaves.  It shows the tensors that
    each operation saved for the backward pass, whether they changed in place since, and hooks.

    Args:
        f: an expression or a lowered Function; a Tensor, or a ``grad_fn``; or a sequence of them.
        wrt: the symbols that gradients and cotangents are by, as for ``sd.grad``: all real symbols
            by default; none, ``()``, for values alone.
        graph: "forward" is the graph of f.  "backward" is the graph of reverse-mode gradients, with
            the operands from the forward pass set apart.  "joint" is both.
        values: numbers or arrays by symbol or name, as for ``nm.interpret``.
        seed: the cotangent of f, or one of each output: 1 by default, for scalars.
        limit: the approximate number of vertices: the first symbols and the nodes next to the
            results.  One or a few vertices replace the others, with the number of their nodes and
            their symbols.  The text never exceeds Mermaid's limit.
        direction: "down" or "right".

    Raises TypeError for an object without a graph, ValueError for another graph, direction or
    limit, and the errors of ``sd.grad`` and ``nm.interpret``.

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
    >>> both = nm.draw(x * y, graph="joint")  # the gradients y and x are nodes of the graph already
    >>> t = nm.tensor([3.0], requires_grad=True)
    >>> record = nm.draw((t * t).sum())
    """
    if _is_recorded(f):
        if wrt is not None or values is not None or seed is not None or graph != "forward":
            raise TypeError(
                "draw: a record has its values, and its backward pass only; wrt, graph, values and "
                "seed are for expressions (of a Tensor, t.expr)"
            )
        return Drawing(tensors.diagram(f, limit, direction))
    outputs = list(f.outputs) if isinstance(f, Function) else f

    def notes(shown: Sequence[Expr]) -> dict[Expr, list[str]]:
        if values is None:
            return {}
        return _notes(shown, outputs, wrt, values, seed, graph)

    return Drawing(diagram("draw", outputs, wrt, graph, seed, limit, direction, notes))


def _is_recorded(f: object) -> bool:
    """Whether ``f`` is a Tensor or a ``grad_fn``, or a sequence of them."""
    if isinstance(f, tuple | list):
        return bool(f) and all(isinstance(x, tensors.recorded) for x in f)
    return isinstance(f, tensors.recorded)


def _notes(
    shown: Sequence[Expr],
    outputs: object,
    wrt: object,
    values: Mapping[Any, object],
    seed: object,
    graph: str,
) -> dict[Expr, list[str]]:
    """Write the value and the cotangent of each shown node."""
    ys = outputs_of("draw", outputs)
    valued = [node for node in shown if not _is_written(node)]
    pulled: dict[Expr, Expr] = {}
    if graph != "backward" and (seed is not None or not any(y.shape for y in ys)):
        xs = inputs_of(ys, wrt)
        seeds = seeds_of("draw", outputs, ys, seed)
        by_node = cotangents(ys, seeds, xs, "draw") if xs else {}
        pulled = {node: by_node[node] for node in shown if node in by_node}
    # Nodes outside of their domain show nan or inf instead of raising.
    with np.errstate(all="ignore"):
        numbers = interpret([*valued, *pulled.values()], values)
    notes: dict[Expr, list[str]] = {node: [] for node in shown}
    for node, number in zip(valued, numbers, strict=False):
        notes[node].append(f"= {shortened(number)}")
    for node, number in zip(pulled, numbers[len(valued) :], strict=True):
        notes[node].append(f"cotangent {shortened(number)}")
    return notes


def _is_written(node: Expr) -> bool:
    """Whether the caption of a node is its value."""
    op = node.op
    if isinstance(op, ops.Constant):
        return op.value.size <= ops.LISTED
    return isinstance(op, ops.Sum | ops.Exact) and not node.args
