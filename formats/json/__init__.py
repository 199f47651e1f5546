"""JSON objects, one on each line."""
