"""Every public function at a table of shapes: values, and five readings of its derivatives.

``python -m tests.test_table`` runs the whole table and prints its counts.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import scipy.linalg
import scipy.special

import numeric as nm
import symdiff as sd
from tests.support.differences import Row, check

if TYPE_CHECKING:
    from collections.abc import Callable

# Shapes -------------------------------------------------------------------------------------------

ONE = (((),), ((3,),), ((2, 1),), ((0,),), ((2, 0, 1),))
TWO = (
    ((), ()),
    ((3,), ()),
    ((2, 3), (3,)),
    ((2, 1), (1, 3)),
    ((1,), (2, 1)),
    ((0, 3), (3,)),
    ((2, 1), (0,)),
)
THREE = (((3,), (3,), (3,)), ((2, 1), (3,), ()), ((1,), (0,), (1,)), ((), (), ()))
ARRAYS = (((4,),), ((2, 3),), ((1,),), ((2, 1),), ((0,),), ((2, 0),))
FULL = (((4,),), ((2, 3),), ((1,),), ((2, 1),))
MATRICES = (((2, 3),), ((3, 3),), ((2, 2, 3),), ((1, 1),), ((0, 2),))
SQUARE = (((3, 3),), ((1, 1),), ((2, 2, 2),), ((0, 0),), ((0, 2, 2),))
RANK_2 = (((2, 3),), ((3, 2),), ((1, 3),), ((3, 1),), ((0, 2),))
RANK_2_FULL = RANK_2[:-1]
TALL = (((3, 2),), ((2, 1),), ((2, 3, 2),))
WIDE = (((2, 3),), ((1, 2),))
CUBE = (((2, 3, 2),), ((1, 2, 1),), ((2, 0, 2),))

LENGTHS = tuple(
    ((n,), (m,)) for n, m in ((4, 2), (5, 3), (5, 2), (4, 4), (2, 3), (3, 6), (1, 1), (1, 4))
)

# Places in a matrix of three by three, and rows some of which are one.
TWICE = ([2, 2, 1, 2],)
KEYS: tuple[Any, ...] = (
    *(0, -1, slice(1, None), slice(None, None, -2), (slice(None), 1), (..., 0), [2, 0]),
    *((np.array([0, 1]), np.array([2, 2])), (slice(None), [1, 1])),
    np.array([[True, False, True], [False, False, False], [True, True, True]]),
    *(np.array([True, False, True]), ..., (), (None, 1), slice(0, 0), (0, 0)),
)

POSITIVE: dict[str, Any] = {"low": 0.2, "high": 3.0}
INSIDE: dict[str, Any] = {"low": -0.9, "high": 0.9}

# Rows ---------------------------------------------------------------------------------------------

ABOUT_ROW = ("cases", "low", "high", "second", "single")


def row(
    title: str,
    cases: Any,
    plain: Callable[..., Any] | None = None,
    ours: Callable[..., Any] | None = None,
    **more: Any,
) -> Row:
    """A row: by default the functions of that name here and in NumPy, with these keywords.

    ``plain`` is NumPy's side where it has another name; ``ours`` with ``plain`` says both in full.
    """
    name = title.split()[0]
    about = {key: more.pop(key) for key in ABOUT_ROW if key in more}
    if ours is None:
        function = getattr(sd, name)
        ours = lambda *xs: function(*xs, **more)  # noqa: E731
    if plain is None:
        model = getattr(np, name)
        plain = lambda *xs: model(*xs, **more)  # noqa: E731
    return Row(title, ours, plain, tuple(cases), **about)


def both(call: Callable[..., Any], model: Any = np) -> tuple[Any, Any]:
    """``call(m, *operands)`` with m NumPy (or another model), and with m this library."""
    return partial(call, model), partial(call, sd)


def regular(x: Any) -> Any:
    """A matrix far from singular: x plus five times the identity."""
    return x + 5 * (sd if isinstance(x, sd.Expr) else np).eye(x.shape[-1])


def definite(x: Any) -> Any:
    """A positive definite matrix that depends on all of x: x x' + 1."""
    return x @ x.mT + (sd if isinstance(x, sd.Expr) else np).eye(x.shape[-1])


def separate(x: Any) -> Any:
    """A symmetric matrix with eigenvalues far apart: x + x' + diag(0, 8, 16, ..)."""
    return x + x.mT + np.diag(8 * np.arange(x.shape[-1], dtype=np.float32))


def dominant(sides: tuple[int, int], ab: Any) -> Any:
    """Diagonals, 9 added to the main one."""
    main = np.zeros((sum(sides) + 1, 1), dtype=np.float32)
    main[sides[1]] = 9
    return ab + main


def dense(sides: tuple[int, int], ab: Any) -> Any:
    """The matrix of the diagonals."""
    n = ab.shape[-1]
    a = np.zeros((*ab.shape[:-2], n, n))
    for i, j in np.ndindex(n, n):
        if -sides[1] <= i - j <= sides[0]:
            a[..., i, j] = ab[..., sides[1] + i - j, j]
    return a


def by_eigenvalues(f: Callable[[Any], Any], a: Any) -> Any:
    """A function of matrices that have all their eigenvectors."""
    values, vectors = np.linalg.eig(a)
    return ((vectors * f(values)[..., None, :]) @ np.linalg.inv(vectors)).real


def slanted(x: Any) -> Any:
    """A matrix of full rank with singular values far apart: x plus a diagonal of 3, 8, 13, .."""
    return x + np.eye(*x.shape[-2:], dtype=np.float32) * (
        3 + 5 * np.arange(x.shape[-1], dtype=np.float32)
    )


def _states(x: Any, s: Any) -> list[Any]:
    """What s goes through from the last row of x to the first, in the order of the rows."""
    found: list[Any] = []
    for row in x[::-1]:
        s = np.sin(s) + s * row
        found.insert(0, s)
    return found


def pair(x: Any) -> tuple[Any, Any]:
    """A complex array as its real and imaginary parts."""
    return x.real, x.imag


def added(x: Any, key: Any, value: Any) -> Any:
    """x with the value added at the key, repeated places repeatedly."""
    result = x.copy()
    np.add.at(result, key, value)
    return result


def updated(x: Any, key: Any, value: Any) -> Any:
    """x with the value at the key."""
    result = x.copy()
    result[key] = value
    return result


def unpacked(x: Any) -> Any:
    """Lower triangular matrices of the elements, row by row."""
    n = int(np.sqrt(2 * x.shape[-1]))
    result = np.zeros((*x.shape[:-1], n, n))
    result[(..., *np.tril_indices(n))] = x
    return result


ROWS = (
    # Functions of each element.
    *(
        row(name, ONE)
        for name in (
            *(
                "negative",
                "positive",
                "reciprocal",
                "square",
                "cbrt",
                "abs",
                "sign",
                "exp",
                "expm1",
            ),
            *(
                "exp2",
                "sin",
                "cos",
                "atan",
                "sinh",
                "cosh",
                "tanh",
                "asinh",
                "sinc",
                "deg2rad",
                "rad2deg",
            ),
            *("floor", "ceil", "trunc", "tan", "logical_not"),
        )
    ),
    *(row(name, ONE, **POSITIVE) for name in ("sqrt", "log", "log2", "log10")),
    *(row(name, ONE, **INSIDE) for name in ("asin", "acos", "atanh", "log1p")),
    row("acosh", ONE, low=1.1, high=4.0),
    row("round", ONE),
    row("round decimals", ONE, low=0.13, decimals=1),
    *(
        row(name, ONE, getattr(scipy.special, name), **(POSITIVE if name == "gammaln" else {}))
        for name in ("erf", "gammaln")
    ),
    row("erfc", ONE, scipy.special.erfc),
    row("erfcx", ONE, scipy.special.erfcx),
    row("ndtr", ONE, scipy.special.ndtr),
    row("log_ndtr", ONE, scipy.special.log_ndtr),
    row("expi", ONE, scipy.special.expi, **POSITIVE),
    row("exp1", ONE, scipy.special.exp1, **POSITIVE),
    row("expn", ONE, *both(lambda m, x: m.expn(3, x), scipy.special), **POSITIVE),
    *(
        one
        for k, name in enumerate(("sine", "cosine"))
        for one in (
            row(
                f"sici {name}",
                ONE,
                *both(lambda m, x, k=k: m.sici(x)[k], scipy.special),
                **POSITIVE,
            ),
            row(
                f"shichi {name}",
                ONE,
                *both(lambda m, x, k=k: m.shichi(x)[k], scipy.special),
                **POSITIVE,
            ),
            row(f"fresnel {name}", ONE, *both(lambda m, x, k=k: m.fresnel(x)[k], scipy.special)),
        )
    ),
    row("dawsn", ONE, scipy.special.dawsn),
    row("ndtri", ONE, scipy.special.ndtri, low=0.05, high=0.95),
    row("gamma", ONE, scipy.special.gamma, **POSITIVE),
    row("gamma negative", ONE, scipy.special.gamma, low=-1.8, high=-1.2),
    row("rgamma", ONE, scipy.special.rgamma),
    row("gammasgn", ONE, scipy.special.gammasgn),
    row("factorial", ONE, scipy.special.factorial, **POSITIVE),
    row(
        "multigammaln",
        ONE,
        lambda x: scipy.special.multigammaln(x, 3),
        lambda x: sd.multigammaln(x, 3),
        low=1.2,
        high=4.0,
    ),
    row("digamma", ONE, scipy.special.digamma, **POSITIVE),
    row(
        "polygamma",
        ONE,
        lambda x: scipy.special.polygamma(2, x).reshape(np.shape(x)),
        lambda x: sd.polygamma(2, x),
        low=1.0,
        high=4.0,
    ),
    row("sigmoid", ONE, scipy.special.expit),
    row("softplus", ONE, lambda x: np.logaddexp(0, x)),
    row("log_sigmoid", ONE, lambda x: -np.logaddexp(0, -x)),
    row("log1mexp", ONE, lambda x: np.log(1 - np.exp(-x)), **POSITIVE),
    row(
        "pointwise",
        ONE,
        lambda x: x / (1 + x**2),
        sd.pointwise("lorentz", lambda v: v / (1 + v**2)),
    ),
    *(
        row(name, TWO)
        for name in (
            "add",
            "subtract",
            "multiply",
            "maximum",
            "minimum",
            "hypot",
            "logaddexp",
            "atan2",
        )
    ),
    row("divide", TWO, low=0.3, high=2.0),
    row("pow", TWO, **POSITIVE),
    row("floor_divide", TWO, low=0.3, high=3.0),
    row("mod", TWO, low=0.3, high=3.0),
    row("xlogy", TWO, scipy.special.xlogy, **POSITIVE),
    row("xlog1py", TWO, scipy.special.xlog1py, low=-0.9, high=2.0),
    row("entr", ONE, scipy.special.entr, **POSITIVE),
    row("rel_entr", TWO, scipy.special.rel_entr, **POSITIVE),
    row("kl_div", TWO, scipy.special.kl_div, **POSITIVE),
    *(
        row(name, TWO)
        for name in ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
    ),
    *(
        row(name, TWO, *both(lambda m, x, y, name=name: getattr(m, name)(x > 0, y > 0)))
        for name in ("logical_and", "logical_or", "logical_xor")
    ),
    row("where", THREE, *both(lambda m, c, x, y: m.where(c < 0.2, x * y, y))),
    row(
        "clip",
        THREE,
        lambda x, a, b: np.clip(x, a - 3, b + 1),
        lambda x, a, b: sd.clip(x, a - 3, b + 1),
    ),
    row("clip numbers", ONE, lambda x: np.clip(x, -1, 0.7), lambda x: sd.clip(x, -1, 0.7)),
    row("clip one-sided", ONE, lambda x: np.clip(x, 0.1, None), lambda x: sd.clip(x, min=0.1)),
    # The shape of arrays.
    row("broadcast_to", (((3,),), ((2, 1),), ((),), ((1, 3),)), shape=(2, 2, 3)),
    row(
        "broadcast_to nothing",
        (((3,),), ((1,),)),
        *both(lambda m, x: m.broadcast_to(x, (0, x.shape[0]))),
    ),
    row(
        "concat",
        (((2, 3), (1, 3)), ((0, 2), (2, 2)), ((1,), (3,))),
        *both(lambda m, x, y: m.concatenate([x, y, x])),
    ),
    row(
        "concat axis",
        (((2, 3), (2, 1)), ((2, 0), (2, 2))),
        *both(lambda m, x, y: m.concatenate([x, y], axis=-1)),
    ),
    row(
        "concat flat",
        (((2, 3), (2,)), ((), (0,))),
        *both(lambda m, x, y: m.concatenate([x, y], axis=None)),
    ),
    row(
        "stack",
        (((2, 3), (2, 3)), ((0,), (0,)), ((), ())),
        *both(lambda m, x, y: m.stack([x, y])),
    ),
    row(
        "stack last",
        (((2, 3), (2, 3)), ((1,), (1,))),
        *both(lambda m, x, y: m.stack([x, y], axis=-1)),
    ),
    row("diag", (((3,),), ((1,),), ((0,),), ((2, 3),), ((1, 1),))),
    row("diag above", (((3,),), ((1,),), ((2, 3),), ((3, 3),)), k=1),
    row("diagonal", RANK_2 + CUBE),
    row("diagonal offset", RANK_2_FULL + CUBE[:1], offset=-1),
    row("diagonal axes", CUBE, axis1=2, axis2=0),
    row("expand_dims", ONE, *both(lambda m, x: m.expand_dims(x, 0))),
    row("expand_dims last", ONE, *both(lambda m, x: m.expand_dims(x, -1))),
    row("flip", ARRAYS),
    row("flip axis", RANK_2, axis=-1),
    row("full", (((),), ((1,),), ((3,),)), *both(lambda m, x: m.full((2, 3), x))),
    row("matrix_transpose", MATRICES),
    row("permute_dims", CUBE, *both(lambda m, x: m.permute_dims(x, (2, 0, 1)))),
    row("transpose", MATRICES + ONE),
    row(
        "reshape",
        (((2, 3),), ((6,),), ((1, 6, 1),)),
        lambda x: np.reshape(x, (3, 2)),
        lambda x: sd.reshape(x, 3, 2),
    ),
    row(
        "reshape unknown",
        (((2, 3),), ((1,),), ((0, 2),)),
        *both(lambda m, x: m.reshape(x, (-1, 1))),
    ),
    row("squeeze", (((2, 1),), ((1, 1),), ((1, 0),))),
    row("squeeze axis", (((1, 3),), ((1, 1),)), axis=0),
    row("tril", MATRICES),
    row("tril below", MATRICES, k=-1),
    row("triu", MATRICES),
    row("triu above", MATRICES, k=1),
    row(
        "getitem",
        (((3, 4),), ((2, 1),)),
        lambda x: x[-1, ::-1],
        lambda x: sd.getitem(x, (-1, slice(None, None, -1))),
    ),
    row(
        "getitem array",
        (((3, 2),), ((3, 0),), ((2, 1),)),
        lambda x: x[[1, 0, 1]],
        lambda x: sd.getitem(x, [1, 0, 1]),
    ),
    row(
        "getitem mask",
        (((2, 3),),),
        lambda x: x[np.eye(2, 3, dtype=bool)],
        lambda x: sd.getitem(x, np.eye(2, 3, dtype=bool)),
    ),
    row("split", (((4,),), ((4, 2),), ((4, 0),)), *both(lambda m, x: m.split(x, 2))),
    row(
        "split places",
        (((2, 5),), ((1, 5),)),
        *both(lambda m, x: m.split(x, [1, 4], axis=1)),
    ),
    row(
        "take",
        (((3, 2),), ((2, 3),), ((2, 0),)),
        *both(lambda m, x: m.take(x, [[1, 0], [1, -1]], axis=0)),
    ),
    row("take flat", (((2, 3),), ((2, 1),)), *both(lambda m, x: m.take(x, [1, 0, 1]))),
    # Products.
    row(
        "matmul",
        (
            ((2, 3), (3, 2)),
            ((3,), (3,)),
            ((2, 3), (3,)),
            ((3,), (3, 2)),
            ((2, 2, 3), (3, 1)),
            ((2, 0), (0, 2)),
            ((1, 2, 2), (2, 2, 1)),
        ),
    ),
    row("dot", (((2, 3), (3, 2)), ((3,), (3,)), ((), (2,)), ((0,), (0,)), ((2, 2, 1), (1,)))),
    row("vdot", (((2, 3), (2, 3)), ((1,), (1,)), ((0,), (0,)), ((), ()))),
    row("outer", (((2,), (3,)), ((2, 1), (2,)), ((0,), (2,)), ((), (1,)))),
    row("tensordot", (((2, 3), (2, 3)), ((2, 3), (2, 3, 2)), ((1, 1), (1, 1)))),
    row("tensordot axes", (((2, 3), (3, 2)), ((1, 0), (0, 1))), axes=((0, 1), (1, 0))),
    row("tensordot nothing", (((2,), (1,)), ((), (2,))), axes=0),
    row(
        "einsum",
        (((2, 2, 3), (2, 3, 1)), ((1, 0, 1), (1, 1, 0))),
        *both(lambda m, x, y: m.einsum("bij,bjk->kb", x, y)),
    ),
    row(
        "einsum broadcast",
        (((2, 3), (3,)), ((2, 0), (0,)), ((1,), (1,))),
        *both(lambda m, x, y: m.einsum("...i,...i->...", x, y)),
    ),
    row("trace", RANK_2 + CUBE),
    row("trace offset", RANK_2_FULL, offset=1),
    row("det", SQUARE, np.linalg.det),
    row("inv", SQUARE, lambda x: np.linalg.inv(regular(x)), lambda x: sd.inv(regular(x))),
    row("slogdet", SQUARE, lambda x: tuple(np.linalg.slogdet(x))),
    row(
        "SlogdetResult",
        SQUARE[:1],
        lambda x: np.linalg.slogdet(regular(x))[1],
        lambda x: sd.slogdet(regular(x)).logabsdet,
    ),
    row(
        "solve",
        (
            ((3, 3), (3, 2)),
            ((1, 1), (1, 0)),
            ((2, 2, 2), (2, 1)),
            ((2, 2), (3, 2, 1)),
            ((2, 1, 2, 2), (3, 2, 1)),
            ((0, 0), (0, 1)),
        ),
        lambda a, b: np.linalg.solve(regular(a), b),
        lambda a, b: sd.solve(regular(a), b),
    ),
    row(
        "solve vector",
        (((3, 3), (3,)), ((1, 1), (1,)), ((0, 0), (0,))),
        lambda a, b: np.linalg.solve(regular(a), b),
        lambda a, b: sd.solve(regular(a), b),
    ),
    *(
        row(
            f"solve_banded with {sides} diagonals",
            (
                ((w, 4), (4,)),
                ((w, 4), (4, 2)),
                ((2, w, 3), (3, 1)),
                ((w, 3), (2, 3, 2)),
                ((w, 1), (1,)),
                ((w, 0), (0, 2)),
            ),
            lambda ab, b, s=sides: np.linalg.solve(dense(s, dominant(s, ab)), b),
            lambda ab, b, s=sides: sd.solve_banded(s, dominant(s, ab), b),
        )
        for sides, w in (((1, 1), 3), ((2, 0), 3), ((0, 1), 2))
    ),
    row(
        "solve_sylvester",
        (
            ((3, 3), (2, 2), (3, 2)),
            ((1, 1), (2, 2), (1, 2)),
            ((2, 2), (2, 1, 1), (2, 1)),
            ((2, 2), (1, 1), (3, 2, 1)),
            ((0, 0), (2, 2), (0, 2)),
        ),
        lambda a, b, c: np.vectorize(
            scipy.linalg.solve_sylvester, otypes="d", signature="(m,m),(n,n),(m,n)->(m,n)"
        )(regular(a), b, c),
        lambda a, b, c: sd.solve_sylvester(regular(a), b, c),
    ),
    # Reductions.
    *(
        one
        for name in ("sum", "prod", "cumsum")
        for one in (row(name, ARRAYS + ONE[:1]), row(f"{name} axis", RANK_2 + CUBE, axis=1))
    ),
    *(
        one
        for name in ("mean", "max", "min", "var", "std")
        for one in (
            row(name, FULL if name != "std" else FULL[:2]),
            row(f"{name} axis", RANK_2_FULL[:2] + CUBE[:1], axis=1),
        )
    ),
    *(
        row(f"{name} axes kept", CUBE[:1], axis=(0, 2), keepdims=True)
        for name in ("sum", "prod", "mean", "max", "min", "var")
    ),
    row("var ddof", FULL[:2], ddof=1),
    row("std ddof axis", RANK_2_FULL[:1], ddof=1, axis=-1),
    row("logsumexp", FULL, scipy.special.logsumexp),
    row(
        "logsumexp axis",
        RANK_2_FULL + CUBE[:1],
        lambda x: scipy.special.logsumexp(x, axis=1),
        lambda x: sd.logsumexp(x, axis=1),
    ),
    *(
        one
        for name in ("softmax", "log_softmax")
        for one in (
            row(name, FULL, getattr(scipy.special, name)),
            row(
                f"{name} axis",
                RANK_2_FULL,
                *both(lambda m, x, name=name: getattr(m, name)(x, axis=-1), scipy.special),
            ),
        )
    ),
    row("norm", FULL, lambda x: np.linalg.norm(x)),
    *(
        row(
            f"norm order {order}",
            (((4,),), ((1,),)),
            *both(lambda m, x, p=order: m.norm(x, p), np.linalg),
        )
        for order in (1, 2, 3, 0.5, np.inf, -np.inf)
    ),
    *(
        row(
            f"norm matrix {order}",
            (((2, 3),), ((1, 1),)),
            *both(lambda m, x, p=order: m.norm(x, p), np.linalg),
        )
        for order in (1, -1, np.inf, -np.inf, "fro")
    ),
    *(
        one
        for order in (2, -2, "nuc")
        for one in (
            row(
                f"norm matrix {order}",
                (*RANK_2_FULL, ((2, 2),)),
                *both(lambda m, x, p=order: m.norm(slanted(x), p), np.linalg),
            ),
            row(
                f"norm matrix {order} axes",
                (((2, 3, 2),), ((3, 1, 1),)),
                *both(
                    lambda m, x, p=order: m.norm(slanted(x), p, axis=(-1, 1), keepdims=True),
                    np.linalg,
                ),
            ),
        )
    ),
    row(
        "norm axis",
        RANK_2_FULL[:2],
        *both(lambda m, x: m.norm(x, axis=0, keepdims=True), np.linalg),
    ),
    # Special functions of scipy.special.
    *(
        row(name, ONE, getattr(scipy.special, name), low=low, high=high)
        for name, low, high in (("erfinv", -0.9, 0.9), ("logit", 0.1, 0.9), ("erfcinv", 0.2, 1.8))
    ),
    *(
        row(name, ONE, *both(lambda m, x, name=name: getattr(m, name)(4, x), scipy.special))
        for name in (
            *("eval_legendre", "eval_chebyt", "eval_chebyu"),
            *("eval_hermite", "eval_hermitenorm", "eval_laguerre"),
        )
    ),
    *(
        row(name, ONE, *both(lambda m, x, name=name: getattr(m, name)(4, 1.5, x), scipy.special))
        for name in ("eval_gegenbauer", "eval_genlaguerre")
    ),
    *(
        row(name, ONE, getattr(scipy.special, name), low=low, high=high)
        for name, low, high in (
            ("ellipk", -3.0, 0.9),
            ("ellipe", -3.0, 0.9),
            ("ellipkm1", 0.1, 3.0),
        )
    ),
    row("lambertw", ONE, lambda x: scipy.special.lambertw(x).real, low=-0.3, high=4.0),
    row(
        "lambertw lower",
        ONE,
        lambda x: scipy.special.lambertw(x, -1).real,
        lambda x: sd.lambertw(x, -1),
        low=-0.35,
        high=-0.05,
    ),
    row("zeta", ONE, scipy.special.zeta, low=-3.0, high=0.9),
    row("zeta of two", TWO, scipy.special.zeta, sd.zeta, low=1.1, high=5.0),
    *(
        row(name, TWO, getattr(scipy.special, name), **POSITIVE)
        for name in ("beta", "betaln", "poch", "binom")
    ),
    row(
        "betainc", ONE, *both(lambda m, x: m.betainc(1.5, 2.5, x), scipy.special), low=0.1, high=0.9
    ),
    *(
        row(
            name,
            ONE,
            *both(lambda m, x, name=name: getattr(m, name)(2.5, x), scipy.special),
            **POSITIVE,
        )
        for name in ("gammainc", "gammaincc")
    ),
    *(row(name, ONE, getattr(scipy.special, name)) for name in ("j0", "j1", "i0", "i1")),
    *(row(name, ONE, getattr(scipy.special, name), low=0.3, high=2.0) for name in ("i0e", "i1e")),
    row("ive", ONE, *both(lambda m, x: m.ive(2.5, x), scipy.special), low=0.3, high=2.0),
    *(
        row(name, ONE, getattr(scipy.special, name), low=0.7, high=4.0)
        for name in ("y0", "y1", "k0", "k1", "k0e", "k1e")
    ),
    *(
        row(name, ONE, *both(lambda m, x, name=name: getattr(m, name)(3, x), scipy.special))
        for name in ("jv", "iv")
    ),
    *(
        row(
            f"{name} real",
            ONE,
            *both(lambda m, x, name=name: getattr(m, name)(-0.75, x), scipy.special),
            low=0.7,
            high=4.0,
        )
        for name in ("jv", "iv", "yv", "kv")
    ),
    *(
        row(
            name,
            ONE,
            *both(lambda m, x, name=name: getattr(m, name)(2, x), scipy.special),
            low=0.7,
            high=4.0,
        )
        for name in ("yv", "kv", "kve")
    ),
    # Decompositions.
    row(
        "cholesky",
        SQUARE,
        lambda x: np.linalg.cholesky(definite(x)),
        lambda x: sd.cholesky(definite(x)),
    ),
    row(
        "cholesky upper",
        SQUARE[:3],
        lambda x: np.linalg.cholesky(definite(x)).mT,
        lambda x: sd.cholesky(definite(x), upper=True),
    ),
    row(
        "eigvalsh",
        SQUARE,
        lambda x: np.linalg.eigvalsh(separate(x)),
        lambda x: sd.eigvalsh(separate(x)),
    ),
    row(
        "eigh",
        SQUARE[:3],
        lambda x: tuple(np.linalg.eigh(separate(x))),
        lambda x: sd.eigh(separate(x)),
    ),
    row(
        "EighResult",
        SQUARE[:1],
        lambda x: np.linalg.eigh(separate(x))[0],
        lambda x: sd.eigh(separate(x)).eigenvalues,
    ),
    row("expm", SQUARE, scipy.linalg.expm),
    *(
        one
        for ours, plain in ((sd.sqrtm, np.emath.sqrt), (sd.logm, np.emath.log))
        for one in (
            row(
                ours.__name__,
                SQUARE,
                lambda x, f=plain: by_eigenvalues(f, regular(x)),
                lambda x, f=ours: f(regular(x)),
            ),
            row(
                f"{ours.__name__} of a symmetric matrix",
                SQUARE[:3],
                lambda x, f=plain: by_eigenvalues(f, definite(x)),
                lambda x, f=ours: f(definite(x)),
            ),
        )
    ),
    row(
        "matrix_power",
        SQUARE,
        lambda x: np.linalg.matrix_power(x, 3),
        lambda x: sd.matrix_power(x, 3),
    ),
    row(
        "matrix_power negative",
        SQUARE,
        lambda x: np.linalg.matrix_power(regular(x), -2),
        lambda x: sd.matrix_power(regular(x), -2),
    ),
    *(
        row(
            f"matrix_power {k}",
            SQUARE[:1],
            lambda x, k=k: np.linalg.matrix_power(regular(x), k),
            lambda x, k=k: sd.matrix_power(regular(x), k),
        )
        for k in (1, 2, 5, -1, -3)
    ),
    row(
        "matrix_power zero",
        SQUARE[:2],
        lambda x: np.linalg.matrix_power(x, 0),
        lambda x: sd.matrix_power(x, 0),
    ),
    row(
        "pinv",
        TALL + WIDE + SQUARE[:2],
        lambda x: np.linalg.pinv(slanted(x)),
        lambda x: sd.pinv(slanted(x)),
    ),
    row(
        "qr",
        TALL + WIDE + SQUARE[:2],
        lambda x: tuple(np.linalg.qr(slanted(x))),
        lambda x: sd.qr(slanted(x)),
    ),
    row("QRResult", TALL[:1], lambda x: np.linalg.qr(slanted(x))[1], lambda x: sd.qr(slanted(x)).R),
    row(
        "svd",
        TALL + WIDE,
        lambda x: tuple(np.linalg.svd(slanted(x), full_matrices=False)),
        lambda x: sd.svd(slanted(x)),
    ),
    row(
        "SVDResult",
        TALL[:1],
        lambda x: np.linalg.svd(slanted(x))[1],
        lambda x: sd.svd(slanted(x)).S,
    ),
    row(
        "svdvals",
        TALL + WIDE + SQUARE[:3],
        lambda x: np.linalg.svdvals(slanted(x)),
        lambda x: sd.svdvals(slanted(x)),
    ),
    row(
        "solve_triangular",
        (((3, 3), (3, 2)), ((1, 1), (1,)), ((0, 0), (0, 1))),
        lambda a, b: np.linalg.solve(np.triu(regular(a)), b),
        lambda a, b: sd.solve_triangular(regular(a), b),
    ),
    row(
        "solve_triangular lower",
        (((3, 3), (3,)), ((2, 2, 2), (2, 1))),
        lambda a, b: np.linalg.solve(np.tril(regular(a)), b),
        lambda a, b: sd.solve_triangular(regular(a), b, lower=True),
    ),
    row(
        "solve_triangular unit",
        (((3, 3), (3,)),),
        lambda a, b: np.linalg.solve(np.tril(a, -1) + np.eye(3), b),
        lambda a, b: sd.solve_triangular(a, b, lower=True, unit_diagonal=True),
    ),
    # Rearranging.
    row(
        "append",
        (((2, 3), (2, 1)), ((2, 0), (2, 2))),
        *both(lambda m, x, y: m.append(x, y, axis=1)),
    ),
    row("append flat", (((2, 3), (2,)), ((), (0,))), *both(lambda m, x, y: m.append(x, y))),
    row("array_split", (((5,),), ((4, 1),), ((2, 0),)), *both(lambda m, x: m.array_split(x, 3))),
    row("array_split places", (((4,),),), *both(lambda m, x: m.array_split(x, [1, 2]))),
    *(
        one
        for name in ("atleast_1d", "atleast_2d", "atleast_3d")
        for one in (
            row(name, (*ONE, ((1, 2, 1, 1),))),
            row(
                f"{name} several", TWO[:2], *both(lambda m, x, y, name=name: getattr(m, name)(x, y))
            ),
        )
    ),
    row("broadcast_arrays", TWO, *both(lambda m, x, y: tuple(m.broadcast_arrays(x, y)))),
    row(
        "column_stack",
        (((2,), (2, 3)), ((0,), (0,)), ((1,), (1, 1))),
        *both(lambda m, x, y: m.column_stack([x, y])),
    ),
    row(
        "dstack",
        (((2, 3), (2, 3)), ((2,), (2,)), ((0,), (0,))),
        *both(lambda m, x, y: m.dstack([x, y])),
    ),
    row(
        "hstack",
        (((2, 3), (2, 1)), ((2,), (1,)), ((), ())),
        *both(lambda m, x, y: m.hstack([x, y])),
    ),
    row(
        "vstack",
        (((2, 3), (1, 3)), ((2,), (2,)), ((0,), (0,))),
        *both(lambda m, x, y: m.vstack([x, y])),
    ),
    row("hsplit", (((2, 4),), ((4,),), ((0, 2),)), *both(lambda m, x: m.hsplit(x, 2))),
    row("vsplit", (((2, 3),), ((4, 0),)), *both(lambda m, x: m.vsplit(x, 2))),
    row("dsplit", CUBE, *both(lambda m, x: m.dsplit(x, 2 if x.shape[2] == 2 else 1))),
    row("fliplr", RANK_2),
    row("flipud", (*RANK_2, ((3,),))),
    row(
        "index_add",
        (((3, 2), (2,)), ((3, 0), (0,)), ((3,), ())),
        lambda x, y: added(x, [0, 2, 0], y),
        lambda x, y: sd.index_add(x, [0, 2, 0], y),
    ),
    row(
        "index_update",
        (((3, 2), (2,)), ((3, 0), (0,)), ((3,), ())),
        lambda x, y: updated(x, slice(0, 2), y),
        lambda x, y: sd.index_update(x, slice(0, 2), y),
    ),
    *(
        row(
            f"index_add {key}",
            (((3, 3), np.ones((3, 3))[key].shape),),
            lambda x, y, key=key: added(x, key, y),
            lambda x, y, key=key: sd.index_add(x, key, y),
        )
        for key in (*KEYS, TWICE)
    ),
    *(
        row(
            f"index_update {key}",
            (((3, 3), np.ones((3, 3))[key].shape),),
            lambda x, y, key=key: updated(x, key, y),
            lambda x, y, key=key: sd.index_update(x, key, y),
        )
        for key in KEYS
    ),
    row(
        "kron",
        (
            ((2, 3), (3, 2)),
            ((2,), (2, 2)),
            ((2, 1, 2), (3,)),
            ((2, 2), (1, 3)),
            ((2,), (3,)),
            ((0,), (2,)),
            ((), (2,)),
        ),
    ),
    row("meshgrid", (((2,), (3,)), ((1,), (0,))), *both(lambda m, x, y: tuple(m.meshgrid(x, y)))),
    row(
        "meshgrid ij",
        (((2,), (3,)), ((1,), (1,))),
        *both(lambda m, x, y: tuple(m.meshgrid(x, y, indexing="ij"))),
    ),
    row(
        "meshgrid of three",
        (((2,), (3,), (4,)), ((2,), (), (1,))),
        *both(lambda m, x, y, z: tuple(m.meshgrid(x, y, z))),
    ),
    row("moveaxis", CUBE, *both(lambda m, x: m.moveaxis(x, 0, -1))),
    row("moveaxis of two", CUBE, *both(lambda m, x: m.moveaxis(x, (0, 1), (-1, 0)))),
    row("rollaxis", CUBE, *both(lambda m, x: m.rollaxis(x, 2))),
    *(
        row(f"rollaxis {k}", (((2, 3, 4),),), *both(lambda m, x, k=k: m.rollaxis(x, *k)))
        for k in ((0, 3), (0, 2), (-1, 1))
    ),
    row("swapaxes", CUBE, *both(lambda m, x: m.swapaxes(x, 0, 2))),
    row("pack_tril", SQUARE, lambda x: x[(..., *np.tril_indices(x.shape[-1]))]),
    row("unpack_tril", (((6,),), ((1,),), ((2, 3),)), unpacked, sd.unpack_tril),
    row(
        "unpack_tril symmetric",
        (((6,),), ((1,),)),
        lambda x: unpacked(x) + np.tril(unpacked(x), -1).mT,
        lambda x: sd.unpack_tril(x, symmetric=True),
    ),
    *(
        row(f"pad {mode}", (((3,),), ((2, 3),)), *both(lambda m, x, mode=mode: m.pad(x, 1, mode)))
        for mode in ("constant", "edge", "reflect", "symmetric", "wrap")
    ),
    row(
        "pad uneven",
        (((3,), ()), ((1,), ())),
        *both(lambda m, x, c: m.pad(x, (2, 0), constant_values=c)),
    ),
    *(
        row(f"pad {mode} {w}", (((3, 4),),), *both(lambda m, x, w=w, mode=mode: m.pad(x, w, mode)))
        for mode in ("constant", "edge", "reflect", "symmetric", "wrap")
        for w in ((0, 2), ((5, 1), (0, 9)), 0)
    ),
    *(
        row(
            f"pad with {v}",
            (((2, 2),),),
            *both(lambda m, x, v=v: m.pad(x, ((1, 2), (0, 1)), constant_values=v)),
        )
        for v in (3, (1, 2), ((1, 2), (3, 4)), ((5,), (6,)))
    ),
    row("ravel", MATRICES + ONE),
    row("repeat", (((3,),), ((2, 1),), ((0,),)), *both(lambda m, x: m.repeat(x, 2))),
    row("repeat axis", RANK_2_FULL[:1], *both(lambda m, x: m.repeat(x, 3, 0))),
    row("repeat uneven", (((2, 3),),), *both(lambda m, x: m.repeat(x, [2, 0, 1], axis=1))),
    row(
        "sliding_window_view",
        (((4,),), ((2, 3),), ((2, 0, 2),)),
        lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, -1),
        lambda x: sd.sliding_window_view(x, 2, -1),
    ),
    row(
        "sliding_window_view of all axes",
        RANK_2_FULL[:2],
        lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 1)),
        lambda x: sd.sliding_window_view(x, (2, 1)),
    ),
    *(
        row(
            f"sliding_window_view {lengths} {axis}",
            (((3, 4),),),
            lambda x, n=lengths, k=axis: np.lib.stride_tricks.sliding_window_view(x, n, k),
            lambda x, n=lengths, k=axis: sd.sliding_window_view(x, n, k),
        )
        for lengths, axis in ((2, 0), (4, -1), ((2, 3), None), ((2, 2), (1, 1)), ((1, 2), (1, 0)))
    ),
    row("roll", ARRAYS, *both(lambda m, x: m.roll(x, 1))),
    row("roll axes", RANK_2, *both(lambda m, x: m.roll(x, (1, -2), (0, 1)))),
    *(row(f"roll {k}", RANK_2_FULL[:1], *both(lambda m, x, k=k: m.roll(x, k))) for k in (-7, 0, 2)),
    row("roll by one of two axes", RANK_2_FULL[:1], *both(lambda m, x: m.roll(x, 1, (0, 1)))),
    row("roll of nothing", (((0, 3),),), *both(lambda m, x: m.roll(x, 1, 0))),
    row("rot90", RANK_2),
    row("rot90 thrice", RANK_2, k=3),
    *(row(f"rot90 {k}", RANK_2_FULL[:1], k=k) for k in (-1, 0, 2)),
    row("rot90 axes", CUBE, axes=(2, 0)),
    row(
        "select",
        (*THREE[1:2], ((3,), (3,), (3,))),
        *both(lambda m, c, x, y: m.select([c > 1, c > 0], [x * y, y], 7.0)),
    ),
    row("tile", (((3,),), ((2, 1),), ((0,),), ((),)), *both(lambda m, x: m.tile(x, (2, 2)))),
    *(
        row(f"tile {r}", RANK_2_FULL[:1], *both(lambda m, x, r=r: m.tile(x, r)))
        for r in (2, (3, 1), (2, 1, 2), (0, 1), ())
    ),
    # Order.
    *(
        one
        for name in ("argmax", "argmin")
        for one in (row(name, FULL), row(f"{name} axis", RANK_2_FULL, axis=1, keepdims=True))
    ),
    row("argsort", ARRAYS),
    row("sort", ARRAYS),
    row("sort axis", RANK_2, *both(lambda m, x: m.sort(x, axis=0))),
    row("sort flat", RANK_2, *both(lambda m, x: m.sort(x, axis=None))),
    row(
        "partition",
        FULL,
        lambda x: np.partition(x, 0)[..., :1],
        lambda x: sd.partition(x, 0)[..., :1],
    ),
    row("partition second", (((5,),),), *both(lambda m, x: m.partition(x, 2)[2])),
    row("median", (*FULL, ((5,),))),
    row("median axis", RANK_2_FULL, axis=1, keepdims=True),
    row("median axes", CUBE[:2], axis=(0, 2), keepdims=True),
    row("quantile", FULL, *both(lambda m, x: m.quantile(x, [0.1, 0.75]))),
    row("quantile axis", RANK_2_FULL, *both(lambda m, x: m.quantile(x, 0.3, axis=0))),
    *(
        row(f"quantile {q}", (((4, 2),), ((1, 2),)), *both(lambda m, x, q=q: m.quantile(x, q, 0)))
        for q in (0, 0.5, 1, [0.2, 0.9])
    ),
    row("percentile", FULL, *both(lambda m, x: m.percentile(x, 35))),
    row("nonzero", (((5,),), ((0,),)), *both(lambda m, x: m.sum(m.nonzero(x > 0)[0]))),
    row("searchsorted", ONE, *both(lambda m, x: m.searchsorted(np.array([-1.0, 0.1, 0.9]), x))),
    row(
        "searchsorted right",
        ONE[:2],
        *both(lambda m, x: m.searchsorted(np.array([-1.0, 0.1, 0.9]), x, side="right")),
    ),
    row(
        "take_along_axis",
        (((2, 3),), ((2, 1),)),
        *both(lambda m, x: m.take_along_axis(x, np.array([[0, -1, 0], [0, 0, -1]]), axis=1)),
    ),
    row(
        "take_along_axis stretched",
        (((3, 4),),),
        *both(lambda m, x: m.take_along_axis(x, np.array([[2], [1]]), axis=0)),
    ),
    row(
        "take_along_axis flat",
        (((3, 2),),),
        *both(lambda m, x: m.take_along_axis(x, np.array([-1, 0, 0]), axis=None)),
    ),
    row("cumprod", ARRAYS + ONE[:1]),
    row("cumprod axis", RANK_2 + CUBE, axis=1),
    row("logcumsumexp", ARRAYS, lambda x: np.logaddexp.accumulate(np.ravel(x))),
    row(
        "logcumsumexp axis",
        RANK_2,
        lambda x: np.logaddexp.accumulate(x, axis=1),
        lambda x: sd.logcumsumexp(x, axis=1),
    ),
    row(
        "interp",
        (((3,), (4,)), ((2, 1), (4,)), ((), (4,)), ((0,), (4,))),
        *both(lambda m, x, fp: m.interp(x, [-1.5, -0.4, 0.6, 1.6], fp)),
        single=False,  # constant arrays are float64, and so is what meets them
    ),
    row(
        "interp between points that move",
        (((8,), (4,), (4,)),),
        *both(lambda m, x, xp, fp: m.interp(x, m.cumsum(m.exp(xp)), fp)),
    ),
    row(
        "interp with ends",
        (((2, 4),),),
        *both(lambda m, x: m.interp(x, [-0.5, 0.1], [1.0, 3.0], left=-1, right=7)),
        single=False,
    ),
    row(
        "interp of a point",
        (((3,), (1,)),),
        *both(lambda m, x, f: m.interp(x, [0.1], f)),
        single=False,
    ),
    # Signals.
    *(
        one
        for mode in ("full", "same", "valid")
        for one in (
            row(f"convolve {mode}", LENGTHS, mode=mode),
            row(f"correlate {mode}", LENGTHS, mode=mode),
        )
    ),
    *(
        one
        for name in ("fft", "ifft")
        for one in (
            row(
                name,
                (*(((n,), (n,)) for n in (1, 2, 4, 5, 6)), ((2, 3), (2, 3))),
                lambda x, y, name=name: pair(getattr(np.fft, name)(x + 1j * y)),
            ),
            row(
                f"{name} length",
                (((4,),), ((2,),), ((2, 4),)),
                lambda x, name=name: pair(getattr(np.fft, name)(x, 3)),
                lambda x, name=name: getattr(sd, name)(x, n=3),
            ),
            row(
                f"{name}n",
                (((2, 3), (2, 3)), ((1, 2), (1, 2))),
                lambda x, y, name=f"{name}n": pair(getattr(np.fft, name)(x + 1j * y)),
            ),
        )
    ),
    row(
        "rfft", (((4,),), ((2, 3),), ((1,),), ((2, 5),), ((2, 1),)), lambda x: pair(np.fft.rfft(x))
    ),
    row("irfft", (((3,), (3,)), ((2, 2), (2, 2))), lambda x, y: np.fft.irfft(x + 1j * y)),
    row(
        "irfft odd",
        (((3,), (3,)),),
        lambda x, y: np.fft.irfft(x + 1j * y, 5),
        lambda x, y: sd.irfft(x, y, n=5),
    ),
    *(
        row(
            f"irfft to {n}",
            cases,
            lambda x, y, n=n: np.fft.irfft(x + 1j * y, n),
            lambda x, y, n=n: sd.irfft(x, y, n=n),
        )
        for n, cases in (
            (2, (((2, 5), (2, 5)),)),
            (4, (((2, 4), (2, 4)),)),
            (7, (((2, 2), (2, 2)),)),
        )
    ),
    row(
        "rfft axis",
        (((4, 2),),),
        lambda x: pair(np.fft.rfft(x, axis=0)),
        lambda x: sd.rfft(x, axis=0),
    ),
    row(
        "fft cut",
        (((4, 2), (4, 2)),),
        lambda x, y: pair(np.fft.fft(x + 1j * y, 3, 0)),
        lambda x, y: sd.fft(x, y, 3, 0),
    ),
    row(
        "ifftn axes",
        (((2, 3),),),
        lambda x: pair(np.fft.ifftn(x, axes=(1,))),
        lambda x: sd.ifftn(x, axes=(1,)),
    ),
    row(
        "ifftshift axis",
        (((5, 2),),),
        lambda x: np.fft.ifftshift(x, 0),
        lambda x: sd.ifftshift(x, 0),
    ),
    *(row(name, ARRAYS, getattr(np.fft, name)) for name in ("fftshift", "ifftshift")),
    row("finite_diff", ARRAYS, np.diff),
    row(
        "scan",
        (((4,), ()), ((3, 2), (2,)), ((1,), ()), ((0,), ()), ((0, 2), (2,))),
        lambda x, s: np.stack([s, *_states(x, s)]),
        lambda x, s: sd.concat(
            [s[None], sd.scan(lambda c, x: (sd.sin(c) + c * x,) * 2, s, x, reverse=True)[1]]
        ),
    ),
    row(
        "scan in segments",
        (((5,), ()), ((3, 2), (2,)), ((0,), ())),
        lambda x, s: np.stack([s, *_states(x, s)]),
        lambda x, s: sd.concat(
            [
                s[None],
                sd.scan(lambda c, x: (sd.sin(c) + c * x,) * 2, s, x, reverse=True, checkpoint=2)[1],
            ]
        ),
    ),
    row(
        "fori_loop",
        (((),), ((3,),), ((0,),)),
        lambda x: np.sin(2 * np.sin(x)) * 3,
        lambda x: sd.fori_loop(2, 4, lambda i, c: sd.sin(c) * i, x),
    ),
    row(
        "while_loop",
        (((),), ((3,),), ((0,),)),
        lambda x: np.sin(np.sin(np.sin(x))),
        lambda x: sd.while_loop(lambda c: c[1] < 3, lambda c: (sd.sin(c[0]), c[1] + 1), (x, 0))[0],
    ),
    row(
        "root",
        (((),), ((3,),), ((2, 2),), ((0,),)),
        np.cbrt,
        lambda x: sd.root(lambda y: y**3 - x, sd.sign(x)),
    ),
    row(
        "fixed_point",
        (((3,),), ((0,),)),
        lambda x: np.linalg.solve(2 * np.eye(len(x)) - np.eye(len(x), k=1), x),
        lambda x: sd.fixed_point(lambda y: (x + sd.pad(y[1:], (0, 1))) / 2, x),
    ),
    row(
        "minimize",
        (((),), ((3,),), ((2, 2),), ((0,),)),
        lambda x: x / 3,
        lambda x: sd.minimize(lambda y: sd.sum((x - y) ** 2 + 2 * y**2), x),
    ),
    row(
        "odeint",
        (((),), ((3,),), ((2, 2),)),
        lambda x: np.stack([x, x + 0.5, x + 2]),
        lambda x: sd.odeint(lambda y, t: sd.ones(y.shape) * t, x, [0.0, 1.0, 2.0], max_steps=50),
        single=False,  # the times are data, of doubles
    ),
    row(
        "linear_solve",
        (((3,),), ((2, 2),), ((0,),)),
        lambda x: x / 2,
        lambda x: sd.linear_solve(lambda y: 2 * y, x),
    ),
    row(
        "finite_diff second",
        RANK_2_FULL,
        lambda x: np.diff(x, 2, axis=0),
        lambda x: sd.finite_diff(x, 2, axis=0),
    ),
    row(
        "finite_diff ends",
        (((3,), ()),),
        lambda x, y: np.diff(x, prepend=y, append=y),
        lambda x, y: sd.finite_diff(x, prepend=y, append=y),
    ),
    row(
        "finite_diff of too few",
        (((3,),),),
        lambda x: np.diff(x, 4),
        lambda x: sd.finite_diff(x, 4),
    ),
    row(
        "finite_diff ends of columns",
        (((3, 2), (2, 2)),),
        lambda x, y: np.diff(x, axis=0, prepend=0, append=y),
        lambda x, y: sd.finite_diff(x, axis=0, prepend=0, append=y),
    ),
    row("trapezoid", FULL),
    row("trapezoid x", (((4,), (4,)), ((1,), (1,)), ((2, 3), (3,)))),
    row("trapezoid dx", RANK_2_FULL, dx=0.5, axis=0),
    row("trapezoid x of columns", (((4, 2), (4,)), ((4, 2), (4, 2))), axis=0),
    # Statistics.
    *(
        one
        for name in ("all", "any", "count_nonzero")
        for one in (
            row(name, ARRAYS, *both(lambda m, x, name=name: getattr(m, name)(x > 0))),
            row(
                f"{name} axis",
                RANK_2,
                *both(lambda m, x, name=name: getattr(m, name)(x > 0, axis=1)),
            ),
        )
    ),
    row("average", FULL),
    row(
        "average weights",
        (((4,),), ((1,),)),
        *both(lambda m, x: m.average(x, weights=np.array([1, 2, 4, 9][: x.shape[0]], np.float32))),
    ),
    row(
        "average axis",
        RANK_2_FULL[:1] + CUBE[:1],
        *both(lambda m, x: m.average(x, axis=1, weights=np.array([1, 2, 5], np.float32))),
    ),
    row(
        "average by weights that move",
        (((3, 2), (3,)),),
        *both(lambda m, x, w: m.average(x, 0, m.exp(w))),
    ),
    row(
        "average of all by weights that move",
        (((3, 2), (3, 2)),),
        *both(lambda m, x, w: m.average(x, weights=m.exp(w))),
    ),
    row("cov", (*RANK_2_FULL[:3], ((4,),))),
    row("cov columns", RANK_2_FULL[:2], rowvar=False, ddof=0),
    row("cross", (((2, 1, 3), (4, 3)), ((3,), (3,)), ((2, 3), (3,)), ((0, 3), (1, 3)))),
    row(
        "cross axis",
        (((3, 2), (3, 2)),),
        lambda x, y: np.cross(x, y, axis=0),
        lambda x, y: sd.cross(x, y, 0),
    ),
    row(
        "inner",
        (
            ((2, 3), (4, 3)),
            ((2, 1, 3), (3,)),
            ((3,), (3,)),
            ((2, 3), (2, 3)),
            ((), (2,)),
            ((1, 0), (0,)),
        ),
    ),
    row(
        "multi_dot",
        (
            ((2, 3), (3,)),
            ((3,), (3, 2)),
            ((2, 2), (2, 3), (3, 1), (1, 2)),
            ((2, 3), (3, 1), (1, 2)),
            ((3,), (3, 2), (2,)),
            ((2, 0), (0, 1), (1, 1)),
        ),
        lambda *xs: np.linalg.multi_dot(xs),
        lambda *xs: sd.multi_dot(xs),
    ),
    *(
        row(
            name,
            ONE,
            *both(
                lambda m, x, name=name: getattr(m, name)(
                    m.where(x > 1, np.inf, m.where(x < -1, np.nan, x))
                )
            ),
        )
        for name in ("isfinite", "isinf", "isnan")
    ),
    row("nan_to_num", ONE, *both(lambda m, x: m.nan_to_num(m.where(x > 1, np.nan, x), nan=3.0))),
    *(
        one
        for name in (
            "nansum",
            "nanprod",
            "nancumsum",
            "nanmean",
            "nanmax",
            "nanmin",
            "nanvar",
            "nanstd",
        )
        for one in (
            row(
                name,
                FULL[:2],
                *both(lambda m, x, name=name: getattr(m, name)(m.where(x > 1.2, np.nan, x))),
            ),
            row(
                f"{name} axis",
                RANK_2_FULL[:1],
                *both(
                    lambda m, x, name=name: getattr(m, name)(m.where(x > 1.8, np.nan, x), axis=1)
                ),
            ),
        )
    ),
    row("ptp", FULL),
    row("ptp axis", RANK_2_FULL[:2], axis=0),
    row("vander", (((3,),), ((1,),), ((0,),))),
    row("vander increasing", (((3,),),), *both(lambda m, x: m.vander(x, 4, increasing=True))),
    *(
        row(
            f"vander {n} {'up' if up else 'down'}",
            (((3,),),),
            *both(lambda m, x, n=n, up=up: m.vander(x, n, increasing=up)),
        )
        for n in (None, 2, 5, 0)
        for up in (False, True)
    ),
    # Functions without operands: no derivative, a value nevertheless.
    row("eye", ((),), lambda: np.eye(3), lambda: sd.eye(3)),
    row("arange", ((),), lambda: np.arange(7, 1, -2), lambda: sd.arange(7, 1, -2)),
    row("zeros", ((),), lambda: np.zeros((2, 0, 1)), lambda: sd.zeros((2, 0, 1))),
    row("ones", ((),), lambda: np.ones((2, 1)), lambda: sd.ones((2, 1))),
)


# What is not a function of expressions to expressions, and where it is tested instead.
EXCEPTIONS = {
    "Expr": "the class of expressions: tests/symdiff/test_functions.py",
    "ConvergenceError": "an exception",
    "NotAdditive": "an exception",
    "NotDifferentiable": "an exception",
    "ParseError": "an exception",
    "ShapeError": "an exception",
    "Unsupported": "an exception",
    "constant": "makes a leaf: tests/symdiff/test_functions.py",
    "symbol": "makes a leaf: tests/symdiff/test_functions.py",
    "symbols": "makes leaves: tests/symdiff/test_functions.py",
    "e": "a number",
    "pi": "a number",
    "count_edges": "counts: tests/symdiff/test_counting.py",
    "count_nodes": "counts: tests/symdiff/test_counting.py",
    "count_operations": "counts: tests/symdiff/test_counting.py",
    "sparsity": "looks at a graph: tests/symdiff/test_sparsity.py",
    "nodes": "counts: tests/symdiff/test_counting.py",
    "free_symbols": "looks at a graph: tests/symdiff/test_substitution.py",
    "detach": "the identity without a derivative: tests/test_laws.py",
    "diff": "a derivative: tests/test_oracles.py",
    "grad": "a derivative; every row uses it",
    "hessian": "a derivative: tests/test_batched.py",
    "gauss_newton_product": "a derivative; tests/symdiff/test_gauss_newton.py",
    "hvp": "a derivative; every row uses it",
    "jacobian": "a derivative; every row uses it",
    "jvp": "a derivative; every row uses it",
    "vjp": "a derivative: tests/test_oracles.py",
    "custom": "black boxes: tests/symdiff/test_custom.py",
    "function": "without a value: tests/symdiff/test_unknown_functions.py",
    "total_derivative": "a derivative: tests/symdiff/test_unknown_functions.py",
    "integrate": "a closed form or quadrature: tests/symdiff/test_integrals.py",
    "from_function": "calls NumPy code: tests/symdiff/test_numpy_protocol.py",
    "kinks": "a context: tests/symdiff/test_kinks.py",
    "__version__": "a text",
    "latex": "writes text: tests/symdiff/test_latex.py",
    "mermaid": "writes text: tests/symdiff/test_mermaid.py",
    "evalf": "evaluates: tests/symdiff/test_evaluate.py",
    "from_sympy": "converts: tests/symdiff/test_bridge.py",
    "to_sympy": "converts: tests/symdiff/test_bridge.py",
    **dict.fromkeys(
        ("simplify", "expand", "factor", "collect", "series", "limit"),
        "other forms: tests/symdiff/test_simplification.py",
    ),
    "parse": "reads text: tests/symdiff/test_parser.py",
    "short": "writes text: tests/symdiff/test_printing.py",
    "text": "writes text: tests/symdiff/test_printing.py",
    "batch": "rewrites: tests/symdiff/test_batching.py",
    "substitute": "rewrites: tests/symdiff/test_substitution.py",
}

CASES = [(one, shapes) for one in ROWS for shapes in one.cases]


def _title(value: Any) -> str:
    return value.title if isinstance(value, Row) else " ".join(map(str, value))


@pytest.mark.slow
@pytest.mark.parametrize(("one", "shapes"), CASES, ids=_title)
def test_row(one, shapes):
    assert check(one, shapes) >= 1


def test_of_several_updates_of_a_place_the_last_counts():
    shapes = ((3, 3), (4, 3))
    several = row(
        "index_update",
        (shapes,),
        lambda x, y: updated(x, TWICE, y),
        lambda x, y: sd.index_update(x, TWICE, y),
    )
    assert check(several, shapes) >= 1


def test_every_public_function_has_a_row_or_a_reason():
    """An alias is the function itself, so the row of either name is the row of both."""
    covered = {id(getattr(sd, one.function)) for one in ROWS}
    without = [
        name
        for name in sd.__all__
        if id(getattr(sd, name)) not in covered and name not in EXCEPTIONS
    ]
    assert not without
    assert not [name for name in EXCEPTIONS if name not in sd.__all__]
    assert not [name for name in EXCEPTIONS if id(getattr(sd, name)) in covered]


def test_every_title_is_of_one_row():
    titles = [one.title for one in ROWS]
    assert sorted(set(titles)) == sorted(titles)


def test_the_table_sees_a_wrong_derivative():
    """A value that is right with a derivative that is not: what ``detach`` does to a factor."""
    wrong = Row("square", lambda x: x * sd.detach(x), np.square, (((3,),),))
    with pytest.raises(AssertionError, match="Jacobian by operand 0"):
        check(wrong, ((3,),))


def test_the_table_sees_a_wrong_second_derivative():
    """A right gradient, but constant: the value vanishes at the point and its slope does not."""
    wrong = Row("square", lambda x: x * sd.detach(2 * x) - sd.detach(x**2), np.square, (((3,),),))
    with pytest.raises(AssertionError, match="Hessian-vector product"):
        check(wrong, ((3,),))


def test_a_number_on_a_diagonal_has_zeros_beside_it():
    """The Jacobian of pi*x is pi times an identity: one number, but not everywhere."""
    x = sd.symbol("x", (3,))
    jacobian = sd.jacobian(sd.pi * x, x)
    at = np.ones(3, np.float32)
    for found in (nm.interpret(jacobian, {x: at}), nm.lower(jacobian, [x])(at)):
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, np.float32(np.pi) * np.eye(3, dtype=np.float32))


def main() -> int:
    """Run the table and print how much was compared."""
    comparisons = sum(check(one, shapes) for one, shapes in CASES)
    functions = len({one.function for one in ROWS})
    names = sum(name not in EXCEPTIONS for name in sd.__all__)
    print(
        f"{functions} functions under {names} names, {len(ROWS)} rows, {len(CASES)} cases, "
        f"{comparisons} comparisons; {len(EXCEPTIONS)} names with a reason instead"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
