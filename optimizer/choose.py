"""The choice of a tick plan: how a graph is executed, and why.

Released bytes do not depend on the choice; throughput and latency do.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler import graph as graphs
from fsql.compiler.assignment import Assignment
from fsql.compiler.expression import ColumnRef
from fsql.compiler.owners import Owners
from fsql.compiler.plan_choices import PlanChoices, with_choices
from fsql.compiler.reasons import Reason
from fsql.compiler.tick_plan import HEAD, FoldHead, Policy, SinkPort, TickPlan, ToSink
from fsql.optimizer.fold_policies import has_timers
from fsql.optimizer.fuse import fuse
from fsql.optimizer.replacements import mark_replacements
from fsql.optimizer.replicas import first_replicas

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.tick_plan import Stage, Step

HASH_BINS: Final = "hash bins"
"""The subject of the reason for the owners."""


def choose(
    graph: graphs.Graph,
    *,
    workers: int = 1,
    fronts: Mapping[int, int] | None = None,
    policy: Policy | None = None,
    repairs_free: int = 1_000,
    unmarked: frozenset[int] = frozenset(),
) -> TickPlan:
    """Return a tick plan for `graph`.

    Args:
        graph: the graph to execute.
        workers: the number of workers, which own equal ranges of hash bins.
        fronts: the number of splits of each table, by its ordinal; one if it is missing.
        policy: the policy of every fold; if it is None, one is chosen for each fold.
        repairs_free: the number of rows that repairs of a fold may apply again before their cost is limited.
        unmarked: the INSERTs that get the removed rows, although marks would do (`mark_replacements`).
    """
    reasons: list[Reason] = []

    def policy_of(stage: int, combine: graphs.Combine, sources: frozenset[int]) -> Policy:
        count = sum((fronts or {}).get(s, 1) for s in sources)
        chosen, reason = _policy(count, policy, timed=has_timers(combine))
        reasons.append(Reason(subject_of_stage(stage), f"{chosen.value}, {reason}"))
        return chosen

    stages = fuse(graph, policy_of, repairs_free)
    sinks = tuple(
        _sink_port(stages, vertex.operation, graph.vertices[vertex.inputs[0]].depth)
        for vertex in graph.vertices
        if isinstance(vertex.operation, graphs.Sink)
    )
    stages, sinks = mark_replacements(stages, sinks, unmarked)
    late_windows = tuple(
        vertex.origin for vertex in graph.vertices if isinstance(vertex.operation, graphs.LateSink)
    )
    assignment = Assignment(Owners.of_equal_ranges(workers))
    text = f"ranges of equal size for {workers}, no estimate of their load"
    reasons.append(Reason(HASH_BINS, text))
    plan = TickPlan(stages, sinks, late_windows, assignment, ())
    replicas, of_replicas = first_replicas(plan)
    plan = with_choices(plan, PlanChoices(replicated=replicas))
    return replace(plan, reasons=(*reasons, *of_replicas))


def subject_of_stage(stage: int) -> str:
    """Return the subject of the reason for the policy of a stage."""
    return f"stage {stage}"


def _policy(fronts: int, requested: Policy | None, *, timed: bool) -> tuple[Policy, str]:
    if requested is not None:
        return requested, "as requested"
    if timed:
        return Policy.ORDERED, "timers follow later rows: waiting costs less than repairs"
    if fronts > 1:
        return (
            Policy.ORDERED,
            f"rows of {fronts} fronts interleave: waiting costs less than repairs",
        )
    return Policy.SPECULATIVE, "rows of one front come in order: nothing to wait for"


def _sink_port(stages: tuple[Stage, ...], sink: graphs.Sink, depth: int) -> SinkPort:
    to = ToSink(sink.insert)
    senders = [(stage, send.step) for stage in stages for send in stage.sends if send.to == to]
    consolidated = not sink.append_only and len(senders) == 1 and _shows_each_change(*senders[0])
    return SinkPort(sink.table, sink.append_only, sink.may_tie, depth, consolidated)


def _shows_each_change(stage: Stage, step: int) -> bool:
    """Return whether the rows of a step are the changes of an aggregate: a removal and an addition for a key.

    That is so after an aggregate if the steps in between only drop rows, or rearrange columns without
    dropping any, so that a removal and an addition still differ.
    """
    if not isinstance(stage.head, FoldHead):
        return False
    if not isinstance(stage.head.combine, graphs.CombineAggregate | graphs.CombineChanges):
        return False
    if isinstance(stage.head.combine, graphs.CombineChanges) and stage.head.combine.counted:
        return False  # equal rows are several rows
    while step != HEAD:
        if not _keeps_rows_apart(stage, stage.steps[step]):
            return False
        step = stage.steps[step].input
    return True


def _keeps_rows_apart(stage: Stage, step: Step) -> bool:
    if isinstance(step.function, graphs.Select | graphs.Renumber):
        return True
    if not isinstance(step.function, graphs.Compute):
        return False
    assert isinstance(stage.head, FoldHead)
    below = stage.head.schema if step.input == HEAD else stage.steps[step.input].schema
    kept = {e.index for e in step.function.expressions if isinstance(e, ColumnRef)}
    return kept == set(range(len(below)))
