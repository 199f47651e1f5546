"""CSV: the fast half agrees with the exact one, what is written is read, what is malformed is told."""

from __future__ import annotations

import csv
import io
import math
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.schema import Column, Schema
from fsql.compiler.sqltypes import (
    BIGINT,
    BOOLEAN,
    DATE,
    DATE_MIN,
    DOUBLE,
    INT,
    INTERVAL,
    STRING,
    TIMESTAMP,
)
from fsql.formats.csv.decoder import CsvDecoder
from fsql.formats.csv.encoder import CsvEncoder
from fsql.formats.csv.records import Dialect
from fsql.runtime.arrow_types import to_arrow
from fsql.tests.seeds import chosen_seeds
from fsql.tests.unit.connectors.reading import Read, read_bytes

if TYPE_CHECKING:
    from fsql.compiler.expression import Value
    from fsql.formats.lines import DecodedRows, Lines

COLUMNS: Schema = (
    Column("id", BIGINT, nullable=False),
    Column("small", INT),
    Column("ratio", DOUBLE),
    Column("name", STRING),
    Column("flag", BOOLEAN),
    Column("at", TIMESTAMP),
    Column("gap", INTERVAL),
)
PLAIN = Dialect(",", '"', '"', "")
ODD = Dialect(";", "'", "\\", "NULL")
FIELDS = (
    "1", "-7", "0", "+5", " 3 ", "007", "2147483648", "9223372036854775807", "9223372036854775808",
    "1.5", "-0", "-0.0", "1e3", "1e999", "NaN", "Infinity", "-Infinity", ".5", "1.", "0x1F", "inf",
    "true", "TRUE", "false", "t", "", '""', "NULL", "'NULL'", "a", '"a b"', '"x, y"', '"q""q"', '5" disk',
    '"a"b', '"open', "'it\\'s'", "a;b", "2024-01-01", "2024-01-01T00:00:00Z", "2024-02-30", "1704067200000",
    "é", " ", "a\rb", "1970-01-01T00:00:00.123456789Z",
)  # fmt: skip


class ExactDecoder(CsvDecoder):
    """Never asks Arrow."""

    def _split_block(self, lines: Lines) -> None:
        del lines


def decoder(
    dialect: Dialect = PLAIN,
    columns: Schema = COLUMNS,
    *,
    header: bool = False,
    exact: bool = False,
) -> CsvDecoder:
    return (ExactDecoder if exact else CsvDecoder)(columns, dialect, 200, has_header=header)


def shown(read: Read) -> tuple[list[tuple[int, str]], object]:
    """Return what was read so that NaN equals NaN and the zeros differ."""
    return [(number, repr(row)) for number, row in sorted(read.rows.items())], read.dead_letters


@pytest.mark.parametrize("seed", chosen_seeds(70))
def test_the_fast_half_reads_what_the_exact_half_reads(seed: int) -> None:
    random = Random(seed)
    dialect = random.choice([PLAIN, PLAIN, ODD])
    fields = FIELDS if seed % 3 else [each for each in FIELDS if '"' not in each]
    lines = []
    for _ in range(random.randrange(40)):
        width = len(COLUMNS) if random.random() < 0.95 else random.randrange(9)
        record = [random.choice(fields) if random.random() < 0.3 else "1" for _ in range(width)]
        lines.append(dialect.delimiter.join(record))
    data = random.choice(["\n", "\r\n"]).join(lines).encode()
    if random.random() < 0.1:
        data = data.replace(b"1", b"\xff", 1)
    read = read_bytes(data, COLUMNS, decoder(dialect))
    assert shown(read) == shown(read_bytes(data, COLUMNS, decoder(dialect, exact=True)))
    cut = read_bytes(
        data,
        COLUMNS,
        decoder(dialect),
        rows_max=random.randrange(1, 9),
        block_bytes=random.choice([7, 64]),
    )
    assert shown(cut) == shown(read)


@pytest.mark.parametrize("exact", [False, True])
def test_dates(exact: bool) -> None:  # noqa: FBT001 - which half reads
    columns = (Column("n", BIGINT), Column("day", DATE))
    data = b"1,2024-02-29\n2,\n3, 1969-12-31 \n4,2023-02-29\n5,2024-01-01T24:00\n"
    data += b"6,2024-01-01T01:00\n7,0001-01-01\n"
    read = read_bytes(data, columns, decoder(columns=columns, exact=exact))
    assert read.rows == {0: (1, 19_782), 1: (2, None), 2: (3, -1), 5: (6, 19_723), 6: (7, DATE_MIN)}
    assert [(each.row, each.code, each.reason) for each in read.dead_letters] == [
        (3, 520, 'expected DATE, found "2023-02-29"'),
        (4, 520, 'expected DATE, found "2024-01-01T24:00"'),
    ]


def test_quotes_that_are_plain_need_no_exact_half(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(self: CsvDecoder, *given: object) -> DecodedRows:
        raise AssertionError((self, given))

    monkeypatch.setattr(CsvDecoder, "_split_lines", never)
    read = read_bytes(b'1,"a ""b"", c"\n2,\n3,""\n', *_two())
    assert read.rows == {0: (1, 'a "b", c'), 1: (2, None), 2: (3, "")}


def _two() -> tuple[Schema, CsvDecoder]:
    columns = (Column("n", BIGINT), Column("s", STRING))
    return columns, decoder(columns=columns)


MALFORMED = {
    b"1": (523, "", "the record has 1 field, and 2 are expected"),
    b"1,a,b": (523, "", "the record has 3 fields, and 2 are expected"),
    b'1,"a': (523, "", "a quoted field is not closed"),
    b'1,"a"b': (523, "", "text follows the closing quote of field 2"),
    b"x,a": (513, "n", 'expected BIGINT, found "x"'),
    b"1.5,a": (513, "n", 'expected BIGINT, found "1.5"'),
    b"9223372036854775808,a": (514, "n", "the number does not fit BIGINT"),
    b"1,\xff": (515, "", "byte 2 of the record, 0xff, is not UTF-8; it reads as cp1252"),
    b"1," + b"a" * 200: (517, "", "the record is longer than 200 bytes"),
}


@pytest.mark.parametrize("record", MALFORMED)
def test_what_is_malformed_is_told_with_its_place(record: bytes) -> None:
    columns, made = _two()
    read = read_bytes(b"1,a\n\n" + record + b"\n2,b\n", columns, made)
    assert read.rows == {0: (1, "a"), 2: (2, "b")}
    [dead_letter] = read.dead_letters
    assert (dead_letter.code, dead_letter.field, dead_letter.reason) == MALFORMED[record]
    assert (dead_letter.row, dead_letter.line, dead_letter.byte) == (1, 3, 5)


def test_a_value_that_is_required() -> None:
    columns = (Column("n", BIGINT, nullable=False), Column("s", STRING))
    read = read_bytes(b",a\n2,b\n", columns, decoder(columns=columns))
    assert read.rows == {1: (2, "b")}
    assert [(each.code, each.field) for each in read.dead_letters] == [(521, "n")]


def test_of_one_column_an_empty_line_is_a_row() -> None:
    columns = (Column("s", STRING),)
    made = decoder(columns=columns)
    assert read_bytes(b'a\n\n""\n', columns, made).rows == {0: ("a",), 1: (None,), 2: ("",)}


def test_columns_are_found_by_the_header() -> None:
    columns = (Column("n", BIGINT), Column("s", STRING))
    made = decoder(columns=columns, header=True)
    made.take_header(b'"s",other,n', "t.csv", ordered=False)
    read = read_bytes(b'"s",other,n\na,b,1\n,,\n', columns, made)
    assert read.rows == {0: (1, "a"), 1: (None, None)}


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (b"n,t", 'its header has no column "s"'),
        (b"n,s,n", 'its header has column "n" twice'),
        (b'n,"s', "its header is malformed: a quoted field is not closed"),
    ],
)
def test_a_header_without_the_columns_is_refused(header: bytes, said: str) -> None:
    columns = (Column("n", BIGINT), Column("s", STRING))
    with pytest.raises(FsqlError, match=f'path "t.csv" cannot be read: {said}'):
        decoder(columns=columns, header=True).take_header(header, "t.csv", ordered=False)


@pytest.mark.parametrize(
    ("header", "note", "help_"),
    [
        (b"1,ann", 'it has "1", "ann"', "if the first line is a row, declare 'header' = 'false'"),
        (b"n,S", 'it has "n", "S"', "a column with a similar name exists: 'S'"),
        (b"n,text", 'it has "n", "text"', "declare the columns by their names in the header"),
        (
            b"n;s",
            'it has "n;s"',
            "declare 'delimiter' = ';', if that is the delimiter of the file",
        ),
        (
            b"n\ts",
            r'it has "n\ts"',
            r"declare 'delimiter' = '\t', if that is the delimiter of the file",
        ),
    ],
)
def test_the_error_of_a_header_says_what_it_has(header: bytes, note: str, help_: str) -> None:
    columns = (Column("n", BIGINT), Column("s", STRING))
    with pytest.raises(FsqlError) as failed:
        decoder(columns=columns, header=True).take_header(header, "t.csv", ordered=False)
    (diagnostic,) = failed.value.diagnostics
    assert (diagnostic.notes, diagnostic.helps) == ((note,), (help_,))


def test_a_stream_needs_its_columns_in_order() -> None:
    columns = (Column("n", BIGINT), Column("s", STRING))
    with pytest.raises(FsqlError, match="its header has to be n,s"):
        decoder(columns=columns, header=True).take_header(b"s,n", "stdin", ordered=True)


def _drawn(random: Random) -> tuple[Value, ...]:
    text = random.choice(
        ["", "NULL", "a", 'q"q', "x, y; z", "'", "\\", "é", " ", "\n", 'a\r\n\n"b', "c\n\\"]
    )
    row: tuple[Value, ...] = (
        random.randrange(-5, 5),
        random.choice([-(2**31), 0, 7]),
        random.choice([0.1, -0.0, math.inf, 1e300, 5.0]),
        text,
        random.random() < 0.5,
        random.randrange(10**16),
        random.randrange(-(10**6), 10**6),
    )
    return (row[0], *(value if random.random() < 0.8 else None for value in row[1:]))


@pytest.mark.parametrize("dialect", [PLAIN, ODD], ids=["plain", "odd"])
@pytest.mark.parametrize("seed", chosen_seeds(7))
def test_what_is_written_is_read(dialect: Dialect, seed: int) -> None:
    random = Random(seed)
    rows = [_drawn(random) for _ in range(random.randrange(1, 50))]
    encoder = CsvEncoder(COLUMNS, dialect, None, header=True)
    columns = [
        to_arrow(values, column.type)
        for values, column in zip(zip(*rows, strict=True), COLUMNS, strict=True)
    ]
    data = b"".join(map(bytes, encoder.encode(columns)))
    lines = [line for part in encoder.encode_rows(columns, None) for line in part.to_pylist()]
    assert (len(lines), b"".join(lines)) == (len(rows), data)
    assert encoder.header == dialect.delimiter.join(each.name for each in COLUMNS).encode() + b"\n"
    assert list(read_bytes(data, COLUMNS, decoder(dialect)).rows.values()) == rows
    if dialect is PLAIN:
        read = list(csv.reader(io.StringIO(data.decode()), strict=True))
        assert [record[3] for record in read] == [row[3] or "" for row in rows]


def test_changes_have_a_first_column() -> None:
    columns = (Column("n", BIGINT), Column("s", STRING))
    encoder = CsvEncoder(columns, PLAIN, "op", header=True)
    rows = [pa.array([1, 2]), pa.array(["two\nlines", "x"]).dictionary_encode()]
    data = b"".join(map(bytes, encoder.encode(rows, np.array([0, 2], np.int8))))
    assert encoder.header + data == b'op,n,s\n+I,1,"two\nlines"\n+U,2,x\n'
