"""SymPy in and out: the same value, the same node where that can be, and no partial answers."""

from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from sympy.codegen import cfunctions

import numeric as nm
import symdiff as sd
from symdiff.errors import Unsupported
from symdiff.exact.evaluation import evaluate_exact
from symdiff.graph.algebra import primitive
from symdiff.graph.contraction import contract, strong

X, Y = sp.symbols("x y")
x, y = sd.symbols("x y")

POINTS = [(Fraction(2), Fraction(1, 3)), (Fraction(-3, 7), Fraction(5)), (Fraction(0), Fraction(1))]


# In ---------------------------------------------------------------------------------------------

SAME_NODE = [
    (X + 2 * Y - 3, lambda: x + 2 * y - 3),
    (X * Y**2 / 3, lambda: x * y**2 / 3),
    (sp.Rational(1, 3) * X, lambda: x / 3),
    (sp.Float(0.1) * X, lambda: 0.1 * x),
    (sp.sqrt(X), lambda: sd.sqrt(x)),
    (X**Y, lambda: x**y),
    (sp.E**X, lambda: sd.exp(x)),
    (2**X, lambda: sd.power(2, x)),
    (sp.pi * X + sp.E, lambda: sd.pi * x + sd.e),
    (sp.log(X), lambda: sd.log(x)),
    (sp.log(X, 2, evaluate=False), lambda: sd.log(x) / sd.log(2)),
    (sp.Abs(X), lambda: sd.abs(x)),
    (sp.sign(X), lambda: sd.sign(x)),
    (sp.Heaviside(X, 0), lambda: primitive("step", x)),
    (sp.floor(X), lambda: sd.floor(x)),
    (sp.ceiling(X), lambda: sd.ceil(x)),
    (sp.Mod(X, Y), lambda: x % y),
    (sp.atan2(Y, X), lambda: sd.atan2(y, x)),
    (sp.Max(X, Y), lambda: sd.maximum(x, y)),
    (sp.Min(X, Y), lambda: sd.minimum(x, y)),
    (X < Y, lambda: x < y),
    (X >= 1, lambda: x >= 1),
    (sp.Eq(X, Y), lambda: sd.equal(x, y)),
    (sp.Ne(X, Y), lambda: sd.not_equal(x, y)),
    (sp.And(X > 0, Y > 0), lambda: (x > 0) & (y > 0)),
    (sp.Not(sp.Eq(X, Y), evaluate=False), lambda: ~sd.equal(x, y)),
    (sp.Piecewise((X, X > Y), (Y, True)), lambda: sd.where(x > y, x, y)),
    (sp.erf(X), lambda: sd.erf(x)),
    (sp.erfc(X), lambda: sd.erfc(x)),
    (sp.gamma(X), lambda: sd.gamma(x)),
    (sp.log(sp.Abs(sp.gamma(X))), lambda: sd.gammaln(x)),
    (sp.loggamma(X), lambda: sd.gammaln(x)),
    (sp.digamma(X), lambda: sd.digamma(x)),
    (sp.polygamma(2, X), lambda: sd.polygamma(2, x)),
    (sp.sinc(sp.pi * X), lambda: sd.sinc(sd.pi * x / sd.pi)),
    (sp.hermite(3, X, evaluate=False), lambda: sd.eval_hermite(3, x)),
    (sp.assoc_laguerre(3, 2, X, evaluate=False), lambda: sd.eval_genlaguerre(3, 2, x)),
    (sp.elliptic_k(X), lambda: sd.ellipk(x)),
    (sp.elliptic_e(X), lambda: sd.ellipe(x)),
    (sp.LambertW(X), lambda: sd.lambertw(x)),
    (sp.LambertW(X, -1), lambda: sd.lambertw(x, -1)),
    (sp.zeta(X), lambda: sd.zeta(x)),
    (sp.zeta(X, 2), lambda: sd.zeta(x, 2)),
    (sp.UnevaluatedExpr(X) + 1, lambda: x + 1),
    (sp.oo, lambda: sd.constant(float("inf"))),
    (sp.true, lambda: sd.constant(1)),
    (True, lambda: sd.constant(1)),
    (sp.Xor(X > 0, Y > 0), lambda: sd.logical_xor(x > 0, y > 0)),
    # Symbols are taken by their names.
    (sp.Symbol("x", real=True) + 1, lambda: x + 1),
    (sp.Symbol("x", positive=True) + 1, lambda: x + 1),
    (sp.Symbol("n", integer=True), lambda: sd.symbol("n", (), int)),
    (
        sp.Piecewise((X, sp.Symbol("c")), (Y, True)),
        lambda: sd.where(sd.symbol("c", (), bool), x, y),
    ),
]


@pytest.mark.parametrize(
    ("formula", "expected"), SAME_NODE, ids=[str(f)[:40] for f, _ in SAME_NODE]
)
def test_formula_becomes_the_node_that_users_write(formula, expected):
    assert sd.from_sympy(formula) is expected()


def test_arrays_of_formulas():
    matrix = sp.Matrix([[X, 1], [Y, X * Y]])
    expr = sd.from_sympy(matrix)
    assert expr.shape == (2, 2)
    value = evaluate_exact(expr, {"x": 2, "y": 3})
    assert value.tolist() == [[2, 1], [3, 6]]
    assert sd.from_sympy(sp.Array([X, Y, 1])).shape == (3,)
    assert sd.from_sympy(sp.Array([], (0,))).shape == (0,)


f = sp.Function("f")


@pytest.mark.parametrize(
    ("formula", "name"),
    [
        (sp.I * X, "ImaginaryUnit"),
        (sp.zoo, "ComplexInfinity"),
        (sp.Integral(sp.exp(X**3), X), "Integral"),
        (sp.Integral(f(X), X), "Integral"),
        (f(X, evaluate=False).func(), "f"),
        (sp.Derivative(f(X), (X, Y)), "symbolic order y"),
        (sp.Sum(X**Y, (Y, 0, 3)), "Sum"),
        (sp.airyai(X), "airyai"),
        (sp.MatrixSymbol("M", 2, 2), "MatrixSymbol"),
        (sp.EulerGamma, "EulerGamma"),
        (sp.Symbol("z", complex=True), "z"),
        (sp.Symbol("w", imaginary=True), "w"),
        (sp.FiniteSet(1), "FiniteSet"),
    ],
    ids=str,
)
def test_what_has_no_counterpart_is_refused_by_name(formula, name):
    with pytest.raises(Unsupported, match=name):
        sd.from_sympy(formula)


def test_floats_of_many_digits_are_kept():
    third = sp.Float("0.3", 40)
    value = evaluate_exact(sd.from_sympy(third * X), {"x": 1})
    assert value == Fraction(int(sp.Rational(third).p), int(sp.Rational(third).q))
    assert value != Fraction(0.3)


# Out --------------------------------------------------------------------------------------------

TEXTS = [
    (lambda: x - y, "x - y"),
    (lambda: x / 3, "x/3"),
    (lambda: 2 * x * y, "2*x*y"),
    (lambda: -x / (y + 1), "-x/(y + 1)"),
    (lambda: 2 * (x + y), "2*(x + y)"),
    (lambda: sd.sqrt(x) * sd.exp(-(x**2) / 2), "sqrt(x)*exp(-x**2/2)"),
    (lambda: 0.1 * x + 2, "0.1*x + 2"),
    (lambda: sd.sigmoid(x), "1/(1 + exp(-x))"),
    (lambda: sd.log2(x), "log(x)/log(2)"),
    (lambda: sd.where(x > 0, x, y), "Piecewise((x, 0 < x), (y, True))"),
    (lambda: sd.maximum(x, y), "Max(x, y)"),
    (lambda: sd.sqrt(sd.constant(8)) * x, "2*sqrt(2)*x"),
    (lambda: sd.detach(x) * x, "x**2"),
    (lambda: sd.pi + x, "x + pi"),
    (lambda: sd.factorial(x), "gamma(x + 1)"),
]


@pytest.mark.parametrize(("make", "text"), TEXTS, ids=[text for _, text in TEXTS])
def test_formulas_read_as_written(make, text):
    assert str(sd.to_sympy(make())) == text


RATIONAL = [
    x**3 - 2 * x * y / 7 + Fraction(1, 3),
    (x + y) ** 2 / (1 + x**2),
    sd.where(x > y, 1 / (x + 1), x * y),
    sd.where((x > 0) & (y < 2) | ~sd.equal(x, 2), x, y),
    sd.maximum(x, y) - sd.minimum(x, 2 * y) + abs(x) * sd.sign(y),
    sd.clip(x, -1, 1) + sd.floor(x / 2) + sd.ceil(y) + sd.round(x / 3) + sd.trunc(x),
    x % 2 + (-x) // 3,
    sd.where(sd.logical_xor(x > 0, y > 2), x, -x),
    sd.grad(sd.where(x > 0, x**2, 0) * y, x),
    sd.diff(sd.sinc(x), x, 2) * 0 + x,
    sd.where(x > 0, 1, 0) * x,
]


@pytest.mark.parametrize("expr", RATIONAL, ids=lambda e: str(e)[:40])
def test_round_trip_keeps_the_value_exactly(expr):
    formula = sd.to_sympy(expr)
    back = sd.from_sympy(formula)
    for a, b in POINTS:
        value = evaluate_exact(expr, {x: a, y: b})
        assert evaluate_exact(back, {x: a, y: b}) == value
        subs = {
            s: sp.Rational(a) if s.name == "x" else sp.Rational(b) for s in formula.free_symbols
        }
        assert formula.subs(subs) == sp.Rational(value)


VOCABULARY = [
    *("acos", "acosh", "asin", "asinh", "atan", "atanh"),
    *("cbrt", "cos", "cosh", "digamma", "erf", "erfc"),
    *("exp", "exp2", "expm1", "gamma", "gammaln", "log"),
    *("log10", "log1p", "log2", "log_sigmoid", "sigmoid", "sin"),
    *("sinc", "sinh", "softplus", "tan", "tanh", "abs"),
    *("sign", "floor", "ceil"),
]


@pytest.mark.parametrize("name", VOCABULARY)
def test_functions_have_the_value_of_their_formula(name):
    point = Fraction(5, 4) if name == "acosh" else Fraction(3, 8)
    expr = getattr(sd, name)(x)
    formula = sd.to_sympy(expr)
    value = formula.subs(*formula.free_symbols, sp.Rational(point)).evalf(30)
    ours = sd.evalf(expr, 30, {x: point})
    assert abs(value - sp.Float(ours, 30)) <= abs(value) * sp.Float(10) ** -28
    back = sd.evalf(sd.from_sympy(formula), 30, {x: point})
    assert abs(back - ours) <= abs(ours) * 1e-29


@pytest.mark.parametrize("name", ["atan2", "hypot", "logaddexp", "xlogy", "power"])
def test_functions_of_two_have_the_value_of_their_formula(name):
    expr = getattr(sd, name)(x, y)
    formula = sd.to_sympy(expr)
    values = {
        s: sp.Rational(3, 8) if s.name == "x" else sp.Rational(5) for s in formula.free_symbols
    }
    ours = sd.evalf(expr, 30, {x: Fraction(3, 8), y: 5})
    assert abs(formula.subs(values).evalf(30) - sp.Float(ours, 30)) < sp.Float(10) ** -27


def test_conditions_between_numbers_are_decided():
    formula = sd.to_sympy(sd.kl_div(x, 3))
    assert str(formula) == "Piecewise((3, Eq(x, 0)), (x*log(x/3) - x + 3, x > 0), (oo, True))"


@pytest.mark.parametrize("formula", [sp.erfi(X), sp.li(X), sp.E1(X)], ids=str)
def test_functions_that_are_others_of_ours(formula):
    for at in (sp.Rational(1, 4), sp.Rational(5, 2)):
        ours = sd.evalf(sd.from_sympy(formula), 30, {x: Fraction(int(at.p), int(at.q))})
        assert abs(sp.Float(ours, 30) - formula.subs(X, at).evalf(30)) < sp.Float(10) ** -28


# What SymPy has for C's functions, as written here; and whether it is written so on the way back.
OF_C = {
    "expm1": (sd.expm1, True),
    "log1p": (sd.log1p, True),
    "exp2": (sd.exp2, True),
    "log2": (sd.log2, True),
    "log10": (sd.log10, True),
    "Sqrt": (sd.sqrt, True),
    "Cbrt": (sd.cbrt, True),
    "hypot": (sd.hypot, True),
    "fma": (lambda a, b, c: a * b + c, False),
    "isnan": (sd.isnan, True),
    "isinf": (sd.isinf, False),
}


def test_every_function_of_c_goes_both_ways():
    """All that the module defines, so that none is forgotten."""
    defined = {
        name: cls
        for name, cls in vars(cfunctions).items()
        if isinstance(cls, type) and cls.__module__ == cfunctions.__name__
    }
    lacking = set() if hasattr(cfunctions, "isinf") else {"isinf"}  # SymPy 1.13
    assert set(defined) == set(OF_C) - lacking
    for name, cls in defined.items():
        ours, back = OF_C[name]
        count = {"hypot": 2, "fma": 3}.get(name, 1)
        symbols = [sp.Symbol(letter) for letter in "xyz"[:count]]
        expr = ours(*sd.symbols("x y z")[:count])
        assert sd.from_sympy(cls(*symbols)) is expr
        if issubclass(cls, sp.logic.boolalg.Boolean):  # isnan of SymPy 1.13 is none
            assert sd.from_sympy(~cls(*symbols)) is ~expr
        else:
            assert sd.from_sympy(2 * cls(*symbols)) is 2 * expr
        formula = sd.to_sympy(expr, codegen=True)
        assert isinstance(formula, cls) is back
        assert not sd.to_sympy(expr).atoms(*(c for n, c in defined.items() if OF_C[n][1]))
        assert sd.from_sympy(formula) is expr or not back


def test_formulas_for_code_keep_their_digits():
    formula = sd.to_sympy(sd.expm1(x) / sd.sqrt(1 + sd.softplus(y)), codegen=True)
    assert sp.ccode(formula) == "expm1(x)/sqrt(log(exp(y) + 1) + 1)"
    assert nm.lower(sd.from_sympy(cfunctions.expm1(X)), [x])(1e-20) == 1e-20
    assert nm.lower(sd.from_sympy(cfunctions.Cbrt(X)), [x])(-8.0) == -2
    bell = sd.pointwise("bell", lambda z: cfunctions.expm1(z) / z)
    assert str(sd.to_sympy(bell(x), codegen=True)) == "expm1(x)/x"
    assert nm.lower(bell(x), [x])(1e-20) == 1


def test_derivatives_of_sinc_hold_at_zero():
    for order in range(1, 5):
        formula = sd.to_sympy(sd.diff(sd.sinc(x), x, order))
        value = formula.subs(*formula.free_symbols, 0) if formula.free_symbols else formula
        series = sp.series(sp.sin(sp.pi * X) / (sp.pi * X), X, 0, 6).removeO()
        assert sp.simplify(value - series.diff(X, order).subs(X, 0)) == 0


def test_symbols_are_declared():
    n, c = sd.symbol("n", (), int), sd.symbol("c", (), bool)
    found = {s.name: s for s in sd.to_sympy(sd.where(c, x + n, y)).free_symbols}
    assert found["x"].is_real
    assert not found["x"].is_integer
    assert found["n"].is_integer
    assert found["c"].is_real is None
    assert sp.sympify(x + 1) == sp.Symbol("x", real=True) + 1


def component(name, *index):
    return sp.Symbol("_".join(map(str, (name, *index))), real=True)


MATRIX = sp.Matrix(2, 2, lambda i, j: component("A", i, j))
VECTOR = sp.Matrix(2, 1, lambda i, _: component("v", i))
A, v = sd.symbol("A", (2, 2)), sd.symbol("v", (2,))
COMPONENTS = [
    ("A@v", lambda: A @ v, MATRIX * VECTOR),
    ("trace", lambda: sd.trace(A), MATRIX.trace()),
    ("v'Av", lambda: v @ A @ v, (VECTOR.T * MATRIX * VECTOR)[0]),
    ("det", lambda: sd.det(A), MATRIX.det()),
    ("inv", lambda: sd.inv(A), MATRIX.inv()),
    ("solve", lambda: sd.solve(A, v), MATRIX.inv() * VECTOR),
    ("grad logdet", lambda: sd.grad(sd.slogdet(A)[1], A), MATRIX.inv().T),
    ("A.T", lambda: A.T, MATRIX.T),
    ("tril", lambda: sd.tril(A), sp.Matrix([[MATRIX[0, 0], 0], [MATRIX[1, 0], MATRIX[1, 1]]])),
    ("prod", lambda: sd.prod(v), VECTOR[0] * VECTOR[1]),
    ("logsumexp", lambda: sd.logsumexp(v), sp.log(sp.exp(VECTOR[0]) + sp.exp(VECTOR[1]))),
    ("max", lambda: sd.max(v), sp.Max(*VECTOR)),
    ("hessian", lambda: sd.hessian(sd.sum(sd.exp(v)), v), sp.diag(*map(sp.exp, VECTOR))),
    ("flip", lambda: sd.flip(v), VECTOR[::-1]),
    ("cumsum", lambda: sd.cumsum(v), [VECTOR[0], VECTOR[0] + VECTOR[1]]),
    ("constant", lambda: v * np.array([2, 3]), [2 * VECTOR[0], 3 * VECTOR[1]]),
]


@pytest.mark.parametrize(
    ("make", "wanted"), [c[1:] for c in COMPONENTS], ids=[c[0] for c in COMPONENTS]
)
def test_arrays_are_written_out_by_components(make, wanted):
    formula = sd.to_sympy(make())
    array = isinstance(formula, sp.NDimArray)
    parts = formula.reshape(len(formula)).tolist() if array else [formula]
    ours = [part.doit() for part in parts]
    theirs = [wanted] if isinstance(wanted, sp.Expr) else list(sp.flatten(wanted))
    assert len(ours) == len(theirs)
    assert all(sp.simplify(a - b) == 0 for a, b in zip(ours, theirs, strict=True))


REFUSED = [
    (TypeError, "parse", lambda: sd.from_sympy("x + 1")),
    (
        ValueError,
        "two different symbols are named 'x'",
        lambda: sd.from_sympy(sp.Symbol("x") + sp.Symbol("x", real=True)),
    ),
    (ValueError, "identifier", lambda: sd.from_sympy(sp.Symbol("x y"))),
    (Unsupported, "10201 components", lambda: sd.to_sympy(sd.symbol("B", (101, 101)))),
    (Unsupported, "symbolic", lambda: sd.to_sympy(sd.symbol("B", ("n",)).sum())),
    (Unsupported, "7 x 7", lambda: sd.to_sympy(sd.inv(sd.symbol("B", (7, 7))))),
    (ValueError, "v_0", lambda: sd.to_sympy(v[0] + sd.symbol("v_0"))),
]


@pytest.mark.parametrize(("error", "says", "call"), REFUSED)
def test_what_is_refused(error, says, call):
    with pytest.raises(error, match=says):
        call()


def test_shared_formulas_take_linear_time_and_come_back():
    expr = x
    for _ in range(60):  # as a tree: 2**60 leaves
        expr = sd.tanh(expr) * sd.sin(expr)
    formula = sd.to_sympy(expr)
    assert sd.from_sympy(formula) is expr
    replacements, reduced = sd.to_sympy(expr, cse=True)
    assert len(replacements) == 59
    env = {sp.Symbol("x", real=True): sp.Float("1.5", 60)}
    for symbol, part in replacements:
        env[symbol] = part.xreplace(env).evalf(60)
    ours = sd.evalf(expr, 20, {"x": 1.5})
    assert abs(sp.Float(ours, 20) - reduced.xreplace(env).evalf(60)) <= abs(ours) * 1e-19


@pytest.mark.slow
def test_deep_formulas_do_not_recurse():
    expr = x
    for _ in range(20_000):
        expr = sd.sin(expr) + y
    assert sd.from_sympy(sd.to_sympy(expr)) is expr


def test_deep_formulas_with_shared_parts_are_translated_again():
    # A formula that equals an earlier one is not compared with it: that would recurse.
    a, b = x, y
    for _ in range(600):
        a, b = sd.tanh(a + b), a * b + 1
    assert sd.to_sympy(a) != sd.to_sympy(y)
    assert sd.from_sympy(sd.to_sympy(b)) is b


def test_truth_values():
    back = sd.from_sympy(sd.to_sympy(sd.where(sd.symbol("c", (), bool), x > 0, y > 0)))
    assert evaluate_exact(back, {"c": 0, "x": 1, "y": -1}) == 0


def test_cse_names_avoid_those_of_symbols():
    x0 = sd.symbol("x0")
    shared = sd.sin(x0)
    replacements, _ = sd.to_sympy(shared * sd.exp(shared), cse=True)
    assert [str(symbol) for symbol, _ in replacements] == ["x1"]


def test_cse_of_arrays_names_components():
    replacements, formula = sd.to_sympy(sd.exp(v) * sd.sin(sd.exp(v)), cse=True)
    assert len(replacements) == 2
    assert formula.subs(replacements) == sp.Array([sp.exp(s) * sp.sin(sp.exp(s)) for s in VECTOR])


softsign = sd.pointwise("softsign", lambda z: z / (1 + sp.Abs(z)))
AT = [
    (lambda: softsign(2 * x), {"x": -1}, sp.Rational(-2, 3)),
    (lambda: sd.kl_div(x, 3), {"x": 3}, 0),
    # In products zero wins.
    (lambda: strong(x, sd.log(y)), {"x": 0, "y": 0}, 0),
    (lambda: strong(x, sd.log(y)), {"x": 2, "y": 1}, 0),
    (lambda: contract([(v, (0,), True), (1 / v, (0,))], ()), {"v_0": 0, "v_1": 3}, 1),
    *(
        (lambda: sd.grad(sd.where(x > 0, sd.sqrt(x), x), x), {"x": at}, wanted)
        for at, wanted in ((0, 1), (4, sp.Rational(1, 4)))
    ),
    (lambda: sd.equal(sd.symbol("c", (), bool), x), {"c": sp.true, "x": 1}, sp.true),
    (
        lambda: sd.where(sd.symbol("c", (), bool), x > 0, y > 0),
        {"c": sp.true, "x": 1, "y": -1},
        sp.true,
    ),
]


@pytest.mark.parametrize(("make", "at", "wanted"), AT)
def test_values_of_formulas_are_those_of_expressions(make, at, wanted):
    formula = sd.to_sympy(make())
    assert formula.subs({s: at[s.name] for s in formula.free_symbols}) == wanted
