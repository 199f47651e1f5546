"""Selects the aggregate of a GROUP BY: windowed, or unbounded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.analysis.properties import Bound, WindowColumn, window_columns
from fsql.compiler.bound.groups import Key
from fsql.compiler.diagnostics import Diagnostic, Label
from fsql.compiler.diagnostics.refusal import not_implemented, refusal
from fsql.compiler.expression import ColumnRef
from fsql.compiler.logical import (
    Aggregate,
    AssignSessions,
    AssignWindows,
    Plan,
    WindowAggregate,
    operators,
)
from fsql.compiler.node import walk
from fsql.compiler.planner.lifetimes import aggregate_while_alive

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fsql.compiler.analysis.properties import WindowColumns
    from fsql.compiler.bound.emission import Emission
    from fsql.compiler.bound.lifetimes import Lifetime
    from fsql.compiler.diagnostics.report import Report
    from fsql.compiler.expression import Expression
    from fsql.compiler.planner.groups.grouping import AggregateSpec
    from fsql.compiler.text.source import Span


_NEVER_CLOSES: Final = "windows close by event time, which rows that can be retracted do not have"


def make_group(
    plan: Plan,
    grouping: AggregateSpec,
    emit: Emission | None,
    written: tuple[str, Span],
    report: Report,
    lifetime: Lifetime | None = None,
) -> Plan:
    """Return the aggregate of `plan` by `grouping`, released according to `emit`.

    Grouping by a window's end makes it a window aggregate, which is final unless EMIT CHANGES is given.
    `written` is the clause that groups, with its span.  With a `lifetime`, groups without a window are
    removed after it.

    Raises:
        Refusal: E305, E306; E301 for a lifetime of rows that can be retracted.
    """
    clause, span = written
    columns = window_columns(plan)
    keyed = {
        key.index: column
        for key in grouping.keys
        if isinstance(key, ColumnRef) and (column := columns[key.index]) is not None
    }
    end = _window_end(plan, keyed)
    if end is None:
        check_windowed(plan, columns, span, clause="GROUP BY …," if grouping.keys else "GROUP BY")
    else:
        final = emit is None or emit.final
        closed_by = columns[end]
        if emit is not None and not final and closed_by is not None:
            _refuse_changes_of_sessions(closed_by, emit)
        return WindowAggregate(
            plan,
            grouping.keys,
            grouping.key_names,
            grouping.aggregates,
            grouping.aggregate_names,
            end,
            final,
        )
    never_closes = _never_closes(plan)
    refuse_final(emit, never_closes=never_closes)
    whole = Aggregate(
        plan, grouping.keys, grouping.key_names, grouping.aggregates, grouping.aggregate_names
    )
    if lifetime is not None:
        return aggregate_while_alive(whole, lifetime)
    if grouping.keys:
        report.warn(
            Diagnostic(
                "W301",
                f"{clause} {'over windows that never close' if never_closes else 'without a window'}"
                " keeps every group",
                Label(span),
                notes=(_NEVER_CLOSES if never_closes else "any group may change later",),
                helps=_window_instead(plan, grouping.keys),
            )
        )
    return whole


def _never_closes(plan: Plan) -> bool:
    """Return whether windows of rows that can be retracted are assigned below."""
    windows = (node for node in operators(plan) if isinstance(node, AssignWindows))
    return any(not node.over_event_time for node in windows)


def _window_instead(plan: Plan, keys: Sequence[Expression]) -> tuple[str, ...]:
    """Return the help for keys such as DATE_TRUNC('hour', at), which are windows in other dialects."""
    for node in (each for key in keys for each in walk(key)):
        if isinstance(node, ColumnRef) and plan.schema[node.index].time_attribute:
            at = plan.schema[node.index].name
            return (
                f"to keep open groups only, group by a window: TUMBLE({at}, INTERVAL '1' MINUTE)",
            )
    return ()


def _refuse_changes_of_sessions(closed_by: WindowColumn, emit: Emission) -> None:
    """Refuse EMIT CHANGES of sessions, whose rows are emitted when they close.

    Raises:
        Refusal: E301.
    """
    if isinstance(closed_by.windows, AssignSessions):
        raise not_implemented(
            "EMIT CHANGES of sessions", emit.span, help="remove it: results are final"
        )


def refuse_final(emit: Emission | None, *, never_closes: bool = False) -> None:
    """Refuse EMIT FINAL without a window, or of windows that never close.

    Raises:
        Refusal: E306.
    """
    if emit is not None and emit.final and never_closes:
        what = "EMIT FINAL of windows that never close"
        raise refusal("E306", what, emit.span, note=_NEVER_CLOSES, help="write EMIT CHANGES")
    if emit is not None and emit.final:
        raise refusal(
            "E306",
            "EMIT FINAL without a window",
            emit.span,
            note="a result is final when its window closes",
            help="group by a window: GROUP BY …, TUMBLE(at, INTERVAL '1' MINUTE)",
        )


def _window_end(plan: Plan, keyed: dict[int, WindowColumn]) -> int | None:
    """Return the key that is the end of the window that closes the groups; None if there is none.

    If there are several, it is the one of the window assigned last.
    """
    ends = [
        (column.open, index)
        for index, column in keyed.items()
        if column.bound is Bound.END and plan.schema[index].time_attribute
    ]
    return max(ends)[1] if ends else None


def window_end_among(plan: Plan, keys: Sequence[Expression]) -> int | None:
    """Return the key that is the end of the window that closes the groups; None if there is none."""
    columns = window_columns(plan)
    found = {key.index: columns[key.index] for key in keys if isinstance(key, ColumnRef)}
    return _window_end(plan, {index: column for index, column in found.items() if column})


def complete_window_keys(plan: Plan, keys: tuple[Expression, ...]) -> tuple[Expression, ...]:
    """Return the keys, with the end of each window of which another bound is a key."""
    columns = window_columns(plan)
    indexes = [key.index for key in keys if isinstance(key, ColumnRef)]
    windows = {column.windows for index in indexes if (column := columns[index]) is not None}
    added = [
        ColumnRef(below.type, below.nullable, index)
        for index, (column, below) in enumerate(zip(columns, plan.schema, strict=True))
        if column is not None
        and column.windows in windows
        and column.bound in _identity(column.windows)
        and index not in indexes
    ]
    return (*keys, *added)


def _identity(windows: AssignWindows | AssignSessions) -> tuple[Bound, ...]:
    """Return the bounds among the keys of groups that identify a window."""
    if isinstance(windows, AssignSessions) or windows.known_by_one_bound:
        return (Bound.END,)
    return (Bound.START, Bound.END)


def check_windowed(plan: Plan, columns: WindowColumns, span: Span, *, clause: str) -> None:
    """Refuse groups of windowed rows that would not close with the window.

    Rows that are only ordered by event time do not belong to windows.

    Raises:
        Refusal: E305.
    """
    ends = (
        column
        for column, below in zip(columns, plan.schema, strict=True)
        if column is not None and column.bound is Bound.END and below.time_attribute
    )
    if any(end.open and not _sorts(end.windows) for end in ends):
        raise refusal(
            "E305",
            "windowed rows are not grouped by their window",
            span,
            note="a row is returned once for each window, and its groups would never close",
            help=f"write {clause} window_start, window_end",
            quote=span,
        )


def _sorts(windows: AssignWindows | AssignSessions) -> bool:
    return isinstance(windows, AssignSessions) and windows.sorts


def complete_windows(plan: Plan, keys: Sequence[Key], used: Iterable[Expression]) -> list[Key]:
    """Return the keys, with the other bounds of each window that they imply.

    Grouping by one bound of a window is grouping by the window.  The end is added as a key because it closes
    the groups, the start and the time if `used`, the expressions of the SELECT, refers to them.
    """
    columns = window_columns(plan)
    keyed = {key.expression.index: key for key in keys if isinstance(key.expression, ColumnRef)}
    windows = {
        column.windows: key
        for index, key in keyed.items()
        if (column := columns[index]) is not None
    }
    ended = {
        column.windows
        for index in keyed
        if (column := columns[index]) is not None and column.bound is Bound.END
    }
    wanted = {node.index for each in used for node in walk(each) if isinstance(node, ColumnRef)}
    completed = list(keys)
    for index, column in enumerate(columns):
        if column is None or column.windows not in windows or index in keyed:
            continue
        closes = column.bound is Bound.END and column.windows not in ended
        starts = column.bound is Bound.START and Bound.START in _identity(column.windows)
        if closes or starts or index in wanted:
            below = plan.schema[index]
            reference = ColumnRef(below.type, below.nullable, index)
            completed.append(Key(reference, below.name, windows[column.windows].span))
    return completed
