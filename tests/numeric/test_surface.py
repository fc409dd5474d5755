"""What all methods of a Function have in common: the structure, shapes, dtypes and memory of their
results, what they refuse, and that programs are made once, whoever asks first.

What is expected is worked out from the shapes of inputs and outputs alone."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from symdiff.graph import ops

X, V = sd.symbol("X", ("n", 2)), sd.symbol("v", 2)
A, B = sd.symbols("a b")
K, C = sd.symbol("k", dtype=int), sd.symbol("c", dtype=bool)
DATA = sd.constant(np.array([1.0, 2.0]))
RNG = np.random.default_rng(5)
XS, VS = RNG.normal(size=(3, 2)), RNG.normal(size=2)
P, Q = RNG.normal(size=(4, 1)), RNG.normal(size=3)

single = np.float32
# name: outputs, inputs, arguments, dtype of real results (float: Python's), shape of the points
CASES = {
    "arrays": (sd.sum(sd.tanh(X @ V)), (X, V), (XS, VS), np.float64, ()),
    "one input": (sd.sum(V**3), V, (VS,), np.float64, ()),
    "single": (sd.sum(sd.tanh(X @ V)), (X, V), (XS.astype(single), VS.astype(single)), single, ()),
    "single beside numbers": (
        [sd.tanh(V) / 3 + sd.pi * sd.sqrt(sd.constant(2)), sd.sum(sd.where(V > 0, V, 1) * A), V[0]],
        (V, A),
        (VS.astype(single), 0.1),
        single,
        (),
    ),
    "views": ([V, V, V[1:], DATA, sd.detach(V), V[::-1]], (V,), (VS,), np.float64, ()),
    "integers": (sd.sum(X @ V), (X, V), (XS.round().astype(int), VS), np.float64, ()),
    "no reals": (sd.where(C, K / 2, 3), (K, C), (2, True), float, ()),
    "several of no reals": ([K / 2, sd.where(C, K / 3, 3)], (K, C), (2, True), float, ()),
    "mixed": (sd.sum(sd.where(C, V, K * A)), (V, K, C, A), (VS, 2, True, 0.5), np.float64, ()),
    "data": (sd.sum(V * DATA), (V,), (VS,), np.float64, ()),
    "several": ([X @ V, A * DATA, V], (X, V, A), (XS, VS, 2.0), np.float64, ()),
    "list of one": ([A * B], (A, B), (0.5, 2.0), float, ()),
    "floats": (sd.sin(A) * B, (A, B), (0.5, 2.0), float, ()),
    "a float": (sd.sin(A), A, (0.5,), float, ()),
    "float beside int": (sd.sin(A) * K, (A, K), (0.5, 2), float, ()),
    "NumPy's scalars": (sd.sin(A) * B, (A, B), (single(0.5), single(2)), single, ()),
    "points": (sd.sin(A) * B, (A, B), (P, Q), np.float64, (4, 3)),
    "points of a list": ([A + B, B], (A, B), (P.astype(single), Q.astype(single)), single, (4, 3)),
    "points of arrays": (sd.stack([A, B * A]), (A, B), (P, Q), np.float64, (4, 3)),
    "floats of arrays": (sd.stack([A, B * A]), (A, B), (0.5, 2.0), float, ()),
    "no points": (sd.stack([A, A * A]), A, (np.ones((0, 2)),), np.float64, (0, 2)),
    "a constant": (sd.constant(3) + 0 * A, (A,), (0.5,), float, ()),
    "only data": (DATA, (), (), np.float64, ()),
}


class Case:
    """A Function and arguments, with the shapes that its results must have, as texts."""

    def __init__(self, name):
        outputs, inputs, self.args, self.kind, self.points = CASES[name]
        self.F = nm.lower(outputs, inputs)
        self.many = isinstance(outputs, list)
        self.ys = [self.lengths(y) for y in self.F.outputs]
        self.xs = [self.lengths(x) if x.dtype is float else None for x in self.F.inputs]
        self.cotangents = [np.ones(self.points + y) for y in self.ys]
        tangents = zip(self.xs, self.args, strict=True)
        self.tangents = [None if x is None else np.ones(np.shape(v)) for x, v in tangents]
        # Cotangents have the shapes of the arguments: they are summed over points that these share.
        self.pulled = tuple(None if t is None else str(t.shape) for t in self.tangents)

    def lengths(self, x):
        return tuple(3 if n == "n" else n for n in x.shape)

    def by_output(self, row):
        rows = tuple(row(y) for y in self.ys)
        return rows if self.many else rows[0]

    def by_input(self, entry, bare=True):
        row = tuple(None if x is None else entry(x) for x in self.xs)
        return row[0] if bare and len(row) == 1 else row

    def derivatives(self, *lead):
        def text(*axes):
            return str(sum((*lead, *axes), ()))

        row = self.by_input(text)
        rows = self.by_input(lambda x: self.by_input(lambda z: text(x, z)))
        return text(), row, rows

    def results(self):
        """Each method's results, and what their structure must be."""
        F, args, points = self.F, self.args, self.points
        value = self.by_output(lambda y: str(points + y))
        yield "call", F(*args), value
        found, kept = F.forward(*args)
        yield "forward", found, value
        yield "backward", F.backward(kept, *self.cotangents), self.pulled
        found, pullback = F.vjp(*args)
        yield "vjp", (found, pullback(*self.cotangents)), (value, self.pulled)
        yield "jvp", F.jvp(args, self.tangents), (value, value)
        scalar = self.ys == [()]
        if scalar:
            gradient = self.by_input(lambda x: str(points + x), bare=False)
            value = value if self.many else str(points)
            yield "value_and_grad", F.value_and_grad(*args), (value, gradient)
            yield "hvp", F.hvp(args, self.tangents), gradient
        if self.xs in ([], [None]):
            return  # there is nothing to differentiate by
        row = self.by_output(lambda y: self.derivatives(points, y)[1])
        yield "reverse", F.jacobian(*args), row
        yield "forward", F.jacobian(*args, mode="forward"), row
        rows = self.by_output(lambda y: self.derivatives(points, y)[2])
        yield "hessian", F.hessian(*args), rows
        if scalar:
            yield "grad", F.grad(*args), self.derivatives(points)[1]
        for i, (x, lengths) in enumerate(zip(F.inputs, self.xs, strict=True)):
            if lengths is None:
                continue
            one = self.by_output(lambda y, x=lengths: str(points + y + x))
            two = self.by_output(lambda y, x=lengths: (str(points + y + x),) * 2)
            yield "wrt", F.jacobian(*args, wrt=x), one
            yield "wrt twice", F.jacobian(*args, wrt=[x, x.name]), two
            yield "part of backward", F.backward(kept, *self.cotangents, wrt=x), self.pulled[i]


def leaves(result):
    """The arrays and numbers of a result."""
    for part in result if isinstance(result, tuple) else ():
        yield from leaves(part)
    if not isinstance(result, tuple) and result is not None:
        yield result


def structure(result):
    """The shapes of results, in their places."""
    if isinstance(result, tuple):
        return tuple(map(structure, result))
    return None if result is None else str(np.shape(result))


@pytest.mark.parametrize("name", CASES)
def test_structures_shapes_dtypes_and_memory(name):
    case = Case(name)
    data = [*case.args, *(x.op.value for x in case.F.outputs if isinstance(x.op, ops.Constant))]
    data += case.cotangents
    before = [np.copy(v) for v in data]
    # What calls learn from the first one holds for those that follow.
    for method, result, shape in itertools.chain(*(case.results() for _ in range(3))):
        assert structure(result) == shape, method
        found = list(leaves(result))
        for value in found:
            if case.kind is float and not np.shape(value):
                assert type(value) is float, method
            else:
                assert value.dtype == case.kind, method
        arrays = [v for v in found if isinstance(v, np.ndarray)]
        assert all(v.flags.writeable for v in arrays), method
        for a, b in itertools.combinations([*arrays, *data], 2):
            both = any(a is d for d in data) and any(b is d for d in data)
            assert both or not np.shares_memory(a, b), method
        for a in arrays:
            a[...] = np.nan  # nobody else has it: later results are what they would have been
    for value, was in zip(data, before, strict=True):
        np.testing.assert_array_equal(value, was)


def refusals(F):
    """Calls of every method that takes arguments as a call does."""
    scalar = ("value_and_grad", "grad") if not F.outputs[0].shape else ()
    names = ("__call__", "forward", "vjp", "jacobian", "hessian", *scalar)
    return [getattr(F, name) for name in names]


@pytest.mark.parametrize(
    ("args", "named", "error", "message"),
    [
        ((XS,), {}, TypeError, r"no argument for v; the inputs are X, v"),
        ((XS[:, :1], VS), {}, sd.ShapeError, r"X: expected shape \(n, 2\), got \(3, 1\)"),
        ((XS[0], VS), {}, sd.ShapeError, r"X: expected shape \(n, 2\), got \(2,\)"),
        ((XS, VS.astype(object)), {}, TypeError, "got dtype object"),
        ((XS, "no"), {}, TypeError, "v: expected dtype float"),
        ((XS, [[1.0], [2.0, 3.0]]), {}, sd.ShapeError, "ragged"),
        ((XS, np.ma.masked_array(VS)), {}, TypeError, "masked array"),
        ((XS, VS, VS), {}, TypeError, r"2 arguments expected \(X, v\), got 3"),
        ((XS,), {"v": VS, "w": VS}, TypeError, "no input is named 'w'; the inputs are X, v"),
        ((XS, VS), {"v": VS}, TypeError, "input v is given twice, by place and by name"),
        ((XS, VS * 1j), {}, TypeError, "v: expected dtype float, got dtype complex128; pass real"),
        ((XS, XS), {}, sd.ShapeError, r"v: expected shape \(2,\), got \(3, 2\)"),
    ],
)
def test_every_method_refuses_the_same_arguments(args, named, error, message):
    for F in (nm.lower(sd.sum(X @ V), (X, V)), nm.lower([X @ V, X], (X, V))):
        for method in refusals(F):
            with pytest.raises(error, match=message):
                method(*args, **named)
        if not named:
            with pytest.raises((TypeError, sd.ShapeError)):
                F.jvp(args, args)


ASKS = {
    "forward": lambda F: F.forward(XS, VS)[0],
    "backward": lambda F: F.backward(F.forward(XS, VS)[1], 1.0),
    "part": lambda F: F.backward(F.forward(XS, VS)[1], 1.0, wrt="v"),
    "value_and_grad": lambda F: F.value_and_grad(XS, VS),
    "gradient": lambda F: F.grad(XS, VS),
    "rows": lambda F: F.jacobian(XS, VS, mode="auto"),
    "columns": lambda F: F.jacobian(XS, VS, mode="forward"),
    "hessian": lambda F: F.hessian(XS, VS),
    "hvp": lambda F: F.hvp((XS, VS), (XS, VS)),
    "jvp": lambda F: F.jvp((XS, VS), (XS, VS)),
}


@pytest.mark.parametrize("strict", [False, True])
def test_programs_are_made_once_whoever_asks_first(strict):
    with sd.kinks("raise" if strict else "subgradient"):
        F = nm.lower(sd.sum(sd.tanh(X @ V)), (X, V))
    expected = {name: ask(F) for name, ask in ASKS.items()}
    programs = [line for line in F.source.splitlines() if line.startswith("def ")]
    # A value, a forward and two backward passes, and one for each derivative: the gradient is that
    # of the Jacobian by rows.
    assert len(programs) == 1 + 3 + 6
    with sd.kinks("raise" if strict else "subgradient"):
        G = nm.lower(sd.sum(sd.tanh(X @ V)), (X, V))
    start, found = threading.Barrier(2 * len(ASKS)), []

    def work(name, ask):
        start.wait()
        found.append((name, ask(G)))

    threads = [threading.Thread(target=work, args=item) for item in list(ASKS.items()) * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2 * len(ASKS)
    for name, result in found:
        for a, b in zip(leaves(result), leaves(expected[name]), strict=True):
            np.testing.assert_array_equal(a, b)
    again = [line for line in G.source.splitlines() if line.startswith("def ")]
    assert sorted(again) == sorted(programs)


def test_what_is_refused_leaves_a_function_as_it_was():
    F = nm.lower(sd.sum(sd.abs(X @ V)), (X, V))
    source = F.source
    for wrong in (
        lambda: F.grad(XS, VS, wrt="w"),
        lambda: F.jacobian(XS, VS, mode="sideways"),
        lambda: F.hvp((XS,), (XS,)),
        lambda: F.backward(XS, 1.0),
    ):
        with pytest.raises((TypeError, ValueError)):
            wrong()
    assert F.source == source
