"""Frames of running aggregates, by their definition: which rows of a partition are in that of a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.logical import FrameEnd
from fsql.tests.reference.scalar import evaluate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.expression import Value
    from fsql.compiler.logical import OverCall


def places_of_frame(
    call: OverCall, partition: Sequence[tuple[Value, ...]], place: int
) -> Sequence[int]:
    """Return which rows of a partition, in the total order, are in the frame of the one at `place`."""
    if call.time is None:
        row = place - call.delay
        last = row - (call.frame_end is FrameEnd.ONE_PRECEDING) - call.end_preceding
        return [
            other
            for other in range(place + 1)
            if row >= 0
            and other <= last
            and (call.preceding is None or row - other <= call.preceding)
        ]
    times = [evaluate(call.time, values) for values in partition]
    now = times[place]
    assert isinstance(now, int)
    ages = [now - time for time in times if isinstance(time, int)]
    return [
        other
        for other, age in enumerate(ages)
        if age >= call.end_preceding and (call.preceding is None or age <= call.preceding)
    ]
