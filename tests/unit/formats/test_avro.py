"""Avro: what is written is read, by another reader too, which types fit, and files that are damaged."""

from __future__ import annotations

import bz2
import decimal
import io
import json
import lzma
import uuid
from typing import TYPE_CHECKING, Any

import fastavro
import polars
import pytest

from fsql.compiler.diagnostics import FsqlError
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
    UINT,
    USMALLINT,
    UTINYINT,
    SqlType,
    array_of,
    decimal_type,
    map_of,
    row_of,
)
from fsql.formats.avro.codecs import OF_OPTION
from fsql.formats.avro.container import block_bytes, header_bytes
from fsql.formats.avro.inferred import infer_file_columns
from fsql.formats.avro.split import AvroSplit
from fsql.formats.avro.varints import encode_long
from fsql.runtime.ports import Chunk
from fsql.tests.unit.formats.avro_files import (
    COLOURS,
    SYNC,
    drained,
    file_of,
    other_file,
    read,
    renamed,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

COLUMNS: Schema = (
    Column("id", BIGINT),
    Column("tiny", TINYINT),
    Column("small", SMALLINT),
    Column("u8", UTINYINT),
    Column("u16", USMALLINT),
    Column("u32", UINT),
    Column("u64", UBIGINT),
    Column("n", INT),
    Column("real", FLOAT),
    Column("ratio", DOUBLE),
    Column("name", STRING),
    Column("raw", BYTES),
    Column("flag", BOOLEAN),
    Column("at", TIMESTAMP),
    Column("day", DATE),
    Column("hour", TIME),
    Column("gap", INTERVAL),
    Column("price", decimal_type(38, 2)),
    Column("tags", array_of(STRING)),
    Column("times", array_of(array_of(TIMESTAMP))),
    Column("counts", map_of(STRING, array_of(INT))),
    Column("customer", row_of((("name", STRING), ("of", array_of(row_of((("gap", INTERVAL),))))))),
)
ROWS: list[tuple[Any, ...]] = [
    (
        *(1, -128, 32_767, 255, 65_535, 2**32 - 1, 2**64 - 1, -3, 0.5, -0.0, "ä", "\xff\0", True),
        *(1_700_000_000_123_456, -1, 86_399_999_999, -5, -(10**38) + 1),
        *(("x", None), ((1, None), None, ()), (("a", (1, None)), ("b", None))),
        ("a", ((5,), None)),
    ),
    (None,) * len(COLUMNS),
    (
        *(-(2**63), 127, -32_768, 0, 1, 2, 3, 2**31 - 1, 0.0, 1e300, "", "", False),
        *(-1, 2_932_896, 0, 0, 128, (), (), (), (None, None)),
    ),
]


@pytest.mark.parametrize("codec", sorted(OF_OPTION))
def test_what_is_written_is_read(codec: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(file_of(COLUMNS, ROWS, codec))
    assert list(read(tmp_path / "a", COLUMNS, 2).rows.values()) == ROWS
    inferred, _ = infer_file_columns([tmp_path / "a"])
    wider = {"tiny": INT, "small": INT, "u8": INT, "u16": INT, "u32": BIGINT, "gap": BIGINT}
    wider["u64"] = decimal_type(20, 0)
    assert [(each.name, each.type) for each in inferred if each.name != "customer"] == [
        (each.name, wider.get(each.name, each.type)) for each in COLUMNS[:-1]
    ]


def test_the_schema_of_a_file(tmp_path: Path) -> None:
    columns = (
        Column("n", BIGINT, nullable=False),
        Column(
            "a",
            row_of(
                (("b_c", row_of((("n", INT),))), ("b", row_of((("c", row_of((("m", DATE),))),))))
            ),
        ),
        Column("p", decimal_type(9, 2)),
    )
    (tmp_path / "a").write_bytes(file_of(columns, [(1, None, None)]))
    with (tmp_path / "a").open("rb") as file:
        schema = json.loads(fastavro.reader(file).metadata["avro.schema"])

    def record(name: str, field: str, type_: Any) -> list[Any]:
        fields = [{"name": field, "type": type_, "default": None}]
        return ["null", {"type": "record", "name": name, "fields": fields}]

    inner = record("out_a_b_c", "n", ["null", "int"])
    last = record("out_a_b_c_2", "m", ["null", {"type": "int", "logicalType": "date"}])
    fields = [
        {"name": "b_c", "type": inner, "default": None},
        {"name": "b", "type": record("out_a_b", "c", last), "default": None},
    ]
    number = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
    assert schema == {
        "type": "record",
        "name": "out",
        "fields": [
            {"name": "n", "type": ["null", "long"], "default": None},
            {
                "name": "a",
                "type": ["null", {"type": "record", "name": "out_a", "fields": fields}],
                "default": None,
            },
            {"name": "p", "type": ["null", number], "default": None},
        ],
    }


def test_other_readers_read_what_is_written(tmp_path: Path) -> None:
    rows = [(n, f"name {n % 7}", n / 2, 10**15 + n) for n in range(9_000)]
    columns = (
        Column("n", BIGINT),
        Column("s", STRING),
        Column("x", DOUBLE),
        Column("at", TIMESTAMP),
    )
    for codec in ("deflate", "snappy", "none"):
        data = file_of(columns, rows, codec)
        found = polars.read_avro(io.BytesIO(data))
        assert found.with_columns(polars.col("at").cast(polars.Int64)).rows() == rows
        (tmp_path / "a").write_bytes(data)
        assert list(read(tmp_path / "a", columns, 1000).rows.values()) == rows


NULLABLE = ["null", "string"]
RECORD = {"type": "record", "name": "p", "fields": [{"name": "k", "type": ["int", "null"]}]}
PAIR = {"type": "fixed", "name": "pair", "size": 2}
ID = uuid.UUID("12345678-1234-5678-1234-567812345678")
FITS: list[tuple[Any, list[Any], SqlType, list[Any]]] = [
    ("int", [-1, 2**31 - 1], INT, [-1, 2**31 - 1]),
    ("int", [7], BIGINT, [7]),
    ("int", [7], DOUBLE, [7.0]),
    ("int", [7], decimal_type(12, 2), [700]),
    ("long", [2**63 - 1], BIGINT, [2**63 - 1]),
    ("float", [0.5], DOUBLE, [0.5]),
    ("boolean", [True, False], BOOLEAN, [True, False]),
    (["string", "null"], ["ä", None], STRING, ["ä", None]),
    (["string"], ["a"], STRING, ["a"]),
    ("bytes", [b"\xff"], BYTES, ["\xff"]),
    (PAIR, [b"ab"], BYTES, ["ab"]),
    (COLOURS, ["green", "red"], STRING, ["green", "red"]),
    ({"type": "int", "logicalType": "date"}, [-1], DATE, [-1]),
    ({"type": "int", "logicalType": "date"}, [1], TIMESTAMP, [86_400_000_000]),
    ({"type": "int", "logicalType": "time-millis"}, [5], TIME, [5_000]),
    ({"type": "long", "logicalType": "time-micros"}, [5], TIME, [5]),
    ({"type": "long", "logicalType": "timestamp-millis"}, [-1], TIMESTAMP, [-1_000]),
    ({"type": "long", "logicalType": "timestamp-micros"}, [-1], TIMESTAMP, [-1]),
    ({"type": "long", "logicalType": "local-timestamp-millis"}, [3], TIMESTAMP, [3_000]),
    ({"type": "long", "logicalType": "timestamp-nanos"}, [-1, 1_999], TIMESTAMP, [-1, 1]),
    ({"type": "int", "logicalType": "unheard-of"}, [3], INT, [3]),
    ({"type": "string", "logicalType": "uuid"}, [str(ID)], STRING, [str(ID)]),
    ({"type": "fixed", "name": "u", "size": 16, "logicalType": "uuid"}, [ID.bytes], STRING, [str(ID)]),
    ({"type": "array", "items": NULLABLE}, [["a", None], []], array_of(STRING), [("a", None), ()]),
    ({"type": "map", "values": "int"}, [{"b": 1, "a": 2}], map_of(STRING, BIGINT), [(("a", 2), ("b", 1))]),
    (RECORD, [{"k": 1}, {"k": None}], row_of((("k", BIGINT),)), [(1,), (None,)]),
]  # fmt: skip


@pytest.mark.parametrize(("type_", "values", "declared", "expected"), FITS)
def test_types_that_fit(
    type_: Any, values: list[Any], declared: SqlType, expected: list[Any], tmp_path: Path
) -> None:
    (tmp_path / "a").write_bytes(plain_file(type_, values))
    columns = (Column("x", declared),)
    assert [row[0] for row in read(tmp_path / "a", columns).rows.values()] == expected


def plain_file(type_: Any, values: Sequence[Any]) -> bytes:
    """Return a file of others, whose values are given without what their logical type means."""
    bare = type_
    if isinstance(type_, dict):
        bare = {key: each for key, each in type_.items() if key != "logicalType"}
    data = other_file(bare, values)
    before, after = json.dumps(bare), json.dumps(type_)
    if before == after:
        return data
    with io.BytesIO(data) as file:
        found = fastavro.block_reader(file)
        schema = json.loads(found.metadata["avro.schema"])
        blocks = [(block.num_records, block.bytes_.getvalue()) for block in found]
    for field in schema["fields"]:
        field["type"] = type_ if field["name"] == "other" else renamed(type_)
    header = header_bytes(json.dumps(schema).encode(), "null", SYNC)
    return header + b"".join(block_bytes(rows, contents, SYNC) for rows, contents in blocks)


def test_decimals_of_others(tmp_path: Path) -> None:
    for base in ({"type": "bytes"}, {"type": "fixed", "name": "d", "size": 9}):
        type_ = {**base, "logicalType": "decimal", "precision": 18, "scale": 3}
        values = [decimal.Decimal("-1.250"), decimal.Decimal("999999999999999.999")]
        (tmp_path / "a").write_bytes(other_file(type_, values))
        columns = (Column("x", decimal_type(20, 3)),)
        rows = read(tmp_path / "a", columns).rows
        assert [row[0] for row in rows.values()] == [-1250, 10**18 - 1]


@pytest.mark.parametrize(
    ("type_", "values", "declared", "said"),
    [
        ("long", [1], INT, "int64, which is not read as INT"),
        ("double", [1.0], FLOAT, "double, which is not read as FLOAT"),
        ("string", ["a"], BIGINT, "string, which is not read as BIGINT"),
        ("bytes", [b"a"], STRING, "binary, which is not read as STRING"),
        (["int", "string"], [1], STRING, "a union of int, string, which is not read"),
        ("null", [None], STRING, "null, which is not read"),
        ({"type": "map", "values": "int"}, [{}], map_of(BIGINT, INT), "is not read as MAP<BIGINT, INT>"),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2},
            [],
            decimal_type(5, 3),
            "is not read as DECIMAL",
        ),
    ],
)  # fmt: skip
def test_types_that_do_not_fit(
    type_: Any, values: list[Any], declared: SqlType, said: str, tmp_path: Path
) -> None:
    data = io.BytesIO()
    fields = [{"name": "x", "type": type_}, {"name": "y", "type": "int"}]
    schema = {"type": "record", "name": "r", "fields": fields}
    fastavro.writer(data, schema, [{"x": each, "y": 1} for each in values])
    (tmp_path / "a").write_bytes(data.getvalue())
    with pytest.raises(FsqlError) as raised:
        AvroSplit("a", tmp_path / "a", (Column("x", declared),)).check()
    (found,) = raised.value.diagnostics
    assert found.code == "E543"
    assert said in found.message
    assert found.helps
    rest = read(tmp_path / "a", (Column("y", BIGINT),))
    assert [*rest.rows.values()] == [(1,)] * len(values)


def test_a_file_without_the_columns(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(other_file("int", [1]))
    with pytest.raises(FsqlError, match='it has no column "othr"') as raised:
        AvroSplit("a", tmp_path / "a", (Column("othr", BIGINT),)).check()
    assert raised.value.diagnostics[0].helps == ("a column with a similar name exists: 'other'",)


@pytest.mark.parametrize(("codec", "pack"), [("bzip2", bz2.compress), ("xz", lzma.compress)])
def test_codecs_that_are_only_read(codec: str, pack: Any, tmp_path: Path) -> None:
    schema = {"type": "record", "name": "r", "fields": [{"name": "x", "type": "long"}]}
    header = header_bytes(json.dumps(schema).encode(), codec, SYNC)
    (tmp_path / "a").write_bytes(header + block_bytes(2, pack(b"\2\4"), SYNC))
    assert read(tmp_path / "a", (Column("x", BIGINT),)).rows == {0: (1,), 1: (2,)}


def test_a_reader_goes_on_in_the_middle(tmp_path: Path) -> None:
    columns = (Column("n", BIGINT),)
    header = header_bytes(
        b'{"type":"record","name":"r","fields":[{"name":"n","type":"long"}]}', "null", SYNC
    )
    rows = [range(20), range(0), range(20, 21), range(21, 50)]
    blocks = [block_bytes(len(each), b"".join(map(encode_long, each)), SYNC) for each in rows]
    path = tmp_path / "a"
    path.write_bytes(header + b"".join(blocks))
    split = AvroSplit("a", path, columns)
    whole = drained(split, columns, 7)
    assert whole.rows == {n: (n,) for n in range(50)}
    assert whole.bytes_read == path.stat().st_size
    for count in (0, 1, 19, 20, 21, 22, 49, 50):
        reader = split.open()
        passed = 0
        for _ in range(count):
            chunk = reader.read(1)
            assert isinstance(chunk, Chunk)
            passed += chunk.bytes_read
        offset = reader.source_offset()
        reader.close()
        assert (offset.row, offset.line, offset.byte) == (count, 0, passed)
        rest = drained(split, columns, 9, offset)
        assert rest.rows == {n: (n,) for n in range(count, 50)}
        assert passed + rest.bytes_read == whole.bytes_read
    path.write_bytes(path.read_bytes() + blocks[2])
    with pytest.raises(FsqlError, match="E536"):
        split.open(offset)


def test_values_that_make_a_row_malformed(tmp_path: Path) -> None:
    fields = [
        {"name": "tiny", "type": "int"},
        {"name": "s", "type": "string"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "m", "type": {"type": "map", "values": "long"}},
        {"name": "n", "type": ["null", "long"]},
        {"name": "t", "type": {"type": "int", "logicalType": "time-millis"}},
    ]
    schema = json.dumps({"type": "record", "name": "r", "fields": fields}).encode()

    def row(
        tiny: int = 1,
        s: bytes = b"a",
        at: int = 0,
        m: bytes = b"\0",
        n: bytes = b"\2\2",
        t: int = 0,
    ) -> bytes:
        return (
            encode_long(tiny) + encode_long(len(s)) + s + encode_long(at) + m + n + encode_long(t)
        )

    rows = [
        row(),
        row(tiny=128),
        row(s=b"\xff"),
        row(at=10**15),
        row(m=b"\4\2a\0\2a\2\0"),
        row(m=b"\2\2\xff\0\0"),
        row(n=b"\0"),
        row(t=86_400_000),
    ]
    data = header_bytes(schema, "null", SYNC) + block_bytes(len(rows), b"".join(rows), SYNC)
    (tmp_path / "a").write_bytes(data)
    columns = (
        Column("tiny", TINYINT),
        Column("s", STRING),
        Column("at", TIMESTAMP),
        Column("m", map_of(STRING, BIGINT)),
        Column("n", BIGINT, nullable=False),
        Column("t", TIME),
    )
    good = (1, "a", 0, (), 1, 0)
    found = read(tmp_path / "a", columns)
    assert found.rows == {0: good}
    malformed = [(1, 514, "tiny"), (2, 515, "s"), (3, 520, "at"), (4, 512, "m"), (5, 512, "m")]
    malformed += [(6, 521, "n"), (7, 520, "t")]
    assert [(each.row, each.code, each.field) for each in found.dead_letters] == malformed
    nulled = read(tmp_path / "a", columns, nulled=frozenset({"tiny", "s", "at", "m", "t"}))
    changed = {1: 0, 2: 1, 3: 2, 4: 3, 5: 3, 7: 5}
    assert nulled.rows == {
        0: good,
        **{at: (*good[:column], None, *good[column + 1 :]) for at, column in changed.items()},
    }
    unread = read(tmp_path / "a", columns, read=frozenset({"tiny"}))
    assert [(each.row, each.field) for each in unread.dead_letters] == [(1, "tiny")]


def test_numbers_that_an_unsigned_type_does_not_have(tmp_path: Path) -> None:
    written: Schema = (
        *(Column("a", INT), Column("b", BIGINT), Column("c", BIGINT)),
        Column("d", decimal_type(21, 0)),
    )
    rows = [(255, 2**32 - 1, 2**63 - 1, 2**64 - 1), (256, 0, 0, 0), (0, 2**32, 0, 0)]
    rows += [(0, 0, -1, 0), (0, 0, 0, 2**64), (0, 0, 0, -1)]
    (tmp_path / "a").write_bytes(file_of(written, rows))
    types = (UTINYINT, UINT, UBIGINT, UBIGINT)
    columns = tuple(Column(each.name, type_) for each, type_ in zip(written, types, strict=True))
    found = read(tmp_path / "a", columns)
    assert found.rows == {0: rows[0]}
    assert [(each.row, each.code, each.field) for each in found.dead_letters] == [
        *((1, 514, "a"), (2, 514, "b"), (3, 514, "c"), (4, 514, "d"), (5, 514, "d")),
    ]
