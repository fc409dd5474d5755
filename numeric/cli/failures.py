"""How a command fails."""

from __future__ import annotations


class Failure(Exception):
    """What went wrong, in words, and the exit status."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status
