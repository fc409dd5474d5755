"""Three ways to a value agree on random programs: interpreted, lowered, and by high precision."""

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, reject

import numeric as nm
import symdiff as sd
from symdiff import opaque_ops
from symdiff.graph import ops
from tests.support.budget import sample
from tests.support.fields import FLOAT, HIGH
from tests.support.oracles import (
    DIGITS,
    FLOAT_ROUNDING,
    bound,
    close,
    inputs_of,
    no_ties,
    values_of,
)
from tests.support.strategies import FAMILIES, programs_at_points

pytestmark = pytest.mark.usefixtures("arrays_stay_arrays")


def with_gradient(program):
    """The program as an expression, its symbols, and its cotangents for a symbol ``u``."""
    xs = inputs_of(program)
    f = sd.constant(0) + program.ours(xs)
    u = sd.symbol("u", f.shape)
    return f, xs, u, list(sd.vjp(f, xs, u))


def same(found, expected, what):
    """Assert that arrays have one shape and equal bits (any nan equals any other)."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape, what
    assert np.array_equal(found, expected, equal_nan=True), f"{what}: {found}, expected {expected}"


# Powers that lowered code and the reference round alike; they multiply others out differently.
ALIKE = {1, 2, -1, Fraction(1, 2), Fraction(-1, 2)}
# Functions that lowered code multiplies last of all factors (see lowering/kernels/monomials.py).
GRADED = {"power", "exp2"}


def reassociated(outputs):
    """Whether a power or a sum among the nodes may be rounded differently by lowered code.

    A number times a power comes first there: ``5*x**2`` is ``5*x*x``.  A sum of products runs in an
    order that depends on how its operands lie in memory, and on which of them was made first; the
    gradient that is lowered has a cotangent of its own.  Shares of a
    sum of exponentials are quotients.
    """
    nodes = sd.nodes(outputs)
    powers = [node.op.exponents for node in nodes if isinstance(node.op, ops.Product)]
    scaled = [
        node.args[0].op
        for node in nodes
        if isinstance(node.op, ops.Sum) and len(node.args) == 1 and node.op.const == 0
    ]
    return (
        any(p not in ALIKE for exponents in powers for p in exponents)
        or any(isinstance(op, ops.Product) and op.exponents == (2,) for op in scaled)
        or any(sums_up(node.op) for node in nodes if isinstance(node.op, ops.Contract))
        or any(node.op.name in GRADED for node in nodes if isinstance(node.op, ops.Pointwise))
        or any(isinstance(node.op, opaque_ops.LogSumExp) for node in nodes)
    )


def sums_up(op):
    """Whether a contraction is a sum of products."""
    return len(op.letters) > 1 and any(k not in op.out for word in op.letters for k in word)


@pytest.mark.slow
@pytest.mark.numpy_only("its bits")
@pytest.mark.parametrize("family", FAMILIES)
def test_lowered_is_interpreted_bit_by_bit(family):
    """Or as near to the exact value, where the two may round differently."""

    @sample(150)
    @given(programs_at_points(("pointwise", family), steps=6))
    def run(drawn):
        program, point = drawn
        f, xs, u, cotangents = with_gradient(program)
        if not any(node.shape for node in sd.nodes(f)):
            return  # all scalars: these run on Python floats, and the C library rounds differently
        arrays = [FLOAT.numbers(value) for value in point]
        g = np.linspace(-1.0, 2.0, max(1, f.size))[: f.size].reshape(f.shape)
        env = dict(zip([*xs, u], [*arrays, g], strict=True))
        outputs = [f, *cotangents]
        try:
            value, *gradient = nm.interpret(outputs, env)
        except np.linalg.LinAlgError:
            reject()
        F = nm.lower(f, xs)
        again, residuals = F.forward(*arrays)
        assert np.asarray(again).dtype == float
        same(F(*arrays), again, f"value of {program}")
        if not reassociated(outputs):
            for found, expected in zip(
                [again, *F.backward(residuals, g)], [value, *gradient], strict=True
            ):
                same(found, expected, program)
            return
        no_ties(program, point, HIGH)
        with mp.workdps(DIGITS):
            weights = np.vectorize(Fraction, otypes=[object])(g)
            exact = values_of(outputs, bound([*xs, u], [*point, weights], HIGH), HIGH)
        for found, *expected in zip(
            [again, *F.backward(residuals, g)], [value, *gradient], exact, strict=True
        ):
            close(found, *expected, program)

    run()


def lowered_is_right(program, point, **options):
    """Hold value and gradient of a program against exact numbers; the Function that gave them."""
    no_ties(program, point, HIGH)
    f, xs, _, _ = with_gradient(program)
    s = sd.sum(f)
    arrays = [FLOAT.numbers(value) for value in point]
    outputs = [s, *sd.grad(s, xs)]
    F = nm.lower(s, xs, **options)
    try:
        reference = nm.interpret(outputs, dict(zip(xs, arrays, strict=True)))
        value, gradient = F.value_and_grad(*arrays)
    except np.linalg.LinAlgError:
        reject()
    with mp.workdps(DIGITS):
        exact = values_of(outputs, bound(xs, point, HIGH), HIGH)
    for found, *expected in zip([value, *gradient], reference, exact, strict=True):
        close(found, *expected, program)
    return F


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_lowered_is_right(family):
    @sample(150)
    @given(programs_at_points(("pointwise", family), steps=6))
    def run(drawn):
        lowered_is_right(*drawn)

    run()


@pytest.mark.slow
@sample(150)
@given(programs_at_points(("pointwise", "selection"), scalar=True, steps=6))
def test_scalar_functions_apply_point_by_point(drawn):
    program, point = drawn
    f, xs, _, _ = with_gradient(program)
    F = nm.lower(f, xs)
    at = [float(value[()]) for value in point]
    grids = [np.array([[v, v / 2, -v]]) for v in at]
    values, gradients = F.value_and_grad(*grids)
    assert np.shape(values) == (1, 3)
    for k in np.ndindex(1, 3):
        value, gradient = F.value_and_grad(*(grid[k] for grid in grids))
        found = [values[k], *(g[k] for g in gradients)]
        np.testing.assert_allclose(
            found, [value, *gradient], rtol=FLOAT_ROUNDING, atol=FLOAT_ROUNDING
        )


SYMBOLIC = {
    "sum of exponentials": lambda X, w: sd.sum(sd.exp(X)) + sd.sum(w),
    "linear model": lambda X, w: sd.mean((X @ w - 1) ** 2),
    "gram matrix": lambda X, w: sd.sum((X.T @ X) ** 2) * (w @ w),
    "softmax": lambda X, w: sd.sum(sd.softmax(X @ w) ** 2),
    "log-sum-exp": lambda X, w: sd.logsumexp(X @ w) + sd.sum(sd.logsumexp(X, axis=0)),
    "spread": lambda X, w: sd.std(X) + sd.norm(w) + sd.var(X @ w),
    "products": lambda X, w: sd.sum(sd.prod(X, axis=1)) * sd.max(X @ w),
    "running sums": lambda X, w: sd.sum(sd.cumsum(X, axis=0) ** 2) + w @ sd.flip(w),
    "joined": lambda X, w: sd.sum(sd.outer(X @ w, w) * X),
    "masked": lambda X, w: sd.sum(sd.where(X > 0, sd.sqrt(X), X**2)) + sd.sum(sd.maximum(w, 0)),
}


@pytest.mark.parametrize("name", SYMBOLIC)
def test_symbolic_sizes_give_what_numbers_give(name):
    build = SYMBOLIC[name]
    rng = np.random.default_rng(3)
    values = rng.normal(size=(4, 3)), rng.normal(size=3)
    found = []
    for shapes in (("n", "k"), ("k",)), ((4, 3), (3,)):
        xs = [sd.symbol(n, shape) for n, shape in zip("Xw", shapes, strict=True)]
        f = build(*xs)
        outputs = [f, *sd.grad(f, xs), sd.hessian(f, xs[1]), sd.jacobian(sd.grad(f, xs[0]), xs[1])]
        found.append(nm.interpret(outputs, dict(zip(xs, values, strict=True))))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=FLOAT_ROUNDING, atol=FLOAT_ROUNDING)
