"""``python -m tests.notebooks [--compare] [NAME ...]``: see the package."""

from __future__ import annotations

import argparse
import sys
import time

import nbformat
from nbclient.exceptions import CellExecutionError, CellTimeoutError

from tests.notebooks import chosen
from tests.notebooks.execution import differences, executed, written


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.notebooks")
    parser.add_argument("names", nargs="*", metavar="NAME", help="part of a notebook's name")
    parser.add_argument("--compare", action="store_true", help="save nothing, say what differs")
    given = parser.parse_args()
    paths = chosen(*given.names)
    if not paths:
        raise SystemExit(f"no notebook is called {' or '.join(given.names) or 'anything'}")
    wrong = 0
    for path in paths:
        start = time.monotonic()
        try:
            fresh = executed(path)
        except (CellExecutionError, CellTimeoutError) as error:
            found = [str(error)]
        else:
            saved = nbformat.read(path, as_version=4)
            found = differences(saved, fresh) if given.compare else []
            if not given.compare:
                path.write_text(written(fresh), encoding="utf-8")
        wrong += bool(found)
        done = "differs or fails" if found else "as saved" if given.compare else "saved"
        print(f"{path.name}: {done}, {time.monotonic() - start:.1f} s", flush=True)
        for text in found:
            print(text)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
