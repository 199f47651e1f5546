"""Column programs against row-wise evaluation, over random expressions and columns.

Catches a kernel that gives another value, NULL or failure code than `evaluate`, in whatever form its
columns come: plain, with a dictionary, as a slice of a longer array, constant, empty, without NULLs.
Cannot catch what both read wrongly; `evaluate` itself is held to the oracle in tests/property.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from fsql.compiler.expression import Call, Cast, ColumnRef, InSet, TryCast
from fsql.compiler.functions.evaluate import evaluate
from fsql.compiler.functions.event_times import TIME_BEFORE
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.functions.table import FUNCTIONS
from fsql.compiler.node import walk
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import Kind
from fsql.runtime.arrow_types import arrow_type, from_arrow, to_arrow
from fsql.runtime.kernels.expressions import compile_expressions
from fsql.tests.property.expressions import TYPES, random_call, random_expression
from fsql.tests.property.values import random_value
from fsql.tests.seeds import chosen_seeds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.expression import Expression, Value
    from fsql.compiler.sqltypes import SqlType

SCHEMA = tuple(Column(f"c{index}", type_) for index, type_ in enumerate((*TYPES, *TYPES)))
NAMES = tuple(name for name in FUNCTIONS if name != TIME_BEFORE)
EXPRESSIONS = 900
SIZES = (0, 1, 2, 3, 7, 9, 20, 70)


def column(random: Random, values: Sequence[Value], type_: SqlType) -> pa.Array:
    """Return the values as a column, in one of the forms that columns have."""
    form = random.choice(("plain", "slice", "dictionary"))
    if form == "slice":
        before = [random_value(random, type_) for _ in range(random.randrange(1, 12))]
        longer = to_arrow([*before, *values, *before], type_)
        return longer.slice(len(before), len(values))
    array = to_arrow(values, type_)
    if form == "dictionary" and type_.kind is Kind.STRING:
        encoded = array.dictionary_encode()
        unused = to_arrow(["unused", "1", "a"], type_)
        words = pa.concat_arrays([encoded.dictionary, unused])
        array = pa.DictionaryArray.from_arrays(encoded.indices, words)
        if random.random() < 0.5:
            array = pa.concat_arrays([array.slice(0, 1), array]).slice(len(array[:1]))
    return array


def by_row(expression: Expression, row: Sequence[Value]) -> tuple[str, object]:
    try:
        return "is", identity_codes(evaluate(expression, row))
    except RowFailure as failure:
        return "fails", failure.code


def identity_codes(value: Value) -> object:
    """Return what tells values apart that Python has equal, and has NaN equal itself."""
    if isinstance(value, tuple):
        return tuple(identity_codes(element) for element in value)
    return type(value), repr(value)


def by_column(
    expressions: Sequence[Expression], columns: Sequence[pa.Array], count: int
) -> list[list[tuple[str, object]]]:
    results = []
    evaluated = compile_expressions(expressions)(columns, count)
    for expression, (array, failed) in zip(expressions, evaluated, strict=True):
        array.validate(full=True)
        encoded = isinstance(array, pa.DictionaryArray)
        assert (array.type.value_type if encoded else array.type) == arrow_type(expression.type)
        values = [("is", identity_codes(value)) for value in from_arrow(array, expression.type)]
        codes = [0] * count if failed is None else failed.tolist()
        assert len(values) == len(codes) == count
        results.append(
            [("fails", code) if code else value for value, code in zip(values, codes, strict=True)]
        )
    return results


@pytest.mark.slow
@pytest.mark.parametrize("seed", chosen_seeds(1))
def test_columns_agree_with_rows(seed: int) -> None:
    random = Random(seed)
    met: Counter[object] = Counter()
    for number in range(EXPRESSIONS):
        expressions = [
            random_expression(random, SCHEMA, random.choice(TYPES), random.choice((1, 2, 3, 4)))
            for _ in range(random.choice((0, 0, 1)))
        ]
        expressions.append(random_call(random, SCHEMA, NAMES[number % len(NAMES)], number % 3))
        awkward = random.choice((0.0, 0.1, 0.3))
        count = random.choice(SIZES)
        nodes = [node for expression in expressions for node in walk(expression)]
        used = {node.index for node in nodes if isinstance(node, ColumnRef)}
        # Values of the other columns would take most of the time of this test.
        values = [
            [random_value(random, c.type, awkward=awkward) for _ in range(count)]
            if index in used
            else [None] * count
            for index, c in enumerate(SCHEMA)
        ]
        rows = list(zip(*values, strict=True))
        columns = [
            column(random, given, c.type) if index in used else to_arrow(given, c.type)
            for (index, c), given in zip(enumerate(SCHEMA), values, strict=True)
        ]
        ours = by_column(expressions, columns, count)
        theirs = [[by_row(expression, row) for row in rows] for expression in expressions]
        assert ours == theirs, f"seed {seed}, number {number}: {expressions} over {rows}"
        for expression, results in zip(expressions, theirs, strict=True):
            met.update(node.function for node in walk(expression) if isinstance(node, Call))
            met.update("cast" for node in walk(expression) if isinstance(node, Cast))
            met.update("try_cast" for node in walk(expression) if isinstance(node, TryCast))
            met.update("in_set" for node in walk(expression) if isinstance(node, InSet))
            met.update(value for value in results if value[0] == "fails")
    assert {*NAMES, "cast", "try_cast", "in_set"} <= met.keys(), "a function was not met"
    for code in (501, 502, 503, 504):
        assert met["fails", code], f"no failure {code} was met"
