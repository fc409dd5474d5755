"""LaTeX notation; SymPy prints the formulas of functions."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import sympy as sp

from symdiff.display.forms import length_of
from symdiff.display.notation import (
    ATOM,
    COMPARE,
    MATRIX,
    NOT,
    POWER,
    PRODUCT,
    SUM,
    Notation,
    Piece,
    decimal,
)
from symdiff.graph import ops
from symdiff.graph.lengths import Length
from symdiff.scalars.formula import kernel_symbol, plain
from symdiff.scalars.vocabulary import FACTS, ScalarFunction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symdiff.display.forms import Condition
    from symdiff.display.matrices import Chain
    from symdiff.graph.expr import Expr
    from symdiff.graph.lengths import Atom
    from symdiff.graph.node import Op
    from symdiff.graph.number import Number

# The longest names, numbers and formulas that are shown complete.
_NAME = 40
_DIGITS = 60
_FORMULA = 400

ALIGN = "\x00"  # where the lines are aligned
BREAK = "\x01"  # where a line is broken

# Names and data -----------------------------------------------------------------------------------

# SymPy's form of a name is used only if it is unambiguous: x_{1}, \alpha, \mathrm.
_PLAIN_NAME = re.compile(r"(\\?[^\W\d_]+)(_\{\w+\})?")
_ESCAPES = {
    **{sign: "\\" + sign for sign in "{}_$#%&"},
    **{"\\": r"\backslash{}", "^": r"\wedge{}", "~": r"\sim{}", " ": r"\ "},
    **{"'": r"\text{'}", '"': r'\text{"}'},
    **{"<": r"\lt{}", ">": r"\gt{}"},  # safe if a page includes it as HTML
}
_LEFT_OUT = "..."
_NUMBERS = re.compile(r"[0-9():, -]+")  # shapes, slices


def verbatim(text: str) -> str:
    """``text`` verbatim, in typewriter type."""
    escaped = "".join(_ESCAPES.get(c, c) for c in text if c.isprintable())
    return rf"\mathtt{{{escaped}}}"


def _typeset_name(name: str) -> str | None:
    """The name as a letter with an index, or None; SymPy reads Greek letters and indices."""
    match = _PLAIN_NAME.fullmatch(sp.latex(sp.Symbol(name))) if name.isidentifier() else None
    if match is None:
        return None
    letters, index = match.group(1), match.group(2) or ""
    # A word in upright type, so that it does not read as a product.
    return (
        letters if len(letters) == 1 or letters[0] == "\\" else rf"\mathrm{{{letters}}}"
    ) + index


# Functions ----------------------------------------------------------------------------------------

_COMMANDS = {
    **{name: "\\" + name for name in ("det", "max", "min", "log", "exp", "sinh", "cosh", "tanh")},
    "eigvalsh": r"\lambda",
    "trace": r"\operatorname{tr}",
    "diagonal": r"\operatorname{diag}",
    "eigvecs": r"\operatorname{eigenvectors}",
    "digamma": r"\psi",
    "log2": r"\log_{2}",
    "log10": r"\log_{10}",
    "detsign": r"\operatorname{sign}\det",
    "qr": r"\operatorname{Q}",
    "qr_r": r"\operatorname{R}",
    "left_singular_vectors": r"\operatorname{U}",
    "right_singular_vectors": r"\operatorname{V}",
    "svdvals": r"\sigma",
}
_SIGNS = {"<": "<", ">": ">", "<=": r"\leq", ">=": r"\geq", "==": "=", "!=": r"\neq"}
_SIGNS |= {"and": r"\wedge", "or": r"\vee"}
# Functions with powers of the form sin^{2}(x).
_POWERS = re.compile(r"(\\(?!left|sqrt|frac)[A-Za-z]+(?:\{[A-Za-z0-9\\_]*\})?)(\{?\\left\()")
_DERIVATIVE = "_derivative"
_PLACE = re.compile("\ue000([0-9]+)\ue001")


def _with_exponent(text: str, n: int) -> str:
    return text if n == 1 else f"{text}^{{{n}}}"


@lru_cache(maxsize=1 << 10)
def _template(formula: sp.Expr, arity: int) -> tuple[str, int] | None:
    """SymPy's LaTeX of a formula with marks for its operands, and its precedence.

    The vocabulary is written in SymPy's classes.  None for a formula nested too deeply for SymPy.
    """
    formula = plain(formula)
    marks = {kernel_symbol(k): f"\ue000{k}\ue001" for k in range(arity)}
    try:
        text: str = sp.latex(formula, symbol_names=marks)
    except RecursionError:
        return None
    if isinstance(formula, sp.Piecewise) or formula.has(sp.Mod):
        return text, COMPARE
    if formula.is_Add or text.startswith("-"):
        return text, SUM
    if formula.is_Mul or (formula.is_Rational and not formula.is_Integer) or formula.is_Float:
        return text, PRODUCT
    if formula.is_Pow or isinstance(formula, sp.exp):
        return text, POWER
    closed = isinstance(formula, sp.Function | sp.Max | sp.Min) or formula.is_Atom
    return text, ATOM if closed else COMPARE


class Latex(Notation):
    """LaTeX; it remembers the names that it used, so that no two objects look the same."""

    nodes, fits, long = 300, 84, 76  # limits of MathJax and the width of a notebook
    across, gap = 84, 2

    def __init__(self, full: bool) -> None:
        self.full = full
        self.shown: dict[str, str] = {_LEFT_OUT: r"\ldots", "": ""}
        self.owner: dict[str, str | tuple[str, str] | None] = {"e": None, r"\pi": None}

    # Names and numbers

    def name(self, name: str) -> str:
        typeset = self.shown.get(name)
        if typeset is None and not name.isidentifier():
            typeset = self.shown[name] = self._program_name(name)
        if typeset is None:
            typeset = _typeset_name(name)
            if typeset is None or self.owner.setdefault(_visible_text(typeset), name) != name:
                typeset = verbatim(name)
            if len(typeset) > _NAME and not self.full:
                typeset = verbatim(name[:_NAME]) + r"\ldots"
            self.shown[name] = typeset
        return typeset

    def _program_name(self, name: str) -> str:
        """A name of ``programs``: a solution ``x*``, an element ``b[k]``, a value ``u(2)``."""
        match = _PROGRAM_NAME.fullmatch(name)
        if match is None:
            return verbatim(name)
        stem, mark, place, argument = match.groups()
        text = self.name(stem)
        if mark == "*":
            return rf"{text}^\ast"
        text += mark or ""
        if place is not None:
            return self._subscript(Piece(text), self._place(place))
        return text if argument is None else rf"{text}\left({self._argument(argument)}\right)"

    def _place(self, text: str) -> str:
        """An index, such as ``k + 1``."""
        return _WORD.sub(lambda word: self.name(word.group()), text).replace(" ", "")

    def _argument(self, text: str) -> str:
        """A time: a number, a name or an element."""
        try:
            return self.number(int(text) if text.lstrip("-").isdigit() else float(text)).text
        except ValueError:
            return self.name(text)

    def length(self, text: str) -> Piece:
        if text.isidentifier():
            return Piece(self.name(text))
        (monomial, c), *further = Length(text).terms
        if further or c != 1:
            return self.index(length_of(Length(text)))
        factors = [self.power(self._atom(atom), power) for atom, power in monomial]
        return factors[0] if len(factors) == 1 else self.quotient(1, factors, ())

    def _atom(self, atom: Atom) -> Piece:
        """A name, or an integer quotient."""
        if isinstance(atom, str):
            return Piece(self.name(atom))
        over = self.index(length_of(atom.over)).text
        return Piece(rf"\left\lfloor \frac{{{over}}}{{{atom.by}}} \right\rfloor")

    def exact(self, name: str, taken: bool) -> str:
        return {"pi": r"\pi"}.get(name, name)

    def literal(self, text: str) -> str:
        if text == _LEFT_OUT:
            return r"\ldots"
        if _NUMBERS.fullmatch(text):
            return text.replace("(", r"\left(").replace(")", r"\right)")
        if len(text) > _FORMULA and not self.full:
            return verbatim(text[:_FORMULA]) + r"\ldots"
        if text.startswith("(") and text.endswith(")"):  # a shape
            lengths = [self._length(part.strip()) for part in text[1:-1].split(",") if part]
            comma = "," if len(lengths) == 1 else ""
            return rf"\left({', '.join(lengths)}{comma}\right)"
        return verbatim(text)

    def number(self, c: Number) -> Piece:
        if isinstance(c, float):
            return self._float(c)
        if c.denominator != 1:
            sign = "-" if c < 0 else ""
            over = self._integer(abs(c.numerator))
            text = rf"{sign}\frac{{{over.text}}}{{{self._integer(c.denominator).text}}}"
            return Piece(text, SUM if c < 0 else PRODUCT)
        return self._integer(c.numerator)

    def _float(self, c: float) -> Piece:
        mantissa, _, exponent = repr(c).partition("e")
        text = {"inf": r"\infty", "-inf": r"-\infty", "nan": r"\text{NaN}"}.get(mantissa, mantissa)
        if exponent:
            text += rf" \cdot 10^{{{int(exponent)}}}"
        return Piece(text, SUM if text.startswith("-") else PRODUCT if exponent else ATOM)

    def _integer(self, value: int) -> Piece:
        level = SUM if value < 0 else ATOM
        text = str(Decimal(value))  # str() refuses ints of more than 4300 digits
        if len(text) <= _DIGITS or self.full:
            return Piece(text, level)
        length = len(text.lstrip("-"))
        return Piece(rf"{text[:10]}\ldots\text{{[{length} digits]}}", level)

    # Arithmetic

    def wrapped(self, piece: Piece, level: int) -> str:
        return piece.text if piece.level >= level else rf"\left({piece.text}\right)"

    def power(self, base: Piece, exponent: int | Fraction) -> Piece:
        if exponent == 1:
            return base
        if exponent == sp.S.Half and base.ndim < 2:
            return Piece(rf"\sqrt{{{base.text}}}", ndim=base.ndim)
        return self._raise_to(base, self.number(decimal(exponent)).text)

    def powers(self, piece: Piece, p: int | Fraction) -> Piece:
        if p > 0 or not piece.ndim:
            return super().powers(piece, p)
        return self._raise_to(piece, self.number(decimal(p)).text)

    def general_power(self, base: Piece, exponent: Piece) -> Piece:
        return self._raise_to(base, exponent.text)

    def _raise_to(self, base: Piece, exponent: str) -> Piece:
        function = _POWERS.match(base.text) if base.level == ATOM else None
        if function is not None and exponent.startswith("-"):  # \sin^{-1} is the inverse function
            base = Piece(rf"\left({base.text}\right)", ndim=base.ndim)
        elif function is not None:
            name = function.group(1)
            text = rf"{name}^{{{exponent}}}{base.text[len(name) :]}"
            return Piece(text, POWER, ndim=base.ndim)
        sign = r"\odot " if base.ndim else ""
        text = rf"{self.wrapped(base, ATOM)}^{{{sign}{exponent}}}"
        return Piece(text, POWER, ndim=base.ndim, leaf=base.leaf)

    def quotient(self, c: Number, factors: Sequence[Piece], divisors: Sequence[Piece]) -> Piece:
        over, under = (c, 1) if isinstance(c, float) else (c.numerator, c.denominator)
        if any(piece.ndim or piece.open for piece in factors):
            factors, divisors = self.unfolded(factors, divisors)
        arrays = [piece for piece in factors if piece.ndim]
        below = [piece for piece in divisors if piece.ndim]
        body = self._elementwise(arrays, below) if arrays or below else None
        front = [self.number(over)] if over != 1 else []
        scalars = [piece for piece in factors if not piece.ndim]
        if body:  # brackets, or the array would read as a summand
            scalars = [Piece(self.wrapped(x, ATOM)) if x.open else x for x in scalars]
        front += [piece for piece in scalars if not piece.open]
        last = [body] if body else [piece for piece in scalars if piece.open]
        under_all = [self.number(under)] if under != 1 else []
        under_all += [piece for piece in divisors if not piece.ndim]
        ndim = body.ndim if body else 0
        split = (tuple(factors), tuple(divisors)) if c == 1 else ((), ())
        if not under_all:
            unbroken = [*front, *last] or [self.number(1)]
            if len(unbroken) == 1:
                return unbroken[0]
            level = MATRIX if unbroken[-1].level == MATRIX else PRODUCT
            opened = not body and bool(last)
            parts = tuple(self._factors(unbroken))
            return Piece(" ".join(parts), level, *split, open=opened, ndim=ndim, terms=parts)
        if last and (len(last) > 1 or last[0].open or len(arrays) > 1 or last[0].level == MATRIX):
            top = self._product(front) if front else "1"
            rest = self._product(last)
            if len(last) == 1 and last[0].level < MATRIX:
                rest = self.wrapped(last[0], MATRIX)
            text = rf"\frac{{{top}}}{{{self._product(under_all)}}} {rest}"
            return Piece(text, PRODUCT, *split, open=last[0].open, ndim=ndim)
        top = self._product([*front, *last] or [self.number(1)])
        return Piece(rf"\frac{{{top}}}{{{self._product(under_all)}}}", PRODUCT, *split, ndim=ndim)

    def _elementwise(self, factors: Sequence[Piece], divisors: Sequence[Piece]) -> Piece:
        """The elementwise product of arrays, divided by others."""
        ndim = max(piece.ndim for piece in (*factors, *divisors))
        if not factors:
            return self._raise_to(self._elementwise(divisors, ()), "-1")
        if len(factors) == 1 and not divisors:
            return factors[0]
        text = r" \odot ".join(self.wrapped(piece, POWER) for piece in factors)
        if divisors:
            under = self._elementwise(divisors, ())
            text = rf"{text} \oslash {self.wrapped(under, POWER)}"
        return Piece(text, PRODUCT, ndim=ndim)

    def _product(self, pieces: Sequence[Piece]) -> str:
        return " ".join(self._factors(pieces))

    def _factors(self, pieces: Sequence[Piece]) -> list[str]:
        if len(pieces) == 1:
            return [pieces[0].text]
        texts: list[str] = []
        for k, piece in enumerate(sorted(pieces, key=lambda piece: piece.open)):
            last = k == len(pieces) - 1
            closed = piece.level >= (MATRIX if last else PRODUCT) and (not piece.open or last)
            text = piece.text if closed else rf"\left({piece.text}\right)"
            # Without a dot, 2 2^x and 2 1/x would read as other numbers.
            dot = bool(texts) and (text[0].isdigit() or text.startswith(r"\frac"))
            texts.append(rf"\cdot {text}" if dot else text)
        return texts

    def scaled(self, c: Number, piece: Piece) -> Piece:
        if c == 1:
            return piece
        if piece.chain or not (piece.factors or piece.divisors):
            return self.quotient(c, (piece,), ())
        return self.quotient(c, piece.factors, piece.divisors)

    def negative(self, c: Number, piece: Piece) -> str:
        return f"-{self.wrapped(self.scaled(c, piece), MATRIX)}"

    def sum(
        self,
        terms: Sequence[tuple[Number, Piece | None]],
        cut: bool = False,
        ndim: int = 0,
        in_order: bool = False,
    ) -> Piece:
        if ndim:
            terms = [
                (c, self.filled(piece or self.number(1), None if piece else 1, "", ndim))
                if piece is None or not piece.ndim
                else (c, piece)
                for c, piece in terms
            ]
        return super().sum(terms, cut, in_order=in_order)

    # Logic and functions

    def infix(self, sign: str, level: int, a: Piece, b: Piece) -> Piece:
        plain = super().infix(_SIGNS[sign], level, a, b)
        return Piece(plain.text, level)

    def negation(self, a: Piece) -> Piece:
        return Piece(rf"\neg {self.wrapped(a, POWER)}", NOT)

    def function(self, op: ops.Pointwise, operands: Sequence[Piece]) -> Piece:
        texts = [piece.text for piece in operands]
        if op.name == "where":
            c, a, b = operands
            return self._cases([(a.text, c.text)], b)
        if op.primitive:
            facts = FACTS[op.name]
            if issubclass(facts, ScalarFunction):
                if op.name.endswith(_DERIVATIVE):
                    return self._derivative(op.name, facts.orders, texts)
                if not facts.drawn:
                    return self.call(op.name, operands)
        template_and_level = _template(op.formula, op.arity)
        if template_and_level is None or (len(template_and_level[0]) > _FORMULA and not self.full):
            return self.call(op.name, operands)
        template, level = template_and_level
        if not op.primitive:
            texts = [self.wrapped(piece, ATOM) for piece in operands]
        return Piece(_PLACE.sub(lambda place: texts[int(place.group(1))], template), level)

    def unknown(self, op: ops.Unknown, arguments: Sequence[Piece], separate: bool) -> Piece:
        head = self.name(op.name)
        inner = rf"\left({', '.join(piece.text for piece in arguments)}\right)"
        several = len(op.orders) > 1 and any(op.orders)
        if not several:
            mark = op.mark if not op.mark.startswith("^") else f"^{{({op.orders[0]})}}"
            return Piece(f"{head}{mark}{inner}")
        by = list(zip(op.orders, arguments, strict=False))
        if separate and len(arguments) == len(op.orders):
            above = _with_exponent(r"\partial", sum(op.orders))
            below = [rf"\partial {_with_exponent(x.text, n)}" for n, x in by if n]
            fraction = rf"\frac{{{above} {head}}}{{{' '.join(below)}}}"
            return Piece(fraction + inner, POWER)
        signs = [_with_exponent(rf"\partial_{{{k}}}", n) for k, n in enumerate(op.orders, 1) if n]
        return Piece(f"{' '.join(signs)} {head}{inner}", POWER)

    def integral(self, body: Piece, x: Piece, a: Piece, b: Piece) -> Piece:
        inner = self.wrapped(body, PRODUCT)
        return Piece(rf"\int_{{{a.text}}}^{{{b.text}}} {inner} \, d{x.text}", POWER)

    def _derivative(self, name: str, orders: int, texts: list[str]) -> Piece:
        """A derivative of a function, with its leading orders as exponent: f^{(2)}(x)."""
        head = self._head(name[: -len(_DERIVATIVE)])
        order, inner = ", ".join(texts[:orders]), ", ".join(texts[orders:])
        return Piece(rf"{head}^{{\left({order}\right)}}\left({inner}\right)")

    def call(self, name: str, arguments: Sequence[Piece], *literals: str) -> Piece:
        x = arguments[0] if arguments else Piece("")
        if len(arguments) == 1 and not literals:
            if name == "inv":
                return self.inverse(x)
            if name == "logabsdet":
                # An exponent to the right of |det A| would read as inside of the logarithm.
                return Piece(rf"\log\left|\det {self.wrapped(x, POWER)}\right|", POWER)
            if name == "expm":
                return Piece(rf"e^{{{x.text}}}", POWER, ndim=2)
        if len(arguments) > 1 and name in ("expm", "logm"):
            order = f"^{{{len(arguments) - 1}}}" if len(arguments) > 2 else ""
            along = ", ".join(piece.text for piece in arguments[1:])
            text = rf"D{order} {self._head(name)}\left({x.text}\right)\left[{along}\right]"
            return Piece(text, PRODUCT)
        if name == "solve" and len(arguments) == 2:
            return self.multiplied([self.inverse(x), arguments[1]], arguments[1].ndim)
        texts = [piece.text for piece in arguments]
        return Piece(
            rf"{self._head(name)}\left({', '.join([*texts, *map(self.literal, literals)])}\right)"
        )

    def _head(self, name: str) -> str:
        head = _COMMANDS.get(name)
        if head is None:
            escaped = "".join(_ESCAPES.get(c, c) for c in name)
            # In an operator's name, digits and signs would be set as in formulas, with space.
            head = rf"\operatorname{{{escaped}}}" if name.isalpha() else rf"\mathrm{{{escaped}}}"
        return head

    # Indices and elements

    def element(self, array: Piece, index: Sequence[Piece]) -> Piece:
        places = ",".join(piece.text for piece in index)
        if index and array.text.endswith(r"^\ast"):
            return Piece(f"{array.text}_{{{places}}}", POWER, leaf=True)
        if index and array.leaf and (value := _VALUE.fullmatch(array.text)):
            inner = self.element(replace(array, text=value.group(1)), index)
            return replace(inner, text=inner.text + value.group(2))
        return Piece(self._subscript(array, places), leaf=array.leaf) if index else array

    def _subscript(self, array: Piece, places: str) -> str:
        """The array with an index added to the subscripts of its name; never ambiguous."""
        owner = self.owner.get(_visible_text(array.text)) if array.leaf else None
        if isinstance(owner, tuple):  # an element of the element a_k is a_{k,0}
            base, before = owner
            return self._subscript(Piece(base, leaf=True), f"{before},{places}")
        named = _INDEXED.fullmatch(array.text)
        if named is not None:
            below = f"{named.group(2)},{places}"
            text = rf"{named.group(1)}_{{{below}}}"
            if self.owner.setdefault(_visible_text(text), (array.text, places)) == (
                array.text,
                places,
            ):
                return text
        scripted = array.level < ATOM or "_" in array.text or "^" in array.text
        base = rf"\left({array.text}\right)" if scripted else array.text
        text = rf"{base}_{places}" if len(places) == 1 else rf"{base}_{{{places}}}"
        if self.owner.setdefault(_visible_text(text), (array.text, places)) != (array.text, places):
            text = rf"{base}_{{[{places}]}}"
        return text

    def sliced(self, x: Piece, steps: Sequence[int | str], ndim: int) -> Piece:
        shown = [str(step).replace(" ", "") for step in steps]
        if all(step == ":" for step in shown):
            return x
        return Piece(self._subscript(x, ",".join(map(self._step, shown))), ndim=ndim)

    def _step(self, step: str) -> str:
        """An entry of a key: a list of indices, or the ends of a slice."""
        if step.startswith("["):
            return self.table(step).text
        return ":".join(end and self._length(end) for end in step.split(":"))

    def _length(self, text: str) -> str:
        """An int or a length, as a user types it."""
        if text.removeprefix("-").isdigit():
            return text
        try:
            return self.index(length_of(Length(text))).text
        except ValueError:
            return verbatim(text)

    def _at(self, x: Piece, places: Sequence[str]) -> str:
        return self._subscript(x, ",".join(places))

    def table(self, text: str) -> Piece:
        return Piece(self.literal(text.replace("[", "(").replace("]", ")")))

    def sign(self, sign: str) -> str:
        return _SIGNS[sign]

    def condition(self, c: Condition) -> Piece:
        return Piece(rf"\left[{self.comparison(c).text}\right]")

    def bracket(self, left: Piece, sign: str, right: Piece) -> Piece:
        return Piece(rf"\left[{left.text} {self.sign(sign)} {right.text}\right]")

    def sum_over(self, letters: Sequence[Piece], body: Piece) -> Piece:
        inner = body.text if body.level >= MATRIX or body.cells else self.wrapped(body, PRODUCT)
        text = rf"\sum_{{{','.join(k.text for k in letters)}}} {inner}"
        return Piece(text, PRODUCT, open=True)

    def product_over(self, condition: Piece, body: Piece) -> Piece:
        return Piece(rf"\prod_{{{condition.text}}} {self.wrapped(body, POWER)}", PRODUCT, open=True)

    def cases(self, pieces: Sequence[Piece], conditions: Sequence[Piece]) -> Piece:
        rows = list(zip(pieces, conditions, strict=False))
        *_, last = pieces
        cells = [(piece.text, condition.text) for piece, condition in rows]
        return self._cases(cells, last)

    def _cases(self, cells: list[tuple[str, str]], last: Piece) -> Piece:
        """Alternatives; the last one applies otherwise."""
        parts = last.cells if last.level == COMPARE and last.cells else ()
        rows = tuple(Piece(rf"{a} & \text{{for}}\: {c}") for a, c in cells)
        rows += parts or (Piece(rf"{last.text} & \text{{otherwise}}"),)
        body = r" \\ ".join(piece.text for piece in rows)
        return Piece(rf"\begin{{cases}} {body} \end{{cases}}", COMPARE, cells=rows)

    # Arrays

    by_index = True

    def is_elementwise(self, op: Op, ndim: int) -> bool:
        # exp(A) of a matrix would read as the matrix exponential.
        return ndim == 1 or (ndim == 2 and not isinstance(op, ops.Pointwise))

    def is_product(self, chain: Chain, operands: Sequence[Expr], ndim: int) -> bool:
        if chain.trace:
            return True
        if ndim:
            plain = all(isinstance(x.op, ops.Symbol | ops.Opaque | ops.Slice) for x in operands)
            return plain or (chain.left != () and chain.right != ())
        return chain.left != () and chain.right != ()

    def filled(
        self, piece: Piece, value: Number | None, shape: str, ndim: int, integer: bool = False
    ) -> Piece:
        if value == 0:
            return Piece(r"\mathbf{0}", ndim=ndim)
        ones = [Piece(r"\mathbf{1}", ndim=1)]
        body = ones[0] if ndim == 1 else self.outer(*ones * 2)
        if ndim > 2:
            body = Piece(r"\mathbf{1}", ndim=ndim)
        return body if value == 1 else self.times(piece, body)

    def repeated(self, piece: Piece, axis: int, shape: str, elementwise: bool) -> Piece:
        ones = Piece(r"\mathbf{1}", ndim=1)
        return self.outer(piece, ones) if axis == 0 else self.outer(ones, piece)

    def outer(self, u: Piece, v: Piece) -> Piece:
        return self.multiplied([*(u.chain or (u,)), self._transposed_column(v)], 2)

    def _row(self, v: Piece) -> Piece:
        """A vector as a row."""
        return self._transpose_matrix(replace(v, ndim=2)) if v.ndim < 2 else self.transposed(v)

    def transposed(self, x: Piece) -> Piece:
        if x.symmetric:
            return x
        if x.flipped is not None:
            return replace(x.flipped, flipped=x)
        if x.chain:
            parts = [self._row(y) for y in reversed(x.chain)]
            return self.multiplied(parts, x.ndim)
        return x if x.ndim < 2 else self._transpose_matrix(x)

    def _transpose_matrix(self, x: Piece) -> Piece:
        if x.text.endswith("^{-1}") and x.level >= POWER:
            return Piece(
                x.text[: -len("^{-1}")] + r"^{-\top}", POWER, ndim=2, flipped=x, turned=True
            )
        return Piece(rf"{_base(x)}^\top", POWER, ndim=2, flipped=x, turned=True)

    def inverse(self, x: Piece) -> Piece:
        """The inverse of a matrix; for a transpose, the transpose of the inverse."""
        if x.flipped is not None:
            return self._transpose_matrix(self.inverse(x.flipped))
        return Piece(rf"{_base(x)}^{{-1}}", POWER, ndim=2)

    def diagonal(self, x: Piece, ndim: int) -> Piece:
        piece = self.call("diagonal", [x]).of(ndim)
        return replace(piece, symmetric=True) if ndim == 2 else piece

    def identity(self, length: str) -> Piece:
        piece = Piece("I" if self.owner.setdefault("I", None) is None else r"\mathbf{I}", ndim=2)
        return replace(piece, symmetric=True)

    def multiplied(self, parts: Sequence[Piece], ndim: int) -> Piece:
        factors = [y for x in parts for y in (x.chain if x.level == MATRIX and x.chain else (x,))]
        if len(factors) == 1:
            return factors[0]
        texts = [self.wrapped(x, POWER) for x in factors]
        return Piece(" ".join(texts), MATRIX, ndim=ndim, chain=tuple(factors))

    def chained(
        self,
        left: Sequence[Piece] | None,
        factors: Sequence[Piece],
        right: Sequence[Piece] | None,
        same: bool,
    ) -> Piece:
        ones = Piece(r"\mathbf{1}", ndim=1)
        ends = [
            None if side is None else self.weights(side) if side else ones for side in (left, right)
        ]
        ndim = ends.count(None)
        if not factors:
            (u, v) = ends
            assert u is not None
            assert v is not None
            return self.dot(u, v, same)
        row = [] if ends[0] is None else [self._row(ends[0])]
        column = [] if ends[1] is None else [ends[1]]
        return self.multiplied([*row, *factors, *column], ndim)

    def dot(self, u: Piece, v: Piece, same: bool) -> Piece:
        if same:
            return replace(self.power(self._norm(u, ""), 2), root=self._norm(u, ""))
        choices = [self.multiplied([self._transposed_column(a), b], 0) for a, b in ((u, v), (v, u))]
        return min(choices, key=self.transposes)

    def _transposed_column(self, x: Piece) -> Piece:
        if not x.chain:
            return self._row(x)
        return self.multiplied([self._row(y) for y in reversed(x.chain)], 2)

    def traced(self, factors: Sequence[Piece], same: bool) -> Piece:
        if same and factors[0].turned != factors[1].turned:
            x = factors[1] if factors[0].turned else factors[0]
            norm = self._norm(x, "_F")
            return replace(self.power(norm, 2), root=norm)
        return self.call("trace", [self.multiplied(factors, 2)])

    def norm(self, square: Piece) -> Piece:
        return self.power(square, Fraction(1, 2)) if square.root is None else square.root

    def _norm(self, x: Piece, kind: str) -> Piece:
        return Piece(rf"\left\lVert {x.text} \right\rVert{kind}")

    def stack(self, pieces: Sequence[Piece], ndim: int, cut: bool = False) -> Piece:
        shown = [*pieces, *[Piece(r"\vdots")] * cut]
        rows = []
        for piece in shown:
            if piece.cells and piece.ndim == 1:
                rows.append(" & ".join(cell.text for cell in piece.cells))
            else:
                rows.append(self._row(piece).text if piece.ndim == 1 else piece.text)
        body = r" \\ ".join(rows)
        return Piece(rf"\begin{{bmatrix}} {body} \end{{bmatrix}}", ndim=ndim, cells=tuple(shown))

    def joined(self, pieces: Sequence[Piece], axis: int, ndim: int) -> Piece:
        sign = r" \\ " if axis == 0 else " & "
        if ndim > 2:
            return super().joined(pieces, axis, ndim)
        body = sign.join(piece.text for piece in pieces)
        return Piece(rf"\begin{{bmatrix}} {body} \end{{bmatrix}}", ndim=ndim)

    # Lines

    def width(self, line: str) -> int:
        """The visible characters of the widest row of matrices and cases."""
        seen = _UNSEEN.sub("", line)
        seen = _COMMAND.sub("x", seen)
        return max(len(row) for row in re.split(rf"\\\\|{BREAK}", seen))

    def line(self, name: str, letters: Sequence[str], body: Piece) -> str:
        if not name:
            return ALIGN + self._break_lines(body, letters)
        left = self.name(name)
        return f"{left} {ALIGN}= {self._break_lines(body, letters)}"

    def _break_lines(self, body: Piece, letters: Sequence[str]) -> str:
        """The right side, in several rows if a sum or product is too wide for one."""
        if letters:
            return self._array_of_elements(body, letters)
        if not body.terms or self.full or self.width(body.text) <= self.fits:
            return body.text
        rows: list[list[str]] = [[]]
        taken = 0
        for term in body.terms:
            size = self.width(term) + 1
            if rows[-1] and taken + size > self.fits:
                rows.append([])
                taken = 0
            rows[-1].append(term)
            taken += size
        return BREAK.join(" ".join(row) for row in rows)

    def _array_of_elements(self, body: Piece, letters: Sequence[str]) -> str:
        """The array with the elements ``body``."""
        return rf"\left[{body.text}\right]_{{{','.join(letters)}}}"

    stars = True

    def words(self, text: str) -> str:
        return rf"\text{{{text}}}"

    def remark(self, text: str) -> str:
        escaped = "".join(c if c == " " else _ESCAPES.get(c, c) for c in text if c.isprintable())
        return rf"\text{{{escaped}}}"

    def relation(self, pieces: Sequence[Piece]) -> str:
        return " ".join(piece.text.replace(ALIGN, "") for piece in pieces)

    def relation_sign(self, sign: str) -> str:
        return sign

    def zero_side(self, ndim: int) -> Piece:
        return Piece(r"= \mathbf{0}" if ndim else "= 0")

    def partial(self, function: str, by: Sequence[tuple[str, int]]) -> str:
        above = _with_exponent(r"\partial", sum(n for _, n in by))
        below = " ".join(rf"\partial {_with_exponent(self.name(x), n)}" for x, n in by)
        return rf"\frac{{{above} {self.name(function)}}}{{{below}}}"

    def values(self, index: str, first: str, last: str) -> str:
        return f"{self.name(index)} = {self._from_to(first, last, chr(92) + 'ldots')}"

    def clause(self, word: str, parts: Sequence[str], values: str | None) -> str:
        every = [*parts, *([values] if values else [])]
        return rf"\text{{{word}}}\quad " + r", \; ".join(every)

    def one_line(self, lines: Sequence[str]) -> str:
        line, *parts = [x.replace(ALIGN, "") for x in lines]
        return rf"{line} \text{{ with }} " + r", \; ".join(parts) if parts else line

    def matrix(self, cells: Sequence[Sequence[str]]) -> list[str]:
        body = r" \\ ".join(" & ".join(row) for row in cells)
        return [rf"\begin{{bmatrix}} {body} \end{{bmatrix}}"]

    def cut(self, shown: int, extent: str) -> str:
        escaped = "".join(c if c == " " else _ESCAPES.get(c, c) for c in extent if c.isprintable())
        return rf"\text{{({shown:,} of {escaped} are shown)}}"


# A name with an index.
_INDEXED = re.compile(r"(\\?[A-Za-z]+)_\{([\w+-]+)\}")
# The value of a function at a time.
_VALUE = re.compile(r"(.+?)(\\left\(.*\\right\))")
_PROGRAM_NAME = re.compile(r"(\w+)(\*|'+)?(?:\[(.+)\]|\((.+)\))?")
_WORD = re.compile(r"[^\W\d]\w*")
_UNSEEN = re.compile(
    r"\\left|\\right|\\(?:begin|end)\{\w+\}|\\[,:; ]|[{}_^&\s]|\\text|\\operatorname|\\math\w+"
)
_COMMAND = re.compile(r"\\[A-Za-z]+")


def _base(x: Piece) -> str:
    """A matrix before an exponent, in brackets if it has an exponent or needs them."""
    closed = x.level == ATOM and "^" not in x.text.rpartition(")")[2]
    closed = closed or (x.level == ATOM and bool(x.cells) and x.text.endswith("{bmatrix}"))
    return x.text if closed else rf"\left({x.text}\right)"


def _visible_text(text: str) -> str:
    """The visible text, without braces."""
    return text.replace("{", "").replace("}", "")
