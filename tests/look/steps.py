"""The chain rule, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import numeric as nm
import symdiff as sd

if TYPE_CHECKING:
    from collections.abc import Callable


def _chain(length: int) -> Any:
    x = sd.symbol("x")
    f = x
    for _ in range(length):
        f = sd.sin(f) * x
    return nm.steps(f, x, at={x: 1.5})


class _AsLatex:
    def __init__(self, steps: Any) -> None:
        self._repr_latex_ = steps._repr_latex_


def _hostile() -> Any:
    x = sd.symbol("x")
    odd = sd.pointwise("f_1", lambda u: u**2 + 1)
    alpha, long = sd.symbol("alpha_b_c"), sd.symbol("a_variable_with_a_very_long_name_" + "n" * 60)
    custom = sd.custom(np.sin, vjp=lambda g, y, u: g * sd.cos(u), name="f__x_")
    f = odd(x) * alpha + custom(alpha) + long * x
    return nm.steps(f, x, at={x: 2, alpha: 1e-9, long: 1e300})


def specimens() -> dict[str, Callable[[], Any]]:
    """What this module shows."""
    x, y = sd.symbols("x y")
    q, b, v = sd.symbol("q", 2), sd.symbol("b", 3), sd.symbol("v", "n")
    A, w = sd.symbol("A", (3, 3)), sd.symbol("w", 3)
    X, t = sd.symbol("X", (50, 3)), sd.symbol("t", 50)
    matrix = np.eye(3) + 0.5
    rng = np.random.default_rng(1)
    softmax = sd.exp(b) / sd.sum(sd.exp(b))
    arm = sd.cos(q[0]) + sd.cos(q[0] + q[1])
    residual = X @ w - t
    bell = sd.exp(-(x**2) / 2) * sd.sin(y) / y
    return {
        "product": lambda: nm.steps(x * sd.sin(x), x, at={x: 2}),
        "product: LaTeX": lambda: _AsLatex(nm.steps(x * sd.sin(x), x, at={x: 2})),
        "quadratic form: LaTeX": lambda: _AsLatex(nm.steps(b @ A @ b, b)),
        "product: formulas alone": lambda: nm.steps(x * sd.sin(x), x),
        "quotient, power and root": lambda: nm.steps(sd.sqrt(1 + x**2) / x, x, at={x: 0.75}),
        "bell": lambda: nm.steps(bell, x, at={x: 1, y: 2}),
        "order 4": lambda: nm.steps(x * sd.sin(x), x, at={x: 2}, order=4),
        "order 2": lambda: nm.steps(x * sd.sin(x), x, at={x: 2}, order=2),
        "mixed": lambda: nm.steps(bell, (x, y), at={x: 1, y: 2}),
        "Hessian times a vector": lambda: nm.steps(
            b @ A @ b, b, order=2, at={A: matrix, b: [1, -1, 2]}, seed=np.array([1.0, 0, 0])
        ),
        "kinks": lambda: nm.steps(abs(x) * sd.maximum(x, y) + sd.sqrt(x), x, at={x: 0, y: 0}),
        "outside of the domain": lambda: nm.steps(sd.log(x) + sd.asin(x) / x, x, at={x: -2}),
        "branches": lambda: nm.steps(sd.where(x > 0, sd.log(x), x**2), x, at={x: -1}),
        "infinite": lambda: nm.steps(1 / x + sd.exp(x), x, at={x: 0}),
        "robot arm": lambda: nm.steps(arm, q, at={q: [0.5, 1]}),
        "robot arm, one joint": lambda: nm.steps(arm, q[0], at={q: [0.5, 1]}),
        "least squares": lambda: nm.steps(
            residual @ residual,
            w,
            at={X: rng.normal(size=(50, 3)), t: rng.normal(size=50), w: [1, 2, 3]},
        ),
        "softmax": lambda: nm.steps(softmax, b, at={b: [1, 2, 3]}, seed=np.array([1.0, 0, 0])),
        "quadratic form": lambda: nm.steps(b @ A @ b, b, at={A: matrix, b: [1, -1, 2]}),
        "determinant of an inverse": lambda: nm.steps(sd.det(sd.inv(A) @ A.T), A, at={A: matrix}),
        "solve": lambda: nm.steps(sd.sum(sd.solve(A, b)), A, at={A: matrix, b: [1, 2, 3]}),
        "largest": lambda: nm.steps(sd.max(b) + sd.norm(b), b, at={b: [2, 2, 1]}),
        "length by name": lambda: nm.steps(sd.sum(sd.exp(v)), v, at={v: np.linspace(0, 1, 40)}),
        "large": lambda: _chain(200),
        "hostile names": _hostile,
        "nothing depends on it": lambda: nm.steps(y**2, x, at={y: 2}),
        "the variable itself": lambda: nm.steps(x, x, at={x: 2}),
    }
