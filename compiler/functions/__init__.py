"""The scalar functions: one typed table."""
