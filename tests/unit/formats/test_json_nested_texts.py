"""Objects and arrays in STRING columns: their text, by the quick parser and by the exact one.

Catches a text that depends on the records beside it, on how the input is cut or on who parses it, and one
that is not canonical.  Cannot catch that both parsers accept what is not JSON;
`test_json_decoder.py` is for that.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import strategies as st

from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT, DOUBLE, STRING, map_of
from fsql.formats.json.decoder import JsonDecoder
from fsql.formats.json.quick import read_object
from fsql.formats.json.strict import parse_object
from fsql.formats.malformed import MalformedError
from fsql.tests.unit.connectors.reading import read_bytes
from fsql.tests.unit.formats.drawn import drawn
from fsql.tests.unit.formats.malformed_records import COLUMNS
from fsql.tests.unit.formats.test_json_decoder import EDITS, VALUES, edited, read

if TYPE_CHECKING:
    from collections.abc import Callable

NESTED = (
    ("{}", "{}"),
    ("[ ]", "[]"),
    ("5", "5"),
    ("-1.50E+3", "-1.50E+3"),
    (
        "12345678901234567890123456789012345678901234567890",
        "12345678901234567890123456789012345678901234567890",
    ),
    ("true", "true"),
    ("false", "false"),
    ('{ "b" : 1 , "a" : [ true, false , null ] }', '{"b":1,"a":[true,false,null]}'),
    (
        "[1.50,1E+5,-0,-0.0,0.1e-400,12345678901234567890123]",
        "[1.50,1E+5,-0,-0.0,0.1e-400,12345678901234567890123]",
    ),
    ('{"a b":" : , "}', '{"a b":" : , "}'),
    ('["\\/\\u0041\\u00e9\\u2028é\\u007f"]', '["/Aé\u2028é\x7f"]'),
    (
        '["\\u0022\\u005c\\u0008\\u000c\\u000a\\u000d\\u0009\\u0000\\u001F"]',
        r'["\"\\\b\f\n\r\t\u0000\u001f"]',
    ),
    ('{"\\ud83d\\ude00":"\\\\ud83d"}', r'{"😀":"\\ud83d"}'),
    ("[" * 63 + " " + "]" * 63, "[" * 63 + "]" * 63),
    ("[" + ",".join(["[]"] * 65) + "]", "[" + ",".join(["[]"] * 65) + "]"),
)
"""Objects and arrays as they are written, and their texts."""


@pytest.mark.parametrize(("written", "text"), NESTED, ids=range(len(NESTED)))
def test_an_object_or_an_array_in_a_string_column_is_its_compact_text(
    written: str, text: str
) -> None:
    columns = (Column("a", BIGINT), Column("s", STRING, nullable=False), Column("d", DOUBLE))
    plain = b'{"a":1,"s":"x","d":0.5}\n'
    record = f'{{"a":2,"s":{written},"d":-0.0}}\n'.encode()
    bad = b'{"a":3,"s":null}\n'
    for count in (1, 40):
        data = (plain + record + bad) * count
        for rows_max, block in ((10**6, 1 << 20), (1, 1 << 20), (3, 50)):
            result = read(data, columns, rows_max, block)
            assert repr(result.rows) == repr(
                {
                    row: (1, "x", 0.5) if row % 3 == 0 else (2, text, -0.0)
                    for row in range(3 * count)
                    if row % 3 != 2
                }
            )
            assert [(each.row, each.code, each.field) for each in result.dead_letters] == [
                (row, 521, "s") for row in range(2, 3 * count, 3)
            ]


def test_strings_within_other_values_take_objects_and_arrays_too() -> None:
    record = (
        b'{"id":1,"name":[ {"a":"b"} ],"tags":["x",{"a": 1},[ 2.0 ],null,"[]"],'
        b'"customer":{"name":{"first": "n"},"at":0}}'
    )
    row = read(record).rows[0]
    names = [column.name for column in COLUMNS]
    assert row[names.index("name")] == '[{"a":"b"}]'
    assert row[names.index("tags")] == ("x", '{"a":1}', "[2.0]", None, "[]")
    assert row[names.index("customer")] == ('{"first":"n"}', 0)
    columns = (Column("m", map_of(STRING, STRING)),)
    assert read(b'{"m":{"b":{"x": []},"a":"y"}}', columns).rows == {
        0: ((("a", "y"), ("b", '{"x":[]}')),)
    }


def test_keys_in_the_text_of_a_column_are_not_unknown_fields() -> None:
    columns = (Column("a", BIGINT), Column("s", STRING))
    decoder = JsonDecoder(columns, 1000)
    records = [
        b'{"a":1,"s":{"x":1,"y":[{"z":2}]}}',
        b'{"a":2,"s":"x","b":{"c":1}}',
        b'{"a":3,"s":[{"x":1}],"b":1,"c":2}',
        b'{"a":4,"s":{"x":1},"a":4}',
    ]
    result = read_bytes(b"\n".join(records), columns, decoder)
    assert result.rows == {0: (1, '{"x":1,"y":[{"z":2}]}'), 1: (2, "x"), 2: (3, '[{"x":1}]')}
    assert decoder.unknown_fields == 1 + 2


@drawn(
    50,
    st.lists(st.lists(VALUES) | st.dictionaries(st.text(max_size=2), VALUES), max_size=5),
    st.booleans(),
    st.integers(1, 6),
)
def test_the_text_of_drawn_values_is_that_of_the_standard_library(
    drawn_values: list[object],
    ascii_: bool,  # noqa: FBT001 - drawn
    rows_max: int,
) -> None:
    columns = (Column("s", STRING),)
    lines = [
        json.dumps({"s": value}, ensure_ascii=ascii_, separators=(" , ", " : "))
        for value in drawn_values
    ]
    result = read("\n".join(lines).encode(), columns, rows_max)
    assert result.rows == {
        row: (json.dumps(value, ensure_ascii=False, separators=(",", ":")),)
        for row, value in enumerate(drawn_values)
    }


@drawn(50, VALUES, EDITS, st.sampled_from(["ascii", "utf-8"]), st.integers(0, 70))
def test_the_quick_parser_agrees_with_the_exact_one(
    value: object, edits: list[tuple[int, str, bool]], encoding: str, depth: int
) -> None:
    text = json.dumps({"k": value}, ensure_ascii=encoding == "ascii")
    record = edited(f'{{"d":{"[" * depth}{text}{"]" * depth},"e":[]}}', edits)

    def outcome(parse: Callable[[bytes], object]) -> str:
        try:
            return repr(parse(record))
        except MalformedError as error:
            return repr((error.code, error.field, error.reason))

    assert outcome(read_object) == outcome(parse_object)
