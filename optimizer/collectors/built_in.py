"""The built-in collector: Arrow and NumPy, no Java."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from fsql.compiler.statistics import TABLES
from fsql.optimizer.collectors.files import arrow_schema, read_files, spans_in
from fsql.optimizer.collectors.results import spans_of, weights_of
from fsql.optimizer.collectors.tables import GROUPS, SPAN_TABLES, statistics_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from fsql.optimizer.collectors.files import Kept
    from fsql.optimizer.collectors.results import Weight
    from fsql.optimizer.collectors.tables import Group
    from fsql.optimizer.statistics import Statistics

    Floats = np.ndarray[Any, np.dtype[np.float64]]
    Ints = np.ndarray[Any, np.dtype[np.int64]]


def collect(state: Path, kept: Kept | None = None) -> Statistics:
    """Return the statistics of the job in a state directory; damaged files are skipped.

    Files in `kept` are not read again; see `files.read_files`.
    """
    parts = {name: [arrow_schema(name).empty_table()] for name in TABLES}

    def take(name: str, path: Path, content: pa.Table) -> None:
        del path
        parts[name].append(content)

    problems = read_files(state, take, kept=kept)
    return statistics_of_rows(
        {name: pa.concat_tables(each) for name, each in parts.items()}, problems
    )


def statistics_of_rows(tables: Mapping[str, pa.Table], problems: Sequence[str]) -> Statistics:
    """Return the statistics of the rows of files, by table."""
    weights = weights_of(spans_of(spans_in(tables[name] for name in SPAN_TABLES)))
    weighted = {name: _ArrowTable(table, weights) for name, table in tables.items()}
    sums = {name: weighted[each.table].sums(each) for name, each in GROUPS.items()}
    return statistics_of(sums, problems)


class _ArrowTable:
    """See `tables.Weighted`."""

    def __init__(self, table: pa.Table, weights: Sequence[Weight]) -> None:
        found = _weight_indexes(table, weights)
        self._table = table if found.min(initial=0) >= 0 else table.filter(pa.array(found >= 0))
        known = found[found >= 0]
        self.seconds = np.array([each.seconds for each in weights])[known]
        self.smooth = np.array([each.smooth for each in weights])[known]
        self.is_newest = np.array([each.is_newest for each in weights])[known]

    def column(self, name: str) -> Floats:
        """Return the numbers of a column."""
        return self._table.column(name).to_numpy().astype(np.float64)

    def sums(self, group: Group) -> list[dict[str, Any]]:
        """Return the sums of a group."""
        keys, values = list(group.keys), group.values(self)
        table = self._table.select(keys)
        for name, column in values.items():
            table = table.append_column(name, pa.array(column, pa.float64()))
        grouped = table.group_by(keys).aggregate([(name, "list") for name in values])
        grouped = grouped.sort_by([(key, "ascending") for key in keys])
        summed = grouped.select(keys)
        for name in values:
            sums = _ascending_sums(grouped.column(f"{name}_list").combine_chunks())
            summed = summed.append_column(name, pa.array(sums))
        return summed.to_pylist()


def _weight_indexes(table: pa.Table, weights: Sequence[Weight]) -> Ints:
    """Return the index of the weight of each row, -1 if there is none."""
    index_of = {(each.worker, each.begins): index for index, each in enumerate(weights)}
    workers, begins = (table.column(name).to_numpy() for name in ("worker", "from"))
    if len(begins) == 0:
        return np.empty(0, np.int64)
    # The rows of a file are adjacent, and have the same span.
    differs = (workers[1:] != workers[:-1]) | (begins[1:] != begins[:-1])
    starts = np.concatenate([[0], np.flatnonzero(differs) + 1])
    spans = zip(workers[starts].tolist(), begins[starts].tolist(), strict=True)
    found = np.array([index_of.get(span, -1) for span in spans], np.int64)
    return found.repeat(np.diff([*starts, len(begins)]))


def _ascending_sums(lists: pa.Array) -> Floats:
    """Return the sum of each list, added in ascending order."""
    owners = np.repeat(np.arange(len(lists)), lists.value_lengths().to_numpy())
    values = lists.flatten().to_numpy()
    order = np.lexsort((values, owners))
    # bincount adds sequentially; add.reduceat would add in pairs.
    sums = np.bincount(owners[order], values[order], minlength=len(lists))
    return sums.astype(np.float64, copy=False)
