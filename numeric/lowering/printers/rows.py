"""Steps as NumPy's expressions, with kernels over blocks of rows as functions of their own."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from numeric.lowering import costs, kinds
from numeric.lowering.blocks import Rows
from numeric.lowering.contracted import einsum_text
from numeric.lowering.contraction import plan
from numeric.lowering.passes.rows import Able, avoids_blas
from numeric.lowering.pipelines import ROWS, Given
from numeric.lowering.printers.into import ResultsPrinter
from numeric.lowering.printers.numpy import NumPyPrinter
from numeric.lowering.printers.python import call, defined, parameters, places_of
from symdiff.graph import ops

if TYPE_CHECKING:
    from numeric.lowering.names import Emitter
    from numeric.lowering.passes.rows import Kernel
    from numeric.lowering.steps import Schedule, Step
    from numeric.lowering.texts import Template


class KernelPrinter(ResultsPrinter):
    """A kernel, which several threads run at once, and which writes its blocks of results.

    BLAS has threads of its own for the dot product of long vectors, and lets others wait for them:
    the products are added by NumPy.
    """

    def kernel(self, step: Step) -> Template:
        op = step.op
        if isinstance(op, ops.Contract) and not any(op.kills) and step.dtypes[0] is float:
            operands = self._layouts(step)
            real = all(dtype is float for _, dtype in operands)
            if real and plan(op, [shape for shape, _ in operands]).kind == "dot":
                return call(f"np.einsum({einsum_text(op.letters, op.out)}, {{0}}, {{1}})", 2)
        return super().kernel(step)


class RowsPrinter(NumPyPrinter):
    """Arrays, in blocks of rows where steps go along an axis.

    ``kernels`` are what the program calls, ``sources`` their functions.
    """

    pipeline = ROWS
    kind: ClassVar[str] = "rows"
    crossing: ClassVar[float] = costs.CROSSING
    worth: ClassVar[float] = 0

    def __init__(self, emitter: Emitter, schedule: Schedule) -> None:
        self.kernels: list[Rows] = []
        self.sources: list[str] = []
        super().__init__(emitter, schedule)

    @classmethod
    def given(cls, emitter: Emitter) -> Given:
        given = super().given(emitter)
        return given._replace(able=cls.able(emitter), crossing=cls.crossing, worth=cls.worth)

    def template(self, step: Step) -> Template:
        if not isinstance(step.kind, kinds.Rows):
            return super().template(step)
        kernel, count = step.kind.kernel, len(step.operands)
        body = KernelPrinter(self.emitter, kernel.body)
        # Programs that compute the same in blocks, some in memory that is kept, call one kernel.
        key = (self.kind, kernel.length, *kernel[2:], count, *body.lines, *body.results)
        name = self.emitter.bind(key, self.kind, partial(self.rows, kernel), numbered=True)
        made = self.emitter.namespace[name]
        assert isinstance(made, Rows)
        arguments = [*parameters(count), *["outs"] * bool(body.slots)]
        source = defined(name, arguments, str(kernel), body.lines, body.results)
        made.writes = bool(body.slots)
        made.compiled = partial(self.emitter.compiled, name, source)
        if made not in self.kernels:
            self.kernels.append(made)
            self.sources.append(made.shown(source))
        return call(f"{name}({places_of(count)}{', ' if count else ''}sizes)", count)

    @classmethod
    def able(cls, emitter: Emitter) -> Able:
        """Which steps may be in kernels."""
        return avoids_blas

    def rows(self, kernel: Kernel) -> Rows:
        """A kernel as it runs."""
        return Rows(kernel, self.emitter.options.threads)
