"""Tensors, lowered Functions, and gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import numeric as nm
import symdiff as sd

if TYPE_CHECKING:
    from collections.abc import Callable


def tensors() -> dict[str, Callable[[], Any]]:
    """Tensors of all ranks and kinds."""
    leaf = nm.tensor([[1.5, -2.0, 0.25], [1e-3, 3.0, 4.0]], requires_grad=True)
    hard = [float("nan"), float("inf"), -float("inf"), -0.0, 1e300, 5e-324]
    x = nm.tensor([0.5, 1.0], requires_grad=True, name="x")
    y = (nm.sin(x) ** 2).sum()
    return {
        "0-d": lambda: nm.tensor(3.25),
        "vector": lambda: nm.tensor([1.0, 2.5, -3.0]),
        "leaf": lambda: leaf,
        "with grad_fn": lambda: nm.sin(leaf) * 2,
        "with a name": lambda: nm.tensor([0.5, 1.0], requires_grad=True, name="theta"),
        "nan and inf": lambda: nm.tensor(hard, dtype=nm.float64),
        "integers": lambda: nm.tensor([[1, 2**62], [-(2**62), 0]]),
        "booleans": lambda: nm.tensor([[True, False], [False, True]]),
        "large magnitudes": lambda: nm.tensor([[1e-8, 1.0], [1e12, -3.0]]),
        "wide integers": lambda: nm.full((3, 40), 2**62),
        "long vector": lambda: nm.arange(1000),
        "very long vector": lambda: nm.linspace(0, 1, 10**6),
        "large matrix": lambda: nm.tensor(np.arange(1e6).reshape(1000, 1000)),
        "3-d": lambda: nm.arange(24).reshape(2, 3, 4),
        "many axes": lambda: nm.zeros(*[2] * 10),
        "empty": lambda: nm.zeros(0, 3),
        "half precision": lambda: nm.tensor([0.1, 65504.0], dtype=nm.float16),
        "parameter": lambda: nm.nn.Parameter(nm.ones(2, 2)),
        "gradient: tuple of Tensors": lambda: nm.autograd.grad(y, (x,), retain_graph=True),
        "formula of a gradient": lambda: nm.autograd.grad(y, (x,), create_graph=True)[0].expr,
    }


def functions() -> dict[str, Callable[[], Any]]:
    """Lowered functions."""
    x, y = sd.symbols("x y")
    X, w, b = sd.symbol("X", ("m", "n")), sd.symbol("w", "n"), sd.symbol("bias")
    k = sd.symbol("k", dtype=int)
    scalar = sd.exp(-(x**2) / 2) * sd.sin(y)
    layer = sd.tanh(X @ w + b)
    many = sd.symbols(" ".join(f"v{i}" for i in range(60)))
    return {
        "Function: scalar": lambda: nm.lower(scalar, [x, y]),
        "Function: one input": lambda: nm.lower(x**2, x),
        "Function: array": lambda: nm.lower(sd.sum(layer**2), [X, w, b]),
        "Function: several outputs": lambda: nm.lower([layer, sd.sum(w)], [X, w, b]),
        "Function: vector": lambda: nm.lower(layer, [X, w, b]),
        "Function: integers": lambda: nm.lower(x * k, [x, k]),
        "Function: bound": lambda: nm.lower(sd.sum(layer), [X, w, b]).bind(X=np.eye(3)),
        "Function: large": lambda: nm.lower(sd.diff(scalar * sd.log(x), x, 6), [x, y]),
        "Function: many inputs": lambda: nm.lower(sum(many, x), [x, *many]),
        "Function: many outputs": lambda: nm.lower([x**i for i in range(50)], [x]),
        "Function: no inputs": lambda: nm.lower(sd.pi + 1, []),
        "Function: names": lambda: nm.lower(
            sd.symbol("_a_b_") * sd.symbol("λ_x") * sd.symbol("frac"),
            [sd.symbol("_a_b_"), sd.symbol("λ_x"), sd.symbol("frac")],
        ),
    }


def specimens() -> dict[str, Callable[[], Any]]:
    """What this module shows."""
    return {**tensors(), **functions()}
