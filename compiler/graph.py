"""The drifting-state graph: `Map`, `Broadcast`, `Merge`, `Grouping`, between `Source` and `Sink`.

A vertex lists its inputs; a cycle is an input that comes later in `Graph.vertices` (always an input of the
`Merge` before a `Grouping`).  Map functions, below, have no state: it is an item that flows around the cycle

    input ─▶ Merge ─▶ Grouping(window 2) ─▶ Map(combine) ─▶ Broadcast ─┬─▶ Map(finish) ─▶ output
               ▲                                                        │
               └────────────────────────────────────────────────────────┘

Combine is applied to `(item)`, `(state, item)` or `(item, state)`; it drops the last, which is a state after
the item that made it.  It returns a state with the rows that its last item caused; finish returns these rows.
`fsql.runtime.model` executes the cycle literally, a tick plan as one fold (FlameStream (2018), 2.2 to 2.7).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from fsql.compiler.logical import JoinKind
from fsql.compiler.node import Node
from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import TIMESTAMP

if TYPE_CHECKING:
    from fsql.compiler.expression import AggregateCall, Expression
    from fsql.compiler.logical import (
        OrderKey,
        OverCall,
        RankFunction,
        SinkTable,
        Table,
        TimeRange,
        WindowBound,
    )
    from fsql.compiler.schema import Schema
    from fsql.compiler.sqltypes import SqlType


@dataclass(frozen=True, eq=False)
class MapFunction(Node):
    """The base of the functions of Map: a pure function from one item to any number of items.

    A row whose expression fails becomes an error row at its own position, with its weight.
    """


@dataclass(frozen=True, eq=False)
class Select(MapFunction):
    """Keep the row where `predicate` is TRUE.  (`logical.Filter`)."""

    predicate: Expression


@dataclass(frozen=True, eq=False)
class Compute(MapFunction):
    """Compute a row of `expressions`.  (`logical.Project`)."""

    expressions: tuple[Expression, ...]


@dataclass(frozen=True, eq=False)
class Explode(MapFunction):
    """One row for each element of `array`; appends its index to the path.  (`logical.Unnest`)."""

    array: Expression
    ordinality: bool


@dataclass(frozen=True, eq=False)
class ExplodeAggregate(MapFunction):
    """Aggregate the row's own array; appends the group's index.  (`logical.LateralAggregate`)."""

    array: Expression
    ordinality: bool
    predicate: Expression | None
    keys: tuple[Expression, ...]
    aggregates: tuple[AggregateCall, ...]


@dataclass(frozen=True, eq=False)
class ToWindows(MapFunction):
    """One row for each window it is in; appends the window's index.  (`logical.AssignWindows`)."""

    time_column: int
    size_us: int
    slide_us: int
    offset_us: int
    zone: str = "UTC"


@dataclass(frozen=True, eq=False)
class ToSlices(MapFunction):
    """The row once, for all windows that it is in, which are those of `ToWindows`.

    Appends the columns of `ToWindows`, for the first window, then the end of the last one.  With `until`, a
    column, it is not in windows that end after its value.  Appends 0, the index of the first, to the path.
    """

    time_column: int
    size_us: int
    slide_us: int
    offset_us: int
    until: int | None = None
    zone: ClassVar[str] = "UTC"


@dataclass(frozen=True, eq=False)
class ToExpiry(MapFunction):
    """Append the time at which the row can no longer be joined.  (`logical.AssignExpiry`)."""

    time_column: int
    wait_us: int
    delay_us: int
    grain_us: int


@dataclass(frozen=True, eq=False)
class Expired(MapFunction):
    """Keep the row if nothing can be joined with it any more when it comes.  (`logical.CountLateRows`)."""

    time_column: int
    wait_us: int
    delay_us: int
    grain_us: int


@dataclass(frozen=True, eq=False)
class ToRowTime(MapFunction):
    """Append the time of the row's root position.  (`logical.AssignRowTime`)."""

    type: SqlType = TIMESTAMP


@dataclass(frozen=True, eq=False)
class ToRoot(MapFunction):
    """Append the time and the origin of the row's root position, by which changes are collected."""


@dataclass(frozen=True, eq=False)
class ToParts(MapFunction):
    """Append the part of the row's key (`logical.HotKeys`): 0, or for a hot key one of `parts` other numbers.

    With `copied`, a row with a hot key becomes a row for each; otherwise its position determines the one.
    """

    key: Expression
    values: tuple[int | str, ...]
    parts: int
    copied: bool


@dataclass(frozen=True, eq=False)
class ScanRows(MapFunction):
    """Append `ordinal`, the number of the scan, to the path.  (`logical.Scan`)."""

    ordinal: int


@dataclass(frozen=True, eq=False)
class Renumber(MapFunction):
    """Replace the path, which is the number of a scan, by `ordinal`: the rows become those of a copy."""

    ordinal: int


@dataclass(frozen=True, eq=False)
class Pad(MapFunction):
    """Pad the path with -1 to `depth`, so that it compares with the other branches of a merge."""

    depth: int


@dataclass(frozen=True, eq=False)
class Closing(Node):
    """When the windows of a grouping close: see `logical.close_time`."""

    window_end: int
    delay_us: int
    grain_us: int


@dataclass(frozen=True, eq=False)
class SessionClosing(Closing):
    """When sessions close: see `logical.session_close_time`.

    A row may be the last of its session, so its bucket gets a punctuation, if that does not precede the row.
    """


@dataclass(frozen=True, eq=False)
class SliceClosing(Closing):
    """When the windows of slices close: those that end at `window_end`, `slide_us` later, … `last_end`.

    Ends of windows are `end_offset_us` plus multiples of the slide.
    """

    last_end: int
    slide_us: int
    end_offset_us: int


@dataclass(frozen=True, eq=False)
class OnTimeSlices(MapFunction):
    """Keep the row if a window of it closes after it; `window_end` becomes that of the first such window."""

    closing: SliceClosing


@dataclass(frozen=True, eq=False)
class LateWindows(MapFunction):
    """The row once for each window that closes before it: what `Late` keeps of the rows of `ToWindows`.

    `bounds` has the columns with bounds of windows.  The end of the last window, the last column, is dropped.
    """

    closing: SliceClosing
    size_us: int
    bounds: tuple[tuple[int, WindowBound], ...]


@dataclass(frozen=True, eq=False)
class OnTime(MapFunction):
    """Keep the row if its root is not above the position at which its window closes."""

    closing: Closing


@dataclass(frozen=True, eq=False)
class Late(MapFunction):
    """Keep exactly the rows that `OnTime` drops."""

    closing: Closing


@dataclass(frozen=True, eq=False)
class Combine(MapFunction):
    """The base of the functions that combine a state and a row: one for each stateful operator."""

    @property
    def by_root(self) -> bool:
        """Return whether rows go by those that follow at their own roots."""
        return False


@dataclass(frozen=True, eq=False)
class CombineAggregate(Combine):
    """`logical.Aggregate`, and `logical.WindowAggregate` where `closing` is given.

    `scan_number` is the path of the rows it makes.  With `final` the row comes with the punctuation.
    With `idle_us` the state of a group may be dropped that long after its last row.
    """

    keys: tuple[Expression, ...]
    aggregates: tuple[AggregateCall, ...]
    scan_number: int
    input_append_only: bool
    closing: Closing | None
    final: bool
    idle_us: int | None = None


@dataclass(frozen=True, eq=False)
class CombineSlices(Combine):
    """`logical.WindowAggregate` over windows that overlap, from rows that are once for all of their windows.

    A **slice** of a key consists of the rows with one first and one last window.  `keys` are those of the
    rows that it makes, of which `bounds` has for each which bound of the window it is, None for the others:
    these are the `partition`.
    """

    keys: tuple[Expression, ...]
    bounds: tuple[WindowBound | None, ...]
    aggregates: tuple[AggregateCall, ...]
    scan_number: int
    closing: SliceClosing
    size_us: int
    final: ClassVar[bool] = True
    input_append_only: ClassVar[bool] = True

    @property
    def partition(self) -> tuple[Expression, ...]:
        """Return the keys that do not depend on the window."""
        pairs = zip(self.keys, self.bounds, strict=True)
        return tuple(key for key, bound in pairs if bound is None)


@dataclass(frozen=True, eq=False)
class CombineChanges(Combine):
    """`logical.ApplyChanges`.  Where neither `present` nor `whole` is TRUE, `values` are NULL."""

    keys: tuple[Expression, ...]
    present: Expression
    values: tuple[Expression, ...]
    scan_number: int
    counted: bool = False
    unavailable: Expression | None = None
    marks: tuple[int, ...] = ()
    whole: Expression | None = None
    compared: tuple[int, ...] = ()
    closing: ClassVar[None] = None
    final: ClassVar[bool] = False


@dataclass(frozen=True, eq=False)
class CombineChangelog(Combine):
    """`logical.ToChangelog`, of rows that end with their root; each root is a bucket."""

    keys: tuple[Expression, ...]
    label_key: tuple[int, ...] | None
    scan_number: int

    @property
    def by_root(self) -> bool:
        """Return whether rows go by those that follow at their own roots: changes add up there."""
        return True


@dataclass(frozen=True, eq=False)
class CombineOver(Combine):
    """`logical.Over`.  With `idle_us` a partition may be dropped that long after its last row."""

    partition: tuple[Expression, ...]
    calls: tuple[OverCall, ...]
    may_tie: bool
    idle_us: int | None = None

    @property
    def by_root(self) -> bool:
        """Return whether rows depend on those that follow at their own roots: their peers."""
        return any(call.time is not None for call in self.calls)


@dataclass(frozen=True, eq=False)
class CombineSessions(Combine):
    """`logical.AssignSessions`.  A late row comes at its own root, with NULL for the session's bounds.

    `closing.window_end` is the column with the end of a session that has the row alone, `order_column` what
    orders the rows of a session before their positions in the total order.
    """

    partition: tuple[Expression, ...]
    time_column: int
    closing: SessionClosing
    order_column: int | None = None


@dataclass(frozen=True, eq=False)
class CombineRank(Combine):
    """`logical.Rank`.  `ranked` states whether the rows have their rank.

    With `by_position`, rows of equal order are ranked by position, at which rows tie if `may_tie`; otherwise
    by their columns.  `scan_number` is the path of the rows it makes.
    """

    partition: tuple[Expression, ...]
    order: tuple[OrderKey, ...]
    function: RankFunction
    ranked: bool
    skipped: int
    limit: int | None
    scan_number: int
    by_position: bool
    may_tie: bool
    closing: Closing | None
    final: bool


@dataclass(frozen=True, eq=False)
class CombineJoin(Combine):
    """`logical.Join`.  The cycle's Merge has three inputs: left, right, and the back edge.

    Rows with a NULL key are left out; an outer join has keys that are not NULL on the sides that it keeps.
    With `closing` a key, the one at `window_end`, is a bound of windows of both sides, and the closing of a
    window only frees its state.  For `by_position` (hot keys), `once`, `condition` and `broadcast` see
    `logical.Join`.
    """

    left_keys: tuple[Expression, ...]
    right_keys: tuple[Expression, ...]
    left_width: int
    right_width: int
    left_depth: int
    right_depth: int
    time_range: TimeRange | None
    delay_us: int
    grain_us: int
    input_append_only: bool
    kind: JoinKind = JoinKind.INNER
    closing: Closing | None = None
    by_position: bool = False
    once: bool = False
    condition: Expression | None = None
    broadcast: bool = False


@dataclass(frozen=True, eq=False)
class Side(MapFunction):
    """Mark a row as of the left (0) or the right (1) side of a join."""

    side: int


@dataclass(frozen=True, eq=False)
class Finish(MapFunction):
    """Return the rows that the last item of a state caused; `combine` made the state."""

    combine: Combine


@dataclass(frozen=True, eq=False)
class Operation(Node):
    """The base of the operations of vertices."""


@dataclass(frozen=True, eq=False)
class Source(Operation):
    """The rows of a table, from all its fronts; path ()."""

    table: Table


@dataclass(frozen=True, eq=False)
class Map(Operation):
    """Apply `function` to each item."""

    function: MapFunction


@dataclass(frozen=True, eq=False)
class Broadcast(Operation):
    """Send each item to every vertex that has this one as an input."""


@dataclass(frozen=True, eq=False)
class Merge(Operation):
    """Pass on the items of all inputs."""


@dataclass(frozen=True, eq=False)
class Grouping(Operation):
    """Bucket items by `keys`; for each item in order, the tuple of the last `window` items.

    `keys` are those of each side (two of a join, whose rows with a NULL key enter none); a state goes with
    the item that made it.  With `closing`, a bucket has its punctuation from the start (`SessionClosing`:
    several), with `by_root` one after each root; with `right_first`, a root's rows of the right come first.
    """

    keys: tuple[tuple[Expression, ...], ...]
    window: int
    closing: Closing | None
    by_root: bool = False
    right_first: bool = False


@dataclass(frozen=True, eq=False)
class Sink(Operation):
    """The barrier's port for the rows of INSERT number `insert`; `may_tie`: two may share a position."""

    insert: int
    table: SinkTable
    append_only: bool
    may_tie: bool


@dataclass(frozen=True, eq=False)
class LateSink(Operation):
    """The barrier's port for late rows: they are counted, and written if the sink has a `late_path`."""

    window: int


@dataclass(frozen=True)
class Vertex:
    """One operation in the graph.  `inputs` are indexes of vertices; `schema` and `depth` of its rows.

    `origin` names its logical operator for display, `cycle` its cycle, and `operator` that cycle's stable id.
    """

    operation: Operation
    inputs: tuple[int, ...]
    schema: Schema
    depth: int
    origin: str
    cycle: int | None = None
    operator: str | None = None


@dataclass(frozen=True)
class Graph:
    """The vertices; inputs come before their readers, except for the back edge of a cycle."""

    vertices: tuple[Vertex, ...]

    def readers(self, index: int) -> tuple[int, ...]:
        """Return the indexes of the vertices that read vertex `index`."""
        return tuple(i for i, vertex in enumerate(self.vertices) if index in vertex.inputs)
