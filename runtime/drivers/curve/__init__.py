"""CURVE keys of nodes, and the list of the nodes that may connect."""
