"""Delivery: released rows become bundles, which sinks store in order; shards are written by workers."""
