"""Snapshots: when one is taken, at which position, what it consists of, and when it is complete."""
