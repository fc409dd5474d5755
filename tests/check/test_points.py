"""Points reach what they are to reach, and counterexamples are simple."""

from __future__ import annotations

import numpy as np
import pytest

from numeric import check
from numeric.check import points
from numeric.check.points import Input


@pytest.mark.parametrize("shape", [(), (3,)])
def test_special_numbers_and_sweeps_reach_inputs_of_every_shape(shape):
    inputs = [Input("x", shape)]
    special = points.special(inputs, 200, np.random.default_rng(0))["x"].reshape(200, -1)
    assert (special == 0).any(axis=1).sum() >= 20
    assert ((np.abs(special) < 1e-300) & (special != 0)).any()
    single = points.single(inputs, 200, np.random.default_rng(0))["x"].reshape(200, -1)
    assert (np.abs(single) > 100).any(axis=1).sum() >= 20
    assert (np.abs(single) < 1e-6).any(axis=1).sum() >= 20


def test_a_gradient_that_is_wrong_at_zero_alone_is_found_for_a_scalar():
    def gradient(x):
        return np.where(x == 0, 7.0, np.exp(x))

    report = check.audit("exp(x)", gradient=gradient, inputs={"x": ()}, budget=500)
    assert not report.ok
    assert report.findings[0].point["x"] == 0


def test_counterexamples_keep_their_zeros():
    report = check.audit(
        lambda x: np.sum(x**3), gradient=lambda x: 3 * x, inputs={"x": 3}, budget=500
    )
    point = report.findings[0].point["x"]
    assert (point == 0).sum() == 2, point
