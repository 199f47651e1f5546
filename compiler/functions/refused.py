"""Functions of other dialects that a query cannot call, with what to use instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_COLUMN = "let the input bring the value, in a column of its own"

NOT_DETERMINISTIC: Final[Mapping[str, str]] = {
    "RAND": _COLUMN,
    "RANDOM": _COLUMN,
    "RAND_INTEGER": _COLUMN,
    "UUID": _COLUMN,
    "GEN_RANDOM_UUID": _COLUMN,
    "SYSDATE": "use NOW(), the time of the row",
}
"""The functions whose value is not decided by the input, by name; and what to do instead.

A query whose result is to be the same at every replay can only be made of what its input says.
"""

LATER: Final[Mapping[str, str | None]] = {
    "CURRENT_WATERMARK": "compare with the time of the row: at < PROCTIME() - INTERVAL '5' SECOND",
}
"""Functions of the language that this version does not carry out; and what may serve."""

_FILE: Final = "write the file in place of a table: FROM 'rows.csv'"
_NUMBERS: Final = (
    "write UNNEST(SEQUENCE(1, n)) AS u(x), or declare a table with 'connector' = 'datagen'"
)

OTHER_DIALECTS: Final[Mapping[str, str]] = {
    "TIME_BUCKET": "use DATE_BIN(width, t), or group by a window: TUMBLE(t, at, INTERVAL '1' MINUTE)",
    "ISNULL": "write a IS NULL",
    "ARRAY_LENGTH": "use CARDINALITY",
    "COLLECT": "use ARRAY_AGG(x), or count by k and x",
    "COLLECT_SET": "use ARRAY_AGG(DISTINCT x)",
    "GROUP_CONCAT": "use STRING_AGG(x, separator)",
    "FIRST": "use FIRST_VALUE, or FIRST_VALUE(x ORDER BY y)",
    "LAST": "use LAST_VALUE, or LAST_VALUE(x ORDER BY y)",
    "TOPK": "use ROW_NUMBER() OVER (PARTITION BY k ORDER BY x DESC) and QUALIFY",
    "HISTOGRAM": "count by k and x, or use MAP_AGG over such counts",
    "NTILE": "the number of rows of a stream is not known: use RANK, or PERCENTILE_DISC in GROUP BY",
    "PERCENT_RANK": "the number of rows of a stream is not known: use RANK",
    "CUME_DIST": "the number of rows of a stream is not known: use RANK",
    "STRINGTOTIMESTAMP": "use EPOCH_MILLIS(TO_TIMESTAMP(text, pattern))",
    "TIMESTAMPTOSTRING": "use DATE_FORMAT(TIMESTAMP_MILLIS(n), pattern)",
    "STRINGTODATE": "use UNIX_DATE(TO_DATE(text, pattern))",
    "DATETOSTRING": "use DATE_FORMAT(DATE_FROM_UNIX_DATE(n), pattern)",
    "STR_TO_DATE": "use TO_DATE(text, 'yyyy-MM-dd') or STRPTIME(text, '%Y-%m-%d')",
    "FROM_DAYS": "use DATE_FROM_UNIX_DATE(n), which counts from 1970-01-01",
    "TO_DAYS": "use UNIX_DATE(d), which counts from 1970-01-01",
    "WEEKDAY": "it counts from Sunday in some dialects and from Monday in others: use ISODOW or DAYOFWEEK",
    "DAYOFWEEK_ISO": "use ISODOW",
    "YEARWEEK": "use ISOYEAR(t) * 100 + WEEK(t)",
    "MILLISECOND": "use DATE_FORMAT(t, 'SSS')",
    "MICROSECOND": "use DATE_FORMAT(t, 'SSSSSS')",
    "DATESUB": "use TIMESTAMPDIFF(unit, from, to)",
    "MONTHS_BETWEEN": "use TIMESTAMPDIFF(MONTH, from, to)",
    "EXPLODE": "write CROSS JOIN UNNEST(array) AS u(x)",
    "JSON_TYPE": "use JSON_TYPEOF",
    "IS_JSON_STRING": "use JSON_VALID, which is NULL of NULL",
    "JSON_RECORDS": "use JSON_KEYS, and JSON_EXTRACT_PATH",
    "JSON_CONCAT": "use JSON_MERGE_PATCH for objects",
    "XXHASH64": "use XXH64, whose seed is 0 (Spark's is 42)",
    "LIST_SORT": "use ARRAY_SORT",
    "LIST_DISTINCT": "use ARRAY_DISTINCT, which keeps the order and NULL",
    "LIST_FILTER": "use CROSS JOIN LATERAL (SELECT ... FROM UNNEST(array) ...)",
    "REGEXP_EXTRACT_GROUPS": "use REGEXP_EXTRACT for each group",
    "READ_CSV": _FILE,
    "READ_CSV_AUTO": _FILE,
    "READ_JSON": _FILE,
    "READ_JSON_AUTO": _FILE,
    "READ_PARQUET": _FILE,
    "PARQUET_SCAN": _FILE,
    "GENERATE_SERIES": _NUMBERS,
    "RANGE": _NUMBERS,
    "STRUCT": "write ROW(a, b)",
    "NAMED_STRUCT": "write CAST(ROW(a, b) AS ROW<name type, …>)",
    "STRUCT_PACK": "write CAST(ROW(a, b) AS ROW<name type, …>)",
    "AGE": "write a - b, or TIMESTAMPDIFF(unit, from, to)",
    "TO_NUMBER": "write CAST(a AS DECIMAL(p, s))",
    "HASH": "use XXH64 or MD5",
    "COLUMNS": "list the columns",
    "ANY": "write a IN (…), or ARRAY_CONTAINS(array, a)",
    "SOME": "write a IN (…), or ARRAY_CONTAINS(array, a)",
}
"""Functions of other SQL dialects, with what to write here."""

OTHER_ARGUMENTS: Final[Mapping[str, str]] = {
    "TO_TIMESTAMP": "use TIMESTAMP_SECONDS(n) or TIMESTAMP_MILLIS(n) for a number",
    "UNIX_TIMESTAMP": "write UNIX_TIMESTAMP(NOW()) for the time of the row",
    "DATEDIFF": "use TIMESTAMPDIFF(unit, from, to) for other units than days",
}
"""Functions that take other arguments in other SQL dialects, with what to write here."""

WINDOW_FUNCTIONS: Final = ("TUMBLE", "HOP", "SESSION", "CUMULATE")
"""Functions that stand in FROM or GROUP BY, not in expressions."""

WINDOW_BOUNDS: Final[Mapping[str, str]] = {
    f"{window}_{bound}": f"use the column {column}"
    for window in WINDOW_FUNCTIONS
    for bound, column in (
        ("START", "window_start"),
        ("END", "window_end"),
        ("ROWTIME", "window_time"),
    )
}
"""The calls by which other dialects ask for a window's bounds; here they are columns."""
