"""Tensors as numbers, lists and arrays; other dtypes; copies; what shares memory with what."""

# ruff: noqa: E501  # rows of a table

import copy
import math
import pickle

import numpy as np
import pytest

import numeric as torch
from tests.support.cases import all_cases
from tests.support.refusals import refusing

F = torch.nn.functional


def leaf(*values, **keywords):
    return torch.tensor(list(values), requires_grad=True, **keywords)


def again(x):
    return pickle.loads(pickle.dumps(x))


ONE, TWO, BYTE = torch.tensor(1), torch.tensor(2), torch.tensor(2, dtype=torch.uint8)
TRUE, S, V, N = (
    torch.tensor(True),
    torch.tensor([1.75]),
    torch.tensor([1.0, 2.0]),
    torch.arange(3.0),
)
M, W = torch.arange(6.0).reshape(2, 3), leaf(1.0)
NOTHING, HALVES = torch.ones(0), torch.ones(2, dtype=torch.float64)
CPU = torch.device("cpu")

# Rule 60 and others: what a call gives, of that type and equal to it.
ANSWERS = {
    "item": (lambda: torch.tensor([[2]]).item(), 2),
    "item of uint8": (lambda: BYTE.item(), 2),
    "item of bool": (lambda: TRUE.item(), True),
    "item of what requires gradients": (lambda: leaf(2.5).item(), 2.5),
    "tolist of a number": (lambda: torch.tensor(1.5).tolist(), 1.5),
    "tolist": (lambda: torch.ones(2, 1).tolist(), [[1.0], [1.0]]),
    "bool": (lambda: bool(S), True),
    "bool of 0": (lambda: bool(torch.tensor([[0.0]])), False),
    "int": (lambda: int(S), 1),
    "float": (lambda: float(S), 1.75),
    "float of a leaf": (lambda: float(leaf(2.0)), 2.0),
    "complex": (lambda: complex(S), 1.75 + 0j),
    # whole numbers index lists and ranges
    "index": (lambda: [5, 6, 7][ONE], 6),
    "index of one element": (lambda: [5, 6, 7][torch.tensor([1])], 6),
    "index by a truth value": (lambda: [5, 6, 7][TRUE], 6),
    "range": (lambda: list(range(TWO)), [0, 1]),
    "repetition": (lambda: "ab" * torch.tensor(2, dtype=torch.int8), "abab"),
    # length and iteration
    "len": (lambda: len(V), 2),
    "rows": (lambda: [row.tolist() for row in torch.eye(2)], [[1.0, 0.0], [0.0, 1.0]]),
    "no rows": (lambda: list(torch.ones(0, 3)), []),
    "iteration": (lambda: list(map(int, torch.tensor([1, 2]))), [1, 2]),
    "in": (lambda: [1 in V, np.float64(2) in V, torch.tensor(2.0) in V, 3.0 in V], [True] * 3 + [False]),
    # sizes and strides
    "size": (lambda: M.size(), torch.Size([2, 3])),
    "size of one": (lambda: [M.size(0), M.size(-1), M.size(dim=1)], [2, 3, 3]),
    "stride": (lambda: M.stride(), (3, 1)),
    "stride of one": (lambda: [M.stride(0), M.stride(-1)], [3, 1]),
    "elements": (lambda: [M.numel(), M.nelement(), torch.numel(M)], [6, 6, 6]),
    "bytes": (lambda: [M.element_size(), M.itemsize, M.nbytes], [4, 4, 24]),
    "dim": (lambda: [M.dim(), M.ndimension(), M.ndim], [2, 2, 2]),
    "strides of nothing": (lambda: torch.zeros(0, 3).stride(), (3, 1)),
    "strides around nothing": (lambda: torch.zeros(3, 0, 2).stride(), (2, 2, 1)),
    "offset": (lambda: [M[1].storage_offset(), M[1].data_ptr() - M.data_ptr()], [3, 12]),
    "contiguous": (lambda: [M.is_contiguous(), M.t().is_contiguous()], [True, False]),
    "contiguous by length": (lambda: torch.zeros(3, 1, 2).transpose(0, 1).is_contiguous(), True),
    "copied in C order": (lambda: M.t().contiguous().stride(), (2, 1)),
    "cloned as it lies": (lambda: M.t().clone().stride(), (1, 3)),
    "cloned in C order": (lambda: M.t().clone(memory_format=torch.contiguous_format).stride(), (2, 1)),
    "cloned expanded": (lambda: N.expand(2, 3).clone().stride(), (3, 1)),
    "pickled as it lies": (lambda: again(torch.ones(2, 3).t()).stride(), (1, 3)),
    "detached once more": (lambda: W.detach().detach_().is_leaf, True),
    # attributes
    "device": (lambda: repr(V.device), "device(type='cpu')"),
    "get_device": (lambda: V.get_device(), -1),
    "kinds": (lambda: [V.is_cuda, V.is_sparse, V.is_complex()], [False] * 3),
    "signs": (lambda: [V.is_signed(), BYTE.is_signed()], [True, False]),
    "is_same_size": (lambda: torch.is_same_size(V, torch.zeros(2)), True),
    "_is_view": (lambda: [V._is_view(), V.view(2)._is_view(), V.detach()._is_view()], [False, True, False]),
    "type": (lambda: [t.type() for t in (W, ONE, TRUE)], [f"torch.{n}Tensor" for n in ("Float", "Long", "Bool")]),
    # NumPy
    "array of a dtype": (lambda: np.asarray(N, dtype=np.float64).dtype, np.dtype(float)),
    "array": (lambda: np.shares_memory(np.asarray(N), N.numpy()), True),
    "copied array": (lambda: np.shares_memory(np.array(N, copy=True), N.numpy()), False),
    "forced": (lambda: W.numpy(force=True).tolist(), [1.0]),
    "detached": (lambda: W.detach().numpy().tolist(), [1.0]),
    "sin": (lambda: type(np.sin(N)), torch.Tensor),
    "dtypes of functions": (lambda: [np.exp(N).dtype, np.sin(ONE).dtype, np.isnan(N).dtype],
                            [torch.float32, torch.float64, torch.uint8]),
    "shape of a function": (lambda: np.sin(torch.tensor(0.5)).shape, torch.Size([])),
    "concatenate": (lambda: type(np.concatenate([N, N])), np.ndarray),
    "product with an array": (lambda: (N * np.ones(3)).dtype, torch.float64),
    "product with a NumPy number": (lambda: (np.float64(2) * N).dtype, torch.float32),
    # other dtypes
    "to integers": (lambda: [f(leaf(-1.5, 300.0, 0.0)).tolist() for f in INTEGERS], [[-1, 300, 0]] * 4),
    "to bool": (lambda: leaf(-1.5, 300.0, 0.0).bool().tolist(), [True, True, False]),
    "bool of nan": (lambda: torch.tensor([math.nan]).bool().item(), True),
    "dtypes": (lambda: [str(t.dtype)[6:] for t in (W.int(), W.long(), W.short(), W.byte(), W.char(), ONE.float())],
               ["int32", "int64", "int16", "uint8", "int8", "float32"]),
    "clone of integers": (lambda: ONE.clone().dtype, torch.int64),
    "pickled": (lambda: [again(torch.tensor([1, 2])).dtype, again(torch.float32), again(CPU)],
                [torch.int64, torch.float32, CPU]),
}  # fmt: skip
INTEGERS = (torch.Tensor.int, torch.Tensor.long, torch.Tensor.short, lambda x: x.to(torch.int64))


@all_cases("name", ANSWERS, least=64)
def test_answers(name):
    call, expected = ANSWERS[name]
    found = call()
    assert found == expected
    assert type(found) is type(expected)


SINGLE = "only one element tensors can be converted"
INTEGER = "only integer tensors of a single element"
TRACKED = "on Tensor that requires grad"
VIEW = "Can't detach views in-place"
REFUSED = [
    *((lambda n=n: torch.ones(n).item(), RuntimeError, f"a Tensor with {n} elements cannot be converted")
      for n in (0, 2)),
    *((lambda f=f, n=n: f(torch.ones(n)), ValueError, SINGLE) for f in (int, float, complex) for n in (0, 2)),
    (lambda: int(torch.tensor(math.nan)), ValueError, "NaN"),
    (lambda: bool(torch.ones(2)), RuntimeError, "more than one value is ambiguous"),
    (lambda: bool(NOTHING), RuntimeError, "no values is ambiguous"),
    (lambda: [1, 2][torch.tensor(1.0)], TypeError, INTEGER),
    (lambda: [1, 2][torch.tensor([1, 2])], TypeError, INTEGER),
    (lambda: len(ONE), TypeError, r"len\(\) of a 0-d tensor"),
    (lambda: iter(ONE), TypeError, "iteration over a 0-d tensor"),
    *((lambda bad=bad: bad in V, RuntimeError, "only supports Tensor or scalar") for bad in ("a", None, [1.0])),
    (lambda: torch.ones(3) in V, RuntimeError, "must match"),
    *((lambda f=f: f(W), RuntimeError, TRACKED) for f in (torch.Tensor.numpy, np.asarray, np.sin)),
    (lambda: np.array(N, dtype=np.float64, copy=False), ValueError, "copy"),
    *((lambda bad=bad: W.to(bad), (TypeError, RuntimeError), None) for bad in (3, "foo")),
    (lambda: W.to(torch.float64, torch.float32), TypeError, None),
    (lambda: W.type_as(3), TypeError, "must be Tensor"),
    (lambda: W.type("foo"), ValueError, "invalid type"),
    (lambda: setattr(leaf(1.0), "data", ONE), RuntimeError, "must be floating point"),
    (lambda: setattr(leaf(1.0), "data", 3), TypeError, "has to be a tensor, but got int"),
    (lambda: W.view(1).detach_(), RuntimeError, VIEW),
    (lambda: (W * 2)[0].detach_(), RuntimeError, VIEW),
    (lambda: W.detach().view(1).detach_(), RuntimeError, VIEW),
    (lambda: copy.deepcopy(W * 2), RuntimeError, "graph leaves"),
    *((lambda f=f: f(2), IndexError, "Dimension out of range") for f in (M.size, M.stride)),
    *((lambda f=f: f("a"), TypeError, "must be int, not str") for f in (M.size, M.stride)),
    (lambda: ONE.size(0), IndexError, "tensor has no dimensions"),
]  # fmt: skip


test_refused = refusing(REFUSED)


# Memory of arrays


def test_iteration_has_one_node():
    """Rule 3."""
    a, b = leaf(1.0, 2.0)
    assert type(a.grad_fn).__name__ == "UnbindBackward0"
    assert (a.item(), b.output_nr) == (1.0, 1)


def test_numpy_shares_memory():
    """Rules 8 and 30."""
    x = torch.ones(2)
    x.numpy()[0] = 5
    assert (x.tolist(), x._version) == ([5, 1], 0)
    with torch.no_grad():
        assert W.numpy().tolist() == [1.0]
    into = np.zeros(3)
    into[:] = N
    assert into.tolist() == [0, 1, 2]


def test_other_orders_of_bytes_are_refused():
    there = np.array([1.0, 2.0], ">f8")
    message = "given numpy array has byte order different from the native byte order. Conversion "
    for make in (torch.tensor, torch.from_numpy, torch.as_tensor, torch.asarray):
        for array in (there, there.astype(">i4"), there.astype(">f2")):
            with pytest.raises(ValueError, match=message):
                make(array)
    assert torch.tensor(there[1]).item() == 2.0


def test_numpy_numbers_are_constants():
    x = leaf(1.0, 2.0)
    (np.float64(3) * x + np.float32(1)).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


# Dtypes


SAME = (
    lambda x: x.to(torch.float32), lambda x: x.to("cpu"), lambda x: x.to(CPU), lambda x: x.to(x.detach()),
    lambda x: x.cpu(), lambda x: x.float(), lambda x: x.type(torch.float32), lambda x: x.type_as(x),
    lambda x: x.type("torch.FloatTensor"), lambda x: x.to(), lambda x: x.contiguous(),
)  # fmt: skip
OTHERS = (
    lambda x: x.to(torch.float64), lambda x: x.to(dtype=torch.float64), lambda x: x.to("cpu", torch.float64),
    lambda x: x.to(device="cpu", dtype=torch.float64), lambda x: x.to(torch.float64, False, True),
    lambda x: x.to(float), lambda x: x.to(HALVES), lambda x: x.double(),
    lambda x: x.type("torch.DoubleTensor"), lambda x: x.type_as(HALVES),
)  # fmt: skip


def test_to():
    """Rule 59."""
    x = leaf(1.0, 2.0)
    assert all(f(x) is x for f in SAME)
    found = [f(x) for f in OTHERS]
    assert [(y.dtype, y.grad_fn.name()) for y in found] == [
        (torch.float64, "ToCopyBackward0")
    ] * len(OTHERS)
    y = x.to(torch.float32, copy=True)
    assert y.data_ptr() != x.data_ptr()
    assert y.grad_fn.name() == "ToCopyBackward0"


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


@pytest.mark.parametrize("convert", [*INTEGERS, torch.Tensor.bool])
def test_integers_require_no_gradients(convert):
    """Rule 5."""
    y = convert(leaf(-1.5, 300.0, 0.0))
    assert (y.requires_grad, y.grad_fn) == (False, None)


# Copies


def test_clone_saves_nothing():
    """Rules 13 and 30."""
    x = leaf(1.0, 2.0)
    y = torch.clone(x)
    y.sum().backward()
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_detach_shares_memory_and_versions():
    """Rule 29."""
    y = leaf(1.0, 2.0) * 2
    d = y.detach()
    assert d.data_ptr() == y.data_ptr()
    d.add_(1)
    assert (y.tolist(), y._version, d._version) == ([3.0, 5.0], 1, 1)


def test_setting_data():
    """Rule 29: storage and shape change, whatever the dtype of a constant; the version stays."""
    x, new = leaf(1.0, 2.0), torch.zeros(3)
    x.data = new
    assert x.data_ptr() == new.data_ptr()
    new.add_(1)
    assert (x.tolist(), x._version) == ([1, 1, 1], 0)
    x.data = HALVES
    assert x.dtype is torch.float64
    c = torch.ones(1)
    c.data = torch.tensor([1])
    assert c.dtype is torch.int64


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
    assert (y.grad.tolist(), y.note) == ([3.0, 4.0], [1])
    assert y.data_ptr() != x.data_ptr()
    assert y.grad is not x.grad
    assert y.note is not x.note
    first, second = copy.deepcopy([x, x])
    assert first is second
    assert not copy.deepcopy((x * 2).detach()).requires_grad
    (y * y).sum().backward()
    assert (y.grad.tolist(), x.grad.tolist()) == ([5.0, 8.0], [3.0, 4.0])


def test_deepcopy_keeps_strides_and_shared_memory():
    v = torch.arange(6.0).reshape(2, 3)
    a, b, c = copy.deepcopy([v, v.t(), v[1]])
    assert b.stride() == (1, 3)
    a[1, 0] = 50
    assert (b[0, 1].item(), c[0].item(), v[1, 0].item()) == (50, 50, 3)
    array = np.ones(3)
    both = copy.deepcopy([torch.from_numpy(array), array])
    assert both[1].shape == (3,)
    for x in (torch.arange(4.0)[1:3], torch.ones(0, 2), torch.arange(3.0).expand(2, 3)):
        y = copy.deepcopy(x)
        assert (y.tolist(), y.shape) == (x.tolist(), x.shape)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(protocol):
    x = leaf(1.0, 2.0, dtype=torch.float64)
    x.note = "kept"
    x.grad = torch.ones(2, dtype=torch.float64)
    y = pickle.loads(pickle.dumps(x, protocol))
    assert (y.tolist(), y.dtype, y.requires_grad) == ([1.0, 2.0], torch.float64, True)
    assert (y.note, y.grad, y.is_leaf) == ("kept", None, True)
    (y * y).sum().backward()


MASKED = np.ma.masked_array([1.0, 2.0, 3.0], [0, 1, 0])
X = torch.tensor([0.3, 0.6])
# What NumPy would compute with: real parts, the order of texts, days, what is under a mask.
NO_NUMBERS = {
    "complex": 1j,
    "an array of complex numbers": np.array([1j, 2]),
    "text": "abc",
    "bytes": b"abc",
    "an array of texts": np.array(["a", "b"]),
    "a date": np.datetime64("2020-01-01"),
    "dates": np.array(["2020-01-01", "2020-01-02"], "M8[D]"),
    "objects": np.array([None, 1.0]),
    "None": None,
    "a masked array": MASKED,
    "a record": np.zeros(2, [("a", "f4")]),
}
TAKING = {
    "median": torch.median,
    "nanmedian": torch.nanmedian,
    "clone": torch.clone,
    "relu6": F.relu6,
    "hardtanh": F.hardtanh,
    "threshold": lambda x: F.threshold(X, 0.2, x),
    "kl_div": lambda x: F.kl_div(X, x),
    "dist": lambda x: torch.dist(x, X),
    "searchsorted": lambda x: torch.searchsorted(X, x),
    "bucketize": lambda x: torch.bucketize(x, X),
    "copy_": lambda x: torch.zeros(2).copy_(x),
    "masked_fill": lambda x: X.masked_fill(X > 0, x),
    "masked_fill of integers": lambda x: X.long().masked_fill(X > 0, x),
    "setitem": lambda x: torch.zeros(3).__setitem__(0, x),
    "tensor": torch.tensor,
    "as_tensor": torch.as_tensor,
}


@pytest.mark.parametrize("taking", TAKING)
@pytest.mark.parametrize("what", NO_NUMBERS)
def test_what_is_no_number_is_refused(what, taking):
    # PyTorch's errors of one object that is not a number, and of more elements than one.
    other = RuntimeError if "tensor" in taking or "masked_fill" in taking else TypeError
    with pytest.raises((TypeError, other)):
        TAKING[taking](NO_NUMBERS[what])


test_masks_are_not_lost = refusing(
    [
        (lambda: torch.tensor(MASKED), TypeError, "masked array.*filled"),
        (lambda: torch.tensor([MASKED, MASKED]), TypeError, "masked array.*filled"),
        (lambda: torch.from_numpy(MASKED), TypeError, "masked array.*filled"),
        (lambda: X + MASKED[:2], TypeError, "masked array.*filled"),
        (lambda: torch.dist(X, 1j), TypeError, r"dist\(\): argument 'other'.*not complex"),
        (lambda: F.threshold(X, 0.2, None), TypeError, "argument 'value'.*not NoneType"),
        (lambda: torch.bucketize("abc", X), TypeError, "argument 'input'.*not str"),
    ]
)
