"""Syntax to logical plan: names resolved, types checked."""
