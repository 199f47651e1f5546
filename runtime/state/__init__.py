"""Durable state of folds: stores, the state segments in them, and snapshots, which consist of segments."""
