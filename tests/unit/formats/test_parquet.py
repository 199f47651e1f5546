"""Parquet: what is written is read, which columns fit, and that a reader goes on in the middle."""

from __future__ import annotations

import datetime
import re
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.logical import Changes, SinkTable
from fsql.compiler.schema import Column, Schema
from fsql.compiler.sqltypes import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DATE_MAX,
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
from fsql.formats.parquet.inferred import infer_file_columns
from fsql.formats.parquet.parts import ParquetParts
from fsql.formats.parquet.split import ParquetSplit
from fsql.runtime.arrow_types import to_arrow
from fsql.runtime.ports import Chunk, Release
from fsql.tests.unit.connectors.reading import read_all

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS: Schema = (
    Column("id", BIGINT),
    Column("small", INT),
    Column("ratio", DOUBLE),
    Column("name", STRING),
    Column("flag", BOOLEAN),
    Column("at", TIMESTAMP),
    Column("gap", INTERVAL),
    Column("tags", array_of(STRING)),
    Column("times", array_of(array_of(TIMESTAMP))),
    Column(
        "customer", row_of((("name", STRING), ("gaps", array_of(row_of((("gap", INTERVAL),))))))
    ),
)
MAPS = pa.map_(pa.string(), pa.timestamp("s"))
ROWS = [
    (
        1,
        -3,
        0.5,
        "a",
        True,
        1_700_000_000_123_456,
        -5,
        ("x", None),
        ((1, None), None, ()),
        ("a", ((5,), None)),
    ),
    (None,) * 10,
    (-(2**63), 2**31 - 1, -0.0, "", False, -1, 0, (), (), (None, None)),
]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    table = SinkTable("out", COLUMNS, (), Changes.APPEND, None)
    columns = [
        to_arrow(list(values), column.type)
        for values, column in zip(zip(*ROWS, strict=True), COLUMNS, strict=True)
    ]
    columns[3] = columns[3].dictionary_encode()
    roots = to_arrow([0, 0, 0], BIGINT).to_numpy()
    parts = ParquetParts(table, 100, "zstd")
    rows = parts.rows(Release(columns, None, roots, roots))
    assert parts.file(rows) == parts.file(pa.concat_tables([rows.slice(0, 1), rows.slice(1)]))
    (tmp_path / "a").write_bytes(parts.file(rows))
    reader = ParquetSplit("a", tmp_path / "a", COLUMNS).open()
    assert list(read_all(reader, COLUMNS, 2).rows.values()) == ROWS


FITS = [
    (pa.array([1, 2], pa.int8()), INT, [1, 2]),
    (pa.array([2**32 - 1], pa.uint32()), BIGINT, [2**32 - 1]),
    (pa.array([2**64 - 1, 0, None], pa.uint64()), decimal_type(20, 0), [2**64 - 1, 0, None]),
    (pa.array([2**64 - 1], pa.uint64()), decimal_type(22, 2), [100 * (2**64 - 1)]),
    (pa.array([255], pa.uint8()), decimal_type(3, 0), [255]),
    (pa.array([255, None], pa.uint8()), USMALLINT, [255, None]),
    (pa.array([2**32 - 1], pa.uint32()), UBIGINT, [2**32 - 1]),
    (pa.array([[2**64 - 1], None], pa.list_(pa.uint64())), array_of(UBIGINT), [(2**64 - 1,), None]),
    (pa.array([1, 2], pa.int32()), DOUBLE, [1.0, 2.0]),
    (pa.array([0.5], pa.float32()), DOUBLE, [0.5]),
    (pa.array(["a", "b", "a"]).dictionary_encode(), STRING, ["a", "b", "a"]),
    (pa.array(["a"], pa.large_string()), STRING, ["a"]),
    (pa.array([b"\xe9"], pa.large_binary()), BYTES, ["\xe9"]),
    (pa.array([b"ab", None], pa.binary(2)), BYTES, ["ab", None]),
    (pa.array([-1, 1_999], pa.timestamp("ns")), TIMESTAMP, [-1, 1]),
    (pa.array([3], pa.timestamp("ms", "Europe/Berlin")), TIMESTAMP, [3_000]),
    (pa.array([datetime.date(1970, 1, 2)]), TIMESTAMP, [86_400_000_000]),
    (pa.array([datetime.date(1969, 12, 31), None]), DATE, [-1, None]),
    (pa.array([86_400_000], pa.int64()).view(pa.date64()), DATE, [1]),
    (pa.array([1, None], pa.time32("s")), TIME, [1_000_000, None]),
    (pa.array([1_999], pa.time64("ns")), TIME, [1]),
    (pa.array([[1], None], pa.list_(pa.int16())), array_of(BIGINT), [(1,), None]),
    (pa.array([[None], None], pa.list_(pa.null())), array_of(INT), [(None,), None]),
    *(
        (pa.nulls(2), declared, [None, None])
        for declared in (
            *(STRING, INT, BOOLEAN, DATE, TIME, TIMESTAMP, BYTES, UBIGINT, decimal_type(9, 2)),
            *(array_of(INT), map_of(STRING, INT), row_of((("x", STRING),))),
        )
    ),
]


@pytest.mark.parametrize(("array", "declared", "values"), FITS)
def test_types_that_fit(
    array: pa.Array, declared: SqlType, values: list[object], tmp_path: Path
) -> None:
    pq.write_table(pa.table({"other": array, "x": array}), tmp_path / "a")
    columns = (Column("x", declared),)
    read = read_all(ParquetSplit("a", tmp_path / "a", columns).open(), columns, 9)
    assert [row[0] for row in read.rows.values()] == values


@pytest.mark.parametrize(
    ("array", "declared"),
    [
        (pa.array([1]), INT),
        (pa.array([1], pa.uint8()), TINYINT),
        (pa.array([1], pa.uint16()), SMALLINT),
        (pa.array([0.5]), FLOAT),
        (pa.array([1], pa.uint64()), BIGINT),
        (pa.array([1], pa.int8()), UBIGINT),
        (pa.array([1], pa.uint16()), UTINYINT),
        (pa.array([1], pa.uint64()), decimal_type(19, 0)),
        (pa.array([0.5]), BIGINT),
        (pa.array([b"a"]), STRING),
        (pa.array(["a"]), BYTES),
        (pa.array(["1"]), BIGINT),
        (pa.array([1]), TIMESTAMP),
        (pa.array([1]), DATE),
        (pa.array([1]), TIME),
        (pa.array([0], pa.timestamp("us")), DATE),
        (pa.array([1]), array_of(BIGINT)),
        (pa.array([[1]]), BIGINT),
        (pa.array([[]], MAPS), map_of(STRING, STRING)),
        (pa.array([["a"]]), map_of(STRING, TIMESTAMP)),
    ],
)
def test_types_that_do_not_fit(array: pa.Array, declared: SqlType, tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": array}), tmp_path / "a")
    said = f'its column "x" is .*, which is not read as {re.escape(str(declared))}'
    with pytest.raises(FsqlError, match=said):
        ParquetSplit("a", tmp_path / "a", (Column("x", declared),)).check()


def test_a_file_without_the_columns(tmp_path: Path) -> None:
    pq.write_table(pa.table({"price": [1]}), tmp_path / "a")
    with pytest.raises(FsqlError, match='it has no column "prise"') as raised:
        ParquetSplit("a", tmp_path / "a", (Column("prise", BIGINT),)).check()
    assert raised.value.diagnostics[0].helps == ("a column with a similar name exists: 'price'",)
    (tmp_path / "b").write_bytes(b"no such file")
    with pytest.raises(FsqlError, match="E531"):
        ParquetSplit("b", tmp_path / "b", ()).check()


def test_bytes(tmp_path: Path) -> None:
    columns = (Column("a", BYTES), Column("b", array_of(row_of((("x", BYTES),)))))
    rows = [("\xff\0", (("a",), None, (None,))), (None, None), ("", ())]
    arrays = [
        to_arrow(list(values), column.type)
        for values, column in zip(zip(*rows, strict=True), columns, strict=True)
    ]
    roots = to_arrow([0, 0, 0], BIGINT).to_numpy()
    parts = ParquetParts(SinkTable("out", columns, (), Changes.APPEND, None), 10, "zstd")
    (tmp_path / "a").write_bytes(parts.file(parts.rows(Release(arrays, None, roots, roots))))
    assert pq.read_table(tmp_path / "a").column("a").to_pylist() == [b"\xff\0", None, b""]
    read = read_all(ParquetSplit("a", tmp_path / "a", columns).open(), columns, 9)
    assert list(read.rows.values()) == rows


def test_maps(tmp_path: Path) -> None:
    columns = (
        Column("a", map_of(STRING, array_of(BYTES))),
        Column("b", array_of(map_of(DATE, row_of((("x", INTERVAL),))))),
    )
    rows = [
        ((("a", ("\xff", None)), ("b", None)), (((1, (5,)), (2, None)), None, ())),
        (None, None),
        ((), ()),
    ]
    arrays = [
        to_arrow(list(values), column.type)
        for values, column in zip(zip(*rows, strict=True), columns, strict=True)
    ]
    roots = to_arrow([0, 0, 0], BIGINT).to_numpy()
    parts = ParquetParts(SinkTable("out", columns, (), Changes.APPEND, None), 10, "zstd")
    (tmp_path / "a").write_bytes(parts.file(parts.rows(Release(arrays, None, roots, roots))))
    written = pq.read_table(tmp_path / "a")
    assert pa.types.is_map(written.schema.field("a").type)
    assert written.column("a").to_pylist() == [[("a", [b"\xff", None]), ("b", None)], None, []]
    read = read_all(ParquetSplit("a", tmp_path / "a", columns).open(), columns, 9)
    assert list(read.rows.values()) == rows


def test_maps_of_others_are_sorted_and_have_each_key_once(tmp_path: Path) -> None:
    maps = [[("b", 1), ("a", None)], None, [("a", 1), ("a", 2)], [("a", 2**40)], []]
    pq.write_table(pa.table({"m": pa.array(maps, MAPS)}), tmp_path / "a")
    columns = (Column("m", map_of(STRING, TIMESTAMP)),)
    read = read_all(ParquetSplit("a", tmp_path / "a", columns).open(), columns, 2)
    assert read.rows == {0: ((("a", None), ("b", 1_000_000)),), 1: (None,), 4: ((),)}
    assert [(each.row, each.code, each.field) for each in read.dead_letters] == [
        (2, 512, "m"),
        (3, 512, "m"),
    ]


def test_small_numbers(tmp_path: Path) -> None:
    columns = (
        *(Column("a", TINYINT), Column("b", SMALLINT), Column("c", FLOAT)),
        *(Column("d", UTINYINT), Column("e", USMALLINT), Column("f", UINT), Column("g", UBIGINT)),
    )
    rows = [
        (-128, 32_767, 0.10000000149011612, 255, 65_535, 2**32 - 1, 2**64 - 1),
        (None,) * 7,
        (0, 0, -0.0, 0, 0, 0, 0),
    ]
    arrays = [
        to_arrow(list(values), column.type)
        for values, column in zip(zip(*rows, strict=True), columns, strict=True)
    ]
    roots = to_arrow([0, 0, 0], BIGINT).to_numpy()
    parts = ParquetParts(SinkTable("out", columns, (), Changes.APPEND, None), 10, "zstd")
    (tmp_path / "a").write_bytes(parts.file(parts.rows(Release(arrays, None, roots, roots))))
    kinds = [str(field.type) for field in pq.read_schema(tmp_path / "a")]
    assert kinds == ["int8", "int16", "float", "uint8", "uint16", "uint32", "uint64"]
    assert infer_file_columns([tmp_path / "a"]) == (columns, ())
    read = read_all(ParquetSplit("a", tmp_path / "a", columns).open(), columns, 9)
    assert list(read.rows.values()) == rows


def test_a_day_out_of_range_makes_a_row_malformed(tmp_path: Path) -> None:
    columns = (Column("day", DATE),)
    days = pa.array([DATE_MAX, DATE_MAX + 1, None], pa.int32()).view(pa.date32())
    pq.write_table(pa.table({"day": days}), tmp_path / "a")
    read = read_all(ParquetSplit("a", tmp_path / "a", columns).open(), columns, 9)
    assert read.rows == {0: (DATE_MAX,), 2: (None,)}
    assert [(each.row, each.code, each.field) for each in read.dead_letters] == [(1, 520, "day")]


def test_values_that_make_a_row_malformed(tmp_path: Path) -> None:
    columns = (Column("n", BIGINT, nullable=False), Column("s", STRING), Column("at", TIMESTAMP))
    bad = pa.array([b"a", b"\xff", b"b", None], pa.binary()).view(pa.string())
    at = pa.array([0, 0, 10**12, 0], pa.timestamp("s"))
    pq.write_table(pa.table({"n": [1, 2, 3, None], "s": bad, "at": at}), tmp_path / "a")
    read = read_all(ParquetSplit("a", tmp_path / "a", columns).open(), columns, 9)
    assert read.rows == {0: (1, "a", 0)}
    assert [(each.row, each.code, each.field) for each in read.dead_letters] == [
        (1, 515, "s"),
        (2, 520, "at"),
        (3, 521, "n"),
    ]


@pytest.mark.parametrize(
    ("read", "rows", "malformed"),
    [
        ({"n"}, {0: (1, None, None), 1: (2, None, None), 2: (3, None, None)}, [(3, "n")]),
        ({"s"}, {0: (None, "a", None), 2: (None, "b", None), 3: (None, None, None)}, [(1, "s")]),
        (set(), dict.fromkeys(range(4), (None, None, None)), []),
        ({"n", "s", "at"}, {0: (1, "a", 0)}, [(1, "s"), (2, "at"), (3, "n")]),
    ],
)
def test_columns_that_are_not_read_are_not_judged(
    read: set[str],
    rows: dict[int, tuple[object, ...]],
    malformed: list[tuple[int, str]],
    tmp_path: Path,
) -> None:
    columns = (Column("n", BIGINT, nullable=False), Column("s", STRING), Column("at", TIMESTAMP))
    bad = pa.array([b"a", b"\xff", b"b", None], pa.binary()).view(pa.string())
    at = pa.array([0, 0, 10**12, 0], pa.timestamp("s"))
    pq.write_table(pa.table({"n": [1, 2, 3, None], "s": bad, "at": at}), tmp_path / "a")
    split = ParquetSplit("a", tmp_path / "a", columns, read=frozenset(read))
    found = read_all(split.open(), columns, 3)
    assert found.rows == rows
    assert [(each.row, each.field) for each in found.dead_letters] == malformed


def texts_of(split: ParquetSplit, rows_max: int) -> list[pa.Array]:
    """Return the first column of each chunk."""
    reader, found = split.open(), []
    while (chunk := reader.read(rows_max)) is not None:
        assert isinstance(chunk, Chunk)
        assert not chunk.dead_letters
        found.append(chunk.columns[0])
    return found


@pytest.mark.parametrize("use_dictionary", [True, False])
def test_texts_that_repeat_have_a_dictionary(tmp_path: Path, *, use_dictionary: bool) -> None:
    texts = ["ann", None, "bob"] * 1000
    pq.write_table(pa.table({"s": texts}), tmp_path / "a", use_dictionary=use_dictionary)
    split = ParquetSplit("a", tmp_path / "a", (Column("s", STRING),))
    [found] = texts_of(split, 3000)
    assert found.type == pa.dictionary(pa.int32(), pa.string())
    assert found.dictionary.to_pylist() == ["ann", "bob"]
    assert found.to_pylist() == texts
    # It has at least 16 rows for each value.
    parts = texts_of(split, 3)
    assert {each.type for each in parts} == {pa.string()}
    assert [text for each in parts for text in each.to_pylist()] == texts


@pytest.mark.parametrize("use_dictionary", [True, False])
def test_texts_that_repeat_no_more(tmp_path: Path, *, use_dictionary: bool) -> None:
    texts = [*(["ann", "bob"] * 1500), *(f"text {n}" for n in range(6000)), *(["bob"] * 3000)]
    pq.write_table(
        pa.table({"s": texts}), tmp_path / "a", row_group_size=3000, use_dictionary=use_dictionary
    )
    found = texts_of(ParquetSplit("a", tmp_path / "a", (Column("s", STRING),)), 3000)
    assert [pa.types.is_dictionary(each.type) for each in found] == [True, False, False, False]
    assert [text for each in found for text in each.to_pylist()] == texts


def test_a_dictionary_may_end_within_the_rows(tmp_path: Path) -> None:
    texts = [*(["a", "b"] * 20_000), *(f"a text of its own {n}" for n in range(500)), "b", None]
    limits = {"dictionary_pagesize_limit": 1000, "data_page_size": 1000, "write_batch_size": 100}
    pq.write_table(pa.table({"s": texts}), tmp_path / "a", **limits)
    found = texts_of(ParquetSplit("a", tmp_path / "a", (Column("s", STRING),)), 65_536)
    assert [text for each in found for text in each.to_pylist()] == texts


@pytest.mark.parametrize("use_dictionary", [True, False])
def test_a_text_that_repeats_and_is_malformed(tmp_path: Path, *, use_dictionary: bool) -> None:
    bad = pa.array([b"a", b"\xff", None, b"b"] * 1000, pa.binary()).view(pa.string())
    pq.write_table(pa.table({"s": bad}), tmp_path / "a", use_dictionary=use_dictionary)
    columns = (Column("s", STRING, nullable=False),)
    found = read_all(ParquetSplit("a", tmp_path / "a", columns).open(), columns, 4000)
    assert found.rows == {row: ("ab"[row % 4 == 3],) for row in range(4000) if row % 4 in {0, 3}}
    assert [(each.row, each.code) for each in found.dead_letters] == [
        (row, 515 if row % 4 == 1 else 521) for row in range(4000) if row % 4 in {1, 2}
    ]


def test_a_reader_goes_on_in_the_middle(tmp_path: Path) -> None:
    columns = (Column("n", BIGINT),)
    path = tmp_path / "a"
    pq.write_table(pa.table({"n": list(range(50))}), path, row_group_size=20)
    split = ParquetSplit("a", path, columns)
    size = read_all(split.open(), columns, 7).bytes_read
    for read in (0, 1, 19, 20, 21, 40, 49, 50):
        reader = split.open()
        passed = 0
        for _ in range(read):
            chunk = reader.read(1)
            assert isinstance(chunk, Chunk)
            passed += chunk.bytes_read
        source_offset = reader.source_offset()
        assert (source_offset.row, source_offset.line, source_offset.byte) == (read, 0, passed)
        rest = read_all(split.open(source_offset), columns, 9)
        assert list(rest.rows.items()) == [(n, (n,)) for n in range(read, 50)]
        assert rest.bytes_read == size - passed
    pq.write_table(pa.table({"n": list(range(51))}), path)
    with pytest.raises(FsqlError, match="E536"):
        split.open(source_offset)


def test_a_column_without_a_type_is_inferred_as_text(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1], "b": pa.nulls(1)}), tmp_path / "a")
    assert infer_file_columns([tmp_path / "a"])[0] == (Column("a", BIGINT), Column("b", STRING))
