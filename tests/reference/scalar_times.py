"""Times as text by Java's patterns, read with Python's strptime; only those that the tests use."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from fsql.tests.reference.failure import NOT_CASTABLE, FailureError

if TYPE_CHECKING:
    from collections.abc import Callable

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
READ: Final = {
    "yyyy-MM-dd HH:mm:ss": (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "%Y-%m-%d %H:%M:%S"),
    "yyyy-MM-dd": (r"\d{4}-\d\d-\d\d", "%Y-%m-%d"),
    "yyyy-MM-dd'T'HH:mm:ssX": (
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d(:?\d\d)?)",
        "%Y-%m-%dT%H:%M:%S%z",
    ),
    "yyyy": (r"\d{4}", "%Y"),
    "y": (r"\d{1,4}", "%Y"),
}
"""What texts of a pattern look like, and how Python reads them."""


def time_of_pattern(text: str, pattern: str) -> int:
    """Return the timestamp that a text names.

    Raises:
        FailureError: it names none.
    """
    form, directives = READ[pattern]
    if not re.fullmatch(form, text, re.ASCII):
        raise FailureError(NOT_CASTABLE)
    try:
        moment = datetime.strptime(text.zfill(4), directives)  # noqa: DTZ007 - made UTC below
    except ValueError:
        raise FailureError(NOT_CASTABLE) from None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - EPOCH) // timedelta(microseconds=1)


def unix_timestamp(given: int | str, pattern: str = "yyyy-MM-dd HH:mm:ss") -> int:
    """Return the seconds since the epoch."""
    at = time_of_pattern(given, pattern) if isinstance(given, str) else given
    return at // 1_000_000


TIME_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {"unix_timestamp": unix_timestamp}
"""The functions that read texts by patterns."""
