"""Forms of PostgreSQL."""
