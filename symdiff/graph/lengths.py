"""Symbolic axis lengths: polynomials with integer coefficients in names.

A length that is not an int is a ``Length``, a str whose text is its canonical form: ``n``,
``n - 1``, ``2*n``, ``m*n``, ``(n + 1)//2``.  Lengths are equal if their texts are equal.  So a
shape compares with a typed one, ``x.shape == ("n",)``.  Different polynomials are different lengths
when a graph is built, whatever their values in a call.
"""

from __future__ import annotations

import ast
import operator
import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from symdiff.errors import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from symdiff.graph.expr import Expr

    Dim: TypeAlias = "int | Length"


class Floor(NamedTuple):
    """An atom of polynomials: ``over // by``, for a ``by`` of at least 2."""

    over: Length
    by: int

    @property
    def text(self) -> str:
        """The quotient as users type it."""
        return f"{_bracketed(self.over)}//{self.by}"


Atom: TypeAlias = "str | Floor"
# Powers of atoms, sorted by their texts; () is the number 1.
Monomial: TypeAlias = tuple[tuple[Atom, int], ...]
Terms: TypeAlias = tuple[tuple[Monomial, int], ...]

_expression: Callable[[Length], Expr]


def set_expression(of: Callable[[Length], Expr]) -> None:
    """Register how a length becomes an expression, which later modules define."""
    global _expression  # assigned once, during the import of the package
    _expression = of


def expression(length: Length) -> Expr:
    """The length as a scalar expression."""
    return _expression(length)


class Length(str):
    """A length that is not an int: a polynomial with integer coefficients in names of lengths.

    Sums, differences, products and whole powers of lengths and ints are lengths, or ints where no
    name is left.  So are quotients ``//`` and remainders by a positive int, and quotients by a
    length that divides.  With any other operand a length acts as the expression of its value.
    Names stand for ints >= 0.  Two lengths are ordered where these bounds imply the order; other
    comparisons raise Unsupported.

    Raises ValueError for a text that is not such a polynomial, and for a text that is an int.

    >>> n, m = Length("n"), Length("m")
    >>> n - 1, 2 * n, n * m, (n + 1) // 2, n - n, n * m // m
    ('n - 1', '2*n', 'm*n', '(n + 1)//2', 0, 'n')
    >>> n + 1 > n, Length("1 + n*2") == "2*n + 1"
    (True, True)
    """

    __slots__ = ("is_name", "names", "terms")
    terms: Terms
    is_name: bool  # the whole text is one name
    names: tuple[str, ...]  # in alphabetical order

    def __new__(cls, text: str) -> Length:
        """The length of a text, in canonical form."""
        if isinstance(text, Length):
            return text
        length = _parse(str(text))
        if not isinstance(length, Length):
            raise ValueError(f"{text!r} is not a named length; pass a known length as an int")
        return length

    def __reduce__(self) -> tuple[Any, ...]:
        return Length, (str(self),)

    def replaced(self, lengths: Mapping[str, Dim]) -> Dim:
        """This length, with the given lengths in place of names.

        >>> Length("n*m - 1").replaced({"n": 3}), Length("n//2").replaced({"n": 5})
        ('3*m - 1', 2)
        """
        total: Dim = 0
        for monomial, c in self.terms:
            term: Dim = c
            for atom, power in monomial:
                if isinstance(atom, str):
                    value: Dim = lengths.get(atom, _length_by_name(atom))
                else:
                    value = atom.over.replaced(lengths) // atom.by
                for _ in range(power):
                    term = term * value
            total = total + term
        return total

    def is_linear_in(self, name: str) -> bool:
        """Whether this is a + b*name, for lengths a and b without the name."""
        return all(
            (isinstance(atom, str) and power == 1)
            for monomial, _ in self.terms
            for atom, power in monomial
            if name == atom or (not isinstance(atom, str) and name in atom.over.names)
        )

    def linear_in(self, name: str) -> tuple[Dim, int] | None:
        """The a and the int b of this as ``a + b*name``, where a lacks the name; else None."""
        rest, slope = [], 0
        for monomial, c in self.terms:
            if monomial == ((name, 1),):
                slope = c
                continue
            rest.append((monomial, c))
        other = _length(tuple(rest))
        if not slope or (isinstance(other, Length) and name in other.names):
            return None
        return other, slope

    # Arithmetic -----------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Length):
            return _length(self.terms, other.terms)
        if _is_int(other):
            return _length(self.terms, (((), int(other)),))
        return self._leave_lengths(operator.add, other)

    def __radd__(self, other: Any) -> Any:
        if _is_int(other):
            return self + other
        return self._leave_lengths(operator.add, other, True)

    def __neg__(self) -> Any:
        return _length({monomial: -c for monomial, c in self.terms})

    def __pos__(self) -> Length:
        return self

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, Length) or _is_int(other):
            return self + -other
        return self._leave_lengths(operator.sub, other)

    def __rsub__(self, other: Any) -> Any:
        if _is_int(other):
            return -self + other
        return self._leave_lengths(operator.sub, other, True)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Length):
            return _product(self.terms, other.terms)
        if _is_int(other):
            return _length({monomial: c * int(other) for monomial, c in self.terms})
        return self._leave_lengths(operator.mul, other)

    def __rmul__(self, other: Any) -> Any:
        if _is_int(other):
            return self * other
        return self._leave_lengths(operator.mul, other, True)

    def __pow__(self, other: Any) -> Any:
        if _is_int(other) and other >= 0:
            result: Dim = 1
            for _ in range(other):
                result = result * self
            return result
        return self._leave_lengths(operator.pow, other)

    def __rpow__(self, other: Any) -> Any:
        return self._leave_lengths(operator.pow, other, True)

    def __floordiv__(self, other: Any) -> Any:
        if isinstance(other, Length):
            return _divide_exactly(self, other)
        if _is_int(other):
            return _floor(self, int(other))
        return self._leave_lengths(operator.floordiv, other)

    def __rfloordiv__(self, other: Any) -> Any:
        if _is_int(other):
            raise Unsupported(f"length: {other}//({self}) is not a polynomial in lengths")
        return self._leave_lengths(operator.floordiv, other, True)

    def __truediv__(self, other: Any) -> Any:
        return self._leave_lengths(operator.truediv, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._leave_lengths(operator.truediv, other, True)

    def __mod__(self, other: Any) -> Any:
        if _is_int(other):
            return self - int(other) * (self // other)
        return self._leave_lengths(operator.mod, other)

    def __rmod__(self, other: Any) -> Any:
        return (
            NotImplemented
            if isinstance(other, str)
            else self._leave_lengths(operator.mod, other, True)
        )

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __abs__(self) -> Any:
        low, high = bounds(self)
        if low is not None and low >= 0:
            return self
        return -self if high is not None and high <= 0 else abs(_expression(self))

    def __round__(self, digits: int | None = None) -> Length:
        if digits is not None and digits < 0:
            raise Unsupported(f"round: {self} to {digits} digits is not a polynomial in lengths")
        return self

    def __trunc__(self) -> Length:
        return self

    __floor__ = __ceil__ = __trunc__  # a length is an integer, so trunc, floor and ceil return it

    def _leave_lengths(self, of: Callable[[Any, Any], Any], other: Any, right: bool = False) -> Any:
        """The result of an operation that leaves the lengths: an expression, or joined texts."""
        if isinstance(other, str | list | tuple) and not isinstance(other, Length):
            return NotImplemented  # messages put names into texts; [0] * n needs an int
        x = _expression(self)
        y = _expression(other) if isinstance(other, Length) else other
        return of(y, x) if right else of(x, y)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **words: Any) -> Any:
        values = [_expression(x) if isinstance(x, Length) else x for x in inputs]
        return getattr(ufunc, method)(*values, **words)

    def __index__(self) -> int:
        # Not TypeError: NumPy's functions replace its message.
        raise Unsupported(
            f"the length {self} is known by name, not as an int; functions of symdiff take it "
            f"where they take a length, sd.arange({self}) and sd.zeros({self}) for two, and NumPy "
            f"does beside an expression x: np.arange({self}, like=x)"
        )

    __int__ = __float__ = __index__  # none of them returns

    def __iter__(self) -> Iterator[str]:
        # NumPy would read the characters of a text as lengths of a shape.
        raise TypeError(f"the length {self} is one number, and not iterated over")

    # Order ----------------------------------------------------------------------------------------

    def __lt__(self, other: Any) -> bool:
        return self._ordered(other, "<", operator.lt, operator.ge)

    def __le__(self, other: Any) -> bool:
        return self._ordered(other, "<=", operator.le, operator.gt)

    def __gt__(self, other: Any) -> bool:
        return self._ordered(other, ">", operator.gt, operator.le)

    def __ge__(self, other: Any) -> bool:
        return self._ordered(other, ">=", operator.ge, operator.lt)

    def _ordered(
        self,
        other: Any,
        sign: str,
        holds: Callable[[int, int], bool],
        fails: Callable[[int, int], bool],
    ) -> bool:
        if not (isinstance(other, Length) or _is_int(other)):
            return NotImplemented  # type: ignore[no-any-return]  # Python's way to say so
        low, high = bounds(self - other)
        # A polynomial that satisfies the relation at the bound and is monotonic beyond it satisfies
        # it everywhere.
        upward = sign in (">", ">=")
        first_end, last_end = (low, high) if upward else (high, low)
        if first_end is not None and holds(first_end, 0):
            return True
        if last_end is not None and fails(last_end, 0):
            return False
        raise Unsupported(
            f"whether {self} {sign} {other} is not known before the lengths are: np.maximum, "
            "np.minimum, np.less and their like take lengths, and the result is an expression; "
            "or give the axis a number"
        )


class LengthLetter(str):
    """A placeholder for a length in a pattern of shapes; each call supplies the number.

    Letters are not lengths, and no text of a length is a letter.  So ops keyed by letters never
    coincide with ops of a formula with named axes.  No arithmetic accepts letters.

    >>> LengthLetter(0), as_length("#0")
    ('#0', None)
    """

    __slots__ = ()
    is_name = True

    def __new__(cls, number: int | str) -> LengthLetter:
        """The letter with this number."""
        return str.__new__(cls, f"#{number}")

    def __reduce__(self) -> tuple[Any, ...]:
        return LengthLetter, (self[1:],)


# Making -------------------------------------------------------------------------------------------


def bounds(length: Dim) -> tuple[int | None, int | None]:
    """The least and the greatest int that a length may be; None where it is unbounded.

    >>> bounds(Length("n + 2")), bounds(5 - Length("n")), bounds(Length("n") - Length("m"))
    ((2, None), (None, 5), (None, None))
    """
    if not isinstance(length, Length):
        return length, length
    low: int | None = 0
    high: int | None = 0
    for monomial, c in length.terms:
        ends = [None if end is None else c * end for end in _ends(monomial)]
        least, most = ends if c > 0 else reversed(ends)
        low = None if low is None or least is None else low + least
        high = None if high is None or most is None else high + most
    return low, high


def product(dims: Iterable[int | str]) -> Dim:
    """The number of elements of a shape; letters count as names.

    >>> product((3, Length("n"), Length("n - 1")))
    '3*n**2 - 3*n'
    """
    total: Any = 1
    for dim in dims:
        if dim != 1:
            factor = _length_by_name(dim) if isinstance(dim, LengthLetter) else dim
            total = factor if total == 1 else total * factor
    return total  # type: ignore[no-any-return]  # of lengths


def like(dims: Iterable[int | str], length: Dim, what: str) -> int | str:
    """Wrap a length computed from ``dims``: if these are letters, it must be one of them.

    Raises Unsupported with ``what`` in front where no letter fits.
    """
    letters: list[str] = [dim for dim in dims if isinstance(dim, LengthLetter)]
    if not letters or isinstance(length, int):
        return length
    if length not in letters:
        raise Unsupported(f"{what}: the length {length}, for which there is no letter")
    return letters[letters.index(length)]


def may_be_equal(a: Dim, b: Dim) -> bool:
    """Whether two lengths may be the same number, for names that are not all 0."""
    if a == b:
        return True
    more = a - b
    if not isinstance(more, Length):
        return False
    signs = {c > 0 for _, c in more.terms}
    return len(signs) > 1


def is_natural(length: Dim) -> bool:
    """Whether the length is never negative."""
    least, _ = bounds(length)
    return least is not None and least >= 0


def _ends(monomial: Monomial) -> tuple[int | None, int | None]:
    """The least and the greatest value of a product of atoms."""
    if not monomial:
        return 1, 1
    ranges = [(0, None) if isinstance(a, str) else _quotients(a) for a, _ in monomial]
    if len(monomial) == 1 and monomial[0][1] == 1:
        return ranges[0]
    signed = any(low is None or low < 0 for low, _ in ranges)
    return (None if signed else 0), None


def _quotients(atom: Floor) -> tuple[int | None, int | None]:
    low, high = bounds(atom.over)
    return (
        None if low is None else low // atom.by,
        None if high is None else high // atom.by,
    )


def as_length(value: object) -> Dim | None:
    """A value as an axis length, a text as a Length; None if it is not one.

    >>> as_length("2*n - n"), as_length("n - n + 3"), as_length(4), as_length(-1), as_length("n +")
    ('n', 3, 4, None, None)
    """
    if isinstance(value, Length):
        return value
    if isinstance(value, str):
        try:
            value = _parse(value)
        except ValueError:
            return None
        if isinstance(value, Length):
            return value
    if _is_int(value) and value >= 0:  # type: ignore[operator]  # it is an int
        return int(value)  # type: ignore[call-overload,no-any-return]
    return None


def _is_int(value: object) -> bool:
    """Whether the value is an int of Python or NumPy; booleans are not."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _length_by_name(name: str) -> Length:
    return _intern_length(((((name, 1),), 1),))


@lru_cache(maxsize=4096)
def _intern_length(terms: Terms) -> Length:
    """The length of terms that are already in order."""
    length = str.__new__(Length, _text(terms))
    length.terms = terms
    length.is_name = length.isidentifier()
    atoms = [atom for monomial, _ in terms for atom, _ in monomial]
    parts = [(atom,) if isinstance(atom, str) else atom.over.names for atom in atoms]
    length.names = tuple(sorted({name for part in parts for name in part}))
    return length


def _length(*parts: Mapping[Monomial, int] | Terms) -> Dim:
    """The sum of terms: a length, or an int where no name is left."""
    sums: Counter[Monomial] = Counter()
    for part in parts:
        for monomial, c in dict(part).items():
            sums[monomial] += c
    terms = tuple(sorted(((m, c) for m, c in sums.items() if c), key=_place))
    if not terms:
        return 0
    if len(terms) == 1 and not terms[0][0]:
        return terms[0][1]
    return _intern_length(terms)


def _place(term: tuple[Monomial, int]) -> tuple[int, list[tuple[str, int]]]:
    """The sort key of a term: high powers first, then by text; the number last."""
    monomial, _ = term
    return -sum(power for _, power in monomial), [(atom_text(a), -power) for a, power in monomial]


def _product(a: Terms, b: Terms) -> Dim:
    return _length(*[{_times(m, k): c * d} for m, c in a for k, d in b])


def _times(a: Monomial, b: Monomial) -> Monomial:
    powers: dict[Atom, int] = dict(a)
    for atom, power in b:
        powers[atom] = powers.get(atom, 0) + power
    return tuple(sorted(powers.items(), key=lambda item: atom_text(item[0])))


def _floor(length: Length, by: int) -> Dim:
    """``length // by``: take out the terms that ``by`` divides; the rest becomes an atom."""
    if by < 1:
        raise Unsupported(f"length: ({length})//{by}: divide by a positive number")
    if by == 1:
        return length
    quotient = _length({monomial: c // by for monomial, c in length.terms})
    rest = _length({monomial: c % by for monomial, c in length.terms})
    if not isinstance(rest, Length):  # 0 <= rest < by, so its quotient is 0
        return quotient
    nested = _nested(rest)
    # (x//2 + 1)//3 is (x + 2)//6: slices of slices then equal slices of the original
    if nested is not None:
        inner, added = nested
        return quotient + (inner.over + inner.by * added) // (inner.by * by)  # type: ignore[no-any-return]
    return quotient + _length({((Floor(rest, by), 1),): 1})


def _nested(length: Length) -> tuple[Floor, int] | None:
    """The one quotient and the number that add up to the length; else None."""
    (monomial, c), *rest = length.terms
    added = dict(rest).get((), 0)
    if c != 1 or len(monomial) != 1 or len(rest) != (added != 0):
        return None
    atom, power = monomial[0]
    return (atom, added) if isinstance(atom, Floor) and power == 1 else None


def _divide_exactly(length: Length, by: Length) -> Dim:
    """``length // by`` where the length is a multiple of ``by``; raise Unsupported otherwise."""
    quotient: list[Mapping[Monomial, int]] = []
    rest: Dim = length
    (lead, c), *_ = by.terms
    while isinstance(rest, Length):
        (monomial, d), *_ = rest.terms
        powers = dict(monomial)
        for atom, power in lead:
            powers[atom] = powers.get(atom, 0) - power
        if d % c or min(powers.values()) < 0:
            break
        term = {tuple([(a, p) for a, p in powers.items() if p]): d // c}
        quotient.append(term)
        rest = rest - _length(term) * by
    if rest.__class__ is not int or rest:
        raise Unsupported(
            f"length: {length} is not a multiple of {by}, so ({length})//({by}) is none"
        )
    return _length(*quotient)


# Texts --------------------------------------------------------------------------------------------


def atom_text(atom: Atom) -> str:
    """An atom as users type it."""
    return atom if isinstance(atom, str) else atom.text


def _bracketed(length: Length) -> str:
    return str(length) if length.is_name else f"({length})"


def _text(terms: Terms) -> str:
    """Terms as users type them, with one term in front."""
    first = next((k for k, (_, c) in enumerate(terms) if c > 0), 0)
    text = ""
    for k in (first, *(k for k in range(len(terms)) if k != first)):
        monomial, c = terms[k]
        sign = ("-" if c < 0 else "") if not text else (" - " if c < 0 else " + ")
        body = monomial_text(monomial, abs(c)) or "1"
        # Python parses -n//2 as (-n)//2.
        text += f"-({body})" if sign == "-" and is_quotient(monomial) and c == -1 else sign + body
    return text


def is_quotient(monomial: Monomial) -> bool:
    """Whether the length is exactly one quotient."""
    return len(monomial) == 1 and monomial[0][1] == 1 and not isinstance(monomial[0][0], str)


def monomial_text(monomial: Monomial, factor: int = 1) -> str:
    """A number times a monomial as users type it; an empty text for 1."""
    alone = factor == 1 and len(monomial) == 1
    factors = [str(factor)] if factor != 1 else []
    for atom, power in monomial:
        base = atom_text(atom)
        if not isinstance(atom, str) and not (alone and power == 1):
            base = f"({base})"
        factors.append(base if power == 1 else f"{base}**{power}")
    return "*".join(factors)


_SIGNS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
}
# Longer or deeper nested texts are not lengths that a person wrote.
_LONGEST = 1000
_NAME = re.compile(r"[^\W\d]\w*")


@lru_cache(maxsize=4096)
def _parse(text: str) -> Dim:
    """Parse a text by Python's grammar; raise ValueError for anything but a polynomial."""
    if text.isidentifier():
        return _length_by_name(text)
    if not text.isprintable():
        raise ValueError(f"{text!r} is not a polynomial in named lengths")
    if len(text) > _LONGEST:
        raise ValueError(f"a length of {len(text)} characters is too long to be read")
    # Names are taken literally: "lambda" is allowed, and no name is normalised.
    names: dict[str, str] = {}
    plain = _NAME.sub(lambda match: names.setdefault(match[0], f"n{len(names)}"), text)
    meant = {letter: name for name, letter in names.items()}
    try:
        return _evaluate_tree(ast.parse(plain, mode="eval").body, meant)
    except (SyntaxError, TypeError, Unsupported, ZeroDivisionError):
        raise ValueError(f"{text!r} is not a polynomial in named lengths") from None


def _evaluate_tree(tree: ast.expr, meant: Mapping[str, str]) -> Dim:
    match tree:
        case ast.Name(name) if meant[name].isidentifier():  # "n²" is not a name
            return _length_by_name(meant[name])
        case ast.Constant(int(value)) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(ast.USub(), x):
            return -_evaluate_tree(x, meant)
        case ast.BinOp(x, sign, y) if type(sign) in _SIGNS:
            a, b = _evaluate_tree(x, meant), _evaluate_tree(y, meant)
            if isinstance(sign, ast.Pow) and not (isinstance(b, int) and 0 <= b <= _LONGEST):
                raise ValueError(f"a power {b} of a length")
            return _SIGNS[type(sign)](a, b)  # type: ignore[no-any-return]  # of lengths
    raise ValueError("no polynomial")
