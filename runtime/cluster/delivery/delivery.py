"""Delivery: makes bundles of the released rows of one output, within the window of its sink.

Contract.  `docs/internals/distribution.md`, section 5.  Each bundle begins where the one before ends.  Rows
below the position of the sink are dropped.  At most a window of bundles is in flight.  A bundle holds whole
groups: all rows of one root position.  A group that is too large for one bundle is sent in parts; the last
part makes all of them visible.

Not promised: where one bundle ends and the next begins; only the sequence of rows is the same in every run.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from fsql.compiler.records import dataclass
from fsql.runtime.batch import END, START, Root, position_text
from fsql.runtime.dataflow.barrier import DeadLetters, LateRows, Released
from fsql.runtime.ports import Release

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.runtime.cluster.delivery.option import DeliveryOption
    from fsql.runtime.cluster.job_spec import Output


Contents: TypeAlias = Released | LateRows | DeadLetters


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle, or a part of one: rows of one output between two positions; `last` marks the last part.

    `contents` is None if there are no rows, and only the position is sent.
    """

    follows: Root
    ends: Root
    part: int
    last: bool
    contents: Contents | None

    @property
    def rows(self) -> int:
        """Return the number of rows in the bundle."""
        return 0 if self.contents is None else row_count(self.contents)


class PositionRefusedError(Exception):
    """A sink reports a position that is not possible."""


class Delivery:
    """The bundles for one output in one epoch."""

    def __init__(
        self,
        option: DeliveryOption,
        position: Root,
        window: int,
        rows_max: int,
        begins: Root = START,
    ) -> None:
        """Continue from `position`, that of the sink, with at most `window` bundles in flight.

        `begins` is the position from which the input is replayed.  A bundle has at most `rows_max` rows,
        unless a single group has more.

        Raises:
            PositionRefusedError: if the sink has lost stored rows below `begins`.
        """
        if not option.keeps_position:
            position = begins
        if position < begins:
            has, had = position_text(position), position_text(begins)
            raise PositionRefusedError(f"it has what is below {has}, and had what is below {had}")
        self._option = option
        self._window = max(window, 1)
        self._rows_max = rows_max
        self._acknowledged = position
        self._made = position
        self._bound = position
        self._taken: list[Contents] = []
        self._queue: deque[tuple[Bundle, ...]] = deque()
        self._under_way: deque[tuple[Root, int]] = deque()
        self.rows_waiting = 0

    @property
    def complete_below(self) -> Root:
        """Return the position below which the sink has stored everything; a snapshot may rely on it."""
        if not self._option.is_waited_for:
            return self._bound
        if self._queue or self._under_way:
            return self._acknowledged
        return self._bound

    @property
    def position(self) -> Root:
        """Return the last position that the sink has acknowledged."""
        return self._acknowledged

    def take(self, contents: Contents) -> None:
        """Accept released rows; `advance` sends them."""
        self._taken.append(contents)

    def advance(self, bound: Root) -> list[Bundle]:
        """Make bundles of the accepted rows, which are all below `bound`; return those to send now.

        The end is always sent to the sink.
        """
        taken, self._taken = self._taken, []
        pieces = [
            piece
            for contents in taken
            for piece in _pieces(_from(contents, self._made), self._rows_max)
        ]
        self._bound = max(self._bound, bound)
        if pieces:
            self._make(pieces)
        return self.reach() if self._bound == END else self._send()

    def reach(self) -> list[Bundle]:
        """Send the bound to the sink, even without rows.

        A snapshot requires this: if the position of a sink could be below that of the snapshot, a sink that
        has lost its rows could not be told from one that never had any.
        """
        if self._made < self._bound:
            self._queue.append((Bundle(self._made, self._bound, 0, last=True, contents=None),))
            self._made = self._bound
        return self._send()

    def acknowledge(self, position: Root) -> list[Bundle]:
        """Record that the sink has stored everything below `position`; return the bundles to send now.

        Acknowledgements may arrive late or twice.

        Raises:
            PositionRefusedError: if no bundle that was sent ends there.
        """
        if position <= self._acknowledged:
            return []
        if all(ends != position for ends, _ in self._under_way):
            reason = f"it acknowledged {position_text(position)}, where no bundle under way ends"
            raise PositionRefusedError(reason)
        while self._acknowledged < position:
            self._acknowledged, rows = self._under_way.popleft()
            self.rows_waiting -= rows
        return self._send()

    def _make(self, pieces: list[Contents]) -> None:
        """Combine pieces into bundles of whole groups; the last one ends at the bound."""
        bundle: list[Contents] = []
        rows = 0
        for piece in pieces:
            first, count = _first_root(piece), row_count(piece)
            self.rows_waiting += count
            if bundle and rows + count > self._rows_max and _last_root(bundle[-1]) < first:
                self._queue_bundle(bundle, first)
                bundle, rows = [], 0
            bundle.append(piece)
            rows += count
        self._queue_bundle(bundle, self._bound)

    def _queue_bundle(self, pieces: list[Contents], ends: Root) -> None:
        last = len(pieces) - 1
        follows, self._made = self._made, ends
        self._queue.append(
            tuple(
                Bundle(follows, ends, part, part == last, contents)
                for part, contents in enumerate(pieces)
            )
        )

    def _send(self) -> list[Bundle]:
        sent: list[Bundle] = []
        while self._queue and len(self._under_way) < self._window:
            parts = self._queue.popleft()
            self._under_way.append((parts[0].ends, sum(part.rows for part in parts)))
            sent += parts
        return sent


def delivery_of(
    output: Output, position: Root, window: int, rows_max: int, start: Root
) -> Delivery:
    """Return the delivery of an output in an epoch that begins at `start`, from the position of its sink.

    Raises:
        PositionRefusedError: if it has lost stored rows.
    """
    if position == START and output.since == start:
        # No rows are below the position at which the output was added: all of them are released.
        delivery = Delivery(output.option, position, window, rows_max)
        delivery.advance(start)
        return delivery
    return Delivery(output.option, position, window, rows_max, start)


def row_count(contents: Contents) -> int:
    """Return the number of rows."""
    match contents:
        case Released(_, release):
            return len(release.time)
        case LateRows(_, rows):
            return len(rows)
        case DeadLetters(dead_letters):
            return len(dead_letters)


def _root(contents: Contents, row: int) -> Root:
    if isinstance(contents, DeadLetters):
        return contents.dead_letters[row][0]
    rows = contents.release if isinstance(contents, Released) else contents.rows
    return Root(int(rows.time[row]), int(rows.origin[row]))


def _first_root(contents: Contents) -> Root:
    return _root(contents, 0)


def _last_root(contents: Contents) -> Root:
    return _root(contents, row_count(contents) - 1)


def _from(contents: Contents, position: Root) -> Contents:
    """Return the rows that are not below `position`, by bisection: rows are sorted by root."""
    start = _first_at(contents, position, 0)
    return contents if start == 0 else _slice(contents, start, row_count(contents))


def _first_at(contents: Contents, position: Root, low: int) -> int:
    """Return the first row from `low` on that is not below `position`, by bisection."""
    high = row_count(contents)
    while low < high:
        middle = (low + high) // 2
        if _root(contents, middle) < position:
            low = middle + 1
        else:
            high = middle
    return low


def _pieces(contents: Contents, rows_max: int) -> Iterator[Contents]:
    """Cut rows into pieces of at most `rows_max`, between two groups where that is possible."""
    count = row_count(contents)
    start = 0
    while start < count:
        stop = min(start + rows_max, count)
        if stop < count:
            group = _first_at(contents, _root(contents, stop), start)
            stop = group if group > start else stop
        yield contents if stop - start == count else _slice(contents, start, stop)
        start = stop


def _slice(contents: Contents, start: int, stop: int) -> Contents:
    match contents:
        case Released(_, release):
            operations = release.operations
            part = Release(
                [column.slice(start, stop - start) for column in release.columns],
                None if operations is None else operations[start:stop],
                release.time[start:stop],
                release.origin[start:stop],
                release.encoded,
            )
            return replace(contents, release=part)
        case LateRows(_, rows):
            return replace(contents, rows=rows.take(np.arange(start, stop)))
        case DeadLetters(dead_letters):
            return DeadLetters(dead_letters[start:stop])
