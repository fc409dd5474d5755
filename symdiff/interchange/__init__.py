"""Expressions in and out: text, SymPy, NumPy's functions, pickles."""
