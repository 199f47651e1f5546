"""The table that results from the changes of a source."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from fsql.compiler.logical.plan import Plan
from fsql.compiler.schema import Column, Schema

if TYPE_CHECKING:
    from fsql.compiler.expression import ColumnRef, Expression


@dataclass(frozen=True, eq=False)
class ApplyChanges(Plan):
    """The last row of each key: `'changes' = 'upsert'` of a table that is read.

    Each row of the append-only input replaces the row of its key; a row for which `present` is not TRUE
    removes it, and has no effect if the key has no row.  `keys` and `values` are columns of the input.
    Output: the keys, then the values, none of them event time: a change may retract a row of any age.
    Path: `(least scan number below,)`; the barrier orders rows within a root.
    """

    input: Plan
    keys: tuple[ColumnRef, ...]
    present: Expression
    values: tuple[ColumnRef, ...]

    @cached_property
    def schema(self) -> Schema:
        """Return the columns of the keys and of the values."""
        below = [self.input.schema[each.index] for each in (*self.keys, *self.values)]
        return tuple(Column(each.name, each.type, nullable=each.nullable) for each in below)
