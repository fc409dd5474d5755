"""Sums of unslices in one array: every bit is that of the sum of whole arrays with zeros."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numeric as nm
import symdiff as sd
from numeric.lowering import costs, kinds
from numeric.lowering.passes import rows
from numeric.lowering.passes.padding import edges, join_padded_terms
from numeric.lowering.schedule import schedule
from tests.support.budget import sample

VALUES = [0.0, -0.0, 1.0, -1.5, 1e300, 0.1, 0.7, np.inf, np.nan]
LENGTH = 13


def same_bits(a, b):
    """Whether values, signs of zeros, places of nan, and dtypes are equal."""
    return (
        a.dtype == b.dtype
        and np.array_equal(a, b, equal_nan=True)
        and np.array_equal(np.signbit(a) | np.isnan(a), np.signbit(b) | np.isnan(b))
    )


def unsliced(lengths, keys, dtypes=None, after=False):
    """A sum of arrays at keys, as the gradient by what is sliced there, and the arrays' symbols."""
    x = sd.symbol("x", lengths)
    parts = [sd.symbol(f"c{k}", x[key].shape) for k, key in enumerate(keys)]
    terms = [sd.sum(x[key] * c) for key, c in zip(keys, parts, strict=True)]
    (total,) = sd.grad(sum(terms[1:], terms[0]), [x])
    return total + sd.sin(x) if after else total, ([x] if after else []) + parts


@st.composite
def sums(draw):
    """Sums of up to four arrays in up to two axes, and values for them."""
    ndim = draw(st.integers(1, 2))
    lengths = [draw(st.sampled_from(["n", "m", LENGTH])) for _ in range(ndim)]
    near = st.integers(0, 3)
    keys = [
        tuple([slice(draw(near), -draw(near) or None) for _ in lengths])
        for _ in range(draw(st.integers(2, 4)))
    ]
    after = draw(st.booleans())
    total, inputs = unsliced(tuple(lengths), keys, after=after)
    sizes = {"n": LENGTH, "m": draw(st.integers(6, LENGTH))}
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    arrays = []
    for v in inputs:
        shape = tuple([sizes.get(str(d), d) for d in _lengths(v.shape, sizes)])
        dtype = draw(st.sampled_from([np.float64, np.float64, np.float32]))
        with np.errstate(over="ignore"):
            arrays.append(rng.choice(VALUES, size=shape).astype(dtype))
    return total, inputs, arrays


def _lengths(shape, sizes):
    return [d if isinstance(d, int) else eval_length(d, sizes) for d in shape]


def eval_length(length, sizes):
    """A length as n - 3 is."""
    name, _, less = str(length).partition(" - ")
    return sizes[name] - int(less or 0)


@pytest.mark.parametrize(
    ("widths", "edge"),
    [
        ([((0, 1),), ((1, 0),)], 0),
        ([((1, 0),), ((0, 1),)], -1),
        ([((0, 2),), ((2, 0),)], slice(0, 2)),
        ([((2, 0),), ((0, 2),)], slice(-2, None)),
    ],
)
def test_one_element_is_asked_for_by_its_place(widths, edge):
    """Adding 0 to an array of one element takes as long as adding up a thousand."""
    assert edges(widths) == [(edge,)]


@pytest.mark.slow
@pytest.mark.numpy_only("its bits")
@sample(150)
@given(sums())
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_sum_is_that_of_whole_arrays(given):
    total, inputs, arrays = given
    expected = nm.interpret(total, dict(zip(inputs, arrays, strict=True)))
    assert same_bits(nm.lower(total, inputs)(*arrays), expected)


@pytest.mark.numpy_only("its bits")
@sample(150)
@given(
    st.lists(st.integers(0, 5), min_size=2, max_size=4),
    st.sampled_from([8, 4, 3, 2]),
    st.integers(0, 2),
    st.integers(1, 9),
    st.integers(0, 1000),
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_sum_in_blocks_is_that_of_whole_arrays(starts, count, axis, block, seed):
    """Also with blocks that are shorter than what they share, and fewer rows, on two threads."""
    lengths = ["n" if k == axis else 2 for k in range(axis + 1)]
    keys = [(*[slice(None)] * axis, slice(low, low + count - LENGTH or None)) for low in starts]
    total, inputs = unsliced(tuple(lengths), keys)
    joint = {c: sd.cos(c) * sd.sin(inputs[0]) for c in inputs}
    total = sd.substitute(total, joint)
    rng = np.random.default_rng(seed)
    arrays = [rng.choice(VALUES, size=(2,) * axis + (count,)) for _ in inputs]
    expected = nm.interpret(total, dict(zip(inputs, arrays, strict=True)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(costs, "BLOCK", block)
        patch.setattr(costs, "LARGE", 1)
        patch.setattr(rows, "_LEAST", 3)
        for threads in (1, 2):
            F = nm.lower(total, inputs, threads=threads)
            assert same_bits(F(*arrays), expected)
            assert "placed(" not in F.source or len(set(starts)) < 2, F.source


def test_what_slices_read_comes_back_in_one_array():
    """Steps are counted: one of pads, and no unslice."""
    x = sd.symbol("x", "n")
    f = sd.sum(sd.sin(x[2:] - 2 * x[1:-1] + x[:-2]))
    steps = schedule(sd.grad(f, [x]), [x])
    found = join_padded_terms(steps, [False] * steps.length)
    assert [step.op.name for step in steps.steps].count("unslice") == 3
    assert "unslice" not in [step.op.name for step in found.steps]
    (pads,) = [step for step in found.steps if isinstance(step.kind, kinds.Pads)]
    assert pads.kind.widths == (((0, 2),), ((1, 1),), ((2, 0),))


@pytest.mark.numpy_only("its bits")
def test_a_kernel_over_rows_writes_its_part_of_the_sum(monkeypatch):
    """What it returns is the gradient, and no array that has to be added to another one."""
    monkeypatch.setattr(costs, "LARGE", 1)
    monkeypatch.setattr(rows, "_LEAST", 3)
    x = sd.symbol("x", "n")
    F = nm.lower(sd.sum((x[1:] - x[:-1] ** 2) ** 2 + sd.cos(x[:-1])), [x])
    F.value_and_grad(np.ones(100))
    assert "v2, v3 = rows_1(v1[:-1], v1[1:], sizes)" in F.source
    assert "unslice(" not in F.source
    assert "placed(" not in F.source


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ((np.s_[::2], np.s_[1::2]), "steps of 2"),
        ((np.s_[0], np.s_[1:]), "an element, whose distance from the end nobody knows"),
        ((np.s_[-2:], np.s_[1:]), "the last two, whose distance from the start nobody knows"),
    ],
)
def test_other_slices_stay_sums_of_whole_arrays(keys, why):
    total, inputs = unsliced(("n",), keys)
    steps = schedule([total], inputs)
    assert join_padded_terms(steps, [False] * steps.length) is steps, why


def test_an_unslice_that_others_read_is_whole():
    x, c, d = sd.symbol("x", 5), sd.symbol("c", 4), sd.symbol("d", 4)
    (first,) = sd.grad(sd.sum(x[1:] * c), [x])
    (second,) = sd.grad(sd.sum(x[:-1] * d), [x])
    steps = schedule([first + second, sd.sin(first)], [c, d])
    assert join_padded_terms(steps, [False] * steps.length) is steps


def test_a_zero_is_negative_where_all_operands_are():
    """Where an operand has no element, +0 is added, as in the sum of whole arrays."""
    total, (c, d) = unsliced((3,), (np.s_[:-1], np.s_[1:]))
    found = nm.lower(total, [c, d])(np.array([-0.0, -0.0]), np.array([-0.0, -0.0]))
    assert np.signbit(found).tolist() == [False, True, False]
