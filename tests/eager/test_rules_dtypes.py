"""Rules 57-60: dtypes, promotion, conversion."""

import numpy as np
import pytest

from tests.eager.chosen import check, leaf, torch
from tests.support.refusals import refused
from tests.support.tensor_checks import check_backward

# Rule 57 ------------------------------------------------------------------------------------------

INFERRED = [
    (1.5, "float32"),
    (1, "int64"),
    (True, "bool"),
    ([1.0, 2.0], "float32"),
    ([1, 2], "int64"),
    ([1, 2.0], "float32"),
    ([True, False], "bool"),
    ([True, 2], "int64"),
    ([[1, 2], [3, 4]], "int64"),
    ([], "float32"),
    (np.float64(1.5), "float64"),
    (np.float32(1.5), "float32"),
    (np.int32(1), "int32"),
    (np.int64(1), "int64"),
    (np.bool_(True), "bool"),
    ([np.float64(1.5), np.float64(2.5)], "float64"),
    ([np.float32(1.5)], "float32"),
    (np.array([1.0]), "float64"),
    (np.array([1.0], np.float32), "float32"),
    (np.array([1], np.int32), "int32"),
    (np.array([1], np.uint8), "uint8"),
    (np.array([True]), "bool"),
    (np.array(2.5), "float64"),
]


@pytest.mark.parametrize(("data", "dtype"), INFERRED, ids=repr)
@pytest.mark.parametrize("make", [torch.tensor, torch.as_tensor])
def test_dtype_of_data(make, data, dtype):
    """Rule 57: Python numbers take the defaults; NumPy's arrays and scalars keep theirs."""
    t = make(data)
    assert t.dtype == getattr(torch, dtype)
    assert t.tolist() == np.asarray(data).tolist()


# What is refused, and what comes out in Python ----------------------------------------------------

ERRORS = (TypeError, ValueError, RuntimeError)
MATRIX, ZERO_D = torch.ones(2, 2), torch.tensor(1.0)

# What is refused: the error, what it says, and the call.
REFUSED = {
    "Rule 57: ragged data": (ValueError, "expected sequence of length 2",
                             lambda: torch.tensor([[1, 2], [3]])),
    "Rule 57: a text": (ERRORS, None, lambda: torch.tensor("a")),
    "Rule 57: a list of None": (ERRORS, None, lambda: torch.tensor([None])),
    "Rule 57: an integer too large": ((RuntimeError, ValueError, OverflowError), "Overflow",
                                      lambda: torch.tensor(2**70)),
    "Rule 57: integers as default": (TypeError, None,
                                     lambda: torch.set_default_dtype(torch.int64)),
    "Rule 58: bool - bool": (RuntimeError, "bool", lambda: torch.tensor(True) - torch.tensor(True)),
    "Rule 58: -bool": (RuntimeError, "bool", lambda: -torch.tensor(True)),
    "Rule 58: float & float": ((RuntimeError, TypeError), None, lambda: MATRIX & MATRIX),
    "Rule 58: ~float": ((RuntimeError, TypeError), None, lambda: ~MATRIX),
    "Rule 58: matmul of two dtypes": (RuntimeError, "dtype", lambda: MATRIX @ MATRIX.double()),
    "Rule 58: mm of two dtypes": (RuntimeError, "dtype",
                                  lambda: torch.mm(MATRIX, MATRIX.double())),
    "Rule 58: a vector of another dtype": (RuntimeError, "dtype",
                                           lambda: MATRIX @ MATRIX[0].double()),
    "Rule 58: vectors of two dtypes": (RuntimeError, "dtype",
                                       lambda: MATRIX[0] @ MATRIX[0].double()),
    "Rule 59: a negative power": (RuntimeError, "negative", lambda: torch.tensor([1, 2]) ** -1),
    "Rule 60: bool of several": (RuntimeError, "ambiguous", lambda: bool(MATRIX)),
    "Rule 60: not of several": (RuntimeError, "ambiguous", lambda: not (MATRIX > 0)),
    "Rule 60: item of several": (RuntimeError, None, lambda: MATRIX.item()),
    "Rule 60: item of none": (RuntimeError, None, lambda: torch.ones(0).item()),
    "Rule 60: float of several": (ValueError, "one element", lambda: float(MATRIX)),
    "Rule 60: int of several": (ValueError, "one element", lambda: int(MATRIX)),
    "Rule 60: the length of a number": (TypeError, "0-d", lambda: len(ZERO_D)),
    "Rule 60: iteration of a number": (TypeError, "0-d", lambda: iter(ZERO_D)),
    "Rule 60: a float as index of a list": (TypeError, None, lambda: [1, 2][ZERO_D]),
    "Rule 60: several as index of a list": (TypeError, None,
                                            lambda: [1, 2][torch.tensor([0, 1])]),
    "Rule 60: a float as index": ((IndexError, TypeError), None, lambda: MATRIX[1.0]),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_dtypes_refuse(name):
    """Rules 57-60: what has no dtype, no common one, or is not a number."""
    refused(REFUSED[name])


# What comes out in Python, of this very type.
VALUES = {
    "Rule 57: floats as integers": (
        lambda: torch.tensor([1.7, 2.2], dtype=torch.int64).tolist(),
        [1, 2],
    ),
    "Rule 57: integers as truth": (
        lambda: torch.tensor([0, 2], dtype=torch.bool).tolist(),
        [False, True],
    ),
    "Rule 57: a large integer": (lambda: torch.tensor(2**40).item(), 2**40),
    "Rule 58: True + True": (lambda: (torch.tensor(True) + torch.tensor(True)).item(), True),
    "Rule 58: True * False": (lambda: (torch.tensor(True) * torch.tensor(False)).item(), False),
    "Rule 58: True & False": (lambda: (torch.tensor(True) & torch.tensor(False)).item(), False),
    "Rule 58: True | False": (lambda: (torch.tensor(True) | torch.tensor(False)).item(), True),
    "Rule 58: True ^ True": (lambda: (torch.tensor(True) ^ torch.tensor(True)).item(), False),
    "Rule 58: ~True": (lambda: (~torch.tensor(True)).item(), False),
    "Rule 58: integers & 3": (lambda: (torch.tensor([5, 6]) & 3).tolist(), [1, 2]),
    "Rule 58: integers | 8": (lambda: (torch.tensor([5, 6]) | 8).tolist(), [13, 14]),
    "Rule 58: integers ^ 1": (lambda: (torch.tensor([5, 6]) ^ 1).tolist(), [4, 7]),
    "Rule 58: ~integers": (lambda: (~torch.tensor([5, 6])).tolist(), [-6, -7]),
    "Rule 58: integers == floats": (
        lambda: (torch.tensor([1, 2]) == torch.tensor([1.0, 2.5])).tolist(),
        [True, False],
    ),
    "Rule 58: integers < a float": (lambda: (torch.tensor([1, 2]) < 1.5).tolist(), [True, False]),
    "Rule 58: a large integer == another": (
        lambda: (torch.tensor([2**53]) == 2**53 + 1).item(),
        False,
    ),
    "Rule 58: float32 == a number": (lambda: (torch.tensor([0.1]) == 0.1).item(), True),
    "Rule 59: int": (lambda: torch.tensor([0.0, 1.7, -1.7]).int().tolist(), [0, 1, -1]),
    "Rule 59: bool": (lambda: torch.tensor([0.0, 1.7]).bool().tolist(), [False, True]),
    "Rule 59: a power of integers": (lambda: (torch.tensor([2, 3]) ** 2).tolist(), [4, 9]),
    "Rule 59: integers as exponents": (lambda: (2 ** torch.tensor([2, 3])).tolist(), [4, 8]),
    "Rule 59: a power -1.0": (lambda: (torch.tensor([1, 2]) ** -1.0).tolist(), [1.0, 0.5]),
    "Rule 60: bool": (lambda: bool(torch.tensor([[1.0]])), True),
    "Rule 60: bool of 0": (lambda: bool(torch.tensor(0)), False),
    "Rule 60: item of one": (lambda: torch.tensor([[2.5]]).item(), 2.5),
    "Rule 60: item of an integer": (lambda: torch.tensor(2).item(), 2),
    "Rule 60: item of a float": (lambda: torch.tensor(2.0).item(), 2.0),
    "Rule 60: item of a truth value": (lambda: torch.tensor(True).item(), True),
    "Rule 60: item of what requires gradients": (lambda: leaf([2.5]).item(), 2.5),
    "Rule 60: item of a result": (lambda: leaf([2.5]).sum().item(), 2.5),
    "Rule 60: float": (lambda: float(torch.tensor([2.5])), 2.5),
    "Rule 60: int": (lambda: int(torch.tensor(2.7)), 2),
    "Rule 60: len": (lambda: len(torch.ones(3, 2)), 3),
    "Rule 60: rows": (lambda: [tuple(row.shape) for row in torch.ones(3, 2)], [(2,)] * 3),
    "Rule 60: an index of a list": (lambda: [10, 20, 30][torch.tensor(2)], 30),
    "Rule 60: an index of a text": (lambda: "abc"[torch.tensor([1])], "b"),
    "Rule 60: range": (lambda: list(range(torch.tensor(3))), [0, 1, 2]),
    "Rule 60: in": (lambda: 2 in torch.tensor([1, 2]), True),
    "Rule 60: not in": (lambda: 5 in torch.tensor([1, 2]), False),
    "Rule 60: a tensor in": (lambda: torch.tensor(1) in torch.tensor([1, 2]), True),
    "Rule 60: tolist": (lambda: torch.tensor([[1, 2], [3, 4]]).tolist(), [[1, 2], [3, 4]]),
    "Rule 60: tolist of a number": (lambda: torch.tensor(1.5).tolist(), 1.5),
    "Rule 60: tolist of what requires gradients": (lambda: leaf([1.5]).tolist(), [1.5]),
    "Rule 60: a format": (lambda: f"{torch.tensor(2.5):.2f}", "2.50"),
    "Rule 60: no format": (lambda: f"{torch.tensor(2.5)}", "2.5"),
    "Rule 60: several without format": (
        lambda: f"{torch.tensor([1.0, 2.0])}",
        "tensor([1., 2.])",
    ),
    "Rule 60: abs": (lambda: abs(torch.tensor([1.0, -2.5])).tolist(), [1.0, 2.5]),
    "Rule 60: sum": (lambda: sum(torch.tensor([1.0, -2.5])).item(), -1.5),
    "Rule 60: max": (lambda: max(torch.tensor([1.0, -2.5])).item(), 1.0),
    "Rule 60: pow": (lambda: pow(torch.tensor([1.0, -2.5]), 2).tolist(), [1.0, 6.25]),
    "Rule 60: sorted": (lambda: sorted(torch.tensor([1.0, -2.5]))[0].item(), -2.5),
    "Rule 60: int of elements": (lambda: [int(v) for v in torch.arange(3)], [0, 1, 2]),
}


@pytest.mark.parametrize("name", VALUES)
def test_what_comes_out_in_python(name):
    """Rules 57-60: numbers, truth values and lists of them."""
    call, expected = VALUES[name]
    found = call()
    assert found == expected
    assert type(found) is type(expected)


# Factories, and results of all kinds --------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "dtype"),
    [
        (lambda: torch.arange(3), "int64"),
        (lambda: torch.arange(3.0), "float32"),
        (lambda: torch.arange(0, 1, 0.5), "float32"),
        (lambda: torch.arange(1, 4, 2), "int64"),
        (lambda: torch.arange(3, dtype=torch.float64), "float64"),
        (lambda: torch.full((2,), 1), "int64"),
        (lambda: torch.full((2,), 1.0), "float32"),
        (lambda: torch.full((2,), True), "bool"),
        (lambda: torch.linspace(0, 1, 3), "float32"),
        (lambda: torch.zeros(2), "float32"),
        (lambda: torch.ones(2, dtype=torch.int32), "int32"),
        (lambda: torch.eye(2), "float32"),
        (lambda: torch.empty(2), "float32"),
        (lambda: torch.rand(2), "float32"),
        (lambda: torch.randn(2), "float32"),
        (lambda: torch.randint(0, 5, (2,)), "int64"),
        (lambda: torch.randperm(4), "int64"),
        (lambda: torch.full_like(torch.ones(2, dtype=torch.int64), 3), "int64"),
    ],
)
def test_dtype_of_factories(make, dtype):
    """Rule 57: arange and full infer from their arguments, the others take the default."""
    assert make().dtype == getattr(torch, dtype)


I32, I64, F32, F64 = torch.int32, torch.int64, torch.float32, torch.float64
NUMBERS = torch.tensor([1, 2])

# Results, and their dtypes.
RESULTS = {
    "Rule 57: a clone": (lambda: torch.ones(2, dtype=F64).clone(), F64),
    "Rule 57: integers as floats": (lambda: torch.tensor([1, 2], dtype=F64), F64),
    "Rule 57: numbers among the data": (lambda: torch.tensor([torch.tensor(1.5)]), F32),
    "Rule 58: numbers of two widths": (lambda: torch.tensor(1.0) + _ones("float64", ()), F64),
    "Rule 58: a number and Python's": (lambda: torch.tensor(1, dtype=I32) + 1, I32),
    "Rule 58: an integer and a float": (lambda: torch.tensor(1) + 1.5, F32),
    "Rule 58: matmul of integers": (lambda: NUMBERS @ NUMBERS, I64),
    "Rule 58: where": (lambda: torch.where(NUMBERS > 1, torch.ones(2), _ones("float64")), F64),
    "Rule 58: where of a number": (lambda: torch.where(NUMBERS > 1, torch.ones(2), 1), F32),
    "Rule 58: cat": (lambda: torch.cat([NUMBERS, torch.ones(2)]), F32),
    "Rule 58: a number of NumPy": (lambda: torch.ones(2) * np.float32(2), F32),
    "Rule 58: a wide number of NumPy": (lambda: torch.ones(2) * np.float64(2), F32),
    "Rule 58: an array of NumPy": (lambda: torch.as_tensor(np.ones(2)), F64),
    "Rule 58: sum in float64": (lambda: NUMBERS.sum(dtype=F64), F64),
    "Rule 58: sum of floats in float64": (lambda: NUMBERS.float().sum(dtype=F64), F64),
    "Rule 58: cumsum in float32": (lambda: NUMBERS.cumsum(0, dtype=F32), F32),
    "Rule 58: prod in float32": (lambda: NUMBERS.prod(dtype=F32), F32),
    "Rule 59: long": (lambda: torch.ones(2).long(), I64),
    "Rule 59: short": (lambda: torch.ones(2).short(), torch.int16),
    "Rule 59: half": (lambda: torch.ones(2).half(), torch.float16),
    "Rule 59: double": (lambda: torch.ones(2).int().double(), F64),
}  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_dtype_of_results(name):
    """Rules 57-59: as each row says."""
    call, dtype = RESULTS[name]
    assert call().dtype == dtype


def test_arange_values():
    """Rule 57: as range; the number of steps is rounded up."""
    assert torch.arange(2, 8, 3).tolist() == [2, 5]
    check(torch.arange(0, 1, 0.3), [0.0, 0.3, 0.6, 0.9], rtol=1e-6)
    assert torch.arange(5, 0, -2).tolist() == [5, 3, 1]


def test_default_dtype():
    """Rule 57: ``set_default_dtype`` changes what Python floats become."""
    assert torch.get_default_dtype() == torch.float32
    try:
        torch.set_default_dtype(torch.float64)
        assert torch.get_default_dtype() == torch.float64
        assert torch.tensor(1.5).dtype == torch.float64
        assert torch.zeros(2).dtype == torch.float64
        assert (torch.tensor([1, 2]) / 2).dtype == torch.float64
        assert torch.tensor(1).dtype == torch.int64
        assert torch.tensor(np.float32(1)).dtype == torch.float32
    finally:
        torch.set_default_dtype(torch.float32)


def test_dtype_objects():
    """Rule 57: names, aliases, properties."""
    assert torch.double is torch.float64
    assert torch.float is torch.float32
    assert torch.long is torch.int64
    assert repr(torch.float32) == "torch.float32"
    assert torch.float64.is_floating_point
    assert not torch.int64.is_floating_point
    assert torch.float64.itemsize == 8
    assert torch.finfo(torch.float32).eps == np.finfo(np.float32).eps
    assert torch.finfo(torch.float64).max == np.finfo(np.float64).max
    assert torch.iinfo(torch.int32).max == 2**31 - 1


# Rule 58 ------------------------------------------------------------------------------------------

KINDS = ["bool", "uint8", "int32", "int64", "float16", "float32", "float64"]


def _ones(dtype, shape=(2,)):
    return torch.ones(shape, dtype=getattr(torch, dtype))


PROMOTED = [
    ("float32", "float64", "float64"),
    ("float16", "float32", "float32"),
    ("int32", "int64", "int64"),
    ("uint8", "int32", "int32"),
    ("bool", "uint8", "uint8"),
    ("bool", "float32", "float32"),
    ("int64", "float16", "float16"),
    ("int64", "float32", "float32"),
    ("int64", "float64", "float64"),
    ("bool", "bool", "bool"),
]


@pytest.mark.parametrize(("a", "b", "expected"), PROMOTED)
def test_promotion_of_tensors(a, b, expected):
    """Rule 58: by category, then rank; symmetric."""
    expected = getattr(torch, expected)
    assert (_ones(a) + _ones(b)).dtype == expected
    assert (_ones(b) * _ones(a)).dtype == expected
    assert torch.promote_types(getattr(torch, a), getattr(torch, b)) == expected
    assert torch.result_type(_ones(a), _ones(b)) == expected


SCALARS = [
    ("float32", 1.5, "float32"),
    ("float16", 1.5, "float16"),
    ("float64", 1.5, "float64"),
    ("float32", 5, "float32"),
    ("float32", True, "float32"),
    ("int32", 5, "int32"),
    ("uint8", 5, "uint8"),
    ("int64", 1.5, "float32"),
    ("int32", 1.5, "float32"),
    ("bool", 5, "int64"),
    ("bool", 1.5, "float32"),
    ("bool", True, "bool"),
]


@pytest.mark.parametrize(("dtype", "number", "expected"), SCALARS)
def test_python_numbers_raise_only_the_category(dtype, number, expected):
    """Rule 58: not the width."""
    assert (_ones(dtype) + number).dtype == getattr(torch, expected)
    assert (number * _ones(dtype)).dtype == getattr(torch, expected)
    assert torch.result_type(_ones(dtype), number) == getattr(torch, expected)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("zero", KINDS)
def test_0d_tensors_raise_only_the_category(dtype, zero):
    """Rule 58: a 0-d tensor next to one with axes counts as a number, with its own width above."""
    order = {"bool": 0, "uint8": 1, "int32": 1, "int64": 1, "float16": 2, "float32": 2}
    category = lambda name: order.get(name, 2)  # noqa: E731
    expected = dtype if category(dtype) >= category(zero) else zero
    assert (_ones(dtype) + _ones(zero, ())).dtype == getattr(torch, expected)
    assert (_ones(zero, ()) * _ones(dtype)).dtype == getattr(torch, expected)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64"])
def test_true_division_of_integers(dtype):
    """Rule 58: gives the default float."""
    assert (_ones(dtype) / _ones(dtype)).dtype == torch.float32
    assert (_ones(dtype) / 2).dtype == torch.float32
    assert (1 / _ones(dtype)).dtype == torch.float32


@pytest.mark.parametrize("name", ["exp", "log", "sin", "tanh", "sqrt", "sigmoid", "reciprocal"])
@pytest.mark.parametrize("dtype", ["bool", "int32", "int64"])
def test_unary_functions_of_integers(name, dtype):
    """Rule 58: float functions give the default float."""
    assert getattr(torch, name)(_ones(dtype)).dtype == torch.float32


@pytest.mark.parametrize("name", ["neg", "abs", "square", "sign", "relu", "floor", "round"])
def test_unary_functions_that_keep_integers(name):
    """Rule 58: the others keep integers."""
    assert getattr(torch, name)(torch.tensor([-1, 2])).dtype == torch.int64


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64"])
@pytest.mark.parametrize("name", ["sum", "prod", "cumsum", "cumprod"])
def test_sums_of_integers(name, dtype):
    """Rule 58: int64."""
    t = _ones(dtype, (2, 2))
    assert getattr(t, name)(0).dtype == torch.int64
    if not name.startswith("cum"):
        assert getattr(t, name)().dtype == torch.int64


def test_can_cast():
    """Rule 58: within a category and upwards."""
    assert torch.can_cast(torch.float64, torch.float32)
    assert torch.can_cast(torch.int64, torch.float32)
    assert not torch.can_cast(torch.float32, torch.int64)
    assert not torch.can_cast(torch.int64, torch.bool)


def test_gradients_through_promotion():
    """Rule 58: gradients come back in the dtype of each operand."""
    a = torch.ones(2, requires_grad=True)
    b = torch.ones(2, dtype=torch.float64, requires_grad=True)
    (a * b * 3).sum().backward()
    assert a.grad.dtype == torch.float32
    assert b.grad.dtype == torch.float64
    check(a.grad, [3.0, 3.0])


# Rule 59 ------------------------------------------------------------------------------------------


def test_conversion_to_the_same_dtype():
    """Rule 59: returns the tensor itself."""
    x = leaf([1.0])
    assert x.to(torch.float64) is x
    assert x.double() is x
    assert x.type(torch.float64) is x
    assert x.to(x) is x
    assert x.type_as(x) is x
    y = torch.ones(1)
    assert y.float() is y
    assert torch.tensor([1]).long().dtype == torch.int64
    assert x.to(torch.float64, copy=True) is not x


@pytest.mark.parametrize(
    "convert",
    [
        lambda x: x.to(torch.float32),
        lambda x: x.float(),
        lambda x: x.type(torch.float32),
        lambda x: x.to(torch.ones(1)),
        lambda x: x.type_as(torch.ones(1)),
        lambda x: x.to(dtype=torch.float32),
    ],
)
def test_conversions_are_differentiable(convert):
    """Rule 59: gradients come back in the source dtype."""
    x = leaf([1.0, 2.0])
    y = convert(x)
    assert y.dtype == torch.float32
    assert y.requires_grad
    (y * y).sum().backward()
    assert x.grad.dtype == torch.float64
    check(x.grad, [2.0, 4.0])


# Rule 60 ------------------------------------------------------------------------------------------


def test_iteration_is_differentiable():
    """Rule 60: rows are outputs of unbind."""
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    a, b = x
    assert a.grad_fn.name() == "UnbindBackward0"
    check_backward((a * b).sum(), (x, [[3.0, 4.0], [1.0, 2.0]]))


# More of rules 57-60 ------------------------------------------------------------------------------


def test_copying_a_tensor_warns():
    """Rule 57: ``tensor`` of a tensor copies, with a hint at ``clone().detach()``."""
    x = leaf([1.0])
    with pytest.warns(UserWarning, match="To copy construct from a tensor"):
        t = torch.tensor(x)
    assert not t.requires_grad
    check(t, [1.0])


@pytest.mark.parametrize("op", ["add", "sub", "mul", "div", "maximum", "pow", "atan2"])
def test_functions_promote_as_operators(op):
    """Rule 58: binary functions of float32 and float64 give float64, gradients come back cast."""
    a = torch.full((2,), 2.0, requires_grad=True)
    b = torch.full((2,), 3.0, dtype=torch.float64, requires_grad=True)
    y = getattr(torch, op)(a, b)
    assert y.dtype == torch.float64
    y.sum().backward()
    assert a.grad.dtype == torch.float32
    assert b.grad.dtype == torch.float64


@pytest.mark.parametrize("op", ["add", "mul", "maximum"])
def test_integers_next_to_floats(op):
    """Rule 58: an integer operand is promoted and gets no gradient."""
    a, i = torch.ones(2, requires_grad=True), torch.tensor([2, 3])
    y = getattr(torch, op)(a, i) if op == "maximum" else getattr(a, op)(i)
    assert y.dtype == torch.float32
    y.sum().backward()
    assert i.grad is None


def test_gradients_of_sums_in_a_given_dtype():
    """Rule 58: dtype= casts before, and the gradient is cast back."""
    x = torch.ones(2, requires_grad=True)
    x.sum(dtype=torch.float64).backward()
    assert x.grad.dtype == torch.float32


def test_float16():
    """Rule 58: results of half precision stay half."""
    h = torch.tensor([1.0, 2.0], dtype=torch.float16, requires_grad=True)
    y = (h * 2 + 1).exp()
    assert y.dtype == torch.float16
    y.sum().backward()
    assert h.grad.dtype == torch.float16


def test_indices_and_masks_have_fixed_dtypes():
    """Rule 58: argmax int64, comparisons bool, whatever the input."""
    for dtype in (torch.float32, torch.int32, torch.float64):
        t = torch.tensor([1, 3, 2]).to(dtype)
        assert t.argmax().dtype == torch.int64
        assert (t > 1).dtype == torch.bool
        assert t.sort().indices.dtype == torch.int64
        assert t.max(0).values.dtype == dtype


def test_reversed_and_membership_of_rows():
    """Rule 60: iteration makes views, which share memory."""
    t = torch.zeros(2, 2)
    for k, row in enumerate(t):
        row.fill_(k + 1.0)
    check(t, [[1.0, 1.0], [2.0, 2.0]])
