"""Notations: how the parts of an expression are put together to a text.

``Notation`` is that of ``str``; another one, as that of ``typeset``, is a subclass.  A notation
knows no nodes: it gets the texts of operands, each with how strongly it binds, and sets brackets.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from symdiff import ops
    from symdiff.number import Number

# How strongly the outermost sign of a text binds, as in Python.
OR, AND, NOT, COMPARE, SUM, PRODUCT, POWER, ATOM = range(1, 9)


@dataclass(frozen=True, slots=True)
class Piece:
    """A text and how strongly its outermost sign binds; of a product also its factors and divisors.

    ``bracket_first`` says that it begins with a sum in brackets, into which Python would pull a
    minus sign, ``open`` that it ends with a sum over letters, which would take in what follows.
    """

    text: str
    level: int = ATOM
    factors: tuple[Piece, ...] = ()
    divisors: tuple[Piece, ...] = ()
    bracket_first: bool = False
    open: bool = False


class Notation:
    """The notation of ``str``: Python's for scalars, as ``parse`` reads it; [i,j] for arrays."""

    def wrapped(self, piece: Piece, level: int) -> str:
        """The text of ``piece`` where something binding as strongly as ``level`` is needed."""
        return piece.text if piece.level >= level else f"({piece.text})"

    def name(self, name: str) -> str:
        """The name of a symbol, a letter or a part; ``...`` stands for what is left out."""
        return name

    def exact(self, name: str, taken: bool) -> str:
        """The name of a number: pi, e; told from that of a symbol, if one is called so, too."""
        return f"sd.{name}" if taken else name

    def literal(self, text: str) -> str:
        """Data and parameters of functions, in Python's notation."""
        return text

    def number(self, c: Number) -> Piece:
        """A number: 2, 1/3, 0.1."""
        if isinstance(c, float):
            return Piece(repr(c), SUM if c < 0 else ATOM)
        level = SUM if c < 0 else PRODUCT if c.denominator != 1 else ATOM
        text = digits(c.numerator)
        return Piece(text if c.denominator == 1 else f"{text}/{digits(c.denominator)}", level)

    def power(self, base: Piece, exponent: int | Fraction) -> Piece:
        """A base to a positive number."""
        if exponent == 1:
            return base
        if exponent == Fraction(1, 2):
            return self.call("sqrt", [base.text])
        number = self.number(decimal(exponent))
        return Piece(f"{self.wrapped(base, ATOM)}**{self.wrapped(number, ATOM)}", POWER)

    def quotient(self, c: Number, factors: Sequence[Piece], divisors: Sequence[Piece]) -> Piece:
        """``c`` times the factors by the divisors, for c > 0, associated from the left."""
        over, under = (c, 1) if isinstance(c, float) else (c.numerator, c.denominator)
        texts = [] if over == 1 and factors else [self.number(over).text]
        # In the first place, a product needs no brackets.
        texts += [self.wrapped(factor, POWER if k else PRODUCT) for k, factor in enumerate(factors)]
        if under != 1 and len(divisors) == 1:
            below = [f"({digits(under)}*{self.wrapped(divisors[0], PRODUCT)})"]
        else:
            below = [] if under == 1 else [digits(under)]
            below += [self.wrapped(divisor, POWER) for divisor in divisors]
        text = "/".join(["*".join(texts), *below])
        if len(texts) == 1 and not below:
            return factors[0] if factors else Piece(text)
        first = not texts[0].startswith("-") and bool(factors) and (over == 1)
        bracket = first and (factors[0].level < PRODUCT or factors[0].bracket_first)
        return Piece(text, PRODUCT, tuple(factors), tuple(divisors), bracket)

    def negative(self, c: Number, piece: Piece) -> str:
        """The first term of a sum, ``-c`` times ``piece``; the minus must not enter a bracket."""
        under = 1 if isinstance(c, float) else c.denominator
        if c * under != 1 or not (piece.level < PRODUCT or piece.bracket_first):
            return "-" + self.scaled(c, piece).text
        if not piece.factors:
            return f"0 - ({piece.text})" if under == 1 else f"-1/{digits(under)}*({piece.text})"
        return f"-({piece.text})" + (f"/{digits(under)}" if under != 1 else "")

    def scaled(self, c: Number, piece: Piece) -> Piece:
        """``c`` times ``piece``, for c > 0."""
        if c == 1:
            return piece
        if piece.factors or piece.divisors:
            return self.quotient(c, piece.factors, piece.divisors)
        return self.quotient(c, (piece,), ())

    def sum(self, terms: Sequence[tuple[Number, Piece | None]], cut: bool = False) -> Piece:
        """A sum of coefficients times pieces; a term without a piece is a number."""
        first = next((k for k, (c, piece) in enumerate(terms) if not c < 0 and piece), None)
        if first is None:
            first = next((k for k, (c, _) in enumerate(terms) if not c < 0), 0)
        ordered = [terms[first], *terms[:first], *terms[first + 1 :]]
        texts: list[str] = []
        for c, piece in ordered:
            minus = c < 0
            size = -c if minus else c
            if piece is not None and minus and not texts:
                texts.append(self.negative(size, piece))
                continue
            term = self.number(size) if piece is None else self.scaled(size, piece)
            alone = len(ordered) == 1 and not minus
            if alone and not cut:
                return term
            body = self.wrapped(term, PRODUCT)
            sign = "-" if minus else "+"
            texts.append(f"{sign} {body}" if texts else body if not minus else f"-{body}")
        if cut:
            texts.append(f"+ {self.name('...')}")
        return Piece(" ".join(texts), SUM)

    def infix(self, sign: str, level: int, a: Piece, b: Piece) -> Piece:
        """A comparison, ``and`` or ``or``."""
        left = level if level < NOT else level + 1
        return Piece(f"{self.wrapped(a, left)} {sign} {self.wrapped(b, level + 1)}", level)

    def negation(self, a: Piece) -> Piece:
        """``not a``."""
        return Piece(f"not {self.wrapped(a, NOT)}", NOT)

    def general_power(self, base: Piece, exponent: Piece) -> Piece:
        """``base ** exponent``."""
        return Piece(f"{self.wrapped(base, ATOM)}**{self.wrapped(exponent, POWER)}", POWER)

    def function(self, op: ops.Pointwise, operands: Sequence[Piece]) -> Piece:
        """A scalar function of operands."""
        return self.call(op.name, [piece.text for piece in operands])

    def call(self, name: str, arguments: Iterable[str], *literals: str) -> Piece:
        """A function of arguments, which are texts already, and of literals."""
        return Piece(f"{name}({', '.join([*arguments, *map(self.literal, literals)])})")

    def sliced(self, x: Piece, steps: Sequence[str]) -> Piece:
        """A part of an array."""
        return Piece(f"{self.wrapped(x, ATOM)}[{', '.join(steps)}]")

    def indexed(self, name: str, letters: Sequence[str]) -> Piece:
        """An element of an array."""
        return Piece(f"{name}[{','.join(letters)}]" if letters else name)

    def delta(self, i: str, j: str) -> Piece:
        """1 where two letters are equal, else 0."""
        return Piece(f"delta[{i},{j}]")

    def sum_over(self, letters: Sequence[str], body: Piece) -> Piece:
        """The sum over letters."""
        return Piece(f"sum[{','.join(letters)}]({body.text})")

    def anonymous(self, letters: Sequence[str], body: Piece) -> Piece:
        """The array of the elements ``body``."""
        return Piece(f"[{','.join(letters)}]({body.text})")

    def line(self, name: str, letters: Sequence[str], body: Piece) -> str:
        """A definition; the result has no name, and a left side only if it has letters."""
        left = f"{name}[{','.join(letters)}]" if letters else name
        return f"{left} = {body.text}" if left else body.text


def digits(value: int) -> str:
    """An integer of any length, hexadecimal where it is very long."""
    # str() refuses more than 4300 digits.
    return str(value) if value.bit_length() < 10_000 else hex(value)


def decimal(exponent: int | Fraction) -> Number:
    """An exponent that was a float as that float."""
    if isinstance(exponent, Fraction) and exponent.denominator > 1024:
        nearest = float(exponent)
        if Fraction(nearest) == exponent:
            return nearest
    return exponent


PLAIN = Notation()
