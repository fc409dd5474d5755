"""The normal form identifies what looks the same, and nothing else."""

import pytest

from tests.display.gallery import GALLERY
from tests.display.normal_form import normalised

SAME = [
    (r"x^{2}", "x^2"),
    (r"q_{0}", "q_0"),
    (r"\frac{1}{2}", r"\frac12"),
    (r"\sin{\left(x \right)}", r"\sin\left(x\right)"),
    (r"\left|{x}\right|", r"\left|x\right|"),
    (r"\displaystyle x \, y", "x y"),
    (r"{v}_{i}", "v_i"),
    (r"{\lambda\left(A\right)}_{2}", r"\lambda(A)_2"),
    (r"{\left(x + y\right)}^{2}", r"(x+y)^2"),
    (r"\sin^{2}{\left(x \right)}", r"\sin^2(x)"),
    (r"x^2_0", "x_0^2"),
    (r"\mathbf{1}", r"\mathbf 1"),
    (r"- \frac{x}{2}", r"-\frac{x}{2}"),
    (r"\text{for}\: x", r"\text{for} x"),
]

DIFFERENT = [
    ("x^{12}", "x^12"),
    ("x^{n m}", "x^n m"),
    ("q_{0,1}", "q_0,1"),
    ("{a + b}_{i}", "a + b_i"),
    ("{x y}^2", "x y^2"),
    ("{x_1}_2", "x_{12}"),
    ("{x_1}^2", "x_{1^2}"),
    (r"\frac{1}{2 x}", r"\frac{1}{2} x"),
    (r"\frac{a}{b}", r"\frac{b}{a}"),
    (r"\frac{12}{3}", r"\frac{1}{23}"),
    (r"\sqrt{x y}", r"\sqrt{x} y"),
    (r"\left(x + y\right) z", "x + y z"),
    ("x - y", "x + y"),
    ("A B", "B A"),
    (r"A^\top B", r"A B^\top"),
    (r"e^{x}", r"e x"),
    (r"\sin\left(x\right)^2", r"\sin^2\left(x\right)"),
    (r"\mathbf{1}", "1"),
    (r"\mathrm{ab}", "ab"),
    (r"\mathrm{a}b", r"\mathrm{ab}"),
    (r"\text{a b}", r"\text{ab}"),
    (r"\begin{bmatrix} a & b \end{bmatrix}", r"\begin{bmatrix} a \\ b \end{bmatrix}"),
    (r"\begin{bmatrix} a \end{bmatrix}", r"\begin{pmatrix} a \end{pmatrix}"),
    (r"\left[1 \leq i < 3\right]", r"\left[1 \leq i \leq 3\right]"),
    (r"{f(x) + g(x)}_2", r"f(x) + g(x)_2"),
    (r"{(a)(b)}_2", r"(a)(b)_2_2"),
    (r"\alpha x", r"\alpha_x"),
    (r"2 \cdot 3", "23"),
    (r"u \odot v", "u v"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_looks_the_same_is_equal(one, other):
    assert normalised(one) == normalised(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_formulas_are_different(one, other):
    assert normalised(one) != normalised(other)


@pytest.mark.parametrize("latex", ["{x", "x}", r"\frac{1}", "x^"])
def test_what_is_no_formula_is_refused(latex):
    with pytest.raises(ValueError, match=r"brace|lacks"):
        normalised(latex)


def test_rows_of_other_formulas_differ():
    """Rows with different texts have different LaTeX, but where association or shapes show."""
    seen = {}
    for row in GALLERY:
        if row.latex is not None:
            seen.setdefault(normalised(row.latex), {}).setdefault(row.text, row.name)
    several = {frozenset(texts) for texts in seen.values() if len(texts) > 1}
    assert several == {frozenset({"A @ (B @ v)", "A @ B @ v"}), frozenset({"eye(n)", "eye(3)"})}
