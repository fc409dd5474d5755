"""Rule 61: ``autograd.functional``."""

import numpy as np
import pytest

from tests.eager.chosen import check, leaf, ours, torch
from tests.support.refusals import refused
from tests.support.tensor_checks import check_all, check_leaf, check_tree

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


def two(a, b):
    return a * 2, b.sum() * a


def mixed(a, b):
    return (a.sum() * b**2).sum()


MATRIX, WEIGHTS = np.arange(6.0).reshape(2, 3), [1.0, 10.0]
EYE, NONE = np.eye(2), np.zeros((2, 2))
SQUARED, CUBED = [[2, 0], [0, 4]], [[6, 0], [0, 12]]
OF_TWO = ((2 * EYE, np.zeros((2, 3))), (12 * EYE, np.outer(X, [1, 1, 1])))
OF_MIXED = ((NONE, 2 * np.outer([1, 1], Y)), (2 * np.outer(Y, [1, 1]), 6 * np.eye(3)))

# Derivatives at [1, 2] and [3, 4, 5], in the structure of results and inputs.
VALUES = {
    "jacobian of rows": (
        lambda x, y: functional.jacobian(lambda a: (a**2).sum(1), constant(MATRIX)),
        [[[0, 2, 4], [0, 0, 0]], [[0, 0, 0], [6, 8, 10]]],
    ),
    "jacobian of a sum": (
        lambda x, y: functional.jacobian(lambda a: a.sum(), constant(MATRIX)),
        np.ones((2, 3)),
    ),
    "jacobian by a number": (
        lambda x, y: functional.jacobian(lambda a: torch.stack([a, a * a]), constant(2.0)),
        [1.0, 4.0],
    ),
    "jacobian by two": (
        lambda x, y: functional.jacobian(lambda a, b: a.sum() * b, (x, y)),
        (np.outer(Y, [1, 1]), 3 * np.eye(3)),
    ),
    "jacobian of two": (
        lambda x, y: functional.jacobian(lambda a: (a * 2, a.sum()), x),
        (2 * EYE, [1.0, 1.0]),
    ),
    "jacobian of two by two": (lambda x, y: functional.jacobian(two, (x, y)), OF_TWO),
    "jacobian by a tuple": (lambda x, y: functional.jacobian(lambda a: a * 2, (x,)), (2 * EYE,)),
    "jacobian of a tuple by a tuple": (
        lambda x, y: functional.jacobian(lambda a: (a * 2,), (x,)),
        ((2 * EYE,),),
    ),
    "jacobian of integers": (lambda x, y: functional.jacobian(lambda a: a.argmax(), x), [0, 0]),
    "hessian": (lambda x, y: functional.hessian(cubes, x), CUBED),
    "hessian of one element": (
        lambda x, y: functional.hessian(lambda a: cubes(a).reshape(1, 1), x),
        CUBED,
    ),
    "hessian by two": (lambda x, y: functional.hessian(mixed, (x, y)), OF_MIXED),
    "hessian of a sum": (lambda x, y: functional.hessian(lambda a: a.sum(), x), NONE),
    "hessian by a matrix": (
        lambda x, y: functional.hessian(cubes, x.reshape(1, 2)),
        np.reshape(CUBED, (1, 2, 1, 2)),
    ),
    "vjp": (
        lambda x, y: functional.vjp(lambda a: a**2, x, constant(WEIGHTS)),
        ([1, 4], [2, 40]),
    ),
    "jvp": (
        lambda x, y: functional.jvp(lambda a: a**2, x, constant(WEIGHTS)),
        ([1, 4], [2, 40]),
    ),
    "hvp": (lambda x, y: functional.hvp(cubes, x, constant(WEIGHTS)), (9.0, [6, 120])),
    "vhp": (lambda x, y: functional.vhp(cubes, x, constant(WEIGHTS)), (9.0, [6, 120])),
    "vjp of two": (
        lambda x, y: functional.vjp(two, (x, y), (x, x)),
        (([2, 4], [12, 24]), ([14, 28], [5, 5, 5])),
    ),
    "jvp of two": (
        lambda x, y: functional.jvp(two, (x, y), (x, y)),
        (([2, 4], [12, 24]), ([2, 4], [24, 48])),
    ),
    "hvp by two": (
        lambda x, y: functional.hvp(mixed, (x, y), (x, y)),
        (150.0, ([100, 100], [36, 48, 60])),
    ),
    "vhp by two": (
        lambda x, y: functional.vhp(mixed, (x, y), (x, y)),
        (150.0, ([100, 100], [36, 48, 60])),
    ),
    "vjp of one element": (lambda x, y: functional.vjp(cubes, x), (9.0, [3, 12])),
    "jvp by one element": (
        lambda x, y: functional.jvp(lambda a: torch.stack([a, a**2]), constant(3.0)),
        ([3, 9], [1, 6]),
    ),
    "hvp by one element": (lambda x, y: functional.hvp(cubes, constant(2.0)), (8.0, 12.0)),
    "vhp by one element": (lambda x, y: functional.vhp(cubes, constant([2.0])), (8.0, [12.0])),
    "no dependence on one input": (
        lambda x, y: functional.jacobian(lambda a, b: a * 2, (x, y)),
        (2 * EYE, np.zeros((2, 3))),
    ),
    "jacobian of a constant": (
        lambda x, y: functional.jacobian(lambda a: torch.ones(2).double(), x),
        NONE,
    ),
    "vjp of one input": (
        lambda x, y: functional.vjp(lambda a, b: a * 2, (x, y), x),
        ([2, 4], ([2, 4], np.zeros(3))),
    ),
    "jvp of a constant": (
        lambda x, y: functional.jvp(lambda a: torch.ones(2).double(), x, x),
        ([1, 1], [0, 0]),
    ),
    "hvp of a sum": (lambda x, y: functional.hvp(lambda a: a.sum(), x, x), (3.0, [0, 0])),
    "hessian of a constant": (
        lambda x, y: functional.hessian(lambda a: torch.ones(()).double(), x),
        NONE,
    ),
    "strict jacobian": (
        lambda x, y: functional.jacobian(lambda a: a * 2, x, strict=True),
        2 * EYE,
    ),
    "strict hessian": (lambda x, y: functional.hessian(cubes, x, strict=True), CUBED),
    "strict jvp": (
        lambda x, y: functional.jvp(lambda a: a * a, x, x, strict=True),
        ([1, 4], [2, 8]),
    ),
    "within one another": (
        lambda x, y: functional.jacobian(
            lambda a: functional.jacobian(cubes, a, create_graph=True), x
        ),
        CUBED,
    ),
    "jacobian of a program": (lambda x, y: functional.jacobian(Square.apply, x), SQUARED),
    "hessian of a program": (
        lambda x, y: functional.hessian(lambda a: (Square.apply(a) * a).sum(), x),
        CUBED,
    ),
    "vjp of a program": (lambda x, y: functional.vjp(Square.apply, x, x), ([1, 4], [2, 8])),
    "jvp of a program": (lambda x, y: functional.jvp(Square.apply, x, x), ([1, 4], [2, 8])),
    "hvp of a program": (
        lambda x, y: functional.hvp(lambda a: (Square.apply(a) * a).sum(), x, x),
        (9.0, [6, 24]),
    ),
    "vhp of a program": (
        lambda x, y: functional.vhp(lambda a: (Square.apply(a) * a).sum(), x, x),
        (9.0, [6, 24]),
    ),
}


@pytest.mark.parametrize("recording", [True, False])
@pytest.mark.parametrize("name", VALUES)
def test_values_of_products_and_matrices(name, recording, x, y):
    """Rule 61: out.shape + in.shape; tuples where tuples were given; zeros without dependence."""
    call, expected = VALUES[name]
    with torch.set_grad_enabled(recording):
        found = call(x, y)
    check_tree(found, expected)
    assert not x.requires_grad
    assert x.grad is None


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_ways_to_compute_it_give_the_same(x):
    for words in ({"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}):
        check(functional.jacobian(lambda a: a**2, x, **words), [[2, 0], [0, 4]])
    words = {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}
    check(functional.hessian(cubes, x, **words), [[6, 0], [0, 12]])


# Products -----------------------------------------------------------------------------------------


def test_v_may_be_left_out_for_a_single_element(x):
    """Rule 61: only then."""
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


def test_inputs_are_untouched():
    """Rule 61: requires_grad stays, grad stays None."""
    w = leaf(X)
    assert not functional.jacobian(lambda a: a**2, w).requires_grad
    check_leaf(w)
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


def test_create_graph_without_recording():
    """Rule 61: it works under no_grad."""
    with torch.no_grad():
        assert functional.jacobian(lambda a: a**2, leaf(X), create_graph=True).requires_grad


# Strictness ---------------------------------------------------------------------------------------


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


@ours
def test_inside_the_transforms_of_func(x):
    """PyTorch refuses that."""
    g = torch.func.grad(lambda a: functional.vjp(cubes, a, create_graph=True)[1].sum())(x)
    check(g, [6, 12])


def test_custom_functions(x):
    """Results are recorded with create_graph only, and strict finds what does not depend."""
    for product in (functional.hvp, functional.vhp):
        found = product(lambda a: (Square.apply(a) * a).sum(), x, x)
        assert not any(t.requires_grad for t in found)
    w = leaf(X)
    j = functional.jacobian(lambda a: Square.apply(a) * a, w, create_graph=True)
    check_all(torch.autograd.grad(j.sum(), w), [6, 12])
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


@ours
def test_traces_take_them_or_say_why_not(x):
    """In a compiled function they are formulas like any other."""
    f = torch.compile(lambda a: functional.jacobian(lambda b: b**2, a))
    check(f(x), [[2, 0], [0, 4]])
    with pytest.raises(RuntimeError, match=r"compile: .*Square"):
        torch.compile(lambda a: functional.jacobian(Square.apply, a))(x)
