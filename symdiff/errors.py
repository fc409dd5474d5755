"""The errors that symdiff raises on purpose; each is also the built-in error one would expect.

Wrong arguments are plain ``TypeError`` and ``ValueError``.  A message names the op, what it was
given and the remedy.
"""

from __future__ import annotations

from typing import Any


class ShapeError(ValueError):
    """Shapes, or the letters of axes, that do not fit each other."""


class ParseError(ValueError):
    """Text that is not a formula of the accepted language; the message marks the position."""

    text: str = ""
    position: int = 0


class Unsupported(NotImplementedError):
    """A function, type or feature that this library does not have; never a partial answer."""


class NotDifferentiable(TypeError):
    """A derivative that does not exist, or that was declared not to be taken."""


class NotAdditive(ValueError):
    """An expression that sums over parts of its rows do not determine; ``node`` is where."""

    def __init__(self, reason: str, node: Any) -> None:
        super().__init__(reason)
        self.node = node

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.node)


class ConvergenceError(ArithmeticError):
    """A solution that was looked for and not found.

    ``residual`` is the largest of what the equations still lack, ``steps`` says how many were made,
    ``worst`` is the place of the element that lacks it, () of a number.
    """

    residual: float = float("nan")
    steps: int = 0
    worst: tuple[int, ...] = ()
