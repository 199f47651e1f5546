"""Answers of queries over the results of a job: rows, with the position to which they belong.

A query is one SELECT over results.  The engine computes it as it computes a bounded query, over the rows of
one position; it reads nothing else.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

from fsql.compiler import syntax
from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label
from fsql.compiler.parser import parse_script
from fsql.compiler.records import dataclass
from fsql.compiler.syntax.rewrite import records
from fsql.compiler.text.source import SourceText, Span
from fsql.job.compilation import compile_job
from fsql.job.memory import Memory, MemorySink
from fsql.job.planning import RunOptions
from fsql.job.program_queries import order_of_result, result_columns
from fsql.job.result_rows import ResultRows
from fsql.job.results.key_query import key_columns, read_key_query
from fsql.job.results.position import position_of
from fsql.job.results.result_schema import NOWHERE
from fsql.job.run import open_run
from fsql.job.script import Script
from fsql.job.sources import open_splits
from fsql.job.stop import stop_error
from fsql.runtime.drivers.local import LocalRun

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.compiler.schema import Schema
    from fsql.job.compilation import Compiled
    from fsql.job.results.job_results import AsOf, JobResults
    from fsql.job.results.key_query import KeyQuery

_CONNECTORS: Final = frozenset({"memory", "one_row"})
_HIDDEN: Final = "order of the answer "
"""How the names of columns begin by which an answer is only sorted."""
_RUN: Final = RunOptions(workers=1)
WRITING_WORDS: Final = frozenset(
    {
        *("alter", "analyze", "call", "cluster", "comment", "copy", "create", "delete"),
        *("do", "drop", "grant", "import", "insert", "lock", "merge", "refresh"),
        *("reindex", "revoke", "security", "truncate", "update", "vacuum"),
    }
)
"""The first words of statements that write or declare, whether or not this language has them."""
_FIRST_WORD: Final = re.compile(r"(?:\s+|--[^\n]*\n|/\*.*?\*/)*([A-Za-z]+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Limits:
    """What one query may take: rows that it reads, rows of its answer, and seconds."""

    rows_read: int = 10_000_000
    rows: int = 1_000_000
    seconds: float = 30.0
    wait_seconds: float = 10.0
    """How long a query waits for the position that it asks for."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of an answer, as an Arrow table; their SQL types; the position to which they belong."""

    rows: pa.Table
    columns: Schema
    as_of: AsOf

    @property
    def position(self) -> str:
        """Return the position, as a text that `query(at_least=…)` takes."""
        return self.as_of.position

    @property
    def age(self) -> float | None:
        """Return how many seconds ago the job has released what is below the position."""
        return max(time.time() - self.as_of.reached, 0.0) if self.as_of.reached else None

    def to_pylist(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries."""
        found: list[dict[str, Any]] = self.rows.to_pylist()
        return found


def answer(results: JobResults, query: str, limits: Limits, at_least: str | None = None) -> Answer:
    """Return the answer of a query, as of the position that the results have.

    With `at_least`, wait until they have that position.

    Raises:
        FsqlError: for errors in the query; E675, if the position is not reached in time; E672, if the query
            is not one for results; E673, if it takes more than the limits.
    """
    results.refresh()
    if at_least is not None:
        root = position_of(at_least)
        if not results.wait_until(root, limits.wait_seconds):
            raise _not_reached_error(at_least, results, limits)
    by_key = read_key_query(query)
    if by_key is not None:
        found = _answer_by_key(results, by_key)
        if found is not None:
            return found
    return _answer_by_engine(results, query, limits)


def _answer_by_key(results: JobResults, query: KeyQuery) -> Answer | None:
    with results.at_rest() as as_of:
        schema = next((each for each in results.tables() if each.table == query.table), None)
        key = None if schema is None else results.key_of(query.table)
        if schema is None or key is None:
            return None
        values = key_columns(query, schema, key)
        if values is None:
            return None
        columns = results.rows_of_key(query.table, values)
    names = schema.names if query.columns is None else list(query.columns)
    order = [schema.names.index(name) for name in names]
    asked = tuple(schema.columns[at] for at in order)
    return Answer(ResultRows(asked).table([columns[at] for at in order]), asked, as_of)


def _answer_by_engine(results: JobResults, query: str, limits: Limits) -> Answer:
    source = SourceText("<query>", query)
    tables = _tables_of(results, source)
    with results.at_rest() as as_of:
        read = sum(results.row_count(table) for table in tables)
        if read > limits.rows_read:
            message = f"the query reads {read:,} rows, and may read {limits.rows_read:,}"
            helps = ("name the whole key of a result in WHERE, or let the job aggregate the rows",)
            raise FsqlError([Diagnostic("E673", message, helps=helps)])
        schemas = [results.schema(table) for table in tables]
        rows = {
            schema.table: pa.table(results.all_rows(schema.table), names=schema.names)
            for schema in schemas
        }
    sink = MemorySink()
    memory = Memory("\n".join(schema.declaration for schema in schemas), rows, sink)
    asked, hidden = _sorted(source, limits)
    compiled = _compiled(results, asked, memory)
    columns = result_columns(compiled)
    converting = ResultRows(columns, order_of_result(compiled))
    releases = list(_releases(compiled, sink, limits))
    left = converting.table(converting.net_columns(*converting.concatenate(releases)))
    if left.num_rows > limits.rows:
        raise _rows_error(limits)
    shown = len(columns) - hidden
    return Answer(left.select(range(shown)), columns[:shown], as_of)


def describe(results: JobResults, query: str) -> Schema:
    """Return the columns of a query, without its rows.

    Raises:
        FsqlError: for errors in the query; E672.
    """
    results.refresh()
    source = SourceText("<query>", query)
    schemas = [results.schema(table) for table in _tables_of(results, source)]
    declarations = "\n".join(schema.declaration for schema in schemas)
    asked, hidden = _sorted(source, Limits())
    compiled = _compiled(results, asked, Memory(declarations, {}))
    columns = result_columns(compiled)
    return columns[: len(columns) - hidden]


def _compiled(results: JobResults, asked: SourceText, memory: Memory) -> Compiled:
    """Compile a query over the results that it names; an unknown table is told with all that there are.

    Raises:
        FsqlError: for errors in the query; E672.
    """
    try:
        compiled = compile_job(Script(asked, {}, NOWHERE, memory=memory))
    except FsqlError as error:
        if error.diagnostics[0].code != "E201":
            raise
        declarations = "\n".join(schema.declaration for schema in results.tables())
        compiled = compile_job(Script(asked, {}, NOWHERE, memory=Memory(declarations, {})))
    _check_reads_results_only(compiled)
    return compiled


class _Sorted(NamedTuple):
    """A query whose answer is sorted by its ORDER BY; its last columns may not be asked for."""

    source: SourceText
    hidden: int


def _sorted(source: SourceText, limits: Limits) -> _Sorted:
    """Return a query that has what its answer is sorted by.

    An ORDER BY without LIMIT has one, of a row more than an answer may have, so that none is missing
    unnoticed.  What is in ORDER BY and not in SELECT becomes further columns.
    """
    (statement,) = parse_script(source).statements
    assert isinstance(statement, syntax.SelectStatement)
    query, text = statement.query, source.text
    if not query.order_by:
        return _Sorted(source, 0)
    if query.limit is None and query.offset is None:
        end = query.order_by[-1].span.end
        text = f"{text[:end]} LIMIT {limits.rows + 1}{text[end:]}"
    hidden: list[str] = []
    body = query.body
    if isinstance(body, syntax.Select) and not body.distinct and not body.distinct_on:
        names = {_name_of(item) for item in body.items}
        for item in query.order_by:
            span = item.expression.span
            if _name_of(item.expression) not in names and not isinstance(
                item.expression, syntax.NumberLiteral
            ):
                hidden.append(
                    f', ({source.text[span.start : span.end]}) AS "{_HIDDEN}{len(hidden)}"'
                )
        end = body.items[-1].span.end
        text = text[:end] + "".join(hidden) + text[end:]
    return _Sorted(SourceText(source.name, text), len(hidden))


def _name_of(item: object) -> str | None:
    """Return the name of a column that is selected, or by which is sorted; None if it has none."""
    if isinstance(item, syntax.SelectItem):
        return item.alias.name.casefold() if item.alias is not None else _name_of(item.expression)
    if isinstance(item, syntax.ColumnReference):
        return item.parts[-1].name.casefold()
    return None


def _tables_of(results: JobResults, source: SourceText) -> list[str]:
    """Return the results that a query may read, after a check of its form.

    Raises:
        FsqlError: E672, if it is not one SELECT over results.
    """
    try:
        script = parse_script(source)
    except FsqlError:
        # What the parser would advise, such as INSERT INTO for DELETE, cannot be done here either.
        first = _FIRST_WORD.match(source.text)
        if first is None or first[1].lower() not in WRITING_WORDS:
            raise
        raise _not_select_error(source, Span(*first.span(1))) from None
    statements = script.statements
    if len(statements) != 1 or not isinstance(statements[0], syntax.SelectStatement):
        raise _not_select_error(source, statements[0].span if statements else script.span)
    words = set()
    for record in records(statements[0]):
        if isinstance(record, syntax.TableReference) and (record.is_file or record.hints):
            message = "a query over a running job reads its results only, no files"
            raise FsqlError([Diagnostic("E672", message, Label(record.span))], source)
        if isinstance(record, syntax.Identifier):
            words.add(record.name.casefold())
    names = [schema.table for schema in results.tables()]
    return [name for name in names if name.casefold() in words]


def _not_select_error(source: SourceText, span: Span) -> FsqlError:
    message = "a running job is asked by one SELECT; nothing is written or declared"
    helps = ("change what the job does with `fsql deploy`",)
    return FsqlError([Diagnostic("E672", message, Label(span), helps=helps)], source)


def _check_reads_results_only(compiled: Compiled) -> None:
    for table in compiled.job.tables:
        if dict(table.options)["connector"] not in _CONNECTORS:
            message = "a query over a running job reads its results only"
            raise FsqlError([Diagnostic("E672", message)], compiled.syntax.source)


def _releases(compiled: Compiled, sink: MemorySink, limits: Limits) -> Iterator[Any]:
    """Run a query within its limits; yield its releases."""
    end = time.monotonic() + limits.seconds
    count = 0
    splits = open_splits(compiled)
    with open_run(compiled, splits, _RUN) as run:
        assert isinstance(run, LocalRun)
        for _ in run.steps():
            for release in sink.fetch():
                count += len(release.time)
                yield release
            if time.monotonic() > end:
                raise _limit_error(f"the query takes more than {limits.seconds:g} s")
            if count > 4 * limits.rows:
                raise _rows_error(limits)
    yield from sink.fetch()
    if run.stopped is not None:
        raise stop_error(run.stopped, compiled, splits, 0)


def _rows_error(limits: Limits) -> FsqlError:
    return _limit_error(f"the answer has more than {limits.rows:,} rows")


def _limit_error(message: str) -> FsqlError:
    helps = ("aggregate more, or add a condition or a LIMIT",)
    return FsqlError([Diagnostic("E673", message, helps=helps)])


def _not_reached_error(position: str, results: JobResults, limits: Limits) -> FsqlError:
    message = f'job "{results.name}" has not reached position {position}'
    notes = (f"its results are at {results.as_of.position}",)
    helps = (f"ask again: a query waits {limits.wait_seconds:g} s for its position",)
    return FsqlError([Diagnostic("E675", message, notes=notes, helps=helps)])
