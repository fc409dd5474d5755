"""Rules 1-8: what is recorded, and by which nodes."""

import copy

import numpy as np
import pytest

from tests.eager.chosen import check, leaf, names, torch
from tests.support.cases import all_cases
from tests.support.refusals import refused
from tests.support.tensor_checks import check_backward, check_constant, check_leaf

# Rule 1 -------------------------------------------------------------------------------------------


def test_requires_grad_spreads_from_any_operand():
    """Rule 1: a result requires grad if some operand does."""
    x, c = leaf([1.0]), leaf([2.0], requires_grad=False)
    assert all(y.requires_grad for y in (x * c, c * x, x * x, x * 2, 2 * x))
    assert not any(y.requires_grad for y in (c * c, c * 2))


def test_requires_grad_needs_grad_mode():
    """Rule 1: nothing requires grad that was computed with grad mode off."""
    x = leaf([1.0])
    with torch.no_grad():
        y = x * 2
    check_constant(y)
    check_constant(y * 2)


def test_requires_grad_does_not_retrofit():
    """Rule 1: ``requires_grad_`` later leaves earlier results as they are."""
    x = leaf([1.0], requires_grad=False)
    y = x * 2
    x.requires_grad_()
    z = x * 3
    check_constant(y)
    check_backward(z.sum(), (x, [3.0]))


def test_requires_grad_setter():
    """Rule 1: the attribute can be set on a leaf, both ways."""
    x = leaf([1.0], requires_grad=False)
    x.requires_grad = True
    assert (x * 2).requires_grad
    x.requires_grad = False
    assert not (x * 2).requires_grad


# Rule 2 -------------------------------------------------------------------------------------------


def test_leaf_is_what_has_no_grad_fn():
    """Rule 2: leaf = ``grad_fn is None``; constants, and results of constants, are leaves."""
    x, c = leaf([1.0]), leaf([1.0], requires_grad=False)
    y = x * 2
    check_leaf(x)
    check_constant(c)
    check_constant(c * 2)
    assert not y.is_leaf
    assert y.grad_fn is not None


def test_grad_fn_is_stable():
    """Rule 2: the same object each time."""
    x = leaf([1.0])
    y = x * 2
    assert y.grad_fn is y.grad_fn
    z = x.reshape(1, 1)
    assert z.grad_fn is z.grad_fn


def test_next_functions_lead_to_operands():
    """Rule 2: a tuple of pairs (function, output index), one per operand, in order."""
    x, w = leaf([1.0]), leaf([2.0])
    a, b = x.exp(), w.sin()
    y = a * b
    nexts = y.grad_fn.next_functions
    assert isinstance(nexts, tuple)
    assert [n for _, n in nexts] == [0, 0]
    assert nexts[0][0] is a.grad_fn
    assert nexts[1][0] is b.grad_fn


def test_next_functions_of_constants():
    """Rule 2: None for an operand that does not require grad, a number among them."""
    x, c = leaf([1.0]), leaf([2.0], requires_grad=False)
    for y in (x * c, x + c, x * 2):
        end, constant = y.grad_fn.next_functions
        assert end[0].variable is x
        assert constant == (None, 0)
    assert (c * x).grad_fn.next_functions[0] == (None, 0)


def test_output_index_in_next_functions():
    """Rule 2: the index says which output of a function was used."""
    x = leaf([1.0, 2.0, 3.0])
    _, _, c = x.unbind()
    assert c.sin().grad_fn.next_functions == ((c.grad_fn, 2),)


def test_accumulate_grad_is_shared():
    """Rule 2: a leaf appears as one AccumulateGrad node, wherever it is used."""
    x = leaf([1.0])
    y, z = x.sin(), x * x
    end = y.grad_fn.next_functions[0][0]
    assert z.grad_fn.next_functions == ((end, 0), (end, 0))
    assert type(end).__name__ == "AccumulateGrad"
    assert end.name() == "torch::autograd::AccumulateGrad"
    assert end.variable is x
    assert end.next_functions == ()


def test_accumulate_grad_of_two_leaves():
    """Rule 2: each leaf has its own."""
    x, w = leaf([1.0]), leaf([1.0])
    (a, _), (b, _) = (x * w).grad_fn.next_functions
    assert a is not b
    assert a.variable is x
    assert b.variable is w


# Rule 3 -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "split",
    [
        lambda x: x.unbind(0),
        lambda x: x.chunk(3),
        lambda x: x.split(1),
        lambda x: torch.split(x, [1, 1, 1]),
        lambda x: torch.chunk(x, 3),
        lambda x: torch.unbind(x),
    ],
)
def test_outputs_share_a_grad_fn(split):
    """Rule 3: one node, outputs numbered, unused outputs contribute zeros."""
    x = leaf([1.0, 2.0, 3.0])
    parts = split(x)
    assert isinstance(parts, tuple)
    assert [p.output_nr for p in parts] == [0, 1, 2]
    assert all(p.grad_fn is parts[0].grad_fn for p in parts)
    check_backward((parts[1] * 5).sum(), (x, [0.0, 5.0, 0.0]))


def test_var_mean_shares_a_grad_fn():
    """Rule 3: var_mean is one node with two outputs."""
    x = leaf([1.0, 2.0, 6.0])
    var, mean = torch.var_mean(x)
    assert var.grad_fn is mean.grad_fn
    assert (var.output_nr, mean.output_nr) == (0, 1)
    check(var, 7.0)
    check(mean, 3.0)
    check_backward(mean, (x, [1 / 3] * 3), retain_graph=True)
    x.grad = None
    check_backward(var, (x, [-2.0, -1.0, 3.0]))


def test_output_nr_of_single_results():
    """Rule 3: leaves and single results have output_nr 0."""
    x = leaf([1.0])
    assert x.output_nr == 0
    assert (x * 2).output_nr == 0


# Rule 4 -------------------------------------------------------------------------------------------

NAMES = {
    "MulBackward0": lambda x: x * x,
    "AddBackward0": lambda x: x + x,
    "SubBackward0": lambda x: x - x,
    "DivBackward0": lambda x: x / x,
    "PowBackward0": lambda x: x**2,
    "PowBackward1": lambda x: x**x,
    "NegBackward0": lambda x: -x,
    "SumBackward0": lambda x: x.sum(),
    "SumBackward1": lambda x: x.sum(0),
    "MeanBackward0": lambda x: x.mean(),
    "MeanBackward1": lambda x: x.mean(dim=1),
    "ExpBackward0": lambda x: x.exp(),
    "LogBackward0": lambda x: torch.log(x),
    "MmBackward0": lambda x: x @ x,
    "MvBackward0": lambda x: x @ x[0],
    "DotBackward0": lambda x: x[0] @ x[1],
    "BmmBackward0": lambda x: torch.bmm(x[None], x[None]),
    "ViewBackward0": lambda x: x.view(4),
    "TBackward0": lambda x: x.t(),
    "TransposeBackward0": lambda x: x.transpose(0, 1),
    "PermuteBackward0": lambda x: x.permute(1, 0),
    "UnsqueezeBackward0": lambda x: x.unsqueeze(0),
    "SqueezeBackward0": lambda x: x.squeeze(),
    "ExpandBackward0": lambda x: x.expand(3, 2, 2),
    "SelectBackward0": lambda x: x[0],
    "SliceBackward0": lambda x: x[0:1],
    "IndexBackward0": lambda x: x[torch.tensor([0, 1])],
    "ReluBackward0": lambda x: x.relu(),
    "SigmoidBackward0": lambda x: x.sigmoid(),
    "TanhBackward0": lambda x: x.tanh(),
    "SinBackward0": lambda x: x.sin(),
    "CosBackward0": lambda x: x.cos(),
    "SqrtBackward0": lambda x: x.sqrt(),
    "AbsBackward0": lambda x: x.abs(),
    "ClampBackward1": lambda x: x.clamp(0.0, 1.0),
    "CatBackward0": lambda x: torch.cat([x, x]),
    "StackBackward0": lambda x: torch.stack([x, x]),
    "CloneBackward0": lambda x: x.clone(),
    "WhereBackward0": lambda x: torch.where(x > 0, x, -x),
    "MaxBackward0": lambda x: x.max(dim=0).values,
    "MaxBackward1": lambda x: x.max(),
    "MaximumBackward0": lambda x: torch.maximum(x, x),
    "ProdBackward0": lambda x: x.prod(),
    "SoftmaxBackward0": lambda x: x.softmax(0),
    "LogSoftmaxBackward0": lambda x: x.log_softmax(0),
    "ToCopyBackward0": lambda x: x.to(torch.float32),
    "UnbindBackward0": lambda x: x.unbind()[0],
    "SplitBackward0": lambda x: x.split(1)[0],
    "GatherBackward0": lambda x: x.gather(0, torch.tensor([[0, 1]])),
    "CumsumBackward0": lambda x: x.cumsum(0),
    "CumprodBackward0": lambda x: x.cumprod(0),
    "RsqrtBackward0": lambda x: x.rsqrt(),
    "ReciprocalBackward0": lambda x: x.reciprocal(),
    "Expm1Backward0": lambda x: x.expm1(),
    "Log1PBackward0": lambda x: x.log1p(),
    "Log2Backward0": lambda x: torch.log2(x),
    "Log10Backward0": lambda x: torch.log10(x),
    "Exp2Backward0": lambda x: torch.exp2(x),
    "TanBackward0": lambda x: x.tan(),
    "AtanBackward0": lambda x: torch.atan(x),
    "Atan2Backward0": lambda x: torch.atan2(x, x),
    "SinhBackward0": lambda x: torch.sinh(x),
    "CoshBackward0": lambda x: torch.cosh(x),
    "ErfBackward0": lambda x: torch.erf(x),
    "FloorBackward0": lambda x: x.floor(),
    "RoundBackward0": lambda x: x.round(),
    "SignBackward0": lambda x: x.sign(),
    "PowBackward2": lambda x: 2**x,
    "DivBackward2": lambda x: x.div(2, rounding_mode="floor"),
    "RemainderBackward0": lambda x: x % 2,
    "RemainderBackward1": lambda x: x % x,
    "FmodBackward0": lambda x: torch.fmod(x, 2),
    "AddcmulBackward0": lambda x: torch.addcmul(x, x, x),
    "AddmmBackward0": lambda x: torch.addmm(x, x, x),
    "LerpBackward0": lambda x: torch.lerp(x, 2 * x, 0.5),
    "ClampBackward0": lambda x: x.clamp(x, 2 * x),
    "ClampMinBackward0": lambda x: x.clamp_min(0),
    "MinBackward1": lambda x: x.min(),
    "MinimumBackward0": lambda x: torch.minimum(x, x),
    "AmaxBackward0": lambda x: x.amax(0),
    "MedianBackward0": lambda x: x.median(),
    "SortBackward0": lambda x: x.sort().values,
    "TopkBackward0": lambda x: x.topk(1).values,
    "VarBackward0": lambda x: x.var(),
    "StdBackward0": lambda x: x.std(),
    "ProdBackward1": lambda x: x.prod(0),
    "LogsumexpBackward0": lambda x: x.logsumexp(0),
    "LinalgVectorNormBackward0": lambda x: x.norm(),
    "TraceBackward0": lambda x: x.trace(),
    "TrilBackward0": lambda x: x.tril(),
    "TriuBackward0": lambda x: x.triu(),
    "DiagonalBackward0": lambda x: x.diagonal(),
    "FlipBackward0": lambda x: x.flip(0),
    "RollBackward0": lambda x: x.roll(1, 0),
    "RepeatBackward0": lambda x: x.repeat(2, 1),
    "UnfoldBackward0": lambda x: x.unfold(0, 1, 1),
    "MaskedFillBackward0": lambda x: x.masked_fill(x > 1, 0.0),
    "ScatterBackward0": lambda x: x.scatter(0, torch.tensor([[0]]), x),
    "ScatterAddBackward0": lambda x: x.scatter_add(0, torch.tensor([[0]]), x),
    "IndexSelectBackward0": lambda x: x.index_select(0, torch.tensor([0])),
    "IndexAddBackward0": lambda x: x.index_add(0, torch.tensor([0]), x[:1]),
    "MseLossBackward0": lambda x: torch.nn.functional.mse_loss(x, 2 * x),
    "NllLossBackward0": lambda x: torch.nn.functional.cross_entropy(x, torch.tensor([0, 1])),
    "LeakyReluBackward0": lambda x: torch.nn.functional.leaky_relu(x),
    "EluBackward0": lambda x: torch.nn.functional.elu(x),
    "GeluBackward0": lambda x: torch.nn.functional.gelu(x),
    "SoftplusBackward0": lambda x: torch.nn.functional.softplus(x),
    "SiluBackward0": lambda x: torch.nn.functional.silu(x),
}


@all_cases("name", NAMES, least=108)
def test_node_names(name):
    """Rule 4: the class of the node, and ``name()``, are PyTorch's."""
    fn = NAMES[name](leaf([[1.0, 2.0], [3.0, 4.0]])).grad_fn
    assert type(fn).__name__ == name
    assert fn.name() == name


def test_node_repr():
    """Rule 4: a node prints as its name and address."""
    text = repr((leaf([1.0]) + 1).grad_fn)
    assert text.startswith("<AddBackward0 object at 0x")
    assert text.endswith(">")


def test_reflected_operators_have_the_same_names():
    """Rule 4: ``2 * x``, ``2 + x`` are ``x * 2``, ``x + 2``; ``1 - x`` is RsubBackward1."""
    x = leaf([2.0])
    assert names(2 * x)[0] == "MulBackward0"
    assert names(2 + x)[0] == "AddBackward0"
    assert names(2 - x)[0] == "RsubBackward1"
    assert names(1 / x)[:2] == ["MulBackward0", "ReciprocalBackward0"]


def test_names_of_a_chain():
    """Rule 4: the record of a small program, name by name."""
    x, w = leaf([[1.0, 2.0]]), leaf([[1.0], [2.0]])
    y = (x @ w).tanh().sum()
    assert names(y) == [
        "SumBackward0",
        "TanhBackward0",
        "MmBackward0",
        "AccumulateGrad",
        "AccumulateGrad",
    ]


OPERANDS = {
    "addcmul": (lambda x, w, c: torch.addcmul(x, c, w), ["x", None, "w"]),
    "addmm": (lambda x, w, c: torch.addmm(c, x, w), [None, "x", "w"]),
    "where": (lambda x, w, c: torch.where(c > 0, x, w), ["x", "w"]),
    "where of a number": (lambda x, w, c: torch.where(c > 0, x, 1.0), ["x", None]),
    "cat": (lambda x, w, c: torch.cat([x, c, w, x]), ["x", None, "w", "x"]),
    "stack": (lambda x, w, c: torch.stack([c, w]), [None, "w"]),
    "maximum": (lambda x, w, c: torch.maximum(c, x), [None, "x"]),
    "pow of a number": (lambda x, w, c: x**2, ["x"]),
    "add a number": (lambda x, w, c: x + 1, ["x", None]),
    "sub a number": (lambda x, w, c: x - 1, ["x", None]),
    "rsub": (lambda x, w, c: 1 - x, ["x"]),
    "div by a number": (lambda x, w, c: x / 2, ["x", None]),
    "mm": (lambda x, w, c: c @ w, [None, "w"]),
    "gather": (lambda x, w, c: x.gather(0, torch.tensor([[0, 1]])), ["x"]),
    "index": (lambda x, w, c: x[torch.tensor([0])], ["x"]),
    "masked_fill": (lambda x, w, c: x.masked_fill(c > 0, 1.0), ["x"]),
    "mse_loss": (lambda x, w, c: torch.nn.functional.mse_loss(x, c), ["x", None]),
    "lerp": (lambda x, w, c: torch.lerp(x, w, 0.5), ["x", "w"]),
    "clamp": (lambda x, w, c: x.clamp(c, w), ["x", None, "w"]),
    "sum": (lambda x, w, c: x.sum(1), ["x"]),
    "sort": (lambda x, w, c: x.sort().values, ["x"]),
}


@pytest.mark.parametrize("name", OPERANDS)
def test_next_functions_name_the_operands(name):
    """Rule 2: which operands have an entry, in which order, and where it is None."""
    f, expected = OPERANDS[name]
    x, w = leaf([[1.0, 2.0], [3.0, 4.0]]), leaf([[2.0, 2.0], [2.0, 2.0]])
    c = torch.ones(2, 2).double()
    found = []
    for fn, number in f(x, w, c).grad_fn.next_functions:
        assert number == 0
        found.append(None if fn is None else "x" if fn.variable is x else "w")
    assert found == expected


# Rule 5 -------------------------------------------------------------------------------------------

NEVER = {
    "lt": lambda x: x < 1,
    "le": lambda x: x <= 1,
    "gt": lambda x: x > 1,
    "ge": lambda x: x >= 1,
    "eq": lambda x: x == 1,
    "ne": lambda x: x != 1,
    "torch.eq": lambda x: torch.eq(x, x),
    "argmax": lambda x: x.argmax(),
    "argmin": lambda x: x.argmin(),
    "argsort": lambda x: x.argsort(),
    "indices of max": lambda x: x.max(dim=0).indices,
    "indices of sort": lambda x: x.sort().indices,
    "indices of topk": lambda x: x.topk(2).indices,
    "isnan": lambda x: x.isnan(),
    "isinf": lambda x: torch.isinf(x),
    "isfinite": lambda x: torch.isfinite(x),
    "signbit": lambda x: torch.signbit(x),
    "logical_not": lambda x: torch.logical_not(x),
    "count_nonzero": lambda x: torch.count_nonzero(x),
    "nonzero": lambda x: x.nonzero(),
    "int": lambda x: x.int(),
    "long": lambda x: x.long(),
    "bool": lambda x: x.bool(),
    "to": lambda x: x.to(torch.int64),
    "any": lambda x: x.any(),
    "all": lambda x: x.all(),
    "isclose": lambda x: torch.isclose(x, x),
}


@pytest.mark.parametrize("name", NEVER)
def test_never_requires_grad(name):
    """Rules 1, 5: comparisons, indices, integer and bool results do not require grad."""
    check_constant(NEVER[name](leaf([0.0, 1.0, 2.0])))


@pytest.mark.parametrize("name", ["floor", "ceil", "round", "trunc", "sign"])
def test_steps_require_grad(name):
    """Rule 5: floor, ceil, round, trunc and sign require grad, and their gradient is 0."""
    x = leaf([-1.5, 0.0, 0.5, 2.0])
    y = getattr(torch, name)(x)
    assert y.requires_grad
    check_backward(y.sum(), (x, [0.0, 0.0, 0.0, 0.0]))


# Rule 6 -------------------------------------------------------------------------------------------


def test_requires_grad_off_on_a_non_leaf():
    """Rule 6: to set it on a non-leaf is refused, True as well; ``requires_grad_()`` is a no-op."""
    y = leaf([1.0]) * 2
    fn = y.grad_fn
    refused(
        (RuntimeError, "leaf variables", lambda: y.requires_grad_(False)),
        (RuntimeError, "leaf variables", lambda: setattr(y, "requires_grad", False)),
        (RuntimeError, "leaf variables", lambda: setattr(y, "requires_grad", True)),
    )
    assert y.requires_grad_() is y
    assert y.requires_grad
    assert y.grad_fn is fn


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "bool"])
def test_requires_grad_of_integers(dtype):
    """Rule 6: dtypes that are not floating cannot require grad, in factories neither."""
    dtype = getattr(torch, dtype)
    x, message = torch.ones(2).to(dtype), "floating point"
    refused(
        (RuntimeError, message, x.requires_grad_),
        (RuntimeError, message, lambda: setattr(x, "requires_grad", True)),
        (RuntimeError, message, lambda: torch.zeros(2, dtype=dtype, requires_grad=True)),
        (RuntimeError, message, lambda: torch.tensor([1, 0], dtype=dtype, requires_grad=True)),
    )
    assert not x.requires_grad_(False).requires_grad


def test_requires_grad_returns_the_tensor():
    """Rules 1, 6: tensors require nothing at first; ``requires_grad_`` returns its tensor."""
    x = torch.ones(2)
    check_constant(x)
    for flag in (True, True, False):
        assert x.requires_grad_(flag) is x
        assert x.requires_grad is flag
    assert x.requires_grad_().requires_grad


# Rule 7 -------------------------------------------------------------------------------------------


def test_hash_is_identity():
    """Rule 7: equal tensors are different keys."""
    a, b = torch.ones(2), torch.ones(2)
    assert hash(a) == id(a)
    assert len({a, b, a}) == 2
    assert {a: 1, b: 2}[b] == 2


def test_equality_is_elementwise():
    """Rule 7: ``==`` and ``!=`` give bool tensors."""
    a, b = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 3.0])
    assert (a == b).tolist() == [True, False]
    assert (a != b).tolist() == [False, True]
    assert (a == b).dtype == torch.bool
    assert (a == 2).tolist() == [False, True]


def test_deepcopy_of_a_leaf():
    """Rule 7: a deep copy keeps requires_grad and ``.grad``, and shares nothing."""
    x = leaf([1.0, 2.0])
    (x * 3).sum().backward()
    y = copy.deepcopy(x)
    assert y is not x
    check_leaf(y)
    check(y.grad, [3.0, 3.0])
    with torch.no_grad():
        y.add_(1)
        y.grad.zero_()
    check(x, [1.0, 2.0])
    check(x.grad, [3.0, 3.0])


def test_deepcopy_without_grad():
    """Rule 7: a constant copies as a constant; no ``.grad`` stays none."""
    assert copy.deepcopy(leaf([1.0])).grad is None
    assert not copy.deepcopy(torch.ones(2)).requires_grad


def test_deepcopy_keeps_sharing():
    """Rule 7: one tensor that appears twice in a structure appears twice in the copy."""
    x = leaf([1.0])
    a, b = copy.deepcopy([x, x])
    assert a is b


def test_deepcopy_of_a_non_leaf():
    """Rule 7: a non-leaf cannot be copied deeply."""
    with pytest.raises(RuntimeError, match="leaves"):
        copy.deepcopy(leaf([1.0]) * 2)


# Rule 8 -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        torch.zeros_like,
        torch.ones_like,
        torch.empty_like,
        torch.rand_like,
        lambda x: torch.full_like(x, 3.0),
        lambda x: x.new_zeros(2),
        lambda x: x.new_ones((2,)),
        lambda x: x.new_tensor([1.0, 2.0]),
    ],
)
def test_likes(make):
    """Rule 8: ``*_like`` and ``new_*`` take the dtype and never requires_grad."""
    x = leaf([1.0, 2.0])
    y = make(x)
    assert y.dtype == torch.float64
    assert y.shape == x.shape
    assert not y.requires_grad
    assert make(x.detach().float()).dtype == torch.float32


def test_likes_with_arguments():
    """Rule 8: dtype and requires_grad may be given."""
    x = torch.ones(2, dtype=torch.int64)
    y = torch.zeros_like(x, dtype=torch.float32, requires_grad=True)
    assert (y.dtype, y.requires_grad) == (torch.float32, True)
    assert torch.ones_like(x).dtype == torch.int64


def test_tensor_copies():
    """Rule 8: ``tensor`` copies."""
    a = np.array([1.0, 2.0])
    t = torch.tensor(a)
    a[0] = 9.0
    check(t, [1.0, 2.0])


def test_as_tensor_shares():
    """Rule 8: ``from_numpy`` and ``as_tensor`` share memory with the array."""
    a = np.array([1.0, 2.0])
    s, t = torch.from_numpy(a), torch.as_tensor(a)
    a[0] = 9.0
    check(s, [9.0, 2.0])
    check(t, [9.0, 2.0])
    s[1] = 7.0
    assert a[1] == 7.0
    assert torch.as_tensor(t) is t


def test_numpy_shares():
    """Rule 8: ``numpy()`` shares memory, and writing there does not touch the version."""
    t = torch.zeros(2)
    a = t.numpy()
    a[0] = 5.0
    check(t, [5.0, 0.0])
    assert t._version == 0
    t[1] = 6.0
    assert a.tolist() == [5.0, 6.0]
    assert t._version == 1


def test_as_tensor_copies_on_conversion():
    """Rule 8: another dtype, or a list, needs a copy."""
    a = np.array([1.0, 2.0])
    t = torch.as_tensor(a, dtype=torch.float32)
    a[0] = 9.0
    check(t, [1.0, 2.0])
    assert torch.as_tensor([1, 2]).dtype == torch.int64


# More of rules 1-8 --------------------------------------------------------------------------------


def test_shallow_copy():
    """Rule 7: ``copy.copy`` is another object with the same memory."""
    c = torch.ones(2)
    d = copy.copy(c)
    assert d is not c
    d[0] = 5.0
    check(c, [5.0, 1.0])


def test_deepcopy_of_a_constant_result():
    """Rule 7: results without record are leaves, and copy."""
    with torch.no_grad():
        y = leaf([1.0]) * 2
    check(copy.deepcopy(y), [2.0])
    check(copy.deepcopy((leaf([1.0]) * 2).detach()), [2.0])


def test_comparison_with_other_types():
    """Rule 7: ``==`` with None is False, ``is`` works as ever."""
    c = torch.ones(2)
    assert (c == None) is False  # noqa: E711
    assert (c != None) is True  # noqa: E711
    assert c in [c]


def test_attributes_cannot_be_set():
    """Rule 2: grad_fn, is_leaf, shape and dtype are read-only."""
    x = leaf([1.0])
    for name in ("grad_fn", "is_leaf", "dtype", "shape", "_version", "output_nr"):
        with pytest.raises(AttributeError):
            setattr(x, name, None)


def test_grad_fn_of_an_unused_result_is_kept():
    """Rule 2: the node holds the record although the tensors between are gone."""
    x = leaf([2.0])

    def chain():
        a = x * x
        b = a.exp()
        return b.log()

    y = chain()
    check_backward(y.sum(), (x, [4.0]))


def test_end_node_after_requires_grad_off_and_on():
    """Rule 2: a leaf that is switched off and on again is a leaf as before."""
    x = leaf([2.0])
    y = x * 3
    x.requires_grad_(False)
    z = x * 5
    x.requires_grad_(True)
    assert not z.requires_grad
    check_backward(y.sum(), (x, [3.0]))


def test_new_tensors_from_tensors():
    """Rule 8: ``new_tensor`` copies; ``new_full`` and ``empty_like`` take the dtype."""
    x = leaf([1.0, 2.0])
    t = x.new_tensor([3, 4])
    assert t.dtype == torch.float64
    assert x.new_full((2, 2), 7).dtype == torch.float64
    assert not x.new_full((1,), 1.0).requires_grad
    assert x.new_zeros(2, 3).shape == (2, 3)


def test_randomness_repeats():
    """Rule 8: the seed decides; random leaves may require grad."""
    torch.manual_seed(7)
    a = torch.randn(3, requires_grad=True)
    torch.manual_seed(7)
    b = torch.randn(3)
    assert (a == b).all()
    check_leaf(a)


def test_numpy_memory_survives():
    """Rule 8: the array keeps the memory of a tensor that is gone."""
    a = torch.ones(3).numpy()
    a[0] = 5.0
    assert a.tolist() == [5.0, 1.0, 1.0]
    t = torch.from_numpy(np.arange(3.0))
    t.mul_(2)
    check(t, [0.0, 2.0, 4.0])
    with pytest.raises(TypeError):
        torch.from_numpy([1.0])
