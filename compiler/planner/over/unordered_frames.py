"""Frames whose rows are not in the order of event time: frames by ranks, and whole partitions.

The total order and the order of event time only grow at their end, so that a frame is known when its row
arrives.  In any other order, and over rows that can be retracted, each row may change the frames of others.
Then the result is updating, and is composed of updating operators:

    SUM(x) OVER (PARTITION BY k ORDER BY y DESC ROWS 2 PRECEDING)
        →  ranked: ROW_NUMBER by k and y; each row is in the frames of its rank and the two after
        →  ranked JOIN (SELECT k, rank + step, SUM(x) FROM ranked, UNNEST(ARRAY[0, 1, 2]) …
                        GROUP BY k, rank + step) ON k = k AND rank = rank + step

    SUM(x) OVER (PARTITION BY k)    →    rows JOIN (SELECT k, SUM(x) FROM rows GROUP BY k) ON k

All rows of a window are known when it closes: the aggregate of the window collects them in an array.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler.analysis.properties import window_columns
from fsql.compiler.bound.aggregates import in_order, value_in_order
from fsql.compiler.bound.over import FOLLOWING_MAX, RankCall
from fsql.compiler.diagnostics import Diagnostic, Label
from fsql.compiler.diagnostics.refusal import not_implemented, refusal
from fsql.compiler.expression import (
    AggregateCall,
    AggregateFunction,
    Cast,
    ColumnRef,
    FieldAccess,
    Literal,
)
from fsql.compiler.functions.calls import call
from fsql.compiler.logical import (
    Aggregate,
    Join,
    JoinKind,
    OrderKey,
    Plan,
    Project,
    RankFunction,
    Unnest,
    WindowAggregate,
    append_only,
)
from fsql.compiler.planner.grouping import check_windowed, complete_window_keys, window_end_among
from fsql.compiler.planner.over.rank import rank, windowed_partition
from fsql.compiler.planner.rows import ZERO, column_refs, make_distinct_names, null_safe_keys
from fsql.compiler.sqltypes import BIGINT, Kind, array_of, row_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fsql.compiler.bound.over import Ordering
    from fsql.compiler.bound.select import Emission
    from fsql.compiler.expression import Expression
    from fsql.compiler.logical import OverCall
    from fsql.compiler.text.source import Span


def add_row_frames(
    plan: Plan,
    ordering: Ordering,
    calls: Sequence[OverCall],
    span: Span,
    *,
    keeps_rank: bool = False,
) -> Plan:
    """Return `plan` with a column for each call, whose frame has numbers of rows at both ends.

    With `keeps_rank` there is a column with ROW_NUMBER in the same order before these.

    Raises:
        Refusal: E301 within windows; E307.
    """
    partition, order = ordering
    if windowed_partition(plan, partition):
        raise not_implemented(
            "frame of rows of a window that are not in the order of event time",
            span,
            help="order by the event-time column, ascending",
        )
    ranked = rank(plan, RankCall(RankFunction.ROW_NUMBER, partition, order), "rank", None, span)
    frames: dict[tuple[int, int], list[int]] = {}
    for index, each in enumerate(calls):
        assert each.preceding is not None
        frames.setdefault((each.end_preceding, each.preceding), []).append(index)
    made, columns = ranked, dict.fromkeys(range(len(calls)), 0)
    for frame, indexes in frames.items():
        columns |= {index: len(made.schema) + i for i, index in enumerate(indexes)}
        aggregates = [calls[index].aggregate for index in indexes]
        made = _with_frames(made, ranked, partition, frame, aggregates, span)
    width, values = len((ranked if keeps_rank else plan).schema), column_refs(made)
    kept = [*values[:width]]
    kept += [
        value_in_order(values[columns[index]], each.aggregate) for index, each in enumerate(calls)
    ]
    names = [column.name for column in ranked.schema[:width]]
    names += names_of([each.aggregate for each in calls])
    return Project(made, tuple(kept), tuple(names))


def _with_frames(
    rows: Plan,
    ranked: Plan,
    partition: tuple[Expression, ...],
    frame: tuple[int, int],
    aggregates: Sequence[AggregateCall],
    span: Span,
) -> Plan:
    """Return `rows`, which begin with the columns of `ranked`, with the aggregates over one frame.

    The last column of `ranked` is the rank. A frame ends and begins that many rows before its row.
    """
    first, last = frame
    if last - first >= FOLLOWING_MAX:
        raise refusal(
            "E307",
            f"a frame in this order must have at most {FOLLOWING_MAX:,} rows",
            span,
            note="a new row may change all of its frames",
            help="write ROWS 9 PRECEDING",
        )
    steps = Literal(array_of(BIGINT), nullable=False, value=tuple(range(first, last + 1)))
    in_frames = Unnest(ranked, steps, "step", ordinality_name=None)
    rank_value, step = column_refs(in_frames)[-2:]
    number = replace(call("add", rank_value, step), nullable=False)
    by_rank = OrderKey(rank_value, descending=False, nulls_first=False)
    ordered = [in_order(each, [by_rank]) for each in aggregates]
    grouped = group_rows(in_frames, (*partition, number), ordered)
    pairs = equal_keys((*partition, rank_value), grouped)
    # The row itself is in the frame, or the frame may be empty.
    kind = JoinKind.INNER if first <= 0 <= last else JoinKind.LEFT
    return join_groups(rows, grouped, pairs, kind, ordered)


def join_groups(
    rows: Plan,
    grouped: Aggregate,
    pairs: Sequence[tuple[Expression, Expression]],
    kind: JoinKind,
    aggregates: Sequence[AggregateCall],
) -> Plan:
    """Return `rows` with the aggregates of their groups; a LEFT join also has those of empty groups."""
    joined = join_rows(rows, grouped, pairs, kind)
    columns = column_refs(joined)
    values = [
        value
        if aggregate.nullable or not value.nullable
        else call("coalesce", value, Literal(value.type, nullable=False, value=0))
        for aggregate, value in zip(aggregates, columns[-len(aggregates) :], strict=True)
    ]
    names = [column.name for column in rows.schema] + names_of(aggregates)
    return Project(joined, (*columns[: len(rows.schema)], *values), tuple(names))


def add_partition_aggregates(
    plan: Plan,
    partition: tuple[Expression, ...],
    aggregates: Sequence[AggregateCall],
    emit: Emission | None,
    span: Span,
) -> Plan:
    """Return `plan` with a column for each aggregate over all rows of the partition.

    Raises:
        Refusal: E301, E305.
    """
    complete = complete_window_keys(plan, partition)
    end = window_end_among(plan, complete)
    if end is None:
        check_windowed(plan, window_columns(plan), span, clause="PARTITION BY")
        return _join_whole(plan, partition, aggregates)
    if (emit is not None and not emit.final) or not append_only(plan):
        raise not_implemented(
            "aggregate over a whole window whose rows can be retracted",
            span,
            help="group the input by a window with EMIT FINAL",
        )
    return _aggregate_windows(plan, complete, end, aggregates)


def _join_whole(
    plan: Plan, partition: tuple[Expression, ...], aggregates: Sequence[AggregateCall]
) -> Plan:
    """Return the rows with the aggregates of their partition; both are updating."""
    width = len(plan.schema)
    grouped = group_rows(plan, partition, aggregates)
    joined = join_rows(
        plan, grouped, equal_keys(partition, grouped) or [(ZERO, ZERO)], JoinKind.INNER
    )
    columns = column_refs(joined)
    names = [column.name for column in plan.schema] + names_of(aggregates)
    kept = (*columns[:width], *columns[width + len(partition) :])
    return Project(joined, kept, tuple(names))


def keeps_all_rows(
    plan: Plan, orders: Sequence[Sequence[OrderKey]], span: Span, *, compares: bool
) -> Diagnostic:
    """Return the warning of frames over the rows of `plan` that are never complete.

    `orders` are those of the frames; `compares` says whether each row is compared with its partition.
    """
    cost = "each new row is compared with all rows of its partition: m rows take time in proportion to m * m"
    return Diagnostic(
        "W302",
        "OVER that is not in the order of event time keeps all rows",
        Label(span),
        notes=("a new row may change the frames of others", *([cost] if compares else [])),
        helps=tuple(_order_helps(plan, orders)),
    )


def _order_helps(plan: Plan, orders: Sequence[Sequence[OrderKey]]) -> Iterator[str]:
    """Yield how frames could be in the order of event time: by its column, or one that could be it."""
    times = [column.name for column in plan.schema if column.time_attribute]
    if times:
        yield f"write ORDER BY {times[0]} ROWS n PRECEDING"
        return
    for keys in orders:
        key = keys[0] if len(keys) == 1 else None
        if key is None or key.descending or not isinstance(key.expression, ColumnRef):
            continue
        if key.expression.type.kind is Kind.TIMESTAMP and append_only(plan):
            name = plan.schema[key.expression.index].name
            yield (
                f"if {name} is the time of the rows, declare it in CREATE TABLE, which bounds the state:"
                f" WATERMARK FOR {name} AS {name} - INTERVAL '5' SECOND"
            )
            return


def _aggregate_windows(
    plan: Plan,
    keys: tuple[Expression, ...],
    end: int,
    aggregates: Sequence[AggregateCall],
) -> Plan:
    """Return the rows of each window with its aggregates, when the window closes."""
    schema = plan.schema
    kind = row_of((column.name, column.type) for column in schema)
    row = Cast(kind, nullable=False, argument=call("row", *column_refs(plan)))
    rows = AggregateCall(AggregateFunction.ARRAY_AGG, row, array_of(kind), nullable=True)
    key_names = tuple(f"key_{index}" for index in range(len(keys)))
    names = (*names_of(aggregates), "window_rows")
    grouped = WindowAggregate(
        plan, keys, key_names, (*aggregates, rows), names, window_end=end, final=True
    )
    array = column_refs(grouped)[-1]
    unnested = Unnest(grouped, array, "row", ordinality_name=None)
    columns = column_refs(unnested)
    # After the aggregate, only keys are event time.
    in_key = {
        key.index: columns[index] for index, key in enumerate(keys) if isinstance(key, ColumnRef)
    }
    made: list[Expression] = [
        in_key[index]
        if column.time_attribute and index in in_key
        else FieldAccess(column.type, column.nullable, columns[-1], index)
        for index, column in enumerate(schema)
    ]
    made += columns[len(keys) : len(keys) + len(aggregates)]
    return Project(unnested, tuple(made), (*(column.name for column in schema), *names[:-1]))


def group_rows(
    plan: Plan, keys: tuple[Expression, ...], aggregates: Sequence[AggregateCall]
) -> Aggregate:
    """Return the groups of `plan` by keys, updating."""
    names = tuple(f"key_{index}" for index in range(len(keys)))
    return Aggregate(plan, keys, names, tuple(aggregates), tuple(names_of(aggregates)))


def equal_keys(
    keys: tuple[Expression, ...], grouped: Aggregate
) -> list[tuple[Expression, Expression]]:
    """Return the keys of a join with the groups, where NULL equals NULL."""
    groups = column_refs(grouped)[: len(keys)]
    return [pair for each in zip(keys, groups, strict=True) for pair in null_safe_keys(*each)]


def join_rows(
    left: Plan, right: Plan, pairs: Sequence[tuple[Expression, Expression]], kind: JoinKind
) -> Join:
    """Return the join of rows by pairs of keys."""
    lefts, rights = tuple(one for one, _ in pairs), tuple(other for _, other in pairs)
    return Join(left, right, lefts, rights, None, kind)


def names_of(aggregates: Sequence[AggregateCall]) -> list[str]:
    """Return a name for the column of each aggregate."""
    return [*make_distinct_names([each.function.value.lower() for each in aggregates])]
