"""LaTeX of everything is set by MathJax; texts are bounded and of the words that users know."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import symdiff as sd
from symdiff.interchange.parser import FUNCTIONS
from symdiff.scalars.vocabulary import FACTS
from tests.display.latex_checker import check
from tests.display.words import internal_words
from tests.support.budget import sample
from tests.support.oracles import inputs_of
from tests.support.strategies import FAMILIES, programs
from tests.test_table import ROWS

# What one name, sign or bracket may take, and a node with as many operands as components.
PER_NODE = 200


def shown(expr):
    """What is written of an expression: text, LaTeX and its short form; LaTeX is accepted."""
    text, latex, short = sd.text(expr), sd.latex(expr), repr(expr)
    assert len(text) <= PER_NODE * (sd.count_nodes(expr) + 1)
    assert len(short) < 500
    assert "\x00" not in text
    check(latex)
    check(sd.latex(expr, full=True))
    shell = expr._repr_latex_()
    assert shell.startswith("$")
    assert shell.endswith("$")
    check(shell[1:-1])
    return text, latex, short


# Every function -----------------------------------------------------------------------------------


def with_cotangents(row, shapes):
    """The results of a public function, and what their derivatives take back to the operands."""
    xs = [sd.symbol(f"x_{k}", shape) for k, shape in enumerate(shapes)]
    results = row.ours(*xs)
    found = []
    for result in results if isinstance(results, tuple | list) else [results]:
        found.append(sd.constant(0) + result)
        if xs:
            found += sd.vjp(found[-1], xs, sd.symbol("u", found[-1].shape))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.title)
def test_every_public_function_and_its_derivatives(row):
    """In no word of the implementation."""
    for shapes in row.cases[:2]:
        for expr in with_cotangents(row, shapes):
            for written in shown(expr):
                assert not internal_words(written.replace("\\_", "_"))


def called(name):
    """A function of the language of texts, of symbols but where it needs a constant order."""
    function, symbols = FUNCTIONS[name], sd.symbols("a b c d e f")
    operands = list(symbols[: max(function.least, 1)])
    orders = set(range(getattr(FACTS.get(name), "orders", 0)))
    for places in (orders, {0}, {1}):
        given = [sd.constant(2) if k in places else s for k, s in enumerate(operands)]
        try:
            return function.build(*given)
        except ValueError:
            continue
    raise AssertionError(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_of_texts(name):
    expr = called(name)
    shown(expr)
    for x in expr.free_symbols:
        try:
            shown(sd.diff(expr, x))
            shown(sd.diff(expr, x, 2))
        except sd.NotDifferentiable:
            continue


# Random expressions -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_random_arrays_and_their_gradients(family):
    @sample(15)
    @given(programs(("pointwise", family), steps=6, largest=30))
    def run(program):
        xs = inputs_of(program)
        f = sd.constant(0) + program.ours(xs)
        for expr in (f, *sd.vjp(f, xs, sd.symbol("u", f.shape))):
            shown(expr)

    run()


@sample(15)
@given(programs(steps=4))
def test_random_hessians(program):
    xs = inputs_of(program)
    f = sd.sum(sd.constant(0) + program.ours(xs))
    for x in xs:
        shown(sd.hessian(f, x))


# Size ---------------------------------------------------------------------------------------------

q = sd.symbol("q_size", 2)
A, v = sd.symbol("A_size", (3, 3)), sd.symbol("v_size", 3)
x = sd.symbol("x_size")

GROWING = {
    "shared scalars": (lambda e: e * sd.sin(e), x),
    "shared elements": (lambda e: sd.stack([e[0] + e[1], sd.sin(e[0] * e[1])]), q),
    "shared vectors": (lambda e: e * sd.sum(e) + sd.sin(e), v),
    "shared matrices": (lambda e: e @ e + sd.inv(e), A),
    "shared parts": (lambda e: sd.concat([e[1:] * e[:2], e[:1]]), v),
    "choices": (lambda e: sd.where(e > 0, e * 2, e - 1), x),
    "choices of arrays": (lambda e: sd.where(e > 0, e * 2, e - 1), v),
    "sums of squares": (lambda e: e + v * (e @ e), v),
    "long products": (lambda e: A @ e, v),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", GROWING)
def test_what_is_written_grows_with_the_nodes_alone(kind):
    """A step that uses the last value twice would double a formula that names no parts."""
    step, expr = GROWING[kind]
    for k in range(60):
        expr = step(expr)
        if k == 12:  # by now, without names, it is a hundred times as long as it may be
            shown(expr)
    text, *_ = shown(expr)
    assert max(map(len, text.split("\n"))) < 1500
    assert len(sd.latex(expr)) < 25_000


@sample(10)
@given(st.sampled_from(sorted(GROWING)), st.integers(2, 12))
def test_derivatives_of_what_shares(kind, steps):
    step, start = GROWING[kind]
    expr = start
    for _ in range(steps):
        expr = step(expr)
    shown(sd.grad(sd.sum(expr), start))


def test_names_of_parts_are_not_the_users():
    t1, t2 = sd.symbols("t1 t2")
    expr = t1
    for _ in range(30):
        expr = expr * sd.sin(expr + t2)
    defined = re.findall(r"^(\w+)(?:\[[a-z,]*\])? = ", sd.text(expr), re.MULTILINE)
    assert defined
    assert not {"t1", "t2"} & set(defined)
