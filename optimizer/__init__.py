"""The optimizer: chooses the tick plan of a graph, and the next tick of a running job."""
