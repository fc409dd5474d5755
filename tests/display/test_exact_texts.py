"""What display rearranges stays the same function: powers of powers, elements from the end."""

import contextlib
from fractions import Fraction

import numpy as np
import pytest

import symdiff as sd
from tests.display import written_programs
from tests.display.points import evaluated, point
from tests.display.test_meaning import means, reads_back

v, x = sd.symbol("v", "n"), sd.symbol("x")
w, A = sd.symbol("w", ("n", "m")), sd.symbol("A", ("n", "n"))
M, T, q = sd.symbol("M", (2, 2)), sd.symbol("T", (2, 2, 2)), sd.symbol("q", 3)
LENGTHS = {"n": 5, "m": 4}, {"n": 1, "m": 1}, {"n": 2, "m": 3}


def is_exact(expr, lengths=LENGTHS):
    """Text and LaTeX are read, and are right at negative values too; so is what comes back."""
    for named in lengths:
        assert means(expr, named) in (["text", "LaTeX"], None)
    reads_back(expr)


# Powers of powers ---------------------------------------------------------------------------------

INNER = [2, -2, 4, Fraction(2, 3)]
OUTER = [Fraction(1, 2), Fraction(3, 2), Fraction(-1, 2), Fraction(1, 3), 2, -1, 1.5]
BASES = {"scalar": x, "vector": q, "matrix": M, "named": w, "named vector": v}


@pytest.mark.slow
@pytest.mark.parametrize("name", BASES)
def test_a_power_of_a_power_is_one_only_for_whole_exponents(name):
    a = BASES[name]
    for inner in INNER:
        for outer in OUTER:
            for f in ((a**inner) ** outer, ((a - 1) ** inner) ** outer * a, (-a * a) ** 2 * a):
                is_exact(f, LENGTHS[:1])
    is_exact(sd.grad(sd.sum(sd.sqrt(a**2)), a), LENGTHS[:1])


def test_the_root_of_a_square_is_shown():
    assert sd.text(sd.sqrt(M**2)) == "sqrt(M**2)"
    assert sd.text((M**2) ** 1.5) == "(M**2)**(3/2)"
    assert repr(sd.sqrt((M - 1) ** 2)) == "<sqrt((M - 1)**2): (2, 2)>"
    assert sd.text((M**3) ** -2) == "1/M**6"


def test_equal_factors_of_a_sum_of_products_are_counted():
    """A factor that one term has twice is not a factor of all terms with that power."""
    columns, rows = sd.sum(w, axis=0), sd.sum(w, axis=1)[:, None]
    root = sd.sqrt(w * w + 1)
    for f in (w * root * (w * columns) + w * rows, w * (w * root) * columns - w * w * rows):
        is_exact(f)


# Functions and their inverses ---------------------------------------------------------------------


def test_a_negative_power_is_no_inverse_function():
    r"""``\sin^{-1}`` is the arcsine."""
    for f in (1 / sd.sin(v), w / sd.sin(v)[:, None], sd.tanh(v) ** -2, sd.sin(v) ** -0.5):
        assert "^{-1}{" not in sd.latex(f)
        assert r"\sin^{-1}" not in sd.latex(f)
        is_exact(f, LENGTHS[:1])
    assert sd.latex(1 / sd.sin(v)) == r"\left(\sin{\left(v \right)}\right)^{\odot -1}"


# Elements from the end ----------------------------------------------------------------------------

TOTAL, _ = sd.scan(lambda s, c: (s * x + c, None), 0.0, v)
FROM_THE_END = {
    "where(n < 1, 0, v[-1])": sd.concatenate([sd.zeros(1), v])[-1],
    "where(n < 2, v[0], v[-1] - v[-2])": sd.concatenate([v[:1], v[1:] - v[:-1]])[-1],
    "where(n < 2, v[-1], v[-2])": sd.roll(v, 1)[-1],
    "v[-1]": sd.concatenate([v, sd.ones(1)])[-2],
    "2*v[-1]*[n >= 2]": sd.grad(sd.sum(v[1:] ** 2), v)[-1],
    "0": sd.grad(sd.sum(v[:-1] ** 2), v)[-1],
    "3*w[-1,-1]**2*[m >= 2]": sd.grad(sd.sum(w[:, 1:] ** 3), w)[-1, -1],
    "(w @ w.T)[-1,0]*[n >= 1]": sd.tril(w @ w.T)[-1, 0],
    "A[-1,0]*[n <= 1]": sd.triu(A)[-1, 0],
    "A[-1,0]*[n >= 1]": sd.tril(A)[-1, 0],
    "2*v[-1]*v[0] + v[0]**2*[n == 1]": sd.grad(v[0] ** 2 * v[-1], v)[0],
    "x": sd.index_update(v, -1, x)[-1],
    "v[0]": sd.flip(v)[-1],
    "v[-2]": sd.flip(v)[1],
    "outer(v, v)[[0, 1]][1,n//2]": sd.outer(v, v)[[0, 1], v.shape[0] // 2][1],
}
OTHERS = {
    "the first of what is turned": sd.flip(sd.concatenate([sd.zeros(1), v]))[0],
    "a gradient by the last": sd.grad(sd.sum(sd.exp(sd.grad(v[-1] ** 3, v))), v),
    "of both ends": sd.grad(v[0] ** 2 * v[-1] * v[-2], v)[-1],
    "the identity": sd.eye("n")[-1, 0],
    "a row": sd.grad(sd.sum(w[-1] ** 3), w)[-1, 0],
    "windows": sd.grad(sd.sum(v[2:] * v[:-2]), v)[-1],
    "every second": sd.grad(sd.sum(v[::2] ** 2), v)[-1],
    "from the end": sd.grad(sd.sum(v[::-1][1:] ** 2), v)[-1],
}


LOOPS = {
    "a derivative of a scan": sd.diff(TOTAL, x),
    "a gradient of a scan": sd.grad(TOTAL, v)[-1],
    "the second of it": sd.grad(TOTAL, v)[1],
}


@pytest.mark.parametrize("name", LOOPS)
def test_recurrences_know_where_the_end_is(name):
    expr = LOOPS[name]
    assert "[-1 " not in sd.text(expr)
    for named in LENGTHS:
        values = point(expr, 1, True, named)
        with contextlib.suppress(sd.ShapeError):  # too short an axis for the second one
            ours = evaluated(expr, values, named)
            assert np.allclose(written_programs.value(sd.text(expr), values), ours)


@pytest.mark.parametrize("text", FROM_THE_END)
def test_an_element_from_the_end_is_that_one(text):
    assert sd.text(FROM_THE_END[text]) == text
    is_exact(FROM_THE_END[text])


@pytest.mark.parametrize("name", OTHERS)
def test_conditions_know_where_the_end_is(name):
    expr = OTHERS[name]
    assert "[-1 " not in sd.text(expr)
    is_exact(expr)


def test_the_derivative_of_a_scan_is_no_zero():
    assert sd.text(sd.diff(TOTAL, x)).startswith("a[n]*[n >= 1]\nwhere ")
    at = {"v": np.array([2.0, 3, 5, 7, 11]), "x": 2.0, "n": 5}
    assert "[-1 \\geq 1]" not in sd.latex(sd.diff(TOTAL, x))
    assert float(sd.diff(TOTAL, x).evalf(10, {v: at["v"], x: 2})) == 127


# What comes back ----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["2*v[0]*[0 < n - 1]", "[n >= 2]", "[0 <= n < 3]*x", "[[x < 1]]"])
def test_a_condition_in_brackets_is_not_read_as_an_array(text):
    with pytest.raises(sd.ParseError, match=r"1 or 0 in index notation, which is not read back"):
        sd.parse(text, [v])


def test_an_array_of_one_comparison_has_its_name():
    f = sd.stack([x < 1])
    assert sd.text(f) == "stack([x < 1])"
    assert sd.parse(sd.text(f)) is f
    assert sd.parse("[x < 1, 2 < x]") is sd.stack([x < 1, x > 2])


def test_texts_of_loops_and_solutions_are_refused_by_name():
    for f in (TOTAL, sd.root(lambda y: y**3 - x, 1.0), sd.fori_loop(0, 5, lambda i, y: y * x, v)):
        with pytest.raises(sd.ParseError, match=r"such a text is not read back"):
            sd.parse(sd.text(f), [v])


def test_the_places_of_a_condition_are_one_of_the_results_of_nonzero():
    (f,) = sd.nonzero(v > 0)
    assert sd.text(f) == "nonzero(v > 0)[0]"
    assert sd.parse(sd.text(f), [v]) is f


def test_elements_at_numbers_and_at_lengths_stand_in_one_sum():
    """Which of them comes first in the array is not known."""
    n = v.shape[0]
    f = v[1] + v[n // 2] + v[0] * v[n - 2]
    assert sd.text(f) == "v[-2]*v[0] + v[1] + v[n//2]"
    is_exact(f, LENGTHS[:1])


# Letters ------------------------------------------------------------------------------------------


def test_a_letter_over_axes_of_two_lengths_says_how_far_it_runs():
    kernel = np.array([1.0, -1.0])
    f = np.correlate(v, kernel, "valid")
    assert sd.text(f) == "[i] = sum[j]([1.0, -1.0][j]*v[i + j])"
    assert sd.text(f[0]) == "sum[i < 2]([1.0, -1.0][i]*v[i])"
    assert sd.latex(f[0]).startswith(r"\sum_{i < 2}")
    is_exact(f[0], LENGTHS[:1])


def test_what_is_taken_at_a_computed_place_has_a_name():
    """The second derivative of elements of an outer product has no whole form."""
    f = sd.outer(v, v)[[0, 1], v.shape[0] // 2]
    second = sd.hessian(sd.sum(sd.sin(f)), v)[0, -1]
    assert sd.text(second).startswith("t1[i < n,j < 2,k < n] = ")
    assert "text" in means(second, {"n": 5})
