"""Flink SQL and this language, for `docs/coming_from.md`: a table has its heads and its rows."""

from __future__ import annotations

from typing import Final

COUNTERPARTS: Final = (
    ("Flink", "fsql"),
    (
        "job manager, task manager",
        "coordinator, worker: processes that `fsql run --workers N` starts",
    ),
    ("`SET 'parallelism.default' = '4'`", "`fsql run --workers 4`; the result is the same"),
    ("checkpoint, savepoint", "snapshot, with `--state DIR`; the same command resumes from it"),
    ("watermark strategy, idle source", "`WATERMARK FOR`; option `'idle'`"),
    (
        "`at <= CURRENT_WATERMARK(at)`",
        "[the same](language.md#current_watermark), in a SELECT from one table; the watermark includes the row, so a replay has the same result",
    ),
    (
        "`'connector' = 'kafka'`",
        "[the same](connectors.md#connector-kafka); `servers`, `start` and `ends` are its options, and a file has the properties of the client",
    ),
    (
        "`'connector' = 'upsert-kafka'`",
        "the same: connector `kafka` with [`'changes' = 'upsert'`](language.md#change-data-as-input) and a PRIMARY KEY; `key.format` is `json` if it is missing",
    ),
    (
        "`METADATA FROM 'timestamp'`, `key.fields`, `value.fields-include` of `kafka`",
        "[the same](connectors.md#connector-kafka); metadata of formats, such as `value.source.timestamp`, is refused",
    ),
    (
        "change data",
        "a table with a PRIMARY KEY and [`'changes' = 'upsert'`](language.md#change-data-as-input), or `'changes' = 'retract'`: [with a key](language.md#change-data-as-input) that updates may change, or [without one](language.md#changes-without-a-key)",
    ),
    (
        "`'format' = 'canal-json'`, `'maxwell-json'`",
        "`'format' = 'json'` with the fields of the events, and [`FROM_CHANGELOG`](language.md#from_changelog) over a view of them: `op_mapping => MAP['insert', 'INSERT', 'update', 'UPDATE_AFTER', 'delete', 'DELETE']`",
    ),
    (
        "`'format' = 'debezium-json'`",
        "[the same](connectors.md#format-debezium-json); without a PRIMARY KEY events need the whole old row in `before`. Where Flink keeps `__debezium_unavailable_value`, the value of the row before is kept; events with a schema are read by it, others by `'timestamp_unit'` and `'time_unit'`",
    ),
    (
        "`'connector' = 'filesystem'`, `'print'`, `'datagen'`, `'blackhole'`",
        "[the same](language.md#names-of-flink) with Flink's options; a table is written to one file",
    ),
    (
        "`'format' = 'avro'`",
        "[the same](connectors.md#format-avro), without a schema registry; TIMESTAMP has microseconds",
    ),
    (
        "`LATERAL (SELECT … WHERE x.k = t.k ORDER BY … LIMIT n)`, with aggregates, groups or DISTINCT",
        "[the same](language.md#lateral-over-a-table)",
    ),
    (
        "`SESSION`, session windows in GROUP BY",
        "[the same sessions](language.md#windows-tumble-hop-and-cumulate): a row exactly a gap after the last one still belongs to them. They close later: when the watermark has passed their end, so that such a row is never late. Flink closes them when it is a millisecond before their end, and a row that comes then begins another session",
    ),
    (
        "interval joins",
        "[the same](language.md#interval-joins): both bounds of BETWEEN are included. Rows that come when nothing can be joined with them any more are counted, and written to `'late_path'`",
    ),
    (
        "temporal joins, event time; versioned views; versions from `upsert-kafka` or Debezium",
        "[`FOR SYSTEM_TIME AS OF o.at`](language.md#temporal-joins); late rows of both sides are counted",
    ),
    (
        "lookup joins",
        "[the same](language.md#temporal-joins), with a table at rest, which is read before all else",
    ),
    (
        "`JOIN LATERAL SNAPSHOT(…)`",
        "[the same](language.md#lateral-snapshot-joins), without a phase that loads the table first: the order of the input says which rows come before; `load_completed_time` and `state_ttl` are refused",
    ),
    (
        "`MATCH_RECOGNIZE`",
        "[the same](language.md#match_recognize), with PREV and reluctant quantifiers anywhere; a greedy quantifier may be the last",
    ),
    (
        "processing time",
        "[the time of the row](language.md#the-time-of-a-row): `proc AS PROCTIME()`, windows and joins by it; a replay has the same result",
    ),
    ("user functions", "[functions in Python](language.md#functions-in-python)"),
    (
        "`j STRING` for a nested object or array of JSON",
        "[the same](language.md#json-in-a-string): its compact text; a number or a boolean is as it is written",
    ),
    (
        "`JSON_QUERY(j, 'lax $.a[*].b' WITH WRAPPER)`, `JSON_VALUE(… DEFAULT 0 ON EMPTY ERROR ON ERROR)`, `JSON_QUERY(… RETURNING ARRAY<STRING>)`",
        "[the same](functions/json.md#json_query), also with `strict $.a`; without filters in paths",
    ),
    (
        "`ORDER BY` a time attribute",
        "[the same](language.md#ranks-top-n-and-deduplication), ascending, also with other columns after it",
    ),
    ("`SELECT` in the SQL client", "a bare SELECT at the end of the script; a table on a terminal"),
    (
        "`TIMESTAMP_LTZ`, `SET 'table.local-time-zone'`",
        "[the same](language.md#timestamp_ltz-and-time-zones), one zone for a script; bounds of windows over TIMESTAMP_LTZ are TIMESTAMP_LTZ too",
    ),
    (
        "`FROM_CHANGELOG`, `TO_CHANGELOG`",
        "[the same](language.md#from_changelog), without `uid` and `on_time`; the columns of PARTITION BY are the key, also where UPDATE_BEFORE is mapped, which removes the row of its key if that equals it in all columns but the event time. The columns of FROM_CHANGELOG are in the order of its input; in Flink those of PARTITION BY come first. In TO_CHANGELOG with PARTITION BY, a table that is read as upserts has whole rows, with UPDATE_BEFORE and all columns of a deleted row unless `produces_full_deletes => FALSE`; in Flink it then has only what is written: no UPDATE_BEFORE, and deletions by key. Without PARTITION BY a row that is removed has to be there (E526)",
    ),
    ("`NOW()`, `CURRENT_TIMESTAMP`", "the time of the row, not of the clock when it is computed"),
    (
        "`SET 'table.exec.state.ttl' = '1 d'`",
        "[the same](language.md#state-with-a-time-to-live) for groups, DISTINCT and joins, by the time of rows and not by the clock; rows without a match in outer joins come when the time has passed; ranks and OVER are refused",
    ),
    (
        "`PARTITIONED BY (day)` of files",
        "[the same](language.md#partition-columns) where they are read; writing folders is refused",
    ),
    (
        "`INSERT OVERWRITE t`, `INSERT INTO t … ON CONFLICT DO NOTHING`",
        "[the same](language.md#scripts); an unbounded query can overwrite, too",
    ),
    (
        "`/*+ OPTIONS(…) */`, `/*+ STATE_TTL(…) */`",
        "[the same](language.md#hints); STATE_TTL names all tables of FROM. Hints about joins have no effect, except SKEW, which names a relation, a column and values: `/*+ SKEW('t', 'k', 'a') */`",
    ),
)
"""What each form is here."""
