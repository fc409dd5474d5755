"""The oracles are tested: a rule wrong by 0.1 % is caught, and the rules as they are pass."""

import math
from dataclasses import dataclass
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from symdiff import opaque_ops
from symdiff.calculus import rules
from symdiff.graph import ops
from tests.support import oracles, running_errors
from tests.support.evaluation import evaluate
from tests.support.fields import EXACT, HIGH
from tests.support.programs import Program, Step
from tests.support.refusals import refused

WRONG = Fraction(1001, 1000)


def ratio(*shape):
    """A point of the shape: fractions with no zeros and no ties."""
    size = int(np.prod(shape))
    out = np.empty(size, object)
    for k in range(size):
        out[k] = Fraction((-1) ** k * (k * k + 3), 7)
    return out.reshape(shape)


def program(shape, *steps):
    """A program of one input, each step (name, *params) applied to the value before it."""
    return Program(
        (shape,), tuple(Step(name, (k,), params) for k, (name, *params) in enumerate(steps))
    )


def square(name, shape, *steps):
    """The same, with the input times itself at the end, so that second derivatives exist."""
    drafted = program(shape, (name, *steps))
    last = len(drafted.steps)
    return Program(drafted.shapes, (*drafted.steps, Step("mul", (last, last), ())))


# What to plant: each changes one statement of the calculus --------------------------------------


def scaled(flow):
    return None if flow is None else rules.Flow(flow.expr * WRONG, flow.mark)


def planted_method(cls, name):
    def plant(monkeypatch):
        right = getattr(cls, name)
        monkeypatch.setattr(cls, name, lambda self, flow: scaled(right(self, flow)))

    return plant


def planted_partial(cls):
    def plant(monkeypatch):
        right = cls.partial
        monkeypatch.setattr(
            cls, "partial", lambda self: None if (p := right(self)) is None else p * WRONG
        )

    return plant


def planted_scalar_partial(monkeypatch):
    right = rules.partial
    monkeypatch.setattr(
        rules, "partial", lambda formula, k: right(formula, k) * Fraction(1001, 1000)
    )


def planted_differential(cls):
    def plant(monkeypatch):
        right = cls.differential
        monkeypatch.setattr(
            cls, "differential", lambda op, node, k, t: right(op, node, k, t) * WRONG
        )

    return plant


def planted_transpose(cls, wrong):
    def plant(monkeypatch):
        right = cls.transposed
        monkeypatch.setattr(cls, "transposed", lambda op, k, shape: wrong(right(op, k, shape)))

    return plant


def shifted(op):
    """The slice, or its transpose, one place off along the last axis."""
    *rest, (start, stop, step) = op.steps
    off = -1 if start else 1
    steps = (*rest, (start + off, stop + off, step))
    return ops.linear._linear(type(op), op.before, steps, op.after)


def reverse(op):
    return (
        ops.flip_op((-1,)) if isinstance(op, ops.Flip) else ops.cumsum_op(op.axis, not op.reverse)
    )


def rolled(op):
    """A gather or scatter whose positions are one off."""
    size = int(np.prod(op.before))
    return type(op)(op.before, (op.index + 1) % size)


def one_more_diagonal(op):
    return ops.triangle_op(op.lower, op.diagonal + 1)


POLYNOMIAL = square("scale", (3,), 3)
POWERS = program((2,), ("positive",), ("power", -2))
CONTRACTION = Program(((3, 2),), (Step("einsum", (0, 0), ("ij,kj->ik",)), Step("mul", (1, 1))))
SELECTION = square("clip", (4,), Fraction(-4, 5), Fraction(4, 5))
TRANSCENDENTAL = program((2,), ("call", "sin"), ("call", "tanh"))


@dataclass
class Fault:
    """What is planted, the program that meets it, and the check that finds it."""

    plant: object
    program: Program
    check: object


def exact(case, point):
    oracles.check_exact(case, point)


def adjoint(case, point):
    oracles.check_adjoint(case, point, EXACT)


FAULTS = {
    "sum pull": Fault(planted_method(rules.SumRule, "pull"), POLYNOMIAL, exact),
    "sum pull, transposition": Fault(planted_method(rules.SumRule, "pull"), POLYNOMIAL, adjoint),
    "sum push, transposition": Fault(planted_method(rules.SumRule, "push"), POLYNOMIAL, adjoint),
    "product partial": Fault(planted_partial(rules.ProductRule), POWERS, exact),
    "pointwise partial": Fault(planted_partial(rules.PointwiseRule), SELECTION, exact),
    "scalar partial": Fault(planted_scalar_partial, TRANSCENDENTAL, oracles.check_high),
    "scalar partial, complex step": Fault(
        planted_scalar_partial, TRANSCENDENTAL, oracles.check_complex_step
    ),
    "scalar partial, differences": Fault(
        planted_scalar_partial, TRANSCENDENTAL, oracles.check_differences
    ),
    "scalar partial, orders": Fault(
        planted_scalar_partial, program((), ("call", "sin"), ("call", "exp")), oracles.check_orders
    ),
    "strong product": Fault(
        planted_method(rules.StrongRule, "pull"),
        program((4,), ("power", 3), ("cumsum", 0), ("slice", ((1, 3, 1),)), ("power", 2)),
        exact,
    ),
    "contract pull": Fault(planted_method(rules.ContractRule, "pull"), CONTRACTION, exact),
    "contract pull, transposition": Fault(
        planted_method(rules.ContractRule, "pull"), CONTRACTION, adjoint
    ),
    "contract push, transposition": Fault(
        planted_method(rules.ContractRule, "push"), CONTRACTION, adjoint
    ),
    "linear pull": Fault(planted_method(rules.LinearRule, "pull"), square("flip", (3,), 0), exact),
    "linear push, transposition": Fault(
        planted_method(rules.LinearRule, "push"), square("flip", (3,), 0), adjoint
    ),
    "flip": Fault(
        planted_transpose(ops.Flip, lambda op: ops.flip_op((-1,))), square("flip", (3, 2), 0), exact
    ),
    "cumsum": Fault(planted_transpose(ops.Cumsum, reverse), square("cumsum", (3,), 0), exact),
    "triangle": Fault(
        planted_transpose(ops.Triangle, one_more_diagonal), square("tril", (3, 3), 0), exact
    ),
    "slice": Fault(
        planted_transpose(ops.Slice, shifted), square("slice", (4,), ((1, 3, 1),)), exact
    ),
    "slice, transposition": Fault(
        planted_transpose(ops.Slice, shifted), square("slice", (4,), ((1, 3, 1),)), adjoint
    ),
    "gather": Fault(planted_transpose(ops.Gather, rolled), square("fancy", (4,), (0, 2, 2)), exact),
    "concat": Fault(
        planted_transpose(ops.Concat, shifted),
        Program(
            ((3,),), (Step("scale", (0,), (2,)), Step("concat", (1, 0), (0,)), Step("mul", (2, 2)))
        ),
        exact,
    ),
    "solve": Fault(
        planted_differential(opaque_ops.Solve),
        Program(((2, 2),), (Step("solve", (0, 0)), Step("mul", (0, 1)))),
        oracles.check_high,
    ),
    "inv": Fault(planted_differential(opaque_ops.Inv), square("inv", (2, 2)), exact),
    "det": Fault(planted_differential(opaque_ops.Det), square("det", (2, 2)), exact),
    "cofactor": Fault(
        planted_differential(opaque_ops.Cofactor), square("det", (3, 3)), oracles.check_high
    ),
    "logabsdet": Fault(
        planted_differential(opaque_ops.LogAbsDet), square("logabsdet", (2, 2)), oracles.check_high
    ),
    "prod": Fault(planted_differential(opaque_ops.Prod), square("prod", (3,), 0), exact),
    "prod of others": Fault(
        planted_differential(opaque_ops.ProdOthers), square("prod", (3,), 0), exact
    ),
    "max": Fault(planted_differential(opaque_ops.Max), square("max", (3,), 0), exact),
    "min": Fault(planted_differential(opaque_ops.Min), square("min", (3,), 0), exact),
    "logsumexp": Fault(
        planted_differential(opaque_ops.LogSumExp), square("logsumexp", (3,), 0), oracles.check_high
    ),
}


@pytest.fixture(autouse=True)
def _fresh_partials():
    """Partials are memoised; a planted one must neither be hidden by that nor survive in it."""
    rules._partial_program.cache_clear()
    yield
    rules._partial_program.cache_clear()


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_the_rules_as_they_are_pass(name):
    fault = FAULTS[name]
    fault.check(fault.program, [ratio(*shape) for shape in fault.program.shapes])


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_caught(name, monkeypatch):
    fault = FAULTS[name]
    fault.plant(monkeypatch)
    with pytest.raises(AssertionError):
        fault.check(fault.program, [ratio(*shape) for shape in fault.program.shapes])


@pytest.mark.parametrize("field", [EXACT, HIGH])
def test_rounding_does_not_hide_a_singular_matrix(field):
    a = np.array([[-2, 3, -2], [8, 5, -1], [8, -12, 8]]) * Fraction(1, 7)
    inverse = program((3, 3), ("inv",), ("inv",))
    xs = oracles.inputs_of(inverse)
    with mp.workdps(oracles.DIGITS):
        env = oracles.bound(xs, [a], field)
        refused(
            (ZeroDivisionError, None, lambda: inverse.plain(field, list(env.values()))),
            (ZeroDivisionError, None, lambda: evaluate([inverse.ours(xs)], env, field)),
        )


@pytest.mark.parametrize("check", [oracles.check_high, oracles.check_complex_step])
def test_products_of_no_elements_are_numbers_of_the_field(check):
    """A third, from an empty product: in floats, it differs in the 17th digit."""
    case = program((1,), ("slice", ((1, None, 1),)), ("prod", 0), ("bounded",))
    case = Program(case.shapes, (*case.steps, Step("mul", (0, 3)), Step("mul", (4, 4))))
    check(case, [ratio(1)])


# solve(A, A) in floats: exact at the first matrix and rounded next to it; the differences from the
# second meet a singular matrix.
@pytest.mark.parametrize(
    "matrix",
    [[[-6, 6, -4], [-6, -6, 2], [5, -2, 2]], [[-7, 7, 7], [-7, 8, 7], [-3, -8, 2]]],
)
def test_differences_next_to_exact_values_and_singular_matrices(matrix):
    case = Program(((3, 3),), (Step("solve", (0, 0)), Step("scale", (1,), (2,)), Step("inv", (2,))))
    oracles.check_differences(case, [np.array(matrix) * Fraction(1, 7)])


def test_rounding_does_not_hide_a_tie():
    with mp.workdps(oracles.DIGITS), pytest.raises(oracles.Tie):
        oracles._strictly_less(mp.mpf(1) / 49 * 49, mp.mpf(1) - mp.eps)


def test_running_errors_bound_any_order_of_terms_and_not_much_more():
    """A sum of a hundred products that cancel, in floats from either end."""
    values = np.random.default_rng(0).uniform(-1, 1, (2, 100))
    a, b = running_errors.variables(values)
    with mp.workdps(50):
        exact = a @ b
        sums = [float(sum((p * q for p, q in zip(*values[:, ::k], strict=True)))) for k in (1, -1)]
        sums += [float(values[0] @ values[1]), float(math.fsum(values[0] * values[1]))]
        assert max(abs(found - exact.value) for found in sums) <= exact.error
        assert exact.error <= 200 * 2.0**-53 * np.abs(values[0] * values[1]).sum()


def test_running_errors_see_a_wrong_last_digit_but_two():
    m = running_errors.FUNCTIONS
    x = running_errors.variables(0.7)
    with mp.workdps(50):
        found = m.tanh(m.sin(x) * x / 3 + m.sqrt(x)) - 1 / m.exp(x)
        value = np.tanh(np.sin(0.7) * 0.7 / 3 + np.sqrt(0.7)) - 1 / np.exp(0.7)
        assert abs(value - found.value) <= found.error < 1e-14


def test_running_errors_that_nobody_knows_have_no_bound():
    """Next to a pole or the edge of a domain, and where rounding decides between far branches."""
    m = running_errors.FUNCTIONS
    x = running_errors.variables(0.1)
    with mp.workdps(50):
        nothing = x * 3 - m.sin(m.sin(x)) * 0 - 3 * x
        assert m.sqrt(nothing).error == mp.inf
        assert (1 / nothing).error == mp.inf
        assert m.exp(m.exp(m.exp(x * 30))).error == mp.inf
        chosen = m.where(m.greater(3 * x, x + 2 * x), x, x + 5)
        assert chosen.error >= 5
        assert m.maximum(3 * x, x + 2 * x).error < 1e-15
