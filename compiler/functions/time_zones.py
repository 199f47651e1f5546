"""Time zones: their names, and how far each is ahead of UTC.

The zones are those of the package `tzdata`, which is pinned, and never those of the machine: so a zone means
the same wherever a job runs (docs/decisions/0050).  In addition to its names, `UTC`, `Z`, `+02:00` and
`GMT-08:00` are zones; the sign is that of ISO 8601, ahead of UTC.

A zone has **transitions**, instants at which its offset changes.  A clock in the zone that is put back shows
some times twice: such a local time means the earlier instant.  One that is put forward skips some: such a
local time means the instant that it would be without the transition.  This is what `java.time` does.
"""

from __future__ import annotations

import pkgutil
import re
import struct
from bisect import bisect_left, bisect_right
from calendar import monthrange
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from itertools import accumulate
from operator import add
from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.timestamps import format_timestamp, in_range
from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import TIMESTAMP_MAX, TIMESTAMP_MIN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_OFFSET: Final = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?([0-5]\d))?", re.ASCII)
_FIXED: Final = re.compile(r"([+-])(\d\d):(\d\d)", re.ASCII)
_RULE: Final = re.compile(
    r"(?:<[^>]+>|[A-Za-z]+)([-+0-9:]+)(?:<[^>]+>|[A-Za-z]+)([-+0-9:]*)"
    + r",M(\d+)\.(\d)\.(\d)(?:/([-+0-9:]+))?" * 2
)
"""The end of a TZif file where the clock changes twice a year: `CET-1CEST,M3.5.0,M10.5.0/3`."""
_UTC: Final = frozenset({"UTC", "Z", "GMT", "UT", "ETC/UTC", "ETC/GMT", "ZULU", "ETC/ZULU", "GMT0"})
_HOURS_MAX: Final = 18
_SECOND_US: Final = 1_000_000
_MINUTE_US: Final = 60 * _SECOND_US
_CYCLE_YEARS: Final = 400
_CYCLE_S: Final = 146_097 * 86_400
"""400 years: after them the calendar repeats, and with it the rules of all zones."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Zone:
    """The offsets of a zone in microseconds: `offsets[i]` holds before `transitions[i]`, the last forever.

    `local_transitions` are the first local times after them: `offsets[i]` holds for local times before.
    """

    transitions: tuple[int, ...]
    offsets: tuple[int, ...]
    local_transitions: tuple[int, ...]

    @property
    def spread(self) -> int:
        """Return by how much the offsets differ at most."""
        return max(self.offsets) - min(self.offsets)


def zone_name(written: str) -> str | None:
    """Return the name of the zone that a text names, without regard to case; None if it names no zone.

    >>> zone_name("europe/oslo"), zone_name("GMT+2"), zone_name("Z"), zone_name("Mars/Base")
    ('Europe/Oslo', '+02:00', 'UTC', None)
    """
    text = written.strip()
    if text.upper() in _UTC:
        return "UTC"
    match = _OFFSET.fullmatch(text.upper())
    if match is None:
        return zone_names().get(text.lower())
    hours, minutes = int(match[2]), int(match[3] or 0)
    if (hours, minutes) > (_HOURS_MAX, 0):
        return None
    return f"{match[1]}{hours:02}:{minutes:02}" if hours or minutes else "UTC"


@lru_cache(maxsize=1)
def zone_names() -> Mapping[str, str]:
    """Return the names of all zones in lower case, with their spelling."""
    listed = pkgutil.get_data("tzdata", "zones")
    assert listed is not None
    return {name.lower(): name for name in listed.decode().split()}


@lru_cache(maxsize=64)
def zone_of(name: str) -> Zone:
    """Return the zone that has a name which `zone_name` gives."""
    fixed = _FIXED.fullmatch(name)
    if name == "UTC" or fixed is not None:
        offset_us = 0 if fixed is None else (int(fixed[2]) * 60 + int(fixed[3])) * _MINUTE_US
        return Zone((), (-offset_us if fixed is not None and fixed[1] == "-" else offset_us,), ())
    data = pkgutil.get_data("tzdata", f"zoneinfo/{name}")
    assert data is not None, name
    first, changes = _read_transitions(data)
    changes += _by_rule(data, changes[-1][0] if changes else 0)
    transitions, offsets = [], [first]
    for at_s, offset_s in changes:
        if offset_s != offsets[-1] and TIMESTAMP_MIN < at_s * _SECOND_US < TIMESTAMP_MAX:
            transitions.append(at_s)
            offsets.append(offset_s)
    local = (at + max(offsets[i], offsets[i + 1]) for i, at in enumerate(transitions))
    seconds = (transitions, offsets, local)
    return Zone(*(tuple(each * _SECOND_US for each in part) for part in seconds))


def local_of(instant_us: int, zone: str) -> int:
    """Return what a clock in the zone shows at an instant.

    >>> local_of(0, "Europe/Oslo") // 3_600_000_000
    1

    Raises:
        TimestampRangeFailure: E504, outside of the years 1 to 9999.
    """
    return in_range(instant_us + offset_of(instant_us, zone))


def instant_of(local_us: int, zone: str) -> int:
    """Return the instant at which a clock in the zone shows a local time.

    Raises:
        TimestampRangeFailure: E504, outside of the years 1 to 9999.
    """
    known = zone_of(zone)
    return in_range(local_us - known.offsets[bisect_right(known.local_transitions, local_us)])


def offset_of(instant_us: int, zone: str) -> int:
    """Return how far the zone is ahead of UTC at an instant, in microseconds."""
    known = zone_of(zone)
    return known.offsets[bisect_right(known.transitions, instant_us)]


@lru_cache(maxsize=64)
def shown_up_to(name: str) -> tuple[int, ...]:
    """Return, for each transition of a zone, up to which local time its clocks have come before it."""
    zone = zone_of(name)
    ends = map(add, zone.transitions, zone.offsets)
    return tuple(accumulate(ends, max))


@lru_cache(maxsize=64)
def shown_from(name: str) -> tuple[int, ...]:
    """Return, for each transition of a zone, from which local time on its clocks show what comes after it."""
    zone = zone_of(name)
    begins = [*map(add, zone.transitions, zone.offsets[1:])]
    return tuple(reversed([*accumulate(reversed(begins), min)]))


def begin_of(local_us: int, zone: str) -> int:
    """Return the first instant at which a clock shows a local time, or a later one if it skips that."""
    known = zone_of(zone)
    index = bisect_right(shown_up_to(zone), local_us)
    instant = local_us - known.offsets[index]
    return instant if index == 0 else max(instant, known.transitions[index - 1])


def end_of(local_us: int, zone: str) -> int:
    """Return the first instant from which on a clock shows no time before a local time."""
    known = zone_of(zone)
    index = bisect_left(shown_from(zone), local_us)
    instant = local_us - known.offsets[index]
    return min([instant, *known.transitions[index : index + 1]])


def window_bounds(start_us: int, size_us: int, zone: str) -> tuple[int, int, int]:
    """Return start and end of a window of local times as instants, and the microsecond before the end.

    >>> hour = 3_600_000_000
    >>> [bound // hour for bound in window_bounds(0, 2 * hour, "+01:00")]
    [-1, 1, 0]

    Raises:
        TimestampRangeFailure: E504, outside of the years 1 to 9999.
    """
    begin, end = in_range(begin_of(start_us, zone)), in_range(end_of(start_us + size_us, zone))
    return begin, end, end - 1


def format_instant(instant_us: int, zone: str, digits: int | None = None) -> str:
    """Return the instant as ISO 8601, in the local time of the zone and with its offset.

    In UTC where the offset is not a number of minutes, as before there were zones, or leads out of the years
    1 to 9999.

    >>> format_instant(500_000, "Europe/Oslo")
    '1970-01-01T01:00:00.500+01:00'
    """
    offset = offset_of(instant_us, zone)
    local = instant_us + offset
    if offset == 0 or offset % _MINUTE_US or not TIMESTAMP_MIN <= local <= TIMESTAMP_MAX:
        return format_timestamp(instant_us, digits)
    return format_timestamp(local, digits).removesuffix("Z") + offset_text(offset)


def offset_text(offset_us: int) -> str:
    """Return an offset of whole minutes as `+01:00`."""
    hours, minutes = divmod(abs(offset_us) // _MINUTE_US, 60)
    return f"{'-' if offset_us < 0 else '+'}{hours:02}:{minutes:02}"


def _read_transitions(data: bytes) -> tuple[int, list[tuple[int, int]]]:
    """Return the first offset in a TZif file (RFC 8536), and its transitions with the offsets after them.

    All in seconds, from the second part of the file, whose numbers have 64 bits.
    """
    header = struct.Struct(">4sc15x6I")
    _, version, utc, standard, leaps, times, types, characters = header.unpack_from(data)
    assert version >= b"2"
    second = header.size + times * 5 + types * 6 + characters + leaps * 8 + standard + utc
    times, types = header.unpack_from(data, second)[5:7]
    at = second + header.size
    instants = struct.unpack_from(f">{times}q", data, at)
    chosen = data[at + times * 8 : at + times * 9]
    kinds = [struct.unpack_from(">i", data, at + times * 9 + kind * 6)[0] for kind in range(types)]
    return kinds[0], [(at_s, kinds[kind]) for at_s, kind in zip(instants, chosen, strict=True)]


def _by_rule(data: bytes, after_s: int) -> list[tuple[int, int]]:
    """Return the transitions after those that the file lists, by the rule at its end, to the year 9999."""
    match = _RULE.fullmatch(data.rpartition(b"\n")[0].rpartition(b"\n")[2].decode())
    if match is None:
        return []
    normal_s = -_seconds(match[1])
    summer_s = -_seconds(match[2]) if match[2] else normal_s + 3_600
    first = (_EPOCH + timedelta(seconds=after_s)).year
    cycle = []
    for year in range(first, first + _CYCLE_YEARS):
        begins_s = _day_of_rule(year, match.groups()[2:5]) + _seconds(match[6] or "2")
        ends_s = _day_of_rule(year, match.groups()[6:9]) + _seconds(match[10] or "2")
        cycle += [(begins_s - normal_s, summer_s), (ends_s - summer_s, normal_s)]
    cycle.sort()
    cycles = range(0, TIMESTAMP_MAX // _SECOND_US - after_s + _CYCLE_S, _CYCLE_S)
    found = ((at_s + shift, offset_s) for shift in cycles for at_s, offset_s in cycle)
    return [change for change in found if change[0] > after_s]


def _day_of_rule(year: int, rule: Sequence[str]) -> int:
    """Return the beginning of `Mm.w.d` of a year, in seconds: the w-th day d of the month, the last for 5."""
    month, week, weekday = map(int, rule)
    first = date(year, month, 1)
    day = (weekday - first.isoweekday()) % 7 + (week - 1) * 7
    if day >= monthrange(year, month)[1]:
        day -= 7
    return (first.toordinal() + day - _EPOCH.toordinal()) * 86_400


def _seconds(written: str) -> int:
    """Return `[-]h[:mm[:ss]]` in seconds."""
    hours, minutes, seconds = [*map(int, written.lstrip("+-").split(":")), 0, 0][:3]
    total = (hours * 60 + minutes) * 60 + seconds
    return -total if written.startswith("-") else total
