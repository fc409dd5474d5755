"""Compare this tree with an older commit: ``python -m benchmarks.commits REVISION``.

A round starts three new processes that take turns at every workload: this tree, the commit, and the
commit once more.  (A single process each is not enough: the position in memory alone changes times
by tens of per cent.)  The ratio of the medians over all rounds is this tree's time divided by the
commit's.  The commit's ratio to itself shows the noise of the machine.  A workload fails if it is
slower by more than 5 % plus that spread.  The exit status is 1 if a workload fails.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path

from benchmarks.programs import WORKLOADS

ROOT = Path(__file__).resolve().parent.parent
_TOLERATED = 0.05


class Tree:
    """A process that runs workloads with the library in a folder."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "benchmarks" / "programs.py")],
            env=os.environ | {"PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def seconds(self, name: str) -> float:
        """Return the time of a workload."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(name, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"commits: {name} fails in one of the trees")
        return float(line)

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def extracted(revision: str, folder: Path) -> None:
    """Extract the files of a commit into a folder."""
    command = ["git", "-C", str(ROOT), "archive", "--format=tar", revision]
    archive = subprocess.run(command, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=BytesIO(archive)) as files:
        files.extractall(folder, filter="data")


def main() -> int:
    """Run the workloads and print a line for each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.commits", description=__doc__)
    parser.add_argument("revision")
    parser.add_argument("workloads", nargs="*", default=list(WORKLOADS), metavar="workload")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    times: dict[tuple[str, int], list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        extracted(options.revision, Path(folder))
        for k in range(options.rounds):
            trees = [Tree(ROOT), Tree(Path(folder)), Tree(Path(folder))]
            for name in options.workloads:
                for i in (0, 1, 2, *((k + i) % 3 for i in range(3))):
                    took = trees[i].seconds(name)
                    times.setdefault((name, i), []).append(took)
            for tree in trees:
                tree.close()
            print(f"round {k + 1} of {options.rounds}", file=sys.stderr, flush=True)
    failed = []
    for name in options.workloads:
        # The first of the two turns of a round is a warm-up.
        new, old, again = (1e3 * statistics.median(times[name, i][1::2]) for i in range(3))
        ratio, spread = new / old, abs(again / old - 1)
        slower = ratio > 1 + _TOLERATED + spread
        failed += [name] * slower
        print(
            f"{name:<28} {old:>9.3f} ms -> {new:>9.3f} ms   ratio {ratio:.3f}, "
            f"spread {spread:.3f}{'   SLOWER' if slower else ''}"
        )
    print(f"\n{len(failed)} slower: {', '.join(failed)}" if failed else "\nnone is slower")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
