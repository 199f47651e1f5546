"""Format `debezium-json`."""
