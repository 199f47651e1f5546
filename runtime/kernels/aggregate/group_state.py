"""The state that a kernel of groups keeps for each group, by operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fsql.compiler.expression import AggregateCall, AggregateFunction
from fsql.compiler.graph import CombineAggregate, CombineChanges
from fsql.compiler.sqltypes import BIGINT
from fsql.runtime.kernels.aggregate.accumulators import accumulator, by_total_order, collector
from fsql.runtime.kernels.aggregate.last_value import Balance, LastValue, Present

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.expression import Expression
    from fsql.runtime.kernels.aggregate.accumulators import Accumulator, Collector

_ROWS_OF_GROUP = AggregateCall(AggregateFunction.COUNT, None, BIGINT, nullable=False)
"""COUNT(*), the sum of the weights of a group, is always computed: a group exists while it is positive."""


class GroupState(NamedTuple):
    """The accumulators of a group, and their arguments.

    A group exists while the value of the first accumulator is positive.  `shown` has the indexes of those
    whose values are columns of the row of the group; `in_order` marks those that take the rows of one
    position in canonical order.  With `rows_remove`, a row of weight 1 can end the group.  `collectors` are
    those of the accumulators whose results have many values; `others` are expressions that the kernel reads.
    """

    arguments: Sequence[tuple[Expression, ...]]
    accumulators: list[Accumulator]
    shown: list[int]
    in_order: list[bool]
    rows_remove: bool
    collectors: Sequence[Collector] = ()
    others: tuple[Expression, ...] = ()


def group_state(combine: CombineAggregate | CombineChanges) -> GroupState:
    """Return the empty state of an operator's groups."""
    if isinstance(combine, CombineChanges) and combine.counted:
        return GroupState([(combine.present,)], [Balance()], [], [False], rows_remove=True)
    if isinstance(combine, CombineChanges):
        values = [LastValue(value.type) for value in combine.values]
        return GroupState(
            [(combine.present,), *((value,) for value in combine.values)],
            [Present(), *values],
            list(range(1, len(values) + 1)),
            [False] * (len(values) + 1),
            rows_remove=True,
            others=tuple(e for e in (combine.unavailable, combine.whole) if e is not None),
        )
    calls = list(dict.fromkeys((_ROWS_OF_GROUP, *combine.aggregates)))
    accumulators = [
        accumulator(call, append_only=combine.input_append_only, shown=not combine.final)
        for call in calls
    ]
    collectors = map(collector, calls, accumulators)
    return GroupState(
        [call.arguments for call in calls],
        accumulators,
        [calls.index(call) for call in combine.aggregates],
        [by_total_order(call) for call in calls],
        rows_remove=False,
        collectors=[each for each in collectors if each is not None],
    )
