"""An analysis: the columns by which a plan's rows are told apart.

A **derived key** of a plan is a set of its columns such that, behind every group of changes, no two of
its rows agree in all of them (NULL agreeing with NULL).  Grouping makes keys; everything else passes
them on or loses them.  The empty key says that there is at most one row.  A changelog is labelled and
ordered by the key (docs/internals/semantics.md, "The changes of a group"), and EXPLAIN shows it.
"""

from __future__ import annotations

from fsql.compiler.expression import ColumnRef
from fsql.compiler.logical import (
    Aggregate,
    AssignWindows,
    Filter,
    Join,
    LateralAggregate,
    Over,
    Plan,
    Project,
    Unnest,
    WindowAggregate,
    operators,
)

Key = tuple[int, ...]


def derived_key(plan: Plan) -> Key | None:
    """Return the key that `plan` derives, in the order of its columns; None where there is none."""
    return derived_keys(plan)[plan]


def derived_keys(plan: Plan) -> dict[Plan, Key | None]:
    """Return the derived key of `plan` and of every operator below it."""
    keys: dict[Plan, Key | None] = {}
    for node in operators(plan):
        keys[node] = _key(node, tuple(keys[below] for below in node.inputs))
    return keys


def _key(plan: Plan, below: tuple[Key | None, ...]) -> Key | None:
    match plan:
        case Aggregate(keys=keys) | WindowAggregate(keys=keys):
            return tuple(range(len(keys)))
        case Filter() | Over():
            return below[0]
        case Project():
            return _projected(plan, below[0])
        case Unnest() | LateralAggregate() | AssignWindows():
            return _widened(plan, below[0])
        case Join():
            return _joined(plan, *below)
        case _:
            # The rows of a table, and of UNION ALL, may be the same twice.
            return None


def _projected(plan: Project, below: Key | None) -> Key | None:
    """A key survives where every column of it does."""
    if below is None:
        return None
    kept = [e.index if isinstance(e, ColumnRef) else None for e in plan.expressions]
    return tuple(sorted(kept.index(i) for i in below)) if set(below) <= set(kept) else None


def _widened(plan: Unnest | LateralAggregate | AssignWindows, below: Key | None) -> Key | None:
    """Several rows made of one are told apart by what was appended, if anything tells."""
    width = len(plan.input.schema)
    match plan:
        case _ if below is None:
            return None
        case Unnest(ordinality_name=None):
            return None
        case Unnest():
            return (*below, width + 1)
        case LateralAggregate(keys=keys):
            return (*below, *range(width, width + len(keys)))
        case AssignWindows():
            return (*below, width)


def _joined(plan: Join, left: Key | None, right: Key | None) -> Key | None:
    """A pair is told apart by its two rows."""
    if left is None or right is None:
        return None
    width = len(plan.left.schema)
    return (*left, *(width + index for index in right))
