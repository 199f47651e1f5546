"""Sinks: whole lines in files and streams, and what is said when they cannot be written."""

from __future__ import annotations

import errno
import io
import os
from pathlib import Path

import pyarrow as pa
import pytest

from fsql.compiler.logical import Changes
from fsql.compiler.schema import Column, Schema
from fsql.compiler.sqltypes import BIGINT, STRING
from fsql.connectors.file.line_file import LineFile
from fsql.runtime.drivers.output_writer import WITHOUT_POSITIONS
from fsql.tests.unit.connectors.tables import NUMBERS, Writer, sink
from fsql.tests.unit.connectors.test_sources import refusal

_ANYWHERE = Path()
WORDS: Schema = (Column("word", STRING), Column("n", BIGINT))
LINE: Schema = (Column("line", STRING),)


def test_a_file_holds_what_was_released_since_it_was_opened(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text("old")
    writer = Writer(sink(WORDS, connector="file", path="out.jsonl"), tmp_path)
    assert path.read_bytes() == b""
    writer.write(pa.array(["a", "b"]), pa.array([1, 2]))
    assert path.read_bytes() == b'{"word":"a","n":1}\n{"word":"b","n":2}\n'
    writer.write(pa.array([], pa.string()), pa.array([], pa.int64()))
    writer.write(pa.array(["c"]), pa.array([3]))
    writer.close()
    assert path.read_bytes() == b'{"word":"a","n":1}\n{"word":"b","n":2}\n{"word":"c","n":3}\n'


def test_changes_have_a_label() -> None:
    stdout = io.BytesIO()
    writer = Writer(sink(NUMBERS, Changes.RETRACT, connector="stdout"), _ANYWHERE, stdout)
    writer.write(pa.array([1, 1, 2]), operations=[0, 1, 2])
    writer.close()
    assert stdout.getvalue() == b'{"op":"+I","n":1}\n{"op":"-U","n":1}\n{"op":"+U","n":2}\n'


def test_text_is_written_as_it_is() -> None:
    stdout = io.BytesIO()
    writer = Writer(sink(LINE, connector="stdout", format="text"), _ANYWHERE, stdout)
    writer.write(pa.array(['a "b"', None, "", "é"]))
    writer.write(pa.array(["x", "y", "x"]).dictionary_encode())
    assert stdout.getvalue().decode() == 'a "b"\n\n\né\nx\ny\nx\n'


def test_a_black_hole_takes_everything() -> None:
    writer = Writer(sink(connector="blackhole"), _ANYWHERE)
    writer.write(pa.array([1, 2]))
    writer.write(pa.array([3]))
    writer.close()


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    def refused(**options: str) -> tuple[str, str, tuple[str, ...], tuple[str, ...]]:
        return refusal(lambda: Writer(sink(LINE, **options), tmp_path))

    assert refused(connector="file", path="missing/out") == (
        "E532",
        f'path "{tmp_path}/missing/out" cannot be written: its directory does not exist',
        (),
        (f'create the directory "{tmp_path}/missing"',),
    )
    assert refused(connector="file", path=".") == (
        "E532",
        f'path "{tmp_path}" cannot be written: is a directory',
        (),
        (),
    )


def test_a_full_disk_is_said_to_be_full(tmp_path: Path) -> None:
    writer = Writer(sink(connector="file", path="/dev/full"), tmp_path)
    assert refusal(lambda: writer.write(pa.array([1]))) == (
        "E535",
        'writing "/dev/full" failed: no space left on device',
        (),
        ("free space on its disk, and run it again with --overwrite",),
    )
    writer.close()


@pytest.mark.parametrize("existing", [b"", b"before\n"])
def test_a_full_disk_leaves_whole_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, existing: bytes
) -> None:
    """The disk has space for the first rows, and for a part of the next."""
    path = tmp_path / "out"
    path.write_bytes(existing)
    file = LineFile(path, append=True)
    file.open(WITHOUT_POSITIONS)
    file.append([memoryview(b"one\ntwo\n")])
    space, write = 8, os.write

    def write_until_full(descriptor: int, data: memoryview) -> int:
        nonlocal space
        if not space:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = write(descriptor, data[:space])
        space -= written
        return written

    monkeypatch.setattr(os, "write", write_until_full)
    size = len(existing) + 8
    assert refusal(lambda: file.append([memoryview(b"three\n"), memoryview(b"four\n")])) == (
        "E535",
        f'writing "{path}" failed: no space left on device',
        (f"it has whole rows only, {size} bytes: a part of the next rows was cut off",),
        ("free space on its disk, and run it again with --overwrite",),
    )
    file.close()
    assert path.read_bytes() == existing + b"one\ntwo\n"


def test_a_reader_that_is_gone_is_said_to_be_gone() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    stream = os.fdopen(write_end, "wb", buffering=0)
    writer = Writer(sink(connector="stdout"), _ANYWHERE, stream)
    assert refusal(lambda: writer.write(pa.array([1]))) == (
        "E535",
        'writing "standard output" failed: broken pipe',
        (),
        (),
    )
    stream.close()
