"""fsql: streaming SQL with deterministic, exactly-once results."""

__version__ = "0.1.0"
