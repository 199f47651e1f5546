"""Patterns by which TO_TIMESTAMP and others read a text: of Java, or of PostgreSQL.

Most patterns are of one family only: `HH24` and `YYYY` are not of Java, and `yyyy-MM-dd HH:mm` would read
the month twice in PostgreSQL.  What both can read, and read alike, such as `yyyy-MM-dd`, is Java's.  What
they would read differently, such as `yyyy-mm-dd`, is refused: a wrong guess would be a wrong result.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.template_patterns import TEMPLATES
from fsql.compiler.functions.time_pattern_families import JAVA
from fsql.compiler.functions.time_patterns import Family, Pattern, PatternError
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.functions.time_patterns import PatternPiece

_MARKS: Final = re.compile("YY|MI|mi|(?:HH|hh)(?:12|24)")
"""What only patterns of PostgreSQL have."""

_ADVICE: Final = {
    ("Java", "reads the minute twice"): ": mm is the minute, MM the month",
    ("PostgreSQL", "reads the month twice"): ": MM is the month, MI the minute",
    (
        "PostgreSQL",
        "needs both an hour of 12 and the half of the day",
    ): ": write HH24, or HH12 and AM",
}

_SAME_YEARS: Final = {"year from 1970 to 2069": "year of century"}
"""The parts that are taken as the same: `yy` beside Java's letters is Java's, from 2000 on."""


@dataclass(frozen=True)
class _Attempt:
    """A pattern in one family: its pieces, if they are of the family, and why it cannot read."""

    pieces: list[PatternPiece] | None
    error: str | None


def _attempt(family: Family, text: str) -> _Attempt:
    try:
        pieces = family.pieces(text)
    except PatternError as error:
        return _Attempt(None, f"pattern of {family.name} {error}")
    wrong = Pattern(pieces).reading_error()
    if wrong is None:
        return _Attempt(pieces, None)
    advice = _ADVICE.get((family.name, wrong), "")
    return _Attempt(pieces, f"pattern of {family.name} {wrong}{advice}")


def _pieces(text: str) -> list[PatternPiece]:
    """Return the pieces in the family that can read them.

    Raises:
        PatternError: none can, or both can and the times would differ.
    """
    java = _attempt(JAVA, text)
    # A single quote begins text in Java. In PostgreSQL it is a sign that nobody writes.
    postgres = _attempt(TEMPLATES, text) if "'" not in text else _Attempt(None, "")
    if postgres.pieces is not None and postgres.error is None and java.error is not None:
        return postgres.pieces
    if java.error is not None:
        of_postgres = java.pieces is None and _MARKS.search(text) and postgres.error
        raise PatternError(postgres.error if of_postgres else java.error)
    assert java.pieces is not None
    if postgres.pieces is not None and postgres.error is None:
        _check_alike(text, java.pieces, postgres.pieces)
    return java.pieces


def _check_alike(text: str, java: list[PatternPiece], postgres: list[PatternPiece]) -> None:
    """Refuse a pattern that reads other times in Java than in PostgreSQL."""
    ours, theirs = Pattern(java).parts, Pattern(postgres).parts
    for (of_java, _), (of_postgres, _) in zip(ours, theirs, strict=False):
        if of_java != _SAME_YEARS.get(str(of_postgres), of_postgres):
            raise PatternError(
                f"pattern {text} reads the {of_java} as one of Java, the {of_postgres} as one of PostgreSQL; "
                "write it as yyyy-MM-dd HH:mm:ss or as YYYY-MM-DD HH24:MI:SS"
            )
    if [after for _, after in ours] != [after for _, after in theirs]:
        raise PatternError(
            f"pattern {text} reads other signs as one of Java than as one of PostgreSQL"
        )


class _ReadFamily(Family):
    """The family whose errors name the family that they are of."""

    def told(self, error: str) -> str:
        """Return what is wrong with a pattern as a message."""
        return error


READ: Final = _ReadFamily("Java or PostgreSQL", _pieces)

LETTERS: Final[Mapping[str, Mapping[str, str]]] = {
    "Java": {"month": "MM", "day": "dd", "hour": "HH", "minute": "mm", "second": "ss"},
    "PostgreSQL": {"month": "MM", "day": "DD", "hour": "HH24", "minute": "MI", "second": "SS"},
    "strftime": {"month": "%m", "day": "%d", "hour": "%H", "minute": "%M", "second": "%S"},
}
"""The letters of parts in the patterns of each family."""
