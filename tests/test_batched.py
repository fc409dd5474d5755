"""Batched Jacobians and Hessians of every op against differences at high precision."""

import inspect
import math
from fractions import Fraction
from functools import cache

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

import symdiff as sd
from symdiff import opaque_ops
from symdiff.graph import ops
from symdiff.graph.algebra import PRIMITIVES, linear, opaque, pointwise, primitive
from symdiff.graph.contraction import contract, strong
from symdiff.graph.leaves import full
from symdiff.graph.node import Op, topological
from symdiff.scalars.formula import MPMATH
from tests.support import decomposition_cases, oracles
from tests.support.fields import determinant, inverse, minors
from tests.support.oracles import Case
from tests.support.orders import order_count

MATRICES = ((2, 2), (3, 3), (2, 2, 2), (2, 1, 1), (0, 0), (2, 0, 0), (0, 2, 2))
VECTORS = ((3,), (2, 3), (2, 2, 2), (1,), (2, 1), (0, 2))


def point(shapes, low=-2.0, high=2.0):
    """Distinct fractions between low and high, in no order, none of them 0."""
    rng = np.random.default_rng(5)
    size = sum(math.prod(shape) for shape in shapes)
    places = rng.permutation(2 * size + 2)[:size]
    step = Fraction(high - low) / (2 * size + 2)
    numbers = iter([Fraction(low) + step * (k + Fraction(1, k + 4)) for k in map(int, places)])
    out = []
    for shape in shapes:
        array = np.empty(shape, object)
        for place in np.ndindex(shape):
            array[place] = next(numbers)
        out.append(array)
    return out


def case(name, ours, plain, *shapes):
    return Case(name, shapes, lambda xs: ours(*xs), lambda f, xs: f.array(plain(f, *xs)))


def _beside(f, x, k):
    """The rows of x with a 0 at one of their ends."""
    zero = f.number(Fraction(0))
    return np.pad(x, ((0, 0), (k, 1 - k)), constant_values=zero)


def product_of_others(f, x):
    n = x.shape[-1]
    parts = [np.multiply.reduce(np.delete(x, i, axis=-1), axis=-1) for i in range(n)]
    return np.stack(parts, axis=-1) if n else x


def scattered(f, x, index, size):
    out = np.empty((*x.shape[: x.ndim - index.ndim], size), object)
    out[...] = f.number(Fraction(0))
    for place in np.ndindex(index.shape):
        out[..., index[place]] = out[..., index[place]] + x[(..., *place)]
    return out


def extreme(f, x, least):
    result = x[..., 0]
    for k in range(1, x.shape[-1]):
        p, q = (x[..., k], result) if least else (result, x[..., k])
        result = f.where_less(p, q, x[..., k], result)
    return result


def log_sum_exp(f, x):
    return f.call("log", f.array(f.call("exp", x).sum(axis=-1)))


def circle(f, n, part):
    function = mp.cos if part == "cos" else mp.sin
    out = np.empty((n, n), object)
    for i, j in np.ndindex(n, n):
        out[i, j] = function(2 * mp.pi * i * j / n)
    return out


def put(f, x, index, n):
    out = np.empty((*x.shape[:-1], n), object)
    out[...] = f.number(Fraction(0))
    index = np.broadcast_to(index, x.shape)
    for place in np.ndindex(x.shape):
        out[(*place[:-1], index[place])] += x[place]
    return out


def ordered(f, x):
    """Three elements in order, by comparing and exchanging."""
    x = x.copy()
    for i, j in ((0, 1), (1, 2), (0, 1)):
        a, b = x[..., i].copy(), x[..., j].copy()
        x[..., i], x[..., j] = f.where_less(a, b, a, b), f.where_less(a, b, b, a)
    return x


def recurrence(a, b, reverse):
    order = slice(None, None, -1 if reverse else 1)
    a, b = a[..., order], b[..., order].copy()
    for i in range(1, b.shape[-1]):
        b[..., i] = a[..., i] * b[..., i - 1] + b[..., i]
    return b[..., order]


INDEX = np.array([[2, 0], [2, 1]])
KEEP = np.tril(np.ones((2, 3), bool), 1)
SCATTER = ops.gather_op((3,), INDEX).transposed(0, (2, 2))
UNSLICE = ops.slice_op((5,), ((0, None, 2),), (3,)).transposed(0, (3,))


def solve_case(a, b):
    def plain(f, A, B):
        return np.einsum("...ij,...jk->...ik", inverse(f, A), B)

    op = ops.opaque_op(opaque_ops.Solve)
    return case(f"solve {a} {b}", lambda A, B: opaque(op, A, B), plain, a, b)


def matrix_cases(cls, plain, shapes=MATRICES):
    op = ops.opaque_op(cls)
    return [case(f"{op.name} {shape}", lambda x: opaque(op, x), plain, shape) for shape in shapes]


# Every op but leaves and barriers; an op inside a leading batch wherever it works on trailing axes.
CASES = {
    ops.Sum: [
        case(
            "sum", lambda x, y: 2 * x - y / 3 + 5, lambda f, x, y: 2 * x - y / 3 + 5, (2, 2), (2, 2)
        )
    ],
    ops.Product: [
        case("product", lambda x, y: x**2 / y, lambda f, x, y: x * x / y, (2, 2), (2, 2)),
        case("power", lambda x: x**-3, lambda f, x: 1 / (x * x * x), (3,)),
    ],
    ops.Pointwise: [
        case(
            "user-defined",
            lambda x: sd.pointwise("softsign", lambda v: v / (1 + sp.Abs(v)))(x),
            lambda f, x: x / (1 + f.absolute(x)),
            (3,),
        ),
        case(
            "where",
            lambda x, y: primitive("where", x < y, x * y, y**2),
            lambda f, x, y: f.where_less(x, y, x * y, y * y),
            (2, 2),
            (2, 2),
        ),
    ],
    ops.Strong: [
        case(
            f"strong {kills}",
            lambda x, y, k=kills: strong(x, y, k),
            lambda f, x, y: x * y,
            (2, 2),
            (2, 2),
        )
        for kills in ((True, False), (False, True), (True, True))
    ],
    ops.Fill: [
        case(
            "fill", lambda x: x * full((2, 2), 3) + full((2, 2), 4), lambda f, x: 3 * x + 4, (2, 2)
        )
    ],
    ops.Contract: [
        case(
            spec,
            lambda *xs, s=spec: sd.einsum(s, *xs),
            lambda f, *xs, s=spec: np.einsum(s, *xs),
            *shapes,
        )
        for spec, *shapes in (
            ("bij,bjk->bik", (2, 2, 3), (2, 3, 1)),
            ("ij,jk,kl->il", (2, 2), (2, 3), (3, 1)),
            ("bii->b", (2, 2, 2)),
            ("bii->bi", (2, 2, 2)),
            ("bij->jb", (2, 3, 1)),
            ("bi,bi->", (2, 3), (2, 3)),
            ("ij,jk->ik", (2, 0), (0, 2)),
            ("i,j->ij", (0,), (2,)),
        )
    ]
    + [
        case("repeated", lambda x: sd.einsum("bij,bjk->bik", x, x), lambda f, x: x @ x, (2, 2, 2)),
        case(
            "itself",
            lambda x: sd.einsum("bi,bj->bij", x, x),
            lambda f, x: x[..., None] * x[:, None],
            (2, 2),
        ),
        case(
            "onto a diagonal",
            lambda x: contract([(x, (0, 1))], (1, 0, 0), {}),
            lambda f, x: np.where(
                np.eye(len(x), dtype=bool), x.T[:, :, None], f.number(Fraction(0))
            ),
            (2, 3),
        ),
        case(
            "broadcast",
            lambda x: contract([(x, (0,))], (1, 0, 2), {1: 2, 2: 3}),
            lambda f, x: np.broadcast_to(x[:, None], (2, 2, 3)),
            (2,),
        ),
        case(
            "diagonal onto a diagonal",
            lambda x: contract([(x, (0, 0))], (0, 0), {}),
            lambda f, x: np.where(np.eye(len(x), dtype=bool), x, f.number(Fraction(0))),
            (3, 3),
        ),
        case(
            "identity times",
            lambda x: contract([(x, (0, 1)), (contract([], (0, 0), {0: 3}), (1, 2))], (0, 2)),
            lambda f, x: x,
            (2, 3),
        ),
        case(
            "killing",
            lambda x, y: contract([(x, (0, 1), True), (y, (1, 2))], (0, 2)),
            lambda f, x, y: np.einsum("ij,jk->ik", x, y),
            (2, 2),
            (2, 2),
        ),
    ],
    ops.Reshape: [
        case(
            "reshape",
            lambda x: linear(ops.reshape_op((2, 3), (3, 2)), x),
            lambda f, x: x.reshape((*x.shape[:-2], 3, 2)),
            (2, 2, 3),
        )
    ],
    ops.Slice: [
        case(
            "slice",
            lambda x: linear(ops.slice_op((5,), ((1, None, 2),), (2,)), x),
            lambda f, x: x[..., 1::2],
            (2, 5),
        ),
        case(
            "slice backwards",
            lambda x: linear(ops.slice_op((4,), ((3, 0, -2),), (2,)), x),
            lambda f, x: x[..., 3:0:-2],
            (2, 4),
        ),
        case(
            "empty slice",
            lambda x: linear(ops.slice_op((2,), ((0, 0, 1),), (0,)), x),
            lambda f, x: x[..., :0],
            (2, 2),
        ),
    ],
    ops.Unslice: [
        case(
            "unslice",
            lambda x: linear(UNSLICE, x),
            lambda f, x: scattered(f, x, np.array([0, 2, 4]), 5),
            (2, 3),
        )
    ],
    ops.Gather: [
        case(
            "gather",
            lambda x: linear(ops.gather_op((3,), INDEX), x),
            lambda f, x: x[..., INDEX],
            (2, 3),
        )
    ],
    ops.Scatter: [
        case(
            "scatter",
            lambda x: linear(SCATTER, x),
            lambda f, x: scattered(f, x, INDEX, 3),
            (2, 2, 2),
        )
    ],
    ops.Concat: [
        case(
            "concat",
            lambda x, y: linear(ops.concat_op(-2, (1, 2)), x, y),
            lambda f, x, y: np.concatenate([x, y], axis=-2),
            (2, 1, 2),
            (2, 2, 2),
        ),
        case(
            "concat with itself",
            lambda x: linear(ops.concat_op(-1, (2, 2)), x, x * x),
            lambda f, x: np.concatenate([x, x * x], axis=-1),
            (2, 2),
        ),
    ],
    ops.Flip: [
        case("flip", lambda x: linear(ops.flip_op((-1,)), x), lambda f, x: x[..., ::-1], (2, 3))
    ],
    ops.Cumsum: [
        case(
            "cumsum",
            lambda x: linear(ops.cumsum_op(-2), x),
            lambda f, x: np.cumsum(x, axis=-2),
            (2, 3, 1),
        ),
        case(
            "cumsum from the end",
            lambda x: linear(ops.cumsum_op(-1, reverse=True), x),
            lambda f, x: np.cumsum(x[..., ::-1], axis=-1)[..., ::-1],
            (2, 3),
        ),
    ],
    ops.Triangle: [
        case(
            "triangle",
            lambda x: linear(ops.triangle_op(True, 1), x),
            lambda f, x: np.where(KEEP, x, f.number(Fraction(0))),
            (2, 2, 3),
        )
    ],
    opaque_ops.Solve: [
        solve_case(a, b)
        for a, b in (
            ((2, 2), (2, 1)),
            ((2, 2, 2), (2, 2, 1)),
            ((2, 2), (3, 2, 1)),
            ((2, 1, 1), (3, 2, 1, 2)),
            ((0, 0), (0, 2)),
            ((2, 2), (2, 0)),
        )
    ],
    opaque_ops.Inv: matrix_cases(opaque_ops.Inv, inverse),
    opaque_ops.Det: matrix_cases(opaque_ops.Det, determinant),
    opaque_ops.Cofactor: matrix_cases(opaque_ops.Cofactor, minors),
    opaque_ops.LogAbsDet: matrix_cases(
        opaque_ops.LogAbsDet, lambda f, x: f.call("log", f.absolute(determinant(f, x)))
    ),
    opaque_ops.DetSign: matrix_cases(
        opaque_ops.DetSign,
        lambda f, x: f.each(lambda v: f.number(Fraction(-1 if v < 0 else 1)), determinant(f, x)),
    ),
    opaque_ops.Prod: matrix_cases(
        opaque_ops.Prod, lambda f, x: np.multiply.reduce(x, axis=-1), VECTORS
    ),
    opaque_ops.ProdOthers: matrix_cases(opaque_ops.ProdOthers, product_of_others, VECTORS),
    opaque_ops.Max: matrix_cases(opaque_ops.Max, lambda f, x: extreme(f, x, least=False), VECTORS),
    opaque_ops.Min: matrix_cases(opaque_ops.Min, lambda f, x: extreme(f, x, least=True), VECTORS),
    opaque_ops.LogSumExp: matrix_cases(opaque_ops.LogSumExp, log_sum_exp, VECTORS),
    ops.Shift: [
        case(
            f"shift {k}",
            lambda x, k=k: linear(ops.shift_op(k), x),
            lambda f, x, k=k: f.array(
                np.roll(np.pad(x, ((0, 0), (9, 9)), constant_values=f.number(Fraction(0))), k, -1)[
                    :, 9:-9
                ]
            ),
            (2, 3),
        )
        for k in (1, -2, 5)
    ],
    ops.Windows: [
        case(
            "windows",
            lambda x: linear(ops.windows_op(2), x),
            lambda f, x: np.stack([x[..., :-1], x[..., 1:]], axis=-1),
            (2, 3),
        )
    ],
    ops.Overlaps: [
        case(
            "overlaps",
            lambda x: linear(ops.windows_op(2).transposed(0, ()), x),
            lambda f, x: f.array(_beside(f, x[..., 0], 0) + _beside(f, x[..., 1], 1)),
            (2, 2, 2),
        )
    ],
    ops.Fourier: [
        case(
            f"fourier {part}",
            lambda x, part=part: linear(ops.fourier_op(part), x),
            lambda f, x, part=part: x @ circle(f, x.shape[-1], part),
            (2, 3),
        )
        for part in ("cos", "sin")
    ],
    opaque_ops.Take: [
        case(
            f"take {index.shape}",
            lambda x, index=index: opaque(ops.opaque_op(opaque_ops.Take), x, sd.constant(index)),
            lambda f, x, index=index: np.take_along_axis(
                x, np.broadcast_to(index, (*x.shape[:-1], index.shape[-1])), -1
            ),
            (2, 2, 3),
        )
        for index in (INDEX, INDEX[0], np.zeros((2, 0), int))
    ],
    opaque_ops.Put: [
        case(
            f"put {index.shape}",
            lambda x, index=index: opaque(opaque_ops.put_op(4), x, sd.constant(index)),
            lambda f, x, index=index: put(f, x, index, 4),
            (3, 2, 2),
        )
        for index in (INDEX, np.array([1, 1]))
    ],
    opaque_ops.ArgSort: [case("sort", sd.sort, lambda f, x: ordered(f, x), (2, 3))],
    opaque_ops.ArgMax: [
        case(
            "taken at the largest",
            lambda x: x[0, sd.argmax(x[0])] ** 2,
            lambda f, x: extreme(f, x[0], least=False) ** 2,
            (1, 3),
        )
    ],
    opaque_ops.ArgMin: [
        case(
            "taken at the smallest",
            lambda x: x[0, sd.argmin(x[0])] ** 2,
            lambda f, x: extreme(f, x[0], least=True) ** 2,
            (1, 3),
        )
    ],
    opaque_ops.SearchSorted: [
        case(
            "interp",
            lambda x, h: sd.interp(x, np.array([-5.0, 0.0, 5.0]), h),
            lambda f, x, h: f.where_less(
                x,
                f.array(x * 0),
                h[0] + (x + 5) * (h[1] - h[0]) / 5,
                h[1] + x * (h[2] - h[1]) / 5,
            ),
            (3,),
            (3,),
        )
    ],
    opaque_ops.Cumprod: matrix_cases(
        opaque_ops.Cumprod, lambda f, x: np.multiply.accumulate(x, axis=-1), VECTORS
    ),
    opaque_ops.LogCumSumExp: matrix_cases(
        opaque_ops.LogCumSumExp,
        lambda f, x: f.call("log", f.array(np.cumsum(f.call("exp", x), axis=-1))),
        VECTORS,
    ),
    opaque_ops.Recurrence: [
        case(
            f"recurrence {reverse} {a} {b}",
            lambda x, y, reverse=reverse: opaque(opaque_ops.recurrence_op(reverse), x, y),
            lambda f, x, y, reverse=reverse: recurrence(x, y, reverse),
            a,
            b,
        )
        for reverse in (False, True)
        for a, b in (((3,), (3,)), ((2, 2), (2, 2)), ((3,), (2, 3)), ((1,), (1,)), ((0,), (2, 0)))
    ],
}
CASES |= decomposition_cases.CASES

# Leaves have no operands; what a barrier does to derivatives is in tests/test_laws.py.
# Conversions between dtypes are those of Tensors: tests/eager/test_traced_ops.py maps them.
CONVERSIONS = {ops.Cast, ops.ToInteger, ops.ToReal}
LEAVES = {ops.Symbol, ops.Constant, ops.Places, ops.Exact, ops.Size, ops.Count}
# Batches of conditions are refused: tests/symdiff/test_conditions.py.
WITHOUT = LEAVES | {ops.Barrier, ops.Unknown, opaque_ops.Nonzero} | CONVERSIONS


def concrete_ops():
    """Every class of ops whose nodes there are: the abstract ones have no ``name`` of their own."""
    found = inspect.getmembers(ops, inspect.isclass)
    found += inspect.getmembers(opaque_ops, inspect.isclass)
    classes = [c for _, c in found if issubclass(c, Op)]
    return {c for c in classes if not any(d is not c and issubclass(d, c) for d in classes)} | {
        ops.Contract
    }


def test_every_op_is_covered():
    assert concrete_ops() - WITHOUT == set(CASES)


def test_every_case_has_a_node_of_its_op():
    for op, cases in CASES.items():
        for one in cases:
            f = one.ours(oracles.inputs_of(one))
            found = {type(node.op) for node in topological([f])}
            assert op in found or 0 in f.shape or one.name in ("fill", "identity times"), one.name


ALL = [one for cases in CASES.values() for one in cases]


@pytest.mark.slow
@pytest.mark.parametrize("one", ALL, ids=lambda one: one.name)
def test_jacobian_and_hessian(one):
    oracles.check_high(one, point(one.shapes))


SMALL = [one for one in ALL if sum(map(math.prod, one.shapes)) <= 8]


@pytest.mark.slow
@pytest.mark.parametrize("one", SMALL, ids=lambda one: one.name)
def test_jacobian_and_hessian_inside_a_composition(one):
    """The cotangent that meets the op is then an expression with batch axes, not an identity."""

    def plain(f, xs):
        value = one.plain(f, [f.array(x * x + x) for x in xs])
        return f.array(value * value)

    composed = Case(
        f"({one.name})**2", one.shapes, lambda xs: one.ours([x * x + x for x in xs]) ** 2, plain
    )
    oracles.check_high(composed, point(one.shapes, 0.25, 2.0))


# The scalar vocabulary ----------------------------------------------------------------------------

POSITIVE = (0.1, 3.0)
WITHIN = (-0.9, 0.9)
DOMAINS = {
    "log": POSITIVE,
    "log2": POSITIVE,
    "log10": POSITIVE,
    "gammaln": POSITIVE,
    "gamma": POSITIVE,
    "digamma": POSITIVE,
    "polygamma": POSITIVE,
    "polygamma_difference": POSITIVE,
    "beta_derivative": POSITIVE,
    "norm_sqrt": POSITIVE,
    "power": POSITIVE,
    "xlogy": POSITIVE,
    "xlog1py": WITHIN,
    "entr": POSITIVE,
    "log_ratio": POSITIVE,
    "relative_difference": POSITIVE,
    "rel_entr": POSITIVE,
    "kl_div": POSITIVE,
    "sqrt": POSITIVE,
    "log1p": WITHIN,
    "asin": WITHIN,
    "acos": WITHIN,
    "atanh": WITHIN,
    "asin_slope": WITHIN,
    "atanh_slope": WITHIN,
    "acosh": (1.1, 3.0),
    "acosh_slope": (1.1, 3.0),
    "betaln": POSITIVE,
    "gammainc": POSITIVE,
    "gammaincc": POSITIVE,
    "log1mexp": POSITIVE,
    "gamma_density": POSITIVE,
    "betainc": (0.1, 0.9),
    "beta_density": (0.1, 0.9),
    "erfinv": WITHIN,
    "erfcinv": (0.1, 1.9),
    "erfcinv_slope": (0.1, 1.9),
    "ndtri": (0.05, 0.95),
    **dict.fromkeys(("ellipk", "ellipe", "ellipk_derivative", "ellipe_derivative"), (-2.0, 0.9)),
    "ellipkm1": POSITIVE,
    "ellipkm1_derivative": POSITIVE,
    "lambertw": (-0.3, 2.0),
    "lambertw_derivative": (-0.3, 2.0),
    "lambertwm1": (-0.35, -0.05),
    "lambertwm1_derivative": (-0.35, -0.05),
    "zeta": (-3.0, 0.9),
    "zeta_derivative": (-3.0, 0.9),
    "hurwitz_zeta": (1.1, 3.0),
    "hurwitz_zeta_derivative": (1.1, 3.0),
    "expn": POSITIVE,
    "expi": POSITIVE,
    "expi_derivative": POSITIVE,
    "cosine_integral": POSITIVE,
    "cosine_integral_derivative": POSITIVE,
    "cosh_integral": POSITIVE,
    "cosh_integral_derivative": POSITIVE,
    "yv": POSITIVE,
    "kv": POSITIVE,
    "ive": POSITIVE,
    "kve": POSITIVE,
    "ive_derivative": POSITIVE,
    "kve_derivative": POSITIVE,
}
# First arguments that are numbers, by which there is no derivative.
PARAMETERS = {
    **{name: (2, 1)[: order_count(name)] for name in PRIMITIVES},
    "eval_gegenbauer": (2, 1.5),
    "eval_genlaguerre": (2, 1.5),
    "gammainc": (1.5,),
    "gammaincc": (1.5,),
    "gamma_density": (2.5,),
    "betainc": (1.5, 2.5),
    "beta_density": (1.5, 0.5, -2.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(PRIMITIVES))
def test_every_function_of_the_vocabulary(name):
    op = PRIMITIVES[name]
    order = [sd.constant(value) for value in PARAMETERS[name]]

    @cache  # differences move one element, and the others are where they were
    def exact(prec, *v):
        return mp.mpf(MPMATH[name](*map(mp.mpf, PARAMETERS[name]), *v))

    def ours(xs):
        return sd.constant(0) + pointwise(op, *order, *xs)

    def plain(f, xs):
        return f.each(lambda *v: exact(mp.mp.prec, *v), *xs)

    shapes = ((3,),) * (op.arity - len(order))
    one = Case(name, shapes, ours, plain)
    low, high = DOMAINS.get(name, (-2.0, 2.0))
    if (
        op.arity == 3 and name == "where"
    ):  # the condition is a number, and differences must not change its truth
        one = Case(
            name,
            ((3,), (3,)),
            lambda xs: ours([xs[0] < 0, *xs]),
            lambda f, xs: plain(f, [xs[0] < 0, *xs]),
        )
    oracles.check_high(one, point(one.shapes, low, high))
