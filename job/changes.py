"""The result of a query, for a Python program: its changes, or the resulting table.

Each use of `Changes` runs the query from its beginning, always with the same result; the results of `table`
and `changelog` are kept.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from fsql.job.changes_display import CHANGES_MAX, Shown, as_html, as_text
from fsql.job.result_rows import ResultRows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa

    from fsql.compiler.analysis.result_order import ResultKey
    from fsql.compiler.schema import Schema
    from fsql.job.result_rows import Change, Operations
    from fsql.runtime.ports import Release


class Result(ABC):
    """The base class of query results: a table, its display, and its conversions."""

    def __init__(self, schema: Schema, order: Sequence[ResultKey]) -> None:
        """Take the columns of the result, and the order of its rows."""
        self._rows = ResultRows(schema, order)

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns."""
        return list(self._rows.names)

    @abstractmethod
    def table(self) -> pa.Table:
        """Return the rows after all changes, by ORDER BY, then in the order in which they were added."""

    @abstractmethod
    def _rows_to_show(self) -> Shown:
        """Return the rows to display."""

    def __repr__(self) -> str:
        """Return the first rows of the table as text, after at most as many changes as a display reads."""
        return as_text(self._rows_to_show())

    def _repr_html_(self) -> str:
        """Return the first rows of the table for a notebook."""
        return as_html(self._rows_to_show())

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """Return the first rows of the table for a notebook, in all forms."""
        del include, exclude
        shown = self._rows_to_show()
        return {"text/plain": as_text(shown), "text/html": as_html(shown)}

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


class Changes(Result):
    """The changes of a query's result, in order."""

    def __init__(
        self, schema: Schema, order: Sequence[ResultKey], run: Callable[[], Iterator[Release]]
    ) -> None:
        """Take the columns of the result, the order of its rows, and the function that runs the query."""
        super().__init__(schema, order)
        self._run = run
        self._collected: tuple[list[pa.Array], Operations] | None = None

    def __iter__(self) -> Iterator[Change]:
        """Run the query and yield its changes as they become final.

        Raises:
            FsqlError: if the query fails on a row; all changes before it have been yielded.
        """
        for release in self._run():
            yield from self._rows.changes(release)

    def changelog(self) -> pa.Table:
        """Return all changes: a column `op`, then the columns of the result.

        Raises:
            FsqlError: if a row makes the query fail.
        """
        return self._rows.changelog(*self._collect())

    def table(self) -> pa.Table:
        """Return the rows after all changes, by ORDER BY, then in the order in which they were added.

        Raises:
            FsqlError: if a row makes the query fail.
        """
        return self._rows.table(self._rows.net_columns(*self._collect()))

    def _rows_to_show(self) -> Shown:
        """Return the table; after the first changes only, if there are many."""
        releases: list[Release] = []
        count = 0
        for release in () if self._collected is not None else self._run():
            releases.append(release)
            count += len(release.time)
            if count >= CHANGES_MAX:
                left = self._rows.net_columns(*self._rows.concatenate(releases))
                return Shown(self._rows.table(left), count, "first changes")
        if self._collected is None:
            self._collected = self._rows.concatenate(releases)
        return Shown(self.table(), len(self._collected[1]), "changes")

    def _collect(self) -> tuple[list[pa.Array], Operations]:
        if self._collected is None:
            self._collected = self._rows.concatenate(list(self._run()))
        return self._collected
