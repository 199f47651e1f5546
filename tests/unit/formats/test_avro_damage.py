"""Avro files that are damaged or hostile: each is refused with its place, in bounded memory."""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Any

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT, BYTES, INT, STRING, SqlType, decimal_type
from fsql.formats.avro.container import block_bytes, header_bytes
from fsql.formats.avro.inferred import infer_file_columns
from fsql.formats.avro.schema import SchemaError, read_schema
from fsql.formats.avro.split import AvroSplit
from fsql.formats.avro.varints import encode_long
from fsql.formats.inferred_types import NotInferredError
from fsql.tests.unit.formats.avro_files import COLOURS, SYNC, read

if TYPE_CHECKING:
    from pathlib import Path

LONG = b'{"type":"record","name":"r","fields":[{"name":"x","type":"long"},{"name":"s","type":"bytes"}]}'
START = header_bytes(LONG, "null", SYNC)
GOOD = block_bytes(1, b"\2\2a", SYNC)
AT = len(START) + len(GOOD)
HUGE = encode_long(2**60)


def packed(codec: str, data: bytes) -> bytes:
    return header_bytes(LONG, codec, SYNC) + block_bytes(1, data, SYNC)


def snappy_bomb() -> bytes:
    """Return a block that states a gigabyte and more."""
    return b"\xff\xff\xff\xff\x0f" + b"\0" * 8


def deflate_bomb() -> bytes:
    """Return a block of 65 MiB of zeros."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    mebibyte = deflate.compress(bytes(1 << 20)) + deflate.flush(zlib.Z_FULL_FLUSH)
    return 65 * mebibyte + deflate.flush()


DAMAGED = [
    (START + GOOD + GOOD[:-1], f"block 2 at byte {AT} is longer than the rest of the file"),
    (START + GOOD + b"\2", f"block 2 at byte {AT} ends early"),
    (START + GOOD + b"\xff" * 30, f"block 2 at byte {AT} has a number without an end"),
    (START + GOOD + b"\2" + HUGE, "block 2 at byte {AT} states 1,152,921,504,606,846,976 bytes"),
    (START + GOOD + b"\1\2", f"block 2 at byte {AT} states a negative length"),
    (
        START + block_bytes(2**60, b"\2\2a", SYNC),
        "states 1,152,921,504,606,846,976 rows and has 3 bytes",
    ),
    (START + block_bytes(0, b"\2\2a", SYNC), "states 0 rows and has 3 bytes of them"),
    (START + block_bytes(1, b"\2\2ab", SYNC), "has more bytes than its rows"),
    (START + block_bytes(1, b"\2" + HUGE, SYNC), "has bytes that are not rows of the schema"),
    (START + block_bytes(1, b"\2\x11", SYNC), "has bytes that are not rows of the schema"),
    (START + block_bytes(1, b"\2\2a", SYNC[::-1]), "does not end with the marker of the file"),
    (packed("deflate", b"\2\2a"), "cannot be decompressed by codec deflate"),
    (packed("deflate", deflate_bomb()), "has more than 67,108,864 bytes when it is decompressed"),
    (packed("snappy", b"\2\2a"), "ends early"),
    (packed("snappy", b"\1\0a\0\0\0\0"), "cannot be decompressed by codec snappy: its checksum"),
    (packed("snappy", snappy_bomb()), "has more than 67,108,864 bytes when it is decompressed"),
    (packed("zstandard", b"\2\2a"), "cannot be decompressed by codec zstandard"),
    (packed("bzip2", b"\2\2a"), "cannot be decompressed by codec bzip2"),
    (packed("xz", b"\2\2a"), "cannot be decompressed by codec xz"),
]


@pytest.mark.parametrize(("data", "said"), DAMAGED, ids=range(len(DAMAGED)))
def test_damaged_files(data: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(FsqlError) as raised:
        read(tmp_path / "a", (Column("x", BIGINT), Column("s", BYTES)))
    (found,) = raised.value.diagnostics
    assert found.code == "E535"
    assert found.message.startswith(f'reading "{tmp_path}/a" failed: block ')
    assert said.replace("{AT}", f"{AT}") in found.message
    assert found.helps == ("restore the file, or remove it from the path",)


def test_values_that_are_not_of_their_type(tmp_path: Path) -> None:
    number = {"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 0}
    cases: list[tuple[Any, bytes, SqlType, str]] = [
        (COLOURS, b"\4", STRING, "has a value that is not of its enum"),
        (COLOURS, b"\1", STRING, "has a value that is not of its enum"),
        ("int", encode_long(2**31), INT, "has a number that is not of type int"),
        (number, b"\2\x64", decimal_type(2, 0), "has a number with more than 2 digits"),
    ]
    for type_, data, declared, said in cases:
        schema = {"type": "record", "name": "r", "fields": [{"name": "x", "type": type_}]}
        header = header_bytes(json.dumps(schema).encode(), "null", SYNC)
        (tmp_path / "a").write_bytes(header + block_bytes(1, data, SYNC))
        with pytest.raises(FsqlError) as raised:
            read(tmp_path / "a", (Column("x", declared),))
        assert raised.value.diagnostics[0].message == (
            f'reading "{tmp_path}/a" failed: column "x" in rows 0 to 0 {said}'
        )


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "it is not an Avro file"),
        (b"PAR1" + bytes(9), "it is not an Avro file"),
        (START[:-1], "its header ends early"),
        (b"Obj\1" + b"\2" + HUGE, "its header ends early"),
        (b"Obj\1" + HUGE + b"\2a", "its header ends early"),
        (
            b"Obj\1\2" + encode_long(5 << 20) + bytes(5 << 20),
            "its header ends early, or has more than",
        ),
        (b"Obj\1\0" + SYNC, "its header has no schema"),
        (header_bytes(LONG, "lzo", SYNC), "its codec is 'lzo', not one of null, deflate, snappy"),
    ],
)
def test_headers_that_are_not_read(data: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(FsqlError) as raised:
        AvroSplit("a", tmp_path / "a", ()).check()
    (found,) = raised.value.diagnostics
    assert found.code == "E531"
    assert found.message.startswith(f'path "{tmp_path}/a" cannot be read: {said}')
    with pytest.raises(NotInferredError, match=r"^it"):
        infer_file_columns([tmp_path / "a"])


def nested(depth: int) -> str:
    return '{"type":"array","items":' * depth + '"long"' + "}" * depth


def widening(levels: int) -> dict[str, Any]:
    """Return a record whose number of types doubles with every level."""
    type_: Any = "long"
    for level in range(levels):
        fields = [
            {"name": "a", "type": type_},
            {"name": "b", "type": f"l{level - 1}" if level else "long"},
        ]
        type_ = {"type": "record", "name": f"l{level}", "fields": fields}
    return type_


def of_field(type_: Any) -> str:
    return json.dumps({"type": "record", "name": "r", "fields": [{"name": "x", "type": type_}]})


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ("{", "its schema is not JSON"),
        ('"long"', "its schema is that of a value of type long, not of a record"),
        ("7", "its schema has 7 where a type belongs"),
        ("[]", "its schema has a union without types"),
        ("[" * 100_000, "its schema is nested deeper than 64 levels"),
        (nested(1000), "its schema is nested deeper than 64 levels"),
        (nested(65), "its schema is nested deeper than 64 levels"),
        (of_field("nothing"), "its schema has no type 'nothing'"),
        (of_field(["null", "r"]), "its schema contains itself: record 'r'"),
        (of_field("null"), "its rows have no bytes: the schema has no field, or none with values"),
        (
            of_field({"type": "array", "items": "null"}),
            "its schema has an array of items without bytes",
        ),
        (of_field({"type": "enum", "name": "r", "symbols": []}), "its schema has type 'r' twice"),
        (of_field({"type": "enum", "name": "e"}), "its schema has enum 'e' without symbols"),
        (
            of_field({"type": "fixed", "name": "e", "size": -1}),
            "its schema has type 'e' without a size",
        ),
        (of_field({"type": "fixed", "size": 1}), "its schema has a type fixed without a name"),
        ('{"type":"record","name":"r"}', "its schema has record 'r' without fields"),
        (json.dumps(widening(20)), "its schema has more than 10,000 types"),
    ],
)
def test_schemas_that_are_not_read(schema: str, said: str) -> None:
    with pytest.raises(SchemaError) as raised:
        read_schema(schema.encode())
    assert str(raised.value) == said
