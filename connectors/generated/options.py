"""The options that all connectors for generated rows share."""

from __future__ import annotations

from typing import Final

from fsql.compiler.connectors import ColumnRule, Effect, Option, OptionKind

RATE: Final = "rate"
COUNT: Final = "count"

ROW_OPTIONS: Final = (
    Option("seed", OptionKind.COUNT, "seed of the generated data", default="0"),
    Option(
        COUNT,
        OptionKind.COUNT,
        "number of records; endless if not given",
    ),
    Option(
        RATE,
        OptionKind.POSITIVE,
        "records a second; as fast as possible if not given",
        elsewhere=("datagen.rows.per.second",),
        effect=Effect.PACE,
    ),
    Option(
        "start_ms",
        OptionKind.COUNT,
        "with `rate`: when the first record falls due, in milliseconds of the machine's monotonic clock;"
        " when the table is first read if not given",
        effect=Effect.PACE,
    ),
    Option(
        "peak_rate",
        OptionKind.POSITIVE,
        "with `rate`: records a second during a peak",
        effect=Effect.PACE,
    ),
    Option(
        "peak_start_ms",
        OptionKind.COUNT,
        "with `peak_rate`: when the peak begins, in milliseconds after the first record",
        default="0",
        effect=Effect.PACE,
    ),
    Option(
        "peak_ms",
        OptionKind.POSITIVE,
        "with `peak_rate`: how long the peak is, in milliseconds",
        default="1000",
        effect=Effect.PACE,
    ),
)
"""The options that all generators have."""

GENERATED_OPTIONS: Final = (
    *ROW_OPTIONS[:2],
    Option("vocabulary", OptionKind.POSITIVE, "number of different words", default="10000"),
    *ROW_OPTIONS[2:],
)

GENERATED_COLUMNS: Final = ColumnRule(
    (("STRING",), ("BIGINT", "STRING")),
    "generated text does not fill these columns",
    "declare (line STRING) or (id BIGINT, line STRING)",
)

GENERATED_NOTES: Final = """\
The columns are `(line STRING)` or `(id BIGINT, line STRING)`.  Row i depends on the seed and on i alone, so
the same options give the same rows everywhere.
"""
