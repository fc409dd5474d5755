"""Contractions against np.einsum on explicit letters, and against sums written as loops."""

import itertools
import math

import numpy as np
import pytest

import symdiff as sd
from numeric.lowering.contraction import PAIRS, explain, plan
from numeric.lowering.node_kernels import kernel
from symdiff.graph.axes import canonical
from symdiff.graph.node import make
from symdiff.graph.ops import contract_op, fill_op
from tests.support.cases import all_cases

RNG = np.random.default_rng(5)


def contraction(text, kills=None):
    """The op of einsum text; letters of the result that no operand has are created, of length 2."""
    left, out = text.split("->")
    words = [tuple(map(ord, word)) for word in left.split(",")] if left else []
    words, out = canonical(words, tuple(map(ord, out)))
    carried = {k for word in words for k in word}
    created = tuple(2 for _ in dict.fromkeys(k for k in out if k not in carried))
    return contract_op(tuple(words), out, created, kills or (False,) * len(words))


def shape_of(op, shapes):
    """The lengths of the letters of the value."""
    length = {
        k: n
        for word, shape in zip(op.letters, shapes, strict=True)
        for k, n in zip(word, shape, strict=True)
    }
    new = dict.fromkeys(k for k in op.out if k not in length)
    length |= zip(new, op.created, strict=True)
    return tuple(length[k] for k in op.out)


KINDS = {"f": float, "i": int, "b": bool}


def computed(op, arrays, sizes=None, shapes=None):
    """The value of a contraction of arrays."""
    shapes = [x.shape for x in arrays] if shapes is None else shapes
    kinds = [KINDS[np.asarray(x).dtype.kind] for x in arrays]
    args = [
        sd.symbol(f"x{k}", shape, kind)
        for k, (shape, kind) in enumerate(zip(shapes, kinds, strict=True))
    ]
    dtype = float if float in kinds else int
    return kernel(make(op, tuple(args), shape_of(op, shapes), dtype))(arrays, sizes or {})


def operands(text, sizes, dtype=float):
    words = text.split("->")[0].split(",") if text.split("->")[0] else []
    arrays = [RNG.uniform(-2, 2, [sizes[k] for k in word]) for word in words]
    return [np.rint(3 * x).astype(int) if dtype is int else x.astype(dtype) for x in arrays]


@np.errstate(invalid="ignore")
def terms(op, arrays):
    """The definition, one term at a time, with Python numbers."""
    length = {}
    for word, x in zip(op.letters, arrays, strict=True):
        length |= dict(zip(word, x.shape, strict=True))
    new = [k for k in dict.fromkeys(op.out) if k not in length]
    length |= dict(zip(new, op.created, strict=True))
    result = np.zeros([length[k] for k in op.out])
    letters = list(length)
    for at in itertools.product(*(range(length[k]) for k in letters)):
        index = dict(zip(letters, at, strict=True))
        factors = [
            float(x[tuple(index[k] for k in word)])
            for word, x in zip(op.letters, arrays, strict=True)
        ]
        dead = any(kill and f == 0 for kill, f in zip(op.kills, factors, strict=True))
        result[tuple(index[k] for k in op.out)] += 0.0 if dead else math.prod(factors)
    return result


SUMMING = [
    "i->",
    "ij->i",
    "ij->j",
    "ij->",
    "ii->",
    "iij->j",
    "ijkj->ik",
    "i,i->",
    "ij,ij->",
    "ij,ji->",
    "ij,ij->i",
    "ij,ij->j",
    "ij,j->i",
    "ij,i->j",
    "i,ij->j",
    "ij,jk->ik",
    "ij,kj->ik",
    "ji,jk->ik",
    "bij,bjk->bik",
    "bij,bj->bi",
    "ibj,jb->ib",
    "bi,bi->b",
    "ij,k->ik",
    "ij,j->j",
    "ij,k->k",
    "ijk,jkl->il",
    "ijk,kjl->il",
    "ijk,jl->ikl",
    "bijk,bjl->bikl",
    "ii,ij->j",
    "ij,jj->i",
    "i,ij,j->",
    "ij,jk,kl->il",
    "ij,ij,ij->",
    "ij,ik,jk->",
    "i,j,k->",
    "bi,bij,bj->b",
    "bi,bj,bk,bijk->b",
    "i,i,i,i->",
]
NOT_SUMMING = [
    "ij->ji",
    "ijk->jki",
    "ii->i",
    "iji->ij",
    "i->ii",
    "i->iji",
    "i->ij",
    "i->ji",
    "->ij",
]
NOT_SUMMING += ["ij->jik", "ii->ij", "ii->iij"]


def of_sizes(text, lengths):
    letters = dict.fromkeys(k for k in text if k.isalpha())
    return dict(zip(letters, itertools.cycle(lengths), strict=False))


@pytest.mark.parametrize("lengths", [(3, 2, 4), (1,), (0, 2), (2, 0, 3), (1, 3)])
@all_cases("text", SUMMING, least=39)
def test_sums_are_those_of_einsum(text, lengths):
    op, arrays = contraction(text), operands(text, of_sizes(text, lengths))
    result = computed(op, arrays)
    expected = np.einsum(text, *arrays)
    assert np.shape(result) == expected.shape
    count = max((x.size for x in arrays), default=1)
    scale = np.einsum(text, *map(np.abs, arrays))
    # Each of two summation orders errs by at most `count` roundings of the sum of absolute values.
    assert np.all(np.abs(result - expected) <= 2 * count * np.finfo(float).eps * scale)


@pytest.mark.parametrize("text", SUMMING)
def test_integers_and_single_precision_keep_their_dtype(text):
    """Integers are exact, also of operands that are strided, reversed and broadcast."""
    op, arrays = contraction(text), operands(text, of_sizes(text, (3, 2, 4)), int)
    views = []
    for k, x in enumerate(arrays):
        strided = np.repeat(x, 2, axis=0)[::2]
        reverse = np.flip(x).copy()[(slice(None, None, -1),) * x.ndim]
        views.append((strided, reverse, np.broadcast_to(x[..., :1], x.shape))[k % 3])
    for given in (arrays, views):
        result = computed(op, given)
        assert np.asarray(result).dtype == int
        np.testing.assert_array_equal(result, np.einsum(text, *given))
    assert computed(op, [x.astype(np.float32) for x in arrays]).dtype == np.float32


@pytest.mark.parametrize("lengths", [(3, 2), (1, 2), (1,), (0,), (2, 0)])
@all_cases("text", [*NOT_SUMMING, "ijk->kj", "ij->jk", "ij->jj", "iij->jkj", "i->j"], least=17)
def test_rearrangements_follow_the_definition(text, lengths):
    op, arrays = contraction(text), operands(text, of_sizes(text, lengths))
    result = computed(op, arrays)
    np.testing.assert_array_equal(result, terms(op, arrays))


@pytest.mark.parametrize("text", ["->ii", "->iji", "->iijj", "->iii"])
def test_identities(text):
    op = contraction(text)
    result = computed(op, [])
    np.testing.assert_array_equal(result, terms(op, []))
    assert result.dtype == int


def test_transposes_diagonals_and_large_broadcasts_are_views():
    for text, n in {"ij->ji": 3, "ii->i": 3, "ij->kij": 60, "ij->ikj": 60}.items():
        x = np.ones((n, n))
        assert np.shares_memory(computed(contraction(text), [x]), x)


def test_small_broadcasts_are_written_out():
    x = np.arange(9.0).reshape(3, 3)
    result = computed(contraction("ij->ikj"), [x])
    assert not np.shares_memory(result, x)
    np.testing.assert_array_equal(result, np.broadcast_to(x[:, None], result.shape))


def test_created_axes_may_be_symbolic():
    op = contract_op(((0,),), (1, 0, 2), ("n", 2), (False,))
    assert computed(op, [np.ones(3)], {"m": 3, "n": 4}, [("m",)]).shape == (4, 3, 2)
    assert computed(fill_op(("n", 3)), [np.float64(2)], {"n": 2}).tolist() == [[2] * 3] * 2
    identity = contract_op((), (0, 0), ("n",), ())
    np.testing.assert_array_equal(computed(identity, [], {"n": 3}), np.eye(3))


CLASSES = {
    "i->": "sum",
    "ij->ji": "view",
    "i->ii": "diagonal",
    "->ii": "identity",
    "i,i->": "dot",
    "ij,ji->": "dot",
    "ij,j->i": "matrix-vector",
    "ij,i->j": "matrix-vector",
    "ij,jk->ik": "matmul",
    "ijk,jkl->il": "tensordot",
    "bij,bjk->bik": "batched matmul",
    "bi,bi->b": "einsum",
    "ij,jk,kl->il": "path",
}


@pytest.mark.parametrize(("text", "kind"), CLASSES.items())
def test_each_contraction_has_its_class(text, kind):
    op = contraction(text)
    shapes = [("n",) * len(word) for word in op.letters]
    assert plan(op, shapes).kind == kind
    assert explain(op, shapes).startswith(kind if kind != "path" else "matmul ij,jk->ik, ")


def test_every_line_of_the_table_is_reached():
    kinds = set()
    for text in SUMMING:
        op = contraction(text)
        for line, *_ in PAIRS:
            if line in explain(op, [(2,) * len(word) for word in op.letters]):
                kinds.add(line)
    assert kinds == {line for line, *_ in PAIRS}


def test_the_path_multiplies_a_chain_from_its_thin_end():
    chain = contraction("ij,jk,k->i")
    assert explain(chain, [(9, 9), (9, 9), (9,)]) == "matrix-vector jk,k->j, matrix-vector ij,j->i"
    shapes = [(50, 2), (2, 50), (50, 2)]
    assert explain(contraction("ij,jk,kl->il"), shapes).startswith("matmul jk,kl->jl")


def test_a_chain_may_have_more_letters_than_einsum():
    n = 70
    words = tuple((i, i + 1) for i in range(n))
    op = contract_op((*words, (n, n, 0)), (), (), (False,) * (n + 1))
    arrays = [np.eye(2)[::-1]] * n + [np.arange(8.0).reshape(2, 2, 2)]
    expected = np.einsum("iij->ij", arrays[-1]).trace()
    assert computed(op, arrays) == expected


def test_letters_of_one_operand_are_summed_before_it_meets_others():
    assert explain(contraction("ij,j->j"), [(5, 4), (4,)]) == "sum ij->j, multiply j,j->j"


# Masked operands ----------------------------------------------------------------------------------

INF, NAN = math.inf, math.nan
MASKED = [t for t in SUMMING if "," in t]


@pytest.mark.parametrize("lengths", [(3, 2, 4), (2, 1), (2, 0)])
@all_cases("text", MASKED, least=32)
def test_a_zero_of_a_masked_operand_wins_over_inf_and_nan(text, lengths):
    arrays = operands(text, of_sizes(text, lengths))
    for k in range(len(arrays)):
        rng = np.random.default_rng(k)
        planted = []
        for j, x in enumerate(arrays):
            values = [0.0, 0.0, 1.5] if j == k else [INF, -INF, NAN, 0.0, 2.0, 2.0]
            planted.append(np.where(rng.random(x.shape) < 0.6, rng.choice(values, x.shape), x))
        op = contraction(text, tuple(j == k for j in range(len(arrays))))
        result = computed(op, planted)
        np.testing.assert_allclose(result, terms(op, planted), rtol=1e-13, atol=1e-13)


def test_a_masked_contraction_that_is_finite_is_the_plain_one():
    a, b = RNG.normal(size=(2, 5, 5)).astype(np.float32)
    for kills in ((True, False), (False, False)):
        result = computed(contraction("ij,jk->ik", kills), [a, b])
        np.testing.assert_array_equal(result, a @ b)
        assert result.dtype == np.float32
    with np.errstate(invalid="ignore"):
        assert math.isnan(computed(contraction("i,i->"), [np.zeros(2), np.array([INF, 1])]))
    single = [np.array(v, np.float32) for v in ([0, 1], [INF, 2])]
    result = computed(contraction("i,i->", (True, False)), single)
    assert (result, result.dtype) == (2, np.float32)


@pytest.mark.parametrize("text", ["ij,jk->ik", "i,ij,j->", "i,j,k->", "bi,bij,bj->b"])
def test_masked_terms_are_summed_in_blocks(text, monkeypatch):
    monkeypatch.setattr("numeric.lowering.kernels.masked._BLOCK", 5)
    arrays = operands(text, of_sizes(text, (3, 2, 4)))
    arrays[0][(0,) * arrays[0].ndim] = 0
    arrays[1][(0,) * arrays[1].ndim] = INF
    op = contraction(text, (True,) + (False,) * (len(arrays) - 1))
    result = computed(op, arrays)
    np.testing.assert_allclose(result, terms(op, arrays), rtol=1e-13, atol=1e-13)
