"""`ApplyChanges`: one drifting-state cycle, bucketed by the key; `ToChangelog`: one bucketed by roots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.expression import Case, ColumnRef, Expression, Literal
from fsql.compiler.graph import CombineChangelog, CombineChanges, Map, ToRoot, Vertex
from fsql.compiler.logical import least_scan_number
from fsql.compiler.lowering.cycle import add_cycle
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT

if TYPE_CHECKING:
    from fsql.compiler.logical import ApplyChanges, ToChangelog
    from fsql.compiler.lowering.draft import Draft


def lower_changes(draft: Draft, plan: ApplyChanges, rows: int) -> int:
    """Append the cycle of `plan` after vertex `rows`; return the vertex of its rows."""
    combine = CombineChanges(
        plan.keys,
        plan.present,
        tuple(_if_needed(plan, column) for column in plan.values),
        least_scan_number(plan),
        plan.counted,
        plan.unavailable,
        plan.marks,
        plan.whole,
        plan.compared,
    )
    return add_cycle(draft, plan, combine, (plan.keys,), (rows,))


def _if_needed(plan: ApplyChanges, column: Expression) -> Expression:
    """Return the column where the row is present or compared, else NULL: a removed row leaves no state."""
    nothing = Literal(column.type, nullable=True, value=None)
    needed = [each for each in (plan.present, plan.whole) if each is not None]
    branches = tuple((each, column) for each in needed)
    return Case(column.type, nullable=True, branches=branches, otherwise=nothing)


def lower_changelog(draft: Draft, plan: ToChangelog, rows: int) -> int:
    """Append the vertices of `plan` after vertex `rows`; return the vertex of its rows."""
    width = len(plan.input.schema)
    root = (
        Column("root_time", BIGINT, nullable=False),
        Column("root_origin", BIGINT, nullable=False),
    )
    below = draft[rows]
    rooted = draft.add(
        Vertex(Map(ToRoot()), (rows,), (*below.schema, *root), below.depth, type(plan).__name__)
    )
    keys = tuple(ColumnRef(BIGINT, nullable=False, index=width + each) for each in range(2))
    combine = CombineChangelog(keys, plan.key, least_scan_number(plan))
    return add_cycle(draft, plan, combine, (keys,), (rooted,))
