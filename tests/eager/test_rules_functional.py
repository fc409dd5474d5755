"""Rule 61: ``autograd.functional``."""

import numpy as np
import pytest

from tests.eager.chosen import check, leaf, ours, torch
from tests.support.refusals import refused
from tests.support.tensor_checks import check_all

functional = torch.autograd.functional


def constant(data):
    return leaf(data, requires_grad=False)


def cubes(x):
    return (x**3).sum()


X, Y = [1.0, 2.0], [3.0, 4.0, 5.0]


@pytest.fixture
def x():
    return constant(X)


@pytest.fixture
def y():
    return constant(Y)


class Square(torch.autograd.Function):
    """A program without a formula."""

    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * a

    @staticmethod
    def backward(ctx, g):
        (a,) = ctx.saved_tensors
        return 2 * a * g


# Shapes and nesting -------------------------------------------------------------------------------


def test_the_jacobian_has_the_shape_of_output_and_input():
    """Rule 61: out.shape + in.shape."""
    x = constant(np.arange(6.0).reshape(2, 3))
    j = functional.jacobian(lambda a: (a**2).sum(1), x)
    check(j, [[[0, 2, 4], [0, 0, 0]], [[0, 0, 0], [6, 8, 10]]])
    j = functional.jacobian(lambda a: a.t() @ a, x)
    assert tuple(j.shape) == (3, 3, 2, 3)
    check(functional.jacobian(lambda a: a.sum(), x), np.ones((2, 3)))
    check(functional.jacobian(lambda a: torch.stack([a, a * a]), constant(2.0)), [1.0, 4.0])


def test_tuples_are_nested_by_outputs_then_inputs(x, y):
    """Rule 61: tuples only where tuples were given."""
    j = functional.jacobian(lambda a, b: a.sum() * b, (x, y))
    assert isinstance(j, tuple)
    check(j[0], np.outer(Y, [1, 1]))
    check(j[1], 3 * np.eye(3))
    j = functional.jacobian(lambda a: (a * 2, a.sum()), x)
    assert isinstance(j, tuple)
    check(j[0], 2 * np.eye(2))
    check(j[1], [1.0, 1.0])
    j = functional.jacobian(lambda a, b: (a * 2, b.sum() * a), (x, y))
    check(j[0][0], 2 * np.eye(2))
    check(j[0][1], np.zeros((2, 3)))
    check(j[1][0], 12 * np.eye(2))
    check(j[1][1], np.outer(X, [1, 1, 1]))
    check_all(functional.jacobian(lambda a: a * 2, (x,)), 2 * np.eye(2))
    ((j,),) = functional.jacobian(lambda a: (a * 2,), (x,))
    check(j, 2 * np.eye(2))


def test_hessians(x, y):
    """Rule 61: in.shape twice; tuples of tuples."""
    check(functional.hessian(cubes, x), [[6, 0], [0, 12]])
    check(functional.hessian(lambda a: cubes(a).reshape(1, 1), x), [[6, 0], [0, 12]])
    h = functional.hessian(lambda a, b: (a.sum() * b**2).sum(), (x, y))
    check(h[0][0], np.zeros((2, 2)))
    check(h[0][1], 2 * np.outer([1, 1], Y))
    check(h[1][0], 2 * np.outer(Y, [1, 1]))
    check(h[1][1], 6 * np.eye(3))
    m = constant([[1.0, 2.0]])
    assert tuple(functional.hessian(cubes, m).shape) == (1, 2, 1, 2)
    check(functional.hessian(lambda a: a.sum(), x), np.zeros((2, 2)))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_ways_to_compute_it_give_the_same(x):
    for words in ({"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}):
        check(functional.jacobian(lambda a: a**2, x, **words), [[2, 0], [0, 4]])
    words = {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}
    check(functional.hessian(cubes, x, **words), [[6, 0], [0, 12]])


# Products -----------------------------------------------------------------------------------------


def test_products_return_the_output_and_the_result(x, y):
    """Rule 61: vjp, jvp, hvp, vhp: (output, result)."""
    check_all(functional.vjp(lambda a: a**2, x, constant([1.0, 10.0])), [1, 4], [2, 40])
    check_all(functional.jvp(lambda a: a**2, x, constant([1.0, 10.0])), [1, 4], [2, 40])
    for product in (functional.hvp, functional.vhp):
        out, h = product(cubes, x, constant([1.0, 10.0]))
        check(out, 9.0)
        check(h, [6, 120])
    (one, two), (ga, gb) = functional.vjp(lambda a, b: (a * 2, b.sum() * a), (x, y), (x, x))
    check(one, [2, 4])
    check(two, [12, 24])
    check(ga, [14, 28])
    check(gb, [5, 5, 5])
    _, (one, two) = functional.jvp(lambda a, b: (a * 2, b.sum() * a), (x, y), (x, y))
    check(one, [2, 4])
    check(two, [24, 48])
    for product in (functional.hvp, functional.vhp):
        _, (one, two) = product(lambda a, b: (a.sum() * b**2).sum(), (x, y), (x, y))
        check(one, [100, 100])
        check(two, [36, 48, 60])


def test_v_may_be_left_out_for_a_single_element(x):
    """Rule 61: only then."""
    check(functional.vjp(cubes, x)[1], [3, 12])
    check(functional.jvp(lambda a: torch.stack([a, a**2]), constant(3.0))[1], [1, 6])
    check(functional.hvp(cubes, constant(2.0))[1], 12.0)
    check(functional.vhp(cubes, constant([2.0]))[1], [12.0])
    with pytest.raises(RuntimeError, match="v can only be None if the user-provided function"):
        functional.vjp(lambda a: a**2, x)
    for product in (functional.jvp, functional.hvp, functional.vhp):
        with pytest.raises(RuntimeError, match="v can only be None if the input"):
            product(cubes, x)


def test_v_must_fit(x, y):
    refused(
        (
            RuntimeError,
            r"v has invalid size: should be .*\[2\].*\[3\]",
            lambda: functional.vjp(lambda a: a * 2, x, y),
        ),
        (RuntimeError, "v has invalid size", lambda: functional.jvp(lambda a: a * 2, x, y)),
        (RuntimeError, "invalid size", lambda: functional.hvp(cubes, x, y)),
        (
            RuntimeError,
            "Entry 1 in v has invalid size",
            lambda: functional.vjp(lambda a: (a * 2, a), x, (x, y)),
        ),
        (
            RuntimeError,
            "invalid length: should be 2 but got 1",
            lambda: functional.vjp(lambda a: (a * 2, a), x, x),
        ),
        (TypeError, "The v given to vjp must be", lambda: functional.vjp(lambda a: a * 2, x, 3.0)),
    )


# Inputs are left as they are ----------------------------------------------------------------------


def test_inputs_are_untouched(x):
    """Rule 61: requires_grad stays, grad stays None."""
    functional.jacobian(lambda a: a**2, x)
    functional.hvp(cubes, x, x)
    assert not x.requires_grad
    assert x.grad is None
    w = leaf(X)
    j = functional.jacobian(lambda a: a**2, w)
    assert not j.requires_grad
    assert w.requires_grad
    assert w.grad is None
    check(w, X)


def test_the_function_sees_leaves_that_require_gradients(x):
    seen = []

    def f(a):
        seen.append((a.requires_grad, a is x))
        return a * 2

    functional.jacobian(f, x)
    assert seen == [(True, False)]


def test_create_graph(x):
    """Rule 61: results are recorded with create_graph only."""
    w, c = leaf(X), leaf([5.0, 6.0])
    j = functional.jacobian(lambda a: a**3 * c, w, create_graph=True)
    check_all(torch.autograd.grad(j.sum(), (w, c)), [30, 72], [3, 12])
    j = functional.jacobian(lambda a: a * c, x, create_graph=True)
    check(torch.autograd.grad(j.sum(), c)[0], [1, 1])
    assert not functional.jacobian(lambda a: a * c, x).requires_grad
    h = functional.hessian(lambda a: (a**4).sum(), w, create_graph=True)
    check(torch.autograd.grad(h.sum(), w)[0], [24, 48])
    out, g = functional.vjp(lambda a: a**3, w, x, create_graph=True)
    check(torch.autograd.grad(g.sum() + out.sum(), w)[0], [9, 36])
    out, t = functional.jvp(lambda a: a**3, w, x, create_graph=True)
    check(torch.autograd.grad(t.sum(), w)[0], [6, 24])
    _, h = functional.hvp(cubes, w, x, create_graph=True)
    check(torch.autograd.grad(h.sum(), w)[0], [6, 12])


def test_create_graph_of_what_requires_no_gradients(x):
    """The result requires gradients, by an input that nobody can name."""
    assert functional.jacobian(lambda a: a**3, x, create_graph=True).requires_grad
    assert not x.requires_grad


def test_without_recording(x):
    """Rule 61: it works under no_grad."""
    with torch.no_grad():
        check(functional.jacobian(lambda a: a**2, x), [[2, 0], [0, 4]])
        check(functional.hessian(cubes, x), [[6, 0], [0, 12]])
        check(functional.vjp(lambda a: a**2, x, x)[1], [2, 8])
        check(functional.jvp(lambda a: a**2, x, x)[1], [2, 8])
        check(functional.hvp(cubes, x, x)[1], [6, 24])
        check(functional.vhp(cubes, x, x)[1], [6, 24])
        assert functional.jacobian(lambda a: a**2, leaf(X), create_graph=True).requires_grad


# Strictness ---------------------------------------------------------------------------------------


def test_independent_outputs_give_zeros(x, y):
    """Rule 61: zeros without strict."""
    _, j = functional.jacobian(lambda a, b: a * 2, (x, y))
    check(j, np.zeros((2, 3)))
    check(functional.jacobian(lambda a: torch.ones(2).double(), x), np.zeros((2, 2)))
    check(functional.vjp(lambda a, b: a * 2, (x, y), x)[1][1], np.zeros(3))
    check(functional.jvp(lambda a: torch.ones(2).double(), x, x)[1], [0, 0])
    check(functional.hvp(lambda a: a.sum(), x, x)[1], [0, 0])
    check(functional.hessian(lambda a: torch.ones(()).double(), x), np.zeros((2, 2)))


def test_strict(x, y):
    """Rule 61: RuntimeError 'strict'."""
    for call in (
        lambda: functional.jacobian(lambda a, b: a * 2, (x, y), strict=True),
        lambda: functional.jacobian(lambda a: torch.ones(2), x, strict=True),
        lambda: functional.hessian(lambda a, b: cubes(a), (x, y), strict=True),
        lambda: functional.hessian(lambda a: a.sum(), x, strict=True),
        lambda: functional.vjp(lambda a, b: a * 2, (x, y), x, strict=True),
        lambda: functional.vjp(lambda a: torch.ones(2), x, x, strict=True),
        lambda: functional.jvp(lambda a: torch.ones(2), x, x, strict=True),
        lambda: functional.hvp(lambda a: a.sum(), x, x, strict=True),
        lambda: functional.vhp(lambda a: a.sum(), x, x, strict=True),
    ):
        with pytest.raises(RuntimeError, match="strict"):
            call()
    check(functional.jacobian(lambda a: a * 2, x, strict=True), 2 * np.eye(2))
    check(functional.hessian(cubes, x, strict=True), [[6, 0], [0, 12]])
    check(functional.jvp(lambda a: a * a, x, x, strict=True)[1], [2, 8])


# What is refused ----------------------------------------------------------------------------------


def test_only_tensors_and_tuples_of_them(x, y):
    refused(
        (
            TypeError,
            "inputs given to jacobian must be either a Tensor or a",
            lambda: functional.jacobian(lambda a: a, 3.0),
        ),
        (
            TypeError,
            "inputs given to jacobian must be either a Tensor or a",
            lambda: functional.jacobian(lambda a, b: a, [x, y]),
        ),
        (
            TypeError,
            "outputs of the user-provided function given to jacobian",
            lambda: functional.jacobian(lambda a: 3.0, x),
        ),
        (TypeError, "value at index 1", lambda: functional.jacobian(lambda a: (a, 3.0), x)),
        (
            TypeError,
            "outputs of the user-provided function given to hessian",
            lambda: functional.hessian(lambda a: 3.0, x),
        ),
        (
            RuntimeError,
            "only Tensors of floating point",
            lambda: functional.jacobian(lambda a: a * 2, torch.tensor([1, 2])),
        ),
    )


def test_hessians_are_of_one_element(x):
    refused(
        (
            RuntimeError,
            "hessian should contain a single element",
            lambda: functional.hessian(lambda a: a**2, x),
        ),
        (
            RuntimeError,
            "hessian should return a single Tensor",
            lambda: functional.hessian(lambda a: (cubes(a), cubes(a)), x),
        ),
        (
            RuntimeError,
            "hvp should contain a single element",
            lambda: functional.hvp(lambda a: a**2, x, x),
        ),
        (
            RuntimeError,
            "vhp should return a single Tensor",
            lambda: functional.vhp(lambda a: (cubes(a), cubes(a)), x, x),
        ),
    )


def test_words_that_do_not_go_together(x):
    refused(
        (
            RuntimeError,
            "not supported together",
            lambda: functional.jacobian(lambda a: a, x, strict=True, vectorize=True),
        ),
        (
            AssertionError,
            "Expected strategy",
            lambda: functional.jacobian(lambda a: a, x, strategy="sideways"),
        ),
        (
            NotImplementedError,
            "vectorize=True",
            lambda: functional.jacobian(lambda a: a, x, strategy="forward-mode"),
        ),
        (
            NotImplementedError,
            "vectorize=True",
            lambda: functional.hessian(cubes, x, outer_jacobian_strategy="forward-mode"),
        ),
    )


# Any program --------------------------------------------------------------------------------------


def test_values_may_decide(x):
    def f(a):
        return a**2 if a.sum() > 0 else -a

    check(functional.jacobian(f, x), [[2, 0], [0, 4]])
    check(functional.jacobian(f, -x), [[-1, 0], [0, -1]])


def test_changes_in_place(x):
    def f(a):
        b = a.clone()
        b.mul_(3)
        b[0] = a[1] ** 2
        return b

    check(functional.jacobian(f, x), [[0, 4], [0, 3]])
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        functional.jacobian(lambda a: a.mul_(2), x)
    check(x, X)


def test_gradients_inside(x):
    """Both kinds: recorded, which are differentiated further, and not."""

    def recorded(a):
        (g,) = torch.autograd.grad((a**3).sum(), a, create_graph=True)
        return (g * g).sum()

    check(functional.jacobian(recorded, x), [36, 288])
    check(functional.hessian(recorded, x), [[108, 0], [0, 432]])

    def fixed(a):
        b = a.detach().requires_grad_()
        (b**2).sum().backward()
        return a * b.grad

    check(functional.jacobian(fixed, x), [[2, 0], [0, 4]])


def test_inside_one_another(x):
    h = functional.jacobian(
        lambda a: functional.jacobian(lambda b: (b**3).sum(), a, create_graph=True), x
    )
    check(h, [[6, 0], [0, 12]])


@ours
def test_inside_the_transforms_of_func(x):
    """PyTorch refuses that."""
    g = torch.func.grad(lambda a: functional.vjp(cubes, a, create_graph=True)[1].sum())(x)
    check(g, [6, 12])


def test_custom_functions(x):
    check(functional.jacobian(Square.apply, x), [[2, 0], [0, 4]])
    check(functional.hessian(lambda a: (Square.apply(a) * a).sum(), x), [[6, 0], [0, 12]])
    check_all(functional.vjp(Square.apply, x, x), [1, 4], [2, 8])
    check_all(functional.jvp(Square.apply, x, x), [1, 4], [2, 8])
    for product in (functional.hvp, functional.vhp):
        out, h = product(lambda a: (Square.apply(a) * a).sum(), x, x)
        check(out, 9.0)
        check(h, [6, 24])
        assert not h.requires_grad
        assert not out.requires_grad
    w = leaf(X)
    j = functional.jacobian(lambda a: Square.apply(a) * a, w, create_graph=True)
    check(torch.autograd.grad(j.sum(), w)[0], [6, 12])
    with torch.no_grad():
        check(functional.jacobian(Square.apply, x), [[2, 0], [0, 4]])
    with pytest.raises(RuntimeError, match="strict"):
        functional.jacobian(lambda a, b: Square.apply(a), (x, x), strict=True)


def test_memory_is_not_shared(x):
    """Also where a result equals an input."""
    out, g = functional.vjp(lambda a: a * 1, x, x)
    g.mul_(7)
    out.mul_(7)
    check(x, X)


@ours
def test_memory_is_not_shared_with_what_the_function_returns(x):
    out, g = functional.vjp(lambda a: a, x, x)
    g.mul_(7)
    out.mul_(7)
    check(x, X)


def test_dtypes(x):
    """Each Jacobian has the dtype of its input."""
    a, b = functional.jacobian(lambda a, b: a * b, (x, torch.ones(2)))
    assert (a.dtype, b.dtype) == (torch.float64, torch.float32)
    assert functional.jacobian(lambda a: a.float(), x).dtype == torch.float64
    check(functional.jacobian(lambda a: a.argmax(), x), [0, 0])


@ours
def test_traces_take_them_or_say_why_not(x):
    """In a compiled function they are formulas like any other."""
    f = torch.compile(lambda a: functional.jacobian(lambda b: b**2, a))
    check(f(x), [[2, 0], [0, 4]])
    with pytest.raises(RuntimeError, match=r"compile: .*Square"):
        torch.compile(lambda a: functional.jacobian(Square.apply, a))(x)
