"""Functions of other systems that do not exist here or take other arguments, with what to use instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_FILE: Final = "write the file instead of a table: FROM 'rows.csv'"
_NUMBERS: Final = (
    "write UNNEST(SEQUENCE(1, n)) AS u(x), or declare a table with 'connector' = 'datagen'"
)

_ROW_TIME: Final = "use NOW(), the time of the row"
_ELEMENTS: Final = "write CROSS JOIN UNNEST(JSON_ITEMS(text)) AS u(x)"

OTHER_DIALECTS: Final[Mapping[str, str]] = {
    "TIME_BUCKET": "use DATE_BIN(width, t), or group by a window: TUMBLE(t, at, INTERVAL '1' MINUTE)",
    "ISNULL": "write a IS NULL",
    "ARRAY_LENGTH": "use CARDINALITY",
    "GROUP_CONCAT": "use STRING_AGG(x, separator)",
    "WINDOW": "write GROUP BY TUMBLE(at, INTERVAL '10' MINUTE), and window_start and window_end",
    "SESSION_WINDOW": "write GROUP BY SESSION(at, INTERVAL '10' MINUTE), and window_start and window_end",
    "MZ_NOW": "use NOW(), the time of the row; results do not change as time passes",
    "MZ_LOGICAL_TIMESTAMP": "use NOW(), the time of the row, which is a TIMESTAMP",
    "COUNT_STAR": "write COUNT(*)",
    "PERCENTILE_APPROX": "use PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY x), which is exact",
    "ATTR": "use ANY_VALUE",
    **dict.fromkeys(("ARRAY", "MAKE_ARRAY"), "write ARRAY[a, b]"),
    "ARROW_CAST": "write CAST(a AS type)",
    "LIST_AGG": "use ARRAY_AGG",
    "EXTRACT_JSON": "use JSON_QUERY(text, '$.a[*]' WITH WRAPPER RETURNING ARRAY<STRING>)",
    **dict.fromkeys(
        ("EXTRACT_JSON_STRING", "GET_FIRST_JSON_OBJECT"), "use JSON_EXTRACT_STRING(text, '$.a')"
    ),
    "JSON_GET_STR": "use JSON_GET_TEXT",
    "MAP": "write MAP['key', a]",
    "MAKE_INTERVAL": "write INTERVAL '1' HOUR, or INTERVAL '1' HOUR * n",
    "FROM_JSON": "use JSON_VALUE(text, '$.a' RETURNING INT) for each field, or declare the column as a ROW",
    "POSEXPLODE": "write CROSS JOIN UNNEST(array) WITH ORDINALITY AS u(x, n), where n begins with 1",
    "STR_TO_DATE": "use TO_DATE(text, 'yyyy-MM-dd') or STRPTIME(text, '%Y-%m-%d')",
    "TO_DAYS": "use UNIX_DATE(d), which counts from 1970-01-01",
    "WEEKDAY": "it counts from Sunday in some dialects and from Monday in others: use ISODOW or DAYOFWEEK",
    "DAYOFWEEK_ISO": "use ISODOW",
    "YEARWEEK": "use ISOYEAR(t) * 100 + WEEK(t)",
    "MILLISECOND": "use DATE_FORMAT(t, 'SSS')",
    "MICROSECOND": "use DATE_FORMAT(t, 'SSSSSS')",
    "DATE_SUBTRACT": "use TIMESTAMPADD(unit, -n, t), or t - INTERVAL '1' DAY * n",
    **dict.fromkeys(("CLOCK_TIMESTAMP", "STATEMENT_TIMESTAMP", "TRANSACTION_TIMESTAMP"), _ROW_TIME),
    **dict.fromkeys(("TIMEOFDAY", "GETDATE", "GETUTCDATE", "SYSTIMESTAMP"), _ROW_TIME),
    **dict.fromkeys(("CONVERT", "TRY_CONVERT"), "write CAST(a AS type), or TRY_CAST(a AS type)"),
    "TO_INT": "write CAST(a AS INT)",
    "FORMAT": "use PRINTF, whose directives are %s, %d and %f, or ||",
    "SPLIT_TO_MAP": "use STR_TO_MAP, whose keys without a value are NULL",
    "FROM_BYTES": "write FROM_BYTES(bytes, 'hex'), 'base64', 'utf8' or 'ascii'",
    "ENTRIES": "write ENTRIES(map, TRUE), whose rows have the fields K and V",
    **dict.fromkeys(("FLATTEN", "JSON_ARRAY_ELEMENTS", "JSONB_ARRAY_ELEMENTS"), _ELEMENTS),
    **dict.fromkeys(("JSON_ARRAY_ELEMENTS_TEXT", "JSONB_ARRAY_ELEMENTS_TEXT"), _ELEMENTS),
    **dict.fromkeys(("JSON_EACH", "JSONB_EACH"), "use JSON_KEYS(text), JSON_GET, and UNNEST"),
    "JSONB_PATH_QUERY": "write CROSS JOIN UNNEST(JSON_ITEMS(text, '$.a[*]')) AS u(x)",
    **dict.fromkeys(("JSONB_SET", "JSONB_INSERT"), "use JSON_MERGE_PATCH(text, patch)"),
    **dict.fromkeys(("PARSE_JSON", "TRY_PARSE_JSON"), "it takes one text: PARSE_JSON(text)"),
    **dict.fromkeys(
        ("REGEXP_SPLIT_TO_TABLE", "STRING_TO_TABLE"),
        "write CROSS JOIN UNNEST(SPLIT(text, separator)) AS u(x)",
    ),
    "LIST_PREPEND": "use ARRAY_PREPEND(array, x), whose arguments are in the other order",
    "LIST_EXTRACT": "use ELEMENT_AT, which counts from 1 and has no negative positions",
    **dict.fromkeys(
        ("LIST_POSITION", "LIST_INDEXOF"), "use ARRAY_POSITION, which is 0 where there is none"
    ),
    "LIST_UNIQUE": "use CARDINALITY(ARRAY_DISTINCT(array))",
    "SIZE": "use CARDINALITY",
    "AGGREGATE": "use REDUCE(array, start, (total, x) -> …)",
    "FORALL": "use ALL_MATCH(array, x -> …)",
    "MONTHS_BETWEEN": "use TIMESTAMPDIFF(MONTH, from, to)",
    **dict.fromkeys(("EXPLODE", "UNNEST"), "write CROSS JOIN UNNEST(array) AS u(x)"),
    "JSON_TYPE": "use JSON_TYPEOF",
    "JSON_LENGTH": "use JSON_ARRAY_LENGTH, and CARDINALITY(JSON_KEYS(text)) of an object",
    "CONV": "write TO_BASE(FROM_BASE(text, 2), 10)",
    "HASH_CODE": "use XXH64 or MD5",
    "URL_DECODE_RECURSIVE": "write URL_DECODE(URL_DECODE(text))",
    "SINGLE_VALUE": "use ANY_VALUE",
    "GROUP_ID": "use GROUPING(a, b), which says which columns are grouped",
    **dict.fromkeys(("CURRENT_DATABASE", "CURRENT_SCHEMA"), "write the name as a text"),
    **dict.fromkeys(
        ("TUMBLE_PROCTIME", "HOP_PROCTIME", "SESSION_PROCTIME"),
        "use the ROWTIME of the window, or its end: TUMBLE_ROWTIME, HOP_ROWTIME, SESSION_ROWTIME",
    ),
    "JSON_CONCAT": "use JSON_MERGE_PATCH for objects",
    "XXHASH64": "use XXH64, whose seed is 0 (Spark's is 42)",
    "LIST_SORT": "use ARRAY_SORT",
    "LIST_DISTINCT": "use ARRAY_DISTINCT, which keeps the order and NULL",
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
    "ELEMENT": "write array[1]",
    "ARRAY_UPPER": "use CARDINALITY",
    **dict.fromkeys(
        ("TIMESTAMP_TRUNC", "DATETIME_TRUNC"), "write the unit: TIMESTAMP_TRUNC(t, DAY)"
    ),
    "TIME_TRUNC": "use MAKE_TIME(HOUR(t), MINUTE(t), 0)",
    "SORT_ARRAY": "use ARRAY_SORT(a, TRUE, TRUE), which has NULL first",
    "ARRAY_EXISTS": "use ANY_MATCH",
    "SAFE_OFFSET": "positions begin with 1: write a[1]",
    "INITCAP_SPACES": "use INITCAP, whose words are letters and digits",
    "XXHASH": "use XXH64, whose seed is 0",
    "VARIANTNULL": "JSON is a STRING here: write 'null'",
    "QUOTE_NULLABLE": "write COALESCE(QUOTE_LITERAL(a), 'NULL')",
    **dict.fromkeys(
        ("JUSTIFY_HOURS", "JUSTIFY_DAYS", "JUSTIFY_INTERVAL"),
        "remove it; an INTERVAL is a number of microseconds, or of months",
    ),
    "JSONB_CONTAINS": "compare the parts: a ->> 'key' = 'x'",
    "JSONB_PRETTY": "remove it; the text of JSON is compact",
    "COLUMNS": "list the columns",
    "TIMEZONE": "write t AT TIME ZONE 'Europe/Berlin'",
    "EPOCH": "use UNIX_TIMESTAMP(t), or EXTRACT(EPOCH FROM interval)",
    "JSON_TUPLE": "use JSON_VALUE(text, '$.a') for each field",
    "ZEROIFNULL": "write COALESCE(a, 0)",
    "RATIO_TO_REPORT": "write a / SUM(a) OVER (PARTITION BY k)",
    "CONDITIONAL_TRUE_EVENT": "write SUM(CASE WHEN a THEN 1 ELSE 0 END) OVER (PARTITION BY k ORDER BY at)",
    "ANY": "write it after the comparison: a > ANY (array)",
    "SOME": "write it after the comparison: a > ANY (array)",
}
"""Functions of other SQL dialects, with what to write here."""

OTHER_ARGUMENTS: Final[Mapping[str, str]] = {
    "ARRAY_HISTOGRAM": "the values become keys of a map, which are no ARRAY, ROW or MAP",
    "JSON": "use JSON_STRING for a value that is not a text",
    "TO_TIMESTAMP": "use TIMESTAMP_MILLIS(n) for a number of milliseconds",
    "TO_DATE": "of a time write CAST(t AS DATE)",
    "DATEDIFF": "use TIMESTAMPDIFF(unit, from, to) for other units than days",
    "LOG": "use LN(x) or LOG10(x), whose base is in their name",
    "DATE_DIFF": "write the unit and then two times: DATE_DIFF('day', from, to)",
    "DATE_TRUNC": "write the unit and then the time: DATE_TRUNC('hour', t)",
    "REGEXP_MATCHES": "use REGEXP_EXTRACT_ALL(text, pattern, 0) for all matches",
    "ARRAY_JOIN": "cast the elements: CAST(array AS ARRAY<STRING>)",
    "ARRAY_LENGTH": "of an inner array write ARRAY_LENGTH(array[1])",
    "ARRAY_SORT": "write FALSE as the second argument for the descending order",
    "DECODE": "write DECODE(text, 'hex') or DECODE(text, 'base64')",
    "ENCODE": "write ENCODE(bytes, 'hex') or ENCODE(bytes, 'base64')",
    **dict.fromkeys(
        ("HOUR", "MINUTE", "SECOND", "DAY"), "of an INTERVAL write EXTRACT(HOUR FROM interval)"
    ),
    "INSTR": "use LOCATE(part, text, start) to begin at a position",
    **dict.fromkeys(
        ("REGEXP_LIKE", "REGEXP_COUNT", "REGEXP_INSTR", "REGEXP_SUBSTR"),
        "write flags in the pattern: '(?i)a' ignores case",
    ),
    "STRING_TO_ARRAY": "use TRANSFORM(SPLIT(text, separator), x -> NULLIF(x, 'null')) for NULL elements",
    **dict.fromkeys(("SUBSTRING", "SUBSTR"), "use REGEXP_SUBSTR(text, pattern) for a pattern"),
    "TO_CHAR": "use PRINTF('%.2f', x) or CAST(x AS STRING) for a number",
    "DATE_BIN": "write INTERVAL before a text that is one, and TIMESTAMP before a time",
}
"""Functions that take other arguments in other SQL dialects, with what to write here."""
