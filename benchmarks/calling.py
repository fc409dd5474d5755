"""What a call costs: value and gradient together, beside ``lambdify``, CasADi and SymEngine.

Each peer runs in the form that it recommends for the purpose: ``lambdify`` with ``cse``, CasADi's
``Function`` (which wraps numbers in matrices of its own), SymEngine's ``Lambdify`` with ``cse``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

import numeric as nm
import symdiff as sd
from benchmarks.cases import OURS, Case, Contestant, Race, installed, peer
from benchmarks.formulas import FACTORS, as_function, as_sympy, bell, equations, speelpenning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

CALLS = 20_000
POINTS = 1_000_000
PRODUCTS = 200


def _repeated(f: Callable[..., object], *args: Any, calls: int = CALLS) -> Contestant:
    def run(_: int) -> None:
        for _ in range(calls):
            f(*args)

    return Contestant(run)


def _ours(function: nm.Function, *at: Any) -> Any:
    """The bound method, after the first call, which writes the program."""
    function.value_and_grad(*at)
    return function.value_and_grad


def _casadi(f: Callable[..., Any], names: Sequence[str]) -> Any:
    """CasADi's function of scalars for value and gradient."""
    casadi: Any = peer("casadi")
    xs = [casadi.SX.sym(name) for name in names]
    y = casadi.SX(f(*xs))
    gradient = casadi.gradient(y, casadi.vertcat(*xs))
    return casadi.Function("f", xs, [y, *casadi.vertsplit(gradient)])


def _symengine(f: Callable[..., Any], names: Sequence[str]) -> Any:
    """SymEngine's function of one array of points for value and gradient."""
    symengine: Any = peer("symengine")
    xs = [symengine.Symbol(name) for name in names]
    y = symengine.sympify(f(*xs))
    return symengine.Lambdify(xs, [y, *(y.diff(x) for x in xs)], cse=True)


def _lambdified(xs: Sequence[Any], value: Any, module: str) -> Any:
    return sympy.lambdify(xs, [value, *(value.diff(x) for x in xs)], module, cse=True)


def _bell(module: str) -> Callable[..., Any]:
    of = peer(module)
    return lambda x, y: bell(of.exp, of.sin, x, y)  # type: ignore[union-attr]


def _points() -> Case:
    """One formula at a million points; every contestant gives arrays."""
    x, y = sd.symbols("x y")
    function = nm.lower(bell(sd.exp, sd.sin, x, y), [x, y])
    names = ("x", "y")
    rng = np.random.default_rng(3)
    at = rng.normal(size=(2, POINTS))
    a, b = (sympy.Symbol(name, real=True) for name in names)
    lambdified = _lambdified((a, b), bell(sympy.exp, sympy.sin, a, b), "numpy")

    def casadi() -> Contestant:
        f, rows = _casadi(_bell("casadi"), names), [row[None] for row in at]
        return _repeated(lambda: [part.full() for part in f(*rows)], calls=1)

    def symengine() -> Contestant:
        return _repeated(_symengine(_bell("symengine"), names), np.ascontiguousarray(at.T), calls=1)

    here, missing = installed({"casadi": casadi, "symengine": symengine})
    return Race(
        f"the same at {POINTS:,} points",
        {
            OURS: _repeated(_ours(function, *at), *at, calls=1),
            "lambdify, NumPy": _repeated(lambdified, *at, calls=1),
            **{name: make() for name, make in here.items()},
        },
        missing=missing,
        rounds=5,
    )


def _one_point() -> Case:
    x, y = sd.symbols("x y")
    function = nm.lower(bell(sd.exp, sd.sin, x, y), [x, y])
    names = ("x", "y")
    a, b = (sympy.Symbol(name, real=True) for name in names)
    value = bell(sympy.exp, sympy.sin, a, b)
    here, missing = installed(
        {
            "casadi": lambda: _repeated(_casadi(_bell("casadi"), names), 0.5, 1.5),
            "symengine": lambda: _repeated(_symengine(_bell("symengine"), names), [0.5, 1.5]),
        }
    )
    return Race(
        "value and gradient of exp(-x**2/2)*sin(y)",
        {
            OURS: _repeated(_ours(function, 0.5, 1.5), 0.5, 1.5),
            "lambdify": _repeated(_lambdified((a, b), value, "math"), 0.5, 1.5),
            "lambdify, NumPy": _repeated(_lambdified((a, b), value, "numpy"), 0.5, 1.5),
            **{name: make() for name, make in here.items()},
        },
        per=CALLS,
        missing=missing,
    )


def _product() -> Case:
    """The gradient of a product of many symbols; lambdify gets a vector as separate arguments."""
    names = [f"x{i}" for i in range(FACTORS)]
    xs = sd.symbols(names)
    function = nm.lower(speelpenning(xs), xs)
    at = np.random.default_rng(4).uniform(0.9, 1.1, FACTORS).tolist()
    symbols = [sympy.Symbol(name, real=True) for name in names]
    lambdified = _lambdified(symbols, sympy.Mul(*symbols), "math")

    def wide(*xs: Any) -> Any:
        return speelpenning(xs)

    here, missing = installed(
        {
            "casadi": lambda: _repeated(_casadi(wide, names), *at, calls=PRODUCTS),
            "symengine": lambda: _repeated(_symengine(wide, names), at, calls=PRODUCTS),
        }
    )
    return Race(
        f"value, gradient: product of {FACTORS} symbols",
        {
            OURS: _repeated(_ours(function, *at), *at, calls=PRODUCTS),
            "lambdify": _repeated(lambdified, *at, calls=PRODUCTS),
            **{name: make() for name, make in here.items()},
        },
        per=PRODUCTS,
        missing=missing,
    )


def _sweep() -> Case:
    """Value and gradient of all equations, each at one point of its own."""
    points = [equation.sample(1)[:, 0].tolist() for equation in equations()]

    def all_of(functions: Sequence[Any], star: bool = True) -> Contestant:
        pairs = list(zip(functions, points, strict=True))

        def run(_: int) -> None:
            for f, at in pairs:
                f(*at) if star else f(at)

        return Contestant(run)

    def ours() -> list[Any]:
        found = (equation.differentiate() for equation in equations())
        functions = [nm.lower(d.value, d.symbols) for d in found]
        return [_ours(f, *at) for f, at in zip(functions, points, strict=True)]

    here, missing = installed(
        {
            "casadi": lambda: all_of(
                [_casadi(as_function(e, "casadi"), e.names) for e in equations()]
            ),
            "symengine": lambda: all_of(
                [_symengine(as_function(e, "symengine"), e.names) for e in equations()], False
            ),
        }
    )
    return Race(
        f"value, gradient: {len(points)} equations, a call",
        {
            OURS: all_of(ours()),
            "lambdify": all_of([_lambdified(*as_sympy(e), "math") for e in equations()]),
            **{name: make() for name, make in here.items()},
        },
        per=len(points),
        rounds=15,
        missing=missing,
    )


def cases() -> Iterator[Case]:
    """One formula at a point and at a million, a wide product, and 100 equations."""
    yield _one_point()
    yield _points()
    yield _product()
    yield _sweep()
