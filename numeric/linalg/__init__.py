"""Linear algebra: ``linalg``.

Operands are matrices in the last two axes; axes before these are batch axes.

Some results are not unique: eigenvectors and singular vectors have arbitrary signs, and vectors of
equal values an arbitrary rotation.  LAPACK makes the choice, and only a function that does not
depend on it has a meaningful gradient.  If values coincide, gradients through vectors are inf or
nan; a function of the values alone has its gradient everywhere.

Functions of symmetric matrices read one triangle, and their gradients are by the symmetric part of
the operand.  In expressions and in traced functions they read the symmetric part.

>>> import numeric as torch
>>> torch.linalg.det(torch.tensor([[1.0, 2.0], [3.0, 4.0]])).item() < 0
True
"""

import sys
from typing import TYPE_CHECKING

from numeric.guesses import LINALG
from numeric.linalg import equations, factors, norms, products
from numeric.linalg.equations import *  # noqa: F403  # the modules' lists name them
from numeric.linalg.factors import *  # noqa: F403
from numeric.linalg.norms import *  # noqa: F403
from numeric.linalg.products import *  # noqa: F403
from numeric.ops.arguments import explain
from numeric.ops.matrix_factors import LinAlgError as LinAlgError
from symdiff.guesses import missing

# Type checkers follow `import *`, but mypy reads no list that is made of other lists.
if not TYPE_CHECKING:
    __all__ = [
        "LinAlgError",
        *equations.__all__,
        *factors.__all__,
        *norms.__all__,
        *products.__all__,
    ]
    explain(__name__)

    def __getattr__(name: str) -> object:
        raise missing("module 'numeric.linalg'", name, LINALG, sys.modules[__name__])
