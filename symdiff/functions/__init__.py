"""Collect all functions of expressions, under their array-API and NumPy names, from the modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symdiff.functions import (
    elementwise,
    factorisations,
    indexing,
    products,
    rearranging,
    reductions,
    shaping,
    signals,
    sorting,
    special,
    statistics,
)
from symdiff.functions.elementwise import *  # noqa: F403
from symdiff.functions.factorisations import *  # noqa: F403
from symdiff.functions.indexing import *  # noqa: F403
from symdiff.functions.products import *  # noqa: F403
from symdiff.functions.rearranging import *  # noqa: F403
from symdiff.functions.reductions import *  # noqa: F403
from symdiff.functions.shaping import *  # noqa: F403  # the modules' lists select the names
from symdiff.functions.signals import *  # noqa: F403
from symdiff.functions.sorting import *  # noqa: F403
from symdiff.functions.special import *  # noqa: F403
from symdiff.functions.statistics import *  # noqa: F403

# Type checkers follow `import *`, but mypy cannot read an ``__all__`` made of other lists.
if not TYPE_CHECKING:
    __all__ = [
        *shaping.__all__,
        *elementwise.__all__,
        *factorisations.__all__,
        *indexing.__all__,
        *rearranging.__all__,
        *sorting.__all__,
        *products.__all__,
        *reductions.__all__,
        *signals.__all__,
        *special.__all__,
        *statistics.__all__,
    ]

    def __dir__() -> list[str]:
        return __all__
