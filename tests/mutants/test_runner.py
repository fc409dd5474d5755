"""The runner itself: what it calls killed, and what it does not."""

from __future__ import annotations

import pytest

from tests.mutants.rows import Mutant
from tests.mutants.runner import KILLED, judge

SOURCE = "def double(x):\n    return 2 * x\n\n\ndef half(x):\n    return x / 2\n"
TESTS = """
import pytest
from symdiff.numbers import double


@pytest.mark.parametrize("x", [0, 3], ids=["zero", "three"])
def test_double(x):
    assert double(x) == x + x


def test_late_import():
    from symdiff.numbers import half


def test_red():
    assert double(1) == 3
"""


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A tree as small as they come, whose tests need no plugins."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    for folder in ("symdiff", "numeric", "tests"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").touch()
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = ["."]\n')
    (tmp_path / "symdiff" / "numbers.py").write_text(SOURCE)
    (tmp_path / "tests" / "test_numbers.py").write_text(TESTS)
    return tmp_path


def mutant(name, original, planted, *tests):
    return Mutant(name, "numbers", original, planted, tests)


ROWS = {
    "killed": mutant("wrong", "2 * x", "3 * x", "test_numbers.py::test_double[three]"),
    "survives": mutant("no mutant", "2 * x", "2 * x", "test_double"),
    "not looked at": mutant("case", "2 * x", "3 * x", "test_double[zero]"),
    "broken": mutant(
        "import", "def double", "import nothing_of_this_name\ndef double", "test_double"
    ),
    "late": mutant("late import", "def half", "def quarter", "test_late_import"),
    "syntax": mutant("syntax", "2 * x", "2 *", "test_double"),
    "red": mutant("red", "2 * x", "3 * x", "test_red"),
    "twice": mutant("twice", "return", "yield", "test_double"),
    "nowhere": mutant("nowhere", "5 * x", "6 * x", "test_double"),
    "no test": mutant("no test", "2 * x", "3 * x", "test_treble"),
    "no case": mutant("no case", "2 * x", "3 * x", "test_double[four]"),
}


@pytest.mark.slow
def test_a_mutant_is_killed_by_a_test_that_fails_and_by_nothing_else(root):
    heard = []
    verdicts = judge(list(ROWS.values()), root, jobs=2, tell=heard.append)
    said = {name: verdict.said for name, verdict in zip(ROWS, verdicts, strict=True)}
    assert said.pop("killed") == KILLED
    assert said.pop("survives") == said.pop("not looked at") == "survives"
    for name in ("broken", "late", "syntax"):
        assert said.pop(name).startswith("broken")
    assert said.pop("red").endswith("test_red fails without it")
    assert all(text.startswith("stale") for text in said.values())
    assert sorted(heard) == sorted(verdicts)
    assert (root / "symdiff" / "numbers.py").read_text() == SOURCE  # it works on a copy


@pytest.mark.slow
def test_a_mutant_that_takes_too_long_is_not_killed(root, monkeypatch):
    monkeypatch.setattr("tests.mutants.runner.SECONDS", 1)
    endless = mutant("endless", "return 2 * x", "while True: pass", "test_double")
    (verdict,) = judge([endless], root)
    assert verdict.said.startswith("not killed within 1 s")
