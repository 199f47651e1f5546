"""PROCTIME(), NOW() and similar functions: the time of a row in the total order.

That time is the time of the row's root position: the logged arrival of the row, or the greatest event time of
its split so far.  Fronts add it to the rows of a table as a column.  A call refers to that column, so it is
allowed where the rows are read directly from one table: in a computed column, or in a SELECT from that table
alone.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.expressions.time_zone import utc_to_instant
from fsql.compiler.binder.report import Refusal, refusal
from fsql.compiler.expression import Cast, ColumnRef, Expression
from fsql.compiler.functions.calls import call, make_cast
from fsql.compiler.logical import Project, Scan
from fsql.compiler.sqltypes import (
    DATE,
    FRACTION_DIGITS_MAX,
    TIME,
    TIMESTAMP,
    SqlType,
    with_fraction,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fsql.compiler.binder.expressions.clause import ClauseBinder
    from fsql.compiler.logical import Plan


TYPES: Final[Mapping[str, SqlType]] = {
    "PROCTIME": TIMESTAMP,
    "NOW": TIMESTAMP,
    "CURRENT_TIMESTAMP": TIMESTAMP,
    "CURRENT_ROW_TIMESTAMP": TIMESTAMP,
    "LOCALTIMESTAMP": TIMESTAMP,
    "CURRENT_DATE": DATE,
    "CURRENT_TIME": TIME,
    "LOCALTIME": TIME,
}
"""The functions that return the time of a row, with the types of their values."""

CURRENT_WATERMARK: Final = "CURRENT_WATERMARK"
"""The function that returns the watermark, which is computed from the time of a row."""

_SECONDS: Final = "UNIX_TIMESTAMP"
"""The function that returns the time of a row in seconds since 1970 if it has no arguments."""


_INSTANTS: Final = frozenset({"NOW", "CURRENT_TIMESTAMP", "CURRENT_ROW_TIMESTAMP"})
"""The functions whose type is TIMESTAMP_LTZ in a script with a time zone; the others return local times."""


def row_time(index: int) -> ColumnRef:
    """Return the time of a row as the column at an index."""
    return ColumnRef(TIMESTAMP, nullable=False, index=index)


def is_row_time(plan: Plan, column: int) -> bool:
    """Return whether a column of a table that is read has the time of its rows."""
    if not isinstance(plan, Project) or not isinstance(plan.input, Scan):
        return False
    return plan.expressions[column] == row_time(len(plan.input.table.columns))


def calls_row_time(part: object) -> bool:
    """Return whether a part of the text, without its subqueries, calls one of the functions."""
    return _has_call(part, is_row_time_call)


def _has_call(part: object, is_wanted: Callable[[syntax.FunctionCall], bool]) -> bool:
    """Return whether a part of the text, without its subqueries, has such a call."""
    waiting: list[object] = [part]
    while waiting:
        value = waiting.pop()
        if isinstance(value, tuple):
            waiting += value
        elif isinstance(value, syntax.FunctionCall) and is_wanted(value):
            return True
        elif isinstance(value, syntax.Syntax) and not isinstance(value, syntax.Query):
            waiting += syntax.parts(value)
    return False


def select_calls_row_time(select: syntax.Select) -> bool:
    """Return whether a SELECT reads the time of rows, except in FROM and in subqueries."""
    parts = [getattr(select, field.name) for field in fields(select) if field.name != "relations"]
    return any(_has_call(part, reads_row_time) for part in parts)


def reads_row_time(written: syntax.FunctionCall) -> bool:
    """Return whether an expression is a call of a function that is computed from the time of a row."""
    return is_row_time_call(written) or _name(written) == CURRENT_WATERMARK


def is_row_time_call(written: syntax.FunctionCall) -> bool:
    """Return whether an expression is a call of one of the functions."""
    name = _name(written)
    return name in TYPES or (name == _SECONDS and not written.arguments)


def bind_row_time(binder: ClauseBinder, written: syntax.FunctionCall) -> Expression:
    """Bind a call of one of the functions.

    Raises:
        Refusal: E327, where rows have no such time; E401 for arguments.
    """
    name = _name(written)
    digits = _digits(name, written)
    if binder.scope.row_time is None:
        raise _no_row_time(binder, written)
    time = _time(name, row_time(binder.scope.row_time.index), binder.zone)
    return time if digits is None else make_cast(time, with_fraction(time.type, digits))


def _time(name: str, time: Expression, zone: str) -> Expression:
    """Return the value of a function, computed from the time of a row."""
    if name == _SECONDS:
        return call("unix_timestamp", time)
    if zone != "UTC" and name != "PROCTIME":
        instant = utc_to_instant(time, zone)
        return instant if name in _INSTANTS else Cast(TYPES[name], nullable=False, argument=instant)
    type_ = TYPES[name]
    return time if type_ == TIMESTAMP else Cast(type_, nullable=False, argument=time)


def _digits(name: str, written: syntax.FunctionCall) -> int | None:
    """Return the requested digits of fraction, as in CURRENT_TIMESTAMP(3).

    Raises:
        Refusal: E401.
    """
    given = written.arguments
    if not given:
        return None
    if name not in TYPES or name in {"PROCTIME", "CURRENT_DATE"}:
        raise refusal("E401", f"{name} takes no arguments", written.span, help=f"write {name}()")
    text = given[0].text if isinstance(given[0], syntax.NumberLiteral) else ""
    if len(given) > 1 or text not in {*"0123456"}:
        raise refusal(
            "E401",
            f"{name} takes a number of digits from 0 to {FRACTION_DIGITS_MAX}",
            written.span,
            help=f"write {name}(3)",
        )
    return int(text)


def _no_row_time(binder: ClauseBinder, written: syntax.FunctionCall) -> Refusal:
    name = _name(written)
    return refusal(
        "E327",
        f"{name} in {binder.clause} of rows that do not come from one table",
        written.span,
        note="it is the time of a row where a table is read",
        help="declare a column in CREATE TABLE: proc AS PROCTIME()",
    )


def _name(written: syntax.FunctionCall) -> str:
    return written.name.parts[-1].name.upper()
