"""`Union`: a Merge, after a Pad for each branch whose paths are shorter than the deepest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.graph import Map, Merge, Pad, Vertex
from fsql.compiler.logical import depth

if TYPE_CHECKING:
    from fsql.compiler.logical import Union
    from fsql.compiler.lowering.draft import Draft


def lower_union(draft: Draft, plan: Union, branches: tuple[int, ...]) -> int:
    """Append the vertices of `plan` after its branches; return the vertex of their rows."""
    deepest = depth(plan)
    origin = type(plan).__name__
    merged: list[int] = []
    for branch in branches:
        # An input is named once: equal branches are distinguished by a Pad that changes nothing.
        if draft[branch].depth < deepest or branch in merged:
            pad = Vertex(Map(Pad(deepest)), (branch,), draft[branch].schema, deepest, origin)
            merged.append(draft.add(pad))
        else:
            merged.append(branch)
    return draft.add(Vertex(Merge(), tuple(merged), plan.schema, deepest, origin))
