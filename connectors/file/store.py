"""A file of whole lines that a job writes, and a journal of the position up to which it has them.

Rows are written before the journal, so that after a kill at any moment the journal has a position and a
length that belong together.  Bytes after that length are delivered again, and are the same, because the
sequence of an output does not depend on failures.  So existing bytes are compared instead of written again,
and a reader of the file (`tail -f`) sees it only grow.  If they differ, for example after a loss of power,
the file is cut there.

Every write is at an explicit offset.  So a process of an older epoch writes only bytes that are, or will
be, in the file anyway.  That holds for `exactly-once` only: with other delivery options the rows of epochs
differ, so the store checks before each write whether a later epoch has begun.

A loss of power may lose bytes written after the last `sync`.  The hashes in the journal detect that; the
store then has the position of the last entry whose bytes are complete.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import numpy as np
import xxhash

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.connectors import paths
from fsql.connectors.file.file_layer import FileLayer
from fsql.connectors.file.journal import Journal, JournalEntry
from fsql.connectors.streams.replay import CHECKED_BYTES
from fsql.runtime.batch import START, Root
from fsql.runtime.cluster.delivery.option import DeliveryOption
from fsql.runtime.sink import SinkDiskError, SinkLostError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from fsql.runtime.sink import OpenRequest

JOURNAL_BYTES_MAX: Final = 4 << 20
"""The length of a journal above which everything is synced and the journal is rewritten."""
_READ_BYTES: Final = 1 << 20


class FileEntry(JournalEntry, frozen=True):
    """All rows below the position are in the first `length` bytes of the file.

    The bytes from `start` up to `length` have this `hash`.  So an entry can be checked against the file; if
    these bytes were lost (by a loss of power), the previous entry is used.  `owner` identifies the job.
    """

    length: int
    start: int
    hash: str
    owner: str = ""


def written_length(journal: Path) -> int:
    """Return the length of the file of a journal, given without epoch and suffix; 0 if there is none."""
    if not journal.parent.is_dir():
        return 0
    entries = Journal(journal, FileLayer(), FileEntry).entries()
    return entries[0].length if entries else 0


class FileStore:
    """One file and its journal."""

    def __init__(
        self,
        path: Path,
        journal: Path,
        files: FileLayer | None = None,
        *,
        append: bool = False,
        compressed: bool = False,
    ) -> None:
        """Take the paths of the file, and of the journal without epoch and suffix.

        The first epoch of a job empties the file, or with `append` writes after its content.  Compressed
        bytes depend on the division of rows into bundles, so they differ between epochs, and their line ends
        have no meaning.
        """
        self._compressed = compressed
        self._path = path
        self._append = append
        self._owner = ""
        self._files = FileLayer() if files is None else files
        self._journal = Journal(journal, self._files, FileEntry)
        self._descriptors = threading.Lock()
        self._descriptor: int | None = None
        self._same_in_all_epochs = True
        self._epoch = 0
        self._position = START
        self._length = 0
        self._old_length = 0
        self._hashed_from = 0
        self._hasher = xxhash.xxh3_128()

    def open(self, opening: OpenRequest) -> Root:
        """Begin an epoch.

        Raises:
            FsqlError: E532, E535, or E537, if the file has lost rows or belongs to another job.
            SinkLostError: if there is no room, or a later epoch has begun.
        """
        self.close()
        exactly_once = opening.option is DeliveryOption.EXACTLY_ONCE
        self._same_in_all_epochs = exactly_once and not self._compressed
        self._epoch = opening.epoch
        self._owner = opening.owner
        with self._translate_errors():
            entries = self._journal.entries()
        self._check(entries, opening)
        self._descriptor = self._open_file()
        with self._translate_errors():
            if not entries and not self._append:
                self._files.truncate(self._descriptor, 0)
            if opening.option.keeps_position:
                self._resume_from(entries, opening)
            elif self._compressed:
                self._resume_at_last_entry(entries, opening)
            else:
                self._resume_at_last_line(opening)
            if not self._same_in_all_epochs:
                # The next rows may differ from those in the file.
                self._files.truncate(self._descriptor, self._length)
                self._old_length = self._length
            self._restart_hash()
            self._files.sync(self._descriptor)
            self._files.sync_directory(self._path.parent)
            newest = self._journal.begin(self._entry())
        if not newest:
            raise self._epoch_error()
        return self._position

    @property
    def empty(self) -> bool:
        """Return whether the file has no committed bytes."""
        return self._length == 0

    def append(self, data: Sequence[memoryview]) -> None:
        """Append bytes.

        Raises:
            FsqlError: E535, if the operating system refuses.
            SinkLostError: if there is no room, or a later epoch has begun.
        """
        assert self._descriptor is not None
        with self._translate_errors():
            if not self._same_in_all_epochs and self._journal.is_superseded:
                raise self._epoch_error()
            for piece in data:
                octets = piece.cast("B")
                self._hasher.update(octets)
                rest = octets[self._count_equal(octets) :]
                start = self._length + len(octets) - len(rest)
                if rest and start < self._old_length:
                    self._files.truncate(self._descriptor, start)
                    self._old_length = start
                self._files.write(self._descriptor, rest, start)
                self._length += len(octets)

    def commit(self, position: Root) -> None:
        """Write the current position and length into the journal.

        Raises:
            FsqlError: E535, if the operating system refuses.
            SinkLostError: if there is no room.
        """
        self._position = position
        with self._translate_errors():
            self._journal.append(self._entry())
        if self._journal.size > JOURNAL_BYTES_MAX:
            self._renew_journal()

    def sync(self) -> None:
        """Make the file and its journal survive a loss of power; any thread may call this.

        Raises:
            FsqlError: E535, if the operating system refuses.
            SinkLostError: if there is no room.
        """
        with self._descriptors:
            file = None if self._descriptor is None else self._files.duplicate(self._descriptor)
            journal = self._journal.duplicate()
        descriptors = [each for each in (file, journal) if each is not None]
        try:
            with self._translate_errors():
                for descriptor in descriptors:
                    self._files.sync(descriptor)
        finally:
            for descriptor in descriptors:
                self._files.close(descriptor)

    def close(self) -> None:
        """Close file and journal."""
        with self._descriptors:
            self._journal.close()
            if self._descriptor is not None:
                descriptor, self._descriptor = self._descriptor, None
                self._files.close(descriptor)

    def _renew_journal(self) -> None:
        assert self._descriptor is not None
        with self._translate_errors(), self._descriptors:
            self._files.sync(self._descriptor)
            self._restart_hash()
            self._journal.renew(self._entry())

    def _open_file(self) -> int:
        if not self._path.parent.is_dir():
            help_ = f'create the directory "{self._path.parent}"'
            raise paths.open_error("E532", self._path, "its directory does not exist", help_)
        if self._path.exists() and not self._path.is_file():
            help_ = "a job that keeps state writes to regular files, standard output or a consumer"
            raise paths.open_error("E532", self._path, "it is not a regular file", help_)
        try:
            return self._files.open(self._path)
        except OSError as error:
            raise paths.open_error("E532", self._path, error) from None

    def _check(self, entries: Sequence[FileEntry], opening: OpenRequest) -> None:
        if entries and entries[0].epoch > opening.epoch:
            raise SinkLostError(f"epoch {entries[0].epoch} has begun, and this is {opening.epoch}")
        if entries and entries[0].owner != self._owner:
            raise self._mismatch_error(f"it has rows of {entries[0].owner}, not of {self._owner}")
        if not entries and opening.begins != START:
            raise self._mismatch_error("its contents are not recorded")

    def _resume_from(self, entries: Sequence[FileEntry], opening: OpenRequest) -> None:
        """Continue from the last entry whose bytes are complete."""
        assert self._descriptor is not None
        self._position = START
        self._length = 0 if entries else self._files.size(self._descriptor)
        if entries:
            found = next((entry for entry in entries if self._holds(entry)), None)
            if found is None:
                raise self._mismatch_error("it is shorter than recorded, or its contents differ")
            self._position, self._length = Root(*found.position), found.length
        if self._position < opening.begins:
            raise self._mismatch_error("it lacks rows that it had")
        self._old_length = self._files.size(self._descriptor)

    def _resume_at_last_line(self, opening: OpenRequest) -> None:
        """Continue after the last whole line; a torn line is cut off."""
        assert self._descriptor is not None
        end = self._files.size(self._descriptor)
        while end:
            start = max(end - _READ_BYTES, 0)
            newline = self._files.read(self._descriptor, end - start, start).rfind(b"\n")
            end = start if newline < 0 else start + newline + 1
            if newline >= 0:
                break
        self._length = end
        self._position = opening.begins

    def _resume_at_last_entry(self, entries: Sequence[FileEntry], opening: OpenRequest) -> None:
        """Continue after the part that the journal verifies."""
        assert self._descriptor is not None
        self._length = 0 if entries else self._files.size(self._descriptor)
        found = next((entry for entry in entries if self._holds(entry)), None)
        if found is not None:
            self._length = found.length
        self._position = opening.begins

    def _holds(self, entry: FileEntry) -> bool:
        """Return whether the file has the bytes that an entry describes."""
        assert self._descriptor is not None
        if self._files.size(self._descriptor) < entry.length:
            return False
        hasher = xxhash.xxh3_128()
        for start in range(entry.start, entry.length, _READ_BYTES):
            count = min(_READ_BYTES, entry.length - start)
            hasher.update(self._files.read(self._descriptor, count, start))
        return hasher.hexdigest() == entry.hash

    def _restart_hash(self) -> None:
        """Restart the hash shortly before the end of the file; earlier bytes need no check any more."""
        assert self._descriptor is not None
        self._hashed_from = max(self._length - CHECKED_BYTES, 0)
        count = self._length - self._hashed_from
        self._hasher = xxhash.xxh3_128(self._files.read(self._descriptor, count, self._hashed_from))

    def _count_equal(self, octets: memoryview) -> int:
        """Return how many of the bytes the file already has at their offset."""
        assert self._descriptor is not None
        overlap = min(self._old_length - self._length, len(octets))
        if overlap <= 0:
            return 0
        there = self._files.read(self._descriptor, overlap, self._length)
        if there == octets[:overlap]:
            return overlap
        there = there.ljust(overlap, b"\0")
        differs = np.frombuffer(there, np.uint8) != np.frombuffer(octets[:overlap], np.uint8)
        return int(np.flatnonzero(differs)[0])

    def _entry(self) -> FileEntry:
        return FileEntry(
            self._epoch,
            (self._position.time, self._position.origin),
            self._length,
            self._hashed_from,
            self._hasher.hexdigest(),
            self._owner,
        )

    def _epoch_error(self) -> SinkLostError:
        return SinkLostError(f"a later epoch than {self._epoch} has begun")

    def _mismatch_error(self, reason: str) -> FsqlError:
        message = f'output "{self._path}" does not match the position of the job: {reason}'
        helps = ("restore the file", "or start again with an empty state directory")
        return FsqlError([Diagnostic("E537", message, helps=helps)])

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Translate errors of the operating system."""
        try:
            yield
        except OSError as error:
            path = error.filename or self._path
            if error.errno in paths.FULL_DISK:
                # Only the next epoch cuts the file: another process may have taken over meanwhile.
                raise SinkDiskError(
                    f'writing "{path}": {error.strerror}; '
                    "until there is space, its last row may be incomplete"
                ) from None
            raise paths.io_error("writing", path, error) from None
