"""From expressions to NumPy: one kernel per node, assembled into programs."""

from numeric.lowering import arithmetic_kernels as arithmetic_kernels
