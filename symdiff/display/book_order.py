"""The order of factors and terms in books, and the plain text that lengths are compared by.

A product has numbers first, then constants, symbols in alphabetical order with their powers, powers
and exponentials, other functions (sines before cosines, all others alphabetically), brackets, and
integrals last.  A sum has falling degree in its symbols; terms of one degree are in alphabetical
order, functions before numbers.  A Taylor polynomial has rising degree.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from symdiff.display.forms import element_of
from symdiff.display.notation import ATOM, PLAIN, POWER, PRODUCT, SUM, digits
from symdiff.graph import ops
from symdiff.graph.leaves import number_of
from symdiff.graph.lengths import Length
from symdiff.graph.node import topological
from symdiff.graph.number import norm
from symdiff.scalars.vocabulary import FACTS
from symdiff.transforms.integrals import Integral

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from symdiff.graph.expr import Expr
    from symdiff.graph.number import Number

Exponent = int | Fraction
Powers = list[tuple["Expr", Exponent]]
Term = tuple["Number", "Expr | None"]

# The text of an expression that shares its parts may be too long to write; it is cut.
LONGEST = 4_000

_INFIX = {name: sign for name, facts in FACTS.items() if (sign := facts.infix)}
_CONSTANT, _SYMBOL, _EXPONENTIAL, _FUNCTION, _BRACKET, _INTEGRAL = range(6)


def flat_factors(x: Expr, is_named: Callable[[Expr], bool] = lambda _: False) -> Powers:
    """The bases and exponents of a product, through nested products, equal bases once.

    The walk stops at nodes that have a name.
    """
    total: dict[Expr, Exponent] = {}
    stack: list[tuple[Expr, Exponent]] = [(x, 1)]
    first = True
    while stack:
        y, p = stack.pop()
        inside = isinstance(y.op, ops.Product) and (first or not is_named(y))
        first = False
        if inside and (p == 1 or Fraction(p).denominator == 1):
            pairs = zip(reversed(y.args), reversed(y.op.exponents), strict=True)  # type: ignore[attr-defined]
            stack.extend((base, q * p) for base, q in pairs)
        else:
            total[y] = total.get(y, 0) + p
    return [(base, p) for base, p in total.items() if p]


class BookOrder:
    """Sort keys of factors and terms, with texts of nodes as they would be written.

    >>> import symdiff as sd
    >>> x, a = sd.symbols("x a")
    >>> f = sd.cos(x) * x * sd.exp(-x) * a
    >>> BookOrder().text(f)
    'a*x*exp(-x)*cos(x)'
    """

    def __init__(self) -> None:
        self._texts: dict[Expr, tuple[str, int]] = {}
        self._bars: dict[Expr, int] = {}

    def length(self, x: Expr) -> int:
        """The length of the text, without brackets that a bar in place of ``/`` needs not."""
        return len(self.text(x)) - self._bars.get(x, 0)

    def text(self, x: Expr) -> str:
        """The text of a scalar expression in one line, without spaces."""
        return self._piece(x)[0]

    def _piece(self, x: Expr) -> tuple[str, int]:
        if x not in self._texts:
            for node in topological([x]):
                if node not in self._texts:
                    text, level = self._written(node)
                    self._texts[node] = text[:LONGEST], level
                    self._bars[node] = self._free_brackets(node)
        return self._texts[x]

    def _free_brackets(self, node: Expr) -> int:
        """The number of brackets in the text round sums that are alone on one side of a bar."""
        if node.shape:
            return 0
        free = sum(self._bars.get(x, 0) for x in node.args if x.op is not node.op)
        powers = flat_factors(node) if isinstance(node.op, ops.Product) else []
        above, below = ([(x, p) for x, p in powers if (p > 0) is side] for side in (True, False))
        if below and len(above) == 1:
            ((x, p),) = above
            free += 2 * (p == 1 and isinstance(x.op, ops.Sum))
        return free

    def _wrapped(self, x: Expr, level: int) -> str:
        text, own = self._piece(x)
        return text if own >= level else f"({text})"

    def _written(self, node: Expr) -> tuple[str, int]:
        op = node.op
        value = number_of(node)
        if value is not None and not node.shape:
            piece = PLAIN.number(value)
            return piece.text, piece.level
        if isinstance(op, ops.Sum) and not node.shape:
            return self.sum_text(terms_of(node))
        if isinstance(op, ops.Product) and not node.shape:
            return self.product_text(1, flat_factors(node))
        if not node.args:
            return getattr(op, "name", "?"), ATOM
        element = element_of(node)
        if element is not None:
            name, places = element
            return f"{self.text(name)}[{','.join(map(str, places))}]", ATOM
        if op.name == "power":
            base, exponent = node.args
            return f"{self._wrapped(base, ATOM)}**{self._wrapped(exponent, POWER)}", POWER
        if op.name in _INFIX and len(node.args) == 2:
            left, right = (self._wrapped(y, PRODUCT) for y in node.args)
            return f"{left}{_INFIX[op.name]}{right}", SUM
        return f"{op.name}({','.join(map(self.text, node.args))})", ATOM

    def sum_text(self, terms: Sequence[Term]) -> tuple[str, int]:
        """The text of a sum in the order of books, and its level."""
        ordered = self.sorted_terms(terms)
        parts: list[str] = []
        for c, x in ordered:
            size = -c if c < 0 else c
            if x is None:
                body = PLAIN.number(size).text
            else:
                text, level = self.product_text(size, flat_factors(x))
                body = f"({text})" if level == SUM and len(ordered) > 1 else text
            parts.append(f"{'-' if c < 0 else '+' if parts else ''}{body}")
        alone = len(parts) == 1 and ordered[0][0] > 0
        return "".join(parts), PRODUCT if alone else SUM

    def product_text(self, c: Number, powers: Powers) -> tuple[str, int]:
        """The text of a coefficient times powers, and its level."""
        over, under = (c, 1) if isinstance(c, float) else (c.numerator, c.denominator)
        above = [(x, p) for x, p in self.sorted_factors(powers) if p > 0]
        below = [(x, -p) for x, p in self.sorted_factors(powers) if p < 0]
        if len(above) == 1 and c == 1 and not below and above[0][1] == 1:
            return self._piece(above[0][0])
        texts = [self._power(x, p) for x, p in above]
        if over != 1 or not texts:
            texts.insert(0, PLAIN.number(over).text)
        divisors = [self._power(x, p) for x, p in below]
        if under != 1:
            divisors.insert(0, digits(under))
        text = "*".join(texts)
        if divisors:
            text += "/" + (f"({'*'.join(divisors)})" if len(divisors) > 1 else divisors[0])
        level = POWER if len(texts) == 1 and not divisors else PRODUCT
        return text, level

    def _power(self, x: Expr, p: Exponent) -> str:
        if p == 1:
            return self._wrapped(x, POWER)
        if p == Fraction(1, 2):
            return f"sqrt({self.text(x)})"
        exponent = str(p) if Fraction(p).denominator == 1 else f"({p})"
        return f"{self._wrapped(x, ATOM)}**{exponent}"

    # Order

    def sorted_factors(self, powers: Powers) -> Powers:
        """The powers of bases in the order of a product."""
        return sorted(powers, key=lambda power: self.factor_key(*power))

    def factor_key(self, x: Expr, p: Exponent) -> tuple[Any, ...]:
        """The sort key of the power of a base in a product."""
        op = x.op
        text = self.text(x)
        if isinstance(op, Integral):  # nothing may stand behind its dx
            return _INTEGRAL, (-p, len(text)), text, 0
        if isinstance(op, ops.Size | ops.Count) and len(Length(op.name).terms) > 1:
            return _BRACKET, (-p, len(text)), text, 0  # n - 5
        if isinstance(op, ops.Exact | ops.Size | ops.Count) or number_of(x) is not None:
            return _CONSTANT, (), text, p
        if is_symbol(x):
            return _SYMBOL, (text.lower(),), text, -p
        if op.name in ("exp", "power"):
            return _EXPONENTIAL, (), text, -p
        if isinstance(op, ops.Sum) and Fraction(p).denominator == 1:
            return _BRACKET, (-p, len(text)), text, 0
        name = "sqrt" if isinstance(op, ops.Sum | ops.Product) else op.name
        return _FUNCTION, _SINES.get(name, (name, 1)), text, -p

    def sorted_terms(self, terms: Sequence[Term]) -> list[Term]:
        """The terms of a sum in their order; the first positive one leads.

        A Taylor polynomial has rising degree and begins with its lowest power.
        """
        rising = taylor_terms(terms)
        if rising is not None:
            return rising
        ordered = sorted(terms, key=lambda term: self.term_key(term[1]))
        first = next((k for k, (c, _) in enumerate(ordered) if not c < 0), 0)
        return [ordered[first], *ordered[:first], *ordered[first + 1 :]]

    def term_key(self, x: Expr | None) -> tuple[Any, ...]:
        """The sort key of a term in a sum; None is the number."""
        if x is None:
            return (0, 2)
        powers = self.sorted_factors(flat_factors(x))
        symbols = [(y, p) for y, p in powers if p > 0 and is_symbol(y)]
        degree = sum(p for _, p in symbols)
        letters = tuple([(self.text(y).lower(), self.text(y), -p) for y, p in symbols])
        rest = tuple([self.factor_key(y, p) for y, p in powers if not (p > 0 and is_symbol(y))])
        return -degree, int(not letters), letters, rest


def terms_of(node: Expr) -> list[Term]:
    """The terms of a sum."""
    op = node.op
    assert isinstance(op, ops.Sum)
    constant: list[Term] = [(op.const, None)] if op.const else []
    return [*zip(op.coefs, node.args, strict=True), *constant]


def taylor_terms(terms: Sequence[Term]) -> list[Term] | None:
    """The terms of a Taylor polynomial by rising degree; None for other sums.

    A graph does not say that ``series`` made it.  The coefficients do: they have denominators that
    grow with the power of one base, as 1, 1, 2, 6 in 1 + x + x**2/2 + x**3/6.  Two terms, and
    polynomials over one denominator, are not taken for series, but in powers of a difference.  Of
    these the graph has merged the first one into the sum: x - (x - 1)**2/2 + (x - 1)**3/3 - 1.
    """
    if len(terms) < 3 or any(isinstance(c, float) for c, _ in terms):
        return None
    factors = [dict(flat_factors(x)) if x is not None else {} for _, x in terms]
    base = difference_in_powers(factors)
    if base is None:
        bases = {x for powers in factors for x in powers}
        base = bases.pop() if len(bases) == 1 else None
        if base is None or isinstance(base.op, ops.Sum):
            return None
    degrees = [powers.get(base, 0) for powers in factors]
    if any(p < 0 for p in degrees):
        return None
    lower = [term for term, p in zip(terms, degrees, strict=True) if p == 0]
    merged = [*zip(degrees, terms, strict=True)]
    if isinstance(base.op, ops.Sum):
        merged = [term for term in merged if term[0]] + _linear_and_constant(base, lower)
    merged.sort(key=lambda term: term[0])
    divisors = [Fraction(c).denominator for _, (c, _) in merged]
    grow = divisors[0] != divisors[-1] or isinstance(base.op, ops.Sum)
    return [term for _, term in merged] if grow and divisors == sorted(divisors) else None


def difference_in_powers(terms: Iterable[Mapping[Expr, Exponent]]) -> Expr | None:
    """The sum of symbols and numbers that terms have in two powers from 2, as (x - 1)**2; or None.

    Multiplied out, such terms lose digits where the difference is small.  A second sum among the
    factors makes them something else: they may have common factors.
    """
    powers: dict[Expr, set[Exponent]] = {}
    for term in terms:
        for x, p in term.items():
            if isinstance(x.op, ops.Sum):
                powers.setdefault(x, set()).add(p)
    (base, exponents), *others = powers.items() or [(None, ())]
    if base is None or others or sum(p >= 2 for p in exponents) < 2:
        return None
    return base if all(map(_is_constant_or_symbol, base.args)) else None


def _is_constant_or_symbol(x: Expr) -> bool:
    return is_symbol(x) or isinstance(x.op, ops.Exact)


def _linear_and_constant(base: Expr, terms: Sequence[Term]) -> list[tuple[Exponent, Term]]:
    """Terms as a multiple of the sum ``base`` and a rest, each with its degree."""
    op = base.op
    assert isinstance(op, ops.Sum)
    coefficients = {x: Fraction(c) for c, x in terms}
    inside = {x: Fraction(c) for x, c in zip(base.args, op.coefs, strict=True)}
    ratios = {coefficients.get(x, Fraction(0)) / c for x, c in inside.items()}
    lower: list[tuple[Exponent, Term]] = []
    if len(ratios) == 1 and ratios != {0}:
        (ratio,) = ratios
        lower.append((1, (norm(ratio), base)))
        coefficients = {x: c for x, c in coefficients.items() if x not in inside}
        coefficients[None] = coefficients.get(None, Fraction(0)) - ratio * Fraction(op.const)
    return lower + [(0, (norm(c), x)) for x, c in coefficients.items() if c]


def is_symbol(x: Expr) -> bool:
    """Whether a node is a symbol, or an element of one."""
    if isinstance(x.op, ops.Symbol):
        return True
    element = element_of(x)
    return element is not None and not x.shape and isinstance(element[0].op, ops.Symbol)


# Sines stand next to cosines, in front of them.
_SINES = {"sin": ("cos", 0), "sinh": ("cosh", 0)}
