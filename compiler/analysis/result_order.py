"""The order of a result: the columns of ORDER BY … LIMIT, by which its current rows are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fsql.compiler.expression import ColumnRef
from fsql.compiler.logical import Project, Rank, RankFunction

if TYPE_CHECKING:
    from fsql.compiler.logical import Plan


class ResultKey(NamedTuple):
    """A column of a result, by its index, by which the rows are ordered."""

    column: int
    descending: bool
    nulls_first: bool


def result_order(query: Plan) -> tuple[ResultKey, ...]:
    """Return the order of the rows of a query, as bound, that ends with ORDER BY and LIMIT; else nothing.

    ORDER BY may have expressions that are not in the result.  The order ends before the first of them, since
    the rest decides only between rows that are equal in it.
    """
    columns = {index: index for index in range(len(query.schema))}
    while isinstance(query, Project):
        columns = {
            expression.index: columns[at]
            for at, expression in reversed([*enumerate(query.expressions)])
            if isinstance(expression, ColumnRef) and at in columns
        }
        query = query.input
    if (
        not isinstance(query, Rank)
        or query.partition
        or query.function is not RankFunction.ROW_NUMBER
        or query.rank_name is not None
    ):
        return ()
    if isinstance(query.input, Project):
        # ORDER BY has columns of its own, also where SELECT has the same expressions.
        selected = query.input.expressions
        of_expressions = {selected[at]: column for at, column in columns.items()}
        columns = {
            at: of_expressions[each] for at, each in enumerate(selected) if each in of_expressions
        }
    keys = []
    for key in query.order:
        found = columns.get(key.expression.index) if isinstance(key.expression, ColumnRef) else None
        if found is None:
            break
        keys.append(ResultKey(found, key.descending, key.nulls_first))
    return tuple(keys)
