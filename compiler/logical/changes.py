"""Changes as rows: to apply them to a table, and to get them from an updating query."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

from fsql.compiler.logical.plan import Plan
from fsql.compiler.records import dataclass
from fsql.compiler.schema import Column, Schema
from fsql.compiler.sqltypes import STRING

if TYPE_CHECKING:
    from fsql.compiler.expression import ColumnRef, Expression
    from fsql.compiler.sqltypes import SqlType


VALUE_MARKS: Final = "01"
"""The marks of a value that is available, and of one that is not."""


def mark_count(sql_type: SqlType) -> int:
    """Return the number of marks of a value: one, and those of the fields of a ROW."""
    return 1 + sum(map(mark_count, sql_type.field_types))


@dataclass(frozen=True, eq=False)
class ApplyChanges(Plan):
    """The last row of each key: the option `'changes' = 'upsert'` of a table that is read.

    Each row of the append-only input replaces the row of its key; a row for which `present` is not TRUE
    removes it, and has no effect if the key has no row.  `keys` and `values` are columns of the input.

    With `counted` the table has no key, and may have equal rows: `keys` are all its columns, and there are no
    `values`.  A row for which `present` is TRUE adds one; another removes an equal one, and fails (E526) if
    there is none after all rows of its root.

    `unavailable` is a column of texts: it is NULL where the row has all of its values, else it has a mark of
    `VALUE_MARKS` for each value and each field of a ROW, and the values that are not available are those of
    the row that is replaced.  A row fails (E527) if it replaces none.  The mark of a value is at its index in
    `marks`; those of the fields of a ROW follow, each before the marks of its own fields.

    A row for which `whole` is TRUE, and `present` is not, removes the row of its key only if that equals it
    in the values whose indexes are in `compared`, as in GROUP BY.

    Output: the keys, then the values, none of which is event time: a change may retract a row of any age.
    Path: `(least scan number below,)`; the barrier orders rows within a root.
    """

    input: Plan
    keys: tuple[ColumnRef, ...]
    present: Expression
    values: tuple[ColumnRef, ...]
    counted: bool = False
    unavailable: ColumnRef | None = None
    marks: tuple[int, ...] = ()
    whole: Expression | None = None
    compared: tuple[int, ...] = ()

    @cached_property
    def schema(self) -> Schema:
        """Return the columns of the keys and of the values."""
        below = [self.input.schema[each.index] for each in (*self.keys, *self.values)]
        return tuple(each.without_time for each in below)


OPERATION: Final = "op"
"""The name of the column with the kind of a change: `+I`, `-U`, `+U` or `-D`."""


@dataclass(frozen=True, eq=False)
class ToChangelog(Plan):
    """The changes of an updating query as append-only rows: TO_CHANGELOG.

    At each root position the weights of equal rows are added up; the rows that are left are its changes.
    They are labelled and ordered by `key`, columns of the input, like the changes that a sink with that key
    receives.  Output: the columns of the input, none of which is event time, then the kind of the change.
    Path: `(least scan number below, index among the changes of the root)`.
    """

    input: Plan
    key: tuple[int, ...] | None

    @cached_property
    def schema(self) -> Schema:
        """Return the columns of the input, then the kind of the change."""
        return (
            *(each.without_time for each in self.input.schema),
            Column(OPERATION, STRING, nullable=False),
        )
