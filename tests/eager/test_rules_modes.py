"""Rules 25-28: grad modes and inference mode."""

import asyncio
import threading

import pytest

from tests.eager.chosen import check, leaf, ours, torch
from tests.support.refusals import refused
from tests.support.tensor_checks import check_backward, check_constant, check_leaf

MODES = {
    "no_grad": (torch.no_grad, False),
    "enable_grad": (torch.enable_grad, True),
    "set_grad_enabled": (lambda: torch.set_grad_enabled(False), False),
    "inference_mode": (torch.inference_mode, False),
}


@pytest.fixture(autouse=True)
def _enabled():
    """Each test starts with grad mode on, and must leave it so."""
    torch.set_grad_enabled(True)
    yield
    assert torch.is_grad_enabled()


@pytest.fixture(params=MODES)
def mode(request):
    """A mode, what it sets, and a start in the other."""
    make, inside = MODES[request.param]
    with torch.set_grad_enabled(not inside):
        yield make, inside
        assert torch.is_grad_enabled() is not inside
    assert torch.is_grad_enabled()


# Rule 25 ------------------------------------------------------------------------------------------


def test_context(mode):
    """Rule 25: as a context manager."""
    make, inside = mode
    with make():
        assert torch.is_grad_enabled() is inside
    assert torch.is_grad_enabled() is not inside


def test_restored_after_exceptions(mode):
    """Rule 25: the mode comes back after an exception, of a body and of a function."""
    make, inside = mode

    @make()
    def fails():
        raise KeyError("x")

    with pytest.raises(KeyError), make():
        raise KeyError("x")
    assert torch.is_grad_enabled() is not inside
    with pytest.raises(KeyError):
        fails()
    assert torch.is_grad_enabled() is not inside


def test_nested():
    """Rule 25: contexts nest, also one object in itself."""
    with torch.no_grad():
        with torch.enable_grad():
            assert torch.is_grad_enabled()
            with torch.no_grad():
                assert not torch.is_grad_enabled()
            assert torch.is_grad_enabled()
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


def test_decorator_with_parentheses(mode):
    """Rule 25: as a decorator called first; name and docstring are kept."""
    make, inside = mode

    @make()
    def f(a, b=1):
        """What it does."""
        return torch.is_grad_enabled(), a + b

    assert f(1, b=3) == (inside, 4)
    assert f.__name__ == "f"
    assert f.__doc__ == "What it does."


@pytest.mark.parametrize("name", ["no_grad", "enable_grad", "inference_mode"])
def test_decorator_without_parentheses(name):
    """Rule 25: as a bare decorator."""
    make, inside = MODES[name]

    @make
    def f(a):
        """What it does."""
        return torch.is_grad_enabled(), torch.is_inference_mode_enabled(), a

    with torch.set_grad_enabled(not inside):
        assert f(1) == (inside, name == "inference_mode", 1)
        assert torch.is_grad_enabled() is not inside
    assert (f.__name__, f.__doc__) == ("f", "What it does.")


def test_decorated_method():
    """Rule 25: methods get their object."""

    class Model:
        k = 3

        @torch.no_grad()
        def predict(self, x):
            return self.k * x

    assert not Model().predict(leaf([1.0])).requires_grad


def test_decorated_generator(mode):
    """Rule 25: the mode holds only while the body runs, also for send, throw and close."""
    make, inside = mode
    seen = []

    @make()
    def g():
        try:
            got = yield torch.is_grad_enabled()
            seen.append((got, torch.is_grad_enabled()))
            try:
                yield torch.is_grad_enabled()
            except KeyError:
                seen.append(("thrown", torch.is_grad_enabled()))
            yield 3
        finally:
            seen.append(("closed", torch.is_grad_enabled()))

    it = g()
    steps = (
        (lambda: next(it), inside),
        (lambda: it.send("hello"), inside),
        (lambda: it.throw(KeyError()), 3),
        (it.close, None),
    )
    for step, expected in steps:
        assert torch.is_grad_enabled() is not inside
        assert step() == expected
    assert torch.is_grad_enabled() is not inside
    assert seen == [("hello", inside), ("thrown", inside), ("closed", inside)]


def test_generator_returns():
    """Rule 25: the return value of a generator is kept."""

    @torch.no_grad()
    def g():
        yield 1
        return 7

    def outer():
        result = yield from g()
        yield result

    assert list(outer()) == [1, 7]
    assert g.__name__ == "g"


def test_generator_under_a_changed_mode():
    """Rule 25: between steps the caller's mode may change; inside it is the generator's."""

    @torch.no_grad()
    def g():
        while True:
            yield torch.is_grad_enabled()

    it = g()
    assert next(it) is False
    with torch.enable_grad():
        assert next(it) is False
        assert torch.is_grad_enabled()
    with torch.no_grad():
        assert next(it) is False
    assert torch.is_grad_enabled()


def test_new_threads_start_enabled():
    """Rule 25: modes are of a thread; a new one starts with grad on."""
    seen = {}

    def work():
        seen["start"] = torch.is_grad_enabled()
        torch.set_grad_enabled(False)
        seen["end"] = torch.is_grad_enabled()

    with torch.no_grad():
        t = threading.Thread(target=work)
        t.start()
        t.join()
        assert not torch.is_grad_enabled()
    assert seen == {"start": True, "end": False}
    assert torch.is_grad_enabled()


def test_threads_do_not_disturb_each_other():
    """Rule 25: two threads inside their modes at once."""
    barrier, seen = threading.Barrier(2, timeout=10), {}

    def work(name, make):
        with make():
            barrier.wait()
            seen[name] = torch.is_grad_enabled()
            barrier.wait()
        seen[name + " after"] = torch.is_grad_enabled()

    threads = [
        threading.Thread(target=work, args=("off", torch.no_grad)),
        threading.Thread(target=work, args=("on", torch.enable_grad)),
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert seen == {"off": False, "on": True, "off after": True, "on after": True}


@ours
def test_async_tasks_have_their_own_mode():
    """Rule 25: beyond PyTorch, modes are per async task as well."""
    seen = []

    async def off(ready, go):
        with torch.no_grad():
            ready.set()
            await go.wait()
            seen.append(("off", torch.is_grad_enabled()))

    async def on(ready, go):
        await ready.wait()
        seen.append(("on", torch.is_grad_enabled()))
        go.set()

    async def main():
        ready, go = asyncio.Event(), asyncio.Event()
        await asyncio.gather(off(ready, go), on(ready, go))

    asyncio.run(main())
    assert seen == [("on", True), ("off", False)]
    assert torch.is_grad_enabled()


@ours
def test_decorated_coroutine():
    """Rule 25: beyond PyTorch, a decorated coroutine function runs in the mode."""

    @torch.no_grad()
    async def f():
        await asyncio.sleep(0)
        return torch.is_grad_enabled()

    async def main():
        return await f(), torch.is_grad_enabled()

    assert asyncio.run(main()) == (False, True)


# Rule 26 ------------------------------------------------------------------------------------------


def test_set_grad_enabled_acts_at_once():
    """Rule 26: as a function."""
    try:
        torch.set_grad_enabled(False)
        assert not torch.is_grad_enabled()
        assert not (leaf([1.0]) * 2).requires_grad
        torch.set_grad_enabled(True)
        assert torch.is_grad_enabled()
    finally:
        torch.set_grad_enabled(True)


@pytest.mark.parametrize("value", [True, False])
def test_set_grad_enabled_restores(value):
    """Rule 26: as a context manager."""
    with torch.set_grad_enabled(value):
        assert torch.is_grad_enabled() is value
    assert torch.is_grad_enabled()
    with torch.no_grad():
        with torch.set_grad_enabled(mode=value):
            assert torch.is_grad_enabled() is value
        assert not torch.is_grad_enabled()


def test_set_grad_enabled_object_used_later():
    """Rule 26: made before it is entered, it acts at once, and leaving restores what was before."""
    guard = torch.set_grad_enabled(False)
    assert not torch.is_grad_enabled()
    with guard:
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


# Rule 27 ------------------------------------------------------------------------------------------


def test_results_under_no_grad_are_leaves():
    """Rule 27: without grad."""
    x = leaf([1.0])
    with torch.no_grad():
        y = x * 2
        z = x.view(1)
    check_leaf(z)
    check_constant(y)
    assert x.requires_grad


def test_leaves_made_under_no_grad():
    """Rule 27: factories and ``requires_grad_`` still make leaves that require grad."""
    with torch.no_grad():
        x = torch.ones(2, requires_grad=True)
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        v = torch.zeros(2).requires_grad_()
    y = (x * w + v).sum()
    check_backward(y, (x, [1.0, 2.0]), (w, [1.0, 1.0]), (v, [1.0, 1.0]))


def test_in_place_on_leaves_under_no_grad():
    """Rule 27: allowed, still bumps versions, and the leaf stays a leaf."""
    x = leaf([1.0, 2.0])
    with torch.no_grad():
        x.add_(1)
        x -= 0.5
        x[0] = 7.0
        x.mul_(2)
    assert x._version == 4
    check_leaf(x)
    check(x, [14.0, 5.0])


def test_in_place_under_no_grad_invalidates():
    """Rule 27: what was saved before is noticed."""
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    with torch.no_grad():
        x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


# Rule 28 ------------------------------------------------------------------------------------------


def test_inference_mode():
    """Rule 28: grad is off, new tensors are inference tensors."""
    x = leaf([1.0])
    with torch.inference_mode():
        assert torch.is_inference_mode_enabled()
        assert not torch.is_grad_enabled()
        y = x * 2
        z = torch.ones(2)
    assert not torch.is_inference_mode_enabled()
    assert torch.is_grad_enabled()
    assert y.is_inference()
    assert z.is_inference()
    assert torch.is_inference(y)
    assert not y.requires_grad
    assert not x.is_inference()
    assert not (x * 2).is_inference()


def test_inference_mode_forms():
    """Rule 28: with False it is off, also within itself, and records as ever."""
    x = leaf([1.0])
    with torch.inference_mode(False):
        assert not torch.is_inference_mode_enabled()
        assert torch.is_grad_enabled()
    with torch.inference_mode():
        with torch.inference_mode(False):
            y = x * x
        assert torch.is_inference_mode_enabled()
    assert not y.is_inference()
    check_backward(y.sum(), (x, [2.0]))


def test_inference_tensors_cannot_be_saved():
    """Rule 28: saving one for backward is refused, wherever its values are needed."""
    with torch.inference_mode():
        c = torch.full((2,), 3.0, dtype=torch.float64)
    x = leaf([1.0, 2.0])
    for f in (lambda: c * x, lambda: x / c, lambda: x @ c, lambda: x**c, lambda: torch.dot(c, x)):
        with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
            f()
    for y in (x + c, c - x, torch.cat([x, c]), x * c.clone()):
        assert y.requires_grad


def test_inference_tensors_outside():
    """Rule 28: in-place on one outside is refused, inside it is allowed."""
    with torch.inference_mode():
        c = torch.ones(2)
        c.add_(1)
        check(c, [2.0, 2.0])
    refused(
        (RuntimeError, r"[Ii]nference", lambda: c.add_(1)),
        (RuntimeError, r"[Ii]nference", c.requires_grad_),
    )
    assert not (c * 2).is_inference()


@ours
def test_inference_tensors_are_checked_before_the_change():
    """Rule 28: the refused in-place operation has changed nothing (in PyTorch it has)."""
    with torch.inference_mode():
        c = torch.ones(2)
    with pytest.raises(RuntimeError, match=r"[Ii]nference"):
        c.add_(1)
    check(c, [1.0, 1.0])


# More of rules 25-28 ------------------------------------------------------------------------------


def test_one_object_used_again():
    """Rule 25: a mode object may be entered again after it was left."""
    mode = torch.no_grad()
    for _ in range(2):
        with mode:
            assert not torch.is_grad_enabled()
        assert torch.is_grad_enabled()


def test_recursive_decorated_function():
    """Rule 25: each call restores what it found."""

    @torch.no_grad()
    def f(n):
        assert not torch.is_grad_enabled()
        if n:
            with torch.enable_grad():
                f(n - 1)
                assert torch.is_grad_enabled()
        assert not torch.is_grad_enabled()

    f(3)
    assert torch.is_grad_enabled()


def test_generator_that_raises():
    """Rule 25: an exception inside restores the mode."""

    @torch.no_grad()
    def g():
        yield 1
        raise ValueError("inside")

    it = g()
    next(it)
    with pytest.raises(ValueError, match="inside"):
        next(it)
    assert torch.is_grad_enabled()
    with pytest.raises(StopIteration):
        next(it)


def test_generator_that_sets_the_mode_itself():
    """Rule 25: what its body does stays in its body."""

    @torch.enable_grad()
    def g():
        with torch.no_grad():
            yield torch.is_grad_enabled()
        yield torch.is_grad_enabled()

    with torch.no_grad():
        it = g()
        assert next(it) is False
        assert not torch.is_grad_enabled()
        assert next(it) is True
        assert not torch.is_grad_enabled()


def test_no_grad_inside_inference_mode():
    """Rule 28: enable_grad does not bring recording back there; results stay inference tensors."""
    x = leaf([1.0])
    with torch.inference_mode(), torch.enable_grad():
        y = x * 2
        assert y.is_inference()
        check_constant(y)
    assert not torch.is_inference_mode_enabled()
    assert torch.is_grad_enabled()


def test_inference_tensors_have_no_version():
    """Rule 28: they do not track it."""
    with torch.inference_mode():
        y = torch.ones(2)
        y.add_(1)
    with pytest.raises(RuntimeError, match="Inference tensors do not track version counter"):
        _ = y._version


def test_views_in_inference_mode():
    """Rule 28: of ordinary tensors they are ordinary; of inference tensors they are not."""
    c = torch.ones(2, 2)
    with torch.inference_mode():
        v = c[0]
        v.mul_(2)
        i = torch.ones(2)
    assert not v.is_inference()
    check(c, [[2.0, 2.0], [1.0, 1.0]])
    assert i[0].is_inference()
    assert i.detach().is_inference()
    assert not i.clone().is_inference()
    v.mul_(2)
    check(c, [[4.0, 4.0], [1.0, 1.0]])


def test_ordinary_tensors_in_inference_mode():
    """Rule 28: in-place on an ordinary leaf is allowed there, and counts."""
    x = leaf([1.0])
    with torch.inference_mode():
        x.add_(1)
    assert x._version == 1
    check(x, [2.0])
    y = x * 3
    with torch.inference_mode():
        v = x.view(1)
    assert not v.is_inference()
    check_backward(y.sum(), (x, [3.0]))


@ours
def test_volatile():
    """``Variable(volatile=True)`` warns, and acts as no_grad for what comes from it."""
    w = leaf([2.0])
    with pytest.warns(UserWarning, match="volatile"):
        x = torch.autograd.Variable(torch.ones(1).double(), volatile=True)
    assert not (w * x).requires_grad
    assert not (w * (x + 1)).requires_grad
    assert (w * 2).requires_grad


# Views without recording --------------------------------------------------------------------------


def test_views_under_no_grad_say_what_their_base_says():
    """They require gradients as the base does, now and later; no gradient goes through them."""
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        views = [x.view(2), x[0], x.unbind()[0], (x * 1)[:1], x.detach(), x.data]
    assert [v.requires_grad for v in views] == [True, True, True, False, False, False]
    y = views[0]
    check_leaf(y)
    z = y * x
    assert z.requires_grad
    assert [fn is None for fn, _ in z.grad_fn.next_functions] == [True, False]
    z.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
    assert y.grad is None
    (y * 2).sum().backward()  # nothing to do, and no error
    with pytest.raises(RuntimeError, match="not have been used"):
        torch.autograd.grad((y * 2).sum(), y)
    assert y.requires_grad_(False).requires_grad
    y.requires_grad_()
    (y * 3).sum().backward()
    assert y.grad.tolist() == [3.0, 3.0]
    assert x.grad.tolist() == [1.0, 1.0]


def test_views_under_no_grad_follow_the_flag_of_their_base():
    x = torch.ones(2)
    with torch.no_grad():
        y = x.view(2)
    assert not y.requires_grad
    x.requires_grad_()
    assert y.requires_grad
    assert (y * 2).requires_grad
    x.requires_grad_(False)
    assert not y.requires_grad


def test_views_under_no_grad_are_not_written_to_with_recording():
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        y = x.view(2)
    with pytest.raises(RuntimeError, match="created in no_grad mode"):
        y.add_(1)
    assert x.tolist() == [1.0, 1.0]
    with torch.no_grad():
        y.add_(1)
    assert x.tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="created in no_grad mode"):
        y.sum().backward()


def test_views_of_inference_tensors_are_inference_tensors():
    with torch.inference_mode():
        a = torch.ones(2, 2, requires_grad=True)
        inner = a.view(-1)
    assert a.requires_grad
    assert not inner.requires_grad
    b = a.view(-1)
    assert (b.requires_grad, b.is_inference(), b.grad_fn) == (False, True, None)
    assert not (b * 2).requires_grad
