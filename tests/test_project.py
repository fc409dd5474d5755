"""The project's own pages: versions agree, commands exist, counts of lines are right."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numeric as nm
import symdiff as sd
from tests import size
from tests.size import Size, files_of_revision, last_tag, size_of_source, sizes

ROOT = Path(__file__).parent.parent
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def test_the_packages_have_one_version():
    assert nm.__version__ == sd.__version__
    assert sd.__version__ in (VERSION, "0+unknown")
    assert f"\nversion: {VERSION}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_package_loads_without_a_class_that_the_lowest_sympy_lacks():
    program = """
from sympy.codegen import cfunctions
if hasattr(cfunctions, "isinf"):
    del cfunctions.isinf
import symdiff as sd
x = sd.symbol("x")
print(sd.from_sympy(cfunctions.isnan(sd.to_sympy(x))))
"""
    run = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "x != x\n"), run.stderr


def test_the_last_tag_is_a_version_that_is_not_newer():
    tag = last_tag(ROOT)
    if tag is not None:
        numbers = [[int(n) for n in text.split(".")] for text in (tag.removeprefix("v"), VERSION)]
        assert numbers[0] <= numbers[1]


def test_the_changelog_has_the_version_and_one_line_a_change():
    lines = (ROOT / "CHANGELOG.md").read_text().splitlines()
    headings = [line for line in lines if line.startswith("## ")]
    assert headings[0] == "## Unreleased"
    assert headings[1].startswith(f"## {VERSION} - ")
    changes = lines[lines.index("## Unreleased") :]
    assert [line for line in changes if len(line) > 130] == []
    assert [line for line in changes if line.startswith(" ")] == []  # a second line of a change
    subjects = {line for line in changes if line.startswith("### ")}
    assert subjects <= {"### Added", "### Changed", "### Fixed"}


def test_contributing_is_one_screen_and_its_commands_exist():
    page = (ROOT / "CONTRIBUTING.md").read_text()
    assert len(page.splitlines()) <= 60
    targets = set(re.findall(r"(?m)^([a-z]+):", (ROOT / "Makefile").read_text()))
    named = set(re.findall(r"\bmake ([a-z]+)\b", page))
    assert {"install", "test", "lint"} <= named <= targets
    paths = re.findall(r"\b((?:symdiff|numeric|tests|docs)/[\w/.]+\w)", page)
    assert len(paths) > 5
    assert [path for path in paths if not (ROOT / path).exists()] == []


# Counts of lines ----------------------------------------------------------------------------------

SOURCE = '''"""A module
of two lines."""

# Why.
import os  # code, not a comment


def f():
    """One line."""
    text = """no
    docstring"""
    return text, "# no comment"
'''


def test_lines_are_counted_by_kind():
    assert size_of_source(SOURCE) == Size(1, code=5, docstrings=3, comments=1, blank=3)
    assert size_of_source("") == Size(1)


def test_sizes_are_summed_by_package():
    files = [("symdiff/a.py", SOURCE), ("symdiff/b/c.py", "x = 1\n"), ("setup.py", "x = 1\n")]
    by_package = sizes(files)
    assert by_package["symdiff"] == Size(2, 6, 3, 1, 3)
    assert by_package["numeric"] == Size()


def test_a_revision_is_counted_as_its_tree(tmp_path):
    def git(*arguments):
        who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "tag.gpgsign=false")
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    assert last_tag(tmp_path) is None
    git("init", "-q")
    (tmp_path / "symdiff").mkdir()
    (tmp_path / "symdiff/a.py").write_text(SOURCE)
    git("add", ".")
    git("commit", "-q", "--no-gpg-sign", "-m", "one")
    git("tag", "v0.0.1")
    (tmp_path / "symdiff/a.py").write_text("")
    assert last_tag(tmp_path) == "v0.0.1"
    tagged = sizes(files_of_revision(tmp_path, "v0.0.1"))
    assert tagged["symdiff"] == size_of_source(SOURCE)
    assert sizes(size.files_of_tree(tmp_path))["symdiff"] == Size(1)
