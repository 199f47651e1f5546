"""Incremental snapshots for tests, and what happens to them by hand: a dictionary of rows by key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from fsql.runtime.batch import PUNCTUATION, Root
from fsql.runtime.kernels.keyed.incremental_snapshot import EXPIRES, NEVER, IncrementalSnapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Row = tuple[int, str, int]

GONE = -(2**63)
"""Of a key that has no state any more: such a row only hides older ones."""


def incremental_snapshot(rows: Iterable[Row], *, appends: bool = False) -> IncrementalSnapshot:
    """Return an incremental snapshot of rows (key, value, expires)."""
    keys, values, expires = zip(*rows, strict=True) if (rows := list(rows)) else ((), (), ())
    columns = [
        pa.array(keys, pa.int64()),
        pa.array(values, pa.string()),
        pa.array(expires, pa.int64()),
    ]
    return IncrementalSnapshot(pa.RecordBatch.from_arrays(columns, ["k", "v", EXPIRES]), 1, appends)


def rows_of(snapshot: IncrementalSnapshot) -> list[Row]:
    """Return the rows of an incremental snapshot."""
    return [tuple(row.values()) for row in snapshot.rows.to_pylist()]


def by_hand(
    snapshots: Sequence[IncrementalSnapshot], position: Root, *, whole: bool = False
) -> IncrementalSnapshot:
    """Merge as the contract of incremental snapshots says it, row by row."""
    newest: dict[object, Row] = {}
    appends = snapshots[0].appends
    for number, each in enumerate(snapshots):
        assert each.appends is appends
        for ordinal, row in enumerate(rows_of(each)):
            newest[(number, ordinal) if appends else row[0]] = row
    left = [
        row
        for row in newest.values()
        if (not whole if row[2] == GONE else position <= Root(row[2], PUNCTUATION))
    ]
    return incremental_snapshot(sorted(left), appends=appends)


def state_of(snapshots: Sequence[IncrementalSnapshot], position: Root) -> list[Row]:
    """Return the rows that are of use at a position."""
    return rows_of(by_hand(snapshots, position, whole=True)) if snapshots else []


def numbered(keys: Iterable[int], word: str = "v", expires: int = NEVER) -> IncrementalSnapshot:
    """Return an incremental snapshot of rows with these keys and values made of `word` and the key."""
    return incremental_snapshot((key, f"{word}{key}", expires) for key in keys)
