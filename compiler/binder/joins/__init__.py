"""Joins of all kinds: conditions, time ranges, versions."""
