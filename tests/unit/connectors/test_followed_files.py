"""Followed files: whole lines of files that grow, are renamed, removed, cut and written anew."""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import STRING
from fsql.connectors.file.following.followed_file import FollowedFile
from fsql.connectors.file.found_files import list_files
from fsql.connectors.live.log_split import LogSplit
from fsql.connectors.live.time_bounds import BoundOptions
from fsql.connectors.settings import settings_of
from fsql.formats.factories import make_decoder
from fsql.runtime.ports import Chunk
from fsql.tests.unit.connectors import follow_jobs
from fsql.tests.unit.connectors.follow_jobs import Job, append, available, job_of, text
from fsql.tests.unit.connectors.tables import table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fsql.connectors.file.found_files import FoundFile
    from fsql.formats.lines import LineDecoder


@pytest.fixture(autouse=True)
def no_power_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    for sync in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, sync, lambda _: None)


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    with closing(job_of(tmp_path)) as job:
        yield job


def test_lines_count_once_their_end_is_there(job: Job) -> None:
    file = job.path.with_name("a.log")
    append(file, "one\ntw")
    job.drain()
    assert job.lines() == ["one"]
    append(file, "o\r\n")
    job.drain()
    assert job.lines() == ["one", "two"]


def test_new_files_come_by_name_behind_what_was_there(job: Job) -> None:
    append(job.path.with_name("m.log"), "m1\n")
    job.drain()
    append(job.path.with_name("z.log"), "z1\n")
    append(job.path.with_name("a.log"), "a1\n")
    append(job.path.with_name("m.log"), "m2\n")
    job.drain()
    assert job.lines() == ["m1", "m2", "a1", "z1"]


def test_a_file_that_is_renamed_is_read_on(job: Job) -> None:
    file, rotated = job.path.with_name("a.log"), job.path.with_name("a.log.1")
    append(file, "one\n")
    job.drain()
    append(file, "two\n")
    file.rename(rotated)
    append(file, "four\n")
    append(rotated, "three\n")
    job.drain()
    append(rotated, "five\n")
    job.drain()
    assert job.lines() == ["one", "two", "three", "four", "five"]
    assert job.notes == [
        (
            f'file "{file}" was renamed: reading continues, and a new file of that name is'
            " read from its beginning"
        )
    ]


def test_the_last_line_of_a_file_that_is_removed_needs_no_end(job: Job) -> None:
    file = job.path.with_name("a.log")
    append(file, "one\n")
    job.drain()
    append(file, "two")
    file.unlink()
    job.drain()
    append(file, "three\n")
    job.drain()
    assert job.lines() == ["one", "two", "three"]
    assert job.notes == [f'file "{file}" was removed: its 7 bytes have been read']


def test_a_file_whose_successors_are_renamed_too_is_not_followed_for_ever(job: Job) -> None:
    file = job.path.with_name("a.log")
    for number in range(10):
        append(file, f"{number}\n")
        job.drain()
        file.rename(file.with_name(f"a.log.{number}"))
        job.drain()
    job.notes = [note for note in job.notes if " was renamed: " not in note]
    assert job.lines() == [str(number) for number in range(10)]
    assert (
        job.notes
        == [
            (
                f'file "{file}" is not followed any more under its new name, because 8 others were renamed'
                " after it: its 2 bytes have been read"
            )
        ]
        * 2
    )


def test_a_file_that_a_program_writes_anew_with_more_is_read_on(job: Job) -> None:
    file, new = job.path.with_name("a.log"), job.path.with_name("new")
    append(file, "one\n")
    job.drain()
    append(new, "one\ntwo\n")
    new.replace(file)
    job.drain()
    assert job.lines() == ["one", "two"]
    append(new, "other\n")
    new.replace(file)
    job.drain()
    assert job.lines() == ["one", "two", "other"]
    assert job.notes == [f'file "{file}" was removed: its 8 bytes have been read']


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("x\n", "it has 2 bytes now"),
        ("many\nmore lines\n", "its contents before that have changed"),
    ],
)
@pytest.mark.parametrize("restarts", [False, True])
def test_a_file_that_loses_what_was_read_stops_the_job(
    job: Job, content: str, reason: str, *, restarts: bool
) -> None:
    file = job.path.with_name("a.log")
    append(file, "one\ntwo\n")
    job.drain()
    file.write_text(content)
    continue_work = job.start if restarts else job.drain
    with pytest.raises(FsqlError) as caught:
        continue_work()
    [diagnostic] = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.message) == (
        "E536",
        f'file "{file}" cannot be followed from byte 8: {reason}',
    )


@pytest.mark.parametrize("restarts", [False, True])
def test_a_file_that_is_cut_is_read_again_where_that_is_asked_for(
    tmp_path: Path, *, restarts: bool
) -> None:
    job = job_of(tmp_path, rereads=True)
    file = job.path.with_name("a.log")
    append(file, "one\ntwo\n")
    job.drain()
    file.write_text("three\n")
    if restarts:
        job.start()
    job.drain()
    assert job.lines() == ["one", "two", "three"]
    assert job.notes == [f'file "{file}" is read from its beginning: it has 6 bytes now']


def test_what_happens_while_the_job_is_down(job: Job) -> None:
    kept, renamed, removed = (job.path.with_name(f"{name}.log") for name in "abc")
    for file in (kept, renamed, removed):
        append(file, f"{file.stem}1\n")
    job.drain()
    append(kept, "a2\n")
    append(renamed, "b2\n")
    renamed.rename(renamed.with_suffix(".old"))
    append(renamed, "b3\n")
    removed.unlink()
    job.start()
    job.drain()
    assert job.lines() == ["a1", "b1", "c1", "a2", "b2", "b3"]
    assert job.notes == [
        f'file "{removed}" no longer exists; its contents after byte 3 were not read'
    ]
    job.notes.clear()
    job.start()
    job.drain()
    assert (len(job.lines()), job.notes) == (6, [])


def test_a_file_that_is_removed_while_the_job_starts_is_gone(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is listed, and no longer there when it is looked at."""
    kept, removed = (job.path.with_name(f"{name}.log") for name in "ab")
    for file in (kept, removed):
        append(file, f"{file.stem}1\n")
    job.drain()
    append(kept, "a2\n")

    def list_and_remove(path: Path, *, pattern: bool) -> list[FoundFile]:
        found = list_files(path, pattern=pattern)
        removed.unlink(missing_ok=True)
        return found

    monkeypatch.setattr(follow_jobs, "list_files", list_and_remove)
    job.start()
    job.drain()
    assert job.lines() == ["a1", "b1", "a2"]
    assert job.notes == [
        f'file "{removed}" no longer exists; its contents after byte 3 were not read'
    ]


def test_a_closed_file_that_is_removed_before_it_is_read_is_gone(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fsql.connectors.file.following.follower._OPEN_MAX", 0)
    kept, removed = (job.path.with_name(f"{name}.log") for name in "ab")
    for file in (kept, removed):
        append(file, f"{file.stem}1\n")
    job.drain()
    append(kept, "a2\n")
    size = FollowedFile.size

    def remove_and_size(file: FollowedFile) -> int:
        removed.unlink(missing_ok=True)
        return size(file)

    monkeypatch.setattr(FollowedFile, "size", remove_and_size)
    job.drain()
    assert job.lines() == ["a1", "b1", "a2"]
    assert job.notes == [
        (
            f'file "{removed}" no longer exists, and was not open because it had not grown:'
            " its 3 bytes have been read, and what was written to it after that was not"
        )
    ]
    assert [file.path for file in job.follower._files.values()] == [kept]


def test_a_file_that_was_restored_is_the_same_file(job: Job) -> None:
    file = job.path.with_name("a.log")
    append(file, "one\n")
    job.drain()
    copy = file.with_name("copy")
    copy.write_text("one\ntwo\n")
    copy.rename(file)
    job.start()
    job.drain()
    assert (job.lines(), job.notes) == (["one", "two"], [])


def test_a_line_that_is_too_long_holds_up_no_other_file(job: Job) -> None:
    long, other = job.path.with_name("a.log"), job.path.with_name("b.log")
    append(long, "x" * 5_000_000)
    append(other, "one\n")
    job.drain()
    assert job.lines() == ["one"]
    append(long, "\ntwo\n")
    job.drain()
    reader = LogSplit("t", job.logs, text, BoundOptions()).open()
    rows, codes = [], []
    while isinstance(chunk := reader.read(10), Chunk):
        rows += chunk.columns[0].to_pylist()
        codes += [(each.row, each.code) for each in chunk.dead_letters]
    assert (rows, codes) == (["one", "two"], [(1, 517)])


CSV = {"connector": "file", "path": "f", "format": "csv"}


def csv_decoder() -> Callable[[], LineDecoder]:
    columns = (Column("line", STRING), Column("n", STRING))
    options = table(columns, **CSV, header="true").options
    return make_decoder(columns, settings_of(options))


def csv_job(tmp_path: Path) -> Job:
    for name in ("in", "log"):
        (tmp_path / name).mkdir()
    return Job(tmp_path / "in" / "*.log", tmp_path / "log", decoder=csv_decoder())


def csv_lines(job: Job) -> list[str]:
    return available(LogSplit("t", job.logs, job.decoder, BoundOptions()).open())


def test_each_file_has_a_header_and_records_of_two_files_do_not_mix(tmp_path: Path) -> None:
    job = csv_job(tmp_path)
    one, two = job.path.with_name("a.log"), job.path.with_name("b.log")
    append(one, 'line,n\r\nfirst,1\n"of two\n')
    append(two, "\ufeffline,n\nother,2\n")
    job.drain()
    assert csv_lines(job) == ["first", "other"]
    job.step_in_part(0)
    job.start()
    append(one, 'lines",3\n')
    job.drain()
    assert csv_lines(job) == ["first", "other", "of two\nlines"]


def test_a_file_with_another_header_stops_the_job(tmp_path: Path) -> None:
    job = csv_job(tmp_path)
    file = job.path.with_name("a.log")
    append(file, "line,m\n")
    with pytest.raises(FsqlError) as caught:
        job.drain()
    assert caught.value.diagnostics[0].message == (
        f'input "{file}" cannot be read: its header has to be line,n'
    )


def test_hidden_files_are_not_followed(job: Job) -> None:
    append(job.path.with_name(".a.log"), "hidden\n")
    job.drain()
    assert job.lines() == []


def test_many_files_do_not_hold_many_descriptors(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fsql.connectors.file.following.follower._OPEN_MAX", 2)
    files = [job.path.with_name(f"{n}.log") for n in range(6)]
    for _ in range(3):
        for file in files:
            append(file, f"{file.stem}\n")
        job.drain()
        assert sum(file.is_open for file in job.follower._files.values()) <= 2
    assert job.lines() == ["0", "1", "2", "3", "4", "5"] * 3
