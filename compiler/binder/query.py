"""Queries: WITH, set operations, and the SELECTs of which they consist."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.binder.aggregates.distinct_on import as_first_rows
from fsql.compiler.binder.catalog import Catalog, ViewEntry
from fsql.compiler.binder.constants import bind_values
from fsql.compiler.binder.hidden_time import keep_hidden_time
from fsql.compiler.binder.limit import bind_limited, order_without_effect
from fsql.compiler.binder.limits import check_depth
from fsql.compiler.binder.relation import check_column_names
from fsql.compiler.binder.report import refusal
from fsql.compiler.binder.select import bind_partitioned, bind_select
from fsql.compiler.binder.set_operations import bind_counts, bind_distinct, union
from fsql.compiler.diagnostics import Diagnostic, Label
from fsql.compiler.planner.rows import column_refs, project

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.binder.context import Context
    from fsql.compiler.binder.limit import BodyBinder
    from fsql.compiler.binder.relation import Relation
    from fsql.compiler.expression import Expression
    from fsql.compiler.logical import Plan
    from fsql.compiler.text.source import Span


def bind_query(query: syntax.Query, context: Context, *, inner: bool = False) -> Plan:
    """Return the plan of a query; one that is `inner`, a subquery, has no order but that of event time.

    Raises:
        Refusal: E2xx to E4xx.
        Abandoned: where several parts were refused, or a view that it reads.
    """
    if query.common_tables:
        context = _with_common_tables(query.common_tables, context)
    if isinstance(query.body, syntax.Select) and query.body.distinct_on:
        return _bind_body(as_first_rows(query, query.body), context)
    if query.order_by or query.limit is not None or query.offset is not None:
        return bind_limited(query, context, _bind_body, inner=inner)
    return _bind_body(query.body, context)


class _QueryBinder:
    """See `query_binder.QueryBinder`."""

    def __call__(self, query: syntax.Query, context: Context) -> Plan:
        return bind_query(query, context, inner=True)

    def with_common_tables(self, tables: Sequence[syntax.CommonTable], context: Context) -> Context:
        return _with_common_tables(tables, context)

    def of_parts(
        self, operation: syntax.SetOperation, context: Context, bind_part: BodyBinder
    ) -> Plan:
        return _bind_set_operation(operation, context, bind_part)

    def of_partitions(
        self,
        select: syntax.Select,
        relation: Relation,
        partition: Sequence[Expression],
        context: Context,
    ) -> Plan:
        return bind_partitioned(select, relation, partition, context, self)


def bind_view(
    name: syntax.Identifier,
    columns: Sequence[syntax.Identifier],
    query: syntax.Query,
    context: Context,
) -> ViewEntry:
    """Return a view or common table; its scans are numbered from 0.

    If its query is refused, the error is reported and the entry has no plan.
    """
    plan, hidden = None, False
    others: tuple[str | None, ...] = ()
    with context.report.collect_warnings() as warnings, context.report.part():
        query = _without_order(query, context)
        own = context.with_own_scan_numbers()
        with keep_hidden_time(query, own) as kept:
            bound = bind_query(query, own)
        hidden = kept()
        check_depth(bound, query.span)
        names = [column.name for column in bound.schema]
        others = () if columns else context.join_names.get(query.body.span, ())
        if columns:
            check_column_names(columns, len(names) - hidden, f'"{name.name}"')
            names[: len(columns)] = [column.name for column in columns]
        elif others and hidden:
            others = (*others, None)
        plan = project(bound, column_refs(bound), names)
    return ViewEntry(
        name.name, name.span, plan, tuple(warnings), join_names=others, hidden_time=hidden
    )


def _without_order(query: syntax.Query, context: Context) -> syntax.Query:
    """Return the query of a view without an ORDER BY that chooses no rows; a view has no order.

    Raises:
        Refusal: E2xx to E4xx.
    """
    if not query.order_by or query.limit is not None or query.offset is not None:
        return query
    if isinstance(query.body, syntax.Select) and query.body.distinct_on:
        return query
    first = replace(query, limit=syntax.NumberLiteral(query.span, "1"))
    with context.report.collect_warnings():
        bind_query(first, context.with_own_scan_numbers())  # for what is wrong with it
    context.report.warn(order_without_effect(query, "a view or common table"))
    return replace(query, order_by=())


def _with_common_tables(tables: Sequence[syntax.CommonTable], context: Context) -> Context:
    """Return the context with the common tables, each of which is visible to those after it."""
    catalog = Catalog(outer=context.catalog)
    context = context.with_catalog(catalog)
    for table in tables:
        if catalog.find_here(table.name) is not None:
            raise refusal(
                "E205", f'"{table.name.name}" is declared more than once in WITH', table.name.span
            )
        catalog.add(bind_view(table.name, table.columns, table.query, context))
    return context


def _bind_body(body: syntax.QueryBody, context: Context) -> Plan:
    match body:
        case syntax.Select():
            _warn_of_repartition(body.repartition, context)
            return bind_select(body, context, _QueryBinder())
        case syntax.Query():
            return bind_query(body, context)
        case syntax.SetOperation():
            return _bind_set_operation(body, context, _bind_part)
        case syntax.Values():
            return bind_values(body, context)


def _bind_part(body: syntax.QueryBody, context: Context) -> Plan:
    """Return the plan of a part of a set operation, whose rows have no order."""
    if isinstance(body, syntax.Query):
        return bind_query(body, context, inner=True)
    return _bind_body(body, context)


def _warn_of_repartition(keys: Sequence[syntax.Expression], context: Context) -> None:
    if keys:
        message = "PARTITION BY of a query has no effect"
        helps = (
            "remove it; rows are distributed by the keys of joins and groups",
            "the key of messages is an option: 'key.fields' = 'k'",
        )
        label = Label(keys[0].span.to(keys[-1].span))
        context.report.warn(Diagnostic("W203", message, label, helps=helps))


def _bind_set_operation(
    operation: syntax.SetOperation, context: Context, bind_part: BodyBinder
) -> Plan:
    """Bind `a UNION ALL b EXCEPT c` from the left; adjacent UNION ALLs become one operator."""
    branches: list[tuple[Plan | None, Span]] = []
    with context.report.whole():
        for body in (operation.first, *(term.right for term in operation.terms)):
            plan = None
            with context.report.part():
                plan = bind_part(body, context)
            branches.append((plan, body.span))
    plans = [(plan, span) for plan, span in branches if plan is not None]
    connected = [plans[0]]
    for term, (plan, span) in zip(operation.terms, plans[1:], strict=True):
        if term.operator != "UNION":
            left = union(connected), operation.span
            connected = [(bind_counts(left, (plan, span), term, context), operation.span)]
            continue
        connected.append((plan, span))
        if not term.all:
            connected = [(bind_distinct(union(connected), term.span, context), operation.span)]
    return union(connected)
