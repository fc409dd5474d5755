"""Random programs over axes of any length: one Function at many lengths, beside known lengths.

Inputs are small integers and every step is exact in floating point: values and derivatives are
bitwise those of the program built with numbers for lengths, however either one associates its
sums; values are NumPy's, too.  (A zero has one sign here: -0.0 equals 0.0.)
"""

from __future__ import annotations

import contextlib
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view

import numeric as nm
import symdiff as sd
from symdiff.errors import ShapeError, Unsupported

SIZES = [(0, 0), (0, 2), (1, 1), (1, 3), (2, 0), (2, 2), (3, 1), (5, 2), (5, 5), (4, 7)]
NAMED = sd.symbol("v", "n"), sd.symbol("A", ("n", "m")), sd.symbol("w", "m")
# Beyond this a sum of products may be rounded, in a derivative sooner than in the value.
LARGEST = 2.0**17
# What the two sides raise where a program has no value.
REFUSED = (ShapeError, ValueError, IndexError)


class Step(NamedTuple):
    """One operation: its name, the values it takes (counted from the last), its parameters."""

    name: str
    of: tuple[int, ...]
    parameters: tuple[Any, ...]


def along(x, axis, part):
    return x[(slice(None),) * axis + (part,)]


def is_inside(part, length):
    """Whether a slice of an axis is as long as it says: NumPy cuts nothing off."""
    step = part.step or 1
    first, last = (0, length) if step > 0 else (length - 1, -1)
    start, stop = (
        end if place is None else place + length if place < 0 else place
        for place, end in ((part.start, first), (part.stop, last))
    )
    low, high = (start, stop) if step > 0 else (stop + 1, start + 1)
    return 0 <= low <= high <= length


def is_padded(mode, widths, length):
    most = {"constant": length + 9, "edge": 9 * length, "reflect": length - 1}.get(mode, length)
    return max(widths) <= max(most, 0)


def convolved(x, c, mode):
    """Of no elements, which NumPy refuses, the zeros around them."""
    if x.shape == (0,) and mode == "full":
        return np.pad(x, (len(c) - 1, 0))
    return np.convolve(x, c, mode)


def raveled(x):
    return np.ravel(x).shape[0]


# What a step makes, and whether NumPy does exactly what it says for operands of these lengths:
# where it does not, it cuts slices off, turns rolls round, or pads with what is padded.
OPS = {
    "slice": (
        lambda x, k, part: along(x, k % x.ndim, part),
        lambda x, k, part: is_inside(part, x.shape[k % x.ndim]),
    ),
    "element": (lambda x, k, i: along(x, k % x.ndim, i), None),
    "diff": (
        lambda x, k, n: np.diff(x, n=n, axis=k % x.ndim),
        lambda x, k, n: n <= x.shape[k % x.ndim],
    ),
    "pad": (
        lambda x, k, widths, mode: np.pad(
            x, [widths if i == k % x.ndim else (0, 0) for i in range(x.ndim)], mode=mode
        ),
        lambda x, k, widths, mode: is_padded(mode, widths, x.shape[k % x.ndim]),
    ),
    "pad with 3": (lambda x, widths: np.pad(x, widths, constant_values=3.0), None),
    "roll": (
        lambda x, k, by: np.roll(x, by, k % x.ndim),
        lambda x, k, by: abs(by) <= x.shape[k % x.ndim],
    ),
    "roll all": (lambda x, by: np.roll(x, by), lambda x, by: abs(by) <= raveled(x)),
    "repeat": (lambda x, k, by: np.repeat(x, by, axis=k % x.ndim), None),
    "tile": (lambda x, by: np.tile(x, by), None),
    "ravel": (lambda x: np.ravel(x), None),
    "columns": (lambda x, by: np.reshape(x, (-1, by)), None),
    "rows": (lambda x, by: np.reshape(x, (by, -1)), None),
    "other rows": (lambda x: np.reshape(x, x.shape[::-1]), None),
    "windows": (lambda x, k, by: sliding_window_view(x, by, axis=k % x.ndim), None),
    "convolve": (
        lambda x, c, mode: convolved(x, np.array(c), mode),
        lambda x, c, mode: mode == "full" or len(c) <= len(x),
    ),
    "diag": (lambda x, k: np.diag(x, k), None),
    "diagonal": (
        lambda x, k: np.diagonal(np.outer(x, x), k),
        lambda x, k: abs(k) <= raveled(x),
    ),
    "tril": (lambda x, k: np.tril(x, k), None),
    "flip": (lambda x, k: np.flip(x, k % x.ndim), None),
    "transpose": (lambda x: x.T, None),
    "sum": (lambda x, k, keepdims: np.sum(x, axis=k % x.ndim, keepdims=keepdims), None),
    "sum all": (lambda x: np.sum(x), None),
    "cumsum": (lambda x, k: np.cumsum(x, axis=k % x.ndim), None),
    "max": (lambda x, k: np.max(x, axis=k % x.ndim), None),
    "sort": (lambda x, k: np.sort(x, axis=k % x.ndim), None),
    "median": (lambda x: np.median(x, axis=-1), None),
    "trapezoid": (lambda x: np.trapezoid(x), lambda x: x.shape[-1] > 0),
    "split": (
        lambda x, k, at: np.split(x, [at], axis=k % x.ndim)[1],
        lambda x, k, at: at <= x.shape[k % x.ndim],
    ),
    "abs": (lambda x: np.abs(x), None),
    "square": (lambda x: x * x, None),
    "negated": (lambda x: 1 - x, None),
    "positive part": (lambda x: np.maximum(x, 0), None),
    "times its length": (lambda x, k: x * (x.shape[k % x.ndim] - 2), None),
    "add": (lambda x, y: x + y, None),
    "multiply": (lambda x, y: x * y, None),
    "minimum": (lambda x, y: np.minimum(x, y), None),
    "where": (lambda x, y: np.where(x > y, x - 1, 2 * y), None),
    "concat": (lambda x, y, k: np.concatenate([x, y], axis=k % x.ndim), None),
    "concat with ones": (lambda x: np.concatenate([x, np.ones(2), x]), None),
    "hstack": (lambda x, y: np.hstack([x, y]), None),
    "stack": (lambda x, y: np.stack([x, y], axis=-1), None),
    "kron": (lambda x, y: np.kron(x, y), None),
    "outer": (lambda x, y: np.outer(x, y), None),
    "matmul": (lambda x, y: x @ y, None),
    "matmul of the transpose": (lambda x, y: x.T @ y, None),
}  # fmt: skip

_places = st.none() | st.integers(-3, 3)
_widths = st.tuples(st.integers(0, 2), st.integers(0, 2))
_axis = st.integers(0, 1)
PARAMETERS = {
    "slice": (_axis, st.builds(slice, _places, _places, st.sampled_from((1, 1, 2, 3, -1, -2)))),
    "element": (_axis, st.integers(-2, 2)),
    "diff": (_axis, st.integers(1, 2)),
    "pad": (
        _axis,
        _widths,
        st.sampled_from(("constant", "edge", "reflect", "symmetric", "wrap")),
    ),
    "pad with 3": (_widths,),
    "roll": (_axis, st.integers(-2, 2)),
    "roll all": (st.integers(-2, 2),),
    "repeat": (_axis, st.integers(0, 3)),
    "tile": (st.sampled_from((2, (2, 1), (1, 3))),),
    "columns": (st.integers(1, 3),),
    "rows": (st.integers(1, 3),),
    "windows": (_axis, st.integers(1, 3)),
    "convolve": (
        st.sampled_from(((1.0, -2.0), (1.0, 0.0, 3.0))),
        st.sampled_from(("full", "same", "valid")),
    ),
    "diag": (st.integers(-2, 2),),
    "diagonal": (st.integers(-2, 2),),
    "tril": (st.integers(-1, 1),),
    "flip": (_axis,),
    "sum": (_axis, st.booleans()),
    "cumsum": (_axis,),
    "max": (_axis,),
    "sort": (_axis,),
    "split": (_axis, st.integers(0, 2)),
    "times its length": (_axis,),
    "concat": (_axis,),
}
BINARY = {
    "add", "multiply", "minimum", "where", "concat", "hstack", "stack", "kron", "outer", "matmul",
    "matmul of the transpose",
}  # fmt: skip
MOST = 9


def applied(step, values):
    return OPS[step.name][0](*(values[-1 - i] for i in step.of), *step.parameters)


@st.composite
def programs(draw):
    """Steps that the three symbols have, and what they make of them."""
    steps, values = [], [*NAMED]
    for _ in range(draw(st.integers(1, MOST))):
        name = draw(st.sampled_from(list(OPS)))
        taken = st.integers(0, len(values) - 1)
        of = tuple(draw(taken) for _ in range(2 if name in BINARY else 1))
        step = Step(name, of, tuple(map(draw, PARAMETERS.get(name, ()))))
        if not all(values[-1 - i].ndim in (1, 2) for i in of):
            continue
        try:
            y = applied(step, values)
        except (Unsupported, *REFUSED):  # no step of operands like these
            continue
        if y.ndim <= 3:
            steps.append(step)
            values.append(y)
    assume(steps)
    return steps, values


def run(steps, inputs):
    """All values, and the steps that NumPy does in another way than it is written."""
    values, bent = list(inputs), []
    for step in steps:
        is_plain = OPS[step.name][1]
        if is_plain and not is_plain(*(values[-1 - i] for i in step.of), *step.parameters):
            bent.append(step)
        values.append(applied(step, values))
    return values, bent


def data(n, m):
    r = np.random.default_rng(100 * n + m)
    return [r.integers(-4, 5, shape).astype(float) for shape in ((n,), (n, m), (m,))]


def with_derivatives(values, symbols):
    """What is computed: every value, gradients of a sum of all, and a product of a Hessian."""
    loss = sum((sd.sum(y * (k + 1)) for k, y in enumerate(values)), start=sd.sum(values[-1] ** 2))
    first = sd.grad(loss, symbols)
    second = sd.grad(sum(sd.sum(g) for g in first), symbols)
    return [*values, *first, *second]


def same(found, wanted):
    for x, y in zip(found, wanted, strict=True):
        assert np.shape(x) == np.shape(y)
        np.testing.assert_array_equal(x, y)


@given(programs())
def test_a_program_at_every_length_is_that_of_numbers(program):
    steps, values = program
    named = nm.lower(with_derivatives(values, NAMED), NAMED)
    last = nm.lower(values[-1], NAMED)  # where checks of the steps before it may be lost
    for n, m in SIZES:
        arrays = data(n, m)
        known = [sd.symbol(x.name, a.shape) for x, a in zip(NAMED, arrays, strict=True)]
        try:
            want, bent = run(steps, known)
        except REFUSED:
            with pytest.raises(REFUSED):
                named(*arrays)
            continue
        with contextlib.suppress(*REFUSED):
            same([last(*arrays)], [nm.lower(want[-1], known)(*arrays)])
        try:
            found = named(*arrays)
        except REFUSED:
            if not bent:  # every slice fits, so that there is a value
                raise
            continue
        wanted = nm.lower(with_derivatives(want, known), known)(*arrays)
        if all(np.all(np.abs(x) < LARGEST) for x in wanted):
            same(found, wanted)
            same(found[: len(values)], run(steps, arrays)[0])
