"""Graphs into other graphs: symbols replaced, formulas along a new axis."""
