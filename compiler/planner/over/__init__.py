"""The operators of OVER."""
