"""Unsigned integers: what each operation and cast gives at the ends of the types."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from fsql.compiler.expression import Cast, Expression
from fsql.compiler.functions.floats import integer_to_float
from fsql.compiler.sqltypes import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    UBIGINT,
    UINT,
    USMALLINT,
    UTINYINT,
    SqlType,
    decimal_type,
)
from fsql.tests.unit.kernels.tables import call, check_table, fails

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.expression import Value

E501, E502, E503 = fails(501), fails(502), fails(503)
GREATEST = 2**64 - 1
ENDS = ((UTINYINT, 2**8 - 1), (USMALLINT, 2**16 - 1), (UINT, 2**32 - 1), (UBIGINT, GREATEST))


def cast_to(type_: SqlType) -> Callable[[tuple[Expression, ...]], Expression]:
    def build(arguments: tuple[Expression, ...]) -> Expression:
        return Cast(type_, nullable=True, argument=arguments[0])

    return build


@pytest.mark.parametrize(("type_", "greatest"), ENDS)
def test_arithmetic(type_: SqlType, greatest: int) -> None:
    half = greatest // 2 + 1
    pair = [type_, type_]
    check_table(
        call("add", type_),
        pair,
        [((greatest, 0), greatest), ((half, half - 1), greatest), ((half, half), E502)],
    )
    check_table(
        call("subtract", type_),
        pair,
        [((greatest, greatest), 0), ((greatest, 1), greatest - 1), ((0, 1), E502)],
    )
    check_table(
        call("multiply", type_),
        pair,
        [((half, 2), E502), ((half - 1, 2), greatest - 1), ((greatest, greatest), E502)],
    )
    check_table(
        call("divide", type_), pair, [((greatest, 2), half - 1), ((7, 2), 3), ((1, 0), E501)]
    )
    check_table(
        call("modulo", type_),
        pair,
        [((greatest, half), half - 1), ((1, greatest), 1), ((1, 0), E501)],
    )
    check_table(call("abs", type_), [type_], [((0,), 0), ((greatest,), greatest)])


@pytest.mark.parametrize(("type_", "greatest"), ENDS)
def test_casts(type_: SqlType, greatest: int) -> None:
    cast = cast_to(type_)
    check_table(cast, [BIGINT], [((-1,), E502), ((0,), 0), ((200,), 200)])
    check_table(cast, [DOUBLE], [((-1.0,), E502), ((-0.9,), 0), ((2.0**64,), E502), ((9.9,), 9)])
    check_table(cast, [FLOAT], [((float("nan"),), E502), ((250.5,), 250)])
    texts: list[tuple[str, Value]] = [
        (str(greatest), greatest),
        (" +007", 7),
        ("-0", 0),
        (str(greatest + 1), E502),
    ]
    texts += [("-1", E502), ("1.0", E503), ("", E503), ("1" * 21, E502)]
    check_table(cast, [STRING], [((text,), outcome) for text, outcome in texts])
    check_table(
        cast,
        [decimal_type(24, 2)],
        [((100 * greatest + 99,), greatest), ((100 * greatest + 100,), E502), ((-99,), 0)],
    )
    check_table(cast_to(STRING), [type_], [((greatest,), str(greatest)), ((0,), "0")])
    check_table(cast_to(DOUBLE), [type_], [((greatest,), float(greatest))])
    check_table(cast_to(decimal_type(22, 2)), [type_], [((greatest,), 100 * greatest), ((1,), 100)])
    check_table(cast_to(INT), [type_], [((100,), 100)])


def test_a_large_integer_is_rounded_once() -> None:
    values = [2**63 + 2**39 + 1, 2**63 + 2**39, GREATEST, 2**40 + 1]
    nearest = [float(np.array([value], np.uint64).astype(np.float32)[0]) for value in values]
    assert [*map(integer_to_float, values)] == nearest
    check_table(
        cast_to(FLOAT), [UBIGINT], [((v,), n) for v, n in zip(values, nearest, strict=True)]
    )


def test_comparisons_of_large_integers() -> None:
    check_table(
        call("lt", BOOLEAN),
        [UBIGINT, UBIGINT],
        [((2**63 - 1, 2**63), True), ((GREATEST, 1), False), ((GREATEST, GREATEST), False)],
    )
    check_table(call("bitxor", UBIGINT), [UBIGINT, UBIGINT], [((GREATEST, 1), GREATEST - 1)])
    check_table(
        call("try_add", UBIGINT),
        [UBIGINT, UBIGINT],
        [((GREATEST, 1), None), ((2**63, 1), 2**63 + 1)],
    )
    check_table(call("to_hex", STRING), [UBIGINT], [((GREATEST,), "f" * 16)])
    check_table(call("negate", decimal_type(20, 0)), [UBIGINT], [((GREATEST,), -GREATEST)])
