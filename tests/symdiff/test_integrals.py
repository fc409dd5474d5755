"""Definite integrals: closed forms, quadrature, Leibniz' rule, and what has no value.

The oracles are SciPy's and mpmath's quadratures of integrands that are written again in their own
functions, and values from tables.
"""

from __future__ import annotations

import math
import pickle
from typing import TYPE_CHECKING, Any

import mpmath as mp
import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from symdiff.errors import ConvergenceError, NotDifferentiable, ShapeError, Unsupported
from symdiff.transforms import integrals
from symdiff.transforms.integrals import Integral

if TYPE_CHECKING:
    from collections.abc import Callable

    from symdiff.graph.expr import Expr

x, a, b, k = sd.symbols("x a b k")
v = sd.symbol("v", 3)
INF = math.inf


def is_node(f: Expr) -> bool:
    return any(isinstance(node.op, Integral) for node in sd.nodes(f))


def value(f: Expr, **env: Any) -> Any:
    return nm.interpret(f, {s: env[s.name] for s in f.free_symbols})


# Closed forms -------------------------------------------------------------------------------------

# The integrand, the limits and the known value.
CLOSED = [
    (x**2, a, b, lambda: (b**3 - a**3) / 3),
    (x**3 * k, 0, 2, lambda: 4 * k),
    (x * sd.exp(-x), 0, INF, lambda: sd.constant(1)),
    (sd.exp(-(x**2)), -INF, INF, lambda: sd.sqrt(sd.pi)),
    (1 / (1 + x**2), 0, INF, lambda: sd.pi / 2),
    (1 / (2 + sd.cos(x)), 0, 2 * sd.pi, lambda: 2 * sd.pi / sd.sqrt(sd.constant(3))),
    (sd.sqrt(1 - x**2), -1, 1, lambda: sd.pi / 2),
    (sd.log(x), 0, 1, lambda: sd.constant(-1)),
    (sd.exp(x), 1, 0, lambda: 1 - sd.e),
    (sd.sin(x), 0, x, lambda: 1 - sd.cos(x)),
    (sd.tan(x), 0, b, lambda: -sd.log(sd.cos(b))),
]


@pytest.mark.slow
@pytest.mark.parametrize(("f", "low", "high", "known"), CLOSED, ids=[str(row[0]) for row in CLOSED])
def test_closed_forms(f, low, high, known):
    result, expected = sd.integrate(f, x, low, high), known()
    assert not is_node(result)
    at = {s.name: sd.constant(1) / 3 for s in expected.free_symbols}
    ours = sd.evalf(result.subs({s: at[s.name] for s in result.free_symbols}), 30)
    assert mp.almosteq(ours, sd.evalf(expected.subs(at), 30), 1e-28)


NODES = [
    (sd.exp(-k * sd.cosh(x)), 0, 1, "no closed form"),
    (sd.exp(-k * x), 0, INF, "1/k has values where the integral diverges"),
    (sd.sin(k * x), 0, b, "a case for k = 0 has no derivative"),
    (1 / x, -1, 1, "a pole inside"),
    (1 / x**2, -1, 1, "-2 from the antiderivative, and a pole inside"),
    (1 / (x - 1) ** 2, 0, b, "a form with values for b > 1, where a pole is inside"),
    (1 / x, 1, INF, "divergent"),
    (1 / (2 + sd.cos(x)), 0, b, "floor of b"),
    (sd.function("theta")(x), 0, 1, "an unknown function"),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("f", "low", "high"), [row[:3] for row in NODES], ids=[r[3] for r in NODES]
)
def test_other_integrals_stay_nodes(f, low, high):
    result = sd.integrate(f, x, low, high)
    assert isinstance(result.op, Integral)
    assert result is sd.integrate(f, x, low, high, closed=False)


def test_a_wrong_closed_form_is_rejected(monkeypatch):
    import sympy as sp

    right = sp.integrate
    monkeypatch.setattr(
        sp, "integrate", lambda *given: right(*given) * (1 + sp.Rational(1, 10**48))
    )
    assert is_node(sd.integrate(x**2, x, a, b))
    monkeypatch.setattr(sp, "integrate", lambda *given: right(*given) + a.op.name)
    assert is_node(sd.integrate(x**2, x, 0, b))


def test_simple_integrands():
    assert sd.integrate(k, x, a, b) is k * (b - a)
    assert sd.integrate(0, x, a, b) is sd.constant(0)
    assert sd.integrate(2 * sd.cosh(x * k), x, 0, 1, closed=False) is 2 * sd.integrate(
        sd.cosh(x * k), x, 0, 1, closed=False
    )


# Quadrature and Leibniz' rule ---------------------------------------------------------------------

BESSEL: Callable[..., Any] = lambda m, x, k: m.exp(-k * m.cosh(x)) * m.cos(x * k)  # noqa: E731
I = sd.integrate(BESSEL(sd, x, k), x, a, b, closed=False)  # noqa: E741
AT = {"a": 0.25, "b": 1.5, "k": 0.75}


def exact(da: int = 0, db: int = 0, dk: int = 0) -> float:
    """The derivative of I, by mpmath: derivatives of a quadrature of 40 digits."""
    with mp.workdps(40):

        def of(a, b, k):
            return mp.quad(lambda x: BESSEL(mp, x, k), [a, b])

        return float(mp.diff(of, tuple(map(mp.mpf, AT.values())), (da, db, dk), h=mp.mpf("1e-8")))


@pytest.mark.slow
@pytest.mark.parametrize(
    "orders", [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 2), (0, 1, 1)]
)
def test_derivatives_are_those_of_the_integral(orders):
    f = I
    for s, n in zip((a, b, k), orders, strict=True):
        f = sd.diff(f, s, n)
    assert math.isclose(value(f, **AT), exact(*orders), rel_tol=1e-9)
    assert math.isclose(nm.lower(f, [a, b, k])(*AT.values()), exact(*orders), rel_tol=1e-9)


def test_both_modes_agree():
    expected = [exact(1), exact(0, 1), exact(0, 0, 1)]
    np.testing.assert_allclose([value(d, **AT) for d in sd.grad(I, [a, b, k])], expected, rtol=1e-9)
    moved = sd.jvp(I, [a, b, k], [1, 2, 3])
    assert math.isclose(value(moved, **AT), np.dot(expected, [1, 2, 3]), rel_tol=1e-9)
    H = sd.hessian(I, [b, k])
    assert math.isclose(value(H[0][1], **AT), exact(0, 1, 1), rel_tol=1e-9)
    assert math.isclose(value(H[1][0], **AT), exact(0, 1, 1), rel_tol=1e-9)
    assert sd.diff(I, b) is BESSEL(sd, b, k)
    assert sd.diff(I, a) is -BESSEL(sd, a, k)


def test_arrays_in_the_integrand():
    """The Jacobian of a vector of integrals, against a closed form."""
    f = sd.integrate(sd.exp(-(v @ v) * x) * v, x, 0, b, closed=False)
    s = v @ v
    known = (1 - sd.exp(-s * b)) / s * v
    at = {v: np.array([0.3, -0.4, 0.5]), b: 1.25}
    np.testing.assert_allclose(nm.interpret(f, at), nm.interpret(known, at), rtol=1e-12)
    for mode in ("forward", "reverse"):
        for by in (v, b):
            np.testing.assert_allclose(
                nm.interpret(sd.jacobian(f, by, mode=mode), at),
                nm.interpret(sd.jacobian(known, by), at),
                rtol=1e-10,
                atol=1e-12,
            )
    np.testing.assert_allclose(
        nm.interpret(sd.hessian(sd.sum(f), v), at),
        nm.interpret(sd.hessian(sd.sum(known), v), at),
        rtol=1e-9,
        atol=1e-12,
    )
    assert sd.sparsity(f, v).all()


def test_batches():
    many = sd.batch(I, {k: np.array([0.5, 0.75])})
    found = nm.interpret(many, {a: AT["a"], b: AT["b"]})
    expected = [value(I, **{**AT, "k": c}) for c in (0.5, 0.75)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    with pytest.raises(Unsupported, match="batch: an integral has one pair of limits"):
        sd.batch(I, {b: np.ones(2)})


def test_a_wrong_rule_is_seen(monkeypatch):
    right = integrals._slope
    monkeypatch.setattr(integrals, "_slope", lambda node, k: (-1 if k == 0 else 1) * right(node, k))
    with pytest.raises(AssertionError):
        test_derivatives_are_those_of_the_integral((1, 0, 0))


def test_jumps():
    """A place that moves with a parameter would add a term; the rule refuses."""
    loop = sd.fori_loop(0, 2, lambda i, c: sd.where(c < k, c, 2 * c), x)
    for f in (sd.where(x < k, 1, x), sd.sign(x - k), sd.floor(x * k), (x < k) * x, loop):
        moving = sd.integrate(f, x, 0, 2, closed=False)
        with pytest.raises(NotDifferentiable, match=r"the integrand may jump, by .* at a place x"):
            sd.diff(moving, k)
        with pytest.raises(NotDifferentiable, match="the integrand may jump"):
            sd.grad(moving, [k])
    bend = sd.integrate(abs(x - k), x, 0, 2, closed=False)
    assert math.isclose(value(sd.diff(bend, k), k=0.5), 2 * 0.5 - 2, abs_tol=1e-9)
    with pytest.raises(NotDifferentiable, match=r"by sign\(x - k\)"):
        sd.diff(bend, k, 2)
    split = sd.integrate(k - x, x, 0, k) + sd.integrate(x - k, x, k, 2)
    assert math.isclose(value(sd.diff(split, k, 2), k=0.5), 2)
    fixed = sd.integrate(sd.where(x < 1, k, k**2), x, 0, 2, closed=False)
    assert math.isclose(value(sd.diff(fixed, k), k=0.5), 2, rel_tol=1e-12)
    assert sd.diff(sd.integrate(sd.where(x < k, 1, x), x, 0, b, closed=False), b) is sd.where(
        b < k, 1, b
    )


# Values that exist, and those that do not ---------------------------------------------------------

VALUES = [
    (1 / sd.sqrt(x), 0, 1, 2),
    (sd.log(x), 0, 1, -1),
    (sd.exp(-(x**2)), -INF, INF, math.sqrt(math.pi)),
    (sd.exp(-x), 0, INF, 1),
    (sd.exp(-x), INF, 0, -1),
    (sd.exp(x), -INF, 0, 1),
    (1 / x**2, 1, INF, 1),
    (sd.exp(x), 1, 0, 1 - math.e),
    (1 / x, 1, 1, 0),
    (sd.sin(x), -1, 1, 0),
    (abs(x - 0.3), 0, 1, 0.29),
    (sd.sin(200 * x), 0, 10, (1 - math.cos(2000)) / 200),
    (x**-0.9, 0, 1, 10),
]


@pytest.mark.parametrize(("f", "low", "high", "known"), VALUES, ids=[str(row[0]) for row in VALUES])
def test_values(f, low, high, known):
    found = nm.interpret(sd.integrate(f, x, low, high, closed=False), {})
    assert math.isclose(found, known, rel_tol=1e-9, abs_tol=1e-9)


NONE = [
    (1 / x, -1, 1),
    (1 / x, -1, 2),
    (1 / x**2, -1, 1),
    (1 / (x - 0.1), -1, 1),
    (1 / (x - 1), 0, 3),
    (1 / (x - 1) ** 2, 0, 3),
    (1 / x, 0, 1),
    (1 / x, 1, INF),
    (sd.tan(x), 0, 3),
    (sd.sin(x), 0, INF),
    (sd.sqrt(x), -1, 1),
]


@pytest.mark.parametrize(
    ("f", "low", "high"), NONE, ids=[f"{r[0]} from {r[1]} to {r[2]}" for r in NONE]
)
def test_what_has_no_certain_value_is_refused(f, low, high):
    with pytest.raises(ConvergenceError, match="integrate: no certain value from"):
        nm.interpret(sd.integrate(f, x, low, high, closed=False), {})


def test_integrals_of_integrals():
    """The inner integral is one of the integrand's nodes."""
    y = sd.symbol("y")
    width = sd.integrate(sd.cosh(y * x * k), y, 0, x, closed=False)
    area = sd.integrate(width, x, 0, b, closed=False)
    with mp.workdps(30):

        def of(b, k):
            return mp.quad(lambda x: mp.sinh(k * x**2) / (k * x), [0, b])

        at = mp.mpf("1.5"), mp.mpf("0.75")
        for orders, f in (((0, 0), area), ((1, 0), sd.diff(area, b)), ((0, 1), sd.diff(area, k))):
            expected = float(mp.diff(of, at, orders, h=mp.mpf("1e-8")))
            assert math.isclose(value(f, b=1.5, k=0.75), expected, rel_tol=1e-9)


def test_functions_of_integrals():
    F = nm.lower(I * k, [a, b, k])
    result, slopes = F.value_and_grad(*AT.values())
    assert math.isclose(result, 0.75 * exact(), rel_tol=1e-9)
    assert math.isclose(slopes[2], exact() + 0.75 * exact(0, 0, 1), rel_tol=1e-9)
    native = nm.lower(I * k, [a, b, k], backend="auto")
    assert math.isclose(native(*AT.values()), result, rel_tol=1e-12)
    single = nm.lower(I, [a, b, k])(*map(np.float32, AT.values()))
    assert single.dtype == np.float32
    assert math.isclose(single, exact(), rel_tol=1e-6)


def test_limits_that_are_infinite_only_in_a_call():
    F = nm.lower(sd.integrate(sd.exp(-k * x), x, 0, b), [k, b])
    assert math.isclose(F(2.0, INF), 0.5, rel_tol=1e-12)
    with pytest.raises(ConvergenceError):
        F(-1.0, INF)
    assert math.isclose(nm.lower(I, [a, b, k])(*AT.values()), exact(), rel_tol=1e-12)
    many = nm.lower(I, [a, b, k])(np.array([0.25, 0.5]), 1.5, 0.75)
    np.testing.assert_allclose(many[0], exact(), rtol=1e-12)


# The node -----------------------------------------------------------------------------------------


def test_equal_integrals_are_one_node():
    y = sd.symbol("y")
    assert sd.integrate(BESSEL(sd, x, k), x, a, b, closed=False) is I
    assert I.free_symbols == (a, b, k)
    assert pickle.loads(pickle.dumps(I)) is I
    assert I.subs({k: y}) is sd.integrate(BESSEL(sd, x, y), x, a, b, closed=False)
    assert sd.integrate(sd.sin(x) / (x + 2), x, 0, x, closed=False).free_symbols == (x,)


def test_texts():
    f = sd.integrate(sd.exp(-k * sd.cosh(x)), x, 0, b, closed=False)
    assert sd.text(f) == "integrate(exp(-k*cosh(x)), x, 0, b)"
    assert sd.latex(f) == r"\int_{0}^{b} e^{-k \cosh{\left(x \right)}} \, dx"
    assert sd.latex(k * f * sd.sqrt(1 + b)) == (
        r"k \sqrt{b + 1} \int_{0}^{b} e^{-k \cosh{\left(x \right)}} \, dx"
    )
    assert sd.text(sd.diff(f, k)) == "-integrate(exp(-k*cosh(x))*cosh(x), x, 0, b)"
    assert sd.text(sd.integrate(sd.cosh(x**2), x, 0, x, closed=False)) == (
        "integrate(cosh(x_**2), x_, 0, x)"
    )
    assert "integrate" in sd.mermaid(f)
    assert "Leibniz" in str(nm.steps(f, b))
    with pytest.raises(sd.ParseError, match="integrate is not a function here"):
        sd.parse(sd.text(f))


@pytest.mark.parametrize(
    "call",
    [
        lambda: sd.evalf(I, 20, AT),
        lambda: sd.to_sympy(I),
        lambda: nm.check.enclose(I, {a: (0, 1), b: (1, 2), k: (1, 2)}),
    ],
    ids=["evalf", "to_sympy", "enclose"],
)
def test_what_needs_a_closed_form_is_refused(call):
    with pytest.raises(Unsupported, match="integrate: an integral by x without a closed form"):
        call()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: sd.integrate(x, v, 0, 1), ShapeError, "x has shape"),
        (lambda: sd.integrate(x, x, v, 1), ShapeError, "a has shape"),
        (lambda: sd.integrate(x, x, 0, v), ShapeError, "b has shape"),
        (lambda: sd.integrate(x, "x", 0, 1), TypeError, "'x' expects a real symbol"),
        (lambda: sd.integrate(x, 2 * x, 0, 1), TypeError, "'x' expects a real symbol"),
        (lambda: sd.integrate(x, sd.symbol("n", dtype=int), 0, 1), TypeError, "real symbol"),
        (lambda: sd.integrate(x, x, 0), TypeError, r"integrate\(f, x, a, b\)"),
        (lambda: sd.integrate("x", x, 0, 1), TypeError, "'f'"),
        (lambda: sd.integrate(x, x, 0, "1"), TypeError, "'b'"),
    ],
)
def test_bad_arguments(call, error, text):
    with pytest.raises(error, match=text):
        call()
