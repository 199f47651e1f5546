"""Scalar expressions: the row-wise evaluation of fsql against the oracle's, which shares no code.

Catches a function, cast, lazy rule or failure code that one of the two reads differently from
docs/internals/semantics.md.  Cannot catch what both read wrongly, nor anything about columns (the
kernels are tested against the row-wise evaluation) or about SQL text.

FSQL_SEEDS=1000:2000 runs other seeds than those of the suite.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.expression import Call
from fsql.compiler.functions.evaluate import evaluate
from fsql.compiler.functions.event_times import TIME_BEFORE
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.functions.table import FUNCTIONS
from fsql.compiler.node import walk
from fsql.compiler.schema import Column
from fsql.tests.property.expressions import TYPES, random_call, random_expression
from fsql.tests.property.judged_functions import JUDGED
from fsql.tests.property.judged_json import JSON
from fsql.tests.property.judged_others import OTHERS
from fsql.tests.property.values import random_value
from fsql.tests.reference import scalar
from fsql.tests.reference.failure import FailureError
from fsql.tests.reference.octets import OCTET_FUNCTIONS
from fsql.tests.reference.order import row_key
from fsql.tests.seeds import chosen_seeds

if TYPE_CHECKING:
    from fsql.compiler.expression import Expression, Value

OF_THE_ORACLE = {
    *(*scalar.FUNCTIONS, *scalar.NULL_FUNCTIONS, *OCTET_FUNCTIONS),
    *("and", "or", "coalesce"),
}
SCHEMA = tuple(Column(f"c{index}", type_) for index, type_ in enumerate((*TYPES, *TYPES)))
PATTERNS_OF_CASES = {"date_format", "format_time", "parse_time", "to_char", "try_to_timestamp"}
"""The oracle knows only the patterns of the case files; `JUDGED` has the functions."""
NAMES = tuple(
    name for name in FUNCTIONS if name in OF_THE_ORACLE - PATTERNS_OF_CASES - {TIME_BEFORE}
)
EXPRESSIONS = 1_200
ROWS = 6


def by_fsql(expression: Expression, row: tuple[Value, ...]) -> object:
    try:
        value = evaluate(expression, row)
    except RowFailure as failure:
        return "fails", failure.code
    return type(value), row_key([value])


def by_oracle(expression: Expression, row: tuple[Value, ...]) -> object:
    try:
        value = scalar.evaluate(expression, row)
    except FailureError as failure:
        return "fails", failure.code
    return type(value), row_key([value])


@pytest.mark.parametrize("seed", chosen_seeds(2))
def test_row_wise_evaluation_agrees_with_the_oracle(seed: int) -> None:
    random = Random(seed)
    met: Counter[object] = Counter()
    for number in range(EXPRESSIONS):
        depth = random.choice((0, 1, 2))
        if number % 2:
            name = NAMES[number // 2 % len(NAMES)]
            expression = random_call(random, SCHEMA, name, depth)
        else:
            expression = random_expression(random, SCHEMA, random.choice(TYPES), depth + 1)
        met.update(node.function for node in walk(expression) if isinstance(node, Call))
        for _ in range(ROWS):
            row = tuple(random_value(random, column.type) for column in SCHEMA)
            ours, theirs = by_fsql(expression, row), by_oracle(expression, row)
            assert ours == theirs, f"seed {seed}, expression {number}: {expression} over {row}"
            met[theirs if theirs[0] == "fails" else "has a value"] += 1  # type: ignore[index]
    assert set(NAMES) <= met.keys(), "a function was not met"
    for code in (501, 502, 503, 504, 510):
        assert met["fails", code], f"no failure {code} was met"


def test_every_function_is_judged() -> None:
    judged = OF_THE_ORACLE - PATTERNS_OF_CASES
    assert set(FUNCTIONS) - judged - {*JUDGED, *OTHERS, *JSON} == set()
