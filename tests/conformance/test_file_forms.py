"""Files with a header or compressed: whenever a process is killed, rows come once, and the header first."""

from __future__ import annotations

import zlib
from contextlib import closing
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT, STRING
from fsql.connectors.file.compression import CompressedLines
from fsql.connectors.file.store import FileStore
from fsql.connectors.released_lines import ReleasedLines
from fsql.formats.csv.encoder import CsvEncoder
from fsql.formats.csv.records import Dialect
from fsql.runtime.cluster.delivery.option import DeliveryOption
from fsql.runtime.sink import LocalSink
from fsql.tests.conformance import sinks
from fsql.tests.conformance.failing_files import CountedFiles
from fsql.tests.conformance.test_sinks import deliver_until_killed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fsql.connectors.file.file_layer import FileLayer
    from fsql.runtime.sink import ContentsEncoder, Sink
    from fsql.tests.conformance.sinks import Subject


def csv_lines() -> ContentsEncoder:
    columns = (Column("n", BIGINT), Column("s", STRING))
    return ReleasedLines(CsvEncoder(columns, Dialect(",", '"', '"', ""), None, header=True))


def expected(form: str) -> bytes:
    if form != "csv":
        return sinks.expected()
    lines = csv_lines()
    return lines.header + b"".join(bytes(line) for line in lines(sinks.release(0, sinks.ROWS)))


def gunzipped(data: bytes) -> bytes:
    """Return what the members of a file hold, but for a last one that is not whole."""
    text = b""
    while data:
        member = zlib.decompressobj(31)
        piece = member.decompress(data)
        if not member.eof:
            break
        text += piece
        data = member.unused_data
    return text


class FormSubject:
    durable = True

    def __init__(self, folder: Path, form: str) -> None:
        self.path = folder / "out"
        self.journal = folder / "positions" / "0"
        self.journal.parent.mkdir()
        self._form = form

    def restarted(self, files: FileLayer | None = None) -> Sink:
        lines: ContentsEncoder = csv_lines() if self._form == "csv" else sinks.lines()
        compressed = self._form in {"gzip", "zstd"}
        if compressed:
            lines = CompressedLines(lines, self._form)
        return LocalSink(FileStore(self.path, self.journal, files, compressed=compressed), lines)

    def stored(self) -> bytes:
        data = self.path.read_bytes()
        match self._form:
            case "gzip":
                return gunzipped(data)
            case "zstd":
                return bytes(pa.CompressedInputStream(pa.BufferReader(data), "zstd").read())
            case _:
                return data


@pytest.mark.parametrize("check", sinks.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("form", ["gzip", "zstd"])
def test_compressed_files_keep_the_rules(
    check: Callable[[Subject], None], form: str, tmp_path: Path
) -> None:
    check(FormSubject(tmp_path, form))


@pytest.mark.parametrize("form", ["csv", "gzip"])
def test_whenever_the_process_is_killed_rows_come_once(form: str, tmp_path: Path) -> None:
    random = Random(7)
    counted = CountedFiles(0, random)
    (tmp_path / "all").mkdir()
    deliver_until_killed(FormSubject(tmp_path / "all", form).restarted(counted), 1, seed=3)
    assert counted.operations > 20
    # Every moment is tested with plain files in `test_sinks`.
    for moment in range(1, counted.operations + 1, 11 if form == "csv" else 5):
        folder = tmp_path / str(moment)
        folder.mkdir()
        subject = FormSubject(folder, form)
        have = deliver_until_killed(subject.restarted(CountedFiles(moment, random)), 1, seed=3)
        if subject.path.exists():
            assert expected(form).startswith(subject.stored())
        again = CountedFiles(random.randrange(1, 40), random)
        have = deliver_until_killed(subject.restarted(again), 2, random.randrange(9), have)
        assert expected(form).startswith(subject.stored())
        assert sinks.position_of(subject, sinks.opening(3)) >= have
        with closing(subject.restarted()) as last:
            sinks.run_to_end(last, 4)
        assert subject.stored() == expected(form)


@pytest.mark.parametrize("form", ["gzip", "zstd"])
def test_without_a_position_it_goes_on_behind_what_is_whole(form: str, tmp_path: Path) -> None:
    subject = FormSubject(tmp_path, form)
    first = subject.restarted()
    first.open(sinks.opening(1, option=DeliveryOption.NONE))
    sinks.deliver_and_wait(first, sinks.bundle(0, 6))
    first.close()
    with subject.path.open("ab") as file:
        file.write(b"torn")
    again = subject.restarted()
    again.open(sinks.opening(2, option=DeliveryOption.NONE))
    sinks.deliver_and_wait(again, sinks.bundle(0, 6))
    again.close()
    assert subject.stored() == 2 * sinks.expected(0, 6)
