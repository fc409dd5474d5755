"""An audit, run over the bench: mistakes are caught and named, right derivatives pass."""

from __future__ import annotations

import pytest

from tests.check.bench import RIGHT, WRONG, audited

NAMED_RIGHT = 0.9
"""The share of mistakes whose kind is to be one that an expert would give."""

MISNAMED = {
    "softmax: sign of a term of the jvp": "other",
    "sin: flushes subnormal inputs": "cancellation",
}
"""Those whose kind is another one, with the one that is given."""


@pytest.mark.slow
@pytest.mark.parametrize("entry", WRONG, ids=lambda entry: entry.name)
def test_mistakes_are_caught_and_named(entry):
    report = audited(entry)
    assert not report.ok, str(report)
    kind = report.findings[0].kind
    assert kind == MISNAMED[entry.name] if entry.name in MISNAMED else kind in entry.kinds, report


def test_most_mistakes_are_named_right():
    assert {entry.name for entry in WRONG} >= MISNAMED.keys()
    assert len(MISNAMED) <= (1 - NAMED_RIGHT) * len(WRONG)


@pytest.mark.slow
@pytest.mark.parametrize("entry", RIGHT, ids=lambda entry: entry.name)
def test_right_derivatives_pass(entry):
    report = audited(entry)
    assert report.ok, str(report)
