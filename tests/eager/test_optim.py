"""``optim``: steps to the number, groups, states and errors as PyTorch has them."""

import copy
import pickle

import pytest

from tests.eager.chosen import check, leaf, ours, torch
from tests.support.refusals import refused
from tests.support.tensor_checks import check_backward, check_leaf

optim = torch.optim

# Class, options, the parameters after three steps and after six: measured.
ROWS = [
    ("SGD", {"lr": 0.1}, "0.964214039 -1.80344129 0.977277138 1.28098839 -1.67996621 1.3094533"),
    ("SGD", {}, "0.997739932 -1.99751817 0.505731286 0.995542024 -1.99505423 0.511444962"),
    (
        "SGD",
        {"lr": 0.1, "momentum": 0.9},
        "0.895724676 -1.61390241 1.38028322 2.15700489 -1.01382076 1.96718602",
    ),
    (
        "SGD",
        {"lr": 0.1, "momentum": 0.9, "dampening": 0.5},
        "0.83169003 -1.69292285 1.21024222 1.39418801 -1.29712013 1.78432406",
    ),
    (
        "SGD",
        {"lr": 0.1, "weight_decay": 0.5},
        "0.818238203 -1.53313388 0.828052261 0.878640667 -1.21975375 0.906356094",
    ),
    (
        "SGD",
        {"lr": 0.1, "momentum": 0.5, "weight_decay": 0.25, "nesterov": True},
        "0.934989463 -1.46880952 1.07224169 1.46862165 -1.17766562 1.4609946",
    ),
    (
        "SGD",
        {"lr": 0.01, "momentum": 0.5, "weight_decay": 0.25, "maximize": True},
        "1.02436956 -2.01471805 0.413451521 1.07225809 -2.03846891 0.29698212",
    ),
    ("Adam", {}, "0.997000611 -1.99700014 0.502999835 0.99400474 -1.99400112 0.505998723"),
    ("Adam", {"lr": 0.1}, "0.754666801 -1.70292329 0.794934419 0.830917131 -1.42629115 1.05333781"),
    (
        "Adam",
        {"lr": 0.1, "betas": (0.5, 0.75), "eps": 0.1},
        "0.808802623 -1.74048119 0.774979803 0.9831563 -1.52103682 1.01323992",
    ),
    (
        "Adam",
        {"lr": 0.1, "weight_decay": 0.5},
        "0.721209437 -1.70146124 0.791397067 0.637048552 -1.41195875 0.985066006",
    ),
    (
        "Adam",
        {"lr": 0.3, "betas": (0.2, 0.3), "amsgrad": True},
        "1.16196385 -1.34132929 1.08629395 1.86860213 -1.26098263 1.7470004",
    ),
    (
        "Adam",
        {"lr": 0.1, "maximize": True, "weight_decay": 0.1},
        "1.29569868 -2.30039127 0.199531172 1.59067848 -2.60346446 -0.0997230725",
    ),
    ("AdamW", {}, "0.996970642 -1.99694018 0.502984803 0.993944894 -1.99388127 0.505968555"),
    (
        "AdamW",
        {"lr": 0.1, "weight_decay": 0.5},
        "0.626049611 -1.43267887 0.702380728 0.590559388 -0.962696 0.788969692",
    ),
    (
        "AdamW",
        {"lr": 0.3, "betas": (0.2, 0.3), "amsgrad": True, "maximize": True},
        "1.89340939 -2.88571092 -0.300113157 2.79096103 -3.73134547 -0.217274429",
    ),
]


def objective(x, y):
    """A function of a vector and a number."""
    weights = torch.tensor([1.0, 0.25], dtype=torch.float64)
    return ((x - y) ** 2 * weights + (x * y).cos()).sum()


def confirm(params, numbers):
    """The parameters are these."""
    check(torch.cat([p.reshape(-1) for p in params]), [*map(float, numbers)], rtol=1e-8)


def run(optimizer, params, steps):
    """So many steps of it."""
    for _ in range(steps):
        optimizer.zero_grad()
        objective(*params).backward()
        optimizer.step()


def pair():
    """Parameters to start from."""
    return [leaf([1.0, -2.0]), leaf(0.5)]


@pytest.mark.parametrize(("name", "options", "expected"), ROWS)
def test_steps(name, options, expected):
    """Parameters are where PyTorch has them."""
    params = pair()
    optimizer = getattr(optim, name)(params, **options)
    numbers = expected.split()
    for part in (numbers[:3], numbers[3:]):
        run(optimizer, params, 3)
        confirm(params, part)


@pytest.mark.parametrize(("name", "options", "expected"), ROWS)
def test_a_state_is_taken_over(name, options, expected):
    """A new optimiser goes on where the old one stopped; so do a copy and a pickle."""
    params = pair()
    optimizer = getattr(optim, name)(params, **options)
    run(optimizer, params, 3)
    new = [p.detach().clone().requires_grad_() for p in params]
    other = getattr(optim, name)(new, lr=100.0)
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    twin = copy.deepcopy(optimizer)
    again = pickle.loads(pickle.dumps(optimizer))
    for o in (other, twin, again):
        ps = o.param_groups[0]["params"]
        run(o, ps, 3)
        confirm(ps, expected.split()[3:])
    confirm(params, expected.split()[:3])


# Steps --------------------------------------------------------------------------------------------


def test_a_step_is_in_place():
    """The parameter stays the leaf it is; its version rises, that of the gradient does not."""
    x = leaf([1.0, 2.0])
    alias = x.detach()
    x.grad = torch.ones(2, dtype=torch.float64)
    optim.SGD([x], lr=0.5).step()
    check(alias, [0.5, 1.5])
    check_leaf(x)
    assert (x._version, x.grad._version) == (1, 0)
    optim.Adam([x]).step()
    assert (x._version, x.grad._version) == (2, 0)


def test_a_step_invalidates_what_was_saved():
    """As every change in place does."""
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    y.backward(retain_graph=True)
    optim.SGD([x], lr=0.5).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_without_a_gradient_nothing_happens():
    """None is not zero: no decay, no momentum, no state."""
    x, y = leaf(1.0), leaf(2.0)
    optimizer = optim.Adam([x, y], lr=0.1, weight_decay=0.5)
    y.grad = torch.zeros((), dtype=torch.float64)
    optimizer.step()
    check(x, 1.0)
    check(y, 1.9)
    assert x not in optimizer.state
    assert set(optimizer.state[y]) == {"step", "exp_avg", "exp_avg_sq"}


def test_single_precision():
    """States have the dtype of the parameter; the number of steps is a float32."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    optimizer = optim.Adam([x], lr=0.1, amsgrad=True)
    x.grad = torch.tensor([1.0, -1.0])
    optimizer.step()
    state = optimizer.state[x]
    assert all(t.dtype == torch.float32 for t in state.values())
    check(state["step"], 1.0)
    check(state["exp_avg"], [0.1, -0.1])
    check(state["max_exp_avg_sq"], [0.001, 0.001])
    check(x, [0.9, 2.1])


def test_closure():
    """It runs with gradients on, even where steps are made without; the step returns its result."""
    x = leaf(3.0)
    optimizer = optim.SGD([x], lr=0.25)

    def closure():
        optimizer.zero_grad()
        loss = x * x
        loss.backward()
        return loss

    with torch.no_grad():
        loss = optimizer.step(closure)
    check(loss, 9.0)
    check(x, 1.5)
    assert optimizer.step() is None
    assert torch.is_grad_enabled()


def test_zero_grad():
    """None by default; else zeros, in place and without a history."""
    x, y = leaf([1.0, 2.0]), leaf(1.0)
    optimizer = optim.SGD([x, y])
    (x**3).sum().backward(create_graph=True)
    g = x.grad
    assert g.requires_grad
    optimizer.zero_grad(set_to_none=False)
    assert x.grad is g
    assert not g.requires_grad
    check(g, [0.0, 0.0])
    assert y.grad is None
    optimizer.zero_grad()
    assert x.grad is None


def test_the_rate_may_change():
    """Groups are dictionaries that may be written to."""
    x = leaf(1.0)
    optimizer = optim.SGD([x], lr=0.1)
    x.grad = torch.ones((), dtype=torch.float64)
    optimizer.param_groups[0]["lr"] = 0.5
    optimizer.step()
    check(x, 0.5)


def test_the_rate_as_a_tensor():
    """Of one element."""
    for rate in (torch.tensor(0.5), torch.tensor([0.5])):
        x = leaf([1.0, 2.0])
        x.grad = torch.ones(2, dtype=torch.float64)
        optim.SGD([x], lr=rate).step()
        check(x, [0.5, 1.5])
        optim.Adam([x], lr=rate).step()
        check(x, [0.0, 1.0])


def test_differentiable_steps():
    """They are recorded: derivatives by the rate and by what the parameters came from."""
    x, lr = leaf([1.0, 2.0]), leaf(0.1)
    p = x.clone()
    p.grad = torch.tensor([3.0, 4.0], dtype=torch.float64)
    optim.SGD([p], lr=lr, differentiable=True).step()
    p.sum().backward()
    check(p, [0.7, 1.6])
    check(lr.grad, -7.0)
    check(x.grad, [1.0, 1.0])
    p, g = x.clone(), leaf([3.0, -4.0])
    p.grad = g.clone()
    optimizer = optim.Adam([p], lr=0.1, eps=1.0, differentiable=True)
    optimizer.step()
    check_backward(p.sum(), (g, [-0.1 / 16, -0.1 / 25]))
    p, lr = x.clone(), leaf(0.5)
    p.grad = torch.tensor([3.0, -4.0], dtype=torch.float64)
    optim.Adam([p], lr=lr, eps=1.0, differentiable=True).step()
    check_backward(p.sum(), (lr, -0.75 + 0.8))
    x.grad = x.detach().clone()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        optim.SGD([x], differentiable=True).step()


# Groups -------------------------------------------------------------------------------------------


def test_groups_have_options_of_their_own():
    """And the defaults for the others."""
    x, y, z = leaf(1.0), leaf(1.0), leaf(1.0)
    optimizer = optim.SGD([{"params": x, "lr": 0.5}, {"params": (p for p in [y])}], lr=0.1)
    optimizer.add_param_group({"params": [z], "lr": 0.25, "maximize": True})
    for p in (x, y, z):
        p.grad = torch.ones((), dtype=torch.float64)
    optimizer.step()
    check(torch.stack([x, y, z]), [0.5, 0.9, 1.25])
    assert [g["lr"] for g in optimizer.param_groups] == [0.5, 0.1, 0.25]
    assert optimizer.defaults["lr"] == 0.1


def test_named_parameters():
    """The names are kept beside them."""
    x, y = leaf(1.0), leaf(2.0)
    optimizer = optim.SGD([("x", x), ("y", y)], lr=0.1)
    group = optimizer.param_groups[0]
    assert group["params"][1] is y
    assert group["param_names"] == ["x", "y"]
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["x", "y"]
    refused(
        (
            ValueError,
            "with/without names",
            lambda: optimizer.add_param_group({"params": [leaf(3.0)]}),
        ),
        (ValueError, "Some param names are missing", lambda: optim.SGD([("x", x), y])),
    )


def test_a_state_dict():
    """Numbers in the place of the parameters."""
    x, y = leaf(1.0), leaf([2.0, 3.0])
    optimizer = optim.SGD([{"params": [x]}, {"params": [y], "lr": 3}], lr=0.1, momentum=0.9)
    y.grad = torch.ones(2, dtype=torch.float64)
    optimizer.step()
    found = optimizer.state_dict()
    options = {
        "momentum": 0.9,
        "dampening": 0,
        "weight_decay": 0,
        "nesterov": False,
        "maximize": False,
        "foreach": None,
        "differentiable": False,
        "fused": None,
    }
    assert found["param_groups"] == [
        {"lr": 0.1, **options, "params": [0]},
        {"lr": 3, **options, "params": [1]},
    ]
    assert list(found["state"]) == [1]
    check(found["state"][1]["momentum_buffer"], [1.0, 1.0])
    assert found["state"][1]["momentum_buffer"] is optimizer.state[y]["momentum_buffer"]


def test_a_state_in_another_dtype():
    """It is cast to that of the parameter, the number of steps is not."""
    x, y = leaf([1.0, 2.0]), torch.tensor([1.0, 2.0], requires_grad=True)
    optimizer = optim.Adam([x])
    x.grad = torch.ones(2, dtype=torch.float64)
    optimizer.step()
    other = optim.Adam([y], lr=7.0)
    other.load_state_dict(optimizer.state_dict())
    assert other.state[y]["exp_avg"].dtype == torch.float32
    assert other.param_groups[0]["lr"] == 0.001
    assert other.param_groups[0]["params"][0] is y


def test_the_representation():
    """The options of each group, sorted."""
    assert repr(optim.SGD([leaf(1.0)], lr=0.1)) == (
        "SGD (\nParameter Group 0\n    dampening: 0\n    differentiable: False\n"
        "    foreach: None\n    fused: None\n    lr: 0.1\n    maximize: False\n"
        "    momentum: 0\n    nesterov: False\n    weight_decay: 0\n)"
    )


def test_an_optimiser_of_ones_own():
    """A subclass with a step."""

    class Sign(optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    self.state[p]["n"] = self.state[p].get("n", 0) + 1
                    p.add_(p.grad.sign(), alpha=-group["lr"])

    x = leaf([1.0, -2.0])
    optimizer = Sign([x], 0.25)
    (x * x).sum().backward()
    optimizer.step()
    check(x, [0.75, -1.75])
    assert optimizer.state_dict()["state"] == {0: {"n": 1}}
    with pytest.raises(NotImplementedError):
        optim.Optimizer([x], {}).step()


# Errors -------------------------------------------------------------------------------------------

BAD_OPTIONS = [
    ("SGD", {"lr": -1}, "Invalid learning rate: -1"),
    ("SGD", {"momentum": -0.5}, "Invalid momentum value: -0.5"),
    ("SGD", {"weight_decay": -1}, "Invalid weight_decay value: -1"),
    ("SGD", {"nesterov": True}, "Nesterov momentum requires a momentum and zero dampening"),
    ("SGD", {"lr": torch.ones(2)}, "Tensor lr must be 1-element"),
    ("Adam", {"lr": -1.0}, "Invalid learning rate: -1.0"),
    ("Adam", {"lr": float("nan")}, "Invalid learning rate: nan"),
    ("Adam", {"eps": -1}, "Invalid epsilon value: -1"),
    ("Adam", {"betas": (1.0, 0.5)}, "Invalid beta parameter at index 0: 1.0"),
    ("Adam", {"betas": (0.5, -0.1)}, "Invalid beta parameter at index 1: -0.1"),
    ("Adam", {"betas": (0, 0.5)}, "betas must be either both floats or both Tensors"),
    ("AdamW", {"weight_decay": -1}, "Invalid weight_decay value: -1"),
]


@pytest.mark.parametrize(("name", "options", "message"), BAD_OPTIONS)
def test_bad_options(name, options, message):
    """ValueError, with what was given."""
    with pytest.raises(ValueError, match=message):
        getattr(optim, name)([leaf(1.0)], **options)


@ours
def test_nan_is_no_rate():
    """Ours: PyTorch accepts it for SGD."""
    with pytest.raises(ValueError, match="nan"):
        optim.SGD([leaf(1.0)], lr=float("nan"))


def test_bad_parameters():
    """None at all, not leaves, not tensors, not in order, twice."""
    x = leaf([1.0, 2.0])
    refused(
        (ValueError, "optimizer got an empty parameter list", lambda: optim.SGD([])),
        (TypeError, "iterable of Tensors or dicts", lambda: optim.SGD(x)),
        (ValueError, "can't optimize a non-leaf Tensor", lambda: optim.SGD([x * 2])),
        (
            TypeError,
            "can only optimize Tensors, but one of the params is flo",
            lambda: optim.SGD([1.0]),
        ),
        (
            TypeError,
            "need to be organized in ordered collections",
            lambda: optim.SGD([{"params": {x}}]),
        ),
        (
            ValueError,
            "some parameters appear in more than one parameter gro",
            lambda: optim.SGD([{"params": [x]}, {"params": [x]}]),
        ),
    )
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optim.SGD([x, x])
    with pytest.raises(TypeError, match="param_group must be a dict"):
        optim.SGD([x]).add_param_group([leaf(1.0)])
    optim.SGD([torch.ones(2)])  # that needs no gradient, yet


def test_states_that_do_not_fit():
    """As many groups, as many parameters in each."""
    x, y = leaf(1.0), leaf(2.0)
    with pytest.raises(ValueError, match="doesn't match the size of optimizer's group"):
        optim.SGD([x]).load_state_dict(optim.SGD([x, y]).state_dict())
    groups = optim.SGD([{"params": [x]}, {"params": [y]}])
    with pytest.raises(ValueError, match="a different number of parameter groups"):
        optim.SGD([x]).load_state_dict(groups.state_dict())
