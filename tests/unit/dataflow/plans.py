"""Hand-built plans and input for tests of the engine: what a binder would make, written out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler import logical
from fsql.compiler.expression import AggregateCall, AggregateFunction, ColumnRef
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT, DOUBLE, STRING, TIMESTAMP, array_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from fsql.compiler.expression import Expression, Value

SECOND = 1_000_000
KEY, GROUP, NUMBER, DOUBLE_VALUE, AT = range(5)


def table(
    ordinal: int, *, event: bool = False, delay_us: int = 0, options: dict[str, str] | None = None
) -> logical.Table:
    """Return a table of a key, a group, a number, a double and a time."""
    columns = (
        Column("k", STRING),
        Column("g", STRING),
        Column("v", BIGINT),
        Column("d", DOUBLE),
        Column("at", TIMESTAMP, nullable=False, time_attribute=event),
    )
    return logical.Table(
        f"t{ordinal}",
        ordinal,
        columns,
        tuple((options or {}).items()),
        logical.TimeKind.EVENT if event else logical.TimeKind.OFFSET,
        ColumnRef(TIMESTAMP, nullable=False, index=AT) if event else None,
        delay_us,
    )


def column(plan: logical.Plan, index: int) -> ColumnRef:
    """Return a reference to a column of a plan's rows."""
    found = plan.schema[index]
    return ColumnRef(found.type, found.nullable, index)


def call(function: str, argument: Expression | None = None) -> AggregateCall:
    """Return an aggregate call."""
    kind = AggregateFunction[function]
    if kind is AggregateFunction.COUNT:
        return AggregateCall(kind, argument, BIGINT, nullable=False)
    assert argument is not None
    if kind is AggregateFunction.AVG:
        return AggregateCall(kind, argument, DOUBLE, nullable=True)
    result = array_of(argument.type) if kind is AggregateFunction.ARRAY_AGG else argument.type
    return AggregateCall(kind, argument, result, nullable=True)


def grouped(plan: logical.Plan, keys: Sequence[int], *calls: AggregateCall) -> logical.Aggregate:
    """Return an updating aggregate."""
    return logical.Aggregate(
        plan,
        tuple(column(plan, key) for key in keys),
        tuple(f"k{key}" for key in keys),
        calls,
        tuple(f"a{i}" for i in range(len(calls))),
    )


def windowed(
    plan: logical.Plan,
    time_column: int,
    size_seconds: int,
    slide_seconds: int,
    keys: Sequence[int],
    *calls: AggregateCall,
    final: bool = True,
) -> logical.WindowAggregate:
    """Return a windowed aggregate by `keys` and the window's three columns."""
    assigned = logical.AssignWindows(
        plan, time_column, size_seconds * SECOND, slide_seconds * SECOND
    )
    width = len(plan.schema)
    indexes = (*keys, width, width + 1, width + 2)
    return logical.WindowAggregate(
        assigned,
        tuple(column(assigned, index) for index in indexes),
        tuple(assigned.schema[index].name for index in indexes),
        calls,
        tuple(f"a{i}" for i in range(len(calls))),
        width + 1,
        final,
    )


def over(
    plan: logical.Plan, partition: int, *calls: tuple[AggregateCall, logical.FrameEnd]
) -> logical.Over:
    """Return running aggregates."""
    return logical.Over(
        plan,
        (column(plan, partition),),
        tuple(logical.OverCall(aggregate, end) for aggregate, end in calls),
        tuple(f"o{i}" for i in range(len(calls))),
    )


def insert(
    query: logical.Plan,
    key: tuple[int, ...] | None = None,
    changes: logical.Changes | None = None,
) -> logical.Insert:
    """Return an INSERT: append where the query is append-only, else retract unless said."""
    default = logical.Changes.APPEND if logical.append_only(query) else logical.Changes.RETRACT
    sink = logical.SinkTable("sink", query.schema, (), changes or default, key)
    return logical.Insert(sink, query)


def rows(random: Random, count: int) -> list[tuple[Value, ...]]:
    """Return rows with few keys, NULLs, equal times and late events."""
    seconds = 0
    made: list[tuple[Value, ...]] = []
    for _ in range(count):
        seconds += random.choice([0, 0, 1, 1, 2])
        made.append(
            (
                random.choice(["a", "b", "c", "c", None]),
                random.choice(["a", "b", "c", "x", "y"]),
                random.choice([0, 1, 2, 3, None, -5]),
                random.choice([0.1, 0.2, 1e16, 0.0, None, 3.5]),
                (seconds - random.choice([0, 0, 0, 0, 1, 4])) * SECOND,
            )
        )
    return made
