from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fsql.compiler.expression import Cast, ColumnRef, TryCast
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.functions.timestamps import format_timestamp, parse_timestamp
from fsql.compiler.sqltypes import (
    BIGINT,
    BIGINT_MAX,
    BIGINT_MIN,
    BOOLEAN,
    DATE,
    DATE_MAX,
    DATE_MIN,
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
    TINYINT,
    UBIGINT,
    array_of,
    row_of,
)
from fsql.runtime.arrow_types import to_arrow
from fsql.runtime.kernels.expressions.timestamps import format_timestamps, parse_timestamps
from fsql.tests.unit.kernels.tables import NAN, call, check_table, fails, outcomes

if TYPE_CHECKING:
    from fsql.compiler.expression import Value
    from fsql.compiler.sqltypes import SqlType

INF = float("inf")
FAILURES = E502, E503, E504 = fails(502), fails(503), fails(504)

CASTS: list[tuple[SqlType, SqlType, list[tuple[Value, Value]]]] = [
    (INT, BIGINT, [(INT_MIN, INT_MIN), (5, 5)]),
    (BOOLEAN, INT, [(True, 1), (False, 0), (None, None)]),
    (BOOLEAN, BIGINT, [(True, 1), (False, 0)]),
    (BOOLEAN, TINYINT, [(True, 1)]),
    (BOOLEAN, UBIGINT, [(True, 1), (False, 0)]),
    (INT, BOOLEAN, [(0, False), (-1, True), (INT_MIN, True), (None, None)]),
    (BIGINT, BOOLEAN, [(2**32, True), (0, False)]),
    (UBIGINT, BOOLEAN, [(2**64 - 1, True), (0, False)]),
    (INT, DOUBLE, [(INT_MAX, 2147483647.0)]),
    (BIGINT, INT, [(INT_MAX, INT_MAX), (INT_MAX + 1, E502), (INT_MIN - 1, E502)]),
    (BIGINT, DOUBLE, [(2**53 + 1, 2.0**53), (BIGINT_MAX, 2.0**63), (-1, -1.0)]),
    (
        *(DOUBLE, INT),
        [
            *((2.9, 2), (-2.9, -2), (2147483647.9, INT_MAX), (2147483648.0, E502)),
            *((-2147483648.9, INT_MIN), (-2147483649.0, E502), (NAN, E502), (INF, E502)),
        ],
    ),
    (
        *(DOUBLE, BIGINT),
        [
            *((-0.5, 0), (1e18, 10**18), (-(2.0**63), BIGINT_MIN), (2.0**63, E502)),
            *((9.223372036854774e18, 9223372036854773760), (-1e19, E502), (-INF, E502)),
        ],
    ),
    (BOOLEAN, STRING, [(True, "true"), (False, "false")]),
    (INT, STRING, [(INT_MIN, "-2147483648")]),
    (BIGINT, STRING, [(BIGINT_MIN, str(BIGINT_MIN)), (0, "0")]),
    (INTERVAL, STRING, [(-1_000_000, "-1000000")]),
    (
        *(DOUBLE, STRING),
        [
            *((1.0, "1.0"), (-0.0, "-0.0"), (1e16, "1e+16"), (0.1, "0.1"), (1e-7, "1e-07")),
            *((NAN, "NaN"), (INF, "Infinity"), (-INF, "-Infinity"), (5e-324, "5e-324")),
            *((123456789012345680.0, "1.2345678901234568e+17"), (0.0, "0.0")),
        ],
    ),
    (
        *(TIMESTAMP, STRING),
        [
            *((0, "1970-01-01T00:00:00Z"), (500_000, "1970-01-01T00:00:00.500Z")),
            *((-1, "1969-12-31T23:59:59.999999Z"), (TIMESTAMP_MIN, "0001-01-01T00:00:00Z")),
            (TIMESTAMP_MAX, "9999-12-31T23:59:59.999999Z"),
            (1_709_251_199_001_000, "2024-02-29T23:59:59.001Z"),
        ],
    ),
    (TIMESTAMP, DATE, [(0, 0), (-1, -1), (TIMESTAMP_MAX, DATE_MAX), (TIMESTAMP_MIN, DATE_MIN)]),
    (DATE, TIMESTAMP, [(1, 86_400_000_000), (DATE_MIN, TIMESTAMP_MIN), (-1, -86_400_000_000)]),
    (DATE, STRING, [(0, "1970-01-01"), (DATE_MIN, "0001-01-01"), (DATE_MAX, "9999-12-31")]),
    (
        *(STRING, DATE),
        [
            *((" 1970-01-02 ", 1), ("2024-02-29", 19_782), ("0001-01-01", DATE_MIN)),
            *((text, E503) for text in ("2023-02-29", "0000-01-01", "1970-1-01", "1970-01-010")),
            *((text, E503) for text in ("1970-01-01 24:00", "19700101", "", "1970-01-0x", "x")),
            *(("1970-01-02 23:00:00.5-05:00", 1), ("1970-01-02T00:00+01:00", 1)),
            ("0001-01-01T00:00+01:00", E504),
        ],
    ),
    (
        *(STRING, BOOLEAN),
        [
            *(("true", True), (" FALSE ", False), ("tRuE", True), ("t", True), ("F", False)),
            *(("yes", True), ("No", False), ("y", True), ("n", False), ("ON", True)),
            *(("off", False), ("1", True), ("0", False), ("2", E503), ("", E503), ("tr", E503)),
        ],
    ),
    (
        *(STRING, INT),
        [
            *(
                ("12", 12),
                (" -12 ", -12),
                ("+7", 7),
                ("007", 7),
                ("-0", 0),
                ("-2147483648", INT_MIN),
            ),
            *(("2147483648", E502), ("-2147483649", E502), ("1.0", E503), ("", E503), ("-", E503)),
            *(
                ("+-1", E503),
                ("--1", E503),
                ("1 2", E503),
                ("٣", E503),
                ("1e3", E503),
                ("\t1", E503),
            ),
            *(("0" * 40 + "5", 5), ("1" * 40, E502), ("1" * 40 + "x", E503), ("é", E503)),
        ],
    ),
    (
        *(STRING, BIGINT),
        [
            *((str(BIGINT_MAX), BIGINT_MAX), (str(BIGINT_MIN), BIGINT_MIN)),
            *((str(BIGINT_MAX + 1), E502), (str(BIGINT_MIN - 1), E502)),
            *(("9999999999999999999", E502), ("18446744073709551616", E502), ("abc", E503)),
        ],
    ),
    (
        *(STRING, DOUBLE),
        [
            *(("1", 1.0), (" 1.5 ", 1.5), ("-0", -0.0), ("1e3", 1000.0), ("1E-2", 0.01)),
            *(("NaN", NAN), ("Infinity", INF), ("-Infinity", -INF), ("1e400", INF)),
            *(("+1", 1.0), (".5", 0.5), ("5.", 5.0), ("01", 1.0), ("nan", NAN), ("", E503)),
            *(("inf", INF), ("-INF", -INF), ("+infinity", INF), ("-.5e+1", -5.0), ("00.50", 0.5)),
            *(("0x1", E503), ("1_0", E503), ("-NaN", E503), ("1\n", E503), ("0.1", 0.1)),
            *((".", E503), ("+", E503), ("e5", E503), ("1e", E503), ("infi", E503), ("--1", E503)),
            *(("1 0", E503), ("\uff11", E503), ("1.5.", E503), ("1d", E503), ("\u0131nf", E503)),
        ],
    ),
    (NULL, BIGINT, [(None, None)]),
    (NULL, STRING, [(None, None)]),
    (NULL, array_of(STRING), [(None, None)]),
]


@pytest.mark.parametrize(("source", "target", "table"), CASTS)
def test_casts(source: SqlType, target: SqlType, table: list[tuple[Value, Value]]) -> None:
    rows = [((value,), outcome) for value, outcome in table]
    check_table(
        lambda arguments: Cast(target, nullable=True, argument=arguments[0]), [source], rows
    )


@pytest.mark.parametrize(("source", "target", "table"), CASTS)
def test_try_casts(source: SqlType, target: SqlType, table: list[tuple[Value, Value]]) -> None:
    rows = [((value,), None if outcome in FAILURES else outcome) for value, outcome in table]
    check_table(
        lambda arguments: TryCast(target, nullable=True, argument=arguments[0]), [source], rows
    )


def test_try_cast_of_a_row_or_array_is_null_if_a_part_fails() -> None:
    texts, numbers = row_of([("a", STRING), ("b", STRING)]), row_of([("a", INT), ("b", DOUBLE)])
    check_table(
        lambda arguments: TryCast(numbers, nullable=True, argument=arguments[0]),
        [texts],
        [((("1", "2"),), (1, 2.0)), ((("1", "x"),), None), (((None, "2"),), (None, 2.0))],
    )
    check_table(
        lambda arguments: TryCast(array_of(INT), nullable=True, argument=arguments[0]),
        [array_of(STRING)],
        [((("1", "2"),), (1, 2)), ((("1", "x"),), None), (((),), ()), ((None,), None)],
    )


def test_many_doubles_become_text_once_each() -> None:
    doubles = [0.0, -0.0, NAN, 0.1] * 30
    texts = ["0.0", "-0.0", "NaN", "0.1"] * 30
    rows = [((value,), text) for value, text in zip(doubles, texts, strict=True)]
    check_table(
        lambda arguments: Cast(STRING, nullable=True, argument=arguments[0]), [DOUBLE], rows
    )


TIMESTAMPS: list[tuple[str, Value]] = [
    ("1970-01-01T00:00:00Z", 0),
    ("1970-01-01 00:00", 0),
    ("1970-01-01T00:00Z", 0),
    ("1970-01-01T00:00+00:30", -1_800_000_000),
    ("1970-01-01T01:00:00.5+01:00", 500_000),
    ("1969-12-31T23:00:00.000001-01:00", 1),
    ("1970-01-01T01:00:00.5+0100", 500_000),
    ("1970-01-01 01:00:00+01", 0),
    ("1970-01-01T00:00+0030", -1_800_000_000),
    ("1969-12-31T23:00-01", 0),
    ("1970-01-01T00:00:00.1234567+0000", 123_456),
    ("2024-02-29T23:59:59.123456Z", 1_709_251_199_123_456),
    ("2024-02-29T23:59:59.1234569Z", 1_709_251_199_123_456),
    ("2024-02-29T23:59:59.123456789+00:00", 1_709_251_199_123_456),
    ("0001-01-01T00:00:00Z", TIMESTAMP_MIN),
    ("9999-12-31T23:59:59.999999", TIMESTAMP_MAX),
    ("2024-02-29", 1_709_164_800_000_000),
    ("0001-01-01", TIMESTAMP_MIN),
    ("0001-01-01T00:00:00+00:01", E504),
    ("9999-12-31T23:59:59-00:01", E504),
    *(
        (text, E503)
        for text in (
            *(
                "",
                "2024",
                "2024-01",
                "2024-01-1",
                "2024-02-30",
                "2024-01-01T",
                "2024-01-01T00",
                "2024-1-01T00:00",
            ),
            *("2023-02-29T00:00", "2024-13-01T00:00", "2024-00-01T00:00", "2024-01-00T00:00"),
            *("2024-04-31T00:00", "0000-01-01T00:00", "2024-01-01T24:00", "2024-01-01T00:60"),
            *("2024-01-01T00:00:60Z", "2024-01-01T00:00:00.Z", "2024-01-01T00:00:00.1234567890Z"),
            *("2024-01-01T00:00:00z", "2024-01-01t00:00:00Z", "2024-01-01T00:00:00+01000"),
            *("2024-01-01T00:00:00+24:00", "2024-01-01T00:00:00+01:60", "2024-01-01T00:00:00+1"),
            *("2024-01-01T00:00:00+24", "2024-01-01T00:00:00+0160", "2024-01-01T00-0100"),
            *("2024-01-01T00:00:00+01:", "2024-01-01-01", "2024-01-01T00:00:00+010"),
            *(
                "2024-01-01T00:00:00ZZ",
                "2024-01-01T00:00.5Z",
                "2024-01-01T00:00:0Z",
                "\uff12024-01-01T00:00",
            ),
            *(
                "2024-01-01T00:00:00 Z",
                "-024-01-01T00:00",
                "2024-01-01T00:00:00,5Z",
                "2024/01/01T00:00",
            ),
            *(
                "2024-01-01T00:00:00.123456+01:000",
                "2024-01-01T00:00:00*01:00",
                "9999-12-31T23:59:59x",
            ),
        )
    ),
]


def test_timestamps_are_read_from_text() -> None:
    rows = [((text,), outcome) for text, outcome in TIMESTAMPS]
    check_table(call("to_timestamp", TIMESTAMP), [STRING], rows)
    spaced = [((f"  {text} ",), outcome) for text, outcome in TIMESTAMPS]
    check_table(
        lambda arguments: Cast(TIMESTAMP, nullable=True, argument=arguments[0]), [STRING], spaced
    )
    check_table(call("to_timestamp", TIMESTAMP), [STRING], [((" 1970-01-01T00:00:00Z",), E503)])


@pytest.mark.parametrize("copies", [1, 100])
def test_a_timestamp_that_failed_is_not_written(copies: int) -> None:
    at, by = (ColumnRef(type_, nullable=True, index=i) for i, type_ in enumerate(SHIFT))
    late = Cast(STRING, nullable=True, argument=call("add", TIMESTAMP)((at, by)))
    columns = [
        to_arrow(values * copies, type_) for values, type_ in zip(SHIFTED, SHIFT, strict=True)
    ]
    expected = [repr(E504), repr("1970-01-01T00:00:00.000001Z"), repr(None)]
    assert outcomes(late, columns, 3 * copies) == expected * copies


SHIFT = (TIMESTAMP, INTERVAL)
SHIFTED: tuple[list[Value], ...] = ([TIMESTAMP_MAX, 1, None], [BIGINT_MAX, 0, BIGINT_MAX])


def by_row(text: str) -> object:
    try:
        return parse_timestamp(text)
    except RowFailure as failure:
        return fails(failure.code)


@pytest.mark.parametrize("seed", range(3))
def test_timestamps_survive_text_and_damaged_text_is_read_as_row_by_row(seed: int) -> None:
    random = Random(seed)
    values = [
        random.randrange(TIMESTAMP_MIN, TIMESTAMP_MAX + 1) // unit * unit
        for _ in range(200)
        for unit in (1, 1_000, 1_000_000, 86_400_000_000)
    ]
    texts = format_timestamps(np.array(values)).to_pylist()
    assert texts == [format_timestamp(value) for value in values]
    for digits in range(7):
        declared = format_timestamps(np.array(values), digits).to_pylist()
        assert declared == [format_timestamp(value, digits) for value in values]
    assert parse_timestamps(to_arrow(texts, STRING))[0].tolist() == values
    days = [text[:10] for text in texts]
    assert parse_timestamps(to_arrow(days, STRING))[0].tolist() == [
        parse_timestamp(day) for day in days
    ]
    damaged = []
    for text in [*texts, *days]:
        at = random.randrange(len(text))
        damaged.append(
            text[:at] + random.choice(("", "0", "9", "-", ":", "T+", "é")) + text[at + 1 :]
        )
    read, codes = parse_timestamps(to_arrow(damaged, STRING))
    assert codes is not None
    found = [
        fails(code) if code else value
        for value, code in zip(read.tolist(), codes.tolist(), strict=True)
    ]
    assert found == [by_row(text) for text in damaged]
