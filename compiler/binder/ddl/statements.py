"""CREATE TABLE and DROP: declarations to entries of the catalog."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.binder.catalog import ComputedColumnEntry, TableEntry
from fsql.compiler.binder.ddl.enforced_keys import with_enforced_key
from fsql.compiler.binder.ddl.format_columns import check_format_columns
from fsql.compiler.binder.ddl.header_values import warn_of_values_in_header
from fsql.compiler.binder.ddl.inspect import find_kind
from fsql.compiler.binder.ddl.message_keys import value_columns, with_message_key
from fsql.compiler.binder.ddl.metadata import mark_metadata_time, metadata_columns
from fsql.compiler.binder.ddl.options import (
    TableOptions,
    bind_options,
    check_clock_options,
    with_options,
)
from fsql.compiler.binder.ddl.partitions import partition_columns, with_path_partitions, without
from fsql.compiler.binder.ddl.table_origin import like_table
from fsql.compiler.binder.ddl.watermark import delay_us, event_time, mark_event_time
from fsql.compiler.binder.expressions.expression import ExpressionBinder
from fsql.compiler.binder.expressions.row_time import calls_row_time, row_time
from fsql.compiler.binder.expressions.type_names import (
    bind_type,
    declared_texts,
    warn_of_documents,
    warn_of_type,
)
from fsql.compiler.binder.report import Refusal, check_distinct, no_column, refusal
from fsql.compiler.binder.scope import RowTime, Scope, fields_of, matches, names_text
from fsql.compiler.binder.tables import simple_name
from fsql.compiler.connectors import KEY_FORMAT, METADATA, partition_key
from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label
from fsql.compiler.diagnostics.report import ColumnWarning
from fsql.compiler.logical import TimeKind
from fsql.compiler.node import walk
from fsql.compiler.schema import Column, Schema

if TYPE_CHECKING:
    from fsql.compiler.binder.context import Context
    from fsql.compiler.expression import Expression
    from fsql.compiler.text.source import Span


def create_table(table: syntax.CreateTable, ordinal: int, context: Context) -> None:
    """Add a table to the catalog; `ordinal` numbers it among the tables of the script.

    Raises:
        Refusal: E2xx, E3xx.
        Abandoned: where several parts were refused.
    """
    name = simple_name(table.name)
    if exists(name, context, if_not_exists=table.if_not_exists):
        return
    hinted = table.like is not None and table.like.of_hint
    table = _completed(table, context)
    inferred = not any(isinstance(each, syntax.PhysicalColumn) for each in table.columns)
    if inferred:
        table, options = _with_inferred_columns(table, context)
        columns = _physical_columns(table, context)
    else:
        options, columns = _options_and_columns(table, context)
    partitioned_by, partitions = partition_columns(table, options, columns, context)
    columns = without(columns, partitions)
    options = _with_checked_columns(table, options, columns)
    watermark = _watermark(table)
    time = _checked_time_kind(options, watermark, table.name.span)
    metadata = metadata_columns(table, options, context)
    if watermark is not None and time is TimeKind.EVENT:
        columns = mark_event_time(watermark, columns)
        metadata = mark_metadata_time(watermark, metadata)
    timed = (*columns, *(each.column for each in metadata))
    metadata = (*metadata, *partitions)
    readable = (*columns, *(each.column for each in metadata))
    computed = _computed_columns(table, readable, context)
    # The form is checked even if the watermark has no effect because of another kind of time.
    at = None if watermark is None else event_time(watermark, timed, computed)
    delay = 0 if watermark is None else delay_us(watermark, context.zone)
    _check_watermark(watermark, at, row_time(len(readable)))
    context.catalog.add(
        TableEntry(
            name=name.name,
            span=table.name.span,
            ordinal=ordinal,
            columns=columns,
            computed=computed,
            connector=options.connector,
            format=options.format,
            options=options.given,
            option_spans=options.spans,
            primary_key=_primary_key(table, columns),
            time=time,
            event_time=at if time is TimeKind.EVENT else None,
            delay_us=delay if time is TimeKind.EVENT else 0,
            grain_us=int(options.value("grain_ms") or "1") * 1_000,
            declaration=table,
            metadata=metadata,
            row_time=calls_row_time(table.columns),
            inferred=inferred,
            partitioned_by=partitioned_by,
            hinted=hinted,
        )
    )


def _completed(table: syntax.CreateTable, context: Context) -> syntax.CreateTable:
    """Return a table with the elements of the table in LIKE, after what is said of its options.

    Raises:
        Refusal: E201, E205, E213, E214, E217, E325.
    """
    if table.remarks is not None:
        context.report.say(table.remarks)
    table = table if table.like is None else like_table(table, context)
    return with_enforced_key(table, context)


def drop(written: syntax.Drop, context: Context) -> None:
    """Remove the name of a table or view; statements that already used it are not affected.

    Raises:
        Refusal: E201.
    """
    name = simple_name(written.name)
    if written.delete_topic is not None:
        message = "DELETE TOPIC has no effect"
        helps = ("fsql does not delete topics: use the tool that creates them",)
        context.report.warn(Diagnostic("W203", message, Label(written.delete_topic), helps=helps))
    if written.if_exists and context.catalog.find_here(name) is None:
        return
    find_kind(written.name, context, view=written.view)
    context.catalog.drop(name)


def exists(name: syntax.Identifier, context: Context, *, if_not_exists: bool) -> bool:
    """Return whether the name exists already and IF NOT EXISTS allows that.

    Raises:
        Refusal: E205, if it may not.
    """
    other = context.catalog.find_here(name)
    if other is not None and not if_not_exists:
        raise refusal(
            "E205",
            f'table "{name.name}" is declared more than once',
            name.span,
            secondary=(Label(other.span, "first here"),),
        )
    dropped = context.catalog.find_dropped(name)
    if other is None and dropped is not None:
        raise refusal(
            "E205",
            f'table "{name.name}" was used before it was dropped',
            name.span,
            secondary=(Label(dropped.span, "first here"),),
            note="all statements of a script are one job, in which a name means one table",
            help="choose another name",
        )
    return other is not None


def _options_and_columns(
    table: syntax.CreateTable, context: Context
) -> tuple[TableOptions, Schema]:
    """Return the options and columns of a table; report the errors of both.

    Raises:
        Abandoned: where something was refused.
    """
    report = context.report
    with report.whole():
        with report.part():
            options = bind_options(table, context)
        with report.part():
            columns = _physical_columns(table, context)
    return options, columns


def _with_inferred_columns(
    table: syntax.CreateTable, context: Context
) -> tuple[syntax.CreateTable, TableOptions]:
    """Return a table that declares no physical columns, with those of its input first, and its options.

    Options that the input shows are among those of the table.

    Raises:
        Refusal: E212, E223; E225, or E5xx if the input cannot be read.
        Abandoned: where other options were refused.
    """
    options = bind_options(table, context)
    table = with_path_partitions(table, options)
    if not options.connector.infers_columns:
        return table, options
    name = table.name.parts[-1]
    keys = ",".join(partition_key(each.name) for each in table.partitioned_by)
    given = (*options.given, (METADATA, keys)) if keys else options.given
    try:
        inferred = context.infer(name.name, given, name.span)
    except FsqlError as error:
        raise Refusal(replace(error.diagnostics[0], primary=Label(name.span))) from None
    if inferred.notes:
        label = Label(name.span, "its columns are inferred")
        helps = ("to have other types, declare the columns that are read in CREATE TABLE",)
        message = f'columns of "{name.name}" take any value'
        warning = Diagnostic("W210", message, label, helps=helps)
        context.report.of_columns.append(ColumnWarning(name.name, warning, inferred.notes))
    if options.format is not None and options.format.name == "csv":
        warn_of_values_in_header(inferred.columns, options, name.span, context)
    table = replace(
        table,
        columns=(*inferred.columns, *table.columns),
        options=(*table.options, *inferred.options),
    )
    return table, with_options(options, inferred.options)


def _physical_columns(table: syntax.CreateTable, context: Context) -> Schema:
    """Return the columns that the connector reads and writes.

    Raises:
        Abandoned: where some were refused.
    """
    columns: list[Column] = []
    with context.report.whole():
        with context.report.part():
            check_distinct((column.name for column in table.columns), "column")
        for written in table.columns:
            with context.report.part():
                if isinstance(written, syntax.PhysicalColumn):
                    nullable = not (written.not_null or written.type.not_null)
                    type_ = bind_type(written.type, context.zone)
                    warn_of_type(written.type, context.report)
                    warn_of_documents(written.type, context.report)
                    document = declared_texts(written.type)
                    column = Column(written.name.name, type_, nullable, document=document)
                    columns.append(column)
        if not any(isinstance(each, syntax.PhysicalColumn) for each in table.columns):
            with context.report.part():
                raise refusal(
                    "E322",
                    f'table "{table.name.parts[-1].name}" has no columns to read or write',
                    table.name.span,
                    help="add a column with a type, such as `a BIGINT`",
                )
    return tuple(columns)


def _with_checked_columns(
    table: syntax.CreateTable, options: TableOptions, columns: Schema
) -> TableOptions:
    """Return the options of a table, with the columns of the key of messages, after all columns are checked.

    Raises:
        Refusal: E203, E205, E223, E301, E318.
    """
    key = _primary_key(table, columns) if KEY_FORMAT in options.spans else None
    options = with_message_key(table, options, columns, key)
    _check_columns(table, options, value_columns(options, columns))
    return options


def _check_columns(table: syntax.CreateTable, options: TableOptions, columns: Schema) -> None:
    """Check that the connector supports the columns.

    Raises:
        Refusal: E318.
    """
    types = [str(column.type) for column in columns]
    rules = (
        ("connector", options.connector.columns),
        ("format", None if options.format is None else options.format.columns),
    )
    for key, rule in rules:
        if rule is not None and not rule.allows(types):
            span = options.spans.get(key)
            secondary = () if span is None else (Label(span, f"because of this {key}"),)
            raise refusal(
                "E318", rule.message, table.name.span, secondary=secondary, help=rule.help
            )
    if options.format is not None:
        check_format_columns(table, options.format, columns)


def _watermark(table: syntax.CreateTable) -> syntax.Watermark | None:
    if len(table.watermarks) > 1:
        raise refusal(
            "E313",
            "table has more than one WATERMARK",
            table.watermarks[1].span,
            secondary=(Label(table.watermarks[0].span, "first here"),),
        )
    return table.watermarks[0] if table.watermarks else None


def _check_watermark(
    watermark: syntax.Watermark | None, at: Expression | None, row_time: Expression
) -> None:
    """Check that event time `at` is not computed from the time of the row.

    Raises:
        Refusal: E313.
    """
    if watermark is None or at is None or row_time not in walk(at):
        return
    name = watermark.column.name
    change = "remove the WATERMARK"
    if at != row_time:  # NOW(3), say: a value that is computed from the time, but not the time
        change += f", and write {name} AS PROCTIME()"
    raise refusal(
        "E313",
        f'"{name}" is the time at which rows arrive, and takes no WATERMARK',
        watermark.column.span,
        note="it never goes back, so windows over it close without a delay",
        help=f"{change}; 'time' = 'arrival' orders the rows by it",
    )


def _checked_time_kind(
    options: TableOptions, watermark: syntax.Watermark | None, span: Span
) -> TimeKind | None:
    """Return the kind of time of the table, after the options for event time are checked.

    Raises:
        Refusal: E222, E312.
    """
    time = _time_kind(options, watermark, span)
    if time is not TimeKind.EVENT:
        check_clock_options(options)
    return time


def _time_kind(
    options: TableOptions, watermark: syntax.Watermark | None, span: Span
) -> TimeKind | None:
    """Return the kind of time that the table's own declaration determines."""
    asked = options.value("time")
    if asked == "event" and watermark is None:
        raise refusal(
            "E312",
            "'time' = 'event' without a WATERMARK",
            options.spans["time"],
            secondary=(Label(span, "no column of it is event time"),),
            help="declare one: WATERMARK FOR at AS at - INTERVAL '5' SECOND",
        )
    if asked is not None:
        return TimeKind(asked)
    return None if watermark is None else TimeKind.EVENT


def _computed_columns(
    table: syntax.CreateTable, columns: Schema, context: Context
) -> tuple[ComputedColumnEntry, ...]:
    fields = fields_of(columns, table.name.parts[-1].name)
    scope = Scope((fields,), RowTime(len(columns), of_table=False))
    computed: list[ComputedColumnEntry] = []
    with context.report.whole():
        for index, written in enumerate(table.columns):
            if isinstance(written, syntax.ComputedColumn):
                binder = ExpressionBinder(
                    scope,
                    "a computed column",
                    context.source_spans,
                    context.functions,
                    context.zone,
                )
                with context.report.part():
                    expression = binder.bind_and_check_size(written.expression)
                    computed.append(
                        ComputedColumnEntry(written.name.name, index, expression, written.hidden)
                    )
    return tuple(computed)


def _primary_key(table: syntax.CreateTable, columns: Schema) -> tuple[int, ...] | None:
    """Return the columns of the PRIMARY KEY, by index.

    Raises:
        Refusal: E203, E205.
    """
    if not table.primary_keys:
        return None
    key, *others = table.primary_keys
    if others:
        raise refusal(
            "E205",
            "PRIMARY KEY is declared more than once",
            others[0].span,
            secondary=(Label(key.span, "first here"),),
        )
    return tuple(_key_column(name, columns) for name in key.columns)


def _key_column(name: syntax.Identifier, columns: Schema) -> int:
    for index, column in enumerate(columns):
        if matches(name, column.name):
            return index
    names = [column.name for column in columns]
    raise no_column(name, names, note=f"the key is made of {names_text(names)}")
