"""Failures of a command, and notes."""

from __future__ import annotations

import sys


class Failure(Exception):
    """A failure in words, with the exit status."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


def note(message: str) -> None:
    """Write a remark that is not an error to the standard error."""
    print(f"symdiff: note: {message}", file=sys.stderr)
