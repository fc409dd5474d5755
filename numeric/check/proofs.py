"""Upper bounds of the rounding errors of a lowered Function over a box.

The running program, straight-line Python on floats, is read statement by statement.
``numeric.check.roundings`` bounds the error of each operation.  Inputs are exact.

This module imports python-flint, an optional extra: import it inside functions only.
"""

from __future__ import annotations

import ast
import heapq
import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from flint import arb, ctx

from numeric.check.ball_arithmetic import Ends, halved
from numeric.check.balls import ONE_FLINT, enclose
from numeric.check.certificates import Certificate
from numeric.check.intervals import Interval, finite, hull
from numeric.check.roundings import (
    ASSUMED,
    CALLS,
    UNDERFLOW,
    Rounded,
    U,
    Unbounded,
    bounded,
    largest,
    least,
    literal,
    opposite_of,
    product,
    quotient,
    total,
)
from numeric.lowering import derivatives
from numeric.lowering.names import MATH
from symdiff.errors import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numeric.lowering.function import Function
    from symdiff.graph.expr import Expr

# The negative worst error; a counter that breaks ties; the ends of the part; the error bounds, or
# the reason why there is none.
_Part: TypeAlias = "tuple[float, int, Ends, Ends, list[float] | str]"

_BINARY: dict[type[ast.operator], Callable[[Rounded, Rounded], Rounded]] = {
    ast.Add: total,
    ast.Sub: lambda x, y: total(x, opposite_of(y)),
    ast.Mult: product,
    ast.Div: quotient,
}
_RELATIONS = {ast.Lt: "less", ast.LtE: "less_equal", ast.Eq: "equal"}

# Programs -----------------------------------------------------------------------------------------


class Statements:
    """The statements of a program, and the names of the functions that it calls."""

    def __init__(self, source: str) -> None:
        (self.body,) = ast.parse(source).body
        self.called: set[str] = {
            node.func.id
            for node in ast.walk(self.body)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        # Refuse unknown functions before the box is cut into parts.
        unknown = sorted(self.called - set(CALLS))
        if unknown:
            raise Unsupported(
                f"certify: no bound is known of the rounding errors of {', '.join(unknown)}; "
                f"method='search' looks for the worst"
            )

    def run(self, inputs: Sequence[Interval]) -> list[Rounded]:
        """Return the results over one part of the box; raise Unbounded with the reason if none."""
        assert isinstance(self.body, ast.FunctionDef)
        values = {
            name.arg: Rounded(x) for name, x in zip(self.body.args.args, inputs, strict=False)
        }
        self.truths: dict[str, bool | None] = {}
        for statement in self.body.body:
            if isinstance(statement, ast.Return):
                assert isinstance(statement.value, ast.Tuple)
                return [self.value(part, values) for part in statement.value.elts]
            if not isinstance(statement, ast.Assign):
                raise Unsupported(f"certify: the statement {ast.unparse(statement)}")
            (target,) = statement.targets
            part, name = statement.value, ast.unparse(target)
            # Conditions have no rounding error, so they are kept apart from numbers.
            if isinstance(part, ast.Compare | ast.BoolOp):
                self.truths[name] = self.truth(part, values)
            else:
                values[name] = self.value(part, values)
        raise Unsupported("certify: a program without result")

    def value(self, node: ast.expr, values: Mapping[str, Rounded]) -> Rounded:
        """Return the value of an expression; the recursion is as deep as the source is nested."""
        match node:
            case ast.Name(id=name) if name in values:
                return values[name]
            case ast.Constant(value=int() | float() as number):
                return literal(number)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return opposite_of(self.value(operand, values))
            case ast.BinOp(op=op, left=left, right=right) if type(op) in _BINARY:
                return _BINARY[type(op)](self.value(left, values), self.value(right, values))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return CALLS[name](*(self.value(arg, values) for arg in args))
            case ast.IfExp(test=test, body=body, orelse=other):
                holds = self.truth(test, values)
                if holds is not None:
                    return self.value(body if holds else other, values)
                # Either branch may run, so the bound covers both.
                a, b = self.value(body, values), self.value(other, values)
                return Rounded(hull(a.exact, b.exact), max(a.r, b.r), max(a.s, b.s))
        raise Unsupported(f"certify: no bound is known of {ast.unparse(node)}")

    def truth(self, node: ast.expr, values: Mapping[str, Rounded]) -> bool | None:
        """Whether a condition holds; None if both outcomes occur and rounding does not decide."""
        match node:
            case ast.Compare(left=left, ops=relations, comparators=others):
                held = [
                    self.relation(relation, a, b, values)
                    for relation, a, b in zip(relations, [left, *others], others, strict=False)
                ]
                return False if False in held else None if None in held else True
            case ast.Name(id=name) if name in self.truths:
                return self.truths[name]
            case ast.BoolOp(op=ast.Or(), values=parts):
                held = [self.truth(part, values) for part in parts]
                return True if True in held else None if None in held else False
        raise Unsupported(f"certify: no bound is known of the condition {ast.unparse(node)}")

    def relation(
        self, relation: ast.cmpop, a: ast.expr, b: ast.expr, values: Mapping[str, Rounded]
    ) -> bool | None:
        """Whether a relation holds, in the sense of ``truth``."""
        if isinstance(relation, ast.Lt) and isinstance(b, ast.Name) and b.id == "inf":
            self.value(a, values)  # raises Unbounded unless the value is finite, hence below inf
            return True
        name = _RELATIONS.get(type(relation))
        if name is None:
            raise Unsupported(
                f"certify: no bound is known of the condition {ast.unparse(relation)}"
            )
        x, y = self.value(a, values), self.value(b, values)
        decided = bounded(name, x.computed, y.computed).truth()
        # Program and formula may then take different branches, which no rounding bound covers.
        if decided is None and not (x.is_exact and y.is_exact):
            raise Unbounded("rounding decides a condition")
        return bool(decided) if decided is not None else None


# Proofs -------------------------------------------------------------------------------------------


def proven(F: Function, ranges: Mapping[Expr, tuple[float, float]], budget: int) -> Certificate:
    """Return upper bounds in ulps of the errors of ``F.value_and_grad`` over a box.

    The box is cut into up to ``budget`` parts, each time where the bound is largest.  Raises
    Unsupported with place and reason if an output is unbounded in one part at the end.
    """
    lowered = F._programs.of(derivatives.value_and_grad, F._programs.real)
    # The program on floats, not the one on arrays: each statement is one operation.
    written = lowered.program(MATH, False)
    program = Statements(written.source)
    # The assumed errors hold for the functions of math, not for others of the same names.
    for name in sorted(program.called & {*ASSUMED, "sqrt"}):
        if written.function.__globals__.get(name) is not getattr(math, name):
            raise Unsupported(f"certify: no bound is known of the rounding errors of this {name}")
    names = ["value", *(f"d/d{x.name}" for x in F.inputs)]
    with ONE_FLINT, ctx.workprec(128):
        _refuse_others(program, lowered.outputs, ranges)
        parts = _parts(program, F.inputs, ranges, names, max(budget, 1))
    _, _, low, high, bounds = parts[0]
    if isinstance(bounds, str):
        place = ", ".join(
            f"{float(low[x][()]):.6g} <= {x.name} <= {float(high[x][()]):.6g}" for x in F.inputs
        )
        raise Unsupported(f"certify: no bound can be proven for {place}: {bounds}")
    columns = zip(*(part[4] for part in parts if not isinstance(part[4], str)), strict=True)
    assumed = sorted(program.called & set(ASSUMED))
    assumptions = ["the program is the formula, but for rounding"]
    assumptions += [f"{name} of math is within {ASSUMED[name]} ulp" for name in assumed]
    return Certificate(
        "proven",
        {x.name: ends for x, ends in ranges.items()},
        "float64",
        dict(zip(names, map(max, columns), strict=True)),
        judged=len(parts),
        assumptions=tuple(assumptions),
    )


def _refuse_others(
    program: Statements, outputs: Sequence[Expr], ranges: Mapping[Expr, tuple[float, float]]
) -> None:
    """Raise Unsupported if the program, read without rounding, differs from ``outputs``.

    The test runs at a few points.  Constants are rounded in the program, so they are intervals.
    """
    for fraction in (0.0, 0.25, 0.625, 1.0):
        at = {x: low + fraction * (high - low) for x, (low, high) in ranges.items()}
        try:
            results = program.run(list(map(finite, at.values())))
            expected = [enclose(y, at) for y in outputs]
        except (Unbounded, ValueError):
            continue
        for x, y in zip(results, expected, strict=True):
            low, high = (finite(end) for end in (y.lower, y.upper))
            if x.exact.upper < low.lower or x.exact.lower > high.upper:
                raise Unsupported("certify: the program as read differs from its formula")


def _parts(
    program: Statements,
    symbols: Sequence[Expr],
    ranges: Mapping[Expr, tuple[float, float]],
    names: Sequence[str],
    budget: int,
) -> list[_Part]:
    """Cut the box into parts and return them with their bounds, the worst first."""
    count = itertools.count()
    low, high = (
        {x: np.array(Fraction(ranges[x][end]), dtype=object) for x in symbols} for end in (0, 1)
    )

    def part(a: Ends, b: Ends) -> _Part:
        box = [hull(finite(a[x][()]), finite(b[x][()])) for x in symbols]
        try:
            bounds = _ulps(program.run(box), names)
        except Unbounded as error:
            # An unbounded part is the worst, so it is cut first.
            return -math.inf, next(count), a, b, str(error)
        return -max(bounds), next(count), a, b, bounds

    parts = [part(low, high)]
    while len(parts) < budget:
        _, _, a, b, _ = parts[0]
        if all(a[x][()] == b[x][()] for x in symbols):
            break
        # heapreplace pops and pushes in one step; the second half follows.
        first, second = halved(a, b, low, high)
        heapq.heapreplace(parts, part(*first))
        heapq.heappush(parts, part(*second))
    return parts


def _ulps(results: Sequence[Rounded], names: Sequence[str]) -> list[float]:
    """Return the error bounds in units in the last place of the exact values."""
    bounds = []
    for x, name in zip(results, names, strict=True):
        if x.is_exact:
            bounds.append(0.0)
            continue
        # The smallest value has the smallest unit; at 0 it is the smallest subnormal number.
        bottom = least(x.exact)
        unit = 2 * UNDERFLOW
        if bottom > 0:
            mantissa, exponent = bottom.man_exp()
            unit = arb((1, max(int(exponent) + int(mantissa).bit_length() - 53, -1074)))
        bound = x.r / U + x.s / unit
        if bottom > 0:
            # Of two bounds take the smaller: the second one is tighter if the values vary little.
            bound = min(bound.upper(), ((x.r * largest(x.exact) + x.s) / unit).upper())
        value = float(bound.upper())
        # An error of 2^53 ulps is as large as the value itself.
        if not value < 2.0**53:
            raise Unbounded(f"no digit of {name} is certain")
        bounds.append(value * (1 + 2.0**-40))  # covers the rounding of the float itself
    return bounds
