"""Derivatives: the rules of the op families, and the graph walks that apply them."""
