"""A valid call of every public callable of ``numeric`` that is not a function of Tensors.

Slow callables, audits above all, get the smallest budget.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

import numeric as nm
import symdiff as sd
from tests.support.valid_calls import Valid, valid

if TYPE_CHECKING:
    from collections.abc import Callable

x, y = sd.symbols("x y")
v, w = sd.symbols("v w", 3)
rows = sd.symbol("rows", ("n", 2))
f = sd.sum(v**2) * x
numbers = np.array([0.5, 1.0, 2.0])
shards = [np.ones((2, 2)), np.zeros((1, 2))]


# Names that need a library which the tests do not install.
OTHER_LIBRARIES = {"from_jax", "from_torch"}
# Functions name their arguments after the inputs, and after derived arrays.
INPUTS = ("v", "x", "rows", "v_time", "cotangent", "tangent", "shard", "shards")


@cache
def function() -> Any:
    """Return a Function of a vector and a number."""
    return nm.lower(f, [v, x])


@cache
def of_shards() -> Any:
    """Return a sum over rows that come in shards."""
    return nm.sharded(sd.sum(sd.sin(rows) * x) ** 2, [rows, x], over="n")


def problem() -> Any:
    """Return a problem for SciPy."""
    return nm.export.scipy(sd.sum(v**2) * x, v, x=2.0)


def equations() -> Any:
    """Return an initial value problem for SciPy."""
    return nm.export.solve_ivp(-v * x, v, x=2.0)


def _square(u: Any) -> Any:
    return u * u


def _twice(u: Any) -> Any:
    return 2 * u


def _along(u: Any, g: Any) -> Any:
    return 2 * u * g


def _constant(u: Any) -> Any:
    return np.full(np.shape(u), 2.0)


def _residuals() -> Any:
    return function().forward(numbers, 2.0)[1]


_CHECKED = {"inputs": {"u": ()}, "domain": {"u": (0.5, 2.0)}, "budget": 100, "seed": 1}

CALLS: dict[str, Callable[[], Valid]] = {
    "lower": lambda: valid(
        [f, x], [v, x], threads=1, exact_order=True, backend="numpy", fastmath=False
    ),
    "interpret": lambda: valid([f, x], {v: numbers, x: 2.0}),
    "sharded": lambda: valid(
        [sd.sum(rows * x)], [rows, x], over="n", executor=None, progress=_like, threads=1
    ),
    "export.scipy": lambda: valid(f, v, x=2.0),
    "export.solve_ivp": lambda: valid(-v * x, v, t=y, x=2.0),
    "check.audit": lambda: valid(
        _square,
        gradient=_twice,
        vjp=_along,
        jvp=_along,
        hessian=_constant,
        shown=_like,
        **_CHECKED,
    ),
    "check.assert_gradients_match": lambda: valid(_square, gradient=_twice, **_CHECKED),
    "check.why": lambda: valid(_square, _square, **_CHECKED),
    "check.derivative": lambda: valid(np.sin, 1.0, complex_step=True),
    "check.taylor": lambda: valid(_square, _twice, 1.0, lambda u: 2.0, directions=2, seed=0),
    "check.reference": lambda: valid(x * y, {x: 2, y: "0.1"}, digits=20),
    "check.gradcheck": lambda: valid(
        nm.sin,
        nm.tensor([0.5], dtype=nm.float64, requires_grad=True),
        eps=1e-6,
        atol=1e-5,
        rtol=1e-3,
        raise_exception=True,
        nondet_tol=0.0,
    ),
    "check.gradgradcheck": lambda: valid(
        nm.sin,
        nm.tensor([0.5], dtype=nm.float64, requires_grad=True),
        grad_outputs=nm.tensor([1.0], dtype=nm.float64, requires_grad=True),
        eps=1e-6,
        atol=1e-5,
        rtol=1e-3,
    ),
    "check.from_tensors": lambda: valid(nm.sin).and_then(lambda s: s.vjp(numbers, numbers)),
    "check.enclose": lambda: valid(x * y, {x: (0, 1), y: 2}, digits=15, pieces=8),
    "check.certify": lambda: valid(
        sd.sin(x), {x: (0.5, 1.0)}, method="search", budget=20, seed=0, dtype="float64"
    ),
    "explore": lambda: valid(sd.sin(x), x, order=1, at=0.5, range=(0.0, 1.0)),
    "draw": lambda: valid(
        f,
        wrt=x,
        graph="forward",
        values={v: numbers, x: 2.0},
        seed=None,
        limit=60,
        direction="down",
    ).and_then(str),
    "steps": lambda: valid(f, x, at={v: numbers, x: 2.0}, order=1, seed=1.0).and_then(str),
    "plot": lambda: valid(sd.sin(x), x, order=1, at=0.5, range=(0.0, 1.0), ax=None),
    "plot_field": lambda: valid(x * y, [x, y], at=None, range=(0.0, 1.0), ax=None),
}

FUNCTION: dict[str, Callable[[], Valid]] = {
    "__call__": lambda: valid(numbers, 2.0),
    "grad": lambda: valid(numbers, 2.0, wrt=v),
    "value_and_grad": lambda: valid(numbers, x=2.0, wrt=[v, x]),
    "hessian": lambda: valid(numbers, 2.0, wrt=v),
    "jacobian": lambda: valid(numbers, 2.0, wrt=v, mode="forward"),
    "jvp": lambda: valid([numbers, 2.0], [numbers, 1.0]),
    "hvp": lambda: valid([numbers, 2.0], [numbers, 1.0]),
    "vjp": lambda: valid(numbers, 2.0).and_then(lambda pair: pair[1](1.0)),
    "forward": lambda: valid(numbers, 2.0),
    "backward": lambda: valid(_residuals(), 1.0, accumulate=None, wrt=v),
    "bind": lambda: valid({x: 2.0}).and_then(lambda bound: bound(numbers)),
    "explain": lambda: valid({"n": 3}),
}

SHARDED: dict[str, Callable[[], Valid]] = {
    "__call__": lambda: valid(shards, 2.0),
    "value_and_grad": lambda: valid(shards, 2.0, wrt=x),
    "hessian": lambda: valid(shards, 2.0, wrt=x),
    "hvp": lambda: valid(1.0, shards, 2.0, wrt=x),
}

PROBLEM: dict[str, Callable[[], Valid]] = {
    "fun": lambda: valid(numbers),
    "jac": lambda: valid(numbers),
    "hess": lambda: valid(numbers),
    "hessp": lambda: valid(numbers, numbers),
    "pack": lambda: valid(numbers),
    "unpack": lambda: valid(numbers),
}

EQUATIONS: dict[str, Callable[[], Valid]] = {
    "fun": lambda: valid(0.0, numbers),
    "jac": lambda: valid(0.0, numbers),
    "pack": lambda: valid(numbers),
    "unpack": lambda: valid(numbers),
}


def _like(*args: Any) -> None:
    return None
