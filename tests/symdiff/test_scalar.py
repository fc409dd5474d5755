import functools
import itertools

import mpmath as mp
import pytest
import sympy as sp

from symdiff.errors import NotDifferentiable, Unsupported
from symdiff.scalars import vocabulary as v
from symdiff.scalars.formula import (
    MPMATH,
    VOCABULARY,
    arity,
    canonical,
    kernel_symbol,
    partial,
    plain,
)
from tests.support.oracle_digits import key, stored
from tests.support.orders import order_count
from tests.support.refusals import refused
from tests.support.scalar_functions import SMOOTH, STEP_PAIRS, STEP_POINTS, STEPS, TABLE, exact

A, B, C, D = (kernel_symbol(k) for k in range(4))
AGREEMENT = mp.mpf(10) ** -50  # both sides carry 110 digits or more
RESOLUTION = mp.mpf(10) ** -90  # of a zero at 110 digits


def derivative(formula, order):
    for k, n in enumerate(order):
        for _ in range(n):
            formula = partial(formula, k)
    return formula


def evaluator(formula, count):
    return sp.lambdify([A, B, C, D][:count], formula, modules=[MPMATH, "mpmath"])


def disagreement(formula, name, highest):
    """The largest relative difference of the formula's derivatives from the row of ``name``."""
    row, worst = SMOOTH[name], mp.mpf(0)
    for order in row.of_orders(highest):
        value = evaluator(derivative(formula, order), arity(name))
        for point in row.examples():
            one = functools.partial(exact_parts, name, point, order)
            (wanted,) = stored(key("scalar", name, point, order), one)
            with mp.workdps(row.working_digits(point)):
                error = mp.fabs(value(*map(mp.mpf, point)) - wanted)
                assert mp.isfinite(error)
                if wanted:
                    worst = max(worst, error / mp.fabs(wanted))
                else:
                    assert error < RESOLUTION
    return worst


HIGHEST = 3


def exact_parts(name, point, order):
    return [exact(name, point)[order]]


def requests():
    """What computes the exact derivatives that the tests below ask for."""
    return {
        key("scalar", name, point, order): functools.partial(exact_parts, name, point, order)
        for name, row in SMOOTH.items()
        for order in row.of_orders(HIGHEST)
        for point in row.examples()
    }


def test_every_function_has_a_row():
    assert set(TABLE) == set(VOCABULARY) == set(MPMATH)
    assert all(row.arity == arity(name) for name, row in TABLE.items())


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_to_third_order(name):
    formula = VOCABULARY[name](*[A, B, C, D][: arity(name)])
    assert disagreement(formula, name, HIGHEST) < AGREEMENT


PLANTABLE = [
    name for name in SMOOTH if issubclass(VOCABULARY[name], v.ScalarFunction) and name != "where"
]


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTABLE)
def test_a_derivative_wrong_by_a_thousandth_is_caught(name):
    right = VOCABULARY[name]

    class Planted(right):
        nargs = arity(name)

        @staticmethod
        def partials(*args):
            return tuple(
                None if p is None else p * sp.Rational(1001, 1000) for p in right.partials(*args)
            )

    value = MPMATH["Planted"] = MPMATH[name]
    try:
        assert value is right.value
        wrong = disagreement(Planted(*[A, B, C, D][: arity(name)]), name, highest=1)
    finally:
        del MPMATH["Planted"]
    assert wrong == pytest.approx(1e-3, rel=1e-6)


@pytest.mark.parametrize("name", STEPS)
def test_steps(name):
    count = arity(name)
    formula = VOCABULARY[name](*[A, B][:count])
    for k in range(count):
        assert partial(formula, k) == 0
    for point in [(x,) for x in STEP_POINTS] if count == 1 else STEP_PAIRS:
        if name == "floor_divide" and not point[1]:
            assert mp.isnan(MPMATH[name](*map(mp.mpf, point)))
        else:
            value = MPMATH[name](*map(mp.mpf, point))
            wanted = STEPS[name](*point)
            assert value == wanted or (mp.isnan(value) and mp.isnan(wanted))
            if mp.isnan(wanted):
                continue
            exactly = VOCABULARY[name](*(sp.Rational(x) for x in point))
            assert exactly == int(STEPS[name](*point))


# Conventions --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "point", "wanted"),
    [
        (v.abs(A), (0,), (0,)),
        (v.maximum(A, B), (2, 2), (0.5, 0.5)),
        (v.minimum(A, B), (2, 2), (0.5, 0.5)),
        (v.clip(A, B, C), (0, 0, 1), (1, 0, 0)),
        (v.clip(A, B, C), (1, 0, 1), (1, 0, 0)),
        (v.clip(A, B, C), (-1, 0, 1), (0, 1, 0)),
        (v.clip(A, B, C), (2, 0, 1), (0, 0, 1)),
        (v.clip(A, B, C), (0, 2, 1), (0, 0, 1)),  # lo > hi: the value is hi
        (v.clip(A, B, C), (3, 2, 1), (0, 0, 1)),
        (v.hypot(A, B), (0, 0), (0, 0)),
        (v.atan2(A, B), (0, 0), (0, 0)),
        (v.norm_sqrt(A), (0,), (0,)),
        (v.xlogy(A, B), (0, 0), (-mp.inf, 0)),
        (v.xlogy(A, B), (0, 2), ("log(2)", 0)),
        (v.xlog1py(A, B), (0, -1), (-mp.inf, 0)),
        (v.xlog1py(A, B), (0, 1), ("log(2)", 0)),
        (v.rel_entr(A, B), (0, 0), (mp.inf, 0)),
        (v.rel_entr(A, B), (0, 2), (-mp.inf, 0)),
        (v.kl_div(A, B), (0, 0), (mp.inf, 1)),
        (v.kl_div(A, B), (0, 2), (-mp.inf, 1)),
        (v.kl_div(A, B), (2, 2), (0, 0)),
        (v.power(A, B), (0, 0), (0, 0)),
        (v.power(A, B), (0, 2), (0, 0)),
        (v.power(A, B), (2, 0), (0, "log(2)")),
        (v.power(A, B), (-2, 3), (12, None)),
        (v.logaddexp(A, B), (mp.inf, mp.inf), (0.5, 0.5)),
        (v.logaddexp(A, B), (-mp.inf, -mp.inf), (0.5, 0.5)),
        (v.logaddexp(A, B), (-mp.inf, 1), (0, 1)),
    ],
)
def test_conventions_at_kinks(formula, point, wanted):
    with mp.workdps(30):
        names = {**MPMATH, "where": MPMATH["where"]}
        for k, value in enumerate(wanted):
            got = _lazily(partial(formula, k), [mp.mpf(x) for x in point], names)
            if value is None:
                assert mp.isnan(got)
            else:
                exact = value if value in (mp.inf, -mp.inf) else mp.mpf(sp.sympify(value).evalf(30))
                assert got == exact or mp.almosteq(got, exact)


def _lazily(formula, point, names):
    """The formula's value; of a selection, only the branch that is taken."""
    if isinstance(formula, v.where):
        c, a, b = formula.args
        return _lazily(a if _lazily(c, point, names) else b, point, names)
    if isinstance(formula, v.logical_and | v.logical_or):
        return names[type(formula).__name__](*(_lazily(x, point, names) for x in formula.args))
    return sp.lambdify([A, B, C][: len(point)], formula, modules=[names, "mpmath"])(*point)


@pytest.mark.parametrize(("formula", "wanted"), [(v.power(A, B), 0.5), (v.xlogy(B, A), 0.5)])
def test_a_mask_does_not_reach_the_mixed_derivative(formula, wanted):
    # ∂²/∂x∂y of x^y at y = 0, and of y·log(x) at y = 0, is 1/x.
    for first, second in [(0, 1), (1, 0)]:
        mixed = partial(partial(formula, first), second)
        assert _lazily(mixed, [mp.mpf(2), mp.mpf(0)], MPMATH) == wanted


@pytest.mark.parametrize(
    ("error", "says", "call"),
    [
        (
            NotDifferentiable,
            "polygamma has no derivative by its argument",
            lambda: partial(v.polygamma(A, B), 0),
        ),
        (NotDifferentiable, "sinc_derivative", lambda: partial(v.sinc_derivative(A, B), 0)),
        (Unsupported, "order 1/2", lambda: v.polygamma(sp.Rational(1, 2), A)),
        (Unsupported, "order _0", lambda: plain(v.sinc_derivative(A, B))),
        *(
            (
                Unsupported,
                "zeta has no derivative by its first",
                lambda cls=cls, operands=operands: plain(cls(2, *operands)),
            )
            for cls, operands in ((v.zeta_derivative, (A,)), (v.hurwitz_zeta_derivative, (A, B)))
        ),
    ],
)
def test_orders_are_refused(error, says, call):
    with pytest.raises(error, match=says):
        call()


# Partial derivatives of composed formulas ---------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "wanted"),
    [
        (A**3, 3 * A**2),
        (A**B, v.where(v.zeros_in_power(A, B), 0, B * v.power(A, B - 1))),
        (A ** sp.Float(0.5), 1 / (2 * sp.sqrt(A))),
        (sp.sqrt(A * B), B / (2 * sp.sqrt(A * B))),
        ((A * B) ** sp.Rational(3, 2), sp.Rational(3, 2) * B * sp.sqrt(A * B)),
        (sp.sqrt(sp.sqrt(A * B) * B), B**2 / (4 * sp.sqrt(A * B) * sp.sqrt(B * sp.sqrt(A * B)))),
        (sp.Abs(A) * A, A * v.sign_in_abs(A) + v.abs(A)),
        (sp.Heaviside(A) * A, v.where(v.equal(A, 0), sp.Rational(1, 2), v.step(A))),
        (sp.sign(A), sp.Integer(0)),
        (sp.Mod(A, 2), sp.Integer(1)),
        (sp.floor(A) * A, v.floor(A)),
        (sp.tanh(A), v.sech2(A)),
        (sp.cot(A), -(1 + sp.tan(A) ** 2) / sp.tan(A) ** 2),
        (
            sp.Piecewise((sp.sqrt(A), A > 0), (0, True)),
            v.where(v.less(0, A), 1 / (2 * sp.sqrt(A)), 0),
        ),
        (B, sp.Integer(0)),
        (sp.Integer(2), sp.Integer(0)),
    ],
)
def test_partial(formula, wanted):
    assert partial(formula, 0) == wanted
    assert canonical(partial(formula, 0)) == partial(formula, 0)


def test_a_factor_moves_into_the_selection_that_guards_it():
    root = sp.sqrt(v.where(v.less(0, A), A, 0))
    assert partial(root, 0) == v.where(v.less(0, A), 1 / (2 * root), 0)
    both = v.where(v.less(0, A), A, 0) * v.where(v.less(0, B), A * B, 0)
    for node in sp.preorder_traversal(partial(both, 0)):
        assert not (isinstance(node, sp.Mul) and v.where(v.less(0, A), 1, 0) in node.args)


def test_a_user_function_keeps_its_own_derivative():
    class bump(sp.Function):  # noqa: N801
        nargs = 1

        def fdiff(self, argindex=1):
            return -2 * self.args[0] * self

    assert partial(bump(A**2), 0) == -4 * A**3 * bump(A**2)

    class mute(sp.Function):  # noqa: N801
        nargs = 1

    for formula in (mute(A), mute(A**2), sp.exp(mute(A)) * A):
        with pytest.raises(NotDifferentiable, match="mute states no derivative"):
            partial(formula, 0)


# Canonical form -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "wanted"),
    [
        (A > 1, v.less(1, A)),
        (A >= B, v.less_equal(B, A)),
        (sp.And(A > 0, sp.Ne(B, 2)), v.logical_and(v.less(0, A), v.not_equal(B, 2))),
        (sp.Or(A > 0, sp.Eq(B, 2)), v.logical_or(v.equal(B, 2), v.less(0, A))),
        (sp.Not(sp.And(A > 0, B > 0)), v.logical_not(v.logical_and(v.less(0, A), v.less(0, B)))),
        (sp.true, sp.Integer(1)),
        (sp.ITE(A > 0, B > 0, B < 0), v.where(v.less(0, A), v.less(0, B), v.less(B, 0))),
        (sp.Piecewise((A, A > 0)), v.where(v.less(0, A), A, sp.nan)),
        (
            sp.Piecewise((A, A > 0), (B, B > 0), (0, True)),
            v.where(v.less(0, A), A, v.where(v.less(0, B), B, 0)),
        ),
        (sp.Heaviside(A, 0), v.step(A)),
        (sp.Heaviside(A), v.where(v.equal(A, 0), sp.Rational(1, 2), v.step(A))),
        (sp.loggamma(A), v.gammaln(A)),
        (sp.log(sp.Abs(sp.gamma(A))), v.gammaln(A)),
        (sp.digamma(A), v.digamma(A)),
        (sp.polygamma(2, A), v.polygamma(2, A)),
        (sp.sinc(A), v.sinc(A / sp.pi)),
        (sp.legendre(3, A, evaluate=False), v.eval_legendre(3, A)),
        (sp.gegenbauer(A, B, C), v.eval_gegenbauer(A, B, C)),
        (sp.elliptic_k(A) + sp.elliptic_e(A), v.ellipk(A) + v.ellipe(A)),
        (sp.LambertW(A), v.lambertw(A)),
        (sp.LambertW(A, -1), v.lambertwm1(A)),
        (sp.zeta(A), v.zeta(A)),
        (sp.zeta(A, 2), v.hurwitz_zeta(A, 2)),
        (sp.E**A, sp.exp(A)),
        (2**A, v.power(2, A)),
        (A**sp.pi, v.power(A, sp.pi)),
        (A ** sp.Float("0.3"), A ** sp.Rational(0.3)),
        (sp.frac(A), A - v.floor(A)),
        (sp.sec(A) + sp.csch(A), 1 / sp.cos(A) + 1 / sp.sinh(A)),
        (sp.acot(A), sp.atan(1 / A)),
        (sp.sqrt(sp.pi) * sp.E * A, sp.sqrt(sp.pi) * sp.E * A),
        (sp.oo, sp.oo),
    ],
)
def test_canonical(formula, wanted):
    assert canonical(formula) == wanted
    assert canonical(canonical(formula)) == wanted


@pytest.mark.parametrize("arguments", [(1, 2, 3), (3, 1, 2), (2, 3, 1), (2, 2, 1), (1, 1, 1)])
def test_max_and_min_of_many(arguments):
    for several, best in [(sp.Max(A, B, C), max), (sp.Min(A, B, C), min)]:
        two_by_two = canonical(several)
        assert all(
            len(node.args) == 2
            for node in sp.preorder_traversal(two_by_two)
            if isinstance(node, v.maximum | v.minimum)
        )
        assert two_by_two.subs(dict(zip([A, B, C], arguments, strict=True))) == best(arguments)


@pytest.mark.parametrize(
    ("formula", "named"),
    [
        (sp.airyai(A), "airyai"),
        (sp.elliptic_e(A, B), "elliptic_e"),
        (sp.LambertW(A, 1), "LambertW"),
        (sp.LambertW(A, B), "LambertW"),
        (sp.Integral(A, A), "Integral"),
        (sp.Function("f")(A), "f"),
        (sp.DiracDelta(A), "DiracDelta"),
        (sp.I * A, "I"),
        (sp.zoo, "zoo"),
        (sp.Derivative(sp.Function("f")(A), A), "Derivative"),
    ],
)
def test_what_has_no_counterpart_is_refused_by_name(formula, named):
    refused(
        (Unsupported, named, lambda: canonical(formula)),
        (Unsupported, named, lambda: partial(formula, 0)),
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in VOCABULARY if not n.endswith("zeta_derivative")])
def test_plain_is_the_same_function_in_sympys_own_classes(name):
    count = arity(name)
    cls = VOCABULARY[name]
    fixed = (2, 1)[: order_count(name)]
    formula = cls(*fixed, *[A, B, C, D][len(fixed) : count])
    in_sympy = plain(formula)
    assert not in_sympy.atoms(v.ScalarFunction)
    again = canonical(in_sympy)
    values = {
        A: sp.Rational(3, 7),
        B: sp.Rational(5, 8),
        C: sp.Rational(6, 7),
        D: sp.Rational(1, 3),
    }
    if name in ("acosh", "acosh_slope", "hurwitz_zeta"):
        values[A] = sp.Rational(9, 7)
    if name.startswith("lambertwm1"):
        values[A if count == 1 else B] = sp.Rational(-1, 7)
    reference = MPMATH[name]
    with mp.workdps(30):
        args = [mp.mpf(values[s].p) / values[s].q for s in (A, B, C, D)[:count]]
        wanted = reference(*fixed, *args[len(fixed) :])
        for rewritten in (formula, in_sympy, again):
            got = rewritten.subs(values).evalf(30)
            assert mp.almosteq(got._to_mpmath(100), wanted, rel_eps=mp.mpf(10) ** -28), rewritten


@pytest.mark.parametrize("cls", v.DECISIONS)
def test_a_decision_has_the_value_of_its_formula(cls):
    args = (A, B, C)[: int(next(iter(cls.nargs)))]
    formula, decision = cls.formula(*args), cls(*args)
    assert plain(decision) == plain(formula)
    assert not plain(decision).atoms(v.ScalarFunction)
    as_code = sp.lambdify(args, decision, modules=[MPMATH, "mpmath"])
    for point in itertools.product((-1, 0, sp.Rational(1, 2)), repeat=len(args)):
        at = dict(zip(args, point, strict=True))
        wanted = formula.xreplace(at)
        assert decision.xreplace(at) == wanted
        assert int(as_code(*map(mp.mpf, map(float, point)))) == wanted
        assert decision.xreplace(dict.fromkeys(args, sp.pi)).evalf(20) == formula.xreplace(
            dict.fromkeys(args, sp.pi)
        ).evalf(20)


# Exact values -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "wanted"),
    [
        (v.sigmoid(0), sp.Rational(1, 2)),
        (v.expm1(0), 0),
        (v.log1p(0), 0),
        (v.exp2(-3), sp.Rational(1, 8)),
        (v.log2(8), 3),
        (v.log10(sp.Rational(1, 100)), -2),
        (v.hypot(3, 4), 5),
        (v.cosine(3, 4), sp.Rational(3, 5)),
        (v.cosine(0, 0), 0),
        (v.cbrt(-8), -2),
        (v.norm_sqrt(sp.Rational(9, 4)), sp.Rational(3, 2)),
        (v.power(2, -3), sp.Rational(1, 8)),
        (v.power(-2, 3), -8),
        (v.power(0, 0), 1),
        (v.power(4, sp.Rational(1, 2)), 2),
        (v.power(A, 2), A**2),
        (v.mod(sp.Rational(-7, 2), 2), sp.Rational(1, 2)),
        (v.atan2(0, 3), 0),
        (v.asinh(0), 0),
        (v.gamma(5), 24),
        (v.eval_legendre(3, sp.Rational(1, 3)), sp.Rational(-11, 27)),
        (v.eval_genlaguerre(2, sp.Rational(1, 2), 1), sp.Rational(-1, 8)),
        (v.eval_hermite(0, A), 1),
        (v.sinc(0), 1),
        (v.sinc(7), 0),
        (v.xlogy(0, 0), 0),
        (v.clip(5, 2, 1), 1),
        (v.polygamma(0, A), v.digamma(A)),
        (v.sinc_derivative(0, A), v.sinc(A)),
        (v.where(1, A, B), A),
        (v.where(0, A, B), B),
        (v.where(A, B, B), B),
        # SymPy evaluates by our conventions.
        (v.sinc(sp.Rational(1, 2)).evalf(20), (2 / sp.pi).evalf(20)),
        (v.round(sp.Float(2.5)), sp.Float(2)),
        (v.sigmoid(sp.Float(0)), sp.Float(0.5)),
        (v.sigmoid(A).evalf(30), v.sigmoid(A)),
        # A number is a truth value where a condition is needed.
        (plain(v.where(A, B, C)), sp.Piecewise((B, sp.Ne(A, 0)), (C, True))),
        (plain(v.where(v.less(A, B), B, C)), sp.Piecewise((B, A < B), (C, True))),
    ],
)
def test_exact_values(formula, wanted):
    assert formula == wanted


@pytest.mark.parametrize(
    "formula",
    [
        v.sigmoid(1),
        v.exp2(10**9),
        v.power(2, 10**9),
        v.power(0, -1),
        v.power(-8, sp.Rational(1, 3)),
        v.gamma(10**6),
        v.gammaln(-1),
        v.log2(0),
        v.log2(-4),
        v.mod(1, 0),
        v.floor_divide(1, 0),
        v.norm_sqrt(2),
        v.norm_sqrt(-4),
        v.equal(A, A),
        v.less(sp.pi, 4),
    ],
)
def test_what_has_no_exact_value_stays_as_it_is(formula):
    assert isinstance(formula, v.ScalarFunction)


@pytest.mark.parametrize("name", ["gamma", "digamma", "log", "asin", "acosh", "norm_sqrt"])
def test_values_outside_the_real_domain_are_nan(name):
    assert mp.isnan(MPMATH[name](mp.mpf(-2)))


@pytest.mark.parametrize("order", range(1, 9))
def test_derivatives_of_sinc_at_zero(order):
    # sinc is the sum of (πx)^2k (-1)^k/(2k+1)!.
    with mp.workdps(30):
        wanted = mp.pi**order * mp.cos(order * mp.pi / 2) / (order + 1)
        got = evaluator(derivative(v.sinc(A), (order,)), 1)(mp.mpf(0))
        assert got == 0 if order % 2 else mp.almosteq(got, wanted)


def test_kernel_symbols_are_real_and_unique():
    assert kernel_symbol(3) is kernel_symbol(3)
    assert kernel_symbol(3).is_real


def test_a_formula_that_shares_its_parts_takes_no_longer_than_its_parts():
    formula = A
    for _ in range(60):  # a tree of 2^60 leaves
        formula = sp.Add(sp.sin(formula), sp.cos(formula), evaluate=False)
    assert canonical(formula) == formula


def test_text_is_not_a_formula():
    with pytest.raises(sp.SympifyError):
        canonical("_0 + 1")
    assert canonical(2) == 2


def test_results_do_not_depend_on_the_order_of_calls():
    formula = sp.sqrt(A * B) * sp.sqrt(A * C) * v.hypot(A, B)
    first = partial(formula, 0)
    partial.cache_clear()
    canonical.cache_clear()
    assert sp.srepr(partial(formula, 0)) == sp.srepr(first)
