"""The options that generated text has, whatever the connector."""

from __future__ import annotations

from typing import Final

from fsql.compiler.connectors import ColumnRule, Option, OptionKind

GENERATED_OPTIONS: Final = (
    Option("seed", OptionKind.COUNT, "another seed, other data", default="0"),
    Option("count", OptionKind.COUNT, "number of records; endless if not given"),
    Option("vocabulary", OptionKind.POSITIVE, "number of different words", default="10000"),
    Option("rate", OptionKind.POSITIVE, "records a second; as fast as can be if not given"),
    Option(
        "start_ms",
        OptionKind.COUNT,
        "with `rate`: when the first record falls due, in milliseconds of the machine's monotonic clock;"
        " when it is first asked for if not given",
    ),
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
