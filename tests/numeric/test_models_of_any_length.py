"""Whole models of any length: one Function of each, at several lengths.

A model is written once, over a namespace of functions of arrays: of expressions NumPy's make its
formula, of arrays its value, and JAX's, where it is installed, its derivatives without a step size.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from symdiff.errors import ShapeError

if TYPE_CHECKING:
    from collections.abc import Callable

MODELS: dict[str, Model] = {}


class Model(NamedTuple):
    """A loss, its inputs as name: shape, those it is differentiated by, and three sizes."""

    loss: Callable
    inputs: dict[str, tuple]
    by: tuple[str, ...]
    sizes: tuple[dict[str, int], ...]
    dtypes: dict[str, type]

    def symbols(self, sizes=None):
        """The inputs of any length, or of those given."""
        made = {
            name: sd.symbol(name, shape, self.dtypes.get(name, float))
            for name, shape in self.inputs.items()
        }
        if sizes is None:
            return list(made.values())
        return [sd.symbol(x.name, tuple(numbers(x.shape, sizes)), x.dtype) for x in made.values()]

    def formula(self, symbols):
        """The loss of symbols, and those that it is differentiated by."""
        return self.loss(Formulas(), *symbols), [x for x in symbols if x.name in self.by]

    def outputs(self, symbols):
        """The loss, the parts of its gradient, and those of its Hessian."""
        loss, xs = self.formula(symbols)
        return [loss, *sd.grad(loss, xs), *flat(sd.hessian(loss, xs))]

    def assert_near(self, found, want, rtol):
        """Equal in relation to the largest number of the loss, of the gradient, of the Hessian."""
        assert [np.shape(x) for x in found] == [np.shape(x) for x in want]
        ends = [0, 1, 1 + len(self.by), len(want)]
        for start, stop in itertools.pairwise(ends):
            x, w = (np.concatenate([np.ravel(x) for x in v[start:stop]]) for v in (found, want))
            np.testing.assert_allclose(x, w, rtol=0, atol=rtol * np.max(np.abs(w)))

    def data(self, sizes):
        """Values of the inputs, drawn from the sizes."""
        r = np.random.default_rng(sum(sizes.values()))
        draw = {
            float: lambda shape: r.uniform(0.5, 1.5, shape) * r.choice([-1.0, 1.0], shape),
            int: lambda shape: r.integers(0, sizes["k"], shape),
            bool: lambda shape: r.random(shape) < 0.7,
        }
        return [
            draw[self.dtypes.get(name, float)](tuple(numbers(x.shape, sizes)))
            for name, x in zip(self.inputs, self.symbols(), strict=True)
        ]


def flat(rows):
    return [block for row in rows for block in row]


def numbers(shape, sizes):
    return [dim if isinstance(dim, int) else dim.replaced(sizes) for dim in shape]


def model(by, sizes, dtypes=None, **inputs):
    def add(loss):
        name = loss.__name__.replace("_", " ")
        MODELS[name] = Model(loss, inputs, tuple(by.split()), sizes, dtypes or {})
        return loss

    return add


class Formulas:
    """NumPy as it is for expressions; what takes lengths and no expressions is symdiff's."""

    arange, eye = staticmethod(sd.arange), staticmethod(sd.eye)

    def __getattr__(self, name):
        return getattr(np, name)


# The models ---------------------------------------------------------------------------------------


@model("start conductivity", ({"n": 2}, {"n": 3}, {"n": 9}), start="n", conductivity=(), seen="n")
def heat_equation(xp, start, conductivity, seen):
    """A rod with fixed ends, by explicit steps, compared with what was seen at the end."""
    n, u = start.shape[0], start
    rate = 0.01 * conductivity * (n - 1) ** 2
    for _ in range(4):
        inner = u[1:-1] + rate * (u[2:] - 2 * u[1:-1] + u[:-2])
        u = xp.concatenate([u[:1], inner, u[-1:]])
    return xp.sum((u - seen) ** 2) / n


@model("y phi log_scale", ({"n": 2}, {"n": 3}, {"n": 11}), y="n", phi=2, log_scale=())
def autoregression(xp, y, phi, log_scale):
    """The log-likelihood of a series given its first two values."""
    e = y[2:] - phi[0] * y[1:-1] - phi[1] * y[:-2]
    return -xp.sum(e**2) / (2 * xp.exp(2 * log_scale)) - (y.shape[0] - 2) * log_scale


@model("y rate", ({"n": 5}, {"n": 6}, {"n": 12}), y="n", rate=())
def exponential_smoothing(xp, y, rate):
    """Forecasts by a stencil of four geometric weights, and how far off they are."""
    a = 1 / (1 + xp.exp(-rate))
    weights = xp.stack([a * (1 - a) ** k for k in range(3)] + [(1 - a) ** 3])
    forecast = xp.convolve(y, weights, "valid")[:-1]
    return xp.mean(xp.sqrt(1 + (y[4:] - forecast) ** 2))


@model("y weight", ({"n": 5}, {"n": 8}, {"n": 13}), y="n", weight=())
def savitzky_golay_filter(xp, y, weight):
    """Quadratic fits in windows of five: what they leave, and how rough they are."""
    fit = xp.convolve(y, np.array([-3.0, 12.0, 17.0, 12.0, -3.0]) / 35, "valid")
    left = y[2:-2] - fit
    return xp.sum(xp.log(1 + left**2)) + weight**2 * xp.sum(xp.diff(fit) ** 2)


@model("u", ({"n": 1, "m": 1}, {"n": 2, "m": 4}, {"n": 5, "m": 3}), u=("n", "m"), f=("n", "m"))
def total_variation(xp, u, f):
    """A picture near ``f`` whose gradient is short."""
    right, down = u[:-1, 1:] - u[:-1, :-1], u[1:, :-1] - u[:-1, :-1]
    return xp.sum((u - f) ** 2) / 2 + xp.sum(xp.sqrt(right**2 + down**2 + 0.01))


@model("steps y", ({"n": 2}, {"n": 3}, {"n": 10}), steps="n - 1", y="n")
def spline_energy(xp, steps, y):
    """The bending of a curve through points at uneven knots."""
    h = xp.exp(steps / 2)
    bend = 2 * xp.diff(xp.diff(y) / h) / (h[1:] + h[:-1])
    return xp.sum(bend**2 * (h[1:] + h[:-1])) / 2 + xp.sum(h)


@model("u f", ({"n": 2, "m": 2}, {"n": 3, "m": 5}, {"n": 6, "m": 4}), u=("n", "m"),
       f=("n - 2", "m - 2"))  # fmt: skip
def poisson_residual(xp, u, f):
    """The five-point Laplacian on a grid beside the right side of a nonlinear equation."""
    n, m = u.shape
    mid = u[1:-1, 1:-1]
    laplacian = (n - 1) ** 2 * (u[2:, 1:-1] - 2 * mid + u[:-2, 1:-1]) + (m - 1) ** 2 * (
        u[1:-1, 2:] - 2 * mid + u[1:-1, :-2]
    )
    return xp.sum((laplacian - mid**3 - f) ** 2) / ((n - 1) * (m - 1))


@model("x kernel bias", ({"n": 3, "m": 3}, {"n": 4, "m": 6}, {"n": 6, "m": 5}), x=("n", "m"),
       kernel=(2, 2, 2), bias=2)  # fmt: skip
def convolutional_layer(xp, x, kernel, bias):
    """Two channels of 2 by 2 kernels, tanh, maxima of neighbours, a mean."""
    n, m = x.shape
    total = 0
    for c in range(2):
        y = bias[c]
        for i in range(2):
            for j in range(2):
                y = y + kernel[c, i, j] * x[i : n - 1 + i, j : m - 1 + j]
        y = xp.tanh(y)
        y = xp.maximum(y[:-1], y[1:])
        total = total + (c + 1) * xp.mean(xp.maximum(y[:, :-1], y[:, 1:]) ** 2)
    return total


@model("y", ({"n": 4}, {"n": 5}, {"n": 12}), y="n")
def autocorrelation(xp, y):
    """How far from white noise a series is, by its correlations at three lags."""
    n = y.shape[0]
    c = y - xp.mean(y)
    lags = [xp.sum(c[k:] * c[:-k]) / xp.sum(c**2) for k in (1, 2, 3)]
    return n * (n + 2) * sum(r**2 / (n - k) for k, r in enumerate(lags, 1))


@model("first transitions", ({"n": 1, "k": 1}, {"n": 2, "k": 4}, {"n": 15, "k": 3}), {"path": int},
       first="k", transitions=("k", "k"), path="n")  # fmt: skip
def markov_chain(xp, first, transitions, path):
    """The log-likelihood of a path by the logits of its first state and of each transition."""
    start = first - xp.log(xp.sum(xp.exp(first)))
    step = transitions - xp.log(xp.sum(xp.exp(transitions), axis=1, keepdims=True))
    return start[path[0]] + xp.sum(xp.take_along_axis(step[path[:-1]], path[1:, None], axis=1))


@model("q k v", ({"n": 1, "m": 1, "d": 1, "c": 1}, {"n": 2, "m": 3, "d": 2, "c": 1},
                 {"n": 4, "m": 3, "d": 2, "c": 3}), {"mask": bool},
       q=("n", "d"), k=("m", "d"), v=("m", "c"), mask=("n", "m"))  # fmt: skip
def attention(xp, q, k, v, mask):
    """Attention to what comes no later, and is not hidden."""
    (n, d), m = q.shape, k.shape[0]
    late = xp.arange(m) > xp.arange(n)[:, None]
    score = xp.where(mask & ~late, q @ k.T / xp.sqrt(1.0 * d), -30.0)
    weight = xp.exp(score)
    weight = weight / xp.sum(weight, axis=1, keepdims=True)
    return xp.sum(xp.sin(weight @ v))


@model("w penalty", ({"n": 1, "p": 1}, {"n": 3, "p": 2}, {"n": 10, "p": 4}), X=("n", "p"), y="n",
       w="p", penalty=())  # fmt: skip
def ridge_regression(xp, X, y, w, penalty):
    """Least squares with a penalty, of weights less those that are the best."""
    (n, p), weight = X.shape, xp.exp(penalty)
    best = xp.linalg.solve(X.T @ X / n + weight * xp.eye(p), X.T @ y / n)
    return xp.sum((X @ w - y) ** 2) / n + weight * (w @ w) + xp.sum((w - best) ** 2)


@model("x y log_width", ({"n": 1}, {"n": 2}, {"n": 6}), x="n", y="n", log_width=())
def gaussian_process(xp, x, y, log_width):
    """The log-likelihood of values under a smooth function with noise."""
    n = x.shape[0]
    near = xp.exp(-((x[:, None] - x) ** 2) / (2 * xp.exp(2 * log_width)))
    cov = near + 0.3 * xp.eye(n)
    log_det = xp.linalg.slogdet(cov)[1]
    return -(y @ xp.linalg.solve(cov, y)) / 2 - log_det / 2 - n * np.log(2 * np.pi) / 2


@model("place pull", ({"n": 0}, {"n": 1}, {"n": 5}), place=("n", 2), pull=())
def hanging_chain(xp, place, pull):
    """Springs from (0, 0) to (1, 0) through points that weigh: no point is a chain, too."""
    ends = np.array([[0.0, 0.0], [1.0, 0.0]])
    chain = xp.concatenate([ends[:1], place, ends[1:]])
    lengths = xp.sqrt(xp.sum(xp.diff(chain, axis=0) ** 2, axis=1))
    return xp.sum((lengths - 0.1) ** 2) * (place.shape[0] + 1) + pull**2 * xp.sum(place[:, 1])


@model("u speed", ({"n": 1}, {"n": 2}, {"n": 7}), u="n", speed=())
def upwind_advection(xp, u, speed):
    """Round a circle by steps against the stream, on a grid twice as fine."""
    fine = xp.repeat(u, 2)
    for _ in range(3):
        fine = fine - speed / 4 * (fine - xp.roll(fine, 1))
    coarse = xp.mean(xp.reshape(fine, (-1, 2)), axis=1)
    return xp.sum(coarse**4) + xp.sum(coarse * xp.roll(coarse, -1))


# The tests ----------------------------------------------------------------------------------------

each_model = pytest.mark.parametrize("name", MODELS)


def lowered(name):
    m = MODELS[name]
    symbols = m.symbols()
    return m, nm.lower(m.outputs(symbols), symbols)


@pytest.mark.slow
@each_model
def test_one_function_is_that_of_every_length(name):
    m, of_any = lowered(name)
    for sizes in m.sizes:
        data = m.data(sizes)
        known = m.symbols(sizes)
        found = of_any(*data)
        m.assert_near(found, nm.lower(m.outputs(known), known)(*data), 1e-12)
        np.testing.assert_allclose(found[0], m.loss(np, *data), rtol=1e-13)


@each_model
def test_derivatives_are_those_of_jax(name):
    jax = pytest.importorskip("jax")
    m, of_any = lowered(name)
    by = [k for k, x in enumerate(m.inputs) if x in m.by]

    def loss(*values):
        return m.loss(jax.numpy, *values)

    for sizes in m.sizes:
        data = m.data(sizes)
        with jax.enable_x64(True):
            value, grad = jax.value_and_grad(loss, by)(*data)
            blocks = flat(jax.hessian(loss, by)(*data))
            m.assert_near(of_any(*data), [value, *grad, *blocks], 1e-10)


@each_model
def test_a_gradient_of_any_length_is_as_small_as_one_of_a_known_length(name):
    """Its graph is made before any length is known, so only how large it is can be wrong."""
    m = MODELS[name]

    def size(symbols):
        return sd.count_nodes(sd.grad(*m.formula(symbols)))

    for least in (60, 1000):  # where no slice is empty, and none is an element or two
        sizes = {dim: least + 17 * k for k, dim in enumerate(m.sizes[0])}
        assert size(m.symbols()) <= 2 * size(m.symbols(sizes))


BOUND = [name for name, m in MODELS.items() if set(m.inputs) - set(m.by)]


@pytest.mark.parametrize("name", BOUND)
def test_data_that_are_bound_make_the_lengths_numbers(name):
    m, of_any = lowered(name)
    for sizes in m.sizes:
        data = dict(zip(m.inputs, m.data(sizes), strict=True))
        fixed = {k: x for k, x in data.items() if k not in m.by}
        rest = [x for k, x in data.items() if k in m.by]
        want = of_any(*data.values())
        m.assert_near(of_any.bind(fixed)(*rest), want, 1e-12)

        symbols = {x.name: x for x in m.symbols()}
        told = {name for k in fixed for dim in symbols[k].shape for name in dim.names}
        loss = m.loss(Formulas(), *symbols.values()).subs({symbols[k]: fixed[k] for k in fixed})
        of_data = {x.name: x for x in loss.free_symbols}
        for k, x in of_data.items():
            want_shape = [
                data[k].shape[axis] if told.intersection(getattr(dim, "names", ())) else dim
                for axis, dim in enumerate(symbols[k].shape)
            ]
            assert list(x.shape) == want_shape
        value = nm.lower(loss, list(of_data.values()))(*(data[k] for k in of_data))
        np.testing.assert_allclose(value, want[0], rtol=1e-12)


def test_an_argument_of_another_length_than_the_data_names_both():
    m, of_any = lowered("ridge regression")
    X, y, _, penalty = m.data({"n": 5, "p": 2})
    bound = of_any.bind(X=X, y=y)
    with pytest.raises(
        ShapeError, match=r"input w: expected shape \(p,\), got \(3,\); p is 2 in X"
    ):
        bound(np.ones(3), penalty)
    with pytest.raises(ShapeError, match=r"symbol y: .* got \(4,\); n is 5 in X"):
        of_any.bind(X=X, y=y[1:])
