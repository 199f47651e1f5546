"""Relations: a plan with the names of its columns; and functions that add operators to plans."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler.binder.report import check_distinct, refusal
from fsql.compiler.binder.scope import Layer, RowTime, Scope, fields_of, quantity_text
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.expression import Expression
    from fsql.compiler.logical import Plan
    from fsql.compiler.syntax import Identifier, TableAlias


@dataclass(frozen=True, slots=True)
class Relation:
    """A plan and the names of its columns; hidden columns have no field.

    `row_time` is the hidden column with the time of each row, if that is requested.  `outer` are columns
    with values of the outer query, whose names those of the relation hide.
    """

    plan: Plan
    fields: Layer
    row_time: RowTime | None = None
    outer: Layer = ()

    @property
    def scope(self) -> Scope:
        """Return the scope in which only the relation's columns are visible."""
        layers = (self.fields, self.outer) if self.outer else (self.fields,)
        return Scope(layers, self.row_time)

    @property
    def width(self) -> int:
        """Return the number of the plan's columns."""
        return len(self.plan.schema)

    @property
    def named(self) -> Layer:
        """Return the fields that have a name."""
        return tuple(field for field in self.fields if not field.hidden)

    def with_plan(self, plan: Plan) -> Relation:
        """Return the relation with another plan that has the same columns."""
        return replace(self, plan=plan)

    def with_hidden_last(self) -> Relation:
        """Return the relation whose last field is event time without a name."""
        *fields, last = self.fields
        return replace(self, fields=(*fields, replace(last, hidden=True)))


@dataclass(frozen=True, slots=True)
class FromResult:
    """The result of FROM: a relation, and the conditions of WHERE that its joins include."""

    relation: Relation
    taken: frozenset[Expression] = frozenset()


def relation_of(plan: Plan, name: str | None) -> Relation:
    """Return the relation of a plan whose columns keep their names."""
    return Relation(plan, fields_of(plan.schema, name))


def apply_alias(relation: Relation, alias: TableAlias | None) -> Relation:
    """Return the relation under its alias, its columns renamed if the alias names them.

    Raises:
        Refusal: E209 if the alias names too many or too few, E205 if it names one twice.
    """
    if alias is None:
        return relation
    names = [field.name for field in relation.fields]
    if alias.columns:
        named = len(relation.named)
        check_column_names(alias.columns, named, f'"{alias.name.name}"')
        given = (column.name for column in alias.columns)
        names = [field.name if field.hidden else next(given) for field in relation.fields]
    return replace(
        relation,
        fields=tuple(
            replace(
                field,
                qualifier=alias.name.name,
                name=name,
                join_name=None if alias.columns else field.join_name,
            )
            for field, name in zip(relation.fields, names, strict=True)
        ),
    )


def check_column_names(
    columns: Sequence[Identifier], count: int, owner: str, help_: str | None = None
) -> None:
    """Check that a list of column names names `count` columns, each once.

    Raises:
        Refusal: E209, E205.
    """
    if len(columns) != count:
        raise refusal(
            "E209",
            f"{owner} has {quantity_text(count, 'column')}, and the list names {len(columns)}",
            columns[0].span.to(columns[-1].span),
            help=help_,
        )
    check_distinct(columns, "column", "listed")
