"""Drivers: they step the machines and carry the messages."""
