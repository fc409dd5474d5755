"""Run every test that draws examples, with fresh ones, for a given time: ``make fuzz``.

The tests are those whose source has ``@given``, or uses ``scaled`` for a number of examples.  They
share the time evenly: each gets turns, short ones first, until its share is over; the others share
the rest.  A turn is a process of its own.  A test that fails gets no further turns; its output is
printed and kept in ``out/fuzz``, and the example itself in Hypothesis's database, so that the
next run starts with it.

No turn outlives the run.  One that takes too long is ended, and the examples that Hypothesis has
saved meanwhile are run again, without shrinking: a failure that was still being shrunk is a
failure.  Else the test is "unfinished", and the stack of the turn is kept.  Tests that no time is
left for are "not reached".  The exit status is 1 after a failure, 2 if the run is incomplete.

    python -m tests.fuzz --minutes 30 --jobs 2 [tests/test_laws.py ...]
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import math
import os
import re
import signal
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
# A turn may take so many times what the turn before it lets expect.
_PATIENCE = 5
# Seconds that every turn may take, the first one, too.  A turn draws everyday numbers of examples
# at first, which is up to 30 seconds of a processor with the imports; beside other programs it may
# get a tenth of one.  Hypothesis itself ends shrinking after 300 seconds.
_FIRST = 300
_GROWTH = 4
# A run may exceed its minutes by this part of them, for the turns under way.
_EXCESS = 0.05
# Seconds for another run of the examples that an ended turn has saved.
_REPLAY = 60
# Seconds that an ended turn has for writing its stack.
_LAST_WORDS = 5
# Lines of a failure's output that are printed; all are kept.
_SHOWN = 40
# Set in the environment of a replay.
_REPLAYS = "FUZZ_REPLAYS"
# How a test ends that did not pass.
_ENDS = ("failed", "unfinished", "not reached")
# Passed, and nothing collected or all skipped: pytest's exit codes of a turn without a failure.
_FINE = (0, 5)


class Turns(NamedTuple):
    """The result of one test: turns run, examples drawn and rejected, how it ended."""

    test: str
    turns: int
    drawn: int
    rejected: int
    end: str  # "passed", "failed", "unfinished" or "not reached"
    output: str = ""  # of a failure


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
    last = end + 60 * minutes * _EXCESS
    lock = threading.Lock()
    waiting = list(tests)
    results: list[Turns] = []

    def work() -> None:
        while True:
            with lock:
                if not waiting:
                    return
                left = end - time.monotonic()
                share = left * jobs / (len(waiting) + jobs - 1)
                test = waiting.pop(0)
            result = run(test, share, kept, last) if left > 0 else _not_reached(test)
            with lock:
                results.append(result)
                left = max(end - time.monotonic(), 0)
                tell(
                    f"[{len(results)}/{len(tests)}, {left / 60:.0f} min left] {result.test}: "
                    f"{result.end}, {result.drawn:,} examples in {result.turns} turns",
                    *result.output.splitlines()[-_SHOWN:],
                    sep="\n    ",
                    flush=True,
                )

    with ThreadPoolExecutor(jobs) as pool:
        for job in [pool.submit(work) for _ in range(jobs)]:
            job.result()
    return results


def _not_reached(test: str) -> Turns:
    return Turns(test, 0, 0, 0, "not reached")


def run(test: str, share: float, kept: Path, last: float = math.inf) -> Turns:
    """The turns of one test, for ``share`` seconds; at least one, none beyond the time ``last``."""
    start = time.monotonic()
    scale, limit = 1.0, max(share, _FIRST)
    turns = drawn = rejected = 0

    def ended(end: str, output: str = "") -> Turns:
        if output:
            kept.mkdir(parents=True, exist_ok=True)
            (kept / (re.sub(r"\W+", "_", test) + ".txt")).write_text(output)
        return Turns(test, turns, drawn, rejected, end, output if end == "failed" else "")

    while True:
        began = time.monotonic()
        code, output = turn(test, scale, min(limit, last - began))
        took = time.monotonic() - began
        if code is None:
            code, again = turn(test, 1, _REPLAY, replay=True)
            return ended("failed", again) if code == 1 else ended("unfinished", output)
        turns += 1
        counted = re.search(rf"{_COUNTED} (\d+) (\d+)", output)
        new = (int(counted[1]), int(counted[2])) if counted else (0, 0)
        drawn, rejected = drawn + new[0], rejected + new[1]
        if code not in _FINE:
            return ended("failed", output)
        left = share - (time.monotonic() - start)
        if left < took / _GROWTH or not new[0]:
            return ended("passed")
        growth = min(left / took, _GROWTH)
        scale, limit = scale * growth, max(_PATIENCE * took * max(growth, 1), _FIRST)


def turn(test: str, scale: float, seconds: float, replay: bool = False) -> tuple[int | None, str]:
    """One run of a test: pytest's exit code, None if it took too long, and its output.

    Args:
        test: its name.
        scale: how many times the everyday number of examples are drawn.
        seconds: after these the processes of the turn are ended.
        replay: run the examples in Hypothesis's database alone, and shrink none.
    """
    plugins = ["-p", "no:cacheprovider", "-p", "tests.fuzz"]
    environment = {"HYPOTHESIS_PROFILE": "fuzz", "FUZZ_SCALE": repr(scale), "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", "-rN", *plugins, test],
        env=os.environ | environment | {_REPLAYS: "1" if replay else ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # so that the processes which a test starts end with it
    ) as process:
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            # Pytest's handler writes the stack of a process that aborts.  While a test still runs,
            # it cannot be written safely: such a thread of faulthandler may crash the process.
            process.send_signal(signal.SIGABRT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_LAST_WORDS)
            with contextlib.suppress(ProcessLookupError):  # it has ended, and left none behind
                os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            return None, output
    return process.returncode, output


# In the process of a turn, whose plugin of pytest this module is.


_drawn: list[str] = []


def pytest_configure() -> None:
    """In a replay, take the examples in the database alone."""
    if os.environ.get(_REPLAYS):
        from hypothesis import Phase, settings

        phases = (Phase.explicit, Phase.reuse)
        settings.register_profile("replay", settings.default, phases=phases)
        settings.load_profile("replay")


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
    """One line: the examples drawn, the failures, and the tests without a result."""
    drawn = sum(r.drawn for r in results)
    rejected = sum(r.rejected for r in results)
    ends = {end: [r.test for r in results if r.end == end] for end in _ENDS}
    said = [f"{end.upper()}: {', '.join(tests)}" for end, tests in ends.items() if tests]
    return (
        f"fuzz: {len(results)} tests in {minutes:.1f} minutes, {drawn:,} examples drawn, "
        f"{rejected:,} rejected, " + "; ".join(said if ends["failed"] else ["no failure", *said])
    )


def status(results: list[Turns]) -> int:
    """The exit status: 0 if every test passed, 1 after a failure, 2 if the run is incomplete."""
    ends = {r.end for r in results}
    return 1 if "failed" in ends else 2 if ends != {"passed"} else 0


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
    return status(results)


if __name__ == "__main__":
    sys.exit(main())
