"""Time zones against Python's zoneinfo, which reads the same files in another way.

Catches a transition that is missing, moved or of the wrong offset, in the years that files list and in those
that follow a rule, and local times that are skipped or come twice.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.functions.failure import TimestampRangeFailure
from fsql.compiler.functions.time_zones import (
    format_instant,
    instant_of,
    local_of,
    offset_of,
    window_bounds,
    zone_name,
    zone_names,
    zone_of,
)
from fsql.compiler.functions.timestamps import parse_timestamp
from fsql.compiler.sqltypes import TIMESTAMP_MAX, TIMESTAMP_MIN
from fsql.tests.reference import zones

if TYPE_CHECKING:
    from collections.abc import Sequence

HOUR = 3_600_000_000
ALL = sorted({name for name in map(zone_name, zone_names()) if name and name != "UTC"})


def near_transitions(name: str, random: Random) -> list[int]:
    """Return instants at the transitions of a zone and around them, and others."""
    found = zone_of(name).transitions
    chosen = random.sample(found, k=min(4, len(found)))
    times = [at + by for at in chosen for by in (-HOUR, -1, 0, 1, HOUR // 2, HOUR)]
    return [*times, *(random.randrange(-3 * 10**15, 5 * 10**15) for _ in range(2)), 200 * 10**15]


@pytest.mark.parametrize(
    "names",
    [
        ("Europe/Berlin", "America/New_York", "Asia/Kolkata"),
        ("Australia/Lord_Howe", "Africa/Casablanca", "Asia/Gaza", "Europe/Dublin"),
        *(pytest.param(ALL[part::4], marks=pytest.mark.slow) for part in range(4)),
    ],
    ids=len,
)
def test_offsets_are_those_of_zoneinfo(names: Sequence[str]) -> None:
    random = Random(len(names))
    for name in names:
        for at in near_transitions(name, random):
            local = zones.local(at, name)
            assert local_of(at, name) == local, (name, at)
            for shown in (local, local + HOUR, local - HOUR):
                assert instant_of(shown, name) == zones.instant(shown, name), (name, shown)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("europe/oslo", "Europe/Oslo"),
        ("Etc/UTC", "UTC"),
        ("gmt", "UTC"),
        ("+02:00", "+02:00"),
        ("-0330", "-03:30"),
        ("GMT-08:00", "-08:00"),
        ("UTC+9", "+09:00"),
        ("+00:00", "UTC"),
        ("+18:00", "+18:00"),
        ("+18:01", None),
        ("+02:60", None),
        ("", None),
        ("../Europe/Oslo", None),
        ("Europe/Olso", None),
    ],
)
def test_names_of_zones(written: str, name: str | None) -> None:
    assert zone_name(written) == name


@pytest.mark.parametrize(
    ("zone", "instant", "text"),
    [
        ("Europe/Oslo", "2024-03-31T00:59:59.999Z", "2024-03-31T01:59:59.999+01:00"),
        ("Europe/Oslo", "2024-03-31T01:00:00Z", "2024-03-31T03:00:00+02:00"),
        ("Europe/London", "2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
        ("-03:30", "2024-01-01T00:00:00.000001Z", "2023-12-31T20:30:00.000001-03:30"),
        ("Europe/Oslo", "1800-01-01T00:00:00Z", "1800-01-01T00:00:00Z"),
        ("+02:00", "9999-12-31T23:00:00Z", "9999-12-31T23:00:00Z"),
    ],
)
def test_an_instant_is_written_with_its_offset(zone: str, instant: str, text: str) -> None:
    assert format_instant(parse_timestamp(instant), zone) == text
    assert parse_timestamp(text) == parse_timestamp(instant)


def test_times_out_of_range_fail() -> None:
    for call, value in ((local_of, TIMESTAMP_MIN), (instant_of, TIMESTAMP_MAX)):
        with pytest.raises(TimestampRangeFailure):
            call(value, "-05:00")
    with pytest.raises(TimestampRangeFailure):
        window_bounds(TIMESTAMP_MAX - HOUR, 3 * HOUR, "Europe/Oslo")


@pytest.mark.parametrize(
    "name", ["Europe/Oslo", "Australia/Lord_Howe", "Pacific/Apia", "America/Caracas", "+05:30"]
)
def test_windows_hold_the_instants_that_show_their_times(name: str) -> None:
    random = Random(name)
    recent = [at for at in zone_of(name).transitions if 0 < at < 2 * 10**15] or [0]
    for at in random.sample(recent, k=min(12, len(recent))):
        for minutes in (30, 60, 240, 1440):
            size = minutes * HOUR // 60
            shown = at + offset_of(at, name) + random.randrange(-6, 6) * HOUR // 2
            start = shown // size * size
            assert window_bounds(start, size, name) == zones.window(start, size, name), (at, size)
