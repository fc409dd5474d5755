"""Kernels as machine code: their steps as loops of C, compiled with the system's compiler."""
