"""Time the library and its peers.

The exit status is 1 if a peer's numbers differ from ours, ours fails, or a target is missed.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from benchmarks import report
from benchmarks.contestants import Remote
from benchmarks.libraries import LIBRARIES
from benchmarks.rounds import OURS, QUICK, Effort, Outcome, measure
from benchmarks.targets import verdicts
from benchmarks.workloads import CASES


def main() -> int:
    """Measure the chosen cases, print their lines as they arrive, judge them, write files."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", nargs="+", default=[""], help="numbers or parts of names")
    parser.add_argument("--peers", nargs="+", choices=list(LIBRARIES), help="only these peers")
    parser.add_argument("--rounds", type=int, help=f"rounds of each case (default {Effort.rounds})")
    parser.add_argument("--quick", action="store_true", help="few, short rounds")
    parser.add_argument("--out", type=Path, default=Path("out/bench"), help="folder of the files")
    options = parser.parse_args()
    effort = QUICK if options.quick else Effort()
    if options.rounds:
        effort = replace(effort, rounds=options.rounds)
    cases = [
        case
        for case in CASES
        if any(
            str(case.workload.number) == word if word.isdigit() else word in case.name
            for word in options.only
        )
    ]
    if not cases:
        parser.error(f"no case is called {', '.join(options.only)}")
    outcomes: list[Outcome] = []
    for k, case in enumerate(cases):
        print(f"[{k + 1} of {len(cases)}]", end="", file=sys.stderr)
        names = [
            name
            for name in case.workload.contestants()
            if name == OURS or options.peers is None or name in options.peers
        ]
        start = partial(Remote, patience=effort.patience)
        outcomes.append(measure(case, names, start, effort))
        print("\033[K", end="\r", file=sys.stderr, flush=True)
        print(*report.lines(outcomes[-1]), "", sep="\n", flush=True)
        judged = list(verdicts(outcomes))
        recorded = report.record(outcomes, judged, effort)
        path = report.write(options.out, recorded)  # an interrupted run keeps its measurements
    (options.out / "bench.md").write_text("\n".join(report.table(outcomes)) + "\n")
    print(*report.judged(judged), sep="\n")
    print(path)
    if find_spec("matplotlib"):
        print(report.plot(options.out, recorded))
    else:
        print("no plot: matplotlib is not installed")
    wrong = [(outcome, name) for outcome in outcomes for name in outcome.wrong()]
    for outcome, name in wrong:
        print(f"{outcome.case.name}: {name}: {outcome.timings[name].refused}")
    missed = sum(verdict.reached(verdict.target.must) is False for verdict in judged)
    print(f"{missed} of {len(judged)} targets missed")
    return 1 if wrong or missed else 0


if __name__ == "__main__":
    sys.exit(main())
