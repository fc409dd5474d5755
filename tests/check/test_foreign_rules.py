"""The table of other packages' rules: it says what the functions are, and tells others apart."""

import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from numeric.check.foreign import from_tensors
from numeric.check.report import Finding, Report
from tests.check import foreign_rules
from tests.check.foreign_rules import ROWS
from tests.check.foreign_table import Row, X


def test_every_function_is_defined_once_and_taken_from_its_packages():
    names = [row.name for row in ROWS]
    assert len(set(names)) == len(names)
    for package in foreign_rules.PACKAGES:
        assert sum(package in row.theirs for row in ROWS) > 45
    for row in ROWS:
        forward, symbols = foreign_rules.definition(row)
        assert set(sd.free_symbols(forward)) == set(symbols), row.name
        assert set(row.domain or ()) <= set(row.inputs), row.name


def test_ordinary_points_lie_in_the_domain():
    rng = np.random.default_rng(0)
    for row in ROWS:
        for x, (name, shape) in zip(
            foreign_rules.ordinary(row, rng), row.inputs.items(), strict=True
        ):
            low, high = (row.domain or {}).get(name, (-np.inf, np.inf))
            assert x.shape == shape
            assert np.all((low < x) & (x < high)), row.name


PLANTED = [
    ("the same", lambda x: nm.sin(x), None),
    ("another function", lambda x: nm.cos(x), "cos"),
    ("off by a constant", lambda x: nm.sin(x) + 1e-5, "value"),
    ("a slope off by 2e-6", lambda x: nm.sin(x) + 2e-6 * x, "slope"),
]


@pytest.mark.parametrize(("name", "fn", "wrong"), PLANTED)
def test_a_function_that_is_not_the_one_of_the_table_is_told(name, fn, wrong, monkeypatch):
    monkeypatch.setitem(foreign_rules.ADAPTERS, "numeric", from_tensors)
    planted = Row(name, sd.sin, X, None, {"numeric": lambda _: fn})
    found = list(foreign_rules.disagreements({"numeric": nm}, rows=[planted]))
    assert bool(found) == (wrong is not None)
    assert all(text.startswith(f"numeric {name} at") for text in found)


def test_definitions_agree():
    for package in foreign_rules.PACKAGES:
        pytest.importorskip(package)
    # In the whole by `make crosscheck`; those of one letter here.
    assert foreign_rules.definitions_agree("torch s") > 10
    assert foreign_rules.definitions_agree("autograd s") > 10


def test_a_line_of_the_table_says_where_and_what():
    (row,) = [row for row in ROWS if row.name == "softplus"]
    point = {"x": np.array(20.5), "cotangent": np.array(1.0)}
    finding = Finding(
        "dead-tail", "wrong", False, "vjp", "x", (), point, 0.99999999875, 1.0, 5.6e6, "it is 1"
    )
    report = Report("wrong", False, (finding,), "softplus(x)", {"x": ()}, 10, 10, 0)
    line = foreign_rules.told("torch", row, report)
    where = "dead-tail, vjp by x at x=20.5, cotangent=1.0 (float64)"
    numbers = "expected 0.99999999875000001, got 1.0, 5.6e+06 ulp; it is 1"
    assert line.split() == f"torch softplus wrong NOT {where}: {numbers}".split()
    right = foreign_rules.told("jax", row, Report("right", True, (), "", {}, 10, 10, 0))
    assert right.split() == ["jax", "softplus", "right", "ok"]
