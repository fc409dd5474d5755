"""Types of arrays and plain arguments that several packages share, for type checkers.

Import them under ``TYPE_CHECKING``.  This module imports nothing of the project; types that name a
Tensor are in ``numeric.eager.types``.  ``np.ndarray`` means an array of any shape and dtype,
``np.dtype`` a NumPy dtype, and ``object`` a value that is only passed on.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import NDArray

# Arguments and results of kernels: arrays of any dtype, NumPy scalars, and numbers.
Values: TypeAlias = "np.ndarray | np.number | float"
# Axes and lengths as arguments.
Dims: TypeAlias = "SupportsIndex | tuple[SupportsIndex, ...] | list[int] | list[SupportsIndex]"
SizeLike: TypeAlias = "SupportsIndex | Sequence[SupportsIndex]"
# Other parameters of an op: they enter the formula, and the key of its compiled form.
Params: TypeAlias = tuple[Hashable, ...]
# Arrays in double precision; such an array or one number; boolean arrays for selections.
Doubles: TypeAlias = "NDArray[np.float64]"
Reals: TypeAlias = "Doubles | float"
Mask: TypeAlias = "NDArray[np.bool]"
