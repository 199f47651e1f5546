"""Times of day: reading and writing them, and moving them around the clock.

A TIME is an integer of microseconds since midnight, less than those of a day.
"""

from __future__ import annotations

import re
from typing import Final

from fsql.compiler.functions.failure import UnreadableTextFailure
from fsql.compiler.functions.timestamps import format_timestamp
from fsql.compiler.sqltypes import DAY_US, TIME

_PATTERN: Final = re.compile(r"([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.(\d{1,6}))?)?", re.ASCII)
_BEFORE: Final = len("1970-01-01T")


def parse_time(text: str) -> int:
    """Return the time that `hh:mm[:ss[.f{1,6}]]` names.

    >>> parse_time("00:01:00.5")
    60500000

    Raises:
        UnreadableTextFailure: E503, for any other text.
    """
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise UnreadableTextFailure(text, TIME)
    hour, minute, second = (int(part or 0) for part in match.groups()[:3])
    return ((hour * 60 + minute) * 60 + second) * 1_000_000 + int((match[4] or "").ljust(6, "0"))


def format_time(time_us: int, digits: int | None = None) -> str:
    """Return the time as `hh:mm:ss`, with 3 or 6 digits of fraction if it needs them, or with `digits`.

    >>> format_time(60_500_000)
    '00:01:00.500'
    """
    return format_timestamp(time_us, digits)[_BEFORE:-1]


def time_of(at_us: int) -> int:
    """Return the time of day of a timestamp, in UTC."""
    return at_us % DAY_US


def add_to_time(time_us: int, interval_us: int) -> int:
    """Return the time of day an interval later; midnight follows 23:59:59.999999."""
    return (time_us + interval_us) % DAY_US
