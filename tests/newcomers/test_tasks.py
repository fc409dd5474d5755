"""What new users try: most goes at the first guess, and what does not is said to be so."""

import pytest

from tests import newcomers
from tests.newcomers import FIRST, IMPOSSIBLE, REFUSED, TRIES, WRONG, Task, __main__

AT_FIRST = 50
"""Of 55 tasks."""


@pytest.fixture(scope="module")
def tasks():
    return __main__.tasks()


def test_most_goes_at_the_first_guess(tasks):
    assert len(tasks) == 55
    found = [one.outcome() for one in tasks]
    assert not {IMPOSSIBLE, WRONG} & set(found), newcomers.table()
    assert found.count(FIRST) >= AT_FIRST, newcomers.table()


def fails():
    raise ValueError("there is no such thing: use the other one")


@pytest.mark.parametrize(
    ("guesses", "remedy", "outcome"),
    [
        ([lambda: 1.0], "", FIRST),
        ([lambda: 1.0 + 1e-12], "", FIRST),
        ([fails, lambda: 1.0], "", TRIES),
        ([fails], "use the other", REFUSED),
        ([fails, fails], "use the other", REFUSED),
        ([fails], "use a third", IMPOSSIBLE),
        ([fails], "", IMPOSSIBLE),
        ([lambda: 1.0 + 1e-6], "", WRONG),
        ([lambda: 2.0, lambda: 1.0], "", WRONG),
        ([lambda: [1.0]], "", WRONG),
        ([lambda: float("nan")], "", WRONG),
        ([lambda: "one"], "", WRONG),
        ([lambda: None], "", WRONG),
        ([fails, lambda: 2.0], "use the other", WRONG),
    ],
)
def test_what_counts_as_what(guesses, remedy, outcome):
    one = Task("nobody", "one", lambda: 1.0, guesses, 1e-9, remedy)
    assert one.outcome() == outcome
    assert bool(one.said) == (outcome != FIRST)


def test_texts_and_truth_values_are_compared_exactly():
    for answer, found in (("1", 1.0), (True, "True"), (True, 0), ("a", "b")):
        assert Task("", "", lambda a=answer: a, [lambda f=found: f], 1, "").outcome() == WRONG


def test_the_runner_prints_how_many_go_how(tasks, monkeypatch, capsys):
    few = [
        Task("A", "one", lambda: 1.0, [lambda: 1.0], 0, ""),
        Task("A", "two", lambda: 2.0, [fails, lambda: 2.0], 0, ""),
        Task("B", "three", lambda: 3.0, [lambda: 1.0], 0, ""),
    ]
    monkeypatch.setattr(newcomers, "TASKS", few)
    monkeypatch.setattr("sys.argv", ["newcomers"])
    __main__.main()
    out = capsys.readouterr().out
    for row in ("| A | 2 | 1 | 1 | 0 | 0 | 0 |", "| B | 1 | 0 | 0 | 0 | 0 | 1 |"):
        assert row in out
    assert "| all | 3 | 1 | 1 | 0 | 0 | 1 |" in out
    assert "A: two\n    ValueError: there is no such thing" in out
    assert "B: three\n    the answer 1.0" in out
