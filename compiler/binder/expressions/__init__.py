"""Expressions: names, literals, operators and calls to bound expressions."""
