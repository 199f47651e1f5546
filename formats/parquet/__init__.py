"""Parquet: files of columns, in row groups."""
