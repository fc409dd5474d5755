"""The errors that symdiff raises on purpose; each is also the built-in error to expect.

Wrong arguments raise plain ``TypeError`` and ``ValueError``.  A message has the op, the argument
and the remedy.
"""

from __future__ import annotations

from typing import Any


class ShapeError(ValueError):
    """Shapes, or lengths of axis labels, that do not fit each other."""


class ParseError(ValueError):
    """Text that is not a formula of the accepted language; the message marks the position."""

    text: str = ""
    position: int = 0


class Unsupported(NotImplementedError):
    """A function, type or feature that this library does not have; never a partial answer."""


class NotDifferentiable(TypeError):
    """A derivative that does not exist, or that is declared unavailable."""


class NotAdditive(ValueError):
    """An expression that sums over parts of its rows do not determine, because of ``node``."""

    def __init__(self, reason: str, node: Any) -> None:
        super().__init__(reason)
        self.node = node

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.node)


class ConvergenceError(ArithmeticError):
    """A solution that a search did not find.

    ``residual`` is the largest absolute residual of the equations, ``steps`` the number of steps.
    ``worst`` is the index of the element with this residual, () for a number.
    """

    residual: float = float("nan")
    steps: int = 0
    worst: tuple[int, ...] = ()
