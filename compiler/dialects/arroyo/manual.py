"""Arroyo and this language, for `docs/coming_from.md`: a table has its heads and its rows."""

from __future__ import annotations

from typing import Final

COUNTERPARTS: Final = (
    ("Arroyo", "fsql"),
    (
        "`TUMBLE(INTERVAL '1 hour') AS window`, `HOP`, `SESSION` in SELECT",
        "[the same](language.md#windows-tumble-hop-and-cumulate), over the column of WATERMARK FOR; `GROUP BY window`, `window.start` and `PARTITION BY window`, too",
    ),
    ("`timestamp TIMESTAMP GENERATED ALWAYS AS (…) STORED`", "a computed column, `timestamp AS …`"),
    (
        "`CREATE TABLE … WITH (connector = …)` without columns, for a sink",
        "`CREATE TABLE … WITH (connector = …) AS SELECT …`, or declare the columns",
    ),
    (
        "updating tables, `'format' = 'debezium_json'`",
        "[changes](language.md#changes); a table with a PRIMARY KEY gets upserts",
    ),
    (
        "`SET updating_ttl = '1 day'`",
        "`SET 'table.exec.state.ttl' = '1 d'`, by the [time of rows](language.md#state-with-a-time-to-live)",
    ),
    ("functions in Rust and Python", "[functions in Python](language.md#functions-in-python)"),
)
"""What each form is here."""
