"""From expressions to NumPy: one kernel per node, assembled into programs."""

# Sums and products have their kernels from programs, which stand above ``node_kernels``.
from numeric.lowering import arithmetic_kernels as arithmetic_kernels
from numeric.lowering import integrals as integrals
from numeric.lowering import loops as loops
from numeric.lowering import odes as odes
from numeric.lowering import roots as roots
from numeric.lowering import while_loops as while_loops
