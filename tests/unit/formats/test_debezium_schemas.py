"""Events of Debezium that carry their schema: values are read by it."""

from __future__ import annotations

import base64
import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import pytest

import fsql

if TYPE_CHECKING:
    from pathlib import Path

TIME: Final = "io.debezium.time."
CONNECT: Final = "org.apache.kafka.connect.data."
DATA: Final = "io.debezium.data."


def coded(number: int) -> str:
    """Return a number as the octets of a decimal, in Base64."""
    octets = number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)
    return base64.b64encode(octets).decode()


def event(fields: dict[str, dict[str, Any]], values: dict[str, Any]) -> dict[str, Any]:
    """Return the event of a new row with a schema; `fields` has what is known of each field."""
    row = {
        "type": "struct",
        "optional": True,
        "fields": [{"optional": True, "field": name} | each for name, each in fields.items()],
    }
    images = [row | {"field": image, "name": "s.t.Value"} for image in ("before", "after")]
    schema = {
        "type": "struct",
        "name": "s.t.Envelope",
        "optional": False,
        "fields": [*images, {"type": "string", "field": "op"}],
    }
    payload = {"before": None, "after": values, "op": "c", "source": {"schema": "public"}}
    return {"schema": schema, "payload": payload}


def read(
    directory: Path, types: dict[str, str], *events: dict[str, Any], more: str = "", key: str = ""
) -> list[dict[str, Any]]:
    """Return the rows that are read from events, by the types of columns."""
    (directory / "u").write_text("".join(f"{json.dumps(each)}\n" for each in events))
    (directory / "o").unlink(missing_ok=True)
    columns = ", ".join(f"{name} {type_}" for name, type_ in types.items())
    keyed = f", PRIMARY KEY ({key}) NOT ENFORCED" if key else ""
    fsql.Session(base_directory=directory).run(
        f"""
        CREATE TABLE u ({columns}{keyed})
            WITH ('connector' = 'file', 'path' = 'u', 'format' = 'debezium-json'{more});
        CREATE TABLE o ({columns}) WITH ('connector' = 'file', 'path' = 'o');
        INSERT INTO o SELECT * FROM u;
        """
    )
    rows = (directory / "o").read_text().splitlines()
    return [json.loads(row, parse_float=Decimal) for row in rows]


NOON: Final = 12 * 3_600
AT: Final = 1_767_268_800
"""2026-01-01T12:00:00Z in seconds."""
VALUES: Final[list[tuple[dict[str, Any], Any, str, Any]]] = [
    # the field, its value, the type of the column, and what is read
    ({"type": "int32", "name": TIME + "Date"}, 19_723, "DATE", "2024-01-01"),
    ({"type": "int32", "name": CONNECT + "Date"}, -1, "DATE", "1969-12-31"),
    ({"type": "int32", "name": TIME + "Date"}, 19_723, "STRING", "2024-01-01"),
    ({"type": "int32", "name": TIME + "Date"}, 19_723, "INT", 19_723),
    ({"type": "int32", "name": TIME + "Date"}, 1, "TIMESTAMP", "1970-01-02T00:00:00Z"),
    ({"type": "int32", "name": TIME + "Time"}, NOON * 1_000 + 5, "TIME", "12:00:00.005"),
    ({"type": "int32", "name": CONNECT + "Time"}, NOON * 1_000, "TIME", "12:00:00"),
    ({"type": "int64", "name": TIME + "MicroTime"}, NOON * 1_000_000, "TIME", "12:00:00"),
    ({"type": "int64", "name": TIME + "NanoTime"}, NOON * 10**9 + 1_999, "TIME", "12:00:00.000001"),
    ({"type": "int64", "name": TIME + "MicroTime"}, NOON * 1_000_000, "STRING", "12:00:00"),
    ({"type": "int64", "name": TIME + "MicroTime"}, -NOON * 3_000_000, "STRING", "-36:00:00"),
    (
        {"type": "int64", "name": TIME + "Timestamp"},
        AT * 1_000,
        "TIMESTAMP",
        "2026-01-01T12:00:00Z",
    ),
    (
        {"type": "int64", "name": CONNECT + "Timestamp"},
        AT * 1_000,
        "TIMESTAMP",
        "2026-01-01T12:00:00Z",
    ),
    (
        {"type": "int64", "name": TIME + "MicroTimestamp"},
        AT * 10**6,
        "TIMESTAMP",
        "2026-01-01T12:00:00Z",
    ),
    (
        {"type": "int64", "name": TIME + "MicroTimestamp"},
        1,
        "TIMESTAMP",
        "1970-01-01T00:00:00.000001Z",
    ),
    (
        {"type": "int64", "name": TIME + "NanoTimestamp"},
        -1,
        "TIMESTAMP",
        "1969-12-31T23:59:59.999999Z",
    ),
    (
        {"type": "int64", "name": TIME + "NanoTimestamp"},
        AT * 10**9,
        "TIMESTAMP_LTZ",
        "2026-01-01T12:00:00Z",
    ),
    ({"type": "int64", "name": TIME + "NanoTimestamp"}, AT * 10**9, "BIGINT", AT * 10**9),
    ({"type": "int64", "name": TIME + "MicroTimestamp"}, 0, "STRING", "1970-01-01T00:00:00Z"),
    (
        {"type": "string", "name": TIME + "ZonedTimestamp"},
        "2026-01-01T14:00:00+02:00",
        "TIMESTAMP",
        "2026-01-01T12:00:00Z",
    ),
    (
        {"type": "string", "name": TIME + "IsoTimestamp"},
        "2026-01-01T12:00:00Z",
        "TIMESTAMP",
        "2026-01-01T12:00:00Z",
    ),
    ({"type": "string", "name": TIME + "IsoDate"}, "2026-01-01Z", "DATE", "2026-01-01"),
    ({"type": "string", "name": TIME + "IsoTime"}, "12:00:00Z", "TIME", "12:00:00"),
    ({"type": "string", "name": TIME + "ZonedTime"}, "00:30:00.25+01:00", "TIME", "23:30:00.250"),
    ({"type": "string", "name": TIME + "ZonedTime"}, "23:30-01:00", "TIME", "00:30:00"),
    ({"type": "string", "name": TIME + "ZonedTime"}, "12:00:00+01:00", "STRING", "12:00:00+01:00"),
    (
        {"type": "string", "name": TIME + "Interval"},
        "P1Y2M3DT4H5M6.7S",
        "STRING",
        "P1Y2M3DT4H5M6.7S",
    ),
    ({"type": "int64", "name": TIME + "MicroDuration"}, 5, "BIGINT", 5),
    ({"type": "int32", "name": TIME + "Year"}, 2026, "INT", 2026),
    (
        {
            "type": "bytes",
            "name": CONNECT + "Decimal",
            "parameters": {"scale": "2", "connect.decimal.precision": "10"},
        },
        coded(-12_345),
        "DECIMAL(10, 2)",
        Decimal("-123.45"),
    ),
    (
        {"type": "bytes", "name": CONNECT + "Decimal", "parameters": {"scale": "0"}},
        coded(2**63 - 1),
        "BIGINT",
        2**63 - 1,
    ),
    (
        {"type": "bytes", "name": CONNECT + "Decimal", "parameters": {"scale": "30"}},
        coded(10**38 - 1),
        "STRING",
        "99999999." + 30 * "9",
    ),
    (
        {"type": "bytes", "name": CONNECT + "Decimal", "parameters": {"scale": "-2"}},
        coded(5),
        "DOUBLE",
        Decimal("500.0"),
    ),
    (
        {"type": "bytes", "name": CONNECT + "Decimal", "parameters": {"scale": "2"}},
        "AQI=",
        "BYTES",
        "AQI=",
    ),
    (
        {"type": "bytes", "name": CONNECT + "Decimal", "parameters": {"scale": "2"}},
        1.25,
        "DECIMAL(10, 2)",
        Decimal("1.25"),
    ),
    (
        {"type": "struct", "name": DATA + "VariableScaleDecimal"},
        {"scale": 3, "value": coded(1_500)},
        "DECIMAL(10, 2)",
        Decimal("1.50"),
    ),
    (
        {"type": "struct", "name": DATA + "VariableScaleDecimal"},
        {"scale": 3, "value": coded(1_500)},
        "STRING",
        "1.500",
    ),
    (
        {"type": "string", "name": DATA + "Enum", "parameters": {"allowed": "a,b"}},
        "a",
        "STRING",
        "a",
    ),
    (
        {"type": "string", "name": DATA + "EnumSet", "parameters": {"allowed": "a,b"}},
        "a,b",
        "STRING",
        "a,b",
    ),
    ({"type": "string", "name": DATA + "Json"}, '{"a": [1.0, "x"]}', "STRING", '{"a": [1.0, "x"]}'),
    (
        {"type": "string", "name": DATA + "Json"},
        '{"a": 1, "b": "x"}',
        "ROW<a INT, b STRING>",
        {"a": 1, "b": "x"},
    ),
    ({"type": "string", "name": DATA + "Json"}, "[1, null]", "ARRAY<INT>", [1, None]),
    ({"type": "string", "name": DATA + "Json"}, '{"a":"b"}', "MAP<STRING, STRING>", {"a": "b"}),
    ({"type": "string", "name": DATA + "Uuid"}, "4ee8", "STRING", "4ee8"),
    ({"type": "string", "name": DATA + "Xml"}, "<a/>", "STRING", "<a/>"),
    (
        {"type": "bytes", "name": DATA + "Bits", "parameters": {"length": "10"}},
        base64.b64encode(b"\x05\x02").decode(),
        "STRING",
        "1000000101",
    ),
    (
        {"type": "bytes", "name": DATA + "Bits", "parameters": {"length": "10"}},
        base64.b64encode(b"\x05\x02").decode(),
        "BIGINT",
        517,
    ),
    (
        {"type": "bytes", "name": DATA + "Bits", "parameters": {"length": "10"}},
        "BQI=",
        "BYTES",
        "BQI=",
    ),
    (
        {"type": "struct", "name": DATA + "geometry.Point"},
        {"x": 1.0, "y": 2.5, "wkb": "AQI=", "srid": None},
        "STRING",
        '{"x":1.0,"y":2.5,"wkb":"AQI=","srid":null}',
    ),
    (
        {"type": "array", "items": {"type": "int32", "name": TIME + "Date"}},
        [0, None],
        "ARRAY<DATE>",
        ["1970-01-01", None],
    ),
    (
        {"type": "map", "values": {"type": "int64", "name": TIME + "NanoTime"}},
        {"a": 1_000, "b": None},
        "MAP<STRING, TIME>",
        {"a": "00:00:00.000001", "b": None},
    ),
    (
        {
            "type": "struct",
            "fields": [
                {"field": "d", "type": "int32", "name": TIME + "Date"},
                {"field": "n", "type": "int32"},
            ],
        },
        {"d": 1, "n": 2},
        "ROW<d DATE, n INT>",
        {"d": "1970-01-02", "n": 2},
    ),
    ({"type": "int64"}, AT * 1_000, "TIMESTAMP", "2026-01-01T12:00:00Z"),
    ({"type": "int64", "name": "com.example.Id"}, 5, "BIGINT", 5),
]


def test_values_are_read_by_their_schema(tmp_path: Path) -> None:
    names = [f"c{index}" for index in range(len(VALUES))]
    fields = {name: field for name, (field, _, _, _) in zip(names, VALUES, strict=True)}
    values = {name: value for name, (_, value, _, _) in zip(names, VALUES, strict=True)}
    types = {name: type_ for name, (_, _, type_, _) in zip(names, VALUES, strict=True)}
    nothing = dict.fromkeys(names)
    rows = read(tmp_path, types, event(fields, values), event(fields, nothing), event(fields, {}))
    wanted = {name: result for name, (_, _, _, result) in zip(names, VALUES, strict=True)}
    assert rows == [{"op": "+I"} | wanted, {"op": "+I"} | nothing, {"op": "+I"} | nothing]


MALFORMED: Final[list[tuple[dict[str, Any], Any, str, str, str]]] = [
    (
        {"name": TIME + "Date"},
        10**9,
        "DATE",
        "E520",
        "the days since 1970 are not of the years 1 to 9999",
    ),
    ({"name": TIME + "Time"}, 86_400_000, "TIME", "E520", "the number is not a time of day"),
    (
        {"name": TIME + "MicroTimestamp"},
        10**18,
        "TIMESTAMP",
        "E520",
        "the number is not a time of the years 1 to 9999",
    ),
    (
        {"name": TIME + "MicroTimestamp"},
        int("9" * 60),
        "TIMESTAMP",
        "E520",
        "the number is not a time of the years 1 to 9999",
    ),
    (
        {"name": TIME + "MicroTimestamp"},
        1,
        "DATE",
        "E513",
        "expected DATE, the schema says io.debezium.time.MicroTimestamp",
    ),
    (
        {"name": TIME + "MicroTime"},
        1,
        "TIMESTAMP",
        "E513",
        "expected TIMESTAMP, the schema says io.debezium.time.MicroTime",
    ),
    (
        {"name": TIME + "Year"},
        2026,
        "DATE",
        "E513",
        "expected DATE, the schema says io.debezium.time.Year",
    ),
    (
        {"name": TIME + "ZonedTime"},
        "24:00:00Z",
        "TIME",
        "E520",
        "the string does not name a time of day",
    ),
    (
        {"name": TIME + "ZonedTime"},
        "noon",
        "TIME",
        "E520",
        "the string does not name a time of day",
    ),
    (
        {"name": TIME + "MicroTimestamp"},
        True,
        "TIMESTAMP",
        "E513",
        "expected TIMESTAMP, found a boolean",
    ),
    (
        {"name": CONNECT + "Decimal", "parameters": {"scale": "2"}},
        "1.25",
        "DECIMAL(5, 2)",
        "E513",
        "expected a decimal in Base64",
    ),
    (
        {"name": CONNECT + "Decimal", "parameters": {"scale": "2"}},
        coded(125),
        "BIGINT",
        "E513",
        "expected BIGINT, found a number with a fraction or an exponent",
    ),
    (
        {"name": DATA + "VariableScaleDecimal"},
        {"scale": 2},
        "DECIMAL(5, 2)",
        "E513",
        "expected a decimal: an object with the fields scale and value",
    ),
    (
        {"name": DATA + "VariableScaleDecimal"},
        {"scale": 10**9, "value": "AQ=="},
        "STRING",
        "E513",
        "the decimal has too many digits",
    ),
    ({"name": DATA + "Json"}, "{", "ARRAY<INT>", "E513", "the text is not a JSON document"),
]


@pytest.mark.parametrize("keyed", [False, True])
def test_malformed_values_have_a_reason(*, keyed: bool, tmp_path: Path) -> None:
    names = [f"c{index}" for index in range(len(MALFORMED))]
    fields = {name: each[0] for name, each in zip(names, MALFORMED, strict=True)}
    types = {"k": "INT"} | {name: each[2] for name, each in zip(names, MALFORMED, strict=True)}
    events = [
        event(fields, {"k": 1, name: each[1]}) for name, each in zip(names, MALFORMED, strict=True)
    ]
    good = event(fields, {"k": 2})
    rejecting = ", 'on_error' = 'reject', 'rejects_path' = 'r'"
    rows = read(tmp_path, types, *events, good, more=rejecting, key="k" if keyed else "")
    assert rows == [{"op": "+I", "k": 2} | dict.fromkeys(names)]
    rejects = [json.loads(line) for line in (tmp_path / "r").read_text().splitlines()]
    assert [(each["code"], each["field"], each["reason"]) for each in rejects] == [
        (f"FSQL-{each[3]}", name, each[4]) for name, each in zip(names, MALFORMED, strict=True)
    ]
    nulling = ", 'on_error' = 'null_field', 'rejects_path' = 'n'"
    rows = read(tmp_path, types, *events, more=nulling)
    assert rows == [{"op": "+I", "k": 1} | dict.fromkeys(names) for _ in events]


def test_both_rows_and_the_old_key_are_read_by_the_schema(tmp_path: Path) -> None:
    fields: dict[str, dict[str, Any]] = {
        "d": {"name": TIME + "Date"},
        "n": {"name": TIME + "MicroTimestamp"},
    }
    first, moved, gone = (event(fields, {"d": day, "n": day}) for day in (1, 2, 2))
    moved["payload"] |= {"before": {"d": 1, "n": 1}, "op": "u"}
    gone["payload"] |= {"before": {"d": 2, "n": 2}, "after": None, "op": "d"}
    rows = [
        {"op": "+I", "d": "1970-01-02", "n": "1970-01-01T00:00:00.000001Z"},
        {"op": "-D", "d": "1970-01-02", "n": "1970-01-01T00:00:00.000001Z"},
        {"op": "+I", "d": "1970-01-03", "n": "1970-01-01T00:00:00.000002Z"},
        {"op": "-D", "d": "1970-01-03", "n": "1970-01-01T00:00:00.000002Z"},
    ]
    types = {"d": "DATE", "n": "TIMESTAMP"}
    assert read(tmp_path, types, first, moved, gone) == rows
    assert read(tmp_path, types, first, moved, gone, key="d") == rows


def test_a_value_that_is_left_out_is_no_decimal(tmp_path: Path) -> None:
    fields: dict[str, dict[str, Any]] = {
        "k": {"type": "int32"},
        "n": {"name": CONNECT + "Decimal", "parameters": {"scale": "2"}},
        "s": {"name": CONNECT + "Decimal", "parameters": {"scale": "2"}},
    }
    left_out = base64.b64encode(b"__debezium_unavailable_value").decode()
    first = event(fields, {"k": 1, "n": coded(125), "s": coded(5)})
    update = event(fields, {"k": 1, "n": left_out, "s": left_out})
    update["payload"]["op"] = "u"
    types = {"k": "INT", "n": "DECIMAL(10, 2) NOT NULL", "s": "STRING NOT NULL"}
    assert read(tmp_path, types, first, update, key="k") == [
        {"op": "+I", "k": 1, "n": Decimal("1.25"), "s": "0.05"}
    ]


@pytest.mark.parametrize(
    ("schema", "code", "field"),
    [
        ({"type": 5}, "FSQL-E513", "schema"),
        ("text", "FSQL-E513", "schema"),
        ({"type": "struct"}, None, None),
        ({"type": "struct", "fields": [{"field": "after"}]}, None, None),
        ({"type": "struct", "fields": [{"field": "after", "fields": None}]}, None, None),
    ],
)
def test_a_schema_that_cannot_be_read_is_told(
    schema: object, code: str | None, field: str | None, tmp_path: Path
) -> None:
    record = {"schema": schema, "payload": {"after": {"k": 1}, "op": "c"}}
    more = ", 'on_error' = 'reject', 'rejects_path' = 'r'"
    rows = read(tmp_path, {"k": "INT"}, record, more=more)
    assert len(rows) == (code is None)
    if code is not None:
        (reject,) = map(json.loads, (tmp_path / "r").read_text().splitlines())
        assert (reject["code"], reject["field"]) == (code, field)


def test_duplicate_keys_are_found_beside_a_schema(tmp_path: Path) -> None:
    record = json.dumps(event({"k": {"name": TIME + "Date"}}, {"k": 5}))
    assert '{"k": 5}' in record
    (tmp_path / "twice").write_text(record.replace('{"k": 5}', '{"k": 5, "k": 6}'))
    fsql.Session(base_directory=tmp_path).run(
        """
        CREATE TABLE u (k DATE) WITH (
            'connector' = 'file', 'path' = 'twice', 'format' = 'debezium-json',
            'on_error' = 'reject', 'rejects_path' = 'r'
        );
        CREATE TABLE o (k DATE) WITH ('connector' = 'file', 'path' = 'o');
        INSERT INTO o SELECT * FROM u;
        """
    )
    (reject,) = map(json.loads, (tmp_path / "r").read_text().splitlines())
    assert (reject["code"], reject["field"]) == ("FSQL-E512", "k")
