"""Activation functions from a table of formulas, softmax functions and the linear layer."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.eager.dtypes import default, word
from numeric.eager.operations import Op
from numeric.eager.recording import apply, cast
from numeric.eager.tensor import Tensor
from numeric.ops import moments
from numeric.ops.arithmetic import neg
from numeric.ops.matrix_products import matmul, same_dtype
from numeric.ops.pointwise import relu as _relu
from numeric.ops.pointwise import sigmoid, tanh
from symdiff import functions as sd

if TYPE_CHECKING:
    from collections.abc import Callable

    from numeric.eager.dtypes import dtype
    from numeric.types import Values
    from symdiff.graph.expr import Expr

__all__ = [
    "celu",
    "elu",
    "gelu",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "linear",
    "log_softmax",
    "logsigmoid",
    "mish",
    "prelu",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
]


def _op(
    name: str, build: Callable[..., Expr], kernel: Callable[..., Values] | None = None, **words: Any
) -> Op:
    return Op(name, build, kernel, pointwise=True, **words)


def _scaled_elu(x: Expr, negative: float, inner: float, positive: float) -> Expr:
    return sd.where(x <= 0, negative * sd.expm1(inner * x), positive * x)


def _tanh_gelu(x: Expr) -> Expr:
    # A float: an exact root of 2/π would be evaluated again for each element.
    return x / 2 * (1 + sd.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


# A condition decides which side a kink belongs to, and lets nan through.
HARDTANH = _op(
    "hardtanh",
    lambda x, low, high: sd.where(x <= low, low, sd.where(x >= high, high, x)),
    lambda a, low, high: np.minimum(np.maximum(a, low), high),
)
LEAKY_RELU = _op(
    "leaky_relu",
    lambda x, slope: sd.where(x > 0, x, slope * x),
)
ELU, CELU = (_op(name, _scaled_elu) for name in ("elu", "celu"))
GELU = _op("gelu", lambda x: x / 2 * sd.erfc(-math.sqrt(0.5) * x))
TANH_GELU = _op("gelu", _tanh_gelu, variant="tanh")
SILU = _op("silu", lambda x: x * sd.sigmoid(x))
MISH = _op("mish", lambda x: x * sd.tanh(sd.softplus(x)))
SOFTPLUS = _op(
    "softplus",
    lambda x, beta, most: sd.where(beta * x > most, x, sd.softplus(beta * x) / beta),
)
SOFTSIGN = Op("softsign", lambda x: x / (1 + sd.abs(x)), pointwise=True, label="DivBackward0")
LOGSIGMOID = _op("log_sigmoid", sd.log_sigmoid)
TANHSHRINK = _op("tanhshrink", lambda x: x - sd.tanh(x), label="SubBackward0")
HARDSHRINK = _op("hardshrink", lambda x, at: sd.where((x >= -at) & (x <= at), 0, x))
SOFTSHRINK = _op(
    "softshrink",
    lambda x, at: sd.where((x >= -at) & (x <= at), 0, sd.where(x < 0, x + at, x - at)),
)
HARDSIGMOID = _op("hardsigmoid", lambda x: sd.where(x <= -3, 0, sd.where(x >= 3, 1, x / 6 + 0.5)))
HARDSWISH = _op("hardswish", lambda x: sd.where(x <= -3, 0, sd.where(x >= 3, x, x * (x / 6 + 0.5))))
THRESHOLD = _op(
    "threshold", lambda x, at, value: sd.where(x <= at, value, x),
)  # fmt: skip
PRELU = Op("prelu_kernel", lambda x, w: sd.where(x > 0, x, w * x))


def _real(name: str, input: object) -> Tensor:
    """Return ``input``.  Raises TypeError or NotImplementedError unless it is a real Tensor."""
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'input' must be Tensor, not {type(input).__name__}")
    if input._array.dtype.kind != "f":
        raise NotImplementedError(f"\"{name}\" not implemented for '{word(input._array.dtype)}'")
    return input


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``maximum(input, 0)``; the derivative at 0 is 0.

    >>> import numeric as torch
    >>> relu(torch.tensor([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """
    if not isinstance(input, Tensor):
        raise TypeError(f"relu(): argument 'input' must be Tensor, not {type(input).__name__}")
    return input.relu_() if inplace else _relu(input)


def relu6(input: Tensor) -> Tensor:
    """Clip ``input`` to the range from 0 to 6; the derivative at both ends is 0.

    >>> import numeric as torch
    >>> relu6(torch.tensor([-1.0, 2.0, 9.0])).tolist()
    [0.0, 2.0, 6.0]
    """
    return hardtanh(input, 0, 6)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """Clip ``input`` to the range from ``min_val`` to ``max_val``; the derivative at both is 0.

    Raises ValueError if ``min_val`` is greater than ``max_val``.

    >>> import numeric as torch
    >>> hardtanh(torch.tensor([-3.0, 0.5])).tolist()
    [-1.0, 0.5]
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    kind = input._array.dtype.kind if isinstance(input, Tensor) else "f"
    if kind == "b":
        raise RuntimeError("Bool inputs not supported for hardtanh")
    if kind in "iu":
        min_val, max_val = int(min_val), int(max_val)
        if kind == "u" and min_val < 0:
            raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    return apply(HARDTANH, (input, min_val, max_val))


def leaky_relu(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """Return ``input`` where it is positive, else ``negative_slope * input``.

    >>> import numeric as torch
    >>> leaky_relu(torch.tensor([-2.0, 2.0]), 0.5).tolist()
    [-1.0, 2.0]
    """
    return apply(LEAKY_RELU, (_real("leaky_relu_cpu", input), float(negative_slope)))


def elu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """Return ``input`` where it is positive, else ``alpha * (exp(input) - 1)``.

    >>> import numeric as torch
    >>> elu(torch.tensor([-1000.0, 2.0])).tolist()
    [-1.0, 2.0]
    """
    return apply(ELU, (_real("elu_cpu", input), float(alpha), 1.0, 1.0))


def celu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """Return ``input`` where it is positive, else ``alpha * (exp(input / alpha) - 1)``.

    Raises RuntimeError for ``alpha = 0``.

    >>> import numeric as torch
    >>> celu(torch.tensor([-1000.0, 2.0]), 0.5).tolist()
    [-0.5, 2.0]
    """
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return apply(CELU, (_real("elu_cpu", input), float(alpha), 1.0 / alpha, 1.0))


_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


def selu(input: Tensor) -> Tensor:
    """Return a scaled ``elu``, with the constants that preserve mean 0 and variance 1.

    >>> import numeric as torch
    >>> selu(torch.tensor([0.0, 1.0])).tolist()
    [0.0, 1.0507010221481323]
    """
    factors = (_SELU_ALPHA * _SELU_SCALE, 1.0, _SELU_SCALE)
    return apply(ELU, (_real("elu_cpu", input), *factors))


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """Return ``input * ndtr(input)``, with the normal distribution function ``ndtr``.

    ``approximate="tanh"`` uses an approximation by tanh.  Raises RuntimeError for a value other
    than ``"none"`` and ``"tanh"``.

    >>> import numeric as torch
    >>> gelu(torch.tensor([-100.0, 0.0, 100.0]), approximate="tanh").tolist()
    [-0.0, 0.0, 100.0]
    """
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return apply(GELU if approximate == "none" else TANH_GELU, (_real("GeluKernelImpl", input),))


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """Return ``log(1 + exp(beta * input)) / beta``.

    Where ``beta * input`` exceeds ``threshold``, return ``input`` itself.

    >>> import numeric as torch
    >>> softplus(torch.tensor([-1000.0, 21.0])).tolist()
    [0.0, 21.0]
    """
    operands = (_real("softplus_cpu", input), float(beta), float(threshold))
    return apply(SOFTPLUS, operands)


def silu(input: Tensor) -> Tensor:
    """Return ``input * sigmoid(input)``.

    >>> import numeric as torch
    >>> silu(torch.tensor([0.0, 100.0])).tolist()
    [0.0, 100.0]
    """
    return apply(SILU, (_real("silu_cpu", input),))


def mish(input: Tensor) -> Tensor:
    """Return ``input * tanh(log(1 + exp(input)))``.

    >>> import numeric as torch
    >>> mish(torch.tensor([0.0, 100.0])).tolist()
    [0.0, 100.0]
    """
    return apply(MISH, (_real("mish_cpu", input),))


def softsign(input: Tensor) -> Tensor:
    """Return ``input / (1 + abs(input))``.

    >>> import numeric as torch
    >>> softsign(torch.tensor([-1.0, 3.0])).tolist()
    [-0.5, 0.75]
    """
    if input._array.dtype.kind != "f":
        input = cast(input, default())
    return apply(SOFTSIGN, (input,))


def logsigmoid(input: Tensor) -> Tensor:
    """Return ``log(sigmoid(input))``, without underflow.

    >>> import numeric as torch
    >>> logsigmoid(torch.tensor([-1000.0, 1000.0])).tolist()
    [-1000.0, 0.0]
    """
    return apply(LOGSIGMOID, (_real("log_sigmoid_cpu", input),))


def tanhshrink(input: Tensor) -> Tensor:
    """Return ``input - tanh(input)``.

    >>> import numeric as torch
    >>> tanhshrink(torch.tensor([0.0, 100.0])).tolist()
    [0.0, 99.0]
    """
    return apply(TANHSHRINK, (_real("tanhshrink", input),))


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Return ``input``, but 0 between ``-lambd`` and ``lambd``.

    >>> import numeric as torch
    >>> hardshrink(torch.tensor([-1.0, 0.5])).tolist()
    [-1.0, 0.0]
    """
    return apply(HARDSHRINK, (_real("hardshrink_cpu", input), float(lambd)))


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Move ``input`` by ``lambd`` towards 0; values of at most that size become 0.

    >>> import numeric as torch
    >>> softshrink(torch.tensor([-1.0, 0.5])).tolist()
    [-0.5, 0.0]
    """
    return apply(SOFTSHRINK, (_real("softshrink_cpu", input), float(lambd)))


def hardsigmoid(input: Tensor) -> Tensor:
    """Return ``input/6 + 1/2``, clipped to the range from 0 to 1.

    >>> import numeric as torch
    >>> hardsigmoid(torch.tensor([-9.0, 0.0, 9.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    return apply(HARDSIGMOID, (_real("hardsigmoid_cpu", input),))


def hardswish(input: Tensor) -> Tensor:
    """Return ``input * hardsigmoid(input)``.

    >>> import numeric as torch
    >>> hardswish(torch.tensor([-9.0, 3.0])).tolist()
    [0.0, 3.0]
    """
    return apply(HARDSWISH, (_real("hardswish_cpu", input),))


def threshold(input: Tensor, threshold: float, value: float) -> Tensor:
    """Return ``input`` where it exceeds ``threshold``, else ``value``.

    >>> import numeric as torch
    >>> threshold(torch.tensor([1.0, 2.0]), 1.0, -7.0).tolist()
    [-7.0, 2.0]
    """
    return apply(THRESHOLD, (input, threshold, value))


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Return ``input`` where it is positive, else ``weight * input``.

    There is one weight, or one for each channel.  Raises RuntimeError for another number of
    weights, and for weights of two axes.

    >>> import numeric as torch
    >>> prelu(torch.tensor([-2.0, 2.0]), torch.tensor([0.25])).tolist()
    [-0.5, 2.0]
    """
    x, w = input._array, weight._array
    if x.dtype is not w.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {word(x.dtype)} and {word(w.dtype)}"
        )
    if w.size != 1 and not x.ndim:
        raise RuntimeError("Not allow zero-dim input tensor.")
    channels = x.shape[1] if x.ndim > 1 else 1
    if w.ndim > 1:
        raise RuntimeError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {w.ndim}"
        )
    if w.size not in (1, channels):
        raise RuntimeError(
            f"Mismatch of parameter numbers and input channel size. Found parameter numbers = "
            f"{w.size} and channel size = {channels}."
        )
    _real("prelu_cpu", input)
    if w.size > 1:
        weight = weight.reshape(-1, *[1] * (x.ndim - 2))
    elif w.ndim > x.ndim:
        weight = weight.reshape(())
    return apply(PRELU, (input, weight))


def _implicit(dim: int | None, ndim: int) -> int:
    """Return the axis of classes, with PyTorch's default where ``dim`` is None."""
    return dim if dim is not None else 0 if ndim in (0, 1, 3) else 1


def softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None
) -> Tensor:
    """Return ``exp(x) / sum(exp(x))`` along the axis ``dim``, without overflow.

    >>> import numeric as torch
    >>> softmax(torch.tensor([0.0, 1000.0]), 0).tolist()
    [0.0, 1.0]
    """
    return moments.softmax(input, _implicit(dim, input._array.ndim), dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None
) -> Tensor:
    """Return ``log(softmax(input))`` along the axis ``dim``, without underflow.

    >>> import numeric as torch
    >>> log_softmax(torch.tensor([0.0, 1000.0]), 0).tolist()
    [-1000.0, 0.0]
    """
    return moments.log_softmax(input, _implicit(dim, input._array.ndim), dtype)


def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None
) -> Tensor:
    """Return ``softmax(-input)``.

    >>> import numeric as torch
    >>> softmin(torch.tensor([0.0, 1000.0]), 0).tolist()
    [1.0, 0.0]
    """
    return softmax(neg(input), dim, _stacklevel, dtype)


# Layers -----------------------------------------------------------------------------------------


def _affine(b: Expr, x: Expr, w: Expr) -> Expr:
    return sd.matmul(x, sd.matrix_transpose(w)) + b


ADDMM = Op("addmm", _affine, promotion=None, variant="linear")
AFFINE = Op("affine", _affine, promotion=None, label="ViewBackward0")
# The products without bias, by the rank of the input: PyTorch's node has another name for each.
_PRODUCTS = {
    n: Op(
        "linear",
        lambda x, w: sd.matmul(x, sd.matrix_transpose(w)),
        promotion=None,
        label=label,
    )
    for n, label in {1: "SqueezeBackward4", 2: "MmBackward0", 3: "UnsafeViewBackward0"}.items()
}


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return ``input @ weight.T + bias``.

    Raises RuntimeError for shapes or dtypes that do not fit.

    >>> import numeric as torch
    >>> linear(torch.tensor([1.0, 2.0]), torch.tensor([[3.0, 4.0]]), torch.tensor([5.0])).tolist()
    [16.0]
    """
    x, w = input._array, weight._array
    if w.ndim != 2:
        if bias is not None:
            raise RuntimeError(f"linear(): weight must be a matrix, got {w.ndim} axes")
        return matmul(input, weight)
    if not x.ndim:
        raise RuntimeError(
            "both arguments to linear need to be at least 1D, but they are 0D and 2D"
        )
    same_dtype(x, w)
    if x.shape[-1] != w.shape[1]:
        rows = x.size // max(x.shape[-1], 1)
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied "
            f"({rows}x{x.shape[-1]} and {w.shape[1]}x{w.shape[0]})"
        )
    if bias is None:
        return apply(_PRODUCTS[min(x.ndim, 3)], (input, weight))
    b = bias._array
    same_dtype(b, x)
    if b.ndim > 1 or b.size not in (1, w.shape[0]):
        raise RuntimeError(
            f"The expanded size of the tensor ({w.shape[0]}) must match the existing size "
            f"({b.shape[-1] if b.ndim else 1}) at non-singleton dimension {x.ndim - 1}.  "
            f"Target sizes: {[*x.shape[:-1], w.shape[0]]}.  Tensor sizes: {list(b.shape)}"
        )
    return apply(ADDMM if x.ndim == 2 else AFFINE, (bias, input, weight))
