"""The operator that ranks rows: ROW_NUMBER, RANK and DENSE_RANK, top-N, ORDER BY … LIMIT."""

from __future__ import annotations

import enum
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from fsql.compiler.logical.plan import Plan
from fsql.compiler.logical.rows import AssignEnd
from fsql.compiler.node import Node
from fsql.compiler.records import dataclass
from fsql.compiler.schema import Column, Schema
from fsql.compiler.sqltypes import BIGINT

if TYPE_CHECKING:
    from fsql.compiler.expression import Expression


class RankFunction(enum.Enum):
    """The functions that number the rows of a partition; the value is the name in SQL.

    ROW_NUMBER counts rows; RANK counts the rows that are less, DENSE_RANK the distinct orders that are less.
    """

    ROW_NUMBER = "ROW_NUMBER"
    RANK = "RANK"
    DENSE_RANK = "DENSE_RANK"


@dataclass(frozen=True, eq=False)
class OrderKey(Node):
    """One expression by which rows are ordered."""

    expression: Expression
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, eq=False)
class Rank(Plan):
    """The rows of each partition with their ranks, those with `skipped < rank <= limit`.

    Rows are ordered by `order`; equal ones by their positions in the total order if the input is
    append-only, and otherwise by all their columns.  A row that occurs several times in the input is ranked
    several times.

    Without `window_end` the result is updating: each root position that changes a partition retracts
    rows and adds rows.  With it, rows are late as for `WindowAggregate`, and the state of a window is
    freed when it closes; with `final`, the rows are emitted once, at that position, and `window_times`, other
    columns with the end or the time of the window, remain event time like `window_end`.
    Output: the input's columns, then the rank if it has a name.  Path: `(least scan number below,)`.
    """

    input: Plan
    partition: tuple[Expression, ...]
    order: tuple[OrderKey, ...]
    function: RankFunction
    rank_name: str | None
    skipped: int = 0
    limit: int | None = None
    window_end: int | None = None
    final: bool = False
    window_times: tuple[int, ...] = ()

    @property
    def at_end(self) -> bool:
        """Return whether the rows are emitted once the input has ended, whatever was retracted before."""
        return self.final and isinstance(self.input, AssignEnd)

    @cached_property
    def schema(self) -> Schema:
        """Return the input's columns and the rank; only times of the window remain event time, if final."""
        times = (self.window_end, *self.window_times) if self.final else ()
        columns = tuple(
            replace(column, time_attribute=column.time_attribute and index in times)
            for index, column in enumerate(self.input.schema)
        )
        if self.rank_name is None:
            return columns
        return (*columns, Column(self.rank_name, BIGINT, nullable=False))
