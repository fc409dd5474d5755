"""Every function of expressions, under its array-API and NumPy name: one list of many modules."""

from __future__ import annotations

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
from symdiff.statistics import *  # noqa: F403

__all__: list[str] = []
__all__ += arrays.__all__
__all__ += elementwise.__all__
__all__ += factorisations.__all__
__all__ += indexing.__all__
__all__ += layouts.__all__
__all__ += ordering.__all__
__all__ += products.__all__
__all__ += reductions.__all__
__all__ += signals.__all__
__all__ += statistics.__all__
