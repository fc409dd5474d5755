"""Derivatives by separate symbols: tuples in every respect, shown as columns and matrices."""

import copy
import pickle
import re
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from symdiff.calculus.nested_results import Columns, Rows
from symdiff.display import notebooks
from symdiff.display.notebooks import bundle
from symdiff.display.printing import _CHARACTERS
from tests.display import written_latex
from tests.display.book_formulas import FORMULAS
from tests.display.latex_checker import check
from tests.display.points import evaluated, point
from tests.display.rows import names_of

ROUNDING = 1e-11
x, y, z = sd.symbols("x y z")
v, w, A = sd.symbol("v", 3), sd.symbol("w", "n"), sd.symbol("A", (2, 2))
f = x**2 * y
polar = [x * sd.cos(y), x * sd.sin(y)]

# By name: derivatives, the class of the tuple, its entries as plain tuples, and the text.
SHORT = {
    "gradient": (sd.grad(f, [x, y]), Rows, (2 * x * y, x**2), "[ 2*x*y ]\n[ x**2  ]"),
    "one symbol": (sd.grad(f, [x]), Rows, (2 * x * y,), "[ 2*x*y ]"),
    "hessian": (
        sd.hessian(f, [x, y]),
        Rows,
        ((2 * y, 2 * x), (2 * x, sd.constant(0))),
        "[ 2*y   2*x ]\n[ 2*x   0   ]",
    ),
    "hessian of one symbol": (sd.hessian(f, [x]), Rows, ((2 * y,),), "[ 2*y ]"),
    "outputs and inputs": (
        sd.jacobian([x * y, y], [x, y]),
        Rows,
        ((y, x), (sd.constant(0), sd.constant(1))),
        "[ y   x ]\n[ 0   1 ]",
    ),
    "more outputs": (
        sd.jacobian([x * y, y, x], [x, y]),
        Rows,
        ((y, x), (sd.constant(0), sd.constant(1)), (sd.constant(1), sd.constant(0))),
        "[ y   x ]\n[ 0   1 ]\n[ 1   0 ]",
    ),
    "outputs by one input": (
        sd.jacobian([x * y, f], x),
        Rows,
        (y, 2 * x * y),
        "[ y     ]\n[ 2*x*y ]",
    ),
    "one output": (sd.jacobian(f, [x, y]), Columns, (2 * x * y, x**2), "[ 2*x*y   x**2 ]"),
    "a vector": (
        sd.jacobian(sd.stack(polar), [x, y]),
        Columns,
        tuple(sd.jacobian(sd.stack(polar), [x, y])),
        "[ cos(y)   -x*sin(y) ]\n[ sin(y)   x*cos(y)  ]",
    ),
}
MATRICES = pytest.mark.parametrize(
    ("matrix", "plain"), [pytest.param(m, p, id=name) for name, (m, _, p, _) in SHORT.items()]
)

# Tuples as before: arrays among the entries, or nested deeper.
PLAIN = {
    "a vector among the inputs": sd.grad(x * sd.sum(v), [x, v]),
    "a scalar by vectors": sd.jacobian(sd.sum(v) * sd.sum(w), [v, w]),
    "a matrix by scalars": sd.jacobian(x * y * A, [x, y]),
    "outputs by a vector": sd.jacobian([sd.sum(v), v @ v], v),
    "a hessian of vectors": sd.hessian(sd.sum(v) * x, [x, v]),
    "hessians of a vector": sd.hessian(x * y * v, [x, y]),
    "hessians by one symbol": sd.hessian([f, f * y], x),
    "outputs of other shapes": sd.jacobian([f, x * v], [x, y]),
    "hessians": sd.hessian([f, x * y], [x, y]),
}


def same(one, other):
    """Whether tuples have the same entries; expressions are compared as objects."""
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return one is other


def lines_of(text):
    """The rows of a matrix as texts, and the definitions below it by name."""
    lines = text.split("\n")
    rows = [line for line in lines if line.startswith("[ ")]
    assert lines[: len(rows)] == rows
    return rows, dict(line.split(" = ", 1) for line in lines[len(rows) :])


def cells_of(rows):
    """The cells, after a check that columns are aligned."""
    assert len({*map(len, rows)}) == 1
    assert all(row.startswith("[ ") and row.endswith(" ]") for row in rows)
    cells = [re.split(" {3,}", row[2:-2].rstrip()) for row in rows]
    starts = [[m.end() for m in re.finditer("^| {3,}(?=[^ ])", row[2:-2])] for row in rows]
    assert len({*map(tuple, starts)}) == 1
    return cells


def in_order(definitions, uses):
    """The names, each after those that its definition uses."""
    order = []
    while len(order) < len(definitions):
        ready = [
            name
            for name, body in definitions.items()
            if name not in order and not (uses(body) & definitions.keys()) - {*order}
        ]
        assert ready, "definitions in a circle"
        order += ready
    return order


def read_text(text, expr):
    """The expressions that the text of a matrix shows."""
    rows, definitions = lines_of(text)
    names = names_of(expr)
    assert not definitions.keys() & names.keys()
    for name in in_order(definitions, lambda body: {*re.findall(r"\w+", body)}):
        names[name] = sd.parse(definitions[name], names)
    return [[sd.parse(cell, names) for cell in row] for row in cells_of(rows)]


def value_of_latex(latex, values, shape):
    """The value of a matrix with its definitions, which stand below it."""
    opened, closed = "\\begin{aligned}\n", "\n\\end{aligned}"
    if not latex.startswith(opened):
        return written_latex.value(latex, values, shape)
    matrix, *lines = latex.removeprefix(opened).removesuffix(closed).split(" \\\\\n")
    definitions, name = {}, ""
    for line in lines:
        if line.startswith(r"&\quad "):  # the line before goes on
            definitions[name] += " " + line.removeprefix(r"&\quad ")
        else:
            name, body = line.split(" &= ", 1)
            definitions[name] = body
    order = in_order(definitions, lambda body: {n for n in definitions if n in body})
    ordered = [f"{name} &= {definitions[name]}" for name in order]
    return written_latex.value(opened + " \\\\\n".join([*ordered, matrix]) + closed, values, shape)


def square(matrix):
    """The entries of rows or of a column as lists of rows."""
    return [list(row) if isinstance(row, tuple) else [row] for row in matrix]


def assert_shows_its_entries(matrix, seeds=20):
    """Text and LaTeX have the values of the entries at two points."""
    rows = square(matrix)
    shape = (len(rows), len(rows[0])) if len(rows[0]) > 1 else (len(rows),)
    whole = sd.stack([sd.stack(row) for row in rows])
    text, latex = sd.text(matrix, full=True), sd.latex(matrix)
    check(latex)
    assert latex.count(r"\begin{bmatrix}") == 1
    shown = sd.stack([sd.stack(row) for row in read_text(text, whole)])
    compared = 0
    for seed in range(seeds):
        values = point(whole, seed, signed=False)
        ours = evaluated(whole, values)
        if compared < 2 and np.all(np.isfinite(ours)):
            compared += 1
            assert np.allclose(evaluated(shown, values), ours, rtol=ROUNDING, atol=ROUNDING)
            theirs = value_of_latex(latex, values, shape)
            assert np.allclose(theirs, ours.reshape(shape), rtol=ROUNDING, atol=ROUNDING)
    assert compared


# Tuples -------------------------------------------------------------------------------------------


@MATRICES
def test_they_are_tuples(matrix, plain):
    assert isinstance(matrix, tuple)
    assert matrix == plain
    assert same(matrix, plain)
    assert plain == matrix
    assert hash(matrix) == hash(plain)
    assert {matrix: 1}[plain] == 1
    assert repr(matrix) == str(matrix) == f"{matrix}" == repr(plain)
    first, *others = matrix
    assert same((first, *others), plain)
    assert same((matrix[0], matrix[-1]), (plain[0], plain[-1]))
    assert len(matrix) == len(plain)
    assert plain[0] in matrix
    for result in (matrix[:], matrix[1:], matrix + matrix, matrix + plain, 2 * matrix):
        assert type(result) is tuple
    match matrix:
        case (a, *_):
            assert same((a,), plain[:1])


@pytest.mark.parametrize("name", SHORT)
def test_their_class_says_how_the_entries_lie(name):
    matrix, kind, _, text = SHORT[name]
    assert type(matrix) is kind
    assert all(type(row) is tuple for row in matrix if isinstance(row, tuple))
    assert sd.text(matrix) == text


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@MATRICES
def test_pickles_and_copies_are_the_same_matrix(matrix, plain, protocol):
    for other in (
        pickle.loads(pickle.dumps(matrix, protocol)),
        copy.copy(matrix),
        copy.deepcopy(matrix),
    ):
        assert type(other) is type(matrix)
        assert repr(other) == repr(plain)
        assert same(other, plain)
    with pytest.raises(AttributeError):
        matrix.shape = (2, 2)


@pytest.mark.parametrize("name", PLAIN)
def test_other_derivatives_are_plain_tuples(name):
    value = PLAIN[name]
    assert type(value) is tuple
    if name == "hessians":
        assert sd.text(value) == "([ 2*y   2*x ]\n [ 2*x   0   ],\n [ 0   1 ]\n [ 1   0 ])"
        assert sd.latex(value).count(r"\begin{bmatrix}") == 2
    else:
        assert sd.text(value).startswith("(")
        assert sd.latex(value).startswith((r"\left(", "\\begin{aligned}\n& \\bigl( "))
    check(sd.latex(value))


def test_without_a_symbol_there_is_an_error_and_an_empty_matrix_is_an_empty_tuple():
    for function in (sd.grad, sd.jacobian, sd.hessian):
        with pytest.raises(ValueError, match="inputs is empty"):
            function(f, [])
    for empty in (Rows(), Columns(), Rows([()])):
        assert sd.text(empty) == sd.text(tuple(empty))
        assert sd.latex(empty) == sd.latex(tuple(empty))


def test_values_of_matrices_are_those_of_tuples():
    gradient, hessian = sd.grad(f, [x, y]), sd.hessian(f, [x, y])
    values = nm.lower(gradient, [x, y])(3.0, 2.0)
    assert (type(values), values) == (tuple, (12.0, 9.0))
    assert sd.evalf(hessian, 5, {x: 3, y: 2}) == ((4, 6), (6, 0))
    assert repr(sd.evalf(hessian, 5, {x: 3, y: 2})) == "((4.0, 6.0), (6.0, 0.0))"
    assert sd.substitute(gradient, {x: z}) == (2 * z * y, z**2)
    assert sd.substitute(gradient, {x: sd.symbol("q", 2)[0]})[1] is sd.symbol("q", 2)[0] ** 2
    assert type(sd.batch(gradient, {x: v})) is tuple
    stacked = sd.stack([sd.stack(row) for row in hessian])
    assert np.array_equal(nm.lower(stacked, [x, y])(3.0, 2.0), [[4, 6], [6, 0]])
    assert sd.grad(gradient, [y])[0] is 2 * x + 0 * y


def test_other_forms_of_a_matrix_are_shown_as_one():
    identity = sd.hessian((sd.sin(x) ** 2 + sd.cos(x) ** 2) * y**2, [x, y])
    assert sd.text(sd.simplify(identity)) == "[ 0   0 ]\n[ 0   2 ]"
    assert sd.text(sd.substitute(sd.grad(f, [x, y]), {x: 3})) == "[ 6*y ]\n[ 9   ]"


def test_a_loop_takes_a_gradient_for_the_tuple_that_it_carries():
    def step(_, carry):
        a, b = carry
        here = sd.grad(sd.sin(x) * y, [x, y])
        return sd.substitute(here, {x: a, y: b})

    ended = sd.fori_loop(0, 2, step, (x, y))
    assert type(ended) is tuple
    a, b = nm.lower(ended, [x, y])(0.5, 2.0)
    c, d = 2 * np.cos(0.5), np.sin(0.5)
    assert np.allclose((a, b), (d * np.cos(c), np.sin(c)), rtol=1e-14)
    started = sd.fori_loop(0, 2, step, sd.grad(x**2 * y, [x, y]))
    assert type(started) is tuple
    _, rows = sd.scan(lambda c, s: (c, sd.jacobian(c * s, [c, s])), x, v)
    assert type(rows) is tuple
    assert [row.shape for row in rows] == [(3,), (3,)]


def test_unknowns_may_start_at_a_gradient():
    def shifted(t):
        return sd.substitute(sd.grad((x - 1) ** 2 + (y - 2) ** 2, [x, y]), {x: t[0], y: t[1]})

    p, q = sd.root(shifted, sd.grad(x * y, [x, y]))
    assert np.allclose(nm.lower(sd.stack([p, q]), [x, y])(5.0, 7.0), [1, 2])


# What is shown ------------------------------------------------------------------------------------


def test_latex_is_a_column_or_a_matrix():
    assert sd.latex(sd.grad(f, [x, y])) == r"\begin{bmatrix} 2 x y \\ x^{2} \end{bmatrix}"
    assert sd.latex(sd.jacobian(f, [x, y])) == r"\begin{bmatrix} 2 x y & x^{2} \end{bmatrix}"
    hessian = r"\begin{bmatrix} 2 y & 2 x \\ 2 x & 0 \end{bmatrix}"
    assert sd.latex(sd.hessian(f, [x, y])) == hessian
    assert bundle(sd.hessian(f, [x, y])) == {"text/latex": rf"$\displaystyle {hessian}$"}
    inside = bundle({"H": sd.hessian(f, [x, y])})["text/latex"]
    assert hessian in inside


def test_notebooks_and_terminals():
    formatters = pytest.importorskip("IPython.core.formatters")
    formatter = formatters.DisplayFormatter()
    formatter.active_types = formatter.format_types
    notebooks.register(SimpleNamespace(display_formatter=formatter))
    for matrix, _, plain, _ in SHORT.values():
        data, _ = formatter.format(matrix)
        assert data == {"text/latex": bundle(matrix)["text/latex"], "text/plain": repr(plain)}
    numbers, _ = formatter.format(sd.evalf(sd.grad(f, [x, y]), 5, {x: 3, y: 2}))
    assert numbers == {"text/plain": "(12.0, 9.0)"}


LONG = {
    "gauss": (sd.exp(-(x**2) - y**2), [x, y]),
    "wave": (sd.exp(-(x**2) - y**2) * sd.sin(x * y), [x, y]),
    "distance": (1 / sd.sqrt(x**2 + y**2 + z**2), [x, y, z]),
    "long": (sd.log(1 + x**2 * y) * sd.exp(x - y) * sd.sin(x * y) / (1 + sd.cosh(x)), [x, y]),
    "longer": (sd.exp(sd.sin(x * y * z) ** 3) ** 2 * sd.log(x + y * sd.cosh(x)), [x, y, z]),
    "a case": (sd.where(x < y, sd.sin(x) * y**3, sd.exp(x * y)), [x, y]),
}


@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("by", [sd.grad, sd.hessian], ids=["grad", "hessian"])
def test_text_and_latex_have_the_values_of_the_entries(name, by):
    assert_shows_its_entries(by(*LONG[name]))


def test_entries_with_arrays_inside():
    matrix = sd.hessian(sd.sum(sd.sin(A @ A * x) * sd.exp(A * y)), [x, y])
    for function in (sd.text, sd.latex):
        shown = function(matrix)
        assert len(shown) < 2000
        assert "A" in shown
    check(sd.latex(matrix))
    assert sd.latex(matrix).count(r"\begin{bmatrix}") == 1
    assert sd.text(sd.grad(v @ v * x + w @ w * y, [x, y])) == "[ v @ v ]\n[ w @ w ]"


@pytest.mark.parametrize(
    "formula",
    [
        pytest.param(row, id=row.name, marks=[pytest.mark.slow] * (len(row.variables) < 2))
        for row in FORMULAS
    ],
)
def test_derivatives_of_book_formulas(formula):
    expr = sd.parse(formula.text)
    # Letters that the reader of LaTeX does not take for a function or a part with a number.
    symbols = dict(zip(sd.free_symbols(expr), sd.symbols("x y z a b c f g h l"), strict=False))
    expr = sd.substitute(expr, symbols)
    assert_shows_its_entries(sd.grad(expr, list(symbols.values())))
    assert_shows_its_entries(sd.hessian(expr, list(symbols.values())[:3]))


SHOWN = r"t_\{1\}|\\mathtt\{t(?:\\_)?1\}"


def test_names_of_parts_are_those_of_no_symbol():
    t1, t_1 = sd.symbols("t1 t_1")
    matrix = sd.hessian(sd.exp(sd.sin(t1 * t_1)) * sd.log(1 + t1**2 * t_1), [t1, t_1])
    _, definitions = lines_of(sd.text(matrix))
    assert {"t1", "t_1"}.isdisjoint(definitions)
    assert {name[0] for name in definitions} == {"u"}
    latex = sd.latex(matrix)
    check(latex)
    lines = latex.split(" \\\\\n")[1:]
    left = [line.split(" &= ")[0] for line in lines if " &= " in line]
    assert len({*left}) == len(left) > 2
    assert all(name.startswith("u_") for name in left)
    assert r"\mathtt{t\_1}" in latex
    only = sd.hessian(sd.exp(sd.sin(x * t_1)) * sd.log(1 + x**2 * t_1), [x, t_1])
    assert "t1 = " in sd.text(only)
    assert (
        len({"t_{1}", r"\mathtt{t\_1}", r"\mathtt{t1}"} & {*re.findall(SHOWN, sd.latex(only))}) == 2
    )


def test_long_entries_have_names_in_the_order_of_the_matrix():
    p = sd.symbols("alpha1 alpha2 alpha3 alpha4")
    shown = [sd.sin(p[0] + p[1] + k) * sd.cosh(sum(p) + k) * p[k] for k in (1, 2, 3)]
    matrix = Rows([(shown[0], shown[1], shown[2]), (shown[1], shown[0], x)])
    rows, definitions = lines_of(sd.text(matrix))
    assert rows == ["[ t1   t2   t3 ]", "[ t2   t1   x  ]"]
    assert [*definitions] == ["t1", "t2", "t3"]
    assert_shows_its_entries(matrix)
    latex = sd.latex(matrix)
    assert latex.startswith(
        "\\begin{aligned}\n& \\begin{bmatrix} t_{1} & t_{2} & t_{3} \\\\ t_{2} & t_{1} & x"
    )


def test_a_few_repeated_parts_leave_the_entries_in_place():
    p = sd.symbols("alpha1 alpha2 alpha3 alpha4 beta")
    matrix = sd.hessian(sd.sin(sum(p[:4])) * p[4], p[2:])
    assert sd.text(matrix).split("\n") == [
        "[ -beta*sin(t1)   -beta*sin(t1)   cos(t1) ]",
        "[ -beta*sin(t1)   -beta*sin(t1)   cos(t1) ]",
        "[ cos(t1)         cos(t1)         0       ]",
        "t1 = alpha1 + alpha2 + alpha3 + alpha4",
    ]


def test_parts_of_named_entries_have_names_below_them():
    rows, definitions = lines_of(sd.text(sd.hessian(*LONG["longer"])))
    entries = dict.fromkeys(cell for row in cells_of(rows) for cell in row if cell in definitions)
    assert [*definitions][: len(entries)] == [*entries]
    assert len(definitions) > len(entries) > 1
    used = " ".join([*rows, *definitions.values()])
    assert all(re.search(rf"\b{name}\b", used) for name in definitions)


def test_a_wide_matrix_of_short_entries():
    many = sd.symbols(" ".join(f"x{k}" for k in range(12)))
    chain = sum(100 * (b - a**2) ** 2 + (1 - a) ** 2 for a, b in pairwise(many))
    rows, definitions = lines_of(sd.text(sd.hessian(chain, many)))
    assert len(rows) == 12
    assert max(map(len, rows)) <= 100
    assert len(definitions) == 22  # the matrix is symmetric
    assert_shows_its_entries(sd.hessian(chain, many))


def test_what_is_shown_is_bounded():
    many = sd.symbols(" ".join(f"x{k}" for k in range(60)))
    gradient = sd.grad(sd.exp(sum(a * b for a, b in pairwise(many))), many)
    assert " more)}" in sd.latex(gradient)
    assert sd.latex(gradient, full=True).count(r"\\ ") == 59
    assert len(lines_of(sd.text(gradient))[0]) == 60
    hessian = sd.hessian(sum(a * b for a, b in pairwise(many)), many)
    assert sd.text(hessian).startswith("((")
    assert len(lines_of(sd.text(hessian, full=True))[0]) == 60
    assert " more)}" in sd.latex(hessian)
    assert len(sd.latex(hessian)) < 3 * _CHARACTERS
    deep = x
    for _ in range(3000):
        deep = sd.sin(deep) * y
    by_both = sd.grad(deep, [x, y])
    assert sd.text(by_both).startswith("(")
    assert len(sd.text(by_both)) < 3 * _CHARACTERS
    shared = x
    for _ in range(60):  # written without names, it has 2**60 characters
        shared = sd.sin(shared) * shared + y
    for show in (sd.text, sd.latex):
        assert len(show(sd.grad(shared, [x, y]))) < 3 * _CHARACTERS


def test_jacobians_of_vectors():
    three = sd.stack([*polar, y])
    matrix = sd.jacobian(three, [x, y, z])
    assert sd.text(matrix) == (
        "[ cos(y)   -x*sin(y)   0 ]\n[ sin(y)   x*cos(y)    0 ]\n[ 0        1           0 ]"
    )
    for vector in (x * y * w, x * y * sd.symbol("v20", 20)):  # no components
        assert type(sd.jacobian(vector, [x, y])) is Columns
        assert sd.text(sd.jacobian(vector, [x, y])).startswith("(")
    assert sd.text(sd.jacobian(x * y * v[:1], [x, y])) == "[ v[0]*y   v[0]*x ]"


def test_a_matrix_of_other_entries_is_shown_as_a_tuple():
    for entries in ((x, v), ((x, y), (x,)), ((x, y), z), (x, None), ((x, (y,)),), ((x, A),)):
        for kind in (Rows, Columns):
            for show in (sd.text, sd.latex):
                assert outcome(show, kind(entries)) == outcome(show, entries)


def outcome(show, value):
    try:
        return show(value)
    except TypeError as error:
        return str(error)
