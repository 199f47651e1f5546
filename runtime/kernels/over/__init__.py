"""The operator of running aggregates: the aggregate of its frame for each row."""
