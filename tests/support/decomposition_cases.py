"""Cases of matrix decompositions and exponentials, for the derivatives of their ops.

The plain versions use other formulas than ``tests.support.decomposed`` where there are others.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import mpmath as mp
import numpy as np
import sympy as sp

from symdiff import opaque_ops
from symdiff.graph import ops
from symdiff.graph.algebra import opaque
from tests.support.decomposed import array, blocks, evaluated, matrix
from tests.support.fields import Array, Field, inverse, minors
from tests.support.oracles import Case

if TYPE_CHECKING:
    from collections.abc import Callable


def case(name: str, ours: Any, plain: Any, *shapes: tuple[int, ...]) -> Case:
    return Case(name, shapes, lambda xs: ours(*xs), lambda f, xs: f.array(plain(f, *xs)))


def _swapped(x: Array) -> Array:
    return np.swapaxes(x, -1, -2)


def _plain_cholesky(f: Field, a: Array) -> Array:
    """Compute the factor column by column."""
    a = (a + _swapped(a)) / 2
    out = a * 0
    for j in range(a.shape[-1]):
        column = a[..., :, j] - (out[..., :, :j] @ out[..., j, :j, None])[..., 0]
        root = f.call("sqrt", f.array(column[..., j]))
        out[..., j:, j] = column[..., j:] / root[..., None]
    return out


def _plain_pinv(f: Field, a: Array) -> Array:
    if a.shape[-2] >= a.shape[-1]:
        return inverse(f, _swapped(a) @ a) @ _swapped(a)
    return _swapped(a) @ inverse(f, a @ _swapped(a))


def _plain_expm(f: Field, *x: Array) -> Array:
    lead, n = x[-1].shape[:-2], x[0].shape[-1]
    wide = [np.broadcast_to(y, x[-1].shape) for y in x]
    out = np.empty(x[-1].shape, object)
    for place in np.ndindex(lead if n else (0,)):
        out[place] = array(mp.expm(matrix(blocks([y[place] for y in wide]))))[:n, -n:]
    return out


def _plain_logm(f: Field, a: Array, *directions: Array) -> Array:
    """Use a closed form: for one row ``(-1)^(k-1) e1 .. ek / (k a^k)``.

    For two rows ``log(det A)/2 + (A - m) artanh(d/m)/d``, where m ± d are the eigenvalues
    (Sylvester).
    """
    a, k = _far(a), len(directions)
    if a.shape[-1] < 2:
        return -math.prod(directions) * (-1 / a) ** k / k if k else f.call("log", a)
    assert not k
    middle = (a[..., 0, 0] + a[..., 1, 1]) / 2
    det = f.array(a[..., 0, 0] * a[..., 1, 1] - a[..., 0, 1] * a[..., 1, 0])

    def slope(m: Any, det: Any) -> Any:
        d = mp.sqrt(m * m - det)
        return mp.re(mp.atanh(d / m) / d)

    slopes = np.frompyfunc(slope, 2, 1)(middle, det)
    unit = np.eye(2, dtype=int)
    whole = f.call("log", det)[..., None, None] / 2 * unit
    return whole + (a - f.array(middle)[..., None, None] * unit) * f.array(slopes)[..., None, None]


def _plain_sqrtm(f: Field, a: Array) -> Array:
    """Use ``(A + √det A) / √(tr A + 2 √det A)`` for two rows, by Cayley and Hamilton."""
    a = _far(a)
    if a.shape[-1] < 2:
        return f.call("sqrt", a)
    root = f.call("sqrt", f.array(a[..., 0, 0] * a[..., 1, 1] - a[..., 0, 1] * a[..., 1, 0]))
    below = f.call("sqrt", f.array(a[..., 0, 0] + a[..., 1, 1] + 2 * root))
    return (a + root[..., None, None] * np.eye(2, dtype=int)) / below[..., None, None]


def _plain_tangent(f: Field, a: Array, e: Array) -> Array:
    """Use exact differences: cofactors of A + tE are polynomials in t of degree below n."""
    n = a.shape[-1]
    points = list(range(max(n, 2)))
    weights = sp.finite_diff_weights(1, points, 0)[1][-1]
    out = e * 0
    for t, w in zip(points, weights, strict=True):
        out = out + f.number(Fraction(int(w.p), int(w.q))) * minors(f, a + t * e)
    return out


def _plain_sylvester(f: Field, a: Array, b: Array, c: Array) -> Array:
    """Invert the matrix of the system, a Kronecker product."""
    m, n = c.shape[-2:]
    lead = (*a.shape[:-2], m * n, m * n)
    left = np.einsum("...ip,jq->...ijpq", a, np.eye(n, dtype=int).astype(object)).reshape(lead)
    right = np.einsum("ip,...qj->...ijpq", np.eye(m, dtype=int).astype(object), b).reshape(lead)
    x = inverse(f, f.array(left + right)) @ c.reshape(*c.shape[:-2], m * n, 1)
    return np.asarray(x, object).reshape(c.shape)


def _by_matrix(op: Any) -> Callable[..., Array]:
    return lambda f, a: evaluated(op, op.result(a.shape), [a])


def _positive(x: Any, n: int) -> Any:
    return x + 8 * np.eye(n, dtype=int)


def _far(x: Any) -> Any:
    """Move all eigenvalues far from the negative axis, close to each other."""
    return x + 32 * np.eye(x.shape[-1], dtype=int)


SQUARE = ((2, 2), (2, 1, 1), (0, 0), (2, 0, 0), (0, 2, 2))
TALL, WIDE = ((3, 2), (2, 2, 1)), ((2, 3), (2, 1, 2))


def _simple(cls: type, shapes: Any, *parameters: Any, plain: Any = None) -> list[Case]:
    op = ops.opaque_op(cls, *parameters)
    named = " ".join(map(str, [op.name, *parameters]))
    return [
        case(f"{named} {shape}", lambda x: opaque(op, x), plain or _by_matrix(op), shape)
        for shape in shapes
    ]


def _several(cls: type, plain: Any, *shapes: Any, parameters: Any = ()) -> list[Case]:
    op = ops.opaque_op(cls, *parameters)
    named = " ".join(map(str, [op.name, *parameters]))
    return [case(f"{named} {s}", lambda *x: opaque(op, *x), plain, *s) for s in shapes]


def _banded(upper: int, *shapes: Any) -> list[Case]:
    """Use the inverse; set the diagonals one by one."""

    def plain(f: Field, bands: Array, b: Array) -> Array:
        n = bands.shape[-1]
        a = np.full((*bands.shape[:-2], n, n), f.number(0))
        for r in range(bands.shape[-2]):
            for j in range(max(upper - r, 0), min(n, n + upper - r)):
                a[..., j - upper + r, j] = bands[..., r, j]
        return inverse(f, f.array(a)) @ b

    return _several(opaque_ops.SolveBanded, plain, *shapes, parameters=(upper,))


def _by_far(cls: type, plain: Any, *shapes: Any) -> list[Case]:
    """Return cases with eigenvalues of the first operand far from the negative axis."""
    op = ops.opaque_op(cls)
    return [
        case(f"{op.name} {s}", lambda a, *x: opaque(op, _far(a), *x), plain, *s) for s in shapes
    ]


VECTORS = ((3,), (2, 2), (1,), (2, 1), (0, 2))

CASES: dict[type, list[Case]] = {
    opaque_ops.Cholesky: [
        case(
            f"cholesky {shape}",
            lambda x, n=shape[-1]: opaque(ops.opaque_op(opaque_ops.Cholesky), _positive(x, n)),
            lambda f, x, n=shape[-1]: _plain_cholesky(f, _positive(x, n)),
            shape,
        )
        for shape in (*SQUARE, (3, 3), (2, 2, 2))
    ],
    opaque_ops.CofactorTangent: _several(
        opaque_ops.CofactorTangent,
        _plain_tangent,
        ((2, 2), (2, 2)),
        ((2, 2), (2, 2, 2)),
        ((3, 3), (3, 3)),
        ((2, 1, 1), (2, 1, 1)),
        ((0, 0), (0, 0)),
    ),
    opaque_ops.Eigvalsh: _simple(opaque_ops.Eigvalsh, (*SQUARE, (3, 3), (2, 2, 2))),
    opaque_ops.Eigvecs: _simple(opaque_ops.Eigvecs, (*SQUARE, (3, 3), (2, 2, 2))),
    opaque_ops.Expm: _several(
        opaque_ops.Expm,
        _plain_expm,
        *((shape,) for shape in SQUARE),
        ((2, 2), (2, 2)),
        ((1, 1), (2, 1, 1)),
        ((1, 1), (1, 1), (1, 1)),
    ),
    opaque_ops.Gaps: _simple(opaque_ops.Gaps, VECTORS, -1, False)
    + _simple(opaque_ops.Gaps, VECTORS, 1, False)
    + _simple(opaque_ops.Gaps, VECTORS, 1, True),
    opaque_ops.LeftVectors: _simple(opaque_ops.LeftVectors, (*TALL, *WIDE, (2, 2), (0, 2, 2))),
    opaque_ops.Logm: _by_far(
        opaque_ops.Logm,
        _plain_logm,
        *((shape,) for shape in ((2, 2), (2, 1, 1), (0, 0))),
        ((1, 1), (2, 1, 1)),
        ((1, 1), (1, 1), (1, 1)),
    ),
    opaque_ops.Pinv: _simple(
        opaque_ops.Pinv, (*TALL, *WIDE, *SQUARE), False, None, plain=_plain_pinv
    )
    + _simple(opaque_ops.Pinv, (*TALL, *WIDE), True, None, plain=_plain_pinv)
    + _simple(opaque_ops.Pinv, (*TALL, *WIDE), None, None, plain=_plain_pinv),
    opaque_ops.Qr: _simple(opaque_ops.Qr, (*TALL, *WIDE, (2, 2), (0, 2, 2))),
    opaque_ops.QrTriangle: _simple(opaque_ops.QrTriangle, (*TALL, *WIDE, (2, 2), (0, 2, 2))),
    opaque_ops.RightVectors: _simple(opaque_ops.RightVectors, (*TALL, *WIDE, (2, 2), (0, 2, 2))),
    opaque_ops.SingularValues: _simple(
        opaque_ops.SingularValues, (*TALL, *WIDE, (2, 2), (0, 2, 2))
    ),
    opaque_ops.SolveBanded: _banded(1, ((3, 3), (3, 1)), ((2, 2), (2, 2, 1)))
    + _banded(0, ((2, 2, 1), (2, 1, 2)), ((1, 2), (2, 1)), ((1, 0), (0, 1)))
    + _banded(2, ((3, 2), (2, 1))),
    opaque_ops.Sqrtm: _by_far(
        opaque_ops.Sqrtm, _plain_sqrtm, *((shape,) for shape in ((2, 2), (2, 1, 1), (0, 0)))
    ),
    opaque_ops.Sylvester: _several(
        opaque_ops.Sylvester,
        _plain_sylvester,
        ((2, 2), (2, 2), (2, 2)),
        ((1, 1), (2, 2), (1, 2)),
        ((1, 1), (2, 2), (2, 1, 2)),
        ((2, 1, 1), (2, 1, 1), (3, 2, 1, 1)),
        ((0, 0), (1, 1), (0, 1)),
    ),
}
