"""Eager programs, the same source for both: ratios to PyTorch, and the memory of a record."""

from __future__ import annotations

import gc
import tracemalloc
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

import numeric
from benchmarks.cases import OURS, Case, Contestant, Count, Race, installed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STEPS = 40
REPEATS = 20


def _race(
    name: str, program: Callable[[Any], Callable[[], object]], most: float, repeats: int = REPEATS
) -> Case:
    """``program(module)`` prepares; what it returns is timed, some times in a row."""

    def repeated(module: Any) -> Contestant:
        step = program(module)

        def run(_: int) -> None:
            for _ in range(repeats):
                step()

        return Contestant(run)

    def torch() -> Contestant:
        import torch as module  # type: ignore[import-not-found, unused-ignore]

        return repeated(module)

    here, missing = installed({"torch": torch})
    return Race(
        name,
        {OURS: repeated(numeric)} | {peer: make() for peer, make in here.items()},
        rounds=25,
        per=repeats,
        targets={"torch": most},
        missing=missing,
    )


# The programs -----------------------------------------------------------------------------------


def chain(torch: Any, size: int) -> Callable[[], object]:
    """Multiply-adds, forward and backward."""
    w = torch.tensor(np.linspace(0.5, 0.9, size, dtype=np.float32), requires_grad=True)
    b = torch.tensor(np.linspace(0.1, 0.2, size, dtype=np.float32), requires_grad=True)

    def step() -> None:
        y = w
        for _ in range(STEPS):
            y = y * w + b
        y.sum().backward()
        w.grad = b.grad = None

    return step


def constants(torch: Any, size: int) -> Callable[[], object]:
    """The same with Python numbers."""
    w = torch.tensor(np.linspace(0.5, 0.9, size, dtype=np.float32), requires_grad=True)

    def step() -> None:
        y = w
        for _ in range(STEPS):
            y = y * 0.9 + 0.5
        y.sum().backward()
        w.grad = None

    return step


class _Network:
    """A multilayer perceptron of 32-128-128-1 units, and a batch of 64."""

    def __init__(self, torch: Any) -> None:
        rng = np.random.default_rng(0)
        self.torch = torch
        sizes = [32, 128, 128, 1]
        self.weights, self.biases = [], []
        for n, m in pairwise(sizes):
            w = (rng.normal(size=(n, m)) / np.sqrt(n)).astype(np.float32)
            self.weights.append(torch.tensor(w, requires_grad=True))
            self.biases.append(torch.zeros(m, requires_grad=True))
        self.parameters = [*self.weights, *self.biases]
        self.x = torch.tensor(rng.normal(size=(64, 32)).astype(np.float32))
        self.target = torch.tensor((rng.random((64, 1)) > 0.5).astype(np.float32))

    def logits(self, x: Any) -> Any:
        """The network's output."""
        for w, b in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = self.torch.tanh(x @ w + b)
        return x @ self.weights[-1] + self.biases[-1]

    def loss(self, x: Any) -> Any:
        """Binary cross-entropy with logits."""
        of = self.torch.nn.functional.binary_cross_entropy_with_logits
        return of(self.logits(x), self.target)


def training(torch: Any) -> Callable[[], object]:
    """One step of stochastic gradient descent."""
    network = _Network(torch)

    def step() -> None:
        network.loss(network.x).backward()
        with torch.no_grad():
            for p in network.parameters:
                p -= 0.01 * p.grad
                p.grad = None

    return step


def penalty(torch: Any) -> Callable[[], object]:
    """A step with a penalty on the gradient by the inputs: double backward."""
    network = _Network(torch)

    def step() -> None:
        x = network.x.detach().requires_grad_()
        loss = network.loss(x)
        (g,) = torch.autograd.grad(loss, x, create_graph=True)
        (loss + (g * g).sum()).backward()
        with torch.no_grad():
            for p in network.parameters:
                p -= 0.01 * p.grad
                p.grad = None

    return step


def logistic_hessian(torch: Any) -> Callable[[], object]:
    """The Hessian of the logistic loss of 100 parameters over 2,000 rows."""
    rng = np.random.default_rng(0)
    rows = torch.tensor(rng.normal(size=(2000, 100)).astype(np.float32))
    target = torch.tensor((rng.random(2000) > 0.5).astype(np.float32))
    w = torch.tensor((rng.normal(size=100) * 0.1).astype(np.float32))
    of = torch.nn.functional.binary_cross_entropy_with_logits
    hessian = torch.func.hessian(lambda w: of(rows @ w, target))
    return lambda: hessian(w)


def per_sample(torch: Any) -> Callable[[], object]:
    """The gradients of the perceptron's loss for each of its samples."""
    network = _Network(torch)
    parameters = [p.detach() for p in network.parameters]
    of = torch.nn.functional.binary_cross_entropy_with_logits

    def loss(p: Any, x: Any, target: Any) -> Any:
        for w, b in zip(p[:2], p[3:5], strict=True):
            x = torch.tanh(x @ w + b)
        return of(x @ p[2] + p[5], target)

    gradients = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))
    return lambda: gradients(parameters, network.x, network.target)


def jacobian(torch: Any) -> Callable[[], object]:
    """The Jacobian of a function of a vector of 200, of as many results."""
    rng = np.random.default_rng(0)
    matrix = torch.tensor((rng.normal(size=(200, 200)) / 14).astype(np.float32))
    x = torch.tensor(rng.normal(size=200).astype(np.float32))
    of = torch.autograd.functional.jacobian
    return lambda: of(lambda x: torch.tanh(matrix @ x) * torch.sin(x), x)


def bytes_per_op(n: int = 2000) -> int:
    """Memory that a recorded operation holds, beyond the arrays of values."""
    x = numeric.tensor([1.5], requires_grad=True)
    y = x * x
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(n // 2):
        y = y * x + x
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    arrays = n // 2 * (np.zeros(1, np.float32).__sizeof__() + 4)  # one saved array in two steps
    return (after - before - arrays) // n


def cases() -> Iterator[Case]:
    """The workloads of programs that train and that differentiate twice."""
    yield _race(f"{STEPS} multiply-adds on 1 element", lambda t: chain(t, 1), 0.8)
    yield _race(f"{STEPS} multiply-adds on 10^4 elements", lambda t: chain(t, 10_000), 1.2)
    yield _race(f"{STEPS} by numbers on 1 element", lambda t: constants(t, 1), 0.8)
    yield _race("a step of a perceptron 32-128-128-1", training, 1.0)
    yield _race("the same with a gradient penalty", penalty, 1.5)
    yield _race("Hessian of a logistic loss, 2000 x 100", logistic_hessian, 0.2, 1)
    yield _race("gradients of 64 samples, perceptron", per_sample, 1.0)
    yield _race("Jacobian of a function of 200", jacobian, 0.5, 1)
    yield Count("bytes of a recorded operation", bytes_per_op, 601)
