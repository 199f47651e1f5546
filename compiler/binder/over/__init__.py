"""OVER: running aggregates, ranks, and the frames of their rows."""
