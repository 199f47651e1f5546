"""Row patterns: what MATCH_RECOGNIZE looks for in the rows of a partition, and what it returns of a match.

    PATTERN (A B* (C | D)+?)      Sequence(A, Repeat(B, 0, None), Repeat(Choice(C, D), 1, None, greedy=False))
    DEFINE B AS B.x > A.x         a condition over fields and navigations: field 1 > navigation 0
    MEASURES LAST(B.x)            a navigation

A row of the partition is a ROW: whether it is a row (or a timer that says how far time is), its event time,
and fields for conditions and navigations.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final

from fsql.compiler.node import Node
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from fsql.compiler.expression import Expression
    from fsql.compiler.sqltypes import SqlType

IS_ROW: Final = 0
"""The field of a row that is FALSE for timers."""
TIME: Final = 1
"""The field with the event time."""
THREADS_MAX: Final = 1_000
"""The most ways in which a match that began at one row is followed, if conditions look back at it."""


@dataclass(frozen=True, eq=False)
class PatternPart(Node):
    """The base of the parts of a pattern."""


@dataclass(frozen=True, eq=False)
class PatternVariable(PatternPart):
    """One row that fulfils the condition of the variable."""

    variable: int


@dataclass(frozen=True, eq=False)
class PatternSequence(PatternPart):
    """The parts one after the other: `A B`."""

    parts: tuple[PatternPart, ...]


@dataclass(frozen=True, eq=False)
class PatternChoice(PatternPart):
    """One of the parts, preferably an earlier one: `A | B`."""

    parts: tuple[PatternPart, ...]


@dataclass(frozen=True, eq=False)
class PatternRepeat(PatternPart):
    """The part `least` to `most` times, preferably as often as possible if `greedy`, else as rarely."""

    part: PatternPart
    least: int
    most: int | None
    greedy: bool = True


class SkipTo(enum.Enum):
    """Where the next match may begin."""

    PAST_LAST_ROW = 0
    NEXT_ROW = 1
    FIRST = 2
    LAST = 3


class NavigationKind(enum.Enum):
    """What a navigation reads of a match."""

    FIRST = "FIRST"
    LAST = "LAST"
    PREV = "PREV"
    COUNT = "COUNT"
    SUM = "SUM"
    AVG = "AVG"
    MIN = "MIN"
    MAX = "MAX"
    CLASSIFIER = "CLASSIFIER"
    MATCH_NUMBER = "MATCH_NUMBER"


@dataclass(frozen=True, eq=False)
class Navigation(Node):
    """A value of the rows of a match so far, of those mapped to one of `variables` (none given: of all).

    `field` is the row's field that it reads, None for COUNT(*).  FIRST and LAST read it of the row `offset`
    rows after the first or before the last; PREV of the row `offset` rows before the current one in the
    partition.  The others are aggregates, which ignore NULL.
    """

    kind: NavigationKind
    variables: tuple[int, ...]
    field: int | None
    offset: int
    type: SqlType
    argument_type: SqlType


@dataclass(frozen=True, eq=False)
class RowPattern(Node):
    """A pattern, its conditions and its measures.

    `conditions` has one for each variable, None for always; it is over the `width` fields of the row and then
    `navigations`, which read the match up to the row, as if the row had that variable.  A condition that
    fails is not TRUE.  A match lasts at most `within_us`: a microsecond less than WITHIN, which excludes its
    bound.  `skip_variables` are those of `SkipTo.FIRST` and `LAST`; if the match has no such row, or begins
    with it, the next match may begin at the next row.
    """

    names: tuple[str, ...]
    pattern: PatternPart
    conditions: tuple[Expression | None, ...]
    navigations: tuple[Navigation, ...]
    measures: tuple[Navigation, ...]
    within_us: int | None
    skip_to: SkipTo
    skip_variables: tuple[int, ...]
    width: int


def decision_us(pattern: RowPattern) -> int | None:
    """Return how long after its last row a match is decided at most; None if there is no bound.

    If all matches have equally many rows, those that begin earlier end earlier, so each match is decided
    by its last row.  Otherwise a longer one may be preferred until the first row is `within_us` ago.
    """
    if least_rows(pattern.pattern) == most_rows(pattern.pattern):
        return 0
    return None if pattern.within_us is None else pattern.within_us + 1


def least_rows(part: PatternPart) -> int:
    """Return how many rows a match of the part has at least."""
    match part:
        case PatternSequence(parts=parts):
            return sum(map(least_rows, parts))
        case PatternChoice(parts=parts):
            return min(map(least_rows, parts))
        case PatternRepeat(part=inner, least=least):
            return least * least_rows(inner)
        case _:
            return 1


def most_rows(part: PatternPart) -> int | None:
    """Return how many rows a match of the part has at most; None if there is no bound."""
    match part:
        case PatternSequence(parts=parts) | PatternChoice(parts=parts):
            each = [most_rows(inner) for inner in parts]
            known = [rows for rows in each if rows is not None]
            if len(known) < len(each):
                return None
            return sum(known) if isinstance(part, PatternSequence) else max(known)
        case PatternRepeat(part=inner, most=most):
            rows = most_rows(inner)
            return None if most is None or rows is None else most * rows
        case _:
            return 1
