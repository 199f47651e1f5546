"""Tick plan to results."""
