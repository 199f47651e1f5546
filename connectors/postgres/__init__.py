"""Connector `postgres`: tables of PostgreSQL, as they are and as they change."""
