"""Subqueries whose FROM depends on columns of the outer query: `(SELECT … FROM UNNEST(t.tags) AS x, u)`.

So do those in whose WHERE a condition with a subquery names such columns: `(… WHERE EXISTS (… v.k = t.k))`.
The rows of the outer query, or the distinct values of the columns that the subquery names, are the first
relation of its FROM, whose columns have no names for `*`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.binder.references import and_parts, has_subquery, outer_references, parts_of
from fsql.compiler.binder.relation import Relation
from fsql.compiler.binder.scope import Scope
from fsql.compiler.binder.subqueries.lateral import gives_elements
from fsql.compiler.expression import ColumnRef
from fsql.compiler.functions.calls import call
from fsql.compiler.logical import Aggregate
from fsql.compiler.planner.rows import column_refs, null_safe_keys, project

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.binder.ddl.declared_functions import Functions
    from fsql.compiler.expression import Expression


def named_outer(part: syntax.Syntax, query: syntax.Query, outer: Relation) -> frozenset[int]:
    """Return the columns of the outer query that a part of a subquery names with their relation."""
    qualifiers = frozenset(
        field.qualifier.lower() for field in outer.fields if field.qualifier is not None
    )
    around, found = Scope((outer.fields,)), set[int]()
    for each in outer_references(part, query, qualifiers):
        found.update(field.index for field in around.find(each.parts[1], each.parts[0]))
    return frozenset(found)


def named_below_where(
    query: syntax.Query, select: syntax.Select, outer: Relation, functions: Functions
) -> frozenset[int]:
    """Return the columns of the outer query that FROM of a subquery names, or a condition with a subquery.

    The rows of both depend on the values of these columns.
    """
    conditions = (each for each in and_parts(select.where) if has_subquery(each))
    in_where = (named_outer(each, query, outer) for each in conditions)
    return _named_in_from(query, select, outer, functions).union(*in_where)


def _named_in_from(
    query: syntax.Query, select: syntax.Select, outer: Relation, functions: Functions
) -> frozenset[int]:
    """Return the columns of the outer query that FROM of a subquery names.

    The name of their relation can be missing in UNNEST at the beginning, where no other can be meant.
    """
    found = frozenset[int]().union(*(named_outer(each, query, outer) for each in select.relations))
    if not select.relations:
        return found
    first = select.relations[0]
    first = first.first if isinstance(first, syntax.Joined) else first
    if not gives_elements(first, functions):
        return found
    parts = list(parts_of(first))
    hidden = {
        name.name.lower()
        for each in parts
        if isinstance(each, syntax.Lambda)
        for name in each.parameters
    }
    around = Scope((outer.fields,))
    for each in parts:
        if isinstance(each, syntax.ColumnReference) and each.parts[0].name.lower() not in hidden:
            found |= {field.index for field in around.find(each.parts[0])}
    return found


def distinct_values(outer: Relation, chosen: Sequence[int]) -> Relation:
    """Return the distinct values of columns of the outer query, under the names that these have."""
    own = column_refs(outer.plan)
    names = tuple(outer.plan.schema[index].name for index in chosen)
    taken = project(outer.plan, [own[index] for index in chosen], names)
    plan = Aggregate(taken, tuple(column_refs(taken)), names, (), ())
    places = {index: place for place, index in enumerate(chosen)}
    fields = (
        replace(field, index=places[field.index]) for field in outer.fields if field.index in places
    )
    return Relation(plan, tuple(fields))


def equal_values(values: Sequence[Expression], outer: Sequence[Expression]) -> list[Expression]:
    """Return the conditions by which values are those of the outer query; NULL equals NULL."""
    return [
        call("eq", *pair)
        for value, other in zip(values, outer, strict=True)
        for pair in null_safe_keys(value, other)
    ]


def moved_columns(
    plan_columns: Sequence[Expression], chosen: Sequence[int], by: int
) -> list[Expression]:
    """Return references to the chosen columns, `by` columns further."""
    return [
        ColumnRef(plan_columns[index].type, plan_columns[index].nullable, index + by)
        for index in chosen
    ]


def lateral_relations(
    query: syntax.Query, select: syntax.Select, outer: Relation
) -> tuple[syntax.Relation, ...]:
    """Return the relations of FROM, of which subqueries that name columns of the outer query are lateral."""

    def changed(relation: syntax.Relation) -> syntax.Relation:
        match relation:
            case syntax.Derived() if named_outer(relation, query, outer):
                return replace(relation, lateral=True)
            case syntax.Joined():
                joins = tuple(replace(each, right=changed(each.right)) for each in relation.joins)
                return replace(relation, first=changed(relation.first), joins=joins)
            case _:
                return relation

    return tuple(changed(each) for each in select.relations)


def only_qualified(outer: Relation) -> Relation:
    """Return a relation whose columns are found only with its name, as those of the subquery hide them."""
    return replace(outer, fields=tuple(replace(each, merged=True) for each in outer.fields))


def begins_with_relation(select: syntax.Select, functions: Functions) -> bool:
    """Return whether FROM begins with another relation than UNNEST, whose columns may have the same names."""
    first = select.relations[0]
    first = first.first if isinstance(first, syntax.Joined) else first
    return not gives_elements(first, functions)
