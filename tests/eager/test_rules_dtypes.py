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


def test_tensors_keep_their_dtype():
    """Rule 57: ``as_tensor`` of a tensor is that tensor."""
    t = torch.ones(2, dtype=torch.float64)
    assert torch.as_tensor(t) is t
    assert t.clone().dtype == torch.float64


def test_explicit_dtype():
    """Rule 57: dtype= decides."""
    assert torch.tensor([1.7, 2.2], dtype=torch.int64).tolist() == [1, 2]
    assert torch.tensor([1, 2], dtype=torch.float64).dtype == torch.float64
    assert torch.tensor([0, 2], dtype=torch.bool).tolist() == [False, True]


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
        with pytest.raises(TypeError):
            torch.set_default_dtype(torch.int64)
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


def test_0d_tensors_among_themselves():
    """Rule 58: promote as tensors do."""
    assert (_ones("float32", ()) + _ones("float64", ())).dtype == torch.float64
    assert (_ones("int32", ()) + 1).dtype == torch.int32
    assert (_ones("int64", ()) + 1.5).dtype == torch.float32


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


def test_bools():
    """Rule 58: bool + bool is bool; a difference is refused."""
    t, f = torch.tensor(True), torch.tensor(False)
    assert (t + t).item() is True
    assert (t * f).item() is False
    assert (t & f).item() is False
    assert (t | f).item() is True
    assert (t ^ t).item() is False
    assert (~t).item() is False
    refused(
        (RuntimeError, "bool", lambda: t - f),
        (RuntimeError, "bool", lambda: -t),
    )


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64"])
@pytest.mark.parametrize("name", ["sum", "prod", "cumsum", "cumprod"])
def test_sums_of_integers(name, dtype):
    """Rule 58: int64."""
    t = _ones(dtype, (2, 2))
    assert getattr(t, name)(0).dtype == torch.int64
    if not name.startswith("cum"):
        assert getattr(t, name)().dtype == torch.int64


def test_matmul_does_not_promote():
    """Rule 58: operands must have one dtype."""
    a, b = torch.ones(2, 2), torch.ones(2, 2, dtype=torch.float64)
    for f in (lambda: a @ b, lambda: torch.mm(a, b), lambda: a @ b[0], lambda: a[0] @ b[0]):
        with pytest.raises(RuntimeError, match="dtype"):
            f()
    assert (torch.ones(2, 2, dtype=torch.int64) @ torch.ones(2, 2, dtype=torch.int64)).dtype == (
        torch.int64
    )


def test_comparisons_promote():
    """Rule 58: and give bool."""
    assert (torch.tensor([1, 2]) == torch.tensor([1.0, 2.5])).tolist() == [True, False]
    assert (torch.tensor([1, 2]) < 1.5).tolist() == [True, False]


def test_where_promotes():
    """Rule 58: where and cat promote."""
    mask = torch.tensor([True, False])
    assert torch.where(mask, _ones("float32"), _ones("float64")).dtype == torch.float64
    assert torch.where(mask, _ones("float32"), 1).dtype == torch.float32
    assert torch.cat([_ones("int64"), _ones("float32")]).dtype == torch.float32


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


def test_casts():
    """Rule 59: the named casts."""
    x = torch.tensor([0.0, 1.7, -1.7])
    assert x.int().tolist() == [0, 1, -1]
    assert x.long().dtype == torch.int64
    assert x.short().dtype == torch.int16
    assert x.half().dtype == torch.float16
    assert x.bool().tolist() == [False, True, True]
    assert x.int().double().dtype == torch.float64


def test_negative_powers_of_integers():
    """Rule 59: refused."""
    with pytest.raises(RuntimeError, match="negative"):
        torch.tensor([1, 2]) ** -1
    check(torch.tensor([1, 2]) ** -1.0, [1.0, 0.5])
    assert (torch.tensor([2, 3]) ** 2).tolist() == [4, 9]
    assert (2 ** torch.tensor([2, 3])).tolist() == [4, 8]


# Rule 60 ------------------------------------------------------------------------------------------


def test_bool_of_a_tensor():
    """Rule 60: of one element; of several 'ambiguous'."""
    assert bool(torch.tensor([[1.0]]))
    assert not bool(torch.tensor(0))
    refused(
        (RuntimeError, "ambiguous", lambda: bool(torch.ones(2))),
        (RuntimeError, "ambiguous", lambda: not (torch.ones(2) > 0)),
    )


def test_item():
    """Rule 60: of one element a Python number; of several a RuntimeError."""
    assert torch.tensor([[2.5]]).item() == 2.5
    assert type(torch.tensor(2).item()) is int
    assert type(torch.tensor(2.0).item()) is float
    assert torch.tensor(True).item() is True
    refused(
        (RuntimeError, None, lambda: torch.ones(2).item()),
        (RuntimeError, None, lambda: torch.ones(0).item()),
    )


def test_numbers_of_tensors():
    """Rule 60: float() and int() of several elements: ValueError."""
    assert float(torch.tensor([2.5])) == 2.5
    assert int(torch.tensor(2.7)) == 2
    for convert in (float, int):
        with pytest.raises(ValueError, match="one element"):
            convert(torch.ones(2))


def test_0d_tensors_have_no_length():
    """Rule 60: TypeError '0-d'."""
    refused(
        (TypeError, "0-d", lambda: len(torch.tensor(1.0))),
        (TypeError, "0-d", lambda: iter(torch.tensor(1.0))),
    )
    assert len(torch.ones(3, 2)) == 3
    assert [tuple(row.shape) for row in torch.ones(3, 2)] == [(2,)] * 3


def test_iteration_is_differentiable():
    """Rule 60: rows are outputs of unbind."""
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    a, b = x
    assert a.grad_fn.name() == "UnbindBackward0"
    check_backward((a * b).sum(), (x, [[3.0, 4.0], [1.0, 2.0]]))


def test_0d_integers_are_indices():
    """Rule 60: of lists and ranges; floats are not."""
    i = torch.tensor(2)
    assert [10, 20, 30][i] == 30
    assert list(range(torch.tensor(3))) == [0, 1, 2]
    assert "abc"[torch.tensor([1])] == "b"
    refused(
        (TypeError, None, lambda: [1, 2][torch.tensor(1.0)]),
        (TypeError, None, lambda: [1, 2][torch.tensor([0, 1])]),
    )


def test_contains():
    """Rule 60: ``in`` compares elements."""
    assert 2 in torch.tensor([1, 2])
    assert 5 not in torch.tensor([1, 2])
    assert torch.tensor(1) in torch.tensor([1, 2])


def test_tolist():
    """Rule 60: nested lists of Python numbers; a 0-d tensor gives a number."""
    assert torch.tensor([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert torch.tensor(1.5).tolist() == 1.5
    assert leaf([1.5]).tolist() == [1.5]


# More of rules 57-60 ------------------------------------------------------------------------------


def test_tensors_inside_lists():
    """Rule 57: 0-d tensors among data give their values."""
    t = torch.tensor([torch.tensor(1.5), torch.tensor(2.5)])
    check(t, [1.5, 2.5])
    assert t.dtype == torch.float32


def test_copying_a_tensor_warns():
    """Rule 57: ``tensor`` of a tensor copies, with a hint at ``clone().detach()``."""
    x = leaf([1.0])
    with pytest.warns(UserWarning, match="To copy construct from a tensor"):
        t = torch.tensor(x)
    assert not t.requires_grad
    check(t, [1.0])


def test_ragged_data():
    """Rule 57: refused."""
    refused(
        (ValueError, "expected sequence of length 2", lambda: torch.tensor([[1, 2], [3]])),
        ((TypeError, ValueError, RuntimeError), None, lambda: torch.tensor("a")),
        ((TypeError, ValueError, RuntimeError), None, lambda: torch.tensor([None])),
    )


def test_numbers_out_of_range():
    """Rule 57: integers that do not fit are refused."""
    assert torch.tensor(2**40).item() == 2**40
    with pytest.raises((RuntimeError, ValueError, OverflowError), match="Overflow"):
        torch.tensor(2**70)


def test_numpy_and_tensors():
    """Rule 58: a NumPy array next to a tensor counts with its dtype, a NumPy number as a number."""
    t = torch.ones(2)
    assert (t * np.float32(2)).dtype == torch.float32
    assert (t * np.float64(2)).dtype == torch.float32
    assert torch.as_tensor(np.ones(2)).dtype == torch.float64


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


def test_comparison_of_a_large_integer():
    """Rule 58: comparisons with numbers keep the tensor's width."""
    assert (torch.tensor([2**53]) == 2**53 + 1).item() is False
    assert (torch.tensor([0.1]) == 0.1).item() is True


def test_reductions_in_a_given_dtype():
    """Rule 58: dtype= casts before."""
    i = torch.tensor([1, 2])
    assert i.sum(dtype=torch.float64).dtype == torch.float64
    assert i.float().sum(dtype=torch.float64).dtype == torch.float64
    assert i.cumsum(0, dtype=torch.float32).dtype == torch.float32
    assert i.prod(dtype=torch.float32).dtype == torch.float32
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


def test_bitwise_operators():
    """Rule 58: of integers and bools; of floats refused."""
    i = torch.tensor([5, 6])
    assert (i & 3).tolist() == [1, 2]
    assert (i | 8).tolist() == [13, 14]
    assert (i ^ 1).tolist() == [4, 7]
    assert (~i).tolist() == [-6, -7]
    refused(
        ((RuntimeError, TypeError), None, lambda: torch.ones(2) & torch.ones(2)),
        ((RuntimeError, TypeError), None, lambda: ~torch.ones(2)),
    )


def test_float_of_what_requires_grad():
    """Rule 60: ``item`` does not ask for detach."""
    x = leaf([2.5])
    assert x.item() == 2.5
    assert x.sum().item() == 2.5


def test_complex_numbers_are_refused_or_complex():
    """Rule 60: indexing with a float is refused."""
    with pytest.raises((IndexError, TypeError)):
        torch.ones(2)[1.0]


def test_formatting():
    """Rule 60: 0-d tensors format as numbers."""
    t = torch.tensor(2.5)
    assert f"{t:.2f}" == "2.50"
    assert f"{t}" == "2.5"
    assert f"{torch.tensor([1.0, 2.0])}" == "tensor([1., 2.])"


def test_python_builtins():
    """Rule 60: abs, sum, max, divmod, pow of tensors."""
    t = torch.tensor([1.0, -2.5])
    check(abs(t), [1.0, 2.5])
    check(sum(t), -1.5)
    check(max(t), 1.0)
    check(pow(t, 2), [1.0, 6.25])
    assert sorted(t)[0].item() == -2.5
    assert [int(v) for v in torch.arange(3)] == [0, 1, 2]


def test_reversed_and_membership_of_rows():
    """Rule 60: iteration makes views, which share memory."""
    t = torch.zeros(2, 2)
    for k, row in enumerate(t):
        row.fill_(k + 1.0)
    check(t, [[1.0, 1.0], [2.0, 2.0]])
