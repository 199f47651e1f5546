"""Options of tables as Flink names them have the names of fsql after binding."""

from __future__ import annotations

import pytest

from fsql.compiler.pipeline import compile_script
from fsql.compiler.text.source import SourceText
from fsql.connectors.declared import DECLARED


def options_of(declared: str) -> dict[str, str]:
    script = f"{declared}; SELECT * FROM t;"
    [table] = compile_script(SourceText("t.sql", script), DECLARED).logical.tables
    return dict(table.options)


@pytest.mark.parametrize(
    ("written", "options"),
    [
        (
            (
                "'connector' = 'filesystem', 'path' = 'file:///d/a.csv', 'format' = 'csv',"
                " 'csv.field-delimiter' = '\\t', 'csv.null-literal' = 'n/a'"
            ),
            {
                "connector": "file",
                "path": "/d/a.csv",
                "format": "csv",
                "delimiter": "\t",
                "null": "n/a",
                "header": "false",
            },
        ),
        (
            (
                "'connector' = 'filesystem', 'path' = 'file:/d/a', 'format' = 'csv', 'header' = 'true',"
                " 'csv.ignore-parse-errors' = 'true'"
            ),
            {
                "connector": "file",
                "path": "/d/a",
                "format": "csv",
                "header": "true",
                "on_error": "null_field",
            },
        ),
        (
            "'connector' = 'file', 'path' = 'file:/d/a', 'json.ignore-parse-errors' = 'false'",
            {"connector": "file", "path": "file:/d/a"},
        ),
        (
            (
                "'connector' = 'datagen', 'rows-per-second' = '5', 'fields.n.kind' = 'sequence',"
                " 'fields.n.start' = '3', 'fields.n.end' = '7', 'fields.n.null-rate' = '0.5'"
            ),
            {
                "connector": "datagen",
                "rate": "5",
                "fields.n.kind": "sequence",
                "fields.n.start": "3",
                "fields.n.null_rate": "0.5",
                "count": "5",
            },
        ),
        (
            (
                "'connector' = 'datagen', 'number-of-rows' = '4', 'fields.n.start' = '1',"
                " 'fields.n.step' = '10', 'fields.n.end' = '25'"
            ),
            {
                "connector": "datagen",
                "count": "3",
                "fields.n.start": "1",
                "fields.n.step": "10",
            },
        ),
        (
            "'connector' = 'datagen', 'count' = '2', 'fields.n.start' = '1', 'fields.n.end' = '9'",
            {"connector": "datagen", "count": "2", "fields.n.start": "1"},
        ),
    ],
)
def test_they_are_translated(written: str, options: dict[str, str]) -> None:
    assert options_of(f"CREATE TABLE t (n BIGINT) WITH ({written})") == options


def test_like_replaces_an_option_by_whatever_name() -> None:
    base = "CREATE TABLE b (n BIGINT) WITH ('connector' = 'datagen', 'number-of-rows' = '5')"
    assert options_of(f"{base}; CREATE TABLE t WITH ('count' = '1') LIKE b") == {
        "connector": "datagen",
        "count": "1",
    }


def test_a_topic_of_kafka() -> None:
    written = (
        "'connector' = 'kafka', 'topic' = 'a', 'properties.bootstrap.servers' = 'h:1',"
        " 'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset',"
        " 'value.format' = 'json'"
    )
    assert options_of(f"CREATE TABLE t (n BIGINT) WITH ({written})") == {
        "connector": "kafka",
        "topic": "a",
        "servers": "h:1",
        "start": "earliest",
        "ends": "latest",
        "format": "json",
    }
    base = f"CREATE TABLE b (n BIGINT) WITH ({written})"
    like = "CREATE TABLE t WITH ('scan.startup.mode' = 'latest-offset') LIKE b"
    assert options_of(f"{base}; {like}")["start"] == "latest"


def test_raw_rows_are_lines_of_text() -> None:
    options = "'connector' = 'filesystem', 'path' = 'a.log', 'format' = 'raw'"
    assert options_of(f"CREATE TABLE t (line STRING) WITH ({options})") == {
        "connector": "file",
        "path": "a.log",
        "format": "text",
    }


def test_options_of_change_events() -> None:
    options = (
        "'connector' = 'filesystem', 'path' = 'a', 'format' = 'debezium-json',"
        " 'debezium-json.schema-include' = 'true', 'debezium-json.ignore-parse-errors' = 'true',"
        " 'debezium-json.map-null-key.mode' = 'FAIL'"
    )
    declared = f"CREATE TABLE t (n BIGINT, PRIMARY KEY (n) NOT ENFORCED) WITH ({options})"
    assert options_of(declared) == {
        "connector": "file",
        "path": "a",
        "format": "debezium-json",
        "on_error": "null_field",
        "old_key": "0",
    }
