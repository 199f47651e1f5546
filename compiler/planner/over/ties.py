"""The order of rows that are equal in ORDER BY, where a SELECT has several operators of OVER.

Such rows are in the total order, or ordered by all their columns if they can be retracted.  An operator adds
columns, and may give rows other positions, so those above it need a column with the order of the input:

    SELECT LAG(x) OVER (ORDER BY y), ROW_NUMBER() OVER (PARTITION BY k ORDER BY z)
        →  numbered: COUNT(*) OVER (PARTITION BY k ROWS UNBOUNDED PRECEDING) AS tie
        →  LAG(x) in the order of y, then ROW_NUMBER in the order of z and tie
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fsql.compiler.analysis.properties import derived_keys
from fsql.compiler.bound.over import Ordering, RankCall
from fsql.compiler.expression import AggregateCall, AggregateFunction, ColumnRef
from fsql.compiler.logical import FrameEnd, OrderKey, Over, OverCall, RankFunction, append_only
from fsql.compiler.planner.grouping import complete_window_keys
from fsql.compiler.planner.over.rank import rank, windowed_partition
from fsql.compiler.planner.rows import column_refs
from fsql.compiler.sqltypes import BIGINT

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from fsql.compiler.bound.select import Emission
    from fsql.compiler.bound.source_spans import SourceSpans
    from fsql.compiler.expression import Expression
    from fsql.compiler.logical import Plan
    from fsql.compiler.planner.over.following import Sequenced
    from fsql.compiler.text.source import Span

    Partition = tuple[Expression, ...]
    Ties = Mapping["Ordering", tuple[OrderKey, ...]]


class Step(NamedTuple):
    """An operator of OVER; `numbers` says whether it numbers rows that are equal in its order."""

    ordering: Ordering
    numbers: bool


class Context(NamedTuple):
    """Where OVER is written, and when ranks by window are released."""

    emit: Emission | None
    span: Span
    source_spans: SourceSpans


def number_ties(
    plan: Plan, sequences: Collection[Sequenced], steps: Sequence[Step], context: Context
) -> tuple[Plan, Ties]:
    """Return `plan` with the columns that `steps` need; and by ordering, the keys to add to it.

    Running aggregates in `sequences` come before the steps.

    Raises:
        Refusal: E305.
    """
    if append_only(plan):
        times = {time for _, time in sequences if time is not None}
        moved = [each for each in _moved(steps, times) if not is_unique(plan, each)]
        return _number_positions(plan, moved, context, sequenced=bool(sequences))
    if sum(step.numbers for step in steps) > 1 and not derived_keys(plan):
        # Later steps order by all columns. This is the first that may distinguish equal rows.
        equal = RankCall(RankFunction.ROW_NUMBER, tuple(column_refs(plan)), ())
        plan = rank(plan, equal, "tie", context.emit, context.span)
    return plan, {}


def _moved(steps: Sequence[Step], times: AbstractSet[Expression]) -> list[Ordering]:
    """Return the orderings that number equal rows that are no more in the total order."""
    found: dict[Ordering, None] = {}
    for index, (ordering, numbers) in enumerate(steps):
        # Rows of one time remain in the total order.
        sorted_before = times - {key.expression for key in ordering.keys}
        if numbers and (index or sorted_before):
            found[ordering] = None
    return [*found]


def _number_positions(
    plan: Plan, orderings: Sequence[Ordering], context: Context, *, sequenced: bool
) -> tuple[Plan, Ties]:
    """Return `plan` with the places of rows in the total order, by partition."""
    partitions = dict.fromkeys(ordering.partition for ordering in orderings)
    columns: dict[Partition, OrderKey] = {}
    if partitions and not sequenced:
        common = _common_window(plan, [*partitions])
        if common is not None:
            # The state of a rank is freed when the window closes.
            in_window = RankCall(RankFunction.ROW_NUMBER, common, ())
            plan = rank(plan, in_window, "tie", context.emit, context.span)
            columns = dict.fromkeys(partitions, ascending(plan))
            partitions = {}
    for partition in partitions:
        count = AggregateCall(AggregateFunction.COUNT, None, BIGINT, nullable=False)
        context.source_spans.add(count, context.span)
        plan = Over(plan, partition, (OverCall(count, FrameEnd.CURRENT_ROW),), ("tie",))
        columns[partition] = ascending(plan)
    return plan, {ordering: (columns[ordering.partition],) for ordering in orderings}


def _common_window(plan: Plan, partitions: Sequence[Partition]) -> Partition | None:
    """Return the keys that all partitions have, if these are of a window that closes."""
    first, *others = (complete_window_keys(plan, partition) for partition in partitions)
    common = tuple(key for key in first if all(key in other for other in others))
    return common if windowed_partition(plan, common) else None


def ascending(plan: Plan) -> OrderKey:
    """Return the order by the last column."""
    return OrderKey(column_refs(plan)[-1], descending=False, nulls_first=False)


def is_unique(plan: Plan, ordering: Ordering) -> bool:
    """Return whether no two rows are equal in partition and order."""
    ordered = (*ordering.partition, *(key.expression for key in ordering.keys))
    columns = {each.index for each in ordered if isinstance(each, ColumnRef)}
    return any(columns.issuperset(key) for key in derived_keys(plan))
