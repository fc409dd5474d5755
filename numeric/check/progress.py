"""The progress of a long audit: a line in the terminal, or calls of the user's function."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATIENCE = 2.0
"""Seconds before the first line: short audits write nothing."""

INTERVAL = 0.2
"""Seconds between two updates."""


@contextmanager
def progress(
    total: int,
    report: Callable[[int, int], object] | None = None,
    *,
    stream: Any = None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Callable[[int], None]]:
    """Provide a function that reports, step by step, how much of a long audit is done.

    Args:
        total: the amount of work.
        report: called as ``report(done, total)`` at every step; then no line is written.
        stream: a terminal on which one line is updated, and erased at the end; the standard error
            by default.  Other streams get nothing.
        clock: a function that returns the time in seconds.

    >>> with progress(3, lambda done, total: print(done, "of", total)) as step:
    ...     step(2)
    2 of 3
    """
    if report is not None:
        callback = report

        def forward(done: int) -> None:
            callback(done, total)

        yield forward
        return
    out = sys.stderr if stream is None else stream
    if not (hasattr(out, "isatty") and out.isatty()):
        # A log file or a pipe gets no line that overwrites itself.
        yield lambda done: None
        return
    next_time, width = clock() + PATIENCE, 0

    def step(done: int) -> None:
        nonlocal next_time, width
        now = clock()
        # Calls may come thousands of times a second, and a terminal is slow.
        if now < next_time:
            return
        # Pad the line to cover a longer one before it.
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
