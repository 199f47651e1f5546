"""The topology that the acker needs: which stages are upstream of which, and which fronts feed them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.tick_plan import SourceHead, ToFold

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsql.compiler.tick_plan import TickPlan

StageSets = list[frozenset[int]]


def source_stages(plan: TickPlan) -> dict[int, int]:
    """Return the stage that begins with each table, by the ordinal of the table."""
    return {
        stage.head.table.ordinal: index
        for index, stage in enumerate(plan.stages)
        if isinstance(stage.head, SourceHead)
    }


def topology(plan: TickPlan, fronts: Iterable[tuple[int, int]]) -> tuple[StageSets, StageSets]:
    """Return for each stage, and last for the barrier, the stages upstream and the fronts that feed it.

    `fronts` has the number of each front and the ordinal of its table.
    """
    upstream: list[set[int]] = [set() for _ in plan.stages]
    for index, stage in enumerate(plan.stages):
        for send in stage.sends:
            if isinstance(send.to, ToFold):
                upstream[send.to.stage] |= {index, *upstream[index]}
    everything = set(range(len(plan.stages)))
    closed = [frozenset(stages) for stages in (*upstream, everything)]
    heads = [stage.head for stage in plan.stages]
    fronts = list(fronts)
    fronts_of = []
    for number, above in enumerate(closed):
        sources = {
            head.table.ordinal
            for index, head in enumerate(heads)
            if isinstance(head, SourceHead) and (index in above or index == number)
        }
        fronts_of.append(frozenset(front for front, ordinal in fronts if ordinal in sources))
    return closed, fronts_of
