"""Columns inferred from samples of files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsql.compiler.sqltypes import BOOLEAN, DATE, NULL, STRING, TIMESTAMP
from fsql.connectors.settings import settings_of
from fsql.formats.factories import infer_line_columns
from fsql.formats.inferred_types import NotInferredError, Seen, common, declared_type, number_seen

if TYPE_CHECKING:
    from fsql.formats.settings import Settings


def settings(format_name: str, **options: str) -> Settings:
    given = {"connector": "file", "path": "x", "format": format_name, **options}
    return settings_of(tuple(given.items()))


def columns(format_name: str, *samples: str, **options: str) -> str:
    """Return the columns of files with these contents, and the options that they show."""
    encoded = [sample.encode("utf-8", "surrogateescape") for sample in samples]
    schema, shown, _ = infer_line_columns(encoded, settings(format_name, **options))
    return ", ".join([*map(str, schema), *(f"{key} {value!r}" for key, value in shown)])


@pytest.mark.parametrize(
    ("values", "sql_type"),
    [
        ("1 -9223372036854775808 null", "BIGINT"),
        ("9223372036854775808", "DECIMAL(38, 0)"),
        ("1 9223372036854775808", "DECIMAL(38, 0)"),
        ("1e3", "DOUBLE"),
        ("1 2.5 9223372036854775808", "DECIMAL(38, 1)"),
        ("9007199254740993 1e3 0.1", "DECIMAL(38, 1)"),
        ("9007199254740992 1e3 0.1", "DOUBLE"),
        ("9223372036854775807 0.25", "DECIMAL(38, 2)"),
        ("0.1234567890123456789", "DECIMAL(38, 19)"),
        ("1e-7 9007199254740993", "DECIMAL(38, 7)"),
        ("-0.0 1e308", "DOUBLE"),
        ("123456789012345678901234567890123456789", "STRING"),
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


@pytest.mark.parametrize("sample", ["", "[1]\n{}\n"])
def test_json_without_a_field(sample: str) -> None:
    with pytest.raises(NotInferredError) as raised:
        columns("json", sample)
    assert str(raised.value) == "it has no JSON object with a field"


@pytest.mark.parametrize(
    ("sample", "expected", "note"),
    [
        ('{"a": 1}\n{"a": "x"}\n', "a STRING", '"a" is STRING: its values are BIGINT and STRING'),
        (
            '{"a": [1, "x"]}\n',
            "a ARRAY<STRING>",
            '"a[]" is STRING: its values are BIGINT and STRING',
        ),
        (
            '{"a": [{"b": [true, 1]}]}',
            "a ARRAY<ROW<b ARRAY<STRING>>>",
            '"a[].b[]" is STRING: its values are BOOLEAN and BIGINT',
        ),
        (
            '{"a": {"b": 1}}\n{"a": {"b": true, "c": 1}}\n',
            "a ROW<b STRING, c BIGINT>",
            '"a.b" is STRING: its values are BIGINT and BOOLEAN',
        ),
        (
            '{"a": {"b": 1}}\n{"a": [1]}\n{"a": 2}',
            "a STRING",
            '"a" is STRING: its values are ROW<b BIGINT> and ARRAY<BIGINT>',
        ),
        (
            '{"a": 1}\n{"a": 123456789012345678901234567890123456789}',
            "a STRING",
            '"a" is STRING: no type of numbers holds all of its digits',
        ),
        (
            '{"a": 12345678901234567890123456789012345678}\n{"a": 0.5}',
            "a STRING",
            '"a" is STRING: no type of numbers holds all of its digits',
        ),
        ('{"a": 1e400}', "a STRING", '"a" is STRING: no type of numbers holds all of its digits'),
    ],
)
def test_json_without_a_common_type(sample: str, expected: str, note: str) -> None:
    assert columns("json", sample) == expected
    assert infer_line_columns([sample.encode()], settings("json"))[2] == (("a", note),)


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
        ("a\n9007199254740993\n0.5\n", {}, "a DECIMAL(38, 1)"),
        ("a\n123456789012345678901234567890123456789\n0.5\n", {}, "a STRING"),
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


def test_what_is_seen_does_not_depend_on_the_order() -> None:
    numbers = [number_seen(text) for text in ("1", "9007199254740993", "1e3", "0.1", "1" * 39)]
    seen: list[Seen] = [NULL, BOOLEAN, STRING, DATE, TIMESTAMP, *numbers]
    for one in seen:
        assert common(one, one) == one
        for other in seen:
            types = [declared_type(common(*pair), "a", []) for pair in ((one, other), (other, one))]
            assert types[0] == types[1]
