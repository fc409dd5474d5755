"""Notations: how the parts of an expression combine to text.

``Notation`` is the notation of ``str``; others, such as the one of ``typeset``, are subclasses.  A
notation knows no nodes.  It gets the texts of operands with their precedence, and sets brackets.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from symdiff.graph.lengths import Length, is_quotient

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symdiff.display.forms import Condition, Index
    from symdiff.display.matrices import Chain
    from symdiff.graph import ops
    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Op
    from symdiff.graph.number import Number

# The precedence of the outermost sign of a text, as in Python.  Matrix products and integer
# quotients have levels of their own, though Python treats them like other products.
OR, AND, NOT, COMPARE, SUM, MATRIX, FLOOR, PRODUCT, POWER, ATOM = range(1, 11)


@dataclass(frozen=True, slots=True)
class Piece:
    """A text with the precedence of its outermost sign, and details that notations need.

    ``factors`` and ``divisors`` are those of a product.  ``bracket_first``: it begins with a sum in
    brackets, into which Python would pull a minus sign.  ``open``: it ends with a sum over labels,
    which would include what follows.  ``ndim`` is the number of axes of a whole array, ``chain``
    the factors of a matrix product.  ``flipped`` is the transposed text; ``turned``: this text
    itself is a transpose.  ``cells`` are the parts of a stack, ``root`` is the operand of a squared
    norm.  A ``leaf`` has a name; a ``symmetric`` matrix is its own transpose.  A line may be broken
    between ``terms``.
    """

    text: str
    level: int = ATOM
    factors: tuple[Piece, ...] = ()
    divisors: tuple[Piece, ...] = ()
    bracket_first: bool = False
    open: bool = False
    ndim: int = 0
    chain: tuple[Piece, ...] = ()
    flipped: Piece | None = None
    cells: tuple[Piece, ...] = ()
    root: Piece | None = None
    symmetric: bool = False
    turned: bool = False
    terms: tuple[str, ...] = ()
    leaf: bool = False

    def of(self, ndim: int) -> Piece:
        """Return the piece for an array with this many axes."""
        return replace(self, ndim=ndim)

    @property
    def is_zero(self) -> bool:
        """Whether the piece is the number 0."""
        return self.text == "0"


class Notation:
    """The notation of ``str``: Python's and NumPy's, as ``parse`` reads it; [i,j] by index.

    ``nodes`` is the most nodes that are written in full, ``fits`` the length of a line before parts
    get names, ``long`` the length from which each part has a line.  ``across`` is the width of a
    row of a matrix before entries get names, ``gap`` the distance of its columns.
    """

    nodes, fits, long = 2_000, 160, 500
    across, gap = 100, 3
    regroups = True  # whether formulas get their normal form for reading

    def wrapped(self, piece: Piece, level: int) -> str:
        """The text of ``piece``, in brackets if it binds less tightly than ``level``."""
        return piece.text if piece.level >= level else f"({piece.text})"

    def name(self, name: str) -> str:
        """The name of a symbol, a label or a part; ``...`` stands for an omitted part."""
        return name

    def length(self, text: str) -> Piece:
        """A label or a length, as a user types it."""
        if text.isidentifier():
            return Piece(self.name(text))
        (monomial, c), *further = Length(text).terms
        if further or c < 0:
            return Piece(text, SUM)
        return Piece(text, FLOOR if is_quotient(monomial) and c == 1 else PRODUCT)

    def exact(self, name: str, taken: bool) -> str:
        """The name of a number: pi, e; qualified if a symbol has the same name."""
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
        """A base to a positive power."""
        if exponent == 1:
            return base
        if exponent == Fraction(1, 2):
            return self.call("sqrt", [base])
        number = self.number(decimal(exponent))
        text = f"{self.wrapped(base, ATOM)}**{self.wrapped(number, ATOM)}"
        return Piece(text, POWER, ndim=base.ndim, leaf=base.leaf)

    def quotient(self, c: Number, factors: Sequence[Piece], divisors: Sequence[Piece]) -> Piece:
        """``c`` times the factors divided by the divisors, for c > 0, associated from the left.

        For arrays, numbers come first, and a single matrix product last.
        """
        if any(piece.ndim for piece in factors):
            factors, divisors = self.unfolded(factors, divisors)
            factors = sorted(factors, key=lambda piece: piece.ndim > 0)
            if factors[-1].level == MATRIX and sum(piece.ndim > 0 for piece in factors) == 1:
                return self._with_matrices(c, factors, divisors)
        if len(factors) == 1 and factors[0].level == MATRIX:
            return self._with_matrices(c, factors, divisors)
        over, under = (c, 1) if isinstance(c, float) else (c.numerator, c.denominator)
        texts = [] if over == 1 and factors else [self.number(over).text]
        # The first factor of a product needs no brackets.
        texts += [self.wrapped(factor, POWER if k else PRODUCT) for k, factor in enumerate(factors)]
        if self.regroups and len(divisors) + (under != 1) > 1:
            inside = [digits(under)] if under != 1 else []
            first = len(inside)
            inside += [
                self.wrapped(x, POWER if k + first else PRODUCT) for k, x in enumerate(divisors)
            ]
            below = [f"({'*'.join(inside)})"]
        elif under != 1 and len(divisors) == 1:
            below = [f"({digits(under)}*{self.wrapped(divisors[0], PRODUCT)})"]
        else:
            below = [] if under == 1 else [digits(under)]
            below += [self.wrapped(divisor, POWER) for divisor in divisors]
        text = "/".join(["*".join(texts), *below])
        if len(texts) == 1 and not below:
            return factors[0] if factors else Piece(text)
        first = not texts[0].startswith("-") and bool(factors) and (over == 1)
        bracket = first and (factors[0].level < FLOOR or factors[0].bracket_first)
        ndim = max((piece.ndim for piece in (*factors, *divisors)), default=0)
        split = (tuple(factors), tuple(divisors)) if c == 1 else ((), ())
        return Piece(text, PRODUCT, *split, bracket, ndim=ndim)

    def unfolded(
        self, factors: Sequence[Piece], divisors: Sequence[Piece]
    ) -> tuple[list[Piece], list[Piece]]:
        """Split numbers that are quotients next to an array into factors and divisors."""
        above: list[Piece] = []
        below = list(divisors)
        for piece in factors:
            if piece.ndim or piece.level != PRODUCT or not (piece.factors or piece.divisors):
                above.append(piece)
            else:
                above += piece.factors
                below += piece.divisors
        return above, below

    def _with_matrices(
        self, c: Number, factors: Sequence[Piece], divisors: Sequence[Piece]
    ) -> Piece:
        """Numbers times a matrix product, which needs no brackets."""
        *numbers, last = factors
        if c == 1 and not numbers and not divisors:
            return last
        over, under = (c, 1) if isinstance(c, float) else (c.numerator, c.denominator)
        texts = [self.number(over).text] if over != 1 else []
        texts += [self.wrapped(piece, POWER) for piece in numbers]
        below = [digits(under)] if under != 1 else []
        below += [self.wrapped(piece, POWER) for piece in divisors]
        if self.regroups and len(below) > 1:
            below = [f"({'*'.join(below)})"]
        text = "/".join(["*".join([*texts, last.text]), *below])
        split = ((*numbers, last), tuple(divisors)) if c == 1 else ((), ())
        return Piece(text, MATRIX, *split, ndim=last.ndim)

    def negative(self, c: Number, piece: Piece) -> str:
        """The first term of a sum, ``-c`` times ``piece``; the minus must not enter a bracket."""
        under = 1 if isinstance(c, float) else c.denominator
        if c == 1 and piece.level == FLOOR:
            return f"-({piece.text})"
        if c * under != 1 or not (piece.level < MATRIX or piece.bracket_first):
            return "-" + self.scaled(c, piece).text
        if not (piece.factors or self.regroups):
            return f"0 - ({piece.text})" if under == 1 else f"-1/{digits(under)}*({piece.text})"
        return f"-({piece.text})" + (f"/{digits(under)}" if under != 1 else "")

    def scaled(self, c: Number, piece: Piece) -> Piece:
        """``c`` times ``piece``, for c > 0."""
        if c == 1:
            return piece
        if piece.level == MATRIX:
            split = (piece.factors, piece.divisors) if piece.factors else ((piece,), ())
            return self._with_matrices(c, *split)
        if piece.factors or piece.divisors:
            return self.quotient(c, piece.factors, piece.divisors)
        return self.quotient(c, (piece,), ())

    def sum(
        self,
        terms: Sequence[tuple[Number, Piece | None]],
        cut: bool = False,
        ndim: int = 0,
        in_order: bool = False,
    ) -> Piece:
        """A sum of coefficients times pieces; a term without a piece is a number.

        ``ndim`` is the number of axes of the whole sum.  Unless the terms are ``in_order``, the
        first positive one leads.
        """
        first = next((k for k, (c, piece) in enumerate(terms) if not c < 0 and piece), None)
        if first is None:
            first = next((k for k, (c, _) in enumerate(terms) if not c < 0), 0)
        if in_order:
            first = 0
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
            body = self.wrapped(term, MATRIX)
            sign = "-" if minus else "+"
            texts.append(f"{sign} {body}" if texts else body if not minus else f"-{body}")
        if cut:
            texts.append(f"+ {self.name('...')}")
        return Piece(" ".join(texts), SUM, terms=tuple(texts))

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
        return self.call(op.name, operands)

    def call(self, name: str, arguments: Sequence[Piece], *literals: str) -> Piece:
        """A function of arguments and literals."""
        texts = [piece.text for piece in arguments]
        inner = ", ".join([*texts, *map(self.literal, literals)])
        text = _CALLS.get(name, name + "({})").replace("{}", inner)
        flipped = Piece(text[:-2], ndim=2) if text.endswith(".T") else None
        return Piece(text, flipped=flipped, turned=flipped is not None)

    def unknown(self, op: ops.Unknown, arguments: Sequence[Piece], separate: bool) -> Piece:
        """A derivative of an unknown function: ``theta'(t)``, ``u^(1,2)(x, t)``.

        ``separate`` says that the arguments of differentiation are symbols that occur once.
        """
        return self.call(op.called(())[0], arguments)

    def integral(self, body: Piece, x: Piece, a: Piece, b: Piece) -> Piece:
        """The integral of ``body`` by x from a to b."""
        return self.call("integrate", [body, x, a, b])

    def cases(self, pieces: Sequence[Piece], conditions: Sequence[Piece]) -> Piece:
        """The first piece whose condition holds, or the last one."""
        *branches, result = pieces
        for piece, condition in zip(reversed(branches), reversed(conditions), strict=True):
            result = self.call("where", [condition, piece, result])
        return result

    # Indices and elements

    def index(self, index: Index) -> Piece:
        """An index: ``i + 1``, ``n - 1 - i``."""
        terms: list[tuple[Number, Piece | None]] = [
            (coef, self.length(name) if isinstance(name, str) else name)
            for name, coef in index.terms
        ]
        if index.const or not terms:
            terms.append((index.const, None))
        return self.sum(terms)

    def table(self, text: str) -> Piece:
        """An index that is an entry of a table of numbers."""
        return Piece(self.literal(text))

    def element(self, array: Piece, index: Sequence[Piece]) -> Piece:
        """An element of an array."""
        separator = ", " if all(piece.text.isdigit() for piece in index) else ","
        places = separator.join(piece.text for piece in index)
        if index and array.leaf and (value := _VALUE.fullmatch(array.text)):
            return Piece(f"{value.group(1)}[{places}]{value.group(2)}", leaf=True)  # u[0](2)
        if index and array.leaf and array.text.endswith("]"):
            return Piece(f"{array.text[:-1]},{places.replace(' ', '')}]", leaf=True)  # b[k,0]
        return Piece(f"{self.wrapped(array, ATOM)}[{places}]", leaf=array.leaf) if index else array

    def sliced(self, x: Piece, steps: Sequence[int | str], ndim: int) -> Piece:
        """A part of an array: ``A[0]``, ``A[:, 1]``, ``z[1:3]``."""
        shown = [str(step) for step in steps]
        while shown and shown[-1] == ":":
            shown.pop()
        text = f"{self.wrapped(x, ATOM)}[{', '.join(shown)}]" if shown else x.text
        return Piece(text, ATOM if shown else x.level, ndim=ndim)

    def taken(self, x: Piece, index: Piece, ndim: int) -> Piece:
        """The elements at indices of the last axis; for a transposed matrix, rows."""
        columns = Piece(self._at(x, [":"] * (ndim - 1) + [index.text]), ndim=ndim)
        if ndim != 2:
            return columns
        turned = self.transposed(x)
        rows = Piece(self._at(turned, [index.text]), ndim=2, turned=turned.turned)
        return replace(columns, flipped=rows, turned=x.turned)

    def row(self, x: Piece, place: Piece) -> Piece:
        """A column of a matrix at a computed index; a row for a transposed one."""
        rows = self.transposed(x)
        places = [":", place.text]
        return Piece(self._at(rows, places[1:]) if x.turned else self._at(x, places), ndim=1)

    def _at(self, x: Piece, places: Sequence[str]) -> str:
        return f"{self.wrapped(x, ATOM)}[{', '.join(places)}]"

    def comparison(self, c: Condition) -> Piece:
        """Compared indices in their order: ``1 <= i < 3``."""
        below = "" if c.below is None else f"{self.index(c.below).text} {self.sign('<=')} "
        left, right = self.index(c.left).text, self.index(c.right).text
        return Piece(f"{below}{left} {self.sign(c.sign)} {right}", COMPARE)

    def sign(self, sign: str) -> str:
        """A comparison sign."""
        return sign

    def condition(self, c: Condition) -> Piece:
        """1 if the indices compare so, else 0."""
        return Piece(f"[{self.comparison(c).text}]")

    def bracket(self, left: Piece, sign: str, right: Piece) -> Piece:
        """1 if two integers compare so, else 0."""
        return Piece(f"[{left.text} {self.sign(sign)} {right.text}]")

    def sum_over(self, letters: Sequence[Piece], body: Piece) -> Piece:
        """The sum over axis labels."""
        comma = ", " if any(k.level < ATOM for k in letters) else ","
        return Piece(f"sum[{comma.join(k.text for k in letters)}]({body.text})")

    def product_over(self, condition: Piece, body: Piece) -> Piece:
        """The product over axis labels."""
        return Piece(f"prod[{condition.text}]({body.text})")

    # Arrays

    by_index = False  # whether to write full sums and products by index

    def is_elementwise(self, op: Op, ndim: int) -> bool:
        """Whether an elementwise op of whole arrays can be written."""
        return True

    def is_product(self, chain: Chain, operands: Sequence[Expr], ndim: int) -> bool:
        """Whether to write this matrix product as one."""
        return True

    def filled(
        self, piece: Piece, value: Number | None, shape: str, ndim: int, integer: bool = False
    ) -> Piece:
        """An array filled with one number."""
        shape = shape[1:-2] if ndim == 1 else shape
        if value == 0:
            return Piece(f"zeros({self.literal(shape)})", ndim=ndim)
        if value is None and integer:  # ones() is real, and cannot be an index
            return Piece(f"full({self.literal(shape)}, {piece.text})", ndim=ndim)
        ones = Piece(f"ones({self.literal(shape)})", ndim=ndim)
        return ones if value == 1 else self.times(piece, ones)

    def times(self, number: Piece, array: Piece) -> Piece:
        """An array times a number, which may be a quotient."""
        return self.quotient(1, [number, array], ()).of(array.ndim)

    def repeated(self, piece: Piece, axis: int, shape: str, elementwise: bool) -> Piece:
        """The matrix with a vector along ``axis``, repeated along the other one."""
        column = f"{self.wrapped(piece, ATOM)}[:, None]" if axis == 0 else piece.text
        if elementwise:
            return Piece(column, ATOM if axis == 0 else piece.level, ndim=2)
        return Piece(f"broadcast_to({column}, {self.literal(shape)})", ndim=2)

    def transposed(self, x: Piece) -> Piece:
        """The transpose; for a product, by the transposes of its factors."""
        if x.symmetric:
            return x
        if x.flipped is not None:
            return replace(x.flipped, flipped=x)
        if x.ndim < 2:
            return x
        if x.chain:
            return self.multiplied([self.transposed(y) for y in reversed(x.chain)], x.ndim)
        return Piece(f"{self.wrapped(x, ATOM)}.T", ndim=2, flipped=x, turned=True)

    def diagonal(self, x: Piece, ndim: int) -> Piece:
        """The matrix with a diagonal, or the diagonal of a matrix."""
        piece = self.call("diag" if ndim == 2 else "diagonal", [x]).of(ndim)
        return replace(piece, symmetric=True) if ndim == 2 else piece

    def identity(self, length: str) -> Piece:
        """The identity matrix."""
        return Piece(f"eye({self.literal(length)})", ndim=2)

    def powers(self, piece: Piece, p: int | Fraction) -> Piece:
        """A base to any power."""
        if p > 0:
            return self.power(piece, p)
        return self.quotient(1, (), [self.power(piece, -p)]).of(piece.ndim)

    def weights(self, pieces: Sequence[Piece]) -> Piece:
        """The elementwise product of vectors."""
        return pieces[0] if len(pieces) == 1 else self.quotient(1, pieces, ()).of(1)

    def weighted(
        self,
        rows: Sequence[Piece],
        matrices: Sequence[Piece],
        columns: Sequence[Piece],
    ) -> Piece:
        """An elementwise product of matrices, with rows and columns multiplied by vectors."""
        left = [self.diagonal(self.weights(rows), 2)] if rows and matrices else []
        right = [self.diagonal(self.weights(columns), 2)] if columns and matrices else []
        if matrices:
            return self.multiplied([*left, self.weights(matrices).of(2), *right], 2)
        if rows and columns:
            return self.outer(self.weights(rows), self.weights(columns))
        return self.repeated(self.weights([*rows, *columns]), 0 if rows else 1, "", True)

    def outer(self, u: Piece, v: Piece) -> Piece:
        """The outer product of two vectors."""
        turned = self.call("outer", [v, u]).of(2)
        return replace(self.call("outer", [u, v]).of(2), flipped=turned)

    def multiplied(self, parts: Sequence[Piece], ndim: int) -> Piece:
        """The product of matrices and vectors, associated from the left."""
        if len(parts) == 1:
            return parts[0]
        texts = [self.wrapped(part, POWER if k else MATRIX) for k, part in enumerate(parts)]
        return Piece(" @ ".join(texts), MATRIX, ndim=ndim, chain=tuple(parts))

    def chained(
        self,
        left: Sequence[Piece] | None,
        factors: Sequence[Piece],
        right: Sequence[Piece] | None,
        same: bool,
    ) -> Piece:
        """A matrix product with vectors at its ends, if any; a full sum has none there."""
        ndim = (left is None) + (right is None)
        parts = list(factors)
        if left:
            parts.insert(0, self.weights(left))
        if right:
            parts.append(self.weights(right))
        if not factors and len(parts) == 2:
            return self.dot(parts[0], parts[1], same)
        axis = ["axis=1"] * (ndim == 1)
        if ndim and len(parts) == 1 and parts[0].turned and parts[0].flipped:
            parts, axis = [parts[0].flipped], ["axis=0"]
        body = self.multiplied(parts, 2)
        return (
            body.of(ndim)
            if (left and right) or [] not in (left, right)
            else (self.call("sum", [body], *axis).of(ndim))
        )

    def dot(self, u: Piece, v: Piece, same: bool) -> Piece:
        """The scalar product of two vectors."""
        if same:
            square = self.multiplied([u, u], 0)
            if not u.text.isidentifier():
                square = self.call("sum", [self.power(u, 2)])
            return replace(square, root=u)
        choices = []
        for a, b in ((u, v), (v, u)):
            row = [self.transposed(y) for y in reversed(a.chain)] if a.chain else [a]
            column = b.chain or (b,)
            choices.append(self.multiplied([*row, *column], 0))
        return min(choices, key=self.transposes)

    def transposes(self, piece: Piece) -> int:
        """The number of transposed factors of a product."""
        return sum(part.turned for part in piece.chain)

    def traced(self, factors: Sequence[Piece], same: bool) -> Piece:
        """The trace of a product."""
        if same and factors[0].turned != factors[1].turned:
            x = factors[1] if factors[0].turned else factors[0]
            return replace(self.call("sum", [self.power(x, 2)]), root=x)
        return self.call("trace", [self.multiplied(factors, 2)])

    def stack(self, pieces: Sequence[Piece], ndim: int, cut: bool = False) -> Piece:
        """Stack arrays along a new first axis."""
        texts = [piece.text for piece in pieces] + ["..."] * cut
        listed = f"[{', '.join(texts)}]"
        if len(texts) == 1 and pieces[0].level == COMPARE:  # [..] alone would mean 1 or 0
            listed = f"stack({listed})"
        return Piece(listed, ndim=ndim, cells=tuple(pieces))

    def nested(self, pieces: Sequence[Piece], shape: tuple[int, ...]) -> Piece:
        """The array of elements in C order."""
        level = list(pieces)
        for k, length in enumerate(reversed(shape)):
            count = len(level) // max(length, 1)
            level = [self.stack(level[i * length : (i + 1) * length], k + 1) for i in range(count)]
        return level[0] if level else Piece(f"zeros({shape})", ndim=len(shape))

    def norm(self, square: Piece) -> Piece:
        """The square root of a sum of squares."""
        operand = square.root
        return (
            self.power(square, Fraction(1, 2)) if operand is None else self.call("norm", [operand])
        )

    def joined(self, pieces: Sequence[Piece], axis: int, ndim: int) -> Piece:
        """Join arrays along an axis."""
        texts = [piece.text for piece in pieces]
        parameter = f", {self.literal(f'axis={axis}')}" if axis else ""
        return Piece(f"concat([{', '.join(texts)}]{parameter})", ndim=ndim)

    # Lines

    def width(self, line: str) -> int:
        """The number of characters of a line."""
        return len(line)

    def line(self, name: str, letters: Sequence[str], body: Piece) -> str:
        """A definition; the result has no name, and a left side only if it has axis labels.

        Labels may state their range: ``t1[i < 2,j]``.
        """
        left = self.element(Piece(name, leaf=True), [Piece(k) for k in letters]).text
        return f"{left} = {body.text}" if left else body.text

    # Definitions of loops and solutions

    stars = False  # whether solutions of equations have a star

    def words(self, text: str) -> str:
        """Words between formulas."""
        return text

    def remark(self, text: str) -> str:
        """Words in place of a formula; they may contain names of users."""
        return text

    def relation(self, pieces: Sequence[Piece]) -> str:
        """Formulas and words in their order."""
        return "".join(piece.text for piece in pieces)

    def relation_sign(self, sign: str) -> str:
        """The sign between two sides."""
        return f" {sign} "

    def zero_side(self, ndim: int) -> Piece:
        """``= 0`` after an expression with this many axes."""
        return Piece(" = 0")

    def partial(self, function: str, by: Sequence[tuple[str, int]]) -> str:
        """The derivative of a function by names with orders: ``du/da``, ``d2u/(da db)``."""
        total = sum(n for _, n in by)
        names: list[str] = []
        for name, n in by:
            if n > 1 and name.isidentifier() and not name[-1].isdigit():
                names.append(f"d{name}{n}")
            else:
                names += [f"d{name}"] * n
        above = f"d{total if total > 1 else ''}{function}"
        return f"{above}/({' '.join(names)})" if len(names) > 1 else f"{above}/{names[0]}"

    def values(self, index: str, first: str, last: str) -> str:
        """The values of an index: ``k = 0, ..., n - 1``."""
        return f"{index} = {self._from_to(first, last, '...')}"

    def _from_to(self, first: str, last: str, dots: str) -> str:
        if first == last:
            return first
        near = first.isdigit() and last.isdigit() and abs(int(first) - int(last)) == 1
        return f"{first}, {last}" if near else f"{first}, {dots}, {last}"

    def clause(self, word: str, parts: Sequence[str], values: str | None) -> str:
        """The line of a definition; ``values`` are those of its index."""
        return f"{word} {', '.join(parts)}" + (f" for {values}" if values else "")

    def one_line(self, lines: Sequence[str]) -> str:
        """A formula with the definitions of its parts behind it."""
        line, *parts = lines
        return f"{line} with {', '.join(parts)}" if parts else line

    def matrix(self, cells: Sequence[Sequence[str]]) -> list[str]:
        """The lines of a matrix with aligned columns."""
        wide = [max(map(len, column)) for column in zip(*cells, strict=True)]
        gap = " " * self.gap
        return [
            f"[ {gap.join(cell.ljust(n) for cell, n in zip(row, wide, strict=True))} ]"
            for row in cells
        ]

    def cut(self, shown: int, extent: str) -> str:
        """The note on an expression of which only some nodes are written."""
        return f"({shown:,} of {extent}; sd.text(f, full=True) writes all)"


# The value of a function at a number or a name: u(2), u(t[3]).
_VALUE = re.compile(r"(\w+)(\([\w.+-]+(?:\[\d+\])?\))")
# The parts of functions with several results; the operand goes between the brackets.
_CALLS = {
    "logabsdet": "log(abs(det({})))",
    "detsign": "slogdet({})[0]",
    "eigvecs": "eigh({})[1]",
    "nonzero": "nonzero({})[0]",
    "qr": "qr({})[0]",
    "qr_r": "qr({})[1]",
    "left_singular_vectors": "svd({})[0]",
    "right_singular_vectors": "svd({})[2].T",
}


def digits(value: int) -> str:
    """An integer of any length; a very long one in hexadecimal."""
    # str() refuses integers of more than 4300 digits.
    return str(value) if value.bit_length() < 10_000 else hex(value)


def decimal(exponent: int | Fraction) -> Number:
    """Convert an exponent that began as a float back to that float."""
    if isinstance(exponent, Fraction) and exponent.denominator > 1024:
        nearest = float(exponent)
        if Fraction(nearest) == exponent:
            return nearest
    return exponent


class Exact(Notation):
    """The notation that ``parse`` reads back as the same expression."""

    regroups = False


PLAIN, EXACT = Notation(), Exact()
