"""Every function of expressions, under its array-API and NumPy name: one list of five modules."""

from __future__ import annotations

from symdiff import arrays, elementwise, indexing, products, reductions
from symdiff.arrays import *  # noqa: F403  # the modules' lists say what
from symdiff.elementwise import *  # noqa: F403
from symdiff.indexing import *  # noqa: F403
from symdiff.products import *  # noqa: F403
from symdiff.reductions import *  # noqa: F403

__all__: list[str] = []
__all__ += arrays.__all__
__all__ += elementwise.__all__
__all__ += indexing.__all__
__all__ += products.__all__
__all__ += reductions.__all__
