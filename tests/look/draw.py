"""Drawings to look at: every kind of graph that ``nm.draw`` and ``sd.mermaid`` can show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import numeric as nm
import symdiff as sd

if TYPE_CHECKING:
    from collections.abc import Callable

x, y, z = sd.symbols("x y z")
w, A, b = sd.symbol("w", 3), sd.symbol("A", (3, 2)), sd.symbol("b", 3)
v, M, S = sd.symbol("v", 2), sd.symbol("M", (3, 3)), sd.symbol("S", (3, 3))
q = sd.symbol("q", 2)
LONG = sd.symbol("the_rate_of_change_of_the_temperature_of_the_inner_wall_of_the_furnace")


def _residuals() -> sd.Expr:
    r = A @ v - b
    return r @ r


def _textbook() -> nm.show.Drawing:
    """The neuron of many courses: 1 / (1 + exp(-(w0 x0 + w1 x1 + w2)))."""
    w0, x0, w1, x1, w2 = sd.symbols("w0 x0 w1 x1 w2")
    f = 1 / (1 + sd.exp(-(w0 * x0 + w1 * x1 + w2)) * 1)
    return nm.draw(f, values={w0: 2, x0: -1, w1: -3, x1: -2, w2: -3})


def _every_family() -> nm.show.Drawing:
    f = sd.sum(sd.cumsum(w) * sd.solve(M, sd.sin(w))) / sd.detach(sd.norm(w)) + sd.det(M)
    return nm.draw(f, values={w: [1.0, -2.0, 0.5], M: np.diag([1.0, 2.0, 4.0]) + 0.5})


def _robot_arm() -> nm.show.Drawing:
    tip = sd.stack([sd.cos(q[0]) + sd.cos(q[0] + q[1]), sd.sin(q[0]) + sd.sin(q[0] + q[1])])
    return nm.draw(tip, values={q: [0.5, 0.25]}, seed=[1.0, 0.0])


def _order_matters() -> nm.show.Drawing:
    f = sd.where(x < y, x**y - y / x, sd.sqrt(x) / (y - 2 * x + 1))
    return nm.draw(f, values={x: 1.5, y: 2.5})


def _beyond_the_domain() -> nm.show.Drawing:
    return nm.draw(sd.log(x) * y + sd.sqrt(z), values={x: 0.0, y: 1e-300, z: -1.0})


def _large_arrays() -> nm.show.Drawing:
    X, t = sd.symbol("X", ("n", 50)), sd.symbol("t", 50)
    f = sd.sum(sd.tanh(X @ t) ** 2)
    rng = np.random.default_rng(3)
    return nm.draw(f, t, values={X: rng.normal(size=(1000, 50)), t: rng.normal(size=50)})


def _deep() -> nm.show.Drawing:
    f = x
    for k in range(100_000):
        f = sd.sin(f) * (y if k % 7 == 0 else x)
    return nm.draw(f)


def _wide() -> nm.show.Drawing:
    return nm.draw(sd.stack([sd.sin(k * x) / (k + y) for k in range(200)]), limit=30)


def _folded_values() -> nm.show.Drawing:
    f = x
    for _ in range(200):
        f = sd.sin(f) + y
    return nm.draw(f, values={x: 0.5, y: 0.125}, limit=12)


def _eager() -> nm.show.Drawing:
    weights = nm.tensor([[0.5, -1.0], [2.0, 0.25]], requires_grad=True)
    bias = nm.tensor([0.1, 0.2], requires_grad=True)
    data = nm.tensor([1.0, -2.0])
    hidden = (weights @ data + bias).tanh()
    hidden.retain_grad()
    hidden.register_hook(lambda g: None)
    loss = (hidden * hidden).sum()
    return loss.draw()


def _eager_after_backward() -> nm.show.Drawing:
    a = nm.tensor([1.0, 2.0, 3.0], requires_grad=True)
    a.register_post_accumulate_grad_hook(lambda leaf: None)
    t = (a / a.sum()).log().sum()
    t.backward()
    return t.draw()


def _eager_outputs() -> nm.show.Drawing:
    m = nm.tensor([[2.0, 1.0], [1.0, 3.0]], requires_grad=True)
    values, vectors = nm.linalg.eigh(m)
    return nm.draw([values.sum(), vectors[0, 0], m])


def _eager_deep() -> nm.show.Drawing:
    t = nm.tensor(0.5, requires_grad=True)
    for _ in range(1000):
        t = t.sin() * 1.5
    return t.draw(limit=20)


def _hostile_names() -> nm.show.Drawing:
    a = nm.tensor(2.0, requires_grad=True)
    c = nm.tensor(3.0, requires_grad=True)
    a._name = '"]--><img src=x onerror="alert(1)"> end click %%{init}%% #quot; `**b**`'
    c._name = "1. first\n- second\n# third $$x^2$$"
    return (a * c).draw()


def specimens() -> dict[str, Callable[[], Any]]:
    """By name, what a cell ends with."""
    return {
        "a formula": lambda: nm.draw(sd.sin(x) * y + sd.exp(-x) / y),
        "the neuron of the courses": _textbook,
        "every family": _every_family,
        "least squares, joint": lambda: nm.draw(_residuals(), v, graph="joint"),
        "least squares, joint, with values": lambda: nm.draw(
            _residuals(),
            v,
            graph="joint",
            values={A: [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], v: [1.0, -1.0], b: [0.5, 0.0, -0.5]},
        ),
        "backward": lambda: nm.draw(sd.logsumexp(w) - w[0], w, graph="backward"),
        "robot arm": _robot_arm,
        "the order of operands": _order_matters,
        "contractions": lambda: nm.draw(sd.trace(M @ S.T) + w @ M @ w + sd.sum(A)),
        "beyond the domain": _beyond_the_domain,
        "large arrays": _large_arrays,
        "a long name, to the right": lambda: nm.draw(
            sd.exp(LONG) - LONG, values={LONG: 0.5}, direction="right"
        ),
        "a Function": lambda: nm.draw(nm.lower([x * y, sd.atan2(y, x)], [x, y])),
        "two hundred thousand nodes": _deep,
        "two hundred outputs in one": _wide,
        "folded, with values": _folded_values,
        "second derivatives, joint": lambda: nm.draw(
            sd.diff(sd.exp(x**2), x), x, graph="joint", values={x: 0.5}
        ),
        "one symbol": lambda: nm.draw(x),
        "Tensor": _eager,
        "Tensor after backward": _eager_after_backward,
        "Tensors of one operation": _eager_outputs,
        "a thousand operations on a Tensor": _eager_deep,
        "hostile names": _hostile_names,
    }
