"""Connectors: where rows come from and where they go, one folder for each."""
