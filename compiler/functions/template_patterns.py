"""The patterns of times of PostgreSQL's TO_CHAR, TO_TIMESTAMP and TO_DATE: a table of templates.

A template is written in capitals or in lower case.  What PostgreSQL writes as it stands is here text in
quotes, or a sign, so that no pattern means something else than there.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.time_patterns import (
    DAYS,
    MONTHS,
    Family,
    PatternError,
    PatternPiece,
    am_or_pm,
    day_name,
    fraction,
    month_name,
    number,
    text_piece,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def _pad(name: str) -> str:
    """Return a name in the width of the longest, as PostgreSQL writes it."""
    return name.ljust(9)


_SHAPES: Final = (str, str.upper, str.lower)
"""What a template in capitals, or not, makes of a name."""


def _name_shapes(directive: str) -> dict[str, PatternPiece]:
    """Return the three shapes of the long and the short name of a month or a day."""
    of_month = directive == "Month"
    make, names = (month_name, MONTHS) if of_month else (day_name, DAYS)
    short = "Mon" if of_month else "Dy"
    read = f"(?i:{'|'.join(names)})"
    made = {}
    for shape in _SHAPES:
        full = make(shape)
        padded = replace(make(lambda name, s=shape: _pad(s(name))), read=read)  # type: ignore[misc]
        made[shape(directive)] = padded
        made[f"FM{shape(directive)}"] = made[f"fm{shape(directive)}"] = full
        made[shape(short)] = make(lambda name, s=shape: s(name[:3]))  # type: ignore[misc]
    return made


_NUMBERS: Final = {
    "YYYY": ("year", 4),
    "YY": ("year from 1970 to 2069", 2),
    "IYYY": ("ISO year", 4),
    "IW": ("ISO week", 2),
    "IDDD": ("day of ISO year", 3),
    "ID": ("ISO weekday", 1),
    "CC": ("century", 2),
    "Q": ("quarter", 1),
    "MM": ("month", 2),
    "WW": ("week of year", 2),
    "W": ("week of month", 1),
    "DDD": ("day of year", 3),
    "DD": ("day", 2),
    "D": ("weekday from Sunday, 1", 1),
    "J": ("Julian day", 1),
    "HH24": ("hour", 2),
    "HH12": ("hour of 12", 2),
    "HH": ("hour of 12", 2),
    "MI": ("minute", 2),
    "SSSSS": ("second of the day", 1),
    "SSSS": ("second of the day", 1),
    "SS": ("second", 2),
}


def _fraction(digits: int) -> PatternPiece:
    """Return the piece of a fraction, which may be read with fewer digits: `.5` is half a second."""
    return replace(fraction(digits), read=rf"\d{{1,{digits}}}")


_IN_CAPITALS: Final[Mapping[str, PatternPiece]] = {
    **{name: number(part, width) for name, (part, width) in _NUMBERS.items()},
    **{f"FM{name}": number(part, 1) for name, (part, _) in _NUMBERS.items()},
    "MS": _fraction(3),
    "US": _fraction(6),
    **{f"FF{digits}": _fraction(digits) for digits in range(1, 7)},
}

_TEMPLATES: Final[Mapping[str, PatternPiece]] = {
    **_IN_CAPITALS,
    **{name.lower(): piece for name, piece in _IN_CAPITALS.items()},
    **_name_shapes("Month"),
    **_name_shapes("Day"),
    **dict.fromkeys(("AM", "PM"), am_or_pm("AM", "PM")),
    **dict.fromkeys(("am", "pm"), am_or_pm("am", "pm")),
}
"""The templates of PostgreSQL, in capitals and in lower case."""

_TOKEN: Final = re.compile(
    r'"([^"]*)"|'
    f"({'|'.join(sorted(map(re.escape, _TEMPLATES), key=lambda name: (-len(name), name)))})"
    r"|([^A-Za-z\"])",
    re.DOTALL,
)


def _pieces(text: str) -> list[PatternPiece]:
    pieces = []
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            letters = re.match(r'"|[A-Za-z]+', text[at:])
            assert letters is not None
            raise PatternError(f"has {letters[0]}, which is not supported; write text in quotes")
        quoted, template, sign = found.groups()
        pieces.append(_TEMPLATES[template] if template else text_piece(quoted or sign or ""))
        at = found.end()
    return _with_fewer_digits(pieces)


def _with_fewer_digits(pieces: Sequence[PatternPiece]) -> list[PatternPiece]:
    """Return the pieces, of which a number between others than digits is read without its zeros: `5.7.`.

    A year of four digits must have them: `26` might be 2026.
    """

    def is_digits(index: int) -> bool:
        if not 0 <= index < len(pieces):
            return False
        piece = pieces[index]
        if piece.part is None:
            return not piece.read or (piece.read[0 if index > at else -1]).isdigit()
        return piece.read is not None and piece.read.startswith(r"\d")

    made = list(pieces)
    for at, piece in enumerate(pieces):
        if piece.part in {"year", "fraction"} or not is_digits(at) or piece.part is None:
            continue
        if not is_digits(at - 1) and not is_digits(at + 1):
            assert piece.read is not None
            made[at] = replace(piece, read=re.sub(r"\{(?:\d,)?(\d)\}", r"{1,\1}", piece.read))
    return made


TEMPLATES: Final = Family("PostgreSQL", _pieces)
