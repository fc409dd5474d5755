"""Tensors: what they are, what is recorded, and how it is gone back through."""
