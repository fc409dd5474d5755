"""Run every test that draws examples, with fresh ones, for a given time: ``make fuzz``.

The tests are those whose source has ``@given``, or uses ``scaled`` for a number of examples.  They
share the time evenly: each gets turns, short ones first, until its share is over; what it leaves
goes to the others.  A turn is a process of its own.  A test that fails gets no further turns; what
it printed is kept in ``out/fuzz``, and the example itself in Hypothesis's database, so that the
next run starts with it.

    python -m tests.fuzz --minutes 30 --jobs 2 [tests/test_laws.py ...]
"""

from __future__ import annotations

import argparse
import inspect
import os
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

# The line in which a turn says how many examples it drew, and rejected.
_COUNTED = "examples drawn and rejected:"
# A turn may take so many times what the one before lets expect, and some time to start.
_PATIENCE, _START = 5, 120
_GROWTH = 4
# Passed, and nothing collected or all skipped: pytest's exit codes of a turn without a failure.
_FINE = (0, 5)


class Turns(NamedTuple):
    """What came of one test: turns run, examples drawn and rejected, how it ended."""

    test: str
    turns: int
    drawn: int
    rejected: int
    end: str  # "passed", "failed" or "cut"


class _Drawing:
    """A plugin of pytest that collects the names of the tests that draw."""

    def __init__(self) -> None:
        self.found: dict[str, None] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            function = getattr(item, "function", None)
            if function is not None and draws(inspect.getsource(function)):
                self.found[item.nodeid.partition("[")[0]] = None


def draws(source: str) -> bool:
    """Whether a test with this source draws more examples under ``make fuzz``."""
    return "@given(" in source or "scaled(" in source


def collected(paths: list[str]) -> list[str]:
    """The tests that draw, without their parameters, in pytest's order."""
    plugin = _Drawing()
    code = pytest.main(["--collect-only", "-qq", "--no-summary", *paths], plugins=[plugin])
    if code:
        raise SystemExit(f"fuzz: the tests cannot be collected (pytest ended with {code})")
    return list(plugin.found)


def fuzz(
    tests: list[str], minutes: float, jobs: int, kept: Path, tell: Callable[..., None] = print
) -> list[Turns]:
    """Run the tests for so many minutes together, ``jobs`` at once."""
    end = time.monotonic() + 60 * minutes
    lock = threading.Lock()
    waiting = list(tests)
    results: list[Turns] = []

    def work() -> None:
        while True:
            with lock:
                if not waiting:
                    return
                share = max(end - time.monotonic(), 0) * jobs / (len(waiting) + jobs - 1)
                test = waiting.pop(0)
            result = run(test, share, kept)
            with lock:
                results.append(result)
                left = max(end - time.monotonic(), 0)
                tell(
                    f"[{len(results)}/{len(tests)}, {left / 60:.0f} min left] {result.test}: "
                    f"{result.end}, {result.drawn:,} examples in {result.turns} turns",
                    flush=True,
                )

    with ThreadPoolExecutor(jobs) as pool:
        for job in [pool.submit(work) for _ in range(jobs)]:
            job.result()
    return results


def run(test: str, share: float, kept: Path) -> Turns:
    """The turns of one test, for ``share`` seconds; at least one."""
    start = time.monotonic()
    scale, expected = 1.0, float(_START)
    turns = drawn = rejected = 0
    while True:
        began = time.monotonic()
        code, output = turn(test, scale, _PATIENCE * expected + _START)
        took = time.monotonic() - began
        if code is None:
            return Turns(test, turns, drawn, rejected, "cut")
        turns += 1
        counted = re.search(rf"{_COUNTED} (\d+) (\d+)", output)
        new = (int(counted[1]), int(counted[2])) if counted else (0, 0)
        drawn, rejected = drawn + new[0], rejected + new[1]
        if code not in _FINE:
            kept.mkdir(parents=True, exist_ok=True)
            name = re.sub(r"\W+", "_", test)
            (kept / f"{name}.txt").write_text(output)
            return Turns(test, turns, drawn, rejected, "failed")
        left = share - (time.monotonic() - start)
        if left < took / _GROWTH or not new[0]:
            return Turns(test, turns, drawn, rejected, "passed")
        growth = min(left / took, _GROWTH)
        scale, expected = scale * growth, took * max(growth, 1)


def turn(test: str, scale: float, seconds: float) -> tuple[int | None, str]:
    """One run of a test: pytest's exit code, None if it took too long, and what it printed."""
    plugins = ["-p", "no:cacheprovider", "-p", "tests.fuzz"]
    environment = {"HYPOTHESIS_PROFILE": "fuzz", "FUZZ_SCALE": repr(scale), "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-rN", *plugins, test],
            env=os.environ | environment,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None, ""
    return done.returncode, done.stdout + done.stderr


# In the process of a turn, whose plugin of pytest this module is.


_drawn: list[str] = []


@pytest.hookimpl(wrapper=True, trylast=True)  # inside of Hypothesis's own wrapper
def pytest_runtest_call() -> Iterator[None]:
    """Count what the properties of a test draw, whether it is one or contains some."""
    from hypothesis.statistics import collector  # pytest must be the first to import it

    with collector.with_value(_count):  # type: ignore[arg-type]
        return (yield)


def _count(statistics: Mapping[str, Any]) -> None:
    for name, phase in statistics.items():
        if name.endswith("-phase"):
            _drawn.extend(case["status"] for case in phase["test-cases"])


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say what was drawn."""
    kept = sum(status in ("valid", "interesting") for status in _drawn)
    terminalreporter.write_line(f"{_COUNTED} {kept} {len(_drawn) - kept}")


def summary(results: list[Turns], minutes: float) -> str:
    """One line of what was drawn and found."""
    drawn = sum(r.drawn for r in results)
    rejected = sum(r.rejected for r in results)
    bad = [f"{r.test} ({r.end})" for r in results if r.end != "passed"]
    return (
        f"fuzz: {len(results)} tests in {minutes:.1f} minutes, {drawn:,} examples drawn, "
        f"{rejected:,} rejected, " + (f"NOT PASSED: {', '.join(bad)}" if bad else "no failure")
    )


def main(arguments: list[str] | None = None) -> int:
    """The command; the result is the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--kept", type=Path, default=Path("out/fuzz"), metavar="FOLDER")
    parser.add_argument("paths", nargs="*", default=["tests"])
    options = parser.parse_args(arguments)
    start = time.monotonic()
    tests = collected(options.paths)
    results = fuzz(tests, options.minutes, options.jobs, options.kept)
    print(summary(results, (time.monotonic() - start) / 60), flush=True)
    return 0 if results and all(r.end == "passed" for r in results) else 1


if __name__ == "__main__":
    sys.exit(main())
