"""The ends of splits: what is noted, and what is said of a split that has grown since."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.connectors.context import ConnectorContext
from fsql.connectors.opening import open_source
from fsql.runtime.hosts.split_ends import RETRY_SECONDS, SplitEnds
from fsql.runtime.ports import Chunk, Wait
from fsql.runtime.state.local_directory import LocalDirectory
from fsql.tests.unit.connectors.tables import table

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.runtime.ports import SourceOffset, Split, SplitReader


def split_of(directory: Path) -> Split:
    (split,) = open_source(table(connector="file", path="a.jsonl"), ConnectorContext(directory))
    return split


def read_to_end(reader: SplitReader) -> SourceOffset:
    while isinstance(reader.read(10), Chunk):
        pass
    source_offset = reader.source_offset()
    reader.close()
    return source_offset


def refused(
    ends: SplitEnds, split: Split, source_offset: SourceOffset | None = None
) -> tuple[str, str]:
    with pytest.raises(FsqlError) as caught:
        read_to_end(ends.open(3, "t", split, source_offset))
    [diagnostic] = caught.value.diagnostics
    return diagnostic.code, diagnostic.message


def test_a_split_that_is_as_it_was_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"n":1}\n{"n":2}\n')
    split = split_of(tmp_path)
    end = read_to_end(SplitEnds(LocalDirectory(tmp_path)).open(3, "t", split, None))
    assert read_to_end(SplitEnds(LocalDirectory(tmp_path)).open(3, "t", split, None)) == end
    assert read_to_end(SplitEnds(LocalDirectory(tmp_path)).open(3, "t", split, end)) == end


def test_a_split_that_has_grown_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(b'{"n":1}\n{"n":2}\n')
    split = split_of(tmp_path)
    end = read_to_end(SplitEnds(LocalDirectory(tmp_path)).open(3, "t", split, None))
    file.write_bytes(b'{"n":1}\n{"n":2}\n{"n":3}\n')
    said = ("E538", 'split "a.jsonl" of table "t" has grown since its end was read')
    assert refused(SplitEnds(LocalDirectory(tmp_path)), split) == said
    assert refused(SplitEnds(LocalDirectory(tmp_path)), split, end) == said
    # A line without its end was taken for a whole one.
    file.write_bytes(b'{"n":1}\n{"n":2}')
    split = split_of(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    read_to_end(SplitEnds(LocalDirectory(other)).open(3, "t", split, None))
    file.write_bytes(b'{"n":1}\n{"n":2}\n{"n":3}\n')
    assert refused(SplitEnds(LocalDirectory(other)), split)[0] == "E536"


def test_of_two_ends_of_a_split_the_first_counts(tmp_path: Path) -> None:
    """A worker of an epoch that is over reads on for a moment, beside the next one."""
    file = tmp_path / "a.jsonl"
    file.write_bytes(b'{"n":1}\n')
    split = split_of(tmp_path)
    late = SplitEnds(LocalDirectory(tmp_path)).open(3, "t", split, None)
    assert isinstance(late.read(10), Chunk)
    read_to_end(SplitEnds(LocalDirectory(tmp_path)).open(3, "t", split, None))
    file.write_bytes(b'{"n":1}\n{"n":2}\n')
    with pytest.raises(FsqlError, match="has grown since its end was read"):
        read_to_end(late)


def test_a_torn_line_counts_for_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"n":1}\n')
    split = split_of(tmp_path)
    read_to_end(SplitEnds(LocalDirectory(tmp_path)).open(3, "t", split, None))
    whole = (tmp_path / "ends").read_bytes()
    (tmp_path / "ends").write_bytes(whole[:-5])
    (tmp_path / "a.jsonl").write_bytes(b'{"n":1}\n{"n":2}\n')
    end = read_to_end(SplitEnds(LocalDirectory(tmp_path)).open(3, "t", split, None))
    assert read_to_end(SplitEnds(LocalDirectory(tmp_path)).open(3, "t", split, end)) == end


def test_an_end_is_told_when_there_is_room_to_note_it(tmp_path: Path) -> None:
    class Full(LocalDirectory):
        full = True

        def append(self, name: str, data: bytes) -> None:
            if self.full:
                raise OSError(errno.ENOSPC, "no space left")
            super().append(name, data)

    (tmp_path / "a.jsonl").write_bytes(b'{"n":1}\n')
    directory = Full(tmp_path)
    reader = SplitEnds(directory).open(3, "t", split_of(tmp_path), None)
    assert isinstance(reader.read(10), Chunk)
    assert reader.read(10) == Wait(RETRY_SECONDS)
    directory.full = False
    assert reader.read(10) is None
    assert (tmp_path / "ends").exists()
