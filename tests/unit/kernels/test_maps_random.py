"""Map functions over batches, in columns and in the form for a few rows, against the same row by row.

Catches a kernel whose rows, order, paths, weights or failures differ from what compiler/logical says of
one row at a time, over random expressions.  Cannot catch an expression that is wrong in both (see
tests/property), nor batches larger than a few rows: `test_maps_lateral.py` has some.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.expression import AggregateCall, AggregateFunction, ColumnRef
from fsql.compiler.functions.aggregates import accumulator_type, aggregate_result
from fsql.compiler.functions.coercion import coerce
from fsql.compiler.functions.evaluate import evaluate
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.graph import Compute, Explode, ExplodeAggregate, Select
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT, BOOLEAN, DOUBLE, STRING, array_of
from fsql.runtime.kernels.maps import compile_map
from fsql.runtime.kernels.maps.few_rows import FewRows, compile_few
from fsql.tests.property.drawn_aggregates import DRAWN_FUNCTIONS, drawn_call
from fsql.tests.property.expressions import TYPES, random_expression
from fsql.tests.reference.aggregates import aggregate
from fsql.tests.reference.failure import FailureError
from fsql.tests.reference.order import normalised, order_key
from fsql.tests.seeds import chosen_seeds
from fsql.tests.unit.kernels.rows import (
    Failed,
    Row,
    batch_of,
    failures_of,
    random_rows,
    rows_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fsql.compiler.expression import Value
    from fsql.compiler.graph import MapFunction
    from fsql.compiler.schema import Schema
    from fsql.compiler.sqltypes import SqlType
    from fsql.runtime.batch import Batch
    from fsql.runtime.kernels.maps.few_rows import FewFunction

    Made = Iterator[tuple[tuple[Value, ...], tuple[int, ...]]]
    """The rows that a row becomes: their values, and what is appended to the path."""
    Naive = Callable[[Row], Made]
    Group = tuple[tuple[Value, ...], list[list[Value]]]
    """A group's key, and the values of each aggregate's argument."""

SCHEMA = tuple(Column(f"c{index}", type_) for index, type_ in enumerate(TYPES))
ELEMENTS = (BIGINT, DOUBLE, STRING)
CASES = 200


def expected(naive: Naive, rows: Sequence[Row]) -> tuple[list[Row], list[Failed]]:
    """Apply `naive`, from a row to (values, what the path gets) of any number of rows, to each row."""
    made, failed = [], []
    for row in rows:
        try:
            made += [
                row._replace(values=values, path=row.path + more) for values, more in naive(row)
            ]
        except (RowFailure, FailureError) as failure:
            failed.append(Failed(failure.code, row.root, row.weight))
    return made, failed


def check(function: MapFunction, naive: Naive, rows: list[Row], types: Sequence[SqlType]) -> None:
    """Compare `function`, whose rows have columns of `types`, with `naive` over rows of `SCHEMA`."""
    batch = batch_of(rows, [column.type for column in SCHEMA], depth=1)
    result = compile_map(function, SCHEMA)(batch)
    made, failed = expected(naive, rows)
    failures = sorted(failures_of(result), key=lambda failure: failure.root)
    assert failures == failed, f"{function} over {rows}"
    assert list(map(repr, rows_of(result.rows, types))) == list(map(repr, made)), (
        f"{function} over {rows}"
    )
    assert (result.rows.weight is None) == (batch.weight is None)
    assert len(result.rows.path) == (len(made[0].path) if made else len(result.rows.path))
    if few := compile_few(function, SCHEMA):
        check_few(few, batch, types, made, failed)


def check_few(
    function: FewFunction,
    batch: Batch,
    types: Sequence[SqlType],
    made: list[Row],
    failed: list[Failed],
) -> None:
    """Compare the form for a few rows: where a row fails, it has to be left to the columns."""
    try:
        result = function(FewRows.of(batch, SCHEMA))
    except RowFailure:
        assert failed
        return
    assert not failed
    rows = result.batch()
    assert list(map(repr, rows_of(rows, types))) == list(map(repr, made))
    columns = [column.values for column in result.columns]
    assert [list(map(repr, row)) for row in zip(*columns, strict=True)] == [
        list(map(repr, row.values)) for row in made if row.values
    ]
    assert (rows.weight is None) == (batch.weight is None)


def elements(array: Value, *, ordinality: bool) -> list[tuple[Value, ...]]:
    assert array is None or isinstance(array, tuple)
    return [
        (value, index + 1) if ordinality else (value,) for index, value in enumerate(array or ())
    ]


def cases(seed: int) -> Iterator[tuple[Random, list[Row]]]:
    random = Random(seed)
    for _ in range(CASES):
        awkward = random.choice((0.0, 0.1, 0.3))
        yield random, random_rows(random, SCHEMA, 1, awkward=awkward)


def naive_select(function: Select) -> Naive:
    def apply(row: Row) -> Made:
        if evaluate(function.predicate, row.values) is True:
            yield row.values, ()

    return apply


def naive_compute(function: Compute) -> Naive:
    def apply(row: Row) -> Made:
        yield tuple(evaluate(expression, row.values) for expression in function.expressions), ()

    return apply


def naive_explode(function: Explode) -> Naive:
    def apply(row: Row) -> Made:
        found = elements(evaluate(function.array, row.values), ordinality=function.ordinality)
        for index, element in enumerate(found):
            yield row.values + element, (index,)

    return apply


@pytest.mark.parametrize("seed", chosen_seeds(1))
def test_select(seed: int) -> None:
    for random, rows in cases(seed):
        function = Select(random_expression(random, SCHEMA, BOOLEAN, 3))
        check(function, naive_select(function), rows, TYPES)


@pytest.mark.parametrize("seed", chosen_seeds(1))
def test_compute(seed: int) -> None:
    for random, rows in cases(seed):
        types = [random.choice(TYPES) for _ in range(random.randrange(4))]
        function = Compute(tuple(random_expression(random, SCHEMA, type_, 2) for type_ in types))
        check(function, naive_compute(function), rows, types)


@pytest.mark.parametrize("seed", chosen_seeds(1))
def test_explode(seed: int) -> None:
    for random, rows in cases(seed):
        element = random.choice(ELEMENTS)
        array = random_expression(random, SCHEMA, array_of(element), 2)
        function = Explode(array, ordinality=random.random() < 0.5)
        added = (element, BIGINT) if function.ordinality else (element,)
        check(function, naive_explode(function), rows, (*TYPES, *added))


def random_aggregate(random: Random, schema: Schema) -> AggregateCall:
    while True:
        function = random.choice(DRAWN_FUNCTIONS)
        argument = None
        if function is not AggregateFunction.COUNT or random.random() < 0.5:
            argument = random_expression(
                random, schema, random.choice(TYPES), random.choice((0, 1))
            )
            argument = coerce(
                argument, accumulator_type(function, argument.type)
            )  # as the binder does
        type_ = aggregate_result(function, None if argument is None else argument.type)
        if type_ is not None:
            call = drawn_call(random, function, argument, type_, retractable=False, single=True)
            if call is not None:
                return call


def naive_lateral(function: ExplodeAggregate) -> Naive:
    def apply(row: Row) -> Made:
        array = evaluate(function.array, row.values)
        groups: dict[object, Group] = {}
        if not function.keys:
            groups[()] = ((), [[] for _ in function.aggregates])
        failures = []
        for element in elements(array, ordinality=function.ordinality):
            inner = row.values + element
            try:
                if function.predicate and evaluate(function.predicate, inner) is not True:
                    continue
                key = tuple(normalised(evaluate(k, inner)) for k in function.keys)
                values = [
                    True if call.argument is None else evaluate(call.argument, inner)
                    for call in function.aggregates
                ]
            except RowFailure as failure:
                failures.append((failure.code, failure))
                continue
            fresh: Group = (key, [[] for _ in function.aggregates])
            _, columns = groups.setdefault(tuple(map(order_key, key)), fresh)
            for column, value in zip(columns, values, strict=True):
                column.append(value)
        if failures:
            raise min(failures, key=lambda failure: failure[0])[1]
        for index, (key, columns) in enumerate(groups.values()):
            results = tuple(map(aggregate, function.aggregates, columns))
            yield row.values + key + results, (index,)

    return apply


@pytest.mark.parametrize("seed", chosen_seeds(1))
def test_explode_aggregate(seed: int) -> None:
    for random, rows in cases(seed):
        element = random.choice(ELEMENTS)
        array = random_expression(random, SCHEMA, array_of(element), random.choice((0, 1, 2)))
        ordinality = random.random() < 0.5
        inner = (*SCHEMA, Column("element", element))
        if ordinality:
            inner = (*inner, Column("ordinal", BIGINT))
        predicate = None
        if random.random() < 0.4:
            predicate = random_expression(random, inner, BOOLEAN, 2)
        keys = tuple(
            random_expression(random, inner, random.choice(TYPES), random.choice((0, 0, 1)))
            for _ in range(random.choice((0, 1, 1, 2)))
        )
        calls = tuple(random_aggregate(random, inner) for _ in range(random.choice((0, 1, 2))))
        function = ExplodeAggregate(array, ordinality, predicate, keys, calls)
        added = (*(key.type for key in keys), *(call.type for call in calls))
        check(function, naive_lateral(function), rows, (*TYPES, *added))


@pytest.mark.parametrize("seed", chosen_seeds(1))
def test_places_of_elements_for_a_few_rows(seed: int) -> None:
    met = 0
    for random, rows in cases(seed):
        element = random.choice((STRING, BIGINT))
        array = random_expression(random, SCHEMA, array_of(element), random.choice((0, 0, 1)))
        key = ColumnRef(element, nullable=True, index=len(SCHEMA))
        ordinal = ColumnRef(BIGINT, nullable=False, index=len(SCHEMA) + 1)
        calls = (
            AggregateCall(AggregateFunction.ARRAY_AGG, ordinal, array_of(BIGINT), nullable=True),
            AggregateCall(AggregateFunction.COUNT, None, BIGINT, nullable=False),
        )[: random.randrange(3)]
        function = ExplodeAggregate(array, True, None, (key,), calls)  # noqa: FBT003
        met += compile_few(function, SCHEMA) is not None
        added = (element, *(call.type for call in calls))
        check(function, naive_lateral(function), rows, (*TYPES, *added))
    assert met > CASES // 2
