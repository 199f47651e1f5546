"""The scalar functions by example: each row of docs/internals/semantics.md, with its edges.

Catches a scalar that computes something else, and a table that lacks what the contract lists.  That
scalars and column kernels agree on values nobody thought of is for the property tests.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.expression import Expression, Literal
from fsql.compiler.functions.calls import call
from fsql.compiler.functions.casts import cast_value
from fsql.compiler.functions.evaluate import evaluate
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.functions.signature import TypeVariable
from fsql.compiler.functions.table import CALLABLE, FUNCTIONS
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
    TIMESTAMP_MIN,
    SqlType,
    array_of,
    map_of,
)
from fsql.tests.docs.function_pages import ENTRIES
from fsql.tests.property.expressions import variable_types

if TYPE_CHECKING:
    from fsql.compiler.expression import Value

SEMANTICS = Path(__file__).parents[3] / "docs/internals/semantics.md"
INF = math.inf
NAN = math.nan
BIGINTS = array_of(BIGINT)


def literal(type_: SqlType, value: Value) -> Expression:
    return Literal(type_, value is None, value)


def result(function: str, *arguments: tuple[SqlType, Value]) -> Value:
    return evaluate(call(function, *(literal(*argument) for argument in arguments)), ())


def same(left: Value, right: Value) -> bool:
    """Say whether two values are one: NaN is NaN, and -0.0 is not 0.0."""
    return repr(left) == repr(right)


def test_the_table_has_the_functions_of_the_contract() -> None:
    rows = re.findall(r"^\| (`.*?`) \| .* \|$", SEMANTICS.read_text(), re.MULTILINE)
    names = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert names <= set(FUNCTIONS)
    assert set(FUNCTIONS) - names <= ENTRIES.keys() | {"date_ceil", "time_before"}


def test_spellings_are_one_to_one() -> None:
    spellings = [s for f in FUNCTIONS.values() for s in f.spellings if s in CALLABLE]
    assert len(spellings) == len(set(spellings)) == len(CALLABLE)


@pytest.mark.parametrize(
    ("function", "left", "right", "expected"),
    [
        ("add", 2, 3, 5),
        ("subtract", 2, 3, -1),
        ("multiply", -2, 3, -6),
        ("divide", 7, 2, 3),
        ("divide", -7, 2, -3),
        ("divide", 7, -2, -3),
        ("modulo", 7, 3, 1),
        ("modulo", -7, 3, -1),
        ("modulo", 7, -3, 1),
        ("modulo", BIGINT_MIN, -1, 0),
    ],
)
def test_integer_arithmetic(function: str, left: int, right: int, expected: int) -> None:
    assert result(function, (BIGINT, left), (BIGINT, right)) == expected


@pytest.mark.parametrize(
    ("function", "arguments", "code", "message"),
    [
        ("add", [(INT, INT_MAX), (INT, 1)], 502, "INT out of range"),
        ("add", [(BIGINT, BIGINT_MAX), (BIGINT, 1)], 502, "BIGINT out of range"),
        ("subtract", [(INT, INT_MIN), (INT, 1)], 502, "INT out of range"),
        ("multiply", [(BIGINT, 1 << 62), (BIGINT, 2)], 502, "BIGINT out of range"),
        ("divide", [(INT, INT_MIN), (INT, -1)], 502, "INT out of range"),
        ("divide", [(BIGINT, 1), (BIGINT, 0)], 501, "division by zero"),
        ("modulo", [(INT, 1), (INT, 0)], 501, "division by zero"),
        ("negate", [(BIGINT, BIGINT_MIN)], 502, "BIGINT out of range"),
        ("abs", [(INT, INT_MIN)], 502, "INT out of range"),
        ("multiply", [(INTERVAL, BIGINT_MAX), (BIGINT, 2)], 502, "INTERVAL out of range"),
        (
            "add",
            [(TIMESTAMP, TIMESTAMP_MAX), (INTERVAL, 1)],
            504,
            "TIMESTAMP outside of the years 1 to 9999",
        ),
        (
            "subtract",
            [(TIMESTAMP, TIMESTAMP_MIN), (INTERVAL, 1)],
            504,
            "TIMESTAMP outside of the years 1 to 9999",
        ),
        (
            "timestamp_millis",
            [(BIGINT, BIGINT_MAX)],
            504,
            "TIMESTAMP outside of the years 1 to 9999",
        ),
        ("to_timestamp", [(STRING, "soon")], 503, 'cannot read "soon" as TIMESTAMP'),
    ],
)
def test_failures(
    function: str, arguments: list[tuple[SqlType, Value]], code: int, message: str
) -> None:
    with pytest.raises(RowFailure) as caught:
        result(function, *arguments)
    assert (caught.value.code, str(caught.value)) == (code, message)


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        ("add", (1e308, 1e308), INF),
        ("subtract", (INF, INF), NAN),
        ("divide", (1.0, 0.0), INF),
        ("divide", (-1.0, 0.0), -INF),
        ("divide", (1.0, -0.0), -INF),
        ("divide", (0.0, 0.0), NAN),
        ("divide", (NAN, 0.0), NAN),
        ("negate", (0.0,), -0.0),
        ("abs", (-0.0,), 0.0),
        ("floor", (-0.5,), -1.0),
        ("floor", (-0.0,), -0.0),
        ("ceil", (-0.5,), -0.0),
        ("ceil", (1e300,), 1e300),
        ("round", (0.5,), 1.0),
        ("round", (-2.5,), -3.0),
        ("round", (0.49999999999999994,), 0.0),
        ("round", (-0.2,), -0.0),
        ("round", (4503599627370497.0,), 4503599627370497.0),
        ("round", (INF,), INF),
        ("sqrt", (-1.0,), NAN),
        ("sqrt", (-0.0,), -0.0),
        ("power", (2.0, -1.0), 0.5),
        ("power", (0.0, -1.0), INF),
        ("power", (-0.0, -3.0), -INF),
        ("power", (-8.0, 1 / 3), NAN),
        ("power", (-10.0, 309.0), -INF),
        ("power", (NAN, 0.0), 1.0),
    ],
)
def test_doubles(function: str, arguments: tuple[float, ...], expected: float) -> None:
    assert same(result(function, *((DOUBLE, value) for value in arguments)), expected)


@pytest.mark.parametrize(
    ("left", "right", "order"),
    [
        ((BOOLEAN, False), (BOOLEAN, True), -1),
        ((DOUBLE, NAN), (DOUBLE, NAN), 0),
        ((DOUBLE, INF), (DOUBLE, NAN), -1),
        ((DOUBLE, -0.0), (DOUBLE, 0.0), 0),
        ((STRING, "Z"), (STRING, "a"), -1),
        ((STRING, "\uffff"), (STRING, "\U00010000"), -1),
        ((TIMESTAMP, 1), (TIMESTAMP, 0), 1),
    ],
)
def test_comparison(left: tuple[SqlType, Value], right: tuple[SqlType, Value], order: int) -> None:
    found = {name: result(name, left, right) for name in ("eq", "ne", "lt", "le", "gt", "ge")}
    assert found == {
        "eq": order == 0,
        "ne": order != 0,
        "lt": order < 0,
        "le": order <= 0,
        "gt": order > 0,
        "ge": order >= 0,
    }


def test_arrays_are_equal_with_equal_nulls() -> None:
    assert result("eq", (BIGINTS, (1, None)), (BIGINTS, (1, None))) is True
    assert result("ne", (BIGINTS, (1, None)), (BIGINTS, (1,))) is True


@pytest.mark.parametrize(
    ("text", "pattern", "expected"),
    [
        ("abc", "a%", True),
        ("abc", "_b_", True),
        ("abc", "b", False),
        ("a%c", r"a\%c", True),
        ("abc", r"a\%c", False),
        ("a\nb", "a%b", True),
        ("a.c", "a_c", True),
        ("abc", "a.c", False),
        ("", "%", True),
    ],
)
def test_like(text: str, pattern: str, *, expected: bool) -> None:
    assert result("like", (STRING, text), (STRING, pattern)) is expected


@pytest.mark.parametrize(
    ("start", "length", "expected"),
    [
        (1, 2, "he"),
        (2, 100, "ello"),
        (-1, 3, "h"),
        (0, 1, ""),
        (0, 2, "h"),
        (9, 1, ""),
        (2, -1, ""),
        (BIGINT_MIN, BIGINT_MAX, ""),
        (1, BIGINT_MAX, "hello"),
    ],
)
def test_substring(start: int, length: int, expected: str) -> None:
    arguments = (STRING, "hello"), (BIGINT, start), (BIGINT, length)
    assert result("substring", *arguments) == expected


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        ("lower", [(STRING, "ÄΣ")], "äς"),
        ("upper", [(STRING, "straße")], "STRASSE"),
        ("trim", [(STRING, " \ta ")], "\ta"),
        ("ltrim", [(STRING, "  a ")], "a "),
        ("rtrim", [(STRING, " a  ")], " a"),
        ("char_length", [(STRING, "a😀")], 2),
        ("substring", [(STRING, "hello"), (BIGINT, -3)], "hello"),
        ("concat", [(STRING, "a"), (STRING, "b")], "ab"),
        ("replace", [(STRING, "aaa"), (STRING, "aa"), (STRING, "b")], "ba"),
        ("replace", [(STRING, "aaa"), (STRING, ""), (STRING, "b")], "aaa"),
        ("starts_with", [(STRING, "abc"), (STRING, "ab")], True),
        ("split", [(STRING, "a,b,"), (STRING, ",")], ("a", "b", "")),
        ("split", [(STRING, ""), (STRING, ",")], ("",)),
        ("cardinality", [(BIGINTS, (1, None))], 2),
        ("element_at", [(BIGINTS, (7, 8)), (BIGINT, 2)], 8),
        ("element_at", [(BIGINTS, (7, 8)), (BIGINT, 0)], None),
        ("element_at", [(BIGINTS, (7, 8)), (BIGINT, 3)], None),
        ("array", [(BIGINT, 1), (BIGINT, None)], (1, None)),
        ("greatest", [(BIGINT, 1), (BIGINT, 3), (BIGINT, 2)], 3),
        ("greatest", [(BIGINT, 1), (BIGINT, None)], None),
        ("greatest", [(DOUBLE, 1.0), (DOUBLE, NAN)], NAN),
        ("least", [(DOUBLE, 0.0), (DOUBLE, -0.0)], 0.0),
        ("coalesce", [(STRING, None), (STRING, "a"), (STRING, "b")], "a"),
        ("coalesce", [(STRING, None)], None),
        ("is_null", [(STRING, None)], True),
        ("is_not_null", [(NULL, None)], False),
        ("to_timestamp", [(STRING, "1970-01-01 00:00")], 0),
        ("to_timestamp", [(STRING, "1970-01-01T00:00:01.5-01:30")], 5_401_500_000),
        ("timestamp_millis", [(BIGINT, -1)], -1_000),
        ("epoch_millis", [(TIMESTAMP, -1)], -1),
        ("subtract", [(TIMESTAMP, 5), (TIMESTAMP, 7)], -2),
    ],
)
def test_values(function: str, arguments: list[tuple[SqlType, Value]], expected: Value) -> None:
    assert same(result(function, *arguments), expected)


@pytest.mark.parametrize("name", [f.name for f in FUNCTIONS.values() if f.strict])
def test_strict_functions_are_null_where_an_argument_is(name: str) -> None:
    for signature in FUNCTIONS[name].signatures:
        of_arrays = TypeVariable.ARRAY in signature.parameters
        of_maps = variable_types(map_of(STRING, BIGINT))
        types = [
            BIGINT
            if of_arrays and p is TypeVariable.ANY
            else p
            if isinstance(p, SqlType)
            else of_maps.get(p, BIGINTS)
            for p in signature.parameters
        ]
        apart = name in {"lt", "le", "gt", "ge"} or not types
        if FUNCTIONS[name].literal_check is None and not apart:
            ordered = name in {"greatest", "least"}
            types = [BIGINT] if ordered else types
            assert result(name, *((type_, None) for type_ in types)) is None


@pytest.mark.parametrize(
    ("value", "source", "target", "expected"),
    [
        (-1.9, DOUBLE, INT, -1),
        (5, BIGINT, DOUBLE, 5.0),
        (2**63 - 1, BIGINT, DOUBLE, 2.0**63),
        (True, BOOLEAN, STRING, "true"),
        (1e16, DOUBLE, STRING, "1e+16"),
        (-0.0, DOUBLE, STRING, "-0.0"),
        (NAN, DOUBLE, STRING, "NaN"),
        (-INF, DOUBLE, STRING, "-Infinity"),
        (1_500_000, TIMESTAMP, STRING, "1970-01-01T00:00:01.500Z"),
        (-1, INTERVAL, STRING, "-1"),
        (" TRUE ", STRING, BOOLEAN, True),
        (" +12 ", STRING, INT, 12),
        ("0000000000000000000000000012", STRING, BIGINT, 12),
        ("-1.5e3", STRING, DOUBLE, -1500.0),
        ("NaN", STRING, DOUBLE, NAN),
        (".5", STRING, DOUBLE, 0.5),
        ("inf", STRING, DOUBLE, INF),
        ("on", STRING, BOOLEAN, True),
        ("1e999", STRING, DOUBLE, INF),
        (" 1970-01-02T00:00Z ", STRING, TIMESTAMP, 86_400_000_000),
        (None, STRING, BIGINT, None),
    ],
)
def test_casts(value: Value, source: SqlType, target: SqlType, expected: Value) -> None:
    assert same(cast_value(value, source, target), expected)


@pytest.mark.parametrize(
    ("value", "source", "target", "code"),
    [
        (2**31, BIGINT, INT, 502),
        (NAN, DOUBLE, BIGINT, 502),
        (9.3e18, DOUBLE, BIGINT, 502),
        ("99999999999999999999", STRING, BIGINT, 502),
        ("9" * 5000, STRING, BIGINT, 502),
        ("1.0", STRING, INT, 503),
        ("\uff11", STRING, INT, 503),
        ("", STRING, BIGINT, 503),
        ("\t1", STRING, BIGINT, 503),
        ("5.5.", STRING, DOUBLE, 503),
        ("infinite", STRING, DOUBLE, 503),
        ("yea", STRING, BOOLEAN, 503),
        ("2024-02-30T00:00:00", STRING, TIMESTAMP, 503),
        ("2024-01-01T24:00:00", STRING, TIMESTAMP, 503),
        ("2024-01-01T00:00:00.1234567890", STRING, TIMESTAMP, 503),
        ("0001-01-01T00:00:00+01:00", STRING, TIMESTAMP, 504),
    ],
)
def test_casts_that_fail(value: Value, source: SqlType, target: SqlType, code: int) -> None:
    with pytest.raises(RowFailure) as caught:
        cast_value(value, source, target)
    assert caught.value.code == code
