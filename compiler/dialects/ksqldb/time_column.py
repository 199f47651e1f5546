"""The option `timestamp` of ksqlDB, the column that is event time: `WITH (…, timestamp = 'at')`.

    timestamp = 'at'  →  WATERMARK FOR at AS at - INTERVAL '1' DAY
    timestamp = 'ms'  →  ROWTIME AS TIMESTAMP_MILLIS(ms), WATERMARK FOR ROWTIME AS …
    timestamp = 's', timestamp_format = 'yyyy'  →  ROWTIME AS TO_TIMESTAMP(s, 'yyyy'), …

ROWTIME is hidden: `*` leaves it out, and its name means its milliseconds, as for all event time.
The delay is the grace period that windows of ksqlDB have unless they state another one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.diagnostics import Label
from fsql.compiler.diagnostics.refusal import Refusal, refusal
from fsql.compiler.syntax.names import matches, names_text

if TYPE_CHECKING:
    from fsql.compiler.text.source import Span

_OPTION: Final = "timestamp"
_ROW_TIME: Final = "ROWTIME"
_FORMAT: Final = "timestamp_format"
_TIMES: Final = ("TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMPTZ")
_TEXTS: Final = frozenset({"STRING", "VARCHAR"})

_Column = syntax.PhysicalColumn | syntax.ComputedColumn | syntax.MetadataColumn


def with_time_column(
    table: syntax.CreateTable, _base: str | None, _warn: object
) -> syntax.CreateTable:
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
    columns = table.columns
    name = column.name
    if not _is_time(column, format_):
        name = syntax.Identifier(written.value.span, _ROW_TIME)
        time = _computed(column, written, format_)
        columns = (*columns, syntax.ComputedColumn(written.span, name, time, hidden=True))
    span = written.span
    delay = syntax.IntervalLiteral(span, syntax.StringLiteral(span, "1"), "DAY")
    links = (syntax.ChainLink(span, "-", delay),)
    bound = syntax.Chain(span, syntax.ColumnReference(span, (name,)), links)
    options = tuple(
        each for each in table.options if each.key.value.lower() not in {_OPTION, _FORMAT}
    )
    watermarks = (syntax.Watermark(span, name, bound),)
    return replace(table, columns=columns, options=options, watermarks=watermarks)


def _column(table: syntax.CreateTable, written: syntax.TableOption) -> _Column:
    value = written.value.value
    quoted = len(value) > 2 and value[0] == value[-1] == "`"
    name = syntax.Identifier(written.value.span, value[1:-1] if quoted else value, quoted=quoted)
    found = next((each for each in table.columns if matches(name, each.name.name)), None)
    if found is None:
        raise refusal(
            "E203",
            f'column "{name.name}" does not exist',
            written.value.span,
            note=f"the table has {names_text([each.name.name for each in table.columns])}",
        )
    return found


def _is_time(column: _Column, format_: syntax.TableOption | None) -> bool:
    """Return whether a column is event time as it is; one with a format is a text.

    Raises:
        Refusal: E213, for a format of a column that is no text.
    """
    if format_ is not None and _type_name(column) not in _TEXTS:
        raise refusal(
            "E213",
            f"option '{format_.key.value}' of a column that is not a STRING",
            format_.key.span,
            secondary=(Label(column.span, "event time is this column"),),
            help="remove the option: a BIGINT is the milliseconds since 1970, and a TIMESTAMP has no format",
        )
    return _type_name(column).startswith(_TIMES)


def _type_name(column: _Column) -> str:
    return "" if isinstance(column, syntax.ComputedColumn) else column.type.name


def _computed(
    column: _Column, written: syntax.TableOption, format_: syntax.TableOption | None
) -> syntax.Expression:
    """Return event time as ksqlDB has it: of milliseconds since 1970, or of a text in a format.

    Raises:
        Refusal: E214, for other columns, and a text without a format.
    """
    span = written.value.span
    of_column = syntax.ColumnReference(span, (column.name,))
    type_ = _type_name(column)
    if type_ == "BIGINT":
        return _call("TIMESTAMP_MILLIS", (of_column,), span)
    if type_ in _TEXTS and format_ is not None:
        return _call("TO_TIMESTAMP", (of_column, format_.value), span)
    raise refusal(
        "E214",
        f"column \"{column.name.name}\" of option 'timestamp' is not a TIMESTAMP",
        span,
        note="a BIGINT is the milliseconds since 1970, and a STRING is read by its timestamp_format",
        help="add an option with its format: timestamp_format = 'yyyy-MM-dd HH:mm:ss'"
        if type_ in _TEXTS
        else "remove the option, and declare event time as a column of the table:"
        f" at AS CAST({column.name.name} AS TIMESTAMP), WATERMARK FOR at AS at - INTERVAL '1' DAY",
    )


def _call(name: str, arguments: tuple[syntax.Expression, ...], span: Span) -> syntax.FunctionCall:
    called = syntax.QualifiedName(span, (syntax.Identifier(span, name),))
    return syntax.FunctionCall(span, called, arguments)


def _without_column(format_: syntax.TableOption) -> Refusal:
    return refusal(
        "E213",
        f"option '{format_.key.value}' without option 'timestamp'",
        format_.key.span,
        help="remove it, or name the column of event time: timestamp = 'at'",
    )
