"""What a case is, how it is measured, and how its outcome reads."""

from __future__ import annotations

import gc
import statistics
import time
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

OURS = "symdiff"


@dataclass(frozen=True)
class Line:
    """One line of the report; ``met`` is None where there is no target."""

    text: str
    met: bool | None = None


@dataclass(frozen=True)
class Contestant:
    """Something to time: ``run(prepare(round))``, of which only ``run`` is timed.

    ``prepare`` makes what a round needs that no round before it had, such as fresh names.
    """

    run: Callable[[Any], object]
    prepare: Callable[[int], Any] = lambda round_: round_
    rounds: int | None = None  # fewer than the others, for a slow one


@dataclass(frozen=True)
class Race:
    """Contestants that do the same, timed in turns: medians, and ours as a part of each peer's.

    ``per`` is how many operations a run is; ``targets`` says at most which part of a peer's time
    ours may be, ``limit`` how many microseconds an operation of ours may take.  ``missing`` names
    peers that are not installed.
    """

    name: str
    contestants: Mapping[str, Contestant]
    rounds: int = 7
    per: int = 1
    targets: Mapping[str, float] = field(default_factory=dict)
    limit: float | None = None
    missing: tuple[str, ...] = ()

    def lines(self) -> Iterator[Line]:
        """The measured times and ratios."""
        medians = {name: 1e6 * t / self.per for name, t in interleaved(self).items()}
        ours = medians[OURS]
        met = None if self.limit is None else ours <= self.limit
        limit = "" if self.limit is None else f"   at most {self.limit:g} µs"
        yield Line(f"{self.name:<44} {OURS:<10} {ours:>12.3f} µs{limit}", met)
        for name, t in medians.items():
            if name != OURS:
                target = self.targets.get(name)
                met = None if target is None else ours <= target * t
                wanted = "" if target is None else f", at most {target:g}"
                yield Line(f"{'':<44} {name:<10} {t:>12.3f} µs   ratio {ours / t:.3f}{wanted}", met)
        for name in self.missing:
            yield Line(f"{'':<44} {name:<10} {'skipped':>12}: not installed")


@dataclass(frozen=True)
class Count:
    """A number that no machine changes, and the most that it may be."""

    name: str
    count: Callable[[], int]
    most: int | None = None

    def lines(self) -> Iterator[Line]:
        """The number."""
        found = self.count()
        met = None if self.most is None else found < self.most
        limit = "" if self.most is None else f"   fewer than {self.most:,}"
        yield Line(f"{self.name:<55} {found:>12,}{limit}", met)


Case = Race | Count


def interleaved(race: Race) -> dict[str, float]:
    """The median seconds of each contestant; they take turns, so a busy moment hits all.

    A round before the first warms up.  What a run returns lives until its time is taken: freeing
    is not timed.
    """
    times: dict[str, list[float]] = {name: [] for name in race.contestants}
    for round_ in range(race.rounds + 1):
        for name, contestant in race.contestants.items():
            if round_ > (contestant.rounds or race.rounds):
                continue
            prepared = contestant.prepare(round_)
            gc.collect()
            start = time.perf_counter()
            result = contestant.run(prepared)
            elapsed = time.perf_counter() - start
            del result, prepared
            if round_:
                times[name].append(elapsed)
    return {name: statistics.median(t) for name, t in times.items()}


def peer(name: str) -> ModuleType | None:
    """The peer's module, or None where it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        return None


T = TypeVar("T")


def installed(peers: Mapping[str, T]) -> tuple[dict[str, T], tuple[str, ...]]:
    """The entries of the peers that are installed, and the names of the others."""
    here = {name: entry for name, entry in peers.items() if peer(name) is not None}
    return here, tuple(name for name in peers if name not in here)
