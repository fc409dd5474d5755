"""The formulas that several modules of cases look at, for us and for each peer.

A peer's formulas are written by running one Python function on the peer's own symbols; texts are
read by SymPy first, whose printer makes the function.
"""

from __future__ import annotations

from functools import cache, reduce
from typing import TYPE_CHECKING, Any

import sympy

from benchmarks.cases import peer
from numeric.demo.equations import Equation, load

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FACTORS = 200

_FUNCTIONS = ("sin", "cos", "tan", "exp", "log", "sqrt", "tanh", "asin", "acos", "atan")


def bell(exp: Callable[[Any], Any], sin: Callable[[Any], Any], x: Any, y: Any) -> Any:
    """exp(-x^2/2) sin(y)."""
    return exp(-(x**2) / 2) * sin(y)


def speelpenning(xs: Sequence[Any]) -> Any:
    """The product of all; its gradient is the classic test of reverse mode."""
    return reduce(lambda a, b: a * b, xs)


@cache
def equations() -> tuple[Equation, ...]:
    """The 100 physics equations of the demo."""
    return tuple(load())


@cache
def as_sympy(equation: Equation) -> tuple[tuple[sympy.Symbol, ...], sympy.Expr]:
    """Symbols and formula."""
    symbols = {name: sympy.Symbol(name, real=True) for name in equation.names}
    names = {"ln": sympy.log, "arcsin": sympy.asin, "arccos": sympy.acos, "pi": sympy.pi}
    text = equation.formula.replace("^", "**")
    return tuple(symbols.values()), sympy.sympify(text, locals=symbols | names)


@cache
def as_function(equation: Equation, module: str) -> Callable[..., Any]:
    """The formula as a Python function of ``module``'s numbers or symbols."""
    symbols, formula = as_sympy(equation)
    names = {name: getattr(peer(module), name) for name in _FUNCTIONS}
    return sympy.lambdify(symbols, formula, [names, "math"])  # type: ignore[no-any-return]
