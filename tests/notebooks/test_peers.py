"""``notebooks/peers.py``: the same value where a package is asked and where it was recorded."""

import json
from pathlib import Path

import numpy as np
import pytest

from notebooks import peers
from notebooks.peers import beside

pytest.importorskip("nbclient", reason="needs the extra notebook")
from nbclient.exceptions import CellExecutionError

from tests.notebooks import record
from tests.support.refusals import refused

ROOT = Path(__file__).parents[2]

PACKAGE = "sympy"  # one that is installed; what is not goes by the name
ABSENT = "no_such_package"

VALUE = {
    "whole": 3,
    "real": -0.1,
    "odd": [float("nan"), float("inf"), -0.0],
    "pair": (1, "text", None, True),
    "single": np.array([[0.1, np.nan], [np.inf, -0.0]], dtype=np.float32),
    "empty": np.zeros((0, 2)),
    "counts": np.array([1, 2**60]),
    "mask": np.array([True, False]),
    "scalar": np.float64(2.5),
}


@pytest.fixture(autouse=True)
def recorded(tmp_path, monkeypatch):
    monkeypatch.setattr(peers, "RECORDED", tmp_path / "recorded.json")
    monkeypatch.setattr(peers, "_asked", set())
    monkeypatch.delenv("SYMDIFF_RECORD", raising=False)
    return lambda mode: monkeypatch.setenv("SYMDIFF_RECORD", mode)


def same(a, b):
    """The same kinds of things, dtypes, and signs of zero, too."""
    assert repr(a) == repr(b)


def test_a_value_comes_back_as_it_was_computed(recorded, capsys):
    live = beside("value", PACKAGE, lambda: VALUE)
    recorded("1")
    same(beside("value", PACKAGE, lambda: VALUE), live)
    recorded("0")
    same(beside("value", PACKAGE, lambda: pytest.fail("asked")), live)
    same(live["odd"], VALUE["odd"])
    same(live["single"], VALUE["single"])
    same(live["empty"], VALUE["empty"])
    same(live["counts"], VALUE["counts"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[1] for line in lines] == [
        " computed here",
        " computed here",
        f" recorded values, {PACKAGE} was not asked",
    ]
    assert all(line.startswith(f"{PACKAGE} 1.") for line in lines)


def test_what_is_not_installed_is_read(recorded):
    peers.write({"key": {"package": ABSENT, "version": "1.0", "value": [1, 2]}})
    assert beside("key", ABSENT, lambda: pytest.fail("asked")) == [1, 2]
    with pytest.raises(KeyError, match="make crosscheck"):
        beside("other", ABSENT, lambda: 1)


def test_what_cannot_be_recorded_is_refused_and_nothing_written(recorded):
    recorded("1")
    refused(
        (TypeError, "key: object cannot be recorded", lambda: beside("key", PACKAGE, object)),
        (ZeroDivisionError, None, lambda: beside("key", PACKAGE, lambda: 1 / 0)),
    )
    assert peers.read() == {}


def test_a_key_is_recorded_once(recorded):
    recorded("1")
    beside("key", PACKAGE, lambda: 1)
    with pytest.raises(ValueError, match="recorded twice"):
        beside("key", PACKAGE, lambda: 2)
    assert peers.read()["key"]["value"] == 1


def test_recording_says_what_changed():
    before = {"a": {"value": 1}, "b": {"value": 1}, "c": {"value": 1}}
    after = {"b": {"value": 1}, "c": {"value": 2}, "d": {"value": 1}}
    assert list(record.changes(before, after)) == ["dropped: a", "changed: c", "new: d"]


def notebook(path, source):
    cell = {"cell_type": "code", "source": source, "id": "cell-01", "metadata": {}}
    cell |= {"outputs": [], "execution_count": None}
    path.write_text(
        json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]})
    )


ASKING = f"""
import os, sys
sys.path.insert(0, {str(ROOT)!r})
from notebooks import peers
from pathlib import Path
peers.RECORDED = Path("recorded.json")
peers.beside("new", "sympy", lambda: [1])
"""


@pytest.mark.slow
@pytest.mark.parametrize("fails", [False, True])
def test_recording_replaces_the_file_or_leaves_it(tmp_path, monkeypatch, fails):
    monkeypatch.setattr(record, "NOTEBOOKS", tmp_path)
    old = {"old": {"package": "sympy", "version": "1", "value": 0}}
    peers.write(old)
    path = tmp_path / "notebook.ipynb"
    notebook(path, ASKING + ("raise ValueError" if fails else ""))
    text = path.read_text()
    if fails:
        with pytest.raises(CellExecutionError):
            record.record([path])
        assert peers.read() == old
    else:
        assert record.record([path]) == old
        assert [(key, entry["value"]) for key, entry in peers.read().items()] == [("new", [1])]
    assert path.read_text() == text
