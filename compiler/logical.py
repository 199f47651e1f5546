"""The logical plan: typed relational operators over streams and tables.

Every operator derives its `schema` from its inputs.  Expressions refer to input columns by index.  The
meaning of each operator is given over one totally ordered sequence of weighted rows: a row with weight
-1 takes back an equal row (a retraction, with a position of its own).  A plan without Aggregate and
without a WindowAggregate that emits changes carries +1 rows only; it is *append-only* (`append_only`).

Positions (design 2).  A row's root position is (time, origin); a row that a punctuation caused has the
origin `PUNCTUATION`, which sorts before all rows of that time.  Below the root comes the path.  The
depth of a plan's paths is `depth(plan)`; every operator states what it does to the path.  Paths are
defined on the plan as bound, before any rule, and rules keep the order that they define.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from functools import cached_property

from fsql.compiler.expression import AggregateCall, ColumnRef, Expression
from fsql.compiler.node import Node
from fsql.compiler.schema import Column, Schema
from fsql.compiler.sqltypes import BIGINT, TIMESTAMP


class TimeKind(enum.Enum):
    """What the time of a root position is for the rows of a source (design 2)."""

    EVENT = "event"
    OFFSET = "offset"
    START = "start"


@dataclass(frozen=True, eq=False)
class Table(Node):
    """A source table as declared: its physical columns, its connector, and its time.

    `event_time` is an expression over the physical columns (it may go through a computed column);
    present exactly where `time` is EVENT.  The watermark at a position with time T is
    `floor((T - delay_us) / grain_us) * grain_us`.  `ordinal` numbers the tables of the script in the
    order of their declaration: it is the source part of an origin.
    """

    name: str
    ordinal: int
    columns: Schema
    options: tuple[tuple[str, str], ...]
    time: TimeKind
    event_time: Expression | None = None
    delay_us: int = 0
    grain_us: int = 1_000


@dataclass(frozen=True, eq=False)
class Plan(Node):
    """The base of relational operators."""

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """Return the operators that this one reads."""
        return ()

    @cached_property
    def schema(self) -> Schema:
        """Return the columns of the rows that this operator produces."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Scan(Plan):
    """The rows of a table, +1 each, as the front hands them out.

    Path: `(mention,)`.  The mentions of an INSERT's query are numbered from 0 in the order of its text,
    views expanded; so all that one input row leads to by the first mention precedes the second's.
    """

    table: Table
    mention: int

    @cached_property
    def schema(self) -> Schema:
        """Return the table's physical columns."""
        return self.table.columns


@dataclass(frozen=True, eq=False)
class Filter(Plan):
    """The rows for which `predicate` is TRUE.  Path: unchanged."""

    input: Plan
    predicate: Expression

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """Return the input."""
        return (self.input,)

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

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """Return the input."""
        return (self.input,)

    @cached_property
    def schema(self) -> Schema:
        """Return a column for each expression.

        A bare reference to event time stays event time, and never NULL; so is the expression that the
        table declares for it.
        """
        below = self.input.schema
        declared = declared_event_time(self.input)
        columns = []
        for name, expression in zip(self.names, self.expressions, strict=True):
            time = expression is declared or (
                isinstance(expression, ColumnRef) and below[expression.index].time_attribute
            )
            nullable = expression.nullable and expression is not declared
            columns.append(Column(name, expression.type, nullable=nullable, time_attribute=time))
        return tuple(columns)


@dataclass(frozen=True, eq=False)
class Unnest(Plan):
    """For each input row, one row for each element of `array`: the input's columns, then the element.

    With `ordinality_name`, then the element's ordinal from 1 (BIGINT).  A NULL or empty array gives no
    row.  Path: the element's index from 0 is appended.
    """

    input: Plan
    array: Expression
    element_name: str
    ordinality_name: str | None

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """Return the input."""
        return (self.input,)

    @cached_property
    def schema(self) -> Schema:
        """Return the input's columns, the element, and the ordinal if asked for."""
        assert self.array.type.element is not None
        added: Schema = (Column(self.element_name, self.array.type.element),)
        if self.ordinality_name is not None:
            added = (*added, Column(self.ordinality_name, BIGINT, nullable=False))
        return (*self.input.schema, *added)


@dataclass(frozen=True, eq=False)
class LateralAggregate(Plan):
    """An aggregate over each input row's own array: `LATERAL (SELECT … FROM UNNEST(array) … GROUP BY …)`.

    For each input row by itself: unnest `array` as `Unnest` does (NULL counts as empty), keep the
    elements where `predicate` is TRUE (None: all), group them by `keys`, aggregate.  `predicate`,
    `keys` and the aggregates' arguments are over the input's columns followed by element and, if
    `ordinality`, ordinal (from 1, BIGINT).  Without keys there is exactly one group, empty or not.
    ARRAY_AGG keeps the order of the elements.  Groups come in the order of their first element.
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

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """Return the input."""
        return (self.input,)

    @cached_property
    def schema(self) -> Schema:
        """Return the input's columns, the keys and the aggregates."""
        return (
            *self.input.schema,
            *_group_columns(self.keys, self.key_names, self.aggregates, self.aggregate_names),
        )


@dataclass(frozen=True, eq=False)
class AssignWindows(Plan):
    """Each row once for each window `[start, start + size)` with `start = offset + k * slide` it is in.

    Adds `window_start`, `window_end` and `window_time` (the end less 1 microsecond), all TIMESTAMP; the
    last two are event time.  `time_column` is the index of an event-time column that is never NULL.
    Windows come in ascending order of start.  Path: the window's index from 0 is appended.
    """

    input: Plan
    time_column: int
    size_us: int
    slide_us: int
    offset_us: int = 0

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """Return the input."""
        return (self.input,)

    @cached_property
    def schema(self) -> Schema:
        """Return the input's columns, then the window's three."""
        return (
            *self.input.schema,
            Column("window_start", TIMESTAMP, nullable=False),
            Column("window_end", TIMESTAMP, nullable=False, time_attribute=True),
            Column("window_time", TIMESTAMP, nullable=False, time_attribute=True),
        )


@dataclass(frozen=True, eq=False)
class Aggregate(Plan):
    """The unbounded, updating aggregate: GROUP BY … EMIT CHANGES without a window.

    A group exists while the weights of its rows sum to more than 0, also where there are no keys.  Each
    root position that changes a group's row takes the old row back and adds the new one.
    Output: keys, aggregates.  Path: `(least mention below,)`; order within a root is the barrier's.
    """

    input: Plan
    keys: tuple[Expression, ...]
    key_names: tuple[str, ...]
    aggregates: tuple[AggregateCall, ...]
    aggregate_names: tuple[str, ...]

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """Return the input."""
        return (self.input,)

    @cached_property
    def schema(self) -> Schema:
        """Return the keys and the aggregates."""
        return _group_columns(self.keys, self.key_names, self.aggregates, self.aggregate_names)


@dataclass(frozen=True, eq=False)
class WindowAggregate(Plan):
    """An aggregate of windowed rows: GROUP BY keys that hold the window's end.

    The window of a row ends at `window_end` (an index into the input's columns) and closes at the
    position of the punctuation that reaches it: (`close_time`, PUNCTUATION) with that column's delay
    (`delays`).  A row behind that position is late: it is dropped here and counted, never an error.
    With `final`, the group's row comes once, at that position; ties are ordered by their own columns.
    Otherwise the groups are updating, as in `Aggregate`, until the window closes, which changes nothing
    but frees the state.  Output: keys, aggregates.  Path: `(least mention below,)`.
    """

    input: Plan
    keys: tuple[Expression, ...]
    key_names: tuple[str, ...]
    aggregates: tuple[AggregateCall, ...]
    aggregate_names: tuple[str, ...]
    window_end: int
    final: bool

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """Return the input."""
        return (self.input,)

    @cached_property
    def schema(self) -> Schema:
        """Return the keys and the aggregates; keys that are event time stay so when final."""
        below = self.input.schema
        columns = _group_columns(self.keys, self.key_names, self.aggregates, self.aggregate_names)
        return tuple(
            Column(column.name, column.type, nullable=column.nullable, time_attribute=time)
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
    """Where a running frame ends: with the row itself, or with the one before it."""

    CURRENT_ROW = 0
    ONE_PRECEDING = 1


@dataclass(frozen=True, eq=False)
class OverCall(Node):
    """One running aggregate of `Over`: all rows of the partition up to `frame_end`."""

    aggregate: AggregateCall
    frame_end: FrameEnd


@dataclass(frozen=True, eq=False)
class Over(Plan):
    """Running aggregates: `… OVER (PARTITION BY partition ROWS UNBOUNDED PRECEDING)`.

    For each row of the append-only input, its columns and the value of each call over the rows of its
    partition so far, in the total order; rows that share a position by their own columns (so none of
    the input's columns may be pruned where rows can tie).  Path: unchanged.
    """

    input: Plan
    partition: tuple[Expression, ...]
    calls: tuple[OverCall, ...]
    names: tuple[str, ...]

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """Return the input."""
        return (self.input,)

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


@dataclass(frozen=True, eq=False)
class TimeRange(Node):
    """A bound on a join: `right_time` is in `[left_time + low_us, left_time + high_us]`.

    The columns are event-time columns of the sides, never NULL.  A pair joins only if, at the position
    of its later row, the watermark (with the greater delay of the two columns) is not beyond the
    greatest time that the earlier row could match: `left_time + high_us`, or `right_time - low_us`.
    """

    left_time: int
    right_time: int
    low_us: int
    high_us: int


@dataclass(frozen=True, eq=False)
class Join(Plan):
    """The inner equi-join of two streams: all pairs whose keys are equal and not NULL.

    A pair has the position of its later row, and the product of the weights.  Of two rows with equal
    root and path the left one is the earlier.  Output: the left side's columns, then the right's.
    Path: the later row's, padded with -1 to the deeper side's depth, then the index of the earlier row's
    position among those of the later row's pairs (earlier rows that tie share it: their pairs tie).
    """

    left: Plan
    right: Plan
    left_keys: tuple[Expression, ...]
    right_keys: tuple[Expression, ...]
    time_range: TimeRange | None

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """Return both sides."""
        return (self.left, self.right)

    @cached_property
    def schema(self) -> Schema:
        """Return the columns of both sides.

        Without a time range they are no event time: the earlier row may be of any age.
        """
        both = (*self.left.schema, *self.right.schema)
        if self.time_range is not None:
            return both
        return tuple(Column(each.name, each.type, nullable=each.nullable) for each in both)


@dataclass(frozen=True, eq=False)
class Union(Plan):
    """UNION ALL: the rows of all branches, which have equal types; names are the first branch's.

    Path: each branch's, padded with -1 to the deepest.  (Mentions already put the first branch first.)
    """

    branches: tuple[Plan, ...]

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """Return the branches."""
        return self.branches

    @cached_property
    def schema(self) -> Schema:
        """Return the first branch's names, nullable or event time as all branches allow."""
        first, *others = (branch.schema for branch in self.branches)
        return tuple(
            Column(
                column.name,
                column.type,
                nullable=column.nullable or any(other[i].nullable for other in others),
                time_attribute=column.time_attribute
                and all(other[i].time_attribute for other in others),
            )
            for i, column in enumerate(first)
        )


class Changes(enum.Enum):
    """What a sink is given (language.md, "what a sink is given")."""

    APPEND = "append"
    UPSERT = "upsert"
    RETRACT = "retract"


@dataclass(frozen=True, eq=False)
class SinkTable(Node):
    """A table that is written: its columns, connector options, and how changes are written.

    `key` holds the column indexes by which a removed and an added row of one group are the same row
    (`-U`/`+U`): the PRIMARY KEY for UPSERT, else the key that the query derives (None: no such key).
    It also orders the changes of a group.
    """

    name: str
    columns: Schema
    options: tuple[tuple[str, str], ...]
    changes: Changes
    key: tuple[int, ...] | None
    operation_column: str = "op"


@dataclass(frozen=True, eq=False)
class Insert(Node):
    """`INSERT INTO sink query`; the query's columns have the sink's types, in the sink's order."""

    sink: SinkTable
    query: Plan


@dataclass(frozen=True, eq=False)
class Job(Node):
    """All the INSERTs of a script: one job, in which each table is read once."""

    inserts: tuple[Insert, ...]

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """Return the tables that the job reads, by ordinal."""
        found = {table.ordinal: table for insert in self.inserts for table in tables(insert.query)}
        return tuple(found[ordinal] for ordinal in sorted(found))


def declared_event_time(plan: Plan) -> Expression | None:
    """Return event time as the table declares it, over the columns of a scan or of its filter."""
    while isinstance(plan, Filter):
        plan = plan.input
    return plan.table.event_time if isinstance(plan, Scan) else None


def _group_columns(
    keys: tuple[Expression, ...],
    key_names: tuple[str, ...],
    aggregates: tuple[AggregateCall, ...],
    aggregate_names: tuple[str, ...],
) -> Schema:
    values: tuple[Expression | AggregateCall, ...] = (*keys, *aggregates)
    return tuple(
        Column(name, value.type, nullable=value.nullable)
        for name, value in zip((*key_names, *aggregate_names), values, strict=True)
    )


def operators(plan: Plan) -> tuple[Plan, ...]:
    """Return every operator of `plan`, each once, inputs before the operators that read them."""
    found: dict[Plan, None] = {}
    # A stack of our own, since views make plans deeper than calls should nest.
    waiting: list[tuple[Plan, bool]] = [(plan, False)]
    while waiting:
        node, below_done = waiting.pop()
        if below_done:
            found[node] = None
        elif node not in found:
            waiting.append((node, True))
            waiting.extend((below, False) for below in reversed(node.inputs))
    return tuple(found)


def tables(plan: Plan) -> tuple[Table, ...]:
    """Return the tables that `plan` scans, in the order of their first mention."""
    return tuple(dict.fromkeys(node.table for node in operators(plan) if isinstance(node, Scan)))


def least_mention(plan: Plan) -> int:
    """Return the least mention that `plan` scans."""
    return min(node.mention for node in operators(plan) if isinstance(node, Scan))


def depth(plan: Plan) -> int:
    """Return how many path columns the rows of `plan` have."""
    depths: dict[Plan, int] = {}
    for node in operators(plan):
        below = max((depths[each] for each in node.inputs), default=0)
        match node:
            case Scan() | Aggregate() | WindowAggregate():
                depths[node] = 1
            case Unnest() | LateralAggregate() | AssignWindows() | Join():
                depths[node] = below + 1
            case _:
                depths[node] = below
    return depths[plan]


def grain_us(plan: Plan) -> int:
    """Return the grain of the watermark behind `plan`: the greatest of the tables that it scans."""
    return max(table.grain_us for table in tables(plan))


def append_only(plan: Plan) -> bool:
    """Say whether `plan` never takes a row back."""
    return not any(
        isinstance(node, Aggregate) or (isinstance(node, WindowAggregate) and not node.final)
        for node in operators(plan)
    )


def may_tie(plan: Plan) -> bool:
    """Say whether two rows of the append-only `plan` may share a position (root and path)."""
    return any(isinstance(node, WindowAggregate) for node in operators(plan))


def close_time(window_end_us: int, delay: int, grain: int) -> int:
    """Return the time of the punctuation at which a window that ends at `window_end_us` closes.

    It is the least T whose watermark `floor((T - delay) / grain) * grain` reaches the end.
    """
    return -(-window_end_us // grain) * grain + delay
