"""Values to any number of digits and exact values, against formulas written out by hand."""

import sys
import threading
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import sympy as sp
from mpmath import mp

import symdiff as sd
from symdiff.errors import ShapeError, Unsupported
from symdiff.exact.evaluation import evaluate_exact
from symdiff.graph.contraction import contract, strong
from tests.support.cases import all_cases

x, y = sd.symbols("x y")
A, v = sd.symbol("A", (3, 3)), sd.symbol("v", (3,))
MATRIX = np.array([[2, 1, 0], [1, 3, 1], [0, 1, 4]])
VECTOR = np.array([1, -2, 3])


def digits_agree(ours, theirs, n):
    """Whether ``theirs``, known to more digits, rounds to ``ours`` up to one unit of the last."""
    with mp.workdps(n + 20):
        return mp.fabs(ours - theirs) <= mp.fabs(theirs) * mp.mpf(10) ** (1 - n)


# Digits -----------------------------------------------------------------------------------------

FORMULAS = [
    (lambda f, a: f.sin(a) * f.exp(-a / 3), "sin exp"),
    (lambda f, a: f.log(1 + a**2) / f.sqrt(a), "log sqrt"),
    (lambda f, a: f.atan(a) ** 3 - f.tanh(a), "atan tanh"),
    (lambda f, a: (1 - f.cos(a)) / a**2, "1 - cos"),
    (lambda f, a: f.erf(a) + f.erfc(a) * f.gamma(a), "erf gamma"),
    (lambda f, a: f.pi * a**5 - f.e, "pi e"),
]


@pytest.mark.parametrize("make", [f for f, _ in FORMULAS], ids=[name for _, name in FORMULAS])
@pytest.mark.parametrize("n", [1, 5, 15, 50, 200])
@pytest.mark.parametrize("at", [Fraction(1, 3), Fraction(7, 2), Fraction(1, 10**40)])
def test_digits_are_right(make, n, at):
    ours = sd.evalf(make(sd, x), n, {x: at})
    assert isinstance(ours, mpmath.mpf)
    with mp.workdps(n + 200):
        theirs = make(mp, mp.mpf(at.numerator) / at.denominator)
    assert digits_agree(ours, theirs, n)


TINY = "1e-100"
CANCELLATIONS = [
    ((1 + x) - sd.sqrt(1 + 2 * x), 0.5e-200),
    (sd.log(1 + x) - sd.log(1 + 2 * x), -1e-100),
    (sd.cosh(x) - 1, 0.5e-200),
    (sd.hypot(x, 1 + y) - 1 - y, 0.5e-200),
    (sd.exp(x) - sd.exp(-x) - 2 * x, 1e-300 / 3),
    (sd.sin(10**30 * sd.pi + x), 1e-100),
    (5 + (sd.exp(x) - 1) / x, 6),
]


@pytest.mark.parametrize(("expr", "value"), CANCELLATIONS, ids=lambda v: str(v)[:30])
def test_cancellation_is_seen_and_more_digits_are_used(expr, value):
    assert float(sd.evalf(expr, 15, {x: TINY, y: 0})) == pytest.approx(value, rel=1e-14)


def brief(value):
    """What a row is called by."""
    return str(value)[:40]


BRANCH = sd.where(x > 0, sd.log(x) / (x - 1), -x)
ENORMOUS = sd.exp(sd.exp(sd.exp(sd.exp(x))))
ROOT = sd.where(x > 0, sd.sqrt(x), x**3)
EMPTY, NO_ROWS = sd.symbol("E", (2, 0)), np.zeros((2, 0))
SEVEN = sd.symbol("S", (7, 7))
B, SINGULAR = sd.symbol("B", (2, 2)), [[1, 2], [2, 4]]
X, SIX = sd.symbol("X", ("n", "k")), np.arange(6).reshape(2, 3)
softsign = sd.pointwise("softsign", lambda z: z / (1 + sp.Abs(z)))
VALUES = [
    # Exact cancellation is zero.
    (x - y, {x: 0.1, y: 0.1}, 0),
    (sd.sin(x) * y, {x: 1, y: 0}, 0),
    (sd.cos(x) - 1, {x: 0}, 0),
    (x * 3 - y, {x: 0.1, y: Fraction(0.1) * 3}, 0),
    # What values may be.
    (x, {"x": np.float64(0.5)}, 0.5),
    (x + y, {x: y + 1, y: 2}, 5),
    (x, {x: 2, y: 3}, 2),
    (sd.mean(X), {X: SIX}, 2.5),
    (x > y, {x: 2, y: 1}, 1),
    # Branches that are not selected may be undefined.
    (BRANCH, {x: -2}, 2),
    (sd.grad(BRANCH, x), {x: -2}, -1),
    (sd.where(x > 0, ENORMOUS, x), {x: -1}, -1),
    (sd.where(x > 0, 1, ENORMOUS.subs({x: -x})), {x: 10}, 1),
    *((sd.diff(ROOT, x, order), {x: 0}, wanted) for order, wanted in ((1, 0), (2, 0), (3, 6))),
    # Infinite and undefined values.
    (sd.log(x), {x: -1}, mp.nan),
    (sd.sqrt(x), {x: -1}, mp.nan),
    (1 / x, {x: 0}, mp.inf),
    (y * sd.log(x), {x: 0, y: 0}, mp.nan),
    (strong(sd.where(x > 0, x, 0), sd.log(y)), {x: 1, y: -1}, mp.nan),
    (sd.det(sd.log(SEVEN)), {SEVEN: np.eye(7)}, mp.nan),  # -inf off the diagonal
    (sd.logsumexp(EMPTY, axis=1)[0], {EMPTY: NO_ROWS}, mp.ninf),
    (sd.det(sd.symbol("D", (0, 0))), {"D": np.zeros((0, 0))}, 1),
    (sd.det(B), {B: SINGULAR}, 0),
    (sd.grad(sd.det(B), B)[0, 1], {B: SINGULAR}, -2),
    (sd.inv(B)[0, 0], {B: SINGULAR}, mp.nan),
]


@pytest.mark.parametrize(("expr", "at", "wanted"), VALUES, ids=brief)
def test_values(expr, at, wanted):
    found = sd.evalf(expr, 30, at)
    assert found == wanted or (mp.isnan(found) and mp.isnan(wanted))


TEXTS = [
    (x * 3, {x: "0.1"}, "0.3"),
    (x * 3, {x: Decimal("0.1")}, "0.3"),
    (x, {x: sp.Rational(1, 3)}, "0.33333333333333333333"),
    (softsign(v).sum(), {v: VECTOR}, "0.58333333333333333333"),
]


@pytest.mark.parametrize(("expr", "at", "digits"), TEXTS, ids=brief)
def test_texts_are_decimal(expr, at, digits):
    assert mpmath.nstr(sd.evalf(expr, 20, at), 20) == digits


W = sd.symbol("w", (2,))
EXACT = [
    (x, {x: mp.mpf("-0.5")}, Fraction(-1, 2)),
    (sd.sqrt(x), {x: Fraction(9, 4)}, Fraction(3, 2)),
    (sd.hypot(x, y), {x: 3, y: 4}, 5),
    (sd.exp(x) + sd.sin(x), {x: 0}, 1),
    (x, {x: 0.5}, Fraction(1, 2)),
    (x > y, {x: 0.5, y: "0.1"}, 1),
    (sd.grad(sd.where(x > 0, sd.sqrt(x), x), x), {x: 0}, 1),
    (softsign(x), {x: -3}, Fraction(-3, 4)),
    (sd.diff(softsign(x), x), {x: -3}, Fraction(1, 16)),
    (strong(sd.where(x > 0, x, 0), sd.log(y)), {x: 0, y: 0}, 0),
    (contract([(W, (0,), True), (1 / W, (0,))], ()), {W: [0, 3]}, 1),
    (sd.prod(EMPTY, axis=1), {EMPTY: NO_ROWS}, [1, 1]),
    (sd.sum(EMPTY, axis=1), {EMPTY: NO_ROWS}, [0, 0]),
    (EMPTY.T @ EMPTY, {EMPTY: NO_ROWS}, np.zeros((0, 0))),
    (EMPTY @ EMPTY.T, {EMPTY: NO_ROWS}, [[0, 0], [0, 0]]),
    (sd.grad(sd.sum(X**2), X), {X: SIX}, 2 * SIX),
]


@pytest.mark.parametrize(("expr", "at", "wanted"), EXACT, ids=brief)
def test_exact_values(expr, at, wanted):
    found = evaluate_exact(expr, at)
    assert np.shape(found) == np.shape(wanted)
    assert np.all(np.equal(found, wanted))


def test_floats_are_binary():
    assert digits_agree(sd.evalf(3 * x, 40, {x: 0.1}), mp.mpf(0.1) * 3, 17)
    assert sd.evalf(0.1 * x, 40, {x: 1}) == sd.evalf(x, 40, {x: 0.1})
    with mp.workdps(60):
        third = mp.mpf(1) / 3
    assert evaluate_exact(3 * x, {x: third}) != 1
    assert evaluate_exact(2 * x, {x: sp.Float("0.3", 40)}) != Fraction(0.6)


def test_no_branch_is_taken_by_chance():
    """The sign of t decides, of which the first precisions know nothing."""
    t = (6 - 6 * x) * (1 - 3 * y) - (6 - 6 * x)
    f = 2 * t - abs(4 * y - 2 * t)
    for k in range(200, 320, 4):
        at = {x: 5, y: -(Fraction(10) ** -k)}
        exact = evaluate_exact(f, at)
        with mp.workdps(60):
            wanted = mp.mpf(exact.numerator) / exact.denominator
        assert digits_agree(sd.evalf(f, 30, at), wanted, 30), k


def test_values_may_be_mpmath_numbers_and_expressions():
    with mp.workdps(60):
        root = mp.sqrt(2)
    assert digits_agree(sd.evalf(x**2, 50, {x: root}), mp.mpf(2), 50)
    assert digits_agree(sd.evalf(sd.sin(x), 30, {x: sd.pi / 6}), mp.mpf(0.5), 30)


def test_the_working_precision_of_mpmath_is_left_alone():
    before = mp.prec, list(mp._prec_rounding)
    sd.evalf(sd.sin(x), 100, {x: 1})
    with pytest.raises(ArithmeticError):
        sd.evalf(sd.sin(sd.pi))
    assert (mp.prec, list(mp._prec_rounding)) == before


def test_threads_may_evaluate_at_once():
    results = {}

    def run(n):
        results[n] = sd.evalf(sd.exp(x), n, {x: 1})

    threads = [threading.Thread(target=run, args=(n,)) for n in (10, 40, 80, 160)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with mp.workdps(200):
        assert all(digits_agree(value, +mp.e, n) for n, value in results.items())


# Selections and undefined values ------------------------------------------------------------------


# Arrays -------------------------------------------------------------------------------------------


def test_linear_algebra():
    inverse = sp.Matrix(MATRIX.tolist()).inv()
    column = sp.Matrix(VECTOR.tolist())
    values = {A: MATRIX, v: VECTOR}
    cases = [
        (v @ A @ v, (column.T * sp.Matrix(MATRIX.tolist()) * column)[0]),
        (sd.det(A), sp.Matrix(MATRIX.tolist()).det()),
        (v @ sd.solve(A, v), (column.T * inverse * column)[0]),
        (sd.sum(sd.inv(A)), sum(inverse)),
        (sd.slogdet(A)[1], sp.log(18)),
        (sd.slogdet(-A)[0], -1),
        (sd.logsumexp(v), sp.log(sp.exp(1) + sp.exp(-2) + sp.exp(3))),
        (sd.grad(sd.det(A), A)[0, 0], 11),
        (sd.grad(sd.slogdet(A)[1], A)[1, 1], inverse[1, 1]),
    ]
    for expr, wanted in cases:
        ours = sd.evalf(expr, 40, values)
        with mp.workdps(60):
            theirs = mp.mpf(str(sp.N(wanted, 60)))
        assert digits_agree(ours, theirs, 40)


def test_large_matrices_by_elimination():
    rng = np.random.default_rng(0)
    matrix = rng.integers(-9, 10, (9, 9))
    B = sd.symbol("B", (9, 9))
    wanted = sp.Matrix(matrix.tolist()).det()
    assert sd.evalf(sd.det(B), 20, {B: matrix}) == int(wanted)
    assert evaluate_exact(sd.det(B), {B: matrix}) == int(wanted)
    identity = evaluate_exact(sd.inv(B) @ B, {B: matrix})
    assert (identity == np.eye(9, dtype=int)).all()


# Exact values: every op against NumPy on integers and fractions --------------------------------

a34 = sd.symbol("a", (3, 4))
DATA = np.array([[3, -1, 4, 1], [-5, 9, 2, -6], [5, 3, -5, 8]])
OPS = {
    "transpose": (lambda m, a: m.permute_dims(a, (1, 0)) if m is sd else a.T),
    "sum": lambda m, a: m.sum(a, axis=1),
    "broadcast": lambda m, a: a + m.broadcast_to(a[0], (3, 4)),
    "outer": lambda m, a: m.einsum("ij,kl->iljk", a, a),
    "diagonal": lambda m, a: m.einsum("ii->i", a[:, :3]),
    "trace": lambda m, a: m.trace(a[:, 1:]),
    "matmul": lambda m, a: a @ a.T,
    "reshape": lambda m, a: m.reshape(a, (2, 6)),
    "slice": lambda m, a: a[::-2, 1:3],
    "index": lambda m, a: a[1] - a[:, 2][0],
    "gather": lambda m, a: a[[0, 2, 0], [1, 1, 3]],
    "concat": lambda m, a: m.concatenate([a, a[:1]], axis=0),
    "stack": lambda m, a: m.stack([a, 2 * a], axis=1),
    "flip": lambda m, a: m.flip(a, axis=1),
    "cumsum": lambda m, a: m.cumsum(a, axis=1),
    "tril": lambda m, a: m.tril(a, k=1),
    "triu": lambda m, a: m.triu(a, k=-1),
    "prod": lambda m, a: m.prod(a, axis=0),
    "max": lambda m, a: m.max(a, axis=1),
    "min": lambda m, a: m.min(a, axis=0),
    "where": lambda m, a: m.where(a > 2, a, -a * a),
    "maximum": lambda m, a: m.maximum(a, 2) % 7,
    "logic": lambda m, a: (a > 0) & ~(a == 3) | (a < -5),
}


@pytest.mark.parametrize("name", OPS)
def test_every_op_agrees_with_numpy(name):
    ours = evaluate_exact(OPS[name](sd, a34), {a34: DATA})
    theirs = OPS[name](np, DATA)
    assert np.shape(ours) == np.shape(theirs)
    assert (ours == theirs).all() if np.shape(theirs) else ours == theirs


@pytest.mark.parametrize("name", [n for n in OPS if n not in ("logic",)])
def test_every_gradient_agrees_with_exact_differences(name):
    # The values are polynomials of degree 3 or less around DATA, but for 1-sided kinks far away.
    weights = sd.constant(
        np.arange(1, 1 + np.size(OPS[name](np, DATA))).reshape(np.shape(OPS[name](np, DATA)))
    )
    total = sd.sum(weights * OPS[name](sd, a34))
    gradient = evaluate_exact(sd.grad(total, a34), {a34: DATA})
    h = Fraction(1, 8)
    for i, j in [(0, 0), (1, 1), (2, 3), (0, 3)]:
        shifted = {}
        for k in (-2, -1, 1, 2):
            point = DATA.astype(object)
            point[i, j] = point[i, j] + k * h
            shifted[k] = evaluate_exact(total, {a34: point})
        # Exact for polynomials up to degree 4.
        slope = (8 * (shifted[1] - shifted[-1]) - (shifted[2] - shifted[-2])) / (12 * h)
        assert gradient[i, j] == slope


# Large graphs, user functions, arguments ---------------------------------------------------------


@pytest.mark.slow
def test_deep_graphs():
    expr = x
    for _ in range(20_000):
        expr = sd.sin(expr) + Fraction(1, 3)
    value, third = mp.mpf("0.3"), mp.mpf(1) / 3
    with mp.workdps(30):
        value, third = mp.mpf(3) / 10, mp.mpf(1) / 3
        for _ in range(20_000):
            value = mp.sin(value) + third
    assert digits_agree(sd.evalf(expr, 15, {x: "0.3"}), value, 15)


REFUSED = [
    (ArithmeticError, r"sin\(2\)", lambda: evaluate_exact(sd.sin(x), {x: 2})),
    (ArithmeticError, r"\(2\)\*\*\(1/2\)", lambda: evaluate_exact(sd.sqrt(x), {x: 2})),
    (ArithmeticError, "pi", lambda: evaluate_exact(sd.pi * x, {x: 2})),
    (ArithmeticError, r"\(0\)\*\*\(-1\)", lambda: evaluate_exact(1 / (x - 2), {x: 2})),
    (ArithmeticError, "log", lambda: evaluate_exact(sd.log(x), {x: 2})),
    (ArithmeticError, "inf", lambda: evaluate_exact(x * float("inf"), {x: 2})),
    (ArithmeticError, "log", lambda: evaluate_exact(strong(x, sd.log(y)), {x: 1, y: 2})),
    (ArithmeticError, "log", lambda: evaluate_exact(sd.inv(sd.log(SEVEN)), {SEVEN: np.eye(7)})),
    (ArithmeticError, "singular", lambda: evaluate_exact(sd.inv(B), {B: SINGULAR})),
    (ArithmeticError, "exp of a number beyond", lambda: sd.evalf(ENORMOUS, 5, {x: 10})),
    (
        ShapeError,
        r"symbol w: .* got \(3,\); n is 2 in X",
        lambda: evaluate_exact(
            sd.sum(X) + sd.sum(sd.symbol("w", ("n",))), {X: SIX, "w": [1, 2, 3]}
        ),
    ),
    (ValueError, "no value for y", lambda: sd.evalf(x + y, subs={x: 1})),
    (ValueError, "no value for v", lambda: sd.evalf(v)),
    (ShapeError, r"\(3,\).*\(2,\)", lambda: sd.evalf(v.sum(), subs={v: [1, 2]})),
    (TypeError, "not a symbol", lambda: sd.evalf(x, subs={x + 1: 2})),
    (TypeError, "complex", lambda: sd.evalf(x, subs={x: 1j})),
    (ValueError, "neither a decimal", lambda: sd.evalf(x, subs={x: "__import__('os')"})),
    *(
        (ValueError, "number of digits", lambda n=n: sd.evalf(x, n, {x: 1}))
        for n in (0, -1, 2.5, True)
    ),
    (
        ValueError,
        "20000 digits of gamma, .* at most 10000",
        lambda: sd.evalf(sd.gamma(x), 20_000, {x: "1.7"}),
    ),
    (Unsupported, "symbolic length n", lambda: sd.evalf(sd.sum(sd.ones(("n",))))),
    (ValueError, "no symbol is named 'unused'", lambda: x.evalf(5, {x: 2, "unused": 3})),
    (
        ArithmeticError,
        r"element \[1\] is about .* exactly 0",
        lambda: sd.stack([sd.pi, sd.sin(sd.pi)]).evalf(),
    ),
    *(
        (ArithmeticError, "may be exactly 0", lambda f=f: sd.evalf(f, 10, {x: 3}))
        for f in (sd.sin(sd.pi), sd.exp(sd.log(2 * x)) - 2 * x, sd.cos(sd.pi) + 1 + sd.sin(sd.pi))
    ),
]


@pytest.mark.parametrize(("error", "says", "call"), REFUSED)
def test_what_is_refused(error, says, call):
    with pytest.raises(error, match=says):
        call()


def test_contradicting_lengths_are_told_in_the_order_of_the_values():
    """Whichever symbol was made first."""
    first, second = sd.symbol("first", "n"), sd.symbol("second", "n")
    f = sd.sum(second) + sd.sum(first)
    for one, other in ((first, second), (second, first)):
        with pytest.raises(ShapeError, match=f"symbol {other.name}: .*; n is 2 in {one.name}"):
            evaluate_exact(f, {one: [1, 2], other: [1, 2, 3]})


def test_evalf_of_an_array_is_an_array_of_digits():
    v = sd.symbol("v", 2)
    value = sd.evalf(sd.outer(v, sd.exp(v)), 30, {v: ["0.1", 2]})
    assert value.dtype == object
    assert value.shape == (2, 2)
    assert str(value[0, 1]).startswith("0.7389056098930650227230427460")
    assert sd.evalf(sd.exp(sd.symbol("z", (0, 3))), 5, {"z": np.zeros((0, 3))}).shape == (0, 3)
    m = sd.symbol("m", ("n", 2))
    assert [int(a) for a in sd.sum(m, axis=1).evalf(20, {m: np.ones((3, 2))})] == [2, 2, 2]


def test_equal_elements_are_judged_once(monkeypatch):
    judged = []
    agree = sys.modules["symdiff.exact.evaluation"]._agree

    def counted(*given):
        judged.append(given)
        return agree(*given)

    monkeypatch.setattr("symdiff.exact.evaluation._agree", counted)
    f = sd.sin(sd.symbol("x")) * sd.ones((30, 20))
    assert {str(v) for v in f.evalf(5, {"x": 2}).flat} == {"0.9093"}
    assert len(judged) == 1
    g = sd.stack([sd.sin(sd.symbol("x")), sd.sin(sd.pi)])
    with pytest.raises(ArithmeticError, match=r"element \[1\]"):
        g.evalf(5, {"x": 2})


@all_cases("n", range(1, 101), least=100)
def test_what_rounds_to_zero_is_never_called_zero(n):
    """The value is near -1e-765217: no random error may cancel the loss of ``1 - tiny``."""
    f = x * (1 - 7 / sd.exp(4 * x**2)) - x
    with pytest.raises(ArithmeticError, match="not certain"):
        sd.evalf(f, n, {x: 663.6994259013494})
