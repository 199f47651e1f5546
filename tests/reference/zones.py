"""Time zones, by Python's zoneinfo and the package tzdata.

Windows of local times are found by trying every quarter of an hour.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from fsql.tests.reference.failure import TIMESTAMP_OUT_OF_RANGE, FailureError

if TYPE_CHECKING:
    from fsql.compiler.logical import AssignWindows

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
QUARTER = 900_000_000
"""Clocks are put back and forward at whole quarters of an hour in UTC, in the years of the tests."""


@lru_cache
def zone(name: str) -> tzinfo:
    """Return the zone of a name, which may be `+02:00`."""
    if name[0] in "+-":
        hours, minutes = map(int, name[1:].split(":"))
        offset = timedelta(hours=hours, minutes=minutes)
        return timezone(-offset if name[0] == "-" else offset)
    with files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file)


def local(instant: int, name: str) -> int:
    """Return the local time at an instant.

    Raises:
        FailureError: it is out of range.
    """
    try:
        moment = (EPOCH + instant * MICROSECOND).astimezone(zone(name))
    except OverflowError:
        raise FailureError(TIMESTAMP_OUT_OF_RANGE) from None
    return (moment.replace(tzinfo=UTC) - EPOCH) // MICROSECOND


def instant(local_time: int, name: str) -> int:
    """Return the instant of a local time, the earlier one of two.

    Raises:
        FailureError: it is out of range.
    """
    moment = (EPOCH + local_time * MICROSECOND).replace(tzinfo=zone(name), fold=0)
    try:
        return (moment.astimezone(UTC) - EPOCH) // MICROSECOND
    except OverflowError:
        raise FailureError(TIMESTAMP_OUT_OF_RANGE) from None


def with_offset(instant: int, name: str, declared: int | None = None) -> str:
    """Return the digits of the local time and its offset: `2024-03-01T12:00:00+01:00`, Z for none."""
    try:
        moment = (EPOCH + instant * MICROSECOND).astimezone(zone(name))
    except OverflowError:
        moment = EPOCH + instant * MICROSECOND
    offset = moment.utcoffset()
    assert offset is not None
    if offset % timedelta(minutes=1):
        moment = EPOCH + instant * MICROSECOND
    fraction = moment.microsecond
    unit = (
        "seconds" if fraction == 0 else "milliseconds" if fraction % 1000 == 0 else "microseconds"
    )
    if declared is not None:
        whole = moment.isoformat(timespec="microseconds")
        point = len("2024-03-01T12:00:00")
        fraction_text = whole[point : point + 1 + declared] if declared else ""
        return (whole[:point] + fraction_text + whole[point + 7 :]).replace("+00:00", "Z")
    return moment.isoformat(timespec=unit).replace("+00:00", "Z")


def windows(plan: AssignWindows, time: int) -> list[tuple[int, int, int]]:
    """Return the windows that a time is in."""
    since = time + shift(time, plan.zone) - plan.offset_us
    first, last = (since - plan.size_us) // plan.slide_us + 1, since // plan.slide_us
    starts = (plan.offset_us + k * plan.slide_us for k in range(first, last + 1))
    return [window(start, plan.size_us, plan.zone) for start in starts]


def window(start: int, size: int, name: str) -> tuple[int, int, int]:
    """Return when a clock first shows `start` or later, and when it has last shown a time before the end."""
    if name == "UTC":
        return start, start + size, start + size - 1
    begin, end = None, None
    for quarter in range(start // QUARTER - 110, (start + size) // QUARTER + 110):
        least, beyond = quarter * QUARTER, (quarter + 1) * QUARTER
        ahead = shift(least, name)
        if begin is None and beyond + ahead > start:
            begin = max(least, start - ahead)
        if least + ahead < start + size:
            end = min(beyond, start + size - ahead)
    assert begin is not None
    assert end is not None
    return begin, end, end - 1


def shift(instant: int, name: str) -> int:
    """Return how far the zone is ahead of UTC."""
    return 0 if name == "UTC" else local(instant, name) - instant


@lru_cache
def spread(name: str) -> int:
    """Return by how much the offsets of a zone differ, from before there were zones to the year 2200."""
    days = range(-365 * 200, 365 * 230, 7)
    offsets = {shift(day * 86_400_000_000, name) for day in days}
    return max(offsets) - min(offsets)
