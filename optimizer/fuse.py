"""Fusion of a graph into stages: each drifting-state cycle becomes a fold, each map a step.

Broadcasts and merges have no steps: a vertex with several readers becomes a step that several others read,
and the vertices after a merge are repeated for each of its branches.  An output is a (stage, step) that has
the rows of a vertex; a vertex has one output, or after a merge several.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from fsql.compiler import graph
from fsql.compiler.records import dataclass
from fsql.compiler.tick_plan import (
    HEAD,
    FoldHead,
    Policy,
    Send,
    SourceHead,
    Stage,
    Step,
    ToFold,
    ToLate,
    ToSink,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    PolicyOf = Callable[[int, graph.Combine, frozenset[int]], Policy]

Output = tuple[int, int]
"""A stage, and one of its steps (or HEAD)."""


@dataclass
class _StageDraft:
    head: SourceHead | FoldHead
    steps: list[Step] = field(default_factory=list)
    sends: list[Send] = field(default_factory=list)


def fuse(whole: graph.Graph, policy_of: PolicyOf, repairs_free: int) -> tuple[Stage, ...]:
    """Return the stages of a graph, in topological order.

    `policy_of(number, combine, sources)` chooses the policy of the fold that will be stage `number`, fed by
    the tables with these ordinals.
    """
    return _Fusion(whole, policy_of, repairs_free).stages()


def outputs_of(whole: graph.Graph) -> Mapping[int, tuple[Output, ...]]:
    """Return the outputs of each vertex of a graph, by its index; they do not depend on policies."""
    fusion = _Fusion(whole, lambda *_: Policy.ORDERED, 0)
    fusion.stages()
    return fusion.outputs


class _Fusion:
    def __init__(
        self,
        whole: graph.Graph,
        policy_of: PolicyOf,
        repairs_free: int,
    ) -> None:
        self._repairs_free = repairs_free
        self._graph = whole
        self._policy_of = policy_of
        self._drafts: list[_StageDraft] = []
        self.outputs: dict[int, tuple[Output, ...]] = {}
        self._sources: dict[int, frozenset[int]] = {}

    def stages(self) -> tuple[Stage, ...]:
        for index, vertex in enumerate(self._graph.vertices):
            self.outputs[index] = self._fuse_vertex(index, vertex)
        return tuple(Stage(d.head, tuple(d.steps), tuple(d.sends)) for d in self._drafts)

    def _fuse_vertex(self, index: int, vertex: graph.Vertex) -> tuple[Output, ...]:
        match vertex.operation:
            case graph.Source(table):
                return self._add_stage(SourceHead(table), frozenset([table.ordinal]))
            case graph.Map(graph.Combine() as combine):
                return self._add_fold(index, vertex, combine)
            case graph.Map(graph.Finish() | graph.Side()):
                return self._input_outputs(vertex)
            case graph.Map(function):
                return tuple(
                    self._add_step(output, function, vertex)
                    for output in self._input_outputs(vertex)
                )
            case graph.Sink() | graph.LateSink() as port:
                return self._add_sends(vertex, port)
            case _:
                return self._input_outputs(vertex)

    def _input_outputs(self, vertex: graph.Vertex) -> tuple[Output, ...]:
        """Return the outputs of a vertex's inputs, without the back edge of a cycle."""
        return tuple(
            output
            for below in vertex.inputs
            if below in self.outputs
            for output in self.outputs[below]
        )

    def _add_stage(
        self, head: SourceHead | FoldHead, sources: frozenset[int]
    ) -> tuple[Output, ...]:
        self._sources[len(self._drafts)] = sources
        self._drafts.append(_StageDraft(head))
        return ((len(self._drafts) - 1, HEAD),)

    def _add_step(
        self, output: Output, function: graph.MapFunction, vertex: graph.Vertex
    ) -> Output:
        stage, below = output
        steps = self._drafts[stage].steps
        steps.append(Step(function, below, vertex.schema, vertex.depth, vertex.origin))
        return stage, len(steps) - 1

    def _add_sends(
        self, vertex: graph.Vertex, port: graph.Sink | graph.LateSink
    ) -> tuple[Output, ...]:
        to = ToSink(port.insert) if isinstance(port, graph.Sink) else ToLate(port.window)
        for stage, step in self._input_outputs(vertex):
            self._drafts[stage].sends.append(Send(step, to))
        return ()

    def _add_fold(
        self, index: int, vertex: graph.Vertex, combine: graph.Combine
    ) -> tuple[Output, ...]:
        """Turn the cycle of this combine map into a fold, and send its inputs to it."""
        [grouping_index] = vertex.inputs
        grouping = self._graph.vertices[grouping_index]
        assert isinstance(grouping.operation, graph.Grouping)
        assert vertex.operator is not None
        merge = self._graph.vertices[grouping.inputs[0]]
        entries = [below for below in merge.inputs if below < index]
        number = len(self._drafts)
        sources: set[int] = set()
        for side, entry in enumerate(entries):
            keys = grouping.operation.keys[side]
            for stage, step in self.outputs[entry]:
                self._drafts[stage].sends.append(Send(step, ToFold(number, side, keys)))
                sources |= self._sources[stage]
        inputs = tuple(
            (self._graph.vertices[entry].schema, self._graph.vertices[entry].depth)
            for entry in entries
        )
        head = FoldHead(
            operator=vertex.operator,
            combine=combine,
            policy=self._policy_of(number, combine, frozenset(sources)),
            inputs=inputs,
            schema=vertex.schema,
            depth=vertex.depth,
            repairs_free=self._repairs_free,
        )
        return self._add_stage(head, frozenset(sources))
