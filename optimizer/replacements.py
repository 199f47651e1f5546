"""Upserts with half the rows: folds mark a replacement if the removed row is not needed.

An updating aggregate sends the group's old row with weight -1 and the new row with +1, and so does the fold
of a source's changes.  An upsert sink by the key of the group writes only the new row, labelled `+U` instead
of `+I`.  If a fold feeds only such a sink, through steps that only rearrange columns, the old row need not be
computed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler import graph
from fsql.compiler.expression import ColumnRef
from fsql.compiler.logical import Changes
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BOOLEAN
from fsql.compiler.tick_plan import HEAD, FoldHead, SinkPort, Stage, ToSink

if TYPE_CHECKING:
    from fsql.compiler.schema import Schema
    from fsql.compiler.tick_plan import Step

_MARK: Final = Column("replaces", BOOLEAN, nullable=False)


def mark_replacements(
    stages: tuple[Stage, ...], sinks: tuple[SinkPort, ...], unmarked: frozenset[int]
) -> tuple[tuple[Stage, ...], tuple[SinkPort, ...]]:
    """Return the plan with marks instead of removed rows, where marks are sufficient.

    The INSERTs `unmarked` get removed rows in any case.
    """
    marked_stages, marked_sinks = list(stages), list(sinks)
    for index, stage in enumerate(stages):
        if len(stage.sends) != 1:
            continue
        send = stage.sends[0]
        if not isinstance(send.to, ToSink) or send.to.insert in unmarked:
            continue
        if _needs_no_removals(stage, send.step, sinks[send.to.insert]):
            marked_stages[index] = _add_mark(stage)
            marked_sinks[send.to.insert] = replace(sinks[send.to.insert], marked=True)
    return tuple(marked_stages), tuple(marked_sinks)


def _needs_no_removals(stage: Stage, step: int, sink: SinkPort) -> bool:
    """Return whether the sink writes the rows of the fold by exactly the key of the group."""
    head = stage.head
    if not isinstance(head, FoldHead):
        return False
    if not isinstance(head.combine, graph.CombineAggregate | graph.CombineChanges):
        return False
    if not sink.consolidated or sink.table.changes is not Changes.UPSERT or head.combine.final:
        return False
    columns = list(sink.table.key or ())
    while step != HEAD:
        function = stage.steps[step].function
        if not isinstance(function, graph.Compute):
            return False
        below = [function.expressions[column] for column in columns]
        columns = [expression.index for expression in below if isinstance(expression, ColumnRef)]
        step = stage.steps[step].input
    return sorted(columns) == list(range(len(head.combine.keys)))


def _add_mark(stage: Stage) -> Stage:
    """Return the stage with the mark as the last column of its head and of every step."""
    head = stage.head
    assert isinstance(head, FoldHead)
    schemas = {HEAD: (*head.schema, _MARK)}
    steps = []
    for index, step in enumerate(stage.steps):
        steps.append(_carry_mark(step, schemas[step.input]))
        schemas[index] = steps[-1].schema
    new_head = replace(head, schema=schemas[HEAD], marks_replacements=True)
    return Stage(new_head, tuple(steps), stage.sends)


def _carry_mark(step: Step, below: Schema) -> Step:
    function = step.function
    assert isinstance(function, graph.Compute)
    mark = ColumnRef(BOOLEAN, nullable=False, index=len(below) - 1)
    carrying = graph.Compute((*function.expressions, mark))
    return replace(step, function=carrying, schema=(*step.schema, _MARK))
