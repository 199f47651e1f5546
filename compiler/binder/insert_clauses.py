"""The clauses of INSERT beside its query: OVERWRITE, PARTITION and ON CONFLICT."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.analysis.properties import derived_keys, latest_keys
from fsql.compiler.binder.expressions.expression import ExpressionBinder
from fsql.compiler.binder.report import no_column, not_implemented, refusal
from fsql.compiler.binder.scope import Scope, matches, names_text
from fsql.compiler.connectors import OVERWRITE
from fsql.compiler.diagnostics import Label
from fsql.compiler.expression import AggregateCall, AggregateFunction, ColumnRef, Literal
from fsql.compiler.functions.calls import call, make_cast
from fsql.compiler.functions.casts import castable
from fsql.compiler.logical import ApplyChanges, Filter, FrameEnd, Over, OverCall, append_only
from fsql.compiler.planner.rows import column_refs, project
from fsql.compiler.sqltypes import BIGINT, BOOLEAN, STRING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.binder.catalog import TableEntry
    from fsql.compiler.binder.context import Context
    from fsql.compiler.expression import Expression
    from fsql.compiler.logical import Plan
    from fsql.compiler.sqltypes import SqlType
    from fsql.compiler.text.source import Span


_FILE: Final = "file"
_LAST_ROW: Final = frozenset({"UPDATE", "UPDATE FULL", "OVERWRITE", "DEDUPLICATE"})
"""The actions with which the last row of a key stays; the others keep the first one, or allow none."""

Given = tuple["Expression", "Span"]


def overwritten(insert: syntax.Insert, table: TableEntry) -> TableEntry:
    """Return the table with the option that its output is replaced, if the INSERT says so.

    Raises:
        Refusal: E217, if the table keeps no rows that could be replaced.
    """
    if not insert.overwrite:
        return table
    if table.connector.name != _FILE:
        raise refusal(
            "E217",
            f'table "{table.name}" cannot be overwritten',
            insert.table.span,
            secondary=(Label(table.span, f"connector '{table.connector.name}' keeps no rows"),),
            help="write INSERT INTO",
        )
    return replace(table, options=(*table.options, (OVERWRITE, "true")))


def static_values(insert: syntax.Insert, table: TableEntry, context: Context) -> dict[int, Given]:
    """Return the values that PARTITION gives to columns of the table, by the index of the column.

    Raises:
        Refusal: E203, E205, E217, E2xx to E4xx of the values.
    """
    found: dict[int, Given] = {}
    seen: dict[int, syntax.Identifier] = {}
    for written in insert.partition:
        index = _partition_column(written.column, table)
        first = seen.setdefault(index, written.column)
        listed = next((each for each in insert.columns if matches(each, first.name)), None)
        if first is not written.column or (listed is not None and written.value is not None):
            other = first if first is not written.column else listed
            assert other is not None
            raise refusal(
                "E205",
                f'column "{written.column.name}" is written more than once',
                written.column.span,
                secondary=(Label(other.span, "also here"),),
            )
        if written.value is not None:
            found[index] = _static_value(written.value, table.columns[index].type, context)
    return found


def _static_value(written: syntax.Expression, type_: SqlType, context: Context) -> Given:
    """Return a value of PARTITION; a text is converted to the type of its column."""
    binder = ExpressionBinder(
        Scope(((),)), "PARTITION", context.source_spans, context.functions, context.zone
    )
    value = binder.bind_and_check_size(written)
    if isinstance(value, Literal) and value.type == STRING and castable(STRING, type_):
        value = make_cast(value, type_)
    return value, written.span


def _partition_column(written: syntax.Identifier, table: TableEntry) -> int:
    """Return the index of a column that PARTITION names.

    Raises:
        Refusal: E203, E217.
    """
    if not table.partitioned_by:
        raise refusal(
            "E217",
            f'table "{table.name}" has no partitions',
            written.span,
            secondary=(Label(table.span, "declared without PARTITIONED BY"),),
            help="write the values into the query: INSERT INTO t SELECT …, 'value' FROM …",
        )
    name = next((each for each in table.partitioned_by if matches(written, each)), None)
    if name is None:
        raise no_column(
            written,
            table.partitioned_by,
            label=f"not a partition column of {table.name}",
            note=f"{table.name} is partitioned by {names_text(table.partitioned_by)}",
        )
    return next(i for i, column in enumerate(table.columns) if column.name == name)


def resolve_conflicts(written: syntax.OnConflict | None, table: TableEntry, rows: Plan) -> Plan:
    """Return the rows that an INSERT writes if rows of one PRIMARY KEY conflict as ON CONFLICT says.

    Of rows that are never retracted, the first of each key in the total order stays, or the last one.  A
    query that has one row for each key has no conflicts.

    Raises:
        Refusal: E203, E301, E311.
    """
    if written is None:
        return rows
    key = _conflict_key(written, table)
    if written.values:
        _check_values(written, table, key)
    keys = derived_keys(rows) or latest_keys(rows)
    if any(set(each) <= set(key) for each in keys) or not append_only(rows):
        return rows
    names = [column.name for column in table.columns]
    if written.action == "ERROR":
        declared = ", ".join(names[index] for index in key)
        raise refusal(
            "E311",
            f"rows of the query can conflict: several can have one PRIMARY KEY ({declared})",
            written.span,
            secondary=(Label(table.span, "declared with a PRIMARY KEY"),),
            help="write ON CONFLICT DO NOTHING for the first row of each key,"
            " or DO UPDATE FULL for the last one",
        )
    identity = tuple(_refs(rows)[index] for index in key)
    if written.action in _LAST_ROW:
        return _last_rows(rows, identity, names)
    return _first_rows(rows, identity, names)


def _refs(rows: Plan) -> list[ColumnRef]:
    return [ColumnRef(each.type, each.nullable, i) for i, each in enumerate(rows.schema)]


def _first_rows(rows: Plan, key: tuple[ColumnRef, ...], names: Sequence[str]) -> Plan:
    count = AggregateCall(AggregateFunction.COUNT, None, BIGINT, nullable=False)
    numbered = Over(rows, key, (OverCall(count, FrameEnd.CURRENT_ROW),), ("number",))
    *columns, number = column_refs(numbered)
    first = Filter(numbered, call("eq", number, Literal(BIGINT, nullable=False, value=1)))
    return project(first, columns, names)


def _last_rows(rows: Plan, key: Sequence[ColumnRef], names: Sequence[str]) -> Plan:
    columns = _refs(rows)
    values = tuple(each for each in columns if each not in key)
    always = Literal(BOOLEAN, nullable=False, value=True)
    table = ApplyChanges(rows, tuple(key), always, values)
    order = [*key, *values]
    kept = column_refs(table)
    return project(table, [kept[order.index(each)] for each in columns], names)


def _conflict_key(written: syntax.OnConflict, table: TableEntry) -> tuple[int, ...]:
    """Return the PRIMARY KEY of the table, by which rows conflict.

    Raises:
        Refusal: E203, E311.
    """
    if table.primary_key is None:
        named = ", ".join(each.name for each in written.columns)
        raise refusal(
            "E311",
            f'rows of table "{table.name}" cannot conflict: it has no PRIMARY KEY',
            written.span,
            secondary=(Label(table.span, "declared without one"),),
            help=f"add PRIMARY KEY ({named or '…'}) NOT ENFORCED to the table, or remove ON CONFLICT",
        )
    named_columns = {_column(each, table) for each in written.columns}
    if written.columns and named_columns != set(table.primary_key):
        declared = ", ".join(table.columns[index].name for index in table.primary_key)
        raise refusal(
            "E311",
            f'ON CONFLICT names other columns than the PRIMARY KEY ({declared}) of table "{table.name}"',
            written.columns[0].span.to(written.columns[-1].span),
            secondary=(Label(table.span, "declared with a PRIMARY KEY"),),
            help=f"write ON CONFLICT ({declared})",
        )
    return table.primary_key


def _check_values(written: syntax.OnConflict, table: TableEntry, key: tuple[int, ...]) -> None:
    """Check that DO UPDATE SET replaces the whole row by the new one.

    Raises:
        Refusal: E203, E301.
    """
    replaced: set[int] = set()
    for each in written.values:
        index = _column(each.column, table)
        match each.value:
            case syntax.ColumnReference(parts=(row, field)) if (
                row.name.lower() == "excluded" and _column(field, table) == index
            ):
                replaced.add(index)
            case _:
                raise not_implemented(
                    "values computed by ON CONFLICT DO UPDATE SET",
                    each.value.span,
                    help="combine the rows of a key in the query: SELECT k, SUM(n) … GROUP BY k",
                )
    missing = [
        column.name
        for index, column in enumerate(table.columns)
        if index not in replaced and index not in key
    ]
    if missing:
        raise not_implemented(
            "ON CONFLICT DO UPDATE SET of a part of the columns",
            written.span,
            help=f"add {', '.join(f'{name} = EXCLUDED.{name}' for name in missing)};"
            " or keep other values in the query: SELECT k, MAX(n) … GROUP BY k",
        )


def _column(written: syntax.Identifier, table: TableEntry) -> int:
    for index, column in enumerate(table.columns):
        if matches(written, column.name):
            return index
    names = [column.name for column in table.columns]
    raise no_column(
        written,
        names,
        label=f"not a column of {table.name}",
        note=f"{table.name} has {names_text(names)}",
    )
