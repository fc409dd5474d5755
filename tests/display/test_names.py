"""Names of users: what they may hold, and that nothing in them acts where a formula is shown.

Symbols, axes and functions have Python's identifiers for names, so that signs that end a formula,
begin a tag or call a command are refused where the name is given.  What is left are letters of all
scripts, marks that combine, digits and underscores; these are tested here, in a text and in LaTeX.
"""

import keyword
import re
import unicodedata

import pytest
import sympy as sp
from hypothesis import assume, example, given
from hypothesis import strategies as st

import symdiff as sd
from tests.display.latex_checker import check
from tests.display.normal_form import normalised
from tests.support.budget import sample
from tests.support.refusals import refused

ATTACKS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "x<b>",
    "&lt;",
    "x&y",
    "$x$",
    "$$",
    "\\input{/etc/passwd}",
    "\\def",
    "x}",
    "{x",
    "x^2",
    "%",
    "#",
    "~",
    '"]-->',
    'A["x"]',
    "A-->B",
    "end\n  click A call alert()",
    "`x`",
    "```",
    "[x](javascript:alert(1))",
    "**x**",
    "| x |",
    "x y",
    "x;y",
    "x,y[0]",
    "x'",
    "x\x00",
    "x\u200b",
    "x\u202ey",
    "x\n",
    " ",
    "",
    "2x",
    "x.__class__",
    "f(x)",
    "\ud800",
]


@pytest.mark.parametrize("name", ATTACKS, ids=ascii)
def test_a_name_that_could_act_is_refused(name):
    refused(
        (ValueError, "identifier", lambda: sd.symbol(name)),
        (ValueError, "identifier", lambda: sd.symbols([name])),
        (ValueError, "nor a name", lambda: sd.symbol("v", ("n", name))),
        (ValueError, "identifier", lambda: sd.pointwise(name, lambda x: sp.sin(x) + x)),
        (
            ValueError,
            "identifier",
            lambda: sd.custom(lambda x: x, vjp=lambda g, y, x: g, name=name),
        ),
    )
    if name.isprintable() and name.strip():
        with pytest.raises((ValueError, sd.Unsupported)):
            sd.from_sympy(sp.Symbol(name, real=True))


# Identifiers --------------------------------------------------------------------------------------

# From all of Unicode, and from what SymPy reads as accents, Greek letters and indices.
pieces = ["x", "alpha", "Omega", "lamda", "hat", "dot", "ddot", "prime", "bm", "cal", "norm", "abs"]
pieces += ["_", "__", "1", "12", "e", "pi", "class", "mathrm", "left", "text", "λ", "ب", "字", "é"]
pieces += ["e\u0301", "x\u20d7", "ⅷ", "𝒜", "·", "℘", "ﬁ", "n", "t1", "i", "sin", "nan", "inf"]
identifiers = (
    st.from_regex(r"[^\W\d]\w{0,6}", fullmatch=True)
    | st.lists(st.sampled_from(pieces), min_size=1, max_size=4).map("".join)
).filter(str.isidentifier)


def forms(name):
    """Formulas in which a name stands in every place that it may have."""
    x = sd.symbol(name)
    v, A = sd.symbol(name, 3), sd.symbol(name, ("n", "n"))
    yield x
    yield x**2 / (x + 1) ** x
    yield v[0] ** 2 + v[1]
    yield v[1:] * 2
    yield sd.hessian(v[0] * v[1], v)
    yield A @ A.T
    yield sd.det(A) * sd.trace(sd.inv(A))
    yield sd.einsum("ij,jk,ik->ij", A, A, A)
    yield sd.mean(sd.symbol("v_axis", name) ** 2)
    function = sd.pointwise(name, lambda t: sp.sin(t) / (1 + t**2))
    yield function(sd.symbol("x"))
    yield sd.diff(function(sd.symbol("x")), sd.symbol("x"))


@pytest.mark.slow
@sample(60)
@given(identifiers)
@example("__class__")
@example("_")
@example("x__2")
@example("alpha_beta_gamma")
@example("xhatdotprime")
@example("lambda")
@example("left")
@example("n" * 200)
@example("ب")
def test_every_identifier_is_shown_as_itself(name):
    for expr in forms(name):
        check(sd.latex(expr))
        check(sd.latex(expr, full=True))
        markup = expr._repr_latex_()
        assert markup.count("$") - markup.count(r"\$") == 2
        for text in (sd.text(expr), repr(expr).removeprefix("<")):
            rest = text.replace(unicodedata.normalize("NFKC", name), "").replace(name, "")
            assert rest.isascii(), text
            assert not re.search(r'[`$&#%~\\"{}]|<\w|<!|-->', rest)
    if not name.startswith("__"):
        assert unicodedata.normalize("NFKC", name) in sd.text(sd.symbol(name))


@sample(60)
@given(identifiers, identifiers)
@example("x1", "x_1")
@example("e", "E")
@example("alpha", "Alpha")
@example("lambda", "lamda")
@example("xhat", "hatx")
@example("delta", "delta_")
@example("pi", "Pi")
def test_two_names_never_look_the_same(one, other):
    a, b = sd.symbol(one), sd.symbol(other)
    assume(a is not b)
    ((_, (over, under)),) = normalised(sd.latex(a / b))
    assert over != under


NUMBERS = {
    "e": sd.e,
    "pi": sd.pi,
    "inf": sd.constant(float("inf")),
    "nan": sd.constant(float("nan")),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_symbol_is_told_from_a_number_of_that_name(name):
    number = normalised(sd.latex(NUMBERS[name]))
    assert normalised(sd.latex(sd.symbol(name))) != number


@sample(60)
@given(identifiers)
def test_names_are_read_back(name):
    symbol = sd.symbol(name)
    assume(not keyword.iskeyword(symbol.op.name) and not symbol.op.name.startswith("__"))
    assume(all(c.isalnum() or c == "_" or unicodedata.combining(c) for c in symbol.op.name))
    expr = sd.sin(symbol) ** 2 - 3 * symbol
    assert sd.parse(sd.text(expr), [symbol]) is expr


def test_letters_and_parts_are_not_the_users():
    """Letters of axes and names of parts are chosen among those that no symbol has."""
    i, j, t1 = sd.symbol("i"), sd.symbol("j", ("n", "n", "n")), sd.symbol("t1", "n")
    expr = sd.exp(i) * sd.einsum("abc,c->ab", j, t1)
    left = re.match(r"\[(\w),(\w)\]", sd.text(expr))
    assert left
    assert not {"i", "j", "t1"} & set(left.groups())
