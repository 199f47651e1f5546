"""Connector `blackhole`: drops all rows."""
