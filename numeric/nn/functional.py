"""Functions of neural networks under their names in ``torch.nn.functional``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from numeric.eager.dtypes import constant
from numeric.eager.operations import Op
from numeric.eager.recording import apply
from numeric.eager.tensor import Tensor, values_of, wrap
from numeric.eager.traced_arrays import some
from numeric.guesses import FUNCTIONAL
from numeric.nn import activations, losses
from numeric.nn.activations import *  # noqa: F403  # the modules' lists name them
from numeric.nn.losses import *  # noqa: F403
from numeric.ops.arguments import explain
from numeric.ops.arithmetic import mul
from numeric.ops.random_numbers import bernoulli
from symdiff import functions as sd
from symdiff.guesses import missing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symdiff.graph.expr import Expr

    _Widths: TypeAlias = Sequence[tuple[int, int]]

# Type checkers follow `import *`, but mypy reads no list that is made of other lists.
if not TYPE_CHECKING:
    __all__ = ["dropout", "one_hot", "pad", *activations.__all__, *losses.__all__]


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set each element to 0 with probability ``p`` and divide the others by ``1 - p``.

    Return ``input`` itself unless ``training``.  Raises ValueError for a ``p`` outside 0 to 1.

    >>> import numeric as torch
    >>> dropout(torch.tensor([1.0, 2.0]), p=1.0).tolist()
    [0.0, 0.0]
    """
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    a = input._array
    retained = bernoulli(wrap(np.full(a.shape, 1.0 - p)))._array
    mask = wrap((retained / ((1.0 - p) or 1.0)).astype(a.dtype))
    return input.mul_(mask) if inplace else mul(input, mask)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Return a row for each integer, with a 1 at the place of the integer and zeros elsewhere.

    By default rows are just long enough for the largest integer.  Raises RuntimeError for another
    dtype than int64, and for integers that are negative or not below ``num_classes``.

    >>> import numeric as torch
    >>> one_hot(torch.tensor([1, 0]), 3).tolist()
    [[0, 1, 0], [1, 0, 0]]
    """
    a = values_of(tensor)
    if a.dtype.name != "int64":
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if not a.size and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if some(a < 0):
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        num_classes = int(a.max()) + 1
    elif some(a >= num_classes):
        raise RuntimeError("Class values must be smaller than num_classes.")
    places = np.expand_dims(a, -1) == np.arange(num_classes)
    return wrap(places.astype(np.int64, order="C"))


# Padding ----------------------------------------------------------------------------------------

_MODES = {"replicate": "edge", "reflect": "reflect", "circular": "wrap"}


def _cut(widths: _Widths) -> tuple[slice, ...]:
    """Return the slices that remove elements for negative widths."""
    return tuple(slice(max(-low, 0), -max(-high, 0) or None) for low, high in widths)


def _added(widths: _Widths) -> list[tuple[int, int]]:
    return [(max(low, 0), max(high, 0)) for low, high in widths]


def _padded(x: Expr, widths: _Widths, mode: str, value: Expr) -> Expr:
    words = {"constant_values": value} if mode == "constant" else {}
    return sd.pad(x[_cut(widths)], _added(widths), mode, **words)


def _pad_op(label: str) -> Op:
    return Op("pad", _padded, promotion=None, concrete=True, label=label)


_PAD = {("constant", 0): _pad_op("ConstantPadNdBackward0")}
for _mode, _name in (("replicate", "ReplicationPad"), ("reflect", "ReflectionPad")):
    for _n in (1, 2, 3):
        _PAD[_mode, _n] = _pad_op(f"{_name}{_n}DBackward0")
_PAD["circular", 0] = _pad_op("CopySlices")


def pad(
    input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """Add elements at the ends of axes.

    ``pad`` has two numbers for each axis, before and after it, beginning with the last axis.  A
    negative number removes elements.  ``mode`` is ``"constant"``, with ``value``, or
    ``"replicate"``, ``"reflect"`` or ``"circular"``.  Raises RuntimeError for numbers that do not
    fit the shape, NotImplementedError for another mode.

    >>> import numeric as torch
    >>> pad(torch.tensor([1.0, 2.0]), (1, 2), value=7.0).tolist()
    [7.0, 1.0, 2.0, 7.0, 7.0]
    """
    counts = [int(k) for k in pad]
    shape = input._array.shape
    if len(counts) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    n = len(counts) // 2
    if n > len(shape):
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but "
            f"got padding length {len(counts)} and input of dimension {len(shape)}"
        )
    if mode != "constant" and mode not in _MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if mode != "constant" and value is not None:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    pairs = list(zip(counts[::2], counts[1::2], strict=True))[::-1]
    widths = ((0, 0),) * (len(shape) - n) + tuple(pairs)
    _check_widths(shape, widths, mode, n)
    value = 0 if value is None else constant(value)
    if input._array.dtype.kind != "f":
        value = input._array.dtype.type(value).item()
    key = (mode, n if mode in ("replicate", "reflect") else 0)
    return apply(_PAD[key], (input,), (widths, _MODES.get(mode, mode), value))


def _check_widths(shape: tuple[int, ...], widths: _Widths, mode: str, n: int) -> None:
    if mode != "constant" and not n < len(shape) <= n + 2:
        raise NotImplementedError(
            f"Padding size {2 * n} is not supported for {len(shape)}D input tensor: "
            "the padded axes come after one or two others"
        )
    for k, (length, (low, high)) in enumerate(zip(shape, widths, strict=True)):
        if length + min(low, 0) + min(high, 0) < 0 or length + low + high < 0:
            raise RuntimeError(
                f"The input size {length}, plus negative padding {low} and {high}, resulted in a "
                f"negative output size at dimension {k}; length must be non-negative."
            )
        if mode == "reflect" and max(low, high) >= length and max(low, high) > 0:
            raise RuntimeError(
                "Padding size should be less than the corresponding input dimension, but got: "
                f"padding ({low}, {high}) at dimension {k} of input {list(shape)}"
            )
        if mode == "circular" and max(low, high) > length:
            raise RuntimeError("Padding value causes wrapping around more than once.")


if not TYPE_CHECKING:  # a type checker would accept every name of the module
    explain(__name__)

    def __getattr__(name: str) -> object:
        raise missing("module 'numeric.nn.functional'", name, FUNCTIONAL, sys.modules[__name__])
