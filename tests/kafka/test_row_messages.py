"""Released rows as messages: keys, values and positions."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fsql.compiler.logical import Changes, SinkTable
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT, STRING
from fsql.connectors.kafka.row_messages import RowMessage, RowMessages, RowPosition
from fsql.runtime.ports import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, Release

COLUMNS = (Column("k", STRING), Column("n", BIGINT))


def release(rows: list[tuple[int, int, str, int]], operations: list[int] | None = None) -> Release:
    """Return rows; each is time, origin, `k` and `n`."""
    time, origin, k, n = zip(*rows, strict=True)
    labels = None if operations is None else np.array(operations, np.int8)
    columns = [pa.array(k, pa.string()), pa.array(n, pa.int64())]
    return Release(columns, labels, np.array(time, np.int64), np.array(origin, np.int64))


def messages(changes: Changes, key: tuple[int, ...] | None, *releases: Release) -> list[RowMessage]:
    made = RowMessages(SinkTable("out", COLUMNS, (), changes, key))
    return [message for each in releases for message in made(each)]


def test_rows_of_an_append_table() -> None:
    assert messages(Changes.APPEND, None, release([(1, 0, "é", 1), (2, 0, 'a"\n', 2)])) == [
        RowMessage(None, '{"k":"é","n":1}'.encode(), RowPosition(1, 0, 0)),
        RowMessage(None, b'{"k":"a\\"\\n","n":2}', RowPosition(2, 0, 0)),
    ]


def test_rows_of_a_table_with_a_primary_key() -> None:
    rows = release([(1, 0, "a", 1), (2, 0, "a", 2), (3, 0, "a", 2)], [INSERT, UPDATE_AFTER, DELETE])
    assert messages(Changes.UPSERT, (0,), rows) == [
        RowMessage(b'{"k":"a"}', b'{"k":"a","n":1}', RowPosition(1, 0, 0)),
        RowMessage(b'{"k":"a"}', b'{"k":"a","n":2}', RowPosition(2, 0, 0)),
        RowMessage(b'{"k":"a"}', None, RowPosition(3, 0, 0)),
    ]


def test_changes_of_a_table_without_a_primary_key() -> None:
    rows = release(
        [(1, 0, "a", 1), (2, 0, "a", 1), (2, 0, "a", 2)], [INSERT, UPDATE_BEFORE, UPDATE_AFTER]
    )
    assert messages(Changes.RETRACT, (0,), rows) == [
        RowMessage(b'{"k":"a"}', b'{"op":"+I","k":"a","n":1}', RowPosition(1, 0, 0)),
        RowMessage(b'{"k":"a"}', b'{"op":"-U","k":"a","n":1}', RowPosition(2, 0, 0)),
        RowMessage(b'{"k":"a"}', b'{"op":"+U","k":"a","n":2}', RowPosition(2, 0, 1)),
    ]


def test_rows_of_a_root_are_numbered_across_releases() -> None:
    first = release([(1, 0, "a", 1), (1, 1, "a", 1), (1, 1, "a", 1)])
    second = release([(1, 1, "a", 1), (2, 1, "a", 1)])
    assert [each.position for each in messages(Changes.APPEND, None, first, second)] == [
        RowPosition(1, 0, 0),
        RowPosition(1, 1, 0),
        RowPosition(1, 1, 1),
        RowPosition(1, 1, 2),
        RowPosition(2, 1, 0),
    ]


def test_an_epoch_numbers_anew() -> None:
    made = RowMessages(SinkTable("out", COLUMNS, (), Changes.APPEND, None))
    rows = release([(1, 0, "a", 1)])
    assert made(rows)[0].position == RowPosition(1, 0, 0)
    made.begin()
    assert made(rows)[0].position == RowPosition(1, 0, 0)
