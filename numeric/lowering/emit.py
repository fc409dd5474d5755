"""From schedules to Python source: one line per value, what SymPy's printers print inside.

Each pointwise formula goes through ``sympy.lambdify`` once (see ``formulas``); its text is a
template, into which the names of values are put.  Two flavours are written: ``numpy``, for arrays,
and ``math``, for Python floats.  The source consists of our own names (v1, v2, ...) and of names
from the templates; what users named appears in comments only.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric import special
from numeric.lowering.arithmetic import divisor, factors, integral, weak
from numeric.lowering.contraction import explain
from numeric.lowering.formulas import MathFormulas, NumPyFormulas, of_arrays, printed
from numeric.lowering.kernels import (
    discards,
    kernel,
    parts_kernel,
    strong_product,
    whole_numbers,
)
from numeric.lowering.monomials import FAR, NEAR, monomial, over_sum, shifted_power
from numeric.lowering.schedule import Schedule, quotient
from numeric.lowering.spellings import Spelling, behind, places_of_sum
from numeric.lowering.texts import ATOM, LOOSE, POWER, PRODUCT, SUM, Template, Text, number_text
from symdiff import ops
from symdiff.algebra import PRIMITIVES
from symdiff.letters import shape_text
from symdiff.locks import fork_safe_lock
from symdiff.vocabulary import FACTS, Relation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from symdiff.expr import Expr
    from symdiff.node import Op
    from symdiff.number import Number

NUMPY, MATH = "numpy", "math"

# Values that are used once are written into the line of their user, up to so many characters and
# so many lines within each other: readable, and far from what a compiler nests.
_WIDTH = 90
_DEPTH = 8

# Entries of more parameters than this take them as one tuple.
_PARAMETERS = 16


class Program:
    """A program: its source, and whether selections discard values in it; compiled when called."""

    def __init__(self, emitter: Emitter, name: str, head: str, writer: _Writer) -> None:
        self.name, self.schedule, self._emitter = name, writer.schedule, emitter
        self.lines, self.results = writer.lines()
        comma = "," if len(self.results) == 1 else ""
        tail = f"    return ({', '.join(self.results)}{comma})"
        self.source = "\n".join([head, *(f"    {line}" for line in self.lines), tail, ""])
        self.masked = any(discards(node.op) for node in self.schedule.spellings)

    @cached_property
    def function(self) -> Callable[..., Any]:
        """The compiled program: values, and the lengths of axes, to the results."""
        return self._emitter.compiled(self.name, self.source)


# Templates --------------------------------------------------------------------------------------

_OPERATORS: dict[
    Op, tuple[str, tuple[int, ...]]
] = {  # as conditions, in which an unselected branch is not computed
    PRIMITIVES[name]: (f"{{0}} {facts.infix} {{1}}", (SUM, SUM))
    for name, facts in FACTS.items()
    if issubclass(facts, Relation)
}
_OPERATORS[PRIMITIVES["where"]] = ("{1} if {0} else {2}", (SUM, SUM, SUM))


def _term(coef: Number, x: Text, first: bool, alone: bool, whole: bool) -> str:
    """``coef * x`` behind what is left of it; as ``kernels`` computes it, to the last bit."""
    negative = coef < 0
    size = -coef if negative else coef
    sign = ("-" if negative else "") if first else (" - " if negative else " + ")
    if size == 1 and not isinstance(size, float):
        return sign + x.within(SUM if first and not negative and not alone else PRODUCT)
    d = divisor(size)
    if d is not None:
        return f"{sign}{x.within(PRODUCT)}/{d!r}"
    innermost, *others = (size,) if whole else factors(size)
    text = f"{innermost!r}*{x.within(POWER)}"
    for factor in others:
        text = f"{factor!r}*({text})"
    if first and negative and whole:  # unsigned integers meet no negative number
        return f"-({text})"
    return f"{sign}{text}"


def _sum(op: ops.Sum, operands: Sequence[Text], whole: bool) -> tuple[str, int]:
    alone = (
        len(operands) == 1 and op.const == 0
    )  # then what is written is the operand, as a product
    pieces = [
        _term(coef, x, first=not i, alone=alone, whole=whole)
        for i, (coef, x) in enumerate(zip(op.coefs, operands, strict=True))
    ]
    if op.const != 0:
        size = weak(-op.const if op.const < 0 else op.const, whole)
        pieces.append(f" - {size!r}" if op.const < 0 else f" + {size!r}")
    text = "".join(pieces)
    return text, SUM if len(pieces) > 1 or text.startswith("-") else PRODUCT


# Programs ---------------------------------------------------------------------------------------


class Emitter:
    """Writes the programs of one Function; they share kernels, constants and names."""

    def __init__(self) -> None:
        self.lock = fork_safe_lock()  # programs may be written when they are first called
        self.namespace: dict[str, Any] = {"inf": math.inf, "nan": math.nan, "quotient": quotient}
        self._named: dict[Any, str] = {}
        self._counts: dict[str, int] = {}
        self.legend: dict[str, str] = {}

    def bind(self, key: Any, name: str, make: Callable[[], Any], numbered: bool = False) -> str:
        """The name of what ``key`` stands for, in the namespace of all programs."""
        found = self._named.get(key)
        if found is None:
            found = name
            while numbered or found in self.namespace:
                self._counts[name] = self._counts.get(name, 0) + 1
                found = f"{name}_{self._counts[name]}"
                numbered = False
            self.namespace[found] = make()
            self._named[key] = found
        return found

    def function(self, name: str, value: Any) -> str:
        """The name under which a function of a template is called."""
        return self.bind((name, id(value)), name, lambda: value)

    def kernel_of(self, *nodes: Expr) -> str:
        """The name of the kernel of a node, or of those of one computation.

        Equal ops on equal shapes share one.
        """
        node, parts = nodes[0], tuple([x.op for x in nodes])
        shapes = tuple(x.shape for x in node.args)
        dtypes = (node.dtype, *(x.dtype for x in node.args))
        op = node.op.whole if len(nodes) > 1 and isinstance(node.op, ops.Part) else node.op
        name = re.sub(r"\W", "_", op.name or type(op).__name__.lower())
        make = (lambda: kernel(node)) if op is node.op else (lambda: parts_kernel(nodes))
        found = self.bind((parts, shapes, dtypes), name, make, numbered=True)
        if found not in self.legend:
            text = " and ".join(map(shape_text, shapes))
            if isinstance(node.op, ops.Contract):
                text = f"{explain(node.op, shapes)}, {text}" if text else explain(node.op, shapes)
            values = " and ".join([shape_text(x.shape) for x in nodes])
            self.legend[found] = f"{text} -> {values}"
        return found

    def program(
        self, name: str, params: Sequence[Expr], outputs: Sequence[Expr], flavour: str, doc: str
    ) -> Program:
        """The program ``name`` of values ``params``, and lengths of axes, to ``outputs``."""
        schedule = Schedule(outputs, params)
        writer = _Writer(self, schedule, params, flavour)
        names = [f"v{i + 1}" for i in range(len(params))]
        head = f"def {name}({', '.join([*names, 'sizes'])}):"
        comments = [f"    # {line}" for line in doc.splitlines()]
        return Program(self, name, "\n".join([head, *comments]), writer)

    def entry(
        self,
        name: str,
        program: Program,
        dtypes: Sequence[type],
        cast: Sequence[bool],
        slow: Callable[..., Any],
        *,
        many: bool,
    ) -> Callable[..., Any]:
        """A program of scalars as the function that users call: no layer between them.

        ``cast`` says which results are made floats.  Arguments of other classes than ``dtypes``,
        named ones, and calls in which ``math`` raises go to ``slow``.  The entry
        ``value_and_grad`` returns the first result, then the tuple of the others.
        """
        count = len(dtypes)
        names = [f"v{i + 1}" for i in range(count)]
        texts = [
            text if not wanted else f"{text}.0" if text.lstrip("-").isdigit() else f"float({text})"
            for text, wanted in zip(program.results, cast, strict=True)
        ]
        gradient = name == "value_and_grad"
        head, rest = texts[: 1 if gradient else None], texts[1:]
        value = f"({', '.join(head)},)" if many else head[0]
        result = (
            f"{value}, ({', '.join(rest)}{',' if len(rest) == 1 else ''})" if gradient else value
        )
        keyword = "wrt=None, " if gradient else ""
        plain = "not named and wrt is None" if gradient else "not named"
        passed = "wrt=wrt, **named" if gradient else "**named"
        fallback = self.bind((name, "slow"), f"{name}_checked", lambda: slow)
        if count <= _PARAMETERS:
            missing = self.bind("missing", "missing", object)
            head_line = f"def {name}({''.join(f'{v}={missing}, ' for v in names)}"
            head_line += f"{'/, ' if names else ''}*rest, {keyword}**named):"
            classes = [
                f"{v}.__class__ is {kind.__name__}" for v, kind in zip(names, dtypes, strict=True)
            ]
            tests = " and ".join([plain, "not rest", *classes])
            given = (
                f"*[v for v in ({''.join(f'{v}, ' for v in names)}) if v is not {missing}], *rest"
            )
            unpack = []
        else:
            head_line = f"def {name}(*args, {keyword}**named):"
            kinds = self.bind("classes", "classes", lambda: list(dtypes))
            tests = f"{plain} and [v.__class__ for v in args] == {kinds}"
            given = "*args"
            unpack = [f"{', '.join(names)} = args"]
        body = [*unpack, *program.lines, f"return {result}"]
        source = [
            head_line,
            f"    if {tests}:",
            "        try:",
            *(f"            {line}" for line in body),
            "        except (ValueError, OverflowError, ZeroDivisionError):",
            "            pass",
            f"    return {fallback}({given}, {passed})",
            "",
        ]
        return self.compiled(name, "\n".join(source))

    def compiled(self, name: str, source: str) -> Callable[..., Any]:
        """The function ``name`` that ``source``, written here, defines."""
        found: dict[str, Any] = {}
        exec(compile(source, f"<numeric.lower: {name}>", "exec"), self.namespace, found)
        function: Callable[..., Any] = found[name]
        return function


class _Writer:
    """Writes the lines of one program."""

    def __init__(
        self, emitter: Emitter, schedule: Schedule, params: Sequence[Expr], flavour: str
    ) -> None:
        self.emitter, self.schedule, self.flavour = emitter, schedule, flavour
        self.texts: dict[Expr, Text] = {}
        self.count = 0
        for x in params:
            name = self._fresh()
            self.texts[x] = Text(name, ATOM, (name,))
        self.templates = {x: self._template(x, schedule.spellings[x]) for x in schedule.order}
        # How often a value is read; outputs, arguments of kernels and repeated operands get a line.
        self.uses: dict[Expr, int] = dict.fromkeys(schedule.outputs, 2)
        for node, template in self.templates.items():
            for k, x in enumerate(schedule.spellings[node].operands):
                own_line = template is None or k in template.repeated
                self.uses[x] = self.uses.get(x, 0) + (2 if own_line else 1)

    def _fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def lines(self) -> tuple[list[str], list[str]]:
        """The lines of the body, and the texts of the results."""
        written: list[tuple[list[str], Text]] = []
        for node in self.schedule.order:
            if node in self.texts:  # with another result of its computation
                continue
            whole = integral(node)
            operands = [self._operand(x, whole) for x in self.schedule.spellings[node].operands]
            value = self._written(node, operands)
            results = self.schedule.together.get(node, (node,))
            if len(results) > 1:
                names = [self._fresh() for _ in results]
                written.append((names, value))
                self.texts.update(
                    (x, Text(v, ATOM, (v,))) for x, v in zip(results, names, strict=True)
                )
            elif self.uses.get(node, 0) == 1 and len(value.text) <= _WIDTH and value.depth < _DEPTH:
                self.texts[node] = value
            else:
                name = self._fresh()
                written.append(([name], value))
                self.texts[node] = Text(name, ATOM, (name,))
        outputs = [self._operand(y) for y in self.schedule.outputs]
        kept = frozenset(name for y in outputs for name in y.names)
        return self._freed(written, kept), [y.text for y in outputs]

    def _freed(self, written: Sequence[tuple[list[str], Text]], kept: frozenset[str]) -> list[str]:
        """The lines; arrays are dropped after their last use."""
        if self.flavour == MATH:
            return [f"{', '.join(names)} = {value.text}" for names, value in written]
        own = {name for names, _ in written for name in names} - kept
        lines = []
        for names, value in reversed(written):
            last = [read for read in dict.fromkeys(value.names) if read in own]
            own.difference_update(last)
            if last:
                lines.append(f"del {', '.join(last)}")
            lines.append(f"{', '.join(names)} = {value.text}")
        return lines[::-1]

    def _operand(self, x: Expr, whole: bool = False) -> Text:
        literals = self.schedule.literals
        if x in literals:
            return number_text(literals[x], whole)
        found = self.texts.get(x)
        if found is None:
            found = self.texts[x] = self._leaf(x)
        return found

    def _leaf(self, x: Expr) -> Text:
        if isinstance(x.op, ops.Size):
            return Text(f"sizes[{x.op.name!r}]", ATOM)
        assert isinstance(x.op, ops.Constant)
        value = whole_numbers(x.op.value)
        return Text(self.emitter.bind(x.op, "constant", lambda: value, numbered=True), ATOM)

    def _template(self, node: Expr, how: Spelling) -> Template | None:
        """How ``node`` is written over its operands; None for a call of its kernel."""
        if how.form == "kernel":
            return None
        op = node.op
        if how.form == "sum":
            return Template("", LOOSE, ())  # its text depends on its operands'
        if how.form == "quotient" and node not in self.schedule.static:
            return self._quotient(how)
        if how.form == "monomial":
            return self._monomial(how)
        if node in self.schedule.static:
            if how.form not in ("product", "quotient"):
                return None
            inner = ", ".join(f"{{{k}}}" for k in range(len(how.signs)))
            return Template(f"quotient(({inner},), {how.signs!r})", ATOM, (LOOSE,) * len(how.signs))
        if isinstance(op, ops.Strong):
            return self._strong(op)
        if how.form == "product":
            return _product(how.signs)
        if isinstance(op, ops.Product):
            p = op.exponents[0]
            return self._power(node, p if p > 0 else -p)
        assert isinstance(op, ops.Pointwise)
        if self.flavour == MATH:
            of_arrays(op.formula, op.arity)  # arrays must be possible too: it raises if not
        if self.flavour == MATH and op in _OPERATORS:
            text, needs = _OPERATORS[op]
            return Template(text, LOOSE, needs)
        if how.form == "shifted":
            return self._shifted_power(node)
        printer = NumPyFormulas if self.flavour == NUMPY else MathFormulas
        _, template, calls = printed(op.formula, op.arity, printer)
        names = {old: self.emitter.function(old, f) for old, f in calls.items()}
        if any(old != new for old, new in names.items()):
            pattern = "|".join(rf"\b{re.escape(old)}\b" for old in names)
            text = re.sub(pattern, lambda match: names[match[0]], template.text)
            template = template._replace(text=text)
        return template

    def _strong(self, op: ops.Strong) -> Template:
        if self.flavour == MATH:  # a number minus itself is 0, but for inf and nan
            plain = [f"({{{k}}} or {{{1 - k}}} - {{{1 - k}}} == 0)" for k in (0, 1) if op.kills[k]]
            text = f"{{0}}*{{1}} if {' and '.join(plain)} else 0.0"
            return Template(text, LOOSE, (POWER, POWER), frozenset({0, 1}))
        name = "_".join(["strong", *(str(k) for k in (0, 1) if op.kills[k])])
        multiply = self.emitter.function(name, strong_product(op.kills))
        return Template(f"{multiply}({{0}}, {{1}})", ATOM, (LOOSE, LOOSE))

    def _power(self, node: Expr, p: int | Fraction) -> Template:
        if p == 2:
            return Template("{0}*{0}", PRODUCT, (POWER,), frozenset({0}))
        module: Any = np if self.flavour == NUMPY else math
        if p == Fraction(1, 2):
            return Template(f"{self.emitter.function('sqrt', module.sqrt)}({{0}})", ATOM, (LOOSE,))
        if self.flavour == MATH and node.dtype is int:
            return Template(f"{{0}}**{p}", POWER, (ATOM,))
        name = "power" if self.flavour == NUMPY else "pow"
        power = self.emitter.function(name, getattr(module, name))
        return Template(f"{power}({{0}}, {weak(p)!r})", ATOM, (LOOSE,))

    def _quotient(self, how: Spelling) -> Template:
        signs, count = how.signs, len(how.operands)
        places = places_of_sum(how)
        if self.flavour == NUMPY:
            key = ("quotient", signs, places)
            name = self.emitter.bind(key, "quotient_over", lambda: over_sum(signs, places), True)
            inner = ", ".join(f"{{{k}}}" for k in range(count))
            return Template(f"{name}({inner})", ATOM, (LOOSE,) * count)
        plain, beyond = "", ""
        divisors = "".join(f"/{{{k}}}" for k in range(len(signs), count))
        for k, sign in enumerate(signs):
            factor = f"{'*' if sign > 0 else '/'}{{{k}}}" if k else "{0}"
            plain += factor
            beyond += divisors if k in places else factor
        text = f"{plain} if {{{places[0]}}} < inf else {beyond}"
        return Template(text, LOOSE, (POWER,) * count, frozenset(range(count)))

    def _monomial(self, how: Spelling) -> Template:
        of, count = how.monomial, len(how.operands)
        assert of is not None
        name = self.emitter.bind(of, "monomial", lambda: monomial(of), numbered=True)
        inner = ", ".join(f"{{{k}}}" for k in range(count))
        if self.flavour == NUMPY:
            return Template(f"{name}({inner})", ATOM, (LOOSE,) * count)
        low, high = of.bound() ** -2, of.bound() ** 2
        over = [f"{{{k}}}" for k, p in enumerate(of.exponents) for _ in range(p)]
        under = [f"{{{k}}}" for k, p in enumerate(of.exponents) for _ in range(-p)]
        over = over if of.coef == 1 and over else [number_text(of.coef).within(POWER), *over]
        text = "*".join(over) + (f"/({'*'.join(under)})" if under else "")
        known = [self.schedule.literals.get(x) for x in how.operands]
        ok = [
            f"{low!r} < {{{k}}}*{{{k}}} < {high!r}"
            for k in range(len(of.exponents))
            if (value := known[k]) is None or not low < value * value < high
        ]
        text = f"{text} if {' and '.join(ok)} else float({name}({inner}))"
        return Template(text, LOOSE, (POWER,) * count, frozenset(range(count)))

    def _shifted_power(self, node: Expr) -> Template:
        shift = behind(node.args[1]).op.const  # type: ignore[attr-defined]
        name = self.emitter.bind(("shifted", shift), "shifted_power", lambda: shifted_power(shift))
        power = self.emitter.function("power", special.NUMPY["power"])
        exact = f"{name}({{0}}, {{2}}, {power}({{0}}, {{1}}))"
        twice = frozenset({0, 2})
        if self.flavour == NUMPY:
            return Template(exact, ATOM, (LOOSE,) * 3, twice)
        pow_ = self.emitter.function("pow", math.pow)
        ok = f"{{2}}*{{2}} >= {NEAR**2!r} or {FAR**-2!r} <= {{0}}*{{0}} <= {FAR**2!r}"
        text = f"{pow_}({{0}}, {{1}}) if {ok} else float({exact})"
        return Template(text, LOOSE, (POWER, POWER, POWER), frozenset({0, 1, 2}))

    def _written(self, node: Expr, operands: Sequence[Text]) -> Text:
        names = tuple(dict.fromkeys(name for x in operands for name in x.names))
        depth = 1 + max((x.depth for x in operands), default=0)
        template = self.templates[node]
        if template is None:
            comma = "," if len(operands) == 1 else ""
            inner = ", ".join(x.text for x in operands)
            sizes = "sizes" if self.flavour == NUMPY else "{}"  # scalars have no axes
            together = self.schedule.together.get(node, (node,))
            call = f"{self.emitter.kernel_of(*together)}(({inner}{comma}), {sizes})"
            return Text(call, ATOM, names, depth)
        if isinstance(node.op, ops.Sum) and self.schedule.spellings[node].form == "sum":
            return Text(*_sum(node.op, operands, node.dtype is int), names, depth)
        parts = [x.within(need) for x, need in zip(operands, template.needs, strict=True)]
        return Text(template.text.format(*parts), template.level, names, depth)


@lru_cache(maxsize=64)
def _product(signs: tuple[int, ...]) -> Template:
    if signs[0] > 0:
        rest = "".join(f"{'*' if sign > 0 else '/'}{{{k}}}" for k, sign in enumerate(signs) if k)
        return Template(f"{{0}}{rest}", PRODUCT, (PRODUCT,) + (POWER,) * (len(signs) - 1))
    return _DIVIDED[signs]


_DIVIDED = {
    (-1, 1): Template("{1}/{0}", PRODUCT, (POWER, PRODUCT)),
    (-1, -1): Template("1/({0}*{1})", PRODUCT, (PRODUCT, POWER)),
    (-1,): Template("1/{0}", PRODUCT, (POWER,)),
}
