"""Recorded values: a table of points and of the gradients computed there."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.check.sources import named, one_or_all
from symdiff.errors import ShapeError
from symdiff.graph.axis_lengths import bound_sizes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symdiff.graph.expr import Expr


@dataclass(frozen=True)
class Recorded:
    """The gradients of a scalar function at N points, as another program computed them.

    ``points`` and ``gradient`` hold an array ``(N, *shape)`` for each input, by name.  ``value``
    holds the N values, or is None.  Only these points can be evaluated.  All arrays have one dtype,
    float32 or float64: the dtype of the recorded computation.  ``save`` and ``load`` keep tables in
    files.

    Raises ShapeError for arrays of other shapes, and TypeError for other dtypes.  Raises ValueError
    where inputs are missing, and for a point with two different results.

    >>> x = np.array([0.0, 1.0])
    >>> table = Recorded(points={"x": x}, gradient={"x": np.cos(x)}, value=np.sin(x))
    >>> table
    Recorded(2 points of x: float64)
    """

    points: Mapping[str, np.ndarray]
    gradient: Mapping[str, np.ndarray]
    value: np.ndarray | None = None
    _rows: dict[bytes, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        points = {name: np.array(a) for name, a in self.points.items()}
        gradient = {name: np.array(a) for name, a in self.gradient.items()}
        value = None if self.value is None else np.array(self.value)
        if not points or points.keys() != gradient.keys():
            raise ValueError(
                f"Recorded: points of {', '.join(points) or 'nothing'}, gradients by "
                f"{', '.join(gradient) or 'nothing'}; each input needs both"
            )
        arrays = [*points.values(), *gradient.values(), *([] if value is None else [value])]
        dtypes = sorted({a.dtype.name for a in arrays})
        if dtypes not in (["float64"], ["float32"]):
            raise TypeError(f"Recorded: all arrays are float64 or all float32, not {dtypes}")
        count = {a.shape[:1] for a in arrays}
        if len(count) != 1 or () in count or (value is not None and value.ndim != 1):
            raise ShapeError(
                f"Recorded: shapes {[a.shape for a in arrays]}; the first axis of all is that of "
                "the points, and a value is one number"
            )
        for name, a in points.items():
            if a.shape != gradient[name].shape:
                raise ShapeError(
                    f"Recorded: points of {name} have shape {a.shape}, the gradients by it "
                    f"{gradient[name].shape}"
                )
        for a in arrays:
            # Rows are looked up by their bytes, which must not change.
            a.flags.writeable = False
        # The class is frozen: __setattr__ of object replaces the user's arrays by read-only copies.
        for name, arrays_of in (("points", points), ("gradient", gradient), ("value", value)):
            object.__setattr__(self, name, arrays_of)
        object.__setattr__(self, "_rows", self._numbered())

    def __repr__(self) -> str:
        some = next(iter(self.points.values()))
        return f"Recorded({len(some)} points of {', '.join(self.points)}: {some.dtype})"

    def _numbered(self) -> dict[bytes, int]:
        """Map each point to its row; refuse a point with two results."""
        rows: dict[bytes, int] = {}
        results = [*self.gradient.values(), *([] if self.value is None else [self.value])]
        for row in range(len(next(iter(self.points.values())))):
            first = rows.setdefault(_key([a[row] for a in self.points.values()]), row)
            # A point may be recorded twice, but a function has one result.
            if any(not np.array_equal(a[row], a[first], equal_nan=True) for a in results):
                raise ValueError(f"Recorded: points {first} and {row} are one, with two results")
        return rows

    def offered(
        self, forward: Expr, inputs: Sequence[Expr], at: object = None
    ) -> dict[str, object]:
        """Return the fields of a ``Candidate``.  Raises ValueError or ShapeError for other inputs.

        ``at`` is ignored: only the recorded points can be evaluated.
        """
        names = [x.name for x in inputs]
        if sorted(names) != sorted(self.points):
            raise ValueError(
                f"the table records {', '.join(self.points)}; the forward takes {', '.join(names)}"
            )
        if forward.shape:
            raise ShapeError(
                f"a table of gradients is that of a scalar function; this has shape {forward.shape}"
            )
        bound_sizes("the points of", inputs, [self.points[x.name].shape[1:] for x in inputs])
        points = {name: self.points[name] for name in names}
        name = "the recorded table"

        def row(arrays: Sequence[object]) -> int:
            by_name = dict(zip(names, arrays, strict=True))
            recorded_row = self._rows.get(_key([by_name[name] for name in self.points]))
            if recorded_row is None:
                raise LookupError(f"{name} has no point {by_name}")
            return int(recorded_row)

        def gradient(*arrays: object) -> Any:
            k = row(arrays)
            # Copies: an audit tests whether a call returns memory that later calls change.
            return one_or_all([self.gradient[name][k].copy() for name in names])

        def value(*arrays: object) -> Any:
            assert self.value is not None
            return self.value[row(arrays)].copy()

        return {
            "gradient": named(gradient, name),
            "value": None if self.value is None else named(value, name),
            "points": points,
            "name": name,
            "dtypes": (points[names[0]].dtype.name,),
        }

    def save(self, path: str | Path) -> None:
        """Write the table to a file whose name ends in ``.npz`` or ``.json``, for ``load``.

        The JSON is ``{"dtype": .., "points": {name: nested lists}, "gradient": {..}, "value":
        ..}``.  Numbers have all their digits; nan and infinities are written as in Python.  Raises
        ValueError for another ending.
        """
        path = _path(path)
        if path.suffix == ".json":
            some = next(iter(self.points.values()))
            table = {
                "dtype": some.dtype.name,
                "points": {name: a.tolist() for name, a in self.points.items()},
                "gradient": {name: a.tolist() for name, a in self.gradient.items()},
                "value": None if self.value is None else self.value.tolist(),
            }
            path.write_text(json.dumps(table))
            return
        arrays = {f"points/{name}": a for name, a in self.points.items()}
        arrays |= {f"gradient/{name}": a for name, a in self.gradient.items()}
        arrays |= {} if self.value is None else {"value": self.value}
        np.savez(path, **arrays)  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: str | Path) -> Recorded:
        """Read a table from a file in the layout of ``save``.

        Raises ValueError for a file of another kind, and the errors of the class for bad contents.
        """
        path = _path(path)
        table: dict[str, Any] = {"points": {}, "gradient": {}}
        if path.suffix == ".json":
            contents = json.loads(path.read_text())
            # JSON has no dtypes, so float32 must be restored.
            dtype = np.dtype(contents.get("dtype", "float64"))
            for part in table:
                table[part] = {n: np.array(a, dtype) for n, a in contents.get(part, {}).items()}
            if contents.get("value") is not None:
                table["value"] = np.array(contents["value"], dtype)
            return cls(**table)
        # Pickles could run code, so they are refused.
        with np.load(path, allow_pickle=False) as arrays:
            for key in arrays.files:
                part, _, name = key.partition("/")
                if part in ("points", "gradient") and name:
                    table[part][name] = arrays[key]
                elif key == "value":
                    table["value"] = arrays[key]
                else:
                    raise ValueError(
                        f"{path}: {key!r} is neither points/NAME, gradient/NAME nor value"
                    )
        return cls(**table)


def _path(path: str | Path) -> Path:
    file = Path(path)
    if file.suffix not in (".npz", ".json"):
        raise ValueError(f"{file}: the name of a table ends in .npz or .json")
    return file


def _key(arrays: Sequence[object]) -> bytes:
    """Return a point as bytes; 0.0 and -0.0 are the same point."""
    return b"".join((np.asarray(a) + 0.0).tobytes() for a in arrays)
