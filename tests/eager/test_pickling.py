"""Tensors in pickles, with what was recorded of them."""

from __future__ import annotations

import ast
import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import numeric as torch
import symdiff as sd
from numeric.eager import operations
from tests.eager.test_rules_recording import NAMES
from tests.support.cases import all_cases

X, Y = sd.symbols("x y")
F = torch.lower(sd.sin(X) * Y, (X, Y))


def leaf(value, **words):
    return torch.tensor(value, requires_grad=True, **words)


def again(value):
    return pickle.loads(pickle.dumps(value))


def program():
    """A graph with a view, writing in place, a Function, several results and a gradient."""
    w, x = leaf([[1.0, 2.0], [0.5, 0.25]], name="w"), torch.tensor([0.1, 0.2], name="x")
    h = F(torch.tanh(w * x + 1.5), torch.tensor(2.0))
    h[0] = w[1] * 3
    h.view(4)[3:].mul_(w.sum())
    a, b = h.unbind(1)
    values, places = h.max(dim=1)
    y = (a * b).sum() + torch.softmax(values, 0)[0] + (h @ w).mean()
    (g,) = torch.autograd.grad(y, w, create_graph=True)
    return w, h, y, (g * g).sum(), places


def derivatives(w, y, z):
    out = []
    for root in (y, z):
        w.grad = None
        root.backward(retain_graph=True)
        out.append(w.grad.numpy().copy())
    return out


def test_backward_works_after_unpickling_to_the_second_order():
    w, h, y, z, places = program()
    w2, h2, y2, z2, places2 = again((w, h, y, z, places))
    assert (w2.is_leaf, h2.is_leaf, w2.requires_grad) == (True, False, True)
    assert (repr(y2), places2.tolist()) == (repr(y), places.tolist())
    assert [type(n).__name__ for n, _ in y2.grad_fn.next_functions] == [
        type(n).__name__ for n, _ in y.grad_fn.next_functions
    ]
    for p, q in zip(derivatives(w, y, z), derivatives(w2, y2, z2), strict=True):
        assert np.allclose(p, q, rtol=1e-6)
    assert str(y2.expr) == str(y.expr) or y2.expr is not None


def elsewhere(path, value, code):
    """What code prints in another process, line by line, where ``value`` was unpickled."""
    path.write_bytes(pickle.dumps(value))
    code = f"import pickle, sys, numeric\nvalue = pickle.load(open(sys.argv[1], 'rb'))\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return [np.array(ast.literal_eval(line)) for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_also_in_another_process(tmp_path):
    w, _, y, z, _ = program()
    code = (
        "w, *roots = value\n"
        "for root in roots:\n"
        "    w.grad = None; root.backward(retain_graph=True); print(w.grad.tolist())\n"
    )
    found = elsewhere(tmp_path / "graph.pickle", (w, y, z), code)
    for p, q in zip(derivatives(w, y, z), found, strict=True):
        assert np.allclose(p, q, rtol=1e-5)


def test_versions_are_consistent():
    w = leaf([1.0, 2.0])
    h = w * 2
    h.add_(1)
    y = (h * h).sum()
    h2, y2, w2 = again((h, y, w))
    assert h2._version == h._version == 1
    y2.backward(retain_graph=True)
    assert w2.grad.tolist() == [12.0, 20.0]
    h2.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y2.backward()
    y.backward()  # the original has versions of its own
    with pytest.raises(RuntimeError, match="second time"):
        again(y).backward()


def test_memory_is_shared_within_a_pickle():
    base = torch.zeros(2, 3)
    view = base[1]
    base2, view2 = again((base, view))
    view2.add_(1)
    assert base2.tolist() == [[0.0] * 3, [1.0] * 3]
    assert base2._version == 1
    h = leaf([1.0, 2.0, 3.0]) * 1
    h2, part2 = again((h, h[1:]))
    part2.mul_(2)
    assert type(h2.grad_fn).__name__ == "CopySlices"


def test_leaves_keep_their_flags_and_lose_their_gradients():
    w = leaf([1.0, 2.0], name="w")
    (w * w).sum().backward()
    w2 = again(w)
    assert (w2.requires_grad, w2.is_leaf, w2.grad, w2.expr.name) == (True, True, None, "w")
    assert again(torch.tensor([1, 2], dtype=torch.int32)).dtype == torch.int32


@pytest.mark.slow
def test_long_graphs_need_no_recursion():
    w = leaf(0.5)
    y = w
    for _ in range(100_000):
        y = torch.sin(y) if _ % 2 else y * 0.999
    w2, y2 = again((w, y))
    y2.backward()
    y.backward()
    assert w2.grad.item() == w.grad.item()


def test_hooks_are_refused_and_so_is_deepcopy_of_results():
    w = leaf([1.0, 2.0])
    y = (w * w).sum()
    with pytest.raises(RuntimeError, match="leaves"):
        copy.deepcopy(y)
    handle = w.register_hook(lambda g: g)
    with pytest.raises(pickle.PicklingError, match="hooks"):
        pickle.dumps(y)
    handle.remove()
    again(y)


def test_retained_gradients_stay_retained():
    w = leaf([1.0, 2.0])
    h = w * 2
    h.retain_grad()
    h2, y2 = again((h, (h * h).sum()))
    y2.backward()
    assert (h2.retains_grad, h2.grad.tolist()) == (True, [4.0, 8.0])


@all_cases("name", NAMES, least=108)
def test_every_operation_and_its_derivative_can_be_pickled(name):
    found = []
    for change in (again, tuple):
        x = leaf([[1.0, 2.0], [3.0, 4.0]])
        y = NAMES[name](x)
        (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
        x, y, g = change((x, y, g))
        (y.sum() + g.sum()).backward()
        found.append(x.grad.numpy())
    assert np.allclose(*found, equal_nan=True)


@pytest.mark.slow
def test_names_of_operations_hold_in_other_processes(tmp_path):
    """What declares ops is imported where a pickle names one; nothing else declares any."""
    w = leaf([0.5, -1.0])
    y = torch.nn.functional.gelu(w, approximate="tanh").sum()
    code = (
        "import importlib\n"
        "w, y = value\n"
        "y.backward(); print(w.grad.tolist())\n"
        "from numeric.eager.operations import DECLARED\n"
        "from numeric.ops.pickling import LATER\n"
        "for name in LATER: importlib.import_module(name)\n"
        "known = set(DECLARED)\n"
        "for name in numeric._MODULES: importlib.import_module(f'numeric.{name}')\n"
        "assert set(DECLARED) == known, set(DECLARED) - known\n"
    )
    (found,) = elsewhere(tmp_path / "graph.pickle", (w, y), code)
    y.backward()
    assert np.allclose(w.grad.tolist(), found, rtol=1e-6)


def test_two_ops_of_one_name_are_refused():
    with pytest.raises(ValueError, match="mul:MulBackward0 is declared already"):
        operations.Op("mul", lambda a, b: a * b)
    assert operations.DECLARED["mul:MulBackward0"].kernel is np.multiply
    assert not any("numeric" in key or "." in key for key in operations.DECLARED)
