"""Keys of rows that a running COUNT(*) numbers: ROW_NUMBER() in the total order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.expression import AggregateFunction, ColumnRef
from fsql.compiler.logical import Over

if TYPE_CHECKING:
    from fsql.compiler.logical import OverCall, Plan


def numbered_keys(plan: Plan) -> list[frozenset[int]]:
    """Return the keys of `Over` that consist of its partition and the number of a row in it.

    Numbers of a partition that may be dropped begin again, so they are no key.
    """
    if not isinstance(plan, Over) or plan.idle_us is not None:
        return []
    if not all(isinstance(key, ColumnRef) for key in plan.partition):
        return []
    partition = frozenset(key.index for key in plan.partition if isinstance(key, ColumnRef))
    width = len(plan.input.schema)
    return [
        partition | {width + index} for index, call in enumerate(plan.calls) if _numbers_rows(call)
    ]


def _numbers_rows(call: OverCall) -> bool:
    """Return whether a call counts all rows of the partition up to the row itself."""
    counts = call.aggregate.function is AggregateFunction.COUNT and call.aggregate.argument is None
    return counts and call.is_running
