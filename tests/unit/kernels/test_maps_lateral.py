"""Aggregates over each row's own array, on batches large enough for every way of grouping."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from fsql.compiler.expression import AggregateCall, AggregateFunction, Call, ColumnRef, Literal
from fsql.compiler.graph import ExplodeAggregate
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT, BOOLEAN, DOUBLE, STRING, SqlType, array_of
from fsql.runtime.arrow_types import to_arrow
from fsql.runtime.batch import Batch, Root
from fsql.runtime.kernels.expressions.vectors import from_array
from fsql.runtime.kernels.maps import compile_map
from fsql.runtime.kernels.maps.lateral import KeyCodes, group, keys_at
from fsql.tests.unit.kernels.rows import Failed, Row, batch_of, failures_of, rows_of
from fsql.tests.unit.kernels.tables import NAN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.expression import Expression, Value


def column(type_: SqlType, index: int) -> ColumnRef:
    return ColumnRef(type_, nullable=True, index=index)


def aggregate(
    function: AggregateFunction, argument: Expression | None, type_: SqlType
) -> AggregateCall:
    return AggregateCall(function, argument, type_, nullable=True)


COUNT = aggregate(AggregateFunction.COUNT, None, BIGINT)
ORDINAL = column(BIGINT, 2)
ORDINALS = aggregate(AggregateFunction.ARRAY_AGG, ORDINAL, array_of(BIGINT))


def grouped(
    element: SqlType,
    keys: tuple[Expression, ...] | None = None,
    aggregates: tuple[AggregateCall, ...] = (ORDINALS,),
    predicate: Expression | None = None,
) -> ExplodeAggregate:
    """Return the function over rows of one array: keys are over (array, element, ordinal)."""
    return ExplodeAggregate(
        array=column(array_of(element), 0),
        ordinality=True,
        predicate=predicate,
        keys=(column(element, 1),) if keys is None else keys,
        aggregates=aggregates,
    )


def made(
    function: ExplodeAggregate, arrays: Sequence[Value], types: Sequence[SqlType]
) -> list[tuple[object, ...]]:
    """Return (row, group's index, *keys, *aggregates) of each group; the latter are of `types`."""
    schema = (Column("elements", function.array.type),)
    rows = [Row((array,), Root(0, number), (), 1) for number, array in enumerate(arrays)]
    result = compile_map(function, schema)(batch_of(rows, [function.array.type]))
    assert result.errors is None
    without_array = result.rows.with_columns(result.rows.columns[1:])
    return [(row.root.origin, *row.path, *row.values) for row in rows_of(without_array, types)]


def test_groups_come_in_the_order_of_their_first_elements() -> None:
    arrays = [("b", "a", "b", None, "a"), None, (), ("a",), (None, "b", None)]
    assert made(grouped(STRING), arrays, [STRING, array_of(BIGINT)]) == [
        (0, 0, "b", (1, 3)),
        (0, 1, "a", (2, 5)),
        (0, 2, None, (4,)),
        (3, 0, "a", (1,)),
        (4, 0, None, (1, 3)),
        (4, 1, "b", (2,)),
    ]


def test_without_keys_there_is_one_group_be_it_empty() -> None:
    total = aggregate(AggregateFunction.SUM, column(BIGINT, 1), BIGINT)
    function = grouped(BIGINT, (), (COUNT, total, ORDINALS))
    assert made(function, [(5, None, 7), None, ()], [BIGINT, BIGINT, array_of(BIGINT)]) == [
        (0, 0, 3, 12, (1, 2, 3)),
        (1, 0, 0, None, None),
        (2, 0, 0, None, None),
    ]
    assert made(function, [], [BIGINT, BIGINT, array_of(BIGINT)]) == []


def test_a_predicate_drops_elements_before_they_are_grouped() -> None:
    not_a = Call(
        BOOLEAN,
        nullable=True,
        function="ne",
        arguments=(column(STRING, 1), Literal(STRING, nullable=False, value="a")),
    )
    arrays = [("a", "b", None, "b"), ("a", "a"), ("c",)]
    function = grouped(STRING, predicate=not_a)
    assert made(function, arrays, [STRING, array_of(BIGINT)]) == [
        (0, 0, "b", (2, 4)),
        (2, 0, "c", (1,)),
    ]
    everything = grouped(STRING, (), (COUNT,), not_a)
    assert made(everything, arrays, [BIGINT]) == [(0, 0, 2), (1, 0, 0), (2, 0, 1)]


def test_double_keys_group_by_value_and_come_out_with_positive_zeros() -> None:
    arrays = [(-0.0, NAN, 0.0, NAN, None, None)]
    found = made(grouped(DOUBLE), arrays, [DOUBLE, array_of(BIGINT)])
    assert repr(found) == repr([(0, 0, 0.0, (1, 3)), (0, 1, NAN, (2, 4)), (0, 2, None, (5, 6))])


def test_a_failing_element_fails_its_row_with_the_least_code() -> None:
    reciprocal = Call(
        BIGINT,
        nullable=True,
        function="divide",
        arguments=(Literal(BIGINT, nullable=False, value=6), column(BIGINT, 1)),
    )
    twice = Call(
        BIGINT, nullable=True, function="add", arguments=(column(BIGINT, 1), column(BIGINT, 1))
    )
    function = grouped(BIGINT, (reciprocal,), (aggregate(AggregateFunction.SUM, twice, BIGINT),))
    arrays: list[Value] = [(1, 2), (2**62, 0), (3, 2**62), (2**61, 2**61, 5), (6, 6)]
    rows = [Row((array,), Root(7, n), (), -1) for n, array in enumerate(arrays)]
    types = [array_of(BIGINT)]
    result = compile_map(function, (Column("elements", types[0]),))(batch_of(rows, types))
    assert sorted(failures_of(result)) == [
        Failed(501, Root(7, 1), -1),
        Failed(502, Root(7, 2), -1),
        Failed(505, Root(7, 3), -1),
    ]
    assert [
        (row.root.origin, *row.values[1:]) for row in rows_of(result.rows, [*types, BIGINT, BIGINT])
    ] == [
        *((0, 6, 2), (0, 3, 4), (4, 1, 24)),
    ]


def naive(lists: Sequence[Sequence[Value]]) -> list[tuple[object, ...]]:
    expected: list[tuple[object, ...]] = []
    for number, elements in enumerate(lists):
        groups: dict[Value, list[int]] = {}
        for ordinal, element in enumerate(elements, 1):
            groups.setdefault(element, []).append(ordinal)
        expected += [
            (number, index, key, tuple(ordinals))
            for index, (key, ordinals) in enumerate(groups.items())
        ]
    return expected


@pytest.mark.parametrize(
    ("rows", "length", "distinct"),
    [(300, 20, 40), (40, 300, 10), (1, 3_000, 700), (3_000, 1, 5), (100, 40, 3_000)],
)
@pytest.mark.parametrize("type_", [BIGINT, STRING])
def test_many_elements(rows: int, length: int, distinct: int, type_: SqlType) -> None:
    random = Random(rows)
    lists: list[tuple[Value, ...]] = [
        tuple(random.randrange(distinct) * 10**15 for _ in range(random.randrange(2 * length)))
        for _ in range(rows)
    ]
    if type_ is STRING:
        lists = [tuple(f"w{element}" for element in elements) for elements in lists]
    assert made(grouped(type_), lists, [type_, array_of(BIGINT)]) == naive(lists)


@pytest.mark.parametrize("card", [1, 2, 65_536, 65_537, 2**31 - 1])
def test_codes_beyond_sixteen_bits(card: int) -> None:
    random = np.random.default_rng(card)
    codes = random.choice(random.integers(0, card, 60), 400).astype(np.int32)
    row = np.sort(random.integers(0, 9, 400)).astype(np.int32)
    groups = group(KeyCodes(codes, card), row, 9)
    assert groups.order is not None
    members = np.split(groups.order, groups.sizes.cumsum()[:-1])
    expected: dict[tuple[int, int], list[int]] = {}
    for element, key in enumerate(zip(row.tolist(), codes.tolist(), strict=True)):
        expected.setdefault(key, []).append(element)
    assert [part.tolist() for part in members] == list(expected.values())
    assert groups.first.tolist() == [part[0] for part in expected.values()]
    assert groups.row.tolist() == [key[0] for key in expected]
    assert groups.lengths.tolist() == [sum(key[0] == r for key in expected) for r in range(9)]


def test_two_keys() -> None:
    parity = Call(
        BIGINT,
        nullable=True,
        function="modulo",
        arguments=(ORDINAL, Literal(BIGINT, nullable=False, value=2)),
    )
    found = made(
        grouped(STRING, (column(STRING, 1), parity), (COUNT,)),
        [("a", "a", "b", "a", "a"), ("b", None, "b", None)],
        [STRING, BIGINT, BIGINT],
    )
    assert found == [
        *((0, 0, "a", 1, 2), (0, 1, "a", 0, 2), (0, 2, "b", 1, 1)),
        *((1, 0, "b", 1, 2), (1, 1, None, 0, 2)),
    ]


def test_long_values_are_not_copied() -> None:
    types = [STRING, array_of(STRING)]
    lines = to_arrow(["a b a", "b"], STRING)
    words = to_arrow([("a", "b", "a"), ("b",)], types[1])
    roots = np.arange(2)
    function = ExplodeAggregate(
        column(types[1], 1),
        ordinality=False,
        predicate=None,
        keys=(column(STRING, 2),),
        aggregates=(COUNT,),
    )
    schema = (Column("line", STRING), Column("words", types[1]))
    batch = compile_map(function, schema)(Batch([lines, words], roots, roots, ())).rows
    line, array, word, count = batch.columns
    assert line.dictionary is lines or line.dictionary.equals(lines)
    assert array.dictionary.equals(words)
    assert line.indices.to_pylist() == [0, 0, 1]
    assert isinstance(word, pa.DictionaryArray)
    assert (word.to_pylist(), count.to_pylist()) == (["a", "b", "b"], [2, 1, 1])


def test_keys_of_a_slice_of_lists() -> None:
    lists = pa.array([[1.0], [-0.0, None], [], None, [2.0]])
    for start in range(5):
        key = from_array(lists.slice(start, 1), array_of(DOUBLE))
        (found,) = keys_at(key, array_of(DOUBLE), np.zeros(1, np.int64)).to_pylist()
        assert str(found) == ["[1.0]", "[0.0, None]", "[]", "None", "[2.0]"][start]
