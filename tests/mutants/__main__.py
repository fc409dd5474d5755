"""``python -m tests.mutants``: see the package."""

from __future__ import annotations

import argparse
import sys

from tests.changes import changed_files
from tests.mutants import MUTANTS
from tests.mutants.rows import Mutant, Stale, Tree
from tests.mutants.runner import KILLED, Verdict, judge


def _line(verdict: Verdict) -> str:
    mutant, said, by, seconds = verdict
    by = by.rpartition("/")[2]
    return f"{mutant.family:14} {mutant.name:44} {said:8} {seconds:5.1f} s  {by}"


# How many of changed files are planted: on 2 cores, in about 15 minutes.
MOST = 300


def changed(mutants: list[Mutant], files: list[str]) -> list[Mutant]:
    """Those planted in one of the files, or killed by a test in one, or that no longer fit."""
    tree = Tree()

    def concerns(mutant: Mutant) -> bool:
        try:
            tests = [test.partition("::")[0] for test in tree.tests(mutant)]
            return not {tree.place(mutant).as_posix(), *tests}.isdisjoint(files)
        except Stale:
            return True

    return [mutant for mutant in mutants if concerns(mutant)]


def spread(mutants: list[Mutant], most: int) -> list[Mutant]:
    """At most so many of them, at even distances, so that every family has its share."""
    count = min(len(mutants), most)
    return [mutants[k * len(mutants) // count] for k in range(count)]


def main() -> int:
    """Plant the mutants that are asked for; 1 if any is not killed."""
    names = [mutant.name for mutant in MUTANTS]
    families = list(dict.fromkeys(mutant.family for mutant in MUTANTS))
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=main.__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="these alone")
    parser.add_argument("--family", choices=families, help="those of one family alone")
    parser.add_argument("--changed", action="store_true", help="those of files that changed alone")
    parser.add_argument("--jobs", type=int, default=1, help="how many at once")
    parser.add_argument("--list", action="store_true", help="list them, and plant none")
    asked = parser.parse_args()
    if unknown := set(asked.names) - set(names):
        parser.error(f"no mutant is called {', '.join(sorted(unknown))}; --list lists them")
    chosen = [
        mutant
        for mutant in MUTANTS
        if (mutant.name in asked.names or not asked.names) and asked.family in (None, mutant.family)
    ]
    if asked.changed:
        files = changed_files()
        if files is None:
            print("mutants: no history of git tells what changed: none is planted")
            return 0
        concerned = changed(chosen, files)
        chosen = spread(concerned, MOST)
        if len(chosen) < len(concerned):
            print(f"{len(concerned) - len(chosen)} more mutants are left to `make mutants`")
    if asked.list:
        for mutant in chosen:
            print(f"{mutant.family:14} {mutant.name:44} {', '.join(mutant.tests)}")
        return 0
    if not chosen:
        print("0 mutants: no fault is planted in what changed")
        return 0
    print(f"{len(chosen)} mutants; first their tests without them", flush=True)
    known = 0

    def tell(verdict: Verdict) -> None:
        nonlocal known
        known += 1
        print(f"[{known}/{len(chosen)}] {_line(verdict)}", flush=True)

    verdicts = judge(chosen, jobs=asked.jobs, tell=tell)
    print()
    for verdict in verdicts:
        print(_line(verdict))
    left = [verdict for verdict in verdicts if verdict.said != KILLED]
    print(f"\n{len(verdicts) - len(left)} of {len(verdicts)} mutants are killed")
    for mutant, said, *_ in left:
        print(f"{mutant.name}: {said}")
    return bool(left)


if __name__ == "__main__":
    sys.exit(main())
