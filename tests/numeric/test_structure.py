"""Structure as it is written, against NumPy's own statements: equal to the last bit, dtypes too.

Operands are of any length, also 0 and 1, strided, reversed or read-only.  Wrong axes and transposes
that are left out are planted, and have to be noticed.
"""

import itertools

import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from numeric.lowering import contracted, structure

PLACES = np.array([1, 0, 1, 0])
SHAPES = [(2, 3, 5), (3, 2, 2), (2, 1, 4), (2, 4, 0), (5, 0, 3)]

# What is asked for, and NumPy's statement of it, of an array of three axes.
LINEAR = {
    "slices": (lambda x: x[:, 1:], lambda a: a[:, 1:]),
    "slices of the last axis": (lambda x: x[..., ::2], lambda a: a[..., ::2]),
    "slices downwards": (lambda x: x[1:0:-1], lambda a: a[1:0:-1]),
    "slices down to the first": (lambda x: x[1::-1], lambda a: a[1::-1]),
    "an element of an axis": (lambda x: x[1], lambda a: a[1]),
    "the last of an axis": (lambda x: x[-1, ..., 1:], lambda a: a[-1, ..., 1:]),
    "a slice and a new axis": (lambda x: x[0, :, None], lambda a: a[0, :, None]),
    "flip": (lambda x: sd.flip(x, axis=(0, 2)), lambda a: np.flip(a, (0, 2))),
    "reshape": (lambda x: sd.reshape(x, (-1,)), lambda a: a.reshape(-1)),
    "reshape of a part": (
        lambda x: sd.reshape(x, (x.shape[0], x.shape[1] * x.shape[2])),
        lambda a: a.reshape(a.shape[0], a.shape[1] * a.shape[2]),
    ),
    "concatenation": (lambda x: sd.concat([x, x], axis=1), lambda a: np.concatenate([a, a], 1)),
    "concatenation in front": (lambda x: sd.concat([x, x]), lambda a: np.concatenate([a, a])),
    "running sums": (lambda x: sd.cumsum(x, axis=1), lambda a: np.cumsum(a, 1)),
    "triangle": (lambda x: sd.tril(x, k=1), lambda a: np.tril(a, 1)),
    "other triangle": (lambda x: sd.triu(x), lambda a: np.triu(a)),
    "gather": (lambda x: x[PLACES], lambda a: a[PLACES]),
    "gather from two axes": (lambda x: x[PLACES, :, :1][:, :1], lambda a: a[PLACES][:, :1, :1]),
}
# The same with lengths that have names, too.
NAMED = {
    "transpose": (lambda x: sd.transpose(x, (2, 0, 1)), lambda a: a.transpose(2, 0, 1)),
    "swapped axes": (lambda x: sd.swapaxes(x, -1, -2), lambda a: a.swapaxes(1, 2)),
    "new axis": (lambda x: sd.expand_dims(x, 2), lambda a: a[:, :, None]),
    "sum": (lambda x: sd.sum(x), lambda a: np.add.reduce(a, axis=None)),
    "sum over one axis": (lambda x: sd.sum(x, axis=1), lambda a: np.add.reduce(a, axis=1)),
    "sum over two axes": (
        lambda x: sd.sum(x, axis=(0, 2)),
        lambda a: np.add.reduce(a, axis=(0, 2)),
    ),
    "stretched": (
        lambda x: sd.sum(x, axis=1, keepdims=True) - x,
        lambda a: np.add.reduce(a, axis=1, keepdims=True) - a,
    ),
    "batched product": (
        lambda x: x @ sd.swapaxes(x, -1, -2),
        lambda a: a @ a.swapaxes(1, 2),
    ),
    "inner products": (lambda x: sd.sum(x * x, axis=2), lambda a: np.einsum("ijk,ijk->ij", a, a)),
    "norm": (lambda x: sd.sum(x * x), lambda a: np.dot(a.ravel(), a.ravel())),
    "Gram matrix of slices": (
        lambda x: sd.tensordot(x, x, ((1, 2), (1, 2))),
        lambda a: np.matmul(
            a.reshape(a.shape[0], a.shape[1] * a.shape[2]),
            a.transpose(1, 2, 0).reshape(a.shape[1] * a.shape[2], a.shape[0]),
        ),
    ),
}


def layouts(a):
    """The array as it is, strided, in the other order, reversed, and read-only."""
    yield a
    yield np.repeat(a, 2, axis=0)[::2]
    yield np.asfortranarray(a)
    yield np.flip(a).copy()[::-1, ::-1, ::-1]
    fixed = a.view()
    fixed.flags.writeable = False
    yield fixed


def check(write, statement, shapes, named):
    """Programs and the interpreter against NumPy."""
    rng = np.random.default_rng(3)
    kinds = itertools.cycle([np.float64, np.float32, np.int64])
    for shape, kind in zip(shapes, kinds, strict=False):
        values = np.rint(rng.normal(size=shape) * 9) if kind is np.int64 else rng.normal(size=shape)
        x = sd.symbol("x", ("n", "m", "k") if named else shape, int if kind is np.int64 else float)
        f = write(x)
        F = nm.lower(f, [x])
        for a in layouts(values.astype(kind)):
            expected = statement(a)
            for found in (F(a), nm.interpret(f, {x: a})):
                assert found.dtype == expected.dtype
                assert found.shape == expected.shape
                assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", [*LINEAR, *NAMED])
def test_programs_and_the_interpreter_are_numpy(name):
    check(*(LINEAR | NAMED)[name], SHAPES, named=False)


@pytest.mark.parametrize("name", NAMED)
def test_lengths_may_have_names(name):
    check(*NAMED[name], SHAPES, named=True)


# Planted faults -----------------------------------------------------------------------------------

TURNED, KEY, CUMSUM = contracted._turned, structure._key, structure._cumsum


def without_transposes(d, x, word, target):
    return x if sorted(word) == sorted(target) else TURNED(d, x, word, target)


def one_axis_off(d, x, word, kept, length):
    return contracted.Text(f"{d.put(x, contracted.ATOM)}.sum(axis=0)", contracted.ATOM)


def of_the_first_axes(d, node, before, steps):
    key = KEY(d, node, before, steps)
    return key[len(node.shape) - len(steps) :]


FAULTS = {
    "a missed transpose": (contracted, "_turned", without_transposes, "transpose"),
    "a missed transpose of a factor": (
        contracted,
        "_turned",
        without_transposes,
        "batched product",
    ),
    "the wrong axis": (contracted, "_sum", one_axis_off, "sum over one axis"),
    "slices of the wrong axes": (structure, "_key", of_the_first_axes, "slices of the last axis"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_noticed(name, monkeypatch):
    module, function, fault, case = FAULTS[name]
    monkeypatch.setattr(module, function, fault)
    with pytest.raises((AssertionError, ValueError)):
        check(*(LINEAR | NAMED)[case], [(2, 3, 3), (3, 3, 3)], named=False)


# Numbers among arrays -----------------------------------------------------------------------------


def test_numbers_among_arrays_take_their_precision():
    v, a = sd.symbol("v", 3), sd.symbol("a")
    f = sd.concat([v, sd.full(2, 0.1), sd.full(1, a)])
    F = nm.lower(f, [v, a])
    for kind in (np.float32, np.float64):
        expected = np.array([1, 2, 3, 0.1, 0.1, 0.3]).astype(kind)
        found = F(np.array([1, 2, 3], kind), 0.3)
        assert found.dtype == kind
        np.testing.assert_array_equal(found, expected)


def test_names_of_lengths_stay_inside_of_literals():
    names = ["n'] + 1 #", "{0}", 'a"b', "np"]
    for name in names:
        try:
            x = sd.symbol("x", (name, 2))
        except ValueError:
            continue
        F = nm.lower(sd.sum(x, axis=1, keepdims=True) + x[:, :1], [x])
        assert F(np.ones((3, 2))).tolist() == [[3.0]] * 3


def test_paths_of_many_operands_are_taken_step_by_step():
    xs = [sd.symbol(f"factor{k}", (2, 2)) for k in range(9)]
    letters = "abcdefghij"
    text = ",".join(a + b for a, b in itertools.pairwise(letters)) + "->aj"
    f = sd.einsum(text, *xs)
    rng = np.random.default_rng(1)
    values = [np.rint(3 * rng.normal(size=(2, 2))) for _ in xs]
    expected = np.linalg.multi_dot(values)
    np.testing.assert_array_equal(nm.lower(f, xs)(*values), expected)
