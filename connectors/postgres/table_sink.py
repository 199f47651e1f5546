"""A table of PostgreSQL as a sink: rows and position are stored in the same transactions."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.logical import Changes
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import STRING
from fsql.connectors.postgres import types
from fsql.connectors.postgres.client import (
    failed_error,
    is_passing,
    not_opened_error,
    psycopg_module,
    quoted,
    reason_of,
)
from fsql.connectors.postgres.progress import TABLE, Progress
from fsql.connectors.postgres.server_table import (
    check_names,
    create_statement,
    find_table,
    missing_table_error,
)
from fsql.connectors.postgres.table_writer import PendingRows, RowTexts, Statements, TableWriter
from fsql.runtime.dataflow.barrier import Released
from fsql.runtime.sink import OpenReply, Sequencer, SinkLostError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import psycopg
    import pyarrow as pa

    from fsql.compiler.logical import SinkTable
    from fsql.connectors.postgres.client import Database, TableName
    from fsql.connectors.postgres.server_table import ServerTable
    from fsql.runtime.batch import Root
    from fsql.runtime.cluster.delivery.delivery import Bundle
    from fsql.runtime.sink import OpenRequest

_WINDOW: Final = 64
"""How many bundles may be unacknowledged."""
_LOCK_TIMEOUT: Final = "10s"
"""How long the start of an epoch waits for a lock; one that fails is begun again."""
_TABLES: Final = frozenset("rpvf")
"""The kinds of relations that can be written: tables, also partitioned or foreign ones, and views."""


class TableSink:
    """Writes the rows of an output to a table; a job that keeps no state has no position there."""

    def __init__(
        self, database: Database, name: TableName, sink: SinkTable, *, create: bool, keeps: bool
    ) -> None:
        """Take the table and the output; with `create` the table is created if there is none."""
        self._database = database
        self._name = name
        self._sink = sink
        self._create = create
        self._keeps = keeps
        self._epoch = -1
        self._was_open = False
        self._sequencer: Sequencer | None = None
        self._building: list[list[pa.Array]] = []
        self._texts: RowTexts | None = None
        self._writer: TableWriter | None = None

    @property
    def missing_reason(self) -> str | None:
        """Return that the server does not answer, if a transaction takes long."""
        writer = self._writer
        missing = writer is not None and writer.waits
        return (
            f'the PostgreSQL database "{self._database.place}" does not answer' if missing else None
        )

    @property
    def descriptor(self) -> int | None:
        """Return the descriptor that is readable when an acknowledgement has come, or None."""
        return None if self._writer is None else self._writer.descriptor

    def open(self, opening: OpenRequest) -> OpenReply:
        """Begin an epoch.

        Raises:
            FsqlError: E532, E535 or E537, if the table cannot be written, or has lost rows.
            SinkLostError: if the server does not answer, or a later epoch has begun.
        """
        self.close()
        if opening.epoch < self._epoch:
            raise SinkLostError(f"epoch {self._epoch} has begun, and this is {opening.epoch}")
        self._epoch = opening.epoch
        database, client = self._database, psycopg_module()
        session = self._session(opening.owner)
        try:
            connection = database.connect(session)
        except client.Error as error:
            if self._was_open:
                raise SinkLostError(reason_of(error)) from None
            raise not_opened_error("E532", database, error) from None
        try:
            position = self._begin(connection, opening, session)
        except client.Error as error:
            connection.close()
            if self._was_open and is_passing(error):
                raise SinkLostError(reason_of(error)) from None
            raise failed_error("E532", f"opening table {self._name}", error) from None
        except BaseException:
            connection.close()
            raise
        self._was_open = True
        self._building = []
        self._sequencer = Sequencer(position)
        return OpenReply(position, _WINDOW)

    def _session(self, owner: str) -> str:
        """Return the name of the output's sessions, which no other output has."""
        name = f"{owner}/{self._sink.name}".encode()
        return "fsql " + hashlib.blake2b(name, digest_size=16).hexdigest()

    def _begin(
        self, connection: psycopg.Connection[Any], opening: OpenRequest, session: str
    ) -> Root:
        """Return the position of the output, and start the writer.

        Raises:
            FsqlError: E532 or E537.
            SinkLostError: if a later epoch has begun.
            psycopg.Error: if the server refuses.
        """
        connection.execute("SELECT set_config('lock_timeout', %s, false)", [_LOCK_TIMEOUT])
        connection.execute(
            "SELECT set_config('synchronous_commit', 'on', false)"
            " WHERE current_setting('synchronous_commit') = 'off'"
        )
        table = self._find_table(connection)
        self._check(connection, table)
        statements = Statements(self._sink, table)
        record: Any = _ignore
        position = opening.begins
        if self._keeps:
            place = self._name._replace(schema=table.name.schema, name=TABLE)
            progress = Progress(connection, place, opening.owner, self._sink.name)
            progress.create_table()
            progress.end_other_sessions(session, opening.epoch)
            with connection.transaction():
                position = progress.begin(opening)
            record = progress.record
        if statements.key is not None:
            connection.execute(statements.stage)
        connection.execute("SELECT set_config('lock_timeout', '0', false)")
        self._texts = RowTexts(self._sink, table)
        what = f'writing table {self._name} of "{self._database.place}"'
        self._writer = TableWriter(connection, statements, record, what)
        return position

    def deliver(self, bundle: Bundle) -> None:
        """Take a bundle, or a part of one.

        Raises:
            FsqlError: E535, if the sink has failed permanently.
            SinkLostError: if the bundle does not follow, or after an error.
        """
        sequencer, writer, texts = self._sequencer, self._writer, self._texts
        if sequencer is None or writer is None or texts is None:
            raise SinkLostError("the sink has failed and was not opened again")
        writer.check()
        self._sequencer = None  # until it is accepted
        if sequencer.accepts(bundle.follows, bundle.ends, bundle.part):
            if bundle.contents is not None:
                assert isinstance(bundle.contents, Released)
                self._building.append(texts(bundle.contents.release))
            if bundle.last:
                taken, self._building = self._building, []
                sequencer.on_stored(bundle.ends)
                writer.put(PendingRows(bundle.ends, taken))
        else:
            writer.put(PendingRows(sequencer.position, []))
        self._sequencer = sequencer

    def take_acknowledged(self) -> Sequence[Root]:
        """Return the ends of the bundles that were written since the last call.

        Raises:
            FsqlError: E535, if the sink has failed permanently.
            SinkLostError: if a transaction has failed.
        """
        return () if self._writer is None else self._writer.take_acknowledged()

    def wait(self, seconds: float) -> None:
        """Wait up to `seconds` for an acknowledgement."""
        if self._writer is not None:
            self._writer.wait(seconds)

    def sync(self) -> None:
        """Do nothing: what the server has committed survives a loss of power."""

    def close(self) -> None:
        """Write what waits, and leave the server.

        Raises:
            FsqlError: E535, in a run that keeps no state, if rows could not be written.
        """
        self._sequencer = None
        writer, self._writer = self._writer, None
        if writer is None:
            return
        ended = writer.close()
        if not self._keeps and not (ended and writer.is_complete):
            raise self._incomplete_error(writer.failure)

    def _incomplete_error(self, failure: SinkLostError | FsqlError | None) -> FsqlError:
        if isinstance(failure, FsqlError):
            return failure
        message = f'writing table {self._name} of "{self._database.place}" failed: the server does not answer'
        helps = (
            "run it with --state: then it goes on where it was when the server is there again",
        )
        return FsqlError(
            [Diagnostic("E535", message if failure is None else str(failure), helps=helps)]
        )

    # The table.

    def _find_table(self, connection: psycopg.Connection[Any]) -> ServerTable:
        """Return the table; create it first, if that is wanted and there is none.

        Raises:
            FsqlError: E532, if there is none.
            psycopg.Error: if the server refuses.
        """
        table = find_table(connection, self._name)
        if table is None:
            create = self._create_statement()
            if not self._create:
                place = self._database.place
                helps = ("write 'create' = 'true'", f"or create it: {create}")
                raise missing_table_error("E532", self._name, place, *helps)
            connection.execute(create.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS", 1))
            table = find_table(connection, self._name)
        if table is None or table.kind not in _TABLES:
            message = f"{self._name} of the database is not a table"
            raise FsqlError([Diagnostic("E532", message, helps=("correct the option 'table'",))])
        return table

    def _create_statement(self) -> str:
        columns = self._written
        key = [columns[index].name for index in self._sink.key or ()]
        upserts = self._sink.changes is Changes.UPSERT
        kinds = [*map(types.declared_type, columns)]
        return create_statement(self._name, columns, kinds, key if upserts else ())

    @property
    def _written(self) -> tuple[Column, ...]:
        """Return the columns that are written: those of the output, and the kind of a change."""
        sink = self._sink
        if sink.changes is not Changes.RETRACT:
            return sink.columns
        return (*sink.columns, Column(sink.operation_column, STRING, nullable=False))

    def _check(self, connection: psycopg.Connection[Any], table: ServerTable) -> None:
        """Check that the table takes the rows.

        Raises:
            FsqlError: E532, if not.
            psycopg.Error: if the server refuses.
        """
        columns = self._written
        check_names("E532", table, (each.name for each in columns))
        for column in columns:
            there = table.columns[column.name]
            if there.generated:
                raise self._refusal(
                    f"column '{column.name}' is made by the database", "leave it out"
                )
            if not types.takes(there.type, column.type):
                wanted = types.declared_type(column)
                reason = f"column '{column.name}' is {there.type}, and gets {column.type}"
                alter = f"ALTER TABLE {table.name.sql} ALTER {quoted(column.name)} TYPE {wanted}"
                raise self._refusal(
                    reason, f"cast the value in the query, or let the column be: {alter}"
                )
        given = {each.name for each in columns}
        for there in table.columns.values():
            if there.not_null and not there.filled and there.name not in given:
                reason = f"column '{there.name}' is NOT NULL, and rows do not have it"
                raise self._refusal(
                    reason, "declare the column, or give it a default in the database"
                )
        sink, rights = self._sink, ["INSERT"]
        if sink.changes is Changes.UPSERT:
            key = frozenset(sink.columns[index].name for index in sink.key or ())
            if key not in table.unique:
                listed = ", ".join(quoted(sink.columns[index].name) for index in sink.key or ())
                reason = f"it has no unique index of the key ({listed}), by which rows are replaced"
                raise self._refusal(
                    reason, f"ALTER TABLE {table.name.sql} ADD PRIMARY KEY ({listed})"
                )
            rights = ["SELECT", "INSERT", "UPDATE", "DELETE"]
        for right in rights:
            may = connection.execute(
                "SELECT has_table_privilege(%s::oid, %s), current_user", [table.oid, right]
            ).fetchone()
            if may is not None and not may[0]:
                grant = f"GRANT {', '.join(rights)} ON {table.name.sql} TO {quoted(may[1])}"
                raise self._refusal(
                    f"role '{may[1]}' has no right {right}", f"let its owner: {grant}"
                )

    def _refusal(self, reason: str, help_: str) -> FsqlError:
        message = f"table {self._name} of the database cannot be written: {reason}"
        return FsqlError([Diagnostic("E532", message, helps=(help_,))])


def _ignore(position: Root) -> None:
    """Record no position."""
    del position
