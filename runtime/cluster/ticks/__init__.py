"""Ticks: the owners of hash bins and choices of the plan change at a position, without a pause."""
