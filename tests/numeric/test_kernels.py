"""The kernel of every op against plain NumPy, loops and fractions."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import sympy as sp

import symdiff as sd
from numeric import special
from numeric.lowering import formulas
from numeric.lowering.arithmetic import weak
from numeric.lowering.kernels import lapack
from numeric.lowering.kernels.sequences import Scatter
from numeric.lowering.node_kernels import discards, kernel, needs_scipy
from numeric.lowering.values import filled
from symdiff import opaque_ops
from symdiff.graph import ops
from symdiff.graph.algebra import PRIMITIVES
from symdiff.graph.node import make
from symdiff.scalars.formula import kernel_symbol
from tests.support.cases import all_cases

RNG = np.random.default_rng(8)
INF, NAN = math.inf, math.nan
EPS = np.finfo(float).eps
KINDS = {"f": float, "i": int, "b": bool}


def node(op, *values, shape=None, dtype=float):
    """A node of ``op`` over one symbol for each value."""
    args = tuple(
        sd.symbol(f"x{k}", np.shape(v), KINDS[np.asarray(v).dtype.kind])
        for k, v in enumerate(values)
    )
    shape = (args[0].shape if args else ()) if shape is None else shape
    return make(op, args, shape, dtype)


def run(op, *values, shape=None, dtype=float, sizes=None):
    return kernel(node(op, *values, shape=shape, dtype=dtype))(values, sizes or {})


def uniform(*shape, low=-2.0, high=2.0):
    return RNG.uniform(low, high, shape)


# Leaves -------------------------------------------------------------------------------------------


def test_leaves_have_their_values():
    assert kernel(sd.pi)([], {}) == math.pi
    assert kernel(sd.e)([], {}) == math.e
    assert kernel(sd.constant(Fraction(1, 4)))([], {}) == 0.25
    assert kernel(make(ops.size_op("n"), (), (), int))([], {"n": 7}) == 7
    assert kernel(sd.constant([1.5, 2.5]))([], {}).tolist() == [1.5, 2.5]


def test_a_symbol_has_no_kernel():
    with pytest.raises(TypeError, match="symbol x has no kernel"):
        kernel(sd.symbol("x"))


def test_small_integers_of_constants_do_not_wrap_around():
    value = kernel(sd.constant(np.array([200], np.uint8)))([], {})
    assert (value * 300).tolist() == [60000]
    with pytest.raises(OverflowError, match="int64"):
        kernel(sd.constant(np.array([2**63], np.uint64)))


@pytest.mark.parametrize(
    ("number", "value"),
    [
        (3, 3),
        (Fraction(1, 3), 1 / 3),
        (0.1, 0.1),
        (10**30, 1e30),
        (10**400, INF),
        (-(10**400), -INF),
    ],
)
def test_numbers_become_python_numbers(number, value):
    assert weak(number) == value


# Sums and products --------------------------------------------------------------------------------

NUMBERS = [1, -1, 2, Fraction(1, 3), Fraction(-1, 3), Fraction(2, 3), Fraction(3, 8), 0.1, -1e300]


@pytest.mark.parametrize("coef", NUMBERS)
@pytest.mark.parametrize("const", [0, 5, Fraction(1, 7)])
def test_a_sum_adds_terms_from_the_left_then_the_constant(coef, const):
    op = ops.sum_op(const, (coef, 1, -1, Fraction(5, 6)))
    values = [uniform(3) for _ in range(4)]
    exact = [
        [Fraction(c) * Fraction(v) for c, v in zip(op.coefs, row, strict=True)]
        for row in zip(*map(np.ndarray.tolist, values), strict=True)
    ]
    result = run(op, *values)
    for row, got in zip(exact, result, strict=True):
        total, scale = sum(row) + Fraction(const), sum(map(abs, row)) + abs(Fraction(const))
        assert abs(Fraction(float(got)) - total) <= 8 * Fraction(EPS) * scale


def test_a_third_is_rounded_once():
    x = uniform(1000)
    np.testing.assert_array_equal(run(ops.sum_op(0, (Fraction(1, 3),)), x), x / 3)
    np.testing.assert_array_equal(run(ops.sum_op(0, (Fraction(-1, 3),)), x), x / -3)


def test_sums_of_integers_are_integers():
    n = np.array([1, 2, 3])
    result = run(ops.sum_op(-1, (2, -1)), n, n**2, dtype=int)
    assert result.dtype == int
    assert result.tolist() == [0, -1, -4]


EXPONENTS = [1, 2, 3, 4, 5, -1, -2, -3, -4, -7]
EXPONENTS += [Fraction(p, 2) for p in (1, -1, 3, -3, 5)] + [Fraction(1, 3), Fraction(-7, 5)]


@pytest.mark.parametrize("p", EXPONENTS)
def test_powers(p):
    x = uniform(50, low=0.1, high=9.0)
    result = run(ops.product_op((p,)), x)
    for a, b in zip(x, result, strict=True):
        expected = mpmath.mpf(a) ** (mpmath.mpf(Fraction(p).numerator) / Fraction(p).denominator)
        # p in floating point is off by half an ulp, which the logarithm of x multiplies.
        assert abs(b - expected) <= (4 + abs(p) * abs(math.log(a))) * EPS * expected


@all_cases("p", EXPONENTS, least=17)
@pytest.mark.parametrize("q", [1, -1, 2, Fraction(-1, 2)])
def test_products_of_two_powers(p, q):
    x, y = uniform(2, 20, low=0.5, high=3.0)
    result = run(ops.product_op((p, q)), x, y)
    np.testing.assert_allclose(result, x ** float(p) * y ** float(q), rtol=16 * EPS)


@pytest.mark.parametrize(
    ("p", "values"), [(-1, [INF, INF]), (Fraction(1, 2), [0.0, NAN]), (-2, [INF, 1.0])]
)
def test_powers_at_zero_and_of_negative_numbers_are_those_of_ieee(p, values):
    with np.errstate(all="ignore"):
        result = run(ops.product_op((p,)), np.array([0.0, -1.0 if p != -1 else 0.0]))
    np.testing.assert_array_equal(result, values)


def test_integer_powers_of_integers_stay_integers_and_others_become_real():
    n = np.array([-3, 0, 2])
    assert run(ops.product_op((3,)), n, dtype=int).tolist() == [-27, 0, 8]
    assert run(ops.product_op((-2,)), np.array([2**40]))[0] == 2.0**-80
    assert run(ops.product_op((1, -1)), np.array([1]), np.array([2])).tolist() == [0.5]


def test_scalars_divide_by_zero_as_arrays_do():
    with np.errstate(all="ignore"):
        assert run(ops.product_op((-1,)), np.float64(0)) == INF
        assert kernel(node(ops.product_op((-1,)), 0.0))([0.0], {}) == INF
    with pytest.warns(RuntimeWarning, match="divide"):
        run(ops.product_op((-1,)), np.zeros(2))


# Pointwise functions ------------------------------------------------------------------------------

REFERENCE = {  # name: (scalar function, domain of each operand)
    "exp": (math.exp, (-2, 2)),
    "log": (math.log, (0.1, 2)),
    "sin": (math.sin, (-2, 2)),
    "atan": (math.atan, (-2, 2)),
    "acosh": (math.acosh, (1, 3)),
    "erf": (math.erf, (-2, 2)),
    "gammaln": (math.lgamma, (3, 5)),
    "sigmoid": (lambda x: 1 / (1 + math.exp(-x)), (-2, 2)),
    "floor": (math.floor, (-2, 2)),
    "sign": (lambda x: math.copysign(1, x), (-2, 2)),
    "abs": (abs, (-2, 2)),
    "maximum": (max, (-2, 2)),
    "hypot": (math.hypot, (-2, 2)),
    "power": (math.pow, (0.1, 2)),
    "mod": (lambda a, b: a % b, (-2, 2)),
    "clip": (lambda x, a, b: min(b, max(a, x)), (-2, 2)),
    "less": (lambda a, b: a < b, (-2, 2)),
    "logical_xor": (lambda a, b: bool(a) != bool(b), (-2, 2)),
}


@all_cases("name", REFERENCE, least=18)
@pytest.mark.parametrize("shape", [(), (3,), (0,), (2, 1, 3)])
def test_primitives_apply_to_each_element(name, shape):
    function, (low, high) = REFERENCE[name]
    op = PRIMITIVES[name]
    values = [uniform(*shape, low=low, high=high) for _ in range(op.arity)]
    values = [np.float64(v) if not shape else v for v in values]
    result = run(op, *values, dtype=op.result or float)
    assert np.shape(result) == shape
    assert not (shape == () and isinstance(result, np.ndarray))
    expected = np.vectorize(function, otypes=[result.dtype])(*values)
    np.testing.assert_allclose(result, expected, rtol=8 * EPS)


def test_where_selects_without_warning():
    where, x = PRIMITIVES["where"], np.array([-1.0, 4.0])
    assert run(where, x > 0, x, np.array([NAN, NAN]))[1] == 4
    assert isinstance(run(where, np.bool_(True), np.float64(1), np.float64(NAN)), np.float64)
    assert run(where, np.array([0, 2]), np.ones(2), np.zeros(2)).tolist() == [0, 1]


def user_op(formula, arity=1):
    return ops.pointwise_op("mine", formula, arity, float, primitive=False)


X, Y = kernel_symbol(0), kernel_symbol(1)
FORMULAS = [
    (X / (1 + sp.Abs(X)), lambda x: x / (1 + abs(x))),
    (sp.sqrt(2) * X + sp.pi, lambda x: math.sqrt(2) * x + math.pi),
    (X * (1 + sp.erf(X / sp.sqrt(2))) / 2, lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2),
    (sp.Piecewise((sp.log(X), X > 1), (X**2, True)), lambda x: math.log(x) if x > 1 else x**2),
    (1 / X + X ** sp.Rational(1, 3), lambda x: 1 / x + x ** (1 / 3)),
    (sp.Max(X, 1, sp.exp(-X)), lambda x: max(x, 1, math.exp(-x))),
    (sp.exp(sp.E * X) / sp.GoldenRatio, lambda x: math.exp(math.e * x) / ((1 + math.sqrt(5)) / 2)),
]


@pytest.mark.parametrize(("formula", "function"), FORMULAS)
def test_formulas_of_users(formula, function):
    x = uniform(20, low=0.2, high=2)
    with np.errstate(all="ignore"):
        result = run(user_op(formula), x)
    # exp(e·x) for x <= 2 has condition 6, the others less.
    expected = np.vectorize(function, otypes=[float])(x)
    np.testing.assert_allclose(result, expected, rtol=16 * EPS)
    narrow = run(user_op(formula), x.astype(np.float32))
    assert narrow.dtype == np.float32


def test_formulas_of_users_take_integers_and_numbers():
    op = user_op(1 / X + Y, 2)
    assert run(op, np.array([2, 4]), np.array([1, 1])).tolist() == [1.5, 1.25]
    with np.errstate(all="ignore"):
        assert kernel(node(op, 0.0, 0.0))([0, 1.0], {}) == INF
    constant = run(user_op(sp.Integer(3)), np.zeros(2))
    assert filled(constant, (2,), {}).tolist() == [3, 3]


def test_the_kernel_of_a_formula_is_made_once():
    op = user_op(X**2 + sp.cos(X))
    assert formulas.of_arrays(op.formula, 1) is formulas.of_arrays(op.formula, 1)


class bodiless(sp.Function):  # noqa: N801 -- a function
    """A function that states no NumPy body."""

    nargs = 1


class doubled(sp.Function):  # noqa: N801 -- a function
    """A function that states its NumPy body."""

    nargs = 1

    def _numpycode(self, printer):
        return f"(2*{printer._print(self.args[0])})"


def test_a_function_may_state_its_body():
    assert run(user_op(doubled(X) + 1), np.array([1.0, 2.0])).tolist() == [3, 5]


def test_a_function_without_body_is_refused_when_the_kernel_is_made():
    with pytest.raises(sd.Unsupported, match="bodiless has no NumPy body"):
        kernel(node(user_op(bodiless(X)), 1.0))


def test_without_scipy_its_functions_are_refused_when_the_kernel_is_made(monkeypatch):
    monkeypatch.setattr(special.importlib.util, "find_spec", lambda name: None)
    for op in (PRIMITIVES["erf"], user_op(sp.erf(X) + X**7)):
        assert needs_scipy(op)
        with pytest.raises(sd.Unsupported, match=r"pip install \"symdiff-numeric\[scipy\]\""):
            kernel(node(op, 1.0))
    assert not needs_scipy(PRIMITIVES["exp"])
    assert not needs_scipy(ops.sum_op(1, (1,)))


# Strong products ----------------------------------------------------------------------------------


def test_a_strong_product_is_zero_where_a_marked_operand_is():
    a, b = np.array([0.0, 0.0, 2.0, INF]), np.array([INF, NAN, 3.0, 0.0])
    np.testing.assert_array_equal(run(ops.strong_op((True, False)), a, b), [0, 0, 6, NAN])
    np.testing.assert_array_equal(run(ops.strong_op((True, True)), a, b), [0, 0, 6, 0])
    np.testing.assert_array_equal(run(ops.strong_op((False, True)), a, b), [NAN, NAN, 6, 0])
    assert isinstance(run(ops.strong_op((True, False)), np.float64(0), np.float64(INF)), np.float64)


def test_discards_names_what_makes_warnings_meaningless():
    contract = ops.contract_op(((0,), (0,)), (), (), (True, False))
    yes = [PRIMITIVES["where"], ops.strong_op((True, False)), contract]
    yes.append(user_op(sp.Piecewise((sp.log(X), X > 0), (0, True))))
    assert all(map(discards, yes))
    no = [PRIMITIVES["log"], user_op(sp.log(X)), ops.sum_op(0, (1,))]
    no.append(ops.contract_op(((0,), (0,)), (), (), (False, False)))
    assert not any(map(discards, no))


# Precision and weak numbers -----------------------------------------------------------------------


def test_numbers_take_the_precision_of_what_they_meet():
    x = np.array([1, 2], np.float32)
    for op, args in [
        (ops.sum_op(Fraction(1, 3), (Fraction(2, 3), 0.1)), [x, 0.5]),
        (ops.product_op((1, -2)), [x, 3]),
        (PRIMITIVES["maximum"], [x, 0.1]),
        (PRIMITIVES["where"], [np.array([True, False]), x, 0]),
        (PRIMITIVES["hypot"], [0.1, x]),
        (ops.strong_op((True, False)), [x, 0.1]),
        (user_op(sp.sqrt(X) + sp.pi / Y, 2), [x, 2]),
    ]:
        made = node(op, *args, shape=(2,))
        assert kernel(made)(args, {}).dtype == np.float32


@pytest.mark.parametrize("value", [0, 2, 0.5, True])
def test_functions_of_numbers_are_numbers(value):
    for op in (
        ops.sum_op(Fraction(1, 3), (2,)),
        PRIMITIVES["maximum"],
        ops.product_op((Fraction(1, 2),)),
    ):
        args = [value] * (op.arity if isinstance(op, ops.Pointwise) else 1)
        assert type(kernel(node(op, *args))(args, {})) in (int, float, bool)


def test_a_number_stands_for_an_array_filled_with_it():
    fill = sd.ones((2, "n")) * 0.5
    value = kernel(fill)([0.5], {"n": 3})
    np.testing.assert_array_equal(filled(value, fill.shape, {"n": 3}), np.full((2, 3), 0.5))
    stretched = sd.symbol("s") + sd.symbol("x", 3)
    broadcast = next(x for x in stretched.args if isinstance(x.op, ops.Contract))
    assert kernel(broadcast)([0.5], {}) == 0.5
    assert kernel(broadcast)([np.float64(0.5)], {}).shape == (3,)


@pytest.mark.parametrize(
    "op", [ops.cumsum_op(-1), ops.flip_op((-1,)), ops.opaque_op(opaque_ops.ProdOthers)]
)
def test_where_an_array_is_wanted_numbers_are_filled(op):
    made = node(op, np.zeros(3))
    np.testing.assert_array_equal(kernel(made)([2.0], {}), kernel(made)([np.full(3, 2.0)], {}))


def test_a_filled_operand_of_a_contraction_has_the_precision_of_the_others():
    op = ops.contract_op(((0,), (0,)), (), (), (False, False))
    x = np.arange(3, dtype=np.float32)
    result = kernel(node(op, x, x, shape=()))([x, 0.1], {})
    assert result.dtype == np.float32
    assert result == pytest.approx(0.3)


def test_kernels_do_not_write_to_their_operands():
    x = uniform(4, 4)
    x.setflags(write=False)
    for op in (
        ops.sum_op(1, (-1, 2)),
        ops.product_op((2, -1)),
        ops.strong_op((True, False)),
        ops.opaque_op(opaque_ops.Solve),
    ):
        run(op, x, x)
    for op in (ops.triangle_op(True, 0), ops.cumsum_op(-1), ops.opaque_op(opaque_ops.Cofactor)):
        run(op, x)


# Linear maps --------------------------------------------------------------------------------------

LEADING = [(), (1,), (2, 3), (0,)]


@pytest.mark.parametrize("batch", LEADING)
@pytest.mark.parametrize(
    ("steps", "after"),
    [
        (((1, None, 2), (0, None, 1)), (2, 3)),
        (((3, None, -1), (2, 0, -2)), (4, 1)),
        (((2, 2, 1), (0, 1, 1)), (0, 1)),
    ],
)
def test_slices_and_their_transposes(batch, steps, after):
    x = uniform(*batch, 4, 3)
    key = (..., *(slice(*s) for s in steps))
    op = ops.slice_op((4, 3), steps, after)
    np.testing.assert_array_equal(run(op, x, shape=(*batch, *after)), x[key])
    g = uniform(*batch, *after)
    expected = np.zeros((*batch, 4, 3))
    expected[key] = g
    back = op.transposed(0, (*batch, 4, 3))
    np.testing.assert_array_equal(run(back, g, shape=x.shape), expected)


@pytest.mark.parametrize("batch", LEADING)
@pytest.mark.parametrize(
    "index",
    [
        np.array([5, 0, 5]),
        np.array([[1, 2], [3, 4]]),
        np.array(3),
        np.zeros((0,), int),
        np.zeros((2, 0), int),
    ],
)
def test_gathers_and_their_transposes(batch, index):
    x = uniform(*batch, 2, 3)
    op = ops.gather_op((2, 3), index)
    result = run(op, x, shape=(*batch, *index.shape))
    np.testing.assert_array_equal(result, x.reshape(*batch, 6)[..., index])
    g = RNG.integers(-9, 9, (*batch, *index.shape)).astype(float)
    expected = np.zeros((*batch, 6))
    for at in np.ndindex(index.shape):
        expected[..., index[at]] += g[(..., *at)]
    back = op.transposed(0, x.shape)
    np.testing.assert_array_equal(run(back, g, shape=x.shape), expected.reshape(x.shape))


def test_a_triangle_hides_what_it_cuts():
    assert run(ops.triangle_op(True, 0), np.array([[1.0, INF], [2.0, NAN]]))[0].tolist() == [1, 0]


# Opaque -------------------------------------------------------------------------------------------


def opaque(cls, *values, shape=None):
    return run(ops.opaque_op(cls), *values, shape=shape)


def invertible(*shape):
    n = shape[-1]
    return uniform(*shape) + 4 * np.eye(n)


def test_solve_factorises_each_matrix_once(monkeypatch):
    shapes = []
    solve = lapack.solve
    monkeypatch.setattr(lapack, "solve", lambda a, b: shapes.append(b.shape) or solve(a, b))
    opaque(opaque_ops.Solve, invertible(3, 3), uniform(100, 3, 2))
    assert shapes == [(3, 200)]


def test_determinants_of_integers_and_of_singular_matrices():
    assert opaque(opaque_ops.Det, np.array([[1, 2], [3, 4]]), shape=()) == pytest.approx(-2)
    singular = np.array([[1.0, 2.0], [2.0, 4.0]])
    assert opaque(opaque_ops.LogAbsDet, singular, shape=()) == -INF
    assert opaque(opaque_ops.DetSign, singular, shape=()) == 0


def exact_cofactors(a):
    matrix = sp.Matrix(
        a.shape[0], a.shape[0], [sp.Rational(Fraction(v)) for v in a.ravel().tolist()]
    )
    return np.array(matrix.cofactor_matrix() if a.size else np.zeros((0, 0)), dtype=float).reshape(
        a.shape
    )


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("lost", [0, 1, 2, 5])
def test_cofactors_of_matrices_of_any_rank(n, lost):
    a = np.rint(uniform(n, n) * 4)
    for k in range(min(lost, n)):
        a[k] = a[-1] * k if n > lost else 0
    expected = exact_cofactors(a)
    result = opaque(opaque_ops.Cofactor, a)
    # The singular values are exact to eps times the largest; n - 1 of them are multiplied.
    bound = 4 * n**2 * EPS * np.linalg.norm(a, 2) ** max(n - 1, 0) if n else 0
    np.testing.assert_allclose(result, expected, rtol=0, atol=bound)
    assert opaque(opaque_ops.Cofactor, a.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_cofactors_keep_leading_axes_and_survive_nan(n):
    a = uniform(2, 3, n, n)
    result = opaque(opaque_ops.Cofactor, a)
    expected = np.linalg.det(a)[..., None, None] * np.linalg.inv(a).swapaxes(-1, -2)
    np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-12)
    if n == 4:
        a[0, 0, 0, 0] = NAN
        again = opaque(opaque_ops.Cofactor, a)
        assert np.isnan(again[0, 0]).all()
        np.testing.assert_array_equal(again[1], result[1])
    assert opaque(opaque_ops.Cofactor, uniform(0, n, n)).shape == (0, n, n)


@pytest.mark.parametrize(
    "x",
    [
        *([0.0] * n + [2.0, -3.0, 5.0, 0.5][n:] for n in range(4)),
        *([7, 3][:n] for n in range(3)),
    ],
)
def test_products_of_the_others_are_exact_with_zeros(x):
    expected = [math.prod(x[:i] + x[i + 1 :]) for i in range(len(x))]
    dtype = float if 0.5 in x else int
    values = np.array(x, dtype)
    for given, wanted in ((values, expected), (np.stack([values] * 2), [expected] * 2)):
        result = run(ops.opaque_op(opaque_ops.ProdOthers), given, dtype=dtype)
        assert result.dtype == dtype
        np.testing.assert_array_equal(result, np.array(wanted, dtype).reshape(given.shape))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (4, 5, 6), (3, 200), (2, 0, 3), (0, 4)])
def test_extremes_are_those_of_numpy_in_every_order_of_memory(shape, dtype):
    x = np.random.default_rng(0).integers(-3, 4, shape).astype(dtype)
    odd = x.copy()
    odd.flat[::7], odd.flat[3::11], odd.flat[5::13] = NAN, INF, -INF
    for cls, extreme in ((opaque_ops.Max, np.max), (opaque_ops.Min, np.min)):
        for value in (x, odd, np.asfortranarray(odd), odd[..., ::-1]):
            found = opaque(cls, value, shape=shape[:-1])
            assert (found.shape, found.dtype) == (shape[:-1], dtype)
            assert np.array_equal(found, extreme(value, axis=-1), equal_nan=True)


@pytest.mark.parametrize("cls", [opaque_ops.Max, opaque_ops.Min])
def test_extremes_of_nothing_are_refused(cls):
    with pytest.raises(
        ValueError, match=r"(max|min): the last axis of shape \(2, 0\) has no element"
    ):
        opaque(cls, np.zeros((2, 0)), shape=(2,))
    assert opaque(cls, np.zeros((0, 2)), shape=(0,)).shape == (0,)
    assert math.isnan(opaque(cls, np.array([1, NAN]), shape=()))


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        ([1000.0, 1000.0], 1000 + math.log(2)),
        ([-1000.0, -1001.0], -1000 + math.log1p(math.exp(-1))),
        ([-INF, 3.0], 3.0),
        ([-INF, -INF], -INF),
        ([INF, 900.0], INF),
        ([INF, -INF], INF),
        ([NAN, 1.0], NAN),
        ([], -INF),
        ([5.0], 5.0),
    ],
)
def test_logsumexp_at_any_size_without_warning(x, expected):
    result = opaque(opaque_ops.LogSumExp, np.array(x), shape=())
    np.testing.assert_allclose(result, expected, rtol=2 * EPS)
    narrow = opaque(opaque_ops.LogSumExp, np.array(x, np.float32), shape=())
    assert narrow.dtype == np.float32


@pytest.mark.parametrize("count", [3, 4, 5, 60])
@pytest.mark.parametrize("index", [[2, 0, 1], [2, 0, 2], [0, 0, 0], [1], [], [[2, 0], [0, 2]]])
def test_scattered_elements_are_added_one_by_one(index, count):
    index = np.array(index, int)
    x = np.random.default_rng(index.size).integers(-9, 9, (2, *index.shape))
    expected = np.zeros((2, count), int)
    for row, elements in zip(expected, x, strict=True):
        for place, element in zip(index.flat, elements.flat, strict=True):
            row[place] += element
    assert np.array_equal(Scatter(index, (count,))(x), expected)


def test_scattered_elements_keep_their_bits_and_others_are_zero():
    x = np.array([-0.0, np.nan, np.inf])
    for count in (4, 60):
        found = Scatter(np.array([3, 0, 1]), (count,))(x)
        np.testing.assert_array_equal(found[:4], [np.nan, np.inf, 0, -0.0])
        assert np.signbit(found[3])
        assert not np.any(found[4:])
