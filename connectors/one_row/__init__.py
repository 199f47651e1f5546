"""Connector `one_row`: the table that queries without FROM read."""
