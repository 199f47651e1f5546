"""Operators over several inputs."""

from __future__ import annotations

import enum
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from fsql.compiler.logical.plan import Plan
from fsql.compiler.node import Node
from fsql.compiler.records import dataclass
from fsql.compiler.schema import Column, Schema

if TYPE_CHECKING:
    from fsql.compiler.expression import Expression


@dataclass(frozen=True, eq=False)
class TimeRange(Node):
    """A bound on a join: `right_time` is in `[left_time + low_us, left_time + high_us]`.

    The columns are event-time columns of the sides, never NULL.  A pair joins only if, at the position
    of its later row, the watermark (with the greater delay of the two columns) is not beyond the
    greatest time that the earlier row could match: `left_time + high_us`, or `right_time - low_us`.
    """

    left_time: int
    right_time: int
    low_us: int
    high_us: int


@dataclass(frozen=True, eq=False)
class HotKeys(Node):
    """The hot keys of a join, whose rows are divided among `parts` parts; it changes no pair and no order.

    A key is hot if its expression number `number` equals one of `values`.  The rows of
    the left (0) or the right (1) side with a hot key, `divided`, are in one part each; those of the other
    side are in every part.
    """

    number: int
    values: tuple[int | str, ...]
    divided: int
    parts: int


class JoinKind(enum.Enum):
    """The kind of a join: the rows it returns besides, or instead of, pairs; the value is the name in SQL."""

    INNER = "INNER"
    LEFT = "LEFT"
    RIGHT = "RIGHT"
    FULL = "FULL"
    SEMI = "SEMI"
    ANTI = "ANTI"

    @property
    def keeps_left(self) -> bool:
        """Return whether left rows without a partner are returned."""
        return self in {JoinKind.LEFT, JoinKind.FULL, JoinKind.ANTI}

    @property
    def keeps_right(self) -> bool:
        """Return whether right rows without a partner are returned."""
        return self in {JoinKind.RIGHT, JoinKind.FULL}

    @property
    def makes_pairs(self) -> bool:
        """Return whether pairs are returned: the rows of SEMI and ANTI are rows of the left side."""
        return self not in {JoinKind.SEMI, JoinKind.ANTI}


@dataclass(frozen=True, eq=False)
class Join(Plan):
    """The equi-join of two streams: all pairs whose keys are equal and not NULL.

    A pair has the position of its later row, and the product of the weights.  Of two rows with equal
    root and path the left one is the earlier.  Output: the left side's columns, then the right's.
    Path: the later row's, padded with -1 to the deeper side's depth, then the index of the earlier row's
    position among those of the later row's pairs (earlier rows that tie share it: their pairs tie).
    With `hot_keys`, the earlier row's position itself, with a path of the deeper side's depth: the pairs of a
    later row have the same order.  This needs an inner join of append-only sides whose rows
    do not tie, and keys that cannot fail.

    With `once`, an INNER or LEFT join, a row of the left, which is append-only, is joined when it comes and
    not kept: with the rows that the right has after all changes of the row's root, and for which
    `condition`, over the columns of both, is TRUE.  A pair on which it fails is an error at the row's root.
    Changes of the right make nothing, so the result is append-only, with the event time of the left.  Path:
    zeros, one more than the depth of the deeper side, so rows of one root tie.  With `broadcast`, a hint that
    changes nothing in the result, every worker gets the right.

    The other kinds are updating, and have no time range.  LEFT, RIGHT and FULL also return rows without a
    partner, padded with NULLs, as long as they have none.  SEMI returns the rows of the left side that have a
    partner, ANTI those that have none.
    """

    left: Plan
    right: Plan
    left_keys: tuple[Expression, ...]
    right_keys: tuple[Expression, ...]
    time_range: TimeRange | None
    kind: JoinKind = JoinKind.INNER
    hot_keys: HotKeys | None = None
    once: bool = False
    condition: Expression | None = None
    broadcast: bool = False

    @cached_property
    def schema(self) -> Schema:
        """Return the columns of both sides; for SEMI and ANTI those of the left side.

        Without a time range they are not event time, because the earlier row may be of any age; with `once`
        those of the left, which is the later one, are.
        """
        left, right = self.left.schema, self.right.schema
        if not self.kind.makes_pairs:
            right = ()
        if self.kind.keeps_right:
            left = tuple(replace(column, nullable=True) for column in left)
        if self.kind.keeps_left:
            right = tuple(replace(column, nullable=True) for column in right)
        if self.time_range is not None:
            return (*left, *right)
        without_time = (*right,) if self.once else (*left, *right)
        plain = (each.without_time for each in without_time)
        return (*left, *plain) if self.once else (*plain,)


@dataclass(frozen=True, eq=False)
class Union(Plan):
    """UNION ALL: the rows of all branches, which have equal types; names are the first branch's.

    Path: that of the branch, padded with -1 to the deepest.  Scan numbers order branches of different scans.
    """

    branches: tuple[Plan, ...]

    @cached_property
    def schema(self) -> Schema:
        """Return the first branch's names, nullable or event time as all branches allow."""
        first, *others = (branch.schema for branch in self.branches)
        return tuple(
            Column(
                column.name,
                column.type,
                nullable=column.nullable or any(other[i].nullable for other in others),
                time_attribute=column.time_attribute
                and all(other[i].time_attribute for other in others),
                document=all(other[i].document == column.document for other in others)
                and column.document,
            )
            for i, column in enumerate(first)
        )
