"""Products, powers, exponentials and diagonals of matrices, and products of vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from numeric.eager.dtypes import word
from numeric.eager.recording import apply
from numeric.linalg.checks import fit_batches, operands, real, square
from numeric.linalg.equations import inv
from numeric.ops import reducing, views, views_of_parts
from numeric.ops.arithmetic import mul
from numeric.ops.creation import eye
from numeric.ops.dim_arguments import axis_of
from numeric.ops.matrix_factors import CROSS, MATRIX_EXP
from numeric.ops.matrix_products import matmul, mm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numeric.eager.tensor import Tensor

__all__ = [
    "cross",
    "diagonal",
    "matmul",
    "matrix_exp",
    "matrix_power",
    "multi_dot",
    "vecdot",
]


@operands("A")
def matrix_exp(A: Tensor) -> Tensor:
    """Return the matrix exponential ``1 + A + A A/2 + ...``.

    >>> import numeric as torch
    >>> torch.linalg.matrix_exp(torch.zeros(2, 2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    square("linalg.matrix_exp", A)
    real("linalg.matrix_exp", A)
    return apply(MATRIX_EXP, (A,))


@operands("A")
def matrix_power(A: Tensor, n: int) -> Tensor:
    """Return the product of n equal matrices, or of -n equal inverses for negative n.

    Raises LinAlgError for n < 0 and a singular matrix.

    >>> import numeric as torch
    >>> torch.linalg.matrix_power(torch.tensor([[1, 1], [0, 1]]), 3).tolist()
    [[1, 3], [0, 1]]
    """
    if not isinstance(n, int) or isinstance(n, bool):
        raise TypeError(
            f"linalg_matrix_power(): argument 'n' (position 2) must be int, not {type(n).__name__}"
        )
    square("linalg.matrix_power", A)
    if n == 0:
        one: Tensor = A.clone().copy_(eye(A._array.shape[-1], dtype=A.dtype))
        return one
    if n == 1:
        return A.clone()
    if n < 0:
        A, n = inv(A), -n
    if n == 3:  # in PyTorch's order of products, for equal roundings
        return matmul(matmul(A, A), A)
    result: Tensor | None = None
    power = A
    while n:
        n, bit = divmod(n, 2)
        if bit:
            result = power if result is None else matmul(result, power)
        if n:
            power = matmul(power, power)
    return cast("Tensor", result)


def _order(lengths: Sequence[int]) -> dict[tuple[int, int], int]:
    """Return the place to split each chain of matrices for the fewest multiplications."""
    count = len(lengths) - 1
    cost = {(i, i): 0 for i in range(count)}
    split = {}
    for span in range(1, count):
        for i in range(count - span):
            j = i + span
            cost[i, j], split[i, j] = min(
                (cost[i, k] + cost[k + 1, j] + lengths[i] * lengths[k + 1] * lengths[j + 1], k)
                for k in range(i, j)
            )
    return split


def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """Return the product of matrices in the cheapest order; the first and last may be vectors.

    Raises RuntimeError for shapes or dtypes that do not fit.

    >>> import numeric as torch
    >>> torch.linalg.multi_dot([torch.tensor([1, 2]), torch.eye(2).long(), torch.tensor([3, 4])])
    tensor(11)
    """
    matrices = list(tensors)
    if len(matrices) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(matrices)}")
    last = len(matrices) - 1
    for place, i in (("first", 0), ("last", last)):
        if matrices[i].ndim not in (1, 2):
            raise RuntimeError(
                f"multi_dot(): the {place} tensor must be 1D or 2D but got {matrices[i].ndim}D"
            )
    shape: list[int] = []
    if matrices[0].ndim == 2:
        shape.append(matrices[0].shape[0])
    else:
        matrices[0] = views.unsqueeze(matrices[0], 0)
    if matrices[last].ndim == 2:
        shape.append(matrices[last].shape[1])
    else:
        matrices[last] = views.unsqueeze(matrices[last], -1)
    for i, x in enumerate(matrices):
        if x.ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {x.ndim}D")
        if x.dtype != matrices[0].dtype:
            names = [str(y.dtype).removeprefix("torch.") for y in (matrices[0], x)]
            names = [{"float32": "float", "float64": "double"}.get(name, name) for name in names]
            raise RuntimeError(
                "multi_dot(): all tensors must have be the same dtype but tensor 0 is "
                f"{names[0]} and tensor {i} {names[1]}"
            )
        if i and matrices[i - 1].shape[1] != x.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i - 1} and {i} with shapes "
                f"{list(matrices[i - 1].shape)} and {list(x.shape)} cannot be multiplied"
            )
    return views.view(_multiplied(matrices), shape)


def _multiplied(matrices: Sequence[Tensor]) -> Tensor:
    last = len(matrices) - 1
    split = _order([matrices[0].shape[0], *(x.shape[1] for x in matrices)])
    done = {(i, i): x for i, x in enumerate(matrices)}
    todo = [(0, last)]
    while todo:
        i, j = todo[-1]
        k = split[i, j]
        missing = [part for part in ((i, k), (k + 1, j)) if part not in done]
        if missing:
            todo += missing
        else:
            todo.pop()
            done[i, j] = mm(done[i, k], done[k + 1, j])
    return done[0, last]


@operands("input", "other")
def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """Return the vector product along an axis of length 3; the other axes broadcast.

    Raises RuntimeError for another length, for two numbers of axes and for two dtypes.

    >>> import numeric as torch
    >>> torch.linalg.cross(torch.tensor([1, 0, 0]), torch.tensor([0, 1, 0])).tolist()
    [0, 0, 1]
    """
    a, b = input._array, other._array
    if a.ndim != b.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    axis = axis_of(dim, a.ndim)
    lengths = [x.shape[axis] if x.ndim else 1 for x in (a, b)]
    if lengths != [3, 3]:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. "
            f"Got {lengths[0]} and {lengths[1]}"
        )
    if a.dtype != b.dtype:
        raise RuntimeError(f"expected scalar type {word(a.dtype)} but found {word(b.dtype)}")
    if a.dtype.kind == "b":
        raise NotImplementedError("\"cross\" not implemented for 'Bool'")
    fit_batches(a.shape, b.shape)
    return apply(CROSS, (input, other), (axis,))


@operands("x", "y")
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """Return the sums of products along an axis.  Raises RuntimeError unless they are floats.

    >>> import numeric as torch
    >>> torch.linalg.vecdot(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])).item()
    11.0
    """
    real("linalg.vecdot", x, half=True)
    real("linalg.vecdot", y, half=True)
    return reducing.sum(mul(x, y), dim=dim)


@operands("A")
def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Return a view of the diagonals of matrices.

    >>> import numeric as torch
    >>> torch.linalg.diagonal(torch.tensor([[1, 2], [3, 4]])).tolist()
    [1, 4]
    """
    return views_of_parts.diagonal(A, offset, dim1, dim2)
