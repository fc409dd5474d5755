"""Tensors from data, and filled ones."""

# ruff: noqa: E501  # rows of a table

import math

import numpy as np
import pytest

import numeric as torch
from tests.support.refusals import refusing

T = torch


def test_default_dtype():
    """Rule 57: Python's real numbers become the default dtype."""
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.get_default_dtype() is torch.float64
        made = [torch.tensor(1.5), torch.zeros(1), torch.rand(1), torch.arange(2.0)]
        made += [torch.full((1,), 0.5), torch.Tensor([1]), torch.tensor(1) / 2]
        assert {x.dtype for x in made} == {torch.float64}
        assert torch.tensor(np.float32(1)).dtype is torch.float32
    finally:
        torch.set_default_dtype(torch.float32)
    for bad in (torch.int64, "a"):
        with pytest.raises(TypeError, match="floating-point"):
            torch.set_default_dtype(bad)


test_errors = refusing(
    [
        (lambda: T.tensor([[1, 2], [3]]), ValueError, r"length 2 at dim 1 \(got 1\)"),
        (lambda: T.tensor([[1, 2], 3]), TypeError, "not a sequence"),
        (lambda: T.tensor([3, [1, 2]]), TypeError, "interpreted as an integer"),
        (lambda: T.tensor("a"), TypeError, "invalid data type 'str'"),
        (lambda: T.tensor(["a"]), ValueError, "too many dimensions 'str'"),
        (lambda: T.tensor(None), RuntimeError, "Could not infer dtype of NoneType"),
        (lambda: T.tensor([{}]), RuntimeError, "Could not infer dtype of dict"),
        (lambda: T.tensor([T.ones(2)]), ValueError, "only one element tensors"),
        (lambda: T.tensor(2**63), ValueError, "Overflow"),
        (lambda: T.tensor(300, dtype=T.uint8), RuntimeError, "without overflow"),
        (lambda: T.tensor(math.nan, dtype=T.int64), RuntimeError, "without overflow"),
        (lambda: T.tensor([1], dtype="float"), TypeError, "must be torch.dtype, not str"),
        (lambda: T.tensor([1], requires_grad=True), RuntimeError, "floating point"),
        (lambda: T.tensor(1.0, device="foo"), RuntimeError, "device"),
        (lambda: T.tensor(1.0, name="a b"), ValueError, "identifier"),
        (lambda: T.tensor(np.array(["a"])), TypeError, "can't convert np.ndarray"),
        (lambda: T.tensor(np.arange(3)[::-1]), ValueError, "negative"),
        (lambda: T.from_numpy([1]), TypeError, r"expected np.ndarray \(got list\)"),
        (lambda: T.from_numpy(np.float64(1)), TypeError, "got numpy.float64"),
        (lambda: T.Tensor(1.5), TypeError, "must be a sequence"),
        (lambda: T.Tensor([1.0], dtype=T.float64), TypeError, "invalid combination"),
        (lambda: T.zeros(), TypeError, "size"),
        (lambda: T.zeros(-1), RuntimeError, "negative dimension"),
        (lambda: T.zeros(2.0), TypeError, "tuple of ints, not float"),
        (lambda: T.zeros((2, "a")), TypeError, "pos 2"),
        (lambda: T.zeros(True), TypeError, "tuple of ints, not bool"),
        (lambda: T.zeros(2, out=T.ones(2)), TypeError, "out="),
        (lambda: T.full(2, 1), TypeError, "tuple of ints, not int"),
        (lambda: T.full((2,), T.ones(1)), TypeError, "must be Number, not Tensor"),
        (lambda: T.full((2,), 300, dtype=T.uint8), RuntimeError, "without overflow"),
        (lambda: T.arange(3, 0), RuntimeError, "inconsistent with step sign"),
        (lambda: T.arange(0, 3, 0), RuntimeError, "step must be nonzero"),
        (lambda: T.arange(math.inf), RuntimeError, "unsupported range"),
        (lambda: T.arange(), TypeError, "invalid combination"),
        (lambda: T.arange(3, requires_grad=True), RuntimeError, "floating point"),
        (lambda: T.eye(-1), RuntimeError, "greater or equal to 0"),
        (lambda: T.eye(2.0), TypeError, "must be int, not float"),
        (lambda: T.linspace(0, 1, -1), RuntimeError, "non-negative"),
        (lambda: T.linspace(0, 1, 1.5), TypeError, "int"),
        (lambda: T.zeros_like([1]), TypeError, "must be Tensor, not list"),
        (lambda: T.is_floating_point(3), TypeError, "must be Tensor"),
        (lambda: T.result_type(T.ones(1), "a"), TypeError, "invalid combination"),
        (lambda: T.promote_types(T.uint8, 3), TypeError, "must be torch.dtype"),
        (lambda: T.finfo(T.int64), TypeError, "floating point input type"),
        (lambda: T.iinfo(T.float32), TypeError, "integer input type"),
        (lambda: T.device("cuda"), RuntimeError, "device"),
    ]
)


def test_rounding_of_ranges():
    """To the last bit, which the table of operations does not ask for."""
    x = [v.hex() for v in torch.linspace(-1.3, 2.9, 7).tolist()]
    assert x[1:4] == ["-0x1.3333320000000p-1", "0x1.9999a00000000p-4", "0x1.99999e0000000p-1"]
    x = [v.hex() for v in torch.arange(-1.0, 1.0, 0.1).tolist()]
    assert x[10:12] == ["-0x1.99999a0000000p-29", "0x1.9999980000000p-4"]


def test_copies_and_shared_memory():
    """Rule 8: ``tensor`` copies; ``from_numpy``, ``as_tensor`` and ``numpy`` share memory."""
    a = np.zeros(3)
    copied, shared, also = torch.tensor(a), torch.from_numpy(a), torch.as_tensor(a)
    a[0] = 1
    assert copied.tolist() == [0, 0, 0]
    assert shared.tolist() == also.tolist() == [1, 0, 0]
    shared.numpy()[1] = 2
    assert a.tolist() == [1, 2, 0]
    assert shared._version == 0
    assert torch.as_tensor(shared) is shared
    converted = torch.as_tensor(a, dtype=torch.float32)
    a[0] = 5
    assert converted.tolist() == [1, 2, 0]
    assert torch.asarray(a, copy=True).data_ptr() != shared.data_ptr()


def test_of_a_tensor():
    x = torch.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="To copy construct from a tensor"):
        y = torch.tensor(x)
    assert y.is_leaf
    assert not y.requires_grad
    assert y.data_ptr() != x.data_ptr()
    with pytest.warns(UserWarning, match="new_tensor"):
        assert x.new_tensor(torch.tensor([1])).dtype is torch.float32


def test_constructor():
    x, w = torch.tensor([1, 2]), torch.ones(2, requires_grad=True)
    assert torch.Tensor(x).data_ptr() == x.data_ptr()
    torch.Tensor(w).sum().backward()
    assert w.grad.tolist() == [1.0, 1.0]


REAL, WHOLE, WIDE = torch.ones(1), torch.tensor([1]), torch.tensor(1.0, dtype=torch.float64)
SIZE, CPU = torch.Size([2, 3]), torch.device("cpu")


def in_inference_mode():
    with torch.inference_mode():
        return torch.is_inference(torch.ones(1))


# What a call gives, of that type and equal to it.
ANSWERS = {
    "name": (lambda: torch.tensor(1.5, requires_grad=True, name="x").name, "x"),
    "requires_grad": (lambda: torch.tensor(1.5, requires_grad=True, name="x").requires_grad, True),
    "no name": (lambda: torch.tensor(1.5).name, None),
    "Tensor of a list": (lambda: torch.Tensor([1, 2]).dtype, torch.float32),
    "Tensor of a tuple": (lambda: torch.Tensor((2, 3)).tolist(), [2.0, 3.0]),
    "Tensor of lengths": (lambda: torch.Tensor(2, 3).shape, SIZE),
    "Tensor of a size": (lambda: torch.Tensor(SIZE).shape, SIZE),
    "Tensor of nothing": (lambda: torch.Tensor().shape, torch.Size([0])),
    "Tensor.__new__": (lambda: torch.Tensor.__new__ is object.__new__, True),
    "numel": (lambda: SIZE.numel(), 6),
    "size + tuple": (lambda: SIZE + (1,), torch.Size([2, 3, 1])),  # noqa: RUF005
    "tuple + size": (lambda: (1,) + SIZE, torch.Size([1, 2, 3])),  # noqa: RUF005
    "size twice": (lambda: SIZE * 2, torch.Size([2, 3, 2, 3])),
    "part of a size": (lambda: SIZE[:1], torch.Size([2])),
    "a size is a tuple": (lambda: isinstance(SIZE, tuple), True),
    "size in words": (lambda: repr(SIZE), "torch.Size([2, 3])"),
    "eps": (lambda: torch.finfo(torch.float32).eps, 1.1920928955078125e-07),
    "max": (lambda: torch.finfo(torch.float32).max, 3.4028234663852886e38),
    "tiny": (lambda: torch.finfo(torch.float32).tiny, 1.1754943508222875e-38),
    "bits": (lambda: torch.finfo(torch.float32).bits, 32),
    "dtype": (lambda: torch.finfo(torch.float32).dtype, "float32"),
    "finfo": (lambda: repr(torch.finfo()),
              "finfo(resolution=1e-06, min=-3.40282e+38, max=3.40282e+38, eps=1.19209e-07, "
              "smallest_normal=1.17549e-38, tiny=1.17549e-38, dtype=float32)"),
    "finfo of float64": (lambda: repr(torch.finfo(torch.float64)),
                         "finfo(resolution=1e-15, min=-1.79769e+308, max=1.79769e+308, eps=2.22045e-16, "
                         "smallest_normal=2.22507e-308, tiny=2.22507e-308, dtype=float64)"),
    "max of int64": (lambda: torch.iinfo(torch.int64).max, 2**63 - 1),
    "iinfo": (lambda: repr(torch.iinfo(torch.uint8)), "iinfo(min=0, max=255, dtype=uint8)"),
    "is_tensor": (lambda: [torch.is_tensor(REAL), torch.is_tensor(1.0)], [True, False]),
    "is_inference": (lambda: [in_inference_mode(), torch.is_inference(REAL)], [True, False]),
    "is_floating_point": (lambda: [torch.is_floating_point(REAL), WHOLE.is_floating_point()], [True, False]),
    "result_type": (lambda: [torch.result_type(*pair) for pair in ((REAL, 2), (WHOLE, 2.0), (1, 2.0), (WIDE, REAL))],
                    [torch.float32] * 4),
    "result_type of bool": (lambda: torch.result_type(True, False), torch.bool),
    "promote_types": (lambda: torch.promote_types(torch.uint8, torch.int8), torch.int16),
    "can_cast": (lambda: [torch.can_cast(torch.float64, torch.float32), torch.can_cast(torch.float32, torch.int64)],
                 [True, False]),
    "itemsize": (lambda: torch.float32.itemsize, 4),
    "is_signed": (lambda: torch.uint8.is_signed, False),
    "device in words": (lambda: [repr(CPU), str(CPU)], ["device(type='cpu')", "cpu"]),
    "parts of a device": (lambda: [CPU.type, CPU.index], ["cpu", None]),
    "device of a tensor": (lambda: [torch.ones(1, device=CPU).device == CPU, torch.ones(1).device == "cpu"], [True, False]),
    "devices as keys": (lambda: len({CPU, torch.device("cpu")}), 1),
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS)
def test_answers(name):
    call, expected = ANSWERS[name]
    found = call()
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize("places", [T.tril_indices, T.triu_indices])
def test_dtypes_of_places(places):
    """Rule 57: Python's types are dtypes; places are integers, as in PyTorch."""
    made = [places(3, 3), places(3, 3, dtype=int), places(3, 3, dtype=T.int32)]
    assert [x.dtype for x in made] == [T.int64, T.int64, T.int32]
    assert made[1].tolist() == made[0].tolist()
    for wrong in (float, T.float32, bool):
        with pytest.raises(TypeError, match="places are integers"):
            places(3, 3, dtype=wrong)
