"""The barrier releases final rows in the total order, each group of changes as a whole.

Contract.  Let m be min time at the barrier.  Each port has released the live content of its rows with roots
below m, and nothing else: rows whose weights cancel never appear, and no released row is ever undone.  All
ports (the sinks of all INSERTs, late rows, dead letters, errors) are released by one bound, so that sinks of
one job are consistent with each other.  If an error remains at root p, the bound becomes p, everything of
roots below p is released, and the job stops.

The changes of one root position are one group: consolidated, labelled and ordered as
`docs/internals/semantics.md` says.  (The barrier of FlameStream (2018), section 3.2, releases items; groups
are an extension.)
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from fsql.compiler.logical import Changes
from fsql.runtime.batch import START, Batch, Root
from fsql.runtime.dataflow.change_order import canonical_order, order_of_replacements
from fsql.runtime.dataflow.invariants import InvariantError, check_not_below
from fsql.runtime.dataflow.messages import Parcel, PortKind
from fsql.runtime.dataflow.waiting_rows import WaitingRows
from fsql.runtime.dictionaries import DictionaryRanks
from fsql.runtime.order import (
    canonical_rank,
    concat,
    lexicographic_order,
    position_order,
    starts_of_runs,
)
from fsql.runtime.ports import (
    DELETE,
    INSERT,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    DeadLetter,
    Release,
)
from fsql.runtime.weights import consolidate, expand

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from fsql.compiler.tick_plan import SinkPort
    from fsql.runtime.dataflow.row_encoding import RowEncoding

    Ints = NDArray[np.int64]
    Operations = NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Released:
    """The rows that go to the sink of INSERT number `insert`."""

    insert: int
    release: Release


@dataclass(frozen=True, slots=True)
class LateRows:
    """Rows that came too late for the window operator number `window`."""

    window: int
    rows: Batch


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """Malformed rows of sources that continue after them."""

    dead_letters: tuple[tuple[Root, DeadLetter], ...]


@dataclass(frozen=True, slots=True)
class Stopped:
    """The job stops at `root`; `code` is the error's number, `dead_letter` the malformed row if it is one."""

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
    ) -> None:
        """Start at `start`: everything below was released before.

        `encodings` are those of the INSERTs whose rows workers encode.
        """
        self._sinks = [_Gate(port, encodings.get(insert)) for insert, port in enumerate(sinks)]
        self._late = [WaitingRows() for _ in range(late_windows)]
        self._errors = WaitingRows()
        self._dead_letters: list[tuple[Root, DeadLetter]] = []
        """A heap."""
        self._stopping: tuple[Root, DeadLetter] | None = None
        """The least malformed row at which the job stops."""
        self.min_time = start
        self.stopped = False
        self.releases = 0

    def accept(self, parcel: Parcel) -> None:
        """Take rows in.

        Raises:
            InvariantError: if rows come that are below what has been released.
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

    def rows_buffered(self) -> int:
        """Return how many rows wait to be released."""
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
        """Return the least error that remains below `bound`, if any."""
        found = []
        if self._stopping is not None and self._stopping[0] < bound:
            root, dead_letter = self._stopping
            found.append(Stopped(root, dead_letter.code, dead_letter))
        passed = self._errors.take_below(bound)
        if passed:
            remaining = consolidate(concat(passed), by_path=False)
            codes = remaining.columns[0].to_pylist()
            found += [
                Stopped(remaining.root(row), codes[row], None)
                for row in np.flatnonzero(remaining.weights() > 0).tolist()
            ]
        return min(found, key=lambda stop: (stop.root, stop.code), default=None)


def in_order(late: Sequence[LateRows]) -> list[LateRows]:
    """Return late rows of several windows by root, then by window; the order does not depend on bounds."""
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


class _Gate:
    """The port of one sink."""

    def __init__(self, port: SinkPort, encoding: RowEncoding | None) -> None:
        self._port = port
        self._encoding = encoding
        self._made = None if encoding is None else encoding.made_columns
        self._pending = WaitingRows()
        self._repaired = False
        self._ranks = [DictionaryRanks() for _ in port.table.key or ()]

    def accept(self, batch: Batch, *, repairs: bool) -> None:
        self._pending.append(batch)
        self._repaired |= repairs

    def rows_buffered(self) -> int:
        return self._pending.rows

    def release(self, bound: Root) -> Release | None:
        passed = self._pending.take_below(bound)
        if not passed:
            return None
        rows = concat(passed)
        release = self._append(rows) if self._port.append_only else self._changes(rows)
        if not self._pending.rows:
            self._repaired = False
        return release if len(release.time) else None

    def _values(self, rows: Batch) -> Batch:
        """Return the rows without their lines, if workers have encoded them."""
        return rows if self._made is None else rows.with_columns(rows.columns[self._made :])

    def _append(self, rows: Batch) -> Release:
        if rows.weight is not None:
            rows = consolidate(rows, by_path=True)
            if not (rows.weights() > 0).all():
                raise InvariantError("a row was retracted that was never added")
            rows = expand(rows)
        order = position_order(self._values(rows), ties=True)
        operations = None
        if self._port.table.changes is not Changes.APPEND:
            operations = np.full(len(rows), INSERT, np.int8)
        return self._release(rows, order, operations)

    def _release(self, rows: Batch, order: Ints | None, operations: Operations | None) -> Release:
        """Return rows in their order, with their operations in that order."""
        encoding = self._encoding
        if encoding is not None:
            rows = rows.with_columns(rows.columns[: self._made])
        if order is not None:
            rows = rows.take(order)
        if encoding is None:
            return Release(rows.columns, operations, rows.time, rows.origin)
        lines, *shards = rows.columns
        if operations is not None:
            lines = encoding.label(lines, operations)
        return Release([lines, *shards], None, rows.time, rows.origin, encoded=True)

    def _changes(self, rows: Batch) -> Release:
        if self._port.marked:
            return self._marked_changes(rows)
        values, key = self._values(rows), self._port.table.key
        found = order_of_replacements(values, key)
        if found is None:
            if self._repaired or not self._port.consolidated:
                rows = consolidate(rows, by_path=False, by=values.columns)
                values = self._values(rows)
            found = canonical_order(values, key)
        order, paired = found
        weight = rows.weights()[order]
        operations = np.where(weight > 0, INSERT, DELETE).astype(np.int8)
        operations[paired] = UPDATE_BEFORE
        operations[paired + 1] = UPDATE_AFTER
        count = np.abs(weight)
        if self._port.table.changes is Changes.UPSERT:
            count[paired] = 0
        if not (count == 1).all():
            kept = np.repeat(np.arange(len(order)), count)
            order, operations = order[kept], operations[kept]
        return self._release(rows, order, operations)

    def _marked_changes(self, rows: Batch) -> Release:
        """Label rows, at most one for each key; the last column marks updates."""
        if self._repaired or not self._port.consolidated:
            rows = consolidate(rows, by_path=False)
        key = self._port.table.key or ()
        keys = [rows.columns[index] for index in key]
        if self._encoding is None:
            replaces = rows.columns[-1].to_numpy(zero_copy_only=False)
            operations = np.where(replaces, np.int8(UPDATE_AFTER), np.int8(INSERT))
            rows = rows.with_columns(rows.columns[:-1])
        else:
            operations = np.full(len(rows), INSERT, np.int8)
            keys = [*rows.columns[self._made :]]
        if rows.weight is not None:
            operations[rows.weight < 0] = DELETE
        order = None
        if len(rows) > 1:
            ranks = map(canonical_rank, keys, self._ranks)
            order = lexicographic_order([rows.time, rows.origin, *ranks])
        if order is not None:
            operations = operations[order]
        rows = Batch(rows.columns, rows.time, rows.origin, ())
        return self._release(rows, order, operations)
