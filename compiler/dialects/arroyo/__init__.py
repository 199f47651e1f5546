"""Forms of Arroyo."""
