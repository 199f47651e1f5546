"""The journal of an output: positions, with what the output has at each, such as the length of a file.

A record is a line of JSON and the hash of that line.  A torn line is ignored.

Each epoch writes its own journal, named by the epoch, and then removes earlier ones, so that a process of an
older epoch cannot overwrite the records of a later one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar

import msgspec
import xxhash

from fsql.connectors.file.file_layer import FileLayer

if TYPE_CHECKING:
    from pathlib import Path

_SUFFIX: Final = ".journal"
_NEW: Final = ".new"


class JournalEntry(msgspec.Struct, frozen=True):
    """The output has all rows below `position`; a subclass adds where they end in it."""

    epoch: int
    position: tuple[int, int]


EntryT = TypeVar("EntryT", bound=JournalEntry)


class Journal(Generic[EntryT]):
    """The journals of one output, with entries of one `kind`.

    `prefix` is their path without epoch and suffix.
    """

    def __init__(self, prefix: Path, files: FileLayer, kind: type[EntryT]) -> None:
        self._prefix = prefix
        self._files = files
        self._kind = kind
        self._descriptor: int | None = None
        self.size = 0

    def entries(self) -> list[EntryT]:
        """Return all entries that can be read, in descending order of epoch and position."""
        found = []
        for path in self._paths():
            descriptor = self._files.open(path, private=True)
            try:
                data = self._files.read(descriptor, self._files.size(descriptor), 0)
            finally:
                self._files.close(descriptor)
            lines = data.split(b"\n")
            found += [entry for line in lines if (entry := self._read(line)) is not None]
        return sorted(found, key=lambda entry: (entry.epoch, entry.position), reverse=True)

    def begin(self, entry: EntryT) -> bool:
        """Write the first entry of an epoch durably, and remove the journals of earlier epochs.

        Returns whether no later epoch has begun in the meantime.
        """
        self._begin(entry)
        epochs = {path: self._epoch(path) for path in self._prefix.parent.iterdir()}
        for path, epoch in epochs.items():
            if epoch is not None and epoch < entry.epoch:
                self._files.remove(path)
        return all(epoch is None or epoch <= entry.epoch for epoch in epochs.values())

    @property
    def is_superseded(self) -> bool:
        """Return whether a later epoch has begun and has removed the journal of this one."""
        return self._descriptor is not None and self._files.is_removed(self._descriptor)

    def append(self, entry: EntryT) -> None:
        """Write an entry; it survives the end of the process, but not a loss of power."""
        assert self._descriptor is not None
        line = _line(entry)
        try:
            self._files.write(self._descriptor, memoryview(line), self.size)
        except OSError as error:
            error.filename = str(self._path(entry.epoch))  # the operating system does not set it
            raise
        self.size += len(line)

    def renew(self, entry: EntryT) -> None:
        """Write an entry durably; earlier entries are no longer needed."""
        self._begin(entry)

    def duplicate(self) -> int | None:
        """Return another descriptor of the written file, None if there is none."""
        return None if self._descriptor is None else self._files.duplicate(self._descriptor)

    def close(self) -> None:
        """Close the journal, without removing it."""
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            self._files.close(descriptor)

    def _begin(self, entry: EntryT) -> None:
        """Atomically replace the journal of the epoch by one with this entry only."""
        self.close()
        own = self._path(entry.epoch)
        new = own.with_name(own.name + _NEW)
        self._files.remove(new)
        self._descriptor = self._files.open(new, private=True)
        self.size = 0
        self.append(entry)
        self._files.sync(self._descriptor)
        self._files.replace(new, own)
        self._files.sync_directory(own.parent)

    def _read(self, line: bytes) -> EntryT | None:
        body, hash_ = line[:-16], line[-16:]
        if xxhash.xxh3_64_hexdigest(body).encode() != hash_:
            return None
        return msgspec.json.decode(body, type=self._kind)

    def _path(self, epoch: int) -> Path:
        return self._prefix.with_name(f"{self._prefix.name}.{epoch}{_SUFFIX}")

    def _paths(self) -> list[Path]:
        found = [path for path in self._prefix.parent.iterdir() if path.suffix == _SUFFIX]
        return sorted(path for path in found if self._epoch(path) is not None)

    def _epoch(self, path: Path) -> int | None:
        """Return the epoch of a journal, or of its unfinished replacement; None for other files."""
        name, _, rest = path.name.removeprefix(f"{self._prefix.name}.").partition(_SUFFIX)
        mine = path.name.startswith(f"{self._prefix.name}.") and rest in {"", _NEW}
        return int(name) if mine and name.isdigit() else None


def has_journal(prefix: Path) -> bool:
    """Return whether a journal with this prefix has an entry: a job that keeps state wrote its output."""
    return prefix.parent.is_dir() and bool(Journal(prefix, FileLayer(), JournalEntry).entries())


def _line(entry: JournalEntry) -> bytes:
    body = msgspec.json.encode(entry)
    return body + xxhash.xxh3_64_hexdigest(body).encode() + b"\n"
