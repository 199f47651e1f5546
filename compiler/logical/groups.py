"""Operators that aggregate: over the rows of a group, or over all rows up to each row."""

from __future__ import annotations

import enum
from dataclasses import replace
from functools import cached_property

from fsql.compiler.expression import AggregateCall, ColumnRef, Expression
from fsql.compiler.functions.documents import json_texts, json_texts_of_aggregate
from fsql.compiler.logical.plan import Plan
from fsql.compiler.node import Node
from fsql.compiler.records import dataclass
from fsql.compiler.schema import Column, JsonTexts, Schema


@dataclass(frozen=True, eq=False)
class LateralAggregate(Plan):
    """An aggregate over each input row's own array: `LATERAL (SELECT … FROM UNNEST(array) … GROUP BY …)`.

    For each input row separately: unnest `array` as `Unnest` does (NULL counts as empty), keep the
    elements where `predicate` is TRUE (None: all), group them by `keys`, aggregate.  `predicate`,
    `keys` and the aggregates' arguments are over the input's columns followed by element and, if
    `ordinality`, ordinal (from 1, BIGINT).  Without keys there is exactly one group, which may be empty.
    ARRAY_AGG keeps the order of the elements.  Groups are in the order of their first elements.
    Output: the input's columns, the keys, the aggregates.  Path: the group's index is appended.
    """

    input: Plan
    array: Expression
    ordinality: bool
    predicate: Expression | None
    keys: tuple[Expression, ...]
    key_names: tuple[str, ...]
    aggregates: tuple[AggregateCall, ...]
    aggregate_names: tuple[str, ...]

    @cached_property
    def schema(self) -> Schema:
        """Return the input's columns, the keys and the aggregates."""
        return (
            *self.input.schema,
            *group_columns(
                self.input, self.keys, self.key_names, self.aggregates, self.aggregate_names
            ),
        )


@dataclass(frozen=True, eq=False)
class Aggregate(Plan):
    """The unbounded, updating aggregate: GROUP BY … EMIT CHANGES without a window.

    A group exists while the weights of its rows add up to more than 0, even without keys.  Each root position
    that changes a group's row retracts the old row and adds the new one.  With `idle_us`, successive rows of
    a group are at most that far apart, in the time of their roots, so the state of a group is freed after
    that time.  The input is then append-only, and the last key distinguishes the groups that have the other
    keys in common.
    Output: keys, aggregates.  Path: `(least scan number below,)`; the barrier orders rows within a root.
    """

    input: Plan
    keys: tuple[Expression, ...]
    key_names: tuple[str, ...]
    aggregates: tuple[AggregateCall, ...]
    aggregate_names: tuple[str, ...]
    idle_us: int | None = None

    @cached_property
    def schema(self) -> Schema:
        """Return the keys and the aggregates."""
        return group_columns(
            self.input, self.keys, self.key_names, self.aggregates, self.aggregate_names
        )


@dataclass(frozen=True, eq=False)
class WindowAggregate(Plan):
    """An aggregate of windowed rows: GROUP BY keys that include the window's end.

    The window of a row ends at `window_end` (an index into the input's columns) and closes at the
    position of the punctuation that reaches it: (`close_time`, PUNCTUATION) with that column's delay
    (`delays`).  A row after that position is late: it is dropped here and counted, never an error.
    With `final`, the group's row is emitted once, at that position; ties are ordered by their own columns.
    Otherwise the groups are updating, as in `Aggregate`, until the window closes, which only frees the
    state.  With `counted_below`, `CountLateRows` below it counts the late rows.  With `shown_us`, a multiple
    of the grain, a window closes this long after its end, whatever the delay of the column: rows are late
    when it is not shown any more.
    Output: keys, aggregates.  Path: `(least scan number below,)`.
    """

    input: Plan
    keys: tuple[Expression, ...]
    key_names: tuple[str, ...]
    aggregates: tuple[AggregateCall, ...]
    aggregate_names: tuple[str, ...]
    window_end: int
    final: bool
    counted_below: bool = False
    shown_us: int | None = None

    @cached_property
    def schema(self) -> Schema:
        """Return the keys and the aggregates; keys that are event time stay so when final."""
        below = self.input.schema
        columns = group_columns(
            self.input, self.keys, self.key_names, self.aggregates, self.aggregate_names
        )
        return tuple(
            replace(column, time_attribute=time)
            for column, time in zip(
                columns,
                [
                    self.final and isinstance(key, ColumnRef) and below[key.index].time_attribute
                    for key in (*self.keys, *(None for _ in self.aggregates))
                ],
                strict=True,
            )
        )


class FrameEnd(enum.Enum):
    """The end of a running frame: the row itself, or the row before it."""

    CURRENT_ROW = 0
    ONE_PRECEDING = 1


@dataclass(frozen=True, eq=False)
class OverCall(Node):
    """One running aggregate of `Over`: the rows of its frame, which ends at `frame_end`.

    It begins `preceding` rows before the row, or with the first row of the partition.  With `time`, an event
    time that ascends within each partition, `preceding` is in microseconds, and the frame ends with the last
    row of the same time; rows of one time have one root.  A frame ends `end_preceding` rows, or microseconds,
    before the row: for LAG it is a single row.  Numbers of rows may be negative, for FOLLOWING; then the
    frame is that of the row `delay` rows earlier, so that all of its rows have arrived, and is empty if
    there is no such row.
    """

    aggregate: AggregateCall
    frame_end: FrameEnd
    preceding: int | None = None
    time: Expression | None = None
    end_preceding: int = 0
    delay: int = 0

    @property
    def is_running(self) -> bool:
        """Return whether the frame begins with the partition, ends at its row, and has no peers."""
        bounded = self.preceding is not None or self.time is not None
        return not bounded and not self.end_preceding and not self.delay


@dataclass(frozen=True, eq=False)
class Over(Plan):
    """Running aggregates: `… OVER (PARTITION BY partition ROWS UNBOUNDED PRECEDING)`.

    For each row of the append-only input, its columns and the value of each call over the rows of its
    partition so far, in the total order; rows that share a position by their own columns (so none of
    the input's columns may be pruned where rows can tie).  Path: unchanged.
    With `idle_us`, the state of a partition may be dropped that long after its last row, in the time of
    roots; readers of the calls must not depend on whether it was.
    """

    input: Plan
    partition: tuple[Expression, ...]
    calls: tuple[OverCall, ...]
    names: tuple[str, ...]
    idle_us: int | None = None

    @cached_property
    def schema(self) -> Schema:
        """Return the input's columns and one for each call."""
        return (
            *self.input.schema,
            *(
                Column(name, call.aggregate.type, nullable=call.aggregate.nullable)
                for name, call in zip(self.names, self.calls, strict=True)
            ),
        )


def group_columns(
    below: Plan,
    keys: tuple[Expression, ...],
    key_names: tuple[str, ...],
    aggregates: tuple[AggregateCall, ...],
    aggregate_names: tuple[str, ...],
) -> Schema:
    """Return the columns of groups: their keys, then their aggregates."""
    values: tuple[Expression | AggregateCall, ...] = (*keys, *aggregates)
    columns = below.schema

    def texts_of(value: Expression | AggregateCall) -> JsonTexts:
        if isinstance(value, AggregateCall):
            return json_texts_of_aggregate(value, texts_of_column)
        return json_texts(value, texts_of_column)

    def texts_of_column(value: Expression) -> JsonTexts:
        # The elements of LATERAL are columns after those of the input.
        if not isinstance(value, ColumnRef) or value.index >= len(columns):
            return False
        return columns[value.index].document

    return tuple(
        Column(name, value.type, nullable=value.nullable, document=texts_of(value))
        for name, value in zip((*key_names, *aggregate_names), values, strict=True)
    )
