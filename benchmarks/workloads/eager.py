"""Programs with Tensors: the same source for ours and for PyTorch."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.declarations import Task, Workload

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS = 40
NUMBER = 12


def chain(torch: Any, size: int) -> Callable[[], object]:
    """Multiply-adds, forward and backward."""
    w = torch.tensor(np.linspace(0.5, 0.9, size, dtype=np.float32), requires_grad=True)
    b = torch.tensor(np.linspace(0.1, 0.2, size, dtype=np.float32), requires_grad=True)

    def step() -> object:
        y = w
        for _ in range(STEPS):
            y = y * w + b
        y.sum().backward()
        gradients = [w.grad, b.grad]
        w.grad = b.grad = None
        return gradients

    return step


def constants(torch: Any, size: int) -> Callable[[], object]:
    """Multiply-adds with Python numbers."""
    w = torch.tensor(np.linspace(0.5, 0.9, size, dtype=np.float32), requires_grad=True)

    def step() -> object:
        y = w
        for _ in range(STEPS):
            y = y * 0.9 + 0.5
        y.sum().backward()
        gradients = [w.grad]
        w.grad = None
        return gradients

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
        """Return the network's output."""
        for w, b in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = self.torch.tanh(x @ w + b)
        return x @ self.weights[-1] + self.biases[-1]

    def loss(self, x: Any) -> Any:
        """Return the binary cross-entropy with logits."""
        of = self.torch.nn.functional.binary_cross_entropy_with_logits
        return of(self.logits(x), self.target)


def training(torch: Any) -> Callable[[], object]:
    """One step of stochastic gradient descent."""
    network = _Network(torch)

    def step() -> object:
        network.loss(network.x).backward()
        with torch.no_grad():
            for p in network.parameters:
                p -= 0.01 * p.grad
                p.grad = None
        return network.parameters

    return step


def penalty(torch: Any) -> Callable[[], object]:
    """A step with a penalty on the gradient by the inputs: double backward."""
    network = _Network(torch)

    def step() -> object:
        x = network.x.detach().requires_grad_()
        loss = network.loss(x)
        (g,) = torch.autograd.grad(loss, x, create_graph=True)
        (loss + (g * g).sum()).backward()
        with torch.no_grad():
            for p in network.parameters:
                p -= 0.01 * p.grad
                p.grad = None
        return network.parameters

    return step


def logistic_hessian(torch: Any) -> Callable[[], object]:
    """Return the Hessian of the logistic loss of 100 parameters over 2,000 rows."""
    rng = np.random.default_rng(0)
    rows = torch.tensor(rng.normal(size=(2000, 100)).astype(np.float32))
    target = torch.tensor((rng.random(2000) > 0.5).astype(np.float32))
    w = torch.tensor((rng.normal(size=100) * 0.1).astype(np.float32))
    of = torch.nn.functional.binary_cross_entropy_with_logits
    hessian = torch.func.hessian(lambda w: of(rows @ w, target))
    return lambda: hessian(w)


def per_sample(torch: Any) -> Callable[[], object]:
    """Return the gradients of the perceptron's loss for each of its samples."""
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
    """Return the Jacobian of a function of a vector of 200, with 200 results."""
    rng = np.random.default_rng(0)
    matrix = torch.tensor((rng.normal(size=(200, 200)) / 14).astype(np.float32))
    x = torch.tensor(rng.normal(size=200).astype(np.float32))
    of = torch.autograd.functional.jacobian
    return lambda: of(lambda x: torch.tanh(matrix @ x) * torch.sin(x), x)


def _program(name: str, formula: Callable[[Any], Callable[[], object]]) -> Workload:
    """Declare a program: ``formula(module)`` prepares, and returns the function to time."""
    return Workload(
        number=NUMBER,
        name=f"eager: {name}",
        task=Task.PROGRAM,
        formula=formula,
        sizes={"": {}},
        tiny={},
        peers=("torch",),
    )


WORKLOADS = [
    _program("40 multiply-adds on 1 element", lambda t: chain(t, 1)),
    _program("40 multiply-adds on 10⁴ elements", lambda t: chain(t, 10_000)),
    _program("40 by numbers on 1 element", lambda t: constants(t, 1)),
    _program("step of a perceptron 32-128-128-1", training),
    _program("step with a gradient penalty", penalty),
    _program("logistic Hessian 2000×100", logistic_hessian),
    _program("gradients of 64 samples", per_sample),
    _program("Jacobian of a function of 200", jacobian),
]
