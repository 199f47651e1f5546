"""Where the results of aggregates go: which columns of a plan depend on them, and what reads those.

DuckDB computes AVG and SUM of DOUBLE to some digits only, so a query that computes with them cannot be
compared.  And where the key of a later operator depends on a result, a repair of that result changes the
way that rows take, which a property test has to have seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fsql.compiler import logical
from fsql.compiler.expression import AggregateFunction, ColumnRef
from fsql.compiler.node import walk
from fsql.compiler.sqltypes import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fsql.compiler.expression import AggregateCall, Expression

Columns = frozenset[int]


@dataclass(frozen=True)
class Read:
    """An expression of an operator, over the columns of its input number `side`."""

    expression: Expression
    side: int = 0
    key: bool = False

    def of(self, columns: Columns) -> bool:
        """Say whether the expression reads one of `columns`."""
        nodes = walk(self.expression)
        return any(isinstance(node, ColumnRef) and node.index in columns for node in nodes)


def reads(plan: logical.Plan) -> Iterator[Read]:
    """Yield what `plan` computes from its inputs, but for the columns that it passes on."""
    calls: Sequence[AggregateCall] = ()
    match plan:
        case logical.Project():
            yield from (Read(e) for e in plan.expressions if not isinstance(e, ColumnRef))
        case logical.Filter():
            yield Read(plan.predicate)
        case logical.Unnest():
            yield Read(plan.array)
        case logical.Join():
            yield from (Read(key, 0, key=True) for key in plan.left_keys)
            yield from (Read(key, 1, key=True) for key in plan.right_keys)
        case logical.LateralAggregate():
            yield from map(Read, (plan.array, *plan.keys, *filter(None, [plan.predicate])))
            calls = plan.aggregates
        case logical.Aggregate() | logical.WindowAggregate():
            yield from (Read(key, key=True) for key in plan.keys)
            calls = plan.aggregates
        case logical.Over():
            yield from (Read(key, key=True) for key in plan.partition)
            calls = [call.aggregate for call in plan.calls]
        case logical.Rank():
            yield from (Read(key, key=True) for key in plan.partition)
            yield from (Read(key.expression) for key in plan.order)
        case _:
            pass
    yield from (Read(argument) for call in calls for argument in call.arguments)


def depending(plan: logical.Plan, origin: Callable[[AggregateCall], bool]) -> Columns:
    """Return the columns of `plan` that depend on the result of an aggregate that is an `origin`."""
    below = [depending(node, origin) for node in plan.inputs]
    passed: Columns = below[0] if below else frozenset()

    def of_calls(calls: Sequence[AggregateCall], start: int) -> Columns:
        return frozenset(
            start + index
            for index, call in enumerate(calls)
            if origin(call) or any(Read(each).of(below[0]) for each in call.arguments)
        )

    def of_items(items: Sequence[Expression], start: int = 0) -> Columns:
        return frozenset(start + i for i, item in enumerate(items) if Read(item).of(below[0]))

    match plan:
        case logical.Project():
            passed = of_items(plan.expressions)
        case logical.Join():
            if plan.kind.makes_pairs:
                passed |= {len(plan.left.schema) + index for index in below[1]}
        case logical.Union():
            passed = frozenset().union(*below)
        case logical.Aggregate() | logical.WindowAggregate():
            passed = of_items(plan.keys) | of_calls(plan.aggregates, len(plan.keys))
        case logical.LateralAggregate():
            width = len(plan.input.schema)
            passed |= of_items(plan.keys, width)
            passed |= of_calls(plan.aggregates, width + len(plan.keys))
        case logical.Over():
            calls = [call.aggregate for call in plan.calls]
            passed |= of_calls(calls, len(plan.input.schema))
        case _:
            pass
    return passed


_INEXACT = frozenset(
    {
        AggregateFunction.SUM,
        AggregateFunction.AVG,
        AggregateFunction.VAR_POP,
        AggregateFunction.VAR_SAMP,
        AggregateFunction.STDDEV_POP,
        AggregateFunction.STDDEV_SAMP,
        AggregateFunction.COVAR_POP,
        AggregateFunction.COVAR_SAMP,
        AggregateFunction.CORR,
        AggregateFunction.REGR_AVGX,
        AggregateFunction.REGR_AVGY,
        AggregateFunction.REGR_SXX,
        AggregateFunction.REGR_SYY,
        AggregateFunction.REGR_SXY,
        AggregateFunction.REGR_SLOPE,
        AggregateFunction.REGR_INTERCEPT,
        AggregateFunction.REGR_R2,
        AggregateFunction.PERCENTILE_CONT,
    }
)


def inexact(call: AggregateCall) -> bool:
    """Say whether DuckDB computes an aggregate to some digits only."""
    return call.function in _INEXACT and call.type.kind is Kind.DOUBLE


def computes_with_inexact(plan: logical.Plan) -> bool:
    """Say whether something in `plan` is computed from an inexact result, or ordered by one."""
    for node in logical.operators(plan):
        below = [depending(under, inexact) for under in node.inputs]
        if any(read.of(below[read.side]) for read in reads(node)):
            return True
        if isinstance(node, logical.Over) and below[0] and logical.may_tie(node.input):
            return True
    return False


def routed_by_result(plan: logical.Plan) -> bool:
    """Say whether the key of an operator depends on the result of an aggregate below it."""
    return any(
        read.key and read.of(depending(node.inputs[read.side], lambda _: True))
        for node in logical.operators(plan)
        for read in reads(node)
    )
