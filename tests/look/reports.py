"""What the checks give: reports, comparisons, certificates and the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import numeric as nm
import symdiff as sd
from numeric.check import Finding, Report

if TYPE_CHECKING:
    from collections.abc import Callable

HOSTILE = "<img src=x onerror=alert(1)> $\\frac{1}{0}$ \\(x\\)"


def _tanh(x: Any) -> Any:
    return np.sum(np.tanh(x))


def _cut(x: Any) -> Any:
    return np.where(np.abs(x) > 4, 0, 1 - np.tanh(x) ** 2)


def _audited(gradient: Any) -> Report:
    return nm.check.audit(_tanh, gradient=gradient, inputs={"x": 3}, budget=400)


def _hostile() -> Report:
    finding = Finding(
        kind=HOSTILE,
        verdict="wrong",
        ok=False,
        derivative=HOSTILE,
        input=HOSTILE,
        component=(1,),
        point={HOSTILE: np.arange(200.0)},
        expected=None,
        got=float("nan"),
        ulps=float("inf"),
        why=HOSTILE * 30,
        count=3,
    )
    inputs = {HOSTILE: (200,)}
    return Report("wrong", False, (finding,) * 30, HOSTILE, inputs, 1, 2, 0, notes=(HOSTILE,))


def specimens() -> dict[str, Callable[[], Any]]:
    """What this module shows."""
    check = nm.check
    x, y = sd.symbols("x y")
    v = sd.symbol("v", 3)
    versine = nm.lower(1 - sd.cos(x), x)
    at = np.array([0.5, 1.0])
    return {
        "audit: right": lambda: _audited(lambda x: 1 / np.cosh(x) ** 2),
        "audit: wrong": lambda: _audited(_cut),
        "audit: convention": lambda: check.audit(
            "abs(x)", gradient=lambda x: np.where(x >= 0, 1.0, -1.0), inputs={"x": ()}, budget=300
        ),
        "audit: hostile words": _hostile,
        "why: equal": lambda: check.why("(x + 1)**2", "x**2 + 2*x + 1"),
        "why: not equal": lambda: check.why("sqrt(x**2)", "x"),
        "certify": lambda: check.certify(versine, {x: (-1, 1)}, budget=60),
        "enclose": lambda: check.enclose(sd.sin(x) * y, {x: (0, 1), y: (1, 2)}),
        "enclose: array": lambda: check.enclose(sd.exp(v), {v: [1, 2, 3]}),
        "derivative: number": lambda: check.derivative(np.exp, 0.5),
        "derivative: kink": lambda: check.derivative(abs, 0.0),
        "derivative: gradient": lambda: check.derivative(_tanh, at),
        "derivative: Jacobian": lambda: check.derivative(lambda x: np.outer(x, x), np.ones(4)),
        "taylor: right": lambda: check.taylor(_tanh, _cut, at),
        "taylor: wrong": lambda: check.taylor(_tanh, lambda x: 1 - np.tanh(x), at),
        "taylor: with a Hessian": lambda: check.taylor(
            lambda x: np.sum(x**3), lambda x: 3 * x**2, at, lambda x: np.diag(6 * x)
        ),
        "reference": lambda: check.reference(sd.exp(x) * y, {x: 1, y: 2}),
        "digits": lambda: sd.evalf(sd.pi, 60),
        "digits: array": lambda: sd.evalf(sd.exp(v), 20, {v: [1, 2, 3]}),
    }
