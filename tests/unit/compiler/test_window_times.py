"""The times whose windows lie in the range of TIMESTAMP, against looking at the windows one by one."""

from __future__ import annotations

from random import Random

import pytest

from fsql.compiler import logical
from fsql.compiler.rules.pushdown_filter.windows import times_with_windows
from fsql.compiler.sqltypes import TIMESTAMP, TIMESTAMP_MAX, TIMESTAMP_MIN
from fsql.tests.unit.model import plans as p

ROWS = p.scan(p.table("t", {"at": TIMESTAMP}, event_time="at"))


def starts(windows: logical.AssignWindows, time: int) -> list[int]:
    """Return the starts of the windows that hold `time`."""
    near = time - windows.offset_us
    return [
        windows.offset_us + k * windows.slide_us
        for k in range((near - windows.size_us) // windows.slide_us, near // windows.slide_us + 2)
        if k * windows.slide_us <= near < k * windows.slide_us + windows.size_us
    ]


@pytest.mark.parametrize("seed", range(50))
def test_exactly_the_rows_outside_have_a_window_outside(seed: int) -> None:
    random = Random(seed)
    size, slide, offset = (random.randint(1, 20) for _ in range(3))
    windows = logical.AssignWindows(ROWS, 0, size, slide, random.choice((0, offset)))
    low, high = times_with_windows(windows)
    for edge in (TIMESTAMP_MIN, TIMESTAMP_MAX):
        for time in range(edge - 60, edge + 61):
            found = starts(windows, time)
            outside = any(s < TIMESTAMP_MIN or s + size > TIMESTAMP_MAX for s in found)
            if found and TIMESTAMP_MIN <= time <= TIMESTAMP_MAX:
                assert outside == (not low <= time <= high)
