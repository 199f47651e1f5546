"""`ApplyChanges`: one drifting-state cycle, bucketed by the key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.expression import Case, Expression, Literal
from fsql.compiler.graph import CombineChanges
from fsql.compiler.logical import least_scan_number
from fsql.compiler.lowering.cycle import add_cycle

if TYPE_CHECKING:
    from fsql.compiler.logical import ApplyChanges
    from fsql.compiler.lowering.draft import Draft


def lower_changes(draft: Draft, plan: ApplyChanges, rows: int) -> int:
    """Append the cycle of `plan` after vertex `rows`; return the vertex of its rows."""
    combine = CombineChanges(
        plan.keys,
        plan.present,
        tuple(_if_present(plan.present, column) for column in plan.values),
        least_scan_number(plan),
    )
    return add_cycle(draft, plan, combine, (plan.keys,), (rows,))


def _if_present(present: Expression, column: Expression) -> Expression:
    """Return the column where the row is present, else NULL: a removed row leaves no state."""
    nothing = Literal(column.type, nullable=True, value=None)
    return Case(column.type, nullable=True, branches=((present, column),), otherwise=nothing)
