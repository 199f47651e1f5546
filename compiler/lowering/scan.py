"""`Scan`: the table's one Source, then a Mention for each time the table is named.

Source bids ─▶ Broadcast ─┬─▶ Map(Mention 0) ─▶ …
                          └─▶ Map(Mention 1) ─▶ …
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.graph import Map, Mention, Vertex
from fsql.compiler.logical import depth

if TYPE_CHECKING:
    from fsql.compiler.logical import Scan
    from fsql.compiler.lowering.draft import Draft


def lower_scan(draft: Draft, plan: Scan) -> int:
    """Append what `plan` becomes and return the vertex of its rows."""
    source = draft.source(plan.table)
    mention = Map(Mention(plan.mention))
    return draft.add(Vertex(mention, (source,), plan.schema, depth(plan), draft[source].origin))
