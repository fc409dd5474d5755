"""The tests, and what they share."""

import os

# mpmath, the oracle, computes with gmpy2 where it is installed; SymPy is what most users have.
os.environ.setdefault("SYMPY_GROUND_TYPES", "python")
