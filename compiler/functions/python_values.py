"""Values as Python functions take and return them.

| SQL | Python |
|---|---|
| BOOLEAN, STRING | bool, str |
| integers, INTERVAL YEAR TO MONTH | int |
| FLOAT, DOUBLE | float; an int is taken as well |
| DECIMAL | decimal.Decimal; an int is taken as well |
| BYTES | bytes |
| DATE, TIME | datetime.date, datetime.time |
| TIMESTAMP | datetime.datetime with a time zone, given in UTC |
| INTERVAL | datetime.timedelta |
| ARRAY | list; a tuple is taken as well |
| ROW | dict by the names of the fields |
| NULL | None |
"""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.floats import to_float
from fsql.compiler.functions.map_entries import map_of_entries
from fsql.compiler.sqltypes import BIGINT, INTEGER_RANGES, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fsql.compiler.expression import Value
    from fsql.compiler.sqltypes import SqlType

_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_EPOCH_DAY: Final = _EPOCH.toordinal()
_MIDNIGHT: Final = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - a time of day has no zone
_MICROSECOND: Final = dt.timedelta(microseconds=1)


class NotOfTypeError(Exception):
    """A value of Python is not a value of a SQL type; the text states why."""


def to_python(value: Value, sql_type: SqlType) -> object:
    """Return a SQL value as a Python function takes it."""
    if value is None or sql_type.kind not in _TO_PYTHON:
        return value
    return _TO_PYTHON[sql_type.kind](value, sql_type)


def from_python(value: object, sql_type: SqlType) -> Value:
    """Return what a Python function returned as a SQL value.

    Raises:
        NotOfTypeError: it is of another type, or out of range.
    """
    return None if value is None else _FROM_PYTHON[sql_type.kind](value, sql_type)


def _decimal_of(value: Value, sql_type: SqlType) -> object:
    assert isinstance(value, int)
    digits = tuple(map(int, str(abs(value))))
    return Decimal((int(value < 0), digits, -sql_type.scale))


def _row_of(value: Value, sql_type: SqlType) -> object:
    assert isinstance(value, tuple)
    fields = zip(sql_type.fields, value, strict=True)
    return {name: to_python(each, type_) for (name, type_), each in fields}


_TO_PYTHON: Final[Mapping[Kind, Callable[..., object]]] = {
    Kind.BYTES: lambda value, _: value.encode("latin-1"),
    Kind.DECIMAL: _decimal_of,
    Kind.DATE: lambda value, _: dt.date.fromordinal(value + _EPOCH_DAY),
    Kind.TIME: lambda value, _: (_MIDNIGHT + value * _MICROSECOND).time(),
    Kind.TIMESTAMP: lambda value, _: _EPOCH + value * _MICROSECOND,
    Kind.INTERVAL: lambda value, _: dt.timedelta(microseconds=value),
    Kind.ARRAY: lambda value, type_: [to_python(each, type_.element) for each in value],
    Kind.ROW: _row_of,
    Kind.MAP: lambda value, type_: {
        to_python(key, type_.key): to_python(each, type_.value) for key, each in value
    },
}


def _wrong(value: object, sql_type: SqlType) -> NotOfTypeError:
    return NotOfTypeError(f"a value of type {type(value).__name__}, not {sql_type}")


def _out_of_range(sql_type: SqlType) -> NotOfTypeError:
    return NotOfTypeError(f"a value out of the range of {sql_type}")


def _boolean(value: object, sql_type: SqlType) -> Value:
    if not isinstance(value, bool):
        raise _wrong(value, sql_type)
    return value


def _integer(value: object, sql_type: SqlType) -> Value:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _wrong(value, sql_type)
    low, high = INTEGER_RANGES.get(sql_type.kind, INTEGER_RANGES[BIGINT.kind])
    if not low <= value <= high:
        raise _out_of_range(sql_type)
    return int(value)


def _to_floating_point(value: object, sql_type: SqlType) -> Value:
    if not isinstance(value, float | int) or isinstance(value, bool):
        raise _wrong(value, sql_type)
    try:
        number = float(value)
    except OverflowError:
        raise _out_of_range(sql_type) from None
    if math.isnan(number):
        return math.nan  # the canonical one
    return to_float(number) if sql_type.kind is Kind.FLOAT else number


def _decimal(value: object, sql_type: SqlType) -> Value:
    if not isinstance(value, Decimal | int) or isinstance(value, bool):
        raise _wrong(value, sql_type)
    sign, digits, exponent = Decimal(value).as_tuple()
    if not isinstance(exponent, int):
        raise _out_of_range(sql_type)
    unscaled = int("".join(map(str, digits)))
    shift = exponent + sql_type.scale
    if unscaled and shift > sql_type.precision:
        raise _out_of_range(sql_type)
    if shift >= 0:
        unscaled *= 10 ** min(shift, sql_type.precision)
    else:
        cut = 10 ** min(-shift, len(digits) + 1)
        if unscaled % cut:
            raise NotOfTypeError(f"a number with more digits after the point than {sql_type} has")
        unscaled //= cut
    if unscaled >= 10**sql_type.precision:
        raise _out_of_range(sql_type)
    return -unscaled if sign else unscaled


def _text(value: object, sql_type: SqlType) -> Value:
    if not isinstance(value, str):
        raise _wrong(value, sql_type)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise NotOfTypeError("a text with a surrogate, which is not a character") from None
    return str(value)


def _octets(value: object, sql_type: SqlType) -> Value:
    if not isinstance(value, bytes):
        raise _wrong(value, sql_type)
    return value.decode("latin-1")


def _date(value: object, sql_type: SqlType) -> Value:
    if not isinstance(value, dt.date) or isinstance(value, dt.datetime):
        raise _wrong(value, sql_type)
    return value.toordinal() - _EPOCH_DAY


def _time(value: object, sql_type: SqlType) -> Value:
    if not isinstance(value, dt.time):
        raise _wrong(value, sql_type)
    if value.tzinfo is not None:
        raise NotOfTypeError("a time with a time zone")
    return (dt.datetime.combine(_MIDNIGHT, value) - _MIDNIGHT) // _MICROSECOND


def _timestamp(value: object, sql_type: SqlType) -> Value:
    if not isinstance(value, dt.datetime):
        raise _wrong(value, sql_type)
    if value.utcoffset() is None:
        raise NotOfTypeError("a datetime without a time zone")
    try:
        return (value.astimezone(dt.UTC) - _EPOCH) // _MICROSECOND
    except OverflowError:
        raise _out_of_range(sql_type) from None


def _interval(value: object, sql_type: SqlType) -> Value:
    if not isinstance(value, dt.timedelta):
        raise _wrong(value, sql_type)
    microseconds = value // _MICROSECOND
    low, high = INTEGER_RANGES[BIGINT.kind]
    if not low <= microseconds <= high:
        raise _out_of_range(sql_type)
    return microseconds


def _array(value: object, sql_type: SqlType) -> Value:
    if not isinstance(value, list | tuple):
        raise _wrong(value, sql_type)
    assert sql_type.element is not None
    return tuple(from_python(each, sql_type.element) for each in value)


def _row(value: object, sql_type: SqlType) -> Value:
    if not isinstance(value, dict):
        raise _wrong(value, sql_type)
    names = [name for name, _ in sql_type.fields]
    if value.keys() != set(names):
        raise NotOfTypeError(f"a dict with other keys than {sql_type} has fields")
    return tuple(from_python(value[name], type_) for name, type_ in sql_type.fields)


def _map(value: object, sql_type: SqlType) -> Value:
    if not isinstance(value, dict):
        raise _wrong(value, sql_type)
    if None in value:
        raise NotOfTypeError(f"a dict with the key None, which is not a key of {sql_type}")
    entries = [
        (from_python(key, sql_type.key), from_python(each, sql_type.value))
        for key, each in value.items()
    ]
    return map_of_entries(entries)


_FROM_PYTHON: Final[Mapping[Kind, Callable[[object, SqlType], Value]]] = {
    Kind.BOOLEAN: _boolean,
    **dict.fromkeys(INTEGER_RANGES, _integer),
    Kind.MONTHS: _integer,
    Kind.DECIMAL: _decimal,
    Kind.FLOAT: _to_floating_point,
    Kind.DOUBLE: _to_floating_point,
    Kind.STRING: _text,
    Kind.BYTES: _octets,
    Kind.DATE: _date,
    Kind.TIME: _time,
    Kind.TIMESTAMP: _timestamp,
    Kind.INTERVAL: _interval,
    Kind.ARRAY: _array,
    Kind.ROW: _row,
    Kind.MAP: _map,
}
