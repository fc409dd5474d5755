"""Every function of expressions, under its array-API and NumPy name: one list of many modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symdiff import (
    arrays,
    elementwise,
    factorisations,
    indexing,
    layouts,
    ordering,
    products,
    reductions,
    signals,
    special_functions,
    statistics,
)
from symdiff.arrays import *  # noqa: F403  # the modules' lists say what
from symdiff.elementwise import *  # noqa: F403
from symdiff.factorisations import *  # noqa: F403
from symdiff.indexing import *  # noqa: F403
from symdiff.layouts import *  # noqa: F403
from symdiff.ordering import *  # noqa: F403
from symdiff.products import *  # noqa: F403
from symdiff.reductions import *  # noqa: F403
from symdiff.signals import *  # noqa: F403
from symdiff.special_functions import *  # noqa: F403
from symdiff.statistics import *  # noqa: F403

# Type checkers follow `import *`, but mypy reads no list that is made of other lists.
if not TYPE_CHECKING:
    __all__ = [
        *arrays.__all__,
        *elementwise.__all__,
        *factorisations.__all__,
        *indexing.__all__,
        *layouts.__all__,
        *ordering.__all__,
        *products.__all__,
        *reductions.__all__,
        *signals.__all__,
        *special_functions.__all__,
        *statistics.__all__,
    ]

    def __dir__() -> list[str]:
        return __all__
