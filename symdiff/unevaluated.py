"""SymPy formulas made unevaluated: its own evaluation walks a shared formula as a tree.

Nor do deep ones recurse: parts are hashed as they are made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy as sp
from sympy.functions.elementary.piecewise import ExprCondPair

from symdiff.scalar import kernel_symbol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def held(cls: Any, args: Sequence[Any]) -> Any:
    """``cls(*args)`` unevaluated; one class takes no option, and evaluates nothing."""
    return cls(*args) if cls is sp.betainc_regularized else cls(*args, evaluate=False)


def hashed(formula: Any) -> Any:
    """``formula`` with its hash computed: later that would recurse to the leaves."""
    hash(formula)
    return formula


def is_number(formula: Any, value: int) -> bool:
    """Whether a formula is this number."""
    return bool(formula.is_Rational and formula == value)


def condition_of(value: Any, dtype: type) -> Any:
    """The condition that a truth value is, or that a number is not 0."""
    return value if dtype is bool else hashed(sp.Ne(value, 0, evaluate=False))


def as_number(condition: Any) -> Any:
    """1 where a condition holds, else 0."""
    return choice(condition, sp.S.One, sp.S.Zero)


def choice(condition: Any, a: Any, b: Any) -> Any:
    """``a`` where a condition holds, else ``b``."""
    if condition in (sp.true, sp.false):
        return a if condition == sp.true else b
    pairs = [raw(ExprCondPair, a, condition), raw(ExprCondPair, b, sp.true)]
    return raw(sp.Piecewise, *pairs)


def raw(cls: Any, *args: Any) -> Any:
    """A node whose constructor would search or sort its operands, made without it."""
    node = sp.Basic.__new__(cls, *args)
    if issubclass(cls, _LATTICE):
        node._argset = frozenset(args)
    return hashed(node)


def _exclusive(conditions: Sequence[Any]) -> Any:
    """Xor, written out: SymPy's sorts its operands whenever it is looked at."""
    result, *others = conditions
    for other in others:
        only, not_only = raw(sp.And, result, negated(other)), raw(sp.And, negated(result), other)
        result = raw(sp.Or, only, not_only)
    return result


def negated(condition: Any) -> Any:
    """What holds where a condition does not."""
    return hashed(sp.Not(condition, evaluate=False))


_LATTICE = (sp.Max, sp.Min, sp.And, sp.Or)

LOGIC: dict[str, Callable[..., Any]] = {
    "logical_and": lambda a, b: raw(sp.And, a, b),
    "logical_or": lambda a, b: raw(sp.Or, a, b),
    "logical_xor": lambda a, b: _exclusive([a, b]),
    "logical_not": negated,
}


def filled_in(formula: sp.Basic, args: Sequence[Any]) -> Any:
    """``formula`` with formulas in the place of its kernel symbols, unevaluated."""
    done: dict[sp.Basic, Any] = {kernel_symbol(k): arg for k, arg in enumerate(args)}
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


def unevaluated(cls: Any, args: list[Any]) -> Any:
    """``cls(*args)``; only what numbers decide is decided."""
    if cls is sp.Xor:
        return _exclusive(args)
    if issubclass(cls, sp.Rel) and all(arg.is_Rational for arg in args):
        return cls(*args)  # left undecided, it is more than SymPy can substitute in
    if cls in (sp.And, sp.Or):
        args = [arg for arg in args if arg != (sp.true if cls is sp.And else sp.false)]
        if len(args) == 1:
            return args[0]
    if issubclass(cls, _SORTED):
        return raw(cls, *args)
    return hashed(held(cls, args))


_SORTED = (sp.Max, sp.Min, sp.And, sp.Or, sp.ITE, sp.Piecewise, ExprCondPair)
