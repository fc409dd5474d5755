"""Display of expressions: as text, as LaTeX, as graphs."""
