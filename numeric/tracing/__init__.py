"""Functions of Tensors as formulas: compiled, batched and differentiated."""
