"""The library: queries over tables of a Python program, and scripts with connectors.

    import fsql

    changes = fsql.sql("SELECT word, COUNT(*) AS n FROM words GROUP BY word", tables={"words": rows})
    for change in changes:
        print(change.op, change.row)
    frame = changes.to_pandas()

`fsql.sql`, `fsql.compile` and `fsql.run` use a session with default options.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label
from fsql.compiler.text.source import SourceText
from fsql.compiler.tick_plan import Policy
from fsql.connectors.file.output_files import Existing
from fsql.job.changes import Changes
from fsql.job.compilation import compile_job
from fsql.job.errors import raise_typed_errors
from fsql.job.explain_stage import explain_stage
from fsql.job.memory import MemorySink, declare_tables
from fsql.job.planning import RunOptions, open_splits
from fsql.job.run import open_run
from fsql.job.script import Script
from fsql.job.stop import stop_error
from fsql.runtime.drivers.local import LocalRun

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from os import PathLike

    from fsql.job.compilation import Compiled
    from fsql.job.memory import Memory, Rows, Table
    from fsql.runtime.dataflow.metrics import Metrics
    from fsql.runtime.ports import Release

Stage = Literal["syntax", "logical", "graph", "tick"]
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
    """Options shared by several queries; they do not affect the results.

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

    def compile(self, script: str, *, tables: Mapping[str, Table | Rows] = _NO_TABLES) -> Plan:
        """Compile a script without opening its tables.

        Args:
            script: the text of the script.
            tables: tables that the script may read besides those that it declares.

        Raises:
            QueryError: for errors in the script.
            ConnectorError: if a table cannot be read.
        """
        with raise_typed_errors():
            return Plan(self._compile(script, declare_tables(tables)), self._options)

    def sql(self, query: str, *, tables: Mapping[str, Table | Rows] = _NO_TABLES) -> Changes:
        """Compile a query; its changes are computed on demand.

        Args:
            query: a SELECT, or a script that ends with one and writes no table.
            tables: the tables that it may read besides those that it declares, by name.

        Raises:
            QueryError: for errors in the query.
            ConnectorError: if a table cannot be read.
        """
        with raise_typed_errors():
            memory = declare_tables(tables)
            result = self._compile(query, memory)
            inserts = result.job.inserts
            if len(inserts) != 1 or inserts[0].sink.name != "stdout":
                span = result.syntax.statements[-1].span
                message = "a script that writes tables has no result to return"
                helps = ("end it with a SELECT, and write no table", "or run it: fsql.run(script)")
                diagnostic = Diagnostic("E314", message, Label(span), helps=helps)
                raise FsqlError([diagnostic], result.syntax.source)
        return Changes(inserts[0].sink.columns, lambda: self._releases(query, memory))

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
            tables: tables that the script may read besides those that it declares; in one process only.
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
            result = self._compile(script, declare_tables(tables))
            if processes is not None or state is not None or delivery is not None:
                if tables:
                    raise _tables_stay_here(min(tables))
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
        return compile_job(
            Script(source, dict(self.parameters or {}), base, memory=memory, functions=folders)
        )

    @property
    def _options(self) -> RunOptions:
        policy = None if self.policy is None else Policy(self.policy)
        existing = Existing(self.existing)
        return RunOptions(workers=self.workers, policy=policy, existing=existing)


def _tables_stay_here(name: str) -> FsqlError:
    message = f'table "{name}" is in the memory of this program, and other processes cannot read it'
    helps = (
        "run the script without processes, state and delivery",
        "or write the table to a file, and declare it in the script",
    )
    return FsqlError([Diagnostic("E542", message, helps=helps)])
