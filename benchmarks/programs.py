"""The programs that ``benchmarks.commits`` times; any commit of the library can run them.

As a script, this module is a server: it reads names of workloads, and answers with seconds.
"""

from __future__ import annotations

import gc
import sys
import time
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

import numeric as nm
import symdiff as sd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

RNG = np.random.default_rng(0)
_round = iter(range(10**9))


def fresh(count: int, shape: Any = ()) -> list[Any]:
    """Return new symbols, which occur in no expression yet."""
    k = next(_round)
    return [sd.symbol(f"s{k}_{i}", shape) for i in range(count)]


# Each contraction with a function from a length to the shapes of its operands.
CONTRACTIONS: dict[str, tuple[Callable[..., Any], Callable[[int], tuple[Any, ...]]]] = {
    "A @ x": (lambda A, x: A @ x, lambda n: ((n - 1, n), n)),
    "sum(x)": (lambda x: sd.sum(x), lambda n: (n,)),
    "v + u": (lambda v, u: v + u, lambda n: (n, (n - 1, n))),
    "A.T": (lambda A: A.T, lambda n: ((n - 1, n),)),
    "A @ B": (lambda A, B: A @ B, lambda n: ((n - 1, n), (n, n + 1))),
    "column + row": (lambda c, r: c + r, lambda n: ((n - 1, 1), (1, n))),
    "sum(A, keepdims)": (
        lambda A: sd.sum(A, axis=1, keepdims=True),
        lambda n: ((n - 1, n),),
    ),
}
PRODUCT: tuple[Callable[..., Any], Callable[[int], tuple[Any, ...]]]
PRODUCT = (lambda p, q: p * q, lambda n: ((), ()))


def operands(shapes: Callable[[int], tuple[Any, ...]], lengths: Iterable[int]) -> list[list[Any]]:
    """Return operands that were never combined before, with shapes from each length."""
    return [[fresh(1, shape)[0] for shape in shapes(n)] for n in lengths]


# Each function prepares a run and returns the function to time.


def scalar_products_and_sums() -> Callable[[], object]:
    """2,000 fresh products and sums of scalars."""
    xs = fresh(2001)
    return lambda: [(a * b) + a for a, b in pairwise(xs)]


def interned_products() -> Callable[[], object]:
    """The same product 20,000 times."""
    x, y = fresh(2)
    held = x * y
    return lambda: [x * y for _ in range(20_000)] and held


def contractions() -> Callable[[], object]:
    """Matrix times vector, sums and transposes of fresh symbols."""
    pairs = [(fresh(1, (3, 3))[0], fresh(1, 3)[0]) for _ in range(150)]
    return lambda: [(A @ v, sd.sum(v), A.T, v + A) for A, v in pairs]


def combined(
    f: Callable[..., Any], shapes: Callable[[int], tuple[Any, ...]]
) -> Callable[[], object]:
    """Apply an operation to 500 tuples of new operands, all of the same shapes."""
    tuples = operands(shapes, [4] * 500)
    return lambda: [f(*each) for each in tuples]


def rosenbrock_gradient() -> Callable[[], object]:
    """The gradient of Rosenbrock's function of 400 scalars."""
    xs = fresh(400)

    def run() -> object:
        f = sum(
            (100 * (b - a**2) ** 2 + (1 - a) ** 2 for a, b in pairwise(xs)),
            sd.constant(0),
        )
        return sd.grad(f, xs)

    return run


def tenth_derivative() -> Callable[[], object]:
    """The tenth derivative of sin(x)**4."""
    (x,) = fresh(1)
    return lambda: sd.diff(sd.sin(x) ** 4, x, 10)


def masked_hessian() -> Callable[[], object]:
    """The Hessian of a masked array formula."""
    (v,) = fresh(1, "n")
    return lambda: sd.hessian(sd.sum(sd.where(v > 0, sd.sqrt(v) * sd.tanh(v), v**2)), v)


def lowering() -> Callable[[], object]:
    """A formula of 60 scalars with its gradient, lowered."""
    xs = fresh(60)
    f = sd.sum(sd.stack([sd.sin(a) * b**2 for a, b in pairwise(xs)]))
    return lambda: nm.lower(f, xs).value_and_grad(*[0.5] * 60)


def repeated(call: Callable[[], object], times: int) -> Callable[[], object]:
    """Repeat ``call``."""

    def run() -> None:
        for _ in range(times):
            call()

    return run


def scalar_calls() -> Callable[[], object]:
    """Values and gradients of a formula of two floats."""
    x, y = fresh(2)
    F = nm.lower(sd.exp(-(x**2) / 2) * sd.sin(y), [x, y])
    F.value_and_grad(1.0, 2.0)
    return repeated(lambda: F.value_and_grad(1.0, 2.0), 20_000)


def logistic_calls() -> Callable[[], object]:
    """Values and gradients of a logistic loss, 1,000 by 20."""
    X, y, w = sd.symbol("X", ("m", "n")), sd.symbol("y", "m"), sd.symbol("w", "n")
    F = nm.lower(sd.mean(sd.softplus(X @ w) - y * (X @ w)), [X, y, w])
    inputs = RNG.normal(size=(1000, 20)), np.ones(1000), RNG.normal(size=20)
    F.value_and_grad(*inputs)
    return repeated(lambda: F.value_and_grad(*inputs), 100)


def vector_rosenbrock_calls() -> Callable[[], object]:
    """Values and gradients of Rosenbrock's function of a vector of 1,000."""
    v = sd.symbol("v", 1000)
    F = nm.lower(sd.sum(100 * (v[1:] - v[:-1] ** 2) ** 2 + (1 - v[:-1]) ** 2), [v])
    at = RNG.normal(size=1000)
    F.value_and_grad(at)
    return repeated(lambda: F.value_and_grad(at), 300)


def masked_calls() -> Callable[[], object]:
    """Values and gradients of a masked formula with a concatenation, 10**5 elements."""
    v = sd.symbol("v", "n")
    u = sd.concat([sd.sqrt(v), sd.tanh(v)]) if isinstance(v.shape[0], int) else sd.sqrt(v)
    F = nm.lower(sd.sum(sd.where(v > 0, u, v**2)), [v])
    at = RNG.normal(size=100_000)
    F.value_and_grad(at)
    return repeated(lambda: F.value_and_grad(at), 10)


def concatenated_calls() -> Callable[[], object]:
    """Values and gradients through a concatenation, 2 * 10**5 elements."""
    v, w = sd.symbol("v", 100_000), sd.symbol("w", 100_000)
    F = nm.lower(sd.sum(sd.tanh(sd.concat([v * w, w])) ** 2), [v, w])
    at = RNG.normal(size=100_000), RNG.normal(size=100_000)
    F.value_and_grad(*at)
    return repeated(lambda: F.value_and_grad(*at), 5)


def forward_and_backward() -> Callable[[], object]:
    """Forward and backward of a layer, 64 by 64."""
    X, w = sd.symbol("X", ("m", "n")), sd.symbol("w", ("n", "n"))
    F = nm.lower(sd.tanh(X @ w), [X, w])
    inputs = RNG.normal(size=(64, 64)), RNG.normal(size=(64, 64))
    ones = np.ones((64, 64))
    F.backward(F.forward(*inputs)[1], ones)
    return repeated(lambda: F.backward(F.forward(*inputs)[1], ones), 100)


def eager_chain(size: int) -> Callable[[], object]:
    """Forty multiply-adds, forward and backward."""
    w = nm.tensor(np.linspace(0.5, 0.9, size, dtype=np.float32), requires_grad=True)
    b = nm.tensor(np.linspace(0.1, 0.2, size, dtype=np.float32), requires_grad=True)

    def step() -> None:
        y = w
        for _ in range(40):
            y = y * w + b
        y.sum().backward()
        w.grad = b.grad = None

    step()
    return repeated(step, 30)


def eager_network() -> Callable[[], object]:
    """A small network: matrix products, tanh, views, in-place updates without recording."""
    X = nm.tensor(RNG.normal(size=(16, 8)).astype(np.float32))
    W = nm.tensor(RNG.normal(size=(8, 8)).astype(np.float32), requires_grad=True)

    def step() -> None:
        loss = (nm.tanh(X @ W)[:, :4].reshape(-1) ** 2).mean()
        loss.backward()
        with nm.no_grad():
            W.sub_(W.grad * 0.1)  # type: ignore[operator]
            W.grad = None

    step()
    return repeated(step, 100)


def eager_unrecorded() -> Callable[[], object]:
    """Elementwise operations without recording."""
    x = nm.tensor(RNG.normal(size=100).astype(np.float32))
    return repeated(lambda: nm.exp(nm.sin(x) * x + 1.0), 2000)


def vmap_of_grad() -> Callable[[], object]:
    """Gradients for each sample."""
    x = nm.tensor(RNG.normal(size=(10, 3)))
    f = nm.func.vmap(nm.func.grad(lambda row: (row.sin() * row).sum()))
    f(x)
    return repeated(lambda: f(x), 20)


def digits() -> Callable[[], object]:
    """A derivative to 50 digits."""
    (x,) = fresh(1)
    f = sd.diff(sd.exp(-(x**2)) * sd.sin(x) / x, x, 3)
    return repeated(lambda: sd.evalf(f, 50, {x: 2}), 5)


WORKLOADS: dict[str, Callable[[], Callable[[], object]]] = (
    {
        made.__name__: made
        for made in (
            *(scalar_products_and_sums, interned_products, contractions, rosenbrock_gradient),
            *(tenth_derivative, masked_hessian, lowering, scalar_calls, logistic_calls),
            *(vector_rosenbrock_calls, masked_calls, concatenated_calls, forward_and_backward),
            *(eager_network, eager_unrecorded, vmap_of_grad, digits),
        )
    }
    | {
        f"fresh {name}": partial(combined, *operation)
        for name, operation in {"p*q": PRODUCT, **CONTRACTIONS}.items()
    }
    | {
        "eager_chain_of_numbers": lambda: eager_chain(1),
        "eager_chain_of_arrays": lambda: eager_chain(10_000),
    }
)


def served() -> None:
    """Answer each name on the standard input with the seconds of its run."""
    for line in sys.stdin:
        run = WORKLOADS[line.strip()]()
        gc.collect()
        gc.disable()
        start = time.perf_counter()
        run()
        took = time.perf_counter() - start
        gc.enable()
        print(repr(took), flush=True)


if __name__ == "__main__":
    served()
