"""The measurements as text, as JSON, and as a plot."""

from __future__ import annotations

import itertools
import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.declarations import Task
from benchmarks.rounds import NATIVE, OURS, STAGES
from benchmarks.targets import OPERATIONS, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from benchmarks.declarations import Case
    from benchmarks.rounds import Effort, Outcome

PACKAGES = (
    *("numpy", "sympy", "torch", "torchdiffeq", "jax", "diffrax", "casadi", "autograd"),
    *("symengine", "heyoka"),
)
_UNITS = (("s ", 1.0), ("ms", 1e-3), ("µs", 1e-6))
_REACHED = {None: "not measured", True: "reached", False: "NOT REACHED"}


def machine() -> dict[str, Any]:
    """Describe the machine and the versions."""
    processor = platform.processor()
    account = Path("/proc/cpuinfo")
    if account.exists():
        names = [line for line in account.read_text().splitlines() if line.startswith("model name")]
        processor = names[0].split(":")[1].strip() if names else processor
    versions = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    load = os.getloadavg() if hasattr(os, "getloadavg") else ()
    return {
        "processor": processor,
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "load": [round(x, 2) for x in load],
        "versions": versions,
    }


def seconds(t: float | None) -> str:
    """Write a time in a suitable unit.

    >>> seconds(0.00123), seconds(None)
    ('1.23 ms', '-')
    """
    if t is None:
        return "-"
    unit, size = next(((u, s) for u, s in _UNITS if t >= s), _UNITS[-1])
    return f"{t / size:.3g} {unit}"


def _bytes(n: int | None) -> str:
    return "-" if n is None else f"{n / 2**20:.1f} MiB"


HEADINGS = f"{'':<12}{'build':>10}{'different.':>11}{'lower':>10}{'call':>10}{'memory':>13}"


def lines(outcome: Outcome) -> Iterator[str]:
    """Yield a line for each contestant: medians, peak memory, our time divided by the peer's."""
    growth = ""
    if outcome.operations is not None:
        value, gradient = outcome.operations
        growth = f"   operations {value:,} -> {gradient:,} ({gradient / value:.2f})"
    yield f"{outcome.case.name}: {outcome.case.workload.task.value}{growth}"
    yield f"{HEADINGS}  ours/it"
    for name, timing in outcome.timings.items():
        if timing.refused:
            yield f"{name:<12}  {timing.refused}"
            continue
        times = "".join(
            f"{seconds(timing.median(stage)):>{width}}"
            for stage, width in zip(STAGES, (10, 11, 10, 10), strict=True)
        )
        ratio = outcome.ratio(name)
        quotient = "" if name == OURS or ratio is None else f"{ratio:>9.3g}"
        yield f"{name:<12}{times}{_bytes(timing.memory):>13}{quotient}"


def judged(verdicts: Iterable[Verdict]) -> Iterator[str]:
    """Yield a line for each target: reached or missed, with its ratio."""
    yield f"{'workload':<60}{'ours / peer':<32}{'ratio':>10}  must, aim"
    for verdict in verdicts:
        target = verdict.target
        if target.what == OPERATIONS:
            subject, text = "operations, value + gradient / value", f"{verdict.measured:.2f}"
        elif target.than:
            text = "-" if verdict.measured is None else f"{verdict.measured:.3g}"
            subject = f"ours, {target.than}"
        elif target.peer == OURS == target.own:
            subject, text = target.what, seconds(verdict.measured)
        else:
            what = "" if target.what == "call" else f", {target.what}"
            subject = target.peer + what if target.own == OURS else f"{target.own} / {target.peer}"
            text = "-" if verdict.measured is None else f"{verdict.measured:.3g}"
        in_seconds = (
            target.peer == OURS == target.own and target.what != OPERATIONS and not target.than
        )
        bounds = ", ".join(
            f"{word} {seconds(bound) if in_seconds else format(bound, '.3g')} "
            f"{_REACHED[verdict.reached(bound)]}"
            for word, bound in (("must", target.must), ("aim", target.aim))
            if bound is not None
        )
        yield f"{verdict.case:<60}{subject:<32}{text:>10}  {bounds}"


def record(
    outcomes: Sequence[Outcome], judged_targets: Sequence[Verdict], effort: Effort
) -> dict[str, Any]:
    """Return all measurements in the form of JSON."""
    return {
        "machine": machine(),
        "effort": vars(effort),
        "cases": [
            {
                "name": outcome.case.name,
                "task": outcome.case.workload.task.value,
                "operations": outcome.operations,
                "contestants": {
                    name: vars(timing) | {"ratio": outcome.ratio(name)}
                    for name, timing in outcome.timings.items()
                },
            }
            for outcome in outcomes
        ],
        "targets": [
            vars(v.target)
            | {"case": v.case, "found": v.measured}
            | {"must reached": v.reached(v.target.must), "aim reached": v.reached(v.target.aim)}
            for v in judged_targets
        ],
    }


def row_name(case: Case) -> str:
    """Name a case in the table of ratios: without the number, with the task."""
    _, _, name = case.name.partition(" ")
    return f"{name}: {case.workload.task.value}".replace("|", " ")


def table(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """Write the ratios of calls in Markdown: our NumPy backend / machine code, to each peer."""
    every = [outcome for outcome in outcomes if outcome.case.workload.task is not Task.PROGRAM]

    def ratios(outcome: Outcome, column: str) -> list[float]:
        for peer in (column, *_BY.get(column, ())):
            both = [outcome.ratio(peer, own=own) for own in (OURS, NATIVE)]
            if both != [None, None]:
                return [x for x in both if x is not None]
        return []

    peers = [p for p in _COLUMNS if any(ratios(x, p) for x in every)]
    yield f"| {FIRST_COLUMN} | {' | '.join(_COLUMNS[p] for p in peers)} |"
    yield f"|---|{'---:|' * len(peers)}"
    for outcome in every:
        cells = [" / ".join(f"{x:.2g}" for x in ratios(outcome, peer)) for peer in peers]
        yield f"| {row_name(outcome.case)} | {' | '.join(cells)} |"
    about = machine()
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    yield f"\n{about['processor']}, {about['cores']} cores; {versions}."


# Libraries that add a task to another one; their ratios are in its column.
_BY = {"jax": ("diffrax",), "torch": ("torchdiffeq",)}
FIRST_COLUMN = "a call of"
_COLUMNS = {
    "hand": "NumPy by hand",
    "torch": "PyTorch",
    "jax": "`jax.jit`",
    "casadi": "CasADi",
    "lambdify": "`lambdify`",
    "heyoka": "heyoka",
}


def write(folder: Path, recorded: dict[str, Any]) -> Path:
    """Write ``bench.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "bench.json"
    path.write_text(json.dumps(recorded, indent=1, ensure_ascii=False) + "\n")
    return path


def plot(folder: Path, recorded: dict[str, Any]) -> Path:
    """Draw ``bench.png``: our time divided by each peer's, for each case.  Needs Matplotlib."""
    from matplotlib.figure import Figure

    cases = recorded["cases"]
    figure = Figure(figsize=(9, 1.5 + 0.26 * len(cases)), layout="constrained")
    axes = figure.subplots()
    peers = dict.fromkeys(name for case in cases for name in case["contestants"] if name != OURS)
    for peer, marker in zip(peers, itertools.cycle("osv^DPX*<>"), strict=False):
        points = [
            (ratio, y)
            for y, case in enumerate(cases)
            if (ratio := case["contestants"].get(peer, {}).get("ratio"))
        ]
        if points:
            axes.scatter(*zip(*points, strict=True), label=peer, marker=marker, s=22)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yticks(range(len(cases)), [case["name"] for case in cases], fontsize=7)
    axes.invert_yaxis()
    axes.grid(axis="x", alpha=0.3)
    axes.set_xlabel("time of a call, symdiff / peer: left of 1 symdiff is faster")
    axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
    path = folder / "bench.png"
    figure.savefig(path, dpi=130)
    return path
