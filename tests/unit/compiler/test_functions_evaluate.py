"""What expressions look at, and where they fail: the rules of `fsql.compiler.expression`.

Catches an operand evaluated that must not be, one left out that must be, and the wrong failure reported.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from fsql.compiler.expression import Call, Cast, ColumnRef, Expression, InSet, Literal, Value
from fsql.compiler.functions.calls import call, combine_balanced, make_case
from fsql.compiler.functions.evaluate import constant, evaluate, fallible
from fsql.compiler.functions.failure import DivisionByZeroFailure, RowFailure
from fsql.compiler.sqltypes import BIGINT, BOOLEAN, DOUBLE, INT, STRING, SqlType

TRUE = Literal(BOOLEAN, nullable=False, value=True)
FALSE = Literal(BOOLEAN, nullable=False, value=False)
UNKNOWN = Literal(BOOLEAN, nullable=True, value=None)
ONE = Literal(BIGINT, nullable=False, value=1)
ZERO = Literal(BIGINT, nullable=False, value=0)
NOTHING = Literal(BIGINT, nullable=True, value=None)
FAILS = call("divide", ONE, ZERO)
FAILS_TOO = Cast(BIGINT, nullable=False, argument=Literal(STRING, nullable=False, value="x"))
CONDITION_FAILS = call("eq", FAILS, ONE)


def column_ref(type_: SqlType, index: int) -> Expression:
    return ColumnRef(type_, nullable=True, index=index)


def literal(number: int) -> Expression:
    return Literal(BIGINT, nullable=False, value=number)


def cast(type_: SqlType, argument: Expression) -> Expression:
    return Cast(type_, nullable=True, argument=argument)


def value(expression: Expression) -> object:
    return evaluate(expression, ())


@pytest.mark.parametrize(
    ("left", "right", "both", "either"),
    [
        (TRUE, TRUE, True, True),
        (TRUE, FALSE, False, True),
        (FALSE, FALSE, False, False),
        (TRUE, UNKNOWN, None, True),
        (FALSE, UNKNOWN, False, None),
        (UNKNOWN, UNKNOWN, None, None),
    ],
)
def test_three_valued_logic(
    left: Expression, right: Expression, both: object, either: object
) -> None:
    for one, other in ((left, right), (right, left)):
        assert value(call("and", one, other)) is both
        assert value(call("or", one, other)) is either


def test_a_decided_connective_does_not_look_further() -> None:
    assert value(call("and", FALSE, CONDITION_FAILS)) is False
    assert value(call("or", TRUE, CONDITION_FAILS)) is True


@pytest.mark.parametrize("name", ["and", "or"])
def test_null_decides_nothing(name: str) -> None:
    with pytest.raises(DivisionByZeroFailure):
        value(call(name, UNKNOWN, CONDITION_FAILS))


@pytest.mark.parametrize("name", ["and", "or"])
def test_the_left_side_is_looked_at_first(name: str) -> None:
    with pytest.raises(DivisionByZeroFailure):
        value(call(name, CONDITION_FAILS, FALSE if name == "and" else TRUE))


NAN, SIGNED_ZERO = float("nan"), -0.0


@pytest.mark.parametrize(
    ("type_", "values", "given", "expected"),
    [
        (BIGINT, (1, 2), [2, 3, None], [True, False, None]),
        (BIGINT, (1, None), [1, 3, None], [True, None, None]),
        (DOUBLE, (NAN, 0.0), [float("nan"), SIGNED_ZERO, 1.0], [True, True, False]),
        (STRING, ("a", ""), ["", "A"], [True, False]),
    ],
)
def test_a_set(
    type_: SqlType, values: tuple[Value, ...], given: list[Value], expected: list[object]
) -> None:
    test = InSet(BOOLEAN, nullable=True, argument=column_ref(type_, 0), values=values)
    assert [evaluate(test, (each,)) for each in given] == expected
    opposite = replace(test, negated=True)
    negated = [None if each is None else not each for each in expected]
    assert [evaluate(opposite, (each,)) for each in given] == negated


def test_coalesce_stops_at_the_first_value() -> None:
    assert value(call("coalesce", NOTHING, ONE, FAILS)) == 1
    with pytest.raises(DivisionByZeroFailure):
        value(call("coalesce", NOTHING, FAILS, ONE))


def test_case_looks_at_the_branch_that_it_takes() -> None:
    assert value(make_case([(FALSE, FAILS), (TRUE, ONE), (CONDITION_FAILS, FAILS)], FAILS)) == 1
    assert value(make_case([(UNKNOWN, FAILS)], ONE)) == 1
    with pytest.raises(DivisionByZeroFailure):
        value(make_case([(CONDITION_FAILS, ONE)], ONE))


def test_everything_else_is_strict_also_in_failing() -> None:
    with pytest.raises(DivisionByZeroFailure):
        value(call("add", NOTHING, FAILS))
    with pytest.raises(DivisionByZeroFailure):
        value(call("is_null", FAILS))


def test_the_leftmost_failure_is_reported() -> None:
    for arguments, code in (((FAILS, FAILS_TOO), 501), ((FAILS_TOO, FAILS), 503)):
        with pytest.raises(RowFailure) as caught:
            value(call("greatest", *arguments))
        assert caught.value.code == code


def test_columns_come_from_the_row() -> None:
    column = column_ref(BIGINT, 1)
    assert evaluate(call("multiply", column, column), ("x", 7)) == 49
    assert evaluate(call("add", column, ONE), ("x", None)) is None


@pytest.mark.parametrize("shape", ["balanced", "left", "right"])
def test_chains_of_any_length(shape: str) -> None:
    operands = [call("ne", column_ref(BIGINT, 0), literal(i)) for i in range(5000)]
    if shape == "balanced":
        chain = combine_balanced("and", operands)
    else:
        chain = operands[0]
        for each in operands[1:]:
            pair = (chain, each) if shape == "left" else (each, chain)
            chain = Call(BOOLEAN, nullable=False, function="and", arguments=pair)
    assert evaluate(chain, (5000,)) is True
    assert evaluate(chain, (4999,)) is False
    assert not fallible(chain)


def test_what_can_fail() -> None:
    column, text = column_ref(BIGINT, 0), column_ref(STRING, 1)
    assert not fallible(call("lower", text))
    assert not fallible(call("eq", column, ONE))
    assert not fallible(cast(BIGINT, column_ref(INT, 2)))
    assert fallible(call("add", column, ONE))
    assert fallible(call("and", TRUE, call("eq", call("add", column, ONE), ONE)))
    assert fallible(cast(INT, column))
    assert fallible(cast(BIGINT, text))


def test_what_is_constant() -> None:
    assert constant(call("add", ONE, ONE))
    assert not constant(call("add", ONE, column_ref(BIGINT, 0)))
