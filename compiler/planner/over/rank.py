"""Ranks: `ROW_NUMBER() OVER (PARTITION BY k ORDER BY x)`, and the rows that ORDER BY … LIMIT keeps.

Ranks partitioned by the bounds of a window are final when it closes, unless EMIT CHANGES is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.analysis.properties import window_columns
from fsql.compiler.logical import Plan, Rank
from fsql.compiler.planner.grouping import check_windowed, complete_window_keys, window_end_among

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.compiler.bound.over import RankCall
    from fsql.compiler.bound.select import Emission
    from fsql.compiler.expression import Expression
    from fsql.compiler.text.source import Span


def windowed_partition(plan: Plan, partition: tuple[Expression, ...]) -> bool:
    """Return whether a partition is by a window that closes."""
    return window_end_among(plan, complete_window_keys(plan, partition)) is not None


def rank(plan: Plan, call: RankCall, name: str | None, emit: Emission | None, span: Span) -> Plan:
    """Return the ranks of the rows of `plan`, released according to `emit`.

    Raises:
        Refusal: E305, if they are in windows and not ranked by window.
    """
    partition = complete_window_keys(plan, call.partition)
    end = window_end_among(plan, partition)
    if end is None:
        check_windowed(plan, window_columns(plan), span, clause="PARTITION BY")
    if end is None or (emit is not None and not emit.final):
        return Rank(plan, partition, call.order, call.function, name, window_end=end)
    return Rank(
        plan,
        partition,
        call.order,
        call.function,
        name,
        window_end=end,
        final=True,
        window_times=tuple(_other_times(plan, end)),
    )


def _other_times(plan: Plan, window_end: int) -> Iterator[int]:
    """Yield the other columns that are the end or the time of the window, and event time."""
    columns = window_columns(plan)
    window = columns[window_end]
    for index, (column, below) in enumerate(zip(columns, plan.schema, strict=True)):
        same = column is not None and window is not None and column.windows is window.windows
        if same and below.time_attribute and index != window_end:
            yield index
