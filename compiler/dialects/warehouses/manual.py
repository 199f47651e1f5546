"""Spark and dbt and this language, for `docs/coming_from.md`: a table has its heads and its rows."""

from __future__ import annotations

from typing import Final

SPARK: Final = (
    ("Spark", "fsql"),
    (
        "`GROUP BY window(at, '10 minutes')`, `window.start`",
        "`GROUP BY TUMBLE(at, INTERVAL '10' MINUTE)`, and the columns `window_start` and `window_end`",
    ),
    (
        "`window(at, '10 minutes', '5 minutes')`",
        "`HOP(at, INTERVAL '5' MINUTE, INTERVAL '10' MINUTE)`: the slide comes first",
    ),
    ("`session_window(at, '5 minutes')`", "`SESSION(at, INTERVAL '5' MINUTE)`"),
    (
        '`withWatermark("at", "10 minutes")`',
        "`WATERMARK FOR at AS at - INTERVAL '10' MINUTE` in CREATE TABLE",
    ),
    ('`outputMode("append")`, `outputMode("update")`', "`EMIT FINAL`, `EMIT CHANGES`"),
    (
        "`explode(…)`, `LATERAL VIEW explode(…)`",
        "[the same](language.md#arrays-unnest-and-lateral)",
    ),
    (
        "`split(s, '\\\\|')`, by a regular expression",
        "`SPLIT(s, '\\|')`, or `REGEXP_SPLIT_TO_ARRAY(s, '\\|')`",
    ),
    ("`element_at(a, -1)`", "`ARRAY_LAST(a)`"),
    ("checkpoint location", "`--state DIR`"),
)
"""What each form of Spark is here."""

DBT: Final = (
    ("dbt", "fsql"),
    ("a model", "`CREATE VIEW`, or a table with `INSERT INTO … SELECT`"),
    ("`ref('m')`", "the name of a view in the same script"),
    ("`source('s', 't')`", "`CREATE TABLE … WITH ('connector' = …)`"),
    (
        "incremental model",
        "every query: each input row changes the result by the difference it makes",
    ),
    ("`var('x')`", "`${x}` in the script, `-D x=value` on the command line"),
    ("`dbt compile`", "`fsql check`, `fsql explain`"),
    ("`dbt test`, unit tests", "[`fsql test`](projects.md#tests)"),
    (
        "`ORDER BY … LIMIT` of a result",
        "the same; the result is updated as rows come. Without LIMIT it is [ordered](language.md#ranks-top-n-and-deduplication) when the input has ended",
    ),
    (
        "late arriving data, look-back windows",
        "`WATERMARK FOR`, and `'late_path'` for what comes later",
    ),
)
"""What each word of dbt is here."""
