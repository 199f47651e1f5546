"""Logical rules: pure functions from plan to plan that keep every released byte."""
