"""Rules 40-43: hooks of tensors, of nodes, and after accumulation."""

import warnings

import pytest

from tests.eager.chosen import check, leaf, torch
from tests.support.refusals import refused
from tests.support.tensor_checks import check_backward, leaf_and_copy

# Rule 40 ------------------------------------------------------------------------------------------


def test_tensor_hook_sees_the_summed_gradient():
    """Rule 40: once per backward, on the sum over all consumers."""
    x, seen = leaf(2.0), []
    y = x * x
    y.register_hook(lambda g: seen.append(g.item()))
    (y * 3 + y * 4).backward()
    assert seen == [7.0]
    (x * 1 + x * 2).backward()
    assert seen == [7.0]


def test_leaf_hook_sees_the_summed_gradient():
    """Rule 40: of a leaf, before accumulation into what is there."""
    x, seen = leaf(2.0), []
    x.register_hook(lambda g: seen.append(g.item()))
    (x * 3 + x * 4).backward()
    (x * 5).backward()
    assert seen == [7.0, 5.0]
    check(x.grad, 12.0)


def test_hooks_run_in_order_of_registration():
    """Rule 40: each sees what the one before returned."""
    x, seen = leaf(2.0), []
    x.register_hook(lambda g: seen.append(("a", g.item())))
    x.register_hook(lambda g: g * 10)
    x.register_hook(lambda g: seen.append(("b", g.item())))
    x.register_hook(lambda g: g + 1)
    (x * 3).backward()
    assert seen == [("a", 3.0), ("b", 30.0)]
    check(x.grad, 31.0)


def test_hook_replaces_the_gradient():
    """Rule 40: for what lies below a non-leaf, and for what is accumulated in a leaf."""
    x = leaf(2.0)
    y = x * 3
    y.register_hook(lambda g: g * 100)
    check_backward(y * 2, (x, 600.0))
    w = leaf(2.0)
    w.register_hook(lambda g: torch.zeros_like(g))
    check_backward(w * w, (w, 0.0))


# What a hook returns in place of gradients, how it is registered, and the error.
WRONG = {
    "another shape": (lambda x, y: x.register_hook(lambda g: g[:1]), RuntimeError, "size"),
    "another dtype": (lambda x, y: x.register_hook(lambda g: g.float()), RuntimeError, "type"),
    "a text": (lambda x, y: x.register_hook(lambda g: "nothing"), TypeError, None),
    "a number": (lambda x, y: x.register_hook(lambda g: 3.0), TypeError, None),
    "no tuple of a prehook": (
        lambda x, y: y.grad_fn.register_prehook(lambda gs: gs[0] * 10),
        TypeError,
        None,
    ),
    "a number of a prehook": (
        lambda x, y: y.grad_fn.register_prehook(lambda gs: 3),
        TypeError,
        None,
    ),
    "a list of a prehook": (
        lambda x, y: y.grad_fn.register_prehook(lambda gs: [gs[0]]),
        TypeError,
        None,
    ),
    "no tuple of a posthook": (
        lambda x, y: y.grad_fn.register_hook(lambda gi, go: gi[0]),
        TypeError,
        None,
    ),
    "a number of a posthook": (
        lambda x, y: y.grad_fn.register_hook(lambda gi, go: 3),
        TypeError,
        None,
    ),
    "too few of a posthook": (
        lambda x, y: y.grad_fn.register_hook(lambda gi, go: (gi[0],)),
        RuntimeError,
        "incorrect number of values",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_hooks_must_not_return(name):
    """Rules 40, 41: a tensor of the same shape and dtype; of nodes a tuple of as many."""
    register, error, says = WRONG[name]
    x = leaf([1.0, 2.0])
    y = x * 2
    register(x, y)
    with pytest.raises(error, match=says):
        y.sum().backward()
    assert x.grad is None


def test_exceptions_of_hooks_propagate():
    """Rule 40: with their type, and the machine is usable afterwards."""

    def hook(g):
        raise KeyError("from the hook")

    x = leaf(2.0)
    handle = x.register_hook(hook)
    with pytest.raises(KeyError, match="from the hook"):
        (x * 2).backward()
    assert torch.is_grad_enabled()
    handle.remove()
    check_backward(x * 2, (x, 2.0))


def test_remove_is_idempotent():
    """Rule 40: a removed hook does not run, whether it was removed once or twice."""
    x, seen = leaf(2.0), []
    handle = x.register_hook(lambda g: seen.append(1))
    with x.register_hook(lambda g: seen.append(2)):
        (x * 2).backward()
        handle.remove()
        handle.remove()
        (x * 2).backward()
    (x * 2).backward()
    assert seen == [1, 2, 2]


def test_hook_removes_itself():
    """Rule 40: while it runs."""
    x, seen, handles = leaf(2.0), [], []

    def hook(g):
        seen.append(g.item())
        handles[0].remove()

    handles.append(x.register_hook(hook))
    (x * 2).backward()
    (x * 3).backward()
    assert seen == [2.0]


def test_hooks_on_one_of_several_outputs():
    """Rule 40: outputs of one node have their own."""
    x, seen = leaf([1.0, 2.0]), []
    a, b = x.unbind()
    a.register_hook(lambda g: seen.append(("a", g.item())))
    b.register_hook(lambda g: seen.append(("b", g.item())))
    (a * 3 + b * 4).backward()
    assert sorted(seen) == [("a", 3.0), ("b", 4.0)]


def test_hook_with_create_graph():
    """Rule 40: a gradient that a hook made is differentiable."""
    x = leaf(2.0)
    x.register_hook(lambda g: g * x)
    (g,) = torch.autograd.grad(x**3, x, create_graph=True)
    check(g, 24.0)
    with torch.no_grad():
        assert g.requires_grad


def test_hook_on_the_root():
    """Rule 40: the root of a run has hooks as well."""
    x, seen = leaf(2.0), []
    y = x * x
    y.register_hook(lambda g: seen.append(g.item()))
    y.backward(torch.tensor(5.0).double())
    assert seen == [5.0]


# Rule 41 ------------------------------------------------------------------------------------------


def test_order_at_a_non_leaf():
    """Rule 41: tensor hooks, node prehooks, retain_grad, the node, its posthooks."""
    x, order = leaf(2.0), []
    y = x.exp()
    x.register_hook(lambda g: order.append("x"))
    y.grad_fn.register_hook(lambda gi, go: order.append("post"))
    y.grad_fn.register_prehook(lambda go: order.append("pre"))
    y.retain_grad()
    y.register_hook(lambda g: order.append("tensor"))
    (y * 2).backward()
    assert order == ["tensor", "pre", "post", "x"]


@pytest.mark.parametrize("first", ["hook", "retain"])
def test_retain_grad_sees_all_tensor_hooks(first):
    """Rule 41: whatever the order of registration."""
    x = leaf(2.0)
    y = x * 3
    if first == "retain":
        y.retain_grad()
    y.register_hook(lambda g: g * 10)
    if first == "hook":
        y.retain_grad()
    y.register_hook(lambda g: g + 1)
    check_backward(y * 2, (y, 21.0), (x, 63.0))


def test_node_prehook_changes_the_cotangent():
    """Rule 41: it gets a tuple of cotangents and may return another."""
    x, seen = leaf(2.0), []
    y = x * 3

    def hook(grad_outputs):
        seen.append(grad_outputs)
        return (grad_outputs[0] * 10,)

    y.grad_fn.register_prehook(hook)
    (y * 2).backward()
    assert isinstance(seen[0], tuple)
    check(seen[0][0], 2.0)
    check(x.grad, 60.0)


def test_node_posthook_sees_both_sides():
    """Rule 41: (grad_inputs, grad_outputs), tuples, None for constants; may replace the first."""
    x, seen = leaf(2.0), []
    y = x * torch.tensor(3.0).double()

    def hook(grad_inputs, grad_outputs):
        seen.append((grad_inputs, grad_outputs))
        return (grad_inputs[0] * 100, None)

    handle = y.grad_fn.register_hook(hook)
    (y * 2).backward(retain_graph=True)
    gi, go = seen[0]
    check(gi[0], 6.0)
    assert gi[1] is None
    check(go[0], 2.0)
    check(x.grad, 600.0)
    handle.remove()
    x.grad = None
    check_backward(y * 2, (x, 6.0))


def test_posthook_returning_none_changes_nothing():
    """Rule 41: None stands for no change."""
    x = leaf(2.0)
    y = x * 3
    y.grad_fn.register_hook(lambda gi, go: None)
    check_backward(y, (x, 3.0))


def test_order_at_a_leaf():
    """Rule 41: tensor hooks, prehooks, then accumulation, then post-accumulate hooks, posthooks."""
    x, order = leaf(2.0), []
    y = x * 3
    end = y.grad_fn.next_functions[0][0]
    x.register_post_accumulate_grad_hook(lambda t: order.append(("accumulated", t.grad.item())))
    end.register_prehook(lambda go: order.append("pre"))
    x.register_hook(lambda g: order.append("tensor"))
    y.backward()
    assert order == ["tensor", "pre", ("accumulated", 3.0)]


# Rule 42 ------------------------------------------------------------------------------------------


def test_hooks_stay_with_their_version():
    """Rule 42: after ``mul_`` new hooks see the gradient of the new state, old ones of the old."""
    x, seen = leaf(2.0), {}
    b = x * 1
    b.register_hook(lambda g: seen.update({"old": g.item()}))
    b.mul_(2)
    b.register_hook(lambda g: seen.update({"new": g.item()}))
    (b * 5).backward()
    assert seen == {"old": 10.0, "new": 5.0}
    check(x.grad, 10.0)


def test_hook_of_an_old_version_changes_the_gradient_there():
    """Rule 42: its return value counts below."""
    x, b = leaf_and_copy(2.0)
    b.register_hook(lambda g: g * 100)
    b.mul_(2)
    b.retain_grad()
    check_backward(b * 5, (b, 5.0), (x, 1000.0))


def test_hook_of_a_view_and_a_change_of_the_base():
    """Rule 42: a hook on the base from before a write through a view."""
    x, seen = leaf([1.0, 2.0]), {}
    h = x * 1
    h.register_hook(lambda g: seen.update({"old": g.tolist()}))
    h[0].mul_(10)
    h.register_hook(lambda g: seen.update({"new": g.tolist()}))
    h.sum().backward()
    assert seen == {"old": [10.0, 1.0], "new": [1.0, 1.0]}


# Rule 43 ------------------------------------------------------------------------------------------


def test_post_accumulate_hook():
    """Rule 43: gets the tensor, after ``.grad`` is updated; several in order of registration."""
    x, seen = leaf(2.0), []
    x.register_post_accumulate_grad_hook(lambda t: seen.append((t is x, t.grad.item())))
    x.register_post_accumulate_grad_hook(lambda t: seen.append("second"))
    (x * 3).backward()
    (x * 4).backward()
    assert seen == [(True, 3.0), "second", (True, 7.0), "second"]


def test_post_accumulate_hook_may_clear_grad():
    """Rule 43: an optimizer inside backward."""
    x = leaf(2.0)

    def step(t):
        with torch.no_grad():
            t -= 0.1 * t.grad
        t.grad = None

    handle = x.register_post_accumulate_grad_hook(step)
    (x * 3).backward()
    assert x.grad is None
    check(x, 1.7)
    handle.remove()
    check_backward(x * 3, (x, 3.0))


def test_where_hooks_cannot_be_registered():
    """Rules 40, 43: at what requires no gradient, and those after accumulation at leaves alone."""
    c, y = torch.ones(1), leaf(2.0) * 2
    refused(
        (RuntimeError, "doesn't require gradient", lambda: c.register_hook(print)),
        (RuntimeError, "require", lambda: c.register_post_accumulate_grad_hook(print)),
        (RuntimeError, "non-leaf", lambda: y.register_post_accumulate_grad_hook(print)),
    )


def test_post_accumulate_hook_and_grad():
    """Rule 43: autograd.grad does not run it; backward with inputs does, for those."""
    x, w, seen = leaf(2.0), leaf(3.0), []
    x.register_post_accumulate_grad_hook(lambda t: seen.append("x"))
    w.register_post_accumulate_grad_hook(lambda t: seen.append("w"))
    torch.autograd.grad(x * w, [x, w])
    assert seen == []
    (x * w).backward(inputs=[w])
    assert seen == ["w"]


def test_post_accumulate_hook_sees_the_replaced_gradient():
    """Rule 43: after the tensor hooks."""
    x, seen = leaf(2.0), []
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.item()))
    x.register_hook(lambda g: g * 10)
    (x * 3).backward()
    assert seen == [30.0]


# More of rule 40: anomaly detection, and hooks in odd places --------------------------------------


def test_anomaly_detection_names_the_operation():
    """Nan in a gradient is an error that names the node; a warning shows where."""
    x = leaf([0.0])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with torch.autograd.detect_anomaly():
            y = (x.sqrt() * 0).sum()  # the line to be shown
            with pytest.raises(RuntimeError, match="Function 'SqrtBackward0' returned nan values"):
                y.backward()
    text = "".join(str(w.message) for w in caught)
    assert "Error detected in SqrtBackward0" in text
    assert text.rstrip().endswith("# the line to be shown")  # and no line of the package after it


def test_anomaly_detection_of_errors():
    """An error in backward is shown with the line of the operation."""
    x = leaf([1.0])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with torch.autograd.detect_anomaly():
            h = x * 1
            y = h.exp()  # saved here
            y.add_(1)
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                y.sum().backward()
    assert "saved here" in "".join(str(w.message) for w in caught)


def test_anomaly_detection_without_nan_check():
    """``check_nan=False`` leaves nan alone."""
    x = leaf([0.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.detect_anomaly(check_nan=False):
            (x.sqrt() * 0).sum().backward()
    assert x.grad.isnan().all()


def test_set_detect_anomaly():
    """As a function and as a context."""
    x = leaf([0.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.set_detect_anomaly(True), pytest.raises(RuntimeError, match="nan"):
            (x.sqrt() * 0).sum().backward()
        (x.sqrt() * 0).sum().backward()
    assert x.grad.isnan().all()


def test_hooks_run_once_for_each_pass():
    """Rule 40: with retained records."""
    x, seen = leaf(2.0), []
    y = x * x
    y.register_hook(lambda g: seen.append(g.item()))
    z = y * 3
    z.backward(retain_graph=True)
    z.backward()
    torch.autograd.grad(x * x, x)
    assert seen == [3.0, 3.0]


def test_hook_registered_during_backward():
    """Rule 40: a hook may register another for later."""
    x, seen = leaf(2.0), []

    def first(g):
        if not seen:
            x.register_hook(lambda g: seen.append("second"))
        seen.append("first")

    x.register_hook(first)
    (x * 2).backward()
    (x * 2).backward()
    assert seen[0] == "first"
    assert seen[-2:] == ["first", "second"]


def test_hook_that_runs_backward():
    """Rule 40: a pass inside a pass."""
    x, w = leaf(2.0), leaf(3.0)

    def hook(g):
        with torch.enable_grad():
            (w * w).backward()
        return g

    x.register_hook(hook)
    check_backward(x * 5, (x, 5.0), (w, 6.0))


def test_prehook_of_an_end():
    """Rule 41: the node of a leaf takes prehooks, which change what is accumulated."""
    x = leaf(2.0)
    y = x * 3
    y.grad_fn.next_functions[0][0].register_prehook(lambda go: (go[0] * 10,))
    check_backward(y, (x, 30.0))


def test_posthook_of_an_end():
    """Rule 41: and posthooks, which run after accumulation."""
    x, seen = leaf(2.0), []
    y = x * 3
    end = y.grad_fn.next_functions[0][0]
    end.register_hook(lambda gi, go: seen.append(x.grad.item()))
    y.backward()
    assert seen == [3.0]


def test_several_node_hooks():
    """Rule 41: in order of registration; handles remove them."""
    x, seen = leaf(2.0), []
    y = x * 3
    y.grad_fn.register_hook(lambda gi, go: seen.append(1))
    handle = y.grad_fn.register_hook(lambda gi, go: seen.append(2))
    y.grad_fn.register_hook(lambda gi, go: seen.append(3))
    y.backward(retain_graph=True)
    handle.remove()
    handle.remove()
    y.backward()
    assert seen == [1, 2, 3, 1, 3]


def test_node_hooks_see_every_output():
    """Rule 41: a node of several outputs gets all cotangents, zero or None where unused."""
    x, seen = leaf([1.0, 2.0]), []
    a, b = x.unbind()
    a.grad_fn.register_prehook(lambda go: seen.append(len(go)))
    (a * b).backward()
    assert seen == [2]


def test_post_accumulate_hook_that_empties_the_gradient_in_place():
    """Rule 43: what the hook does to ``.grad`` reaches nothing that still runs."""
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    x.register_post_accumulate_grad_hook(lambda leaf: leaf.grad.zero_().sum().item() or None)
    (x + w * 2).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]
    assert w.grad.tolist() == [2.0, 2.0]
