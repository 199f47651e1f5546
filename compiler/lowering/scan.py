"""`Scan`: the table's one Source, then a ScanRows for each scan.

Source bids ─▶ Broadcast ─┬─▶ Map(ScanRows 0) ─▶ …
                          └─▶ Map(ScanRows 1) ─▶ …
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.graph import Map, ScanRows, Vertex
from fsql.compiler.logical import depth

if TYPE_CHECKING:
    from fsql.compiler.logical import Scan
    from fsql.compiler.lowering.draft import Draft


def lower_scan(draft: Draft, plan: Scan) -> int:
    """Append the vertices of `plan`; return the vertex of its rows."""
    source = draft.source(plan.table)
    scan_number = Map(ScanRows(plan.scan_number))
    return draft.add(Vertex(scan_number, (source,), plan.schema, depth(plan), draft[source].origin))
