"""Rules 32-39: in-place operations, versions, views."""

import operator

import numpy as np
import pytest

from tests.eager.chosen import check, leaf, names, ours, torch, weighted
from tests.support.refusals import refused
from tests.support.tensor_checks import check_all, check_backward, check_derivatives, leaf_and_copy

MODIFIED = "modified by an inplace operation"

# Rule 32 ------------------------------------------------------------------------------------------


def _setitem(t):
    t[0] = 1.0


def _slice(t):
    t[:] = 2.0


def _mask(t):
    t[t > 0] = 3.0


IN_PLACE = {
    "add_": lambda t: t.add_(1),
    "add_(0)": lambda t: t.add_(0),
    "sub_": lambda t: t.sub_(1),
    "mul_": lambda t: t.mul_(2),
    "div_": lambda t: t.div_(2),
    "pow_": lambda t: t.pow_(2),
    "neg_": lambda t: t.neg_(),
    "abs_": lambda t: t.abs_(),
    "exp_": lambda t: t.exp_(),
    "expm1_": lambda t: t.expm1_(),
    "log_": lambda t: t.log_(),
    "log1p_": lambda t: t.log1p_(),
    "sqrt_": lambda t: t.sqrt_(),
    "rsqrt_": lambda t: t.rsqrt_(),
    "square_": lambda t: t.square_(),
    "reciprocal_": lambda t: t.reciprocal_(),
    "sin_": lambda t: t.sin_(),
    "cos_": lambda t: t.cos_(),
    "tanh_": lambda t: t.tanh_(),
    "sigmoid_": lambda t: t.sigmoid_(),
    "relu_": lambda t: t.relu_(),
    "floor_": lambda t: t.floor_(),
    "clamp_": lambda t: t.clamp_(0, 1),
    "fill_": lambda t: t.fill_(3),
    "zero_": lambda t: t.zero_(),
    "copy_": lambda t: t.copy_(torch.zeros(2)),
    "masked_fill_": lambda t: t.masked_fill_(t > 0, 5.0),
    "index_fill_": lambda t: t.index_fill_(0, torch.tensor([0]), 5.0),
    "index_add_": lambda t: t.index_add_(0, torch.tensor([0]), torch.ones(1)),
    "index_put_": lambda t: t.index_put_((torch.tensor([0]),), torch.ones(1)),
    "scatter_": lambda t: t.scatter_(0, torch.tensor([0]), torch.ones(1)),
    "scatter_add_": lambda t: t.scatter_add_(0, torch.tensor([0]), torch.ones(1)),
    "addcmul_": lambda t: t.addcmul_(torch.ones(2), torch.ones(2), value=2),
    "addcdiv_": lambda t: t.addcdiv_(torch.ones(2), torch.ones(2)),
    "setitem": _setitem,
    "setitem slice": _slice,
    "setitem mask": _mask,
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_every_in_place_operation_counts_once(name):
    """Rule 32: the version starts at 0 and rises by one; the method returns its tensor."""
    t = torch.tensor([0.25, 0.5])
    assert t._version == 0
    out = IN_PLACE[name](t)
    assert t._version == 1
    assert out is None or out is t
    with torch.no_grad():
        IN_PLACE[name](t)
    assert t._version == 2


AUGMENTED = (
    operator.iadd,
    operator.isub,
    operator.imul,
    operator.itruediv,
    operator.ipow,
    operator.ifloordiv,
    operator.imod,
)


@pytest.mark.parametrize("assign", AUGMENTED)
def test_augmented_assignment_is_in_place(assign):
    """Rules 32, 33, 35: ``+=`` and its relatives change the object, and no recorded leaf."""
    t = torch.tensor([3.0, 5.0])
    assert assign(t, 2) is t
    assert t._version == 1
    w = leaf([3.0, 5.0])
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        assign(w, 2)
    check(w, [3.0, 5.0])


def test_versions_are_shared():
    """Rule 32: by base, views and detached tensors; not by ``.data`` and not by copies."""
    t = torch.zeros(2, 3)
    row, flat, d, data, copy = t[0], t.view(6), t.detach(), t.data, t.clone()
    row.add_(1)
    t.mul_(2)
    assert [u._version for u in (t, row, flat, d, t[1], t.detach())] == [2] * 6
    flat[0] = 5.0
    assert [u._version for u in (t, row, flat, d)] == [3] * 4
    assert [u._version for u in (data, copy, t + 1, t.data)] == [0] * 4


def test_reading_does_not_count():
    """Rule 32: nothing but writing raises the version."""
    x = leaf([1.0, 2.0])
    (x * x).sum().backward()
    x.requires_grad_(False)
    assert x._version == 0


# Rule 33 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", IN_PLACE)
def test_leaf_that_requires_grad(name):
    """Rule 33: refused in grad mode, before anything changes."""
    t = torch.tensor([0.25, 0.5], requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        IN_PLACE[name](t)
    check(t, [0.25, 0.5])
    assert t._version == 0
    assert t.is_leaf


# Rule 34 ------------------------------------------------------------------------------------------

c = torch.tensor([0.5, 0.25], dtype=torch.float64)

SAVES_INPUT = {
    "mul": lambda h: h * h,
    "div": lambda h: c / h,
    "sin": lambda h: h.sin(),
    "cos": lambda h: h.cos(),
    "log": lambda h: h.log(),
    "abs": lambda h: h.abs(),
    "pow": lambda h: h**2,
    "clamp": lambda h: h.clamp(0, 1),
    "var": lambda h: h.var(),
    "prod": lambda h: h.prod(),
    "dot": lambda h: h.dot(h),
    "maximum": lambda h: torch.maximum(h, c),
    "log1p": lambda h: h.log1p(),
}


@pytest.mark.parametrize("name", SAVES_INPUT)
def test_saved_inputs_are_checked(name):
    """Rule 34: what saves its input notices a change of it."""
    x, h = leaf_and_copy([0.5, 2.0])
    y = SAVES_INPUT[name](h).sum()
    h.add_(1)
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.backward()
    assert x.grad is None


SAVES_RESULT = {
    "exp": lambda h: h.exp(),
    "sigmoid": lambda h: h.sigmoid(),
    "tanh": lambda h: h.tanh(),
    "sqrt": lambda h: h.sqrt(),
    "relu": lambda h: h.relu(),
    "softmax": lambda h: h.softmax(0),
    "reciprocal": lambda h: h.reciprocal(),
    "rsqrt": lambda h: h.rsqrt(),
}


@pytest.mark.parametrize("name", SAVES_RESULT)
def test_saved_results_are_checked(name):
    """Rule 34: what saves its result notices a change of it, and not of its input."""
    x, h = leaf_and_copy([0.5, 2.0])
    y = SAVES_RESULT[name](h)
    y.add_(1)
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.sum().backward()
    h = x + 0
    y = SAVES_RESULT[name](h)
    h.add_(1)
    y.sum().backward()
    expected = torch.autograd.grad(SAVES_RESULT[name](x).sum(), x)[0]
    check(x.grad, expected.tolist())


@pytest.mark.parametrize("reduce", [torch.max, torch.prod])
def test_reductions_that_save_result_and_input(reduce):
    """Rule 34: so changing either is noticed."""
    for change in (lambda h, y: h.add_(1), lambda h, y: y.add_(1)):
        _, h = leaf_and_copy([0.5, 2.0])
        y = reduce(h)
        change(h, y)
        with pytest.raises(RuntimeError, match=MODIFIED):
            y.backward()


UNNEEDED = {
    "indexed": (lambda h, k: h[torch.tensor([1, 1])], [0.0, 2.0]),
    "the first factor": (lambda h, k: h * k, [1.0, 1.0]),
    "the dividend": (lambda h, k: h / k, [1.0, 1.0]),
}


@pytest.mark.parametrize("name", UNNEEDED)
def test_operands_of_which_no_values_are_needed_may_change(name):
    """Rule 34: of products and quotients one operand, if the other requires no gradient."""
    f, expected = UNNEEDED[name]
    x, h = leaf_and_copy([0.5, 2.0])
    y = f(h, torch.ones(2, dtype=torch.float64))
    h.add_(1)
    check_backward(y.sum(), (x, expected))


NEEDED = {
    "the source of gather": lambda h, k, i: (h.gather(0, i), h),
    "the index of gather": lambda h, k, i: (h.gather(0, i), i),
    "a constant factor": lambda h, k, i: (h * k, k),
}


@pytest.mark.parametrize("name", NEEDED)
def test_saved_operands_of_every_kind_are_checked(name):
    """Rule 34: indices and constants count as any saved tensor."""
    k, i = torch.ones(2, dtype=torch.float64), torch.tensor([1, 0])
    y, changed = NEEDED[name](leaf([0.5, 2.0]) * 1, k, i)
    changed.add_(1)
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.sum().backward()


SAVES_NOTHING = {
    "add": lambda h: h + h,
    "sub": lambda h: h - 1,
    "neg": lambda h: -h,
    "sum": lambda h: h.sum(),
    "mean": lambda h: h.mean(),
    "view": lambda h: h.view(2, 1).clone(),
    "cat": lambda h: torch.cat([h, h]),
    "stack": lambda h: torch.stack([h, h]),
    "clone": lambda h: h.clone(),
    "cumsum": lambda h: h.cumsum(0),
    "flip": lambda h: h.flip(0),
    "repeat": lambda h: h.repeat(2),
    "times number": lambda h: h * 2,
    "over number": lambda h: h / 2,
}


@pytest.mark.parametrize("name", SAVES_NOTHING)
def test_what_is_not_saved_may_change(name):
    """Rule 34: what needs no values of its input does not notice."""
    x, h = leaf_and_copy([0.5, 2.0])
    y = SAVES_NOTHING[name](h).sum()
    h.add_(1)
    y.backward()
    (expected,) = torch.autograd.grad(SAVES_NOTHING[name](x).sum(), x)
    check(x.grad, expected.tolist())


def test_change_after_backward_is_harmless():
    """Rule 34: versions are checked when the saved values are used."""
    x, h = leaf_and_copy([0.5, 2.0])
    y = (h * h).sum()
    y.backward()
    h.add_(1)
    check(x.grad, [1.0, 4.0])


def test_changes_back_count_too():
    """Rule 34: the version decides, not the value."""
    _, h = leaf_and_copy([0.5, 2.0])
    y = (h * h).sum()
    h.add_(1)
    h.sub_(1)
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.backward()


def test_change_through_a_view():
    """Rule 34: a write to a view of what was saved is noticed."""
    _, h = leaf_and_copy([0.5, 2.0])
    y = h.sin().sum()
    h[0] = 3.0
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.backward()


def test_error_names_both_versions():
    """Rule 34: the message says which version was expected."""
    _, h = leaf_and_copy([0.5, 2.0])
    y = h.sin().sum()
    h.add_(1).add_(1)
    with pytest.raises(RuntimeError, match=r"version 2; expected version 0 instead"):
        y.backward()


# Rule 35 ------------------------------------------------------------------------------------------


def test_in_place_rewrites_history():
    """Rule 35: a new grad_fn, whose first operand is the old one."""
    x = leaf([1.0, 2.0])
    h = x * 2
    old = h.grad_fn
    h.exp_()
    assert h.grad_fn is not old
    assert h.grad_fn.name() == "ExpBackward0"
    assert h.grad_fn.next_functions[0][0] is old
    check_backward(h.sum(), (x, 2 * np.exp([2.0, 4.0])))


def test_in_place_on_a_constant_makes_a_non_leaf():
    """Rule 35: when what is added requires grad."""
    x, h = leaf([1.0, 2.0]), torch.zeros(2, dtype=torch.float64)
    assert h.is_leaf
    h.add_(x * x)
    assert not h.is_leaf
    assert h.requires_grad
    assert h.grad_fn.name() == "AddBackward0"
    check_backward(h.sum(), (x, [2.0, 4.0]))


@pytest.mark.parametrize(
    "name",
    ["exp_", "tanh_", "sigmoid_", "sqrt_", "relu_", "sin_", "log_", "square_", "neg_", "abs_",
     "reciprocal_", "rsqrt_", "expm1_", "log1p_", "cos_", "pow_", "div_", "clamp_"],
)  # fmt: skip
def test_in_place_gradient_equals_out_of_place(name):
    """Rule 35: the in-place form has the derivative of the other."""
    arguments = {"pow_": (3,), "div_": (4,), "clamp_": (0.0, 1.0)}.get(name, ())
    x, w = leaf([0.5, 2.0]), leaf([0.5, 2.0])
    h = x * 1
    getattr(h, name)(*arguments)
    y = getattr(w * 1, name[:-1])(*arguments)
    check(h, y.tolist())
    h.sum().backward()
    y.sum().backward()
    check(x.grad, w.grad.tolist())


def test_results_made_before_keep_their_history():
    """Rule 35: they belong to the old state."""
    x = leaf([1.0, 2.0])
    h = x * 2
    y = h + 1
    h.mul_(10)
    check_backward(y.sum(), (x, [2.0, 2.0]))


# Rule 36 ------------------------------------------------------------------------------------------


def test_in_place_through_a_view_rewrites_the_base():
    """Rule 36: the base gets a CopySlices node; gradients are those of the new state."""
    x, h = leaf_and_copy([1.0, 2.0, 3.0])
    v = h[1:]
    v.mul_(10)
    assert type(h.grad_fn).__name__ == "CopySlices"
    assert h.grad_fn.name() == "torch::autograd::CopySlices"
    check(h, [1.0, 20.0, 30.0])
    check_backward(h.sum(), (x, [1.0, 10.0, 10.0]))


def test_in_place_product_with_itself():
    """Rule 34: ``h.mul_(h)`` overwrites what it saved."""
    _, h = leaf_and_copy([1.0, 2.0, 3.0])
    h.mul_(h)
    with pytest.raises(RuntimeError, match=MODIFIED):
        h.sum().backward()


def test_writing_what_requires_grad_into_a_constant_through_a_view():
    """Rule 36: the base becomes part of the record."""
    x, buffer = leaf([1.0, 2.0]), torch.zeros(3, 2, dtype=torch.float64)
    buffer[1].add_(x * x)
    assert buffer.requires_grad
    assert not buffer.is_leaf
    assert type(buffer.grad_fn).__name__ == "CopySlices"
    check(buffer, [[0.0, 0.0], [1.0, 4.0], [0.0, 0.0]])
    check_backward(buffer.sum(), (x, [2.0, 4.0]))


def test_view_reports_its_new_grad_fn():
    """Rule 36: the grad_fn of an untouched view is made anew."""
    _, h = leaf_and_copy([1.0, 2.0, 3.0])
    v = h[1:]
    old = v.grad_fn
    assert old.name() == "SliceBackward0"
    h.mul_(2)
    assert v.grad_fn is not old
    assert v.grad_fn.next_functions[0][0] is h.grad_fn
    assert v.grad_fn is v.grad_fn


def test_overlapping_views_in_place():
    """Rule 36: two views that share elements, written alternately."""
    x, h = leaf_and_copy([1.0, 2.0, 3.0])
    a, b = h[:2], h[1:]
    a.mul_(2)
    b.mul_(3)
    a.add_(1)
    check(h, [3.0, 13.0, 9.0])
    check(b, [13.0, 9.0])
    check_backward((h * h).sum(), (x, [2 * 3.0 * 2, 2 * 13.0 * 6, 2 * 9.0 * 3]))


def test_reshape_that_copies_is_no_view():
    """Rule 36: writing to a copy leaves the base alone."""
    _, h = leaf_and_copy([[1.0, 2.0], [3.0, 4.0]])
    flat = h.t().reshape(4)
    flat.mul_(10)
    check(h, [[1.0, 2.0], [3.0, 4.0]])
    assert h._version == 0


# Rule 37 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "split", [lambda h: h.unbind(), lambda h: h.chunk(3), lambda h: h.split(1)]
)
def test_outputs_of_multi_view_functions(split):
    """Rule 37: cannot be changed in place when they require grad."""
    _, h = leaf_and_copy([1.0, 2.0, 3.0])
    part = split(h)[1]
    with pytest.raises(RuntimeError, match="view"):
        part.mul_(2)
    check(h, [1.0, 2.0, 3.0])
    assert h._version == 0
    split(torch.ones(3))[0].mul_(2)


def test_view_made_in_no_grad():
    """Rule 37: changed in grad mode it is refused."""
    _, h = leaf_and_copy([1.0, 2.0, 3.0])
    with torch.no_grad():
        v = h[1:]
    with pytest.raises(RuntimeError, match="no_grad"):
        v.mul_(2)
    check(h, [1.0, 2.0, 3.0])
    with torch.no_grad():
        v.mul_(2)
    check(h, [1.0, 4.0, 6.0])


# Rule 38 ------------------------------------------------------------------------------------------

INDEX, MASK = torch.tensor([[1], [0]]), torch.tensor([[True, False, True], [False, True, False]])
ROW, PLACES = torch.tensor([1]), (torch.tensor([0, 1]), torch.tensor([2, 0]))
ROWS = [[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]
KEPT, NONE = [[1, 2, 3], [4, 5, 6]], np.zeros((2, 3))
FIRST = torch.tensor([True, False, False])
TWICE = torch.tensor([0, 0]), torch.tensor([1, 1])

# What is written, the value, the gradient of what was there, and that of the value, where the
# gradient of the result is 1, 2, 3 over 4, 5, 6.
WRITES = {
    "a column": (lambda h, v: h.__setitem__((slice(None), 1), v), [7.0, 8.0],
                 [[1, 0, 3], [4, 0, 6]], [2, 5]),
    "a number into a row": (lambda h, v: h.__setitem__(0, v), 7.0, [[0, 0, 0], [4, 5, 6]], 6),
    "a row into all": (lambda h, v: h.__setitem__(slice(None), v), [7.0, 8.0, 9.0], NONE,
                       [5, 7, 9]),
    "a column into two": (lambda h, v: h.__setitem__((slice(None), slice(1, None)), v),
                          [[7.0], [8.0]], [[1, 0, 0], [4, 0, 0]], [[5], [11]]),
    "an index": (lambda h, v: h.__setitem__(ROW, v), [[7.0, 8.0, 9.0]], [[1, 2, 3], [0, 0, 0]],
                 [[4, 5, 6]]),
    "two indices": (lambda h, v: h.__setitem__(PLACES, v), [7.0, 8.0], [[1, 2, 0], [0, 5, 6]],
                    [3, 4]),
    "a mask": (lambda h, v: h.__setitem__(MASK, v), [7.0, 8.0, 9.0], [[0, 2, 0], [4, 0, 6]],
               [1, 3, 5]),
    "a number at a mask": (lambda h, v: h.__setitem__(MASK, v), 7.0, [[0, 2, 0], [4, 0, 6]], 9),
    "copy_": (lambda h, v: h.copy_(v), ROWS, NONE, KEPT),
    "copy_ of a row": (lambda h, v: h.copy_(v), [[1.0, 1.0, 1.0]], NONE, [[5, 7, 9]]),
    "fill_": (lambda h, v: h.fill_(v), 7.0, NONE, 21),
    "fill_ of a view": (lambda h, v: h[0].fill_(v), 7.0, [[0, 0, 0], [4, 5, 6]], 6),
    "index_put_": (lambda h, v: h.index_put_(PLACES, v), [7.0, 8.0], [[1, 2, 0], [0, 5, 6]],
                   [3, 4]),
    "index_put_ adds": (lambda h, v: h.index_put_(TWICE, v, accumulate=True), [7.0, 8.0], KEPT,
                        [2, 2]),
    "masked_fill_": (lambda h, v: h.masked_fill_(MASK, v), 7.0, [[0, 2, 0], [4, 0, 6]], 9),
    "masked_fill_ of columns": (lambda h, v: h.masked_fill_(FIRST, v), 7.0, [[0, 2, 3], [0, 5, 6]],
                                5),
    "scatter_": (lambda h, v: h.scatter_(1, INDEX, v), [[7.0], [8.0]], [[1, 0, 3], [0, 5, 6]],
                 [[2], [4]]),
    "scatter_ of a number": (lambda h, v: h.scatter_(1, INDEX, 9.0).add_(v), 0.0,
                             [[1, 0, 3], [0, 5, 6]], 21),
    "scatter_add_": (lambda h, v: h.scatter_add_(1, INDEX, v), [[7.0], [8.0]], KEPT, [[2], [4]]),
    "index_add_": (lambda h, v: h.index_add_(0, torch.tensor([1, 1]), v, alpha=2), ROWS, KEPT,
                   [[8, 10, 12], [8, 10, 12]]),
    "add_": (lambda h, v: h.add_(v), [1.0, 1.0, 1.0], KEPT, [5, 7, 9]),
    "mul_": (lambda h, v: h.mul_(v), [[2.0], [3.0]], [[2, 4, 6], [12, 15, 18]], [[14], [77]]),
    "sub_": (lambda h, v: h.sub_(v, alpha=3), 1.0, KEPT, -63),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITES)
def test_writes_are_differentiable_on_both_sides(name):
    """Rule 38: overwritten places get 0, the value what flows there, summed where it repeats."""
    write, value, expected, value_grad = WRITES[name]
    (x, h), v = leaf_and_copy([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), leaf(value)
    write(h, v * 1)
    check_backward(weighted(h), (x, expected), (v, value_grad))


def test_setitem_of_numbers():
    """Rule 38: a Python number, a list index, a single element."""
    x = leaf([1.0, 2.0, 3.0])
    h = x * 2
    h[0] = 5
    h[-1] = torch.tensor(7.0)
    check(h, [5.0, 4.0, 7.0])
    check_backward(h.sum(), (x, [0.0, 2.0, 0.0]))


def test_setitem_casts():
    """Rule 38: the value is cast to the dtype of what is written to; its gradient comes back."""
    v = torch.tensor([1.5, 2.5], requires_grad=True)
    h = torch.zeros(2, dtype=torch.float64)
    h[:] = v
    check_backward((h * torch.tensor([1.0, 3.0]).double()).sum(), (v, [1.0, 3.0]))
    assert v.grad.dtype == torch.float32
    ints = torch.zeros(2, dtype=torch.int64)
    ints[:] = torch.tensor([1.7, -1.7])
    assert ints.tolist() == [1, -1]


def test_names_of_copies_and_sums_at_repeated_places():
    """Rules 4, 38: a copy has PyTorch's name, and what is put twice adds up."""
    h = leaf([1.0]) * 1
    assert names(h.copy_(h * 5))[0] == "CopyBackwards"
    total = torch.zeros(2)
    check(
        total.index_put_((torch.tensor([0, 0]),), torch.tensor([1.0, 2.0]), accumulate=True), [3, 0]
    )


def test_second_order_through_setitem():
    """Rule 38: differentiable to any order."""
    x = leaf([1.0, 2.0])
    h = torch.zeros(2, dtype=torch.float64)
    h[0] = x[0] ** 3
    h[1:] = x[1:] * x[0]
    (g,) = torch.autograd.grad((h * h).sum(), x, create_graph=True)
    check(g, [6.0 + 8.0, 4.0])
    check_all(torch.autograd.grad(g[0], x), [30.0 + 8.0, 8.0])


# Rule 39 ------------------------------------------------------------------------------------------


def test_result_type_must_be_castable():
    """Rule 39: an integer tensor cannot take a float result in place."""
    t = torch.ones(2, dtype=torch.int64)
    for change in (lambda: t.add_(1.5), lambda: t.mul_(torch.ones(2)), lambda: t.div_(2)):
        with pytest.raises(RuntimeError, match="can't be cast"):
            change()
    b = torch.ones(2, dtype=torch.bool)
    with pytest.raises(RuntimeError, match="can't be cast"):
        b.add_(1)
    assert t.tolist() == [1, 1]
    assert t._version == 0
    t.add_(True)
    f = torch.ones(2)
    f.add_(torch.ones(2, dtype=torch.float64))
    assert f.dtype == torch.float32


@pytest.mark.parametrize("shape", [(2, 2), (3,), (1, 1, 2)])
def test_shape_must_not_grow(shape):
    """Rule 39: the result of broadcasting must have the tensor's own shape."""
    t = torch.ones(1, 2)
    with pytest.raises(RuntimeError, match=r"broadcast|must match"):
        t.add_(torch.ones(shape))
    check(t, [[1.0, 1.0]])
    assert t._version == 0


def test_expanded_memory():
    """Rule 39: elements that share memory cannot be changed one by one."""
    t = torch.ones(1, 2).expand(3, 2)
    refused(
        (RuntimeError, "single memory location", lambda: t.add_(1)),
        (RuntimeError, "single memory location", lambda: t.mul_(torch.ones(3, 2))),
    )
    check(t, np.ones((3, 2)))


# More of rules 32-36: every view, every way of writing --------------------------------------------

MANY_VIEWS = {
    "select": lambda h: h[1],
    "select method": lambda h: h.select(1, 2),
    "slice": lambda h: h[:, 1:3],
    "slice with steps": lambda h: h[::2, ::2],
    "negative index": lambda h: h[-1, 1:],
    "narrow": lambda h: h.narrow(1, 1, 2),
    "diagonal": lambda h: h.diagonal(),
    "diagonal above": lambda h: h.diagonal(1),
    "t": lambda h: h.t(),
    "T": lambda h: h.T[1],
    "mT": lambda h: h.mT[:2],
    "transpose": lambda h: h.transpose(0, 1)[2],
    "swapaxes": lambda h: h.swapaxes(0, 1)[2],
    "permute": lambda h: h.permute(1, 0)[1:],
    "movedim": lambda h: h.movedim(0, 1)[0],
    "view": lambda h: h.view(4, 3)[1],
    "view inferred": lambda h: h.view(-1)[5:],
    "view_as": lambda h: h.view_as(torch.zeros(2, 6))[0],
    "reshape": lambda h: h.reshape(12)[3:7],
    "flatten": lambda h: h.flatten()[3:7],
    "ravel": lambda h: h.ravel()[1:4],
    "unflatten": lambda h: h.unflatten(1, (2, 2))[0, 1],
    "unsqueeze": lambda h: h.unsqueeze(1)[2],
    "squeeze": lambda h: h[1:2].squeeze(0),
    "None": lambda h: h[None, 1],
    "ellipsis": lambda h: h[..., 2],
    "unfold": lambda h: h.unfold(1, 2, 2)[:, 1],
    "expand of length one": lambda h: h[:1].expand(1, 4),
    "twice": lambda h: h[1:].t()[1:3].diagonal(),
    "detach is none": lambda h: h[0],
}


def places(view):
    """Which elements of a 3 by 4 matrix a view of it has."""
    marks = torch.zeros(3, 4)
    view(marks).fill_(1.0)
    assert marks.any()
    return marks.numpy() == 1


@pytest.mark.parametrize("name", MANY_VIEWS)
def test_writing_through_every_view(name):
    """Rule 36: the base, the view and older views see values and gradients, and one version."""
    view, data = MANY_VIEWS[name], np.arange(1.0, 13.0).reshape(3, 4)
    hit = places(view)
    x, h = leaf_and_copy(data)
    v, before = view(h), view(h)
    v.mul_(10)
    assert h._version == v._version == before._version == 1
    check(h, np.where(hit, 10 * data, data))
    check(before, v.tolist())
    check_backward(weighted(h), (x, np.where(hit, 10 * data, data)), retain_graph=True)
    x.grad = None
    check_backward((before + v).sum(), (x, np.where(hit, 20.0, 0.0)))


@pytest.mark.parametrize("name", MANY_VIEWS)
def test_every_view_sees_a_write_to_the_base(name):
    """Rule 36: also a view that was taken before."""
    view, data = MANY_VIEWS[name], np.arange(1.0, 13.0).reshape(3, 4)
    x, h = leaf_and_copy(data)
    v = view(h)
    h.mul_(3)
    check_backward((v * v).sum(), (x, np.where(places(view), 18 * data, 0.0)))


@pytest.mark.parametrize("name", MANY_VIEWS)
def test_every_view_of_a_leaf_is_refused(name):
    """Rule 33: before any change."""
    x = torch.ones(3, 4, requires_grad=True)
    v = MANY_VIEWS[name](x)
    refused(
        (RuntimeError, "a view of a leaf Variable", lambda: v.mul_(2)),
        (RuntimeError, "a view of a leaf Variable", lambda: v.__setitem__(..., 5.0)),
    )
    check(x, np.ones((3, 4)))
    assert x._version == 0


def test_next_functions_of_copy_slices():
    """Rule 36: first the old record of the base; then what the written view had besides."""
    x, h = leaf_and_copy([[1.0, 2.0], [3.0, 4.0]])
    old = h.grad_fn
    h[0].mul_(x[1])
    (base, other) = h.grad_fn.next_functions
    assert base == (old, 0)
    assert other[0].name() == "SelectBackward0"


def test_grad_fn_of_a_view_after_a_write():
    """Rule 36: the view that was written is a view of the new base."""
    _, h = leaf_and_copy([[1.0, 2.0], [3.0, 4.0]])
    v = h[0]
    v.mul_(2)
    assert v.grad_fn.name() == "AsStridedBackward0"
    assert v.grad_fn.next_functions[0][0] is h.grad_fn


def test_a_view_is_a_leaf_of_nothing():
    """Rule 36: writing into a view of a buffer, then reading another view of it."""
    x = leaf([1.0, 2.0])
    buffer = torch.zeros(4).double()
    left, right = buffer[:2], buffer[2:]
    left.copy_(x)
    assert left.requires_grad
    assert right.requires_grad
    assert buffer.requires_grad
    assert right.grad_fn is not None
    right.add_(left * 3)
    check_backward(
        (buffer * torch.tensor([1.0, 2.0, 3.0, 4.0]).double()).sum(), (x, [1.0 + 9.0, 2.0 + 12.0])
    )


def test_write_through_a_view_under_no_grad():
    """Rule 36: changes values without a record; the gradient is that of what was recorded."""
    x = leaf([1.0, 2.0])
    h = x * 3
    with torch.no_grad():
        h[0] = 100.0
    check(h, [100.0, 6.0])
    assert h.grad_fn.name() == "MulBackward0"
    check_backward(h.sum(), (x, [3.0, 3.0]))


def test_augmented_assignment_of_an_element():
    """Rule 38: ``h[i] += ...`` reads, adds and writes."""
    x, h = leaf_and_copy([1.0, 2.0])
    h[0] += x[1] * 5
    h[1] *= 3
    check(h, [11.0, 6.0])
    check_backward(h.sum(), (x, [1.0, 8.0]))


def test_swapping_rows():
    """Rule 38: with an index on both sides."""
    x, h = leaf_and_copy([[1.0, 2.0], [3.0, 4.0]])
    h[[0, 1]] = h[[1, 0]]
    check(h, [[3.0, 4.0], [1.0, 2.0]])
    check_backward(
        (h * torch.tensor([[1.0], [10.0]]).double()).sum(), (x, [[10.0, 10.0], [1.0, 1.0]])
    )


def test_zero_and_fill_cut():
    """Rule 38: ``zero_`` and ``fill_`` with a number give gradient 0 to what was there."""
    x, h = leaf_and_copy([1.0, 2.0])
    h.zero_()
    check_backward((h + x).sum(), (x, [1.0, 1.0]))
    x.grad = None
    h = x * 1
    h[:1].fill_(5)
    check_backward(h.sum(), (x, [0.0, 1.0]))


def test_writing_a_recorded_value_into_integers():
    """Rule 38: the result is of integer dtype, so nothing is recorded."""
    x, h = leaf([1.5, 2.5]), torch.zeros(2, dtype=torch.int64)
    h.copy_(x)
    assert not h.requires_grad
    assert h.tolist() == [1, 2]


def test_double_backward_through_views_and_writes():
    """Rule 36: to the second order."""
    x = leaf([1.0, 2.0, 3.0])
    h = x**2
    h[1:].mul_(x[:2])
    a, b, c = 1.0, 2.0, 3.0  # h = (a², b²a, c²b)
    check_derivatives(
        h**2,
        x,
        [4 * a**3 + 2 * a * b**4, 4 * b**3 * a**2 + 2 * b * c**4, 4 * c**3 * b**2],
        [
            12 * a**2 + 2 * b**4 + 8 * b**3 * a,
            8 * a * b**3 + 12 * b**2 * a**2 + 2 * c**4 + 8 * c**3 * b,
            8 * b * c**3 + 12 * c**2 * b**2,
        ],
    )


def test_multi_view_outputs_of_constants_and_their_views():
    """Rule 37: also views of such outputs, and outputs of constants that start to be recorded."""
    x, h = leaf_and_copy([[1.0, 2.0], [3.0, 4.0]])
    row = h.unbind()[0]
    with pytest.raises(RuntimeError, match="view"):
        row[0].mul_(2)
    for r in h:
        with pytest.raises(RuntimeError, match="view"):
            r.mul_(2)
    buffer = torch.zeros(2, 2).double()
    part = buffer.unbind()[0]
    with pytest.raises(RuntimeError, match="view"):
        part.mul_(x[0])
    assert not buffer.requires_grad
    part.add_(1)
    check(buffer, [[1.0, 1.0], [0.0, 0.0]])


def test_leaf_that_becomes_required_after_views():
    """Rule 33: a view taken before ``requires_grad_`` counts as well."""
    base = torch.ones(2)
    v = base[0]
    base.requires_grad_()
    with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
        v.mul_(2)
    check(base, [1.0, 1.0])


def test_in_place_casts():
    """Rule 39: a wider operand is cast down; gradients come back in each dtype."""
    h32, w = torch.ones(2, requires_grad=True), leaf([2.0, 3.0])
    h = h32 * 1
    h.mul_(w)
    assert h.dtype == torch.float32
    h.sum().backward()
    assert h32.grad.dtype == torch.float32
    assert w.grad.dtype == torch.float64
    check(h32.grad, [2.0, 3.0])
    check(w.grad, [1.0, 1.0])


def test_comparison_in_place_is_not_recorded():
    """Rule 34: versions of bool masks count too where they are saved."""
    x = leaf([1.0, -1.0])
    mask = x > 0
    y = torch.where(mask, x, x * 2)
    mask.logical_not_() if hasattr(mask, "logical_not_") else mask.fill_(True)
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.sum().backward()


def test_transposition_in_place():
    """Rule 32: ``t_`` changes the shape, counts, and is recorded."""
    x, h = leaf_and_copy([[1.0, 2.0], [3.0, 4.0]])
    assert h.t_() is h
    check(h, [[1.0, 3.0], [2.0, 4.0]])
    check_backward(
        (h * torch.tensor([[1.0, 2.0], [3.0, 4.0]]).double()).sum(), (x, [[1.0, 3.0], [2.0, 4.0]])
    )


REFUSED = {
    "shape": lambda h: h.add_(torch.ones(3).double()),
    "shape grows": lambda h: h.mul_(torch.ones(2, 2, 2).double()),
    "copy_": lambda h: h.copy_(torch.ones(3).double()),
    "setitem shape": lambda h: h.__setitem__(0, torch.ones(3).double()),
    "setitem index": lambda h: h.__setitem__(5, 1.0),
    "setitem tensor index": lambda h: h.__setitem__(torch.tensor([0, 5]), 1.0),
    "setitem list index": lambda h: h.__setitem__([0, 5], 1.0),
    "setitem mask": lambda h: h.__setitem__(torch.tensor([True, False, True]), 1.0),
    "setitem mask values": lambda h: h.__setitem__(h > 2, torch.ones(5).double()),
    "setitem too many": lambda h: h.__setitem__((0, 0, 0), 1.0),
    "setitem string": lambda h: h.__setitem__(0, "a"),
    "masked_fill_ mask dtype": lambda h: h.masked_fill_(torch.ones(2, 2), 0.0),
    "masked_fill_ shape": lambda h: h.masked_fill_(torch.ones(3, dtype=torch.bool), 0.0),
    "masked_fill_ value": lambda h: h.masked_fill_(h > 2, torch.ones(2).double()),
    "fill_ value": lambda h: h.fill_(torch.ones(2).double()),
    "index_fill_ dim": lambda h: h.index_fill_(2, torch.tensor([0]), 1.0),
    "index_fill_ index": lambda h: h.index_fill_(0, torch.tensor([0, 7]), 1.0),
    "index_add_ index": lambda h: h.index_add_(0, torch.tensor([0, 7]), torch.ones(2, 2).double()),
    "index_add_ shape": lambda h: h.index_add_(0, torch.tensor([0]), torch.ones(2, 2).double()),
    "index_put_": lambda h: h.index_put_((torch.tensor([0, 7]),), torch.ones(2).double()),
    "scatter_ index": lambda h: h.scatter_(0, torch.tensor([[0, 7]]), 1.0),
    "scatter_add_ dtype": lambda h: h.scatter_add_(0, torch.tensor([[0, 1]]), torch.ones(1, 2)),
    "clamp_": lambda h: h.clamp_(),
    "unknown type": lambda h: h.add_("a"),
    "none": lambda h: h.mul_(None),
    "multi-view": lambda h: h.unbind()[0].mul_(2),
    "expanded": lambda h: h[:1].expand(2, 2).mul_(2),
}

# PyTorch sees an index out of range when it has written what comes before.
LATE = {"setitem tensor index", "setitem list index", "index_fill_ index", "index_add_ index",
        "index_put_"}  # fmt: skip


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[ours] if name in LATE else []) for name in REFUSED]
)
def test_refused_writes_change_nothing(name):
    """Rules 33, 39: value, version and record are as before, for recorded tensors."""
    x, h = leaf_and_copy([[1.0, 2.0], [3.0, 4.0]])
    fn = h.grad_fn
    with pytest.raises((RuntimeError, IndexError, TypeError, ValueError)):
        REFUSED[name](h)
    check(h, [[1.0, 2.0], [3.0, 4.0]])
    assert h._version == 0
    assert h.grad_fn is fn
    check_backward(h.sum(), (x, np.ones((2, 2))))


def test_view_made_in_no_grad_of_what_is_changed_later():
    """Rule 37: its record would be ambiguous, so asking for it is refused."""
    x, h = leaf_and_copy([1.0, 2.0, 3.0])
    with torch.no_grad():
        v = h[1:]
    h.mul_(2)
    with pytest.raises(RuntimeError, match="no_grad"):
        _ = v.grad_fn
    check(h, [2.0, 4.0, 6.0])
    check_backward(h.sum(), (x, [2.0, 2.0, 2.0]))


def test_view_of_a_constant_that_requires_grad_itself():
    """Rule 33: a view may be a leaf that requires grad; writing it is refused, its base not."""
    base = torch.ones(2, 2)
    v = base[0]
    v.requires_grad_()
    assert v.is_leaf
    assert not base.requires_grad
    with pytest.raises(RuntimeError, match="leaf Variable"):
        v.mul_(2)
    base.mul_(2)
    assert v.requires_grad
    check(v, [2.0, 2.0])
    check_backward((v * 3).sum(), (v, [3.0, 3.0]))


def test_detached_constants_do_not_join_a_record():
    """Rule 29: writing what requires grad into a detached tensor changes the memory of both."""
    x, c = leaf([1.0, 2.0]), torch.ones(2).double()
    d = c.detach()
    d.mul_(x)
    assert d.requires_grad
    assert not c.requires_grad
    check(c, [1.0, 2.0])
    check_backward(d.sum(), (x, [1.0, 1.0]))
