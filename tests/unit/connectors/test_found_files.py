"""Patterns of files and compressed files: which files are read, and that a reader goes on in the middle."""

from __future__ import annotations

import gzip
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.connectors.context import ConnectorContext
from fsql.connectors.opening import open_source
from fsql.runtime.ports import Chunk
from fsql.tests.unit.connectors.reading import read_all
from fsql.tests.unit.connectors.tables import NUMBERS, table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CODECS = {"gz": "gzip", "zst": "zstd"}
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "zst": partial(pa.compress, codec="zstd", asbytes=True),
}


def names(folder: Path, path: str) -> list[str]:
    return [
        split.name
        for split in open_source(table(connector="file", path=path), ConnectorContext(folder))
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in (
        "b.jsonl",
        "a.jsonl",
        "c.txt",
        ".hidden.jsonl",
        "x/d.jsonl",
        "x/y/a.jsonl",
        "[1].jsonl",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text('{"n":1}\n')
    return tmp_path


def test_a_pattern_names_files(folder: Path) -> None:
    assert names(folder, "*.jsonl") == ["[1].jsonl", "a.jsonl", "b.jsonl"]
    assert names(folder, "[ab].*") == ["a.jsonl", "b.jsonl"]
    assert names(folder, "x/*") == ["d.jsonl"]
    assert names(folder, "**/a.jsonl") == ["a.jsonl", "x/y/a.jsonl"]
    assert names(folder, "x/**/?.jsonl") == ["d.jsonl", "y/a.jsonl"]
    assert names(folder, "[1].jsonl") == ["[1].jsonl"]
    with pytest.raises(FsqlError, match="no file matches it"):
        names(folder, "*.csv")


@pytest.mark.parametrize("suffix", COMPRESS)
def test_a_reader_goes_on_in_the_middle_of_a_compressed_file(tmp_path: Path, suffix: str) -> None:
    lines = [f'{{"n":{n}}}\n'.encode() for n in range(50)]
    path = tmp_path / f"a.jsonl.{suffix}"
    compress = COMPRESS[suffix]
    path.write_bytes(compress(b"".join(lines[:20])) + compress(b"".join(lines[20:])))
    [split] = open_source(table(connector="file", path=path.name), ConnectorContext(tmp_path))
    reader = split.open()
    assert read_all(reader, NUMBERS, 7).rows == {n: (n,) for n in range(50)}
    reader.close()
    for read in (0, 1, 19, 20, 49, 50):
        reader = split.open()
        for _ in range(read):
            assert isinstance(reader.read(1), Chunk)
        source_offset = reader.source_offset()
        reader.close()
        assert source_offset[:3] == (read, read + 1, sum(map(len, lines[:read])))
        again = split.open(source_offset)
        assert list(read_all(again, NUMBERS, 9).rows) == list(range(read, 50))
        again.close()
    path.write_bytes(compress(b"".join(lines)))
    with pytest.raises(FsqlError, match="E536"):
        split.open(source_offset)


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize(
    "spoil", [lambda data: b"x" + data, lambda data: data[:-3]], ids=["head", "end"]
)
def test_a_damaged_compressed_file_is_told(
    tmp_path: Path, suffix: str, spoil: Callable[[bytes], bytes]
) -> None:
    data = COMPRESS[suffix](b"".join(f'{{"n":{n}}}\n'.encode() for n in range(50)))
    (tmp_path / f"a.{suffix}").write_bytes(spoil(data))
    options = {"connector": "file", "path": f"a.{suffix}", "compression": CODECS[suffix]}
    [split] = open_source(table(**options), ConnectorContext(tmp_path))
    with pytest.raises(FsqlError, match="E535"):
        read_all(split.open(), NUMBERS, 1000)


def test_a_name_says_nothing_where_the_option_does(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(b'{"n":1}\n')
    options = {"connector": "file", "path": "a.gz", "compression": "none"}
    [split] = open_source(table(NUMBERS, **options), ConnectorContext(tmp_path))
    assert read_all(split.open(), NUMBERS, 9).rows == {0: (1,)}
