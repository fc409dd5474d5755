"""An audit, run over the bench: mistakes are caught and named, right derivatives pass."""

from __future__ import annotations

import pytest

import numeric.check
from tests.check.bench import DEFAULT_GRADCHECK_PASSES, RIGHT, WRONG, audited, named

if not hasattr(numeric.check, "audit"):
    pytest.skip("numeric.check has no audit", allow_module_level=True)

NAMED_RIGHT = 0.9
"""The share of mistakes whose kind is to be one that an expert would give."""

REPORTS = {}


def report_on(entry):
    """The report of an entry, audited once."""
    if entry.name not in REPORTS:
        REPORTS[entry.name] = audited(entry)
    return REPORTS[entry.name]


@pytest.mark.parametrize("entry", WRONG, ids=lambda entry: entry.name)
def test_mistakes_are_caught(entry):
    report = report_on(entry)
    assert not report.ok, str(report)
    assert report.findings


@pytest.mark.parametrize("entry", RIGHT, ids=lambda entry: entry.name)
def test_right_derivatives_pass(entry):
    report = report_on(entry)
    assert report.ok, str(report)


def test_the_kind_of_a_mistake_is_named():
    misnamed = []
    for entry in WRONG:
        report = report_on(entry)
        kind = report.findings[0].kind if report.findings else "none"
        if kind not in entry.kinds:
            misnamed.append(f"{entry.name}: {kind}, not {' or '.join(sorted(entry.kinds))}")
    assert len(misnamed) <= (1 - NAMED_RIGHT) * len(WRONG), "\n".join(misnamed)


def test_a_backward_off_by_half_a_permille_fails():
    """``torch.autograd.gradcheck`` passes it at its defaults."""
    report = report_on(named(DEFAULT_GRADCHECK_PASSES[0]))
    assert report.verdict == "wrong"
    assert report.findings[0].kind == "factor"


def test_a_backward_of_tanh_that_is_zero_beyond_4_fails():
    """``torch.autograd.gradcheck`` passes it at its defaults."""
    report = report_on(named(DEFAULT_GRADCHECK_PASSES[1]))
    assert report.verdict == "wrong"
    assert report.findings[0].kind == "dead-tail"
