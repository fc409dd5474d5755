"""Recorded gradients: a table is asked at its points only, and is the same from a file."""

import json

import numpy as np
import pytest

import symdiff as sd
from numeric import check
from numeric.check.candidates import candidate
from tests.support.refusals import refused

x, y, s = sd.symbol("x", 3), sd.symbol("y", 3), sd.symbol("s")
FORWARD = sd.sum(sd.sin(x) * y)
DTYPES = "float64", "float32"
AT = np.array([0.25, -0.5, 0.75]), np.array([1.0, -0.25, 0.5])
POINTS = {"y": np.array([AT[1], AT[0]]), "x": np.array([AT[0], -AT[0]])}
GRADIENT = {"x": POINTS["y"] * np.cos(POINTS["x"]), "y": np.sin(POINTS["x"])}


def test_a_table_is_asked_at_its_points_only():
    value = (np.sin(POINTS["x"]) * POINTS["y"]).sum(1)
    table = check.Recorded(points=POINTS, gradient=GRADIENT, value=value)
    got = candidate(FORWARD, [x, y], gradient=table)
    assert list(got.points) == ["x", "y"]
    for k in range(2):
        at = [got.points[name][k] for name in got.points]
        assert [g.tolist() for g in got.gradient(*at)] == [GRADIENT[n][k].tolist() for n in "xy"]
        assert got.value(*at) == value[k]
    with pytest.raises(LookupError, match="no point") as caught:
        got.gradient(AT[1], AT[1])
    assert caught.value.__notes__ == ["raised by the recorded table, which is under test"]
    assert got.vjp is got.jvp is got.hessian is None


def test_both_zeros_are_one_point_of_a_table():
    table = check.Recorded(points={"s": np.array([0.0, 1.0])}, gradient={"s": np.array([2.0, 3.0])})
    assert candidate(2 * s, [s], gradient=table).gradient(np.array(-0.0)) == 2


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("suffix", [".npz", ".json"])
@pytest.mark.parametrize("value", [None, [np.nan, 1 / 3]])
def test_a_table_is_the_same_from_a_file(tmp_path, suffix, dtype, value):
    points = {"x": np.array([[0.1, np.inf, -0.0], [1e-300, 2, 3]]).astype(dtype)}
    value = None if value is None else np.array(value, dtype)
    table = check.Recorded(points=points, gradient={"x": points["x"] / 3}, value=value)
    table.save(tmp_path / f"table{suffix}")
    read = check.Recorded.load(str(tmp_path / f"table{suffix}"))
    for mine, other in ((table.points, read.points), (table.gradient, read.gradient)):
        assert other["x"].dtype == dtype
        assert other["x"].tobytes() == mine["x"].tobytes()
    assert (read.value is None) if value is None else np.array_equal(read.value, value, True)
    assert candidate(sd.sum(x), [x], gradient=read).dtypes == (dtype,)


def test_tables_that_cannot_be_are_refused(tmp_path):
    one, three = np.ones(1), np.ones(3)
    for points, gradient, value, error in (
        ({}, {}, None, ValueError),
        ({"x": one}, {"y": one}, None, ValueError),
        ({"x": one}, {"x": three}, None, sd.ShapeError),
        ({"x": three}, {"x": three}, one, sd.ShapeError),
        ({"x": one[0]}, {"x": one[0]}, None, sd.ShapeError),
        ({"x": np.ones((3, 2))}, {"x": three}, None, sd.ShapeError),
        ({"x": np.arange(3)}, {"x": three}, None, TypeError),
        ({"x": three}, {"x": np.ones(3, np.float32)}, None, TypeError),
        ({"x": three}, {"x": np.arange(3.0)}, None, ValueError),  # one point, three gradients
    ):
        with pytest.raises(error, match="Recorded"):
            check.Recorded(points, gradient, value)
    table = check.Recorded({"x": three}, {"x": three})
    refused(
        (ValueError, "the name of a table ends in", lambda: table.save(tmp_path / "table.pkl")),
        (
            ValueError,
            "the table records x; the forward takes y",
            lambda: candidate(sd.sum(y), [y], gradient=table),
        ),
        (sd.ShapeError, "scalar function", lambda: candidate(sd.sin(x), [x], gradient=table)),
        (
            sd.ShapeError,
            r"the points of x: .*, got \(\)",
            lambda: candidate(sd.sum(x), [x], gradient=table),
        ),
    )
    np.savez(tmp_path / "other.npz", a=three)
    with pytest.raises(ValueError, match="'a' is neither"):
        check.Recorded.load(tmp_path / "other.npz")
    (tmp_path / "other.json").write_text(json.dumps({"points": {"x": [1]}}))
    with pytest.raises(ValueError, match="each input needs both"):
        check.Recorded.load(tmp_path / "other.json")
