"""Views and rearrangements beyond ``op_examples``: memory, shared records, errors."""

import numpy as np
import pytest

from tests.eager.chosen import check, leaf, ours, torch, weighted
from tests.support.refusals import refusing

VIEWS = [
    lambda x: x.view(3, 2),
    lambda x: x.reshape(6),
    lambda x: x.flatten(),
    lambda x: x.t(),
    lambda x: x.T,
    lambda x: x.mT,
    lambda x: x.permute(1, 0),
    lambda x: x.transpose(0, 1),
    lambda x: x.unsqueeze(0),
    lambda x: x[:1].squeeze(0),
    lambda x: x.expand(2, 2, 3),
    lambda x: x[:, :1].expand(2, 3),
    lambda x: x.select(0, 1),
    lambda x: x.narrow(1, 1, 1),
    lambda x: x.diagonal(),
    lambda x: x.unfold(1, 2, 1),
    lambda x: x.split(1)[1],
    lambda x: x.chunk(3, 1)[2],
    lambda x: x.unbind(1)[0],
    lambda x: x.movedim(0, 1),
    lambda x: torch.meshgrid(x[0], x[1], indexing="ij")[0],
    lambda x: x[0, 1],
    lambda x: x[...],
    lambda x: x[:, None, ::2],
]


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("recorded", [True, False])
def test_views_share_memory_and_version(view, recorded):
    x = leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=recorded)
    base = x * 1
    y = view(base)
    assert np.shares_memory(y.detach().numpy(), base.detach().numpy())
    base.add_(1)
    assert y._version == base._version == 1
    check(y, view(base).detach().numpy())


COPIES = [
    lambda x: x.t().reshape(6),
    lambda x: x.flip(0),
    lambda x: x.flip(()),
    lambda x: x.roll(0),
    lambda x: torch.rot90(x, 4),
    lambda x: x.repeat(1, 1),
    lambda x: torch.tile(x, (1,)),
    lambda x: x.tril(5),
    lambda x: torch.cat([x]),
    lambda x: torch.stack([x]),
    lambda x: torch.diag(x),
]


@pytest.mark.parametrize("copy", COPIES)
def test_copies_share_nothing(copy):
    x = leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    y = copy(x)
    assert not np.shares_memory(y.detach().numpy(), x.detach().numpy())
    assert y._version == 0


test_errors = refusing(
    [
        (lambda x: x.view(2, 5), RuntimeError, r"shape '\[2, 5\]' is invalid for input of size 6"),
        (lambda x: x.reshape(-1, 4), RuntimeError, r"shape '\[-1, 4\]' is invalid"),
        (lambda x: x.reshape(-1, -1), RuntimeError, "only one dimension can be inferred"),
        (lambda x: x.view(-2, 3), RuntimeError, "invalid shape dimension -2 at index 0"),
        (lambda x: x.view(), TypeError, "view"),
        (lambda x: x.view(2.0, 3), TypeError, "view|integer"),
        (lambda x: x.t().view(6), RuntimeError, "view size is not compatible"),
        (lambda x: x.flatten(1, 0), RuntimeError, "start_dim cannot come after end_dim"),
        (lambda x: x.unflatten(1, (2, 2)), RuntimeError, "don't multiply up"),
        (lambda x: x.squeeze(5), IndexError, "Dimension out of range .*, but got 5"),
        (lambda x: x.unsqueeze(4), IndexError, r"range of \[-3, 2\], but got 4"),
        (lambda x: x.expand(2, 4), RuntimeError, "must match the existing size"),
        (lambda x: x.expand(3), RuntimeError, "number of sizes provided"),
        (lambda x: x.expand(-1, 2, 3), RuntimeError, "leading, non-existing dimension 0"),
        (lambda x: torch.broadcast_tensors(x, x.t()), RuntimeError, "must match the size"),
        (lambda x: x.unsqueeze(0).t(), RuntimeError, "<= 2 dimensions, but self is 3D"),
        (lambda x: x[0].mT, RuntimeError, "only supported on matrices"),
        (lambda x: x.permute(0), RuntimeError, "number of dimensions"),
        (lambda x: x.permute(0, 0), RuntimeError, "duplicate dims"),
        (lambda x: x.movedim((0, 0), (0, 1)), RuntimeError, "repeated dim in `source`"),
        (lambda x: x.select(1, 3), IndexError, "index 3 out of range"),
        (lambda x: x.narrow(1, 2, 2), RuntimeError, "exceeds dimension size"),
        (lambda x: x.chunk(0), RuntimeError, "greater than 0"),
        (lambda x: x.split([1, 2]), RuntimeError, "sum exactly to 2"),
        (lambda x: x.sum().unbind(), IndexError, "tensor has no dimensions"),
        (lambda x: x.diagonal(0, 1, 1), RuntimeError, "cannot be identical"),
        (lambda x: x.flip(0, 0), RuntimeError, "appears multiple times"),
        (lambda x: x.roll((1, 2), 0), RuntimeError, "must align"),
        (lambda x: torch.rot90(x, 1, (0, 0)), RuntimeError, "to be different"),
        (lambda x: x.repeat(2), RuntimeError, "can not be smaller"),
        (lambda x: torch.cat([x, x[0]]), RuntimeError, "same number of dimensions: got 2 and 1"),
        (
            lambda x: torch.cat([x, x[:, :2]]),
            RuntimeError,
            "Sizes of tensors must match except in dimension 0. Expected size 3 but got size 2",
        ),
        (lambda x: torch.cat([x.sum()]), RuntimeError, "cannot be concatenated"),
        (lambda x: torch.cat(x), TypeError, "must be tuple of Tensors"),
        (lambda x: torch.stack([x, x[0]]), RuntimeError, "expects each tensor to be equal size"),
        (lambda x: torch.stack([]), RuntimeError, "non-empty"),
        (lambda x: x[0].tril(), RuntimeError, "at least 2 dimensions"),
        (lambda x: x.unfold(1, 5, 1), RuntimeError, "maximum size"),
        (lambda x: torch.select_scatter(x, x, 0, 0), RuntimeError, "expected src to have a size"),
    ],
    lambda: leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
)


def test_several_results_share_a_record():
    x = leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    for parts in (x.unbind(1), x.split(1, 1), x.chunk(3, dim=1)):
        assert isinstance(parts, tuple)
        assert [part.output_nr for part in parts] == [0, 1, 2]
        assert len({part.grad_fn for part in parts}) == 1
    a, _, c = (x * 2).unbind(1)
    (g,) = torch.autograd.grad(weighted(a) + weighted(c), x)
    check(g, [[2, 0, 2], [4, 0, 4]])


def test_several_results_are_not_changed_in_place():
    y = leaf([[1.0, 2.0], [3.0, 4.0]]) * 1
    for part in (y.unbind()[0], y.split(1)[0], y.chunk(2)[0]):
        with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
            part.mul_(2)
    check(y, [[1, 2], [3, 4]])


def test_expanded_memory_is_not_written_to():
    y = torch.zeros(3).expand(2, 3)
    with pytest.raises(RuntimeError, match="single memory location"):
        y.add_(1)
    y[0] = 1.0
    check(y, [[1, 1, 1], [1, 1, 1]])


def test_joining_promotes():
    whole, real = torch.tensor([1, 2]), torch.tensor([0.5], dtype=torch.float32)
    assert torch.cat([whole, real]).dtype == torch.float32
    assert torch.stack([whole, whole]).dtype == torch.int64
    x = leaf([1.0], torch.float32)
    y = torch.cat([x, leaf([2.0])])
    assert y.dtype == torch.float64
    y.sum().backward()
    assert x.grad.dtype == torch.float32


def test_views_of_results_see_later_states():
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    y = x * 1
    row, turned = y[0], y.t()
    row.mul_(3)
    check(turned, [[3, 3], [6, 4]])
    (g,) = torch.autograd.grad(weighted(turned), x)
    check(g, [[3, 9], [2, 4]])


def test_no_elements():
    x = torch.zeros(0, 3)
    assert x.reshape(3, 0).shape == (3, 0)
    assert torch.cat([x, torch.zeros(2, 3)]).shape == (2, 3)
    assert torch.cat([torch.zeros(0), torch.zeros(2, 3)]).shape == (2, 3)
    assert len(x.unbind()) == 0
    with pytest.raises(RuntimeError, match="ambiguous"):
        x.view(-1, 0)


@ours
def test_dimensions_may_be_called_axes():
    x = torch.zeros(2, 3)
    assert torch.cat([x, x], axis=1).shape == (2, 6)
    assert x.unsqueeze(axis=0).shape == (1, 2, 3)
    with pytest.raises(TypeError, match="both"):
        torch.cat([x], dim=0, axis=0)


def test_names_tell_how_the_memory_was_shared():
    x = leaf(np.arange(24.0).reshape(2, 3, 4))
    turned = x.permute(2, 0, 1)
    assert type(turned.reshape(4, 6).grad_fn).__name__ == "ReshapeAliasBackward0"
    assert type(turned.view(4, 6).grad_fn).__name__ == "ViewBackward0"
    copied = turned.reshape(24)
    assert type(copied.grad_fn).__name__ == "UnsafeViewBackward0"
    assert type(copied.grad_fn.next_functions[0][0]).__name__ == "CloneBackward0"
    x = leaf([1.0])
    assert x.flatten() is x
