"""The window function in GROUP BY, such as `GROUP BY k, TUMBLE(at, INTERVAL '1' MINUTE)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.analysis.properties import Bound
from fsql.compiler.binder.report import not_implemented, refusal
from fsql.compiler.binder.windows.session import assign_sessions, partition_of_group
from fsql.compiler.binder.windows.window import (
    assign_windows,
    is_window_call,
    read_window_call,
    window_field,
)
from fsql.compiler.binder.windows.window_gaps import warn_of_gaps
from fsql.compiler.bound.select import Key
from fsql.compiler.expression import ColumnRef

if TYPE_CHECKING:
    from fsql.compiler.binder.context import Context
    from fsql.compiler.binder.relation import Relation


def assign_group_window(
    select: syntax.Select, relation: Relation, context: Context
) -> tuple[Relation, list[Key]]:
    """Return the relation with the windows that GROUP BY assigns, and their keys.

    Raises:
        Refusal: E2xx to E4xx.
    """
    keys: list[Key] = []
    for element in select.group_by or ():
        if isinstance(element, syntax.FunctionCall) and is_window_call(element):
            if keys:
                raise refusal(
                    "E321",
                    "GROUP BY can have only one window",
                    element.span,
                    help="use a subquery in FROM",
                )
            call = read_window_call(
                element.name, element.arguments, element.span, context.zone, in_from=False
            )
            warn_of_gaps(call, element.span, context.report)
            spans = context.source_spans
            if call.slide_us is None:
                if any(isinstance(each, syntax.GroupingSets) for each in select.group_by or ()):
                    raise not_implemented(
                        "SESSION together with grouping sets",
                        element.span,
                        help="write FROM SESSION(TABLE t PARTITION BY …, …)",
                    )
                partition = partition_of_group(select, relation, context)
                relation = assign_sessions(relation, partition, call, element.span, spans)
            else:
                relation = assign_windows(relation, call, element.span, spans)
            bounds = [Bound.END]
            if not window_field(relation, Bound.END).column.time_attribute:
                bounds = [*Bound]  # No analysis knows that these windows have one start for an end.
            elif call.cumulative or call.slide_us is None:
                bounds.append(Bound.START)
            for bound in bounds:
                field = window_field(relation, bound)
                reference = ColumnRef(field.column.type, field.column.nullable, field.index)
                keys.append(Key(reference, field.name, element.span))
    return relation, keys


def group_window_call(select: syntax.Select) -> syntax.FunctionCall | None:
    """Return the call of a window function in GROUP BY."""
    calls = (each for each in select.group_by or () if isinstance(each, syntax.FunctionCall))
    return next(filter(is_window_call, calls), None)
