"""Connector `words`: generated lines of words."""
