"""The positions of outputs, in a table of the database: each has one row there.

The row is changed in the transactions that write rows, so both are there or neither.  It has the epoch, and
a transaction of an older one finds no row to change: it fails as a whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.connectors.postgres.client import TableName, failed_error, psycopg_module
from fsql.runtime.batch import START, Root
from fsql.runtime.sink import SinkLostError

if TYPE_CHECKING:
    import psycopg

    from fsql.runtime.sink import OpenRequest

TABLE: Final = "fsql_progress"
_COLUMNS: Final = (
    "job text NOT NULL, output text NOT NULL, epoch bigint NOT NULL, time bigint NOT NULL,"
    " origin bigint NOT NULL, written timestamptz NOT NULL, PRIMARY KEY (job, output)"
)
_LOCK: Final = 0x6673716C
"""The number of the lock under which the table is created: the letters `fsql`."""


class Progress:
    """The row of one output."""

    def __init__(
        self, connection: psycopg.Connection[Any], table: TableName, job: str, output: str
    ) -> None:
        self._connection = connection
        self._table = table
        self._key = [job, output]
        self._epoch = -1

    def create_table(self) -> None:
        """Create the table if there is none.

        Raises:
            FsqlError: E532, if the role may not.
            psycopg.Error: for other reasons.
        """
        connection = self._connection
        create = f"CREATE TABLE {self._table.sql} ({_COLUMNS})"
        try:
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
                found = connection.execute("SELECT to_regclass(%s)", [self._table.sql]).fetchone()
                if found == (None,):
                    connection.execute(create)
        except psycopg_module().errors.InsufficientPrivilege as error:
            what = f"creating the table of positions, {self._table},"
            grant = f"GRANT SELECT, INSERT, UPDATE ON {self._table.sql} TO …"
            helps = (f"let its owner create it: {create}; {grant}",)
            raise failed_error("E532", what, error, helps=helps) from None

    def end_other_sessions(self, session: str, epoch: int) -> None:
        """End sessions of that name, unless a later epoch has begun.

        A process of an older epoch may have stopped within a transaction, whose locks would stay.

        Raises:
            psycopg.Error: if the server refuses.
        """
        begun = f"(SELECT epoch FROM {self._table.sql} WHERE job = %s AND output = %s)"  # noqa: S608
        statement = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s"  # noqa: S608
            f" AND usename = current_user AND pid <> pg_backend_pid() AND %s >= coalesce({begun}, 0)"
        )
        self._connection.execute(
            statement,
            [session, epoch, *self._key],
        )

    def begin(self, opening: OpenRequest) -> Root:
        """Begin an epoch in the transaction of the connection; return the position of the output.

        Raises:
            FsqlError: E537, if rows were lost.
            SinkLostError: if a later epoch has begun.
            psycopg.Error: if the server refuses.
        """
        keeps = opening.option.keeps_position
        found = self._connection.execute(
            f"SELECT epoch, time, origin FROM {self._table.sql} WHERE job = %s AND output = %s FOR UPDATE",  # noqa: S608
            self._key,
        ).fetchone()
        if found is None:
            if keeps and opening.begins != START:
                raise self._mismatch_error("what it has is not recorded")
            position = START if keeps else opening.begins
        else:
            epoch, *numbers = found
            if epoch > opening.epoch:
                raise SinkLostError(f"a later epoch than {opening.epoch} has begun")
            position = Root(*numbers) if keeps else opening.begins
            if position < opening.begins:
                raise self._mismatch_error("it lacks rows that it had")
        self._connection.execute(
            f"INSERT INTO {self._table.sql} VALUES (%s, %s, %s, %s, %s, now())"  # noqa: S608
            " ON CONFLICT (job, output) DO UPDATE SET epoch = EXCLUDED.epoch, time = EXCLUDED.time,"
            " origin = EXCLUDED.origin, written = now()",
            [*self._key, opening.epoch, *position],
        )
        self._epoch = opening.epoch
        return position

    def record(self, position: Root) -> None:
        """Record the position, in the transaction of the connection.

        Raises:
            SinkLostError: if a later epoch has begun.
            psycopg.Error: if the server refuses.
        """
        changed = self._connection.execute(
            f"UPDATE {self._table.sql} SET time = %s, origin = %s, written = now()"  # noqa: S608
            " WHERE job = %s AND output = %s AND epoch = %s",
            [*position, *self._key, self._epoch],
        )
        if changed.rowcount != 1:
            raise SinkLostError(f"a later epoch than {self._epoch} has begun")

    def _mismatch_error(self, reason: str) -> FsqlError:
        message = f"table of output '{self._key[1]}' does not match the state of the job: {reason}"
        helps = (
            "start the job again, with an empty state directory and an empty table",
            f"after a failover to a server that lacks transactions: restore both ({self._table})",
        )
        return FsqlError([Diagnostic("E537", message, helps=helps)])
