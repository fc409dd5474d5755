"""Tensors from data, and filled ones."""

import math

import numpy as np
import pytest

import numeric as torch

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


@pytest.mark.parametrize(
    ("call", "error", "text"),
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
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


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


def test_name():
    x = torch.tensor(1.5, requires_grad=True, name="x")
    assert x.name == "x"
    assert x.requires_grad
    assert torch.tensor(1.5).name is None


def test_constructor():
    assert torch.Tensor([1, 2]).dtype is torch.float32
    assert torch.Tensor(2, 3).shape == torch.Tensor(torch.Size([2, 3])).shape == (2, 3)
    assert torch.Tensor().shape == (0,)
    assert torch.Tensor((2, 3)).tolist() == [2.0, 3.0]
    x = torch.tensor([1, 2])
    assert torch.Tensor(x).data_ptr() == x.data_ptr()
    w = torch.ones(2, requires_grad=True)
    torch.Tensor(w).sum().backward()
    assert w.grad.tolist() == [1.0, 1.0]
    assert torch.Tensor.__new__ is object.__new__


def test_size():
    s = torch.Size([2, 3])
    assert isinstance(s, tuple)
    assert s.numel() == 6
    sums = [s + (1,), (1,) + s, s * 2, s[:1]]  # noqa: RUF005
    assert sums == [(2, 3, 1), (1, 2, 3), (2, 3, 2, 3), (2,)]
    assert all(isinstance(x, torch.Size) for x in sums)
    assert repr(s) == "torch.Size([2, 3])"


def test_limits():
    info = torch.finfo(torch.float32)
    assert (info.eps, info.max, info.tiny, info.bits, info.dtype) == (
        1.1920928955078125e-07,
        3.4028234663852886e38,
        1.1754943508222875e-38,
        32,
        "float32",
    )
    assert repr(torch.finfo()) == (
        "finfo(resolution=1e-06, min=-3.40282e+38, max=3.40282e+38, eps=1.19209e-07, "
        "smallest_normal=1.17549e-38, tiny=1.17549e-38, dtype=float32)"
    )
    assert repr(torch.finfo(torch.float64)) == (
        "finfo(resolution=1e-15, min=-1.79769e+308, max=1.79769e+308, eps=2.22045e-16, "
        "smallest_normal=2.22507e-308, tiny=2.22507e-308, dtype=float64)"
    )
    assert torch.iinfo(torch.int64).max == 2**63 - 1
    assert repr(torch.iinfo(torch.uint8)) == "iinfo(min=0, max=255, dtype=uint8)"


def test_questions():
    x, i, s = torch.ones(1), torch.tensor([1]), torch.tensor(1.0, dtype=torch.float64)
    assert torch.is_tensor(x)
    assert not torch.is_tensor(1.0)
    with torch.inference_mode():
        assert torch.is_inference(torch.ones(1))
    assert not torch.is_inference(x)
    assert (torch.is_floating_point(x), i.is_floating_point()) == (True, False)
    assert torch.result_type(x, 2) is torch.float32
    assert torch.result_type(i, 2.0) is torch.float32
    assert torch.result_type(1, 2.0) is torch.float32
    assert torch.result_type(True, False) is torch.bool
    assert torch.result_type(s, x) is torch.float32
    assert torch.promote_types(torch.uint8, torch.int8) is torch.int16
    assert torch.can_cast(torch.float64, torch.float32)
    assert not torch.can_cast(torch.float32, torch.int64)
    assert (torch.float32.itemsize, torch.uint8.is_signed) == (4, False)


def test_device():
    cpu = torch.device("cpu")
    assert (repr(cpu), str(cpu), cpu.type, cpu.index) == ("device(type='cpu')", "cpu", "cpu", None)
    assert torch.ones(1, device=cpu).device == cpu
    assert torch.ones(1).device != "cpu"
    assert len({cpu, torch.device("cpu")}) == 1
