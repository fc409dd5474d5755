"""Expressions for the eye: as text, as LaTeX."""
