"""The ends of a job's splits: where each ended when it was read, stored before its front promises the end.

A front at the end of its split promises that no more rows follow, and rows of other splits are released
because of that.  So rows that are added to a file later have no position in the total order: when a job
continues, each split that had ended must have the same length, or an error is raised.

All workers of a job append to one file.  A line holds one end and a hash of it; a line with another
hash is ignored.  If there are two ends of one split, the first is used.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Final

import msgspec
import xxhash

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.runtime.hosts.worker_state import StateFailedError
from fsql.runtime.ports import Chunk, SourceOffset, Wait

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.runtime.ports import Split, SplitReader
    from fsql.runtime.state.directory import StateDirectory

RETRY_SECONDS: Final = 1.0
"""How long to wait before another attempt to write an end, if the disk fails or is full."""

_NAME: Final = "ends"
_TRANSIENT: Final = {errno.EIO, errno.ENOSPC, errno.EDQUOT}


class End(msgspec.Struct, frozen=True):
    """Where the split of a front ends."""

    front: int
    row: int
    line: int
    byte: int
    content: str


class SplitEnds:
    """The known ends of the splits of one job."""

    def __init__(self, directory: StateDirectory) -> None:
        """Keep them in the job's state directory."""
        self._files = directory
        self._ends: dict[int, End] = {}
        self._read_up_to = 0

    def open(
        self, front: int, table: str, split: Split, source_offset: SourceOffset | None
    ) -> SplitReader:
        """Return a reader of the split of a front, from a source offset on, which stores its end.

        Raises:
            FsqlError: E531 or E536, if the split cannot be opened; E538, if it has grown since it ended.
        """
        end = self.end_of(front)
        if end is not None:
            reader = split.open(SourceOffset(end.row, end.line, end.byte, end.content))
            try:
                if isinstance(reader.read(1), Chunk):
                    raise _growth_error(table, split, end)
            finally:
                reader.close()
        return _EndRecordingReader(self, front, table, split, split.open(source_offset))

    def record(self, front: int, table: str, split: Split, source_offset: SourceOffset) -> None:
        """Store where a split ends, durably.

        Raises:
            FsqlError: E535, if it cannot be written; E538, if the split ended elsewhere before.
        """
        if self.end_of(front) is None:
            self._append(End(front, *source_offset))
        end = self.end_of(front)
        assert end is not None
        if end.row != source_offset.row or end.byte != source_offset.byte:
            raise _growth_error(table, split, end)

    def _append(self, end: End) -> None:
        line = msgspec.json.encode(end)
        try:
            # It begins with a line end, because a crash may have torn the line before it.
            self._files.append(_NAME, b"\n" + line + b" " + _hash(line) + b"\n")
            self._files.sync(_NAME)
            self._files.sync("")
        except OSError as error:
            raise self._disk_error("writing", error) from None

    def end_of(self, front: int) -> End | None:
        """Return the first end that any worker has stored of a front's split."""
        try:
            data = self._files.read(_NAME, self._read_up_to)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._disk_error("reading", error) from None
        whole = data[: data.rfind(b"\n") + 1]
        self._read_up_to += len(whole)
        for record in whole.splitlines():
            line, _, line_hash = record.rpartition(b" ")
            if line and line_hash == _hash(line):
                end = msgspec.json.decode(line, type=End)
                self._ends.setdefault(end.front, end)
        return self._ends.get(front)

    def _disk_error(self, action: str, reason: OSError) -> FsqlError | StateFailedError:
        if reason.errno in _TRANSIENT:
            return StateFailedError(f"{action} split ends failed: {reason.strerror}")
        path = self._files.path / _NAME
        message = f'{action} "{path}" failed: {(reason.strerror or str(reason)).lower()}'
        return FsqlError([Diagnostic("E535", message)])


def renumbered_ends(directory: StateDirectory, fronts: Mapping[int, int]) -> bytes:
    """Return the content of the file of ends with new numbers of fronts; `fronts` maps old to new ones."""
    known = SplitEnds(directory)
    records = []
    for number in sorted(fronts):
        end = known.end_of(number)
        if end is not None:
            line = msgspec.json.encode(msgspec.structs.replace(end, front=fronts[number]))
            records.append(b"\n" + line + b" " + _hash(line) + b"\n")
    return b"".join(records)


class _EndRecordingReader:
    """A reader that stores the end of its split before it returns it."""

    def __init__(
        self, ends: SplitEnds, front: int, table: str, split: Split, reader: SplitReader
    ) -> None:
        self._ends = ends
        self._front = front
        self._table = table
        self._split = split
        self._reader = reader
        self._ended = False

    def read(self, rows_max: int) -> Chunk | Wait | None:
        """Return the next chunk of the reader."""
        chunk = None if self._ended else self._reader.read(rows_max)
        if chunk is None:
            self._ended = True
            try:
                self._ends.record(
                    self._front, self._table, self._split, self._reader.source_offset()
                )
            except StateFailedError:
                return Wait(RETRY_SECONDS)
        return chunk

    def bytes_passed(self) -> int:
        """Return how far the reader is in its file."""
        return self._reader.bytes_passed()

    def source_offset(self) -> SourceOffset:
        """Return the offset of the reader."""
        return self._reader.source_offset()

    def close(self) -> None:
        """Close the reader."""
        self._reader.close()


def _hash(line: bytes) -> bytes:
    return xxhash.xxh3_64_hexdigest(line).encode()


def _growth_error(table: str, split: Split, end: End) -> FsqlError:
    message = f'split "{split.name}" of table "{table}" has grown since its end was read'
    note = f"it ended after row {end.row:,}, at byte {end.byte:,}, and results were released"
    helps = (
        "remove what was added",
        "or start the job again, with an empty state directory",
    )
    return FsqlError([Diagnostic("E538", message, notes=(note,), helps=helps)])
