"""A plan with fewer columns than it had, and where those that are left have gone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fsql.compiler import logical
from fsql.compiler.expression import ColumnRef, Expression
from fsql.compiler.rules.columns import renumbered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.rules.prune_columns.demand import Columns


@dataclass(frozen=True, slots=True)
class Narrowed:
    """A plan with fewer columns: `place` has the new index of each old column that is left.

    New indexes are in the order of the old, so that rows still compare by their columns as they did.
    """

    plan: logical.Plan
    place: Mapping[int, int]

    def picked(self, columns: Columns) -> Narrowed:
        """Return the plan with `columns` (old indexes) only."""
        if columns == self.place.keys():
            return self
        indexes = [self.place[column] for column in sorted(columns)]
        schema = self.plan.schema
        references = tuple(ColumnRef(schema[i].type, schema[i].nullable, i) for i in indexes)
        names = tuple(schema[i].name for i in indexes)
        return Narrowed(logical.Project(self.plan, references, names), places(columns))

    def over(self, expression: Expression) -> Expression:
        """Return an expression over the old columns as one over the new."""
        return renumbered(expression, self.place.__getitem__)


def places(columns: Columns) -> dict[int, int]:
    """Return the new index of each of `columns` where nothing else is left."""
    return {column: index for index, column in enumerate(sorted(columns))}
