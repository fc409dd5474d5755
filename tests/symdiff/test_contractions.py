"""What building a contraction takes, which functions it passes through, and what becomes of it."""

import gc
import itertools
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numeric as nm
import symdiff as sd
from symdiff.graph import ops
from symdiff.graph.contraction import contract
from symdiff.graph.leaves import split_coefficient

_names = (f"fresh_{k}" for k in itertools.count())
PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
CONTRACTS = PROJECT["tool"]["importlinter"]["contracts"]
(LAYERS,) = [c["layers"] for c in CONTRACTS if c.get("containers") == ["symdiff.graph"]]


def fresh(*shapes, dtype=float):
    return [sd.symbol(next(_names), shape, dtype) for shape in shapes]


def calls(f, operands):
    """The names of the functions, of Python and of C, that one call of f calls."""
    found = []

    def note(frame, event, arg):
        if event == "call":
            found.append(frame.f_code.co_name)
        elif event == "c_call":
            found.append(arg.__name__)

    gc.disable()  # callbacks of what it collects are calls, too
    sys.setprofile(note)
    try:
        result = f(*operands)
    finally:
        sys.setprofile(None)
        gc.enable()
    assert result.args
    return found[1:-1]  # without f itself, and without the end of the profile


# Each with the shapes of its operands, which come in both orders of creation.
CONTRACTIONS = {
    "A @ x": (lambda A, x: A @ x, [(3, 4), 4]),
    "A @ B": (lambda A, B: A @ B, [(3, 4), (4, 5)]),
    "of symbolic lengths": (lambda A, x: A @ x, [("m", "n"), "n"]),
    "batches": (lambda A, B: A @ B, [(2, 3, 4), (2, 4, 5)]),
    "sum(x)": (lambda x: sd.sum(x), [5]),
    "sum(A, axis)": (lambda A: sd.sum(A, axis=0), [(3, 4)]),
    "sum(A, keepdims)": (lambda A: sd.sum(A, axis=1, keepdims=True), [(3, 4)]),
    "v + u": (lambda v, u: v + u, [3, (2, 3)]),
    "v - u": (lambda v, u: v - u, [("n",), ("m", "n")]),
    "column + row": (lambda c, r: c + r, [(2, 1), (1, 3)]),
    "A.T": (lambda A: A.T, [(3, 4)]),
    "A.mT": (lambda A: A.mT, [(2, 3, 4)]),
}


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("name", CONTRACTIONS)
def test_a_contraction_of_fresh_operands_is_a_few_calls(name, backwards):
    f, shapes = CONTRACTIONS[name]
    order = shapes[::-1] if backwards else shapes

    def operands():
        made = fresh(*order)
        return made[::-1] if backwards else made

    f(*operands())  # the pattern of letters is worked out once
    product = calls(lambda p, q: p * q, fresh((), ()))
    found = calls(f, operands())
    assert len(found) <= 8 * len(product), found
    # Errors are written when they come; user's functions are above what they are made of.
    assert not {"shape_text", "letter_name", "__mul__", "__rmul__"} & set(found)


def test_a_pattern_of_letters_serves_operands_of_any_lengths():
    """Nothing is remembered of the operands: new lengths take as many calls as known ones."""
    for name, (f, _) in CONTRACTIONS.items():
        if name in ("A @ x", "sum(x)", "A.T"):
            shapes = {"A @ x": [(3, 4), 4], "sum(x)": [5], "A.T": [(3, 4)]}[name]
            f(*fresh(*shapes))
            known = calls(f, fresh(*shapes))
            grown = [tuple(n + 100 for n in np.atleast_1d(shape).tolist()) for shape in shapes]
            assert calls(f, fresh(*grown)) == known


@pytest.fixture
def climbing(monkeypatch):
    """The modules below the class of expressions that use its operators or its methods."""
    names = [m.strip() for layer in LAYERS for m in layer.split(":")]
    below = {f"symdiff.graph.{m}" for m in names[names.index("expr") + 1 :]}
    assert {"symdiff.graph.contraction", "symdiff.graph.algebra", "symdiff.graph.leaves"} <= below
    found = set()

    def watched(name, f):
        def method(self, *args, **kwargs):
            frame = sys._getframe(1)
            if frame.f_globals.get("__name__") in below:
                found.add((frame.f_globals["__name__"], frame.f_code.co_name, name))
            return f(self, *args, **kwargs)

        return method

    for name, f in vars(sd.Expr).copy().items():
        if callable(f) and name not in ("__hash__", "__reduce__", "__copy__", "__deepcopy__"):
            monkeypatch.setattr(sd.Expr, name, watched(name, f))
    return found


x, y = sd.symbols("x y")
v, w = sd.symbols("v w", 3)
A, B = sd.symbols("A B", (3, 3))
mask = sd.symbol("mask", (3, 3), bool)

# Every way through the construction: coefficients, masks, scalars, kills, sums inside, sizes.
WAYS = {
    "coefficients": lambda: contract([(2 * A, (0, 1)), (v / 3, (1,))], (0,)),
    "no sum": lambda: contract([(A, (0, 1)), (2 * v, (1,)), (B, (1, 0))], (0, 1)),
    "masks": lambda: contract([(mask, (0, 1)), (v, (1,))], (0,)),
    "counted": lambda: sd.sum(mask) + sd.sum(mask[:1, :1], axis=(0, 1)),
    "scalars": lambda: contract([(x, ()), (A, (0, 1)), (y, ()), (v, (1,))], (0,)),
    "kills": lambda: contract([(x, (), True), (A, (0, 1), True), (v, (1,))], (1, 0)),
    "all kill": lambda: contract([(A, (0, 1), True), (B, (0, 1), True)], (1, 0)),
    "numbers": lambda: contract([(sd.full((3,), 0.5), (0,)), (v, (1,))], (0, 0, 1)),
    "lengths": lambda: contract([(sd.broadcast_to(v, ("n", 3)), (0, 1))], ()),
    "products": lambda: sd.sum(v**2) + sd.sum(v * w) + sd.sum(v / w),
    "norms": lambda: sd.sum(sd.norm(2 * A, axis=0) ** 2 * v),
    "centred": lambda: sd.sum(v - sd.mean(v)) + sd.sum(v - sd.mean(w)),
    "eigenvalues": lambda: sd.sum(sd.eigvalsh(A)),
    "sums of sums": lambda: sd.sum(sd.sum(A, axis=0)),
    "broadcast": lambda: (v + A) * (x + v) - (2 * v - mask) ** 2,
    "identities": lambda: contract([(sd.eye(3), (0, 1)), (A, (1, 2)), (A, (2, 0))], (0,)),
    "slices": lambda: sd.diag(v)[1:, :2] + A.T[1:, :2] + sd.stack([v, w])[1, 1:],
    "powers": lambda: (2 * v) ** 2 / sd.cosh(v) + sd.expm1(v) ** -1 + v ** sd.constant(0.1),
    "choices": lambda: sd.where(mask, sd.abs(A), 2) + sd.maximum(v, 0) + sd.log(sd.abs(sd.det(A))),
    "recurrences": lambda: sd.cumsum(v) + sd.flip(v)[::-1] + sd.prod(A, axis=0),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_makes_nodes_calls_nothing_above_it(way, climbing):
    """Operators are the floor above: imports are checked by import-linter, these here."""
    WAYS[way]()
    assert not climbing


def misspelt(expr):
    """Contractions of what a contraction absorbs or takes out: no value has a second spelling."""
    found = []
    for node in sd.nodes(expr):
        if not isinstance(node.op, ops.Contract) or isinstance(node.op, ops.Fill):
            continue
        for arg in node.args:
            c, base = split_coefficient(arg)
            if c != 1 or base is None or (isinstance(arg.op, ops.Contract) and not summing(arg)):
                found.append(node)
    return found


def summing(node):
    lengths = zip(node.op.letters, [arg.shape for arg in node.args], strict=True)
    pairs = [pair for word, shape in lengths for pair in zip(word, shape, strict=True)]
    return len(node.args) > 1 or any(k not in node.op.out and dim != 1 for k, dim in pairs)


FACTORS = st.sampled_from(
    [
        *(v, 2 * v, v**2, v * w, sd.broadcast_to(x, (3,)), A[:, 0], sd.diagonal(A), v + 1),
        *(sd.norm(2 * A, axis=0), sd.norm(A, axis=1), sd.norm(A, axis=1) * w, sd.ones(3)),
        *(sd.norm(v)[None][[0, 0, 0]], v - sd.mean(v), sd.sum(A, axis=0), sd.eigvalsh(A)),
    ]
)
OUTS = st.sampled_from([(), (0,), (0, 0), (0, 1), (1, 0), (0, 2), (1, 2, 0), (1, 1)])
TERMS = st.lists(
    st.tuples(FACTORS, st.sampled_from([(0,), (0,), (1,)]), st.booleans()), min_size=1, max_size=4
)


@given(TERMS, OUTS, st.booleans())
def test_contractions_hold_neither_coefficients_nor_rearrangements(terms, out, kills):
    """The square of a root of 4*a is 4*a: coefficients come up on the way, and are taken out."""
    given = [(factor, word, kill and kills) for factor, word, kill in terms]
    value = contract(given, out, {0: 3, 1: 3, 2: 4})
    assert not misspelt(value)
    assert not misspelt(sd.sum(value * value))
    assert value.shape == tuple({0: 3, 1: 3, 2: 4}[k] for k in out)


@given(TERMS, OUTS)
def test_contractions_are_sums_over_explicit_letters(terms, out):
    at = {A: np.array([[2.0, 1, 0], [1, 3, -1], [0, -1, 5]]), x: 1.5}
    at |= {v: np.array([1.0, -2, 3]), w: np.array([0.5, 4, -1])}
    inputs = list(at)
    lower = lambda f: nm.lower(f, inputs)(*at.values())  # noqa: E731
    got = lower(contract([term[:2] for term in terms], out, {0: 3, 1: 3, 2: 4}))
    factors = [np.broadcast_to(lower(factor), (3,)) for factor, _, _ in terms]
    expected = np.zeros(got.shape)
    kept = [*sorted({*out} & {2}), 0, 1]
    for place in itertools.product(*[range({0: 3, 1: 3, 2: 4}[k]) for k in kept]):
        at_letter = dict(zip(kept, place, strict=True))
        words = [word[0] for _, word, _ in terms]
        if any(at_letter[k] and k not in words and k not in out for k in (0, 1)):
            continue  # a letter that nothing has is not summed over
        value = np.prod([f[at_letter[k]] for f, k in zip(factors, words, strict=True)])
        expected[tuple(at_letter[k] for k in out)] += value
    np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-11)


def test_booleans_stay_boolean_where_axes_of_length_1_come_and_go():
    for flags in (mask, sd.symbol("flags", "n", bool)):
        assert sd.squeeze(sd.expand_dims(flags, 0), 0) is flags
        wide = sd.broadcast_to(flags, (1, *flags.shape))
        assert contract([(wide, tuple(range(wide.ndim)))], tuple(range(1, wide.ndim))) is flags
        assert sd.sum(sd.expand_dims(flags, 0), axis=0).dtype is int


def test_a_repeated_letter_is_a_diagonal_also_of_a_symmetric_operand():
    """value[i, j, i] of x[i, i, j] is 0 where its outer places differ, whatever x is."""
    cube = sd.sin(sd.broadcast_to(sd.outer(w, w), (3, 3, 3)) + v[:, None, None])
    at = np.array([1.0, -2, 3]), np.array([0.5, 4, -1])
    plain = nm.lower(cube, [v, w])(*at)
    expected = np.zeros((3, 3, 3))
    for i, j in itertools.product(range(3), repeat=2):
        expected[i, j, i] = plain[i, i, j]
    got = nm.lower(contract([(cube, (0, 0, 1))], (0, 1, 0)), [v, w])(*at)
    assert got.tolist() == expected.tolist()
