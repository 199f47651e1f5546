"""Logical plan to drifting-state graph, one operator a file."""
