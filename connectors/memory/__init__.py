"""Connector `memory`: rows of the Python program that runs the query."""
