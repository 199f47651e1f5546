"""The result of a query, for a Python program: its changes, or the resulting table.

Each use runs the query from its beginning, always with the same result; the results of `table` and
`changelog` are kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, cast

import numpy as np
import pyarrow as pa

from fsql.job.changes_display import CHANGES_MAX, Shown, as_html, as_text
from fsql.runtime.arrow_types import arrow_type, decode_dictionary, to_outside
from fsql.runtime.order import concat_arrays, lexicographic_order, sameness, starts_of_runs
from fsql.runtime.ports import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from fsql.compiler.schema import Schema
    from fsql.runtime.ports import Release

Operation = Literal["+I", "-U", "+U", "-D"]
_WEIGHTS: Final = np.array([1, -1, 1, -1])
"""The weight of each operation, by its index in `OPERATIONS`."""


class Change(NamedTuple):
    """A change of the result: a row is inserted (`+I`), replaced (`-U`, then `+U`), or deleted (`-D`)."""

    op: Operation
    row: dict[str, Any]


class Changes:
    """The changes of a query's result, in order."""

    def __init__(self, schema: Schema, run: Callable[[], Iterator[Release]]) -> None:
        """`schema` has the columns of the result; `run` runs the query."""
        self._names = [column.name for column in schema]
        self._types = [column.type for column in schema]
        self._run = run
        self._collected: tuple[list[pa.Array], np.ndarray[Any, np.dtype[np.int8]]] | None = None

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns."""
        return list(self._names)

    def __iter__(self) -> Iterator[Change]:
        """Run the query and yield its changes as they become final.

        Raises:
            FsqlError: if the query fails on a row; all changes before it have been yielded.
        """
        for release in self._run():
            yield from self._of_release(release)

    def _of_release(self, release: Release) -> Iterator[Change]:
        columns = map(decode_dictionary, release.columns)
        values = [column.to_pylist() for column in self._outside(columns)]
        rows = zip(*values, strict=True) if values else iter([()] * len(release.time))
        operations = _operations(release)
        for operation, row in zip(operations.tolist(), rows, strict=True):
            yield Change(
                cast("Operation", OPERATIONS[operation]), dict(zip(self._names, row, strict=True))
            )

    def _outside(self, columns: Iterable[pa.Array]) -> list[pa.Array]:
        """Return the columns in the types that programs have."""
        return [to_outside(column, kind) for column, kind in zip(columns, self._types, strict=True)]

    def changelog(self) -> pa.Table:
        """Return all changes: a column `op`, then the columns of the result.

        Raises:
            FsqlError: if a row makes the query fail.
        """
        columns, operations = self._collect()
        labels = pa.DictionaryArray.from_arrays(pa.array(operations), pa.array(OPERATIONS))
        outside = self._outside(columns)
        return pa.table([labels.cast(pa.string()), *outside], names=["op", *self._names])

    def table(self) -> pa.Table:
        """Return the rows after all changes, in the order in which they were added.

        Raises:
            FsqlError: if a row makes the query fail.
        """
        return self._table(*self._collect())

    def __repr__(self) -> str:
        """Return the first rows of the table as text, after so many changes as a display waits for."""
        return as_text(self._shown())

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """Return the first rows of the table for a notebook."""
        del include, exclude
        shown = self._shown()
        return {"text/plain": as_text(shown), "text/html": as_html(shown)}

    def _shown(self) -> Shown:
        """Return the table; that of the first changes, if there are many."""
        releases: list[Release] = []
        count = 0
        for release in () if self._collected is not None else self._run():
            releases.append(release)
            count += len(release.time)
            if count >= CHANGES_MAX:
                columns, operations = self._concatenate(releases)
                return Shown(self._table(columns, operations), count, ended=False)
        if self._collected is None:
            self._collected = self._concatenate(releases)
        return Shown(self.table(), len(self._collected[1]), ended=True)

    def _table(
        self, columns: list[pa.Array], operations: np.ndarray[Any, np.dtype[np.int8]]
    ) -> pa.Table:
        table = pa.table(self._outside(columns), names=self._names)
        if not operations.any():
            return table
        return table.take(_net(columns, _WEIGHTS[operations]))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the resulting rows as an Arrow stream, for `pa.table(changes)` and similar functions."""
        return self.table().__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> Any:  # noqa: ANN401 - pandas is not needed by fsql
        """Return the resulting rows as a pandas data frame; needs pandas."""
        return self.table().to_pandas()

    def to_polars(self) -> Any:  # noqa: ANN401 - polars is not needed by fsql
        """Return the resulting rows as a polars data frame; needs polars."""
        import polars

        return polars.from_arrow(self.table())

    def _collect(self) -> tuple[list[pa.Array], np.ndarray[Any, np.dtype[np.int8]]]:
        if self._collected is None:
            self._collected = self._concatenate(list(self._run()))
        return self._collected

    def _concatenate(
        self, releases: list[Release]
    ) -> tuple[list[pa.Array], np.ndarray[Any, np.dtype[np.int8]]]:
        of_releases = [[*map(decode_dictionary, release.columns)] for release in releases]
        columns = [
            concat_arrays([part[at] for part in of_releases])
            if of_releases
            else pa.array([], arrow_type(kind))
            for at, kind in enumerate(self._types)
        ]
        operations = [_operations(release) for release in releases]
        return columns, np.concatenate([np.zeros(0, np.int8), *operations])


def _operations(release: Release) -> np.ndarray[Any, np.dtype[np.int8]]:
    if release.operations is None:
        return np.zeros(len(release.time), np.int8)
    return release.operations


def _net(
    columns: list[pa.Array], weights: np.ndarray[Any, np.dtype[np.int64]]
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the indexes of the resulting rows: of equal rows, those that were added last."""
    codes = [sameness(column) for column in columns]
    order = lexicographic_order(codes)
    order = np.arange(len(weights)) if order is None else order
    starts = starts_of_runs(*(code[order] for code in codes))
    lengths = np.diff(np.append(starts, len(order)))
    left = np.repeat(np.add.reduceat(weights[order], starts), lengths)
    added = weights[order] > 0
    so_far = np.cumsum(added)
    from_here = np.repeat(so_far[np.cumsum(lengths) - 1], lengths) - so_far + added
    return np.sort(order[added & (from_here <= left)])
