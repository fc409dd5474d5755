"""The graph: nodes, their ops, and the algebra that builds them."""
