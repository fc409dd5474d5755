"""Through SymPy and back: the form is SymPy's, the value the expression's, or there is an error.

Random formulas are judged by mpmath at 50 digits, which evaluates a function of its own.
"""

import sys
from fractions import Fraction
from types import SimpleNamespace

import mpmath as mp
import numpy as np
import pytest
import sympy as sp
from hypothesis import assume, given
from hypothesis import strategies as st

import symdiff as sd
from symdiff.errors import ShapeError, Unsupported
from symdiff.exact.witnesses import disagreement
from symdiff.rewriting import through_sympy
from tests.support.budget import sample

x, y, a, b = sd.symbols("x y a b")
n, m = sd.symbols("n m", (), int)
c, d = sd.symbols("c d", (), bool)
q, A = sd.symbol("q", 2), sd.symbol("A", (2, 2))
INF = float("inf")

# Known identities: what goes in, and what has to come out.
IDENTITIES = {
    "pythagoras": (lambda: sd.simplify(sd.sin(x) ** 2 + sd.cos(x) ** 2), lambda: 1),
    "double angle": (
        lambda: sd.simplify(sd.sin(x) * sd.cos(x)),
        lambda: sd.sin(2 * x) / 2,
    ),
    "root of a square": (lambda: sd.simplify(sd.sqrt(x**2)), lambda: abs(x)),
    "gamma": (lambda: sd.simplify(sd.gamma(x + 1) / sd.gamma(x)), lambda: x),
    "bessel": (lambda: sd.simplify(sd.jv(1, x) + sd.jv(3, x) - 4 * sd.jv(2, x) / x), lambda: 0),
    "common denominator": (lambda: sd.simplify(1 / x + 1 / y), lambda: (x + y) / (x * y)),
    "cancelled": (lambda: sd.simplify((x**2 - 1) / (x - 1)), lambda: x + 1),
    "conditions": (
        lambda: sd.simplify(sd.where(x > 0, sd.log(sd.exp(x)), 0)),
        lambda: sd.where(x > 0, x, 0),
    ),
    "roots of numbers": (
        lambda: sd.simplify(sd.sqrt(sd.constant(8)) + sd.sqrt(2)),
        lambda: 3 * sd.sqrt(2),
    ),
    "long exponents": (lambda: sd.simplify(x**1.3 * y + x**1.3), lambda: x**1.3 * (y + 1)),
    "stable functions": (lambda: sd.simplify(sd.log1p(x)), lambda: sd.log1p(x)),
    "detached": (lambda: sd.simplify(sd.detach(x) * x), lambda: x**2),
    "square": (lambda: sd.expand((x + y) ** 2), lambda: x**2 + 2 * x * y + y**2),
    "exponential of a sum": (lambda: sd.expand(sd.exp(x + y)), lambda: sd.exp(x) * sd.exp(y)),
    "quadratic": (lambda: sd.factor(x**2 - 5 * x + 6), lambda: (x - 2) * (x - 3)),
    "cubes": (lambda: sd.factor(x**3 - y**3), lambda: (x - y) * (x**2 + x * y + y**2)),
    "collected": (lambda: sd.collect(a * x + b * x + a, x), lambda: (a + b) * x + a),
    "by a function": (
        lambda: sd.collect(a * sd.sin(x) + b * sd.sin(x) + a, sd.sin(x)),
        lambda: (a + b) * sd.sin(x) + a,
    ),
    "by several": (
        lambda: sd.collect(a * x + b * x + a * y + b * y, [x, y]),
        lambda: (a + b) * x + (a + b) * y,
    ),
    "elements": (lambda: sd.collect(q[0] * a + q[0] * b, q[0]), lambda: (a + b) * q[0]),
    "array": (
        lambda: sd.simplify(sd.stack([q[0] ** 2 / q[0], sd.log(sd.exp(q[1]))])),
        lambda: sd.stack([q[0], q[1]]),
    ),
    "matrix": (
        lambda: sd.factor(sd.stack([[A[0, 0] ** 2 - 1, 0], [A[1, 0] * A[0, 1] + A[1, 0], 1]])),
        lambda: sd.stack([[(A[0, 0] - 1) * (A[0, 0] + 1), 0], [A[1, 0] * (A[0, 1] + 1), 1]]),
    ),
    "truth": (lambda: sd.simplify((c & d) | (c & ~d)), lambda: c),
    "weaker conditions": (lambda: sd.simplify((x > 1) & (x > 2)), lambda: x > 2),
    "method simplify": (lambda: (x**2 / x**2 * y).simplify(), lambda: y),
    "method expand": (lambda: (x * (x + 1)).expand(), lambda: x**2 + x),
    "method factor": (lambda: (x**2 + x).factor(), lambda: x * (x + 1)),
    "method collect": (lambda: (a * x + x).collect(x), lambda: x * (a + 1)),
    "method series": (lambda: sd.exp(x).series(x, 0, 3), lambda: 1 + x + x**2 / 2),
    "method limit": (lambda: (sd.sin(x) / x).limit(x, 0), lambda: 1),
}


@pytest.mark.parametrize("name", IDENTITIES)
def test_known_identities(name):
    found, wanted = (part() for part in IDENTITIES[name])
    assert found is sd.constant(wanted) if isinstance(wanted, int) else found is wanted


KINDS = {
    int: [n * (n + 1) - n**2, (n + 2) % 2 - n % 2 + m],
    bool: [c | ~c, (x > 1) & (x > 2), sd.where(c, d, d)],
}


@pytest.mark.parametrize("dtype", KINDS, ids=lambda dtype: dtype.__name__)
def test_kinds_stay(dtype):
    changes = (sd.simplify, sd.expand) if dtype is int else (sd.simplify,)
    assert {change(f).dtype for f in KINDS[dtype] for change in changes} == {dtype}


def test_numbers_are_exact_until_they_are_rounded_once():
    found = sd.expand((0.1 * x + 0.2) ** 2 * 3)
    tenth, fifth = Fraction(0.1), Fraction(0.2)
    exact = [3 * fifth**2, 6 * tenth * fifth, 3 * tenth**2]
    for k, wanted in enumerate(exact):
        coefficient = sd.diff(found, x, k).subs({x: 0}) / [1, 1, 2][k]
        assert float(coefficient) == float(wanted)
    assert sd.expand((x / 3 + Fraction(1, 7)) ** 2) is (
        x**2 / 9 + 2 * x * Fraction(1, 21) + Fraction(1, 49)
    )


# Random formulas ----------------------------------------------------------------------------------

UNARY = {
    "sin": (sd.sin, mp.sin),
    "exp": (sd.exp, mp.exp),
    "log": (sd.log, mp.log),
    "sqrt": (sd.sqrt, mp.sqrt),
    "abs": (sd.abs, mp.fabs),
    "atan": (sd.atan, mp.atan),
    "square": (lambda e: e**2, lambda v: v**2),
    "inverse": (lambda e: 1 / e, lambda v: 1 / v),
    "positive": (lambda e: sd.where(e > 0, e, 1), lambda v: v if v > 0 else mp.mpf(1)),
}
BINARY = {
    "+": (lambda s, t: s + t, lambda s, t: s + t),
    "-": (lambda s, t: s - t, lambda s, t: s - t),
    "*": (lambda s, t: s * t, lambda s, t: s * t),
    "/": (lambda s, t: s / t, lambda s, t: s / t),
    "max": (sd.maximum, max),
}
leaves = st.sampled_from(["x", "y", "1", "2", "1/3"])
trees = st.recursive(
    leaves,
    lambda part: st.one_of(
        st.tuples(st.sampled_from(sorted(UNARY)), part),
        st.tuples(st.sampled_from(sorted(BINARY)), part, part),
    ),
    max_leaves=5,
)


def number(fraction):
    return mp.mpf(fraction.numerator) / fraction.denominator


def expression(tree):
    if isinstance(tree, str):
        return {"x": x, "y": y}[tree] if tree in "xy" else sd.constant(Fraction(tree))
    functions = UNARY if len(tree) == 2 else BINARY
    return functions[tree[0]][0](*map(expression, tree[1:]))


def meant(tree, point):
    """The value, by mpmath alone; raises where there is none over the reals."""
    if isinstance(tree, str):
        return point[tree] if tree in "xy" else number(Fraction(tree))
    functions = UNARY if len(tree) == 2 else BINARY
    value = functions[tree[0]][1](*(meant(part, point) for part in tree[1:]))
    if not isinstance(value, mp.mpf) or not mp.isfinite(value):
        raise ZeroDivisionError(f"{tree} has no real value")
    return value


@pytest.mark.slow
@sample(150)
@given(
    trees,
    st.sampled_from(["simplify", "expand", "factor", "collect"]),
    st.lists(st.tuples(*[st.fractions(-4, 4, max_denominator=8)] * 2), min_size=4, max_size=4),
)
def test_random_formulas_keep_their_value(tree, name, places):
    try:
        f = expression(tree)
    except ZeroDivisionError:
        assume(False)
    try:
        g = sd.collect(f, x) if name == "collect" else getattr(sd, name)(f)
    except Unsupported:
        return
    assert set(g.free_symbols) <= set(f.free_symbols)
    for u, v in places:
        with mp.workdps(50):
            values = {"x": number(u), "y": number(v)}
            try:
                wanted = meant(tree, values)
            except (ZeroDivisionError, ValueError):
                continue
        try:
            found = sd.evalf(g, 25, {s: {"x": u, "y": v}[s.name] for s in g.free_symbols})
        except ArithmeticError:  # exactly 0, or at a jump
            assert abs(wanted) < 1e-40
            continue
        assert abs(found - wanted) <= abs(wanted) * mp.mpf(10) ** -24


# Series and limits --------------------------------------------------------------------------------

TAYLOR = {
    "sin": (sd.sin, mp.sin, 0),
    "exp": (sd.exp, mp.exp, Fraction(1, 2)),
    "tanh": (sd.tanh, mp.tanh, -1),
    "log": (sd.log, mp.log, 2),
    "erf": (sd.erf, mp.erf, 0),
    "sigmoid": (sd.sigmoid, lambda v: 1 / (1 + mp.exp(-v)), 0),
    "sinc": (sd.sinc, lambda v: mp.sincpi(v), 0),
    "bessel": (lambda e: sd.jv(1, e), lambda v: mp.besselj(1, v), 0),
    "power": (lambda e: (1 + e) ** 1.3, lambda v: (1 + v) ** mp.mpf(1.3), 0),
    "composed": (lambda e: sd.exp(sd.sin(e)) / (2 + e), lambda v: mp.exp(mp.sin(v)) / (2 + v), 0),
}


@pytest.mark.parametrize("name", TAYLOR)
def test_taylor_polynomials_have_the_coefficients(name):
    ours, theirs, x0 = TAYLOR[name]
    p = sd.series(ours(x), x, x0, 5)
    with mp.workdps(50):
        wanted = mp.taylor(theirs, number(Fraction(x0)), 4)
    for k, coefficient in enumerate(wanted):
        found = sd.evalf(sd.diff(p, x, k) + 1, 20, {x: x0})
        # Numerical derivatives of mpmath lose digits; float exponents are rounded in the result.
        assert abs(found - 1 - coefficient * mp.factorial(k)) < 1e-14
    assert sd.diff(p, x, 5) is sd.constant(0)


SERIES = [
    (lambda: sd.series(1 / sd.sin(x), x, 0, 2), 1 / x + x / 6),
    (lambda: sd.series(sd.sqrt(x) * sd.exp(x), x, 0, 2), sd.sqrt(x) + x**1.5),
    (lambda: sd.series(sd.log(x) * sd.exp(x), x, 0, 2), sd.log(x) + x * sd.log(x)),
    (lambda: sd.series(sd.exp(1 / x), x, INF, 3), 1 + 1 / x + 1 / (2 * x**2)),
    (lambda: sd.series((x + 1) ** 3, x, 0, 2), 3 * x + 1),
    (lambda: sd.series(sd.exp(a * x), x, 0, 3), 1 + a * x + a**2 * x**2 / 2),
    (lambda: sd.series(abs(x), x, 1), x),
    (lambda: sd.series(sd.sin(q[0] * q[1]), q[0], 0, 3), q[0] * q[1]),
    (lambda: sd.series(sd.sin(q * x), x, 0, 3), sd.stack([q[0] * x, q[1] * x])),
]


@pytest.mark.parametrize(("make", "wanted"), SERIES, ids=lambda v: "" if callable(v) else str(v))
def test_series_of_other_kinds(make, wanted):
    assert make() is wanted


LIMITS = {
    "sine": (sd.sin(x) / x, x, 0, "+", 1),
    "e": ((1 + 1 / x) ** x, x, INF, "+", sd.e),
    "cancelled": ((sd.cos(x) - 1 + x**2 / 2) / x**4, x, 0, "+-", sd.constant(1) / 24),
    "from below": (abs(x) / x, x, 0, "-", -1),
    "from above": (abs(x) / x, x, 0, "+", 1),
    "infinite": (1 / x, x, 0, "+", INF),
    "minus infinite": (1 / x, x, 0, "-", -INF),
    "slow": (1 / sd.log(x), x, 0, "+", 0),
    "slowly infinite": (sd.log(sd.log(x)), x, INF, "+", INF),
    "bounded oscillation": (sd.sin(x) / x, x, INF, "+", 0),
    "underflow": (sd.exp(x), x, -INF, "+", 0),
    "derivative": ((sd.sin(a + x) - sd.sin(a)) / x, x, 0, "+-", sd.cos(a)),
    "jump": (sd.floor(x), x, 1, "-", 0),
    "continuous": (x**2 * y, x, 3, "+-", 9 * y),
    "entropy": (x * sd.log(x), x, 0, "+", 0),
    "element": (sd.sin(q[0] * q[1]) / q[0], q[0], 0, "+-", q[1]),
    "array": (sd.sin(q * x) / x, x, 0, "+-", sd.stack([q[0], q[1]])),
    "at SymPy's infinity": (sd.atan(x), x, sp.oo, "+", sd.pi / 2),
}


@pytest.mark.parametrize("name", LIMITS)
def test_limits(name):
    f, variable, x0, direction, wanted = LIMITS[name]
    found = sd.limit(f, variable, x0, dir=direction)
    assert found is (wanted if isinstance(wanted, sd.Expr) else sd.constant(wanted))


# Refusals -----------------------------------------------------------------------------------------

REFUSED = {
    "named length": (lambda: sd.simplify(sd.symbol("v", "n").sum()), "v has the shape \\(n,\\)"),
    "components": (lambda: sd.simplify(sd.symbol("v", 17)), "17 components"),
    "size": (
        lambda: sd.simplify(sum(sd.sin(k * x) for k in range(1, 200))),
        "595 operations; SymPy gets at most 300",
    ),
    "shared size": (lambda: sd.factor(_doubled(x, 40)), "operations; SymPy gets"),
    "terms": (lambda: sd.expand((x + y + a + b) ** 40), "12341 terms; at most 1000"),
    "opaque": (lambda: sd.simplify(sd.eigvalsh(A)), "eigvalsh has no component-wise value"),
    "index": (lambda: sd.expand(sd.argmax(q)), "argmax: the order of elements"),
    "infinite": (lambda: sd.simplify(x + INF), "inf in a formula"),
    "nowhere defined": (lambda: sd.simplify(sd.log(-1 - x**2)), "0 were found"),
    "no counterpart": (lambda: sd.series(sd.gamma(x), x, 1, 3), "EulerGamma of SymPy"),
    "kink": (lambda: sd.series(abs(x), x), "as x goes to 0 from below"),
    "jump": (lambda: sd.series(sd.where(x < 0, 0, x + 1), x), "from below"),
    "hole": (lambda: sd.series(sd.where(sd.equal(x, 0), 5, sd.sin(x) / x), x), "series: SymPy"),
    "one side of SymPy's": (lambda: sd.limit(sd.where(x < 0, 0, x + 1), x, 0, "-"), "returned 1"),
    "two limits": (lambda: sd.limit(abs(x) / x, x, 0, "+-"), "left hand limit = -1"),
    "two infinities": (lambda: sd.limit(1 / x, x, 0, "+-"), "its answer is zoo"),
    "oscillation": (lambda: sd.limit(sd.sin(1 / x), x, 0), r"its answer is AccumBounds\(-1, 1\)"),
    "undecided": (lambda: sd.limit(x**a, x, 0), "NotImplementedError: Not sure of sign of a"),
    "no values": (lambda: sd.limit(sd.sqrt(x), x, 0, "-"), "no conclusive points near 0"),
}


def _doubled(e, times):
    for _ in range(times):
        e = sd.sin(e) * e
    return e


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_carried_is_refused_with_the_reason(name):
    make, reason = REFUSED[name]
    with pytest.raises(Unsupported, match=reason) as caught:
        make()
    assert str(caught.value).split(":")[0] in ("simplify", "expand", "factor", "series", "limit")


WRONG_ARGUMENTS = [
    (ShapeError, r"collect: <q: .*expected a scalar", lambda: sd.collect(q[0] * a, q)),
    (
        ValueError,
        r"sin\(x\) is neither a scalar symbol nor an element",
        lambda: sd.series(x, sd.sin(x)),
    ),
    (ValueError, "n = 0 is not an order", lambda: sd.series(x, x, 0, 0)),
    (ValueError, "the point x contains the variable x", lambda: sd.limit(x, x, x)),
    (ValueError, "dir = 'up'", lambda: sd.limit(x, x, 0, dir="up")),
    (
        Unsupported,
        r"2\*floor\(n/2\) is not an integer by its form",
        lambda: sd.simplify(n // 2 * 2),
    ),
]


@pytest.mark.parametrize(("error", "says", "call"), WRONG_ARGUMENTS)
def test_wrong_arguments(error, says, call):
    with pytest.raises(error, match=says):
        call()


def test_sympy_is_stopped_and_nothing_is_left_changed(monkeypatch):
    monkeypatch.setattr(through_sympy, "CALLS", 1000)
    profiler = sys.getprofile()
    with pytest.raises(Unsupported, match="SymPy was stopped after 1000 calls"):
        sd.simplify(sd.sin(x) ** 2 / (1 + sd.cos(x)) + sd.tanh(x * y))
    assert sys.getprofile() is profiler
    monkeypatch.undo()
    assert sd.simplify(sd.sin(x) ** 2 + sd.cos(x) ** 2) is sd.constant(1)


@pytest.mark.parametrize("calls", range(20, 30))
def test_a_generator_that_is_closed_does_not_swallow_the_stop(monkeypatch, calls):
    """Its destructor resumes it, and ignores what is raised there."""

    def step():
        begun = (k for k in (1, 2))
        next(begun)

    def work():
        for _ in range(1000):
            step()

    monkeypatch.setattr(through_sympy, "CALLS", calls)
    with pytest.raises(Unsupported, match="SymPy was stopped"):
        through_sympy.bounded("simplify", work)


# Planted mistakes ---------------------------------------------------------------------------------

X, Y = sp.Symbol("x", real=True), sp.Symbol("y", real=True)
SECRET = sp.Symbol("z", real=True)
# What SymPy may do wrong to a formula of x and y, and a formula to which that is a mistake.
WRONG = {
    "a small error": (lambda f: f + sp.Rational(1, 10**30), x * y),
    "a small factor": (lambda f: f * (1 + sp.Rational(1, 10**30)), x * y),
    "a sign": (lambda f: -f, x * y),
    "a root for a size": (lambda f: f.xreplace({sp.Abs(X): X}), sd.sqrt(x**2) + y),
    "a logarithm torn apart": (lambda f: sp.log(X) + sp.log(Y), sd.log(x * y)),
    "a power torn apart": (lambda f: sp.sqrt(X) * sp.sqrt(Y), sd.sqrt(x * y)),
    "a border": (
        lambda f: sp.Piecewise((X, X >= 3), (Y, True)),
        sd.where(x > 3, x, y),
    ),
    "a step": (
        lambda f: sp.Piecewise((1, X >= 3), (-1, True)) * Y,
        sd.sign(x - 3) * y,
    ),
    "a lost condition": (lambda f: f.args[0].expr, sd.where(x > 3, x, y)),
    "a rare value": (lambda f: sp.Piecewise((X, True)), sd.where(sd.equal(x, 3), y, x)),
    "a limit for a value": (lambda f: sp.S.One, sd.where(sd.equal(x, 0), 5, x / x)),
    "equal coordinates": (lambda f: X - Y, sd.where(sd.equal(x, y), 1, x - y)),
    "undefined at 0": (lambda f: f * sp.Piecewise((1, sp.Ne(X, 0)), (sp.nan, True)), x * y),
    "undefined at 1": (
        lambda f: (
            f + sp.log(sp.Abs(X - 1)) * 0 + 0 * Y + sp.Piecewise((0, sp.Ne(X, 1)), (sp.zoo, True))
        ),
        x * y,
    ),
    "something imaginary": (lambda f: sp.I * f, x * y),
    "something unknown": (lambda f: f + SECRET, x * y),
    "another symbol": (lambda f: f.xreplace({X: Y}), x + 2 * y),
    "no formula": (lambda f: sp.Integral(f, X), x * y),
    "nan": (lambda f: sp.nan, x * y),
    "a truth value": (lambda f: f > 0, x * y),
}
ASKED = ["simplify", "expand", "factor", "collect"]


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("mistake", WRONG)
def test_mistakes_of_sympy_are_noticed(monkeypatch, name, mistake):
    wrong, f = WRONG[mistake]
    monkeypatch.setattr(sp, name, lambda formula, *_: wrong(formula))
    with pytest.raises(Unsupported, match=f"{name}: "):
        sd.collect(f, x) if name == "collect" else getattr(sd, name)(f)


def test_elements_that_change_places_are_noticed(monkeypatch):
    first, second = (sp.Symbol(f"q[{k}]", real=True) for k in (0, 1))
    swap = {first: second, second: first}
    monkeypatch.setattr(sp, "simplify", lambda f: f.xreplace(swap))
    assert sd.simplify(q[0] * q[1]) is q[0] * q[1]
    with pytest.raises(Unsupported, match=r"another value: .* at q = \["):
        sd.simplify(q)


def test_errors_of_sympy_are_named(monkeypatch):
    def fails(formula):
        raise AttributeError("'NoneType' object has no attribute 'args'\nand more")

    monkeypatch.setattr(sp, "simplify", fails)
    with pytest.raises(Unsupported, match="SymPy raised AttributeError: 'NoneType'") as caught:
        sd.simplify(x)
    assert "more" not in str(caught.value)
    assert isinstance(caught.value.__cause__, AttributeError)


O6 = X - X**3 / 6 + X**5 / 120
WRONG_SERIES = {
    "a term is missing": O6 - X**3 / 6,
    "the last term is missing": O6 - X**5 / 120,
    "a term too many": O6 - X**7 / 5040,
    "a coefficient": O6 + X**5 / 10**20,
    "a constant": O6 + sp.Rational(1, 10**40),
    "a pole": O6 + sp.Rational(1, 10**40) / X,
    "another function": sp.sin(X) + 0 * Y,
}


@pytest.mark.parametrize("mistake", WRONG_SERIES)
def test_wrong_series_are_noticed(monkeypatch, mistake):
    found = SimpleNamespace(removeO=lambda: WRONG_SERIES[mistake])
    monkeypatch.setattr(sp.Expr, "series", lambda *_: found)
    with pytest.raises(Unsupported, match="series: SymPy returned"):
        sd.series(sd.sin(x), x)


WRONG_LIMITS = {
    "another number": (sd.sin(x) / x, 0, 2),
    "nearly": (sd.sin(x) / x, 0, 1 + sp.Rational(1, 10**30)),
    "slowly nearly": (1 / sd.log(x), 0, sp.Rational(-1, 10)),
    "too large": (sd.sin(x) / x, 0, sp.oo),
    "infinite for large": (sd.atan(x) * 100, INF, sp.oo),
    "wrong infinity": (1 / x, 0, -sp.oo),
    "finite for infinite": (sd.log(x), INF, 1000),
    "the value": (sd.where(sd.equal(x, 0), 5, x + 1), 0, 5),
}


@pytest.mark.parametrize("mistake", WRONG_LIMITS)
def test_wrong_limits_are_noticed(monkeypatch, mistake):
    f, x0, wrong = WRONG_LIMITS[mistake]
    monkeypatch.setattr(sp, "limit", lambda *_: sp.sympify(wrong))
    with pytest.raises(Unsupported, match="limit: SymPy returned"):
        sd.limit(f, x, x0)


# The comparison itself ----------------------------------------------------------------------------


EQUAL = [
    # Whatever rounding does.
    (sd.sin(x) ** 2 + sd.cos(x) ** 2 - 1, 0 * x),
    (sd.exp(x) * sd.exp(-x), 0 * x + 1),
    ((x + y) ** 9, lambda: sd.expand((x + y) ** 9)),
    (sd.sqrt(x**2 - 2 * x * y + y**2), abs(x - y)),
    (1 / (1 / x + 1 / y), x * y / (x + y)),
    (sd.tan(sd.atan(x)), x),
    (sd.cosh(x) - sd.sinh(x), sd.exp(-x)),
    # Values that the original does not have are not asked for.
    (x**2 / x, x),
    (sd.log(x**2), 2 * sd.log(abs(x))),
    (sd.log(x) * 2, sd.log(x**2)),
    (sd.where(1 / x > 0, 1, 2), sd.sign(x) * 0 + sd.where(x > 0, 1, 2)),
    # Series, and what ended SymPy's polynomials in x**(1/4503599627370496).
    (lambda: sd.series(sd.exp(x), x, a, 2), sd.exp(a) + sd.exp(a) * (x - a)),
    (lambda: sd.factor(x**1.3 + x), x**1.3 + x),
]


@pytest.mark.parametrize(("f", "g"), EQUAL)
def test_equal_values_are_equal(f, g):
    one, other = (side() if callable(side) else side for side in (f, g))
    assert disagreement(one, other) is None


def test_a_value_that_is_lost_is_another_value():
    assert disagreement(sd.log(x**2), 2 * sd.log(x)) is not None


def test_a_witness_says_where():
    assert str(disagreement(sd.where(x > 3, 1, 2), sd.where(x >= 3, 1, 2))) == (
        "1.0 instead of 2.0 at x = 3"
    )
    witness = disagreement(q, sd.stack([q[0], abs(q[1])]))
    assert np.asarray(witness.point[q]).flat[1] < 0
