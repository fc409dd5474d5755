"""Examples of operations: programs at given numbers, on top of the rows of ``op_table``.

Special arguments, kinks, ties, zeros, nan, far tails, nothing, other ways to say the same.  Each is
a program of a module with PyTorch's API and of operands: arrays, or shapes with a domain.  What
PyTorch answers (values, dtypes, names of nodes, gradients of both orders, in both precisions) is
recorded; ``CONSTANTS`` are programs without operands.
"""

# ruff: noqa: E501  # rows of a table

import itertools
import math
import operator as op
from operator import iadd, imul, setitem

import numpy as np

from tests.eager.op_table import ROWS as TABLE
from tests.eager.op_table import Row, X

INF, NAN = math.inf, math.nan
inf, nan = INF, NAN

# --- operands ------------------------------------------------------------------------------------

A = [[0.5, -1.2, 2.2], [1.7, 0.3, -0.4]]
A2 = [[1.1, 0.2, -0.7], [-0.4, 2.5, 0.9]]
C = [[[1.0, -2.0], [0.5, 3.0]], [[2.0, 2.5], [-1.5, 1.25]]]
V, V4 = [0.9, -0.3, 0.6], [0.9, -0.3, 0.6, 1.4]
ZERO, ZEROS = [2.0, 0.0, 3.0, 1.0], [1.0, 0.0, 3.0, 0.0]
SIX, MORE = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [[7.0, 8.0, 9.0], [10.0, 11.0, 12.0]]
TIED = [[1.0, 3.0, 3.0], [2.0, 0.0, -1.0]]
EMPTY = np.zeros((0, 3))
PAIR = [0.5, -2.0]
Q = [0.25, 0.6]
ONE, NONE, RANK1 = [[1.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]], [[1.0, 1.0], [1.0, 1.0]]


def regular(*shapes):
    """Matrices that are far from singular, with distinct singular values."""
    rng = np.random.default_rng(7)
    found = [rng.standard_normal(shape) for shape in shapes]
    square = [a.ndim > 1 and a.shape[-1] == a.shape[-2] for a in found]
    return [
        a + np.diag(np.arange(2.0, a.shape[-1] + 2)) if s else a
        for a, s in zip(found, square, strict=True)
    ]


def positive(T, x):
    """Symmetric and positive definite, with distinct eigenvalues; of any matrix."""
    return x @ x.mT + T.diag(T.arange(1, x.shape[-1] + 1).to(x.dtype))


def rebuilt(u, s, vh):
    return (u * s[..., None, :]) @ vh


def constant(T, data, like):
    """The numbers as a tensor, of the dtype of another."""
    return T.tensor(data, dtype=like.dtype)


def rows(T):
    return T.tensor([1, 0])


def cols(T):
    return T.tensor([2, 0, 2])


def mask(T):
    return T.tensor([[True, False, True], [False, True, False]])


def table(T):
    return T.tensor([[2, 0], [1, 2]])


def written(program):
    """What a program makes of a copy of its first operand, in place."""

    def call(T, x, *more):
        y = x * 1
        program(T, y, *more)
        assert y._version >= 1
        return y

    return call


def changed(program):
    """What a program returns that changes a copy of its first operand: that copy, once changed."""

    def call(T, x, *more):
        y = x * 1
        assert program(y, *more) is y
        assert y._version == 1
        return y

    return call


EXAMPLES = {
    # reducing
    "reducing: sum": (lambda T, x: x.sum(), A),
    "reducing: sum dims": (lambda T, x: x.sum((0, -1), keepdim=True), C),
    "reducing: sum axis": (lambda T, x: T.sum(x, axis=1), A),
    "reducing: mean": (lambda T, x: x.mean(), A),
    "reducing: mean dim": (lambda T, x: x.mean(-1), C),
    "reducing: prod": (lambda T, x: x.prod(), A),
    "reducing: prod a zero": (lambda T, x: x.prod(), ZERO),
    "reducing: prod zeros": (lambda T, x: x.prod(), ZEROS),
    "reducing: prod dim": (lambda T, x: x.prod(0, keepdim=True), A),
    "reducing: amax": (lambda T, x: x.amax((0, 2)), C),
    "reducing: amin": (lambda T, x: x.amin(1, keepdim=True), A),
    "reducing: aminmax": (lambda T, x: T.aminmax(x, dim=0)[0], A),
    "reducing: max": (lambda T, x: x.max(), A),
    "reducing: min": (lambda T, x: T.min(x), A),
    "reducing: max dim": (lambda T, x: x.max(1).values, C),
    "reducing: min dim": (lambda T, x: T.min(x, 0, keepdim=True)[0], A),
    "reducing: max of two": (lambda T, x, y: T.max(x, y), A, A2),
    "reducing: min of two": (lambda T, x, y: x.min(y), A, V),
    "reducing: nansum": (lambda T, x: x.nansum(0), A),
    "reducing: nanmean": (lambda T, x: x.nanmean(1), A),
    "reducing: var": (lambda T, x: x.var(), A),
    "reducing: var dims": (lambda T, x: T.var(x, (0, 2), correction=2), C),
    "reducing: var biased": (lambda T, x: x.var(1, False, True), A),
    "reducing: std": (lambda T, x: x.std(), A),
    "reducing: std biased": (lambda T, x: T.std(x, unbiased=False), A),
    "reducing: var_mean": (lambda T, x: T.var_mean(x, 1)[0], A),
    "reducing: std_mean": (lambda T, x: T.std_mean(x, 0)[1], A),
    "reducing: norm": (lambda T, x: x.norm(), A),
    "reducing: norm fro": (lambda T, x: T.norm(x, "fro", dim=(1, 2)), C),
    "reducing: norm 1": (lambda T, x: x.norm(1, dim=0), A),
    "reducing: norm 3": (lambda T, x: x.norm(3, (0, 2)), C),
    "reducing: norm 1.5": (lambda T, x: x.norm(p=1.5), A),
    "reducing: norm inf": (lambda T, x: x.norm(INF, 1), A),
    "reducing: norm -inf": (lambda T, x: x.norm(-INF), A),
    "reducing: dist": (lambda T, x, y: T.dist(x, y), A, A2),
    "reducing: dist 3": (lambda T, x, y: T.dist(x, y, 3), A, V),
    "reducing: logsumexp": (lambda T, x: x.logsumexp(1), A),
    "reducing: logsumexp dims": (lambda T, x: T.logsumexp(x, (0, 2), keepdim=True), C),
    "reducing: softmax": (lambda T, x: x.softmax(0), A),
    "reducing: softmax last": (lambda T, x: T.softmax(x, dim=-1), C),
    "reducing: log_softmax": (lambda T, x: T.log_softmax(x, 1), C),
    "reducing: max() shares ties": (lambda T, x: x.max(), TIED),
    "reducing: amax shares ties": (lambda T, x: x.amax(1), TIED),
    "reducing: max(dim) follows the index": (lambda T, x: x.max(1)[0], TIED),
    "reducing: max() of nan": (lambda T, x: x.max(), [1, NAN, 3]),
    "reducing: max(dim) of nan": (lambda T, x: x.max(0)[0], [1, NAN, 3]),
    "reducing: norm(inf) shares ties": (lambda T, x: x.norm(INF), TIED),
    "reducing: max of two shares": (lambda T, x: T.max(x, x.detach()), [1, 2]),
    "reducing: norm at 0": (lambda T, x: x.norm(), [0, 0]),
    "reducing: norm 1 at 0": (lambda T, x: x.norm(1), [0, 0]),
    "reducing: norm 3 at 0": (lambda T, x: x.norm(3), [0, 0]),
    "reducing: norm 0.5 at 0": (lambda T, x: x.norm(0.5), [0, 0]),
    "reducing: norm 0.5 with a 0": (lambda T, x: x.norm(0.5), [0, 4]),
    "reducing: norm 1.5 with a 0": (lambda T, x: x.norm(1.5), [0, 2, 0]),
    "reducing: norm inf at 0": (lambda T, x: x.norm(INF), [0, 0]),
    "reducing: dist at 0": (lambda T, x: T.dist(x, T.ones(2)), [1, 1]),
    "reducing: std of equal elements": (lambda T, x: x.std(), [2, 2, 2]),
    "reducing: std of one": (lambda T, x: x.std(unbiased=False), [3]),
    "reducing: nansum 2": (lambda T, x: x.nansum(), [1, NAN, 3]),
    "reducing: nanmean 2": (lambda T, x: x.nanmean(), [1, NAN, 3]),
    "reducing: prod of two zeros": (lambda T, x: x.prod(), [0, 2, 0]),
    "reducing: prod of one zero": (lambda T, x: x.prod(), [0, 2, 3]),
    "reducing: logsumexp far up": (lambda T, x: x.logsumexp(0), [1000, 1000]),
    "reducing: logsumexp far down": (lambda T, x: x.logsumexp(0), [-1000, -1000]),
    "reducing: softmax at ±1000": (lambda T, x: x.softmax(0), [1000, -1000]),
    "reducing: log_softmax at ±1000": (lambda T, x: x.log_softmax(0), [1000, -1000]),
    "reducing: sum() without axes": (lambda T, x: x.sum(0), 2.0),
    "reducing: softmax without axes": (lambda T, x: x.softmax(0), 2.0),
    "reducing: var without axes": (lambda T, x: x.var(0, correction=0), 2.0),
    "reducing: max(0) without axes": (lambda T, x: x.max(0)[0], 2.0),
    "reducing: norm without axes": (lambda T, x: x.norm(dim=0), -2.0),
    # reducing of nothing
    "reducing of nothing: sum": (lambda T, x: x.sum(), EMPTY),
    "reducing of nothing: sum dim": (lambda T, x: x.sum(0), EMPTY),
    "reducing of nothing: mean": (lambda T, x: x.mean(), EMPTY),
    "reducing of nothing: prod": (lambda T, x: x.prod(0), EMPTY),
    "reducing of nothing: amax": (lambda T, x: x.amax(1), EMPTY),
    "reducing of nothing: max dim": (lambda T, x: x.max(1).values, EMPTY),
    "reducing of nothing: norm": (lambda T, x: x.norm(1, dim=0), EMPTY),
    "reducing of nothing: logsumexp": (lambda T, x: x.logsumexp(0), EMPTY),
    "reducing of nothing: softmax": (lambda T, x: x.softmax(0), EMPTY),
    "reducing of nothing: log_softmax": (lambda T, x: x.log_softmax(1), EMPTY),
    "reducing of nothing: nansum": (lambda T, x: x.nansum(), EMPTY),
    # ordering
    "ordering: sort": (lambda T, x: x.sort().values, A),
    "ordering: sort dim": (lambda T, x: T.sort(x, 0)[0], C),
    "ordering: sort down": (lambda T, x: x.sort(1, descending=True)[0], A),
    "ordering: sort stable": (lambda T, x: x.sort(dim=1, stable=True)[0], A),
    "ordering: msort": (lambda T, x: T.msort(x), A),
    "ordering: topk": (lambda T, x: x.topk(2).values, A),
    "ordering: topk dim": (lambda T, x: T.topk(x, 1, 1, largest=False)[0], C),
    "ordering: kthvalue": (lambda T, x: x.kthvalue(2).values, A),
    "ordering: kthvalue dim": (lambda T, x: x.kthvalue(1, 0, keepdim=True)[0], C),
    "ordering: median": (lambda T, x: x.median(), A),
    "ordering: median dim": (lambda T, x: T.median(x, 1).values, A),
    "ordering: median keepdim": (lambda T, x: x.median(0, keepdim=True)[0], C),
    "ordering: nanmedian": (lambda T, x: x.nanmedian(), A),
    "ordering: quantile": (lambda T, x: x.quantile(0.3), A),
    "ordering: quantile dim": (lambda T, x: T.quantile(x, 0.3, dim=0), C),
    "ordering: quantiles": (lambda T, x: x.quantile(constant(T, Q, x), dim=1, keepdim=True), C),
    "ordering: quantile in q": (lambda T, x, q: x.quantile(q, dim=1), A, Q),
    "ordering: nanquantile": (lambda T, x: x.nanquantile(0.4, dim=1), A),
    # ordering ties
    "ordering ties: sort": (lambda T, x: x.sort(), [2, 1, 2, 1]),
    "ordering ties: sort down": (lambda T, x: x.sort(descending=True), [1, 2, 1, 2]),
    "ordering ties: sort nan last": (lambda T, x: x.sort(), [1, NAN, 0]),
    "ordering ties: sort nan first": (lambda T, x: x.sort(descending=True), [1, NAN, 0]),
    "ordering ties: topk": (lambda T, x: x.topk(2), [2, 1, 2, 2]),
    "ordering ties: topk one": (lambda T, x: x.topk(1), [0, 3, 2, 3, 0, 0, 3]),
    "ordering ties: topk down": (lambda T, x: x.topk(3, largest=False), [2, 1, 2, 2, 1]),
    "ordering ties: topk nan": (lambda T, x: x.topk(2), [1, NAN, 3]),
    "ordering ties: kthvalue": (lambda T, x: x.kthvalue(2), [2, 1, 2, 2, 1, 1, 1]),
    "ordering ties: kthvalue first": (lambda T, x: x.kthvalue(1), [0, 1, 1, 1, 1, 0]),
    "ordering ties: median(dim)": (lambda T, x: x.median(0), [2, 1, 2, 2, 1, 1, 1]),
    "ordering ties: median(dim) of nan": (lambda T, x: x.median(0), [1, NAN, 3]),
    "ordering ties: nanmedian(dim)": (lambda T, x: x.nanmedian(0), [4, NAN, 3]),
    "ordering ties: median() shares": (lambda T, x: (x.median(),), [0, 2, 0]),
    "ordering ties: median() of nan": (lambda T, x: (x.median(),), [1, NAN, 3]),
    "ordering ties: nanmedian()": (lambda T, x: (x.nanmedian(),), [1, NAN, 1]),
    "ordering ties: quantile of nan": (lambda T, x: (x.quantile(0.5),), [1, NAN, 3]),
    "ordering ties: nanquantile": (lambda T, x: (x.nanquantile(0.5),), [1, NAN, 3]),
    "ordering ties: sort without axes": (lambda T, x: x.sort(), 2),
    "ordering ties: topk without axes": (lambda T, x: x.topk(1), 2),
    "ordering ties: kthvalue without axes": (lambda T, x: x.kthvalue(1), 2),
    "ordering ties: median without axes": (lambda T, x: x.median(0), 2),
    # scanning
    "scanning: cumsum": (lambda T, x: x.cumsum(0), A),
    "scanning: cumsum dim": (lambda T, x: T.cumsum(x, dim=-2), C),
    "scanning: cumprod": (lambda T, x: x.cumprod(1), A),
    "scanning: cumprod dim": (lambda T, x: x.cumprod(0), C),
    "scanning: cumprod a zero": (lambda T, x: x.cumprod(0), [2.0, 0.0, 3.0, 1.0]),
    "scanning: cumprod zeros": (lambda T, x: x.cumprod(0), [1.0, 0.0, 3.0, 0.0]),
    "scanning: cummax": (lambda T, x: x.cummax(1).values, A),
    "scanning: cummin": (lambda T, x: T.cummin(x, -2)[0], C),
    "scanning: logcumsumexp": (lambda T, x: x.logcumsumexp(0), A),
    "scanning: logcumsumexp dim": (lambda T, x: T.logcumsumexp(x, 1), A),
    "scanning: diff": (lambda T, x: x.diff(), A),
    "scanning: diff twice": (lambda T, x: T.diff(x, 2, dim=-1), A),
    "scanning: diff dim": (lambda T, x: x.diff(dim=0), C),
    "scanning: diff between": (lambda T, x, y: x.diff(prepend=y, append=y), V, [2.0]),
    "scanning: cumprod of zeros": (lambda T, x: x.cumprod(0), [0, 2, 0]),
    "scanning: cumprod across a zero": (lambda T, x: x.cumprod(0), [2, 0, 3]),
    "scanning: cummax takes the last tie": (lambda T, x: x.cummax(0)[0], [1, 3, 3, 2]),
    "scanning: cummin takes the last tie": (lambda T, x: x.cummin(0)[0], [1, 1, 3]),
    "scanning: cummax keeps nan": (lambda T, x: x.cummax(0)[0], [1, NAN, 3]),
    "scanning: cummin keeps nan": (lambda T, x: x.cummin(0)[0], [1, NAN, 3]),
    "scanning: logcumsumexp far up": (lambda T, x: x.logcumsumexp(0), [1000, 1000]),
    "scanning: cumsum without axes": (lambda T, x: x.cumsum(0), 2.0),
    "scanning: cumprod without axes": (lambda T, x: x.cumprod(-1), 2.0),
    "scanning: cummax without axes": (lambda T, x: x.cummax(0)[0], 2.0),
    "scanning: logcumsumexp without axes": (lambda T, x: x.logcumsumexp(0), 2.0),
    "scanning: diff of too few": (lambda T, x: x.diff(n=3), [1.0, 2]),
    # matrices
    "matrices: at": (lambda T, *xs: op.matmul(*xs), X(3), X(3)),
    "matrices: at 2": (lambda T, *xs: op.matmul(*xs), X(2, 3), X(3)),
    "matrices: at 3": (lambda T, *xs: op.matmul(*xs), X(3), X(3, 2)),
    "matrices: at 4": (lambda T, *xs: op.matmul(*xs), X(2, 3), X(3, 4)),
    "matrices: at 5": (lambda T, *xs: op.matmul(*xs), X(1, 3), X(3, 1)),
    "matrices: at 6": (lambda T, *xs: op.matmul(*xs), X(4, 2, 3), X(3)),
    "matrices: at 7": (lambda T, *xs: op.matmul(*xs), X(4, 2, 3), X(3, 2)),
    "matrices: at 8": (lambda T, *xs: op.matmul(*xs), X(3), X(4, 3, 2)),
    "matrices: at 9": (lambda T, *xs: op.matmul(*xs), X(2, 3), X(4, 3, 2)),
    "matrices: at 10": (lambda T, *xs: op.matmul(*xs), X(4, 2, 3), X(4, 3, 2)),
    "matrices: at 11": (lambda T, *xs: op.matmul(*xs), X(2, 1, 2, 3), X(1, 3, 3, 2)),
    "matrices: matmul": (lambda T, *xs: T.matmul(*xs), X(2, 3), X(3, 4)),
    "matrices: mm": (lambda T, *xs: T.mm(*xs), X(2, 3), X(3, 4)),
    "matrices: mv": (lambda T, *xs: T.mv(*xs), X(2, 3), X(3)),
    "matrices: dot": (lambda T, *xs: T.dot(*xs), X(3), X(3)),
    "matrices: vdot": (lambda T, *xs: T.vdot(*xs), X(3), X(3)),
    "matrices: bmm": (lambda T, *xs: T.bmm(*xs), X(4, 2, 3), X(4, 3, 2)),
    "matrices: inner": (lambda T, *xs: T.inner(*xs), X(2, 3), X(4, 3)),
    "matrices: inner 2": (lambda T, *xs: T.inner(*xs), X(), X(3)),
    "matrices: outer": (lambda T, *xs: T.outer(*xs), X(2), X(3)),
    "matrices: addmm": (lambda T, *xs: T.addmm(*xs), X(2), X(4, 3), X(3, 2)),
    "matrices: addmm 2": (lambda T, *xs: T.addmm(*xs), X(), X(4, 3), X(3, 2)),
    "matrices: addmm(x, a, b, beta=0.5, alpha=2)": (
        lambda T, x, a, b: T.addmm(x, a, b, beta=0.5, alpha=2),
        X(4, 2),
        X(4, 3),
        X(3, 2),
    ),
    "matrices: addmv": (lambda T, *xs: T.addmv(*xs), X(2), X(2, 3), X(3)),
    "matrices: addr": (lambda T, *xs: T.addr(*xs), X(3, 2), X(3), X(2)),
    "matrices: baddbmm": (lambda T, *xs: T.baddbmm(*xs), X(2), X(4, 2, 3), X(4, 3, 2)),
    "matrices: tensordot": (lambda T, *xs: T.tensordot(*xs), X(2, 3, 4), X(3, 4, 5)),
    "matrices: tensordot(a, b, dims=([1, 0], [0, 1]))": (
        lambda T, a, b: T.tensordot(a, b, dims=([1, 0], [0, 1])),
        X(2, 3, 4),
        X(3, 2, 5),
    ),
    "matrices: kron": (lambda T, *xs: T.kron(*xs), X(2, 3), X(2, 2)),
    "matrices: kron 2": (lambda T, *xs: T.kron(*xs), X(2), X(2, 2)),
    "matrices: trace": (lambda T, *xs: T.trace(*xs), X(3, 2)),
    "matrices: einsum(ij,jk->ik, *xs)": (
        lambda T, *xs: T.einsum("ij,jk->ik", *xs),
        X(2, 3),
        X(3, 4),
    ),
    "matrices: einsum(ij,jk,kl->il, *xs)": (
        lambda T, *xs: T.einsum("ij,jk,kl->il", *xs),
        X(2, 3),
        X(3, 4),
        X(4, 2),
    ),
    "matrices: einsum(bij,bjk, *xs)": (
        lambda T, *xs: T.einsum("bij,bjk", *xs),
        X(2, 3, 2),
        X(2, 2, 4),
    ),
    "matrices: einsum(bn,anm,bm->ba, *xs)": (
        lambda T, *xs: T.einsum("bn,anm,bm->ba", *xs),
        X(2, 3),
        X(4, 3, 5),
        X(2, 5),
    ),
    "matrices: einsum(...ij,...jk->...ik, *xs)": (
        lambda T, *xs: T.einsum("...ij,...jk->...ik", *xs),
        X(5, 2, 3),
        X(3, 4),
    ),
    "matrices: einsum(i,j, *xs)": (lambda T, *xs: T.einsum("i,j", *xs), X(3), X(2)),
    "matrices: einsum(ij,ij->ij, *xs)": (
        lambda T, *xs: T.einsum("ij,ij->ij", *xs),
        X(1, 3),
        X(2, 3),
    ),
    "matrices: einsum(ii, *xs)": (lambda T, *xs: T.einsum("ii", *xs), X(3, 3)),
    "matrices: einsum(ii->i, *xs)": (lambda T, *xs: T.einsum("ii->i", *xs), X(3, 3)),
    "matrices: einsum(ij->ji, *xs)": (lambda T, *xs: T.einsum("ij->ji", *xs), X(3, 2)),
    # linalg
    "linalg: inverse": (lambda T, *xs: T.inverse(*xs), *regular((3, 3))),
    "linalg: det": (lambda T, *xs: T.det(*xs), *regular((2, 2))),
    "linalg: linalg.slogdet(x).logabsdet": (
        lambda T, x: T.linalg.slogdet(x).logabsdet,
        *regular((3, 3)),
    ),
    "linalg: slogdet(x)[1]": (lambda T, x: T.slogdet(x)[1], *regular((2, 3, 3))),
    "linalg: logdet(positive(T, x))": (lambda T, x: T.logdet(positive(T, x)), *regular((2, 3, 3))),
    "linalg: linalg.solve": (lambda T, *xs: T.linalg.solve(*xs), *regular((3, 3), (3, 2))),
    "linalg: linalg.solve 2": (lambda T, *xs: T.linalg.solve(*xs), *regular((3, 3), (3,))),
    "linalg: linalg.solve 3": (lambda T, *xs: T.linalg.solve(*xs), *regular((2, 3, 3), (2, 3))),
    "linalg: linalg.solve 4": (lambda T, *xs: T.linalg.solve(*xs), *regular((2, 3, 3), (3,))),
    "linalg: linalg.solve 5": (lambda T, *xs: T.linalg.solve(*xs), *regular((2, 3, 3), (3, 2))),
    "linalg: linalg.solve 6": (lambda T, *xs: T.linalg.solve(*xs), *regular((3, 3), (4, 3, 2))),
    "linalg: linalg.solve 7": (
        lambda T, *xs: T.linalg.solve(*xs),
        *regular((2, 1, 3, 3), (4, 3, 2)),
    ),
    "linalg: linalg.solve(a, b, left=False)": (
        lambda T, a, b: T.linalg.solve(a, b, left=False),
        *regular((3, 3), (2, 3)),
    ),
    "linalg: linalg.solve_triangular(a, b, upper=True, left=False)": (
        lambda T, a, b: T.linalg.solve_triangular(a, b, upper=True, left=False),
        *regular((3, 3), (2, 3)),
    ),
    "linalg: linalg.solve_triangular(a, b, upper=False)": (
        lambda T, a, b: T.linalg.solve_triangular(a, b, upper=False),
        *regular((2, 3, 3), (3, 2)),
    ),
    "linalg: cholesky_solve(b, tril(a))": (
        lambda T, a, b: T.cholesky_solve(b, T.tril(a)),
        *regular((3, 3), (3, 2)),
    ),
    "linalg: cholesky_solve(b, triu(a), upper=True)": (
        lambda T, a, b: T.cholesky_solve(b, T.triu(a), upper=True),
        *regular((3, 3), (3, 2)),
    ),
    "linalg: pinverse": (lambda T, *xs: T.pinverse(*xs), *regular((4, 3))),
    "linalg: linalg.pinv(positive(T, x), hermitian=True)": (
        lambda T, x: T.linalg.pinv(positive(T, x), hermitian=True),
        *regular((3, 3)),
    ),
    "linalg: linalg.lstsq(a, b, driver=gels).solution": (
        lambda T, a, b: T.linalg.lstsq(a, b, driver="gels").solution,
        *regular((4, 3), (4, 2)),
    ),
    "linalg: linalg.lstsq(a, b, driver=gelsd).residuals": (
        lambda T, a, b: T.linalg.lstsq(a, b, driver="gelsd").residuals,
        *regular((4, 3), (4, 2)),
    ),
    "linalg: linalg.cholesky(positive(T, x))": (
        lambda T, x: T.linalg.cholesky(positive(T, x)),
        *regular((3, 3)),
    ),
    "linalg: linalg.cholesky(positive(T, x), upper=True)": (
        lambda T, x: T.linalg.cholesky(positive(T, x), upper=True),
        *regular((2, 3, 3)),
    ),
    "linalg: linalg.eigh(positive(T, x)).eigenvectors ** 2": (
        lambda T, x: T.linalg.eigh(positive(T, x)).eigenvectors ** 2,
        *regular((3, 3)),
    ),
    "linalg: linalg.svd(x).S": (lambda T, x: T.linalg.svd(x).S, *regular((4, 3))),
    "linalg: linalg.qr(x, complete)[1]": (
        lambda T, x: T.linalg.qr(x, "complete")[1],
        *regular((3, 4)),
    ),
    "linalg: matrix_exp": (lambda T, *xs: T.matrix_exp(*xs), *regular((2, 2))),
    "linalg: matrix_power(x, 2)": (lambda T, x: T.matrix_power(x, 2), *regular((2, 3, 3))),
    "linalg: linalg.cross": (lambda T, *xs: T.linalg.cross(*xs), *regular((2, 3), (2, 3))),
    "linalg: linalg.cross 2": (lambda T, *xs: T.linalg.cross(*xs), *regular((1, 3), (2, 3))),
    "linalg: linalg.cross(a, b, dim=0)": (
        lambda T, a, b: T.linalg.cross(a, b, dim=0),
        *regular((3, 2), (3, 2)),
    ),
    "linalg: linalg.vecdot": (lambda T, *xs: T.linalg.vecdot(*xs), *regular((2, 3), (2, 3))),
    "linalg: linalg.diagonal": (lambda T, *xs: T.linalg.diagonal(*xs), *regular((2, 3, 3))),
    "linalg: linalg.vector_norm(x, 3, dim=(0, 1), keepdim=True)": (
        lambda T, x: T.linalg.vector_norm(x, 3, dim=(0, 1), keepdim=True),
        *regular((2, 3, 2)),
    ),
    "linalg: linalg.norm": (lambda T, *xs: T.linalg.norm(*xs), *regular((2, 3, 2))),
    "linalg: linalg.norm(x, 2, dim=1)": (lambda T, x: T.linalg.norm(x, 2, dim=1), *regular((4, 3))),
    "linalg: linalg.norm(x, nuc, dim=(1, 2))": (
        lambda T, x: T.linalg.norm(x, "nuc", dim=(1, 2)),
        *regular((2, 3, 4)),
    ),
    "linalg: norm(x, nuc)": (lambda T, x: T.norm(x, "nuc"), *regular((4, 3))),
    # linalg whole
    "linalg whole: rebuilt(*linalg.svd(x, full_matrices=False))": (
        lambda T, x: rebuilt(*T.linalg.svd(x, full_matrices=False)),
        *regular((4, 3)),
    ),
    "linalg whole: rebuilt(*linalg.svd(x))": (
        lambda T, x: rebuilt(*T.linalg.svd(x)),
        *regular((2, 3, 3)),
    ),
    "linalg whole: (lambda u, s, vh: u * exp(s)[..., None, :] @ vh)(*linalg.svd(x, False))": (
        lambda T, x: (lambda u, s, vh: u * T.exp(s)[..., None, :] @ vh)(*T.linalg.svd(x, False)),
        *regular((3, 4)),
    ),
    "linalg whole: (lambda q, r: q @ r)(*linalg.qr(x))": (
        lambda T, x: (lambda q, r: q @ r)(*T.linalg.qr(x)),
        *regular((3, 4)),
    ),
    "linalg whole: (lambda q, r: q @ tril(r.mT))(*linalg.qr(x))": (
        lambda T, x: (lambda q, r: q @ T.tril(r.mT))(*T.linalg.qr(x)),
        *regular((2, 4, 3)),
    ),
    "linalg whole: (lambda w, v: v * log(w) @ v.mT)(*linalg.eigh(positive(T, x)))": (
        lambda T, x: (lambda w, v: v * T.log(w) @ v.mT)(*T.linalg.eigh(positive(T, x))),
        *regular((3, 3)),
    ),
    "linalg whole: (lambda s, d: s * exp(d))(*linalg.slogdet(x))": (
        lambda T, x: (lambda s, d: s * T.exp(d))(*T.linalg.slogdet(x)),
        *regular((2, 3, 3)),
    ),
    "linalg whole: (lambda low: low @ low.mT)(linalg.cholesky(positive(T, x)))": (
        lambda T, x: (lambda low: low @ low.mT)(T.linalg.cholesky(positive(T, x))),
        *regular((3, 3)),
    ),
    # linalg degenerate
    "linalg degenerate: linalg.eigh(x)[0]": (lambda T, x: T.linalg.eigh(x)[0], ONE),
    "linalg degenerate: linalg.eigvalsh(x)": (lambda T, x: T.linalg.eigvalsh(x), ONE),
    "linalg degenerate: linalg.eigvalsh(x)[0]": (lambda T, x: T.linalg.eigvalsh(x)[0], ONE),
    "linalg degenerate: linalg.eigh(x)[1]": (lambda T, x: T.linalg.eigh(x)[1], ONE),
    "linalg degenerate: linalg.svd(x)[1]": (lambda T, x: T.linalg.svd(x)[1], ONE),
    "linalg degenerate: linalg.svdvals(x)": (lambda T, x: T.linalg.svdvals(x), NONE),
    "linalg degenerate: linalg.matrix_norm(x, nuc)": (
        lambda T, x: T.linalg.matrix_norm(x, "nuc"),
        ONE,
    ),
    "linalg degenerate: linalg.svd(x)[0]": (lambda T, x: T.linalg.svd(x)[0], ONE),
    "linalg degenerate: linalg.svd(x)[2]": (lambda T, x: T.linalg.svd(x)[2], ONE),
    "linalg degenerate: linalg.matrix_norm(x, 2)": (lambda T, x: T.linalg.matrix_norm(x, 2), ONE),
    "linalg degenerate: linalg.matrix_norm(x, -2)": (lambda T, x: T.linalg.matrix_norm(x, -2), ONE),
    "linalg degenerate: linalg.matrix_norm(x, 1)": (lambda T, x: T.linalg.matrix_norm(x, 1), ONE),
    "linalg degenerate: linalg.matrix_norm(x, INF)": (
        lambda T, x: T.linalg.matrix_norm(x, INF),
        [[1.0, 1.0], [1.0, 0.0]],
    ),
    "linalg degenerate: linalg.matrix_norm(x)": (lambda T, x: T.linalg.matrix_norm(x), NONE),
    "linalg degenerate: linalg.pinv(x)": (lambda T, x: T.linalg.pinv(x), RANK1),
    "linalg degenerate: linalg.pinv(x) 2": (lambda T, x: T.linalg.pinv(x), NONE),
    "linalg degenerate: linalg.lstsq of RANK1": (
        lambda T, x: T.linalg.lstsq(x, constant(T, [[1.0], [2.0]], x))[0],
        RANK1,
    ),
    "linalg degenerate: linalg.slogdet(x)[1]": (lambda T, x: T.linalg.slogdet(x)[1], RANK1),
    "linalg degenerate: logdet(x)": (lambda T, x: T.logdet(x), RANK1),
    "linalg degenerate: logdet(x) 2": (lambda T, x: T.logdet(x), [[1.0, 2.0], [1.0, 1.0]]),
    # pointwise
    "pointwise: abs": (lambda T, *xs: T.abs(*xs), [0.0, -0.0, inf, -inf]),
    "pointwise: relu": (lambda T, *xs: T.relu(*xs), [0.0, -0.0, nan]),
    "pointwise: round": (lambda T, *xs: T.round(*xs), [0.5, 1.5, 2.5, -0.5]),
    "pointwise: sign": (lambda T, *xs: T.sign(*xs), [0.0, nan, -inf]),
    "pointwise: floor": (lambda T, *xs: T.floor(*xs), [-0.5, 2.0, inf]),
    "pointwise: frac": (lambda T, *xs: T.frac(*xs), [-1.25, 2.0]),
    "pointwise: sqrt": (lambda T, *xs: T.sqrt(*xs), [0.0, -1.0, inf]),
    "pointwise: rsqrt": (lambda T, *xs: T.rsqrt(*xs), [0.0, inf]),
    "pointwise: reciprocal": (lambda T, *xs: T.reciprocal(*xs), [0.0, -inf]),
    "pointwise: log": (lambda T, *xs: T.log(*xs), [0.0, -1.0, inf]),
    "pointwise: log1p": (lambda T, *xs: T.log1p(*xs), [-1.0, inf]),
    "pointwise: exp": (lambda T, *xs: T.exp(*xs), [-inf, 0.0, 10000.0]),
    "pointwise: sigmoid": (lambda T, *xs: T.sigmoid(*xs), [-inf, 800.0, -740.0]),
    "pointwise: tanh": (lambda T, *xs: T.tanh(*xs), [-inf, 30.0]),
    "pointwise: asin": (lambda T, *xs: T.asin(*xs), [1.0, 2.0]),
    "pointwise: acos": (lambda T, *xs: T.acos(*xs), [-1.0, 2.0]),
    "pointwise: atanh": (lambda T, *xs: T.atanh(*xs), [1.0, -1.0]),
    "pointwise: atan": (lambda T, *xs: T.atan(*xs), [inf, -inf]),
    "pointwise: erf": (lambda T, *xs: T.erf(*xs), [inf, 0.0]),
    "pointwise: erfinv": (lambda T, *xs: T.erfinv(*xs), [1.0, -1.0]),
    "pointwise: erfc": (lambda T, *xs: T.erfc(*xs), [25.0]),
    "pointwise: sinc": (lambda T, *xs: T.sinc(*xs), [0.0]),
    "pointwise: logit": (lambda T, *xs: T.logit(*xs), [0.0, 1.0]),
    "pointwise: logit eps": (lambda T, x: T.logit(x, eps=0.25), [0.0, 0.25, 0.5, 0.9]),
    "pointwise: round decimals": (lambda T, x: T.round(x, decimals=1), [0.25, -1.26]),
    "pointwise: nan_to_num": (lambda T, *xs: T.nan_to_num(*xs), [nan, inf, -inf, 2.0]),
    "pointwise: nan_to_num numbers": (
        lambda T, x: T.nan_to_num(x, nan=1.0, posinf=2.0, neginf=3.0),
        [nan, inf, -inf],
    ),
    "pointwise: clamp": (lambda T, x: T.clamp(x, -1, 1), [-2.0, -1.0, 0.5, 1.0, 2.0, nan]),
    "pointwise: clamp crossed": (lambda T, x: x.clip(1, 0), [-1.0, 0.5, 2.0]),
    "pointwise: clamp_min": (lambda T, x: x.clamp_min(1), [0.0, 1.0, 2.0]),
    "pointwise: clamp_max": (lambda T, x: x.clamp_max(1), [0.0, 1.0, 2.0]),
    # pointwise ties
    "pointwise ties: maximum": (lambda T, *xs: T.maximum(*xs), 2.0, 2.0),
    "pointwise ties: minimum": (lambda T, *xs: T.minimum(*xs), 2.0, 2.0),
    "pointwise ties: fmax": (lambda T, *xs: T.fmax(*xs), 2.0, 2.0),
    "pointwise ties: fmin": (lambda T, *xs: T.fmin(*xs), 2.0, 2.0),
    "pointwise ties: fmax of nan": (lambda T, *xs: T.fmax(*xs), nan, 2.0),
    "pointwise ties: fmin with nan": (lambda T, *xs: T.fmin(*xs), 2.0, nan),
    "pointwise ties: atan2": (lambda T, *xs: T.atan2(*xs), 0.0, 0.0),
    "pointwise ties: logaddexp": (lambda T, *xs: T.logaddexp(*xs), 1000.0, 1000.0),
    "pointwise ties: xlogy": (lambda T, *xs: T.xlogy(*xs), 0.0, 2.0),
    "pointwise ties: clamp min": (lambda T, a, b: T.clamp(a, min=b), 1.0, 1.0),
    "pointwise ties: clamp max": (lambda T, a, b: T.clamp(a, max=b), 2.0, 1.0),
    "pointwise ties: clamp both": (lambda T, a, b: T.clamp(a, b, b + 1), 0.0, 1.0),
    "pointwise ties: clamp_min": (lambda T, *xs: T.clamp_min(*xs), 0.0, 1.0),
    "pointwise ties: clamp_max": (lambda T, *xs: T.clamp_max(*xs), 1.0, 1.0),
    # numbers
    "numbers: x + 2": (lambda T, x: x + 2, PAIR),
    "numbers: 2 + x": (lambda T, x: 2 + x, PAIR),
    "numbers: x - 2.5": (lambda T, x: x - 2.5, PAIR),
    "numbers: 2 - x": (lambda T, x: 2 - x, PAIR),
    "numbers: x * 3": (lambda T, x: x * 3, PAIR),
    "numbers: True * x": (lambda T, x: True * x, PAIR),
    "numbers: x / 4": (lambda T, x: x / 4, PAIR),
    "numbers: x / 0": (lambda T, x: x / 0, PAIR),
    "numbers: x.sub(1, alpha=2)": (lambda T, x: x.sub(1, alpha=2), PAIR),
    "numbers: 2 / x": (lambda T, x: 2 / x, PAIR),
    "numbers: div(2, x)": (lambda T, x: T.div(2, x), PAIR),
    "numbers: sub(2, x)": (lambda T, x: T.sub(2, x), PAIR),
    "numbers: x % 1.5": (lambda T, x: x % 1.5, PAIR),
    "numbers: fmod(x, 1.5)": (lambda T, x: T.fmod(x, 1.5), PAIR),
    "numbers: -x": (lambda T, x: -x, PAIR),
    "numbers: abs(x)": (lambda T, x: abs(x), PAIR),
    "numbers: x ** 2": (lambda T, x: x**2, PAIR),
    "numbers: x ** 0": (lambda T, x: x**0, PAIR),
    "numbers: x ** 1": (lambda T, x: x**1, PAIR),
    "numbers: x ** 3.0": (lambda T, x: x**3.0, PAIR),
    "numbers: x ** (-1)": (lambda T, x: x ** (-1), PAIR),
    "numbers: x ** (-2)": (lambda T, x: x ** (-2), PAIR),
    "numbers: x ** 0.5": (lambda T, x: x**0.5, PAIR),
    "numbers: x ** (-0.5)": (lambda T, x: x ** (-0.5), PAIR),
    "numbers: x ** 2.37": (lambda T, x: x**2.37, PAIR),
    "numbers: x ** 101": (lambda T, x: x**101, PAIR),
    "numbers: 2 ** x": (lambda T, x: 2**x, PAIR),
    "numbers: (-2) ** x": (lambda T, x: (-2) ** x, PAIR),
    # shaping
    "shaping: x.reshape(3, 2)": (lambda T, x, s: x.reshape(3, 2), SIX, MORE),
    "shaping: x.t().reshape(6)": (lambda T, x, s: x.t().reshape(6), SIX, MORE),
    "shaping: x.view(3, -1)": (lambda T, x, s: x.view(3, -1), SIX, MORE),
    "shaping: x.view_as(s.t().clone())": (lambda T, x, s: x.view_as(s.t().clone()), SIX, MORE),
    "shaping: x.reshape_as(s.t())": (lambda T, x, s: x.reshape_as(s.t()), SIX, MORE),
    "shaping: x.flatten()": (lambda T, x, s: x.flatten(), SIX, MORE),
    "shaping: flatten(x.unsqueeze(0), 1)": (
        lambda T, x, s: T.flatten(x.unsqueeze(0), 1),
        SIX,
        MORE,
    ),
    "shaping: x.unflatten(1, (3, 1))": (lambda T, x, s: x.unflatten(1, (3, 1)), SIX, MORE),
    "shaping: x.t().ravel()": (lambda T, x, s: x.t().ravel(), SIX, MORE),
    "shaping: x.unsqueeze(1).squeeze(1)": (lambda T, x, s: x.unsqueeze(1).squeeze(1), SIX, MORE),
    "shaping: x.unsqueeze(0).squeeze()": (lambda T, x, s: x.unsqueeze(0).squeeze(), SIX, MORE),
    "shaping: x.unsqueeze(0).squeeze((0, 1))": (
        lambda T, x, s: x.unsqueeze(0).squeeze((0, 1)),
        SIX,
        MORE,
    ),
    "shaping: x.unsqueeze(-1)": (lambda T, x, s: x.unsqueeze(-1), SIX, MORE),
    "shaping: x.expand(2, 2, 3)": (lambda T, x, s: x.expand(2, 2, 3), SIX, MORE),
    "shaping: x[:1].expand(2, -1)": (lambda T, x, s: x[:1].expand(2, -1), SIX, MORE),
    "shaping: x[0].expand_as(s)": (lambda T, x, s: x[0].expand_as(s), SIX, MORE),
    "shaping: broadcast_to(x[0], (2, 3))": (
        lambda T, x, s: T.broadcast_to(x[0], (2, 3)),
        SIX,
        MORE,
    ),
    "shaping: broadcast_tensors(x[0], s)[0]": (
        lambda T, x, s: T.broadcast_tensors(x[0], s)[0],
        SIX,
        MORE,
    ),
    "shaping: atleast_2d(x[0])": (lambda T, x, s: T.atleast_2d(x[0]), SIX, MORE),
    "shaping: atleast_3d(x[0])": (lambda T, x, s: T.atleast_3d(x[0]), SIX, MORE),
    "shaping: x.t()": (lambda T, x, s: x.t(), SIX, MORE),
    "shaping: x.T": (lambda T, x, s: x.T, SIX, MORE),
    "shaping: x.mT": (lambda T, x, s: x.mT, SIX, MORE),
    "shaping: x.transpose(0, 1)": (lambda T, x, s: x.transpose(0, 1), SIX, MORE),
    "shaping: x.swapaxes(-1, 0)": (lambda T, x, s: x.swapaxes(-1, 0), SIX, MORE),
    "shaping: x.permute(1, 0)": (lambda T, x, s: x.permute(1, 0), SIX, MORE),
    "shaping: x.unsqueeze(0).movedim(0, -1)": (
        lambda T, x, s: x.unsqueeze(0).movedim(0, -1),
        SIX,
        MORE,
    ),
    "shaping: x.select(1, -1)": (lambda T, x, s: x.select(1, -1), SIX, MORE),
    "shaping: x.narrow(1, 1, 2)": (lambda T, x, s: x.narrow(1, 1, 2), SIX, MORE),
    "shaping: x.chunk(2, 1)[1]": (lambda T, x, s: x.chunk(2, 1)[1], SIX, MORE),
    "shaping: x.split(2, dim=1)[0]": (lambda T, x, s: x.split(2, dim=1)[0], SIX, MORE),
    "shaping: x.split([1, 2], 1)[1]": (lambda T, x, s: x.split([1, 2], 1)[1], SIX, MORE),
    "shaping: x.unbind(1)[2]": (lambda T, x, s: x.unbind(1)[2], SIX, MORE),
    "shaping: tensor_split(x, 2, dim=1)[0]": (
        lambda T, x, s: T.tensor_split(x, 2, dim=1)[0],
        SIX,
        MORE,
    ),
    "shaping: x.diagonal()": (lambda T, x, s: x.diagonal(), SIX, MORE),
    "shaping: x.diagonal(1)": (lambda T, x, s: x.diagonal(1), SIX, MORE),
    "shaping: diag(x)": (lambda T, x, s: T.diag(x), SIX, MORE),
    "shaping: diag(x[0], -1)": (lambda T, x, s: T.diag(x[0], -1), SIX, MORE),
    "shaping: diag_embed(x)": (lambda T, x, s: T.diag_embed(x), SIX, MORE),
    "shaping: diag_embed(x, 1, 0, 2)": (lambda T, x, s: T.diag_embed(x, 1, 0, 2), SIX, MORE),
    "shaping: x.flip(0, 1)": (lambda T, x, s: x.flip(0, 1), SIX, MORE),
    "shaping: fliplr(x)": (lambda T, x, s: T.fliplr(x), SIX, MORE),
    "shaping: flipud(x)": (lambda T, x, s: T.flipud(x), SIX, MORE),
    "shaping: x.roll(1)": (lambda T, x, s: x.roll(1), SIX, MORE),
    "shaping: x.roll((1, -1), (0, 1))": (lambda T, x, s: x.roll((1, -1), (0, 1)), SIX, MORE),
    "shaping: rot90(x)": (lambda T, x, s: T.rot90(x), SIX, MORE),
    "shaping: rot90(x, 3)": (lambda T, x, s: T.rot90(x, 3), SIX, MORE),
    "shaping: x.tile(2)": (lambda T, x, s: x.tile(2), SIX, MORE),
    "shaping: x.repeat(2, 1, 2)": (lambda T, x, s: x.repeat(2, 1, 2), SIX, MORE),
    "shaping: x.repeat_interleave(2)": (lambda T, x, s: x.repeat_interleave(2), SIX, MORE),
    "shaping: x.repeat_interleave(2, dim=1)": (
        lambda T, x, s: x.repeat_interleave(2, dim=1),
        SIX,
        MORE,
    ),
    "shaping: x.repeat_interleave(tensor([2, 1]), 0)": (
        lambda T, x, s: x.repeat_interleave(T.tensor([2, 1]), 0),
        SIX,
        MORE,
    ),
    "shaping: cat([x, s[:1], x])": (lambda T, x, s: T.cat([x, s[:1], x]), SIX, MORE),
    "shaping: cat((x, s), dim=-1)": (lambda T, x, s: T.cat((x, s), dim=-1), SIX, MORE),
    "shaping: stack([x, s], 1)": (lambda T, x, s: T.stack([x, s], 1), SIX, MORE),
    "shaping: hstack([x, s])": (lambda T, x, s: T.hstack([x, s]), SIX, MORE),
    "shaping: vstack([x[0], s])": (lambda T, x, s: T.vstack([x[0], s]), SIX, MORE),
    "shaping: dstack([x, s])": (lambda T, x, s: T.dstack([x, s]), SIX, MORE),
    "shaping: column_stack([x[:, 0], s])": (
        lambda T, x, s: T.column_stack([x[:, 0], s]),
        SIX,
        MORE,
    ),
    "shaping: x.tril()": (lambda T, x, s: x.tril(), SIX, MORE),
    "shaping: x.triu(1)": (lambda T, x, s: x.triu(1), SIX, MORE),
    "shaping: meshgrid(x[0], s[:, 0], indexing=ij)[0]": (
        lambda T, x, s: T.meshgrid(x[0], s[:, 0], indexing="ij")[0],
        SIX,
        MORE,
    ),
    "shaping: meshgrid(x[0], s[:, 0], indexing=xy)[1]": (
        lambda T, x, s: T.meshgrid(x[0], s[:, 0], indexing="xy")[1],
        SIX,
        MORE,
    ),
    "shaping: x.unfold(1, 2, 1)": (lambda T, x, s: x.unfold(1, 2, 1), SIX, MORE),
    "shaping: x.unfold(0, 1, 1)": (lambda T, x, s: x.unfold(0, 1, 1), SIX, MORE),
    "shaping: select_scatter(x, s[0], 0, 1)": (
        lambda T, x, s: T.select_scatter(x, s[0], 0, 1),
        SIX,
        MORE,
    ),
    "shaping: slice_scatter(x, s[:, :2], 1, 0, 3, 2)": (
        lambda T, x, s: T.slice_scatter(x, s[:, :2], 1, 0, 3, 2),
        SIX,
        MORE,
    ),
    "shaping: diagonal_scatter(x, s[0, :2])": (
        lambda T, x, s: T.diagonal_scatter(x, s[0, :2]),
        SIX,
        MORE,
    ),
    # reading
    "reading: x[0]": (lambda T, x, s: x[0], SIX, MORE),
    "reading: x[-1, 2]": (lambda T, x, s: x[-1, 2], SIX, MORE),
    "reading: x[1:]": (lambda T, x, s: x[1:], SIX, MORE),
    "reading: x[:, ::2]": (lambda T, x, s: x[:, ::2], SIX, MORE),
    "reading: x[0, 1:]": (lambda T, x, s: x[0, 1:], SIX, MORE),
    "reading: x[...]": (lambda T, x, s: x[...], SIX, MORE),
    "reading: x[None, :, 0]": (lambda T, x, s: x[None, :, 0], SIX, MORE),
    "reading: x[..., None, 1]": (lambda T, x, s: x[..., None, 1], SIX, MORE),
    "reading: x[rows]": (lambda T, x, s: x[rows(T)], SIX, MORE),
    "reading: x[:, cols]": (lambda T, x, s: x[:, cols(T)], SIX, MORE),
    "reading: x[rows, cols[:2]]": (lambda T, x, s: x[rows(T), cols(T)[:2]], SIX, MORE),
    "reading: x[[0, 1], [2, 2]]": (lambda T, x, s: x[[0, 1], [2, 2]], SIX, MORE),
    "reading: x[[1, 1, 0]]": (lambda T, x, s: x[[1, 1, 0]], SIX, MORE),
    "reading: x[rows[:, None], cols]": (lambda T, x, s: x[rows(T)[:, None], cols(T)], SIX, MORE),
    "reading: x.unsqueeze(1)[rows, :, cols[:2]]": (
        lambda T, x, s: x.unsqueeze(1)[rows(T), :, cols(T)[:2]],
        SIX,
        MORE,
    ),
    "reading: x[mask]": (lambda T, x, s: x[mask(T)], SIX, MORE),
    "reading: x[:, tensor([True, False, True])]": (
        lambda T, x, s: x[:, T.tensor([True, False, True])],
        SIX,
        MORE,
    ),
    "reading: x[tensor([True, False]), cols]": (
        lambda T, x, s: x[T.tensor([True, False]), cols(T)],
        SIX,
        MORE,
    ),
    "reading: x[True]": (lambda T, x, s: x[True], SIX, MORE),
    "reading: x[tensor(1)]": (lambda T, x, s: x[T.tensor(1)], SIX, MORE),
    "reading: x[1, cols]": (lambda T, x, s: x[1, cols(T)], SIX, MORE),
    "reading: x[:0]": (lambda T, x, s: x[:0], SIX, MORE),
    "reading: x[range(2)]": (lambda T, x, s: x[range(2)], SIX, MORE),
    "reading: gather(x, 1, table)": (lambda T, x, s: T.gather(x, 1, table(T)), SIX, MORE),
    "reading: x.gather(0, rows[:, None])": (
        lambda T, x, s: x.gather(0, rows(T)[:, None]),
        SIX,
        MORE,
    ),
    "reading: x.index_select(1, cols)": (lambda T, x, s: x.index_select(1, cols(T)), SIX, MORE),
    "reading: take(x, table)": (lambda T, x, s: T.take(x, table(T)), SIX, MORE),
    "reading: take_along_dim(x, table[:, :1], 1)": (
        lambda T, x, s: T.take_along_dim(x, table(T)[:, :1], 1),
        SIX,
        MORE,
    ),
    "reading: masked_select(x, mask)": (lambda T, x, s: T.masked_select(x, mask(T)), SIX, MORE),
    "reading: masked_select(x, mask[0])": (
        lambda T, x, s: T.masked_select(x, mask(T)[0]),
        SIX,
        MORE,
    ),
    "reading: x.masked_fill(mask, 7.0)": (lambda T, x, s: x.masked_fill(mask(T), 7.0), SIX, MORE),
    "reading: x.masked_fill(mask, s[0, 0])": (
        lambda T, x, s: x.masked_fill(mask(T), s[0, 0]),
        SIX,
        MORE,
    ),
    "reading: x.masked_scatter(mask, s)": (lambda T, x, s: x.masked_scatter(mask(T), s), SIX, MORE),
    "reading: x.index_add(1, cols, s)": (lambda T, x, s: x.index_add(1, cols(T), s), SIX, MORE),
    "reading: x.index_add(0, rows, s, alpha=3)": (
        lambda T, x, s: x.index_add(0, rows(T), s, alpha=3),
        SIX,
        MORE,
    ),
    "reading: x.index_copy(0, rows, s)": (lambda T, x, s: x.index_copy(0, rows(T), s), SIX, MORE),
    "reading: x.index_fill(1, cols, 0.0)": (
        lambda T, x, s: x.index_fill(1, cols(T), 0.0),
        SIX,
        MORE,
    ),
    "reading: x.index_fill(1, cols[:1], s[1, 1])": (
        lambda T, x, s: x.index_fill(1, cols(T)[:1], s[1, 1]),
        SIX,
        MORE,
    ),
    "reading: x.index_put((rows, cols[:2]), s[0, :2])": (
        lambda T, x, s: x.index_put((rows(T), cols(T)[:2]), s[0, :2]),
        SIX,
        MORE,
    ),
    "reading: x.index_put((mask,), s[0, 0])": (
        lambda T, x, s: x.index_put((mask(T),), s[0, 0]),
        SIX,
        MORE,
    ),
    "reading: x.index_put((rows,), s[0], accumulate=True)": (
        lambda T, x, s: x.index_put((rows(T),), s[0], accumulate=True),
        SIX,
        MORE,
    ),
    "reading: x.scatter(1, table, s[:, :2])": (
        lambda T, x, s: x.scatter(1, table(T), s[:, :2]),
        SIX,
        MORE,
    ),
    "reading: x.scatter(1, table, 5.0)": (lambda T, x, s: x.scatter(1, table(T), 5.0), SIX, MORE),
    "reading: x.scatter_add(1, table, s[:, :2])": (
        lambda T, x, s: x.scatter_add(1, table(T), s[:, :2]),
        SIX,
        MORE,
    ),
    # writing
    "writing: setitem(y, 0, s[1])": (written(lambda T, y, s: setitem(y, 0, s[1])), SIX, MORE),
    "writing: setitem(y, np.s_[:, 1], s[0, 0])": (
        written(lambda T, y, s: setitem(y, np.s_[:, 1], s[0, 0])),
        SIX,
        MORE,
    ),
    "writing: setitem(y, np.s_[1, 1:], 3.0)": (
        written(lambda T, y, s: setitem(y, np.s_[1, 1:], 3.0)),
        SIX,
        MORE,
    ),
    "writing: setitem(y, ..., s[0])": (written(lambda T, y, s: setitem(y, ..., s[0])), SIX, MORE),
    "writing: setitem(y, rows, s[1])": (
        written(lambda T, y, s: setitem(y, rows(T), s[1])),
        SIX,
        MORE,
    ),
    "writing: setitem(y, np.s_[:, cols[:2]], s[:, :2])": (
        written(lambda T, y, s: setitem(y, np.s_[:, cols(T)[:2]], s[:, :2])),
        SIX,
        MORE,
    ),
    "writing: setitem(y, mask, s[0, 0])": (
        written(lambda T, y, s: setitem(y, mask(T), s[0, 0])),
        SIX,
        MORE,
    ),
    "writing: setitem(y, mask, s[0])": (
        written(lambda T, y, s: setitem(y, mask(T), s[0])),
        SIX,
        MORE,
    ),
    "writing: setitem(y, np.s_[rows, cols[:2]], 0.0)": (
        written(lambda T, y, s: setitem(y, np.s_[rows(T), cols(T)[:2]], 0.0)),
        SIX,
        MORE,
    ),
    "writing: setitem(y, np.s_[0, cols[:2]], s[0, :2])": (
        written(lambda T, y, s: setitem(y, np.s_[0, cols(T)[:2]], s[0, :2])),
        SIX,
        MORE,
    ),
    "writing: setitem(y, tensor([True, False]), s[0])": (
        written(lambda T, y, s: setitem(y, T.tensor([True, False]), s[0])),
        SIX,
        MORE,
    ),
    "writing: setitem(y, (None, 0), s[1])": (
        written(lambda T, y, s: setitem(y, (None, 0), s[1])),
        SIX,
        MORE,
    ),
    "writing: setitem(y, 0, y[1])": (written(lambda T, y, s: setitem(y, 0, y[1])), SIX, MORE),
    "writing: setitem(y, 0, imul(y[0], s[0]))": (
        written(lambda T, y, s: setitem(y, 0, imul(y[0], s[0]))),
        SIX,
        MORE,
    ),
    "writing: setitem(y, rows, iadd(y[rows], 1.0))": (
        written(lambda T, y, s: setitem(y, rows(T), iadd(y[rows(T)], 1.0))),
        SIX,
        MORE,
    ),
    "writing: y.copy_(s[0])": (written(lambda T, y, s: y.copy_(s[0])), SIX, MORE),
    "writing: y.masked_fill_(mask, s[0, 0])": (
        written(lambda T, y, s: y.masked_fill_(mask(T), s[0, 0])),
        SIX,
        MORE,
    ),
    "writing: y.masked_scatter_(mask, s)": (
        written(lambda T, y, s: y.masked_scatter_(mask(T), s)),
        SIX,
        MORE,
    ),
    "writing: y.index_fill_(1, cols, 2.0)": (
        written(lambda T, y, s: y.index_fill_(1, cols(T), 2.0)),
        SIX,
        MORE,
    ),
    "writing: y.index_put_((rows,), s[0], accumulate=True)": (
        written(lambda T, y, s: y.index_put_((rows(T),), s[0], accumulate=True)),
        SIX,
        MORE,
    ),
    "writing: y.index_add_(1, cols, s)": (
        written(lambda T, y, s: y.index_add_(1, cols(T), s)),
        SIX,
        MORE,
    ),
    "writing: y.index_copy_(0, rows, s)": (
        written(lambda T, y, s: y.index_copy_(0, rows(T), s)),
        SIX,
        MORE,
    ),
    "writing: y.scatter_(1, table, s[:, :2])": (
        written(lambda T, y, s: y.scatter_(1, table(T), s[:, :2])),
        SIX,
        MORE,
    ),
    "writing: y.scatter_(1, table, 4.0)": (
        written(lambda T, y, s: y.scatter_(1, table(T), 4.0)),
        SIX,
        MORE,
    ),
    "writing: y.scatter_add_(1, table, s[:, :2])": (
        written(lambda T, y, s: y.scatter_add_(1, table(T), s[:, :2])),
        SIX,
        MORE,
    ),
    "writing: y.diagonal().copy_(s[0, :2])": (
        written(lambda T, y, s: y.diagonal().copy_(s[0, :2])),
        SIX,
        MORE,
    ),
    "writing: y.t_().mul_(s.t())": (written(lambda T, y, s: y.t_().mul_(s.t())), SIX, MORE),
    "writing: y.unsqueeze_(0).mul_(s)": (
        written(lambda T, y, s: y.unsqueeze_(0).mul_(s)),
        SIX,
        MORE,
    ),
    "writing: y.transpose_(0, 1).squeeze_()": (
        written(lambda T, y, s: y.transpose_(0, 1).squeeze_()),
        SIX,
        MORE,
    ),
}


# --- functions of one operand ----------------------------------------------------------------------

INSIDE = [-0.9, -0.31, 0.02, 0.55, 0.97]
POSITIVE = [1e-3, 0.4, 1.0, 2.7, 35.0]
REAL = [-3.3, -0.7, -1e-4, 0.3, 1.4, 6.1]
SMOOTH = {
    **dict.fromkeys(
        ["abs", "ceil", "cos", "cosh", "deg2rad", "erf", "exp2", "floor", "frac", "neg", "rad2deg", "reciprocal", "relu", "round", "sgn", "sign", "sin", "sinh", "square", "tan", "tanh", "trunc"], REAL),
    **dict.fromkeys(["acos", "asin", "atanh", "erfinv"], INSIDE),
    **dict.fromkeys(["log", "log10", "log2", "rsqrt", "sqrt"], POSITIVE),
    **{key: [*REAL, 100000.0] for key in ("asinh", "atan")},
    **{key: [-1.3, 0.2, 1.5, 30.0] for key in ("digamma", "lgamma")},
    "acosh": [1.001, 1.5, 30.0], "erfc": [*REAL, 20.0], "exp": [*REAL, -700.0, 700.0],
    "expm1": [*REAL, 1e-12, -50.0], "log1p": [-0.9, 1e-12, 2.0], "logit": [0.01, 0.3, 0.5, 0.98],
    "sigmoid": [*REAL, -700.0], "sinc": [-3.3, -0.7, 0.3, 1.4, 6.1],
}  # fmt: skip
EXAMPLES |= {
    **{
        f"{n} at points": (lambda T, x, n=n: getattr(T, n)(x), at)
        for n, at in SMOOTH.items()
    },
    **{
        f"{n}: a method": (lambda T, x, n=n: getattr(x, n)(), at)
        for n, at in SMOOTH.items()
    },
    **{
        f"{n}: in place": (changed(lambda y, n=n: getattr(y, f"{n}_")()), at)
        for n, at in SMOOTH.items()
    },
}  # fmt: skip

# --- quantiles, sorting, scanning --------------------------------------------------------------------

OF_NOTHING = {
    "sort 0": lambda T, x: x.sort(0)[0], "sort 1": lambda T, x: x.sort(1)[0],
    "topk": lambda T, x: x.topk(0)[0], "kthvalue": lambda T, x: x.kthvalue(1, 1)[0],
    "median": lambda T, x: x.median(1)[0], "diff": lambda T, x: x.diff(),
    **{f"{n} {d}": lambda T, x, n=n, d=d: getattr(x, n)(d)
       for n in ("cumsum", "cumprod", "logcumsumexp", "cummax") for d in (0, 1)},
}  # fmt: skip
EXAMPLES |= {
    **{
        f"quantile {n}": (lambda T, x, n=n: x.quantile(0.4, interpolation=n), V4)
        for n in ("lower", "higher", "nearest", "midpoint")
    },
    **{
        f"{n} of nothing": (f, EMPTY)
        for n, f in OF_NOTHING.items()
    },
}  # fmt: skip

# --- products --------------------------------------------------------------------------------------

EXAMPLES |= {
    "x.T @ y.T": (lambda T, x, y: x.T @ y.T, X(3, 2), X(4, 3)),
    "x @ x.T": (lambda T, x: x @ x.T, X(3, 2)),
    "x.T @ x": (lambda T, x: x.T @ x, X(3, 2)),
    **{
        f"x @ y with nothing to sum {s}": (lambda T, x, y: x @ y, *map(np.ones, s))
        for s in (((2, 0), (0, 3)), ((0, 2), (2, 3)), ((0,), (0,)))
    },
    **{
        f"{n}: a method": (lambda T, x, y, n=n: getattr(x, n)(y), X(2, 2), X(2, 2))
        for n in ("matmul", "mm", "inner", "kron")
    },
    "addmm: in place": (lambda T, x, y: (x * 1).addmm_(x, y), X(2, 2), X(2, 2)),
    "trace: a method": (lambda T, x: x.trace(), X(3, 2)),
}  # fmt: skip

# --- decompositions --------------------------------------------------------------------------------

S3, T43, W34, BATCH = (3, 3), (4, 3), (3, 4), (2, 3, 3)
B43, B34 = (2, 4, 3), (2, 3, 4)
LINALG = {
    "inv": (lambda T, x: T.linalg.inv(x), (S3, BATCH, (1, 1), (2, 1, 2, 2))),
    "det": (lambda T, x: T.linalg.det(x), (S3, (4, 4), BATCH, (1, 1))),
    "pinv": (lambda T, x: T.linalg.pinv(x), (S3, T43, W34, B43, B34, (1, 3))),
    "eigvalsh L": (lambda T, x: T.linalg.eigvalsh(positive(T, x), UPLO="L"), (S3, BATCH)),
    "eigvalsh U": (lambda T, x: T.linalg.eigvalsh(positive(T, x), UPLO="U"), (S3, BATCH)),
    "svdvals": (lambda T, x: T.linalg.svdvals(x), (S3, T43, W34, B34)),
    "svd U": (lambda T, x: T.linalg.svd(x, full_matrices=False).U ** 2, (S3, T43, W34, B43)),
    "svd Vh": (lambda T, x: T.linalg.svd(x).Vh[..., :3, :] ** 2, (S3, T43, W34, B34)),
    "qr Q": (lambda T, x: T.linalg.qr(x).Q, (S3, T43, W34, B43, B34)),
    "qr R": (lambda T, x: T.linalg.qr(x).R, (S3, T43, W34, B43, B34)),
    "matrix_exp": (lambda T, x: T.linalg.matrix_exp(x / 4), ((2, 2), S3, (2, 2, 2))),
    "norm of all": (lambda T, x: T.linalg.norm(x), ((2, 3, 2),)),
    **{f"matrix_power {n}": (lambda T, x, n=n: T.linalg.matrix_power(x, n), (S3,))
       for n in (0, 1, 2, 3, 5, -1, -2)},
    **{f"matrix_norm {o}": (lambda T, x, o=o: T.linalg.matrix_norm(x, o), (T43, B34))
       for o in ("fro", "nuc", INF, -INF, 1, -1, 2, -2)},
    **{f"matrix_norm {o} {dim}": (
        lambda T, x, o=o, d=dim: T.linalg.matrix_norm(x, o, dim=d, keepdim=d[0] == 2), ((3, 2, 4),))
       for o in ("fro", "nuc", INF, -INF, 1, -1, 2, -2) for dim in ((2, 0), (0, 2))},
    **{f"vector_norm {o}": (lambda T, x, o=o: T.linalg.vector_norm(x, o), (T43,))
       for o in (1, -1, 2, -2, 3.5, INF, -INF)},
    **{f"norm {o}": (lambda T, x, o=o: T.linalg.norm(x, o), (T43, (4,)))
       for o in (None, 1, -1, 2, -2, INF, -INF)},
    **{f"cond {p}": (lambda T, x, p=p: T.linalg.cond(x, p), (S3,)) for p in (None, 2, -2, "nuc")},
    **{f"a method: {n}": (lambda T, x, n=n: getattr(positive(T, x), n)(), (S3,))
       for n in ("det", "inverse", "logdet", "matrix_exp", "pinverse")},
    "a method: slogdet": (lambda T, x: x.slogdet()[1], (S3,)),
    "a method: matrix_power": (lambda T, x: x.matrix_power(3), (S3,)),
    "a method: cross": (lambda T, x: x.cross(x.T, dim=1), (S3,)),
    "cross along the first axis of length 3": (lambda T, x: T.cross(x, x.T), (S3,)),
    "cross of columns": (lambda T, x: T.cross(x, x.T, 0), (S3,)),
    "a keyword": (lambda T, x: T.linalg.inv(A=x), (S3,)),
    "eigh: product": (lambda T, x: T.linalg.eigh(positive(T, x))[0].prod(), (S3,)),
    "inv of nothing": (lambda T, x: T.linalg.inv(x), ((0, 3, 3),)),
    "svd of nothing": (lambda T, x: T.linalg.svd(x)[0], ((0, 3, 3),)),
    "svd: product": (lambda T, x: T.linalg.svd(x)[1].prod(), (S3,)),
}  # fmt: skip
EXAMPLES |= {
    **{
        f"linalg: {n} {s}": (f, *regular(s))
        for n, (f, shapes) in LINALG.items()
        for s in shapes
    },
    **{
        f"linalg: solve_triangular {u} {k}": (
            lambda T, a, b, u=u, k=k: T.linalg.solve_triangular(a, b, upper=u, unitriangular=k),
            *regular(S3, (3, 2)))
        for u, k in itertools.product((True, False), repeat=2)
    },
    **{
        f"linalg: lstsq {s}": (lambda T, a, b: T.linalg.lstsq(a, b).solution, *regular(*s))
        for s in ((T43, (4, 2)), (W34, (3, 2)), (S3, S3), (B43, (2, 4, 1)), (B34, (2, 3, 2)))
    },
    **{
        f"linalg: lstsq by {k} {s}": (
            lambda T, a, b, k=k: tuple(T.linalg.lstsq(a.detach(), b.detach(), driver=k)), *regular(*s))
        for k in (None, "gels", "gelsy", "gelsd", "gelss")
        for s in ((T43, (4, 2)), (W34, (3, 2)), (B43, (2, 4, 2)), (T43, (4,)))
    },
    **{
        f"linalg: multi_dot {s}": (lambda T, *xs: T.linalg.multi_dot(xs), *regular(*s))
        for s in ([(2, 3), (3, 4)], [(2, 3), (3, 4), (4, 5)], [(3,), (3, 4), (4,)], [(3,), (3, 4)],
                  [(2, 5), (5, 1), (1, 4), (4, 3)])
    },
    **{
        f"linalg: pinv of rank 2 {s}": (lambda T, a, b: T.linalg.pinv(a @ b, rtol=1e-5),
            *regular((s[0], 2), (2, s[1])))
        for s in (T43, W34)
    },
}  # fmt: skip
ASYMMETRIC = [[2.0, 7.0], [1.0, 3.0]]
EXAMPLES |= {
    "linalg: one triangle: cholesky": (lambda T, x: T.linalg.cholesky(x), ASYMMETRIC),
    "linalg: one triangle: eigvalsh": (lambda T, x: T.linalg.eigvalsh(x), ASYMMETRIC),
    "linalg: one triangle: eigvalsh U": (lambda T, x: T.linalg.eigvalsh(x, UPLO="U"), ASYMMETRIC),
    "linalg: one triangle: cholesky U": (lambda T, x: T.linalg.cholesky(x, upper=True), [[9.0, 3.0], [-1.0, 4.0]]),
    "linalg: one triangle of a system": (
        lambda T, a, b: T.linalg.solve_triangular(a, b, upper=False), [[2.0, NAN], [1.0, 3.0]], [[1.0], [2.0]]),
    "linalg: a unit triangle of a system": (
        lambda T, a, b: T.linalg.solve_triangular(a, b, upper=True, unitriangular=True), [[2.0, 5.0], [1.0, 3.0]], [[1.0], [2.0]]),
}  # fmt: skip

# --- nn.functional ---------------------------------------------------------------------------------

POINTS = [-1000.0, -3.0, -0.5, 0.25, 6.0, 21.0, 1000.0]
ACTIVATIONS = [
    *((n, {}) for n in ["relu", "relu6", "hardtanh", "leaky_relu", "elu", "selu", "gelu", "silu", "mish", "softplus", "softsign", "logsigmoid", "sigmoid", "tanh", "tanhshrink", "hardshrink", "softshrink", "hardswish"]),
    ("hardtanh", {"min_val": -2, "max_val": 0.25}), ("leaky_relu", {"negative_slope": 0.25}),
    ("elu", {"alpha": 0.5}), ("celu", {"alpha": 0.5}), ("gelu", {"approximate": "tanh"}),
    ("softplus", {"beta": 2, "threshold": 5}), ("threshold", {"threshold": 0.25, "value": 7}),
]  # fmt: skip
# Those of which the side of a second derivative at the kink, 0, differs.
SIDED = ("elu", "celu", "selu", "relu", "relu6")


def activation(name, words):
    return lambda T, x: getattr(T.nn.functional, name)(x, **words)


EXAMPLES |= {
    **{
        f"F.{n} {kw or ''} at points": (activation(n, kw), POINTS + ([] if n in SIDED else [0.0]))
        for n, kw in ACTIVATIONS
    },
    # Of tanh it would be 1 - y², far out: only the absolute error is small.
    **{
        f"F.{n} {kw or ''} smooth": (activation(n, kw), [[-2.3, -0.8, -0.3], [0.4, 1.7, 4.4]])
        for n, kw in ACTIVATIONS
        if n != "tanh"
    },
    **{
        f"F.{n} of nan": (lambda T, x, n=n: getattr(T.nn.functional, n)(x.detach()), [NAN])
        for n in ("relu", "relu6", "leaky_relu", "elu", "gelu", "silu", "softplus", "hardtanh")
    },
    **{
        f"F.{n} far out": (lambda T, x, n=n: getattr(T.nn.functional, n)(x, dim=0), [1000.0, -1000.0, 999.0])
        for n in ("softmax", "log_softmax", "softmin")
    },
    **{
        f"F.linear {shapes}": (lambda T, *xs: T.nn.functional.linear(*xs), *[X(*s) for s in shapes])
        for shapes in (((4, 3), (2, 3), (2,)), ((4, 3), (2, 3)), ((3,), (2, 3), (2,)),
                       ((5, 4, 3), (2, 3), (2,)), ((5, 4, 3), (2, 3)), ((4, 3), (3,)))
    },
    "F.prelu": (lambda T, x, w: T.nn.functional.prelu(x, w), X(4, 3), X(3)),
    "F.prelu one": (lambda T, x, w: T.nn.functional.prelu(x, w), X(4, 3), [0.3]),
}  # fmt: skip

SCORES, TARGETS = [[0.5, -1.0, 2.0], [1.5, 0.0, -0.5]], [[0.25, 1.0, 0.0], [0.75, 0.5, 0.125]]
WEIGHTS = [1.0, 2.0, 0.5]
BY_PLACE = [
    ("mse_loss", {}), ("mse_loss", {"reduction": "sum"}), ("mse_loss", {"reduction": "none"}), ("l1_loss", {}),
    ("l1_loss", {"reduction": "none"}), ("smooth_l1_loss", {}), ("smooth_l1_loss", {"beta": 0.5, "reduction": "sum"}),
    ("smooth_l1_loss", {"beta": 0.0}), ("huber_loss", {}), ("huber_loss", {"delta": 0.5, "reduction": "none"}),
    ("binary_cross_entropy", {}), ("binary_cross_entropy", {"weight": WEIGHTS, "reduction": "sum"}),
    ("binary_cross_entropy", {"reduction": "none"}), ("binary_cross_entropy_with_logits", {}),
    ("binary_cross_entropy_with_logits", {"reduction": "none"}), ("binary_cross_entropy_with_logits", {"weight": WEIGHTS}),
    ("binary_cross_entropy_with_logits", {"pos_weight": WEIGHTS, "reduction": "sum"}),
    ("binary_cross_entropy_with_logits", {"weight": WEIGHTS, "pos_weight": WEIGHTS}),
    ("cross_entropy", {}), ("cross_entropy", {"weight": WEIGHTS, "reduction": "sum"}),
    ("cross_entropy", {"label_smoothing": 0.3, "reduction": "none"}), ("kl_div", {"log_target": True, "reduction": "sum"}),
]  # fmt: skip
BY_CLASS = [
    ("cross_entropy", {}), ("cross_entropy", {"reduction": "none"}), ("cross_entropy", {"weight": WEIGHTS}),
    ("cross_entropy", {"weight": WEIGHTS, "reduction": "sum"}), ("cross_entropy", {"ignore_index": 0}),
    ("cross_entropy", {"label_smoothing": 0.3}), ("cross_entropy", {"label_smoothing": 0.3, "weight": WEIGHTS}),
    ("cross_entropy", {"label_smoothing": 0.3, "ignore_index": 2, "reduction": "none"}),
    ("nll_loss", {}), ("nll_loss", {"weight": WEIGHTS}), ("nll_loss", {"ignore_index": 2, "reduction": "none"}),
]  # fmt: skip


def loss(name, words, classes=None):
    """A loss of scores and targets, or of scores and given classes; lists become tensors."""

    def call(T, x, *target):
        given = {k: constant(T, v, x) if isinstance(v, list) else v for k, v in words.items()}
        x = x.sigmoid() if name == "binary_cross_entropy" else x
        targets = target or (T.tensor(classes),)
        return getattr(T.nn.functional, name)(x, *targets, **given)

    return call


EXAMPLES |= {
    **{
        f"F.{n} {kw}": (loss(n, kw), SCORES, TARGETS)
        for n, kw in BY_PLACE
    },
    **{
        f"F.kl_div {r}": (loss("kl_div", {"reduction": r}), SCORES, [[0.27, 0.87, 0.07], [0.67, 0.47, 0.17]])
        for r in ("batchmean", "none")
    },
    **{
        f"F.{n} by class {kw}": (loss(n, kw, [2, 0]), SCORES)
        for n, kw in BY_CLASS
    },
    **{
        f"F.cross_entropy of images {r} {kw}": (
            loss("cross_entropy", {**kw, "reduction": r}, [[[1, -100], [0, 2]], [[2, 2], [1, 0]]]),
            X(2, 3, 2, 2))
        for r, kw in itertools.product(("mean", "sum", "none"), ({}, {"weight": WEIGHTS}))
    },
    **{
        f"F.{n} at its kink": (loss(n, {}), [1.0, 2.0], [1.0, 2.0])
        for n in ("l1_loss", "smooth_l1_loss", "huber_loss", "mse_loss")
    },
}  # fmt: skip
LOGITS = [-1000.0, -5.0, 0.0, 5.0, 1000.0]
EXAMPLES |= {
    "F.binary_cross_entropy_with_logits far out": (loss("binary_cross_entropy_with_logits", {"reduction": "none"}), LOGITS, [1.0, 0.0, 1.0, 1.0, 0.0]),
    "F.cross_entropy far out": (loss("cross_entropy", {}, [1, 1]), [[1000.0, -1000.0, 0.0], [-1000.0, 1000.0, 3.0]]),
    "F.cross_entropy far out smoothed": (loss("cross_entropy", {"label_smoothing": 0.3}, [1, 1]), [[1000.0, -1000.0, 0.0], [-1000.0, 1000.0, 3.0]]),
    "F.cross_entropy one example": (loss("cross_entropy", {}, 1), [1.0, 2.0, 3.0]),
    "F.cross_entropy ignored": (loss("cross_entropy", {}, [-100, -100]), np.zeros((2, 3))),
    "F.nll_loss of -inf ignored": (loss("nll_loss", {"ignore_index": 0}, [0, 1]), [[-INF, -1.0], [-1.0, -2.0]]),
    "F.mse_loss weighted": (loss("mse_loss", {"weight": [1.0, 3.0]}), [1.0, 2.0], [0.0, 0.0]),
    "F.l1_loss weighted": (loss("l1_loss", {"weight": [1.0, 3.0], "reduction": "sum"}), [1.0, 2.0], [0.0, 0.0]),
    "F.huber_loss weighted": (loss("huber_loss", {"weight": [1.0, 3.0], "reduction": "none"}), [1.0, 2.0], [0.0, 0.0]),
}  # fmt: skip
PADS = [
    ((1, 2), {}), ((1, 0, 0, 1), {"value": 7.0}), ((-1, 1), {}), ((2, 1), {"mode": "replicate"}),
    ((1, 1), {"mode": "reflect"}), ((1, 1), {"mode": "circular"}),
]  # fmt: skip
EXAMPLES |= {
    f"F.pad {w} {kw}": (
        lambda T, x, w=w, kw=kw: T.nn.functional.pad(x, w, **kw),
        [[1.0, 2.0], [3.0, 4.0]],
    )
    for w, kw in PADS
}

# --- arithmetic, selections ------------------------------------------------------------------------

AT, BESIDE = [0.5, 2.0], [0.3, 1.6, 2.45, -0.9]
AUGMENTED = {
    "iadd": op.iadd, "isub": op.isub, "imul": op.imul, "itruediv": op.itruediv, "ipow": op.ipow, "imod": op.imod,
    "add_ alpha": lambda y, v: y.add_(v, alpha=2), "sub_": lambda y, v: y.sub_(v), "div_": lambda y, v: y.div_(v),
}  # fmt: skip
EXAMPLES |= {
    **{
        f"{n} of a number": (changed(lambda y, f=f: f(y, 3)), AT)
        for n, f in AUGMENTED.items()
    },
    **{
        f"{n} of a tensor": (changed(f), AT, [3.0, 3.0])
        for n, f in AUGMENTED.items()
    },
}  # fmt: skip
IN_PLACE = {
    "mul_": lambda y: y.mul_(y * 1), "pow_": lambda y: y.pow_(2), "remainder_": lambda y: y.remainder_(1.5),
    "fmod_": lambda y: y.fmod_(1.5), "addcmul_": lambda y: y.addcmul_(y * 1, y * 1, value=2),
    "addcdiv_": lambda y: y.addcdiv_(y * 1, (y * 1) ** 2), "lerp_": lambda y: y.lerp_(y * 0 + 1, 0.25),
    "clamp_": lambda y: y.clamp_(0.4, 2), "clamp_min_": lambda y: y.clamp_min_(0.4),
    "nan_to_num_": lambda y: y.nan_to_num_(), "fill_ of a number": lambda y: y.fill_(7), "zero_": lambda y: y.zero_(),
}  # fmt: skip
EXAMPLES |= {f"{n} of what it changes": (changed(f), [0.3, 1.6, 2.5]) for n, f in IN_PLACE.items()}
EXAMPLES |= {
    "add alpha": (lambda T, a, b: T.add(a, b, alpha=3), BESIDE, [0.7, 1.2, -3.1, 0.2]),
    "add alpha 0.25": (lambda T, a, b: a.add(b, alpha=0.25), BESIDE, [0.7, 1.2, -3.1, 0.2]),
    "sub alpha": (lambda T, a, b: T.sub(a, b, alpha=3), BESIDE, [0.7, 1.2, -3.1, 0.2]),
    **{f"another name: {n}": (lambda T, a, b, n=n: getattr(T, n)(a, b), BESIDE, [0.7, 1.2, -3.1, 0.2])
       for n in ("subtract", "multiply", "divide", "true_divide", "rsub")},
    "lerp beyond": (lambda T, a, b: T.lerp(a, b, b), BESIDE, [0.7, 1.2, -3.1, 0.2]),
    "lerp 0.75": (lambda T, a, b: a.lerp(b, 0.75), BESIDE, [0.7, 1.2, -3.1, 0.2]),
    "addcmul plain": (lambda T, a, b: a.addcmul(b, b), BESIDE, [0.7, 1.2, -3.1, 0.2]),
    "float32 beside float64": (lambda T, a, b: a.float() * b, [1.0, 2.0], 3.0),
    "atan2_": (changed(lambda y, v: y.atan2_(v)), [0.3, 1.6, 2.5], [1.0, 1.0, 1.0]),
    "fill_ of a tensor": (changed(lambda y, v: y.fill_(v)), [1.0, 2.0, 3.0], 4.0),
    "hypot far out": (lambda T, a, b: T.hypot(a * 1e18, b * 1e18), [3.0, 0.0], [4.0, -3.0]),
    "xlogy by a number": (lambda T, x: T.xlogy(x, 2), AT),
    "xlogy of a number": (lambda T, x: T.xlogy(2, x), AT),
    "where beside a row": (lambda T, a, b: T.where(T.tensor([[True, False], [False, False]]), a, b),
                           [[1.0, 2.0], [3.0, 4.0]], [5.0, 6.0]),
    "where 0": (lambda T, a: a.where(T.tensor([[True, False], [False, False]]), 0), [[1.0, 2.0], [3.0, 4.0]]),
    **{f"x ** {p}": (lambda T, x, p=p: x**p, AT) for p in (-0.5, 2.37, 40)},
}  # fmt: skip

# --- other ways to say it ----------------------------------------------------------------------------

WAYS = {
    "view(size=(3, 2))": lambda T, x: x.view(size=(3, 2)), "view(Size)": lambda T, x: x.view(T.Size([6])),
    "reshape(shape=(3, 2))": lambda T, x: x.reshape(shape=(3, 2)), "expand(size=)": lambda T, x: x.expand(size=(2, 2, 3)),
    "permute(dims=)": lambda T, x: x.permute(dims=(1, 0)), "permute([1, 0])": lambda T, x: x.permute([1, 0]),
    "flip(dims=)": lambda T, x: x.flip(dims=(0,)), "repeat(repeats=)": lambda T, x: x.repeat(repeats=(2, 1)),
    "tile(dims=)": lambda T, x: x.tile(dims=(2,)), "split(split_size=)": lambda T, x: x.split(split_size=1)[0],
    "split(tensor=)": lambda T, x: T.split(tensor=x, split_size_or_sections=1)[0],
    "roll(shifts=)": lambda T, x: T.roll(x, shifts=1, dims=0), "unflatten(sizes=)": lambda T, x: T.unflatten(x, dim=1, sizes=(3, -1)),
    "movedim(source=)": lambda T, x: T.movedim(x, source=0, destination=1), "view of 0-d": lambda T, x: x.sum().view(1, 1),
    "expand of 0-d": lambda T, x: x.sum().expand(3), "repeat of 0-d": lambda T, x: x.sum().repeat(2),
    "stack of 0-d": lambda T, x: T.stack([x.sum(), x.sum()]), "hstack of 0-d": lambda T, x: T.hstack([x.sum(), x.sum()]),
}  # fmt: skip
EXAMPLES |= {f"another way: {n}": (f, SIX) for n, f in WAYS.items()}
AT_0_D = {
    "gather": lambda T, x: x.gather(0, T.tensor(0)), "gather twice": lambda T, x: x.gather(0, T.tensor([0, 0])),
    "scatter": lambda T, x: x.scatter(0, T.tensor(0), x * 2), "scatter_add": lambda T, x: x.scatter_add(0, T.tensor(0), x * 2),
    "index_select": lambda T, x: x.index_select(0, T.tensor([0])), "index_add": lambda T, x: x.index_add(0, T.tensor([0]), x),
    "index_copy": lambda T, x: x.index_copy(0, T.tensor([0]), x * 2), "index_fill": lambda T, x: x.index_fill(0, T.tensor([0]), 5.0),
    "take": lambda T, x: T.take(x, T.tensor([0])), "masked_select": lambda T, x: T.masked_select(x, T.tensor(True)),
    "masked_fill": lambda T, x: x.masked_fill(T.tensor([True, False]), 0.0), "[None]": lambda T, x: x[None],
    "[...]": lambda T, x: x[...], "[True]": lambda T, x: x[T.tensor(True)],
}  # fmt: skip
EXAMPLES |= {f"without dimensions: {n}": (f, 3.0) for n, f in AT_0_D.items()}
PLACES = {
    "index_put twice": (lambda T, x, v: x.index_put((T.tensor([1, 1, 0]),), v, accumulate=True), [0.0, 0.0], [1.0, 2.0, 4.0]),
    "index_add alpha twice": (lambda T, x, v: x.index_add(0, T.tensor([1, 1]), v, alpha=3), [0.0, 0.0], [1.0, 1.0]),
    "scatter multiply": (lambda T, x: x.detach().scatter(0, T.tensor([1, 1]), 3.0, reduce="multiply"), [1.0, 1.0]),
    "writing nowhere": (written(lambda T, y: (setitem(y, False, 7.0), setitem(y, T.tensor([False, False]), 7.0))), [1.0, 2.0]),
}  # fmt: skip
EXAMPLES |= PLACES

# --- without operands --------------------------------------------------------------------------------

PROMOTED = [
    (op.add, "float32", "float64"), (op.add, "float16", "float32"), (op.add, "float32", "0-d float64"),
    (op.add, "0-d float64", "float32"), (op.add, "0-d float64", "0-d float32"), (op.mul, "int64", "0-d float64"),
    (op.mul, "int64", 1.5), (op.mul, "int64", "float16"), (op.add, "int32", 5), (op.add, "int32", "int64"),
    (op.add, "int32", "0-d int64"), (op.add, "int64", "0-d int32"), (op.add, "uint8", "int8"), (op.add, "uint8", "int32"),
    (op.add, "uint8", "0-d int64"), (op.sub, "uint8", 1), (op.add, "bool", "bool"), (op.mul, "bool", "bool"),
    (op.add, "bool", 1), (op.add, "bool", True), (op.add, "bool", 1.5), (op.mul, "bool", "uint8"), (op.mul, "bool", "float16"),
    (op.truediv, "int64", "int64"), (op.truediv, "int64", 2), (op.truediv, "uint8", "float16"), (op.truediv, "bool", "bool"),
    (op.truediv, "float64", 2), (op.floordiv, "int64", "int32"), (op.floordiv, "int64", 2.5), (op.mod, "int32", 2),
    (op.mod, "bool", 2), (op.pow, "int64", 2), (op.pow, "int64", 2.0), (op.pow, "int32", "int64"), (op.pow, "bool", 2),
    (op.pow, "float64", "int64"), (op.pow, "float32", "0-d float64"), ("atan2", "float32", "int64"), ("atan2", "int64", "int64"),
    ("xlogy", "int64", 2), ("maximum", "int64", "float32"), ("maximum", "bool", "bool"), ("fmax", "int32", "float64"),
    ("clamp", "int64", 0), ("clamp", "int64", 0.5), ("clamp", "bool", 0), ("clamp", "float32", "0-d float64"),
    ("add", 1, "float64"), (op.add, "float32", np.float64(2)), (op.mul, "int64", np.float32(2)), (op.add, "int32", np.int64(2)),
]  # fmt: skip


def given(T, operand):
    """A number, or 1 and 2 of a dtype, or 2 as a tensor of a dtype without dimensions."""
    if not isinstance(operand, str):
        return operand
    numbers = T.tensor(2) if operand.startswith("0-d ") else T.tensor([1, 2])
    return numbers.to(getattr(T, operand.removeprefix("0-d ")))


CONSTANTS = {
    "reducing: sum of ints": lambda T: T.tensor([1, 2], dtype=T.int32).sum(),
    "reducing: sum of truth": lambda T: T.tensor([True, True]).sum(0),
    "reducing: sum to a dtype": lambda T: T.tensor([1, 2]).sum(dtype=T.float64),
    "reducing: prod of truth": lambda T: T.tensor([True, False]).prod(),
    "reducing: mean to a dtype": lambda T: T.tensor([1, 2]).mean(dtype=T.float32),
    "reducing: all": lambda T: T.tensor([1.0, 0.0]).all(),
    "reducing: any dims": lambda T: T.tensor([[1, 0], [0, 0]]).any(dim=1),
    "reducing: all of uint8": lambda T: T.tensor([1, 2], dtype=T.uint8).all(),
    "reducing: argmax": lambda T: T.tensor([[1.0, 5.0], [7.0, 2.0]]).argmax(1),
    "reducing: argmax of all": lambda T: T.tensor([[1.0, 5.0], [7.0, 2.0]]).argmax(),
    "reducing: argmin keepdim": lambda T: T.tensor([[1.0, 5.0]]).argmin(0, keepdim=True),
    "reducing: count_nonzero": lambda T: T.tensor([[1, 0], [0, 0]]).count_nonzero(0),
    "reducing: logsumexp of ints": lambda T: T.tensor([0, 0]).logsumexp(0),
    "reducing: softmax to a dtype": lambda T: T.tensor([1, 1]).softmax(0, dtype=T.float64),
    "reducing: max of ints": lambda T: T.tensor([1, 4]).max(),
    "reducing: half by columns": lambda T: [  # of which 2048 and 1 is 2048
        f(T.ones(5000, 2, dtype=T.float16), 0) for f in (T.sum, T.mean)],
    "reducing: half": lambda T: T.ones(5000, dtype=T.float16).sum(),
    **{f"of integers: {n}": lambda T, n=n: getattr(T, n)(T.tensor([1, 2])) for n in SMOOTH if n != "sinc"},
    **{f"logic: {n}": lambda T, n=n: [
        getattr(T, n)(T.tensor([0.0, 0.0, 2.0, 3.0]), T.tensor([0, 5, 0, 6])),
        getattr(T.tensor([0.0, 0.0, 2.0, 3.0]) != 0, n)(T.tensor([0, 5, 0, 6])),
        getattr(T.tensor([False, False, True, True]), f"{n}_")(T.tensor([0, 5, 0, 6])),
    ] for n in ("logical_and", "logical_or", "logical_xor")},
    **{f"question: {n}": lambda T, n=n: [
        getattr(T, n)(T.tensor([-0.0, 1.0, INF, -INF, NAN])), getattr(T.tensor([-0.0, 1.0, INF, -INF, NAN]), n)(),
        getattr(T, n)(T.tensor([-1, 0, 1])),
    ] for n in ("isnan", "isinf", "isfinite", "signbit", "logical_not")},
    **{f"compared: {n} {k}": lambda T, n=n, o=o: [
        getattr(T, n)(T.tensor([1.0, 2.0, 3.0, NAN]), o(T)), getattr(T.tensor([1.0, 2.0, 3.0, NAN]), n)(o(T)),
        getattr(op, n)(T.tensor([1.0, 2.0, 3.0, NAN]), o(T)),
    ] for n in ("eq", "ne", "lt", "le", "gt", "ge") for k, o in {
        "int": lambda T: 2, "float": lambda T: 2.0, "0-d": lambda T: T.tensor(2), "tensor": lambda T: T.tensor([2.0] * 4),
        "NumPy": lambda T: np.float64(2), "NumPy int": lambda T: np.int64(2),
    }.items()},
    **{f"compared after promotion {k}": f for k, f in enumerate([
        lambda T: T.tensor([2**24 + 1]) == 2.0**24, lambda T: T.tensor([True]) == 1, lambda T: T.tensor([3]) > 2.5,
        lambda T: T.tensor([0.1]) == 0.1, lambda T: T.tensor([0.1]) == T.tensor([0.1], dtype=T.float64),
        lambda T: T.tensor([[1.0], [2.0]]) < T.tensor([1.0, 2.0]),
    ])},
    **{f"isclose {a} {b} {kw}": lambda T, a=a, b=b, kw=kw: [
        T.isclose(T.tensor(a), T.tensor(b), **kw), T.tensor(a).isclose(T.tensor(b), **kw),
        T.tensor([T.allclose(T.tensor(a), T.tensor(b), **kw), T.tensor(a).allclose(T.tensor(b), **kw)]),
    ] for a, b, kw in [
        ([1.0, 1.0 + 1e-6], [1.0, 1.0], {}), ([1.0, 1.1], [1.0, 1.0], {"rtol": 0.2}), ([0.0, 0.0], [1e-9, 1e-3], {}),
        ([0.0], [1e-3], {"atol": 1e-2}), ([INF, INF, -INF], [INF, -INF, 1.0], {}), ([NAN, NAN], [NAN, 1.0], {}),
        ([NAN, NAN], [NAN, 1.0], {"equal_nan": True}), ([1], [1], {}),
    ]},
    **{f"bits {n}": lambda T, n=n: [
        getattr(op, n)(T.tensor([5, 6]), 3), getattr(op, n)(3, T.tensor([5, 6])),
        getattr(op, n)(T.tensor([5, 6]), T.tensor(3, dtype=T.int32)),
        getattr(op, n)(T.tensor([True, True, False]), T.tensor([True, False, True])),
        getattr(op, n)(T.tensor([True, True, False]), 1),
    ] for n in ("and_", "or_", "xor")},
    "bits: not and shifts": lambda T: [~T.tensor([5, -6]), ~T.tensor([True, False]), T.tensor([5, -6]) << 1, T.tensor([5, -6]) >> 1],
    "equal": lambda T: T.tensor([
        T.equal(T.ones(2), T.ones(2)), T.tensor([1.0, 2.0]).equal(T.tensor([1, 2])), T.equal(T.ones(2), T.ones(1)),
        T.equal(T.tensor([NAN]), T.tensor([NAN])),
    ]),
    "remainders of integers": lambda T: [f(T.tensor([7, -7, 7, -7]), T.tensor([3, 3, -3, -3])) for f in (
        op.mod, op.floordiv, T.fmod, lambda a, b: T.div(a, b, rounding_mode="trunc"), lambda a, b: 7 % b, lambda a, b: -7 // b)],
    "remainders of reals": lambda T: [f(T.tensor([5.5, -5.5])) for f in (
        lambda x: x % 2, lambda x: T.fmod(x, 2), lambda x: x // 2, lambda x: x // 0)],
    "powers of integers": lambda T: [f(T.tensor([2, -1, 1, -3])) for f in (
        lambda x: x**3, lambda x: x ** T.tensor([-1, -3, -2, 2]), lambda x: x**0.5, lambda x: 1 / x)],
    "powers to int32": lambda T: 2 ** T.tensor([3, -1], dtype=T.int32),
    "small integers wrap around": lambda T: [f(T.tensor([3], dtype=T.uint8)) for f in (lambda x: x + -1, lambda x: x + 300, lambda x: x * 300)],
    "signs of truth": lambda T: [T.sign(T.tensor([True])), T.sigmoid(T.tensor([True])), T.logical_not(T.tensor([True]))],
    "places: unique": lambda T: T.unique(T.tensor([3, 1, 3, 2]), return_inverse=True, return_counts=True),
    "places: unique rows": lambda T: T.tensor([[1, 1], [1, 1], [0, 2]]).unique(dim=0),
    "places: searchsorted": lambda T: [
        T.searchsorted(T.tensor([[1.0, 3.0], [2.0, 2.0]]), T.tensor([[1.0, 3.0], [2.0, 5.0]])),
        T.searchsorted(T.tensor([1.0, 3.0]), T.tensor([[1.0, 3.0], [2.0, 5.0]]), right=True),
        T.bucketize(T.tensor([3, 4]), T.tensor([1, 3, 5])),
    ],
    "ordering integers": lambda T: [
        T.tensor([[3, 1, 2]]).sort().values, T.tensor([[3, 1, 2]]).topk(2).indices, T.tensor([[3, 1, 2]]).median(1).indices,
        T.tensor([True, False]).sort().values, T.tensor([3.0, 1.0, 2.0]).argsort(descending=True),
        T.argsort(T.tensor([[2, 1]]), dim=1, stable=True), T.zeros(0).median(),
    ],
    "scanning integers": lambda T: [
        T.tensor([True, False, True]).cumsum(0), T.tensor([True, False, True]).diff(),
        *(f(T.tensor([3, 1, 2], dtype=T.int32)) for f in (
            lambda x: x.cumsum(0), lambda x: x.cumprod(0), lambda x: x.cumsum(0, dtype=T.float32), lambda x: x.diff(),
            lambda x: x.cummax(0)[0], lambda x: x.cummax(0)[1])),
    ],
    **{f"products of integers {a} {b}": lambda T, a=a, b=b: T.arange(math.prod(a)).reshape(a) @ T.arange(math.prod(b)).reshape(b)
       for a, b in [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((4, 2, 3), (3,)), ((4, 2, 3), (3, 2)),
                    ((3,), (4, 3, 2)), ((2, 3), (4, 3, 2)), ((4, 2, 3), (4, 3, 2)), ((2, 1, 2, 3), (1, 3, 3, 2))]},
    "products promote": lambda T: [
        T.outer(T.ones(2), T.ones(2).double()), T.kron(T.ones(2), T.ones(2).double()), T.addr(T.ones(2, 2), T.ones(2), T.ones(2).double())],
    "beta 0 does not look": lambda T: T.addmm(T.tensor([[NAN]]), T.ones(1, 1), T.ones(1, 1), beta=0),
    "linalg of integers": lambda T: [
        T.linalg.cross(T.tensor([1, 2, 3]), T.tensor([1, 0, 3])), T.linalg.matrix_power(T.tensor([[1, 1], [0, 1]]), 3)],
    "linalg: tolerances": lambda T: [f(T.diag(T.tensor([4.0, 1.0, 1e-3]))) for f in (
        lambda x: T.linalg.pinv(x, rtol=0.01), lambda x: T.linalg.pinv(x, rcond=0.5), lambda x: T.linalg.pinv(x, atol=0.01),
        lambda x: T.linalg.pinv(x, rtol=T.tensor(0.01), hermitian=True), lambda x: T.linalg.matrix_rank(x),
        lambda x: T.linalg.matrix_rank(x, atol=0.01), lambda x: T.linalg.matrix_rank(x, rtol=0.5, hermitian=True),
        lambda x: T.linalg.matrix_rank(x, tol=0.01), lambda x: T.linalg.matrix_rank(T.ones(2, 3, 3)))],
    "linalg: orders": lambda T: [
        T.linalg.vector_norm(T.tensor([1.0, 0.0, 3.0]), 0), T.linalg.matrix_norm(T.eye(2), dtype=T.float64),
        T.linalg.cond(T.zeros(2, 2), 1), T.linalg.cond(T.stack([T.tensor([[1.0, 2.0], [2.0, 4.0]]), T.eye(2)]), 1)],
    "linalg of nothing": lambda T: [
        T.linalg.det(T.ones(0, 0)), T.linalg.inv(T.ones(0, 0)), T.linalg.cholesky(T.ones(0, 0)), *T.linalg.eigh(T.ones(0, 0)),
        T.linalg.matrix_exp(T.ones(0, 0)), *T.linalg.slogdet(T.ones(0, 0)), T.linalg.pinv(T.ones(0, 3)), *T.linalg.svd(T.ones(0, 3)),
        *T.linalg.qr(T.ones(0, 3)), T.linalg.lstsq(T.ones(0, 3), T.ones(0, 2))[0], T.linalg.matrix_norm(T.ones(3, 0), 1)],
    "linalg of nan": lambda T: T.tensor([T.isnan(T.linalg.eigh(T.tensor([[NAN, 0.0], [0.0, 1.0]]))[0]).any(),
                                         T.isnan(T.linalg.matrix_exp(T.tensor([[NAN, 0.0], [0.0, 1.0]]))).any()]),
    "linalg: zeros on a diagonal": lambda T: [
        T.linalg.solve_triangular(T.tensor([[1.0, 1], [0, 0]]), T.ones(2, 1), upper=True), T.cholesky_solve(T.ones(2, 1), T.zeros(2, 2))],
    "F.one_hot": lambda T: [T.nn.functional.one_hot(T.tensor([1, 0]), 3), T.nn.functional.one_hot(T.tensor([[0, 2]]))],
    "F of integers": lambda T: [f(T.tensor([-3, 9])) for f in (T.nn.functional.relu6, T.nn.functional.hardtanh, T.nn.functional.softsign)],
    "shaping integers": lambda T: [
        T.arange(6).reshape(2, 3).t().flip(0), T.tril_indices(2, 3), T.triu_indices(2, 3, 1), T.repeat_interleave(T.tensor([1, 2]))],
    "shaping nothing": lambda T: [T.zeros(0, 3).reshape(3, 0), T.cat([T.zeros(0, 3), T.zeros(2, 3)]), T.cat([T.zeros(0), T.zeros(2, 3)])],
    "joining promotes": lambda T: [
        T.cat([T.tensor([1, 2]), T.tensor([0.5])]), T.stack([T.tensor([1, 2])] * 2), T.cat([T.ones(1), T.ones(1).double()])],
    "where indexed dimensions go": lambda T: [f(T.arange(120.0).reshape(2, 3, 4, 5), T.tensor([0, 1, 1])).contiguous() for f in (
        lambda x, i: x[:, :, i], lambda x, i: x[:, i, i], lambda x, i: x[i, :, i], lambda x, i: x[i, 0, :, 0],
        lambda x, i: x[0, :, :, i], lambda x, i: x[:, i, :, i], lambda x, i: x[:, i, None], lambda x, i: x[:1, i])],
    "indices of all kinds": lambda T: [f(T.arange(6.0).reshape(2, 3)) for f in (
        lambda x: x[np.array([1, 0])], lambda x: x[np.int64(1)], lambda x: x[[True, False]], lambda x: x[[]],
        lambda x: x[T.tensor([1], dtype=T.int32)], lambda x: x[T.tensor(1):, T.tensor([-1])], lambda x: x[mask(T)], lambda x: x[False])],
    "truth at places": lambda T: [
        T.tensor([2, 1, 0]).masked_fill(T.tensor([True, False, False]), 2.5), T.nonzero(T.tensor([False, True, True])),
        *T.nonzero(mask(T), as_tuple=True), T.nonzero(T.tensor(1)), T.argwhere(mask(T))],
    **{f"promotion {f if isinstance(f, str) else f.__name__} {a} {b}": lambda T, f=f, a=a, b=b: (
        getattr(T, f) if isinstance(f, str) else f)(given(T, a), given(T, b)) for f, a, b in PROMOTED},
    **{f"where promotes {a} {b}": lambda T, a=a, b=b: T.where(T.tensor([True, False]), given(T, a), given(T, b)) for a, b in [
        (1, 2), (1.0, 2), ("float32", 2), ("float64", 2.0), ("float32", "float64"), ("float32", "0-d float64"),
        ("int64", 1.5), ("int32", 5), ("bool", "int64")]},
    "fill_ of integers": lambda T: T.tensor([1, 2]).fill_(1.7),
    **{f"tensor of {k}": lambda T, d=d: T.tensor(d(T) if callable(d) else d) for k, d in enumerate([
        1.5, 3, True, [], [[], []], [1, 2.5], [True, 2], [[True], [0.5]], (1, (2)), range(3), np.float64(1),
        [np.float64(1), 2], [np.float32(1), 2.5], [np.int8(1), True], [np.uint8(1), np.int8(1)], np.array([1, 2], np.int16),
        [np.ones(2), np.zeros(2)], [np.ones(1, np.float32), np.zeros(1, np.int64)],
        lambda T: [T.tensor(1.5, dtype=T.float64), 2], lambda T: [T.ones(1), T.ones(1)], 1e300,
    ])},
    **{f"tensor to {k} {d}": lambda T, v=v, d=d: T.tensor(v, dtype=d if isinstance(d, type) else getattr(T, d))
       for k, (v, d) in enumerate([
        ([1.7, -1.7], "int64"), ([2, 0.0, NAN], "bool"), (-1, "uint8"), ([1], float), ([1.0], int), ([True], "half")])},
    **{f"arange {a} {kw}": lambda T, a=a, kw=kw: T.arange(
        *(v(T) if callable(v) else v for v in a), **{k: getattr(T, v) if k == "dtype" else v for k, v in kw.items()})
       for a, kw in [
        ((3,), {}), ((3.0,), {}), ((1, 3), {}), ((1, 3, 0.5), {}), ((3, 0, -1), {}), ((7, 0, -3), {}), ((2, 2), {}),
        ((3,), {"dtype": "float64"}), ((), {"end": 3}), ((), {"start": 1, "end": 6, "step": 2}), ((1,), {"end": 4, "step": 2}),
        ((True,), {}), ((2.5,), {"dtype": "int64"}), ((-1.0, 1.0, 0.1), {})]},
    "arange of tensors": lambda T: [T.arange(T.tensor(3)), T.arange(T.tensor(2.0, dtype=T.float64))],
    **{f"linspace {k}": f for k, f in enumerate([
        lambda T: T.linspace(0, 1, 1), lambda T: T.linspace(0, 1, 0), lambda T: T.linspace(0, 10, 4, dtype=T.int64),
        lambda T: T.linspace(start=T.tensor(0.0), end=1, steps=3), lambda T: T.logspace(0, 3, 4, base=2),
        lambda T: T.linspace(-1.3, 2.9, 7), lambda T: T.linspace(-1.3, 2.9, 7, dtype=T.float64)])},
    **{f"filled {k}": f for k, f in enumerate([
        lambda T: T.zeros(2, 3), lambda T: T.ones((2, 3)), lambda T: T.zeros(()), lambda T: T.zeros(T.tensor(2), np.int64(1)),
        lambda T: T.ones(size=(2,), dtype=T.int64), lambda T: T.full((2,), 1), lambda T: T.full((2,), True),
        lambda T: T.full((2,), T.tensor(1.5, dtype=T.float64)), lambda T: T.full(size=(2,), fill_value=1.5, dtype=T.int32),
        lambda T: T.eye(2, 3), lambda T: T.scalar_tensor(3), lambda T: T.empty([2, 0])])},
    **{f"like {k}": lambda T, f=f: f(T, T.ones(2, dtype=T.float64, requires_grad=True)) for k, f in enumerate([
        lambda T, x: T.zeros_like(x), lambda T, x: T.ones_like(x), lambda T, x: T.full_like(x, 2), lambda T, x: x.new_zeros(2),
        lambda T, x: x.new_ones((2,)), lambda T, x: x.new_full((2,), 3), lambda T, x: x.new_tensor([1, 2]),
        lambda T, x: T.zeros_like(x, dtype=T.int64), lambda T, x: T.zeros_like(x, requires_grad=True),
        lambda T, x: T.full_like(x.long(), 1.5), lambda T, x: x.long().new_full((2,), 3.7),
        lambda T, x: x.new_tensor([1], dtype=T.int64), lambda T, x: x.new_zeros(2, requires_grad=True)])},
    **{f"converted to {n}": lambda T, n=n: getattr(T.tensor([-1.5, 300.0, 0.0]), n)() for n in ("int", "long", "short", "bool", "half")},
    "converted nan": lambda T: [T.tensor([NAN]).bool(), T.tensor([1]).float()],
    "scalars": lambda T: [T.add(1, 2), T.xlogy(T.ones(1), 2.0)],
}  # fmt: skip


# Values that are PyTorch's to the last bit.
EXACT = ("arange", "linspace", "tensor", "filled", "like", "converted")

# Their nodes have other names here: several operations there, or reshaped ones here.
UNNAMED = (
    "without dimensions",
    "linalg: matrix_norm",
    "linalg: cond",
    "asinh: in",
    "acosh: in",
    "atanh: in",
)


def _row(name, call, *operands):
    given = [np.asarray(o, float) if not isinstance(o, type(X())) else None for o in operands]
    shapes = tuple(o if g is None else X(*g.shape) for o, g in zip(operands, given, strict=True))
    return Row(
        f"example: {name}",
        call,
        shapes,
        given=tuple(given),
        brief=True,
        named=not name.startswith(UNNAMED),
    )


def _rows():
    rows = [
        *TABLE,
        *(_row(name, *entry) for name, entry in EXAMPLES.items()),
        *(
            Row(f"value: {name}", f, orders=0, brief=True, exact=name.startswith(EXACT))
            for name, f in CONSTANTS.items()
        ),
    ]
    assert len({row.name for row in rows}) == len(rows)
    return rows


ROWS = _rows()
