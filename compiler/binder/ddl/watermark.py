"""WATERMARK: the event-time column of a table, and the delay of its watermark."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.binder.report import Refusal, no_column, refusal
from fsql.compiler.binder.scope import matches, names_text
from fsql.compiler.binder.windows.window import WINDOW_US_MAX, constant_interval_us
from fsql.compiler.expression import ColumnRef, Expression
from fsql.compiler.sqltypes import Kind, SqlType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.binder.catalog import ComputedColumnEntry
    from fsql.compiler.schema import Schema


def mark_event_time(watermark: syntax.Watermark, columns: Schema) -> Schema:
    """Return the physical columns, with event time marked if it is one of them.

    A row without event time is malformed, so the column is never NULL.

    Raises:
        Refusal: E313, if the column is not a TIMESTAMP.
    """
    for index, column in enumerate(columns):
        if matches(watermark.column, column.name):
            _check_type(watermark, column.type)
            marked = replace(column, nullable=False, time_attribute=True)
            return (*columns[:index], marked, *columns[index + 1 :])
    return columns


def event_time(
    watermark: syntax.Watermark, columns: Schema, computed: Sequence[ComputedColumnEntry]
) -> Expression:
    """Return event time as an expression over the columns that are read, those with metadata last.

    Raises:
        Refusal: E203 for a column that does not exist, E313 if it is not a TIMESTAMP.
    """
    for index, column in enumerate(columns):
        if matches(watermark.column, column.name):
            return ColumnRef(column.type, column.nullable, index)
    for other in computed:
        if matches(watermark.column, other.name):
            _check_type(watermark, other.expression.type)
            return other.expression
    names = [*(column.name for column in columns), *(other.name for other in computed)]
    raise no_column(watermark.column, names, note=f"the table has {names_text(names)}")


def delay_us(watermark: syntax.Watermark, zone: str) -> int:
    """Return the delay of the watermark.

    Raises:
        Refusal: E313, for anything but the column, or the column minus a constant interval.
    """
    match watermark.expression:
        case None:
            return 0
        case syntax.ColumnReference() as column if _same(column, watermark):
            return 0
        case syntax.Chain(
            first=syntax.ColumnReference() as column,
            links=(syntax.ChainLink(operator="-", operand=operand),),
        ) if _same(column, watermark):
            value_us = constant_interval_us(operand, zone)
            if value_us is not None and 0 <= value_us <= WINDOW_US_MAX:
                return value_us
            raise _form(watermark)
        case _:
            raise _form(watermark)


def _same(column: syntax.ColumnReference, watermark: syntax.Watermark) -> bool:
    return len(column.parts) == 1 and matches(column.parts[0], watermark.column.name)


def _form(watermark: syntax.Watermark) -> Refusal:
    assert watermark.expression is not None
    name = watermark.column.name
    return refusal(
        "E313",
        "a watermark must be its column, or its column minus a constant interval",
        watermark.expression.span,
        help=f"write WATERMARK FOR {name} AS {name} - INTERVAL '5' SECOND",
    )


def _check_type(watermark: syntax.Watermark, type_: SqlType) -> None:
    if type_.kind is not Kind.TIMESTAMP:
        raise refusal(
            "E313",
            f'event time "{watermark.column.name}" is {type_}, not TIMESTAMP',
            watermark.column.span,
            help=_type_help(watermark.column.name, type_),
        )


def _type_help(column: str, type_: SqlType) -> str | None:
    if type_.numeric:
        return "add a computed column: at AS TIMESTAMP_MILLIS(…)"
    if type_.kind is Kind.STRING:
        computed = f"event_time AS TO_TIMESTAMP({column}, 'yyyy-MM-dd HH:mm:ss')"
        return f"declare {column} as TIMESTAMP, or add a computed column: {computed}"
    return None
