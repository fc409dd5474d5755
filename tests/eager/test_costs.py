"""What the eager layer holds and compiles: counts, which no machine changes."""

import gc
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

import numeric as torch
from numeric.eager import specialised


def _compiled(monkeypatch):
    """The programs that are lowered from now on, as a list that grows."""
    found = []
    lowered = specialised._lowered

    def noted(name, params, outputs):
        found.append(name)
        return lowered(name, params, outputs)

    monkeypatch.setattr(specialised, "_lowered", noted)
    return found


def _step(rows, rate):
    x, w = torch.ones(rows, 3), torch.ones(3, 2, requires_grad=True)
    b = torch.zeros(2, requires_grad=True)
    y = torch.tanh(x @ w + b) * rate
    ((y - 0.5) ** 2).sum(0).mean().backward()


def test_longer_batches_and_other_numbers_compile_nothing(monkeypatch):
    _step(4, 0.1)
    found = _compiled(monkeypatch)
    for rows in range(5, 30):
        _step(rows, 1 / rows)
    assert found == []


def test_a_new_rank_compiles_once(monkeypatch):
    found = _compiled(monkeypatch)
    for _ in range(3):
        x = torch.ones(2, 3, 4, 5, requires_grad=True)
        x.sum((0, 2)).prod().backward()
    assert 0 < len(found) <= 4


def test_bytes_of_a_recorded_operation():
    """At most 600 beyond the arrays."""
    x = torch.tensor([1.5], requires_grad=True)
    y = x * x + x
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(1000):
        y = y * x + x
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    array = np.zeros(1, np.float32).__sizeof__()
    assert (after - before - 1000 * array) / 2000 <= 600
    assert y.requires_grad


def test_recorded_passes_run_what_leads_to_the_targets_only():
    """A gradient by the input of a product does not compute the one by its weights."""
    w, x = torch.ones(3, 3, requires_grad=True), torch.ones(2, 3, requires_grad=True)
    met = []
    hook = w.register_hook(met.append)
    (g,) = torch.autograd.grad((x @ w).sum(), x, create_graph=True)
    assert g.tolist() == [[3.0] * 3] * 2
    assert met == []
    hook.remove()


@pytest.mark.slow
def test_the_import_loads_nothing_optional():
    code = "import sys, numeric; print([m for m in sys.modules if m in " + repr(
        ["scipy", "torch", "jax", "matplotlib", "IPython"]
    )
    ran = subprocess.run(
        [sys.executable, "-c", code + "])"], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"


def test_functions_with_a_short_way_have_no_frame():
    """They check their operands themselves; a frame would be a tenth of their time."""
    framed = [
        name
        for name in ("sin", "exp", "relu", "add")
        if hasattr(getattr(torch, name), "__wrapped__")
    ]
    assert framed == []


@pytest.mark.slow
def test_the_import_writes_no_frames():
    """What explains arguments is written by the first call of each function, and kept."""
    code = (
        "import numeric as torch\n"
        "from numeric.ops.arguments import _frame\n"
        "x = torch.ones(3)\n"
        "before = _frame.cache_info().misses\n"
        "code = torch.mean.__code__\n"
        "torch.mean(x)\n"
        "written = torch.mean.__code__\n"
        "torch.mean(x)\n"
        "print(before, written is not code, torch.mean.__code__ is written)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["0", "True", "True"]
