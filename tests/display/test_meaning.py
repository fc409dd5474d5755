"""A text in NumPy's or in index notation has the value of its expression, and LaTeX has it, too.

NumPy says so.  What is read back from the text has that value as well, or is refused.
"""

from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given

import symdiff as sd
from tests.display import written, written_latex, written_programs
from tests.display.named_programs import LENGTHS as NAMED
from tests.display.named_programs import built
from tests.display.named_programs import programs as named_programs
from tests.display.points import LENGTHS, evaluated, point
from tests.display.written import Unknown
from tests.numeric.test_named_lengths import FORMULAS, A, V
from tests.support.budget import sample
from tests.support.oracles import inputs_of
from tests.support.strategies import FAMILIES, programs

# Values in two orders of evaluation, of programs that may cancel some digits.
ROUNDING = 1e-8
NOT_READ = "!= "  # a product over all others is not a loop here
LARGEST = 250  # nodes of what is written in full


def read(kind, expr, values, shape, masks):
    """The value of the text or the LaTeX of an expression; None where it is not read here."""
    written_as = sd.text(expr, full=True) if kind == "text" else sd.latex(expr, full=True)
    # Data that are not written out.
    if "array(shape=" in written_as or NOT_READ in written_as:
        return None, written_as
    reader = written if kind == "text" else written_latex
    if r"\text{where}" in written_as:
        return None, written_as
    if "\nwhere " in written_as:
        reader = written_programs
    try:
        with np.errstate(all="ignore"):
            result = np.asarray(reader.value(written_as, values, shape), float)
    except Unknown:
        return None, written_as
    except IndexError:  # an element beside an array, times 0, or of a case that is not taken
        if not masks:
            raise
        return None, written_as
    return result, written_as


def means(expr, lengths=LENGTHS, masks=False):
    """NumPy finds the value of ``expr`` in its text and LaTeX, where it is finite.

    With ``masks``, only where both are.  Returns which of them were read.
    """
    values = point(expr, 1, True, lengths)
    try:
        ours = np.asarray(evaluated(expr, values, lengths), float)
    except (sd.ShapeError, IndexError, np.linalg.LinAlgError):  # too short an axis, or singular
        return None
    # NumPy refuses the maximum of nothing.
    if not (all(np.size(x) for x in values.values()) and np.all(np.isfinite(ours))):
        return None
    scale = max(1.0, float(np.max(np.abs(ours), initial=0)))
    kinds = []
    for kind in ("text", "LaTeX"):
        theirs, written_as = read(kind, expr, values, ours.shape, masks)
        if theirs is None:
            continue
        kinds.append(kind)
        theirs = np.broadcast_to(theirs, ours.shape)
        # On paper, a condition that is 0 makes 0 of what is infinite.
        both = np.isfinite(theirs) if masks else np.ones(ours.shape, bool)
        same = np.allclose(theirs[both], ours[both], ROUNDING, ROUNDING * scale)
        assert same, f"{kind}: {written_as}"
    return kinds


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_texts_of_random_arrays_and_their_gradients(family):
    @sample(20)
    @given(programs(("pointwise", family), steps=4))
    def run(program):
        xs = inputs_of(program)
        f = sd.constant(0) + program.ours(xs)
        means(f)
        for expr in sd.vjp(f, xs, sd.symbol("u", f.shape)):
            means(expr)

    run()


ALONG = {
    "max": sd.max,
    "min": sd.min,
    "prod": sd.prod,
    "sum": sd.sum,
    "mean": sd.mean,
    "logsumexp": sd.logsumexp,
    "softmax": sd.softmax,
    "cumsum": sd.cumsum,
    "cumprod": sd.cumprod,
    "logcumsumexp": sd.logcumsumexp,
    "sort": sd.sort,
    "flip": sd.flip,
}
ROWS = sd.symbol("X_axis", (2, 3))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", ALONG)
def test_the_axis_is_said(name, axis):
    """NumPy takes all axes where none is named, so a text names it; of a product with it, too."""
    means(ALONG[name](ROWS, axis=axis))
    means(sd.sin(ROWS) * sd.exp(ALONG[name](ROWS * ROWS, axis=axis)).sum())


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMULAS)
def test_texts_over_axes_of_any_length(name):
    """In index notation too, of values, gradients, Jacobians and elements, at two lengths."""
    least, f = FORMULAS[name]
    y = f(V, A)
    gradients = sd.grad(sd.sum(sd.sin(y)), [V, A])
    elements = [gradients[0][-1], gradients[0][0], gradients[1][-1, 0]]
    for expr in (y, *gradients, sd.jacobian(y, V), *elements):
        for lengths in ({"n": max(least, 2) + 1, "m": 2}, {"n": 6, "m": 3}):
            kinds, text = means(expr, lengths, masks=not expr.shape), sd.text(expr, full=True)
            assert kinds is None or "text" in kinds or NOT_READ in text or not expr.shape, text


@pytest.mark.slow
def test_latex_of_most_formulas_is_read():
    """What is not read here are blocks of unknown width, and places in lists of lists."""
    count = Counter()
    for least, f in FORMULAS.values():
        count.update(means(f(V, A), {"n": max(least, 2) + 1, "m": 2}) or ())
    assert count["text"] > 80
    assert count["LaTeX"] > 0.85 * count["text"]


# Axes with names, powers of powers, loops, solutions ----------------------------------------------


@pytest.mark.slow
@sample(8)
@given(named_programs)
def test_random_programs_over_named_axes(program):
    """Of values, gradients and their elements from both ends."""
    try:
        expressions = built(program)
    except (sd.ShapeError, IndexError):  # an axis is too short
        assume(False)
    for expr in expressions:
        if sd.count_nodes(expr) <= LARGEST:
            for lengths in NAMED:
                means(expr, lengths, masks=True)
            reads_back(expr)


def reads_back(expr):
    """What ``parse`` gives has the same shape and value; else it is refused."""
    text = sd.text(expr)
    try:
        again = sd.parse(text, sd.free_symbols(expr))
    except sd.ParseError:
        return
    assert again.shape == expr.shape, text
    for lengths in NAMED:
        values = point(expr, 1, True, lengths)
        try:
            ours, theirs = (np.asarray(evaluated(f, values, lengths)) for f in (expr, again))
        except (sd.ShapeError, IndexError):  # an axis is too short, perhaps where none is taken
            continue
        if np.all(np.isfinite(ours)):
            np.testing.assert_allclose(theirs, ours, 1e-7, 1e-7, err_msg=text)


def test_systems_of_listed_matrices_are_read():
    """What is written out has no attributes of arrays, and what is singular has no solution."""
    matrix, vector = sd.constant([[3, 1], [1, 3]]), sd.constant([1, 2])
    for right in (matrix, vector):
        assert means(sd.solve(matrix, right)) == ["text", "LaTeX"]
    assert means(sd.inv(sd.constant(np.ones((2, 2))))) is None


def test_powers_of_logarithms_of_determinants_have_brackets():
    x = sd.log(sd.abs(sd.det(sd.symbol("A", (2, 2)))))
    for expr in (x**2, 1 / x, x**2 * sd.sin(x), sd.sqrt(x**2 + 1), sd.power(x, x)):
        assert means(expr) == ["text", "LaTeX"]


def test_extremes_along_the_last_of_three_axes_are_read():
    x = sd.symbol("x", (2, 3, 2))
    for extreme in (sd.max, sd.min):
        assert means(extreme(x, axis=2)) == ["text", "LaTeX"]


@pytest.mark.parametrize("axis", [0, 1])
def test_a_product_of_rows_or_columns_alone_has_its_axes(axis):
    """Though one is of a vector, the other of a matrix: NumPy's product of them has one axis."""
    x, matrix = sd.symbol("x", 1), sd.symbol("M", (1, 1))
    for vector in (matrix[0], matrix[:, 0]):
        product = sd.expand_dims(x, axis) * sd.expand_dims(vector, axis)
        for expr in (product, product[0], product[:, 0]):
            assert means(expr) == ["text", "LaTeX"]
