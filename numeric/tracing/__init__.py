"""Tracing: turn functions of Tensors into formulas, to compile, batch and differentiate them."""
