"""The types of columns that are not declared: the narrowest type that holds all values of a sample.

What is known of a column is a `Seen`, to which each value adds; at the end it becomes a type.  A column whose
values have no common type is a STRING, which takes any value, and a note says so.  A later value that does
not fit is a malformed row.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final, TypeAlias

from fsql.compiler.functions.dates import parse_date
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.functions.timestamps import parse_timestamp
from fsql.compiler.schema import Column, InferenceNote
from fsql.compiler.sqltypes import (
    BIGINT,
    BIGINT_MAX,
    BIGINT_MIN,
    DATE,
    DECIMAL_DIGITS_MAX,
    DOUBLE,
    NULL,
    STRING,
    TIMESTAMP,
    Kind,
    SqlType,
    array_of,
    decimal_type,
    map_of,
    row_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.schema import Schema

_EXPONENT_MAX: Final = 400
"""A number with more digits after or before its point is outside the range of all types."""
_TEXTS: Final = frozenset({Kind.STRING, Kind.DATE, Kind.TIMESTAMP})


class NotInferredError(Exception):
    """Columns cannot be inferred; the text says why, and `helps` what to do besides declaring them."""

    def __init__(self, reason: str, *helps: str) -> None:
        super().__init__(reason)
        self.helps = helps


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers with up to `whole` digits before the point and up to `scale` after it.

    `bigint` says whether all are of BIGINT, `doubles` whether DOUBLE has each with all of its digits, and
    `integers` whether none has a point or an exponent.
    """

    whole: int
    scale: int
    bigint: bool
    doubles: bool
    integers: bool

    def __str__(self) -> str:
        """Return the name of the type."""
        return str(self.sql_type() or "number")

    def sql_type(self) -> SqlType | None:
        """Return the narrowest type that holds the numbers; None if no type of numbers does."""
        if self.bigint:
            return BIGINT
        fits = self.whole + self.scale <= DECIMAL_DIGITS_MAX
        if self.integers and fits:
            return decimal_type(DECIMAL_DIGITS_MAX, 0)
        if self.doubles:
            return DOUBLE
        return decimal_type(DECIMAL_DIGITS_MAX, self.scale) if fits else None

    def with_(self, other: Numbers) -> Numbers:
        """Return what is known of the numbers of both."""
        return Numbers(
            max(self.whole, other.whole),
            max(self.scale, other.scale),
            self.bigint and other.bigint,
            self.doubles and other.doubles,
            self.integers and other.integers,
        )


@dataclass(frozen=True, slots=True)
class Elements:
    """Arrays, and what is known of their elements."""

    element: Seen

    def __str__(self) -> str:
        """Return the name of the type."""
        return f"ARRAY<{self.element}>"


@dataclass(frozen=True, slots=True)
class Fields:
    """Objects, and what is known of each of their fields, in the order of their first appearance."""

    fields: tuple[tuple[str, Seen], ...]

    def __str__(self) -> str:
        """Return the name of the type."""
        return f"ROW<{', '.join(f'{name} {seen}' for name, seen in self.fields)}>"


@dataclass(frozen=True, slots=True)
class Mixed:
    """Values without a common type: those of `one` and of `other` were the first two."""

    one: str
    other: str

    def __str__(self) -> str:
        """Return what a message says of it."""
        return f"{self.one} and {self.other}"


Seen: TypeAlias = "SqlType | Numbers | Elements | Fields | Mixed"


def number_seen(text: str) -> Numbers:
    """Return what is known of a number from its text, which is one of JSON or of CSV."""
    number = Decimal(text)
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    if abs(number.adjusted()) > _EXPONENT_MAX:
        return Numbers(_EXPONENT_MAX, 0, bigint=False, doubles=False, integers=False)
    integers = text.lstrip("+-").isdigit()
    whole = max(len(digits) + exponent, 1)
    bigint = integers and BIGINT_MIN <= int(number) <= BIGINT_MAX
    approximate = float(number)
    doubles = Decimal(repr(approximate)) == number
    return Numbers(whole, max(-exponent, 0), bigint, doubles, integers)


def type_of_text(text: str) -> SqlType:
    """Return TIMESTAMP or DATE for a text that is a valid one, else STRING."""
    for parse, sql_type in ((parse_date, DATE), (parse_timestamp, TIMESTAMP)):
        try:
            parse(text)
        except RowFailure:
            continue
        return sql_type
    return STRING


def common(one: Seen, other: Seen) -> Seen:  # noqa: PLR0911 - one for each pair of kinds
    """Return what is known of the values of both."""
    if other in (one, NULL) or isinstance(one, Mixed):
        return one
    if one == NULL or isinstance(other, Mixed):
        return other
    match one, other:
        case Numbers(), Numbers():
            return one.with_(other)
        case Elements(), Elements():
            return Elements(common(one.element, other.element))
        case Fields(), Fields():
            known, added = dict(one.fields), dict(other.fields)
            names = (*known, *(name for name in added if name not in known))
            return fields_seen(
                {name: common(known.get(name, NULL), added.get(name, NULL)) for name in names}
            )
        case SqlType(), SqlType() if {one.kind, other.kind} <= _TEXTS:
            return STRING
    return Mixed(str(one), str(other))


def fields_seen(fields: Mapping[str, Seen]) -> Fields:
    """Return what is known of objects with these fields."""
    return Fields(tuple(fields.items()))


def inferred_schema(types: Mapping[str, Seen]) -> tuple[Schema, tuple[InferenceNote, ...]]:
    """Return columns with these values, and notes about those without a common type."""
    columns: list[Column] = []
    notes: list[InferenceNote] = []
    for name, seen in types.items():
        texts: list[str] = []
        columns.append(Column(name, declared_type(seen, name, texts)))
        notes += [InferenceNote(name, text) for text in texts]
    return tuple(columns), tuple(notes)


def declared_type(seen: Seen, name: str, notes: list[str]) -> SqlType:  # noqa: PLR0911
    """Return the type of a column; if all values were NULL, it is STRING.

    Where values have no common type, it is STRING, too, and a note about the field `name` is added.  An
    object without fields is a MAP, because a ROW needs at least one.
    """
    match seen:
        case Mixed():
            notes.append(f'"{name}" is STRING: its values are {seen}')
            return STRING
        case Numbers():
            sql_type = seen.sql_type()
            if sql_type is None:
                notes.append(f'"{name}" is STRING: no type of numbers holds all of its digits')
                return STRING
            return sql_type
        case Elements():
            return array_of(declared_type(seen.element, f"{name}[]", notes))
        case Fields(()):
            return map_of(STRING, STRING)
        case Fields():
            return row_of(
                [(key, declared_type(each, f"{name}.{key}", notes)) for key, each in seen.fields]
            )
        case SqlType():
            return STRING if seen == NULL else seen
