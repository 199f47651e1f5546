"""The operator that assigns rows to sessions."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from fsql.compiler.expression import Literal
from fsql.compiler.logical.plan import Plan, time_type
from fsql.compiler.logical.rows import Project
from fsql.compiler.records import dataclass
from fsql.compiler.schema import Column, Schema
from fsql.compiler.sqltypes import TIMESTAMP_MAX

if TYPE_CHECKING:
    from fsql.compiler.expression import Expression
    from fsql.compiler.sqltypes import SqlType


@dataclass(frozen=True, eq=False)
class AssignSessions(Plan):
    """The rows of each session, once it is closed: `[first, last + gap)` of the rows of a partition.

    `time_column` is an event-time column that is never NULL, `end_column` has that time plus the gap: the end
    of a session of only this row.  In the total order (rows that share a position by their time), a row joins
    the open sessions of its partition that it overlaps or touches, which become one session.  If there is no
    such session, it begins one; if that would be closed already, the row is late: it is dropped here and
    counted.  A session closes when the watermark is greater than its end, so that a row at the very end is
    still part of it.

    Output: the input's columns, none of which is event time any more, then `window_start`, `window_end` and
    `window_time` (the end less 1 microsecond); the last two are event time.  Root: the punctuation
    (`session_close_time`, PUNCTUATION).  Path: the time and the origin of the row's original root, then its
    original path, so the rows of a session keep their order.

    With `order_column`, a BIGINT or a TIMESTAMP that is never NULL, the path begins with the start of the
    session and that column: rows of one punctuation are in the order of event time, and at one time in
    that of the column.
    A late row has its own time there.

    Where rows are only sorted, their bounds have the type `sorted_type`, or else that of `time_column`.  It
    may have fewer digits of fraction than that column, if a filter above removes the rows whose times have
    more.
    """

    input: Plan
    partition: tuple[Expression, ...]
    time_column: int
    end_column: int
    order_column: int | None = None
    sorted_type: SqlType | None = None

    @property
    def sorts(self) -> bool:
        """Return whether each session has the rows of one time, so that rows are only sorted."""
        return self.end_column == self.time_column

    @property
    def lasts(self) -> bool:
        """Return whether sessions end at the greatest possible time, and so close at the end of the input."""
        end = self.input.expressions[self.end_column] if isinstance(self.input, Project) else None
        return isinstance(end, Literal) and end.value == TIMESTAMP_MAX

    @cached_property
    def schema(self) -> Schema:
        """Return the input's columns, then the session's three."""
        type_ = time_type(self.input, self.time_column)
        # Rows that are only sorted have their own times as bounds, with their digits of fraction.
        own = self.sorted_type or self.input.schema[self.time_column].type
        bound = own if self.sorts else type_
        return (
            *(column.without_time for column in self.input.schema),
            Column("window_start", bound, nullable=False),
            Column("window_end", bound, nullable=False, time_attribute=True),
            Column("window_time", type_, nullable=False, time_attribute=True),
        )
