"""Products of vectors and matrices.

They do not promote: operands of two dtypes raise, because they are usually a mistake.
"""

from __future__ import annotations

from itertools import zip_longest
from operator import index
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex

import numpy as np

from numeric.eager.dtypes import INT64, promoted, type_word, word
from numeric.eager.inplace import inplace
from numeric.eager.operations import Op
from numeric.eager.recording import apply, cast
from numeric.eager.tensor import Tensor, attach, method, values_of
from numeric.ops.arithmetic import check_factor
from symdiff import functions as sd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numeric.types import Dims, Values
    from symdiff.graph.expr import Expr

    Array = np.ndarray

__all__ = [
    "addmm",
    "addmv",
    "addr",
    "baddbmm",
    "bmm",
    "dot",
    "einsum",
    "ger",
    "inner",
    "kron",
    "matmul",
    "mm",
    "mv",
    "outer",
    "tensordot",
    "trace",
    "vdot",
]


def _product(name: str, label: str | None = None, build: Callable[..., Expr] = sd.matmul) -> Op:
    return Op(name, build, promotion=None, label=label, stretches=build is sd.matmul)


# Of vectors and matrices ``dot`` is the same.
DOT, VDOT, MV, MM = (_product(name, build=sd.dot) for name in ("dot", "vdot", "mv", "mm"))
BMM = _product("bmm")
# Products of operands of other ranks have the name of PyTorch's last operation.
ROW = _product("row_mm", "SqueezeBackward4")
STACK = _product("matmul", "UnsafeViewBackward0")
TURNED = _product("turned_mm", "CloneBackward0")

# By the ranks of the operands.
_MATMUL = {(1, 1): DOT, (2, 1): MV, (2, 2): MM, (1, 2): ROW}

# Checks -----------------------------------------------------------------------------------------


def _tensors(name: str, *operands: object, names: Sequence[str] = ("input", "other")) -> None:
    for i, x in enumerate(operands):
        if not isinstance(x, Tensor):
            raise TypeError(
                f"{name}(): argument '{names[i]}' (position {i + 1}) must be Tensor, "
                f"not {type(x).__name__}"
            )


def same_dtype(a: Array, b: Array) -> None:
    if a.dtype is not b.dtype:
        first, second = type_word(a.dtype), type_word(b.dtype)
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {first} != {second}"
        )
    if a.dtype.kind == "b":
        raise NotImplementedError("\"addmm_impl_cpu_\" not implemented for 'Bool'")


def _misfit(a: Array, b: Array) -> NoReturn:
    """Return the message for operands with different inner lengths."""
    if a.ndim == b.ndim == 1:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{a.size}] and src [{b.size}] to have the "
            f"same number of elements, but got {a.size} and {b.size} elements respectively"
        )
    rows, inner = (1 if a.ndim == 1 else a.size // max(a.shape[-1], 1)), a.shape[-1]
    if b.ndim == 1:
        raise RuntimeError(
            f"size mismatch, got input ({rows}), mat ({rows}x{inner}), vec ({b.size})"
        )
    if b.ndim == 2:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied "
            f"({rows}x{inner} and {b.shape[0]}x{b.shape[1]})"
        )
    raise RuntimeError(
        f"Expected size for first two dimensions of batch2 tensor to be: "
        f"[{b.shape[0]}, {inner}] but got: [{b.shape[0]}, {b.shape[-2]}]."
    )


def _fit(a: Array, b: Array) -> None:
    same_dtype(a, b)
    if a.shape[-1] != b.shape[0 if b.ndim == 1 else -2]:
        _misfit(a, b)


def _batch_fits(a: Array, b: Array) -> None:
    lead, other = a.shape[:-2], b.shape[:-2]
    for i in range(1, min(len(lead), len(other)) + 1):
        if lead[-i] != other[-i] and 1 not in (lead[-i], other[-i]):
            place = max(len(lead), len(other)) - i
            raise RuntimeError(
                f"The size of tensor a ({lead[-i]}) must match the size of tensor b "
                f"({other[-i]}) at non-singleton dimension {place}"
            )


# Products ---------------------------------------------------------------------------------------


@method()
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Return the matrix product ``input @ other``.

    A vector is a row on the left, a column on the right.  Axes before the last two are batch axes,
    which broadcast.  Raises RuntimeError for shapes that do not fit and for two dtypes.

    >>> import numeric as torch
    >>> a = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> torch.matmul(a, torch.tensor([1.0, 0.0])).tolist()
    [1.0, 3.0]
    """
    if not (isinstance(input, Tensor) and isinstance(other, Tensor)):
        _tensors("matmul", input, other)
    a, b = input._array, other._array
    if not a.ndim or not b.ndim:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {a.ndim}D and {b.ndim}D"
        )
    _fit(a, b)
    op = _MATMUL.get((a.ndim, b.ndim))
    if op is None:
        _batch_fits(a, b)
        op = TURNED if a.ndim == 2 else STACK
    return apply(op, (input, other))


@method("__matmul__")
def _at(self: Tensor, other: object) -> Tensor:
    return matmul(self, other) if isinstance(other, Tensor) else NotImplemented


@method("__rmatmul__")
def _at_reflected(self: Tensor, other: object) -> Tensor:
    return matmul(other, self) if isinstance(other, Tensor) else NotImplemented


@method()
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """Return the product of two matrices.  Raises RuntimeError unless both are matrices that fit.

    >>> import numeric as torch
    >>> a = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> torch.mm(a, a).tolist()
    [[7.0, 10.0], [15.0, 22.0]]
    """
    _tensors("mm", input, mat2, names=("input", "mat2"))
    for name, x in (("self", input), ("mat2", mat2)):
        if x._array.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix")
    _fit(input._array, mat2._array)
    return apply(MM, (input, mat2))


@method()
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """Return the product of a matrix and a vector.  Raises RuntimeError unless they fit.

    >>> import numeric as torch
    >>> torch.mv(torch.tensor([[1, 2], [3, 4]]), torch.tensor([1, 1])).tolist()
    [3, 7]
    """
    _tensors("mv", input, vec, names=("input", "vec"))
    a, b = input._array, vec._array
    if (a.ndim, b.ndim) != (2, 1):
        raise RuntimeError(f"vector + matrix @ vector expected, got {b.ndim}, {a.ndim}, {b.ndim}")
    _fit(a, b)
    return apply(MV, (input, vec))


def _vectors(a: Array, b: Array) -> None:
    """Raise RuntimeError unless both are vectors of one dtype and length."""
    if not a.ndim == b.ndim == 1:
        raise RuntimeError(f"1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors")
    if a.dtype is not b.dtype:
        raise RuntimeError(
            "dot : expected both vectors to have same dtype, but found "
            f"{word(a.dtype)} and {word(b.dtype)}"
        )
    _fit(a, b)


@method()
def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """Return the inner product of two vectors.  Raises RuntimeError unless they fit.

    >>> import numeric as torch
    >>> torch.dot(torch.tensor([1, 2]), torch.tensor([3, 4])).item()
    11
    """
    _tensors("dot", input, tensor, names=("input", "tensor"))
    _vectors(input._array, tensor._array)
    return apply(DOT, (input, tensor))


@method()
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """Return ``dot(input, other)``; the name is for complex numbers.

    >>> import numeric as torch
    >>> torch.vdot(torch.tensor([1, 2]), torch.tensor([3, 4])).item()
    11
    """
    _tensors("vdot", input, other)
    _vectors(input._array, other._array)
    return apply(VDOT, (input, other))


def _stacks(a: Tensor, b: Tensor) -> None:
    """Raise RuntimeError unless both are stacks of equally many matrices that fit."""
    for name, x in (("batch1", a), ("batch2", b)):
        if x._array.ndim != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")
    same_dtype(a._array, b._array)
    n, _, inner = a._array.shape
    if b._array.shape[:2] != (n, inner):
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{n}, {inner}] "
            f"but got: {list(b._array.shape[:2])}."
        )


@method()
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Return the products of two stacks of matrices, one by one, without broadcasting.

    Raises RuntimeError unless both are stacks that fit.

    >>> import numeric as torch
    >>> torch.bmm(torch.tensor([[[2.0]], [[3.0]]]), torch.tensor([[[5.0]], [[7.0]]])).tolist()
    [[[10.0]], [[21.0]]]
    """
    _tensors("bmm", input, mat2, names=("input", "mat2"))
    _stacks(input, mat2)
    return apply(BMM, (input, mat2))


# Sums with products -----------------------------------------------------------------------------


class _Added:
    """The op ``beta*input + alpha*product``, and a form without factors if both are 1."""

    def __init__(
        self,
        name: str,
        build: Callable[..., Expr],
        promotion: Callable[[Iterable[Values]], np.dtype] | None = None,
    ) -> None:
        self.plain = Op(name, lambda x, a, b: x + build(a, b), promotion=promotion)
        self.scaled = Op(
            name,
            lambda x, a, b, beta, alpha: beta * x + alpha * build(a, b),
            promotion=promotion,
            variant="scaled",
        )
        # As in PyTorch: a factor 0 ignores its operand, even inf and nan.
        self.alone = Op(
            name,
            lambda x, a, b, alpha: alpha * build(a, b),
            promotion=promotion,
            variant="alone",
        )

    def __call__(
        self, x: Tensor, a: Tensor, b: Tensor, beta: float, alpha: float, shape: tuple[int, ...]
    ) -> Tensor:
        own = x._array.shape
        for i in _misfits(own, shape):
            wanted = shape[-1 - i] if i < len(shape) else 1
            raise RuntimeError(
                f"The expanded size of the tensor ({wanted}) must match the existing size "
                f"({own[-1 - i]}) at non-singleton dimension {len(shape) - 1 - i}.  "
                f"Target sizes: {list(shape)}.  Tensor sizes: {list(own)}"
            )
        if self.plain.promotion is None and x._array.dtype is not a._array.dtype:
            raise RuntimeError(
                "self and mat2 must have the same dtype, "
                f"but got {word(x._array.dtype)} and {word(a._array.dtype)}"
            )
        kinds = [t._array.dtype.kind for t in (x, a, b)]
        if self.plain.promotion is not None:
            for name, factor in (("beta", beta), ("alpha", alpha)):
                check_factor(name, factor, kinds)
        elif "f" not in kinds:  # the factors are integers as the elements
            beta, alpha = int(beta), int(alpha)
        if beta == 1 and alpha == 1:
            return apply(self.plain, (x, a, b))
        if beta == 0:
            return apply(self.alone, (x, a, b, alpha))
        return apply(self.scaled, (x, a, b, beta, alpha))


def _misfits(own: tuple[int, ...], shape: tuple[int, ...]) -> list[int]:
    """Return the axes, counted from the end, at which ``own`` cannot broadcast to ``shape``."""
    pairs = zip_longest(own[::-1], shape[::-1], fillvalue=None)
    return [i for i, (n, m) in enumerate(pairs) if n is not None and (m is None or n not in (1, m))]


_ADDMM = _Added("addmm", sd.matmul)
_ADDMV = _Added("addmv", sd.matmul)
_ADDR = _Added("addr", sd.outer, promoted)
_BADDBMM = _Added("baddbmm", sd.matmul)


@method()
def addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    """Return ``beta*input + alpha*(mat1 @ mat2)`` for matrices; ``input`` broadcasts.

    Raises RuntimeError for shapes or dtypes that do not fit.

    >>> import numeric as torch
    >>> one = torch.tensor([[1.0]])
    >>> torch.addmm(one, one, one, alpha=2).item()
    3.0
    """
    _tensors("addmm", input, mat1, mat2, names=("input", "mat1", "mat2"))
    a, b = mat1._array, mat2._array
    if not a.ndim == b.ndim == 2:
        raise RuntimeError(
            f"mat1 must be a matrix, got {a.ndim if a.ndim != 2 else b.ndim}-D tensor"
        )
    _fit(a, b)
    return _ADDMM(input, mat1, mat2, beta, alpha, (a.shape[0], b.shape[1]))


@method()
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """Return ``beta*input + alpha*(mat @ vec)`` for a matrix and a vector; ``input`` broadcasts.

    Raises RuntimeError for shapes or dtypes that do not fit.

    >>> import numeric as torch
    >>> v = torch.tensor([1.0, 2.0])
    >>> torch.addmv(v, torch.tensor([[1.0, 0.0], [1.0, 1.0]]), v).tolist()
    [2.0, 5.0]
    """
    _tensors("addmv", input, mat, vec, names=("input", "mat", "vec"))
    a, b = mat._array, vec._array
    if (a.ndim, b.ndim) != (2, 1):
        raise RuntimeError(
            f"vector + matrix @ vector expected, got {input._array.ndim}, {a.ndim}, {b.ndim}"
        )
    _fit(a, b)
    return _ADDMV(input, mat, vec, beta, alpha, a.shape[:1])


@method()
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """Return ``beta*input + alpha*outer(vec1, vec2)``; ``input`` broadcasts.

    Raises RuntimeError for shapes that do not fit.

    >>> import numeric as torch
    >>> torch.addr(torch.tensor([[1.0]]), torch.tensor([2.0]), torch.tensor([3.0])).item()
    7.0
    """
    _tensors("addr", input, vec1, vec2, names=("input", "vec1", "vec2"))
    a, b = vec1._array, vec2._array
    if not a.ndim == b.ndim == 1:
        raise RuntimeError(f"addr: Expected 1-D argument vec1, but got {a.ndim}-D")
    return _ADDR(input, vec1, vec2, beta, alpha, (a.size, b.size))


@method()
def baddbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    """Return ``beta*input + alpha*bmm(batch1, batch2)``; ``input`` broadcasts.

    Raises RuntimeError for shapes or dtypes that do not fit.

    >>> import numeric as torch
    >>> stack = torch.tensor([[[2.0]], [[3.0]]])
    >>> torch.baddbmm(stack, stack, stack).tolist()
    [[[6.0]], [[12.0]]]
    """
    _tensors("baddbmm", input, batch1, batch2, names=("input", "batch1", "batch2"))
    _stacks(batch1, batch2)
    shape = (*batch1._array.shape[:2], batch2._array.shape[2])
    return _BADDBMM(input, batch1, batch2, beta, alpha, shape)


for _function in (addmm, addmv, addr, baddbmm):
    attach(f"{_function.__name__}_", inplace(_function))


# Other products ---------------------------------------------------------------------------------


OUTER = Op("outer", sd.outer, label="MulBackward0")
# Without kernels: lowered contractions reach BLAS.
INNER = Op("inner", sd.inner, promotion=None, label="ViewBackward0")
SCALED = Op("inner", lambda a, b: a * b, label="MulBackward0")
TENSORDOT = Op(
    "tensordot", lambda a, b, axes: sd.tensordot(a, b, axes=axes), promotion=None,
    label="ViewBackward0",
)  # fmt: skip
KRON = Op("kron", sd.kron, label="UnsafeViewBackward0")
TRACE = Op(
    "trace",
    sd.trace,
    lambda a: np.trace(a, dtype=None if a.dtype.kind == "f" else np.int64),
    promotion=None,
)
# Names by PyTorch's last operation: for one operand or several (first), a sum or none (second).
EINSUM = {
    (one, summed): Op(
        "einsum", lambda *args: sd.einsum(args[-1], *args[:-1]), promotion=None, label=label
    )
    for one, summed, label in (
        (True, True, "SumBackward1"),
        (True, False, "PermuteBackward0"),
        (False, True, "ViewBackward0"),
        (False, False, "MulBackward0"),
    )
}


@method()
def inner(input: Tensor, other: Tensor) -> Tensor:
    """Return the sums of products over the last axes of both; a tensor without axes multiplies.

    Raises RuntimeError if these axes differ in length, and for two dtypes.

    >>> import numeric as torch
    >>> torch.inner(torch.tensor([[1, 2], [3, 4]]), torch.tensor([1, 1])).tolist()
    [3, 7]
    """
    _tensors("inner", input, other)
    a, b = input._array, other._array
    if not a.ndim or not b.ndim:
        return apply(SCALED, (input, other))
    if a.dtype is not b.dtype:
        raise RuntimeError("both inputs should have same dtype")
    same_dtype(a, b)
    if a.shape[-1] != b.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(a.shape)} and {list(b.shape)}"
        )
    return apply(INNER, (input, other))


@method("outer", "ger")
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """Return the products of all elements of one vector with all of another.

    Raises RuntimeError unless both are vectors.

    >>> import numeric as torch
    >>> torch.outer(torch.tensor([1, 2]), torch.tensor([3, 4])).tolist()
    [[3, 4], [6, 8]]
    """
    _tensors("outer", input, vec2, names=("input", "vec2"))
    for name, x in (("self", input), ("vec2", vec2)):
        if x._array.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {x._array.ndim}-D")
    return apply(OUTER, (input, vec2))


ger = outer


def _paired(
    dims: Any,
    a: Array,
    b: Array,
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the axes that ``tensordot`` sums over; raises RuntimeError unless they fit."""
    if isinstance(dims, Tensor):
        if dims._array.dtype.kind not in "iu":
            raise TypeError("tensordot(): argument 'dims' must be a tensor of integers")
        dims = values_of(dims).tolist()
    if isinstance(dims, tuple | list) and len(dims) != 2:
        raise RuntimeError(f"tensordot expects dims to be two lists of dimensions, got {dims}")
    if isinstance(dims, tuple | list):
        first, second = (
            tuple(index(k) for k in (part if isinstance(part, tuple | list) else (part,)))
            for part in dims
        )
    else:
        n = index(dims)
        if n < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={n}")
        first, second = tuple(range(-n, 0)), tuple(range(n))
    if len(first) != len(second):
        raise RuntimeError("both dimension lists should have same length")
    for dim, x in [*((k, a) for k in first), *((k, b) for k in second)]:
        if not -x.ndim <= dim < x.ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-x.ndim}, {x.ndim - 1}], "
                f"but got {dim})"
            )
    for i, j in zip(first, second, strict=True):
        if a.shape[i] != b.shape[j]:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a.shape[i]} in dim {i} "
                f"and second has size {b.shape[j]} in dim {j}"
            )
    return tuple(k % a.ndim for k in first), tuple(k % b.ndim for k in second)


def tensordot(
    a: Tensor,
    b: Tensor,
    dims: Tensor | SupportsIndex | Sequence[Dims] = 2,
) -> Tensor:
    """Return the sums of products over pairs of axes.

    ``dims`` is a number of last and first axes, or two lists of axes.  Raises RuntimeError if
    paired lengths differ, IndexError for an axis that does not exist.

    >>> import numeric as torch
    >>> x = torch.tensor([[1, 2], [3, 4]])
    >>> torch.tensordot(x, x, dims=([0, 1], [0, 1])).item()
    30
    """
    _tensors("tensordot", a, b, names=("a", "b"))
    if a._array.dtype is not b._array.dtype:
        raise RuntimeError("both inputs should have same dtype")
    same_dtype(a._array, b._array)
    return apply(TENSORDOT, (a, b), (_paired(dims, a._array, b._array),))


@method()
def kron(input: Tensor, other: Tensor) -> Tensor:
    """Return the Kronecker product: each element of the first operand times the second operand.

    >>> import numeric as torch
    >>> torch.kron(torch.tensor([1, 10]), torch.tensor([1, 2])).tolist()
    [1, 2, 10, 20]
    """
    _tensors("kron", input, other)
    return apply(KRON, (input, other))


@method()
def trace(input: Tensor) -> Tensor:
    """Return the sum of the diagonal of a matrix.  Raises RuntimeError for other shapes.

    >>> import numeric as torch
    >>> torch.trace(torch.tensor([[1, 2], [3, 4]])).item()
    5
    """
    _tensors("trace", input)
    if input._array.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input._array.ndim}")
    return apply(TRACE, (input,))


def einsum(equation: str, *operands: Any) -> Tensor:
    """Return Einstein's summation: ``einsum("ij,jk->ik", a, b)`` is the matrix product.

    Indices that the part after ``->`` lacks are summed; without that part, those that occur twice
    or more.  ``...`` stands for any number of axes.  Raises RuntimeError for an equation that does
    not fit the operands, and for two dtypes.

    >>> import numeric as torch
    >>> a = torch.tensor([[1, 2], [3, 4]])
    >>> torch.einsum("ij->j", a).tolist(), torch.einsum("ii", a).item()
    ([4, 6], 5)
    """
    if not isinstance(equation, str):
        raise TypeError("einsum(): expected the equation to be a string")
    if len(operands) == 1 and isinstance(operands[0], tuple | list):
        operands = tuple(operands[0])
    words = equation.replace(" ", "").partition("->")[0].split(",")
    if not operands:
        raise ValueError("einsum(): must provide at least one operand")
    _tensors("einsum", *operands, names=["operands"] * len(operands))
    if len(words) != len(operands):
        few = "fewer" if len(operands) < len(words) else "more"
        raise RuntimeError(f"einsum(): {few} operands were provided than specified in the equation")
    lengths: dict[str, int] = {}
    for i, (letters, x) in enumerate(zip(words, operands, strict=True)):
        _count_letters(letters, x._array, i, lengths)
        if x._array.dtype is not operands[0]._array.dtype:
            same_dtype(operands[0]._array, x._array)
    _, arrow, output = equation.replace(" ", "").partition("->")
    for letter in output.replace("...", ""):
        if letter not in lengths:
            raise RuntimeError(
                f"einsum(): output subscript {letter} does not appear in the equation for any "
                "input operand"
            )
        if output.count(letter) > 1:
            raise RuntimeError(
                f"einsum(): output subscript {letter} appears more than once in the output"
            )
    counts = _summed(words, operands, output if arrow else None)
    kind = operands[0]._array.dtype.kind
    if counts and kind != "f":
        if kind == "b" and max(counts) > 1:
            raise NotImplementedError("\"bmm\" not implemented for 'Bool'")
        if min(counts) == 1:  # integers of one operand are added up as int64
            operands = tuple([cast(x, INT64) for x in operands])
    return apply(EINSUM[len(operands) == 1, bool(counts)], operands, (equation,))


def _summed(words: Sequence[str], operands: Sequence[Tensor], output: str | None) -> list[int]:
    """Return the number of operands with each summed index, and with ``...`` if it is summed."""
    letters = "".join(words).replace(".", "")
    sums = [
        c
        for c in dict.fromkeys(letters)
        if (letters.count(c) > 1 if output is None else c not in output)
    ]
    counts = [sum(c in word for word in words) for c in sums]
    if output is not None and "..." not in output:
        named = [len(word.replace("...", "")) for word in words]
        counts.append(sum(x._array.ndim > n for x, n in zip(operands, named, strict=True)))
    return list(filter(None, counts))


def _count_letters(letters: str, x: Array, i: int, lengths: dict[str, int]) -> None:
    """Collect the lengths of an operand's indices.  Raises RuntimeError if they do not fit."""
    before, dots, after = letters.partition("...")
    named = len(before) + len(after)
    if any(not (c.isascii() and c.isalpha()) for c in before + after):
        raise RuntimeError(
            f"einsum(): invalid subscript given in the equation for operand {i}: {letters!r}; "
            "subscripts must be in [a-zA-Z]"
        )
    if x.ndim < named or (x.ndim > named and not dots):
        why = "" if dots else " and no ellipsis was given"
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({named}) does not match the "
            f"number of dimensions ({x.ndim}) for operand {i}{why}"
        )
    shape = [*x.shape[: len(before)], *x.shape[x.ndim - len(after) :]]
    for letter, n in zip(before + after, shape, strict=True):
        seen = lengths.get(letter, 1)
        if n != seen and 1 not in (n, seen):
            raise RuntimeError(
                f"einsum(): subscript {letter} has size {n} for operand {i} which does not "
                f"broadcast with previously seen size {seen}"
            )
        lengths[letter] = seen if n == 1 else n
