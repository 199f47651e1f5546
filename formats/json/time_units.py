"""Units of numbers for times: those of a TIMESTAMP count from 1970 on, those of a TIME from midnight."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from fsql.compiler.sqltypes import BIGINT_MAX, BIGINT_MIN, DAY_US, TIMESTAMP_MAX, TIMESTAMP_MIN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.formats.settings import Settings
    from fsql.runtime.arrays import Ints


_NANOS: Final = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_NAMES: Final = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
_RECENT_US: Final = 10**15
"""The year 2001."""
_PAST_US: Final = 31_536_000_000_000
"""The year 1971."""
_FUTURE_US: Final = 7_258_118_400_000_000
"""The year 2200."""
_SENTINEL_US: Final = 253_370_764_800_000_000
"""The year 9999, whose days stand for times without an end."""


class Unit(NamedTuple):
    """A unit of time: `s`, `ms`, `us` or `ns`."""

    name: str

    @property
    def word(self) -> str:
        """Return the name of the unit in sentences."""
        return _NAMES[self.name]

    def micros(self, number: int) -> int:
        """Return a number of this unit in microseconds; fractions are cut off."""
        return number * _NANOS[self.name] // 1_000

    def micros_of(self, numbers: Ints) -> Ints:
        """Return numbers of this unit, which are within `limits`, in microseconds."""
        nanos = _NANOS[self.name]
        return numbers // 1_000 if nanos < 1_000 else numbers * (nanos // 1_000)

    def limits(self, least_us: int, greatest_us: int) -> tuple[int, int]:
        """Return the least and the greatest BIGINT of this unit that are between two times."""
        nanos = _NANOS[self.name]
        least = -(-least_us * 1_000 // nanos)
        greatest = (greatest_us * 1_000 + 999) // nanos
        return max(least, BIGINT_MIN), min(greatest, BIGINT_MAX)


class TimeUnits(NamedTuple):
    """The units of numbers for a TIMESTAMP, and for a TIME; those for a DATE are days."""

    timestamp: Unit = Unit("ms")
    time: Unit = Unit("us")

    @property
    def timestamp_limits(self) -> tuple[int, int]:
        """Return the least and the greatest number of a TIMESTAMP that is a BIGINT."""
        return self.timestamp.limits(TIMESTAMP_MIN, TIMESTAMP_MAX)

    @property
    def time_limits(self) -> tuple[int, int]:
        """Return the least and the greatest number of a TIME."""
        return self.time.limits(0, DAY_US - 1)

    def likely_timestamp(self, number: int) -> Unit | None:
        """Return the other unit that a number for a TIMESTAMP seems to have, None if it may be right.

        It is wrong if it is of 1970, but of the years from 2001 on in a greater unit, or if it is of the
        years from 2200 on, but earlier in a smaller one.
        """
        own = self.timestamp.micros(number)
        if _PAST_US <= own < _FUTURE_US or _SENTINEL_US <= own <= TIMESTAMP_MAX:
            return None
        least = _RECENT_US if own < _PAST_US else _PAST_US
        others = (Unit(name) for name in _NANOS if name != self.timestamp.name)
        return next((unit for unit in others if least <= unit.micros(number) < _FUTURE_US), None)

    def likely_time(self, number: int) -> Unit | None:
        """Return the smaller unit in which a number that is too great for a TIME is one."""
        others = (Unit(name) for name in _NANOS if _NANOS[name] < _NANOS[self.time.name])
        return next((unit for unit in others if 0 <= unit.micros(number) < DAY_US), None)

    def greater_time(self, numbers: Sequence[int]) -> Unit | None:
        """Return the next greater unit if all numbers for a TIME are one in it as well."""
        names = list(_NANOS)
        place = names.index(self.time.name)
        if place == 0 or not any(numbers):
            return None
        unit = Unit(names[place - 1])
        return unit if all(0 <= unit.micros(number) < DAY_US for number in numbers) else None


def time_units(settings: Settings) -> TimeUnits:
    """Return the units that a table declares."""
    return TimeUnits(Unit(settings.text("timestamp_unit")), Unit(settings.text("time_unit")))


def time_units_of(options: Mapping[str, str]) -> TimeUnits:
    """Return the units that the options of a table say."""
    default = TimeUnits()
    return TimeUnits(
        Unit(options.get("timestamp_unit", default.timestamp.name)),
        Unit(options.get("time_unit", default.time.name)),
    )
