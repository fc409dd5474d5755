"""Build SymPy formulas unevaluated: SymPy's evaluation walks a shared formula as a tree.

Deep formulas do not recurse either, because each part is hashed when it is built.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import sympy as sp
from sympy.core.function import Application
from sympy.functions.elementary.piecewise import ExprCondPair

from symdiff.scalars.formula import kernel_symbol
from symdiff.scalars.vocabulary.facts import MODERATE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


def held(cls: type[sp.Basic], args: Sequence[sp.Basic]) -> sp.Basic:
    """Build ``cls(*args)`` unevaluated; UnevaluatedExpr takes no option, and never evaluates.

    The call bypasses SymPy's cache: a look-up there compares a formula with an equal one, which
    recurses to the leaves.
    """
    if cls is sp.betainc_regularized:
        return cls(*args)
    new = cls.__new__
    if new.__module__ == Application.__module__:  # a function's `__new__` would evaluate first
        new = Application.__new__
    return getattr(new, "__wrapped__", new)(cls, *args, evaluate=False)


def hashed(formula: sp.Basic) -> sp.Basic:
    """Compute and cache the hash of ``formula``: later it would recurse to the leaves."""
    hash(formula)
    return formula


def is_number(formula: sp.Basic, value: int) -> bool:
    """Whether a formula is this number."""
    return bool(formula.is_Rational and formula == value)


def condition_of(value: sp.Basic, dtype: type) -> sp.Basic:
    """The condition that a truth value is true, or that a number is not 0."""
    return value if dtype is bool else unevaluated(sp.Ne, [value, sp.S.Zero])


def as_number(condition: sp.Basic) -> sp.Basic:
    """Convert a condition to a number: 1 if it holds, else 0."""
    return choice(condition, sp.S.One, sp.S.Zero)


def choice(condition: sp.Basic, a: sp.Basic, b: sp.Basic) -> sp.Basic:
    """``a`` if a condition holds, else ``b``; simplifies choices inside by this condition."""
    if condition in (sp.true, sp.false):
        return a if condition == sp.true else b
    if (within := arms(a)) and within[0] is condition:
        a = within[1]
    if (within := arms(b)) and within[0] is condition:
        b = within[2]
    elif within and _same(a, within[1]):
        return choice(_disjunction(condition, within[0]), a, within[2])
    if _same(a, b):
        return a
    pairs = [raw(ExprCondPair, a, condition), raw(ExprCondPair, b, sp.true)]
    return raw(sp.Piecewise, *pairs)


def arms(formula: sp.Basic) -> tuple[sp.Basic, sp.Basic, sp.Basic] | None:
    """The condition and both values of a choice between two; None for other formulas."""
    if not isinstance(formula, sp.Piecewise) or len(formula.args) != 2:
        return None
    (a, condition), (b, otherwise) = (pair.args for pair in formula.args)
    return (condition, a, b) if otherwise == sp.true else None


def _same(a: sp.Basic, b: sp.Basic) -> bool:
    return a is b or bool(a.is_Atom and b.is_Atom and a == b)  # comparing deep ones would recurse


def power(base: sp.Basic, p: sp.Basic) -> sp.Basic:
    """``base ** p`` for a rational p; merges a power of a root to one power."""
    root, exponent, degree = as_power(base)
    if degree == 1:
        return hashed(held(sp.Pow, [base, p]))
    return _raise_power(root, exponent * p, degree * p.q)


def as_power(factor: sp.Basic) -> tuple[sp.Basic, sp.Basic, int]:
    """A factor as base, exponent, and degree of the roots in it (1 without roots)."""
    if not isinstance(factor, sp.Pow) or not factor.exp.is_Rational:
        return factor, sp.S.One, 1
    base, exponent = factor.args
    of_root = isinstance(base, sp.Pow) and base.exp.is_Rational and not base.exp.is_Integer
    if exponent.is_Integer and of_root:
        return base.base, base.exp * exponent, base.exp.q
    return base, exponent, exponent.q


def _raise_power(base: sp.Basic, exponent: sp.Basic, degree: int) -> sp.Basic:
    """A power; an integer power of a root keeps the root, which is nan for negative bases."""
    if exponent.is_Integer and degree > 1:
        base = hashed(held(sp.Pow, [base, sp.Rational(1, degree)]))
        exponent = exponent * degree
    return base if exponent == 1 else hashed(held(sp.Pow, [base, exponent]))


def _identity(base: sp.Basic) -> object:
    """The identity of a base: by object, since comparing deep ones recurses; symbols by value."""
    return base if base.is_Atom else id(base)


def gathered(factors: Iterable[sp.Basic]) -> list[sp.Basic]:
    """Merge powers of one base, separately above and below the fraction line."""
    powers: dict[tuple[object, bool], list[tuple[sp.Basic, sp.Basic, sp.Basic, int]]] = {}
    for factor in factors:
        base, exponent, degree = as_power(factor)
        same = powers.setdefault((_identity(base), exponent > 0), [])
        same.append((factor, base, exponent, degree))
    return [
        same[0][0]
        if len(same) == 1
        else _raise_power(same[0][1], sum(x[2] for x in same), math.lcm(*(x[3] for x in same)))
        for same in powers.values()
    ]


class Poles:
    """The expressions that must not be 0 for a formula to be finite, also over complex numbers."""

    def __init__(self) -> None:
        # Keys are identities, because comparing deep formulas recurses; the values keep parts
        # alive.
        self.known: dict[int, tuple[frozenset[int] | None, sp.Basic]] = {}

    def absent(self, formula: sp.Basic, where: Iterable[sp.Basic], finite: sp.Basic) -> bool:
        """Whether a formula is finite where ``finite`` is and the formulas ``where`` are not 0.

        False if in doubt.
        """
        poles, finite_at = self.of(formula), self.of(finite) or frozenset()
        return poles is not None and poles <= finite_at.union(id(_root(x)) for x in where)

    def of(self, formula: sp.Basic) -> frozenset[int] | None:
        """The poles of a formula by identity; None if there may be others."""
        stack = [formula]
        while stack:
            part = stack[-1]
            operands = _value_operands(part)
            waiting = [x for x in operands if id(x) not in self.known]
            if not waiting:
                stack.pop()
                self.known[id(part)] = self._poles_of_part(part, operands), part
            stack += waiting
        return self.known[id(formula)][0]

    def _poles_of_part(self, part: sp.Basic, operands: Sequence[sp.Basic]) -> frozenset[int] | None:
        result: frozenset[int] = frozenset()
        if isinstance(part, sp.Pow) and not part.exp.is_Rational:
            return None
        if isinstance(part, sp.log) or (isinstance(part, sp.Pow) and part.exp < 0):
            result = result if _positive(part.args[0]) else frozenset([id(_root(part.args[0]))])
        elif part.is_Atom:
            return result if part.is_Symbol or part.is_finite else None
        elif not isinstance(part, sp.Pow | _ENTIRE):
            return None
        for x in operands:
            poles = self.known[id(x)][0]
            if poles is None or len(result | poles) > _POLES:
                return None
            result |= poles
        return result


_POLES = 8  # larger sets cost more time than they save
# Functions that map finite numbers to finite ones, real or complex.
_ENTIRE = (
    sp.Add | sp.Mul | sp.Piecewise | sp.Max | sp.Min | sp.Abs | sp.sign | sp.floor | sp.ceiling
) | (sp.exp | sp.sin | sp.cos | sp.sinh | sp.cosh | sp.asinh | sp.asin | sp.acos | sp.erf | sp.erfc)


def _positive(formula: sp.Basic) -> bool:
    """Whether a formula is visibly positive: an exponential, a number, or a sum of these."""
    terms = formula.args if isinstance(formula, sp.Add) else (formula,)
    return all(isinstance(x, sp.exp) or (x.is_Rational and x > 0) for x in terms)


def _value_operands(formula: sp.Basic) -> Sequence[sp.Basic]:
    """The operands that contribute to the value, without conditions and exponents."""
    if isinstance(formula, sp.Piecewise):
        return [pair.args[0] for pair in formula.args]
    return formula.args[:1] if isinstance(formula, sp.Pow) else formula.args  # type: ignore[no-any-return]


def _root(base: sp.Basic) -> sp.Basic:
    """The innermost base of powers with positive exponents, which is 0 where they are."""
    while isinstance(base, sp.Pow) and base.exp.is_Rational and base.exp > 0:
        base = base.base
    return base


def raw(cls: type[sp.Basic], *args: sp.Basic) -> sp.Basic:
    """Build a node without its constructor, which would search or sort its operands."""
    node = sp.Basic.__new__(cls, *args)
    if issubclass(cls, _LATTICE):
        node._argset = frozenset(args)
    return hashed(node)


def _xor(conditions: Sequence[sp.Basic]) -> sp.Basic:
    """Write Xor out: SymPy's Xor sorts its operands at each access."""
    result, *further = conditions
    for other in further:
        result = _disjunction(
            _conjunction(result, negated(other)), _conjunction(negated(result), other)
        )
    return result


def _conjunction(a: sp.Basic, b: sp.Basic) -> sp.Basic:
    if sp.false in (a, b):
        return sp.false
    return b if a == sp.true else a if b == sp.true else raw(sp.And, a, b)


def _disjunction(a: sp.Basic, b: sp.Basic) -> sp.Basic:
    if sp.true in (a, b):
        return sp.true
    return b if a == sp.false else a if b == sp.false else raw(sp.Or, a, b)


def negated(condition: sp.Basic) -> sp.Basic:
    """The negation of a condition."""
    if condition in (sp.true, sp.false):
        return sp.false if condition == sp.true else sp.true
    return hashed(held(sp.Not, [condition]))


_LATTICE = (sp.Max, sp.Min, sp.And, sp.Or)

LOGIC: dict[str, Callable[..., sp.Basic]] = {
    "logical_and": _conjunction,
    "logical_or": _disjunction,
    "logical_xor": lambda a, b: _xor([a, b]),
    "logical_not": negated,
}


def filled_in(formula: sp.Basic, args: Sequence[sp.Basic]) -> sp.Basic:
    """Substitute formulas for the kernel symbols of ``formula``, unevaluated."""
    done: dict[sp.Basic, sp.Basic] = {kernel_symbol(k): arg for k, arg in enumerate(args)}
    stack = [formula]
    while stack:
        part = stack[-1]
        waiting = [child for child in part.args if child not in done]
        if part in done or not waiting:
            stack.pop()
        if part in done:
            continue
        if waiting:
            stack += waiting
        elif not part.args:
            done[part] = part
        else:
            done[part] = unevaluated(part.func, [done[child] for child in part.args])
    return done[formula]


def unevaluated(cls: type[sp.Basic], args: list[sp.Basic]) -> sp.Basic:
    """``cls(*args)``, evaluated only where numbers decide."""
    if cls is sp.Xor:
        return _xor(args)
    if issubclass(cls, sp.Rel) and all(arg.is_Rational for arg in args):
        return cls(*args)  # SymPy cannot substitute in an undecided one
    if cls in (sp.And, sp.Or):
        args = [arg for arg in args if arg != (sp.true if cls is sp.And else sp.false)]
        if len(args) == 1:
            return args[0]
    if issubclass(cls, _SORTED):
        return raw(cls, *args)
    if all(arg.is_Integer and abs(arg) <= MODERATE for arg in args):  # 1**2, exp(0)
        value = cls(*args)
        if value.is_Integer:
            return value
    return hashed(held(cls, args))


_SORTED = (sp.Max, sp.Min, sp.And, sp.Or, sp.ITE, sp.Piecewise, ExprCondPair)
