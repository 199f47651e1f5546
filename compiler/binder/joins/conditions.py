"""Conditions of joins in ON and WHERE, over the columns of the relations that they join."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.binder.expressions.expression import ExpressionBinder
from fsql.compiler.binder.joins.join import side_by_side
from fsql.compiler.binder.joins.within import within_conditions
from fsql.compiler.binder.report import Refusal
from fsql.compiler.binder.scope import Scope
from fsql.compiler.planner.rows import conjuncts, filter_relation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler import syntax
    from fsql.compiler.binder.context import Context
    from fsql.compiler.binder.references import Condition
    from fsql.compiler.binder.relation import Relation
    from fsql.compiler.binder.scope import Layer
    from fsql.compiler.expression import Expression


def bind_on(
    left: Relation, right: Relation, clause: syntax.JoinClause, context: Context
) -> list[Expression]:
    """Return the conditions of WITHIN and ON, over the columns of both sides.

    Raises:
        Refusal: E2xx to E4xx.
    """
    found: list[Expression] = []
    if clause.within is not None:
        found = within_conditions(clause.within, left, right, context.zone)
    if clause.condition is not None:
        found += bind_conditions(clause.condition, side_by_side(left, right), context)
    return found


def bind_conditions(
    condition: syntax.Expression, fields: Layer, context: Context
) -> list[Expression]:
    """Return the conditions that one of ON connects by AND.

    Raises:
        Refusal: E2xx to E4xx.
    """
    return conjuncts(_binder("ON", fields, context).bind_condition_and_check_size(condition))


def keep_where(joined: Relation, condition: syntax.Expression | None, context: Context) -> Relation:
    """Return the rows of a join for which a condition of ON is TRUE.

    Raises:
        Refusal: E2xx to E4xx.
    """
    if condition is None:
        return joined
    conditions = bind_conditions(condition, joined.fields, context)
    return joined.with_plan(filter_relation(joined.plan, conditions))


def where_between(
    where: Sequence[Condition], left: Relation, right: Relation, context: Context
) -> list[Expression]:
    """Return the conditions of WHERE that refer to both relations, over the columns of both."""
    left_names, right_names = _qualifiers(left), _qualifiers(right)
    found: list[Expression] = []
    for condition in where:
        if not condition.connects(left_names, right_names):
            continue
        binder = _binder("WHERE", side_by_side(left, right), context)
        try:
            found.extend(conjuncts(binder.bind_condition(condition.expression)))
        except Refusal:
            # It is bound again when all of FROM is bound; errors are reported then.
            continue
    return found


def _binder(clause: str, fields: Layer, context: Context) -> ExpressionBinder:
    return ExpressionBinder(
        Scope((fields,)), clause, context.source_spans, context.functions, context.zone
    )


def _qualifiers(relation: Relation) -> frozenset[str]:
    names = (field.qualifier for field in relation.fields)
    return frozenset(name.lower() for name in names if name is not None)
