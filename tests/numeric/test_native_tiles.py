"""Products with small matrices in tiles: the sums of NumPy's loops, for every size and register."""

from itertools import pairwise

import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from numeric.lowering import costs, programs
from numeric.lowering.native import compiler, libraries, source
from numeric.lowering.native import kernels as native
from numeric.lowering.native.kernels import NativePrinter
from numeric.lowering.native.loops import LANES
from numeric.lowering.native.tiles import of_tiles
from numeric.lowering.passes import rows
from tests.numeric.test_native import near
from tests.support.ways import leave_out

BOTH = pytest.mark.parametrize("dtype", [np.float64, np.float32])
ROWS = (1, 7, 63, 64, 65, 100, 130, 200, 1000)
SIDES = [(2, 33), (7, 17), (8, 64), (9, 20), (16, 63), (17, 1), (33, 7), (63, 8), (64, 9), (17, 33)]
SIDES += [(64, 64)]
FEW = [(1, 20), (20, 2), (17, 7), (20, 33), (64, 64)]


@pytest.fixture(autouse=True)
def registers_hold_eight_doubles(monkeypatch):
    """So does the compiler of these tests say, whatever is there; matrices have no rows."""
    use(monkeypatch, compiler.compiler()._replace(wide=True))
    monkeypatch.setattr(rows, "_LEAST", 65)
    monkeypatch.setattr(programs, "NATIVE_LEAST", 1)


def use(monkeypatch, known):
    for module in (native, libraries):
        monkeypatch.setattr(module, "compiler", lambda: known)


# Formulas, and the same in loops of NumPy ---------------------------------------------------------


def plain(j, i):
    """Rows that are arguments, times a matrix: read where they stand."""
    X, L, W = sd.symbol("Xt", ("n", j)), sd.symbol("Lt", (i, j)), sd.symbol("Wt", ("n", i))
    return sd.sum((X @ L.T) ** 2 * W), (X, L, W)


def shifted(j, i):
    """Rows less those of a matrix, times another one of as many."""
    X, L, M = sd.symbol("Xt", ("n", j)), sd.symbol("Lt", (3, i, j)), sd.symbol("Mt", (3, j))
    return sd.sum(sd.einsum("knj,kij->kni", X - M[:, None], L) ** 2), (X, L, M)


def of_plain(x, l, w):  # noqa: E741
    y = np.einsum("nj,ij->ni", x, l)
    g = 2 * y * w
    gradients = np.einsum("ni,ij->nj", g, l), np.einsum("ni,nj->ij", g, x), y**2
    return np.einsum("ni,ni->", y**2, w), *gradients


def of_shifted(x, l, m):  # noqa: E741
    """Of sizes, too, all of which are positive: ``m`` is then what is added."""
    z = x - m[:, None]
    y = np.einsum("knj,kij->kni", z, l)
    back = np.einsum("kni,kij->knj", 2 * y, l)
    gradients = back.sum(axis=0), np.einsum("kni,knj->kij", 2 * y, z), -back.sum(axis=1)
    return (y**2).sum(), *gradients


FORMULAS = {"plain": (plain, of_plain), "shifted": (shifted, of_shifted)}
CASES = [("plain", *sides) for sides in SIDES] + [("shifted", *sides) for sides in FEW]
EACH = pytest.mark.parametrize(("name", "j", "i"), CASES)


def lowered(name, j, i, **options):
    formula, xs = FORMULAS[name][0](j, i)
    return nm.lower(formula, xs, backend="native", **options)


def arguments(name, n, j, i, draw):
    shapes = {"plain": [(n, j), (i, j), (n, i)], "shifted": [(n, j), (3, i, j), (3, j)]}[name]
    return [draw(shape) for shape in shapes]


def integers(seed=0):
    """Sums of products of these are exact, in every order."""
    rng = np.random.default_rng(seed)
    return lambda shape: rng.integers(-1, 2, shape)


def results(F, given):
    value, gradients = F.value_and_grad(*given)
    return value, *gradients


def in_tiles(F):
    """Whether products with matrices are in tiles, and sums over rows."""
    text = F.source[F.source.index("void kernel(") :]
    return "[ACROSS]" in text, "TOTALS(sum" in text


# Values -------------------------------------------------------------------------------------------


@pytest.mark.slow
@BOTH
@EACH
def test_sums_of_integers_are_exact(name, j, i, dtype):
    """For every number of rows and of columns, and all that is copied behind the last one."""
    F = lowered(name, j, i)
    for n in ROWS:
        given = arguments(name, n, j, i, integers(n))
        expected = FORMULAS[name][1](*given)
        assert expected[0] < 2**24
        for _ in range(2):  # the second one is given to C as it is, with memory of C's
            found = results(F, [x.astype(dtype) for x in given])
            for a, b in zip(found, expected, strict=True):
                assert a.dtype == dtype
                np.testing.assert_array_equal(a, b)
    assert in_tiles(F) == (j > 1, True)  # sums of one column share nothing


@pytest.mark.slow
@BOTH
def test_tiles_along_an_axis_of_any_length_are_exact(dtype, monkeypatch):
    """The rows of the kernel are those of the matrix; the others are the last tile's, or none."""
    monkeypatch.setattr(rows, "_LEAST", 1)
    X, L = sd.symbol("Xt", ("n", 20)), sd.symbol("Lt", (33, 20))
    F = nm.lower(sd.sum((X @ L.T) ** 2), (X, L), backend="native")
    for n in (0, *ROWS):
        x, m, _ = arguments("plain", n, 20, 33, integers(n))
        value, back, by_matrix, _ = of_plain(x, m, np.ones((n, 33), int))
        found = results(F, [x.astype(dtype), m.astype(dtype)])
        for a, b in zip(found, (value, back, by_matrix), strict=True):
            np.testing.assert_array_equal(a, b)
    assert in_tiles(F) == (True, True)
    assert "const long t7 = i0 + 7 < n0 ? i0 + 7 : n0 - 1;" in F.source


@BOTH
@EACH
def test_sums_are_those_of_long_doubles_within_their_roundings(name, j, i, dtype):
    F, of = lowered(name, j, i), FORMULAS[name][1]
    rng = np.random.default_rng(0)
    for n in (65, 200):
        given = [x.astype(dtype) for x in arguments(name, n, j, i, lambda s: rng.normal(size=s))]
        expected = of(*[x.astype(np.longdouble) for x in given])
        # In products of sizes, what is taken away is added.
        sizes = [abs(x).astype(np.longdouble) for x in given]
        if name == "shifted":
            sizes[-1] *= -1
        # An element is rounded once for each term of the sums before it, and each of a few factors.
        often = 2 * (i + j) + 3 * n + 20
        each = zip(results(F, given), expected, of(*sizes), strict=True)
        for found, exact, size in each:
            assert np.all(abs(found - exact) <= often * np.finfo(dtype).eps * abs(size))


@pytest.mark.parametrize("name", FORMULAS)
def test_operands_of_tiles_lie_in_any_order(name):
    changes = [
        np.asfortranarray,
        lambda x: np.repeat(x, 2, axis=0)[::2],
        lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
        lambda x: x[::-1].copy()[::-1],
        lambda x: x[..., ::-1].copy()[..., ::-1],
        lambda x: np.asfortranarray(x)[::-1, ::-1].copy(order="K")[::-1, ::-1],
    ]
    F = lowered(name, 20, 33)
    for n in (1, 64, 130, 200):
        given = arguments(name, n, 20, 33, integers(n))
        expected = FORMULAS[name][1](*given)
        for change in changes:
            found = results(F, [change(x.astype(float)) for x in given])
            for a, b in zip(found, expected, strict=True):
                np.testing.assert_array_equal(a, b)
    assert in_tiles(F) == (True, True)


@BOTH
@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_what_is_copied_behind_the_last_row_does_not_count(odd, dtype):
    """Copies are of the first row of a block, here no number, or infinite: it counts once."""
    for name in FORMULAS:
        F = lowered(name, 20, 33)
        for n in (1, 65, 71, 130):
            given = [x.astype(dtype) for x in arguments(name, n, 20, 33, integers(n))]
            given[0][n // LANES * LANES, 3] = odd
            with np.errstate(all="ignore"):
                expected = FORMULAS[name][1](*given)
                found = results(F, given)
            for a, b in zip(found, expected, strict=True):
                np.testing.assert_array_equal(a, b)
        assert in_tiles(F) == (True, True)


@BOTH
def test_a_row_that_is_no_number_spoils_itself_alone(dtype):
    X, L, W = sd.symbol("Xt", ("n", 20)), sd.symbol("Lt", (33, 20)), sd.symbol("Wt", ("n", 33))
    F = nm.lower(sd.maximum(X, -1) @ L.T + W, (X, L, W), backend="native")
    for n in (1, 7, 64, 71, 130):
        given = [x.astype(dtype) for x in arguments("plain", n, 20, 33, integers(n))]
        row = (n - 1) // LANES * LANES
        given[0][row, 5] = np.inf
        with np.errstate(invalid="ignore"):
            expected = np.einsum("nj,ij->ni", np.maximum(given[0], -1), given[1]) + given[2]
            found = F(*given)
        np.testing.assert_array_equal(found, expected)
        assert np.isfinite(np.delete(found, row, axis=0)).all()
    assert in_tiles(F) == (True, False)


@pytest.mark.parametrize("i", [17, 23, 24, 33])
def test_tiles_end_where_their_value_ends(i, monkeypatch):
    """A result whose rows lie one after the other is written in place, and nothing behind it."""
    made = []

    def in_columns(compiled, x, sizes, blocks):
        rows, columns = compiled._shape(x, sizes)
        whole = np.full((columns + 8, rows), 99.0)
        made.append(whole)
        return whole[:columns].T

    monkeypatch.setattr(native._Compiled, "_result", in_columns)
    X, L = sd.symbol("Xt", ("n", 20)), sd.symbol("Lt", (i, 20))
    F = nm.lower(sd.abs(X) @ L.T, (X, L), backend="native")
    draw = integers()
    x, m = draw((128, 20)), draw((i, 20))
    found = F(np.asfortranarray(x.astype(float)), m.astype(float))
    np.testing.assert_array_equal(found, np.einsum("nj,ij->ni", abs(x), m))
    (whole,) = made
    assert np.shares_memory(found, whole)
    assert np.all(whole[i:] == 99)
    assert in_tiles(F) == (True, False)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMULAS)
def test_bits_of_tiles_depend_on_the_element_alone(name, monkeypatch):
    """Not on the number of threads, or on how many functions compute a block."""
    rng = np.random.default_rng(0)
    given = arguments(name, 1000, 20, 33, lambda shape: rng.normal(size=shape))
    monkeypatch.setattr(costs, "BLOCK", 64)
    monkeypatch.setattr(native, "_LEAST", 64)
    each = [results(lowered(name, 20, 33, threads=n), given) for n in (1, 2)]
    monkeypatch.setattr(source, "_LONG", 0)
    monkeypatch.setattr(source, "_PART", 3)
    F = lowered(name, 20, 33)
    each.append(results(F, given))
    assert "part_1(&all, i, m, " in F.source
    for one, another in pairwise(each):
        for a, b in zip(one, another, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMULAS)
def test_programs_of_numpy_give_the_same(name):
    formula, xs = FORMULAS[name][0](20, 33)
    given = [x.astype(float) for x in arguments(name, 130, 20, 33, integers())]
    F, G = lowered(name, 20, 33), nm.lower(formula, xs, backend="numpy")
    fast = lowered(name, 20, 33, fastmath=True)
    for a, b, c in zip(results(F, given), results(G, given), results(fast, given), strict=True):
        assert a.shape == b.shape
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(c, b)  # integers are exact in any order
    assert F(*given) == nm.interpret([formula], dict(zip(xs, given, strict=True)))[0]


@pytest.mark.parametrize("name", FORMULAS)
def test_exact_order_leaves_these_products_to_blas(name):
    formula, xs = FORMULAS[name][0](20, 33)
    rng = np.random.default_rng(0)
    given = arguments(name, 130, 20, 33, lambda shape: rng.normal(size=shape))
    F, G = lowered(name, 20, 33, exact_order=True), nm.lower(formula, xs, exact_order=True)
    for a, b in zip(results(F, given), results(G, given), strict=True):
        np.testing.assert_array_equal(a, b)
    assert "TOTALS" not in F.source


def mixture():
    """Minus the logarithm of a mixture of three Gaussians in 20 dimensions, at each row."""
    X, L, M = sd.symbol("Xt", ("n", 20)), sd.symbol("Lt", (3, 20, 20)), sd.symbol("Mt", (3, 20))
    y = sd.einsum("knj,kij->kni", X - M[:, None], L)
    return -sd.sum(sd.logsumexp(-sd.sum(y**2, axis=2) / 2, axis=0)), (X, L, M)


def perceptron():
    """The loss of one with two layers, of 33 and 17 units."""
    X, A, B = sd.symbol("Xt", ("n", 20)), sd.symbol("At", (20, 33)), sd.symbol("Bt", (33, 17))
    y = sd.tanh(sd.tanh(X @ A) @ B)
    return sd.sum(sd.logsumexp(y, axis=1) - y[:, 0]), (X, A, B)


def attention():
    """Each row looks at 24 others, which all have in common."""
    X, K, V = sd.symbol("Xt", ("n", 20)), sd.symbol("Kt", (24, 20)), sd.symbol("Vt", (24, 18))
    return sd.sum((sd.softmax(X @ K.T, axis=1) @ V) ** 2), (X, K, V)


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("build", [mixture, perceptron, attention])
def test_products_and_all_around_them_are_those_of_numpy(build, dtype):
    formula, xs = build()
    F, G = nm.lower(formula, xs, backend="native"), nm.lower(formula, xs, backend="numpy")
    rng = np.random.default_rng(0)
    for n in (1, 71, 200):
        shapes = [[k if isinstance(k, int) else n for k in x.shape] for x in xs]
        given = [rng.normal(size=shape).astype(dtype) / 4 for shape in shapes]
        for a, b in zip(results(F, given), results(G, given), strict=True):
            near(a, b, dtype)
    assert in_tiles(F) == (True, True)


def test_an_operand_without_rows_is_not_read_along_them(monkeypatch):
    """A sum over rows of which one factor has none: else it is taken out of the sum before."""
    leave_out(monkeypatch, NativePrinter, "sum_operands_first")
    X, v = sd.symbol("Xt", ("n", 20)), sd.symbol("vt", 33)
    F = nm.lower(sd.einsum("nj,i->ij", sd.abs(X), v), (X, v), backend="native")
    for n in ROWS:
        x, w = integers(n)((n, 20)), integers(n + 1)(33)
        found = F(x.astype(float), w.astype(float))
        np.testing.assert_array_equal(found, np.outer(w, abs(x).sum(axis=0)))
    assert "void kernel(" in F.source


# Compilers ----------------------------------------------------------------------------------------


def test_where_registers_are_narrow_these_products_are_left_to_blas(monkeypatch):
    given = [x.astype(float) for x in arguments("shifted", 130, 20, 33, integers())]
    found = []
    for wide in (True, False):
        use(monkeypatch, compiler.compiler()._replace(wide=wide))
        F = lowered("shifted", 20, 33)
        found.append(results(F, given))
        assert ("[ACROSS]" in F.source) == wide
        assert (" @ " in F.source[F.source.index("def value_and_grad") :]) != wide
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


def test_matrices_that_leave_the_nearest_cache_are_left_to_blas():
    F = lowered("plain", 20, 65)
    results(F, [x.astype(float) for x in arguments("plain", 130, 20, 65, integers())])
    assert "TOTALS" not in F.source
    assert ".dot(" in F.source


def with_flags(*changed):
    """The compiler for another processor, and the same flags otherwise; None where it refuses."""
    known = compiler.compiler()
    if "-march=native" not in known.flags:
        return None
    kept = [x for x in known.flags if x != "-march=native"]
    flags = (*kept, *changed)
    text = "int works(void) { return 1; }"
    works = compiler._links(known.command, flags, text)
    return known._replace(flags=flags, wide=True) if works else None


REGISTERS = {  # the numbers of a piece, for each precision
    "-march=haswell": (" avx2 ", {np.float64: 4, np.float32: 8}),
    "-march=x86-64": (" sse2 ", {np.float64: 2, np.float32: 4}),
}


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("march", REGISTERS)
def test_narrower_registers_give_the_same_sums(march, dtype, monkeypatch):
    needed, pieces = REGISTERS[march]
    known = with_flags(march)
    if known is None or needed not in compiler._processor():
        pytest.skip("the compiler or the processor does not know it")
    use(monkeypatch, known)
    said = "int answer(void) { return 10*PIECE + ACROSS; }"
    text = "\n".join([source.head(dtype == np.float32), of_tiles(dtype == np.float32), said])
    assert libraries.library(text).answer() == 10 * pieces[dtype] + 1
    agree(dtype)


@BOTH
def test_compilers_that_do_not_mix_vectors_give_the_same_sums(dtype, monkeypatch):
    """Those before GCC 12 have no ``__builtin_shufflevector``."""
    known = with_flags("-march=native", "-U__has_builtin", "-D__has_builtin(x)=0")
    if known is None:
        pytest.skip("the compiler insists on what it has")
    use(monkeypatch, known)
    agree(dtype)


def agree(dtype):
    for name in FORMULAS:
        F = lowered(name, 20, 33)
        for n in (1, 7, 64, 71, 130):
            given = arguments(name, n, 20, 33, integers(n))
            found = results(F, [x.astype(dtype) for x in given])
            for a, b in zip(found, FORMULAS[name][1](*given), strict=True):
                np.testing.assert_array_equal(a, b)
        assert in_tiles(F) == (True, True)


def test_sums_along_an_axis_that_is_not_the_last_one_stay_in_their_places(monkeypatch):
    """Rows times rows, where the axis of the tile has others behind it in the value."""
    monkeypatch.setattr(rows, "_LEAST", 1)
    v = sd.symbol("vtile", 9)
    H = sd.hessian(sd.sum(sd.sin(np.outer(v, v[1:]))), v)
    F = nm.lower(H, [v], backend="native")
    at = np.linspace(-1, 1, 9)
    np.testing.assert_allclose(F(at), nm.interpret(H, {v: at}), rtol=1e-12, atol=1e-12)
    assert in_tiles(F)[1]
