"""Sources: which splits there are, what is said where there are none, and what a live stream gives."""

from __future__ import annotations

import gzip
import os
from functools import partial
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.schema import Column, Schema
from fsql.compiler.sqltypes import STRING
from fsql.connectors.context import ConnectorContext
from fsql.connectors.opening import open_source
from fsql.runtime.ports import Chunk, Wait
from fsql.tests.unit.connectors.reading import read_all
from fsql.tests.unit.connectors.tables import NUMBERS, table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fsql.runtime.ports import SplitReader

LINE: Schema = (Column("line", STRING),)


def refusal(action: Callable[[], object]) -> tuple[str, str, tuple[str, ...], tuple[str, ...]]:
    """Return the code, message, notes and helps with which `action` is refused."""
    with pytest.raises(FsqlError) as caught:
        action()
    (diagnostic,) = caught.value.diagnostics
    return diagnostic.code, diagnostic.message, diagnostic.notes, diagnostic.helps


def test_a_file_is_one_split(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"n":1}\n{"n":2}')
    (split,) = open_source(table(connector="file", path="a.jsonl"), ConnectorContext(tmp_path))
    assert split.name == "a.jsonl"
    for _ in range(2):
        reader = split.open()
        assert read_all(reader, NUMBERS, 10).rows == {0: (1,), 1: (2,)}
        assert reader.read(10) is None
        reader.close()


def test_the_files_of_a_directory_are_splits_sorted_by_name(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "B.txt", ".hidden", "10.txt", "9.txt"):
        (tmp_path / name).write_text(f"this is {name}\n")
    (tmp_path / "c").mkdir()
    splits = open_source(
        table(LINE, connector="file", path=".", format="text"), ConnectorContext(tmp_path)
    )
    assert [split.name for split in splits] == ["10.txt", "9.txt", "B.txt", "a.txt", "b.txt"]
    readers = [split.open() for split in splits]
    assert [read_all(reader, LINE, 10).rows for reader in readers] == [
        {0: (f"this is {split.name}",)} for split in splits
    ]
    for reader in readers:
        reader.close()


@pytest.mark.parametrize("codec", ["", ".gz"])
def test_documents_are_read_from_each_of_their_rows_on(tmp_path: Path, codec: str) -> None:
    data = b'[{"n": 1},\n {"n": 2},\n 5, {"n": "x"},\n {\n"n": 3}\n] {"n": 4}\n[{"n": 5}'
    (tmp_path / f"a.json{codec}").write_bytes(gzip.compress(data) if codec else data)
    source = table(connector="file", path=f"a.json{codec}")
    (split,) = open_source(source, ConnectorContext(tmp_path))
    reader = split.open()
    whole = read_all(reader, NUMBERS, 1)
    reader.close()
    assert whole.rows == {0: (1,), 1: (2,), 4: (3,), 5: (4,), 6: (5,)}
    assert [(each.row, each.line, each.byte, each.code) for each in whole.dead_letters] == [
        (2, 3, 23, 519),
        (3, 3, 26, 513),
        (7, 7, 69, 511),
    ]
    for row in range(8):
        reader = split.open()
        for _ in range(row):
            reader.read(1)
        offset = reader.source_offset()
        reader.close()
        reader = split.open(offset)
        rest = read_all(reader, NUMBERS, 2)
        reader.close()
        assert rest.rows == {n: values for n, values in whole.rows.items() if n >= row}
        assert rest.dead_letters == [each for each in whole.dead_letters if each.row >= row]


def test_a_document_that_has_changed_is_not_continued(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'[{"n": 1},\n{"n": 2')
    (split,) = open_source(table(connector="file", path="a.json"), ConnectorContext(tmp_path))
    reader = split.open()
    read_all(reader, NUMBERS, 9)
    offset = reader.source_offset()
    reader.close()
    (tmp_path / "a.json").write_bytes(b'[{"n": 1},\n{"n": 23}]')
    reader = split.open(offset)
    assert refusal(lambda: reader.read(9)) == (
        "E536",
        (
            f'source "{tmp_path}/a.json" cannot be replayed from byte 18: the record that ended'
            " there now continues"
        ),
        ("the job has read 2 rows of it and continues after them",),
        (),
    )
    reader.close()


@pytest.mark.parametrize("codec", ["", ".gz"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16le", "utf-16be", "latin-1", "cp1252"])
def test_files_in_other_encodings(tmp_path: Path, encoding: str, codec: str) -> None:
    lines = ["é", "ÿ€𝄞" if encoding.startswith("utf") else "ÿ", "x" * 9, "z"]
    data = "\n".join(lines).encode(encoding)
    (tmp_path / f"a.txt{codec}").write_bytes(gzip.compress(data) if codec else data)
    source = table(
        LINE,
        connector="file",
        path=f"a.txt{codec}",
        format="text",
        encoding=encoding,
        max_record_bytes="8" if encoding == "latin-1" else "9",
    )
    (split,) = open_source(source, ConnectorContext(tmp_path))
    rows = {row: (line,) for row, line in enumerate(lines)}
    at = data.index(
        "x".encode(encoding.replace("utf-16", "utf-16le") if encoding == "utf-16" else encoding)
    )
    if encoding == "latin-1":
        del rows[2]
    for row in range(5):
        reader = split.open()
        for _ in range(row):
            reader.read(1)
        offset = reader.source_offset()
        reader.close()
        reader = split.open(offset)
        rest = read_all(reader, LINE, 2)
        reader.close()
        assert rest.rows == {n: values for n, values in rows.items() if n >= row}
        places = [(each.line, each.byte, each.code) for each in rest.dead_letters]
        assert places == ([(3, at, 517)] if encoding == "latin-1" and row <= 2 else [])


@pytest.mark.parametrize(
    ("encoding", "data", "byte"),
    [
        ("cp1252", b"\xe9\n\x81\nz", 2),
        ("utf-16le", "é\n".encode("utf-16le") + b"\x00\xd8" + "\nz".encode("utf-16le"), 4),
        ("utf-16", "é\n".encode("utf-16-be") + b"\x00", 4),
    ],
)
def test_what_is_not_of_an_encoding_is_malformed(
    tmp_path: Path, encoding: str, data: bytes, byte: int
) -> None:
    if encoding == "utf-16":
        data, byte = b"\xfe\xff" + data, byte + 2
    (tmp_path / "a.txt").write_bytes(data)
    source = table(LINE, connector="file", path="a.txt", format="text", encoding=encoding)
    (split,) = open_source(source, ConnectorContext(tmp_path))
    reader = split.open()
    read = read_all(reader, LINE, 9)
    reader.close()
    (letter,) = read.dead_letters
    assert read.rows == {0: ("é",)} | ({} if encoding == "utf-16" else {2: ("z",)})
    assert (letter.line, letter.byte, letter.code, letter.reason) == (
        2,
        byte,
        515,
        f"the record is not {encoding}",
    )


def test_an_empty_file_has_no_rows(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (split,) = open_source(table(connector="file", path="empty"), ConnectorContext(tmp_path))
    reader = split.open()
    assert reader.read(10) is None
    reader.close()


def test_a_record_may_be_as_long_as_the_table_says(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"12345678\n123456789\n1234567\n")
    source = table(LINE, connector="file", path="a.txt", format="text", max_record_bytes="8")
    reader = open_source(source, ConnectorContext(tmp_path))[0].open()
    read = read_all(reader, LINE, 10)
    reader.close()
    assert (read.rows, [dead_letter.code for dead_letter in read.dead_letters]) == (
        {0: ("12345678",), 2: ("1234567",)},
        [517],
    )


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "bids.jsonl").touch()
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / ".hidden").touch()
    os.mkfifo(tmp_path / "pipe")

    def refused(path: str) -> tuple[str, str, tuple[str, ...], tuple[str, ...]]:
        return refusal(
            lambda: open_source(table(connector="file", path=path), ConnectorContext(tmp_path))
        )

    assert refused("bid.jsonl") == (
        "E531",
        f'path "{tmp_path}/bid.jsonl" cannot be read: there is no such file',
        (),
        (f'a file with a similar name exists: "{tmp_path}/bids.jsonl"',),
    )
    assert refused("nowhere/bids.jsonl") == (
        "E531",
        f'path "{tmp_path}/nowhere/bids.jsonl" cannot be read: there is no such file',
        (),
        (f'the directory "{tmp_path}/nowhere" does not exist or cannot be read',),
    )
    assert refused("https://example.org/bids.jsonl")[3] == (
        "only local files can be read: download it first",
    )
    assert refused("empty") == (
        "E531",
        f'path "{tmp_path}/empty" cannot be read: the directory has no files',
        (),
        ("hidden files and directories within it are not read",),
    )
    assert refused("pipe") == (
        "E531",
        f'path "{tmp_path}/pipe" cannot be read: it is not a regular file',
        (),
        ("to read a stream, use 'connector' = 'stdin'",),
    )
    assert refused("a\0b")[0] == "E531"


def test_a_path_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    path = "file/below"
    code, message, *_ = refusal(
        lambda: open_source(table(connector="file", path=path), ConnectorContext(tmp_path))
    )
    assert (code, message) == (
        "E531",
        f'path "{tmp_path}/{path}" cannot be read: there is no such file',
    )


def test_data_roots_hold_after_every_link(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    for directory in (inside, outside):
        (directory / "a.jsonl").write_bytes(b'{"n":1}\n')
    (inside / "link.jsonl").symlink_to(outside / "a.jsonl")
    (inside / "fine.jsonl").symlink_to("a.jsonl")
    (inside / "all").mkdir()
    (inside / "all" / "link.jsonl").symlink_to(outside / "a.jsonl")

    def source(path: str) -> object:
        return open_source(
            table(connector="file", path=path), ConnectorContext(inside, data_roots=[inside])
        )

    for path in ("a.jsonl", "fine.jsonl", "../inside/a.jsonl", str(inside / "a.jsonl")):
        source(path)
    for path in ("../outside/a.jsonl", "link.jsonl", str(outside / "a.jsonl")):
        assert refusal(partial(source, path)) == (
            "E533",
            f'path "{path}" leads out of the data roots',
            (f"it leads to {outside}/a.jsonl; the data roots are {inside}",),
            (),
        )
    assert refusal(partial(source, "all"))[:2] == (
        "E533",
        f'path "{inside}/all/link.jsonl" leads out of the data roots',
    )


def test_a_record_limit_has_a_limit(tmp_path: Path) -> None:
    source = table(connector="stdin", max_record_bytes="16777217")
    assert refusal(lambda: open_source(source, ConnectorContext(tmp_path))) == (
        "E534",
        'option "max_record_bytes" is 16,777,217; the limit is 16,777,216',
        (),
        ("write smaller records",),
    )


def rows_now(reader: SplitReader) -> list[int] | None:
    """Return the numbers that a live reader of NUMBERS has now, None at its end."""
    chunk = reader.read(100)
    if isinstance(chunk, Wait):
        assert 0 < chunk.seconds < 0.1
        return []
    if chunk is None:
        return None
    assert isinstance(chunk, Chunk)
    values: list[int] = chunk.columns[0].to_pylist()
    return values


def test_standard_input_may_be_closed(tmp_path: Path) -> None:
    # Nobody can open a descriptor of this number meanwhile.
    closed = 2**31 - 1
    (split,) = open_source(table(connector="stdin"), ConnectorContext(tmp_path, stdin=closed))
    assert refusal(split.open) == (
        "E531",
        'path "stdin" cannot be read: bad file descriptor',
        (),
        (),
    )


def test_standard_input_gives_what_is_there(tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    (split,) = open_source(table(connector="stdin"), ConnectorContext(tmp_path, stdin=read_end))
    assert split.name == "stdin"
    reader = split.open()
    assert rows_now(reader) == []
    os.write(write_end, b'{"n":1}\n{"n":2}\n{"n"')
    assert rows_now(reader) == [1, 2]
    assert rows_now(reader) == []
    os.write(write_end, b":3}\n")
    assert rows_now(reader) == [3]
    os.write(write_end, b'{"n":4}')
    assert rows_now(reader) == []
    os.close(write_end)
    assert rows_now(reader) == [4]
    assert rows_now(reader) is None
    reader.close()
    os.close(read_end)
