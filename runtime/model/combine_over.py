"""Running aggregates: each row with the aggregates of its partition up to it, or up to the preceding row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.expression import AggregateFunction
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.logical import FrameEnd
from fsql.runtime.model.accumulator import Accumulators, arguments
from fsql.runtime.model.combine_frames import combine_frames
from fsql.runtime.model.item import Failure, Punctuation, Row, State
from fsql.runtime.model.value_order import row_order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.expression import AggregateCall
    from fsql.compiler.graph import CombineOver
    from fsql.runtime.batch import Root
    from fsql.runtime.model.combine_frames import Placed


def combine_over(
    function: CombineOver,
    before: Accumulators | tuple[Placed, ...] | None,
    row: Row | Punctuation,
    root: Root,
) -> State:
    """Return the state after `row`."""
    if not all(call.is_running for call in function.calls):
        assert not isinstance(before, Accumulators)
        return combine_frames(function, before, row, root)
    assert isinstance(row, Row)
    calls = [call.aggregate for call in function.calls]
    if before is None:
        before = Accumulators.of(calls)
    assert isinstance(before, Accumulators)
    # Frames follow the total order including the columns of rows, so only equal rows share a place.
    place = (root, row.path, row_order(row.values))
    if any(call.function is AggregateFunction.PROGRAM for call in calls):
        return _combine_programs(calls, before, row, place)
    after = before.add(arguments(calls, row.values), row.weight, place)
    frames = {FrameEnd.ONE_PRECEDING: before, FrameEnd.CURRENT_ROW: after}
    caused: Row | Failure
    try:
        added = tuple(
            frames[call.frame_end].each[index].result() for index, call in enumerate(function.calls)
        )
        # The matches that equal rows decide are in one array.
        of_match = any(call.pattern is not None for call in calls)
        caused = Row(row.values + added, row.path, 1 if of_match else row.weight)
    except RowFailure as failure:
        caused = Failure(failure.code, str(failure), row.weight)
    return State(row, (caused,), after)


def _combine_programs(
    calls: Sequence[AggregateCall], before: Accumulators, row: Row, place: object
) -> State:
    """Return the state after an event; equal events are processed one by one, and each causes rows."""
    caused = []
    for _ in range(row.weight):
        before = before.add(arguments(calls, row.values), 1, place)
        caused.append(Row(row.values + tuple(each.result() for each in before.each), row.path, 1))
    return State(row, tuple(caused), before)
