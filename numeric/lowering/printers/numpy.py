"""Steps as NumPy's expressions of arrays."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from numeric import special
from numeric.lowering import kinds
from numeric.lowering.arithmetic import weak
from numeric.lowering.blocks import Exponentials
from numeric.lowering.formulas import NumPyFormulas
from numeric.lowering.kernels.extremes import AtExtremes
from numeric.lowering.kernels.gram import gram
from numeric.lowering.kernels.monomials import over_sum
from numeric.lowering.kernels.products import affine, affine_max, affine_min
from numeric.lowering.kernels.sequences import apart, placed, powers
from numeric.lowering.node_kernels import strong_product
from numeric.lowering.passes.extremes import Reading
from numeric.lowering.passes.padding import edges, keyed
from numeric.lowering.pipelines import ARRAYS, Given
from numeric.lowering.printers.python import SQUARE, PythonPrinter, call, places_of
from numeric.lowering.texts import ATOM, LOOSE, POWER, PRODUCT, SUM, Template, lengths_text
from symdiff import opaque_ops
from symdiff.graph import ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numeric.lowering.names import Emitter
    from numeric.lowering.steps import Step


class NumPyPrinter(PythonPrinter):
    """Arrays, and weak numbers beside them.  They are dropped after their last use."""

    formulas = NumPyFormulas
    pipeline = ARRAYS
    drops = True
    thin: ClassVar[int] = 0  # the side of a matrix up to which kernels multiply, not BLAS

    @classmethod
    def given(cls, emitter: Emitter) -> Given:
        return super().given(emitter)._replace(thin=cls.thin)

    def template(self, step: Step) -> Template:
        if isinstance(step.kind, kinds.Powers):
            name = self.emitter.function("powers", powers)
            return call(f"{name}({{0}}, {step.kind.exponents!r}, axis={step.kind.axis})", 1)
        if isinstance(step.kind, kinds.Apart):
            return call(f"{self.emitter.function('apart', apart)}({{0}})", 1)
        if isinstance(step.kind, kinds.Affine):
            return self._affine(step.kind)
        if isinstance(step.kind, kinds.Extremes):
            name = self.emitter.function("AtExtremes", AtExtremes)
            return call(f"{name}({step.kind.which!r}, {{0}}, {{1}}, {{2}})", 3)
        if isinstance(step.kind, kinds.Placed):
            return _placed(step.kind.reading)
        if isinstance(step.kind, kinds.Softmax):
            return self._exponentials("softmax")
        return super().template(step)

    def _affine(self, kind: kinds.Affine) -> Template:
        factors = [f"{{{k}}}{'.T' * t}" for k, t in enumerate(kind.turned)]
        terms, place = [], 2
        for coef in kind.coefs:
            if coef is None:
                terms.append("None")
                continue
            terms.append(f"{{{place}}}" if coef == 1 else f"{weak(coef)!r}*{{{place}}}")
            place += 1
        function = {"": affine, "min": affine_min, "max": affine_max}[kind.extreme]
        name = self.emitter.function(function.__name__, function)
        made = call(f"{name}({', '.join([*factors, repr(weak(kind.scale)), *terms])})", place)
        needs = (ATOM, ATOM, *[POWER] * (place - 2))
        into = "" if kind.extreme else f"{made.text[:-1]}, out={{out}})"
        return made._replace(needs=needs, into=into)

    def kernel(self, step: Step) -> Template:
        parted = isinstance(step.op, opaque_ops.LogSumExp) and not self.emitter.options.exact_order
        if parted and not self.numbers[step.operands[0]]:
            return self._exponentials("logsumexp")
        return super().kernel(step)

    def _exponentials(self, name: str) -> Template:
        made = partial(Exponentials, name, self.emitter.options.threads)
        return call(f"{self.emitter.bind(('in blocks', name), name, made)}({{0}})", 1)

    def power(self, step: Step) -> Template:
        exponent = step.as_kind(kinds.Power).exponent
        if exponent == 2:
            return SQUARE
        if exponent == Fraction(1, 2):
            return Template(f"{self.emitter.function('sqrt', np.sqrt)}({{0}})", ATOM, (LOOSE,))
        power = self.emitter.function("power", np.power)
        return Template(f"{power}({{0}}, {weak(exponent)!r})", ATOM, (LOOSE,))

    def pointwise(self, step: Step) -> Template:
        return self.formula(step.as_op(ops.Pointwise))

    def shifted(self, step: Step) -> Template:
        power = self.emitter.function("power", special.NUMPY["power"])
        return call(self.exact_power(step, power), 3, repeated=(0, 2))

    def monomial(self, step: Step) -> Template:
        return call(self.exact_monomial(step), len(step.operands))

    def quotient(self, step: Step) -> Template:
        of = step.as_kind(kinds.Quotient)
        name = self.emitter.bind(of, "quotient_over", lambda: over_sum(of.signs, of.places), True)
        count = len(step.operands)
        return call(f"{name}({places_of(count)})", count)

    def strong(self, step: Step) -> Template:
        kills = step.as_op(ops.Strong).kills
        name = "_".join(["strong", *(str(k) for k in (0, 1) if kills[k])])
        multiply = self.emitter.function(name, strong_product(kills))
        return call(f"{multiply}({{0}}, {{1}})", 2)

    def pads(self, step: Step) -> Template:
        name = self.emitter.function("placed", placed)
        widths = step.as_kind(kinds.Pads).widths
        inner = [_key(key) for key in edges(widths)]
        ends = f"({', '.join(inner)}{',' * (len(inner) == 1)})"
        terms = [f"({_key(keyed(w))}, {{{k}}})" for k, w in enumerate(widths)]
        text = f"{name}({lengths_text(step.shapes[0])}, {ends}, {', '.join(terms)})"
        return call(text, len(terms))

    def gram(self, step: Step) -> Template:
        first, second, _ = step.as_op(ops.Contract).letters
        turned = "" if first[:1] == second else ".T"
        return call(f"{self.emitter.function('gram', gram)}({{0}}{turned}, {{1}})", 2)

    def element(self, step: Step) -> Template:
        return Template(f"{{0}}[{step.as_kind(kinds.Element).place}]", ATOM, (ATOM,))

    def dropped(self, names: Sequence[str]) -> str:
        return f"del {', '.join(names)}"


def _placed(reading: Reading) -> Template:
    """A contraction of what is at extremes."""
    scale, axis, first, turned, strong = reading
    text, needs = f"{{0}}.sum({axis})", [ATOM]
    if first is not None:
        operand = "{1}" if first else "{1}.T"
        how = ", strong=True" if strong else ""
        text = f"{{0}}.dot({axis}, {operand}{how}){'.T' * turned}"
        needs = [ATOM, LOOSE if first else ATOM]
    if scale == 1:
        return Template(text, ATOM, tuple(needs))
    return Template(f"{weak(scale)!r}*{text}", SUM if scale < 0 else PRODUCT, tuple(needs))


def _key(key: Sequence[slice | int]) -> str:
    """A key as it is typed."""
    lines = ", ".join(map(_line, key))
    return lines if len(key) == 1 and isinstance(key[0], int) else f"np.s_[{lines}]"


def _line(k: slice | int) -> str:
    if isinstance(k, int):
        return str(k)
    return f"{k.start or ''}:{'' if k.stop is None else k.stop}"
