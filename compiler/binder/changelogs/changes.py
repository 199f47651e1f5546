"""The kind of changes that a sink receives: appends, upserts, or changes with retractions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.analysis.properties import Key, derived_keys, latest_keys
from fsql.compiler.binder.report import Refusal, refusal
from fsql.compiler.connectors import POSITION_COLUMN
from fsql.compiler.diagnostics import Label
from fsql.compiler.logical import (
    Aggregate,
    ApplyChanges,
    Changes,
    Plan,
    SinkTable,
    WindowAggregate,
    append_only,
    operators,
)

if TYPE_CHECKING:
    from fsql.compiler.binder.catalog import TableEntry
    from fsql.compiler.text.source import Span


def resolve_changes(
    table: TableEntry, query: Plan, span: Span, *, one_row_of_key: bool = False
) -> SinkTable:
    """Return the table as the sink of the query, with the kind of changes and the key.

    The default depends on the query: appends if it is append-only; otherwise upserts if the table has a
    PRIMARY KEY; otherwise all changes.  With `one_row_of_key`, the query has one row for each PRIMARY KEY.

    Raises:
        Refusal: E311 if the table does not accept the query's changes, E223 for the column `op`.
    """
    keys = derived_keys(query) or (() if append_only(query) else latest_keys(query))
    if one_row_of_key and table.primary_key is not None:
        keys = (table.primary_key,)
    asked = table.option("changes")
    if asked is not None:
        changes = Changes(asked)
    elif append_only(query):
        changes = Changes.APPEND
    else:
        changes = Changes.RETRACT if table.primary_key is None else Changes.UPSERT
    if changes is Changes.APPEND and not append_only(query):
        raise _updating_refusal(table, query, span)
    if changes is Changes.UPSERT:
        _check_upsert(table, query, keys, span)
    if changes is Changes.APPEND and asked is None:
        _check_appended_key(table, keys, span)
    operation = operation_column(table, changes, span)
    _check_shards(table, operation)
    key = table.primary_key if changes is Changes.UPSERT else (keys[0] if keys else None)
    return SinkTable(table.name, table.columns, table.options, changes, key, operation)


def operation_column(table: TableEntry, changes: Changes, span: Span) -> str:
    """Return the name of the field with the kind of change.

    Raises:
        Refusal: E311 if the format has none, E223 if a column has its name.
    """
    operation = table.option("op_column") or "op"
    if changes is Changes.APPEND:
        return operation
    if table.format is not None and not table.format.takes_changes:
        raise refusal(
            "E311",
            f"table \"{table.name}\" of format '{table.format.name}' cannot store changes",
            span,
            note="the format cannot store the kind of change",
            help="write 'format' = 'json'",
        )
    if any(column.name == operation for column in table.columns):
        raise refusal(
            "E223",
            f'column "{operation}" has the name of the column for the operation',
            table.option_spans.get("op_column", table.span),
            help="choose another with 'op_column' = '…'",
        )
    return operation


def _check_shards(table: TableEntry, operation: str) -> None:
    """Check that a table with the option `shards` can store positions.

    Raises:
        Refusal: E223.
    """
    if table.option("shards") is None:
        return
    span = table.option_spans["shards"]
    if table.format is not None and table.format.name != "json":
        raise refusal(
            "E223",
            f"option 'shards' requires format 'json', and the format is '{table.format.name}'",
            span,
            help="write 'format' = 'json', or remove 'shards'",
        )
    names = [column.name for column in table.columns]
    if POSITION_COLUMN in {operation, *names}:
        raise refusal(
            "E223",
            f'column "{POSITION_COLUMN}" has the name of the column for the position',
            span,
            help="rename the column, or remove 'shards'",
        )


def _updating_refusal(table: TableEntry, query: Plan, span: Span) -> Refusal:
    """Return the refusal of an updating query; its note names the operator that retracts rows."""
    reason = "the query retracts rows"
    for node in operators(query):
        if isinstance(node, Aggregate):
            reason = "GROUP BY without a window retracts a group's row when the group changes"
        elif isinstance(node, ApplyChanges):
            removed = "an equal row" if node.counted else "the row of its key"
            reason = f"a row of changes retracts {removed}"
        elif isinstance(node, WindowAggregate) and not node.final:
            reason = "EMIT CHANGES retracts rows until the window closes"
        else:
            continue
        break
    asked = table.option_spans.get("changes")
    return refusal(
        "E311",
        f'append table "{table.name}" cannot store the result of an updating query',
        span,
        secondary=() if asked is None else (Label(asked, "append by this option"),),
        note=reason,
        help="write 'changes' = 'retract'",
    )


def _check_appended_key(table: TableEntry, keys: tuple[Key, ...], span: Span) -> None:
    """Check that an append-only query writes one row for each PRIMARY KEY.

    A table with the option 'changes' = 'append' is a log, and may have several.

    Raises:
        Refusal: E311.
    """
    if table.primary_key is None or any(set(key) <= set(table.primary_key) for key in keys):
        return
    declared = ", ".join(table.columns[index].name for index in table.primary_key)
    raise refusal(
        "E311",
        f'the query can append several rows with one PRIMARY KEY ({declared}) to table "{table.name}"',
        span,
        secondary=(Label(table.span, "declared with a PRIMARY KEY"),),
        help="write ON CONFLICT DO UPDATE FULL after the query: the last row that is read of each key stays;"
        " to keep the last by event time,"
        f" QUALIFY ROW_NUMBER() OVER (PARTITION BY {declared} ORDER BY at DESC) = 1;"
        " or group by the key, remove the PRIMARY KEY, or write 'changes' = 'append' for all rows",
    )


def _check_upsert(table: TableEntry, query: Plan, keys: tuple[Key, ...], span: Span) -> None:
    """Check that the query guarantees the table's PRIMARY KEY.

    Raises:
        Refusal: E311.
    """
    names = [column.name for column in query.schema]
    guaranteed = ", ".join(names[index] for index in keys[0]) if keys else ""
    if table.primary_key is None:
        raise refusal(
            "E311",
            f'upsert table "{table.name}" has no PRIMARY KEY',
            span,
            secondary=(Label(table.span, "declared without one"),),
            help=f"add PRIMARY KEY ({guaranteed or '…'}) NOT ENFORCED",
        )
    if any(set(key) <= set(table.primary_key) for key in keys):
        return
    declared = ", ".join(table.columns[index].name for index in table.primary_key)
    one_row = f"QUALIFY ROW_NUMBER() OVER (PARTITION BY {declared} ORDER BY …) = 1"
    raise refusal(
        "E311",
        f'the query does not guarantee the PRIMARY KEY ({declared}) of table "{table.name}"',
        span,
        note=f"its rows are identified by ({guaranteed})" if guaranteed else "its rows have no key",
        help="write 'changes' = 'retract'"
        + (
            f", or PRIMARY KEY ({guaranteed}) NOT ENFORCED"
            if guaranteed
            else f"; to keep a row of each key, {one_row}"
        ),
    )
