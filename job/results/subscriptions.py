"""The changes of one result from a position on, in pieces that end at positions.

Each piece has whole groups: all changes of a position.  A subscriber that keeps the position of the last
piece that it has dealt with, and begins there again, gets every change once.
"""

from __future__ import annotations

import os
from collections import deque
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.records import dataclass
from fsql.connectors.file.file_layer import FileLayer
from fsql.connectors.results.log import (
    Frame,
    FrameReader,
    following,
    read_header,
    row_schema,
    segment_path,
    segments,
)
from fsql.job.result_rows import ResultRows
from fsql.job.results.log_reader import first_at
from fsql.job.results.position import text_of
from fsql.runtime.batch import Root
from fsql.runtime.ports import Release

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.job.result_rows import Change
    from fsql.job.results.job_results import JobResults

_ROWS_MAX: Final = 10_000
"""The rows of a piece, unless a single position has more."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes, in order, and the position up to which there are no others.

    With `snapshot` they are the rows that the result has there; what a subscriber had before is void.
    """

    position: str
    changes: tuple[Change, ...]
    snapshot: bool = False


class Subscription:
    """The changes of one result; `next` is called again and again."""

    def __init__(self, results: JobResults, table: str, after: Root | None) -> None:
        """Begin after a position; without one, with the rows that the result has.

        Raises:
            FsqlError: E675, if changes from there on are not kept any more; E672, if there is no such result.
        """
        self._results = results
        self._table = table
        self._files = FileLayer()
        self._descriptor = -1
        self._snapshot: deque[list[pa.Array]] = deque()
        results.refresh()
        with results.at_rest() as as_of:
            self._schema = results.schema(table)
            self._journal = results.journal(table)
            self._rows = row_schema(self._schema.types)
            self._converting = ResultRows(self._schema.columns)
            self._after = as_of.root if after is None else after
            self._begins = after is None
            if after is None:
                columns = results.all_rows(table)
                count = len(columns[0]) if columns else 0
                for start in range(0, count, _ROWS_MAX):
                    self._snapshot.append([column.slice(start, _ROWS_MAX) for column in columns])
        self._open_at(self._after)

    @property
    def position(self) -> str:
        """Return the position up to which changes were returned."""
        return text_of(self._after)

    def close(self) -> None:
        """Close the log."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def next(self) -> Changes | None:
        """Return the next changes that all results have reached; None if there are none now.

        Raises:
            FsqlError: E675, if the changes were removed before this subscriber has read them.
        """
        if self._begins:
            columns = self._snapshot.popleft() if self._snapshot else None
            self._begins = bool(self._snapshot)
            added = () if columns is None else tuple(self._of(columns, None))
            return Changes(self.position, added, snapshot=True)
        bound = self._results.refresh().root
        if bound <= self._after:
            return None
        rows, reached = self._read(bound)
        self._after = reached
        changes = tuple(
            change
            for batch in rows
            for change in self._of(batch.columns[3:], batch.column(2).to_numpy())
        )
        return Changes(self.position, changes)

    def _of(self, columns: list[pa.Array], operations: np.ndarray | None) -> Iterator[Change]:
        count = len(columns[0]) if columns else 0
        zeros = np.zeros(count, np.int64)
        return self._converting.changes(Release(columns, operations, zeros, zeros))

    def _open_at(self, root: Root) -> None:
        """Open the last segment that follows a position at or below `root`."""
        found = None
        for segment in segments(self._journal):
            try:
                descriptor = os.open(segment.path, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            reader = FrameReader(self._files, descriptor)
            header = next(
                (read_header(data) for kind, data in reader.frames() if kind is Frame.HEADER), None
            )
            if header is None or header.root > root:
                os.close(descriptor)
                break
            self.close()
            self._descriptor, found = descriptor, segment
        if found is None:
            raise self._gone_error(root)
        self._number = found.number
        self._reader = FrameReader(self._files, self._descriptor)
        self._held: deque[pa.RecordBatch] = deque()

    def _gone_error(self, root: Root) -> FsqlError:
        message = f'the changes of "{self._table}" from {text_of(root)} on are not kept any more'
        helps = ("begin with the rows that the result has: leave the position out",)
        return FsqlError([Diagnostic("E675", message, helps=helps)])

    def _read(self, bound: Root) -> tuple[list[pa.RecordBatch], Root]:
        """Read rows from `_after` up to a bound, at most about a piece; return where they end."""
        rows: list[pa.RecordBatch] = []
        count = 0
        while True:
            if not self._held and not self._fill():
                return rows, bound
            batch = self._held.popleft()
            batch = batch.slice(first_at(batch, self._after))
            if not batch.num_rows:
                continue
            stop = first_at(batch, bound)
            if stop > _ROWS_MAX - count:  # cut between two positions
                last = _root(batch, max(_ROWS_MAX - count, 1) - 1)
                stop = min(stop, first_at(batch, Root(last.time, last.origin + 1)))
            if stop:
                rows.append(batch.slice(0, stop))
                count += stop
            if stop < batch.num_rows:
                rest = batch.slice(stop)
                self._held.appendleft(rest)
                following = _root(rest, 0)
                return rows, min(bound, following)

    def _fill(self) -> bool:
        """Read a part of the log; return False at its end."""
        while True:
            for kind, payload in self._reader.frames():
                if kind is Frame.ROWS:
                    batch = pa.ipc.read_record_batch(pa.py_buffer(payload), self._rows)
                    self._held.append(batch)
                    return True
            number = following(self._journal, self._number)
            if number is None:
                if self._files.is_removed(self._descriptor):
                    raise self._gone_error(self._after)
                return False
            # What an epoch has written before the next began is read: the segment does not grow any more.
            for kind, payload in self._reader.frames():
                if kind is Frame.ROWS:
                    self._held.append(pa.ipc.read_record_batch(pa.py_buffer(payload), self._rows))
            self.close()
            self._descriptor = os.open(
                segment_path(self._journal, number), os.O_RDONLY | os.O_CLOEXEC
            )
            self._number = number
            self._reader = FrameReader(self._files, self._descriptor)
            if self._held:
                return True


def _root(rows: pa.RecordBatch, at: int) -> Root:
    return Root(rows.column(0)[at].as_py(), rows.column(1)[at].as_py())
