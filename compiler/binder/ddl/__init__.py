"""Statements that declare: tables with their options and columns, functions in Python, settings."""
