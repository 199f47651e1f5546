"""Connector `documents`: generated documents."""
