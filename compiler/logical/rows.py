"""Operators that process one row at a time."""

from __future__ import annotations

import enum
from functools import cached_property
from typing import TYPE_CHECKING, Final

from fsql.compiler.expression import Call, Cast, ColumnRef, Expression, Literal
from fsql.compiler.functions.coercion import coercible
from fsql.compiler.functions.documents import json_texts
from fsql.compiler.functions.event_times import TIME_BEFORE
from fsql.compiler.functions.time_zones import zone_of
from fsql.compiler.logical.plan import Plan, time_type
from fsql.compiler.records import dataclass
from fsql.compiler.schema import Column, Schema
from fsql.compiler.sqltypes import BIGINT, TIMESTAMP, TIMESTAMP_MAX, Kind, SqlType

if TYPE_CHECKING:
    from fsql.compiler.logical.declared import Table


@dataclass(frozen=True, eq=False)
class Scan(Plan):
    """The rows of a table, with weight +1, as emitted by its fronts.

    Path: `(scan number,)`.  The scans of an INSERT's query are numbered from 0 in the order of its text, with
    views expanded; so all rows that the first scan derives from an input row precede those of the second.
    Subqueries in the expressions of a SELECT are numbered after its FROM.
    """

    table: Table
    scan_number: int

    @cached_property
    def schema(self) -> Schema:
        """Return the table's physical columns, and the time of the row if it is requested."""
        return self.table.schema


@dataclass(frozen=True, eq=False)
class Filter(Plan):
    """The rows for which `predicate` is TRUE.  Path: unchanged."""

    input: Plan
    predicate: Expression

    @cached_property
    def schema(self) -> Schema:
        """Return the input's columns."""
        return self.input.schema


@dataclass(frozen=True, eq=False)
class Project(Plan):
    """One row of `expressions` for each input row.  Path: unchanged."""

    input: Plan
    expressions: tuple[Expression, ...]
    names: tuple[str, ...]

    @cached_property
    def schema(self) -> Schema:
        """Return a column for each expression.

        A bare reference to event time remains event time, which is never NULL; so does its cast to more
        digits of fraction, a time at most a constant before it, the GREATEST of several event times, and the
        expression that the table declares.
        """
        below = self.input.schema
        declared = declared_event_time(self.input)
        columns = []
        for name, expression in zip(self.names, self.expressions, strict=True):
            passed = [passed_time(each) for each in latest_of(expression)]
            time = expression is declared or all(
                each is not None and below[each.index].time_attribute for each in passed
            )
            time = time and not (len(passed) > 1 and expression.nullable)
            nullable = expression.nullable and expression is not declared
            document = json_texts(
                expression,
                lambda value: isinstance(value, ColumnRef) and below[value.index].document,
            )
            columns.append(Column(name, expression.type, nullable, time, document))
        return tuple(columns)


@dataclass(frozen=True, eq=False)
class Unnest(Plan):
    """For each input row, one row for each element of `array`: the input's columns, then the element.

    With `ordinality_name`, the element's ordinal follows, from 1 (BIGINT).  A NULL or empty array gives no
    row.  Path: the element's index from 0 is appended.
    """

    input: Plan
    array: Expression
    element_name: str
    ordinality_name: str | None

    @cached_property
    def schema(self) -> Schema:
        """Return the input's columns, the element, and the ordinal if requested."""
        assert self.array.type.element is not None
        added: Schema = (Column(self.element_name, self.array.type.element),)
        if self.ordinality_name is not None:
            added = (*added, Column(self.ordinality_name, BIGINT, nullable=False))
        return (*self.input.schema, *added)


class WindowBound(enum.Enum):
    """Which bound of a window a column holds, and its name, in the order of the columns."""

    START = "window_start"
    END = "window_end"
    TIME = "window_time"


@dataclass(frozen=True, eq=False)
class AssignWindows(Plan):
    """Each row once for each window `[start, start + size)` with `start = offset + k * slide` it is in.

    Adds `window_start`, `window_end` and `window_time` (the end less 1 microsecond), of the type of the
    time.  `time_column` is the index of a time that is never NULL.  If it is event time, so are the last two;
    windows of rows that can be retracted are over another time, and never close.
    Windows are in ascending order of start.  Path: the window's index from 0 is appended.

    Windows of TIMESTAMP_LTZ are in local time: a window begins when a clock in the zone first shows its
    start, and ends when the clock will never again show a time before its end.  So it is longer if the clock
    is set back.
    """

    input: Plan
    time_column: int
    size_us: int
    slide_us: int
    offset_us: int = 0

    @property
    def known_by_one_bound(self) -> bool:
        """Return whether the windows of a row differ in each bound.

        Overlapping windows may begin or end at the same time where the clock is set forward and skips their
        bounds.
        """
        return self.size_us <= self.slide_us or not zone_of(self.zone).transitions

    @property
    def over_event_time(self) -> bool:
        """Return whether the windows close."""
        return self.input.schema[self.time_column].time_attribute

    @property
    def zone(self) -> str:
        """Return the time zone of windows in local time."""
        return time_type(self.input, self.time_column).zone or "UTC"

    @cached_property
    def schema(self) -> Schema:
        """Return the input's columns, then the window's three."""
        type_ = time_type(self.input, self.time_column)
        return (
            *self.input.schema,
            Column("window_start", type_, nullable=False),
            Column("window_end", type_, nullable=False, time_attribute=self.over_event_time),
            Column("window_time", type_, nullable=False, time_attribute=self.over_event_time),
        )


@dataclass(frozen=True, eq=False)
class AssignExpiry(Plan):
    """Each row with the watermark from which on it can no longer be joined.

    Adds `expires`, event time with the delay `delay_us`: the greater of the row's time plus `wait_us` and the
    watermark at its root, by `delay_us` and `grain_us`, plus 1 microsecond.  So the window that ends there
    closes after the row, however late the row is.  `time_column` is the index of an event-time column that is
    never NULL.  Output: the input's columns, of which only that one is still event time, then `expires`.
    Path: unchanged.
    """

    input: Plan
    time_column: int
    wait_us: int
    delay_us: int
    grain_us: int

    @cached_property
    def schema(self) -> Schema:
        """Return the input's columns, then the time."""
        type_ = time_type(self.input, self.time_column)
        return (
            *(
                each.without_time if index != self.time_column else each
                for index, each in enumerate(self.input.schema)
            ),
            Column("expires", type_, nullable=False, time_attribute=True),
        )


REACHED: Final = -1
"""The wait of a row that is late as soon as the watermark is at its time: times have whole microseconds."""


@dataclass(frozen=True, eq=False)
class CountLateRows(Plan):
    """The rows of a side of a join with a time range; those that nothing can be joined with are late as well.

    A row is late if the watermark at its root, by `delay_us` and `grain_us`, is beyond its time plus
    `wait_us`: the join then drops each of its pairs, of rows before it and after it.  If that is `REACHED`,
    the time is the end of the row's window, and the row is late if the watermark has reached it.  Late rows
    are counted, and written if the sink has a `late_path`; the output has them like all others.  So filters
    may move to above this operator, but not below it.  `time_column` is the index of an event-time column
    that is never NULL.  Output and path: unchanged.
    """

    input: Plan
    time_column: int
    wait_us: int
    delay_us: int
    grain_us: int

    @property
    def schema(self) -> Schema:
        """Return the input's columns."""
        return self.input.schema


@dataclass(frozen=True, eq=False)
class AssignRowTime(Plan):
    """Each row with `row_time`, the time of its root position, which is event time with the delay 0.

    All tables below have event time or arrival times, or all are at rest if `at_rest`: their time is before
    all others.  Output: the input's columns, then that time, a TIMESTAMP of the given type.
    A position after all timestamps has the greatest of them.  Path: unchanged.
    """

    input: Plan
    type: SqlType = TIMESTAMP
    at_rest: bool = False

    @cached_property
    def schema(self) -> Schema:
        """Return the input's columns, then the time."""
        return (
            *self.input.schema,
            Column("row_time", self.type, nullable=False, time_attribute=True),
        )


@dataclass(frozen=True, eq=False)
class AssignEnd(Plan):
    """Each row with `end_of_input`, the greatest possible time, as event time that no watermark reaches.

    So a window that ends there has all rows, and closes after the last of them, at the end of the input; its
    rows may be retracted before.  Output: the input's columns, then that time.  Path: unchanged.
    """

    input: Plan

    @cached_property
    def schema(self) -> Schema:
        """Return the input's columns, then the end."""
        return (
            *self.input.schema,
            Column("end_of_input", TIMESTAMP, nullable=False, time_attribute=True),
        )

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """Return the value of each column."""
        columns = (
            ColumnRef(column.type, column.nullable, index)
            for index, column in enumerate(self.input.schema)
        )
        return (*columns, Literal(TIMESTAMP, nullable=False, value=TIMESTAMP_MAX))


def passed_time(expression: Expression) -> ColumnRef | None:
    """Return the column that gives event time to an expression, if it is event time.

    The expression refers to it, casts it to more digits of fraction, or is a time before it by a constant.
    """
    inner = expression
    if isinstance(expression, Cast) and expression.type.kind is Kind.TIMESTAMP:
        given = expression.argument.type
        same_kind = given.kind is Kind.TIMESTAMP and given.zone == expression.type.zone
        if same_kind and coercible(given, expression.type):
            inner = expression.argument
    if isinstance(inner, Call) and inner.function == TIME_BEFORE:
        inner = inner.arguments[1]
    return inner if isinstance(inner, ColumnRef) else None


def latest_of(expression: Expression) -> tuple[Expression, ...]:
    """Return the times of which an expression is the greatest: the expression itself if it is no GREATEST."""
    if isinstance(expression, Call) and expression.function == "greatest":
        return expression.arguments
    return (expression,)


def behind_us(expression: Expression) -> int:
    """Return the maximum by which an expression is before its `passed_time`."""
    inner = expression.argument if isinstance(expression, Cast) else expression
    if not isinstance(inner, Call) or inner.function != TIME_BEFORE:
        return 0
    behind = inner.arguments[2]
    assert isinstance(behind, Literal)
    assert isinstance(behind.value, int)
    return behind.value


def declared_event_time(plan: Plan) -> Expression | None:
    """Return event time as the table declares it, over the columns of a scan or of its filter."""
    while isinstance(plan, Filter):
        plan = plan.input
    return plan.table.event_time if isinstance(plan, Scan) else None
