"""The operators of GROUP BY."""
