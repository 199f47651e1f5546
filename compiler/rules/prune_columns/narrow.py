"""The plan without the columns that nobody makes use of."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from fsql.compiler import logical
from fsql.compiler.rules.prune_columns.demand import demanded_columns, demands, everything
from fsql.compiler.rules.prune_columns.narrowed import Narrowed, places
from fsql.compiler.rules.prune_columns.operators import narrow_join, narrow_operator, narrow_union

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.rules.prune_columns.demand import Columns


def prune_columns(node: logical.Job) -> logical.Job | None:
    """`Job` → the same job, each of whose operators has only the columns that somebody reads.

    It is a rule about the whole job because an operator that several read keeps what any of them
    wants, and so stays one operator.
    """
    narrow = _Narrowing(demanded_columns(node))
    inserts = []
    for insert in node.inserts:
        for plan in logical.operators(insert.query):
            if plan not in narrow.done:
                narrow.done[plan] = narrow.operator(plan)
        query = narrow.done[insert.query].picked(everything(insert.query)).plan
        inserts.append(dataclasses.replace(insert, query=query))
    pruned = logical.Job(tuple(inserts))
    return None if pruned is node else pruned


class _Narrowing:
    """What each operator became; inputs come first."""

    def __init__(self, demanded: Mapping[logical.Plan, Columns]) -> None:
        self.done: dict[logical.Plan, Narrowed] = {}
        self._demanded = demanded

    def operator(self, plan: logical.Plan) -> Narrowed:
        """Return `plan` narrowed, over its narrowed inputs."""
        wanted = self._demanded[plan]
        match plan:
            case logical.Scan():
                return Narrowed(plan, places(everything(plan)))
            case logical.Union(branches=branches):
                return narrow_union([self.done[each].picked(wanted) for each in branches], wanted)
            case logical.Join(left=left, right=right):
                of_left, of_right = demands(plan, wanted)
                sides = self.done[left].picked(of_left), self.done[right].picked(of_right)
                return narrow_join(plan, *sides)
            case _:
                (below,) = plan.inputs
                return narrow_operator(plan, wanted, self._input(plan, below))

    def _input(self, reader: logical.Plan, below: logical.Plan) -> Narrowed:
        """Return what `reader` reads: of a table, and before it remembers rows, only what it uses."""
        narrowed = self.done[below]
        if isinstance(reader, logical.Aggregate | logical.WindowAggregate | logical.Over):
            return narrowed.picked(*demands(reader, self._demanded[reader]))
        if isinstance(below, logical.Scan) and not isinstance(reader, logical.Project):
            return narrowed.picked(self._demanded[below])
        return narrowed
