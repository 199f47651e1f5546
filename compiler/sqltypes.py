"""SQL types.

A type determines the set of values, not whether NULL is among them: nullability belongs to columns and
expressions.  The values of each kind, as every part of fsql passes them around outside of Arrow:

| kind      | Python value                                   | Arrow                 |
|-----------|------------------------------------------------|-----------------------|
| BOOLEAN   | bool                                           | bool                  |
| TINYINT   | int, 8 bits signed                             | int32, outside of fsql int8 |
| SMALLINT  | int, 16 bits signed                            | int32, outside of fsql int16 |
| INT       | int, 32 bits signed                            | int32                 |
| BIGINT    | int, 64 bits signed                            | int64                 |
| UTINYINT  | int, 8 bits unsigned                           | int32, outside of fsql uint8 |
| USMALLINT | int, 16 bits unsigned                          | int32, outside of fsql uint16 |
| UINT      | int, 32 bits unsigned                          | int64, outside of fsql uint32 |
| UBIGINT   | int, 64 bits unsigned                          | decimal128(20, 0), outside of fsql uint64 |
| DECIMAL   | int, the digits without the point: 150 is 1.50 in DECIMAL(3, 2) | decimal128 |
| FLOAT     | float that 32 bits hold; one canonical NaN     | float64, outside of fsql float32 |
| DOUBLE    | float; one canonical NaN                       | float64               |
| STRING    | str                                            | string                |
| BYTES     | str, a character of U+0000 to U+00FF for each octet | string, outside of fsql binary |
| DATE      | int, days since 1970-01-01                     | int32, outside of fsql date32 |
| TIME      | int, microseconds since midnight, less than a day | int64, outside of fsql time64[us] |
| TIMESTAMP | int, microseconds since 1970-01-01 UTC         | timestamp[us, tz=UTC] |
| TIMESTAMP, with `zone` TIMESTAMP_LTZ | int, an instant in the same unit | timestamp[us, tz=UTC] |
| INTERVAL  | int, microseconds                              | duration[us]          |
| MONTHS    | int, months: INTERVAL YEAR TO MONTH            | int64                 |
| ARRAY     | tuple of values of the element's kind, or None | list                  |
| ROW       | tuple of a value, or None, for each field      | struct of `f0`, `f1`… |
| MAP       | tuple of (key, value), by ascending key        | list of structs, outside of fsql map |
| NULL      | None; the type of a bare NULL                  | null                  |

The names of a ROW's fields are part of its SQL type and not of its Arrow type: rows that differ in these
names only have the same columns.  Outside of fsql the fields of the struct have these names.

TIMESTAMP_LTZ is the kind TIMESTAMP with the time zone of the script.  Its values are instants, the same in
every zone; the zone is that of the local times which casts give and read.

A TIME or TIMESTAMP with a `fraction` of n digits, as TIMESTAMP(3), has the values of which no more digits are
set, in the same unit, and texts of exactly n digits.  Without one, a text has as many as the value needs.

A MAP has each key once, none of them NULL, and its entries in the order of their keys.  So equal maps are
equal values, and in columns a MAP is the ARRAY of its entries.
"""

from __future__ import annotations

import enum
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Kind(enum.Enum):
    """The kinds of SQL types; the member's value is the name in SQL."""

    BOOLEAN = "BOOLEAN"
    TINYINT = "TINYINT"
    SMALLINT = "SMALLINT"
    INT = "INT"
    BIGINT = "BIGINT"
    UTINYINT = "UTINYINT"
    USMALLINT = "USMALLINT"
    UINT = "UINT"
    UBIGINT = "UBIGINT"
    DECIMAL = "DECIMAL"
    FLOAT = "FLOAT"
    DOUBLE = "DOUBLE"
    STRING = "STRING"
    BYTES = "BYTES"
    DATE = "DATE"
    TIME = "TIME"
    TIMESTAMP = "TIMESTAMP"
    INTERVAL = "INTERVAL"
    MONTHS = "INTERVAL YEAR TO MONTH"
    ARRAY = "ARRAY"
    ROW = "ROW"
    MAP = "MAP"
    NULL = "NULL"


CLOCK_TIMES: Final = (Kind.TIME, Kind.TIMESTAMP)
"""Kinds of which a type may state the digits of fraction."""
FRACTION_DIGITS_MAX: Final = 6


@dataclass(frozen=True, slots=True)
class SqlType:
    """A SQL type: a kind, and for ARRAY the type of its elements, for ROW the names and types of its fields.

    The element of a MAP is `ROW<key K, value V>`.  Elements and fields may always be NULL, keys never.  A
    DECIMAL has `precision` digits, `scale` of them after the point.  A TIMESTAMP with a `zone` is
    TIMESTAMP_LTZ.  A TIME or TIMESTAMP may have a `fraction` of 0 to 6 digits.
    """

    kind: Kind
    element: SqlType | None = None
    fields: tuple[tuple[str, SqlType], ...] = ()
    precision: int = 0
    scale: int = 0
    zone: str = ""
    fraction: int | None = None

    def __post_init__(self) -> None:
        assert (self.kind in {Kind.ARRAY, Kind.MAP}) == (self.element is not None)
        assert (self.kind is Kind.ROW) == bool(self.fields)
        assert (self.kind is Kind.DECIMAL) == (0 <= self.scale <= self.precision > 0)
        assert self.kind is Kind.TIMESTAMP or not self.zone
        assert self.fraction is None or self.kind in CLOCK_TIMES
        assert self.fraction in {None, *range(FRACTION_DIGITS_MAX + 1)}

    def __str__(self) -> str:
        """Return the type as SQL writes it."""
        if self.kind is Kind.DECIMAL:
            return f"DECIMAL({self.precision}, {self.scale})"
        if self.kind in CLOCK_TIMES:
            name = "TIMESTAMP_LTZ" if self.zone else self.kind.value
            digits = () if self.fraction is None else (str(self.fraction),)
            numbers = digits if self.zone in {"", "UTC"} else (*digits, f"'{self.zone}'")
            return f"{name}({', '.join(numbers)})" if numbers else name
        if self.fields:
            fields = ", ".join(f"{_name_text(name)} {type_}" for name, type_ in self.fields)
            return f"ROW<{fields}>"
        if self.kind is Kind.MAP:
            return f"MAP<{self.key}, {self.value}>"
        return self.kind.value if self.element is None else f"ARRAY<{self.element}>"

    @property
    def key(self) -> SqlType:
        """Return the type of the keys of a MAP."""
        return self._entry[0]

    @property
    def value(self) -> SqlType:
        """Return the type of the values of a MAP."""
        return self._entry[1]

    @property
    def _entry(self) -> tuple[SqlType, ...]:
        assert self.kind is Kind.MAP
        assert self.element is not None
        return self.element.field_types

    @property
    def field_types(self) -> tuple[SqlType, ...]:
        """Return the types of the fields of a ROW."""
        return tuple(type_ for _, type_ in self.fields)

    @property
    def parts(self) -> tuple[SqlType, ...]:
        """Return the types directly inside: the element of an ARRAY or MAP, the fields of a ROW."""
        return self.field_types if self.element is None else (self.element,)

    def contains(self, *kinds: Kind) -> bool:
        """Return whether the type, or one at any depth inside, is of one of `kinds`."""
        return self.kind in kinds or any(part.contains(*kinds) for part in self.parts)

    @property
    def has_fraction(self) -> bool:
        """Return whether the type, or one at any depth inside, is a time with a number of digits."""
        return self.fraction is not None or any(part.has_fraction for part in self.parts)

    @property
    def without_fraction(self) -> SqlType:
        """Return the type of which all times have as many digits as their values need.

        It has all values of this one.
        """
        if not self.has_fraction:
            return self
        element = None if self.element is None else self.element.without_fraction
        fields = tuple((name, type_.without_fraction) for name, type_ in self.fields)
        return replace(self, element=element, fields=fields, fraction=None)

    @property
    def unit_us(self) -> int:
        """Return the microseconds of which every time of the type is a multiple."""
        return 1 if self.fraction is None else 10 ** (FRACTION_DIGITS_MAX - self.fraction)

    @property
    def numeric(self) -> bool:
        """Return whether arithmetic applies."""
        return self.kind in NUMERIC


BOOLEAN: Final = SqlType(Kind.BOOLEAN)
TINYINT: Final = SqlType(Kind.TINYINT)
SMALLINT: Final = SqlType(Kind.SMALLINT)
INT: Final = SqlType(Kind.INT)
BIGINT: Final = SqlType(Kind.BIGINT)
UTINYINT: Final = SqlType(Kind.UTINYINT)
USMALLINT: Final = SqlType(Kind.USMALLINT)
UINT: Final = SqlType(Kind.UINT)
UBIGINT: Final = SqlType(Kind.UBIGINT)
FLOAT: Final = SqlType(Kind.FLOAT)
DOUBLE: Final = SqlType(Kind.DOUBLE)
STRING: Final = SqlType(Kind.STRING)
BYTES: Final = SqlType(Kind.BYTES)
DATE: Final = SqlType(Kind.DATE)
TIME: Final = SqlType(Kind.TIME)
TIMESTAMP: Final = SqlType(Kind.TIMESTAMP)
INTERVAL: Final = SqlType(Kind.INTERVAL)
MONTHS: Final = SqlType(Kind.MONTHS)
NULL: Final = SqlType(Kind.NULL)

TEXTUAL: Final = (Kind.STRING, Kind.BYTES)
"""Kinds whose columns are strings of Arrow; the order of octets is that of their characters."""

STRUCTURED: Final = (Kind.ARRAY, Kind.ROW, Kind.MAP)
"""Kinds whose values have parts; they are compared for equality only."""

FLOATING: Final = (Kind.FLOAT, Kind.DOUBLE)

INT_MIN: Final = -(2**31)
INT_MAX: Final = 2**31 - 1
BIGINT_MIN: Final = -(2**63)
BIGINT_MAX: Final = 2**63 - 1
UBIGINT_MAX: Final = 2**64 - 1
INTEGER_RANGES: Final[Mapping[Kind, tuple[int, int]]] = {
    Kind.TINYINT: (-(2**7), 2**7 - 1),
    Kind.UTINYINT: (0, 2**8 - 1),
    Kind.SMALLINT: (-(2**15), 2**15 - 1),
    Kind.USMALLINT: (0, 2**16 - 1),
    Kind.INT: (INT_MIN, INT_MAX),
    Kind.UINT: (0, 2**32 - 1),
    Kind.BIGINT: (BIGINT_MIN, BIGINT_MAX),
    Kind.UBIGINT: (0, UBIGINT_MAX),
}
"""The least and the greatest value of each integer type, from the fewest bits to the most.

A type without a sign follows the type with one that has as many bits."""
NUMERIC: Final = (*INTEGER_RANGES, Kind.DECIMAL, *FLOATING)
"""Numeric kinds: a value coerces implicitly to the right only, and among integers to a type that has all
values of its own."""
DECIMALS: Final = (Kind.DECIMAL, Kind.UBIGINT)
"""The kinds whose columns are decimals of Arrow."""
DECIMAL_DIGITS_MAX: Final = 38
DATE_MIN: Final = -719_162
"""0001-01-01 in days."""
DATE_MAX: Final = 2_932_896
"""9999-12-31 in days."""
DAY_US: Final = 86_400_000_000
TIMESTAMP_MIN: Final = -62_135_596_800_000_000
"""0001-01-01T00:00:00Z in microseconds."""
TIMESTAMP_MAX: Final = 253_402_300_799_999_999
"""9999-12-31T23:59:59.999999Z in microseconds."""
EVENT_TIME_MIN: Final = -62_104_060_800_000_000
"""The year 2: windows and bounds of time before event time are timestamps as well."""
EVENT_TIME_MAX: Final = 253_370_764_799_999_999
"""The end of the year 9998: windows and bounds of time after event time are timestamps as well."""


def has_range_of(wide: Kind, narrow: Kind) -> bool:
    """Return whether an integer type has all values of another one."""
    (least, greatest), (low, high) = INTEGER_RANGES[wide], INTEGER_RANGES[narrow]
    return least <= low and high <= greatest


def array_of(element: SqlType) -> SqlType:
    """Return the type of arrays of `element`."""
    return SqlType(Kind.ARRAY, element)


def row_of(fields: Iterable[tuple[str, SqlType]]) -> SqlType:
    """Return the type of rows with these fields."""
    return SqlType(Kind.ROW, fields=tuple(fields))


def is_unnamed(row: SqlType) -> bool:
    """Return whether the fields of a ROW have the names that `ROW(x, y)` gives: f1, f2 and so on."""
    return all(name == f"f{index}" for index, (name, _) in enumerate(row.fields, 1))


def same_names(left: SqlType, right: SqlType) -> bool:
    """Return whether the fields of two ROWs have the same names in the same order, or one has none."""
    alike = _lower_names(left) == _lower_names(right)
    return alike or is_unnamed(left) or is_unnamed(right)


def moves_fields(source: SqlType, target: SqlType) -> bool:
    """Return whether a field of one ROW has the name of a field at another place of the other ROW.

    Conversion field by field would then give the value of one name to another one.
    """
    names, others = _lower_names(source), _lower_names(target)
    if is_unnamed(source) or is_unnamed(target):
        return False
    return any(name in others and others.index(name) != at for at, name in enumerate(names))


def fields_one_by_one(row: SqlType, target: SqlType) -> str:
    """Return the help to write a ROW without the names of its fields; `…` is the row.

    If the target has fields of the same names, they are in its order: values keep their names.
    """
    names, others = _lower_names(row), _lower_names(target)
    ordered = [name for name, _ in row.fields]
    if sorted(names) == sorted(others):
        ordered.sort(key=lambda name: others.index(name.lower()))
    fields = ", ".join(f"(…).{_name_text(name)}" for name in ordered)
    return f"the names of the fields differ; take them one by one: ROW({fields})"


def _lower_names(row: SqlType) -> list[str]:
    return [name.lower() for name, _ in row.fields]


def map_of(key: SqlType, value: SqlType) -> SqlType:
    """Return the type of maps from `key`, which has no parts, to `value`."""
    assert key.kind not in STRUCTURED
    return SqlType(Kind.MAP, row_of((("key", key), ("value", value))))


def instants(zone: str) -> SqlType:
    """Return TIMESTAMP_LTZ, whose local times are those of a zone."""
    return SqlType(Kind.TIMESTAMP, zone=zone)


def with_fraction(type_: SqlType, digits: int | None) -> SqlType:
    """Return TIME(digits), TIMESTAMP(digits) or TIMESTAMP_LTZ(digits)."""
    return replace(type_, fraction=digits)


def _name_text(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else '"' + name.replace('"', '""') + '"'


def decimal_type(precision: int, scale: int) -> SqlType:
    """Return DECIMAL(precision, scale)."""
    return SqlType(Kind.DECIMAL, precision=precision, scale=scale)
