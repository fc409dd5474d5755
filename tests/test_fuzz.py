"""The runner of ``make fuzz``: what it collects, counts and keeps; planted failures are found."""

import textwrap

import pytest

from tests import fuzz

SUITE = """
    from hypothesis import given, settings, strategies as st

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
"""


@pytest.fixture
def suite(tmp_path):
    path = tmp_path / "test_planted.py"
    path.write_text(textwrap.dedent(SUITE))
    return path


def test_a_run_counts_what_was_drawn_and_keeps_what_failed(suite, tmp_path):
    told = []
    names = ("wrong", "right", "inside", "without_examples")
    tests = [f"{suite}::test_{name}" for name in names]
    results = fuzz.fuzz(tests, 0.1, 2, tmp_path / "kept", lambda text, **_: told.append(text))
    by_name = {r.test.rpartition("::")[2]: r for r in results}
    for name in ("test_right", "test_inside"):
        assert by_name[name].end == "passed"
        assert by_name[name].drawn == 100 * by_name[name].turns
    assert by_name["test_wrong"].end == "failed"
    assert by_name["test_wrong"].drawn >= 1
    assert by_name["test_without_examples"] == (tests[3], 1, 0, 0, "passed")
    (kept,) = (tmp_path / "kept").iterdir()
    assert "n=1000" in kept.read_text()
    assert len(told) == 4
    line = fuzz.summary(results, 0.1)
    assert "NOT PASSED" in line
    assert "test_wrong (failed)" in line
    assert "test_right" not in line


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
    assert result == ("a test", len(scales), sum(round(60 * s) for s in scales), 12, "passed")
    assert scales[:3] == [1.0, 4.0, 16.0]
    assert 80 < now[0] < 120


def test_a_turn_that_does_not_end_is_cut(suite, tmp_path, monkeypatch):
    monkeypatch.setattr(fuzz, "_START", 1)
    result = fuzz.run(f"{suite}::test_hanging", 1.0, tmp_path)
    assert result.end == "cut"
    assert "test_hanging (cut)" in fuzz.summary([result], 1)


def test_what_draws_is_found_by_its_source():
    assert fuzz.draws("@sample(3)\n@given(x)\ndef test(): pass")
    assert fuzz.draws("def test():\n    for k in range(scaled(60)): pass")
    assert not fuzz.draws("def test(): assert given")
