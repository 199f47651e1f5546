"""Programs: the union of their events, a running aggregate by the key, and the rows of each event.

events ─▶ Over(partition by the key; the value of the event) ─▶ Unnest(its rows) ─▶ Project(their columns)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.expression import AggregateCall, AggregateFunction, FieldAccess
from fsql.compiler.functions.calls import call, make_case
from fsql.compiler.logical import FrameEnd, Over, OverCall, Plan, Union, Unnest
from fsql.compiler.planner.rows import column_refs, project

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.expression import Expression
    from fsql.compiler.functions.python_programs import PythonProgram


def union_of_events(tables: Sequence[Plan]) -> Plan:
    """Return the rows of all tables, which have the same columns."""
    return tables[0] if len(tables) == 1 else Union(tuple(tables))


def value_of_event(events: Plan, program: PythonProgram, tag: Expression) -> AggregateCall:
    """Return the call whose value is what each event causes."""
    return AggregateCall(
        AggregateFunction.PROGRAM,
        call("row", tag, *column_refs(events)),
        program.type,
        nullable=True,
        python=program.name,
    )


def run_program(
    events: Plan, program: PythonProgram, value: AggregateCall, key: tuple[Expression, ...]
) -> Plan:
    """Return the rows that events cause; `value` is that of `value_of_event`."""
    plan: Plan = Over(events, key, (OverCall(value, FrameEnd.CURRENT_ROW),), ("event",))
    plan = Unnest(plan, _rows(program, column_refs(plan)[-1]), "row", None)
    row = column_refs(plan)[-1]
    columns = [
        FieldAccess(type_, nullable=True, argument=row, index=index)
        for index, (_, type_) in enumerate(program.loaded.columns)
    ]
    return project(plan, columns, [name for name, _ in program.loaded.columns])


def _rows(program: PythonProgram, value: Expression) -> Expression:
    """Return the rows of the value of an event, or its failure."""
    rows, failure = (
        FieldAccess(type_, nullable=True, argument=value, index=index)
        for index, type_ in enumerate(program.type.field_types)
    )
    failed = call(program.failed.name, failure)
    return make_case([(call("is_null", failure), rows)], failed)
