"""func.scan, fori_loop and while_loop are the loops in Python, as one recorded operation."""

from __future__ import annotations

import numpy as np
import pytest

import numeric as torch
from symdiff.errors import ShapeError

F64 = torch.float64


def looped(f, init, xs, reverse=False, **_):
    """The loop in Python, over Tensors."""
    n = len(xs["a"] if isinstance(xs, dict) else xs)
    carry, ys = init, [None] * n
    for t in range(n)[:: -1 if reverse else 1]:
        x = {k: v[t] for k, v in xs.items()} if isinstance(xs, dict) else xs[t]
        carry, ys[t] = f(carry, x)
    return carry, None if ys[0] is None else torch.stack(ys)


def given(*shapes):
    rng = np.random.default_rng(0)
    return [
        torch.tensor(rng.uniform(0.2, 0.8, shape), dtype=F64, requires_grad=True)
        for shape in shapes
    ]


def rnn(scan, w, x, h, **options):
    def f(h, x):
        h = torch.tanh(w @ h + x)
        return h, h

    last, ys = scan(f, h, x, **options)
    return (last**2).sum() + (ys**3).sum()


def nested_carry(scan, w, x, h, **options):
    def f(carry, x):
        h = torch.where(carry["h"] > 0.5, carry["h"] * x["a"], torch.sqrt(carry["h"]))
        return {"h": h, "n": (carry["n"][0] + (w @ h).sum(),)}, None

    last, _ = scan(f, {"h": h, "n": (w[0, 0],)}, {"a": x}, **options)
    return last["n"][0] * last["h"].sum()


EACH = pytest.mark.parametrize("loss", [rnn, nested_carry])
SHAPES = ((3, 3), (5, 3), (3,))


@pytest.mark.slow
@EACH
@pytest.mark.parametrize(
    "options", [{}, {"reverse": True}, {"checkpoint": 2}, {"checkpoint": True}]
)
def test_values_and_derivatives(loss, options):
    """Backward, and backward through the gradient; also of what f finds elsewhere."""
    leaves, others = given(*SHAPES), given(*SHAPES)
    one, other = loss(torch.func.scan, *leaves, **options), loss(looped, *others, **options)
    results = []
    for y, xs in ((one, leaves), (other, others)):
        first = torch.autograd.grad(y, xs, create_graph=True)
        second = torch.autograd.grad(sum((g**2).sum() for g in first), xs)
        results.append([y, *first, *second])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-11, atol=1e-13)


@EACH
def test_transforms_of_loops(loss):
    """Loops inside of functions that are differentiated, and mapped over."""
    w, x, h = [x.detach() for x in given(*SHAPES)]

    def of(scan):
        return lambda h: loss(scan, w, x, h)

    for transform in (torch.func.grad, torch.func.hessian, torch.func.jacfwd):
        found, wanted = transform(of(torch.func.scan))(h), transform(of(looped))(h)
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-11, atol=1e-13)
    many = torch.stack([h, h / 2, 1 - h])
    found = torch.func.vmap(of(torch.func.scan))(many)
    wanted = torch.stack([of(looped)(row) for row in many])
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-12)
    compiled = torch.compile(of(torch.func.scan))
    np.testing.assert_allclose(compiled(h).numpy(), of(looped)(h).numpy(), rtol=1e-12)


def test_a_loop_is_one_recorded_operation_that_traces_once():
    w, x, h = given(*SHAPES)
    calls = []

    def f(h, x):
        calls.append(h)
        h = torch.tanh(w @ h + x)
        return h, None

    last, ys = torch.func.scan(f, h, x)
    assert len(calls) == 1
    assert ys is None
    edges = last.grad_fn.next_functions
    assert sorted(type(edge).__name__ for edge, _ in edges) == ["AccumulateGrad"] * 3


def test_fori_loop_counts():
    (s,) = given((3,))
    found = torch.func.fori_loop(2, 6, lambda i, c: torch.sin(c) * i, s)
    c = s
    for i in range(2, 6):
        c = torch.sin(c) * i
    np.testing.assert_allclose(found.detach().numpy(), c.detach().numpy(), rtol=1e-14)
    (g,), (wanted,) = torch.autograd.grad(found.sum(), s), torch.autograd.grad(c.sum(), s)
    np.testing.assert_allclose(g.numpy(), wanted.numpy(), rtol=1e-12)
    assert torch.func.fori_loop(3, 3, lambda i, c: c * i, s).equal(s)


def test_while_loop_takes_as_many_steps_as_it_needs():
    (a,) = given(())

    def root_of(x):
        return torch.func.while_loop(
            lambda c: (c[0] * c[0] - x).abs() > 1e-12 * x,
            lambda c: ((c[0] + x / c[0]) / 2, c[1] + 1),
            (x, 0 * x),
        )

    for at, steps in ((2.0, 5), (50.0, 7), (1e6, 14)):
        x = torch.tensor(at, dtype=F64, requires_grad=True)
        root = root_of(x)
        (slope,) = torch.autograd.grad(root[0], x, create_graph=True)
        (curvature,) = torch.autograd.grad(slope, x)
        np.testing.assert_allclose(root[0].item(), at**0.5, rtol=1e-12)
        np.testing.assert_allclose(slope.item(), 0.5 * at**-0.5, rtol=1e-9)
        np.testing.assert_allclose(curvature.item(), -0.25 * at**-1.5, rtol=1e-8)
        assert root[1].item() == steps
    many = torch.tensor([2.0, 50.0], dtype=F64)
    roots, _ = torch.func.vmap(root_of)(many)
    np.testing.assert_allclose(roots.numpy(), np.sqrt([2, 50]), rtol=1e-12)
    # Batches of derivatives, and derivatives of batches, where some have ended before others.
    # The loop from 1 has no step, and is its start.
    many = torch.tensor([2.0, 1.0, 50.0, 1e6], dtype=F64, requires_grad=True)
    first = lambda x: root_of(x)[0]  # noqa: E731
    slopes = torch.func.vmap(torch.func.grad(first))(many)
    (outside,) = torch.autograd.grad(torch.func.vmap(first)(many).sum(), many)
    bends = torch.func.vmap(torch.func.grad(torch.func.grad(first)))(many)
    pushed = torch.func.jacfwd(torch.func.vmap(first))(many)
    x = many.detach().numpy()
    np.testing.assert_allclose(slopes.detach().numpy()[x > 1], 0.5 * x[x > 1] ** -0.5, rtol=1e-9)
    assert (slopes[1].item(), bends[1].item()) == (1, 0)
    for found in (outside, torch.diagonal(pushed)):
        np.testing.assert_allclose(found.detach().numpy(), slopes.detach().numpy(), rtol=1e-13)
    np.testing.assert_allclose(bends.detach().numpy()[x > 1], -0.25 * x[x > 1] ** -1.5, rtol=1e-8)
    with pytest.raises(RuntimeError, match="still holds after max_steps=3 steps"):
        torch.func.while_loop(lambda c: c > 0, lambda c: c / 2, a, max_steps=3)


def test_dtypes_are_those_of_the_carry():
    x = torch.ones(4)
    last, ys = torch.func.scan(lambda c, x: (c * x / 3, c.double()), torch.tensor(1.0), x)
    assert (last.dtype, ys.dtype) == (torch.float32, torch.float64)


V, S = torch.ones(3), torch.tensor(1.0)
REFUSED = {
    "another shape": (
        lambda: torch.func.scan(lambda c, x: (V, None), S, V),
        ShapeError,
        r"func\.scan: the carry has shape \(\), f returned \(3,\)",
    ),
    "another dtype": (
        lambda: torch.func.scan(lambda c, x: (c.double(), None), S, V),
        TypeError,
        r"the carry is float32, f returned float64; convert one of them with to\(\)",
    ),
    "another structure": (
        lambda: torch.func.scan(lambda c, x: ([c[0], c[1]], None), (S, S), V),
        TypeError,
        "f returned a carry of another structure than init's",
    ),
    "no pair": (
        lambda: torch.func.scan(lambda c, x: c, S, V),
        TypeError,
        "f returned Tensor; expected a pair",
    ),
    "a number": (
        lambda: torch.func.scan(lambda c, x: (c, 1.0), S, V),
        TypeError,
        r"f returned a structure with 1\.0, which is not a Tensor",
    ),
    "a number to start from": (
        lambda: torch.func.scan(lambda c, x: (c, None), 0.0, V),
        TypeError,
        r"init is a structure with 0\.0, which is not a Tensor",
    ),
    "an integer for a carry": (
        lambda: torch.func.scan(lambda c, x: (c, None), torch.tensor(1), V),
        TypeError,
        "the carry is int; a carry is real",
    ),
    "xs of different lengths": (
        lambda: torch.func.scan(lambda c, x: (c, None), S, (V, torch.ones(4))),
        ShapeError,
        r"xs, part 0, says 3 steps, xs, part 1, 4",
    ),
    "xs of another length than was said": (
        lambda: torch.func.scan(lambda c, x: (c, None), S, V, length=4),
        ShapeError,
        r"length says 4 steps, xs, part 0, 3",
    ),
    "an array for xs": (
        lambda: torch.func.scan(lambda c, x: (c, None), S, np.ones(3)),
        TypeError,
        r"xs are a structure with array.*which is not a Tensor; as_tensor\(\) makes",
    ),
    "no length": (
        lambda: torch.func.scan(lambda c, x: (c, None), S),
        ValueError,
        "the number of steps is not known",
    ),
    "values that decide": (
        lambda: torch.func.scan(lambda c, x: (c if x > 0 else -c, None), S, V),
        RuntimeError,
        "scan",
    ),
    "no condition": (
        lambda: torch.func.while_loop(lambda c: True, lambda c: c, S),
        TypeError,
        "cond returned no Tensor of one element",
    ),
    "a body that changes the shape": (
        lambda: torch.func.while_loop(lambda c: c > 0, lambda c: V, S),
        ShapeError,
        r"func\.while_loop: the carry has shape \(\), body returned \(3,\)",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused(name):
    call, error, text = REFUSED[name]
    with pytest.raises(error, match=text):
        call()


def test_traces_run_no_loop_for_made_up_numbers():
    """Powers of 1 would never reach 10."""

    def f(a):
        return torch.func.while_loop(lambda c: c[0] < 10, lambda c: (c[0] * a,), (a,))[0]

    for many in (f, torch.func.grad(f)):
        batch = torch.tensor([4.0, 3.0], dtype=F64)
        np.testing.assert_allclose(torch.func.vmap(many)(batch).numpy(), [many(a) for a in batch])
