"""Side effects and assumptions of a call: state, shared memory, layouts, other shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import symdiff as sd
from numeric.check import exact
from numeric.check.judging import MOST_ROUNDINGS
from numeric.check.probes import Exhausted, Misshapen, Probe
from numeric.lowering.reference import interpret

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numeric.check.exact import Quantity
    from numeric.check.settings import Setting
    from symdiff.graph.expr import Expr


def look(probe: Probe, drawn: Mapping[str, np.ndarray], unit: float) -> None:
    """Call at a few of the ordinary points ``drawn``, and note faults in the probe.

    ``unit`` is G, the usual size of a component.  Raises RuntimeError if the call raises.
    """
    count = len(next(iter(drawn.values())))
    if not count:
        return
    # Three points are enough to show kept state, and leave the budget to the comparison.
    rows = [{name: x[k] for name, x in drawn.items()} for k in range(min(3, count))]
    first = probe(rows[0])
    if probe.raised is not None:
        raise RuntimeError(
            f"audit: {probe.name} raised {type(probe.raised).__name__} at an ordinary point: "
            f"{probe.raised}"
        ) from probe.raised
    allowed = MOST_ROUNDINGS * float(np.finfo(drawn[probe.quantity.symbols[0].name].dtype).eps)

    def same(a: np.ndarray, b: np.ndarray) -> bool:
        return np.allclose(a, b, allowed, allowed * unit, equal_nan=True)

    returned = probe.returned
    copies = [np.array(y) for y in returned]
    # The array that the first call returned must not change in later calls.
    for row in rows[1:]:
        probe(row)
    for i, (a, b) in enumerate(zip(returned, copies, strict=True)):
        if a is not None and not np.array_equal(a, b, equal_nan=True):
            why = "a later call overwrites the array that an earlier one returned"
            probe.note("mutation", why, rows[0], i)
    # Other points came between, so a result that changed depends on earlier calls.
    for i, (a, b) in enumerate(zip(first, probe(rows[0]), strict=True)):
        if not same(a, b):
            why = "the same call gives another result later: it keeps state between calls"
            probe.note("accumulation", why, rows[0], i, b)
            return
    # Code that reads an array's memory directly is wrong for other strides.
    for name, arranged in _LAYOUTS.items():
        for i, (a, b) in enumerate(zip(first, probe(rows[0], arranged), strict=True)):
            if not same(a, b):
                probe.note("other", f"for {name} arrays it gives something else", rows[0], i, b)


# Layouts ------------------------------------------------------------------------------------------


def _strided(x: np.ndarray) -> np.ndarray:
    # The same values with a gap after each, so that the last stride is two items.
    return np.repeat(x, 2, axis=-1)[..., ::2] if x.ndim else x.copy()


def _reversed(x: np.ndarray) -> np.ndarray:
    turned = tuple(slice(None, None, -1) for _ in range(x.ndim))
    return np.array(x[turned], order="C")[turned] if x.ndim else x.copy()


_LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "Fortran-ordered": lambda x: np.array(x, order="F"),
    "strided": _strided,
    "reversed": _reversed,
}


# Shapes -------------------------------------------------------------------------------------------


def other_shapes(
    probe: Probe, setting: Setting, notes: list[str], rng: np.random.Generator
) -> Iterator[Probe]:
    """Yield probes of the same call with axes of length 1 and 0, if it serves other lengths at all.

    A call that fails for one element more serves its own shape alone.  A call that raises for
    length 1 does not serve it.  Faults without elements go to ``notes``, because few callers would
    agree on a right result.
    """
    own = {x.name: tuple(map(int, x.shape)) for x in setting.symbols}
    for length in sorted({n for shape in own.values() for n in shape if n > 1}):
        for other in (length + 1, 1, 0):  # the longer axis first: it shows whether lengths may vary
            shapes = {k: tuple(other if n == length else n for n in s) for k, s in own.items()}
            quantity = _quantity(probe.quantity.name, setting, shapes)
            if quantity is None:
                break
            other_probe = Probe(probe.call, quantity, probe.name, probe.budget)
            served = _served(other_probe, rng)
            if other == 1:
                yield other_probe
            elif not other and not served:
                how = "raises" if served is None else "is wrong"
                notes.append(f"{probe.name} {how} for axes of length 0 in place of {length}")
            elif not served:
                break


def _quantity(
    name: str, setting: Setting, shapes: Mapping[str, tuple[int, ...]]
) -> Quantity | None:
    """Return the quantity for inputs of other shapes; None where the formula has no value."""
    assert setting.traced is not None
    symbols = [sd.symbol(k, shape) for k, shape in shapes.items()]
    try:
        forward = setting.traced(symbols)
        return exact.quantity(name, forward, symbols, symbols)
    except (TypeError, ValueError, sd.Unsupported, IndexError, ArithmeticError):
        return None


def _served(probe: Probe, rng: np.random.Generator) -> bool | None:
    """Whether the call is right at ordinary points, with faults noted; None if it raises."""
    symbols: Sequence[Expr] = probe.quantity.symbols
    for _ in range(3):
        point = {x.name: rng.uniform(0.1, 1, tuple(map(int, x.shape))) for x in symbols}
        try:
            expected = interpret(list(probe.quantity.outputs), point)
        except (ArithmeticError, ValueError):
            return None
        try:
            got = probe(point)
        except Misshapen:
            return False
        # Without budget left, no fault is known.
        except Exhausted:
            return True
        except Exception:
            return None
        if probe.raised is not None:
            return None
        for i, (g, e) in enumerate(zip(got, expected, strict=True)):
            if np.isfinite(e).all() and not np.allclose(g, e, 1e-8, 1e-8):
                shapes = ", ".join(f"{x.name} {tuple(map(int, x.shape))}" for x in symbols)
                probe.note("broadcast", f"it is wrong for the shapes {shapes}", point, i, g)
                return False
    return True
