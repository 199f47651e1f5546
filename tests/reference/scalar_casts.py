"""Casts of values, and which values a type has."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fsql.compiler.sqltypes import (
    BIGINT_MAX,
    BIGINT_MIN,
    DATE_MAX,
    DATE_MIN,
    INT_MAX,
    INT_MIN,
    TIMESTAMP,
    TIMESTAMP_MAX,
    TIMESTAMP_MIN,
    Kind,
    SqlType,
)
from fsql.tests.reference import zones
from fsql.tests.reference.decimals import cast_of_decimal
from fsql.tests.reference.failure import (
    NOT_CASTABLE,
    OUT_OF_RANGE,
    TIMESTAMP_OUT_OF_RANGE,
    FailureError,
)
from fsql.tests.reference.lines import text
from fsql.tests.reference.octets import bytes_of, text_of
from fsql.tests.reference.scalar_maps import map_from
from fsql.tests.reference.scalar_structured import of_parts, with_parts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.compiler.expression import Value

RANGES: Final = {
    Kind.TINYINT: (-128, 127, OUT_OF_RANGE),
    Kind.SMALLINT: (-32_768, 32_767, OUT_OF_RANGE),
    Kind.INT: (INT_MIN, INT_MAX, OUT_OF_RANGE),
    Kind.BIGINT: (BIGINT_MIN, BIGINT_MAX, OUT_OF_RANGE),
    Kind.UTINYINT: (0, 255, OUT_OF_RANGE),
    Kind.USMALLINT: (0, 65_535, OUT_OF_RANGE),
    Kind.UINT: (0, 4_294_967_295, OUT_OF_RANGE),
    Kind.UBIGINT: (0, 18_446_744_073_709_551_615, OUT_OF_RANGE),
    Kind.INTERVAL: (BIGINT_MIN, BIGINT_MAX, OUT_OF_RANGE),
    Kind.MONTHS: (BIGINT_MIN, BIGINT_MAX, OUT_OF_RANGE),
    Kind.DATE: (DATE_MIN, DATE_MAX, TIMESTAMP_OUT_OF_RANGE),
    Kind.TIME: (0, 86_399_999_999, OUT_OF_RANGE),
    Kind.TIMESTAMP: (TIMESTAMP_MIN, TIMESTAMP_MAX, TIMESTAMP_OUT_OF_RANGE),
}
INTEGERS: Final = {
    *(Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT),
    *(Kind.UTINYINT, Kind.USMALLINT, Kind.UINT, Kind.UBIGINT),
}
DAY: Final = 86_400_000_000
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def in_range(value: Value, type_: SqlType) -> Value:
    """Return `value` if its type has it; of FLOAT the nearest value.

    Raises:
        FailureError: it is out of range.
    """
    if type_.kind is Kind.FLOAT and value is not None:
        return nearest_float(value)
    if type_.kind in RANGES and value is not None:
        least, greatest, code = RANGES[type_.kind]
        assert isinstance(value, int)
        if not least <= value <= greatest:
            raise FailureError(code)
    return value


def nearest_float(value: Any) -> float:
    """Return the number of 32 bits nearest to an integer or a DOUBLE."""
    with np.errstate(over="ignore"):
        number = np.array([value])  # of float64, int64 or uint64
        return float(number.astype(np.float32)[0])


def timestamp_of_text(value: str) -> int:
    """Read a TIMESTAMP as JSON input has it.

    Raises:
        FailureError: it is not one.
    """
    if re.fullmatch(r"\d{4}-\d\d-\d\d", value, re.ASCII):
        value += "T00:00"  # A day is its midnight.
    found = re.fullmatch(
        r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6})\d{0,3})?)?"
        r"(Z|([+-])(\d\d)(?::?(\d\d))?)?",
        value,
        re.ASCII,
    )
    if found is None:
        raise FailureError(NOT_CASTABLE)
    year, month, day, hour, minute = (int(part) for part in found.groups()[:5])
    second = int(found[6] or 0)
    microsecond = int((found[7] or "").ljust(6, "0"))
    try:
        moment = datetime(year, month, day, hour, minute, second, microsecond, UTC) - EPOCH
    except ValueError:
        raise FailureError(NOT_CASTABLE) from None
    if found[9] is not None:
        hours, minutes = int(found[10]), int(found[11] or 0)
        if hours > 23 or minutes > 59:
            raise FailureError(NOT_CASTABLE)
        zone = timedelta(hours=hours, minutes=minutes)
        moment = moment - zone if found[9] == "+" else moment + zone
    result = moment // timedelta(microseconds=1)
    if not TIMESTAMP_MIN <= result <= TIMESTAMP_MAX:
        raise FailureError(NOT_CASTABLE)
    return result


def cast(  # noqa: C901, PLR0911, PLR0912 - one a kind
    value: Value, given: SqlType, wanted: SqlType
) -> Value:
    """Return `CAST(value AS wanted)` of a value that is not NULL.

    Raises:
        FailureError: the type has no such value.
    """
    if isinstance(value, tuple) and wanted.kind is Kind.STRING:
        return of_parts(value, given, cast)
    if isinstance(value, str) and wanted.kind in {Kind.ARRAY, Kind.ROW, Kind.MAP}:
        return with_parts(value, wanted, cast)
    if isinstance(value, tuple):
        parts = tuple(
            None if item is None else cast(item, *types)
            for item, types in zip(value, cycle_of_types(given, wanted), strict=False)
        )
        return map_from(parts) if wanted.kind is Kind.MAP else parts
    if given == wanted:
        return value
    if wanted.fraction is not None:
        return cut(cast(value, given, wanted.without_fraction), wanted.fraction)
    if given.zone or wanted.zone:
        return cast_in_zone(value, given, wanted)
    if wanted.kind is given.kind and wanted.kind in {Kind.TIME, Kind.TIMESTAMP}:
        return value
    if wanted.kind is Kind.BYTES and isinstance(value, str):
        return value.encode().decode("latin-1")
    if given.kind is Kind.BYTES and isinstance(value, str):
        return text_of(bytes_of(value))
    if wanted.kind is Kind.STRING:
        return text(value, given)
    if isinstance(value, int) and Kind.TIME in {given.kind, wanted.kind}:
        return value % DAY
    if isinstance(value, int) and Kind.DATE in {given.kind, wanted.kind}:
        return value * DAY if given.kind is Kind.DATE else value // DAY
    if Kind.DECIMAL in {given.kind, wanted.kind}:
        return in_range(cast_of_decimal(value, given, wanted), wanted)
    if given.kind is wanted.kind:
        return value
    if given.kind is Kind.BOOLEAN:
        return 1 if value else 0
    if wanted.kind is Kind.BOOLEAN and isinstance(value, int):
        return value != 0
    if isinstance(value, str):
        return in_range(cast_of_text(value.strip(" "), wanted.kind), wanted)
    assert isinstance(value, int | float)
    if wanted.kind is Kind.FLOAT:
        return nearest_float(value)
    if wanted.kind is Kind.DOUBLE:
        return float(value)
    if not math.isfinite(value):
        raise FailureError(OUT_OF_RANGE)
    return in_range(math.trunc(value), wanted)


def cut(value: Value, digits: int) -> Value:
    """Return a time without the digits of fraction after the first ones."""
    assert isinstance(value, int)
    seconds, fraction = divmod(value, 1_000_000)
    return seconds * 1_000_000 + int(f"{fraction:06d}"[:digits].ljust(6, "0"))


def cast_in_zone(value: Value, given: SqlType, wanted: SqlType) -> Value:
    """Return the value of a cast from or to TIMESTAMP_LTZ.

    Raises:
        FailureError: the type has no such value.
    """
    if given.zone and wanted.zone:
        return value
    if given.zone:
        assert isinstance(value, int)
        if wanted.kind is Kind.STRING:
            return zones.with_offset(value, given.zone, given.fraction)
        return cast(zones.local(value, given.zone), TIMESTAMP, wanted)
    local = cast(value, given, TIMESTAMP)
    assert isinstance(local, int)
    if isinstance(value, str) and re.search(r":\d\d(\.\d+)?(Z|[+-]\d\d(:?\d\d)?) *$", value):
        return local
    return zones.instant(local, wanted.zone)


def try_cast(value: Value, given: SqlType, wanted: SqlType) -> Value:
    """Return `TRY_CAST(value AS wanted)`."""
    try:
        return None if value is None else cast(value, given, wanted)
    except FailureError:
        return None


def cycle_of_types(given: SqlType, wanted: SqlType) -> Iterator[tuple[SqlType, SqlType]]:
    """Yield the types of the parts of a value: of the fields in turn, or of the element again and again."""
    if given.element is not None and wanted.element is not None:
        return repeat((given.element, wanted.element))
    pairs = zip(given.fields, wanted.fields, strict=True)
    return ((before, after) for (_, before), (_, after) in pairs)


def cast_of_text(value: str, wanted: Kind) -> Value:
    """Return the value that a stripped string spells.

    Raises:
        FailureError: it spells none.
    """
    number = r"[+-]?(\d+|\d+\.\d*|\.\d+)([eE][+-]?\d+)?"
    truth = {"true": 1, "t": 1, "yes": 1, "y": 1, "on": 1, "1": 1} | dict.fromkeys(
        ("false", "f", "no", "n", "off", "0"), 0
    )
    match wanted:
        case Kind.BOOLEAN if value.lower() in truth:
            return truth[value.lower()] == 1
        case kind if kind in INTEGERS and re.fullmatch(r"[+-]?\d+", value, re.ASCII):
            return int(value)
        case Kind.FLOAT | Kind.DOUBLE if re.fullmatch(
            rf"{number}|nan|[+-]?inf(inity)?", value, re.ASCII | re.IGNORECASE
        ):
            return math.nan if value.lower() == "nan" else float(value)
        case Kind.TIMESTAMP:
            return timestamp_of_text(value)
        case Kind.TIME if re.fullmatch(r"[\d:.]{5,15}", value, re.ASCII):
            return timestamp_of_text(f"1970-01-01T{value}")
        case Kind.DATE:
            whole = timestamp_of_text(value)
            return timestamp_of_text(value[:10]) // DAY if len(value) > 10 else whole // DAY
        case _:
            raise FailureError(NOT_CASTABLE)
