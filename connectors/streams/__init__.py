"""Streams of bytes, and how the rows in their lines are read."""
