"""RisingWave, Materialize and PostgreSQL and this language, for `docs/coming_from.md`: a table has its heads and its rows."""

from __future__ import annotations

from typing import Final

COUNTERPARTS: Final = (
    ("RisingWave, Materialize", "fsql"),
    (
        "`CREATE SOURCE`, `CREATE SINK`, `FORMAT … ENCODE …`, `INCLUDE timestamp AS ts`",
        "[the same](language.md#names-of-risingwave) with the connectors of fsql",
    ),
    (
        "`NUMERIC` without digits",
        "`DECIMAL(10, 0)`, as in Flink, also in `x::numeric`: write the digits, `NUMERIC(18, 4)` (W206)",
    ),
    (
        "`CREATE TABLE t (k INT PRIMARY KEY, …)`",
        "the same, with a connector and JSON: a row replaces the row of its key",
    ),
    (
        "`CREATE MATERIALIZED VIEW`",
        "the same as `CREATE VIEW`; a table with `INSERT INTO … SELECT` stores the result",
    ),
    ("`TUMBLE(t, at, INTERVAL '1 minute')`, `HOP`", "the same"),
    (
        "`EMIT ON WINDOW CLOSE`",
        "the same as `EMIT FINAL`, which is the default of windows; of a query without windows, such as one with `LAG(x) OVER (PARTITION BY k ORDER BY at)`, each row is released once, as soon as it is final",
    ),
    (
        "an aggregate without GROUP BY over no rows: one row, with `COUNT(*)` 0",
        "no row, until the first one comes and after the last one is removed; as a [value](language.md#subqueries-as-values), `(SELECT COUNT(*) FROM t)` is 0",
    ),
    (
        "`WITH c AS CHANGELOG FROM t`",
        "[the same](language.md#to_changelog), without `_changelog_row_id`; updates are those of the key of t",
    ),
    (
        "temporal filter, `WHERE at > NOW() - INTERVAL '1 hour'`, `mz_now()`",
        "`NOW()` is the [time of the row](language.md#the-time-of-a-row), and a row is not removed as it grows old (W304): use HOP windows, or [OVER](language.md#over) with `RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW`",
    ),
    ("`SUBSCRIBE`, `SELECT` from a view", "a bare SELECT at the end of the script"),
    (
        "JSONB",
        "another name of STRING (W209), which [takes objects and arrays](language.md#json-in-a-string) of JSON input as their text; `text::jsonb` checks that it is, as a value of JSON functions and aggregates it is not quoted, or is a string if it is not JSON; with `->`, `->>`, `#>`, `#>>`, [functions](functions/json.md), and `jsonb_array_elements`, `jsonb_each`, `jsonb_object_keys` in [FROM](language.md#arrays-unnest-and-lateral)",
    ),
    (
        "`TO_TIMESTAMP(s, 'YYYY-MM-DD HH24:MI:SS')`, `TO_CHAR(at, 'yyyy-mm-dd')`",
        "[the same](functions/times.md); a pattern that is not surely of PostgreSQL or of Java is refused",
    ),
    (
        "`TO_TIMESTAMP(seconds)`, `DATE_TRUNC('day', t, zone)`, `ENCODE(x, 'hex')`, `DECODE(s, 'base64')`, `(REGEXP_MATCH(s, p))[1]`",
        "the same; patterns, forms and zones are constants",
    ),
    (
        "`'no. ' \\|\\| 7`, `a \\|\\| 3` of an array, `CONCAT(1, 'a')`",
        "[the same](language.md#expressions), but NULL if an operand is NULL: a NULL array is not an empty one, and CONCAT does not skip NULL (`CONCAT_WS` does)",
    ),
    ("`d + 7` of a DATE, `'1 hour'::interval`", "the same"),
    (
        "`DISTINCT ON (…)`, `x::type`, `FILTER`, `LATERAL`, `generate_series` in FROM (of times with a constant step, not by months), `(a, b) < (c, d)`",
        "the same",
    ),
    (
        "temporal join, `FOR SYSTEM_TIME AS OF PROCTIME()`",
        "[the same](language.md#temporal-joins), with a table at rest that has a PRIMARY KEY",
    ),
    (
        "`ASOF JOIN`, `LEFT ASOF JOIN … MATCH_CONDITION (…)` of Feldera",
        "[the same](language.md#asof-joins), by event time",
    ),
    (
        "`SELECT COUNT(*)` over an empty table is 0",
        "no row comes before that of the first row; in a subquery as a value it is 0",
    ),
    (
        "joins without an equality, dynamic filters",
        "[the same](language.md#joins-without-an-equality), by one worker",
    ),
    (
        "`ORDER BY` without LIMIT",
        "of a view no effect (W203); of a result [the same](language.md#ranks-top-n-and-deduplication), once the input has ended; by event time first, also of input without an end",
    ),
)
"""What each form is here."""

DIFFERENCES: Final = (
    ("", "fsql", "PostgreSQL, RisingWave"),
    (
        "`s::bytea` of a column",
        "its UTF-8; a literal `'\\x00ff'::bytea` is the same in both",
        "reads `\\x00ff` as hexadecimal, other backslashes as octal",
    ),
    ("`x::int` of a DOUBLE or DECIMAL", "truncates; write `ROUND(x)::int`", "rounds"),
    (
        "`EXTRACT(SECOND FROM t)`, `EXTRACT(EPOCH FROM t)`, `DATE_PART`",
        "whole numbers; write `EPOCH_MICROS(t) / 1e6`",
        "with the fraction",
    ),
    ("`GREATEST(a, b)`, `LEAST(a, b)`", "NULL if an argument is", "of those that are not NULL"),
    ("`CONCAT(a, b)`", "NULL if an argument is; write `CONCAT_WS('', a, b)`", "skips NULL"),
    ("`REGEXP_REPLACE(s, p, r)`", "replaces all matches, as with the flag `'g'`", "the first"),
    (
        "`FIRST_VALUE(x)`, `LAST_VALUE(x)`",
        "skip NULL; write `LAST_VALUE(x) RESPECT NULLS`",
        "NULL counts as a value",
    ),
    (
        "`REGEXP_MATCHES(s, p)`",
        "BOOLEAN: whether it matches; write `REGEXP_MATCH` or `REGEXP_EXTRACT_ALL`",
        "the groups of the matches, as rows",
    ),
    (
        "`SHA256(x)`",
        "a text in hexadecimal digits; `ENCODE(SHA256(x), 'hex')` is the same in both",
        "octets",
    ),
    ("`t AT TIME ZONE zone` of a local time that occurs twice", "the first of them", "the second"),
    ("`ROUND(x)` of a DOUBLE", "half away from zero", "half to even"),
    ("`LOG(x)`", "refused: write `LOG10(x)` or `LN(x)`", "LOG10"),
)
"""What has the same name and another meaning."""
