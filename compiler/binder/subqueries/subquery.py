"""Subqueries in expressions: how a subquery depends on the query around it, the outer query.

The WHERE of a subquery may compare its columns with those of the outer query; then the subquery is
**correlated**.  Such conditions are kept separate: by them the outer query is joined with the subquery's
rows. The other parts of a subquery are bound as in any query.
"""

from __future__ import annotations

from dataclasses import field
from types import MappingProxyType
from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.binder.aggregates.aggregate import AggregateCollector
from fsql.compiler.binder.expressions.expression import ExpressionBinder
from fsql.compiler.binder.items import bind_items
from fsql.compiler.binder.joins.join import renumber
from fsql.compiler.binder.references import has_subquery, outer_reference, parts_without_subqueries
from fsql.compiler.binder.report import not_implemented
from fsql.compiler.diagnostics import Diagnostic, Label
from fsql.compiler.functions.aggregates import AGGREGATES
from fsql.compiler.logical import append_only
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.binder.context import Context
    from fsql.compiler.binder.ddl.declared_functions import Functions
    from fsql.compiler.binder.items import Item
    from fsql.compiler.binder.relation import Relation
    from fsql.compiler.binder.scope import Layer
    from fsql.compiler.bound.source_spans import SourceSpans
    from fsql.compiler.expression import Expression
    from fsql.compiler.text.source import Span


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of FROM and WHERE.

    `correlated` are the conditions that also refer to columns of the outer query, which follow the first
    `width` columns of the relation.
    """

    relation: Relation
    width: int
    correlated: tuple[Expression, ...] = ()

    def over_both(
        self, expression: Expression, outer_width: int, source_spans: SourceSpans
    ) -> Expression:
        """Return an expression of the subquery over the outer query's columns, then those of the subquery."""
        return renumber(
            expression,
            lambda index: index + outer_width if index < self.width else index - self.width,
            source_spans,
        )


@dataclass(frozen=True, slots=True)
class Subquery:
    """A subquery, bound up to its select items, which are over the columns of `rows`.

    Its SELECT is None if `rows` are those of the whole subquery.  Aggregates among the items are in
    `aggregates`; `spans` are those of the items' parts.  If the rows are joined with values of the outer
    query, `written` are those without them.
    """

    rows: Rows
    items: tuple[Item, ...]
    span: Span
    select: syntax.Select | None = None
    aggregates: AggregateCollector | None = None
    having: tuple[Expression, ...] = ()
    spans: Mapping[Expression, Span] = field(default_factory=dict)
    written: Rows | None = None

    @property
    def is_aggregate(self) -> bool:
        """Return whether the subquery is an aggregate without GROUP BY, which has one row."""
        return self.aggregates is not None and bool(self.aggregates.calls or self.having)


def correlatable(query: syntax.Query) -> syntax.Select | None:
    """Return the SELECT of a query whose WHERE may refer to the outer query."""
    select = query.body
    if not isinstance(select, syntax.Select) or query.common_tables:
        return None
    if query.order_by or query.limit is not None or query.offset is not None:
        return None
    closed = select.group_by is not None or select.qualify is not None or select.emit is not None
    return None if closed or select.windows or select.distinct_on else select


def bind_items_of(select: syntax.Select, span: Span, rows: Rows, context: Context) -> Subquery:
    """Return a subquery over its rows, with its select items and HAVING.

    Raises:
        Refusal: E2xx to E4xx.
        Abandoned: where several items were refused.
    """
    collector = AggregateCollector(append_only=append_only(rows.relation.plan), may_be_empty=True)
    binder = ExpressionBinder(
        rows.relation.scope,
        "SELECT",
        context.source_spans,
        context.functions,
        context.zone,
        collector,
    )
    with context.report.whole():
        items = tuple(bind_items(binder, select, context.report))
        having: tuple[Expression, ...] = ()
        if select.having is not None:
            having = (binder.bind_condition_and_check_size(select.having),)
    return Subquery(rows, items, span, select, collector, having, binder.spans)


def refuse_outer(part: syntax.Syntax, subquery: syntax.Query, outer: Layer) -> None:
    """Refuse columns of the outer query in a query of WITH.

    Raises:
        Refusal: E301.
    """
    names = (field.qualifier for field in outer)
    qualifiers = frozenset(name.lower() for name in names if name is not None)
    found = outer_reference(part, subquery, qualifiers)
    if found is not None:
        raise not_implemented(
            "column of the outer query in WITH",
            found.span,
            help="write the query of WITH as a subquery in FROM, which may name it",
        )


def refuse_aggregate(query: syntax.Query) -> None:
    """Refuse an aggregate without GROUP BY in a subquery that is not a plain SELECT.

    The outer query would have to add its row if there are no rows, but the query around it may remove that
    row.

    Raises:
        Refusal: E301.
    """
    waiting: list[syntax.QueryBody] = [query.body]
    while waiting:
        body = waiting.pop()
        match body:
            case syntax.Query():
                waiting.append(body.body)
            case syntax.SetOperation():
                waiting += [body.first, *(term.right for term in body.terms)]
            case syntax.Select(group_by=None, items=items, having=having):
                if having is not None or has_aggregate_call(items):
                    raise not_implemented(
                        "aggregate without GROUP BY after WITH, or with LIMIT or a set operation",
                        body.span,
                        help="remove LIMIT; write WITH before the whole query",
                    )
            case _:
                pass


def has_aggregate_call(items: Sequence[syntax.Syntax]) -> bool:
    """Return whether an aggregate is called in any of the items, and not only in their subqueries."""
    return any(_is_aggregate(part) for item in items for part in parts_without_subqueries(item))


def is_one_row(select: syntax.Select) -> bool:
    """Return whether a SELECT is an aggregate without GROUP BY, which has one row."""
    return select.group_by is None and (
        select.having is not None or has_aggregate_call(select.items)
    )


def calls_with_subquery(select: syntax.Select, functions: Functions) -> tuple[bool, bool]:
    """Return whether aggregates of groups have subqueries in arguments, and whether calls with OVER do."""
    of_groups, of_windows = False, any(map(has_subquery, select.windows))
    for item in (*select.items, select.having, select.qualify):
        for part in () if item is None else parts_without_subqueries(item):
            if isinstance(part, syntax.FunctionCall) and has_subquery(part):
                of_windows |= part.over is not None
                of_groups |= _is_aggregate(part, functions)
    return of_groups, of_windows


def _is_aggregate(part: syntax.Syntax, functions: Functions = MappingProxyType({})) -> bool:
    if not isinstance(part, syntax.FunctionCall) or part.over is not None:
        return False
    name = part.name.parts[-1].name.upper()
    declared = functions.get(name)
    return name in AGGREGATES or bool(declared and declared.is_aggregate)


def unbounded_warning(span: Span) -> Diagnostic:
    """Return the warning that a subquery is a join, which keeps its rows."""
    return Diagnostic("W302", "subquery keeps its rows and those of the outer query", Label(span))
