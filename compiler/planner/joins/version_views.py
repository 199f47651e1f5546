"""Versions from a view that keeps the last row of each key.

    SELECT … FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY at DESC) AS n FROM t) WHERE n = 1

Such a view has, at each time, the row of each key with the greatest event time.  So each of the rows that it
ranks is a version, and a temporal join reads these rows instead of the view, whose result is updating.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler.expression import Call, ColumnRef, Literal
from fsql.compiler.logical import Filter, Plan, Project, Rank, RankFunction, append_only
from fsql.compiler.planner.rows import column_refs
from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import BIGINT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.expression import Expression


@dataclass(frozen=True, slots=True)
class RankedRows:
    """The rows that a view ranks, with the columns of the view.

    `key` is the columns that are the key, `time` the event time by which they are ranked, `ranks` those that
    are the rank: 1 in each row, which is its rank from its time on, until the next row of its key.  `first`:
    whether the view keeps the rank 1 alone.
    """

    plan: Plan
    key: tuple[int, ...]
    time: int
    ranks: tuple[int, ...]
    first: bool = False


def ranked_versions(plan: Plan) -> RankedRows | None:
    """Return the rows of which `plan` has the last of each key; None if it has others."""
    found = _ranked_rows(plan)
    return found if found is not None and found.first else None


def carry_columns(columns: Sequence[int], step: Project) -> tuple[int, ...] | None:
    """Return where a projection has columns of its input; None if it lacks one."""
    indexes = {
        each.index: index
        for index, each in reversed(list(enumerate(step.expressions)))
        if isinstance(each, ColumnRef)
    }
    if any(index not in indexes for index in columns):
        return None
    return tuple(indexes[index] for index in columns)


def _ranked_rows(plan: Plan) -> RankedRows | None:
    if isinstance(plan, Rank):
        return _below(plan)
    if not isinstance(plan, Filter | Project):
        return None
    below = _ranked_rows(plan.input)
    if below is None:
        return None
    if isinstance(plan, Filter):
        # Any other condition would end a version when a later row of its key is filtered out.
        first = any(_is_first(plan.predicate, index) for index in below.ranks)
        return replace(below, first=True) if first else None
    carried = carry_columns((*below.key, below.time), plan)
    if carried is None:
        return None
    kept = [carry_columns((index,), plan) or () for index in below.ranks]
    ranks = tuple(index for indexes in kept for index in indexes)
    *key, time = carried
    return RankedRows(replace(plan, input=below.plan), tuple(key), time, ranks, below.first)


def _below(rank: Rank) -> RankedRows | None:
    """Return the rows that are ranked, if they are never retracted and ranked by their event time."""
    rows = rank.input
    if not (append_only(rows) and rank.function is RankFunction.ROW_NUMBER and rank.partition):
        return None
    key = [each.index for each in rank.partition if isinstance(each, ColumnRef)]
    times = [each.expression for each in rank.order if each.descending]
    if (
        rank.rank_name is None
        or len(key) < len(rank.partition)
        or not len(rank.order) == len(times) == 1
    ):
        return None
    (time,) = times
    if not (isinstance(time, ColumnRef) and rows.schema[time.index].time_attribute):
        return None
    one = Literal(BIGINT, nullable=False, value=1)
    names = tuple(column.name for column in rank.schema)
    plan = Project(rows, (*column_refs(rows), one), names)
    return RankedRows(plan, tuple(key), time.index, (len(rows.schema),))


def _is_first(condition: Expression, rank: int) -> bool:
    """Return whether a condition is that the column `rank`, which counts from 1, is 1."""
    if not (isinstance(condition, Call) and condition.function in {"eq", "le", "lt"}):
        return False
    column, bound = condition.arguments
    if condition.function == "eq" and isinstance(column, Literal):
        column, bound = bound, column
    if not (isinstance(column, ColumnRef) and column.index == rank and isinstance(bound, Literal)):
        return False
    return bound.value == (2 if condition.function == "lt" else 1)
