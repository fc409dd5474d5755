"""Central differences as the oracle for gradients of eager programs, of first and second order."""

import numpy as np

from tests.eager.chosen import leaf, torch


def outputs(result):
    """The real results of a function that returns a tensor or several."""
    found = result if isinstance(result, tuple | list) else [result]
    return [y for y in found if y.dtype.is_floating_point]


def weights(shape, start):
    """Numbers without a pattern, for sums of all elements."""
    return np.cos(start + np.arange(int(np.prod(shape)))).reshape(shape)


def weighted(f, xs):
    """All real results in one sum."""
    ys = outputs(f(*xs))
    parts = [(y * torch.tensor(weights(y.shape, k + 1))).sum() for k, y in enumerate(ys)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def slopes(value, arrays, step=1e-5):
    """The gradient of a function of arrays by central differences."""
    result = []
    for k, a in enumerate(arrays):
        g = np.zeros(a.shape)
        for i in np.ndindex(*a.shape):
            ends = []
            for sign in (1, -1):
                moved = [np.array(b) for b in arrays]
                moved[k][i] += sign * step
                ends.append(value(moved))
            g[i] = (ends[0] - ends[1]) / (2 * step)
        result.append(g)
    return result


def gradients(f, arrays, **options):
    """Leaves, and the gradient of the weighted sum by them."""
    xs = [leaf(a) for a in arrays]
    return xs, torch.autograd.grad(weighted(f, xs), xs, **options)


def agree(f, *arrays, second=True, rtol=1e-5, atol=1e-7):
    """The gradients of ``f`` at ``arrays``, and theirs, are those of differences."""
    arrays = [np.array(a, float) for a in arrays]

    def value(moved):
        with torch.no_grad():
            return weighted(f, [torch.tensor(a) for a in moved]).item()

    xs, gs = gradients(f, arrays, create_graph=second)
    for g, expected in zip(gs, slopes(value, arrays), strict=True):
        assert tuple(g.shape) == expected.shape
        np.testing.assert_allclose(g.detach().numpy(), expected, rtol=rtol, atol=atol)
    if not second:
        return
    along = [weights(g.shape, 5 + k) for k, g in enumerate(gs)]

    def slope(moved):
        _, gs = gradients(f, moved)
        return sum(float((g.numpy() * v).sum()) for g, v in zip(gs, along, strict=True))

    expected = slopes(slope, arrays)
    moving = [g for g in gs if g.requires_grad]
    if not moving:  # a linear function
        assert all(np.abs(e).max(initial=0) < 1e-6 for e in expected)
        return
    total = sum((g * torch.tensor(v)).sum() for g, v in zip(gs, along, strict=True))
    hs = torch.autograd.grad(total, xs, allow_unused=True)
    for h, e in zip(hs, expected, strict=True):
        np.testing.assert_allclose(
            0 * e if h is None else h.clone().numpy(), e, rtol=1e-4, atol=1e-6
        )
