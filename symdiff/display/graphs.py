"""Expressions as graphs: which nodes, in which pass, and what stands on them."""

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

# Lines of text for nodes that are shown, below what they do.
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
    """The graph of ``f`` as the text of a Mermaid flowchart, which GitHub and JupyterLab draw.

    A vertex is a node: what it does, its shape unless it is a scalar, its family by form and
    colour.  An edge leads from an operand to where it is used.  Operands are • where there is one,
    and ①, ② ... where their order matters; the edges of contractions bear letters, as in
    ``sum over j``.  Names and data of the user's are no markup, whatever is in them.

    Args:
        f: an expression, or a sequence of them.
        wrt: by what the gradients of the backward pass are, as ``grad`` takes it; all real symbols
            by default.
        graph: "forward" is the graph of f, "backward" that of the gradients of reverse mode, with
            what it takes from the forward pass apart, "joint" is both.
        seed: the cotangent of f in the backward pass, or one of each: 1 by default, for scalars.
        limit: about so many vertices are drawn: the first symbols and the nodes next to the
            results.  What is left out is one vertex, or a few, with the number of its nodes and its
            symbols.  The text never is more than Mermaid draws.
        direction: "down" or "right".

    Raises ValueError for another graph, direction or limit, and what ``grad`` raises.

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
    """The diagram of ``mermaid``, with the lines of ``notes``; ``name`` is that of who asks."""
    if graph not in GRAPHS:
        raise ValueError(f"{name}: graph {graph!r} is none of {', '.join(map(repr, GRAPHS))}")
    down = checked(name, limit, direction)
    ys = outputs_of(name, f)
    titled: dict[Expr, list[str]] = {}
    if graph != "backward":
        _title(titled, ys, ["output"] if len(ys) == 1 else [f"output {k}" for k in range(len(ys))])
    if graph != "forward":
        xs = inputs_of(ys, wrt)
        if not xs:
            raise ValueError(f"{name}: no real symbol to take gradients by, for graph={graph!r}")
        if any(isinstance(x, Expr) and x.dtype is not float for x in xs):
            raise NotDifferentiable(f"{name}: wrt has {xs!r}; only real inputs have derivatives")
        pulled = vjp(ys, xs, seeds_of(name, f, ys, seed))
        _title(titled, pulled, [f"gradient by {_name(x)}" for x in xs])
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

    return drawn.diagram(vertices, edges, _folded, limit, down)


def _name(x: Expr) -> str:
    return caption(x) if isinstance(x.op, ops.Symbol) else short(x)


def _title(titled: dict[Expr, list[str]], nodes: Iterable[Expr], texts: Iterable[str]) -> None:
    for node, text in zip(nodes, texts, strict=True):
        titled.setdefault(node, []).append(text)


def _folded(nodes: Sequence[Expr], leaves: Sequence[Expr]) -> tuple[str, ...]:
    """The lines of a vertex that stands for ``nodes``, which need ``leaves``."""
    symbols = [x for x in leaves if isinstance(x.op, ops.Symbol)]
    count = f"{len(nodes)} nodes"
    return (count, f"of {listed(map(caption, symbols))}") if symbols else (count,)


# What users give ----------------------------------------------------------------------------------


def checked(name: str, limit: int, direction: str) -> bool:
    """Whether the drawing goes down.  Raises ValueError for another direction or limit."""
    if direction not in ("down", "right"):
        raise ValueError(f"{name}: direction {direction!r} is neither 'down' nor 'right'")
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise ValueError(f"{name}: limit {limit!r} is not an int >= 1")
    return direction == "down"


def outputs_of(name: str, f: object) -> list[Expr]:
    """``f`` as a list of expressions.

    Raises ValueError if it is empty, TypeError for what is no expression.
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
    """The inputs of the backward pass: all real symbols of ``ys``, unless some are named."""
    if wrt is None:
        return [x for x in free_symbols(ys) if x.dtype is float]
    return list(wrt) if isinstance(wrt, tuple | list) else [wrt]


def seeds_of(name: str, f: Any, ys: Sequence[Expr], seed: Any) -> list[Any]:
    """The cotangents of the outputs.  Raises ShapeError where an array has none."""
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
