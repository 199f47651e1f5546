from __future__ import annotations

import functools

import numpy as np
import pyarrow as pa
import pytest

from fsql.compiler.expression import Call, Case, Cast, ColumnRef, Expression, InSet, Literal, Value
from fsql.compiler.functions.evaluate import evaluate
from fsql.compiler.sqltypes import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    INTERVAL,
    NULL,
    STRING,
    Kind,
    SqlType,
    array_of,
    decimal_type,
)
from fsql.runtime.arrow_types import from_arrow, to_arrow
from fsql.runtime.kernels.expressions import Program, compile_expression, compile_expressions


def column(type_: SqlType, index: int) -> ColumnRef:
    return ColumnRef(type_, nullable=True, index=index)


def literal(type_: SqlType, value: Value) -> Literal:
    return Literal(type_, nullable=value is None, value=value)


def call(function: str, type_: SqlType, *arguments: Expression) -> Call:
    return Call(type_, nullable=True, function=function, arguments=arguments)


def outcomes(expression: Expression, *columns: pa.Array) -> list[object]:
    """Return, for each row, the value, or the error as `"E501"`."""
    count = len(columns[0]) if columns else 3
    array, failed = compile_expression(expression)(columns, count)
    array.validate(full=True)
    assert len(array) == count
    codes = [0] * count if failed is None else failed.tolist()
    values = from_arrow(array, expression.type)
    return [f"E{code}" if code else value for value, code in zip(values, codes, strict=True)]


A, B, C = (column(BIGINT, index) for index in range(3))
P, Q = (column(BOOLEAN, index) for index in range(2))
ONE = literal(BIGINT, 1)
QUOTIENT = call("divide", BIGINT, ONE, A)
"""Fails (E501) where A is 0, and is NULL where A is NULL."""
POSITIVE = call("gt", BOOLEAN, QUOTIENT, literal(BIGINT, 0))
OVERFLOW = call("add", BIGINT, call("multiply", BIGINT, B, B), A)
"""Fails (E502) where B is large."""
NUMBERS = to_arrow([1, 0, None], BIGINT)


def bigints(*values: int | None) -> pa.Array:
    return to_arrow(values, BIGINT)


def booleans(*values: Value) -> pa.Array:
    return to_arrow(values, BOOLEAN)


@pytest.mark.parametrize(
    ("function", "left", "expected"),
    [
        ("and", True, [True, "E501", None]),
        ("and", False, [False, False, False]),
        ("and", None, [None, "E501", None]),
        ("or", True, [True, True, True]),
        ("or", False, [True, "E501", None]),
        ("or", None, [True, "E501", None]),
    ],
)
def test_a_decided_left_side_keeps_the_right_from_failing(
    function: str, left: Value, expected: list[object]
) -> None:
    by_column = call(function, BOOLEAN, column(BOOLEAN, 1), POSITIVE)
    assert outcomes(by_column, NUMBERS, booleans(left, left, left)) == expected
    by_literal = call(function, BOOLEAN, literal(BOOLEAN, left), POSITIVE)
    assert outcomes(by_literal, NUMBERS) == expected


@pytest.mark.parametrize("function", ["and", "or"])
def test_a_failing_left_side_fails_whatever_the_right_says(function: str) -> None:
    expression = call(function, BOOLEAN, POSITIVE, column(BOOLEAN, 1))
    for right in (True, False, None):
        assert outcomes(expression, NUMBERS, booleans(right, right, right))[1] == "E501"


def test_three_valued_logic() -> None:
    values = (True, False, None)
    pairs = [(left, right) for left in values for right in values]
    columns = [booleans(*side) for side in zip(*pairs, strict=True)]
    assert outcomes(call("and", BOOLEAN, P, Q), *columns) == [
        *(True, False, None),
        *(False, False, False),
        *(None, False, None),
    ]
    assert outcomes(call("or", BOOLEAN, P, Q), *columns) == [
        *(True, True, True),
        *(True, False, None),
        *(True, None, None),
    ]
    assert outcomes(call("not", BOOLEAN, P), booleans(*values)) == [False, True, None]


def test_null_tests_are_never_null() -> None:
    words = to_arrow(["a", None, "a", "a"], STRING)
    for column_given in (words, words.dictionary_encode()):
        assert outcomes(call("is_null", BOOLEAN, column(STRING, 0)), column_given) == [
            *(False, True, False, False),
        ]
    lists = to_arrow([(), None], array_of(BIGINT))
    array = column(array_of(BIGINT), 0)
    assert outcomes(call("is_not_null", BOOLEAN, array), lists) == [True, False]
    assert outcomes(call("is_null", BOOLEAN, A), bigints(1, 2)) == [False, False]


def test_case_looks_at_a_branch_only_where_it_is_taken() -> None:
    zero = call("eq", BOOLEAN, A, literal(BIGINT, 0))
    guarded = Case(BIGINT, nullable=True, branches=((zero, B),), otherwise=QUOTIENT)
    assert outcomes(guarded, NUMBERS, bigints(7, 8, 9)) == [1, 8, None]
    unguarded = Case(BIGINT, nullable=True, branches=((zero, QUOTIENT),), otherwise=B)
    assert outcomes(unguarded, NUMBERS, bigints(7, 8, 9)) == [7, "E501", 9]


def test_case_looks_at_a_condition_only_where_no_earlier_branch_took_the_row() -> None:
    zero = call("eq", BOOLEAN, A, literal(BIGINT, 0))
    taken = Case(BIGINT, nullable=True, branches=((zero, ONE), (POSITIVE, A)), otherwise=B)
    assert outcomes(taken, NUMBERS, bigints(7, 8, 9)) == [1, 1, 9]
    failing = Case(BIGINT, nullable=True, branches=((POSITIVE, A), (zero, ONE)), otherwise=B)
    assert outcomes(failing, NUMBERS, bigints(7, 8, 9)) == [1, "E501", 9]


def test_case_of_strings_takes_constants_dictionaries_and_columns() -> None:
    words = to_arrow(["a", "b", "a", None], STRING).dictionary_encode()
    expression = Case(
        STRING,
        nullable=True,
        branches=(
            (call("eq", BOOLEAN, A, ONE), literal(STRING, "one")),
            (call("is_null", BOOLEAN, A), literal(STRING, None)),
        ),
        otherwise=column(STRING, 1),
    )
    assert outcomes(expression, bigints(1, 2, None, 3), words) == ["one", "b", None, None]


def test_coalesce_looks_at_an_argument_only_where_all_before_are_null() -> None:
    expression = call("coalesce", BIGINT, B, QUOTIENT, literal(BIGINT, 5))
    assert outcomes(expression, bigints(0, 0, None, 2), bigints(7, None, None, None)) == [
        *(7, "E501", 5, 0),
    ]


def test_the_leftmost_failing_argument_is_the_one_reported() -> None:
    quotient_first = call("add", BIGINT, QUOTIENT, OVERFLOW)
    overflow_first = call("add", BIGINT, OVERFLOW, QUOTIENT)
    columns = bigints(0, 0, 1, None), bigints(2**40, 1, 2**40, 1)
    assert outcomes(quotient_first, *columns) == ["E501", "E501", "E502", None]
    assert outcomes(overflow_first, *columns) == ["E502", "E501", "E502", None]


def test_a_failure_is_not_hidden_by_null() -> None:
    expression = call("add", BIGINT, B, QUOTIENT)
    assert outcomes(expression, bigints(0), bigints(None)) == ["E501"]
    assert outcomes(call("is_null", BOOLEAN, expression), bigints(0), bigints(None)) == ["E501"]


def test_a_time_before_another_is_what_it_is_for_a_row() -> None:
    """The binder calls it with times that are not NULL and do not fail; the two ways agree on others, too."""
    one = Literal(INTERVAL, nullable=False, value=1)
    plain = call("time_before", BIGINT, A, B, one)
    columns = bigints(None, 5, None, 7), bigints(6, 6, None, None)
    expected = [evaluate(plain, row) for row in ((None, 6), (5, 6), (None, None), (7, None))]
    assert outcomes(plain, *columns) == expected == [None, 5, None, 7]
    failing = call("time_before", BIGINT, A, QUOTIENT, one)
    assert outcomes(failing, bigints(0, 2, None)) == ["E501", 2, None]


def test_what_lies_under_a_null_cannot_fail() -> None:
    array = pa.Array.from_buffers(
        pa.int64(), 2, [pa.py_buffer(b"\x02"), pa.py_buffer(np.array([0, 1]))]
    )
    assert outcomes(QUOTIENT, array) == [None, 1]


@pytest.mark.parametrize("function", ["and", "or"])
def test_a_chain_of_five_thousand_terms(function: str) -> None:
    decisive = function == "or"
    chain: Expression = literal(BOOLEAN, not decisive)
    for number in range(5_000):
        term = call("ge" if decisive else "lt", BOOLEAN, A, literal(BIGINT, 9_999 - number))
        chain = call(function, BOOLEAN, chain, term)
    assert outcomes(chain, bigints(5_000, 4_999, None)) == [decisive, not decisive, None]


LISTS: list[tuple[SqlType, list[Value], list[Value]]] = [
    (BIGINT, list(range(0, 40, 2)), [0, 1, 38, 40, -1, 2**62, None]),
    (
        DOUBLE,
        [0.0, float("nan"), 1.5, *map(float, range(10))],
        [-0.0, float("nan"), 1.5, 2.5, None],
    ),
    (STRING, [f"w{n}" for n in range(12)], ["w0", "w11", "w12", "", None, "w0"]),
    (BOOLEAN, [True] * 9, [True, False, None]),
    (decimal_type(38, 2), [*range(9), 10**37], [1, 10**37, -1, None]),
    (decimal_type(5, 2), [*range(9)], [1, 11, None]),
]


@pytest.mark.parametrize(("type_", "listed", "given"), LISTS)
@pytest.mark.parametrize("nulls", [[], [None]])
def test_a_long_list_is_one_look_up(
    type_: SqlType, listed: list[Value], given: list[Value], nulls: list[Value]
) -> None:
    members = [literal(type_, value) for value in [*listed, *nulls]]
    operand = column(type_, 0)
    equal, differs = (
        [call(name, BOOLEAN, operand, member) for member in members] for name in ("eq", "ne")
    )
    found = functools.reduce(lambda left, right: call("or", BOOLEAN, left, right), equal)
    missing = functools.reduce(lambda left, right: call("and", BOOLEAN, right, left), differs)
    expected = [evaluate(found, (value,)) for value in given]
    array = to_arrow(given, type_)
    comparable = type_.kind is not Kind.DECIMAL
    assert not comparable or Program([found, missing]).instruction_count == 2
    assert outcomes(found, array) == expected
    opposite = [None if value is None else not value for value in expected]
    assert outcomes(missing, array) == opposite
    values = (*listed, *nulls)
    assert (
        outcomes(InSet(BOOLEAN, nullable=True, argument=operand, values=values), array) == expected
    )
    assert (
        outcomes(
            InSet(BOOLEAN, nullable=True, argument=operand, values=values, negated=True), array
        )
        == opposite
    )
    if type_ is STRING:
        assert outcomes(found, array.dictionary_encode()) == expected
        assert outcomes(found, pa.concat_arrays([array] * 9)) == expected * 9


def test_a_list_within_a_chain_fails_and_is_looked_at_as_its_terms_are() -> None:
    listed = [call("eq", BOOLEAN, QUOTIENT, literal(BIGINT, n)) for n in range(10)]
    found = functools.reduce(lambda left, right: call("or", BOOLEAN, left, right), listed)
    decided = call("or", BOOLEAN, call("eq", BOOLEAN, B, ONE), found)
    assert Program([decided]).instruction_count == 4
    assert outcomes(decided, bigints(0, 0, 1, None), bigints(1, 2, 2, 2)) == [
        *(True, "E501", True, None),
    ]
    other = call("or", BOOLEAN, found, call("eq", BOOLEAN, B, ONE))
    assert outcomes(other, bigints(0, 0, 1, None), bigints(1, 2, 2, 1)) == [
        *("E501", "E501", True, True),
    ]


def test_a_sum_of_five_thousand_terms() -> None:
    total: Expression = A
    for _ in range(5_000):
        total = call("add", BIGINT, total, A)
    assert outcomes(total, bigints(1, None, 2**62)) == [5_001, None, "E502"]


def test_a_case_of_a_thousand_branches() -> None:
    expression = Case(
        BIGINT,
        nullable=True,
        branches=tuple(
            (call("eq", BOOLEAN, A, literal(BIGINT, n)), literal(BIGINT, -n)) for n in range(1_000)
        ),
        otherwise=A,
    )
    assert outcomes(expression, bigints(999, 1_000, None)) == [-999, 1_000, None]


def test_a_common_subexpression_is_computed_once() -> None:
    shared = call("multiply", BIGINT, A, B)
    program = Program([call("add", BIGINT, shared, A), call("subtract", BIGINT, shared, B), shared])
    assert program.instruction_count == 3


def test_constants_are_folded_when_compiled() -> None:
    two = call("add", BIGINT, ONE, ONE)
    assert Program([two, call("add", BIGINT, two, two)]).instruction_count == 0
    assert outcomes(two) == [2, 2, 2]
    assert outcomes(call("divide", BIGINT, ONE, literal(BIGINT, 0))) == ["E501"] * 3


def test_a_bare_reference_hands_the_column_through() -> None:
    words = to_arrow(["a", "b", "a"], STRING).dictionary_encode()
    numbers = bigints(1, 2, None)
    results = compile_expressions([column(STRING, 1), A, call("negate", BIGINT, A)])(
        [numbers, words], 3
    )
    assert results[0].values is words
    assert results[1].values is numbers
    assert results[2].values.to_pylist() == [-1, -2, None]


def test_a_function_of_one_string_column_sees_the_dictionary() -> None:
    words = to_arrow(["b", "A", "b", None, "A"], STRING).dictionary_encode()
    upper = compile_expression(call("upper", STRING, column(STRING, 0)))([words], 5).values
    assert upper.dictionary.to_pylist() == ["B", "A"]
    assert upper.to_pylist() == ["B", "A", "B", None, "A"]


def test_a_cast_that_fails_on_a_dictionary_value_fails_its_rows_only() -> None:
    texts = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 0, None], pa.int32()), pa.array(["12", "x", "unused"])
    )
    number = Cast(INT, nullable=True, argument=column(STRING, 0))
    assert outcomes(number, texts) == [12, "E503", 12, None]


def test_constants_of_every_type_stretch_to_the_batch() -> None:
    for type_, value in (
        *((BOOLEAN, True), (INT, 3), (DOUBLE, 0.5), (STRING, "é"), (NULL, None)),
        *((array_of(STRING), ("a", None)), (STRING, None), (array_of(BIGINT), None)),
    ):
        assert outcomes(literal(type_, value)) == [value] * 3
        assert outcomes(literal(type_, value), bigints()) == []


def test_no_expressions() -> None:
    assert compile_expressions([])([], 5) == []
