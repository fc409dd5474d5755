"""Exports to other libraries: ``scipy`` for optimisers and solvers, ``solve_ivp`` for ODEs.

>>> import numpy as np
>>> import symdiff as sd
>>> x, a = sd.symbol("x", 2), sd.symbol("a")
>>> problem = scipy((1 - x[0]) ** 2 + a * (x[1] - x[0] ** 2) ** 2, x, a=100)
>>> problem.jac(np.array([0.0, 1.0])).tolist()
[-2.0, 200.0]
"""

import sys
from typing import TYPE_CHECKING

from numeric.export.odes import Equations, solve_ivp
from numeric.export.problems import Problem, scipy
from numeric.guesses import EXPORT
from symdiff.guesses import missing

__all__ = ["Equations", "Problem", "scipy", "solve_ivp"]


if not TYPE_CHECKING:  # a type checker would accept every name as an attribute of the module

    def __getattr__(name: str) -> object:
        raise missing("module 'numeric.export'", name, EXPORT, sys.modules[__name__])
