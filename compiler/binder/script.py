"""Scripts: from a list of statements to one job."""

from __future__ import annotations

import itertools
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.added_rows import Written, add_to_stream, check_added, check_not_read
from fsql.compiler.binder.catalog import Catalog, ViewEntry
from fsql.compiler.binder.constants import ONE_ROW, one_row_entry
from fsql.compiler.binder.context import Context, ScanNumbers
from fsql.compiler.binder.ddl.inspect import describe, show, show_create
from fsql.compiler.binder.ddl.options import check_deliveries
from fsql.compiler.binder.ddl.python_functions import create_function
from fsql.compiler.binder.ddl.settings import check_setting, idle_of_script
from fsql.compiler.binder.ddl.statements import create_table, drop, exists
from fsql.compiler.binder.ddl.table_origin import named_columns, with_columns_of, with_key_of_query
from fsql.compiler.binder.ddl.time_kinds import decide_times
from fsql.compiler.binder.ddl.time_to_live import TimeToLive, is_setting, read_setting
from fsql.compiler.binder.ddl.views import create_view, warn_of_changed_rows
from fsql.compiler.binder.expressions.doubtful_expressions import doubtful_expressions
from fsql.compiler.binder.expressions.doubtful_patterns import doubtful_patterns
from fsql.compiler.binder.expressions.rounding_casts import warn_of_rounding_casts
from fsql.compiler.binder.expressions.time_zone import zone_of_script
from fsql.compiler.binder.insert import bind_insert, bind_select_statement, output_spans
from fsql.compiler.binder.limits import check_ordinals
from fsql.compiler.binder.query import bind_query
from fsql.compiler.binder.report import Refusal, refusal
from fsql.compiler.binder.scope import names_text
from fsql.compiler.binder.tables import simple_name
from fsql.compiler.bound.source_spans import SourceSpans
from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.report import Abandoned, ColumnWarning, Report
from fsql.compiler.dialects.standard_options import standard_table
from fsql.compiler.inspections import Explanation, Inspection
from fsql.compiler.logical import Insert, Job, tables
from fsql.compiler.records import dataclass
from fsql.compiler.surroundings import NO_SURROUNDINGS
from fsql.compiler.text.deep_stack import deep_stack
from fsql.compiler.text.source import Span

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.binder.catalog import TableEntry
    from fsql.compiler.binder.ddl.declared_functions import DeclaredFunction
    from fsql.compiler.bound.lifetimes import Lifetime
    from fsql.compiler.connectors import Declarations
    from fsql.compiler.logical import Plan
    from fsql.compiler.planner.select import PlannedSelect
    from fsql.compiler.surroundings import Surroundings


NO_ORDINALS: Final[Mapping[str, int]] = MappingProxyType({})
_STAGES: Final = ("logical", "graph", "tick")
"""The stages that EXPLAIN supports, among those in `fsql.job.stages`."""
_CHANGES: Final = "changelog_mode"
"""The way to request the changes of each operator; here the logical plan shows them."""


@dataclass(frozen=True, slots=True)
class BoundScript:
    """A bound script: its job, its warnings, and the spans of its parts.

    `inspections` are those of SHOW, DESCRIBE and EXPLAIN.  `catalog` has what can be named at the end,
    `of_columns` the warnings that depend on which columns the job uses, `selects` the bound SELECTs and how
    they were planned, those in FROM before the ones around them.
    """

    job: Job
    inspections: tuple[Inspection, ...]
    warnings: tuple[Diagnostic, ...]
    source_spans: SourceSpans
    catalog: Catalog
    of_columns: tuple[ColumnWarning, ...]
    selects: tuple[PlannedSelect, ...]


def bind(
    script: syntax.Script,
    declared: Declarations,
    ordinals: Mapping[str, int] = NO_ORDINALS,
    surroundings: Surroundings = NO_SURROUNDINGS,
) -> BoundScript:
    """Return the job of the script's INSERTs and its last SELECT; it may be empty if there is a SHOW.

    `declared` has the available connectors and formats.  `ordinals` are those of tables that a job had
    before: others get the free numbers, in the order of declaration.  `surroundings` have what it lacks.

    Raises:
        FsqlError: E2xx to E4xx, up to 20 diagnostics.
    """
    report = Report(script.source)
    source_spans = SourceSpans()
    job = None
    binder = _ScriptBinder(script, report, source_spans, declared, ordinals, surroundings)
    for warning in (*doubtful_expressions(script), *doubtful_patterns(script)):
        report.warn(warning)
    with deep_stack():
        try:
            with report.part():
                job = binder.bind()
        except Abandoned:
            assert report.full
    if report.errors or job is None:
        raise FsqlError(report.errors, script.source)
    warn_of_rounding_casts(script, source_spans, report)
    said = tuple(binder.inspections), tuple(report.warnings)
    selects = tuple(binder.planned.values())
    return BoundScript(job, *said, source_spans, binder.catalog, tuple(report.of_columns), selects)


class _ScriptBinder:
    """Binds the statements of one script, in order."""

    def __init__(
        self,
        script: syntax.Script,
        report: Report,
        source_spans: SourceSpans,
        declared: Declarations,
        ordinals: Mapping[str, int],
        surroundings: Surroundings,
    ) -> None:
        self._script = script
        self._zone = zone_of_script(script)
        self._idle = idle_of_script(script)
        self._report = report
        self._source_spans = source_spans
        self._declared = declared
        self.catalog = Catalog()
        self._surroundings = surroundings
        self._functions: dict[str, DeclaredFunction] = {}
        self._ordinals = ordinals
        taken = set(ordinals.values())
        self._free_ordinals = (number for number in itertools.count() if number not in taken)
        self.inspections: list[Inspection] = []
        self._inserts: list[Insert] = []
        self._written: dict[str, Written] = {}
        self._single: TableEntry | None = None
        self._lifetime: Lifetime | None = None
        self._looked_up: set[int] = set()
        self.planned: dict[Span, PlannedSelect] = {}

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
        job = self._job(self._inserts)
        self._check_reads(job.inserts)
        return job

    def _job(self, inserts: Sequence[Insert]) -> Job:
        """Return the job of `inserts`.

        Raises:
            Refusal: E223, E312, E315.
        """
        entries = {entry.ordinal: entry for entry in self.catalog.job_tables()}
        check_deliveries([insert.sink for insert in inserts], entries.values())
        job = Job(decide_times(inserts, entries, self._looked_up))
        check_ordinals(job, entries)
        return job

    def _bind_statement(self, statement: syntax.Statement) -> None:
        context = Context(
            self._report,
            self.catalog,
            ScanNumbers(),
            self._source_spans,
            self._declared,
            self._one_row,
            self._functions,
            self._zone,
            self._surroundings.infer,
            TimeToLive(self._lifetime),
            self._idle,
            looked_up=self._looked_up,
            planned=self.planned,
        )
        match statement:
            case syntax.Insert():
                if not add_to_stream(statement, context):
                    self._insert(statement, context)
            case syntax.StatementSet():
                for insert in statement.inserts:
                    with self._report.part():
                        self._bind_statement(insert)
            case syntax.SelectStatement():
                self._check_is_last(statement)
                self._inserts.append(bind_select_statement(statement, context))
            case syntax.Explain() | syntax.Show() | syntax.ShowCreate() | syntax.Describe():
                apart = replace(context, planned={})
                self.inspections.append(self._inspect(statement, apart))
            case _:
                self._bind_declaration(statement, context)

    def _bind_declaration(self, statement: syntax.Declaration, context: Context) -> None:
        match statement:
            case syntax.CreateTable():
                self._create_table(statement, context)
            case syntax.CreateView():
                create_view(statement, context)
            case syntax.CreateFunction():
                create_function(statement, self._functions, self._surroundings.load, self._zone)
            case syntax.Drop():
                drop(statement, context)
            case syntax.SetOption() if is_setting(statement.key):
                self._lifetime = read_setting(statement)
            case syntax.SetOption():
                check_setting(statement, self._zone, self._idle, self._report)
            case syntax.ResetOption(key=key):
                if key is None or is_setting(key):
                    self._lifetime = None
            case _:
                pass  # `without_databases` and `with_declared_types` have carried it out.

    def _inspect(self, statement: syntax.Inspection, context: Context) -> Inspection:
        match statement:
            case syntax.Show():
                return show(statement, context)
            case syntax.ShowCreate():
                return show_create(statement, context, self._script.source)
            case syntax.Describe():
                return describe(statement, context, self._script.source)
            case syntax.Explain():
                return self._explain(statement, context)

    def _explain(self, statement: syntax.Explain, context: Context) -> Explanation:
        """Return the job of only the query, to be shown at a stage.

        Raises:
            Refusal: E2xx to E4xx.
        """
        written = "logical" if statement.stage is None else statement.stage.name.lower()
        stage = "logical" if written == _CHANGES else written
        if stage not in _STAGES:
            assert statement.stage is not None
            raise refusal(
                "E314",
                f"EXPLAIN has no {stage.upper()}",
                statement.stage.span,
                note=f"it has {names_text([each.upper() for each in _STAGES])}",
                help="fsql check shows the changes of a query, its key and its state",
            )
        match statement.statement:
            case syntax.Insert() as query:
                insert, _ = bind_insert(query, context)
            case syntax.SelectStatement() as query:
                insert = bind_select_statement(query, context)
        return Explanation(stage, self._job([insert]))

    def _check_is_last(self, statement: syntax.SelectStatement) -> None:
        """Check that only DROP comes after a SELECT.

        Raises:
            Refusal: E314.
        """
        statements = self._script.statements
        position = next(n for n, each in enumerate(statements) if each is statement)
        if not all(isinstance(each, syntax.Drop) for each in statements[position + 1 :]):
            raise refusal(
                "E314",
                "SELECT is not the last statement",
                statement.span,
                note="only the last statement can be a SELECT; its result is printed",
                help="move it to the end, or use INSERT INTO",
            )

    def _create_table(self, statement: syntax.CreateTable, context: Context) -> None:
        """Declare a table; with AS, also write the result of the query to it."""
        query = statement.query
        if query is not None:
            name = simple_name(statement.name)
            if exists(name, context, if_not_exists=statement.if_not_exists):
                return
            columns: tuple[syntax.Identifier, ...] = ()
            with self._report.part():
                bound = bind_query(query, context.with_own_scan_numbers())
                spans = output_spans(query, len(bound.schema))
                spans = [each.span for each in statement.named] or spans
                bound, columns = named_columns(statement, bound)
                declared = with_columns_of(statement, bound.schema, spans)
                statement = with_key_of_query(declared, bound)
                if statement.awaits_query:
                    statement = standard_table(statement)
            if statement.query is not None:  # It was refused.
                self._declare(name)
                return
        with self._report.part():
            create_table(statement, self._ordinal(statement.name.parts[-1].name), context)
        self._declare(statement.name.parts[-1])
        if query is not None:
            written = syntax.Insert(statement.span, statement.name, columns, query)
            sink, rows = self._insert(written, context)
            self.catalog.keep_result(sink, rows)
            if statement.stream:
                warn_of_changed_rows(statement.name.parts[-1], rows, self._report)

    def _ordinal(self, name: str) -> int:
        """Return the ordinal of a table: the previous one of the job, or a free one."""
        known = self._ordinals.get(name)
        return next(self._free_ordinals) if known is None else known

    def _one_row(self) -> TableEntry:
        """Return the table that queries without FROM read; the first call adds it to the job."""
        if self._single is None:
            self._single = one_row_entry(self._ordinal(ONE_ROW), self._declared)
            self.catalog.hide(self._single)
        return self._single

    def _declare(self, name: syntax.Identifier) -> None:
        """Add an entry for a refused table, so that references to it cause no further errors."""
        if self.catalog.find_here(name) is None:
            self.catalog.add(ViewEntry(name.name, name.span, None))

    def _insert(self, statement: syntax.Insert, context: Context) -> tuple[str, Plan]:
        """Bind an INSERT, and return its table and rows; the rows of several are added in their order."""
        entry = self.catalog.find(statement.table.parts[-1])
        written = None if entry is None else self._written.get(entry.name)
        if entry is not None and written is not None:
            check_added(statement, written)
            check_not_read(entry.name, statement, self.catalog)
            context = replace(context, scan_numbers=written.scan_numbers)
        earlier = () if written is None else written.queries
        insert, query = bind_insert(statement, context, earlier)
        name = insert.sink.name
        if self.catalog.has_result(name):
            check_not_read(name, statement, self.catalog)
            self.catalog.keep_result(name, insert.query)
        position = len(self._inserts) if written is None else written.position
        self._inserts[position : position + 1] = [insert]
        self._written[name] = Written(statement, position, context.scan_numbers, (*earlier, query))
        return name, query

    def _check_runs(self) -> None:
        """Check that there is something to run.

        Raises:
            Refusal: E314.
        """
        if self._inserts or self.inspections:
            return
        end = len(self._script.source.text)
        last = self._script.statements[-1] if self._script.statements else None
        message, help_ = "script has no INSERT and no SELECT", "add INSERT INTO or SELECT"
        if isinstance(last, syntax.CreateView) and last.created_as is not None:
            help_ = f"say where its rows are written: CREATE {last.created_as} … WITH ('connector' = …) AS …"
        elif isinstance(last, syntax.Insert):
            message = f'rows of "{last.table.parts[-1].name}" are neither written nor printed'
            help_ = "say where they are written: CREATE STREAM … WITH ('connector' = …) AS …"
        raise refusal(
            "E314",
            message,
            Span(end, end) if last is None else last.span,
            help=help_,
        )

    def _check_reads(self, inserts: Sequence[Insert]) -> None:
        """Check that the job does not read a table that it writes.

        Raises:
            Refusal: E314.
        """
        for insert in inserts:
            for table in tables(insert.query):
                if table.name in self._written:
                    raise self._read_and_written(table.name)

    def _read_and_written(self, name: str) -> Refusal:
        return refusal(
            "E314",
            f'table "{name}" is both read and written by the job',
            self._written[name].statement.table.span,
            note="only rows that CREATE TABLE AS writes can be read, with those of INSERTs before the reader",
            help="use a view for the part that both queries need",
        )
