"""Lowered Functions in notebooks: the formula, a table of the inputs, and what can be asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numeric.lowering.function import Function
from symdiff.display.notebooks import bundle
from symdiff.display.typeset import latex
from symdiff.graph.axes import shape_text

if TYPE_CHECKING:
    from collections.abc import Iterator

_INPUTS, _OUTPUTS = 20, 5  # that are listed


def _markdown(self: Function) -> str:
    """Markdown, which has formulas and tables; names in it are identifiers, or code."""
    return "\n\n".join(_parts(self))


def _parts(F: Function) -> Iterator[str]:
    yield f"**Function** of {_inputs(F)}, which gives {_outputs(F)}"
    shown = bundle(F.outputs) if len(F.outputs) > 1 else None
    formula = shown["text/latex"] if shown else rf"$\displaystyle {latex(F.outputs[0])}$"
    yield formula.replace("\n", " ")
    if F.inputs:
        rows = [
            f"| `{x.name}` | {shape_text(x.shape) if x.shape else 'scalar'} | {x.dtype.__name__} |"
            for x in F._programs.inputs[:_INPUTS]
        ]
        if len(F.inputs) > _INPUTS:
            rows.append(f"| and {len(F.inputs) - _INPUTS} more | | |")
        yield "\n".join(["| input | shape | dtype |", "|:--|:--|:--|", *rows])
    yield "; ".join(
        f"{what}: {', '.join(f'`{name}`' for name in names)}" for what, names in _asked(F)
    )


def _inputs(F: Function) -> str:
    count = len(F.inputs)
    return f"{count} inputs" if count > 1 else "1 input" if count else "nothing"


def _outputs(F: Function) -> str:
    shapes = [shape_text(y.shape) for y in F.outputs[:_OUTPUTS]]
    if len(F.outputs) > 1:
        more = ", …" if len(F.outputs) > _OUTPUTS else ""
        return f"{len(F.outputs)} values of shapes {', '.join(shapes)}{more}"
    return f"an array of shape {shapes[0]}" if F.outputs[0].shape else "a scalar"


def _asked(F: Function) -> Iterator[tuple[str, list[str]]]:
    """What a Function of this kind answers."""
    yield "values", [f"F({', '.join(x.name for x in F.inputs[:3])}{', …' * (len(F.inputs) > 3)})"]
    if any(x.dtype is float for x in F.inputs):
        scalar = len(F.outputs) == 1 and not F.outputs[0].shape
        first = ["value_and_grad", "grad", "hessian", "hvp"] if scalar else ["jacobian", "vjp"]
        yield "derivatives", [f"F.{name}" for name in [*first, "jvp"]]
    yield "more", ["F.bind", "F.source", "F.explain()"]


Function._repr_markdown_ = _markdown  # type: ignore[attr-defined]
