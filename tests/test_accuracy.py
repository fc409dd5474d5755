"""A sample of the table of accuracy (``make accuracy`` runs all of it), and the table's own tests.

Each miss of a row is listed with a point.  A listed row that keeps half the bound everywhere fails,
too.  The whole bound would not do: exp and log of arrays round differently on another processor.
"""

from __future__ import annotations

from functools import partial

import mpmath as mp
import pytest

import symdiff as sd
from symdiff.scalars.formula import VOCABULARY
from tests import accuracy
from tests.accuracy import ROWS, Exact, error, judge, sample, settled_parts
from tests.support.accuracy_misses import MISSES, STRICT
from tests.support.budget import FUZZ
from tests.support.oracle_digits import key
from tests.support.scalar_functions import TABLE

COUNTS = {"elementary": 24, "composite": 24, "stepwise": 8, "special": 4}
SLOW_ORACLE = {
    *("betaln", "erfcinv", "erfcinv_slope"),
    *("ellipkm1", "ellipkm1_derivative(1)", "ellipkm1_derivative(3)"),
    *("beta", "betaln", "poch", "binom", "erfcinv", "erfcinv_slope"),
    *(name for name in ROWS if name.startswith(("yv", "kv", "ive", "kve"))),
}


@pytest.mark.slow
def count(name):
    """The number of points at which a row is judged."""
    return 10**6 if FUZZ else 1 if name in SLOW_ORACLE else COUNTS[ROWS[name].kind]


def highest_order(name):
    return 4 if any(row == name and sum(order) > 2 for row, order in MISSES) else 2


def requests():
    """What computes the exact derivatives that the tests below ask for."""
    wanted = {
        (name, point, highest)
        for name in ROWS
        for highest in {2, highest_order(name)}
        for point in sample(name, count(name))
    }
    return {
        key("accuracy", name, point, highest): partial(settled_parts, name, point, highest)
        for name, point, highest in wanted
    }


@pytest.mark.parametrize("name", ROWS)
def test_derivatives_are_accurate(name):
    """Orders 0 to 2, and what is listed, keep the bound at the points sampled or miss as listed."""
    one = ROWS[name]
    chosen = sample(name, count(name))
    highest = highest_order(name)
    for order in one.orders(highest):
        missed = judge(name, order, chosen, highest)
        if (name, order) not in MISSES:
            assert not missed, order
        else:
            listed = MISSES[name, order].at
            assert any(
                judge(name, order, points, highest, tightened=2)
                for points in ([listed], ROWS[name].at())
            ), f"{order} misses no more: unlist it"


@pytest.mark.parametrize("name", [name for name in ROWS if accuracy.strict_orders(name)])
def test_slopes_keep_their_digits_without_conditioning(name):
    """Orders 1 and 2 at exact operands, near ends of domains too, but for rows that are listed."""
    chosen = sample(name, count(name))
    for order in accuracy.strict_orders(name):
        if (name, order) not in STRICT:
            assert not judge(name, order, chosen, strict=True), order


def test_the_table_has_what_it_promises():
    """Rows of all functions but those with a reason, 120 points, misses of rows that exist."""
    without = {name for name, one in TABLE.items() if one.without}
    assert {one.function.name for one in ROWS.values()} >= set(VOCABULARY) - without
    assert all(len(set(one.at())) >= 120 for one in ROWS.values())
    assert {(name, order) for name, order in MISSES} <= {
        (name, order) for name, one in ROWS.items() for order in one.orders(one.highest)
    }


def test_machine_code_alone_leaves_what_a_page_has():
    """Its columns are new; those of Python floats and of arrays, and what these miss, stay."""
    results = {
        ("sin", (0,)): [((2.0,), "array", "9.0 u: 0.5")],
        ("sin", (1,)): [((1.0,), "native", "9.0 u: 0.5")],
        ("cos", (3,)): [],
    }
    coded = [("sin", (1,)), ("cos", (3,))]
    page = accuracy.document(results, [("sin", (0,))])
    assert "| elementary | 0 to 2 | 2 | 1 | 1 | 0 |" in page
    coded_alone = {key: results[key] for key in coded}
    again = accuracy.document(coded_alone, coded, page)
    assert again == accuracy.document(coded_alone, coded, again)
    assert "| elementary | 0 to 2 | 2 | 1 | 1 | 1 |" in again
    assert "| elementary | 3 and 4 | 1 | 0 | 1 | 0 |" in again
    assert [line for line in again.splitlines() if line.startswith("| `")] == [
        "| `sin` | 0 | 1 | at 2.0, array: 9.0 u: 0.5 | not listed |",
        "| `sin` | 1 | 1 | at 1.0, native: 9.0 u: 0.5 | not listed |",
    ]


# The tester ---------------------------------------------------------------------------------------

X = sd.symbol("x")

FAULTS = {  # a derivative of a row, spelled with a fault
    "tanh, (1,)": (1 - sd.tanh(X) ** 2, (20.0,)),
    "expm1, (0,)": (sd.exp(X) - 1, (1e-5,)),
    "sin, (1,)": (-sd.cos(X), (0.5,)),
    "atan, (2,)": (-2 * X / (1 + X**2) ** 2 * (1 + 2.0**-46), (0.5,)),
    "log, (1,)": (sd.where(X > 1e300, float("nan"), 1 / X), (1.5e300,)),
    "exp, (0,)": (1 / sd.exp(-X), (-710.0,)),
    "lambertw, (1,)": (sd.exp(-sd.lambertw(X)) / (1 + sd.lambertw(X)), (1e250,)),
    "ellipk, (1,)": (
        (sd.ellipe(X) - (1 - X) * sd.ellipk(X)) / (2 * X * (1 - X)),
        (1e-3,),
    ),
    "cosh, (2,)": (-sd.cosh(X), (800.0,)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_table_notices_a_fault(fault, monkeypatch):
    """Cancellation, a wrong sign, digits, nan and infinities, in both paths where both have it."""
    name, order = fault.split(", ", 1)
    formula, point = FAULTS[fault]
    monkeypatch.setattr(accuracy, "lowered", lambda name, order: accuracy.nm.lower(formula, [X]))
    order = (int(order[1]),)
    assert {path for _, path, _ in judge(name, order, [point])} == {"float", "array"}


def test_the_table_notices_lost_digits_next_to_the_end_of_a_domain(monkeypatch):
    """1 - x**2 is granted all digits that a rounding of x takes, and fails without conditioning."""
    formula, point = 1 / sd.sqrt(1 - X**2), (1 - 2.0**-40,)
    monkeypatch.setattr(accuracy, "lowered", lambda name, order: accuracy.nm.lower(formula, [X]))
    assert not judge("asin", (1,), [point])
    assert {path for _, path, _ in judge("asin", (1,), [point], strict=True)} == {"float", "array"}


@pytest.mark.parametrize(
    ("result", "value", "noticed"),
    [
        (1 + 2.0**-50, 1, False),
        (1 + 2.0**-48, 1, True),
        (5e-324, 0, False),
        (1.5e-323, 0, True),
        (-5e-324, 5e-324, False),
        (-1e-300, 1e-300, True),
        (float("inf"), mp.mpf(2) ** 1024, False),
        (float("inf"), mp.mpf(2) ** 1000, True),
        (float("-inf"), mp.mpf(2) ** 1024, True),
        (1e300, mp.mpf(2) ** 1024, True),
        (float("nan"), 0, True),
        (float("nan"), mp.inf, True),
        (float("inf"), mp.inf, False),
    ],
)
def test_the_bound(result, value, noticed):
    """The bound counts the size of the value, two subnormals, signs and infinities."""
    assert bool(error(result, Exact(mp.mpf(value), abs(mp.mpf(value))), 8)) is noticed
