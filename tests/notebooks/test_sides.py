"""``notebooks/sides.py``: values that differ are found, and the table has the code that ran."""

import math
import sys
from types import ModuleType

import pytest

from notebooks.sides import Sides, numbers, words


def asked(key, package, compute):
    print(f"{package} 1.0: computed here")
    return compute()


side_by_side = Sides("planted", asked)


def in_sympy():
    x = 2.0

    y = x * x
    return [y, (1, 2)]


def in_scipy():
    return math.nan


def ours():
    return [4.0, 1.0, 2.0]


def test_the_table_has_the_last_paragraph_of_each_function_and_the_values():
    table = side_by_side("a task", {in_sympy: ours})
    assert table.rows == [
        ("SymPy", "y = x * x\n[y, (1, 2)]", "[4.0, 1.0, 2.0]", "same, to 1e-9", "run here")
    ]
    assert table.theirs["SymPy"].tolist() == [4.0, 1.0, 2.0]
    assert repr(table) == "a task\n  SymPy: same, to 1e-9 (run here)"
    assert "y = x * x" in table._repr_html_()


@pytest.mark.parametrize(
    "wrong", [[4.0, 1.0, 2.0 + 1e-7], [4.0, 1.0, math.nan], [4.0, 1.0], [1.0, 4.0, 2.0]]
)
def test_a_planted_difference_is_found(wrong):
    def planted():
        return wrong

    with pytest.raises(AssertionError, match="sympy"):
        side_by_side("a task", {in_sympy: planted})


def test_differences_may_be_wide_or_shown():
    def nearly():
        return [4.0, 1.0, 2.0 + 1e-7]

    def half():
        return 0.5

    assert "1e-6" in repr(side_by_side("a task", {in_sympy: nearly}, rough={in_sympy: 1e-6}))
    shown = side_by_side("kinks", {in_scipy: half}, alike=False)
    assert "theirs: nan; ours: 1/2" in repr(shown)


def test_a_function_of_a_module_runs_with_another_one(monkeypatch):
    def in_torch(torch):
        return torch.sqrt(2.0)

    other = ModuleType("other")
    other.sqrt = math.sqrt
    monkeypatch.setitem(sys.modules, "torch", math)
    table = side_by_side("a task", {in_torch: other})
    assert table.rows[0][2:] == (
        "import other as torch\n# and the same",
        "same, to 1e-9",
        "torch 1.0: computed here",
    )
    other.sqrt = math.cos
    with pytest.raises(AssertionError, match="torch"):
        side_by_side("a task", {in_torch: other})


def test_what_is_compared_is_every_number_in_order():
    assert numbers([1, (2.0, [[3]]), True]).tolist() == [1.0, 2.0, 3.0, 1.0]
    assert words(in_scipy) == "math.nan"
