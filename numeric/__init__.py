"""numeric: formulas of ``symdiff``, lowered to fast NumPy functions with exact derivatives.

>>> import symdiff as sd
>>> x, y = sd.symbols("x y")
>>> f = lower(x**2 * y, (x, y))
>>> f(3.0, 2.0), f.value_and_grad(3.0, 2.0)
(18.0, (18.0, (12.0, 9.0)))
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from numeric.function import Function, lower
from numeric.modes import is_grad_enabled, no_grad
from numeric.reference import interpret

try:
    __version__ = version("symdiff-numeric")
except PackageNotFoundError:  # run from a source tree that was never installed
    __version__ = "0+unknown"

__all__ = ["Function", "__version__", "interpret", "is_grad_enabled", "lower", "no_grad"]
