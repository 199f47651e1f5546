"""Avro: object container files, with rows in blocks."""
