"""A plan with fewer columns than it had, and the new indexes of those that are left."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final

from fsql.compiler import logical
from fsql.compiler.expression import ColumnRef, Expression
from fsql.compiler.node import Node, walk
from fsql.compiler.records import dataclass
from fsql.compiler.rules.columns import replace_parts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.rules.prune_columns.demand import Columns


COMPUTED_NAME: Final = "event_time"
"""The name of a column for what a table declares as event time."""


@dataclass(frozen=True, slots=True)
class Narrowed:
    """A plan with fewer columns: `new_index` has the new index of each old column that is left.

    New indexes are in the order of the old ones, so that rows compare by their columns as before.
    `computed` has the new index of each expression, over the old columns, that has become a column.
    """

    plan: logical.Plan
    new_index: Mapping[int, int]
    computed: Mapping[Expression, int] = field(default_factory=dict)

    def select_columns(self, columns: Columns, computed: Sequence[Expression] = ()) -> Narrowed:
        """Return the plan with only `columns` (old indexes), and the expressions to compute from them."""
        if columns == self.new_index.keys() and not computed:
            return self
        schema = self.plan.schema
        indexes = [self.new_index[column] for column in sorted(columns)]
        references = tuple(ColumnRef(schema[i].type, schema[i].nullable, i) for i in indexes)
        names = (*(schema[i].name for i in indexes), *(COMPUTED_NAME for _ in computed))
        added = tuple(self.over(expression) for expression in computed)
        return Narrowed(
            logical.Project(self.plan, (*references, *added), names),
            new_indexes(columns),
            {expression: len(indexes) + i for i, expression in enumerate(computed)},
        )

    def column(self, column: ColumnRef) -> ColumnRef:
        """Return a reference to the new column for an old column."""
        return ColumnRef(column.type, column.nullable, self.new_index[column.index])

    def over(self, expression: Expression) -> Expression:
        """Return an expression over the old columns as one over the new columns."""
        by: dict[Node, Expression] = {}
        for node in walk(expression):
            if isinstance(node, ColumnRef):
                by[node] = self.column(node)
        schema = self.plan.schema
        for computed, index in self.computed.items():
            by[computed] = ColumnRef(computed.type, schema[index].nullable, index)
        return replace_parts(expression, by)


def new_indexes(columns: Columns) -> dict[int, int]:
    """Return the new index of each of `columns`, if only these are left."""
    return {column: index for index, column in enumerate(sorted(columns))}
