"""Scalar formulas: their canonical form and their partial derivatives.

A formula is a SymPy expression over the kernel symbols ``_0, _1, ...``, which stand for the
operands of a pointwise node.  In *canonical* form it consists of sums, products, powers with
rational exponents, real numbers and the functions of ``VOCABULARY``; the partial derivative of a
formula is again canonical.
"""

from __future__ import annotations

from functools import cache, lru_cache, reduce
from typing import TYPE_CHECKING, Any

import sympy as sp
from sympy.codegen import cfunctions
from sympy.core.function import AppliedUndef
from sympy.functions.elementary.piecewise import ExprCondPair
from sympy.logic.boolalg import BooleanAtom

from symdiff.errors import NotDifferentiable, Unsupported
from symdiff.scalars import vocabulary as v
from symdiff.scalars.vocabulary import FACTS, MPMATH, VOCABULARY, arity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = [
    "MPMATH",
    "VOCABULARY",
    "arity",
    "canonical",
    "is_for_code",
    "kernel_symbol",
    "operands_first",
    "partial",
    "plain",
]

# The sizes of the caches of canonical forms and of derivatives.  A formula without any relative in
# the caches takes some 30 KB in both.
FORMULAS = 1 << 11


@cache
def kernel_symbol(k: int) -> sp.Symbol:
    """The symbol of operand number ``k`` in a formula: ``_0, _1, ...``, real.

    >>> kernel_symbol(0)
    _0
    """
    return sp.Symbol(f"_{k}", real=True)


# Walks ------------------------------------------------------------------------------------------


def _children(formula: sp.Basic) -> tuple[sp.Basic, ...]:
    if isinstance(formula, sp.Piecewise):  # its pairs refuse numbers as conditions
        return tuple(part for pair in formula.args for part in pair.args)
    return tuple(formula.args)


def _rebuild(
    formula: sp.Basic, build: Callable[[sp.Basic, tuple[sp.Basic, ...]], sp.Basic]
) -> sp.Basic:
    """``build(node, rebuilt children)`` from the leaves up, once for each distinct node."""
    done: dict[sp.Basic, sp.Basic] = {}
    stack = [formula]
    while stack:
        node = stack[-1]
        if node in done:
            stack.pop()
            continue
        waiting = [child for child in _children(node) if child not in done]
        if waiting:
            stack += waiting
            continue
        done[node] = build(node, tuple(done[child] for child in _children(node)))
        stack.pop()
    return done[formula]


def operands_first(
    formulas: Iterable[sp.Basic],
    operands: Callable[[sp.Basic], tuple[sp.Basic, ...]] = lambda part: part.args,
) -> list[sp.Basic]:
    """List every part once, by identity: comparing deep formulas would recurse.

    ``operands`` returns the operands of a part; it is called once for each, before they are listed.

    >>> inner = sp.Symbol("inner")  # SymPy may hold another x, equal and not the same
    >>> operands_first([sp.sin(inner) + inner])
    [inner, sin(inner), inner + sin(inner)]
    """
    parts: list[sp.Basic] = []
    seen: set[int] = set()
    stack = [(formula, False) for formula in formulas]
    while stack:
        part, ready = stack.pop()
        if ready:
            parts.append(part)
        elif id(part) not in seen:
            seen.add(id(part))
            stack.append((part, True))
            stack.extend((operand, False) for operand in reversed(operands(part)))
    return parts


def _preorder(formula: sp.Basic) -> Iterator[sp.Basic]:
    """Every distinct part of ``formula`` once, the complete formula first."""
    seen: set[sp.Basic] = set()
    stack = [formula]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            yield node
            stack.extend(reversed(node.args))


# Canonical form ---------------------------------------------------------------------------------


def _nested(function: Any) -> Callable[..., sp.Expr]:
    return lambda *args: reduce(function, args)


def _piecewise(*parts: sp.Expr) -> sp.Expr:
    result: sp.Expr = sp.nan  # SymPy's value if no condition holds
    for k in range(len(parts) - 2, -1, -2):
        result = v.where(parts[k + 1], parts[k], result)
    return result


def _heaviside(x: sp.Expr, at_zero: sp.Expr = v.HALF) -> sp.Expr:
    return v.step(x) if at_zero == 0 else v.where(v.equal(x, 0), at_zero, v.step(x))


def _power(base: sp.Expr, exponent: sp.Expr) -> sp.Expr:
    if exponent.is_Float:  # exact, since each derivative subtracts 1
        exponent = sp.Rational(exponent)
    return base**exponent if exponent.is_Rational else v.power(base, exponent)


def _log(x: sp.Expr) -> sp.Expr:
    if isinstance(x, v.abs) and isinstance(x.args[0], v.gamma):
        return v.gammaln(x.args[0].args[0])
    return sp.log(x)


def _betainc(a: sp.Expr, b: sp.Expr, low: sp.Expr, high: sp.Expr) -> sp.Expr:
    below = 0 if low == 0 else v.betainc(a, b, low)
    return v.betainc(a, b, high) - below


def _elliptic_e(*args: sp.Expr) -> sp.Expr:
    if len(args) > 1:
        raise Unsupported("SymPy's elliptic_e of two arguments, which is incomplete")
    return v.ellipe(*args)


def _lambertw(x: sp.Expr, branch: sp.Expr = v.ZERO) -> sp.Expr:
    if branch not in (0, -1):
        raise Unsupported(f"SymPy's LambertW of the branch {branch}: only 0 and -1 are real")
    return v.lambertwm1(x) if branch == -1 else v.lambertw(x)


def _zeta(s: sp.Expr, *q: sp.Expr) -> sp.Expr:
    return v.hurwitz_zeta(s, *q) if q else v.zeta(s)


# SymPy 1.13 has no class isinf.
NUMBER_TESTS: dict[Any, Callable[..., sp.Expr]] = {
    getattr(cfunctions, name): rewrite
    for name, rewrite in (
        ("isnan", lambda x: v.not_equal(x, x)),
        ("isinf", lambda x: v.equal(v.abs(x), sp.oo)),
    )
    if hasattr(cfunctions, name)
}
"""SymPy's tests of numbers -> their replacements."""

# SymPy's class -> the function of its canonical arguments that replaces it.
_REWRITES: dict[Any, Callable[..., sp.Expr]] = {
    **{
        facts.sympy: _nested(VOCABULARY[name]) if arity(name) == 2 else VOCABULARY[name]
        for name, facts in FACTS.items()
        if facts.sympy
    },
    sp.StrictGreaterThan: lambda a, b: v.less(b, a),
    sp.GreaterThan: lambda a, b: v.less_equal(b, a),
    sp.Piecewise: _piecewise,
    sp.Heaviside: _heaviside,
    sp.frac: lambda x: x - v.floor(x),
    sp.Pow: _power,
    cfunctions.Sqrt: lambda x: _power(x, v.HALF),
    cfunctions.fma: lambda x, y, z: x * y + z,
    **NUMBER_TESTS,
    sp.log: _log,
    sp.factorial: lambda x: v.gamma(x + 1),
    sp.lowergamma: lambda a, x: v.gammainc(a, x) * v.gamma(a),
    sp.uppergamma: lambda a, x: v.gammaincc(a, x) * v.gamma(a),
    sp.betainc_regularized: _betainc,
    sp.elliptic_e: _elliptic_e,
    sp.LambertW: _lambertw,
    sp.zeta: _zeta,
    sp.erfi: lambda x: 2 / sp.sqrt(sp.pi) * sp.exp(x**2) * v.dawsn(x),
    sp.li: lambda x: v.expi(sp.log(x)),
    sp.sinc: lambda t: v.sinc(t / sp.pi),
    sp.cot: lambda x: 1 / sp.tan(x),
    sp.sec: lambda x: 1 / sp.cos(x),
    sp.csc: lambda x: 1 / sp.sin(x),
    sp.coth: lambda x: 1 / v.tanh(x),
    sp.csch: lambda x: 1 / sp.sinh(x),
    sp.acot: lambda x: sp.atan(1 / x),
    sp.asec: lambda x: v.acos(1 / x),
    sp.acsc: lambda x: v.asin(1 / x),
    sp.acoth: lambda x: v.atanh(1 / x),
    sp.asech: lambda x: v.acosh(1 / x),
    sp.acsch: lambda x: v.asinh(1 / x),
}

_KEPT = frozenset({sp.Add, sp.Mul, sp.Symbol, sp.Dummy, *VOCABULARY.values()})


def _check(formula: sp.Basic) -> None:
    for node in _preorder(formula):
        if node in (sp.I, sp.zoo):
            raise Unsupported(f"SymPy's {node}: formulas are real")
        kind = node.func
        supported = kind in _KEPT or kind in _REWRITES or (not node.args and node.is_number)
        defined_by_user = isinstance(node, sp.Function) and not (
            isinstance(node, AppliedUndef) or kind.__module__.startswith("sympy.")
        )
        if not (supported or defined_by_user or isinstance(node, BooleanAtom | ExprCondPair)):
            raise Unsupported(
                f"SymPy's {kind.__name__} has no counterpart here; "
                f"rewrite it in elementary functions, Piecewise, Min/Max or relations"
            )


def _canonical_node(node: sp.Basic, args: tuple[sp.Basic, ...]) -> sp.Basic:
    if isinstance(node, BooleanAtom):
        return sp.Integer(node == sp.true)
    rewrite = _REWRITES.get(node.func)
    if rewrite is not None:
        return rewrite(*args)
    return node if args == node.args else node.func(*args)


@lru_cache(maxsize=FORMULAS)
def canonical(formula: sp.Basic) -> sp.Expr:
    """Replace SymPy's classes by functions of the vocabulary; the value stays the same.

    Relations become the numbers 1 and 0, ``Piecewise`` nested ``where``, ``Max`` and ``Min`` of
    many operands nested ones of two.  A power whose exponent is not rational becomes ``power``.
    User-defined function classes (with an ``fdiff``) stay.  Raises Unsupported, with SymPy's class,
    for an object without counterpart.

    >>> x = kernel_symbol(0)
    >>> canonical(sp.Piecewise((sp.Abs(x), x < 2), (1, True)))
    where(less(_0, 2), abs(_0), 1)
    """
    formula = sp.sympify(formula, strict=True)  # a Python number; never text
    _check(formula)
    return _rebuild(formula, _canonical_node)


def _plain_node(node: sp.Basic, args: tuple[sp.Basic, ...]) -> sp.Basic:
    if isinstance(node, v.Decision):
        return plain(node.formula(*args))
    if isinstance(node, v.ScalarFunction):
        return node.definition(*args)
    return node if args == node.args else node.func(*args)


def _node_for_code(node: sp.Basic, args: tuple[sp.Basic, ...]) -> sp.Basic:
    return node.sympy(*args) if is_for_code(type(node)) else _plain_node(node, args)


def is_for_code(cls: Any) -> bool:
    """Whether a function of the vocabulary is one of ``sympy.codegen.cfunctions``."""
    facts = FACTS.get(cls.__name__)
    return bool(facts and facts.sympy and facts.sympy.__module__ == cfunctions.__name__)


def plain(formula: sp.Expr, codegen: bool = False) -> sp.Expr:
    """Rewrite the vocabulary of ``formula`` in SymPy's own classes.

    With ``codegen``, the classes of ``sympy.codegen.cfunctions`` count as SymPy's own.

    >>> plain(v.sigmoid(kernel_symbol(0)))
    1/(1 + exp(-_0))
    """
    return _rebuild(formula, _node_for_code if codegen else _plain_node)


# Partial derivatives ----------------------------------------------------------------------------


def _hoist(node: sp.Basic, args: tuple[sp.Basic, ...]) -> sp.Basic:
    """Move factors inside ``where(c, a, 0)·p``: an infinite p must not meet the zero."""
    if not isinstance(node, sp.Mul):
        return node if args == node.args else node.func(*args)
    for k, factor in enumerate(args):
        if isinstance(factor, v.where) and v.ZERO in factor.args[1:]:
            rest = sp.Mul(*args[:k], *args[k + 1 :])
            c, a, b = factor.args
            # Repeat for a selection among the other factors.
            first, second = (
                v.ZERO if x == 0 else _hoist(product := sp.Mul(x, rest), product.args)
                for x in (a, b)
            )
            return v.where(c, first, second)
    return node if args == node.args else sp.Mul(*args)


def _diff(formula: sp.Expr, s: sp.Symbol) -> sp.Expr:
    """Differentiate with SymPy, with the chain rule through the bases of powers.

    SymPy writes (b^p)' as b^p·p·b'/b, and cancels b'/b if b is a product or a power: √(xy)' becomes
    √(xy)/(2x), nan at x = 0, where y/(2√(xy)) is right.  A symbol in place of such a base prevents
    this.
    """
    bases: dict[sp.Symbol, sp.Expr] = {}

    def keep(node: sp.Basic, args: tuple[sp.Basic, ...]) -> sp.Basic:
        if isinstance(node, sp.Pow) and isinstance(args[0], sp.Mul | sp.Pow):
            symbol = sp.Symbol(f"_base{len(bases)}", real=True)
            bases[symbol] = args[0]
            return symbol ** args[1]
        return node if args == node.args else node.func(*args)

    outer = _rebuild(formula, keep)
    slopes: dict[sp.Symbol, sp.Expr] = {s: v.ONE}
    for symbol, base in bases.items():
        slopes[symbol] = sum((base.diff(t) * slope for t, slope in slopes.items()), v.ZERO)
    derivative = sum((outer.diff(t) * slope for t, slope in slopes.items()), v.ZERO)
    for symbol, base in reversed(bases.items()):
        derivative = derivative.xreplace({symbol: base})
    return derivative


@lru_cache(maxsize=FORMULAS)
def partial(formula: sp.Basic, k: int) -> sp.Expr:
    """Return the canonical derivative of ``formula`` by the operand ``_k``.

    SymPy differentiates the canonical formula, in which every function states a derivative that is
    safe to evaluate.  Raises NotDifferentiable, with the function's name, if a derivative stays
    unevaluated, and Unsupported for a formula without canonical form.

    >>> partial(sp.tanh(kernel_symbol(0)), 0)
    sech2(_0)
    """
    derivative = _diff(canonical(formula), kernel_symbol(k))
    derivative = derivative.replace(sp.DiracDelta, lambda *_: v.ZERO)
    for node in _preorder(derivative):
        if isinstance(node, sp.Derivative | sp.Subs):
            inner = node.args[0]  # SymPy writes f'(g(x)) as a Subs of a Derivative
            while isinstance(inner, sp.Derivative):
                inner = inner.args[0]
            raise NotDifferentiable(f"{inner.func.__name__} states no derivative (no fdiff)")
    return canonical(_rebuild(derivative, _hoist))
