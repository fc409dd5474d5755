"""Every function under its NumPy name against NumPy's, and what each refuses.

Rows call a function of either library by its name, or say both; ``Value.check`` compares.
"""

from __future__ import annotations

import inspect
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.special
import sympy
from numpy.exceptions import AxisError

import numeric
import symdiff as sd
from numeric import interpret
from symdiff import functions
from symdiff.functions import elementwise, indexing, products, reductions, shaping, special
from tests.support.cases import all_cases
from tests.support.numpys_values import Value

RNG = np.random.default_rng(20261120)


def values(shape, dtype=float):
    if dtype is bool:
        return RNG.random(shape) < 0.5
    if dtype is int:
        return RNG.integers(-3, 4, shape)
    return RNG.uniform(-2, 2, shape)


def of_shapes(titles, call, shapes, *dtypes, **more):
    """A row for each tuple of shapes and each dtype."""
    for operands in shapes:
        for dtype in dtypes or (float,):
            arrays = tuple(values(shape, dtype) for shape in operands)
            yield Value(f"{titles} {operands} {dtype.__name__}", call, arrays, **more)


def named(name):
    """The function of that name in either library."""
    return lambda m, *operands: getattr(m, name)(*operands)


NAN, INF = math.nan, math.inf
SHAPES = [((),), ((0,),), ((1,),), ((3,),), ((2, 3),), ((3, 0),), ((2, 1, 3),), ((1, 1),)]
OF_MATRICES = [((3, 3),), ((2, 4),), ((4, 2),), ((0, 3),), ((2, 3, 3),)]
RESHAPES = [((6,), (2, 3)), ((2, 3), (3, 2)), ((2, 3), (-1, 1, 2)), ((4, 1), (1, 4)), ((), (1,))]
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


def axes_of(ndim):
    yield None
    yield from range(-ndim, ndim)
    if ndim >= 2:
        yield (0, -1)
        yield (1, 0)
    yield ()


def reduced(name, axis, **words):
    """A reduction; what NumPy has under no such name is in the table above."""

    def call(m, v):
        function = getattr(sd, name) if m is sd else REDUCTIONS[name]
        return function(v, axis=axis, **words)

    return call


def places(name, axis):
    words = {"kind": "stable"} if name == "argsort" else {}
    return lambda m, x: getattr(m, name)(x, axis=axis, **(words if m is np else {}))


WITH_NAN = np.array([[1.0, NAN, 3.0, -2.0], [NAN, NAN, NAN, NAN], [4.0, 5.0, 6.0, 7.0]])
TIES = np.array([[3.0, 1.0, 3.0], [NAN, 2.0, 0.0]])
TRUTHS = np.array([[True, False, True], [False, False, True]])
ENDS = np.array([NAN, INF, -INF, 0.0, 1.5])
NUMBERS = {"nan": 1.0, "posinf": 2.0, "neginf": 3.0}
CUBE = RNG.permutation(27).reshape(3, 3, 3) / 3 - 4.1
OF_INDICES = {
    "x[i]": lambda x, i, j: x[i],
    "x[:, i]": lambda x, i, j: x[:, i],
    "x[..., i]": lambda x, i, j: x[..., i],
    "x[j]": lambda x, i, j: x[j],
    "x[1:, j]": lambda x, i, j: x[1:, j],
    "x[None, :, j, 1:]": lambda x, i, j: x[None, :, j, 1:],
    "x[i, j]": lambda x, i, j: x[i, j],
    "x[:, 1, j]": lambda x, i, j: x[:, 1, j],
    "x[i, :, i]": lambda x, i, j: x[i, :, i],
    "x[0, ..., i]": lambda x, i, j: x[0, ..., i],
    "x[i - 1, i, i + 1]": lambda x, i, j: x[i - 1, i, i + 1],
    "take(x, j, axis=1)": lambda x, i, j: np.take(x, j, axis=1),
    "take(x, j)": lambda x, i, j: np.take(x, j),
}
INDICES = (np.int64(1), np.array([[2, -1], [0, 0]]))

# What the table of tests/test_table.py, of distinct real numbers, does not ask: other kinds of
# numbers, axes, orders and shapes, ties, nan and infinities.
VALUES = [
    # Elementwise.
    *(
        row
        for name in ("floor_divide", "mod")
        for row in of_shapes(
            name, named(name), [((3,), (3,)), ((2, 1), (3,)), ((), (2, 2)), ((0,), ())]
        )
    ),
    Value(
        "xlogy of zeros",
        named("xlogy"),
        (np.array([0.0, 0.0, 2.0]), np.array([0.0, 3.0, 3.0])),
        scipy.special,
    ),
    Value("polygamma", lambda m, v: m.polygamma(2, v), (abs(values(4)) + 0.5,), scipy.special),
    *(
        row
        for name in ("logical_and", "logical_or", "logical_xor")
        for row in of_shapes(name, named(name), [((6,), (6,))], bool)
    ),
    *of_shapes("logical_not", named("logical_not"), [((6,),)], bool, int),
    *(
        Value(f"round to {k}", lambda m, v, k=k: m.round(v, k), (values(20) * 100,))
        for k in (-1, 0, 2)
    ),
    Value("where", named("where"), (values((2, 3), bool), values(3), values((2, 1)))),
    *(
        Value(f"clip to {ends}", lambda m, v, ends=ends: m.clip(v, *ends), (values(9),))
        for ends in ((-1, 1), (None, 1), (-1, None), (1, -1))
    ),
    *of_shapes("clip", lambda m, v: m.clip(v, 0, None), [((9,),)], int),
    Value("clip to arrays", named("clip"), (values(9), values((2, 1)) - 2, values(9) + 2)),
    *(Value(name, named(name), (ENDS,)) for name in ("isnan", "isinf", "isfinite", "nan_to_num")),
    Value("nan_to_num with numbers", lambda m, v: m.nan_to_num(v, **NUMBERS), (ENDS,)),
    # Axes and shapes.
    *(
        row
        for title, call in {
            "transpose": named("transpose"),
            "squeeze": named("squeeze"),
            "flip": named("flip"),
            "flattened": lambda m, v: m.reshape(v, -1),
            "broadcast_to": lambda m, v: m.broadcast_to(v, (2, *v.shape)),
            "stack": lambda m, v: m.stack([v, v], -1),
            "expanded first": lambda m, v: m.expand_dims(v, 0),
            "expanded last": lambda m, v: m.expand_dims(v, -1),
            "expanded at the end": lambda m, v: m.expand_dims(v, v.ndim),
            "expanded twice": lambda m, v: m.expand_dims(v, (0, -1)),
        }.items()
        for row in of_shapes(title, call, SHAPES, float, int, bool)
    ),
    *of_shapes(
        "flips along each axis",
        lambda m, v: [m.flip(v, k) for k in range(-v.ndim, v.ndim)],
        SHAPES[1:],
        *(float, int, bool),
    ),
    *of_shapes(
        "concat along each axis",
        lambda m, v: [m.concat([v, v], k) for k in range(-v.ndim, v.ndim)],
        SHAPES[1:],
        *(float, int, bool),
    ),
    Value("permuted", lambda m, v: m.permute_dims(v, (-1, 0, 1)), (values((2, 3, 4)),)),
    *(
        Value(
            f"reshape {before} to {after}",
            lambda m, v, after=after: [m.reshape(v, after), v.reshape(*after)],
            (values(before),),
        )
        for before, after in [*RESHAPES, ((0, 3), (5, 0)), ((2, 3, 4), (2, -1))]
    ),
    Value("concat flat", lambda m, a, b: m.concat([a, b], None), (values((2, 2)), values(2))),
    *(
        row
        for k in (-2, -1, 0, 1, 5)
        for title, call in {
            "diagonal": lambda m, v, k=k: [m.diagonal(v, k), m.diagonal(v, k, -1, 0)],
            "trace": lambda m, v, k=k: m.trace(v, k),
            "triangles": lambda m, v, k=k: [m.tril(v, k), m.triu(v, k)],
        }.items()
        for row in of_shapes(f"{title} {k}", call, OF_MATRICES)
    ),
    *(
        row
        for k in (-2, -1, 0, 1, 5)
        for row in of_shapes(
            f"diag {k}", lambda m, v, k=k: m.diag(v, k), [*OF_MATRICES[:-1], ((3,),), ((0,),)]
        )
    ),
    *(
        Value(title, call, (TRUTHS,))
        for title, call in {
            "sort of truths": lambda m, x: m.sort(x, axis=None),
            "roll of truths": lambda m, x: m.roll(x, 1),
            "tile of truths": lambda m, x: m.tile(x, 2),
            "repeat of truths": lambda m, x: m.repeat(x, 2),
            "pad of truths": lambda m, x: m.pad(x, 1),
            "wrapped truths": lambda m, x: m.pad(x, 1, "wrap"),
            "rot90 of truths": lambda m, x: m.rot90(x),
            "ravel of truths": lambda m, x: m.ravel(x),
            "hstack of truths": lambda m, x: m.hstack([x, x]),
            "taken truths": lambda m, x: m.take_along_axis(x, np.array([[1], [0]]), axis=1),
            "diff of truths": lambda m, x: (m.finite_diff if m is sd else m.diff)(x),
            "any of truths": lambda m, x: m.any(x, axis=0),
            "all of truths": lambda m, x: m.all(x, axis=1),
            "select of truths": lambda m, x: m.select([x], [x], ~x),
        }.items()
    ),
    # Reductions.
    *(
        Value(
            f"{name} of {shape}, axis {axis}, keepdims {keepdims}",
            reduced(name, axis, keepdims=keepdims),
            (values(shape),),
        )
        for name in REDUCTIONS
        for shape in [(), (1,), (3,), (2, 3), (2, 1, 3)]
        for keepdims in (False, True)
        for axis in axes_of(len(shape))
        # SciPy's has no empty axis, and gives one to scalars
        if name != "logsumexp" or not (axis == () or shape == ())
    ),
    *(
        Value(
            f"{name} of {shape} integers, axis {axis}", reduced(name, axis), (values(shape, int),)
        )
        for name in ("sum", "prod", "max", "min")
        for shape, axis in (((2, 3), None), ((2, 3), 0))
    ),
    *(
        Value(
            f"{name} of {shape} truths",
            reduced(name, -1),
            (values(shape, bool),),
            kind=(name, shape) != ("mean", (1,)),  # an integer divided by 1 is that integer
        )
        for name in ("sum", "mean", "prod", "max", "min")
        for shape in [(1,), (4,), (2, 3)]
    ),
    *(
        Value(
            f"{name} of nothing, {shape}, axis {axis}",
            reduced(name, axis, keepdims=True),
            (values(shape),),
        )
        for name in ("sum", "mean", "prod", "var", "std", "norm")
        for shape in [(0,), (0, 3), (3, 0)]
        for axis in (None, 0, -1)
    ),
    *(
        Value(
            f"{name} {word}={ddof}",
            lambda m, v, name=name, word=word, ddof=ddof: getattr(m, name)(
                v, axis=0, **{word: ddof}
            ),
            (values((3, 2)),),
        )
        for name in ("var", "std")
        for word in ("ddof", "correction")
        for ddof in (0, 1, 0.5, 3, 4)
    ),
    *(
        Value(
            f"{name} of {n} with ddof {ddof}",
            lambda m, v, name=name, ddof=ddof: getattr(m, name)(
                v, **({} if name == "cov" else {"axis": 1}), ddof=ddof
            ),
            (values((2, n)),),
        )
        for name in ("cov", "var", "std")
        for n in (0, 1, 2, 4)
        for ddof in (0, 1, 3)
    ),
    *(
        Value(
            f"{name} axis {axis} keepdims {keepdims} of {len(v)} rows",
            lambda m, v, name=name, axis=axis, keepdims=keepdims: getattr(m, name)(
                v, axis=axis, keepdims=keepdims
            ),
            (v,),
        )
        for name in ("nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin")
        for axis in (None, 0, 1, (0, 1))
        for keepdims in (False, True)
        for v in (WITH_NAN, WITH_NAN[::2])
    ),
    Value("nancumsum", lambda m, v: m.nancumsum(v, 1), (WITH_NAN,)),
    *(
        Value(f"nanvar ddof {k}", lambda m, v, k=k: m.nanvar(v, 1, ddof=k), (WITH_NAN,))
        for k in (1, 3)
    ),
    *(
        Value(
            f"{name} axis {axis} of {v.shape}",
            lambda m, v, name=name, axis=axis: getattr(m, name)(v, axis),
            (v,),
            kind=name != "count_nonzero",
        )
        for name in ("any", "all", "count_nonzero")
        for axis in (None, 0, 1, (0, 1))
        for v in (np.array([[1.0, 0.0], [2.0, NAN]]), np.zeros((0, 2)), np.zeros((2, 0)))
    ),
    *(
        Value(
            f"{name} axis {axis}",
            lambda m, v, name=name, axis=axis: getattr(m, name)(v, axis),
            (values((2, 1)),),
            scipy.special,
        )
        for name in ("softmax", "log_softmax")
        for axis in (None, 0, 1, (0, 1))
    ),
    *(
        row
        for order in (None, 0, 1, 2, 3, 2.5, -1, INF, -INF)
        for row in (
            Value(
                f"norm {order} of a vector",
                lambda m, v, p=order: m.norm(v, p),
                (values(4),),
                np.linalg,
                kind=False,
            ),
            Value(
                f"norms {order} of columns",
                lambda m, v, p=order: m.norm(v, p, axis=0, keepdims=True),
                (values((3, 2)),),
                np.linalg,
                kind=False,
            ),
        )
    ),
    *(
        Value(
            f"norm {order} of matrices, {words}",
            lambda m, v, p=order, words=words: m.norm(v, p, **words),
            (values(shape),),
            np.linalg,
        )
        for order in (None, "fro", 1, -1, 2, -2, "nuc", INF, -INF)
        for shape, words in (
            ((3, 2), {}),
            ((3, 4, 2), {"axis": (-1, 0), "keepdims": False}),
            ((3, 4, 2), {"axis": (-1, 0), "keepdims": True}),
        )
    ),
    # Products.
    *(row for name in PRODUCTS for row in of_shapes(name, named(name), PRODUCTS[name], float, int)),
    *(
        Value(
            f"tensordot {axes}",
            lambda m, a, b, axes=axes: m.tensordot(a, b, axes),
            (values((3, 3)), values((3, 3))),
        )
        for axes in (0, 1, 2, (0, 0), ((0, 1), (1, 0)), (-1, -1), ((), ()))
    ),
    *(
        Value(
            f"einsum {subscripts}",
            lambda m, *v, subscripts=subscripts: m.einsum(subscripts, *v),
            tuple(map(values, shapes)),
        )
        for subscripts, *shapes in EINSUMS
    ),
    Value(
        "einsum onto a diagonal",
        lambda m, v: m.einsum("i->ii", v) if m is sd else m.diag(v),
        (values(3),),
    ),
    # Order.
    *(
        Value(f"{name} axis {axis} of {v.shape}", places(name, axis), (v,))
        for name in ("argmax", "argmin", "argsort")
        for axis in (None, 0, 1, -1)
        for v in (TIES, TIES[:1])
    ),
    *(
        Value(
            f"argmax kept, axis {axis}",
            lambda m, v, axis=axis: m.argmax(v, axis=axis, keepdims=True),
            (CUBE,),
        )
        for axis in (None, 1)
    ),
    *(
        Value(
            f"searchsorted {side}",
            lambda m, t, v, side=side: m.searchsorted(t, v, side),
            (np.array([0.0, 1.0, 1.0, 2.0]), np.array([[-1, 0, 0.5], [1, 2, NAN]])),
        )
        for side in ("left", "right")
    ),
    Value("nan is sorted last", named("sort"), (TIES,)),
    Value("nan wins medians", lambda m, v: m.median(v, 1), (TIES,)),
    Value("nan wins quantiles", lambda m, v: m.quantile(v, 0.5, 1), (TIES,)),
    Value(
        "interp at its points",
        lambda m, v: m.interp(v, np.array([0.0, 1.0, 3.0]), np.array([0.0, 2.0, 3.0])),
        (np.array([-1.0, 0.0, 1.0, 3.0, 4.0, NAN]),),
    ),
    Value(
        "logcumsumexp of large numbers",
        lambda m, v: m.logcumsumexp(v) if m is sd else np.logaddexp.accumulate(v),
        (np.array([1000.0, 999.0, -1000.0, 1001.0]),),
    ),
    Value(
        "logcumsumexp of no probability",
        lambda m, v: m.logcumsumexp(v) if m is sd else np.logaddexp.accumulate(v),
        (np.array([-INF, 1.0, 2.0]),),
    ),
    # Indices that are expressions.
    *(
        Value(title, lambda m, *given, call=call: call(*given), (CUBE, *INDICES))
        for title, call in OF_INDICES.items()
    ),
    # In single precision, and of integers.
    *(
        Value(f"{title} of {dtype.__name__}", call, (np.array([-2, -1, 3, 4, 7], dtype),))
        for dtype in (np.float32, np.int64)
        for title, call in {
            "sort": named("sort"),
            "cumprod": named("cumprod"),
            "roll": lambda m, x: m.roll(x, 1),
            "pad": lambda m, x: m.pad(x, 2),
            "pad with ones": lambda m, x: m.pad(x, 2, constant_values=1),
            "pad with edges": lambda m, x: m.pad(x, 1, "edge"),
            "tile": lambda m, x: m.tile(x, 2),
            "finite_diff": lambda m, x: (m.finite_diff if m is sd else m.diff)(x),
            "convolve": lambda m, x: m.convolve(x, x),
            "median": lambda m, x: m.median(x[1:]),
            "rfft": lambda m, x: m.rfft(x)[1] if m is sd else m.fft.rfft(x).imag,
            "logcumsumexp": lambda m, x: (
                m.logcumsumexp(x)
                if m is sd
                else np.logaddexp.accumulate(x.astype(np.result_type(x, np.float32)))
            ),
            "nan_to_num": named("nan_to_num"),
            "index_update": lambda m, x: (
                m.index_update(x, 0, 5) if m is sd else np.array([5, *x[1:]], x.dtype)
            ),
            "argsort": named("argsort"),
            "argmax": named("argmax"),
            "searchsorted": lambda m, x: m.searchsorted(x, x),
        }.items()
    ),
]


@all_cases("row", VALUES, ids=lambda row: row.title, least=1434)
def test_values_are_numpys(row):
    row.check()


@pytest.mark.filterwarnings("ignore:invalid value", "ignore:divide by zero")
@pytest.mark.parametrize("name", ["cov", "var", "std"])
@pytest.mark.parametrize("n", [0, 1, 2, 4])
@pytest.mark.parametrize("ddof", [0, 1, 3])
def test_moments_over_a_symbolic_axis(name, n, ddof):
    """Those that NumPy has of so few observations, nan and inf included."""
    words = {"ddof": ddof} | ({} if name == "cov" else {"axis": 1})
    at, x = values((2, n)), sd.symbol("x", (2, "n"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = getattr(np, name)(at, **words)
    found = numeric.lower(getattr(sd, name)(x, **words), [x])(at)
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_over_a_symbolic_axis(name):
    X, at = sd.symbol("X", ("n", 3)), values((4, 3))
    y = getattr(sd, name)(X, axis=0)
    assert y.shape == (3,)
    np.testing.assert_allclose(
        interpret(y, {X: at}), REDUCTIONS[name](at, axis=0, keepdims=False), rtol=1e-13
    )


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
def test_softmax_of_large_numbers(axis):
    """The exponent x - logsumexp(x) is rounded at size 1000: 1e3 epsilons in its exponential."""
    v = sd.symbol("v", (2, 3))
    at = np.array([[1000.0, 1001.0, 0.0], [-1000.0, -1001.0, 1.0]])
    for name in ("softmax", "log_softmax"):
        found = interpret(getattr(sd, name)(v, axis), {v: at})
        expected = getattr(scipy.special, name)(at, axis)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


# Elementwise ------------------------------------------------------------------------------------


# One value, one node ------------------------------------------------------------------------------

x, y, z, w = sd.symbol("x"), sd.symbol("y"), sd.symbol("z"), sd.symbol("w", 3)
X, C = sd.symbol("X", (2, "n")), sd.symbol("C", (2, 3, 4))
M, N = sd.symbol("M", (4, 3)), sd.symbol("N", ("n", 2, 3))
SPELLINGS = [
    (sd.polygamma(0, x), sd.digamma(x)),
    (sd.round(2.5), sd.constant(2)),
    (sd.where(True, x, 1 / x), x),
    (sd.clip(x), x),
    (sd.exp(0), sd.constant(1)),
    (sd.add(1, 2), sd.constant(3)),
    (sd.atan2(Fraction(0), sympy.Integer(1)), sd.constant(0)),
    (X.T.T, X),
    (sd.squeeze(sd.expand_dims(X, 1)), X),
    (sd.reshape(X, (2, 1, "n")), sd.expand_dims(X, 1)),
    (C.reshape(6, 4).reshape(2, 12), C.reshape(2, 12)),
    (C.reshape(24).reshape(2, 3, 4), C),
    (sd.reshape(np.ones(1)[0], (1, 1)), sd.ones((1, 1))),
    (sd.concat([w]), w),
    (sd.logsumexp(sd.symbol("none", (3, 0)), 1), sd.full(3, -math.inf)),
    (sd.sum(M * w, axis=1), M @ w),
    (sd.vdot(w, w), sd.sum(w * w)),
    (sd.sum(sd.sum(M, 1)), sd.sum(M)),
    (sd.einsum("ij->ji", M), M.T),
    (sd.substitute((y - z) ** 128, {y: 0, z: 1}), sd.constant(1)),
]


@pytest.mark.parametrize(("found", "wanted"), SPELLINGS, ids=str)
def test_one_value_has_one_spelling(found, wanted):
    assert found is wanted


@pytest.mark.parametrize(
    ("found", "shape"),
    [
        (sd.sin(np.zeros(3)), (3,)),
        (N.reshape("n", -1), ("n", 6)),
        (N.reshape(-1, 6), ("n", 6)),
        (N.reshape((3, "n", 2)), (3, "n", 2)),
        (sd.concat([w, np.array([1, 2]), np.ones(1)]), (6,)),
        (sd.stack([1, sd.pi]), (2,)),
        (sd.max(sd.symbol("nothing", (3, 0)), axis=0), (0,)),
        (sd.min(sd.symbol("nothing", (3, 0)), axis=0), (0,)),
        (sd.max(sd.symbol("one", ("n", 1))), ()),
        (sd.symbol("P", ("b", "n", "k")) @ sd.symbol("Q", ("k", 3)), ("b", "n", 3)),
    ],
    ids=str,
)
def test_shapes(found, shape):
    assert found.shape == shape


def test_clip_keeps_the_derivative_at_a_bound():
    x = sd.symbol("x")
    for low, high in ((0, None), (None, 0), (0, 1)):
        slope = sd.diff(sd.clip(x, low, high), x)
        assert interpret(slope, {x: 0.0}) == 1


def test_kinds_of_numbers():
    assert sd.round(sd.symbol("k", (), int)).dtype is int
    assert sd.concat([sd.symbol("k", 2, int), np.ones(1)]).dtype is float


# Defining a function ----------------------------------------------------------------------------


def test_pointwise_defines_a_function_with_derivatives_of_every_order():
    softsign = sd.pointwise("softsign", lambda x: x / (1 + sympy.Abs(x)))
    x = sd.symbol("x", 5)
    at = np.array([-2.0, -0.5, 0.0, 0.5, 2.0])
    run = interpret
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


# Axes and shapes --------------------------------------------------------------------------------


# Reductions -------------------------------------------------------------------------------------


def test_whole_exponents_are_ints():
    # One op stands for equal exponents, so that of whoever made it first is everybody's.
    x, y = sd.symbols("x y")
    kept = sd.norm(sd.symbol("v", 3), 2.0**-7)
    power = (x - y) ** 128
    assert power.op.exponents[0].__class__ is int
    assert sd.substitute(power, {x: 0, y: 1}) is sd.constant(1)
    assert power.op in {node.op for node in sd.nodes(kept)}


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 0)])
def test_norms_of_nothing(shape):
    """As NumPy has them: 0, or refused where the smallest of none is asked for."""
    x, nothing = sd.symbol("x", shape), np.zeros(shape)
    axis = (-2, -1) if len(shape) > 1 else None
    for order in (1, 2, math.inf, -math.inf, *((-1, -2, "nuc", "fro") if axis else (0, 3))):
        try:
            expected = np.linalg.norm(nothing, order, axis)
        except ValueError as error:
            if "maximum" in str(error):  # before NumPy 2.3 the largest of none had no value, too
                continue
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
        found = interpret(sd.grad(sd.norm(x, order), x), {x: np.diag(values).astype(float)})
        np.testing.assert_allclose(found, np.diag(slopes), atol=1e-15)


@pytest.mark.parametrize("order", SPECTRA)
def test_second_derivatives_of_such_norms_are_refused_at_ties(order):
    x = sd.symbol("x", (3, 3))
    hessian = sd.hessian(sd.norm(x, order), x)
    with pytest.raises(np.linalg.LinAlgError, match="equal to rounding"):
        interpret(hessian, {x: np.diag([2.0, 1.0, 1.0])})


@pytest.mark.parametrize("order", [1, 2, 3, 2.5])
def test_the_norm_of_zero_has_derivative_zero(order):
    x = sd.symbol("x", 3)
    slope = sd.grad(sd.norm(x, order), x)
    assert not interpret(slope, {x: np.zeros(3)}).any()


# Products ---------------------------------------------------------------------------------------

# Refusals ---------------------------------------------------------------------------------------

zeros = np.zeros
A, B = sd.symbol("A", (3, 4)), sd.symbol("B", (5, 2))
LETTERS = r"matmul: A\[i,j\] is \(3, 4\) but B\[j,k\] is \(5, 2\); letter j would be both 4 and 5"
REFUSED = [
    (ValueError, "polygamma: the order", lambda: sd.polygamma(-1, 1.0)),
    (ValueError, "polygamma: the order", lambda: sd.polygamma(1.5, 1.0)),
    (ValueError, "polygamma: the order", lambda: sd.polygamma(sd.symbol("n"), 1.0)),
    (TypeError, "complex", lambda: sd.sin(1j)),
    (sd.ShapeError, r"hypot.*\(2,\) and \(3,\)", lambda: sd.hypot(zeros(2), zeros(3))),
    (ValueError, "'x0:4' is not an identifier; write the names out", lambda: sd.symbols("x0:4")),
    (ValueError, "fixed number of operands", lambda: sd.pointwise("f", lambda *x: x[0])),
    (ValueError, "fixed number of operands", lambda: sd.pointwise("f", lambda x, *, k: x)),
    (ValueError, "contains z", lambda: sd.pointwise("f", lambda x: x + sympy.Symbol("z"))),
    (ValueError, "not an identifier", lambda: sd.pointwise("a b", lambda x: x)),
    (sd.Unsupported, "airyai", lambda: sd.pointwise("j", lambda x: sympy.airyai(x))),
    # Axes and shapes.
    (ValueError, "permute_dims: axes", lambda: sd.permute_dims(C, (0, 1))),
    (ValueError, "repeated axis", lambda: sd.permute_dims(C, (0, 0, 1))),
    (AxisError, "permute_dims: axis 3", lambda: sd.permute_dims(C, (0, 1, 3))),
    (sd.ShapeError, "matrix_transpose", lambda: sd.matrix_transpose(zeros(3))),
    (sd.ShapeError, r"reshape: \(n, 2, 3\) and \(n, 5\)", lambda: N.reshape("n", 5)),
    (sd.ShapeError, "different numbers", lambda: N.reshape("m", -1)),
    (sd.ShapeError, "reshape", lambda: sd.reshape(zeros((2, 3)), (5,))),
    (sd.ShapeError, "reshape", lambda: sd.reshape(zeros((2, 3)), (4, -1))),
    (sd.ShapeError, "reshape", lambda: sd.reshape(zeros((2, 3)), (0, -1))),
    (ValueError, "more than one -1", lambda: sd.reshape(zeros((2, 3)), (-1, -1))),
    (ValueError, "neither an int >= 0", lambda: sd.reshape(zeros((2, 3)), (-2, 3))),
    (sd.ShapeError, "concat: shapes", lambda: sd.concat([A, B])),
    (sd.ShapeError, "concat: shapes", lambda: sd.concat([A, w])),
    (sd.ShapeError, "stack: shapes", lambda: sd.stack([A, B])),
    (ValueError, "at least one array", lambda: sd.concat([])),
    (ValueError, "at least one array", lambda: sd.stack([])),
    (AxisError, "concat: axis 2", lambda: sd.concat([A, A], 2)),
    (sd.ShapeError, "squeeze: axis 1", lambda: sd.squeeze(zeros((1, 3)), 1)),
    (sd.ShapeError, "broadcast_to", lambda: sd.broadcast_to(zeros((1, 3)), (2, 4))),
    (AxisError, "flip: axis 2 is out of bounds", lambda: sd.flip(zeros((1, 3)), 2)),
    (AxisError, "expand_dims: axis 5", lambda: sd.expand_dims(zeros((1, 3)), 5)),
    (sd.Unsupported, "diagonal: the length", lambda: sd.diagonal(sd.symbol("X", ("n", 3)))),
    (ValueError, "repeated axis", lambda: sd.diagonal(zeros((2, 2)), 0, 1, 1)),
    (sd.ShapeError, "diag: shape", lambda: sd.diag(zeros((2, 2, 2)))),
    (sd.ShapeError, "tril", lambda: sd.tril(zeros(2))),
    # Reductions.
    *(
        (ValueError, "over no elements", lambda f=f: f(zeros((3, 0)), axis=1))
        for f in (sd.max, sd.min)
    ),
    (ValueError, "two names", lambda: sd.var(zeros(3), ddof=1, correction=1)),
    *(
        (
            AxisError,
            f"^{name}: axis 2 is out of bounds",
            lambda name=name: getattr(sd, name)(zeros((2, 3)), axis=2),
        )
        for name in (*REDUCTIONS, "softmax", "cumsum")
    ),
    (ValueError, "repeated axis", lambda: sd.sum(zeros((2, 3)), axis=(0, 0))),
    (TypeError, "str", lambda: sd.quantile(w, "0.5")),
    (TypeError, "tile: argument 'reps'", lambda: sd.tile(w, np.array([1j, 2]))),
    (ValueError, "norm: no order", lambda: sd.norm(zeros((2, 2)), 3)),
    (ValueError, "norm: no order", lambda: sd.norm(zeros(2), "fro")),
    (ValueError, "norm: no order", lambda: sd.norm(zeros((2, 2, 2)), 1)),
    # Products.
    (sd.ShapeError, LETTERS, lambda: A @ B),
    (sd.ShapeError, r"A\[j\] is \(3,\)", lambda: sd.symbol("x", 3) @ A.T),
    (sd.ShapeError, "matmul: shapes", lambda: sd.matmul(zeros((2, 3, 3)), zeros((3, 3, 3)))),
    (sd.ShapeError, "scalar", lambda: A @ 2),
    (
        sd.ShapeError,
        "letter j would be both n and k",
        lambda: sd.symbol("C", "n") @ sd.symbol("B", ("k", 3)),
    ),
    (sd.ShapeError, "dot: shapes", lambda: sd.dot(zeros((2, 3)), zeros((2, 3)))),
    (sd.ShapeError, "vdot", lambda: sd.vdot(zeros(2), zeros(3))),
    (sd.ShapeError, "lengths 3 and 4", lambda: sd.tensordot(A, A, (0, 1))),
    (ValueError, "1 axes of the first", lambda: sd.tensordot(A, A, ((0,), (0, 1)))),
    (sd.ShapeError, "no 3 axes", lambda: sd.tensordot(A, A, 3)),
    (AxisError, "tensordot", lambda: sd.tensordot(A, A, (2, 0))),
    *(
        (
            ValueError,
            message,
            lambda subscripts=subscripts, shapes=shapes: sd.einsum(
                subscripts, *map(np.zeros, shapes)
            ),
        )
        for subscripts, shapes, message in (
            ("ij,jk", [(2, 3)], "has 2 operands, 1 were given"),
            ("ij", [(2,)], "does not fit shape"),
            ("i", [(2, 3)], "does not fit shape"),
            ("i->j", [(2,)], "no operand has j"),
            ("i1", [(2, 2)], "not made of letters"),
            ("......", [(2,)], "not made of letters"),
            ("i->i->i", [(2,)], "not made of letters"),
            ("ij,jk", [(2, 3), (4, 5)], "letter j would be both 3 and 4"),
            ("ii", [(2, 3)], "would be both"),
        )
    ),
    # Linear algebra.
    *(
        (sd.ShapeError, f"{name}: {says}", lambda name=name, s=shape: getattr(sd, name)(zeros(s)))
        for name in ("inv", "det", "slogdet")
        for shape, says in (((2, 3), "the matrices .* are not square"), (2, "shape .* no matrices"))
    ),
    (sd.ShapeError, "solve: shapes", lambda: sd.solve(np.eye(3), zeros(2))),
    (sd.ShapeError, "solve", lambda: sd.solve(zeros((4, 3, 3)), zeros((5, 3, 2)))),
    (
        sd.ShapeError,
        r"or SymPy with sd.to_sympy\(f\)",
        lambda: sd.solve(x**2 - 1, x),
    ),
]


@all_cases(("error", "says", "call"), REFUSED, least=85)
def test_what_is_refused(error, says, call):
    with pytest.raises(error, match=says):
        call()


# Linear algebra ---------------------------------------------------------------------------------


# The list ---------------------------------------------------------------------------------------


def test_the_list_is_complete_and_every_function_documents_itself():
    assert len(set(functions.__all__)) == len(functions.__all__)
    for name in functions.__all__:
        function = getattr(functions, name)
        public = getattr(sd, name)
        assert function in (public, getattr(public, "__wrapped__", None)), name
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
