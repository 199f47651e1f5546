"""LATERAL: what is computed for each row from its own arrays.

`UNNEST(array)` returns a row for each element.  A LATERAL subquery over UNNEST either filters and computes
with the elements, a row for each, or aggregates them, which is one operator.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.binder.aggregate import AggregateCollector, Groups
from fsql.compiler.binder.expression import ExpressionBinder
from fsql.compiler.binder.items import Item, Key, bind_items, bind_key, group, has_aggregate
from fsql.compiler.binder.operators import combine_balanced
from fsql.compiler.binder.relation import (
    Relation,
    apply_alias,
    check_column_names,
    column_refs,
    filter_relation,
    project,
)
from fsql.compiler.binder.report import not_implemented, refusal
from fsql.compiler.binder.scope import Field, Layer, Scope, fields_of
from fsql.compiler.logical import LateralAggregate, Plan, Unnest
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.binder.context import Context
    from fsql.compiler.binder.items import Grouping
    from fsql.compiler.binder.source_spans import SourceSpans
    from fsql.compiler.expression import Expression


@dataclass(frozen=True, slots=True)
class _Elements:
    """The elements of a row's array, as columns after the row's own."""

    array: Expression
    fields: Layer
    ordinality: bool

    @property
    def names(self) -> tuple[str, str | None]:
        """Return the names of the element and, if there is one, of the ordinal."""
        return self.fields[0].name, self.fields[1].name if self.ordinality else None


def _bind_elements(outer: Relation, unnest: syntax.Unnest, context: Context) -> _Elements:
    """Bind `UNNEST(array) [WITH ORDINALITY] AS t(element, ordinal)`.

    Raises:
        Refusal: E2xx.
    """
    array = ExpressionBinder(outer.scope, "UNNEST", context.source_spans).bind_whole(unnest.array)
    if array.type.element is None:
        raise refusal(
            "E218",
            f"cannot unnest {array.type}",
            unnest.array.span,
            f"this is {array.type}, not an ARRAY",
        )
    qualifier, names = _element_names(unnest)
    types = [(array.type.element, True), (BIGINT, False)][: len(names)]
    fields = tuple(
        Field(qualifier, name, outer.width + place, Column(name, type_, nullable))
        for place, (name, (type_, nullable)) in enumerate(zip(names, types, strict=True))
    )
    return _Elements(array, fields, unnest.ordinality)


def _element_names(unnest: syntax.Unnest) -> tuple[str | None, list[str]]:
    count = 2 if unnest.ordinality else 1
    if unnest.alias is None:
        return None, ["element", "ordinality"][:count]
    name = unnest.alias.name.name
    if not unnest.alias.columns:
        return name, [name, "ordinality"][:count]
    check_column_names(unnest.alias.columns, count, "UNNEST")
    return name, [column.name for column in unnest.alias.columns]


def unnest(outer: Relation, written: syntax.Unnest, context: Context) -> Relation:
    """Return a row for each element of each row's array.

    Raises:
        Refusal: E2xx.
    """
    elements = _bind_elements(outer, written, context)
    plan = Unnest(outer.plan, elements.array, *elements.names)
    return Relation(plan, outer.fields + elements.fields)


def bind_lateral(outer: Relation, derived: syntax.Derived, context: Context) -> Relation:
    """Return the join of `outer` with a LATERAL subquery over an array of each row.

    Raises:
        Refusal: E2xx to E4xx.
    """
    select, source = _select_over_unnest(derived)
    elements = _bind_elements(outer, source, context)
    scope = Scope((elements.fields, outer.fields))
    where = _conditions(ExpressionBinder(scope, "WHERE", context.source_spans), select.where)
    collector = AggregateCollector(append_only=True, may_be_empty=not select.group_by)
    binder = ExpressionBinder(scope, "SELECT", context.source_spans, collector)
    with context.report.whole():
        items = bind_items(binder, select, context.report)
    having = _conditions(replace(binder, clause="HAVING"), select.having)
    keys = _keys(select, replace(binder, clause="GROUP BY", aggregates=None, spans={}), items)
    if keys or having or collector.calls or select.group_by is not None:
        plan, groups = _aggregate(
            outer, elements, where, group(keys, collector, items), context.source_spans
        )
        plan = filter_relation(plan, [groups.carry(each, binder.spans) for each in having])
        expressions = [groups.carry(item.expression, binder.spans) for item in items]
    else:
        unnested = Unnest(outer.plan, elements.array, *elements.names)
        plan = filter_relation(unnested, where)
        expressions = [item.expression for item in items]
    return _combine_fields(outer, plan, expressions, items, derived.alias)


def _select_over_unnest(derived: syntax.Derived) -> tuple[syntax.Select, syntax.Unnest]:
    """Return the SELECT of a LATERAL subquery and its UNNEST; other forms are not implemented."""
    query = derived.query
    simple = not (query.common_tables or query.order_by or query.limit or query.offset)
    match query.body:
        case syntax.Select(relations=(syntax.Unnest() as source,)) as select if simple:
            if select.windows or select.qualify is not None or select.emit is not None:
                raise not_implemented("WINDOW, QUALIFY and EMIT in LATERAL", select.span)
            return select, source
        case _:
            raise not_implemented(
                "LATERAL subquery that does not read one UNNEST",
                derived.span,
                help="write LATERAL (SELECT … FROM UNNEST(…) AS t(x) …)",
            )


def _conditions(binder: ExpressionBinder, condition: syntax.Expression | None) -> list[Expression]:
    return [] if condition is None else [binder.bind_whole_condition(condition)]


def _keys(select: syntax.Select, binder: ExpressionBinder, items: Sequence[Item]) -> list[Key]:
    """Return the keys by which the elements are grouped; DISTINCT groups by all select items."""
    keys = [bind_key(binder, element, items) for element in select.group_by or ()]
    if not select.distinct:
        return keys
    if keys or any(has_aggregate(item.expression) for item in items):
        raise not_implemented("DISTINCT of aggregates in LATERAL", select.span)
    return [Key(item.expression, item.name, item.span) for item in items]


def _aggregate(
    outer: Relation,
    elements: _Elements,
    where: Sequence[Expression],
    grouping: Grouping,
    source_spans: SourceSpans,
) -> tuple[Plan, Groups]:
    """Return the aggregate of each row's elements, and the mapping to its columns."""
    plan = LateralAggregate(
        outer.plan,
        elements.array,
        elements.ordinality,
        combine_balanced("and", where) if where else None,
        grouping.keys,
        grouping.key_names,
        grouping.aggregates,
        grouping.aggregate_names,
    )
    names = [column.name for column in outer.plan.schema]
    names += [field.name for field in elements.fields]
    return plan, Groups(grouping.places, outer.width, tuple(names), source_spans)


def _combine_fields(
    outer: Relation,
    plan: Plan,
    expressions: Sequence[Expression],
    items: Sequence[Item],
    alias: syntax.TableAlias | None,
) -> Relation:
    """Return the outer row's columns, followed by the subquery's."""
    names = [*(column.name for column in outer.plan.schema), *(item.name for item in items)]
    plan = project(plan, [*column_refs(outer.plan), *expressions], names)
    inner = Relation(plan, fields_of(plan.schema, None)[outer.width :])
    return Relation(plan, outer.fields + apply_alias(inner, alias).fields)
