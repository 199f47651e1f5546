"""Writes the rows of bundles to a table, and the position in the same transaction.

Rows that are only added are copied.  Where rows replace each other by their key, those of a transaction are
copied to a table of the session first; the last change of each key counts.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

from fsql.compiler.logical import Changes
from fsql.connectors.bundle_writer import BundleWriter
from fsql.connectors.postgres.client import psycopg_module, quoted, sink_error
from fsql.connectors.postgres.row_texts import column_texts, csv_of
from fsql.runtime.ports import DELETE, OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import psycopg

    from fsql.compiler.diagnostics import FsqlError
    from fsql.compiler.logical import SinkTable
    from fsql.connectors.postgres.server_table import ServerTable
    from fsql.runtime.batch import Root
    from fsql.runtime.ports import Release
    from fsql.runtime.sink import SinkLostError

_ROWS_MAX: Final = 100_000
"""A transaction begins no further bundle when it has so many rows."""
_STAGE: Final = "pg_temp.fsql_rows"
_DELETED: Final = "fsql deleted"


class PendingRows(NamedTuple):
    """A bundle that waits: its end, and its rows as texts, the kind of change last if there is one."""

    ends: Root
    pieces: list[list[pa.Array]]

    @property
    def row_count(self) -> int:
        """Return the number of rows that are to be written."""
        return sum(len(piece[0]) for piece in self.pieces)


class RowTexts:
    """Makes the texts of released rows, as the columns of the database take them."""

    def __init__(self, sink: SinkTable, table: ServerTable) -> None:
        self._columns = sink.columns
        self._upserts = sink.changes is Changes.UPSERT
        self._labels = None if sink.changes is Changes.APPEND else pa.array(OPERATIONS)
        self._arrays = [table.columns[each.name].type.startswith("_") for each in sink.columns]

    def __call__(self, release: Release) -> list[pa.Array]:
        """Return the columns of rows as texts; those of changes have the kind of the change as the last."""
        texts = [
            column_texts(column, declared.type, as_array=as_array)
            for column, declared, as_array in zip(
                release.columns, self._columns, self._arrays, strict=True
            )
        ]
        if self._labels is None:
            return texts
        assert release.operations is not None
        operations = pa.array(release.operations.astype("int32"))
        if self._upserts:
            deleted = release.operations == DELETE
            return [*texts, pa.array(["t" if each else "f" for each in deleted.tolist()])]
        return [*texts, self._labels.take(operations)]


class Statements:
    """The statements that write rows of one table."""

    def __init__(self, sink: SinkTable, table: ServerTable) -> None:
        names = [quoted(each.name) for each in sink.columns]
        listed = ", ".join(names)
        target = table.name.sql
        if sink.changes is Changes.RETRACT:
            listed = f"{listed}, {quoted(sink.operation_column)}"
        self.key = None if sink.changes is not Changes.UPSERT else sink.key
        self.copy = f"COPY {target} ({listed}) FROM STDIN (FORMAT csv)"
        if self.key is None:
            return
        deleted = quoted(_DELETED)
        keys = [names[index] for index in self.key]
        others = [name for name in names if name not in keys]
        self.stage = (
            f"CREATE TEMPORARY TABLE fsql_rows ON COMMIT DELETE ROWS AS SELECT {listed}, false AS {deleted}"  # noqa: S608 - names are quoted
            f" FROM {target} WITH NO DATA"
        )
        self.copy = f"COPY {_STAGE} ({listed}, {deleted}) FROM STDIN (FORMAT csv)"
        same = " AND ".join(f"t.{name} = s.{name}" for name in keys)
        self.delete = f"DELETE FROM {target} t USING {_STAGE} s WHERE s.{deleted} AND {same}"  # noqa: S608
        news = ", ".join(f"{name} = EXCLUDED.{name}" for name in others)
        action = f"DO UPDATE SET {news}" if news else "DO NOTHING"
        self.upsert = (
            f"INSERT INTO {target} ({listed}) SELECT {listed} FROM {_STAGE} WHERE NOT {deleted}"  # noqa: S608
            f" ON CONFLICT ({', '.join(keys)}) {action}"
        )

    def execute(
        self, connection: psycopg.Connection[Any], pieces: Sequence[list[pa.Array]]
    ) -> None:
        """Write rows, in order; in the transaction of the connection.

        Raises:
            psycopg.Error: if the server refuses.
        """
        if self.key is None:
            self._copy(connection, pieces)
            return
        columns = _last_of_keys(pieces, self.key)
        self._copy(connection, [columns])
        if "t" in columns[-1].unique().to_pylist():
            connection.execute(self.delete)
        if "f" in columns[-1].unique().to_pylist():
            connection.execute(self.upsert)

    def _copy(self, connection: psycopg.Connection[Any], pieces: Sequence[list[pa.Array]]) -> None:
        with connection.cursor().copy(self.copy) as copy:
            for piece in pieces:
                copy.write(csv_of(piece))


def _last_of_keys(pieces: Sequence[list[pa.Array]], key: Sequence[int]) -> list[pa.Array]:
    """Return the last row of each key, in the order of these rows."""
    columns = [pa.concat_arrays(parts) for parts in zip(*pieces, strict=True)]
    keys = zip(*(columns[index].to_pylist() for index in key), strict=True)
    last = {value: row for row, value in enumerate(keys)}
    if len(last) == len(columns[0]):
        return columns
    rows = pa.array(sorted(last.values()), pa.int64())
    return [column.take(rows) for column in columns]


class TableWriter(BundleWriter[PendingRows]):
    """Stores bundles in transactions; `record` adds the position to each, in the same transaction."""

    def __init__(
        self,
        connection: psycopg.Connection[Any],
        statements: Statements,
        record: Callable[[Root], None],
        what: str,
    ) -> None:
        """Take the connection; `what` is what the writer does, for messages."""
        super().__init__("postgres", _ROWS_MAX)
        self._connection = connection
        self._statements = statements
        self._record = record
        self._what = what
        self.start()

    def store(self, bundles: list[PendingRows]) -> None:
        """Store bundles in one transaction.

        Raises:
            psycopg.Error: if the server refuses, or is gone.
            SinkLostError: if a later epoch has begun.
        """
        pieces = [piece for each in bundles for piece in each.pieces if len(piece[0])]
        with self._connection.transaction():
            if pieces:
                self._statements.execute(self._connection, pieces)
            self._record(bundles[-1].ends)

    def failure_of(self, error: Exception) -> SinkLostError | FsqlError:
        """Return the error of a transaction that failed."""
        if isinstance(error, psycopg_module().Error):
            return sink_error(self._what, error)
        return super().failure_of(error)

    def close(self) -> bool:
        """Write what waits, and leave the server."""
        ended = super().close()
        if ended:
            with suppress(psycopg_module().Error):
                self._connection.close()
        return ended
