"""What holds for derivatives of any expression: linearity, chain rule, symmetry, agreeing modes.

Derivatives are compared as values at 50 digits, by the interpreter of ``tests.support.evaluation``;
where two routes must build the same node, by ``is``.
"""

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

import symdiff as sd
from tests.support.budget import sample
from tests.support.evaluation import evaluate
from tests.support.fields import EXACT, HIGH
from tests.support.oracles import DIGITS, LOST_DIGITS, agree, bound, inputs_of, values_of
from tests.support.strategies import FAMILIES, points, programs

x, y, z = sd.symbols("x y z")
v, w = sd.symbols("v w", (3,))
A = sd.symbol("A", (3, 3))


@st.composite
def ours(draw, **kwargs):
    """A random program as our expression, its symbols, and their values at 50 digits."""
    program = draw(programs(**kwargs))
    point = draw(points(program))
    xs = inputs_of(program)
    with mp.workdps(DIGITS):
        return program.ours(xs) + sd.constant(0), xs, bound(xs, point, HIGH)


finite = np.vectorize(mp.isfinite, otypes=[bool])


def equal(first, second, env):
    """Assert that expressions have equal values where one of these is finite."""
    with mp.workdps(DIGITS):
        found = values_of([*first, *second], env, HIGH)
        for a, b in zip(found[: len(first)], found[len(first) :], strict=True):
            # At a pole, one side's 0*inf may be the other's inf.
            one = finite(a) | finite(b)
            a, b = np.where(one, a, 0), np.where(one, b, 0)
            agree(a, b, "law", first, mp.mpf(10) ** (LOST_DIGITS - DIGITS))


def filled(shape, start=1):
    """A constant of the shape, of small integers."""
    size = int(np.prod(shape))
    return sd.constant((np.arange(size) % 5 - 2 + start).reshape(shape))


# Random programs ----------------------------------------------------------------------------------


@pytest.mark.slow
@sample(60)
@given(ours())
def test_jvp_is_jacobian_times_tangent(drawn):
    f, xs, env = drawn
    ts = [filled(s.shape, k + 1) for k, s in enumerate(xs)]
    parts = [sd.tensordot(J, t, axes=t.ndim) for J, t in zip(sd.jacobian(f, xs), ts, strict=True)]
    equal([sd.jvp(f, xs, ts)], [sum(parts[1:], parts[0])], env)


@pytest.mark.slow
@sample(60)
@given(ours())
def test_vjp_is_cotangent_times_jacobian(drawn):
    f, xs, env = drawn
    g = filled(f.shape)
    expected = [sd.tensordot(g, J, axes=g.ndim) for J in sd.jacobian(f, xs)]
    equal(sd.vjp(f, xs, g), expected, env)
    equal(sd.grad(f, xs, grad_outputs=g), expected, env)


@pytest.mark.slow
@sample(60)
@given(ours())
def test_gradient_of_a_scalar_is_its_jacobian(drawn):
    f, xs, env = drawn
    s = sd.sum(f * filled(f.shape))
    equal(sd.grad(s, xs), sd.jacobian(s, xs), env)


@pytest.mark.slow
@sample(60)
@given(ours(largest=4))
def test_hessians_are_symmetric(drawn):
    f, xs, env = drawn
    s = sd.sum(f * filled(f.shape))
    for a in xs:
        n = a.ndim
        H = sd.hessian(s, a)
        equal([H], [sd.permute_dims(H, (*range(n, 2 * n), *range(n)))], env)
    if len(xs) == 2:
        mixed, other = (
            sd.jacobian(sd.jacobian(s, xs[0]), xs[1]),
            sd.jacobian(sd.jacobian(s, xs[1]), xs[0]),
        )
        n, m = xs[0].ndim, xs[1].ndim
        equal([mixed], [sd.permute_dims(other, (*range(m, m + n), *range(m)))], env)


@sample(60)
@given(ours(largest=4))
def test_hvp_is_hessian_times_tangent(drawn):
    f, xs, env = drawn
    s = sd.sum(f * filled(f.shape))
    for a in xs:
        t = filled(a.shape)
        equal([sd.hvp(s, a, t)], [sd.tensordot(sd.hessian(s, a), t, axes=a.ndim)], env)


@sample(60)
@given(ours(families=("pointwise", "selection"), scalar=True))
def test_forward_diff_is_reverse_gradient(drawn):
    f, xs, env = drawn
    both = (*xs, sd.symbol("unused"))  # several inputs run in reverse
    equal([sd.diff(f, a) for a in xs], sd.grad(f, both)[:-1], env)
    second = [sd.diff(f, a, 2) for a in xs]
    equal(second, [sd.grad(sd.grad(f, both)[k], both)[k] for k in range(len(xs))], env)


@sample(60)
@given(ours(families=("pointwise", "selection"), scalar=True))
def test_orders_of_differentiation_commute(drawn):
    f, xs, env = drawn
    a, b = xs[0], xs[-1]
    equal([sd.diff(f, a, 2, b)], [sd.diff(f, b, a, a)], env)


@sample(60)
@given(ours(), st.sampled_from([2, Fraction(-1, 3), Fraction(7, 2)]))
def test_derivatives_are_linear(drawn, c):
    f, xs, env = drawn
    g = f * f
    together = sd.jacobian(c * f + 2 * g, xs)
    apart = [c * p + 2 * q for p, q in zip(sd.jacobian(f, xs), sd.jacobian(g, xs), strict=True)]
    equal(together, apart, env)


@sample(60)
@given(ours())
def test_product_rule(drawn):
    f, xs, env = drawn
    g = sd.sin(f)
    f_, g_ = (e.reshape(e.shape + (1,) * xs[0].ndim) for e in (f, g))
    J, K = sd.jacobian(f, xs[0]), sd.jacobian(g, xs[0])
    equal([sd.jacobian(f * g, xs[0])], [f_ * K + g_ * J], env)


@pytest.mark.slow
@sample(60)
@given(ours())
def test_chain_rule(drawn):
    f, xs, env = drawn
    inner = sd.symbol("inner", f.shape)
    h = sd.tanh(inner) + inner * sd.sum(inner * inner)
    outer = sd.substitute(sd.jacobian(h, inner), {inner: f})
    direct = sd.jacobian(sd.substitute(h, {inner: f}), xs[0])
    equal([direct], [sd.tensordot(outer, sd.jacobian(f, xs[0]), axes=f.ndim)], env)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_substitution_commutes_with_differentiation_by_another_symbol(family):
    @sample(40)
    @given(ours(families=("pointwise", family)))
    def run(drawn):
        f, xs, env = drawn
        if len(xs) < 2:
            return
        value = sd.constant(sd.sin(xs[1])) + 2
        early = sd.jacobian(sd.substitute(f, {xs[1]: sd.detach(value)}), xs[0])
        late = sd.substitute(sd.jacobian(f, xs[0]), {xs[1]: value})
        equal([early], [late], env)

    run()


@pytest.mark.slow
@sample(60)
@given(ours())
def test_one_pass_gives_what_separate_passes_give(drawn):
    f, xs, env = drawn
    g = sd.cos(f)
    both = sd.grad((f, g), xs, grad_outputs=(filled(f.shape), filled(g.shape, 2)))
    apart = [
        a + b
        for a, b in zip(
            sd.grad(f, xs, grad_outputs=filled(f.shape)),
            sd.grad(g, xs, grad_outputs=filled(g.shape, 2)),
            strict=True,
        )
    ]
    equal(both, apart, env)
    equal(sd.jacobian(f, xs), [sd.jacobian(f, a) for a in xs], env)


# Exactness ----------------------------------------------------------------------------------------


def test_twelve_derivatives_of_a_third_carry_no_rounding():
    f = sd.sin(x / 3)
    (value,) = evaluate([sd.diff(f, x, 12) * 3**12 - f], {x: HIGH.numbers(Fraction(2, 7))}, HIGH)
    assert value[()] == 0


def test_an_exponent_of_one_point_three_stays_clean_for_twelve_derivatives():
    f = x**1.3
    expected = Fraction(1)
    for k in range(12):
        expected *= Fraction(1.3) - k
    d = sd.diff(f, x, 12)
    assert d.op.coefs == (pytest.approx(float(expected), rel=1e-15),)
    assert d.args[0].op.exponents == (Fraction(1.3) - 12,)


SIN_OF_PRODUCT = sd.sin(x * y) * z
SPELLINGS = [
    (lambda: sd.diff((x / 3) ** 12, x, 12), sd.constant(Fraction(479001600, 3**12))),
    (lambda: sd.diff(sd.exp(x / 3), x, 12), sd.exp(x / 3) / 3**12),
    (lambda: sd.diff(x**5 * y, x, 6), sd.constant(0)),
    (lambda: sd.jacobian(sd.jacobian(2 * v, v), v), sd.zeros((3, 3, 3))),
    (lambda: sd.hessian(sd.sum(2 * v), v), sd.zeros((3, 3))),
    (lambda: sd.hessian(v @ A @ v, v), A + A.T),
    (lambda: sd.jacobian(v, v), sd.eye(3)),
    (lambda: sd.hessian(sd.sum(sd.exp(v)), v), sd.diag(sd.exp(v))),
    # By what is an input, and by an intermediate expression.
    (lambda: sd.grad(x, x), sd.constant(1)),
    (lambda: sd.grad((x, x), (x,))[0], sd.constant(2)),
    (lambda: sd.grad((x, y), (x, y))[1], sd.constant(1)),
    (lambda: sd.grad(SIN_OF_PRODUCT, x * y), sd.cos(x * y) * z),
    (lambda: sd.grad(SIN_OF_PRODUCT, (x * y, y))[0], sd.cos(x * y) * z),
    (lambda: sd.grad(SIN_OF_PRODUCT, (x * y, y))[1], sd.cos(x * y) * z * x),
    (lambda: sd.grad(v * v, v, grad_outputs=sd.ones((3,))), 2 * v),
    # How derivatives are called.
    (lambda: sd.diff(x**3 * y**2, x, 2, y), 12 * x * y),
    (lambda: (x**3 * y**2).diff(x, x, y), 12 * x * y),
    (lambda: sd.diff(x**3 * y**2, x, 0), x**3 * y**2),
    # Of several outputs and inputs, blocks.
    (lambda: sd.hessian(v @ A @ w, [v, w])[0][1], A),
    (lambda: sd.hessian(v @ A @ w, [v, w])[1][0], A.T),
    (lambda: sd.hessian(v @ A @ w, [v, w])[0][0], sd.zeros((3, 3))),
    (lambda: sd.hessian(v @ A @ w, [v, w])[1][1], sd.zeros((3, 3))),
    (lambda: sd.hessian([x**3, x * y], (x,))[0][0][0], 6 * x),
    (lambda: sd.hessian([x**3, x * y], (x,))[1][0][0], sd.constant(0)),
    (lambda: sd.hessian([x**3, x * y], x)[0], 6 * x),
    (lambda: sd.hessian([x**3, x * y], x)[1], sd.constant(0)),
    (lambda: sd.jacobian([v @ A @ w, x * v], v)[0], A @ w),
    (lambda: sd.jacobian([v @ A @ w, x * v], [v, x])[1][1], v),
    # What is detached is a number.
    (lambda: sd.grad(sd.detach(x), x), sd.constant(0)),
    (lambda: sd.grad(x * sd.detach(x), x), sd.detach(x)),
    (lambda: sd.grad(sd.sum(v * sd.detach(v * v)), v), sd.detach(v * v)),
    (lambda: sd.jacobian(sd.detach(v), v), sd.zeros((3, 3))),
    (lambda: sd.diff(sd.sin(x) * sd.detach(sd.cos(x)), x, 2), -sd.sin(x) * sd.detach(sd.cos(x))),
]


@pytest.mark.parametrize(("make", "wanted"), SPELLINGS, ids=lambda v: "" if callable(v) else str(v))
def test_a_derivative_is_the_node_that_is_expected(make, wanted):
    assert make() is wanted


# Inputs, outputs and their shapes -----------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (0,), (2,), (2, 0), (1, 3)])
def test_an_unused_input_gets_the_zero_of_its_shape(shape):
    unused = sd.symbol("unused", shape)
    assert sd.grad(x * y, unused) is sd.zeros(shape)
    assert sd.grad(x * y, (x, unused))[1] is sd.zeros(shape)
    assert sd.jacobian(v * x, unused) is sd.zeros((3, *shape))
    assert sd.vjp(v, unused, w) is sd.zeros(shape)
    assert sd.jvp(v, unused, sd.zeros(shape)) is sd.zeros((3,))
    assert sd.hessian(x * y, unused) is sd.zeros(shape + shape)


def test_a_symbolic_size_has_a_symbolic_zero():
    n = sd.symbol("n_vector", ("n",))
    assert sd.grad(x * y, n).shape == ("n",)
    assert sd.jacobian(n, n).shape == ("n", "n")
    assert len(sd.nodes(sd.hessian(sd.sum(sd.exp(v)), v))) == 3


def test_one_input_gives_an_expression_and_a_sequence_a_tuple():
    assert isinstance(sd.grad(x * y, x), sd.Expr)
    for inputs in ((x,), [x], (x, y)):
        assert isinstance(sd.grad(x * y, inputs), tuple)
        assert isinstance(sd.jacobian(x * y, inputs), tuple)
        assert isinstance(sd.vjp(x * y, inputs, 1), tuple)
        assert len(sd.grad(x * y, inputs)) == len(inputs)


def test_sequences_of_outputs_and_inputs_give_rows():
    rows = sd.jacobian((v @ A @ w, x * v), [v, x])
    assert [[block.shape for block in row] for row in rows] == [[(3,), ()], [(3, 3), (3,)]]


WHOLE, TRUTHS = sd.symbol("k_whole", (3,), int), sd.symbol("k_truths", (3,), bool)
REFUSED = [
    *(
        (ValueError, "allow_unused", lambda xs=xs: sd.grad(x * y, xs, allow_unused=False))
        for xs in (z, (x, z), [z])
    ),
    (sd.ShapeError, "grad_outputs", lambda: sd.grad(v, v)),
    (sd.ShapeError, "shape", lambda: sd.grad(v, v, grad_outputs=w[:2])),
    (sd.ShapeError, "shape", lambda: sd.vjp(v, v, A)),
    (sd.ShapeError, "shape", lambda: sd.jvp(v, v, x)),
    (sd.ShapeError, "shape", lambda: sd.hvp(v @ v, v, x)),
    *(
        (sd.NotDifferentiable, "real", call)
        for k in (WHOLE, TRUTHS)
        for call in (
            lambda k=k: sd.grad(sd.sum(k * v), k),
            lambda k=k: sd.jacobian(k * v, (v, k)),
        )
    ),
    *(
        ((TypeError, ValueError), None, lambda wrong=wrong: sd.diff(x**3 * y**2, *wrong))
        for wrong in ((), (2,), (x, 2, 2), (x, -1), (x, 1.5), (v,))
    ),
]


@pytest.mark.parametrize(("error", "says", "call"), REFUSED)
def test_what_is_refused(error, says, call):
    with pytest.raises(error, match=says):
        call()


# Barriers -----------------------------------------------------------------------------------------


def test_detach_has_the_value():
    for f in (x * sd.detach(y), sd.detach(x) * y):
        values = {s: EXACT.numbers(Fraction(k, 7)) for k, s in enumerate((x, y), 2)}
        (value,) = evaluate([f], values, EXACT)
        assert value[()] == Fraction(6, 49)


def test_a_result_without_graph_has_its_value_and_refuses_derivatives():
    f = sd.sin(x) * y
    g = sd.grad(f, x, create_graph=False)
    values = {x: HIGH.numbers(Fraction(1, 3)), y: HIGH.numbers(Fraction(2, 3))}
    free, bare = evaluate([sd.grad(f, x), g], values, HIGH)
    assert free[()] == bare[()]
    for again in (
        lambda: sd.grad(g * x, x),
        lambda: sd.diff(g, x),
        lambda: sd.jacobian(g, (x, y)),
        lambda: sd.jvp(g + x, (x, y), (1, 1)),
        lambda: sd.hvp(g * g, (x,), (1,)),
    ):
        with pytest.raises(sd.NotDifferentiable, match="create_graph"):
            again()
    assert sd.grad(g * z, z) is g  # by what it does not depend on it may be differentiated
    assert sd.grad(sd.detach(g) * x, x) is sd.detach(g)
    assert sd.grad(sd.where(g > 0, x, 3 * x), x) is sd.where(g > 0, 1, 3)


def test_a_user_defined_op_has_derivatives_of_every_order():
    softsign = sd.pointwise("softsign", lambda s: s / (1 + sp.Abs(s)))
    at = Fraction(3, 5)
    derivatives = [sd.diff(softsign(x), x, n) for n in (1, 2, 3)]
    for n, value in enumerate(evaluate(derivatives, {x: HIGH.numbers(at)}, HIGH), 1):
        with mp.workdps(30):
            expected = mp.diff(lambda t: t / (1 + abs(t)), HIGH.number(at), n)
        assert mp.almosteq(value[()], expected, rel_eps=mp.mpf(10) ** -12)
