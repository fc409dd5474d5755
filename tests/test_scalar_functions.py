"""The table of scalar functions by itself: its series have the derivatives of its values."""

import mpmath as mp
import pytest

from tests.accuracy import FORMULAS
from tests.support.scalar_functions import SMOOTH
from tests.support.series import derivatives, variables

ROWS = {**SMOOTH, **{row.name: row.function for row in FORMULAS}}


def differences(row, point, highest, digits=60):
    """The worst relative difference between series and mpmath's numerical derivatives."""
    worst = 0
    fixed = [*point[row.orders : row.parameters]]
    shift = [int(n) for n in point[: row.orders]]

    def function(*xs):
        return row.f(*fixed, *xs)

    for order in row.of_orders(highest):
        order = order[row.parameters :]
        order = [n + (shift[k] if k < row.orders else 0) for k, n in enumerate(order)]
        with mp.workdps(digits):
            at = [mp.mpf(x) for x in point[row.parameters :]]
            found = derivatives(function, at, [tuple(order)])[tuple(order)]
            wanted = mp.diff(function, tuple(at), tuple(order)) if any(order) else function(*at)
            size = abs(found) + abs(function(*at)) * mp.mpf(10) ** -20  # for zeros
            worst = max(worst, abs(found - wanted) / size if size else abs(wanted))
    return worst


@pytest.mark.parametrize("name", ROWS)
def test_derivatives_are_limits_of_differences(name):
    """A wrong slope of the table would go into all that is compared with it."""
    row = ROWS[name]
    moderate = [p for p in row.examples() if all(0.1 <= abs(x) < 50 for x in p[row.parameters :])]
    assert differences(row, moderate[0], 2) < 1e-20


@pytest.mark.slow
@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_to_third_order_are_limits_of_differences(name):
    row = ROWS[name]
    for point in row.examples():
        assert differences(row, point, 3, row.working_digits(point)) < 1e-20, point


def test_variables_of_series_are_cut_off_at_a_total_order():
    x, y = variables((2, 3), 2)
    assert [one.c for one in (x * y).c] == [[6, 2, 0], [3, 1], [0]]
