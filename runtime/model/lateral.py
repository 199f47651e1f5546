"""Arrays of a row: their elements, and aggregates over them (`logical.LateralAggregate`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.functions.evaluate import evaluate
from fsql.compiler.functions.failure import RowFailure
from fsql.runtime.model.accumulator import Accumulators, arguments
from fsql.runtime.model.value_order import Key, as_key, order

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.compiler.expression import Value
    from fsql.compiler.graph import ExplodeAggregate
    from fsql.runtime.model.item import Values


def elements(array: Value, *, ordinality: bool) -> Iterator[Values]:
    """Yield the columns of each element: its value and, with `ordinality`, its ordinal from 1."""
    if array is not None:
        assert isinstance(array, tuple)
        for ordinal, element in enumerate(array, 1):
            yield (element, ordinal) if ordinality else (element,)


def aggregate_elements(function: ExplodeAggregate, row: Values) -> list[Values]:
    """Return keys and aggregates of each group of the row's array, in the order of first elements.

    Raises:
        RowFailure: if any element or group fails.  Of several failures, the least by (code, message)
            is raised, as in the barrier, so that it does not depend on the order of evaluation.
    """
    array = evaluate(function.array, row)
    groups: dict[tuple[Key, ...], tuple[Values, Accumulators]] = {}
    if not function.keys:
        groups[()] = (), Accumulators.of(function.aggregates)
    failures: list[RowFailure] = []
    for index, element in enumerate(elements(array, ordinality=function.ordinality)):
        values = row + element
        try:
            if function.predicate is not None and evaluate(function.predicate, values) is not True:
                continue
            key = tuple(as_key(evaluate(expression, values)) for expression in function.keys)
            given = arguments(function.aggregates, values)
        except RowFailure as failure:
            failures.append(failure)
            continue
        bucket = tuple(map(order, key))
        key, before = groups.get(bucket, (key, Accumulators.of(function.aggregates)))
        groups[bucket] = key, before.add(given, 1, index)
    rows = []
    for key, accumulators in groups.values():
        try:
            rows.append(key + accumulators.results())
        except RowFailure as failure:
            failures.append(failure)
    if failures:
        raise min(failures, key=lambda failure: (failure.code, str(failure)))
    return rows
