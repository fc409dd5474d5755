"""From expressions to NumPy: one kernel per node, assembled into programs."""
