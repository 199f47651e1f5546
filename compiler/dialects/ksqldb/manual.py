"""ksqlDB and this language, for `docs/coming_from.md`: a table has its heads and its rows."""

from __future__ import annotations

from typing import Final

COUNTERPARTS: Final = (
    ("ksqlDB", "fsql"),
    (
        "`CREATE STREAM s (…) WITH (kafka_topic = …, value_format = 'JSON')`",
        "[the same](language.md#names-of-ksqldb), with `servers`; columns with `KEY` are in the key of messages",
    ),
    (
        "`CREATE TABLE t (…) WITH (kafka_topic = …)`",
        "the same; with `k STRING PRIMARY KEY` the key is only in the key of messages, with `PRIMARY KEY (k) NOT ENFORCED` in their values, too",
    ),
    (
        "`CREATE STREAM s AS SELECT …`, `CREATE TABLE t AS SELECT …`",
        "the same as `CREATE VIEW`, with a warning: without WITH nothing is written",
    ),
    (
        "`CREATE STREAM s WITH (kafka_topic = …) AS SELECT …`",
        "the same, with `servers`; later statements [can read it](language.md#like-and-as)",
    ),
    (
        "`INSERT INTO s SELECT …`, to merge streams",
        "the same, also where s is a query, before the statements that read s",
    ),
    (
        "`CREATE TABLE t WITH (kafka_topic = …) AS SELECT k, COUNT(*) … GROUP BY k`",
        "the same, with `servers`; k is in the key of messages, and WINDOWSTART, which has to be selected, with `key_format = 'JSON'`",
    ),
    (
        "`timestamp = 'ts'` in WITH, otherwise the time of messages",
        "[the same](language.md#names-of-ksqldb), also with `timestamp_format`; time of messages is a column: `at TIMESTAMP_LTZ METADATA FROM 'timestamp', WATERMARK FOR at AS at - INTERVAL '1' MINUTE`",
    ),
    (
        "`WINDOW TUMBLING (SIZE 1 HOUR)`, HOPPING, SESSION",
        "[the same](language.md#windows-tumble-hop-and-cumulate); the window is over the column of WATERMARK FOR, and a session closes when the watermark has passed its end",
    ),
    (
        "`WINDOWSTART`, `WINDOWEND`, `ROWTIME`, in milliseconds",
        "the same (the end of a session is its last row and the gap, where ksqlDB gives the time of the last row), unless there is a column of that name; as TIMESTAMPs `window_start`, `window_end` and the column of `WATERMARK FOR`",
    ),
    (
        "`TIMESTAMPTOSTRING(ROWTIME, pattern)`, `STRINGTOTIMESTAMP`, `PARSE_TIMESTAMP` and `FORMAT_TIMESTAMP` with a time zone, `DATETOSTRING`, `STRINGTODATE`, `CONVERT_TZ`",
        "the same",
    ),
    (
        "`TIMESTAMPADD(DAYS, 1, t)`, `TIMESTAMPSUB`, `DATEADD`, `DATESUB`, `TIMEADD`, `TIMESUB`",
        "the same",
    ),
    ("`ROWTIME > '2026-01-01T00:00:00'`", "the same"),
    (
        "`address->city`, `EXPLODE(tags)`, `address->*`, `STRUCT(a := 1)`, `MAP('k' := 1)`",
        "the same",
    ),
    (
        "`A_ID`, `B_ID`, the names of columns of `CREATE STREAM j AS SELECT * FROM a JOIN b …`",
        "[the same](language.md#names-of-ksqldb) in statements that read j; in a result they are `id` and `id0`",
    ),
    ("`CREATE TYPE address AS STRUCT<city STRING>`", "[the same](language.md#rows)"),
    (
        "`JOIN b WITHIN 1 HOUR ON a.k = b.k`, also of three streams, and `WINDOW TUMBLING` over it",
        "[the same](language.md#interval-joins), over the columns of WATERMARK FOR; the time of a pair is that of its later row. A row of a LEFT or FULL JOIN without a match is returned once, when it can have none any more, also without GRACE PERIOD",
    ),
    ("a foreign key", "a join of tables with a PRIMARY KEY and `'changes' = 'upsert'`"),
    (
        "`GRACE PERIOD 1 MINUTE`",
        "the delay of `WATERMARK FOR`; where it is written, it must be that delay",
    ),
    ("`EMIT CHANGES`, `EMIT FINAL`", "the same words; a window is FINAL unless it says otherwise"),
    (
        "`TOPK(x, 3)`, `TOPK(x, y, 3)`, `COLLECT_SET(x)`, `LATEST_BY_OFFSET(x, 3)`, `LATEST_BY_OFFSET(x, FALSE)`",
        "[the same](language.md#aggregate-functions); all values of a group are kept",
    ),
    (
        "`TRANSFORM(a, x => x + 1)`, `FILTER`, `REDUCE`",
        "[the same](language.md#lambdas), also with `->`",
    ),
    (
        "`'a' + b` of texts, `ENTRIES(m, TRUE)`, `ARRAY_SORT(a, 'DESC')`, `JSON_RECORDS`, `IS_JSON_STRING`, `FROM_DAYS`",
        "the same",
    ),
    (
        "`TO_BYTES(s, 'hex')`, `FROM_BYTES(b, 'base64')`, `ENCODE(s, 'hex', 'utf8')`",
        "the same, with literal names of encodings; what is not in its encoding is NULL",
    ),
    ("pull query", "none: read the table that is written"),
    ("server, REST interface", "none: one job is one command"),
)
"""What each form is here."""

DIFFERENCES: Final = (
    ("ksqlDB", "fsql"),
    (
        "a stream joined with a table, once for each event",
        "`JOIN t FOR SYSTEM_TIME AS OF s.at`, a [temporal join](language.md#temporal-joins), has the row of that time; other joins are updated as the table changes (W208)",
    ),
    (
        "`ROWKEY` of a FULL JOIN",
        "`COALESCE(l.id, r.id)`, or `id` with `USING (id)`, which is a key",
    ),
    ("`SUBSTRING(s, -4)`, from the end", "`RIGHT(s, 4)`"),
    ("`INITCAP('a_b')` is `A_b`, a word ends with a space", "`A_B`, as in Flink"),
    (
        "`FROM_UNIXTIME(ms)`",
        "`TIMESTAMP_MILLIS(ms)`; FROM_UNIXTIME takes seconds, and returns a text",
    ),
    ("`REGEXP_EXTRACT(pattern, s, n)`, `REGEXP_EXTRACT_ALL`", "`REGEXP_EXTRACT(s, pattern, n)`"),
    ("`GREATEST`, `LEAST`, which skip NULL", "NULL if an argument is"),
    ("`ROUND(-1.5)` is -1", "-2: half away from zero"),
    ("`a[-1]`, the last element", "`ARRAY_LAST(a)`"),
    ("`UNIX_TIMESTAMP(t)`, in milliseconds", "`EPOCH_MILLIS(t)`; UNIX_TIMESTAMP returns seconds"),
    (
        "`CAST(t AS STRING)` of a TIMESTAMP, `2026-01-01T12:00:00.000`",
        "`2026-01-01T12:00:00Z`; write `FORMAT_TIMESTAMP(t, 'yyyy-MM-dd''T''HH:mm:ss.SSS')`",
    ),
    (
        "`a = b` is FALSE if one is NULL",
        "NULL, which WHERE leaves out as well; `a IS NOT DISTINCT FROM b` is never NULL",
    ),
    ("`CONCAT(a, b)`, which skips NULL", "NULL if an argument is, so write `CONCAT_WS('', a, b)`"),
    ("`TRIM(s)`, of all white space", "of spaces; `REGEXP_REPLACE(s, '^\\s+\\|\\s+$', '')`"),
    ("`TO_JSON_STRING(NULL)` is `null`", "NULL"),
    ("`REDUCE` of a NULL array is the start", "NULL"),
    (
        "a row whose key of GROUP BY is NULL is left out",
        "a group of its own; write `WHERE k IS NOT NULL`",
    ),
)
"""What has the same name and another meaning."""
