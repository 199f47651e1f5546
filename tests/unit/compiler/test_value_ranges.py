"""Which arithmetic cannot fail: proofs by the ranges of values.

Catches a proof of an expression that does fail on some row, and filters kept above a join for nothing.
"""

from __future__ import annotations

import random

import pytest

from fsql.compiler.expression import Case, Cast, ColumnRef, Expression, Literal
from fsql.compiler.functions.calls import call
from fsql.compiler.functions.evaluate import evaluate, fallible
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.functions.value_ranges import Ranges, add_range
from fsql.compiler.node import walk
from fsql.compiler.sqltypes import (
    BIGINT,
    BOOLEAN,
    INT,
    INTEGER_RANGES,
    Kind,
    SqlType,
    decimal_type,
)

TINYINT = SqlType(Kind.TINYINT)
PRICE = decimal_type(5, 2)
TYPES = (TINYINT, INT, BIGINT, PRICE)
COLUMNS = tuple(ColumnRef(kind, nullable=True, index=i) for i, kind in enumerate(TYPES))


def number(value: int, kind: SqlType = BIGINT) -> Expression:
    return Literal(kind, nullable=False, value=value)


def cast(kind: SqlType, argument: Expression) -> Expression:
    return Cast(kind, nullable=True, argument=argument)


def of_column(function: str, *others: Expression) -> Expression:
    return call(function, COLUMNS[2], *others)


@pytest.mark.parametrize(
    "expression",
    [
        of_column("modulo", number(9)),
        of_column("modulo", number(-1)),
        of_column("pmod", number(-9)),
        of_column("divide", number(2)),
        call("add", of_column("modulo", number(9)), number(1)),
        cast(TINYINT, of_column("modulo", number(128))),
        call("multiply", cast(BIGINT, COLUMNS[1]), cast(BIGINT, COLUMNS[1])),
        cast(decimal_type(19, 0), COLUMNS[2]),
        call("multiply", COLUMNS[3], COLUMNS[3]),
        call("divide", COLUMNS[3], number(300, PRICE)),
        cast(BIGINT, Literal(SqlType(Kind.STRING), nullable=False, value="12")),
    ],
    ids=str,
)
def test_constant_divisors_and_casts_that_hold_cannot_fail(expression: Expression) -> None:
    assert not fallible(expression)


@pytest.mark.parametrize(
    "expression",
    [
        of_column("modulo", number(0)),
        of_column("divide", number(-1)),
        of_column("divide", of_column("modulo", number(9))),
        cast(TINYINT, of_column("modulo", number(130))),
        call("add", COLUMNS[1], cast(INT, number(1, INT))),
        cast(decimal_type(18, 0), COLUMNS[2]),
        cast(BIGINT, Literal(SqlType(Kind.STRING), nullable=False, value="x")),
    ],
    ids=str,
)
def test_what_fails_on_some_row_is_not_proved(expression: Expression) -> None:
    assert fallible(expression)


def extreme(kind: SqlType, chance: random.Random) -> int | None:
    """Return a value of a type, often at the ends of its range or near zero."""
    most = 10**kind.precision - 1
    low, high = (-most, most) if kind.kind is Kind.DECIMAL else INTEGER_RANGES[kind.kind]
    return chance.choice([low, high, low + 1, high - 1, -1, 0, 1, chance.randint(low, high), None])


def expression(chance: random.Random, depth: int) -> Expression:
    """Return a random expression of integers, decimals and choices."""
    if depth == 0 or chance.random() < 0.15:
        kind = chance.choice(TYPES)
        constant = number(chance.choice([-7, -1, 0, 1, 2, 9, 100]), kind)
        return chance.choice([*COLUMNS, constant, constant])
    form = chance.random()
    one = expression(chance, depth - 1)
    if form < 0.3:
        return cast(chance.choice(TYPES), one)
    if form < 0.4:
        condition = Literal(BOOLEAN, nullable=False, value=chance.random() < 0.5)
        other = cast(one.type, expression(chance, depth - 1))
        return Case(one.type, nullable=True, branches=((condition, one),), otherwise=other)
    if form < 0.5:
        return call(chance.choice(["abs", "negate"]), one)
    function = chance.choice(["add", "subtract", "multiply", "divide", "modulo", "pmod", "div"])
    other = expression(chance, depth - 1)
    kind = BIGINT if function in {"pmod", "div"} or one.type != other.type else one.type
    if function not in {"pmod", "div"} and PRICE in {one.type, other.type}:
        kind = PRICE
    return call(function, cast(kind, one), cast(kind, other))


@pytest.mark.parametrize("seed", range(400))
def test_random_expressions_keep_to_their_ranges(seed: int) -> None:
    chance = random.Random(seed)
    tested = expression(chance, 4)
    safe = not fallible(tested)
    ranges: Ranges = {}
    for part in walk(tested):
        assert isinstance(part, Expression)
        add_range(part, ranges)
    bounds = ranges[tested]
    unit = 10**tested.type.scale if tested.type.kind is Kind.DECIMAL else 1
    for _ in range(60):
        row = [extreme(kind, chance) for kind in TYPES]
        try:
            value = evaluate(tested, row)
        except RowFailure:
            assert not safe
            continue
        if value is not None and bounds is not None:
            assert isinstance(value, int)
            assert bounds.low * unit <= value <= bounds.high * unit
