"""The oracle's expressions, functions, order and text against docs/internals/semantics.md."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.expression import Call, Cast, ColumnRef, InSet, Literal
from fsql.compiler.logical import Changes, SinkTable
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import (
    BIGINT,
    BIGINT_MAX,
    BIGINT_MIN,
    BOOLEAN,
    DOUBLE,
    INT,
    INT_MAX,
    INT_MIN,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_MAX,
    SqlType,
    array_of,
)
from fsql.tests.reference.failure import FailureError
from fsql.tests.reference.lines import json_text, line
from fsql.tests.reference.order import order_key, row_key
from fsql.tests.reference.scalar import evaluate

if TYPE_CHECKING:
    from fsql.compiler.expression import Expression, Value

FAILS = "fails with"


def literal(value: Value, type_: SqlType) -> Literal:
    return Literal(type_, nullable=value is None, value=value)


def outcome(expression: Expression) -> object:
    """Return the value of a constant expression, distinguished by sameness, or how it fails."""
    try:
        value = evaluate(expression, ())
    except FailureError as failure:
        return FAILS, failure.code
    return value, row_key([value])


def expected(value: Value | tuple[str, int]) -> object:
    return (
        value if isinstance(value, tuple) and value[:1] == (FAILS,) else (value, row_key([value]))
    )


NAN, INF = math.nan, math.inf
CALLS: list[tuple[str, SqlType, list[tuple[Value, SqlType]], Value | tuple[str, int]]] = [
    ("add", INT, [(INT_MAX, INT), (1, INT)], (FAILS, 502)),
    ("add", BIGINT, [(INT_MAX, BIGINT), (1, BIGINT)], INT_MAX + 1),
    ("add", TIMESTAMP, [(TIMESTAMP_MAX, TIMESTAMP), (1, INTERVAL)], (FAILS, 504)),
    ("subtract", INTERVAL, [(5, TIMESTAMP), (7, TIMESTAMP)], -2),
    ("multiply", INTERVAL, [(BIGINT_MAX, INTERVAL), (2, BIGINT)], (FAILS, 502)),
    ("multiply", DOUBLE, [(1e308, DOUBLE), (-10.0, DOUBLE)], -INF),
    ("divide", BIGINT, [(-7, BIGINT), (2, BIGINT)], -3),
    ("divide", BIGINT, [(BIGINT_MIN, BIGINT), (-1, BIGINT)], (FAILS, 502)),
    ("divide", BIGINT, [(None, BIGINT), (0, BIGINT)], None),
    ("divide", DOUBLE, [(1.0, DOUBLE), (-0.0, DOUBLE)], -INF),
    ("divide", DOUBLE, [(0.0, DOUBLE), (0.0, DOUBLE)], NAN),
    ("modulo", INT, [(-7, INT), (2, INT)], -1),
    ("modulo", INT, [(INT_MIN, INT), (-1, INT)], 0),
    ("modulo", INT, [(7, INT), (0, INT)], (FAILS, 501)),
    ("negate", INT, [(INT_MIN, INT)], (FAILS, 502)),
    ("abs", BIGINT, [(BIGINT_MIN, BIGINT)], (FAILS, 502)),
    ("eq", BOOLEAN, [(NAN, DOUBLE), (NAN, DOUBLE)], True),
    ("gt", BOOLEAN, [(NAN, DOUBLE), (INF, DOUBLE)], True),
    ("lt", BOOLEAN, [(-0.0, DOUBLE), (0.0, DOUBLE)], False),
    ("eq", BOOLEAN, [((1, None), array_of(INT)), ((1, None), array_of(INT))], True),
    ("lt", BOOLEAN, [("\uffff", STRING), ("\U00010000", STRING)], True),
    ("like", BOOLEAN, [("a%b\nc", STRING), ("_\\%b%", STRING)], True),
    ("like", BOOLEAN, [("a.b", STRING), ("a_", STRING)], False),
    ("upper", STRING, [("straße", STRING)], "STRASSE"),
    ("trim", STRING, [(" \ta ", STRING)], "\ta"),
    ("substring", STRING, [("hello", STRING), (-1, BIGINT), (4, BIGINT)], "he"),
    ("substring", STRING, [("hello", STRING), (2, BIGINT), (-1, BIGINT)], ""),
    ("substring", STRING, [("hello", STRING), (4, BIGINT)], "lo"),
    ("replace", STRING, [("aa", STRING), ("", STRING), ("x", STRING)], "aa"),
    ("split", array_of(STRING), [("", STRING), (",", STRING)], ("",)),
    ("split", array_of(STRING), [("a,,b", STRING), (",", STRING)], ("a", "", "b")),
    ("element_at", INT, [((1, 2), array_of(INT)), (0, BIGINT)], None),
    ("element_at", INT, [((1, 2), array_of(INT)), (2, BIGINT)], 2),
    ("array", array_of(INT), [(1, INT), (None, INT)], (1, None)),
    ("ceil", DOUBLE, [(-0.5, DOUBLE)], -0.0),
    ("floor", DOUBLE, [(-INF, DOUBLE)], -INF),
    ("round", DOUBLE, [(0.49999999999999994, DOUBLE)], 0.0),
    ("round", DOUBLE, [(-2.5, DOUBLE)], -3.0),
    ("round", DOUBLE, [(4503599627370497.0, DOUBLE)], 4503599627370497.0),
    ("sqrt", DOUBLE, [(-1.0, DOUBLE)], NAN),
    ("power", DOUBLE, [(-8.0, DOUBLE), (1 / 3, DOUBLE)], NAN),
    ("power", DOUBLE, [(-0.0, DOUBLE), (-3.0, DOUBLE)], -INF),
    ("power", DOUBLE, [(-10.0, DOUBLE), (309.0, DOUBLE)], -INF),
    ("greatest", DOUBLE, [(1.0, DOUBLE), (NAN, DOUBLE), (2.0, DOUBLE)], NAN),
    ("least", DOUBLE, [(0.0, DOUBLE), (-0.0, DOUBLE)], 0.0),
    ("greatest", INT, [(1, INT), (None, INT)], None),
    ("coalesce", INT, [(None, INT), (2, INT)], 2),
    ("is_null", BOOLEAN, [(None, INT)], True),
    ("and", BOOLEAN, [(None, BOOLEAN), (False, BOOLEAN)], False),
    ("or", BOOLEAN, [(None, BOOLEAN), (False, BOOLEAN)], None),
    ("epoch_millis", BIGINT, [(-1, TIMESTAMP)], -1),
    ("timestamp_millis", TIMESTAMP, [(BIGINT_MAX, BIGINT)], (FAILS, 504)),
    ("to_timestamp", TIMESTAMP, [("1970-01-01 00:01:00.5+00:01", STRING)], 500_000),
    ("to_timestamp", TIMESTAMP, [("1970-01-01T00:00", STRING)], 0),
    ("to_timestamp", TIMESTAMP, [("1970-02-29T00:00:00Z", STRING)], (FAILS, 503)),
    ("to_timestamp", TIMESTAMP, [("1970-01-01T00:00:60Z", STRING)], (FAILS, 503)),
    ("to_timestamp", TIMESTAMP, [("1970-01-01T00:00:00.1234567Z", STRING)], 123_456),
    ("to_timestamp", TIMESTAMP, [("1970-01-01T00:00:00.1234567890Z", STRING)], (FAILS, 503)),
]


@pytest.mark.parametrize(
    ("given", "values", "found"),
    [
        (*(2, (1, 2, None)), True),
        (*(3, (1, 2)), False),
        (*(3, (1, None)), None),
        (*(None, (1, 2)), None),
    ],
)
def test_a_set(given: Value, values: tuple[Value, ...], found: object) -> None:
    argument = ColumnRef(BIGINT, nullable=True, index=0)
    assert (
        evaluate(InSet(BOOLEAN, nullable=True, argument=argument, values=values), (given,)) is found
    )
    opposite = None if found is None else not found
    assert (
        evaluate(
            InSet(BOOLEAN, nullable=True, argument=argument, values=values, negated=True), (given,)
        )
        is opposite
    )


@pytest.mark.parametrize(("function", "type_", "arguments", "value"), CALLS)
def test_functions(
    function: str,
    type_: SqlType,
    arguments: list[tuple[Value, SqlType]],
    value: Value | tuple[str, int],
) -> None:
    call = Call(
        type_,
        nullable=True,
        function=function,
        arguments=tuple(literal(*argument) for argument in arguments),
    )
    assert repr(outcome(call)) == repr(expected(value))  # NaN is not equal to itself


CASTS: list[tuple[Value, SqlType, SqlType, Value | tuple[str, int]]] = [
    (-2.9, DOUBLE, INT, -2),
    (2147483648.0, DOUBLE, INT, (FAILS, 502)),
    (NAN, DOUBLE, BIGINT, (FAILS, 502)),
    (9223372036854775808.0, DOUBLE, BIGINT, (FAILS, 502)),
    (2**53 + 1, BIGINT, DOUBLE, 9007199254740992.0),
    (True, BOOLEAN, STRING, "true"),
    (True, BOOLEAN, BIGINT, 1),
    (False, BOOLEAN, BIGINT, 0),
    (-7, BIGINT, BOOLEAN, True),
    (0, BIGINT, BOOLEAN, False),
    (1e16, DOUBLE, STRING, "1e+16"),
    (-0.0, DOUBLE, STRING, "-0.0"),
    (INF, DOUBLE, STRING, "Infinity"),
    (-1, TIMESTAMP, STRING, "1969-12-31T23:59:59.999999Z"),
    (1_500_000, INTERVAL, STRING, "1500000"),
    (" TRUE ", STRING, BOOLEAN, True),
    ("yes", STRING, BOOLEAN, True),
    ("yea", STRING, BOOLEAN, (FAILS, 503)),
    ("+007", STRING, INT, 7),
    ("99999999999", STRING, INT, (FAILS, 502)),
    ("1.0", STRING, INT, (FAILS, 503)),
    ("\t1", STRING, INT, (FAILS, 503)),
    ("0_1.5", STRING, DOUBLE, (FAILS, 503)),
    ("-1.5E+3", STRING, DOUBLE, -1500.0),
    ("-Infinity", STRING, DOUBLE, -INF),
    ("-nan", STRING, DOUBLE, (FAILS, 503)),
    (" 1970-01-01T00:00:01 ", STRING, TIMESTAMP, 1_000_000),
    (None, NULL, BIGINT, None),
]


@pytest.mark.parametrize(("value", "given", "wanted", "result"), CASTS)
def test_casts(
    value: Value, given: SqlType, wanted: SqlType, result: Value | tuple[str, int]
) -> None:
    cast = Cast(wanted, nullable=True, argument=literal(value, given))
    assert outcome(cast) == expected(result)


def test_a_failing_argument_outweighs_a_null_one_and_the_leftmost_is_reported() -> None:
    zero = literal(0, BIGINT)
    by_zero = Call(BIGINT, nullable=False, function="divide", arguments=(zero, zero))
    too_much = Call(
        BIGINT, nullable=False, function="negate", arguments=(literal(BIGINT_MIN, BIGINT),)
    )
    for arguments, code in [
        ((literal(None, BIGINT), by_zero), 501),
        ((too_much, by_zero), 502),
        ((by_zero, too_much), 501),
    ]:
        call = Call(BIGINT, nullable=True, function="add", arguments=arguments)
        assert outcome(call) == (FAILS, code)


def test_the_order_of_values() -> None:
    doubles = [-INF, -1.0, 0.0, 2.0, INF, NAN, None]
    arrays: list[Value] = [(), (1,), (1, 2), (1, None), (2,), (None,), None]
    for values in (doubles, arrays):
        for less, more in pairwise(values):
            assert order_key(less) < order_key(more)
    assert order_key(-0.0) == order_key(0.0)
    assert row_key([-0.0]) < row_key([0.0])


def test_json_text() -> None:
    strings = array_of(STRING)
    assert (
        json_text(('a"\\\b\x1f\x7fé\u2028', None), strings)
        == '["a\\"\\\\\\b\\u001f\x7fé\u2028",null]'
    )
    assert json_text((0.1, NAN, -INF), array_of(DOUBLE)) == '[0.1,"NaN","-Infinity"]'
    stamps = {
        0: "1970-01-01T00:00:00Z",
        1_000: "1970-01-01T00:00:00.001Z",
        1_010: "1970-01-01T00:00:00.001010Z",
        -62_135_596_800_000_000: "0001-01-01T00:00:00Z",
    }
    assert {value: json_text(value, TIMESTAMP) for value in stamps} == {
        value: f'"{text}"' for value, text in stamps.items()
    }


def test_the_operation_stands_first() -> None:
    columns = (Column("a", INT), Column("b", BOOLEAN))
    sink = SinkTable("s", columns, (), Changes.RETRACT, None, "change")
    assert line(sink, "-D", (1, False)) == '{"change":"-D","a":1,"b":false}'
    append = SinkTable("s", columns, (), Changes.APPEND, None)
    assert line(append, "+I", (None, True)) == '{"a":null,"b":true}'
