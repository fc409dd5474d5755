"""Graphs of expressions: the nodes of a pass, and their texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from symdiff.calculus.derivative import vjp
from symdiff.display.captions import caption, edges, family, lines, operands
from symdiff.display.diagrams import Diagram, Vertex, listed
from symdiff.display.layout import LIMIT, Graph
from symdiff.display.printing import short
from symdiff.errors import NotDifferentiable, ShapeError
from symdiff.graph import ops
from symdiff.graph.axes import shape_text
from symdiff.graph.expr import Expr, free_symbols
from symdiff.graph.leaves import as_expr, constant, number_node
from symdiff.graph.node import topological

if TYPE_CHECKING:
    from collections.abc import Iterable

GRAPHS = ("forward", "backward", "joint")

# Additional lines of text for shown nodes, below their captions.
Notes: TypeAlias = Callable[[Sequence[Expr]], Mapping[Expr, Sequence[str]]]


def mermaid(
    f: Expr | Sequence[Expr],
    wrt: Expr | Sequence[Expr] | None = None,
    *,
    graph: str = "forward",
    seed: object = None,
    limit: int = LIMIT,
    direction: str = "down",
) -> str:
    """Return the graph of ``f`` as a Mermaid flowchart, which GitHub and JupyterLab draw.

    A vertex is a node, with its caption and its shape unless it is a scalar; form and colour show
    its family.  An edge leads from an operand to its user.  A single operand is •; operands whose
    order matters are ①, ② ...  The edges of contractions have axis labels, as in ``sum over j``.
    Names and data of the user can never act as markup.

    Args:
        f: an expression, or a sequence of them.
        wrt: the inputs of the backward pass, as ``grad`` takes them; all real symbols by default.
        graph: "forward" is the graph of f, "backward" the graph of its gradients by reverse mode,
            with values of the forward pass in a group of their own, "joint" is both.
        seed: the cotangent of f in the backward pass, or one for each output: 1 by default, for
            scalars.
        limit: the approximate number of vertices: the first symbols and the nodes next to the
            results.  The others are folded into one vertex, or a few, with the number of nodes and
            the symbols.  The text never exceeds Mermaid's limits.
        direction: "down" or "right".

    Raises ValueError for another graph, direction or limit, and the errors of ``grad``.

    >>> import symdiff as sd
    >>> x, y = sd.symbols("x y")
    >>> print(mermaid(sd.sin(x) / y))
    flowchart TD
      n0(["x"]):::leaf
      n1("sin"):::pointwise
      n2(["y"]):::leaf
      n3("output<br>① / ②"):::pointwise
      n0 --> n1
      n1 -->|"①"| n3
      n2 -->|"②"| n3
      class n3 result
      classDef leaf fill:#dbeafe,stroke:#1d4ed8,color:#111827
      classDef pointwise fill:#f3f4f6,stroke:#4b5563,color:#111827
      classDef result stroke-width:3px
    <BLANKLINE>
    """
    return diagram("mermaid", f, wrt, graph, seed, limit, direction).mermaid()


def diagram(
    name: str,
    f: object,
    wrt: object,
    graph: str,
    seed: object,
    limit: int,
    direction: str,
    notes: Notes = lambda _: {},
) -> Diagram:
    """The diagram of ``mermaid`` with the lines of ``notes``; ``name`` is for messages."""
    if graph not in GRAPHS:
        raise ValueError(f"{name}: graph {graph!r} is none of {', '.join(map(repr, GRAPHS))}")
    down = checked(name, limit, direction)
    ys = outputs_of(name, f)
    titled: dict[Expr, list[str]] = {}
    if graph != "backward":
        _add_titles(
            titled, ys, ["output"] if len(ys) == 1 else [f"output {k}" for k in range(len(ys))]
        )
    if graph != "forward":
        xs = inputs_of(ys, wrt)
        if not xs:
            raise ValueError(f"{name}: no real symbol to take gradients by, for graph={graph!r}")
        if any(isinstance(x, Expr) and x.dtype is not float for x in xs):
            raise NotDifferentiable(f"{name}: wrt has {xs!r}; only real inputs have derivatives")
        pulled = vjp(ys, xs, seeds_of(name, f, ys, seed))
        _add_titles(titled, pulled, [f"gradient by {_name(x)}" for x in xs])
    if graph == "forward":
        drawn = Graph(list(titled), operands)
    else:
        inside = set(topological(ys))
        passes = "forward pass", "backward pass"
        drawn = Graph(list(titled), operands, passes, lambda node: int(node not in inside))

    def vertices(shown: Sequence[Expr]) -> dict[Expr, Vertex]:
        noted = notes(shown)
        return {
            node: Vertex(
                "",
                (*titled.get(node, ()), *lines(node), *noted.get(node, ())),
                family(node),
                result=node in titled,
            )
            for node in shown
        }

    return drawn.diagram(vertices, edges, _folded_lines, limit, down)


def _name(x: Expr) -> str:
    return caption(x) if isinstance(x.op, ops.Symbol) else short(x)


def _add_titles(titled: dict[Expr, list[str]], nodes: Iterable[Expr], texts: Iterable[str]) -> None:
    for node, text in zip(nodes, texts, strict=True):
        titled.setdefault(node, []).append(text)


def _folded_lines(nodes: Sequence[Expr], leaves: Sequence[Expr]) -> tuple[str, ...]:
    """The lines of a vertex that stands for ``nodes`` and their ``leaves``."""
    symbols = [x for x in leaves if isinstance(x.op, ops.Symbol)]
    count = f"{len(nodes)} nodes"
    return (count, f"of {listed(map(caption, symbols))}") if symbols else (count,)


# Arguments ----------------------------------------------------------------------------------------


def checked(name: str, limit: int, direction: str) -> bool:
    """Whether the drawing goes down; raises ValueError for another direction or limit."""
    if direction not in ("down", "right"):
        raise ValueError(f"{name}: direction {direction!r} is neither 'down' nor 'right'")
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise ValueError(f"{name}: limit {limit!r} is not an int >= 1")
    return direction == "down"


def outputs_of(name: str, f: object) -> list[Expr]:
    """Return ``f`` as a list of expressions.

    Raises ValueError if it is empty, TypeError for an object that is not an expression.
    """
    outputs = list(f) if isinstance(f, tuple | list) else [f]
    if not outputs:
        raise ValueError(f"{name}: there is no expression to draw")
    ys = []
    for y in outputs:
        try:
            ys.append(as_expr(y))
        except TypeError:
            raise TypeError(
                f"{name}: {y!r} of type {type(y).__name__} has no graph; draw expressions, such as "
                "sd.parse makes of text, or with numeric.draw also Functions, Tensors and grad_fns"
            ) from None
    return ys


def inputs_of(ys: Sequence[Expr], wrt: Any) -> list[Expr]:
    """The inputs of the backward pass: ``wrt``, or all real symbols of ``ys``."""
    if wrt is None:
        return [x for x in free_symbols(ys) if x.dtype is float]
    return list(wrt) if isinstance(wrt, tuple | list) else [wrt]


def seeds_of(name: str, f: Any, ys: Sequence[Expr], seed: Any) -> list[Any]:
    """The cotangents of the outputs; raises ShapeError if an array has none."""
    if seed is not None:
        seeds = list(seed) if isinstance(f, tuple | list) else [seed]
        return [constant(g) if isinstance(g, tuple | list) else g for g in seeds]
    for y in ys:
        if y.shape:
            raise ShapeError(
                f"{name}: output of shape {shape_text(y.shape)} is not a scalar; pass seed=... of "
                "that shape"
            )
    return [number_node(1)] * len(ys)
