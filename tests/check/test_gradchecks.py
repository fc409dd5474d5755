"""``nm.check.gradcheck`` and ``gradgradcheck``: planted bugs fail, what is right passes."""

import warnings
import zlib

import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from tests.eager import op_table
from tests.eager.chosen import leaf
from tests.support.budget import FUZZ
from tests.support.refusals import refused

gradcheck, gradgradcheck = nm.check.gradcheck, nm.check.gradgradcheck

X = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]]
DTYPES = [nm.float64, nm.float32]
BY = 5e-4  # what autograd.gradcheck lets pass


def custom(forward, backward, backward_twice=None):
    """A custom function that saves its input, and by default differentiates its backward."""

    def saving(ctx, x):
        ctx.save_for_backward(x)
        return forward(x)

    def pulled(ctx, g):
        return backward(ctx.saved_tensors[0], g)

    members = {"forward": staticmethod(saving), "backward": staticmethod(pulled)}
    return type("Custom", (nm.autograd.Function,), members).apply


def fails(func, inputs, match="Jacobian mismatch", check=gradcheck, **options):
    with pytest.raises(nm.check.GradcheckError, match=match):
        check(func, inputs, **options)
    assert check(func, inputs, raise_exception=False, **options) is False
    return True


# What passes --------------------------------------------------------------------------------------

RIGHT = {
    "sin": (nm.sin, X),
    "exp": (nm.exp, X),
    "tanh, its tail too": (nm.tanh, [0.0, 0.5, 3.0, 5.0, 7.0, 9.0]),
    "sum of tanh": (lambda x: nm.tanh(x).sum(), [0.0, 0.5, 5.0, 7.0]),
    "softmax": (lambda x: x.softmax(1), X),
    "sum of softmax": (lambda x: x.softmax(1).sum(), X),
    "matmul": (lambda x: x @ x.t(), X),
    "norm": (nm.norm, X),
    "std": (lambda x: x.std(), X),
    "logsumexp": (lambda x: x.logsumexp(0), X),
    "times a million": (lambda x: 1e6 * x, X),
    "times a millionth": (lambda x: 1e-6 * x, X),
    "both": (lambda x: (1e6 * x).sin() * 1e-6, [0.5, 1.0]),
    "small inputs": (lambda x: x.exp() * x.cos(), [1e-8, -3e-8]),
    "large inputs": (lambda x: x.log() + 1 / x, [1e8, 3e8]),
    "inputs of all sizes": (lambda x: x * x + x.log(), [1e-8, 1e-3, 1.0, 1e4]),
    "squares of large inputs": (lambda x: x * x, [1e8, 3e-8]),
    "roots near 0": (nm.sqrt, [1e-10, 1e-3, 2.0]),
    "beside kinks": (nm.relu, [1e-9, -1e-9, 1e-3, 2.0]),
    "maximum": (lambda x: nm.maximum(x, 0.4999 + 0 * x), X),
    "product with zeros": (lambda x: x.prod(), [0.0, 2.0, 3.0]),
    "constants among the results": (lambda x: (x * 2, nm.ones(2)), X),
    "integers among the results": (lambda x: (x * x, x.argmax()), X),
    "rounded inside": (lambda x: (x + 1e4) - 1e4 + x * x, X),
    "nothing": (lambda x: x[:0] * 2, X),
    "views": (lambda x: x.t()[1:] ** 3, X),
    "a large constant": (lambda x: x.sin() + 1e6, X),
}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", RIGHT)
def test_right_derivatives_pass(name, dtype):
    func, at = RIGHT[name]
    x = leaf(at, dtype=dtype)
    before = x.detach().numpy().copy()
    assert gradcheck(func, x) is True
    assert np.array_equal(x.detach().numpy(), before)
    assert x.grad is None


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ["sin", "softmax", "matmul", "norm", "sum of tanh", "views"])
def test_right_second_derivatives_pass(name, dtype):
    func, at = RIGHT[name]
    assert gradgradcheck(func, leaf(at, dtype=dtype)) is True


def test_what_takes_single_precision_only_passes():
    """The noise of its values is measured."""

    def single(x):
        if x.dtype != nm.float32:
            raise TypeError("float32 only")
        return nm.sin(x)

    assert gradcheck(single, leaf([0.5, 2.0, -1.0], dtype=nm.float32))
    inside = custom(lambda x: x.float().sin().to(x.dtype), lambda x, g: g * x.cos())
    assert gradcheck(inside, leaf([0.5, 2.0, -1.0]))
    assert gradcheck(inside, leaf([0.5, 2.0, -1.0], dtype=nm.float32))


# Rows whose recorded derivatives are not those of their values, and why.
OTHERWISE = {
    "ties": "they are moved as if by a gradient that the values do not have",
    "float16": "rounds to half precision inside: its values are stairs",
    "half": "the same",
    "type mixed": "the same",
    "0-d": "the same",
    "through int": "rounds to integers",
    "pinv rtol": "the formula of the full rank, while singular values are cut off",
    "pinv atol": "the same",
    "pinv both": "the same",
    "pinv hermitian": "the same",
    "F.binary_cross_entropy ends": "at 0 and 1, where the gradient is cut off",
    "F.binary_cross_entropy weight": "weights get no second derivatives",
    "F.binary_cross_entropy_with_logits": "weights get no derivatives",
    "F.cross_entropy weight": "the same",
    "F.cross_entropy smoothing weight": "the same",
    "logit eps": "an element at the bound, where the derivative jumps",
}
DIFFERENTIABLE = [
    row
    for row in op_table.ROWS
    if row.orders
    and any(o.domain not in ("int", "bool") for o in row.operands)
    and row.name not in ("long", "int", "bool")  # whose results are integers
    and not any(name in row.name for name in OTHERWISE)
]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_no_false_alarm_for_the_operations(dtype):
    """All of the table under the fuzz profile, a sixth of it else; and half of that twice."""
    checked = 0
    for row in DIFFERENTIABLE:
        place = zlib.crc32(row.name.encode())
        if not FUZZ and place % 6:
            continue
        case = row.cases[0]
        arrays = op_table.arrays_of(row, case)

        def func(*xs, row=row):
            return tuple(op_table.listed(row.call(nm, *xs)))

        with warnings.catch_warnings():
            warnings.filterwarnings("error", "gradcheck")
            args = op_table.tensors_of(arrays, case, dtype, nm, 1)
            assert gradcheck(func, tuple(args)), row.name
            if row.orders > 1 and (FUZZ or not place % 36):
                assert gradgradcheck(func, tuple(args)), row.name
        checked += 1
    assert checked > (600 if FUZZ else 80)


# What fails ---------------------------------------------------------------------------------------


def hooked(y, hook):
    y.register_hook(lambda g: None if g is None else hook(g))
    return y


def dead_tail(x, g):
    return g * nm.where(x.abs() > 4, 0 * x, 1 - x.tanh() ** 2)


BUGS = {
    "0.05 % of sin": (lambda x: hooked(x.sin(), lambda g: (1 + BY) * g), X),
    "-0.05 % of exp": (custom(nm.exp, lambda x, g: (1 - BY) * g * x.exp()), X),
    "0.05 % of one element": (
        lambda x: hooked(
            x * 1, lambda g: g * (1 + BY * (nm.arange(6) == 4).reshape(2, 3).to(g.dtype))
        ),
        X,
    ),
    "0.05 % of a sum": (lambda x: hooked(x * 1, lambda g: (1 + BY) * g).exp().sum(), X),
    "tanh without its tail": (custom(nm.tanh, dead_tail), [0.5, 4.5, 6.0]),
    "a sum of tanh without its tail": (
        lambda x: custom(nm.tanh, dead_tail)(x).sum(),
        [0.5, -0.25, 4.5],
    ),
    "sign": (lambda x: hooked(x.sin(), lambda g: -g), X),
    "added": (lambda x: hooked(x * 1, lambda g: g + 1e-3), X),
    "missing factor": (lambda x: (x * x.detach()).sum(1), X),
    "missing term": (lambda x: x.exp() / x.exp().detach().sum(), X),
    "transposed": (lambda x: hooked((x[:, :2] @ x[:, 1:]) * 1, lambda g: g.t()), X),
    "flipped": (lambda x: hooked(x * 2, lambda g: g.flip(0)), X),
    "mean for sum": (lambda x: hooked(x.expand(4, 2, 3).sum(0), lambda g: g / 4), X),
    "detached half": (lambda x: nm.cat([x[:1], x[1:].detach()]) ** 2, X),
    "one of sizes 1e-8": (custom(lambda x: x.exp(), lambda x, g: g * x.exp() * 1.001), [1e-8]),
    "0.05 % of 1/x at 1e8": (custom(lambda x: 1 / x, lambda x, g: -(1 + BY) * g / x**2), [1e8]),
    "the wrong side of a kink": (
        custom(nm.relu, lambda x, g: g * (x > 1e-6).to(x.dtype)),
        [1e-7, 1.0],
    ),
    "no subgradient": (custom(nm.relu, lambda x, g: g * (x >= 0).to(x.dtype) * 1.01), [0.0, -1.0]),
    "nan": (custom(nm.sin, lambda x, g: g * x.cos() * nm.nan), X),
    "none": (custom(nm.sin, lambda x, g: None), X),
    "0.05 % of small ones": (
        lambda x: (hooked(x * 1, lambda g: (1 + BY) * g) * 1e-6).sum() + x.detach().sum() * 0,
        X,
    ),
}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", BUGS)
def test_bugs_are_found(name, dtype):
    func, at = BUGS[name]
    fails(func, leaf(at, dtype=dtype))


def test_the_two_that_pass_at_the_defaults_of_autograd():
    for name in ("0.05 % of sin", "a sum of tanh without its tail"):
        func, _ = BUGS[name]
        x = leaf([0.5, -0.25, 8.0])
        assert nm.autograd.gradcheck(func, x)
        assert fails(func, x)


def test_bugs_in_single_precision_alone():
    """Right in float64, so that only the derivatives themselves can tell."""

    def backward(x, g):
        return g * x.cos() * (1 + BY * (x.dtype == nm.float32))

    wrong = custom(nm.sin, backward)
    assert gradcheck(wrong, leaf(X))
    fails(wrong, leaf(X, dtype=nm.float32), "In float32, though not in float64")


@pytest.mark.parametrize("last", [nm.sum, nm.norm, lambda x: x])
@pytest.mark.parametrize("first", [nm.cos, lambda x: x, lambda x: 1e3 * x + 1])
def test_rounding_in_single_precision_is_no_bug(first, last):
    """Differences of nearly equal numbers: what is lost varies, what is wrong does not."""

    def func(by):
        def inner(x):
            y = first(hooked(x * 1, lambda g: g * by(x)))
            y = (y - y.mean(-1, True)) / (y.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
            return last(y * nm.tensor([1.0, -2.0, 4.0], dtype=x.dtype))

        return inner

    x = leaf([[0.013, -0.02, 0.007], [0.031, 0.004, -0.011]], dtype=nm.float32)
    assert gradcheck(func(lambda x: 1.0), x)
    fails(func(lambda x: 1 + 100 * BY * (x.dtype == nm.float32)), x, "In float32, though not")


def test_bugs_of_what_takes_single_precision_only():
    def single(by):
        def forward(x):
            if x.dtype != nm.float32:
                raise TypeError("float32 only")
            return nm.sin(x)

        return custom(forward, lambda x, g: by * g * x.cos())

    assert gradcheck(single(1.0), leaf([0.5, 2.0], dtype=nm.float32))
    fails(single(1 + BY), leaf([0.5, 2.0], dtype=nm.float32))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_bugs_of_the_second_order(dtype):
    def func(by):
        def inner(x):  # sin, whose derivative is a constant to the record, but for a part
            y = x.sin().detach()
            c = x.cos()
            return y + (x - x.detach()) * (c.detach() + by * (c - c.detach()))

        return inner

    x = leaf(X, dtype=dtype)
    assert gradcheck(func(0.0), x)
    fails(func(0.0), x, check=gradgradcheck)
    cube = custom(
        lambda x: x**3, lambda x, g: g * 3 * x * (x.detach() + (1 + BY) * (x - x.detach()))
    )
    assert gradcheck(cube, x)
    fails(cube, x, check=gradgradcheck)


def test_what_is_said():
    func, at = BUGS["0.05 % of one element"]
    with pytest.raises(nm.check.GradcheckError) as caught:
        gradcheck(func, leaf(at))
    assert str(caught.value).startswith(
        "Jacobian mismatch for output 0 with respect to input 0,\n"
        "component (1, 1) of the input and (1, 1) of the output:\n"
        "numerical: 1, with an error of "
    )
    assert str(caught.value).endswith("\nanalytical: 1.0005\n")


def test_the_other_checks_are_made():
    constant = custom(lambda x: x * 2, lambda x, g: nm.full_like(g, 2.0))
    fails(constant, leaf([2.0]), "backward not multiplied by grad_output")
    calls = []

    def backward(x, g):
        calls.append(None)
        return g * 2 * (1 + 1e-13 * len(calls))

    fails(custom(lambda x: x * 2, backward), leaf([2.0, 1.0]), "Backward is not reentrant")
    refused(
        (
            ValueError,
            "at least one input tensor to require gradient",
            lambda: gradcheck(nm.sin, nm.ones(2)),
        ),
        (NotImplementedError, None, lambda: gradcheck(nm.sin, leaf(X), check_forward_ad=True)),
        (AssertionError, None, lambda: gradcheck(nm.sin, leaf(X), check_backward_ad=False)),
        (TypeError, None, lambda: gradcheck(nm.sin, leaf(X), 1e-6)),
    )


# Kinks and noise ----------------------------------------------------------------------------------


@pytest.mark.parametrize("slope", [0.0, 0.5, 1.0])
def test_every_subgradient_passes(slope):
    """Unlike in ``autograd.gradcheck``, where only the mean does."""
    relu = custom(nm.relu, lambda x, g: g * nm.where(x == 0, slope, (x > 0).to(x.dtype)))
    for dtype in DTYPES:
        assert gradcheck(relu, leaf([0.0, 2.0, -1.0], dtype=dtype))
    assert nm.autograd.gradcheck(relu, leaf([0.0]), raise_exception=False) is (slope == 0.5)


@pytest.mark.parametrize("slope", [-0.01, 1.01, -1.0])
def test_what_is_no_subgradient_fails(slope):
    relu = custom(nm.relu, lambda x, g: g * nm.where(x == 0, slope, (x > 0).to(x.dtype)))
    fails(relu, leaf([0.0, 2.0]))


def test_infinite_slopes_cannot_be_told():
    refused(
        (nm.check.GradcheckError, None, lambda: gradcheck(nm.sqrt, leaf([0.0, 1.0]))),
        (
            nm.check.GradcheckError,
            "No verdict is possible on output 0",
            lambda: gradcheck(nm.exp, leaf([1000.0])),
        ),
    )
    # Where the value is infinite in float32 alone, it is told in float64.
    assert gradcheck(nm.exp, leaf([200.0], dtype=nm.float32))


def test_features_narrower_than_the_steps():
    """Kinks beside the point, which wide steps see at that point alone."""
    x = leaf([0.0025, 0.0021, 0.0076, -0.0024, -0.0089, -0.0033])
    assert gradcheck(lambda x: ((x.sin() ** 2 + 0.5).sqrt() * 1e3).max(), x)
    assert gradcheck(lambda x: (x.sort()[0] ** 3).max(), x)
    assert fails(lambda x: hooked(x * 1, lambda g: (1 + BY) * g).sin().max() * 1e3, x)


def test_at_a_jump_it_is_said():
    with pytest.warns(UserWarning, match=r"component \(0,\) of the input .* 0\.05 %"):
        gradcheck(nm.sign, leaf([0.0, 2.0]))


def test_noise_that_hides_an_error_is_said():
    """A sum of terms so large that the slope of another does not show."""

    def func(by):
        f = custom(nm.sin, lambda x, g: by * g * x.cos())
        return lambda x: 1e13 + f(x).sum()

    for by in (1.0, 1 + BY):
        with pytest.warns(UserWarning, match="an error of 0.05 % could not be told") as said:
            assert gradcheck(func(by), leaf([0.5, 1.0]))
        assert said[0].filename == __file__
    fails(func(-1.0), leaf([0.5, 1.0]))


def test_what_does_not_depend_on_an_input_is_zero():
    assert gradcheck(lambda a, b: a * 2, (leaf([1.0, 2.0]), leaf(3.0)))
    with pytest.raises(nm.check.GradcheckError, match="expected to be zero"):
        gradcheck(lambda x: x.detach() * 2, leaf([1.0]))
    assert gradcheck(lambda x: nm.ones(2), leaf([1.0]))


# What is given ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "passes"),
    [
        ({"rtol": 1e-3}, True),
        ({"rtol": 1e-4}, False),
        ({"atol": 1e-2}, True),
        ({"atol": 1e-4}, False),
        ({"eps": 1e-6, "atol": 1e-5, "rtol": 1e-3}, True),
        ({"eps": 1e-6}, False),
    ],
)
def test_given_tolerances_are_taken_as_they_are(options, passes):
    def wrong(x):
        return hooked(x * x, lambda g: g * (1 + BY))

    assert (gradcheck if passes else fails)(wrong, leaf([1.0, 2.0]), **options)


def test_a_given_step_is_taken_as_it_is():
    with pytest.warns(UserWarning, match="only known to be within 1 of right"):
        assert gradcheck(lambda x: x**3, leaf([0.01]), eps=1.0)
    assert fails(lambda x: x**3, leaf([0.01]), eps=1.0, atol=1e-5, rtol=1e-3)
    assert gradcheck(nm.sin, leaf(X, dtype=nm.float32), eps=1e-3)


# Lowered Functions --------------------------------------------------------------------------------

v, a, s = sd.symbol("v", 3), sd.symbol("A", (2, 3)), sd.symbol("s")
AT_V, AT_A = np.array([0.5, -1.0, 2.0]), np.array(X)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("outputs", "inputs", "at"),
    [
        (sd.sum(sd.sin(v) ** 2), [v], (AT_V,)),
        (sd.tanh(a @ v) * s, [a, v, s], (AT_A, AT_V, 0.5)),
        ([sd.norm(v), sd.exp(s) * v], [v, s], (AT_V, 1.5)),
        (sd.sin(s) * s, [s], (0.7,)),
    ],
)
def test_lowered_functions_pass(outputs, inputs, at, dtype):
    function = nm.lower(outputs, inputs)
    given = tuple(dtype(x) if np.ndim(x) == 0 else x.astype(dtype) for x in at)
    assert gradcheck(function, given)
    assert gradgradcheck(function, given)
    assert gradcheck(function, tuple(leaf(x, dtype=nm.float64) for x in at))


def test_lowered_functions_of_numbers_and_integers():
    k = sd.symbol("k", dtype=int)
    function = nm.lower(sd.exp(s) * k, [s, k])
    assert gradcheck(function, (0.5, 3))
    assert gradgradcheck(function, (0.5, 3))
    assert gradcheck(nm.lower(s**2, s), 1.5)
    with pytest.raises(ValueError, match="argument"):
        gradcheck(function, (0.5,))


def planted(by):
    """The sine as a function of the user's, whose stated pullback is off by a factor."""
    return sd.custom(np.sin, vjp=lambda g, y, x: (by * g * sd.cos(x),), name="sine")


def test_wrong_pullbacks_fail():
    assert gradcheck(nm.lower(planted(1.0)(v), [v]), AT_V)
    for by in (-1.0, 1 + BY, 1 - BY):
        fails(nm.lower(planted(by)(v), [v]), AT_V)
        fails(nm.lower(sd.sum(planted(by)(v)), [v]), AT_V)


@pytest.mark.parametrize("method", ["value_and_grad", "hvp"])
def test_the_other_programs_of_a_function_are_checked(method, monkeypatch):
    """Planted in ``value_and_grad`` and ``hvp``, which the recorded call does not use."""
    function = nm.lower(sd.sum(sd.sin(v)), [v])
    known = getattr(nm.Function, method)

    def wrong(self, *args, **named):
        found = known(self, *args, **named)
        if method == "hvp":
            return tuple((1 + BY) * t for t in found)
        return found[0], tuple((1 + BY) * t for t in found[1])

    monkeypatch.setattr(nm.Function, method, wrong)
    fails(function, AT_V, check=gradcheck if method == "value_and_grad" else gradgradcheck)
