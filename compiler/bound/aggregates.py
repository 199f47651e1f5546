"""Aggregates that depend on the order of their rows, and those that keep NULLs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler.expression import (
    AggregateCall,
    AggregateFunction,
    ColumnRef,
    Expression,
    FieldAccess,
    LambdaBody,
    LambdaCall,
    LambdaFunction,
    Literal,
)
from fsql.compiler.functions.calls import call
from fsql.compiler.sqltypes import BIGINT, array_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.logical import OrderKey


COLLECTING: Final = frozenset(
    {AggregateFunction.ARRAY_AGG, AggregateFunction.FIRST_VALUE, AggregateFunction.LAST_VALUE}
)
"""The functions whose result depends on the order of their rows."""


def needs_total_order(aggregate: AggregateCall) -> bool:
    """Return whether the aggregate depends on the total order of its rows, and cannot be retracted."""
    if aggregate.by_position or aggregate.function is AggregateFunction.M4:
        return True
    return aggregate.function in COLLECTING and not (aggregate.directions or aggregate.distinct)


def unwrap_rows(collected: Expression) -> Expression:
    """Return the values in the rows that an aggregate has returned: one row, or an array of rows."""
    row = collected.type.element
    if row is None:
        (value,) = collected.type.field_types
        return FieldAccess(value, nullable=True, argument=collected, index=0)
    (value,) = row.field_types
    element = ColumnRef(row, nullable=True, index=0)
    body = LambdaBody(FieldAccess(value, nullable=True, argument=element, index=0))
    transform = LambdaFunction.TRANSFORM
    return LambdaCall(array_of(value), collected.nullable, transform, (collected,), (), body)


def in_order(aggregate: AggregateCall, order: Sequence[OrderKey]) -> AggregateCall:
    """Return an aggregate that depends on the order of rows as one with an ORDER BY of its own.

    NTH_VALUE becomes an array, of which `value_in_order` takes the value.
    """
    last = aggregate.function is AggregateFunction.LAST_VALUE
    if aggregate.python is not None:
        return replace(aggregate, in_value_order=True)
    if not needs_total_order(aggregate):
        return aggregate
    if aggregate.parameter is not None:
        aggregate = replace(
            aggregate,
            function=AggregateFunction.ARRAY_AGG,
            type=array_of(aggregate.type),
            parameter=None,
            ignore_nulls=True,
        )
    elif last:
        aggregate = replace(aggregate, function=AggregateFunction.FIRST_VALUE)
    return replace(
        aggregate,
        others=tuple(key.expression for key in order),
        # The last value is the first one in the opposite order.
        directions=tuple((key.descending != last, key.nulls_first != last) for key in order),
    )


def value_in_order(value: Expression, aggregate: AggregateCall) -> Expression:
    """Return the value of an aggregate from that of `in_order`."""
    if aggregate.parameter is None or not needs_total_order(aggregate):
        return value
    return call(
        "element_at", value, Literal(BIGINT, nullable=False, value=int(aggregate.parameter))
    )
