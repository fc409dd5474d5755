"""Lengths that data made numbers: who wrote the formula goes on with the symbols that he has."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from numeric.check import gradcheck
from symdiff.errors import ShapeError

X, w = sd.symbol("X", ("n", "k")), sd.symbol("w", "k")
b = sd.symbol("b")
f = sd.sum(sd.sin(X @ w + b) ** 2) / X.shape[0]
DATA, AT = np.arange(12.0).reshape(4, 3) / 7, np.array([0.25, -0.5, 1.0])
FREE = nm.lower(f, [X, w, b])
G = f.subs({X: DATA})


def again(value):
    return pickle.loads(pickle.dumps(value))


BOUND = {
    "bound": lambda: FREE.bind(X=DATA),
    "bound, unpickled": lambda: again(FREE.bind(X=DATA)),
    "bound, unpickled twice": lambda: again(again(FREE.bind(X=DATA))),
    "bound, copied": lambda: copy.deepcopy(copy.copy(FREE.bind(X=DATA))),
    "substituted": lambda: nm.lower(G, [w, b]),
    "substituted, unpickled": lambda: again(nm.lower(G, [w, b])),
    "substituted, as it was found": lambda: nm.lower(G, FREE.bind(X=DATA).inputs),
    "lowered again": lambda: nm.lower(FREE.bind(X=DATA).outputs[0], [w, b]),
}


@pytest.mark.parametrize("name", BOUND)
def test_a_function_of_bound_data_takes_the_users_symbol(name):
    F = BOUND[name]()
    gradient, hessian = FREE.grad(DATA, AT, 0.5, wrt=w), FREE.hessian(DATA, AT, 0.5, wrt=w)
    near = lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-13, atol=1e-15)  # noqa: E731
    assert F.inputs == (w, b)
    assert (F.inputs[0] is w, w in F.inputs, F.inputs.index(w)) == (True, True, 0)
    near(F(AT, 0.5), FREE(DATA, AT, 0.5))
    for key in (w, "w", sd.symbol("w", 3)):
        near(F.grad(AT, 0.5, wrt=key), gradient)
        near(F.value_and_grad(AT, b=0.5, wrt=[key])[1][0], gradient)
        near(F.jacobian(w=AT, b=0.5, wrt=key, mode="auto"), gradient)
        near(F.hessian(AT, 0.5, wrt=key), hessian)
        near(F.backward(F.forward(AT, 0.5)[1], 1.0, wrt=key), gradient)
        near(F.bind({key: AT})(0.5), FREE(DATA, AT, 0.5))
    assert F.bind(b=0.5).inputs == (w,)
    near(F.bind(b=0.5).grad(AT), gradient)
    near(F.hvp((AT, 0.5), (AT, 0.0))[0], hessian @ AT)
    kept = [np.zeros(3), None]
    F.backward(F.forward(AT, 0.5)[1], 1.0, accumulate=kept)
    near(kept[0], gradient)
    near(nm.lower(sd.grad(F.outputs[0], w), F.inputs)(AT, 0.5), gradient)
    assert w in F.outputs[0].free_symbols
    many = nm.vmap(F, in_dims=(0, None))(nm.tensor(np.stack([AT, 2 * AT])), 0.5)
    near(many.numpy(), [FREE(DATA, AT, 0.5), FREE(DATA, 2 * AT, 0.5)])
    x = nm.tensor(AT, requires_grad=True)
    F(x, 0.5).backward()
    near(x.grad.numpy(), gradient)
    assert gradcheck(F, (AT, 0.5))


@pytest.mark.parametrize("name", BOUND)
def test_an_argument_of_another_length_is_told_what_made_it_a_number(name):
    F = BOUND[name]()
    whence = "the formula" if name.startswith(("sub", "low")) else "X"
    told = rf"w: expected shape \(k,\), got \(4,\); k is 3 in {whence}$"
    long = np.ones(4)
    for call in (F, F.grad, F.forward, F.hessian):
        with pytest.raises(ShapeError, match="input " + told):
            call(long, 0.5)
    with pytest.raises(ShapeError, match="input " + told):
        F(nm.tensor(long), 0.5)
    with pytest.raises(ShapeError, match="input " + told):
        F.bind(b=0.5)(long)
    with pytest.raises(ShapeError, match="bind: symbol " + told):
        F.bind(w=long)
    with pytest.raises(ShapeError, match=r"input w: expected shape \(k,\), got \(2, 3\); sd.batch"):
        F(np.ones((2, 3)), 0.5)


def components(of):
    """Derivatives by components, in the order of the lengths that they need."""
    return {
        "the first": of[0],
        "the last": of[-1],
        "a slice": of[1:],
        "every second": of[::2],
        "backwards": of[::-1],
        "what all depends on": sd.exp(of),
    }


@pytest.mark.parametrize("name", components(w))
def test_derivatives_by_parts_of_the_users_symbol(name):
    """What is written with the user's symbol is what is written with one of the known length."""
    known = sd.symbol("w", 3)
    g = f.subs({w: sd.exp(w)}) if name == "what all depends on" else f
    g = g.subs({X: DATA})
    ours, theirs = components(w)[name], components(known)[name]
    assert sd.grad(g, ours) is sd.grad(g, theirs) is not sd.zeros(theirs.shape)
    assert sd.grad(g, [ours, b]) == sd.grad(g, [theirs, b])
    assert sd.jacobian(g, ours) is sd.jacobian(g, theirs)
    assert sd.hessian(g, ours) is sd.hessian(g, theirs)
    t = np.ones(theirs.shape)
    values = [
        nm.lower([of(g, x, t), sd.vjp(g, x, 2.0)], [w, b])(AT, 0.5)
        for of in (sd.jvp, sd.hvp)
        for x in (ours, theirs)
    ]
    for i in (0, 2):
        for x, y in zip(values[i], values[i + 1], strict=True):
            np.testing.assert_array_equal(x, y)
    if not theirs.shape:
        assert sd.diff(g, ours, 2, b) is sd.diff(g, theirs, 2, b)
        np.testing.assert_allclose(
            nm.lower(sd.diff(g, ours), [w, b])(AT, 0.5),
            FREE.grad(DATA, AT, 0.5, wrt=w)[0 if name == "the first" else -1],
            rtol=1e-13,
        )


def test_a_part_that_the_bound_length_has_not():
    with pytest.raises(ShapeError, match=r"grad: \[3:4\] of an axis of length k is.*k - 4 would"):
        sd.grad(G, w[3])
    with pytest.raises(ShapeError, match=r"diff: \[-4:-3\] of an axis of length k is impossible"):
        sd.diff(G, w[-4])


def test_whatever_takes_a_symbol_takes_the_users():
    known = sd.symbol("w", 3)
    assert (w in G.free_symbols, X in G.free_symbols) == (True, False)
    assert G.free_symbols.index(w) == G.free_symbols.index(known)
    assert G.subs({w: AT}).subs({b: 0.5}).evalf() == G.evalf(subs={known: AT, b: 0.5})
    assert sd.batch(G, {w: np.stack([AT, AT])}).shape == (2,)
    h = sd.sin(X @ w + b).subs({X: DATA})
    np.testing.assert_array_equal(sd.sparsity(h, w), sd.sparsity(h, known))
    assert sd.sparsity(h, w).shape == (4, 3)
    line = (X @ w).subs({X: np.eye(3)})[0] * b
    assert sd.collect(line * w.subs({w: known})[0], w[0]) is sd.collect(line * known[0], known[0])
    assert sd.limit(line, w[0], 2) is sd.limit(line, known[0], 2)
    assert sd.series(sd.exp(line), w[0], n=2) is sd.series(sd.exp(line), known[0], n=2)
    assert nm.interpret(G, {w: AT, b: 0.5}) == nm.interpret(G, {"w": AT, "b": 0.5})
    problem = nm.export.scipy(G, w, b=0.5)
    np.testing.assert_allclose(problem.jac(AT), FREE.grad(DATA, AT, 0.5, wrt=w), rtol=1e-13)


# Lengths in place of lengths ----------------------------------------------------------------------

x, y = sd.symbol("x", "n"), sd.symbol("y", "n")
MEANS = {
    "a mean": lambda x, y: np.sum(x * y) / x.shape[0],
    "a mean of differences": lambda x, y: sd.mean(np.diff(x) ** 2) + sd.sum(y),
    "counted": lambda x, y: sd.sum(sd.arange(x.shape[0]) * x) + x.shape[0] * sd.sum(y[1:] * b),
    "joined": lambda x, y: sd.sum(np.concatenate([x, y[1:]]) ** 2) * x.size,
    "a number of elements": lambda x, y: sd.sum(y[1:] * 0 + b) * sd.sum(x - y),
}
PUT = {
    "one fewer": lambda: sd.symbol("z", "m - 1"),
    "twice as many": lambda: sd.symbol("z", "2*m"),
    "five": lambda: sd.symbol("z", 5),
    "a slice": lambda: sd.symbol("u", "m")[1:],
    "a slice of its own name": lambda: x[1:],
    "two, repeated": lambda: np.concatenate([sd.symbol("u", "m"), sd.symbol("u", "m")]),
}


@pytest.mark.parametrize("put", PUT)
@pytest.mark.parametrize("name", MEANS)
def test_another_length_is_as_if_written_so_from_the_start(name, put):
    f, z = MEANS[name], PUT[put]()
    other = sd.symbol("y", z.shape)
    found, want = f(x, y).subs({x: z}), f(z, other)
    symbols = [*{s.name: s for s in sd.free_symbols([z, other, b])}.values()]
    values = [nm.lower([g, sd.grad(g, other), sd.diff(g, b)], symbols) for g in (found, want)]
    for size in (6, 7):
        data = {"m": size, "n": size}
        arrays = [
            np.cos(np.arange(_known(s.shape, data), dtype=float)) if s.shape else 0.5
            for s in symbols
        ]
        for p, q in zip(*(F(*arrays) for F in values), strict=True):
            np.testing.assert_allclose(p, q, rtol=1e-13, atol=1e-14)
    assert sd.grad(found, y).shape == other.shape


def _known(shape, data):
    (length,) = shape
    return length if isinstance(length, int) else length.replaced(data)
