"""Products that begin with others, and sums of opposite signs: fewer operations, the same bits."""

from __future__ import annotations

import random

import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from numeric.lowering import kinds
from numeric.lowering.names import NUMPY, Emitter
from numeric.lowering.passes.repeats import share_leading_factors, share_negated_sums
from numeric.lowering.printers.numpy import NumPyPrinter
from numeric.lowering.programs import Program
from numeric.lowering.schedule import schedule
from tests.support.ways import leave_out

XS = sd.symbols("a b c d", "n")
SCALARS = sd.symbols("a b c d")


def products(made):
    """The operands of the products, and their signs."""
    steps = [x for x in made.steps if isinstance(x.kind, kinds.Product) and not x.weak]
    return [(x.operands, x.kind.signs) for x in steps]


def sums(made):
    """The operands of the sums, and their coefficients."""
    steps = [x for x in made.steps if isinstance(x.kind, kinds.Sum) and not x.weak]
    return [(x.operands, x.op.coefs) for x in steps]


def test_products_go_on_from_the_longest_one_that_they_begin_with():
    a, b, c, _ = SCALARS
    made = schedule([a / b / b, a / b, a * b / c], [a, b, c])
    once, again, *others = products(made)
    assert (once, again) == (((0, 1, 1), (1, -1, -1)), ((0, 1), (1, -1)))
    assert products(share_leading_factors(made)) == [again, ((4, 1), (1, -1)), *others]


def test_factors_that_are_multiplied_first_may_change_places():
    a, b, c, _ = SCALARS
    made = schedule([b * a, a * b**2 / (a + c)], [a, b, c])
    found = [x for x, _ in products(share_leading_factors(made))]
    assert all(len(x) == 2 for x in found)


def test_sums_of_opposite_signs_are_one_that_is_turned():
    a, b, c, _ = SCALARS
    made = schedule([b - 2 * a + c - 1, 2 * a - b - c + 1], [a, b, c])
    one, other = sums(share_negated_sums(made))
    assert sorted(one[0]) == [0, 1, 2]
    assert other[1] == (1, -1)


def test_quotients_begin_with_what_is_divided():
    a, b, _, _ = SCALARS
    F = nm.lower([b / a, a / b**2], [a, b])
    assert F(2.0, 4.0) == (2.0, 0.125)


def test_sums_of_other_constants_are_not_turned():
    a, b, c, _ = SCALARS
    F = nm.lower([2 * a - b - c + 1, b - 2 * a + c + 2], [a, b, c])
    assert F(1.0, 5.0, 7.0) == (-9.0, 12.0)


@pytest.mark.parametrize(
    "outputs",
    [
        lambda a, b, c: [a - b, b - a],  # as much work
        lambda a, b, c: [1 / (a - b + c), 1 / (b - a - c)],  # the sign of 0 is that of inf
        lambda a, b, c: [a - b + c, b - a + c],
        lambda a, b, c: [a - b + 2 * c, b - a - 3 * c],
    ],
)
def test_other_sums_stay_as_they_are(outputs):
    a, b, c, _ = SCALARS
    made = schedule(outputs(a, b, c), [a, b, c])
    assert share_negated_sums(made) is made


def test_a_zero_difference_has_no_sign_from_its_twin():
    a, b, c, _ = SCALARS
    F = nm.lower([a - b + c, b - a - c], [a, b, c])
    assert np.signbit(F(1.0, 3.0, 2.0)).tolist() == [False, False]


WAYS = [
    *(lambda x, y: x / y, lambda x, y: x * y, lambda x, y: x * y**2, lambda x, y: x / y**2),
    *(lambda x, y: x - y, lambda x, y: y - 2 * x + 1, lambda x, y: 2 * x - y - 1),
    *(lambda x, y: x + y / 3, lambda x, y: -x - y / 3),
]


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("symbols", [SCALARS, XS], ids=["scalars", "arrays"])
def test_random_programs_have_the_bits_of_the_program_without(seed, symbols, monkeypatch):
    rng = random.Random(seed)
    values = list(symbols)
    for _ in range(14):
        values.append(rng.choice(WAYS)(*rng.sample(values, 2)))
    outputs = [*values[-8:], *(-1 * x for x in values[-4:])]
    data = np.random.default_rng(seed).choice([0.5, -1.0, 3.0, 1e200, -2e-200, 0.1, 7.0], (4, 30))
    program = Program(Emitter(), "f", symbols, outputs, NUMPY, "")
    leave_out(monkeypatch, NumPyPrinter, "share_leading_factors", "share_negated_sums")
    plain = Program(Emitter(), "f", symbols, outputs, NUMPY, "")
    with np.errstate(all="ignore"):
        found = program.function(*data, {"n": 30})
        expected = plain.function(*data, {"n": 30})
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_array_equal(x, y, strict=True)


def test_a_camera_needs_fewer_passes(monkeypatch):
    """A projection divides by the depth again where it is derived, and turns what it took."""
    r, x, y, z = sd.symbols("r x y z")
    u = (sd.cos(r) * x - sd.sin(r) * z) / (sd.sin(r) * x + sd.cos(r) * z + y)
    J = [*sd.grad(u**2 * (1 + u**2), [x, z, r]), *sd.grad(u, [x, z, r])]

    def operations(program):
        steps = [x for x in program.schedule.steps if isinstance(x.kind, kinds.Sum | kinds.Product)]
        return sum(len(x.operands) - 1 for x in steps)

    found = operations(Program(Emitter(), "f", [r, x, y, z], J, NUMPY, ""))
    leave_out(monkeypatch, NumPyPrinter, "share_leading_factors")
    plain = operations(Program(Emitter(), "f", [r, x, y, z], J, NUMPY, ""))
    assert found < plain
