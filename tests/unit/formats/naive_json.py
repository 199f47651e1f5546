"""JSON lines written value by value: what the columnar encoder has to give, and values to try it on."""

from __future__ import annotations

import base64
import json
import math
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st

from fsql.compiler.sqltypes import (
    BIGINT,
    BIGINT_MAX,
    BIGINT_MIN,
    BOOLEAN,
    BYTES,
    DATE,
    DATE_MAX,
    DATE_MIN,
    DOUBLE,
    FLOAT,
    INT,
    INT_MAX,
    INT_MIN,
    INTERVAL,
    NULL,
    SMALLINT,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_MAX,
    TIMESTAMP_MIN,
    TINYINT,
    UBIGINT,
    UINT,
    USMALLINT,
    UTINYINT,
    Kind,
    SqlType,
    array_of,
    map_of,
    row_of,
    with_fraction,
)
from fsql.runtime.ports import OPERATIONS
from fsql.tests.reference.scalar_maps import map_from

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypothesis.strategies import SearchStrategy

    from fsql.compiler.expression import Value

    Row = tuple[Value, ...]

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_BIGINTS = st.one_of(
    st.integers(BIGINT_MIN, BIGINT_MAX),
    st.integers(-100_001, 100_001),
    st.sampled_from(
        [sign * 10**power + step for sign in (1, -1) for power in range(19) for step in (-1, 0, 1)]
    ),
)
_DOUBLES = (
    st.floats().map(lambda value: math.nan if math.isnan(value) else value)
    | st.floats(-1e17, 1e17)
    | st.integers(-(10**17), 10**17).map(float)
)
_VALUES = {
    Kind.BOOLEAN: st.booleans(),
    Kind.TINYINT: st.integers(-128, 127),
    Kind.SMALLINT: st.integers(-32_768, 32_767),
    Kind.INT: st.integers(INT_MIN, INT_MAX),
    Kind.BIGINT: _BIGINTS,
    Kind.UTINYINT: st.integers(0, 2**8 - 1),
    Kind.USMALLINT: st.integers(0, 2**16 - 1),
    Kind.UINT: st.integers(0, 2**32 - 1),
    Kind.UBIGINT: st.integers(0, 2**64 - 1) | st.integers(0, 100_001),
    Kind.FLOAT: st.floats(width=32).map(lambda value: math.nan if math.isnan(value) else value),
    Kind.DOUBLE: _DOUBLES,
    Kind.STRING: TEXT | st.text('"\\\b\f\n\r\t\x00\x1f\x7f a√©', max_size=8),
    Kind.BYTES: st.binary(max_size=6).map(lambda value: value.decode("latin-1")),
    Kind.DATE: st.integers(DATE_MIN, DATE_MAX),
    Kind.TIME: st.integers(0, 86_399).map((10**6).__mul__) | st.integers(0, 86_399_999_999),
    Kind.TIMESTAMP: st.one_of(
        st.integers(TIMESTAMP_MIN // unit_us, TIMESTAMP_MAX // unit_us).map(unit_us.__mul__)
        for unit_us in (1, 1_000, 1_000_000)
    ),
    Kind.INTERVAL: _BIGINTS,
    Kind.NULL: st.none(),
}
_SCALARS = st.sampled_from(
    [
        *(BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE),
        *(UTINYINT, USMALLINT, UINT, UBIGINT),
        *(STRING, BYTES, DATE, TIME, TIMESTAMP, INTERVAL, NULL),
        *(with_fraction(TIME, 2), with_fraction(TIMESTAMP, 0), with_fraction(TIMESTAMP, 4)),
    ]
)
TYPES = st.recursive(
    _SCALARS,
    lambda inner: (
        inner.map(array_of)
        | st.tuples(_SCALARS.filter(lambda type_: type_ != NULL), inner).map(
            lambda types: map_of(*types)
        )
        | st.lists(inner, min_size=1, max_size=3).map(
            lambda types: row_of(zip(("a", 'ö"', "c"), types, strict=False))
        )
    ),
    max_leaves=4,
)


def values(sql_type: SqlType) -> SearchStrategy:
    """Return a strategy of the type's values, NULL among them."""
    if sql_type.kind is Kind.MAP:
        entries = st.lists(st.tuples(_scalars(sql_type.key), values(sql_type.value)), max_size=4)
        return st.none() | entries.map(map_from)
    if sql_type.element is not None:
        return st.none() | st.lists(values(sql_type.element), max_size=4).map(tuple)
    if sql_type.fields:
        return st.none() | st.tuples(*map(values, sql_type.field_types))
    return st.none() | _scalars(sql_type)


def _scalars(sql_type: SqlType) -> SearchStrategy:
    unit_us = sql_type.unit_us
    if unit_us == 1:
        return _VALUES[sql_type.kind]
    return _VALUES[sql_type.kind].map(lambda value: value - value % unit_us)


def naive_lines(
    rows: Sequence[Row],
    names: Sequence[str],
    types: Sequence[SqlType],
    operations: Sequence[int] | None = None,
) -> bytes:
    lines = []
    for number, row in enumerate(rows):
        fields = [
            f"{json.dumps(name, ensure_ascii=False)}:{_naive_value(value, sql_type)}"
            for name, value, sql_type in zip(names, row, types, strict=True)
        ]
        if operations is not None:
            fields.insert(0, f'"op":"{OPERATIONS[operations[number]]}"')
        lines.append("{" + ",".join(fields) + "}\n")
    return "".join(lines).encode()


def _fraction(text: str, sql_type: SqlType) -> str:
    """Return a text of 6 digits of fraction with those of the type, or 0, 3 or 6."""
    if sql_type.fraction is None:
        return text.removesuffix("000").removesuffix(".000")
    return text[: len(text) - 6 + sql_type.fraction].removesuffix(".")


def _naive_value(  # noqa: C901, PLR0911 - one a kind
    value: Value, sql_type: SqlType
) -> str:
    if isinstance(value, tuple) and sql_type.kind is Kind.MAP:
        texts = []
        for key, each in value:  # type: ignore[misc, str-unpack]
            text = _naive_value(key, sql_type.key)
            text = text if text[0] == '"' else f'"{text}"'
            texts.append(f"{text}:{_naive_value(each, sql_type.value)}")
        return "{" + ",".join(texts) + "}"
    if isinstance(value, tuple) and sql_type.element is not None:
        return "[" + ",".join(_naive_value(each, sql_type.element) for each in value) + "]"
    if isinstance(value, tuple):
        pairs = zip(sql_type.fields, value, strict=True)
        fields = (
            f"{json.dumps(name, ensure_ascii=False)}:{_naive_value(each, field)}"
            for (name, field), each in pairs
        )
        return "{" + ",".join(fields) + "}"
    if isinstance(value, float):
        if math.isfinite(value):
            shown = float(str(np.float32(value))) if sql_type.kind is Kind.FLOAT else value
            return repr(shown)
        return {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'}[repr(value)]
    if isinstance(value, int) and sql_type.kind is Kind.TIME:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=value)
        text = moment.time().isoformat(timespec="microseconds")
        return f'"{_fraction(text, sql_type)}"'
    if isinstance(value, int) and sql_type.kind is Kind.DATE:
        return f'"{date(1970, 1, 1) + timedelta(days=value)}"'
    if isinstance(value, int) and sql_type.kind is Kind.TIMESTAMP:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=value)
        text = moment.replace(tzinfo=None).isoformat(timespec="microseconds")
        return f'"{_fraction(text, sql_type)}Z"'
    if isinstance(value, str) and sql_type.kind is Kind.BYTES:
        return json.dumps(base64.b64encode(bytes(map(ord, value))).decode())
    return json.dumps(value, ensure_ascii=False)
