"""Sums, products, quotients, powers: values, two derivatives, dtypes, records and errors."""

import math
import operator as op

import mpmath as mp
import numpy as np
import pytest

from tests.eager.chosen import check, leaf, names, ours, torch

inf, nan = float("inf"), float("nan")


def derivatives(y, xs):
    """The gradients of the sum of ``y``, recorded."""
    return torch.autograd.grad(y.sum(), xs, create_graph=True, allow_unused=True)


def partial(f, at, orders):
    """A partial derivative by central differences of 60 digits."""
    with mp.workdps(60):
        h = mp.mpf(10) ** -15
        stencils = {0: [(0, 1)], 1: [(1, 0.5), (-1, -0.5)], 2: [(1, 1), (0, -2), (-1, 1)]}
        total = sum(
            c * d * f(mp.mpf(at[0]) + k * h, mp.mpf(at[1]) + m * h)
            for k, c in stencils[orders[0]]
            for m, d in stencils[orders[1]]
        )
        return float(total / h ** sum(orders))


# Operations on two tensors ------------------------------------------------------------------------

A, B = [0.3, 1.6, 2.45, -0.9], [0.7, 1.2, -3.1, 0.2]


def floored(a, b):
    """The floor of the quotient."""
    return mp.floor(a / b)


def truncated(a, b):
    """The quotient rounded towards 0."""
    return mp.sign(a / b) * mp.floor(mp.fabs(a / b))


# name of the record: pairs of a function of mpmath numbers and one of tensors.
BINARY = {
    "AddBackward0": [
        (lambda a, b: a + b, op.add),
        (lambda a, b: a + 3 * b, lambda a, b: torch.add(a, b, alpha=3)),
        (lambda a, b: a + b / 4, lambda a, b: a.add(b, alpha=0.25)),
    ],
    "SubBackward0": [
        (lambda a, b: a - b, op.sub),
        (lambda a, b: a - 3 * b, lambda a, b: torch.sub(a, b, alpha=3)),
        (lambda a, b: a - b, torch.subtract),
    ],
    "RsubBackward0": [
        (lambda a, b: b - a, torch.rsub),
        (lambda a, b: b - 2 * a, lambda a, b: torch.rsub(a, b, alpha=2)),
    ],
    "MulBackward0": [(lambda a, b: a * b, op.mul), (lambda a, b: a * b, torch.multiply)],
    "DivBackward0": [
        (lambda a, b: a / b, op.truediv),
        (lambda a, b: a / b, torch.true_divide),
        (lambda a, b: a / b, torch.divide),
    ],
    "DivBackward2": [
        (floored, lambda a, b: torch.div(a, b, rounding_mode="floor")),
        (truncated, lambda a, b: torch.div(a, b, rounding_mode="trunc")),
    ],
    "RemainderBackward1": [
        (lambda a, b: a - b * floored(a, b), op.mod),
        (lambda a, b: a - b * floored(a, b), torch.remainder),
    ],
    "FmodBackward1": [(lambda a, b: a - b * truncated(a, b), torch.fmod)],
    "LerpBackward0": [
        (lambda a, b: a + (b - a) / 4, lambda a, b: torch.lerp(a, b, 0.25)),
        (lambda a, b: a + (b - a) * 3 / 4, lambda a, b: a.lerp(b, 0.75)),
    ],
    "LerpBackward1": [(lambda a, b: a + b * (b - a), lambda a, b: torch.lerp(a, b, b))],
    "AddcmulBackward0": [
        (lambda a, b: a + 2 * a * b, lambda a, b: torch.addcmul(a, a, b, value=2)),
        (lambda a, b: a + b * b, lambda a, b: a.addcmul(b, b)),
    ],
    "AddcdivBackward0": [
        (lambda a, b: b + a / b / 2, lambda a, b: torch.addcdiv(b, a, b, value=0.5)),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", BINARY)
def test_two_tensors(name):
    """Values, gradients and all second derivatives, against mpmath."""
    for f, g in BINARY[name]:
        a, b = leaf(A), leaf(B)
        y = g(a, b)
        assert type(y.grad_fn).__name__ == name
        pairs = list(zip(A, B, strict=True))
        check(y, [partial(f, p, (0, 0)) for p in pairs], rtol=1e-12)
        firsts = derivatives(y, [a, b])
        for k, (g1, order) in enumerate(zip(firsts, [(1, 0), (0, 1)], strict=True)):
            check(g1, [partial(f, p, order) for p in pairs], rtol=1e-12, atol=1e-12)
            if not g1.requires_grad:
                continue
            seconds = torch.autograd.grad(g1.sum(), [a, b], retain_graph=True, allow_unused=True)
            for m, g2 in enumerate(seconds):
                order = tuple((k == i) + (m == i) for i in (0, 1))
                expected = [partial(f, p, order) for p in pairs]
                if g2 is None:
                    assert not np.any(np.abs(expected) > 1e-12)
                else:
                    check(g2, expected, rtol=1e-12, atol=1e-12)


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

# What numbers do to [0.5, -2], the gradient, and the record from the result on.
NUMBERS = [
    (lambda x: x + 2, [2.5, 0.0], [1.0, 1.0], ["AddBackward0"]),
    (lambda x: 2 + x, [2.5, 0.0], [1.0, 1.0], ["AddBackward0"]),
    (lambda x: x - 2.5, [-2.0, -4.5], [1.0, 1.0], ["SubBackward0"]),
    (lambda x: 2 - x, [1.5, 4.0], [-1.0, -1.0], ["RsubBackward1"]),
    (lambda x: x * 3, [1.5, -6.0], [3.0, 3.0], ["MulBackward0"]),
    (lambda x: True * x, [0.5, -2.0], [1.0, 1.0], ["MulBackward0"]),
    (lambda x: x / 4, [0.125, -0.5], [0.25, 0.25], ["DivBackward0"]),
    (lambda x: x / 0, [inf, -inf], [inf, inf], ["DivBackward0"]),
    (lambda x: x.sub(1, alpha=2), [-1.5, -4.0], [1.0, 1.0], ["SubBackward0"]),
    (lambda x: 2 / x, [4.0, -1.0], [-8.0, -0.5], ["MulBackward0", "ReciprocalBackward0"]),
    (lambda x: torch.div(2, x), [4.0, -1.0], [-8.0, -0.5], ["DivBackward0"]),
    (lambda x: torch.sub(2, x), [1.5, 4.0], [-1.0, -1.0], ["SubBackward0"]),
    (lambda x: x % 1.5, [0.5, 1.0], [1.0, 1.0], ["RemainderBackward0"]),
    (lambda x: torch.fmod(x, 1.5), [0.5, -0.5], [1.0, 1.0], ["FmodBackward0"]),
    (lambda x: -x, [-0.5, 2.0], [-1.0, -1.0], ["NegBackward0"]),
    (lambda x: abs(x), [0.5, 2.0], [1.0, -1.0], ["AbsBackward0"]),
    (lambda x: x**2, [0.25, 4.0], [1.0, -4.0], ["PowBackward0"]),
    (lambda x: x**0, [1.0, 1.0], [0.0, 0.0], ["PowBackward0"]),
    (lambda x: x**1, [0.5, -2.0], [1.0, 1.0], ["PowBackward0"]),
    (lambda x: x**3.0, [0.125, -8.0], [0.75, 12.0], ["PowBackward0"]),
    (lambda x: x**-1, [2.0, -0.5], [-4.0, -0.25], ["PowBackward0"]),
    (lambda x: x**-2, [4.0, 0.25], [-16.0, 0.25], ["PowBackward0"]),
    (lambda x: x**0.5, [0.5**0.5, nan], [0.5**0.5, nan], ["PowBackward0"]),
    (lambda x: x**-0.5, [2**0.5, nan], [-(2**0.5), nan], ["PowBackward0"]),
    (lambda x: x**2.37, [0.5**2.37, nan], [2.37 * 0.5**1.37, nan], ["PowBackward0"]),
    (lambda x: x**101, [0.5**101, -(2.0**101)], [101 * 0.5**100, 101 * 2.0**100], ["PowBackward0"]),
    (lambda x: 2**x, [2**0.5, 0.25], [2**0.5 * math.log(2), math.log(2) / 4], ["PowBackward2"]),
    (lambda x: (-2) ** x, [nan, 0.25], [nan, nan], ["PowBackward2"]),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(NUMBERS)))
def test_numbers(case):
    """Python numbers, NumPy's scalars; on both sides."""
    f, values, gradients, record = NUMBERS[case]
    x = leaf([0.5, -2.0])
    y = f(x)
    assert names(y)[:-1] == record
    check(y, values, rtol=1e-14)
    check(derivatives(y, [x])[0], gradients, rtol=1e-14)
    single = f(leaf([0.5, -2.0], torch.float32))
    assert single.dtype == torch.float32
    check(single, values, rtol=1e-6)


def test_second_derivatives_of_powers():
    """Exponents in the formula, and as operands."""
    x = leaf([0.5, 2.0])
    for p in (0, 1, 2, 3, -1, 0.5, -0.5, 1.5, 2.37, 40):
        (g,) = derivatives(x**p, [x])
        h = torch.zeros(2).double()
        if g.requires_grad:
            (found,) = torch.autograd.grad(g.sum(), x, allow_unused=True)
            h = h if found is None else found
        check(h, [p * (p - 1) * v ** (p - 2) for v in (0.5, 2.0)], rtol=1e-13)


def test_edges_of_powers():
    """A zero base or exponent, a negative base."""
    x, y = leaf([0.0, 0.0, 0.0, -2.0, -2.0]), leaf([0.0, 2.0, 0.5, 3.0, 0.5])
    z = x**y
    assert type(z.grad_fn).__name__ == "PowBackward1"
    check(z, [1.0, 0.0, 0.0, -8.0, nan])
    gx, gy = derivatives(z, [x, y])
    check(gx, [0.0, 0.0, inf, 12.0, nan])
    check(gy, [0.0, 0.0, 0.0, nan, nan])
    check(derivatives(0**y, [y])[0], [0.0] * 5)


@ours
def test_quotients_that_pytorch_has_no_derivative_of():
    """``//`` has derivative 0, and a number may be divided with remainder."""
    x = leaf([0.7, -3.0])
    check(derivatives(x // 2, [x])[0], [0.0, 0.0])
    check(derivatives(2 // x, [x])[0], [0.0, 0.0])
    check(derivatives(2 % x, [x])[0], [-2.0, 1.0])


def test_remainders():
    """The sign of the divisor, or of the dividend; exact quotients."""
    a, b = torch.tensor([7, -7, 7, -7]), torch.tensor([3, 3, -3, -3])
    assert (a % b).tolist() == [1, 2, -2, -1]
    assert (a // b).tolist() == [2, -3, -3, 2]
    assert torch.fmod(a, b).tolist() == [1, -1, 1, -1]
    assert torch.div(a, b, rounding_mode="trunc").tolist() == [2, -2, -2, 2]
    assert (7 % b).tolist() == [1, 1, -2, -2]
    assert (-7 // b).tolist() == [-3, -3, 2, 2]
    x = torch.tensor([5.5, -5.5])
    check(x % 2, [1.5, 0.5])
    check(torch.fmod(x, 2), [1.5, -1.5])
    check(x // 2, [2.0, -3.0])
    for f in (op.mod, op.floordiv, torch.fmod):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            f(a, 0)
    check(x // 0, [inf, -inf])


def test_integers():
    """Powers, quotients, and what wraps around."""
    x = torch.tensor([2, -1, 1, -3])
    assert (x**3).tolist() == [8, -1, 1, -27]
    assert (x ** torch.tensor([-1, -3, -2, 2])).tolist() == [0, -1, 1, 9]
    assert (2 ** torch.tensor([3, -1], dtype=torch.int32)).dtype == torch.int32
    with pytest.raises(RuntimeError, match="Integers to negative integer powers"):
        x**-1
    check(1 / x, [0.5, -1.0, 1.0, -1 / 3])
    check(x**0.5, [2**0.5, nan, 1.0, nan])
    small = torch.tensor([3], dtype=torch.uint8)
    assert [(small + n).tolist() for n in (-1, 300)] == [[2], [47]]
    assert (small * 300).tolist() == [132]


# dtypes -------------------------------------------------------------------------------------------

F32, F64, F16 = (torch.ones(2, dtype=d) for d in (torch.float32, torch.float64, torch.float16))
I64, I32, U8, I8 = (
    torch.tensor([1, 2], dtype=d) for d in (torch.int64, torch.int32, torch.uint8, torch.int8)
)
BOOL = torch.tensor([True, False])
ZERO_F64, ZERO_I32 = torch.tensor(1.0, dtype=torch.float64), torch.tensor(2, dtype=torch.int32)
ZERO_I64 = torch.tensor(2)

PROMOTED = [
    (op.add, F32, F64, "float64"),
    (op.add, F16, F32, "float32"),
    (op.add, F32, ZERO_F64, "float32"),
    (op.add, ZERO_F64, F32, "float32"),
    (op.add, ZERO_F64, torch.ones(()), "float64"),
    (op.mul, I64, ZERO_F64, "float64"),
    (op.mul, I64, 1.5, "float32"),
    (op.mul, I64, F16, "float16"),
    (op.add, I32, 5, "int32"),
    (op.add, I32, I64, "int64"),
    (op.add, I32, ZERO_I64, "int32"),
    (op.add, I64, ZERO_I32, "int64"),
    (op.add, U8, I8, "int16"),
    (op.add, U8, I32, "int32"),
    (op.add, U8, ZERO_I64, "uint8"),
    (op.sub, U8, 1, "uint8"),
    (op.add, BOOL, BOOL, "bool"),
    (op.mul, BOOL, BOOL, "bool"),
    (op.add, BOOL, 1, "int64"),
    (op.add, BOOL, True, "bool"),
    (op.add, BOOL, 1.5, "float32"),
    (op.mul, BOOL, U8, "uint8"),
    (op.mul, BOOL, F16, "float16"),
    (op.truediv, I64, I64, "float32"),
    (op.truediv, I64, 2, "float32"),
    (op.truediv, U8, F16, "float16"),
    (op.truediv, BOOL, BOOL, "float32"),
    (op.truediv, F64, 2, "float64"),
    (op.floordiv, I64, I32, "int64"),
    (op.floordiv, I64, 2.5, "float32"),
    (op.mod, I32, 2, "int32"),
    (op.mod, BOOL, 2, "int64"),
    (op.pow, I64, 2, "int64"),
    (op.pow, I64, 2.0, "float32"),
    (op.pow, I32, I64, "int64"),
    (op.pow, BOOL, 2, "int64"),
    (op.pow, F64, I64, "float64"),
    (op.pow, F32, ZERO_F64, "float32"),
    (torch.atan2, F32, I64, "float32"),
    (torch.atan2, I64, I64, "float32"),
    (torch.xlogy, I64, 2, "float32"),
    (torch.maximum, I64, F32, "float32"),
    (torch.maximum, BOOL, BOOL, "bool"),
    (torch.fmax, I32, F64, "float64"),
    (torch.clamp, I64, 0, "int64"),
    (torch.clamp, I64, 0.5, "float32"),
    (torch.clamp, BOOL, 0, "int64"),
    (torch.clamp, F32, ZERO_F64, "float32"),
    (torch.add, 1, F64, "float64"),
    (torch.add, 1, 2, "int64"),
    (op.add, F32, np.float64(2), "float32"),
    (op.mul, I64, np.float32(2), "float32"),
    (op.add, I32, np.int64(2), "int32"),
]


@pytest.mark.parametrize("case", range(len(PROMOTED)))
def test_promotion(case):
    """Category first, then width; what has no axes only raises the category."""
    f, a, b, dtype = PROMOTED[case]
    assert f(a, b).dtype == getattr(torch, dtype)


def test_gradients_in_the_dtype_of_the_operand():
    """Through promotion."""
    a, b = leaf([1.0, 2.0], torch.float32), leaf(3.0)
    ga, gb = derivatives(a * b, [a, b])
    assert (ga.dtype, gb.dtype) == (torch.float32, torch.float64)
    check(ga, [3.0, 3.0])
    check(gb, 3.0)


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
    with pytest.raises(TypeError):
        torch.add(x, np.ones(2))
    with pytest.raises(TypeError):
        torch.pow(2, 3)
    with pytest.raises(TypeError):
        torch.add(x, x, alpha="a")
    with pytest.raises(RuntimeError, match="rounding_mode"):
        torch.div(x, x, rounding_mode="up")
    with pytest.raises(RuntimeError, match="expected dtype"):
        torch.lerp(x, x.double(), 0.5)
    with pytest.raises(RuntimeError, match="alpha must not be a floating point number"):
        torch.add(I64, I64, alpha=0.5)
    with pytest.raises(RuntimeError, match="Integer division with addcdiv"):
        torch.addcdiv(I64, I64, I64)


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

X = np.array([0.5, 2.0])
INPLACE = [
    (lambda y, v: op.iadd(y, v), X + 3, 1 + 0 * X),
    (lambda y, v: op.isub(y, v), X - 3, 1 + 0 * X),
    (lambda y, v: op.imul(y, v), X * 3, 3 + 0 * X),
    (lambda y, v: op.itruediv(y, v), X / 3, 1 / 3 + 0 * X),
    (lambda y, v: op.ipow(y, v), X**3, 3 * X**2),
    (lambda y, v: op.imod(y, v), X % 3, 1 + 0 * X),
    (lambda y, v: y.add_(v, alpha=2), X + 6, 1 + 0 * X),
    (lambda y, v: y.sub_(v), X - 3, 1 + 0 * X),
    (lambda y, v: y.mul_(y * 1), X**2, 2 * X),
    (lambda y, v: y.div_(v), X / 3, 1 / 3 + 0 * X),
    (lambda y, v: y.pow_(2), X**2, 2 * X),
    (lambda y, v: y.square_(), X**2, 2 * X),
    (lambda y, v: y.neg_(), -X, -1 + 0 * X),
    (lambda y, v: y.reciprocal_(), 1 / X, -1 / X**2),
    (lambda y, v: y.addcmul_(y * 1, y * 1, value=2), X + 2 * X**2, 1 + 4 * X),
    (lambda y, v: y.addcdiv_(y * 1, (y * 1) ** 2), X + 1 / X, 1 - 1 / X**2),
    (lambda y, v: y.lerp_(y * 0 + 1, 0.25), X + 0.25 * (1 - X), 0.75 + 0 * X),
    (lambda y, v: y.remainder_(1.5), X % 1.5, 1 + 0 * X),
    (lambda y, v: y.fmod_(1.5), X % 1.5, 1 + 0 * X),
]


@pytest.mark.parametrize("case", range(len(INPLACE)))
@pytest.mark.parametrize("number", [True, False])
def test_inplace(case, number):
    """The same object, the new value, the history of the function."""
    f, values, gradients = INPLACE[case]
    x = leaf([0.5, 2.0])
    y = x * 1
    version = y._version
    v = 3 if number else torch.tensor([3.0, 3.0], dtype=torch.float64)
    assert f(y, v) is y
    assert y._version == version + 1
    check(y, values)
    check(derivatives(y, [x])[0], gradients)


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


def test_what_is_saved():
    """Sums save nothing; products save a factor if the other one requires gradients."""
    ones = torch.ones(2).double()
    a, b, c = leaf([1.0, 2.0]) * 1, leaf([3.0, 4.0]) * 1, torch.tensor([5.0, 6.0]).double()
    for y in (a + b, a - b, 2 - a, a + 1, -a, a.add(b, alpha=3), torch.lerp(a, b, 0.3), a % 2):
        torch.autograd.grad(y, a, ones)
        torch.autograd.grad(y, a, ones)
    for y in (a * b, a / b, a * 2, a / 2, a * c, 2 / a, a**2, a**b):
        torch.autograd.grad(y, a, ones)
        with pytest.raises(RuntimeError, match="second time"):
            torch.autograd.grad(y, a, ones)
    y = a * c
    a.detach().mul_(2)
    torch.autograd.grad(y, a, ones)
    y = a * c
    c.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(y, a, ones)
    y = 2 / a
    a.detach().mul_(2)
    torch.autograd.grad(y, a, ones)


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
