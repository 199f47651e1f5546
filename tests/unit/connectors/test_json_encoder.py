"""The encoder against a naive one that writes value by value."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsql.compiler.sqltypes import (
    BIGINT,
    BIGINT_MAX,
    BIGINT_MIN,
    BOOLEAN,
    DOUBLE,
    INT,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_MAX,
    TIMESTAMP_MIN,
    Kind,
    SqlType,
    array_of,
)
from fsql.runtime.arrow_types import arrow_type, to_arrow
from fsql.runtime.connectors.json_encoder import JsonEncoder, encode
from fsql.runtime.ports import OPERATIONS

_BIGINTS = st.one_of(
    st.integers(BIGINT_MIN, BIGINT_MAX),
    st.integers(-100_001, 100_001),
    st.sampled_from(
        [sign * 10**power + step for sign in (1, -1) for power in range(19) for step in (-1, 0, 1)]
    ),
)
_VALUES = {
    Kind.BOOLEAN: st.booleans(),
    Kind.INT: st.integers(-(2**31), 2**31 - 1),
    Kind.BIGINT: _BIGINTS,
    Kind.DOUBLE: st.floats().map(lambda value: math.nan if math.isnan(value) else value)
    | st.floats(-1e17, 1e17)
    | st.integers(-(10**17), 10**17).map(float),
    Kind.STRING: st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
    | st.text('"\\\b\f\n\r\t\x00\x1f\x7f a√©', max_size=8),
    Kind.TIMESTAMP: st.integers(TIMESTAMP_MIN, TIMESTAMP_MAX)
    | st.integers(TIMESTAMP_MIN // 1000, TIMESTAMP_MAX // 1000).map(lambda millis: millis * 1000)
    | st.integers(TIMESTAMP_MIN // 10**6, TIMESTAMP_MAX // 10**6).map(lambda s: s * 10**6),
    Kind.INTERVAL: _BIGINTS,
    Kind.NULL: st.none(),
}
_SCALARS = st.sampled_from([BOOLEAN, INT, BIGINT, DOUBLE, STRING, TIMESTAMP, INTERVAL, NULL])
_TYPES = st.recursive(_SCALARS, lambda inner: inner.map(array_of), max_leaves=3)


def values(sql_type: SqlType):
    """Return a strategy of the type's values, NULL among them."""
    if sql_type.element is not None:
        return st.none() | st.lists(values(sql_type.element), max_size=4).map(tuple)
    return st.none() | _VALUES[sql_type.kind]


def naive_value(value, sql_type: SqlType) -> str:
    if value is None:
        return "null"
    match sql_type.kind:
        case Kind.ARRAY:
            return "[" + ",".join(naive_value(each, sql_type.element) for each in value) + "]"
        case Kind.DOUBLE:
            if math.isfinite(value):
                return repr(value)
            return {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'}[repr(value)]
        case Kind.TIMESTAMP:
            moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=value)
            text = moment.replace(tzinfo=None).isoformat(timespec="microseconds")
            text = text.removesuffix("000").removesuffix(".000")
            return f'"{text}Z"'
        case _:
            return json.dumps(value, ensure_ascii=False)


def naive(rows, names, types, operations=None, operation_name="op") -> bytes:
    lines = []
    for number, row in enumerate(rows):
        fields = [
            f"{json.dumps(name, ensure_ascii=False)}:{naive_value(value, sql_type)}"
            for name, value, sql_type in zip(names, row, types, strict=True)
        ]
        if operations is not None:
            fields.insert(0, f'"{operation_name}":"{OPERATIONS[operations[number]]}"')
        lines.append("{" + ",".join(fields) + "}\n")
    return "".join(lines).encode()


def arrow(column, sql_type: SqlType, draw_bits: int) -> pa.Array:
    """Return the column in one of the forms that it may come in: sliced, as a dictionary."""
    array = to_arrow(column, sql_type)
    if draw_bits & 1:
        junk = to_arrow([column[-1]] if column else [None], sql_type)
        array = pa.concat_arrays([junk, array, junk]).slice(1, len(column))
    if draw_bits & 2 and sql_type.kind is Kind.STRING:
        array = array.dictionary_encode()
    return array


@st.composite
def batches(draw):
    types = draw(st.lists(_TYPES, min_size=1, max_size=4))
    names = draw(
        st.lists(
            st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
            min_size=len(types),
            max_size=len(types),
        )
    )
    rows = draw(st.lists(st.tuples(*map(values, types)), max_size=12))
    operations = draw(
        st.none() | st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows))
    )
    columns = [
        arrow([row[i] for row in rows], sql_type, draw(st.integers(0, 3)))
        for i, sql_type in enumerate(types)
    ]
    return rows, columns, names, types, operations


@settings(max_examples=300, deadline=None)
@given(batches())
def test_encodes_as_the_naive_encoder_does(batch) -> None:
    rows, columns, names, types, operations = batch
    given_operations = None if operations is None else np.array(operations, np.int8)
    written = encode(columns, names, types, given_operations)
    assert written == naive(rows, names, types, operations)


@settings(max_examples=100, deadline=None)
@given(st.lists(batches(), min_size=2, max_size=4), st.data())
def test_an_encoder_keeps_nothing_of_a_batch_that_shows_in_another(drawn, data) -> None:
    """Batches of one schema, some of them sharing a dictionary, in any order and any number."""
    _, _, names, types, _ = drawn[0]
    encoder = JsonEncoder(names, types)
    words = pa.array(["a", 'b"', "", "√"])
    for _ in range(5):
        rows = data.draw(st.lists(st.tuples(*map(values, types)), min_size=1, max_size=6))
        columns = []
        for i, sql_type in enumerate(types):
            if sql_type == STRING and data.draw(st.booleans()):
                picked = [data.draw(st.none() | st.integers(0, 3)) for _ in rows]
                column = pa.DictionaryArray.from_arrays(pa.array(picked, pa.int32()), words)
                rows = [
                    (*row[:i], value, *row[i + 1 :])
                    for row, value in zip(rows, column.to_pylist(), strict=True)
                ]
            else:
                column = to_arrow([row[i] for row in rows], sql_type)
            columns.append(column)
        assert b"".join(encoder.encode(columns)) == naive(rows, names, types)


def test_whole_output() -> None:
    columns = [
        pa.array(["a", None, 'é"\n'], pa.string()),
        pa.array([1, -(2**63), None], pa.int64()),
        pa.array([[1, None], [], None], pa.list_(pa.int64())),
        pa.array([0.1, -0.0, math.nan]),
    ]
    types = [STRING, BIGINT, array_of(BIGINT), DOUBLE]
    written = encode(columns, ["s", "n", "a", "d"], types, np.array([0, 1, 3], np.int8))
    assert written.decode() == (
        '{"op":"+I","s":"a","n":1,"a":[1,null],"d":0.1}\n'
        '{"op":"-U","s":null,"n":-9223372036854775808,"a":[],"d":-0.0}\n'
        '{"op":"-D","s":"é\\"\\n","n":null,"a":null,"d":"NaN"}\n'
    )


def test_no_rows_are_no_text() -> None:
    assert JsonEncoder(["a"], [BIGINT]).encode([pa.array([], pa.int64())]) == []


def test_what_lies_under_a_null_does_not_show() -> None:
    values_under = pa.py_buffer(np.array([7, -(10**9), 3], np.int64))
    validity = pa.py_buffer(bytes([0b101]))
    column = pa.Array.from_buffers(pa.int64(), 3, [validity, values_under])
    offsets = pa.py_buffer(np.array([0, 1, 3, 3], np.int32))
    arrays = pa.Array.from_buffers(
        arrow_type(array_of(BIGINT)), 3, [validity, offsets], children=[column]
    )
    written = encode([column, arrays], ["n", "a"], [BIGINT, array_of(BIGINT)])
    assert written == b'{"n":7,"a":[7]}\n{"n":null,"a":null}\n{"n":3,"a":[]}\n'


@pytest.mark.slow
def test_output_beyond_the_limit_comes_in_several_buffers() -> None:
    words = pa.array(["x" * (1 << 20)])
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1500, np.int32)), words)
    buffers = JsonEncoder(["s"], [STRING]).encode([column])
    line = len('{"s":""}\n') + (1 << 20)
    assert [len(buffer) for buffer in buffers] == [750 * line, 750 * line]
