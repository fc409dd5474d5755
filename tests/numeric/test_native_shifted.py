"""Sums of shifted results in machine code: one array, in which every bit is NumPy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numeric as nm
import symdiff as sd
from numeric.lowering import costs, programs
from numeric.lowering.native import kernels as native
from numeric.lowering.native.loops import LANES
from numeric.lowering.passes import rows
from tests.numeric.test_passes_pads import VALUES, same_bits, unsliced
from tests.support.budget import sample


@pytest.fixture(autouse=True)
def kernels_of_few_rows(monkeypatch):
    monkeypatch.setattr(rows, "_LEAST", 3)
    monkeypatch.setattr(programs, "NATIVE_LEAST", 1)
    monkeypatch.setattr(native, "_LEAST", LANES)


@pytest.fixture
def alone(monkeypatch):
    """NumPy puts nothing together."""

    def refused(*_):
        raise AssertionError("parts were added by NumPy")

    monkeypatch.setattr(native.NativeRows, "_together", refused)


def shifted(starts, axis=0, behind=0):
    """A sum of arrays at other starts along an axis, made of symbols, and these symbols.

    ``behind`` the last one are so many zeros.
    """
    most = max(starts)
    lengths = tuple(["n" if k == axis else 2 for k in range(axis + 1)])
    keys = [(*[slice(None)] * axis, slice(low, low - most - behind or None)) for low in starts]
    total, inputs = unsliced(lengths, keys)
    shared = inputs[0] * inputs[0] + inputs[0]  # what one kernel computes for all of them
    return sd.substitute(total, {c: (c * shared + c) * (shared - 3 * c) for c in inputs}), inputs


def drawn(inputs, axis, count, dtype, seed=0):
    rng = np.random.default_rng(seed)
    values = [*VALUES, 3.0, -2.0, 0.3, -0.2, 1.0]
    return [rng.choice(values, size=(2,) * axis + (count,)).astype(dtype) for _ in inputs]


def expected(total, inputs, arrays):
    return nm.interpret(total, dict(zip(inputs, arrays, strict=True)))


SHIFTED = [  # starts, zeros behind, axis
    ((0, 1), 0, 0),
    ((1, 0), 1, 1),
    ((2, 0, 1), 2, 0),
    ((3, 1, 20, 1), 0, 2),
    ((0, LANES), 0, 0),
    ((LANES + 1, 2, LANES), 1, 0),
    ((2, 2), 0, 0),
]
LENGTHS = [0, 1, 2, 3, 63, 64, 65, 66, 127, 128, 129, 191, 300]


@sample(40)
@given(
    st.sampled_from(SHIFTED),
    st.sampled_from(LENGTHS),
    st.sampled_from([np.float64, np.float32]),
    st.sampled_from([1, LANES, 2 * LANES, 1 << 20]),
    st.integers(0, 1000),
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.usefixtures("alone")
def test_the_sum_is_that_of_whole_arrays(kind, count, dtype, block, seed):
    """Wherever blocks begin, on one thread and two, at a first call and at one like it."""
    starts, behind, axis = kind
    total, inputs = shifted(starts, axis, behind)
    arrays = drawn(inputs, axis, count, dtype, seed)
    wanted = expected(total, inputs, arrays)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(costs, "BLOCK", block)
        for threads in (1, 2):
            F = nm.lower(total, inputs, backend="native", threads=threads)
            for _ in range(2):
                assert same_bits(F(*arrays), wanted)
            assert "placed(" not in F.source


@pytest.mark.slow
@pytest.mark.parametrize("starts", [(0, 1), (2, 0, 1), (0, LANES + 1), (1, 1), (5, 3, 3, 4)])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_operands_lie_in_any_order(starts):
    total, inputs = shifted(starts, 1)
    F = nm.lower(total, inputs, backend="native")
    arrays = drawn(inputs, 1, 150, np.float64)
    wanted = expected(total, inputs, arrays)
    assert same_bits(F(*arrays), wanted)
    for change in (
        np.asfortranarray,
        lambda x: np.repeat(x, 2, axis=1)[:, ::2],
        lambda x: x[:, ::-1].copy()[:, ::-1],
        lambda x: np.frombuffer(x.tobytes()).reshape(x.shape),  # read-only
    ):
        assert same_bits(F(*[change(x) for x in arrays]), wanted)


@pytest.mark.usefixtures("alone")
def test_a_gradient_is_written_where_it_is_returned(monkeypatch):
    """Beside a value, which no row adds to twice, in blocks and at once."""
    x = sd.symbol("x", "n")
    f = sd.sum((x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    at = np.arange(500) % 7 - 3.0
    wanted = nm.lower(f, x).value_and_grad(at)
    for block in (LANES, 3 * LANES, 1 << 20):
        monkeypatch.setattr(costs, "BLOCK", block)
        for threads in (1, 2):
            F = nm.lower(f, x, backend="native", threads=threads)
            for _ in range(2):
                value, (gradient,) = F.value_and_grad(at)
                assert value == wanted[0]  # of whole numbers
                assert same_bits(gradient, wanted[1][0])


def test_elements_of_a_long_shift_are_added_by_numpy():
    """A block would have to remember more rows than it has."""
    total, inputs = shifted((0, LANES + 1))
    arrays = drawn(inputs, 0, 200, np.float64)
    F = nm.lower(total, inputs, backend="native")
    assert same_bits(F(*arrays), expected(total, inputs, arrays))


@pytest.mark.usefixtures("alone")
def test_beside_results_of_all_rows():
    """What is returned row by row, what is shifted, and what is summed, of one kernel."""
    x = sd.symbol("x", "n")
    u = x[:-1] * x[1:]
    outputs = [sd.grad(sd.sum(u * u), x), 2 * u, sd.sum(u)]
    F = nm.lower(outputs, x, backend="native")
    for n in (1, 2, 64, 65, 66, 200):
        at = np.arange(n) % 5 - 2.0
        for _ in range(2):
            for found, wanted in zip(F(at), nm.interpret(outputs, {x: at}), strict=True):
                assert same_bits(np.asarray(found), np.asarray(wanted))
    assert F.source.count("void kernel(") == 1
