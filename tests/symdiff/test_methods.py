"""Methods of expressions are NumPy's, and a name that is not there says what is."""

import re
from operator import attrgetter

import numpy as np
import pytest
from scipy import special

import numeric
import symdiff as sd
from symdiff import guesses
from symdiff.interchange import numpy_protocol
from tests.support.cases import all_cases

A = np.array([[[0.3, -1.7, 2.2], [2.2, 0.4, -0.6]]])
SQUARE = np.array([[2.0, 0.5, -1.0], [0.25, 3.0, 0.75], [-0.5, 1.5, 4.0]])
# Of every method of NumPy's arrays: calls, which give the same here.
CALLS = {
    "T": [A, SQUARE],
    "mT": [A, SQUARE],
    "real": [A],
    "imag": [A],
    "conj": [(A,)],
    "conjugate": [(A,)],
    "copy": [(A,)],
    "all": [(A > 0,), (A > 0, 1), (A, -1, {"keepdims": True})],
    "any": [(A > 0,), (A > 0, (0, 2)), (A * 0, -1, {"keepdims": True})],
    "argmax": [(A,), (A, 1), (A, -1, {"keepdims": True})],
    "argmin": [(A,), (A, 1), (A, -1, {"keepdims": True})],
    "argsort": [(SQUARE,), (SQUARE, 0), (SQUARE, None)],
    "clip": [(A, -1, 1), (A, 0), (A, None, 0.5), (A, {"min": 0.0}), (A, {"max": A[:, :1]})],
    "cumprod": [(A,), (A, 1)],
    "cumsum": [(A,), (A, 1), (A, {"axis": 2})],
    "diagonal": [(SQUARE,), (SQUARE, 1), (A, 0, 1, 2)],
    "dot": [(SQUARE, SQUARE), (A, SQUARE), (SQUARE, 2.0), (SQUARE[0], SQUARE[1])],
    "flatten": [(A,)],
    "max": [(A,), (A, 1), (A, (0, -1)), (A, 1, {"keepdims": True})],
    "mean": [(A,), (A, 1), (A, (0, -1)), (A, 1, {"keepdims": True})],
    "min": [(A,), (A, 1), (A, (0, -1)), (A, 1, {"keepdims": True})],
    "prod": [(A,), (A, 1), (A, (0, -1)), (A, 1, {"keepdims": True})],
    "ravel": [(A,)],
    "repeat": [(A, 2), (A, 2, 1), (A, [1, 2], 1)],
    "reshape": [(A, 3, 2), (A, (2, -1)), (A, -1)],
    "round": [(A,), (A, 1), (A, -1)],
    "squeeze": [(A,), (A, 0)],
    "std": [(A,), (A, 1), (A, {"ddof": 1}), (A, 1, {"keepdims": True})],
    "sum": [(A,), (A, 1), (A, (0, -1)), (A, 1, {"keepdims": True})],
    "swapaxes": [(A, 0, 2), (A, -1, 1)],
    "take": [(A, 4), (A, [2, 0], 2), (A, np.array([[1, 0]]), 1)],
    "trace": [(SQUARE,), (SQUARE, 1), (A, 0, 1, 2)],
    "transpose": [(A,), (A, 2, 0, 1), (A, (1, 0, 2))],
    "var": [(A,), (A, 1), (A, {"ddof": 1}), (A, 1, {"keepdims": True})],
    "astype": [(A, float), (A > 0, bool), (A, bool), (A > 0, int), (A > 0, float)],
}
DESCRIBED = {"ndim", "shape", "size", "dtype"}
# NumPy 2.2 lists methods that raise AttributeError, and tostring, which NumPy 2.3 removed.
METHODS = {name for name in set(dir(np.ndarray)) - DESCRIBED if hasattr(A, name)} - {"tostring"}


@all_cases("name", sorted(METHODS), least=161)
def test_a_method_of_arrays_is_here_or_says_what_is(name):
    if name.startswith("_"):
        return
    if name not in CALLS:
        assert not hasattr(sd.Expr, name)
        with pytest.raises(AttributeError, match=f"no attribute '{name}': "):
            getattr(sd.symbol("x", 3), name)
        return
    for call in CALLS[name]:
        a, *given = call if isinstance(call, tuple) else (call,)
        words = given.pop() if given and isinstance(given[-1], dict) else {}
        x = sd.symbol("x", a.shape, a.dtype.type if a.dtype != bool else bool)
        found, expected = getattr(x, name), getattr(a, name)
        if isinstance(call, tuple):
            found, expected = found(*given, **words), expected(*given, **words)
        value = np.asarray(numeric.interpret(found, {x: a}))
        assert value.shape == expected.shape
        assert value.dtype == expected.dtype
        np.testing.assert_allclose(value, expected, rtol=1e-15)


@pytest.mark.parametrize("name", ["det", "inv"])
def test_methods_of_matrices(name):
    x = sd.symbol("x", (3, 3))
    value = numeric.interpret(getattr(x, name)(), {x: SQUARE})
    np.testing.assert_allclose(value, getattr(np.linalg, name)(SQUARE), rtol=1e-14)


# Names that are not there -------------------------------------------------------------------------

ours = numeric.guesses
OWNERS = {
    "symdiff": (sd, guesses.PACKAGE),
    "expressions": (sd.pi, guesses.EXPRESSION),
    "numeric": (numeric, ours.PACKAGE),
    "nn": (numeric.nn, ours.NN),
    "nn.functional": (numeric.nn.functional, ours.FUNCTIONAL),
    "optim": (numeric.optim, ours.OPTIM),
    "autograd": (numeric.autograd, ours.AUTOGRAD),
    "func": (numeric.func, ours.FUNC),
    "linalg": (numeric.linalg, ours.LINALG),
    "tensors": (numeric.ones(2), ours.TENSOR),
    "export": (numeric.export, ours.EXPORT),
    "check": (numeric.check, ours.CHECK),
    "show": (numeric.show, ours.SHOW),
    "Functions": (numeric.lower(sd.pi, []), ours.FUNCTION),
    "grad_fns": (numeric.ones(2, requires_grad=True).exp().grad_fn, ours.GRAD_FN),
}


@pytest.mark.parametrize("owner", OWNERS)
def test_a_guess_does_not_exist_and_names_what_does(owner):
    thing, table = OWNERS[owner]
    names = {"sd": sd, "numeric": numeric, "f": sd.pi, "F": OWNERS["Functions"][0], "np": np}
    for name, text in table.items():
        assert not hasattr(thing, name)
        with pytest.raises(AttributeError, match=re.escape(text)) as caught:
            getattr(thing, name)
        assert f"no attribute '{name}'" in str(caught.value)
        for package, known in re.findall(r"\b(sd|numeric|np|f|F)\.([\w.]*\w)", text):
            assert attrgetter(known)(names[package]) is not None, text
        for known in re.findall(r"(?<!\.)\b((?:nn|autograd|func)\.[\w.]*\w)", text):
            assert attrgetter(known)(numeric) is not None, text


@pytest.mark.parametrize("name", ["sin", "expm1", "softmax", "matmul", "abs", "concat", "eigh"])
def test_functions_that_are_no_methods(name):
    with pytest.raises(AttributeError, match=rf"no attribute '{name}': sd\.{name}\(x\)"):
        getattr(sd.symbol("x", (2, 2)), name)
    assert not hasattr(sd.Expr, name)
    assert name not in dir(sd.pi)


# What newcomers tried, whether it exists or not: it works, or the error names what does.
TRIED = {
    "sd": "custom_vjp lax fori_loop checkpoint ccode codegen nlpsol integrator SX MX vertcat "
    "horzcat mtimes if_else fmax sumsqr norm_2 jtimes symvar depends_on laplacian hess equals "
    "Symbol lambdify subs simplify expand factor trigsimp series taylor integrate limit "
    "Matrix array asarray Piecewise Function gradient hessian jacobian diff ln Abs Heaviside "
    "sec cot sech csch coth factorial Rational oo inf E I cse count_ops lgamma logdet linalg block "
    "logm sqrtm scan Eq And Sum Poly roots MatrixSymbol relu tensor jacfwd stop_gradient re "
    "conjugate draw plot DiracDelta Subs euler_equations histogram unique polyfit",
    "x": "equals has atoms det inv max dot std clip prod flatten ravel copy astype squeeze cumsum "
    "round subs simplify expand factor collect series limit taylor integrate doit grad hessian "
    "jacobian lambdify numpy item eval to_sympy detach sin exp norm coeff is_constant",
    "F": "n_in n_out map generate call grad gradient hvp partial save hessian jacobian subs vjp "
    "expr evalf",
    "nm": "vmap gradcheck check_grad jit grad lambdify symbol save load cuda utils FloatTensor "
    "custom_jvp jacfwd stop_gradient nlpsol integrator codegen bfloat16 ndarray svd lstsq "
    "set_num_threads polygamma trapezoid cdist cov bincount simplify latex Parameter Module conv2d "
    "batch_norm max_pool2d onnx fx distributed profiler stft lu",
    "nm.nn": "Transformer BatchNorm1d MaxPool2d AvgPool1d LSTM "
    "GELU HuberLoss Module Linear MSELoss Sequential init Parameter functional",
    "nm.nn.functional": "batch_norm max_pool2d avg_pool1d normalize layer_norm cosine_similarity "
    "embedding conv2d",
    "nm.optim": "LBFGS RMSprop lr_scheduler SGD",
    "nm.func": "functional_call linearize vmap",
    "nm.autograd": "forward_ad functional hvp",
    "nm.special": "erf gamma",
    "nm.linalg": "lu eig solve",
    "nm.check": "finite_differences fd numerical_gradient approx_fprime",
    "nm.ones(2)": "cuda evalf subs bfloat16",
}


@pytest.mark.parametrize("owner", TRIED)
def test_what_newcomers_try(owner):
    known = {
        "nm.ones(2)": numeric.ones(2),
        "sd": sd,
        "x": sd.symbol("x"),
        "nm": numeric,
        "F": OWNERS["Functions"][0],
    }
    thing = known[owner] if owner in known else attrgetter(owner[3:])(numeric)
    for name in TRIED[owner].split():
        if not hasattr(thing, name):
            with pytest.raises(AttributeError, match=rf"has no attribute '{name}': \S"):
                getattr(thing, name)


R, M = sd.symbol("R"), numeric.lower([sd.symbol("R") ** 2], [sd.symbol("R")])


@pytest.mark.parametrize(
    ("call", "remedy"),
    [
        (lambda: sd.hessian(R**2, R, R), "hessian(f, [x, y])"),
        (lambda: sd.jacobian(R**2, R, R), "jacobian(f, [x, y])"),
        (lambda: sd.hvp(R**2, R), "hvp(f, x, v)"),
        (lambda: numeric.lower(R**2, R, R), "lower(f, [x, y])"),
        (lambda: numeric.lower(R**2), "lower(f, [x, y])"),
        (lambda: numeric.lower(sd.hessian(x * y, [x, y]), [x, y]), "sd.stack(row) for row in"),
        (lambda: numeric.lower([[x], [y]], [x, y]), "has F.hessian"),
        (lambda: sd.ones(3, 3), "ones((2, 3))"),
        (lambda: sd.zeros((3, 3), dtype=float), "zeros((2, 3)); elements have the precision"),
        (lambda: sd.full(3, 3, 1), "full((2, 3), value)"),
        (lambda: sd.substitute(R**2, R, 3), "substitute(f, {x: 3})"),
        (lambda: (R**2).evalf(30, R=3), "f.evalf(30, subs={x: 1})"),
        (lambda: sd.evalf(R**2, 30, R=3), "evalf(f, 30, subs={x: 1})"),
        (lambda: sd.symbols("u w", real=True), "nothing else is assumed"),
        (lambda: sd.symbol("u", positive=True), "nothing else is assumed"),
        (
            lambda: sd.symbol("A", 3, 3),
            "3 is not a dtype: float, int or bool; lengths of several axes",
        ),
        (lambda: sd.symbols("A B", 3, 3), 'a tuple, symbol("x", (2, 3))'),
        (lambda: M.grad(1.0, argnums=0), "wrt=[x, y]"),
    ],
)
def test_arguments_that_do_not_fit_name_those_that_do(call, remedy):
    with pytest.raises(TypeError, match=re.escape(remedy)):
        call()


def test_symbols_without_a_value_are_named_in_the_order_in_which_they_were_made():
    first, second, third = sd.symbols("zeta_1 alpha_1 mu_1")
    f = sd.exp(-((third - first) ** 2) / second) * first
    for call in (
        lambda: f.evalf(),
        lambda: numeric.lower(f, []),
        lambda: numeric.export.scipy(f + R, R),
    ):
        with pytest.raises(ValueError, match="zeta_1, alpha_1"):
            call()


def test_what_a_function_raises_itself_stays_as_it_is():
    with pytest.raises(TypeError, match="is not an expression") as caught:
        sd.hessian(R**2, "R".join)
    assert "write" not in str(caught.value)


u, w = sd.symbols("u w")
GRADIENT, HESSIAN = (by(u**2 * sd.sin(w) / u, [u, w]) for by in (sd.grad, sd.hessian))


def test_what_derivatives_by_several_symbols_are_is_simplified():
    for change in (sd.simplify, sd.expand, sd.factor):
        assert change(GRADIENT) == (change(GRADIENT[0]), change(GRADIENT[1]))
        assert change(HESSIAN) == tuple(tuple(map(change, row)) for row in HESSIAN)
    assert sd.simplify(HESSIAN) == ((sd.constant(0), sd.cos(w)), (sd.cos(w), -u * sd.sin(w)))
    assert sd.collect((u * w + u, (u,)), u) == (u * (w + 1), (u,))


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (lambda: sd.text(sd.simplify(GRADIENT)), "[ sin(w)   ]\n[ u*cos(w) ]"),
        (lambda: sd.text(sd.simplify(HESSIAN)), "[ 0        cos(w)    ]\n[ cos(w)   -u*sin(w) ]"),
        (lambda: sd.latex((u, (w**2,))), r"\left(u, \; \left(w^{2},\right)\right)"),
        (lambda: sd.text(()), "()"),
        (lambda: sd.latex(()), r"\left(\right)"),
        (lambda: sd.evalf(sd.hessian(u**2 * w, [u, w]), 5, {"u": 3, "w": 2}), ((4, 6), (6, 0))),
    ],
)
def test_what_derivatives_by_several_symbols_are_is_written_and_valued(found, wanted):
    assert found() == wanted
    assert isinstance(found(), type(wanted))


@pytest.mark.parametrize("write", [sd.text, sd.latex, sd.short], ids=lambda f: f.__name__)
def test_what_is_no_expression_is_not_written(write):
    """And the error says where its formula is."""
    F, t = OWNERS["Functions"][0], numeric.ones(2)
    for value, remedy in [
        (F, "the formulas of a Function F are F.outputs"),
        (t, "of an eager tensor t, t.expr is the formula"),
        ([sd.pi, sd.e], "sd.stack makes one array"),
        ("x + 1", "sd.parse reads a formula"),
    ]:
        with pytest.raises(TypeError, match=remedy):
            write(value)
    assert write(F.outputs[0])
    assert write(t.expr)


def test_a_tuple_of_one_symbol_is_not_that_symbol():
    """And twice such a tuple is no better."""
    lone = sd.symbols("lambda")
    for wrong in (lambda: sd.exp(lone), lambda: sd.exp(2 * lone), lambda: sd.hypot(lone, 1)):
        with pytest.raises(
            TypeError, match=r"take lambda itself, the tuple's only element, by \[0\]"
        ):
            wrong()


def test_matrices_may_be_nested_tuples_as_hessians_are():
    a, b = sd.symbols("a b")
    rows = sd.hessian(a**2 * b, [a, b])
    assert isinstance(rows, tuple)
    matrix = sd.stack([sd.stack(row) for row in rows])
    for function in (sd.det, sd.inv, sd.trace, sd.eigvalsh):
        assert function(rows) is function(matrix)
        assert function([list(row) for row in rows]) is function(matrix)
    assert sd.solve(rows, [a, b]) is sd.solve(matrix, sd.stack([a, b]))


def test_solvers_of_other_libraries_are_roots():
    for package in (sd, numeric):
        for name in ("nsolve", "fsolve", "brentq"):
            with pytest.raises(AttributeError, match=r"sd\.root\(f, x0\)"):
                getattr(package, name)


def test_a_difference_of_elements_is_no_derivative():
    for values in (np.arange(5.0), sd.symbol("v", 5)):
        with pytest.raises(TypeError, match=r"name at least one variable, .* are np.diff\(a\)"):
            sd.diff(values)


def test_long_tuples_have_an_entry_a_line():
    u, w = sd.symbols("u w")
    long = sd.stack([sd.sin(u + k) ** w for k in range(7)])
    text = sd.text((u, (long, w)))
    assert text == f"(u,\n ({sd.text(long)},\n  w))"


def test_a_misspelt_name_is_an_attribute_error_as_everywhere():
    for thing, _ in OWNERS.values():
        with pytest.raises(AttributeError, match="'sinn'") as caught:
            thing.sinn  # noqa: B018
        assert caught.value.name == "sinn"
        assert caught.value.obj is thing


# Lists, and operands in the place of an axis ------------------------------------------------------

x, y = sd.symbols("x y")
V, B2 = sd.symbol("V", 2), sd.symbol("M", (2, 2))
ROWS = [[x, 1], [2, y]]
ONE, ZERO = sd.constant(1), sd.constant(0)
P, Q = sd.symbol("P", (2, 3)), sd.symbol("Q", (3, 4))
DEEP = [x]
for _ in range(10_000):
    DEEP = [DEEP]
SPELLINGS = [
    (lambda: u.subs(u, 3), sd.constant(3)),
    (lambda: u.subs([(u, 3)]), sd.constant(3)),
    (lambda: sd.hessian(u * w, [u, w])[0][1], sd.constant(1)),
    (lambda: sd.jacobian([u * w, u], [u, w])[0][0], w),
    (lambda: sd.jacobian([u * w, u], [u, w])[0][1], u),
    # Lists are arrays.
    (
        lambda: sd.stack([[ONE, ZERO], [ZERO, 1]]),
        sd.stack([sd.stack([ONE, ZERO]), sd.stack([ZERO, 1])]),
    ),
    (lambda: sd.stack(ROWS), sd.stack([sd.stack([x, 1]), sd.stack([2, y])])),
    (lambda: B2.T.subs({B2: ROWS}), sd.stack(ROWS).T),
    (lambda: (x * V).subs({V: [y, 2]}), x * sd.stack([y, 2])),
    (lambda: np.dot(V, [x, y]), V @ sd.stack([x, y])),
    # What SymPy's subs takes.
    (lambda: (x**2 * y).subs(x, 3), 9 * y),
    (lambda: (x**2 * y).subs("x", 3), 9 * y),
    (lambda: (x**2 * y).subs([(x, 3), (y, x)]), 9 * x),
    (lambda: (x**2 * y).subs([(x, x + 1)]), (x + 1) ** 2 * y),
    (lambda: (x**2 * y).subs([(x, 3), (y, 2)]), sd.constant(18)),
    (lambda: (x**2 * y).subs([]), x**2 * y),
    # Lists of axes.
    (lambda: sd.einsum(P, [0, 1], Q, [1, 2], [0, 2]), P @ Q),
    (lambda: np.einsum(P, [5, 7], Q, [7, 6]), P @ Q),
    (lambda: sd.einsum(P, [..., 0], [..., 0]), P),
    (lambda: sd.einsum(P, [0, 1], []), sd.sum(P)),
]


@pytest.mark.parametrize(("call", "wanted"), SPELLINGS, ids=lambda v: "" if callable(v) else str(v))
def test_what_users_of_other_libraries_write_is_the_same_node(call, wanted):
    assert call() is wanted


REFUSED = [
    *(
        (sd.Unsupported, r"astype: .*", lambda dtype=dtype: sd.symbol("x", 3).astype(dtype))
        for dtype in (np.float32, "f2", int, complex, str)
    ),
    (
        sd.ShapeError,
        r"substitute: symbol u: expected shape \(\), got .*of points",
        lambda: sd.sin(u).subs(u, [1.0, 2.0]),
    ),
    (
        TypeError,
        r"numeric\.check\.why\(f, g\) to prove",
        lambda: bool(sd.sin(u) ** 2 + sd.cos(u) ** 2 == 1),
    ),
    (
        TypeError,
        r"formulas come first, as in lower\(f, \[x, y\]\)",
        lambda: numeric.lower((u, w), u * w),
    ),
    (TypeError, r"sd.from_function\(fn, x\)", lambda: numeric.lower(lambda u: u**2, u)),
    (TypeError, r"write diff\(f, x, 2, y\)", lambda: sd.diff(u**3, (u, 2))),
    (ValueError, r"sd.symbols\('u w'\) makes 2 symbols", lambda: sd.symbol("u w")),
    (
        ValueError,
        "no symbol is named 'z'",
        lambda: sd.evalf(GRADIENT, 5, {"u": 3, "w": 2, "z": 1}),
    ),
    *(
        (TypeError, "is not a real number", lambda use=use: use((u, ["w"])))
        for use in (sd.text, sd.latex, sd.simplify, sd.evalf)
    ),
    (sd.ShapeError, "stack: shapes", lambda: sd.stack([[x, y], [x]])),
    (ValueError, "nested", lambda: sd.stack(DEEP)),
    (TypeError, r"sd\.stack", lambda: sd.sin([x, y])),
    (ValueError, "subs: y is replaced after", lambda: (x**2 * y).subs([(x, y), (y, x)])),
    (ValueError, "given twice", lambda: (x**2 * y).subs([(x, 1), (x, 2)])),
    *(
        (TypeError, "subs: ", lambda wrong=wrong: (x**2 * y).subs(*wrong))
        for wrong in ((3,), ([x, 3],), (), (x, 3, y))
    ),
    *(
        ((TypeError, ValueError), "einsum", lambda wrong=wrong: sd.einsum(*wrong))
        for wrong in ((P, [0, 52]), (P, "ij"), (P, [0, 1], Q), (P, ["i", "j"]))
    ),
]


@pytest.mark.parametrize(("error", "says", "call"), REFUSED)
def test_what_is_refused(error, says, call):
    with pytest.raises(error, match=says):
        call()


def test_numbers_of_matrices():
    one, A = sd.constant(1), sd.symbol("A", (2, 2))
    assert numeric.interpret(sd.stack([[one, one], [1, 1]]), {}).tolist() == [[1, 1], [1, 1]]
    assert numeric.interpret(sd.simplify(A @ sd.inv(A)), {}).tolist() == [[1, 0], [0, 1]]


def test_shapes_of_nested_lists():
    assert sd.concat([ROWS, [[x, x]]]).shape == (3, 2)
    assert sd.concatenate([[x], V]).shape == (3,)
    assert sd.vstack([ROWS, [x, y]]).shape == (3, 2)
    assert sd.stack([[[1, 2], [x, y]]]).shape == (1, 2, 2)


@pytest.mark.parametrize(
    ("call", "remedy"),
    [
        (lambda: sd.max(x, y), "sd.maximum(x, y)"),
        (lambda: sd.min(V, V), "sd.minimum(x, y)"),
        (lambda: sd.sum(x, y), "x + y"),
        (lambda: sd.prod(x, y), "x * y"),
        (lambda: sd.stack(x, y), "sd.stack([x, y])"),
        (lambda: sd.stack(V, x), "sd.stack([x, y])"),
        (lambda: sd.concat(V, V), "sd.concat([x, y])"),
        (lambda: sd.logsumexp(x, y), "sd.logsumexp([x, y])"),
        (lambda: sum(x), "sd.stack([x, y])"),
        (lambda: x.sum(y), "x + y"),
    ],
)
def test_an_operand_in_the_place_of_an_axis_names_the_remedy(call, remedy):
    with pytest.raises(TypeError, match=re.escape(remedy)):
        call()


# NumPy's and SciPy's forms ------------------------------------------------------------------------


@pytest.mark.parametrize("order", [-0.5, -1, -2, -3])
def test_norms_of_negative_order(order):
    """An element 0 makes the norm 0, with a slope of 0; infinite ones add nothing."""
    x = sd.symbol("x", 3)
    inf = np.inf
    for at in ([0.0, 2.0, 3.0], [1.0, -2.0, 4.0], [1.0, inf, -inf], [inf, inf, inf]):
        with np.errstate(all="ignore"):
            expected = np.linalg.norm(at, order)
        value = numeric.interpret(sd.norm(x, order), {x: np.array(at)})
        np.testing.assert_allclose(value, expected, rtol=1e-14)
    slope = numeric.interpret(sd.grad(sd.norm(x, order), x), {x: np.array([0.0, 2.0, 0.0])})
    assert slope.tolist() == [0, 0, 0]


@pytest.mark.parametrize("order", [2, -2, "nuc"])
@pytest.mark.parametrize("axis", [None, (0, 1), (1, 0)])
def test_norms_by_singular_values(order, axis):
    B = sd.symbol("B", (3, 2))
    b = SQUARE[:, :2]
    value = numeric.interpret(np.linalg.norm(B, order, axis=axis), {B: b})
    np.testing.assert_allclose(value, np.linalg.norm(b, order, axis=axis), rtol=1e-14)
    kept = numeric.interpret(sd.norm(A[..., :2], order, (0, 2), keepdims=True), {})
    np.testing.assert_allclose(kept, np.linalg.norm(A[..., :2], order, (0, 2), keepdims=True))
    slope = numeric.interpret(sd.grad(sd.norm(B, order), B), {B: b})
    step = 1e-6 * np.eye(1, 6, 3).reshape(3, 2)
    near = [np.linalg.norm(b + s * step, order) for s in (1, -1)]
    assert abs(slope[1, 1] - (near[0] - near[1]) / 2e-6) < 1e-8


def test_cross_takes_an_axis_of_each():
    P, Q = sd.symbol("P", (3, 2)), sd.symbol("Q", (2, 3))
    p, q = np.arange(6.0).reshape(3, 2), np.cos(np.arange(6.0)).reshape(2, 3)
    for words in ({"axisa": 0}, {"axisa": 0, "axisc": 0}, {"axisa": 0, "axisb": 1}):
        value = numeric.interpret(np.cross(P, Q, **words), {P: p, Q: q})
        np.testing.assert_allclose(value, np.cross(p, q, **words), rtol=1e-15)
    assert np.cross(Q, Q, axis=1).shape == (2, 3)


def test_scipys_functions_that_are_not_here_say_how_they_are_written():
    points = {"x": 0.3, "y": 0.7, "a": 0.3, "b": 0.7, "p": 0.2, "n": 2, "k": 1, "z": 1.5, "m": 0.5}
    for name, text in numpy_protocol.SCIPY_REFUSED.items():
        if name == "_lambertw":  # of complex numbers, whose test is that of the protocol
            continue
        ufunc = getattr(special, name)
        with pytest.raises(sd.Unsupported, match=re.escape(f"scipy.special.{name} takes no")) as e:
            ufunc(*[x] * ufunc.nin)
        formula = re.split(" for | where ", text)[0]
        assert formula in str(e.value)
        used = re.findall(r"\b[a-z]\b", formula)
        symbols = {name: sd.symbol(name) for name in dict.fromkeys(used)}
        value = eval(formula, {"sd": sd, **{k: v for k, v in symbols.items() if k != "n"}, "n": 2})
        found = value.evalf(15, {s: points[s.name] for s in value.free_symbols})
        order = [k for k in ("n", "k", "a", "b", "z", "m", "p", "x", "y") if k in symbols]
        np.testing.assert_allclose(float(found), ufunc(*(points[k] for k in order)), rtol=1e-12)
    with pytest.raises(sd.Unsupported, match=r"scipy\.special\.hyp2f1 takes no .*sd\.custom"):
        special.hyp2f1(x, x, x, x)


# Other messages -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "remedy"),
    [
        (lambda: sd.latex(numeric.ones(2)), TypeError, "t.expr is the formula"),
        (lambda: sd.text(numeric.lower(x, x)), TypeError, "F.outputs"),
        (lambda: sd.short([x]), TypeError, "sd.stack"),
        (
            lambda: numeric.sin(x),
            TypeError,
            "must be Tensor, not Expr; of expressions it is sd.sin",
        ),
        (lambda: numeric.hypot(x, y), TypeError, "of expressions it is sd.hypot"),
        (lambda: sd.sin(numeric.ones(2)), TypeError, "t.expr is the formula"),
        (lambda: x / "n", TypeError, "x.shape[0] is a length"),
        (lambda: len(sd.symbol("v", "n")), sd.Unsupported, "x.shape[0] is the length"),
    ],
)
def test_a_message_names_the_remedy(call, error, remedy):
    with pytest.raises(error, match=re.escape(remedy)):
        call()


def test_a_custom_function_under_vmap_is_no_choice_between_values():
    class Square(numeric.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * x

        @staticmethod
        def backward(ctx, g):
            return g

    with pytest.raises(RuntimeError, match="loop over the slices outside") as caught:
        numeric.func.vmap(Square.apply)(numeric.ones(3))
    assert "torch.where" not in str(caught.value)
