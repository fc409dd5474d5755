"""Rules 44-48: custom Functions."""

import copy
import pickle
import types
import warnings
import weakref

import numpy as np
import pytest

from tests.eager.chosen import ORACLE, check, leaf, names, no_collector, ours, torch
from tests.support.refusals import refused
from tests.support.tensor_checks import (
    check_all,
    check_backward,
    check_constant,
    check_derivatives,
    leaf_and_copy,
)

Function = torch.autograd.Function
once_differentiable = torch.autograd.function.once_differentiable


def function(forward, backward=lambda ctx, g: g, **members):
    """A Function called F, of two functions."""
    members |= {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return types.new_class("F", (Function,), exec_body=lambda space: space.update(members))


def doubled(ctx, x):
    """The forward of most."""
    return x * 2


class Exp(Function):
    """Saves its result."""

    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y


class Scale(Function):
    """A Tensor and a number."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor, None


class Mul(Function):
    """In the style with setup_context."""

    @staticmethod
    def forward(a, b):
        return a * b

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return (g * b if ctx.needs_input_grad[0] else None), (
            g * a if ctx.needs_input_grad[1] else None
        )


# Rule 44: forward -------------------------------------------------------------------------------


def test_forward_runs_unrecorded():
    """Rule 44: grad mode is off inside, and the result has the Function's node."""
    seen = []

    def forward(ctx, x):
        seen.append((torch.is_grad_enabled(), x.requires_grad, (x * 2).requires_grad))
        return x * 2

    x = leaf([1.0, 2.0])
    y = function(forward, lambda ctx, g: g * 2).apply(x)
    assert seen == [(False, True, False)]
    assert torch.is_grad_enabled()
    assert y.requires_grad
    assert not y.is_leaf
    assert y.output_nr == 0
    check_backward(y.sum(), (x, [2.0, 2.0]))


def test_node_is_the_ctx():
    """Rules 2, 4, 44: a stable FBackward with the user's attributes and the record's."""
    kept = []

    def forward(ctx, x, k, w):
        kept.append(ctx)
        ctx.note, ctx.saved, ctx.name_of = "mine", 3, w
        return x * k * w

    x, w = leaf([1.0]), leaf([2.0], requires_grad=False)
    y = function(forward).apply(x, 3, w)
    fn = y.grad_fn
    assert fn is y.grad_fn is kept[0]
    assert type(fn).__name__ == fn.name() == "FBackward"
    assert isinstance(fn, torch.autograd.graph.Node)
    assert isinstance(fn, torch.autograd.function.FunctionCtx)
    assert (fn.note, fn.saved) == ("mine", 3)
    assert fn.needs_input_grad == (True, False, False)
    (end, nr), constant = fn.next_functions
    assert end.variable is x
    assert nr == 0
    assert constant == (None, 0)
    fn.metadata["a"] = 1
    assert y.grad_fn.metadata == {"a": 1}
    assert repr(y) == "tensor([6.], dtype=torch.float64, grad_fn=<FBackward>)"
    assert (y * y).grad_fn.next_functions[0][0] is fn


def test_user_names_do_not_meet_those_of_the_record():
    """Rule 44: whatever attribute a program invents is its own."""
    taken = [
        "edges",
        "saved",
        "check",
        "values",
        "outputs",
        "operands",
        "pullback",
        "op",
        "extra",
        "free",
        "expr",
        "shape",
        "dim",
        "mask",
        "inputs",
        "output",
        "types",
        "results",
        "pull",
        "state",
        "serial",
        "face",
        "kind",
        "count",
        "extras",
        "args",
    ]

    def forward(ctx, x):
        for name in taken:
            setattr(ctx, name, name)
        return x * 2

    def backward(ctx, g):
        assert all(getattr(ctx, name) == name for name in taken)
        return g * 2

    x = leaf([1.0])
    y = function(forward, backward).apply(x)
    assert y.grad_fn.values == "values"
    check_backward((y * y).sum(), (x, [8.0]))


def test_next_functions_has_one_entry_per_tensor():
    """Rule 2: also for Tensors that cannot have a gradient; none for other arguments."""
    x, i = leaf([1.0]), torch.tensor([1])
    y = function(lambda ctx, *args: args[2] * 2, lambda ctx, g: (None, None, g, None)).apply(
        "a", i, x * 1, [x]
    )
    (first, _), (second, _) = y.grad_fn.next_functions
    assert first is None
    assert second.name() == "MulBackward0"
    assert y.grad_fn.needs_input_grad == (False, False, True, False)


def test_result_without_gradient():
    """Rule 1: nothing is recorded under no_grad, nor for constants."""
    seen = []

    def forward(ctx, x):
        seen.append(ctx.needs_input_grad)
        ctx.save_for_backward(x)
        assert ctx.saved_tensors == ()
        return x * 2

    F = function(forward)
    with torch.no_grad():
        y = F.apply(leaf([1.0]))
    z = F.apply(leaf([1.0], requires_grad=False))
    check_constant(y)
    assert not z.requires_grad
    assert seen == [(True,), (False,)]


def test_input_returned_as_it_is():
    """Rule 44: a new tensor object on the same memory; the input keeps its history."""
    x, w = leaf_and_copy([1.0, 2.0])
    y = function(lambda ctx, a: a, lambda ctx, g: g * 5).apply(w)
    assert y is not w
    assert y.data_ptr() == w.data_ptr()
    assert y._is_view()
    assert names(w) == ["MulBackward0", "AccumulateGrad"]
    assert y.grad_fn.name() == "FBackward"
    check_backward((y + w).sum(), (x, [6.0, 6.0]))
    c = torch.ones(2)
    d = function(lambda ctx, a: a).apply(c)
    assert d is not c
    assert d.data_ptr() == c.data_ptr()
    assert not d.requires_grad


def test_input_returned_twice():
    """Rules 3, 44: two views of it, of one node."""
    x = leaf([1.0])
    a, b = function(lambda ctx, x: (x, x), lambda ctx, g, h: g + 2 * h).apply(x)
    assert a is not b
    assert a.grad_fn is b.grad_fn
    assert (a.output_nr, b.output_nr) == (0, 1)
    check_backward((a * 3 + b * 5).sum(), (x, [13.0]))


def test_result_returned_twice():
    """Rule 3: it is one tensor, the last of its places."""
    x = leaf([1.0])
    got = []

    def forward(ctx, x):
        y = x * 2
        return y, y

    a, b = function(forward, lambda ctx, g, h: got.append((g.item(), h.item())) or g + h).apply(x)
    assert a is b
    assert a.output_nr == 1
    (a * 3).sum().backward()
    assert got == [(0.0, 3.0)]


def test_views_of_inputs_cannot_be_changed():
    """Rule 44: in-place operations on what is a view of an input would lose the backward."""
    x = leaf([1.0, 2.0])
    for forward in (lambda ctx, a: a, lambda ctx, a: a[:1], lambda ctx, a: a.view(1, 2)):
        y = function(forward).apply(x * 1)
        with pytest.raises(RuntimeError, match=r"Output 0 of F is a view.*custom Function"):
            y.mul_(2)
    y, _ = function(lambda ctx, a: (a[:1], a[1:]), lambda ctx, g, h: g).apply(x * 1)
    with pytest.raises(RuntimeError, match="multiple views"):
        y.mul_(2)


def test_views_of_inputs_become_invalid():
    """Rule 44: when the input is changed afterwards."""
    w = leaf([1.0, 2.0]) * 1
    y = function(lambda ctx, a: a).apply(w)
    w.mul_(2)
    with pytest.raises(RuntimeError, match="its base or another view of its base"):
        _ = y.grad_fn
    assert "Invalid" in repr(y)


def test_forward_with_recording_inside():
    """Rule 44: what is recorded inside is not part of the result's history."""

    def forward(ctx, x):
        with torch.enable_grad():
            return (x * 2).exp()

    x = leaf([1.0])
    y = function(forward, lambda ctx, g: g * 7).apply(x)
    assert names(y) == ["FBackward", "AccumulateGrad"]
    check_backward(y.sum(), (x, [7.0]))


def test_other_objects_among_the_results():
    """Rule 44: they are returned as they are, and have a place among the gradients."""
    x, got = leaf([1.0, 2.0]), []

    def backward(ctx, *gs):
        got.extend(gs)
        return gs[1]

    word, y, nothing = function(lambda ctx, x: ("a", x * 2, None), backward).apply(x)
    assert (word, nothing, y.output_nr) == ("a", None, 1)
    y.sum().backward()
    assert got[0] is None
    assert got[2] is None
    check(x.grad, [1.0, 1.0])
    listed = function(lambda ctx, x: [x * 2, x]).apply(x)
    assert type(listed) is list
    assert not listed[0].requires_grad
    assert listed[1] is x
    assert function(lambda ctx, x: None).apply(x) is None
    assert function(lambda ctx, x: ()).apply(x) == ()
    assert isinstance(function(lambda ctx, x: (x * 1,)).apply(x), tuple)


def test_arguments_by_name():
    """Rule 44: they take their places among the parameters of forward."""
    a, b = leaf([2.0]), leaf([3.0])
    F = function(lambda ctx, a, b, k=1: a**2 * b, lambda ctx, g: (g, g * 10))
    check_backward(F.apply(b=b, a=a).sum(), (a, [1.0]), (b, [10.0]))
    y = function(lambda ctx, a, k=1: a * k, lambda ctx, g: (g, None)).apply(a, k=2)
    assert y.grad_fn.needs_input_grad == (True, False)
    y.sum().backward()


def test_integer_results_require_no_gradient():
    """Rule 5: backward gets zeros of their dtype."""
    x, got = leaf([1.5, 2.5]), []
    F = function(lambda ctx, x: (x * 2, x.long()), lambda ctx, g, h: got.append(h) or g)
    y, i = F.apply(x)
    assert y.requires_grad
    check_constant(i)
    y.sum().backward()
    assert got[0].dtype == torch.int64
    check(got[0], [0, 0])


# Rule 44: mark_dirty ----------------------------------------------------------------------------


def doubled_in_place(ctx, x):
    """Changes and returns its argument."""
    ctx.mark_dirty(x)
    x.mul_(2)
    return x


def test_dirty_input_is_the_result():
    """Rule 44: the same object, version bumped, history rewritten."""
    x = leaf([1.0, 2.0])
    w = x * 3
    before = w.grad_fn
    y = function(doubled_in_place, lambda ctx, g: g * 2).apply(w)
    assert y is w
    assert w._version == 2
    assert w.grad_fn.name() == "FBackward"
    assert w.grad_fn.next_functions == ((before, 0),)
    check_backward(y.sum(), (x, [6.0, 6.0]))


def test_dirty_constant_becomes_part_of_the_record():
    """Rule 44: when another argument requires gradients."""

    def forward(ctx, c, x):
        ctx.mark_dirty(c)
        return c.mul_(x)

    x, c = leaf([2.0]), leaf([3.0], requires_grad=False)
    y = function(forward, lambda ctx, g: (g, g * 3)).apply(c, x)
    assert y is c
    assert c.requires_grad
    assert not c.is_leaf
    check_backward(c.sum(), (x, [3.0]))
    d = torch.ones(2)
    assert function(doubled_in_place).apply(d) is d
    assert d._version == 2
    assert not d.requires_grad


def marked(mark, result=lambda x: x):
    """A Function that marks what ``mark`` returns as dirty before it computes its result."""

    def forward(ctx, x):
        ctx.mark_dirty(mark(x))
        return result(x)

    return function(forward)


def saving(*tensors):
    """A Function that saves these."""

    def forward(ctx, x):
        ctx.save_for_backward(*tensors)
        return x * 2

    return function(forward)


def not_differentiable(ctx, x):
    """Marks what is not a tensor."""
    ctx.mark_non_differentiable(3)
    return x


with torch.inference_mode():
    INFERENCE = torch.ones(1)

# Functions, what they are applied to, the error and what it says.
REFUSED_FORWARD = {
    "Rule 28: a dirty leaf": (
        function(doubled_in_place),
        leaf([1.0]),
        (RuntimeError, "a leaf Variable that requires grad"),
    ),
    "Rule 30: a dirty view beside other results": (
        marked(lambda x: x, lambda x: (x.mul_(2), x * 3)),
        (leaf([1.0, 2.0]) * 1)[:1],
        (RuntimeError, "cannot return more than one Tensor"),
    ),
    "Rule 44: a dirty input that is not returned": (
        marked(lambda x: x, lambda x: x.mul_(2) * 2),
        leaf([1.0]) * 1,
        (RuntimeError, "not returned as output"),
    ),
    "Rule 44: a dirty number": (
        marked(lambda x: 3),
        leaf([1.0]),
        (RuntimeError, "mark_dirty can only accept variables"),
    ),
    "Rule 46: a saved number": (
        saving(3),
        leaf([1.0]),
        (TypeError, "save_for_backward can only save variables"),
    ),
    "Rule 46: a saved list": (
        saving([torch.ones(1)]),
        leaf([1.0]),
        (TypeError, "save_for_backward can only save variables"),
    ),
    "Rules 28, 46: a saved inference tensor": (
        saving(INFERENCE),
        leaf([1.0]),
        (RuntimeError, "Inference tensors cannot be saved"),
    ),
    "Rule 47: a number without derivative": (
        function(not_differentiable),
        leaf([1.0]),
        (RuntimeError, "mark_non_differentiable"),
    ),
    "no forward": (
        types.new_class("F", (Function,)),
        leaf([1.0]),
        (NotImplementedError, "forward function"),
    ),
}


@pytest.mark.parametrize("name", REFUSED_FORWARD)
def test_what_forward_is_refused(name):
    """Rules 28, 30, 44, 46, 47: when the Function is applied."""
    F, x, (error, says) = REFUSED_FORWARD[name]
    with pytest.raises(error, match=says):
        F.apply(x)


def test_dirty_view_rewrites_its_base():
    """Rule 30: CopySlices for the base, AsStrided for the view."""
    x, base = leaf_and_copy([1.0, 2.0])
    part = base[:1]
    y = function(doubled_in_place, lambda ctx, g: g * 20).apply(part)
    assert y is part
    assert names(part)[:3] == ["AsStridedBackward0", "CopySlices", "MulBackward0"]
    assert base.grad_fn.name().endswith("CopySlices")
    check(base, [2.0, 2.0])
    check_backward((base * leaf([3.0, 5.0], requires_grad=False)).sum(), (x, [60.0, 5.0]))


@pytest.mark.parametrize("dirty", [True, False])
def test_a_view_of_rewritten_memory_keeps_what_is_above_it(dirty):
    """Rule 30: its new node precedes that of the Function, or passes to some inputs miss it."""
    x, y = leaf([[1.0, 2.0], [3.0, 4.0]]), leaf(3.0)
    base = x * 2
    first, second = base.t(), base[0]
    first.mul_(y)
    forward = doubled_in_place if dirty else lambda ctx, a: a * 2
    result = function(forward, lambda ctx, g: g * 2).apply(second)
    check_all(torch.autograd.grad(result.sum(), [x, y]), [[12.0, 12.0], [0.0, 0.0]], 12.0)


def test_dirty_is_for_inputs():
    """Rule 44: a warning for any other tensor."""

    def forward(ctx, x):
        y = x * 2
        ctx.mark_dirty(y)
        return y

    with pytest.warns(UserWarning, match="not an input"):
        y = function(forward).apply(leaf([1.0]))
    assert y.requires_grad


def test_dirty_makes_saved_values_stale():
    """Rule 46: what was saved before it of the same memory is noticed."""
    _, w = leaf_and_copy([1.0])
    z = w * w
    function(doubled_in_place).apply(w)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_dirty_without_record():
    """Rule 44: under no_grad the result of a dirty input that requires gradients is detached."""
    w = leaf([1.0]) * 1
    with torch.no_grad():
        y = function(doubled_in_place).apply(w)
    assert not y.requires_grad
    assert y.data_ptr() == w.data_ptr()
    check(w, [2.0])


# Rule 45: what backward returns -----------------------------------------------------------------


def test_one_gradient_per_argument():
    """Rule 45: None for what is not a Tensor; extra trailing Nones are allowed."""
    x = leaf([1.0])
    check_backward(
        function(lambda ctx, x, k: x * k, lambda ctx, g: (g, None, None, None)).apply(x, 2).sum(),
        (x, [1.0]),
    )


@pytest.mark.parametrize(
    ("backward", "message"),
    [
        (lambda ctx, g: g, r"incorrect number of gradients \(expected 2, got 1\)"),
        (lambda ctx, g: (g, g, g), r"incorrect number of gradients \(expected 2, got 3\)"),
        (lambda ctx, g: (), r"incorrect number of gradients \(expected 2, got 0\)"),
        (lambda ctx, g: (3.0, None), r"expected Variable or None \(got float\)"),
        (lambda ctx, g: ([g], None), r"expected Variable or None \(got list\)"),
        (lambda ctx, g: (None, g[:1]), "invalid gradient at index 1 - got .1. but expected"),
        (lambda ctx, g: (g.sum(), None), "invalid gradient at index 0"),
        (lambda ctx, g: (g.reshape(2, 1)[:, [0, 0, 0]], None), "invalid gradient at index 0"),
    ],
)
def test_wrong_gradients(backward, message):
    """Rule 45: each has its error."""
    a, b = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    with pytest.raises(RuntimeError, match=message):
        function(lambda ctx, a, b: a * b, backward).apply(a, b).sum().backward()
    assert a.grad is None
    assert b.grad is None


def test_gradients_beside_what_is_no_tensor():
    """Rule 45: None alone will do for it, and the index of a wrong gradient does not count it."""
    one = function(lambda ctx, a, k: a * k, lambda ctx, g: (g, g))
    two = function(lambda ctx, k, i, a: a * k, lambda ctx, g: (None, None, g[:1]))
    at_2 = "gradient different than None at position 2"
    refused(
        (RuntimeError, at_2, one.apply(leaf([1.0]), 2).sum().backward),
        (
            RuntimeError,
            "invalid gradient at index 1",
            two.apply(2, torch.tensor(1), leaf([1.0, 2.0])).sum().backward,
        ),
    )


@pytest.mark.parametrize(
    ("shape", "got"),
    [((2,), (3, 2)), ((1,), (4,)), ((), (2, 3)), ((1, 2), (5, 3, 2)), ((2, 1, 3), (2, 4, 3))],
)
def test_larger_gradients_are_summed(shape, got):
    """Rule 45: over what broadcasting would have repeated; recorded or not."""
    value = torch.arange(float(np.prod(got)), dtype=torch.float64).reshape(got)
    F = function(doubled, lambda ctx, g: value * g.sum())
    for create in (False, True):
        x = torch.ones(shape, dtype=torch.float64, requires_grad=True)
        y = F.apply(x)
        (g,) = torch.autograd.grad(y, x, torch.ones_like(y), create_graph=create)
        expected = value.numpy().sum(axis=tuple(range(len(got) - len(shape))))
        axes = tuple(i for i, n in enumerate(shape) if n == 1)
        check(g, expected.sum(axis=axes, keepdims=True) * y.numel())


def test_gradients_are_cast():
    """Rule 45: to the dtype of the argument."""
    x = torch.ones(2, requires_grad=True)
    for backward in (lambda ctx, g: g.double() * 3, lambda ctx, g: (g * 3).long()):
        (g,) = torch.autograd.grad(function(lambda ctx, x: x * 3, backward).apply(x).sum(), x)
        assert g.dtype == torch.float32
        check(g, [3.0, 3.0])


def test_exceptions_keep_their_type():
    """Rule 45: of forward and of backward; the machine is usable afterwards."""

    def fail(ctx, *_):
        raise KeyError("mine")

    x = leaf([1.0])
    y = function(doubled, fail).apply(x).sum()
    for call in (lambda: function(fail).apply(x), y.backward):
        with pytest.raises(KeyError, match="mine"):
            call()
        assert torch.is_grad_enabled()
    check_backward((x * 2).sum(), (x, [2.0]))


def test_none_everywhere():
    """Rule 45: ``.grad`` stays None; the Functions below get zeros."""
    seen = []
    inner = function(doubled, lambda ctx, g: seen.append(g) or g)
    stop = function(doubled, lambda ctx, g: None)
    x = leaf([1.0, 2.0])
    stop.apply(x).sum().backward()
    assert x.grad is None
    stop.apply(x * 3).sum().backward()
    assert x.grad is None
    stop.apply(inner.apply(x)).sum().backward()
    check(seen[0], [0.0, 0.0])
    check(x.grad, [0.0, 0.0])
    assert torch.autograd.grad(stop.apply(x).sum(), x, allow_unused=True) == (None,)


def test_a_missing_backward():
    """NotImplementedError says which."""

    class NoBackward(Function):
        forward = staticmethod(doubled)

    y = NoBackward.apply(leaf([1.0]))
    with pytest.raises(NotImplementedError, match="backward"):
        y.sum().backward()


def test_vjp_is_another_name_of_backward():
    """But there may be only one of them."""

    class F(Function):
        forward = staticmethod(doubled)
        vjp = staticmethod(lambda ctx, g: g * 9)

    x = leaf([1.0])
    check_backward(F.apply(x).sum(), (x, [9.0]))
    both = function(doubled, vjp=F.vjp)
    with pytest.raises(RuntimeError, match="both 'backward' and 'vjp'"):
        both.apply(x).sum().backward()


def test_instances_are_of_no_use():
    """Functions are classes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f = Exp()
    with pytest.raises(RuntimeError, match="Legacy autograd function"):
        f(leaf([1.0]))
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        Exp()


def test_gradients_are_not_what_the_program_holds():
    """Rule 12: ``.grad`` is its own memory, whatever backward returns or keeps."""
    kept = []

    def backward(ctx, g):
        kept.append(g)
        return ctx.saved_tensors[0]

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    x, w = leaf([1.0, 2.0]), leaf([1.0, 2.0])
    F = function(forward, backward)
    (F.apply(x) + w).sum().backward()
    assert x.grad is not x
    assert x.grad.data_ptr() != x.data_ptr()
    (F.apply(x) + w).sum().backward()
    check(x, [1.0, 2.0])
    check(kept[0], [1.0, 1.0])
    check(x.grad, [2.0, 4.0])
    F.apply(x).sum().backward(create_graph=True)
    assert x.grad.data_ptr() != x.data_ptr()


# Rule 46: needs_input_grad, saved_tensors -------------------------------------------------------


def test_needs_input_grad():
    """Rule 46: per argument, also of those that are not Tensors."""
    seen = []
    F = function(
        lambda ctx, a, k, b: a * k * b,
        lambda ctx, g: seen.append(ctx.needs_input_grad) or (g, None, g),
    )
    x, c = leaf([1.0]), leaf([1.0], requires_grad=False)
    F.apply(x, 2, c).backward()
    F.apply(c, 2, x).backward()
    assert seen == [(True, False, False), (False, False, True)]


def test_saved_tensors_of_every_kind():
    """Rule 46: inputs, results, intermediates and None, with their histories."""
    x = leaf([1.0, 2.0])
    w = x * 3

    def forward(ctx, x, w):
        y = x * w
        ctx.save_for_backward(x, w, y, x + w, None)
        return y

    def backward(ctx, g):
        x, w, _, middle, nothing = ctx.saved_tensors
        assert nothing is None
        assert not middle.requires_grad
        return g * w, g * x

    y = function(forward, backward).apply(x, w)
    a, b, c, d, e = y.grad_fn.saved_tensors
    assert a is x
    assert b is w
    assert e is None
    assert c is not y
    assert c.grad_fn is y.grad_fn
    assert c.requires_grad
    assert d.grad_fn is None
    check(d, [4.0, 8.0])
    check_backward(y.sum(), (x, [6.0, 12.0]))


def test_saved_input_that_is_gone():
    """Rule 46: it comes back with its values and its history."""
    x = leaf([1.0, 2.0])
    y = Exp.apply(x)
    z = Mul.apply(y * 1, y)
    a, _ = z.grad_fn.saved_tensors
    assert a.grad_fn.name() == "MulBackward0"
    check_backward(z.sum(), (x, 2 * np.exp([2.0, 4.0])))


def test_saved_tensors_are_checked():
    """Rule 46: changes in place are noticed, of inputs and results, not of what is unsaved."""
    x, w = leaf_and_copy([1.0])
    y, z = Mul.apply(w, w), Exp.apply(x)
    w.mul_(2)
    z.mul_(2)
    for saved in (y, z):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            saved.sum().backward()
    y = Scale.apply(w, 2)
    w.mul_(2)
    check_backward(y.sum(), (x, [4.0]))


def test_saved_tensors_are_freed():
    """Rule 46: by backward; who asks for them again gets the 'second time' error."""
    x = leaf([1.0])
    y, z = Exp.apply(x), Scale.apply(x, 2)
    y.backward(retain_graph=True)
    y.backward()
    z.backward()
    z.backward()
    refused(
        (RuntimeError, "second time", y.backward),
        (RuntimeError, "second time", lambda: y.grad_fn.saved_tensors),
        (RuntimeError, "second time", lambda: z.grad_fn.saved_tensors),
    )


def test_the_last_call_saves():
    """Rule 46: it counts alone."""

    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_backward(x, x)
        return x * 2

    assert len(function(forward).apply(leaf([1.0])).grad_fn.saved_tensors) == 2


@pytest.mark.parametrize("materialize", [True, False])
def test_unused_results_get_zeros(materialize):
    """Rules 3, 46: or None with set_materialize_grads(False)."""
    got = []

    def forward(ctx, x):
        ctx.set_materialize_grads(materialize)
        return x * 2, x.sum() * 3

    x = leaf([1.0, 2.0])
    a, b = function(forward, lambda ctx, g, h: got.append(h) or g).apply(x)
    assert a.grad_fn is b.grad_fn
    assert (a.output_nr, b.output_nr) == (0, 1)
    check_backward(a.sum(), (x, [1.0, 1.0]))
    assert [None if h is None else h.item() for h in got] == [0.0 if materialize else None]


# Rule 47 ----------------------------------------------------------------------------------------


def test_mark_non_differentiable():
    """Rule 47: such results require no gradients; backward gets zeros for them."""
    got = []

    def forward(ctx, x):
        i = x * 3
        ctx.mark_non_differentiable(i)
        return i, x * 2

    x = leaf([1.0])
    i, y = function(forward, lambda ctx, g, h: got.append(g.item()) or h).apply(x)
    check_constant(i)
    assert y.requires_grad
    assert y.output_nr == 1
    y.sum().backward()
    assert got == [0.0]
    with pytest.raises(RuntimeError, match="does not require grad"):
        i.sum().backward()

    def same(ctx, x):
        ctx.mark_non_differentiable(x)
        return x

    y = function(same).apply(x)
    assert y is not x
    assert not y.requires_grad
    assert x.requires_grad


def test_once_differentiable():
    """Rule 47: first order only; the gradient requires one only if the incoming one did."""
    seen = []

    @once_differentiable
    def backward(ctx, g):
        seen.append(torch.is_grad_enabled())
        return g * 2

    x, ones = leaf([1.0, 2.0]), torch.ones(2, dtype=torch.float64)
    y = function(doubled, backward).apply(x)
    check_backward(y.sum(), (x, [2.0, 2.0]))
    (g,) = torch.autograd.grad(y, x, ones, create_graph=True)
    assert not g.requires_grad
    (g,) = torch.autograd.grad(y, x, ones.requires_grad_(), create_graph=True)
    check(g, [2.0, 2.0])
    assert g.requires_grad
    assert g.grad_fn.name() == "torch::autograd::Error"
    assert not any(seen)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        g.sum().backward()


# Rule 48 ----------------------------------------------------------------------------------------


def test_setup_context():
    """Rule 48: forward has no ctx; inputs are the arguments with their defaults."""
    seen = []

    class Power(Function):
        @staticmethod
        def forward(x, n=3):
            assert not torch.is_grad_enabled()
            return x**n, n

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.n = inputs
            seen.append((inputs[0] is x, ctx.n, type(output), torch.is_grad_enabled()))
            ctx.save_for_backward(x)

        @staticmethod
        def backward(ctx, g, _):
            (x,) = ctx.saved_tensors
            return g * ctx.n * x ** (ctx.n - 1), None

    x = leaf([2.0])
    y, n = Power.apply(x)
    assert n == 3
    assert y.grad_fn.name() == "PowerBackward"
    check_backward(y.sum(), (x, [12.0]))
    check_backward(Power.apply(x, n=2)[0].sum(), (x, [16.0]))
    assert seen == [(True, 3, tuple, False), (True, 2, tuple, False)]


def test_setup_context_cannot_save_an_input_that_is_returned():
    """Rule 48: it would be ambiguous what was meant."""
    save = staticmethod(lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]))
    F = function(lambda x: x, setup_context=save)
    with pytest.raises(RuntimeError, match="returned as-is as output is being saved"):
        F.apply(leaf([1.0]))


def test_backward_is_recorded_under_create_graph():
    """Rule 48: grad mode is create_graph; derivatives of any order follow."""
    modes = []

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.log()

    def backward(ctx, g):
        modes.append((torch.is_grad_enabled(), g.requires_grad))
        return g / ctx.saved_tensors[0]

    x, at = leaf([2.0, 3.0]), np.array([2.0, 3.0])
    y = function(forward, backward).apply(x)
    check_derivatives(y, x, 1 / at, -1 / at**2, 2 / at**3, -6 / at**4)
    assert modes == [(True, False)]
    y.sum().backward()
    assert modes[-1] == (False, False)


def test_saved_result_under_create_graph():
    """Rule 48: exp, by its own saved result, at every order."""
    x = leaf([0.5, 1.0])
    check_derivatives(Exp.apply(x), x, *[np.exp([0.5, 1.0])] * 4)


def test_reentrant_backward():
    """Rule 48: a backward pass inside backward, as in checkpointing."""
    w = leaf(3.0)

    class Checkpoint(Function):
        @staticmethod
        def forward(ctx, run, x):
            ctx.run = run
            ctx.save_for_backward(x)
            return run(x)

        @staticmethod
        def backward(ctx, g):
            x = ctx.saved_tensors[0].detach().requires_grad_()
            with torch.enable_grad():
                y = ctx.run(x)
            torch.autograd.backward(y, g)
            return None, x.grad

    def run(x):
        return (x * w).sin()

    x = leaf([0.1, 0.2])
    Checkpoint.apply(run, Checkpoint.apply(run, x * 2)).sum().backward()
    plain = leaf([0.1, 0.2])
    got, w.grad = w.grad, None
    run(run(plain * 2)).sum().backward()
    check(x.grad, plain.grad.numpy())
    check(got, w.grad.numpy())


def test_reentrant_backward_nests():
    """Rule 48: to some depth."""

    def nested(depth):
        def backward(ctx, g):
            x = leaf(2.0)
            if depth:
                with torch.enable_grad():
                    y = nested(depth - 1).apply(x)
                y.backward()
            else:
                x.grad = torch.ones_like(x)
            return g * x.grad * 2

        return function(doubled, backward)

    x = leaf(1.0)
    check_backward(nested(20).apply(x), (x, 2.0**21))


@pytest.mark.slow
def test_long_chains():
    """Rule 48: of custom Functions; no recursion over the record, neither to run nor to free it."""
    with no_collector():
        x = leaf(1.0)
        y = x
        for _ in range(5000):
            y = Scale.apply(y, 1.0)
        check_backward(y, (x, 1.0))
        del y


# Around the rules -------------------------------------------------------------------------------


def test_hooks_of_the_node():
    """Rule 42: prehooks, hooks, retained gradients and hooks of the result."""
    log = []
    x, c = leaf([1.0]), leaf([2.0], requires_grad=False)
    y = function(lambda ctx, x, k, c: x * k, lambda ctx, g: (g * 2, None, g)).apply(x * 1, 2, c)
    y.retain_grad()
    y.register_hook(lambda g: log.append(("tensor", g.item())) or g * 10)
    y.grad_fn.register_prehook(lambda gs: log.append(("pre", gs[0].item())))

    def post(inputs, outputs):
        log.append(("post", inputs[0].item(), len(inputs), outputs[0].item()))
        return (inputs[0] * 100, *inputs[1:])

    handle = y.grad_fn.register_hook(post)
    y.sum().backward(retain_graph=True)
    assert log == [("tensor", 1.0), ("pre", 10.0), ("post", 20.0, 2, 10.0)]
    check(y.grad, [10.0])
    check(x.grad, [2000.0])
    handle.remove()
    check_backward(y.sum(), (x, [2020.0]))


def test_limited_backward():
    """Rule 13: only asked-for inputs are accumulated; intermediates may be asked for."""
    a, b = leaf([2.0]), leaf([3.0])
    y = Mul.apply(a, b)
    y.sum().backward(inputs=[a], retain_graph=True)
    check(a.grad, [3.0])
    assert b.grad is None
    check_all(torch.autograd.grad(Exp.apply(y).sum(), y), np.exp([6.0]))


def test_subclasses_and_names():
    """Rule 4: a subclass has a node of its own name."""

    class Triple(Scale):
        @staticmethod
        def forward(ctx, x):
            return Scale.forward(ctx, x, 3)

        @staticmethod
        def backward(ctx, g):
            return Scale.backward(ctx, g)[0]

    x = leaf([1.0])
    y = Triple.apply(x)
    assert names(y) == ["TripleBackward", "AccumulateGrad"]
    check_backward(y.sum(), (x, [3.0]))


def test_nested_apply():
    """A Function in another one's forward is computed, not recorded."""
    F = function(lambda ctx, x: Exp.apply(x) * 2, lambda ctx, g: g * 5)
    x = leaf([0.0])
    y = F.apply(x)
    assert names(y) == ["FBackward", "AccumulateGrad"]
    check(y, [2.0])


def test_unused_attributes_are_accepted():
    """Programs for torch.func have more members; none of them matters here."""
    F = function(
        lambda ctx, x: ctx.save_for_forward(x) or x * 2,
        jvp=staticmethod(lambda ctx, t: t),
        vmap=staticmethod(lambda info, dims, x: (x, 0)),
        generate_vmap_rule=False,
    )
    F.apply(leaf([1.0])).sum().backward()
    assert Function.generate_vmap_rule is False


def test_nodes_cannot_be_copied():
    """TypeError, by pickle and by copy."""
    y = Exp.apply(leaf([1.0]))
    says = "cannot pickle 'ExpBackward' object"
    refused(
        (TypeError, says, lambda: pickle.dumps(y.grad_fn)),
        (TypeError, says, lambda: copy.deepcopy(y.grad_fn)),
        (RuntimeError, "leaves", lambda: copy.deepcopy(y)),
    )


@ours
def test_history_cannot_be_pickled():
    """A tensor is pickled with its history, of which code cannot be part."""
    y = Exp.apply(leaf([1.0]))
    with pytest.raises(pickle.PicklingError, match="ExpBackward"):
        pickle.dumps(y * 2)
    pickle.dumps(y.detach())


@ours
def test_expression_is_refused():
    """A program has no formula; what follows from its result has, after detach."""
    x = torch.tensor([1.0], requires_grad=True, name="x")
    y = Exp.apply(x)
    with pytest.raises(RuntimeError, match=r"Exp is a custom autograd\.Function"):
        _ = (y * 2).expr
    d = y.detach().requires_grad_()
    assert "exp" not in str((d * 2).expr)


@ours
def test_expression_of_a_gradient():
    """What a backward records has one, where it needs no result of the Function."""

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.numpy().sum() + torch.zeros(())

    F = function(forward, lambda ctx, g: g * ctx.saved_tensors[0].cos())
    x = torch.tensor([1.0, 2.0], requires_grad=True, name="x")
    (g,) = torch.autograd.grad(F.apply(x), x, create_graph=True)
    assert str(g.expr) == "cos(x)"


@ours
def test_compile_refuses():
    """A trace cannot contain it, and says so at the user's line."""
    f = torch.compile(lambda x: Exp.apply(x) * 2)
    with pytest.raises(RuntimeError, match=r"Exp, a custom autograd\.Function"):
        f(torch.ones(2))


# Memory -----------------------------------------------------------------------------------------


def test_everything_is_freed():
    """By reference counts alone, whatever was saved: inputs, results, views of them."""

    class Token:
        pass

    def forward(ctx, x, token):
        ctx.token = token
        y = x.exp()
        ctx.save_for_backward(x, y, x + 1)
        return y

    F = function(forward, lambda ctx, g: (g * ctx.saved_tensors[1], None))
    with no_collector():
        for run in (False, True):
            token = Token()
            ref = weakref.ref(token)
            x = leaf([1.0])
            y = F.apply(x * 1, token)
            assert y.grad_fn.token is token
            if run:
                y.sum().backward()
            del token
            assert ref() is not None
            del y
            assert ref() is None


def test_result_is_freed_with_its_node():
    """A saved result does not keep itself alive."""
    with no_collector():
        y = Exp.apply(leaf([1.0]))
        ref = weakref.ref(y)
        del y
        assert ref() is None


@pytest.mark.skipif(ORACLE == "torch", reason="PyTorch keeps cycles here")
def test_recorded_pass_is_freed():
    """Also with create_graph, into ``.grad``."""
    with no_collector():
        x = leaf([1.0])
        y = Exp.apply(x)
        ref = weakref.ref(y)
        y.sum().backward(create_graph=True)
        x.grad = None
        del y
        assert ref() is None
