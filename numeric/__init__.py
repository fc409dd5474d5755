"""numeric: formulas of ``symdiff``, lowered to fast NumPy functions with exact derivatives.

>>> import symdiff as sd
>>> x, y = sd.symbols("x y")
>>> f = lower(x**2 * y, (x, y))
>>> f(3.0, 2.0), f.value_and_grad(3.0, 2.0)
(18.0, (18.0, (12.0, 9.0)))

What users need first:

- ``lower`` makes functions of formulas; ``tensor`` and its kin are PyTorch's eager tensors;
- ``draw`` shows a graph with values and cotangents, ``steps`` the chain rule step by step;
- ``plot``, ``plot_field`` and ``explore`` draw functions and their derivatives (the extra ``viz``);
- ``check`` audits gradients, ``export`` brings formulas to SciPy.
"""

from __future__ import annotations

import math
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from numeric import autograd as autograd
from numeric import guesses
from numeric.eager import dtypes, printing
from numeric.eager import expressions as _formulas  # noqa: F401

# Modules with an underscore are imported for what they attach: ``tensor.FAMILIES`` says what.
from numeric.eager import function_calls as _calls  # noqa: F401
from numeric.eager import tables as _tensor_tables  # noqa: F401
from numeric.eager.dtypes import can_cast as can_cast
from numeric.eager.dtypes import dtype as dtype
from numeric.eager.dtypes import float16 as float16
from numeric.eager.dtypes import float32 as float32
from numeric.eager.dtypes import float64 as float64
from numeric.eager.dtypes import get_default_dtype as get_default_dtype
from numeric.eager.dtypes import int8 as int8
from numeric.eager.dtypes import int16 as int16
from numeric.eager.dtypes import int32 as int32
from numeric.eager.dtypes import int64 as int64
from numeric.eager.dtypes import promote_types as promote_types
from numeric.eager.dtypes import set_default_dtype as set_default_dtype
from numeric.eager.dtypes import uint8 as uint8
from numeric.eager.printing import *  # noqa: F403
from numeric.eager.tensor import Size as Size
from numeric.eager.tensor import Tensor as Tensor
from numeric.linalg import top_level_names
from numeric.linalg.top_level_names import *  # noqa: F403
from numeric.lowering import tables as _function_tables  # noqa: F401
from numeric.lowering.function import Function as Function
from numeric.lowering.function import lower as lower
from numeric.lowering.reference import interpret as interpret
from numeric.modes import enable_grad as enable_grad
from numeric.modes import inference_mode as inference_mode
from numeric.modes import is_grad_enabled as is_grad_enabled
from numeric.modes import is_inference_mode_enabled as is_inference_mode_enabled
from numeric.modes import no_grad as no_grad
from numeric.modes import set_grad_enabled as set_grad_enabled
from numeric.ops import (
    arguments,
    arithmetic,
    comparing,
    conversions,
    creation,
    cumulative,
    gather_scatter,
    matrix_products,
    moments,
    pointwise,
    random_numbers,
    rearranging,
    reducing,
    sorting,
    views,
    views_of_parts,
)
from numeric.ops import indexing as _indexing  # noqa: F401
from numeric.ops import pickling as _records  # noqa: F401
from numeric.ops.arithmetic import *  # noqa: F403
from numeric.ops.comparing import *  # noqa: F403
from numeric.ops.conversions import *  # noqa: F403  # the modules' lists say what
from numeric.ops.creation import *  # noqa: F403
from numeric.ops.cumulative import *  # noqa: F403
from numeric.ops.gather_scatter import *  # noqa: F403
from numeric.ops.matrix_products import *  # noqa: F403
from numeric.ops.moments import *  # noqa: F403
from numeric.ops.pointwise import *  # noqa: F403
from numeric.ops.random_numbers import *  # noqa: F403
from numeric.ops.rearranging import *  # noqa: F403
from numeric.ops.reducing import *  # noqa: F403
from numeric.ops.sorting import *  # noqa: F403
from numeric.ops.views import *  # noqa: F403
from numeric.ops.views_of_parts import *  # noqa: F403
from numeric.subjects import SUBJECTS
from numeric.tracing import compiling
from numeric.tracing.compiling import *  # noqa: F403
from symdiff import __version__ as __version__
from symdiff.guesses import missing
from symdiff.subjects import by_subject, home, index

bool = dtypes.bool_  # the names by which programs know the dtypes
float, double, half = float32, float64, float16
long, int, short = int64, int32, int16

e, inf, nan, pi, newaxis = math.e, math.inf, math.nan, math.pi, None

if TYPE_CHECKING:  # loaded when they are first asked for
    from numeric import check as check
    from numeric import export as export
    from numeric import func as func
    from numeric import linalg as linalg
    from numeric import nn as nn
    from numeric import optim as optim
    from numeric import show as show
    from numeric.func import vmap as vmap
    from numeric.shards.sharded import sharded as sharded
    from numeric.show import draw as draw
    from numeric.show import explore as explore
    from numeric.show import plot as plot
    from numeric.show import plot_field as plot_field
    from numeric.show import steps as steps

# Type checkers know a name that is imported as itself, and those of `import *`; mypy reads no list
# that is made of other lists, and would take every name for one of __getattr__'s.
if not TYPE_CHECKING:
    __all__ = [
        "Function",
        "Size",
        "Tensor",
        "__version__",
        "autograd",
        "bool",
        "can_cast",
        "check",
        "double",
        "draw",
        "dtype",
        "e",
        "enable_grad",
        "explore",
        "export",
        "float",
        "float16",
        "float32",
        "float64",
        "func",
        "get_default_dtype",
        "half",
        "inf",
        "inference_mode",
        "int",
        "int16",
        "int32",
        "int64",
        "int8",
        "interpret",
        "is_grad_enabled",
        "is_inference_mode_enabled",
        "linalg",
        "long",
        "lower",
        "nan",
        "newaxis",
        "nn",
        "no_grad",
        "optim",
        "pi",
        "plot",
        "plot_field",
        "promote_types",
        "set_default_dtype",
        "set_grad_enabled",
        "sharded",
        "short",
        "show",
        "steps",
        "uint8",
        "vmap",
        *creation.__all__,
        *random_numbers.__all__,
        *printing.__all__,
        *conversions.__all__,
        *arithmetic.__all__,
        *comparing.__all__,
        *matrix_products.__all__,
        *moments.__all__,
        *sorting.__all__,
        *views_of_parts.__all__,
        *pointwise.__all__,
        *rearranging.__all__,
        *reducing.__all__,
        *cumulative.__all__,
        *gather_scatter.__all__,
        *views.__all__,
        *top_level_names.__all__,
        *compiling.__all__,
    ]

    # Loaded when they are first asked for; of some rooms, names stand here too.
    _ROOMS = ("check", "export", "func", "linalg", "nn", "optim", "shards", "show")
    _ROOM_OF = {
        **dict.fromkeys(("draw", "explore", "plot", "plot_field", "steps"), "show"),
        "sharded": "shards",
        "vmap": "func",
    }

    def __getattr__(name: str) -> object:
        if name in _ROOMS:
            return import_module(f"numeric.{name}")
        if name in _ROOM_OF:
            return getattr(import_module(f"numeric.{_ROOM_OF[name]}"), name)
        raise missing("module 'numeric'", name, guesses.PACKAGE, sys.modules[__name__])

    def __dir__() -> list[str]:
        return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})

    _lazy = {**_ROOM_OF, **dict.fromkeys(_ROOMS, "(module)")}
    _homes = {name: _lazy.get(name) or home(globals()[name]) for name in __all__ if name[0] != "_"}
    arguments.explain(__name__)
    for _class in (Tensor, random_numbers.Generator):
        arguments.explain_methods(_class)
    __doc__ += f"\n{index(by_subject(__name__, _homes, SUBJECTS))}\n"
