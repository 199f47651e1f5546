"""Vectorised expressions, map functions and fold kernels over Arrow and NumPy."""
