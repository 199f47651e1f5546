"""The monitor of event times: which row is dated far ahead, however rows are cut into chunks."""

from __future__ import annotations

import numpy as np
import pytest

from fsql.runtime.dataflow.event_times import FAR_US, EventTimes, FarAhead, InSeconds

YEAR = FAR_US


@pytest.mark.parametrize("chunk", [1, 2, 7])
@pytest.mark.parametrize(
    ("years", "found"),
    [
        ([56, 129, 56.1, 56.2], FarAhead(3, 1, 129 * YEAR, round(56.1 * YEAR))),
        ([129, 56, 57], FarAhead(3, 0, 129 * YEAR, 56 * YEAR)),
        ([56, 56.5, 57, 57.9], None),  # it goes on
        ([56, 129, 129.1], None),  # all later rows are of that time
        ([56, 55.5, 55.1], None),  # disorder of less than a year
        ([56, 70, 90, 70.5, 71], FarAhead(3, 2, 90 * YEAR, round(70.5 * YEAR))),
    ],
)
def test_a_row_far_ahead(years: list[float], found: FarAhead | None, chunk: int) -> None:
    times = EventTimes(3)
    rows = np.arange(len(years))
    values = np.array([round(each * YEAR) for each in years], np.int64)
    for first in range(0, len(years), chunk):
        times.add(values[first : first + chunk], rows[first : first + chunk])
    assert times.far_ahead == found
    assert times.in_seconds is None


@pytest.mark.parametrize("chunk", [1, 2, 7])
def test_seconds_read_as_milliseconds_do_not_make_other_rows_far_ahead(chunk: int) -> None:
    times = EventTimes(3)
    seconds = 1_767_225_600
    values = [56 * YEAR, seconds * 1_000, 56 * YEAR + 1, seconds * 1_000 + 1, 129 * YEAR, 57 * YEAR]
    rows = np.arange(10, 16)
    for first in range(0, len(values), chunk):
        times.add(np.array(values[first : first + chunk], np.int64), rows[first : first + chunk])
    assert times.in_seconds == InSeconds(3, 11, seconds * 1_000)
    assert times.far_ahead == FarAhead(3, 14, 129 * YEAR, 57 * YEAR)
