"""Connector `stdout`: standard output."""
