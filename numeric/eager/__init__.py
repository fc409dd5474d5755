"""Tensors: their data, the record of operations, and the backward pass through it."""
