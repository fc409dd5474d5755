"""Indexing against NumPy's, by random keys, and what it refuses."""

from __future__ import annotations

import contextlib

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import numeric.lowering.reference
import symdiff as sd

run = numeric.lowering.reference.interpret


@st.composite
def keys(draw):
    """A shape and a key for it, with entries of every kind in any mixture."""
    shape = tuple(draw(st.lists(st.integers(0, 3), min_size=0, max_size=4)))
    block = draw(st.sampled_from([(), (1,), (2,), (2, 1), (0,)]))
    entries, axis = [], 0
    while axis < len(shape) or draw(st.booleans()):
        kind = draw(st.sampled_from(["slice", "int", "array", "mask", "new", "dots", "end"]))
        n = shape[axis] if axis < len(shape) else None
        if kind == "new":
            entries.append(None)
        elif kind == "dots" and Ellipsis not in [
            e for e in entries if not isinstance(e, np.ndarray)
        ]:
            entries.append(Ellipsis)
            skip = draw(st.integers(0, len(shape) - axis))
            axis += skip
            if axis == len(shape):
                break
        elif n is None or kind == "end":
            break
        elif kind == "slice":
            bound = st.none() | st.integers(-4, 4)
            step = draw(st.none() | st.sampled_from([-3, -2, -1, 1, 2]))
            entries.append(slice(draw(bound), draw(bound), step))
            axis += 1
        elif kind == "int" and n:
            entries.append(draw(st.integers(-n, n - 1)))
            axis += 1
        elif kind == "array" and (n or 0 in block):
            places = st.integers(-n, n - 1) if n else st.just(0)
            count = int(np.prod(block))
            flat = draw(st.lists(places, min_size=count, max_size=count))
            entries.append(np.array(flat, dtype=int).reshape(block))
            axis += 1
        elif kind == "mask":
            width = draw(st.integers(1, min(2, len(shape) - axis)))
            sizes = shape[axis : axis + width]
            count = int(np.prod(sizes))
            flat = draw(st.lists(st.booleans(), min_size=count, max_size=count))
            entries.append(np.array(flat, dtype=bool).reshape(sizes))
            axis += width
    return shape, tuple(entries)


@given(keys())
def test_indexing_is_numpys(case):
    shape, key = case
    a = np.arange(float(np.prod(shape))).reshape(shape)
    x = sd.symbol("x", shape)
    try:
        expected = a[key]
    except IndexError:
        with pytest.raises(IndexError):
            x[key]
        return
    masks = [k for k in key if isinstance(k, np.ndarray) and k.dtype == bool]
    if expected.size == 0 and any(0 in mask.shape for mask in masks) and 0 in shape:
        # NumPy lets an empty mask of a wrong shape index an empty array; here it is refused.
        with contextlib.suppress(IndexError):
            assert x[key].shape == expected.shape
        return
    y = x[key]
    assert y.shape == expected.shape
    np.testing.assert_array_equal(run(y, {x: a}), expected)


# Keys for symbols of two named axes, those of `KEYS` for symbols of numbered ones.
SYMBOLIC_KEYS = [
    (0,),
    (-1,),
    (-2,),
    (3,),
    (slice(None), 1),
    (slice(None, None, -1),),
    (Ellipsis, slice(None, None, -1)),
    (slice(None), [0, 2, 2]),
    ([0, -1, 1],),
    (0, [1]),
    (slice(1, None), [1, 0], [0, -1]),
    ([0, -1], None, slice(1, None), 1),
    (slice(-1), 1, [[0], [-2]]),
    ([1, 0], slice(None, None, -1), [[0], [-1]]),
    (slice(None), [[0], [1]], None),
    (slice(0, None, 1), slice(1, None), -1),
    (slice(None), np.array([True, False, True])),
]
KEYS = [
    0,
    -1,
    slice(1, None),
    [0, 2],
    np.array([[0, 1], [2, 2]]),
    np.array([True, False, True]),
    (slice(None), 1),
    (Ellipsis, 0),
    (0, 1, 2),
    (None, Ellipsis, None),
    ([0, 2], slice(None), [1, 1]),
    (0, slice(None), [1, 1]),
    (slice(None), [0, 1], 2),
    (slice(None), np.zeros((4, 5), bool)),
    (slice(None, None, -1), slice(3, None, -2), slice(0, 0)),
    (np.int64(1), np.array(2)),
    [],
    (),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize("dtype", [float, int, bool])
def test_keys_of_each_kind_keep_the_dtype(key, dtype):
    a = (np.arange(60).reshape(3, 4, 5) % 7).astype(dtype)
    x = sd.symbol("x", a.shape, dtype)
    y = x[key]
    expected = a[key]
    assert y.dtype is dtype
    assert y.shape == np.shape(expected)
    np.testing.assert_array_equal(run(y, {x: a}), expected)


V, X = sd.symbol("x", 3), sd.symbol("x", (3, 4))
SPELLINGS = [
    *((key, X) for key in (X[:], X[...], X[0:3], X[:, ::1], X[::-1][::-1])),
    (X[1], X[-2]),
    (X[1:2], X[1:-1]),
    (X[::-1], sd.flip(X, 0)),
    (X[:, 1:3], X[0:99, 1:3:1]),
    (sd.ones((3, 4))[1:, [0, 0]], sd.ones((2, 2))),
    (X.T[::-1, ::-1], sd.flip(X.T)),
    (V[sd.constant(np.array([0, 1]))], V[[0, 1]]),
    (V[sd.constant(1)], V[1]),
    ([*V][2], V[2]),
]


@pytest.mark.parametrize(("found", "wanted"), SPELLINGS, ids=str)
def test_one_index_has_one_spelling(found, wanted):
    assert found is wanted


@pytest.mark.parametrize("key", SYMBOLIC_KEYS, ids=str)
def test_symbolic_axes_take_what_has_a_length(key):
    Y, a = sd.symbol("Y", ("n", 3, "k")), np.arange(24.0).reshape(4, 3, 2)
    np.testing.assert_array_equal(run(Y[key], {Y: a}), a[key])


Y, zeros = sd.symbol("Y", ("n", 3, "k")), np.zeros(2)
REFUSED = [
    *(
        (IndexError, message, lambda key=key: X[key])
        for key, message in (
            (3, "index 3 is out of bounds for axis 0 of length 3"),
            ((0, -5), "index -5 is out of bounds for axis 1 of length 4"),
            ((slice(None), [0, 4]), "index 4 is out of bounds for axis 1 of length 4"),
            ((0, 0, 0), "3 indices for shape"),
            ((Ellipsis, Ellipsis), "at most one Ellipsis"),
            (np.zeros(4, bool), "a mask of length 4 for axis 0 of length 3"),
            (1.5, "neither an integer"),
            ("a", "neither an integer"),
            (([0, 1], [0, 1, 2]), "do not broadcast"),
        )
    ),
    *(
        (
            TypeError,
            r"getitem: a slice takes integers, .* got ('a'|1\.5)",
            lambda x=x, key=key: x[key],
        )
        for x in (X, sd.symbol("w", "n"))
        for key in (slice("a", None), slice(None, 1.5), slice(None, None, "a"))
    ),
    *((sd.Unsupported, "getitem", lambda key=key: V[key]) for key in ((0, V > 0), True)),
    (TypeError, "not a mask", lambda: sd.take(zeros, np.array([True, False]))),
    (IndexError, "out of bounds", lambda: sd.take(zeros, [2])),
    (IndexError, "take: axis 1", lambda: sd.take(zeros, [0], axis=1)),
    (sd.ShapeError, "no 2 equal parts", lambda: sd.split(np.zeros(3), 2)),
    (sd.ShapeError, "no 0 equal parts", lambda: sd.split(sd.symbol("x", "n"), 0)),
]


@pytest.mark.parametrize(("error", "message", "call"), REFUSED)
def test_what_is_refused(error, message, call):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    ("found", "shape"),
    [
        (V[sd.symbol("k", (), int)], ()),
        (Y[:, [0, 2, 2]], ("n", 3, "k")),
        (sd.split(np.zeros(0), 2)[1], (0,)),
    ],
)
def test_shapes(found, shape):
    assert found.shape == shape


def test_an_array_of_one_number_is_an_array_of_indices():
    x = sd.symbol("x", 4)
    ones, data = sd.full((2,), 1), np.array([1.0, 2, 3, 4])
    for f in (x[ones], sd.take(x, ones)):
        assert numeric.lower(f, [x])(data).tolist() == [2, 2]
    assert numeric.lower(sd.index_add(x, ones, 1), [x])(data).tolist() == [1, 4, 3, 4]
    assert x[sd.constant(1)] is x[1]


# take and split ---------------------------------------------------------------------------------


@pytest.mark.parametrize("indices", [1, [0, 2, -1], np.array([[0, 1]]), []])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_take_is_numpys(indices, axis):
    a = np.arange(12.0).reshape(3, 4)
    x = sd.symbol("x", (3, 4))
    expected = np.take(a, np.asarray(indices, dtype=int), axis)
    y = sd.take(x, indices, axis=axis)
    np.testing.assert_array_equal(run(y, {x: a}), expected)
    assert y.shape == expected.shape


@pytest.mark.parametrize("parts", [1, 2, 6, [2], [1, 3, 3], [4, 9], [], [-1]])
@pytest.mark.parametrize("axis", [0, -1])
def test_split_is_numpys(parts, axis):
    a = np.arange(36.0).reshape(6, 6)
    x = sd.symbol("x", (6, 6))
    mine, expected = sd.split(x, parts, axis=axis), np.split(a, parts, axis)
    assert len(mine) == len(expected)
    for y, b in zip(mine, expected, strict=True):
        np.testing.assert_array_equal(run(y, {x: a}), b)
        assert y.shape == b.shape


def test_a_column_of_no_rows_that_were_repeated_never():
    """A reshape of nothing to nothing, of which one place along an axis is taken."""
    a = sd.symbol("A", (0, 3))
    assert np.repeat(a, 0, axis=0)[:, 2].shape == (0,)
