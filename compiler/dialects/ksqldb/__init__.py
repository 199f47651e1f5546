"""Forms of ksqlDB."""
