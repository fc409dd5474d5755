"""The runner of ``make fuzz`` collects, counts and keeps; it finds planted failures in its time."""

import re
import textwrap
from pathlib import Path

import pytest

from tests import fuzz

SUITE = """
    import os
    from hypothesis import given, settings, strategies as st
    from hypothesis.database import DirectoryBasedExampleDatabase

    @settings(database=None)
    @given(st.integers(0, 10**6))
    def test_right(n):
        assert n >= 0

    @settings(database=None)
    @given(st.integers(0, 10**6))
    def test_wrong(n):
        assert n < 1000

    def test_inside():
        @settings(database=None)
        @given(st.integers(0, 10**6))
        def inner(n):
            assert n >= 0

        inner()

    def test_without_examples():
        pass

    def test_hanging():
        while True:
            pass

    @settings(database=DirectoryBasedExampleDatabase("EXAMPLES"))
    @given(st.integers(0, 10**6))
    def test_shrinking_for_ever(n):
        if n >= 1000 and os.environ.get("FUZZ_REPLAYS"):
            raise NameError("a name is missing")
        seen.append(n)
        while any(n >= 1000 for n in seen[:-1]):  # the first failure has been saved
            pass
        assert n < 1000

    seen = []
"""


@pytest.fixture
def suite(tmp_path):
    path = tmp_path / "test_planted.py"
    path.write_text(textwrap.dedent(SUITE).replace("EXAMPLES", str(tmp_path / "examples")))
    return path


@pytest.mark.slow
def test_a_run_counts_what_was_drawn_and_keeps_what_failed(suite, tmp_path, monkeypatch):
    monkeypatch.setattr(fuzz, "_GROWTH", 1e-3)  # one turn each
    lines = []
    names = ("wrong", "right", "inside", "without_examples")
    tests = [f"{suite}::test_{name}" for name in names]
    results = fuzz.fuzz(tests, 10, 2, tmp_path / "kept", lambda *text, **_: lines.append(text))
    by_name = {r.test.rpartition("::")[2]: r for r in results}
    for name in ("test_right", "test_inside"):
        assert by_name[name].end == "passed"
        assert by_name[name].drawn == 100 * by_name[name].turns
    assert by_name["test_wrong"].end == "failed"
    assert by_name["test_wrong"].drawn >= 1
    assert by_name["test_without_examples"] == (tests[3], 1, 0, 0, "passed", "")
    (kept,) = (tmp_path / "kept").iterdir()
    assert "n=1000" in kept.read_text()
    assert len(lines) == 4
    assert [any("n=1000" in part for part in line) for line in lines].count(True) == 1
    line = fuzz.summary(results, 0.1)
    assert line.endswith(f"FAILED: {tests[0]}")
    assert fuzz.status(results) == 1


@pytest.mark.slow
def test_a_test_of_ours_runs_under_its_own_warnings_and_settings(tmp_path):
    test = "tests/symdiff/test_products.py::test_products_keep_their_value"
    result = fuzz.run(test, 0, tmp_path)
    assert result.end == "passed"
    assert result.drawn > 0


def test_turns_grow_into_the_share(tmp_path, monkeypatch):
    now, scales = [0.0], []

    def turn(test, scale, seconds):
        scales.append(scale)
        now[0] += 1 + scale
        return 0, f"{fuzz._COUNTED} {round(60 * scale)} 3"

    monkeypatch.setattr(fuzz, "turn", turn)
    monkeypatch.setattr(fuzz.time, "monotonic", lambda: now[0])
    result = fuzz.run("a test", 100.0, tmp_path)
    assert result == ("a test", len(scales), sum(round(60 * s) for s in scales), 12, "passed", "")
    assert scales[:3] == [1.0, 4.0, 16.0]
    assert 80 < now[0] < 120


@pytest.mark.slow
def test_a_turn_without_end_is_told_apart_from_a_failure(suite, tmp_path, monkeypatch):
    monkeypatch.setattr(fuzz, "_FIRST", 10)
    monkeypatch.setattr(fuzz, "_REPLAY", 4)
    result = fuzz.run(f"{suite}::test_hanging", 1.0, tmp_path / "kept")
    assert (result.end, result.output) == ("unfinished", "")
    (kept,) = (tmp_path / "kept").iterdir()
    assert "in test_hanging" in kept.read_text()  # the stack
    assert "no failure; UNFINISHED: " in fuzz.summary([result], 1)
    assert fuzz.status([result]) == 2


@pytest.mark.slow
def test_a_failure_that_is_still_being_shrunk_is_a_failure(suite, tmp_path, monkeypatch):
    monkeypatch.setattr(fuzz, "_FIRST", 10)
    result = fuzz.run(f"{suite}::test_shrinking_for_ever", 1.0, tmp_path / "kept")
    assert result.end == "failed"
    assert "NameError: a name is missing" in result.output
    assert fuzz.status([result]) == 1


def test_no_turn_outlives_the_run(tmp_path, monkeypatch):
    now = [0.0]

    def turn(test, scale, seconds, replay=False):
        now[0] += 3 if replay else seconds
        return (0, "") if replay else (None, "")

    monkeypatch.setattr(fuzz, "_FIRST", 60)
    monkeypatch.setattr(fuzz, "turn", turn)
    monkeypatch.setattr(fuzz.time, "monotonic", lambda: now[0])
    names = [str(k) for k in range(40)]
    results = fuzz.fuzz(names, 10, 1, tmp_path / "kept", lambda *_, **__: None)
    assert now[0] <= 600 * (1 + fuzz._EXCESS) + 3
    assert [r.end for r in results] == ["unfinished"] * 10 + ["not reached"] * 30
    assert fuzz.status(results) == 2


def test_tests_that_draw_are_collected_by_their_source():
    assert fuzz.draws("@sample(3)\n@given(x)\ndef test(): pass")
    assert fuzz.draws("def test():\n    for k in range(scaled(60)): pass")
    assert not fuzz.draws("def test(): assert given")


def test_the_runner_sets_the_number_of_examples():
    """By ``budget.sample``: a number of a test's own made its first turn longer than its share."""
    for path in Path(__file__).parent.rglob("*.py"):
        assert not re.search(r"max_examples=.*\bFUZZ\b", path.read_text()), path.name
