"""fsql: streaming SQL with deterministic, exactly-once results.

| name | what it does |
|---|---|
| `sql(query, tables={…})` | runs a query over tables of the program; returns its `Changes` |
| `run(script)` | runs a script with connectors of its own |
| `compile(script)` | compiles a script; the `Plan` shows every stage |
| `Session` | options that several queries share; queries that stay open while rows are inserted |
| `attach(job)` | asks a running job for its results |
| `Table` | rows with an event time |
| `udf`, `udf([…], returns)` | declares the types of a function that scripts can call |
| `udtf([…], columns)`, `udaf([…], returns, state=…)` | declare those of table and of aggregate functions |
| `program(state=…, columns=[…], tag=…)` | declares a program, which scripts run with `RUN` |
"""

# No import here: with `python -m fsql` the working directory is still on the path of modules.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike

    from fsql.job.changes import Changes
    from fsql.job.errors import (
        ClusterError,
        ConnectorError,
        DataError,
        LibraryError,
        QueryError,
        SessionError,
    )
    from fsql.job.live_changes import LiveChanges
    from fsql.job.memory import Table
    from fsql.job.notebooks import Shell
    from fsql.job.result_rows import Change
    from fsql.job.results.answers import Answer
    from fsql.job.results.running_job import RunningJob
    from fsql.job.session import Plan, Session
    from fsql.job.udf import udaf, udf, udtf
    from fsql.programs.declaration import program

    _default = Session()

    def attach(
        job: str | None = None,
        *,
        state: str | PathLike[str] | None = None,
        directory: str | PathLike[str] | None = None,
    ) -> RunningJob:
        """Return a running job, to be asked for its results: see `fsql.deployment.attach`."""

    compile = _default.compile
    run = _default.run
    sql = _default.sql

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Change",
    "Changes",
    "ClusterError",
    "ConnectorError",
    "DataError",
    "LibraryError",
    "LiveChanges",
    "Plan",
    "QueryError",
    "RunningJob",
    "Session",
    "SessionError",
    "Table",
    "attach",
    "compile",
    "program",
    "run",
    "sql",
    "udaf",
    "udf",
    "udtf",
]

_MODULES = {
    "Answer": "results.answers",
    "Change": "result_rows",
    "Changes": "changes",
    "ClusterError": "errors",
    "ConnectorError": "errors",
    "DataError": "errors",
    "LibraryError": "errors",
    "LiveChanges": "live_changes",
    "Plan": "session",
    "QueryError": "errors",
    "RunningJob": "results.running_job",
    "Session": "session",
    "SessionError": "errors",
    "Table": "memory",
    "udaf": "udf",
    "udf": "udf",
    "udtf": "udf",
}


def load_ipython_extension(shell: "Shell") -> None:
    """Add the cell magic `%%fsql` to a notebook; `%load_ext fsql` calls it."""
    from fsql.job.notebooks import register

    register(shell)


def __getattr__(name: str) -> object:
    """Import a public name when it is first used: the `fsql` command starts without the engine."""
    from importlib import import_module

    if name in {"compile", "run", "sql"}:
        return getattr(import_module("fsql.job.session").Session(), name)
    if name == "attach":
        return import_module("fsql.deployment.attach").attach
    if name == "program":
        return import_module("fsql.programs.declaration").program
    if name in _MODULES:
        return getattr(import_module(f"fsql.job.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'fsql' has no attribute {name!r}")
