"""What users of PyTorch try."""

import io
import math
import pickle
from functools import partial

import mpmath
import numpy as np

import numeric as torch
from tests.newcomers import task

torch_user = partial(task, "PyTorch", rtol=1e-5)


@torch_user("backward, and what is in .grad", lambda: [2.0, 4.0, 6.0])
def backward():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x**2).sum().backward()
    return x.grad.numpy()


@torch_user("gradients add up until they are dropped", lambda: [4.0, 2.0])
def accumulation():
    x = torch.tensor(1.0, requires_grad=True)
    (x**2).backward()
    (x**2).backward()
    twice = x.grad.item()
    x.grad = None
    (x**2).backward()
    return [twice, x.grad.item()]


@torch_user("a training loop with no_grad", lambda: [2.0, -1.0], rtol=1e-3)
def training():
    x = torch.linspace(-1, 1, 20)
    y = 2 * x - 1
    a, b = (torch.zeros((), requires_grad=True) for _ in range(2))
    for _ in range(400):
        loss = ((a * x + b - y) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            for p in (a, b):
                p -= 0.2 * p.grad
                p.grad.zero_()
    return [a.item(), b.item()]


@torch_user("an optimiser", lambda: [3.0], rtol=1e-2)
def optimiser():
    w = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.Adam([w], lr=0.1)
    for _ in range(300):
        optimizer.zero_grad()
        ((w - 3) ** 2).sum().backward()
        optimizer.step()
    return w.detach().numpy()


@torch_user("a layer and a loss", lambda: [[0.25, 0.5], [-0.25, -0.5]])
def layer():
    weight = torch.nn.Parameter(torch.zeros(2, 2))
    logits = torch.nn.functional.linear(torch.tensor([[0.5, 1.0]]), weight)
    torch.nn.functional.cross_entropy(logits, torch.tensor([1])).backward()
    return weight.grad.numpy()


@torch_user("a second derivative by create_graph", lambda: -math.sin(0.5))
def second():
    x = torch.tensor(0.5, requires_grad=True)
    (g,) = torch.autograd.grad(torch.sin(x), x, create_graph=True)
    return torch.autograd.grad(g, x)[0].item()


@torch_user("func.hessian", lambda: np.diag([6.0, 12.0]))
def func_hessian():
    return torch.func.hessian(lambda x: (x**3).sum())(torch.tensor([1.0, 2.0])).numpy()


@torch_user("per-sample gradients by vmap and grad", lambda: [[2.0, 4.0], [6.0, 8.0]])
def per_sample():
    samples = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    return torch.func.vmap(torch.func.grad(lambda x: (x**2).sum()))(samples).numpy()


@torch_user("a custom Function, checked by gradcheck", lambda: True)
def custom():
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3 * x**2 * g

    x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    return torch.autograd.gradcheck(Cube.apply, (x,))


@torch_user("backward a second time says retain_graph", lambda: True)
def twice():
    x = torch.tensor(1.0, requires_grad=True)
    y = torch.exp(x)
    y.backward()
    try:
        y.backward()
    except RuntimeError as error:
        return "retain_graph=True" in str(error)
    return False


@torch_user("what was computed as a formula, to twenty digits", lambda: "0.47942553860420300027")
def digits():
    t = torch.tensor(0.5, requires_grad=True, name="t")
    z = torch.sin(t)
    return mpmath.nstr(z.expr.evalf(20, z.leaves()), 20)


@torch_user("parameters kept in a file", lambda: [1.0, 2.0])
def saved():
    file = io.BytesIO()
    pickle.dump(torch.nn.Parameter(torch.tensor([1.0, 2.0])), file)
    return pickle.loads(file.getvalue()).detach().numpy()


@torch_user("a tensor on the GPU", lambda: 0.0, remedy="Expected one of cpu device type")
def gpu():
    return torch.zeros(1).to("cuda").cpu().numpy()
