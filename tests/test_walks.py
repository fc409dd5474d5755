"""The walks of docs/contributing/walks.md, followed to the letter in copies of the tree.

Each adds an operation that the library does not have: its blocks are put where the lines above them
say, and the tests that it ends with pass.  Where a block is left out, they do not.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import symdiff as sd
from tests.support.budget import FUZZ

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/contributing/walks.md"
NEEDED = ("symdiff", "numeric", "tests", "pyproject.toml", "pytest_symdiff.py")
# What other runs are just writing.
UNFINISHED = shutil.ignore_patterns("*.pyc.*", ".*")


class Block(NamedTuple):
    """Code, and where it is put: at the line that begins so, or at the end of the file."""

    path: str
    where: str
    line: str
    code: str


class Walk(NamedTuple):
    """The blocks under a heading, and the arguments of Python that stand at its end."""

    title: str
    blocks: list[Block]
    command: list[str]


BLOCK = re.compile(
    r"^(?:In|At the end of) `([^`\n]+)`(?:,[^`\n]* (before|after|instead of) `([^\n]+)`)?:\n\n"
    r"```(?:python)?\n(.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
COMMAND = re.compile(r"^```console\n\$ python (.*?)^```$", re.MULTILINE | re.DOTALL)


def walks() -> list[Walk]:
    """Those of the page, in its order."""
    found = []
    for section in re.split(r"^#{2,3} ", PAGE.read_text(), flags=re.MULTILINE):
        for command in COMMAND.findall(section):
            blocks = [Block(*match) for match in BLOCK.findall(section)]
            assert 2 * len(blocks) == section.count("```") - 2, "a block does not say where it goes"
            found.append(
                Walk(section.splitlines()[0], blocks, shlex.split(command.replace("\\\n", "")))
            )
    return found


WALKS = walks()
# Which block is left out, of each walk; of a fuzzing run, every one.
FORGOTTEN = {
    "A function of each element": "numeric/check/ball_functions.py",
    "A linear map": "tests/test_batched.py",
    "An op with a written derivative": "tests/support/decomposition_cases.py",
}
LEFT_OUT = [
    pytest.param(walk, block, id=f"{walk.title}, {block.path}, {block.line}")
    for walk in WALKS
    for block in walk.blocks
    if FUZZ or block.path == FORGOTTEN[walk.title]
]
each_walk = pytest.mark.parametrize("walk", WALKS, ids=[walk.title for walk in WALKS])


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The packages and the tests; what was compiled of them is valid there, too."""
    for path in (ROOT / name for name in NEEDED):
        if path.is_dir():
            shutil.copytree(path, tmp_path / path.name, ignore=UNFINISHED)
        else:
            shutil.copy2(path, tmp_path)
    return tmp_path


def put(copy: Path, block: Block) -> None:
    """The block in its file; definitions of modules have two empty lines around them."""
    path = copy / block.path
    lines = path.read_text().splitlines(keepends=True)
    apart = "\n\n" if re.match(r"class |def |@", block.code) else ""
    if not block.where:
        lines.append(apart + block.code)
    else:
        (place,) = [i for i, line in enumerate(lines) if line.strip().startswith(block.line)]
        there = lines[place]
        lines[place] = {
            "before": block.code + apart + there,
            "after": there + apart + block.code,
            "instead of": block.code,
        }[block.where]
    path.write_text("".join(lines))


def run(copy: Path, command: list[str]) -> tuple[int, str]:
    """The exit status of Python in the copy, and what was written."""
    environment = {**os.environ, "PYTHONPATH": str(copy), "OPENBLAS_NUM_THREADS": "1"}
    program = [sys.executable, *command]
    ran = subprocess.run(
        program, cwd=copy, env=environment, capture_output=True, text=True, check=False
    )
    return ran.returncode, ran.stdout + ran.stderr


def judged(copy: Path, walk: Walk) -> tuple[int, str]:
    """The same of the walk's tests, up to the first failure."""
    return run(copy, [*walk.command, "-x", "-q", "-n", "0", "--tb=line", "-p", "no:cacheprovider"])


@pytest.mark.slow
@each_walk
def test_a_walk_leads_to_an_operation_whose_tests_pass(walk, copy):
    for block in walk.blocks:
        put(copy, block)
    status, said = judged(copy, walk)
    assert status == 0, said
    assert int(re.findall(r"(\d+) passed", said)[0]) > 20
    changed = sorted({block.path for block in walk.blocks})
    for check in (["format", "--check"], ["check", "--quiet"]):
        status, said = run(copy, ["-m", "ruff", *check, *changed])
        assert status == 0, said


@pytest.mark.slow
@pytest.mark.parametrize(("walk", "left_out"), LEFT_OUT)
def test_a_block_that_is_left_out_is_missed(walk, left_out, copy):
    for block in walk.blocks:
        if block is not left_out:
            put(copy, block)
    status, said = judged(copy, walk)
    assert status in (1, 2, 4), said  # a failure; or tests, or all of them, cannot be imported
    assert re.search(r"^(FAILED|ERROR|E  )", said, re.MULTILINE), said


@each_walk
def test_a_walk_adds_what_is_not_there(walk):
    added = {name for block in walk.blocks for name in re.findall(r'^    "(\w+)",$', block.code)}
    assert any(block.path.startswith("symdiff/functions/") for block in walk.blocks)
    assert added
    assert not added & {*sd.__all__}
