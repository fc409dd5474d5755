"""The functions of the bench, in NumPy, over varied territory.

``exact`` is the definition again where NumPy has none for objects: it is run on object arrays of
``truth.Number``.  ``kinks`` are points at which the gradient is a set.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.check.truth import eliminated, numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, eq=False)
class Forward:
    """A function under its name, with the shapes of its inputs in order."""

    name: str
    fn: Callable[..., Any]
    inputs: Mapping[str, tuple[int, ...]]
    domain: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    exact: Callable[..., Any] | None = None
    kinks: tuple[tuple[Any, ...], ...] = ()

    @property
    def definition(self) -> Callable[..., Any]:
        """What runs on Numbers."""
        return self.exact or self.fn


def forward(
    name: str,
    fn: Callable[..., Any],
    /,
    *,
    exact: Any = None,
    domain: Any = None,
    kinks: Any = (),
    **inputs: tuple[int, ...],
) -> Forward:
    """A function of the bench; the words that are left are its inputs."""
    return Forward(name, fn, inputs, domain or {}, exact, tuple(kinks))


def _relu(x: Any) -> Any:
    return np.maximum(x, 0)


def _softplus(x: Any) -> Any:
    return _relu(x) + np.log1p(np.exp(-abs(x)))


def _lse(z: Any) -> Any:
    m = np.max(z, axis=-1, keepdims=True)
    return m + np.log(np.sum(np.exp(z - m), axis=-1, keepdims=True))


def _layernorm(x: Any) -> Any:
    centred = x - np.mean(x, axis=-1, keepdims=True)
    return centred / np.sqrt(np.mean(centred**2, axis=-1, keepdims=True) + 1e-5)


def _rosenbrock(x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def _huber(r: Any) -> Any:
    return np.sum(np.where(abs(r) <= 1, r**2 / 2, abs(r) - 0.5))


def _polynomial(x: Any) -> Any:
    return ((2 * x - 3) * x + 1) * x - 5


def _rowmax(X: Any) -> Any:
    return np.sum(np.max(X, axis=1))


def _smooth_step(x: Any) -> Any:
    """A parabola to the left of 2, a sine wave to the right of it: continuous, with two slopes."""
    return np.sum(np.where(x < 2, x**2, 4 + np.sin(x - 2)))


HOLD = np.array([0, 2, 2, 1])  # what ``gather`` reads
RANKS = np.array([1.0, -2.0, 0.5, 3.0])  # what ``sorted`` weights
KERNEL = np.array([0.5, -1.0, 2.0])

FORWARDS = {
    one.name: one
    for one in (
        # Elementwise, then summed.
        forward("tanh", lambda x: np.sum(np.tanh(x)), x=(5,)),
        forward("sin", lambda x: np.sum(np.sin(x)), x=(4,)),
        forward(
            "softplus",
            lambda x: np.sum(np.logaddexp(0, x)),
            exact=lambda x: np.sum(_softplus(x)),
            x=(4,),
        ),
        forward("half_square", lambda x: np.sum(x * x) / 2, x=(4,)),
        forward("cubic", lambda x: np.sum(x**3), x=(4,)),
        forward("xsinx", lambda x: np.sum(x * np.sin(x)), x=(4,)),
        forward("gauss", lambda x: np.sum(np.exp(-(x**2) / 2)), x=(4,)),
        forward(
            "logcosh",
            lambda x: np.sum(np.logaddexp(x, -x)),
            x=(4,),
            exact=lambda x: np.sum(abs(x) + np.log1p(np.exp(-2 * abs(x)))),
        ),
        forward(
            "sinc",
            lambda x: np.sum(np.sinc(x)),
            x=(4,),
            exact=lambda x: np.sum(np.array([_sinc(v) for v in x], object)),
        ),
        forward("log1p_square", lambda x: np.sum(np.log1p(x**2)), x=(4,)),
        forward("polynomial", lambda x: np.sum(_polynomial(x)), x=(3,)),
        forward(
            "sqrtlog", lambda x: np.sum(np.sqrt(x) * np.log(x)), domain={"x": (0.01, 100.0)}, x=(4,)
        ),
        forward(
            "powers",
            lambda x, y: np.sum(x**y),
            exact=lambda x, y: np.sum(np.where(x > 0, x**y, 0)),
            domain={"x": (0.0, 4.0), "y": (1.5, 3.0)},
            x=(3,),
            y=(3,),
        ),
        forward(
            "hypot",
            lambda x, y: np.sum(np.hypot(x, y)),
            x=(4,),
            y=(4,),
            kinks=[([0.0, 1.0, 2.0, 3.0], [0.0, 2.0, 0.5, -1.0])],
        ),
        forward(
            "angle", lambda y, x: np.sum(np.arctan2(y, x)), domain={"x": (0.5, 3.0)}, y=(3,), x=(3,)
        ),
        forward(
            "expm1_ratio",
            lambda x: np.sum(np.expm1(x) / np.exp(x)),
            domain={"x": (-5.0, 5.0)},
            x=(3,),
        ),
        # Kinks.
        forward(
            "relu",
            lambda x, w: np.sum(np.maximum(x, 0) * w),
            x=(4,),
            w=(4,),
            kinks=[([0.0, 1.0, -1.0, 0.0], [1.0, 2.0, 3.0, -1.5])],
        ),
        forward(
            "pairmax",
            lambda a, b: np.sum(np.maximum(a, b)),
            a=(3,),
            b=(3,),
            kinks=[([1.0, 2.0, 0.0], [1.0, 0.5, 0.0])],
        ),
        forward("huber", lambda r: _huber(r), r=(4,)),
        forward(
            "clip",
            lambda x: np.sum(np.clip(x, -1, 2) ** 2),
            x=(4,),
            kinks=[([-1.0, 2.0, 0.5, 3.0],), ([2.0, -1.0, -1.5, 0.0],)],
        ),
        forward(
            "l1",
            lambda x, y: np.sum(np.abs(x - y)),
            x=(4,),
            y=(4,),
            kinks=[([1.0, 2.0, 0.0, 0.5], [1.0, 1.0, 0.0, 0.75])],
        ),
        forward(
            "rowmax",
            _rowmax,
            X=(3, 4),
            kinks=[([[1.0, 1.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0], [1.0, 2.0, 3.0, 4.0]],)],
        ),
        forward("sorted", lambda x: np.sort(x) @ RANKS, x=(4,), kinks=[([1.0, 2.0, 1.0, 0.0],)]),
        forward("pieces", _smooth_step, x=(4,), kinks=[([2.0, 1.0, 3.0, 0.0],)]),
        # Reductions of several elements.
        forward("logsumexp", lambda z: np.logaddexp.reduce(z), exact=lambda z: _lse(z)[0], z=(4,)),
        forward("norm", lambda x: np.linalg.norm(x), x=(3,), kinks=[([0.0, 0.0, 0.0],)]),
        forward("prod", lambda x: np.prod(x), domain={"x": (-8.0, 8.0)}, x=(4,)),
        forward("cumprod", lambda x: np.sum(np.cumprod(x)), domain={"x": (-8.0, 8.0)}, x=(4,)),
        forward("cumsum", lambda x: np.sum(np.cumsum(x) ** 2), x=(4,)),
        forward("mse", lambda p, t: np.mean((p - t) ** 2), p=(5,), t=(5,)),
        forward(
            "variance", lambda x: np.var(x), x=(5,), exact=lambda x: np.mean((x - np.mean(x)) ** 2)
        ),
        forward("mean_tanh", lambda x: np.mean(np.tanh(x)), x=(3, 4)),
        forward("rosenbrock", _rosenbrock, x=(3,)),
        forward(
            "xent",
            lambda z, t: np.sum(t * (np.logaddexp.reduce(z) - z)),
            z=(4,),
            t=(4,),
            exact=lambda z, t: np.sum(t * (_lse(z) - z)),
        ),
        forward(
            "sigmoid_xent",
            lambda z, y: np.sum(np.logaddexp(0, z) - y * z),
            z=(5,),
            y=(5,),
            exact=lambda z, y: np.sum(_softplus(z) - y * z),
        ),
        # Products of arrays.
        forward("triple", lambda a, b, c: np.sum(a * b * c), a=(3,), b=(3,), c=(3,)),
        forward("quadratic", lambda x, A: x @ A @ x, x=(3,), A=(3, 3)),
        forward("matmul", lambda A, B: np.sum((A @ B) ** 2), A=(2, 3), B=(3, 4)),
        forward("bias", lambda X, W, b: np.sum(np.tanh(X @ W + b)), X=(4, 3), W=(3, 2), b=(2,)),
        forward("column", lambda X, s: np.sum((X * s) ** 2), X=(3, 4), s=(3, 1)),
        forward("thin", lambda x, s: np.sum((x * s) ** 2), x=(1, 4), s=(4,)),
        forward("outer", lambda x, y, M: np.sum(np.outer(x, y) * M), x=(2,), y=(3,), M=(2, 3)),
        forward("trace", lambda A, B: np.trace(A @ B), A=(2, 3), B=(3, 2)),
        forward(
            "commutator",
            lambda A, B, C: np.sum((A @ B - B @ A) * C),
            A=(2, 2),
            B=(2, 2),
            C=(2, 2),
            domain=dict.fromkeys("ABC", (-10.0, 10.0)),
        ),
        forward("gather", lambda x, w: np.sum(np.sin(x[HOLD]) * w), x=(3,), w=(4,)),
        forward(
            "convolve",
            lambda x: np.sum(np.convolve(x, KERNEL) ** 2),
            x=(4,),
            exact=lambda x: np.sum(
                sum(np.concatenate([np.zeros(k), x * KERNEL[k], np.zeros(2 - k)]) for k in range(3))
                ** 2
            ),
        ),
        # Of matrices that are far from singular.
        forward(
            "logdet",
            lambda A: np.linalg.slogdet(A + 4 * np.eye(3))[1],
            domain={"A": (-1.0, 1.0)},
            A=(3, 3),
            exact=lambda A: np.log(abs(eliminated(A + 4 * np.eye(3), A)[0])),
        ),
        forward(
            "solve",
            lambda A, b: np.sum(np.linalg.solve(A + 3 * np.eye(2), b) ** 2),
            domain={"A": (-1.0, 1.0)},
            A=(2, 2),
            b=(2,),
            exact=lambda A, b: np.sum(eliminated(A + 3 * np.eye(2), b[:, None])[1] ** 2),
        ),
        forward(
            "trace_inv",
            lambda A: np.trace(np.linalg.inv(A + 3 * np.eye(2))),
            domain={"A": (-1.0, 1.0)},
            A=(2, 2),
            exact=lambda A: np.trace(eliminated(A + 3 * np.eye(2), numbers(np.eye(2)))[1]),
        ),
        # Arrays of results.
        forward("layer", lambda W, x: np.tanh(W @ x), W=(2, 3), x=(3,)),
        forward("softmax", lambda z: np.exp(z - np.max(z)) / np.sum(np.exp(z - np.max(z))), z=(4,)),
        forward("layernorm", _layernorm, x=(2, 4)),
        forward("squares", lambda x: x**2, x=(4,)),
        forward("differences", lambda x: np.diff(x) ** 2, x=(5,)),
        forward("polar", lambda r, t: np.stack([r * np.cos(t), r * np.sin(t)]), r=(3,), t=(3,)),
    )
}


def _sinc(v: Any) -> Any:
    import mpmath as mp

    w = numbers(1.0)[()]
    w.v = mp.mpf(1) if v == 0 else mp.sin(mp.pi * v.v) / (mp.pi * v.v)
    return w
