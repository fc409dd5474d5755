"""Reading and writing at places: values, records, derivatives of both orders, memory, errors."""

from operator import iadd, imul, setitem

import numpy as np
import pytest

from tests.eager.chosen import check, leaf, names, ours, torch
from tests.eager.recorded import confirm, weighted

rows, cols = torch.tensor([1, 0]), torch.tensor([2, 0, 2])
mask = torch.tensor([[True, False, True], [False, True, False]])
table = torch.tensor([[2, 0], [1, 2]])

READS = [
    (lambda x, s: x[0], "SelectBackward0 3 | 1 2 3 | 2 8 18 0 0 0 | - | 2 8 18 0 0 0 | -"),
    (lambda x, s: x[-1, 2], "SelectBackward0  | 6 | 0 0 0 0 0 12 | - | 0 0 0 0 0 12 | -"),
    (lambda x, s: x[1:], "SliceBackward0 1 3 | 4 5 6 | 0 0 0 8 20 36 | - | 0 0 0 8 20 36 | -"),
    (
        lambda x, s: x[:, ::2],
        "SliceBackward0 2 2 | 1 3 4 6 | 2 0 12 24 0 48 | - | 2 0 12 24 0 48 | -",
    ),
    (lambda x, s: x[0, 1:], "SliceBackward0 2 | 2 3 | 0 4 12 0 0 0 | - | 0 4 12 0 0 0 | -"),
    (
        lambda x, s: x[...],
        "AliasBackward0 2 3 | 1 2 3 4 5 6 | 2 8 18 32 50 72 | - | 2 8 18 32 50 72 | -",
    ),
    (lambda x, s: x[None, :, 0], "SelectBackward0 1 2 | 1 4 | 2 0 0 16 0 0 | - | 2 0 0 16 0 0 | -"),
    (
        lambda x, s: x[..., None, 1],
        "SelectBackward0 2 1 | 2 5 | 0 4 0 0 20 0 | - | 0 4 0 0 20 0 | -",
    ),
    (
        lambda x, s: x[rows],
        "IndexBackward0 2 3 | 4 5 6 1 2 3 | 8 20 36 8 20 36 | - | 8 20 36 8 20 36 | -",
    ),
    (
        lambda x, s: x[:, cols],
        "IndexBackward0 2 3 | 3 1 3 6 4 6 | 4 0 24 40 0 120 | - | 4 0 24 40 0 120 | -",
    ),
    (
        lambda x, s: x[rows, cols[:2]],
        "IndexBackward0 2 | 6 1 | 4 0 0 0 0 12 | - | 4 0 0 0 0 12 | -",
    ),
    (
        lambda x, s: x[[0, 1], [2, 2]],
        "IndexBackward0 2 | 3 6 | 0 0 6 0 0 24 | - | 0 0 6 0 0 24 | -",
    ),
    (
        lambda x, s: x[[1, 1, 0]],
        "IndexBackward0 3 3 | 4 5 6 4 5 6 1 2 3 | 14 32 54 40 70 108 | - | 14 32 54 40 70 108 | -",
    ),
    (
        lambda x, s: x[rows[:, None], cols],
        "IndexBackward0 2 3 | 6 4 6 3 1 3 | 10 0 60 16 0 48 | - | 10 0 60 16 0 48 | -",
    ),
    (
        lambda x, s: x.unsqueeze(1)[rows, :, cols[:2]],
        "IndexBackward0 2 1 | 6 1 | 4 0 0 0 0 12 | - | 4 0 0 0 0 12 | -",
    ),
    (lambda x, s: x[mask], "IndexBackward0 3 | 1 3 5 | 2 0 12 0 30 0 | - | 2 0 12 0 30 0 | -"),
    (
        lambda x, s: x[:, torch.tensor([True, False, True])],
        "IndexBackward0 2 2 | 1 3 4 6 | 2 0 12 24 0 48 | - | 2 0 12 24 0 48 | -",
    ),
    (
        lambda x, s: x[torch.tensor([True, False]), cols],
        "IndexBackward0 3 | 3 1 3 | 4 0 24 0 0 0 | - | 4 0 24 0 0 0 | -",
    ),
    (
        lambda x, s: x[True],
        "IndexBackward0 1 2 3 | 1 2 3 4 5 6 | 2 8 18 32 50 72 | - | 2 8 18 32 50 72 | -",
    ),
    (
        lambda x, s: x[torch.tensor(1)],
        "SelectBackward0 3 | 4 5 6 | 0 0 0 8 20 36 | - | 0 0 0 8 20 36 | -",
    ),
    (lambda x, s: x[1, cols], "IndexBackward0 3 | 6 4 6 | 0 0 0 16 0 48 | - | 0 0 0 16 0 48 | -"),
    (lambda x, s: x[:0], "SliceBackward0 0 3 |  | 0 0 0 0 0 0 | - | 0 0 0 0 0 0 | -"),
    (
        lambda x, s: x[range(2)],
        "IndexBackward0 2 3 | 1 2 3 4 5 6 | 2 8 18 32 50 72 | - | 2 8 18 32 50 72 | -",
    ),
    (
        lambda x, s: torch.gather(x, 1, table),
        "GatherBackward0 2 2 | 3 1 5 6 | 4 0 6 0 30 48 | - | 4 0 6 0 30 48 | -",
    ),
    (
        lambda x, s: x.gather(0, rows[:, None]),
        "GatherBackward0 2 1 | 4 1 | 4 0 0 8 0 0 | - | 4 0 0 8 0 0 | -",
    ),
    (
        lambda x, s: x.index_select(1, cols),
        "IndexSelectBackward0 2 3 | 3 1 3 6 4 6 | 4 0 24 40 0 120 | - | 4 0 24 40 0 120 | -",
    ),
    (
        lambda x, s: torch.take(x, table),
        "TakeBackward0 2 2 | 3 1 2 3 | 4 12 30 0 0 0 | - | 4 12 30 0 0 0 | -",
    ),
    (
        lambda x, s: torch.take_along_dim(x, table[:, :1], 1),
        "GatherBackward0 2 1 | 3 5 | 0 0 6 0 20 0 | - | 0 0 6 0 20 0 | -",
    ),
    (
        lambda x, s: torch.masked_select(x, mask),
        "MaskedSelectBackward0 3 | 1 3 5 | 2 0 12 0 30 0 | - | 2 0 12 0 30 0 | -",
    ),
    (
        lambda x, s: torch.masked_select(x, mask[0]),
        "MaskedSelectBackward0 4 | 1 3 4 6 | 2 0 12 24 0 48 | - | 2 0 12 24 0 48 | -",
    ),
    (
        lambda x, s: x.masked_fill(mask, 7.0),
        "MaskedFillBackward0 2 3 | 7 2 7 4 7 6 | 0 8 0 32 0 72 | - | 0 8 0 32 0 72 | -",
    ),
    (
        lambda x, s: x.masked_fill(mask, s[0, 0]),
        "MaskedFillBackward1 2 3 | 7 2 7 4 7 6 | 0 8 0 32 0 72 | 126 0 0 0 0 0"
        " | 0 8 0 32 0 72 | 18 0 0 0 0 0",
    ),
    (
        lambda x, s: x.masked_scatter(mask, s),
        "MaskedScatterBackward0 2 3 | 7 2 8 4 9 6 | 0 8 0 32 0 72 | 14 48 90 0 0 0"
        " | 0 8 0 32 0 72 | 2 12 30 0 0 0",
    ),
    (
        lambda x, s: x.index_add(1, cols, s),
        "IndexAddBackward0 2 3 | 9 2 19 15 5 28 | 18 8 114 120 50 336"
        " | 114 18 114 336 120 336 | 6 8 42 72 50 192 | 42 6 42 192 72 192",
    ),
    (
        lambda x, s: x.index_add(0, rows, s, alpha=3),
        "IndexAddBackward0 2 3 | 31 35 39 25 29 33 | 62 140 234 200 290 396"
        " | 600 870 1188 186 420 702 | 26 68 126 56 110 180 | 168 330 540 78 204 378",
    ),
    (
        lambda x, s: x.index_copy(0, rows, s),
        "IndexCopyBackward0 2 3 | 10 11 12 7 8 9 | 0 0 0 0 0 0 | 56 80 108 20 44 72"
        " | 0 0 0 0 0 0 | 8 20 36 8 20 36",
    ),
    (
        lambda x, s: x.index_fill(1, cols, 0.0),
        "IndexFillBackward0 2 3 | 0 2 0 0 5 0 | 0 8 0 0 50 0 | - | 0 8 0 0 50 0 | -",
    ),
    (
        lambda x, s: x.index_fill(1, cols[:1], s[1, 1]),
        "IndexFillBackward1 2 3 | 1 2 11 4 5 11 | 2 8 0 32 50 0 | 0 0 0 0 198 0"
        " | 2 8 0 32 50 0 | 0 0 0 0 90 0",
    ),
    (
        lambda x, s: x.index_put((rows, cols[:2]), s[0, :2]),
        "IndexPutBackward0 2 3 | 8 2 3 4 5 7 | 0 8 18 32 50 0 | 84 16 0 0 0 0"
        " | 0 8 18 32 50 0 | 12 4 0 0 0 0",
    ),
    (
        lambda x, s: x.index_put((mask,), s[0, 0]),
        "IndexPutBackward0 2 3 | 7 2 7 4 7 6 | 0 8 0 32 0 72 | 126 0 0 0 0 0 | 0 8 0 32 0 72"
        " | 18 0 0 0 0 0",
    ),
    (
        lambda x, s: x.index_put((rows,), s[0], accumulate=True),
        "IndexPutBackward0 2 3 | 8 10 12 11 13 15 | 16 40 72 88 130 180 | 104 170 252 0 0 0"
        " | 4 16 36 40 70 108 | 44 86 144 0 0 0",
    ),
    (
        lambda x, s: x.scatter(1, table, s[:, :2]),
        "ScatterBackward0 2 3 | 8 2 7 4 10 11 | 0 8 0 32 0 0 | 42 16 0 100 132 0"
        " | 0 8 0 32 0 0 | 6 4 0 40 60 0",
    ),
    (
        lambda x, s: x.scatter(1, table, 5.0),
        "ScatterBackward1 2 3 | 5 2 5 4 5 5 | 0 8 0 32 0 0 | - | 0 8 0 32 0 0 | -",
    ),
    (
        lambda x, s: x.scatter_add(1, table, s[:, :2]),
        "ScatterAddBackward0 2 3 | 9 2 10 4 15 17 | 18 8 60 32 150 204 | 60 18 0 150 204 0"
        " | 6 8 24 32 90 132 | 24 6 0 90 132 0",
    ),
]

WRITES = [
    (
        lambda y, s: setitem(y, 0, s[1]),
        "CopySlices 2 3 | 10 11 12 4 5 6 | 0 0 0 32 50 72 | 0 0 0 20 44 72 | 0 0 0 32 50 72"
        " | 0 0 0 8 20 36",
    ),
    (
        lambda y, s: setitem(y, np.s_[:, 1], s[0, 0]),
        "CopySlices 2 3 | 1 7 3 4 7 6 | 2 0 18 32 0 72 | 98 0 0 0 0 0 | 2 0 18 32 0 72"
        " | 14 0 0 0 0 0",
    ),
    (
        lambda y, s: setitem(y, np.s_[1, 1:], 3.0),
        "CopySlices 2 3 | 1 2 3 4 3 3 | 2 8 18 32 0 0 | - | 2 8 18 32 0 0 | -",
    ),
    (
        lambda y, s: setitem(y, ..., s[0]),
        "CopyBackwards 2 3 | 7 8 9 7 8 9 | 0 0 0 0 0 0 | 70 112 162 0 0 0 | 0 0 0 0 0 0"
        " | 10 28 54 0 0 0",
    ),
    (
        lambda y, s: setitem(y, rows, s[1]),
        "IndexPutBackward0 2 3 | 10 11 12 10 11 12 | 0 0 0 0 0 0 | 0 0 0 100 154 216"
        " | 0 0 0 0 0 0 | 0 0 0 40 70 108",
    ),
    (
        lambda y, s: setitem(y, np.s_[:, cols[:2]], s[:, :2]),
        "IndexPutBackward0 2 3 | 8 2 7 11 5 10 | 0 8 0 0 50 0 | 42 16 0 120 88 0"
        " | 0 8 0 0 50 0 | 6 4 0 48 40 0",
    ),
    (
        lambda y, s: setitem(y, mask, s[0, 0]),
        "IndexPutBackward0 2 3 | 7 2 7 4 7 6 | 0 8 0 32 0 72 | 126 0 0 0 0 0 | 0 8 0 32 0 72"
        " | 18 0 0 0 0 0",
    ),
    (
        lambda y, s: setitem(y, mask, s[0]),
        "IndexPutBackward0 2 3 | 7 2 8 4 9 6 | 0 8 0 32 0 72 | 14 48 90 0 0 0 | 0 8 0 32 0 72"
        " | 2 12 30 0 0 0",
    ),
    (
        lambda y, s: setitem(y, np.s_[rows, cols[:2]], 0.0),
        "IndexPutBackward0 2 3 | 0 2 3 4 5 0 | 0 8 18 32 50 0 | - | 0 8 18 32 50 0 | -",
    ),
    (
        lambda y, s: setitem(y, np.s_[0, cols[:2]], s[0, :2]),
        "CopySlices 2 3 | 8 2 7 4 5 6 | 0 8 0 32 50 72 | 42 16 0 0 0 0 | 0 8 0 32 50 72"
        " | 6 4 0 0 0 0",
    ),
    (
        lambda y, s: setitem(y, (torch.tensor([True, False])), s[0]),
        "IndexPutBackward0 2 3 | 7 8 9 4 5 6 | 0 0 0 32 50 72 | 14 32 54 0 0 0"
        " | 0 0 0 32 50 72 | 2 8 18 0 0 0",
    ),
    (
        lambda y, s: setitem(y, (None, 0), s[1]),
        "CopySlices 2 3 | 10 11 12 4 5 6 | 0 0 0 32 50 72 | 0 0 0 20 44 72 | 0 0 0 32 50 72"
        " | 0 0 0 8 20 36",
    ),
    (
        lambda y, s: setitem(y, 0, y[1]),
        "CopySlices 2 3 | 4 5 6 4 5 6 | 0 0 0 40 70 108 | - | 0 0 0 40 70 108 | -",
    ),
    (
        lambda y, s: setitem(y, 0, imul(y[0], s[0])),
        "CopySlices 2 3 | 7 16 27 4 5 6 | 98 512 1458 32 50 72 | 14 128 486 0 0 0"
        " | 126 768 2430 32 50 72 | 30 288 1134 0 0 0",
    ),
    (
        lambda y, s: setitem(y, rows, iadd(y[rows], 1.0)),
        "IndexPutBackward0 2 3 | 2 3 4 5 6 7 | 4 12 24 40 60 84 | - | 2 8 18 32 50 72 | -",
    ),
    (
        lambda y, s: y.copy_(s[0]),
        "CopyBackwards 2 3 | 7 8 9 7 8 9 | 0 0 0 0 0 0 | 70 112 162 0 0 0 | 0 0 0 0 0 0"
        " | 10 28 54 0 0 0",
    ),
    (
        lambda y, s: y.masked_fill_(mask, s[0, 0]),
        "MaskedFillBackward1 2 3 | 7 2 7 4 7 6 | 0 8 0 32 0 72 | 126 0 0 0 0 0"
        " | 0 8 0 32 0 72 | 18 0 0 0 0 0",
    ),
    (
        lambda y, s: y.masked_scatter_(mask, s),
        "MaskedScatterBackward0 2 3 | 7 2 8 4 9 6 | 0 8 0 32 0 72 | 14 48 90 0 0 0"
        " | 0 8 0 32 0 72 | 2 12 30 0 0 0",
    ),
    (
        lambda y, s: y.index_fill_(1, cols, 2.0),
        "IndexFillBackward0 2 3 | 2 2 2 2 5 2 | 0 8 0 0 50 0 | - | 0 8 0 0 50 0 | -",
    ),
    (
        lambda y, s: y.index_put_((rows,), s[0], accumulate=True),
        "IndexPutBackward0 2 3 | 8 10 12 11 13 15 | 16 40 72 88 130 180 | 104 170 252 0 0 0"
        " | 4 16 36 40 70 108 | 44 86 144 0 0 0",
    ),
    (
        lambda y, s: y.index_add_(1, cols, s),
        "IndexAddBackward0 2 3 | 9 2 19 15 5 28 | 18 8 114 120 50 336"
        " | 114 18 114 336 120 336 | 6 8 42 72 50 192 | 42 6 42 192 72 192",
    ),
    (
        lambda y, s: y.index_copy_(0, rows, s),
        "IndexCopyBackward0 2 3 | 10 11 12 7 8 9 | 0 0 0 0 0 0 | 56 80 108 20 44 72"
        " | 0 0 0 0 0 0 | 8 20 36 8 20 36",
    ),
    (
        lambda y, s: y.scatter_(1, table, s[:, :2]),
        "ScatterBackward0 2 3 | 8 2 7 4 10 11 | 0 8 0 32 0 0 | 42 16 0 100 132 0"
        " | 0 8 0 32 0 0 | 6 4 0 40 60 0",
    ),
    (
        lambda y, s: y.scatter_(1, table, 4.0),
        "ScatterBackward1 2 3 | 4 2 4 4 4 4 | 0 8 0 32 0 0 | - | 0 8 0 32 0 0 | -",
    ),
    (
        lambda y, s: y.scatter_add_(1, table, s[:, :2]),
        "ScatterAddBackward0 2 3 | 9 2 10 4 15 17 | 18 8 60 32 150 204 | 60 18 0 150 204 0"
        " | 6 8 24 32 90 132 | 24 6 0 90 132 0",
    ),
    (
        lambda y, s: y.diagonal().copy_(s[0, :2]),
        "CopySlices 2 3 | 7 2 3 4 8 6 | 0 8 18 32 0 72 | 14 80 0 0 0 0 | 0 8 18 32 0 72"
        " | 2 20 0 0 0 0",
    ),
    (
        lambda y, s: y.t_().mul_(s.t()),
        "MulBackward0 3 2 | 7 40 16 55 27 72 | 98 768 2430 1600 4840 10368"
        " | 14 192 810 640 2200 5184 | 126 1152 4050 2880 9240 20736"
        " | 30 432 1890 1536 5400 12960",
    ),
    (
        lambda y, s: y.unsqueeze_(0).mul_(s),
        "MulBackward0 1 2 3 | 7 16 27 40 55 72 | 98 512 1458 3200 6050 10368"
        " | 14 128 486 1280 2750 5184 | 126 768 2430 5760 11550 20736"
        " | 30 288 1134 3072 6750 12960",
    ),
    (
        lambda y, s: y.transpose_(0, 1).squeeze_(),
        "SqueezeBackward3 3 2 | 1 4 2 5 3 6 | 2 12 30 16 40 72 | - | 2 12 30 16 40 72 | -",
    ),
]


@pytest.mark.parametrize(("program", "facts"), READS)
def test_reading(program, facts):
    confirm(program, facts)


@pytest.mark.parametrize(("program", "facts"), WRITES)
def test_writing(program, facts):
    def written(x, s):
        y = x * 1
        program(y, s)
        assert y._version >= 1
        return y

    confirm(written, facts)


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (lambda x: x[0], ["SelectBackward0"]),
        (lambda x: x[:], ["SliceBackward0"]),
        (lambda x: x[:, :], ["AliasBackward0"]),
        (lambda x: x[()], ["AliasBackward0"]),
        (lambda x: x[0, 1:2], ["SliceBackward0", "SelectBackward0"]),
        (lambda x: x[:, 0], ["SelectBackward0"]),
        (lambda x: x[None, ..., 0], ["SelectBackward0", "UnsqueezeBackward0"]),
        (lambda x: x[torch.tensor(1)], ["SelectBackward0"]),
        (lambda x: x[True, 0], ["IndexBackward0", "SelectBackward0", "UnsqueezeBackward0"]),
        (lambda x: x[0, rows], ["IndexBackward0", "SelectBackward0"]),
        (lambda x: x[mask], ["IndexBackward0"]),
    ],
)
def test_names(program, expected):
    assert names(program(leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))) == [
        *expected,
        "AccumulateGrad",
    ]


def test_where_indexed_dimensions_go():
    x = torch.arange(120.0).reshape(2, 3, 4, 5)
    i = torch.tensor([0, 1, 1])
    shapes = {
        (2, 3, 3, 5): x[:, :, i],
        (2, 3, 5): x[:, i, i],
        (3, 3, 5): x[i, :, i],
        (3, 4): x[i, 0, :, 0],
        (3, 4, 3): x[0, :, :, i],
        (3, 2, 4): x[:, i, :, i],
        (2, 3, 1, 4, 5): x[:, i, None],
        (3, 1, 1, 4, 5): x[:1, i][:, :, None].transpose(0, 1),
    }
    assert {tuple(y.shape) for y in shapes.values()} == set(shapes)


def test_indices_of_all_kinds():
    x = torch.arange(6.0).reshape(2, 3)
    check(x[np.array([1, 0])], [[3, 4, 5], [0, 1, 2]])
    check(x[np.int64(1)], [3, 4, 5])
    check(x[[True, False]], [[0, 1, 2]])
    check(x[[]], np.zeros((0, 3)))
    check(x[torch.tensor([1], dtype=torch.int32)], [[3, 4, 5]])
    check(x[torch.tensor(1) :, torch.tensor([-1])], [[5]])
    check(x[mask], [0, 2, 4])
    check(x[False], np.zeros((0, 2, 3)))
    assert [float(v) for v in x[0]] == [0, 1, 2]


@pytest.mark.parametrize(
    ("program", "error", "phrase"),
    [
        (lambda x: x[5], IndexError, "index 5 is out of bounds for dimension 0 with size 2"),
        (lambda x: x[0, 0, 0], IndexError, "too many indices for tensor of dimension 2"),
        (lambda x: x[0, 0][0], IndexError, "invalid index of a 0-dim tensor"),
        (lambda x: x[::-1], ValueError, "step must be greater than zero"),
        (lambda x: x[1.5], IndexError, "only integers, slices"),
        (lambda x: x[0:1.5], TypeError, "slice indices must be integers"),
        (lambda x: x[torch.tensor([0.0])], IndexError, "must be long, int, byte or bool"),
        (lambda x: x[torch.tensor([5])], IndexError, "index 5 is out of bounds"),
        (lambda x: x[rows, cols], IndexError, "shape mismatch: indexing tensors"),
        (lambda x: x[torch.tensor([True] * 3)], IndexError, "shape of the mask"),
        (lambda x: x.gather(1, rows), RuntimeError, "same number of dimensions"),
        (lambda x: x.gather(1, torch.tensor([[5]])), RuntimeError, "out of bounds"),
        (lambda x: x.gather(1, x), RuntimeError, "int64"),
        (lambda x: x.index_select(1, torch.tensor([3])), IndexError, "index out of range in self"),
        (lambda x: x.index_select(2, rows), IndexError, "out of range"),
        (lambda x: torch.take(x, torch.tensor([7])), IndexError, "out of range"),
        (lambda x: torch.masked_select(x, x), RuntimeError, "BoolTensor"),
        (lambda x: x.masked_fill(x, 0), RuntimeError, "boolean masks"),
        (lambda x: x.masked_fill(mask, x[0]), RuntimeError, "0-dimensional value"),
        (lambda x: x.masked_fill(mask[:, :2], 0), RuntimeError, "must match the size"),
        (lambda x: x.masked_scatter(mask, x[0, :2]), RuntimeError, "Number of elements of source"),
        (lambda x: x.index_add(0, rows, x[:1]), RuntimeError, "should be equal to source.size"),
        (lambda x: x.index_add(0, rows, x.float()), RuntimeError, "same scalar type"),
        (lambda x: x.index_copy(0, rows, x[:1]), IndexError, "should be equal to source.size"),
        (lambda x: x.scatter(1, table, x[:1]), RuntimeError, "no larger"),
        (lambda x: x.scatter(1, table, x.float()), RuntimeError, "self.dtype to be equal"),
        (lambda x: x.index_put((rows,), x.float()), RuntimeError, "dtypes match"),
        (lambda x: setitem(x * 1, 0, [1, 2, 3]), TypeError, "can't assign a list"),
        (lambda x: setitem(x * 1, 0, x[0, :2]), RuntimeError, "must match the existing size"),
        (lambda x: setitem(x * 1, 0, x), RuntimeError, "expand"),
        (lambda x: setitem(x * 1, mask, x[0, :2]), RuntimeError, "shape mismatch: value tensor"),
        (lambda x: setitem(x * 1, 5, 1.0), IndexError, "out of bounds"),
        (lambda x: setitem(x, 0, 1.0), RuntimeError, "view of a leaf Variable"),
        (lambda x: setitem(x, rows, 1.0), RuntimeError, "leaf Variable"),
        (lambda x: (x * 1).masked_fill_(torch.ones(2, 2, 3) > 0, 0), RuntimeError, "broadcast"),
    ],
)
def test_errors(program, error, phrase):
    x = leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    with pytest.raises(error, match=phrase):
        program(x)
    check(x, [[1, 2, 3], [4, 5, 6]])
    assert x._version == 0


def test_what_is_saved():
    # The operand, only to be watched; of indexing nothing but the indices.
    for program, watched in (
        (lambda x: x.gather(1, table), True),
        (lambda x: torch.take(x, table), True),
        (lambda x: torch.masked_select(x, mask), True),
        (lambda x: x[rows], False),
        (lambda x: x.index_select(0, rows), False),
        (lambda x: x.masked_fill(mask, 0.0), False),
    ):
        x = leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]) * 1
        y = program(x)
        x.mul_(2)
        if watched:
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                y.sum().backward()
        else:
            y.sum().backward()
            with pytest.raises(RuntimeError, match="second time"):
                y.sum().backward()


@pytest.mark.parametrize(
    "program",
    [
        lambda x, i: x[i],
        lambda x, i: x[i, i],
        lambda x, i: x.index_select(0, i),
        lambda x, i: x.gather(0, i[:, None]),
        lambda x, i: torch.take(x, i),
        lambda x, i: x.index_add(0, i, x),
        lambda x, i: x.index_copy(0, i, x),
        lambda x, i: x.index_fill(0, i, 0.0),
        lambda x, i: x.index_put((i,), x),
        lambda x, i: x.scatter(0, i[:, None], x),
        lambda x, i: x.scatter(0, i[:, None], 1.0),
        lambda x, i: x.scatter_add(0, i[:, None], x),
    ],
)
def test_an_index_is_watched(program):
    i = rows.clone()
    y = program(leaf([[1.0, 2.0], [3.0, 4.0]]), i)
    i.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize(
    "program",
    [
        lambda x, m: x[m],
        lambda x, m: torch.masked_select(x, m),
        lambda x, m: x.masked_fill(m, 0.0),
        lambda x, m: x.masked_scatter(m, x),
        lambda x, m: x.index_put((m,), x[0]),
    ],
)
def test_a_mask_is_watched(program):
    m = torch.tensor([True, False])
    y = program(leaf([1.0, 2.0]), m)
    m.fill_(True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@ours
def test_below_a_selection_zeros_stay_zeros():
    for program in (
        lambda r, m: r.masked_fill(m, 0.0),
        lambda r, m: r[~m],
        lambda r, m: r[1:],
        lambda r, m: torch.gather(r, 0, torch.tensor([1])),
        lambda r, m: r.index_select(0, torch.tensor([1])),
        lambda r, m: r.index_put((torch.tensor([0]),), r[1]),
    ):
        x = leaf([0.0, 4.0])
        y = program(x.sqrt(), torch.tensor([True, False]))
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        assert g[0] == 0
        (h,) = torch.autograd.grad(g.sum(), x)
        assert h[0] == 0


@ours
def test_of_repeated_places_the_last_counts():
    x, v = leaf([0.0, 0.0]), leaf([1.0, 2.0])
    y = x.index_put((torch.tensor([1, 1]),), v)
    check(y, [0, 2])
    gx, gv = torch.autograd.grad(weighted(y), (x, v))
    check(gx, [1, 0])
    check(gv, [0, 2])
    rows_of_two = leaf([[1.0, 2.0], [3.0, 4.0]])
    y = torch.zeros(2, 2, dtype=torch.float64).index_copy(1, torch.tensor([0, 0]), rows_of_two)
    (g,) = torch.autograd.grad(weighted(y), rows_of_two)
    check(g, [[0, 1], [0, 3]])


def test_repeated_places_add_up():
    x, v = leaf([0.0, 0.0]), leaf([1.0, 2.0, 4.0])
    y = x.index_put((torch.tensor([1, 1, 0]),), v, accumulate=True)
    check(y, [4, 3])
    gx, gv = torch.autograd.grad(weighted(y), (x, v))
    check(gx, [1, 2])
    check(gv, [2, 2, 1])
    check(torch.zeros(2).index_add(0, torch.tensor([1, 1]), torch.ones(2), alpha=3), [0, 6])
    check(torch.ones(2).scatter(0, torch.tensor([1, 1]), 3.0, reduce="multiply"), [1, 9])


def test_whole_numbers_and_truth_values():
    x = torch.zeros(3, dtype=torch.int64)
    x[0] = 1.7
    x[rows] += 1
    assert x.tolist() == [2, 1, 0]
    assert x.masked_fill(torch.tensor([True, False, False]), 2.5).tolist() == [2, 1, 0]
    b = torch.zeros(3, dtype=torch.bool)
    b[1:] = 5
    assert b.tolist() == [False, True, True]
    assert torch.nonzero(b).tolist() == [[1], [2]]
    assert [i.tolist() for i in torch.nonzero(mask, as_tuple=True)] == [[0, 0, 1], [0, 2, 1]]
    assert torch.nonzero(torch.tensor(1)).shape == (1, 0)
    assert torch.argwhere(mask).tolist() == [[0, 0], [0, 2], [1, 1]]


def test_writing_nowhere():
    y = leaf([1.0, 2.0]) * 1
    y[False] = 7.0
    y[torch.tensor([False, False])] = 7.0
    check(y, [1, 2])


def test_no_grad():
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    with torch.no_grad():
        x[0] = 9.0
        x[:, torch.tensor([1])] += 1.0
    check(x, [[9, 10], [3, 5]])
    assert x.is_leaf
    assert x._version == 2


def test_loops_that_fill():
    x = leaf([2.0])
    y = torch.zeros(4, dtype=torch.float64)
    y[0] = x[0]
    for k in range(1, 4):
        y[k] = y[k - 1].clone() * x[0]
    check(y, [2, 4, 8, 16])
    y.sum().backward()
    check(x.grad, [1 + 4 + 12 + 32])


def test_numbers_without_dimensions():
    x, zero = leaf(3.0), torch.tensor([0])
    for y, expected in (
        (x.gather(0, torch.tensor(0)), 3),
        (x.gather(0, torch.tensor([0, 0])), [3, 3]),
        (x.scatter(0, torch.tensor(0), x * 2), 6),
        (x.scatter_add(0, torch.tensor(0), x * 2), 9),
        (x.index_select(0, zero), 3),
        (x.index_add(0, zero, x), 6),
        (x.index_copy(0, zero, x * 2), 6),
        (x.index_fill(0, zero, 5.0), 5),
        (torch.take(x, zero), [3]),
        (torch.masked_select(x, torch.tensor(True)), [3]),
        (x.masked_fill(torch.tensor([True, False]), 0.0), [0, 3]),
        (x[None], [3]),
        (x[...], 3),
        (x[torch.tensor(True)], [3]),
    ):
        check(y, expected)
        y.sum().backward()
    check(x.grad, 1 + 2 + 2 + 3 + 1 + 2 + 2 + 0 + 1 + 1 + 1 + 1 + 1 + 1)
