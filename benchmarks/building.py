"""Writing expressions down: Rosenbrock's function against peers, the cost of each operation."""

from __future__ import annotations

import operator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import symdiff as sd
from benchmarks.cases import OURS, Case, Contestant, Race, installed, peer
from benchmarks.programs import CONTRACTIONS, PRODUCT, operands

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

VARIABLES = 1000
OPERATIONS = 20_000
CONSTRUCTIONS = 100


def rosenbrock(xs: Sequence[Any]) -> Any:
    """Sum of 100 (x[i+1] - x[i]^2)^2 + (1 - x[i])^2, written term by term."""
    f = 0
    for a, b in pairwise(xs):
        f = f + 100 * (b - a**2) ** 2 + (1 - a) ** 2
    return f


def names(round_: int) -> list[str]:
    """Names that no round before had, so that nothing is found in a table."""
    return [f"x{round_}_{i}" for i in range(VARIABLES)]


def _ours(words: list[str]) -> object:
    xs = [sd.symbol(word) for word in words]
    return sd.grad(rosenbrock(xs), xs)


def _casadi(words: list[str]) -> object:
    casadi: Any = peer("casadi")
    xs = [casadi.SX.sym(word) for word in words]
    return casadi.gradient(rosenbrock(xs), casadi.vertcat(*xs))


def _symengine(words: list[str]) -> object:
    symengine: Any = peer("symengine")
    xs = [symengine.Symbol(word) for word in words]
    f = rosenbrock(xs)
    return [f.diff(x) for x in xs]


OPERATIONS_BY_NAME: dict[str, Callable[[Any, Any], Any]] = {
    "x*y": operator.mul,
    "x+y": operator.add,
    "x-y": operator.sub,
    "x/y": operator.truediv,
    "2*x": lambda x, y: 2 * x,
    "x+1": lambda x, y: x + 1,
    "x**2": lambda x, y: x**2,
    "sin(x)": lambda x, y: sd.sin(x),
}


def _operands(round_: int) -> list[tuple[sd.Expr, sd.Expr]]:
    xs = sd.symbols([f"o{round_}_{i}" for i in range(OPERATIONS + 1)])
    return list(pairwise(xs))


def _cost(name: str, f: Callable[[Any, Any], Any]) -> Race:
    """The cost of one operation on operands that never met before."""

    def run(pairs: Any) -> list[Any]:
        return [f(x, y) for x, y in pairs]

    contestants = {OURS: Contestant(run, _operands)}
    return Race(f"{name}, fresh", contestants, rounds=5, per=OPERATIONS, limit=3.0)


def _interned_cost(name: str, f: Callable[[Any, Any], Any]) -> Race:
    """The cost of one operation whose result exists already."""

    def prepare(round_: int) -> Any:
        pairs = _operands(round_)
        return pairs, [f(x, y) for x, y in pairs]

    def run(prepared: Any) -> list[Any]:
        return [f(x, y) for x, y in prepared[0]]

    contestants = {OURS: Contestant(run, prepare)}
    return Race(f"{name}, interned", contestants, rounds=5, per=OPERATIONS, limit=3.0)


def _beside_a_product(name: str, new: bool) -> Race:
    """The cost of a contraction, in turns with products, of operands that never met before.

    Of the same shapes each time, or each of shapes that were never there.
    """

    def contestant(f: Callable[..., Any], shapes: Callable[[int], tuple[Any, ...]]) -> Contestant:
        def prepare(round_: int) -> Any:
            first = 10 + CONSTRUCTIONS * round_
            return operands(
                shapes, range(first, first + CONSTRUCTIONS) if new else [4] * CONSTRUCTIONS
            )

        return Contestant(lambda tuples: [f(*each) for each in tuples], prepare)

    contestants = {OURS: contestant(*CONTRACTIONS[name]), "p*q": contestant(*PRODUCT)}
    return Race(
        f"{name}, fresh{', of new shapes' if new else ''}",
        contestants,
        rounds=25,
        per=CONSTRUCTIONS,
        targets={} if new else {"p*q": 8.0},
    )


def cases() -> Iterator[Case]:
    """Build and gradient of Rosenbrock's function, then every operation of everyday arithmetic.

    Last contractions, each as a multiple of a product of scalars.
    """
    peers = {"casadi": Contestant(_casadi, names), "symengine": Contestant(_symengine, names, 2)}
    here, missing = installed(peers)
    yield Race(
        f"Rosenbrock, {VARIABLES:,} variables: build, gradient",
        {OURS: Contestant(_ours, names), **here},
        targets={"casadi": 0.5},
        missing=missing,
    )
    for name, f in OPERATIONS_BY_NAME.items():
        yield _cost(name, f)
    for name, f in OPERATIONS_BY_NAME.items():
        yield _interned_cost(name, f)
    for new in (False, True):
        for name in CONTRACTIONS:
            yield _beside_a_product(name, new)
