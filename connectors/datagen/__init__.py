"""Connector `datagen`: generated rows for any columns."""
