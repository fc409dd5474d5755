"""Programs as textbooks and tutorials have them, with the figures they print."""

import math

import numpy as np
import pytest

from tests.eager.chosen import check, leaf, names, torch

F = torch.nn.functional

# Leaves and their records -------------------------------------------------------------------------


def test_inspection_of_leaf_and_grad_fn():
    """Rules 1, 2, 4: what a first chapter prints."""
    x = torch.tensor([2.0], requires_grad=True)
    w = torch.tensor([3.0], requires_grad=True)
    b = torch.tensor([1.0])
    y = w * x + b
    loss = (y - 5) ** 2
    assert (x.is_leaf, w.is_leaf, b.is_leaf, y.is_leaf) == (True, True, True, False)
    assert (x.grad_fn, b.grad_fn) == (None, None)
    assert names(loss) == [
        "PowBackward0",
        "SubBackward0",
        "AddBackward0",
        "MulBackward0",
        "AccumulateGrad",
        "AccumulateGrad",
    ]
    assert repr(x) == "tensor([2.], requires_grad=True)"
    assert repr(y) == "tensor([7.], grad_fn=<AddBackward0>)"
    assert repr(b) == "tensor([1.])"
    loss.backward()
    check(w.grad, [8.0])
    check(x.grad, [12.0])
    assert repr(w.grad) == "tensor([8.])"


def test_printed_product():
    """Rule 4: a printed result names its node."""
    w = torch.tensor([1.1], requires_grad=True)
    assert repr(w * 2) == "tensor([2.2000], grad_fn=<MulBackward0>)"
    assert repr(w.mean()) == "tensor(1.1000, grad_fn=<MeanBackward0>)"


def test_gradient_of_a_vector_function():
    """Rule 10: the classical first example: out = mean(3 (x + 2)²)."""
    x = torch.ones(2, 2, requires_grad=True)
    y = x + 2
    z = y * y * 3
    out = z.mean()
    check(out, 27.0)
    out.backward()
    check(x.grad, np.full((2, 2), 4.5))


def test_vector_jacobian_product_of_doublings():
    """Rule 10: y = x doubled until its norm passes 1000, with a weighted gradient."""
    x = torch.tensor([0.5, -1.0, 0.25], requires_grad=True)
    y = x * 2
    while y.data.norm() < 1000:
        y = y * 2
    v = torch.tensor([0.1, 1.0, 0.0001])
    y.backward(v)
    check(x.grad, [102.4, 1024.0, 0.1024])


def test_cubes_and_squares():
    """Rule 10: Q = 3a³ - b², external gradient of ones."""
    a = torch.tensor([2.0, 3.0], requires_grad=True)
    b = torch.tensor([6.0, 4.0], requires_grad=True)
    Q = 3 * a**3 - b**2
    Q.backward(gradient=torch.tensor([1.0, 1.0]))
    assert (9 * a**2 == a.grad).tolist() == [True, True]
    assert (-2 * b == b.grad).tolist() == [True, True]


# Weights of outputs -------------------------------------------------------------------------------


@pytest.mark.parametrize(("weights", "expected"), [((1.0, 2.0), 9.0), ((1.0, 3.0), 11.0)])
def test_weighted_gradient_of_concatenated_outputs(weights, expected):
    """Rule 10: w = 1, x = 2, a = w + x, b = w + 1, y0 = ab, y1 = a + b."""
    w = torch.tensor([1.0], requires_grad=True)
    x = torch.tensor([2.0], requires_grad=True)
    a = torch.add(w, x)
    b = torch.add(w, 1)
    y0 = torch.mul(a, b)
    y1 = torch.add(a, b)
    loss = torch.cat([y0, y1], dim=0)
    loss.backward(gradient=torch.tensor(weights))
    check(w.grad, [expected])
    check(x.grad, [2.0 + weights[1]])


def test_product_of_sums():
    """Rule 11: y = (x + w)(w + 1): dy/dw = 5, and 10 after a second pass without zeroing."""
    w = torch.tensor([1.0], requires_grad=True)
    x = torch.tensor([2.0], requires_grad=True)
    a, b = w + x, w + 1
    y = a * b
    y.backward(retain_graph=True)
    check(w.grad, [5.0])
    y.backward()
    check(w.grad, [10.0])
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        y.backward()


def test_gradients_of_all_nodes():
    """Rules 9, 31: with retain_grad on what lies between."""
    w = torch.tensor([1.0], requires_grad=True)
    x = torch.tensor([2.0], requires_grad=True)
    a = w + x
    a.retain_grad()
    b = w + 1
    y = a * b
    y.backward()
    assert [t.is_leaf for t in (w, x, a, b, y)] == [True, True, False, False, False]
    check(a.grad, [2.0])
    check(x.grad, [2.0])
    with pytest.warns(UserWarning, match="leaf"):
        assert b.grad is None


def test_second_derivative_of_a_square():
    """Rule 20: through create_graph: 2x = 6, then 2."""
    x = torch.tensor([3.0], requires_grad=True)
    y = torch.pow(x, 2)
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    check(first, [6.0])
    assert first.grad_fn is not None
    (second,) = torch.autograd.grad(first, x)
    check(second, [2.0])


def test_node_of_a_gradient():
    """Rule 4: the gradient of a pointwise operation under create_graph is a MulBackward0."""
    x = torch.tensor([3.0], requires_grad=True)
    (first,) = torch.autograd.grad(x**2, x, create_graph=True)
    assert first.grad_fn.name() == "MulBackward0"
    (cosine,) = torch.autograd.grad(torch.sin(x), x, create_graph=True)
    assert cosine.grad_fn.name() == "MulBackward0"


def test_gradients_are_not_zeroed():
    """Rule 11: a loop that forgets to zero, and one that does not."""
    w, x = torch.tensor([1.0], requires_grad=True), torch.tensor([2.0], requires_grad=True)
    seen = []
    for _ in range(4):
        y = (w + x) * (w + 1)
        y.backward()
        seen.append(w.grad.item())
    assert seen == [5.0, 10.0, 15.0, 20.0]
    w.grad.zero_()
    seen.clear()
    for _ in range(3):
        ((w + x) * (w + 1)).backward()
        seen.append(w.grad.item())
        w.grad.zero_()
    assert seen == [5.0, 5.0, 5.0]


def test_dependent_nodes_require_grad():
    """Rule 1: what depends on a leaf that requires grad does so too."""
    w, x = torch.tensor([1.0], requires_grad=True), torch.tensor([2.0], requires_grad=True)
    a, b = torch.add(w, x), torch.add(w, 1)
    assert a.requires_grad
    assert b.requires_grad
    assert torch.mul(a, b).requires_grad


def test_leaf_in_place_is_refused():
    """Rule 33: and identity shows what is in place."""
    w = torch.tensor([1.0], requires_grad=True)
    with pytest.raises(
        RuntimeError, match="a leaf Variable that requires grad is being used in an in-place"
    ):
        w.add_(1)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        w += 1
    a = torch.ones(1)
    same = a
    a += torch.ones(1)
    assert a is same
    a = a + torch.ones(1)
    assert a is not same


# Cutting the record -------------------------------------------------------------------------------


def test_value_cut_by_no_grad():
    """Rule 27: y1 = x², y2 = x³ under no_grad, y3 = y1 + y2: the gradient is 2 and not 5."""
    x = torch.tensor(1.0, requires_grad=True)
    y1 = x**2
    with torch.no_grad():
        y2 = x**3
    y3 = y1 + y2
    assert (x.requires_grad, y1.requires_grad, y2.requires_grad, y3.requires_grad) == (
        True,
        True,
        False,
        True,
    )
    y3.backward()
    check(x.grad, 2.0)
    with pytest.raises(RuntimeError, match="does not require grad and does not have a grad_fn"):
        y2.backward()


def test_changing_values_through_data():
    """Rule 29: x.data *= 100 changes the value and not the record."""
    x = torch.ones(1, requires_grad=True)
    assert not x.data.requires_grad
    y = 2 * x
    x.data *= 100
    y.backward()
    check(x, [100.0])
    check(x.grad, [2.0])


def test_detach_in_a_truncated_recurrence():
    """Rule 29: truncated backpropagation through time."""
    w, h, total = leaf(0.5), torch.zeros((), dtype=torch.float64), 0.0
    for i in range(4):
        if i == 2:
            h = h.detach()
        h = (w * h + 1).tanh()
        total = total + h
    total.backward()

    def run(v):
        h, total, d, dtotal = 0.0, 0.0, 0.0, 0.0
        for i in range(4):
            if i == 2:
                d = 0.0
            z = v * h + 1
            d = (1 - math.tanh(z) ** 2) * (h + v * d)
            h = math.tanh(z)
            total, dtotal = total + h, dtotal + d
        return dtotal

    check(w.grad, run(0.5))


# Jacobian products --------------------------------------------------------------------------------


def test_jacobian_products_on_eye():
    """Rules 10, 11: (x + 1)² with a gradient of ones, three times, and after zeroing."""
    inp = torch.eye(4, 5, requires_grad=True)
    out = (inp + 1).pow(2).t()
    out.backward(torch.ones_like(out), retain_graph=True)
    first = 2.0 * np.ones((4, 5)) + 2.0 * np.eye(4, 5)
    check(inp.grad, first)
    out.backward(torch.ones_like(out), retain_graph=True)
    check(inp.grad, 2 * first)
    inp.grad.zero_()
    out.backward(torch.ones_like(out), retain_graph=True)
    check(inp.grad, first)


def test_jacobian_products_on_eye_5():
    """Rules 10, 11: the same on eye(5), as printed: 4 on the diagonal and 2 elsewhere."""
    inp = torch.eye(5, requires_grad=True)
    out = (inp + 1).pow(2)
    out.backward(torch.ones_like(inp), retain_graph=True)
    check(inp.grad, 2.0 + 2.0 * np.eye(5))
    assert repr(inp.grad) == (
        "tensor([[4., 2., 2., 2., 2.],\n"
        "        [2., 4., 2., 2., 2.],\n"
        "        [2., 2., 4., 2., 2.],\n"
        "        [2., 2., 2., 4., 2.],\n"
        "        [2., 2., 2., 2., 4.]])"
    )
    out.backward(torch.ones_like(inp), retain_graph=True)
    check(inp.grad, 4.0 + 4.0 * np.eye(5))
    inp.grad.zero_()
    out.backward(torch.ones_like(inp), retain_graph=True)
    check(inp.grad, 2.0 + 2.0 * np.eye(5))


def test_linear_layer_with_cross_entropy():
    """Rules 2, 10: z = xw + b with binary_cross_entropy_with_logits."""
    torch.manual_seed(0)
    x, y = torch.ones(5), torch.zeros(3)
    w = torch.randn(5, 3, requires_grad=True)
    b = torch.randn(3, requires_grad=True)
    z = torch.matmul(x, w) + b
    loss = F.binary_cross_entropy_with_logits(z, y)
    assert loss.grad_fn.name() == "BinaryCrossEntropyWithLogitsBackward0"
    assert z.grad_fn.name() == "AddBackward0"
    loss.backward()
    sigmoid = 1 / (1 + np.exp(-z.detach().numpy().astype(float)))
    check(b.grad, sigmoid / 3)
    check(w.grad, np.tile(sigmoid / 3, (5, 1)))
    assert z.requires_grad
    with torch.no_grad():
        assert not (torch.matmul(x, w) + b).requires_grad
    assert not z.detach().requires_grad


def test_jacobian_row_by_row():
    """Rule 20: rows of a Jacobian from unit vectors."""
    x = leaf([1.0, 2.0, 3.0])
    y = torch.stack([x[0] * x[1], x[1] * x[2], x.sum() ** 2])
    rows = [torch.autograd.grad(y, x, e, retain_graph=True)[0] for e in torch.eye(3).double()]
    check(torch.stack(rows), [[2.0, 1.0, 0.0], [0.0, 3.0, 2.0], [12.0, 12.0, 12.0]])


def test_hessian_row_by_row():
    """Rule 20: a Hessian from two passes."""
    x = leaf([1.0, 2.0])
    y = x[0] ** 2 * x[1] + torch.sin(x[1])
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    H = torch.stack([torch.autograd.grad(gi, x, retain_graph=True)[0] for gi in g])
    check(H, [[4.0, 2.0], [2.0, -np.sin(2.0)]])


# Training by hand ---------------------------------------------------------------------------------


def _line():
    X = torch.linspace(-1, 1, 20, dtype=torch.float64).reshape(-1, 1)
    return X, 3 * X - 0.5


def test_linear_regression():
    """Rules 27, 33: updates under no_grad, gradients zeroed."""
    X, Y = _line()
    w = torch.zeros(1, 1, dtype=torch.float64, requires_grad=True)
    b = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    for _ in range(300):
        loss = ((X @ w + b - Y) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            w -= 0.3 * w.grad
            b -= 0.3 * b.grad
        w.grad.zero_()
        b.grad.zero_()
    check(w, [[3.0]], atol=1e-6)
    check(b, [-0.5], atol=1e-6)
    assert loss.item() < 1e-12
    assert w.is_leaf
    assert w.requires_grad


def test_linear_regression_figures():
    """Rule 10: the first steps of the loop, to the digit."""
    X = torch.tensor([1.0, 2.0, 3.0, 4.0])
    Y = torch.tensor([2.0, 4.0, 6.0, 8.0])
    w = torch.tensor(0.0, requires_grad=True)
    losses, weights = [], []
    for _ in range(3):
        loss = ((w * X - Y) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            w -= 0.01 * w.grad
        w.grad = None
        losses.append(loss.item())
        weights.append(w.item())
    np.testing.assert_allclose(losses, [30.0, 21.675, 15.6601877], rtol=1e-6)
    np.testing.assert_allclose(weights, [0.3, 0.555, 0.77175], rtol=1e-6)


def test_logistic_regression():
    """Rule 11: separates two clouds; the loss falls."""
    torch.manual_seed(1)
    n = 40
    X = torch.cat([torch.randn(n, 2) + 2.0, torch.randn(n, 2) - 2.0])
    Y = torch.cat([torch.ones(n), torch.zeros(n)])
    w = torch.zeros(2, requires_grad=True)
    b = torch.zeros(1, requires_grad=True)
    losses = []
    for _ in range(60):
        p = torch.sigmoid(X @ w + b)
        loss = F.binary_cross_entropy(p, Y)
        losses.append(loss.item())
        gw, gb = torch.autograd.grad(loss, (w, b))
        with torch.no_grad():
            w -= gw
            b -= gb
    assert abs(losses[0] - math.log(2)) < 1e-6
    assert losses[-1] < 0.1
    assert ((X @ w + b > 0).float() == Y).float().mean().item() > 0.95


def test_polynomial_fit_to_sin():
    """Rules 27, 11: y = a + bx + cx² + dx³ fitted to sin on [-π, π]."""
    x = torch.linspace(-math.pi, math.pi, 200, dtype=torch.float64)
    y = torch.sin(x)
    a, b, c, d = (leaf(v) for v in (0.5, -0.3, 0.2, 0.1))
    rate, losses = 1e-5, []
    for _ in range(1000):
        y_pred = a + b * x + c * x**2 + d * x**3
        loss = (y_pred - y).pow(2).sum()
        losses.append(loss.item())
        loss.backward()
        with torch.no_grad():
            for p in (a, b, c, d):
                p -= rate * p.grad
                p.grad = None
    assert losses[-1] < losses[0] / 100
    design = np.stack([x.numpy() ** k for k in range(4)], 1)
    p = np.array([0.5, -0.3, 0.2, 0.1])
    for _ in range(1000):
        p = p - rate * 2 * design.T @ (design @ p - y.numpy())
    check(torch.stack([a, b, c, d]), p)


def test_two_layer_network():
    """Rule 35: hidden layer with relu by clamp, gradients against NumPy by hand."""
    rng = np.random.default_rng(0)
    X, Y, A, B = (rng.standard_normal(s) for s in ((6, 4), (6, 2), (4, 5), (5, 2)))
    w1, w2 = leaf(A.tolist()), leaf(B.tolist())
    h = torch.tensor(X).mm(w1)
    relu = h.clamp(min=0)
    loss = (relu.mm(w2) - torch.tensor(Y)).pow(2).sum()
    loss.backward()
    r = np.maximum(X @ A, 0)
    g = 2 * (r @ B - Y)
    check(w2.grad, r.T @ g)
    check(w1.grad, X.T @ (g @ B.T * (X @ A > 0)))


def test_momentum():
    """Rule 32: buffers updated in place under no_grad."""
    w = leaf([4.0, -2.0])
    buffer = torch.zeros_like(w)
    for _ in range(200):
        (w**2).sum().backward()
        with torch.no_grad():
            buffer.mul_(0.9).add_(w.grad)
            w.sub_(buffer, alpha=0.05)
            w.grad.zero_()
    check(w, [0.0, 0.0], atol=1e-3)
    assert not buffer.requires_grad


def test_accumulation_over_mini_batches():
    """Rule 11: equals the full batch, and frees each record."""
    rng = np.random.default_rng(1)
    X, Y = torch.tensor(rng.standard_normal((12, 3))), torch.tensor(rng.standard_normal((12, 1)))
    w = leaf([[0.1], [0.2], [0.3]])
    (((X @ w).tanh() - Y) ** 2).mean().backward()
    full = w.grad.clone()
    w.grad = None
    for x, y in zip(X.split(4), Y.split(4), strict=True):
        loss = (((x @ w).tanh() - y) ** 2).mean() / 3
        loss.backward()
    check(w.grad, full.tolist(), rtol=1e-12)


def test_accumulation_by_retained_graph_equals_separate_records():
    """Rule 13: two losses over a shared part, in one pass, or in two with retain_graph."""
    x = leaf([1.0, 2.0])
    h = (x * x).exp()
    a, b = h.sum(), (h * 3).prod()
    a.backward(retain_graph=True)
    b.backward()
    two = x.grad.clone()
    x.grad = None
    h = (x * x).exp()
    (h.sum() + (h * 3).prod()).backward()
    check(x.grad, two.tolist())


def test_frozen_parameters():
    """Rule 1: requires_grad_(False) on a layer: no gradient there, and no work below."""
    frozen, top = leaf([[1.0, 2.0], [3.0, 4.0]]), leaf([[1.0], [1.0]])
    frozen.requires_grad_(False)
    h = torch.ones(1, 2).double() @ frozen
    assert not h.requires_grad
    (h @ top).sum().backward()
    assert frozen.grad is None
    check(top.grad, [[4.0], [6.0]])
    frozen.requires_grad_(True)
    (torch.ones(1, 2).double() @ frozen @ top).sum().backward()
    check(frozen.grad, [[1.0, 1.0], [1.0, 1.0]])


def test_retain_graph_in_a_loop():
    """Rule 13: a loop that extends one record must retain it."""
    x = leaf(1.5)
    h, total = x, 0.0
    for n in range(1, 5):
        h = h * x
        h.backward(retain_graph=True)
        total += (n + 1) * 1.5**n
        check(x.grad, total)


def test_gradient_clipping_by_hook():
    """Rule 40: a hook that clamps each element."""
    w = leaf([1.0, -1.0, 1.0])
    w.register_hook(lambda g: g.clamp(-0.5, 0.5))
    (w * torch.tensor([10.0, 0.3, -7.0]).double()).sum().backward()
    check(w.grad, [0.5, 0.3, -0.5])


def test_gradient_clipping_by_norm():
    """Rule 32: gradients scaled in place before the step."""
    w, v = leaf([3.0]), leaf([4.0])
    (w * 3 + v * 4).backward()
    total = torch.sqrt(w.grad.pow(2).sum() + v.grad.pow(2).sum())
    check(total, 5.0)
    for p in (w, v):
        p.grad.mul_(1.0 / total)
    check(w.grad, [0.6])
    check(v.grad, [0.8])


def test_hooks_that_record_gradients():
    """Rule 40: gradients of intermediate results, without retain_grad."""
    x, grads = leaf([1.0, 2.0]), {}
    y = x * x
    y.register_hook(lambda g: grads.update(y=g))
    z = y.sum()
    z.register_hook(lambda g: grads.update(z=g))
    (z * 2).backward()
    check(grads["y"], [2.0, 2.0])
    check(grads["z"], 2.0)


# Higher order -------------------------------------------------------------------------------------


def test_taylor_coefficients():
    """Rule 20: of exp(sin x) at 0: 1, 1, 1/2, 0, -1/8, -1/15, -1/240."""
    x = leaf(0.0)
    y, found = torch.exp(torch.sin(x)), []
    for n in range(7):
        found.append(y.item() / math.factorial(n))
        if n < 6:
            (y,) = torch.autograd.grad(y, x, create_graph=True)
    np.testing.assert_allclose(found, [1, 1, 0.5, 0, -1 / 8, -1 / 15, -1 / 240], atol=1e-12)


def test_derivatives_of_tanh():
    """Rule 20: four orders of tanh at 0.5."""
    x = leaf(0.5)
    y, t = torch.tanh(x), math.tanh(0.5)
    expected = [1 - t**2, -2 * t * (1 - t**2), -2 * (1 - t**2) * (1 - 3 * t**2),
                8 * t * (1 - t**2) * (2 - 3 * t**2)]  # fmt: skip
    for e in expected:
        (y,) = torch.autograd.grad(y, x, create_graph=True)
        check(y, e)


def test_newton_step():
    """Rule 20: a minimum by Newton's method on second derivatives."""
    x = leaf(3.0)
    for _ in range(8):
        f = x**4 - 3 * x**3 + 2
        (g,) = torch.autograd.grad(f, x, create_graph=True)
        (h,) = torch.autograd.grad(g, x)
        with torch.no_grad():
            x -= g / h
    check(x, 2.25)


def test_gradient_penalty():
    """Rules 11, 20: the squared norm of a gradient as part of a loss."""
    x, w = leaf([1.0, 2.0]), leaf([0.5, -1.0])
    y = (w * x).sum().tanh()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    loss = y + (g * g).sum()
    loss.backward()
    u, s = np.array([0.5, -1.0]), -1.5
    t = math.tanh(s)
    d = 1 - t * t
    k = np.array([1.0, 2.0])
    check(w.grad, d * k + 2 * d * d * u + 2 * (u @ u) * d * (-2 * t * d) * k)


def test_hessian_vector_product():
    """Rule 20: grad of (grad · v)."""
    x = leaf([1.0, 2.0, 3.0])
    v = torch.tensor([1.0, 0.0, -1.0]).double()
    f = (x**3).sum() + x[0] * x[2]
    (g,) = torch.autograd.grad(f, x, create_graph=True)
    (hv,) = torch.autograd.grad(g @ v, x)
    check(hv, [6.0 - 1.0, 0.0, 1.0 - 18.0])


def test_backward_through_an_inner_update():
    """Rule 20: meta-learning: the gradient of the loss after a step of descent."""
    w = leaf(2.0)
    (g,) = torch.autograd.grad(w**3, w, create_graph=True)
    stepped = w - 0.1 * g
    (stepped**2).backward()
    check(w.grad, 2 * (2.0 - 0.1 * 12.0) * (1 - 0.1 * 12.0))


# Odds and ends of tutorials -----------------------------------------------------------------------


def test_control_flow():
    """Rule 2: the record follows what ran."""
    a = torch.tensor(0.75, requires_grad=True)
    b = a * 2
    while b.norm() < 1000:
        b = b * 2
    c = b if b.sum() > 0 else 100 * b
    c.backward()
    assert (a.grad == c / a).item()


def test_gradient_of_a_dot_product():
    """Rule 11: y = 2 x·x has gradient 4x; then the sum, after zeroing."""
    x = torch.arange(4.0, requires_grad=True)
    y = 2 * torch.dot(x, x)
    y.backward()
    check(x.grad, [0.0, 4.0, 8.0, 12.0])
    assert (x.grad == 4 * x).all()
    x.grad.zero_()
    x.sum().backward()
    check(x.grad, [1.0] * 4)
    x.grad.zero_()
    y = x * x
    u = y.detach()
    (u * x).sum().backward()
    assert (x.grad == u).all()
    x.grad.zero_()
    y.sum().backward()
    assert (x.grad == 2 * x).all()


def test_softmax_regression_gradient():
    """Rule 10: cross entropy of logits: softmax minus one-hot, over n."""
    logits = leaf([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]])
    target = torch.tensor([2, 0])
    loss = F.cross_entropy(logits, target)
    loss.backward()
    p = np.exp(logits.detach().numpy())
    p /= p.sum(1, keepdims=True)
    one_hot = np.eye(3)[[2, 0]]
    check(logits.grad, (p - one_hot) / 2)
    check(loss, -(np.log(p) * one_hot).sum() / 2)


def test_embedding_rows():
    """Rule 38: indexing a table: repeated rows add up, unused rows get 0."""
    table = leaf([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    rows = table[torch.tensor([0, 2, 2])]
    (rows * torch.tensor([[1.0], [2.0], [3.0]]).double()).sum().backward()
    check(table.grad, [[1.0, 1.0], [0.0, 0.0], [5.0, 5.0]])


def test_recurrent_network():
    """Rule 11: one weight used at every step."""
    W, h = leaf([[0.5, -0.2], [0.1, 0.3]]), torch.ones(2).double()
    for _ in range(3):
        h = torch.tanh(W @ h)
    h.sum().backward()
    base = W.detach().numpy()

    def run(M):
        v = np.ones(2)
        for _ in range(3):
            v = np.tanh(M @ v)
        return v.sum()

    expected = np.zeros((2, 2))
    for i in range(2):
        for j in range(2):
            d = np.zeros((2, 2))
            d[i, j] = 1e-6
            expected[i, j] = (run(base + d) - run(base - d)) / 2e-6
    check(W.grad, expected, rtol=1e-6)


def test_attention():
    """Rule 10: scaled dot products with a causal mask; against finite differences."""
    rng = np.random.default_rng(2)
    Q, K, V = (leaf(rng.standard_normal((3, 2)).tolist()) for _ in range(3))
    mask = torch.triu(torch.ones(3, 3), diagonal=1).bool()

    def attend(Q, K, V):
        scores = (Q @ K.transpose(-2, -1)) / math.sqrt(2)
        return scores.masked_fill(mask, float("-inf")).softmax(dim=-1) @ V

    y = (attend(Q, K, V) ** 2).sum()
    y.backward()
    for t in (Q, K, V):
        for i in range(3):
            for j in range(2):
                with torch.no_grad():
                    t[i, j] += 1e-6
                    up = (attend(Q, K, V) ** 2).sum().item()
                    t[i, j] -= 2e-6
                    down = (attend(Q, K, V) ** 2).sum().item()
                    t[i, j] += 1e-6
                np.testing.assert_allclose(t.grad[i, j].item(), (up - down) / 2e-6, atol=1e-6)


def test_layer_normalisation():
    """Rule 11: the gradient of a normalised row is orthogonal to ones and to the row."""
    x = leaf([[1.0, 2.0, 4.0], [0.0, -1.0, 5.0]])
    mean = x.mean(dim=1, keepdim=True)
    var = x.var(dim=1, keepdim=True, unbiased=False)
    y = (x - mean) / torch.sqrt(var)
    (y * torch.tensor([1.0, -2.0, 3.0]).double()).sum().backward()
    check(x.grad.sum(1), [0.0, 0.0], atol=1e-12)
    check((x.grad * y).sum(1), [0.0, 0.0], atol=1e-12)


def test_backward_twice_with_fresh_records():
    """Rule 13: recomputing is no second time."""
    x = leaf(2.0)
    for _ in range(3):
        (x * x).backward()
    check(x.grad, 12.0)


def test_variable():
    """Rule 1: the old name for a tensor that records."""
    x = torch.autograd.Variable(torch.ones(2), requires_grad=True)
    assert isinstance(x, torch.Tensor)
    (x * 3).sum().backward()
    check(x.grad, [3.0, 3.0])
