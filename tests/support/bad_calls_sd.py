"""A valid call of every public callable of ``symdiff``, with every argument given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

import symdiff as sd
from tests.support.valid_calls import Valid, valid

if TYPE_CHECKING:
    from collections.abc import Callable

x, y, t = sd.symbols("x y t")
v, w = sd.symbols("v w", 3)
p = sd.symbol("p", 6)
A, B = sd.symbols("A B", (3, 3))
M = sd.symbol("M", (2, 3))
T = sd.symbol("T", (2, 4, 6))
k = sd.symbol("k", 2, dtype=int)
f = sd.sum(v**2 * x) + y
data = [1.0, 2.0, 4.0]


def _sine(g: Any, out: Any, u: Any) -> Any:
    return g * sd.cos(u)


def _like(*shapes: Any) -> Any:
    return shapes[0]


def _newton(g: Any, start: Any, *rest: Any) -> Any:
    return start


def _step(carry: Any, row: Any) -> Any:
    return carry * x + row, carry


# Public classes and values, which are not called.
_CLASSES = """ConvergenceError EighResult Expr NotAdditive NotDifferentiable ParseError QRResult
    SVDResult ShapeError SlogdetResult Unsupported"""
NO_FUNCTIONS = frozenset([*_CLASSES.split(), "e", "pi"])


def _each(names: str, make: Callable[[], Valid]) -> dict[str, Callable[[], Valid]]:
    return dict.fromkeys(names.split(), make)


_UNARY = """abs absolute acos acosh arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan
    atanh cbrt ceil cos cosh dawsn deg2rad degrees digamma ellipe ellipk ellipkm1 entr erf erfc
    erfcinv erfcx erfinv exp exp1 exp2 expi expit expm1 factorial floor fresnel gamma gammaln
    gammasgn i0 i0e i1 i1e isfinite isinf isnan j0 j1 k0 k0e k1 k1e log log10 log1mexp log1p log2
    log_ndtr log_sigmoid logical_not logit ndtr ndtri negative positive psi rad2deg radians
    reciprocal rgamma shichi sici sigmoid sign sin sinc sinh softplus sqrt square tan tanh trunc y0
    y1 nonzero ravel"""
_BINARY = """add arctan2 atan2 beta betaln binom divide equal floor_divide gammainc gammaincc
    greater greater_equal hypot inner kl_div kron less less_equal logaddexp logical_and logical_or
    logical_xor maximum minimum mod multiply not_equal outer poch pow power rel_entr remainder
    subtract true_divide vdot xlog1py xlogy zeta dot matmul"""
_REDUCTIONS = """all amax amin any count_nonzero logsumexp max mean median min nanmax nanmean nanmin
    nanprod nansum prod ptp sum"""
_ALONG = "argsort cumprod cumsum log_softmax logcumsumexp nancumsum softmax sort"
_OF_MATRICES = "det eigh eigvalsh expm inv logm matrix_transpose slogdet sqrtm diag"
_LISTS = "column_stack dstack hstack vstack"
_SPLITS = "array_split split"
_ORDERS = "iv ive jn jv jve kv kve yn yv yve expn polygamma"
_POLYNOMIALS = """eval_chebyt eval_chebyu eval_hermite eval_hermitenorm eval_laguerre
    eval_legendre"""

CALLS: dict[str, Callable[[], Valid]] = {
    **_each(_UNARY, lambda: valid(v)),
    **_each(_BINARY, lambda: valid(v, w)),
    **_each(_REDUCTIONS, lambda: valid(M, axis=0, keepdims=True)),
    **_each(_ALONG, lambda: valid(M, axis=1)),
    **_each(_OF_MATRICES, lambda: valid(A)),
    **_each(_LISTS, lambda: valid([v, w])),
    **_each(_SPLITS, lambda: valid(p, 3, axis=0)),
    **_each(_ORDERS, lambda: valid(1, v)),
    **_each(_POLYNOMIALS, lambda: valid(2, v)),
    **_each("nanstd nanvar", lambda: valid(M, axis=0, ddof=1, keepdims=True)),
    **_each("std var", lambda: valid(M, axis=0, ddof=0, keepdims=True, correction=1)),
    **_each("atleast_1d atleast_2d atleast_3d broadcast_arrays", lambda: valid(v, w)),
    **_each("betainc", lambda: valid(v, w, v)),
    **_each("argmax argmin", lambda: valid(M, axis=0, keepdims=True)),
    **_each("concat concatenate stack", lambda: valid([v, w], axis=0)),
    **_each("dsplit", lambda: valid(T, 2)),
    **_each("hsplit", lambda: valid(T, 2)),
    **_each("vsplit", lambda: valid(T, 2)),
    **_each("eval_gegenbauer eval_genlaguerre", lambda: valid(2, x, v)),
    **_each("convolve correlate", lambda: valid(v, w, mode="full")),
    **_each("fft ifft", lambda: valid(v, w, n=3, axis=0)),
    **_each("fftn ifftn", lambda: valid(M, M, axes=(0, 1))),
    **_each("fftshift ifftshift", lambda: valid(M, axes=(0, 1))),
    **_each("count_edges count_nodes free_symbols nodes", lambda: valid([x, x * y])),
    **_each("expand factor simplify", lambda: valid((x + 1) ** 2)),
    **_each("fixed_point", lambda: valid(sd.cos, x, solver=_newton, max_steps=5)),
    **_each("root", lambda: valid(lambda u: u**2 - x, x, solver=_newton, max_steps=5)),
    **_each("minimize", lambda: valid(lambda u: (u - x) ** 2, x, solver=_newton, max_steps=5)),
    **_each("flipud", lambda: valid(v)),
    **_each("fliplr pack_tril", lambda: valid(A)),
    **_each("index_add index_update", lambda: valid(v, 1, x)),
    **_each("latex text", lambda: valid(x * y, full=True)),
    **_each("ones zeros", lambda: valid((2, 3))),
    **_each("percentile quantile", lambda: valid(M, 0.5, axis=0, keepdims=True)),
    **_each("tril triu", lambda: valid(A, k=1)),
    "append": lambda: valid(v, w, axis=0),
    "arange": lambda: valid(0, 6, 2),
    "average": lambda: valid(M, axis=1, weights=data, keepdims=True),
    "batch": lambda: valid([x * v], {x: p}),
    "broadcast_to": lambda: valid(v, (2, 3)),
    "cholesky": lambda: valid(A, upper=True),
    "clip": lambda: valid(v, min=0, max=1),
    "collect": lambda: valid(x * y + x, x),
    "constant": lambda: valid(data),
    "count_operations": lambda: valid([x * y], sizes={"n": 3}),
    "cov": lambda: valid(M, rowvar=False, ddof=1),
    "cross": lambda: valid(v, w, axis=-1),
    "custom": lambda: valid(np.sin, _sine, vjp_numpy=None, shape=_like, name="sine").and_then(
        lambda made: sd.grad(sd.sum(made(v)), v)
    ),
    "detach": lambda: valid(v),
    "diagonal": lambda: valid(T, offset=1, axis1=1, axis2=2),
    "diff": lambda: valid(x**3 * y, x, 2),
    "einsum": lambda: valid("ij,j->i", M, v),
    "evalf": lambda: valid(x * 3, n=20, subs={x: 2}),
    "expand_dims": lambda: valid(v, axis=0),
    "eye": lambda: valid(3),
    "finite_diff": lambda: valid(v, n=1, axis=0, prepend=x, append=y),
    "flip": lambda: valid(M, axis=0),
    "fori_loop": lambda: valid(0, 4, lambda i, c: c * x, 1.0),
    "from_function": lambda: valid(lambda a, b: np.sin(a) * b, x, y),
    "from_sympy": lambda: valid(sp.Symbol("x") + 1),
    "full": lambda: valid((2, 3), x),
    "function": lambda: valid("theta").and_then(lambda made: sd.diff(made(x), x)),
    "gauss_newton_product": lambda: valid(sd.sum(v**2), v, v, w),
    "getitem": lambda: valid(v, 1),
    "grad": lambda: valid(
        sd.sum(v) * x, v, x, grad_outputs=y, create_graph=True, allow_unused=True
    ),
    "hessian": lambda: valid(f, v),
    "hvp": lambda: valid(sd.sum(v**3), v, w),
    "integrate": lambda: valid(sd.cosh(x * y), x, 0, y, closed=False),
    "interp": lambda: valid(v, data, data, left=0, right=1),
    "irfft": lambda: valid(v, w, n=4, axis=0),
    "jacobian": lambda: valid(v * x, v, mode="forward"),
    "jvp": lambda: valid(v * x, v, w),
    "kinks": lambda: valid("raise").and_then(_kinks_as_before),
    "lambertw": lambda: valid(v, k=0),
    "limit": lambda: valid(sd.sin(x) / x, x, 0, dir="+"),
    "linear_solve": lambda: valid(lambda u: 2 * u, v, method="cg", rtol=1e-9, max_steps=9),
    "matrix_power": lambda: valid(A, 2),
    "mermaid": lambda: valid(f, wrt=x, graph="backward", seed=1, limit=60, direction="down"),
    "meshgrid": lambda: valid(v, w, indexing="ij"),
    "moveaxis": lambda: valid(T, 0, 1),
    "multi_dot": lambda: valid([A, B, v]),
    "multigammaln": lambda: valid(v, 2),
    "nan_to_num": lambda: valid(v, nan=1.0, posinf=2.0, neginf=3.0),
    "norm": lambda: valid(M, ord=2, axis=0, keepdims=True),
    "odeint": lambda: valid(
        lambda u, s: -u * x,
        1.0,
        v,
        rtol=1e-6,
        atol=1e-6,
        method="RK45",
        max_steps=99,
        events=None,
        dense_output=False,
    ),
    "pad": lambda: valid(v, (1, 2), mode="constant", constant_values=1),
    "parse": lambda: valid("x + y", symbols={"x": x, "y": y}),
    "partition": lambda: valid(v, 1, axis=0),
    "permute_dims": lambda: valid(M, (1, 0)),
    "pinv": lambda: valid(M, constant_rank=True),
    "pointwise": lambda: valid("gauss", lambda u: sp.exp(-u * u)).and_then(
        lambda made: sd.grad(sd.sum(made(v)), v)
    ),
    "qr": lambda: valid(A, mode="reduced"),
    "repeat": lambda: valid(v, 2, axis=0),
    "reshape": lambda: valid(p, 2, 3),
    "rfft": lambda: valid(v, n=3, axis=0),
    "roll": lambda: valid(v, 1, axis=0),
    "rollaxis": lambda: valid(T, 2, start=0),
    "rot90": lambda: valid(M, k=1, axes=(0, 1)),
    "round": lambda: valid(v, decimals=1),
    "scan": lambda: valid(_step, 0.0, v, length=3, reverse=True, checkpoint=True),
    "searchsorted": lambda: valid(data, v, side="left"),
    "select": lambda: valid([v > 0, v < -1], [v, w], default=0),
    "series": lambda: valid(sd.sin(x), x, x0=0, n=3),
    "short": lambda: valid(x * y),
    "sliding_window_view": lambda: valid(p, 2, axis=0),
    "solve": lambda: valid(A, v),
    "solve_banded": lambda: valid((1, 1), A, v),
    "solve_sylvester": lambda: valid(A, B, A),
    "solve_triangular": lambda: valid(A, v, lower=True, unit_diagonal=True),
    "sparsity": lambda: valid(v * x, v),
    "squeeze": lambda: valid(sd.symbol("r", (1, 3)), axis=0),
    "substitute": lambda: valid([x * y], {x: 2}),
    "svd": lambda: valid(A, full_matrices=False),
    "svdvals": lambda: valid(A),
    "swapaxes": lambda: valid(T, 0, 1),
    "symbol": lambda: valid("z", shape=3, dtype=float),
    "symbols": lambda: valid("z u", shape=3, dtype=float),
    "take": lambda: valid(v, [0, 1], axis=0),
    "take_along_axis": lambda: valid(v, k, axis=0),
    "tensordot": lambda: valid(A, B, axes=1),
    "tile": lambda: valid(v, 2),
    "to_sympy": lambda: valid(x * y, cse=False, codegen=True),
    "total_derivative": lambda: valid(f, t, rates={x: y, v: w}),
    "trace": lambda: valid(T, offset=1, axis1=1, axis2=2),
    "transpose": lambda: valid(T, 0, 2, 1),
    "trapezoid": lambda: valid(v, w, dx=1, axis=0),
    "unpack_tril": lambda: valid(p, symmetric=True),
    "vander": lambda: valid(v, N=3, increasing=True),
    "vjp": lambda: valid(v * x, v, w),
    "where": lambda: valid(v > 0, v, w),
    "while_loop": lambda: valid(
        lambda c: c < 9, lambda c: c * 2, x, max_steps=9, return_steps=True
    ),
}


def _kinks_as_before(made: Any) -> None:
    sd.kinks("subgradient")


# Methods of a matrix of 2 x 3 numbers.
METHODS: dict[str, Callable[[], Valid]] = {
    **_each("sum mean prod max min any all", lambda: valid(axis=0, keepdims=True)),
    **_each("var std", lambda: valid(axis=0, ddof=1, keepdims=True)),
    **_each("argmax argmin", lambda: valid(axis=0, keepdims=True)),
    **_each("argsort cumsum cumprod", lambda: valid(axis=0)),
    "transpose": lambda: valid(1, 0),
    "reshape": lambda: valid(3, 2),
    "squeeze": lambda: valid(axis=None),
    "swapaxes": lambda: valid(0, 1),
    "diagonal": lambda: valid(offset=1, axis1=0, axis2=1),
    "repeat": lambda: valid(2, axis=0),
    "take": lambda: valid([0, 1], axis=1),
    "clip": lambda: valid(min=0, max=1),
    "round": lambda: valid(decimals=1),
    "dot": lambda: valid(v),
    "trace": lambda: valid(offset=0, axis1=0, axis2=1),
    "astype": lambda: valid(float),
    "diff": lambda: valid(x, 2),
    "subs": lambda: valid({M: np.ones((2, 3))}),
    "evalf": lambda: valid(n=10, subs={M: np.ones((2, 3))}),
    "collect": lambda: valid(x),
    "series": lambda: valid(x, x0=0, n=3),
    "limit": lambda: valid(x, 0, dir="+"),
    "latex": lambda: valid(full=True),
}
