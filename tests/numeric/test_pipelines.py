"""Pipelines: lists of passes for each target, as the docs show them."""

import re
from pathlib import Path

import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from numeric.lowering import pipelines
from numeric.lowering.native.kernels import NativePrinter
from numeric.lowering.pipelines import ARRAYS, EACH, KEPT, KEPT_ROWS, ROWS, Given, Pass, applied
from numeric.lowering.printers.into import ResultsPrinter
from numeric.lowering.printers.kept import KeptPrinter, KeptRowsPrinter
from numeric.lowering.printers.math import MathPrinter
from numeric.lowering.printers.numpy import NumPyPrinter
from numeric.lowering.printers.rows import RowsPrinter
from numeric.lowering.schedule import schedule

PAGE = Path(pipelines.__file__).parents[2] / "docs/design/passes.md"
EVERY = {"EACH": EACH, "ARRAYS": ARRAYS, "ROWS": ROWS, "KEPT": KEPT, "KEPT_ROWS": KEPT_ROWS}


def test_the_page_describes_each_pass_in_the_order_of_the_pipelines():
    table = PAGE.read_text().partition("## Outside")[0]
    described = re.findall(r"^\| `(\w+)` \|", table, re.M)
    assert described == [step.name for step in KEPT_ROWS]


@pytest.mark.parametrize("name", EVERY)
def test_a_pass_is_called_as_its_function_and_stands_once(name):
    names = [step.name for step in EVERY[name]]
    assert len(set(names)) == len(names)
    assert all(callable(getattr(pipelines, name)) for name in names)


def test_targets_have_their_pipelines():
    printers = (MathPrinter, NumPyPrinter, ResultsPrinter, RowsPrinter, NativePrinter)
    found = [printer.pipeline for printer in (*printers, KeptPrinter, KeptRowsPrinter)]
    assert found == [EACH, ARRAYS, ARRAYS, ROWS, ROWS, KEPT, KEPT_ROWS]


def test_passes_run_in_order_and_those_that_reorder_are_left_out_for_exact_order():
    x = sd.symbol("x", 3)
    start = schedule([sd.sum(x * x)], [x])
    seen = []

    def step(name, reorders):
        def change(given_schedule, given):
            seen.append((name, given.exact_order))
            return given_schedule._replace(length=given_schedule.length + 1)

        return Pass(name, change, reorders)

    pipeline = (step("first", False), step("second", True), step("third", False))
    assert applied(pipeline, start, Given()).length == start.length + 3
    assert applied(pipeline, start, Given(exact_order=True)).length == start.length + 2
    assert seen == [
        *(("first", False), ("second", False), ("third", False)),
        *(("first", True), ("third", True)),
    ]


def test_a_program_is_what_the_pipeline_of_its_printer_makes(monkeypatch):
    """Without passes, a square is stored; with them, it is a dot product."""
    x = sd.symbol("x", 5)
    values = np.arange(5.0)

    def written():
        f = nm.lower(sd.sum(x**2 + sd.exp(x) ** 2), x)
        assert f(values) == pytest.approx(30 + np.sum(np.exp(2 * values)))
        return f.source

    assert ".dot(" in written()
    monkeypatch.setattr(NumPyPrinter, "pipeline", EACH)
    assert ".dot(" not in written()


@pytest.mark.parametrize("exact", [False, True])
def test_explain_names_the_passes_that_changed_a_program(exact):
    x, y = sd.symbol("x", 5), sd.symbol("y", 5)
    f = nm.lower(sd.sum(x**2 + sd.exp(y) ** 2), [x, y], exact_order=exact)
    shown = f.explain(rules=True)
    value = shown.partition("backward:")[0]
    assert ("  dot_squares: power (5,), power (5,), sum (5,)" in value) is not exact
    assert "dot_squares" not in f.explain()


def test_changes_lead_from_each_schedule_to_the_next():
    """What goes was there, what comes was not, and together they are what the pipeline makes."""
    X, w, y = sd.symbol("X", ("n", 3)), sd.symbol("w", 3), sd.symbol("y", "n")
    loss = sd.sum((X @ w - y) ** 2) + sd.logsumexp(w)
    start = schedule([loss, *sd.grad(loss, [X, w, y])], [X, w, y])
    for pipeline in EVERY.values():
        steps = list(start.steps)
        for _, gone, come in pipelines.changes(pipeline, start, Given()):
            for step in gone:
                steps.remove(step)
            assert not any(step in steps for step in come)
            steps += come
        assert set(steps) == set(applied(pipeline, start, Given()).steps)
