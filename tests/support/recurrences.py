"""Loops of all kinds, and the same loops unrolled in Python over the same bodies.

A body is written for expressions.  ``sd.scan`` calls it once with symbols; ``unrolled`` calls it
once for each step, with the results of the step before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import numeric as nm
import symdiff as sd

if TYPE_CHECKING:
    from collections.abc import Callable

    from symdiff import Expr

STEPS = 4


def tree(of: Any, tree: Any) -> Any:
    """Apply a function to each leaf of tuples, lists and dicts."""
    if isinstance(tree, dict):
        return {key: globals()["tree"](of, branch) for key, branch in tree.items()}
    if isinstance(tree, tuple | list):
        return type(tree)(globals()["tree"](of, branch) for branch in tree)
    return None if tree is None else of(tree)


def leaves(tree: Any) -> list[Any]:
    """Return the leaves of tuples, lists and dicts."""
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, tuple | list):
        return [leaf for branch in tree for leaf in leaves(branch)]
    return [] if tree is None else [tree]


def unrolled(
    f: Callable[..., Any],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """Return the results of ``sd.scan`` as a graph that has every step."""
    n = length if xs is None else leaves(xs)[0].shape[0]
    assert isinstance(n, int)
    carry, ys = init, []
    for t in range(n)[:: -1 if reverse else 1]:
        carry, y = f(carry, tree(lambda x: x[t], xs))  # noqa: B023  # it is called at once
        ys.append(y)
    ys = ys[::-1] if reverse else ys
    if not ys or not leaves(ys[0]):
        return carry, None
    columns = zip(*map(leaves, ys), strict=True)
    stacked = iter([sd.stack([sd.constant(0) + y for y in column]) for column in columns])
    return carry, tree(lambda _: next(stacked), ys[0])


class Recurrence(NamedTuple):
    """A scalar result of a loop over symbols: ``loss(scan, *symbols)``."""

    name: str
    loss: Callable[..., Expr]
    shapes: tuple[tuple[int, ...], ...]
    low: float = 0.2
    high: float = 0.8

    def symbols(self) -> list[Expr]:
        """Return one symbol of each shape."""
        return [sd.symbol(f"s{k}", shape) for k, shape in enumerate(self.shapes)]

    def point(self, seed: int = 0) -> list[Any]:
        """Return values of the symbols."""
        rng = np.random.default_rng(seed)
        return [rng.uniform(self.low, self.high, shape) for shape in self.shapes]


ALL: list[Recurrence] = []
N = STEPS


def recurrence(*shapes: tuple[int, ...], low: float = 0.2, high: float = 0.8) -> Any:
    """Add a loss to the table."""

    def put(loss: Callable[..., Expr]) -> Callable[..., Expr]:
        ALL.append(Recurrence(loss.__name__, loss, shapes, low, high))
        return loss

    return put


@recurrence((), ())
def square(scan: Any, a: Expr, s: Expr) -> Expr:
    return scan(lambda c, _: (a * c**2, None), s, None, 4)[0]


@recurrence((), (N,), ())
def horner(scan: Any, x: Expr, coefs: Expr, s: Expr) -> Expr:
    return scan(lambda c, a: (c * x + a, None), s, coefs)[0]


@recurrence((N,), ())
def continued_fraction(scan: Any, b: Expr, s: Expr) -> Expr:
    return scan(lambda c, b: (b + 1 / c, None), s, b, reverse=True)[0]


@recurrence((3, 3), (3, 2), (3,), (N, 2))
def rnn(scan: Any, w: Expr, u: Expr, b: Expr, x: Expr) -> Expr:
    def f(h: Expr, x: Expr) -> Any:
        h = sd.tanh(w @ h + u @ x + b)
        return h, h

    last, hs = scan(f, sd.zeros(3), x)
    return sd.sum(hs**2) + sd.sum(last)


@recurrence((8, 2), (8, 2), (8,), (N, 2))
def lstm(scan: Any, w: Expr, u: Expr, b: Expr, x: Expr) -> Expr:
    def f(carry: Any, x: Expr) -> Any:
        h, c = carry
        z = w @ h + u @ x + b
        i, g, o, k = z[:2], z[2:4], z[4:6], z[6:]
        c = sd.sigmoid(k) * c + sd.sigmoid(i) * sd.tanh(g)
        h = sd.sigmoid(o) * sd.tanh(c)
        return (h, c), h

    (h, _), hs = scan(f, (sd.zeros(2), sd.zeros(2)), x)
    return sd.sum(hs * hs) + sd.sum(h)


@recurrence((6, 2), (6, 2), (N, 2), (2,))
def gru(scan: Any, w: Expr, u: Expr, x: Expr, h: Expr) -> Expr:
    def f(h: Expr, x: Expr) -> Any:
        p, q = w @ h, u @ x
        r, z = sd.sigmoid(p[:2] + q[:2]), sd.sigmoid(p[2:4] + q[2:4])
        return (1 - z) * sd.tanh(q[4:] + r * p[4:]) + z * h, None

    return sd.sum(scan(f, h, x)[0] ** 2)


@recurrence((2, 2), (), (), (N,))
def kalman_filter(scan: Any, a: Expr, q: Expr, r: Expr, ys: Expr) -> Expr:
    h = np.array([1.0, 0.5])

    def f(carry: Any, y: Expr) -> Any:
        m, p, ll = carry["m"], carry["p"], carry["ll"]
        m, p = a @ m, a @ p @ a.T + q * sd.eye(2)
        s = h @ p @ h + r
        k = p @ h / s
        e = y - h @ m
        ll = ll - (sd.log(s) + e**2 / s) / 2
        return {"m": m + k * e, "p": p - sd.outer(k, h @ p), "ll": ll}, None

    init = {"m": sd.zeros(2), "p": sd.eye(2), "ll": 0}
    return scan(f, init, ys)[0]["ll"]


@recurrence((3, 3), (N, 3), (3,))
def hidden_markov(scan: Any, a: Expr, e: Expr, p: Expr) -> Expr:
    log_a = sd.log_softmax(a, axis=1)

    def f(alpha: Expr, e: Expr) -> Any:
        return sd.logsumexp(alpha[:, None] + log_a, axis=0) + e, None

    return sd.logsumexp(scan(f, sd.log_softmax(p), e)[0])


@recurrence((), (), (), (N,))
def garch(scan: Any, w: Expr, a: Expr, b: Expr, r: Expr) -> Expr:
    def f(h: Expr, r: Expr) -> Any:
        return w + a * r**2 + b * h, sd.log(h) + r**2 / h

    return sd.sum(scan(f, w / (1 - b), r)[1])


@recurrence(())
def newtons_iteration(scan: Any, a: Expr) -> Expr:
    return scan(lambda x, _: ((x + a / x) / 2, None), 1, None, 4)[0]


@recurrence((4,), (2,), (N,))
def lotka_volterra(scan: Any, p: Expr, y: Expr, h: Expr) -> Expr:
    def rate(y: Expr) -> Expr:
        return sd.stack([p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]])

    def f(y: Expr, h: Expr) -> Any:
        k1 = rate(y)
        k2 = rate(y + h / 2 * k1)
        k3 = rate(y + h / 2 * k2)
        k4 = rate(y + h * k3)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), y

    last, ys = scan(f, y, h)
    return sd.sum(last**2) + sd.sum(sd.sin(ys))


@recurrence((2,), (2,), ())
def double_pendulum(scan: Any, angles: Expr, speeds: Expr, g: Expr) -> Expr:
    def rate(carry: Any) -> Any:
        (a, b), (u, v) = carry
        d = a - b
        bottom = 3 - sd.cos(2 * d)
        first = -3 * g * sd.sin(a) - g * sd.sin(a - 2 * b)
        first = first - 2 * sd.sin(d) * (v**2 + u**2 * sd.cos(d))
        second = 2 * sd.sin(d) * (2 * u**2 + 2 * g * sd.cos(a) + v**2 * sd.cos(d))
        return sd.stack([u, v]), sd.stack([first, second]) / bottom

    def moved(carry: Any, rates: Any, h: float) -> Any:
        return tuple(x + h * dx for x, dx in zip(carry, rates, strict=True))

    def f(carry: Any, _: Any) -> Any:
        k1 = rate(carry)
        k2 = rate(moved(carry, k1, 1 / 32))
        k3 = rate(moved(carry, k2, 1 / 32))
        k4 = rate(moved(carry, k3, 1 / 16))
        mean = [(p + 2 * q + 2 * r + s) / 6 for p, q, r, s in zip(k1, k2, k3, k4, strict=True)]
        return moved(carry, mean, 1 / 16), None

    x, v = scan(f, (angles, speeds), None, 2)[0]
    return sd.sum(x**2) + sd.sum(v**2)


@recurrence((2, 2), (2,))
def conjugate_gradients(scan: Any, a: Expr, b: Expr) -> Expr:
    spd = a @ a.T + sd.eye(2)

    def f(carry: Any, _: Any) -> Any:
        x, r, p = carry
        q = spd @ p
        alpha = (r @ r) / (p @ q)
        new = r - alpha * q
        return (x + alpha * p, new, new + (new @ new) / (r @ r) * p), None

    x, _, _ = scan(f, (0 * b, b, b), None, 2)[0]
    return sd.sum(sd.sin(x))


@recurrence((2,), (), (N,))
def implicit_euler(scan: Any, y: Expr, k: Expr, h: Expr) -> Expr:
    """Two steps of Newton's iteration, an inner loop, for a stiff reaction at every step."""

    def f(y: Expr, h: Expr) -> Any:
        def newton(z: Expr, _: Any) -> Any:
            rate = sd.stack([-k * z[0] + z[1] ** 2, k * z[0] - z[1] ** 2])
            jacobian = sd.stack([sd.stack([-k, 2 * z[1]]), sd.stack([k, -2 * z[1]])])
            return z - sd.solve(sd.eye(2) - h * jacobian, z - y - h * rate), None

        return scan(newton, y, None, 2)[0], None

    return sd.sum(scan(f, y, h)[0] ** 2)


@recurrence((), (3, 2), ())
def nested(scan: Any, a: Expr, x: Expr, s: Expr) -> Expr:
    """The inner loop starts from the outer carry and reads the outer x and a captured formula."""

    def outer(c: Expr, row: Expr) -> Any:
        def inner(d: Expr, v: Expr) -> Any:
            d = sd.sin(d * v + c * sd.exp(a))
            return d, d * c

        last, ds = scan(inner, c, row)
        return last + a * row[0], sd.sum(ds)

    last, ys = scan(outer, s, x)
    return last + sd.sum(ys)


@recurrence((), (2, 3), ())
def nested_thrice(scan: Any, a: Expr, x: Expr, s: Expr) -> Expr:
    def first(c: Expr, row: Expr) -> Any:
        def second(d: Expr, v: Expr) -> Any:
            def third(e: Expr, _: Any) -> Any:
                return e * d + a * sd.cos(v * c), None

            return scan(third, d * c, None, 2)[0], None

        return scan(second, c, row, reverse=True)[0], None

    return scan(first, s, x)[0]


@recurrence((), (N,), ())
def masked(scan: Any, a: Expr, x: Expr, s: Expr) -> Expr:
    """Only steps with large x change the carry."""

    def f(c: Expr, x: Expr) -> Any:
        return sd.where(x > 0.5, sd.sqrt(c * x) + a, c), c

    last, cs = scan(f, s, x)
    return last**2 + sd.sum(cs)


@recurrence((3,), (N, 3))
def by_the_carry(scan: Any, s: Expr, x: Expr) -> Expr:
    """A mask that depends on the carry."""

    def f(c: Expr, x: Expr) -> Any:
        return sd.where(c > x, sd.log(c + x), c * x) + sd.maximum(c, x), None

    return sd.sum(scan(f, s, x)[0])


@recurrence((N,), (N, 2), (2,))
def several_columns(scan: Any, a: Expr, x: Expr, s: Expr) -> Expr:
    def f(c: Expr, xs: Any) -> Any:
        c = sd.sin(xs["a"] * c + xs["b"][0])
        return c, (c[0], {"product": c * xs["b"][0]})

    last, (first, others) = scan(f, s, {"a": a, "b": (x,)}, reverse=True)
    return sd.sum(last) + first @ a + sd.sum(others["product"] ** 2)


@recurrence((), ())
def fibonacci(scan: Any, a: Expr, b: Expr) -> Expr:
    """Each part of the carry becomes the other part."""
    (x, y), xs = scan(lambda c, _: ((c[1], c[0] + c[1] * a), c[0]), (a, b), None, 5)
    return x * y + sd.sum(xs**2)


@recurrence((2, 2), (2,), ())
def different_shapes(scan: Any, m: Expr, v: Expr, s: Expr) -> Expr:
    def f(carry: Any, _: Any) -> Any:
        m, v, s = carry
        return [m @ m / 2 + s * sd.eye(2), sd.tanh(m @ v), s * sd.sum(v)], None

    m, v, s = scan(f, [m, v, s], None, 3)[0]
    return sd.sum(m) + sd.sum(v) + s


@recurrence((), (N,))
def before_only(scan: Any, s: Expr, x: Expr) -> Expr:
    """The carry after the last step is unused, and would be infinite."""

    def f(c: Expr, x: Expr) -> Any:
        return sd.exp(c * x), c

    return sd.sum(sd.log(scan(f, s, x)[1]))


@recurrence((), (N, 2))
def independent_of_the_carry(scan: Any, a: Expr, x: Expr) -> Expr:
    last, ys = scan(lambda c, x: (a * x, c * x), sd.zeros(2), x)
    return sd.sum(last) + sd.sum(ys**2)


@recurrence((2,), (N, 2))
def detached(scan: Any, s: Expr, x: Expr) -> Expr:
    return sd.sum(scan(lambda c, x: (sd.detach(c) * c + x, None), s, x)[0])


@recurrence((2, 2), (3,))
def gradient_descent(scan: Any, a: Expr, b: Expr) -> Expr:
    """The body is a derivative itself."""

    def f(w: Expr, b: Expr) -> Any:
        z = sd.symbol("z", 2)
        loss = sd.sum(sd.tanh(a @ z - b) ** 2)
        return w - sd.substitute(sd.grad(loss, z), {z: w}) / 4, None

    return sd.sum(scan(f, sd.zeros(2), b)[0] ** 2)


@recurrence((2, 2), (2,))
def fori(scan: Any, a: Expr, s: Expr) -> Expr:
    """The index is a number in formulas and selects elements."""
    if scan is sd.scan:
        return sd.sum(sd.fori_loop(1, 5, lambda i, c: sd.sin(a @ c) + i * c / 4, s))
    c = s
    for i in range(1, 5):
        c = sd.sin(a @ c) + i * c / 4
    return sd.sum(c)


@recurrence((3, 3), (N, 3, 3))
def matrix_carry(scan: Any, m: Expr, xs: Expr) -> Expr:
    return sd.trace(scan(lambda c, x: (sd.sin(c @ x) + x.T, None), m, xs)[0])


@recurrence((2,), (2, 3), (N, 3))
def captured_formulas(scan: Any, b: Expr, w: Expr, x: Expr) -> Expr:
    """The captured formulas depend on symbols that the loss also reads directly."""
    scale = sd.sum(sd.exp(w))
    last, ys = scan(lambda c, x: (sd.tanh(c * scale / 9 + w @ x), c @ b), sd.sin(b), x)
    return sd.sum(last) * scale + sd.sum(ys)


@recurrence((), (0, 2))
def empty(scan: Any, s: Expr, x: Expr) -> Expr:
    last, ys = scan(lambda c, x: (c * x[0], c * x[1]), sd.sin(s), x)
    return last**2 + (0 if ys is None else sd.sum(ys)) + sd.sum(x)


@recurrence((2,), (2,), ())
def leapfrog(scan: Any, q: Expr, p: Expr, h: Expr) -> Expr:
    """A planet, and the difference of its energy from that of the start."""

    def energy(q: Expr, p: Expr) -> Expr:
        return p @ p / 2 - 1 / sd.sqrt(q @ q)

    def f(carry: Any, _: Any) -> Any:
        q, p = carry
        p = p - h / 8 * q / (q @ q) ** 1.5
        q = q + h / 4 * p
        return (q, p - h / 8 * q / (q @ q) ** 1.5), energy(q, p)

    last, energies = scan(f, (q, p), None, 3)
    return (energy(*last) - energy(q, p)) * 100 + sd.sum(energies)


@recurrence((3, 2), (N,), ())
def batched(scan: Any, starts: Expr, x: Expr, a: Expr) -> Expr:
    """One loop for many starts."""
    z = sd.symbol("z", 2)
    last = scan(lambda c, x: (sd.tanh(a * c) + x * c[::-1], None), z, x)[0]
    return sd.sum(sd.batch(last, {z: starts}) ** 2)


def agree(one: Any, other: Any, xs: Any, at: Any, rtol: float = 1e-12) -> None:
    """Assert that expressions have equal values, relative to the largest of them."""
    env = dict(zip(xs, at, strict=True))
    values, wanted = nm.interpret(list(one), env), nm.interpret(list(other), env)
    for a, b in zip(values, wanted, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * np.max(np.abs(b), initial=1e-3))
