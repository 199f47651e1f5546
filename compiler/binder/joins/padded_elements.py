"""Joins with UNNEST and table functions: the elements for which a condition is TRUE.

t LEFT JOIN UNNEST(t.a) AS u (x) ON x > t.n
    →   t LEFT JOIN UNNEST(FILTER(t.a, x -> x > t.n)) AS u (x) ON TRUE
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler.binder.expressions.expression import ExpressionBinder
from fsql.compiler.binder.joins.conditions import keep_where
from fsql.compiler.binder.joins.join import columns_in
from fsql.compiler.binder.relation import Relation
from fsql.compiler.binder.scope import Scope
from fsql.compiler.binder.subqueries.lateral import (
    BoundElements,
    bind_elements,
    unnest,
    unnest_left,
)
from fsql.compiler.binder.subqueries.unnested_arrays import number_elements
from fsql.compiler.bound.pending import replace_pending
from fsql.compiler.expression import ColumnRef, FieldAccess, LambdaBody, LambdaCall, LambdaFunction
from fsql.compiler.node import walk
from fsql.compiler.planner.rows import column_refs, project

if TYPE_CHECKING:
    from fsql.compiler import syntax
    from fsql.compiler.binder.context import Context
    from fsql.compiler.binder.subqueries.lateral import Elements
    from fsql.compiler.bound.source_spans import SourceSpans
    from fsql.compiler.expression import Expression


def join_elements(
    outer: Relation,
    written: Elements,
    condition: syntax.Expression | None,
    context: Context,
    *,
    left: bool,
) -> Relation:
    """Return the join of rows with the elements of an array of each, by the condition of ON.

    Raises:
        Refusal: E2xx to E4xx.
    """
    if left and condition is not None:
        return _padded(outer, written, condition, context)
    return keep_where(unnest(outer, written, context, left=left), condition, context)


def _padded(
    outer: Relation, written: Elements, condition: syntax.Expression, context: Context
) -> Relation:
    """Return a row for each element for which a condition is TRUE; a row of NULLs if there is none.

    With ordinals, the elements are numbered before others are left out.
    """
    elements = bind_elements(outer, written, context)
    fields = outer.fields + elements.fields
    binder = ExpressionBinder(
        Scope((fields,)), "ON", context.source_spans, context.functions, context.zone
    )
    bound = binder.bind_condition_and_check_size(condition)
    array = elements.array
    if elements.ordinality:
        array = number_elements(array, binder, written.span)
    filtered = _filtered(array, bound, outer.width, elements, context.source_spans)
    if not elements.ordinality:
        return unnest_left(outer, replace(elements, array=filtered))
    numbered = unnest_left(outer, BoundElements(filtered, (), ("numbered", None)))
    *columns, pair = column_refs(numbered.plan)
    parts = [
        FieldAccess(type_, nullable=True, argument=pair, index=index)
        for index, type_ in enumerate(pair.type.field_types)
    ]
    names = [
        *(column.name for column in outer.plan.schema),
        *(each or "" for each in elements.names),
    ]
    plan = project(numbered.plan, [*columns, *parts], names)
    *others, last = elements.fields
    last = replace(last, column=replace(last.column, nullable=True))
    return Relation(plan, (*outer.fields, *others, last), outer.row_time)


def _filtered(
    array: Expression,
    condition: Expression,
    width: int,
    elements: BoundElements,
    source_spans: SourceSpans,
) -> Expression:
    """Return the elements of an array for which a condition is TRUE.

    The condition is over the columns of the rows before, the element and its ordinal.
    """
    kind = array.type.element
    assert kind is not None
    used = sorted({index for index in columns_in(condition) if index < width})
    found = {
        part.index: part
        for part in walk(condition)
        if isinstance(part, ColumnRef) and part.index < width
    }
    element = ColumnRef(kind, nullable=True, index=0)

    def in_lambda(part: Expression) -> Expression | None:
        if not isinstance(part, ColumnRef):
            return None
        if part.index < width:
            return ColumnRef(part.type, part.nullable, 1 + used.index(part.index))
        if not elements.ordinality:
            return element
        return FieldAccess(part.type, nullable=True, argument=element, index=part.index - width)

    body = LambdaBody(replace_pending(condition, in_lambda, source_spans))
    captured = tuple(found[index] for index in used)
    return LambdaCall(array.type, array.nullable, LambdaFunction.FILTER, (array,), captured, body)
