"""LaTeX: the notation, what MathJax needs, and the bounds on what is shown of large expressions."""

import re
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from hypothesis import given

import symdiff as sd
from symdiff.display.typeset import markup
from tests.display.latex_checker import check
from tests.symdiff.test_printing import scalars

x, y, z = sd.symbols("x_a y_b z_c")
alpha = sd.symbol("alpha")
A, b, S = sd.symbol("A_L", (2, 3)), sd.symbol("b_L", 3), sd.symbol("S_L", (3, 3))
X = sd.symbol("X_L", ("n", 3))

NAMES = {"x": "x_{a}", "y": "y_{b}", "z": "z_{c}"}
ARRAYS = {name: f"{name}_{{L}}" for name in "AbSX"}


def named(text):
    """``text`` with the names of the symbols of this module in the place of @x, @A ..."""
    return re.sub(r"@(\w)", lambda name: (NAMES | ARRAYS)[name.group(1)], text)


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (x * sd.sin(y) ** 2 + Fraction(1, 3), r"@x \sin^{2}{\left(@y \right)} + \frac{1}{3}"),
        (sd.exp(-(x**2) / 2) * sd.sin(y), r"e^{-\frac{@x^{2}}{2}} \sin{\left(@y \right)}"),
        (x / 2, r"\frac{@x}{2}"),
        (-x / 2 - 1, r"-\frac{@x}{2} - 1"),
        (x - (y - z), r"@x - @y + @z"),
        (1 / (2 * x) / (x + y) ** 2, r"\frac{1}{2 @x \left(@x + @y\right)^{2}}"),
        ((x + y) / 3, r"\frac{@x + @y}{3}"),
        ((x + y) * z, r"@z \left(@x + @y\right)"),
        (2 * 2**x, r"2 \cdot 2^{@x}"),
        (x ** (y + 1), r"@x^{@y + 1}"),
        ((x + 1) ** Fraction(3, 2), r"\left(@x + 1\right)^{\frac{3}{2}}"),
        (sd.sqrt(x + 1), r"\sqrt{@x + 1}"),
        (sd.exp(x) ** y, r"\left(e^{@x}\right)^{@y}"),
        (sd.sqrt(x * (1 + y)) ** 3, r"\left(@x \left(@y + 1\right)\right)^{\frac{3}{2}}"),
        (abs(x) ** 3, r"\left|{@x}\right|^{3}"),
        (sd.floor(x), r"\left\lfloor{@x}\right\rfloor"),
        (sd.gamma(x), r"\Gamma\left(@x\right)"),
        (sd.sigmoid(x), r"\operatorname{sigmoid}\left(@x\right)"),
        (sd.log_sigmoid(x), r"\mathrm{log\_sigmoid}\left(@x\right)"),
        (sd.maximum(x, y), r"\max\left(@x, @y\right)"),
        (
            sd.where(x > 0, sd.log(x), 0),
            r"\begin{cases} \log{\left(@x \right)} & \text{for}\: @x > 0 \\ "
            r"0 & \text{otherwise} \end{cases}",
        ),
        ((x > 0) & ~(y <= 2), r"@x > 0 \wedge \neg \left(@y \leq 2\right)"),
        (sd.pi + sd.e * alpha, r"e \alpha + \pi"),
        (1e-9 * x, r"1 \cdot 10^{-9} @x"),
        (sd.constant(float("inf")) * x, r"\infty @x"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_scalar_notation(expr, expected):
    assert expr.latex() == named(expected)
    check(expr.latex())


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (A, "@A"),
        (A @ b, r"@A @b"),
        (b @ S @ b, r"@b^\top @S @b"),
        (sd.sum(b) * x, r"@x \sum_{i} b_{L,i}"),
        (sd.sum(b) * sd.trace(S), r"\operatorname{tr}\left(@S\right) \sum_{i} b_{L,i}"),
        (sd.sum(b) ** 2, r"\left(\sum_{i} b_{L,i}\right)^{2}"),
        (sd.sum(sd.tanh(b) + b * b), None),
        (sd.mean(X), r"\frac{1}{3 n} \sum_{i,j} X_{L,i,j}"),
        (sd.hessian(sd.sum(sd.exp(b)), b), r"\operatorname{diag}\left(e^{@b}\right)"),
        (S[1:, ::2], r"S_{L,1:3,:3:2}"),
        (sd.inv(S) @ b, None),
        (b[[0, 2]], r"\begin{bmatrix} b_{L,0} \\ b_{L,2} \end{bmatrix}"),
        (sd.det(S) ** 2, r"\det^{2}\left(@S\right)"),
        (b * np.ones(3), r"@b \odot \begin{bmatrix} 1.0 \\ 1.0 \\ 1.0 \end{bmatrix}"),
        (sd.inv(S.T), r"@S^{-\top}"),
        (sd.eigh(S).eigenvectors, r"\operatorname{eigenvectors}\left(@S\right)"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_array_notation(expr, expected):
    check(expr.latex())
    if expected is not None:
        assert expr.latex() == named(expected)


def test_a_users_formula_is_written_out():
    ratio = sd.pointwise("ratio", lambda t, u: t**2 / (1 + sp.Abs(u)))
    expected = r"\frac{\left(@x + @y\right)^{2}}{\left|{@y}\right| + 1}"
    assert ratio(x + y, y).latex() == named(expected)
    assert (3 * ratio(x, y)).latex() == named(r"3 \cdot \frac{@x^{2}}{\left|{@y}\right| + 1}")


# Names --------------------------------------------------------------------------------------------


def test_different_names_look_different():
    plain, indexed, euler, word = sd.symbols("q1 q_1 e qr")
    expr = plain * indexed + euler * sd.e + word * sd.symbol("q") * sd.symbol("r")
    text = expr.latex()
    assert "q_{1}" in text
    assert r"\mathtt{q1}" in text or r"\mathtt{q\_1}" in text
    assert r"\mathtt{e}" in text
    assert r"\mathrm{qr}" in text
    assert " e " in f" {text} "


def test_a_symbol_called_as_an_element_looks_is_told_from_it():
    q, q_0 = sd.symbol("q", 2), sd.symbol("q_0")
    for expr in (q[0] - q_0, q_0 - q[0]):
        assert len({*expr.latex().split(" - ")}) == 2
    a, a_1 = sd.symbol("a", (2, 2)), sd.symbol("a_1", 2)
    assert len({*(a[1, 0] - a_1[0]).latex().split(" - ")}) == 2


@pytest.mark.parametrize("name", ["x__2", "x_", "_x", "xprime", "xnorm", "a_b_c_", "λ", "x_λ"])
def test_names_never_break_the_formula(name):
    expr = sd.symbol(name) ** 2
    check(expr.latex())
    assert expr.latex().count("^") == 1


def test_greek_letters_and_accents_of_sympy():
    assert sd.symbol("omega_0").latex() == r"\omega_{0}"
    assert sd.symbol("Gamma").latex() == r"\Gamma"


# Notebooks and size -------------------------------------------------------------------------------


def test_notebooks_get_dollar_signs():
    assert x._repr_latex_() == markup(x) == named(r"$\displaystyle @x$")
    shared = sd.exp(x * y + z)
    for _ in range(3):
        shared = shared * sd.sin(shared) + sd.cos(shared)
    assert (shared * sd.sin(shared))._repr_latex_().startswith("$\\displaystyle \\begin{aligned}\n")


@given(scalars)
def test_braces_are_balanced(expr):
    check(expr.latex())
    check(sd.diff(expr, sd.symbol("x_")).latex(full=True))


def deep(n):
    expr = x
    for _ in range(n):
        expr = sd.sin(expr) + y
    return expr


def test_of_a_deep_expression_a_part_is_shown():
    text = deep(5000).latex()
    assert len(text) < 25_000
    assert r"\ldots" in text
    nodes = sd.count_nodes(deep(1000))
    shown = int(
        re.search(
            r"\((\d+) of 2,002 nodes in x_a, y_b are", deep(1000).latex().replace("\\_", "_")
        ).group(1)
    )
    assert nodes == 2002
    assert 0 < shown <= 300
    assert "more than 100,000 nodes in y\\_b and others are" in deep(60_000).latex()
    check(text)


def test_all_is_shown_if_asked_for():
    text = deep(2000).latex(full=True)
    assert r"\ldots" not in text
    assert text.count(r"\sin") == 2000
    check(text)


def test_of_a_wide_sum_some_terms_are_shown():
    wide = sd.parse(" + ".join(f"v{k}" for k in range(5000)))
    assert len(wide.latex()) < 1000
    assert (
        "(31 of 5,001 nodes in v0, v1, v2, v3, v4, v5, v6, v7 and 4,992 more are shown"
        in wide.latex()
    )
    assert wide.latex(full=True).count("v_{") == 5000


def test_long_names_numbers_and_formulas_are_cut():
    assert len(sd.symbol("x" * 10_000).latex()) < 100
    huge = sd.constant(10**2000) * sd.constant(10**2000) * x
    assert huge.latex() == named(r"1000000000\ldots\text{[4001 digits]} @x")
    assert len(huge.latex(full=True)) > 4000
    long = sd.pointwise("long", lambda t: sum(sp.sin(t + k) for k in range(200)))
    assert long(x).latex() == named(r"\operatorname{long}\left(@x\right)")
    check(long(x).latex(full=True))


def test_a_formula_too_deep_for_sympy_is_named(monkeypatch):
    printed = sp.latex

    def overflowing(formula, **settings):
        if settings:
            raise RecursionError
        return printed(formula)

    nest = sd.pointwise("nest", lambda t: sp.sin(sp.sin(sp.sin(t)) + 1))
    monkeypatch.setattr(sp, "latex", overflowing)
    assert nest(x).latex(full=True) == named(r"\operatorname{nest}\left(@x\right)")


def test_elements_of_what_has_no_name_are_those_of_an_array_that_gets_one():
    X, W = sd.symbol("X", (4, 9)), sd.symbol("W", (2, 9))
    twice = sd.index_update(X, np.array([1, 1]), W)  # of rows that meet, the last one stays
    slope = sd.grad(sd.sum(twice**2), W)
    text = sd.latex(slope)
    check(text)
    assert r"t_{3} &= \left[\begin{cases} 2 " in text
    assert r"\operatorname{ravel}\left(t_{3}\right)" in text


def test_elements_at_known_places_are_chosen():
    X, W = sd.symbol("X", (4, 3)), sd.symbol("W", (2, 3))
    slope = sd.grad(sd.sum(sd.index_update(X, np.array([1, 1]), W) ** 2), W)
    below = r"2 W_{1,0} & 2 W_{1,1} & 2 W_{1,2}"
    assert sd.latex(slope) == rf"\begin{{bmatrix}} 0 & 0 & 0 \\ {below} \end{{bmatrix}}"
