"""Forms of Flink SQL."""
