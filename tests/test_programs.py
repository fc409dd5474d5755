"""Derivatives of random programs, family by family, against the oracles."""

import pytest
from hypothesis import given

from tests.support import oracles
from tests.support.budget import sample
from tests.support.fields import EXACT, HIGH
from tests.support.strategies import FAMILIES, programs_at_points

ANALYTIC = ("pointwise", "contraction", "linear", "opaque")


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_value_jacobian_gradient_and_hessian_are_exact(family):
    # SymPy's second derivatives of the inverse of a 3 by 3 matrix of symbols take minutes.
    largest = 4 if family == "opaque" else 9

    @sample(150)
    @given(programs_at_points(("pointwise", family), rational=True, largest=largest))
    def run(drawn):
        oracles.check_exact(*drawn)

    run()


@pytest.mark.slow
@sample(200)
@given(programs_at_points(rational=True, steps=7, largest=6))
def test_mixed_rational_programs_are_exact(drawn):
    oracles.check_exact(*drawn)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_reverse_mode_is_the_transpose_of_forward_mode_exactly(family):
    @sample(150)
    @given(programs_at_points(("pointwise", family), rational=True, steps=7))
    def run(drawn):
        oracles.check_adjoint(*drawn, EXACT)

    run()


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_reverse_mode_is_the_transpose_of_forward_mode(family):
    @sample(100)
    @given(programs_at_points(("pointwise", family), steps=7))
    def run(drawn):
        oracles.check_adjoint(*drawn, HIGH)

    run()


@sample(60)
@given(programs_at_points(("pointwise",), scalar=True))
def test_partial_derivatives_to_third_order_at_fifty_digits(drawn):
    oracles.check_orders(*drawn)


@sample(60)
@given(programs_at_points(("pointwise", "selection"), scalar=True))
def test_partial_derivatives_of_selections_to_third_order(drawn):
    oracles.check_orders(*drawn)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_jacobian_and_hessian_at_high_precision(family):
    @sample(60)
    @given(programs_at_points(("pointwise", family), largest=4))
    def run(drawn):
        oracles.check_high(*drawn)

    run()


@sample(100)
@given(programs_at_points(ANALYTIC, steps=7))
def test_jacobian_of_analytic_programs_by_the_complex_step(drawn):
    oracles.check_complex_step(*drawn)


@sample(100)
@given(programs_at_points(steps=7))
def test_jacobian_in_floats_by_differences(drawn):
    oracles.check_differences(*drawn)
