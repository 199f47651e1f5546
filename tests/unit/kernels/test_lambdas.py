"""Lambdas over columns: in parts, over texts that are not copied, and over long arrays in few rows."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.expression import (
    Call,
    ColumnRef,
    LambdaBody,
    LambdaCall,
    LambdaFunction,
    Literal,
)
from fsql.compiler.functions.evaluate import evaluate
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.sqltypes import BIGINT, BOOLEAN, STRING, array_of
from fsql.runtime.arrow_types import from_arrow, to_arrow
from fsql.runtime.kernels.expressions import compile_expression, lambdas

if TYPE_CHECKING:
    from fsql.compiler.expression import Expression, Value
    from fsql.compiler.sqltypes import SqlType

ARRAY = array_of(BIGINT)


def column(type_: SqlType, index: int) -> ColumnRef:
    return ColumnRef(type_, nullable=True, index=index)


def call(type_: SqlType, function: str, *arguments: Expression) -> Call:
    return Call(type_, nullable=True, function=function, arguments=arguments)


def lambda_call(
    type_: SqlType,
    function: LambdaFunction,
    body: Expression,
    *captured: Expression,
    start: tuple[Expression, ...] = (),
) -> LambdaCall:
    arguments = (column(ARRAY, 0), *start)
    return LambdaCall(type_, True, function, arguments, captured, LambdaBody(body))  # noqa: FBT003


QUOTIENT = call(BIGINT, "divide", column(BIGINT, 1), column(BIGINT, 0))
TRANSFORM = lambda_call(ARRAY, LambdaFunction.TRANSFORM, QUOTIENT, column(BIGINT, 1))
LESS = call(BOOLEAN, "lt", column(BIGINT, 0), column(BIGINT, 1))
FILTER = lambda_call(ARRAY, LambdaFunction.FILTER, LESS, column(BIGINT, 1))
ANY = lambda_call(BOOLEAN, LambdaFunction.ANY_MATCH, LESS, column(BIGINT, 1))
STEP = call(
    BIGINT,
    "add",
    call(BIGINT, "divide", column(BIGINT, 0), column(BIGINT, 1)),
    column(BIGINT, 2),
)
REDUCE = lambda_call(
    BIGINT, LambdaFunction.REDUCE, STEP, column(BIGINT, 1), start=(column(BIGINT, 1),)
)


def by_row(expression: Expression, row: tuple[Value, ...]) -> object:
    try:
        return evaluate(expression, row)
    except RowFailure as failure:
        return f"fails {failure.code}"


@pytest.mark.parametrize("rows_count", [5, 120])
@pytest.mark.parametrize("elements", [1, 7, 1 << 16])
@pytest.mark.parametrize("expression", [TRANSFORM, FILTER, ANY, REDUCE])
def test_elements_are_computed_in_parts(
    expression: LambdaCall, elements: int, rows_count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lambdas, "ELEMENTS_MAX", elements)
    random = Random(0)

    def number() -> int | None:
        return random.choice((None, 0, 1, 2, 3, 10, -7))

    rows: list[tuple[Value, ...]] = []
    for _ in range(rows_count):
        array = tuple(number() for _ in range(random.choice((0, 1, 3, 9))))
        rows.append((random.choice((None, array, array, array)), number()))
    columns = [to_arrow([row[0] for row in rows], ARRAY), to_arrow([r[1] for r in rows], BIGINT)]
    values, failed = compile_expression(expression)(columns, len(rows))
    codes = [0] * len(rows) if failed is None else failed.tolist()
    found = [
        f"fails {code}" if code else value
        for value, code in zip(from_arrow(values, expression.type), codes, strict=True)
    ]
    assert found == [by_row(expression, row) for row in rows]


def test_a_long_text_is_not_copied_for_each_element() -> None:
    # 40 GB if it were.
    text = "a" * (1 << 20)
    length = call(BIGINT, "char_length", column(STRING, 1))
    body = call(BOOLEAN, "lt", length, column(BIGINT, 0))
    expression = lambda_call(ARRAY, LambdaFunction.FILTER, body, column(STRING, 1))
    array = tuple(range(len(text) - 10_000, len(text) + 10_000))
    columns = [to_arrow([array, (3,)], ARRAY), to_arrow([text, None], STRING)]
    values, _ = compile_expression(expression)(columns, 2)
    kept = tuple(range(len(text) + 1, len(text) + 10_000))
    assert from_arrow(values, ARRAY) == [kept, ()]


def test_few_long_arrays_are_reduced_a_row_at_a_time() -> None:
    total = call(BIGINT, "add", column(BIGINT, 0), column(BIGINT, 1))
    start = Literal(BIGINT, nullable=False, value=5)
    expression = lambda_call(BIGINT, LambdaFunction.REDUCE, total, start=(start,))
    long = tuple(range(20_000))
    values, failed = compile_expression(expression)([to_arrow([long, (), None], ARRAY)], 3)
    assert (from_arrow(values, BIGINT), failed) == ([sum(long) + 5, 5, None], None)
