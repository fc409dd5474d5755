"""The opaque ops: each class defines its op completely, with its differential.

matrices          solve, inv, det, slogdet, cofactors
matrix_functions  expm, logm, sqrtm
decompositions    cholesky, eigenvalues and -vectors, singular values and vectors, pinv, qr
reductions        prod, max, min, logsumexp, argmax, argmin
conditions        nonzero
sequences         take, put, argsort, searchsorted, cumprod, logcumsumexp, recurrence
"""

from symdiff.opaque_ops.conditions import *  # noqa: F403  # the modules' lists select the names
from symdiff.opaque_ops.decompositions import *  # noqa: F403
from symdiff.opaque_ops.matrices import *  # noqa: F403
from symdiff.opaque_ops.matrix_functions import *  # noqa: F403
from symdiff.opaque_ops.reductions import *  # noqa: F403
from symdiff.opaque_ops.sequences import *  # noqa: F403
