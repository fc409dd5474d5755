"""Statements of README, the tour and the page on installation that are not doctests."""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import symdiff as sd

ROOT = Path(__file__).parents[2]
README, INSTALL, TOUR = (
    (ROOT / name).read_text(encoding="utf-8")
    for name in ("README.md", "docs/install.md", "docs/tour.md")
)
(LISTED,) = re.findall(r"^## Functions that need SciPy\n(.*?)^## ", INSTALL, re.M | re.S)
NAMES = re.findall(r"`(\w+)`", LISTED.partition("\n- ")[2])
NEED = [name for name in NAMES if name not in ("logm", "sqrtm")]


NEED_NONE = ["sinc", "log1p", "sigmoid", "lambertw", "ellipk", "expi", "dawsn", "zeta"]


@pytest.fixture(scope="module")
def answers():
    command = [sys.executable, "-m", "tests.numeric.without_extras", *NEED, *NEED_NONE]
    return json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


@pytest.mark.slow
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


SHELL = re.findall(r"^    (symdiff .*)$", TOUR, re.MULTILINE)


MODULE = re.search(r"^```python\n(import numpy as np\n\n\ndef loss.*?)```$", TOUR, re.M | re.S)[1]


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


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FOR_DEVELOPERS = {"dev", "crosscheck", "look", "docs", "bench"}
"""Extras that make's targets install."""


def test_every_extra_for_users_is_on_both_pages():
    extras = set(PROJECT["optional-dependencies"]) - FOR_DEVELOPERS
    (table,) = re.findall(r"^\| extra \|.*\n\|---.*\n((?:\|.*\n)+)", INSTALL, re.MULTILINE)
    rows = [row.split("|")[1] for row in table.splitlines()]
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == extras
    (line,) = re.findall(r"^The extras are (.*?)\. ", README, re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", line)) == extras


@pytest.mark.parametrize("page", [README, INSTALL], ids=("README", "install"))
def test_what_a_page_lets_users_install_and_make_is_there(page):
    assert f"`{PROJECT['name']}`" in page
    installed = re.findall(r"^    pip install (?:-e )?(\S+)", page, re.MULTILINE)
    assert "." in installed
    extras = [name for target in installed for name in re.findall(r"\w+", target)]
    assert set(extras) <= set(PROJECT["optional-dependencies"])
    targets = re.findall(r"^(\w+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE)
    commands = re.findall(r"^    make (\w+) ", page, re.MULTILINE)
    assert {"demo", "test"} <= set(commands) <= set(targets)


def test_the_readme_fits_a_short_visit():
    """One sentence, the line that installs, a picture, and the rest within 150 lines."""
    assert len(README.splitlines()) <= 150
    title, sentence, install, picture = README.split("\n\n")[:4]
    assert title == "# symdiff"
    assert sentence.count(".") == 1
    assert len(sentence.split()) <= 25
    assert install.startswith("    pip install . ")
    assert "docs/images/" in picture


def test_the_hessian_in_the_readme_is_the_one_derived():
    X, w, y = sd.symbol("X", ("m", "n")), sd.symbol("w", "n"), sd.symbol("y", "m")
    loss = sd.sum(sd.softplus(X @ w) - y * (X @ w))
    assert f"`sd.hessian(loss, w)` is `{sd.hessian(loss, w)}`" in README
