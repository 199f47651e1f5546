"""Each operator over narrowed inputs, without its unused parts."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from fsql.compiler import logical
from fsql.compiler.functions.evaluate import fallible
from fsql.compiler.rules.prune_columns.demand import kept_aggregates, kept_expressions, kept_values
from fsql.compiler.rules.prune_columns.narrowed import Narrowed, new_indexes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.expression import AggregateCall
    from fsql.compiler.rules.prune_columns.demand import Columns


def narrow_union(branches: Sequence[Narrowed], wanted: Columns) -> Narrowed:
    """Return the union of branches that have the `wanted` columns and no others."""
    return Narrowed(logical.Union(tuple(each.plan for each in branches)), new_indexes(wanted))


def narrow_join(plan: logical.Join, left: Narrowed, right: Narrowed) -> Narrowed:
    """Return `plan` over narrowed sides."""
    bound = plan.time_range
    if bound is not None:
        bound = dataclasses.replace(
            bound,
            left_time=left.new_index[bound.left_time],
            right_time=right.new_index[bound.right_time],
        )
    joined = logical.Join(
        left.plan,
        right.plan,
        tuple(left.over(key) for key in plan.left_keys),
        tuple(right.over(key) for key in plan.right_keys),
        bound,
        plan.kind,
        plan.hot_keys,
        plan.once,
        broadcast=plan.broadcast,
    )
    if not plan.kind.makes_pairs:
        return Narrowed(joined, left.new_index)
    width, new_width = len(plan.left.schema), len(left.plan.schema)
    of_right = {width + old: new_width + new for old, new in right.new_index.items()}
    indexes = {**left.new_index, **of_right}
    if plan.condition is not None:
        condition = Narrowed(joined, indexes).over(plan.condition)
        joined = dataclasses.replace(joined, condition=condition)
    return Narrowed(joined, indexes)


def narrow_operator(plan: logical.Plan, wanted: Columns, below: Narrowed) -> Narrowed:
    """Return `plan`, an operator with one input, over that input narrowed."""
    match plan:
        case logical.Project():
            return _project(plan, wanted, below)
        case logical.Aggregate() | logical.WindowAggregate():
            return _aggregate(plan, wanted, below)
        case logical.ApplyChanges():
            return _changes(plan, wanted, below)
        case logical.Over():
            return _over(plan, wanted, below)
        case _:
            return _row_operator(plan, wanted, below)


def _row_operator(  # noqa: C901, PLR0911 - one line for each kind
    plan: logical.Plan, wanted: Columns, below: Narrowed
) -> Narrowed:
    match plan:
        case logical.AssignSessions():
            return _sessions(plan, below)
        case logical.LateralAggregate():
            return _lateral(plan, wanted, below)
        case logical.Rank():
            return _rank(plan, wanted, below)
        case logical.Unnest():
            return _unnest(plan, wanted, below)
        case logical.AssignWindows(time_column=time):
            moved = dataclasses.replace(plan, input=below.plan, time_column=below.new_index[time])
            return _append_columns(plan, moved, below, range(3))
        case logical.AssignExpiry(time_column=time):
            expiring = dataclasses.replace(
                plan, input=below.plan, time_column=below.new_index[time]
            )
            return _append_columns(plan, expiring, below, range(1))
        case logical.CountLateRows(time_column=time):
            counted = dataclasses.replace(plan, input=below.plan, time_column=below.new_index[time])
            return dataclasses.replace(below, plan=counted)
        case logical.AssignRowTime() | logical.AssignEnd():
            timed = dataclasses.replace(plan, input=below.plan)
            return _append_columns(plan, timed, below, range(1))
        case logical.ToChangelog(key=key):
            changes = logical.ToChangelog(below.plan, key)
            return Narrowed(changes, new_indexes(frozenset(range(len(plan.schema)))))
        case logical.Filter(predicate=predicate):
            moved_filter = logical.Filter(below.plan, below.over(predicate))
            return dataclasses.replace(below, plan=moved_filter)
        case _:
            raise AssertionError(plan)


def _project(plan: logical.Project, wanted: Columns, below: Narrowed) -> Narrowed:
    kept = kept_expressions(plan, wanted)
    project = logical.Project(
        below.plan,
        tuple(below.over(plan.expressions[i]) for i in kept),
        tuple(plan.names[i] for i in kept),
    )
    return Narrowed(project, new_indexes(frozenset(kept)))


def _unnest(plan: logical.Unnest, wanted: Columns, below: Narrowed) -> Narrowed:
    ordinal = len(plan.input.schema) + 1
    moved = dataclasses.replace(
        plan,
        input=below.plan,
        array=below.over(plan.array),
        ordinality_name=plan.ordinality_name if ordinal in wanted else None,
    )
    return _append_columns(plan, moved, below, range(1 if moved.ordinality_name is None else 2))


def _lateral(plan: logical.LateralAggregate, wanted: Columns, below: Narrowed) -> Narrowed:
    """Inside of a LATERAL, the element and its ordinal come after the input's columns."""
    width, new_width = len(plan.input.schema), len(below.plan.schema)
    inside = Narrowed(below.plan, {**below.new_index, width: new_width, width + 1: new_width + 1})
    kept = kept_aggregates(plan, wanted)
    moved = dataclasses.replace(
        plan,
        input=below.plan,
        array=below.over(plan.array),
        predicate=None if plan.predicate is None else inside.over(plan.predicate),
        keys=tuple(inside.over(key) for key in plan.keys),
        aggregates=tuple(_over_narrowed(plan.aggregates[i], inside) for i in kept),
        aggregate_names=tuple(plan.aggregate_names[i] for i in kept),
    )
    return _append_columns(plan, moved, below, _kept_columns(len(plan.keys), kept))


def _aggregate(
    plan: logical.Aggregate | logical.WindowAggregate, wanted: Columns, below: Narrowed
) -> Narrowed:
    kept = kept_aggregates(plan, wanted)
    moved = dataclasses.replace(
        plan,
        input=below.plan,
        keys=tuple(below.over(key) for key in plan.keys),
        aggregates=tuple(_over_narrowed(plan.aggregates[i], below) for i in kept),
        aggregate_names=tuple(plan.aggregate_names[i] for i in kept),
    )
    if isinstance(moved, logical.WindowAggregate):
        moved = dataclasses.replace(moved, window_end=below.new_index[moved.window_end])
    return Narrowed(moved, new_indexes(frozenset(_kept_columns(len(plan.keys), kept))))


def _changes(plan: logical.ApplyChanges, wanted: Columns, below: Narrowed) -> Narrowed:
    kept = kept_values(plan, wanted)
    moved = logical.ApplyChanges(
        below.plan,
        tuple(below.column(each) for each in plan.keys),
        below.over(plan.present),
        tuple(below.column(plan.values[i]) for i in kept),
        plan.counted,
        None if plan.unavailable is None else below.column(plan.unavailable),
        tuple(plan.marks[i] for i in kept) if plan.marks else (),
        None if plan.whole is None else below.over(plan.whole),
        tuple(kept.index(i) for i in plan.compared),
    )
    return Narrowed(moved, new_indexes(frozenset(_kept_columns(len(plan.keys), kept))))


def _over(plan: logical.Over, wanted: Columns, below: Narrowed) -> Narrowed:
    kept = kept_aggregates(plan, wanted)
    if not kept and not any(fallible(key) for key in plan.partition):
        return below
    calls = (plan.calls[i] for i in kept)
    moved = dataclasses.replace(
        plan,
        input=below.plan,
        partition=tuple(below.over(key) for key in plan.partition),
        calls=tuple(
            dataclasses.replace(
                call,
                aggregate=_over_narrowed(call.aggregate, below),
                time=None if call.time is None else below.over(call.time),
            )
            for call in calls
        ),
        names=tuple(plan.names[i] for i in kept),
    )
    return _append_columns(plan, moved, below, kept)


def _sessions(plan: logical.AssignSessions, below: Narrowed) -> Narrowed:
    moved = dataclasses.replace(
        plan,
        input=below.plan,
        partition=tuple(below.over(key) for key in plan.partition),
        time_column=below.new_index[plan.time_column],
        end_column=below.new_index[plan.end_column],
        order_column=None if plan.order_column is None else below.new_index[plan.order_column],
    )
    return _append_columns(plan, moved, below, range(3))


def _rank(plan: logical.Rank, wanted: Columns, below: Narrowed) -> Narrowed:
    named = len(plan.input.schema) in wanted
    end = plan.window_end
    moved = dataclasses.replace(
        plan,
        input=below.plan,
        partition=tuple(below.over(key) for key in plan.partition),
        order=tuple(
            dataclasses.replace(key, expression=below.over(key.expression)) for key in plan.order
        ),
        rank_name=plan.rank_name if named else None,
        window_end=None if end is None else below.new_index[end],
        window_times=tuple(
            below.new_index[time] for time in plan.window_times if time in below.new_index
        ),
    )
    return _append_columns(plan, moved, below, range(moved.rank_name is not None))


def _append_columns(
    plan: logical.Unnest
    | logical.LateralAggregate
    | logical.AssignWindows
    | logical.AssignExpiry
    | logical.AssignRowTime
    | logical.AssignEnd
    | logical.AssignSessions
    | logical.Over
    | logical.Rank,
    moved: logical.Plan,
    below: Narrowed,
    added: Sequence[int],
) -> Narrowed:
    """Return an operator that appends columns to those of its input; `added` states which remain."""
    width, new_width = len(plan.input.schema), len(below.plan.schema)
    appended = {width + old: new_width + new for new, old in enumerate(added)}
    return Narrowed(moved, {**below.new_index, **appended})


def _kept_columns(keys: int, kept: Sequence[int]) -> list[int]:
    """Return the former indexes of all keys and of the kept aggregates."""
    return [*range(keys), *(keys + i for i in kept)]


def _over_narrowed(call: AggregateCall, below: Narrowed) -> AggregateCall:
    argument = None if call.argument is None else below.over(call.argument)
    others = tuple(map(below.over, call.others))
    return dataclasses.replace(call, argument=argument, others=others)
