"""numeric: formulas of ``symdiff``, lowered to fast NumPy functions with exact derivatives.

>>> import symdiff as sd
>>> x, y = sd.symbols("x y")
>>> f = lower(x**2 * y, (x, y))
>>> f(3.0, 2.0), f.value_and_grad(3.0, 2.0)
(18.0, (18.0, (12.0, 9.0)))
"""

from __future__ import annotations

import math
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from numeric import (
    autograd,
    conversions,
    dtypes,
    factories,
    formulas,
    random_numbers,
    tensor_printing,
    tracing,
)
from numeric.calls import *  # noqa: F403
from numeric.conversions import *  # noqa: F403  # the modules' lists say what
from numeric.dtypes import (
    can_cast,
    dtype,
    float16,
    float32,
    float64,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    set_default_dtype,
    uint8,
)
from numeric.factories import *  # noqa: F403
from numeric.formulas import *  # noqa: F403
from numeric.function import Function, lower
from numeric.linalg import twins
from numeric.linalg.twins import *  # noqa: F403
from numeric.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from numeric.ops import (
    arithmetic,
    comparing,
    indexing,
    matrices,
    ordering,
    parts,
    pointwise,
    rearranging,
    reducing,
    scanning,
    scattering,
    shaping,
)
from numeric.ops.arithmetic import *  # noqa: F403
from numeric.ops.comparing import *  # noqa: F403
from numeric.ops.indexing import *  # noqa: F403
from numeric.ops.matrices import *  # noqa: F403
from numeric.ops.moments import *  # noqa: F403
from numeric.ops.ordering import *  # noqa: F403
from numeric.ops.parts import *  # noqa: F403
from numeric.ops.pointwise import *  # noqa: F403
from numeric.ops.rearranging import *  # noqa: F403
from numeric.ops.reducing import *  # noqa: F403
from numeric.ops.scanning import *  # noqa: F403
from numeric.ops.scattering import *  # noqa: F403
from numeric.ops.shaping import *  # noqa: F403
from numeric.random_numbers import *  # noqa: F403
from numeric.records import *  # noqa: F403
from numeric.reference import interpret
from numeric.tensor_printing import *  # noqa: F403
from numeric.tensors import Size, Tensor
from numeric.tracing import *  # noqa: F403

try:
    __version__ = version("symdiff-numeric")
except PackageNotFoundError:  # run from a source tree that was never installed
    __version__ = "0+unknown"

bool = dtypes.bool_  # the names by which programs know the dtypes
float, double, half = float32, float64, float16
long, int, short = int64, int32, int16

e, inf, nan, pi, newaxis = math.e, math.inf, math.nan, math.pi, None

__all__ = [
    "Function",
    "Size",
    "Tensor",
    "__version__",
    "autograd",
    "bool",
    "can_cast",
    "double",
    "dtype",
    "enable_grad",
    "float",
    "float16",
    "float32",
    "float64",
    "get_default_dtype",
    "half",
    "inference_mode",
    "int",
    "int8",
    "int16",
    "int32",
    "int64",
    "interpret",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "long",
    "lower",
    "no_grad",
    "promote_types",
    "set_default_dtype",
    "set_grad_enabled",
    "short",
    "uint8",
]
__all__ += factories.__all__
__all__ += random_numbers.__all__
__all__ += tensor_printing.__all__
__all__ += conversions.__all__
__all__ += arithmetic.__all__
__all__ += comparing.__all__
__all__ += indexing.__all__
__all__ += matrices.__all__
__all__ += ordering.__all__
__all__ += parts.__all__
__all__ += pointwise.__all__
__all__ += rearranging.__all__
__all__ += reducing.__all__
__all__ += scanning.__all__
__all__ += scattering.__all__
__all__ += shaping.__all__
__all__ += twins.__all__
__all__ += formulas.__all__
__all__ += tracing.__all__

_ROOMS = ("func", "linalg", "nn", "optim")  # loaded when they are first asked for


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"numeric.{name}")
    if name == "vmap":
        return import_module("numeric.func").vmap
    raise AttributeError(f"module 'numeric' has no attribute {name!r}")
