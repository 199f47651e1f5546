"""The operators of the logical plan, described in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler import logical
from fsql.compiler.explain.expressions import (
    aggregate_text,
    column_text,
    expression_text,
    labels,
    order_text,
    range_text,
    running_text,
)
from fsql.compiler.explain.literals import interval_text, name_text
from fsql.compiler.explain.parts import Part
from fsql.compiler.explain.scans import no_scan_lines, scan_parts
from fsql.compiler.functions.evaluate import fallible
from fsql.compiler.logical import JoinKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.explain.scans import ScanLines
    from fsql.compiler.expression import AggregateCall, Expression
    from fsql.compiler.graph import (
        CombineChanges,
        CombineJoin,
        CombineRank,
        CombineSessions,
        Expired,
        ToExpiry,
        ToSlices,
        ToWindows,
    )
    from fsql.compiler.schema import Schema

ELEMENT, ORDINAL = "element", "ordinal"
"""The names of the element of a LATERAL aggregate's array and of its number."""


def operator_parts(plan: logical.Plan, scan_lines: ScanLines = no_scan_lines) -> tuple[Part, ...]:
    """Return the operation of `plan`, without its inputs."""
    match plan:
        case logical.Scan():
            return scan_parts(plan, scan_lines)
        case logical.Join():
            return join_parts(plan, plan.left.schema, plan.right.schema)
        case logical.Union():
            return ()
        case _:
            (below,) = plan.inputs
            return _parts_of_one_input(plan, labels(below.schema))


def _parts_of_one_input(plan: logical.Plan, names: tuple[str, ...]) -> tuple[Part, ...]:
    match plan:
        case logical.ApplyChanges():
            return changes_parts(plan, names)
        case logical.ToChangelog():
            return changelog_parts(plan.key, names)
        case logical.LateralAggregate():
            return _lateral_parts(plan, names)
        case logical.Aggregate() | logical.WindowAggregate() | logical.Over() | logical.Rank():
            return _group_parts(plan, names)
        case _:
            return _row_parts(plan, names)


def changes_parts(
    changes: logical.ApplyChanges | CombineChanges, names: Sequence[str]
) -> tuple[Part, ...]:
    """Return the key by which rows are replaced, and which rows are present after a change."""
    return (
        Part("keys", "by", tuple(expression_text(key, names) for key in changes.keys)),
        Part("present", "where", expression_text(changes.present, names)),
        Part("counted", "counted", changes.counted),
        *(
            ()
            if changes.unavailable is None
            else (Part("keeps", "keeps", expression_text(changes.unavailable, names)),)
        ),
        *(
            ()
            if changes.whole is None
            else (Part("whole", "compared where", expression_text(changes.whole, names)),)
        ),
    )


def changelog_parts(key: tuple[int, ...] | None, names: Sequence[str]) -> tuple[Part, ...]:
    """Return the key by which changes are updates."""
    by = None if key is None else tuple(column_text(names, index) for index in key)
    return (Part("keys", "by", by),)


def named_texts(
    expressions: Sequence[Expression], new_names: Sequence[str], names: Sequence[str]
) -> tuple[str, ...]:
    """Return each expression with `AS name`, unless the name is its text."""
    # Not strict: plans that a verifier rejects are printed as well.
    return tuple(
        _as(expression_text(expression, names), name)
        for expression, name in zip(expressions, new_names, strict=False)
    )


def aggregate_texts(
    calls: Sequence[AggregateCall], new_names: Sequence[str], names: Sequence[str]
) -> tuple[str, ...]:
    """Return each aggregate with its name."""
    return tuple(
        _as(aggregate_text(call, names), name) for call, name in zip(calls, new_names, strict=True)
    )


def _as(text: str, name: str) -> str:
    name = name_text(name)
    return text if text == name else f"{text} AS {name}"


def _row_parts(  # noqa: PLR0911 - one line for each operator
    plan: logical.Plan, names: tuple[str, ...]
) -> tuple[Part, ...]:
    match plan:
        case logical.Filter(predicate=predicate):
            above = isinstance(plan.input, logical.Join) and fallible(predicate)
            reason = "it can fail, and sees joined rows only" if above else None
            return (
                Part("predicate", "", expression_text(predicate, names)),
                Part("above_join", "stays above the join:", reason),
            )
        case logical.Project(expressions=expressions, names=new_names):
            return (Part("expressions", "", named_texts(expressions, new_names, names)),)
        case logical.Unnest(array=array, element_name=element, ordinality_name=ordinality):
            return (
                Part("array", "", expression_text(array, names)),
                Part("element", "element", name_text(element)),
                Part("ordinality", "ordinality", ordinality and name_text(ordinality)),
            )
        case logical.AssignWindows():
            return windows_parts(plan, names)
        case logical.AssignExpiry() | logical.CountLateRows():
            return expiry_parts(plan, names)
        case logical.AssignRowTime() | logical.AssignEnd():
            return ()
        case logical.AssignSessions(end_column=end):
            return sessions_parts(plan, end, names)
        case _:
            raise AssertionError(plan)


def windows_parts(
    windows: logical.AssignWindows | ToWindows | ToSlices, names: Sequence[str]
) -> tuple[Part, ...]:
    """Return the windows to which rows are assigned; without a slide they are tumbling windows."""
    sliding = windows.slide_us != windows.size_us
    return (
        Part("time", "on", column_text(names, windows.time_column)),
        Part("size", "size", interval_text(windows.size_us)),
        Part("slide", "slide", interval_text(windows.slide_us) if sliding else None),
        Part("offset", "offset", interval_text(windows.offset_us) if windows.offset_us else None),
        Part("zone", "in the zone", None if windows.zone == "UTC" else windows.zone),
    )


def expiry_parts(
    plan: logical.AssignExpiry | logical.CountLateRows | ToExpiry | Expired, names: Sequence[str]
) -> tuple[Part, ...]:
    """Return the time from which on a row cannot be joined, and for how long it is kept."""
    delay = interval_text(plan.delay_us) if plan.delay_us else None
    reached = plan.wait_us == logical.REACHED
    return (
        Part("time", "when reached" if reached else "on", column_text(names, plan.time_column)),
        Part("wait", "wait", None if reached else interval_text(plan.wait_us)),
        Part("delay", "delay", delay),
        Part("grain", "grain", interval_text(plan.grain_us)),
    )


def sessions_parts(
    sessions: logical.AssignSessions | CombineSessions, end_column: int, names: Sequence[str]
) -> tuple[Part, ...]:
    """Return which rows form a session, and the column with the end of a session of a single row."""
    by = tuple(expression_text(key, names) for key in sessions.partition)
    order = sessions.order_column
    return (
        Part("partition", "partition by", by),
        Part("time", "on", column_text(names, sessions.time_column)),
        Part("end", "to", column_text(names, end_column)),
        Part("order", "order by", None if order is None else column_text(names, order)),
    )


def _lateral_parts(plan: logical.LateralAggregate, names: tuple[str, ...]) -> tuple[Part, ...]:
    inside = (*names, ELEMENT, ORDINAL) if plan.ordinality else (*names, ELEMENT)
    where = plan.predicate
    predicate = None if where is None else expression_text(where, inside)
    return (
        Part("array", "over", expression_text(plan.array, names)),
        Part("predicate", "where", predicate),
        Part("keys", "by", named_texts(plan.keys, plan.key_names, inside)),
        Part(
            "aggregates",
            "compute",
            aggregate_texts(plan.aggregates, plan.aggregate_names, inside),
        ),
    )


def _group_parts(
    plan: logical.Aggregate | logical.WindowAggregate | logical.Over | logical.Rank,
    names: tuple[str, ...],
) -> tuple[Part, ...]:
    match plan:
        case logical.Rank(window_end=closing):
            end = Part(
                "closes_at", "closes at", None if closing is None else column_text(names, closing)
            )
            return *rank_parts(plan, names, plan.rank_name), end, Part("final", "final", plan.final)
        case logical.Over(partition=partition, calls=calls, names=new_names):
            running = tuple(
                _as(running_text(call, names), name)
                for call, name in zip(calls, new_names, strict=True)
            )
            by = tuple(expression_text(key, names) for key in partition)
            return Part("partition", "partition by", by), Part("calls", "compute", running)
        case logical.Aggregate() | logical.WindowAggregate():
            computed = aggregate_texts(plan.aggregates, plan.aggregate_names, names)
            parts = (
                Part("keys", "by", named_texts(plan.keys, plan.key_names, names)),
                Part("aggregates", "compute", computed),
            )
            if isinstance(plan, logical.Aggregate):
                return parts
            closes = column_text(names, plan.window_end)
            if plan.shown_us is not None:
                closes += f" + {interval_text(plan.shown_us)}, when it is not shown any more"
            end = Part("closes_at", "closes at", closes)
            return *parts, end, Part("final", "final", plan.final)


def rank_parts(
    rank: logical.Rank | CombineRank, names: Sequence[str], rank_name: str | None
) -> tuple[Part, ...]:
    """Return how rows are ranked, and which ranks are returned."""
    bounds = [f"> {rank.skipped}"] if rank.skipped else []
    bounds += [] if rank.limit is None else [f"<= {rank.limit}"]
    function = rank.function.value
    return (
        Part(
            "partition",
            "partition by",
            tuple(expression_text(key, names) for key in rank.partition),
        ),
        Part("order", "order by", tuple(order_text(key, names) for key in rank.order)),
        Part("function", "by", function if rank_name is None else _as(function, rank_name)),
        Part("kept", "where", f"rank {' AND '.join(bounds)}" if bounds else None),
    )


def join_parts(join: logical.Join | CombineJoin, left: Schema, right: Schema) -> tuple[Part, ...]:
    """Return the conditions on pairs of rows, whose sides have these columns."""
    left_names = [f"left.{name}" for name in labels(left)]
    right_names = [f"right.{name}" for name in labels(right)]
    keys = tuple(
        f"{expression_text(one, left_names)} = {expression_text(other, right_names)}"
        for one, other in zip(join.left_keys, join.right_keys, strict=True)
    )
    bound = join.time_range
    within = None if bound is None else range_text(bound, left_names, right_names)
    kind = None if join.kind is JoinKind.INNER else join.kind.value
    return (
        Part("kind", "", kind),
        Part("once", "", "once" if join.once else None),
        Part("keys", "on", keys),
        Part("time_range", "within", within),
        Part(
            "condition",
            "and",
            None
            if join.condition is None
            else expression_text(join.condition, [*left_names, *right_names]),
        ),
        *(_hot_parts(join.hot_keys) if isinstance(join, logical.Join) and join.hot_keys else ()),
    )


def _hot_parts(hot: logical.HotKeys) -> tuple[Part, ...]:
    """Return which keys of a join are divided, and how."""
    side = "right" if hot.divided else "left"
    return (
        Part("hot_keys", "hot", tuple(map(repr, hot.values))),
        Part("divided", "divided on the", side),
        Part("parts", "parts", hot.parts),
    )
