"""What the printers of Python's sources have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numeric import special
from numeric.lowering.monomials import monomial, shifted_power
from numeric.lowering.printers.printer import Printer
from numeric.lowering.texts import ATOM, LOOSE, POWER, PRODUCT, Template

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numeric.lowering.steps import Step

SQUARE = Template("{0}*{0}", PRODUCT, (POWER,), frozenset({0}))


def places_of(count: int) -> str:
    """So many operands as arguments."""
    return ", ".join([f"{{{k}}}" for k in range(count)])


def call(text: str, count: int, repeated: Iterable[int] = ()) -> Template:
    """The template of a call of ``count`` operands."""
    return Template(text, ATOM, (LOOSE,) * count, frozenset(repeated))


class PythonPrinter(Printer):
    """Statements of Python, and calls of functions that only NumPy can write."""

    def size(self, name: str) -> str:  # names of axes are users': they stay inside of a literal
        return f"sizes[{name!r}]".replace("{", "{{").replace("}", "}}")

    def assigned(self, names: Sequence[str], text: str) -> str:
        return f"{', '.join(names)} = {text}"

    def call_of_kernel(self, step: Step, sizes: str) -> Template:
        """A call of the step's kernel; its arguments have names, so that lines stay readable."""
        count = len(step.operands)
        name = self.emitter.kernel_of(step, [self.steps[v].layout(v) for v in step.operands])
        comma = "," if count == 1 else ""
        return call(f"{name}(({places_of(count)}{comma}), {sizes})", count, range(count))

    def exact_monomial(self, step: Step) -> str:
        """A call of the function that computes a monomial."""
        of = step.detail
        name = self.emitter.bind(of, "monomial", lambda: monomial(of), numbered=True)
        return f"{name}({places_of(len(step.operands))})"

    def exact_power(self, step: Step) -> str:
        """A call of the function that makes x**(y + k) exact."""
        k = step.detail
        name = self.emitter.bind(("shifted", k), "shifted_power", lambda: shifted_power(k))
        power: Any = self.emitter.function("power", special.NUMPY["power"])
        return f"{name}({{0}}, {{2}}, {power}({{0}}, {{1}}))"
