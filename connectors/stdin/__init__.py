"""Connector `stdin`: standard input."""
