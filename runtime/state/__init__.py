"""Durable state of folds: stores of bytes, state segments in them, and snapshots made of segments."""
