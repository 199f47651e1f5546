"""Pre-aggregation: a few rows with weights stand for the rows of a hot key in a batch.

Contract.  The weights of the rows that stand for others add up to the number of those rows, and each column
that the aggregate reads has the same number of values, the same sum, and the same least and greatest value.
They are at the least position of the replaced rows.  All other rows are kept.  If the batch is cut at a
position, this holds for the rows below it and for the others, each by themselves. `compiler.pre_aggregation`
determines where this is allowed.

    k  v             k  v    weight
    a  9             a  1       1        the least value
    a  4             a  9       1        the greatest
    a  1       ─▶    a  5       2        the others, which add up to 10
    a  6

A column with n values, sum s, least value a and greatest value b becomes a row with a, a row with b, and n -
2 rows that add up to s - a - b.  These have one value, or two consecutive integers, between a and b, so they
fit the type.  The runs of all columns are cut wherever one of the columns changes its value: that makes at
most 4 rows for each summed column, 2 for each compared column, and one for the NULLs of each.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.runtime.batch import Batch
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.order import below, concat_arrays, fixed_width, integers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from fsql.compiler.pre_aggregation import ArgumentColumns
    from fsql.runtime.arrays import Bools, Ints
    from fsql.runtime.batch import Root

    Hashes = NDArray[np.uint32]

SAMPLED: Final = 512
"""The number of rows of a batch that are sampled to find its hot keys."""
_SEEN_MIN: Final = 4
"""The minimum number of rows of a hot key in the sample, unless the sample is the whole batch."""
HOT_MAX: Final = 16
"""The maximum number of keys of a batch that are pre-aggregated."""
_LOW: Final = 0xFFFFFFFF
_SUMMED_MAX: Final = 1 << 32
"""Fewer than 2**31 values below this can be added in 64 bits."""


class PreAggregated(NamedTuple):
    """A batch in which rows stand for others; `rows` has for each a row of the original batch with its key.

    `greatest` is the greatest root of a row that was replaced.
    """

    batch: Batch
    rows: Ints
    greatest: Root


class _Runs(NamedTuple):
    """A column of rows that stand for others: its values, and the number of rows for which each stands."""

    counts: list[int]
    values: list[int | None]
    """Integers for a summed column; otherwise numbers of rows of the batch."""


class _Combined(NamedTuple):
    """The rows that stand for others of one key: their index in the batch, their weights and columns."""

    first: int
    greatest: Root
    weights: list[int]
    values: dict[int, list[int | None]]


class PreAggregation:
    """Pre-aggregates the keys that have at least `least` rows in a batch, or on one side of its cut."""

    def __init__(self, columns: ArgumentColumns, least: int) -> None:
        self._columns = columns
        self._least = least

    def __call__(
        self, batch: Batch, hashes: Hashes, cut: Root | None = None
    ) -> PreAggregated | None:
        """Return the batch with the rows of hot keys replaced, None if there is no hot key.

        `hashes` are those of the keys.  Rows below `cut` are not combined with others.
        """
        if batch.weight is not None:
            return None
        under = None if cut is None else below(batch, cut)
        kept, made = np.ones(len(batch), np.bool_), []
        for hot in _hot_hashes(hashes, self._least):
            of_key = self._rows_of_first_key(batch, np.flatnonzero(hashes == hot))
            for rows in _sides(of_key, under):
                if len(rows) < self._least:
                    continue
                standing = self._combine_rows(batch, rows)
                if len(standing.weights) < len(rows):
                    kept[rows] = False
                    made.append(standing)
        if not made:
            return None
        made.sort(key=lambda each: each.first)
        greatest = max(each.greatest for each in made)
        return PreAggregated(*self._assemble(batch, np.flatnonzero(kept), made), greatest)

    def _rows_of_first_key(self, batch: Batch, rows: Ints) -> Ints:
        """Return the rows among `rows` that have the key of the first one; others may only share its hash."""
        for index in self._columns.keys:
            if len(rows) and not _is_constant(batch.columns[index]):
                same = _equal_to_first(batch.columns[index], rows)
                rows = rows if same.all() else rows[same]
        return rows

    def _combine_rows(self, batch: Batch, rows: Ints) -> _Combined:
        """Return the rows that stand for `rows`."""
        runs = dict(self._runs(batch, rows))
        ends = {index: list(accumulate(run.counts)) for index, run in runs.items()}
        cuts = sorted({len(rows), *(end for each in ends.values() for end in each)})
        weights = np.diff([0, *cuts]).tolist()
        run_of_row = {index: np.searchsorted(ends[index], cuts).tolist() for index in runs}
        values = {
            index: [runs[index].values[run] for run in run_of_row[index]] for index in sorted(runs)
        }
        return _Combined(*_bounds(batch, rows), weights, values)

    def _runs(self, batch: Batch, rows: Ints) -> Iterator[tuple[int, _Runs]]:
        read = self._columns
        for index in (*read.summed, *read.compared, *read.counted):
            column, valid, null = batch.columns[index], rows, rows[:0]
            if column.null_count:
                is_valid = column.is_valid().to_numpy(zero_copy_only=False)[rows]
                valid, null = rows[is_valid], rows[~is_valid]
            runs = _Runs([], [])
            if len(valid) and index in read.summed:
                runs = _sum_runs(_integers_at(column, valid))
            elif len(valid) and index in read.compared:
                runs = _extreme_runs(_integers_at(column, valid), valid)
            elif len(valid):
                runs = _Runs([len(valid)], [int(valid[0])])
            if len(null):
                runs.counts.append(len(null))
                runs.values.append(None if index in read.summed else int(null[0]))
            yield index, runs

    def _assemble(self, batch: Batch, kept: Ints, made: Sequence[_Combined]) -> tuple[Batch, Ints]:
        """Return the rows that are kept and those that stand for others, ordered as before.

        `made` is in the order of their first rows.
        """
        firsts = np.array([each.first for each in made for _ in each.weights], np.int64)
        before = np.searchsorted(kept, firsts)
        replaced = before + np.arange(len(firsts))
        rows = np.insert(kept, before, firsts)
        weight = np.ones(len(rows), np.int64)
        weight[replaced] = [weight for each in made for weight in each.weights]
        columns = []
        for index, column in enumerate(batch.columns):
            values = [value for each in made for value in each.values.get(index, ())]
            if index in self._columns.summed:
                columns.append(_with_values(column, rows, replaced, values))
            else:
                taken = rows.copy() if values else rows
                if values:
                    taken[replaced] = np.array(values, np.int64)
                columns.append(column.take(pa.array(taken)))
        path = tuple(level[rows] for level in batch.path)
        return Batch(columns, batch.time[rows], batch.origin[rows], path, weight), rows


def _with_values(
    column: pa.Array, rows: Ints, replaced: Ints, values: Sequence[int | None]
) -> pa.Array:
    """Return some rows of a column of integers, with other values at the indexes `replaced`."""
    column = decode_dictionary(column)
    if pa.types.is_int64(column.type) and not column.null_count:
        taken = column.to_numpy()[rows]
        taken[replaced] = values
        return pa.array(taken)
    indexes = rows.copy()
    indexes[replaced] = np.arange(len(column), len(column) + len(values))
    return concat_arrays([column, pa.array(values, column.type)]).take(pa.array(indexes))


def _hot_hashes(hashes: Hashes, least: int) -> list[int]:
    """Return the hashes that probably have at least `least` rows, in descending order of rows."""
    if len(hashes) < least:
        return []
    stride = -(-len(hashes) // SAMPLED)
    found, counts = np.unique(hashes[::stride], return_counts=True)
    often = np.flatnonzero(counts >= max(-(-least // stride), _SEEN_MIN if stride > 1 else 1))
    most = often[np.argsort(-counts[often], kind="stable")]
    hot: list[int] = found[most[:HOT_MAX]].tolist()
    return hot


def _sides(rows: Ints, under: Bools | None) -> tuple[Ints, ...]:
    """Return the rows on each side of a cut; `under` has for each row of the batch whether it is below."""
    if under is None:
        return (rows,)
    is_under = under[rows]
    return rows[is_under], rows[~is_under]


def _bounds(batch: Batch, rows: Ints) -> tuple[int, Root]:
    """Return the row with the least position, and the greatest root."""
    if batch.ascending:
        return int(rows[0]), batch.root(int(rows[-1]))
    first = last = rows
    for column in (batch.time, batch.origin, *batch.path):
        first = _at(column, first, np.min)
    for column in (batch.time, batch.origin):
        last = _at(column, last, np.max)
    return int(first[0]), batch.root(int(last[0]))


def _at(column: Ints, rows: Ints, extreme: Callable[[Ints], np.int64]) -> Ints:
    """Return the rows that have the least or the greatest value of a column."""
    if len(rows) == 1:
        return rows
    values = column[rows]
    return rows[np.flatnonzero(values == extreme(values))]


def _equal_to_first(column: pa.Array, rows: Ints) -> NDArray[np.bool_]:
    """Return which rows have the same value as the first one; NULL is equal to NULL, as in keys."""
    if isinstance(column, pa.DictionaryArray):
        return _codes_equal_to_first(column, rows)
    if fixed_width(column.type) and not column.null_count:
        values = _integers_at(column, rows)
        return values == values[0]
    values, value = column.take(pa.array(rows)), column[int(rows[0])]
    if not value.is_valid:
        return np.asarray(values.is_null().to_numpy(zero_copy_only=False))
    same = pc.fill_null(pc.equal(values, value), fill_value=False)
    return np.asarray(same.to_numpy(zero_copy_only=False))


def _is_constant(column: pa.Array) -> bool:
    """Return whether a column, such as the bounds of windows, is known to have only one value."""
    if column.null_count or not (
        pa.types.is_timestamp(column.type) or pa.types.is_int64(column.type)
    ):
        return False
    values = column.view(pa.int64()).to_numpy()
    return bool(values[0] == values[-1] and values.min() == values.max())


def _codes_equal_to_first(column: pa.DictionaryArray, rows: Ints) -> NDArray[np.bool_]:
    """See `_equal_to_first`; the dictionary may have a value twice."""
    indices, count = column.indices, len(column.dictionary)
    if indices.null_count:
        indices = indices.fill_null(count)
    codes = indices.to_numpy(zero_copy_only=False)[rows]
    same = np.zeros(count + 1, np.bool_)
    same[codes[0]] = True
    if codes[0] < count:
        equal = pc.equal(column.dictionary, column.dictionary[int(codes[0])])
        same[:count] = pc.fill_null(equal, fill_value=False).to_numpy(zero_copy_only=False)
    return same[codes]


def _integers_at(column: pa.Array, rows: Ints) -> Ints:
    """Return some values of a fixed-width column as integers of the same order."""
    if pa.types.is_int64(column.type) and not column.null_count:
        return np.asarray(column.to_numpy())[rows]
    if pa.types.is_timestamp(column.type) and not column.null_count:
        return np.asarray(column.view(pa.int64()).to_numpy())[rows]
    return integers(column.take(pa.array(rows)))[0]


def _sum_runs(values: Ints) -> _Runs:
    """Return runs of integers with the same sum, least and greatest value as the given ones."""
    least, greatest = int(values.min()), int(values.max())
    if len(values) == 1:
        return _Runs([1], [least])
    if max(-least, greatest) < _SUMMED_MAX:
        total = int(values.sum())
    else:
        total = int((values & _LOW).sum()) + (int((values >> 32).sum()) << 32)
    runs = _Runs([1, 1], [least, greatest])
    if len(values) > 2:
        value, ones_more = divmod(total - least - greatest, len(values) - 2)
        for count, each in ((len(values) - 2 - ones_more, value), (ones_more, value + 1)):
            if count:
                runs.counts.append(count)
                runs.values.append(each)
    return runs


def _extreme_runs(values: Ints, rows: Ints) -> _Runs:
    """Return runs of the rows with the least and the greatest value."""
    least, greatest = int(rows[values.argmin()]), int(rows[values.argmax()])
    if least == greatest:
        return _Runs([len(rows)], [least])
    return _Runs([len(rows) - 1, 1], [least, greatest])
