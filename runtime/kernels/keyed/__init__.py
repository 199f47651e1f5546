"""Shared by all kernels with keyed state: slots, undo, incremental snapshots."""
