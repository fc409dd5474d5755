"""What a mutant is, and where in the tree its text and its tests stand."""

from __future__ import annotations

import re
from bisect import bisect
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PACKAGES = ("symdiff", "numeric")


class Stale(Exception):
    """A row that no longer fits the tree."""


class Mutant(NamedTuple):
    """A fault to plant, and the tests that have to see it.

    ``original`` stands in the packages exactly once, in whatever file: so rows survive when
    modules are moved.  Tests are named by their function, with the name of its file before it,
    ``test_table.py::test_row``, where several files have one of the name, and with the beginning
    of a parameter behind it, ``test_row[cumsum]``, where some cases are enough.
    """

    name: str
    family: str
    original: str
    planted: str
    tests: tuple[str, ...]


class Family:
    """The mutants of one subject, as rows of a table."""

    def __init__(self, name: str) -> None:
        self.name, self.rows = name, list[Mutant]()

    def __call__(self, name: str, original: str, planted: str, *tests: str) -> None:
        self.rows.append(Mutant(name, self.name, original, planted, tests))


class Tree:
    """The sources of a tree, as they were when it was first looked at."""

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        self.files = [p for package in PACKAGES for p in sorted((root / package).rglob("*.py"))]
        texts = [path.read_bytes() for path in self.files]
        # One text for all, in bytes, which are found fastest; no row has a null in it.
        self.text = b"\0".join(texts)
        self.ends = list(accumulate(len(text) + 1 for text in texts))

    def place(self, mutant: Mutant) -> Path:
        """The file, relative to the root, in which the fault is planted; raises Stale."""
        wanted = mutant.original.encode()
        first = self.text.find(wanted)
        if first < 0 or self.text.find(wanted, first + 1) >= 0:
            often = "nowhere" if first < 0 else "more than once"
            raise Stale(f"{mutant.name}: the original text stands {often}, not once")
        return self.files[bisect(self.ends, first)].relative_to(self.root)

    def tests(self, mutant: Mutant) -> list[str]:
        """The node ids of its tests; raises Stale."""
        if not mutant.tests:
            raise Stale(f"{mutant.name}: no tests")
        return [self._test(mutant, test) for test in mutant.tests]

    def _test(self, mutant: Mutant, test: str) -> str:
        file, _, name = test.rpartition("::")
        function = name.partition("[")[0]
        found = [p for p in _defined(self.root).get(function, []) if p.endswith("/" + file)]
        if not file:
            found = _defined(self.root).get(function, [])
        if len(found) != 1:
            where = ", ".join(found) or "nowhere"
            raise Stale(f"{mutant.name}: the test {test} is defined {where}, not exactly once")
        return f"{found[0]}::{name}"


@lru_cache
def _defined(root: Path) -> dict[str, list[str]]:
    """The files of every test function, relative to the root."""
    found: dict[str, list[str]] = {}
    for path in sorted((root / "tests").rglob("test_*.py")):
        for name in re.findall(r"\n *def (test_\w+)\(", path.read_text()):
            found.setdefault(name, []).append(path.relative_to(root).as_posix())
    return found
