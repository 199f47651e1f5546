"""Casts: the kernel of `CAST(argument AS type)` for each supported pair of kinds."""

from __future__ import annotations

from functools import partial as partial_of
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.compiler.functions.casts import FALSE_WORDS, TRUE_WORDS, cast_value, format_double
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.functions.timestamps import format_timestamp
from fsql.compiler.sqltypes import (
    DATE_MAX,
    DATE_MIN,
    DAY_US,
    DECIMALS,
    INTEGER_RANGES,
    TIMESTAMP,
    TIMESTAMP_MAX,
    TIMESTAMP_MIN,
    Kind,
    SqlType,
    has_range_of,
)
from fsql.runtime.arrow_types import (
    arrow_type,
    date_texts,
    from_arrow,
    nearest_floats,
    shortest_doubles,
    time_texts,
    to_arrow,
)
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.few_rows import FEW_ROWS
from fsql.runtime.kernels.expressions.functions_decimal import decimal_cast, decimal_texts
from fsql.runtime.kernels.expressions.functions_map import by_keys
from fsql.runtime.kernels.expressions.functions_ubigint import cast_to_ubigint, floats_of_ubigint
from fsql.runtime.kernels.expressions.rows import cast_lists, cast_rows
from fsql.runtime.kernels.expressions.strict import from_text, over_dictionary, partial, total
from fsql.runtime.kernels.expressions.timestamps import (
    format_instants,
    format_timestamps,
    parse_dates,
    parse_instants,
    parse_times,
    parse_timestamps,
    to_instants,
    to_local,
)
from fsql.runtime.kernels.expressions.vectors import (
    DTYPES,
    OUT_OF_RANGE,
    UNREADABLE_TEXT,
    Vector,
    both_valid,
    codes_where,
    first_failure,
    fixed_values,
    from_array,
    plain_values,
    to_array,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from fsql.compiler.expression import Value
    from fsql.runtime.kernels.expressions.strict import Parse
    from fsql.runtime.kernels.expressions.vectors import Codes, Kernel

    Array = NDArray[Any]
    Bytes = NDArray[np.uint8]
    """`(positions, texts)`"""


_NUMBER: Final = (
    r"\A([+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|(?i:nan|[+-]?inf(inity)?))\z"
)

_USUAL: Final = r"\A-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?\z"
"""The numbers that Arrow reads as Python does."""

_EXPONENT: Final = r"[eE][+-]?[0-9]{3}"

_SHORT: Final = 100
"""A number of at most this many characters, with an exponent of at most two digits, is finite."""

_DIGITS_MAX: Final = 19
"""More digits than this, without leading zeros, are out of the range of BIGINT; 19 digits fit uint64."""


def cast_kernel(  # noqa: C901, PLR0911 - one for each kind
    source: SqlType, target: SqlType
) -> Kernel:
    """Return the kernel of the cast from `source` to `target`."""
    if source == target:
        return _identity
    if source.kind is Kind.NULL:
        return _nulls(target)
    if Kind.STRING in {source.kind, target.kind} and (source.parts or target.parts):
        return cast_by_value(source, target)
    if source.fields:
        kernels = [*map(cast_kernel, source.field_types, target.field_types)]
        return cast_rows(source, target, kernels)
    if source.element is not None and target.element is not None:
        cast = cast_lists(source, target, cast_kernel(source.element, target.element))
        return (
            by_keys(cast, target) if target.kind is Kind.MAP and source.key != target.key else cast
        )
    if target.kind is Kind.UBIGINT:
        return cast_to_ubigint(source)
    if source.kind is Kind.UBIGINT and target.kind is Kind.FLOAT:
        return total(floats_of_ubigint)
    if target.kind is Kind.DECIMAL or (source.kind in DECIMALS and target.kind is not Kind.STRING):
        return decimal_cast(source, target)
    if Kind.BYTES in {source.kind, target.kind}:
        return over_dictionary(_between_texts(source, target))
    if target.fraction is not None:
        cast = cast_kernel(source, target.without_fraction)
        return _compose(cast, total(partial_of(cut_times, target.unit_us)))
    if source.zone or target.zone:
        return _zone_cast(source, target)
    return _plain_cast(source, target)


def _plain_cast(source: SqlType, target: SqlType) -> Kernel:
    """Return the kernel of a cast between types without parts, zones or digits of fraction."""
    if source.kind is target.kind:
        return _identity
    if source.kind is Kind.STRING:
        return over_dictionary(
            from_text(
                _PARSERS[target.kind],
                lambda text: cast_value(text, source, target),
                DTYPES[target.kind],
            )
        )
    if target.kind is Kind.STRING:
        return _to_text(source)
    return _between_numbers(source.kind, target.kind)


def _zone_cast(source: SqlType, target: SqlType) -> Kernel:
    """Return the kernel of a cast from or to TIMESTAMP_LTZ."""
    if source.zone and target.zone:
        return _identity
    if target.kind is Kind.STRING:
        return _to_text(source)
    if source.kind is Kind.STRING:
        parse = parse_instants(target.zone)
        return over_dictionary(
            from_text(parse, lambda text: cast_value(text, source, target), DTYPES[Kind.TIMESTAMP])
        )
    if source.zone:
        return _compose(partial(to_local(source.zone)), cast_kernel(TIMESTAMP, target))
    return _compose(cast_kernel(source, TIMESTAMP), partial(to_instants(target.zone)))


def cut_times(unit_us: int, values_us: Array) -> Array:
    """Return times without the digits of fraction below a unit."""
    return values_us - values_us % unit_us


def _compose(first: Kernel, second: Kernel) -> Kernel:
    return lambda arguments: second([first(arguments)])


def try_cast_kernel(source: SqlType, target: SqlType) -> Kernel:
    """Return the kernel of TRY_CAST: values whose cast fails become NULL."""
    cast = cast_kernel(source, target)

    def kernel(arguments: Sequence[Vector]) -> Vector:
        (argument,) = arguments
        made = cast([argument._replace(failed=None)])
        values, valid = made.values, made.valid
        if made.failed is not None:
            valid = both_valid(valid, made.failed == 0)
            if not isinstance(values, np.ndarray):
                # Arrow values contain their NULLs.
                indexes = pa.array(np.arange(len(values)), mask=made.failed != 0)
                values = values.take(indexes)
        return Vector(values, valid, argument.failed)

    return kernel


def _identity(arguments: Sequence[Vector]) -> Vector:
    return arguments[0]


def _nulls(target: SqlType) -> Kernel:
    def kernel(arguments: Sequence[Vector]) -> Vector:
        (argument,) = arguments
        nulls = from_array(pa.nulls(len(argument.values), arrow_type(target)), target)
        return Vector(nulls.values, nulls.valid, argument.failed)

    return kernel


def _between_numbers(source: Kind, target: Kind) -> Kernel:  # noqa: PLR0911 - one for each kind
    dtype = DTYPES[target]
    if Kind.BOOLEAN in {source, target}:
        return total(lambda values: values.astype(dtype))
    if Kind.TIME in {source, target}:
        return total(lambda micros: micros % DAY_US)
    if source is Kind.DATE:
        return total(lambda days: days.astype(dtype) * DAY_US)
    if target is Kind.DATE:
        return total(lambda micros: (micros // DAY_US).astype(dtype))
    if target is Kind.FLOAT:
        return total(_to_floats)
    if target is Kind.DOUBLE:
        return total(lambda values: values.astype(dtype))
    if source is Kind.DOUBLE or source is Kind.FLOAT:
        return partial(_double_to_bigint if target is Kind.BIGINT else _double_to_integer(target))
    if has_range_of(target, source):
        return total(lambda values: values.astype(dtype))
    return partial(_narrower(target))


def _to_floats(values: Array) -> Array:
    if values.dtype == np.float64:
        return nearest_floats(values)
    return values.astype(np.float32).astype(np.float64)


def _narrower(target: Kind) -> Callable[[Array], tuple[Array, Codes | None]]:
    least, greatest = INTEGER_RANGES[target]

    def narrow(values: Array) -> tuple[Array, Codes | None]:
        outside = (values < least) | (values > greatest)
        return values.astype(DTYPES[target]), codes_where(outside, OUT_OF_RANGE)

    return narrow


def _double_to_integer(target: Kind) -> Callable[[Array], tuple[Array, Codes | None]]:
    """Return the conversion to an integer type of at most 32 bits, whose limits are exact as doubles."""
    least, greatest = INTEGER_RANGES[target]

    def truncate(values: Array) -> tuple[Array, Codes | None]:
        inside = (values > least - 1.0) & (values < greatest + 1.0)
        whole = np.where(inside, values, 0.0).astype(DTYPES[target])
        return whole, codes_where(~inside, OUT_OF_RANGE)

    return truncate


def _double_to_bigint(values: Array) -> tuple[Array, Codes | None]:
    inside = (values >= -(2.0**63)) & (values < 2.0**63)
    return np.where(inside, values, 0.0).astype(np.int64), codes_where(~inside, OUT_OF_RANGE)


def _between_texts(source: SqlType, target: SqlType) -> Kernel:
    """Return the kernel of a cast between STRING and BYTES."""

    def kernel(arguments: Sequence[Vector]) -> Vector:
        (argument,) = arguments
        values: list[Value] = []
        codes = np.zeros(len(argument.values), np.int16)
        for index, value in enumerate(plain_values(argument).to_pylist()):
            try:
                values.append(cast_value(value, source, target))
            except RowFailure as failure:
                values.append("")
                codes[index] = failure.code
        own = codes if codes.any() else None
        return Vector(to_arrow(values, target), argument.valid, first_failure(argument.failed, own))

    return kernel


def _to_text(source: SqlType) -> Kernel:
    """Return the kernel of a cast to STRING: as in JSON output, without quotes."""

    def kernel(arguments: Sequence[Vector]) -> Vector:
        (argument,) = arguments
        texts = _texts(argument, source)
        if argument.valid is not None:
            texts = pc.if_else(pa.array(np.broadcast_to(argument.valid, len(texts))), texts, None)
        return Vector(texts, argument.valid, argument.failed)

    return kernel


def _texts(vector: Vector, source: SqlType) -> pa.StringArray:  # noqa: PLR0911 - one for each kind
    """Return strings for all values; values under a NULL or a failure may be out of the type's range."""
    values = vector.values
    match source.kind:
        case Kind.FLOAT:
            return _double_texts(shortest_doubles(values))
        case Kind.DOUBLE:
            return _double_texts(values)
        case Kind.DECIMAL | Kind.UBIGINT:
            return decimal_texts(values, source)
        case Kind.TIME:
            return time_texts(values % DAY_US, source.fraction)
        case Kind.DATE:
            return date_texts(np.clip(values, DATE_MIN, DATE_MAX))
        case Kind.TIMESTAMP:
            values = np.clip(values, TIMESTAMP_MIN, TIMESTAMP_MAX)
            if source.zone not in {"", "UTC"}:
                return format_instants(values, source.zone, source.fraction)
            if len(values) <= FEW_ROWS:
                texts = [format_timestamp(value, source.fraction) for value in values.tolist()]
                return pa.array(texts, pa.string())
            return format_timestamps(values, source.fraction)
        case Kind.BOOLEAN:
            return to_array(Vector(values), source, len(values)).cast(pa.string())
        case _:
            return pa.array(values).cast(pa.string())


def _double_texts(values: NDArray[np.float64]) -> pa.StringArray:
    if len(values) <= FEW_ROWS:
        return pa.array([format_double(value) for value in values.tolist()], pa.string())
    encoded = pa.array(values.view(np.int64)).dictionary_encode()
    distinct = fixed_values(encoded.dictionary, np.dtype(np.float64)).tolist()
    texts = pa.array([format_double(value) for value in distinct], pa.string())
    return texts.take(encoded.indices)


def _strip(texts: pa.StringArray) -> pa.StringArray:
    """Return the texts without the spaces around them, and without NULL."""
    return pc.ascii_trim(texts, " ").fill_null("")


def _parse_booleans(texts: pa.StringArray) -> tuple[Array, Codes | None]:
    words = pc.ascii_lower(_strip(texts))
    yes, no = (
        _bools(pc.is_in(words, pa.array(each, pa.string()))) for each in (TRUE_WORDS, FALSE_WORDS)
    )
    return yes, codes_where(~(yes | no), UNREADABLE_TEXT)


def _bools(array: pa.BooleanArray) -> NDArray[np.bool_]:
    """Return a boolean array without NULL as NumPy's."""
    return fixed_values(array, np.dtype(np.bool_))


def _parse_integers(least: int, greatest: int, dtype: np.dtype[Any]) -> Parse:
    """Return the parser of an optional sign and digits."""

    def parse(texts: pa.StringArray) -> tuple[Array, Codes | None]:
        texts = _strip(texts)
        negative = pc.starts_with(texts, "-")
        signed = pc.or_(negative, pc.starts_with(texts, "+"))
        digits = pc.if_else(signed, pc.utf8_slice_codeunits(texts, 1), texts)
        readable = pc.ascii_is_decimal(digits)
        digits = pc.ascii_ltrim(digits, "0")
        short = pc.less_equal(pc.binary_length(digits), _DIGITS_MAX)
        usable = pc.and_(pc.and_(readable, short), pc.not_equal(digits, ""))
        magnitude = np.asarray(pc.if_else(usable, digits, "0").cast(pa.uint64()))
        below_zero = _bools(negative)
        limit = np.where(below_zero, np.uint64(-least), np.uint64(greatest))
        beyond = (magnitude > limit) | ~_bools(short)
        values = np.where(below_zero, np.uint64(0) - magnitude, magnitude).view(np.int64)
        if _bools(readable).all() and not beyond.any():
            return values.astype(dtype), None
        codes = np.where(beyond, np.int16(OUT_OF_RANGE), np.int16(0))
        return values.astype(dtype), np.where(_bools(readable), codes, np.int16(UNREADABLE_TEXT))

    return parse


def _parse_doubles(texts: pa.StringArray) -> tuple[Array, Codes | None]:
    """Parse numbers, in Python those that are long, have a great exponent or unusual forms such as `.5`."""
    texts = _strip(texts)
    short = pc.less_equal(pc.binary_length(texts), _SHORT)
    usual = pc.and_(pc.match_substring_regex(texts, _USUAL), short)
    usual = pc.and_(usual, pc.invert(pc.match_substring_regex(texts, _EXPONENT)))
    values = np.array(pc.if_else(usual, texts, "0").cast(pa.float64()))
    readable = _bools(usual).copy()
    rest = np.flatnonzero(~readable)
    if not len(rest):
        return values, None
    others = texts.take(pa.array(rest))
    readable[rest] = read = _bools(pc.match_substring_regex(others, _NUMBER))
    values[rest[read]] = list(map(float, others.filter(pa.array(read)).to_pylist()))
    return values, codes_where(~readable, UNREADABLE_TEXT)


def _parse_floats(texts: pa.StringArray) -> tuple[Array, Codes | None]:
    values, codes = _parse_doubles(texts)
    return nearest_floats(values), codes


_PARSERS: Final[dict[Kind, Parse]] = {
    Kind.BOOLEAN: _parse_booleans,
    **{
        kind: _parse_integers(*ends, DTYPES[kind])
        for kind, ends in INTEGER_RANGES.items()
        if kind in DTYPES
    },
    Kind.FLOAT: _parse_floats,
    Kind.DOUBLE: _parse_doubles,
    Kind.DATE: lambda texts: parse_dates(pc.ascii_trim(texts, " ")),
    Kind.TIME: lambda texts: parse_times(pc.ascii_trim(texts, " ")),
    Kind.TIMESTAMP: lambda texts: parse_timestamps(pc.ascii_trim(texts, " ")),
}

# Casts between STRING and the types with parts, whose texts have no columnar form.


def cast_by_value(source: SqlType, target: SqlType) -> Kernel:
    """Return the kernel of a cast between STRING and a type with parts, which is made for each row."""

    def kernel(arguments: Sequence[Vector]) -> Vector:
        (argument,) = arguments
        count = len(argument.values)
        given = from_arrow(decode_dictionary(to_array(argument, source, count)), source)
        if argument.failed is not None:
            usable = np.broadcast_to(argument.failed, count) == 0
            given = [value if each else None for value, each in zip(given, usable, strict=True)]
        values: list[Value] = []
        codes = np.zeros(count, np.int16)
        for index, value in enumerate(given):
            try:
                values.append(cast_value(value, source, target))
            except RowFailure as failure:
                values.append(None)
                codes[index] = failure.code
        own = codes if codes.any() else None
        made, valid, _ = from_array(to_arrow(values, target), target)
        return Vector(made, valid, first_failure(argument.failed, own))

    return kernel
