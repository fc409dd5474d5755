"""Time contestants with the right numbers in turns, round by round.

A ratio is the median over rounds of our time divided by the peer's in the same round, so that a
busy moment affects both.
"""

from __future__ import annotations

import statistics
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchmarks.contestants import Contestant, Failed, Stages
from benchmarks.declarations import Case, Task, difference
from benchmarks.libraries import operations

if TYPE_CHECKING:
    from collections.abc import Callable

OURS, NATIVE = "symdiff", "native"
STAGES = ("build", "differentiate", "lower", "call")


@dataclass(frozen=True)
class Effort:
    """The length of a measurement.

    rounds    rounds of each case
    span      the least seconds of the calls in a round
    pause     seconds before calls, so that busy threads of the previous contestant stop
    dear      seconds of stages in a mean round; a slower contestant skips some
    patience  seconds for one answer; after so many seconds of calls, a peer leaves the rounds
    """

    rounds: int = 7
    span: float = 0.1
    pause: float = 0.05
    dear: float = 1.0
    patience: float = 60.0


QUICK = Effort(rounds=3, span=0.02, dear=0.2, patience=20.0)


@dataclass
class Timing:
    """Seconds of one contestant by round; ``refused`` gives the reason if there are none."""

    refused: str = ""
    memory: int | None = None
    build: list[float] = field(default_factory=list)
    differentiate: list[float] = field(default_factory=list)
    lower: list[float] = field(default_factory=list)
    call: list[float] = field(default_factory=list)

    def add(self, stages: Stages) -> None:
        """Add a run of the stages."""
        for name in STAGES[:3]:
            seconds = getattr(stages, name)
            if seconds is not None:
                getattr(self, name).append(seconds)

    def sums(self, what: str) -> list[float]:
        """Sum several stages by round, as in "build + differentiate", without missing stages."""
        rows = [row for name in what.split(" + ") if (row := getattr(self, name))]
        return [sum(row) for row in zip(*rows, strict=False)]

    def median(self, what: str) -> float | None:
        """Return the median over rounds."""
        sums = self.sums(what)
        return statistics.median(sums) if sums else None


@dataclass
class Outcome:
    """The measurements of a case."""

    case: Case
    timings: dict[str, Timing]
    operations: tuple[int, int] | None = None

    def ratio(self, peer: str, what: str = "call", own: str = OURS) -> float | None:
        """Return our time, or that of another of our backends, divided by the peer's."""
        if not {own, peer} <= set(self.timings):
            return None
        pairs = zip(self.timings[own].sums(what), self.timings[peer].sums(what), strict=False)
        ratios = [ours / theirs for ours, theirs in pairs if theirs]
        return statistics.median(ratios) if ratios else None

    def wrong(self) -> list[str]:
        """Return contestants with wrong numbers; ours, if it failed."""
        return [
            name
            for name, timing in self.timings.items()
            if timing.refused.startswith("WRONG") or (timing.refused and name == OURS)
        ]


def measure(
    case: Case,
    contestants: list[str],
    start: Callable[[str, Case], Contestant],
    effort: Effort,
) -> Outcome:
    """Start, check and time ``contestants``; the first one is ours."""
    timings = {name: Timing() for name in contestants}
    running: dict[str, Contestant] = {}
    try:
        _check(case, timings, running, start)
        _time(timings, running, effort)
    finally:
        for contestant in running.values():
            contestant.close()
    counts = None
    if case.workload.task is Task.GRADIENT:
        with suppress(NotImplementedError):  # a scan has no fixed number of operations
            counts = operations(case.workload, case.workload.inputs(case.size))
    return Outcome(case, timings, counts)


def _check(
    case: Case,
    timings: dict[str, Timing],
    running: dict[str, Contestant],
    start: Callable[[str, Case], Contestant],
) -> None:
    """Keep only contestants with our numbers."""
    ours = None
    for name, timing in timings.items():
        if ours is None and name != OURS:
            timing.refused = "cannot be checked: ours fails"
            continue
        print(f"  {case.name}: {name} ...", end="\033[K\r", file=sys.stderr, flush=True)
        contestant = running[name] = start(name, case)
        try:
            result = contestant.first()
            timing.memory = contestant.memory
            if name == OURS:
                ours = result
            elif mismatch := difference(ours, result):
                timing.refused = f"WRONG: {mismatch}"
        except Failed as reason:
            timing.refused = str(reason)
        if timing.refused:
            running.pop(name).close()


def _time(timings: dict[str, Timing], running: dict[str, Contestant], effort: Effort) -> None:
    numbers: dict[str, int] = {}
    spent = dict.fromkeys(running, 0.0)
    for round_ in range(effort.rounds):
        turns = list(running)
        if not turns:
            return
        first = round_ % len(turns)
        for name in turns[first:] + turns[:first]:
            print(f"  round {round_ + 1}: {name} ...", end="\033[K\r", file=sys.stderr, flush=True)
            contestant, timing = running[name], timings[name]
            began = time.perf_counter()
            try:
                if round_ == 0 or spent[name] < effort.dear * round_:
                    timing.add(contestant.stages(round_))
                if name not in numbers:
                    numbers[name] = max(1, int(effort.span / max(contestant.calls(1), 1e-7)))
                spent[name] += time.perf_counter() - began
                time.sleep(effort.pause)
                timing.call.append(contestant.calls(numbers[name]))
            except Failed as reason:
                timing.refused = str(reason)
                running.pop(name).close()
                continue
            if sum(timing.call) * numbers[name] > effort.patience and name != OURS:
                running.pop(name).close()
