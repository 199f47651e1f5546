"""The option `timestamp` of ksqlDB, the column that is event time: `WITH (…, timestamp = 'at')`.

    timestamp = 'at'  →  WATERMARK FOR at AS at - INTERVAL '1' DAY

The delay is the grace period that windows of ksqlDB have unless they state another one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.report import Refusal, refusal
from fsql.compiler.binder.scope import matches, names_text
from fsql.compiler.diagnostics import Label

if TYPE_CHECKING:
    from collections.abc import Mapping

_OPTION: Final = "timestamp"
_FORMAT: Final = "timestamp_format"
_TIMES: Final = ("TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMPTZ")
_COMPUTED: Final[Mapping[str, str]] = {
    "BIGINT": "TIMESTAMP_MILLIS({})",
    "INT": "TIMESTAMP_SECONDS({})",
    "STRING": "TO_TIMESTAMP({}, '{}')",
    "VARCHAR": "TO_TIMESTAMP({}, '{}')",
}
"""How columns of other types become event time, by the names of the types."""


def with_time_column(table: syntax.CreateTable) -> syntax.CreateTable:
    """Return a table with the WATERMARK that its option `timestamp` means, and without the option.

    Raises:
        Refusal: E203, E213, E214, E217.
    """
    given = {each.key.value.lower(): each for each in table.options}
    written, format_ = given.get(_OPTION), given.get(_FORMAT)
    if written is None:
        if format_ is not None:
            raise _without_column(format_)
        return table
    column = _column(table, written)
    if table.watermarks:
        raise refusal(
            "E217",
            "the table has a WATERMARK and option 'timestamp'",
            written.span,
            secondary=(Label(table.watermarks[0].span, "declared here"),),
            help="remove the option",
        )
    if not isinstance(column, syntax.PhysicalColumn) or not column.type.name.startswith(_TIMES):
        raise _computed(table, column, written, format_)
    span = written.span
    delay = syntax.IntervalLiteral(span, syntax.StringLiteral(span, "1"), "DAY")
    links = (syntax.ChainLink(span, "-", delay),)
    bound = syntax.Chain(span, syntax.ColumnReference(span, (column.name,)), links)
    options = tuple(
        each for each in table.options if each.key.value.lower() not in {_OPTION, _FORMAT}
    )
    return replace(table, options=options, watermarks=(syntax.Watermark(span, column.name, bound),))


def _column(
    table: syntax.CreateTable, written: syntax.TableOption
) -> syntax.PhysicalColumn | syntax.ComputedColumn | syntax.MetadataColumn:
    name = syntax.Identifier(written.value.span, written.value.value)
    found = next((each for each in table.columns if matches(name, each.name.name)), None)
    if found is None:
        raise refusal(
            "E203",
            f'column "{name.name}" does not exist',
            written.value.span,
            note=f"the table has {names_text([each.name.name for each in table.columns])}",
        )
    return found


def _without_column(format_: syntax.TableOption) -> Refusal:
    return refusal(
        "E213",
        f"option '{format_.key.value}' without option 'timestamp'",
        format_.key.span,
        help="remove it, or name the column of event time: timestamp = 'at'",
    )


def _computed(
    table: syntax.CreateTable,
    column: syntax.PhysicalColumn | syntax.ComputedColumn | syntax.MetadataColumn,
    written: syntax.TableOption,
    format_: syntax.TableOption | None,
) -> Refusal:
    """Return the refusal of a column that is not a time, with the column to declare instead."""
    name = column.name.name
    type_ = column.type.name if isinstance(column, syntax.PhysicalColumn) else ""
    form = _COMPUTED.get(type_, "CAST({} AS TIMESTAMP)")
    pattern = "yyyy-MM-dd HH:mm:ss" if format_ is None else format_.value.value
    value = form.format(name, pattern.replace("'", "''"))
    at = "event_time" if any(each.name.name.lower() == "at" for each in table.columns) else "at"
    return refusal(
        "E214",
        f"column \"{name}\" of option 'timestamp' is not a TIMESTAMP",
        written.value.span,
        help="remove the option, and declare event time as a column of the table:"
        f" {at} AS {value}, WATERMARK FOR {at} AS {at} - INTERVAL '1' DAY",
    )
