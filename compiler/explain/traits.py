"""Properties of an operator that EXPLAIN shows: its changes, its key, its state.

Changes are named as for a sink: `append` if rows are only added, `upsert` if they are replaced by the derived
key, `retract` if they are retracted without a key that pairs them with new rows. State is the data that the
operator keeps, and the bound on its size, if there is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler import logical
from fsql.compiler.analysis.slices import slicing_of, why_not_sliced, windows_of_row
from fsql.compiler.analysis.window_changes import equal_bounds
from fsql.compiler.explain.expressions import labels
from fsql.compiler.explain.literals import interval_text, name_text
from fsql.compiler.expression import OF_ORDER, AggregateFunction
from fsql.compiler.functions.python_aggregates import registered_aggregate
from fsql.compiler.logical import Changes, append_only, has_expiring_rows
from fsql.compiler.row_pattern import most_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.analysis.properties import Key
    from fsql.compiler.explain.document import JsonObject
    from fsql.compiler.expression import AggregateCall, Expression
    from fsql.compiler.row_pattern import RowPattern
    from fsql.compiler.schema import Column, Schema


def operator_name(plan: logical.Plan) -> str:
    """Return the name of an operator in EXPLAIN: its class, and for sessions of one time their purpose."""
    if isinstance(plan, logical.AssignSessions) and plan.sorts:
        return "TemporalSort"
    return type(plan).__name__


def changes(plan: logical.Plan, key: Key | None) -> Changes:
    """Return the kind of changes that `plan`, whose derived key is `key`, produces."""
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


def state_bound(plan: logical.Plan) -> str:  # noqa: PLR0911 - one line for each kind
    """Return the state of `plan` and its bound; `none` if it has no state."""
    match plan:
        case logical.Aggregate(keys=keys, aggregates=calls, idle_us=int() as idle_us):
            seen = f" seen in the last {interval_text(idle_us)}"
            return _rows("group", keys, calls, append=True, bound=seen)
        case logical.Aggregate(keys=keys, aggregates=calls):
            return _rows("group", keys, calls, append=append_only(plan.input), bound=", unbounded")
        case logical.WindowAggregate() if has_expiring_rows(plan):
            return "the rows that may still be joined, bounded by time"
        case logical.WindowAggregate(keys=keys, aggregates=calls):
            return _rows(
                *("group", keys, calls),
                append=append_only(plan.input),
                bound=_of_windows(plan),
                shown=not plan.final,
            )
        case logical.Over(partition=keys, calls=running):
            calls = tuple(call.aggregate for call in running)
            if calls and calls[0].pattern is not None:
                return _open_matches(calls[0].pattern, keys)
            if any(call.preceding is not None or call.end_preceding for call in running):
                return _frames(running, keys)
            seen = ", unbounded"
            if plan.idle_us is not None:
                seen = f" seen in the last {interval_text(plan.idle_us)}"
            return _rows("partition", keys, calls, append=True, bound=seen)
        case logical.Rank():
            return _ranked_rows(plan)
        case _:
            return _rows_of(plan)


def _of_windows(plan: logical.WindowAggregate) -> str:
    """Return for what an aggregate has a row of state for each group, and why not for slices."""
    if slicing_of(plan) is not None:
        return " per slice of open windows"
    reason = why_not_sliced(plan)
    if reason is None:
        return " per open window"
    return f" per open window; a row is copied into its {windows_of_row(plan):,} windows: {reason}"


def _open_matches(pattern: RowPattern, keys: Sequence[Expression]) -> str:
    """Return the state of MATCH_RECOGNIZE: the rows of matches that may continue."""
    each = " per partition" if keys else ""
    most = most_rows(pattern.pattern)
    if pattern.within_us is not None:
        return f"the rows of open matches, of up to {interval_text(pattern.within_us + 1)}{each}"
    if most is None:
        return f"the rows of open matches{each}, unbounded"
    return f"the rows of open matches, up to {most:,}{each}" + (", unbounded" if keys else "")


def _frames(running: Sequence[logical.OverCall], keys: Sequence[Expression]) -> str:
    """Return the state of frames: the rows of the longest one, and the values of those without a bound."""
    rows, longest_us = 0, 0
    for call in running:
        if call.time is None:
            before = call.end_preceding - 1 if call.preceding is None else call.preceding
            rows = max(rows, before + call.delay + 1)
        else:
            longest_us = max(longest_us, call.preceding or 0)
    bounds = [f"up to {rows:,} row{'s' if rows > 1 else ''}"] if rows else []
    if any(call.time is not None and call.preceding is not None for call in running):
        bounds.append(interval_text(longest_us))
    growing = [call.aggregate for call in running if call.preceding is None]
    values = " and all values" if _keeps_values(growing, append=True) else ""
    each = " per partition" if keys else ""
    unbounded = ", unbounded" if keys or values else ""
    return f"the rows of one frame, {' and '.join(bounds)},{values}{each}{unbounded}"


def _rows_of(plan: logical.Plan) -> str:
    """Return which rows of its inputs `plan` keeps."""
    match plan:
        case logical.ApplyChanges(counted=counted):
            return f"one row per {'distinct row' if counted else 'key'}, unbounded"
        case logical.ToChangelog():
            return "the changes that are not final yet"
        case logical.AssignSessions() if plan.lasts:
            return "one row per partition, until the input ends"
        case logical.AssignSessions():
            return _session_rows(plan)
        case logical.Join():
            return _join_traits(plan)
        case _:
            return "none"


def _session_rows(plan: logical.AssignSessions) -> str:
    if not plan.sorts:
        return "the rows of open sessions"
    whole = isinstance(plan.input, logical.Rank) and plan.input.at_end
    return "all rows of the result, at its end" if whole else "the rows ahead of the watermark"


def _join_traits(plan: logical.Join) -> str:
    bound = "unbounded" if equal_bounds(plan) is None else "bounded by window"
    if plan.once:
        return f"the rows of the right side, {bound}"
    if not plan.kind.makes_pairs:
        return f"the rows of the left side and the keys of the right, {bound}"
    if plan.time_range is not None:
        bound = "bounded by time"
    copies = ""
    if plan.hot_keys is not None:
        side = "left" if plan.hot_keys.divided else "right"
        copies = f"; those of the {side} side with a hot key {plan.hot_keys.parts} times"
    return f"the rows of both sides, {bound}{copies}"


def _ranked_rows(plan: logical.Rank) -> str:
    """Return the state of ranks: for append-only input, displaced rows are dropped."""
    if plan.at_end:
        return "all rows of the result, until the input ends"
    each = " per partition" if plan.partition else ""
    ending = ", unbounded" if plan.window_end is None else " per open window"
    if plan.limit is None or not append_only(plan.input):
        return f"all rows{each if plan.window_end is None else ''}{ending}"
    counted = plan.function is logical.RankFunction.ROW_NUMBER
    kept = (
        f"up to {plan.limit:,} row{'s' if plan.limit > 1 else ''}"
        if counted
        else f"the rows of up to rank {plan.limit:,}"
    )
    bounded = not plan.partition and counted
    return f"{kept}{each}{'' if bounded else ending}"


def _keeps_rows(call: AggregateCall, *, shown: bool) -> bool:
    """Return whether the rows of a Python function are kept because it cannot retract them."""
    if call.python is None or not call.in_value_order:
        return False
    return not (shown and registered_aggregate(call.python).retracts)


def _rows(
    group: str,
    keys: Sequence[Expression],
    calls: Sequence[AggregateCall],
    *,
    append: bool,
    bound: str,
    shown: bool = True,
) -> str:
    """Return the state of aggregates.

    Without keys there is one group.  ARRAY_AGG keeps all values; MIN and MAX keep them if the input has
    retractions; DISTINCT keeps the distinct ones.
    """
    values = _keeps_values(calls, append=append, shown=shown)
    rows = f"one row per {group}" if keys else "one row"
    return (f"{rows} with its values" if values else rows) + (bound if keys or values else "")


def _keeps_values(calls: Sequence[AggregateCall], *, append: bool, shown: bool = True) -> bool:
    """Return whether the state of an aggregate grows with the number of its values."""
    functions = {call.function for call in calls}
    extremes = {AggregateFunction.MIN, AggregateFunction.MAX} & functions
    kept = {AggregateFunction.ARRAY_AGG, *OF_ORDER} & functions
    values = bool(kept) or any(_keeps_rows(call, shown=shown) for call in calls)
    values = values or any(call.directions for call in calls) or (bool(extremes) and not append)
    return values or any(call.distinct for call in calls)
