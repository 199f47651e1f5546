"""Records that are malformed, with what has to be said about each: the corpus of the JSON decoder.

The table has these columns:

    id BIGINT NOT NULL, small INT, ratio DOUBLE, name STRING, flag BOOLEAN, at TIMESTAMP,
    gap INTERVAL, tags ARRAY<STRING>, grid ARRAY<ARRAY<BIGINT>>, times ARRAY<TIMESTAMP>,
    customer ROW<name STRING, at TIMESTAMP>, items ARRAY<ROW<n INT>>, day DATE, price DECIMAL(10, 2),
    tiny TINYINT, short SMALLINT, single FLOAT, singles ARRAY<FLOAT>, data BYTES, parts ARRAY<BYTES>,
    clock TIME, clocks ARRAY<TIME>,
    counts MAP<STRING, BIGINT>, days MAP<DATE, ARRAY<MAP<INT, TIMESTAMP>>>,
    u8 UTINYINT, u64 UBIGINT, u64s ARRAY<UBIGINT>
"""

from __future__ import annotations

from typing import NamedTuple

from fsql.compiler.schema import Column, Schema
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
    UTINYINT,
    array_of,
    decimal_type,
    map_of,
    row_of,
)

COLUMNS: Schema = (
    Column("id", BIGINT, nullable=False),
    Column("small", INT),
    Column("ratio", DOUBLE),
    Column("name", STRING),
    Column("flag", BOOLEAN),
    Column("at", TIMESTAMP),
    Column("gap", INTERVAL),
    Column("tags", array_of(STRING)),
    Column("grid", array_of(array_of(BIGINT))),
    Column("times", array_of(TIMESTAMP)),
    Column("customer", row_of((("name", STRING), ("at", TIMESTAMP)))),
    Column("items", array_of(row_of((("n", INT),)))),
    Column("day", DATE),
    Column("price", decimal_type(10, 2)),
    Column("tiny", TINYINT),
    Column("short", SMALLINT),
    Column("single", FLOAT),
    Column("singles", array_of(FLOAT)),
    Column("data", BYTES),
    Column("parts", array_of(BYTES)),
    Column("clock", TIME),
    Column("clocks", array_of(TIME)),
    Column("counts", map_of(STRING, BIGINT)),
    Column("days", map_of(DATE, array_of(map_of(INT, TIMESTAMP)))),
    Column("u8", UTINYINT),
    Column("u64", UBIGINT),
    Column("u64s", array_of(UBIGINT)),
)
RECORD_BYTES_MAX = 10_000


class Malformed(NamedTuple):
    """A record, and the code, field and reason of its reject."""

    record: bytes
    code: int
    field: str
    reason: str


def _number(column: str, text: str, code: int, reason: str) -> Malformed:
    return Malformed(f'{{"id":1,"{column}":{text}}}'.encode(), code, column, reason)


def _time(text: str) -> Malformed:
    return _number("at", f'"{text}"', 520, "the string does not name a time of the years 1 to 9999")


def _day(text: str) -> Malformed:
    return _number("day", text, 520, "the string does not name a day of the years 1 to 9999")


FRACTION = "found a number with a fraction or an exponent"
MILLIS = "the milliseconds are not of the years 1 to 9999"

MALFORMED = (
    # Strings that are no time of day.
    *(
        _number("clock", f'"{text}"', 520, "the string does not name a time of day")
        for text in (
            "24:00",
            "12:60",
            "12:00:60",
            "1:00",
            "12",
            "",
            "12:00Z",
            "12:00:00.",
            "\\uff11\\uff12:00",
        )
    ),
    _number("clock", '"12:00:00.1234567"', 520, "the string does not name a time of day"),
    _number("clock", '" 12:00"', 520, "the string does not name a time of day"),
    _number("clock", '"12:00\\n"', 520, "the string does not name a time of day"),
    _number(
        "clock", "43200.5", 513, "expected TIME, found a number with a fraction or an exponent"
    ),
    Malformed(
        b'{"id":1,"clocks":["12:00","12"]}',
        520,
        "clocks[1]",
        "the string does not name a time of day",
    ),
    # Strings that are not Base64.
    *(
        _number("data", f'"{text}"', 513, "expected BYTES, found a string that is not Base64")
        for text in ("a", "YQ", "YQ=", "YQ===", "=", "YQ==YQ==", " YQ==", "YQ==\\n", "Y_-=", "é")
    ),
    _number("data", "1", 513, "expected BYTES, found a number"),
    Malformed(
        b'{"id":1,"parts":["YQ==","?"]}',
        513,
        "parts[1]",
        "expected BYTES, found a string that is not Base64",
    ),
    # Numbers that are too large for their types.
    _number("tiny", "128", 514, "the number does not fit TINYINT"),
    _number("tiny", "-129", 514, "the number does not fit TINYINT"),
    _number("tiny", "1.0", 513, f"expected TINYINT, {FRACTION}"),
    _number("tiny", '"1"', 513, "expected TINYINT, found a string"),
    _number("short", "32768", 514, "the number does not fit SMALLINT"),
    _number("short", "-32769", 514, "the number does not fit SMALLINT"),
    _number("short", "1e2", 513, f"expected SMALLINT, {FRACTION}"),
    _number("u8", "256", 514, "the number does not fit UTINYINT"),
    _number("u8", "-1", 514, "the number does not fit UTINYINT"),
    _number("u64", "18446744073709551616", 514, "the number does not fit UBIGINT"),
    _number("u64", "-1", 514, "the number does not fit UBIGINT"),
    _number("u64", "1.0", 513, f"expected UBIGINT, {FRACTION}"),
    _number("u64", '"1"', 513, "expected UBIGINT, found a string"),
    Malformed(
        b'{"id":1,"u64s":[1,18446744073709551616]}',
        514,
        "u64s[1]",
        "the number does not fit UBIGINT",
    ),
    _number("single", "3.5e38", 514, "the number does not fit FLOAT"),
    _number("single", "-1e400", 514, "the number does not fit FLOAT"),
    _number("single", "true", 513, "expected FLOAT, found a boolean"),
    Malformed(b'{"id":1,"singles":[1,1e39]}', 514, "singles[1]", "the number does not fit FLOAT"),
    # Not JSON: cut off, more behind it, not JSON at all.
    Malformed(b"{", 511, "", "the record ends too early"),
    Malformed(b'{"id"', 511, "", "the record ends too early"),
    Malformed(b'{"id":', 511, "", "the record ends too early"),
    Malformed(b'{"id":1', 511, "", "the record ends too early"),
    Malformed(b'{"id":1,', 511, "", "the record ends too early"),
    Malformed(b'{"id":1,"name":"abc', 511, "", "the record ends too early"),
    Malformed(b'{"id":1,"name":"abc\\', 511, "", "an unknown escape at byte 19"),
    Malformed(b'{"id":1,"tags":["a"', 511, "", "the record ends too early"),
    Malformed(b" ", 511, "", "the record ends too early"),
    Malformed(b'{"id":1} x', 511, "", "there is text after the value at byte 9"),
    Malformed(b'{"id":1}{"id":2}', 511, "", "there is text after the value at byte 8"),
    Malformed(b'{"id":1},', 511, "", "there is text after the value at byte 8"),
    Malformed(b"id,name", 511, "", "expected a value at byte 0"),
    Malformed(b"{'id':1}", 511, "", "expected a key in quotes at byte 1"),
    Malformed(b"{id:1}", 511, "", "expected a key in quotes at byte 1"),
    Malformed(b'{"id":1,}', 511, "", "expected a key in quotes at byte 8"),
    Malformed(b'{"id" 1}', 511, "", "expected a colon at byte 6"),
    Malformed(b'{"id":1 "name":"a"}', 511, "", 'expected a comma or "}" at byte 8'),
    Malformed(b'{"id":1,"tags":["a",]}', 511, "", "expected a value at byte 20"),
    Malformed(b'{"id":1,"tags":["a" "b"]}', 511, "", 'expected a comma or "]" at byte 20'),
    Malformed(b'{"id":01}', 511, "", 'expected a comma or "}" at byte 7'),
    Malformed(b'{"id":+1}', 511, "", "expected a value at byte 6"),
    Malformed(b'{"id":1.}', 511, "", 'expected a comma or "}" at byte 7'),
    Malformed(b'{"id":1,"ratio":.5}', 511, "", "expected a value at byte 16"),
    Malformed(b'{"id":1,"ratio":1e}', 511, "", 'expected a comma or "}" at byte 17'),
    Malformed(b'{"id":1,"ratio":NaN}', 511, "", "expected a value at byte 16"),
    Malformed(b'{"id":1,"ratio":Infinity}', 511, "", "expected a value at byte 16"),
    Malformed(b'{"id":1,"ratio":-Infinity}', 511, "", "expected a value at byte 16"),
    Malformed(b'{"id":1,"ratio":0x10}', 511, "", 'expected a comma or "}" at byte 17'),
    Malformed(b'{"id":1,"flag":True}', 511, "", "expected a value at byte 15"),
    Malformed(b'{"id":1,"flag":nul}', 511, "", "expected a value at byte 15"),
    Malformed(b'{"id":1,"name":"a\tb"}', 511, "", "a control character in a string at byte 17"),
    Malformed(b'{"id":1,"name":"a\x00b"}', 511, "", "a control character in a string at byte 17"),
    Malformed(b'{"id":1,"name":"\\x41"}', 511, "", "an unknown escape at byte 16"),
    Malformed(b'{"id":1,"name":"\\u12g4"}', 511, "", "an unknown escape at byte 16"),
    Malformed(b'{"id":1,"other":{"a":01}}', 511, "", 'expected a comma or "}" at byte 22'),
    Malformed(b'{"id":1,"other":[tru]}', 511, "", "expected a value at byte 17"),
    Malformed(b'{"id":1} // one', 511, "", "there is text after the value at byte 9"),
    Malformed('{"é":1,,}'.encode(), 511, "", "expected a key in quotes at byte 8"),
    Malformed(b'\xef\xbb\xbf{"id":1}', 511, "", "expected a value at byte 0"),
    # Keys that come twice.
    Malformed(b'{"id":1,"id":2}', 512, "id", 'the key "id" occurs twice'),
    Malformed(b'{"id":1,"id":1}', 512, "id", 'the key "id" occurs twice'),
    Malformed(b'{"id":1,"\\u0069d":2}', 512, "id", 'the key "id" occurs twice'),
    Malformed(b'{"id" :1, "id"\t: null}', 512, "id", 'the key "id" occurs twice'),
    Malformed(b'{"id":"x","id":2}', 512, "id", 'the key "id" occurs twice'),
    Malformed(b'{"id":1,"x":1,"x":2}', 512, "x", 'the key "x" occurs twice'),
    Malformed(b'{"id":1,"x":{"y":1,"y":2}}', 512, "x.y", 'the key "x.y" occurs twice'),
    Malformed(
        b'{"id":1,"x":[{},{"y":{"z":1,"z":2}}]}', 512, "x[1].y.z", 'the key "x[1].y.z" occurs twice'
    ),
    Malformed(b'{"id":1,"name":"a:b","name":null}', 512, "name", 'the key "name" occurs twice'),
    Malformed(
        b'{"id":1,"customer":{"name":"a","name":"b"}}',
        512,
        "customer.name",
        'the key "customer.name" occurs twice',
    ),
    Malformed(
        b'{"id":1,"items":[{"n":1},{"n":1,"n":1}]}',
        512,
        "items[1].n",
        'the key "items[1].n" occurs twice',
    ),
    Malformed(b'{"id":1,"items":[{"n":{}}]}', 513, "items[0].n", "expected INT, found an object"),
    Malformed(
        b'{"id":1,"customer":[]}',
        513,
        "customer",
        "expected ROW<name STRING, at TIMESTAMP>, found an array",
    ),
    Malformed(
        b'{"id":1,"customer":{"at":"noon"}}',
        520,
        "customer.at",
        "the string does not name a time of the years 1 to 9999",
    ),
    # Values of another type.
    Malformed(b'{"id":"1"}', 513, "id", "expected BIGINT, found a string"),
    Malformed(b'{"id":true}', 513, "id", "expected BIGINT, found a boolean"),
    Malformed(b'{"id":[1]}', 513, "id", "expected BIGINT, found an array"),
    Malformed(b'{"id":{}}', 513, "id", "expected BIGINT, found an object"),
    _number("small", "1.0", 513, f"expected INT, {FRACTION}"),
    _number("small", "1e2", 513, f"expected INT, {FRACTION}"),
    _number("gap", "0.5", 513, f"expected INTERVAL, {FRACTION}"),
    _number("ratio", '"1"', 513, "expected DOUBLE, found a string"),
    _number("ratio", "false", 513, "expected DOUBLE, found a boolean"),
    # Objects and arrays that would be the text of a STRING.
    _number("name", '{"a":1,"a":2}', 512, 'the key "name.a" occurs twice')._replace(field="name.a"),
    Malformed(b'{"id":1,"name":{"a":1', 511, "", "the record ends too early"),
    Malformed(b'{"id":1,"name":{"a":01}}', 511, "", 'expected a comma or "}" at byte 21'),
    Malformed(b'{"id":1,"name":[1,]}', 511, "", "expected a value at byte 18"),
    Malformed(b'{"id":1,"name":[NaN]}', 511, "", "expected a value at byte 16"),
    Malformed(b'{"id":1,"name":[-Infinity]}', 511, "", "expected a value at byte 16"),
    Malformed(b'{"id":1,"name":["\t"]}', 511, "", "a control character in a string at byte 17"),
    Malformed(b'{"id":1,"name":["\\ud800"]}', 515, "", "a lone surrogate at byte 17"),
    Malformed(
        b'{"id":1,"name":["\xff"]}',
        515,
        "",
        "byte 17 of the record, 0xff, is not UTF-8; it reads as cp1252",
    ),
    Malformed(
        b'{"id":1,"name":' + b"[" * 64 + b"]" * 64 + b"}",
        516,
        "",
        "brackets are nested more than 64 deep at byte 78",
    ),
    _number("flag", "1", 513, "expected BOOLEAN, found a number"),
    _number("flag", '"true"', 513, "expected BOOLEAN, found a string"),
    _number("at", "true", 513, "expected TIMESTAMP, found a boolean"),
    _number("at", "1.5", 513, f"expected TIMESTAMP, {FRACTION}"),
    _number("tags", '"a"', 513, "expected ARRAY<STRING>, found a string"),
    Malformed(
        b'{"id":1,"grid":[[1],[2,"3"]]}', 513, "grid[1][1]", "expected BIGINT, found a string"
    ),
    # Maps.
    _number("counts", "[]", 513, "expected MAP<STRING, BIGINT>, found an array"),
    Malformed(
        b'{"id":1,"counts":{"a":1,"b":"2"}}', 513, "counts.b", "expected BIGINT, found a string"
    ),
    Malformed(
        b'{"id":1,"counts":{"a":1,"a":1}}', 512, "counts.a", 'the key "counts.a" occurs twice'
    ),
    Malformed(
        b'{"id":1,"days":{"today":null}}',
        513,
        "days.today",
        "the key of the map is not of type DATE",
    ),
    Malformed(
        b'{"id":1,"days":{"2024-01-31":[],"2024-01-31 ":[]}}',
        *(512, "days.2024-01-31 ", 'the key "2024-01-31 " occurs twice as DATE'),
    ),
    Malformed(
        b'{"id":1,"days":{"2024-01-31":[{},{"1":0,"+1":0}]}}',
        *(512, "days.2024-01-31[1].+1", 'the key "+1" occurs twice as INT'),
    ),
    Malformed(
        b'{"id":1,"days":{"2024-01-31":[{"7":"noon"}]}}',
        *(520, "days.2024-01-31[0].7", "the string does not name a time of the years 1 to 9999"),
    ),
    # Numbers out of range.
    Malformed(b'{"id":9223372036854775808}', 514, "id", "the number does not fit BIGINT"),
    Malformed(b'{"id":-9223372036854775809}', 514, "id", "the number does not fit BIGINT"),
    Malformed(b'{"id":18446744073709551616}', 514, "id", "the number does not fit BIGINT"),
    Malformed(b'{"id":' + b"7" * 5_000 + b"}", 514, "id", "the number does not fit BIGINT"),
    _number("small", "2147483648", 514, "the number does not fit INT"),
    _number("gap", "99999999999999999999", 514, "the number does not fit INTERVAL"),
    _number("ratio", "1e999", 514, "the number does not fit DOUBLE"),
    _number("ratio", "-1e309", 514, "the number does not fit DOUBLE"),
    _number("ratio", "9" * 400, 514, "the number does not fit DOUBLE"),
    Malformed(b'{"id":1,"grid":[[1e0]]}', 513, "grid[0][0]", f"expected BIGINT, {FRACTION}"),
    # Not UTF-8, and surrogates without their other half.
    Malformed(
        b'{"id":1,"name":"\xff"}',
        515,
        "",
        "byte 16 of the record, 0xff, is not UTF-8; it reads as cp1252",
    ),
    Malformed(
        b'{"id":1,"name":"\xc3\xa9\xc3"}',
        515,
        "",
        "byte 18 of the record, 0xc3, is not UTF-8; it reads as cp1252",
    ),
    Malformed(
        b'{"id":1,"x":"\xed\xa0\x80"}',
        515,
        "",
        "byte 13 of the record, 0xed, is not UTF-8; it reads as cp1252",
    ),
    Malformed(
        b'{"id":1,"\xfe":2}',
        515,
        "",
        "byte 9 of the record, 0xfe, is not UTF-8; it reads as cp1252",
    ),
    Malformed(
        b'{"id":1,"name":"\xc0\x80"}',
        515,
        "",
        "byte 16 of the record, 0xc0, is not UTF-8; it reads as cp1252",
    ),
    Malformed(
        b'\xff\xfe{\x00"\x00',
        515,
        "",
        "byte 0 of the record, 0xff, is not UTF-8; it reads as cp1252",
    ),
    Malformed(b'{"id":1,"name":"\\ud800"}', 515, "", "a lone surrogate at byte 16"),
    Malformed(b'{"id":1,"name":"\\udc00\\ud800"}', 515, "", "a lone surrogate at byte 16"),
    Malformed(b'{"id":1,"name":"\\ud800\\u0041"}', 515, "", "a lone surrogate at byte 16"),
    Malformed(b'{"id":1,"\\ud800":0}', 515, "", "a lone surrogate at byte 9"),
    # Nested too deeply.
    Malformed(b"[" * 65 + b"]" * 65, 516, "", "brackets are nested more than 64 deep at byte 64"),
    Malformed(
        b'{"id":1,"x":' + b"[" * 64 + b"]" * 64 + b"}",
        516,
        "",
        "brackets are nested more than 64 deep at byte 75",
    ),
    Malformed(
        b'{"id":1,"x":' + b'{"y":' * 1_900,
        516,
        "",
        "brackets are nested more than 64 deep at byte 327",
    ),
    Malformed(b"[" * 9_999, 516, "", "brackets are nested more than 64 deep at byte 64"),
    # Too long.
    Malformed(
        b'{"id":1,"name":"' + b"x" * 10_000, 517, "", "the record is longer than 10,000 bytes"
    ),
    Malformed(b"\xff" * 10_001, 517, "", "the record is longer than 10,000 bytes"),
    Malformed(b"[" * 200_000, 517, "", "the record is longer than 10,000 bytes"),
    # Not an object.
    Malformed(b"null", 519, "", "the record is null, not an object"),
    Malformed(b"true", 519, "", "the record is a boolean, not an object"),
    Malformed(b"[1, 2]", 519, "", "the record is an array, not an object"),
    Malformed(b'"{}"', 519, "", "the record is a string, not an object"),
    Malformed(b"-12.5e3", 519, "", "the record is a number, not an object"),
    # Timestamps.
    *map(_day, ('""', '"2024-02-30"', '"0000-01-01"', '"2024-1-01"', '"2024-01-01T00:00:00Z"')),
    _number("day", "2932897", 520, "the days since 1970 are not of the years 1 to 9999"),
    _time(""),
    _time("2024-02-30T00:00:00Z"),
    _time("2023-02-29T00:00:00Z"),
    _time("2024-13-01T00:00:00Z"),
    _time("2024-00-10T00:00:00Z"),
    _time("2024-01-00T00:00:00Z"),
    _time("2024-01-01T24:00:00Z"),
    _time("2024-01-01T23:60:00Z"),
    _time("2024-01-01T23:59:60Z"),
    _time("0000-01-01T00:00:00Z"),
    _time("10000-01-01T00:00:00Z"),
    _time("2024-01-01T00:00:00.1234567890Z"),
    _time("2024-01-01T00:00:00."),
    _time("2024-01-01T00"),
    _time("2024-1-1T00:00:00"),
    _time("2024-01-01t00:00:00z"),
    _time("2024-01-01T00:00:00+24:00"),
    _time("0001-01-01T00:00:00+00:01"),
    _time("9999-12-31T23:59:59-00:01"),
    _time(" 2024-01-01T00:00:00Z"),
    _time("٢٠٢٤-01-01T00:00:00"),
    _time("2024/01/01 00:00:00"),
    _number(
        "at",
        "253402300800000",
        520,
        f"{MILLIS}; if they are microseconds, set 'timestamp_unit' = 'us'",
    ),
    _number("at", "-62135596800001", 520, MILLIS),
    _number("at", "99999999999999999999", 520, MILLIS),
    Malformed(
        b'{"id":1,"times":[0,"2024-01-01T00:00:61Z"]}',
        520,
        "times[1]",
        "the string does not name a time of the years 1 to 9999",
    ),
    # NULL where a value is required.
    Malformed(b"{}", 521, "id", "a value is required"),
    Malformed(b'{"name":"a"}', 521, "id", "a value is required"),
    Malformed(b'{"id":null}', 521, "id", "a value is required"),
    Malformed(b'{"ID":1}', 521, "id", "a value is required"),
)
