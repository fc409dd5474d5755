"""`make test` and `make check` share the tests; those that planted faults need are in the first."""

import re
import subprocess
import sys
from pathlib import Path

from tests.mutants import MUTANTS, chosen
from tests.mutants.rows import Tree

ROOT = Path(__file__).parent.parent


def recipe(target):
    """The commands of a target of the Makefile."""
    (lines,) = re.findall(rf"(?m)^{target}:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text())
    return [line.strip().removeprefix("$(BIN)/") for line in lines.splitlines()]


def selection(command):
    """The expression of marks that a command of pytest selects by."""
    return re.fullmatch(r'python -m pytest -n \$\(JOBS\) -m "([^"]+)"', command)[1]


def test_no_test_is_in_both_tiers_or_in_none():
    (first,) = recipe("test")
    second, faults = recipe("check")
    assert (selection(first), selection(second)) == ("not slow or kills", "slow and not kills")
    assert faults == "python -m tests.mutants --changed --jobs $(JOBS)"
    commands = (ROOT / ".ci/run").read_text().splitlines()
    assert [line for line in commands if line.startswith("make")] == ["make test", "make check"]


def test_every_test_that_a_planted_fault_needs_is_in_make_test():
    tree = Tree()
    killers = {test: mutant.name for mutant in MUTANTS for test in tree.tests(mutant)}
    files = sorted({test.partition("::")[0] for test in killers})
    options = ["--collect-only", "-q", "-n", "0", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options, "-m", selection(recipe("test")[0])]
    run = subprocess.run([*command, *files], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    collected = {}
    for line in run.stdout.splitlines():
        file, separator, name = line.partition("::")
        if separator:
            collected.setdefault(file, []).append(name)
    left_out = {
        test: mutant
        for test, mutant in killers.items()
        if not any(
            chosen.matches(test.partition("::")[2], name.partition("[")[0], name)
            for name in collected.get(test.partition("::")[0], [])
        )
    }
    assert not left_out
