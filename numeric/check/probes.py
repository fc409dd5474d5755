"""Call derivatives under test, and record both results and side effects."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numeric.check.exact import Quantity

    Point = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Fault:
    """A fault that shows in the behaviour of a call rather than in a value."""

    kind: str
    why: str
    output: int
    point: Point
    got: Any = None


class Misshapen(Exception):
    """An output has another shape than its input."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.why)
        self.fault = fault


class Exhausted(Exception):
    """The budget is used up."""


@dataclass
class Budget:
    """The number of evaluations of the function under test: the limit and the count so far."""

    most: int
    used: int = 0
    step: Callable[[int], None] = field(default=lambda used: None)

    def spend(self) -> None:
        """Count one evaluation; raise Exhausted if none is left."""
        if self.used >= self.most:
            raise Exhausted
        self.used += 1
        self.step(self.used)


class Probe:
    """One of the derivatives under test, to be called at points of a quantity."""

    def __init__(
        self, call: Callable[..., object], quantity: Quantity, name: str, budget: Budget
    ) -> None:
        self.call, self.quantity, self.name, self.budget = call, quantity, name, budget
        self.shapes = [tuple(map(int, y.shape)) for y in quantity.outputs]
        self.faults: dict[str, Fault] = {}
        self.dtypes: set[str] = set()
        self.raised: BaseException | None = None
        self.returned: list[Any] = []  # the unchanged results of the last call

    def __call__(
        self, point: Point, arranged: Callable[[np.ndarray], np.ndarray] = np.array
    ) -> list[np.ndarray]:
        """Return the outputs at a point; nan where the call raises an exception.

        Raises Misshapen for an output of another shape, and Exhausted without budget.
        """
        self.budget.spend()
        args = [arranged(np.asarray(point[x.name])) for x in self.quantity.symbols]
        # Kept to show whether the call writes into its arguments.
        before = [a.copy() for a in args]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = self.call(*args)
        except (ArithmeticError, ValueError, RuntimeError) as error:
            self.raised = error
            return [np.full(shape, np.nan) for shape in self.shapes]
        # A call that writes into its arguments corrupts its caller's data.
        for a, b, x in zip(args, before, self.quantity.symbols, strict=True):
            if not np.array_equal(a, b, equal_nan=a.dtype.kind == "f"):
                self.note("mutation", f"the call writes into its argument {x.name}", point)
        outputs = self.returned = self._outputs(result)
        return [self._checked(i, y, point) for i, y in enumerate(outputs)]

    def note(self, kind: str, why: str, point: Point, output: int = 0, got: object = None) -> Fault:
        """Record a fault; keep the first of each kind."""
        fault = Fault(kind, why, output, {k: np.array(v) for k, v in point.items()}, got)
        # One example of each kind is enough for a report.
        return self.faults.setdefault(kind, fault)

    def _outputs(self, result: Any) -> list[Any]:
        """Return the result of a call as a list with one value for each output."""
        count = len(self.shapes)
        if isinstance(result, dict):
            result = [result[name] for name in self.quantity.by]
        if self.quantity.name == "hessian" and count > 1:
            # A Hessian by several inputs comes as rows of blocks; outputs are one flat list.
            rows = [r if isinstance(r, tuple | list) else [r] for r in result]
            result = [block for row in rows for block in row]
        if isinstance(result, tuple | list) and (count > 1 or len(result) == 1):
            # A list of numbers is one array, not several outputs.
            single = count == 1 and np.shape(result) == self.shapes[0]
            result = [result] if single else list(result)
        elif count == 1:
            if isinstance(result, tuple) and any(np.ndim(part) for part in result):
                raise TypeError(
                    f"audit: {self.name} returned {len(result)} arrays, expected 1, by "
                    f"{self.quantity.by[0]}"
                )
            result = [result]
        else:
            raise TypeError(
                f"audit: {self.name} returned {type(result).__name__}, expected a tuple of {count} "
                f"arrays, by {', '.join(self.quantity.by)}{self._by_one()}"
            )
        if len(result) != count:
            raise TypeError(
                f"audit: {self.name} returned {len(result)} arrays, expected {count}, by "
                f"{', '.join(self.quantity.by)}{self._by_one()}"
            )
        return list(result)

    def _by_one(self) -> str:
        """Return the remedy for derivatives by some of the inputs only."""
        first = self.quantity.by[0].partition(",")[0]
        return f"; if it is by {first} alone, say wrt={first!r}"

    def _checked(self, i: int, value: object, point: Point) -> np.ndarray:
        shape = self.shapes[i]
        if value is None:  # None stands for a zero derivative, as in PyTorch
            return np.zeros(shape)
        array = np.asarray(value)
        if array.dtype.kind not in "fiub":
            raise TypeError(
                f"audit: {self.name} returned {array.dtype} by {self.quantity.by[i]}, expected "
                "real numbers"
            )
        self.dtypes.add(array.dtype.name)
        if array.shape != shape:
            raise Misshapen(
                self.note(
                    "broadcast",
                    f"by {self.quantity.by[i]} of shape {shape} it has shape {array.shape}",
                    point,
                    i,
                    array,
                )
            )
        # Later comparisons are in float64; longer results keep the digits that they are called for.
        wide = array.dtype if array.dtype == np.longdouble else np.float64
        return np.array(array, wide)

    def at_all(self, points: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """Return the outputs at every point, the points first; fewer rows if the budget ends."""
        rows: list[list[np.ndarray]] = []
        count = len(next(iter(points.values())))
        for k in range(count):
            try:
                rows.append(self({name: x[k] for name, x in points.items()}))
            except Exhausted:
                break
        if not rows:
            return [np.zeros((0, *shape)) for shape in self.shapes]
        return [np.stack(column) for column in zip(*rows, strict=True)]
