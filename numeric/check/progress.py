"""How far a long audit is: a line in the terminal, or what the user makes of it."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATIENCE = 2.0
"""Seconds that pass before anything is written: short audits say nothing."""

INTERVAL = 0.2
"""Seconds between two lines."""


@contextmanager
def progress(
    total: int,
    report: Callable[[int, int], object] | None = None,
    *,
    stream: Any = None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Callable[[int], None]]:
    """A context that is told, step by step, how much of a long audit is done.

    Args:
        total: how much there is to do.
        report: called as ``report(done, total)`` at every step, and nothing is written then.
        stream: where one line is written, over and over, and wiped in the end, if it is a terminal;
            the standard error by default.
        clock: the time in seconds.

    >>> with progress(3, lambda done, total: print(done, "of", total)) as step:
    ...     step(2)
    2 of 3
    """
    if report is not None:
        told = report

        def tell(done: int) -> None:
            told(done, total)

        yield tell
        return
    out = sys.stderr if stream is None else stream
    if not (hasattr(out, "isatty") and out.isatty()):
        yield lambda done: None
        return
    next_time, width = clock() + PATIENCE, 0

    def step(done: int) -> None:
        nonlocal next_time, width
        now = clock()
        if now < next_time:
            return
        line = f"audit: {done} of {total} evaluations"
        out.write("\r" + line.ljust(width))
        out.flush()
        next_time, width = now + INTERVAL, max(width, len(line))

    try:
        yield step
    finally:
        if width:
            out.write("\r" + " " * width + "\r")
            out.flush()
