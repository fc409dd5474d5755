"""Write the digits of slow oracles: ``make oracles``, or ``python -m tests.oracle_digits``.

All values are computed again.  With ``--missing``, those that the file has stay; values that no
test asks for are dropped in both cases.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from multiprocessing import Pool
from typing import Any

from tests import test_accuracy
from tests.support.oracle_digits import PATH, lines, written
from tests.symdiff import test_scalar

Requests = dict[str, Callable[[], Sequence[Any]]]


@cache
def requests() -> Requests:
    """Return what computes each value that a test asks for, by its key."""
    return {**test_accuracy.requests(), **test_scalar.requests()}


def computed(name: str) -> str:
    """Compute the values of a key."""
    return written(requests()[name]())


def main(arguments: list[str]) -> None:
    """Write the file."""
    if arguments not in ([], ["--missing"]):
        sys.exit("usage: python -m tests.oracle_digits [--missing]")
    names = sorted(requests())
    known = lines() if arguments else {}
    missing = [name for name in names if name not in known]
    with Pool(2) as pool:
        new = dict(zip(missing, pool.imap(computed, missing, chunksize=64), strict=True))
    text = "".join(f"{name}\t{new[name] if name in new else known[name]}\n" for name in names)
    PATH.write_text(text, encoding="ascii")
    print(f"{len(names)} values, {len(missing)} of them computed, {len(text) / 1e6:.1f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
