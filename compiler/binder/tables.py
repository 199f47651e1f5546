"""References to tables and views in FROM."""

from __future__ import annotations

from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.binder.catalog import Entry, TableEntry, ViewEntry
from fsql.compiler.binder.changelogs.change_source import (
    apply_changes,
    is_change_source,
    read_columns,
)
from fsql.compiler.binder.ddl.partitions import warn_of_folders
from fsql.compiler.binder.relation import Relation, apply_alias, relation_of
from fsql.compiler.binder.report import not_implemented, refusal
from fsql.compiler.binder.scope import RowTime, names_text
from fsql.compiler.connectors import METADATA
from fsql.compiler.diagnostics import Label
from fsql.compiler.diagnostics.near_names import near_name
from fsql.compiler.diagnostics.report import Abandoned
from fsql.compiler.file_names import names_file
from fsql.compiler.logical import (
    ROW_TIME,
    AssignRowTime,
    Plan,
    Project,
    Scan,
    Table,
    TimeKind,
    operators,
)
from fsql.compiler.planner.rows import column_refs, project, replace_scans
from fsql.compiler.sqltypes import Kind

if TYPE_CHECKING:
    from fsql.compiler.binder.context import Context
    from fsql.compiler.binder.query_binder import QueryBinder
    from fsql.compiler.syntax import Identifier, QualifiedName, TableReference
    from fsql.compiler.text.source import Span


def simple_name(name: QualifiedName) -> Identifier:
    """Return the only part of a name.

    Raises:
        Refusal: E301, if it is qualified with a catalog or database.
    """
    if len(name.parts) > 1:
        raise not_implemented(
            "catalogs and databases", name.span, help="use the name without qualifiers"
        )
    return name.parts[0]


def find_entry(name: QualifiedName, context: Context) -> Entry:
    """Return the table or view of that name.

    Raises:
        Refusal: E201.
    """
    wanted = simple_name(name)
    catalog = context.catalog.of_script if name.in_database else context.catalog
    entry = catalog.find(wanted)
    if entry is None:
        known = tuple(context.catalog.names())
        near = near_name(wanted.name, known)
        help_ = f'a table with a similar name exists: "{near}"' if near else None
        if names_file(wanted.name):
            help_ = f"write a file in single quotes: '{wanted.name}'"
        raise refusal(
            "E201",
            f'table "{wanted.name}" does not exist',
            name.span,
            note=f"tables: {names_text(known)}" if known and near is None else None,
            help=help_,
        )
    return entry


def table_of(written: TableReference, context: Context, *, row_time: bool = False) -> Relation:
    """Return the rows of a table in FROM, under its alias.

    Raises:
        Refusal: E201; E301 for FOR SYSTEM_TIME AS OF.
    """
    if written.system_time is not None:
        raise not_implemented(
            "FOR SYSTEM_TIME AS OF here",
            written.system_time.span,
            help="write it after the table of JOIN or LEFT JOIN",
        )
    return apply_alias(bind_table(written.name, context, row_time=row_time), written.alias)


def with_row_time(changes: Relation) -> Relation:
    """Return changes with the time of the row that made each of them."""
    return Relation(
        AssignRowTime(changes.plan), changes.fields, RowTime(changes.width, of_table=False)
    )


def bind_table(name: QualifiedName, context: Context, *, row_time: bool = False) -> Relation:
    """Return the rows of the table or view, under its name; with the time of each if it is requested.

    Raises:
        Refusal: E201, E217, E315.
        Abandoned: if the view was refused.
    """
    entry = find_entry(name, context)
    result = context.catalog.read_result(entry) if isinstance(entry, TableEntry) else None
    if result is not None:
        return relation_of(_inline(result, context, name.span), entry.name)
    if isinstance(entry, TableEntry):
        row_time = row_time and not is_change_source(entry)
        plan = scan_table(entry, context, name.span, row_time=row_time)
        relation = relation_of(plan, entry.name)
        if row_time:
            relation = Relation(plan, relation.fields[:-1], _row_time(plan, entry))
        hidden = any(each.hidden for each in entry.computed)
        return relation.with_hidden_last() if hidden else relation
    context.catalog.read_view(entry)
    relation = relation_of(_inline(entry, context, name.span), entry.name)
    if entry.hidden_time:
        relation = relation.with_hidden_last()
    if not entry.join_names:
        return relation
    named = zip(relation.fields, entry.join_names, strict=True)
    return replace(relation, fields=tuple(replace(field, join_name=name) for field, name in named))


def _row_time(plan: Plan, entry: TableEntry) -> RowTime:
    """Return the time of the rows of a table, the last column of its scan."""
    columns = plan.expressions if isinstance(plan, Project) else column_refs(plan)
    last = len(columns) - 1
    if entry.time is not TimeKind.EVENT:
        return RowTime(last)
    times = tuple(i for i, each in enumerate(columns) if each == entry.event_time)
    return RowTime(last, times, entry.delay_us, entry.grain_us)


def scan_table(entry: TableEntry, context: Context, span: Span, *, row_time: bool = False) -> Plan:
    """Return the scan of a table, with its computed columns; with `row_time`, that is the last column.

    Raises:
        Refusal: E217, E301, E311, E315.
    """
    if not entry.connector.reads:
        raise refusal(
            "E217",
            f'table "{entry.name}" cannot be read',
            span,
            secondary=(Label(entry.span, f"connector '{entry.connector.name}' only writes"),),
        )
    if any(column.type.contains(Kind.INTERVAL, Kind.MONTHS) for column in entry.columns):
        raise not_implemented("reading columns of type INTERVAL", span)
    read = read_columns(entry, context, span)
    keys = ",".join(each.key for each in entry.metadata)
    table = Table(
        entry.name,
        entry.ordinal,
        (*read.columns, *(each.column for each in entry.metadata)),
        (*entry.options, *read.options, *(((METADATA, keys),) if keys else ())),
        # The kind of time may depend on the other tables of the job; see `time_kinds`.
        TimeKind.OFFSET if entry.time is None else entry.time,
        read.event_time,
        entry.delay_us,
        entry.grain_us,
        row_time or entry.row_time,
        read.replaced,
    )
    context.catalog.use(entry)
    warn_of_folders(entry, context)
    scan = Scan(table, context.scan_numbers.take(1, span))
    context.source_spans.add(scan, span)
    rows = apply_changes(entry, scan, context, span) if is_change_source(entry) else scan
    width = len(rows.schema) - len(entry.metadata) - table.row_time
    references = column_refs(rows)
    expressions, names = references[:width], [column.name for column in rows.schema[:width]]
    added = [(each.index, each.name, each.expression) for each in entry.computed]
    added += [
        (each.index, each.column.name, reference)
        for each, reference in zip(entry.metadata, references[width:], strict=False)
    ]
    for index, name, expression in sorted(added, key=itemgetter(0)):
        expressions.insert(index, expression)
        names.insert(index, name)
    if row_time:
        expressions.append(references[-1])
        names.append(ROW_TIME.name)
    return project(rows, expressions, names)


def _inline(view: ViewEntry, context: Context, span: Span) -> Plan:
    """Return a copy of the view's plan with its scans numbered within this query."""
    if view.plan is None:
        raise Abandoned
    for warning in view.warnings:
        context.report.warn(warning)
    count = sum(isinstance(node, Scan) for node in operators(view.plan))
    first = context.scan_numbers.take(count, span)

    def add_number(scan: Scan) -> Scan:
        made = Scan(scan.table, first + scan.scan_number)
        context.source_spans.add(made, span)
        return made

    return replace_scans(view.plan, add_number)


def bind_table_argument(
    data: syntax.TableArgument | syntax.ColumnReference, context: Context, bind_query: QueryBinder
) -> Relation:
    """Return the rows of a table, view or query that is an argument."""
    if isinstance(data, syntax.ColumnReference):
        return bind_table(syntax.QualifiedName(data.span, data.parts), context)
    if isinstance(data.table, syntax.Query):
        return relation_of(bind_query(data.table, context), None)
    return bind_table(data.table, context)
