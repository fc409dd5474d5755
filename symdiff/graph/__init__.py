"""The graph: nodes, the ops that say what they do, and the algebra that builds them."""
