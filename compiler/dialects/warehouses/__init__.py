"""Forms of Snowflake, BigQuery, Spark, DuckDB and similar systems."""
