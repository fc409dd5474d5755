"""Whole programs in PyTorch's API, and what PyTorch answers at each of their steps.

A program is a generator: it trains or solves something and yields, step by step, the tensors and
numbers to compare.  ``EAGER_ORACLE=torch python -m tests.eager.whole_programs`` writes down what
PyTorch yields, for tests that have no PyTorch.
"""

import sys
from pathlib import Path

from tests.eager.chosen import ORACLE, torch
from tests.eager.model_programs import PROGRAMS, parameter, program
from tests.eager.record import read, write

F = torch.nn.functional
grad = torch.autograd.grad
optim = torch.optim
RECORDS = Path(__file__).parent.parent / "data" / "eager_whole_programs.zip"
DTYPES = ("float64", "float32")


@program(seed=0)
def linear_regression(dtype):
    """Gradient descent by hand, under no_grad."""
    x = torch.randn(40, 3, dtype=dtype)
    y = x @ torch.tensor([1.5, -2.0, 0.5], dtype=dtype) + 0.75
    y = y + 0.1 * torch.randn(40, dtype=dtype)
    w = torch.zeros(3, dtype=dtype, requires_grad=True)
    b = torch.zeros((), dtype=dtype, requires_grad=True)
    for _ in range(25):
        loss = ((x @ w + b - y) ** 2).mean()
        loss.backward()
        yield loss, w.grad, b.grad
        with torch.no_grad():
            w -= 0.1 * w.grad
            b -= 0.1 * b.grad
        w.grad.zero_()
        b.grad = None
    yield w, b


@program(seed=1)
def two_layers(dtype):
    """A multi-layer perceptron, fifty steps of gradient descent with momentum."""
    x = torch.rand(32, 2, dtype=dtype) * 4 - 2
    y = (x[:, :1] * x[:, 1:]).sin()
    w1, b1 = parameter(2, 16, dtype=dtype), torch.zeros(16, dtype=dtype, requires_grad=True)
    w2, b2 = parameter(16, 1, scale=0.25, dtype=dtype), parameter(1, dtype=dtype)
    optimizer = optim.SGD([w1, b1, w2, b2], lr=0.05, momentum=0.9)
    for step in range(50):
        optimizer.zero_grad()
        hidden = torch.relu(x @ w1 + b1)
        loss = F.mse_loss(hidden @ w2 + b2, y)
        loss.backward()
        optimizer.step()
        yield loss, w1.grad.norm(), b1.grad.sum(), w2.grad.abs().max(), b2
        if step % 10 == 9:
            yield w1, b1, w2


@program()
def newton(dtype):
    """Newton's method: the Hessian by double backward, elementwise and as a matrix."""
    x = torch.tensor([0.5, 2.0, -3.0], dtype=dtype, requires_grad=True)
    for _ in range(6):  # stationary points of a function of each element
        (first,) = grad((x**4 / 4 - x**2 + x.sin()).sum(), x, create_graph=True)
        (second,) = grad(first.sum(), x)
        with torch.no_grad():
            x -= first / second
        yield x, first, second
    p = torch.tensor([-0.5, 0.75], dtype=dtype, requires_grad=True)
    for _ in range(6):
        f = torch.exp(p[0] + 3 * p[1] - 0.1) + torch.exp(p[0] - 3 * p[1]) + torch.exp(-p[0])
        (g,) = grad(f, p, create_graph=True)
        h = torch.stack([grad(part, p, retain_graph=True)[0] for part in g])
        det = h[0, 0] * h[1, 1] - h[0, 1] * h[1, 0]
        step = torch.stack([h[1, 1] * g[0] - h[0, 1] * g[1], h[0, 0] * g[1] - h[1, 0] * g[0]])
        with torch.no_grad():
            p.sub_(step / det)
        yield f, g, h, p


@program(seed=2)
def newton_conjugate_gradients(dtype):
    """Newton's method without a Hessian: products with vectors by double backward."""
    a = torch.randn(12, 5, dtype=dtype)
    x = torch.zeros(5, dtype=dtype, requires_grad=True)
    for _ in range(4):
        f = F.softplus(a @ x).sum() + 0.5 * (x * x).sum()
        (g,) = grad(f, x, create_graph=True)
        step, r = torch.zeros(5, dtype=dtype), -g.detach()
        p, rr = r.clone(), r @ r
        for _ in range(3):
            (hp,) = grad(g @ p, x, retain_graph=True)
            alpha = rr / (p @ hp)
            step, r = step + alpha * p, r - alpha * hp
            rr, old = r @ r, rr
            p = r + rr / old * p
        x.data += step
        yield f, g, step


@program(seed=3)
def meta_gradient(dtype):
    """Gradients through two inner steps of gradient descent, by the start and by the rate."""
    w = parameter(2, dtype=dtype)
    rate = torch.tensor(-2.0, dtype=dtype, requires_grad=True)
    optimizer = optim.Adam([w, rate], lr=0.05)
    for _ in range(8):
        outer = torch.zeros((), dtype=dtype)
        for _ in range(2):  # tasks
            slope = torch.randn(2, dtype=dtype)
            x, v = torch.randn(2, 6, 2, dtype=dtype)
            inner = w
            for _ in range(2):
                loss = ((x @ inner - x @ slope) ** 2).mean()
                (g,) = grad(loss, inner, create_graph=True)
                inner = inner - rate.exp() * g
            outer = outer + ((v @ inner - v @ slope) ** 2).mean()
        optimizer.zero_grad()
        outer.backward()
        yield outer, w.grad, rate.grad
        optimizer.step()
    yield w, rate


@program(seed=4)
def gradient_penalty(dtype):
    """A critic whose gradient by its input is kept near the length 1."""
    w1, w2 = parameter(2, 8, dtype=dtype), parameter(8, 1, dtype=dtype)

    def critic(x):
        return F.leaky_relu(x @ w1, 0.2).tanh() @ w2

    optimizer = optim.Adam([w1, w2], lr=0.02, betas=(0.5, 0.9))
    for _ in range(10):
        real, fake = torch.randn(16, 2, dtype=dtype) + 1, torch.randn(16, 2, dtype=dtype)
        eps = torch.rand(16, 1, dtype=dtype)
        between = (eps * real + (1 - eps) * fake).requires_grad_()
        scores = critic(between)
        (g,) = grad(scores, between, torch.ones_like(scores), create_graph=True)
        penalty = ((g.norm(2, dim=1) - 1) ** 2).mean()
        loss = critic(fake).mean() - critic(real).mean() + 10 * penalty
        optimizer.zero_grad()
        loss.backward()
        yield loss, penalty, w1.grad, w2.grad
        optimizer.step()


@program(seed=5)
def accumulation(dtype):
    """Four mini-batches, one step: their gradients add up to that of the batch."""
    x, y = torch.randn(24, 3, dtype=dtype), torch.randn(24, dtype=dtype)
    w = parameter(3, dtype=dtype)
    optimizer = optim.SGD([w], lr=0.2, weight_decay=0.01)
    for _ in range(6):
        optimizer.zero_grad(set_to_none=False)
        for xs, ys in zip(x.split(6), y.chunk(4), strict=True):
            loss = F.smooth_l1_loss(xs @ w, ys) / 4
            loss.backward()
            yield loss, w.grad
        (whole,) = grad(F.smooth_l1_loss(x @ w, y), w)
        yield whole, (whole - w.grad).abs().max() < 1e-6
        optimizer.step()
    yield (w,)


@program(seed=6)
def frozen_layers(dtype):
    """The first layer is frozen, then trained too, at a rate of its own."""
    x, y = torch.randn(20, 4, dtype=dtype), torch.randint(0, 3, (20,))
    layers = [parameter(4, 6, dtype=dtype), parameter(6, 3, dtype=dtype)]
    layers[0].requires_grad_(False)
    optimizer = optim.SGD([p for p in layers if p.requires_grad], lr=0.3, momentum=0.5)
    for step in range(10):
        if step == 5:
            layers[0].requires_grad = True
            optimizer.add_param_group({"params": layers[0], "lr": 0.1})
        loss = F.cross_entropy(torch.tanh(x @ layers[0]) @ layers[1], y)
        optimizer.zero_grad()
        loss.backward()
        yield loss, layers[0].grad is None, *layers
        optimizer.step()
    yield layers


@program(seed=7)
def oscillator(dtype):
    """A network that solves u'' = -u with u(0) = 0, u'(0) = 1, by the residual."""
    t = torch.linspace(0, 2, 12, dtype=dtype).reshape(-1, 1).requires_grad_()
    w1, b1 = parameter(1, 10, dtype=dtype), parameter(10, dtype=dtype)
    w2, b2 = parameter(10, 10, scale=0.4, dtype=dtype), parameter(10, dtype=dtype)
    w3 = parameter(10, 1, scale=0.4, dtype=dtype)
    optimizer = optim.Adam([w1, b1, w2, b2, w3], lr=0.01)
    for step in range(30):
        u = torch.tanh(torch.tanh(t @ w1 + b1) @ w2 + b2) @ w3
        (du,) = grad(u, t, torch.ones_like(u), create_graph=True)
        (ddu,) = grad(du, t, torch.ones_like(u), create_graph=True)
        loss = ((ddu + u) ** 2).mean() + u[0, 0] ** 2 + (du[0, 0] - 1) ** 2
        optimizer.zero_grad()
        loss.backward(inputs=[w1, b1, w2, b2, w3])
        optimizer.step()
        yield loss, w1.grad.sum(), w2.grad.norm(), w3
        if step % 10 == 9:
            yield u, du, ddu


@program(seed=8)
def lbfgs(dtype):
    """L-BFGS by hand: the two-loop recursion, and a line search that goes back."""
    x = torch.randn(30, 3, dtype=dtype)
    y = (x[:, 0] * x[:, 1]).sign().clamp(min=0)
    params = [parameter(3, 4, dtype=dtype), torch.zeros(4, dtype=dtype).requires_grad_()]
    params.append(parameter(4, scale=0.5, dtype=dtype))

    def closure():
        for p in params:
            p.grad = None
        z = torch.tanh(x @ params[0] + params[1]) @ params[2]
        loss = F.binary_cross_entropy_with_logits(z, y)
        loss = loss + 0.01 * sum(p.pow(2).sum() for p in params)
        loss.backward()
        return loss.item(), torch.cat([p.grad.reshape(-1) for p in params])

    def move(by):
        with torch.no_grad():
            for p, part in zip(params, by.split([p.numel() for p in params]), strict=True):
                p.add_(part.view_as(p))

    loss, g = closure()
    pairs = []
    for _ in range(12):
        d, alphas = -g, []
        for s, q in reversed(pairs):
            alphas.append((s @ d) / (s @ q))
            d = d - alphas[-1] * q
        if pairs:
            s, q = pairs[-1]
            d = d * (s @ q) / (q @ q)
        for (s, q), alpha in zip(pairs, reversed(alphas), strict=True):
            d = d + s * (alpha - (q @ d) / (s @ q))
        t, slope, before = 1.0, (g @ d).item(), loss
        move(t * d)
        loss, new = closure()
        while loss > before + 1e-4 * t * slope and t > 1e-3:
            move(-t / 2 * d)
            t /= 2
            loss, new = closure()
        pairs = [*pairs, (t * d, new - g)][-4:]
        g = new
        yield loss, t, slope, g.norm()
    yield params


@program(seed=9)
def logistic_regression(dtype):
    """Two classes, Adam with weight decay, and how many it gets right."""
    x = torch.cat([torch.randn(24, 2, dtype=dtype) + 1, torch.randn(16, 2, dtype=dtype) - 1])
    y = torch.cat([torch.ones(24, dtype=dtype), torch.zeros(16, dtype=dtype)])
    w, b = torch.zeros(2, 1, dtype=dtype), torch.zeros(1, dtype=dtype)
    w.requires_grad_()
    b.requires_grad_()
    optimizer = optim.Adam([{"params": [w], "weight_decay": 0.1}, {"params": [b]}], lr=0.1)
    for _ in range(25):

        def closure():
            optimizer.zero_grad()
            z = (x @ w + b).squeeze(1)
            loss = F.binary_cross_entropy_with_logits(z, y)
            loss.backward()
            return loss

        loss = optimizer.step(closure)
        right = ((x @ w + b).squeeze(1) > 0).eq(y.bool()).sum()
        yield loss, w, b, right


@program(seed=10)
def characters(dtype):
    """The next character of a text, from the last three: embeddings and cross entropy."""
    text = "the cat sat on the mat and the rat ran at the hat"
    letters = sorted(set(text))
    codes = torch.tensor([letters.index(c) for c in text])
    x = torch.stack([codes[i : len(codes) - 3 + i] for i in range(3)], dim=1)
    y, n = codes[3:], len(letters)
    table, w1 = parameter(n, 4, dtype=dtype), parameter(12, 16, scale=0.3, dtype=dtype)
    w2, b2 = parameter(16, n, scale=0.2, dtype=dtype), torch.zeros(n, dtype=dtype)
    params = [table, w1, w2, b2.requires_grad_()]
    for step in range(20):
        batch = torch.randint(0, len(y), (16,))
        hidden = torch.tanh(table[x[batch]].view(16, -1) @ w1)
        logits = hidden @ w2 + b2
        loss = F.cross_entropy(logits, y[batch])
        for p in params:
            p.grad = None
        loss.backward()
        for p in params:
            p.data += -(0.5 if step < 10 else 0.1) * p.grad
        yield loss, table.grad.abs().sum(), w1.grad.norm(), b2.grad
    with torch.no_grad():
        logits = torch.tanh(table[x].flatten(1) @ w1) @ w2 + b2
        chosen = F.log_softmax(logits, dim=1).gather(1, y[:, None])
        yield chosen.mean(), F.softmax(logits, 1).max(1)[0].mean(), F.nll_loss(logits, y)


@program()
def rosenbrock(dtype):
    """The banana valley, by Adam."""
    x = torch.tensor([-1.5, 2.0], dtype=dtype, requires_grad=True)
    optimizer = optim.Adam([x], lr=0.1)
    for step in range(60):
        optimizer.zero_grad()
        f = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
        f.backward()
        optimizer.step()
        if step % 5 == 4:
            yield f, x.grad, x


@program(seed=11)
def recurrent(dtype):
    """A recurrent network on a wave: the state is detached between pieces, gradients clipped."""
    wave = torch.arange(41, dtype=dtype).mul(0.3).sin()
    wx, wh = parameter(1, 6, dtype=dtype), parameter(6, 6, scale=0.4, dtype=dtype)
    wo = parameter(6, 1, dtype=dtype)
    optimizer = optim.SGD([wx, wh, wo], lr=0.1, momentum=0.8, nesterov=True)
    for _ in range(3):
        h = torch.zeros(1, 6, dtype=dtype)
        for start in range(0, 40, 10):
            h, loss = h.detach(), 0
            for t in range(start, start + 10):
                h = torch.tanh(wave[t].reshape(1, 1) @ wx + h @ wh)
                loss = loss + (h @ wo - wave[t + 1]).square().sum()
            optimizer.zero_grad()
            loss.backward()
            norm = torch.stack([p.grad.norm() for p in (wx, wh, wo)]).norm()
            if norm > 1:
                for p in (wx, wh, wo):
                    p.grad.mul_(1 / norm)
            optimizer.step()
            yield loss, norm, h, wh.grad


@program(seed=12)
def attention(dtype):
    """One block of masked self-attention with two heads and layer norms, by AdamW."""
    x, y = torch.randn(2, 5, 8, dtype=dtype), torch.randn(2, 5, 8, dtype=dtype)
    qkv, out = parameter(8, 24, scale=0.3, dtype=dtype), parameter(8, 8, scale=0.3, dtype=dtype)
    gain = torch.ones(8, dtype=dtype, requires_grad=True)
    mask = torch.ones(5, 5, dtype=torch.bool).tril().logical_not()
    optimizer = optim.AdamW([qkv, out, gain], lr=0.01, amsgrad=True)
    for _ in range(8):
        mean, var = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, unbiased=False)
        normed = (x - mean) / torch.sqrt(var + 1e-5) * gain
        parts = (normed @ qkv).view(2, 5, 3, 2, 4).permute(2, 0, 3, 1, 4)
        q, k, v = parts[0], parts[1], parts[2]
        scores = (q @ k.transpose(-2, -1)) / 2.0
        weights = scores.masked_fill(mask, float("-inf")).softmax(dim=-1)
        mixed = (weights @ v).transpose(1, 2).contiguous().view(2, 5, 8)
        loss = F.huber_loss(x + F.gelu(mixed @ out), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss, weights[0, 0], qkv.grad.norm(), out.grad, gain.grad


@program(seed=13)
def interrupted(dtype):
    """Training that is stopped, saved and taken up by new objects."""
    x, y = torch.randn(10, 3, dtype=dtype), torch.randn(10, dtype=dtype)
    w = parameter(3, dtype=dtype)
    optimizer = optim.Adam([w], lr=0.1)
    for step in range(10):
        optimizer.zero_grad()
        F.l1_loss(x @ w, y).backward()
        optimizer.step()
        yield (w,)
        if step == 4:
            saved, w = optimizer.state_dict(), w.detach().clone().requires_grad_()
            optimizer = optim.Adam([w], lr=123.0)
            optimizer.load_state_dict(saved)


def run(name, dtype):
    """What a program yields: for each step a list of numbers."""
    generator, seed = PROGRAMS[name]
    torch.manual_seed(seed)
    steps = []
    for things in generator(getattr(torch, dtype)):
        step = []
        for thing in things:
            if isinstance(thing, torch.Tensor):
                step += thing.detach().double().reshape(-1).tolist()
            else:
                step.append(float(thing))
        steps.append(step)
    return steps


def main():
    """Write down what PyTorch yields."""
    if ORACLE != "torch":
        sys.exit(
            "set EAGER_ORACLE=torch, and have PyTorch installed: pip install -e '.[crosscheck]'"
        )
    torch.set_num_threads(1)
    found = {name: {dtype: run(name, dtype) for dtype in DTYPES} for name in PROGRAMS}
    digits = {"float64": 12, "float32": 7}
    rounded = {
        name: {
            dtype: [[float(f"{v:.{digits[dtype]}g}") for v in step] for step in steps]
            for dtype, steps in runs.items()
        }
        for name, runs in found.items()
    }
    write(RECORDS, {"torch": torch.__version__, "programs": rounded}, {})


def recorded():
    """What PyTorch yielded, by program and dtype."""
    return read(RECORDS)[0]["programs"]


if __name__ == "__main__":
    main()
