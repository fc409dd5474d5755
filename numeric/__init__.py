"""numeric: formulas of ``symdiff``, lowered to fast NumPy functions with exact derivatives.

>>> import symdiff as sd
>>> x, y = sd.symbols("x y")
>>> f = lower(x**2 * y, (x, y))
>>> f(3.0, 2.0), f.value_and_grad(3.0, 2.0)
(18.0, (18.0, (12.0, 9.0)))

What users need first:

- ``lower`` makes functions of formulas; ``tensor`` and related functions make eager tensors;
- ``draw`` shows a graph with values and cotangents, ``steps`` the chain rule step by step;
- ``plot``, ``plot_field`` and ``explore`` draw functions and their derivatives (the extra ``viz``);
- ``check`` audits gradients, ``export`` brings formulas to SciPy.
"""

from __future__ import annotations

import math
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from symdiff.importing import without_collections

with without_collections():
    from numeric import guesses
    from numeric._tensor_names import TENSOR_NAMES
    from numeric.halves import load_tensors

    # Imported for what it attaches to Functions.
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
    from numeric.subjects import SUBJECTS
    from symdiff import __version__ as __version__
    from symdiff.guesses import missing
    from symdiff.subjects import by_subject, home, index

e, inf, nan, pi, newaxis = math.e, math.inf, math.nan, math.pi, None

if TYPE_CHECKING:  # loaded when they are first asked for
    from numeric import autograd as autograd
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
    from numeric.tensors import *  # noqa: F403

# Type checkers know a name that is imported as itself, and those of `import *`; mypy reads no list
# that is made of other lists, and would take every name for one of __getattr__'s.
if not TYPE_CHECKING:
    # Loaded when they are first asked for; some of their names are public here, too.
    _MODULES = ("autograd", "check", "export", "func", "linalg", "nn", "optim", "shards", "show")
    _MODULES_OF_TENSORS = ("autograd", "func", "linalg", "nn", "optim")
    _MODULE_OF = {
        **dict.fromkeys(("draw", "explore", "plot", "plot_field", "steps"), "show"),
        "sharded": "shards",
        "vmap": "func",
    }
    _TENSOR_HOMES = {name: home for home, names in TENSOR_NAMES.items() for name in names.split()}
    __all__ = [
        "Function",
        "__version__",
        "autograd",
        "check",
        "draw",
        "e",
        "enable_grad",
        "explore",
        "export",
        "func",
        "inf",
        "inference_mode",
        "interpret",
        "is_grad_enabled",
        "is_inference_mode_enabled",
        "linalg",
        "lower",
        "nan",
        "newaxis",
        "nn",
        "no_grad",
        "optim",
        "pi",
        "plot",
        "plot_field",
        "set_grad_enabled",
        "sharded",
        "show",
        "steps",
        "vmap",
        *_TENSOR_HOMES,
    ]

    def __getattr__(name: str) -> object:
        if name in _MODULES_OF_TENSORS:
            load_tensors()
        if name in _MODULES:
            return import_module(f"numeric.{name}")
        if name in _MODULE_OF:
            return getattr(import_module(f"numeric.{_MODULE_OF[name]}"), name)
        if name in _TENSOR_HOMES:
            loaded = load_tensors()
            for each in _TENSOR_HOMES:  # next time without a call; what a user set stays
                globals().setdefault(each, getattr(loaded, each))
            return globals()[name]
        raise missing("module 'numeric'", name, guesses.PACKAGE, sys.modules[__name__])

    def __dir__() -> list[str]:
        return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})

    _lazy = {**_MODULE_OF, **dict.fromkeys(_MODULES, "(module)"), **_TENSOR_HOMES}
    _homes = {name: _lazy.get(name) or home(globals()[name]) for name in __all__ if name[0] != "_"}
    __doc__ += f"\n{index(by_subject(__name__, _homes, SUBJECTS))}\n"
