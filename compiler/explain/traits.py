"""Properties of an operator that EXPLAIN shows: its changes, its key, its state.

Changes are named as for a sink: `append` where rows are only added, `upsert` where they are replaced
by the derived key, `retract` if they are retracted without a key that pairs them with new rows.
State is the data that the operator keeps, and the bound on its size, if there is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler import logical
from fsql.compiler.explain.expressions import labels
from fsql.compiler.explain.literals import name_text
from fsql.compiler.expression import AggregateFunction
from fsql.compiler.logical import Changes, append_only

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.analysis.properties import Key
    from fsql.compiler.explain.document import JsonObject
    from fsql.compiler.expression import AggregateCall, Expression
    from fsql.compiler.schema import Column, Schema


def changes(plan: logical.Plan, key: Key | None) -> Changes:
    """Return which changes `plan`, whose derived key is `key`, produces."""
    if append_only(plan):
        return Changes.APPEND
    return Changes.RETRACT if key is None else Changes.UPSERT


def key_names(schema: Schema, key: Key) -> tuple[str, ...]:
    """Return the names of the key's columns."""
    names = labels(schema)
    return tuple(names[index] for index in key)


def columns_text(schema: Schema) -> str:
    """Return the columns with their types, and the marks of event time."""
    return ", ".join(_column_text(column) for column in schema)


def columns_json(schema: Schema) -> list[JsonObject]:
    """Return the columns as JSON."""
    return [
        {
            "name": column.name,
            "type": str(column.type),
            "nullable": column.nullable,
            "event_time": column.time_attribute,
        }
        for column in schema
    ]


def _column_text(column: Column) -> str:
    null = "" if column.nullable else " NOT NULL"
    time = " *time*" if column.time_attribute else ""
    return f"{name_text(column.name)} {column.type}{null}{time}"


def state_bound(plan: logical.Plan) -> str:
    """Return the state of `plan` and its bound; `none` if it has no state."""
    match plan:
        case logical.Aggregate(keys=keys, aggregates=calls):
            return _rows("group", keys, calls, append=append_only(plan.input), bound=", unbounded")
        case logical.WindowAggregate(keys=keys, aggregates=calls):
            bound = " per open window"
            return _rows("group", keys, calls, append=append_only(plan.input), bound=bound)
        case logical.Over(partition=keys, calls=running):
            calls = tuple(call.aggregate for call in running)
            return _rows("partition", keys, calls, append=True, bound=", unbounded")
        case logical.Join(time_range=None):
            return "the rows of both sides, unbounded"
        case logical.Join():
            return "the rows of both sides, bounded by time"
        case _:
            return "none"


def _rows(
    group: str,
    keys: Sequence[Expression],
    calls: Sequence[AggregateCall],
    *,
    append: bool,
    bound: str,
) -> str:
    """Return the state of aggregates.

    Without keys there is one group.  ARRAY_AGG keeps all values; MIN and MAX keep them if the input has
    retractions.
    """
    functions = {call.function for call in calls}
    extremes = {AggregateFunction.MIN, AggregateFunction.MAX} & functions
    values = AggregateFunction.ARRAY_AGG in functions or (extremes and not append)
    rows = f"one row per {group}" if keys else "one row"
    return (f"{rows} with its values" if values else rows) + (bound if keys or values else "")
