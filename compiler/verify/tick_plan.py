"""Verifies tick plans.

The optimizer follows these rules, and the runtime relies on them; a violation is a bug of fsql, so it is an
AssertionError that lists all violations.

* **Order.**  A step reads the head or an earlier step.  A send leads from a step that exists to the fold of
  a later stage, or to a port that exists.
* **Supply.**  Each side of a fold, each sink and each port of late rows is sent to.
* **Rows.**  What is sent to a fold has the columns of that side, and no deeper path; what is sent to a sink
  has its columns, and the mark of replacements where the port has one.  A key finds its columns.  Only a
  join whose rows are joined once is replicated: its right side goes to all workers, its left stays.
* **Names.**  A table has one source; the operator ids of folds differ: state is kept under them.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, assert_never

from fsql.compiler.expression import ColumnRef
from fsql.compiler.node import walk
from fsql.compiler.plan_choices import may_replicate
from fsql.compiler.pre_aggregation import may_pre_aggregate
from fsql.compiler.sqltypes import BOOLEAN
from fsql.compiler.tick_plan import (
    HEAD,
    FoldHead,
    Placement,
    SourceHead,
    ToFold,
    ToLate,
    ToSink,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fsql.compiler.schema import Schema
    from fsql.compiler.sqltypes import SqlType
    from fsql.compiler.tick_plan import Send, Stage, TickPlan


def verify_tick_plan(plan: TickPlan) -> None:
    """Raise AssertionError, with every violation on a line of its own, unless `plan` is legal."""
    violations = [*_order(plan)]
    if not violations:  # The other rules rely on valid steps and sends.
        violations = [*_supply(plan), *_rows(plan), *_names(plan)]
    assert not violations, "illegal tick plan:\n" + "\n".join(violations)


def _order(plan: TickPlan) -> Iterator[str]:
    for number, stage in enumerate(plan.stages):
        for index, step in enumerate(stage.steps):
            if not HEAD <= step.input < index:
                yield f"stage {number}: step {index} reads step {step.input}, which is not before it"
        for send in stage.sends:
            if not HEAD <= send.step < len(stage.steps):
                yield f"stage {number}: step {send.step} is sent, and does not exist"
            if not _exists(plan, number, send):
                yield f"stage {number}: {send.to} is sent to, and is not a port of a later stage"


def _exists(plan: TickPlan, number: int, send: Send) -> bool:
    match send.to:
        case ToFold(stage, side, _):
            if not number < stage < len(plan.stages):
                return False
            head = plan.stages[stage].head
            return isinstance(head, FoldHead) and 0 <= side < len(head.inputs)
        case ToSink(insert):
            return 0 <= insert < len(plan.sinks)
        case ToLate(window):
            return 0 <= window < len(plan.late_windows)
        case _:
            assert_never(send.to)


def _supply(plan: TickPlan) -> Iterator[str]:
    given = [send.to for stage in plan.stages for send in stage.sends]
    sides = {(to.stage, to.side) for to in given if isinstance(to, ToFold)}
    for number, stage in enumerate(plan.stages):
        if isinstance(stage.head, FoldHead):
            for side in range(len(stage.head.inputs)):
                if (number, side) not in sides:
                    yield f"stage {number}: nothing is sent to side {side} of its fold"
    for insert in range(len(plan.sinks)):
        if ToSink(insert) not in given:
            yield f"nothing is sent to sink {insert}"
    for window in range(len(plan.late_windows)):
        if ToLate(window) not in given:
            yield f"nothing is sent to the port of late rows {window}"


def _rows(plan: TickPlan) -> Iterator[str]:
    for number, stage in enumerate(plan.stages):
        for send in stage.sends:
            schema, depth = _rows_of_step(stage, send.step)
            types = _types(schema)
            if isinstance(send.to, ToSink):
                port = plan.sinks[send.to.insert]
                marks = [BOOLEAN] if port.marked else []
                if types != [*_types(port.table.columns), *marks]:
                    yield f"stage {number}: sink {send.to.insert} is sent other columns than its own"
                if depth > port.depth:
                    yield f"stage {number}: sink {send.to.insert} is sent deeper paths than its own"
            elif isinstance(send.to, ToFold):
                yield from _rows_of_fold(plan, number, send.to, types, depth)
                if send.to.pre_aggregates and not may_pre_aggregate(plan, stage, send):
                    yield f"stage {number}: rows for stage {send.to.stage} cannot be pre-aggregated"


def _rows_of_fold(
    plan: TickPlan, number: int, to: ToFold, types: Sequence[SqlType], depth: int
) -> Iterator[str]:
    head = plan.stages[to.stage].head
    assert isinstance(head, FoldHead)
    wanted, deepest = head.inputs[to.side]
    if types != _types(wanted):
        yield f"stage {number}: stage {to.stage} is sent other columns than its own"
    if depth > deepest:
        yield f"stage {number}: stage {to.stage} is sent deeper paths than its own"
    yield from _keys(number, to, types)
    if to.placement not in _placements(head, to.side):
        yield f"stage {number}: rows for stage {to.stage} cannot be replicated"


def _placements(head: FoldHead, side: int) -> set[Placement]:
    """Return where the rows of a side of a fold may go."""
    if not may_replicate(head):
        return {Placement.OWNER}
    return {Placement.OWNER, Placement.EVERY if side else Placement.HERE}


def _keys(number: int, to: ToFold, types: Sequence[SqlType]) -> Iterator[str]:
    for key in to.keys:
        for node in walk(key):
            if isinstance(node, ColumnRef) and (
                node.index >= len(types) or types[node.index] != node.type
            ):
                yield f"stage {number}: a key of stage {to.stage} refers to column {node.index}"


def _rows_of_step(stage: Stage, step: int) -> tuple[Schema, int]:
    """Return the columns and the path depth of a step's rows."""
    if step != HEAD:
        return stage.steps[step].schema, stage.steps[step].depth
    if isinstance(stage.head, SourceHead):
        return stage.head.table.schema, 0
    return stage.head.schema, stage.head.depth


def _types(schema: Schema) -> list[SqlType]:
    return [column.type for column in schema]


def _names(plan: TickPlan) -> Iterator[str]:
    heads = [stage.head for stage in plan.stages]
    tables = Counter(head.table.ordinal for head in heads if isinstance(head, SourceHead))
    operators = Counter(head.operator for head in heads if isinstance(head, FoldHead))
    for ordinal, count in tables.items():
        if count > 1:
            yield f"table {ordinal} has {count} sources"
    for operator, count in operators.items():
        if count > 1:
            yield f"{count} folds have the operator id {operator}"
