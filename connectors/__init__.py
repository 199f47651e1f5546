"""Connectors: sources and sinks of rows, one folder for each."""
