"""Pickles: graphs of any depth, shared parts, symbols with their identity, other processes."""

import copy
import gc
import io
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest
import sympy as sp

import numeric
import symdiff as sd
from symdiff.graph import ops
from symdiff.graph.algebra import size
from symdiff.graph.leaves import dummy
from symdiff.interchange import pickling
from tests.support import oracles
from tests.support.cases import all_cases
from tests.test_batched import CASES
from tests.test_completeness import OPS, nodes_of_ops

x, y = sd.symbols("x y")

ALL = [one for cases in CASES.values() for one in cases]


def again(value):
    return pickle.loads(pickle.dumps(value))


@all_cases("one", ALL, ids=lambda one: one.name, least=261)
def test_every_op_comes_back_as_the_same_node(one):
    f = one.ours(oracles.inputs_of(one))
    if any(isinstance(node.op, ops.Constant) for node in sd.nodes(f)):
        g = again(f)  # arrays are equal only to themselves
        assert (str(g), g.shape, g.dtype) == (str(f), f.shape, f.dtype)
        assert sd.count_nodes(g) == sd.count_nodes(f)
    else:
        assert again(f) is f


softsign = sd.pointwise("softsign", lambda v: v / (1 + sp.Abs(v)))
PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)
SAME = [
    *(x, sd.symbol("k", ("n", 2), dtype=int), sd.pi, sd.constant(3), size("n")),
    *(softsign(x), sd.diff(softsign(x), x), sd.sin(x) * x + sd.pi / 3 - sd.e**y),
]


@pytest.mark.parametrize("dumps", [pickle.dumps, pickle._dumps])
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("f", SAME, ids=str)
def test_every_protocol(f, protocol, dumps):
    assert pickle.loads(dumps(f, protocol)) is f


def test_data_stay_data():
    data = again(sd.constant(np.arange(3.0)))
    assert data.op.value.tolist() == [0.0, 1.0, 2.0]
    assert not data.op.value.flags.writeable


def test_an_array_that_is_met_twice_stays_one():
    c = sd.constant(np.arange(3.0))
    v = sd.symbol("v", 3)
    f, g, h = again([c * v, sd.sin(c) * v, c])
    assert f is h * v
    assert g is sd.sin(h) * v


def test_dummies_stay_apart_and_consistent():
    s, t = dummy(x), dummy(x)
    f, g, a, b = again((sd.sin(s) * t, s + t, s, t))
    assert a is not b
    assert f is sd.sin(a) * b
    assert g is a + b
    assert a is not s


def test_copies_are_the_expression():
    f = sd.sin(x)
    assert copy.copy(f) is f
    assert copy.deepcopy({"f": [f]})["f"][0] is f


def deep(n):
    e = x
    for _ in range(n):
        e = sd.sin(e) * e + y
    return e


@pytest.mark.slow
def test_a_deep_graph_is_pickled_without_recursion():
    e = deep(33_400)
    assert sd.count_nodes(e) > 100_000
    assert again(e) is e


def test_expressions_in_one_pickle_share_their_nodes():
    e = deep(2_000)
    alone = len(pickle.dumps(e))
    several = [e, sd.sin(e), {"key": e + 1}, e * y, sd.grad(e, x)]
    back = again(several)
    assert back[0] is e
    assert back[2]["key"] is several[2]["key"]
    assert back[4] is several[4]
    assert len(pickle.dumps([sd.sin(e + k) for k in range(200)])) < 10 * alone


@pytest.mark.slow
def test_a_chain_of_many_expressions():
    es = [x]
    for _ in range(500):
        es.append(sd.sin(es[-1]) + y)
    assert all(a is b for a, b in zip(es, again(es), strict=True))
    reverse = es[::-1]
    assert all(a is b for a, b in zip(reverse, again(reverse), strict=True))


@pytest.mark.slow
def test_nothing_is_remembered_after_a_pickle():
    f = sd.sin(x) * y
    pickler = pickle.Pickler(io.BytesIO())
    pickler.dump(f)
    assert pickling._CURRENT.known() is not None
    small = pickle.dumps(sd.sin(x))  # of another pickler, meanwhile
    assert pickle.loads(small) is sd.sin(x)
    del pickler
    gc.collect()
    assert pickling._CURRENT.known() is None


@pytest.mark.slow
def test_a_failed_pickle_leaves_nothing_behind():
    f = sd.custom(lambda a: a)(x)
    with pytest.raises(pickle.PicklingError, match="custom function custom cannot be pickled"):
        pickle.dumps([sd.sin(x) * y, f])
    gc.collect()
    assert pickling._CURRENT.known() is None
    assert again(sd.sin(x)) is sd.sin(x)


OTHER = """
import pickle, sys
import symdiff as sd
y = sd.symbol("y")          # here y is older than x
x = sd.symbol("x")
f, F = pickle.load(sys.stdin.buffer)
assert f is sd.sin(x) * y + x * y
assert {s.name for s in sd.free_symbols([f])} == {"x", "y"}
assert F(2.0, 3.0) == F.outputs[0].evalf(subs={"x": 2, "y": 3})
sys.stdout.buffer.write(pickle.dumps((f, F)))
"""


@pytest.mark.slow
def test_another_process_with_other_orders_of_creation():
    a, b = sd.symbols("x y")
    f = sd.sin(a) * b + a * b
    F = numeric.lower(a * b + 1, (a, b))
    done = subprocess.run(
        [sys.executable, "-c", OTHER],
        input=pickle.dumps((f, F)),
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr.decode()
    g, G = pickle.loads(done.stdout)
    assert g is f
    assert G.outputs[0] is F.outputs[0]
    assert G.inputs[0] is a


def test_functions_are_lowered_again():
    A, v, a, b = (
        sd.symbol("A", ("m", 3)),
        sd.symbol("v", 3),
        np.arange(6.0).reshape(2, 3),
        np.ones(3),
    )
    F = numeric.lower([A @ v, sd.sum(v**2)], (A, v))
    G = again(F)
    assert [p.tolist() for p in G(a, b)] == [p.tolist() for p in F(a, b)]
    assert G.inputs == (A, v)
    for f, value in ((v * 2, [2.0, 2.0, 2.0]), (sd.constant(np.arange(3.0)) * v, [0.0, 1.0, 2.0])):
        assert again(numeric.lower(f, v))(b).tolist() == value


def test_residuals_are_refused():
    F = numeric.lower(x * x, x)
    _, kept = F.forward(2.0)
    with pytest.raises(TypeError, match="residuals cannot be pickled"):
        pickle.dumps(kept)


def formerly(value):
    """A pickle in which opaque ops have the module where they were once defined."""
    return re.sub(rb"symdiff\.opaque_ops\.\w+\n", b"symdiff.graph.ops\n", pickle.dumps(value, 0))


MOVED = [cls for cls in OPS if cls.__module__.startswith("symdiff.opaque_ops.")]


@pytest.mark.slow
@pytest.mark.parametrize("cls", MOVED, ids=lambda cls: cls.__name__)
def test_opaque_ops_are_found_under_the_name_of_their_former_module(cls):
    op = nodes_of_ops()[cls][0].op
    for value in (cls, op):
        old = formerly(value)
        assert f"symdiff.graph.ops\n{cls.__name__}\n".encode() in old
        assert pickle.loads(old) is value
    with pytest.raises(AttributeError, match="Riccati"):
        _ = ops.Riccati


@pytest.mark.parametrize("module", [sd, numeric, numeric.nn.functional], ids=lambda m: m.__name__)
def test_public_functions_are_pickled_by_name(module):
    """As multiprocessing and joblib send them."""
    failed = []
    for name in sorted(set(dir(module)) - {"annotations"}):
        value = getattr(module, name)
        if name.startswith("_") or not callable(value):
            continue
        try:
            if again(value) is not value:
                failed.append(name)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            failed.append(f"{name}: {error}")
    assert not failed
