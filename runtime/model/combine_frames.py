"""Running aggregates, some of which have a bounded frame or a frame by time: recomputed for each row.

A frame by time includes the peers of its row, which may follow it at the same root. Such rows are emitted
with the punctuation that follows their root.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fsql.compiler.functions.evaluate import evaluate
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.logical import FrameEnd
from fsql.runtime.model.accumulator import Accumulators, arguments
from fsql.runtime.model.item import Failure, Punctuation, Row, State
from fsql.runtime.model.value_order import row_order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.expression import Value
    from fsql.compiler.graph import CombineOver
    from fsql.compiler.logical import OverCall
    from fsql.runtime.batch import Root
    from fsql.runtime.model.item import Values


class Placed(NamedTuple):
    """A row of the partition, with its position in the total order."""

    row: Row
    root: Root


def combine_frames(
    function: CombineOver, before: tuple[Placed, ...] | None, item: Row | Punctuation, root: Root
) -> State:
    """Return the state after `item`."""
    rows = before or ()
    made: Sequence[int] = ()
    if isinstance(item, Punctuation):
        made = [index for index, row in enumerate(rows) if row.root == root]
    else:
        rows = (*rows, Placed(item, root))
        made = () if function.by_root else (len(rows) - 1,)
    return State(item, tuple(_result(function, rows, index) for index in made), rows)


def _result(function: CombineOver, rows: Sequence[Placed], index: int) -> Row | Failure:
    """Return the row at `index` with its aggregates."""
    row = rows[index].row
    try:
        added = tuple(_value(call, rows, index) for call in function.calls)
    except RowFailure as failure:
        return Failure(failure.code, str(failure), row.weight)
    return Row(row.values + added, row.path, row.weight)


def _value(call: OverCall, rows: Sequence[Placed], index: int) -> Value:
    calls = [call.aggregate]
    state = Accumulators.of(calls)
    for row, root in _frame(call, rows, index):
        position = (root, row.path, row_order(row.values))
        state = state.add(arguments(calls, row.values), row.weight, position)
    return state.each[0].result()


def _frame(call: OverCall, rows: Sequence[Placed], index: int) -> Sequence[Placed]:
    if call.time is None:
        own = index - call.delay
        if own < 0:
            return ()
        end = own if call.frame_end is FrameEnd.ONE_PRECEDING else own + 1 - call.end_preceding
        return rows[0 if call.preceding is None else max(own - call.preceding, 0) : max(end, 0)]
    now = _time(call, rows[index].row.values)
    return [
        each
        for each in rows
        if (time := _time(call, each.row.values)) <= now - call.end_preceding
        and (call.preceding is None or time >= now - call.preceding)
    ]


def _time(call: OverCall, values: Values) -> int:
    assert call.time is not None
    time = evaluate(call.time, values)
    assert isinstance(time, int)
    return time
