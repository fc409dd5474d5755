"""Functions of ``linalg`` under their names at the top level and as methods."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

from numeric import linalg
from numeric.eager.dtypes import word
from numeric.eager.recording import apply
from numeric.eager.refusals import user_level
from numeric.eager.tensor import Tensor, method, wrap
from numeric.linalg.checks import fit_batches, real, square
from numeric.ops.choices import result_type
from numeric.ops.matrix_factors import CHOLESKY_SOLVE
from numeric.ops.moments import vector_norm
from numeric.ops.pointwise import where
from numeric.ops.reduction_arguments import renamed

if TYPE_CHECKING:
    from numeric.eager import dtypes
    from numeric.types import Dims

__all__ = [
    "cholesky_solve",
    "cross",
    "det",
    "inverse",
    "logdet",
    "matrix_exp",
    "matrix_power",
    "norm",
    "pinverse",
    "slogdet",
]

SlogdetResult = result_type("slogdet", "sign logabsdet")


@method()
def det(input: Tensor) -> Tensor:
    """Return ``linalg.det(input)``.

    >>> import numeric as torch
    >>> torch.det(torch.eye(3)).item()
    1.0
    """
    return linalg.det(input)


@method()
def slogdet(input: Tensor) -> Any:
    """Return ``linalg.slogdet(input)``.

    >>> import numeric as torch
    >>> torch.slogdet(torch.eye(3)).logabsdet.item()
    0.0
    """
    return SlogdetResult(*linalg.slogdet(input))


@method()
def logdet(input: Tensor) -> Tensor:
    """Return the logarithms of determinants: nan for negative ones, -inf for 0.

    >>> import numeric as torch
    >>> torch.logdet(torch.eye(3)).item()
    0.0
    """
    square("logdet", input)
    real("logdet", input)
    sign, logabsdet = linalg.slogdet(input)
    return where(wrap(sign._array == -1), math.nan, logabsdet)


@method()
def inverse(input: Tensor) -> Tensor:
    """Return ``linalg.inv(input)``.

    >>> import numeric as torch
    >>> torch.inverse(torch.tensor([[2.0]])).item()
    0.5
    """
    return linalg.inv(input)


@method()
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """Return ``linalg.pinv(input, rcond)``, with another default for the tolerance.

    >>> import numeric as torch
    >>> torch.pinverse(torch.tensor([[2.0], [0.0]])).tolist()
    [[0.5, 0.0]]
    """
    return linalg.pinv(input, rcond)


@method()
def matrix_exp(input: Tensor) -> Tensor:
    """Return ``linalg.matrix_exp(input)``.

    >>> import numeric as torch
    >>> torch.matrix_exp(torch.zeros(1, 1)).item()
    1.0
    """
    return linalg.matrix_exp(input)


@method()
def matrix_power(input: Tensor, n: int) -> Tensor:
    """Return ``linalg.matrix_power(input, n)``.

    >>> import numeric as torch
    >>> torch.matrix_power(torch.tensor([[2.0]]), -1).item()
    0.5
    """
    return linalg.matrix_power(input, n)


@method()
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """Return ``linalg.cross(input, other)``, by default along the first axis of length 3.

    >>> import numeric as torch
    >>> torch.cross(torch.tensor([1, 0, 0]), torch.tensor([0, 1, 0]), dim=0).tolist()
    [0, 0, 1]
    """
    if dim is None:
        if isinstance(input, Tensor) and 3 not in input._array.shape:
            raise RuntimeError("no dimension of size 3 in input")
        warnings.warn(
            "Using torch.cross without specifying the dim arg is deprecated.\n"
            "Please either pass the dim explicitly or simply use torch.linalg.cross.",
            UserWarning,
            stacklevel=user_level(),
        )
        dim = input._array.shape.index(3)
    return linalg.cross(input, other, dim=dim)


@method()
def cholesky_solve(B: Tensor, L: Tensor, upper: bool = False) -> Tensor:
    """Return the ``X`` with ``L L' X = B``, or with ``L' L X = B`` if L is ``upper``.

    A singular factor gives nan.  It does not read the other triangle of L, whose gradient is 0.
    Raises RuntimeError for shapes or dtypes that do not fit.

    >>> import numeric as torch
    >>> torch.cholesky_solve(torch.tensor([[4.0]]), torch.tensor([[2.0]])).item()
    1.0
    """
    a, b = L._array, B._array
    for name, x in (("b", b), ("u", a)):
        if x.ndim < 2:
            raise RuntimeError(
                f"{name} should have at least 2 dimensions, but has {x.ndim} dimensions instead"
            )
    if a.dtype != b.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {word(b.dtype)} and A "
            f"of type {word(a.dtype)} instead."
        )
    square("", L)
    real("cholesky_solve", L)
    if a.shape[-1] != b.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {a.shape[-1]} by "
            f"{a.shape[-1]} but each b matrix is {b.shape[-2]} by {b.shape[-1]}"
        )
    fit_batches(b.shape[:-2], a.shape[:-2])
    return apply(CHOLESKY_SOLVE, (B, L), (upper,))


@method()
def norm(
    input: Tensor,
    p: float | str | None = "fro",
    dim: Dims | None = None,
    keepdim: bool = False,
    dtype: dtypes.dtype | None = None,
    **names: object,
) -> Tensor:
    """Return ``sum(abs(x)**p)**(1/p)`` over the axes ``dim``, by default over all.

    ``p`` is a number, inf, -inf, or "fro", which is 2; "nuc" sums singular values.  Where the norm
    is 0 its derivative is 0.  Raises RuntimeError for an integer dtype and for another name.

    >>> import numeric as torch
    >>> x = torch.tensor([3.0, -4.0])
    >>> torch.norm(x).item(), torch.norm(x, 1).item()
    (5.0, 7.0)
    """
    dim, keepdim = renamed("norm", names, dim, keepdim)
    if p == "nuc":
        all_axes = tuple(range(input._array.ndim))
        return linalg.matrix_norm(input, "nuc", all_axes if dim is None else dim, keepdim)
    if p is None or p == "fro":
        p = 2
    if isinstance(p, str):
        raise RuntimeError(f"only valid string values are 'fro' and 'nuc', found: {p}")
    return vector_norm(input, p, dim, keepdim, dtype)
