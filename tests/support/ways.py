"""The ways in which a lowered program may run, each for arrays of any size.

Programs choose by size: blocks of rows for thousands of elements, reused memory from 128 KB on, and
Python floats for tiny arrays with many steps.  Here a test makes the choice, and may draw any way
for arrays of a few elements.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import hypothesis.strategies as st
import numpy as np
import pytest

import numeric as nm
from numeric.lowering import costs, memory, programs
from numeric.lowering.passes import rolling, rows, unrolling
from numeric.lowering.printers.rows import RowsPrinter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numeric.lowering.function import Function
    from numeric.lowering.printers.printer import Printer


@dataclass(frozen=True)
class Way:
    """The way in which programs run, for arrays of any size; by default, without any option.

    block   the elements of the widest value in a block of rows; 0 for no blocks
    kept    whether intermediate values are computed into memory of earlier calls
    floats  whether tiny arrays are computed as Python floats
    lanes   whether scalars and elements are computed as arrays
    """

    block: int = 0
    kept: bool = False
    floats: bool = False
    lanes: bool = False

    def __call__(self, F: Function, method: str, *args: Any, times: int = 1, **named: Any) -> Any:
        """Return the results of the last of ``times`` calls of a method of F, in this way."""
        options = {"threads": F._options.threads, "exact_order": F._options.exact_order}
        outputs = F.outputs if F._many else F.outputs[0]
        with self.chosen():
            G = nm.lower(outputs, F.inputs, **options)
            for _ in range(times):
                results = flat(getattr(G, method)(*args, **named))
        return results

    @contextmanager
    def chosen(self) -> Iterator[None]:
        """Run programs this way that are written and run for the first time inside the context."""
        with pytest.MonkeyPatch.context() as patch:
            large = 1 if self.block else math.inf
            patch.setattr(costs, "LARGE", large)
            patch.setattr(costs, "HANDED", large)
            patch.setattr(costs, "BLOCK", self.block)
            patch.setattr(rows, "_LEAST", 1)
            patch.setattr(RowsPrinter, "crossing", 0)
            for module in (memory, programs):
                patch.setattr(module, "LEAST", 1 if self.kept else math.inf)
            patch.setattr(unrolling, "ELEMENTS", 64 if self.floats else 0)
            patch.setattr(unrolling, "WORTH", 0)
            patch.setattr(unrolling, "_GAIN", math.inf)
            if self.lanes:
                patch.setattr(rolling, "LEAST", 1)
                patch.setattr(rolling, "LONG", 5)
                patch.setattr(rolling, "_GAIN", math.inf)
                for name in ("FLOATS", "ARRAYS"):
                    patch.setattr(costs, name, _Free(1, 1))
            else:
                patch.setattr(rolling, "LEAST", math.inf)
            yield


def leave_out(patch: pytest.MonkeyPatch, printer: type[Printer], *names: str) -> None:
    """Let a printer's pipeline be without the passes of these names."""
    left = tuple([step for step in printer.pipeline if step.name not in names])
    assert len(left) == len(printer.pipeline) - len(names)
    patch.setattr(printer, "pipeline", left)


class _Free(costs.Costs):
    """Costs by which groups of two are worthwhile."""

    least = 2

    def of_groups(self, *_: Any) -> float:
        return 0


PLAIN = Way()
"""No blocks, no memory, no floats, no lanes."""


def ways(*, rounding: bool = False) -> st.SearchStrategy[Way]:
    """Draw ways with the bits of PLAIN; with ``rounding``, also ways that split sums."""
    block = st.sampled_from([1, 2, 3, 4, 5, 7, 12, 0])
    keep = st.sampled_from([True, True, False])
    if not rounding:
        return st.builds(Way, block=block, kept=keep)
    return st.builds(Way, block=block, kept=keep, floats=st.booleans(), lanes=st.booleans())


def flat(value: Any) -> list[Any]:
    """Return the arrays in nested tuples and lists; None stays."""
    if isinstance(value, tuple | list):
        return [a for v in value for a in flat(v)]
    return [value if value is None else np.asarray(value)]


def same_bits(actual: Any, expected: Any, what: object = "") -> None:
    """Assert that arrays are equal in shape, dtype and values, with the signs of zeros.

    The payload of a nan does not matter.
    """
    actual, expected = flat(actual), flat(expected)
    assert len(actual) == len(expected), what
    for a, b in zip(actual, expected, strict=True):
        if a is None or b is None:
            assert a is b, what
            continue
        assert (a.shape, a.dtype) == (b.shape, b.dtype), what
        assert np.array_equal(a, b, equal_nan=True), f"{what}: {a}, expected {b}"
        if a.dtype.kind == "f":
            signs = [np.signbit(x) & ~np.isnan(x) for x in (a, b)]
            assert np.array_equal(*signs), f"{what}: {a}, expected {b}"


# The layouts of arguments in memory --------------------------------------------------------------


def _spread(a: Any) -> Any:
    """Return every other element of a larger array."""
    room = np.full([2 * n for n in a.shape], 9, a.dtype)
    spread = room[(..., *[slice(None, None, 2)] * a.ndim)]
    spread[...] = a
    return spread


def _backwards(a: Any) -> Any:
    turned = (..., *[slice(None, None, -1)] * a.ndim)
    return a[turned].copy()[turned]


def _unwriteable(a: Any) -> Any:
    a = a.copy()
    a.flags.writeable = False
    return a


def _unaligned(a: Any) -> Any:
    room = np.zeros(a.nbytes + 1, np.uint8)[1:]
    moved = room.view(a.dtype).reshape(a.shape)
    moved[...] = a
    return moved


LAYOUTS = {
    "contiguous": lambda a: a,
    "by columns": lambda a: np.array(a, order="F"),
    "spread": _spread,
    "backwards": _backwards,
    "read-only": _unwriteable,
    "unaligned": _unaligned,
    "stretched": lambda a: np.broadcast_to(a, (2, *a.shape))[0],
}
