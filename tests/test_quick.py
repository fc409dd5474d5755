"""``make quick`` selects few tests, and they see a planted fault of each layer."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.mutants import MUTANTS
from tests.mutants.rows import ROOT, Stale, Tree
from tests.quick import BUDGET, LAYERS, SECONDS, layer_of, selected

FOLDERS = [layer for layer in LAYERS if not layer.endswith(".py")]
ALL = [test for tests in LAYERS.values() for test in tests.split()]


def test_every_module_has_a_layer_whose_tests_exist():
    assert [layer for layer in LAYERS if not (ROOT / layer).exists()] == []
    assert [test for test in {*ALL, *SECONDS} if not (ROOT / f"tests/{test}.py").exists()] == []
    modules = [p for package in ("symdiff", "numeric") for p in (ROOT / package).rglob("*.py")]
    assert all(layer_of(path.relative_to(ROOT).as_posix()) for path in modules)
    assert layer_of("numeric/lowering/native/source.py") == "numeric/lowering/native"
    assert layer_of("numeric/lowering_of_something.py") == "numeric"
    assert layer_of("docs/index.md") is None


def test_changed_tests_come_first_and_all_layers_share_the_time():
    assert selected(["docs/index.md"]) == []
    assert selected(["numeric/optim.py"]) == ["numeric/optim.py", "tests/eager/test_optim.py"]
    changed = ["numeric/optim.py", "tests/test_quick.py", "tests/test_gone.py", "tests/quick.py"]
    assert selected(changed) == [
        *("numeric/optim.py", "tests/test_quick.py", "tests/eager/test_optim.py")
    ]
    two = selected(["symdiff/exact/digits.py", "symdiff/scalars/formula.py"])
    assert two[2:4] == ["tests/symdiff/test_counting.py", "tests/symdiff/test_scalar.py"]
    every = [name.removeprefix("tests/").removesuffix(".py") for name in selected(FOLDERS)]
    assert BUDGET / 2 < sum(SECONDS.get(name, 1) for name in every) <= BUDGET
    for layer in FOLDERS:  # one alone is never cut
        assert len(selected([layer])) == len(LAYERS[layer].split())


# Faults of layers that no row of tests/mutants plants: a file, its text, and the text instead.
OTHERS = {
    "symdiff/rewriting": (
        "symdiff/rewriting/limits.py",
        "return approach.way.rounded(result)",
        "return approach.way.rounded(-result)",
    ),
    "numeric": (
        "numeric/modes.py",
        "def __exit__(self, *_: object) -> None:\n        _mode.set(self.before)",
        "def __exit__(self, *_: object) -> None:\n        pass",
    ),
    "numeric/linalg": (
        "numeric/linalg/equations.py",
        "return apply(INV, (A,))",
        "return apply(INV, (A.mT,))",
    ),
    "numeric/show": ("numeric/show/curves.py", "0.06 * (high - low)", "0.6 * (high - low)"),
    "numeric/export": (
        "numeric/export/layouts.py",
        "y.reshape(1) for y in outputs]",
        "y.reshape(1) for y in outputs[::-1]]",
    ),
    "numeric/cli": (
        "numeric/cli/checking.py",
        "return 0 if report.ok else 1",
        "return 1 if report.ok else 0",
    ),
    "numeric/demo": ("numeric/demo/command.py", "return 1 if failures else 0", "return 0"),
}


def planted():
    """A fault of each layer: the first of its rows in tests/mutants, if there are any."""
    tree, faults = Tree(), dict(OTHERS)
    for mutant in MUTANTS:
        with contextlib.suppress(Stale):  # which tests/mutants/test_rows.py reports
            file = tree.place(mutant).as_posix()
            faults.setdefault(layer_of(file), (file, mutant.original, mutant.planted))
    return faults


FAULTS = planted()


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the tree, in which one fault at a time is planted."""
    unread = shutil.ignore_patterns(".*", "__pycache__", "out", "build", "dist")
    return shutil.copytree(ROOT, tmp_path_factory.mktemp("quick") / "tree", ignore=unread)


def test_a_fault_is_planted_in_every_layer_of_the_packages():
    assert set(FAULTS) == {layer for layer in LAYERS if not layer.startswith("tests")}


@pytest.mark.slow
@pytest.mark.parametrize("layer", FAULTS)
def test_a_fault_of_each_layer_is_seen_after_that_change(layer, copy):
    file, original, text = FAULTS[layer]
    whole = (ROOT / file).read_text()
    assert whole.count(original) == 1
    (copy / file).write_text(whole.replace(original, text))
    environment = os.environ | {"PYTHONPATH": str(copy), "PYTEST_ADDOPTS": "-x -p no:cacheprovider"}
    try:
        run = subprocess.run(
            [sys.executable, "-m", "tests.quick", file],
            cwd=copy,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        (copy / file).write_text(whole)
    assert run.returncode == 1, run.stdout + run.stderr
    assert re.search(r"(?m)^FAILED ", run.stdout)  # and not an import
