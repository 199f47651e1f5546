"""Scripts: a list of statements to one job."""

from __future__ import annotations

import itertools
import sys
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.catalog import Catalog, TableEntry, ViewEntry
from fsql.compiler.binder.context import Context, ScanNumbers
from fsql.compiler.binder.ddl import create_table, create_view
from fsql.compiler.binder.insert import bind_insert, bind_select_statement
from fsql.compiler.binder.limits import check_ordinals
from fsql.compiler.binder.options import check_deliveries
from fsql.compiler.binder.report import Abandoned, Report, not_implemented, refusal
from fsql.compiler.binder.source_spans import SourceSpans
from fsql.compiler.binder.time_kinds import decide_times
from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.logical import Insert, Job, tables
from fsql.compiler.text.source import Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fsql.compiler.connectors import Declarations
    from fsql.compiler.logical import Plan

NO_ORDINALS: Final[Mapping[str, int]] = MappingProxyType({})
_STACK_DEPTH: Final = 10_000
"""200 nested subqueries, the limit of the parser, need about 3,000 nested calls."""


@dataclass(frozen=True, slots=True)
class BoundScript:
    """A bound script: its job, the warnings about it, and the spans of its parts."""

    job: Job
    warnings: tuple[Diagnostic, ...]
    source_spans: SourceSpans


def bind(
    script: syntax.Script,
    declared: Declarations,
    ordinals: Mapping[str, int] = NO_ORDINALS,
) -> BoundScript:
    """Return the job of the script's INSERTs and its last SELECT.

    `declared` has the available connectors and formats.  `ordinals` are those of tables that a job had
    before: others get the numbers that are free, in the order of their declaration.

    Raises:
        FsqlError: E2xx to E4xx, up to 20 diagnostics.
    """
    report = Report(script.source)
    source_spans = SourceSpans()
    job = None
    with _deep_stack():
        try:
            with report.part():
                job = _ScriptBinder(script, report, source_spans, declared, ordinals).bind()
        except Abandoned:
            assert report.full
    if report.errors or job is None:
        raise FsqlError(report.errors, script.source)
    return BoundScript(job, tuple(report.warnings), source_spans)


@contextmanager
def _deep_stack() -> Iterator[None]:
    """Raise the recursion limit to the depth that the text may have."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _STACK_DEPTH))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


@dataclass(frozen=True, slots=True)
class _Written:
    """A table that is written: its last INSERT, the place of the first among all, the queries of all."""

    span: Span
    place: int
    scan_numbers: ScanNumbers
    queries: tuple[Plan, ...]


class _ScriptBinder:
    """Binds the statements of one script, in order."""

    def __init__(
        self,
        script: syntax.Script,
        report: Report,
        source_spans: SourceSpans,
        declared: Declarations,
        ordinals: Mapping[str, int],
    ) -> None:
        self._script = script
        self._report = report
        self._source_spans = source_spans
        self._declared = declared
        self._catalog = Catalog()
        self._ordinals = ordinals
        taken = set(ordinals.values())
        self._free_ordinals = (number for number in itertools.count() if number not in taken)
        self._inserts: list[Insert] = []
        self._written: dict[str, _Written] = {}

    def bind(self) -> Job:
        """Return the job.

        Raises:
            Refusal, Abandoned: if anything was refused.
        """
        with self._report.whole():
            for statement in self._script.statements:
                with self._report.part():
                    self._bind_statement(statement)
            if not self._report.errors:
                self._check_runs()
        entries = {
            entry.ordinal: entry
            for entry in self._catalog.entries()
            if isinstance(entry, TableEntry)
        }
        check_deliveries([insert.sink for insert in self._inserts], entries.values())
        job = Job(decide_times(self._inserts, entries))
        self._check_reads(job.inserts)
        check_ordinals(job, entries)
        return job

    def _bind_statement(self, statement: syntax.Statement) -> None:
        context = Context(
            self._report, self._catalog, ScanNumbers(), self._source_spans, self._declared
        )
        match statement:
            case syntax.CreateTable():
                known = self._ordinals.get(statement.name.parts[-1].name)
                ordinal = next(self._free_ordinals) if known is None else known
                with self._report.part():
                    create_table(statement, ordinal, context)
                self._declare(statement.name)
            case syntax.CreateView():
                create_view(statement, context)
            case syntax.Insert():
                self._insert(statement, context)
            case syntax.SelectStatement():
                if statement is not self._script.statements[-1]:
                    raise refusal(
                        "E314",
                        "SELECT is not the last statement",
                        statement.span,
                        note="only the last statement can be a SELECT; its result is printed",
                        help="move it to the end, or use INSERT INTO",
                    )
                self._inserts.append(bind_select_statement(statement, context))
            case syntax.CreateFunction():
                raise not_implemented("CREATE FUNCTION", statement.span)
            case syntax.Explain():
                raise not_implemented(
                    "EXPLAIN in a script", statement.span, help="run `fsql explain` on the script"
                )

    def _declare(self, name: syntax.QualifiedName) -> None:
        """Add an entry for a table that was refused, so that references to it give no further errors."""
        if self._catalog.here(name.parts[-1]) is None:
            self._catalog.add(ViewEntry(name.parts[-1].name, name.span, None))

    def _insert(self, statement: syntax.Insert, context: Context) -> None:
        """Bind an INSERT; several into one table write the UNION ALL of their rows, in their order."""
        entry = self._catalog.find(statement.table.parts[-1])
        written = None if entry is None else self._written.get(entry.name)
        if written is not None:
            context = replace(context, scan_numbers=written.scan_numbers)
        earlier = () if written is None else written.queries
        insert, query = bind_insert(statement, context, earlier)
        place = len(self._inserts) if written is None else written.place
        self._inserts[place : place + 1] = [insert]
        self._written[insert.sink.name] = _Written(
            statement.table.span, place, context.scan_numbers, (*earlier, query)
        )

    def _check_runs(self) -> None:
        """Check that there is something to run.

        Raises:
            Refusal: E314.
        """
        runs = (syntax.Insert, syntax.SelectStatement, syntax.Explain)
        if any(isinstance(statement, runs) for statement in self._script.statements):
            return
        end = len(self._script.source.text)
        raise refusal(
            "E314",
            "script has no INSERT and no SELECT",
            self._script.statements[-1].span if self._script.statements else Span(end, end),
            help="add INSERT INTO or SELECT",
        )

    def _check_reads(self, inserts: Sequence[Insert]) -> None:
        """Check that the job does not read a table that it writes.

        Raises:
            Refusal: E314.
        """
        for insert in inserts:
            for table in tables(insert.query):
                if table.name in self._written:
                    raise refusal(
                        "E314",
                        f'table "{table.name}" is both read and written by the job',
                        self._written[table.name].span,
                        help="use a view for the part that both queries need",
                    )
