"""Records of one layout decoded in bulk: the same rows, dead letters and counts as one by one.

Catches a value that differs between the two ways, a malformed record that only one of them accepts, rows that
change their order when layouts alternate, and records that are taken for another layout than theirs.  Cannot
catch what is wrong one by one too; `test_json_decoder.py` is for that.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import strategies as st

from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL,
    SMALLINT,
    STRING,
    TIME,
    TIMESTAMP,
    TINYINT,
    UBIGINT,
    UINT,
    USMALLINT,
    UTINYINT,
    decimal_type,
)
from fsql.formats.json.bulk import BulkDecoder
from fsql.formats.json.decoder import JsonDecoder
from fsql.formats.json.layouts import Layout, layout_of
from fsql.formats.json.time_units import TimeUnits
from fsql.formats.lines import LineCutter
from fsql.tests.unit.connectors.reading import Read, read_bytes
from fsql.tests.unit.formats.drawn import drawn
from fsql.tests.unit.formats.malformed_records import COLUMNS, MALFORMED, RECORD_BYTES_MAX

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hypothesis.strategies import SearchStrategy

    from fsql.compiler.schema import Schema

FLAT: Schema = tuple(
    column for column in COLUMNS if not (column.type.fields or column.type.element is not None)
)
NEVER = 10**9


class Decoded(NamedTuple):
    """What a decoder makes of a text."""

    read: Read
    unknown_fields: int
    nulled_fields: int


def decode(data: bytes, columns: Schema, bulk_rows_min: int, nulled: Sequence[str] = ()) -> Decoded:
    decoder = JsonDecoder(columns, RECORD_BYTES_MAX, nulled, bulk_rows_min)
    read = read_bytes(data, columns, decoder)
    return Decoded(read, decoder.unknown_fields, decoder.nulled_fields)


def bulk_rows(data: bytes, columns: Schema) -> list[int]:
    """Return which of the lines are decoded in bulk."""
    (lines,) = LineCutter(1 << 20).feed(data)
    parts = BulkDecoder(columns, 1, TimeUnits()).decode(lines, RECORD_BYTES_MAX)
    return sorted(line for part in parts for line in part.lines.tolist())


def check(data: bytes, columns: Schema = FLAT, nulled: Sequence[str] = ()) -> None:
    # `repr` tells 0.0 from -0.0.
    in_bulk, one_by_one = (decode(data, columns, least, nulled) for least in (1, NEVER))
    assert repr(in_bulk) == repr(one_by_one)


@pytest.mark.parametrize("number", range(0, len(MALFORMED), 10))
def test_the_corpus_is_the_same(number: int) -> None:
    for bad in MALFORMED[number : number + 10]:
        check(b"\n".join([bad.record] * 3))
        check(b'{"id":1,"small":2}\n' * 3 + bad.record + b'\n{"id":1,"small":3}')


def test_layouts_are_the_text_around_values() -> None:
    assert layout_of(b' { "a" : 1, "b":"x" ,"c": null } ') == Layout(
        ("a", "b", "c"),
        (False, True, False),
        (b' { "a" : ', b', "b":"', b'" ,"c": ', b" } "),
    )
    for record in (
        b"",
        b"{}",
        b"[1]",
        b'{"a":1',
        b'{"a":1,}',
        b'{"a":[1]}',
        b'{"a":{"b":1}}',
        b'{"a":1,"a":2}',
        b'{"a":1}}',
        b'{"a":"\\\\"}',
        b'{"a":"\t"}',
        b'{"a\t":1}',
        b'{"a":1} {"a":1}',
        b'{"a" 1}',
        b'{"a":1 "b":2}',
        b'{"' + b"a" * 5000 + b'":1}',
    ):
        assert layout_of(record) is None, record


def test_what_is_certain_is_decoded_in_bulk() -> None:
    columns = (Column("a", BIGINT), Column("s", STRING, nullable=False), Column("d", DOUBLE))
    records = [
        b'{"a":1,"s":"x","d":0.5}',
        b'{"a":-22,"s":"","d":1e3}',
        b'{"a":null,"s":"\xc3\xa9","d":null}',
        b'{"a":9223372036854775807,"s":"x","d":1}',  # 19 digits
        b'{"a":8999999999999999999,"s":"x","d":-1}',
        b'{"a":1,"s":"\\n","d":0.5}',
        b'{"a":1,"s":null,"d":0.5}',
        b'{"a":01,"s":"x","d":0.5}',
        b'{"a":1,"s":"x","d":.5}',
        b'{"a":1,"s":"x","d":-0.0}',
        b'{"a":1, "s":"x","d":0.5}',  # a layout of its own
        b'{"a":1,"s":"x"}',
        b'{"s":"x","z":{}}',
        b'{"s":"x","z":tru}',
        b'{"a":"1","s":"x","d":0.5}',
        b'{"a":1x,"s":"x","d":0.5}',
    ]
    data = b"\n".join(records) + b"\n"
    assert bulk_rows(data, columns) == [0, 1, 2, 4, 10, 11]
    check(data, columns)


def test_all_numbers_of_digits_are_read() -> None:
    numbers = [
        sign * int("1234567891234567891"[:count])
        for count in range(20)
        if count
        for sign in (1, -1)
    ]
    data = b"".join(b'{"a":%d}\n' % number for number in numbers)
    columns = (Column("a", BIGINT),)
    assert bulk_rows(data, columns) == list(range(len(numbers)))
    assert decode(data, columns, 1).read.rows == {
        row: (number,) for row, number in enumerate(numbers)
    }


def test_all_forms_of_timestamps_are_read() -> None:
    moments = ["0001-01-01", "1900-02-28", "1969-12-31", "2000-02-29", "2024-12-31", "9999-12-31"]
    forms = [f"{day}T23:59:59{rest}" for day in moments for rest in ("", "Z", ".987", ".987Z")]
    data = b"".join(b'{"w":"%s"}\n' % form.encode() for form in forms)
    columns = (Column("w", TIMESTAMP),)
    assert bulk_rows(data, columns) == list(range(len(forms)))
    check(data, columns)


@drawn(35, st.data())
def test_drawn_timestamps_are_the_same(data: st.DataObject) -> None:
    # The first value decides which separator is read by words, so both are first.
    records = []
    for _ in range(data.draw(st.integers(1, 8))):
        text = data.draw(st.sampled_from(MOMENTS))
        for at, character in data.draw(REPLACED):
            text = text[: at % len(text)] + character + text[at % len(text) + 1 :]
        records.append(json.dumps({"w": text}, ensure_ascii=False))
    check("\n".join(records).encode(), (Column("w", TIMESTAMP),))


MOMENTS = [
    f"{day}{separator}{time}"
    for day in ("2024-02-29", "2023-02-29", "0000-01-01", "9999-12-31")
    for separator in "T "
    for time in ("00:00:00Z", "23:59:59.999Z", "12:34:56", "12:34:56.789", "12:34:56.789012Z")
]
REPLACED = st.lists(
    st.tuples(st.integers(0, 27), st.sampled_from(list("0123456789-: TtZz.,+D@p/é"))), max_size=2
)


def test_values_of_any_length_are_found() -> None:
    # Beyond, at and around the 57 to 64 octets that are looked at at once, in every position of the bits.
    for shift in range(9):
        texts = ["x" * length for length in (0, 1, *range(55, 67), *range(119, 131), 1000)]
        records = [b'{"id":%d,"name":"%s"}' % (10**shift, text.encode()) for text in texts]
        data = b"\n".join(records)
        columns = (Column("id", BIGINT), Column("name", STRING))
        assert bulk_rows(data + b"\n", columns) == list(range(len(records)))
        check(data, columns)


@pytest.mark.parametrize(
    "record",
    [
        b'{"id":1,"name":"x","z":"',  # a text that the next line ends
        b'{"id":1,"name":"x',
        b'{"id":1,"name":"',
        b'{"id":1,"name":"x\x00","z":"y"}',
        b'{"id":1,"name":"x\x1f","z":"y"}',
        b'{"id":1,"name":"\x7f","z":"y"}',
        b'{"id":1,"name":"x\\","z":"y"}',
        b'{"id":1,"name":"x\\"","z":"y"}',
        b'{"id":1,"name":"x","z":"y"}}',
        b'{"id":1,"name":"x","z":"y"} ',
        b' {"id":1,"name":"x","z":"y"}',
        b'{"id":,"name":"x","z":"y"}',
        b'{"id":1,,"name":"x","z":"y"}',
        b'{"id":1\t,"name":"x","z":"y"}',
        b'{"id":1,"name":"x","z":"y","z":"y"}',
        b'{"id":1,"name":"x","name":"y"}',
        b'{"ID":1,"name":"x","z":"y"}',
        b'{"id":1,"name":"x","z":"y"},{"id":1,"name":"x","z":"y"}',
        b'{"id":1,"name":"x","z":"\xc3"}',
        b'{"id":12345678x,"name":"x","z":"y"}',
        b'{"id":1234567812345678x,"name":"x","z":"y"}',
        b'{"id":/2345678,"name":"x","z":"y"}',
        b'{"id":-,"name":"x","z":"y"}',
        b'{"id":--1,"name":"x","z":"y"}',
        b'{"id":-0,"name":"x","z":"y"}',
        b'{"id":-01,"name":"x","z":"y"}',
        b'{"id":\xc2\xb2,"name":"x","z":"y"}',
    ],
)
def test_records_almost_of_the_layout_are_the_same(record: bytes) -> None:
    like = b'{"id":1,"name":"x","z":"y"}'
    check(b"\n".join([like, record, like, record]))
    check(b"\n".join([record, like, record, record]))


def test_space_before_a_comma_is_not_a_number() -> None:
    # The frames `{"id": ` and ` ,"name":` overlap in the second record.
    check(b'{"id": 1 ,"name":"x"}\n{"id": ,"name":"x"}\n{"id": 2 ,"name":"x"}')


def test_lines_end_as_they_like() -> None:
    data = b'\xef\xbb\xbf{"id":1}\r\n\n{"id":2}\n\r\n{"id":3}\r\n{"id":\t4}\n{"id":5}\r'
    check(data)
    check(data + b'\n{"id":6,"name":"\xff"}\n{"id":7,"name":"' + b"x" * RECORD_BYTES_MAX + b'"}')


def test_malformed_values_may_be_null() -> None:
    data = b'{"id":1,"small":1}\n{"id":1,"small":3000000000}\n{"id":x,"small":1}\n' * 3
    check(data, nulled=["small"])


FIELDS: dict[str, tuple[Column, SearchStrategy[str]]] = {
    column.name: (column, st.sampled_from(texts))
    for column, texts in (
        (Column("i", INT), ["0", "-0", "7", "-2147483648", "2147483648", "1.0", "1e2", "null"]),
        (Column("t", TINYINT), ["127", "-128", "128", "null", "true"]),
        (Column("h", SMALLINT, nullable=False), ["32767", "-32769", "null", "1"]),
        (Column("b", BIGINT), ["12345678", "123456789", "-9223372036854775808", "00", "-", "+1"]),
        (Column("u8", UTINYINT), ["0", "255", "256", "-1", "null"]),
        (Column("u16", USMALLINT), ["65535", "65536", "-0"]),
        (Column("u32", UINT), ["4294967295", "4294967296", "-1"]),
        (
            Column("u64", UBIGINT),
            [
                *("18446744073709551615", "18446744073709551616", "9223372036854775808", "-1"),
                *("00", "-0", "1.0", "100000000000000000000", '"1"', "null", "5"),
            ],
        ),
        (Column("v", INTERVAL), ["1", "9223372036854775808", "8999999999999999999", '"1"']),
        (
            Column("d", DOUBLE),
            ["0.1", "-0", "-0.0", "1e400", "1e-400", "1E+2", "1.", "NaN", "-inf"],
        ),
        (Column("f", FLOAT), ["0.1", "16777217", "3.5e38", "1e39", "-0.0", "null"]),
        (
            Column("s", STRING),
            [
                *('"x"', '""', '"é:"', "null", "1", '"\\u0041"', '"{,}"'),
                *("{}", "[ ]", '{"b" : 1.50, "a":[-0,{"é":"\\u0041\\/"}] }', '["x" ,null,true]'),
                *('{"a":1,"a":2}', '{"s":"x"', "[1,]", '[1]"'),
            ],
        ),
        (Column("y", BYTES), ['"/w=="', '""', '"/w"', "null", "1"]),
        (Column("o", BOOLEAN), ["true", "false", "null", "True", "tru", "truex", '"true"']),
        (Column("e", DATE), ['"2024-02-29"', '"2023-02-29"', '"2024-2-9"', "null", "1"]),
        (Column("c", TIME), ['"12:00"', '"24:00"', '"12:00:00.5"', "null"]),
        (
            Column("w", TIMESTAMP),
            ['"2024-02-29 12:00:00"', '"2024-02-29T12:00Z"', '"x"', "0", "-1", "253402300800000"],
        ),
        (
            Column("m", decimal_type(6, 2)),
            ["1.5", '"1.5"', '" 1"', "12345.5", "1e1", '"1e1"', "01"],
        ),
    )
}


def uniform_records(draw: Callable[[SearchStrategy[Any]], Any]) -> tuple[Schema, bytes]:
    """Draw a table, and records with a few of its columns and others, in a few layouts."""
    names = draw(st.lists(st.sampled_from([*FIELDS, "z"]), min_size=1, max_size=4, unique=True))
    columns = tuple(FIELDS[name][0] for name in names if name in FIELDS) or (Column("i", INT),)
    colon, comma = draw(st.sampled_from([(":", ","), (": ", ", "), (" : ", " ,")]))
    unknown = st.sampled_from(["1", "01", "null", '"x"', "nul", "[1]", "-", "1.5e3", "1 2"])
    records = []
    for _ in range(draw(st.integers(1, 12))):
        members = (
            f"{json.dumps(name)}{colon}{draw(FIELDS[name][1] if name in FIELDS else unknown)}"
            for name in names
        )
        record = "{" + comma.join(members) + "}"
        for at, character in draw(EDITS):
            record = record[: at % len(record)] + character + record[at % len(record) :]
        records.append(record)
    return columns, "\n".join(records).encode()


EDITS = st.lists(
    st.tuples(st.integers(0, 60), st.sampled_from(list(' "{}:,\\0-.n\té'))), max_size=1
)


@drawn(130, st.data())
def test_drawn_records_are_the_same(data: st.DataObject) -> None:
    columns, records = uniform_records(data.draw)
    check(records, columns)
