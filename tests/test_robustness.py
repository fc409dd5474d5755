"""Forks, copies, generators, interrupts, and bounds on work."""

import _frozen_importlib
import _imp
import ast
import asyncio
import contextlib
import contextvars
import copy
import dis
import functools
import importlib
import itertools
import logging
import math
import os
import pickle
import random
import re
import signal
import subprocess
import sys
import threading
import time
import types
import warnings
from pathlib import Path

import mpmath
import numpy as np
import pytest
import sympy as sp
from mpmath import mp

import numeric as nm
import symdiff as sd
from numeric import modes
from symdiff import locks
from symdiff.contexts import raising
from symdiff.scalars import formula
from tests.support.budget import FUZZ, scaled

ROOT = Path(sd.__file__).parent.parent
SOURCES = [*ROOT.glob("symdiff/**/*.py"), *ROOT.glob("numeric/**/*.py")]

x, y = sd.symbols("x y")


# --- forks ---------------------------------------------------------------------------------------


def child_finishes(work, seconds=60):
    """Whether a forked child does the work in time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking with threads is the point
        child = os.fork()
    if not child:  # pragma: no cover  # another process
        done = False
        with contextlib.suppress(BaseException):
            done = work()
        os._exit(0 if done else 1)
    for _ in range(100 * seconds):
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return status == 0
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


@contextlib.contextmanager
def held_elsewhere(contexts):
    """Locks, or other contexts, that another thread is in meanwhile."""
    ready, free = threading.Event(), threading.Event()

    def hold():
        with contextlib.ExitStack() as stack:
            for one in contexts:
                stack.enter_context(one)
            ready.set()
            free.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    ready.wait()
    try:
        yield
    finally:
        free.set()
        thread.join()


def everything_works():
    """What takes the locks: interning, lowering, evaluation, recording, tracing, random numbers."""
    t = sd.symbol(f"t{os.getpid()}", 3)
    value, (gradient,) = nm.lower(sd.sum(sd.sin(t) ** 2), [t]).value_and_grad(np.ones(3))
    a = nm.ones(3, requires_grad=True)
    nm.vmap(lambda row: row * 2)(nm.compile(nm.sin)(a) * nm.rand(3)).sum().backward()
    digits = sd.evalf(sd.exp(x), 20, {x: 1})
    return (
        np.isclose(value, 3 * np.sin(1) ** 2)
        and np.allclose(gradient, np.sin(2))
        and a.grad is not None
        and str(digits) == "2.7182818284590452354"
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_takes_every_lock():
    everything_works()  # makes locks of its own, too
    with held_elsewhere(locks.made()):
        assert child_finishes(everything_works)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_lock_of_the_forking_thread_stays_its_own():
    with contextlib.ExitStack() as stack:
        for one in locks.made():
            stack.enter_context(one)
        assert child_finishes(everything_works)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_an_ordinary_lock_hangs():
    """The check can fail."""
    lock = threading.RLock()
    with held_elsewhere([lock]):
        assert not child_finishes(lambda: lock.acquire(timeout=0.1))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_has_mpmaths_precision_of_outside():
    """Another thread is in the middle of evalf."""
    from symdiff.exact import evaluation

    before = mp.prec
    with held_elsewhere([evaluation.one_mpmath(), mp.workprec(1000)]):
        assert mp.prec == 1000
        assert child_finishes(lambda: mp.prec == before)
    assert mp.prec == before


@pytest.mark.slow
def test_every_lock_is_made_for_forks():
    for path in SOURCES:
        if path.name != "locks.py":
            tree = list(ast.walk(ast.parse(path.read_text())))
            calls = [ast.unparse(n.func) for n in tree if isinstance(n, ast.Call)]
            assert not [call for call in calls if call.endswith("Lock")], path
            names = [f"functools.{n.attr}" for n in tree if isinstance(n, ast.Attribute)]
            imports = [n for n in tree if isinstance(n, ast.ImportFrom)]
            names += [f"{n.module}.{name.name}" for n in imports for name in n.names]
            assert "functools.cached_property" not in names, path  # one lock for all objects


@contextlib.contextmanager
def working(count, work):
    """Threads that do the work again and again meanwhile."""
    left = itertools.count()
    stop = threading.Event()

    def again():
        while not stop.is_set():
            work(next(left))

    threads = [threading.Thread(target=again) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_finishes_first_uses_of_other_threads():
    v = sd.symbol("v", "n")

    def first_use(k):
        f = sd.sum(sd.cos(v * k)) * k + sd.mean(v)
        total = sd.scan(lambda c, t: (c * t, c), sd.constant(1.0), v)[0]
        return nm.lower([f, total], [v])(np.ones(10))

    with working(3, first_use):
        for k in range(scaled(40)):
            assert child_finishes(lambda k=k: first_use(-1 - k) is not None), k


class Named:
    """What computes an attribute for as long as it is told."""

    def __init__(self, compute):
        self.compute = compute

    @locks.cached_property
    def attribute(self):
        return self.compute()


@contextlib.contextmanager
def begun(work):
    """Another thread has begun the work, which gets a function to call where it is to wait."""
    ready, free = threading.Event(), threading.Event()

    def wait():
        ready.set()
        free.wait()

    thread = threading.Thread(target=work, args=(wait,))
    thread.start()
    ready.wait()
    try:
        yield free
    finally:
        free.set()
        thread.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_attributes_that_another_thread_computes_hold_no_lock():
    slow = Named(lambda: threading.get_ident() or "never")
    with begun(lambda wait: Named(wait).attribute):
        assert child_finishes(lambda: Named(lambda: 3).attribute == 3)
        assert Named(lambda: 3).attribute == 3  # nor do other threads wait here
    assert slow.attribute == threading.get_ident()


def test_an_attribute_is_that_of_the_first_thread_to_finish():
    found = []
    one = Named(lambda: found[0]())
    with begun(lambda wait: found.append(lambda: wait() or "late") or one.attribute):
        found[0] = lambda: "early"
        assert one.attribute == "early"
    assert one.attribute == "early"
    assert Named.attribute is vars(Named)["attribute"]
    assert isinstance(Named.attribute, functools.cached_property)  # documentation shows a property


@pytest.fixture
def slow_module(tmp_path, monkeypatch):
    """The name of a module that waits while it is loaded."""
    name = f"slow_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text("import slow_wait\nslow_wait.wait()\nANSWER = 42\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield name
    for one in (name, "slow_wait"):
        sys.modules.pop(one, None)


def waiting(wait):
    module = types.ModuleType("slow_wait")
    module.wait = wait
    return module


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_waits_for_modules_that_other_threads_load(slow_module, monkeypatch):
    def load(wait):
        sys.modules["slow_wait"] = waiting(wait)
        importlib.import_module(slow_module)

    def use():
        return importlib.import_module(slow_module).ANSWER == 42

    monkeypatch.setattr(locks, "PACKAGES", locks.PACKAGES | {slow_module})
    with begun(load) as free:
        timer = threading.Timer(0.05, free.set)
        timer.start()
        assert child_finishes(use)
    timer.join()
    assert use()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_waits_no_longer_than_patience(slow_module, monkeypatch):
    """What is loaded may need what the forking thread holds; a child then has half a module."""

    def load(wait):
        sys.modules["slow_wait"] = waiting(wait)
        importlib.import_module(slow_module)

    monkeypatch.setattr(locks, "PACKAGES", locks.PACKAGES | {slow_module})
    monkeypatch.setattr(locks, "PATIENCE", 0.01)
    with begun(load):
        assert child_finishes(lambda: not hasattr(importlib.import_module(slow_module), "ANSWER"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_module_that_another_thread_is_about_to_load_is_loaded_in_a_child(
    slow_module, monkeypatch
):
    """The thread has the module's lock, and nothing else yet."""
    lock = _frozen_importlib._ModuleLockManager

    def load(wait):
        with lock(slow_module):
            wait()

    monkeypatch.setattr(locks, "PACKAGES", locks.PACKAGES | {slow_module})
    monkeypatch.setattr(locks, "PATIENCE", 0.01)
    with begun(load):
        sys.modules["slow_wait"] = waiting(lambda: None)
        assert child_finishes(lambda: importlib.import_module(slow_module).ANSWER == 42)
    assert not _imp.lock_held()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_waits_for_one_who_loads_modules_with_the_lock_of_logging(slow_module):
    """As ``logging.config`` does; a fork takes that lock as well."""

    def load(wait):
        sys.modules["slow_wait"] = waiting(lambda: None)
        with logging._lock:
            wait()
            time.sleep(0.05)
            importlib.import_module(slow_module)

    def both():
        with begun(load) as free:
            free.set()
            found = child_finishes(lambda: importlib.import_module(slow_module).ANSWER == 42)
        return found and not _imp.lock_held() and logging._lock.acquire(blocking=False)

    assert child_finishes(both, seconds=10)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_does_not_wait_for_threads_that_there_are_not(slow_module, monkeypatch):
    """A child has the locks of modules that other threads were loading, and not these threads."""

    def load(wait):
        sys.modules["slow_wait"] = waiting(wait)
        importlib.import_module(slow_module)

    def fork():
        monkeypatch.setattr(locks, "PACKAGES", locks.PACKAGES | {slow_module})
        monkeypatch.setattr(locks, "PATIENCE", math.inf)
        return child_finishes(lambda: True)

    with begun(load):  # a module of nobody's here: the fork does not wait
        assert child_finishes(fork, seconds=10)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_an_interrupt_ends_the_waiting_for_modules(slow_module, monkeypatch):
    def load(wait):
        sys.modules["slow_wait"] = waiting(wait)
        importlib.import_module(slow_module)

    def interrupted(_):
        raise KeyboardInterrupt

    def wait():
        monkeypatch.setattr(locks, "PACKAGES", locks.PACKAGES | {slow_module})
        with begun(load):
            with monkeypatch.context() as patch, contextlib.suppress(KeyboardInterrupt):
                patch.setattr(locks.time, "sleep", interrupted)
                locks._wait_for_modules()
            locks._let_modules_load()
            return not _imp.lock_held() and logging._lock.acquire(blocking=False)

    assert child_finishes(wait, seconds=10)


LATE = {
    "symdiff": ("numpy.random", "numpy.polynomial", "difflib"),
    "numeric": (
        *("numeric.check", "numeric.show", "numeric.tensors", "numeric.func", "numeric.shards"),
        *("numeric.lowering.native", "json", "uuid"),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("package", LATE)
def test_what_few_programs_use_is_loaded_when_it_is_asked_for(package):
    text = f"import sys, {package}; print(*{{*{LATE[package]}}} & {{*sys.modules}})"
    text += f"; from {package} import *; print(len(dir({package})))"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(len(dir(sys.modules[package])))]


# --- copies --------------------------------------------------------------------------------------


def sine_vjp(g, t):
    return g * sd.cos(t)


custom = sd.custom(np.sin, sine_vjp, name="custom")


@nm.compile
def compiled(t):
    return t * 2


def parse_error():
    with pytest.raises(sd.ParseError) as caught:
        sd.parse("1+")
    return caught.value


def function():
    v = sd.symbol("v", 3)
    return nm.lower(sd.sum(v) * x + sd.constant(np.array([1.5, 2.5])), [v, x])


def generator():
    made = nm.Generator().manual_seed(3)
    nm.randn(17, generator=made)
    return made


# What it is; how it is used.
COPIED = {
    "expression": (lambda: sd.sin(x) * y, str),
    "function": (function, lambda f: [a.tolist() for a in f(np.ones(3), 2.0)]),
    "custom function": (lambda: custom, lambda f: str(f(x))),
    "digits": (lambda: sd.evalf(sd.pi, 20), str),
    "parse error": (parse_error, str),
    "shape error": (lambda: sd.ShapeError("text"), str),
    "kinks": (lambda: sd.kinks("raise"), lambda k: k(raising)()),
    "tensor": (lambda: nm.tensor([1.0, 2.0], requires_grad=True), repr),
    "dtype": (lambda: nm.float32, repr),
    "size": (lambda: nm.ones(2, 3).shape, repr),
    "no_grad": (nm.no_grad, lambda c: c(nm.is_grad_enabled)()),
    "compiled": (lambda: compiled, lambda f: f(nm.ones(2)).tolist()),
    "generator": (generator, lambda g: nm.randn(5, generator=g).tolist()),
}


def unpickled(one):
    return pickle.loads(pickle.dumps(one))


@pytest.mark.parametrize(
    ("name", "copied"),
    [
        (name, copied)
        for name in COPIED
        for copied in (copy.copy, copy.deepcopy, unpickled)
        if (name, copied) != ("compiled", unpickled)  # functions are pickled by name
    ],
)
def test_copies_do_what_the_original_does(name, copied):
    make, used = COPIED[name]
    one = make()
    other = copied(one)
    assert used(other) == used(make())
    assert used(one) == used(make())  # the copy took nothing from it


# --- generators ----------------------------------------------------------------------------------


def test_kinks_in_a_decorated_generator_hold_for_its_body_only():
    @sd.kinks("raise")
    def body():
        yield raising()
        yield raising()

    steps = body()
    assert next(steps)
    assert not raising()
    assert next(steps)
    assert not raising()


def test_kinks_in_a_decorated_coroutine():
    @sd.kinks("raise")
    async def body():
        await asyncio.sleep(0)
        return raising()

    async def both():
        return await asyncio.gather(body(), asyncio.to_thread(raising))

    assert asyncio.run(both()) == [True, False]


def test_a_suspended_body_would_leak_and_is_refused():
    def body():
        with sd.kinks("raise"):
            yield 1

    with pytest.raises(RuntimeError, match=r"generator body would also hold .* @kinks\('raise'\)"):
        next(body())
    assert not raising()

    async def asynchronous():
        with sd.kinks("raise"):
            yield 1

    async def consumed():
        return await anext(asynchronous())

    with pytest.raises(RuntimeError, match="generator asynchronous"):
        asyncio.run(consumed())


def test_a_context_made_of_a_generator_holds_for_its_block():
    @contextlib.contextmanager
    def mine():
        with sd.kinks("raise"):
            yield

    def fixture():
        with contextlib.ExitStack() as stack:
            stack.enter_context(sd.kinks("raise"))
            yield raising()

    with mine():
        assert raising()
    assert not raising()
    steps = fixture()
    assert next(steps)
    assert raising()
    assert next(steps, None) is None
    assert not raising()


def test_kinks_nest_and_are_used_many_times():
    choice = sd.kinks("raise")
    with choice, sd.kinks("subgradient"):
        assert not raising()
        with choice:
            assert raising()
        assert not raising()
    assert not raising()
    with pytest.raises(ValueError, match="neither"):
        sd.kinks("sometimes")


def test_modes_left_in_another_order_end_in_the_outermost():
    setting = nm.set_grad_enabled(False)
    with nm.no_grad():
        setting.__exit__()
    assert nm.is_grad_enabled()


# --- interrupts ----------------------------------------------------------------------------------


# What runs while an object dies, where Python only reports an exception; and ends of contexts.
CALLBACKS = {"__exit__", "__aexit__", "_forget", "forget", "_release", "__del__"}
TRACED = (str(ROOT / "symdiff"), str(ROOT / "numeric"), str(Path(mpmath.__file__).parent))


@functools.cache
def spared(filename):
    """The lines of a source that clean up, and those of `try` and `with`.

    No signal is looked for when a `try` or `with` is entered, and a trace function that raised
    there would raise outside of it.
    """
    cleaning, entering = set(), set()
    for node in ast.walk(ast.parse(Path(filename).read_text())):
        if isinstance(node, ast.Try):
            entering.add(node.lineno)
            for part in node.finalbody:
                cleaning.update(range(part.lineno, part.end_lineno + 1))
        elif isinstance(node, ast.With):
            entering.update(range(node.lineno, node.items[-1].context_expr.end_lineno + 1))
        elif isinstance(node, ast.FunctionDef) and node.name in CALLBACKS:
            cleaning.update(range(node.lineno, node.end_lineno + 1))
    return frozenset(cleaning), frozenset(cleaning | entering)


@functools.cache
def after_calls(code):
    """Where Python looks for signals: what a call returned is not stored yet.

    Not behind the last call of a `with`: Python raises there as if from within the call.
    """
    places = list(dis.get_instructions(code))
    return {
        b.offset
        for a, b in itertools.pairwise(places)
        if a.opname.startswith("CALL") and not _leaves_with(a, b, code.co_filename)
    }


def _leaves_with(call, after, filename):
    cleaning, all_spared = spared(filename)
    entering = all_spared - cleaning
    return after.positions.lineno != call.positions.lineno and after.positions.lineno in entering


def interrupted(program, k):
    """Run the program and raise KeyboardInterrupt at its k-th line or end of a call.

    The result is how many of them were passed, k if the program was interrupted.
    """
    passed = 0

    def local(frame, event, _):
        nonlocal passed
        cleaning, all_spared = spared(frame.f_code.co_filename)
        if event == "line":
            counts = frame.f_lineno not in all_spared
        else:
            counts = (
                event == "opcode"
                and frame.f_lasti in after_calls(frame.f_code)
                and frame.f_lineno not in cleaning
            )
        if counts:
            passed += 1
            if passed == k:
                sys.settrace(None)
                raise KeyboardInterrupt
        return local

    def entered(frame, *_):
        name = frame.f_code.co_filename
        if not name.startswith(TRACED) or "lambda" in frame.f_code.co_name:
            return None
        frame.f_trace_opcodes = True
        return local

    before = sys.gettrace()
    try:
        sys.settrace(entered)
        program()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return passed


def state():
    """What a program must leave as it was."""
    precision = mp.prec, mp.dps, mp._prec_rounding[1]
    return np.geterr(), modes.current(), raising(), precision, held()


def held():
    """How many locks another thread cannot take."""
    found = []

    def count():
        for lock in locks.made():
            if lock.acquire(blocking=False):
                lock.release()
            else:
                found.append(lock)

    thread = threading.Thread(target=count)
    thread.start()
    thread.join()
    return len(found)


_fresh = iter(range(10**9))


def lowered():
    """Building, differentiating, lowering and calling, in nodes and programs that are new."""
    k = next(_fresh)
    u, w = sd.symbol(f"u{k}", 2), sd.symbol(f"w{k}")
    f = nm.lower(sd.sum(sd.where(u > 0, sd.sqrt(u) * w, u**2)), [u, w])
    value, gradients = f.value_and_grad(np.array([4.0, -3.0]), 2.0)
    return value.item(), gradients[0].tolist(), gradients[1].item()


def evaluated():
    k = next(_fresh)
    t = sd.symbol(f"t{k}")
    return str(sd.evalf(sd.diff(sd.erf(t) ** 2 + sd.betaln(t, 2), t), 30, {t: 3}))


def eager():
    t = nm.tensor([1.0, 2.0], requires_grad=True)
    u = nm.tanh(t) * t
    with nm.no_grad():
        u.detach().mul_(2)
    u[0].add_(1)
    (g,) = nm.autograd.grad(u.sum(), t, create_graph=True)
    g.sum().backward()
    return t.grad.tolist()


def traced():
    t = nm.tensor([1.0, 2.0], requires_grad=True)
    f = nm.compile(lambda a: nm.exp(a) * a)
    return nm.func.grad(lambda a: f(a).sum())(t).tolist(), nm.vmap(f)(t).tolist()


@sd.kinks("raise")
def refused():
    k = next(_fresh)
    t = sd.symbol(f"t{k}")
    slope = nm.lower(abs(t), [t])
    with contextlib.suppress(sd.NotDifferentiable):
        slope.value_and_grad(0.0)
    return slope.value_and_grad(-2.0)


def pickled():
    k = next(_fresh)
    t = sd.symbol(f"t{k}")
    f = pickle.loads(pickle.dumps([sd.sin(t) * t, sd.sin(t)]))
    return f[1] is sd.sin(t) and f[0] is f[1] * t


PROGRAMS = [lowered, evaluated, eager, traced, refused, pickled]


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
def test_an_interrupt_leaves_no_trace(program):
    """At lines and calls of the program; at others under `make fuzz`, which may take them all."""
    expected = program()
    before = state()
    count = interrupted(program, 0)
    places = range(1, count + 1)
    stops = random.Random(None if FUZZ else 0).sample(places, min(scaled(60), count))
    hit = 0
    for k in stops:
        hit += interrupted(program, k) == k
        assert state() == before, k
        assert program() == expected, k
    assert hit > 0.7 * len(stops)


def careless(change, restore):
    """A program in which nothing restores what an interrupt finds changed."""

    def program():
        change()
        nm.lower(sd.sin(x), [x])
        restore()

    return program


def test_what_stays_changed_is_noticed():
    """The check can fail."""
    before = state()
    errors = np.geterr()
    lock = locks.fork_safe_lock()
    for change, restore in [
        (lambda: np.seterr(all="ignore"), lambda: np.seterr(**errors)),
        (lock.acquire, lock.release),
        (lambda: mp._set_prec(99), lambda: mp._set_prec(53)),
    ]:
        assert interrupted(careless(change, restore), 50) == 50
        assert state() != before
        restore()
        assert state() == before


# What runs as a context ends: nothing can be caught there, for a signal is looked for at once.
ENDS = ("contexts.py", "modes.py", "_ufunc_config.py")


def interrupted_at_end(program, k):
    """Run the program and raise KeyboardInterrupt as its k-th context begins to end.

    The result is how many contexts ended, k if the program was interrupted.
    """
    passed = 0

    def entered(frame, *_):
        nonlocal passed
        code = frame.f_code
        if code.co_name == "__exit__" and code.co_filename.endswith(ENDS):
            passed += 1
            if passed == k:
                sys.settrace(None)
                raise KeyboardInterrupt

    before = sys.gettrace()
    try:
        sys.settrace(entered)
        program()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return passed


def entering_nothing():
    """What enters contexts by itself: gradients, traces, steps, functions with bodies of NumPy."""
    t = nm.tensor([1.0, 2.0], requires_grad=True)
    f = nm.compile(lambda a: nm.exp(a) * a)
    nm.func.grad(lambda a: f(a).sum())(t), nm.vmap(f)(t)
    nm.func.scan(lambda c, a: (c * a, c), nm.tensor(1.0), t)
    nm.autograd.functional.hessian(lambda a: (a**3).sum(), t)
    (t * t).sum().backward()
    nm.optim.SGD([t], lr=0.1).step()
    nm.nn.utils.clip_grad_norm_([t], 0.1)
    str(t / 3)
    nm.lower(sd.sum(sd.log_ndtr(x)), [x])(np.ones(3))
    nm.interpret(sd.where(x > 0, sd.sqrt(x), 0), {x: -1.0})
    sd.parse("x**2")


def test_what_enters_contexts_by_itself_leaves_none_on():
    before = state()
    entering_nothing()
    count = interrupted_at_end(entering_nothing, 0)
    assert count > 10
    for k in range(1, count + 1):
        assert interrupted_at_end(entering_nothing, k) == k
        assert state() == before, k


CONTEXTS = ("errstate", "Switch", "kinks", "_mode", "allowance", "_UNRECORDED")


def test_functions_that_enter_contexts_are_contained():
    """But for those that show and check, which may take their time to be interrupted."""
    checks = ("check", "autograd/gradchecks.py", "autograd/jacobians.py")
    left = {ROOT / "numeric" / name for name in (*checks, "show", "demo", "cli")}
    for path in SOURCES:
        text = path.read_text()
        if left & {path, *path.parents} or not any(
            f"with {word}" in text for word in ("np.", *CONTEXTS)
        ):
            continue
        tree = ast.parse(text)
        contained = set()
        for function in ast.walk(tree):
            decorators = [ast.unparse(d) for d in getattr(function, "decorator_list", [])]
            if "contained" in decorators:
                contained.update(ast.walk(function))
        for item in ast.walk(tree):
            if isinstance(item, ast.withitem):
                name = ast.unparse(getattr(item.context_expr, "func", item.context_expr))
                assert item in contained or name.rpartition(".")[2] not in CONTEXTS, (path, name)


@pytest.mark.parametrize("inner", [nm.no_grad, nm.enable_grad, nm.inference_mode])
def test_a_mode_that_an_interrupt_left_on_ends_with_the_next_one_outside(inner):
    def program():
        with nm.no_grad(), inner():
            pass

    def outside(k):
        with nm.no_grad():
            assert interrupted_at_end(program, k) == k

    before = modes.current()
    assert interrupted_at_end(program, 0) == 2
    for k in (1, 2):
        outside(k)
        assert modes.current() is before
    with nm.enable_grad():
        interrupted_at_end(program, 2)
        assert not nm.is_grad_enabled()
    assert modes.current() is before


@pytest.mark.parametrize("make", [nm.enable_grad, nm.inference_mode, lambda: sd.kinks("raise")])
def test_a_context_that_was_entered_elsewhere_ends_no_other(make):
    """A generator that enters one may be closed by another task."""
    elsewhere, one = contextvars.copy_context(), make()
    elsewhere.run(one.__enter__)
    before = modes.current(), raising()
    with nm.no_grad(), sd.kinks("subgradient"), sd.kinks("raise"), nm.enable_grad():
        inside = modes.current(), raising()
        one.__exit__()
        assert (modes.current(), raising()) == inside
    assert (modes.current(), raising()) == before


def test_one_place_at_which_an_interrupt_leaves_a_users_mode_on():
    """As the end begins; what is documented of `Context`."""

    def program():
        with nm.no_grad():
            pass

    def at(k):
        passed = 0

        def trace(frame, event, _):
            nonlocal passed
            code = frame.f_code
            if code is not modes.Switch.__exit__.__code__:
                return None
            frame.f_trace_opcodes = True
            called = event == "opcode" and frame.f_lasti in after_calls(code)
            passed += event == "call" or called
            if passed == k:
                sys.settrace(None)
                raise KeyboardInterrupt
            return trace

        before = sys.gettrace()
        try:
            sys.settrace(trace)
            program()
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        return passed

    left_on = []
    count = at(0)
    for k in range(1, count + 1):
        assert at(k) == k
        if not nm.is_grad_enabled():
            left_on.append(k)
            modes._mode.set(modes.RECORD)
    assert count > 1
    assert left_on == [1]


# --- bounds on memory ----------------------------------------------------------------------------


def test_distinct_formulas_are_not_kept_for_good():
    for k in range(formula.FORMULAS + 1):
        formula.canonical(sp.Symbol(f"bounded{k}") + 1)
    assert formula.canonical.cache_info().currsize == formula.FORMULAS
    assert formula.partial.cache_parameters() == formula.canonical.cache_parameters()
    assert 30e3 * formula.FORMULAS < 100e6  # bytes


# --- options -------------------------------------------------------------------------------------


BOOLEANS = {
    "exact_order": (nm.lower, (x, x)),
    "fastmath": (nm.lower, (x, x)),
    "complex_step": (nm.check.derivative, (math.sin, 1.0)),
}


@pytest.mark.parametrize("value", ["no", 0, None, [True]], ids=str)
@pytest.mark.parametrize("name", BOOLEANS)
def test_an_option_that_is_true_or_false_is_no_other_value(name, value):
    function, args = BOOLEANS[name]
    message = f"{function.__name__}: argument '{name}' expects a bool, got "
    with pytest.raises(TypeError, match=re.escape(message)):
        function(*args, **{name: value})


# --- bounds on work ------------------------------------------------------------------------------


REFUSED = {
    "exp of exp of exp": (
        lambda: sd.evalf(sd.exp(sd.exp(sd.exp(x))), 15, {x: 10}),
        ArithmeticError,
        r"evalf: exp of a number beyond 2\*\*8192 is met",
    ),
    "a decimal": (
        lambda: sd.evalf(x, 15, {x: "1e1000000000"}),
        ValueError,
        "evalf: the value of x: '1e1000000000' has an exponent of more than 5 digits",
    ),
    "digits": (lambda: sd.evalf(sd.pi, 10**9), ValueError, "number of digits from 1 to 100000"),
    "a series": (
        lambda: sd.evalf(sd.betainc(10**6, 10**6, x), 15, {x: "1/2"}),
        ArithmeticError,
        r"evalf: the series of betainc\(.*\) converges too slowly",
    ),
    "a sum that cancels": (
        lambda: sd.evalf(sd.polygamma(10**8, x), 10, {x: "-1/2"}),
        ArithmeticError,
        r"evalf: the series of polygamma\(.*\) converges too slowly",
    ),
    "decimals": (lambda: sd.round(x, 10**9), ValueError, "round: 1000000000 decimals"),
    "tens": (lambda: sd.round(x, -(10**9)), ValueError, "round: -1000000000 decimals"),
    "powers": (
        lambda: sd.vander(sd.symbol("v", 3), 10**9),
        ValueError,
        "vander: 1000000000 powers, each an expression; at most 10000",
    ),
    "an order": (
        lambda: sd.diff(sd.exp(x**2), x, 10**6),
        ValueError,
        "diff: order 1000000 by x is out of reach: the derivative of order 16 has .* nodes",
    ),
    "an order of a power": (
        lambda: sd.diff(1 / x, x, 10**6),
        ValueError,
        "diff: order 1000000 by x is out of reach",
    ),
    "an argument": (
        lambda: nm.lower(x * y, [x, y])(1.0, 10**400),
        ValueError,
        "input y: an integer of 1329 bits is beyond the largest float",
    ),
    "an argument beside arrays": (
        lambda: nm.lower(x * y, [x, y]).value_and_grad(np.ones(2), -(10**400)),
        ValueError,
        "input y: an integer of 1329 bits",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_work_without_end_is_refused(name):
    call, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        call()


def test_what_is_quick_is_not_refused():
    assert sd.diff(x**5, x, 10**6) is sd.constant(0)
    around = [sd.diff(sd.sin(x), x, 10**6 + k) for k in range(4)]
    assert around == [sd.sin(x), sd.cos(x), -sd.sin(x), -sd.cos(x)]
    assert str(sd.evalf(x, 5, {x: "1e99999"})) == "1.0e+99999"
    assert sd.polygamma(10**8, x).evalf(10, {x: 2}) < 0  # which mpmath sums up in minutes
    assert str(sd.evalf(sd.gamma(x), 15, {x: 10**30})).endswith(
        "e+29565705518096748172348871081068"
    )
    assert sd.round(sd.constant(10**300), -299) is sd.constant(10**300)
