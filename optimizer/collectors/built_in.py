"""The built-in collector: Arrow and NumPy, no Java."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from fsql.compiler.statistics import TABLES
from fsql.optimizer.collectors.files import arrow_schema, read_files
from fsql.optimizer.collectors.results import spans_of, weights_of
from fsql.optimizer.collectors.tables import SPAN_TABLES, SPANS, statistics_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fsql.optimizer.collectors.results import Weight
    from fsql.optimizer.statistics import Statistics

    Floats = np.ndarray[Any, np.dtype[np.float64]]


def collect(state: Path) -> Statistics:
    """Return the statistics of the job in a state directory; damaged files are left out."""
    parts = {name: [arrow_schema(name).empty_table()] for name in TABLES}
    problems = read_files(state, lambda name, _, content: parts[name].append(content))
    tables = {name: pa.concat_tables(each) for name, each in parts.items()}
    weights = weights_of(
        spans_of(
            span
            for name in SPAN_TABLES
            for span in zip(*(tables[name].column(end).to_pylist() for end in SPANS), strict=True)
        )
    )
    weighted = {name: _ArrowTable(table, weights) for name, table in tables.items()}
    return statistics_of(weighted, problems)


class _ArrowTable:
    """See `tables.Weighted`."""

    def __init__(self, table: pa.Table, weights: Sequence[Weight]) -> None:
        places = {(each.worker, each.begins): place for place, each in enumerate(weights)}
        keys = zip(
            table.column("worker").to_pylist(), table.column("from").to_pylist(), strict=True
        )
        found = np.array([places.get(key, -1) for key in keys], np.int64)
        self._table = table.filter(pa.array(found >= 0))
        known = found[found >= 0]
        self.seconds = np.array([each.seconds for each in weights])[known]
        self.smooth = np.array([each.smooth for each in weights])[known]
        self.is_newest = np.array([each.is_newest for each in weights])[known]

    def column(self, name: str) -> Floats:
        """Return the numbers of a column."""
        return self._table.column(name).to_numpy().astype(np.float64)

    def sums(self, keys: list[str], values: dict[str, Floats]) -> list[dict[str, Any]]:
        """Return the sums of some values for each key, in the order of the keys."""
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


def _ascending_sums(lists: pa.Array) -> Floats:
    """Return the sum of each list, added in ascending order."""
    owners = np.repeat(np.arange(len(lists)), lists.value_lengths().to_numpy())
    values = lists.flatten().to_numpy()
    order = np.lexsort((values, owners))
    # bincount adds one value after the other; add.reduceat would add in pairs.
    sums = np.bincount(owners[order], values[order], minlength=len(lists))
    return sums.astype(np.float64, copy=False)
