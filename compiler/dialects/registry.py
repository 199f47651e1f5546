"""The table of forms: a row for each form of another system that is written in other words here.

    CALLS        calls of functions                 f(a)                 a function of a FunctionCall
    RELATIONS    calls in FROM                      FROM f(a)            a function of a TableFunction
    ITEMS        calls that give several rows       SELECT f(a)          a function of a Select
    WINDOWS      windows as values                  SELECT TUMBLE(size)  a function of a Script
    OPTIONS      options of tables                  WITH ('a' = 'b')     a function of a CreateTable
    GRAMMAR      rules of the grammar               FROM t WINDOW …      a function of what the rule has

A function of a row is named by its module and its name, and imported where its form occurs.  It returns None
for a call that is one of this language.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fsql.compiler import syntax

FLINK: Final = "Flink"
ARROYO: Final = "Arroyo"
KSQLDB: Final = "ksqlDB"
RISINGWAVE: Final = "RisingWave"
POSTGRES: Final = "PostgreSQL"
SPARK: Final = "Spark"
SNOWFLAKE: Final = "Snowflake"
BIGQUERY: Final = "BigQuery"
DUCKDB: Final = "DuckDB"


class Form(NamedTuple):
    """A form of another system, what it becomes, and the function that does it.

    `written` and `standard` are examples; a test holds that both mean the same.  A form that is not
    `scalar` takes the clauses of aggregates.
    """

    system: str
    written: str
    standard: str
    function: str
    scalar: bool = True

    @property
    def name(self) -> str:
        """Return the name that is called."""
        return self.written.partition("(")[0]

    def load(self) -> Callable[..., syntax.Syntax | None]:
        """Return the function, whose module is imported with the first one."""
        return _loaded(self.function)


def _loaded(function: str) -> Callable[..., Any]:
    module, _, name = function.rpartition(".")
    loaded: Callable[..., Any] = getattr(import_module(f"fsql.compiler.dialects.{module}"), name)
    return loaded


_KSQLDB: Final = "ksqldb.calls.standard_call"
_TIMES: Final = "ksqldb.times.standard_call"
_WAREHOUSES: Final = "warehouses.calls.standard_call"
_RENAMED: Final = "aggregates.renamed"
_COUNTED: Final = "aggregates.counted_values"
_SOME: Final = "ksqldb.aggregates.some_values"

_CALLS: Final = (
    Form(KSQLDB, "AS_VALUE(k)", "k", _KSQLDB),
    Form(
        KSQLDB,
        "ENTRIES(m, TRUE)",
        "TRANSFORM(MAP_ENTRIES(m), e -> STRUCT(K := (e).key, V := (e).value))",
        _KSQLDB,
    ),
    Form(KSQLDB, "ARRAY_SORT(a, 'DESC')", "ARRAY_SORT(a, FALSE, FALSE)", _KSQLDB),
    Form(KSQLDB, "IS_JSON_STRING(j)", "COALESCE(JSON_VALID(j), FALSE)", _KSQLDB),
    Form(KSQLDB, "FROM_DAYS(n)", "DATE_FROM_UNIX_DATE(n)", _KSQLDB),
    Form(KSQLDB, "FROM_BYTES(b, 'base64')", "TO_BASE64(b)", _KSQLDB),
    Form(KSQLDB, "ENCODE(s, 'utf8', 'hex')", "LOWER(HEX(TO_BYTES(s, 'utf8')))", _KSQLDB),
    Form(KSQLDB, "TIMESTAMPTOSTRING(n, p)", "DATE_FORMAT(TIMESTAMP_MILLIS(n), p)", _TIMES),
    Form(KSQLDB, "DATETOSTRING(n, p)", "DATE_FORMAT(DATE_FROM_UNIX_DATE(n), p)", _TIMES),
    Form(KSQLDB, "STRINGTOTIMESTAMP(s, p)", "EPOCH_MILLIS(TO_TIMESTAMP(s, p))", _TIMES),
    Form(KSQLDB, "STRINGTODATE(s, p)", "UNIX_DATE(TO_DATE(s, p))", _TIMES),
    Form(
        KSQLDB,
        "FORMAT_TIMESTAMP(t, p, 'Asia/Tokyo')",
        "DATE_FORMAT(t AT TIME ZONE 'UTC' AT TIME ZONE 'Asia/Tokyo', p)",
        _TIMES,
    ),
    Form(
        KSQLDB,
        "PARSE_TIMESTAMP(s, p, 'Asia/Tokyo')",
        "TO_TIMESTAMP(s, p) AT TIME ZONE 'Asia/Tokyo' AT TIME ZONE 'UTC'",
        _TIMES,
    ),
    Form(KSQLDB, "TIMESTAMPSUB(DAYS, n, t)", "TIMESTAMPADD(DAYS, -n, t)", _TIMES),
    Form(KSQLDB, "DATESUB(DAYS, n, t)", "TIMESTAMPADD(DAYS, -n, t)", _TIMES),
    Form(KSQLDB, "TIMEADD(MINUTES, n, t)", "t + INTERVAL '1' MINUTE * n", _TIMES),
    Form(KSQLDB, "TIMESUB(MINUTES, n, t)", "t - INTERVAL '1' MINUTE * n", _TIMES),
    Form(
        KSQLDB,
        "TOPK(x, 3)",
        "ARRAY_SLICE(ARRAY_AGG(x ORDER BY x DESC) IGNORE NULLS, 1, 3)",
        _SOME,
        scalar=False,
    ),
    Form(
        KSQLDB,
        "TOPKDISTINCT(x, 3)",
        "ARRAY_SLICE(ARRAY_AGG(DISTINCT x ORDER BY x DESC) IGNORE NULLS, 1, 3)",
        _SOME,
        scalar=False,
    ),
    Form(
        KSQLDB,
        "EARLIEST_BY_OFFSET(x, FALSE)",
        "FIRST_VALUE(x) RESPECT NULLS",
        _SOME,
        scalar=False,
    ),
    Form(
        KSQLDB,
        "LATEST_BY_OFFSET(x, 3)",
        "ARRAY_SLICE(ARRAY_AGG(x) IGNORE NULLS, -3)",
        _SOME,
        scalar=False,
    ),
    Form(KSQLDB, "SUM_LIST(x)", "SUM(ARRAY_SUM(x))", "aggregates.sum_of_arrays", scalar=False),
    Form(KSQLDB, "COLLECT_SET(x)", "ARRAY_AGG(DISTINCT x)", _RENAMED, scalar=False),
    Form(
        KSQLDB,
        "HISTOGRAM(x)",
        "ARRAY_HISTOGRAM(ARRAY_AGG(x ORDER BY x) IGNORE NULLS)",
        _COUNTED,
        scalar=False,
    ),
    Form(
        FLINK,
        "COLLECT(x)",
        "ARRAY_HISTOGRAM(ARRAY_AGG(x ORDER BY x) IGNORE NULLS)",
        _COUNTED,
        scalar=False,
    ),
    Form(POSTGRES, "JSONB_AGG(x)", "JSON_AGG(x)", _RENAMED, scalar=False),
    Form(POSTGRES, "JSONB_OBJECT_AGG(k, x)", "JSON_OBJECT_AGG(k, x)", _RENAMED, scalar=False),
    Form(DUCKDB, "LIST(x)", "ARRAY_AGG(x)", _RENAMED, scalar=False),
    Form(DUCKDB, "MEAN(x)", "AVG(x)", _RENAMED, scalar=False),
    Form(SPARK, "FIRST(x)", "FIRST_VALUE(x) RESPECT NULLS", _RENAMED, scalar=False),
    Form(SPARK, "LAST(x)", "LAST_VALUE(x) RESPECT NULLS", _RENAMED, scalar=False),
    Form(SNOWFLAKE, "PARSE_JSON(s)", "CAST(s AS JSON)", _WAREHOUSES),
    Form(SNOWFLAKE, "TRY_PARSE_JSON(s)", "TRY_CAST(s AS JSON)", _WAREHOUSES),
    Form(SNOWFLAKE, "TRUNC(d, 'MONTH')", "FLOOR(d TO MONTH)", _WAREHOUSES),
    Form(BIGQUERY, "TIMESTAMP_TRUNC(t, MONTH)", "FLOOR(t TO MONTH)", _WAREHOUSES),
    Form(BIGQUERY, "DATETIME_TRUNC(t, MONTH)", "FLOOR(t TO MONTH)", _WAREHOUSES),
    Form(BIGQUERY, "DATE_TRUNC(t, MONTH)", "FLOOR(t TO MONTH)", _WAREHOUSES),
    Form(SPARK, "INSTR(s, part, 2)", "LOCATE(part, s, 2)", _WAREHOUSES),
)
CALLS: Final[Mapping[str, Form]] = {form.name: form for form in _CALLS}
"""The forms of calls by name."""

_ELEMENTS: Final = "json_elements.json_relation"
_DOCUMENTS: Final = tuple(
    Form(POSTGRES, f"{prefix}_{name}(j)", f"UNNEST({standard})", _ELEMENTS)
    for prefix in ("JSON", "JSONB")
    for name, standard in (
        ("ARRAY_ELEMENTS", "JSON_ITEMS(j)"),
        ("ARRAY_ELEMENTS_TEXT", "TRANSFORM(JSON_ITEMS(j), e -> JSON_EXTRACT_STRING(e, '$'))"),
        ("OBJECT_KEYS", "JSON_KEYS(j)"),
        ("EACH", "TRANSFORM(JSON_KEYS(j), e -> ROW(e, JSON_GET(j, e)))"),
        ("EACH_TEXT", "TRANSFORM(JSON_KEYS(j), e -> ROW(e, JSON_GET_TEXT(j, e)))"),
    )
)
RELATIONS: Final[Mapping[str, Form]] = {form.name: form for form in _DOCUMENTS}
"""The forms of calls in FROM by name."""

_EXPLODED: Final = "exploded_items.exploded"
ITEMS: Final[Mapping[str, Form]] = {
    "EXPLODE": Form(SPARK, "EXPLODE(a)", "CROSS JOIN UNNEST(a)", _EXPLODED),
    "UNNEST": Form(POSTGRES, "UNNEST(a)", "CROSS JOIN UNNEST(a)", _EXPLODED),
    **{
        name: form._replace(function=_EXPLODED, standard=f"CROSS JOIN {form.standard}")
        for name, form in RELATIONS.items()
        if "ARRAY_ELEMENTS" in name
    },
}
"""The forms of calls in the items of SELECT that give a row for each element, by name."""


WINDOWS: Final = Form(
    ARROYO,
    "SELECT TUMBLE(INTERVAL '1' HOUR) AS w, COUNT(*) FROM t GROUP BY w",
    "SELECT window_start, window_end, COUNT(*) FROM t GROUP BY TUMBLE(at, INTERVAL '1' HOUR)",
    "arroyo.window_values.with_window_values",
)
"""Windows as values: calls of these functions whose arguments are all literals."""
WINDOW_FUNCTIONS: Final = frozenset({"TUMBLE", "HOP", "SESSION"})


class OptionForms(NamedTuple):
    """Options of another system, and the function that gives a table the options of this language.

    They are known by a name in `names`, by a sign in a name, or by a value in `values`; those `of_sinks` are
    all options of CREATE SINK.
    """

    system: str
    function: str
    names: frozenset[str] = frozenset()
    signs: str = ""
    values: frozenset[tuple[str, str]] = frozenset()
    of_sinks: bool = False

    def applies(self, table: syntax.CreateTable) -> bool:
        """Return whether a table has such an option."""
        return (self.of_sinks and table.sink) or any(
            key in self.names
            or (key, value) in self.values
            or any(sign in key for sign in self.signs)
            for key, value in (
                (each.key.value.lower(), each.value.value.lower()) for each in table.options
            )
        )

    def load(self) -> Callable[..., syntax.CreateTable]:
        """Return the function, whose module is imported with the first one."""
        return _loaded(self.function)


OPTIONS: Final = (
    OptionForms(RISINGWAVE, "risingwave.sink_options.with_sink_options", of_sinks=True),
    OptionForms(
        KSQLDB,
        "ksqldb.time_column.with_time_column",
        frozenset({"timestamp", "timestamp_format"}),
    ),
    OptionForms(
        KSQLDB,
        "ksqldb.topic_options.with_topic_options",
        frozenset({
            "kafka_topic", "value_format", "key_format", "value_delimiter", "key_delimiter",
            "wrap_single_value", "partitions", "replicas", "retention_ms", "cleanup_policy",
        }),
    ),
    OptionForms(
        FLINK,
        "flink.options.with_flink_options",
        signs="-.",
        values=frozenset({
            ("connector", "filesystem"), ("connector", "print"), ("connector", "upsert-kafka"),
            ("format", "raw"), ("delimiter", "\\t"),
        }),
    ),
)  # fmt: skip
"""The options, in the order in which they are translated."""


class GrammarForm(NamedTuple):
    """A form that has a rule of the grammar: its rules are built by functions of their names in a module."""

    system: str
    written: str
    standard: str
    module: str
    rules: tuple[str, ...]


_GRAMMAR: Final = (
    GrammarForm(
        KSQLDB,
        "SELECT COUNT(*) FROM t WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY k",
        "SELECT COUNT(*) FROM t GROUP BY k, TUMBLE(at, INTERVAL '1' HOUR)",
        "ksqldb.windows",
        ("stream_window", "window_term", "window_word"),
    ),
    GrammarForm(
        KSQLDB,
        "SELECT * FROM a JOIN b WITHIN 1 HOUR ON a.k = b.k",
        "SELECT * FROM a JOIN b ON a.k = b.k"
        " AND b.at BETWEEN a.at - INTERVAL '1' HOUR AND a.at + INTERVAL '1' HOUR",
        "ksqldb.windows",
        ("join_within", "within_range"),
    ),
    GrammarForm(
        RISINGWAVE,
        "CREATE SINK s FROM t WITH (connector = 'file')",
        "CREATE TABLE s WITH (connector = 'file') AS SELECT * FROM t",
        "risingwave.sinks",
        ("create_sink", "sink_into", "sink_relation", "sink_with"),
    ),
    GrammarForm(
        RISINGWAVE,
        "WITH c AS CHANGELOG FROM t SELECT * FROM c",
        "SELECT * FROM TO_CHANGELOG(TABLE t, op_mapping => MAP['INSERT', '1', 'DELETE', '2', …])",
        "risingwave.changelogs",
        ("common_changelog",),
    ),
    GrammarForm(
        RISINGWAVE,
        "CREATE SOURCE t (a INT) WITH (connector = 'file') FORMAT PLAIN ENCODE JSON",
        "CREATE TABLE t (a INT) WITH (connector = 'file', format = 'json')",
        "risingwave.sources",
        ("encoding_clause",),
    ),
    GrammarForm(
        RISINGWAVE,
        "CREATE SOURCE t (a INT) INCLUDE offset AS o WITH (connector = 'kafka')",
        "CREATE TABLE t (a INT, o BIGINT METADATA FROM 'offset' VIRTUAL) WITH (connector = 'kafka')",
        "risingwave.sources",
        ("included_column",),
    ),
    GrammarForm(
        SNOWFLAKE,
        "SELECT * FROM a ASOF JOIN b MATCH_CONDITION (a.at >= b.at) ON a.k = b.k",
        "SELECT * FROM a ASOF LEFT JOIN b ON a.at >= b.at AND a.k = b.k",
        "warehouses.joins",
        ("matched_join",),
    ),
    GrammarForm(
        SPARK,
        "SELECT * FROM t LATERAL VIEW EXPLODE(a) u AS x",
        "SELECT * FROM t CROSS JOIN UNNEST(a) AS u(x)",
        "warehouses.joins",
        ("lateral_view", "view_columns"),
    ),
)


class Rule(NamedTuple):
    """A rule of the grammar for a form of another system."""

    form: GrammarForm
    name: str

    def load(self) -> Callable[..., object]:
        """Return the function of the rule, whose module is imported with the first one."""
        return _loaded(f"{self.form.module}.{self.name}")


GRAMMAR: Final[Mapping[str, Rule]] = {
    name: Rule(form, name) for form in _GRAMMAR for name in form.rules
}
"""The rules by name."""
