"""Expressions for the eye: the gallery of formulas, a checker of LaTeX, laws and attacks."""
