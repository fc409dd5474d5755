"""Whole programs, step by step as PyTorch has them."""

import numpy as np
import pytest

from tests.eager.whole_programs import DTYPES, PROGRAMS, recorded, run

# Single precision: what rounding grows to over the steps of a program.
TOLERANCES = {"float64": {"rtol": 1e-8, "atol": 1e-10}, "float32": {"rtol": 2e-4, "atol": 2e-5}}


EXPECTED = recorded()


def test_every_program_is_recorded():
    """And nothing else."""
    assert set(EXPECTED) == set(PROGRAMS)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, dtype):
    """All losses, gradients and parameters at all steps."""
    steps, expected = run(name, dtype), EXPECTED[name][dtype]
    assert len(steps) == len(expected)
    for i, (got, wanted) in enumerate(zip(steps, expected, strict=True)):
        np.testing.assert_allclose(got, wanted, err_msg=f"step {i}", **TOLERANCES[dtype])
