"""Fronts that resume: rows, dead letters and promises are those of one that was never interrupted.

Catches: a resume point behind rows that the snapshot lacks, rows dropped or kept wrongly, times that forget
what was read before, places of readers that are off by an empty line, a carriage return or a byte order mark.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pytest

from fsql.compiler.expression import ColumnRef
from fsql.compiler.logical import Table, TimeKind
from fsql.compiler.schema import Column, Schema
from fsql.compiler.sqltypes import BIGINT, STRING, TIMESTAMP
from fsql.connectors.file.source import FileSplit
from fsql.formats.json.decoder import JsonDecoder
from fsql.formats.text.decoder import TextDecoder
from fsql.runtime.batch import END, START, Root
from fsql.runtime.dataflow.front import BOUNDARIES_MAX, Front
from fsql.runtime.dataflow.resume_point import ResumePoint
from fsql.runtime.ports import Chunk, DeadLetter, SourceOffset
from fsql.tests.seeds import chosen_seeds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from fsql.runtime.ports import Split

COLUMNS: Final[Schema] = (Column("n", BIGINT), Column("at", TIMESTAMP))
TEXT: Final[Schema] = (Column("line", STRING),)
KINDS: Final = (TimeKind.EVENT, TimeKind.OFFSET, TimeKind.START)

Read = list[tuple[Root, object]]


def front_of(kind: TimeKind, columns: Schema = COLUMNS) -> Front:
    event_time = None
    if kind is TimeKind.EVENT:
        event_time = ColumnRef(TIMESTAMP, nullable=True, index=1)
    options = (("connector", "file"), ("on_error", "reject"))
    return Front(3, Table("t", 2, columns, options, kind, event_time), split=1)


def drawn_file(random: Random) -> bytes:
    """Return lines: good rows, malformed ones, ones without event time, too long ones, empty ones."""
    lines = []
    for n in range(random.randrange(1, 60)):
        at = random.randrange(5) * 1000 + n * 100
        lines.append(
            random.choice(
                [
                    f'{{"n":{n},"at":{at}}}',
                    f'{{"n":{n},"at":{at}}}',
                    f'{{"n":{n},"at":{at}}}',
                    f'{{"n":{n}}}',
                    '{"n":"wrong"}',
                    '{"n":"' + "x" * random.choice([30, 2000]) + '"}',
                    "",
                ]
            )
        )
    text = "".join(line + random.choice(["\n", "\n", "\r\n"]) for line in lines)
    if random.random() < 0.3:
        text = text.rstrip("\r\n")
    return random.choice([b"", b"\xef\xbb\xbf"]) + text.encode()


def steps(
    front: Front, split: Split, source_offset: SourceOffset | None, random: Random
) -> Iterator[Read]:
    """Read to the end in chunks of random sizes; give what each chunk brought, with its promise checked."""
    reader = split.open(source_offset)
    while True:
        at = reader.source_offset()
        chunk = reader.read(random.choice([1, 2, 5, 1000]))
        promised = front.promised
        if chunk is None:
            front.end(at)
            break
        assert isinstance(chunk, Chunk)
        batch, dead_letters = front.take(chunk, at)
        read: Read = list(dead_letters)
        if batch is not None:
            columns = [column.to_pylist() for column in batch.columns]
            rows = list(zip(*columns, strict=True))
            read += [(batch.root(row), values) for row, values in enumerate(rows)]
        assert all(promised <= root < front.promised for root, _ in read)
        yield sorted(read, key=lambda item: item[0])
    reader.close()


def split_of(path: Path, random: Random, *, text: bool = False) -> FileSplit:
    block_bytes = random.choice([7, 64, 1 << 20])
    if text:
        return FileSplit("f", path, lambda: TextDecoder(1000), block_bytes=block_bytes)
    return FileSplit("f", path, lambda: JsonDecoder(COLUMNS, 1000), block_bytes=block_bytes)


def test_rows_have_the_time_of_their_positions() -> None:
    at = pa.array([5, 3, 9], pa.int64()).view(pa.timestamp("us", tz="UTC"))
    table = Table(
        "t",
        0,
        COLUMNS[1:],
        (),
        TimeKind.EVENT,
        ColumnRef(TIMESTAMP, nullable=True, index=0),
        row_time=True,
    )
    batch, _ = Front(0, table, 0).take(Chunk([at], np.arange(3), [], 0))
    assert batch is not None
    assert [column.cast(pa.int64()).to_pylist() for column in batch.columns] == [
        [5, 3, 9],
        [5, 5, 9],
    ]


def test_arrivals_are_the_times_of_positions() -> None:
    table = Table("t", 0, COLUMNS[:1], (), TimeKind.ARRIVAL, row_time=True)
    front = Front(0, table, 0)
    found = []
    for first, arrival in ((0, 40), (2, 70)):
        rows = np.arange(first, first + 2)
        arrivals = np.full(2, arrival, np.int64)
        batch, _ = front.take(Chunk([pa.array(rows)], rows, [], 0, arrivals=arrivals))
        assert batch is not None
        found += [
            (batch.root(row), batch.columns[1].cast(pa.int64())[row].as_py()) for row in range(2)
        ]
    silent = Chunk((), np.empty(0, np.int64), (), 0, time_at_least=90)
    assert front.take(silent) == (None, ())
    assert found == [(Root(40, 0), 40), (Root(40, 1), 40), (Root(70, 2), 70), (Root(70, 3), 70)]
    assert front.promised == Root(90, 4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", chosen_seeds(25))
def test_rows_and_promises_go_on_where_they_were(tmp_path: Path, seed: int, kind: TimeKind) -> None:
    random = Random(seed)
    path = tmp_path / "f"
    path.write_bytes(drawn_file(random))
    whole = front_of(kind)
    expected = [
        item for read in steps(whole, split_of(path, random), None, random) for item in read
    ]
    positions = [START, *(root for root, _ in expected), whole._read_up_to]

    front, source_offset = front_of(kind), None
    below = START
    for _ in range(4):
        resumed = [
            item
            for read in steps(front, split_of(path, random), source_offset, random)
            for item in read
        ]
        assert resumed == [item for item in expected if item[0] >= below]
        assert front._read_up_to == whole._read_up_to
        below = random.choice([position for position in positions if position >= below])
        point = front.resume_point(below)
        front, source_offset = front_of(kind), point.source_offset
        front.resume(point, below)
        assert front.promised >= below


def beside_old_rows(rows: Sequence[tuple[str | None, ...]]) -> list[tuple[str | None, ...]]:
    """Return rows with the row before each one, if that is an old row."""
    before = [None, *rows[:-1]]
    return [
        (*row, old[1] if old is not None and old[0] == "-U" else None)
        for row, old in zip(rows, before, strict=True)
    ]


@pytest.mark.parametrize("seed", chosen_seeds(40))
def test_rows_stand_beside_the_old_rows_that_they_replace(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    columns = (Column("op", STRING), Column("k", STRING))
    rows, lines = [], []
    for number in range(random.choice((1, 4, 20))):
        row = random.choice(("+I", "-U", "-U", "+U", "-D", None)), str(number)
        rows.append(row)
        lines.append(f'{{"op":"{row[0]}","k":"{row[1]}"}}' if row[0] else f'{{"k":"{row[1]}"}}')
        lines += random.choices(("", "{"), k=random.choice((0, 0, 1)))
    path = tmp_path / "f"
    path.write_text("".join(f"{line}\n" for line in lines))
    table = Table("t", 0, columns, (("on_error", "reject"),), TimeKind.OFFSET, replaced=True)
    split = FileSplit("f", path, lambda: JsonDecoder(columns, 1000), block_bytes=20)

    expected = None
    front, source_offset, below = Front(0, table, 0), None, START
    for _ in range(4):
        read = [item for step in steps(front, split, source_offset, random) for item in step]
        if expected is None:
            expected = read
            found = [item for _, item in read if not isinstance(item, DeadLetter)]
            assert found == beside_old_rows(rows)
        assert read == [item for item in expected if item[0] >= below]
        below = random.choice([root for root, _ in expected if root >= below] or [below])
        point = front.resume_point(below)
        front, source_offset = Front(0, table, 0), point.source_offset
        front.resume(point, below)


@pytest.mark.parametrize("seed", chosen_seeds(13))
def test_text_goes_on_where_it_was_with_its_line_numbers(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    path = tmp_path / "f"
    path.write_bytes(drawn_file(random).replace(b"wrong", b"\xff"))
    split = split_of(path, random, text=True)
    whole, places = read_from(split, None, random)
    for source_offset in places:
        rest, _ = read_from(split, source_offset, random)
        assert rest == [each for each in whole if each[0] >= source_offset.row]


def read_from(
    split: Split, source_offset: SourceOffset | None, random: Random
) -> tuple[list[tuple[int, object]], list[SourceOffset]]:
    reader = split.open(source_offset)
    read: list[tuple[int, object]] = []
    places = [reader.source_offset()]
    while isinstance(chunk := reader.read(random.choice([1, 3, 100])), Chunk):
        read += list(zip(chunk.rows.tolist(), chunk.columns[0].to_pylist(), strict=True))
        read += [(dead_letter.row, dead_letter) for dead_letter in chunk.dead_letters]
        places.append(reader.source_offset())
        assert places[-1].byte == places[-2].byte + chunk.bytes_read
    reader.close()
    return sorted(read, key=lambda each: each[0]), places


def chunk_of(rows: Sequence[int], dead_letters: Sequence[int] = ()) -> Chunk:
    wrong = tuple(DeadLetter(row, row + 1, -1, 511, "", "", "") for row in dead_letters)
    return Chunk([pa.array(rows, pa.int64())], np.array(rows, np.int64), wrong, 0)


def offset_front() -> Front:
    options = (("connector", "file"), ("on_error", "reject"))
    return Front(3, Table("t", 0, (Column("n", BIGINT),), options, TimeKind.OFFSET), split=0)


def times(front: Front, chunk: Chunk, source_offset: SourceOffset | None = None) -> list[int]:
    batch, dead_letters = front.take(chunk, source_offset)
    kept = [] if batch is None else batch.time.tolist()
    return sorted([*kept, *(root.time for root, _ in dead_letters)])


def test_skipped_rows_and_dead_letters_are_not_sent() -> None:
    front = offset_front()
    front.resume(ResumePoint(3, 2, 3, 0, 1), Root(3, 3))
    front.skip(Root(5, 0), Root(8, 0))
    assert times(front, chunk_of([2, 3, 5, 6], [4, 7])) == [3, 4]
    assert front.promised == Root(8, 8)
    assert times(front, chunk_of([8, 9])) == [8, 9]
    assert (front.rows_read, front.rows_above(Root(8, 8))) == (4, 2)


def test_a_chunk_that_lies_below_the_snapshot_brings_nothing_and_promises_nothing_new() -> None:
    front = offset_front()
    front.resume(ResumePoint(3, 0, 1, 0, 0), Root(4, 4))
    assert times(front, chunk_of([0, 1], [2])) == []
    assert (front.promised, front.rows_above(START)) == (Root(4, 4), 0)
    assert times(front, chunk_of([3, 4])) == [4]


def test_resume_points_lie_at_chunks_until_they_are_forgotten() -> None:
    front = offset_front()
    for row in range(0, 12, 3):
        front.take(chunk_of([row, row + 1, row + 2]), SourceOffset(row, row + 1, 10 * row))
    front.end(SourceOffset(12, 13, 120))
    assert front.resume_point(START) == ResumePoint(3, 0, 1, 0, front.resume_point(START).time)
    assert front.resume_point(Root(5, 5)).row == 3
    assert front.resume_point(Root(6, 6)) == ResumePoint(3, 6, 7, 60, 5)
    assert front.resume_point(END).row == 12
    front.forget_below(Root(7, 7))
    assert [front.resume_point(at).row for at in (Root(7, 7), Root(9, 9), END)] == [6, 9, 12]


def test_a_front_that_resumed_and_has_read_nothing_resumes_there_again() -> None:
    front = offset_front()
    point = ResumePoint(3, 7, 9, 70, 6, "content")
    front.resume(point, Root(8, 0))
    assert front.resume_point(Root(8, 0)) == point
    front.end()
    assert front.resume_point(END) == point


def test_a_front_that_waits_resumes_behind_its_last_chunk() -> None:
    front = offset_front()
    front.take(chunk_of([0, 1, 2]), SourceOffset(0, 1, 0))
    for _ in range(2):
        front.on_wait(SourceOffset(3, 4, 30))
    assert front.resume_point(Root(3, 3)) == ResumePoint(3, 3, 4, 30, 2)
    assert len(front._boundaries) == 2


def test_few_boundaries_are_remembered_and_the_first_is_among_them() -> None:
    front = offset_front()
    for row in range(10_000):
        front.take(chunk_of([row]), SourceOffset(row, row + 1, row))
        assert len(front._boundaries) <= BOUNDARIES_MAX
        if row == 5000:
            front.forget_below(Root(4000, 4000))
    rows = [front.resume_point(Root(at, at)).row for at in range(4000, 10_000)]
    assert all(row <= at for at, row in zip(range(4000, 10_000), rows, strict=True))
    assert all(row > at - 200 for at, row in zip(range(4000, 10_000), rows, strict=True))
    assert rows == sorted(rows)


def read_of(*times: int, rows: Sequence[int], at_most: int | None = None) -> Chunk:
    """Return a chunk of rows with these event times, in microseconds."""
    columns = [pa.array(rows, pa.int64()), pa.array(times, pa.int64()).view(pa.timestamp("us"))]
    return Chunk(columns, np.array(rows), [], 0, time_at_most=at_most)


def silence(time: int) -> Chunk:
    return Chunk((), np.empty(0, np.int64), (), 0, time_at_least=time)


def test_a_silent_front_promises_by_the_clock() -> None:
    """Rows that come later count as what was promised; another kind of time is not the clock's affair."""
    front = front_of(TimeKind.EVENT)
    front.take(read_of(5, 7, rows=(0, 1)))
    origin = front.promised.origin
    front.take(silence(6))
    assert front.promised == Root(7, origin)
    assert front.take(silence(20)) == (None, ())
    assert front.promised == Root(20, origin)
    batch, dead_letters = front.take(read_of(9, 21, rows=(2, 3)))
    assert batch is not None
    assert (batch.time.tolist(), dead_letters) == ([20, 21], ())
    assert batch.origin.tolist() == [origin, origin + 1]
    other = front_of(TimeKind.OFFSET)
    other.take(silence(20))
    assert other.promised == START


def test_a_front_resumes_behind_a_promise_by_the_clock() -> None:
    front = front_of(TimeKind.EVENT)
    for source_offset, chunk in (
        (SourceOffset(0, 1, 0), silence(10)),
        (SourceOffset(0, 1, 0), read_of(5, rows=(0,))),
        (SourceOffset(1, 2, 9), silence(20)),
        (SourceOffset(1, 2, 9), read_of(6, rows=(1,))),
    ):
        front.take(chunk, source_offset)
    for position in (Root(10, front.promised.origin - 2), Root(20, front.promised.origin - 1)):
        point = front.resume_point(position)
        again = front_of(TimeKind.EVENT)
        again.resume(point, position)
        assert again.promised == position
        chunks = [silence(10), read_of(5, rows=(0,)), silence(20), read_of(6, rows=(1,))]
        for chunk in chunks[0 if point.row == 0 else 2 :]:
            again.take(chunk)
        assert again.promised == front.promised


def test_a_row_that_is_far_ahead_is_malformed() -> None:
    """The rows behind it are not late because of it."""
    front = front_of(TimeKind.EVENT)
    batch, dead_letters = front.take(
        read_of(5, 4_070_908_800_000_000, 7, rows=(0, 1, 2), at_most=86_400)
    )
    assert batch is not None
    assert batch.time.tolist() == [5, 7]
    [(root, dead_letter)] = dead_letters
    assert (root.time, dead_letter.row, dead_letter.code) == (5, 1, 522)
    assert dead_letter.reason == (
        "the event time 2099-01-01T00:00:00Z is after 1970-01-01T00:00:00.086400Z,"
        " which is as far ahead of the clock as 'max_ahead' allows"
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", chosen_seeds(13))
def test_two_workers_read_a_split_once(tmp_path: Path, seed: int, kind: TimeKind) -> None:
    """One stops at a position, inside of a chunk or not, and the other one resumes there."""
    random = Random(seed)
    path = tmp_path / "f"
    path.write_bytes(drawn_file(random))
    whole = front_of(kind)
    expected = [
        item for read in steps(whole, split_of(path, random), None, random) for item in read
    ]
    position = random.choice([START, *(root for root, _ in expected), whole.read_up_to])
    old = front_of(kind)
    old.stop_at(position)
    before: Read = []
    for read in steps(old, split_of(path, random), None, random):
        before += read
        if old.promised >= position:
            break
    assert before == [item for item in expected if item[0] < position]
    assert old.rows_read == len(before)
    point = old.resume_point(position)
    new = front_of(kind)
    new.resume(point, position)
    reads = steps(new, split_of(path, random), point.source_offset, random)
    assert before + [item for read in reads for item in read] == expected
