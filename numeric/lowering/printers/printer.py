"""What all printers have in common, and the contract of one: ``Printer``."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

from numeric.lowering import kinds
from numeric.lowering.arithmetic import divisor, factors, weak
from numeric.lowering.formulas import printed
from numeric.lowering.node_kernels import whole_numbers
from numeric.lowering.passes.grouping import inline_values
from numeric.lowering.passes.lifetimes import mark_last_reads
from numeric.lowering.pipelines import EACH, Given, applied, possible_numbers
from numeric.lowering.texts import (
    ATOM,
    LOOSE,
    MATRIX_PRODUCT,
    POWER,
    PRODUCT,
    SUM,
    Template,
    Text,
    number_text,
)
from symdiff.graph import ops
from symdiff.locks import cached_property

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from numeric.lowering.formulas import FormulaPrinter
    from numeric.lowering.kinds import Kind
    from numeric.lowering.names import Emitter
    from numeric.lowering.pipelines import Pipeline
    from numeric.lowering.steps import Schedule, Step
    from symdiff.graph.number import Number


class Printer(ABC):
    """Writes the steps of a schedule as source of a target.

    A target is a subclass.  It says with which of SymPy's printers it writes formulas
    (``formulas``), and how it writes a step of each kind that targets differ in: the abstract
    methods.  Each gets the step and gives a Template: a text in which ``{0}, {1}, ...`` stand for
    the operands, how tightly it binds, how tightly each operand has to bind, and which operands it
    has more than once, so that they are given names.  What a template calls is bound by
    ``self.emitter``, which says under which name.

    ``pipeline`` has the passes that come before.  ``real`` writes numbers beside real values.
    ``drops`` says that it has statements that end the
    life of values (``dropped``), ``plain`` that arguments of shape () are numbers of its own.

    Everything else is done here, the same for all: sums, products and numbers, in which Python and
    C agree; passes, names, and putting texts into templates.  A target in which this is not how it
    is written (no infix operators, another way to assign) overrides those methods, too.

    A Printer is made for one schedule.  Then ``lines`` are the statements, ``results`` the texts of
    what the program returns, and ``schedule`` is what the passes made of it.
    """

    formulas: ClassVar[type[FormulaPrinter]]
    pipeline: ClassVar[Pipeline] = EACH
    drops: ClassVar[bool] = False
    plain: ClassVar[bool] = False
    schedule: Schedule

    def __init__(self, emitter: Emitter, schedule: Schedule) -> None:
        self._begin(emitter, self.passed(schedule, emitter))
        schedule = self.schedule
        self._templates = [self.template(step) for step in schedule.steps]
        named = self.kept(self._templates)
        schedule = inline_values(schedule, self._templates, named)
        self.schedule = mark_last_reads(schedule) if self.drops else schedule
        self.slots = self.placed(named)
        self.lines, self.results = self._written()

    @classmethod
    def beside(cls, printer: Printer) -> Self:
        """One that writes steps of another printer's schedule; it has no lines."""
        made = cls.__new__(cls)
        made._begin(printer.emitter, printer.schedule)
        return made

    def _begin(self, emitter: Emitter, schedule: Schedule) -> None:
        self.emitter, self.schedule = emitter, schedule
        self.steps = schedule.definitions()
        self._of_op: dict[object, Template] = {}
        self._ways: dict[type[Kind], Callable[[Step], Template]] = {
            kinds.Input: self._input,
            kinds.Number: self._number,
            kinds.Size: self._size,
            kinds.Array: self._array,
            kinds.Sum: self._sum,
            kinds.Product: self._product,
            kinds.Quotient: self._quotient,
            kinds.Power: self.power,
            kinds.Monomial: self.monomial,
            kinds.Pointwise: self.pointwise,
            kinds.Shifted: self.shifted,
            kinds.Strong: self.strong,
            kinds.PartOfSlice: self.kernel,
            kinds.ByKernel: self.kernel,
            kinds.Pads: self.pads,
            kinds.Element: self.element,
            kinds.Elements: self.elements,
            kinds.Stack: self.stack,
            kinds.Gram: self.gram,
        }

    @classmethod
    def given(cls, emitter: Emitter) -> Given:
        """What passes ask about the target and the options of a program."""
        return Given(emitter.numbers, emitter.options.exact_order)

    @classmethod
    def passed(cls, schedule: Schedule, emitter: Emitter) -> Schedule:
        """What the pipeline makes of the schedule before its steps are written."""
        return applied(cls.pipeline, schedule, cls.given(emitter))

    @cached_property
    def numbers(self) -> Sequence[bool]:
        """Which values may be Python numbers; structure wants arrays."""
        return possible_numbers(self.schedule, self.plain or self.emitter.numbers)

    # What targets differ in -----------------------------------------------------------------------

    @abstractmethod
    def power(self, step: Step) -> Template:
        """The operand to the positive exponent of a ``Power``.

        Of a negative number that has no such power: nan, or an error that the caller knows.
        """

    @abstractmethod
    def pointwise(self, step: Step) -> Template:
        """The formula of ``step.op`` at each element: ``self.formula(op)``, but for what is better.

        Raises Unsupported for a function that the target has not.
        """

    @abstractmethod
    def shifted(self, step: Step) -> Template:
        """x**z for operands x, y, z: z is y + the shift, and rounded (see ``monomials``)."""

    @abstractmethod
    def monomial(self, step: Step) -> Template:
        """The product that a ``Monomial`` is of the operands, without overflow."""

    @abstractmethod
    def quotient(self, step: Step) -> Template:
        """A product over a sum that may overflow, a ``Quotient``.

        Where it does, at the ``places``, the operands behind the factors are divided by in
        its place, one after the other.
        """

    @staticmethod
    def quotients(step: Step) -> tuple[str, str]:
        """The product of a ``quotient``, and the same with the divisors in place of the sum."""
        kind = step.as_kind(kinds.Quotient)
        signs, places = kind.signs, kind.places
        plain, beyond = "", ""
        divisors = "".join([f"/{{{k}}}" for k in range(len(signs), len(step.operands))])
        for k, sign in enumerate(signs):
            factor = f"{'*' if sign > 0 else '/'}{{{k}}}" if k else "{0}"
            plain += factor
            beyond += divisors if k in places else factor
        return plain, beyond

    @abstractmethod
    def strong(self, step: Step) -> Template:
        """The product of both operands; 0, not nan, where one that ``step.op`` kills by is 0."""

    @abstractmethod
    def kernel(self, step: Step) -> Template:
        """What the op's kernel computes, or a component: structure, contractions, functions."""

    @abstractmethod
    def of_numbers(self, step: Step) -> Template:
        """A function of weak numbers, whose value is what NumPy makes of them, and weak."""

    @abstractmethod
    def size(self, name: str) -> str:
        """The length of an axis."""

    @staticmethod
    def real(value: Number) -> int | float:
        """A number as it stands beside values that are real."""
        return weak(value)

    @abstractmethod
    def assigned(self, names: Sequence[str], text: str) -> str:
        """The statement that gives values names; several are the parts of one computation."""

    def pads(self, step: Step) -> Template:
        """The sum of the operands with zeros around, in a target that has arrays."""
        raise NotImplementedError

    def element(self, step: Step) -> Template:
        """An element of an array, in a target whose schedules are rolled."""
        raise NotImplementedError

    def elements(self, step: Step) -> Template:
        """All elements of an array, one after the other."""
        raise NotImplementedError

    def stack(self, step: Step) -> Template:
        """The array of the operands, which are scalars, in a target whose schedules are rolled."""
        raise NotImplementedError

    def gram(self, step: Step) -> Template:
        """``X' diag(s) X`` of X and s, in a target that computes half of it."""
        raise NotImplementedError

    def dropped(self, names: Sequence[str]) -> str:
        """The statement behind which values are gone, in a target that ``drops`` them."""
        raise NotImplementedError

    def kept(self, templates: Sequence[Template]) -> set[int]:
        """The values that are computed into memory which the program keeps, or is given."""
        return set()

    def placed(self, values: Collection[int]) -> dict[int, int]:
        """The places of these values in that memory, where the schedule is complete."""
        return {}

    def stored(self, into: str, parts: Sequence[str], slot: int) -> str:
        """A value at such a place: the text ``into`` of its template over its operands."""
        raise NotImplementedError

    # What is the same for all ---------------------------------------------------------------------

    def template(self, step: Step) -> Template:
        """How a step is written over its operands."""
        if step.weak and isinstance(
            step.kind, kinds.ByKernel
        ):  # a number that is spread, and stays one
            return _SAME
        if step.weak and isinstance(step.kind, _STRONG):
            return self.of_numbers(step)
        return self._ways[step.kind.__class__](step)

    def _input(self, step: Step) -> Template:
        return _INPUT

    def _number(self, step: Step) -> Template:
        text = number_text(step.as_kind(kinds.Number).value)
        return Template(text.text, text.level, ())

    def _size(self, step: Step) -> Template:
        return Template(self.size(step.as_kind(kinds.Size).axis), ATOM, ())

    def _array(self, step: Step) -> Template:
        value = whole_numbers(step.as_op(ops.Constant).value)
        return Template(
            self.emitter.bind(step.op, "constant", lambda: value, numbered=True), ATOM, ()
        )

    def _sum(self, step: Step) -> Template:
        key = step.as_op(ops.Sum), step.dtypes[0] is int
        found = self._of_op.get(key)
        if found is None:
            found = self._of_op[key] = _sum(*key, self.real)
        return found

    def _product(self, step: Step) -> Template:
        signs = step.as_kind(kinds.Product).signs
        return _quotient(signs) if step.weak else _product(signs, repr(self.real(1)))

    def _quotient(self, step: Step) -> Template:
        if not step.weak:
            return self.quotient(step)
        plain = _quotient(step.as_kind(kinds.Quotient).signs)
        # Lengths are far from where their sum overflows: what stands for it then is left out.
        return plain._replace(needs=(LOOSE,) * len(step.operands))

    def formula(self, op: ops.Pointwise) -> Template:
        """What the target's printer of formulas writes for an op, with names of the program."""
        found = self._of_op.get(op)
        if found is None:
            formulas: Any = self.formulas  # mypy takes no class for hashable
            _, found, called = printed(op.formula, op.arity, formulas)
            names = {old: self.emitter.function(old, value) for old, value in called.items()}
            if any(old != new for old, new in names.items()):
                pattern = "|".join(rf"\b{re.escape(old)}\b" for old in names)
                text = re.sub(pattern, lambda match: names[match[0]], found.text)
                found = found._replace(text=text)
            self._of_op[op] = found
        return found

    def _written(self) -> tuple[list[str], list[str]]:
        """The lines of the body, and the texts of the results."""
        schedule = self.schedule
        texts: list[Any] = [None] * schedule.length
        dying: dict[int, list[str]] = {}
        lines: list[str] = []
        count = 0
        for place, (step, template) in enumerate(zip(schedule.steps, self._templates, strict=True)):
            kind = step.kind
            if kind.constant and isinstance(kind, kinds.Number):
                continue  # how a number is written depends on who reads it
            whole = step.dtypes[0] is not float and self._is_whole(step)
            real = step.dtypes[0] is float and not step.weak and isinstance(kind, kinds.Product)
            parts = [
                (texts[v] or self._literal(v, whole, real)).within(need)
                for v, need in zip(step.operands, template.needs, strict=False)
            ]
            slot = self.slots.get(step.results[0])
            if slot is not None:
                text = self.stored(template.into, parts, slot)
            else:
                text = template.text.format(*parts) if parts else template.text
            if step.inline or kind.constant:
                texts[step.results[0]] = Text(text, template.level)
                continue
            names = [self.named(step, count + k) for k in range(len(step.results))]
            count += len(names)
            for v, name in zip(step.results, names, strict=True):
                texts[v] = Text(name, ATOM)
            if kind.leaf:  # parameters are the caller's
                continue
            lines.append(self.assigned(names, text))
            for name, at in zip(names, step.dies, strict=False):
                if at is not None:
                    dying.setdefault(at, []).append(name)
            if place in dying:
                lines.append(self.dropped(dying[place]))
        results = [(texts[v] or self._literal(v, False, False)).text for v in schedule.results]
        self.joined = self.spans(texts)
        return lines, results

    def _literal(self, v: int, whole: bool, real: bool) -> Text:
        value = self.steps[v].as_kind(kinds.Number).value
        return number_text(self.real(value) if real else value, whole)

    def spans(self, texts: Sequence[Text]) -> list[tuple[int, int, str]]:
        """Results in a row, from one place to another, that are one text; not the first of all."""
        return []

    def named(self, step: Step, count: int) -> str:
        """The name of a value, before which ``count`` others have names."""
        return f"v{count + 1}"

    def _is_whole(self, step: Step) -> bool:
        """Whether a step computes with integers and truth values alone."""
        return all(self.steps[v].layout(v)[1] is not float for v in step.operands)


_INPUT = Template("", ATOM, ())
_SAME = Template("{0}", ATOM, (ATOM,))

# Of weak numbers these are computed by kernels, which know what NumPy makes of them.
_STRONG = kinds.Power, kinds.Pointwise, kinds.Strong


@lru_cache(maxsize=1024)
def _sum(op: ops.Sum, whole: bool, real: Callable[[Number], int | float]) -> Template:
    """The terms from left to right, then the constant.

    What would begin with a change of sign begins with what is positive behind it, ``b - a`` for
    ``-a + b`` and ``1 - a`` for ``-a + 1``, which is the same number and one pass less.
    """
    coefs, order = op.coefs, list(range(len(op.coefs)))
    number = _whole if whole else real
    # Then what is written is the operand, as a product.
    alone = len(coefs) == 1 and op.const == 0
    turned = coefs[0] < 0 and not whole and _signed(-coefs[0])
    ahead = turned and len(coefs) == 1 and op.const > 0
    if turned and len(coefs) > 1 and coefs[1] > 0:
        order[:2] = 1, 0
    first = None if ahead else order[0]
    terms = {
        k: _term(coefs[k], k, number, first=k == first, alone=alone, whole=whole) for k in order
    }
    parts = [text for text, _ in terms.values()]
    if op.const != 0:
        size = repr(number(-op.const if op.const < 0 else op.const))
        if ahead:
            parts.insert(0, size)
        else:
            parts.append(f" - {size}" if op.const < 0 else f" + {size}")
    text = "".join(parts)
    level = PRODUCT if alone and not text.startswith("-") else SUM
    into = _scaled_into(coefs[0], number) if len(parts) == 1 and not whole else ""
    if len(parts) > 1:
        name = "add" if parts[-1].startswith(" + ") else "subtract"
        into = f"np.{name}({''.join(parts[:-1])}, {parts[-1][3:]}, out={{out}})"
    return Template(text, level, tuple([terms[k][1] for k in range(len(coefs))]), into=into)


def _whole(value: Number) -> int | float:
    return weak(value, True)


def _scaled_into(coef: Number, real: Callable[[Number], int | float]) -> str:
    """``coef * x``, written into an array; "" where it takes more than one operation."""
    if coef == -1:
        return "np.negative({0}, out={out})"
    d = divisor(-coef if coef < 0 else coef)
    if coef == 1 or d is not None or len(factors(-coef if coef < 0 else coef)) > 1:
        return f"np.divide({{0}}, {real(d)!r}, out={{out}})" if d is not None and coef > 0 else ""
    return f"np.multiply({real(coef)!r}, {{0}}, out={{out}})"


def _signed(size: Number) -> bool:
    """Whether the sign of a coefficient of this size is a change of sign, of what it stands at."""
    return (size == 1 and not isinstance(size, float)) or divisor(size) is not None


def _term(
    coef: Number,
    k: int,
    number: Callable[[Number], int | float],
    *,
    first: bool,
    alone: bool,
    whole: bool,
) -> tuple[str, int]:
    """``coef * x`` behind what is left of it, and how tightly x has to bind."""
    negative = coef < 0
    size = -coef if negative else coef
    sign = ("-" if negative else "") if first else (" - " if negative else " + ")
    if size == 1 and not isinstance(size, float):
        return f"{sign}{{{k}}}", SUM if first and not negative and not alone else MATRIX_PRODUCT
    d = divisor(size)
    if d is not None:
        return f"{sign}{{{k}}}/{number(d)!r}", PRODUCT
    innermost, *others = (size,) if whole else factors(size)
    text = f"{number(innermost)!r}*{{{k}}}"
    for factor in others:
        text = f"{number(factor)!r}*({text})"
    if first and negative and whole:  # unsigned integers meet no negative number
        return f"-({text})", POWER
    return f"{sign}{text}", POWER


def _quotient(signs: tuple[int, ...]) -> Template:
    """A product of weak numbers, which raise where IEEE arithmetic has an answer."""
    inner = ", ".join([f"{{{k}}}" for k in range(len(signs))])
    return Template(f"quotient(({inner},), {signs!r})", ATOM, (LOOSE,) * len(signs))


@lru_cache(maxsize=64)
def _product(signs: tuple[int, ...], one: str) -> Template:
    if signs[0] > 0:
        rest = "".join(f"{'*' if sign > 0 else '/'}{{{k}}}" for k, sign in enumerate(signs) if k)
        return Template(f"{{0}}{rest}", PRODUCT, (PRODUCT,) + (POWER,) * (len(signs) - 1))
    if signs == (-1, 1):
        return Template("{1}/{0}", PRODUCT, (POWER, PRODUCT))
    if signs == (-1,):
        return Template(f"{one}/{{0}}", PRODUCT, (POWER,))
    return Template(f"{one}/({{0}}*{{1}})", PRODUCT, (PRODUCT, POWER))
