"""Forms of RisingWave and Materialize."""
