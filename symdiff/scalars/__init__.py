"""Scalar formulas: SymPy expressions over a vocabulary with stable derivatives."""
