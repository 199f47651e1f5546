"""Times as text by patterns: DATE_FORMAT and what reads its results, STRFTIME and STRPTIME, TO_CHAR."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.dates import date_of, date_of_text
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.functions.read_patterns import READ
from fsql.compiler.functions.signature import Function, Nullability, Signature
from fsql.compiler.functions.template_patterns import TEMPLATES
from fsql.compiler.functions.time_pattern_families import JAVA, STRFTIME
from fsql.compiler.functions.time_patterns import Family, pattern_of
from fsql.compiler.functions.timestamps import in_range, parse_timestamp
from fsql.compiler.sqltypes import BIGINT, DATE, STRING, TIME, TIMESTAMP

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.expression import Value

_SECOND_US: Final = 1_000_000
SECONDS_PATTERN: Final = "yyyy-MM-dd HH:mm:ss"
"""What FROM_UNIXTIME writes and UNIX_TIMESTAMP reads unless a pattern is given."""

FORMATTED: Final = {"date_format": JAVA, "strftime": STRFTIME, "to_char": TEMPLATES}
"""The functions that write a timestamp by a pattern, with the pattern's family."""


def _write(family: Family) -> Callable[[int, str], str]:
    return lambda at, pattern: pattern_of(family, pattern).write(at)


def _read(family: Family) -> Callable[[str, str], int]:
    return lambda text, pattern: in_range(pattern_of(family, pattern).read(text))


def _to_timestamp(text: str, pattern: str | None = None) -> int:
    return parse_timestamp(text) if pattern is None else _read(READ)(text, pattern)


def _to_date(text: str, pattern: str | None = None) -> int:
    if pattern is None:
        return date_of_text(text)
    return date_of(in_range(pattern_of(READ, pattern).read(text, DATE)))


def _parse_time(text: str, pattern: str) -> int:
    return pattern_of(JAVA, pattern).read(text, TIME)


def _rewrite(text: str, pattern: str) -> str:
    return pattern_of(JAVA, pattern).write(parse_timestamp(text))


def _or_null(scalar: Callable[..., int]) -> Callable[..., Value]:
    """Return the function that is NULL where `scalar` fails."""

    def compute(*arguments: Value) -> Value:
        try:
            return scalar(*arguments)
        except RowFailure:
            return None

    return compute


def _from_unixtime(seconds: int, pattern: str = SECONDS_PATTERN) -> str:
    return pattern_of(JAVA, pattern).write(in_range(seconds * _SECOND_US))


def _unix_timestamp(given: int | str, pattern: str | None = None) -> int:
    if isinstance(given, int):
        return given // _SECOND_US
    at_us = parse_timestamp(given) if pattern is None else _read(READ)(given, pattern)
    return at_us // _SECOND_US


_TEXT: Final = (STRING,)
_TWO: Final = (STRING, STRING)

TIME_TEXTS: Final = (
    Function(
        "date_format",
        ("DATE_FORMAT", "FORMAT_TIMESTAMP", "FORMAT_DATE"),
        (
            Signature((TIMESTAMP, STRING), STRING, _write(JAVA)),
            Signature(_TWO, STRING, _rewrite, fallible=True),
        ),
        literal_check=JAVA.error,
        literal_index=1,
    ),
    Function(
        "format_time",
        ("FORMAT_TIME",),
        (Signature((TIME, STRING), STRING, _write(JAVA)),),
        literal_check=JAVA.time_error,
        literal_index=1,
    ),
    Function(
        "parse_time",
        ("PARSE_TIME",),
        (Signature(_TWO, TIME, _parse_time, fallible=True),),
        literal_check=partial(JAVA.time_error, reading=True),
        literal_index=1,
    ),
    *(
        Function(
            name,
            (name.upper(),),
            (Signature((TIMESTAMP, STRING), STRING, _write(FORMATTED[name])),),
            literal_check=FORMATTED[name].error,
            literal_index=1,
        )
        for name in ("strftime", "to_char")
    ),
    Function(
        "to_timestamp",
        ("TO_TIMESTAMP", "PARSE_TIMESTAMP"),
        (
            Signature(_TEXT, TIMESTAMP, _to_timestamp, fallible=True),
            Signature(_TWO, TIMESTAMP, _to_timestamp, fallible=True),
        ),
        literal_check=READ.reading_error,
        literal_index=1,
    ),
    Function(
        "try_to_timestamp",
        ("TRY_TO_TIMESTAMP",),
        (
            Signature(_TEXT, TIMESTAMP, _or_null(_to_timestamp)),
            Signature(_TWO, TIMESTAMP, _or_null(_to_timestamp)),
        ),
        Nullability.ALWAYS,
        literal_check=READ.reading_error,
        literal_index=1,
    ),
    Function(
        "to_date",
        ("TO_DATE", "PARSE_DATE"),
        (
            Signature(_TEXT, DATE, _to_date, fallible=True),
            Signature(_TWO, DATE, _to_date, fallible=True),
        ),
        literal_check=READ.reading_error,
        literal_index=1,
    ),
    Function(
        "try_to_date",
        ("TRY_TO_DATE",),
        (
            Signature(_TEXT, DATE, _or_null(_to_date)),
            Signature(_TWO, DATE, _or_null(_to_date)),
        ),
        Nullability.ALWAYS,
        literal_check=READ.reading_error,
        literal_index=1,
    ),
    Function(
        "strptime",
        ("STRPTIME",),
        (Signature(_TWO, TIMESTAMP, _read(STRFTIME), fallible=True),),
        literal_check=STRFTIME.reading_error,
        literal_index=1,
    ),
    Function(
        "try_strptime",
        ("TRY_STRPTIME",),
        (Signature(_TWO, TIMESTAMP, _or_null(_read(STRFTIME))),),
        Nullability.ALWAYS,
        literal_check=STRFTIME.reading_error,
        literal_index=1,
    ),
    Function(
        "from_unixtime",
        ("FROM_UNIXTIME",),
        (
            Signature((BIGINT,), STRING, _from_unixtime, fallible=True),
            Signature((BIGINT, STRING), STRING, _from_unixtime, fallible=True),
        ),
        literal_check=JAVA.error,
        literal_index=1,
    ),
    Function(
        "unix_timestamp",
        ("UNIX_TIMESTAMP", "UNIX_SECONDS"),
        (
            Signature((TIMESTAMP,), BIGINT, _unix_timestamp),
            Signature(_TEXT, BIGINT, _unix_timestamp, fallible=True),
            Signature(_TWO, BIGINT, _unix_timestamp, fallible=True),
        ),
        of_instants=True,
        literal_check=READ.reading_error,
        literal_index=1,
    ),
)
