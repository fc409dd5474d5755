"""Orders, signals, layouts and statistics: values against NumPy's, derivatives by differences."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.special

import symdiff as sd
from numeric import lower
from numeric.lowering.reference import interpret
from symdiff.exact.evaluation import evaluate_mp
from tests.support.oracles import richardson
from tests.support.refusals import refused

RNG = np.random.default_rng(7)
NAN = float("nan")
INF = float("inf")


def array(*shape):
    """Distinct elements, none near 0."""
    size = math.prod(shape)
    steps = RNG.permutation(size) + RNG.uniform(0.2, 0.8, size)
    return ((steps - size / 2 + 0.1) / 3).reshape(shape)


def evaluated(fn, *values):
    xs = [sd.symbol(f"x{k}", np.shape(v), np.asarray(v).dtype) for k, v in enumerate(values)]
    y = fn(*xs)
    env = dict(zip(xs, values, strict=True))
    if isinstance(y, list | tuple):
        return [interpret(v, env) for v in y]
    value = interpret(y, env)
    assert np.shape(value) == y.shape
    lowered = np.asarray(lower(y, xs)(*values))
    assert lowered.dtype == np.asarray(value).dtype
    np.testing.assert_allclose(
        lowered, np.asarray(value), rtol=1e-6 if lowered.dtype == np.float32 else 1e-14
    )
    return value


def agrees(found, expected):
    if isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            agrees(a, b)
        return
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_allclose(
        np.asarray(found, float), np.asarray(expected, float), rtol=1e-12, atol=1e-12
    )


def differentiates(fn, *values):
    """The Jacobian, and the Hessian of a nonlinear function of the value, against differences."""
    xs = [sd.symbol(f"x{k}", np.shape(v)) for k, v in enumerate(values)]
    y = fn(*xs)
    parts = list(y) if isinstance(y, list | tuple) else [y]
    flat = sd.concat([sd.reshape(part, -1) for part in parts])
    weights = np.cos(np.arange(flat.shape[0]))
    smooth = sd.sum((flat + flat**2 / 2) * weights)
    gradients = sd.grad(smooth, xs)

    def at(expr, point):
        return np.asarray(interpret(expr, dict(zip(xs, point, strict=True))), float)

    for k, x in enumerate(xs):
        t = RNG.uniform(-1, 1, x.shape)
        for expr in (smooth, *gradients):
            (tangent,) = [sd.jvp(expr, x, sd.constant(t))]
            found = at(tangent, values)

            def moved(h, k=k, t=t, expr=expr):
                point = [v + h * t if i == k else v for i, v in enumerate(values)]
                return at(expr, point)

            expected, error = richardson(moved, np.full(expr.shape, 1e-14), first=0.02)
            assert np.all(abs(found - expected) <= 1e-6 + 10 * error), (found, expected)
        jacobian = at(sd.jacobian(flat, x), values)
        np.testing.assert_allclose(
            np.tensordot(jacobian, t, np.ndim(t)),
            at(sd.jvp(flat, x, sd.constant(t)), values),
            rtol=1e-9,
            atol=1e-10,
        )


def pairs(transform, *args, **kwargs):
    """A NumPy transform of real and imaginary part, as a pair."""

    def function(re, im=None):
        z = transform(re if im is None else re + 1j * im, *args, **kwargs)
        return [z.real, z.imag]

    return function


def tril_vector(x):
    return x[..., *np.tril_indices(x.shape[-1])]


PLACES = np.array([[2, 0], [1, 1]])

# Name, ours, NumPy's, operands' shapes.
SMOOTH = [
    ("sort", lambda x: sd.sort(x), np.sort, (5,)),
    ("sort axis 0", lambda x: sd.sort(x, axis=0), lambda x: np.sort(x, axis=0), (3, 2)),
    ("sort all", lambda x: sd.sort(x, axis=None), lambda x: np.sort(x, axis=None), (3, 2)),
    ("sort one", sd.sort, np.sort, (2, 1)),
    ("sort none", sd.sort, np.sort, (2, 0)),
    ("partition", lambda x: sd.partition(x, 2)[2], lambda x: np.partition(x, 2)[2], (5,)),
    ("median odd", sd.median, np.median, (5,)),
    ("median even", lambda x: sd.median(x, 1), lambda x: np.median(x, 1), (2, 4)),
    ("median one", sd.median, np.median, (1,)),
    (
        "median axes",
        lambda x: sd.median(x, (0, 2), keepdims=True),
        lambda x: np.median(x, (0, 2), keepdims=True),
        (2, 3, 2),
    ),
    *(
        (
            f"quantile {q}",
            lambda x, q=q: sd.quantile(x, q, 0),
            lambda x, q=q: np.quantile(x, q, 0),
            s,
        )
        for q in (0, 0.3, 0.5, 1, [0.2, 0.9])
        for s in ((4, 2), (1, 2))
    ),
    ("percentile", lambda x: sd.percentile(x, 35), lambda x: np.percentile(x, 35), (6,)),
    (
        "take_along_axis",
        lambda x: sd.take_along_axis(x, PLACES, axis=1),
        lambda x: np.take_along_axis(x, PLACES, axis=1),
        (2, 3),
    ),
    (
        "take_along_axis, stretched",
        lambda x: sd.take_along_axis(x, PLACES[:, :1], axis=0),
        lambda x: np.take_along_axis(x, PLACES[:, :1], axis=0),
        (3, 4),
    ),
    (
        "take_along_axis, flat",
        lambda x: sd.take_along_axis(x, np.array([-1, 0, 0]), axis=None),
        lambda x: np.take_along_axis(x, np.array([-1, 0, 0]), axis=None),
        (3, 2),
    ),
    (
        "interp",
        lambda x, xp, fp: sd.interp(x, sd.cumsum(sd.exp(xp)), fp),
        lambda x, xp, fp: np.interp(x, np.cumsum(np.exp(xp)), fp),
        (8,),
        (4,),
        (4,),
    ),
    (
        "interp with ends",
        lambda x: sd.interp(x, [-0.5, 0.1], [1.0, 3.0], left=-1, right=7),
        lambda x: np.interp(x, [-0.5, 0.1], [1.0, 3.0], left=-1, right=7),
        (2, 4),
    ),
    (
        "interp of a point",
        lambda x, f: sd.interp(x, [0.1], f),
        lambda x, f: np.interp(x, [0.1], f),
        (3,),
        (1,),
    ),
    ("cumprod", sd.cumprod, np.cumprod, (2, 3)),
    ("cumprod axis", lambda x: sd.cumprod(x, 0), lambda x: np.cumprod(x, 0), (3, 2)),
    ("cumprod one", sd.cumprod, np.cumprod, (1,)),
    ("cumprod none", sd.cumprod, np.cumprod, (0,)),
    (
        "logcumsumexp",
        lambda x: sd.logcumsumexp(x, 1),
        lambda x: np.log(np.cumsum(np.exp(x), 1)),
        (2, 4),
    ),
    ("logcumsumexp one", sd.logcumsumexp, lambda x: x, (1,)),
    ("logcumsumexp none", sd.logcumsumexp, lambda x: x, (0,)),
    # signals
    *(
        (
            f"{name} {mode} {n} {m}",
            lambda a, v, name=name, mode=mode: getattr(sd, name)(a, v, mode),
            lambda a, v, name=name, mode=mode: getattr(np, name)(a, v, mode),
            (n,),
            (m,),
        )
        for name in ("convolve", "correlate")
        for mode in ("full", "same", "valid")
        for n, m in ((5, 3), (5, 2), (4, 4), (2, 5), (3, 6), (1, 1), (1, 4))
    ),
    ("finite_diff", sd.finite_diff, np.diff, (2, 5)),
    ("finite_diff twice", lambda x: sd.finite_diff(x, 2, 0), lambda x: np.diff(x, 2, 0), (4, 2)),
    ("finite_diff far", lambda x: sd.finite_diff(x, 4), lambda x: np.diff(x, 4), (3,)),
    (
        "finite_diff with ends",
        lambda x, y: sd.finite_diff(x, axis=0, prepend=0, append=y),
        lambda x, y: np.diff(x, axis=0, prepend=0, append=y),
        (3, 2),
        (2, 2),
    ),
    ("trapezoid", sd.trapezoid, np.trapezoid, (2, 5)),
    ("trapezoid one", sd.trapezoid, np.trapezoid, (2, 1)),
    (
        "trapezoid places",
        lambda y, x: sd.trapezoid(y, x, axis=0),
        lambda y, x: np.trapezoid(y, x, axis=0),
        (4, 2),
        (4,),
    ),
    (
        "trapezoid all places",
        lambda y, x: sd.trapezoid(y, x, axis=0),
        lambda y, x: np.trapezoid(y, x, axis=0),
        (4, 2),
        (4, 2),
    ),
    *((f"fft {n}", sd.fft, pairs(np.fft.fft), (n,), (n,)) for n in (1, 2, 5, 6)),
    ("fft real", sd.fft, pairs(np.fft.fft), (2, 4)),
    (
        "fft cut",
        lambda x, y: sd.fft(x, y, 3, 0),
        pairs(np.fft.fft, 3, 0),
        (4, 2),
        (4, 2),
    ),
    ("fft filled", lambda x: sd.fft(x, n=6), pairs(np.fft.fft, 6), (4,)),
    *((f"ifft {n}", sd.ifft, pairs(np.fft.ifft), (n,), (n,)) for n in (1, 4, 5)),
    *((f"rfft {n}", sd.rfft, pairs(np.fft.rfft), (2, n)) for n in (1, 4, 5)),
    ("rfft axis", lambda x: sd.rfft(x, axis=0), pairs(np.fft.rfft, axis=0), (4, 2)),
    *(
        (
            f"irfft {m} {n}",
            lambda x, y, n=n: sd.irfft(x, y, n),
            lambda x, y, n=n: np.fft.irfft(x + 1j * y, n),
            (2, m),
            (2, m),
        )
        for m, n in ((3, None), (3, 5), (4, 4), (2, 7), (1, 1), (5, 2))
    ),
    ("fftn", sd.fftn, pairs(np.fft.fftn), (2, 3), (2, 3)),
    ("ifftn", lambda x: sd.ifftn(x, axes=(1,)), pairs(np.fft.ifftn, axes=(1,)), (2, 3)),
    ("fftshift", sd.fftshift, np.fft.fftshift, (3, 4)),
    ("ifftshift", lambda x: sd.ifftshift(x, 0), lambda x: np.fft.ifftshift(x, 0), (5, 2)),
    # layouts
    ("swapaxes", lambda x: sd.swapaxes(x, 0, -1), lambda x: np.swapaxes(x, 0, -1), (2, 3, 4)),
    (
        "moveaxis",
        lambda x: sd.moveaxis(x, (0, 1), (-1, 0)),
        lambda x: np.moveaxis(x, (0, 1), (-1, 0)),
        (2, 3, 4),
    ),
    *(
        (
            f"rollaxis {k}",
            lambda x, k=k: sd.rollaxis(x, *k),
            lambda x, k=k: np.rollaxis(x, *k),
            (2, 3, 4),
        )
        for k in ((2,), (0, 3), (0, 2), (-1, 1))
    ),
    ("ravel", sd.ravel, np.ravel, (2, 3)),
    *(
        (f"{name} {s}", getattr(sd, name), getattr(np, name), s)
        for name in ("atleast_1d", "atleast_2d", "atleast_3d")
        for s in ((), (2,), (2, 3), (2, 3, 1), (1, 2, 1, 1))
    ),
    ("atleast several", sd.atleast_2d, np.atleast_2d, (), (2,)),
    ("broadcast_arrays", sd.broadcast_arrays, np.broadcast_arrays, (2, 1), (3,)),
    ("meshgrid", sd.meshgrid, np.meshgrid, (2,), (3,), (4,)),
    (
        "meshgrid ij",
        lambda *v: sd.meshgrid(*v, indexing="ij"),
        lambda *v: np.meshgrid(*v, indexing="ij"),
        (2,),
        (),
    ),
    *(
        (
            f"{name} {s}",
            lambda *v, name=name: getattr(sd, name)(v),
            lambda *v, name=name: getattr(np, name)(v),
            *s,
        )
        for name in ("hstack", "vstack", "dstack", "column_stack")
        for s in (((3,), (3,)), ((2, 3), (2, 3)))
    ),
    ("append", sd.append, np.append, (2, 2), (3,)),
    (
        "append axis",
        lambda x, y: sd.append(x, y, 0),
        lambda x, y: np.append(x, y, 0),
        (2, 2),
        (1, 2),
    ),
    ("array_split", lambda x: sd.array_split(x, 3), lambda x: np.array_split(x, 3), (7,)),
    (
        "array_split at",
        lambda x: sd.array_split(x, [1, 2]),
        lambda x: np.array_split(x, [1, 2]),
        (4,),
    ),
    ("hsplit", lambda x: sd.hsplit(x, 2), lambda x: np.hsplit(x, 2), (2, 4)),
    ("hsplit vector", lambda x: sd.hsplit(x, 2), lambda x: np.hsplit(x, 2), (4,)),
    ("vsplit", lambda x: sd.vsplit(x, [1]), lambda x: np.vsplit(x, [1]), (3, 2)),
    ("dsplit", lambda x: sd.dsplit(x, 2), lambda x: np.dsplit(x, 2), (1, 2, 4)),
    ("fliplr", sd.fliplr, np.fliplr, (2, 3)),
    ("flipud", sd.flipud, np.flipud, (2, 3)),
    *(
        (f"rot90 {k}", lambda x, k=k: sd.rot90(x, k), lambda x, k=k: np.rot90(x, k), (2, 3))
        for k in range(-1, 4)
    ),
    ("rot90 axes", lambda x: sd.rot90(x, 1, (2, 0)), lambda x: np.rot90(x, 1, (2, 0)), (2, 1, 3)),
    *(
        (f"roll {k}", lambda x, k=k: sd.roll(x, k), lambda x, k=k: np.roll(x, k), (2, 3))
        for k in (-7, 0, 2)
    ),
    (
        "roll axes",
        lambda x: sd.roll(x, (1, 2), (0, 1)),
        lambda x: np.roll(x, (1, 2), (0, 1)),
        (2, 3),
    ),
    ("roll one", lambda x: sd.roll(x, 1, (0, 1)), lambda x: np.roll(x, 1, (0, 1)), (2, 3)),
    ("roll none", lambda x: sd.roll(x, 1, 0), lambda x: np.roll(x, 1, 0), (0, 3)),
    ("repeat", lambda x: sd.repeat(x, 2), lambda x: np.repeat(x, 2), (2, 3)),
    ("repeat axis", lambda x: sd.repeat(x, 3, 0), lambda x: np.repeat(x, 3, 0), (2, 3)),
    (
        "repeat each",
        lambda x: sd.repeat(x, [2, 0, 1], 1),
        lambda x: np.repeat(x, [2, 0, 1], 1),
        (2, 3),
    ),
    *(
        (
            f"windows {lengths} {axis}",
            lambda x, n=lengths, k=axis: sd.sliding_window_view(x, n, k),
            lambda x, n=lengths, k=axis: np.lib.stride_tricks.sliding_window_view(x, n, k),
            (3, 4),
        )
        for lengths, axis in ((2, 0), (4, -1), ((2, 3), None), ((2, 2), (1, 1)), ((1, 2), (1, 0)))
    ),
    *(
        (f"tile {r}", lambda x, r=r: sd.tile(x, r), lambda x, r=r: np.tile(x, r), (2, 3))
        for r in (2, (3, 1), (2, 1, 2), (0, 1), ())
    ),
    *(
        (f"kron {s}", sd.kron, np.kron, *s)
        for s in (((2, 3), (3, 2)), ((2,), (2, 2)), ((2, 1, 2), (3,)), ((), (2,)))
    ),
    *(
        (
            f"pad {mode} {w}",
            lambda x, w=w, mode=mode: sd.pad(x, w, mode),
            lambda x, w=w, mode=mode: np.pad(x, w, mode),
            (3, 4),
        )
        for mode in ("constant", "edge", "reflect", "symmetric", "wrap")
        for w in (1, (0, 2), ((5, 1), (0, 9)), 0)
    ),
    *(
        (
            f"pad with {v}",
            lambda x, v=v: sd.pad(x, ((1, 2), (0, 1)), constant_values=v),
            lambda x, v=v: np.pad(x, ((1, 2), (0, 1)), constant_values=v),
            (2, 2),
        )
        for v in (3, (1, 2), ((1, 2), (3, 4)), ((5,), (6,)))
    ),
    ("pack_tril", sd.pack_tril, tril_vector, (2, 3, 3)),
    ("pack_tril one", sd.pack_tril, tril_vector, (1, 1)),
    (
        "unpack_tril",
        lambda x: sd.pack_tril(sd.unpack_tril(x) ** 2),
        lambda x: x**2,
        (2, 6),
    ),
    # statistics
    ("ptp", lambda x: sd.ptp(x, 0), lambda x: np.ptp(x, 0), (3, 2)),
    ("average", lambda x: sd.average(x, 1), lambda x: np.average(x, 1), (2, 3)),
    (
        "average weighted",
        lambda x, w: sd.average(x, 0, sd.exp(w)),
        lambda x, w: np.average(x, 0, np.exp(w)),
        (3, 2),
        (3,),
    ),
    (
        "average all weighted",
        lambda x, w: sd.average(x, weights=sd.exp(w)),
        lambda x, w: np.average(x, weights=np.exp(w)),
        (3, 2),
        (3, 2),
    ),
    ("cov", sd.cov, np.cov, (2, 4)),
    (
        "cov columns",
        lambda x: sd.cov(x, rowvar=False, ddof=0),
        lambda x: np.cov(x, rowvar=False, ddof=0),
        (4, 2),
    ),
    ("cov vector", sd.cov, np.cov, (4,)),
    *(
        (f"inner {s}", sd.inner, np.inner, *s)
        for s in (((2, 3), (4, 3)), ((3,), (3,)), ((), (2, 2)), ((2, 1, 3), (3,)))
    ),
    *(
        (
            f"multi_dot {s}",
            lambda *v: sd.multi_dot(v),
            lambda *v: np.linalg.multi_dot(v),
            *s,
        )
        for s in (
            ((2, 3), (3, 4), (4, 2)),
            ((3,), (3, 2), (2,)),
            ((2, 3), (3,)),
            ((3,), (3, 2)),
            ((2, 2), (2, 3), (3, 1), (1, 2)),
        )
    ),
    *(
        (f"cross {s}", sd.cross, np.cross, *s)
        for s in (((3,), (3,)), ((2, 3), (3,)), ((2, 1, 3), (4, 3)))
    ),
    (
        "cross axis",
        lambda x, y: sd.cross(x, y, 0),
        lambda x, y: np.cross(x, y, axis=0),
        (3, 2),
        (3, 2),
    ),
    *(
        (
            f"vander {n} {up}",
            lambda x, n=n, up=up: sd.vander(x, n, increasing=up),
            lambda x, n=n, up=up: np.vander(x, n, up),
            (3,),
        )
        for n in (None, 2, 5, 0)
        for up in (False, True)
    ),
    (
        "select",
        lambda x: sd.select([x < -0.5, x < 0.5], [x**2, 3 * x], -x),
        lambda x: np.select([x < -0.5, x < 0.5], [x**2, 3 * x], -x),
        (6,),
    ),
    *(
        (f"{name} without nan", getattr(sd, name), getattr(np, name), (2, 3))
        for name in (
            "nansum",
            "nanprod",
            "nanmean",
            "nanvar",
            "nanstd",
            "nanmax",
            "nanmin",
            "nan_to_num",
        )
    ),
]


@pytest.mark.parametrize("row", SMOOTH, ids=lambda row: row[0])
def test_value_and_derivatives(row):
    _, ours, reference, *shapes = row
    values = [array(*shape) for shape in shapes]
    agrees(evaluated(ours, *values), reference(*values))
    differentiates(ours, *values)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
@pytest.mark.parametrize(
    ("ours", "reference"),
    [
        (sd.sort, np.sort),
        (sd.cumprod, np.cumprod),
        (lambda x: sd.roll(x, 1), lambda x: np.roll(x, 1)),
        (lambda x: sd.pad(x, 2), lambda x: np.pad(x, 2)),
        (lambda x: sd.pad(x, 2, constant_values=1), lambda x: np.pad(x, 2, constant_values=1)),
        (lambda x: sd.pad(x, 1, "edge"), lambda x: np.pad(x, 1, "edge")),
        (lambda x: sd.tile(x, 2), lambda x: np.tile(x, 2)),
        (lambda x: sd.finite_diff(x), np.diff),
        (lambda x: sd.convolve(x, x), lambda x: np.convolve(x, x)),
        (lambda x: sd.median(x[1:]), lambda x: np.median(x[1:])),
        (lambda x: sd.rfft(x)[1], lambda x: np.fft.rfft(x).imag),
        (
            sd.logcumsumexp,
            lambda x: np.logaddexp.accumulate(x.astype(np.result_type(x, np.float32))),
        ),
        (sd.nan_to_num, np.nan_to_num),
        (lambda x: sd.index_update(x, 0, 5), lambda x: np.array([5, *x[1:]], x.dtype)),
        (sd.argsort, np.argsort),
        (sd.argmax, np.argmax),
        (lambda x: sd.searchsorted(x, x), lambda x: np.searchsorted(x, x)),
    ],
)
def test_dtypes(ours, reference, dtype):
    x = np.array([-2, -1, 3, 4, 7], dtype)
    found, expected = np.asarray(evaluated(ours, x)), np.asarray(reference(x))
    assert found.dtype.kind == expected.dtype.kind
    if dtype is np.float32 and expected.dtype.kind == "f":
        assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "move",
    [
        lambda m, x: m.sort(x, axis=None),
        lambda m, x: m.roll(x, 1),
        lambda m, x: m.tile(x, 2),
        lambda m, x: m.repeat(x, 2),
        lambda m, x: m.pad(x, 1),
        lambda m, x: m.pad(x, 1, "wrap"),
        lambda m, x: m.rot90(x),
        lambda m, x: m.ravel(x),
        lambda m, x: m.hstack([x, x]),
        lambda m, x: m.take_along_axis(x, np.array([[1], [0]]), axis=1),
        lambda m, x: (m.finite_diff if m is sd else m.diff)(x),
        lambda m, x: m.any(x, axis=0),
        lambda m, x: m.all(x, axis=1),
        lambda m, x: m.select([x], [x], ~x),
    ],
)
def test_booleans_stay_boolean(move):
    x = np.array([[True, False, True], [False, False, True]])
    found = np.asarray(evaluated(lambda v: move(sd, v), x))
    assert found.dtype == bool
    np.testing.assert_array_equal(found, move(np, x))


# Places -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("name", ["argmax", "argmin", "argsort"])
def test_places_are_numpys(name, axis):
    x = np.array([[3.0, 1.0, 3.0], [NAN, 2.0, 0.0]])
    for value in (x, x[:1]):
        expected = (
            np.argsort(value, axis=axis, kind="stable")
            if name == "argsort"
            else getattr(np, name)(value, axis=axis)
        )
        found = np.asarray(evaluated(lambda v: getattr(sd, name)(v, axis=axis), value))
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found, expected)


def test_places_keep_dimensions():
    x = array(2, 3, 4)
    for axis in (None, 1):
        found = evaluated(lambda v, axis=axis: sd.argmax(v, axis=axis, keepdims=True), x)
        np.testing.assert_array_equal(found, np.argmax(x, axis=axis, keepdims=True))


@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted(side):
    table, x = np.array([0.0, 1.0, 1.0, 2.0]), np.array([[-1, 0, 0.5], [1, 2, NAN]])
    found = evaluated(lambda t, v: sd.searchsorted(t, v, side), table, x)
    np.testing.assert_array_equal(found, np.searchsorted(table, x, side))
    for at in (-1, 0, 0.5, 1, 2, 3):  # by its definition, too: the sides differ at ties alone
        (place,) = evaluate_mp([sd.searchsorted(table, sd.symbol("v"), side)], {"v": at}, 20)
        assert place == np.searchsorted(table, at, side)


def test_places_have_no_derivative():
    x = sd.symbol("x", 3)
    y = sd.sum(x * sd.argsort(x))
    value = np.array([3.0, 1.0, 2.0])
    np.testing.assert_array_equal(interpret(sd.grad(y, x), {x: value}), [1, 2, 0])
    with pytest.raises(sd.NotDifferentiable, match="integer"):
        sd.grad(y, sd.symbol("k", 3, int))


# Ties, zeros and nan ------------------------------------------------------------------------------


def gradient(fn, value):
    x = sd.symbol("x", np.shape(value))
    return interpret(sd.grad(fn(x), x), {x: np.asarray(value)})


def test_equal_elements_keep_their_order():
    np.testing.assert_array_equal(gradient(lambda x: sd.sort(x)[0], [2.0, 1.0, 1.0]), [0, 1, 0])
    np.testing.assert_array_equal(gradient(lambda x: sd.sort(x)[1], [2.0, 1.0, 1.0]), [0, 0, 1])
    np.testing.assert_array_equal(gradient(sd.median, [1.0, 1.0, 1.0, 1.0]), [0, 0.5, 0.5, 0])


def test_nan_wins_medians_and_comes_last():
    x = np.array([[1.0, NAN, 0.0], [3.0, 1.0, 2.0]])
    np.testing.assert_array_equal(evaluated(sd.sort, x), np.sort(x))
    np.testing.assert_array_equal(evaluated(lambda v: sd.median(v, 1), x), [NAN, 2])
    np.testing.assert_array_equal(evaluated(lambda v: sd.quantile(v, 0.5, 1), x), [NAN, 2])


def products(values):
    n = len(values)
    jacobian, hessian = np.zeros((n, n)), np.zeros((n, n, n))
    for i in range(n):
        for j in range(i + 1):
            jacobian[i, j] = math.prod(v for k, v in enumerate(values[: i + 1]) if k != j)
            for m in range(i + 1):
                if m != j:
                    rest = [v for k, v in enumerate(values[: i + 1]) if k not in (j, m)]
                    hessian[i, j, m] = math.prod(rest)
    return jacobian, hessian


@pytest.mark.parametrize("values", list(itertools.product((0.0, 2.0, -3.0), repeat=4)), ids=str)
def test_cumprod_with_zeros(values):
    x = sd.symbol("x", 4)
    y = sd.cumprod(x)
    first, second = sd.jacobian(y, x), sd.hessian(y, x)
    found = interpret([first, second], {x: np.array(values)})
    for a, b in zip(found, products(values), strict=True):
        np.testing.assert_array_equal(a, b)


def test_cumprod_third_order_at_zeros():
    x = sd.symbol("x", 3)
    third = sd.jacobian(sd.hessian(sd.cumprod(x), x), x)
    found = interpret(third, {x: np.zeros(3)})
    expected = np.zeros((3, 3, 3, 3))
    for order in itertools.permutations(range(3)):
        expected[(2, *order)] = 1
    np.testing.assert_array_equal(found, expected)


def test_cumprod_of_symbolic_length():
    x = sd.symbol("x", "n")
    y = sd.cumprod(x)
    value = np.array([2.0, 0.0, 3.0])
    np.testing.assert_array_equal(interpret(sd.jacobian(y, x), {x: value}), products(value)[0])


def test_logcumsumexp_is_stable():
    value = np.array([1000.0, 999.0, -1000.0, 1001.0])
    found = evaluated(sd.logcumsumexp, value)
    np.testing.assert_allclose(
        found, [scipy.special.logsumexp(value[: k + 1]) for k in range(4)], rtol=1e-15
    )
    x = sd.symbol("x", 4)
    jacobian = interpret(sd.jacobian(sd.logcumsumexp(x), x), {x: value})
    for k in range(4):
        np.testing.assert_allclose(
            jacobian[k, : k + 1], scipy.special.softmax(value[: k + 1]), rtol=1e-12
        )
    hessian = interpret(sd.hessian(sd.logcumsumexp(x), x), {x: value})
    assert np.all(np.isfinite(hessian))
    low = np.array([-INF, 1.0, 2.0])
    np.testing.assert_array_equal(evaluated(sd.logcumsumexp, low), np.logaddexp.accumulate(low))


WITH_NAN = np.array([[1.0, NAN, 3.0, -2.0], [NAN, NAN, NAN, NAN], [4.0, 5.0, 6.0, 7.0]])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
@pytest.mark.parametrize(
    "name", ["nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin"]
)
def test_reductions_that_pass_over_nan(name, axis):
    for value in (WITH_NAN, WITH_NAN[::2]):
        for keepdims in (False, True):
            found = evaluated(lambda v: getattr(sd, name)(v, axis, keepdims=keepdims), value)  # noqa: B023
            agrees(found, getattr(np, name)(value, axis=axis, keepdims=keepdims))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_nancumsum_and_ddof():
    agrees(evaluated(lambda v: sd.nancumsum(v, 1), WITH_NAN), np.nancumsum(WITH_NAN, 1))
    for ddof in (1, 3):
        agrees(
            evaluated(lambda v, ddof=ddof: sd.nanvar(v, 1, ddof=ddof), WITH_NAN),
            np.nanvar(WITH_NAN, 1, ddof=ddof),
        )


def test_gradients_that_pass_over_nan():
    x = [1.0, NAN, 3.0, -2.0]
    present = np.array([1.0, 0.0, 1.0, 1.0])
    np.testing.assert_array_equal(gradient(sd.nansum, x), present)
    np.testing.assert_allclose(gradient(sd.nanmean, x), present / 3)
    np.testing.assert_array_equal(gradient(sd.nanprod, x), [-6, 0, -2, 3])
    np.testing.assert_array_equal(gradient(sd.nanmax, x), [0, 0, 1, 0])
    np.testing.assert_array_equal(gradient(sd.nanmin, x), [0, 0, 0, 1])
    centred = np.array([1.0, 2 / 3, 3.0, -2.0]) - 2 / 3
    np.testing.assert_allclose(gradient(sd.nanvar, x), 2 / 3 * centred, atol=1e-15)


def test_nan_to_num():
    x = np.array([NAN, INF, -INF, 1.5])
    agrees(evaluated(sd.nan_to_num, x), np.nan_to_num(x))
    numbers = {"nan": 1.0, "posinf": 2.0, "neginf": 3.0}
    agrees(evaluated(lambda v: sd.nan_to_num(v, **numbers), x), np.nan_to_num(x, **numbers))
    np.testing.assert_array_equal(
        gradient(lambda v: sd.sum(sd.nan_to_num(v) ** 2), x), [0, 0, 0, 3]
    )


@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite"])
def test_predicates(name):
    x = np.array([NAN, INF, -INF, 0.0, 1.5])
    np.testing.assert_array_equal(evaluated(getattr(sd, name), x), getattr(np, name)(x))


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
@pytest.mark.parametrize("name", ["any", "all", "count_nonzero"])
def test_truth(name, axis):
    for value in (np.array([[1.0, 0.0], [2.0, NAN]]), np.zeros((0, 2)), np.zeros((2, 0))):
        found = evaluated(lambda v: getattr(sd, name)(v, axis), value)
        np.testing.assert_array_equal(found, getattr(np, name)(value, axis=axis))


def test_interp_at_its_points():
    """A point belongs to the piece on its right, the last one to the piece on its left."""
    xp, fp = np.array([0.0, 1.0, 3.0]), np.array([0.0, 2.0, 3.0])
    x = np.array([-1.0, 0.0, 1.0, 3.0, 4.0, NAN])
    f = lambda v: sd.interp(v, xp, fp)  # noqa: E731
    np.testing.assert_array_equal(evaluated(f, x), np.interp(x, xp, fp))
    np.testing.assert_array_equal(gradient(lambda v: sd.sum(f(v)), x[:5]), [0, 2, 0.5, 0.5, 0])


# Indices that are expressions, and changes at an index --------------------------------------------


@pytest.mark.parametrize(
    ("ours", "plain"),
    [
        (lambda x, i, j: x[i], lambda x, i, j: x[i]),
        (lambda x, i, j: x[:, i], lambda x, i, j: x[:, i]),
        (lambda x, i, j: x[..., i], lambda x, i, j: x[..., i]),
        (lambda x, i, j: x[j], lambda x, i, j: x[j]),
        (lambda x, i, j: x[1:, j], lambda x, i, j: x[1:, j]),
        (lambda x, i, j: x[None, :, j, 1:], lambda x, i, j: x[None, :, j, 1:]),
        (lambda x, i, j: x[i, j], lambda x, i, j: x[i, j]),
        (lambda x, i, j: x[:, 1, j], lambda x, i, j: x[:, 1, j]),
        (lambda x, i, j: x[i, :, i], lambda x, i, j: x[i, :, i]),
        (lambda x, i, j: x[0, ..., i], lambda x, i, j: x[0, ..., i]),
        (lambda x, i, j: sd.take(x, j, axis=1), lambda x, i, j: np.take(x, j, axis=1)),
        (lambda x, i, j: sd.take(x, j), lambda x, i, j: np.take(x, j)),
        (lambda x, i, j: x[i - 1, i, i + 1], lambda x, i, j: x[i - 1, i, i + 1]),
    ],
)
def test_indices_that_are_expressions(ours, plain):
    x, i, j = array(3, 3, 3), np.int64(1), np.array([[2, -1], [0, 0]])
    agrees(evaluated(ours, x, i, j), plain(x, i, j))
    names = sd.symbol("i", (), int), sd.symbol("j", (2, 2), int)
    s = sd.symbol("x", (3, 3, 3))
    y = sd.sum(ours(s, *names) ** 2)
    env = {s: x, names[0]: i, names[1]: j}
    expected = np.zeros_like(x)
    places = plain(np.arange(27).reshape(3, 3, 3), i, j)
    np.add.at(expected.ravel(), places, 2 * x.ravel()[places])
    np.testing.assert_allclose(interpret(sd.grad(y, s), env), expected)


def test_an_index_of_symbolic_lengths():
    x, i = sd.symbol("x", ("n", 2)), sd.symbol("i", "m", int)
    y = sd.sum(x[i] ** 2)
    env = {x: np.arange(6.0).reshape(3, 2), i: np.array([0, 2, 2, -1])}
    np.testing.assert_array_equal(interpret(sd.grad(y, x), env), [[0, 2], [0, 0], [24, 30]])
    wide = sd.substitute(sd.grad(y, x), {x: sd.symbol("z", (3, 2))})
    np.testing.assert_array_equal(
        interpret(wide, {"z": env[x], "i": env[i]}), [[0, 2], [0, 0], [24, 30]]
    )


def test_an_index_out_of_bounds_is_found_when_it_has_a_value():
    x, i = sd.symbol("x", 3), sd.symbol("i", (), int)
    for expr in (x[i], sd.grad(x[i] ** 2, x)):
        with pytest.raises(IndexError):
            interpret(expr, {x: np.ones(3), i: np.int64(3)})


@pytest.mark.parametrize(
    ("refused", "error"),
    [
        (lambda x, i, j: x[j, [0, 1]], sd.Unsupported),
        (lambda x, i, j: x[j, :, 0], sd.Unsupported),
        (lambda x, i, j: x[j, j], sd.Unsupported),
        (lambda x, i, j: x[x[0, 0] > 0], sd.Unsupported),
        (lambda x, i, j: x[x[0, 0]], IndexError),
        (lambda x, i, j: x[i, i, i, i], IndexError),
        (lambda x, i, j: sd.index_update(x, j, 1), sd.Unsupported),
        (lambda x, i, j: sd.take_along_axis(x, x), IndexError),
        (lambda x, i, j: sd.take_along_axis(x, j), sd.ShapeError),
        (lambda x, i, j: sd.sort(x, axis=3), np.exceptions.AxisError),
        (lambda x, i, j: sd.partition(x, 5), ValueError),
        (lambda x, i, j: sd.quantile(x, 2), ValueError),
        (lambda x, i, j: sd.argmax(x[:0]), ValueError),
        (lambda x, i, j: sd.median(x[:0]), ValueError),
        (lambda x, i, j: sd.median(sd.symbol("s", "n")), sd.Unsupported),
        (lambda x, i, j: sd.searchsorted(x, 1), sd.ShapeError),
        (lambda x, i, j: sd.searchsorted([1.0], 1, "middle"), ValueError),
        (lambda x, i, j: sd.interp(x, [1.0, 0.0], [0.0, 0.0]), ValueError),
        (lambda x, i, j: sd.interp(x, [0.0, 1.0], [0.0]), sd.ShapeError),
        (lambda x, i, j: sd.interp(x, np.zeros(0), np.zeros(0)), ValueError),
        (lambda x, i, j: sd.interp(x, sd.symbol("s", "n"), sd.symbol("t", "n")), sd.Unsupported),
        (lambda x, i, j: sd.convolve(x, [1.0]), sd.ShapeError),
        (lambda x, i, j: sd.convolve([1.0], np.zeros(0)), ValueError),
        (lambda x, i, j: sd.convolve([1.0], [1.0], "some"), ValueError),
        (lambda x, i, j: sd.convolve(sd.symbol("s", "n"), [1.0]), sd.Unsupported),
        (lambda x, i, j: sd.finite_diff(x, -1), ValueError),
        (lambda x, i, j: sd.fft(x[..., :0]), ValueError),
        (lambda x, i, j: sd.irfft(x[..., :1]), ValueError),
        (lambda x, i, j: sd.rfft(sd.symbol("s", "n")), sd.Unsupported),
        (lambda x, i, j: sd.moveaxis(x, (0, 1), 0), ValueError),
        (lambda x, i, j: sd.atleast_1d(), ValueError),
        (lambda x, i, j: sd.meshgrid(x), sd.ShapeError),
        (lambda x, i, j: sd.meshgrid(1, indexing="ji"), ValueError),
        (lambda x, i, j: sd.array_split(x, 0), sd.ShapeError),
        (lambda x, i, j: sd.vsplit(x[0, 0], 1), sd.ShapeError),
        (lambda x, i, j: sd.roll(x, (1, 2, 3), (0, 1)), ValueError),
        (lambda x, i, j: sd.roll(sd.symbol("s", "n"), 1), sd.Unsupported),
        (lambda x, i, j: sd.sliding_window_view(x, 4, 0), ValueError),
        (lambda x, i, j: sd.sliding_window_view(x, 0, 0), ValueError),
        (lambda x, i, j: sd.sliding_window_view(x, 2), ValueError),
        (lambda x, i, j: sd.sliding_window_view(x, 1.5, 0), TypeError),
        (lambda x, i, j: sd.sliding_window_view(x, 1, 3), np.exceptions.AxisError),
        (lambda x, i, j: sd.sliding_window_view(sd.symbol("s", "n"), 1), sd.Unsupported),
        (lambda x, i, j: sd.repeat(x, -1), ValueError),
        (lambda x, i, j: sd.repeat(x, [1, 2], 0), sd.ShapeError),
        (lambda x, i, j: sd.repeat(sd.symbol("s", "n"), 2), sd.Unsupported),
        (lambda x, i, j: sd.tile(x, -1), ValueError),
        (lambda x, i, j: sd.kron(sd.symbol("s", "n"), sd.symbol("t", "m")), sd.Unsupported),
        (lambda x, i, j: sd.pad(x, 1, "linear_ramp"), sd.Unsupported),
        (lambda x, i, j: sd.pad(x, -1), ValueError),
        (lambda x, i, j: sd.pad(x, 1.5), TypeError),
        (lambda x, i, j: sd.pad(x, ((1, 1), (2, 2))), ValueError),
        (lambda x, i, j: sd.pad(sd.symbol("s", "n"), 1), sd.Unsupported),
        (lambda x, i, j: sd.pack_tril(x[:, :2]), sd.ShapeError),
        (lambda x, i, j: sd.pack_tril(sd.symbol("s", ("n", "n"))), sd.Unsupported),
        (lambda x, i, j: sd.unpack_tril(sd.symbol("s", 5)), sd.ShapeError),
        (lambda x, i, j: sd.unpack_tril(sd.symbol("s")), sd.ShapeError),
        (lambda x, i, j: sd.unpack_tril(sd.symbol("s", "n")), sd.Unsupported),
        (lambda x, i, j: sd.select([x > 0], []), ValueError),
        (lambda x, i, j: sd.average(x, 0, np.ones(2)), sd.ShapeError),
        (lambda x, i, j: sd.cov(x), sd.ShapeError),
        (lambda x, i, j: sd.multi_dot([x]), ValueError),
        (lambda x, i, j: sd.multi_dot([x, x]), sd.ShapeError),
        (lambda x, i, j: sd.cross(x[..., :2], x[..., :2]), sd.ShapeError),
        (lambda x, i, j: sd.vander(x), sd.ShapeError),
        (lambda x, i, j: sd.vander(sd.symbol("s", "n")), sd.Unsupported),
        (lambda x, i, j: sd.index_add(x, 5, 1), IndexError),
        (lambda x, i, j: sd.index_add(x, 0, np.ones(2)), sd.ShapeError),
        (lambda x, i, j: sd.index_update(sd.symbol("s", ("n", 2)), (0, [0, 0]), 1), sd.Unsupported),
    ],
)
def test_what_is_refused(refused, error):
    x = sd.symbol("x", (3, 3, 3))
    i, j = sd.symbol("i", (), int), sd.symbol("j", (2, 2), int)
    with pytest.raises(error):
        refused(x, i, j)


KEYS = [
    0,
    -1,
    slice(1, None),
    slice(None, None, -2),
    (slice(None), 1),
    (..., 0),
    [2, 0],
    (np.array([0, 1]), np.array([2, 2])),
    ([2, 2, 1, 2],),
    (slice(None), [1, 1]),
    np.array([[True, False, True], [False, False, False], [True, True, True]]),
    np.array([True, False, True]),
    ...,
    (),
    (None, 1),
    slice(0, 0),
    (0, 0),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_changes_at_an_index(key):
    x = array(3, 3)
    new = array(*x[key].shape)
    updated, added = x.copy(), x.copy()
    updated[key] = new
    np.add.at(added, key, new)
    agrees(evaluated(lambda v, w: sd.index_update(v, key, w), x, new), updated)
    agrees(evaluated(lambda v, w: sd.index_add(v, key, w), x, new), added)
    differentiates(lambda v, w: sd.index_update(v, key, w), x, new)
    differentiates(lambda v, w: sd.index_add(v, key, w), x, new)
    constant = x.copy()
    constant[key] = 7
    agrees(evaluated(lambda v: sd.index_update(v, key, 7), x), constant)


def test_what_is_replaced_does_not_count():
    x = sd.symbol("x", 3)
    y = sd.sum(sd.index_update(sd.log(x), 0, x[1]) ** 2)
    value = np.array([-1.0, 1.0, math.e])
    np.testing.assert_allclose(interpret(sd.grad(y, x), {x: value}), [0, 2, 2 / math.e])


def test_changes_at_an_expression():
    x, i = sd.symbol("x", "n"), sd.symbol("i", (), int)
    value = np.array([1.0, 2.0, 3.0])
    env = {x: value, i: np.int64(1)}
    np.testing.assert_array_equal(interpret(sd.index_update(x, i, 9), env), [1, 9, 3])
    j = sd.symbol("j", 2, int)
    found = interpret(sd.index_add(x, j, 5), {x: value, j: np.array([2, 2])})
    np.testing.assert_array_equal(found, [1, 2, 13])
    matrix = sd.symbol("A", ("n", 2))
    found = interpret(
        sd.index_update(matrix, (slice(None), 0), x), {matrix: np.ones((3, 2)), x: value}
    )
    np.testing.assert_array_equal(found, [[1, 1], [2, 1], [3, 1]])


# The same meaning everywhere ----------------------------------------------------------------------


def test_values_to_many_digits():
    x = sd.symbol("x", 4)
    value = np.array([0.5, -1.0, 2.0, 0.25])
    for y in (
        sd.sort(x),
        sd.cumprod(x),
        sd.logcumsumexp(x),
        sd.fft(x)[1],
        sd.median(x),
        sd.interp(x, [-2.0, 0.0, 3.0], [0.0, 1.0, 2.0]),
        sd.take_along_axis(x, sd.argmax(x, keepdims=True)),
        sd.grad(sd.sum(sd.sort(x) * np.arange(4.0)), x),
        sd.grad(sd.cumprod(x)[2], x),
    ):
        expected = interpret(y, {x: value})
        for place in np.ndindex(y.shape):
            found = sd.evalf(y[place] if place else y, 20, {x: value})
            assert abs(float(found) - expected[place]) < 1e-14


def test_sympy_formulas():
    x = sd.symbol("x", 3)
    a, b, c = sd.to_sympy(x)
    assert list(sd.to_sympy(sd.cumprod(x))) == [a, a * b, a * b * c]
    slope = sd.to_sympy(sd.grad(sd.sum(sd.cumprod(x)), x))[0]
    assert slope.subs({a: 7, b: 2, c: 3}) == 1 + 2 + 2 * 3
    refused(
        (sd.Unsupported, "argsort", lambda: sd.to_sympy(sd.sort(x))),
        (sd.Unsupported, "take", lambda: sd.to_sympy(x[sd.symbol("i", (), int)])),
    )


def test_operations_are_counted():
    x = sd.symbol("x", 8)
    assert sd.count_operations(sd.cumprod(x)) == 8
    assert sd.count_operations(sd.argsort(x)) == 24
    assert sd.count_operations(sd.logcumsumexp(x)) == 24
    assert sd.count_operations(sd.searchsorted(np.arange(7.0), x)) == 24
    assert sd.count_operations(sd.argmax(x)) == 8
    assert sd.count_operations(sd.take_along_axis(x, np.array([1, 2]))) == 0
    assert sd.count_operations(sd.fft(x)[0]) == 5 * 8 * 3
    assert sd.count_operations(sd.grad(x[sd.symbol("i", 3, int)].sum(), x)) == 3


def test_text():
    x = sd.symbol("x", 3)
    assert str(sd.sort(x)) == "sort(x)"
    assert str(sd.cumprod(x)) == "cumprod(x)"
    assert str(x[sd.symbol("i", 2, int)]) == "x[i]"


def test_corners():
    x = sd.symbol("x", 6)
    value = array(6)
    assert sd.finite_diff(x, 0) is x
    assert sd.repeat(x, 1) is x
    symmetric = interpret(sd.unpack_tril(x, symmetric=True), {x: value})
    np.testing.assert_array_equal(symmetric, symmetric.T)
    np.testing.assert_array_equal(symmetric[np.tril_indices(3)], value)
    assert sd.pack_tril(sd.ones((2, 3, 3))).shape == (2, 6)
    differentiates(lambda v: sd.unpack_tril(v, symmetric=True), value)
    s = sd.symbol("s", "n")
    assert sd.repeat(s, 1) is s
    assert sd.kron(s, np.array([[2.0]])).shape == (1, "n")
    assert sd.multi_dot([s, sd.symbol("A", ("n", 2))]).shape == (2,)


def test_changes_by_data_given_as_an_expression():
    x = array(4)
    places = sd.constant(np.array([1, 1, 3]))
    updated = x.copy()
    updated[[1, 1, 3]] = [5, 6, 7]
    found = evaluated(lambda v: sd.index_update(v, places, np.array([5.0, 6.0, 7.0])), x)
    agrees(found, updated)
    updated[2] = 8
    agrees(evaluated(lambda v: sd.index_update(v, sd.constant(2), 8), found), updated)
