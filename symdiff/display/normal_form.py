"""The normal form of formulas for reading: products and sums regrouped by exact algebra.

A derivative keeps the nesting of the chain rule.  A book multiplies it out where that is shorter,
merges like terms, puts common factors in front and writes one fraction.  ``regrouped`` builds an
expression of that form.  It has the same value wherever the old one has one; the text of its result
is regrouped to itself.

A scalar region of sums, products and powers becomes a sum of terms: a coefficient times powers of
*bases*.  A base is a symbol, a function, or a sum in brackets.  The region is then written in
several ways: as it is, with the common factor in front, multiplied out, factored.  The shortest
one wins, the earlier one of equal lengths.  Sines and cosines, and the hyperbolic ones, may trade
``sin**2 + cos**2`` for 1.
"""

from __future__ import annotations

import math
from copy import copy
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING

import sympy as sp
from sympy.polys.rings import PolyElement, ring

from symdiff.display.book_order import (
    LONGEST,
    BookOrder,
    Exponent,
    difference_in_powers,
    is_symbol,
)
from symdiff.display.reading import conjuncts, is_reciprocal, split_factor
from symdiff.graph import number, ops
from symdiff.graph.algebra import PRIMITIVES, combine, int_power, mul, power, primitive, scale
from symdiff.graph.expr import rebuild
from symdiff.graph.leaves import number_node, number_of, split_coefficient
from symdiff.graph.node import topological

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from symdiff.graph.expr import Expr
    from symdiff.graph.number import Number

# The powers of bases in a term, sorted by the bases' serial numbers.
Monomial = tuple[tuple["Expr", Exponent], ...]
Terms = dict[Monomial, "Number"]
Term = tuple["Number", Monomial]

# The most terms of a sum that is multiplied out, and the largest exponent in it.
_TERMS = 60
_EXPONENT = 12
# The most products of terms for one expression, and the largest polynomial that is factored.
_WORK = 20_000
_VARIABLES, _DEGREE = 8, 24
_ROUNDS = 4
_DEPTH = 40  # the deepest nesting of brackets
_ONE: Monomial = ()

_EXP, _POWER = PRIMITIVES["exp"], PRIMITIVES["power"]
_WHERE, _SIGMOID, _SIGN = PRIMITIVES["where"], PRIMITIVES["sigmoid"], PRIMITIVES["sign"]


def regrouped(expr: Expr, entries: int = 1) -> Expr:
    """Return ``expr`` regrouped for reading.

    ``entries`` formulas that are shown together share the work of one.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> print(regrouped(sd.diff(x**2 * sd.exp(-x), x)))
    x*exp(-x)*(2 - x)
    """
    most = _WORK // entries
    read = _settled(expr, most, multiplies_out=True)
    if read is not None:
        return read
    # Too large to be multiplied out; with like terms merged it may be small enough.
    read = _settled(expr, most, multiplies_out=False)
    if read is None:
        return expr
    smaller = _settled(read, most, multiplies_out=True)
    read = read if smaller is None else smaller
    order = BookOrder()
    return read if order.length(read) <= order.length(expr) else expr


def _settled(expr: Expr, most: int, multiplies_out: bool) -> Expr | None:
    """Regroup until nothing changes; None where that would take long."""
    try:
        for _ in range(_ROUNDS):
            again = _once(expr, most, multiplies_out)
            if again is expr:
                break
            expr = again
    except _TooMuchError:
        return None
    return expr


def _once(expr: Expr, most: int, multiplies_out: bool) -> Expr:
    region = _Region(most, multiplies_out)
    result = region.run(expr)
    both = {key for key, contents in region.typed.items() if len(contents) > 1}
    if not both:
        return result
    # b - x and x - b both occur: one of them becomes the other.
    again = _Region(most, multiplies_out)
    again.typed = {key: region.typed[key] for key in both}
    return again.run(expr)


class _TooMuchError(Exception):
    """Raised when regrouping would take long; the formula then stays as it is."""


class _Region:
    """Regroups all scalar regions of an expression, from its leaves to its result."""

    def __init__(self, most: int, multiplies_out: bool) -> None:
        self._most, self._multiplies_out = most, multiplies_out
        self._written: dict[Expr, Terms] = {}  # the terms of nodes of the old expression
        self._done: dict[Expr, Expr] = {}
        self.order = BookOrder()
        # For each sum in a product, its multiples by which it stands there.
        self.typed: dict[frozenset[tuple[Monomial, Number]], set[Fraction]] = {}
        self._inside: dict[Expr, Terms] = {}  # the terms of sums that are bases
        self._terms_by_form: dict[Expr, Terms] = {}
        self._best: dict[frozenset[tuple[Monomial, Number]], Expr] = {}
        self._open: set[frozenset[tuple[Monomial, Number]]] = set()  # sums that are being written
        self._betas: dict[frozenset[Expr], Expr] = {}
        self._work = [0]

    def run(self, expr: Expr) -> Expr:
        for node in topological([expr]):
            terms = self._terms(node) if not node.shape and node.dtype is not bool else None
            if terms is None or len(terms) > _TERMS:
                args = tuple([self._operand(node, x) for x in node.args])
                read = rebuild(node, args) if node.args else node
                self._done[node] = self._sum_of_arrays(self._without_guard(read))
            else:
                self._written[node] = terms
        return self._expr(expr)

    def _without_guard(self, x: Expr) -> Expr:
        """A selection without a first choice that the last one makes as well.

        ``beta(x, y)`` and ``beta(y, x)`` become one of them.
        """
        if x.op.name == "beta":
            return self._betas.setdefault(frozenset(x.args), x)
        if x.op is _WHERE and x.args[2].op is _WHERE:
            condition, first, rest = x.args
            if first is rest.args[2] and _exclude(condition, rest.args[0]):
                return rest
        return x

    def _expr(self, node: Expr) -> Expr:
        """The regrouped node."""
        if node not in self._done:
            terms, op = self._written[node], node.op
            alone = isinstance(op, ops.Sum) and len(op.coefs) == 1 and not op.const
            if alone and _is_polynomial(terms):  # 2*(x + y)
                coefficient, inner = split_coefficient(node)
                assert inner is not None
                inside = self._terms_of(inner)
                signs = [c < 0 for c in inside.values()]
                if all(signs) or (coefficient < 0 and any(signs)):
                    # -(x + y)/4, not (-x - y)/4, and (y - x)/2, not -(x - y)/2
                    inside = {m: number.times(-1, c) for m, c in inside.items()}
                    coefficient = number.times(-1, coefficient)
                self._done[node] = scale(coefficient, self.best(inside))
            else:
                self._done[node] = self.best(terms)
        return self._done[node]

    def _operand(self, node: Expr, x: Expr) -> Expr:
        """The regrouped operand of a node; as it was where a float would have to be rounded."""
        read, op = self._expr(x), node.op
        floats = isinstance(op, ops.Sum) and any(isinstance(c, float) for c in op.coefs)
        return x if floats and split_coefficient(read)[0] != 1 else read

    def _sum_of_arrays(self, node: Expr) -> Expr:
        """A sum of arrays with the common factor of their scalar factors in front."""
        op = node.op
        if not node.shape or not isinstance(op, ops.Sum) or op.const or len(node.args) < 2:
            return node
        scalars, cores = zip(*map(split_factor, node.args), strict=True)
        terms_of = [self._as_terms(x) for x in scalars]
        if not all(terms_of):
            return node
        singles = list(map(self._single, terms_of))
        common = _common(dict.fromkeys([m for _, m in singles], 1))
        if len({m for _, m in singles}) == 1:
            common = singles[0][1]
        if not common:
            return node
        inverse = (1, _raised_monomial(common, -1))
        terms = []
        for c, single, core in zip(op.coefs, singles, cores, strict=True):
            d, rest = _term_product((c, _ONE), single, inverse)
            terms.append((d, mul(self.build(1, rest), core)))
        return mul(self.build(1, common), combine("add", terms))

    def _terms_of(self, node: Expr) -> Terms:
        """The terms of a node that is an operand; a node that is no sum or product is a base."""
        if node in self._written:
            return self._written[node]
        done = self._done[node]
        value = number_of(done)
        if value is None or isinstance(value, float):
            return {((done, 1),): 1}
        return {_ONE: value} if value else {}

    # From nodes to terms

    def _terms(self, node: Expr) -> Terms | None:
        """The terms of a scalar node; None for a node that is a base, or that has floats."""
        op = node.op
        if isinstance(op, ops.Sum):
            if not node.args or any(isinstance(c, float) for c in (*op.coefs, op.const)):
                return None
            total: Terms = {_ONE: op.const} if op.const else {}
            for c, x in zip(op.coefs, node.args, strict=True):
                for monomial, d in self._terms_of(x).items():
                    _add(total, monomial, number.times(c, d))
            return total
        if isinstance(op, ops.Product):
            if any(x.dtype is bool and number_of(x) is None for x in node.args):
                return None
            result: Terms = {_ONE: 1}
            for x, p in zip(node.args, op.exponents, strict=True):
                if isinstance(x.op, ops.Sum) and x in self._written:
                    self._keep_sign(self._written[x])
                result = self._times(result, self._raised(self._terms_of(x), p))
            return result
        if is_reciprocal(node):
            return {((primitive("expm1", self._expr(node.args[1])), -1),): 1}
        if op is _EXP:
            return self._exponential(self._terms_of(node.args[0]))
        if op is _POWER:
            return self._general_power(self._expr(node.args[0]), self._terms_of(node.args[1]))
        if op is _WHERE and number_of(self._expr(node.args[1])) == 0:
            condition, _, value = node.args
            base = _zero_base(condition)
            if base is not None and _singular_at(value, base):
                return self._terms_of(value)
        return None

    def _exponential(self, exponent: Terms) -> Terms:
        """exp(c*u) as exp(u)**c: powers of one exponential are like powers."""
        if not exponent:
            return {_ONE: 1}
        c = self._content(exponent)
        base = primitive("exp", self.best(_divided(exponent, c)))
        return {((base, _exponent(c)),): 1}

    def _general_power(self, base: Expr, exponent: Terms) -> Terms | None:
        """b**(c*u + k) as (b**u)**c * b**k for integers c and k."""
        rest = {m: c for m, c in exponent.items() if m}
        shift = exponent.get(_ONE, 0)
        if number_of(base) is not None:
            return None  # 3**(x + 1), not 3*3**x
        if not rest or isinstance(shift, float) or Fraction(shift).denominator != 1:
            return None
        c = self._content(rest).numerator  # (b**u)**(1/2) is not b**(u/2) for a negative b
        core = self.best(_divided(rest, Fraction(c)))
        shifted: Terms = self._raised(self._as_terms(base), int(shift)) if shift else {_ONE: 1}
        return self._times(shifted, {((power(base, core), c),): 1})

    def _as_terms(self, x: Expr) -> Terms:
        """The terms of an expression in normal form."""
        if x in self._terms_by_form:
            return self._terms_by_form[x]
        other = copy(self)  # it knows the same, but of other nodes
        other._written, other._done = {}, {}
        for node in topological([x]):
            terms = other._terms(node) if not node.shape and node.dtype is not bool else None
            if terms is None:
                other._done[node] = node
            else:
                other._written[node] = terms
        self._count(len(other._written))
        self._terms_by_form[x] = other._terms_of(x)
        return self._terms_by_form[x]

    # Arithmetic of terms

    def _count(self, work: int) -> None:
        self._work[0] += work
        if self._work[0] > self._most:
            raise _TooMuchError

    def _times(self, a: Terms, b: Terms) -> Terms:
        if not a or not b:
            return {}
        c, monomial = _term_product(self._single(a), self._single(b))
        return {monomial: c}

    def _single(self, terms: Terms) -> Term:
        """Terms as one term: a sum becomes a base, behind its content and common factor."""
        if len(terms) == 1:
            ((monomial, c),) = terms.items()
            return c, monomial
        c, common, rest = self.split(terms)
        if len(rest) < 2:
            ((monomial, d),) = rest.items() or [(_ONE, 0)]
            return _term_product((c, common), (d, monomial))
        return _term_product((c, common), (1, ((self._sum(rest), 1),)))

    def split(self, terms: Terms) -> tuple[Number, Monomial, Terms]:
        """The content with the sign of the leading term, the common factor, and the rest."""
        common = _ONE
        rest = terms
        while True:
            factor = _common(rest)
            common = _product(common, factor)[1]
            divided = _multiplied_out(rest, {_raised_monomial(factor, -1): 1})
            rest = self._flattened(divided)
            if rest is divided or len(rest) < 2:
                break
        if not rest:
            return 0, _ONE, {}
        content = self._content(rest)
        contents = self.typed.get(_up_to_a_factor(rest), ())
        if len(contents) == 1:
            (typed,) = contents
            # a - b/2 stays so, as b - x does; 2*a + 2*b becomes 2*(a + b).
            content *= typed.denominator if typed > 0 else -typed.denominator
        return number.norm(content), common, _divided(rest, content)

    def _keep_sign(self, terms: Terms) -> None:
        """Note a sum as it was typed: b - x stays so, and x - b becomes -(b - x)."""
        if len(terms) > 1 and not _common(terms):
            self.typed.setdefault(_up_to_a_factor(terms), set()).add(self._content(terms))

    def _content(self, terms: Terms) -> Fraction:
        """The largest rational number that divides all coefficients, signed as the leading one."""
        exact = [Fraction(c) for c in terms.values()]
        over = math.gcd(*(c.numerator for c in exact))
        content = Fraction(over, math.lcm(*(c.denominator for c in exact)))
        return -content if self._is_negative(terms) else content

    def _is_negative(self, terms: Terms) -> bool:
        """Whether the leading term of a sum is negative."""
        if all(c < 0 for c in terms.values()):
            return True
        order = self.order
        first = min(terms, key=lambda m: order.term_key(self.build(1, m)) if m else (1,))
        return terms[first] < 0

    def _flattened(self, terms: Terms) -> Terms:
        """The terms with those of inner sums that stand alone, so that like terms meet."""
        while any(self._is_bracket(m) for m in terms):
            self._count(len(terms))
            flat: Terms = {}
            for monomial, c in terms.items():
                inner = self._inside[monomial[0][0]] if self._is_bracket(monomial) else {_ONE: 1}
                left = _ONE if self._is_bracket(monomial) else monomial
                for m, d in inner.items():
                    _add(flat, m or left, number.times(c, d))
            terms = flat
        return terms

    def _is_bracket(self, monomial: Monomial) -> bool:
        return len(monomial) == 1 and monomial[0][1] == 1 and monomial[0][0] in self._inside

    def _sum(self, terms: Terms) -> Expr:
        """A sum as a base."""
        base = combine("add", [(c, self.build(1, m)) for m, c in terms.items()])
        self._inside.setdefault(base, terms)
        return base

    def _raised(self, terms: Terms, p: Exponent) -> Terms:
        if p == 1:
            return terms
        if not terms:
            return {} if p > 0 else {((number_node(0), p),): 1}
        if Fraction(p).denominator == 1:
            c, monomial = self._single(terms)
            e, raised = _product(_raised_monomial(monomial, p), _ONE)
            value = number.raised(c, p)
            if value is None or isinstance(value, float):
                return {((number_node(c), p), *raised): e}
            return {raised: number.times(value, e)}
        if len(terms) == 1:
            ((monomial, c),) = terms.items()
            if c == 1 and len(monomial) == 1 and monomial[0][1] in (1, -1):
                return {_raised_monomial(monomial, p): 1}
            if not monomial:
                value = number.raised(c, p)
                if value is not None and not isinstance(value, float):
                    return {_ONE: value}
        base = self.best(terms)
        self._inside.setdefault(base, terms)
        return {((base, p),): 1}

    # Writing terms

    def build(self, c: Number, monomial: Monomial) -> Expr:
        """The expression of a term."""
        self._count(1 + len(monomial))
        exponents: list[tuple[Number, Expr]] = []
        powers: dict[Expr, list[tuple[Number, Expr]]] = {}
        rest: dict[Expr, Exponent] = {}
        for x, p in monomial:
            if x.op is _EXP:
                exponents.append((p, x.args[0]))
            elif x.op is _POWER and Fraction(p).denominator == 1:
                powers.setdefault(x.args[0], []).append((p, x.args[1]))
            else:
                rest[x] = p
        c = number.times(c, _write_shorter(rest))
        factors: list[Expr] = []
        for base, parts in powers.items():
            shift = rest.get(base, 0)
            if shift and Fraction(shift).denominator == 1:
                del rest[base]
                parts = [*parts, (1, number_node(shift))]
            factors.append(power(base, combine("add", parts)))
        if exponents:
            exponent = self.joined(exponents)
            if not _write_sech(exponent, rest):
                factors.append(primitive("exp", exponent))
        factors += [int_power(x, p, True) for x, p in rest.items()]
        return scale(c, reduce(lambda a, b: mul(a, b, True), factors, number_node(1)))

    def joined(self, exponents: Sequence[tuple[Number, Expr]]) -> Expr:
        """The sum of exponents."""
        if len(exponents) == 1:
            return scale(exponents[0][0], exponents[0][1])
        total: Terms = {}
        for p, x in exponents:
            for monomial, c in self._as_terms(x).items():
                _add(total, monomial, number.times(p, c))
        return self.best(total)

    def best(self, terms: Terms) -> Expr:
        """The shortest of the ways to write terms."""
        if not terms:
            return number_node(0)
        terms = self._flattened(terms)
        if any(isinstance(c, float) for c in terms.values()):
            raise _TooMuchError  # a number beyond those that are written exactly
        if _is_polynomial(terms):
            return self._flat(terms)  # a polynomial that is written out stays so
        if difference_in_powers(map(dict, terms)) is not None:
            return self._sum(terms)
        key = frozenset(terms.items())
        if key not in self._best:
            shape = _up_to_a_factor(terms)
            self._open.add(shape)
            if len(self._open) > _DEPTH:
                raise _TooMuchError
            self._count(20 * len(terms))
            forms = [form for some in self._variants(terms) for form in self._forms(some)]
            self._best[key] = min(forms, key=self.length)
            self._open.discard(shape)
        return self._best[key]

    def length(self, x: Expr) -> int:
        """The length of a form; raises _TooMuchError for one that is no formula to read."""
        length = self.order.length(x)
        if length > LONGEST // 2:
            raise _TooMuchError
        return length

    def _variants(self, terms: Terms) -> list[Terms]:
        """The terms, and the same with tangents as quotients where sines or cosines occur."""
        variants = [terms]
        if not self._multiplies_out:
            return variants
        bases = self._all_bases(terms)
        swaps: dict[Expr, Terms] = {}
        for x in bases:
            over, under = _QUOTIENTS.get(x.op.name, (None, None))
            family = _FAMILIES.get(under or "", ())
            alike = [y for y in bases if y is not x and y.op.name in family and _is_same(x, y)]
            if under and alike:
                monomial = [(primitive(under, *x.args), -1)]
                if over:
                    monomial.append((primitive(over, *x.args), 1))
                swaps[x] = {_sorted(monomial): 1}
        exponentials = {x.args[0] for x in bases if x.op is _EXP}
        for x in bases:
            if x.op.name in ("sigmoid", "sech") and exponentials:
                written = self._by_exponentials(x, exponentials)
                if written is not None:
                    swaps[x] = written
        if swaps:
            variants.append(self._replaced(terms, swaps))
            bases = self._all_bases(variants[-1])
        shorter: dict[Expr, Terms] = {}
        for x in bases:
            inner = self._inside.get(x)
            if inner is not None:
                reduced = _by_squares(inner, set(bases))[0]
                if len(reduced) < len(inner):
                    shorter[x] = reduced
        if shorter:
            variants.append(self._replaced(variants[-1], shorter))
        return variants

    def _by_exponentials(self, x: Expr, cores: set[Expr]) -> Terms | None:
        """sigmoid(u) or sech(u) by exp(u), if the exponential of this argument occurs."""
        times = 1 if x.op.name == "sigmoid" else 2
        argument = self._as_terms(x.args[0])
        grown = self._exponential({m: number.times(-times, c) for m, c in argument.items()})
        ((monomial, _),) = grown.items()
        if not all(y.op is _EXP and y.args[0] in cores for y, _ in monomial):
            return None
        below = self._raised({_ONE: 1, monomial: 1}, -1)
        if times == 1:
            return below
        return self._times({_raised_monomial(monomial, Fraction(1, 2)): 2}, below)

    def _all_bases(self, terms: Terms) -> list[Expr]:
        """All bases, those of inner sums too, in the order of creation."""
        found: set[Expr] = set()
        stack = [x for m in terms for x, _ in m]
        while stack:
            x = stack.pop()
            if x not in found:
                found.add(x)
                stack += [y for m in self._inside.get(x, {}) for y, _ in m]
        return sorted(found, key=lambda x: x.serial)

    def _replaced(self, terms: Terms, swaps: Mapping[Expr, Terms]) -> Terms:
        total: Terms = {}
        for monomial, c in terms.items():
            product: Terms = {_ONE: c}
            for x, p in monomial:
                if x in swaps:
                    inner = swaps[x]
                elif x in self._inside:
                    inner = self._replaced(self._inside[x], swaps)
                else:
                    inner = {((x, 1),): 1}
                product = self._times(product, self._raised(inner, p))
            for m, d in product.items():
                _add(total, m, d)
        return total

    def _forms(self, terms: Terms) -> Iterable[Expr]:
        if not terms:
            yield number_node(0)
            return
        if len(terms) == 1:
            ((monomial, c),) = terms.items()
            yield self._term(c, monomial)
            return
        c, common, rest = self.split(terms)
        if not rest:
            yield number_node(0)
            return
        expanded = self._expanded(rest) if self._multiplies_out else None
        if expanded is not None:
            moved = expanded is not rest or any(p < 0 for _, p in common)
            for polynomial in _by_squares(expanded) if moved else [expanded]:
                if not polynomial:
                    yield number_node(0)
                    return
                if polynomial is not rest:
                    factored = _factored(polynomial, self)
                    if factored is not None:
                        yield self._term(*_term_product((c, common), factored))
                d, inner, left = self.split(polynomial)
                yield self._around(*_term_product((c, common), (d, inner)), left)
                if polynomial is not rest:
                    yield self._flat(_multiplied_out(polynomial, {common: c}))
        yield self._around(c, common, rest)
        yield self._flat(terms)

    def _around(self, c: Number, common: Monomial, rest: Terms) -> Expr:
        """A common factor in front of a sum in brackets."""
        if len(rest) == 1:
            ((monomial, d),) = rest.items()
            return self._term(*_term_product((c, common), (d, monomial)))
        return self._term(*_term_product((c, common), (1, ((self._sum(rest), 1),))))

    def _flat(self, terms: Terms) -> Expr:
        return combine("add", [(1, self._term(c, m)) for m, c in terms.items()])

    def _term(self, c: Number, monomial: Monomial) -> Expr:
        """A term whose brackets have the form that is shortest for each."""
        term: Term = c, _ONE
        for x, p in monomial:
            inner = self._inside.get(x)
            if inner is None or len(inner) == 1 or Fraction(p).denominator != 1:
                term = _term_product(term, (1, ((x, p),)))
            else:
                d, factors = self._brackets(x)
                value = number.raised(d, p)
                assert value is not None
                term = _term_product(term, (value, _raised_monomial(factors, p)))
        return self.build(*self._flip(*term))

    def _brackets(self, x: Expr) -> Term:
        """A sum in brackets as a product of its factors, if that is what is shortest."""
        if _up_to_a_factor(self._inside[x]) in self._open:
            return 1, ((x, 1),)
        terms = self._as_terms(self.best(self._inside[x]))
        if len(terms) == 1:
            ((monomial, c),) = terms.items()
            return c, monomial
        if frozenset(terms.items()) == frozenset(self._inside[x].items()):
            return 1, ((x, 1),)
        return self._single(terms)

    def _flip(self, c: Number, monomial: Monomial) -> Term:
        """A negative coefficient turns a bracket that has a negative term."""
        if not c < 0:
            return c, monomial
        for k, (x, p) in enumerate(monomial):
            inner = self._inside.get(x)
            if inner is None or p % 2 != 1 or len(inner) < 2:
                continue
            if any(d < 0 for d in inner.values()):
                turned = self._sum({m: number.times(-1, d) for m, d in inner.items()})
                return -c, _sorted([*monomial[:k], (turned, p), *monomial[k + 1 :]])
        return c, monomial

    def _expanded(self, terms: Terms) -> Terms | None:
        """The terms with sums multiplied out; None if they become too many."""
        total: Terms = {}
        changed = False
        for monomial, c in terms.items():
            parts: list[Terms] = [{_ONE: c}]
            for x, p in monomial:
                inner = self._inside.get(x)
                whole = p // 1 if inner is not None else 0
                if inner is None or whole < 1 or whole > _EXPONENT:
                    parts.append({((x, p),): 1})
                    continue
                changed = True
                inside = self._expanded(inner)
                if inside is None:
                    return None
                parts += [inside] * int(whole)
                if p != whole:
                    parts.append({((x, p - whole),): 1})
            product = parts[0]
            for part in parts[1:]:
                self._count(len(product) * len(part))
                product = _multiplied_out(product, part)
                if len(product) > _TERMS:
                    return None
            for m, d in product.items():
                _add(total, m, d)
        # What was multiplied out may contain brackets that were inside; negative powers stay.
        is_quotient = any(p < 0 for m in total for _, p in m)
        return (total if is_quotient else self._expanded(total)) if changed else terms


# Terms --------------------------------------------------------------------------------------------


def _exponent(p: Number) -> Exponent:
    value = Fraction(p)
    return value.numerator if value.denominator == 1 else value


def _sorted(powers: Iterable[tuple[Expr, Exponent]]) -> Monomial:
    return tuple(sorted(powers, key=lambda power: power[0].serial))


def _add(terms: Terms, monomial: Monomial, c: Number) -> None:
    total = number.plus(terms.get(monomial, 0), c)
    if total:
        terms[monomial] = total
    else:
        terms.pop(monomial, None)


def _term_product(first: Term, *others: Term) -> Term:
    """The product of terms."""
    c, monomial = first
    for d, other in others:
        e, monomial = _product(monomial, other)
        c = number.times(number.times(c, d), e)
    return c, monomial


def _raised_monomial(monomial: Monomial, p: Exponent) -> Monomial:
    return tuple([(x, _exponent(q * p)) for x, q in monomial])


def _product(a: Monomial, b: Monomial) -> Term:
    """The product of monomials; integer powers of numbers become a coefficient."""
    powers = dict(a)
    for x, p in b:
        powers[x] = powers.get(x, 0) + p
    _write_absolute(powers)
    c: Number = 1
    kept = []
    for x, p in powers.items():
        if not p:
            continue
        value = number_of(x)
        if value and not isinstance(value, float) and Fraction(p).denominator == 1:
            raised = number.raised(value, p)
            if raised is not None and not isinstance(raised, float):
                c = number.times(c, raised)
                continue
        kept.append((x, _exponent(p)))
    return c, _sorted(kept)


def _write_absolute(powers: dict[Expr, Exponent]) -> None:
    """Write x*sign(x) as abs(x), and for symbols abs(x)*sign(x) as x; both hold at 0, too.

    In denominators, too: 1/(x*sign(x)) is 1/abs(x), and neither has a value at 0.
    """
    for sign in [x for x in powers if x.op is _SIGN]:
        (x,) = sign.args
        absolute = primitive("abs", x)
        swaps = {absolute: x, x: absolute} if is_symbol(x) else {x: absolute}
        one = 1 if powers[sign] > 0 else -1
        while powers[sign] * one >= 1:
            base = next((y for y in swaps if powers.get(y, 0) * one >= 1), None)
            if base is None:
                break
            powers[sign] -= one
            powers[base] -= one
            _multiply_in(powers, swaps[base], one)


def _multiplied_out(a: Terms, b: Terms) -> Terms:
    total: Terms = {}
    for m, c in a.items():
        for n, d in b.items():
            e, product = _term_product((c, m), (d, n))
            _add(total, product, e)
    return total


def _common(terms: Terms) -> Monomial:
    """The common factor: the lowest power of each base; of exponentials the one nearest to 0."""
    lowest: dict[Expr, Exponent] = {}
    monomials = [dict(m) for m in terms]
    for x in {x: None for m in terms for x, _ in m}:
        powers = [m.get(x, 0) for m in monomials]
        if x.op is _EXP or x.op is _POWER:
            if all(p > 0 for p in powers):
                lowest[x] = min(powers)
            elif all(p < 0 for p in powers):
                lowest[x] = max(powers)
        else:
            lowest[x] = min(powers)
    return _sorted([(x, p) for x, p in lowest.items() if p])


def _up_to_a_factor(terms: Terms) -> frozenset[tuple[Monomial, Number]]:
    """A key of terms that their multiples by a number have, too."""
    first = min(terms, key=lambda m: [(x.serial, p) for x, p in m])
    unit = Fraction(terms[first])
    return frozenset((m, number.norm(Fraction(c) / unit)) for m, c in terms.items())


def _is_polynomial(terms: Terms) -> bool:
    return all(is_symbol(x) and p > 0 and p % 1 == 0 for m in terms for x, p in m)


def _divided(terms: Terms, by: Fraction) -> Terms:
    return {m: number.norm(Fraction(c) / by) for m, c in terms.items()}


def _zero_base(condition: Expr) -> Expr | None:
    """The base b of a condition ``b == 0 and ...``, at which a power has no derivative."""
    if condition.op.name != "logical_and":
        return None
    for part in condition.args:
        if part.op.name == "equal" and number_of(part.args[1]) == 0:
            return part.args[0] if number_of(part.args[0]) is None else None
    return None


def _exclude(condition: Expr, other: Expr) -> bool:
    """Whether ``x <= 0`` of the other condition contradicts positive numbers of the first one."""
    positive = [y for x in conjuncts(condition) for y in _above_zero(x)]
    sums = [combine("add", [(1, x), (1, y)]) for x in positive for y in positive]
    parts = [x.args for x in conjuncts(other) if x.op.name == "less_equal"]
    return any(number_of(b) == 0 and a in {*positive, *sums} for a, b in parts)


def _above_zero(condition: Expr) -> list[Expr]:
    """The operand of ``0 < x``."""
    below, *above = condition.args if condition.op.name == "less" else (condition,)
    return above if number_of(below) == 0 else []


def _singular_at(value: Expr, base: Expr) -> bool:
    """Whether a formula has a power, logarithm or reciprocal of ``base``."""
    for node in topological([value]):
        if node.op is _POWER or node.op is PRIMITIVES["log"]:
            if node.args[0] is base:
                return True
        elif isinstance(node.op, ops.Product):
            pairs = zip(node.args, node.op.exponents, strict=True)
            if any(x is base and p < 0 for x, p in pairs):
                return True
    return False


def _is_same(x: Expr, y: Expr) -> bool:
    """Whether two functions have the same argument."""
    return len(x.args) == len(y.args) == 1 and x.args[0] is y.args[0]


# Functions that are quotients of others.
_QUOTIENTS: dict[str, tuple[str | None, str]] = {
    "tan": ("sin", "cos"),
    "tanh": ("sinh", "cosh"),
    "sech": (None, "cosh"),
}
_FAMILIES = {"cos": ("sin", "cos", "tan"), "cosh": ("sinh", "cosh", "tanh", "sech")}
# The square of the first is constant plus sign times the square of the second.
_SQUARES = [
    ("sin", 1, -1, "cos"),
    ("cos", 1, -1, "sin"),
    ("sinh", -1, 1, "cosh"),
    ("cosh", 1, 1, "sinh"),
    ("tanh", 1, -1, "sech"),
    ("sech", 1, -1, "tanh"),
]


def _multiply_in(powers: dict[Expr, Exponent], x: Expr, p: Exponent) -> None:
    """Multiply a product by a power, which may stand there already."""
    powers[x] = powers.get(x, 0) + p


def _write_shorter(powers: dict[Expr, Exponent]) -> Number:
    """Write quotients as tangents, products of half angles as sines; return a coefficient.

    sin(u)**p/cos(u)**p is tan(u)**p, and sin(u/2)*cos(u/2) is sin(u)/2.
    """
    c: Number = 1
    for x, p in [*powers.items()]:
        if x.op is not PRIMITIVES["sin"] or not p > 0:
            continue
        cosine = primitive("cos", *x.args)
        half, whole = split_coefficient(x.args[0])
        if powers.get(cosine) == -p:
            del powers[x], powers[cosine]
            _multiply_in(powers, primitive("tan", *x.args), p)
        elif powers.get(cosine) == p == 1 and whole is not None and half == Fraction(1, 2):
            del powers[x], powers[cosine]
            _multiply_in(powers, primitive("sin", whole), 1)
            c = half
    return c


def _write_sech(exponent: Expr, powers: dict[Expr, Exponent]) -> bool:
    """Write exp(-p*u/2)*sigmoid(u)**p as (sech(u/2)/2)**p, if the factors are these."""
    for x, p in powers.items():
        if x.op is _SIGMOID and scale(Fraction(-p) / 2, x.args[0]) is exponent:
            del powers[x]
            _multiply_in(powers, primitive("sech", scale(Fraction(1, 2), x.args[0])), p)
            _multiply_in(powers, number_node(2), -p)
            return True
    return False


def _by_squares(terms: Terms, partners: Collection[Expr] = ()) -> list[Terms]:
    """The terms, and before them what sin**2 + cos**2 == 1 makes of them without more terms.

    ``partners`` are further functions that occur.
    """
    bases = {x: None for m in terms for x, _ in m}
    forms = [terms]
    for name, constant, sign, other in _SQUARES:
        for x in bases:
            if x.op is not PRIMITIVES[name]:
                continue
            partner = primitive(other, *x.args)
            if partner in bases or partner in partners:
                for form in (terms, forms[-1]):
                    reduced = _without_squares(form, x, constant, sign, partner)
                    if len(reduced) <= len(form) and reduced not in forms:
                        forms.append(reduced)
    return forms[::-1]


def _without_squares(terms: Terms, x: Expr, constant: int, sign: int, partner: Expr) -> Terms:
    total: Terms = {}
    for monomial, c in terms.items():
        powers = dict(monomial)
        p = powers.get(x, 0)
        if p < 2 or Fraction(p).denominator != 1:
            _add(total, monomial, c)
            continue
        powers[x] = p % 2
        parts: list[Terms] = [{_product(tuple(powers.items()), _ONE)[1]: c}]
        parts += [{_ONE: constant, ((partner, 2),): sign}] * int(p // 2)
        for m, d in reduce(_multiplied_out, parts).items():
            _add(total, m, d)
    return total


def _factored(terms: Terms, region: _Region) -> Term | None:
    """A polynomial in bases as a product of its factors; None if there is none."""
    bases = sorted({x: None for m in terms for x, _ in m}, key=lambda x: x.serial)
    if not bases or any(isinstance(c, float) for c in terms.values()):
        return None
    c, common, rest = region.split(terms)
    roots = {}
    for x in bases:
        denominators = [Fraction(dict(m).get(x, 0)).denominator for m in rest]
        roots[x] = Fraction(1, math.lcm(*denominators))
    shift = {x: min(dict(m).get(x, 0) for m in rest) for x in bases}
    exponents = {
        tuple([int((dict(m).get(x, 0) - shift[x]) / roots[x]) for x in bases]): d
        for m, d in rest.items()
    }
    if len(bases) > _VARIABLES or max(sum(e) for e in exponents) > _DEGREE:
        return None
    region._count(50 * len(exponents))
    algebra, *_ = ring([f"g{k}" for k in range(len(bases))], sp.QQ)
    polynomial = algebra.from_dict(
        {e: sp.QQ(Fraction(d).numerator, Fraction(d).denominator) for e, d in exponents.items()}
    )
    coefficient, factors = polynomial.factor_list()
    powers: list[Term] = [(_of_ring(coefficient), _ONE)]
    for factor, k in factors:
        d, monomial = region._single(_from_ring(factor, bases, roots))
        raised = number.raised(d, k)
        assert raised is not None
        powers.append((raised, _raised_monomial(monomial, k)))
    powers.append((1, tuple([(x, _exponent(p)) for x, p in shift.items() if p])))
    return _term_product((c, common), *powers)


def _of_ring(c: object) -> Number:
    return number.norm(Fraction(int(c.numerator), int(c.denominator)))  # type: ignore[attr-defined]


def _from_ring(factor: PolyElement, bases: Sequence[Expr], roots: Mapping[Expr, Exponent]) -> Terms:
    terms: Terms = {}
    for exponents, c in factor.terms():
        powers = [(x, _exponent(e * roots[x])) for x, e in zip(bases, exponents, strict=True) if e]
        _add(terms, _sorted(powers), _of_ring(c))
    return terms
