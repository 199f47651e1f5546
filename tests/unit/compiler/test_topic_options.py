"""Options of ksqlDB have the names of fsql after binding."""

from __future__ import annotations

import pytest

from fsql.compiler.logical import Changes
from fsql.compiler.pipeline import compile_script
from fsql.compiler.text.source import SourceText
from fsql.connectors.declared import DECLARED


@pytest.mark.parametrize(
    ("statement", "options"),
    [
        (
            (
                "CREATE STREAM t (n BIGINT) WITH (KAFKA_TOPIC = 'a', Value_Format = 'JSON', servers = 'h:1',"
                " wrap_single_value = TRUE, key_format = 'NONE', ends = 'latest')"
            ),
            {
                "connector": "kafka",
                "topic": "a",
                "format": "json",
                "servers": "h:1",
                "ends": "latest",
                "changes": "append",
            },
        ),
        (
            (
                "CREATE TABLE t (n BIGINT, PRIMARY KEY (n) NOT ENFORCED)"
                " WITH (kafka_topic = 'a', format = 'json', properties.bootstrap.server = 'h:1')"
            ),
            {
                "connector": "kafka",
                "topic": "a",
                "format": "json",
                "servers": "h:1",
                "changes": "upsert",
            },
        ),
        (
            "CREATE STREAM t (n BIGINT) WITH (connector = 'datagen', count = 4)",
            {"connector": "datagen", "count": "4"},
        ),
        (
            (
                "CREATE STREAM t (n BIGINT) WITH (connector = 'file', path = 'a.jsonl',"
                " value_format = 'Json', partitions = 3)"
            ),
            {"connector": "file", "path": "a.jsonl", "format": "json"},
        ),
        (
            (
                "CREATE STREAM t (n BIGINT) WITH (connector = 'file', path = 'a.txt',"
                " value_format = 'DELIMITED', value_delimiter = 'TAB')"
            ),
            {
                "connector": "file",
                "path": "a.txt",
                "format": "csv",
                "header": "false",
                "delimiter": "\t",
            },
        ),
    ],
)
def test_of_a_table_that_is_read(statement: str, options: dict[str, str]) -> None:
    script = f"{statement}; SELECT * FROM t;"
    [table] = compile_script(SourceText("t.sql", script), DECLARED).logical.tables
    assert dict(table.options) == options


@pytest.mark.parametrize(
    ("statement", "changes"),
    [
        (
            "CREATE STREAM s WITH (kafka_topic = 's', servers = 'h:1') AS SELECT n FROM t",
            Changes.APPEND,
        ),
        (
            (
                "CREATE TABLE s (PRIMARY KEY (n) NOT ENFORCED) WITH (kafka_topic = 's', servers = 'h:1')"
                " AS SELECT n, COUNT(*) AS c FROM t GROUP BY n EMIT CHANGES"
            ),
            Changes.UPSERT,
        ),
        (
            (
                "CREATE TABLE s WITH (kafka_topic = 's', servers = 'h:1')"
                " AS SELECT n, COUNT(*) AS c FROM t GROUP BY n"
            ),
            Changes.UPSERT,
        ),
    ],
)
def test_of_a_table_that_is_written(statement: str, changes: Changes) -> None:
    script = f"CREATE TABLE t (n BIGINT) WITH (connector = 'datagen'); {statement};"
    [insert] = compile_script(SourceText("t.sql", script), DECLARED).logical.inserts
    assert (dict(insert.sink.options)["connector"], insert.sink.changes) == ("kafka", changes)
