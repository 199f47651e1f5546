"""Arrivals: the root positions of the rows of a table, and the handling of malformed rows.

A position only depends on the rows of the split up to it, not on other splits or on the time of reading.
Within a split positions ascend, so a front can promise.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from fsql.compiler.durations import duration_us
from fsql.compiler.functions.casts import cast_value
from fsql.compiler.functions.evaluate import evaluate
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.functions.timestamps import format_timestamp
from fsql.compiler.logical import OLD_ROW, TimeKind
from fsql.compiler.sqltypes import EVENT_TIME_MAX, EVENT_TIME_MIN
from fsql.runtime.batch import TIME_START, Root, origin
from fsql.runtime.model.item import Failure, Row
from fsql.runtime.ports import FOLLOWING_ROWS, DeadLetter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fsql.compiler.expression import Expression
    from fsql.compiler.logical import Table
    from fsql.runtime.model.item import Values

NO_EVENT_TIME: Final = 521
EVENT_TIME_OUTSIDE: Final = 504
EVENT_TIME_AHEAD: Final = 522
AHEAD: Final = "the event time is ahead of the rows before and after it"


def arrivals(
    table: Table, split: int, rows: Sequence[Values | DeadLetter]
) -> Iterator[tuple[Root, Row | DeadLetter | Failure]]:
    """Yield the rows of a split with their roots; the option `on_error` determines malformed rows.

    If the time is the arrival of rows, it follows the values of each row. In this case, and for event time, a
    malformed row gets the time of the preceding row.
    """
    stop = table.stops_on_error
    ahead_us = duration_us(dict(table.options).get("max_ahead", ""))
    time = TIME_START
    nothing: Values = (None,) * len(table.replaced_columns)
    replaced = nothing
    for number, row in enumerate(rows):
        payload: Row | DeadLetter | Failure
        payload = row if isinstance(row, DeadLetter) else Row(_cut(table, row))
        if table.time is TimeKind.ARRIVAL and isinstance(payload, Row):
            *values, arrival = payload.values
            assert isinstance(arrival, int)
            time, payload = max(time, arrival), Row(tuple(values))
        if table.time is TimeKind.OFFSET:
            time = number
        elif table.event_time is not None and isinstance(payload, Row):
            at = _event_time(table.event_time, payload, number)
            if isinstance(at, DeadLetter):
                payload = at
            elif (
                ahead_us is not None
                and at > time + ahead_us
                and _is_ahead(table, rows, number, at - ahead_us)
            ):
                payload = _dead_letter(number, EVENT_TIME_AHEAD, AHEAD)
            else:
                time = max(time, at)
        if table.replaced and isinstance(payload, Row):
            kind, *values = payload.values
            payload = Row((*payload.values, *replaced))
            replaced = tuple(values) if kind == OLD_ROW else nothing
        if table.row_time and isinstance(payload, Row):
            payload = Row((*payload.values, time))
        if stop and isinstance(payload, DeadLetter):
            payload = Failure(payload.code, payload.reason)
        yield Root(time, origin(table.ordinal, split, number)), payload


def _is_ahead(
    table: Table, rows: Sequence[Values | DeadLetter], number: int, limit_us: int
) -> bool:
    """Return whether at least half of the rows that follow one have event times before the limit."""
    assert table.event_time is not None
    times = []
    decoded = (row for row in rows[number + 1 :] if not isinstance(row, DeadLetter))
    for row in islice(decoded, FOLLOWING_ROWS):
        time = _event_time(table.event_time, Row(_cut(table, row)), number)
        if not isinstance(time, DeadLetter):
            times.append(time)
    earlier = sum(time < limit_us for time in times)
    return earlier > 0 and 2 * earlier >= len(times)


def _cut(table: Table, row: Values) -> Values:
    """Return a row whose times are cut to the digits of fraction that its columns declare."""
    types = [column.type for column in table.columns]
    cut = (cast_value(value, t.without_fraction, t) for value, t in zip(row, types, strict=False))
    return (*cut, *row[len(types) :])


def _event_time(expression: Expression, row: Row, number: int) -> int | DeadLetter:
    """Return the event time of a row; a row without one is malformed."""
    try:
        time = evaluate(expression, row.values)
        code, reason = NO_EVENT_TIME, "the event time is NULL"
    except RowFailure as failure:
        time, code, reason = None, failure.code, str(failure)
    if time is None:
        return _dead_letter(number, code, reason)
    assert isinstance(time, int)
    if not EVENT_TIME_MIN <= time <= EVENT_TIME_MAX:
        reason = f"the event time {format_timestamp(time)} is outside of the years 2 to 9998"
        return _dead_letter(number, EVENT_TIME_OUTSIDE, reason)
    return time


def _dead_letter(number: int, code: int, reason: str) -> DeadLetter:
    return DeadLetter(number, -1, -1, code, field="", reason=reason, excerpt="")
