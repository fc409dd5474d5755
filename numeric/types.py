"""Types that several rooms name, for type checkers: imports stand under ``TYPE_CHECKING``.

An array of any shape and dtype is ``np.ndarray``, a dtype of NumPy's is ``np.dtype``, and what is
only handed on or asked for its class is ``object``.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from numeric.eager.dtypes import dtype
    from numeric.eager.tensor import Tensor
    from numeric.ops.creation import device

# What ``tensor`` makes a Tensor of.
TensorLike: TypeAlias = "Tensor | ArrayLike | Sequence[TensorLike]"
# What kernels take and give: arrays of any dtype, NumPy's scalars, and numbers.
Values: TypeAlias = "np.ndarray | np.number | float"
# What an operator takes beside a Tensor, and what a function takes for a Tensor or a number.
Operand: TypeAlias = "Tensor | Values"
# Arguments: axes, lengths, a dtype, a place.
Dims: TypeAlias = "SupportsIndex | tuple[SupportsIndex, ...] | list[int] | list[SupportsIndex]"
SizeLike: TypeAlias = "SupportsIndex | Sequence[SupportsIndex]"
DtypeLike: TypeAlias = "dtype | type | None"
DeviceLike: TypeAlias = "device | str | None"
# What else an op needs: it goes into the formula, and is part of the key of what is compiled.
Params: TypeAlias = tuple[Hashable, ...]
# Arrays in double precision; such an array or one number; arrays of truth values, which choose.
Doubles: TypeAlias = "NDArray[np.float64]"
Reals: TypeAlias = "Doubles | float"
Mask: TypeAlias = "NDArray[np.bool]"
