"""From a SymPy formula to nodes: every part of the formula becomes one interned primitive node."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import sympy as sp

from symdiff.errors import Unsupported
from symdiff.graph import number
from symdiff.graph.algebra import OP_OF_CLASS, combine, int_power, mul, pointwise, power, scale
from symdiff.graph.expr import Expr
from symdiff.graph.leaves import as_expr, number_node, number_of
from symdiff.graph.ops import Fill, Pointwise
from symdiff.scalars.formula import canonical, kernel_symbol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from symdiff.graph.node import Op

_T = TypeVar("_T")

# One step computes one part of the formula from the values of earlier parts.
Step = tuple[str, Any, tuple[int, ...]]


def lift(formula: sp.Basic, env: Mapping[sp.Symbol, Expr]) -> Expr:
    """The expression of ``formula``, with the expressions of ``env`` for its symbols.

    The formula is in the vocabulary of ``symdiff.scalars`` (see ``formula.canonical``).  Raises
    Unsupported naming the SymPy type of a part outside the vocabulary.
    """
    return run(steps(formula), env)


def run(program: tuple[Step, ...], env: Mapping[sp.Symbol, Expr]) -> Expr:
    """Run the steps of a formula on the expressions of ``env``."""
    values: list[Expr] = []
    for kind, payload, parts in program:
        values.append(_make(kind, payload, [values[i] for i in parts], env))
    return values[-1]


def is_decision(op: Op) -> bool:
    """Whether the op's formula decides the value of a derivative at a kink."""
    return isinstance(op, Pointwise) and op.decides is not None and not op.primitive


def written_out(node: Expr) -> Expr:
    """The formula of a composed pointwise node, in nodes of its own.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> written_out(sd.diff(abs(x), x)) is sd.sign(x)
    True
    """
    assert isinstance(node.op, Pointwise)
    env = {kernel_symbol(k): x for k, x in enumerate(node.args)}
    return run(steps(canonical(node.op.formula)), env)


def over_formula(node: Expr, values: Sequence[_T], build: Callable[[Expr, list[_T]], _T]) -> _T:
    """Evaluate a decision's formula by parts with ``build``, from the values of its operands."""

    def built(x: Expr, parts: list[_T]) -> _T:
        return parts[0] if isinstance(x.op, Fill) else build(x, parts)

    return from_parts(written_out(node), dict(zip(node.args, values, strict=True)), built)


def from_parts(
    formula: Expr, values: Mapping[Expr, _T], build: Callable[[Expr, list[_T]], _T]
) -> _T:
    """Evaluate a formula by parts with ``build``, from the values of some of its nodes."""
    values_of = dict(values)
    inside = [formula]
    for x in inside:  # grows during the loop
        if x not in values_of:
            inside.extend(x.args)
    for x in reversed(inside):
        if x not in values_of:
            values_of[x] = build(x, [values_of[y] for y in x.args])
    return values_of[formula]


@lru_cache(maxsize=4096)
def steps(formula: sp.Basic) -> tuple[Step, ...]:
    """The parts of a formula, operands before users; equal parts are one."""
    place: dict[sp.Basic, int] = {}
    steps_so_far: list[Step] = []
    stack: list[tuple[sp.Basic, bool]] = [(formula, False)]
    while stack:
        part, ready = stack.pop()
        if part in place:
            continue
        operands = _operands(part)
        if operands and not ready:
            stack.append((part, True))
            stack.extend((operand, False) for operand in reversed(operands))
            continue
        kind, payload = _classify(part)
        place[part] = len(steps_so_far)
        steps_so_far.append((kind, payload, tuple(place[operand] for operand in operands)))
    return tuple(steps_so_far)


def _operands(part: sp.Basic) -> tuple[sp.Basic, ...]:
    if isinstance(part, sp.Pow):
        if isinstance(part.exp, sp.Rational | sp.Float):
            return (part.base,)
        return (part.exp,) if part.base is sp.E else part.args
    return () if part.is_Atom else part.args


def _classify(part: sp.Basic) -> tuple[str, Any]:
    if isinstance(part, sp.Symbol):
        return "symbol", part
    if isinstance(part, sp.Rational | sp.Float):
        return "number", number.exact(part)
    if part is sp.pi or part is sp.E:
        return "number", part
    if part is sp.true or part is sp.false:
        return "number", int(part is sp.true)
    if part in (sp.oo, -sp.oo, sp.nan):
        return "number", float(part)
    if isinstance(part, sp.Add):
        return "add", None
    if isinstance(part, sp.Mul):
        return "mul", None
    if isinstance(part, sp.Pow):
        if isinstance(part.exp, sp.Rational | sp.Float):
            return "power", number.exact_exponent(part.exp)
        return ("function", OP_OF_CLASS[sp.exp]) if part.base is sp.E else ("general power", None)
    op = OP_OF_CLASS.get(type(part))
    if op is None:
        raise Unsupported(
            f"SymPy's {type(part).__name__} in {part} has no counterpart here; "
            f"rewrite it in elementary functions, Piecewise, Min/Max or relations"
        )
    return "function", op


def _make(kind: str, payload: Any, parts: list[Expr], env: Mapping[sp.Symbol, Expr]) -> Expr:
    match kind:
        case "symbol":
            if payload not in env:
                raise Unsupported(f"symbol {payload} is not bound to an expression")
            return env[payload]
        case "number":
            return as_expr(payload) if isinstance(payload, sp.Basic) else number_node(payload)
        case "add":
            return combine("add", [(1, part) for part in parts])
        case "mul":
            return _product(parts)
        case "power":
            return int_power(parts[0], payload)
        case "general power":
            return power(parts[0], parts[1])
        case _:
            return pointwise(payload, *parts)


def _product(parts: list[Expr]) -> Expr:
    """Multiply factors, numbers first, so that no number separates factors that can merge."""
    coefficient: number.Number = 1
    result: Expr | None = None
    for part in parts:
        value = None if part.shape else number_of(part)
        if value is not None:
            coefficient = number.times(coefficient, value)
        else:
            result = part if result is None else mul(result, part)
    return number_node(coefficient) if result is None else scale(coefficient, result)
