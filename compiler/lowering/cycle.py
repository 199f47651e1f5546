"""The drifting-state cycle, as `fsql.compiler.graph` draws it.

    entries ─▶ Merge ─▶ Grouping(2) ─▶ Map(combine) ─▶ Broadcast ─┬─▶ Map(finish) ─▶ output
                 ▲                                                 │
                 └─────────────────────────────────────────────────┘

`Draft.finish` inserts the Broadcast, because combine has two readers.  The schema and depth of Merge and
Grouping are those of the input rows (for a join: the columns of both sides, the depth of the deeper one);
from combine on they are those of the output rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.graph import Closing, Combine, CombineJoin, Finish, Grouping, Map, Merge, Vertex
from fsql.compiler.logical import depth

if TYPE_CHECKING:
    from fsql.compiler.expression import Expression
    from fsql.compiler.logical import Plan
    from fsql.compiler.lowering.draft import Draft
    from fsql.compiler.schema import Schema

STATE_WINDOW = 2
"""The window of the Grouping: a state and the next item; see FlameStream (2018), section 2.7."""


def add_cycle(
    draft: Draft,
    plan: Plan,
    combine: Combine,
    keys: tuple[tuple[Expression, ...], ...],
    entries: tuple[int, ...],
    closing: Closing | None = None,
    *,
    made: Schema | None = None,
) -> int:
    """Append the cycle of `plan` after the vertices `entries`; return the vertex of its output.

    `made` are the columns of its rows, if they are not those of `plan`.
    """
    cycle = draft.next_cycle()
    origin, operator = type(plan).__name__, draft.operator_ids[plan]
    schema_in = tuple(column for entry in entries for column in draft[entry].schema)
    depth_in = max(draft[entry].depth for entry in entries)

    def add(operation: Merge | Grouping | Map, inputs: tuple[int, ...]) -> int:
        schema, levels = schema_in, depth_in
        if isinstance(operation, Map):
            schema, levels = made or plan.schema, depth(plan)
        return draft.add(Vertex(operation, inputs, schema, levels, origin, cycle, operator))

    merge = add(Merge(), entries)
    right_first = isinstance(combine, CombineJoin) and combine.once
    grouping = add(Grouping(keys, STATE_WINDOW, closing, combine.by_root, right_first), (merge,))
    state = add(Map(combine), (grouping,))
    output = add(Map(Finish(combine)), (state,))
    draft.close_cycle(merge, state)
    return output
