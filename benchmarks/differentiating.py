"""Derivatives as expressions: a wide product's gradient, and 100 equations to second order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy

import symdiff as sd
from benchmarks.cases import OURS, Case, Contestant, Race, installed, peer
from benchmarks.formulas import FACTORS, as_function, as_sympy, equations, speelpenning

if TYPE_CHECKING:
    from collections.abc import Iterator


def _names(round_: int) -> list[str]:
    """Names that no round before had, so that nothing is found in a table."""
    return [f"s{round_}_{i}" for i in range(FACTORS)]


def _ours(words: list[str]) -> object:
    xs = [sd.symbol(word) for word in words]
    return sd.grad(speelpenning(xs), xs)


def _casadi(words: list[str]) -> object:
    casadi: Any = peer("casadi")
    xs = [casadi.SX.sym(word) for word in words]
    return casadi.gradient(speelpenning(xs), casadi.vertcat(*xs))


def _symengine(words: list[str]) -> object:
    symengine: Any = peer("symengine")
    xs = [symengine.Symbol(word) for word in words]
    f = speelpenning(xs)
    return [f.diff(x) for x in xs]


def _sweep(_: int) -> object:
    found = []
    for equation in equations():
        xs = [sd.symbol(name) for name in equation.names]
        gradient = sd.grad(as_function(equation, "symdiff")(*xs), xs)
        found.append([sd.grad(first, xs[i:]) for i, first in enumerate(gradient)])
    return found


def _sweep_casadi(_: int) -> object:
    casadi: Any = peer("casadi")
    found = []
    for equation in equations():
        xs = [casadi.SX.sym(name) for name in equation.names]
        f = casadi.SX(as_function(equation, "casadi")(*xs))
        found.append(casadi.hessian(f, casadi.vertcat(*xs)))
    return found


def _sweep_by_diff(f: Any, xs: Any) -> list[Any]:
    gradient = [f.diff(x) for x in xs]
    return [first.diff(x) for i, first in enumerate(gradient) for x in xs[i:]]


def _sweep_symengine(_: int) -> object:
    symengine: Any = peer("symengine")
    found = []
    for equation in equations():
        xs = [symengine.Symbol(name) for name in equation.names]
        f = symengine.sympify(as_function(equation, "symengine")(*xs))
        found.append(_sweep_by_diff(f, xs))
    return found


def _sweep_sympy(_: int) -> object:
    sympy.core.cache.clear_cache()
    return [_sweep_by_diff(f, xs) for xs, f in map(as_sympy, equations())]


def cases() -> Iterator[Case]:
    """Speelpenning's product, and the sweep, in which SymPy is given its formulas ready-made.

    SymPy has no part in the product, for which it would need most of a minute.
    """
    peers = {
        "casadi": Contestant(_casadi, _names),
        "symengine": Contestant(_symengine, _names),
    }
    here, missing = installed(peers)
    yield Race(
        f"gradient of a product of {FACTORS} symbols",
        {OURS: Contestant(_ours, _names), **here},
        missing=missing,
    )
    peers = {
        "casadi": Contestant(_sweep_casadi),
        "symengine": Contestant(_sweep_symengine),
        "sympy": Contestant(_sweep_sympy, rounds=1),
    }
    here, missing = installed(peers)
    yield Race(
        "100 equations: build, gradient, Hessian",
        {OURS: Contestant(_sweep), **here},
        missing=missing,
        rounds=3,
    )
