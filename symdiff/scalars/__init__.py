"""Scalar formulas: SymPy's, with a vocabulary whose derivatives are stable."""
