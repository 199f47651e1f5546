"""The open queries of a session: the program inserts rows, and each query releases its final changes.

Contract.  The changes of a query are those of a run that reads the same rows, in the order of their
insertion, from files: positions depend on the rows of each table and on the order in which tables are
declared, not on how rows are grouped into inserts, nor on how inserts into several tables alternate.
`advance` has the same effect on later rows as a row of that event time.  Everything is computed in the thread
of the caller: there is nothing to stop.
"""

from __future__ import annotations

import datetime as dt
from contextlib import ExitStack, contextmanager
from dataclasses import field
from threading import RLock
from typing import TYPE_CHECKING, Final, Literal

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.near_names import near_name
from fsql.compiler.diagnostics.numbers import count_text
from fsql.compiler.records import dataclass
from fsql.connectors.generated.pace import PacedSplit
from fsql.connectors.live.kinds import is_followed, is_live
from fsql.connectors.memory.source import GrowingRows
from fsql.job.inserted_rows import stored_rows
from fsql.job.live_changes import LiveChanges
from fsql.job.memory import Memory
from fsql.job.program_queries import order_of_result
from fsql.job.run import open_run
from fsql.job.session_table import SessionTable
from fsql.job.sources import open_splits
from fsql.job.stop import stop_error
from fsql.runtime.drivers.local import LocalRun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from fsql.compiler.schema import Schema
    from fsql.job.compilation import Compiled
    from fsql.job.inserted_rows import Inserted
    from fsql.job.live_changes import Keep
    from fsql.job.memory import MemorySink
    from fsql.job.planning import RunOptions
    from fsql.job.session_table import TableDeclaration
    from fsql.job.sources import Splits

Late = Literal["count", "raise"]
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND: Final = dt.timedelta(microseconds=1)


class OpenQuery:
    """A run that waits for rows of the program."""

    def __init__(
        self,
        compiled: Compiled,
        options: RunOptions,
        sink: MemorySink,
        changes: LiveChanges,
        inputs: Mapping[str, GrowingRows],
        late: Late,
    ) -> None:
        """Open the run, and read all available input.

        Args:
            compiled: the query, whose result goes to `sink`.
            options: options of the run.
            sink: the sink for released rows.
            changes: is given the released rows.
            inputs: the tables of the session that the query reads.
            late: how late rows are handled.

        Raises:
            FsqlError: if a source fails, or a row.
        """
        self._late = late
        self.changes = changes
        self.inputs = inputs
        self._compiled = compiled
        self._sink = sink
        self._opened = ExitStack()
        self._splits = open_splits(compiled)
        _check_ends(compiled, self._splits)
        run = self._opened.enter_context(open_run(compiled, self._splits, options))
        assert isinstance(run, LocalRun)
        self._run = run
        self._steps = run.steps()
        self.run_until_idle()

    def run_until_idle(self) -> None:
        """Read all available input, and pass on the final changes.

        Raises:
            FsqlError: if a source or a row fails, after which the query has ended; E525, if rows are late.
        """
        late_before = self.changes.late_rows
        try:
            for metrics in self._steps:
                self.changes.late_rows = metrics.rows_late
                if self._run.idle:
                    break
            else:
                self._finish()
        except FsqlError as error:
            self._end(error)
            raise
        except BaseException:
            again = "open it in a new session, and insert the rows again"
            self._end(refuse("the query was interrupted", again))
            raise
        self.changes.on_releases(self._sink.fetch())
        late = self.changes.late_rows - late_before
        if late and self._late == "raise":
            rows = "row was" if late == 1 else "rows were"
            message = f"{count_text(late)} {rows} too late for the query, and dropped"
            helps = (
                "allow for such rows: declare(…, delay=…)",
                'or count them: open(…, late="count")',
            )
            raise FsqlError([Diagnostic("E525", message, helps=helps)])

    def _finish(self) -> None:
        """End the query after its last row.

        Raises:
            FsqlError: if it has stopped at a row.
        """
        stopped, released = self._run.stopped, self._run.metrics.rows_out
        if stopped is not None:
            raise stop_error(stopped, self._compiled, self._splits, released)
        self._end(None)

    def _end(self, error: FsqlError | None) -> None:
        self.changes.on_releases(self._sink.fetch())
        self.changes.on_end(error)
        self.close()

    def close(self) -> None:
        """Close everything that the run has opened."""
        self._steps.close()
        self._opened.close()
        if not self.changes.ended:
            self.changes.on_end()


@dataclass(eq=False)
class LiveQueries:
    """The tables that the program fills, and the queries that read them."""

    tables: dict[str, SessionTable] = field(default_factory=dict)
    queries: list[OpenQuery] = field(default_factory=list)
    lock: RLock = field(default_factory=RLock)
    closed: bool = False
    _busy: bool = False

    @contextmanager
    def use(self) -> Iterator[None]:
        """Give one thread exclusive use of the session.

        Raises:
            FsqlError: E545, if it is closed, or if a function that it calls uses it.
        """
        with self.lock:
            self.check_open()
            if self._busy:
                message = "the session is used by a function that one of its queries calls"
                raise refuse(message, "compute the result from the arguments only")
            self._busy = True
            try:
                yield
            finally:
                self._busy = False

    def check_open(self) -> None:
        """Check that the session is not closed.

        Raises:
            FsqlError: E545.
        """
        if self.closed:
            raise refuse("the session is closed", "create another one: fsql.Session()")

    def add_table(self, declared: TableDeclaration, compiled: Compiled) -> None:
        """Add a table; `compiled` reads all of its columns.

        Raises:
            FsqlError: E545, if there is a table of that name; E542, if a type is more than one type.
        """
        name = declared.name
        if name in self.tables:
            message = f'the session has a table "{name}" already'
            raise refuse(message, "choose another name, or use another session")
        [insert] = compiled.bound.inserts
        columns = insert.query.schema
        if [column.name for column in columns] != [column for column, _ in declared.columns]:
            message = f'the columns of table "{name}" are not one type each'
            helps = ('declare each column by its type: {"word": "STRING"}',)
            raise FsqlError([Diagnostic("E542", message, helps=helps)])
        self.tables[name] = SessionTable(declared, tuple(column.type for column in columns))

    def memory(self, given: Memory, sink: MemorySink) -> Memory:
        """Return the tables for a query to open: those of the session, and those `given`."""
        statements = [table.declared.statement for table in self.tables.values()]
        growing = {name: GrowingRows() for name in self.tables}
        declarations = "\n".join([*statements, given.declarations])
        return Memory(declarations, {**given.tables, **growing}, sink)

    def open(
        self, compiled: Compiled, options: RunOptions, columns: Schema, *, keep: Keep, late: Late
    ) -> LiveChanges:
        """Open a query, whose script has the memory that `memory` returned.

        Raises:
            FsqlError: E545, if rows of a table would be missed, or an input has no end; the error of the
                query, if it fails.
        """
        memory = compiled.script.memory
        assert memory is not None
        assert memory.result is not None
        inputs = {}
        for table in compiled.job.tables:
            growing = memory.tables.get(table.name)
            if isinstance(growing, GrowingRows):
                self._check_readable(table.name)
                inputs[table.name] = growing
        changes = LiveChanges(
            columns, order_of_result(compiled), keep, self.lock, self._close_query
        )
        query = OpenQuery(compiled, options, memory.result, changes, inputs, late)
        if not changes.ended:
            self.queries.append(query)
        return changes

    def insert(self, name: str, rows: Inserted) -> None:
        """Insert rows into a table; run its queries.

        Raises:
            FsqlError: E545, E542, E521 or E524, if the rows cannot be inserted, in which case none was; the
                first error of a query, if one fails, after all queries have read the rows.
        """
        table = self._table(name)
        stored = stored_rows(table, rows)
        if len(stored):
            self._feed(table, lambda growing: growing.add(stored))

    def advance(self, name: str, to: object) -> None:
        """Announce that all later rows of a table have at least a time.

        Raises:
            FsqlError: E545, if the table has no event time; E542, if `to` is no datetime; the error of a
                query that fails.
        """
        table = self._table(name)
        if not isinstance(to, dt.datetime):
            message = f'table "{name}" cannot advance to what is of type {type(to).__name__}'
            raise FsqlError([Diagnostic("E542", message, helps=("give a datetime",))])
        if table.event_time is None:
            message = f'table "{name}" has no event time that could advance'
            helps = (f'declare it with one: declare("{name}", …, event_time="…")',)
            raise refuse(message, *helps, f'or end its input: drain("{name}")')
        aware = to.replace(tzinfo=dt.UTC) if to.tzinfo is None else to
        time_us = (aware - _EPOCH) // _MICROSECOND
        self._feed(table, lambda growing: growing.advance(time_us))

    def drain(self, name: str | None) -> None:
        """End the input of a table, or of all tables.

        Raises:
            FsqlError: E545, if the table is unknown; the first error of a query that fails.
        """
        tables = list(self.tables.values()) if name is None else [self._table(name, drained=True)]
        for table in tables:
            table.drained = True
        drained = {table.name for table in tables}
        reading = [query for query in self.queries if drained & query.inputs.keys()]
        for query in reading:
            for each in sorted(drained & query.inputs.keys()):
                query.inputs[each].end()
        self._run(reading)

    def close(self) -> None:
        """End all queries; changes that they have released can still be read."""
        with self.lock:
            self.closed = True
            for query in self.queries:
                query.close()
            self.queries.clear()

    def _close_query(self, changes: LiveChanges) -> None:
        """End one query."""
        with self.lock:
            for query in self.queries:
                if query.changes is changes:
                    query.close()
            self.queries = [query for query in self.queries if query.changes is not changes]

    def _check_readable(self, name: str) -> None:
        """Check that a query that is opened now reads all rows of a table.

        Raises:
            FsqlError: E545.
        """
        table = self.tables[name]
        if table.has_rows or table.drained:
            what = "input has ended" if table.drained else "rows are not kept"
            message = f'table "{name}" cannot be read by a query that is opened now: its {what}'
            helps = ("open all queries before the first insert", "or declare another table")
            raise refuse(message, *helps)

    def _table(self, name: str, *, drained: bool = False) -> SessionTable:
        """Return a table that accepts rows; with `drained`, its input may have ended.

        Raises:
            FsqlError: E545.
        """
        table = self.tables.get(name)
        if table is None:
            near = near_name(name, self.tables)
            similar = [] if near is None else [f'a table with a similar name exists: "{near}"']
            declare = f'declare it: declare("{name}", {{"column": "TYPE", …}})'
            raise refuse(f'the session has no table "{name}"', *similar, declare)
        if table.drained and not drained:
            message = f'the input of table "{name}" has ended'
            raise refuse(message, "insert rows before drain", "or use another session")
        return table

    def _feed(self, table: SessionTable, feed: Callable[[GrowingRows], None]) -> None:
        reading = [query for query in self.queries if table.name in query.inputs]
        if not reading:
            message = f'no open query reads table "{table.name}", and rows are not kept'
            raise refuse(message, "open a query first: session.open(query)")
        table.has_rows = True
        for query in reading:
            feed(query.inputs[table.name])
        self._run(reading)

    def _run(self, queries: list[OpenQuery]) -> None:
        errors = []
        for query in queries:
            try:
                query.run_until_idle()
            except FsqlError as error:
                errors.append(error)
        self.queries = [query for query in self.queries if not query.changes.ended]
        if errors:
            raise errors[0]


def refuse(message: str, *helps: str) -> FsqlError:
    """Return the error for a call that the state of a session does not allow."""
    return FsqlError([Diagnostic("E545", message, helps=helps)])


def _check_ends(compiled: Compiled, splits: Splits) -> None:
    """Check that all input except tables of the session ends, so that each call returns.

    Raises:
        FsqlError: E545.
    """
    for table in compiled.job.tables:
        of_table = splits[table.ordinal]
        generated = [each for each in of_table if isinstance(each, PacedSplit)]
        endless = any(each.rows is None for each in generated)
        if endless or is_live(table) or is_followed(table):
            message = f'table "{table.name}" has no end, or its rows arrive over time'
            helps = (
                "declare it in the session, and insert its rows: session.declare(…)",
                "or run the script: fsql.run(script)",
            )
            raise refuse(message, *helps)
