"""Programs as people write them for models of many kinds; see ``whole_programs``."""

import math

from tests.eager.chosen import torch

F = torch.nn.functional
grad = torch.autograd.grad
optim = torch.optim
Parameter = torch.nn.Parameter


PROGRAMS = {}


def program(seed=0):
    """A generator becomes one of the programs, which start from their seed."""

    def registered(generator):
        PROGRAMS[generator.__name__] = generator, seed
        return generator

    return registered


def parameter(*shape, scale=1.0, dtype):
    """A random leaf."""
    return (torch.randn(shape, dtype=dtype) * scale).requires_grad_()


@program(seed=20)
def variational_autoencoder(dtype):
    """The reparametrisation trick; a Bernoulli decoder; the divergence in closed form."""
    x = torch.rand(12, 6, dtype=dtype).round()
    enc, dec = parameter(6, 4, scale=0.3, dtype=dtype), parameter(2, 6, scale=0.3, dtype=dtype)
    optimizer = optim.Adam([enc, dec], lr=0.03)
    for _ in range(8):
        mu, logvar = torch.chunk(x @ enc, 2, dim=1)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        y = torch.sigmoid(z @ dec)
        bce = F.binary_cross_entropy(y, x, reduction="sum")
        kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
        optimizer.zero_grad()
        (bce + kld).backward()
        yield bce, kld, enc.grad, dec.grad
        optimizer.step()


@program(seed=21)
def graph_network(dtype):
    """Messages along edges, added up at their ends, in two rounds."""
    src, dst = torch.tensor([[0, 1, 1, 2, 3, 4, 4, 0], [1, 0, 2, 3, 4, 0, 2, 3]])
    h0 = torch.randn(5, 3, dtype=dtype)
    wm, wu = parameter(6, 4, scale=0.5, dtype=dtype), parameter(7, 3, scale=0.5, dtype=dtype)
    for _ in range(6):
        h = h0
        for _ in range(2):
            messages = F.elu(torch.cat([h[src], h.index_select(0, dst)], dim=1) @ wm)
            total = torch.zeros(5, 4, dtype=dtype).index_add_(0, dst, messages)
            degree = torch.zeros(5, dtype=dtype).scatter_add_(0, dst, torch.ones(8, dtype=dtype))
            h = torch.tanh(torch.cat([h, total / degree.clamp(min=1).unsqueeze(1)], 1) @ wu)
        loss = (h.sum(0) - 1).pow(2).mean() + h.var()
        gs = grad(loss, [wm, wu])
        yield loss, *gs
        with torch.no_grad():
            for p, g in zip((wm, wu), gs, strict=True):
                p.sub_(g, alpha=0.1)


@program(seed=22)
def temporal_difference(dtype):
    """Q-learning with a target network that follows slowly."""
    s, s2 = torch.randn(16, 3, dtype=dtype), torch.randn(16, 3, dtype=dtype)
    action, reward = torch.randint(0, 4, (16, 1)), torch.randn(16, dtype=dtype)
    done = torch.rand(16) < 0.25
    q = [parameter(3, 8, scale=0.5, dtype=dtype), parameter(8, 4, scale=0.5, dtype=dtype)]
    target = [p.detach().clone() for p in q]
    optimizer = optim.SGD(q, lr=0.1)

    def values(x, ps):
        return F.relu(x @ ps[0]) @ ps[1]

    for _ in range(8):
        chosen = values(s, q).gather(1, action).squeeze(1)
        with torch.no_grad():
            best, _ = values(s2, target).max(dim=1)
            goal = reward + 0.9 * torch.where(done, torch.zeros_like(best), best)
        loss = F.smooth_l1_loss(chosen, goal)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(q, 0.1)
        optimizer.step()
        for p, t in zip(q, target, strict=True):
            t.mul_(0.9).add_(p.data, alpha=0.1)
        yield loss, q[1].grad, target[1]


@program(seed=23)
def normalised_batches(dtype):
    """Batch normalisation with running statistics, dropout by hand, a residual connection."""
    gain, shift = Parameter(torch.ones(5, dtype=dtype)), Parameter(torch.zeros(5, dtype=dtype))
    w = Parameter(torch.randn(5, 5, dtype=dtype) / math.sqrt(5))
    mean, var = torch.zeros(5, dtype=dtype), torch.ones(5, dtype=dtype)
    optimizer = optim.AdamW([w, gain, shift], lr=0.01)
    for _ in range(8):
        x = torch.randn(10, 5, dtype=dtype) * 2 + 1
        h = x @ w
        v, m = torch.var_mean(h, dim=0, unbiased=False)
        with torch.no_grad():
            mean.lerp_(m, 0.1)
            var.mul_(0.9).add_(0.1 * h.var(0))
        h = (h - m) * torch.rsqrt(v + 1e-5) * gain + shift
        keep = (torch.rand(10, 5, dtype=dtype) > 0.5).to(dtype) / 0.5
        loss = (x + F.silu(h) * keep - 1).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss, mean, var, w.grad, gain.grad
    yield w, gain, shift


@program(seed=24)
def contrastive(dtype):
    """Pairs of views that shall be near each other on the sphere."""
    a, b = torch.randn(2, 6, 4, dtype=dtype)
    w, temperature = parameter(4, 3, dtype=dtype), parameter(dtype=dtype)
    for _ in range(8):
        za, zb = (a @ w), (b @ w)
        za, zb = za / za.norm(dim=1, keepdim=True), zb / zb.norm(dim=1, keepdim=True)
        logits = za @ zb.t() * temperature.exp()
        labels = torch.arange(6)
        loss = (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 2
        loss.backward()
        yield loss, w.grad, temperature.grad, logits.argmax(1)
        for p in (w, temperature):
            p.data -= 0.2 * p.grad
            p.grad = None


@program(seed=25)
def ordinary_differential_equation(dtype):
    """Runge and Kutta through a small network, differentiated through all its steps."""
    w1, w2 = parameter(2, 6, scale=0.5, dtype=dtype), parameter(6, 2, scale=0.5, dtype=dtype)

    def f(t, y):
        return torch.tanh(y @ w1 + t) @ w2

    for _ in range(5):
        y, dt, path = torch.tensor([[1.0, 0.0]], dtype=dtype), 0.2, []
        for i in range(8):
            t = i * dt
            k1 = f(t, y)
            k2 = f(t + dt / 2, y + dt / 2 * k1)
            k3 = f(t + dt / 2, y + dt / 2 * k2)
            k4 = f(t + dt, y + dt * k3)
            y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            path.append(y)
        loss = (torch.cat(path) - torch.linspace(1, 0, 8, dtype=dtype)[:, None]).square().mean()
        loss.backward()
        yield loss, y, w1.grad, w2.grad
        with torch.no_grad():
            for p in (w1, w2):
                p -= p.grad
                p.grad.zero_()


@program(seed=26)
def quantised(dtype):
    """Straight-through rounding; a learned scale; gradients reversed by a hook."""
    x, y = torch.randn(10, 3, dtype=dtype), torch.randn(10, 2, dtype=dtype)
    w, scale = parameter(3, 2, dtype=dtype), torch.tensor(0.3, dtype=dtype, requires_grad=True)
    critic = parameter(2, dtype=dtype)
    optimizer = optim.Adam([w, scale, critic], lr=0.05)
    for _ in range(8):
        z = w / scale
        q = (z + (z.round().clamp(-2, 2) - z).detach()) * scale
        features = x @ q
        reversed_ = features * 1
        reversed_.register_hook(lambda g: -0.5 * g)
        loss = F.mse_loss(features, y) + F.softplus(reversed_ @ critic).mean()
        optimizer.zero_grad()
        loss.backward()
        yield loss, w.grad, scale.grad, critic.grad, q
        optimizer.step()


@program(seed=27)
def alignment(dtype):
    """A soft minimum of paths through a table that is filled in place."""
    a, b = parameter(5, dtype=dtype), torch.randn(4, dtype=dtype)
    for _ in range(5):
        cost = (a[:, None] - b[None, :]) ** 2
        table = torch.full((6, 5), 1e6, dtype=dtype)
        table[0, 0] = 0.0
        for i in range(1, 6):
            for j in range(1, 5):
                before = torch.stack([table[i - 1, j], table[i, j - 1], table[i - 1, j - 1]])
                table[i, j] = cost[i - 1, j - 1] - 0.5 * torch.logsumexp(-before / 0.5, 0)
        (g,) = grad(table[5, 4], a)
        yield table[5, 4], g, table[1:, 1:]
        a = (a - 0.1 * g).detach().requires_grad_()


@program(seed=28)
def volume_rendering(dtype):
    """Rays through a density: transmittance by a cumulative product."""
    density, colour = parameter(4, 10, dtype=dtype), parameter(4, 10, 3, dtype=dtype)
    goal = torch.rand(4, 3, dtype=dtype)
    optimizer = optim.SGD([density, colour], lr=1.0, momentum=0.9)
    for _ in range(8):
        alpha = 1 - torch.exp(-F.softplus(density) * 0.3)
        ones = torch.ones(4, 1, dtype=dtype)
        through = torch.cumprod(torch.cat([ones, 1 - alpha + 1e-10], 1), dim=1)[:, :-1]
        weights = alpha * through
        image = torch.einsum("rs,rsc->rc", weights, torch.sigmoid(colour))
        depth = (weights * torch.arange(10, dtype=dtype)).sum(-1)
        loss = F.mse_loss(image, goal) + 1e-2 * depth.var()
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        optimizer.step()
        yield loss, depth, density.grad, image


@program()
def pendulum(dtype):
    """Motion from a Lagrangian, by its second derivatives."""
    state = torch.tensor([1.0, 0.5, 0.0, 0.2], dtype=dtype)

    def lagrangian(q, v):
        kinetic = v[0] ** 2 + 0.5 * v[1] ** 2 + v[0] * v[1] * torch.cos(q[0] - q[1])
        return kinetic + 9.8 * (2 * torch.cos(q[0]) + torch.cos(q[1]))

    for _ in range(10):
        q, v = (part.clone().requires_grad_() for part in state.split(2))
        gq, gv = grad(lagrangian(q, v), (q, v), create_graph=True)
        rows = [grad(gv[i], (q, v), retain_graph=True) for i in range(2)]
        mass, mixed = torch.stack([r[1] for r in rows]), torch.stack([r[0] for r in rows])
        force = gq.detach() - mixed @ v.detach()
        a = torch.linalg.solve(mass, force)
        state = state + 0.01 * torch.cat([v.detach(), a])
        yield mass, force, state


@program(seed=29)
def hamiltonian_monte_carlo(dtype):
    """Leapfrog steps on a mixture of two, accepted or not."""
    centres = torch.tensor([[1.0, 0.0], [-1.0, 0.5]], dtype=dtype)

    def energy(x):
        return -torch.logsumexp(-2 * ((x - centres) ** 2).sum(1), dim=0)

    x = torch.zeros(2, dtype=dtype)
    for _ in range(12):
        p = torch.randn(2, dtype=dtype)
        start = energy(x) + p @ p / 2
        y = x.clone()
        for _ in range(4):
            y.requires_grad_(True)
            p = p - 0.1 * grad(energy(y), y)[0]
            y = (y + 0.2 * p).detach().requires_grad_()
            p = p - 0.1 * grad(energy(y), y)[0]
        y = y.detach()
        accept = (start - energy(y) - p @ p / 2).exp().item()
        if torch.rand(1, dtype=dtype).item() < accept:
            x = y
        yield x, accept


@program(seed=30)
def spectral_normalisation(dtype):
    """A weight divided by its norm, which is followed by power iteration without gradients."""
    w, u = parameter(4, 3, dtype=dtype), torch.randn(4, dtype=dtype)
    x = torch.randn(8, 4, dtype=dtype)
    for _ in range(6):
        with torch.no_grad():
            v = w.t() @ u
            v /= v.norm()
            u = w @ v
            u /= u.norm()
        sigma = torch.dot(u, w.mv(v))
        loss = F.leaky_relu(x @ (w / sigma)).logsumexp(1).mean()
        (g,) = grad(loss, w)
        yield sigma, loss, g
        w.data.sub_(g)


@program(seed=31)
def convolution(dtype):
    """A convolution as unfolding and a product, pooling by the greatest, on small images."""
    images, labels = torch.randn(6, 6, 6, dtype=dtype), torch.randint(0, 2, (6,))
    kernel, bias = parameter(3, 9, scale=0.5, dtype=dtype), torch.zeros(3, dtype=dtype)
    head = parameter(12, 2, scale=0.5, dtype=dtype)
    params = [kernel, bias.requires_grad_(), head]
    optimizer = optim.Adam(params, lr=0.05, weight_decay=1e-3)
    for _ in range(8):
        patches = images.unfold(1, 3, 1).unfold(2, 3, 1).reshape(6, 16, 9)
        maps = F.relu(patches @ kernel.t() + bias).transpose(1, 2).reshape(6, 3, 2, 2, 2, 2)
        pooled = maps.permute(0, 1, 2, 4, 3, 5).flatten(4).max(dim=-1).values
        logits = pooled.flatten(1) @ head
        loss = F.cross_entropy(logits, labels, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss, kernel.grad, bias.grad, logits.argmax(1) == labels


@program(seed=32)
def gated_recurrence(dtype):
    """A gated unit on sequences of several lengths, masked."""
    x, lengths = torch.randn(3, 5, 2, dtype=dtype), torch.tensor([5, 3, 4])
    wi, wh = parameter(2, 12, scale=0.4, dtype=dtype), parameter(4, 12, scale=0.4, dtype=dtype)
    mask = torch.arange(5)[None, :] < lengths[:, None]
    for _ in range(5):
        h, outs = torch.zeros(3, 4, dtype=dtype), []
        for t in range(5):
            i, r = (x[:, t] @ wi).split(4, dim=1), (h @ wh).split(4, dim=1)
            reset, update = torch.sigmoid(i[0] + r[0]), torch.sigmoid(i[1] + r[1])
            new = torch.tanh(i[2] + reset * r[2])
            h = torch.where(mask[:, t, None], (1 - update) * new + update * h, h)
            outs.append(h)
        y = torch.stack(outs, dim=1).masked_fill(~mask[..., None], 0.0)
        loss = (y.sum(1) / lengths[:, None]).pow(2).sum() + y[mask].mean()
        gs = grad(loss, (wi, wh))
        yield loss, h, *gs
        wi, wh = (
            (p - 0.3 * g).detach().requires_grad_() for p, g in zip((wi, wh), gs, strict=True)
        )


@program(seed=33)
def transport(dtype):
    """Optimal transport with entropy, through fixed-point steps in logarithms."""
    x, y = parameter(4, 2, dtype=dtype), torch.randn(5, 2, dtype=dtype)
    for _ in range(5):
        cost = torch.sum((x[:, None] - y) ** 2, dim=-1) + 1e-12
        f, g = torch.zeros(4, dtype=dtype), torch.zeros(5, dtype=dtype)
        for _ in range(6):
            f = -0.5 * torch.logsumexp((g - cost) / 0.5 - math.log(5), dim=1)
            g = -0.5 * torch.logsumexp((f[:, None] - cost) / 0.5 - math.log(4), dim=0)
        plan = torch.exp((f[:, None] + g - cost) / 0.5) / 20
        loss = (plan * cost).sum()
        loss.backward()
        yield loss, plan.sum(0), x.grad
        x.data.add_(x.grad, alpha=-0.5)
        del x.grad


@program(seed=34)
def per_sample_gradients(dtype):
    """The gradient of each sample by itself, clipped, with noise."""
    x, y = torch.randn(6, 3, dtype=dtype), torch.randn(6, dtype=dtype)
    w = parameter(3, dtype=dtype)
    for _ in range(5):
        losses = (torch.tanh(x @ w) - y) ** 2
        eye = torch.eye(6, dtype=dtype)
        (rows,) = grad(losses, w, eye, is_grads_batched=True, retain_graph=True)
        one = torch.stack([grad(losses[i], w, retain_graph=True)[0] for i in range(6)])
        norms = torch.linalg.vector_norm(rows, dim=1, keepdim=True)
        clipped = rows * (0.5 / norms).clamp(max=1.0)
        step = clipped.mean(0) + 0.01 * torch.randn(3, dtype=dtype)
        yield losses, rows, (rows - one).abs().max() < 1e-5, norms
        with torch.no_grad():
            w -= 0.5 * step
