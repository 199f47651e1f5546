"""How the rows of a sharded table are assigned to shards, and how shards are merged.

Rows of one root position that are in different shards can be ordered by their own columns.  So a shard can be
written without knowledge of the others, and positions consist only of the root.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.logical import (
    Aggregate,
    AssignSessions,
    AssignWindows,
    Join,
    LateralAggregate,
    Scan,
    ToChangelog,
    Union,
    Unnest,
    WindowAggregate,
    append_only,
)
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from fsql.compiler.logical import Insert, Plan


@dataclass(frozen=True, slots=True)
class Sharding:
    """How rows are sharded and merged; columns are those of the table, by index.

    Rows go to shards by the hash of the columns `shard_key`, or by that of their root position if it is None.
    Rows of one root position that are in several shards are in the order of `ordered_by`; with
    `removals_first`, removals precede additions.
    """

    shards: int
    shard_key: tuple[int, ...] | None
    ordered_by: tuple[int, ...]
    removals_first: bool


def sharding_of(insert: Insert) -> Sharding | None:
    """Return how the rows of an INSERT are sharded, None if they are not."""
    sink = insert.sink
    if sink.shards is None:
        return None
    everything = tuple(range(len(sink.columns)))
    shard_key = everything if sink.key is None else sink.key
    if not append_only(insert.query):
        removals_first = sink.key is None
        return Sharding(sink.shards, shard_key, shard_key, removals_first)
    if not _have_equal_paths(insert.query):
        return Sharding(sink.shards, None, (), removals_first=False)
    return Sharding(sink.shards, shard_key, everything, removals_first=False)


def _have_equal_paths(plan: Plan) -> bool:
    """Return whether all rows of one root have the same path, so that their own columns order them."""
    while True:
        match plan:
            case Scan() | WindowAggregate() | Aggregate():
                return True
            case (
                Unnest()
                | LateralAggregate()
                | AssignWindows()
                | AssignSessions()
                | Join()
                | Union()
                | ToChangelog()
            ):
                return False
            case _:
                [plan] = plan.inputs
