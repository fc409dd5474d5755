"""One run of pytest over chosen tests, which says in a file what became of them.

A program of its own, started by its path, so that the packages and tests are those of the folder
it runs in: ``python -P chosen.py ANSWER SECONDS FAILURES FILE::TEST ...``.  It stops after so many
failures (0: never) and dies after so many seconds of CPU.  A test is a function, or some of its
cases: ``test_row[cumsum]`` are those with a parameter whose name starts with "cumsum".
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

# What a package that cannot be imported raises in a test: no test has judged anything.
BROKEN = (ImportError, SyntaxError)


def matches(chosen: str, function: str, name: str) -> bool:
    """Whether ``chosen`` means the case ``name`` of a test function."""
    wanted, _, case = chosen.partition("[")
    _, _, parameters = name.partition("[")
    return wanted == function and "-" + case.removesuffix("]") in "-" + parameters


class Chosen:
    """Keeps the tests that were asked for, and notes which fail by what they assert."""

    def __init__(self, chosen: list[str]) -> None:
        self.chosen = [test.rpartition("::")[::2] for test in chosen]
        self.missing = list(chosen)
        self.failed: list[str] = []
        self.broken: list[str] = []
        self.passed: list[str] = []

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        kept, found = [], set()
        for item in items:
            path, name = item.nodeid.partition("::")[0], item.name
            function = getattr(item, "originalname", name)
            asked = [x for x in self.chosen if x[0] == path and matches(x[1], function, name)]
            found.update(asked)
            if asked:
                kept.append(item)
        items[:] = kept
        self.missing = ["::".join(x) for x in self.chosen if x not in found]

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.broken.append(report.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Any:
        report = yield
        if report.failed:
            judged = call.when == "call" and not call.excinfo.errisinstance(BROKEN)
            (self.failed if judged else self.broken).append(report.nodeid)
        elif call.when == "call" and report.passed:
            self.passed.append(report.nodeid)
        return report


def main(answer: str, seconds: str, failures: str, *chosen: str) -> None:
    """Run them, and write what happened."""
    import resource  # which Windows lacks: there, only the names of tests are compared

    limit = int(seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    plugin = Chosen(list(chosen))
    options = ["-q", f"--maxfail={failures}", "--tb=short", "-p", "no:cacheprovider"]
    files = dict.fromkeys(test.partition("::")[0] for test in chosen)
    pytest.main([*options, *files], plugins=[plugin])
    said = {
        "failed": plugin.failed,
        "broken": plugin.broken,
        "missing": plugin.missing,
        "passed": plugin.passed,
        "seconds": time.process_time(),
    }
    Path(answer).write_text(json.dumps(said))


if __name__ == "__main__":
    main(*sys.argv[1:])
