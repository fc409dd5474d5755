"""Functions of slices of one short array are those of all of it, where nothing is lost by it."""

import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from numeric.lowering import costs, kinds
from numeric.lowering.loops import loop
from numeric.lowering.passes import parts
from numeric.lowering.schedule import schedule
from symdiff.transforms.scans import Scan

z, y = sd.symbol("z", 12), sd.symbol("y", 12)
M = sd.symbol("M", (3, 8))
JOINED = {
    "gates": (sd.sigmoid(z[:4]) * sd.tanh(z[4:8]) + sd.sigmoid(z[8:]), 2),
    "lines of a matrix": (sd.tanh(M[:, :3]) * sd.tanh(M[:, 5:]), 1),
    "every second": (sd.tanh(z[::2]) - sd.tanh(z[1::2]), 1),
    "backwards": (sd.tanh(z[::-1][:6]) * sd.tanh(z[6:]), 1),
    "overlapping": (sd.tanh(z[:8]) + sd.tanh(z[4:]), 1),
    "of a formula": (sd.tanh((z * y)[:6]) - sd.tanh((z * y)[6:]), 1),
    "two arrays": (sd.tanh(z[:6]) * sd.tanh(y[:6]) + sd.tanh(z[6:]) * sd.tanh(y[6:]), 2),
}
LEFT = {
    "one slice": (sd.tanh(z[:8]) * y[:8], 1),
    "a small part": (sd.tanh(z[:2]) * sd.tanh(z[2:4]), 2),
    "what may leave its domain": (sd.log(z[:6]) * sd.log(z[6:]), 2),
    "what may overflow": (sd.exp(z[:6]) * sd.exp(z[6:]), 2),
    "two functions": (sd.tanh(z[:6]) * sd.sigmoid(z[6:]), 2),
}


def functions(steps):
    return sum(isinstance(step.kind, kinds.Pointwise) for step in steps.steps)


@pytest.mark.parametrize("name", {**JOINED, **LEFT})
def test_functions_of_slices(name):
    f, count = {**JOINED, **LEFT}[name]
    before = schedule([f], [z, y, M])
    after = parts.merge_sliced_functions(before)
    assert functions(after) == count
    assert (after is before) == (name in LEFT)


def test_long_arrays_are_left_alone():
    w = sd.symbol("w", costs.CALL + 2)
    n = sd.symbol("n_", "n")
    for x in (w, n):
        before = schedule([sd.tanh(x[1:]) * sd.tanh(x[:-1])], [x])
        assert parts.merge_sliced_functions(before) is before


@pytest.mark.parametrize("name", JOINED)
def test_loops_compute_the_same(name):
    """The steps of a scan, whose carry is long enough to be an array."""
    f, _ = JOINED[name]
    rows, start = sd.symbol("rows", (5, 12)), sd.symbol("start", 70)

    def body(c, row):
        at = {z: c[:12] + row, y: c[12:24], M: sd.reshape(c[24:48], (3, 8))}
        return sd.tanh(c) / 2 + sd.sum(sd.substitute(f, at)) / 9, None

    last = sd.scan(body, start, rows)[0]
    (node,) = [x for x in sd.nodes(last) if isinstance(x.op, Scan)]
    assert loop(node.op).floats is None
    at = [np.linspace(-2, 2, 60).reshape(5, 12), np.linspace(-1, 1, 70)]
    wanted = at[1]
    for row in at[0]:
        known = {z: wanted[:12] + row, y: wanted[12:24], M: wanted[24:48].reshape(3, 8)}
        used = {x: v for x, v in known.items() if x in sd.free_symbols(f)}
        wanted = np.tanh(wanted) / 2 + nm.interpret(f, used).sum() / 9
    rounding = np.finfo(float).eps  # of addends near 1
    np.testing.assert_allclose(
        nm.lower(last, [rows, start])(*at), wanted, rtol=1e-13, atol=rounding
    )


@pytest.mark.numpy_only("how often it calls")
def test_gates_of_a_loop_are_one_call():
    w, x = sd.symbol("w", (128, 32)), sd.symbol("x", ("n", 128))

    def f(carry, x):
        h, c = carry
        v = w @ h + x
        c = sd.sigmoid(v[:32]) * c + sd.sigmoid(v[32:64]) * sd.tanh(v[64:96])
        return (sd.sigmoid(v[96:]) * sd.tanh(c), c), None

    (h, _), _ = sd.scan(f, (sd.zeros(32), sd.zeros(32)), x)
    (node,) = [y for y in sd.nodes(h) if isinstance(y.op, Scan)]
    run, calls = loop(node.op), []
    sigmoid = run.emitter.namespace.get("sigmoid")
    assert sigmoid is None  # nothing has been written
    F = nm.lower(h, [w, x])
    F(np.zeros((128, 32)), np.zeros((3, 128)))
    sigmoid = run.emitter.namespace["sigmoid"]
    run.emitter.namespace["sigmoid"] = lambda v: calls.append(v.shape) or sigmoid(v)
    F(np.zeros((128, 32)), np.zeros((3, 128)))
    assert calls == [(128,)] * 3
