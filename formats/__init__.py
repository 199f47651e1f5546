"""Formats: how rows are written as bytes."""
