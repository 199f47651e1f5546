"""Patterns of times as text: Java's `yyyy-MM-dd HH:mm:ss`, strftime's `%Y-%m-%d`, PostgreSQL's `YYYY-MM-DD`.

Each family is a table from its directives to `PatternPiece`s.  A pattern is a list of pieces, which writes a
timestamp, and reads a text if each of its pieces can be read.  Names of days and months are English.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.failure import UnreadableTextFailure
from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import TIMESTAMP

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.compiler.sqltypes import SqlType

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_SECOND_US: Final = 1_000_000

DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)

PATTERN_LENGTH_MAX: Final = 1_000
"""The longest pattern, in characters."""

_NUMBERS: Final[dict[str, Callable[[datetime], int]]] = {
    "year": lambda at: at.year,
    "year of century": lambda at: at.year % 100,
    "year from 1970 to 2069": lambda at: at.year % 100,
    "quarter": lambda at: (at.month + 2) // 3,
    "month": lambda at: at.month,
    "day": lambda at: at.day,
    "day of year": lambda at: at.timetuple().tm_yday,
    "ISO year": lambda at: at.isocalendar().year,
    "ISO week": lambda at: at.isocalendar().week,
    "ISO weekday": lambda at: at.isoweekday(),
    "day of ISO year": lambda at: at.isocalendar().week * 7 + at.isoweekday() - 7,
    "week of year": lambda at: (at.timetuple().tm_yday + 6) // 7,
    "week of month": lambda at: (at.day + 6) // 7,
    "Julian day": lambda at: at.toordinal() + 1_721_425,
    "century": lambda at: (at.year + 99) // 100,
    "weekday from Sunday, 0": lambda at: at.isoweekday() % 7,
    "weekday from Sunday, 1": lambda at: at.isoweekday() % 7 + 1,
    "hour": lambda at: at.hour,
    "hour of 12": lambda at: (at.hour - 1) % 12 + 1,
    "minute": lambda at: at.minute,
    "second": lambda at: at.second,
    "second of the day": lambda at: at.hour * 3_600 + at.minute * 60 + at.second,
}
"""The parts of a time that are numbers."""

_READ: Final = {"year": 4, "year of century": 2, "year from 1970 to 2069": 2, "day of year": 3}
"""How many digits a part has at most; two unless listed."""
_YEARS: Final = frozenset({"year", "year of century", "year from 1970 to 2069"})
_LENGTHS_US: Final = {
    "hour": 3_600,
    "hour of 12": 3_600,
    "minute": 60,
    "second": 1,
    "second of the day": 1,
}
"""The parts of a day, by the seconds in which they change."""


@dataclass(frozen=True, slots=True)
class PatternPiece:
    """A part of a pattern: how it writes a time, and the regular expression of what it reads.

    `part` is the name of the part of a time, None for text.  The time is the same for all
    timestamps that agree in whole multiples of `step_us`.
    """

    part: str | None
    write: Callable[[datetime], str]
    read: str | None
    step_us: int


def text_piece(text: str) -> PatternPiece:
    """Return the piece of a literal text."""
    return PatternPiece(None, lambda _at: text, re.escape(text), 86_400 * _SECOND_US)


def number(part: str, width: int) -> PatternPiece:
    """Return the piece of a number with at least `width` digits."""
    of = _NUMBERS[part]
    most = _READ.get(part, 2)
    digits = rf"\d{{{width}}}" if width >= most else rf"\d{{{max(width, 1)},{most}}}"
    step = _LENGTHS_US.get(part, 86_400) * _SECOND_US
    known = part in _READ or part in {"month", "day", "hour", "hour of 12", "minute", "second"}
    return PatternPiece(part, lambda at: f"{of(at):0{width}d}", digits if known else None, step)


def fraction(digits: int) -> PatternPiece:
    """Return the piece of the first digits of the fraction of a second, at most 6."""
    step = 10 ** (6 - digits)
    return PatternPiece(
        "fraction", lambda at: f"{at.microsecond:06d}"[:digits], rf"\d{{{digits}}}", step
    )


def _name(part: str, names: Sequence[str], of: Callable[[datetime], int]) -> PatternPiece:
    alternatives = "|".join(names)
    return PatternPiece(part, lambda at: names[of(at)], f"(?i:{alternatives})", 86_400 * _SECOND_US)


def month_name(shape: Callable[[str], str] = str) -> PatternPiece:
    """Return the piece of the name of the month, in a shape."""
    return _name("month name", [shape(name) for name in MONTHS], lambda at: at.month - 1)


def day_name(shape: Callable[[str], str] = str) -> PatternPiece:
    """Return the piece of the name of the day of the week, in a shape."""
    return _name("day name", [shape(name) for name in DAYS], datetime.weekday)


def short(name: str) -> str:
    """Return the three letters that stand for a name."""
    return name[:3]


def am_or_pm(am: str, pm: str) -> PatternPiece:
    """Return the piece that states which half of the day an hour of 12 is in."""
    return PatternPiece(
        "half of the day",
        lambda at: pm if at.hour >= 12 else am,
        f"(?i:{am}|{pm})",
        43_200 * _SECOND_US,
    )


def zone(utc: str, read: str | None = r"Z|[+-]\d\d(?::?\d\d)?") -> PatternPiece:
    """Return the piece of the zone, which is written as `utc`."""
    return PatternPiece("zone", lambda _at: utc, read, 86_400 * _SECOND_US)


_OF_DAY: Final = frozenset(
    {"hour", "hour of 12", "half of the day", "minute", "second", "fraction"}
)
"""The parts of a time of day."""


class Pattern:
    """The pieces of a pattern."""

    def __init__(self, pieces: Sequence[PatternPiece]) -> None:
        self._pieces = tuple(pieces)
        self._parts = [piece.part for piece in pieces if piece.part is not None]
        self.step_us = min((piece.step_us for piece in pieces), default=86_400 * _SECOND_US)
        """Timestamps that agree in whole multiples of it have the same text."""
        self.has_zone = "zone" in self._parts
        self._expression: re.Pattern[str] | None = None

    @property
    def parts(self) -> tuple[tuple[str | None, str], ...]:
        """The parts of a time in their order, each with the text that it is to be followed by."""
        found: list[tuple[str | None, str]] = [(None, "")]
        for piece in self._pieces:
            if piece.part is not None:
                found.append((piece.part, ""))
            else:
                part, text = found[-1]
                found[-1] = part, text + piece.write(_EPOCH)
        return tuple(found)

    def write(self, at_us: int) -> str:
        """Return a timestamp as text."""
        at = _EPOCH + timedelta(microseconds=at_us)
        return "".join([piece.write(at) for piece in self._pieces])

    def time_error(self, *, reading: bool) -> str | None:
        """Return why the pattern cannot write or read a TIME, or None."""
        other = next((part for part in self._parts if part not in _OF_DAY), None)
        if other is not None:
            return f"has the {other}, and a TIME has none"
        return self.reading_error(of_time=True) if reading else None

    def reading_error(self, *, of_time: bool = False) -> str | None:
        """Return why the pattern cannot read, or None."""
        for piece in self._pieces:
            if piece.read is None:
                return f"cannot read the {piece.part}"
        parts = self._parts
        twice = next((part for part in parts if parts.count(part) > 1), None)
        if twice is not None:
            return f"reads the {twice} twice"
        if {"month", "month name"} <= set(parts):
            return "reads the month twice"
        if not of_time and not _YEARS & set(parts):
            return "reads no year"
        if ("hour of 12" in parts) != ("half of the day" in parts):
            return "needs both an hour of 12 and the half of the day"
        return None

    def read(self, text: str, target: SqlType = TIMESTAMP) -> int:
        """Return the timestamp that a text names; parts that the pattern does not have are the first.

        Raises:
            UnreadableTextFailure: E503, if it names none.
        """
        if self._expression is None:
            groups = (f"({p.read})" if p.part else str(p.read) for p in self._pieces)
            self._expression = re.compile("".join(groups), re.ASCII)
        found = self._expression.fullmatch(text)
        if found is None:
            raise UnreadableTextFailure(text, target)
        try:
            return _moment(dict(zip(self._parts, found.groups(), strict=True)))
        except (ValueError, OverflowError):
            raise UnreadableTextFailure(text, target) from None


def _moment(parts: dict[str, str]) -> int:
    """Return the timestamp of the parts that were read.

    Raises:
        ValueError: there is no such time.
    """
    # A TIME is read as one of 1970-01-01.
    year = int(parts.get("year", 1970))
    if "year of century" in parts:
        year = 2000 + int(parts["year of century"])
    if "year from 1970 to 2069" in parts:
        year = 1970 + (int(parts["year from 1970 to 2069"]) + 30) % 100
    month = int(parts.get("month", 1))
    if "month name" in parts:
        month = [name[:3].lower() for name in MONTHS].index(parts["month name"][:3].lower()) + 1
    hour = int(parts.get("hour", 0))
    if "hour of 12" in parts:
        hour = int(parts["hour of 12"])
        if not 1 <= hour <= 12:
            raise ValueError(hour)
        hour = hour % 12 + 12 * (parts["half of the day"][0] in "pP")
    minute, second = int(parts.get("minute", 0)), int(parts.get("second", 0))
    microsecond = int(parts.get("fraction", "").ljust(6, "0"))
    at = datetime(year, month, int(parts.get("day", 1)), hour, minute, second, microsecond, UTC)
    if "day of year" in parts:
        at += timedelta(days=int(parts["day of year"]) - 1)
        if at.year != year or "month" in parts or "day" in parts:
            raise ValueError(at)
    if "day name" in parts and DAYS[at.weekday()][:3].lower() != parts["day name"][:3].lower():
        raise ValueError(at)
    at -= _offset(parts.get("zone", "Z"))
    return (at - _EPOCH) // _MICROSECOND


def _offset(text: str) -> timedelta:
    """Return how far a zone is ahead of UTC."""
    if text == "Z":
        return timedelta()
    digits = text[1:].replace(":", "").ljust(4, "0")
    hours, minutes = int(digits[:2]), int(digits[2:])
    if hours > 23 or minutes > 59:
        raise ValueError(text)
    offset = timedelta(hours=hours, minutes=minutes)
    return -offset if text[0] == "-" else offset


class PatternError(ValueError):
    """The text is not a pattern of its family; the message states why."""


@lru_cache(maxsize=256)
def pattern_of(family: Family, text: str) -> Pattern:
    """Return a pattern of a family.

    Raises:
        PatternError: it is not valid.
    """
    return Pattern(family.pieces(text))


@dataclass(frozen=True)
class Family:
    """A family of patterns: `pieces` cuts a pattern into its pieces, or raises `PatternError`."""

    name: str
    pieces: Callable[[str], list[PatternPiece]]

    def error(self, text: str, *, reading: bool = False) -> str | None:
        """Return what is wrong with a pattern that is to write, or to read; or None."""
        if len(text) > PATTERN_LENGTH_MAX:
            return f"pattern has {len(text):,} characters; the limit is {PATTERN_LENGTH_MAX:,}"
        try:
            pattern = pattern_of(self, text)
        except PatternError as error:
            return self.told(str(error))
        wrong = pattern.reading_error() if reading else None
        return wrong and self.told(wrong)

    def told(self, error: str) -> str:
        """Return what is wrong with a pattern as a message."""
        return f"pattern of {self.name} {error}"

    def reading_error(self, text: str) -> str | None:
        """Return what is wrong with a pattern that is to read, or None."""
        return self.error(text, reading=True)

    def time_error(self, text: str, *, reading: bool = False) -> str | None:
        """Return what is wrong with a pattern that is to write a TIME, or to read one; or None."""
        if wrong := self.error(text):
            return wrong
        wrong = pattern_of(self, text).time_error(reading=reading)
        return wrong and self.told(wrong)
