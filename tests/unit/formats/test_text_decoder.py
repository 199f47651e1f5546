"""Text lines: every line a row, whatever the cut; what is not UTF-8 or too long is rejected alone."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import strategies as st

from fsql.compiler.schema import Column, Schema
from fsql.compiler.sqltypes import STRING
from fsql.formats.text.decoder import TextDecoder
from fsql.formats.text.encoder import TextEncoder
from fsql.runtime.ports import DeadLetter
from fsql.tests.unit.connectors.reading import Read, read_bytes
from fsql.tests.unit.formats.drawn import drawn

LINE: Schema = (Column("line", STRING),)


def read(data: bytes, bytes_max: int = 20, rows_max: int = 10**6, block: int = 1 << 20) -> Read:
    return read_bytes(data, LINE, TextDecoder(bytes_max), rows_max=rows_max, block_bytes=block)


def test_whole_output() -> None:
    data = (
        b"\xef\xbb\xbffirst\r\n\n\xc3\xa9 \x00\r\r\nbad \xff\n" + b"x" * 21 + b"\n\xc3\n\xa9\nlast"
    )
    assert read(data) == Read(
        {0: ("first",), 1: ("",), 2: ("é \0\r",), 7: ("last",)},
        [
            DeadLetter(
                3,
                4,
                18,
                515,
                "",
                "byte 4 of the record, 0xff, is not UTF-8; it reads as cp1252",
                "bad \\xff",
            ),
            DeadLetter(4, 5, 24, 517, "", "the record is longer than 20 bytes", "x" * 21),
            DeadLetter(
                5,
                6,
                46,
                515,
                "",
                "byte 0 of the record, 0xc3, is not UTF-8; it reads as cp1252",
                "\\xc3",
            ),
            DeadLetter(
                6,
                7,
                48,
                515,
                "",
                "byte 0 of the record, 0xa9, is not UTF-8; it reads as cp1252",
                "\\xa9",
            ),
        ],
        len(data),
    )


PIECES = st.lists(
    st.sampled_from([b"\n", b"\r\n", b"a", b"bcd", b"\x00", b"\xc3\xa9", b"\xc3", b"e" * 30]),
    max_size=30,
)


@drawn(100, PIECES, st.integers(1, 12), st.integers(1, 70))
def test_rows_are_those_of_the_naive_reader(pieces: list[bytes], rows_max: int, block: int) -> None:
    data = b"".join(pieces)
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    rows = {}
    codes = {}
    for number, line in enumerate(lines):
        content = line.removesuffix(b"\r")
        try:
            text = content.decode()
        except UnicodeDecodeError:
            codes[number] = 515
        else:
            rows[number] = (text,)
        if len(content) > 20:
            rows.pop(number, None)
            codes[number] = 517
    result = read(data, rows_max=rows_max, block=block)
    assert result.rows == rows
    assert {dead_letter.row: dead_letter.code for dead_letter in result.dead_letters} == codes
    assert result == read(data)
    assert result.bytes_read == len(data)


def test_each_row_is_a_line() -> None:
    column = pa.array(["a", None, "wörter", ""]).dictionary_encode()
    encoder = TextEncoder()
    assert b"".join(map(bytes, encoder.encode([column], None))) == "a\n\nwörter\n\n".encode()
    [lines] = encoder.encode_rows([column], None)
    assert lines.to_pylist() == [b"a\n", b"\n", "wörter\n".encode(), b"\n"]
