"""Type names to types."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Final

from fsql.compiler.binder.report import check_distinct, not_implemented, refusal
from fsql.compiler.diagnostics import Diagnostic, Label
from fsql.compiler.diagnostics.near_names import near_name
from fsql.compiler.sqltypes import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DECIMAL_DIGITS_MAX,
    DOUBLE,
    FLOAT,
    FRACTION_DIGITS_MAX,
    INT,
    INTERVAL,
    MONTHS,
    SMALLINT,
    STRING,
    STRUCTURED,
    TIME,
    TIMESTAMP,
    TINYINT,
    UBIGINT,
    UINT,
    USMALLINT,
    UTINYINT,
    SqlType,
    array_of,
    decimal_type,
    instants,
    map_of,
    row_of,
    with_fraction,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.diagnostics.report import Report
    from fsql.compiler.schema import JsonTexts
    from fsql.compiler.syntax import TypeName


def _units(units: Sequence[str]) -> list[str]:
    """Return the units, and their ranges from a longer to a shorter one."""
    return [*units, *(f"{one} TO {other}" for one, other in combinations(units, 2))]


DOCUMENT_TYPES: Final = ("JSON", "JSONB")
"""The names of the type of JSON documents in other systems; here they are texts."""

_PLAIN: Final[Mapping[str, SqlType]] = {
    "BOOLEAN": BOOLEAN,
    "BOOL": BOOLEAN,
    "TINYINT": TINYINT,
    "SMALLINT": SMALLINT,
    "INT2": SMALLINT,
    "INT": INT,
    "INTEGER": INT,
    "INT4": INT,
    "BIGINT": BIGINT,
    "INT8": BIGINT,
    **dict.fromkeys(("UTINYINT", "UINT8", "TINYINT UNSIGNED"), UTINYINT),
    **dict.fromkeys(("USMALLINT", "UINT16", "SMALLINT UNSIGNED"), USMALLINT),
    **dict.fromkeys(("UINT", "UINTEGER", "UINT32", "INT UNSIGNED", "INTEGER UNSIGNED"), UINT),
    **dict.fromkeys(("UBIGINT", "UINT64", "BIGINT UNSIGNED"), UBIGINT),
    "FLOAT": FLOAT,
    "REAL": FLOAT,
    "FLOAT4": FLOAT,
    "DOUBLE": DOUBLE,
    "FLOAT8": DOUBLE,
    "DOUBLE PRECISION": DOUBLE,
    "STRING": STRING,
    "TEXT": STRING,
    "VARCHAR": STRING,
    **dict.fromkeys(DOCUMENT_TYPES, STRING),
    "BYTES": BYTES,
    "BYTEA": BYTES,
    "VARBINARY": BYTES,
    "DATE": DATE,
    "TIME": TIME,
    "TIME WITHOUT TIME ZONE": TIME,
    "TIMESTAMP": TIMESTAMP,
    "TIMESTAMP WITHOUT TIME ZONE": TIMESTAMP,
    "INTERVAL": INTERVAL,
    **{f"INTERVAL {units}": INTERVAL for units in _units(("DAY", "HOUR", "MINUTE", "SECOND"))},
    **{f"INTERVAL {units}": MONTHS for units in _units(("YEAR", "MONTH"))},
}

_LATER: Final[Mapping[str, str | None]] = {
    "TIME WITH TIME ZONE": "TIME, which is in UTC",
    "HUGEINT": "DECIMAL(38, 0)",
    "MULTISET": None,
}
"""Types that are not implemented, with alternatives."""

ZONED: Final = (
    "TIMESTAMP_LTZ",
    "TIMESTAMPTZ",
    "TIMESTAMP WITH TIME ZONE",
    "TIMESTAMP WITH LOCAL TIME ZONE",
)
"""The names of the type of instants, which are shown in the time zone of the script."""
PADDED: Final = frozenset({"CHAR", "CHARACTER", "BINARY"})
"""The types to which casts pad a value that is shorter than their length."""
_BINARY: Final = frozenset({"BINARY", "VARBINARY"})
_LENGTH_MAX: Final = {
    "VARCHAR": 2**31 - 1,
    "VARBINARY": 2**31 - 1,
    **dict.fromkeys(PADDED, 65_535),
}
_DECIMAL: Final = ("DECIMAL", "DEC", "NUMERIC")
_DECIMAL_DIGITS: Final = 10
"""The digits of DECIMAL without arguments."""


def warn_of_type(name: TypeName, report: Report) -> None:
    """Warn of a DECIMAL without digits, which is not rounded elsewhere, and of NOT NULL inside."""
    if name.name in _DECIMAL and not name.numbers:
        label = Label(name.span, f"means DECIMAL({_DECIMAL_DIGITS}, 0)")
        helps = ("write the digits, and how many of them are after the point: DECIMAL(18, 4)",)
        report.warn(Diagnostic("W206", "values are rounded to whole numbers", label, helps=helps))
    for index, each in enumerate(name.arguments):
        if each.not_null and not (name.name == "MAP" and index == 0):
            helps = ("remove it: elements and fields may be NULL",)
            label = Label(each.span)
            report.warn(
                Diagnostic("W203", "NOT NULL inside a type has no effect", label, helps=helps)
            )
        warn_of_type(each, report)


def warn_of_documents(name: TypeName, report: Report) -> None:
    """Warn of JSON as the type of a column, or in it."""
    if name.name in DOCUMENT_TYPES:
        message = f"values of {name.name} are texts"
        label = Label(name.span, "means STRING")
        helps = ("a number, TRUE and FALSE are malformed in it: declare them with their own types",)
        report.warn(Diagnostic("W209", message, label, helps=helps))
    for each in name.arguments:
        warn_of_documents(each, report)


def declared_texts(name: TypeName) -> JsonTexts:
    """Return whether a type is that of JSON documents; of a ROW, for each field."""
    if name.name not in {"ROW", "STRUCT"}:
        return name.name in DOCUMENT_TYPES
    texts = tuple(declared_texts(each) for each in name.arguments)
    return texts if any(texts) else False


def is_type_name(name: str) -> bool:
    """Return whether a name in upper case is that of a type of the language."""
    structured = {"ARRAY", "MAP", "ROW", "STRUCT", "DECIMAL", "DEC", "NUMERIC", "NULL"}
    return name in {*_PLAIN, *ZONED, *PADDED, *structured}


def bind_type(name: TypeName, zone: str) -> SqlType:
    """Return the type that `name` names in a script with a time zone.

    Raises:
        Refusal: E216 for a name that is not a type, E301 for a type that is not implemented.
    """
    if name.name == "ARRAY" and len(name.arguments) == 1:
        return array_of(bind_type(name.arguments[0], zone))
    if name.name == "MAP":
        return _bind_map(name, zone)
    if name.fields:
        return _bind_row(name, zone)
    if name.name in _DECIMAL:
        return _decimal(name)
    if text_length(name) is not None:
        return BYTES if name.name in _BINARY else STRING
    if name.name in _LATER:
        instead = _LATER[name.name]
        raise not_implemented(f"the type {name.name}", name.span, help=instead and f"use {instead}")
    known = instants(zone) if name.name in ZONED else _PLAIN.get(name.name)
    if known is None:
        from fsql.compiler.dialects.advice.types import OTHER_TYPES

        instead = OTHER_TYPES.get(name.name)
        near = near_name(name.name, (*_PLAIN, *_DECIMAL, *ZONED))
        similar = f"a type with a similar name exists: {near}" if near else None
        raise refusal(
            "E216",
            f'type "{name.name}" does not exist',
            name.span,
            help=f"use {instead}" if instead else similar,
        )
    if name.numbers and not _digits_fit(name):
        raise _wrong_numbers(name)
    return with_fraction(known, name.numbers[0]) if name.numbers else known


def text_length(name: TypeName) -> int | None:
    """Return the n of VARCHAR(n), CHAR(n), VARBINARY(n) or BINARY(n), None for other types.

    CHAR and BINARY have length 1. Such a type is STRING or BYTES, and a column of it can have values of any
    length: only a cast changes values to the length.

    Raises:
        Refusal: E216 for a length that is not valid.
    """
    longest = _LENGTH_MAX.get(name.name)
    if longest is None or not (name.numbers or name.name in PADDED):
        return None
    length, *more = name.numbers or (1,)
    if more or not 0 < length <= longest:
        raise refusal(
            "E216",
            f"{name.name} does not have the length {', '.join(map(str, name.numbers))}",
            name.span,
            note=f"it has a length of 1 to {longest}",
        )
    return length


def length_inside(name: TypeName) -> TypeName | None:
    """Return a type with a length inside an ARRAY, ROW or MAP, if there is one."""
    for part in name.arguments:
        found = part if text_length(part) is not None else length_inside(part)
        if found is not None:
            return found
    return None


def _bind_map(name: TypeName, zone: str) -> SqlType:
    """Return the type `MAP<STRING, INT>`; NOT NULL of its keys is implied."""
    if len(name.arguments) != 2:
        raise refusal(
            "E216",
            "MAP takes two types, those of keys and of values",
            name.span,
            help="write MAP<STRING, BIGINT>",
        )
    written, value = name.arguments
    key = bind_type(written, zone)
    if key.kind in STRUCTURED:
        raise refusal(
            "E216",
            f"key of a MAP cannot be {key}",
            written.span,
            help="use a type without parts, such as STRING",
        )
    return map_of(key, bind_type(value, zone))


def _bind_row(name: TypeName, zone: str) -> SqlType:
    """Return the type `ROW<a INT, b STRING>`."""
    check_distinct(name.fields, "field")
    types = [bind_type(each, zone) for each in name.arguments]
    return row_of((field.name, each) for field, each in zip(name.fields, types, strict=True))


def _decimal(name: TypeName) -> SqlType:
    """Return DECIMAL(p, s); DECIMAL(p) has scale 0.

    Raises:
        Refusal: E216.
    """
    precision, scale, *more = *name.numbers, *(_DECIMAL_DIGITS, 0)[len(name.numbers) :]
    if more:
        raise refusal("E216", f"{name.name} takes two numbers, the digits and the scale", name.span)
    if not 0 < precision <= DECIMAL_DIGITS_MAX:
        raise refusal(
            "E216",
            f"{name.name} does not have {precision} digits",
            name.span,
            note=f"it has 1 to {DECIMAL_DIGITS_MAX} digits",
        )
    if scale > precision:
        raise refusal(
            "E216",
            f"{name.name} of {precision} digits does not have {scale} after the point",
            name.span,
            help=f"the digits come first: {name.name}({scale}, {precision})",
        )
    return decimal_type(precision, scale)


def _digits_fit(name: TypeName) -> bool:
    """Return whether the number after the type's name is a valid number of digits of fraction."""
    return (
        name.name.startswith("TIME")
        and len(name.numbers) == 1
        and name.numbers[0] <= FRACTION_DIGITS_MAX
    )


def _wrong_numbers(name: TypeName) -> Exception:
    if name.name.startswith("TIME"):
        kind = "TIMESTAMP" if name.name.startswith("TIMESTAMP") else "TIME"
        return refusal(
            "E216",
            f"{kind} does not have {name.numbers[0]} digits of fraction",
            name.span,
            note="times have microseconds: 0 to 6 digits; further ones in input are cut off",
        )
    help_ = None
    if "INT" in name.name:  # BIGINT(20), INT(10) UNSIGNED.
        help_ = f"write {name.name}: a width of display does not change the values"
    return refusal("E216", f'type "{name.name}" takes no numbers', name.span, help=help_)
