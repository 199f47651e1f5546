"""FROM and WHERE: the rows on which a SELECT operates, and the subqueries in WHERE.

The conditions that WHERE connects by AND apply in the order of the text, so that none of them is evaluated
for a row that an earlier one has dropped.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.binder.decorrelation import (
    named_outside_where,
    split_conditions,
    with_outer_values,
)
from fsql.compiler.binder.expression import ExpressionBinder
from fsql.compiler.binder.from_clause import FromBinder
from fsql.compiler.binder.items import Item
from fsql.compiler.binder.join import columns_in
from fsql.compiler.binder.membership import join_test, read_test, tested_query
from fsql.compiler.binder.one_row import bind_one_row
from fsql.compiler.binder.outer_join import with_columns
from fsql.compiler.binder.references import has_subquery, read_condition
from fsql.compiler.binder.relation import column_refs, conjuncts, filter_relation, relation_of
from fsql.compiler.binder.report import not_implemented
from fsql.compiler.binder.scalar_subquery import SubqueryCollector
from fsql.compiler.binder.scope import Scope
from fsql.compiler.binder.subquery import (
    Rows,
    Subquery,
    bind_items_of,
    correlatable,
    is_one_row,
    refuse_aggregate,
    refuse_outer,
)

if TYPE_CHECKING:
    from fsql.compiler.binder.context import Context
    from fsql.compiler.binder.query_binder import QueryBinder
    from fsql.compiler.binder.relation import Relation
    from fsql.compiler.binder.scope import Layer
    from fsql.compiler.expression import Expression


def bind_rows(
    select: syntax.Select, context: Context, bind_query: QueryBinder, outer: Layer = ()
) -> Rows:
    """Return the result of FROM and WHERE; refused conditions are recorded.

    `outer` are the columns of the outer query, if the SELECT is a subquery whose WHERE may name them.
    """
    where = _and_parts(select.where)
    plain = tuple(read_condition(each) for each in where if not has_subquery(each))
    bind = partial(_bind_value, context, bind_query)
    lateral = partial(_bind_lateral, context, bind_query)
    source = FromBinder(
        *(context, plain, bind_query, bind, lateral), changes=_emits_changes(select)
    ).bind(select)
    relation, width = source.relation, source.relation.width
    scope = Scope(_layers(relation, width, outer), relation.row_time)
    kept: list[Expression] = []
    correlated: list[Expression] = []
    for condition in where:
        with context.report.part():
            if has_subquery(condition):
                relation = relation.with_plan(filter_relation(relation.plan, kept))
                kept = []
            collector = subquery_collector(context, bind_query, relation)
            own = ExpressionBinder(
                relation.scope,
                "WHERE",
                context.source_spans,
                context.functions,
                context.zone,
                subqueries=collector,
                hidden=_aliases(select),
            )
            test = read_test(condition)
            if test is not None:
                query = tested_query(test)
                subquery = bind_subquery(query, context, bind_query, relation, as_value=False)
                operand = replace(own, clause="the operand of IN", subqueries=None)
                relation = join_test(
                    *(relation, test, subquery, operand, context),
                    changes=_emits_changes(select),
                )
                continue
            bound = replace(own, scope=scope).bind_condition_and_check_size(condition)
            parts = [each for each in conjuncts(bound) if each not in source.taken]
            across = [each for each in parts if any(i >= width for i in columns_in(each))]
            if collector.values:
                if across:
                    raise not_implemented(
                        "subquery in a comparison with the outer query", condition.span
                    )
                plan, resolve = collector.attach(relation.plan)
                relation = with_columns(relation.fields, plan)
                parts = [resolve(each) for each in parts]
            correlated += across
            kept += [each for each in parts if each not in across]
    relation = relation.with_plan(filter_relation(relation.plan, kept))
    return Rows(relation, width, tuple(correlated))


def _aliases(select: syntax.Select) -> list[str]:
    """Return the aliases of select items, in lower case."""
    items = (each for each in select.items if isinstance(each, syntax.SelectItem))
    return [each.alias.name.lower() for each in items if each.alias is not None]


def subquery_collector(
    context: Context, bind_query: QueryBinder, outer: Relation
) -> SubqueryCollector:
    """Return the collector of the subqueries in the expressions of a clause over the rows of `outer`."""
    return SubqueryCollector(context, partial(_bind_value, context, bind_query), outer)


def _bind_value(
    context: Context, bind_query: QueryBinder, query: syntax.Query, outer: Relation
) -> Subquery:
    return bind_subquery(query, context, bind_query, outer, as_value=True)


def _bind_lateral(
    context: Context, bind_query: QueryBinder, select: syntax.Select, outer: Layer
) -> Rows:
    return bind_rows(select, context, bind_query, outer)


def _and_parts(condition: syntax.Expression | None) -> tuple[syntax.Expression, ...]:
    if condition is None:
        return ()
    if isinstance(condition, syntax.Logical) and condition.operator == "AND":
        return tuple(part for operand in condition.operands for part in _and_parts(operand))
    return (condition,)


def _layers(relation: Relation, width: int, outer: Layer) -> tuple[Layer, ...]:
    """Return the columns of a relation, followed by those of the outer query if there are any."""
    outer_fields = tuple(field.shift(width) for field in outer)
    return (relation.fields, outer_fields) if outer_fields else (relation.fields,)


def bind_subquery(
    query: syntax.Query,
    context: Context,
    bind_query: QueryBinder,
    outer: Relation,
    *,
    as_value: bool,
) -> Subquery:
    """Return a subquery of an expression; `outer` are the rows of the outer query.

    With `as_value`, the conditions between the two are equalities, as of values that are computed once for
    all rows of the outer query.

    Raises:
        Refusal: E2xx to E4xx.
        Abandoned: where several parts were refused.
    """
    select = correlatable(query)
    if select is None:
        refuse_outer(query, query, outer.fields)
        refuse_aggregate(query)
        relation = relation_of(bind_query(query, context), None)
        items = tuple(
            Item(each, column.name, query.span, None)
            for each, column in zip(column_refs(relation.plan), relation.plan.schema, strict=True)
        )
        return Subquery(Rows(relation, relation.width), items, query.span)
    for part in select.relations:
        refuse_outer(part, query, outer.fields)
    with context.report.whole():
        rows = written = bind_rows(select, context, bind_query, outer.fields)
        spans = context.source_spans
        used = named_outside_where(query, select, rows, outer)
        if as_value and is_one_row(select):
            subquery = bind_one_row(select, query.span, rows, (outer, used), context)
        else:
            if used or (as_value and split_conditions(rows, spans)[1]):
                rows, _ = with_outer_values(rows, outer, used, query.span, spans)
            subquery = bind_items_of(select, query.span, rows, context)
        return replace(subquery, written=written)


def _emits_changes(select: syntax.Select) -> bool:
    """Return whether a SELECT ends with EMIT CHANGES."""
    return select.emit is not None and select.emit.mode == "CHANGES"
