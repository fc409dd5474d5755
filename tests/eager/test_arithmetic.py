"""Arithmetic beyond ``op_examples``: broadcasting, other operands, truth values, departures."""

# ruff: noqa: E501  # rows of a table

import operator as op

import numpy as np
import pytest

from tests.eager.chosen import check, derivatives, leaf, ours, torch
from tests.support.refusals import refusing

# Operations on two tensors ------------------------------------------------------------------------


def test_broadcasting_sums_the_gradient():
    """Along the axes that an operand did not have, or had once."""
    a, b = leaf([[1.0], [2.0]]), leaf([3.0, 4.0, 5.0])
    ga, gb = derivatives(a * b, [a, b])
    check(ga, [[12.0], [12.0]])
    check(gb, [3.0, 3.0, 3.0])
    (g,) = derivatives(ga * ga, [b])
    check(g, [48.0, 48.0, 48.0])


# Numbers ------------------------------------------------------------------------------------------


@ours
def test_quotients_that_pytorch_has_no_derivative_of():
    """``//`` has derivative 0, and a number may be divided with remainder."""
    x = leaf([0.7, -3.0])
    check(derivatives(x // 2, [x])[0], [0.0, 0.0])
    check(derivatives(2 // x, [x])[0], [0.0, 0.0])
    check(derivatives(2 % x, [x])[0], [-2.0, 1.0])


# dtypes -------------------------------------------------------------------------------------------

F32, F64 = torch.ones(2), torch.ones(2, dtype=torch.float64)
I64, BOOL = torch.tensor([1, 2]), torch.tensor([True, False])


# Errors -------------------------------------------------------------------------------------------


NO_OPERANDS = ("a", None, [1.0, 2.0], object())
SUBTRACTION = "Subtraction, the `-` operator, with"
NEGATION = "Negation, the `-` operator"
test_errors = refusing([
    *((lambda f=f, y=y: f(F32, y), TypeError, r"unsupported operand|to an index")
      for y in NO_OPERANDS for f in (op.add, op.sub, op.mul, op.truediv, op.mod, op.pow, op.floordiv)),
    *((lambda f=f, y=y: f(y, F32), TypeError, None)
      for y in NO_OPERANDS for f in (op.add, op.sub, op.truediv, op.pow)),
    *((lambda f=f, y=y: f(torch.ones(2), y), TypeError, None)
      for y in NO_OPERANDS for f in (torch.add, op.iadd)),
    (lambda: torch.add(F32, np.ones(2)), TypeError, None),
    (lambda: torch.pow(2, 3), TypeError, None),
    (lambda: torch.add(F32, F32, alpha="a"), TypeError, None),
    (lambda: torch.div(F32, F32, rounding_mode="up"), RuntimeError, "rounding_mode"),
    (lambda: torch.lerp(F32, F64, 0.5), RuntimeError, "expected dtype"),
    (lambda: torch.add(I64, I64, alpha=0.5), RuntimeError, "alpha must not be a floating point number"),
    (lambda: torch.addcdiv(I64, I64, I64), RuntimeError, "Integer division with addcdiv"),
    *((lambda f=f: f(torch.ones(2), torch.ones(3)), RuntimeError, r"size of tensor a \(2\) must match .* b \(3\)")
      for f in (op.add, torch.maximum, lambda x, y: torch.lerp(x, y, 0.5), op.lt)),
    (lambda: leaf([1.0, 2.0], torch.float32) + torch.ones(3, dtype=torch.float64), RuntimeError,
     "must match the size of tensor b"),
    # truth values
    (lambda: BOOL - BOOL, RuntimeError, SUBTRACTION),
    (lambda: BOOL - 1, RuntimeError, SUBTRACTION),
    (lambda: 1 - BOOL, RuntimeError, SUBTRACTION),
    (lambda: F32 - BOOL, RuntimeError, SUBTRACTION),
    (lambda: -BOOL, RuntimeError, NEGATION),
    (lambda: torch.neg(BOOL), RuntimeError, NEGATION),
    (lambda: op.pos(BOOL), RuntimeError, "on a bool tensor"),
    *((lambda f=f: f(BOOL, BOOL), NotImplementedError, None) for f in (op.mod, op.floordiv, op.pow, torch.fmod)),
    # in place
    (lambda: op.iadd(leaf([1.0]), 1), RuntimeError, "leaf Variable"),
    (lambda: op.itruediv(torch.tensor([3]), 2), RuntimeError, "can't be cast"),
])  # fmt: skip


# In place -----------------------------------------------------------------------------------------


def test_what_is_refused_in_place_has_changed_nothing():
    x, n = leaf([1.0]), torch.tensor([3])
    for call in (lambda: op.iadd(x, 1), lambda: op.itruediv(n, 2)):
        with pytest.raises(RuntimeError):
            call()
    check(x, [1.0])
    assert op.ifloordiv(n, 2).tolist() == [1]


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


@ours
def test_a_whole_number_beyond_64_bits_is_refused_by_the_operation():
    calls = {
        "add": lambda x, n: x + n,
        "sub": lambda x, n: x - n,
        "mul": lambda x, n: n * x,
        "clamp": lambda x, n: x.clamp(n),
        "fill": lambda x, n: x.fill_(n),
    }
    for x in (torch.tensor([1, 2]), torch.tensor([1, 2], dtype=torch.uint8)):
        for name, call in calls.items():
            for n in (2**63, -(2**63) - 1, 10**400):
                with pytest.raises(RuntimeError, match=f"^{name}: value cannot be .* type int64"):
                    call(x, n)
        assert x.tolist() == [1, 2]
