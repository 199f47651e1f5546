"""INSERT and bare SELECT: assigns the columns of a query to those of a table."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.binder.catalog import TableEntry, ViewEntry
from fsql.compiler.binder.changelogs.changes import resolve_changes
from fsql.compiler.binder.constants import bind_values
from fsql.compiler.binder.context import ScanNumbers
from fsql.compiler.binder.ddl.metadata import with_written_metadata
from fsql.compiler.binder.ddl.partitions import check_written
from fsql.compiler.binder.hidden_time import keep_hidden_time
from fsql.compiler.binder.insert_clauses import overwritten, resolve_conflicts, static_values
from fsql.compiler.binder.limits import check_depth
from fsql.compiler.binder.query import bind_query
from fsql.compiler.binder.relation import check_column_names
from fsql.compiler.binder.report import Refusal, no_column, refusal
from fsql.compiler.binder.scope import matches, names_text, quantity_text
from fsql.compiler.binder.set_operations import union
from fsql.compiler.binder.tables import find_entry
from fsql.compiler.diagnostics import Label
from fsql.compiler.diagnostics.report import Abandoned
from fsql.compiler.expression import Expression, Literal
from fsql.compiler.functions.calls import make_cast
from fsql.compiler.functions.casts import castable
from fsql.compiler.functions.coercion import accepts, coerce, coercible
from fsql.compiler.logical import Insert, Scan, Union, operators
from fsql.compiler.planner.rows import column_refs, output_expressions, project
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import NULL, STRING, Kind, SqlType, fields_one_by_one, moves_fields

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.binder.context import Context
    from fsql.compiler.binder.insert_clauses import Given
    from fsql.compiler.logical import Plan
    from fsql.compiler.schema import Schema
    from fsql.compiler.text.source import Span


def bind_insert(
    insert: syntax.Insert, context: Context, earlier: Sequence[Plan] = ()
) -> tuple[Insert, Plan]:
    """Bind an INSERT; return it together with its own query.

    `earlier` are the queries of the preceding INSERTs into the same table, to whose rows its own are added.

    Raises:
        Refusal: E2xx to E4xx.
        Abandoned: where several parts were refused.
    """
    table: TableEntry | None = None
    static: dict[int, Given] = {}
    with context.report.whole():
        with context.report.part():
            table = overwritten(insert, _written_table(insert.table, context))
            static = static_values(insert, table, context)
        with context.report.part():
            query = _bind_written(insert, table, static, context)
    assert table is not None
    plan = _assigned(insert, table, query, static, context)
    first, plan = plan, resolve_conflicts(insert.on_conflict, table, plan)
    check_depth(plan, insert.query.span)
    context.time_to_live.check_all_ends(plan, insert.query.span)
    rows = Union((*earlier, plan)) if earlier else plan
    sink = resolve_changes(table, rows, insert.table.span, one_row_of_key=plan is not first)
    return Insert(sink, rows), plan


def _assigned(
    insert: syntax.Insert,
    table: TableEntry,
    query: Plan,
    static: Mapping[int, Given],
    context: Context,
) -> Plan:
    """Return the rows of the query of an INSERT with the columns of the table.

    Raises:
        Refusal: E203, E205, E209.
        Abandoned: where columns were refused.
    """
    below, given = output_expressions(query)
    spans = output_spans(insert.query, len(given))
    values = _match_columns(insert, table, list(zip(given, spans, strict=True)), static)
    columns: list[Expression] = []
    with context.report.whole():
        for column, (expression, span) in zip(table.columns, values, strict=True):
            with context.report.part():
                columns.append(_cast_to_column(expression, column, table, span))
    return project(below, columns, [column.name for column in table.columns])


def bind_added(insert: syntax.Insert, stream: ViewEntry, context: Context) -> ViewEntry:
    """Return a stream that is a query, with the rows of an INSERT into it after its own.

    Raises:
        Refusal: E2xx to E4xx.
        Abandoned: where several parts were refused.
    """
    assert stream.plan is not None
    if insert.overwrite or insert.on_conflict or insert.partition:
        raise _not_written(stream, insert.table)
    columns = tuple(Column(each.name, each.type) for each in stream.plan.schema)
    named = columns[:-1] if stream.hidden_time else columns
    table = _result_entry(stream.name, stream.span, named, context)
    numbers = ScanNumbers()
    numbers.count = sum(isinstance(node, Scan) for node in operators(stream.plan))
    rows = stream.plan
    with context.report.collect_warnings() as warnings:
        own = replace(context, scan_numbers=numbers)
        with keep_hidden_time(insert.query, own) as kept:
            query = _bind_written(insert, table, {}, own, inner=True)
        hidden = stream.hidden_time and kept()
        if hidden and len(query.schema) == len(insert.columns or named) + 1:
            table = replace(table, columns=columns)
            insert = _with_column(insert, columns[-1].name)
        else:
            rows, query = _without_last(rows, stream.hidden_time), _without_last(query, kept())
            hidden = False
        added = _assigned(insert, table, query, {}, context)
        check_depth(added, insert.query.span)
    rows = union([(rows, stream.span), (added, insert.query.span)])
    warned = (*stream.warnings, *warnings)
    return replace(stream, plan=rows, warnings=warned, hidden_time=hidden)


def _with_column(insert: syntax.Insert, name: str) -> syntax.Insert:
    """Return an INSERT that writes one column more, if it names its columns."""
    if not insert.columns:
        return insert
    more = syntax.Identifier(insert.columns[-1].span, name, quoted=True)
    return replace(insert, columns=(*insert.columns, more))


def _without_last(plan: Plan, last: bool) -> Plan:  # noqa: FBT001
    """Return `plan` without its last column, if that is event time without a name."""
    if not last:
        return plan
    return project(plan, column_refs(plan)[:-1], [each.name for each in plan.schema[:-1]])


def _distinct_names(names: Sequence[str]) -> list[str]:
    """Return the names of a result; repeated ones get a number: k, k0, k1."""
    made: list[str] = []
    taken = set(names)
    following: dict[str, int] = {}
    for name in names:
        if name not in following:
            following[name] = 0
            made.append(name)
            continue
        number = following[name]
        while f"{name}{number}" in taken:
            number += 1
        following[name] = number + 1
        taken.add(f"{name}{number}")
        made.append(f"{name}{number}")
    return made


def bind_select_statement(select: syntax.SelectStatement, context: Context) -> Insert:
    """Bind a bare SELECT: an INSERT into standard output.

    Raises:
        Refusal: E2xx to E4xx.
        Abandoned: where several parts were refused.
    """
    query = bind_query(select.query, context)
    names = _distinct_names([column.name for column in query.schema])
    below, expressions = output_expressions(query)
    # A column of NULL literals has no type; it is printed like any other NULL.
    typed = [coerce(each, STRING) if each.type == NULL else each for each in expressions]
    plan = project(below, typed, names)
    check_depth(plan, select.query.span)
    context.time_to_live.check_all_ends(plan, select.query.span)
    columns = tuple(
        Column(column.name, column.type, nullable=column.nullable) for column in plan.schema
    )
    table = _result_entry("stdout", select.span, columns, context)
    return Insert(resolve_changes(table, plan, select.span), plan)


def _result_entry(name: str, span: Span, columns: Schema, context: Context) -> TableEntry:
    """Return a table of these columns that is printed."""
    printing = context.declared.connector("stdout")
    assert printing is not None, "a bare SELECT needs the connector stdout"
    return TableEntry(
        name=name,
        span=span,
        ordinal=-1,
        columns=columns,
        computed=(),
        connector=context.declared.with_format(printing, "json"),
        format=context.declared.format("json"),
        options=(("connector", "stdout"), ("format", "json")),
        option_spans={},
        primary_key=None,
        time=None,
        event_time=None,
        delay_us=0,
        grain_us=1,
    )


def _bind_written(
    insert: syntax.Insert,
    table: TableEntry | None,
    static: Mapping[int, Given],
    context: Context,
    *,
    inner: bool = False,
) -> Plan:
    """Return the query of an INSERT; values take the types of the columns to which they are written.

    The rows of an `inner` one are read by others, and so have no order.
    """
    values = insert.query.body
    bare = insert.query == syntax.Query(insert.query.span, values)
    if table is None or not bare or not isinstance(values, syntax.Values):
        return bind_query(insert.query, context, inner=inner)
    types = {column.name.lower(): column.type for column in table.columns}
    if insert.columns:
        return bind_values(
            values, context, [types.get(name.name.lower()) for name in insert.columns]
        )
    others = [each for index, each in enumerate(types.values()) if index not in static]
    return bind_values(values, context, others)


def _written_table(name: syntax.QualifiedName, context: Context) -> TableEntry:
    """Return the table into which an INSERT writes.

    Raises:
        Refusal: E201, E217, E225, E301.
    """
    entry = find_entry(name, context)
    if isinstance(entry, ViewEntry):
        if entry.plan is None:
            raise Abandoned
        raise _not_written(entry, name)
    if not entry.connector.writes:
        raise refusal(
            "E217",
            f'table "{entry.name}" cannot be written',
            name.span,
            secondary=(Label(entry.span, f"connector '{entry.connector.name}' only reads"),),
        )
    if entry.inferred:
        raise refusal(
            "E225",
            f'table "{entry.name}" is written, and its columns cannot be inferred',
            name.span,
            secondary=(Label(entry.span, "declared without columns"),),
            help="declare them, or write CREATE TABLE … WITH (…) AS SELECT",
        )
    check_written(entry, name.span)
    context.catalog.use(entry)
    return with_written_metadata(entry, name.span)


def _not_written(view: ViewEntry, name: syntax.QualifiedName) -> Refusal:
    return refusal(
        "E217",
        f'view "{view.name}" cannot be written',
        name.span,
        secondary=(Label(view.span, "declared as a view here"),),
        help="write UNION ALL in the query of the view, or declare a table and write the view into it",
    )


def output_spans(query: syntax.Query, count: int) -> list[Span]:
    """Return the span of each column of a query: its select item, otherwise the query."""
    body = query.body
    if isinstance(body, syntax.Select) and len(body.items) == count:
        return [item.span for item in body.items]
    return [query.span] * count


def _match_columns(
    insert: syntax.Insert,
    table: TableEntry,
    given: Sequence[Given],
    static: Mapping[int, Given],
) -> list[Given]:
    """Return an expression and its span for each column of the table, in the table's order.

    `static` are those that PARTITION gives.  Columns that the INSERT does not name are NULL.

    Raises:
        Refusal: E203, E205, E209.
    """
    names = [column.name for column in table.columns]
    if not insert.columns:
        wanted = len(names) - len(static)
        if len(given) != wanted:
            raise _wrong_count(insert, table, len(given), wanted)
        rest = iter(given)
        return [static[index] if index in static else next(rest) for index in range(len(names))]
    check_column_names(insert.columns, len(insert.columns), f'table "{table.name}"')
    if len(given) != len(insert.columns):
        raise _wrong_count(insert, table, len(given), len(insert.columns))
    null: Expression = Literal(NULL, nullable=True, value=None)
    values = [(null, insert.table.span)] * len(names)
    for written, output in zip(insert.columns, given, strict=True):
        values[_column_index(written, table)] = output
    for index, value in static.items():
        values[index] = value
    for column, (found, _) in zip(table.columns, values, strict=True):
        if found is null and not column.nullable:
            raise refusal(
                "E211",
                f'INSERT does not name column "{column.name}" of table "{table.name}", which is NOT NULL',
                insert.table.span,
                secondary=(Label(table.span, f"{column.name} is NOT NULL in {table.name}"),),
                help=f"add {column.name} to the list of columns, and a value to the query",
            )
    return values


def _column_index(written: syntax.Identifier, table: TableEntry) -> int:
    for index, column in enumerate(table.columns):
        if matches(written, column.name):
            return index
    names = [column.name for column in table.columns]
    label, note = f"not a column of {table.name}", f"{table.name} has {names_text(names)}"
    raise no_column(written, names, label=label, note=note)


def _wrong_count(insert: syntax.Insert, table: TableEntry, given: int, wanted: int) -> Refusal:
    return refusal(
        "E209",
        f"INSERT of {quantity_text(given, 'column')} where the list has {wanted}"
        if insert.columns
        else f'INSERT of {quantity_text(given, "column")} into table "{table.name}", which has {wanted}'
        + (" beside those of PARTITION" if wanted < len(table.columns) else ""),
        insert.query.span,
        secondary=(Label(table.span, names_text([column.name for column in table.columns])),),
    )


def converts(given: SqlType, wanted: SqlType) -> bool:
    """Return whether INSERT casts a type to another one; for a ROW, ARRAY or MAP also its parts."""
    if given.kind is wanted.kind and given.parts and len(given.parts) == len(wanted.parts):
        pairs = zip(given.parts, wanted.parts, strict=True)
        return not moves_fields(given, wanted) and all(
            coercible(*pair) or converts(*pair) for pair in pairs
        )
    if given.kind is Kind.TIMESTAMP:
        return wanted.kind in {Kind.DATE, Kind.TIME, Kind.TIMESTAMP}
    if given.kind is Kind.TIME:
        return wanted.kind is Kind.TIME
    return given.numeric and wanted.numeric


def _cast_to_column(
    expression: Expression, column: Column, table: TableEntry, span: Span
) -> Expression:
    """Return the expression as a value of the table's column; numbers are cast, and fail out of range.

    A time is cast to its date and to its time of day.

    Raises:
        Refusal: E210, E211.
    """
    declared = Label(table.span, f"{column.name} is {column.type} in {table.name}")
    cast = converts(expression.type, column.type)
    if not cast and not accepts(expression, column.type):
        raise refusal(
            "E210",
            f'column "{column.name}" of table "{table.name}" is {column.type},'
            f" and the query's is {expression.type}",
            span,
            f"this is {expression.type}",
            secondary=(declared,),
            help=f"cast it: CAST(… AS {column.type})"
            if castable(expression.type, column.type)
            else fields_one_by_one(expression.type, column.type)
            if expression.type.fields and len(expression.type.fields) == len(column.type.fields)
            else None,
            quote=span,
        )
    if expression.nullable and not column.nullable:
        raise refusal(
            "E211",
            f'NULL may reach column "{column.name}" of table "{table.name}", which is NOT NULL',
            span,
            "this may be NULL",
            help=f"write COALESCE(…, a value), or declare {column.name} without NOT NULL",
            quote=span,
        )
    return make_cast(expression, column.type) if cast else coerce(expression, column.type)
