"""Random programs: recorded traces of PyTorch, PyTorch itself where installed, planted faults.

``make fuzz`` draws new programs; each is run in both libraries if there is a PyTorch.
"""

import importlib.util

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numeric
from numeric.eager import engine, inplace
from numeric.eager.record import Node
from tests.eager import random_programs, record
from tests.support.budget import FUZZ

INSTALLED = importlib.util.find_spec("torch") is not None
# Six tests of each 2000 programs.
PARTS = range(6)


@pytest.fixture(scope="module")
def traces():
    return record.load_programs()


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_recorded(traces, part):
    """What PyTorch did, step by step."""
    for seed, (checksum, trace) in list(traces.items())[part::8]:
        program = random_programs.program(seed)
        assert record.program_checksum(program) == checksum, "run python -m tests.eager.record"
        found = random_programs.digested(random_programs.run(program, numeric))
        wrong = random_programs.difference(program, found, trace)
        assert wrong is None, random_programs.told(seed, program, wrong)


def test_traces_are_repeatable(traces):
    """A program does the same twice, and its difference from itself is none, digested or not."""
    for seed in list(traces)[:20]:
        program = random_programs.program(seed)
        a, b = (random_programs.run(program, numeric) for _ in range(2))
        assert random_programs.difference(program, a, b) is None
        assert random_programs.difference(program, a, random_programs.digested(b)) is None


@pytest.mark.skipif(not FUZZ, reason="make fuzz and make crosscheck run fresh programs")
@pytest.mark.parametrize("part", PARTS)
@given(seed=st.integers(0, 2**48))
def test_fresh(part, seed):
    """New programs in both libraries."""
    if not INSTALLED:
        pytest.skip(
            "PyTorch is not installed (extra crosscheck): only recorded traces are replayed"
        )
    torch = record.installed_torch()
    program = random_programs.program(f"{part} {seed}")
    wrong = random_programs.differs(program, numeric, torch)
    if wrong:
        small = random_programs.shrunk(
            program, lambda p: random_programs.differs(p, numeric, torch) is not None
        )
        pytest.fail(random_programs.told(seed, small, wrong))


# --- planted faults ------------------------------------------------------------------------------


def noticed(traces):
    """How many of the recorded programs show a difference."""
    count = 0
    for seed, (_, trace) in traces.items():
        program = random_programs.program(seed)
        found = random_programs.digested(random_programs.run(program, numeric))
        count += random_programs.difference(program, found, trace) is not None
    return count


def slow_loop(self):
    """The engine's loop without its short cuts."""
    while self.heap:
        node = engine.heappop(self.heap)[1]
        self.step(node, self.arrived.pop(node, None))


def test_the_slow_loop_is_right(traces, monkeypatch):
    """The stand-in of the loop, which faults are planted beside, is no fault itself."""
    monkeypatch.setattr(engine._Task, "loop", slow_loop)
    assert noticed(traces) == 0


def slightly_wrong(right):
    def spread(self, node, gs, marks):
        if node.name() == "StackBackward0":
            gs = [None if g is None else g * 1.001 for g in gs]
        right(self, node, gs, marks)

    return spread


def unchecked(right):
    def values(self):
        self.check = ()
        return right(self)

    return values


def replacing(right):
    def store(self, x, g, **options):
        x._grad = None
        right(self, x, g, **options)

    return store


def without_momentum(right):
    def step(self, *args):
        for group in self.param_groups:
            group["momentum"] = 0.0
        return right(self, *args)

    return step


# What is replaced, by what is made of it, and more than how many programs have to notice.
FAULTS = {
    "products of which one derivative is wrong by 0.1 %": (
        engine._Task, "spread", slightly_wrong, 3),
    "in-place operations that do not count": (
        inplace, "counter", lambda right: lambda x: [0], 20),
    "saved tensors that nobody checks": (Node, "values", unchecked, 3),
    "writes through views that the base's history does not know": (
        inplace, "rebase", lambda right: lambda x, out: x._base or right(x, out), 10),
    "gradients that replace what was there": (engine._Task, "store", replacing, 20),
    "hooks of tensors that do not run": (
        engine._Task, "hooked", lambda right: lambda self, node, gs: list(gs), 10),
    "a momentum that is forgotten": (numeric.optim.SGD, "step", without_momentum, 0),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_noticed(fault, traces, monkeypatch):
    owner, name, plant, most = FAULTS[fault]
    monkeypatch.setattr(engine._Task, "loop", slow_loop)
    monkeypatch.setattr(owner, name, plant(getattr(owner, name)))
    assert noticed(traces) > most


# --- what random programs found ------------------------------------------------------------------


def test_views_of_a_gradient_that_is_added_to_are_overtaken():
    """Of several views; the sum is written into the gradient in place."""
    x = numeric.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward(create_graph=True)
    first, _ = x.grad.unbind(0)
    (3.0 * x).sum().backward()
    assert first.item() == 5.0
    with pytest.raises(RuntimeError, match="returns multiple views"):
        _ = first.grad_fn


def test_a_root_without_a_history_is_found_before_inputs_are_retained():
    """Inputs are as they were when ``backward`` fails."""
    x = numeric.tensor([1.0, 2.0], requires_grad=True)
    y, z = x * 2.0, x * x
    first, _ = y.unbind(0)
    with numeric.no_grad():
        y.add_(1.0)
    with pytest.raises(RuntimeError, match="returns multiple views"):
        first.backward(inputs=[z])
    assert not z.retains_grad


def test_one_value_fills_what_a_mask_selects_whatever_its_dtype():
    """Only of one mask, and without accumulation."""
    x = numeric.zeros(2, 2)
    mask = numeric.tensor([True, False])
    v = numeric.tensor(3.0, dtype=numeric.float64, requires_grad=True)
    x[mask] = v
    x.sum().backward()
    assert x.tolist() == [[3.0, 3.0], [0.0, 0.0]]
    assert v.grad.item() == 2.0
    assert v.grad.dtype is numeric.float64
    for places, accumulate in ((mask, True), (numeric.tensor([0]), False)):
        with pytest.raises(RuntimeError, match="source and destination dtypes match"):
            numeric.zeros(2, 2).index_put((places,), v, accumulate)


def test_recorded_jacobians_require_gradients():
    """Also where the input requires none."""
    x = numeric.tensor([1.0, 2.0])
    jacobian = numeric.autograd.functional.jacobian
    assert jacobian(lambda x: x * x, x, create_graph=True).requires_grad
    assert not jacobian(lambda x: x * x, x).requires_grad
    assert not x.requires_grad


@pytest.mark.parametrize("name", ["det", "slogdet", "qr"])
def test_decompositions_notice_that_their_result_was_changed(name):
    """PyTorch saves the determinant, the sign and R."""
    x = numeric.tensor([[2.0, 1.0], [0.5, 3.0]], requires_grad=True)
    found = getattr(numeric.linalg, name)(x)
    parts = found if isinstance(found, tuple) else (found,)
    total = parts[-1].sum() + parts[0].sum()
    with numeric.no_grad():
        parts[name == "qr"].mul_(2.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        total.backward()


def test_nothing_comes_back_by_the_sign_of_a_determinant():
    """None, after a look at what was saved on the way."""
    x = numeric.tensor([[2.0, 1.0], [0.5, 3.0]], requires_grad=True)
    y = x * x
    sign, _ = numeric.linalg.slogdet(y)
    assert sign.requires_grad
    assert numeric.autograd.grad(sign, x, retain_graph=True, allow_unused=True) == (None,)
    with numeric.no_grad():
        x.mul_(2.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        sign.backward()


# --- what is excused -----------------------------------------------------------------------------


SQUARE_ROOT = {
    "watch": False,
    "steps": [
        {"call": "leaf", "args": [[0.0, 4.0]], "kw": {"requires_grad": True}, "out": ["x"]},
        {"call": "[]", "args": ["$x", {"index": [1]}], "out": ["y"]},
        {"call": "backward", "args": ["$y"]},
    ],
}


def seen(values, n=2):
    return [(n, "x.grad", "values", np.array(values)), (n, "x", "values", np.array([1.0]))]


@pytest.mark.parametrize("form", [list, random_programs.digested])
def test_zeros_below_a_mask_are_excused(form):
    """Where PyTorch is nan and we are finite, after a selection and a derivative."""
    found, expected = form(seen([0.0, 0.25])), form(seen([np.nan, 0.25]))
    assert random_programs.difference(SQUARE_ROOT, found, expected) is None
    assert random_programs.difference(SQUARE_ROOT, expected, found)
    unselected = {**SQUARE_ROOT, "steps": SQUARE_ROOT["steps"][::2]}
    assert random_programs.difference(unselected, found, expected)
    early = form(seen([0.0, 0.25], 1)), form(seen([np.nan, 0.25], 1))
    assert random_programs.difference(SQUARE_ROOT, *early)


def test_what_else_differs_is_not_excused():
    """Neither other numbers beside the nan, nor what comes later."""
    found, expected = seen([0.0, 0.25]), seen([np.nan, 0.5])
    assert random_programs.difference(SQUARE_ROOT, found, expected)
    found, expected = seen([0.0, np.inf]), seen([np.nan, 0.5])
    assert random_programs.difference(SQUARE_ROOT, found, expected)
    found, expected = seen([0.0, 0.25]), seen([np.nan, 0.25])
    found[1] = (2, "x", "values", np.array([2.0]))
    assert random_programs.difference(SQUARE_ROOT, found, expected)


# --- the tools -----------------------------------------------------------------------------------


def test_a_program_is_a_readable_script():
    """One line per step, registers by name."""
    steps = [
        {"call": "leaf", "args": [[1.0, 2.0]], "kw": {"requires_grad": True}, "out": ["x"]},
        {"call": "operator.mul", "args": ["$x", "$x"], "out": ["y"], "mode": "no_grad"},
        {"call": "[]=", "args": ["$y", {"index": [[None, -1], 0]}, 3.0]},
        {"call": "torch.autograd.grad", "args": ["$y", ["$x"]], "out": ["g"]},
    ]
    assert random_programs.script({"watch": False, "steps": steps}).splitlines() == [
        "x = torch.tensor([1.0, 2.0], requires_grad=True)  # 0",
        "with torch.no_grad(): y = operator.mul(x, x)  # 1",
        "y[:-1, 0] = 3.0  # 2",
        "g, = torch.autograd.grad(y, [x])  # 3",
    ]


def test_shrinking_leaves_what_is_needed():
    """Steps that have nothing to do with a failure go."""
    program = random_programs.program(3, length=30)
    wanted = [program["steps"][1], program["steps"][-2]]
    small = random_programs.shrunk(program, lambda p: all(s in p["steps"] for s in wanted))
    assert small["steps"] == wanted
