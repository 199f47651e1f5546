"""SQL types.

A type says which values there are, not whether NULL is among them: nullability belongs to columns and
expressions.  The values of each kind, as every part of fsql passes them around outside of Arrow:

| kind      | Python value                                   | Arrow                 |
|-----------|------------------------------------------------|-----------------------|
| BOOLEAN   | bool                                           | bool                  |
| INT       | int, 32 bits signed                            | int32                 |
| BIGINT    | int, 64 bits signed                            | int64                 |
| DOUBLE    | float; one canonical NaN                       | float64               |
| STRING    | str                                            | string                |
| TIMESTAMP | int, microseconds since 1970-01-01 UTC         | timestamp[us, tz=UTC] |
| INTERVAL  | int, microseconds                              | duration[us]          |
| ARRAY     | tuple of values of the element's kind, or None | list                  |
| NULL      | None; the type of a bare NULL                  | null                  |
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final


class Kind(enum.Enum):
    """The kinds of SQL types; the member's value is the name in SQL."""

    BOOLEAN = "BOOLEAN"
    INT = "INT"
    BIGINT = "BIGINT"
    DOUBLE = "DOUBLE"
    STRING = "STRING"
    TIMESTAMP = "TIMESTAMP"
    INTERVAL = "INTERVAL"
    ARRAY = "ARRAY"
    NULL = "NULL"


@dataclass(frozen=True, slots=True)
class SqlType:
    """A SQL type: a kind, and for ARRAY the type of its elements (which may always be NULL)."""

    kind: Kind
    element: SqlType | None = None

    def __post_init__(self) -> None:
        assert (self.kind is Kind.ARRAY) == (self.element is not None)

    def __str__(self) -> str:
        """Return the type as SQL writes it."""
        return self.kind.value if self.element is None else f"ARRAY<{self.element}>"

    @property
    def numeric(self) -> bool:
        """Return whether arithmetic applies."""
        return self.kind in NUMERIC


BOOLEAN: Final = SqlType(Kind.BOOLEAN)
INT: Final = SqlType(Kind.INT)
BIGINT: Final = SqlType(Kind.BIGINT)
DOUBLE: Final = SqlType(Kind.DOUBLE)
STRING: Final = SqlType(Kind.STRING)
TIMESTAMP: Final = SqlType(Kind.TIMESTAMP)
INTERVAL: Final = SqlType(Kind.INTERVAL)
NULL: Final = SqlType(Kind.NULL)

NUMERIC: Final = (Kind.INT, Kind.BIGINT, Kind.DOUBLE)
"""Numeric kinds from the narrowest to the widest: a value coerces implicitly to the right only."""

INT_MIN: Final = -(2**31)
INT_MAX: Final = 2**31 - 1
BIGINT_MIN: Final = -(2**63)
BIGINT_MAX: Final = 2**63 - 1
TIMESTAMP_MIN: Final = -62_135_596_800_000_000
"""0001-01-01T00:00:00Z in microseconds."""
TIMESTAMP_MAX: Final = 253_402_300_799_999_999
"""9999-12-31T23:59:59.999999Z in microseconds."""


def array_of(element: SqlType) -> SqlType:
    """Return the type of arrays of `element`."""
    return SqlType(Kind.ARRAY, element)
