"""What the README says beside its tour, whose lines are doctests."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
(ROW,) = re.findall(r"^\| `scipy` \| (.*) \|$", README, re.MULTILINE)
NAMES = re.findall(r"`(\w+)`", ROW)
NEED = [name for name in NAMES if name not in ("logm", "sqrtm")]


NEED_NONE = ["sinc", "log1p", "sigmoid", "lambertw", "ellipk", "expi", "dawsn", "zeta"]


@pytest.fixture(scope="module")
def answers():
    command = [sys.executable, "-m", "tests.numeric.without_extras", *NEED, *NEED_NONE]
    return json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


@pytest.mark.parametrize("name", NEED)
def test_what_needs_scipy_says_so_in_floats_and_only_there(answers, name):
    refused, digits = answers[name]
    assert 'pip install "symdiff-numeric[scipy]"' in refused
    assert digits


@pytest.mark.parametrize("name", NEED_NONE)
def test_what_is_not_listed_needs_none(answers, name):
    assert name not in NAMES
    assert answers[name][0] is None


def test_the_list_has_every_family():
    assert len(NEED) >= 15
    assert {"erf", "gamma", "jv", "gammainc", "sici", "logm"} <= set(NAMES)


SHELL = re.findall(r"^    (symdiff .*)$", README, re.MULTILINE)


MODULE = re.search(r"^```python\n(import numpy as np\n\n\ndef loss.*?)```$", README, re.M | re.S)[1]


@pytest.mark.parametrize("line", SHELL)
def test_the_commands_run(run, line, tmp_path, monkeypatch):
    (tmp_path / "mymodule.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "mymodule", raising=False)
    status, out, err = run(*shlex.split(line)[1:])
    sys.modules.pop("mymodule", None)
    assert (status, err) == (0, "")
    assert out


def test_there_is_a_line_for_every_command(run):
    listed = re.findall(r"^    (\w+)  +\S", run("--help")[1], re.MULTILINE)
    assert [line.split()[1] for line in SHELL] == listed
