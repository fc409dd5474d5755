"""Kernels in machine code: what interpret gives, in every precision, size and order of memory."""

import math
import pickle
import re
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given

import numeric as nm
import symdiff as sd
from numeric.lowering import costs, programs
from numeric.lowering.native import compiler, libraries, loops, source
from numeric.lowering.native import kernels as native
from numeric.lowering.passes import rows
from tests.support.budget import FUZZ, sample
from tests.support.strategies import FAMILIES, programs_at_points
from tests.test_agreement import lowered_is_right


@pytest.fixture(autouse=True)
def kernels_of_few_rows(monkeypatch):
    monkeypatch.setattr(rows, "_LEAST", 1)
    monkeypatch.setattr(programs, "NATIVE_LEAST", 1)


def kernels(F):
    """How many kernels in machine code the programs of a Function have called."""
    every = [p for lowered in F._programs._found.values() for p in lowered.found.values()]
    return sum(len(k._native._made) for p in every for k in p.kernels if hasattr(k, "_native"))


def pair(f, xs, fastmath=False, **options):
    """A formula in machine code, and in NumPy."""
    fast = nm.lower(f, xs, backend="native", fastmath=fastmath, **options)
    return fast, nm.lower(f, xs, backend="numpy", **options)


def near(found, expected, dtype=np.float64):
    """Assert that results are equal within the roundings that an issue of sums allows."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    scale = np.max(np.abs(expected[np.isfinite(expected)]), initial=1.0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1000 * np.finfo(dtype).eps * scale)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_random_programs_are_right(family):
    ran = set()

    @sample(10)
    @given(programs_at_points(("pointwise", family), steps=6))
    def run(drawn):
        F = lowered_is_right(*drawn, backend="native")
        ran.add(kernels(F) > 0)

    run()
    assert FUZZ or True in ran  # two fresh programs may have no kernel


# Symbols of other tests that have these names stay as old as they are.
X, V, A = sd.symbol("Xm", ("n", "d")), sd.symbol("vm", "d"), sd.symbol("am", "n")
T = sd.symbol("Tm", ("n", 3, 3))
U, W, M = sd.symbol("Um", ("n", 3)), sd.symbol("Wm", (4, 3, 3)), sd.symbol("Mm", (4, 3))


def nearest():
    """The squared distance of each row of U to the nearest of M."""
    squares = sd.sum(U**2, axis=1)[:, None] - 2 * (U @ M.T) + sd.sum(M**2, axis=1)
    return sd.sum(sd.sqrt(1 + sd.min(squares, axis=1)))


def mixture():
    """The logarithm of a mixture of four Gaussians in three dimensions, at each row of U."""
    y = sd.einsum("kij,knj->kin", W, U - M[:, None])
    return sd.sum(sd.logsumexp(-sd.sum(y**2, axis=1) / 2, axis=0))


def longer():
    """Rows of d + 1 elements: only the kernel asks how many these are."""
    return sd.sin(np.pad(X, ((0, 0), (0, 1)), constant_values=3.0))[:, :, None] * sd.exp(U)[:, None]


FORMULAS = {
    "elementwise": (lambda: sd.sum(sd.tanh(X * V) * sd.exp(-(X**2) / 2)), (X, V)),
    "sums inside": (lambda: sd.sum(sd.tanh(sd.sum(X * X * V, axis=1))), (X, V)),
    "columns": (lambda: sd.sum(sd.exp(sd.sum(sd.sin(X), axis=0)) * V), (X, V)),
    "turned around": (lambda: sd.sum(sd.sin(X.T) ** 2 * A), (X, A)),
    "extremes": (lambda: sd.sum(sd.max(X * V, axis=1) - sd.min(sd.exp(X), axis=1)), (X, V)),
    "softmax": (lambda: sd.sum(sd.softmax(X, axis=1) * V), (X, V)),
    "logsumexp": (lambda: sd.sum(sd.logsumexp(X * V, axis=1) * A), (X, V, A)),
    "selection": (lambda: sd.sum(sd.where(X > V, sd.log1p(X**2), sd.minimum(X, 0.5))), (X, V)),
    "slices": (lambda: sd.sum((A[1:] - A[:-1] ** 2) ** 2 + sd.cos(A[1:])), (A,)),
    "transposed": (lambda: sd.sum(sd.sin(T) * sd.swapaxes(sd.exp(sd.sin(T)), 1, 2)), (T,)),
    "large numbers": (lambda: sd.sum(sd.sin(A) * (A.size + 10**30) + A**2 * 3**50 + 10**25), (A,)),
    "lengths": (
        lambda: sd.sum(sd.tanh(sd.exp(X) * (A.size + 1) / X.size + V / A.size / V.size)),
        (X, V),
    ),
    "small matrices": (
        lambda: sd.sum(sd.tanh(sd.einsum("nij,kjl->nkil", T, W)) * U[:, 0, None, None, None]),
        (T, W, U),
    ),
    "thin products": (lambda: sd.sum(sd.sin(U @ W[0]) * sd.exp(U @ W[1].T)), (U, W)),
    "mixtures": (mixture, (U, W, M)),
    "nearest": (nearest, (U, M)),
    "longer": (lambda: sd.sum(sd.sin(np.pad(X, ((1, 2), (0, 1)), constant_values=3.0))), (X,)),
    "longer rows": (longer, (X, U)),
    "rows by rows": (lambda: sd.stack([sd.sin(A) * 2, sd.cos(A)]), (A,)),
}
LEAST = {"lengths": 1, "extremes": 1, "softmax": 1, "logsumexp": 1, "slices": 1}


def arguments(name, n, d, dtype=np.float64):
    rng = np.random.default_rng(n + d)
    shapes = {X: (n, d), V: (d,), A: (n,), T: (n, 3, 3), U: (n, 3), W: (4, 3, 3), M: (4, 3)}
    return [rng.normal(size=shapes[x]).astype(dtype) for x in FORMULAS[name][1]]


def both(name, given, **options):
    build, xs = FORMULAS[name]
    F, G = pair(build(), xs, **options)
    if F.outputs[0].shape:
        return [F(*given)], [G(*given)], F
    (value, gradient), (expected, slow) = F.value_and_grad(*given), G.value_and_grad(*given)
    return [value, *gradient], [expected, *slow], F


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FORMULAS)
def test_any_length_gives_what_numpy_gives(name, dtype):
    sizes = (0, 3), (1, 1), (63, 4), (64, 3), (65, 9), (200, 2), (0, 8), (3, 40), (70, 33), (9, 300)
    for n, d in sizes:
        if n < LEAST.get(name, 0):
            continue
        found, expected, F = both(name, arguments(name, n, d, dtype))
        for a, b in zip(found, expected, strict=True):
            near(a, b, dtype)
        assert kernels(F)


@pytest.mark.parametrize("columns", [6, 41])
@pytest.mark.parametrize("name", FORMULAS)
def test_operands_lie_in_any_order(name, columns):
    given = arguments(name, 70, columns)
    wanted, _, _ = both(name, given)
    changes = {
        "read-only": lambda x: _frozen(x),
        "Fortran": np.asfortranarray,
        "every second": lambda x: np.repeat(x, 2, axis=0)[::2],
        "every second column": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
        "reversed": lambda x: x[::-1].copy()[::-1],
        "unaligned": _unaligned,
    }
    for change in changes.values():
        results, _, F = both(name, [change(x) for x in given])
        for a, b in zip(results, wanted, strict=True):
            if leaves_products(F):
                near(a, b)
            else:
                np.testing.assert_array_equal(a, b)


def leaves_products(F):
    """Whether the program written last calls NumPy for a product of arrays.

    BLAS and einsum add in an order that depends on the processor and on where operands lie.
    """
    program = F.source.rpartition("\ndef ")[2]
    return re.search(r" @ |\.dot\(|\b(einsum|contract\w*)\(", program) is not None


def _frozen(x):
    x = x.copy()
    x.flags.writeable = False
    return x


def _unaligned(x):
    data = np.empty(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    data[...] = x
    assert not data.flags.aligned
    return data


@pytest.mark.parametrize("name", ["elementwise", "slices", "softmax", "thin products", "mixtures"])
def test_bits_depend_on_the_element_alone(name, monkeypatch):
    """Not on its place, on where blocks begin, or on the number of threads."""
    build, xs = FORMULAS[name]
    given = arguments(name, 1000, 4)
    value, gradient = nm.lower(build(), xs, backend="numpy").value_and_grad(*given)
    results = []
    for threads in (1, 2):
        monkeypatch.setattr(costs, "BLOCK", 64)
        monkeypatch.setattr(native, "_LEAST", 64)
        found = nm.lower(build(), xs, backend="native", threads=threads).value_and_grad(*given)
        results.append(found)
    for a, b, expected in zip(results[0][1], results[1][1], gradient, strict=True):
        np.testing.assert_array_equal(a, b)
        near(a, expected)
    assert results[0][0] == results[1][0]
    near(results[0][0], value)


def test_an_element_has_the_same_bits_in_any_place():
    x = np.random.default_rng(0).normal(size=200)
    F = nm.lower(sd.sin(A) * sd.exp(A) + sd.tanh(A), A, backend="native")
    whole = F(x)
    for k in (1, 7, 63, 64, 130):
        np.testing.assert_array_equal(F(x[k:].copy()), whole[k:])
        np.testing.assert_array_equal(F(x[:k].copy()), whole[:k])
        assert F(x[k : k + 1])[0] == whole[k]


def variants(F):
    """Whether kernels went along columns, for each that was compiled."""
    every = [p for lowered in F._programs._found.values() for p in lowered.found.values()]
    return {along for p in every for k in p.kernels for _, along, _ in k._native._made}


def test_an_element_has_the_same_bits_in_any_column():
    """Of rows that are lanes, and of columns."""
    rng = np.random.default_rng(0)
    x, v = rng.normal(size=(70, 60)), rng.normal(size=60)
    F = nm.lower(sd.sin(X + V) * sd.exp(X) + sd.tanh(X), (X, V), backend="native")
    whole = F(x, v)
    for low, high in ((0, 3), (0, 8), (5, 60), (7, 40), (13, 46), (50, 60)):
        some = F(x[:, low:high].copy(), v[low:high])
        np.testing.assert_array_equal(some, whole[:, low:high])
    np.testing.assert_array_equal(F(x[3:7], v), whole[3:7])
    assert variants(F) == {True, False}


@pytest.mark.parametrize("n", [1, 3, 16, 17, 70])
def test_what_is_put_together_along_rows_goes_along_columns_where_rows_are_few(n):
    rng = np.random.default_rng(n)
    x, v = rng.normal(size=(n, 1000)), rng.normal(size=1000)
    shares = sd.softmax(X * V, axis=1)
    F, G = pair([sd.sum(shares * X, axis=1), sd.max(X, axis=1) - sd.logsumexp(X, axis=1)], (X, V))
    for a, b in zip(F(x, v), G(x, v), strict=True):
        near(a, b)
    assert variants(F) == {n <= 16}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_blocks_of_any_width_are_turned_around(dtype):
    """In squares of 8 and of 4, and what is left of these."""
    rng = np.random.default_rng(0)
    F, G = pair([sd.softmax(X * V, axis=1), sd.logsumexp(X, axis=1)], (X, V))
    for d in (*range(1, 18), 31):
        for x in (rng.normal(size=(150, d)), rng.normal(size=(150, 2 * d))[:, :d]):
            given = x.astype(dtype, copy=False), rng.normal(size=d).astype(dtype)
            for a, b in zip(F(*given), G(*given), strict=True):
                near(a, b, dtype)
    assert variants(F) == {False}


@pytest.mark.parametrize("folds", [False, True])
def test_columns_of_several_arrays_and_sums_of_every_kind(folds):
    """Arrays of other orders, and sums over rows, over columns, over all, and of few products."""
    B, C = sd.symbol("Bc", ("n", 3, "d")), sd.symbol("Cc", ("d", 5))
    D, E = sd.symbol("Dc", ("n", 5)), sd.symbol("Ec", ("n", "d"))
    z = sd.tanh(sd.sum(B, axis=1) + D @ C.T)
    columns = sd.sum(sd.exp(B * z[:, None] / 9), axis=0)
    outputs = [z, sd.sum(z, axis=0), sd.sum(z * z), z > E, columns]
    F, G = pair([*outputs, *[sd.sum(z * E, axis=1)] * folds], (B, C, D, E))
    for n, d in ((3, 40), (16, 24), (5, 33), (1, 700), *[(200, 16), (70, 33)] * (not folds)):
        rng = np.random.default_rng(d)
        given = [rng.normal(size=s) for s in ((n, 3, d), (d, 5), (n, 5), (n, d))]
        for change in (np.asarray, np.asfortranarray):
            for a, b in zip(F(*map(change, given)), G(*given), strict=True):
                near(a, b)
    assert variants(F) == {True}


def test_columns_and_other_axes_of_their_length_in_one_kernel():
    B, D, v = sd.symbol("Bd", ("n", 32)), sd.symbol("Dd", (32, "n")), sd.symbol("vd", "n")
    C, sine = sd.symbol("Cd", ("n", 32)), sd.sin(v)
    F, G = pair([sd.sin(B) * C * sine[:, None], sd.exp(D) * sd.sin(D) * sine], (B, C, D, v))
    rng = np.random.default_rng(0)
    given = [rng.normal(size=shape) for shape in ((40, 32), (40, 32), (32, 40), 40)]
    for a, b in zip(F(*given), G(*given), strict=True):
        near(a, b)
    assert variants(F) == {False}


def test_what_c_does_not_gain_stays_numpys():
    """Two operations for three arrays that BLAS hands over or is handed."""
    B, C, D = sd.symbol("Bg", (300, 200)), sd.symbol("Cg", (200, 100)), sd.symbol("Dg", (300, 100))
    E = sd.symbol("Eg", (300, 200))
    p, q = B @ C, E @ C
    F, G = pair((p * q + p) @ D.T, (B, C, D, E))
    rng = np.random.default_rng(0)
    given = [rng.normal(size=x.shape) for x in (B, C, D, E)]
    np.testing.assert_array_equal(F(*given), G(*given))
    assert "native_" not in F.source
    assert "stays NumPy's" in F.explain()
    many = nm.lower(sd.sum(sd.tanh(B @ C) * D, axis=0), (B, C, D), backend="native")
    assert "stays NumPy's" not in many.explain()
    assert "fused in machine code" in many.explain()


def test_points_run_in_machine_code():
    x, y, z = sd.symbols("x y z")
    F, G = pair([sd.exp(-x * y) * sd.sin(z), x + 2 * y, x, sd.constant(3.0)], (x, y, z))
    grid = np.linspace(-1, 1, 210).reshape(3, 70)
    for a, b in zip(F(grid, 0.5, grid[:1]), G(grid, 0.5, grid[:1]), strict=True):
        near(a, b)
    assert F._programs.value.points._native._made


GRID = np.linspace(-1, 1, 210)
POINTS = {  # arguments, of which all broadcast
    "a line": (GRID, GRID + 1),
    "a line and a number": (GRID, 0.5),
    "a number and a line": (0.5, GRID),
    "a line and an array of no axes": (GRID, np.array(0.5)),
    "a line and a number of NumPy's": (GRID, np.float64(0.5)),
    "a line and an array of one element": (GRID, np.array([0.5])),
    "every second": (GRID[::2], GRID[::-2]),
    "an array": (GRID.reshape(7, 30), GRID.reshape(7, 30) + 1),
    "columns first": (np.asfortranarray(GRID.reshape(7, 30)), GRID.reshape(30, 7).T + 1),
    "a row and a column": (GRID[:, None], GRID[:30]),
    "a column and a row": (GRID[:30], GRID[:, None]),
    "rows": (GRID.reshape(7, 30), GRID[:30]),
    "three axes": (GRID.reshape(7, 5, 6), GRID[:6] + 1),
    "single precision": (GRID.astype(np.float32), GRID.astype(np.float32)),
    "two precisions": (GRID.astype(np.float32), GRID),
    "two numbers": (0.25, 0.5),
    "no points": (GRID[:0], 0.5),
}


@pytest.mark.parametrize("given", POINTS)
def test_points_broadcast_as_they_do_in_numpy(given):
    """What is computed, arguments, numbers: in any order, often, and at each call again."""
    x, y = sd.symbols("x y")
    F, G = pair([x * y, x, sd.constant(2), x + y, y, x * y, sd.constant(0.5), x], (x, y))
    args = POINTS[given]
    for _ in range(2):
        for a, b in zip(F(*args), G(*args), strict=True):
            assert a.__class__ is b.__class__
            assert np.result_type(a) == np.result_type(b)
            np.testing.assert_array_equal(a, b)
    if given not in ("two numbers", "no points", "two precisions"):
        assert F._programs.value.points._native._made


def test_integers_at_points_stay_what_they_are():
    x, y = sd.symbols("x y")
    k = sd.symbol("k", (), dtype=int)
    F, G = pair([x * y, k], (x, y, k))
    grid = np.linspace(-1, 1, 70)
    for whole in (3, np.arange(70)):
        for a, b in zip(F(grid, 2.0, whole), G(grid, 2.0, whole), strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)
    assert F._programs.value.points._native._made


def test_extreme_numbers_keep_their_meaning():
    odd = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e300, -1e300, 5e-324, 1.0] * 9)
    with np.errstate(all="ignore"):
        for f in (sd.exp(A), sd.maximum(A, 0), sd.where(A > 0, sd.log(A), A), A / (1 + A**2)):
            F, G = pair(f, A)
            np.testing.assert_allclose(F(odd), G(odd), rtol=1e-14)
        rows = odd[: 9 * 8].reshape(8, 9)
        F, G = pair([sd.logsumexp(X, axis=1), sd.softmax(X, axis=1), sd.max(X, axis=1)], X)
        infinite = np.array([[np.inf, 800, 1], [-np.inf] * 3, [np.inf, np.inf, 0], [-np.inf, 1, 2]])
        undefined = np.array([[800, np.nan, 1], [np.nan, 800, 1], [1, 2, np.nan], [0, 1, 2]])
        for given in (rows, infinite, undefined):
            for a, b in zip(F(given), G(given), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-14)


def test_extremes_of_nothing_are_refused_as_by_numpy():
    F, G = pair(sd.sum(sd.exp(sd.max(X, axis=1))), X)
    for H in (F, G):
        with pytest.raises(ValueError, match="max"):
            H(np.zeros((3, 0)))


def test_operands_of_two_precisions_are_numpys():
    F, G = pair(sd.tanh(A) * sd.exp(V[0] * A), (A, V))
    given = np.float32([0.5, 1.5]), np.array([0.1])
    found, expected = F(*given), G(*given)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == np.float64


def test_results_are_new_at_every_call():
    F = nm.lower(sd.sin(A) + 1, A, backend="native")
    x = np.ones(5)
    first = F(x)
    kept = first.copy()
    second = F(2 * x)
    assert not np.shares_memory(first, second)
    assert not np.shares_memory(first, x)
    np.testing.assert_array_equal(first, kept)


def test_exact_order_leaves_sums_to_numpy():
    F, G = pair(sd.sum(sd.abs(X), axis=1), X, exact_order=True)
    x = np.random.default_rng(0).normal(size=(3, 1000))
    np.testing.assert_array_equal(F(x), G(x))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FORMULAS)
def test_fastmath_has_other_flags_and_is_near_on_finite_numbers(name, dtype, monkeypatch):
    asked = []

    def library(text, flags=(), backend="native"):
        asked.append(set(flags))
        return libraries.library(text, flags, backend)

    monkeypatch.setattr(native, "library", library)
    given = arguments(name, 130, 5, dtype)
    found, expected, F = both(name, given, fastmath=True)
    for a, b in zip(found, expected, strict=True):
        near(a, b, dtype)
    assert asked
    assert all(set(compiler.FAST) <= flags for flags in asked)
    assert "fastmath" in F.explain()
    asked.clear()
    _, _, G = both(name, given)
    assert asked
    assert all(set(compiler.FAST).isdisjoint(flags) for flags in asked)
    assert "fastmath" not in G.explain()
    assert np.float64(5e-324) * 1.0 > 0  # the process has its subnormals still


def test_fastmath_of_many_scalars():
    xs = sd.symbols([f"x{k}" for k in range(60)])
    f = sum((a / 7 / b + sd.sin(a * b) / (1 + b) for a, b in pairwise(xs)), 0)
    F, G = pair(f, xs, fastmath=True)
    given = np.linspace(1, 2, 60).tolist()
    near(F(*given), G(*given))
    near(F.grad(*given), G.grad(*given))
    assert "scalars_" in F.source


def test_fastmath_is_of_machine_code():
    for words in ({}, {"backend": "numpy"}):
        with pytest.raises(ValueError, match='add backend="native"'):
            nm.lower(A, A, fastmath=True, **words)
    with pytest.raises(ValueError, match="exact_order"):
        nm.lower(A, A, fastmath=True, exact_order=True, backend="native")
    F = nm.lower(sd.sin(A), A, fastmath=True, backend="native")
    assert pickle.loads(pickle.dumps(F))._options == F._options


def test_many_scalars_are_straight_lines():
    xs = sd.symbols([f"x{k}" for k in range(60)])
    f = sum(((b - a**2 / 3) ** 2 / 7 + sd.sin(a * b) for a, b in pairwise(xs)), 0)
    F, G = pair(f, xs)
    given = np.linspace(-1, 1, 60).tolist()
    (value, gradient), (expected, slow) = F.value_and_grad(*given), G.value_and_grad(*given)
    assert value.__class__ is float
    near(value, expected)
    near(gradient, slow)
    assert "scalars_" in F.source
    near(F(*given), expected)
    with np.errstate(all="ignore"):
        np.testing.assert_equal(F(*[1e200] * 60), G(*[1e200] * 60))


def test_few_scalars_stay_lines_of_python():
    x, y = sd.symbols("x y")
    F, G = pair((1 - x) ** 2 + 100 * (y - x**2) ** 2, (x, y))
    assert F.source == G.source
    assert F(1.5, 2.5) == G(1.5, 2.5)


def test_what_a_function_is_asked_for_stays():
    F = nm.lower(sd.sum(sd.sin(A)), A, backend="native")
    again = pickle.loads(pickle.dumps(F))
    assert again._options == F._options
    assert again(np.ones(3)) == F(np.ones(3))
    with pytest.raises(ValueError, match="numpy, native, auto"):
        nm.lower(A, A, backend="cuda")


@pytest.mark.slow
def test_a_loop_is_never_so_long_that_compilers_choke():
    xs = sd.symbols([f"x{k}" for k in range(30)])
    f = sd.stack([sd.sin(sum((k * x for k, x in enumerate(xs)), j)) for j in range(300)])
    F = nm.lower([y * y for y in f], xs, backend="native")
    F(*[np.linspace(0, 1, 3) + k for k in range(30)])
    (made,) = F._programs.value.points._native._made.values()
    loops = made.written.text.split("for (int r = 0; r < LANES; r++) {")[1:]
    assert max(loop.split("}")[0].count("const real") for loop in loops) <= 200


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FORMULAS)
def test_blocks_in_several_functions_have_the_same_bits(name, dtype, monkeypatch):
    build, xs = FORMULAS[name]
    f = build()

    def results():
        F = nm.lower(f, xs, backend="native")
        of = F if f.shape else F.value_and_grad
        return [of(*arguments(name, n, 3, dtype)) for n in (3, 64, 200)], F

    once, _ = results()
    monkeypatch.setattr(source, "_LONG", 0)
    monkeypatch.setattr(source, "_PART", 3)
    parted, F = results()
    assert "part_1(&all, i, m, " in F.source
    assert repr(parted) == repr(once)
    np.testing.assert_equal(parted, once)


@pytest.mark.slow
def test_no_function_is_so_long_that_compilers_choke():
    """In one function, six thousand statements took a minute."""
    rng = np.random.default_rng(0)
    xs = sd.symbols([f"u{k}" for k in range(200)])
    places = rng.integers(200, size=(400, 3))
    f = sum(sd.sin(xs[a] * xs[b]) * (1 + xs[c] ** 2) for a, b, c in places)
    F, G = pair(f, xs)
    points = rng.normal(size=(200, 3))
    near(F(*points), G(*points))
    (made,) = F._programs.value.points._native._made.values()
    lengths = [x.count(";") for x in made.written.text.split("static OUTLINED void")[1:]]
    assert len(lengths) > 5
    assert max(lengths) <= 10 * loops.STATEMENTS  # those of a loop, and its pointers


def test_whole_operands_lie_in_any_order_at_calls_that_have_been():
    Y, W = sd.symbol("Y", ("n", 3)), sd.symbol("W", (3, 3))
    F, G = pair(sd.sum(sd.sin(Y[:, :, None] * W), axis=(1, 2)), (Y, W))
    x, w = np.random.default_rng(0).normal(size=(70, 3)), np.arange(9.0).reshape(3, 3)
    for _ in range(3):
        near(F(x, w), G(x, w))
        near(F(x, w.T), G(x, w.T))


def test_points_that_have_been_are_given_to_c_as_they_are(monkeypatch):
    """As many points in one block: arrays of another precision or order, and numbers, too."""
    x, y = sd.symbols("x y")
    F, G = pair([sd.exp(-x * y) * sd.sin(y), x + y], (x, y))
    grid = np.linspace(-1, 1, 200)
    first = F(grid, grid + 1)

    def refused(*_):
        pytest.fail("asked again")

    with monkeypatch.context() as m:
        m.setattr(native._Compiled, "results", refused)
        for a, b in zip(F(grid, grid + 1), first, strict=True):
            np.testing.assert_array_equal(a, b)
            assert a is not b
        np.testing.assert_array_equal(F(grid[::-1], grid[::-1] + 1)[0], first[0][::-1])
    for args in (
        (grid, 2.0),
        (grid.astype(np.float32), grid),
        (grid[:, None], grid[None, :3]),
        (grid[:100], grid[100:]),
    ):
        for a, b in zip(F(*args), G(*args), strict=True):
            near(a, b)


def test_calls_of_other_lengths_are_asked_again():
    F, G = pair(sd.sum(sd.exp(X) * V, axis=1), (X, V))
    rng = np.random.default_rng(0)
    for n, d in [(70, 3), (70, 3), (3, 70), (64, 3), (70, 3), (70, 2)] * 2:
        x, v = rng.normal(size=(n, d)), rng.normal(size=d)
        near(F(x, v), G(x, v))


def test_products_of_thin_matrices_are_written_out():
    build, xs = FORMULAS["mixtures"]
    given = arguments("mixtures", 200, 1)
    F = nm.lower(build(), xs, backend="native")
    F.value_and_grad(*given)
    source = F.source[F.source.index("def value_and_grad") :]
    assert source.count("native_") == 1
    assert "@" not in source
    exact = nm.lower(build(), xs, backend="native", exact_order=True)
    exact.value_and_grad(*given)
    assert "@" in exact.source


def test_products_of_long_sides_are_left_to_blas():
    B = sd.symbol("Bm", ("d", 40))
    F = nm.lower(sd.sum(sd.tanh(X @ B)), (X, B), backend="native")
    rng = np.random.default_rng(0)
    F.value_and_grad(rng.normal(size=(100, 30)), rng.normal(size=(30, 40)))
    assert kernels(F)
    source = F.source[F.source.index("def value_and_grad") :]
    assert source.count(".dot(") == 3


@pytest.mark.parametrize("n", [1, 7, 8, 9, 64, 71, 200])
def test_rows_that_are_not_numbers_spoil_their_own_sums_alone(n):
    F, G = pair(sd.sum(sd.sin(U @ W[0])[:, :, None] * sd.exp(U)[:, None], axis=0), (U, W))
    (u, w) = arguments("thin products", n, 1)
    for odd in (np.nan, np.inf, -np.inf):
        u[n - 1, 1] = odd
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(F(u, w), G(u, w), rtol=1e-12, atol=1e-12)
    assert kernels(F)


def test_nearest_points_are_found_in_one_kernel():
    p, c = sd.symbol("points", (3000, 3)), sd.symbol("centres", (100, 3))
    squares = sd.sum(p**2, axis=1)[:, None] - 2 * (p @ c.T) + sd.sum(c**2, axis=1)
    F, G = pair(sd.sum(sd.min(squares, axis=1)), (p, c))
    rng = np.random.default_rng(0)
    given = rng.normal(size=p.shape), rng.normal(size=c.shape)
    near(F(*given), G(*given))
    assert kernels(F)
    assert "affine_min" in G.source
    assert "affine_min" not in F.source


def test_sums_of_few_products_are_those_of_pairs():
    n = 10
    B, C = sd.symbol("Bp", ("n", n)), sd.symbol("Cp", (n, 70))
    F = nm.lower(sd.abs(B @ C), (B, C), backend="native")
    rng = np.random.default_rng(0)
    b, c = rng.normal(size=(65, n)), rng.normal(size=(n, 70))

    def paired(terms):
        half = len(terms) // 2
        return paired(terms[:half]) + paired(terms[half:]) if half else terms[0]

    wanted = np.abs(paired([b[:, k, None] * c[k] for k in range(n)]))
    np.testing.assert_array_equal(F(b, c), wanted)
    assert kernels(F)


def hard_sums(dtype):
    """Rows of many terms that nearly cancel, a row of equal ones, and one with an infinity."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5, 300_000)).astype(dtype) * 10 ** rng.uniform(-3, 3, (5, 1)).astype(dtype)
    x[1] = np.concatenate([x[0, ::2], -x[0, ::2]])
    x[2] = 0.1
    x[3, 1000], x[4, 7] = np.inf, np.nan
    return x


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_long_sums_are_as_exact_as_those_of_pairs(dtype):
    """A sum of n terms one after the other loses n roundings: within a row, of all, of columns."""
    Y = sd.clip(X, -1e30, np.inf)
    y = hard_sums(dtype)
    one = sd.cos(A)  # along the rows of the kernel, within which X is added or not
    for f, operand, terms in (
        (sd.sum(Y, axis=1) * one, y, y),
        (sd.sum(Y, axis=0), y.T.copy(), y),
        (sd.sum(sd.abs(Y), axis=1) * one, y, abs(y)),
        (sd.sum(Y), y[:3], y[:3].reshape(1, -1)),
        (sd.sum(sd.sum(Y, axis=1) * one), y[:3], y[:3].reshape(1, -1)),
    ):
        F = nm.lower(f, (X, A), backend="native")
        with np.errstate(all="ignore"):
            found = np.atleast_1d(F(operand, np.zeros(len(operand), dtype)))
        assert kernels(F)
        for a, row in zip(found, terms, strict=True):
            if np.isfinite(row).all():
                exact = math.fsum(row.tolist())
                scale = math.fsum(abs(row).tolist())
                assert abs(float(a) - exact) <= 40 * np.finfo(dtype).eps * scale
            else:
                np.testing.assert_array_equal(a, row.sum())


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("axes", ["n", "nd"])
@pytest.mark.parametrize("out", ["", "k"])
def test_long_sums_of_products_over_rows_and_along_them_are_exact(out, axes, dtype):
    """Of factors that are summed before they are multiplied, and of those that cannot be."""
    Z, Y = sd.symbol("Zl", ("n", 2, "d")), sd.symbol("Yl", tuple(axes))
    f = sd.einsum(f"nkd,{axes}->{out}", sd.clip(Z, -1e30, 1e30), sd.cos(Y))
    F = nm.lower(f, (Z, Y), backend="native")
    z = hard_sums(dtype)[:3].reshape(3, 2, -1)
    found = np.atleast_1d(F(z, np.zeros((3, z.shape[2])[: len(axes)], dtype)))
    assert kernels(F)
    for a, terms in zip(found, [z[:, 0], z[:, 1]] if out else [z], strict=True):
        scale = math.fsum(abs(terms).ravel().tolist())
        exact = math.fsum(terms.ravel().tolist())
        assert abs(float(a) - exact) <= 40 * np.finfo(dtype).eps * scale


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_logarithms_of_sums_near_1_have_all_their_digits(dtype):
    rows = [[0.0, 0.0], [1e-20, -400.0], [1e-10, -30.0], [-1e-3, -6.9], [1e-5, -60.0], [-0.5, -0.6]]
    rows += [[1.0, 2.0], [-30.0, 1e-10], [-math.log(2)] * 2, [-np.inf, 0.0], [-np.inf, -np.inf]]
    x = np.array(rows, dtype)
    with mp.workdps(40):
        exact = [float(mp.log(sum(mp.exp(mp.mpf(float(v))) for v in row))) for row in x]
    F = nm.lower(sd.logsumexp(sd.minimum(X, 9), axis=1), X, backend="native")
    with np.errstate(all="ignore"):
        found = F(x)
    assert kernels(F)
    assert found[-1] == exact.pop() == -np.inf
    top = np.abs(x[:-1].max(axis=1))
    scale = np.abs(exact) + top * (top > 1e-4)
    assert (np.abs(found[:-1] - exact) <= 4 * np.finfo(dtype).eps * scale).all()
