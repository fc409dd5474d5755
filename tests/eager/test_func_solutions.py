"""func.root, fixed_point, minimize and odeint against closed forms, NumPy and loops in Python."""

from __future__ import annotations

import numpy as np
import pytest

import numeric as torch
from symdiff.errors import ConvergenceError, ShapeError

F64 = torch.float64
RNG = np.random.default_rng(4)


def given(*shapes):
    return [torch.tensor(RNG.uniform(0.2, 0.8, s), dtype=F64, requires_grad=True) for s in shapes]


def test_a_root_is_one_operation_with_derivatives_of_all_orders():
    """The cube root, of a number that the function finds elsewhere."""
    a = torch.tensor(8.0, dtype=F64, requires_grad=True)
    calls = []

    def cube_root(a):
        return torch.func.root(lambda x: calls.append(x) or x**3 - a, torch.tensor(1.0, dtype=F64))

    x = cube_root(a)
    assert len(calls) == 1
    assert type(x.grad_fn).__name__ == "FunctionBackward0"
    (first,) = torch.autograd.grad(x, a, create_graph=True)
    (second,) = torch.autograd.grad(first, a)
    np.testing.assert_allclose([x.item(), first.item()], [2, 1 / 12], rtol=1e-14)
    np.testing.assert_allclose(second.item(), -2 / 9 * 8 ** (-5 / 3), rtol=1e-13)
    many = torch.tensor([1.0, 8.0, 27.0], dtype=F64)
    np.testing.assert_allclose(torch.func.vmap(cube_root)(many).numpy(), [1, 2, 3], rtol=1e-14)
    slopes = torch.func.vmap(torch.func.grad(cube_root))(many)
    np.testing.assert_allclose(slopes.numpy(), many.numpy() ** (-2 / 3) / 3, rtol=1e-13)
    assert cube_root(torch.tensor(27.0, dtype=F64)).item() == pytest.approx(3, rel=1e-15)


def test_a_fixed_point_is_the_iteration_in_python():
    w, b = given((3, 3), (3,))
    layer = lambda z: torch.tanh(w @ z / 2 + b)  # noqa: E731
    z = torch.func.fixed_point(layer, torch.zeros(3, dtype=F64))
    looped = torch.zeros(3, dtype=F64)
    for _ in range(80):
        looped = layer(looped)
    np.testing.assert_allclose(z.detach().numpy(), looped.detach().numpy(), rtol=1e-13)
    found, wanted = (torch.autograd.grad((y**2).sum(), [w, b]) for y in (z, looped))
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-11)


def test_a_minimiser_of_several_tensors_is_that_of_least_squares():
    data, right = given((8, 2), (8,))
    start = {"slope": torch.zeros(2, dtype=F64), "offset": (torch.zeros((), dtype=F64),)}

    def loss(w):
        return ((data @ w["slope"] + w["offset"][0] - right) ** 2).sum()

    found = torch.func.minimize(loss, start)
    assert found.keys() == start.keys()
    columns = torch.cat([data, torch.ones(8, 1, dtype=F64)], dim=1)
    wanted = torch.linalg.solve(columns.T @ columns, columns.T @ right)
    both = torch.cat([found["slope"], found["offset"][0][None]])
    np.testing.assert_allclose(both.detach().numpy(), wanted.detach().numpy(), rtol=1e-11)
    one, other = (torch.autograd.grad((y**3).sum(), data)[0] for y in (both, wanted))
    np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("method", ["RK45", "Radau"])
def test_an_oscillator(method):
    """Place and speed, in closed form, with the derivative by the frequency."""
    pytest.importorskip("scipy")
    k = torch.tensor(2.0, dtype=F64, requires_grad=True)
    start = torch.tensor(1.0, dtype=F64), torch.tensor(0.0, dtype=F64)
    times = torch.linspace(0, 2, 5, dtype=F64)
    place, speed = torch.func.odeint(
        lambda y, t: (y[1], -k * k * y[0] + 0 * t), start, times, method=method,
        rtol=1e-10, atol=1e-10,
    )  # fmt: skip
    t = times.numpy()
    np.testing.assert_allclose(place.detach().numpy(), np.cos(2 * t), atol=1e-7)
    np.testing.assert_allclose(speed.detach().numpy(), -2 * np.sin(2 * t), atol=1e-7)
    (slope,) = torch.autograd.grad(place[-1], k)
    assert slope.item() == pytest.approx(-2 * np.sin(4), abs=1e-6)


def test_steps_of_a_differential_equation_may_be_chosen_for_its_derivatives():
    """y stays 0, and any step would do for it; its derivative by k is sin(30 t)."""
    times = torch.tensor([0.0, 1.0], dtype=F64)
    k = torch.tensor(0.0, dtype=F64, requires_grad=True)
    off = []
    for chosen in (False, True):
        ys = torch.func.odeint(
            lambda y, t: 30 * k * (30 * t).cos(),
            torch.tensor(0.0, dtype=F64),
            times,
            sensitivities=chosen,
        )
        off.append(abs(torch.autograd.grad(ys[-1], k)[0].item() - np.sin(30)))
    assert off[1] < 1e-7 < 1e-3 < off[0]


def test_dtypes_are_those_of_the_start():
    x = torch.func.root(lambda x: x * x - 2, torch.tensor(1.0))
    assert x.dtype == torch.float32
    assert x.item() == pytest.approx(2**0.5, rel=1e-7)


V, S = torch.ones(3), torch.tensor(1.0)
REFUSED = {
    "another shape": (
        lambda: torch.func.root(lambda x: V * x, S),
        ShapeError,
        r"func\.root: x has shape \(\), the function returned \(3,\)",
    ),
    "another structure": (
        lambda: torch.func.fixed_point(lambda x: x[0], (S, S)),
        TypeError,
        "func.fixed_point: the function returned another structure than x0's",
    ),
    "another dtype": (
        lambda: torch.func.odeint(lambda y, t: y.double(), S, V),
        TypeError,
        "func.odeint: y is float32, rhs returned float64",
    ),
    "no number": (
        lambda: torch.func.minimize(lambda x: x, V),
        TypeError,
        "f returned no Tensor of one element",
    ),
    "an integer to start from": (
        lambda: torch.func.root(lambda x: x - 1, torch.tensor(1)),
        TypeError,
        "the start is int64; a solution is real",
    ),
    "a number to start from": (
        lambda: torch.func.root(lambda x: x - 1, 1.0),
        TypeError,
        r"x0 is a structure with 1\.0, which is not a Tensor",
    ),
    "times that are no Tensor": (
        lambda: torch.func.odeint(lambda y, t: y, S, [0.0, 1.0]),
        TypeError,
        r"t is \[0\.0, 1\.0\], which is not a Tensor",
    ),
    "values that decide": (
        lambda: torch.func.root(lambda x: x if x > 0 else -x, S),
        RuntimeError,
        "root",
    ),
    "no root": (
        lambda: torch.func.root(lambda x: x * x + 1, S),
        ConvergenceError,
        "root: ",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused(name):
    call, error, text = REFUSED[name]
    with pytest.raises(error, match=text):
        call()


def test_traces_solve_nothing_for_made_up_numbers():
    """A batch whose own roots exist, though for 1 there would be none."""

    def f(a):
        return torch.func.root(lambda x: x**2 + 2 - a, torch.tensor(1.0, dtype=F64))

    batch = torch.func.vmap(f)(torch.tensor([3.0, 6.0], dtype=F64))
    np.testing.assert_allclose(batch.numpy(), [1, 2], rtol=1e-14)
