"""Event time that has no name, which views pass on: the option `timestamp` declares it.

A SELECT of a view has it as its last column, behind what is selected:

    CREATE STREAM s AS SELECT a FROM t  →  SELECT a, ROWTIME FROM t, with ROWTIME hidden
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.binder.expressions.pseudo_columns import ROW_TIME
from fsql.compiler.binder.items import Item
from fsql.compiler.functions.calls import call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fsql.compiler.binder.context import Context
    from fsql.compiler.binder.relation import Relation
    from fsql.compiler.text.source import Span


@contextmanager
def keep_hidden_time(query: syntax.Query, context: Context) -> Iterator[Callable[[], bool]]:
    """Have event time that a query does not select as its last column, if its rows have such a time.

    Yields a function that returns whether the query, which is bound meanwhile, has that column.
    """
    span, body = query.body.span, query.body
    if isinstance(body, syntax.Select) and not (
        body.distinct_on or query.order_by or query.limit is not None or query.offset is not None
    ):
        context.hidden_times[span] = False
    try:
        yield lambda: found
    finally:
        found = context.hidden_times.pop(span, False)


def hidden_time(
    select: syntax.Select, relation: Relation, asked: dict[Span, bool]
) -> tuple[Item, ...]:
    """Return event time without a name, if its rows have one and it is `asked` for, and record that.

    Rows of a join have the time of the later one.
    """
    grouped = select.group_by is not None or select.group_by_all
    if select.span not in asked or select.distinct or grouped:
        return ()
    times = [each for each in relation.fields if each.column.time_attribute]
    if not any(each.hidden for each in times):
        return ()
    values = [each.expression for each in times]
    asked[select.span] = True
    time = values[0] if len(values) == 1 else call("greatest", *values)
    return (Item(time, ROW_TIME, select.span, None),)
