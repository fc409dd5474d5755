"""What a condition takes of an array is what NumPy takes, and so are its derivatives."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import numeric as nm
import symdiff as sd
from numeric.shards import sharded
from symdiff import opaque_ops
from symdiff.errors import NotDifferentiable, ShapeError, Unsupported
from symdiff.opaque_ops import conditions
from symdiff.transforms.closing import closed
from tests.support.budget import sample
from tests.support.directional import along
from tests.support.recurrences import agree

if TYPE_CHECKING:
    from collections.abc import Callable


class Case(NamedTuple):
    """A number that is made of what conditions take: ``f(m, taken, *values)``.

    ``m`` is sd or NumPy, ``taken(x, condition)`` is x[condition].
    """

    name: str
    f: Callable[..., Any]
    at: tuple[Any, ...]

    def symbols(self, named: bool) -> list[sd.Expr]:
        shapes = [tuple("nmk"[k] for k in range(x.ndim)) if named else x.shape for x in self.at]
        return [sd.symbol(f"u{k}", shape) for k, shape in enumerate(shapes)]


CASES: list[Case] = []
V, W = np.array([1.0, -2.0, 3.0, 0.5, -0.25]), np.array([0.4, 1.5, -0.7, 2.0, 0.1])
M = np.arange(12.0).reshape(4, 3) / 8 - 0.55


def case(*at):
    def put(f):
        CASES.append(Case(f.__name__, f, at))
        return f

    return put


@case(V)
def squares(m, taken, v):
    return m.sum(taken(v, v > 0) ** 2)


@case(V, W)
def two_arrays_by_one_condition(m, taken, v, w):
    x, y = taken(v, v > w), taken(w, v > w)
    return m.sum(m.sin(x) * y**2)


@case(V)
def a_mean_and_a_deviation(m, taken, v):
    x = taken(v, v > -1)
    z = (x - m.mean(x)) / m.std(x)
    return m.sum(z**3) + x.size * m.mean(m.exp(x))


@case(V)
def all_of_it(m, taken, v):
    return m.sum(taken(v, v > -10) ** 3)


@case(V)
def nothing(m, taken, v):
    return m.sum(taken(v, v > 10) ** 3) + m.sum(v**2)


@case(V)
def taken_twice(m, taken, v):
    x = taken(v, v > 0)
    y = taken(x, x < 2)
    return m.sum(y**2) * m.sum(x) + m.prod(y)


@case(V, W)
def a_condition_by_what_another_took(m, taken, v, w):
    x = taken(v, v > 0)
    return m.sum(taken(w, w < m.mean(x)) ** 3) * m.sum(x**2)


@case(V, W)
def two_lengths(m, taken, v, w):
    x, y = taken(v, v > 0), taken(w, w > 0.2)
    return m.sum(m.tanh(x[:, None] * y)) + m.sum(x) * m.sum(y**2)


@case(V, W)
def running_sums_and_parts(m, taken, v, w):
    x = taken(v * w, w > 0)
    return m.sum(m.cumsum(x) ** 2) + x[0] * x[-1] + m.sum(x[1:] * x[:-1])


@case(M)
def rows(m, taken, x):
    return m.sum(m.sin(taken(x, x[:, 0] > -0.3)) @ x.T)


@case(M)
def elements_of_a_matrix(m, taken, x):
    return m.sum(taken(x, x > 0) ** 3 * taken(x**2, x > 0))


@case(V)
def masked_inside(m, taken, v):
    x = taken(v, v > -1)
    return m.sum(m.where(x > 0.75, x**2, m.sin(x)))


@case(M)
def a_product_of_matrices(m, taken, x):
    some, others = taken(x, x[:, 0] > -0.3), taken(x, x[:, 1] < 0.3)
    return m.sum(m.sin(some.T @ some) @ others.T)


EACH = pytest.mark.parametrize("of", CASES, ids=lambda of: of.name)
NAMED = pytest.mark.parametrize("named", [False, True], ids=["numbers", "names"])


def indexed(x, condition):
    return x[condition]


def both(of, named):
    """The formula by conditions, and by the masks that NumPy has there; symbols, and the value."""
    masks = []

    def recorded(x, condition):
        masks.append(condition)
        return x[condition]

    value = of.f(np, recorded, *of.at)
    given = iter(masks)
    xs = of.symbols(named)
    ys = [sd.symbol(x.name, np.shape(at)) for x, at in zip(xs, of.at, strict=True)]
    known = of.f(sd, lambda x, _: x[next(given)], *ys)
    return of.f(sd, indexed, *xs), xs, known, ys, value


@EACH
@NAMED
def test_values_are_numpys(of, named):
    f, xs, _, _, value = both(of, named)
    found = nm.interpret(f, dict(zip(xs, of.at, strict=True)))
    np.testing.assert_allclose(found, value, rtol=1e-14)
    for options in ({}, {"backend": "native"}):
        np.testing.assert_allclose(nm.lower(f, xs, **options)(*of.at), value, rtol=1e-14)


@pytest.mark.slow
@EACH
@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivatives_are_those_for_masks_that_are_known(of, order):
    """Of the formula as it is written, and of that in which no length is open."""
    f, xs, known, _, _ = both(of, False)
    vs = [sd.constant(np.cos(np.arange(x.size)).reshape(x.shape)) for x in xs]
    wanted = along(known, xs, vs, order)
    agree(along(f, xs, vs, order), wanted, xs, of.at, 1e-11)
    agree(along(closed([f])[0], xs, vs, order), wanted, xs, of.at, 1e-11)


@EACH
@NAMED
@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_jacobians_and_hessians(of, named, mode):
    f, xs, known, ys, _ = both(of, named)
    for x, y in zip(xs, ys, strict=True):
        found = sd.jacobian(sd.grad(f, x), x, mode=mode)
        wanted = sd.jacobian(sd.grad(known, y), y, mode="reverse")
        expected = nm.interpret(wanted, dict(zip(ys, of.at, strict=True)))
        env = dict(zip(xs, of.at, strict=True))
        np.testing.assert_allclose(nm.interpret(found, env), expected, rtol=1e-11, atol=1e-12)
        lowered = nm.lower(found, xs)(*of.at)
        np.testing.assert_allclose(lowered, expected, rtol=1e-11, atol=1e-12)


@EACH
@NAMED
def test_the_number_of_places_goes_to_the_backward_pass(of, named):
    """At one point after the other, of other numbers of places."""
    f, xs, known, ys, value = both(of, named)
    F = nm.lower(f, xs)
    gradient = nm.lower(known, ys).grad(*of.at)
    expected = gradient if len(xs) > 1 else (gradient,)
    for _ in range(2):
        found, pullback = F.vjp(*of.at)
        np.testing.assert_allclose(found, value, rtol=1e-14)
        value_too, slopes = F.value_and_grad(*of.at)
        np.testing.assert_allclose(value_too, value, rtol=1e-14)
        for g, h, wanted in zip(pullback(1.0), slopes, expected, strict=True):
            np.testing.assert_allclose(g, wanted, rtol=1e-12, atol=1e-14)
            np.testing.assert_allclose(h, wanted, rtol=1e-12, atol=1e-14)
        F.vjp(*[x + 1 for x in of.at])[1](1.0)


# No factor is 0: of what is 0 everywhere no condition is left, and its length is not known.
# Behind each step stands a bound of the factor by which it enlarges errors of its operand.
STEPS = (
    (lambda m, x, t: m.sin(x) + t, lambda x, t: 1),
    (lambda m, x, t: m.cumsum(x), lambda x, t: x.size),
    (lambda m, x, t: x * m.sum(x), lambda x, t: 2 * np.abs(x).sum() + x.size * largest(x)),
    (lambda m, x, t: x[x > t], lambda x, t: 1),
    (lambda m, x, t: x[x < t + 1], lambda x, t: 1),
    (lambda m, x, t: x[::-1] * (t + 1), lambda x, t: abs(t) + 1),
    (lambda m, x, t: m.where(x > t, x, x**2), lambda x, t: 1 + 2 * largest(x)),
    (lambda m, x, t: m.concatenate([x, t * x]), lambda x, t: 1 + abs(t)),
    (lambda m, x, t: x[(x < t) | (x > 1)], lambda x, t: 1),
    (lambda m, x, t: m.sort(x), lambda x, t: 1),
    (lambda m, x, t: x - x.size, lambda x, t: 1),
)


def largest(x):
    return float(np.abs(x).max(initial=0))


def error_of(parts, x):
    """A bound of the rounding errors of the steps in NumPy."""
    error = 0.0
    for (step, slope), t in parts:
        error *= slope(x, 0.37 * t)
        x = step(np, x, 0.37 * t)
        error += (2 + x.size) * np.finfo(float).eps * largest(x)
    return error


class Ours:
    """NumPy's names of functions."""

    concatenate = staticmethod(sd.concat)

    def __getattr__(self, name):
        return getattr(sd, name)


@given(
    st.lists(st.tuples(st.sampled_from(STEPS), st.integers(-2, 2)), min_size=1, max_size=5),
    st.lists(st.integers(-12, 12), max_size=6),
)
@settings(sample(60), deadline=None)
def test_random_programs(parts, places):
    """Values are NumPy's, of arrays, too; gradients, those of steps of a few thousandths."""
    at = np.array([place / 4 + 0.01 * k for k, place in enumerate(places)])

    def run(m, x):
        for (step, _), t in parts:
            x = step(m, x, 0.37 * t)
        return x

    assume(error_of(parts, at) < 1e-12)  # else rounding alone may change what is compared
    v = sd.symbol("v", "n")
    f = run(Ours(), v)
    wanted = run(np, at)
    loss = sd.sum(f * sd.cos(f))
    outputs = [f, loss, sd.grad(loss, v), sd.jvp(loss, v, sd.ones(v.shape))]
    interpreted = nm.interpret(outputs, {v: at})
    lowered = nm.lower(outputs, v)(at)
    np.testing.assert_allclose(interpreted[0], wanted, rtol=1e-12, atol=1e-13)
    for one, other in zip(lowered, interpreted, strict=True):
        assert one.shape == other.shape
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(interpreted[3], interpreted[2].sum(), rtol=1e-8, atol=1e-9)


def test_a_length_that_only_an_inner_body_needs_is_passed_on():
    """Choices of choices: the axis of v occurs in the innermost expression alone."""
    v = sd.symbol("v", "n")
    x = v
    for _ in range(3):
        x = x[x > 0]
    x = x * sd.sum(x)
    f = x[x > 0]
    loss = sd.sum(f * sd.cos(f))
    outputs = [f, loss, sd.grad(loss, v), sd.jvp(loss, v, sd.ones(v.shape))]
    for at in (np.array([]), np.array([0.5, -1.0, 0.25])):
        found = nm.lower(outputs, v)(at)
        for one, other in zip(found, nm.interpret(outputs, {v: at}), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-14)
        chosen = at[at > 0] * at[at > 0].sum()
        np.testing.assert_allclose(found[0], chosen, rtol=1e-14)


def test_a_random_gradient_is_that_of_differences():
    """Along a line on which no condition changes, to 25 digits."""
    v = sd.symbol("v", 5)
    x = v[v > 0]
    f = sd.sum(sd.sin(x) * sd.cumsum(x) ** 2) / sd.mean(sd.exp(x))
    t = sd.symbol("t")
    line = sd.substitute(f, {v: sd.constant(V) + t * sd.constant(W)})
    slope = sd.grad(f, v) @ sd.constant(W)
    found = sd.evalf(slope, 40, {v: V})
    h = sd.evalf(t, 50, {t: "1e-15"})
    steps = [sd.evalf(line, 60, {t: k * h}) for k in (-1, 1)]
    assert abs((steps[1] - steps[0]) / (2 * h) - found) < 1e-25


v, w = sd.symbol("v", "n"), sd.symbol("w", "n")
x = v[v > 0]
AT = {v: V, w: W}


def test_outputs_have_as_many_elements_as_there_are():
    outputs = [x, x > 1, x.size, sd.jacobian(x**2, v), x[:, None] * v, *sd.nonzero(v), x[1:]]
    outputs += [sd.jacobian(x, v), sd.sum(sd.where(x > 1, 1.0, 0.0))]  # numbers alone are real
    F = nm.lower(outputs, v)
    for at in (V, np.array([2.0]), np.ones(3), np.array([-1.0, 2, -3, 4])):
        y = at[at > 0]
        wanted = [y, y > 1, y.size, 2 * np.diag(at)[at > 0], y[:, None] * at, *at.nonzero(), y[1:]]
        wanted += [np.eye(len(at))[at > 0], np.where(y > 1, 1.0, 0.0).sum()]
        for found in (F(at), nm.interpret(outputs, {v: at})):
            for mine, numpys in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(mine, numpys)
                assert mine.dtype == np.asarray(numpys).dtype
    found = F(V)[0]
    assert found.base is None
    assert nm.lower([x, sd.sum(x)], v)(V.astype(np.float32))[0].dtype == np.float32
    again = pickle.loads(pickle.dumps(F))
    np.testing.assert_array_equal(again(V)[0], V[V > 0])
    np.testing.assert_array_equal(sd.evalf(x, 5, AT).astype(float), V[V > 0])


@pytest.mark.parametrize("shape", [(3,), (3, 4), (2, 1, 3), (0, 2), ("a",), ("a", "b")])
def test_places_are_numpys(shape):
    lengths = {"a": 4, "b": 3}
    at = np.random.default_rng(2).integers(-1, 2, [lengths.get(n, n) for n in shape]) * 1.5
    a = sd.symbol("array", shape)
    for f, values in ((a, at), (a > 0, at > 0)):
        wanted = values.nonzero()
        for found in (nm.interpret(sd.nonzero(f), {a: at}), nm.lower(sd.nonzero(f), a)(at)):
            for mine, numpys in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(mine, numpys)
    assert np.nonzero(a) == sd.nonzero(a)
    np.testing.assert_array_equal(nm.interpret(np.flatnonzero(a), {a: at}), np.flatnonzero(at))
    np.testing.assert_array_equal(nm.lower(a[a > 0], a)(at), at[at > 0])


def test_a_condition_has_one_length_and_others_have_others():
    assert v[v > 0].shape == w[v > 0].shape
    assert (x * w[v > 0]).shape == x.shape
    assert v[sd.nonzero(v > 0)[0]] is x
    with pytest.raises(ShapeError, match="index all operands by one condition"):
        x * w[w > 0]
    with pytest.raises(ShapeError, match="index all operands by one condition"):
        x + v


def test_other_values_have_lengths_of_their_own():
    """Substituted, both stand in one formula."""
    f = sd.sum(x**2 * w[v > 0]) / x.size
    other = sd.substitute(f, {v: w, w: v})
    for g in (nm.interpret, lambda f, env: nm.lower(f, [v, w])(V, W)):
        wanted = (W[W > 0] ** 2 * V[W > 0]).sum() / (W > 0).sum()
        np.testing.assert_allclose(g(other, AT), wanted, rtol=1e-14)
        np.testing.assert_allclose(g(f + other, AT), g(f, AT) + wanted, rtol=1e-14)
    filled = sd.sum(sd.arange(x.shape[0]) * x)
    swapped = sd.substitute(filled, {v: w})
    wanted = (np.arange(4) * W[W > 0]).sum()
    np.testing.assert_allclose(nm.interpret(filled * 0 + swapped, AT), wanted, rtol=1e-14)
    fixed = sd.substitute(f, {v: V, w: sd.symbol("w", 5)})
    np.testing.assert_allclose(nm.lower(fixed, sd.symbol("w", 5))(W), nm.interpret(f, AT))


def test_pickles_keep_their_lengths(monkeypatch):
    f = sd.sum(x**2) / x.size
    text = pickle.dumps([f, x, w[w > 0]])
    assert pickle.loads(text)[0] is f
    # Where nothing else is alive, or other vectors have the names.
    found = []
    for names in ([], [str(x.shape[0])]):
        vectors = type(conditions._VECTORS)()
        others = [sd.where(v > k, 1, 0) for k in range(len(names))]
        vectors.update(zip(names, others, strict=True))
        with monkeypatch.context() as patch:
            patch.setattr(conditions, "_VECTORS", vectors)
            found.append(pickle.loads(text)[1])
    assert found[0] is x


def test_lengths_that_are_too_short_are_refused_when_it_runs():
    pairs = sd.sum(x[1:] * x[:-1])
    assert nm.lower(pairs, v)(np.array([2.0, -1, 3])) == 6
    for run in (lambda: nm.lower(pairs, v)(-(V**2)), lambda: nm.interpret(pairs, {v: -(V**2)})):
        with pytest.raises(ShapeError, match=r"is 0: .* is impossible"):
            run()


def test_no_place_is_beyond_the_condition():
    with pytest.raises(IndexError, match="a condition of length 3 for axis 0 of length n"):
        v[sd.symbol("u", 3) > 0]
    with pytest.raises(IndexError, match=r"a condition of shape \(n, n\) for \(n,\)"):
        v[sd.stack([v, v]).T @ sd.stack([v, v]) > 0]
    for key in ((slice(None), v > 0), (0, v > 0), (v > 0, 0), (None, v > 0)):
        with pytest.raises(Unsupported, match="a condition with other indices"):
            sd.symbol("A", ("n", "n"))[key]
    assert sd.symbol("A", ("n", 2))[v > 0, ...].shape[1:] == (2,)
    with pytest.raises(Unsupported, match="a single boolean as index; use where"):
        v[sd.symbol("a") > 0]
    with pytest.raises(TypeError, match="take: indices are integers, not a mask; index with it"):
        sd.take(v, v > 0)
    with pytest.raises(ShapeError, match="nonzero: a number has no places"):
        sd.nonzero(sd.symbol("a"))


def test_batched_conditions_are_refused():
    many = sd.symbol("many", ("k", "n"))
    with pytest.raises(
        Unsupported, match="batch: a condition selects a different number of elements in each part"
    ):
        sd.batch(sd.sum(x), {v: many})
    f = sd.batch(sd.sum(w[v > 0] ** 2), {w: many})
    at = np.stack([W, 2 * W])
    np.testing.assert_allclose(
        nm.lower(f, [v, many])(V, at), (at[:, V > 0] ** 2).sum(axis=1), rtol=1e-14
    )


def test_derivatives_of_outputs_of_open_lengths_are_formulas():
    F = nm.lower(x, v)
    for call in (
        lambda: F.jacobian(V),
        lambda: F.vjp(V),
        lambda: F.forward(V),
        lambda: F.hessian(V),
        lambda: F.jvp([V], [V]),
    ):
        with pytest.raises(Unsupported, match="differentiate the formula, and lower the deriv"):
            call()
    with pytest.raises(ShapeError):
        F.grad(V)


def test_conditions_in_loops():
    """Of the carry, of rows, and of what is outside; how many there are differs by step."""
    r = sd.symbol("r", 3)
    at = np.array([0.75, 0.2, 0.4])

    def step(c, s):
        return c * sd.mean(c[c > 0]) / 2 + s, (sd.sum(c[c > s]), sd.sum(w[v > s]))

    last, (inner, outer) = sd.scan(step, v, r)
    c, found = v, []
    masks = []
    value = V
    for s in at:
        masks.append((value > 0, value > s, s < V))
        value = value * value[value > 0].mean() / 2 + s
    for k, (positive, greater, outside) in enumerate(masks):
        five = sd.symbol("v", 5)
        c = five if k == 0 else c
        found.append((sd.sum(c[greater]), sd.sum(sd.symbol("w", 5)[outside])))
        c = c * sd.mean(c[positive]) / 2 + r[k]
    loss = sd.sum(last**2) + inner @ inner + sd.sum(outer)
    wanted = sd.sum(c**2) + sum(a**2 + b for a, b in found)
    known = [sd.symbol("v", 5), sd.symbol("w", 5), r]
    for mine, theirs in (
        (loss, wanted),
        (sd.grad(loss, v), sd.grad(wanted, known[0])),
        (sd.hessian(loss, v), sd.hessian(wanted, known[0])),
    ):
        value = nm.lower(mine, [v, w, r])(V, W, at)
        np.testing.assert_allclose(value, nm.lower(theirs, known)(V, W, at), rtol=1e-11, atol=1e-12)
    halved = sd.while_loop(lambda c: sd.sum(c[c > 0]) > 1, lambda c: c / 2, v)
    np.testing.assert_array_equal(nm.lower(halved, v)(V), V / 8)
    # The length of what is outside is one of a scan, and of a carry.
    total, _ = sd.scan(lambda c, s: (c * s + 1, None), 1.0, x)
    np.testing.assert_allclose(nm.lower(total, v)(V), ((1 * 1 + 1) * 3 + 1) * 0.5 + 1)
    grown, _ = sd.scan(lambda c, s: (c * s, None), x, r)
    np.testing.assert_allclose(nm.lower(sd.sum(grown**2), [v, r])(V, at), 10.25 * 0.06**2)


def test_conditions_in_equations():
    a = sd.symbol("a")
    root = sd.root(lambda z: z**3 + a * z - sd.sum(v[v > z] * w[v > z]), 1.0)
    at = np.array([5.0, 0.1, 4.0]), np.array([1.5, 1.0, 1.25])
    u, y = sd.symbol("u", 3), sd.symbol("y", 3)
    known = sd.root(lambda z: z**3 + a * z - u[[0, 2]] @ y[[0, 2]], 1.0)
    for mine, theirs in ((root, known), (sd.grad(root, v), sd.grad(known, u))):
        found = nm.lower(mine, [v, w, a])(*at, 0.5)
        np.testing.assert_allclose(found, nm.lower(theirs, [u, y, a])(*at, 0.5), rtol=1e-12)


def test_texts_and_counts():
    f = sd.sum(x**2)
    assert str(x) == "v[v > 0]"
    assert str(sd.nonzero(v > 0)[0]) == "nonzero(v > 0)[0]"
    assert sd.latex(x) == "v_{v > 0}"
    assert sd.parse("sum(v[v > 0]**2)", {"v": v}) is f
    # One element of what is taken; the condition, its ones and zeros, and once their sum.
    assert sd.count_operations(f, {"n": 3}) == 2 * 3 + 1
    assert sd.count_operations(f, {"n": 3, str(x.shape[0]): 2}) == 2 * 3 + 2
    assert sd.count_operations(closed([f])[0], {"n": 3}) == 3 * 3 + 1
    u = sd.symbol("u", 3)
    with pytest.raises(Unsupported, match="a condition as index: whether its condition holds"):
        sd.to_sympy(sd.sum(u[u > 0]))
    with pytest.raises(Unsupported, match="a condition as index: whether its condition holds"):
        sd.sparsity(sd.sum(u[u > 0]), u)
    assert "C would not gain" not in nm.lower(f, v).explain()
    told = nm.lower(f, v, backend="native").explain({"n": 5})
    assert "operations" in told


def test_kinks_raise_where_they_are_taken():
    f = sd.sum(abs(x - 1))
    with sd.kinks("raise"):
        gradient = nm.lower(sd.grad(f, v), v)
        np.testing.assert_array_equal(gradient(V * 1.1), [1, 0, 1, -1, 0])
        for run in (lambda: gradient(V), lambda: nm.interpret(sd.grad(f, v), AT)):
            with pytest.raises(NotDifferentiable, match=r"abs: .*operand is 0\.0"):
                run()


def test_zeros_of_what_is_not_taken_meet_no_infinite_slope():
    root = sd.sqrt(v)
    slope = sd.grad(sd.sum(root[v > 0]), v)
    at = np.array([0.0, 4.0])
    np.testing.assert_array_equal(nm.lower(slope, v)(at), [0, 0.25])
    np.testing.assert_array_equal(nm.interpret(slope, {v: at}), [0, 0.25])


def test_a_length_alone_is_a_number():
    assert nm.lower(x.size, v)(V) == 3
    assert nm.lower(sd.sum(sd.ones(x.shape)), v)(V) == 3
    assert nm.lower(sd.sum(x) * 0 + x.size**2, v)(V) == 9


@pytest.mark.slow
def test_audits_find_faults_behind_conditions():
    """At points of which each has a length of its own."""
    f = sd.sum(x**2)
    right = nm.check.audit(f, gradient=lambda v: 2 * np.maximum(v, 0), inputs={"v": 4}, seed=1)
    assert right.ok
    wrong = nm.check.audit(f, gradient=lambda v: 2 * v, inputs={"v": 4}, seed=1)
    assert not wrong.ok
    assert "v > 0 is taken to hold everywhere" in str(wrong)
    assert nm.check.why(f, sd.sum(sd.where(v > 0, v**3, 0)), inputs={"v": V}).equal is False
    with pytest.raises(Unsupported, match="a length is needed here"):
        nm.check.audit(x, gradient=lambda v: v, inputs={"v": 4})


def test_sums_over_shards_refuse_conditions():
    with pytest.raises(sd.NotAdditive, match="nonzero of all rows"):
        sharded(sd.sum(x**2), [v], over="n")


def test_where_there_is_no_condition_nothing_is_closed():
    assert closed([sd.sum(v)])[0] is sd.sum(v)
    assert isinstance(sd.nonzero(v > 0)[0].op, opaque_ops.Nonzero)


def test_jax_says_the_same():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp

    for of in CASES:
        masks = []

        def recorded(x, condition, masks=masks):
            masks.append(np.asarray(condition))
            return x[condition]

        of.f(np, recorded, *of.at)

        def loss(*values, of=of, masks=masks):
            given = iter(masks)
            return of.f(jnp, lambda x, _: x[next(given)], *values)

        xs = of.symbols(True)
        f = of.f(sd, indexed, *xs)
        F = nm.lower([f, *sd.grad(f, xs), sd.jacobian(sd.grad(f, xs[0]), xs[0])], xs)
        value, *slopes, second = F(*of.at)
        places = tuple(range(len(of.at)))
        np.testing.assert_allclose(value, loss(*map(jnp.asarray, of.at)), rtol=1e-12)
        for mine, theirs in zip(slopes, jax.grad(loss, places)(*of.at), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-11, atol=1e-12, err_msg=of.name)
        theirs = jax.hessian(loss)(*map(jnp.asarray, of.at))
        np.testing.assert_allclose(second, theirs, rtol=1e-10, atol=1e-11, err_msg=of.name)
