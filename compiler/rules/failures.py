"""An analysis: which operators can fail a row.

A rule that keeps rows from an operator which might have failed them would change where a job stops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.expression import AggregateCall, AggregateFunction, Expression
from fsql.compiler.functions.evaluate import fallible
from fsql.compiler.logical import AssignWindows, OverCall
from fsql.compiler.node import children
from fsql.compiler.sqltypes import DOUBLE

if TYPE_CHECKING:
    from fsql.compiler.logical import Plan
    from fsql.compiler.node import Node


def operator_fallible(plan: Plan) -> bool:
    """Say whether `plan` itself, apart from its inputs, can fail a row; False is a proof.

    AssignWindows fails rows whose windows reach out of the years 1 to 9999.
    """
    return isinstance(plan, AssignWindows) or any(map(_part_fallible, children(plan)))


def aggregate_fallible(call: AggregateCall) -> bool:
    """Say whether `call` can fail: its argument can, or it is a SUM of integers, which may overflow."""
    overflows = call.function is AggregateFunction.SUM and call.type != DOUBLE
    return overflows or (call.argument is not None and fallible(call.argument))


def _part_fallible(part: Node) -> bool:
    match part:
        case Expression():
            return fallible(part)
        case AggregateCall():
            return aggregate_fallible(part)
        case OverCall(aggregate=call):
            return aggregate_fallible(call)
        case _:
            return False
