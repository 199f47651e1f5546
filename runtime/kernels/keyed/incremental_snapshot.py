"""Incremental snapshots: the changes in the state of a fold since its last snapshot, in columns.

An incremental snapshot is an Arrow record batch: `keys` columns of the key, in the form in which kernels
compare keys, then `hash`, the kernel's own columns, and `expires`.

* `hash` is the balancing hash of the key, which determines the owner of the row.
* `expires` is a time: once min time has passed the punctuation of that time, the row is no longer needed.
  It is `NEVER` for rows that do not expire, and `GONE` for keys that no longer have state.

If `appends` is false, there is one row for each key, and it replaces the row in older snapshots; a row that
is `GONE` only removes older ones.  If `appends` is true, rows are added to those of older snapshots (a join's
rows), and rows that are equal except for `weight` are one row with the sum.

Contract.  The rows are sorted by hash, key and, if they append, all following columns; so the rows of a hash
range are a slice.  The result of `merge_snapshots(…, whole=True)` over all incremental snapshots of an
operator, from the first on, of all workers, up to one position, depends only on the input below that
position, to the byte.  This does not hold for a single incremental snapshot: a speculative fold may also
include a key that was changed only by rows that were undone.  `tests/property/test_snapshots.py` checks both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from fsql.compiler.owner_map import ALL_BINS, BIN_SHIFT, BINS
from fsql.runtime.batch import PUNCTUATION, TIME_END, TIME_START
from fsql.runtime.hashing import hash_rows
from fsql.runtime.nested_types import is_nested
from fsql.runtime.order import (
    canonical_rank,
    identity_codes,
    lexicographic_order,
    stable_order,
    starts_of_runs,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from fsql.compiler.owner_map import BinRanges
    from fsql.runtime.arrays import Ints
    from fsql.runtime.batch import Root


NEVER: Final = TIME_END
GONE: Final = TIME_START - 1
HASH: Final = "hash"
EXPIRES: Final = "expires"
WEIGHT: Final = "weight"


TEXT_BYTES_MAX: Final = 2**31 - 1
"""The maximum number of bytes of a column of strings or arrays: Arrow's offsets have 32 bits."""
_BUFFERS_OF_NUMBERS: Final = 2


class StateTooLargeError(Exception):
    """A column of the state of an operator on one worker is larger than `TEXT_BYTES_MAX`."""

    def __init__(self, operator: str = "?") -> None:
        super().__init__(
            f'operator "{operator}" has more than {TEXT_BYTES_MAX:,} bytes in one column of its state'
            " on one worker"
        )


class IncrementalSnapshot:
    """State rows of one fold; see above.

    Rows may be given as a function.  It is called when they are first used, from any thread, and must read
    immutable data only.
    """

    __slots__ = ("_rows", "appends", "keys")

    def __init__(
        self,
        rows: pa.RecordBatch | Callable[[], pa.RecordBatch],
        keys: int,
        appends: bool,  # noqa: FBT001 - a record
    ) -> None:
        self._rows = rows
        self.keys = keys
        self.appends = appends

    @property
    def rows(self) -> pa.RecordBatch:
        """Return the rows."""
        if callable(self._rows):
            self._rows = self._rows()
        return self._rows

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self.rows.num_rows)


def incremental_snapshot(
    keys: Sequence[pa.Array], state: pa.RecordBatch, *, appends: bool, hashed: int | None = None
) -> IncrementalSnapshot:
    """Return a snapshot of keys and their state, `expires` last; its rows may be in any order.

    `hashed` is how many of the key columns determine the hash; None for all.
    """
    hashes = hash_rows(keys[:hashed], state.num_rows)
    columns = [*keys, pa.array(hashes), *state.columns]
    names = [*(f"key_{number}" for number in range(len(keys))), HASH, *state.schema.names]
    return IncrementalSnapshot(pa.RecordBatch.from_arrays(columns, names), len(keys), appends)


def merge_snapshots(
    snapshots: Sequence[IncrementalSnapshot], position: Root, *, whole: bool = False
) -> IncrementalSnapshot:
    """Return one snapshot that replaces several, which are given oldest first.

    Args:
        snapshots: at least one; all of one operator, of any number of workers.
        position: the position of the newest: rows that have expired below it are dropped.
        whole: there are no older snapshots, so keys without state need not be kept.

    Raises:
        StateTooLargeError: if a column of the result has more than `TEXT_BYTES_MAX` bytes.
    """
    first = snapshots[0]
    if max(text_bytes(snapshots), default=0) > TEXT_BYTES_MAX:
        return _merge_in_parts(snapshots, position, whole=whole)
    batches = [one.rows for one in snapshots]
    rows = batches[0] if len(batches) == 1 else pa.concat_batches(batches)
    rows = _sum_weights(rows, first.keys) if first.appends else _newest(rows, first.keys)
    rows = _drop_expired(rows, position)
    if whole:
        rows = _filter(rows, _integers(rows, EXPIRES) != GONE)
    return IncrementalSnapshot(_with_null_fields(rows), first.keys, first.appends)


def _with_null_fields(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows with NULL in the fields of a ROW that is NULL, which may have any value in memory."""
    if not any(pa.types.is_nested(kind) for kind in rows.schema.types):
        return rows
    return pa.RecordBatch.from_arrays([null_fields(c) for c in rows.columns], schema=rows.schema)


def text_bytes(snapshots: Sequence[IncrementalSnapshot]) -> list[int]:
    """Return the total number of bytes of all snapshots in each column of strings or arrays."""
    kinds = snapshots[0].rows.schema.types
    return [
        sum(one.rows.column(index).nbytes for one in snapshots)
        for index, kind in enumerate(kinds)
        if kind.num_buffers > _BUFFERS_OF_NUMBERS or pa.types.is_nested(kind)
    ]


def _merge_in_parts(
    snapshots: Sequence[IncrementalSnapshot], position: Root, *, whole: bool
) -> IncrementalSnapshot:
    """Like `merge_snapshots`, separately for the two halves of the bins, then concatenated."""
    bins = [int(bound) >> BIN_SHIFT for one in snapshots for bound in _bounds(one)]
    least, end = min(bins), max(bins) + 1
    if end - least == 1:
        raise StateTooLargeError
    middle = (least + end) // 2
    halves: list[BinRanges] = [((0, middle),), ((middle, BINS),)]
    parts = [
        merge_snapshots([rows_of_bins(one, half) for one in snapshots], position, whole=whole)
        for half in halves
    ]
    if max(text_bytes(parts)) > TEXT_BYTES_MAX:
        raise StateTooLargeError
    rows = pa.concat_batches([part.rows for part in parts])
    return IncrementalSnapshot(rows, snapshots[0].keys, snapshots[0].appends)


def _bounds(snapshot: IncrementalSnapshot) -> Sequence[int]:
    """Return the least and the greatest hash, if there are rows."""
    hashes = _integers(snapshot.rows, HASH)
    return [int(hashes[0]), int(hashes[-1])] if len(hashes) else []


def merge_snapshots_later(
    snapshots: Sequence[IncrementalSnapshot], position: Root
) -> IncrementalSnapshot:
    """Like `merge_snapshots`, computed when the rows of the result are used."""
    first = snapshots[0]
    return IncrementalSnapshot(
        lambda: merge_snapshots(snapshots, position).rows, first.keys, first.appends
    )


def rows_of_bins(snapshot: IncrementalSnapshot, bins: BinRanges) -> IncrementalSnapshot:
    """Return the rows whose hashes are in some bins; the snapshot must be sorted."""
    if bins == ALL_BINS:
        return snapshot
    bounds = np.array(bins, np.int64).reshape(-1) << BIN_SHIFT
    indexes = np.searchsorted(_integers(snapshot.rows, HASH), bounds, "left").reshape(-1, 2)
    slices = [snapshot.rows.slice(first, end - first) for first, end in indexes.tolist()]
    if len(slices) == 1:
        return IncrementalSnapshot(slices[0], snapshot.keys, snapshot.appends)
    rows = pa.concat_batches(slices) if slices else snapshot.rows.slice(0, 0)
    return IncrementalSnapshot(rows, snapshot.keys, snapshot.appends)


def rows_of_bins_later(snapshot: IncrementalSnapshot, bins: BinRanges) -> IncrementalSnapshot:
    """Like `rows_of_bins`, computed when the rows of the result are used."""
    return IncrementalSnapshot(
        lambda: rows_of_bins(snapshot, bins).rows, snapshot.keys, snapshot.appends
    )


def _drop_expired(rows: pa.RecordBatch, position: Root) -> pa.RecordBatch:
    expires = _integers(rows, EXPIRES)
    passed = expires < position.time
    if position.origin > PUNCTUATION:
        passed |= expires == position.time
    return _filter(rows, ~passed | (expires == GONE))


def _newest(rows: pa.RecordBatch, keys: int) -> pa.RecordBatch:
    """Return the last row of each key, in order."""
    columns = _key_columns(rows, keys)
    order = _order(columns, rows.num_rows)
    starts = starts_of_runs(*(column[order] for column in columns))
    return _rows(rows, order[np.append(starts[1:], len(order))[: len(starts)] - 1])


def _sum_weights(rows: pa.RecordBatch, keys: int) -> pa.RecordBatch:
    """Return one row, with the sum of the weights, for each set of equal rows; no row if the sum is 0."""
    columns = _key_columns(rows, keys)
    for name, column in zip(rows.schema.names[keys:], rows.columns[keys:], strict=True):
        if name not in {WEIGHT, HASH, EXPIRES}:
            columns.append(identity_codes(column))
    order = _order(columns, rows.num_rows)
    starts = starts_of_runs(*(column[order] for column in columns))
    sums = _integers(rows, WEIGHT)[order]
    sums = np.add.reduceat(sums, starts) if len(starts) else sums
    kept = np.flatnonzero(sums)
    result = _rows(rows, order[starts[kept]])
    return result.set_column(rows.schema.get_field_index(WEIGHT), WEIGHT, pa.array(sums[kept]))


def _key_columns(rows: pa.RecordBatch, keys: int) -> list[Ints]:
    """Return the columns that order rows by hash and key.

    Keys are ranked only if they share a hash; otherwise their columns are constant.
    """
    hashes = _integers(rows, HASH)
    order = stable_order(hashes)
    same = hashes[order[1:]] == hashes[order[:-1]]
    sharing = order[np.append(same, False) | np.append(False, same)] if len(order) else order
    if len(sharing) == 0:
        return [hashes]
    columns = [hashes]
    for key in rows.columns[:keys]:
        rank = np.zeros(len(hashes), np.int64)
        rank[sharing] = canonical_rank(key.take(pa.array(sharing)))
        columns.append(rank)
    return columns


def _order(columns: list[Ints], count: int) -> Ints:
    order = lexicographic_order(columns)
    return np.arange(count) if order is None else order


def _integers(rows: pa.RecordBatch, name: str) -> Ints:
    return rows.column(name).to_numpy(zero_copy_only=False).astype(np.int64, copy=False)


def _rows(rows: pa.RecordBatch, indexes: Ints) -> pa.RecordBatch:
    return rows.take(pa.array(indexes))


def _filter(rows: pa.RecordBatch, marks: NDArray[np.bool_]) -> pa.RecordBatch:
    return rows if marks.all() else _rows(rows, np.flatnonzero(marks))


# The canonical form of a NULL row in state: Arrow does not define the fields of a NULL struct.


def null_fields(array: pa.Array) -> pa.Array:
    """Return a column with NULL in the fields of each ROW that is NULL, within arrays as well."""
    kind = array.type
    if not is_nested(kind):
        return array
    mask = array.is_null() if array.null_count else None
    if pa.types.is_struct(kind):
        children = [null_fields(child) for child in array.flatten()]
        return pa.StructArray.from_arrays(children, fields=list(kind), mask=mask)
    ends = array.offsets.to_numpy()
    values = null_fields(array.values.slice(ends[0], ends[-1] - ends[0]))
    return pa.ListArray.from_arrays(pa.array(ends - ends[0]), values, mask=mask)
