"""How a command fails, and what it notes besides."""

from __future__ import annotations

import sys


class Failure(Exception):
    """What went wrong, in words, and the exit status."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


def note(message: str) -> None:
    """Say something that is no error, on the standard error."""
    print(f"symdiff: note: {message}", file=sys.stderr)
