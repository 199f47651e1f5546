"""`ORDER BY … LIMIT … OFFSET …` of a query: its first rows, as an updating result; or all rows in order.

Without LIMIT, rows are ordered as event time advances, or once the input has ended: see `planner.order`.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.analysis.properties import Bound, window_columns
from fsql.compiler.binder.expressions.expression import ExpressionBinder
from fsql.compiler.binder.over.rank import bind_order, order_key
from fsql.compiler.binder.relation import relation_of
from fsql.compiler.binder.report import Refusal, not_implemented, refusal
from fsql.compiler.binder.scope import Scope, matches
from fsql.compiler.diagnostics import Diagnostic, Label
from fsql.compiler.expression import ColumnRef
from fsql.compiler.logical import AssignWindows, OrderKey, Plan, append_only, tables
from fsql.compiler.planner.order import first_rows, in_order_of_time, whole_in_order
from fsql.compiler.planner.rows import column_refs, project

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.binder.context import Context
    from fsql.compiler.binder.expressions.clause import ClauseBinder
    from fsql.compiler.expression import Expression

    BodyBinder = Callable[[syntax.QueryBody, Context], Plan]


_DIGITS_MAX: Final = 18


def bind_limited(
    query: syntax.Query, context: Context, bind_body: BodyBinder, *, inner: bool = False
) -> Plan:
    """Return the plan of a query with ORDER BY, LIMIT or OFFSET; `inner` if it is a subquery.

    Raises:
        Refusal: E2xx to E4xx.
    """
    if query.limit is None and query.offset is None:
        return _in_order(query, context, bind_body, inner=inner)
    skipped, limit = row_bounds(query)
    plan, order, width = _bind_order(query, context, bind_body)
    plan = first_rows(plan, (), order, (skipped, limit))
    kept = column_refs(plan)[:width]
    return project(plan, kept, [column.name for column in plan.schema[:width]])


def bind_first_rows(
    query: syntax.Query, context: Context, bind_body: BodyBinder, keys: int
) -> Plan:
    """Return the plan of a query with LIMIT or OFFSET, for each partition separately.

    `bind_body` returns the values of the partition as its last `keys` columns; they are the last of the
    result.

    Raises:
        Refusal: E2xx to E4xx.
    """
    bounds = row_bounds(query)
    plan, order, width = _bind_order(query, context, bind_body, keys)
    partition = column_refs(plan)[len(plan.schema) - keys :]
    plan = first_rows(plan, tuple(partition), order, bounds)
    kept = [*column_refs(plan)[:width], *partition]
    return project(
        plan, kept, [plan.schema[each.index].name for each in kept if isinstance(each, ColumnRef)]
    )


def order_without_effect(query: syntax.Query, of: str) -> Diagnostic:
    """Return the warning that the ORDER BY of `of` chooses no rows and orders no result."""
    return Diagnostic(
        "W203",
        f"ORDER BY of {of} without LIMIT has no effect",
        Label(query.order_by[0].span.to(query.order_by[-1].span)),
        helps=(
            "remove it, or add LIMIT for the first rows",
            "aggregates that depend on the order take their own: ARRAY_AGG(x ORDER BY y)",
        ),
    )


def _in_order(query: syntax.Query, context: Context, bind_body: BodyBinder, *, inner: bool) -> Plan:
    """Return the plan of a query with ORDER BY alone.

    Rows that are ordered by event time are released as it advances, all others when the input has ended.
    Such an order of an `inner` query has no effect.

    Raises:
        Refusal: E2xx to E4xx; E301 if the input may have no end.
    """
    span = query.order_by[0].span
    by_end = _by_end(query)
    if by_end is not None and _starts_windows(query, context, bind_body):
        # The windows of one size, or of one start, end in the order in which they start.
        query = by_end
    plan, order, width = _bind_order(query, context, bind_body)
    names = [column.name for column in plan.schema[:width]]
    time = order[0].expression
    timed = isinstance(time, ColumnRef) and plan.schema[time.index].time_attribute
    if timed and not order[0].descending and append_only(plan):
        ordered = in_order_of_time(
            plan, (), time, span, context.source_spans, "a query", then=order[1:]
        )
    elif inner:
        context.report.warn(order_without_effect(query, "a subquery"))
        ordered = plan
    else:
        _check_has_end(query, plan, width, context)
        ordered = whole_in_order(plan, order, span, context.source_spans)
    return project(ordered, column_refs(ordered)[:width], names)


def _check_has_end(query: syntax.Query, plan: Plan, width: int, context: Context) -> None:
    """Check that a query can be ordered when it has all rows: that its tables end, and that it may wait.

    Raises:
        Refusal: E301.
    """
    span = query.order_by[0].span
    emit = query.body.emit if isinstance(query.body, syntax.Select) else None
    if emit is not None and emit.mode == "CHANGES":
        raise not_implemented(
            "ORDER BY without LIMIT of changes",
            span,
            note="rows have an order when the input has ended, and EMIT CHANGES releases them before",
            help="remove EMIT CHANGES, or add LIMIT for the first rows",
        )
    entries = [context.catalog.table(table.ordinal) for table in tables(plan)]
    endless = next(
        (each for each in entries if not each.connector.end.is_known(each.options)), None
    )
    if endless is None:
        return
    helps = ["add LIMIT for the first rows, or remove ORDER BY"]
    times = [column.name for column in plan.schema[:width] if column.time_attribute]
    if times and append_only(plan):
        helps.append(f"or order by event time first: {times[0]}")
    if (remedy := endless.connector.end.remedy) is not None:
        helps.append(f'or let the input of "{endless.name}" end: {remedy}')
    raise not_implemented(
        "ORDER BY without LIMIT of input without an end, other than by event time",
        span,
        note=f'a row that "{endless.name}" has later could come anywhere in this order',
        help="; ".join(helps),
    )


def _starts_windows(query: syntax.Query, context: Context, bind_body: BodyBinder) -> bool:
    """Return whether a query is ordered by the start of windows of fixed length."""
    with context.report.collect_warnings():
        plan, order, _ = _bind_order(query, context.with_own_scan_numbers(), bind_body)
    first = order[0].expression
    column = window_columns(plan)[first.index] if isinstance(first, ColumnRef) else None
    return (
        column is not None
        and column.bound is Bound.START
        and isinstance(column.windows, AssignWindows)
    )


def _by_end(query: syntax.Query) -> syntax.Query | None:
    """Return a query that is ordered by `window_end` where it is ordered by `window_start`."""
    first, *others = query.order_by
    if not isinstance(query.body, syntax.Select):
        return None
    written = resolve_item(first.expression, query.body)
    if not isinstance(written, syntax.ColumnReference):
        return None
    *relation, start = written.parts
    if start.name.lower() != Bound.START.value:
        return None
    end = dataclasses.replace(start, name=Bound.END.value)
    by_end = dataclasses.replace(written, parts=(*relation, end))
    return dataclasses.replace(
        query, order_by=(dataclasses.replace(first, expression=by_end), *others)
    )


def row_bounds(query: syntax.Query) -> tuple[int, int | None]:
    """Return the number of rows that are skipped, and that of the last row that is kept; None without LIMIT.

    Raises:
        Refusal: E405.
    """
    skipped = 0 if query.offset is None else _count(query.offset, "OFFSET")
    return skipped, None if query.limit is None else skipped + _count(query.limit, "LIMIT")


def _count(written: syntax.Expression, clause: str) -> int:
    if (
        isinstance(written, syntax.NumberLiteral)
        and written.text.isdigit()
        and len(written.text) <= _DIGITS_MAX
    ):
        return int(written.text)
    raise refusal(
        "E405",
        f"{clause} takes a number of rows",
        written.span,
        note=f"it is an integer constant of at most {_DIGITS_MAX} digits",
    )


def _bind_order(
    query: syntax.Query, context: Context, bind_body: BodyBinder, keys: int = 0
) -> tuple[Plan, tuple[OrderKey, ...], int]:
    """Return the plan, its order, and the number of the query's columns; further ones are ordered by.

    The last `keys` columns are those of a partition.
    """
    body = query.body
    if isinstance(body, syntax.Select) and body.distinct:
        query = _by_selected(query, body)
    if not isinstance(body, syntax.Select) or body.distinct:
        plan = bind_body(body, context)
        width = len(plan.schema) - keys
        binder = ExpressionBinder(
            Scope((relation_of(plan, None).fields[:width],)),
            "ORDER BY",
            context.source_spans,
            context.functions,
            context.zone,
        )
        order = tuple(
            order_key(_column_at(plan, index), item)
            if (index := _column_index(item, width)) is not None
            else _order_of_result(binder, item)
            for item in query.order_by
        )
        return plan, order, width
    hidden = [item for item in query.order_by if _written_position(item) is None]
    items = tuple(
        syntax.SelectItem(item.span, _resolve_alias(item.expression, body), None) for item in hidden
    )
    plan = bind_body(dataclasses.replace(body, items=(*body.items, *items)), context)
    width = len(plan.schema) - len(hidden) - keys
    hidden_indexes = iter(range(width, len(plan.schema)))
    indexes = [_column_index(item, width) for item in query.order_by]
    order = tuple(
        order_key(_column_at(plan, next(hidden_indexes) if index is None else index), item)
        for item, index in zip(query.order_by, indexes, strict=True)
    )
    return plan, order, width


def _order_of_result(binder: ClauseBinder, item: syntax.OrderItem) -> OrderKey:
    """Return the order by columns of a result with DISTINCT, or of a set operation.

    Raises:
        Refusal: E2xx to E4xx.
    """
    try:
        return bind_order(binder, [item])[0]
    except Refusal as refused:
        found = refused.diagnostic
        if found.code not in {"E203", "E220"} or found.helps:
            raise
        helps = ("with DISTINCT and in a set operation, rows are ordered by columns of SELECT",)
        raise Refusal(dataclasses.replace(found, helps=helps)) from None


def _by_selected(query: syntax.Query, select: syntax.Select) -> syntax.Query:
    """Return a query of DISTINCT rows whose ORDER BY has numbers where it has expressions of SELECT."""
    written = [each.expression for each in select.items if isinstance(each, syntax.SelectItem)]
    if len(written) < len(select.items):
        return query
    order = [
        dataclasses.replace(
            each,
            expression=syntax.NumberLiteral(
                each.expression.span, str(written.index(each.expression) + 1)
            ),
        )
        if each.expression in written and not _is_name(each.expression)
        else each
        for each in query.order_by
    ]
    return dataclasses.replace(query, order_by=tuple(order))


def _is_name(expression: syntax.Expression) -> bool:
    """Return whether an expression is a name, which is one of a column of the result."""
    return isinstance(expression, syntax.ColumnReference) and len(expression.parts) == 1


def _resolve_alias(expression: syntax.Expression, select: syntax.Select) -> syntax.Expression:
    """Return the expression to which an item of ORDER BY refers: a name may be the alias of a select item."""
    if isinstance(expression, syntax.ColumnReference) and _is_name(expression):
        items = (item for item in select.items if isinstance(item, syntax.SelectItem))
        for item in items:
            if item.alias is not None and matches(expression.parts[0], item.alias.name):
                return item.expression
    return expression


def resolve_item(expression: syntax.Expression, select: syntax.Select) -> syntax.Expression:
    """Return the expression to which an item refers: a number is a position, a name may be an alias."""
    if isinstance(expression, syntax.NumberLiteral) and expression.text.isdigit():
        position = int(expression.text[:_DIGITS_MAX])
        item = select.items[position - 1] if 1 <= position <= len(select.items) else None
        return item.expression if isinstance(item, syntax.SelectItem) else expression
    return _resolve_alias(expression, select)


def _written_position(item: syntax.OrderItem) -> int | None:
    written = item.expression
    if isinstance(written, syntax.NumberLiteral) and written.text.isdigit():
        return int(written.text[:_DIGITS_MAX])
    return None


def _column_index(item: syntax.OrderItem, width: int) -> int | None:
    """Return the column to which an item of ORDER BY refers by its number; None if it is an expression.

    Raises:
        Refusal: E316.
    """
    position = _written_position(item)
    if position is None:
        return None
    if not 1 <= position <= width:
        raise refusal(
            "E316",
            f"ORDER BY {position} is not a column of SELECT, which has {width}",
            item.expression.span,
        )
    return position - 1


def _column_at(plan: Plan, index: int) -> Expression:
    column = plan.schema[index]
    return ColumnRef(column.type, column.nullable, index)
