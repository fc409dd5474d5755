"""Types of arrays and of plain arguments that several packages name, for type checkers.

Import them under ``TYPE_CHECKING``.  This module imports nothing of the project; types that name a
Tensor stand in ``numeric.eager.types``.  An array of any shape and dtype is ``np.ndarray``, a dtype
of NumPy's is ``np.dtype``, and a value that is only passed on is ``object``.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import NDArray

# Arguments and results of kernels: arrays of any dtype, NumPy's scalars, and numbers.
Values: TypeAlias = "np.ndarray | np.number | float"
# Arguments: axes, lengths.
Dims: TypeAlias = "SupportsIndex | tuple[SupportsIndex, ...] | list[int] | list[SupportsIndex]"
SizeLike: TypeAlias = "SupportsIndex | Sequence[SupportsIndex]"
# An op's other parameters: they go into the formula, and into the key of its compiled form.
Params: TypeAlias = tuple[Hashable, ...]
# Arrays in double precision; such an array or one number; arrays of truth values, which choose.
Doubles: TypeAlias = "NDArray[np.float64]"
Reals: TypeAlias = "Doubles | float"
Mask: TypeAlias = "NDArray[np.bool]"
