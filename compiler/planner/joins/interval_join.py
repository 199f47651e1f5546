"""Interval joins: LEFT, RIGHT, FULL, SEMI and ANTI joins whose ON bounds the time between the sides.

When the watermark has passed the time up to which a row could be joined, its matches are known. The pairs are
those of the inner join, and are emitted as there. Each row of a side forms a group with its pairs, which
closes at that time:

    x LEFT JOIN y ON x.k = y.k AND y.at BETWEEN x.at AND x.at + INTERVAL '1' HOUR
        →  pairs
           UNION ALL of (row of x, 0, NULL) and, for each pair, (row of x, NULL, 0)
           →  AssignExpiry: x.at and 1 hour
           →  WindowAggregate by the row of x: ARRAY_AGG of the first mark, COUNT of the second
           →  Filter: no pair  →  Unnest the first marks  →  with NULLs

So results are final, and the range bounds the state.  Rows that are equal in all columns are one group, and
their number is that of the first marks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.analysis.delays import delay_us
from fsql.compiler.expression import AggregateCall, AggregateFunction, Expression, Literal
from fsql.compiler.functions.calls import call
from fsql.compiler.logical import (
    AssignExpiry,
    JoinKind,
    Plan,
    Project,
    Union,
    Unnest,
    WindowAggregate,
    grain_us,
    operators,
)
from fsql.compiler.planner.rows import column_refs, filter_relation
from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import BIGINT, INT, array_of

if TYPE_CHECKING:
    from fsql.compiler.logical import TimeRange


_MARK: Final = Literal(INT, nullable=True, value=0)
_NO_MARK: Final = Literal(INT, nullable=True, value=None)


@dataclass(frozen=True, slots=True)
class IntervalJoin:
    """The join of `left` and `right`, whose pairs by all conditions are `pairs`."""

    kind: JoinKind
    left: Plan
    right: Plan
    pairs: Plan
    time_range: TimeRange

    def plan(self) -> Plan:
        """Return the columns of both sides; for SEMI and ANTI those of the left side."""
        if not self.kind.makes_pairs:
            return self._expire(of_left=True, matched=self.kind is JoinKind.SEMI)
        names = tuple(column.name for column in self.pairs.schema)
        branches = [Project(self.pairs, tuple(column_refs(self.pairs)), names)]
        if self.kind.keeps_left:
            alone = self._expire(of_left=True, matched=False)
            branches.append(Project(alone, (*column_refs(alone), *_nulls(self.right)), names))
        if self.kind.keeps_right:
            alone = self._expire(of_left=False, matched=False)
            branches.append(Project(alone, (*_nulls(self.left), *column_refs(alone)), names))
        return Union(tuple(branches))

    def _expire(self, *, of_left: bool, matched: bool) -> Plan:
        """Return the rows of a side that have a match, or those that have none, when it is known."""
        side, first = (self.left, 0) if of_left else (self.right, len(self.left.schema))
        width, names = len(side.schema), tuple(column.name for column in side.schema)
        in_pairs = column_refs(self.pairs)[first : first + width]
        marks = (*names, "row", "match")
        both = Union(
            (
                Project(side, (*column_refs(side), _MARK, _NO_MARK), marks),
                Project(self.pairs, (*in_pairs, _NO_MARK, _MARK), marks),
            )
        )
        expiring = self._with_expiry(both, of_left=of_left)
        *own, row, match, expires = column_refs(expiring)
        rows = AggregateCall(
            AggregateFunction.ARRAY_AGG, row, array_of(INT), nullable=True, ignore_nulls=True
        )
        matches = AggregateCall(AggregateFunction.COUNT, match, BIGINT, nullable=False)
        groups = WindowAggregate(
            expiring,
            (*own, expires),
            (*names, "expires"),
            (rows, matches),
            ("rows", "matches"),
            window_end=width + 2,
            final=True,
        )
        *_, rows_of_group, count = column_refs(groups)
        test = call("gt" if matched else "eq", count, Literal(BIGINT, nullable=False, value=0))
        found = Unnest(filter_relation(groups, [test]), rows_of_group, "row", ordinality_name=None)
        return Project(found, tuple(column_refs(found)[:width]), names)

    def _with_expiry(self, both: Plan, *, of_left: bool) -> Plan:
        """Return the rows with the time at which they can no longer be joined."""
        bounds = self.time_range
        time, wait_us = (
            (bounds.left_time, bounds.high_us) if of_left else (bounds.right_time, -bounds.low_us)
        )
        delay = max(delay_us(self.left, bounds.left_time), delay_us(self.right, bounds.right_time))
        # If a row can only be joined with earlier rows, it is known to have no match as soon as it is on
        # time.
        return AssignExpiry(both, time, max(wait_us, 0), delay, grain_us(both))


def has_interval_join(plan: Plan) -> bool:
    """Return whether `plan` releases rows when they can no longer be joined."""
    return any(isinstance(node, AssignExpiry) for node in operators(plan))


def _nulls(side: Plan) -> list[Expression]:
    """Return a NULL for each column of a side."""
    return [Literal(column.type, nullable=True, value=None) for column in side.schema]
