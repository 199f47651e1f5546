"""The plan without unused columns."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from fsql.compiler import logical
from fsql.compiler.expression import ColumnRef, Expression
from fsql.compiler.node import children, walk
from fsql.compiler.rules.prune_columns.demand import all_columns, demanded_columns
from fsql.compiler.rules.prune_columns.narrowed import Narrowed, new_indexes
from fsql.compiler.rules.prune_columns.operators import narrow_join, narrow_operator, narrow_union

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.rules.prune_columns.demand import Demand


REMEMBERING: Final = (
    logical.ApplyChanges,
    logical.Aggregate,
    logical.WindowAggregate,
    logical.Over,
    logical.Rank,
    logical.ToChangelog,
)
"""The operators with one input that keep state of its rows."""


def prune_columns(node: logical.Job) -> logical.Job | None:
    """`Job` → the same job, each of whose operators has only the columns that are read.

    This is a rule for the whole job, because an operator with several readers keeps the columns that any of
    them uses, and so remains one operator.
    """
    narrowing = _Narrowing(demanded_columns(node), _computed_event_times(node))
    inserts = []
    for insert in node.inserts:
        for plan in logical.operators(insert.query):
            if plan not in narrowing.done:
                narrowing.done[plan] = narrowing.operator(plan)
        query = narrowing.done[insert.query].select_columns(all_columns(insert.query)).plan
        inserts.append(dataclasses.replace(insert, query=query))
    pruned = logical.Job(tuple(inserts))
    return None if pruned is node else pruned


class _Narrowing:
    """The narrowed form of each operator; inputs are narrowed first."""

    def __init__(
        self, demand: Demand, event_times: Mapping[logical.Plan, tuple[Expression, ...]]
    ) -> None:
        self.done: dict[logical.Plan, Narrowed] = {}
        self._demand = demand
        self._event_times = event_times

    def operator(self, plan: logical.Plan) -> Narrowed:
        """Return `plan` narrowed, over its narrowed inputs."""
        wanted = self._demand.of[plan]
        match plan:
            case logical.Scan():
                return Narrowed(plan, new_indexes(all_columns(plan)))
            case logical.Union(branches=branches):
                return narrow_union(
                    [self.done[each].select_columns(wanted) for each in branches], wanted
                )
            case logical.Join(left=left, right=right):
                of_left, of_right = self._demand.from_inputs(plan)
                sides = (
                    self.done[left].select_columns(of_left),
                    self.done[right].select_columns(of_right),
                )
                return narrow_join(plan, *sides)
            case _:
                (below,) = plan.inputs
                return narrow_operator(plan, wanted, self._input(plan, below))

    def _input(self, reader: logical.Plan, below: logical.Plan) -> Narrowed:
        """Return the input of `reader`; from a table, and before it stores rows, only the used columns."""
        narrowed = self.done[below]
        if isinstance(reader, REMEMBERING):
            (used,) = self._demand.from_inputs(reader)
            return narrowed.select_columns(used)
        if isinstance(below, logical.Scan) and not isinstance(reader, logical.Project):
            return narrowed.select_columns(self._demand.of[below], self._event_times.get(below, ()))
        return narrowed


def _computed_event_times(job: logical.Job) -> dict[logical.Plan, tuple[Expression, ...]]:
    """Return, for each scan, event time if it is computed, and after a filter.

    A projection is known to compute event time by being above the scan, or its filters, and by the very
    expression that the table declares.  Where the columns of the scan are picked below a filter, that
    picking has to compute it.
    """
    found: dict[logical.Plan, tuple[Expression, ...]] = {}
    for insert in job.inserts:
        for plan in logical.operators(insert.query):
            if not isinstance(plan, logical.Filter | logical.Project):
                continue
            declared = logical.declared_event_time(plan.input)
            if declared is None or isinstance(declared, ColumnRef):
                continue
            expressions = [part for part in children(plan) if isinstance(part, Expression)]
            if any(part is declared for each in expressions for part in walk(each)):
                (scan,) = (p for p in logical.operators(plan) if isinstance(p, logical.Scan))
                found[scan] = (declared,)
    return found
