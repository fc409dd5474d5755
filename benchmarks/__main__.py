"""Run the cases of the chosen modules; the exit status is 1 if a target is missed."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

MODULES = ("building", "differentiating", "swell", "calling", "eager")

_VERDICT = {None: "", True: "   met", False: "   MISSED"}


def main() -> int:
    """Run the cases of the chosen modules and print their lines as they come."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("modules", nargs="*", metavar="module", help=f"of {', '.join(MODULES)}")
    chosen = parser.parse_args().modules or MODULES
    unknown = [name for name in chosen if name not in MODULES]
    if unknown:
        parser.error(f"no module of cases is called {', '.join(unknown)}")
    missed = 0
    for name in chosen:
        print(f"\n{name}", flush=True)
        for case in import_module(f"benchmarks.{name}").cases():
            for line in case.lines():
                missed += line.met is False
                print(f"  {line.text}{_VERDICT[line.met]}", flush=True)
    print(f"\n{missed} targets missed" if missed else "\nno target missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
