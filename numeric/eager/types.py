"""Types of the arguments of Tensors' functions, for type checkers: import under ``TYPE_CHECKING``.

The module ``numeric.types`` has the types of arrays, which do not involve Tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from numpy.typing import ArrayLike

from numeric.types import Values

if TYPE_CHECKING:
    from numeric.eager.dtypes import dtype
    from numeric.eager.tensor import Tensor
    from numeric.ops.creation import device

# The arguments that ``tensor`` converts to a Tensor.
TensorLike: TypeAlias = "Tensor | ArrayLike | Sequence[TensorLike]"
# The other operand of a Tensor's operator, and a function's argument: a Tensor or a number.
Operand: TypeAlias = "Tensor | Values"
DtypeLike: TypeAlias = "dtype | type | None"
DeviceLike: TypeAlias = "device | str | None"
