"""The NumPy bodies of ops that are no NumPy expression."""
