"""Columns inferred from samples of files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsql.compiler.sqltypes import BIGINT, BOOLEAN, DATE, DOUBLE, NULL, STRING, TIMESTAMP
from fsql.connectors.settings import settings_of
from fsql.formats.factories import infer_line_columns
from fsql.formats.inferred_types import NotInferredError, common_type, declared_type

if TYPE_CHECKING:
    from fsql.formats.settings import Settings


def settings(format_name: str, **options: str) -> Settings:
    given = {"connector": "file", "path": "x", "format": format_name, **options}
    return settings_of(tuple(given.items()))


def columns(format_name: str, *samples: str, **options: str) -> str:
    """Return the columns of files with these contents, and the options that they show."""
    encoded = [sample.encode("utf-8", "surrogateescape") for sample in samples]
    schema, shown = infer_line_columns(encoded, settings(format_name, **options))
    return ", ".join([*map(str, schema), *(f"{key} {value!r}" for key, value in shown)])


@pytest.mark.parametrize(
    ("values", "sql_type"),
    [
        ("1 -9223372036854775808 null", "BIGINT"),
        ("9223372036854775808", "DECIMAL(38, 0)"),
        ("1 9223372036854775808", "DECIMAL(38, 0)"),
        ("1e3", "DOUBLE"),
        ("1 2.5 9223372036854775808", "DOUBLE"),
        ("123456789012345678901234567890123456789", "DOUBLE"),
        ("true null", "BOOLEAN"),
        ('"2026-01-31"', "DATE"),
        ('"2026-02-31"', "STRING"),
        ('"2026-01-31T10:00:00Z" "2026-01-31T10:00:00.123456789+01:00"', "TIMESTAMP"),
        ('"2026-01-31" "2026-01-31T10:00:00Z"', "STRING"),
        ('"2026-01-31" "soon"', "STRING"),
        ('"" null', "STRING"),
        ("null", "STRING"),
        ("[] [1,null] [2.5]", "ARRAY<DOUBLE>"),
        ("[] null", "ARRAY<STRING>"),
        ("{} null", "MAP<STRING, STRING>"),
        ('{} {"a":1} {"b":[{"c":null}],"a":null}', "ROW<a BIGINT, b ARRAY<ROW<c STRING>>>"),
        ('{"odd name":1}', 'ROW<"odd name" BIGINT>'),
    ],
)
def test_types_of_json_values(values: str, sql_type: str) -> None:
    lines = "".join(f'{{"x": {value}}}\n' for value in values.split(" ") if " name" not in values)
    if not lines:
        lines = f'{{"x": {values}}}\n'
    assert columns("json", lines) == f"x {sql_type}"


def test_fields_of_all_files_in_order_of_appearance() -> None:
    assert columns("json", '{"b": 1}\n\n{"a": 1, "b": 2}\n', '{"c": 1.5, "b": 2.5}') == (
        "b DOUBLE, a BIGINT, c DOUBLE"
    )


def test_malformed_records_are_left_out() -> None:
    assert columns("json", '{"a": 1}\n{"a": "x"\n[1]\n{"a": 1, "a": "y"}\n\udcff\n') == "a BIGINT"


@pytest.mark.parametrize(
    ("sample", "reason"),
    [
        ("", "it has no JSON object with a field"),
        ("[1]\n{}\n", "it has no JSON object with a field"),
        ('{"a": 1}\n{"a": "x"}\n', 'field "a" is STRING in line 2, and BIGINT before'),
        ('{"a": [1, "x"]}\n', 'field "a" has an array of values of several types in line 1'),
        (
            '{"a": [{"b": [true, 1]}]}',
            'field "a" has an array of values of several types in line 1',
        ),
        (
            '{"a": {"b": 1}}\n{"a": {"b": true}}\n',
            'field "a" is ROW<b BOOLEAN> in line 2, and ROW<b BIGINT> before',
        ),
        (
            '{"a": {"b": 1}}\n{"a": [1]}',
            'field "a" is ARRAY<BIGINT> in line 2, and ROW<b BIGINT> before',
        ),
    ],
)
def test_json_without_a_common_type(sample: str, reason: str) -> None:
    with pytest.raises(NotInferredError) as raised:
        columns("json", sample)
    assert str(raised.value) == reason


@pytest.mark.parametrize(
    ("sample", "options", "expected"),
    [
        ("a,b\n1,x\n", {}, "a BIGINT, b STRING"),
        ("a,b\r\n1,2.5\r\n-3,4\r\n", {}, "a BIGINT, b DOUBLE"),
        ("a\n007\n", {}, "a STRING"),
        ("a,b,c,d\n.5,-.5,5.,007.5\n", {}, "a DOUBLE, b DOUBLE, c DOUBLE, d STRING"),
        ("a,b,c\nyes,inf,.x\n", {}, "a STRING, b STRING, c STRING"),
        ("a\n0\n-1\n", {}, "a BIGINT"),
        ("a\n1\nx\n", {}, "a STRING"),
        ("a,b\n,\n", {}, "a STRING, b STRING"),
        ('a,b\n"",\n', {}, "a STRING, b STRING"),
        ("a,b\n1,\n2,3\n", {}, "a BIGINT, b BIGINT"),
        ("a,b\n1,NA\n2,3\n", {"null": "NA"}, "a BIGINT, b BIGINT"),
        ("a\nTRUE\nfalse\n", {}, "a BOOLEAN"),
        ("a,b\n2026-01-31,2026-01-31 10:00:00\n", {}, "a DATE, b TIMESTAMP"),
        ("a\n1e3\n", {}, "a DOUBLE"),
        ("a\nNaN\n", {}, "a STRING"),
        ('a,b\n"x\ny",1\nz,2\n', {}, "a STRING, b BIGINT"),
        ("a,b\n1,2,3\n4\n5,true\n", {}, "a BIGINT, b BOOLEAN"),
        ("1;x\n2;y\n", {"header": "false", "delimiter": ";"}, "column1 BIGINT, column2 STRING"),
        ("a,b\n", {}, "a STRING, b STRING"),
        ("a;b\n1,5;x\n2;y\n", {}, "a STRING, b STRING, delimiter ';'"),
        ("a;b\n1;x\n2;y\n", {"delimiter": ","}, "a;b STRING"),
        ("a\tb\n1\tx, y\n", {}, "a BIGINT, b STRING, delimiter '\\t'"),
        ('a|b\n1|"x|y"\n', {}, "a BIGINT, b STRING, delimiter '|'"),
        ("a|b\n1|x\n", {"quote": "|"}, "a|b STRING"),
        ("a;b\n1;x\n", {"null": "n;a"}, "a;b STRING"),
        ("1;x\n2;y\n", {"header": "false"}, "column1 BIGINT, column2 STRING, delimiter ';'"),
        ("a;b\n1;x\n2\n", {}, "a;b STRING"),
        ("a,b;c\n1,x\n2,y\n", {}, "a BIGINT, b;c STRING"),
        ("a;b,c\n1,5;2,5\n", {}, "a STRING, b,c STRING, delimiter ';'"),
    ],
)
def test_columns_of_csv(sample: str, options: dict[str, str], expected: str) -> None:
    assert columns("csv", sample, **options) == expected


@pytest.mark.parametrize(
    ("sample", "reason"),
    [("", "it has no record"), ("a,,b\n1,2,3\n", "column 2 of its header has no name")],
)
def test_csv_without_columns(sample: str, reason: str) -> None:
    with pytest.raises(NotInferredError) as raised:
        columns("csv", sample)
    assert str(raised.value) == reason


def test_a_quote_that_is_never_closed_hides_a_hundred_lines_at_most() -> None:
    lines = "".join(f"{number}\n" for number in range(200))
    assert columns("csv", f'a\n"x\n{lines}') == "a BIGINT"


def test_the_column_of_text() -> None:
    assert columns("text", "a\nb\n") == "line STRING"


def test_common_types_do_not_depend_on_the_order() -> None:
    types = (NULL, BIGINT, DOUBLE, BOOLEAN, STRING, DATE, TIMESTAMP)
    for one in types:
        assert common_type(one, one) == one
        for other in types:
            assert common_type(one, other) == common_type(other, one)
    assert declared_type(NULL) == STRING
