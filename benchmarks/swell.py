"""How large derivatives are: nodes, edges and operations of what usually swells."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import symdiff as sd
from benchmarks.cases import Case, Count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ORDER = 10
DEPTH = 10_000
FACTORS = 1000


def _exp_square(x: sd.Expr) -> sd.Expr:
    return sd.sin(sd.exp(x) + x**2)


def _nested_sine(x: sd.Expr) -> sd.Expr:
    return sd.sin(sd.sin(sd.sin(sd.sin(x))))


def by_diff(f: Callable[[sd.Expr], sd.Expr]) -> sd.Expr:
    """The derivative of order ``ORDER`` in one call."""
    x = sd.symbol("x")
    return sd.diff(f(x), x, ORDER)


def by_grad(f: Callable[[sd.Expr], sd.Expr]) -> sd.Expr:
    """The same, a gradient at a time."""
    x = sd.symbol("x")
    return reduce(lambda y, _: sd.grad(y, x), range(ORDER), f(x))


def _nested(depth: int) -> sd.Expr:
    x = sd.symbol("x")
    y = reduce(lambda y, _: sd.sin(y) * y, range(depth), x)
    return sd.grad(y, x)


def _product_gradient() -> tuple[sd.Expr, ...]:
    xs = sd.symbols([f"x{i}" for i in range(FACTORS)])
    return sd.grad(reduce(lambda a, b: a * b, xs), xs)


def cases() -> Iterator[Case]:
    """High orders by both routes, depth, and width."""
    functions = {
        "sin(exp(x) + x**2)": (_exp_square, 400),
        "sin(sin(sin(sin(x))))": (_nested_sine, 1500),
    }
    for name, (f, most) in functions.items():
        for route, derivative in {"diff": by_diff, "grad": by_grad}.items():
            for what, count in {
                "nodes": sd.count_nodes,
                "operations": sd.count_operations,
            }.items():
                yield Count(
                    f"{what}, {ORDER}th derivative by {route} of {name}",
                    lambda f=f, derivative=derivative, count=count: count(derivative(f)),  # type: ignore[misc]
                    most,
                )
    for depth in (DEPTH // 10, DEPTH):
        yield Count(
            f"nodes, derivative of y <- y*sin(y), {depth:,} deep",
            lambda depth=depth: sd.count_nodes(_nested(depth)),  # type: ignore[misc]
            8 * depth,
        )
    title = f"gradient of a product of {FACTORS:,} symbols"
    yield Count(f"nodes, {title}", lambda: sd.count_nodes(_product_gradient()), 10_000)
    yield Count(f"edges, {title}", lambda: sd.count_edges(_product_gradient()), 20_000)
