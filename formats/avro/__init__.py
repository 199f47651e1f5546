"""Avro: object container files, which have rows in blocks."""
