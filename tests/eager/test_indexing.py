"""Reading and writing at places beyond ``op_examples``: names, what is watched, errors."""

from operator import setitem

import pytest

from tests.eager.chosen import check, leaf, names, ours, torch, weighted

rows, cols = torch.tensor([1, 0]), torch.tensor([2, 0, 2])
mask = torch.tensor([[True, False, True], [False, True, False]])
table = torch.tensor([[2, 0], [1, 2]])


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


BY_INDEX = [
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
]
BY_MASK = [
    lambda x, m: x[m],
    lambda x, m: torch.masked_select(x, m),
    lambda x, m: x.masked_fill(m, 0.0),
    lambda x, m: x.masked_scatter(m, x),
    lambda x, m: x.index_put((m,), x[0]),
]


@pytest.mark.parametrize(
    ("program", "places", "data"),
    [
        *((program, rows, [[1.0, 2.0], [3.0, 4.0]]) for program in BY_INDEX),
        *((program, torch.tensor([True, False]), [1.0, 2.0]) for program in BY_MASK),
    ],
)
def test_an_index_is_watched(program, places, data):
    i = places.clone()
    y = program(leaf(data), i)
    i.zero_()
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


def test_scatter_without_axes():
    """What has no axes counts as a vector, as for gather."""
    x, v = leaf([1.0, 2.0, 3.0]), leaf(9.0)
    y = x.scatter(0, torch.tensor(2), v)
    check(y, [1, 2, 9])
    (y * y).sum().backward()
    check(x.grad, [2, 4, 0])
    check(v.grad, 18.0)
    check(x.scatter(0, torch.tensor(1), 9.0), [1, 9, 3])
    check(x.scatter_add(0, torch.tensor([1]), v), [1, 11, 3])
    plain = x.detach()
    check(plain.scatter(0, torch.tensor(0), v.detach(), reduce="multiply"), [9, 2, 3])
    check(v.detach().scatter(0, torch.tensor([0]), torch.tensor([4.0]).double()), 4.0)


def test_gather_without_axes_or_elements():
    """What has no axes counts as a vector; of an index without elements nothing is asked."""
    x = leaf([1.0, 2.0, 3.0])
    y = torch.gather(x, 0, torch.tensor(2))
    check(y, 3.0)
    y.backward()
    check(x.grad, [0, 0, 1])
    check(torch.gather(torch.tensor(4.0), 0, torch.tensor([0, 0])), [4, 4])
    for kind in (torch.int64, torch.uint8, torch.float32):
        none = torch.gather(torch.ones(2, 3), 1, torch.zeros(0, dtype=kind))
        assert none.tolist() == []
    assert torch.gather(torch.ones(2, 3).bool(), 0, torch.zeros(4, 0).long()).dtype == torch.bool
