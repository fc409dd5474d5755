"""Views and rearrangements: values, records, derivatives of both orders, memory, errors."""

import numpy as np
import pytest

from tests.eager.chosen import check, leaf, ours, torch
from tests.eager.recorded import confirm, leaves, weighted

ROWS = [
    (
        lambda x, s: x.reshape(3, 2),
        "ViewBackward0 3 2 | 1 2 3 4 5 6 | 2 8 18 32 50 72 | - | 2 8 18 32 50 72 | -",
    ),
    (
        lambda x, s: x.t().reshape(6),
        "UnsafeViewBackward0 6 | 1 4 2 5 3 6 | 2 12 30 16 40 72 | - | 2 12 30 16 40 72 | -",
    ),
    (
        lambda x, s: x.view(3, -1),
        "ViewBackward0 3 2 | 1 2 3 4 5 6 | 2 8 18 32 50 72 | - | 2 8 18 32 50 72 | -",
    ),
    (
        lambda x, s: x.view_as(s.t().clone()),
        "ViewBackward0 3 2 | 1 2 3 4 5 6 | 2 8 18 32 50 72 | - | 2 8 18 32 50 72 | -",
    ),
    (
        lambda x, s: x.reshape_as(s.t()),
        "ViewBackward0 3 2 | 1 2 3 4 5 6 | 2 8 18 32 50 72 | - | 2 8 18 32 50 72 | -",
    ),
    (
        lambda x, s: x.flatten(),
        "ViewBackward0 6 | 1 2 3 4 5 6 | 2 8 18 32 50 72 | - | 2 8 18 32 50 72 | -",
    ),
    (
        lambda x, s: torch.flatten(x.unsqueeze(0), 1),
        "ViewBackward0 1 6 | 1 2 3 4 5 6 | 2 8 18 32 50 72 | - | 2 8 18 32 50 72 | -",
    ),
    (
        lambda x, s: x.unflatten(1, (3, 1)),
        "ViewBackward0 2 3 1 | 1 2 3 4 5 6 | 2 8 18 32 50 72 | - | 2 8 18 32 50 72 | -",
    ),
    (
        lambda x, s: x.t().ravel(),
        "ViewBackward0 6 | 1 4 2 5 3 6 | 2 12 30 16 40 72 | - | 2 12 30 16 40 72 | -",
    ),
    (
        lambda x, s: x.unsqueeze(1).squeeze(1),
        "SqueezeBackward1 2 3 | 1 2 3 4 5 6 | 2 8 18 32 50 72 | - | 2 8 18 32 50 72 | -",
    ),
    (
        lambda x, s: x.unsqueeze(0).squeeze(),
        "SqueezeBackward0 2 3 | 1 2 3 4 5 6 | 2 8 18 32 50 72 | - | 2 8 18 32 50 72 | -",
    ),
    (
        lambda x, s: x.unsqueeze(0).squeeze((0, 1)),
        "SqueezeBackward2 2 3 | 1 2 3 4 5 6 | 2 8 18 32 50 72 | - | 2 8 18 32 50 72 | -",
    ),
    (
        lambda x, s: x.unsqueeze(-1),
        "UnsqueezeBackward0 2 3 1 | 1 2 3 4 5 6 | 2 8 18 32 50 72 | - | 2 8 18 32 50 72 | -",
    ),
    (
        lambda x, s: x.expand(2, 2, 3),
        "ExpandBackward0 2 2 3 | 1 2 3 4 5 6 1 2 3 4 5 6 | 16 40 72 112 160 216 | -"
        " | 16 40 72 112 160 216 | -",
    ),
    (
        lambda x, s: x[:1].expand(2, -1),
        "ExpandBackward0 2 3 | 1 2 3 1 2 3 | 10 28 54 0 0 0 | - | 10 28 54 0 0 0 | -",
    ),
    (
        lambda x, s: x[0].expand_as(s),
        "ExpandBackward0 2 3 | 1 2 3 1 2 3 | 10 28 54 0 0 0 | - | 10 28 54 0 0 0 | -",
    ),
    (
        lambda x, s: torch.broadcast_to(x[0], (2, 3)),
        "ExpandBackward0 2 3 | 1 2 3 1 2 3 | 10 28 54 0 0 0 | - | 10 28 54 0 0 0 | -",
    ),
    (
        lambda x, s: torch.broadcast_tensors(x[0], s)[0],
        "ExpandBackward0 2 3 | 1 2 3 1 2 3 | 10 28 54 0 0 0 | - | 10 28 54 0 0 0 | -",
    ),
    (
        lambda x, s: torch.atleast_2d(x[0]),
        "UnsqueezeBackward0 1 3 | 1 2 3 | 2 8 18 0 0 0 | - | 2 8 18 0 0 0 | -",
    ),
    (
        lambda x, s: torch.atleast_3d(x[0]),
        "UnsqueezeBackward0 1 3 1 | 1 2 3 | 2 8 18 0 0 0 | - | 2 8 18 0 0 0 | -",
    ),
    (
        lambda x, s: x.t(),
        "TBackward0 3 2 | 1 4 2 5 3 6 | 2 12 30 16 40 72 | - | 2 12 30 16 40 72 | -",
    ),
    (
        lambda x, s: x.T,
        "PermuteBackward0 3 2 | 1 4 2 5 3 6 | 2 12 30 16 40 72 | - | 2 12 30 16 40 72 | -",
    ),
    (
        lambda x, s: x.mT,
        "TransposeBackward0 3 2 | 1 4 2 5 3 6 | 2 12 30 16 40 72 | - | 2 12 30 16 40 72 | -",
    ),
    (
        lambda x, s: x.transpose(0, 1),
        "TransposeBackward0 3 2 | 1 4 2 5 3 6 | 2 12 30 16 40 72 | - | 2 12 30 16 40 72 | -",
    ),
    (
        lambda x, s: x.swapaxes(-1, 0),
        "TransposeBackward0 3 2 | 1 4 2 5 3 6 | 2 12 30 16 40 72 | - | 2 12 30 16 40 72 | -",
    ),
    (
        lambda x, s: x.permute(1, 0),
        "PermuteBackward0 3 2 | 1 4 2 5 3 6 | 2 12 30 16 40 72 | - | 2 12 30 16 40 72 | -",
    ),
    (
        lambda x, s: x.unsqueeze(0).movedim(0, -1),
        "PermuteBackward0 2 3 1 | 1 2 3 4 5 6 | 2 8 18 32 50 72 | - | 2 8 18 32 50 72 | -",
    ),
    (lambda x, s: x.select(1, -1), "SelectBackward0 2 | 3 6 | 0 0 6 0 0 24 | - | 0 0 6 0 0 24 | -"),
    (
        lambda x, s: x.narrow(1, 1, 2),
        "SliceBackward0 2 2 | 2 3 5 6 | 0 4 12 0 30 48 | - | 0 4 12 0 30 48 | -",
    ),
    (
        lambda x, s: x.chunk(2, 1)[1],
        "SplitBackward0 2 1 | 3 6 | 0 0 6 0 0 24 | - | 0 0 6 0 0 24 | -",
    ),
    (
        lambda x, s: x.split(2, dim=1)[0],
        "SplitBackward0 2 2 | 1 2 4 5 | 2 8 0 24 40 0 | - | 2 8 0 24 40 0 | -",
    ),
    (
        lambda x, s: x.split([1, 2], 1)[1],
        "SplitWithSizesBackward0 2 2 | 2 3 5 6 | 0 4 12 0 30 48 | - | 0 4 12 0 30 48 | -",
    ),
    (lambda x, s: x.unbind(1)[2], "UnbindBackward0 2 | 3 6 | 0 0 6 0 0 24 | - | 0 0 6 0 0 24 | -"),
    (
        lambda x, s: torch.tensor_split(x, 2, dim=1)[0],
        "SliceBackward0 2 2 | 1 2 4 5 | 2 8 0 24 40 0 | - | 2 8 0 24 40 0 | -",
    ),
    (lambda x, s: x.diagonal(), "DiagonalBackward0 2 | 1 5 | 2 0 0 0 20 0 | - | 2 0 0 0 20 0 | -"),
    (lambda x, s: x.diagonal(1), "DiagonalBackward0 2 | 2 6 | 0 4 0 0 0 24 | - | 0 4 0 0 0 24 | -"),
    (
        lambda x, s: torch.diag(x),
        "DiagonalBackward0_copy 2 | 1 5 | 2 0 0 0 20 0 | - | 2 0 0 0 20 0 | -",
    ),
    (
        lambda x, s: torch.diag(x[0], -1),
        "DiagEmbedBackward0 4 4 | 0 0 0 0 1 0 0 0 0 2 0 0 0 0 3 0 | 10 40 90 0 0 0 | -"
        " | 10 40 90 0 0 0 | -",
    ),
    (
        lambda x, s: torch.diag_embed(x),
        "DiagEmbedBackward0 2 3 3 | 1 0 0 0 2 0 0 0 3 4 0 0 0 5 0 0 0 6 | 2 20 54 80 140 216"
        " | - | 2 20 54 80 140 216 | -",
    ),
    (
        lambda x, s: torch.diag_embed(x, 1, 0, 2),
        "DiagEmbedBackward0 4 2 4"
        " | 0 1 0 0 0 4 0 0 0 0 2 0 0 0 5 0 0 0 0 3 0 0 0 6 0 0 0 0 0 0 0 0"
        " | 4 44 120 48 150 288 | - | 4 44 120 48 150 288 | -",
    ),
    (
        lambda x, s: x.flip(0, 1),
        "FlipBackward0 2 3 | 6 5 4 3 2 1 | 12 20 24 24 20 12 | - | 12 20 24 24 20 12 | -",
    ),
    (
        lambda x, s: torch.fliplr(x),
        "FlipBackward0 2 3 | 3 2 1 6 5 4 | 6 8 6 48 50 48 | - | 6 8 6 48 50 48 | -",
    ),
    (
        lambda x, s: torch.flipud(x),
        "FlipBackward0 2 3 | 4 5 6 1 2 3 | 8 20 36 8 20 36 | - | 8 20 36 8 20 36 | -",
    ),
    (
        lambda x, s: x.roll(1),
        "RollBackward0 2 3 | 6 1 2 3 4 5 | 4 12 24 40 60 12 | - | 4 12 24 40 60 12 | -",
    ),
    (
        lambda x, s: x.roll((1, -1), (0, 1)),
        "RollBackward0 2 3 | 5 6 4 2 3 1 | 12 16 30 24 10 24 | - | 12 16 30 24 10 24 | -",
    ),
    (
        lambda x, s: torch.rot90(x),
        "Rot90Backward0 3 2 | 3 6 2 5 1 4 | 10 12 6 48 40 24 | - | 10 12 6 48 40 24 | -",
    ),
    (
        lambda x, s: torch.rot90(x, 3),
        "Rot90Backward0 3 2 | 4 1 5 2 6 3 | 4 16 36 8 30 60 | - | 4 16 36 8 30 60 | -",
    ),
    (
        lambda x, s: x.tile(2),
        "RepeatBackward0 2 6 | 1 2 3 1 2 3 4 5 6 4 5 6 | 10 28 54 136 190 252 | -"
        " | 10 28 54 136 190 252 | -",
    ),
    (
        lambda x, s: x.repeat(2, 1, 2),
        "RepeatBackward0 2 2 6 | 1 2 3 1 2 3 4 5 6 4 5 6 1 2 3 1 2 3 4 5 6 4 5 6"
        " | 68 152 252 464 620 792 | - | 68 152 252 464 620 792 | -",
    ),
    (
        lambda x, s: x.repeat_interleave(2),
        "ViewBackward0 12 | 1 1 2 2 3 3 4 4 5 5 6 6 | 6 28 66 120 190 276 | -"
        " | 6 28 66 120 190 276 | -",
    ),
    (
        lambda x, s: x.repeat_interleave(2, dim=1),
        "ViewBackward0 2 6 | 1 1 2 2 3 3 4 4 5 5 6 6 | 6 28 66 120 190 276 | -"
        " | 6 28 66 120 190 276 | -",
    ),
    (
        lambda x, s: x.repeat_interleave(torch.tensor([2, 1]), 0),
        "IndexSelectBackward0 3 3 | 1 2 3 1 2 3 4 5 6 | 10 28 54 56 80 108 | -"
        " | 10 28 54 56 80 108 | -",
    ),
    (
        lambda x, s: torch.cat([x, s[:1], x]),
        "CatBackward0 5 3 | 1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 | 22 52 90 136 190 252"
        " | 98 128 162 0 0 0 | 22 52 90 136 190 252 | 14 32 54 0 0 0",
    ),
    (
        lambda x, s: torch.cat((x, s), dim=-1),
        "CatBackward0 2 6 | 1 2 3 7 8 9 4 5 6 10 11 12 | 2 8 18 56 80 108"
        " | 56 80 108 200 242 288 | 2 8 18 56 80 108 | 8 20 36 80 110 144",
    ),
    (
        lambda x, s: torch.stack([x, s], 1),
        "StackBackward0 2 2 3 | 1 2 3 7 8 9 4 5 6 10 11 12 | 2 8 18 56 80 108"
        " | 56 80 108 200 242 288 | 2 8 18 56 80 108 | 8 20 36 80 110 144",
    ),
    (
        lambda x, s: torch.hstack([x, s]),
        "CatBackward0 2 6 | 1 2 3 7 8 9 4 5 6 10 11 12 | 2 8 18 56 80 108"
        " | 56 80 108 200 242 288 | 2 8 18 56 80 108 | 8 20 36 80 110 144",
    ),
    (
        lambda x, s: torch.vstack([x[0], s]),
        "CatBackward0 3 3 | 1 2 3 7 8 9 10 11 12 | 2 8 18 0 0 0 | 56 80 108 140 176 216"
        " | 2 8 18 0 0 0 | 8 20 36 56 80 108",
    ),
    (
        lambda x, s: torch.dstack([x, s]),
        "CatBackward0 2 3 2 | 1 7 2 8 3 9 4 10 5 11 6 12 | 2 12 30 56 90 132"
        " | 28 64 108 160 220 288 | 2 12 30 56 90 132 | 4 16 36 64 100 144",
    ),
    (
        lambda x, s: torch.column_stack([x[:, 0], s]),
        "CatBackward0 2 4 | 1 7 8 9 4 10 11 12 | 2 0 0 40 0 0 | 28 48 72 120 154 192"
        " | 2 0 0 40 0 0 | 4 12 24 48 70 96",
    ),
    (
        lambda x, s: x.tril(),
        "TrilBackward0 2 3 | 1 0 0 4 5 0 | 2 0 0 32 50 0 | - | 2 0 0 32 50 0 | -",
    ),
    (
        lambda x, s: x.triu(1),
        "TriuBackward0 2 3 | 0 2 3 0 0 6 | 0 8 18 0 0 72 | - | 0 8 18 0 0 72 | -",
    ),
    (
        lambda x, s: torch.meshgrid(x[0], s[:, 0], indexing="ij")[0],
        "ExpandBackward0 3 2 | 1 1 2 2 3 3 | 6 28 66 0 0 0 | - | 6 28 66 0 0 0 | -",
    ),
    (
        lambda x, s: torch.meshgrid(x[0], s[:, 0], indexing="xy")[1],
        "ExpandBackward0 2 3 | 7 7 7 10 10 10 | - | 84 0 0 300 0 0 | - | 12 0 0 120 0 0",
    ),
    (
        lambda x, s: x.unfold(1, 2, 1),
        "UnfoldBackward0 2 2 2 | 1 2 2 3 4 5 5 6 | 2 20 24 40 130 96 | - | 2 20 24 40 130 96 | -",
    ),
    (
        lambda x, s: x.unfold(0, 1, 1),
        "UnfoldBackward0 2 3 1 | 1 2 3 4 5 6 | 2 8 18 32 50 72 | - | 2 8 18 32 50 72 | -",
    ),
    (
        lambda x, s: torch.select_scatter(x, s[0], 0, 1),
        "SelectScatterBackward0 2 3 | 1 2 3 7 8 9 | 2 8 18 0 0 0 | 56 80 108 0 0 0"
        " | 2 8 18 0 0 0 | 8 20 36 0 0 0",
    ),
    (
        lambda x, s: torch.slice_scatter(x, s[:, :2], 1, 0, 3, 2),
        "SliceScatterBackward0 2 3 | 7 2 8 10 5 11 | 0 8 0 0 50 0 | 14 48 0 80 132 0"
        " | 0 8 0 0 50 0 | 2 12 0 32 60 0",
    ),
    (
        lambda x, s: torch.diagonal_scatter(x, s[0, :2]),
        "DiagonalScatterBackward0 2 3 | 7 2 3 4 8 6 | 0 8 18 32 0 72 | 14 80 0 0 0 0"
        " | 0 8 18 32 0 72 | 2 20 0 0 0 0",
    ),
]


@pytest.mark.parametrize(("program", "facts"), ROWS)
def test_rows(program, facts):
    confirm(program, facts)


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


# Only indices are saved.
FREE = [program for program, facts in ROWS if not facts.startswith("IndexSelect")]


@pytest.mark.parametrize("program", FREE)
def test_nothing_is_saved(program):
    y = program(*leaves())
    for _ in range(2):
        y.backward(torch.ones_like(y))


@pytest.mark.parametrize(
    ("program", "error", "phrase"),
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
)
def test_errors(program, error, phrase):
    with pytest.raises(error, match=phrase):
        program(leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))


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


def test_whole_numbers():
    x = torch.arange(6).reshape(2, 3)
    assert x.t().flip(0).tolist() == [[2, 5], [1, 4], [0, 3]]
    assert torch.tril_indices(2, 3).tolist() == [[0, 1, 1], [0, 0, 1]]
    assert torch.triu_indices(2, 3, 1).tolist() == [[0, 0, 1], [1, 2, 2]]
    assert torch.repeat_interleave(torch.tensor([1, 2])).tolist() == [0, 1, 1]
    assert torch.numel(x) == x.numel() == 6


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


@pytest.mark.parametrize(
    ("program", "shape"),
    [
        (lambda x: x.view(size=(3, 2)), (3, 2)),
        (lambda x: x.view(torch.Size([6])), (6,)),
        (lambda x: x.reshape(shape=(3, 2)), (3, 2)),
        (lambda x: x.expand(size=(2, 2, 3)), (2, 2, 3)),
        (lambda x: x.permute(dims=(1, 0)), (3, 2)),
        (lambda x: x.permute([1, 0]), (3, 2)),
        (lambda x: x.flip(dims=(0,)), (2, 3)),
        (lambda x: x.repeat(repeats=(2, 1)), (4, 3)),
        (lambda x: x.tile(dims=(2,)), (2, 6)),
        (lambda x: x.split(split_size=1)[0], (1, 3)),
        (lambda x: torch.split(tensor=x, split_size_or_sections=1)[0], (1, 3)),
        (lambda x: torch.roll(x, shifts=1, dims=0), (2, 3)),
        (lambda x: torch.unflatten(x, dim=1, sizes=(3, -1)), (2, 3, 1)),
        (lambda x: torch.movedim(x, source=0, destination=1), (3, 2)),
        (lambda x: x.sum().view(1, 1), (1, 1)),
        (lambda x: x.sum().expand(3), (3,)),
        (lambda x: x.sum().repeat(2), (2,)),
        (lambda x: torch.stack([x.sum(), x.sum()]), (2,)),
        (lambda x: torch.hstack([x.sum(), x.sum()]), (2,)),
    ],
)
def test_ways_to_say_it(program, shape):
    x = leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    y = program(x)
    assert tuple(y.shape) == shape
    y.sum().backward()
    assert x.grad.shape == (2, 3)


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
