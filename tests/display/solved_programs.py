"""Loops, solutions and their derivatives that a text states as equations, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import symdiff as sd

if TYPE_CHECKING:
    from collections.abc import Callable

a, c, r, alpha, y0 = sd.symbols("a c r alpha y0")
x5, named, v, theta = (
    sd.symbol("x", 5),
    sd.symbol("x", "n"),
    sd.symbol("v", 2),
    sd.symbol("theta", 2),
)
A, W, b, times = (
    sd.symbol("A", (2, 2)),
    sd.symbol("W", (3, 3)),
    sd.symbol("b", 3),
    sd.symbol("t", 3),
)


def linear():
    return sd.sum(sd.scan(lambda s, _: (A @ s + v, None), v, None, length=4)[0])


def oscillator():
    def step(s, _):
        return (s[0] + 0.1 * s[1], s[1] - 0.1 * a * s[0]), s[0]

    return sd.scan(step, (c, 0.0), None, length=5)


def squares(**words):
    return sd.scan(lambda s, x: (a * s * s + x, s), 0, x5, **words)[0]


def logistic():
    return sd.scan(lambda s, _: (r * s * (1 - s), None), c, None, length=3)[0]


def doubling():
    return sd.while_loop(lambda s: s[0] < a, lambda s: (2 * s[0] + 1, s[1] + s[0] * c), (0.1, 0.0))


def equilibrium():
    return sd.sum(sd.fixed_point(lambda z: sd.tanh(W @ z / 5 + b), sd.zeros(3)))


def pair():
    return sd.root(lambda z: (z[0] ** 2 - a, z[1] - z[0] * r), (1.0, 1.0))[1]


def forced():
    return sd.odeint(lambda u, t: -alpha * u + sd.sin(alpha * t), y0, [0, 1, 2])


def damped():
    return sd.odeint(lambda u, t: sd.stack([u[1], -theta @ u]), v, [0, 1, 2])


def in_a_loop(solved):
    return sd.scan(lambda s, _: (solved(s), None), c, None, length=3)[0]


def decay_in_a_loop():
    return in_a_loop(lambda s: sd.odeint(lambda u, t: -alpha * u, s, [0, 1])[-1] + 1)


def root_in_a_loop():
    return in_a_loop(lambda s: sd.root(lambda z: z - s - 0.1 * a * sd.sin(z), s))


def while_in_a_loop():
    return in_a_loop(lambda s: sd.while_loop(lambda x: x < a, lambda x: 2 * x, s) - a + 0.3)


def nested():
    def inner(s):
        return sd.fori_loop(0, 3, lambda j, z: sd.sin(z) + a, s)

    return sd.fori_loop(0, 4, lambda i, s: s * inner(s), 1.0)


def ring():
    return sd.linear_solve(lambda u: (2 + a) * u - sd.roll(u, 1) - sd.roll(u, -1), x5)


def network():
    return sd.sum(sd.scan(lambda h, x: (sd.tanh(W @ h / 5 + x * b), h), sd.zeros(3), x5)[0])


def running(by):
    return sd.diff(sd.scan(lambda s, x: (a * s**2 + x, s), 0, named)[0], by)


PROGRAMS: dict[str, Callable[[], Any]] = {
    "a vector": linear,
    "a vector by its part": lambda: sd.grad(linear(), v),
    "a vector by a matrix": lambda: sd.grad(linear(), A),
    "two carries": lambda: oscillator()[0][0],
    "two carries by a parameter": lambda: sd.diff(oscillator()[0][0], a),
    "all carries": lambda: sd.diff(sd.sum(oscillator()[1] ** 2), a),
    "a named length": lambda: sd.scan(lambda s, x: (a * s + x, s), 0, named)[0],
    "a named length by data": lambda: sd.grad(
        sd.scan(lambda s, x: (a * s + x, s), 0, named)[0], named
    ),
    "a named length by a parameter": lambda: running(a),
    "a number of rounds by name": lambda: sd.fori_loop(0, "n", lambda i, s: s * a + i, 1.0),
    "backwards": lambda: squares(reverse=True),
    "checkpoints": lambda: squares(checkpoint=2),
    "checkpoints by a parameter": lambda: sd.diff(squares(checkpoint=2), a),
    "checkpoints by data": lambda: sd.grad(squares(checkpoint=2), x5),
    "a second derivative": lambda: sd.diff(logistic(), r, 2),
    "a Hessian": lambda: sd.hessian(logistic(), [r, c]),
    "a condition": lambda: doubling()[1],
    "a condition by a parameter": lambda: sd.diff(doubling()[1], c),
    "a number of rounds": lambda: sd.while_loop(
        lambda x: x < a, lambda x: 2 * x, 0.1, return_steps=True
    )[1],
    "a linear loop with a condition": lambda: sd.diff(
        sd.while_loop(lambda x: x < a, lambda x: 2 * x, c / 9), c
    ),
    "an equilibrium": equilibrium,
    "an equilibrium by a vector": lambda: sd.grad(equilibrium(), b),
    "an equilibrium by a matrix": lambda: sd.grad(equilibrium(), W),
    "a pair of unknowns": pair,
    "a pair of unknowns by a parameter": lambda: sd.diff(pair(), a),
    "a forced equation": lambda: forced()[-1],
    "a forced equation by a parameter": lambda: sd.diff(forced()[-1], alpha),
    "a loss": lambda: sd.sum((forced() - 1) ** 2),
    "a loss by a parameter": lambda: sd.diff(sd.sum((forced() - 1) ** 2), alpha),
    "a Hessian of a loss": lambda: sd.hessian(sd.sum((forced() - 1) ** 2), [alpha, y0]),
    "a system": damped,
    "a system by a vector": lambda: sd.grad(sd.sum(damped()[-1]), theta),
    "a system by its start": lambda: sd.grad(damped()[-1, 0], v),
    "a system by a vector, as a matrix": lambda: sd.jacobian(damped()[-1], theta),
    "a system by a vector twice": lambda: sd.hessian(damped()[-1, 0], theta),
    "a system by a vector and its start": lambda: sd.jacobian(sd.grad(damped()[-1, 0], theta), v),
    "a system by its start and a vector": lambda: sd.jacobian(sd.grad(damped()[-1, 0], v), theta),
    "a start of small expressions": lambda: sd.hessian(
        sd.odeint(lambda u, t: sd.stack([u[1], -a / r * u[0]]), [c**2, a * c], [0, 1])[-1, 1],
        [a, c, r],
    ),
    "a start from a loop": lambda: sd.diff(
        sd.odeint(lambda u, t: -alpha * u, sd.fori_loop(0, 3, lambda i, s: s * c, alpha), [0, 1])[
            -1
        ],
        alpha,
    ),
    "a start with steps for sensitivities": lambda: sd.grad(
        sd.odeint(lambda u, t: sd.stack([u[1], -a * u[0]]), [c, r], [0, 1], sensitivities=True)[
            -1, 0
        ],
        [a, c, r],
    ),
    "elements of parameters": lambda: sd.grad(
        sd.odeint(lambda u, t: -theta[0] * u + theta[1], theta[0] * theta[1], [0, 1])[-1], theta
    ),
    "functions of parameters": lambda: sd.diff(
        sd.odeint(lambda u, t: -sd.exp(alpha) * u, y0 * alpha, [0, 1])[-1], alpha
    ),
    "times as symbols": lambda: sd.diff(sd.odeint(lambda u, t: -alpha * u, y0, times)[-1], alpha),
    "derivatives by times": lambda: sd.grad(
        sd.odeint(lambda u, t: -alpha * u, y0, times)[-1], times
    ),
    "an implicit method": lambda: sd.diff(
        sd.odeint(lambda u, t: -alpha * u, y0, [0, 1], method="Radau")[-1], alpha
    ),
    "steps for sensitivities": lambda: sd.diff(
        sd.odeint(lambda u, t: -alpha * u, y0, [0, 1], sensitivities=True)[-1], alpha
    ),
    "an equation in a loop": decay_in_a_loop,
    "an equation in a loop by a parameter": lambda: sd.diff(decay_in_a_loop(), alpha),
    "a root in a loop": root_in_a_loop,
    "a root in a loop by a parameter": lambda: sd.diff(root_in_a_loop(), a),
    "a condition in a loop": while_in_a_loop,
    "a condition in a loop by its start": lambda: sd.diff(while_in_a_loop(), c),
    "a loop in a loop by a parameter": lambda: sd.diff(nested(), a),
    "a batch of roots": lambda: sd.batch(sd.root(lambda z: z * z - a, 1.0), {a: x5}),
    "a batch of loops": lambda: sd.batch(sd.fori_loop(0, 3, lambda i, s: s * a, 1.0), {a: x5}),
    "a batch of conditions": lambda: sd.batch(
        sd.while_loop(lambda x: x < 10, lambda x: 2 * x, a), {a: x5}
    ),
    "a batch of equations": lambda: sd.batch(
        sd.odeint(lambda u, t: -a * u, 1.0, [0, 1])[-1], {a: x5}
    ),
    "a ring": ring,
    "a ring by a parameter": lambda: sd.diff(sd.sum(ring() ** 2), a),
    "a network by its weights": lambda: sd.grad(network(), W),
}

UNSTATED = {
    "derivatives by times",
    "an equation in a loop by a parameter",
    "a condition in a loop by its start",
    "a batch of conditions",
    "a batch of equations",
}
"""Programs with a part that words describe, or that the evaluator does not read."""
