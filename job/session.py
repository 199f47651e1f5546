"""The library: queries over tables of a Python program, and scripts with connectors.

    import fsql

    changes = fsql.sql("SELECT word, COUNT(*) AS n FROM words GROUP BY word", tables={"words": rows})
    for change in changes:
        print(change.op, change.row)
    frame = changes.to_pandas()

A session can also keep queries open while the program inserts rows:

    with fsql.Session() as session:
        session.declare("words", {"word": "STRING"})
        counts = session.open("SELECT word, COUNT(*) AS n FROM words GROUP BY word")
        session.insert("words", [{"word": "tick"}])
        for change in counts:
            print(change.op, change.row)

`fsql.sql`, `fsql.compile` and `fsql.run` use a session with default options.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeVar

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.records import dataclass
from fsql.compiler.text.source import SourceText
from fsql.compiler.tick_plan import Policy
from fsql.connectors.file.output_files import Existing
from fsql.job.changes import Changes
from fsql.job.compilation import compile_job
from fsql.job.errors import raise_typed_errors
from fsql.job.explain_stage import explain_stage
from fsql.job.live_queries import LiveQueries
from fsql.job.memory import Memory, MemorySink, declare_tables, quote
from fsql.job.planning import RunOptions
from fsql.job.program_functions import ProgramFunctions
from fsql.job.program_queries import (
    check_processes_can_run,
    order_of_result,
    result_columns,
)
from fsql.job.run import open_run
from fsql.job.script import Script
from fsql.job.session_table import TableDeclaration, columns_as_declared
from fsql.job.sources import open_splits
from fsql.job.stop import stop_error
from fsql.runtime.drivers.local import LocalRun

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from os import PathLike

    import pyarrow as pa

    from fsql.compiler.diagnostics import Diagnostic
    from fsql.job.compilation import Compiled
    from fsql.job.inserted_rows import Inserted
    from fsql.job.live_changes import Keep, LiveChanges
    from fsql.job.live_queries import Late
    from fsql.job.memory import Rows, Table
    from fsql.job.session_table import ColumnType
    from fsql.runtime.dataflow.metrics import Metrics
    from fsql.runtime.ports import Release

_FunctionT = TypeVar("_FunctionT", bound=Callable[..., Any])
Stage = Literal["syntax", "bound", "logical", "graph", "tick"]
Delivery = Literal["exactly-once", "at-least-once", "at-most-once", "none"]
Format = Literal["text", "json", "mermaid", "svg"]
_NO_TABLES: Final[Mapping[str, Table | Rows]] = {}


@dataclass(frozen=True, slots=True)
class Plan:
    """A compiled script."""

    _compiled: Compiled
    _options: RunOptions

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Return the warnings about the script."""
        return self._compiled.warnings

    def explain(self, stage: Stage = "logical", form: Format = "text") -> str:
        """Return the script at a stage of compilation.

        Raises:
            ValueError: if the stage is not available in that form.
        """
        return explain_stage(self._compiled, stage, form, self._options)


@dataclass(frozen=True, slots=True)
class Session:
    """Options shared by several queries, which do not affect the results; and queries that stay open.

    `declare` adds a table of the session, `open` a query over such tables, `insert` rows.

    Args:
        workers: number of logical workers, all in this process.
        policy: how stateful operators handle disorder; None lets the optimizer choose.
        parameters: the values of `${name}` in scripts.
        base_directory: the directory of relative paths in scripts; None means the working directory.
        processes: number of worker processes of `run`; None runs in this process, unless `state` or
            `delivery` is given.
        state: the state directory of `run`; a later run of the script resumes from it.
        delivery: the delivery guarantee of all outputs; overrides the option of their tables.
        snapshot_every: seconds between two snapshots of a run on processes.
        existing: how `run` handles output files that are not empty.
        functions: folders with the modules of functions in Python.
    """

    workers: int = 1
    policy: Literal["speculative", "ordered"] | None = None
    parameters: Mapping[str, str] | None = None
    base_directory: str | PathLike[str] | None = None
    processes: int | None = None
    state: str | PathLike[str] | None = None
    delivery: Delivery | None = None
    snapshot_every: float = 1.0
    existing: Literal["refuse", "overwrite", "append"] = "refuse"
    functions: Sequence[str | PathLike[str]] = ()
    _live: LiveQueries = field(default_factory=LiveQueries, init=False, repr=False, compare=False)
    _own: ProgramFunctions = field(
        default_factory=ProgramFunctions, init=False, repr=False, compare=False
    )

    def compile(self, script: str, *, tables: Mapping[str, Table | Rows] = _NO_TABLES) -> Plan:
        """Compile a script without opening its tables.

        Args:
            script: the text of the script.
            tables: tables that the script may read in addition to those that it declares.

        Raises:
            QueryError: for errors in the script.
            ConnectorError: if a table cannot be read.
        """
        with raise_typed_errors():
            self._live.check_open()
            return Plan(self._compile(script, declare_tables(tables)), self._options)

    def sql(self, query: str, *, tables: Mapping[str, Table | Rows] = _NO_TABLES) -> Changes:
        """Compile a query; its changes are computed on demand.

        Args:
            query: a SELECT, or a script that ends with one and writes no table.
            tables: the tables that it may read in addition to those that it declares, by name.

        Raises:
            QueryError: for errors in the query.
            ConnectorError: if a table cannot be read.
        """
        with raise_typed_errors():
            self._live.check_open()
            memory = declare_tables(tables)
            compiled = self._compile(query, memory)
            columns, order = result_columns(compiled), order_of_result(compiled)
        return Changes(columns, order, lambda: self._releases(query, memory))

    def declare(
        self,
        name: str,
        columns: Mapping[str, ColumnType] | pa.Schema,
        *,
        event_time: str | None = None,
        delay: dt.timedelta | str = dt.timedelta(0),
        key: Sequence[str] | str = (),
    ) -> None:
        """Declare a table of the session, which `insert` fills.

        Args:
            name: the name of the table.
            columns: the type of each column, as SQL writes it or of Python,
                `{"word": "STRING", "n": int}`, or an Arrow schema.
            event_time: the event-time column; without one, rows are ordered by their number.
            delay: by how much a row may be older than the greatest event time so far without being late; a
                `timedelta`, or a text such as "5 s" with the units of options of tables.
            key: columns of the key, or the name of the only one; with a key, the rows are changes, and
                replace the row of their key.

        Raises:
            QueryError: if a type or a column is not valid.
            ConnectorError: if a type of Python has no SQL type, or the delay is not a duration.
            SessionError: if the session has a table of that name, or is closed.
        """
        keys = (key,) if isinstance(key, str) else tuple(key)
        with raise_typed_errors(), self._live.use():
            declared = TableDeclaration(
                name, columns_as_declared(name, columns), event_time, delay, keys
            )
            memory = Memory(declared.statement, {})
            all_columns = f"SELECT * FROM {quote(name)}"  # noqa: S608 - it is quoted
            compiled = self._compile(all_columns, memory)
            self._live.add_table(declared, compiled)

    def open(
        self,
        query: str,
        *,
        tables: Mapping[str, Table | Rows] = _NO_TABLES,
        keep: Keep = "changes",
        late: Late = "count",
    ) -> LiveChanges:
        """Open a query over tables of the session; its changes come when rows are inserted.

        Args:
            query: a SELECT, or a script that ends with one and writes no table.
            tables: tables that it may also read, which do not change.
            keep: what is kept of changes that were iterated: all `changes`, what is left of them, as a
                `table`, or nothing, so that there are `new` ones only.
            late: what happens to rows that come too late for a window or a join: `count` counts them in
                `late_rows`, `raise` lets `insert` raise as well.

        Raises:
            QueryError: for errors in the query.
            ConnectorError: if a table cannot be read.
            SessionError: if rows of a table would be missed, an input has no end, or the session is closed.
            DataError: if a row of `tables` makes the query fail.
        """
        with raise_typed_errors(), self._live.use():
            sink = MemorySink()
            compiled = self._compile(query, self._live.memory(declare_tables(tables), sink))
            columns = result_columns(compiled)
            return self._live.open(compiled, self._options, columns, keep=keep, late=late)

    def insert(self, table: str, rows: Inserted) -> None:
        """Insert rows into a table of the session; the open queries that read it release what is final then.

        Args:
            table: the name of the table.
            rows: dictionaries, tuples in the order of the columns, or `Change`s; or an Arrow table or
                record batch, a pandas or polars data frame, or another object with the Arrow PyCapsule
                interface.

        Raises:
            SessionError: if the table is unknown or its input has ended, no open query reads it, or the
                session is closed.
            ConnectorError: if a row does not fit the table; none was inserted.
            DataError: if a row makes a query fail; all queries have read the rows.
        """
        with raise_typed_errors(), self._live.use():
            self._live.insert(table, rows)

    def advance(self, table: str, to: dt.datetime) -> None:
        """Let the event time of a table advance, as a row with that event time does.

        Windows that end `delay` before are closed, and later rows for them are late.

        Args:
            table: the name of the table.
            to: the event time; without a time zone it is UTC.  An earlier one than that of a row has no
                effect.

        Raises:
            SessionError: if the table is unknown, has no event time or has ended, no open query reads it,
                or the session is closed.
            DataError: if a row makes a query fail.
        """
        with raise_typed_errors(), self._live.use():
            self._live.advance(table, to)

    def drain(self, table: str | None = None) -> None:
        """End the input of a table, or of all: everything that waits for later rows is released.

        Raises:
            SessionError: if the table is unknown, or the session is closed.
            DataError: if a row makes a query fail.
        """
        with raise_typed_errors(), self._live.use():
            self._live.drain(table)

    def udf(self, function: _FunctionT, *, name: str | None = None) -> _FunctionT:
        """Let the scripts of this session call a function whose types `fsql.udf` and the like declare.

        Args:
            function: the function; for `fsql.udaf`, the class.
            name: the name in scripts; without one, that of the function.

        Raises:
            QueryError: if its types are not declared or not valid, or it is not deterministic.
        """
        if not callable(function):
            raise TypeError("session.udf takes a function; fsql.udf declares its types")
        with raise_typed_errors(), self._live.use():
            known = dict(self._own.by_name)
            try:
                self._own.add(name or function.__name__, function)
                self._compile("SELECT 1 AS one", Memory("", {}))
            except FsqlError:
                self._own.by_name.clear()
                self._own.by_name.update(known)
                raise
        return function

    def close(self) -> None:
        """Close the session and end its open queries; what they have released can still be read."""
        self._live.close()

    def __enter__(self) -> Self:
        """Return the session."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Close the session."""
        self.close()

    def run(
        self,
        script: str,
        *,
        tables: Mapping[str, Table | Rows] = _NO_TABLES,
        processes: int | None = None,
        state: str | PathLike[str] | None = None,
        delivery: Delivery | None = None,
    ) -> Metrics:
        """Run a script to the end of its input; return the metrics of the run.

        With `processes`, `state` or `delivery` the script runs on processes of this machine, which are
        restarted when they fail; outputs have the same guarantees as with `fsql run`.

        Args:
            script: the text of the script.
            tables: tables that the script may read in addition to those that it declares; in one
                process only.
            processes: number of worker processes; overrides the session's.
            state: the state directory; overrides the session's.
            delivery: the delivery guarantee of all outputs; overrides the session's.

        Raises:
            LibraryError: for errors of the script, a source, a sink or a row.  Rows released before have
                been written.
        """
        processes = self.processes if processes is None else processes
        state = self.state if state is None else state
        delivery = self.delivery if delivery is None else delivery
        with raise_typed_errors():
            self._live.check_open()
            result = self._compile(script, declare_tables(tables))
            if processes is not None or state is not None or delivery is not None:
                check_processes_can_run(result, tables)
                # Processes need ZeroMQ and more; what runs in this process starts sooner without.
                from fsql.job.process_options import ProcessOptions
                from fsql.job.silent_process_run import run_silently_on_processes

                process_options = ProcessOptions(
                    state=None if state is None else Path(state),
                    snapshot_every=self.snapshot_every,
                    delivery=delivery,
                )
                options = replace(self._options, workers=processes or self.workers)
                return run_silently_on_processes(result, options, process_options)
            splits = open_splits(result)
            with open_run(result, splits, self._options) as run:
                run.run(lambda _: None)
            if run.stopped is not None:
                raise stop_error(run.stopped, result, splits, run.metrics.rows_out)
            return run.metrics

    def _releases(self, query: str, memory: Memory) -> Iterator[Release]:
        """Run a query; yield releases as they occur."""
        with raise_typed_errors():
            sink = MemorySink()
            result = self._compile(query, replace(memory, result=sink))
            splits = open_splits(result)
            with open_run(result, splits, self._options) as run:
                assert isinstance(run, LocalRun)
                for _ in run.steps():
                    yield from sink.fetch()
            yield from sink.fetch()
            if run.stopped is not None:
                raise stop_error(run.stopped, result, splits, run.metrics.rows_out)

    def _compile(self, text: str, memory: Memory) -> Compiled:
        base = Path.cwd() if self.base_directory is None else Path(self.base_directory).resolve()
        source = SourceText("<script>", text)
        folders = tuple(Path(folder).resolve() for folder in self.functions)
        own = replace(
            memory, declarations=f"{memory.declarations}\n{self._own.declarations}".strip()
        )
        script = Script(source, dict(self.parameters or {}), base, memory=own, functions=folders)
        return compile_job(replace(script, registered=self._own.registered))

    @property
    def _options(self) -> RunOptions:
        policy = None if self.policy is None else Policy(self.policy)
        existing = Existing(self.existing)
        return RunOptions(workers=self.workers, policy=policy, existing=existing)
