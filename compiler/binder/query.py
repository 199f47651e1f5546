"""Queries: WITH, UNION, and the SELECTs that they are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.binder.catalog import Catalog, ViewEntry
from fsql.compiler.binder.limits import check_depth
from fsql.compiler.binder.relation import check_column_names, column_refs, project
from fsql.compiler.binder.report import Refusal, not_implemented, refusal
from fsql.compiler.binder.select import bind_select
from fsql.compiler.diagnostics import Diagnostic, Label
from fsql.compiler.functions.coercion import accepts, coerce, common_type
from fsql.compiler.logical import Aggregate, Plan, Project, Union

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.binder.context import Context
    from fsql.compiler.expression import Expression
    from fsql.compiler.sqltypes import SqlType
    from fsql.compiler.text.source import Span


def bind_query(query: syntax.Query, context: Context) -> Plan:
    """Return the plan of a query.

    Raises:
        Refusal: E2xx to E4xx.
        Abandoned: where several parts were refused, or a view that it reads.
    """
    if query.common_tables:
        context = _with_common_tables(query.common_tables, context)
    if query.order_by:
        raise not_implemented("ORDER BY of a query", query.order_by[0].span)
    for clause, written in (("LIMIT", query.limit), ("OFFSET", query.offset)):
        if written is not None:
            raise not_implemented(clause, written.span)
    return _bind_body(query.body, context)


def bind_view(
    name: syntax.Identifier,
    columns: Sequence[syntax.Identifier],
    query: syntax.Query,
    context: Context,
) -> ViewEntry:
    """Return a view or common table; its scans are numbered from 0.

    If its query is refused, the error is reported and the entry has no plan.
    """
    plan = None
    with context.report.collect_warnings() as warnings, context.report.part():
        bound = bind_query(query, context.with_own_scan_numbers())
        check_depth(bound, query.span)
        names = [column.name for column in bound.schema]
        if columns:
            check_column_names(columns, len(names), f'"{name.name}"')
            names = [column.name for column in columns]
        plan = project(bound, column_refs(bound), names)
    return ViewEntry(name.name, name.span, plan, tuple(warnings))


def _with_common_tables(tables: Sequence[syntax.CommonTable], context: Context) -> Context:
    """Return the context with the common tables, each visible to those after it."""
    catalog = Catalog(behind=context.catalog)
    context = context.with_catalog(catalog)
    for table in tables:
        if catalog.here(table.name) is not None:
            raise refusal(
                "E205", f'"{table.name.name}" is declared more than once in WITH', table.name.span
            )
        catalog.add(bind_view(table.name, table.columns, table.query, context))
    return context


def _bind_body(body: syntax.QueryBody, context: Context) -> Plan:
    match body:
        case syntax.Select():
            return bind_select(body, context, bind_query)
        case syntax.Query():
            return bind_query(body, context)
        case syntax.SetOperation():
            return _bind_set_operation(body, context)
        case syntax.Values():
            raise not_implemented("VALUES", body.span, help="read a file")


def _bind_set_operation(operation: syntax.SetOperation, context: Context) -> Plan:
    """Bind `a UNION ALL b UNION c`, from the left; neighbouring UNION ALLs are one operator."""
    for term in operation.terms:
        if term.operator != "UNION":
            raise not_implemented(term.operator, term.span)
    branches: list[tuple[Plan | None, Span]] = []
    with context.report.whole():
        for body in (operation.first, *(term.right for term in operation.terms)):
            plan = None
            with context.report.part():
                plan = _bind_body(body, context)
            branches.append((plan, body.span))
    plans = [(plan, span) for plan, span in branches if plan is not None]
    connected = [plans[0]]
    for term, (plan, span) in zip(operation.terms, plans[1:], strict=True):
        connected.append((plan, span))
        if not term.all:
            connected = [(_distinct_rows(_union(connected), term.span, context), operation.span)]
    return _union(connected)


def _union(branches: Sequence[tuple[Plan, Span]]) -> Plan:
    """Return all rows of the branches, their columns coerced to common types."""
    if len(branches) == 1:
        return branches[0][0]
    first, first_span = branches[0]
    for plan, span in branches:
        if len(plan.schema) != len(first.schema):
            raise refusal(
                "E209",
                f"UNION of {len(first.schema)} columns and {len(plan.schema)}",
                span,
                f"this has {len(plan.schema)}",
                secondary=(Label(first_span, f"this has {len(first.schema)}"),),
            )
    types = [_common_column(branches, place) for place in range(len(first.schema))]
    coerced = []
    for plan, _ in branches:
        names = [column.name for column in plan.schema]
        coerced.append(with_types(plan, types, names))
    flat = [
        inner
        for branch in coerced
        for inner in (branch.branches if isinstance(branch, Union) else (branch,))
    ]
    return Union(tuple(flat))


def _common_column(branches: Sequence[tuple[Plan, Span]], place: int) -> SqlType:
    """Return the type of a column of a UNION."""
    common = branches[0][0].schema[place].type
    for plan, span in branches:
        wider = common_type([common, plan.schema[place].type])
        if wider is None:
            raise _unlike_columns(place, common, plan, span, branches[0][1])
        common = wider
    return common


def _unlike_columns(
    place: int, common: SqlType, plan: Plan, span: Span, first_span: Span
) -> Refusal:
    column = plan.schema[place]
    return refusal(
        "E206",
        f"column {place + 1} of the UNION is {common} and {column.type}",
        span,
        f'"{column.name}" is {column.type} here',
        secondary=(Label(first_span, f"{common} here"),),
        help=f"cast one of them: CAST({column.name} AS {common})",
    )


def output_expressions(plan: Plan) -> tuple[Plan, list[Expression]]:
    """Return a plan, and the expressions over it that compute the columns of `plan`."""
    if isinstance(plan, Project):
        return plan.input, list(plan.expressions)
    return plan, column_refs(plan)


def with_types(plan: Plan, types: Sequence[SqlType], names: Sequence[str]) -> Plan:
    """Return `plan` with its columns coerced to `types`; the caller has checked that they can be."""
    below, expressions = output_expressions(plan)
    assert all(accepts(each, type_) for each, type_ in zip(expressions, types, strict=True))
    coerced = [coerce(each, type_) for each, type_ in zip(expressions, types, strict=True)]
    return project(below, coerced, names)


def _distinct_rows(plan: Plan, span: Span, context: Context) -> Plan:
    """Return the distinct rows of `plan`, for UNION without ALL."""
    context.report.warn(
        Diagnostic(
            "W301",
            "UNION without ALL keeps every row",
            Label(span),
            helps=("use UNION ALL if duplicates are allowed",),
        )
    )
    names = tuple(column.name for column in plan.schema)
    return Aggregate(plan, tuple(column_refs(plan)), names, (), ())
