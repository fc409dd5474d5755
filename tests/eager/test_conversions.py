"""Tensors as numbers, lists and arrays; other dtypes; copies; what shares memory with what."""

import copy
import math
import pickle

import numpy as np
import pytest

import numeric as torch
from tests.support.refusals import refused


def leaf(*values, **keywords):
    return torch.tensor(list(values), requires_grad=True, **keywords)


# Numbers, lists, arrays


def test_item_and_tolist():
    """Rule 60."""
    assert torch.tensor([[2]]).item() == 2
    assert type(torch.tensor(2, dtype=torch.uint8).item()) is int
    assert type(torch.tensor(True).item()) is bool
    assert leaf(2.5).item() == 2.5
    assert torch.tensor(1.5).tolist() == 1.5
    assert torch.ones(2, 1).tolist() == [[1.0], [1.0]]
    for n in (0, 2):
        with pytest.raises(RuntimeError, match=f"a Tensor with {n} elements cannot be converted"):
            torch.ones(n).item()


def test_python_numbers():
    """Rule 60."""
    s = torch.tensor([1.75])
    assert (bool(s), int(s), float(s), complex(s)) == (True, 1, 1.75, 1.75 + 0j)
    assert not bool(torch.tensor([[0.0]]))
    assert float(leaf(2.0)) == 2.0
    for convert in (int, float, complex):
        for n in (0, 2):
            with pytest.raises(ValueError, match="only one element tensors can be converted"):
                convert(torch.ones(n))
    refused(
        (ValueError, "NaN", lambda: int(torch.tensor(math.nan))),
        (RuntimeError, "more than one value is ambiguous", lambda: bool(torch.ones(2))),
        (RuntimeError, "no values is ambiguous", lambda: bool(torch.ones(0))),
    )


def test_index():
    """Rule 60: whole numbers index lists and ranges."""
    one = torch.tensor(1)
    assert [5, 6, 7][one] == [5, 6, 7][torch.tensor([1])] == [5, 6, 7][torch.tensor(True)] == 6
    assert list(range(torch.tensor(2))) == [0, 1]
    assert "ab" * torch.tensor(2, dtype=torch.int8) == "abab"
    for bad in (torch.tensor(1.0), torch.tensor([1, 2])):
        with pytest.raises(TypeError, match="only integer tensors of a single element"):
            [1, 2][bad]


def test_length_and_iteration():
    """Rule 60, and rule 3: what iteration gives has one node."""
    x = leaf(1.0, 2.0)
    a, b = x
    assert len(x) == 2
    assert type(a.grad_fn).__name__ == "UnbindBackward0"
    assert (a.item(), b.output_nr) == (1.0, 1)
    assert [row.tolist() for row in torch.eye(2)] == [[1, 0], [0, 1]]
    assert list(torch.ones(0, 3)) == []
    assert torch.tensor([1, 2]).tolist() == list(map(int, torch.tensor([1, 2])))
    s = torch.tensor(1.0)
    refused(
        (TypeError, "len\\(\\) of a 0-d tensor", lambda: len(s)),
        (TypeError, "iteration over a 0-d tensor", lambda: iter(s)),
    )


def test_contains():
    x = torch.tensor([1.0, 2.0])
    assert 1 in x
    assert np.float64(2) in x
    assert torch.tensor(2.0) in x
    assert 3.0 not in x
    for bad in ("a", None, [1.0]):
        with pytest.raises(RuntimeError, match="only supports Tensor or scalar"):
            bad in x  # noqa: B015
    with pytest.raises(RuntimeError, match="must match"):
        torch.ones(3) in x  # noqa: B015


def test_numpy():
    """Rules 8 and 30."""
    x = torch.ones(2)
    x.numpy()[0] = 5
    assert x.tolist() == [5, 1]
    assert x._version == 0
    w = leaf(1.0)
    for convert in (torch.Tensor.numpy, np.asarray, np.sin):
        with pytest.raises(RuntimeError, match="on Tensor that requires grad"):
            convert(w)
    with torch.no_grad():
        assert w.numpy().tolist() == [1.0]
    assert w.numpy(force=True).tolist() == w.detach().numpy().tolist() == [1.0]


def test_numpy_protocol():
    m = torch.arange(3.0)
    assert np.asarray(m) is m.numpy() or np.shares_memory(np.asarray(m), m.numpy())
    assert np.asarray(m, dtype=np.float64).dtype == np.float64
    assert not np.shares_memory(np.array(m, copy=True), m.numpy())
    with pytest.raises(ValueError, match="copy"):
        np.array(m, dtype=np.float64, copy=False)
    assert isinstance(np.sin(m), torch.Tensor)
    assert np.exp(m).dtype is torch.float32
    assert np.sin(torch.tensor([1, 2])).dtype is torch.float64
    assert np.isnan(m).dtype is torch.uint8
    assert np.sin(torch.tensor(0.5)).shape == ()
    assert isinstance(np.concatenate([m, m]), np.ndarray)
    into = np.zeros(3)
    into[:] = m
    assert into.tolist() == [0, 1, 2]


def test_numpy_operands():
    m = torch.arange(3.0)
    product = m * np.ones(3)
    assert isinstance(product, torch.Tensor)
    assert product.dtype is torch.float64
    assert isinstance(np.float64(2) * m, torch.Tensor)
    assert (np.float64(2) * m).dtype is torch.float32
    x = leaf(1.0, 2.0)
    (np.float64(3) * x + np.float32(1)).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


# Dtypes


def test_to():
    """Rule 59."""
    x = leaf(1.0, 2.0)
    same = (x.to(torch.float32), x.to("cpu"), x.to(torch.device("cpu")), x.to(x.detach()), x.cpu())
    same += (x.float(), x.type(torch.float32), x.type_as(x), x.type("torch.FloatTensor"), x.to())
    assert all(y is x for y in same)
    doubles = (
        x.to(torch.float64),
        x.to(dtype=torch.float64),
        x.to("cpu", torch.float64),
        x.to(device="cpu", dtype=torch.float64),
        x.to(torch.float64, False, True),
        x.to(float),
        x.to(torch.ones(1, dtype=torch.float64)),
        x.double(),
        x.type("torch.DoubleTensor"),
        x.type_as(torch.ones(1, dtype=torch.float64)),
    )
    for y in doubles:
        assert y.dtype is torch.float64
        assert y.grad_fn.name() == "ToCopyBackward0"
    y = x.to(torch.float32, copy=True)
    assert y is not x
    assert y.data_ptr() != x.data_ptr()
    assert y.grad_fn.name() == "ToCopyBackward0"
    for bad in (3, "foo"):
        with pytest.raises((TypeError, RuntimeError)):
            x.to(bad)
    refused(
        (TypeError, None, lambda: x.to(torch.float64, torch.float32)),
        (TypeError, "must be Tensor", lambda: x.type_as(3)),
        (ValueError, "invalid type", lambda: x.type("foo")),
    )


def test_conversions_are_differentiable():
    """Rule 59: gradients come back in the dtype of the source."""
    x = leaf(1.0, 2.0)
    (x.double() * torch.tensor([0.1, 0.2], dtype=torch.float64)).sum().backward()
    assert x.grad.dtype is torch.float32
    assert x.grad.tolist() == [np.float32(0.1), np.float32(0.2)]
    y = x.half()
    for _ in range(2):  # rule 13: casts save nothing
        y.backward(torch.ones(2))
    assert x.grad.tolist() == [np.float32(0.1) + 2, np.float32(0.2) + 2]


def test_conversions_to_integers():
    """Rule 5: integer and bool results never require grad."""
    x = leaf(-1.5, 300.0, 0.0)
    for y, values in (
        (x.int(), [-1, 300, 0]),
        (x.long(), [-1, 300, 0]),
        (x.short(), [-1, 300, 0]),
        (x.bool(), [True, True, False]),
        (x.to(torch.int64), [-1, 300, 0]),
    ):
        assert y.tolist() == values
        assert not y.requires_grad
        assert y.grad_fn is None
    assert torch.tensor([math.nan]).bool().item() is True
    assert [str(t.dtype)[6:] for t in (x.int(), x.long(), x.short(), x.byte(), x.char())] == [
        "int32", "int64", "int16", "uint8", "int8",
    ]  # fmt: skip
    assert torch.tensor([1]).float().dtype is torch.float32


def test_type_names():
    assert leaf(1.0).type() == "torch.FloatTensor"
    assert torch.tensor([1]).type() == "torch.LongTensor"
    assert torch.tensor(True).type() == "torch.BoolTensor"


# Copies


def test_clone():
    """Rules 13 and 30: differentiable, saves nothing."""
    x = leaf(1.0, 2.0)
    y = torch.clone(x)
    assert y.grad_fn.name() == "CloneBackward0"
    assert y.data_ptr() != x.data_ptr()
    y.sum().backward()
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    m = torch.arange(6.0).reshape(2, 3)
    assert m.t().clone().stride() == (1, 3)
    assert m.t().clone(memory_format=torch.contiguous_format).stride() == (2, 1)
    assert torch.arange(3.0).expand(2, 3).clone().stride() == (3, 1)
    assert torch.tensor([1]).clone().dtype is torch.int64


def test_detach():
    """Rule 29: shares memory and versions."""
    x = leaf(1.0, 2.0)
    y = x * 2
    d = y.detach()
    assert d.is_leaf
    assert not d.requires_grad
    assert d.data_ptr() == y.data_ptr()
    d.add_(1)
    assert (y._version, d._version) == (1, 1)
    assert y.tolist() == [3.0, 5.0]
    z = x * 1
    w = z * z
    z.detach().mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        w.sum().backward()


def test_data():
    """Rule 29: shares memory, with its own versions; silently wrong gradients."""
    x = leaf(1.0, 2.0)
    y = x * x
    x.data.mul_(10)
    assert x._version == 0
    assert not x.data.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [20.0, 40.0]


def test_setting_data():
    """Rule 29: storage and shape change, version, leaf and flag stay."""
    x = leaf(1.0, 2.0)
    with torch.no_grad():
        x.add_(1)
    new = torch.zeros(3)
    x.data = new
    assert (x._version, x.is_leaf, x.requires_grad, x.shape) == (1, True, True, (3,))
    assert x.data_ptr() == new.data_ptr()
    new.add_(1)
    assert (x.tolist(), x._version) == ([1, 1, 1], 1)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]
    x.data = torch.ones(2, dtype=torch.float64)
    assert x.dtype is torch.float64
    with pytest.raises(RuntimeError, match="must be floating point"):
        x.data = torch.tensor([1])
    with pytest.raises(TypeError, match="has to be a tensor, but got int"):
        x.data = 3
    c = torch.ones(1)
    c.data = torch.tensor([1])
    assert c.dtype is torch.int64


def test_detach_():
    """Rule 30."""
    x = leaf(1.0, 2.0)
    y = x * 2
    assert y.detach_() is y
    assert (y.is_leaf, y.requires_grad, y.grad_fn) == (True, False, None)
    y.requires_grad_()
    y.sum().backward()
    assert x.grad is None
    assert y.grad.tolist() == [1, 1]
    x.detach().detach_()
    for view in (x.view(2), (x * 2)[0], x.detach().view(2)):
        with pytest.raises(RuntimeError, match="Can't detach views in-place"):
            view.detach_()
    assert not x.detach_().requires_grad


def test_copy():
    """Rule 7: equality of tensors is elementwise, their hash is identity."""
    x = leaf(1.0, 2.0)
    x.grad = torch.ones(2)
    x.note = [1]
    y = copy.copy(x)
    assert hash(x) == id(x) != hash(y)
    assert (y.requires_grad, y.grad, y.data_ptr()) == (True, None, x.data_ptr())
    assert y.note is x.note
    assert copy.copy(x * 2).is_leaf


def test_deepcopy():
    """Rule 7: keeps requires_grad and grad; leaves only."""
    x = leaf(1.0, 2.0)
    x.grad = torch.tensor([3.0, 4.0])
    x.note = [1]
    y = copy.deepcopy(x)
    assert (y.tolist(), y.requires_grad, y.is_leaf) == ([1.0, 2.0], True, True)
    assert y.data_ptr() != x.data_ptr()
    assert y.grad.tolist() == [3.0, 4.0]
    assert y.grad is not x.grad
    assert y.note == [1]
    assert y.note is not x.note
    first, second = copy.deepcopy([x, x])
    assert first is second
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(x * 2)
    assert not copy.deepcopy((x * 2).detach()).requires_grad
    (y * y).sum().backward()
    assert y.grad.tolist() == [5.0, 8.0]
    assert x.grad.tolist() == [3.0, 4.0]


def test_deepcopy_keeps_strides_and_shared_memory():
    v = torch.arange(6.0).reshape(2, 3)
    a, b, c = copy.deepcopy([v, v.t(), v[1]])
    assert b.stride() == (1, 3)
    a[1, 0] = 50
    assert (b[0, 1].item(), c[0].item()) == (50, 50)
    assert v[1, 0].item() == 3
    assert copy.deepcopy(torch.arange(4.0)[1:3]).tolist() == [1, 2]
    assert copy.deepcopy(torch.ones(0, 2)).shape == (0, 2)
    assert copy.deepcopy(torch.arange(3.0).expand(2, 3)).tolist() == [[0, 1, 2], [0, 1, 2]]
    array = np.ones(3)
    both = copy.deepcopy([torch.from_numpy(array), array])
    assert both[1].shape == (3,)


def test_pickle():
    x = leaf(1.0, 2.0, dtype=torch.float64)
    x.note = "kept"
    x.grad = torch.ones(2, dtype=torch.float64)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        y = pickle.loads(pickle.dumps(x, protocol))
        assert (y.tolist(), y.dtype, y.requires_grad) == ([1.0, 2.0], torch.float64, True)
        assert (y.note, y.grad, y.is_leaf) == ("kept", None, True)
        (y * y).sum().backward()
    i = pickle.loads(pickle.dumps(torch.tensor([1, 2])))
    assert (i.dtype, i.requires_grad) == (torch.int64, False)
    assert pickle.loads(pickle.dumps(torch.ones(2, 3).t())).stride() == (1, 3)
    assert pickle.loads(pickle.dumps(torch.float32)) is torch.float32
    assert pickle.loads(pickle.dumps(torch.device("cpu"))) == torch.device("cpu")


# Memory


def test_sizes_and_strides():
    m = torch.arange(6.0).reshape(2, 3)
    assert isinstance(m.size(), torch.Size)
    assert (m.size(), m.size(0), m.size(-1), m.size(dim=1)) == ((2, 3), 2, 3, 3)
    assert (m.stride(), m.stride(0), m.stride(-1)) == ((3, 1), 3, 1)
    assert (m.numel(), m.nelement(), torch.numel(m)) == (6, 6, 6)
    assert (m.element_size(), m.itemsize, m.nbytes) == (4, 4, 24)
    assert (m.dim(), m.ndimension(), m.ndim) == (2, 2, 2)
    assert torch.zeros(0, 3).stride() == (3, 1)
    assert torch.zeros(3, 0, 2).stride() == (2, 2, 1)
    assert (m[1].storage_offset(), m[1].data_ptr() - m.data_ptr()) == (3, 12)
    for call in (m.size, m.stride):
        with pytest.raises(IndexError, match="Dimension out of range"):
            call(2)
        with pytest.raises(TypeError, match="must be int, not str"):
            call("a")
    with pytest.raises(IndexError, match="tensor has no dimensions"):
        torch.tensor(1.0).size(0)


def test_contiguous():
    m = torch.arange(6.0, requires_grad=True).reshape(2, 3)
    assert m.contiguous() is m
    assert m.is_contiguous()
    t = m.t()
    assert not t.is_contiguous()
    c = t.contiguous()
    assert (c.is_contiguous(), c.stride()) == (True, (2, 1))
    assert c.grad_fn.name() == "CloneBackward0"
    assert torch.zeros(3, 1, 2).transpose(0, 1).is_contiguous()


def test_attributes():
    m = torch.ones(2)
    assert repr(m.device) == "device(type='cpu')"
    assert (m.is_cuda, m.is_sparse, m.is_complex(), m.is_signed()) == (False, False, False, True)
    assert not torch.tensor(1, dtype=torch.uint8).is_signed()
    assert torch.is_same_size(m, torch.zeros(2))
    assert m.get_device() == -1
    assert (m._is_view(), m.view(2)._is_view(), m.detach()._is_view()) == (False, True, False)
