"""Every function under its NumPy name against NumPy's, and what each refuses.

Values are computed by ``numeric.lowering.reference``; the tables name the function, its
counterpart in NumPy where its name or its call differs, and the arguments.
"""

from __future__ import annotations

import inspect
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.special
import sympy
from numpy.exceptions import AxisError

import numeric.lowering.reference
import symdiff as sd
from symdiff import functions
from symdiff.functions import elementwise, indexing, products, reductions, shaping, special
from symdiff.graph.leaves import number_of
from tests.support.refusals import refused

RNG = np.random.default_rng(20261120)


def values(shape, dtype=float):
    if dtype is bool:
        return RNG.random(shape) < 0.5
    if dtype is int:
        return RNG.integers(-3, 4, shape)
    return RNG.uniform(-2, 2, shape)


def value_of(fn, *operands):
    """``fn`` of symbols of the operands' shapes and dtypes, at the operands."""
    operands = [np.asarray(v) for v in operands]
    names = [sd.symbol(f"v{k}", v.shape, v.dtype) for k, v in enumerate(operands)]
    y = fn(*names)
    with np.errstate(all="ignore"):
        value = numeric.lowering.reference.interpret(y, dict(zip(names, operands, strict=True)))
    assert np.shape(value) == y.shape
    if number_of(y) is not None:  # an exact number has no dtype of its own
        return np.asarray(value, dtype=operands[0].dtype)
    # whole numbers that come of no integer operand are handed out as real ones
    assert np.asarray(value).dtype.kind in {float: "f", int: "if", bool: "b"}[y.dtype]
    return value


def check(fn, reference, *operands, dtype=True):
    with np.errstate(all="ignore"):
        expected = np.asarray(reference(*operands))
    value = np.asarray(value_of(fn, *operands))
    assert value.shape == expected.shape
    if dtype:
        assert value.dtype.kind == expected.dtype.kind
    # Sums of a few terms of size 1: a dozen roundings at most.
    np.testing.assert_allclose(value, expected, rtol=1e-13, atol=1e-14)


# Elementwise ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["floor_divide", "mod"])
@pytest.mark.parametrize("shapes", [((3,), (3,)), ((2, 1), (3,)), ((), (2, 2)), ((0,), ())])
def test_division_with_remainder_is_numpys_for_both_signs(name, shapes):
    check(getattr(sd, name), getattr(np, name), *(values(s) for s in shapes))


def test_xlogy_and_polygamma_are_scipys():
    check(sd.xlogy, scipy.special.xlogy, np.array([0.0, 0.0, 2.0]), np.array([0.0, 3.0, 3.0]))
    x = np.abs(values(4)) + 0.5
    check(lambda v: sd.polygamma(2, v), lambda v: scipy.special.polygamma(2, v), x)
    assert sd.polygamma(0, sd.symbol("x")) is sd.digamma(sd.symbol("x"))
    for order in (-1, 1.5, sd.symbol("n")):
        with pytest.raises(ValueError, match="polygamma: the order"):
            sd.polygamma(order, 1.0)


def test_logic_of_booleans_and_numbers():
    for name in ("logical_and", "logical_or", "logical_xor"):
        check(getattr(sd, name), getattr(np, name), values(6, bool), values(6, bool))
    check(sd.logical_not, np.logical_not, values(6, bool))
    check(sd.logical_not, np.logical_not, values(6, int))


def test_round_takes_decimals():
    x = values(20) * 100
    for decimals in (-1, 0, 2):
        check(lambda v, d=decimals: sd.round(v, d), lambda v, d=decimals: np.round(v, d), x)
    assert sd.round(2.5) is sd.constant(2)
    assert sd.round(sd.symbol("k", (), int)).dtype is int


def test_where_is_numpys_and_chooses_between_constants():
    check(sd.where, np.where, values((2, 3), bool), values(3), values((2, 1)))
    x = sd.symbol("x")
    assert sd.where(True, x, 1 / x) is x


def test_clip_has_optional_bounds():
    x = values(9)
    for low, high in ((-1, 1), (None, 1), (-1, None), (1, -1)):
        check(
            lambda v, a=low, b=high: sd.clip(v, a, b), lambda v, a=low, b=high: np.clip(v, a, b), x
        )
    assert sd.clip(sd.symbol("x")) is sd.symbol("x")
    check(lambda v: sd.clip(v, 0), lambda v: np.clip(v, 0, None), values(9, int))
    check(sd.clip, np.clip, x, values((2, 1)) - 2, values(9) + 2)


def test_clip_keeps_the_derivative_at_a_bound():
    x = sd.symbol("x")
    for low, high in ((0, None), (None, 0), (0, 1)):
        slope = sd.diff(sd.clip(x, low, high), x)
        assert numeric.lowering.reference.interpret(slope, {x: 0.0}) == 1


def test_numbers_arrays_and_expressions_are_operands():
    assert sd.exp(0) is sd.constant(1)
    assert sd.add(1, 2) is sd.constant(3)
    assert sd.sin(np.zeros(3)).shape == (3,)
    assert sd.atan2(Fraction(0), sympy.Integer(1)) is sd.constant(0)
    refused(
        (TypeError, "complex", lambda: sd.sin(1j)),
        (sd.ShapeError, r"hypot.*\(2,\) and \(3,\)", lambda: sd.hypot(np.zeros(2), np.zeros(3))),
    )


# Defining a function ----------------------------------------------------------------------------


def test_pointwise_defines_a_function_with_derivatives_of_every_order():
    softsign = sd.pointwise("softsign", lambda x: x / (1 + sympy.Abs(x)))
    x = sd.symbol("x", 5)
    at = np.array([-2.0, -0.5, 0.0, 0.5, 2.0])
    run = numeric.lowering.reference.interpret
    np.testing.assert_allclose(run(softsign(x), {x: at}), at / (1 + abs(at)), rtol=1e-15)
    first = sd.grad(sd.sum(softsign(x)), x)
    np.testing.assert_allclose(run(first, {x: at}), 1 / (1 + abs(at)) ** 2, rtol=1e-14)
    second = sd.grad(sd.sum(first), x)
    expected = -2 * np.sign(at) / (1 + abs(at)) ** 3
    np.testing.assert_allclose(run(second, {x: at}), expected, rtol=1e-13, atol=1e-15)


def test_pointwise_describes_itself_and_counts_its_operands():
    blend = sd.pointwise("blend", lambda a, b, t: a + t * (b - a))
    assert blend.__name__ == "blend"
    assert str(inspect.signature(blend)) == "(a, b, t, /)"
    assert "a + t*(-a + b)" in blend.__doc__
    assert blend(sd.symbol("x", (2, 1)), sd.symbol("y", 3), 0.5).shape == (2, 3)
    with pytest.raises(TypeError, match="blend: takes 3 operands, got 2"):
        blend(1, 2)


def test_pointwise_of_a_relation_is_boolean():
    inside = sd.pointwise("inside", lambda x: sympy.And(x > 0, x < 1))
    assert inside(sd.symbol("x", 3)).dtype is bool


def test_pointwise_takes_masks_as_numbers():
    half = sd.pointwise("half", lambda x: x / 2)
    x = sd.symbol("x")
    assert half(x > 0).dtype is float


def test_pointwise_refuses_what_is_no_formula():
    for fn, message in (
        (lambda *x: x[0], "fixed number of operands"),
        (lambda x, *, k: x, "fixed number of operands"),
        (lambda x: x + sympy.Symbol("z"), "contains z"),
    ):
        with pytest.raises(ValueError, match=message):
            sd.pointwise("f", fn)
    refused(
        (ValueError, "not an identifier", lambda: sd.pointwise("a b", lambda x: x)),
        (sd.Unsupported, "airyai", lambda: sd.pointwise("j", lambda x: sympy.airyai(x))),
    )


def test_a_range_of_names_is_refused_with_the_remedy():
    with pytest.raises(ValueError, match="'x0:4' is not an identifier; write the names out"):
        sd.symbols("x0:4")


# Axes and shapes --------------------------------------------------------------------------------

SHAPES = [(), (0,), (1,), (3,), (2, 3), (3, 0), (2, 1, 3), (1, 1)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [float, int, bool])
def test_rearranging_is_numpys_and_keeps_the_dtype(shape, dtype):
    x = values(shape, dtype)
    check(sd.transpose, np.transpose, x)
    check(sd.squeeze, np.squeeze, x)
    check(sd.flip, np.flip, x)
    check(lambda v: sd.reshape(v, -1), lambda v: np.reshape(v, -1), x)
    check(lambda v: sd.broadcast_to(v, (2, *shape)), lambda v: np.broadcast_to(v, (2, *shape)), x)
    check(lambda v: sd.stack([v, v], -1), lambda v: np.stack([v, v], -1), x)
    for axis in (0, -1, len(shape), (0, -1)):
        check(lambda v, a=axis: sd.expand_dims(v, a), lambda v, a=axis: np.expand_dims(v, a), x)
    for axis in range(-len(shape), len(shape)):
        check(lambda v, a=axis: sd.flip(v, a), lambda v, a=axis: np.flip(v, a), x)
        check(lambda v, a=axis: sd.concat([v, v], a), lambda v, a=axis: np.concat([v, v], a), x)


def test_permutations():
    x = values((2, 3, 4))
    check(lambda v: sd.permute_dims(v, (-1, 0, 1)), lambda v: np.transpose(v, (-1, 0, 1)), x)
    refused(
        (ValueError, "permute_dims: axes", lambda: sd.permute_dims(x, (0, 1))),
        (ValueError, "repeated axis", lambda: sd.permute_dims(x, (0, 0, 1))),
        (AxisError, "permute_dims: axis 3", lambda: sd.permute_dims(x, (0, 1, 3))),
        (sd.ShapeError, "matrix_transpose", lambda: sd.matrix_transpose(np.zeros(3))),
    )


def test_a_transpose_back_is_the_operand():
    X = sd.symbol("X", (2, "n"))
    assert X.T.T is X
    assert sd.squeeze(sd.expand_dims(X, 1)) is X
    assert sd.reshape(X, (2, 1, "n")) is sd.expand_dims(X, 1)


RESHAPES = [((6,), (2, 3)), ((2, 3), (3, 2)), ((2, 3), (-1, 1, 2)), ((4, 1), (1, 4)), ((), (1,))]


@pytest.mark.parametrize(("before", "after"), [*RESHAPES, ((0, 3), (5, 0)), ((2, 3, 4), (2, -1))])
def test_reshape(before, after):
    check(lambda v: sd.reshape(v, after), lambda v: np.reshape(v, after), values(before))
    check(lambda v: v.reshape(*after), lambda v: np.reshape(v, after), values(before))


def test_reshape_has_one_spelling():
    x = sd.symbol("x", (2, 3, 4))
    assert x.reshape(6, 4).reshape(2, 12) is x.reshape(2, 12)
    assert x.reshape(24).reshape(2, 3, 4) is x
    assert sd.reshape(np.ones(1)[0], (1, 1)) is sd.ones((1, 1))


def test_reshape_of_symbolic_lengths():
    X = sd.symbol("X", ("n", 2, 3))
    assert X.reshape("n", -1).shape == ("n", 6)
    assert X.reshape(-1, 6).shape == ("n", 6)
    assert X.reshape((3, "n", 2)).shape == (3, "n", 2)
    refused(
        (sd.Unsupported, "reshape: axes of lengths", lambda: X.reshape(-1)),
        (sd.ShapeError, r"reshape: \(n, 2, 3\) and \(n, 5\)", lambda: X.reshape("n", 5)),
        (sd.ShapeError, "different numbers", lambda: X.reshape("m", -1)),
    )


def test_reshape_refuses():
    x = np.zeros((2, 3))
    for target in ((5,), (4, -1), (0, -1)):
        with pytest.raises(sd.ShapeError, match="reshape"):
            sd.reshape(x, target)
    refused(
        (ValueError, "more than one -1", lambda: sd.reshape(x, (-1, -1))),
        (ValueError, "neither an int >= 0", lambda: sd.reshape(x, (-2, 3))),
    )


def test_joining_refuses():
    a, b = sd.symbol("a", (2, 3)), sd.symbol("b", (2, 4))
    refused(
        (sd.ShapeError, "concat: shapes", lambda: sd.concat([a, b])),
        (sd.ShapeError, "concat: shapes", lambda: sd.concat([a, sd.symbol("c", 3)])),
        (sd.ShapeError, "stack: shapes", lambda: sd.stack([a, b])),
    )
    for join in (sd.concat, sd.stack):
        with pytest.raises(ValueError, match="at least one array"):
            join([])
    refused(
        (sd.Unsupported, "n is a part", lambda: sd.concat([sd.symbol("x", "n")] * 2)),
        (AxisError, "concat: axis 2", lambda: sd.concat([a, a], 2)),
    )


def test_joining_mixes_operands():
    x = sd.symbol("x", 2)
    y = sd.concat([x, np.array([1, 2]), np.ones(1)])
    assert y.shape == (5,)
    assert y.dtype is float
    assert sd.concat([x]) is x
    assert sd.stack([1, sd.pi]).shape == (2,)
    check(
        lambda a, b: sd.concat([a, b], None),
        lambda a, b: np.concat([a, b], None),
        x0 := values((2, 2)),
        x0[0],
    )


def test_squeeze_broadcast_and_axes_refuse():
    x = np.zeros((1, 3))
    refused(
        (sd.ShapeError, "squeeze: axis 1", lambda: sd.squeeze(x, 1)),
        (sd.ShapeError, "broadcast_to", lambda: sd.broadcast_to(x, (2, 4))),
        (AxisError, "flip: axis 2 is out of bounds", lambda: sd.flip(x, 2)),
        (AxisError, "expand_dims: axis 5", lambda: sd.expand_dims(x, 5)),
    )


@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (4, 2), (0, 3), (2, 3, 3)])
@pytest.mark.parametrize("k", [-2, -1, 0, 1, 5])
def test_diagonals_and_triangles(shape, k):
    x = values(shape)
    check(lambda v: sd.diagonal(v, k), lambda v: np.diagonal(v, k), x)
    check(lambda v: sd.diagonal(v, k, -1, 0), lambda v: np.diagonal(v, k, -1, 0), x)
    check(lambda v: sd.trace(v, k), lambda v: np.trace(v, k), x)
    check(lambda v: sd.tril(v, k), lambda v: np.tril(v, k), x)
    check(lambda v: sd.triu(v, k), lambda v: np.triu(v, k), x)
    if len(shape) == 2:
        check(lambda v: sd.diag(v, k), lambda v: np.diag(v, k), x)
        check(lambda v: sd.diag(v, k), lambda v: np.diag(v, k), values(shape[0]))


def test_diagonals_refuse():
    refused(
        (sd.Unsupported, "diagonal: the length", lambda: sd.diagonal(sd.symbol("X", ("n", 3)))),
        (ValueError, "repeated axis", lambda: sd.diagonal(np.zeros((2, 2)), 0, 1, 1)),
        (sd.ShapeError, "diag: shape", lambda: sd.diag(np.zeros((2, 2, 2)))),
        (sd.Unsupported, "diag", lambda: sd.diag(sd.symbol("x", "n"), 1)),
        (sd.ShapeError, "tril", lambda: sd.tril(np.zeros(2))),
    )


# Reductions -------------------------------------------------------------------------------------

REDUCTIONS = {
    "sum": np.sum,
    "mean": np.mean,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
    "var": np.var,
    "std": np.std,
    "logsumexp": scipy.special.logsumexp,
    "norm": lambda x, axis, keepdims: np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims)),
}


def axes_of(ndim):
    yield None
    yield from range(-ndim, ndim)
    if ndim >= 2:
        yield (0, -1)
        yield (1, 0)
    yield ()


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3), (2, 1, 3)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions_are_numpys(name, shape, keepdims):
    for axis in axes_of(len(shape)):
        if name == "logsumexp" and (axis == () or shape == ()):
            continue  # SciPy's has no empty axis, and gives one to scalars
        check(
            lambda v, a=axis: getattr(sd, name)(v, axis=a, keepdims=keepdims),
            lambda v, a=axis: REDUCTIONS[name](v, axis=a, keepdims=keepdims),
            values(shape),
        )


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_reductions_of_integers_stay_integer(name):
    check(getattr(sd, name), REDUCTIONS[name], values((2, 3), int))
    check(lambda v: getattr(sd, name)(v, 0), lambda v: REDUCTIONS[name](v, 0), values((2, 3), int))


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min"])
@pytest.mark.parametrize("shape", [(1,), (4,), (2, 3)])
def test_reductions_of_booleans(name, shape):
    check(
        lambda v: getattr(sd, name)(v, -1),
        lambda v: REDUCTIONS[name](v, axis=-1),
        values(shape, bool),
        dtype=(name, shape) != ("mean", (1,)),  # an integer divided by 1 is that integer
    )


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:Degrees of freedom")
@pytest.mark.parametrize("name", ["sum", "mean", "prod", "var", "std", "norm"])
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_reductions_of_nothing(name, shape):
    for axis in (None, 0, -1):
        check(
            lambda v, a=axis: getattr(sd, name)(v, axis=a, keepdims=True),
            lambda v, a=axis: REDUCTIONS[name](v, axis=a, keepdims=True),
            values(shape),
        )


def test_extremes_of_nothing_are_refused_and_logsumexp_is_minus_infinity():
    x = sd.symbol("x", (3, 0))
    for extreme in (sd.max, sd.min, sd.amax, sd.amin):
        with pytest.raises(ValueError, match="over no elements"):
            extreme(x, axis=1)
        assert extreme(x, axis=0).shape == (0,)
    assert sd.logsumexp(x, 1) is sd.full(3, -math.inf)


@pytest.mark.filterwarnings("ignore:Degrees of freedom")
@pytest.mark.parametrize("ddof", [0, 1, 0.5, 3, 4])
def test_variance_corrections(ddof):
    x = values((3, 2))
    for name in ("var", "std"):
        for word in ("ddof", "correction"):
            check(
                lambda v, n=name, w=word: getattr(sd, n)(v, axis=0, **{w: ddof}),
                lambda v, n=name, w=word: getattr(np, n)(v, axis=0, **{w: ddof}),
                x,
            )
    with pytest.raises(ValueError, match="two names"):
        sd.var(x, ddof=1, correction=1)


@pytest.mark.filterwarnings("ignore:Degrees of freedom", "ignore:Mean of empty slice")
@pytest.mark.filterwarnings("ignore:invalid value", "ignore:divide by zero")
@pytest.mark.parametrize("ddof", [0, 1, 3])
@pytest.mark.parametrize("n", [0, 1, 2, 4])
@pytest.mark.parametrize("length", ["n", None])
def test_moments_of_few_observations(n, ddof, length):
    """Those that NumPy has, nan and inf included, whether the number is known or not."""
    at = values((2, n))
    x = sd.symbol("x", (2, n if length is None else length))
    for ours, theirs in [
        (sd.cov(x, ddof=ddof), np.cov(at, ddof=ddof)),
        (sd.var(x, axis=1, ddof=ddof), np.var(at, axis=1, ddof=ddof)),
        (sd.std(x, axis=1, ddof=ddof), np.std(at, axis=1, ddof=ddof)),
    ]:
        np.testing.assert_allclose(numeric.lower(ours, [x])(at), theirs, rtol=1e-13, atol=1e-15)


def test_reductions_over_symbolic_axes():
    X = sd.symbol("X", ("n", 3))
    at = values((4, 3))
    for name, reference in REDUCTIONS.items():
        y = getattr(sd, name)(X, axis=0)
        assert y.shape == (3,)
        result = numeric.lowering.reference.interpret(y, {X: at})
        np.testing.assert_allclose(result, reference(at, axis=0, keepdims=False), rtol=1e-13)
    y = sd.var(X, axis=0, ddof=1)
    np.testing.assert_allclose(
        numeric.lowering.reference.interpret(y, {X: at}), at.var(axis=0, ddof=1), rtol=1e-13
    )
    with pytest.raises(sd.Unsupported, match="max: axes of lengths"):
        sd.max(X)
    assert sd.max(sd.symbol("Y", ("n", 1))).shape == ()


def test_reductions_refuse_axes():
    x = np.zeros((2, 3))
    for name in (*REDUCTIONS, "softmax", "cumsum"):
        with pytest.raises(AxisError, match=f"^{name}: axis 2 is out of bounds"):
            getattr(sd, name)(x, axis=2)
    with pytest.raises(ValueError, match="repeated axis"):
        sd.sum(x, axis=(0, 0))


def test_one_value_has_one_spelling():
    X, w = sd.symbol("X", (4, 3)), sd.symbol("w", 3)
    assert sd.sum(X * w, axis=1) is X @ w
    assert sd.vdot(w, w) is sd.sum(w * w)
    assert sd.sum(sd.sum(X, 1)) is sd.sum(X)
    assert sd.einsum("ij->ji", X) is X.T
    assert sd.trace(X.T @ X) is sd.trace(X.T @ X)
    assert sd.amax is sd.max
    assert sd.amin is sd.min


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
def test_softmax(axis):
    x = np.array([[1000.0, 1001.0, 0.0], [-1000.0, -1001.0, 1.0]])
    check(lambda v: sd.softmax(v, axis), lambda v: scipy.special.softmax(v, axis), x[:, 2:])
    value = value_of(lambda v: sd.softmax(v, axis), x)
    # The exponent x - logsumexp(x) is rounded at size 1000: 1e3 epsilons in its exponential.
    np.testing.assert_allclose(value, scipy.special.softmax(x, axis), rtol=1e-12)
    value = value_of(lambda v: sd.log_softmax(v, axis), x)
    np.testing.assert_allclose(value, scipy.special.log_softmax(x, axis), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("order", [None, 0, 1, 2, 3, 2.5, -1, math.inf, -math.inf])
def test_vector_norms(order):
    check(lambda v: sd.norm(v, order), lambda v: np.linalg.norm(v, order), values(4), dtype=False)
    check(
        lambda v: sd.norm(v, order, axis=0, keepdims=True),
        lambda v: np.linalg.norm(v, order, axis=0, keepdims=True),
        values((3, 2)),
        dtype=False,
    )


def test_a_quantile_is_no_text():
    with pytest.raises(TypeError, match="str"):
        sd.quantile(sd.symbol("x", 3), "0.5")


def test_whole_exponents_are_ints():
    # One op stands for equal exponents, so that of whoever made it first is everybody's.
    x, y = sd.symbols("x y")
    kept = sd.norm(sd.symbol("v", 3), 2.0**-7)
    power = (x - y) ** 128
    assert power.op.exponents[0].__class__ is int
    assert sd.substitute(power, {x: 0, y: 1}) is sd.constant(1)
    assert power.op in {node.op for node in sd.nodes(kept)}


@pytest.mark.parametrize("order", [None, "fro", 1, -1, 2, -2, "nuc", math.inf, -math.inf])
def test_matrix_norms(order):
    check(lambda v: sd.norm(v, order), lambda v: np.linalg.norm(v, order), values((3, 2)))
    for keepdims in (False, True):
        check(
            lambda v, k=keepdims: sd.norm(v, order, axis=(-1, 0), keepdims=k),
            lambda v, k=keepdims: np.linalg.norm(v, order, axis=(-1, 0), keepdims=k),
            values((3, 4, 2)),
        )


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 0)])
def test_norms_of_nothing(shape):
    """As NumPy has them: 0, or refused where the smallest of none is asked for."""
    x, nothing = sd.symbol("x", shape), np.zeros(shape)
    axis = (-2, -1) if len(shape) > 1 else None
    for order in (1, 2, math.inf, -math.inf, *((-1, -2, "nuc", "fro") if axis else (0, 3))):
        try:
            expected = np.linalg.norm(nothing, order, axis)
        except ValueError:
            with pytest.raises(ValueError, match="min: over no elements"):
                sd.norm(x, order, axis)
        else:
            found = numeric.lower(sd.norm(x, order, axis), [x])(nothing)
            np.testing.assert_array_equal(found, expected)


SPECTRA = {
    2: [((3, 2, 1), (1, 0, 0)), ((2, 2, 1), (0.5, 0.5, 0)), ((3, 1, 1), (1, 0, 0))],
    -2: [((3, 2, 1), (0, 0, 1)), ((2, 1, 1), (0, 0.5, 0.5)), ((2, 1, 0), (0, 0, 0))],
    "nuc": [((3, 2, 1), (1, 1, 1)), ((2, 2, 2), (1, 1, 1)), ((2, 1, 0), (1, 1, 0))],
}


@pytest.mark.parametrize("order", SPECTRA)
def test_norms_of_singular_values_that_tie_or_vanish(order):
    """Ties share the derivative, and 0 has none, as a norm of 0 has none."""
    x = sd.symbol("x", (3, 3))
    for values, slopes in [*SPECTRA[order], ((0, 0, 0), (0, 0, 0))]:
        found = numeric.lowering.reference.interpret(
            sd.grad(sd.norm(x, order), x), {x: np.diag(values).astype(float)}
        )
        np.testing.assert_allclose(found, np.diag(slopes), atol=1e-15)


@pytest.mark.parametrize("order", SPECTRA)
def test_second_derivatives_of_such_norms_are_refused_at_ties(order):
    x = sd.symbol("x", (3, 3))
    hessian = sd.hessian(sd.norm(x, order), x)
    with pytest.raises(np.linalg.LinAlgError, match="equal to rounding"):
        numeric.lowering.reference.interpret(hessian, {x: np.diag([2.0, 1.0, 1.0])})


def test_norms_refuse():
    x = np.zeros((2, 2))
    for order, operand in ((3, x), ("fro", x[0]), (1, np.zeros((2, 2, 2)))):
        with pytest.raises(ValueError, match="norm: no order"):
            sd.norm(operand, order)


@pytest.mark.parametrize("order", [1, 2, 3, 2.5])
def test_the_norm_of_zero_has_derivative_zero(order):
    x = sd.symbol("x", 3)
    slope = sd.grad(sd.norm(x, order), x)
    assert not numeric.lowering.reference.interpret(slope, {x: np.zeros(3)}).any()


# Products ---------------------------------------------------------------------------------------

PRODUCTS = {
    "matmul": [
        *[((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((2, 0), (0, 3))],
        *[((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((5, 1, 2, 3), (4, 3, 2)), ((3,), (5, 3, 2))],
        *[((1, 2, 3), (5, 3, 2)), ((5, 2, 3), (3,)), ((1, 1), (1, 1)), ((2, 1), (1, 2))],
    ],
    "dot": [
        *[((), ()), ((), (2,)), ((3,), (3,)), ((2, 3), (3,)), ((2, 3), (3, 4))],
        ((2, 3), (5, 3, 4)),
    ],
    "vdot": [((), ()), ((3,), (3,)), ((2, 3), (2, 3)), ((2, 3), (3, 2))],
    "outer": [((), ()), ((3,), (2,)), ((2, 3), (2,)), ((0,), (2,))],
}


@pytest.mark.parametrize(("name", "shapes"), [(n, s) for n in PRODUCTS for s in PRODUCTS[n]])
def test_products_are_numpys(name, shapes):
    for dtype in (float, int):
        check(getattr(sd, name), getattr(np, name), *(values(s, dtype) for s in shapes))


def test_matmul_names_the_letter():
    A, B = sd.symbol("A", (3, 4)), sd.symbol("B", (5, 2))
    message = (
        r"matmul: A\[i,j\] is \(3, 4\) but B\[j,k\] is \(5, 2\); letter j would be both 4 and 5"
    )
    refused(
        (sd.ShapeError, message, lambda: A @ B),
        (sd.ShapeError, r"A\[j\] is \(3,\)", lambda: sd.symbol("x", 3) @ A.T),
        (
            sd.ShapeError,
            "matmul: shapes",
            lambda: sd.matmul(np.zeros((2, 3, 3)), np.zeros((3, 3, 3))),
        ),
        (sd.ShapeError, "scalar", lambda: A @ 2),
    )


def test_matmul_of_symbolic_lengths():
    A, B = sd.symbol("A", ("b", "n", "k")), sd.symbol("B", ("k", 3))
    assert (A @ B).shape == ("b", "n", 3)
    with pytest.raises(sd.ShapeError, match="letter j would be both n and k"):
        sd.symbol("C", "n") @ B


def test_dot_and_vdot_refuse():
    refused(
        (sd.ShapeError, "dot: shapes", lambda: sd.dot(np.zeros((2, 3)), np.zeros((2, 3)))),
        (sd.ShapeError, "vdot", lambda: sd.vdot(np.zeros(2), np.zeros(3))),
    )


TENSORDOTS = [0, 1, 2, (0, 0), ((0, 1), (1, 0)), (-1, -1), ((), ())]


@pytest.mark.parametrize("axes", TENSORDOTS)
def test_tensordot_is_numpys(axes):
    x, y = values((3, 3)), values((3, 3))
    check(lambda a, b: sd.tensordot(a, b, axes), lambda a, b: np.tensordot(a, b, axes), x, y)


def test_tensordot_refuses():
    a = np.zeros((2, 3))
    refused(
        (sd.ShapeError, "lengths 2 and 3", lambda: sd.tensordot(a, a, (0, 1))),
        (ValueError, "1 axes of the first", lambda: sd.tensordot(a, a, ((0,), (0, 1)))),
        (sd.ShapeError, "no 3 axes", lambda: sd.tensordot(a, a, 3)),
        (AxisError, "tensordot", lambda: sd.tensordot(a, a, (2, 0))),
    )


EINSUMS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ba", (2, 3)),
    ("ii", (3, 3)),
    ("ii->i", (3, 3)),
    ("ij->", (2, 3)),
    ("ij -> ji", (2, 3)),
    ("i,i,i->i", (3,), (3,), (3,)),
    ("i,ij,j", (2,), (2, 3), (3,)),
    ("...ij,...jk->...ik", (5, 2, 3), (3, 4)),
    ("...ij,...jk", (5, 1, 2, 3), (4, 3, 2)),
    ("i...->...", (2, 3, 4)),
    ("...,...", (3,), (2, 3)),
    ("...i,i...->i...", (4, 3), (3, 4)),
    ("iij,jk->k", (2, 2, 3), (3, 2)),
    ("Aa,aB->BA", (2, 3), (3, 4)),
    (",i->i", (), (3,)),
    ("->", ()),
    ("ij,ij->ij", (1, 3), (2, 3)),
    ("ij,j->i", (2, 0), (0,)),
    ("...->...", (2, 3)),
    ("i...,j", (2, 3), (4,)),
]


@pytest.mark.parametrize("case", EINSUMS, ids=lambda case: case[0])
def test_einsum_is_numpys(case):
    subscripts, *shapes = case
    operands = [values(s) for s in shapes]
    check(lambda *v: sd.einsum(subscripts, *v), lambda *v: np.einsum(subscripts, *v), *operands)


def test_einsum_makes_diagonals():
    check(lambda v: sd.einsum("i->ii", v), np.diag, values(3))


@pytest.mark.parametrize(
    ("subscripts", "shapes", "message"),
    [
        ("ij,jk", [(2, 3)], "has 2 operands, 1 were given"),
        ("ij", [(2,)], "does not fit shape"),
        ("i", [(2, 3)], "does not fit shape"),
        ("i->j", [(2,)], "no operand has j"),
        ("i1", [(2, 2)], "not made of letters"),
        ("......", [(2,)], "not made of letters"),
        ("i->i->i", [(2,)], "not made of letters"),
        ("ij,jk", [(2, 3), (4, 5)], "letter j would be both 3 and 4"),
        ("ii", [(2, 3)], "would be both"),
    ],
)
def test_einsum_refuses(subscripts, shapes, message):
    with pytest.raises(ValueError, match=message):
        sd.einsum(subscripts, *(np.zeros(s) for s in shapes))


# Linear algebra ---------------------------------------------------------------------------------


def test_linear_algebra_refuses():
    for name in ("inv", "det", "slogdet"):
        with pytest.raises(sd.ShapeError, match=f"{name}: the matrices .* are not square"):
            getattr(sd, name)(np.zeros((2, 3)))
        with pytest.raises(sd.ShapeError, match=f"{name}: shape .* no matrices"):
            getattr(sd, name)(np.zeros(2))
    refused(
        (sd.ShapeError, "solve: shapes", lambda: sd.solve(np.eye(3), np.zeros(2))),
        (sd.ShapeError, "solve", lambda: sd.solve(np.zeros((4, 3, 3)), np.zeros((5, 3, 2)))),
    )
    x = sd.symbol("x")
    with pytest.raises(sd.ShapeError, match=r"by SymPy, whose expression of f is sd.to_sympy\(f\)"):
        sd.solve(x**2 - 1, x)


# The list ---------------------------------------------------------------------------------------


def test_the_list_is_complete_and_every_function_documents_itself():
    assert len(set(functions.__all__)) == len(functions.__all__)
    for name in functions.__all__:
        function = getattr(functions, name)
        assert function is getattr(sd, name)
        assert ">>> " in (function.__doc__ or ""), name
    for module in (shaping, elementwise, indexing, products, reductions, special):
        public = {n for n in vars(module) if n in functions.__all__}
        own = {
            n for n in public if getattr(getattr(module, n), "__module__", "") == module.__name__
        }
        assert own <= set(module.__all__)
        assert module.__name__.rpartition(".")[2] not in functions.__all__


ALIASES = {
    "absolute": "abs",
    "power": "pow",
    "concatenate": "concat",
    "true_divide": "divide",
    "remainder": "mod",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arctan2": "atan2",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
    "amax": "max",
    "amin": "min",
}


@pytest.mark.parametrize(("alias", "name"), ALIASES.items())
def test_both_names_are_one_function(alias, name):
    assert getattr(sd, alias) is getattr(sd, name)
