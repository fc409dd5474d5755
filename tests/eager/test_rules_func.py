"""Rule 62: ``torch.func``."""

from collections import OrderedDict, defaultdict, namedtuple

import numpy as np
import pytest

from tests.eager.chosen import check, leaf, ours, torch
from tests.support.refusals import refused
from tests.support.tensor_checks import check_all, check_backward, check_tree

# PyTorch compiles its forward mode in a way that it deprecates.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

func = torch.func
Pair = namedtuple("Pair", "left right")

HERE = "test_rules_func.py"
X, Y = [1.0, 2.0], [3.0, 4.0, 5.0]
M = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def constant(data):
    return leaf(data, requires_grad=False)


def cubes(x):
    return (x**3).sum()


@pytest.fixture
def x():
    return constant(X)


@pytest.fixture
def y():
    return constant(Y)


@pytest.fixture
def m():
    return constant(M)


class Square(torch.autograd.Function):
    """A program without a formula."""

    @staticmethod
    def forward(a):
        return a * a

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        (a,) = ctx.saved_tensors
        return 2 * a * g


# Values of all transforms -------------------------------------------------------------------------

TWO = constant(2.0)
WEIGHTS = constant([1.0, 10.0])
PLACES, PLACE = torch.tensor([[0, 2], [1, 1]]), torch.tensor([0, 2])


def weighed(a, b):
    return a.sum() * (b**2).sum()


# Values of transforms, at a vector of two, one of three, and a matrix of two rows.
VALUES = {
    "grad": (lambda x, y, m: func.grad(cubes)(x), [3, 12]),
    "grad of a number": (lambda x, y, m: func.grad(lambda a: a**3)(TWO), 12.0),
    "grad of the argument": (lambda x, y, m: func.grad(lambda a: a)(TWO), 1.0),
    "grad of a constant": (lambda x, y, m: func.grad(lambda a: torch.ones(()).double())(x), [0, 0]),
    "grad by the first": (lambda x, y, m: func.grad(weighed)(x, y), [50, 50]),
    "argnums": (lambda x, y, m: func.grad(weighed, argnums=1)(x, y), [18, 24, 30]),
    "negative argnums": (lambda x, y, m: func.grad(weighed, argnums=-1)(x, y), [18, 24, 30]),
    "a tuple of argnums": (
        lambda x, y, m: func.grad(weighed, argnums=(1, 0))(x, y),
        ([18, 24, 30], [50, 50]),
    ),
    "one in a tuple": (lambda x, y, m: func.grad(weighed, argnums=(0,))(x, y), ([50, 50],)),
    "grad with aux": (
        lambda x, y, m: func.grad(lambda a: (cubes(a), {"twice": a * 2}), has_aux=True)(x),
        ([3, 12], {"twice": [2, 4]}),
    ),
    "grad and value": (lambda x, y, m: func.grad_and_value(cubes)(x), ([3, 12], 9.0)),
    "grad and value with aux": (
        lambda x, y, m: func.grad_and_value(lambda a: (cubes(a), a * 2), has_aux=True)(x),
        ([3, 12], (9.0, [2, 4])),
    ),
    "keywords": (lambda x, y, m: func.grad(lambda a, *, k: (a * k).sum())(x, k=x), X),
    "other arguments": (
        lambda x, y, m: func.grad(lambda a, how, i: cubes(a[i]) if how == "cube" else a.sum())(
            x, "cube", torch.tensor([1])
        ),
        [0, 12],
    ),
    "twice": (lambda x, y, m: func.grad(func.grad(lambda a: a**4))(TWO), 48.0),
    "three times": (lambda x, y, m: func.grad(func.grad(func.grad(lambda a: a**4)))(TWO), 48.0),
    "twice of sin": (lambda x, y, m: func.grad(func.grad(torch.sin))(TWO), -np.sin(2.0)),
    "perturbations told apart": (
        lambda x, y, m: func.grad(lambda a: a * func.grad(lambda b: a * b)(constant(5.0)))(TWO),
        4.0,
    ),
    "grad at the argument of grad": (
        lambda x, y, m: func.grad(lambda a: func.grad(lambda b: (a * b) ** 2)(a))(TWO),
        24.0,  # 2a³
    ),
    "autograd inside": (
        lambda x, y, m: func.grad(
            lambda a: (torch.autograd.grad(cubes(a), a, create_graph=True)[0] ** 2).sum()
        )(x),
        [36, 288],
    ),
    "closures over the argument": (lambda x, y, m: func.grad(lambda a: (a * x).sum())(x), X),
    "detached": (lambda x, y, m: func.grad(lambda a: (a * a.detach()).sum())(x), X),
    "hessian": (lambda x, y, m: func.hessian(cubes)(x), [[6, 0], [0, 12]]),
    "hessian of a vector": (
        lambda x, y, m: func.hessian(lambda a: a**3)(x),
        [[[6, 0], [0, 0]], [[0, 0], [0, 12]]],
    ),
    "hessian of a dictionary": (
        lambda x, y, m: func.hessian(lambda d: (d["a"].sum() * d["b"] ** 2).sum())(
            {"a": x, "b": y}
        ),
        {
            "a": {"a": np.zeros((2, 2)), "b": 2 * np.outer([1, 1], Y)},
            "b": {"a": 2 * np.outer(Y, [1, 1]), "b": 6 * np.eye(3)},
        },
    ),
    "hessian by two": (
        lambda x, y, m: func.hessian(lambda a, b: (a.sum() * b**2).sum(), argnums=(0, 1))(x, y),
        (
            (np.zeros((2, 2)), 2 * np.outer([1, 1], Y)),
            (2 * np.outer(Y, [1, 1]), 6 * np.eye(3)),
        ),
    ),
    "third derivatives": (lambda x, y, m: func.jacrev(func.hessian(cubes))(x[:1]), [[[6.0]]]),
    "third derivatives, forward": (
        lambda x, y, m: func.jacfwd(func.jacrev(func.grad(cubes)))(x[:1]),
        [[[6.0]]],
    ),
    "vjp of several": (
        lambda x, y, m: func.vjp(lambda a, b: (a * 2, {"s": b.sum()}), x, y)[1](
            (x, {"s": constant(3.0)})
        ),
        ([2, 4], [3, 3, 3]),
    ),
    "vjp of a dictionary": (
        lambda x, y, m: func.vjp(lambda d: d["a"] * d["b"].sum(), {"a": x, "b": y})[1](x),
        ({"a": [12, 24], "b": [5, 5, 5]},),
    ),
    "jvp": (lambda x, y, m: func.jvp(lambda a: a**2, (x,), (WEIGHTS,)), ([1, 4], [2, 40])),
    "jvp of several": (
        lambda x, y, m: func.jvp(lambda a, b: {"o": a.sum() * b}, (x, y), (x, y)),
        ({"o": [9, 12, 15]}, {"o": [18, 24, 30]}),
    ),
    "jvp with aux": (
        lambda x, y, m: func.jvp(lambda a: (a**2, a.sum()), (x,), (x,), has_aux=True),
        ([1, 4], [2, 8], 3.0),
    ),
    "jvp of a constant": (lambda x, y, m: func.jvp(lambda a: y, (x,), (x,)), (Y, [0, 0, 0])),
    "forward over reverse": (
        lambda x, y, m: func.jvp(func.grad(cubes), (x,), (WEIGHTS,))[1],
        [6, 120],
    ),
    "reverse over forward": (
        lambda x, y, m: func.grad(lambda a: func.jvp(cubes, (a,), (WEIGHTS,))[1])(x),
        [6, 120],
    ),
    "reverse over reverse": (
        lambda x, y, m: func.vjp(func.grad(cubes), x)[1](WEIGHTS),
        ([6, 120],),
    ),
    "forward over forward": (
        lambda x, y, m: func.jvp(
            lambda a: func.jvp(torch.sin, (a,), (WEIGHTS,))[1], (x,), (WEIGHTS,)
        )[1],
        -np.sin(X) * [1, 100],
    ),
    "vmap": (lambda x, y, m: func.vmap(lambda a: a.sum())(m), [6, 15]),
    "vmap of two": (lambda x, y, m: func.vmap(torch.dot)(m, m), [14, 77]),
    "one of two": (lambda x, y, m: func.vmap(torch.dot, in_dims=(0, None))(m, y), [26, 62]),
    "in_dims": (lambda x, y, m: func.vmap(lambda a: a.sum(), in_dims=1)(m), [5, 7, 9]),
    "negative in_dims": (lambda x, y, m: func.vmap(lambda a: a.sum(), in_dims=-1)(m), [5, 7, 9]),
    "torch.vmap": (lambda x, y, m: torch.vmap(lambda a: a * 2)(m), 2 * np.array(M)),
    "chunks": (lambda x, y, m: func.vmap(lambda a: a * 2, chunk_size=1)(m), 2 * np.array(M)),
    "no slices": (lambda x, y, m: func.vmap(lambda a: a * 2)(m[:0]), np.zeros((0, 3))),
    "out_dims": (
        lambda x, y, m: func.vmap(lambda a: a * 2, in_dims=1, out_dims=1)(m),
        2 * np.array(M),
    ),
    "negative out_dims": (
        lambda x, y, m: func.vmap(lambda a: a * 2, out_dims=-1)(m),
        2 * np.array(M).T,
    ),
    "out_dims of two": (
        lambda x, y, m: func.vmap(lambda a: (a.sum(), a), in_dims=1, out_dims=(0, 1))(m),
        ([5, 7, 9], M),
    ),
    "two results": (lambda x, y, m: func.vmap(lambda a: (a.sum(), a))(m), ([6, 15], M)),
    "the same for all": (lambda x, y, m: func.vmap(lambda a: y)(m), [Y, Y]),
    "no axis": (
        lambda x, y, m: func.vmap(lambda a: y * 2, out_dims=None)(m),
        2 * np.array(Y),
    ),
    "made inside": (
        lambda x, y, m: func.vmap(lambda a: torch.zeros_like(a) + 1)(m),
        np.ones((2, 3)),
    ),
    "new inside": (lambda x, y, m: func.vmap(lambda a: a.new_zeros(2))(m), np.zeros((2, 2))),
    "a number": (
        lambda x, y, m: func.vmap(lambda a, s: a * s, in_dims=(0, None))(m, 2.0),
        2 * np.array(M),
    ),
    "all of a keyword": (
        lambda x, y, m: func.vmap(lambda a, k=None: a.sum() * k)(m, k=y),
        np.outer([6, 15], Y),
    ),
    "a dictionary": (
        lambda x, y, m: func.vmap(lambda d: {"o": d["a"] * d["b"]}, in_dims=({"a": 0, "b": None},))(
            {"a": m, "b": y}
        ),
        {"o": np.array(M) * Y},
    ),
    "one axis for a container": (
        lambda x, y, m: func.vmap(lambda t: t[0] + t[1]["k"], in_dims=((0, None),))((m, {"k": y})),
        np.array(M) + Y,
    ),
    "batches of batches": (lambda x, y, m: func.vmap(func.vmap(lambda a: a * a))(m), np.square(M)),
    "a table": (
        lambda x, y, m: func.vmap(func.vmap(lambda a, b: a * b, (None, 0)), (0, None))(y, y),
        np.outer(Y, Y),
    ),
    "gather": (
        lambda x, y, m: func.vmap(lambda a, i: torch.gather(a, 0, i))(m, PLACES),
        [[1, 3], [5, 5]],
    ),
    "indices": (lambda x, y, m: func.vmap(lambda a, i: a[i])(m, PLACES), [[1, 3], [5, 5]]),
    "indices of one": (lambda x, y, m: func.vmap(lambda i: y[i])(PLACES), [[3, 5], [4, 4]]),
    "one_hot": (
        lambda x, y, m: func.vmap(lambda i: torch.nn.functional.one_hot(i, 3))(PLACE),
        [[1, 0, 0], [0, 0, 1]],
    ),
    "an index of one": (lambda x, y, m: func.vmap(lambda i: y[i])(PLACE), [3, 5]),
    "an index": (lambda x, y, m: func.vmap(lambda a, i: a[i] * 2)(m, PLACE), [2, 12]),
    "a column": (lambda x, y, m: func.vmap(lambda i: m[:, i])(PLACE), [[1, 4], [3, 6]]),
    "an element": (lambda x, y, m: func.vmap(lambda i: m[i // 2, i])(PLACE), [1, 6]),
    "gradients": (lambda x, y, m: func.vmap(func.grad(cubes))(m), 3 * np.square(M)),
    "Jacobians": (
        lambda x, y, m: func.vmap(func.jacrev(torch.sin))(m),
        [np.diag(np.cos(r)) for r in M],
    ),
    "Jacobians, forward": (
        lambda x, y, m: func.vmap(func.jacfwd(torch.sin))(m),
        [np.diag(np.cos(r)) for r in M],
    ),
    "Hessians": (
        lambda x, y, m: func.vmap(func.hessian(cubes))(m),
        [np.diag(6 * np.array(r)) for r in M],
    ),
    "tangents": (
        lambda x, y, m: func.vmap(lambda a, t: func.jvp(torch.sin, (a,), (t,))[1])(m, m),
        np.cos(M) * M,
    ),
    "tangents at one": (
        lambda x, y, m: func.vmap(lambda t: func.jvp(torch.sin, (y,), (t,))[1])(m),
        np.cos(Y) * M,
    ),
    "a basis through a pullback": (
        lambda x, y, m: func.vmap(func.vjp(lambda a: a**2, y)[1])(torch.eye(3).double()),
        (np.diag(2 * np.array(Y)),),
    ),
    "gradients with aux": (
        lambda x, y, m: func.vmap(func.grad(lambda a: ((a**2).sum(), a.sum()), has_aux=True))(m),
        (2 * np.array(M), [6, 15]),
    ),
    "a gradient through a batch": (
        lambda x, y, m: func.grad(lambda z: func.vmap(lambda a: (a**2).sum())(z).sum())(m),
        2 * np.array(M),
    ),
    "a Jacobian of a batch": (
        lambda x, y, m: func.jacrev(func.vmap(lambda a: a.sum()))(m)[0],
        [[1, 1, 1], [0, 0, 0]],
    ),
    "a program": (lambda x, y, m: func.grad(lambda a: (Square.apply(a) * a).sum())(x), [3, 12]),
    "Jacobian of a program": (
        lambda x, y, m: func.jacrev(lambda a: Square.apply(a) * a)(x),
        [[3, 0], [0, 12]],
    ),
    "second derivatives of a program": (
        lambda x, y, m: func.jacrev(func.jacrev(lambda a: (Square.apply(a) * a).sum()))(x),
        [[6, 0], [0, 12]],
    ),
    "a program twice": (
        lambda x, y, m: func.grad(lambda a: func.grad(lambda b: Square.apply(b) * b)(a))(TWO),
        12.0,
    ),
}


@pytest.mark.parametrize("name", VALUES)
def test_values_of_transforms(name, x, y, m):
    """Rule 62: results have the structure of what is asked for, and require no gradients."""
    call, expected = VALUES[name]
    check_tree(call(x, y, m), expected)
    assert x.grad is None


# Gradients ----------------------------------------------------------------------------------------


def test_dtypes_and_flags(x, m):
    """Rule 62: of the argument and of the result; nothing requires gradients."""
    assert func.grad(cubes)(x.float()).dtype == torch.float32
    assert func.vmap(lambda a: a * 2)(torch.ones(2)).dtype == torch.float32
    assert func.vmap(lambda a: a > 2)(m).dtype == torch.bool
    g, (value, aux) = func.grad_and_value(lambda a: (cubes(a), a * 2), has_aux=True)(x)
    assert not any(t.requires_grad for t in (g, value, aux))


def test_what_argnums_refuse(x, y):
    """Rule 62: arguments that are not there, and one twice."""
    refused(
        (
            RuntimeError,
            "Got argnum=2, but only 2 positional inputs",
            lambda: func.grad(weighed, argnums=2)(x, y),
        ),
        (
            RuntimeError,
            "argnums elements must be unique",
            lambda: func.grad(weighed, argnums=(0, 0))(x, y),
        ),
    )


def test_what_has_aux_refuses(x):
    """Rule 62: what is not a pair."""
    says = r"should be a tuple: \(output, aux\)"
    refused(
        (RuntimeError, says, lambda: func.grad(cubes, has_aux=True)(x)),
        (RuntimeError, says, lambda: func.grad(lambda a: (cubes(a), a, a), has_aux=True)(x)),
    )


def test_containers_keep_their_types(x, y):
    """Rule 62: dicts, lists, tuples, named tuples, as deep as they are."""

    def f(tree):
        return sum(cubes(a) for a in (tree["pair"].left, tree["list"][0], tree["list"][1][0]))

    tree = {"pair": Pair(x, y), "list": [y, (x,)]}
    g = func.grad(f)(tree)
    assert isinstance(g, dict)
    assert list(g) == ["pair", "list"]
    assert isinstance(g["pair"], Pair)
    assert isinstance(g["list"], list)
    assert isinstance(g["list"][1], tuple)
    for kind in (OrderedDict, lambda d: defaultdict(list, d)):
        given = kind({"b": x, "a": y})
        g2 = func.grad(lambda d: cubes(d["b"]))(given)
        assert type(g2) is type(given)
        assert list(g2) == ["b", "a"]
    check(g["pair"].left, [3, 12])
    check(g["pair"].right, [0, 0, 0])
    check(g["list"][0], [27, 48, 75])
    check(g["list"][1][0], [3, 12])


def test_what_grad_refuses(x):
    """Rule 62: non-scalar: RuntimeError 'scalar'."""
    for f in (lambda a: a * a, lambda a: cubes(a).reshape(1)):
        with pytest.raises(RuntimeError, match="scalar"):
            func.grad(f)(x)
    refused(
        (
            RuntimeError,
            r"to return a Tensor, got <class 'float'>",
            lambda: func.grad(lambda a: 3.0)(x),
        ),
        (
            RuntimeError,
            r"to return a Tensor, got <class 'tuple'>",
            lambda: func.grad(lambda a: (cubes(a), cubes(a)))(x),
        ),
        (ValueError, "must be Tensor, got <class 'float'>", lambda: func.grad(lambda a: a**2)(3.0)),
        (
            RuntimeError,
            "floating point",
            lambda: func.grad(lambda a: a.sum())(torch.tensor([1, 2])),
        ),
    )


# Nesting and records ------------------------------------------------------------------------------


def test_outer_records(x):
    """Rule 62: results can be differentiated by what requires gradients outside."""
    w = leaf([5.0, 6.0])
    g = func.grad(cubes)(w)
    assert g.requires_grad
    check(torch.autograd.grad(g.sum(), w)[0], [30, 36])
    g = func.grad(lambda a: (a * a * w).sum())(x)
    check(g, [10, 24])
    check(torch.autograd.grad(g.sum(), w)[0], [2, 4])
    check_backward(func.grad(lambda a: (a * w).sum())(x).sum(), (w, [1, 1]))
    _, value = func.grad_and_value(lambda a: (a * w).sum())(x)
    check(torch.autograd.grad(value, w)[0], X)
    h = func.hessian(lambda a: (a**2 * w).sum())(x)
    check(torch.autograd.grad(h.sum(), w)[0], [2, 2])


def test_closures_over_the_argument_are_constants():
    w = leaf(X)
    g = func.grad(lambda a: (a * w).sum())(w)
    check(g, X)
    check(torch.autograd.grad(g.sum(), w)[0], [1, 1])


def test_recording_off(x):
    """Outside it is the results that are not recorded; inside, what is computed is a constant."""
    w = leaf(X)
    with torch.no_grad():
        g = func.grad(cubes)(w)
    check(g, [3, 12])
    assert not g.requires_grad

    def f(a):
        with torch.no_grad():
            c = a**2
        return (a - c).sum()

    check(func.grad(f)(x), [1, 1])


def test_values_may_decide(x):
    """Data-dependent Python is not a problem outside of vmap."""

    def f(a):
        for _ in range(3):
            if a.sum() < 5:
                a = a * 2
        return a.sum() * float(a[0].detach() > 0)

    check(func.grad(f)(x), [2, 2])
    check(func.grad(f)(3 * x), [1, 1])


def test_changes_in_place(x):
    def f(a):
        b = a.clone()
        b.mul_(3)
        b[0] = a[1] ** 2
        return b.sum()

    check(func.grad(f)(x), [0, 7])
    refused(
        (
            RuntimeError,
            "leaf Variable that requires grad",
            lambda: func.grad(lambda a: a.mul_(2).sum())(x),
        ),
        (
            RuntimeError,
            "leaf Variable that requires grad",
            lambda: func.grad(lambda a: a.mul_(2).sum())(leaf(X)),
        ),
    )
    check(x, X)


def test_custom_functions(x):
    """What has no formula is differentiated by its own backward."""
    value, pullback = func.vjp(lambda a: Square.apply(a) * a, x)
    check(value, [1, 8])
    check(pullback(x)[0], [3, 24])
    check(pullback(2 * x)[0], [6, 48])
    g, value = func.grad_and_value(lambda a: (Square.apply(a) * a).sum())(x)
    assert not g.requires_grad
    assert not value.requires_grad
    w = leaf(X)
    g = func.grad(lambda a: (Square.apply(a) * w).sum())(x)
    check(torch.autograd.grad(g.sum(), w)[0], [2, 4])
    g = func.grad(lambda a: (Square.apply(a) * a).sum())(w)
    check(torch.autograd.grad(g.sum(), w)[0], [6, 12])
    with pytest.raises(RuntimeError, match="vmap"):
        func.vmap(Square.apply)(x)


@ours
def test_custom_functions_have_what_pytorch_wants_a_jvp_for(x):
    check(func.jvp(lambda a: Square.apply(a) * a, (x,), (x,))[1], [3, 24])
    check(func.hessian(lambda a: (Square.apply(a) * a).sum())(x), [[6, 0], [0, 12]])
    check(func.jacfwd(Square.apply)(x), [[2, 0], [0, 4]])


# Jacobians ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("jacobian", [func.jacrev, func.jacfwd])
def test_jacobians(jacobian, x, y):
    """Rule 62: jacfwd == jacrev."""
    check(jacobian(torch.sin)(x), np.diag(np.cos(X)))
    check(jacobian(lambda a: a)(x), np.eye(2))
    check(jacobian(cubes)(x), [3, 12])
    check(jacobian(lambda a: torch.ones(3).double())(x), np.zeros((3, 2)))
    check_tree(
        jacobian(lambda a, b: (a.sum() * b, a), argnums=(0, 1))(x, y),
        ((np.outer(Y, [1, 1]), 3 * np.eye(3)), (np.eye(2), np.zeros((2, 3)))),
    )
    check_tree(
        jacobian(lambda d: {"out": d["a"] * d["b"].sum()})({"a": x, "b": y}),
        {"out": {"a": 12 * np.eye(2), "b": np.outer(X, [1, 1, 1])}},
    )
    check_tree(jacobian(lambda a: (a**2, a.sum()), has_aux=True)(x), ([[2, 0], [0, 4]], 3.0))
    m = constant(np.arange(6.0).reshape(2, 3))
    assert tuple(jacobian(lambda a: a.t() @ a)(m).shape) == (3, 3, 2, 3)


def test_dtypes_of_jacobians(x):
    """Backward in the dtype of the argument, forward in that of the result."""
    b = torch.ones(2)
    j = func.jacrev(lambda a, b: a.float() * b, argnums=(0, 1))(x, b)
    assert [t.dtype for t in j] == [torch.float64, torch.float32]
    assert func.jacfwd(lambda a: a.float())(x).dtype == torch.float32
    g = func.grad(lambda a, b: (a * b).sum(), argnums=(0, 1))(x, b)
    assert [t.dtype for t in g] == [torch.float64, torch.float32]


def test_what_jacobians_refuse(x):
    refused(
        (
            RuntimeError,
            "to return only tensors, got unsupported type",
            lambda: func.jacrev(lambda a: 3.0)(x),
        ),
        (RuntimeError, "must be floating-point", lambda: func.jacrev(lambda a: a.argmax())(x)),
        (RuntimeError, "floating point", lambda: func.jacrev(lambda a: a)(torch.tensor([1, 2]))),
    )
    for jacobian in (func.jacfwd, func.hessian):
        with pytest.raises(ValueError, match="floating point"):
            jacobian(lambda a: a)(torch.tensor([1, 2]))


# Products -----------------------------------------------------------------------------------------


def test_vjp(x):
    """Rule 62: the pullback returns a tuple, as often as it is called."""
    value, pullback, aux = func.vjp(lambda a: (a**2, a.sum()), x, has_aux=True)
    check_tree((value, aux), ([1, 4], 3.0))
    assert not value.requires_grad
    check_tree(pullback(WEIGHTS), ([2, 40],))
    check_tree(pullback(x), ([2, 8],))


def test_what_vjp_refuses(x):
    _, pullback = func.vjp(lambda a: (a, a.sum()), x)
    with pytest.raises(RuntimeError, match="pytree structure of cotangents"):
        pullback(x)
    _, pullback = func.vjp(lambda a: a, x)
    refused(
        (RuntimeError, "Mismatch in shape", lambda: pullback(constant(1.0))),
        (RuntimeError, "must be floating-point", lambda: func.vjp(lambda a: a.argmax(), x)),
        (
            ValueError,
            "must be Tensor, got <class 'int'>",
            lambda: func.vjp(lambda a, n: a * n, x, 2),
        ),
    )


def test_jvp_at_kinks():
    """Rule 62: jvp of relu and abs at 0 is 0."""
    for f in (torch.relu, torch.abs):
        value, t = func.jvp(f, (constant(0.0),), (constant(1.0),))
        check(value, 0.0)
        check(t, 0.0)
        check(func.jacfwd(f)(constant([0.0])), [[0.0]])


def test_what_jvp_refuses(x):
    refused(
        (RuntimeError, "Expected primals to be a tuple", lambda: func.jvp(torch.sin, x, x)),
        (RuntimeError, "same python structure", lambda: func.jvp(torch.sin, (x,), (x, x))),
        (RuntimeError, "different size", lambda: func.jvp(torch.sin, (x,), (constant(1.0),))),
        (
            RuntimeError,
            "Expected primals to contain at least one Tensor",
            lambda: func.jvp(lambda: x, (), ()),
        ),
        (
            ValueError,
            "floating point",
            lambda: func.jvp(torch.sin, (torch.tensor(1),), (torch.tensor(1),)),
        ),
        (
            RuntimeError,
            "strict=True",
            lambda: func.jvp(lambda a: constant(1.0), (x,), (x,), strict=True),
        ),
    )


def test_memory_is_not_shared(x):
    _, pullback = func.vjp(lambda a: a * 1, x)
    pullback(x)[0].mul_(5)
    func.jvp(lambda a: a * 1, (x,), (x,))[1].mul_(5)
    check(x, X)


@ours
def test_memory_is_not_shared_by_identities(x):
    value, pullback = func.vjp(lambda a: a, x)
    value.mul_(5)
    pullback(x)[0].mul_(5)
    func.vmap(lambda a: x)(x).mul_(5)
    check(x, X)


def test_a_mapped_view_shares_the_memory_of_the_argument():
    """As PyTorch: what is a view in each slice is one of the whole, for writing and gradients."""
    x = torch.ones(2, 3)
    part, total, wide = func.vmap(lambda t: (t[:2], t.sum(), t.expand(2, 3)), out_dims=(1, 0, 0))(x)
    assert part._base is x
    assert wide._base is x
    assert total._base is None
    part.mul_(5)
    check(x, [[5.0, 5.0, 1.0]] * 2)
    x = torch.arange(24.0).reshape(2, 3, 4)
    y = func.vmap(lambda t: t.t()[1:, ::2], in_dims=2, out_dims=1)(x)
    check(y, np.stack([x[:, :, i].numpy().T[1:, ::2] for i in range(4)], 1))
    y.zero_()
    assert x[::2, 1:].count_nonzero().item() == 0
    leaf = torch.ones(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
        func.vmap(lambda t: t[:2])(leaf).mul_(2)
    base = leaf.clone()
    func.vmap(lambda t: t[:2])(base).mul_(3)
    check(base, [[3.0, 3.0, 1.0]] * 2)
    check_backward(base.sum(), (leaf, [[3.0, 3.0, 1.0]] * 2))


# Batches ------------------------------------------------------------------------------------------


def test_trees(m, y):
    """Rule 62: named tuples and lists, of arguments, axes and results."""
    out = func.vmap(lambda p: Pair(p.left * 2, p.right))(Pair(m, m))
    assert isinstance(out, Pair)
    check_all(out, 2 * np.array(M), M)
    out = func.vmap(lambda pair: [pair[0] + pair[1]], in_dims=((0, None),))((m, y))
    assert isinstance(out, list)
    check_all(out, np.array(M) + Y)


def test_what_vmap_refuses(m, y):
    """Rule 62: size mismatch ValueError, and other axes that do not fit."""
    refused(
        (
            ValueError,
            "same size in the mapped dimension",
            lambda: func.vmap(lambda a, b: a * b)(m, y),
        ),
        (
            ValueError,
            "expected in_dim to satisfy -2 <= in_dim < 2",
            lambda: func.vmap(lambda a: a, in_dims=2)(m),
        ),
        (ValueError, "dimensionality 0", lambda: func.vmap(lambda a: a)(constant(1.0))),
        (
            ValueError,
            "in_dims is not compatible with the structure",
            lambda: func.vmap(lambda a, b: a, in_dims=(0,))(m, m),
        ),
        (
            ValueError,
            "in_dims is not compatible with the structure",
            lambda: func.vmap(lambda t: t[0], in_dims=((0, 0, 0),))((m, m)),
        ),
        (
            ValueError,
            "at least one Tensor to vmap over",
            lambda: func.vmap(lambda a, b: a, in_dims=(None, None))(m, m),
        ),
    )
    for words in ("a", [0], None):
        with pytest.raises(ValueError, match="expected `in_dims` to be int or a"):
            func.vmap(lambda a: a, in_dims=words)(m)
    refused(
        (
            ValueError,
            "cannot vmap over non-Tensor arguments",
            lambda: func.vmap(lambda a, s: a * s)(m, 2.0),
        ),
        (ValueError, "got no inputs", lambda: func.vmap(lambda: y)()),
        (
            ValueError,
            "must only return Tensors, got type <class 'float'>",
            lambda: func.vmap(lambda a: 3.0)(m),
        ),
        (
            ValueError,
            "out_dims is not compatible with the structure",
            lambda: func.vmap(lambda a: (a, a), out_dims=(0,))(m),
        ),
        (
            ValueError,
            "can not return a BatchedTensor when out_dim is None",
            lambda: func.vmap(lambda a: a, out_dims=None)(m),
        ),
        (IndexError, "Dimension out of range", lambda: func.vmap(lambda a: a, out_dims=4)(m)),
        (
            ValueError,
            "chunk_size should be None or greater than 0",
            lambda: func.vmap(lambda a: a, chunk_size=0)(m),
        ),
        (
            RuntimeError,
            "Only allowed values for randomness",
            lambda: func.vmap(lambda a: a, randomness="maybe")(m),
        ),
    )


OPERATIONS = {
    "shape": lambda a, v: a.reshape(-1, 1) * a.shape[0] * a.numel(),
    "matmul": lambda a, v: a.reshape(1, 3) @ torch.outer(v, a),
    "where": lambda a, v: torch.where(a > 2, a, -v),
    "softmax": lambda a, v: torch.softmax(a, 0),
    "cumsum": lambda a, v: torch.cumsum(a, 0) + torch.cumprod(v * a, 0),
    "sort": lambda a, v: torch.sort(a, descending=True)[0],
    "max": lambda a, v: a.max() + a.max(0)[0] * a.argmax(),
    "cat": lambda a, v: torch.cat([a, v, a]),
    "stack": lambda a, v: torch.stack([v, a], 1),
    "moments": lambda a, v: a.std() + a.var() * a.mean(),
    "norm": lambda a, v: torch.linalg.norm(a) * torch.linalg.norm(v),
    "cast": lambda a, v: a.float(),
    "index": lambda a, v: a[1:] * a[0] + a[[2, 0]],
    "clone": lambda a, v: a.clone().mul_(v),
    "inverse": lambda a, v: torch.linalg.inv(torch.outer(a, a) + torch.eye(3).double()),
    "solve": lambda a, v: torch.linalg.solve(torch.diag(a) + torch.outer(v, v), a),
    "determinant": lambda a, v: torch.linalg.det(torch.outer(a, v) + torch.eye(3).double()),
    "pad": lambda a, v: torch.nn.functional.pad(a, (1, 2)),
    "entropy": lambda a, v: torch.nn.functional.cross_entropy(a, torch.tensor(1)),
    "clamp": lambda a, v: torch.clamp(a, 1.5, 4.5) ** v,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_of_batches(name, m, y):
    """What the loop gives, for values and for gradients of each slice."""
    f = OPERATIONS[name]
    check(func.vmap(f, in_dims=(0, None))(m, y), np.stack([f(a, y).numpy() for a in m]), rtol=1e-6)
    g = func.vmap(func.grad(lambda a, v: (f(a, v) ** 2).sum()), in_dims=(0, None))(m, y)
    loop = [func.grad(lambda a: (f(a, y) ** 2).sum())(a).numpy() for a in m]
    check(g, np.stack(loop), rtol=1e-5)


@ours
def test_gradients_of_one_element_of_each_slice(m):
    """PyTorch wants its value there."""
    found = func.vmap(func.grad(lambda a, i: a[i] ** 2))(m, torch.tensor([0, 2]))
    check(found, [[2, 0, 0], [0, 0, 12]])


def test_writing_to_fixed_places_of_slices(m):
    def index(a):
        b = a.clone()
        b[[2, 0]] = 7.0
        return b

    def scatter(a):
        return a.scatter(0, torch.tensor([1, 2]), a[:2] * 2)

    for f in (index, scatter):
        check(func.vmap(f)(m), np.stack([f(a).numpy() for a in m]))
        loop = np.stack([func.jacrev(f)(a).numpy() for a in m])
        check(func.vmap(func.jacrev(f))(m), loop)


@ours
def test_writing_to_places_of_their_own_is_refused(m):
    """Rather than done wrong: which of them are written to is known with the values only."""

    def f(a, i):
        b = a.clone()
        b[i] = 0.0
        return b

    with pytest.raises(RuntimeError, match=r"^vmap: "):
        func.vmap(f)(m, torch.tensor([0, 2]))


def test_transforms_inside_batches(m):
    """What a batch computed, and what it made, is from outside to a transform within."""

    def made(a):
        b = torch.zeros(3).double()
        return func.grad(lambda c: (c * (b + 1) * a).sum())(a)

    def computed(a):
        b = a * 2
        return func.grad(lambda c: (c * b).sum())(a)

    def deeper(a):
        return func.grad(lambda c: func.vmap(lambda d, e: d * e * a.sum())(c, a).sum())(a)

    def pulled(a):
        out, pullback = func.vjp(lambda c: c * a.sum(), a)
        return pullback(torch.ones_like(out))[0]

    sums = np.sum(M, 1, keepdims=True)
    check(func.vmap(made)(m), M)
    check(func.vmap(computed)(m), 2 * np.array(M))
    check(func.vmap(deeper)(m), M * sums)
    check(func.vmap(pulled)(m), np.broadcast_to(sums, (2, 3)))
    check(func.vmap(func.grad(lambda a: (a.detach() * a).sum()))(m), M)

    def writes(a):
        b = a.clone()
        return func.grad(lambda c: (b.add_(c) * b).sum())(a)

    with pytest.raises(RuntimeError):
        func.vmap(writes)(m)


def test_values_from_outside_may_decide_in_a_batch(m):
    """They are the same for all slices, and are looked at in every call."""

    flag = constant(1.0)

    def f(a):
        chosen = a * torch.arange(3)
        return chosen * flag.item() if flag else -chosen

    check(func.vmap(f)(m), np.array(M) * np.arange(3))
    flag.mul_(3)
    check(func.vmap(f)(m), 3 * np.array(M) * np.arange(3))


@ours
def test_constants_do_not_cost_a_new_program(m):
    from numeric.tracing.functions_as_formulas import _programs

    def f(a):
        return a[[2, 0]].sum() * torch.arange(3) + torch.eye(3).double() @ a

    for _ in range(3):
        func.vmap(func.grad(lambda a: f(a).sum()))(m)
        func.vmap(f)(m)
        known = list(_programs)
    func.vmap(f)(m)
    func.vmap(func.grad(lambda a: f(a).sum()))(m)
    assert set(_programs) == set(known)


def test_what_a_slice_says_of_itself(m):
    """Shape, rank, flags and text need no values."""
    seen = []

    def f(a):
        seen.append((tuple(a.shape), a.dim(), len(a), a.dtype, a.requires_grad))
        assert isinstance(repr(a), str)
        return a

    func.vmap(f)(m)
    assert seen == [((3,), 1, 3, torch.float64, False)]
    check(func.vmap(lambda a: sum(b * 2 for b in a))(m), [12, 30])


def test_values_do_not_decide_in_a_batch(m):
    """Rule 62: there is one run for all slices; the error names the user's line."""
    place = f".*{HERE}" if torch.__name__ == "numeric" else ""

    def f(a):
        return a if a.sum() > 0 else -a

    refused(
        (RuntimeError, f"^vmap: .*data-dependent control flow{place}", lambda: func.vmap(f)(m)),
        (RuntimeError, f"^vmap: .*item{place}", lambda: func.vmap(lambda a: a * a[0].item())(m)),
        (RuntimeError, f"^vmap: {place}", lambda: func.vmap(torch.nonzero)(m)),
        (
            RuntimeError,
            f"^vmap: .*data-dependent control flow{place}",
            lambda: func.vmap(func.grad(lambda a: f(a).sum()))(m),
        ),
    )


def test_random_numbers_in_a_batch(m):
    refused(
        (
            RuntimeError,
            r"^vmap: .*random operation.*error mode",
            lambda: func.vmap(lambda a: a + torch.randn(3))(m),
        ),
        (
            RuntimeError,
            r"^vmap: .*random operation.*error mode",
            lambda: func.vmap(lambda a: a + torch.rand_like(a))(m),
        ),
    )
    out = func.vmap(lambda a: torch.rand(3).double() + 0 * a, randomness="same")(m)
    check(out[0], out[1].numpy())
    again = func.vmap(lambda a: torch.rand(3).double() + 0 * a, randomness="same")(m)
    assert not torch.equal(out, again)


def test_other_random_numbers_for_each_slice(m):
    for draw in (
        lambda: torch.rand(3).double(),
        lambda: torch.randn(3).double(),
        lambda: torch.randint(100, (3,)).double(),
        lambda: torch.randperm(20)[:3],
        lambda: torch.bernoulli(torch.full((9,), 0.5))[:3].double(),
    ):
        torch.manual_seed(3)
        out = func.vmap(lambda a: a * 0 + draw(), randomness="different")(m)  # noqa: B023
        assert not torch.equal(out[0], out[1])
        torch.manual_seed(3)
        again = func.vmap(lambda a: a * 0 + draw(), randomness="different")(m)  # noqa: B023
        check(out, again.numpy())
    torch.manual_seed(3)
    out = func.vmap(lambda a: torch.rand_like(a) * a, randomness="different")(m)
    torch.manual_seed(3)
    check(out, (torch.rand(2, 3, dtype=torch.float64) * m).numpy())
    g = func.vmap(func.grad(lambda a: (torch.rand_like(a) * a).sum()), randomness="different")(m)
    assert not torch.equal(g[0], g[1])
    deep = func.vmap(
        func.vmap(lambda a: a + torch.rand((), dtype=torch.float64), randomness="different"),
        randomness="different",
    )(m * 0)
    assert len(set(deep.reshape(-1).tolist())) == 6


def test_batches_of_records(m):
    w = leaf(Y)
    out = func.vmap(lambda a: (a * w).sum())(m)
    check(torch.autograd.grad(out.sum(), w)[0], [5, 7, 9])
    mm = leaf(M)
    out = func.vmap(lambda a: (a**2).sum())(mm)
    check(torch.autograd.grad(out[1], mm)[0], [[0, 0, 0], [8, 10, 12]])
    with torch.no_grad():
        assert not func.vmap(lambda a: (a * w).sum())(m).requires_grad


# Networks -----------------------------------------------------------------------------------------


def parameters(seed=0):
    rng = np.random.default_rng(seed)
    sizes = {"w": (3, 4), "b": (4,), "u": (4,)}
    return {name: constant(rng.normal(size=shape)) for name, shape in sizes.items()}


def network(p, x):
    return torch.tanh(x @ p["w"] + p["b"]) @ p["u"]


def loss(p, x, target):
    return (network(p, x) - target) ** 2


def test_gradients_of_each_sample(m):
    """vmap(grad(loss), in_dims=(None, 0, 0)), and the loop."""
    p, t = parameters(), constant([1.0, -1.0])
    found = func.vmap(func.grad(loss), in_dims=(None, 0, 0))(p, m, t)
    assert list(found) == ["w", "b", "u"]
    for i in range(2):
        q = {k: v.clone().requires_grad_() for k, v in p.items()}
        loss(q, m[i], t[i]).backward()
        for k, v in q.items():
            check(found[k][i], v.grad.numpy())


def test_the_jacobian_of_a_network(m):
    p = parameters()
    j = func.jacrev(network)(p, m)
    assert {k: tuple(v.shape) for k, v in j.items()} == {"w": (2, 3, 4), "b": (2, 4), "u": (2, 4)}
    k = func.jacfwd(network)(p, m)
    each = func.vmap(func.jacrev(network), in_dims=(None, 0))(p, m)
    for name in p:
        check(j[name], k[name].numpy())
        check(j[name], each[name].numpy())


def test_ensembles(m):
    """vmap over stacked parameters."""
    models = [parameters(seed) for seed in range(3)]
    whole = {k: torch.stack([p[k] for p in models]) for k in models[0]}
    out = func.vmap(network, in_dims=(0, None))(whole, m)
    check(out, np.stack([network(p, m).numpy() for p in models]))
    every = func.vmap(func.vmap(network, in_dims=(None, 0)), in_dims=(0, None))(whole, m)
    check(every, out.numpy())


def test_newton_steps(x):
    """grad and hessian together."""
    f = lambda a: (torch.exp(a) - a).sum() + a.prod() ** 2  # noqa: E731
    a = x
    for _ in range(12):
        a = a - torch.linalg.solve(func.hessian(f)(a), func.grad(f)(a))
    check(func.grad(f)(a), [0, 0], atol=1e-10)


# Traces -------------------------------------------------------------------------------------------


@ours
def test_in_compiled_functions(m):
    p, t = parameters(), constant([1.0, -1.0])
    each = torch.compile(func.vmap(func.grad(loss), in_dims=(None, 0, 0)))
    found = func.vmap(func.grad(loss), in_dims=(None, 0, 0))(p, m, t)
    for _ in range(2):
        for k, v in each(p, m, t).items():
            check(v, found[k].numpy())
    with pytest.raises(RuntimeError, match=r"^compile: .*Square"):
        torch.compile(func.grad(lambda a: Square.apply(a).sum()))(m)


@ours
def test_a_batch_is_one_operation(m):
    w = leaf(Y)
    y = func.vmap(lambda a: torch.tanh(a * w).sum())(m)
    assert type(y.grad_fn).__name__ == "FunctionBackward0"
    g = func.grad(lambda a: torch.tanh(a * w).sum())(m[0])
    assert type(g.grad_fn).__name__ == "FunctionBackward0"


@pytest.mark.parametrize(
    "value",
    [
        lambda x: func.jvp(torch.sqrt, (x,), (torch.ones(1),))[0],
        lambda x: func.grad_and_value(lambda x: torch.sqrt(x).sum())(x)[1],
        lambda x: torch.autograd.functional.vjp(torch.sqrt, x, torch.ones(1), True)[0],
        lambda x: torch.autograd.functional.jvp(torch.sqrt, x, torch.ones(1), True)[0],
        lambda x: torch.autograd.functional.hvp(lambda x: torch.sqrt(x).sum(), x, None, True)[0],
    ],
)
def test_the_gradient_of_a_value_beside_a_derivative_is_its_own(value):
    """The second derivative is infinite, too, and nobody has asked for it."""
    x = torch.zeros(1, requires_grad=True)
    (g,) = torch.autograd.grad(value(x).sum(), x)
    assert g.tolist() == [np.inf]
