"""Comparisons, logic and bits."""

import operator as op

import numpy as np
import pytest

from tests.eager.chosen import leaf, torch

inf, nan = float("inf"), float("nan")
X = [1.0, 2.0, 3.0, nan]

COMPARED = {
    "eq": (op.eq, [False, True, False, False]),
    "ne": (op.ne, [True, False, True, True]),
    "lt": (op.lt, [True, False, False, False]),
    "le": (op.le, [True, True, False, False]),
    "gt": (op.gt, [False, False, True, False]),
    "ge": (op.ge, [False, True, True, False]),
}


@pytest.mark.parametrize("name", COMPARED)
def test_comparison(name):
    """Functions, methods and operators; Tensors, numbers and NumPy's; never a gradient."""
    operator, expected = COMPARED[name]
    x = leaf(X)
    for other in (2, 2.0, torch.tensor(2), torch.tensor([2.0] * 4), np.float64(2), np.int64(2)):
        for y in (getattr(torch, name)(x, other), getattr(x, name)(other), operator(x, other)):
            assert y.dtype == torch.bool
            assert not y.requires_grad
            assert y.tolist() == expected
    column = torch.tensor([[1.0], [2.0]])
    assert operator(column, torch.tensor([1.0, 2.0])).shape == (2, 2)
    with pytest.raises(RuntimeError, match="must match the size"):
        operator(torch.ones(2), torch.ones(3))


def test_comparison_with_the_reflected_operator():
    """The number on the left."""
    x = torch.tensor([1, 2, 3])
    assert (x > 2).tolist() == [False, False, True]
    assert (x <= 2).tolist() == [True, True, False]
    assert (x == 2).tolist() == [False, True, False]


def test_comparison_with_other_things():
    """Equality of different things is false; order has no meaning."""
    x = torch.ones(2)
    for other in ("a", None, [1.0, 1.0]):
        assert (x == other) is False
        assert (x != other) is True
        for f in (op.lt, op.le, op.gt, op.ge):
            with pytest.raises(TypeError, match="not supported between"):
                f(x, other)
        with pytest.raises(TypeError):
            torch.eq(x, other)
    with pytest.raises(TypeError):
        torch.eq(1, x)


def test_hashes_are_identities():
    """So that Tensors are keys."""
    x, y = torch.ones(1), torch.ones(1)
    assert len({x: 1, y: 2}) == 2
    assert hash(x) == id(x)


def test_comparison_promotes():
    """To the common dtype, in which precision may be lost."""
    big = torch.tensor([2**24 + 1])
    assert (big == 2.0**24).tolist() == [True]
    assert (torch.tensor([True]) == 1).tolist() == [True]
    assert (torch.tensor([3]) > 2.5).tolist() == [True]
    assert (torch.tensor([200], dtype=torch.uint8) > -1).tolist() in ([True], [False])
    assert (torch.tensor([0.1]) == 0.1).tolist() == [True]
    assert (torch.tensor([0.1]) == torch.tensor([0.1], dtype=torch.float64)).tolist() == [False]


def test_equal():
    """Shapes and elements, as one truth value."""
    x = torch.tensor([1.0, 2.0])
    assert torch.equal(x, x.clone()) is True
    assert x.equal(torch.tensor([1, 2])) is True
    assert torch.equal(x, torch.tensor([1.0])) is False
    assert torch.equal(torch.tensor([nan]), torch.tensor([nan])) is False


CLOSE = [
    ([1.0, 1.0 + 1e-6], [1.0, 1.0], {}, [True, True]),
    ([1.0, 1.1], [1.0, 1.0], {"rtol": 0.2}, [True, True]),
    ([0.0, 0.0], [1e-9, 1e-3], {}, [True, False]),
    ([0.0], [1e-3], {"atol": 1e-2}, [True]),
    ([inf, inf, -inf], [inf, -inf, 1.0], {}, [True, False, False]),
    ([nan, nan], [nan, 1.0], {}, [False, False]),
    ([nan, nan], [nan, 1.0], {"equal_nan": True}, [True, False]),
]


@pytest.mark.parametrize("case", range(len(CLOSE)))
def test_isclose(case):
    """Relative to the second operand."""
    a, b, options, expected = CLOSE[case]
    x, y = torch.tensor(a), torch.tensor(b)
    assert torch.isclose(x, y, **options).tolist() == expected
    assert x.isclose(y, **options).tolist() == expected
    assert torch.allclose(x, y, **options) is all(expected)
    assert x.allclose(y, **options) is all(expected)


def test_isclose_wants_one_dtype():
    """Unlike the comparisons."""
    x = torch.ones(1)
    with pytest.raises(RuntimeError, match="Float did not match Double"):
        torch.isclose(x, x.double())
    with pytest.raises(RuntimeError, match="did not match"):
        torch.allclose(x, torch.tensor([1]))
    assert torch.isclose(torch.tensor([1]), torch.tensor([1])).tolist() == [True]


QUESTIONS = {
    "isnan": [False, False, False, False, True],
    "isinf": [False, False, True, True, False],
    "isfinite": [True, True, False, False, False],
    "signbit": [True, False, False, True, False],
    "logical_not": [True, False, False, False, False],
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_question(name):
    """Of floats, and of integers."""
    x = torch.tensor([-0.0, 1.0, inf, -inf, abs(nan)])
    y = getattr(torch, name)(x)
    assert y.dtype == torch.bool
    assert y.tolist() == QUESTIONS[name]
    assert getattr(x, name)().tolist() == QUESTIONS[name]
    whole = {"isfinite": [True] * 3, "signbit": [True, False, False]}
    whole |= {"logical_not": [False, True, False]}
    assert getattr(torch, name)(torch.tensor([-1, 0, 1])).tolist() == whole.get(name, [False] * 3)


LOGIC = {
    "logical_and": [False, False, False, True],
    "logical_or": [False, True, True, True],
    "logical_xor": [False, True, True, False],
}


@pytest.mark.parametrize("name", LOGIC)
def test_logic(name):
    """Numbers other than 0 are true."""
    a, b = torch.tensor([0.0, 0.0, 2.0, 3.0]), torch.tensor([0, 5, 0, 6])
    y = getattr(torch, name)(a, b)
    assert y.dtype == torch.bool
    assert y.tolist() == LOGIC[name]
    assert getattr(a != 0, name)(b).tolist() == LOGIC[name]
    assert getattr(torch.tensor([False, False, True, True]), f"{name}_")(b).tolist() == LOGIC[name]
    with pytest.raises(TypeError):
        getattr(torch, name)(a, 1)


BITS = [
    (op.and_, [1, 2], [True, False, False]),
    (op.or_, [7, 7], [True, True, True]),
    (op.xor, [6, 5], [False, True, True]),
]


@pytest.mark.parametrize("case", range(len(BITS)))
def test_bits(case):
    """Of integers and of truth values."""
    f, whole, truths = BITS[case]
    x = torch.tensor([5, 6])
    assert f(x, 3).tolist() == whole
    assert f(3, x).tolist() == whole
    assert f(x, torch.tensor(3, dtype=torch.int32)).tolist() == whole
    m, n = torch.tensor([True, True, False]), torch.tensor([True, False, True])
    assert f(m, n).tolist() == truths
    assert f(m, n).dtype == torch.bool
    assert f(m, 1).dtype == torch.int64
    with pytest.raises(NotImplementedError, match="not implemented for 'Float'"):
        f(x, torch.ones(2))
    with pytest.raises(TypeError):
        f(x, "a")


def test_not_and_shifts():
    """The other operators on bits."""
    assert (~torch.tensor([5, -6])).tolist() == [-6, 5]
    assert (~torch.tensor([True, False])).tolist() == [False, True]
    with pytest.raises(TypeError, match="only implemented on integer and Boolean"):
        ~torch.ones(1)
    x = torch.tensor([5, -6])
    assert (x << 1).tolist() == [10, -12]
    assert (x >> 1).tolist() == [2, -3]


def test_augmented():
    """In place."""
    m = torch.tensor([True, False])
    same = m
    m &= torch.tensor([True, True])
    m |= torch.tensor([False, True])
    m ^= torch.tensor([True, False])
    assert m is same
    assert m.tolist() == [False, True]
