"""Right derivatives of smooth functions of each element, in several spellings."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.check.entries import right
from tests.check.pieces import sech2, sigmoid


def frozen(x: Any) -> Any:
    x.setflags(write=False)
    return x


def sinc_slope(x: Any) -> Any:
    """The series of ``2k u**(2k - 1) / (2k + 1)!`` near 0, the quotients elsewhere."""
    u = np.pi * x
    near = np.abs(u) < 1
    small, large = np.where(near, u, 0), np.where(near, 1, u)
    series, term = np.zeros_like(u), small
    for k in range(1, 12):
        term = -term / (2 * k * (2 * k + 1)) * (1 if k == 1 else small * small)
        series = series + 2 * k * term
    return np.pi * np.where(near, series, (np.cos(large) - np.sin(large) / large) / large)


def tanh_by_expm1(x: Any) -> Any:
    e = np.expm1(-2 * np.abs(x))
    return -np.sign(x) * e / (2 + e)


def unit(x: Any, y: Any) -> Any:
    """The direction of (x, y), of lengths that are scaled to 1; 0 at 0."""
    m = np.maximum(np.abs(x), np.abs(y))
    m = np.where(m == 0, 1, m)
    h = np.hypot(x / m, y / m)
    h = np.where(h == 0, 1, h)
    return x / m / h, y / m / h


ENTRIES = (
    right("tanh", "1 - tanh**2", gradient=lambda x: 1 - np.tanh(x) ** 2, single=True),
    right("tanh", "1 / cosh**2", gradient=lambda x: 1 / np.cosh(x) ** 2),
    right(
        "tanh",
        "by one exponential",
        single=True,
        gradient=lambda x: 4 * np.exp(-2 * np.abs(x)) / (1 + np.exp(-2 * np.abs(x))) ** 2,
    ),
    right(
        "tanh",
        "float64 whatever comes",
        single=True,
        gradient=lambda x: sech2(np.asarray(x, float)),
    ),
    right("tanh", "read-only", gradient=lambda x: frozen(sech2(x))),
    right(
        "tanh",
        "with vjp, jvp and hessian",
        gradient=sech2,
        vjp=lambda x, g: g * sech2(x),
        jvp=lambda x, t: np.sum(sech2(x) * t),
        hessian=lambda x: np.diag(-2 * np.tanh(x) * sech2(x)),
    ),
    right("sin", "cos", gradient=np.cos, single=True),
    right("sin", "a list of floats", gradient=lambda x: [float(np.cos(v)) for v in x]),
    right(
        "sin",
        "with jvp and hessian",
        gradient=lambda x: np.cos(x),
        single=True,
        jvp=lambda x, t: np.cos(x) @ t,
        hessian=lambda x: np.diag(-np.sin(x)),
    ),
    right("softplus", "two branches", gradient=sigmoid, single=True),
    right("softplus", "1 / (1 + exp(-x))", gradient=lambda x: 1 / (1 + np.exp(-x)), single=True),
    right("softplus", "1 - 1 / (1 + exp(x))", gradient=lambda x: 1 - 1 / (1 + np.exp(x))),
    right("softplus", "by tanh", gradient=lambda x: 0.5 * (1 + np.tanh(0.5 * x)), single=True),
    right(
        "softplus",
        "by logaddexp, with the hessian",
        gradient=lambda x: np.exp(-np.logaddexp(0, -x)),
        hessian=lambda x: np.diag(sigmoid(x) * sigmoid(-x)),
    ),
    right("half_square", "the input itself", gradient=lambda x: x, single=True),
    right(
        "half_square",
        "a view of the input, and the identity",
        gradient=lambda x: x[::-1][::-1],
        hessian=lambda x: np.eye(len(x)),
    ),
    right("cubic", "3 x**2", gradient=lambda x: 3 * x**2, single=True),
    right(
        "cubic",
        "with jvp and hessian",
        gradient=lambda x: 3 * x * x,
        jvp=lambda x, t: np.sum(3 * x * x * t),
        hessian=lambda x: np.diag(6 * x),
    ),
    right(
        "xsinx",
        "the product rule",
        gradient=lambda x: np.sin(x) + x * np.cos(x),
        single=True,
        hessian=lambda x: np.diag(2 * np.cos(x) - x * np.sin(x)),
    ),
    right("gauss", "-x exp(-x**2 / 2)", gradient=lambda x: -x * np.exp(-(x**2) / 2), single=True),
    right(
        "gauss",
        "with the hessian",
        gradient=lambda x: -x * np.exp(-0.5 * x * x),
        hessian=lambda x: np.diag((x * x - 1) * np.exp(-0.5 * x * x)),
    ),
    right("logcosh", "tanh", gradient=np.tanh, single=True, hessian=lambda x: np.diag(sech2(x))),
    right("logcosh", "by expm1", gradient=tanh_by_expm1),
    right("sinc", "a series near 0", gradient=sinc_slope, single=True),
    right("log1p_square", "2 x / (1 + x**2)", gradient=lambda x: 2 * x / (1 + x**2), single=True),
    right("log1p_square", "2 / (x + 1/x)", gradient=lambda x: 2 / (x + 1 / x)),
    right("polynomial", "by powers", gradient=lambda x: 6 * x**2 - 6 * x + 1),
    right("polynomial", "Horner", gradient=lambda x: (6 * x - 6) * x + 1, single=True),
    right(
        "sqrtlog",
        "the product rule",
        gradient=lambda x: np.log(x) / (2 * np.sqrt(x)) + np.sqrt(x) / x,
    ),
    right(
        "sqrtlog", "one root", gradient=lambda x: (0.5 * np.log(x) + 1) / np.sqrt(x), single=True
    ),
    right(
        "powers",
        "no logarithm of 0",
        single=True,
        gradient=lambda x, y: (
            y * x ** (y - 1),
            np.where(x > 0, x**y * np.log(np.where(x > 0, x, 1)), 0),
        ),
    ),
    right(
        "powers",
        "a logarithm with a floor",
        gradient=lambda x, y: [
            y * x ** (y - 1),
            x**y * np.log(np.maximum(x, np.finfo(x.dtype).tiny)),
        ],
    ),
    right("hypot", "scaled, 0 at 0", gradient=unit, single=True),
    right(
        "hypot",
        "by the angle, (1, 0) at 0",
        gradient=lambda x, y: (np.cos(np.arctan2(y, x)), np.sin(np.arctan2(y, x))),
    ),
    right(
        "angle",
        "by squares",
        gradient=lambda y, x: (x / (x**2 + y**2), -y / (x**2 + y**2)),
        single=True,
    ),
    right(
        "angle",
        "by hypot",
        gradient=lambda y, x: (
            x / np.hypot(x, y) / np.hypot(x, y),
            -y / np.hypot(x, y) / np.hypot(x, y),
        ),
    ),
    right("expm1_ratio", "exp(-x)", gradient=lambda x: np.exp(-x), single=True),
    right("expm1_ratio", "1 - f", gradient=lambda x: 1 - np.expm1(x) / np.exp(x)),
)
