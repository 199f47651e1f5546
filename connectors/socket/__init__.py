"""Connector `socket`: lines received over TCP connections."""
