"""The reference functions cover the table, name its variables, and can be evaluated."""

import csv
import math
from importlib.resources import files

import pytest

from tests.support.feynman_reference import REFERENCE

#: Formulas that are 0/0 at the middle of their ranges, and a step away from it: the two frequencies
#: of the transition probability share one range, and where they agree its sinc² is sin(0)²/0².
REMOVABLE = {"III.9.52": {"omega": 1e-6}}


def table():
    source = files("numeric") / "data" / "feynman_equations.csv"
    text = source.read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def ranges(row):
    entries = (entry.split(":") for entry in row["variables"].split(";"))
    return {name: (float(low), float(high)) for name, low, high in entries}


ROWS = table()
BY_ROW = pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])


def test_every_equation_of_the_table_has_a_function_in_its_order():
    assert len(ROWS) == 100
    assert [row["id"] for row in ROWS] == list(REFERENCE)
    assert len({function for function, _ in REFERENCE.values()}) == 100


@BY_ROW
def test_parameters_are_the_variables_and_the_value_at_the_middle_is_finite(row):
    function, names = REFERENCE[row["id"]]
    assert names == tuple(ranges(row))
    middle = {name: (low + high) / 2 for name, (low, high) in ranges(row).items()}
    if row["id"] in REMOVABLE:
        with pytest.raises(ZeroDivisionError):
            function(**middle)
        for name, offset in REMOVABLE[row["id"]].items():
            middle[name] += offset
    value = function(*(middle[name] for name in names))
    assert type(value) is float
    assert math.isfinite(value)
