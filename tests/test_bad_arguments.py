"""Bad input to every public callable is refused clearly; tests/support/bad_arguments.py says how.

The everyday run replaces each argument by every ``EVERY``-th bad value, ``make fuzz`` by all.
"""

from __future__ import annotations

from typing import Any

import pytest

import symdiff as sd
from tests.support.bad_arguments import NAMESPACES, cases, fault, judged, valid_result
from tests.support.bad_calls_sd import NO_FUNCTIONS
from tests.support.budget import scaled
from tests.support.valid_calls import valid

# Namespaces in which no call may answer wrongly.
COVERED = ("sd",)
EVERY = 3


@pytest.mark.parametrize("namespace", COVERED)
def test_bad_arguments_are_refused_by_name(namespace: str) -> None:
    every = 1 if scaled(1) > 1 else EVERY
    wrong = [f"{case} -> {text}" for case in cases(namespace, every) if (text := fault(case))]
    assert not wrong, "\n".join(wrong[:20])


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_calls_of_the_table_are_right(namespace: str) -> None:
    for name in NAMESPACES[namespace].calls:
        valid_result(namespace, name)


def test_every_public_callable_of_symdiff_has_a_valid_call() -> None:
    public = {name for name in sd.__all__ if name[0] != "_"}
    assert public - NO_FUNCTIONS == set(NAMESPACES["sd"].calls)


def _without_end(x: Any) -> None:
    while True:
        pass


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda x: x.no_such_attribute, "from inside"),
        (lambda x: sd.sin.no_such_attribute, "from inside"),
        (lambda x: {}[x], "KeyError"),
        (lambda x: sd.symbol("no identifier"), "names none of"),
        (_without_end, "without end"),
    ],
)
def test_wrong_answers_are_seen(function: Any, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.support.bad_arguments.SECONDS", 0.1)
    answer = judged(function, valid(1), {"some_name"})
    assert answer is not None
    assert says in answer


def test_clear_answers_are_accepted() -> None:
    assert judged(sd.symbol, valid("no identifier"), {"symbol"}) is None
    assert judged(sd.sin, valid(sd.symbol("x")), {"sin"}) is None
    assert judged(sd.where, valid(1), {"where"}) is None  # Python's own words
