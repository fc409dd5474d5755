"""What else is done with formulas of any length: beside the formula of numbers, or of one call."""

from __future__ import annotations

import contextlib
import math
import pickle

import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from symdiff.errors import ParseError, ShapeError
from symdiff.graph import ops
from tests.numeric.test_named_lengths import FORMULAS, A, V, data
from tests.support.cases import all_cases

# An array of numbers is equal to itself alone: what has one comes back as another node.
each = all_cases("name", FORMULAS, least=131)


# What has no value there is a nan, as NumPy's mean of nothing is; others have a value (see there).
DEFINED_BELOW = {"reshape", "kron", "the length as a number", "convolve", "mean of a slice"}


def with_gradients(f, symbols):
    """A formula, and the gradients of a function of it by the symbols that it has."""
    y = f(*symbols)
    return [y, *sd.grad(sd.sum(sd.sin(y)), [x for x in symbols if x in y.free_symbols])]


def of_numbers(n, m):
    return [sd.symbol("v", n), sd.symbol("A", (n, m))]


def has_data(outputs):
    """Whether there are arrays of numbers, which are equal only to themselves; indices are not."""
    return any(isinstance(x.op, ops.Constant) and x.dtype is float for x in sd.nodes(outputs))


def agree(found, wanted, rtol=1e-13):
    for x, y in zip(found, wanted, strict=True):
        assert np.shape(x) == np.shape(y)
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol)


@pytest.mark.slow
@each
def test_pickles(name):
    outputs = [*with_gradients(FORMULAS[name][1], [V, A]), sd.jacobian(FORMULAS[name][1](V, A), V)]
    for x, y in zip(pickle.loads(pickle.dumps(outputs)), outputs, strict=True):
        assert x is y or (has_data([y]) and str(x) == str(y))
    f = nm.lower(outputs, [V, A])
    np.testing.assert_equal(pickle.loads(pickle.dumps(f))(*data(6, 2)), f(*data(6, 2)))


@pytest.mark.slow
@each
def test_texts(name):
    least, f = FORMULAS[name]
    for y in with_gradients(f, [V, A]):
        assert sd.latex(y, full=True)
        assert sd.mermaid(y)
        with contextlib.suppress(ParseError):
            again = sd.parse(sd.text(y, full=True), [V, A])
            assert again.shape == y.shape
            for n in (least + 1, 6):
                values = dict(zip((V, A), data(n, 3), strict=True))
                agree([nm.interpret(again, values)], [nm.interpret(y, values)])


@pytest.mark.parametrize(
    "text",
    [
        "reshape(A, (m*n,))", "zeros((n - 1, 2*m + 1))", "ones((n//2, (n + 1)//2))", "v[n//2:]",
        "v[:n - 3]", "v[n//2:2:-1]", "v[:2*(n//2)]", "v*(3*(n//2) - 1)", "-v**(n//2)",
        "broadcast_to(v, (m + 2, n))",
    ],
)  # fmt: skip
def test_texts_of_lengths_are_read(text):
    x = sd.parse(text, [V, A])
    assert sd.parse(sd.text(x, full=True), [V, A]) is x


K, J, HALF = sd.symbol("k", 3, dtype=int), sd.symbol("j", dtype=int), V.shape[0] // 2
SAME = {
    "A[[0, -1]]": A[[0, -1]],
    "A[:, [0, 0]]": A[:, [0, 0]],
    "A[:, 1:][[0, -2]]": A[[0, -2], 1:],
    "v[[]]": V[[]],
    "A[k]": A[K],
    "A[:, k]": A[:, K],
    "A[j]": A[J],
    "A[:, j]": A[:, J],
    "sum(A[[0, -1]], axis=0)": sd.sum(A[[0, -1]], axis=0),
    "sum(v)/(n//2)": sd.sum(V) / HALF,
    "(n//2)*sum(v)": HALF * sd.sum(V),
    "-(n//2)*sum(v)": -HALF * sd.sum(V),
    "2*(n//2)*v": 2 * HALF * V,
    "sum(v)**(n//2)": sd.sum(V) ** HALF,
    "sum(v) - n//2": sd.sum(V) - HALF,
    "v[n//2:]": V[HALF:],
}


@pytest.mark.parametrize("text", SAME)
def test_texts_are_those_that_a_person_types(text):
    assert sd.text(SAME[text]) == text
    assert sd.parse(text, [V, A, K, J]) is SAME[text]


def test_names_of_lengths_are_no_letters():
    y = sd.symbol("y", "i")
    slope = sd.grad(sd.sum(y[::-2] ** 2), y)
    assert sd.text(slope) == "[j] = sum[k < (i + 1)//2](2*y[i - 2*k - 1]*[j == i - 2*k - 1])"


def test_latex_of_lengths():
    half = r"\left\lfloor \frac{n}{2} \right\rfloor"
    assert sd.latex(sd.sum(V) * HALF) == rf"{half} \sum_{{i}} v_i"
    assert sd.latex(V[HALF:]) == rf"v_{{{half}:}}"
    assert sd.latex(V[: HALF - 1]) == rf"v_{{:{half} - 1}}"
    assert sd.latex(sd.reshape(A, -1)) == r"\operatorname{reshape}\left(A, \left(m n,\right)\right)"


def test_places_are_those_of_a_program_with_numbers_once_lengths_are_known():
    v = sd.symbol("v", 6)

    def outputs(x):
        y = x[[0, 2, -1]]
        return [y, *sd.grad(sd.sum(sd.sin(y)), [x]), sd.jacobian(y, x)]

    assert all(x is y for x, y in zip(sd.substitute(outputs(V), {V: v}), outputs(v), strict=True))


@each
def test_exact_values(name):
    outputs = with_gradients(FORMULAS[name][1], [V, A])
    values = dict(zip((V, A), data(5, 2), strict=True))
    for y in outputs:
        found = np.asarray(sd.evalf(y, 20, values), float)
        agree([found], [nm.interpret(y, values)])


@each
def test_many_at_once(name):
    f = FORMULAS[name][1]
    many = sd.symbol("V", ("b", "n"))
    outputs = [y for y in with_gradients(f, [V, A]) if V in y.free_symbols]
    if not outputs:
        return
    one = nm.lower(outputs, [V, A])
    each_of = nm.lower(sd.batch(outputs, {V: many}), [many, A])
    for n, m, count in ((5, 2, 3), (4, 1, 0), (7, 3, 1)):
        vs, a = np.random.default_rng(n).standard_normal((count, n)), data(n, m)[1]
        found = each_of(vs, a)
        for k, v in enumerate(vs):
            agree([x[k] for x in found], one(v, a))


@pytest.mark.slow
@each
def test_other_lengths_put_in(name):
    least, f = FORMULAS[name]
    outputs = with_gradients(f, [V, A])
    want = nm.lower(outputs, [V, A])(*data(6, 2))
    for shapes in (("k", ("k", "q")), ("m", ("m", "n")), ("2*k", ("2*k", "q + 1")), (6, (6, 2))):
        symbols = [sd.symbol(x.name, s) for x, s in zip((V, A), shapes, strict=True)]
        bound = sd.substitute(outputs, dict(zip((V, A), symbols, strict=True)))
        assert [y.shape for y in bound] == [y.shape for y in with_gradients(f, symbols)]
        agree(nm.lower(bound, symbols)(*data(6, 2)), want)
    if least and name not in DEFINED_BELOW:
        with pytest.raises((ShapeError, ValueError, IndexError)):
            bound_to_less(outputs[0], least - 1)


def bound_to_less(y, n):
    """The value with a length put in: indices that are computed are asked with their values."""
    symbols = of_numbers(n, 2)
    bound = sd.substitute(y, dict(zip((V, A), symbols, strict=True)))
    return nm.lower(bound, symbols)(*data(n, 2))


@pytest.mark.slow
@each
def test_third_derivatives_and_jacobians(name):
    least, f = FORMULAS[name]

    def derivatives(v, a):
        y = f(v, a)
        third = sd.sum(sd.sin(y) * 2)
        for _ in range(3):
            third = sd.sum(sd.grad(third, v) * v)
        return [sd.jacobian(y, v), third]

    named = nm.lower(derivatives(V, A), [V, A])
    for n, m in ((least + 1, 2), (6, 3)):
        known = of_numbers(n, m)
        agree(named(*data(n, m)), nm.lower(derivatives(*known), known)(*data(n, m)), 1e-11)


SCALED = {"between the ends", "between rows"}  # by one over the length


def coefficients(node):
    """How many products with coefficients the elements of a sum take."""
    return math.prod(node.shape) * sum(c not in (1, -1) for c in getattr(node.op, "coefs", ()))


@each
def test_operations_are_counted_as_those_of_numbers(name):
    f = FORMULAS[name][1]
    y = f(V, A)
    for n, m in ((5, 2), (8, 3)):
        count = sd.count_operations(y, sizes={"n": n, "m": m})
        known = sd.substitute(y, dict(zip((V, A), of_numbers(n, m), strict=True)))
        # Lengths and what is computed of them alone are numbers in the other.
        numbers = [
            node
            for node in sd.nodes(y)
            if not node.free_symbols and (node.args or isinstance(node.op, ops.Size))
        ]
        # A factor that is computed of lengths is multiplied once here, there it is a coefficient
        # of every sum that has it.
        again = sum(coefficients(node) for node in sd.nodes(known)) if name in SCALED else 0
        assert -again <= count - sd.count_operations(known) <= len(numbers)
    assert sd.count_nodes(y) < 60


@each
def test_traced_functions(name):
    f = FORMULAS[name][1]
    assert str(sd.from_function(f, V, A)) == str(f(V, A))
