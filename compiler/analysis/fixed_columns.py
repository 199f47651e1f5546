"""An analysis: the columns that have one value in all rows of a plan: constants, and columns equal to one.

Such a column does not distinguish rows, so a key without it is one, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.expression import Call, Cast, ColumnRef, Expression, Literal
from fsql.compiler.logical import (
    Aggregate,
    AssignEnd,
    AssignSessions,
    AssignWindows,
    CountLateRows,
    Filter,
    LateralAggregate,
    Over,
    Plan,
    Project,
    Rank,
    Unnest,
    WindowAggregate,
    operators,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    Fixed = frozenset[int]


def fixed_columns_of_all(plan: Plan) -> dict[Plan, Fixed]:
    """Return the columns with one value in all rows, of `plan` and of all operators below it."""
    found: dict[Plan, Fixed] = {}
    for node in operators(plan):
        found[node] = _fixed(node, [found[below] for below in node.inputs])
    return found


def _fixed(plan: Plan, below: Sequence[Fixed]) -> Fixed:
    match plan:
        case Filter():
            fixed = below[0] | _fixed_by_filter(plan)
        case (
            Over()
            | Rank()
            | Unnest()
            | LateralAggregate()
            | AssignWindows()
            | AssignEnd()
            | AssignSessions()
            | CountLateRows()
        ):
            fixed = below[0]
        case Project(expressions=values) | Aggregate(keys=values) | WindowAggregate(keys=values):
            fixed = frozenset(i for i, value in enumerate(values) if _is_fixed(value, below[0]))
        case _:
            fixed = frozenset()
    return fixed


def _is_fixed(expression: Expression, below: Fixed) -> bool:
    if isinstance(expression, ColumnRef):
        return expression.index in below
    return isinstance(expression, Literal)


def _fixed_by_filter(plan: Filter) -> set[int]:
    """Return the columns that have one value in all rows that pass the filter."""
    fixed: set[int] = set()
    waiting = [plan.predicate]
    while waiting:
        condition = waiting.pop()
        if not isinstance(condition, Call):
            continue
        if condition.function == "and":
            waiting.extend(condition.arguments)
        elif condition.function in {"eq", "le", "lt"}:
            column, value = condition.arguments[0], _constant(condition.arguments[1])
            only = {"le": 1, "lt": 2}.get(condition.function)
            if isinstance(column, ColumnRef) and (
                value is not None
                if only is None
                else value == only and _is_rank(plan, column.index)
            ):
                fixed.add(column.index)
    return fixed


def _constant(expression: Expression) -> object:
    while isinstance(expression, Cast):
        expression = expression.argument
    return expression.value if isinstance(expression, Literal) else None


def _is_rank(plan: Plan, column: int) -> bool:
    """Return whether a column is a rank: then it is at least 1."""
    while True:
        match plan:
            case Filter(input=below) | CountLateRows(input=below):
                plan = below
            case Project(input=below, expressions=expressions):
                expression = expressions[column]
                if not isinstance(expression, ColumnRef):
                    return False
                plan, column = below, expression.index
            case Rank():
                return column == len(plan.input.schema)
            case _:
                return False
