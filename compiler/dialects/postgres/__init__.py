"""Forms of PostgreSQL, RisingWave and Materialize."""
