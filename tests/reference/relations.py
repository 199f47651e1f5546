"""The operators, each as a function from a prefix of the input to a relation.

A *prefix* is all rows and punctuations at root positions up to a given one.  A relation is a list of
rows.  There are two kinds:

* append-only ones (`logical.append_only`): their rows have positions, root and path, and a longer
  prefix only adds rows with later roots, so the relation of a prefix is the whole one cut off.  With
  `literal`, every prefix is evaluated anew instead.
* updating ones: a bag of rows without positions, evaluated anew for each prefix.

A window is closed in all prefixes that reach its closing position.  A row that fails leaves the
relation and is noted in `errors`, at its root in an append-only relation, else at the prefix's end.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from fsql.compiler import logical
from fsql.compiler.expression import AggregateCall, Expression, Literal
from fsql.compiler.logical import FrameEnd
from fsql.compiler.sqltypes import BOOLEAN, TIMESTAMP
from fsql.tests.reference.aggregates import aggregate
from fsql.tests.reference.delays import behind, up
from fsql.tests.reference.order import normalised, order_key, row_key
from fsql.tests.reference.scalar import FailureError, evaluate, in_range

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from fsql.compiler.expression import Value
    from fsql.tests.reference.order import Key

    Values = tuple[Value, ...]

Root = tuple[int, int]
"""A root position: time and origin."""

PUNCTUATION: Final = -1
ALWAYS: Final = Literal(BOOLEAN, nullable=False, value=True)
END: Final[Root] = (2**63 - 1, 2**63 - 1)
"""Behind every position; also the root of a row that has none."""


class Row(NamedTuple):
    """A row of a relation; `root` and `path` are its position if the relation is append-only."""

    values: Values
    root: Root = END
    path: tuple[int, ...] = ()


class Arguments(NamedTuple):
    """What a row gives to the aggregates of its group, and its place in the order of the group."""

    place: tuple[object, ...]
    values: Values


class Group(NamedTuple):
    """The values of a group's key, and what its rows give."""

    key: Values
    rows: list[Arguments]


def total_order(row: Row) -> tuple[object, ...]:
    """Return what the rows of an append-only relation sort by."""
    return (row.root, row.path, row_key(row.values))


def padded(path: tuple[int, ...], depth: int) -> tuple[int, ...]:
    """Return `path`, filled up with -1."""
    return path + (-1,) * (depth - len(path))


def window_end(plan: logical.WindowAggregate, values: Values) -> int:
    """Return the end of the window that a row is in."""
    end = values[plan.window_end]
    assert isinstance(end, int)
    return end


def closing(plan: logical.WindowAggregate, end: int) -> Root:
    """Return the position at which a window closes: where the watermark reaches its end."""
    grain = logical.grain_us(plan.input)
    time = up(end, grain) + behind(plan.input, plan.window_end)
    return time, PUNCTUATION


def watermark(plan: logical.Join, bounds: logical.TimeRange, time: int) -> int:
    """Return the watermark by which a pair is too late, at a root position with `time`."""
    grain = logical.grain_us(plan)
    delay = max(behind(plan.left, bounds.left_time), behind(plan.right, bounds.right_time))
    return (time - delay) // grain * grain


def elements(array: Value, *, ordinality: bool) -> Iterator[Values]:
    """Yield the columns that UNNEST adds for each element; NULL is empty."""
    if array is not None:
        assert isinstance(array, tuple)
        for ordinal, element in enumerate(array, 1):
            yield (element, ordinal) if ordinality else (element,)


@dataclass
class Relations:
    """The relations of all plans over `rows`, the well-formed rows of each table.

    `errors` are the roots and codes of the failures met so far, `window_ends` the ends of all windows
    that had a row in some relation met so far, late or not.
    """

    rows: Mapping[int, Sequence[Row]]
    literal: bool
    errors: set[tuple[Root, int]]
    window_ends: dict[logical.WindowAggregate, set[int]]
    known: dict[tuple[logical.Plan, Root], Sequence[Row]] = field(default_factory=dict)

    def relation(self, plan: logical.Plan, prefix: Root) -> Sequence[Row]:
        """Return the rows of `plan` for all that is at root positions up to `prefix`."""
        if (plan, prefix) not in self.known:
            if not logical.append_only(plan):
                rows = [Row(row.values) for row in self.compute(plan, prefix)]
            elif self.literal or prefix == END:
                rows = sorted(self.compute(plan, prefix), key=total_order)
            else:
                rows = [row for row in self.relation(plan, END) if row.root <= prefix]
            self.known[plan, prefix] = rows
        return self.known[plan, prefix]

    def compute(self, plan: logical.Plan, prefix: Root) -> Iterator[Row]:
        """Yield the rows of `plan`, in no order that matters."""
        operators: dict[type, Callable[[Any, Root], Iterator[Row]]] = {
            logical.Scan: self.scan,
            logical.Filter: self.filter,
            logical.Project: self.project,
            logical.Unnest: self.unnest,
            logical.LateralAggregate: self.lateral_aggregate,
            logical.AssignWindows: self.assign_windows,
            logical.Union: self.union,
            logical.Aggregate: self.aggregate,
            logical.WindowAggregate: self.window_aggregate,
            logical.Over: self.over,
            logical.Join: self.join,
        }
        return operators[type(plan)](plan, prefix)

    # One input row at a time.

    def scan(self, plan: logical.Scan, prefix: Root) -> Iterator[Row]:
        """Take the rows of the table."""
        for row in self.rows[plan.table.ordinal]:
            if row.root <= prefix:
                yield Row(row.values, row.root, (plan.scan_number,))

    def filter(self, plan: logical.Filter, prefix: Root) -> Iterator[Row]:
        """Keep the rows for which the predicate is TRUE."""
        for row in self.relation(plan.input, prefix):
            if self.values([plan.predicate], row, prefix) == (True,):
                yield row

    def project(self, plan: logical.Project, prefix: Root) -> Iterator[Row]:
        """Make one row of each."""
        for row in self.relation(plan.input, prefix):
            values = self.values(plan.expressions, row, prefix)
            if values is not None:
                yield Row(values, row.root, row.path)

    def unnest(self, plan: logical.Unnest, prefix: Root) -> Iterator[Row]:
        """Make a row of each element."""
        for row in self.relation(plan.input, prefix):
            array = self.values([plan.array], row, prefix)
            added = elements(array and array[0], ordinality=plan.ordinality_name is not None)
            for index, element in enumerate(added):
                yield Row(row.values + element, row.root, (*row.path, index))

    def lateral_aggregate(self, plan: logical.LateralAggregate, prefix: Root) -> Iterator[Row]:
        """Aggregate the elements of each row by itself; if one fails, the row fails."""
        for row in self.relation(plan.input, prefix):
            array = self.values([plan.array], row, prefix)
            added = elements(array and array[0], ordinality=plan.ordinality)
            unnested = [Row(row.values + e, row.root, (index,)) for index, e in enumerate(added)]
            kept = [
                element
                for element in unnested
                if plan.predicate is None
                or self.values([plan.predicate], element, prefix) == (True,)
            ]
            groups = self.groups(plan.keys, plan.aggregates, kept, prefix)
            if not plan.keys and not groups:
                groups = [Group((), [])]
            for index, group in enumerate(groups):
                results = self.aggregates(plan.aggregates, group, min(row.root, prefix))
                if results is not None:
                    yield Row(row.values + group.key + results, row.root, (*row.path, index))

    def assign_windows(self, plan: logical.AssignWindows, prefix: Root) -> Iterator[Row]:
        """Make a row for each window `[start, start + size)` that the row's time is in."""
        for row in self.relation(plan.input, prefix):
            time = row.values[plan.time_column]
            assert isinstance(time, int)
            first = (time - plan.size_us - plan.offset_us) // plan.slide_us + 1
            last = (time - plan.offset_us) // plan.slide_us
            starts = [plan.offset_us + k * plan.slide_us for k in range(first, last + 1)]
            windows = [(start, start + plan.size_us, start + plan.size_us - 1) for start in starts]
            try:
                for bound in (bound for window in windows for bound in window):
                    in_range(bound, TIMESTAMP)
            except FailureError as failure:
                self.errors.add((min(row.root, prefix), failure.code))
                continue
            for index, window in enumerate(windows):
                yield Row(row.values + window, row.root, (*row.path, index))

    def union(self, plan: logical.Union, prefix: Root) -> Iterator[Row]:
        """Take the rows of all branches."""
        for branch in plan.branches:
            for row in self.relation(branch, prefix):
                yield Row(row.values, row.root, padded(row.path, logical.depth(plan)))

    # Many input rows at a time.

    def aggregate(self, plan: logical.Aggregate, prefix: Root) -> Iterator[Row]:
        """Make a row of each group."""
        rows = self.relation(plan.input, prefix)
        for group in self.groups(plan.keys, plan.aggregates, rows, prefix):
            results = self.aggregates(plan.aggregates, group, prefix)
            if results is not None:
                yield Row(group.key + results)

    def window_aggregate(self, plan: logical.WindowAggregate, prefix: Root) -> Iterator[Row]:
        """Make a row of each group of the prefix at which its window closed, or of this one.

        So what comes behind the closing changes nothing.  With `final`, only of closed windows.
        """
        ends = self.window_ends[plan]
        ends |= {window_end(plan, row.values) for row in self.relation(plan.input, prefix)}
        for end in sorted(ends):
            closed = closing(plan, end)
            seen = self.relation(plan.input, min(prefix, closed))
            rows = [row for row in seen if window_end(plan, row.values) == end]
            groups = self.groups(plan.keys, plan.aggregates, rows, prefix)
            if plan.final and closed > prefix:
                continue
            root = closed if plan.final else prefix
            for group in groups:
                results = self.aggregates(plan.aggregates, group, root)
                if results is not None:
                    yield Row(group.key + results, root, (logical.least_scan_number(plan),))

    def over(self, plan: logical.Over, prefix: Root) -> Iterator[Row]:
        """Add to each row the aggregates of its partition up to it, or up to the one before it."""
        inputs = arguments([call.aggregate for call in plan.calls])
        partitions: dict[Key, list[Arguments]] = defaultdict(list)
        for number, row in enumerate(self.relation(plan.input, prefix)):
            values = self.values([*plan.partition, *inputs], row, prefix)
            if values is None:
                continue
            key = tuple(order_key(value) for value in values[: len(plan.partition)])
            frame = partitions[key]
            frame.append(Arguments((number,), values[len(plan.partition) :]))
            added: list[Value] = []
            try:
                for index, call in enumerate(plan.calls):
                    rows = frame if call.frame_end is FrameEnd.CURRENT_ROW else frame[:-1]
                    added.append(aggregate(call.aggregate, column(rows, index)))
            except FailureError as failure:
                self.errors.add((row.root, failure.code))
                continue
            yield Row((*row.values, *added), row.root, row.path)

    def join(self, plan: logical.Join, prefix: Root) -> Iterator[Row]:
        """Let the rows of both sides arrive in order; each meets the earlier ones of the other side.

        In an updating relation the order is arbitrary and the result the product of the two bags.
        """
        depth = logical.depth(plan) - 1
        arrivals: list[tuple[tuple[Any, ...], Key, Row]] = []
        sides = (plan.left, plan.left_keys), (plan.right, plan.right_keys)
        for side, (below, keys) in enumerate(sides):
            for row in self.relation(below, prefix):
                values = self.values(keys, row, prefix)
                if values is not None and None not in values:
                    place = (row.root, padded(row.path, depth), side, row_key(row.values))
                    arrivals.append((place, tuple(order_key(value) for value in values), row))
        arrivals.sort(key=lambda arrival: arrival[0])
        seen: tuple[list[tuple[Key, Row]], list[tuple[Key, Row]]] = ([], [])
        for (root, path, side, _), key, row in arrivals:
            pairs = [
                (other, row) if side == 1 else (row, other)
                for other_key, other in seen[1 - side]
                if other_key == key
            ]
            joined = [pair for pair in pairs if in_time(plan, *pair, later_side=side)]
            index, met = -1, None
            for left, right in joined:
                earlier = left if side == 1 else right
                if (earlier.root, earlier.path) != met:
                    index, met = index + 1, (earlier.root, earlier.path)
                yield Row(left.values + right.values, root, (*path, index))
            seen[side].append((key, row))

    # Expressions and aggregates, with their failures noted.

    def values(self, expressions: Sequence[Expression], row: Row, prefix: Root) -> Values | None:
        """Return the values over `row`; None if one fails, which is noted at the row's root."""
        try:
            return tuple(evaluate(expression, row.values) for expression in expressions)
        except FailureError as failure:
            self.errors.add((min(row.root, prefix), failure.code))
            return None

    def groups(
        self,
        keys: Sequence[Expression],
        calls: Sequence[AggregateCall],
        rows: Sequence[Row],
        prefix: Root,
    ) -> list[Group]:
        """Return the groups of `rows` in the order of their first rows, with the calls' arguments."""
        found: dict[Key, Group] = {}
        for row in rows:
            values = self.values([*keys, *arguments(calls)], row, prefix)
            if values is not None:
                key, given = values[: len(keys)], values[len(keys) :]
                group = Group(tuple(normalised(value) for value in key), [])
                group = found.setdefault(tuple(order_key(value) for value in key), group)
                group.rows.append(Arguments((row.root, row.path), given))
        return list(found.values())

    def aggregates(self, calls: Sequence[AggregateCall], group: Group, root: Root) -> Values | None:
        """Return the aggregates of a group; None if one fails, which is noted at `root`."""
        try:
            return tuple(
                aggregate(call, column(group.rows, index)) for index, call in enumerate(calls)
            )
        except FailureError as failure:
            self.errors.add((root, failure.code))
            return None


def column(rows: Sequence[Arguments], index: int) -> list[Value]:
    """Return one argument of all rows, in the order of their places, then of the argument."""
    ordered = sorted(rows, key=lambda given: (given.place, row_key([given.values[index]])))
    return [given.values[index] for given in ordered]


def arguments(calls: Sequence[AggregateCall]) -> list[Expression]:
    """Return an argument for each call; COUNT(*) counts something that is never NULL."""
    return [call.argument or ALWAYS for call in calls]


def in_time(plan: logical.Join, left: Row, right: Row, *, later_side: int) -> bool:
    """Say whether a pair is in the time range, and the watermark had not passed the earlier row."""
    bounds = plan.time_range
    if bounds is None:
        return True
    assert logical.append_only(plan), "a time range joins rows that have positions"
    left_time, right_time = left.values[bounds.left_time], right.values[bounds.right_time]
    assert isinstance(left_time, int)
    assert isinstance(right_time, int)
    if not left_time + bounds.low_us <= right_time <= left_time + bounds.high_us:
        return False
    matches_until = left_time + bounds.high_us if later_side == 1 else right_time - bounds.low_us
    return watermark(plan, bounds, (left, right)[later_side].root[0]) <= matches_until
