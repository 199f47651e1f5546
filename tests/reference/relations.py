"""The operators, each as a function from a prefix of the input to a relation.

A *prefix* is all rows and punctuations at root positions up to a given one.  Lists of rows are of two kinds:

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
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from fsql.compiler import logical
from fsql.compiler.expression import AggregateCall, Expression, Literal
from fsql.compiler.sqltypes import BOOLEAN, TIMESTAMP, TIMESTAMP_MAX
from fsql.tests.reference import zones
from fsql.tests.reference.aggregates import aggregate
from fsql.tests.reference.applied import (
    Applied,
    applied,
    last_rows,
    made_whole,
    missing_rows,
    remaining_rows,
)
from fsql.tests.reference.changes import steps
from fsql.tests.reference.closings import Window, closing, closings, expiry, window_end
from fsql.tests.reference.elements import elements
from fsql.tests.reference.failure import NOT_AVAILABLE, NOT_THERE, FailureError
from fsql.tests.reference.frames import places_of_frame
from fsql.tests.reference.joins import KeyedRow, joined_once, outer_join, pairs
from fsql.tests.reference.order import normalised, order_key, row_key
from fsql.tests.reference.ranks import ranked
from fsql.tests.reference.scalar import evaluate
from fsql.tests.reference.scalar_casts import in_range
from fsql.tests.reference.sessions import session_closing, sessions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from fsql.compiler.expression import Value
    from fsql.tests.reference.order import Key
    from fsql.tests.reference.sessions import Session

    Values = tuple[Value, ...]

Root = tuple[int, int]
"""A root position: time and origin."""

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


@dataclass
class Relations:
    """The relations of all plans over `rows`, the well-formed rows of each table.

    `errors` are the roots and codes of the failures met so far, `window_ends` the ends of all windows
    that had a row in some relation met so far, late or not.
    """

    rows: Mapping[int, Sequence[Row]]
    literal: bool
    errors: set[tuple[Root, int]]
    window_ends: dict[Window, set[int]]
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
            logical.AssignExpiry: self.assign_expiry,
            logical.CountLateRows: self.same_rows,
            logical.AssignRowTime: self.assign_row_time,
            logical.AssignEnd: self.assign_end,
            logical.Union: self.union,
            logical.ApplyChanges: self.apply_changes,
            logical.ToChangelog: self.to_changelog,
            logical.Aggregate: self.aggregate,
            logical.WindowAggregate: self.window_aggregate,
            logical.AssignSessions: self.assign_sessions,
            logical.Over: self.over,
            logical.Rank: self.rank,
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
            tests = [self.values([plan.predicate or ALWAYS], e, prefix) for e in unnested]
            if None in tests:
                continue
            kept = [each for each, test in zip(unnested, tests, strict=True) if test == (True,)]
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
            windows = zones.windows(plan, time)
            try:
                for bound in (bound for window in windows for bound in window):
                    in_range(bound, TIMESTAMP)
            except FailureError as failure:
                self.errors.add((min(row.root, prefix), failure.code))
                continue
            for index, window in enumerate(windows):
                yield Row(row.values + window, row.root, (*row.path, index))

    def assign_expiry(self, plan: logical.AssignExpiry, prefix: Root) -> Iterator[Row]:
        """Add when the row can no longer be joined: not before the watermark where it comes."""
        for row in self.relation(plan.input, prefix):
            yield Row((*row.values, expiry(plan, row.values, row.root)), row.root, row.path)

    def same_rows(self, plan: logical.CountLateRows, prefix: Root) -> Iterator[Row]:
        """Take the rows as they are."""
        yield from self.relation(plan.input, prefix)

    def assign_row_time(self, plan: logical.AssignRowTime, prefix: Root) -> Iterator[Row]:
        """Add the time of the root, which may be after all timestamps at the end of the input."""
        for row in self.relation(plan.input, prefix):
            yield Row((*row.values, min(row.root[0], TIMESTAMP_MAX)), row.root, row.path)

    def assign_end(self, plan: logical.AssignEnd, prefix: Root) -> Iterator[Row]:
        """Add the time at which the input ends, after all others."""
        for row in self.relation(plan.input, prefix):
            yield Row((*row.values, TIMESTAMP_MAX), row.root, row.path)

    def union(self, plan: logical.Union, prefix: Root) -> Iterator[Row]:
        """Take the rows of all branches."""
        for branch in plan.branches:
            for row in self.relation(branch, prefix):
                yield Row(row.values, row.root, padded(row.path, logical.depth(plan)))

    # Many input rows at a time.

    def apply_changes(self, plan: logical.ApplyChanges, prefix: Root) -> Iterator[Row]:
        """Replay the changes; the last one of a key says whether it has a row, and which."""
        changes: list[Applied] = []
        for row in self.relation(plan.input, prefix):
            values = self.values([*plan.keys, plan.present, *plan.values], row, prefix)
            assert values is not None
            marks = None if plan.unavailable is None else row.values[plan.unavailable.index]
            change = applied(row.root, values, len(plan.keys), marks)
            if plan.whole is not None and self.values([plan.whole], row, prefix) == (True,):
                change = change._replace(picks=plan.compared)
            changes.append(change)
        if plan.unavailable is not None:
            types = [value.type for value in plan.values]
            changes, failed = made_whole(changes, types, plan.marks)
            self.errors |= {(root, NOT_AVAILABLE) for root in failed}
        if plan.counted:
            self.errors |= {(root, NOT_THERE) for root in missing_rows(changes)}
        yield from map(Row, remaining_rows(changes) if plan.counted else last_rows(changes))

    def to_changelog(self, plan: logical.ToChangelog, prefix: Root) -> Iterator[Row]:
        """Make a row of each change from one root to the next, in order, with its kind."""
        tables = [self.rows[table.ordinal] for table in logical.tables(plan)]
        self.relation(plan.input, prefix)  # finds the ends of all windows
        roots = {row.root for rows in tables for row in rows} | closings(plan, self.window_ends)
        known = sorted(root for root in roots if root <= prefix)
        reached = [(root, self.relation(plan.input, root)) for root in known]
        for root, index, values in steps(reached, plan.key):
            yield Row(values, root, (logical.least_scan_number(plan), index))

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
        for closed, rows in self.windows(plan, prefix):
            groups = self.groups(plan.keys, plan.aggregates, rows, prefix)
            if plan.final and closed > prefix:
                continue
            root = closed if plan.final else prefix
            for group in groups:
                results = self.aggregates(plan.aggregates, group, root)
                if results is not None:
                    yield Row(group.key + results, root, (logical.least_scan_number(plan),))

    def assign_sessions(self, plan: logical.AssignSessions, prefix: Root) -> Iterator[Row]:
        """Make a row of each row of a session that is closed."""
        found = self.sessions(plan, prefix)[0]
        self.window_ends[plan] |= {session.end for session in found}
        for session in found:
            closed = session_closing(plan, session.end)
            if closed > prefix:
                continue
            bounds = (session.start, session.end, session.end - 1)
            for row in session.rows:
                path = (*row.root, *row.path)
                if plan.order_column is not None:
                    order = row.values[plan.order_column]
                    assert isinstance(order, int)
                    path = (session.start, order, *path)
                yield Row(row.values + bounds, closed, path)

    def sessions(
        self, plan: logical.AssignSessions, prefix: Root
    ) -> tuple[list[Session], list[Row]]:
        """Return the sessions of the rows, and the late ones among these."""
        rows = self.relation(plan.input, prefix)
        return sessions(plan, rows, lambda row: self.values(plan.partition, row, prefix))

    def windows(
        self, plan: logical.WindowAggregate | logical.Rank, prefix: Root
    ) -> Iterator[tuple[Root, list[Row]]]:
        """Yield where each window closes, and the rows that it has until then."""
        ends = self.window_ends[plan]
        ends |= {window_end(plan, row.values) for row in self.relation(plan.input, prefix)}
        for end in sorted(ends):
            closed = closing(plan, end)
            seen = self.relation(plan.input, min(prefix, closed))
            yield closed, [row for row in seen if window_end(plan, row.values) == end]

    def over(self, plan: logical.Over, prefix: Root) -> Iterator[Row]:
        """Add to each row the aggregates of its frame."""
        calls = [call.aggregate for call in plan.calls]
        partitions: dict[Key, list[tuple[Row, Arguments]]] = defaultdict(list)
        for number, row in enumerate(self.relation(plan.input, prefix)):
            values = self.values([*plan.partition, *arguments(calls)], row, prefix)
            if values is not None:
                key = tuple(order_key(value) for value in values[: len(plan.partition)])
                given = Arguments((number,), values[len(plan.partition) :])
                partitions[key].append((row, given))
        for partition in partitions.values():
            rows = [row.values for row, _ in partition]
            for number, (row, _) in enumerate(partition):
                added: list[Value] = []
                try:
                    for index, call in enumerate(plan.calls):
                        framed = [
                            partition[place][1] for place in places_of_frame(call, rows, number)
                        ]
                        added.append(aggregate(call.aggregate, column(framed, calls, index)))
                except FailureError as failure:
                    self.errors.add((row.root, failure.code))
                    continue
                yield Row((*row.values, *added), row.root, row.path)

    def rank(self, plan: logical.Rank, prefix: Root) -> Iterator[Row]:
        """Number the rows of each partition; those of a window by the rows that it had when it closed."""
        parts = [(prefix, self.relation(plan.input, prefix))]
        if plan.window_end is not None:
            parts = [*self.windows(plan, prefix)]
        for closed, rows in parts:
            numbered = ranked(plan, rows, lambda each, row: self.values(each, row, prefix))
            if not plan.final or closed <= prefix:
                root = closed if plan.final else prefix
                yield from (
                    Row(values, root, (logical.least_scan_number(plan),)) for values in numbered
                )

    def join(self, plan: logical.Join, prefix: Root) -> Iterator[Row]:
        """Take the pairs of both sides, and the rows that have no partner."""
        rights = partial(self.keyed, plan.right, plan.right_keys)
        sides = self.keyed(plan.left, plan.left_keys, prefix), rights(prefix)
        if plan.once or plan.kind is logical.JoinKind.INNER:
            once = joined_once(plan, sides[0], rights, self.values)
            yield from (Row(*each) for each in (once if plan.once else pairs(plan, *sides)))
        else:
            yield from (Row(values) for values in outer_join(plan, *sides))

    def keyed(self, plan: logical.Plan, keys: Sequence[Expression], prefix: Root) -> list[KeyedRow]:
        """Return each row with its key, which is None if a part of it is NULL."""
        found: list[KeyedRow] = []
        for row in self.relation(plan, prefix):
            values = self.values(keys, row, prefix)
            if values is not None:
                key = None if None in values else tuple(order_key(value) for value in values)
                found.append(KeyedRow(key, *row))
        return found

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
                aggregate(call, column(group.rows, calls, index))
                for index, call in enumerate(calls)
            )
        except FailureError as failure:
            self.errors.add((root, failure.code))
            return None


def column(rows: Sequence[Arguments], calls: Sequence[AggregateCall], index: int) -> list[Value]:
    """Return the arguments of a call of all rows, in the order of their places, then of the first.

    Several arguments are a tuple.
    """
    first = sum(1 + len(call.others) for call in calls[:index])
    ordered = sorted(rows, key=lambda given: (given.place, row_key([given.values[first]])))
    if not calls[index].others:
        return [given.values[first] for given in ordered]
    return [given.values[first : first + 1 + len(calls[index].others)] for given in ordered]


def arguments(calls: Sequence[AggregateCall]) -> list[Expression]:
    """Return the arguments of the calls; COUNT(*) counts something that is never NULL."""
    return [each for call in calls for each in (call.argument or ALWAYS, *call.others)]
