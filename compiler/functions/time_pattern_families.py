"""The patterns of times of Java and of strftime, each a table of directives.

The pages of functions list the directives; others are refused, so that no pattern means
something else than in the system that it comes from.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.time_patterns import (
    Family,
    PatternError,
    PatternPiece,
    am_or_pm,
    day_name,
    fraction,
    month_name,
    number,
    short,
    text_piece,
    zone,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_OFFSET: Final = r"[+-]\d\d(?::?\d\d)?"

_JAVA: Final[Mapping[str, PatternPiece]] = {
    **{letter * 4: number("year", 4) for letter in "yu"},
    **{letter: number("year", 1) for letter in "yu"},
    **{letter * 2: number("year of century", 2) for letter in "yu"},
    **{f"{letter}": number("month", 1) for letter in "ML"},
    **{letter * 2: number("month", 2) for letter in "ML"},
    **{letter * 3: month_name(short) for letter in "ML"},
    **{letter * 4: month_name() for letter in "ML"},
    **{letter: number(part, 1) for letter, part in (("d", "day"), ("H", "hour"))},
    **{letter * 2: number(part, 2) for letter, part in (("d", "day"), ("H", "hour"))},
    **{"h" * width: number("hour of 12", width) for width in (1, 2)},
    **{"m" * width: number("minute", width) for width in (1, 2)},
    **{"s" * width: number("second", width) for width in (1, 2)},
    **{"S" * width: fraction(width) for width in range(1, 7)},
    **{"D" * width: number("day of year", width) for width in (1, 3)},
    **{"E" * width: day_name(short) for width in (1, 2, 3)},
    "EEEE": day_name(),
    "Q": number("quarter", 1),
    "a": am_or_pm("AM", "PM"),
    **{"X" * width: zone("Z") for width in (1, 2, 3)},
    "x": zone("+00", _OFFSET),
    "xx": zone("+0000", _OFFSET),
    "xxx": zone("+00:00", _OFFSET),
    "Z": zone("+0000", _OFFSET),
}
"""The runs of letters of Java's DateTimeFormatter."""

_JAVA_TOKEN: Final = re.compile(r"'((?:[^']|'')*)'|(([A-Za-z])\3*)|([^A-Za-z'])", re.DOTALL)


_HINTS: Final = {"Y": "; the year is yyyy", "D": "; the day of the month is dd"}
"""What is meant by letters that mean something else in Java, and something else in PostgreSQL."""


def _java_pieces(text: str) -> list[PatternPiece]:
    pieces = []
    at = 0
    while at < len(text):
        found = _JAVA_TOKEN.match(text, at)
        if found is None:
            raise PatternError("has a quote that does not end")
        quoted, run, _, sign = found.groups()
        if quoted is not None:
            pieces.append(text_piece(quoted.replace("''", "'") or "'"))
        elif sign is not None:
            if sign in "[]{}#":
                raise PatternError(f"has the sign {sign}, which is reserved; quote it: '{sign}'")
            pieces.append(text_piece(sign))
        elif run in _JAVA:
            pieces.append(_JAVA[run])
        else:
            hint = _HINTS.get(run[0], "")
            raise PatternError(f"has the letters {run}, which are not supported{hint}")
        at = found.end()
    return pieces


def _numbers(directive: str, part: str, width: int) -> dict[str, PatternPiece]:
    """Return a directive of strftime, and the one without leading zeros; both read any digits."""
    plain = number(part, 1)
    return {directive: replace(number(part, width), read=plain.read), f"-{directive}": plain}


_ISO_DATE: Final = (
    *(number("year", 4), text_piece("-"), number("month", 2)),
    *(text_piece("-"), number("day", 2)),
)
_ISO_TIME: Final = (
    *(number("hour", 2), text_piece(":"), number("minute", 2)),
    *(text_piece(":"), number("second", 2)),
)

_STRFTIME: Final[Mapping[str, PatternPiece | tuple[PatternPiece, ...]]] = {
    "Y": number("year", 4),
    "y": replace(number("year of century", 2), read=None),
    **_numbers("m", "month", 2),
    **_numbers("d", "day", 2),
    **_numbers("H", "hour", 2),
    **_numbers("I", "hour of 12", 2),
    **_numbers("M", "minute", 2),
    **_numbers("S", "second", 2),
    **_numbers("j", "day of year", 3),
    "f": fraction(6),
    "p": am_or_pm("AM", "PM"),
    "a": day_name(short),
    "A": day_name(),
    "b": month_name(short),
    "B": month_name(),
    "G": number("ISO year", 4),
    "V": number("ISO week", 2),
    "u": number("ISO weekday", 1),
    "w": number("weekday from Sunday, 0", 1),
    "z": zone("+00", _OFFSET),
    "Z": zone("UTC", None),
    "F": _ISO_DATE,
    "T": _ISO_TIME,
    "%": text_piece("%"),
}
"""The directives of strftime, without `%`."""


def _strftime_pieces(text: str) -> list[PatternPiece]:
    pieces: list[PatternPiece] = []
    for plain, directive in re.findall(r"([^%]+)|%(-?.?)", text, re.DOTALL):
        if plain:
            pieces.append(text_piece(plain))
            continue
        made = _STRFTIME.get(directive)
        if made is None:
            raise PatternError(f"has %{directive}, which is not supported")
        pieces += made if isinstance(made, tuple) else (made,)
    return pieces


JAVA: Final = Family("Java", _java_pieces)
STRFTIME: Final = Family("strftime", _strftime_pieces)
