"""Expressions as LaTeX, in index notation; the formulas of functions are SymPy's to print."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING

import sympy as sp

from symdiff.display.notation import (
    ATOM,
    COMPARE,
    NOT,
    POWER,
    PRODUCT,
    SUM,
    Notation,
    Piece,
    decimal,
)
from symdiff.display.printing import complete, excerpt
from symdiff.leaves import as_expr
from symdiff.scalar import kernel_symbol, plain
from symdiff.vocabulary import FACTS, ScalarFunction

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from fractions import Fraction

    from symdiff import ops
    from symdiff.expr import Expr
    from symdiff.number import Number

__all__ = ["latex", "markup"]

# What is shown of a large expression.
_NODES = 300
_OPERANDS = 30
_CHARACTERS = 20_000
_COUNTED = 10_000  # nodes up to which those left out are counted
_NAME = 40
_DIGITS = 60
_FORMULA = 400


def latex(expr: Expr, full: bool = False) -> str:
    r"""``expr`` as LaTeX, in the index notation of ``str``, without dollar signs.

    Subexpressions that are used again, and long ones, have names and lines of their own, as in
    ``str``.  Of a large expression the part next to the result is shown, as ``\ldots`` what is
    left out, and the last line says how many nodes those are.  The commands are those of amsmath.

    Args:
        expr: an expression.
        full: whether to show everything, however large.

    >>> import symdiff as sd
    >>> x, y = sd.symbols("x y")
    >>> print(latex(x**2 / (2 * sd.sin(y) ** 2)))
    \frac{x^{2}}{2 \sin^{2}{\left(y \right)}}
    """
    expr = as_expr(expr)
    if full:
        return _joined(complete(expr, _Latex(full=True)))
    most = _NODES
    while True:
        lines, shown = excerpt(expr, _Latex(full=False), most, _OPERANDS)
        if most == 1 or sum(map(len, lines)) <= _CHARACTERS:
            break
        most //= 2
    total = _counted(expr)
    if total > shown:
        more = f"{total - shown:,}" if total <= _COUNTED else f"more than {_COUNTED - shown:,}"
        lines.append(rf"\text{{({more} nodes are not shown)}}")
    return _joined(lines)


def markup(expr: Expr) -> str:
    r"""``latex(expr)`` between dollar signs, as notebooks display it.

    >>> import symdiff as sd
    >>> markup(sd.symbol("alpha"))
    '$\\displaystyle \\alpha$'
    """
    return rf"$\displaystyle {latex(expr)}$"


_ALIGN = "\x00"  # where the lines are aligned


def _joined(lines: Sequence[str]) -> str:
    if len(lines) == 1:
        return lines[0].replace(_ALIGN, "")
    rows = [line.replace(_ALIGN, "&") if _ALIGN in line else f"& {line}" for line in lines]
    return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"


def _counted(expr: Expr) -> int:
    """The number of nodes, or one more than ``_COUNTED`` if there are more."""
    stack, seen = [expr], {expr}
    while stack and len(seen) <= _COUNTED:
        for arg in stack.pop().args:
            if arg not in seen and len(seen) <= _COUNTED:
                seen.add(arg)
                stack.append(arg)
    return len(seen)


# Names and data -----------------------------------------------------------------------------------

# What SymPy makes of a name is taken where nothing in it can be mistaken: x_{1}, \alpha, \mathrm.
_PLAIN_NAME = re.compile(r"(\\?[^\W\d_]+)(_\{\w+\})?")
_ESCAPES = {
    **{sign: "\\" + sign for sign in "{}_$#%&"},
    **{"\\": r"\backslash{}", "^": r"\wedge{}", "~": r"\sim{}", " ": r"\ "},
}
_LEFT_OUT = "..."


def _verbatim(text: str) -> str:
    """``text`` as it is, in typewriter letters."""
    escaped = "".join(_ESCAPES.get(c, c) for c in text if c.isprintable())
    return rf"\mathtt{{{escaped}}}"


def _typeset_name(name: str) -> str | None:
    """The name as a letter with an index, if it is one; SymPy reads Greek letters and indices."""
    found = _PLAIN_NAME.fullmatch(sp.latex(sp.Symbol(name))) if name.isidentifier() else None
    if found is None:
        return None
    letters, index = found.group(1), found.group(2) or ""
    # A word, lest it be read as a product.
    return (
        letters if len(letters) == 1 or letters[0] == "\\" else rf"\mathrm{{{letters}}}"
    ) + index


# Functions ----------------------------------------------------------------------------------------

_COMMANDS = {"det": r"\det", "max": r"\max", "min": r"\min"}
_SIGNS = {"<": "<", ">": ">", "<=": r"\leq", ">=": r"\geq", "==": "=", "!=": r"\neq"}
_SIGNS |= {"and": r"\wedge", "or": r"\vee"}
# Functions whose powers are written sin^{2}(x).
_POWERS = re.compile(r"(\\(?!left|sqrt|frac)[A-Za-z]+(?:\{[A-Za-z0-9\\_]*\})?)(\{?\\left\()")
_PLACE = re.compile("\ue000([0-9]+)\ue001")


@lru_cache(maxsize=1 << 10)
def _template(formula: sp.Expr, arity: int) -> tuple[str, int] | None:
    """SymPy's LaTeX of a formula with marks for its operands, and how strongly it binds.

    The vocabulary is written out in SymPy's classes.  None for a formula that is nested too deeply
    for SymPy.
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
    return text, ATOM if isinstance(formula, sp.Function) or formula.is_Atom else COMPARE


class _Latex(Notation):
    """LaTeX; it remembers the names that it has given, since no two things may look the same."""

    def __init__(self, full: bool) -> None:
        self.full = full
        self.shown: dict[str, str] = {_LEFT_OUT: r"\ldots", "": ""}
        self.owner: dict[str, str | None] = {"e": None, r"\pi": None}

    # Names and numbers

    def name(self, name: str) -> str:
        known = self.shown.get(name)
        if known is None:
            known = _typeset_name(name)
            if known is None or self.owner.setdefault(known, name) != name:
                known = _verbatim(name)
            if len(known) > _NAME and not self.full:
                known = _verbatim(name[:_NAME]) + r"\ldots"
            self.shown[name] = known
        return known

    def exact(self, name: str, taken: bool) -> str:
        return {"pi": r"\pi"}.get(name, name)

    def literal(self, text: str) -> str:
        if text == _LEFT_OUT:
            return r"\ldots"
        if len(text) > _FORMULA and not self.full:
            return _verbatim(text[:_FORMULA]) + r"\ldots"
        return _verbatim(text)

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
        text = {"inf": r"\infty", "-inf": r"-\infty", "nan": r"\mathrm{nan}"}.get(
            mantissa, mantissa
        )
        if exponent:
            text += rf" \cdot 10^{{{int(exponent)}}}"
        return Piece(text, SUM if text.startswith("-") else PRODUCT if exponent else ATOM)

    def _integer(self, value: int) -> Piece:
        level = SUM if value < 0 else ATOM
        text = str(Decimal(value))  # str of an int refuses more than 4300 digits
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
        if exponent == sp.S.Half:
            return Piece(rf"\sqrt{{{base.text}}}")
        return self._raised(base, self.number(decimal(exponent)).text)

    def general_power(self, base: Piece, exponent: Piece) -> Piece:
        return self._raised(base, exponent.text)

    def _raised(self, base: Piece, exponent: str) -> Piece:
        function = _POWERS.match(base.text) if base.level == ATOM else None
        if function is not None:
            name = function.group(1)
            return Piece(rf"{name}^{{{exponent}}}{base.text[len(name) :]}")
        return Piece(rf"{self.wrapped(base, ATOM)}^{{{exponent}}}", POWER)

    def quotient(self, c: Number, factors: Sequence[Piece], divisors: Sequence[Piece]) -> Piece:
        over, under = (c, 1) if isinstance(c, float) else (c.numerator, c.denominator)
        above = [self.number(over)] if over != 1 or not factors else []
        above += factors
        below = [self.number(under)] if under != 1 else []
        below += divisors
        if not below:
            if len(above) == 1:
                return above[0]
            return Piece(
                self._product(above),
                PRODUCT,
                tuple(factors),
                tuple(divisors),
                open=any(piece.open for piece in above),
            )
        text = rf"\frac{{{self._product(above)}}}{{{self._product(below)}}}"
        return Piece(text, PRODUCT, tuple(factors), tuple(divisors))

    def _product(self, pieces: Sequence[Piece]) -> str:
        if len(pieces) == 1:
            return pieces[0].text
        texts: list[str] = []
        for k, piece in enumerate(sorted(pieces, key=lambda piece: piece.open)):
            closed = piece.level >= PRODUCT and (not piece.open or k == len(pieces) - 1)
            text = piece.text if closed else rf"\left({piece.text}\right)"
            # 2 2^x and 2 1/x would be read as other numbers.
            dot = bool(texts) and (text[0].isdigit() or text.startswith(r"\frac"))
            texts.append(rf"\cdot {text}" if dot else text)
        return " ".join(texts)

    def negative(self, c: Number, piece: Piece) -> str:
        return f"-{self.wrapped(self.scaled(c, piece), PRODUCT)}"

    # Logic and functions

    def infix(self, sign: str, level: int, a: Piece, b: Piece) -> Piece:
        plain = super().infix(_SIGNS[sign], level, a, b)
        return Piece(plain.text, level)

    def negation(self, a: Piece) -> Piece:
        return Piece(rf"\neg {self.wrapped(a, POWER)}", NOT)

    def function(self, op: ops.Pointwise, operands: Sequence[Piece]) -> Piece:
        texts = [piece.text for piece in operands]
        if not op.primitive:
            found = _template(op.formula, op.arity)
            if found is None or (len(found[0]) > _FORMULA and not self.full):
                return self.call(op.name, texts)
            template, level = found
            inner = [self.wrapped(piece, ATOM) for piece in operands]
            return Piece(_PLACE.sub(lambda place: inner[int(place.group(1))], template), level)
        if op.name == "where":
            c, a, b = texts
            text = rf"\begin{{cases}} {a} & \text{{for}}\: {c} \\ {b} & \text{{otherwise}} "
            return Piece(text + r"\end{cases}", COMPARE)
        facts = FACTS[op.name]
        if issubclass(facts, ScalarFunction) and not facts.drawn:
            return self.call(op.name, texts)
        found = _template(op.formula, op.arity)
        assert found is not None
        template, level = found
        return Piece(_PLACE.sub(lambda place: texts[int(place.group(1))], template), level)

    def call(self, name: str, arguments: Iterable[str], *literals: str) -> Piece:
        head = _COMMANDS.get(name)
        if head is None:
            escaped = "".join(_ESCAPES.get(c, c) for c in name)
            head = rf"\operatorname{{{escaped}}}"
        inner = ", ".join([*arguments, *map(self.literal, literals)])
        return Piece(rf"{head}\left({inner}\right)")

    # Arrays

    def indexed(self, name: str, letters: Sequence[str]) -> Piece:
        return Piece(rf"{{{name}}}_{{{self._word(letters)}}}" if letters else name)

    def _word(self, letters: Sequence[str]) -> str:
        return ",".join(map(self.name, letters))

    def sliced(self, x: Piece, steps: Sequence[str]) -> Piece:
        return Piece(rf"{{{self.wrapped(x, ATOM)}}}_{{{self.literal(', '.join(steps))}}}")

    def delta(self, i: str, j: str) -> Piece:
        if self.owner.setdefault(r"\delta", None) is None:
            return Piece(rf"\delta_{{{self._word([i, j])}}}")
        return Piece(rf"\left[{self.name(i)} = {self.name(j)}\right]")  # a symbol is called delta

    def sum_over(self, letters: Sequence[str], body: Piece) -> Piece:
        text = rf"\sum_{{{self._word(letters)}}} {self.wrapped(body, PRODUCT)}"
        return Piece(text, PRODUCT, open=True)

    def anonymous(self, letters: Sequence[str], body: Piece) -> Piece:
        return Piece(rf"\left[{body.text}\right]_{{{self._word(letters)}}}")

    def line(self, name: str, letters: Sequence[str], body: Piece) -> str:
        left = self.name(name) if name else r"\left[\cdot\right]" if letters else ""
        if letters:
            left = self.indexed(left, letters).text
        return f"{left} {_ALIGN}= {body.text}" if left else f"{_ALIGN}{body.text}"
