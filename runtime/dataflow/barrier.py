"""The barrier releases final rows in the total order, each group of changes as a whole.

Contract.  Let m be min time at the barrier.  Each port has released exactly the live content of its rows with
roots below m: rows whose weights cancel never appear, and no released row is ever undone.  All ports (the
sinks of all INSERTs, late rows, dead letters, errors) are released up to the same bound, so that the sinks of
a job are consistent with each other.  An error that is a malformed row is released as one where its table
goes on after such rows.  If another error remains at root p, the bound becomes p, everything below p is
released, and the job stops.  If every INSERT has a maximum of rows, and has released it, the job is
complete: everything up to the last of these rows is released, and nothing after it.

The changes of one root position are one group: consolidated, labelled and ordered as
`docs/internals/semantics.md` says.  (The barrier of FlameStream (2018), section 3.2, releases items; groups
are an extension.)
"""

from __future__ import annotations

import heapq
from dataclasses import replace
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from fsql.compiler.records import dataclass
from fsql.runtime.batch import START, Batch, Root, origin_parts
from fsql.runtime.dataflow.invariants import check_not_below
from fsql.runtime.dataflow.messages import Parcel, PortKind
from fsql.runtime.dataflow.sink_gate import SinkGate
from fsql.runtime.dataflow.waiting_rows import WaitingRows
from fsql.runtime.order import concat, position_order, starts_of_runs
from fsql.runtime.ports import VALUE_UNAVAILABLE, unavailable_row
from fsql.runtime.weights import consolidate, expand

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from fsql.compiler.tick_plan import SinkPort
    from fsql.runtime.dataflow.row_encoding import RowEncoding
    from fsql.runtime.ports import DeadLetter, Release


@dataclass(frozen=True, slots=True)
class Released:
    """The rows that go to the sink of INSERT number `insert`."""

    insert: int
    release: Release


@dataclass(frozen=True, slots=True)
class LateRows:
    """The late rows of the window operator number `window`."""

    window: int
    rows: Batch


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """Malformed rows of sources that continue after such rows."""

    dead_letters: tuple[tuple[Root, DeadLetter], ...]


@dataclass(frozen=True, slots=True)
class Stopped:
    """The job stops at `root`; `code` is the error's number, `dead_letter` the malformed row, if any."""

    root: Root
    code: int
    dead_letter: DeadLetter | None


class Barrier:
    """The barrier of one job."""

    def __init__(
        self,
        sinks: Sequence[SinkPort],
        late_windows: int,
        start: Root = START,
        encodings: Mapping[int, RowEncoding] = MappingProxyType({}),
        rows_left: Sequence[int] = (),
        rejecting: Collection[int] = (),
        moves: Mapping[int, Root] = MappingProxyType({}),
    ) -> None:
        """Start at `start`, below which everything was released before.

        `encodings` are those of the INSERTs whose rows workers encode.  `rows_left` has the number of rows
        that each INSERT has from `start` on, if all of them have a maximum of rows.  `rejecting` are the
        ordinals of the tables that go on after malformed rows.  The changes of the INSERTs in `moves`
        that are below a position move to it.
        """
        self._sinks = [
            SinkGate(port, encodings.get(insert), moves.get(insert))
            for insert, port in enumerate(sinks)
        ]
        self._late = [WaitingRows() for _ in range(late_windows)]
        self._errors = WaitingRows()
        self._dead_letters: list[tuple[Root, DeadLetter]] = []
        """A heap."""
        self._stopping: tuple[Root, DeadLetter] | None = None
        """The least malformed row at which the job stops."""
        self._rejecting = frozenset(rejecting)
        self.min_time = start
        self._rows_left = list(rows_left)
        self._last = start
        """The root of the last row that was released."""
        self.complete = self._has_all_rows()
        """Whether every INSERT has released its maximum of rows."""
        self.stopped = self.complete
        self.releases = 0

    @property
    def rows_left(self) -> tuple[int, ...]:
        """Return how many rows each INSERT still has, if all of them have a maximum of rows."""
        return tuple(self._rows_left)

    def accept(self, parcel: Parcel) -> None:
        """Accept rows.

        Raises:
            InvariantError: if a row is below the released bound.
        """
        check_not_below(parcel.least_root(), self.min_time, "rows at the barrier")
        match parcel.to.port:
            case PortKind.SINK:
                assert parcel.batch is not None
                self._sinks[parcel.to.side].accept(parcel.batch, repairs=parcel.repairs)
            case PortKind.LATE:
                assert parcel.batch is not None
                self._late[parcel.to.side].append(parcel.batch)
            case PortKind.ERROR:
                assert parcel.batch is not None
                self._errors.append(parcel.batch)
            case PortKind.DEAD_LETTER:
                for dead_letter in parcel.dead_letters:
                    if not parcel.to.stops_job:
                        heapq.heappush(self._dead_letters, dead_letter)
                    elif self._stopping is None or dead_letter[0] < self._stopping[0]:
                        self._stopping = dead_letter
            case None:
                raise AssertionError(parcel.to)

    def advance(self, min_time: Root) -> list[Released | LateRows | DeadLetters | Stopped]:
        """Advance min time; return the final output, in the order in which it is to be written.

        Raises:
            InvariantError: if min time goes back, or a row is retracted that was never added.
        """
        check_not_below(min_time, self.min_time, "min time at the barrier")
        if self.stopped:
            return []
        self.min_time = min_time
        stop = self._stop_below(min_time)
        bound = min_time if stop is None else stop.root
        outputs: list[Released | LateRows | DeadLetters | Stopped] = []
        for insert, gate in enumerate(self._sinks):
            release = gate.release(bound)
            if release is not None:
                outputs.append(Released(insert, release))
                self._count(insert, release)
        if self._has_all_rows():
            self.complete = self.stopped = True
            # Roots are pairs of integers: this is the least one after that of the last row.
            stop, bound = None, self._last._replace(origin=self._last.origin + 1)
        outputs += self._late_below(bound)
        dead_letters = []
        while self._dead_letters and self._dead_letters[0][0] < bound:
            dead_letters.append(heapq.heappop(self._dead_letters))
        if dead_letters:
            outputs.append(DeadLetters(tuple(dead_letters)))
        self.releases += bool(outputs)
        if stop is not None:
            self.stopped = True
            outputs.append(stop)
        return outputs

    def _count(self, insert: int, release: Release) -> None:
        if self._rows_left:
            self._rows_left[insert] -= len(release.time)
            self._last = max(self._last, Root(int(release.time[-1]), int(release.origin[-1])))

    def _has_all_rows(self) -> bool:
        return bool(self._rows_left) and not any(self._rows_left)

    def rows_buffered(self) -> int:
        """Return the number of rows that wait to be released."""
        return sum(gate.rows_buffered() for gate in self._sinks)

    def _late_below(self, bound: Root) -> list[LateRows]:
        outputs = []
        for window, waiting in enumerate(self._late):
            passed = waiting.take_below(bound)
            if passed:
                rows = concat(passed)
                if rows.weight is not None:
                    # A late retraction counts like any late row.
                    net = consolidate(rows, by_path=True)
                    weight = np.abs(net.weights())
                    rows = expand(Batch(net.columns, net.time, net.origin, net.path, weight))
                order = position_order(rows, ties=True)
                if len(rows):
                    outputs.append(LateRows(window, rows if order is None else rows.take(order)))
        return in_order(outputs)

    def _stop_below(self, bound: Root) -> Stopped | None:
        """Return the least error that remains below `bound`, if any; the others are malformed rows."""
        found = []
        if self._stopping is not None and self._stopping[0] < bound:
            root, dead_letter = self._stopping
            found.append(Stopped(root, dead_letter.code, dead_letter))
        passed = self._errors.take_below(bound)
        if passed:
            remaining = consolidate(concat(passed), by_path=False)
            codes = remaining.columns[0].to_pylist()
            for row in np.flatnonzero(remaining.weights() > 0).tolist():
                root, code, letter = remaining.root(row), codes[row], None
                if code == VALUE_UNAVAILABLE:
                    ordinal, _, number = origin_parts(root.origin)
                    letter = unavailable_row(number)
                    if ordinal in self._rejecting:
                        heapq.heappush(self._dead_letters, (root, letter))
                        continue
                found.append(Stopped(root, code, letter))
        return min(found, key=lambda stop: (stop.root, stop.code), default=None)


def in_order(late: Sequence[LateRows]) -> list[LateRows]:
    """Sort late rows of several windows by root, then by window: this order does not depend on bounds."""
    if len(late) < 2:
        return list(late)
    sizes = [len(each.rows) for each in late]
    time = np.concatenate([each.rows.time for each in late])
    origin = np.concatenate([each.rows.origin for each in late])
    window = np.repeat(np.arange(len(late)), sizes)
    row = np.concatenate([np.arange(size) for size in sizes])
    order = np.lexsort((row, window, origin, time))
    window, row = window[order], row[order]
    starts = starts_of_runs(window)
    return [
        replace(late[window[start]], rows=late[window[start]].rows.take(row[start:end]))
        for start, end in pairwise([*starts.tolist(), len(order)])
    ]
