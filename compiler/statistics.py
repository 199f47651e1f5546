"""The tables of statistics that workers write, as data: the runtime writes them, collectors read them.

`docs/optimizer.md` describes them.  Each table begins with the columns `COMMON`.
"""

from __future__ import annotations

from typing import Final

SCHEMA: Final = 6
"""The version of the tables; a reader ignores files of another one."""

TICK_SECONDS: Final = 10.0
"""How often workers write statistics, and ticks are chosen, if nothing else is requested."""

SAMPLED_EVERY: Final = 32
"""Conditions of filters are measured one by one in one batch out of this many."""

AGES_PER_OCTAVE: Final = 4
"""Into how many buckets the ages between a power of 2 of microseconds and the next one fall."""

DIRECTORY: Final = "statistics"
"""The directory in a state directory that has a directory for each table."""

COMMON: Final = (
    ("schema", "int32"),
    ("job", "string"),
    ("interval", "int64"),
    ("epoch", "int64"),
    ("worker", "int32"),
    ("from", "int64"),
    ("to", "int64"),
)
"""`interval` numbers the intervals since 1970, `from` and `to` are microseconds since 1970."""

TABLES: Final = {
    "bins": (
        ("operator", "string"),
        ("side", "int32"),
        ("bin", "int32"),
        ("rows", "int64"),
        ("bytes", "int64"),
        ("negative_rows", "int64"),
    ),
    "heavy": (
        ("operator", "string"),
        ("side", "int32"),
        ("hash", "int64"),
        ("key", "string"),
        ("rows", "int64"),
        ("error", "int64"),
    ),
    "operators": (
        ("operator", "string"),
        ("calls", "int64"),
        ("rows_in", "int64"),
        ("rows_out", "int64"),
        ("busy_ns", "int64"),
        ("elapsed_ns", "int64"),
    ),
    "folds": (
        ("operator", "string"),
        ("policy", "string"),
        ("applied", "int64"),
        ("redone", "int64"),
        ("held", "int64"),
        ("rewinds", "int64"),
        ("batches", "int64"),
        ("disordered", "int64"),
        ("advances", "int64"),
        ("would_redo", "int64"),
        ("hold_us", "int64"),
        ("changed_keys", "int64"),
        ("state_rows", "int64"),
        ("state_bytes", "int64"),
    ),
    "fronts": (
        ("table", "string"),
        ("split", "int32"),
        ("rows", "int64"),
        ("bytes", "int64"),
        ("lag_us", "int64"),
        ("blocked_us", "int64"),
    ),
    "latency": (
        ("table", "string"),
        ("bucket", "int32"),
        ("chunks", "int64"),
    ),
    "links": (
        ("peer", "int32"),
        ("frames", "int64"),
        ("bytes", "int64"),
        ("resent", "int64"),
        ("busy_ns", "int64"),
    ),
}
