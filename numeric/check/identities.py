"""Equality of two formulas: a proof by normal form, or none.

The difference is written in SymPy's functions by components, and brought to a form in which equal
formulas look equal.  This happens from the leaves up.  Trigonometric and hyperbolic functions
become exponentials, whose products SymPy merges.  A logarithm becomes a sum over its operand's
factors (``log(A) = sum k log|p|`` for ``0 < A = prod p^k``).  Operands of all other functions
become reduced rational functions.  Then the difference is a fraction, whose expanded numerator is 0
or not.  Absolute values, maxima and conditions are decided case by case.

Every step is an identity of real numbers wherever both sides have a value, so 0 proves equality
there.  A result other than 0 proves nothing (Richardson, "Some undecidable problems involving
elementary functions of a real variable", 1968).
"""

from __future__ import annotations

from functools import reduce
from math import comb, prod
from typing import TYPE_CHECKING

import numpy as np
import sympy as sp

import symdiff as sd
from symdiff.errors import Unsupported
from symdiff.scalars.formula import operands_first

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from symdiff.graph.expr import Expr

_MOST_NODES = 2000  # nodes of a formula written as a tree
_DEEPEST = 80  # the depth of a formula: SymPy walks by recursion
_MOST_TERMS = 4000  # terms of an expanded numerator
_MOST_FACTORED = 60  # terms of a logarithm's operand that is factored
_HIGHEST_FACTORED = 24  # the degree of a polynomial that is factored, not only parted into powers
# Coefficients, zeros included, of a polynomial that is factored, and of one parted into powers.
_DENSEST_FACTORED, _DENSEST_PARTED = 1_000, 10_000
_MOST_DECISIONS = 5  # borders to decide by cases: their number doubles with each
_LARGEST = 10**15  # numbers below have logarithms by prime factors

_COMPARING = (sp.Abs, sp.sign, sp.Max, sp.Min)
_log_abs = sp.Function("log_abs", real=True)


def identical(f: Expr, g: Expr, bounds: Mapping[str, tuple[float, float]] | None = None) -> bool:
    """Try to prove f = g wherever both have a value; False means only that no proof was found.

    Args:
        f: an expression.
        g: an expression of the same shape.
        bounds: bounds of symbols by name; those from 0 on count as positive.

    >>> x, y = sd.symbols("x y")
    >>> identical(sd.tanh(x), sd.sinh(x) / sd.cosh(x)), identical(sd.exp(x), 1 + x)
    (True, False)
    >>> identical(sd.log(x**2), 2 * sd.log(x)), identical(sd.maximum(x, y), sd.maximum(y, x + 0.1))
    (True, False)
    """
    try:
        pairs = list(zip(_elements(f), _elements(g), strict=True))
    except (Unsupported, ValueError):
        return False
    named = _positive((f, g), bounds or {})
    normal = _Normal()
    try:
        for pair in dict.fromkeys(pairs):
            for element in pair:
                _refuse_large(element)
            a, b = (normal(element.xreplace(named)) for element in pair)
            if not _zero(normal(a - b), normal):
                return False
    except (_TooLarge, RecursionError, sp.PolynomialError, NotImplementedError):
        return False
    return True


def _elements(f: Expr) -> list[sp.Expr]:
    formula = sd.to_sympy(f)
    return (
        formula.reshape(len(formula)).tolist() if isinstance(formula, sp.NDimArray) else [formula]
    )


class _TooLarge(Exception):
    """A formula is too large to expand."""


def _positive(
    outputs: Sequence[Expr], bounds: Mapping[str, tuple[float, float]]
) -> dict[sp.Symbol, sp.Symbol]:
    """Map SymPy's symbols of positive inputs to symbols that are declared positive."""
    replacements = {}
    for x in sd.free_symbols(outputs):
        low = bounds.get(x.name, (-np.inf, np.inf))[0]
        if low >= 0 and x.dtype is float:
            shape = tuple(map(int, x.shape))
            for place in np.ndindex(shape):
                name = "_".join(map(str, (x.name, *place)))
                kind = {"positive": True} if low > 0 else {"nonnegative": True}
                replacements[sp.Symbol(name, real=True)] = sp.Symbol(name, **kind)
    return replacements


def _refuse_large(e: sp.Basic) -> None:
    """Raise _TooLarge for a tree that is large or deep, in time linear in the shared nodes."""
    known: dict[int, tuple[int, int]] = {}
    for part in operands_first([e]):
        # Count shared parts as often as they occur: SymPy expands them each time.
        below = [known[id(a)] for a in part.args]
        size = 1 + sum(n for n, _ in below)
        depth = 1 + max((k for _, k in below), default=0)
        if size > _MOST_NODES or depth > _DEEPEST:
            raise _TooLarge
        known[id(part)] = size, depth


# Normal form --------------------------------------------------------------------------------------

_I = sp.I


def _sin(a: sp.Expr) -> sp.Expr:
    return (sp.exp(_I * a) - sp.exp(-_I * a)) / (2 * _I)


def _cos(a: sp.Expr) -> sp.Expr:
    return (sp.exp(_I * a) + sp.exp(-_I * a)) / 2


def _sinh(a: sp.Expr) -> sp.Expr:
    return (sp.exp(a) - sp.exp(-a)) / 2


def _cosh(a: sp.Expr) -> sp.Expr:
    return (sp.exp(a) + sp.exp(-a)) / 2


_IN_EXPONENTIALS: dict[type[sp.Function], Callable[[sp.Expr], sp.Expr]] = {
    sp.sin: _sin,
    sp.cos: _cos,
    sp.tan: lambda a: _sin(a) / _cos(a),
    sp.cot: lambda a: _cos(a) / _sin(a),
    sp.sec: lambda a: 1 / _cos(a),
    sp.csc: lambda a: 1 / _sin(a),
    sp.sinh: _sinh,
    sp.cosh: _cosh,
    sp.tanh: lambda a: _sinh(a) / _cosh(a),
    sp.coth: lambda a: _cosh(a) / _sinh(a),
    sp.sech: lambda a: 1 / _cosh(a),
    sp.csch: lambda a: 1 / _sinh(a),
}
_IN_REAL_EXPONENTIALS = {
    f: _IN_EXPONENTIALS[f] for f in (sp.sinh, sp.cosh, sp.tanh, sp.coth, sp.sech, sp.csch)
}
# Inverse functions of real operands as logarithms, real wherever the functions are.
_IN_LOGARITHMS: dict[type[sp.Function], Callable[[sp.Expr], sp.Expr]] = {
    sp.asinh: lambda a: sp.log(a + sp.sqrt(a * a + 1)),
    sp.acosh: lambda a: sp.log(a + sp.sqrt(a * a - 1)),
    sp.atanh: lambda a: (sp.log(1 + a) - sp.log(1 - a)) / 2,
}


class _Normal:
    """The conversion of formulas to normal form, from the leaves up, with a cache of equal parts.

    Compared parts must stay real, so their sines are not written in complex exponentials.
    """

    def __init__(self, compared: bool = False) -> None:
        self.known: dict[sp.Basic, sp.Basic] = {}
        self.compared = self if compared else _Normal(True)
        self.functions = _IN_EXPONENTIALS if not compared else _IN_REAL_EXPONENTIALS

    def __call__(self, e: sp.Basic) -> sp.Basic:
        if e not in self.known:
            self.known[e] = self._of(e)
        return self.known[e]

    def _of(self, e: sp.Basic) -> sp.Basic:
        # A float is the exact binary number: rounding must not decide equality.
        if isinstance(e, sp.Float):
            return sp.Rational(*float(e).as_integer_ratio())
        if not e.args:
            return e
        if isinstance(e, sp.Piecewise):
            return sp.Piecewise(*[(self(value), self._condition(c)) for value, c in e.args])
        if isinstance(e, sp.Rel):
            return self._condition(e)
        if isinstance(e, _COMPARING):
            return e.func(*[_reduced(self.compared(a)) for a in e.args])
        args = [self(a) for a in e.args]
        if isinstance(e, sp.Add | sp.Mul) or (e.is_Pow and e.exp.is_Integer):
            return e.func(*args)
        args = [_reduced(a) for a in args]
        if e.func in self.functions:
            return self.functions[e.func](*args)
        if isinstance(e, sp.exp):
            return _exponential(*args)
        if e.func in _IN_LOGARITHMS:
            return self(_IN_LOGARITHMS[e.func](*args))
        if isinstance(e, sp.log) and len(args) == 1:
            return _logarithm(args[0])
        if isinstance(e, sp.acos):
            return sp.pi / 2 - sp.asin(*args)
        return e.func(*args)

    def _condition(self, c: sp.Basic) -> sp.Basic:
        """Write comparisons with a reduced difference on the left and 0 on the right."""
        if isinstance(c, sp.Rel):
            return c.func(_reduced(self.compared(c.lhs) - self.compared(c.rhs)), 0)
        return c.func(*map(self._condition, c.args)) if c.args else c


def _reduced(e: sp.Expr) -> sp.Expr:
    """Reduce a rational function of its parts to lowest terms, expanded."""
    _refuse_many_terms(e)
    together = sp.together(e)
    numerator, denominator = together.as_numer_denom()
    if denominator.is_number:
        return sp.expand(e)
    _refuse_many_terms(numerator)
    _refuse_many_terms(denominator)
    return sp.expand(sp.cancel(together))


def _exponential(a: sp.Expr) -> sp.Expr:
    """``exp(a)`` with logarithms of ``a`` resolved: ``exp(k log|p|) = |p|^k``."""
    rest, factors = [], []
    for term in sp.Add.make_args(a):
        k, log = term.as_coeff_Mul()
        if isinstance(log, _log_abs) and k.is_Rational and not log.has(sp.I):
            factors.append(sp.Abs(log.args[0]) ** k)
        else:
            rest.append(term)
    return sp.Mul(sp.exp(sp.Add(*rest)), *factors)


def _logarithm(a: sp.Expr) -> sp.Expr:
    """``log(a)`` for positive a, as a sum over its factors."""
    terms: list[sp.Expr] = []
    numerator, denominator = sp.together(a).as_numer_denom()
    for part, sign in ((numerator, 1), (denominator, -1)):
        for base, exponent in part.as_powers_dict().items():
            if base == sp.E:
                terms.append(sign * exponent)
            elif exponent.is_number:
                terms += [sign * exponent * t for t in _logarithms_of_factors(base)]
            else:
                terms.append(sign * exponent * _log_abs_of(base))
    return sp.Add(*terms)


def _logarithms_of_factors(p: sp.Expr) -> Iterable[sp.Expr]:
    factored = None if p.is_number or _terms(p) > _MOST_FACTORED else _factors(sp.expand(p))
    if factored is None:
        yield _log_abs_of(p)
        return
    content, factors = factored
    yield _log_abs_of(content)
    for factor, k in factors:
        for base, exponent in factor.as_powers_dict().items():
            yield k * exponent * (1 if base == sp.E else _log_abs_of(base))


def _factors(p: sp.Expr) -> tuple[sp.Expr, list[tuple[sp.Expr, int]]] | None:
    """The content and the factors with their powers; None for a polynomial of a large degree.

    The time for factors grows exponentially with the degree, that for powers with the number of
    coefficients, zeros included.
    """
    degrees = (0,) if p.is_number else sp.Poly(p).degree_list()
    coefficients = prod(k + 1 for k in degrees)
    if coefficients > _DENSEST_PARTED:
        return None
    high = max(degrees) > _HIGHEST_FACTORED or coefficients > _DENSEST_FACTORED
    return (sp.sqf_list if high else sp.factor_list)(p)  # type: ignore[no-any-return]


def _log_abs_of(p: sp.Expr) -> sp.Expr:
    """``log|p|``, the same for p and -p; for a rational number, by prime factors."""
    if p.is_Rational and max(abs(p.p), p.q) < _LARGEST:
        return sp.Add(*[k * sp.log(q) for q, k in sp.factorrat(abs(p)).items() if q != 1])
    if p.is_number and p.is_positive:
        return sp.log(p)
    return _log_abs(-p if p.could_extract_minus_sign() else p)


def _terms(e: sp.Expr) -> int:
    """Return an upper bound for the number of terms of the expanded formula."""
    if isinstance(e, sp.Add):
        return sum(map(_terms, e.args))
    if isinstance(e, sp.Mul):
        return reduce(lambda n, a: min(n * _terms(a), 10**9), e.args, 1)
    if e.is_Pow and e.exp.is_Integer:
        n, k = _terms(e.base), abs(int(e.exp))
        return 1 if n == 1 else 10**9 if k > 1000 else min(comb(n + k - 1, k), 10**9)
    return 1


def _refuse_many_terms(e: sp.Expr) -> None:
    if _terms(e) > _MOST_TERMS:
        raise _TooLarge


# Is it 0? -----------------------------------------------------------------------------------------


def _zero(e: sp.Expr, normal: _Normal, decided: int = 0) -> bool:
    """Whether a formula in normal form is 0 for certain."""
    if _vanishes(e):
        return True
    border = next(_borders(e), None)
    if border is None or decided == _MOST_DECISIONS:
        return False
    parts = [p for p in sp.postorder_traversal(e) if isinstance(p, (*_COMPARING, sp.Rel))]
    jumps = any(isinstance(p, sp.sign | sp.Rel) and _border(p) == border for p in parts)
    return all(  # |a| is continuous: without jumps, the values at 0 are the limits of both sides
        _zero(normal(_decided(e, border, sign)), normal, decided + 1)
        for sign in ((1, -1, 0) if jumps else (1, -1))
    )


def _vanishes(e: sp.Expr) -> bool:
    _refuse_many_terms(e)
    numerator = sp.together(e).as_numer_denom()[0]
    for _ in range(3):  # products of roots can give new sums
        _refuse_many_terms(numerator)
        before, numerator = numerator, sp.expand(numerator)
        if numerator == before:
            break
    return bool(numerator == 0)


def _borders(e: sp.Expr) -> Iterator[sp.Expr]:
    """Yield differences whose signs decide a formula, the innermost first."""
    for part in sp.postorder_traversal(e):
        if isinstance(part, (*_COMPARING, sp.Rel)):
            d = _border(part)
            if not d.is_number:
                yield d


def _border(part: sp.Basic) -> sp.Expr:
    """Return the difference that a part compares with 0, up to a factor."""
    if isinstance(part, sp.Abs | sp.sign):
        return _normed(part.args[0])[0]
    a, b = part.args[:2] if isinstance(part, sp.Max | sp.Min) else (part.lhs, part.rhs)
    return _normed(a - b)[0]


def _normed(d: sp.Expr) -> tuple[sp.Expr, int]:
    """Return a difference up to a factor, and the sign of that factor."""
    content, primitive = _reduced(d).as_content_primitive()
    sign = 1
    if content < 0:
        sign = -sign
    if primitive.could_extract_minus_sign():
        primitive, sign = sp.expand(-primitive), -sign
    return primitive, sign


def _decided(e: sp.Expr, border: sp.Expr, sign: int) -> sp.Expr:
    """Simplify a formula where the border's difference has the given sign."""
    changes: dict[sp.Basic, sp.Basic] = {}
    for part in sp.postorder_traversal(e):
        if not isinstance(part, (*_COMPARING, sp.Rel)):
            continue
        if isinstance(part, sp.Max | sp.Min):
            a, b, *rest = part.args
            d, s = _normed(a - b)
            larger = isinstance(part, sp.Max)
            value = part.func(a if (s * sign > 0) == larger else b, *rest)
        elif isinstance(part, sp.Abs | sp.sign):
            d, s = _normed(part.args[0])
            value = s * sign * (part.args[0] if isinstance(part, sp.Abs) else 1)
        else:
            d, s = _normed(part.lhs - part.rhs)
            value = part.func(sp.Integer(s * sign), 0)
        if d == border:
            changes[part] = value
    decided = e.xreplace(changes)
    return decided if sign else _where_zero(decided, border)


def _where_zero(e: sp.Expr, border: sp.Expr) -> sp.Expr:
    """Restrict a formula to the zeros of ``border``, if a symbol occurs linearly in it."""
    for x in sorted(border.free_symbols, key=str):
        if not border.is_polynomial(x) or sp.degree(border, x) != 1:
            continue
        slope = sp.Poly(border, x).LC()
        if slope.is_number:
            return e.xreplace({x: x - border / slope})
    return e
