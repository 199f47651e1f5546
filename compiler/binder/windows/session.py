"""Sessions: SESSION in FROM in both forms, and in GROUP BY.

The end of a session of a single row, its time plus the gap, is a column below the operator: it fails like any
other expression, and determines when the session closes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.analysis.properties import Bound
from fsql.compiler.binder.expressions.expression import ExpressionBinder
from fsql.compiler.binder.report import Refusal, not_implemented
from fsql.compiler.binder.scope import matches
from fsql.compiler.binder.windows.event_time import window_time
from fsql.compiler.binder.windows.window import check_grace, is_window_call, with_bounds
from fsql.compiler.expression import ColumnRef, Expression, Literal
from fsql.compiler.functions.calls import call
from fsql.compiler.logical import AssignSessions, append_only
from fsql.compiler.node import walk
from fsql.compiler.planner.rows import column_refs, project
from fsql.compiler.sqltypes import INTERVAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.binder.context import Context
    from fsql.compiler.binder.relation import Relation
    from fsql.compiler.binder.windows.window import WindowCall
    from fsql.compiler.bound.source_spans import SourceSpans
    from fsql.compiler.text.source import Span


SESSION_END: Final = "session_end"
"""The name of the column with the end of a session of only that row; late rows are written with it."""


def assign_sessions(
    relation: Relation,
    partition: Sequence[Expression],
    window: WindowCall,
    span: Span,
    source_spans: SourceSpans,
) -> Relation:
    """Return the relation's rows with their sessions; `partition` is over the relation's columns.

    Raises:
        Refusal: E203, E204, E304; E301 if rows can be retracted.
    """
    if not append_only(relation.plan):
        raise not_implemented(
            "sessions of rows that can be retracted",
            span,
            help="group the input by a window that is final",
        )
    relation, time = window_time(relation, window.time_column, source_spans)
    check_grace(relation.plan, time, window.time_column)
    below, width = relation.plan, relation.width
    own = ColumnRef(time.column.type, time.column.nullable, time.index)
    end = call("add", own, Literal(INTERVAL, nullable=False, value=window.size_us))
    computed = [key for key in dict.fromkeys(partition) if not isinstance(key, ColumnRef)]
    for made in (end, *computed):
        source_spans.add(made, span)
    names = [column.name for column in below.schema]
    names += [SESSION_END, *(f"key_{index}" for index in range(len(computed)))]
    below = project(below, [*column_refs(below), end, *computed], names)
    indexes = {key: width + 1 + index for index, key in enumerate(computed)}
    keys = tuple(
        ColumnRef(key.type, key.nullable, indexes[key]) if key in indexes else key
        for key in dict.fromkeys(partition)
    )
    plan = AssignSessions(below, keys, time.index, width)
    source_spans.add(plan, span)
    return with_bounds(relation, plan)


def partition_of_group(
    select: syntax.Select, relation: Relation, context: Context
) -> list[Expression]:
    """Return the partition of a session: the other keys of GROUP BY, over the relation below it.

    Keys that are refused are left out here, and reported when the keys of the group are bound.
    """
    binder = ExpressionBinder(
        relation.scope, "GROUP BY", context.source_spans, context.functions, context.zone
    )
    found: list[Expression] = []
    for element in select.group_by or ():
        written = _resolve_key(element, select, relation)
        if written is None or isinstance(written, syntax.GroupingSets) or is_window_call(written):
            continue
        try:
            found.append(binder.bind_and_check_size(written))
        except Refusal:
            continue
    return [key for key in found if any(isinstance(node, ColumnRef) for node in walk(key))]


def _resolve_key(
    element: syntax.Expression | syntax.GroupingSets, select: syntax.Select, relation: Relation
) -> syntax.Expression | syntax.GroupingSets | None:
    """Return the expression of a key, even if it is the position or the alias of a select item."""
    items = [item for item in select.items if isinstance(item, syntax.SelectItem)]
    if isinstance(element, syntax.NumberLiteral):
        number = int(element.text) if element.text.isdigit() and len(element.text) < 9 else 0
        at = select.items[number - 1] if 1 <= number <= len(select.items) else None
        return at.expression if isinstance(at, syntax.SelectItem) else None
    if isinstance(element, syntax.ColumnReference) and len(element.parts) == 1:
        (name,) = element.parts
        if name.name.lower() in {bound.value for bound in Bound}:
            return None
        if not relation.scope.find(name):
            named = (i for i in items if i.alias is not None and matches(name, i.alias.name))
            found = next(named, None)
            return None if found is None else found.expression
    return element


def partition_of_table(
    relation: Relation, written: Sequence[syntax.Expression], context: Context
) -> list[Expression]:
    """Return the keys of `TABLE t PARTITION BY …`; several keys are in brackets.

    Raises:
        Refusal: E2xx to E4xx.
    """
    binder = ExpressionBinder(
        relation.scope, "PARTITION BY", context.source_spans, context.functions, context.zone
    )
    keys: list[syntax.Expression] = []
    for each in written:
        keys += each.items if isinstance(each, syntax.RowConstructor) else (each,)
    return [binder.bind_and_check_size(key) for key in keys]
