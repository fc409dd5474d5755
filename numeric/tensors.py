"""The half of Tensors, whole: its public names, and what its modules attach and register.

``numeric`` loads it on first use, and ``numeric.halves`` tells the half of Functions about it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# Modules with an underscore are imported for what they attach: ``tensor.FAMILIES`` says what.
from numeric import autograd as _autograd  # noqa: F401
from numeric import halves as _halves
from numeric.autograd import function as _custom
from numeric.eager import dtypes, printing
from numeric.eager import expressions as _formulas  # noqa: F401
from numeric.eager import function_calls as _calls
from numeric.eager import record as _record
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
from numeric.ops import pickling as _pickling  # noqa: F401
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
from numeric.tracing import compiling
from numeric.tracing.compiling import *  # noqa: F403

if TYPE_CHECKING:
    from symdiff.display.diagrams import Diagram

bool = dtypes.bool_  # the names by which programs know the dtypes
float, double, half = float32, float64, float16
long, int, short = int64, int32, int16

# Type checkers know a name that is imported as itself, and those of `import *`.
if not TYPE_CHECKING:
    __all__ = [
        "Size",
        "Tensor",
        "bool",
        "can_cast",
        "double",
        "dtype",
        "float",
        "float16",
        "float32",
        "float64",
        "get_default_dtype",
        "half",
        "int",
        "int16",
        "int32",
        "int64",
        "int8",
        "long",
        "promote_types",
        "set_default_dtype",
        "short",
        "uint8",
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
    arguments.explain(__name__)
    for _class in (Tensor, random_numbers.Generator):
        arguments.explain_methods(_class)


def _diagram(*given: Any) -> Diagram:
    # Few draw: the module needs numeric.show.
    from numeric.autograd.record_diagrams import recorded

    return recorded(*given)


# The functions first: another thread may ask already.
_known = _halves.tensors
_known.call, _known.diagram = _calls.called, _diagram
_known.custom, _known.kinds = (_custom.Function,), (Tensor,)
_known.recorded = (Tensor, _record.Record, _custom.BackwardCFunction)
