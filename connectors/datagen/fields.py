"""The values of generated columns: functions of a seed, a column name and the row number."""

from __future__ import annotations

import hashlib
import math
from dataclasses import field
from decimal import InvalidOperation
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.durations import duration_us
from fsql.compiler.functions.dates import parse_date
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.functions.map_entries import map_of_entries
from fsql.compiler.functions.timestamps import parse_timestamp
from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import DECIMALS, INTEGER_RANGES, Kind
from fsql.connectors.datagen.values import BY_HASH, in_32_bits, reader_of
from fsql.connectors.generated.zipf_words import ZipfWords, mix
from fsql.runtime.arrow_types import (
    arrow_type,
    from_arrow,
    struct_of,
    to_arrow,
)
from fsql.runtime.decimals import column_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from fsql.compiler.expression import Value
    from fsql.compiler.schema import Column
    from fsql.compiler.sqltypes import SqlType
    from fsql.runtime.arrays import Ints

    Hashes = NDArray[np.uint64]

_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_FIRST_TIME: Final = parse_timestamp("2026-01-01")
_FIRST_DAY: Final = parse_date("2026-01-01")
_SECOND_US: Final = 1_000_000
_WHOLE: Final = {
    Kind.TINYINT: 7,
    Kind.SMALLINT: 15,
    Kind.UTINYINT: 8,
    Kind.USMALLINT: 16,
    Kind.UINT: 32,
    Kind.UBIGINT: 63,
    Kind.INT: 31,
    Kind.BIGINT: 63,
    Kind.DECIMAL: 63,
    Kind.DATE: 31,
    Kind.TIMESTAMP: 63,
}
"""The kinds whose values are made as integers, with the number of bits of each, without the sign."""
_SEQUENCE_BITS_MIN: Final = 31
"""Integers with fewer bits are too few for a sequence."""
_FLOATS: Final = (Kind.FLOAT, Kind.DOUBLE)
_TIMES: Final = (Kind.DATE, Kind.TIMESTAMP)
_ELEMENTS_MAX: Final = 3
_FRACTION_BITS: Final = 53


class Maker(Protocol):
    """Makes the values of a column in the rows with the given numbers."""

    def __call__(self, numbers: Ints) -> pa.Array:
        """Return the values."""


@dataclass(frozen=True, slots=True)
class FieldOptions:
    """The options `fields.NAME.…` of a column, and the microseconds between two rows."""

    column: str
    given: Mapping[str, str] = field(default_factory=dict)
    step_us: int = _SECOND_US

    def option_error(self, key: str, reason: str) -> FsqlError:
        """Return the error for an option."""
        message = f"option 'fields.{self.column}.{key}' {reason}"
        return FsqlError([Diagnostic("E534", message)])


def make_column(column: Column, seed: int, options: FieldOptions) -> Maker:
    """Return the function that makes the values of a column.

    Raises:
        FsqlError: E534, if the options do not fit its type.
    """
    key = _key(seed, column.name)
    maker = _maker(column.type, key, options)
    rate = options.given.get("null_rate")
    if rate is None:
        return maker
    part = _number(options, "null_rate", float)
    if not 0 <= part <= 1:
        raise options.option_error("null_rate", f"is {rate}; it must be from 0 to 1")
    if part and not column.nullable:
        raise options.option_error("null_rate", "cannot be more than 0: the column is NOT NULL")
    nulls = _key(seed, f"{column.name} is null")

    def with_nulls(numbers: Ints) -> pa.Array:
        mask = _fractions(_hashes(nulls, numbers)) < part
        values = maker(numbers)
        return pc.if_else(pa.array(mask), pa.nulls(len(mask), values.type), values)

    return with_nulls


def _key(seed: int, name: str) -> np.uint64:
    digest = hashlib.sha256(f"{seed} {name}".encode()).digest()
    return np.uint64(int.from_bytes(digest[:8], "little"))


def _hashes(key: np.uint64, numbers: Ints) -> Hashes:
    return mix(numbers.view(np.uint64) * _GOLDEN ^ key)


def _fractions(hashes: Hashes) -> NDArray[np.float64]:
    """Return numbers in `[0, 1)`."""
    return (hashes >> np.uint64(64 - _FRACTION_BITS)) / float(1 << _FRACTION_BITS)


def _maker(sql_type: SqlType, key: np.uint64, options: FieldOptions) -> Maker:
    kind = options.given.get("kind") or _default_kind(sql_type, options)
    _check_keys(sql_type, kind, options)
    if kind == "choice":
        return _choice(sql_type, key, options)
    if sql_type.kind in _WHOLE:
        if kind == "sequence" and _WHOLE[sql_type.kind] < _SEQUENCE_BITS_MIN:
            raise options.option_error("kind", f"cannot be sequence: the column is {sql_type}")
        make = _sequence if kind == "sequence" else _random_whole
        return make(sql_type, key, options)
    if sql_type.kind is Kind.STRING:
        return _numbered_text(options) if kind == "sequence" else _words(key, options)
    if kind == "sequence":
        raise options.option_error("kind", f"cannot be sequence: the column is {sql_type}")
    if sql_type.kind in _FLOATS:
        return _random_float(sql_type, key, options)
    made = BY_HASH.get(sql_type.kind)
    if made is not None:
        return lambda numbers: made(_hashes(key, numbers))
    return _nested_maker(sql_type, key, options)


def _default_kind(sql_type: SqlType, options: FieldOptions) -> str:
    if "values" in options.given:
        return "choice"
    if "start" in options.given or "step" in options.given:
        return "sequence"
    ordered = sql_type.kind in _TIMES and not {"min", "max"} & {*options.given}
    return "sequence" if ordered else "random"


def _check_keys(sql_type: SqlType, kind: str, options: FieldOptions) -> None:
    """Check that each option has an effect.

    Raises:
        FsqlError: E534.
    """
    bounded = sql_type.kind in _WHOLE or sql_type.kind in _FLOATS
    effective = {
        "choice": {"values"},
        "random": {"min", "max"} if bounded else set(),
        "sequence": {"start", "step"},
    }[kind]
    if sql_type.kind is Kind.TIMESTAMP and kind == "sequence":
        effective |= {"jitter"}
    if sql_type.kind is Kind.STRING and kind == "random":
        effective |= {"distinct"}
    for each in options.given:
        if each not in effective | {"kind", "null_rate"}:
            raise options.option_error(
                each, f"has no effect: the column is {sql_type}, made by {kind}"
            )


# --- Values that options name ---


def _number(options: FieldOptions, name: str, read: Callable[[str], Any]) -> Any:  # noqa: ANN401
    text = options.given[name]
    try:
        value = read(text)
    except (ValueError, InvalidOperation, RowFailure):
        raise options.option_error(
            name, f"is '{text}', which is not a value of the column"
        ) from None
    if isinstance(value, float) and not math.isfinite(value):
        raise options.option_error(name, f"is '{text}', which is not a value of the column")
    return value


def _whole(sql_type: SqlType, options: FieldOptions, name: str, default: int) -> int:
    """Return an option as an integer: digits of a DECIMAL, days of a DATE, microseconds of a TIMESTAMP.

    Raises:
        FsqlError: E534, if it is not a value of the type.
    """
    if name not in options.given:
        return default
    value: int = _number(options, name, reader_of(sql_type))
    bits = _WHOLE[sql_type.kind]
    most = min(1 << bits, 10**sql_type.precision) if sql_type.kind is Kind.DECIMAL else 1 << bits
    least = 0 if _is_unsigned(sql_type) else 1 - most
    if not least <= value < most:
        raise options.option_error(name, f"is {options.given[name]}, which is out of range")
    return value


def _is_unsigned(sql_type: SqlType) -> bool:
    return INTEGER_RANGES.get(sql_type.kind, (-1, 0))[0] == 0


def _column(values: Ints, sql_type: SqlType) -> pa.Array:
    """Return integers as a column."""
    kind = arrow_type(sql_type)
    if sql_type.kind in DECIMALS:
        return column_of(values, kind)
    if sql_type.kind is Kind.TIMESTAMP:
        return pa.array(values, pa.int64()).cast(kind)
    return pa.array(values.astype(kind.to_pandas_dtype()), kind)


# --- Kinds ---


def _sequence(sql_type: SqlType, key: np.uint64, options: FieldOptions) -> Maker:
    first = {Kind.TIMESTAMP: _FIRST_TIME, Kind.DATE: _FIRST_DAY}.get(sql_type.kind, 0)
    start = _whole(sql_type, options, "start", first)
    if sql_type.kind is Kind.TIMESTAMP:
        step = _duration(options, "step") or options.step_us
        jitter = _duration(options, "jitter") or 0
    else:
        one = 10**sql_type.scale if sql_type.kind is Kind.DECIMAL else 1
        read = reader_of(sql_type) if sql_type.kind is Kind.DECIMAL else int
        step = _number(options, "step", read) if "step" in options.given else one
        jitter = 0
        if step < 0 and _is_unsigned(sql_type):
            raise options.option_error(
                "step", f"is {step}; the column is {sql_type}, which has no negative values"
            )

    def make(numbers: Ints) -> pa.Array:
        values = start + numbers * step
        if jitter:
            values = values - (_hashes(key, numbers) % np.uint64(jitter + 1)).astype(np.int64)
        return _column(values, sql_type)

    return make


def _duration(options: FieldOptions, name: str) -> int | None:
    if name not in options.given:
        return None
    value = duration_us(options.given[name])
    if value is None:
        raise options.option_error(
            name, f"is '{options.given[name]}'; it must be a duration such as `10 s`"
        )
    return value


def _random_whole(sql_type: SqlType, key: np.uint64, options: FieldOptions) -> Maker:
    least_by_default, most_by_default = 0, 1000
    if sql_type.kind is Kind.DECIMAL:
        most_by_default = min(1000 * 10**sql_type.scale, 10**sql_type.precision - 1)
    elif sql_type.kind in INTEGER_RANGES:
        most_by_default = min(1000, INTEGER_RANGES[sql_type.kind][1])
    elif sql_type.kind in _TIMES:
        day = 86_400 * _SECOND_US if sql_type.kind is Kind.TIMESTAMP else 1
        least_by_default = _FIRST_TIME if sql_type.kind is Kind.TIMESTAMP else _FIRST_DAY
        most_by_default = least_by_default + 365 * day
    least = _whole(sql_type, options, "min", least_by_default)
    most = _whole(sql_type, options, "max", max(least, most_by_default))
    if most < least:
        raise options.option_error(
            "max", f"is {options.given['max']}, which is less than the minimum"
        )
    span = np.uint64(most - least + 1)

    def make(numbers: Ints) -> pa.Array:
        return _column((_hashes(key, numbers) % span).astype(np.int64) + least, sql_type)

    return make


def _random_float(sql_type: SqlType, key: np.uint64, options: FieldOptions) -> Maker:
    least = _number(options, "min", float) if "min" in options.given else 0.0
    most = _number(options, "max", float) if "max" in options.given else max(least, 1.0)
    if most < least:
        raise options.option_error(
            "max", f"is {options.given['max']}, which is less than the minimum"
        )

    def make(numbers: Ints) -> pa.Array:
        values = least + _fractions(_hashes(key, numbers)) * (most - least)
        return pa.array(values if sql_type.kind is Kind.DOUBLE else in_32_bits(values))

    return make


def _numbered_text(options: FieldOptions) -> Maker:
    start = _number(options, "start", int) if "start" in options.given else 0
    step = _number(options, "step", int) if "step" in options.given else 1
    return lambda numbers: pa.array(start + numbers * step).cast(pa.string())


def _words(key: np.uint64, options: FieldOptions) -> Maker:
    law = ZipfWords(int(options.given.get("distinct", "1000")))
    words = law.words()
    return lambda numbers: words.take(pa.array(law.ranks(_hashes(key, numbers))))


def _choice(sql_type: SqlType, key: np.uint64, options: FieldOptions) -> Maker:
    if "values" not in options.given:
        raise options.option_error(
            "kind", f"is choice; give the values: 'fields.{options.column}.values' = 'a, b'"
        )
    if sql_type.parts:
        raise options.option_error("values", f"cannot be given: the column is {sql_type}")
    texts = [each.strip() for each in options.given["values"].split(",")]
    values = []
    for text in texts:
        one = FieldOptions(options.column, {"values": text})
        values.append(_number(one, "values", reader_of(sql_type)))
    misfit = options.option_error("values", f"has a value that does not fit {sql_type}")
    if sql_type.kind in INTEGER_RANGES:
        low, high = INTEGER_RANGES[sql_type.kind]
        if not low <= min(values) <= max(values) <= high:
            raise misfit
    try:
        column = to_arrow(values, sql_type)
    except (pa.ArrowException, OverflowError, ValueError):
        raise misfit from None
    count = np.uint64(len(values))
    return lambda numbers: column.take(pa.array((_hashes(key, numbers) % count).astype(np.int64)))


def _nested_maker(sql_type: SqlType, key: np.uint64, options: FieldOptions) -> Maker:
    """Return the function that makes arrays, rows and maps, whose values have no options.

    Raises:
        FsqlError: E534, for another type.
    """
    plain = FieldOptions(options.column, step_us=options.step_us)
    inner = [
        _maker(part, mix(np.array([key + np.uint64(at + 1)]))[0], plain)
        for at, part in enumerate(sql_type.parts)
    ]
    if sql_type.fields:
        return lambda numbers: struct_of([make(numbers) for make in inner], sql_type, None)
    if sql_type.element is None:
        message = f'connector datagen cannot fill column "{options.column}": it is {sql_type}'
        raise FsqlError([Diagnostic("E534", message)])

    def lists(numbers: Ints) -> pa.Array:
        lengths = (_hashes(key, numbers) % np.uint64(_ELEMENTS_MAX + 1)).astype(np.int64)
        ends = np.append(0, np.cumsum(lengths))
        indexes = np.arange(ends[-1]) - np.repeat(ends[:-1], lengths)
        elements = inner[0](np.repeat(numbers, lengths) * (_ELEMENTS_MAX + 1) + indexes)
        return pa.ListArray.from_arrays(
            pa.array(ends, pa.int32()), elements, type=arrow_type(sql_type)
        )

    return lists if sql_type.kind is not Kind.MAP else partial(_maps, lists, sql_type)


def _maps(lists: Maker, sql_type: SqlType, numbers: Ints) -> pa.Array:
    """Return lists of entries as maps: sorted by key, without duplicate keys."""
    made = from_arrow(lists(numbers), sql_type)
    return to_arrow([map_of_entries(cast("tuple[Value, ...]", each)) for each in made], sql_type)
