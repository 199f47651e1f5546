"""Fronts: the root positions of a table's rows, and what is made of malformed ones.

A position depends on the split's rows up to it and on nothing else: not on other splits, not on when the
row was read.  Within a split positions ascend, so a front can promise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.evaluate import evaluate
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.logical import TimeKind
from fsql.runtime.batch import TIME_START, Root, origin
from fsql.runtime.model.item import Failure, Row
from fsql.runtime.ports import Reject

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fsql.compiler.logical import Table
    from fsql.runtime.model.item import Values

NO_EVENT_TIME: Final = 521


def arrivals(
    table: Table, split: int, rows: Sequence[Values | Reject]
) -> Iterator[tuple[Root, Row | Reject | Failure]]:
    """Yield the rows of a split with their roots; malformed ones as the table's `on_error` says."""
    stop = dict(table.options).get("on_error", "stop") == "stop"
    time = TIME_START
    for number, row in enumerate(rows):
        read = row if isinstance(row, Reject) else _read(table, row, number)
        if isinstance(read, int):
            assert not isinstance(row, Reject)
            time = max(time, read)
            payload: Row | Reject | Failure = Row(row)
        else:
            payload = Failure(read.code, read.reason) if stop else read
        yield Root(time, origin(table.ordinal, split, number)), payload


def _read(table: Table, row: Values, number: int) -> int | Reject:
    """Return the time of a row by itself, or why it has none."""
    match table.time:
        case TimeKind.START:
            return TIME_START
        case TimeKind.OFFSET:
            return number
        case TimeKind.EVENT:
            assert table.event_time is not None
    try:
        time = evaluate(table.event_time, row)
    except RowFailure as failure:
        return _without_time(number, str(failure))
    if time is None:
        return _without_time(number, "the event time is NULL")
    assert isinstance(time, int)
    return time


def _without_time(number: int, reason: str) -> Reject:
    return Reject(number, line=-1, byte=-1, code=NO_EVENT_TIME, field="", reason=reason, excerpt="")
