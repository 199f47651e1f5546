"""Timers of MATCH_RECOGNIZE: rows that advance the time of a partition if no further row arrives.

With WITHIN, there is one for each time at which a match may begin, held until matches from there expire.
Without it, each partition has a timer at the end of the input.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from fsql.compiler.binder.row_patterns.navigations import FIRST_FIELD
from fsql.compiler.expression import (
    AggregateCall,
    AggregateFunction,
    Case,
    ColumnRef,
    Expression,
    Literal,
)
from fsql.compiler.functions.calls import call, combine_balanced
from fsql.compiler.functions.null_safe import instead_of_null
from fsql.compiler.logical import AssignSessions, FrameEnd, Over, OverCall, Plan, Project
from fsql.compiler.planner.rows import column_refs, filter_relation
from fsql.compiler.row_matching.automaton import automaton_of
from fsql.compiler.sqltypes import BIGINT, BOOLEAN, INTERVAL, TIMESTAMP_MAX

if TYPE_CHECKING:
    from fsql.compiler.bound.source_spans import SourceSpans
    from fsql.compiler.row_pattern import RowPattern
    from fsql.compiler.schema import Column
    from fsql.compiler.text.source import Span


_FALSE: Final = Literal(BOOLEAN, nullable=False, value=False)
_MICROSECOND: Final = 1


class MatchInput(NamedTuple):
    """Rows in the order of time within each partition, and the parts of them that MATCH_RECOGNIZE reads."""

    plan: Plan
    keys: tuple[Expression, ...]
    key_columns: tuple[Column, ...]
    time: int
    span: Span


def timers(
    rows: MatchInput,
    pattern: RowPattern,
    fields: tuple[Expression, ...],
    like: Project,
    spans: SourceSpans,
) -> Plan:
    """Return the timers, with the columns of `like`."""
    plan, within = rows.plan, pattern.within_us
    time = column_refs(plan)[rows.time]
    names = ("first", "end", *like.names[len(like.names) - len(rows.keys) :])
    type_ = time.type.without_fraction
    end: Expression = Literal(type_, nullable=False, value=TIMESTAMP_MAX)
    if within is None:
        plan = _first_of_each(rows, spans)
    else:
        latest = TIMESTAMP_MAX - within - _MICROSECOND
        length = Literal(INTERVAL, nullable=False, value=within + _MICROSECOND)
        plan = filter_relation(plan, _begins(pattern, fields))
        near_end = call("gt", time, Literal(type_, nullable=False, value=latest))
        end = Case(
            type_,
            nullable=False,
            branches=((near_end, end),),
            otherwise=call("add", time, length),
        )
    marks = Project(plan, (time, end, *rows.keys), names)
    columns = column_refs(marks)
    # There is a session for each time of a partition: it ends when matches that begin at that time do.
    partition = tuple(columns[2:]) if within is None else (*columns[2:], columns[0])
    held = AssignSessions(marks, partition, 0, 1)
    spans.add(held, rows.span)
    made = column_refs(held)
    fills = [
        Literal(each.type, nullable=True, value=None)
        if each.nullable
        else instead_of_null(each.type)
        for each in like.schema[FIRST_FIELD : len(like.names) - len(rows.keys)]
    ]
    timer = (_FALSE, made[len(columns) + 1], *fills, *made[2 : len(columns)])
    return Project(held, timer, like.names)


def _begins(pattern: RowPattern, fields: tuple[Expression, ...]) -> list[Expression]:
    """Return a condition for rows with which a match may begin; none if it depends on more than the row."""
    automaton = automaton_of(pattern.pattern)
    variables = dict.fromkeys(automaton.variables[state] for state in automaton.begin)
    found: list[Expression] = []
    for each in variables:
        condition = pattern.conditions[each]
        if (
            not isinstance(condition, ColumnRef)
            or not FIRST_FIELD <= condition.index < len(fields) + FIRST_FIELD
        ):
            return []
        found.append(fields[condition.index - FIRST_FIELD])
    return [combine_balanced("or", found)]


def _first_of_each(rows: MatchInput, spans: SourceSpans) -> Plan:
    """Return the first row of each partition."""
    count = AggregateCall(AggregateFunction.COUNT, None, BIGINT, nullable=False)
    spans.add(count, rows.span)
    running = (OverCall(count, FrameEnd.CURRENT_ROW),)
    counted = Over(rows.plan, rows.keys, running, ("number",))
    one = Literal(BIGINT, nullable=False, value=1)
    return filter_relation(counted, [call("eq", column_refs(counted)[-1], one)])
