"""The NumPy bodies of ops that are not a NumPy expression."""
