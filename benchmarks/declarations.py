"""What a workload is: stated once, run by every library that can.

A workload is data, a formula in NumPy's words, and which derivative of it is wanted.  The formula
is written for a namespace ``np``, which is ours or a peer's (``libraries``); what is written by
hand is NumPy alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

Size = Mapping[str, int]


class Task(Enum):
    """What is asked of a formula; a result is a flat list of arrays."""

    VALUE = "value"
    GRADIENT = "value and gradient"
    CURVATURE = "gradient and diagonal of the Hessian"
    HESSIAN = "Hessian"
    JACOBIAN = "Jacobian"
    DERIVATIVE = "10th derivative"
    PROGRAM = "eager program"


@dataclass(frozen=True)
class Workload:
    """One formula and one derivative of it, at several sizes.

    data        the arguments by name, in order, for a random generator and a size; Python floats
                where users have floats
    formula     of a namespace and the arguments.  Of a PROGRAM: of the module alone, it prepares,
                and gives what is timed
    hand        the NumPy that a good engineer would write for the whole task
    naive       the formula and its derivative line by line, a new array for each operation
    sizes       by label; ``tiny`` is the one that tests run
    wrt         the arguments to differentiate by; all without it
    points      arguments are scalars, and data arrays of points
    peers       the libraries that can run it and that a user would take for it
    formulas    of libraries that need it in other words
    """

    number: int
    name: str
    task: Task
    formula: Callable[..., Any]
    sizes: Mapping[str, Size]
    tiny: Size
    data: Callable[..., dict[str, Any]] = lambda rng: {}
    hand: Callable[..., Sequence[Any]] | None = None
    naive: Callable[..., Sequence[Any]] | None = None
    wrt: tuple[str, ...] | None = None
    points: bool = False
    peers: tuple[str, ...] = ()
    formulas: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    def given(self, size: Size) -> dict[str, Any]:
        """The arguments, the same in every process."""
        return self.data(np.random.default_rng(0), **size)

    def places(self, given: Mapping[str, Any]) -> tuple[int, ...]:
        """Where the arguments that are differentiated by stand."""
        names = list(given)
        return tuple(names.index(name) for name in (self.wrt or names))

    def contestants(self) -> list[str]:
        """Ours, also in machine code, what is written by hand, the peers."""
        by_hand = [name for name in ("hand", "naive") if getattr(self, name) is not None]
        native = ["native"] * (self.task is not Task.PROGRAM)
        return ["symdiff", *native, *by_hand, *self.peers]


@dataclass(frozen=True)
class Case:
    """A workload at one size."""

    workload: Workload
    label: str

    @property
    def name(self) -> str:
        """As it is written in tables and after ``--only``."""
        return " ".join(filter(None, (str(self.workload.number), self.workload.name, self.label)))

    @property
    def size(self) -> Size:
        """What ``data`` is given; of the label "tiny", the size for tests."""
        return self.workload.tiny if self.label == "tiny" else self.workload.sizes[self.label]


def half_the_digits(dtype: np.dtype[Any]) -> float:
    """What two right results may differ by, as a part of the largest number of their array."""
    return float(np.sqrt(np.finfo(dtype).eps))


def difference(ours: Sequence[np.ndarray], theirs: Sequence[np.ndarray]) -> str | None:
    """How far results are apart, in words, or None where they agree on half of their digits.

    Libraries put the same numbers into arrays of other shapes, so theirs are read in order.

    >>> difference([np.array([1.0, 2.0])], [np.array([[1.0], [2.0 + 1e-12]])])
    >>> difference([np.array([1.0, 2.0])], [np.array([1.0, 2.1])])
    'array 0 differs by 0.05 of its largest number'
    """
    numbers = np.concatenate([np.ravel(b) for b in theirs])
    sizes = [a.size for a in ours]
    if numbers.size != sum(sizes):
        return f"{numbers.size} numbers instead of {sum(sizes)}"
    parts = np.split(numbers, np.cumsum(sizes)[:-1])
    for i, (a, b) in enumerate(zip(ours, parts, strict=True)):
        if not (np.isfinite(a).all() and np.isfinite(b).all()):
            return f"array {i} is not finite"
        single = np.float32 in (a.dtype, b.dtype)
        largest = float(np.abs(a).max(initial=0))
        apart = float(np.abs(a.ravel() - b).max(initial=0)) / (largest or 1.0)
        if apart > half_the_digits(np.dtype(np.float32 if single else np.float64)):
            return f"array {i} differs by {apart:.2g} of its largest number"
    return None
