"""Derivatives along directions, made in each mode."""

from __future__ import annotations

import symdiff as sd


def pulled(f, xs, vs):
    """The derivative of f along vs, in reverse."""
    return sum(sd.sum(g * v) for g, v in zip(sd.grad(f, xs), vs, strict=True))


def along(f, xs, vs, order):
    """Those of an order, in reverse, forward and mixed, and the gradient of the second of them."""

    def pull(f):
        return pulled(f, xs, vs)

    def push(f):
        return sd.jvp(f, xs, vs)

    found = []
    for steps in ([pull] * order, [push] * order, [pull] + [push] * (order - 1)):
        g = f
        for step in steps:
            g = step(g)
        found.append(g)
    return [*found, *sd.grad(found[1], xs)]
