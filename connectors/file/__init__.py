"""Connector `file`: files and directories."""
