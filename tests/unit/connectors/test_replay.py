"""Sources that are read again from a place on: it is noticed when they are not what was read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT, STRING
from fsql.connectors.context import ConnectorContext
from fsql.connectors.opening import open_source
from fsql.connectors.streams.replay import CHECKED_BYTES
from fsql.runtime.ports import Chunk, SourceOffset
from fsql.tests.unit.connectors.reading import read_all
from fsql.tests.unit.connectors.tables import table
from fsql.tests.unit.descriptors import left_open, open_descriptors

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.compiler.schema import Schema
    from fsql.runtime.ports import Split

LINE: Schema = (Column("line", STRING),)


def written(tmp_path: Path, data: bytes) -> Split:
    (tmp_path / "f").write_bytes(data)
    (split,) = open_source(
        table(LINE, connector="file", path="f", format="text"), ConnectorContext(tmp_path)
    )
    return split


def place_behind(split: Split, rows: int) -> SourceOffset:
    reader = split.open()
    while (source_offset := reader.source_offset()).row < rows:
        assert isinstance(reader.read(rows - source_offset.row), Chunk)
    reader.close()
    return source_offset


def rest(split: Split, source_offset: SourceOffset) -> list[tuple[int, object]]:
    reader = split.open(source_offset)
    try:
        return [(row, value) for row, (value,) in read_all(reader, LINE, 100).rows.items()]
    finally:
        reader.close()


def refused(split: Split, source_offset: SourceOffset) -> str:
    before = open_descriptors()
    with pytest.raises(FsqlError) as caught:
        split.open(source_offset)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "E536"
    assert left_open(before) == set()
    return diagnostic.message.rpartition(": ")[2]


def test_a_file_that_grew_is_read_on(tmp_path: Path) -> None:
    source_offset = place_behind(written(tmp_path, b"a\nb\n"), 2)
    split = written(tmp_path, b"a\nb\nc\nd")
    assert rest(split, source_offset) == [(2, "c"), (3, "d")]


def test_a_file_that_was_cut_is_refused(tmp_path: Path) -> None:
    source_offset = place_behind(written(tmp_path, b"a\nb\nc\n"), 3)
    assert refused(written(tmp_path, b"a\nb\n"), source_offset) == "it has 4 bytes now"


def test_a_file_with_other_bytes_before_the_place_is_refused(tmp_path: Path) -> None:
    source_offset = place_behind(written(tmp_path, b"a\nb\nc\n"), 2)
    reason = "its contents before that have changed"
    assert refused(written(tmp_path, b"a\nB\nc\n"), source_offset) == reason
    assert rest(written(tmp_path, b"a\nb\nC\n"), source_offset) == [(2, "C")]


def test_the_check_is_cheap_and_looks_at_the_last_bytes_only(tmp_path: Path) -> None:
    line = b"x" * 99 + b"\n"
    rows = CHECKED_BYTES // len(line) + 2
    source_offset = place_behind(written(tmp_path, line * (rows + 1)), rows)
    other = b"y" + line[1:]
    assert rest(written(tmp_path, other + line * rows), source_offset) == [(rows, "x" * 99)]
    assert refused(
        written(tmp_path, 2 * line + other + line * (rows - 2)), source_offset
    ).startswith("its contents")


def test_a_last_line_that_goes_on_is_refused(tmp_path: Path) -> None:
    source_offset = place_behind(written(tmp_path, b"a\nb"), 2)
    assert rest(written(tmp_path, b"a\nb"), source_offset) == []
    assert (
        refused(written(tmp_path, b"a\nbc\n"), source_offset)
        == "the line that ended there now continues"
    )


def test_a_stream_cannot_be_read_again(tmp_path: Path) -> None:
    (split,) = open_source(
        table(LINE, connector="stdin", format="text"), ConnectorContext(tmp_path)
    )
    assert refused(split, SourceOffset(1, 2, 2)) == "a stream can be read once only"


@pytest.mark.parametrize("connector", ["documents", "words"])
def test_a_generator_makes_any_row_without_those_before(tmp_path: Path, connector: str) -> None:
    columns: Schema = (Column("id", BIGINT), Column("line", STRING))
    seconds = [0.0]
    made = table(columns, connector=connector, count="100", rate="10")
    (split,) = open_source(made, ConnectorContext(tmp_path, clock=lambda: seconds[0]))
    reader = split.open()
    rows = []
    for _ in range(10):
        chunk = reader.read(1000)
        assert isinstance(chunk, Chunk)
        rows += chunk.columns[1].to_pylist()
        seconds[0] += 1
    assert (len(rows), reader.source_offset()) == (91, SourceOffset(91, 0, 0))
    again = split.open(SourceOffset(40, 0, 0))
    chunk = again.read(1000)
    assert isinstance(chunk, Chunk)
    assert chunk.columns[1].to_pylist() == rows[40:41]
    assert chunk.rows.tolist() == [40]
    seconds[0] += 2
    chunk = again.read(1000)
    assert isinstance(chunk, Chunk)
    assert chunk.columns[1].to_pylist() == rows[41:61]
