"""Kernels in machine code: what interpret gives, in every precision, size and order of memory."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, reject

import numeric as nm
import symdiff as sd
from numeric.lowering import programs
from numeric.lowering.passes import rows
from tests.support.budget import sample
from tests.support.fields import FLOAT, HIGH
from tests.support.oracles import DIGITS, bound, no_ties, values_of
from tests.support.strategies import FAMILIES, programs_at_points
from tests.test_agreement import close, with_gradient


@pytest.fixture(autouse=True)
def kernels_of_few_rows(monkeypatch):
    monkeypatch.setattr(rows, "_LEAST", 1)
    monkeypatch.setattr(programs, "NATIVE_LEAST", 1)


def kernels(F):
    """How many kernels in machine code the programs of a Function have called."""
    every = [p for lowered in F._programs._found.values() for p in lowered.found.values()]
    return sum(len(k._native._made) for p in every for k in p.kernels if hasattr(k, "_native"))


MET = set()


@pytest.mark.parametrize("family", FAMILIES)
def test_random_programs_are_right(family):
    @sample(12)
    @given(programs_at_points(("pointwise", family), steps=6))
    def run(drawn):
        program, point = drawn
        no_ties(program, point, HIGH)
        f, xs, _, _ = with_gradient(program)
        s = sd.sum(f)
        arrays = [FLOAT.numbers(value) for value in point]
        outputs = [s, *sd.grad(s, xs)]
        try:
            reference = nm.interpret(outputs, dict(zip(xs, arrays, strict=True)))
            F = nm.lower(s, xs, backend="native")
            value, gradient = F.value_and_grad(*arrays)
        except np.linalg.LinAlgError:
            reject()
        with mp.workdps(DIGITS):
            exact = values_of(outputs, bound(xs, point, HIGH), HIGH)
        for found, *expected in zip([value, *gradient], reference, exact, strict=True):
            close(found, *expected, program)
        if kernels(F):
            MET.add(family)

    run()
