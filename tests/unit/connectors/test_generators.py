"""Generated text: each row by its number alone, at its rate, with the statistics that it promises."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from statistics import fmean

import pytest

from fsql.compiler.schema import Column, Schema
from fsql.compiler.sqltypes import BIGINT, STRING
from fsql.connectors.context import ConnectorContext
from fsql.connectors.generated.pace import Pace, PacedSplit, Peak
from fsql.connectors.generated.zipf_words import ZipfWords
from fsql.connectors.opening import open_source
from fsql.runtime.ports import Chunk, SourceOffset, SplitReader, Wait
from fsql.tests.unit.connectors.reading import read_all
from fsql.tests.unit.connectors.tables import table

LINES: Schema = (Column("id", BIGINT), Column("line", STRING))


def generator(connector: str, columns: Schema = LINES, /, **options: str) -> SplitReader:
    (split,) = open_source(table(columns, connector=connector, **options), ConnectorContext(Path()))
    assert split.name == connector
    return split.open()


def lines(connector: str, rows_max: int = 10**6, **options: str) -> list[str]:
    """Return the lines of a generator with an end."""
    rows = read_all(generator(connector, **options), LINES, rows_max).rows
    assert list(rows) == [row[0] for row in rows.values()] == list(range(len(rows)))
    return [str(row[1]) for row in rows.values()]


def test_the_first_rows_are_these_for_ever() -> None:
    assert lines("words", count="3", words_per_line="5") == [
        "bo du ci ci qe",
        "go be mi ba buti",
        "ba ho bemi ba hibu",
    ]
    assert lines("documents", count="3", words="6", seed="7") == [
        "ba qaku hutu kezo ba cazo bi bu bome",
        "baro cilo kuvo bate bila pivu",
        "pemo me ciho ce be fi",
    ]


def test_a_row_depends_on_its_number_alone() -> None:
    for connector in ("words", "documents"):
        whole = lines(connector, count="50")
        assert len(set(whole)) == 50
        for rows_max in (1, 7, 49):
            assert lines(connector, rows_max, count="50") == whole
        assert lines(connector, count="20") == whole[:20]
        other = lines(connector, count="50", seed="1")
        assert not {*whole} & {*other}


def test_a_column_may_be_missing_and_in_any_order() -> None:
    expected = lines("words", count="2")
    alone = generator("words", (Column("x", STRING),), count="2")
    assert read_all(alone, (Column("x", STRING),), 5).rows == {0: (expected[0],), 1: (expected[1],)}
    turned = (LINES[1], LINES[0])
    rows = read_all(generator("words", turned, count="2"), turned, 5).rows
    assert rows == {0: (expected[0], 0), 1: (expected[1], 1)}


def test_lines_have_the_length_that_is_asked_for() -> None:
    counts = [len(line.split(" ")) for line in lines("words", count="100", words_per_line="12")]
    assert set(counts) == {12}
    counts = [len(line.split(" ")) for line in lines("documents", count="2000", words="40")]
    assert 38 < fmean(counts) < 42
    assert min(counts) < 15
    assert max(counts) > 100


def test_words_follow_the_law() -> None:
    text = lines("words", count="2000", words_per_line="50", vocabulary="1000")
    found = Counter(word for line in text for word in line.split(" "))
    by_rank = ZipfWords(1000).words().to_pylist()
    total = 2000 * 50
    harmonic = sum(1 / rank for rank in range(1, 1001))
    for rank in (1, 2, 3, 10, 100):
        expected = total / (rank * harmonic)
        assert abs(found[by_rank[rank - 1]] - expected) < 5 * expected**0.5
    assert set(found) <= set(by_rank)


def test_words_are_all_different() -> None:
    for vocabulary in (1, 100, 101, 30_000):
        words = ZipfWords(vocabulary).words().to_pylist()
        assert len(set(words)) == len(words) == vocabulary
        assert all(word.isalpha() for word in words)


def test_rows_come_at_their_rate() -> None:
    now = 100.0
    (split,) = open_source(
        table(LINES, connector="words", rate="4", count="6"),
        ConnectorContext(Path(), clock=lambda: now),
    )
    reader = split.open()

    def step() -> object:
        found = reader.read(10)
        return found.rows.tolist() if isinstance(found, Chunk) else found

    assert step() == [0]
    assert step() == Wait(0.25)
    now = 100.125
    assert step() == Wait(0.125)
    now = 100.75
    assert step() == [1, 2, 3]
    now = 200.0
    assert step() == [4, 5]
    assert step() is None


@pytest.mark.parametrize("connector", ["words", "datagen"])
def test_rows_that_were_due_before_a_rebuild_come_at_once(connector: str) -> None:
    now = 100.0
    (split,) = open_source(
        table(LINES, connector=connector, rate="4", count="9"),
        ConnectorContext(Path(), clock=lambda: now),
    )
    assert isinstance(split, PacedSplit)
    whole = read_all(split.without_pace().open(), LINES, 9).rows

    def step(reader: SplitReader) -> object:
        found = reader.read(4)
        if not isinstance(found, Chunk):
            return found
        numbers = found.rows.tolist()
        columns = zip(*(column.to_pylist() for column in found.columns), strict=True)
        assert list(columns) == [whole[row] for row in numbers]
        return numbers

    reader = split.replayed(6).open()
    assert [step(reader) for _ in range(4)] == [[0, 1, 2, 3], [4, 5], [6], Wait(0.25)]
    resumed = split.replayed(6).open(SourceOffset(5, 0, 0))
    assert [step(resumed) for _ in range(3)] == [[5], [6], Wait(0.25)]
    now = 100.5
    assert [step(resumed) for _ in range(2)] == [[7, 8], None]


def test_a_start_that_is_given_counts_for_every_reader() -> None:
    now = 100.0
    (split,) = open_source(
        table(LINES, connector="words", rate="4", count="200", start_ms="99500"),
        ConnectorContext(Path(), clock=lambda: now),
    )
    whole = lines("words", count="200")

    def step(reader: SplitReader, rows_max: int = 10) -> object:
        found = reader.read(rows_max)
        if not isinstance(found, Chunk):
            return found
        texts = found.columns[1].to_pylist()
        assert texts == [whole[row] for row in found.rows]
        assert found.bytes_read == sum(map(len, texts))
        return found.rows.tolist()

    reader = split.open()
    assert step(reader) == [0, 1, 2]
    assert step(reader) == Wait(0.25)
    assert step(split.open(SourceOffset(2, 0, 0))) == [2]
    assert step(split.open(SourceOffset(4, 0, 0))) == Wait(0.5)
    now = 100.5
    assert [step(reader, 1), step(reader), step(reader)] == [[3], [4], Wait(0.25)]
    now = 200.0
    while isinstance(found := step(reader), list):
        last = found[-1]
    assert (last, found) == (199, None)


def test_rows_come_at_another_rate_during_a_peak() -> None:
    pace = Pace(2, Peak(rate=8, start=1.25, seconds=0.3125))
    due = [pace.due(row) for row in range(9)]
    assert due == [0.0, 0.5, 1.0, 1.25, 1.375, 1.5, 1.5625, 2.0625, 2.5625]
    assert [pace.rows_due(each) for each in due] == list(range(1, 10))
    assert [pace.rows_due(each) for each in (-0.25, 1.2, 1.49, 1.75)] == [0, 3, 5, 7]
