"""The record of eager operations as a graph: results, ``grad_fn``s, leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numeric.autograd.function import BackwardCFunction
from numeric.eager.dtypes import get_default_dtype
from numeric.eager.record import AccumulateGrad, Packed, Record
from numeric.eager.tensor import Tensor, edge_of
from numeric.show.values import shortened
from symdiff.display.captions import place
from symdiff.display.diagrams import Vertex, listed
from symdiff.display.graphs import checked
from symdiff.display.layout import Graph
from symdiff.graph.axes import shape_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numeric.eager.record import Edge, Node
    from symdiff.display.diagrams import Diagram

_SMALL = 6  # elements of a tensor whose value is shown


def recorded(f: object, limit: int, direction: str) -> Diagram:
    """Return the diagram of the record of a Tensor, a ``grad_fn`` or several of them.

    Arrows lead from a result to its ``grad_fn``, along ``next_functions`` and to the leaves.
    """
    down = checked("draw", limit, direction)
    results_given: Sequence[Any] = f if isinstance(f, tuple | list) else [f]
    # The grad_fn of a custom Function is a public view of its node.
    results: list[Tensor | Record] = [
        x._call if isinstance(x, BackwardCFunction) else x for x in results_given
    ]
    titles = {x: f"result {k}" if len(results) > 1 else "result" for k, x in enumerate(results)}
    drawn = Graph(list(titles), _operands)

    def vertices(shown: Sequence[Tensor | Record]) -> dict[Tensor | Record, Vertex]:
        return {x: _vertex(x, titles.get(x)) for x in shown}

    return drawn.diagram(vertices, _labels, _folded, limit, down).reversed()


def _operands(x: Any) -> Sequence[Tensor | Record]:
    """Return the successors of a vertex: a tensor's record, its edges, or the leaf at their end."""
    if isinstance(x, Tensor):
        return () if x.is_leaf else (edge_of(x),)
    if isinstance(x, AccumulateGrad):
        return () if x.variable is None else (x.variable,)
    edges: Sequence[Record] = x.edges
    return edges


def _labels(x: Any) -> Sequence[str]:
    if isinstance(x, Tensor):
        return () if x.is_leaf else ("grad_fn" + f", output {x.output_nr}" * (x.output_nr > 0),)
    if isinstance(x, AccumulateGrad):
        return [""] * len(_operands(x))
    if x.operands is None:
        places, count = list(range(len(x.edges))), len(x.edges)
    else:
        places = [k for k, y in enumerate(x.operands) if getattr(y, "differentiable", False)]
        count = len(x.operands)
    numbers = x.nrs or [0] * len(x.edges)
    return [
        " ".join([*[place(k)] * (count > 1), *[f"output {nr}"] * (nr > 0)])
        for k, nr in zip(places, numbers, strict=True)
    ]


# The text of a vertex ---------------------------------------------------------------------------


def _vertex(x: Any, title: str | None) -> Vertex:
    if isinstance(x, Tensor):
        lines, family = _tensor_lines(x), "leaf"
        title = None if x.is_leaf and x._name else title
    elif isinstance(x, AccumulateGrad):
        lines, family = _end_lines(x), "accumulation"
    else:
        lines, family = [type(x.shown()).__name__, *_saved(x), *_hooks(x)], "operation"
    return Vertex("", (title, *lines) if title else tuple(lines), family, result=title is not None)


def _tensor_lines(x: Tensor) -> list[str]:
    about = [shape_text(tuple(x.shape))] if x.shape else []
    if x.dtype is not get_default_dtype():
        about.append(str(x.dtype).removeprefix("torch."))
    lines = [x._name] if x._name else []
    if x.is_leaf:
        lines.append("leaf, requires_grad" if x.requires_grad else "no gradient")
    lines += [" ".join(about)] if about else []
    if x._array.size <= _SMALL:
        lines.append(f"= {shortened(x._array)}")
    if x._grad is not None:
        lines.append(f"grad {_array_text(x._grad._array)}")
    if x._post:
        lines.append(_count(len(x._post), "hook after accumulation", "hooks after accumulation"))
    return lines


def _end_lines(x: AccumulateGrad) -> list[str]:
    lines = ["AccumulateGrad"]
    if x.shown() is None:
        lines = ["no gradient passes", "(a view made without recording)"]
    elif x.variable is None:
        lines += [f"{x.label or 'the leaf'} is gone", shape_text(x.shape)]
    return [*lines, *_hooks(x)]


def _saved(x: Any) -> list[str]:
    """Describe the values that a node saved for its backward pass, and their roles."""
    if x.saved is None:
        return ["saved values are freed"]
    if x.foreign:
        names = ["saved" for _ in x.saved]
    else:
        count = len(x.bound.of.xs if x.bound else x.mask)  # a call of a Function has no bound op
        names = [f"saved {f'operand {place(k)}' if k < count else 'result'}" for k in x.kept()]
    lines = []
    for i, (name, a) in enumerate(zip(names, x.saved, strict=True)):
        lines += [f"{name} {_array_text(a)}", *_changed(x, i)] if a is not None else []
    for i in range(len(x.saved), len(x.check) // 2):
        lines += [f"an index, {line}" for line in _changed(x, i)]
    return lines


def _changed(x: Node, i: int) -> list[str]:
    """Report that a saved value was changed in place, which makes ``backward`` raise."""
    counter, then = x.check[2 * i : 2 * i + 2] or ([0], 0)
    return [] if counter[0] == then else [f"changed: version {counter[0]}, was {then}"]


def _hooks(x: Edge) -> list[str]:
    extras = x.extras
    if extras is None:
        return []
    counts = [
        (sum(map(len, extras.tensor_hooks.values())), "tensor hook", "tensor hooks"),
        (len(extras.prehooks), "pre-hook", "pre-hooks"),
        (len(extras.posthooks), "post-hook", "post-hooks"),
    ]
    lines = [_count(*entry) for entry in counts if entry[0]]
    for reference in extras.retains.values():
        tensor = reference()
        if tensor is not None:
            grad = tensor._grad
            lines.append("retains grad" + ("" if grad is None else f" {_array_text(grad._array)}"))
    return lines


def _count(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"


def _array_text(a: object) -> str:
    """Write the value of a small array, the shape of a larger one."""
    if isinstance(a, Packed):
        return f"{shape_text(a.shape)}, packed by a hook"
    shape = getattr(a, "shape", ())
    size = getattr(a, "size", 1)
    return shortened(a) if size <= _SMALL else shape_text(shape)


def _folded(nodes: Sequence[object], leaves: Sequence[object]) -> tuple[str, ...]:
    count = f"{len(nodes)} vertices"
    names = [x._name for x in leaves if isinstance(x, Tensor) and x._name]
    return (count, f"of {listed(names)}") if names else (count,)
