"""The declaration of a workload: stated once, run by every library that can.

A workload consists of data, a formula in NumPy's functions, and the wanted derivative.  The formula
takes a namespace ``np``, which is ours or a peer's (``libraries``).  Code by hand uses NumPy alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

Size = Mapping[str, int]


class Task(Enum):
    """The wanted derivative of a formula; a result is a flat list of arrays."""

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

    data        the arguments by name, in order, from a random generator and a size; Python floats
                where users have floats
    formula     a function of a namespace and the arguments.  For a PROGRAM, a function of the
    module
                alone: it prepares, and returns the function to time
    hand        the NumPy code of a good engineer for the entire task
    naive       the formula and its derivative line by line, a new array for each operation
    sizes       sizes by label; tests run ``tiny``
    wrt         the arguments to differentiate by; all by default
    points      whether arguments are scalars and data are arrays of points
    peers       the libraries that can run it and that a user would choose for it
    formulas    formulas for libraries that need other functions
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

    def inputs(self, size: Size) -> dict[str, Any]:
        """Return the arguments, the same in every process."""
        return self.data(np.random.default_rng(0), **size)

    def places(self, inputs: Mapping[str, Any]) -> tuple[int, ...]:
        """Return the positions of the arguments to differentiate by."""
        names = list(inputs)
        return tuple(names.index(name) for name in (self.wrt or names))

    def contestants(self) -> list[str]:
        """Return our backends, the code by hand, and the peers."""
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
        """The name in tables and after ``--only``."""
        return " ".join(filter(None, (str(self.workload.number), self.workload.name, self.label)))

    @property
    def size(self) -> Size:
        """The arguments of ``data``; for the label "tiny", the size for tests."""
        return self.workload.tiny if self.label == "tiny" else self.workload.sizes[self.label]


def half_the_digits(dtype: np.dtype[Any]) -> float:
    """Return the largest difference of right results, relative to the array's largest number."""
    return float(np.sqrt(np.finfo(dtype).eps))


def difference(ours: Sequence[np.ndarray], theirs: Sequence[np.ndarray]) -> str | None:
    """Describe the difference of results; None if they agree to half of their digits.

    Libraries put the same numbers into arrays of other shapes, so the shapes of ``theirs`` are
    ignored.

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
        error = float(np.abs(a.ravel() - b).max(initial=0)) / (largest or 1.0)
        if error > half_the_digits(np.dtype(np.float32 if single else np.float64)):
            return f"array {i} differs by {error:.2g} of its largest number"
    return None
