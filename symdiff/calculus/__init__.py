"""Derivatives: the rules of the families, and the walks that read them."""
