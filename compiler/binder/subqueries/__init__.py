"""Subqueries in expressions and in FROM: those that depend on the query around them become joins."""
