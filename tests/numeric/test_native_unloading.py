"""Libraries are loaded as long as a Function, what it kept or a call of it needs them."""

import gc
import threading
from pathlib import Path

import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from numeric.lowering import programs
from numeric.lowering.native import cache, compiler, libraries
from numeric.lowering.passes import rows
from tests.support.budget import FUZZ

MAPS = Path("/proc/self/maps")
counted = pytest.mark.skipif(not MAPS.exists(), reason="mappings are counted there")
GIVEN = np.linspace(0, 1, 50)


@pytest.fixture(autouse=True)
def small(monkeypatch, place):
    monkeypatch.setattr(rows, "_LEAST", 1)
    monkeypatch.setattr(programs, "NATIVE_LEAST", 1)
    gc.collect()


def mappings():
    return len(MAPS.read_text().splitlines())


def loaded():
    for _ in range(3):
        gc.collect()
    return len(libraries._LOADED)


def function(k=1):
    x = sd.symbol("x", "n")
    return nm.lower(sd.sum(sd.sin(x * k) * x), x, backend="native")


def expected(k=1):
    return np.sum(np.sin(GIVEN * k) * GIVEN)


@counted
@pytest.mark.parametrize("count", [14_000 if FUZZ else 300])
def test_mappings_are_not_exhausted(count, monkeypatch):
    """By libraries that are let go: five mappings each, of 65,530 that Linux allows.

    What is compiled stands for others, and the folder holds few of them.
    """
    monkeypatch.setattr(cache, "_MOST", 100)
    known = compiler.compiler()
    text = "int answer(void) { return 42; }"
    one = compiler.made(None, known.command, known.flags, text, 60)
    monkeypatch.setattr(compiler, "_made", lambda *_: one)
    before = mappings()
    for k in range(count):
        assert libraries.library(str(k)).answer() == 42
    assert mappings() < before + 50
    assert len(libraries._LOADED) == 0


@pytest.mark.slow
@counted
@pytest.mark.parametrize("count", [300 if FUZZ else 5])
def test_functions_that_are_let_go_unload_their_libraries(count):
    before = most = mappings()
    for k in range(count):
        F = function(k)
        np.testing.assert_allclose(F(GIVEN), expected(k), rtol=1e-13)
        F.value_and_grad(GIVEN)
        most = max(most, mappings())
        del F
        assert loaded() == 0
    assert most < before + 50


@pytest.mark.slow
def test_programs_of_every_kind_let_go():
    x = sd.symbol("x")
    made = [
        nm.lower(sd.sin(x) * x, x, backend="native"),
        nm.lower([sd.sin(x + k) * x for k in range(60)], [x], backend="native"),
        nm.lower(sd.fori_loop(0, 9, lambda _, c: sd.sin(c) * 0.37, x), [x], backend="native"),
    ]
    made[0](GIVEN)
    for F in made[1:]:
        F(0.5)
    assert loaded() == 3
    del made, F
    assert loaded() == 0


@pytest.mark.slow
def test_who_needs_a_library_has_it():
    """Functions of one text, copies of a Function, and what a forward pass kept."""
    F, G = function(), function()
    F(GIVEN)
    G(GIVEN)
    assert loaded() == 1
    del F
    assert loaded() == 1
    np.testing.assert_allclose(G(GIVEN), expected(), rtol=1e-13)
    _, residuals = G.forward(GIVEN)
    del G
    assert loaded() >= 1
    del residuals
    assert loaded() == 0


@pytest.mark.slow
def test_a_function_of_a_library_is_enough():
    run = libraries.library("int answer(void) { return 42; }").answer
    assert loaded() == 1
    assert run() == 42
    del run
    assert loaded() == 0


@pytest.mark.slow
def test_methods_that_run_when_a_cycle_goes_may_call():
    """Everything in a cycle is there until the last of its methods ``__del__`` has run."""
    seen = []

    class Holder:
        def __init__(self):
            self.me, self.F = self, function()
            self.F(GIVEN)

        def __del__(self):
            seen.append(self.F(GIVEN))

    for _ in range(3):
        Holder()
    gc.collect()
    np.testing.assert_allclose(seen, [expected()] * 3, rtol=1e-13)
    assert loaded() == 0


@pytest.mark.slow
def test_threads_call_while_others_let_go():
    """What runs is held by its call; the next Function of the text loads it again."""
    slot, wrong, stop = [function()], [], threading.Event()

    def call():
        while not stop.is_set():
            found = slot[0](GIVEN)
            if not np.isclose(found, expected(), rtol=1e-13, atol=0):
                wrong.append(found)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(60):
        slot[0] = function()
        gc.collect()
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    del slot[0]
    assert loaded() == 0
