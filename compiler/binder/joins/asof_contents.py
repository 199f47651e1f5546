"""ASOF joins of what tables contain: of tables with a key, whose rows are replaced and removed.

Such a join has no order in time: it is over the rows that both tables have at each position.

    x ASOF LEFT JOIN y ON x.k = y.k AND x.at >= y.at
        →  Join on k  →  Filter: x.at >= y.at
        →  Rank by the row of x: the one with the greatest y.at, and of equal ones the least key of y
        →  UNION ALL of these pairs, and x ANTI JOIN the pairs, with NULLs

So rows of y that are replaced or removed give way to the ones before them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.analysis.properties import derived_keys
from fsql.compiler.binder.joins.outer_join import by_pairs
from fsql.compiler.functions.calls import call
from fsql.compiler.logical import Join, JoinKind, OrderKey, Plan, Rank, RankFunction
from fsql.compiler.planner.rows import column_refs, filter_relation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.expression import Expression


_FROM_BEFORE: Final = frozenset({"ge", "gt"})


def has_identity(left: Plan, right: Plan) -> bool:
    """Return whether the rows of one side are told apart, so that one of the other side's can be chosen."""
    return bool(derived_keys(left)) or bool(derived_keys(right))


def asof_contents(
    kind: JoinKind,
    left: Plan,
    right: Plan,
    pairs: Sequence[tuple[Expression, Expression]],
    bound: tuple[int, int, str],
) -> Plan:
    """Return the join of each row of the left with one of the right.

    `bound` is the columns of both sides that are compared, and the function.
    """
    mine, theirs, function = bound
    width = len(left.schema)
    joined = Join(
        left, right, tuple(one for one, _ in pairs), tuple(other for _, other in pairs), None
    )
    columns = column_refs(joined)
    before = filter_relation(joined, [call(function, columns[mine], columns[width + theirs])])
    columns = column_refs(before)
    left_keys, right_keys = derived_keys(left), derived_keys(right)
    own = sorted(left_keys[0]) if left_keys else range(width)
    theirs_first = [theirs, *(sorted(right_keys[0]) if right_keys else range(len(right.schema)))]
    order = [
        OrderKey(columns[width + index], function in _FROM_BEFORE and not number, nulls_first=False)
        for number, index in enumerate(theirs_first)
    ]
    # Rows of the left without a key may be equal: then each of them is of the first rank.
    rank = RankFunction.ROW_NUMBER if left_keys else RankFunction.RANK
    best = Rank(before, tuple(columns[i] for i in own), tuple(order), rank, None, limit=1)
    return by_pairs(kind, left, right, best) if kind is JoinKind.LEFT else best
