"""Arithmetic beyond ``op_examples``: broadcasting, other operands, truth values, departures."""

import operator as op

import numpy as np
import pytest

from tests.eager.chosen import check, derivatives, leaf, ours, torch
from tests.support.refusals import refused

# Operations on two tensors ------------------------------------------------------------------------


def test_broadcasting_sums_the_gradient():
    """Along the axes that an operand did not have, or had once."""
    a, b = leaf([[1.0], [2.0]]), leaf([3.0, 4.0, 5.0])
    ga, gb = derivatives(a * b, [a, b])
    check(ga, [[12.0], [12.0]])
    check(gb, [3.0, 3.0, 3.0])
    (g,) = derivatives(ga * ga, [b])
    check(g, [48.0, 48.0, 48.0])
    for f in (op.add, torch.maximum, lambda x, y: torch.lerp(x, y, 0.5), op.lt):
        with pytest.raises(RuntimeError, match=r"size of tensor a \(2\) must match .* b \(3\)"):
            f(torch.ones(2), torch.ones(3))
    with pytest.raises(RuntimeError, match="must match the size of tensor b"):
        leaf([1.0, 2.0], torch.float32) + torch.ones(3, dtype=torch.float64)


# Numbers ------------------------------------------------------------------------------------------


@ours
def test_quotients_that_pytorch_has_no_derivative_of():
    """``//`` has derivative 0, and a number may be divided with remainder."""
    x = leaf([0.7, -3.0])
    check(derivatives(x // 2, [x])[0], [0.0, 0.0])
    check(derivatives(2 // x, [x])[0], [0.0, 0.0])
    check(derivatives(2 % x, [x])[0], [-2.0, 1.0])


# dtypes -------------------------------------------------------------------------------------------

F32, F64, F16 = (torch.ones(2, dtype=d) for d in (torch.float32, torch.float64, torch.float16))
I64, I32, U8, I8 = (
    torch.tensor([1, 2], dtype=d) for d in (torch.int64, torch.int32, torch.uint8, torch.int8)
)
BOOL = torch.tensor([True, False])


# Errors -------------------------------------------------------------------------------------------


def test_operands_that_are_none():
    """Text, None and lists."""
    x = torch.ones(2)
    for other in ("a", None, [1.0, 2.0], object()):
        for f in (op.add, op.sub, op.mul, op.truediv, op.mod, op.pow, op.floordiv):
            with pytest.raises(TypeError, match=r"unsupported operand|to an index"):
                f(x, other)
        for f in (op.add, op.sub, op.truediv, op.pow):
            with pytest.raises(TypeError):
                f(other, x)
        with pytest.raises(TypeError):
            torch.add(x, other)
        with pytest.raises(TypeError):
            x += other
    refused(
        (TypeError, None, lambda: torch.add(x, np.ones(2))),
        (TypeError, None, lambda: torch.pow(2, 3)),
        (TypeError, None, lambda: torch.add(x, x, alpha="a")),
        (RuntimeError, "rounding_mode", lambda: torch.div(x, x, rounding_mode="up")),
        (RuntimeError, "expected dtype", lambda: torch.lerp(x, x.double(), 0.5)),
        (
            RuntimeError,
            "alpha must not be a floating point number",
            lambda: torch.add(I64, I64, alpha=0.5),
        ),
        (RuntimeError, "Integer division with addcdiv", lambda: torch.addcdiv(I64, I64, I64)),
    )


def test_truth_values():
    """Differences, signs, remainders and powers of truth values."""
    m = BOOL
    for f in (lambda: m - m, lambda: m - 1, lambda: 1 - m, lambda: F32 - m):
        with pytest.raises(RuntimeError, match="Subtraction, the `-` operator, with"):
            f()
    for f in (lambda: -m, lambda: torch.neg(m)):
        with pytest.raises(RuntimeError, match="Negation, the `-` operator"):
            f()
    with pytest.raises(RuntimeError, match="on a bool tensor"):
        op.pos(m)
    for f in (op.mod, op.floordiv, op.pow, torch.fmod):
        with pytest.raises(NotImplementedError):
            f(m, m)


# In place -----------------------------------------------------------------------------------------


def test_inplace_of_leaves_and_integers():
    """Checked before anything changes."""
    x = leaf([1.0])
    with pytest.raises(RuntimeError, match="leaf Variable"):
        x += 1
    check(x, [1.0])
    n = torch.tensor([3])
    with pytest.raises(RuntimeError, match="can't be cast"):
        n /= 2
    n //= 2
    assert n.tolist() == [1]


def test_positive():
    """``+x`` is x."""
    x = leaf([1.0])
    assert (+x).tolist() == [1.0]
    assert (+x).is_leaf
    assert x.positive().tolist() == [1.0]


@ours
def test_division_by_zero_below_a_selection():
    """What is not chosen leaves no trace, and Python's own division is not asked."""
    x = leaf([1.0, 2.0])
    for zero in (0, 0.0, False):
        (g,) = derivatives(torch.where(x > 5, x / zero, x), [x])
        check(g, [1.0, 1.0])
        (g,) = derivatives(torch.nan_to_num(torch.div(x, zero)), [x])
        check(g, [0.0, 0.0])


@ours
def test_arrays_as_operands():
    """NumPy arrays are constants of their own dtype, on both sides."""
    x = leaf([1.0, 2.0], torch.float32)
    for y in (x * np.array([3.0, 4.0]), np.array([3.0, 4.0]) * x):
        assert y.dtype == torch.float64
        check(y, [3.0, 8.0])
        check(derivatives(y, [x])[0], [3.0, 4.0])
