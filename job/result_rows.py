"""The rows of released changes, as a program sees them: changes, a changelog, the rows that are left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, cast

import numpy as np
import pyarrow as pa

from fsql.runtime.arrow_types import arrow_type, to_outside
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.order import (
    canonical_rank,
    concat_arrays,
    identity_codes,
    lexicographic_order,
    starts_of_runs,
)
from fsql.runtime.ports import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fsql.compiler.analysis.result_order import ResultKey
    from fsql.compiler.schema import Schema
    from fsql.runtime.ports import Release

Operation = Literal["+I", "-U", "+U", "-D"]
Operations: TypeAlias = "np.ndarray[Any, np.dtype[np.int8]]"
_WEIGHTS: Final = np.array([1, -1, 1, -1])
"""The weight of each operation, by its index in `OPERATIONS`."""


class Change(NamedTuple):
    """A change of the result: a row is inserted (`+I`), replaced (`-U`, then `+U`), or deleted (`-D`)."""

    op: Operation
    row: dict[str, Any]


class ResultRows:
    """Converts released rows of a result with these columns."""

    def __init__(self, schema: Schema, order: Sequence[ResultKey] = ()) -> None:
        """Take the columns of the result, and the order of its rows."""
        self._order = order
        self.names = [column.name for column in schema]
        self._types = [column.type for column in schema]

    def changes(self, release: Release) -> Iterator[Change]:
        """Yield the changes of a release."""
        columns = map(decode_dictionary, release.columns)
        values = [column.to_pylist() for column in self._outside(columns)]
        rows = zip(*values, strict=True) if values else iter([()] * len(release.time))
        operations = _operations(release)
        for operation, row in zip(operations.tolist(), rows, strict=True):
            yield Change(
                cast("Operation", OPERATIONS[operation]), dict(zip(self.names, row, strict=True))
            )

    def concatenate(
        self, releases: Sequence[Release], kept: Sequence[pa.Array] = ()
    ) -> tuple[list[pa.Array], Operations]:
        """Return the columns of releases, and the operations of their rows; `kept` were added before."""
        parts = [[*kept]] if kept else []
        parts += [[*map(decode_dictionary, release.columns)] for release in releases]
        columns = [
            concat_arrays([part[at] for part in parts]) if parts else pa.array([], arrow_type(kind))
            for at, kind in enumerate(self._types)
        ]
        before = np.zeros(len(kept[0]) if kept else 0, np.int8)
        return columns, np.concatenate([before, *map(_operations, releases)])

    def net_columns(self, columns: Sequence[pa.Array], operations: Operations) -> list[pa.Array]:
        """Return the columns of the rows that are left after the changes, in the order of their addition."""
        if not operations.any():
            return [*columns]
        kept = pa.array(_net(columns, _WEIGHTS[operations]))
        return [column.take(kept) for column in columns]

    def table(self, columns: Sequence[pa.Array]) -> pa.Table:
        """Return rows as a table in the order of the result, in the types for programs."""
        order = self._order_of(columns)
        if order is not None:
            columns = [column.take(pa.array(order)) for column in columns]
        return pa.table(self._outside(columns), names=self.names)

    def changelog(self, columns: Sequence[pa.Array], operations: Operations) -> pa.Table:
        """Return changes as a table: a column `op`, then the columns of the result."""
        labels = pa.DictionaryArray.from_arrays(pa.array(operations), pa.array(OPERATIONS))
        outside = self._outside(columns)
        return pa.table([labels.cast(pa.string()), *outside], names=["op", *self.names])

    def _order_of(self, columns: Sequence[pa.Array]) -> np.ndarray[Any, np.dtype[np.int64]] | None:
        """Return the stable order of rows, None if they are in order."""
        codes = []
        for key in self._order:
            column = columns[key.column]
            is_null = column.is_null().to_numpy(zero_copy_only=False).astype(np.int64)
            rank = canonical_rank(column)
            # Of NULLs the rank is the same; the complement reverses the order of all integers.
            codes += [-is_null if key.nulls_first else is_null, ~rank if key.descending else rank]
        return lexicographic_order(codes) if codes and len(codes[0]) else None

    def _outside(self, columns: Iterable[pa.Array]) -> list[pa.Array]:
        return [to_outside(column, kind) for column, kind in zip(columns, self._types, strict=True)]


def _operations(release: Release) -> Operations:
    if release.operations is None:
        return np.zeros(len(release.time), np.int8)
    return release.operations


def _net(
    columns: Sequence[pa.Array], weights: np.ndarray[Any, np.dtype[np.int64]]
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the indexes of the resulting rows: of equal rows, those that were added last."""
    codes = [identity_codes(column) for column in columns]
    order = lexicographic_order(codes)
    order = np.arange(len(weights)) if order is None else order
    starts = starts_of_runs(*(code[order] for code in codes))
    lengths = np.diff(np.append(starts, len(order)))
    left = np.repeat(np.add.reduceat(weights[order], starts), lengths)
    added = weights[order] > 0
    so_far = np.cumsum(added)
    from_here = np.repeat(so_far[np.cumsum(lengths) - 1], lengths) - so_far + added
    return np.sort(order[added & (from_here <= left)])
