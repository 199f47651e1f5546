"""CURRENT_WATERMARK(at): the watermark at a row, computed from the time of the row.

The watermark W at a row includes the row.  A row is late for windows that end at W or before, and behind the
watermark if its event time is before W.  The function returns the last value of the column's type before W.
So `at <= CURRENT_WATERMARK(at)` holds exactly for the rows behind it, and never for rows in order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.expressions.pseudo_columns import row_time_field
from fsql.compiler.binder.expressions.row_time import CURRENT_WATERMARK, row_time
from fsql.compiler.binder.expressions.time_zone import utc_to_instant
from fsql.compiler.binder.report import refusal
from fsql.compiler.expression import ColumnRef, Expression, Literal
from fsql.compiler.functions.calls import call, make_cast
from fsql.compiler.functions.truncation import FIXED_US
from fsql.compiler.sqltypes import FRACTION_DIGITS_MAX, INTERVAL, STRING

if TYPE_CHECKING:
    from fsql.compiler.binder.expressions.clause import ClauseBinder
    from fsql.compiler.binder.scope import RowTime


_UNITS: Final = ("millisecond", "second", "minute", "hour", "day")
"""The units that begin at the multiples of their length since 1970."""

_FORM: Final = "CURRENT_WATERMARK(at), with the event-time column"


def bind_current_watermark(binder: ClauseBinder, written: syntax.FunctionCall) -> Expression:
    """Bind a call of the function.

    Raises:
        Refusal: E304, if the argument is not event time; E327, where rows do not come from one table; E401.
    """
    if len(written.arguments) != 1:
        raise refusal(
            "E401",
            f"function {CURRENT_WATERMARK} takes 1 argument, not {len(written.arguments)}",
            written.span,
            help=f"write {_FORM}",
        )
    time = binder.scope.row_time
    if time is None or not time.of_table:
        raise refusal(
            "E327",
            f"{CURRENT_WATERMARK} in {binder.clause} of rows that do not come from one table"
            if time is None
            else f"{CURRENT_WATERMARK} in {binder.clause}, where rows have no watermark",
            written.span,
            note="it is the watermark at a row where a query reads a table",
            help="compute it in a subquery: FROM (SELECT *, CURRENT_WATERMARK(at) AS watermark FROM t)",
        )
    at = _event_time(binder, written.arguments[0], time)
    before = _last_before_watermark(time, 10 ** (FRACTION_DIGITS_MAX - _digits(at)))
    instant = utc_to_instant(before, binder.zone) if at.type.zone else before
    return make_cast(instant, at.type)


def _event_time(
    binder: ClauseBinder, argument: syntax.Expression | syntax.Star, time: RowTime
) -> Expression:
    """Return the event-time column that the argument names.

    Raises:
        Refusal: E2xx to E4xx; E304 if it is another value.
    """
    if not isinstance(argument, syntax.Star):
        field = None
        if isinstance(argument, syntax.ColumnReference):
            named = binder.scope.find(argument.parts[-1])
            field = None if named else row_time_field(binder.scope, argument)
        at = binder.bind(argument) if field is None else field.expression
        if isinstance(at, ColumnRef) and at.index in time.event_times:
            return at
    names = [
        each.name
        for each in binder.scope.fields
        if not each.hidden and each.index in time.event_times
    ]
    raise refusal(
        "E304",
        f"{CURRENT_WATERMARK} of a value that is not the event time of its table",
        argument.span,
        help=f"write {CURRENT_WATERMARK}({names[0]})"
        if names
        else "declare event time in CREATE TABLE: WATERMARK FOR at AS at - INTERVAL '5' SECOND",
    )


def _digits(at: Expression) -> int:
    return FRACTION_DIGITS_MAX if at.type.fraction is None else at.type.fraction


def _last_before_watermark(time: RowTime, unit_us: int) -> Expression:
    """Return the last multiple of a unit before the watermark, as a TIMESTAMP in UTC."""
    reached: Expression = row_time(time.index)
    if time.delay_us:
        reached = call("subtract", reached, _interval(time.delay_us))
    watermark = _round_down(reached, time.grain_us)
    if time.grain_us % unit_us == 0:
        return call("subtract", watermark, _interval(unit_us))
    return _round_down(call("subtract", watermark, _interval(1)), unit_us)


def _round_down(time: Expression, to_us: int) -> Expression:
    """Return the last multiple of a duration that is not after a time."""
    unit = next((each for each in _UNITS if FIXED_US[each] == to_us), None)
    if unit is not None:  # DATE_TRUNC is computed for all rows at once
        return call("date_trunc", Literal(STRING, nullable=False, value=unit), time)
    return call("date_bin", _interval(to_us), time)


def _interval(us: int) -> Literal:
    return Literal(INTERVAL, nullable=False, value=us)
