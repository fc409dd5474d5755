"""What the README says beside its tour, whose lines are doctests."""

import importlib.util
import re
import shlex
from pathlib import Path

import pytest

import numeric as nm
import symdiff as sd

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
(ROW,) = re.findall(r"^\| `scipy` \| (.*) \|$", README, re.MULTILINE)
NAMES = re.findall(r"`(\w+)`", ROW)
NEED = [name for name in NAMES if name not in ("logm", "sqrtm")]


@pytest.fixture
def without_scipy(monkeypatch):
    found = importlib.util.find_spec

    def find_spec(name, *rest):
        return None if name.partition(".")[0] == "scipy" else found(name, *rest)

    monkeypatch.setattr(importlib.util, "find_spec", find_spec)


def called(name):
    """The function of one symbol: its other arguments are numbers."""
    x, function = sd.symbol("x"), getattr(sd, name)
    for before in ((), (1,), (1, 2)):
        try:
            value = function(*before, x)
        except TypeError:
            continue
        return x, value[0] if isinstance(value, tuple) else value
    raise AssertionError(f"{name} takes none of these arguments")


@pytest.mark.parametrize("name", NEED)
def test_what_needs_scipy_says_so_in_floats_and_only_there(without_scipy, name):
    x, value = called(name)
    with pytest.raises(sd.Unsupported, match=r'pip install "symdiff-numeric\[scipy\]"'):
        nm.lower(value, x)
    assert sd.diff(value, x).evalf(20, {x: "0.3"}) != 0
    assert value.evalf(20, {x: "0.3"}) != 0


@pytest.mark.parametrize(
    "name", ["sinc", "log1p", "sigmoid", "lambertw", "ellipk", "expi", "dawsn", "zeta"]
)
def test_what_is_not_listed_needs_none(without_scipy, name):
    assert name not in NAMES
    x, value = called(name)
    nm.lower(value, x)


def test_the_list_has_every_family():
    assert len(NEED) >= 15
    assert {"erf", "gamma", "jv", "gammainc", "sici", "logm"} <= set(NAMES)


SHELL = re.findall(r"^    (symdiff .*)$", README, re.MULTILINE)


@pytest.mark.parametrize("line", SHELL)
def test_the_commands_run(run, line):
    words = shlex.split(line)
    if words[1] != "check":  # its modules are the reader's
        status, out, err = run(*words[1:])
        assert (status, err) == (0, "")
        assert out


def test_there_is_a_line_for_every_command(run):
    listed = re.findall(r"^    (\w+)  +\S", run("--help")[1], re.MULTILINE)
    assert [line.split()[1] for line in SHELL] == listed
