"""Other forms of an expression, found by SymPy and held against it."""
