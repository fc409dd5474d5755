"""Unknown functions: derivatives, formulas in their place, texts, SymPy, and what is refused.

The oracle is SymPy: its undefined functions, its chain rule, ``doit`` after concrete functions are
put in, and ``euler_equations``.
"""

from __future__ import annotations

import copy
import math
import pickle
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import sympy as sp
from sympy.calculus.euler import euler_equations

import numeric as nm
import symdiff as sd
from symdiff.calculus import rules
from symdiff.errors import NotDifferentiable, ParseError, ShapeError, Unsupported
from symdiff.graph import ops
from symdiff.interchange.parser.arguments import PUBLIC
from symdiff.interchange.parser.language import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from symdiff.graph.expr import Expr

t, x, y = sd.symbols("t x y")
theta, phi, u = sd.function("theta"), sd.function("phi"), sd.function("u")
T, X, Y = sp.symbols("t x y", real=True)
THETA, PHI, U = (sp.Function(name, real=True) for name in ("theta", "phi", "u"))

# Derivatives --------------------------------------------------------------------------------------

# Concrete functions by name of a module of functions: ours and SymPy's are two modules.
CONCRETE = [
    lambda m: (
        lambda s: m.sin(3 * s),
        lambda s: s**3 - s,
        lambda a, b: a**3 * b**2 + a * b,
    ),
    lambda m: (
        lambda s: m.exp(-(s**2)),
        lambda s: m.tanh(s),
        lambda a, b: m.sin(a - 2 * b) + a**2,
    ),
]
POINT = {"t": Fraction(3, 10), "x": Fraction(7, 10), "y": Fraction(-2, 5)}
FORMULAS = {
    "alone": lambda m, th, ph, u, t, x, y: th(t),
    "chain": lambda m, th, ph, u, t, x, y: th(t**2),
    "nested": lambda m, th, ph, u, t, x, y: th(ph(t * x)),
    "twice": lambda m, th, ph, u, t, x, y: th(th(t)),
    "product": lambda m, th, ph, u, t, x, y: th(t) ** 2 * ph(x) * m.exp(t),
    "quotient": lambda m, th, ph, u, t, x, y: m.sin(th(t)) / (2 + ph(t) ** 2),
    "plane": lambda m, th, ph, u, t, x, y: u(x, t),
    "waves": lambda m, th, ph, u, t, x, y: u(x - 2 * t, x + t * y),
    "diagonal": lambda m, th, ph, u, t, x, y: u(t, t) * u(x, t),
    "mixed": lambda m, th, ph, u, t, x, y: th(u(x, t)) + u(th(t), ph(x)),
    "numbers": lambda m, th, ph, u, t, x, y: th(2) * t + u(3, t * x),
}
ORDERS = [(), "t", "x", "tt", "tx", "xt", "ttx", "tttt"]


def ours(name: str) -> Expr:
    return FORMULAS[name](sd, theta, phi, u, t, x, y)


def agree(f: Expr, name: str, change: Callable[[sp.Expr], sp.Expr] = lambda g: g) -> None:
    """Compare 30 digits of f, with formulas in place, and of SymPy's derivative of formulas."""
    for concrete in CONCRETE:
        known = sd.substitute(f, dict(zip((theta, phi, u), concrete(sd), strict=True)))
        names = [symbol.name for symbol in known.free_symbols]
        value = sd.evalf(known, 32, {name: POINT[name] for name in names})
        theirs = change(FORMULAS[name](sp, *concrete(sp), T, X, Y))
        at = {sp.Symbol(name, real=True): sp.Rational(c) for name, c in POINT.items()}
        expected = sp.N(theirs.subs(at), 40)
        error = abs(sp.Float(str(value), 40) - expected)
        assert error <= abs(expected) * sp.Float("1e-30"), (f, value, expected)


@pytest.mark.parametrize("name", FORMULAS)
def test_derivatives_are_sympys(name):
    f = ours(name)
    for by in ORDERS:
        d = sd.diff(f, *[{"t": t, "x": x}[c] for c in by]) if by else f
        agree(d, name, lambda g, by=by: g.diff(*[{"t": T, "x": X}[c] for c in by]) if by else g)


@pytest.mark.parametrize("name", FORMULAS)
def test_both_modes_are_sympys(name):
    f, symbols, theirs = ours(name), [t, x, y], [T, X, Y]
    tangents, seeds = [sd.sin(x), 2 * t, y**2], [sp.sin(X), 2 * T, Y**2]

    def along(g: sp.Expr) -> sp.Expr:
        return sum(g.diff(s) * seed for s, seed in zip(theirs, seeds, strict=True))

    agree(sd.jvp(f, symbols, tangents), name, along)
    rows = zip(
        sd.grad(f, symbols, allow_unused=True),
        sd.vjp(f, symbols, t * x),
        sd.hvp(f, symbols, tangents),
        sd.hessian(f, symbols),
        theirs,
        strict=True,
    )
    for gradient, pulled, product, row, s in rows:
        agree(gradient, name, lambda g, s=s: g.diff(s))
        agree(pulled, name, lambda g, s=s: g.diff(s) * T * X)
        agree(product, name, lambda g, s=s: along(g.diff(s)))
        for second, r in zip(row, theirs, strict=True):
            agree(second, name, lambda g, s=s, r=r: g.diff(s, r))


def test_a_wrong_chain_rule_is_seen(monkeypatch):
    right = rules.UnknownRule.partial
    monkeypatch.setattr(rules.UnknownRule, "partial", lambda self: 2 * right(self))
    with pytest.raises(AssertionError):
        test_derivatives_are_sympys("chain")
    other = lambda self: rules.opaque(self.node.op.by(0), *self.node.args)  # noqa: E731
    monkeypatch.setattr(rules.UnknownRule, "partial", other)
    with pytest.raises(AssertionError):
        test_derivatives_are_sympys("waves")


def test_vectors_of_values():
    v = sd.symbol("v", 3)
    f = sd.stack([theta(v[0]), theta(v[1] * v[2]), u(v[0], v[2])])
    known = f.subs({theta: sd.sin, u: lambda a, b: a * b**2})
    plain = sd.stack([sd.sin(v[0]), sd.sin(v[1] * v[2]), v[0] * v[2] ** 2])
    assert known is plain
    for mode in ("forward", "reverse"):
        J = sd.jacobian(f, v, mode=mode).subs({theta: sd.sin, u: lambda a, b: a * b**2})
        at = {v: np.array([0.3, 0.5, -2.0])}
        np.testing.assert_allclose(
            nm.interpret(J, at), nm.interpret(sd.jacobian(plain, v), at), rtol=1e-14
        )
    pattern = [[1, 0, 0], [0, 1, 1], [1, 0, 1]]
    assert sd.sparsity(f, v).astype(int).tolist() == pattern
    assert str(sd.diff(theta(v[0] ** 2), v[0])) == "2*v[0]*theta'(v[0]**2)"


def test_derivatives_are_nodes_of_one_kind():
    assert sd.diff(u(x, t), x, t) is sd.diff(u(x, t), t, x)
    assert sd.diff(u(x, t), x, 2, t) is sd.diff(u(x, t), t, x, x)
    assert sd.diff(theta(t), t, 3) is sd.diff(sd.diff(theta(t), t), t, 2)
    assert sd.diff(theta(t), x) is sd.constant(0)
    assert sd.diff(theta(t**2), t) is 2 * t * sd.diff(theta(x), x).subs({x: t**2})
    assert isinstance(sd.diff(theta(t), t, 9).op, ops.Unknown)


# Values of unknown functions as variables ---------------------------------------------------------


def test_a_value_and_its_derivative_are_independent():
    q, v = theta(t), sd.diff(theta(t), t)
    L = v**2 * q * t + sd.sin(q)
    assert sd.diff(L, q) is v**2 * t + sd.cos(q)
    assert sd.diff(L, v) is 2 * v * q * t
    assert sd.diff(L, q, v) is 2 * v * t
    assert sd.hessian(L, [q, v])[0][1] is 2 * t * v
    assert sd.jvp(L, [q, v], [1, 0]) is sd.diff(L, q)
    assert sd.grad(L, [q, v]) == (sd.diff(L, q), sd.diff(L, v))
    assert sd.diff(phi(t), q) is sd.constant(0)
    assert sd.diff(theta(q), q) is sd.diff(theta(x), x).subs({x: q})
    assert sd.diff(theta(0) ** 2 * t, theta(0)) is 2 * t * theta(0)


def equations(L: Expr, functions: list[Any]) -> list[Expr]:
    """Euler and Lagrange, by their definition."""
    result = []
    for f in functions:
        q, v = f(t), sd.diff(f(t), t)
        result.append(sd.diff(L, q) - sd.diff(sd.diff(L, v), t))
    return result


M, LENGTH, G = sp.symbols("m l g", real=True)
m, length, g = sd.symbols("m l g")


def pendulum(s, m, r, g, t, th, v):
    return m * r**2 * v**2 / 2 + m * g * r * s.cos(th)


def test_the_pendulum():
    ours = equations(pendulum(sd, m, length, g, t, theta(t), sd.diff(theta(t), t)), [theta])
    theirs = euler_equations(pendulum(sp, M, LENGTH, G, T, THETA(T), THETA(T).diff(T)), THETA(T), T)
    assert sp.simplify(sd.to_sympy(ours[0]) - theirs[0].lhs) == 0
    assert -ours[0] is m * length**2 * sd.diff(theta(t), t, 2) + m * g * length * sd.sin(theta(t))


def double_pendulum(s, m, r, g, t, a, b, da, db):
    kinetic = r**2 * (2 * da**2 + db**2 + 2 * da * db * s.cos(a - b)) / 2
    return m * (kinetic + g * r * (2 * s.cos(a) + s.cos(b)) * (1 + t / 10))


def test_the_double_pendulum_with_a_lagrangian_that_depends_on_time():
    rates = [sd.diff(f(t), t) for f in (theta, phi)]
    L = double_pendulum(sd, m, length, g, t, theta(t), phi(t), *rates)
    theirs = euler_equations(
        double_pendulum(sp, M, LENGTH, G, T, THETA(T), PHI(T), THETA(T).diff(T), PHI(T).diff(T)),
        [THETA(T), PHI(T)],
        T,
    )
    for a, b in zip(equations(L, [theta, phi]), theirs, strict=True):
        assert sp.expand(sd.to_sympy(a).doit() - b.lhs) == 0


def test_the_equation_of_motion_becomes_a_function_of_numbers():
    """Symbols take the places of theta(t) and its derivatives."""
    q, v, a = theta(t), sd.diff(theta(t), t), sd.diff(theta(t), t, 2)
    L = pendulum(sd, m, length, g, t, q, v)
    (motion,) = equations(L, [theta])
    acceleration = -motion.subs({a: 0}) / sd.diff(motion, a)
    angle = sd.symbol("angle")
    F = nm.lower(acceleration.subs({q: angle}), [angle, m, length, g])
    assert math.isclose(F(0.5, 2.0, 3.0, 9.81), -9.81 / 3 * math.sin(0.5), rel_tol=1e-14)


# Total derivatives --------------------------------------------------------------------------------


def test_a_total_derivative_is_the_derivative_of_functions_of_time():
    q, v, a = sd.symbols("q v a")
    f = q**2 * sd.sin(v) * t + sd.exp(q * t)
    rates = sd.total_derivative(f, t, {q: v, v: a})
    of = {q: theta(t), v: sd.diff(theta(t), t)}
    along = sd.diff(f.subs(of), t)
    there = rates.subs(of | {a: sd.diff(theta(t), t, 2)})
    difference = sp.expand((sd.to_sympy(along) - sd.to_sympy(there)).doit())
    assert difference == 0
    assert sd.total_derivative(f, t) is sd.diff(f, t)
    assert sd.total_derivative([f, q], t, {q: v})[1] is v
    assert sd.total_derivative(theta(t), t) is sd.diff(theta(t), t)


def test_a_total_derivative_of_arrays():
    r, v = sd.symbol("r", 3), sd.symbol("v", 3)
    assert sd.total_derivative(r @ r, t, {r: v}) is 2 * (r @ v)
    assert sd.total_derivative(r * t, t, {r: v}) is r + t * v
    assert sd.total_derivative(r[0] * r[1], t, {r[0]: x}) is x * r[1]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: sd.total_derivative(x, t, {x: sd.symbol("v", 3)}), ShapeError, "rate of x"),
        (lambda: sd.total_derivative(x, t, {t: 1}), ValueError, "t"),
        (lambda: sd.total_derivative(theta(t), t, {theta(t): x}), ValueError, "leave it out"),
        (lambda: sd.total_derivative(x, t, [x]), TypeError, "rates"),
        (lambda: sd.total_derivative(x, sd.symbol("t", 2)), ShapeError, "expected a scalar"),
        (lambda: sd.total_derivative(x, "t"), TypeError, "'t'"),
        (lambda: sd.total_derivative(x, t, {"x": 1}), TypeError, "x"),
        (lambda: sd.total_derivative(x, t, {x: "v"}), TypeError, "rates"),
    ],
)
def test_a_total_derivative_refuses(call, error, text):
    with pytest.raises(error, match=f"total_derivative.*{text}"):
        call()


# Formulas in the place of functions ---------------------------------------------------------------


def test_all_replacements_happen_at_once():
    a = sd.symbol("a")
    f = a * theta(a * t)
    assert f.subs({theta: lambda s: a * sd.sin(s), a: 2}) is 2 * (a * sd.sin(2 * t))
    assert f.subs({a: theta(x), theta: sd.sin}) is theta(x) * sd.sin(theta(x) * t)
    assert theta(phi(t)).subs({theta: phi, phi: theta}) is phi(theta(t))
    assert theta(t).subs({theta: lambda s: theta(s) + 1}) is theta(t) + 1
    assert theta(t).subs({u: lambda p, q: p}) is theta(t)
    assert theta(t).subs({"t": 3}) is theta(3)
    assert sd.substitute([theta(t), phi(t)], {theta: sd.cos}) == (sd.cos(t), phi(t))


def test_a_formula_may_be_written_with_symbols():
    s, r = sd.symbols("s r")
    assert sd.diff(theta(t**2), t).subs({theta: (sd.sin(s), s)}) is 2 * t * sd.cos(t**2)
    assert u(t, x).subs({u: (s**2 + r * t, s, r)}) is t**2 + x * t
    assert u(t, x).subs({u: (t - x, x, t)}) is x - t
    assert theta(t).subs(theta, sd.exp) is sd.exp(t)
    assert theta(t).subs({theta: lambda s: 3}) is sd.constant(3)
    assert sd.diff(theta(t), t).subs({theta: lambda s: 3}) is sd.constant(0)
    assert theta(t).subs({theta: np.sin}) is sd.sin(t)


def test_a_value_is_replaced_as_a_symbol():
    q, v = theta(t), sd.diff(theta(t), t)
    assert (q * v).subs({q: x, v: y}) is x * y
    assert (q * v).subs({q: x}) is x * v
    assert (q + theta(x)).subs({q: theta(x), theta(x): q}) is q + theta(x)
    with pytest.raises(ShapeError, match=r"theta\(t\) is a scalar"):
        q.subs({q: sd.symbol("v", 2)})


def test_a_custom_function_with_its_derivative():
    """A lowered function, which runs on numbers, and its derivative."""
    F, D = nm.lower(sd.sin(x), x), nm.lower(sd.cos(x), x)
    slope = sd.custom(D, name="slope")
    wave = sd.custom(F, lambda g, out, s: g * slope(s), name="wave")
    f = sd.diff(theta(t**2) * t, t).subs({theta: wave})
    expected = nm.lower(sd.diff(sd.sin(t**2) * t, t), t)(0.7)
    assert math.isclose(nm.lower(f, t)(0.7), expected, rel_tol=1e-15)
    with pytest.raises(NotDifferentiable, match="slope"):
        sd.diff(theta(t), t, 2).subs({theta: wave})
    first = sd.custom(np.sin, vjp_numpy=lambda g, out, s: g * np.cos(s), name="first")
    once = nm.lower(sd.diff(theta(t), t).subs({theta: first}), t)
    assert math.isclose(once(0.7), math.cos(0.7), rel_tol=1e-15)


@pytest.mark.parametrize(
    ("formula", "error", "text"),
    [
        (3, TypeError, "theta is a function, and 3 is not"),
        (sd.sin(x), TypeError, "theta is a function"),
        (lambda: x, TypeError, "as theta has one argument"),
        (lambda p, q: p, TypeError, "as theta has one argument"),
        ((x * t, x, t), ValueError, "one of 2 arguments, and theta has one argument"),
        ((x * t, 3), TypeError, "theta is a function"),
        ((x * t, t, t), TypeError, "theta is a function"),
        (lambda s: sd.symbol("v", 3) * s, ShapeError, r"theta has shape \(3,\)"),
        (lambda s: s < 3, TypeError, "theta is a condition"),
        (lambda s: "s", TypeError, "formula for theta"),
        (math.sin, TypeError, "sd.custom"),
        (nm.lower(sd.sin(x), x), TypeError, "sd.custom"),
    ],
)
def test_what_is_no_formula_is_refused(formula, error, text):
    with pytest.raises(error, match=text):
        sd.substitute(theta(t), {theta: formula})
    with pytest.raises(error, match=text):
        theta(t).subs({theta: formula})


def test_pairs_do_not_replace_functions():
    with pytest.raises(TypeError, match="pairs replace symbols"):
        theta(t).subs([(theta, sd.sin), (t, 3)])


def test_functions_inside_loops_and_equations():
    w = sd.symbol("w", 3)
    loop = sd.scan(lambda c, s: (theta(c) + s, None), 0.0, w)[0]
    inverse = sd.root(lambda s: theta(s) - x, 0.0)
    area = sd.integrate(theta(t * x), t, 0, x)
    for f in (loop, inverse, sd.diff(inverse, x), area):
        with pytest.raises(Unsupported, match="theta is used inside a loop, an equation"):
            f.subs({theta: sd.sin})
        with pytest.raises(Unsupported, match="lower: theta is an unknown function"):
            nm.lower(f, [w, x])
    assert "theta'" in str(sd.diff(inverse, x))


def test_deep_formulas_are_walked_in_loops():
    f = x
    for _ in range(1100):
        f = theta(f + t)
    d = sd.diff(f, x)
    gradient = sd.grad(f, [x, t])
    assert {s.name for s in gradient[1].free_symbols} == {"t", "x"}
    assert sd.text(d)
    assert sd.latex(d)
    assert pickle.loads(pickle.dumps(d)) is d
    known = d.subs({theta: lambda s: s / 2})
    assert sd.evalf(known, 20) == 2 ** sp.Integer(-1100)
    assert sd.from_sympy(sd.to_sympy(f)) is f
    with pytest.raises(Unsupported, match="lower: theta"):
        nm.lower(d, [x, t])
    with pytest.raises(Unsupported, match=r"to_sympy: .* of theta'.* too deep"):
        sd.to_sympy(d)


# The functions themselves -------------------------------------------------------------------------


def test_functions_of_one_name_are_one():
    assert sd.function("theta") == theta != phi
    assert len({sd.function("theta"), theta, phi}) == 2
    assert sd.function("theta")(t) is theta(t)
    assert repr(theta) == "<unknown function theta>"
    for same in (pickle.loads(pickle.dumps(theta)), copy.deepcopy(theta), copy.copy(theta)):
        assert same == theta
    f = sd.diff(u(x**2, t), x, t) + theta(3)
    assert pickle.loads(pickle.dumps(f)) is f
    assert copy.deepcopy(f) is f
    assert theta(3) is theta(3.0)
    assert theta(t).free_symbols == (t,)
    assert sd.free_symbols(u(t, 2 * x)) == (t, x)
    assert sd.count_nodes(sd.diff(theta(t**2), t)) == 5
    assert theta(t).shape == ()
    assert theta(t).dtype is float


def test_a_name_of_a_known_function_is_refused():
    """Else a text would be read as the known function."""
    for name in {*FUNCTIONS, *PUBLIC}:
        with pytest.raises(ValueError, match=f"function: {name} is a known function"):
            sd.function(name)
    for name in ("", "2", "a b", 3, None, "x'"):
        with pytest.raises(ValueError, match="is not an identifier"):
            sd.function(name)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((), TypeError, "at least one argument"),
        ((sd.symbol("v", 3),), ShapeError, r"argument 0 has shape \(3,\).*sd.stack"),
        ((t, np.ones(2)), ShapeError, r"argument 1 has shape \(2,\)"),
        (("t",), TypeError, "theta: argument '0'"),
        ((1j,), TypeError, "theta: argument '0'"),
    ],
)
def test_arguments_are_scalars(arguments, error, text):
    with pytest.raises(error, match=text):
        theta(*arguments)


# Texts --------------------------------------------------------------------------------------------

TEXTS = [
    (lambda: theta(t), "theta(t)", r"\theta\left(t\right)"),
    (lambda: sd.diff(theta(t), t), "theta'(t)", r"\theta'\left(t\right)"),
    (lambda: sd.diff(theta(t), t, 2), "theta''(t)", r"\theta''\left(t\right)"),
    (lambda: sd.diff(theta(t), t, 3), "theta'''(t)", r"\theta'''\left(t\right)"),
    (lambda: sd.diff(theta(t), t, 4), "theta^(4)(t)", r"\theta^{(4)}\left(t\right)"),
    (lambda: sd.diff(theta(t**2), t), "2*t*theta'(t**2)", r"2 t \theta'\left(t^{2}\right)"),
    (lambda: sd.diff(theta(t), t) ** 2, "theta'(t)**2", r"\theta'\left(t\right)^{2}"),
    (lambda: 1 / theta(t), "1/theta(t)", r"\frac{1}{\theta\left(t\right)}"),
    (lambda: u(x, t), "u(x, t)", r"u\left(x, t\right)"),
    (
        lambda: sd.diff(u(x, t), x, t),
        "u^(1,1)(x, t)",
        r"\frac{\partial^{2} u}{\partial x \partial t}\left(x, t\right)",
    ),
    (
        lambda: sd.diff(u(x, t), t, 2),
        "u^(0,2)(x, t)",
        r"\frac{\partial^{2} u}{\partial t^{2}}\left(x, t\right)",
    ),
    (
        lambda: sd.diff(u(x, t**2), x) ** 2,
        "u^(1,0)(x, t**2)**2",
        r"\left(\frac{\partial u}{\partial x}\left(x, t^{2}\right)\right)^{2}",
    ),
    (
        lambda: sd.diff(u(x, y), x, 2, y).subs({y: x}),
        "u^(2,1)(x, x)",
        r"\partial_{1}^{2} \partial_{2} u\left(x, x\right)",
    ),
    (
        lambda: sd.diff(u(x, y), x).subs({y: sd.exp(x)}),
        "u^(1,0)(x, exp(x))",
        r"\partial_{1} u\left(x, e^{x}\right)",
    ),
]


@pytest.mark.parametrize("build", [row[0] for row in TEXTS], ids=[row[1] for row in TEXTS])
def test_texts(build):
    text, latex = next(row[1:] for row in TEXTS if row[0] is build)
    assert sd.text(build()) == text
    assert sd.short(build()) == text
    assert sd.latex(build()) == latex


def test_other_pictures():
    f = sd.diff(theta(t) * sd.sin(t), t)
    assert "theta" in sd.mermaid(f)
    assert "theta" in nm.draw(f).source
    steps = str(nm.steps(f, t))
    assert "derivative of theta is theta'" in steps
    assert "d t1/dt = theta''(t)" in steps or "theta''(t)" in steps


@pytest.mark.parametrize(
    ("text", "position", "reason"),
    [
        ("theta(t)", 0, "theta is not a function here.*unknown functions are not read back"),
        ("2 + q(t)", 4, "q is not a function here.*unknown functions are not read back"),
        ("1 + theta'(t)", 4, "theta is an unknown function"),
        ("theta''(t)*2", 0, "theta is an unknown function"),
        ("x*theta'''(t)", 2, "theta is an unknown function"),
        ("2 + theta'", 4, "theta is an unknown function"),
        ("theta^(4)(t)", 0, "theta is an unknown function"),
        ("2*u^(1,2)(x, t)", 2, "u is an unknown function"),
        ("t1 = theta'(t)\nt1*t1", 5, "theta is an unknown function"),
        ("x^2", 1, r"a power is written \*\*"),
        ("x^(y)", 1, r"a power is written \*\*"),
    ],
)
def test_texts_are_not_read_back(text, position, reason):
    with pytest.raises(ParseError, match=reason) as refusal:
        sd.parse(text)
    assert refusal.value.position == position


@pytest.mark.parametrize("build", [row[0] for row in TEXTS], ids=[row[1] for row in TEXTS])
def test_no_text_is_read_as_another_formula(build):
    with pytest.raises(ParseError):
        sd.parse(sd.text(build()))


# SymPy --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMULAS)
def test_sympy_and_back(name):
    f, formula = ours(name), FORMULAS[name](sp, THETA, PHI, U, T, X, Y)
    for by in ORDERS:
        d = sd.diff(f, *[{"t": t, "x": x}[c] for c in by]) if by else f
        theirs = formula.diff(*[{"t": T, "x": X}[c] for c in by]) if by else formula
        forms = [sd.to_sympy(d)]
        if theirs.free_symbols <= {T, X, Y}:  # SymPy 1.14 leaks symbols of second derivatives
            forms.append(theirs)
        for form in forms:
            agree(
                sd.from_sympy(form),
                name,
                lambda g, by=by: g.diff(*[{"t": T, "x": X}[c] for c in by]) if by else g,
            )
        if len(by) < 2:  # SymPy has several forms of u_xt(t, t), and does not see that they agree
            assert sp.expand((sorted_inside(sd.to_sympy(d)) - theirs).doit()) == 0


def sorted_inside(f: sp.Basic) -> sp.Basic:
    """The formula with its terms and factors in SymPy's order, in all its parts."""
    return f.func(*map(sorted_inside, f.args)) if f.args else f


def test_functions_of_sympy():
    f = sp.Function("f")
    s = sp.Symbol("t")
    ours = sd.function("f")
    assert sd.from_sympy(f(s).diff(s, 2)) is sd.diff(ours(t), t, 2)
    assert sd.from_sympy(f(s**2).diff(s)) is sd.diff(ours(t**2), t)
    assert sd.from_sympy(f(s, s).diff(s)) is sd.diff(ours(t, t), t)
    assert sd.from_sympy(sp.Derivative(sp.sin(s) * f(s), s)) is sd.diff(sd.sin(t) * ours(t), t)
    assert sd.from_sympy(sp.Derivative(f(s) ** 2, f(s))) is 2 * ours(t)
    assert sd.from_sympy(sp.Subs(f(s).diff(s), s, 0)) is sd.diff(ours(t), t).subs({t: 0})
    assert sd.to_sympy(theta(t)) == THETA(T)
    assert sd.to_sympy(sd.diff(u(x, t), x, 2, t)) == U(X, T).diff(X, 2, T)
    assert sd.to_sympy(sd.diff(theta(t**2), t)).doit() == THETA(T**2).diff(T)
    replacements, formula = sd.to_sympy(theta(t * x) + sd.sin(t * x), cse=True)
    assert len(replacements) == 1
    assert sorted_inside(formula.subs(replacements)) == THETA(T * X) + sp.sin(T * X)
    with pytest.raises(ValueError, match="gamma is a known function"):
        sd.from_sympy(sp.Function("gamma")(s))
    with pytest.raises(Unsupported, match="symbolic order"):
        sd.from_sympy(sp.Derivative(f(s), (s, sp.Symbol("n", integer=True))))
    with pytest.raises(Unsupported, match="not declared real"):
        sd.from_sympy(sp.Function("f", real=False)(s))


def test_other_forms_take_values_as_symbols():
    q, v = theta(t), sd.diff(theta(t), t)
    assert sd.simplify(sd.sin(q) ** 2 + sd.cos(q) ** 2) is sd.constant(1)
    assert sd.expand((q + v) * (q - v)) is q**2 - v**2
    assert sd.factor(x * q + y * q) is (x + y) * q
    assert sd.collect(x * q + y * q + 1, q) is (x + y) * q + 1
    theta_0 = sd.symbol("theta_0")
    assert sd.expand(theta_0 * (q + 1)) is theta_0 * q + theta_0
    inner = theta(x * (t + 1) - x)
    assert sd.expand(inner * 2) is inner * 2


# What needs a value -------------------------------------------------------------------------------

REFUSED = {
    "evalf": lambda f: sd.evalf(f, 20, {t: 1, x: 2}),
    "count_operations": sd.count_operations,
    "batch": lambda f: sd.batch(f, {t: np.ones(3)}),
    "lower": lambda f: nm.lower(f, [t, x]),
    "interpret": lambda f: nm.interpret(f, {t: 1.0, x: 2.0}),
    "enclose": lambda f: nm.check.enclose(f, {t: (0, 1), x: (0, 1)}),
    "certify": lambda f: nm.check.certify(f, {t: 1.0, x: 2.0}),
    "plot": lambda f: nm.plot(f, t, at={t: 1.0, x: 2.0}),
    "plot_field": lambda f: nm.plot_field(f, (t, x)),
    "explore": lambda f: nm.explore(f, t, at={t: 1.0, x: 2.0}),
    "draw": lambda f: nm.draw(f, values={t: 1.0, x: 2.0}),
    "steps": lambda f: nm.steps(f, t, at={t: 1.0, x: 2.0}),
    "scipy": lambda f: nm.export.scipy(f, [t, x]),
    "series": lambda f: sd.series(f, t, 0),
    "limit": lambda f: sd.limit(f, t, 0),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_needs_a_value_is_refused_by_name(name):
    for f in (theta(t) + x, sd.diff(theta(t * x), x), sd.diff(u(x, t), x, t)):
        unknown = "u" if "u^" in str(f) else "theta"
        with pytest.raises(Unsupported, match=f"{unknown} is an unknown function.*f.subs"):
            REFUSED[name](f)


def test_the_remedy_runs():
    with pytest.raises(Unsupported) as refusal:
        nm.lower(u(x, t), [x, t])
    remedy = str(refusal.value).split("in its place: ")[1]
    assert remedy == 'f.subs({sd.function("u"): lambda x0, x1: ...})'
    known = u(x, t).subs({sd.function("u"): lambda x0, x1: x0 * x1})
    assert nm.lower(known, [x, t])(2.0, 3.0) == 6.0
