"""Rule 63: ``gradcheck`` and ``gradgradcheck``, themselves tested with bugs put in on purpose."""

import warnings

import numpy as np
import pytest

from tests.eager.chosen import check, leaf, ours, torch
from tests.support.refusals import refused

gradcheck = torch.autograd.gradcheck
gradgradcheck = torch.autograd.gradgradcheck

X = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]]
MISMATCH = "Jacobian mismatch for output 0 with respect to input 0"


def fails(func, inputs, match=MISMATCH, **options):
    """The check raises, and says False where it is asked to."""
    with pytest.raises(RuntimeError, match=match):
        gradcheck(func, inputs, **options)
    assert gradcheck(func, inputs, raise_exception=False, **options) is False
    return True


# What passes --------------------------------------------------------------------------------------

RIGHT = {
    "sin": torch.sin,
    "exp_sum": lambda x: x.exp().sum(),
    "softmax": lambda x: x.softmax(dim=1),
    "products": lambda x: (x @ x.t()).tanh(),
    "identity": lambda x: x,
    "view": lambda x: x.view(3, 2),
    "transposed": lambda x: x.t() * torch.arange(6, dtype=x.dtype).reshape(3, 2),
    "index": lambda x: x[:, [0, 2, 2]] ** 3,
    "logsumexp": lambda x: x.logsumexp(0),
    "in_place": lambda x: (x * 2).mul_(x).sin_(),
    "list": lambda x: [x.cos(), x.prod()],
    "empty": lambda x: x[:0] * 2,
    "where": lambda x: torch.where(x > 0, x, 2 * x),
    "max": lambda x: x.max(dim=1)[0],
    "constant_too": lambda x: (x.detach(), x * x),
    "integers_too": lambda x: (x * x, x.argmax()),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_derivatives_pass(name):
    """Rule 63: True, of both orders."""
    x = leaf(X)
    assert gradcheck(RIGHT[name], x) is True
    assert gradgradcheck(RIGHT[name], (x,)) is True
    assert x.grad is None
    check(x, X, rtol=0, atol=0)


def test_several_inputs_and_outputs():
    """Rule 63: every pair is compared; what is not a tensor, or needs no gradient, is passed on."""

    def func(a, k, b, c):
        return a * b + k, (a / c).sum(), b.cumsum(0) * k

    args = (leaf([1.0, 2.0]), 3.0, leaf([0.5, -0.5]), leaf([4.0, 5.0], requires_grad=False))
    assert gradcheck(func, args)
    assert gradcheck(func, list(args))
    assert gradgradcheck(func, args)


STRIDED = torch.arange(12, dtype=torch.float64).reshape(3, 4).t()[::2].requires_grad_()
NOTHING = torch.zeros(0, 3, dtype=torch.float64, requires_grad=True)
TWICE = leaf([1.0, 2.0])

INPUTS = {
    "a number": (torch.exp, leaf(1.5)),
    "nothing": (lambda x: x * 2, NOTHING),
    "strides": (lambda x: x**3, STRIDED),
    "three axes": (lambda x: (x**2).sum((0, 2)), leaf(np.ones((2, 3, 2)))),
    "one that is not used": (lambda a, b: a * 2, (leaf([1.0, 2.0]), leaf(3.0))),
    "one twice, moved at both places": (lambda a, b: a * b, (TWICE, TWICE)),
}


@pytest.mark.parametrize("name", INPUTS)
def test_inputs_of_every_kind_pass(name):
    """Rule 63: of any rank and layout, used or not."""
    assert gradcheck(*INPUTS[name])


def test_grad_is_left_alone():
    """Rule 63: ``.grad`` is untouched, whatever it was; and so is the version."""
    x = leaf(X)
    x.grad = torch.ones(2, 3, dtype=torch.float64)
    gradcheck(torch.sin, x)
    gradgradcheck(torch.sin, x)
    check(x.grad, np.ones((2, 3)))
    assert x._version == 0


# Kinks --------------------------------------------------------------------------------------------


def test_kinks():
    """Rule 63: differences have two sides: the mean of the slopes passes, nothing else."""
    z = leaf([0.0, 2.0])
    assert gradcheck(torch.abs, z)
    assert gradcheck(lambda x: torch.maximum(x, -x), z)
    assert fails(torch.relu, z)
    assert fails(lambda x: x.clamp(min=0), z)
    assert fails(torch.sqrt, z)  # inf and nan equal nothing


def test_what_is_said():
    """Rule 63: both Jacobians, a row for each element of the input."""
    with pytest.raises(RuntimeError) as caught:
        gradcheck(torch.relu, leaf([0.0, 2.0]))
    assert str(caught.value) == (
        "Jacobian mismatch for output 0 with respect to input 0,\n"
        "numerical:tensor([[0.5000, 0.0000],\n"
        "        [0.0000, 1.0000]], dtype=torch.float64)\n"
        "analytical:tensor([[0., 0.],\n"
        "        [0., 1.]], dtype=torch.float64)\n"
    )


def test_which_pair_is_said():
    """Rule 63: outputs and inputs are counted among those that require gradients."""

    def func(a, b, c):
        return a.detach(), a * c, a + c.relu()

    args = (leaf([1.0, 2.0]), leaf([1.0], requires_grad=False), leaf([0.0, 1.0]))
    assert fails(func, args, "output 1 with respect to input 1")


# What cannot be checked ---------------------------------------------------------------------------


def test_no_input_requires_grad():
    """Rule 63: ValueError, also with raise_exception=False."""
    for options in ({}, {"raise_exception": False}):
        with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
            gradcheck(torch.sin, torch.ones(2), **options)
        with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
            gradgradcheck(torch.sin, torch.ones(2), **options)


def test_single_precision_fails():
    """Rule 63: with the default step, and a warning; a greater step and tolerance help."""
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with pytest.warns(UserWarning, match="Input #0 requires gradient and is not a double prec"):
        assert gradcheck(torch.exp, x, raise_exception=False) is False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert gradcheck(torch.exp, x, eps=1e-2, atol=1e-2, rtol=1e-2)


def test_exceptions_of_the_function_propagate():
    """Rule 63: always, and the input is as it was."""

    def divided(x):
        return 1 / 0

    def misfitting(x):
        return x.reshape(2, 3) @ torch.ones(4, 4, dtype=x.dtype)

    x = leaf(X)
    refused(
        (ZeroDivisionError, None, lambda: gradcheck(divided, x, raise_exception=False)),
        (RuntimeError, None, lambda: gradcheck(misfitting, x, raise_exception=False)),
        (
            AttributeError,
            "requires_grad",
            lambda: gradcheck(lambda x: 3.0, x, raise_exception=False),
        ),
    )


@ours
def test_the_input_is_restored_when_a_later_call_fails():
    """Ours: PyTorch leaves the element moved."""
    calls = []

    def third(x):
        calls.append(None)
        if len(calls) == 3:
            raise KeyError("third")
        return x * 1

    x = leaf(X)
    with pytest.raises(KeyError):
        gradcheck(third, x)
    check(x, X, rtol=0, atol=0)


def test_exceptions_of_backward_propagate():
    """Rule 63: those of hooks, and of values that were changed."""

    def hooked(x):
        y = x * 2
        y.register_hook(lambda g: 1 / 0)
        return y

    def changed(x):
        y = x * x
        with torch.no_grad():
            x.add_(0)
        return y

    refused(
        (ZeroDivisionError, None, lambda: gradcheck(hooked, leaf(X), raise_exception=False)),
        (RuntimeError, "inplace", lambda: gradcheck(changed, leaf(X), raise_exception=False)),
    )


def test_expanded_inputs():
    """Rule 63: elements that share memory cannot be moved one by one."""
    x = torch.ones(1, dtype=torch.float64).expand(3).requires_grad_()
    with pytest.raises(RuntimeError, match="dimension with stride 0"):
        gradcheck(torch.sin, x, raise_exception=False)


def test_results_that_change_their_shape():
    """Rule 63: moving an input must not do that."""
    calls = []

    def shrinking(x):
        calls.append(None)
        return x[: 1 + (len(calls) % 3 == 0)] * 2

    with pytest.raises((AssertionError, RuntimeError), match=r"shape|size"):
        gradcheck(shrinking, leaf([1.0, 2.0]), raise_exception=False)


def test_no_result_requires_grad():
    """Rule 63: then the differences have to be 0."""
    x = leaf([1.0, 2.0])
    assert gradcheck(lambda x: torch.ones(2, dtype=x.dtype), x)
    assert gradcheck(lambda x: x.argmax(), x)
    zero = "Numerical gradient for function expected to be zero"
    assert fails(lambda x: x.detach() * 2, x, zero)
    with torch.no_grad():
        assert fails(torch.sin, x, zero)


@ours
def test_no_second_derivative_to_check():
    """Ours: results that require no gradients; PyTorch breaks on the missing weights."""
    assert gradgradcheck(lambda x: torch.ones(2, dtype=x.dtype), leaf([1.0]))
    assert gradcheck(lambda x: (x > 1, x * 2), leaf([1.0, 3.0]))  # and on differences of booleans


def test_options():
    """Rule 63: they are keywords."""
    x = leaf([1.0, 2.0])
    refused(
        (TypeError, None, lambda: gradcheck(torch.sin, x, 1e-6)),
        (
            AssertionError,
            "at least one of check_forward_ad or check_backward",
            lambda: gradcheck(torch.sin, x, check_backward_ad=False),
        ),
        (
            AssertionError,
            "at least one of check_fwd_over_rev or check_rev",
            lambda: gradgradcheck(
                torch.sin, x, check_rev_over_rev=False, check_undefined_grad=False
            ),
        ),
    )
    options = {"check_undefined_grad": False, "check_grad_dtypes": True, "check_batched_grad": True}
    assert gradcheck(torch.sin, x, fast_mode=True, masked=False, **options)
    assert gradgradcheck(lambda x: x.sum() * x, x, check_batched_grad=True)
    assert gradgradcheck(torch.sin, x, gen_non_contig_grad_outputs=True)


@ours
def test_forward_mode_is_not_checked():
    """Ours: there is none to check."""
    with pytest.raises(NotImplementedError):
        gradcheck(torch.sin, leaf([1.0]), check_forward_ad=True)


def test_tolerances():
    """Rule 63: |analytical - numerical| <= atol + rtol * |numerical|, by default 1e-5 and 1e-3."""

    def wrong(by):
        return lambda x: hooked(x * x, lambda g: None if g is None else g * by)

    x = leaf([1.0, 2.0])
    assert gradcheck(wrong(1.0005), x)
    assert fails(wrong(1.0005), x, rtol=1e-4)
    assert fails(wrong(1.01), x)
    assert gradcheck(wrong(1.01), x, rtol=0.02)
    assert gradcheck(wrong(1.01), x, atol=0.05)
    assert fails(lambda x: x**3, leaf([0.01]), eps=1.0)


# Bugs put in on purpose ---------------------------------------------------------------------------


def hooked(y, hook):
    y.register_hook(hook)
    return y


A = [[1.0, 2.0, -1.0], [0.5, 0.0, 3.0], [2.0, -2.0, 1.0]]

BUGS = {
    "sign": lambda x: hooked(x.sin(), lambda g: -g),
    "one_per_cent": lambda x: hooked(x.exp(), lambda g: 1.01 * g),
    "added": lambda x: hooked(x * 1, lambda g: g + 1e-3),
    "missing_factor": lambda x: (x * x.detach()).sum(1),
    "missing_term": lambda x: x.exp() / x.exp().detach().sum(),
    "transposed": lambda x: hooked((x[:, :2] @ x[:, 1:]) * 1, lambda g: g.t()),
    "flipped": lambda x: hooked(x * 2, lambda g: g.flip(0)),
    "one_element": lambda x: hooked(x * 1, lambda g: g * (torch.arange(6) != 4).reshape(2, 3)),
    "mean_for_sum": lambda x: hooked(x.expand(4, 2, 3).sum(0), lambda g: g / 4),
    "detached_half": lambda x: torch.cat([x[:1], x[1:].detach()]) ** 2,
    "wrong_index": lambda x: hooked(x[:, [0, 1]] * 1, lambda g: g[:, [1, 0]]),
}


@pytest.mark.parametrize("name", BUGS)
def test_bugs_are_found(name):
    """Rule 63: wrong signs, factors, places and missing terms."""
    fails(BUGS[name], leaf(X))


def test_a_matrix_that_is_not_transposed():
    """Rule 63: the error that square matrices hide from tests of shapes."""
    a = torch.tensor(A, dtype=torch.float64)

    def wrong(x):
        y = (x @ a).detach()
        return y + (x - x.detach()) @ a.t()  # the right value with the derivative of another

    fails(wrong, leaf(X))
    assert gradcheck(lambda x: x @ a, leaf(X))


def test_bugs_of_the_second_order():
    """Rule 63: right at first order only: gradgradcheck fails, gradcheck does not."""

    def func(x):  # sin, whose derivative is a constant to the record
        y = x.sin().detach()
        return y + (x - x.detach()) * x.detach().cos()

    x = leaf(X)
    assert gradcheck(func, x)
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        gradgradcheck(func, x)
    assert gradgradcheck(func, x, raise_exception=False) is False


def test_backward_that_differs_each_time():
    """Rule 63: within nondet_tol, by default not at all."""
    calls = []

    def func(x):
        def hook(g):
            calls.append(None)
            return None if g is None else g * (1 + 1e-9 * len(calls))

        return hooked(x * 1, hook)

    assert fails(func, leaf([1.0, 2.0]), "Backward is not reentrant")
    assert gradcheck(func, leaf([1.0, 2.0]), nondet_tol=1e-5)


def test_weights_of_gradgradcheck():
    """Rule 63: given weights; derivatives by them are checked if they require gradients."""
    x, w = leaf([1.0, 2.0]), leaf([0.5, -1.5])
    assert gradgradcheck(lambda x: x**3, x, w)
    assert gradgradcheck(lambda x: x**3, (x,), (w.detach(),))
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        gradgradcheck(lambda x: x**3, x, leaf(1.0))
    assert w.grad is None
    assert x.grad is None


# Bugs in rules of one's own -----------------------------------------------------------------------


def function(backward, forward=lambda ctx, x: x**3, **also):
    """A custom function that saves its input."""

    def saving(ctx, x):
        ctx.save_for_backward(x)
        return forward(ctx, x)

    members = {"forward": staticmethod(saving), "backward": staticmethod(backward), **also}
    return type("Custom", (torch.autograd.Function,), members).apply


def unmaterialised(ctx, x):
    ctx.set_materialize_grads(False)
    return x * 2


def two_unmaterialised(ctx, x):
    ctx.set_materialize_grads(False)
    return x * 2, x * 3


def careful(ctx, g, h):
    if g is None or h is None:
        found = (g * 2 if g is not None else None), (h * 3 if h is not None else None)
        return found[0] if h is None else found[1]
    return g * 2 + h * 3


def careless(ctx, g):
    if g is None:
        raise RuntimeError("no gradient")
    return g * 2


def test_right_custom_functions_pass():
    """Rule 63: of both orders, where backward is made of operations."""
    x = leaf(X)
    cube = function(lambda ctx, g: g * 3 * ctx.saved_tensors[0] ** 2)
    assert gradcheck(cube, x)
    assert gradgradcheck(cube, x)
    assert gradcheck(function(careful, two_unmaterialised), x)


@pytest.mark.parametrize(
    "backward",
    [
        lambda ctx, g: -g * 3 * ctx.saved_tensors[0] ** 2,
        lambda ctx, g: g * 3.03 * ctx.saved_tensors[0] ** 2,
        lambda ctx, g: g * ctx.saved_tensors[0] ** 2,
        lambda ctx, g: g * 3 * ctx.saved_tensors[0],
        lambda ctx, g: (g * 3 * ctx.saved_tensors[0] ** 2).flip(1),
        lambda ctx, g: None,
    ],
    ids=["sign", "one_per_cent", "factor", "power", "flipped", "none"],
)
def test_wrong_custom_functions_fail(backward):
    """Rule 63: the rule is what is checked."""
    fails(function(backward), leaf(X))


def test_custom_functions_that_are_right_once():
    """Rule 63: a constant in backward, and once_differentiable."""
    x = leaf(X)
    for backward in (
        lambda ctx, g: g * 3 * ctx.saved_tensors[0].detach() ** 2,
        torch.autograd.function.once_differentiable(
            lambda ctx, g: g * 3 * ctx.saved_tensors[0] ** 2
        ),
    ):
        cube = function(backward)
        assert gradcheck(cube, x)
        with pytest.raises(RuntimeError, match="Jacobian mismatch"):
            gradgradcheck(cube, x)
        assert gradgradcheck(cube, x, raise_exception=False) is False


def test_backward_that_does_not_look_at_the_gradient():
    """Rule 63: right for the weight 1 of a single element, and not for 0."""
    constant = function(lambda ctx, g: torch.full_like(g, 2.0), lambda ctx, x: x * 2)
    fails(constant, leaf([2.0]), "backward not multiplied by grad_output")


@pytest.mark.filterwarnings("ignore:Backwards compatibility")
def test_backward_that_needs_its_gradients():
    """Rule 63: with set_materialize_grads(False) it may get None; the check can be left out."""
    x = leaf(X)
    func = function(careless, unmaterialised)
    fails(func, x, "Expected backward function to handle undefined output grads")
    assert gradcheck(func, x, check_undefined_grad=False)


@pytest.mark.filterwarnings("ignore:Backwards compatibility")
def test_backward_that_makes_something_of_nothing():
    """Rule 63: where no gradient comes back, none may be made up."""
    makes = function(
        lambda ctx, g: torch.ones(2, 3, dtype=torch.float64) if g is None else g * 2, unmaterialised
    )
    fails(makes, leaf(X), "Expected all input grads to be undefined or zero")


@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_batches_that_differ():
    """Rule 63: with check_batched_grad, weights in a batch give what they give one by one."""

    def func(x):
        calls = []

        def hook(g):
            calls.append(None)
            return None if g is None else g * (1 + (len(calls) > 14))

        return hooked(x * 1, hook)

    assert gradcheck(func, leaf(X))
    with pytest.raises(RuntimeError, match="For output 0 and input 0"):
        gradcheck(func, leaf(X), check_batched_grad=True)
