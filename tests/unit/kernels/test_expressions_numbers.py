from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from fsql.compiler.expression import ColumnRef
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
    TIMESTAMP,
    TIMESTAMP_MAX,
    TIMESTAMP_MIN,
)
from fsql.runtime.kernels.expressions import compile_expression
from fsql.tests.unit.kernels.tables import NAN, call, check_table, fails

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.expression import Value
    from fsql.compiler.sqltypes import SqlType

INF = float("inf")
E501, E502, E504 = fails(501), fails(502), fails(504)
HALF = 2**62
NEARLY = 3_037_000_500
"""The least integer whose square is out of BIGINT."""


INTEGERS = [
    ("add", BIGINT, (1, 2), 3),
    ("add", BIGINT, (BIGINT_MAX, 0), BIGINT_MAX),
    ("add", BIGINT, (BIGINT_MAX, 1), E502),
    ("add", BIGINT, (1, BIGINT_MAX), E502),
    ("add", BIGINT, (BIGINT_MIN, -1), E502),
    ("add", BIGINT, (-1, BIGINT_MIN), E502),
    ("add", BIGINT, (BIGINT_MIN, BIGINT_MAX), -1),
    ("add", BIGINT, (HALF, HALF), E502),
    ("add", BIGINT, (-HALF, -HALF), BIGINT_MIN),
    ("add", INT, (INT_MAX, 1), E502),
    ("add", INT, (INT_MIN, -1), E502),
    ("add", INT, (INT_MAX, INT_MIN), -1),
    ("subtract", BIGINT, (BIGINT_MIN, 1), E502),
    ("subtract", BIGINT, (0, BIGINT_MIN), E502),
    ("subtract", BIGINT, (-1, BIGINT_MIN), BIGINT_MAX),
    ("subtract", BIGINT, (BIGINT_MIN, BIGINT_MIN), 0),
    ("subtract", INT, (0, INT_MIN), E502),
    ("subtract", INT, (INT_MIN, INT_MAX), E502),
    ("multiply", BIGINT, (NEARLY - 1, NEARLY - 1), (NEARLY - 1) ** 2),
    ("multiply", BIGINT, (NEARLY, NEARLY), E502),
    ("multiply", BIGINT, (BIGINT_MIN, -1), E502),
    ("multiply", BIGINT, (-1, BIGINT_MIN), E502),
    ("multiply", BIGINT, (BIGINT_MIN, 1), BIGINT_MIN),
    ("multiply", BIGINT, (HALF, 2), E502),
    ("multiply", BIGINT, (HALF, -2), BIGINT_MIN),
    ("multiply", BIGINT, (2**32, 2**32), E502),
    ("multiply", BIGINT, (BIGINT_MAX, BIGINT_MAX), E502),
    ("multiply", BIGINT, (BIGINT_MIN, BIGINT_MIN), E502),
    ("multiply", BIGINT, (2**33, 2**31), E502),
    ("multiply", BIGINT, (BIGINT_MAX, 0), 0),
    ("multiply", INT, (2**16, 2**15), E502),
    ("multiply", INT, (-(2**16), 2**15), INT_MIN),
    ("divide", BIGINT, (7, 2), 3),
    ("divide", BIGINT, (-7, 2), -3),
    ("divide", BIGINT, (7, -2), -3),
    ("divide", BIGINT, (-7, -2), 3),
    ("divide", BIGINT, (6, -2), -3),
    ("divide", BIGINT, (1, 0), E501),
    ("divide", BIGINT, (BIGINT_MIN, 0), E501),
    ("divide", BIGINT, (BIGINT_MIN, -1), E502),
    ("divide", BIGINT, (BIGINT_MIN, 2), -HALF),
    ("divide", BIGINT, (BIGINT_MIN, BIGINT_MAX), -1),
    ("divide", INT, (INT_MIN, -1), E502),
    ("modulo", BIGINT, (7, 3), 1),
    ("modulo", BIGINT, (-7, 3), -1),
    ("modulo", BIGINT, (7, -3), 1),
    ("modulo", BIGINT, (7, 0), E501),
    ("modulo", BIGINT, (BIGINT_MIN, -1), 0),
    ("modulo", INT, (INT_MIN, -1), 0),
    ("modulo", INT, (INT_MIN, 7), -2),
    ("negate", BIGINT, (5,), -5),
    ("negate", BIGINT, (BIGINT_MIN,), E502),
    ("negate", INT, (INT_MIN,), E502),
    ("abs", BIGINT, (-5,), 5),
    ("abs", BIGINT, (BIGINT_MIN,), E502),
    ("abs", INT, (INT_MIN,), E502),
    ("greatest", BIGINT, (2, 3), 3),
    ("least", BIGINT, (2, 3), 2),
]
DOUBLES = [
    ("add", (0.1, 0.2), 0.30000000000000004),
    ("add", (1e308, 1e308), INF),
    ("subtract", (INF, INF), NAN),
    ("multiply", (0.0, -1.0), -0.0),
    ("multiply", (0.0, INF), NAN),
    ("divide", (1.0, 0.0), INF),
    ("divide", (-1.0, 0.0), -INF),
    ("divide", (0.0, 0.0), NAN),
    ("modulo", (5.5, -2.0), 1.5),
    ("modulo", (-5.5, 2.0), -1.5),
    ("modulo", (-4.0, 2.0), -0.0),
    ("modulo", (1e300, 0.1), 0.00011215964963492975),
    ("modulo", (5.5, INF), 5.5),
    ("modulo", (5.5, 0.0), NAN),
    ("modulo", (INF, 2.0), NAN),
    ("modulo", (NAN, 2.0), NAN),
    ("modulo", (2.0, NAN), NAN),
    ("negate", (0.0,), -0.0),
    ("negate", (NAN,), NAN),
    ("abs", (-0.0,), 0.0),
    ("floor", (-0.5,), -1.0),
    ("ceil", (-0.5,), -0.0),
    ("ceil", (1e300,), 1e300),
    ("sqrt", (2.0,), 1.4142135623730951),
    ("sqrt", (-1.0,), NAN),
    ("round", (0.5,), 1.0),
    ("round", (-0.5,), -1.0),
    ("round", (2.5,), 3.0),
    ("round", (0.49999999999999994,), 0.0),
    ("round", (4503599627370497.0,), 4503599627370497.0),
    ("round", (-0.2,), -0.0),
    ("round", (INF,), INF),
    ("round", (NAN,), NAN),
    ("power", (2.0, 0.5), 1.4142135623730951),
    ("power", (NAN, 0.0), 1.0),
    ("power", (0.0, -1.0), INF),
    ("power", (-8.0, 1 / 3), NAN),
    ("greatest", (NAN, INF), NAN),
    ("greatest", (0.0, -0.0), 0.0),
    ("greatest", (-0.0, 0.0), -0.0),
    ("least", (NAN, INF), INF),
    ("least", (0.0, -0.0), 0.0),
]
COMPARISONS = [
    # left, right, eq, lt, gt
    (1.0, 2.0, False, True, False),
    (-0.0, 0.0, True, False, False),
    (NAN, NAN, True, False, False),
    (NAN, INF, False, False, True),
    (-INF, NAN, False, True, False),
]


@pytest.mark.parametrize(("name", "type_", "arguments", "outcome"), INTEGERS)
def test_integers(name: str, type_: SqlType, arguments: Sequence[Value], outcome: Value) -> None:
    check_table(call(name, type_), [type_] * len(arguments), [(arguments, outcome)])


def test_integers_by_column_and_constant() -> None:
    """An overflow beside rows that have none, with either side the same for all rows."""
    tables: list[tuple[str, int, dict[int | None, Value]]] = [
        ("add", 1, {1: 2, BIGINT_MAX: E502, BIGINT_MIN: BIGINT_MIN + 1, None: None}),
        ("add", -1, {1: 0, BIGINT_MIN: E502, BIGINT_MAX: BIGINT_MAX - 1}),
        ("add", BIGINT_MIN, {0: BIGINT_MIN, -1: E502, 1: BIGINT_MIN + 1}),
        ("subtract", BIGINT_MIN, {0: E502, -1: BIGINT_MAX, BIGINT_MIN: 0}),
        ("subtract", 1, {BIGINT_MIN: E502, 0: -1}),
        ("multiply", 2, {HALF: E502, -HALF: BIGINT_MIN, 3: 6}),
        ("divide", -1, {BIGINT_MIN: E502, 4: -4}),
        ("divide", 0, {1: E501, None: None}),
        ("modulo", 3, {-4: -1, 4: 1}),
    ]
    for name, constant, table in tables:
        rows = [((value, constant), outcome) for value, outcome in table.items()]
        check_table(call(name, BIGINT), [BIGINT, BIGINT], rows)


@pytest.mark.parametrize(("name", "arguments", "outcome"), DOUBLES)
def test_doubles(name: str, arguments: Sequence[Value], outcome: Value) -> None:
    check_table(call(name, DOUBLE), [DOUBLE] * len(arguments), [(arguments, outcome)])


def test_every_nan_is_the_canonical_one() -> None:
    zero = ColumnRef(DOUBLE, nullable=True, index=0)
    for name in ("divide", "negate"):
        arguments = (zero, zero) if name == "divide" else (call("divide", DOUBLE)((zero, zero)),)
        array = compile_expression(call(name, DOUBLE)(arguments))([pa.array([0.0])], 1).values
        bits = np.frombuffer(array.buffers()[1], np.int64)[0]
        assert bits == np.array(np.nan).view(np.int64)


@pytest.mark.parametrize(("left", "right", "equal", "less", "greater"), COMPARISONS)
def test_doubles_compare_in_the_order_of_values(
    left: float, right: float, equal: Value, less: Value, greater: Value
) -> None:
    for name, outcome in (
        *(("eq", equal), ("ne", not equal), ("lt", less), ("ge", not less)),
        *(("gt", greater), ("le", not greater)),
    ):
        check_table(call(name, BOOLEAN), [DOUBLE, DOUBLE], [((left, right), outcome)])


TIMES = [
    ("add", TIMESTAMP, (TIMESTAMP, INTERVAL), (TIMESTAMP_MAX, 0), TIMESTAMP_MAX),
    ("add", TIMESTAMP, (TIMESTAMP, INTERVAL), (TIMESTAMP_MAX, 1), E504),
    ("add", TIMESTAMP, (TIMESTAMP, INTERVAL), (0, BIGINT_MAX), E504),
    ("add", TIMESTAMP, (TIMESTAMP, INTERVAL), (TIMESTAMP_MAX, BIGINT_MAX), E504),
    ("subtract", TIMESTAMP, (TIMESTAMP, INTERVAL), (TIMESTAMP_MIN, 1), E504),
    ("subtract", TIMESTAMP, (TIMESTAMP, INTERVAL), (0, BIGINT_MIN), E504),
    ("subtract", TIMESTAMP, (TIMESTAMP, INTERVAL), (5, 7), -2),
    (
        *("subtract", INTERVAL, (TIMESTAMP, TIMESTAMP), (TIMESTAMP_MIN, TIMESTAMP_MAX)),
        TIMESTAMP_MIN - TIMESTAMP_MAX,
    ),
    ("add", INTERVAL, (INTERVAL, INTERVAL), (BIGINT_MAX, 1), E502),
    ("multiply", INTERVAL, (INTERVAL, BIGINT), (HALF, 2), E502),
    ("multiply", INTERVAL, (INTERVAL, BIGINT), (1_000_000, -3), -3_000_000),
    ("negate", INTERVAL, (INTERVAL,), (BIGINT_MIN,), E502),
    ("abs", INTERVAL, (INTERVAL,), (-1,), 1),
    ("lt", BOOLEAN, (TIMESTAMP, TIMESTAMP), (1, 2), True),
    ("ge", BOOLEAN, (INTERVAL, INTERVAL), (1, 2), False),
    ("timestamp_millis", TIMESTAMP, (BIGINT,), (-1,), -1_000),
    ("timestamp_millis", TIMESTAMP, (BIGINT,), (253_402_300_799_999,), 253_402_300_799_999_000),
    ("timestamp_millis", TIMESTAMP, (BIGINT,), (253_402_300_800_000,), E504),
    ("timestamp_millis", TIMESTAMP, (BIGINT,), (-62_135_596_800_000,), TIMESTAMP_MIN),
    ("timestamp_millis", TIMESTAMP, (BIGINT,), (-62_135_596_800_001,), E504),
    ("timestamp_millis", TIMESTAMP, (BIGINT,), (BIGINT_MAX,), E504),
    ("epoch_millis", BIGINT, (TIMESTAMP,), (-1,), -1),
    ("epoch_millis", BIGINT, (TIMESTAMP,), (1_999,), 1),
]


@pytest.mark.parametrize(("name", "type_", "types", "arguments", "outcome"), TIMES)
def test_times(
    name: str,
    type_: SqlType,
    types: Sequence[SqlType],
    arguments: Sequence[Value],
    outcome: Value,
) -> None:
    check_table(call(name, type_), types, [(arguments, outcome)])


def test_booleans_compare() -> None:
    table = [((False, True), True), ((True, False), False), ((True, True), False)]
    check_table(call("lt", BOOLEAN), [BOOLEAN, BOOLEAN], table)
    check_table(call("greatest", BOOLEAN), [BOOLEAN] * 3, [((False, True, False), True)])
