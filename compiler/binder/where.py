"""FROM and WHERE: the rows on which a SELECT operates, and the subqueries in WHERE.

The conditions that WHERE connects by AND apply in the order of the text, so that none of them is evaluated
for a row that an earlier one has dropped.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.expressions.expression import ExpressionBinder
from fsql.compiler.binder.from_clause import FromBinder
from fsql.compiler.binder.items import Item
from fsql.compiler.binder.joins.join import columns_in, renumber
from fsql.compiler.binder.joins.outer_join import with_columns
from fsql.compiler.binder.references import (
    and_parts,
    has_running_call,
    has_subquery,
    parts_without_subqueries,
    read_condition,
)
from fsql.compiler.binder.relation import FromResult, Relation, relation_of
from fsql.compiler.binder.report import not_implemented
from fsql.compiler.binder.scope import Scope
from fsql.compiler.binder.subqueries.decorrelation import (
    named_outside_where,
    split_conditions,
    with_outer_values,
)
from fsql.compiler.binder.subqueries.dependent_from import (
    distinct_values,
    equal_values,
    moved_columns,
    named_below_where,
    named_outer,
)
from fsql.compiler.binder.subqueries.membership import join_test, read_test, tested_query
from fsql.compiler.binder.subqueries.one_row import bind_one_row
from fsql.compiler.binder.subqueries.scalar_subquery import SubqueryCollector
from fsql.compiler.binder.subqueries.subquery import (
    Rows,
    Subquery,
    bind_items_of,
    correlatable,
    is_one_row,
    refuse_aggregate,
    refuse_outer,
)
from fsql.compiler.functions.aggregates import AGGREGATES
from fsql.compiler.planner.rows import column_refs, conjuncts, filter_relation, project
from fsql.compiler.planner.select import join_subqueries
from fsql.compiler.syntax.names import generated_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.binder.context import Context
    from fsql.compiler.binder.query_binder import QueryBinder
    from fsql.compiler.binder.scope import Layer
    from fsql.compiler.expression import Expression


AFTER_OVER: Final = "filter by results of OVER with QUALIFY"


def bind_rows(
    select: syntax.Select,
    context: Context,
    bind_query: QueryBinder,
    outer: Layer = (),
    first: Relation | None = None,
) -> Rows:
    """Return the result of FROM and WHERE; refused conditions are recorded.

    `outer` are the columns of the outer query, if the SELECT is a subquery whose WHERE may name them.  If its
    FROM depends on them, `first` are their values, before the relations of FROM.
    """
    where = and_parts(select.where)
    source = _bind_from(select, where, context, bind_query, first)
    relation = source.relation
    width, visible = relation.width, relation.outer
    layers = _layers(relation, width, outer) if outer else relation.scope.layers
    scope = Scope(layers, relation.row_time)
    kept: list[Expression] = []
    correlated: list[Expression] = []
    for condition in where:
        with context.report.part():
            if has_subquery(condition):
                relation = relation.with_plan(filter_relation(relation.plan, kept))
                kept = []
            collector = subquery_collector(context, bind_query, relation)
            own = _binder(relation, collector, select, context)
            test = read_test(condition)
            if test is not None:
                query = tested_query(test)
                around = _with_outer(relation)
                subquery = bind_subquery(query, context, bind_query, around, as_value=False)
                operand = replace(own, clause="the operand of IN", subqueries=None)
                tested = join_test(
                    *(relation, test, subquery, operand, context),
                    changes=_emits_changes(select),
                )
                relation = replace(tested, outer=visible)
                continue
            bound = replace(own, scope=scope).bind_condition_and_check_size(condition)
            parts = [each for each in conjuncts(bound) if each not in source.taken]
            across = [each for each in parts if any(i >= width for i in columns_in(each))]
            if collector.values:
                if across:
                    raise not_implemented(
                        "subquery in a comparison with the outer query",
                        condition.span,
                        help="name the column of the outer query with its relation: t.k",
                    )
                plan, resolve = join_subqueries(
                    relation.plan, collector.values, context.source_spans
                )
                relation = replace(with_columns(relation.fields, plan), outer=visible)
                parts = [resolve(each) for each in parts]
            correlated += across
            kept += [each for each in parts if each not in across]
    relation = relation.with_plan(filter_relation(relation.plan, kept))
    return Rows(relation, width, tuple(correlated))


def _binder(
    relation: Relation, collector: SubqueryCollector, select: syntax.Select, context: Context
) -> ExpressionBinder:
    """Return the binder of the conditions of WHERE."""
    return ExpressionBinder(
        relation.scope,
        "WHERE",
        context.source_spans,
        context.functions,
        context.zone,
        subqueries=collector,
        hidden=_computed_later(select),
    )


def _bind_from(
    select: syntax.Select,
    where: Sequence[syntax.Expression],
    context: Context,
    bind_query: QueryBinder,
    first: Relation | None,
) -> FromResult:
    """Return the result of FROM; `where` are the conditions of WHERE."""
    plain = tuple(read_condition(each) for each in where if not has_subquery(each))
    bind = partial(_bind_value, bind_query)
    lateral = partial(_bind_lateral, bind_query)
    source = FromBinder(
        *(context, plain, bind_query, bind, lateral),
        changes=_emits_changes(select),
        dependent=first is not None,
    ).bind(select, first)
    return replace(source, relation=_behind(first, source.relation))


def _behind(first: Relation | None, relation: Relation) -> Relation:
    """Return the rows of FROM, of which those of `first` are values of the outer query."""
    if first is None:
        return relation
    own = (each for each in relation.fields if each.index >= first.width)
    hidden = (replace(each, merged=False) for each in first.fields)
    return replace(relation, fields=tuple(own), outer=tuple(hidden))


def _computed_later(select: syntax.Select) -> dict[str, str]:
    """Return the aliases of select items, in lower case, each with what to write instead of it."""
    helps = {}
    for item in select.items:
        if not isinstance(item, syntax.SelectItem) or item.alias is None:
            continue
        name = item.alias.name
        help_ = f"WHERE is computed before SELECT: write the expression of {name} again"
        if has_running_call([item]):
            help_ = AFTER_OVER
        elif _has_aggregate(item):
            help_ = "filter groups with HAVING"
        helps[name.lower()] = help_
    return helps


def _has_aggregate(item: syntax.SelectItem) -> bool:
    return any(
        isinstance(part, syntax.FunctionCall) and part.name.parts[-1].name.upper() in AGGREGATES
        for part in parts_without_subqueries(item)
    )


def subquery_collector(
    context: Context, bind_query: QueryBinder, outer: Relation
) -> SubqueryCollector:
    """Return the collector of the subqueries in the expressions of a clause over the rows of `outer`."""
    return SubqueryCollector(context, partial(_bind_value, bind_query), _with_outer(outer))


def _with_outer(relation: Relation) -> Relation:
    """Return rows of FROM whose subqueries may also name the columns of the outer query that they have."""
    return replace(relation, fields=relation.fields + relation.outer)


def _bind_value(
    bind_query: QueryBinder, context: Context, query: syntax.Query, outer: Relation
) -> Subquery:
    return bind_subquery(query, context, bind_query, outer, as_value=True)


def _bind_lateral(
    bind_query: QueryBinder,
    context: Context,
    select: syntax.Select,
    outer: Layer,
    first: Relation | None = None,
) -> Rows:
    return bind_rows(select, context, bind_query, outer, first)


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
    if query.common_tables:
        for table in query.common_tables:
            refuse_outer(table.query, query, outer.fields)
        context = bind_query.with_common_tables(query.common_tables, context)
        query = replace(query, common_tables=())
    select = correlatable(query)
    if named_outer(query, query, outer) and (
        select is None or named_below_where(query, select, outer, context.functions)
    ):
        return _bind_for_each(query, context, bind_query, outer, as_value=as_value)
    if select is None:
        refuse_aggregate(query)
        relation = relation_of(bind_query(query, context), None)
        items = tuple(
            Item(each, column.name, query.span, None)
            for each, column in zip(column_refs(relation.plan), relation.plan.schema, strict=True)
        )
        return Subquery(Rows(relation, relation.width), items, query.span)
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


def _bind_for_each(
    query: syntax.Query,
    context: Context,
    bind_query: QueryBinder,
    outer: Relation,
    *,
    as_value: bool,
) -> Subquery:
    """Return a subquery that depends on the outer query elsewhere than in a plain SELECT: as LATERAL does.

    An aggregate without GROUP BY has a row for each of the values of the outer query that it names.
    """
    body, spans = query.body, context.source_spans
    used = sorted(named_outer(query, query, outer))
    one_row = isinstance(body, syntax.Select) and is_one_row(body)
    around = distinct_values(outer, used) if one_row else outer
    alias = syntax.TableAlias(query.span, syntax.Identifier(query.span, generated_name("subquery")))
    written = syntax.Derived(query.span, query, lateral=True, alias=alias)
    bind = partial(_bind_value, bind_query)
    lateral = partial(_bind_lateral, bind_query)
    source = FromBinder(context, (), bind_query, bind, lateral)
    found = source.lateral_rows(around, written)
    if isinstance(found, Relation):
        fields = found.fields[len(around.fields) :]
        columns = column_refs(found.plan)
        values = [*(each.expression for each in fields), *columns[: around.width]]
        names = [each.name for each in fields]
        plan = project(found.plan, values, [*names, *(c.name for c in around.plan.schema)])
        width = len(plan.schema)
        others = moved_columns(column_refs(outer.plan), used, width)
        correlated = equal_values(column_refs(plan)[len(fields) :], others)
        relation = relation_of(plan, None)
        relation = replace(relation, fields=relation.fields[: len(fields)])
    else:
        relation, width = found.relation, found.relation.width
        correlated = [
            renumber(each, lambda i: i - outer.width if i >= outer.width else i + width, spans)
            for each in found.on
        ]
    rows = written_rows = Rows(relation, width, tuple(correlated))
    if as_value and split_conditions(rows, spans)[1]:
        rows, _ = with_outer_values(rows, outer, frozenset(), query.span, spans)
    items = tuple(Item(field.expression, field.name, query.span, None) for field in relation.fields)
    return Subquery(rows, items, query.span, written=written_rows)


def _emits_changes(select: syntax.Select) -> bool:
    """Return whether a SELECT ends with EMIT CHANGES."""
    return select.emit is not None and select.emit.mode == "CHANGES"
