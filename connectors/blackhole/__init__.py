"""Connector `blackhole`: drops what is written."""
