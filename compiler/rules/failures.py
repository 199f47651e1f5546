"""An analysis: which operators can fail a row.

A rule that drops rows before an operator that might fail on them would change where a job stops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.expression import AggregateCall, AggregateFunction, Expression, Literal
from fsql.compiler.functions.evaluate import fallible
from fsql.compiler.logical import (
    ApplyChanges,
    AssignWindows,
    Filter,
    OrderKey,
    OverCall,
    Plan,
    Project,
    declared_event_time,
)
from fsql.compiler.node import children
from fsql.compiler.row_pattern import NavigationKind
from fsql.compiler.rules.columns import replace_parts
from fsql.compiler.sqltypes import DOUBLE, TIMESTAMP

if TYPE_CHECKING:
    from fsql.compiler.node import Node
    from fsql.compiler.row_pattern import Navigation


def fallible_over(below: Plan, expression: Expression) -> bool:
    """Return whether `expression` over the rows of `below` can fail; False is a proof.

    Event time as the table declares it cannot fail: rows on which it fails are malformed, and never reach it.
    """
    declared = declared_event_time(below)
    if declared is not None:
        known = Literal(TIMESTAMP, nullable=False, value=0)
        expression = replace_parts(expression, {declared: known})
    return fallible(expression)


def failing_expressions(plan: Project) -> list[int]:
    """Return the indexes of the expressions of `plan` that can fail."""
    return [i for i, each in enumerate(plan.expressions) if fallible_over(plan.input, each)]


def operator_fallible(plan: Plan) -> bool:
    """Return whether `plan` itself, apart from its inputs, can fail a row; False is a proof.

    AssignWindows fails rows whose windows extend beyond the years 1 to 9999, ApplyChanges those that remove a
    row that is not there, or lack values that no row has.
    """
    match plan:
        case AssignWindows() | ApplyChanges(counted=True):
            return True
        case ApplyChanges(unavailable=unavailable) if unavailable is not None:
            return True
        case Project():
            return bool(failing_expressions(plan))
        case Filter(input=below, predicate=predicate):
            return fallible_over(below, predicate)
        case _:
            return any(map(_part_fallible, children(plan)))


def aggregate_fallible(call: AggregateCall) -> bool:
    """Return whether `call` can fail, because its argument can, or because its sum may overflow."""
    return sum_overflows(call) or any(map(fallible, call.arguments))


def sum_overflows(call: AggregateCall) -> bool:
    """Return whether `call` is a SUM of integers, which may go out of range, or has such a measure."""
    if call.pattern is not None:
        return any(_measure_overflows(measure) for measure in call.pattern.measures)
    return call.function is AggregateFunction.SUM and call.type != DOUBLE


def _measure_overflows(measure: Navigation) -> bool:
    sums = {NavigationKind.SUM, NavigationKind.AVG}
    return measure.kind in sums and measure.type != DOUBLE


def _part_fallible(part: Node) -> bool:
    match part:
        case Expression():
            return fallible(part)
        case AggregateCall():
            return aggregate_fallible(part)
        case OverCall(aggregate=call):
            return aggregate_fallible(call)
        case OrderKey(expression=expression):
            return fallible(expression)
        case _:
            return False
