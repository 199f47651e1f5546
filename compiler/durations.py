"""Durations as options of tables give them: a number and a unit."""

from __future__ import annotations

import re
from typing import Final

_PATTERN: Final = re.compile(r"(\d{1,12}) ?([a-z]+)", re.ASCII)
_UNITS_US: Final = {
    "ms": 1_000,
    "s": 1_000_000,
    "min": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
}
DURATION_US_MAX: Final = 3_650_000 * _UNITS_US["d"]
"""Ten thousand years: as long as there are timestamps."""


def duration_us(text: str) -> int | None:
    """Return the microseconds of a duration such as `10 s`; None if it is not valid, 0, or too long.

    >>> duration_us("10 s"), duration_us("5min"), duration_us("0 s"), duration_us("soon")
    (10000000, 300000000, None, None)
    """
    match = _PATTERN.fullmatch(text.strip().lower())
    if match is None or match[2] not in _UNITS_US:
        return None
    value_us = int(match[1]) * _UNITS_US[match[2]]
    return value_us if 0 < value_us <= DURATION_US_MAX else None
