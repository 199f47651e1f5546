"""The number of rows after which the result of a query is complete, whatever its input still has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.analysis.row_numbers import numbered_keys
from fsql.compiler.expression import Call, ColumnRef, Literal
from fsql.compiler.logical import Filter, Over, Project

if TYPE_CHECKING:
    from fsql.compiler.expression import Expression
    from fsql.compiler.logical import Plan

_SKIPS: Final = {"gt": 0, "ge": -1}
_KEEPS: Final = {"le": 0, "lt": -1}


def rows_at_most(query: Plan) -> int | None:
    """Return the number of rows of a query whose result ends with a LIMIT; None if it has none.

    The query is append-only, and without ORDER BY: its rows are the first in the total order.
    """
    while isinstance(query, Project):
        query = query.input
    if not isinstance(query, Filter):
        return None
    if isinstance(query.predicate, Literal) and query.predicate.value is False:
        return 0
    number = _row_number(query.input)
    bounds = [_bound(condition, number) for condition in _conditions(query.predicate)]
    known = [bound for bound in bounds if bound is not None]
    if len(known) < len(bounds):
        return None
    keeps = [rows for keeps, rows in known if keeps]
    numbered = rows_at_most(query.input.input) if isinstance(query.input, Over) else None
    if numbered is not None:  # a subquery ends with LIMIT, too
        keeps.append(numbered)
    if not keeps:
        return None
    return max(min(keeps) - max((rows for keeps, rows in known if not keeps), default=0), 0)


def _row_number(plan: Plan) -> int | None:
    """Return the column of a plan that numbers all of its rows."""
    if not isinstance(plan, Over) or plan.partition:
        return None
    keys = numbered_keys(plan)
    return min(keys[0]) if keys else None


def _bound(condition: Expression, number: int | None) -> tuple[bool, int] | None:
    """Return whether a condition keeps the first rows, or skips them, and how many; None for others."""
    match condition:
        case Call(arguments=(ColumnRef(index=index), Literal(value=int(bound)))) if index == number:
            if condition.function in _KEEPS:
                return True, bound + _KEEPS[condition.function]
            if condition.function in _SKIPS:
                return False, bound + _SKIPS[condition.function]
    return None


def _conditions(predicate: Expression) -> list[Expression]:
    if isinstance(predicate, Call) and predicate.function == "and":
        return [each for operand in predicate.arguments for each in _conditions(operand)]
    return [predicate]
