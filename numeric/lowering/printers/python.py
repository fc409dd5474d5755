"""What the printers of Python's sources have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numeric.lowering import kinds
from numeric.lowering.arithmetic import weak
from numeric.lowering.kernels.monomials import monomial, shifted_power
from numeric.lowering.printers.printer import Printer
from numeric.lowering.texts import ATOM, LOOSE, POWER, PRODUCT, Template, length_text, lengths_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numeric.lowering.steps import Step
    from symdiff.graph.node import Dtype, Shape
    from symdiff.graph.number import Number

SQUARE = Template("{0}*{0}", PRODUCT, (POWER,), frozenset({0}))


def places_of(count: int) -> str:
    """So many operands as arguments."""
    return ", ".join([f"{{{k}}}" for k in range(count)])


def call(text: str, count: int, repeated: Iterable[int] = ()) -> Template:
    """The template of a call of ``count`` operands."""
    return Template(text, ATOM, (LOOSE,) * count, frozenset(repeated))


def parameters(count: int) -> list[str]:
    """The names of so many values that a program is given, and of the lengths of axes."""
    return [*(f"v{i + 1}" for i in range(count)), "sizes"]


def defined(
    name: str, arguments: Sequence[str], comment: str, lines: Sequence[str], results: Sequence[str]
) -> str:
    """The source of a function that gives a tuple.

    >>> print(defined("twice", parameters(1), "a value", ["v2 = 2*v1"], ["v2"]))
    def twice(v1, sizes):
        # a value
        v2 = 2*v1
        return (v2,)
    <BLANKLINE>
    """
    comma = "," if len(results) == 1 else ""
    body = [
        *(f"# {line}" for line in comment.splitlines()),
        *lines,
        f"return ({', '.join(results)}{comma})",
    ]
    head = f"def {name}({', '.join(arguments)}):"
    return "\n".join([head, *(f"    {line}" for line in body), ""])


class PythonPrinter(Printer):
    """Statements of Python, and calls of functions that only NumPy can write."""

    @staticmethod
    def real(value: Number) -> float:
        # An integer beside floats costs CPython half as much again, and NumPy a third more.
        return float(weak(value))

    def size(self, name: str) -> str:
        return length_text(name)

    def assigned(self, names: Sequence[str], text: str) -> str:
        return f"{', '.join(names)} = {text}"

    def kernel(self, step: Step) -> Template:
        numbers = [self.numbers[v] for v in step.operands]
        return self.emitter.structured(step, self._layouts(step), numbers)

    def stack(self, step: Step) -> Template:
        count = len(step.operands)
        (shape,), kind = step.shapes, "bool" if step.dtypes[0] is bool else "float"
        if not shape:
            return call(f"np.{'bool_' if kind == 'bool' else 'float64'}({{0}})", count)
        form = f".reshape{lengths_text(shape)}" if len(shape) > 1 else ""
        return call(f"np.array(({places_of(count)},), {kind}){form}", count)

    def of_numbers(self, step: Step) -> Template:
        name, count = self.emitter.of_numbers(step, self._layouts(step)), len(step.operands)
        return call(f"{name}({places_of(count)})", count)

    def _layouts(self, step: Step) -> list[tuple[Shape, Dtype]]:
        return [self.steps[v].layout(v) for v in step.operands]

    def exact_monomial(self, step: Step) -> str:
        """A call of the function that computes a monomial."""
        of = step.as_kind(kinds.Monomial)
        name = self.emitter.bind(of, "monomial", lambda: monomial(of), numbered=True)
        return f"{name}({places_of(len(step.operands))})"

    def exact_power(self, step: Step, power: str) -> str:
        """A call of the function that makes x**(y + k) exact; ``power`` is that of two numbers."""
        k = step.as_kind(kinds.Shifted).shift
        name = self.emitter.bind(("shifted", k), "shifted_power", lambda: shifted_power(k))
        return f"{name}({{0}}, {{2}}, {power}({{0}}, {{1}}))"
