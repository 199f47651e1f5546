"""Reading bytes through a reader, in any cut, and what came of it as plain values."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, NamedTuple

from fsql.connectors.streams.blocks import FileBlocks
from fsql.connectors.streams.line_reader import LineReader
from fsql.runtime.arrow_types import from_arrow
from fsql.runtime.ports import Chunk

if TYPE_CHECKING:
    from fsql.compiler.expression import Value
    from fsql.compiler.schema import Schema
    from fsql.formats.lines import LineDecoder
    from fsql.runtime.ports import DeadLetter, SplitReader


class Read(NamedTuple):
    """All rows by their numbers, all rejects, and how many bytes were used up."""

    rows: dict[int, tuple[Value, ...]]
    dead_letters: list[DeadLetter]
    bytes_read: int


def read_bytes(
    data: bytes,
    columns: Schema,
    decoder: LineDecoder,
    *,
    rows_max: int = 10**6,
    block_bytes: int = 1 << 20,
) -> Read:
    """Return what a reader makes of a file with these bytes."""
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        reader = LineReader(FileBlocks(os.dup(file.fileno()), "test", block_bytes), decoder)
        read = read_all(reader, columns, rows_max)
        reader.close()
    return read


def read_all(reader: SplitReader, columns: Schema, rows_max: int) -> Read:
    """Return everything that is left in a reader that need not wait."""
    read = Read({}, [], 0)
    while (chunk := reader.read(rows_max)) is not None:
        assert isinstance(chunk, Chunk)
        values = []
        for array, column in zip(chunk.columns, columns, strict=True):
            array.validate(full=True)
            assert len(array) == len(chunk.rows)
            values.append(from_arrow(array, column.type))
        numbers = chunk.rows.tolist()
        assert len(numbers) + len(chunk.dead_letters) <= rows_max
        assert numbers == sorted(numbers)
        known = {*numbers, *(dead_letter.row for dead_letter in chunk.dead_letters)}
        assert known == set(range(min(known), min(known) + len(known))), "a row went missing"
        assert not read.rows.keys() & known
        # They go from process to process, by an encoder that knows no numbers of NumPy.
        assert {
            type(number) for dead_letter in chunk.dead_letters for number in _numbers(dead_letter)
        } <= {int}
        read.rows.update(zip(numbers, zip(*values, strict=True), strict=True))
        read.dead_letters.extend(chunk.dead_letters)
        read = read._replace(bytes_read=read.bytes_read + chunk.bytes_read)
    return read


def _numbers(dead_letter: DeadLetter) -> tuple[int, ...]:
    return dead_letter.row, dead_letter.line, dead_letter.byte, dead_letter.code
