"""Derivatives along directions, in each mode."""

from __future__ import annotations

import symdiff as sd


def pulled(f, xs, vs):
    """Return the derivative of f along vs, by reverse mode."""
    return sum(sd.sum(g * v) for g, v in zip(sd.grad(f, xs), vs, strict=True))


def along(f, xs, vs, order):
    """Return derivatives by reverse, forward and mixed mode, and a gradient of the second."""

    def pull(f):
        return pulled(f, xs, vs)

    def push(f):
        return sd.jvp(f, xs, vs)

    derivatives = []
    for steps in ([pull] * order, [push] * order, [pull] + [push] * (order - 1)):
        g = f
        for step in steps:
            g = step(g)
        derivatives.append(g)
    return [*derivatives, *sd.grad(derivatives[1], xs)]
