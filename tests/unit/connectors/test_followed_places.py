"""Malformed rows of followed files have the file, line and byte at which they are."""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import STRING
from fsql.connectors.file.following.pieces import FilePiece
from fsql.connectors.live.front_log import segments, trim
from fsql.connectors.live.piece_journal import PieceJournal
from fsql.connectors.settings import settings_of
from fsql.formats.factories import make_decoder
from fsql.formats.text.decoder import TextDecoder
from fsql.tests.unit.connectors.follow_jobs import append, job_of
from fsql.tests.unit.connectors.tables import table

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.formats.lines import LineDecoder


@pytest.fixture(autouse=True)
def no_power_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    for sync in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, sync, lambda _: None)


def no_line() -> LineDecoder:
    """Return a decoder for which every line is too long."""
    return TextDecoder(0)


def csv() -> LineDecoder:
    """Return a decoder of lines of three fields below a header."""
    columns = tuple(Column(name, STRING) for name in "abc")
    options = {"connector": "file", "path": "f", "format": "csv", "header": "true"}
    return make_decoder(columns, settings_of(table(columns, **options).options))()


def test_lines_are_counted_in_their_file(tmp_path: Path) -> None:
    with closing(job_of(tmp_path, decoder=no_line)) as job:
        one, two = job.path.with_name("a.log"), job.path.with_name("b.log")
        append(one, "a1\na2\n")
        append(two, "\ufeffb1\nb")
        job.drain()
        append(one, "a3\n" + "x" * 5_000_000 + "\na5\n")
        append(two, "2\n")
        job.drain()
        assert job.places() == [
            ("a.log", 1, 0, "a1"),
            ("a.log", 2, 3, "a2"),
            ("b.log", 1, 3, "b1"),
            ("a.log", 3, 6, "a3"),
            ("a.log", 4, 9, "x" * 255 + "…"),
            ("a.log", 5, 5_000_010, "a5"),
            ("b.log", 2, 6, "b2"),
        ]


def test_headers_and_records_of_several_lines_count_as_lines(tmp_path: Path) -> None:
    with closing(job_of(tmp_path, decoder=csv)) as job:
        append(job.path.with_name("a.log"), 'a,b,c\r\n"of\ntwo",1\n')
        append(job.path.with_name("b.log"), "a,b,c\nother,2\n")
        job.drain()
        append(job.path.with_name("a.log"), "last,3\n")
        job.drain()
        assert job.places() == [
            ("a.log", 2, 7, '"of\\x0atwo",1'),
            ("b.log", 2, 6, "other,2"),
            ("a.log", 4, 18, "last,3"),
        ]


def test_a_file_that_is_read_again_begins_with_line_1(tmp_path: Path) -> None:
    with closing(job_of(tmp_path, decoder=no_line, rereads=True)) as job:
        file = job.path.with_name("a.log")
        append(file, "one\ntwo\n")
        job.drain()
        file.write_text("three\n")
        job.drain()
        append(file, "four\n")
        file.rename(file.with_name("b.log"))
        append(file, "new\n")
        job.drain()
        assert job.places()[2:] == [
            ("a.log", 1, 0, "three"),
            ("b.log", 2, 6, "four"),
            ("a.log", 1, 0, "new"),
        ]


def test_places_are_kept_as_long_as_the_bytes_of_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fsql.connectors.live.piece_journal.RECORDS_MIN", 4)
    monkeypatch.setattr("fsql.connectors.live.front_log.CHECKED_BYTES", 0)
    with closing(job_of(tmp_path, decoder=no_line)) as job:
        expected = []
        for number in range(30):
            for name in ("a.log", "b.log") if number % 3 else ("a.log",):
                file = job.path.with_name(name)
                byte = file.stat().st_size if file.exists() else 0
                line = file.read_text().count("\n") + 1 if byte else 1
                append(file, f"line {number}\n")
                expected.append((name, line, byte, f"line {number}"))
            job.drain()
            if number % 7 == 6:
                job.path.with_name("b.log").rename(tmp_path / f"old{number}")
                job.start()
        assert job.places() == expected
        trim(job.logs, job.log.length)
        job.start()
        first = segments(job.logs)[0].start
        pieces = PieceJournal(job.logs, "followed", FilePiece).pieces
        assert first > 0
        assert [piece for piece in pieces if piece.size and piece.stop <= first] == []
