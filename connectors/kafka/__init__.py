"""Connector `kafka`: the messages of a topic."""
