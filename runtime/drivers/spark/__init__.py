"""Runs a job over data at rest on Spark: `session` starts Spark, `run` schedules the stages on it."""
