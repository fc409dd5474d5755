"""The checker of LaTeX accepts what MathJax sets, and finds planted faults."""

import re

import pytest

from tests.display.gallery import GALLERY
from tests.display.latex_checker import ARITY, Fault, check
from tests.support.cases import all_cases

ACCEPTED = [
    "x",
    "",
    r"x_{1}^{2} + \alpha",
    r"\frac{x^{2}}{2 \sin^{2}{\left(y \right)}}",
    r"\begin{cases} a & \text{for}\: x > 0 \\ b & \text{otherwise} \end{cases}",
    r"\begin{aligned}" + "\n" + r"t_{1} &= x \\" + "\n" + r"&t_{1} + 1" + "\n" + r"\end{aligned}",
    r"\begin{bmatrix} a & b \\ c & \begin{bmatrix} d \end{bmatrix} \end{bmatrix}",
    r"\left\lVert \frac{1}{2} \right\rVert^2",
    r"\left. x \right|_0",
    r"\operatorname{log\_sigmoid}\left(x\right)",
    r"\sqrt[3]{x}",
    r"\mathtt{\_\_class\_\_}",
    r"\mathtt{x\ y}",
    r"{\left[\cdot\right]}_{i,j}",
    "a < b",
    "f''",
    r"\lambda\left(A\right)_2",
    r"\text{(1,000 nodes are not shown)}",
    "λ_{λ}",
    "J_1\\left(x\\right)",
]

FAULTS = [
    "{x",
    "x}",
    r"\frac{1}",
    r"\frac12",  # TeX takes it; a printer has no need of it
    r"\frac{}{2}",
    "x^",
    "x_",
    "^2",
    "x^{}",
    "x^2^3",
    "x_1_2",
    "x_{1}^2_{3}",
    "x'^2'",
    "x^2'",
    r"x^\frac{1}{2}",
    r"\left(x",
    r"x\right)",
    r"\left(x\right",
    r"\left x\right)",
    r"\left(\frac{x\right)}{2}",
    r"{\left(x}\right)",
    r"\begin{cases} \left(x & y \right) \end{cases}",
    r"\begin{cases} a & b & c \end{cases}",
    r"\begin{bmatrix} a & b \\ c \end{bmatrix}",
    r"\begin{bmatrix} a",
    r"a \end{bmatrix}",
    r"\begin{bmatrix} a \end{cases}",
    r"\begin{verbatim} a \end{verbatim}",
    "a & b",
    r"a \\ b",
    "50%",
    "#1",
    "a~b",
    "$x$",
    r"\$x$",
    "a`b",
    'a"b',
    "a`b",
    "<script>alert(1)</script>",
    "a <b",
    "x &lt; y",
    "]]>",
    "x-->y",
    r"\input{file}",
    r"\href{javascript:alert(1)}{x}",
    r"\def\x{1}",
    r"\newcommand{\x}{1}",
    r"\require{html}",
    r"\unicode{65}",
    r"\undefined",
    r"\mathrm x",
    r"\text{a $b$}",
    r"\text{a_b}",
    r"\text{\frac{1}{2}}",
    r"\textbf{x}",
    "x\x00",
    "x\ue0000\ue001",
    "x\u202ey",
    "x\u200by",
    r"\operatorname",
    "\\",
]


@pytest.mark.parametrize("latex", ACCEPTED)
def test_what_mathjax_sets_is_accepted(latex):
    check(latex)


@all_cases("latex", FAULTS, least=61)
def test_faults_are_found(latex):
    with pytest.raises(Fault):
        check(latex)


def test_the_gallery_is_latex():
    for row in GALLERY:
        check(row.latex or "")


def test_of_a_formula_no_brace_bracket_or_command_can_be_left_out():
    """Each mutation of each formula of the gallery breaks it, and is found."""
    planted = 0
    for latex in (row.latex for row in GALLERY if row.latex):
        places = list(re.finditer(r"\\left(?![a-z])|\\right(?![a-z])|[{}]|\\begin|\\end", latex))
        for place in places:
            without = latex[: place.start()] + latex[place.end() :]
            if place.group() in "{}":  # \frac1 is another fault than an open brace
                assert without.count("{") != without.count("}")
            with pytest.raises(Fault):
                check(without)
            planted += 1
        for name in set(re.findall(r"\\[A-Za-z]+", latex)):
            with pytest.raises(Fault):
                check(latex.replace(name, name + "x"))
            planted += 1
        for sign in "^_":
            if sign in latex:
                with pytest.raises(Fault):
                    check(latex.replace(sign, 2 * sign, 1))
                planted += 1
        for name in set(re.findall(r"\\[A-Za-z]+", latex)) & set(ARITY):
            k = latex.rindex(name + "{")
            with pytest.raises(Fault):
                check(latex[:k] + name)
            planted += 1
    assert planted > 1000
