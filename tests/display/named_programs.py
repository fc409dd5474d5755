"""Random programs over axes with names: powers of powers, parts from both ends, loops, solutions.

A program is a list of choices; ``built`` makes its expressions.  Values stay in a range in which
every function here is smooth and double precision has digits to spare.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import hypothesis.strategies as st

import symdiff as sd

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from symdiff import Expr

X = sd.symbol("x")
V, W = sd.symbol("v", "n"), sd.symbol("w", "m")
A, B = sd.symbol("A", ("n", "m")), sd.symbol("B", ("n", "n"))
M, Q = sd.symbol("M", (2, 2)), sd.symbol("q", 3)
T = sd.symbol("T", (2, 2, 2))
START = {"v": [V, X], "w": [W, X, V], "A": [A, V, W], "B": [B, V], "M": [M, Q], "T": [T], "q": [Q]}
POWERS = [Fraction(1, 2), Fraction(3, 2), Fraction(-1, 2), Fraction(1, 3), Fraction(-2, 3), 1.5]
LENGTHS = {"n": 5, "m": 4}, {"n": 4, "m": 5}

_ANY: dict[str, Callable[..., Any]] = {
    "sine": sd.sin,
    "absolute value": abs,
    "square": lambda a: a**2,
    "cube": lambda a: sd.sin(a) ** 3,
    "less one": lambda a: a - 1,
    "minus": lambda a: -a / 2,
    "bounded": lambda a: 1 / (1 + a**2),
    "reciprocal of a function": lambda a: 1 / sd.exp(sd.sin(a)),
    "where": lambda a: sd.where(a > 0, a, 2 * a),
    "times x": lambda a: X * a,
}
_VECTOR: dict[str, Callable[..., Any]] = {
    "without the first": lambda a: a[1:],
    "without the last": lambda a: a[:-1],
    "inside": lambda a: a[1:-1],
    "the last two": lambda a: a[-2:],
    "every second": lambda a: a[::2],
    "roll": lambda a: sd.roll(a, 1),
    "roll back": lambda a: sd.roll(a, -2),
    "zero in front": lambda a: sd.concatenate([sd.zeros(1), a]),
    "one behind": lambda a: sd.concatenate([a, sd.ones(1)]),
    "differences": lambda a: sd.concatenate([a[:1], a[1:] - a[:-1]]),
    "last changed": lambda a: sd.index_update(a, -1, X),
    "first added to": lambda a: sd.index_add(a, 0, X),
    "running sum": sd.cumsum,
    "listed": lambda a: a[[0, -1, 1, -2]],
    "outer": lambda a: sd.outer(a, a),
    "diagonal matrix": sd.diag,
    "all carries": lambda a: sd.scan(lambda s, c: (s * X + sd.sin(c), s * c), 0.5, a)[1],
    "last carry": lambda a: sd.scan(lambda s, c: (s * X + c, None), 1.0, a)[0],
    "back from the end": lambda a: sd.scan(
        lambda s, c: (sd.sin(s) + c, None), 0.0, a, reverse=True
    )[0],
}
_MATRIX: dict[str, Callable[..., Any]] = {
    "transpose": lambda a: a.T,
    "with its transpose": lambda a: a @ a.T / 4,
    "upper": sd.triu,
    "lower": sd.tril,
    "columns without the first": lambda a: a[:, 1:],
    "rows without the last": lambda a: a[:-1],
    "last row": lambda a: a[-1],
    "last column": lambda a: a[:, -1],
    "row sums": lambda a: sd.sum(a, axis=1),
    "column sums": lambda a: sd.sum(a, axis=0),
    "by rows": lambda a: a / sd.exp(sd.sin(sd.sum(a, axis=1)))[:, None],
    "by rows and columns": lambda a: a * sd.sum(a, axis=0) + sd.sum(a, axis=1)[:, None],
}
_SCALAR: dict[str, Callable[..., Any]] = {
    "root": lambda a: sd.root(lambda y: y**3 + y - a, 0.0),
    "fixed point": lambda a: sd.fixed_point(lambda y: sd.sin(a + y / 4), 0.0),
    "loop": lambda a: sd.fori_loop(0, 3, lambda i, y: y * sd.sin(a) + i, 1.0),
}
_BOTH: dict[str, Callable[..., Any]] = {
    "sum": lambda a, b: a + b,
    "product": lambda a, b: a * b,
    "quotient": lambda a, b: a / (1 + b**2),
    "difference": lambda a, b: a - 2 * b,
}
_CHOICES = st.tuples(st.integers(0, 99), st.integers(0, 99))

programs = st.tuples(
    st.sampled_from(sorted(START)), st.lists(_CHOICES, min_size=1, max_size=5), _CHOICES
)
"""The symbols, the steps, and which elements are taken in the end."""


def _step(values: list[Expr], what: int, which: int) -> Expr:
    """A function of the latest value, or of it and an earlier one."""
    a = values[-1]
    table = [*_ANY.values()]
    # The power of a power, of a negative base: what must not become one power.
    table += [lambda a, p=p: (a**2 + (which % 2)) ** p for p in POWERS]
    table += {0: _SCALAR, 1: _VECTOR, 2: _MATRIX}.get(a.ndim, {}).values()
    alike = [b for b in values[:-1] if b.shape in (a.shape, ())]
    if alike:
        b = alike[which % len(alike)]
        table += [lambda a, both=both: both(a, b) for both in _BOTH.values()]
    return table[what % len(table)](a)


def built(program: tuple[str, Sequence[tuple[int, int]], tuple[int, int]]) -> list[Expr]:
    """The result, gradients of a loss by all symbols, and elements of these from both ends."""
    name, steps, (first, second) = program
    symbols = START[name]
    values: list[Expr] = [*symbols]
    for what, which in steps:
        values.append(_step(values, what, which))
    result = values[-1]
    inside = [s for s in symbols if s in sd.free_symbols(result)]
    expressions = [result]
    if inside:
        expressions += sd.grad(sd.sum(sd.sin(result)), inside)
        last = sd.grad(sd.sum(expressions[-1] ** 2), inside[first % len(inside)])
        expressions.append(last)
    places = [0, -1, 1, -2]
    for f in [*expressions]:
        if f.ndim and all(n not in (0, 1) for n in f.shape):
            place = tuple(places[(first + k * second) % 4] for k in range(f.ndim))
            expressions.append(f[place])
    return [f for f in expressions if f.ndim < 4]
