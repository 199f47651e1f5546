"""Which columns of a plan DuckDB computes to some digits only: AVG, and SUM of DOUBLE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler import logical
from fsql.compiler.expression import AggregateFunction, ColumnRef
from fsql.compiler.node import walk
from fsql.compiler.sqltypes import Kind
from fsql.tests.property.duckdb_expressions import ExcludedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fsql.compiler.expression import AggregateCall, Expression


def inexact_columns(plan: logical.Plan) -> frozenset[int]:
    """Return the columns of `plan` that are exact to some digits only.

    Raises:
        ExcludedError: something is computed from such a column.
    """
    below = [inexact_columns(node) for node in plan.inputs]
    for side, expression in computed(plan):
        read = {node.index for node in walk(expression) if isinstance(node, ColumnRef)}
        if read & below[side]:
            raise ExcludedError("something is computed from an inexact number")
    passed = below[0] if below else frozenset()
    match plan:
        case logical.Project():
            return frozenset(
                index
                for index, expression in enumerate(plan.expressions)
                if isinstance(expression, ColumnRef) and expression.index in passed
            )
        case logical.Join():
            passed |= {len(plan.left.schema) + index for index in below[1]}
        case logical.Union():
            passed = frozenset().union(*below)
        case logical.Aggregate() | logical.WindowAggregate():
            passed = inexact_calls(plan.aggregates, len(plan.keys))
        case logical.LateralAggregate():
            width = len(plan.input.schema) + len(plan.keys)
            passed |= inexact_calls(plan.aggregates, width)
        case logical.Over():
            if passed and logical.may_tie(plan.input):
                raise ExcludedError("the order of rows hangs on an inexact number")
            calls = [call.aggregate for call in plan.calls]
            passed |= inexact_calls(calls, len(plan.input.schema))
        case _:
            pass
    return passed


def inexact_calls(calls: Sequence[AggregateCall], start: int) -> frozenset[int]:
    """Return the columns of those aggregates that are inexact, numbered from `start`."""
    return frozenset(
        start + index
        for index, call in enumerate(calls)
        if call.function in {AggregateFunction.SUM, AggregateFunction.AVG}
        and call.type.kind is Kind.DOUBLE
    )


def computed(plan: logical.Plan) -> Iterator[tuple[int, Expression]]:
    """Yield what `plan` computes from its inputs, with the number of the input."""
    calls: Sequence[AggregateCall] = ()
    match plan:
        case logical.Project():
            yield from ((0, e) for e in plan.expressions if not isinstance(e, ColumnRef))
        case logical.Filter():
            yield 0, plan.predicate
        case logical.Unnest():
            yield 0, plan.array
        case logical.Join():
            yield from ((0, key) for key in plan.left_keys)
            yield from ((1, key) for key in plan.right_keys)
        case logical.LateralAggregate():
            yield 0, plan.array
            yield from ((0, key) for key in plan.keys)
            if plan.predicate is not None:
                yield 0, plan.predicate
            calls = plan.aggregates
        case logical.Aggregate() | logical.WindowAggregate():
            yield from ((0, key) for key in plan.keys)
            calls = plan.aggregates
        case logical.Over():
            yield from ((0, key) for key in plan.partition)
            calls = [call.aggregate for call in plan.calls]
        case _:
            pass
    yield from ((0, call.argument) for call in calls if call.argument is not None)
