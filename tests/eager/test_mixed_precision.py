"""Backward passes that a user records inside a transform keep every cast, in every precision.

Programs multiply two walks of casts and of steps that are exact in any precision, and weigh the
product: whatever a derivative is, it is a product of two numbers, rounded once, and sent through
casts.  So the order of operations is not an excuse, and results agree bit by bit with what NumPy
gives when the passes are written down by hand.
"""

import pickle
import random

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import numeric as T
from tests.support.budget import sample

DTYPES = {"f2": T.float16, "f4": T.float32, "f8": T.float64}
EXACT = ("flip", 2.0, 0.5, -1.0)
HOW = ("plain", "compile", "vmap", "vjp")


class Walk:
    """A linear function: casts and exact steps, plain or through a transform of its own."""

    def __init__(self, source):
        steps = [*DTYPES, *DTYPES, *EXACT]
        self.steps = [source.choice(steps) for _ in range(source.randint(0, 4))]
        self.how = source.choice(HOW)

    def plain(self, x):
        for step in self.steps:
            x = x.to(DTYPES[step]) if step in DTYPES else x.flip(0) if step == "flip" else x * step
        return x

    def __call__(self, x):
        if self.how == "compile":
            return T.compile(self.plain)(x)
        if self.how == "vmap":
            return T.vmap(self.plain)(x.expand(2, 3))[1]
        return T.func.vjp(self.plain, x)[0] if self.how == "vjp" else self.plain(x)

    def forth(self, a):
        """The same in NumPy."""
        for step in self.steps:
            a = _step(a, step, step)
        return a

    def back(self, g, kind):
        """Its pullback, from values of dtype ``kind``, in NumPy."""
        kinds = [kind, *(step for step in self.steps if step in DTYPES)]
        for step in reversed(self.steps):
            if step in DTYPES:
                kinds.pop()
            g = _step(g, step, kinds[-1])
        return g


def _step(a, step, kind):
    if step in DTYPES:
        return a.astype(kind)
    return a[::-1] if step == "flip" else a * a.dtype.type(step)


def _code(a):
    return a.dtype.str[1:]


class Program:
    """``sum(cast(Y(x) * Z(w)) * c)``: its gradients, and what these are differentiated to."""

    def __init__(self, source):
        self.kinds = [source.choice(list(DTYPES)) for _ in range(4)]
        self.Y, self.Z, self.how = Walk(source), Walk(source), source.choice(HOW[:2])
        values = np.random.default_rng(source.getrandbits(32))
        self.x, self.w, self.c = (values.normal(size=3).astype(k) for k in self.kinds[:3])

    def __repr__(self):
        Y, Z = self.Y, self.Z
        return f"{self.kinds}, {Y.how} {Y.steps}, {Z.how} {Z.steps}, {self.how}"

    def loss(self, x, w):
        kind = DTYPES[self.kinds[3]]

        def product(y, z, c):
            return ((y * z).to(kind) * c).sum()

        product = T.compile(product) if self.how == "compile" else product
        return product(self.Y(x), self.Z(w), T.tensor(self.c))

    def grads(self, x, w):
        """The gradients, by a backward pass that is recorded."""
        x, w = (t if t.requires_grad else t.detach().requires_grad_() for t in (x, w))
        return T.autograd.grad(self.loss(x, w), (x, w), create_graph=True)

    def grad(self, x, w):
        """The gradient by the first, as traces can have it."""
        return T.func.grad(self.loss)(x, w)

    def exactly(self):
        """Both gradients, and the derivatives of their sums by w and x, in NumPy."""
        of_x, of_w, of_c, kind = self.kinds
        y, z = self.Y.forth(self.x), self.Z.forth(self.w)
        both = max(_code(y), _code(z))
        g = self.c.astype(max(of_c, kind)).astype(kind).astype(both)

        def back(walk, other, mine, of):
            return walk.back((g * other.astype(both)).astype(_code(mine)), of)

        ones_x, ones_w = (v.forth(np.ones(3, k)) for v, k in ((self.Y, of_x), (self.Z, of_w)))
        return (
            back(self.Y, z, y, of_x),
            back(self.Z, y, z, of_w),
            back(self.Z, ones_x, z, of_w),
            back(self.Y, ones_w, y, of_x),
        )


def results(p):
    """What each transform makes of the gradients, beside what it is to be."""
    x, w = T.tensor(p.x), T.tensor(p.w)
    gx, gw, by_w, by_x = p.exactly()
    one_x, one_w, zero_x, zero_w = (f(t) for f in (T.ones_like, T.zeros_like) for t in (x, w))
    F, func = T.autograd.functional, T.func

    def first(w):
        return p.grads(x, w)[0]

    values, _ = F.vjp(p.grads, (x, w), (one_x, one_w))
    yield "functional.vjp: values", values, (gx, gw)
    yield "functional.vjp", F.vjp(p.grads, (x, w), (one_x, zero_w))[1][1], by_w
    yield "functional.vjp", F.vjp(p.grads, (x, w), (zero_x, one_w))[1][0], by_x
    pushed = F.jvp(p.grads, (x, w), (one_x, one_w))[1]
    yield "functional.jvp", pushed, (by_x, by_w)
    values, pull = func.vjp(p.grads, x, w)
    yield "func.vjp: values", values, (gx, gw)
    yield "func.vjp", pull((one_x, zero_w))[1], by_w
    yield "func.grad", func.grad(lambda w: first(w).sum())(w), by_w
    yield "func.jvp", func.jvp(first, (w,), (one_w,))[1], by_x
    xs, ws = x.detach().requires_grad_(), w.detach().requires_grad_()
    eager = p.grads(xs, ws)
    yield "eager", eager, (gx, gw)
    yield "eager, twice", T.autograd.grad(eager[0].sum(), ws)[0], by_w
    loss, xs, ws = pickle.loads(pickle.dumps((p.loss(xs, ws), xs, ws)))
    yield "pickled", T.autograd.grad(loss, (xs, ws), create_graph=True), (gx, gw)
    yield "compile(grad)", T.compile(p.grad)(x, w), gx
    yield "vmap(grad)", T.vmap(p.grad)(T.stack([x, x]), T.stack([w, w]))[1], gx
    again = func.grad(lambda w: p.grad(x, w).sum())
    yield "compile(grad(grad))", T.compile(again)(w), by_w
    yield "vmap(grad(grad))", T.vmap(again)(T.stack([w, w]))[1], by_w


def disagreements(p):
    for name, found, expected in results(p):
        many = isinstance(expected, tuple)
        for f, e in zip(
            found if many else (found,), expected if many else (expected,), strict=True
        ):
            a = f.detach().numpy()
            if a.dtype != e.dtype or not np.array_equal(a, e):
                yield f"{name}: {a!r}, not {e!r}"


@pytest.mark.slow
@sample(10)
@given(st.integers(0, 2**32))
def test_recorded_passes_keep_every_cast(seed):
    p = Program(random.Random(seed))
    assert not list(disagreements(p)), p


@pytest.mark.parametrize("kinds", [("f8", "f2", "f4", "f4"), ("f4", "f4", "f2", "f2")])
def test_derivatives_of_compiled_functions_are_in_the_dtypes_of_their_operands(kinds):
    """What is saved for a pullback may all be narrower than what it is the cotangent of."""
    p = Program(random.Random(0))
    p.kinds, p.Y.steps, p.Z.steps, p.how = list(kinds), [], ["f2"], "compile"
    values = np.random.default_rng(0)
    p.x, p.w, p.c = (values.normal(size=3).astype(k) for k in kinds[:3])
    assert not list(disagreements(p)), p
